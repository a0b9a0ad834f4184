"""A client of the planner's actions, as Nav2's behaviour trees and nav2_simple_commander are."""

import time
from typing import Any

from action_msgs.msg import GoalStatus
from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile

from helpers.peer import Peer
from helpers.processes import LIMIT_S
from helpers.surroundings import RESOLUTION_M, pose_stamped

MANY = QoSProfile(depth=256)
POINT = {'robot_radius_m': 0.0, 'inflation_radius_m': 0.0, 'bond_heartbeat_period': 0.0, 'pose_timeout_s': 60.0}
"""Parameters of a planner for a robot without a radius; a busy computer may publish no pose for seconds."""
PATIENT = {**POINT, 'max_planning_time_s': 30.0}
"""The same, and time enough for a path on a busy computer."""
STATUSES = {
    GoalStatus.STATUS_SUCCEEDED: 'succeeded',
    GoalStatus.STATUS_ABORTED: 'aborted',
    GoalStatus.STATUS_CANCELED: 'canceled',
}


class PathRequest:
    """A goal that was sent; waits for its acceptance, its result or its cancellation."""

    def __init__(self, peer: Peer, action: ActionClient, goal: Any) -> None:
        self._peer = peer
        self.sent_s = time.monotonic()
        self._sent = action.send_goal_async(goal)
        self._result: Any = None

    @property
    def is_accepted(self) -> bool:
        self._peer.wait_until(self._sent.done, 'the goal has a response')
        return self._sent.result().accepted

    @property
    def handle(self) -> Any:
        assert self.is_accepted
        return self._sent.result()

    def listen(self) -> None:
        """Asks for the result."""
        self._result = self._result or self.handle.get_result_async()

    @property
    def is_done(self) -> bool:
        self.listen()
        return self._result.done()

    def end(self, limit_s: float = LIMIT_S) -> tuple[str, Any]:
        """Waits for the end; returns the status and the result."""
        self.listen()
        self._peer.wait_until(self._result.done, 'the request ends', limit_s)
        ended = self._result.result()
        return STATUSES[ended.status], ended.result

    def cancel(self) -> bool:
        """Cancels the request; returns whether the server accepted that."""
        response = self.handle.cancel_goal_async()
        self._peer.wait_until(response.done, 'the cancel has a response')
        return bool(response.result().goals_canceling)


class PathClient:
    def __init__(self, peer: Peer, prefix: str = '') -> None:
        self.peer = peer
        self._to_pose = self._client(ComputePathToPose, f'{prefix}compute_path_to_pose')
        self._through_poses = self._client(ComputePathThroughPoses, f'{prefix}compute_path_through_poses')
        for client in (self._to_pose, self._through_poses):
            peer.wait_until(client.server_is_ready, 'the actions are served')
        peer.spin(0.05)  # a busy server drops its responses to a client that it has not discovered yet

    def _client(self, action: Any, name: str) -> ActionClient:
        """A client with room for the responses to many goals at once."""
        return ActionClient(
            self.peer.node, action, name, goal_service_qos_profile=MANY, result_service_qos_profile=MANY
        )

    def close(self) -> None:
        self._to_pose.destroy()
        self._through_poses.destroy()

    def ask(self, goal: Any, *, start: Any = None, planner_id: str = '', **fields: Any) -> PathRequest:
        message = ComputePathToPose.Goal(goal=_pose(goal), planner_id=planner_id, **fields)
        return PathRequest(self.peer, self._to_pose, _with_start(message, start))

    def ask_through(self, *goals: Any, start: Any = None, planner_id: str = '') -> PathRequest:
        message = ComputePathThroughPoses.Goal(planner_id=planner_id)
        poses = [_pose(goal) for goal in goals]
        if hasattr(message.goals, 'goals'):  # since Kilted
            message.goals.goals = poses
        else:
            message.goals = poses
        return PathRequest(self.peer, self._through_poses, _with_start(message, start))

    def path_to(self, *goal: float) -> Any:
        """Requests a path and checks that it is found."""
        status, result = self.ask(goal).end()
        assert (status, result.error_code, result.error_msg) == ('succeeded', 0, '')
        return result.path


def _pose(place: Any) -> Any:
    return pose_stamped(*place) if isinstance(place, tuple) else place


def _with_start(message: Any, start: Any) -> Any:
    if start is not None:
        message.use_start, message.start = True, _pose(start)
    return message


def points(path: Any) -> list[tuple[float, float]]:
    return [(pose.pose.position.x, pose.pose.position.y) for pose in path.poses]


def is_free(cells: Any, path: Any) -> bool:
    return not any(cells[int(y / RESOLUTION_M), int(x / RESOLUTION_M)] >= 99 for x, y in points(path))


class BothActions:
    """A client that asks both actions for the same path."""

    def __init__(self, peer):
        self.client = PathClient(peer)

    def errors(self, goal, **options):
        """The error codes of both actions and their message; checks that both were aborted without a path."""
        codes, texts = [], []
        for request in (self.client.ask(goal, **options), self.client.ask_through(goal, **options)):
            status, result = request.end()
            assert (status, result.path.poses) == ('aborted', [])
            codes.append(result.error_code)
            texts.append(result.error_msg)
        assert texts[0].partition('after')[0] == texts[1].partition('after')[0]
        return codes, texts[0]


def codes_of(name):
    return [getattr(action.Result, name) for action in (ComputePathToPose, ComputePathThroughPoses)]
