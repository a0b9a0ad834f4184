"""Nav2's planner actions, from a goal to its result.

    goal:    PathServer (thread of the actions) keeps it as an ActionRequest
    tick:    ComputePathHandler makes a PathRequest of it; PathPlanner returns a PathResult with its Route
    result:  PathServer makes the message of the Route (thread of the actions) and sends it

At most one request of an action runs and one is pending, and every request ends. The thread of the actions deals with
goals, cancels and results; the tick looks for a request and reports how it ended.

rclpy serves a node by one executor, and this package's node by one thread: a goal would wait for the end of a tick, in
which the search may take as long as a user likes. The search lets other threads run, so a second thread is enough; and
rclpy cannot share a node between executors, so the actions have a second node.

Nav2's messages are recognised by their fields, so that one source serves Jazzy and later.
"""

from __future__ import annotations

import math
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus, GoalStatusArray
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from numpy.typing import NDArray
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from std_msgs.msg import Header

from tb_planner.config import PlannerParameters
from tb_planner.errors import TbPlannerError, cut
from tb_planner.geometry import Pose2D, headings
from tb_planner.maps.cdr import BadMessage
from tb_planner.navigation.loop import LoopSettings, TickContext
from tb_planner.navigation.path_planner import MAX_GOALS, PathPlanner, PathResult, PathStatus
from tb_planner.navigation.route import Route
from tb_planner.ros.diagnostics import TickStats
from tb_planner.ros.main import spin_once
from tb_planner.ros.pose_source import RobotPose, TransformNotReady, pose_from_message
from tb_planner.ros.publishers import LATCHED
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.search.planner import BudgetShare, TickBudget

BURST = QoSProfile(depth=256)
"""Queues for requests that arrive at once; with ROS's own depth of 10 the rest would never get a response."""
RESULT_TIMEOUT_S = 10
"""How long a result is kept for whoever fetches it, as in Nav2."""
PROBE_S = 0.1
"""The period with which the thread measures how late it comes."""
STOP_S = 5.0
LAST_ROUNDS = 200
"""Rounds after the last task: results are sent by tasks that tasks have made, one a round."""
POSES_AT_ONCE = 200
"""How many poses of a path's message are made in one piece; each takes about ten microseconds."""
GOALS_AT_ONCE, GOAL_EXPANSIONS = 32, 64
"""How many goals of a request are brought into the map's frame in one piece, and the expansions that take about as long
as one of them, ten microseconds."""
EXPIRED_S = 1.0
"""A request that is late by this and two ticks more ends without a tick; a tick might have an older path for it."""

NEXT_MAP_S = 1.5
"""How long a second failure on the same map waits for the next one; Nav2 publishes its global costmap once a second."""

_UNFINISHED = (PathStatus.SEARCHING, PathStatus.WAITING_FOR_MAP)
_FOLLOWING = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)

PublishPath = Callable[[NDArray[np.float64], float], None]
"""Publishes the points of a path, and the heading at its end; called by the thread of the actions, because a long path
takes some ten milliseconds."""


# ------------------------------------------------------------------------------------------------------ the server
def second_node(node: LifecycleNode, what_for: str) -> Node:
    """Makes <node>_<what_for>, without services of its own. It ignores the process's arguments: a remapped name would
    name both nodes. rclpy never frees the 0.1 MB of a node's get_type_description."""
    return Node(
        f'{node.get_name()}_{what_for}',
        namespace=node.get_namespace(),
        context=node.context,
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=[Parameter('start_type_description_service', value=False)],
    )


