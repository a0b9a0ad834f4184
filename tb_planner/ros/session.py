"""All that lives while the planner node is active: subscriptions, the worker's thread, the timer, the navigator."""

from __future__ import annotations

import math
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid
from rclpy.clock import Clock, ClockType, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile

from tb_planner.live_map import LiveMap, MapUpdate
from tb_planner.navigator import NavigationStatus, Navigator, Pose2, Tick
from tb_planner.restart import Reason
from tb_planner.ros.conversions import BadMessage, pose_from_message
from tb_planner.ros.diagnostics import diagnostic_message
from tb_planner.ros.map_worker import MapWorker
from tb_planner.ros.outputs import IN_ORDER, LATCHED, NEWEST, Outputs
from tb_planner.ros.planner_parameters import PlannerParameters
from tb_planner.ros.poses import PoseSource, TfPose, TopicPose
from tb_planner.ros.problems import Problems
from tb_planner.ros.search_budget import SearchBudget
from tb_planner.ros.tick_times import TickTimes

# a jump of the simulated clock after which the time since the last tick, pose or map tells nothing
_JUMP = JumpThreshold(min_forward=Duration(seconds=2.0), min_backward=Duration(nanoseconds=-1), on_clock_change=True)
_NO_PLAN = np.empty((0, 2))
RESTARTS_TOLD_S = 0.1
"""Restarts are on /diagnostics at once, but not more often."""


def map_update_type() -> Any:
    """map_msgs/OccupancyGridUpdate, or None where map_msgs is not installed."""
    try:
        from map_msgs.msg import OccupancyGridUpdate
    except ImportError:
        return None
    return OccupancyGridUpdate


