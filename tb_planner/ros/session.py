"""All that lives while the planner node is active: subscriptions, the worker's thread, timers, the ticker."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid
from rclpy.clock import Clock, ClockType, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile

from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D
from tb_planner.maps.map_worker import MapWorker
from tb_planner.navigation.navigator import NavigationStatus, Tick
from tb_planner.navigation.tick_stats import TickStats
from tb_planner.recording import About, Recorder
from tb_planner.recording.writer import keep_older
from tb_planner.ros.bond import make_bond
from tb_planner.ros.controller import Controller
from tb_planner.ros.conversions import BadMessage, pose_from_message
from tb_planner.ros.diagnostics import Reporter
from tb_planner.ros.nav2_planner import DROP_IN, Nav2Planner
from tb_planner.ros.path_check import PathCheck
from tb_planner.ros.pose_source import PoseSource, TfPose, TopicPose
from tb_planner.ros.publishers import IN_ORDER, LATCHED, NEWEST, Publishers
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.ros.ticker import Ticker
from tb_planner.search.algorithms import takes_weight

# a jump of the simulated clock after which the time since the last tick, pose or map tells nothing
_JUMP = JumpThreshold(min_forward=Duration(seconds=2.0), min_backward=Duration(nanoseconds=-1), on_clock_change=True)


def map_update_type() -> Any:
    """map_msgs/OccupancyGridUpdate, or None where map_msgs is not installed."""
    try:
        from map_msgs.msg import OccupancyGridUpdate
    except ImportError:
        return None
    return OccupancyGridUpdate


class Session:
    """From activate to deactivate. Callbacks only leave things where the tick or the worker finds them."""

    def __init__(
        self,
        node: LifecycleNode,
        parameters: PlannerParameters,
        outputs: Publishers,
        problems: ThrottledLog,
        nav2: Nav2Planner | None = None,
    ) -> None:
        self._node = node
        self._parameters = parameters
        self._outputs = outputs
        self._problems = problems
        self._timer: Any = None
        self._controller: Controller | None = None
        self._times = TickStats(parameters.period_s)
        self._worker = MapWorker(parameters, problems)
        self._ticker = Ticker(parameters, self._worker, outputs, problems, self._now_s)
        with ExitStack() as undo:  # if one of them fails, those before it are closed
            if parameters.record:
                self._start_recorder(undo)
            undo.callback(self._worker.stop)
            self._start_timer()
            undo.callback(self._stop_timer)
            self._poses = self._pose_source()
            undo.callback(self._poses.close)
            if parameters.output == 'follow_path':
                self._controller = Controller(node, parameters, problems, self._told_of_arrival)
                undo.callback(self._controller.close)
            tellers = [teller.facts for teller in (nav2, self._controller) if teller is not None]
            self._reporter = Reporter(node, outputs, problems, self._times, self._ticker, self._poses, tellers)
            self._subscribe(undo)
            jumps = node.get_clock().create_jump_callback(_JUMP, post_callback=self._clock_jumped)
            undo.callback(jumps.unregister)
            slow = node.create_timer(1.0, self._every_second, clock=Clock(clock_type=ClockType.STEADY_TIME))
            undo.callback(node.destroy_timer, slow)
            self._worker.start()
            if nav2 is not None:
                self._serve_paths(nav2, undo)
            if (bond := make_bond(node, parameters, problems)) is not None:  # last: now all else is there
                undo.callback(bond.close)
            self._undo = undo.pop_all()

    def close(self) -> None:
        """Tells the robot to stay, ends the thread and takes all down."""
        try:
            self._ticker.stop(self._poses.latest())
            self._outputs.status(NavigationStatus.IDLE)
        finally:
            self._undo.close()

    def _start_recorder(self, undo: ExitStack) -> None:
        """A run that cannot be recorded goes on all the same."""
        chosen = self._parameters
        weight = f', weight {chosen.weight:g}' if takes_weight(chosen.algorithm) else ''
        about = About(algorithm=chosen.algorithm + weight, period_s=chosen.period_s, budget_s=chosen.period_s)
        path = Path(chosen.record).expanduser()
        try:
            keep_older(path)
            self._ticker.recorder = Recorder(path, about)
        except OSError as error:
            self._problems.error('record', f'the run is not recorded: {error}')
        else:
            undo.callback(self._ticker.recorder.close)

    def _serve_paths(self, nav2: Nav2Planner, undo: ExitStack) -> None:
        self._ticker.desks = nav2.activate(self._parameters, self._problems, self._ticker.show_path)
        undo.callback(nav2.deactivate)
        if self._parameters.compute_path_to_pose_action == DROP_IN:
            check = PathCheck(self._node, nav2.types.is_path_valid, self._ticker, self._poses, self._problems)
            undo.callback(check.close)

    # -------------------------------------------------------------------------------------------------- requests
    def change(self, parameters: PlannerParameters) -> None:
        """Other parameters, from the next tick on."""
        old, self._parameters = self._parameters, parameters
        self._ticker.change(parameters)
        self._poses.change(parameters)
        self._worker.change(parameters)
        if self._controller is not None:
            self._controller.change(parameters)
        if old.tick_frequency != parameters.tick_frequency:
            self._times.period_s = parameters.period_s
            self._start_timer()

    def change_clock(self) -> None:
        """use_sim_time has been set to something else: times by the one clock tell nothing by the other."""
        self._start_timer()
        self._forget_times()

    def refuse(self, parameters: PlannerParameters) -> str:
        """What the present map has against these parameters."""
        geometry = self._ticker.navigator.geometry
        try:
            parameters.costmap_config(geometry.resolution_m if geometry else 1.0)
        except ValueError as error:
            return str(error)
        return ''

    def cancel(self) -> tuple[bool, str]:
        goal = self._ticker.navigator.goal
        if goal is None:
            return False, 'there is no goal to cancel'
        self._ticker.navigator.cancel()
        self._node.get_logger().info(f'goal {_place(goal)} canceled')
        return True, f'goal {_place(goal)} canceled'

    def reset_search(self) -> tuple[bool, str]:
        goal = self._ticker.navigator.goal
        if goal is None:
            return False, 'there is no goal to search a way to'
        self._ticker.navigator.reset_search()
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
        def frame() -> str:
            return self._ticker.frame

        if self._parameters.pose_source == 'tf':
            return TfPose(self._node, self._parameters, self._problems, frame)
        return TopicPose(self._node, self._parameters, self._problems, frame, self._now_s)

    def _take_goal(self, message: PoseStamped) -> None:
        try:
            goal = self._poses.as_seen(pose_from_message(message, 'goal'))
            self._ticker.navigator.new_goal(goal)
        except BadMessage as error:
            kept = self._ticker.navigator.goal
            follows = f'the goal {_place(kept)} stays' if kept else 'there is no goal'
            self._problems.warn('goal', f'{error}; {follows}')
        except Exception:  # the node goes on
            self._problems.error('goal', f'goal not taken: {traceback.format_exc()}')
        else:
            self._reporter.new_goal()
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
        self._forget_times()

    def _forget_times(self) -> None:
        self._times.clock_jumped()
        self._poses.clock_jumped()
        self._ticker.clock_jumped()

    def _tick(self) -> None:
        began = perf_counter()
        self._times.begin(self._now_s())
        tick = self._ticker.tick(self._poses)
        if tick is not None:
            self._safely(lambda: self._reporter.tell(tick))
        if self._controller is not None:
            self._drive(self._controller, tick)
        duration_s = perf_counter() - began
        self._times.end(duration_s)
        if self._ticker.recorder is not None:
            self._ticker.recorder.end_tick(duration_s)

    def _drive(self, controller: Controller, tick: Tick | None) -> None:
        try:
            controller.tick(self._ticker.navigator, tick, self._poses.latest(), self._ticker.frame)
        except Exception:  # the node goes on
            self._problems.error('controller', f'the controller is not told: {traceback.format_exc()}')

    def _told_of_arrival(self, goal: Pose2D) -> None:
        """By the controller."""
        if self._ticker.navigator.goal == goal:
            self._ticker.navigator.arrive()
            self._node.get_logger().info(f'at the goal {_place(goal)}, as the controller says')

    def _every_second(self) -> None:
        if self._clock.clock_type == ClockType.ROS_TIME and self._now_s() == 0:
            self._problems.warn('clock', 'use_sim_time is set and nobody says the time on /clock; there is no tick')
        for desk in self._ticker.desks:
            desk.expire()
        if (recorder := self._ticker.recorder) is not None and recorder.error:
            self._problems.error('record', f'the run is not recorded any more: {recorder.error}')
        self._safely(self._reporter.tell_again)
        self._safely(self._display)

    def _display(self) -> None:
        ticker = self._ticker
        self._outputs.display(ticker.navigator, ticker.waypoint, ticker.restart_places, ticker.frame)

    def _safely(self, tell: Callable[[], None]) -> None:
        """What is only to be looked at must not keep the robot from its way."""
        try:
            tell()
        except Exception:
            self._problems.error('display', f'not shown: {traceback.format_exc()}')


def _place(pose: Pose2D) -> str:
    return f'({pose.x_m:.2f}, {pose.y_m:.2f}) m, {math.degrees(pose.yaw):.0f} degrees'