class ActionThread:
    """Spins a second node for a node's actions."""

    def __init__(self, node: LifecycleNode, log: ThrottledLog) -> None:
        self.node = second_node(node, 'actions')
        self.times = TickStats(PROBE_S)
        """Durations are those of acknowledgements; jitter is how long a goal may have to wait for its turn."""
        self._log = log
        # not the newer one: it makes thousands of tasks when goals expire, and ends the process when one of them raises
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self.node)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.node.create_timer(PROBE_S, lambda: self.times.begin(perf_counter()), clock=steady)
        self._tasks: deque[Callable[[], object]] = deque()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name='actions', daemon=True)

    def start(self) -> None:
        self._thread.start()

    def do(self, task: Callable[[], object]) -> None:
        """Runs the task in the thread, in the order of calls, which an executor of rclpy does not keep by itself."""
        self._tasks.append(task)
        self._executor.create_task(self._do_next)

    def close(self) -> None:
        """Ends the thread after the tasks that it has, and destroys the servers and the node."""
        if self._thread.ident is not None:
            self.do(self._stop)
            self._thread.join(STOP_S)
            self._stopping = True  # also if it was too busy for that task
        self._executor.shutdown(timeout_sec=STOP_S)
        for waitable in list(self.node.waitables):
            if isinstance(waitable, ActionServer):
                waitable.destroy()
        self.node.destroy_node()

    def _stop(self) -> None:
        self._stopping = True

    def _run(self) -> None:
        rounds_left = LAST_ROUNDS
        while self.node.context.ok() and rounds_left:
            try:
                spin_once(self._executor, 0.001 if self._stopping else PROBE_S, self._log)
            except ExternalShutdownException:
                return
            rounds_left -= self._stopping

    def _do_next(self) -> None:
        try:
            self._tasks.popleft()()
        except Exception:  # other requests wait
            self._log.error('action', f'action failed: {traceback.format_exc()}')


class TimedActionServer(ActionServer):
    """Keeps the time at which it received a goal."""

    taken_s = 0.0

    def take_data(self) -> Any:
        data = super().take_data()
        if 'goal' in data:
            self.taken_s = perf_counter()
        return data


@dataclass(eq=False)
class ActionRequest:
    """An accepted goal of an action."""

    handle: ServerGoalHandle
    accepted_s: float = field(default_factory=perf_counter)
    begun_s: float | None = None
    """When the planner first looked at it."""

    @property
    def message(self) -> Any:
        return self.handle.request

    @property
    def age_s(self) -> float:
        return perf_counter() - self.accepted_s

    @property
    def planning_time_s(self) -> float:
        """The time since the planner began with it, as in Nav2: the time before that is not part of it."""
        return 0.0 if self.begun_s is None else perf_counter() - self.begun_s


