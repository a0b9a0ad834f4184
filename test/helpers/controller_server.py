"""A controller server of the test's own that takes follow_path as Nav2's does, and drives a robot that is a pose.

One path is followed and one may be pending: at the next cycle it takes the other's place, which is aborted. A cancel of
the newer one ends both. A path without poses is INVALID_PATH. Feedback comes with every cycle. The last pose is the
goal.
"""

import math
import time

import pytest
from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.task import Future

from helpers.peer import BackgroundPeer

FollowPath = pytest.importorskip('nav2_msgs.action', reason='nav2_msgs is not installed').FollowPath

CYCLE_S = 0.05
REACHED_M = 0.25


class ControllerServer(BackgroundPeer):
    """The robot is `pose`, which it moves."""

    def __init__(self, pose: PoseStamped, *, speed: float = 1.0, action: str = 'follow_path') -> None:
        super().__init__('controller_server')
        self.pose = pose
        self.speed = speed
        self.paths: list = []
        """Every path that was asked for, also those refused."""
        self.goals: list = []
        """The goals of these paths."""
        self.asked_s: list[float] = []
        """The times of these goals."""
        self.ends: list[str] = []
        """How the paths ended: succeeded, canceled, preempted, aborted."""
        self.active = True
        """Goals are refused while this is False."""
        self.responds_after_s = 0.0
        """The delay of the response to a path."""
        self.aborts_with = 0
        """An error code for every path, if not 0."""
        self.gives_feedback = True
        """Whether the server publishes feedback."""
        self.at = []
        """The places where the robot has been."""
        self._current = self._pending = None
        self._ends_of: dict = {}
        self._server = ActionServer(
            self.node,
            FollowPath,
            action,
            execute_callback=self._execute,
            goal_callback=self._take,
            handle_accepted_callback=self._accept,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )
        self._timer = self.node.create_timer(CYCLE_S, self._cycle)

    @property
    def is_following(self) -> bool:
        return self._current is not None

    def points(self, number: int = -1) -> list[tuple[float, float]]:
        return [(pose.pose.position.x, pose.pose.position.y) for pose in self.paths[number].poses]

    # -------------------------------------------------------------------------------------------------- the action
    def _take(self, goal) -> GoalResponse:
        time.sleep(self.responds_after_s)
        self.paths.append(goal.path)
        self.goals.append(goal)
        self.asked_s.append(time.monotonic())
        return GoalResponse.ACCEPT if self.active else GoalResponse.REJECT

    def _accept(self, handle) -> None:
        self._ends_of[bytes(handle.goal_id.uuid)] = Future(executor=self._executor)
        handle.execute()
        if self._pending is not None:
            self._end(self._pending, 'preempted')
        self._pending = handle

    async def _execute(self, handle):
        how, code = await self._ends_of[bytes(handle.goal_id.uuid)]
        {'succeeded': handle.succeed, 'canceled': handle.canceled}.get(how, handle.abort)()
        return FollowPath.Result(error_code=code, error_msg='set by the test' if code else '')

    def _end(self, handle, how: str, code: int = 0) -> None:
        self.ends.append(how)
        if how == 'canceled' and not handle.is_cancel_requested:
            how = 'aborted'
        self._ends_of[bytes(handle.goal_id.uuid)].set_result((how, code))

    def _cycle(self) -> None:
        newest = self._pending or self._current
        if newest is not None and newest.is_cancel_requested:
            for handle in filter(None, (self._current, self._pending)):
                self._end(handle, 'canceled')
            self._current = self._pending = None
        if self._pending is not None:
            if self._current is not None:
                self._end(self._current, 'preempted')
            self._current, self._pending = self._pending, None
        if self._current is not None:
            self._follow(self._current.request.path)

    def _follow(self, path) -> None:
        current = self._current
        if not path.poses or self.aborts_with:
            self._current = None
            self._end(current, 'aborted', self.aborts_with or FollowPath.Result.INVALID_PATH)
            return
        points = [(pose.pose.position.x, pose.pose.position.y) for pose in path.poses]
        here = self.pose.pose.position
        nearest = min(range(len(points)), key=lambda i: math.dist(points[i], (here.x, here.y)))
        step_m = self.speed * CYCLE_S
        for x, y in points[nearest + 1 :] or points[-1:]:
            away = math.dist((x, y), (here.x, here.y))
            if away > 0:
                share = min(step_m / away, 1.0)
                here.x, here.y = here.x + share * (x - here.x), here.y + share * (y - here.y)
                step_m -= min(step_m, away)
        self.at.append((here.x, here.y))
        if self.gives_feedback:
            feedback = FollowPath.Feedback()
            getattr(feedback, 'tracking_feedback', feedback).speed = float(self.speed)  # the first in Lyrical
            current.publish_feedback(feedback)
        if math.dist(points[-1], (here.x, here.y)) <= REACHED_M:
            self._current = None
            self._end(current, 'succeeded')


def main() -> None:
    """Runs the server as a process, for tests that kill it: its robot does not move, and it prints each path."""
    server, printed = ControllerServer(PoseStamped(), speed=0.0).start(), 0
    while True:
        time.sleep(CYCLE_S)
        for number in range(printed, len(server.paths)):
            print(f'path {number + 1}', flush=True)
        printed = len(server.paths)