class Session:
    """From activate to deactivate. Callbacks only leave messages where the tick or the worker finds them."""

    def __init__(
        self, node: LifecycleNode, parameters: PlannerParameters, outputs: Outputs, problems: Problems
    ) -> None:
        self._node = node
        self._parameters = parameters
        self._outputs = outputs
        self._problems = problems
        self._frame = parameters.global_frame
        self._navigator = Navigator(parameters.settings())
        self._budget = SearchBudget(parameters.search_time_s)
        self._times = TickTimes(parameters.period_s)
        self._restarts: Counter[Reason] = Counter()
        self._last: Tick | None = None
        self._waypoint: Pose2 | None = None
        self._expansions = 0
        self._maps_seen = 0
        self._map_s: float | None = None
        self._map_to_waypoint_ms: float | None = None
        self._overruns_told = 0
        self._restart_untold = False
        self._diagnosed_s = 0.0
        self._update: MapUpdate | None = None
        self._failed = False
        self._timer: Any = None
        with ExitStack() as undo:  # if one of them fails, those before it are closed
            self._worker = MapWorker(parameters, problems)
            undo.callback(self._worker.stop)
            self._start_timer()
            undo.callback(self._stop_timer)
            self._poses = self._pose_source()
            undo.callback(self._poses.close)
            self._subscribe(undo)
            jumps = node.get_clock().create_jump_callback(_JUMP, post_callback=self._clock_jumped)
            undo.callback(jumps.unregister)
            slow = node.create_timer(1.0, self._every_second, clock=Clock(clock_type=ClockType.STEADY_TIME))
            undo.callback(node.destroy_timer, slow)
            self._worker.start()
            self._undo = undo.pop_all()

    def close(self) -> None:
        """Ends the thread and takes all down."""
        self._undo.close()

    def say_goodbye(self) -> None:
        """The goal is dropped: the robot stays where it is, and the plan is gone."""
        pose = self._poses.latest()
        if self._navigator.goal is not None and pose is not None:
            self._outputs.waypoint(pose, self._frame)
        self._outputs.plan(_NO_PLAN, self._frame, None)
        self._outputs.status(NavigationStatus.IDLE)

    # -------------------------------------------------------------------------------------------------- requests
    def change(self, parameters: PlannerParameters) -> None:
        """Other parameters, from the next tick on."""
        old, self._parameters = self._parameters, parameters
        self._navigator.settings = parameters.settings()
        self._budget.search_time_s = parameters.search_time_s
        if old.cost_rules(1.0) != parameters.cost_rules(1.0):
            self._worker.change(parameters)
        if old.tick_frequency != parameters.tick_frequency:
            self._times.change_period(parameters.period_s)
            self._start_timer()

    def change_clock(self) -> None:
        """use_sim_time has been set to something else."""
        self._start_timer()

    def refuse(self, parameters: PlannerParameters) -> str:
        """What the present map has against these parameters."""
        geometry = self._navigator.geometry
        try:
            parameters.cost_rules(geometry.resolution_m if geometry else 1.0)
        except ValueError as error:
            return str(error)
        return ''

    def cancel(self) -> tuple[bool, str]:
        goal = self._navigator.goal
        if goal is None:
            return False, 'there is no goal to cancel'
        self._navigator.cancel()
        self._node.get_logger().info(f'goal {_place(goal)} canceled')
        return True, f'goal {_place(goal)} canceled'

    def reset_search(self) -> tuple[bool, str]:
        goal = self._navigator.goal
        if goal is None:
            return False, 'there is no goal to search a way to'
        self._navigator.reset_search()
        return True, f'the search for a way to {_place(goal)} starts over'

    # -------------------------------------------------------------------------------------------------- messages
    def _subscribe(self, undo: ExitStack) -> None:
        wanted: list[tuple[Any, str, Callable[[Any], None], QoSProfile, bool]]
        wanted = [(OccupancyGrid, 'map', self._worker.put_map, LATCHED, True)]
        if (update := map_update_type()) is not None:
            wanted.append((update, 'map_updates', self._worker.put_patch, IN_ORDER, True))
        if self._parameters.subscribe_goal_pose:
            wanted.append((PoseStamped, 'goal_pose', self._take_goal, NEWEST, False))
        for kind, topic, callback, qos, raw in wanted:
            subscription = self._node.create_subscription(kind, topic, callback, qos, raw=raw)
            undo.callback(self._node.destroy_subscription, subscription)

    def _pose_source(self) -> PoseSource:
        if self._parameters.pose_source == 'tf':
            return TfPose(self._node, self._parameters, self._problems, lambda: self._frame)
        return TopicPose(self._node, self._parameters, self._problems, lambda: self._frame, self._now_s)

    def _take_goal(self, message: PoseStamped) -> None:
        try:
            goal = self._poses.as_seen(pose_from_message(message, 'goal'))
            self._navigator.new_goal(goal)
        except BadMessage as error:
            kept = self._navigator.goal
            self._problems.warn(
                'goal', f'{error}; ' + (f'the goal {_place(kept)} stays' if kept else 'there is no goal')
            )
        except Exception:  # the node goes on
            self._problems.error('goal', f'goal not taken: {traceback.format_exc()}')
        else:
            self._node.get_logger().info(f'new goal {_place(goal)}')

    # -------------------------------------------------------------------------------------------------- time
    def _start_timer(self) -> None:
        """By simulated time, or else by a clock that nobody can set."""
        self._stop_timer()
        simulated = self._node.get_parameter('use_sim_time').value
        self._clock = self._node.get_clock() if simulated else Clock(clock_type=ClockType.STEADY_TIME)
        self._times.clock_jumped()
        self._timer = self._node.create_timer(self._parameters.period_s, self._tick, clock=self._clock)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def _now_s(self) -> float:
        return self._clock.now().nanoseconds * 1e-9

    def _clock_jumped(self, _: TimeJump) -> None:
        self._times.clock_jumped()
        self._poses.clock_jumped()
        if self._map_s is not None:
            self._map_s = self._now_s()

    def _map_age_s(self) -> float | None:
        return None if self._map_s is None else max(self._now_s() - self._map_s, 0.0)

    # -------------------------------------------------------------------------------------------------- the tick
    def _tick(self) -> None:
        began = perf_counter()
        self._times.begin(self._now_s())
        try:
            self._publish(self._navigate())
        except Exception:  # whatever it is, the next tick comes, and searches afresh
            self._problems.error('tick', f'no waypoint in this tick: {traceback.format_exc()}')
            self._failed = True
        self._times.end(perf_counter() - began)

    def _navigate(self) -> Tick:
        source = self._worker.source
        if source.frame != self._frame:
            self._change_frame(source.frame)
        if self._worker.maps != self._maps_seen:
            self._maps_seen, self._map_s = self._worker.maps, self._now_s()
        received_s = self._worker.newest_received_s
        update = self._new_map(source.live_map)
        before = self._expansions_so_far()
        search: Callable[[Any], None] | None = None if self._parameters.expansions_per_tick else self._budget.spend
        pose = self._poses.latest()
        tick = self._navigator.tick(update, pose, search, map_lost=self._map_is_lost())
        self._expansions = max(self._expansions_so_far() - before, 0)
        if update is not None and tick.waypoint is not None and received_s is not None:
            self._map_to_waypoint_ms = (perf_counter() - received_s) * 1e3
        return tick

    def _new_map(self, live_map: LiveMap) -> MapUpdate | None:
        """What is new; all is, to a new navigator after a tick that failed halfway."""
        update = live_map.latest()
        self._update = update or self._update
        if not self._failed:
            return update
        self._failed = False
        goal, self._navigator = self._navigator.goal, Navigator(self._parameters.settings())
        if goal is not None:
            self._navigator.new_goal(goal)
        return replace(self._update, change=None) if self._update is not None else None

    def _map_is_lost(self) -> bool:
        age_s, limit_s = self._map_age_s(), self._parameters.map_timeout_s
        if age_s is None or limit_s == 0 or age_s <= limit_s:
            return False
        text = f'map is {age_s:.1f} s old, more than {limit_s} s; holding the last waypoint'
        self._problems.warn('map_age', text, same='old')
        return True

    def _change_frame(self, frame: str) -> None:
        text = f'the map is in frame {frame!r}, before in {self._frame!r}: map, route, pose and goal are dropped'
        self._problems.error('frame', text)
        self._outputs.plan(_NO_PLAN, self._frame, None)
        self._frame = frame
        self._update = None
        self._navigator = Navigator(self._parameters.settings())
        self._poses.forget()

    def _publish(self, tick: Tick) -> None:
        if tick.waypoint is not None:
            self._waypoint = tick.waypoint
            self._outputs.waypoint(tick.waypoint, self._frame)
        if tick.plan_changed:
            goal = self._navigator.goal
            self._outputs.plan(self._navigator.plan_points(), self._frame, goal.yaw if goal else None)
        self._restarts.update(tick.restarts)
        self._restart_untold |= bool(tick.restarts)
        before, self._last = self._last, tick
        if before is None or before.status != tick.status:
            self._tell(tick, None if before is None else before.status)
        elif self._restart_untold and perf_counter() - self._diagnosed_s > RESTARTS_TOLD_S:
            self._diagnose(tick)

    def _tell(self, tick: Tick, before: NavigationStatus | None) -> None:
        self._outputs.status(tick.status)
        self._diagnose(tick)
        log = self._node.get_logger()
        if tick.status in _TROUBLE:
            self._problems.warn('status', tick.message)
        elif tick.status == NavigationStatus.ARRIVED or before in _TROUBLE:
            log.info(tick.message)

    def _expansions_so_far(self) -> int:
        planner = self._navigator.planner
        return planner.expansions if planner is not None else 0

    # -------------------------------------------------------------------------------------------------- every second
    def _every_second(self) -> None:
        try:
            if self._clock.clock_type == ClockType.ROS_TIME and self._now_s() == 0:
                self._problems.warn('clock', 'use_sim_time is set and nobody says the time on /clock; there is no tick')
            if self._last is not None:
                self._diagnose(self._last)
            self._outputs.display(self._navigator, self._waypoint, self._frame)
        except Exception:  # display is not worth a robot
            self._problems.error('display', f'not shown: {traceback.format_exc()}')

    def _diagnose(self, tick: Tick) -> None:
        self._diagnosed_s, self._restart_untold = perf_counter(), False
        warnings = []
        if self._times.overruns > self._overruns_told:
            new = self._times.overruns - self._overruns_told
            warnings.append(f'{new} ticks took longer than {self._parameters.period_s:g} s')
            self._overruns_told = self._times.overruns
        message = diagnostic_message(
            self._node.get_fully_qualified_name(),
            self._node.get_namespace(),
            self._node.get_clock().now().to_msg(),
            tick.status,
            tick.message,
            self._facts(tick),
            warnings,
        )
        self._outputs.diagnostics(message)

    def _facts(self, tick: Tick) -> dict[str, object]:
        p50, p99, most = self._times.percentiles_ms()
        planner = self._navigator.planner
        return {
            'status': tick.status.value,
            'algorithm': self._parameters.algorithm,
            'expansions_per_tick': self._expansions,
            'tick_p50_ms': p50,
            'tick_p99_ms': p99,
            'tick_max_ms': most,
            'ticks': self._times.ticks,
            'overruns': self._times.overruns,
            'missed_ticks': self._times.missed,
            'open_size': planner.open_size if planner is not None else 0,
            'searches': planner.searches if planner is not None else 0,
            **{f'restarts_{reason.value}': self._restarts[reason] for reason in Reason},
            'map_age_s': self._map_age_s(),
            'pose_age_s': self._poses.age_s(),
            'distance_to_goal_m': self._distance_to_goal_m(),
            'map_to_waypoint_ms': self._map_to_waypoint_ms,
            'refused_messages': sum(self._problems.counts[kind] for kind in ('map', 'map_updates', 'pose', 'goal')),
            'last_problem': self._problems.last,
        }

    def _distance_to_goal_m(self) -> float | None:
        """Along the plan, and straight on from its end if it does not reach the goal yet."""
        goal = self._navigator.goal
        pose = self._poses.latest()
        if goal is None or pose is None:
            return None
        points = np.vstack([(pose.x_m, pose.y_m), self._navigator.plan_points(), (goal.x_m, goal.y_m)])
        return float(np.hypot(*np.diff(points, axis=0).T).sum())


_TROUBLE = (
    NavigationStatus.NO_PATH,
    NavigationStatus.GOAL_BLOCKED,
    NavigationStatus.GOAL_OUTSIDE_MAP,
    NavigationStatus.START_BLOCKED,
    NavigationStatus.START_OUTSIDE_MAP,
    NavigationStatus.POSE_LOST,
    NavigationStatus.MAP_LOST,
)


def _place(pose: Pose2) -> str:
    return f'({pose.x_m:.2f}, {pose.y_m:.2f}) m, {math.degrees(pose.yaw):.0f} degrees'
