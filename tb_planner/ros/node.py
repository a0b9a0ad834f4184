"""The lifecycle node tb_planner: map, pose and goal in; a waypoint out with every tick.

configure makes publishers and services. From activate to deactivate an ActivePlanner subscribes, ticks and publishes.
Deactivating drops goal and map; the map arrives again with the next activation, since its topic is latched.
"""

from __future__ import annotations

import functools
import gc
import inspect
import math
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Any

from tb_planner.ros.main import help_of, ros_needed_by, run_node

with ros_needed_by('planner_node', 'node'):
    from geometry_msgs.msg import PoseStamped
    from nav_msgs.msg import OccupancyGrid
    from rclpy.clock import Clock, ClockType, JumpThreshold, TimeJump
    from rclpy.duration import Duration
    from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
    from rclpy.parameter import Parameter
    from rclpy.qos import QoSProfile
    from std_srvs.srv import Trigger

from tb_planner import __version__
from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D
from tb_planner.maps.cdr import BadMessage
from tb_planner.maps.map_worker import MapWorker
from tb_planner.navigation.loop import NO_PLAN, PlannerLoop, TickResult
from tb_planner.navigation.navigator import NavigationStatus
from tb_planner.recording import About, Recorder
from tb_planner.recording.writer import keep_older
from tb_planner.ros import params
from tb_planner.ros.bond import make_bond
from tb_planner.ros.diagnostics import COMPILED, NOT_COMPILED, Diagnostics, TickStats
from tb_planner.ros.follow_path import PathFollower, require_follow_path
from tb_planner.ros.nav2_planner import DROP_IN, Nav2Planner, PathValidityService, require_nav2
from tb_planner.ros.pose_source import MissingPackage, RobotPose, TfPose, TopicPose, pose_from_message, require_tf
from tb_planner.ros.publishers import IN_ORDER, LATCHED, NEWEST, Publishers
from tb_planner.ros.throttled_log import ThrottledLog

SWITCH_INTERVAL_S = 0.0005
"""How long a tick waits for the map worker to release Python's lock; Python's own default is 5 ms."""
FULL_COLLECTION = 1000
"""Python examines all objects for garbage this much more rarely than its young ones, not 10 times: the long paths for
Nav2, thousands of poses each and kept for ten seconds, made it take up to 100 ms, for which every thread waits."""

REST_S = 10
"""A node that has been without goals and requests for so long gives the memory of its search back. The pauses of a
behaviour tree are shorter."""
BEFORE_TICK_S = 0.002
"""Path requests that arrive this short before a tick are left to the tick, so that it is not late."""
MAX_LABEL = 64
"""Characters of the label of a transition."""
WAIT_WARNING_S = 5.0
"""The node warns of what it waits for after this time without a clock, or without a first map or pose."""

# a jump of the simulated clock after which the time since the last tick, pose or map means nothing
_JUMP = JumpThreshold(min_forward=Duration(seconds=2.0), min_backward=Duration(nanoseconds=-1), on_clock_change=True)

Transition = Callable[['PlannerNode', LifecycleState], None]
Step = Callable[['PlannerNode', LifecycleState], TransitionCallbackReturn]


def log_transition(done: str) -> Callable[[Transition], Step]:
    """Logs how a transition went: rclpy would swallow an exception and its cause."""

    def decorate(transition: Transition) -> Step:
        @functools.wraps(transition)
        def step(node: PlannerNode, state: LifecycleState) -> TransitionCallbackReturn:
            name = transition.__name__.removeprefix('on_')
            try:
                transition(node, state)
            except MissingPackage as error:
                node.get_logger().error(f'{name} failed: {error}')
                return TransitionCallbackReturn.FAILURE
            except Exception:
                node.get_logger().error(f'{name} failed: {traceback.format_exc()}')
                return TransitionCallbackReturn.ERROR
            node.get_logger().info(done)
            return TransitionCallbackReturn.SUCCESS

        return step

    return decorate


