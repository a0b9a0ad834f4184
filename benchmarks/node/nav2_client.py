"""`python -m benchmarks.node.nav2_client SCENE.json FIGURES.json`: asks for paths, with a stop-watch.

It has a process of its own, so that what it measures is the planner and not the maps that somebody publishes.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from typing import Any

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from rclpy.action import ActionClient

from benchmarks.node import measuring
from benchmarks.node.bench_world import RESOLUTION_M
from benchmarks.node.changing_rooms import corners, tour
from benchmarks.node.nav2 import CANCELED, ONE_PATH, TOURS
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.ros.publishers import pose_message

START_LIMIT_S, RESULT_LIMIT_S = 60.0, 30.0
SEGMENTS = 12
"""Segments of a path that takes seconds to find: it is canceled before."""
CANCEL_S = (0.02, 0.15)
PAUSE_S = (0.0, 0.05)
"""Between two requests, so that goals meet ticks at any moment."""


class Client:
    """Asks for ONE_PATH, NEW_PATHS, CANCELED paths or TOURS through this number of poses, on a map of this size."""

    def __init__(self, watch: measuring.NodeWatch, size: int, seed: int, what: str, poses: int) -> None:
        from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose

        self._what = what
        self._watch = watch
        self._random = random.Random(seed)
        geometry = MapGeometry(size, size, RESOLUTION_M)
        cells = tour(size, poses) if what == TOURS else corners(size)
        self._places = [pose_message(Pose2D(*geometry.centre_of(cell)), 'map', Time()) for cell in cells]
        self._to_pose, self._through_poses = ComputePathToPose, ComputePathThroughPoses
        if what == ONE_PATH:
            self._client = ActionClient(watch.node, ComputePathToPose, 'compute_path_to_pose')
        else:
            self._client = ActionClient(watch.node, ComputePathThroughPoses, 'compute_path_through_poses')
        self.acknowledged_ms: list[float] = []
        self.result_ms: list[float] = []
        self.planning_ms: list[float] = []
        self.outcomes: Counter[str] = Counter()

    def ask_for_long(self, seconds: float) -> None:
        """Asks for paths for this time, counted from the first goal that is accepted."""
        self._watch.wait_until(self._client.server_is_ready, START_LIMIT_S, 'no planner was there')
        deadline = time.monotonic() + START_LIMIT_S
        while not self._ask() and time.monotonic() < deadline:
            self._watch.wait(0.5)
        self.acknowledged_ms.clear()
        self.result_ms.clear()
        self.planning_ms.clear()
        self.outcomes.clear()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._ask()
            self._watch.wait(self._random.uniform(*PAUSE_S))

    def _ask(self) -> bool:
        """Whether the goal was accepted."""
        sent_s = time.perf_counter()
        sent = self._client.send_goal_async(self._goal())
        sent.add_done_callback(lambda _: self.acknowledged_ms.append((time.perf_counter() - sent_s) * 1e3))
        self._watch.wait_until(sent.done, RESULT_LIMIT_S, 'no acknowledgement of a goal')
        handle = sent.result()
        if not handle.accepted:
            self.outcomes['rejected'] += 1
            return False
        result = handle.get_result_async()
        if self._what == CANCELED:
            self._watch.wait(self._random.uniform(*CANCEL_S))
            handle.cancel_goal_async()
        self._watch.wait_until(result.done, RESULT_LIMIT_S, 'no result')
        self.result_ms.append((time.perf_counter() - sent_s) * 1e3)
        planning_time = result.result().result.planning_time
        self.planning_ms.append(planning_time.sec * 1e3 + planning_time.nanosec / 1e6)
        self.outcomes[_outcome(result.result())] += 1
        return True

    def _goal(self) -> Any:
        if self._what == ONE_PATH:
            return self._to_pose.Goal(goal=self._places[1])
        if self._what == TOURS:
            x_m, y_m = (self._random.uniform(2.0, 3.0) for _ in 'xy')
            start = pose_message(Pose2D(x_m, y_m), 'map', Time())
            return self._through(self._places, start)
        first = self._random.randrange(4)  # else a search would go on from request to request
        segments = SEGMENTS if self._what == CANCELED else 1
        goals = [self._places[(first + i) % 4] for i in range(segments)]
        return self._through(goals, self._places[first - 1])

    def _through(self, places: list[Any], start: Any) -> Any:
        goal = self._through_poses.Goal(start=start, use_start=True)
        if hasattr(goal.goals, 'goals'):  # since Kilted
            goal.goals.goals = places
        else:
            goal.goals = places
        return goal


def _outcome(result: Any) -> str:
    if result.status == GoalStatus.STATUS_SUCCEEDED:
        return 'found'
    return 'canceled' if result.status == GoalStatus.STATUS_CANCELED else f'error {result.result.error_code}'


def ask(watch: measuring.NodeWatch, scene: dict[str, Any]) -> dict[str, Any]:
    """Requests paths, and returns how long results took."""
    client = Client(watch, scene['size'], scene['seed'], scene['what'], scene['poses'])
    client.ask_for_long(scene['seconds'])
    return {name: getattr(client, name) for name in ('acknowledged_ms', 'result_ms', 'planning_ms', 'outcomes')}


if __name__ == '__main__':
    sys.exit(measuring.main('nav2_client', ask))
