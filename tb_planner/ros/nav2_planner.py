"""What Nav2 expects of a planner server: two actions that compute paths, and the service is_path_valid.

Goals are rejected while the node is inactive. nav2_msgs is imported late: the node runs without it, too.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode

from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.loop import PlannerLoop
from tb_planner.navigation.route import invalid_points, nearest_point
from tb_planner.ros.path_actions import ActionThread, ComputePathHandler, ControllerStatus, PathServer, PublishPath
from tb_planner.ros.pose_source import MissingPackage, RobotPose
from tb_planner.ros.publishers import points_of
from tb_planner.ros.throttled_log import ThrottledLog

NO_NAV2 = 'nav2 is true, and nav2_msgs cannot be imported: install ros-$ROS_DISTRO-nav2-msgs, or set nav2 to false'
DROP_IN = PlannerParameters.compute_path_to_pose_action
"""A planner whose action has this name replaces Nav2's planner server, and serves is_path_valid, too."""


@dataclass(frozen=True)
class Nav2Types:
    to_pose: Any
    through_poses: Any
    is_path_valid: Any


def require_nav2() -> Nav2Types:
    """Imports nav2_msgs; raises MissingPackage."""
    try:
        from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose
        from nav2_msgs.srv import IsPathValid
    except ImportError as error:
        raise MissingPackage(NO_NAV2) from error
    return Nav2Types(ComputePathToPose, ComputePathThroughPoses, IsPathValid)


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
        notify: Callable[[], None],
    ) -> list[ComputePathHandler]:
        """Accepts goals from now on. A PlannerLoop has to tick the handlers; notify() is called in another thread when
        there is a new request."""

        def stamp() -> Any:
            return self._node.get_clock().now().to_msg()

        self._handlers = [
            ComputePathHandler(server, self._controller, parameters, poses, log, publish_path, stamp)
            for server in self.servers
        ]
        for server in self.servers:
            server.activate(notify)
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
        return {
            'path_requests': sum(server.accepted for server in self.servers) if self._handlers else 0,
            'paths_found': sum(handler.found for handler in self._handlers),
            'paths_unchanged': sum(handler.unchanged for handler in self._handlers),
            'path_searches': sum(handler.searches for handler in self._handlers),
            **self._thread.times.percentiles_ms('acknowledgement', 'action_thread_jitter'),
        }


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