class PathServer:
    """current(), succeed() and fail() are for the tick; activate() and deactivate() for the lifecycle."""

    def __init__(self, thread: ActionThread, action: Any, name: str) -> None:
        self.action = action
        self.accepted = 0
        self._thread = thread
        self._lock = threading.Lock()
        self._is_active = False
        self._notify: Callable[[], None] = lambda: None
        self._running: ActionRequest | None = None
        self._pending: ActionRequest | None = None
        self._server = TimedActionServer(
            thread.node,
            action,
            name,
            execute_callback=self._not_executed,
            goal_callback=self._accept_or_reject,
            handle_accepted_callback=self._take,
            cancel_callback=self._accept_cancel,
            goal_service_qos_profile=BURST,
            cancel_service_qos_profile=BURST,
            result_service_qos_profile=BURST,
            result_timeout=RESULT_TIMEOUT_S,
        )

    def activate(self, parameters: Callable[[], PlannerParameters], notify: Callable[[], None]) -> None:
        """notify: called by the thread of the actions when there is a new request."""
        with self._lock:
            self._is_active, self.accepted = True, 0
            self._parameters, self._notify = parameters, notify

    def deactivate(self) -> None:
        """Rejects goals from now on, and aborts unfinished requests."""
        with self._lock:
            self._is_active = False
            requests = [self._running, self._pending]
            self._running = self._pending = None
        for request in requests:
            self._abort(request, 'the planner was deactivated')

    # -------------------------------------------------------------------------------------------------- for the tick
    @property
    def has_request(self) -> bool:
        with self._lock:
            return self._running is not None or self._pending is not None

    def current(self) -> ActionRequest | None:
        """The request that needs a result; a pending one preempts the one that is running."""
        with self._lock:
            if self._pending is None:
                return self._running
            preempted, self._running, self._pending = self._running, self._pending, None
            current = self._running
        current.begun_s = perf_counter()
        self._abort(preempted, 'preempted by another goal')
        return current

    def fail(self, request: ActionRequest, error: str, text: str) -> bool:
        """Ends a request without a path; returns False if it has ended already."""
        if not self._drop(request):
            return False
        self._end(request, error, text, request.planning_time_s)
        return True

    def succeed(self, request: ActionRequest, path: PathMessage, publish: Callable[[], None]) -> bool:
        """Ends a request with a path, whose message the thread of the actions makes and publishes; returns False if it
        has ended already."""
        if not self._drop(request):
            return False
        planning_time_s = request.planning_time_s

        def go_on() -> None:
            if path.go_on():
                self._execute(request, 'NONE', '', planning_time_s, path)
                if self._is_active:
                    publish()
            else:
                self._thread.do(go_on)  # after goals that have come meanwhile

        self._thread.do(go_on)
        return True

    # -------------------------------------------------------------------------------------------------- for the thread
    def _accept_or_reject(self, goal: Any) -> GoalResponse:
        if not self._is_active:
            return GoalResponse.REJECT
        if hasattr(self.action.Result, 'GOAL_REJECTED') and (why := planner_error(goal, self._parameters())):  # Lyrical
            self._thread.node.get_logger().error(f'goal rejected: {why}')
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _take(self, handle: ServerGoalHandle) -> None:
        """Keeps an accepted goal; by now the client knows that it is accepted."""
        self._thread.times.end(perf_counter() - self._server.taken_s)
        request = ActionRequest(handle)
        with self._lock:
            self.accepted += 1
            dropped, self._pending = (self._pending, request) if self._is_active else (request, None)
        self._notify()
        self._abort(dropped, 'preempted by another goal' if dropped is not request else 'the planner was deactivated')

    def _accept_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        if not handle.is_active:
            return CancelResponse.REJECT
        self._thread.do(lambda: self._cancel(handle))  # after it has become canceling
        return CancelResponse.ACCEPT

    def _cancel(self, handle: ServerGoalHandle) -> None:
        with self._lock:
            requests = [request for request in (self._running, self._pending) if request is not None]
        for request in requests:
            if request.handle == handle and handle.is_cancel_requested and self._drop(request):
                self._abort(request, 'canceled')

    # -------------------------------------------------------------------------------------------------- how it ends
    def _drop(self, request: ActionRequest) -> bool:
        """Whether the request had no result yet."""
        with self._lock:
            if request is self._running:
                self._running = None
            elif request is self._pending:
                self._pending = None
            else:
                return False
        return True

    def _abort(self, request: ActionRequest | None, text: str) -> None:
        """Ends a request without an error code, as in Nav2: nothing is wrong with it."""
        if request is not None:
            self._end(request, 'NONE', text, request.planning_time_s)

    def _end(self, request: ActionRequest, error: str, text: str, planning_time_s: float) -> None:
        self._thread.do(lambda: self._execute(request, error, text, planning_time_s))

    def _execute(
        self, request: ActionRequest, error: str, text: str, planning_time_s: float, path: PathMessage | None = None
    ) -> None:
        """Executes the goal now that its result is known: rclpy would poll one that waits. For the thread."""

        def conclude(handle: ServerGoalHandle) -> Any:
            message = None if path is None else path.message
            result = result_of(self.action, error, text, message, planning_time_s)
            if handle.is_cancel_requested:
                handle.canceled()
            elif path is not None:
                handle.succeed()
            else:
                handle.abort()
            return result

        request.handle.execute(conclude)

    @staticmethod
    def _not_executed(_: ServerGoalHandle) -> Any:
        raise AssertionError('only _end() executes goals')


# ------------------------------------------------------------------------------------------------------ the tick
class ControllerStatus:
    """Whether Nav2's controller server follows a path, by the status topic of its action.

    While it does, a path that is still valid has to come back as the same message, since another one would preempt it.
    After it has given up, or has begun with a path of another planner, any path is a new beginning. The node may be
    served by another thread.
    """

    def __init__(self, node: Node, action: str) -> None:
        self.has_stopped = False
        """The controller is known, and follows nothing. An unknown one may be following: another program may drive the
        robot, or the action may have another name."""
        self.paths_begun = 0
        """How many paths it has begun to follow."""
        self._goals: set[bytes] = set()
        node.create_subscription(GoalStatusArray, f'{action}/_action/status', self._receive, LATCHED)

    def _receive(self, message: GoalStatusArray) -> None:
        self.has_stopped = not any(goal.status in _FOLLOWING for goal in message.status_list)
        known, self._goals = self._goals, {bytes(goal.goal_info.goal_id.uuid) for goal in message.status_list}
        self.paths_begun += len(self._goals - known)


