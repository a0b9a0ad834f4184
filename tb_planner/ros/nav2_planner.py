"""What Nav2 expects of a planner server: two actions, from configure to clean-up; goals are rejected while inactive."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.lifecycle import LifecycleNode

from tb_planner.config import PlannerParameters
from tb_planner.navigation.path_planner import FoundPath
from tb_planner.ros.action_thread import ActionThread
from tb_planner.ros.controller_watch import ControllerWatch
from tb_planner.ros.nav2_messages import Nav2Types
from tb_planner.ros.path_actions import ComputePathHandler
from tb_planner.ros.path_server import PathServer
from tb_planner.ros.throttled_log import ThrottledLog

DROP_IN = PlannerParameters.compute_path_to_pose_action
"""Whoever has the action of this name stands in for Nav2's planner server, and has its service, too."""


class Nav2Planner:
    def __init__(self, node: LifecycleNode, types: Nav2Types, parameters: PlannerParameters) -> None:
        self.types = types
        self._thread = ActionThread(node)
        self.servers = (
            PathServer(self._thread, types.to_pose, parameters.compute_path_to_pose_action),
            PathServer(self._thread, types.through_poses, parameters.compute_path_through_poses_action),
        )
        self._controller = ControllerWatch(self._thread.node, parameters.follow_path_action)
        self._desks: list[ComputePathHandler] = []
        self._thread.start()

    def activate(
        self, parameters: PlannerParameters, problems: ThrottledLog, show: Callable[[FoundPath, str, float], None]
    ) -> list[ComputePathHandler]:
        """Goals are accepted from now on. The desks answer them as long as somebody ticks them."""
        self._desks = [
            ComputePathHandler(server, self._controller, parameters, problems, show) for server in self.servers
        ]
        for server in self.servers:
            server.activate()
        return self._desks

    def deactivate(self) -> None:
        for server in self.servers:
            server.deactivate()
        self._desks = []

    def close(self) -> None:
        self.deactivate()
        self._thread.close()

    def facts(self) -> dict[str, object]:
        """For the diagnostics."""
        times = self._thread.times
        p50, p99, most = times.percentiles_ms()
        jitter_p99, jitter_most = times.jitters_ms()
        return {
            'path_requests': sum(desk.requests for desk in self._desks),
            'paths_found': sum(desk.found for desk in self._desks),
            'paths_unchanged': sum(desk.unchanged for desk in self._desks),
            'path_searches': sum(desk.searches for desk in self._desks),
            'acknowledgement_p50_ms': p50,
            'acknowledgement_p99_ms': p99,
            'acknowledgement_max_ms': most,
            'action_thread_jitter_p99_ms': jitter_p99,
            'action_thread_jitter_max_ms': jitter_most,
        }
