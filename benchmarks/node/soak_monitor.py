"""The monitor of a soak: it sends goals, counts what planner and simulator publish, and asks the safety oracle."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import rclpy
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String, UInt32

from benchmarks.node.safety_oracle import SafetyOracle
from tb_planner.geometry import Pose2D
from tb_planner.ros.main import spin_until
from tb_planner.ros.node import map_update_type
from tb_planner.ros.publishers import IN_ORDER, LATCHED, pose_message

GOAL_LIMIT_S = 120.0
"""A robot that is not at its goal by then gets another one."""
STEADY_S = 0.25
"""The time from a map to the next waypoint counts if the last waypoint is at most this old: there is a goal."""

_ALL = QoSProfile(depth=1000)
_ALL_LATCHED = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class SoakMonitor:
    """A node of its own, which is spun by wait(). check: raises an exception if the soak must end."""

    def __init__(self, oracle: SafetyOracle, goals: Iterator[Pose2D], check: Callable[[], None]) -> None:
        self.oracle = oracle
        self.facts: dict[str, str] = {}
        """The planner's last diagnostics."""
        self.maps = self.waypoints = self.collisions = self.goals_reached = self.goals_given_up = 0
        self.latencies_ms: list[float] = []
        """Times from a map to the next waypoint, both by the time of publishing; the reader clears the list."""
        self.map_to_waypoint_ms: list[float] = []
        """The same as the planner measures it, from receipt to the first waypoint that takes the map into account."""
        self._is_up = False
        self._next_goals, self._check = goals, check
        self._goal_until_s = 0.0
        self._map_s: list[float] = []  # of those without a waypoint yet
        self._waypoint_s = 0.0
        self._context = rclpy.Context()
        self._context.init()  # signals stay with the program
        self._node = rclpy.create_node('soak_monitor', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)  # the other one has no times of messages
        self._executor.add_node(self._node)
        self._goals = self._node.create_publisher(PoseStamped, 'goal_pose', IN_ORDER)
        subscribe = self._node.create_subscription
        subscribe(OccupancyGrid, 'map', self._see_map, _ALL_LATCHED)
        if (update := map_update_type()) is not None:
            subscribe(update, 'map_updates', self._see_patch, _ALL)
        subscribe(PoseStamped, 'pose', lambda message, info: oracle.see_pose(message, published_s(info)), _ALL)
        subscribe(PoseStamped, 'waypoint', self._see_waypoint, _ALL)
        subscribe(String, 'tb_planner/status', self._see_status, LATCHED)
        subscribe(UInt32, 'simulator/collisions', self._see_collisions, LATCHED)
        subscribe(DiagnosticArray, '/diagnostics', self._see_diagnostics, _ALL)

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.shutdown()

    def begin(self, limit_s: float) -> bool:
        """Waits until planner and simulator are there, and sends the first goal; returns False if they are not."""
        is_ready = self._spin_until(
            lambda: self._is_up and self.maps and self._goals.get_subscription_count() >= 2, limit_s
        )
        if is_ready:
            self._send_goal()
        return is_ready and self._spin_until(lambda: self.waypoints and self.facts, limit_s)

    def wait(self, until_s: float) -> None:
        """Spins until this time of the monotonic clock."""
        self._spin_until(lambda: False, until_s - time.monotonic())
        if time.monotonic() > self._goal_until_s:
            self.goals_given_up += 1
            self._send_goal()

    def _spin_until(self, condition: Callable[[], object], limit_s: float) -> bool:
        return spin_until(self._executor, condition, limit_s, self._check)

    def _send_goal(self) -> None:
        self._goals.publish(pose_message(next(self._next_goals), 'map', Time()))
        self._goal_until_s = time.monotonic() + GOAL_LIMIT_S

    # -------------------------------------------------------------------------------------------------- messages
    def _see_map(self, message: OccupancyGrid, info: dict[str, int]) -> None:
        self.oracle.see_map(message, published_s(info))
        self._note_map(published_s(info))

    def _see_patch(self, message: Any, info: dict[str, int]) -> None:
        self.oracle.see_patch(message, published_s(info))
        self._note_map(published_s(info))

    def _note_map(self, at_s: float) -> None:
        self.maps += 1
        self._map_s.append(at_s)

    def _see_waypoint(self, message: PoseStamped, info: dict[str, int]) -> None:
        at_s = published_s(info)
        self.waypoints += 1
        self.oracle.see_waypoint(message, at_s)
        before = [map_s for map_s in self._map_s if map_s <= at_s]
        self.latencies_ms += [1e3 * (at_s - map_s) for map_s in before if map_s - self._waypoint_s < STEADY_S]
        self._map_s = [map_s for map_s in self._map_s if map_s > at_s]
        self._waypoint_s = at_s

    def _see_status(self, message: String) -> None:
        self._is_up = True
        if message.data == 'ARRIVED':
            self.goals_reached += 1
            self._send_goal()

    def _see_collisions(self, message: UInt32) -> None:
        self.collisions = message.data

    def _see_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith('tb_planner: planner'):
                self.facts = {item.key: item.value for item in status.values}
                if self.facts['map_to_waypoint_ms']:
                    self.map_to_waypoint_ms.append(float(self.facts['map_to_waypoint_ms']))


def published_s(info: dict[str, int]) -> float:
    """When a message was published, by the system's clock."""
    return info['source_timestamp'] * 1e-9