class RequestFailed(TbPlannerError):
    """A request that cannot have a path; carries the name of the action's error code."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


class ComputePathHandler:
    """Serves the requests of one action, tick by tick, with Nav2's error codes. It keeps its search between requests.

    It belongs to the thread of the ticks.
    """

    def __init__(
        self,
        server: PathServer,
        controller: ControllerStatus,
        parameters: Callable[[], PlannerParameters],
        poses: RobotPose,
        log: ThrottledLog,
        publish_path: PublishPath,
        stamp: Callable[[], Any],
    ) -> None:
        self.found = 0
        """Requests that got a path."""
        self.unchanged = 0
        """Of these, requests that got the same path as the one before."""
        self._server = server
        self._controller = controller
        self._parameters = parameters
        self._poses = poses
        self._log = log
        self._publish_path = publish_path
        self._stamp = stamp
        self._searches_before = 0
        self._request: ActionRequest | None = None  # that the path planner works on
        self._unplaced: ActionRequest | None = None  # that waits for a transform
        self._unplaced_s = 0.0  # since when
        self._goals: list[Pose2D] = []  # of the request, as far as they are in the map's frame
        self._placed: ActionRequest | None = None  # that these goals belong to
        self._failed_on: int | None = None  # the number of the map on which the last request had no path
        self._start = Pose2D(0.0, 0.0)
        self._message: PathMessage | None = None  # of the path that was sent last
        self._paths_begun = 0  # by the controller before that
        self._along_path = parameters().use_final_approach_orientation
        self._planner = self._new_planner()

    @property
    def has_request(self) -> bool:
        return self._server.has_request

    @property
    def has_path(self) -> bool:
        return self._planner.has_path

    @property
    def searches(self) -> int:
        return self._searches_before + self._planner.searches

    def use_settings(self, settings: LoopSettings) -> None:
        self._planner.use_settings(settings.navigation, settings.path_tolerance_m)

    def forget(self) -> None:
        self._searches_before += self._planner.searches
        self._planner = self._new_planner()
        self._request = self._placed = self._message = None

    def rest(self) -> None:
        self._planner.rest()

    def tick(self, context: TickContext, budget: TickBudget) -> None:
        request = self._server.current()
        share = None if request is None else budget.share()  # the time for the map counts, too
        try:
            if context.map_update is not None:
                self._planner.update_map(context.map_update)
            if request is not None and share is not None:
                self._handle(request, context, share)
        except Exception as error:
            self._log.error('path', f'path request failed: {traceback.format_exc()}')
            self.forget()
            if context.map is not None:
                self._planner.update_map(context.map)
            if request is not None:
                self._server.fail(request, 'UNKNOWN', f'internal error: {error!r}')

    def expire(self) -> None:
        """Ends a request that no tick has ended in time: simulated time may have stopped."""
        request = self._server.current()
        if request is not None and self._is_late(request, by_s=EXPIRED_S + 2 * self._parameters().period_s):
            self._time_out(request, 'there was no tick in time')

    # -------------------------------------------------------------------------------------------------- a request
    def _handle(self, request: ActionRequest, context: TickContext, share: BudgetShare) -> None:
        """A request that fails on the same map as the one before waits for the next map: between the two, a behaviour
        tree clears the costmap. Nav2's service get_costmap is no help, because a costmap that was just cleared has no
        walls until its next update, after which it is published."""
        try:
            self._validate(request)
            result = self._search(request, context, share)
        except TransformNotReady:  # the next tick may have it
            return
        except RequestFailed as failure:
            self._fail(request, failure.error, str(failure))
            return
        if result.path is not None:
            self._succeed(request, result.path, context)
        elif result.status not in _UNFINISHED:
            if self._failed_on != context.maps_taken or self._is_late(request) or request.age_s > NEXT_MAP_S:
                self._failed_on = context.maps_taken
                self._fail(request, result.status.value, result.message)
        elif not self._is_late(request):
            return
        elif self._request is request and self._planner.held_path is not None and not context.map_lost:
            self._succeed(request, self._planner.held_path, context)
        else:
            self._time_out(request, result.message)

    def _validate(self, request: ActionRequest) -> None:
        """Checks what needs no map; raises RequestFailed."""
        goals = goal_count(request.message)
        if goals == 0:
            raise RequestFailed('NO_VIAPOINTS_GIVEN', 'the request has 0 goals; it must have at least 1')
        if goals > MAX_GOALS:
            raise RequestFailed('UNKNOWN', f'the request has {goals} goals; it must have at most {MAX_GOALS}')
        if why := planner_error(request.message, self._parameters()):
            raise RequestFailed('INVALID_PLANNER', why)

    def _search(self, request: ActionRequest, context: TickContext, share: BudgetShare) -> PathResult:
        if context.map is None:
            return PathResult(PathStatus.WAITING_FOR_MAP, 'there is no map yet')
        if context.map_lost:
            timeout_s = self._parameters().map_timeout_s
            return PathResult(PathStatus.WAITING_FOR_MAP, f'the map is older than {timeout_s} s')
        if self._request is not request and not self._begin(request, context, share):
            text = f'{len(self._goals)} of {goal_count(request.message)} goals are in the map frame'
            return PathResult(PathStatus.SEARCHING, text)
        return self._planner.step(share.search_for, share.goes_on)

    def _begin(self, request: ActionRequest, context: TickContext, share: BudgetShare) -> bool:
        """Whether the search may begin: all goals are in the map's frame. Raises TransformNotReady while it waits for
        transforms, as Nav2's planner server does."""
        message = request.message
        if self._placed is not request:
            self._placed, self._goals = request, []
        try:
            start = self._to_map(message.start, 'start') if message.use_start else self._robot(context)
            has_time = True
            while has_time and (some := goals_of(message, len(self._goals), GOALS_AT_ONCE)):
                self._goals += [self._to_map(goal, 'goal') for goal in some]
                has_time = share.goes_on(len(some) * GOAL_EXPANSIONS)
        except BadMessage as error:
            if isinstance(error, TransformNotReady) and not self._has_waited(request):
                raise
            raise RequestFailed('TF_ERROR', str(error)) from error
        if len(self._goals) < goal_count(message):
            return False
        # it has begun with our last path, and with another one since: that of a fallback, or ours once more
        began_anew = self._controller.paths_begun - self._paths_begun > 1
        stopped = self._controller.has_stopped or began_anew
        self._planner.request(start, self._goals, start_is_robot=not message.use_start, controller_stopped=stopped)
        self._request, self._start = request, start
        return True

    def _robot(self, context: TickContext) -> Pose2D:
        if context.pose is None:
            raise TransformNotReady(self._poses.why_none(context.now_s) or 'there is no pose of the robot yet')
        return context.pose

    def _to_map(self, message: Any, what: str) -> Pose2D:
        return self._poses.to_map_frame(pose_from_message(message, what))

    def _has_waited(self, request: ActionRequest) -> bool:
        """Whether it has waited for transforms as long as one may be old. The time counts from when one was missed: a
        busy computer may come to the request late, and to the transforms right after it."""
        if self._unplaced is not request:
            self._unplaced, self._unplaced_s = request, perf_counter()
        waited_s = perf_counter() - self._unplaced_s
        return waited_s >= self._parameters().transform_tolerance_s or self._is_late(request)

    # -------------------------------------------------------------------------------------------------- its result
    def _succeed(self, request: ActionRequest, path: Route, context: TickContext) -> None:
        along_path = self._parameters().use_final_approach_orientation
        message = self._message
        is_new = message is None or message.path is not path or along_path != self._along_path
        if message is None or is_new:
            yaws = tuple(None if along_path else goal.yaw for goal in self._goals)
            message = PathMessage(path, yaws, self._start.yaw, context.frame, self._stamp())
            self._message, self._along_path = message, along_path
            self._paths_begun = self._controller.paths_begun
        last_yaw = self._goals[-1].yaw
        if self._server.succeed(request, message, lambda: self._publish_path(path.points_m, last_yaw)):
            self.found += 1
            self.unchanged += not is_new

    def _is_late(self, request: ActionRequest, by_s: float = 0.0) -> bool:
        return request.age_s > self._parameters().max_planning_time_s + by_s

    def _time_out(self, request: ActionRequest, why: str) -> None:
        limit_s = self._parameters().max_planning_time_s
        self._fail(request, 'TIMEOUT', f'no path after max_planning_time_s, {limit_s:g} s: {why}')

    def _fail(self, request: ActionRequest, error: str, text: str) -> None:
        if self._server.fail(request, error, text):
            self._log.warn('path', f'{error}: {text}')

    def _new_planner(self) -> PathPlanner:
        parameters = self._parameters()
        return PathPlanner(parameters.settings(), parameters.path_tolerance_m)


