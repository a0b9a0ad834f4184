"""Nav2's controller server as what drives the robot (output: follow_path): it is sent paths, and canceled to stop.

Paths go to the action follow_path. A new path preempts the old one there, and the robot does not brake. But a path that
arrives while an older one is being canceled may end with it, so the client waits for the end of a cancel first. A path
that gets no response in time is canceled, too: the server may accept it later, or follow it already. So is the old path
if the new one is rejected or lost.

A server that is not there, rejects, gives up, or falls silent is logged, and tried again: after a second, then after
twice as long each time, up to eight seconds. Everything runs in the thread of the ticks, and no tick waits.

The client has a node of its own, since rclpy cannot wait for a response within a callback of the same node: at the end,
it waits for the server's confirmation that the robot will stop.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.executors import SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D, headings
from tb_planner.navigation.loop import TickResult
from tb_planner.navigation.navigator import ControllerPathPolicy, Navigator, thinned
from tb_planner.navigation.route import Route
from tb_planner.ros.main import spin_once
from tb_planner.ros.path_actions import path_message, second_node
from tb_planner.ros.pose_source import MissingPackage
from tb_planner.ros.publishers import time_message
from tb_planner.ros.throttled_log import ThrottledLog

NO_NAV2 = (
    'output is follow_path, and nav2_msgs cannot be imported: install ros-$ROS_DISTRO-nav2-msgs, or set output to '
    'waypoint'
)
RESPONSE_TIMEOUT_S = 2.0
"""A path without a response for this long counts as lost."""
FEEDBACK_TIMEOUT_S = 5.0
"""A controller that has sent feedback, as Nav2's do with every command, and then none for this long counts as dead."""
RETRY_S, MAX_RETRY_S = 1.0, 8.0
CANCEL_TRIES = 5
PARTING_S = 1.0
"""How long the end waits at most for the response to a cancel, which is lost if its sender goes first."""
SPINS = 2
"""How often a tick looks for responses."""
MAX_POSES = 1000
"""Longer paths are thinned where they go straight on: each pose takes 15 microseconds of a tick."""
ERRORS = (
    'UNKNOWN',
    'INVALID_CONTROLLER',
    'TF_ERROR',
    'INVALID_PATH',
    'PATIENCE_EXCEEDED',
    'FAILED_TO_MAKE_PROGRESS',
    'NO_VALID_CONTROL',
    'CONTROLLER_TIMED_OUT',
)
_CANCELED_OR_DONE = (CancelGoal.Response.ERROR_NONE, CancelGoal.Response.ERROR_GOAL_TERMINATED)


def require_follow_path() -> Any:
    """Imports nav2_msgs/action/FollowPath; raises MissingPackage."""
    try:
        from nav2_msgs.action import FollowPath
    except ImportError as error:
        raise MissingPackage(NO_NAV2) from error
    return FollowPath


@dataclass(eq=False)
class _Sent:
    """A path that was sent to the server."""

    path: Route
    since_s: float
    id: UUID = field(default_factory=lambda: UUID(uuid=list(uuid.uuid4().bytes)))
    accepted: bool = False
    feedback_s: float | None = None
    stops: bool = False
    """The server has confirmed that it will stop following."""
    cancels: int = 0
    canceled_s: float = 0.0


