"""The monitor of the demo: it publishes the goal of the robot, and records what it does, over ROS."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid, Path
from numpy.typing import NDArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import String, UInt32

from tb_planner.geometry import Pose2D, length_m
from tb_planner.maps.cdr import occupancy_from_cdr
from tb_planner.navigation.navigator import NavigationStatus
from tb_planner.ros.main import spin_until
from tb_planner.ros.publishers import IN_ORDER, LATCHED, points_of, pose_message
from tb_planner.ros.viewer import Viewer
from tb_planner.tools.drive import Drive, Place

RESTARTS = 'restarts_'

_POSES = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class DemoMonitor:
    """Subscribes to simulator and planner, and records poses, maps and restarts in a Drive while it is spun.

    check: called again and again while it is spun; raises an exception if the demo must end. rclpy would lose an
    exception of a signal handler.
    """

    def __init__(self, drive: Drive, check: Callable[[], None]) -> None:
        self.drive = drive
        self._check = check
        self.status = ''
        self.facts: dict[str, str] = {}
        """The planner's last diagnostics."""
        self.collisions: int | None = None
        self.place: Place | None = None
        self._began_s: float | None = None
        self._arrived_s: float | None = None
        self._plan: NDArray[np.float64] = np.empty((0, 2))
        self._context = rclpy.Context()
        self._context.init()  # signals stay with the program
        self._node = rclpy.create_node('demo_monitor', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._goals = self._node.create_publisher(PoseStamped, 'goal_pose', IN_ORDER)
        subscribe = self._node.create_subscription
        subscribe(OccupancyGrid, 'map', self._see_map, LATCHED, raw=True)
        subscribe(PoseStamped, 'pose', self._see_pose, _POSES)
        subscribe(Path, 'plan', self._see_plan, LATCHED)
        subscribe(String, 'tb_planner/status', self._see_status, LATCHED)
        subscribe(UInt32, 'simulator/collisions', self._see_collisions, LATCHED)
        subscribe(DiagnosticArray, '/diagnostics', self._see_diagnostics, IN_ORDER)

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.shutdown()

    @property
    def is_ready(self) -> bool:
        """Whether planner and simulator publish, and subscribe to the goal."""
        received = self.status and self.place is not None and self.collisions is not None
        return bool(received) and self._goals.get_subscription_count() >= 2

    @property
    def has_begun(self) -> bool:
        """Whether the goal was published."""
        return self._began_s is not None

    @property
    def time_s(self) -> float:
        """The time from the goal until the first arrival, or until now."""
        now_s = time.monotonic()
        return (self._arrived_s or now_s) - (self._began_s or now_s)

    @property
    def has_arrived(self) -> bool:
        return self.status == NavigationStatus.ARRIVED

    @property
    def distance_to_go_m(self) -> float | None:
        """Distance along the plan, plus the straight line from its end to the goal."""
        if self.place is None:
            return None
        if not len(self._plan):
            return math.dist(self.place, self.drive.goal)
        nearest = int(np.hypot(*(self._plan - self.place).T).argmin())
        return length_m(np.vstack([self.place, self._plan[nearest + 1 :], self.drive.goal]))

    def viewer(self, limit_s: float) -> Viewer:
        """The wait for a page of the live view, which begins now."""
        return Viewer(self._node, limit_s)

    def publish_goal(self) -> None:
        self._began_s = time.monotonic()
        self._goals.publish(pose_message(Pose2D(*self.drive.goal), 'map', Time()))

    def spin_until(self, condition: Callable[[], object], limit_s: float) -> bool:
        """Returns whether the condition became true in time."""
        return spin_until(self._executor, condition, limit_s, self._check)

    def _see_map(self, data: bytes) -> None:
        seen = occupancy_from_cdr(data)
        self.drive.see_map(seen.values, seen.geometry)

    def _see_pose(self, message: PoseStamped) -> None:
        self.place = (message.pose.position.x, message.pose.position.y)
        self.drive.see_pose(self.place)

    def _see_plan(self, message: Path) -> None:
        self._plan = points_of(message)

    def _see_status(self, message: String) -> None:
        self.status = message.data
        if self.has_arrived and self._arrived_s is None:
            self._arrived_s = time.monotonic()

    def _see_collisions(self, message: UInt32) -> None:
        self.collisions = message.data

    def _see_diagnostics(self, message: Any) -> None:
        for status in message.status:
            if status.name.endswith('tb_planner: planner'):
                self.facts = {item.key: item.value for item in status.values}
                self.drive.see_restarts(
                    {
                        key.removeprefix(RESTARTS): int(value)
                        for key, value in self.facts.items()
                        if key.startswith(RESTARTS)
                    }
                )