# ------------------------------------------------------------------------------------------------------ messages
def goal_count(request: Any) -> int:
    """How many goals a request of either action has: `goal`, after the `viapoints` of later versions; or `goals`, which
    is a list in Jazzy and a nav_msgs/Goals with its own header in later versions."""
    if hasattr(request, 'goal'):
        return len(getattr(request, 'viapoints', ())) + 1
    return len(getattr(request.goals, 'goals', request.goals))


def goals_of(request: Any, first: int = 0, count: int = MAX_GOALS) -> list[PoseStamped]:
    """Some of these goals."""
    some = slice(first, first + count)
    if hasattr(request, 'goal'):
        viapoints = getattr(request, 'viapoints', ())
        return [*viapoints[some], *([request.goal] if some.start <= len(viapoints) < some.stop else ())]
    goals = getattr(request.goals, 'goals', request.goals)[some]
    if hasattr(request.goals, 'header'):
        for goal in goals:
            goal.header.frame_id = goal.header.frame_id or request.goals.header.frame_id
    return list(goals)


def planner_error(request: Any, parameters: PlannerParameters) -> str:
    """Why no planner of this name is here; empty if there is one."""
    wanted, known = request.planner_id, parameters.planner_id
    return '' if wanted in ('', known) else f'planner_id is {cut(wanted)!r}; it must be {known!r} or empty'


