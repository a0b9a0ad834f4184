"""What Nav2 expects of a planner server: two actions that compute paths, and the service is_path_valid.

    request:  PathServer (action's thread) -> ComputePathHandler.tick -> PathPlanner -> PathServer.succeed or fail

Goals are rejected while the node is inactive.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus, GoalStatusArray
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node

from tb_planner.config import PlannerParameters
from tb_planner.errors import TbPlannerError
from tb_planner.geometry import Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.loop import LoopSettings, PlannerLoop, TickContext
from tb_planner.navigation.path_planner import PathPlanner, PathResult, PathStatus
from tb_planner.navigation.route import Route, invalid_points, nearest_point
from tb_planner.ros.conversions import BadMessage, pose_from_message
from tb_planner.ros.nav2_messages import Nav2Types, PathMessage, goals_of, points_of
from tb_planner.ros.path_server import ActionRequest, ActionThread, PathServer
from tb_planner.ros.pose_source import RobotPose, TransformNotReady
from tb_planner.ros.publishers import LATCHED
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.search.planner import TickBudget

DROP_IN = PlannerParameters.compute_path_to_pose_action
"""A planner whose action has this name replaces Nav2's planner server, and serves is_path_valid, too."""
EXPIRED_S = 1.0
"""A request that is late by this and two ticks more ends without a tick; a tick might have an older path for it."""

_UNFINISHED = (PathStatus.SEARCHING, PathStatus.WAITING_FOR_MAP)
_FOLLOWING = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)

PublishPath = Callable[[NDArray[np.float64], float], None]
"""Publishes the points of a path, and the heading at its end."""


class Nav2Planner:
    """Serves Nav2's planner actions from configure to clean-up."""

    def __init__(self, node: LifecycleNode, types: Nav2Types, parameters: PlannerParameters) -> None:
        self.types = types
        self._node = node
        self._thread = ActionThread(node)
        self.servers = (
            PathServer(self._thread, types.to_pose, parameters.compute_path_to_pose_action),
            PathServer(self._thread, types.through_poses, parameters.compute_path_through_poses_action),
        )
        self._controller = ControllerStatus(self._thread.node, parameters.follow_path_action)
        self._handlers: list[ComputePathHandler] = []
        self._thread.start()

    def activate(
        self,
        parameters: Callable[[], PlannerParameters],
        poses: RobotPose,
        log: ThrottledLog,
        publish_path: PublishPath,
    ) -> list[ComputePathHandler]:
        """Accepts goals from now on. A PlannerLoop has to tick the handlers."""

        def stamp() -> Any:
            return self._node.get_clock().now().to_msg()

        self._handlers = [
            ComputePathHandler(server, self._controller, parameters, poses, log, publish_path, stamp)
            for server in self.servers
        ]
        for server in self.servers:
            server.activate()
        return self._handlers

    def deactivate(self) -> None:
        for server in self.servers:
            server.deactivate()
        self._handlers = []

    def expire(self) -> None:
        """Every second."""
        for handler in self._handlers:
            handler.expire()

    def close(self) -> None:
        self.deactivate()
        self._thread.close()

    def diagnostics(self) -> dict[str, object]:
        times = self._thread.times
        p50, p99, maximum = times.percentiles_ms()
        jitter_p99, jitter_max = times.jitters_ms()
        return {
            'path_requests': sum(server.accepted for server in self.servers) if self._handlers else 0,
            'paths_found': sum(handler.found for handler in self._handlers),
            'paths_unchanged': sum(handler.unchanged for handler in self._handlers),
            'path_searches': sum(handler.searches for handler in self._handlers),
            'acknowledgement_p50_ms': p50,
            'acknowledgement_p99_ms': p99,
            'acknowledgement_max_ms': maximum,
            'action_thread_jitter_p99_ms': jitter_p99,
            'action_thread_jitter_max_ms': jitter_max,
        }