class PlannerNode(LifecycleNode):
    """Raises params.BadParameters if it cannot start with the values it is given."""

    def __init__(self, **options: Any) -> None:
        super().__init__('tb_planner', **options)
        self._topics: Publishers | None = None
        self._nav2: Nav2Planner | None = None
        self._active: ActivePlanner | None = None
        self._triggers: list[Any] = []
        self.log = ThrottledLog(self.get_logger())
        self.parameters = params.declare(self, PlannerParameters)
        params.apply_changes(self, PlannerParameters, self._apply, self._refuse)
        self.add_post_set_parameters_callback(self._clock_changed)
        self._refuse_impossible_transitions()
        if not COMPILED:
            self.get_logger().warning(NOT_COMPILED)
        for line in self._banner():
            self.get_logger().info(line)

    def _banner(self) -> Iterator[str]:
        """What a node started by hand waits for, and where it listens."""
        chosen, topic = self.parameters, self.resolve_topic_name
        pose = 'TF' if chosen.pose_source == 'tf' else topic('pose')
        yield (
            f'tb_planner {__version__}: {chosen.algorithm_name}, {chosen.tick_frequency:g} Hz; map: {topic("map")}, '
            f'pose: {pose}, goals: {topic("goal_pose") if chosen.subscribe_goal_pose else "none"}, output: '
            f'{topic(chosen.output if chosen.output == "waypoint" else chosen.follow_path_action)}'
        )
        if not chosen.autostart_node:
            name = self.get_fully_qualified_name()
            yield (
                f'unconfigured; to activate it: ros2 lifecycle set {name} configure && ros2 lifecycle set {name} '
                'activate, or start it with --ros-args -p autostart_node:=true'
            )

    # -------------------------------------------------------------------------------------------------- lifecycle
    @log_transition('configured')
    def on_configure(self, state: LifecycleState) -> None:
        if self.parameters.pose_source == 'tf':
            require_tf()
        if self.parameters.output == 'follow_path':
            require_follow_path()
        nav2_types = require_nav2() if self.parameters.nav2 else None
        if map_update_type() is None:
            text = 'map_msgs is not installed: the node subscribes to whole maps, not to map_updates'
            self.get_logger().info(text)
        self._topics = Publishers(self)
        self._triggers = [
            self.create_service(Trigger, '~/cancel', functools.partial(self._serve, ActivePlanner.cancel)),
            self.create_service(Trigger, '~/reset_search', functools.partial(self._serve, ActivePlanner.reset_search)),
        ]
        if nav2_types is not None:
            self._nav2 = Nav2Planner(self, nav2_types, self.parameters, self.log)
        super().on_configure(state)

    @log_transition('active')
    def on_activate(self, state: LifecycleState) -> None:
        assert self._topics is not None
        super().on_activate(state)
        self._active = ActivePlanner(self, self.parameters, self._topics, self.log, self._nav2)

    @log_transition('inactive; goal and map are dropped')
    def on_deactivate(self, state: LifecycleState) -> None:
        self._end_activity()
        super().on_deactivate(state)

    @log_transition('cleaned up')
    def on_cleanup(self, state: LifecycleState) -> None:
        self.release()

    @log_transition('shut down')
    def on_shutdown(self, state: LifecycleState) -> None:
        self.release()

    @log_transition('released everything after an error; the node may be configured again')
    def on_error(self, state: LifecycleState) -> None:
        self.release()

    def release(self) -> None:
        """Closes whatever exists, in any state."""
        self._end_activity()
        for service in self._triggers:
            self.destroy_service(service)
        self._triggers.clear()
        if self._nav2 is not None:
            nav2, self._nav2 = self._nav2, None
            nav2.close()
        if self._topics is not None:
            publishers, self._topics = self._topics, None
            publishers.close()

    def destroy_node(self) -> None:
        self.release()
        super().destroy_node()

    def _end_activity(self) -> None:
        if self._active is not None:
            active, self._active = self._active, None
            active.close()
            del active
            gc.collect()  # it refers to itself, and its grids may take hundreds of megabytes

    def _refuse_impossible_transitions(self) -> None:
        """Otherwise a request that does not suit the state would end the process."""
        service = self._service_change_state
        change_state = service.callback

        def guarded(request: Any, response: Any) -> Any:
            label = request.transition.label
            try:
                if len(label) > MAX_LABEL:  # rcl would log all of it
                    raise ValueError(f'its label has {len(label)} characters; it must have at most {MAX_LABEL}')
                return change_state(request, response)
            except Exception as error:
                transition = label[:MAX_LABEL] or request.transition.id
                state = self._state_machine.current_state[1]
                text = f'transition {transition} refused in state {state}: {error}'
                self.log.warn(f'transition {request.transition.id} {state}', text)
                response.success = False
                return response

        service.callback = guarded

    # -------------------------------------------------------------------------------------------------- requests
    def _apply(self, changed: PlannerParameters) -> None:
        self.parameters = changed
        try:
            if self._active is not None:
                self._active.use_parameters(changed)
        except Exception:  # the node goes on
            self.log.error('parameters', f'parameters not applied: {traceback.format_exc()}')

    def _refuse(self, wanted: PlannerParameters) -> str:
        return self._active.refuse(wanted) if self._active is not None else ''

    def _clock_changed(self, changed: list[Parameter]) -> None:
        if self._active is not None and any(item.name == 'use_sim_time' for item in changed):
            self._active.change_clock()

    def _serve(
        self, request: Callable[[ActivePlanner], tuple[bool, str]], _: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        if self._active is None:
            response.success, response.message = False, f'{self.get_name()} is not active'
            return response
        try:
            response.success, response.message = request(self._active)
        except Exception as error:  # the node goes on
            self.log.error('request', f'request failed: {traceback.format_exc()}')
            response.success, response.message = False, f'failed: {error!r}'
        return response


class ActivePlanner:
    """Everything that exists while the node is active: subscriptions, the map worker, timers and the PlannerLoop.

    Callbacks only store what they receive; the tick and the map worker do the work.
    """

    def __init__(
        self,
        node: LifecycleNode,
        parameters: PlannerParameters,
        publishers: Publishers,
        log: ThrottledLog,
        nav2: Nav2Planner | None = None,
    ) -> None:
        self._node = node
        self._parameters = parameters
        self._publishers = publishers
        self._log = log
        self._nav2 = nav2
        self._timer: Any = None
        self._waiting_s = 0.0  # for a first map or pose
        self._warned_missing = ''  # what the last such warning named
        self._without_clock_s = 0.0
        self._idle_s = 0.0  # since the last goal or request
        self._recorder: Recorder | None = None
        self._follower: PathFollower | None = None
        self._stats = TickStats(parameters.period_s)
        self._worker = MapWorker(parameters.map_settings(), log, perf_counter)
        with ExitStack() as undo:  # if one of them fails, those before it are closed
            undo.callback(self._worker.stop)
            self._start_timer()
            undo.callback(self._stop_timer)
            self._poses = self._make_pose_source()
            undo.callback(self._poses.close)
            maps = self._worker.intake
            self.loop = PlannerLoop(parameters.loop_settings(), maps, self._poses, log, perf_counter)
            if parameters.record:
                self._start_recorder(undo)
            if parameters.output == 'follow_path':
                self._follower = PathFollower(node, lambda: self._parameters, log, self._reached)
                undo.callback(self._follower.close)
            more_values = [part.diagnostics for part in (nav2, self._follower) if part is not None]
            self._diagnostics = Diagnostics(node, publishers, log, self._stats, self.loop, self._poses, more_values)
            self._subscribe(undo)
            jumps = node.get_clock().create_jump_callback(_JUMP, post_callback=self._clock_jumped)
            undo.callback(jumps.unregister)
            slow = node.create_timer(1.0, self._every_second, clock=Clock(clock_type=ClockType.STEADY_TIME))
            undo.callback(node.destroy_timer, slow)
            self._worker.start()
            if nav2 is not None:
                self._serve_paths(nav2, undo)
            if (bond := make_bond(node, parameters, log)) is not None:  # last: now everything else exists
                undo.callback(bond.close)
            self._undo = undo.pop_all()

    def close(self) -> None:
        """Stops the robot, ends the thread and closes everything."""
        try:
            pose = self._poses.latest(self._now_s())
            if self.loop.navigator.goal is not None and pose is not None:
                self._publish_waypoint(pose)
            self._publishers.plan(NO_PLAN, self.loop.frame, None)
            self._publishers.status(NavigationStatus.IDLE)
            self._publishers.summary({'status': NavigationStatus.IDLE.value, 'reason': 'the node is not active'})
        finally:
            self._undo.close()

    def _start_recorder(self, undo: ExitStack) -> None:
        """A run that cannot be recorded goes on all the same."""
        chosen = self._parameters
        about = About(
            algorithm=chosen.algorithm_name,
            period_s=chosen.period_s,
            budget_s=chosen.period_s,
            robot_radius_m=chosen.robot_radius_m,
        )
        path = Path(chosen.record).expanduser()
        try:
            keep_older(path)
            self.loop.recorder = self._recorder = Recorder(path, about)
        except OSError as error:
            self._log.error('record', f'the run is not recorded: {error}')
        else:
            undo.callback(self._recorder.close)

    def _serve_paths(self, nav2: Nav2Planner, undo: ExitStack) -> None:
        def serve_soon() -> None:
            self._idle_s = 0.0
            if (executor := self._node.executor) is not None:
                executor.create_task(self._serve_requests)

        self.loop.path_handlers = nav2.activate(
            lambda: self._parameters, self._poses, self._log, self._publish_path, serve_soon
        )
        undo.callback(nav2.deactivate)
        if self._parameters.compute_path_to_pose_action == DROP_IN:
            service = PathValidityService(self._node, nav2.types.is_path_valid, self.loop, self._log)
            undo.callback(service.close)

    # -------------------------------------------------------------------------------------------------- requests
    def use_parameters(self, parameters: PlannerParameters) -> None:
        """Uses other parameters from the next tick on."""
        old, self._parameters = self._parameters, parameters
        self.loop.settings = parameters.loop_settings()
        self._worker.use_settings(parameters.map_settings())
        self._poses.timeout_s = parameters.pose_max_age_s
        if self._recorder is not None:
            self._recorder.algorithm = parameters.algorithm_name
        if old.tick_frequency != parameters.tick_frequency:
            self._stats.period_s = parameters.period_s
            self._start_timer()

    def change_clock(self) -> None:
        """use_sim_time has changed: times of one clock mean nothing to the other."""
        self._start_timer()
        self._clock_jumped()

    def refuse(self, parameters: PlannerParameters) -> str:
        """Why the present map does not allow these parameters; empty if it does."""
        geometry = self.loop.navigator.geometry
        try:
            parameters.costmap_config(geometry.resolution_m if geometry else 1.0)
        except ValueError as error:
            return str(error)
        return ''

    def cancel(self) -> tuple[bool, str]:
        goal = self.loop.navigator.goal
        if goal is None:
            return False, 'there is no goal to cancel'
        self.loop.navigator.cancel()
        self._node.get_logger().info(f'goal {_text_of(goal)} canceled')
        return True, f'goal {_text_of(goal)} canceled'

    def reset_search(self) -> tuple[bool, str]:
        goal = self.loop.navigator.goal
        if goal is None:
            return False, 'there is no goal to search a path to'
        self.loop.navigator.reset_search()
        return True, f'the search for a path to {_text_of(goal)} restarts'

    # -------------------------------------------------------------------------------------------------- messages
    def _subscribe(self, undo: ExitStack) -> None:
        wanted: list[tuple[Any, str, Callable[..., None], QoSProfile, bool]]
        wanted = [(OccupancyGrid, 'map', self._with_losses('map', self._worker.put_map), LATCHED, True)]
        if (update := map_update_type()) is not None:
            take = self._with_losses('map_updates', self._worker.put_patch)
            wanted.append((update, 'map_updates', take, IN_ORDER, True))
        if self._parameters.subscribe_goal_pose:
            wanted.append((PoseStamped, 'goal_pose', self._take_goal, NEWEST, False))
        for kind, topic, callback, qos, raw in wanted:
            subscription = self._node.create_subscription(kind, topic, callback, qos, raw=raw)
            undo.callback(self._node.destroy_subscription, subscription)

    def _with_losses(self, topic: str, put: Callable[[bytes, int], None]) -> Callable[..., None]:
        """A callback that also passes on how many messages before this one did not arrive, by the numbers that a
        publisher gives its messages. (The message_lost event of Fast DDS leaves out those that a full queue drops.) It
        is 0 where the middleware has no numbers, as Cyclone DDS, and where several publishers count each for itself."""
        last: int | None = None

        def take(*message: Any) -> None:
            nonlocal last
            data, info = message if len(message) == 2 else message[0]  # rclpy's EventsExecutor passes both as one
            before, last = last, info['publication_sequence_number']
            lost = 0 if before is None or last is None else max(last - before - 1, 0)  # less: a new publisher
            put(data, lost if lost and self._node.count_publishers(self._topic(topic)) <= 1 else 0)

        setattr(take, '__signature__', inspect.signature(lambda data, info: None))  # noqa: B010  rclpy looks at it
        return take

    def _make_pose_source(self) -> RobotPose:
        def frame() -> str:
            return self.loop.frame

        if self._parameters.pose_source == 'tf':
            return TfPose(self._node, self._parameters, self._log, frame)
        return TopicPose(self._node, self._parameters, self._log, frame, self._now_s)

    def _take_goal(self, message: PoseStamped) -> None:
        try:
            goal = self._poses.to_map_frame(pose_from_message(message, 'goal'))
            self.loop.navigator.new_goal(goal)
        except BadMessage as error:
            kept = self.loop.navigator.goal
            follows = f'the goal {_text_of(kept)} stays' if kept else 'there is no goal'
            self._log.warn('goal', f'{error}; {follows}')
        except Exception:  # the node goes on
            self._log.error('goal', f'goal not used: {traceback.format_exc()}')
        else:
            self._idle_s = 0.0
            self._diagnostics.new_goal()
            self._node.get_logger().info(f'new goal {_text_of(goal)}')

    # -------------------------------------------------------------------------------------------------- ticks
    def _tick(self) -> None:
        began_s, now_s = perf_counter(), self._now_s()
        self._stats.begin(now_s)
        result = self.loop.tick(now_s)
        self._publish(result, now_s)
        duration_s = perf_counter() - began_s
        self._stats.end(duration_s)
        if self._recorder is not None:
            self._recorder.end_tick(duration_s)

    def _serve_requests(self) -> None:
        """A path request has arrived: whoever asks for a path that is known does not wait for the next tick."""
        if self._timer is None:  # the node is inactive by now
            return
        time_s = self._parameters.period_s
        if self._clock.clock_type != ClockType.ROS_TIME:  # nobody knows when simulated time comes to the next tick
            time_s = (self._timer.time_until_next_call() or 0) * 1e-9 - BEFORE_TICK_S
        if time_s > 0:
            self._guarded('path', lambda: self.loop.serve_requests(self._now_s(), time_s))

    def _publish(self, result: TickResult, now_s: float) -> None:
        try:
            if result.tick is not None and result.tick.waypoint is not None:
                self._publish_waypoint(result.tick.waypoint)
            if result.plan_m is not None:
                self._publishers.plan(result.plan_m, result.frame, result.plan_yaw)
        except Exception:
            self._log.error('tick', f'waypoint and plan not published: {traceback.format_exc()}')
            self.loop.start_over()
        self._guarded('diagnostics', lambda: self._diagnostics.report(result, now_s))
        if self._follower is not None:
            follower = self._follower
            self._guarded('controller', lambda: follower.tick(self.loop.navigator, result))

    def _publish_waypoint(self, waypoint: Pose2D) -> None:
        if self._parameters.output == 'waypoint':
            self._publishers.waypoint(waypoint, self.loop.frame)

    def _publish_path(self, points_m: Any, yaw: float) -> None:
        """Publishes a requested path, as Nav2's planner server does, unless there is a plan for a goal."""
        if self.loop.navigator.goal is None:
            self._publishers.plan(points_m, self.loop.frame, yaw)

    def _reached(self, goal: Pose2D) -> None:
        """The controller has reached a goal."""
        if self.loop.navigator.goal == goal:
            self.loop.navigator.arrive()
            self._node.get_logger().info(f'the controller reports that it reached the goal {_text_of(goal)}')

    def _every_second(self) -> None:
        has_clock = self._clock.clock_type != ClockType.ROS_TIME or self._now_s() > 0
        self._without_clock_s = 0.0 if has_clock else self._without_clock_s + 1.0
        if self._without_clock_s >= WAIT_WARNING_S:
            self._log.warn('clock', 'use_sim_time is true and nobody publishes /clock; the planner does not tick')
        self._warn_what_is_missing()
        if self._nav2 is not None:
            self._nav2.expire()
        self._rest_if_idle()
        if self._recorder is not None and self._recorder.error:
            self._log.error('record', f'the run is not recorded any more: {self._recorder.error}')
        self._guarded('diagnostics', lambda: self._diagnostics.publish(self._now_s()))
        self._guarded('markers', self._diagnostics.publish_for_rviz)

    def _rest_if_idle(self) -> None:
        """A second has passed."""
        self._idle_s = self._idle_s + 1.0 if self.loop.is_idle else 0.0
        if self._idle_s == REST_S:
            self.loop.rest()
            self._worker.drop_spare_searches()

    def _warn_what_is_missing(self) -> None:
        """Warns that the first map or pose is missing: every five seconds if there is a goal, otherwise once."""
        has_map, has_pose = self.loop.map is not None, self._poses.age_s(self._now_s()) is not None
        if has_map and has_pose:
            self._waiting_s = 0.0
            return
        self._waiting_s += 1.0
        missing = f'a pose {self._pose_origin()}' if has_map else f'a map on {self._topic("map")}'
        is_due = self._waiting_s >= WAIT_WARNING_S
        if is_due and (self.loop.navigator.goal is not None or missing != self._warned_missing):
            self._warned_missing = missing
            text = f'Waiting for {missing} (none received for {self._waiting_s:.0f} s)'
            self._log.warn('waiting', text, same=missing)

    def _topic(self, name: str) -> str:
        return self._node.resolve_topic_name(name)

    def _pose_origin(self) -> str:
        return 'from TF' if self._parameters.pose_source == 'tf' else f'on {self._topic("pose")}'

    def _guarded(self, kind: str, act: Callable[[], None]) -> None:
        """Logs an error of a part that the robot does not need to reach its goal."""
        try:
            act()
        except Exception:
            self._log.error(kind, f'{kind} failed: {traceback.format_exc()}')

    # -------------------------------------------------------------------------------------------------- time
    def _start_timer(self) -> None:
        """Starts the timer of the ticks, by simulated time or else by a steady clock, which nobody can set."""
        self._stop_timer()
        simulated = self._node.get_parameter('use_sim_time').value
        self._clock = self._node.get_clock() if simulated else Clock(clock_type=ClockType.STEADY_TIME)
        self._stats.clock_jumped()
        self._timer = self._node.create_timer(self._parameters.period_s, self._tick, clock=self._clock)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def _now_s(self) -> float:
        return self._clock.now().nanoseconds * 1e-9

    def _clock_jumped(self, _: TimeJump | None = None) -> None:
        self._stats.clock_jumped()
        self.loop.clock_jumped(self._now_s())


def map_update_type() -> Any:
    """map_msgs/OccupancyGridUpdate, or None where map_msgs is not installed."""
    try:
        from map_msgs.msg import OccupancyGridUpdate
    except ImportError:
        return None
    return OccupancyGridUpdate


def _text_of(pose: Pose2D) -> str:
    return f'({pose.x_m:.2f}, {pose.y_m:.2f}) m, {math.degrees(pose.yaw):.0f} degrees'


def started_node() -> PlannerNode:
    """A node that has configured and activated itself, if its parameters ask for that."""
    node = PlannerNode()
    gc.freeze()  # what exists by now stays; examining it for garbage again and again takes 10 ms of a tick
    if node.parameters.autostart_node and node.trigger_configure() == TransitionCallbackReturn.SUCCESS:
        node.trigger_activate()
    return node


def main(args: list[str] | None = None) -> int:
    """Runs the node until SIGINT or SIGTERM. Returns 0, or 1 if it cannot start."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(*gc.get_threshold()[:2], FULL_COLLECTION)
    text = help_of('planner_node', 'docs/reference.md', __doc__, PlannerParameters)
    return run_node(started_node, 'tb_planner', (params.BadParameters,), args, text)


if __name__ == '__main__':
    sys.exit(main())