def result_of(action: Any, error: str, text: str, path: Path | None, planning_time_s: float) -> Any:
    """error: the name of one of the action's error codes."""
    result = action.Result()
    result.error_code = int(getattr(action.Result, error))
    if hasattr(result, 'error_msg'):
        result.error_msg = cut(text)
    if path is not None:
        result.path = path
    result.planning_time = duration_of(planning_time_s)
    return result


def duration_of(time_s: float) -> Duration:
    nanoseconds = round(time_s * 1e9)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


class PathMessage:
    """The message of a path, which may be the result of many requests. The first one makes it, piece by piece: a long
    one takes some ten milliseconds, for which other requests would have to wait."""

    def __init__(self, path: Route, yaws: Sequence[float | None], start_yaw: float, frame: str, stamp: Time) -> None:
        """yaws: the heading at each of its goals; None is along the path."""
        self.path = path
        self._yaws, self._start_yaw = yaws, start_yaw
        self._looks: list[float] = []
        self._message = Path(header=Header(frame_id=frame, stamp=stamp))
        self._poses: list[PoseStamped] = []

    def go_on(self) -> bool:
        """Makes another piece; returns whether the message is complete."""
        if not self._looks:
            self._looks = directions(self.path, self._yaws, self._start_yaw)
        header = Header(frame_id=self._message.header.frame_id)
        piece = slice(len(self._poses), len(self._poses) + POSES_AT_ONCE)
        self._poses += _poses(header, self.path.points_m[piece], self._looks[piece])
        return len(self._poses) == len(self._looks)

    @property
    def message(self) -> Path:
        while not self._message.poses:
            if self.go_on():
                self._message.poses = self._poses
        return self._message


def directions(path: Route, yaws: Sequence[float | None], start_yaw: float) -> list[float]:
    """Each pose points to the next one, or at a goal as given; a single pose without a yaw points as the start."""
    looks = headings(path.points_m, start_yaw if len(path.points_m) == 1 else None)
    for end, yaw in zip(path.ends, yaws, strict=True):
        if yaw is not None:
            looks[end] = yaw
        elif end > 0:
            looks[end] = looks[end - 1]
    return [float(look) for look in looks]


def path_message(points_m: NDArray[np.float64], looks: Sequence[float], frame: str, stamp: Time) -> Path:
    """A path through these points with these headings. The poses have no stamps, which TF takes for the newest time:
    Nav2's controller server transforms the last pose by its stamp, and a path is kept while localisation goes on."""
    return Path(header=Header(frame_id=frame, stamp=stamp), poses=_poses(Header(frame_id=frame), points_m, looks))


def _poses(header: Header, points_m: NDArray[np.float64], looks: Sequence[float]) -> list[PoseStamped]:
    return [_pose(header, x, y, yaw) for (x, y), yaw in zip(points_m.tolist(), looks, strict=True)]


def _pose(header: Header, x_m: float, y_m: float, yaw: float) -> PoseStamped:
    stamped = PoseStamped(header=header)
    position, orientation = stamped.pose.position, stamped.pose.orientation
    position.x, position.y = x_m, y_m
    orientation.z, orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return stamped