class ControllerStatus:
    """Whether Nav2's controller server follows a path, by the status topic of its action.

    While it does, a path that is still valid has to come back as the same message, since another one would preempt it.
    After it has given up, any path is a new beginning. The node may be served by another thread.
    """

    def __init__(self, node: Node, action: str) -> None:
        self.has_stopped = False
        """The controller is known, and follows nothing. An unknown one may be following: another program may drive the
        robot, or the action may have another name."""
        node.create_subscription(GoalStatusArray, f'{action}/_action/status', self._receive, LATCHED)

    def _receive(self, message: GoalStatusArray) -> None:
        self.has_stopped = not any(goal.status in _FOLLOWING for goal in message.status_list)


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
        self._goals: tuple[Pose2D, ...] = ()
        self._start = Pose2D(0.0, 0.0)
        self._message: PathMessage | None = None  # of the path that was sent last
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
        self._request = self._message = None

    def tick(self, context: TickContext, budget: TickBudget) -> None:
        request = None
        try:
            if context.map_update is not None:
                self._planner.update_map(context.map_update)
            request = self._server.current()
            if request is not None:
                self._handle(request, context, budget)
        except Exception as error:
            self._log.error('path', f'path request failed: {traceback.format_exc()}')
            self.forget()
            if context.map is not None:
                self._planner.update_map(replace(context.map, change=None))
            if request := request or self._server.current():
                self._server.fail(request, 'UNKNOWN', f'internal error: {error!r}')

    def expire(self) -> None:
        """Ends a request that no tick has ended in time: simulated time may have stopped."""
        request = self._server.current()
        if request is not None and self._is_late(request, by_s=EXPIRED_S + 2 * self._parameters().period_s):
            self._time_out(request, 'there was no tick in time')

    # -------------------------------------------------------------------------------------------------- a request
    def _handle(self, request: ActionRequest, context: TickContext, budget: TickBudget) -> None:
        try:
            self._validate(request)
            result = self._search(request, context, budget)
        except TransformNotReady:  # the next tick may have it
            return
        except RequestFailed as failure:
            self._fail(request, failure.error, str(failure))
            return
        if result.path is not None:
            self._succeed(request, result.path, context)
        elif result.status not in _UNFINISHED:
            self._fail(request, result.status.value, result.message)
        elif self._is_late(request) and self._planner.held_path is not None and not context.map_lost:
            self._succeed(request, self._planner.held_path, context)
        elif self._is_late(request):
            self._time_out(request, result.message)

    def _validate(self, request: ActionRequest) -> None:
        """What can be checked without a map."""
        if not goals_of(request.message):
            raise RequestFailed('NO_VIAPOINTS_GIVEN', 'the request has 0 goals; it must have at least 1')
        wanted, known = request.message.planner_id, self._parameters().planner_id
        if wanted not in ('', known):
            raise RequestFailed('INVALID_PLANNER', f'planner_id is {wanted!r}; it must be {known!r} or empty')

    def _search(self, request: ActionRequest, context: TickContext, budget: TickBudget) -> PathResult:
        if context.map is None:
            return PathResult(PathStatus.WAITING_FOR_MAP, 'there is no map yet')
        if context.map_lost:
            timeout_s = self._parameters().map_timeout_s
            return PathResult(PathStatus.WAITING_FOR_MAP, f'the map is older than {timeout_s} s')
        if self._request is not request:
            self._begin(request, context)
        return self._planner.step(budget.search_for)

    def _begin(self, request: ActionRequest, context: TickContext) -> None:
        """Raises TransformNotReady while it waits for transforms, as Nav2's planner server does."""
        message = request.message
        try:
            start = self._to_map(message.start, 'start') if message.use_start else self._robot(context)
            goals = tuple(self._to_map(goal, 'goal') for goal in goals_of(message))
        except BadMessage as error:
            if isinstance(error, TransformNotReady) and not self._has_waited(request):
                raise
            raise RequestFailed('TF_ERROR', str(error)) from error
        stopped = self._controller.has_stopped
        self._planner.request(start, goals, start_is_robot=not message.use_start, controller_stopped=stopped)
        self._request, self._start, self._goals = request, start, goals

    def _robot(self, context: TickContext) -> Pose2D:
        if context.pose is None:
            raise TransformNotReady(self._poses.why_none(context.now_s) or 'there is no pose of the robot yet')
        return context.pose

    def _to_map(self, message: Any, what: str) -> Pose2D:
        return self._poses.to_map_frame(pose_from_message(message, what))

    def _has_waited(self, request: ActionRequest) -> bool:
        """For transforms, for as long as one may be old. The time counts from when one was missed: a busy computer may
        come to the request late, and to the transforms right after it."""
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
        if self._server.succeed(request, message):
            self.found += 1
            self.unchanged += not is_new
            self._publish_path(path.points_m, self._goals[-1].yaw)

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


class PathValidityService:
    """Nav2's service is_path_valid, served by the thread of the ticks, which alone may read the grid."""

    def __init__(self, node: LifecycleNode, service_type: Any, loop: PlannerLoop, log: ThrottledLog) -> None:
        self._node = node
        self._loop = loop
        self._log = log
        self._service = node.create_service(service_type, 'is_path_valid', self._serve)

    def close(self) -> None:
        self._node.destroy_service(self._service)

    def _serve(self, request: Any, response: Any) -> Any:
        response.is_valid = False
        try:
            invalid = self._invalid(request.path)
        except Exception:  # the node goes on
            self._log.error('path', f'path not checked: {traceback.format_exc()}')
            return response
        if invalid is not None:
            response.is_valid = len(invalid) == 0
            response.invalid_pose_indices = [int(i) for i in invalid]
        if hasattr(response, 'success'):  # later than Jazzy
            response.success = invalid is not None
        return response

    def _invalid(self, path: Any) -> NDArray[np.intp] | None:
        """Indices of the invalid poses ahead; None if the path cannot be checked."""
        map_update, frame = self._loop.map, self._loop.frame
        if map_update is None or not path.poses:
            return None
        if path.header.frame_id not in ('', frame):
            text = f'path is in frame {path.header.frame_id!r}, the map in {frame!r}; it is reported as not valid'
            self._log.warn('path', text)
            return None
        return invalid_ahead(map_update, points_of(path), self._loop.pose)


def invalid_ahead(map_update: MapUpdate, points_m: NDArray[np.float64], robot: Pose2D | None) -> NDArray[np.intp]:
    """Indices of a path's points that the map does not allow, from the point nearest to the robot on."""
    first = 0 if robot is None else nearest_point(points_m, robot)
    return first + invalid_points(points_m[first:], map_update.geometry, map_update.grid)