class PathFollower:
    """Sends the controller server the paths that a ControllerPathPolicy chooses, tick by tick.

    It calls `reached` when the server reports a goal as reached: its goal checker may be satisfied before the planner.
    """

    def __init__(
        self,
        node: LifecycleNode,
        parameters: Callable[[], PlannerParameters],
        log: ThrottledLog,
        reached: Callable[[Pose2D], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.paths_sent = 0
        self.failures = 0
        self._ros_clock = node.get_clock()
        self._action = require_follow_path()
        self._name = parameters().follow_path_action
        self._node = second_node(node, 'controller_client')
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self._node)
        self._client = ActionClient(self._node, self._action, self._name)
        self._parameters = parameters
        self._log = log
        self._reached = reached
        self._clock = clock
        self._sent: _Sent | None = None  # what the server follows, or is to follow
        self._before: _Sent | None = None  # an older one, which it follows until it has accepted that
        self._leaving: list[_Sent] = []  # what is being canceled, and may be followed still
        self._path_policy = ControllerPathPolicy()
        self._goal: Pose2D | None = None
        self._in_a_row = 0  # failures since it was new
        self._not_before_s = 0.0
        self._errors = {getattr(self._action.Result, name): name for name in ERRORS}

    def diagnostics(self) -> dict[str, object]:
        following = self._sent is not None and self._sent.accepted
        return {'controller_follows': following, 'paths_sent': self.paths_sent, 'controller_failures': self.failures}

    def tick(self, navigator: Navigator, result: TickResult) -> None:
        """Sends the controller a new path, or ends its goal; called after every tick, also after one that failed."""
        for _ in range(SPINS):  # first: the robot may have arrived; always: a late response may make it drive
            spin_once(self._executor, 0.0, self._log)
        now_s, path = self._clock(), None
        if result.tick is not None:
            path = self._path_policy.tick(navigator, result.tick, result.pose)
        self._watch(now_s)
        if path is None:
            self._leave(now_s)
        elif self._sent is None or self._sent.path is not path:
            if path.goal != self._goal:  # failures with another goal no longer count
                self._goal, self._in_a_row = path.goal, 0
                self._not_before_s = min(self._not_before_s, now_s + RETRY_S)
            if self._is_free(now_s):
                self._send(path, result.frame, now_s)

    def close(self) -> None:
        """Stops the robot."""
        self._leave(self._clock())
        deadline_s = monotonic() + PARTING_S
        while not all(sent.stops for sent in self._leaving) and monotonic() < deadline_s:
            spin_once(self._executor, 0.02, self._log)
        self._executor.shutdown(timeout_sec=PARTING_S)
        self._client.destroy()
        self._node.destroy_node()

    # -------------------------------------------------------------------------------------------------- requests
    def _is_free(self, now_s: float) -> bool:
        """Whether a path may be sent: no other request is unfinished."""
        unanswered = self._sent is not None and not self._sent.accepted
        if unanswered or self._leaving or now_s < self._not_before_s:
            return False
        if self._client.server_is_ready():
            return True
        self._log.warn('controller', f'nobody serves the action {self._name}; the robot waits')
        return False

    def _send(self, path: Route, frame: str, now_s: float) -> None:
        self._before = self._sent or self._before
        self._sent = sent = _Sent(path, now_s)
        parameters = self._parameters()
        points_m = thinned(path.points_m, MAX_POSES)
        yaws = headings(points_m, path.goal.yaw).tolist()
        goal = self._action.Goal(
            path=path_message(points_m, yaws, frame, time_message(self._ros_clock)),
            controller_id=parameters.controller_id,
            goal_checker_id=parameters.goal_checker_id,
            progress_checker_id=parameters.progress_checker_id,
        )
        self.paths_sent += 1
        response = self._client.send_goal_async(goal, lambda _: self._take_feedback(sent), sent.id)
        response.add_done_callback(lambda future: self._take_response(sent, future))

    def _leave(self, now_s: float) -> None:
        """Cancels what the server follows now, or may follow."""
        left = [sent for sent in (self._before, self._sent) if sent is not None]
        self._before = self._sent = None
        self._leaving += left
        for sent in left:
            self._cancel(sent, now_s)

    def _cancel(self, sent: _Sent, now_s: float) -> None:
        """Cancels a goal by its id: the server may not have responded yet."""
        sent.cancels += 1
        sent.canceled_s = now_s
        response = ClientGoalHandle(self._client, sent.id, None).cancel_goal_async()
        was_accepted, is_first = sent.accepted, sent.cancels == 1
        response.add_done_callback(lambda future: self._take_cancel_response(sent, future, was_accepted, is_first))

    # -------------------------------------------------------------------------------------------------- responses
    def _take_response(self, sent: _Sent, future: Future) -> None:
        handle = future.result()
        if not handle.accepted:
            if sent is self._sent:
                self._sent = None
                self._leave(self._clock())  # the older path is no longer valid
                self._failed(sent, f'rejected by {self._name}, which may not be active')
            self._is_left(sent)
            return
        sent.accepted = True
        handle.get_result_async().add_done_callback(lambda result: self._ended(sent, result))
        if sent is self._sent:
            self._before = None  # it is preempted
        else:  # a cancel may have overtaken the path, or its response came too late
            self._is_left(sent)
            self._leaving.append(sent)
            sent.cancels = 0
            self._cancel(sent, self._clock())

    def _is_left(self, sent: _Sent) -> None:
        """The server does not follow it, or no longer."""
        self._leaving = [one for one in self._leaving if one is not sent]
        if sent is self._before:
            self._before = None

    def _take_feedback(self, sent: _Sent) -> None:
        sent.feedback_s = self._clock()

    def _take_cancel_response(self, sent: _Sent, future: Future, was_accepted: bool, is_first: bool) -> None:
        """was_accepted: before the cancel was sent; otherwise the server may not have known the path when the first
        cancel arrived."""
        code = future.result().return_code
        sent.stops = sent.stops or code in _CANCELED_OR_DONE
        if sent not in self._leaving:
            return
        was_lost = not sent.accepted and not is_first
        is_unknown = code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID and (was_accepted or was_lost)
        if is_unknown or code == CancelGoal.Response.ERROR_GOAL_TERMINATED:
            self._is_left(sent)  # a server that was started since follows nothing of ours
        elif was_accepted and not sent.stops:
            self._log.warn('controller', f'{self._name} does not stop: it returned {code}; canceled again')

    def _ended(self, sent: _Sent, future: Future) -> None:
        response = future.result()
        self._is_left(sent)
        if sent is not self._sent:
            return
        if response.status == GoalStatus.STATUS_SUCCEEDED:
            self._sent, self._in_a_row = None, 0
            self._reached(sent.path.goal)
            return
        self._sent = None
        if response.status == GoalStatus.STATUS_CANCELED:
            self._failed(sent, 'canceled by another client')
        else:
            self._failed(sent, f'given up: {self._reason(response.result)}')

    def _reason(self, result: Any) -> str:
        name = self._errors.get(result.error_code, 'no reason given')
        text = getattr(result, 'error_msg', '')
        return f'{name} ({result.error_code}){": " if text else ""}{text}'

    # -------------------------------------------------------------------------------------------------- failures
    def _watch(self, now_s: float) -> None:
        """Looks for what should have happened by now."""
        there = self._client.server_is_ready()
        for leaving in [one for one in self._leaving if now_s - one.canceled_s > RETRY_S]:
            if there and leaving.cancels < CANCEL_TRIES:
                self._cancel(leaving, now_s)
            else:
                self._log.error('controller', f'{self._name} has not confirmed that the robot stops')
                self._is_left(leaving)
        sent = self._sent
        if sent is None:
            return
        if not there:
            self._before = sent if sent.accepted else self._before  # a server that comes back may be following still
            self._sent = None
            self._failed(sent, f'lost: nobody serves the action {self._name} any more')
        elif not sent.accepted and now_s - sent.since_s > RESPONSE_TIMEOUT_S:
            self._leave(now_s)  # it may still be accepted, or its response be lost
            self._failed(sent, f'without a response for {RESPONSE_TIMEOUT_S:g} s')
        elif sent.feedback_s is not None and now_s - sent.feedback_s > FEEDBACK_TIMEOUT_S:
            self._leave(now_s)  # it may be following still
            self._failed(sent, f'lost: no feedback for {FEEDBACK_TIMEOUT_S:g} s')

    def _failed(self, sent: _Sent, why: str) -> None:
        now_s = self._clock()
        if now_s - sent.since_s > MAX_RETRY_S:
            self._in_a_row = 0
        pause_s = min(RETRY_S * 2**self._in_a_row, MAX_RETRY_S)
        self._not_before_s = now_s + pause_s
        self._path_policy.reset()
        self._in_a_row += 1
        self.failures += 1
        self._log.warn('controller', f'the path is {why}; it is sent again in {pause_s:g} s')
