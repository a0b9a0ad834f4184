"""What the planner node publishes, with its QoS. It exists from configure to clean-up, and speaks while active."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid, Path
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from tb_planner.geometry import Pose2D
from tb_planner.navigation.navigator import NavigationStatus, Navigator
from tb_planner.ros.conversions import path_as_cdr, pose_message
from tb_planner.ros.rviz import RestartPlace, expansions_message, markers_message

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
IN_ORDER = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)


class Publishers:
    """The publishers. Those for RViz cost nothing while nobody listens."""

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self._waypoint = node.create_lifecycle_publisher(PoseStamped, 'waypoint', NEWEST)
        self._plan = node.create_lifecycle_publisher(Path, 'plan', LATCHED)
        self._status = node.create_lifecycle_publisher(String, '~/status', LATCHED)
        self._diagnostics = node.create_lifecycle_publisher(DiagnosticArray, '/diagnostics', IN_ORDER)
        self._expansions = node.create_lifecycle_publisher(OccupancyGrid, 'expansions', LATCHED)
        self._markers = node.create_lifecycle_publisher(MarkerArray, 'markers', NEWEST)

    def waypoint(self, pose: Pose2D, frame: str) -> None:
        self._waypoint.publish(pose_message(pose, frame, self.stamp()))

    def plan(self, points_m: NDArray[np.float64], frame: str, last_yaw: float | None) -> None:
        self._plan.publish(path_as_cdr(points_m, frame, self.stamp(), last_yaw))

    def status(self, status: NavigationStatus) -> None:
        self._status.publish(String(data=status.value))

    def diagnostics(self, message: DiagnosticArray) -> None:
        self._diagnostics.publish(message)

    def display(
        self, navigator: Navigator, waypoint: Pose2D | None, restarts: Sequence[RestartPlace], frame: str
    ) -> None:
        if self._expansions.get_subscription_count() and navigator.planner and navigator.geometry:
            self._expansions.publish(expansions_message(navigator.planner, navigator.geometry, frame, self.stamp()))
        if self._markers.get_subscription_count():
            self._markers.publish(markers_message(navigator, waypoint, restarts, frame, self.stamp()))

    def close(self) -> None:
        for publisher in (
            self._waypoint,
            self._plan,
            self._status,
            self._diagnostics,
            self._expansions,
            self._markers,
        ):
            self._node.destroy_lifecycle_publisher(publisher)

    def stamp(self) -> Time:
        """Now."""
        return self._node.get_clock().now().to_msg()
