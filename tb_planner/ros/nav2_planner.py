"""What Nav2 expects of a planner server: two actions that compute paths, and the service is_path_valid.

Goals are rejected while the node is inactive. nav2_msgs is imported late: the node runs without it, too.
"""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from nav_msgs.msg import Path
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode

from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D
from tb_planner.maps.costmap import OCCUPIED, UNKNOWN
from tb_planner.navigation.loop import PlannerLoop
from tb_planner.navigation.route import PathNotChecked, collisions, invalid_points, nearest_point
from tb_planner.ros.path_actions import ActionThread, ComputePathHandler, ControllerStatus, PathServer, PublishPath
from tb_planner.ros.pose_source import MissingPackage, RobotPose
from tb_planner.ros.publishers import points_of, time_message
from tb_planner.ros.throttled_log import ThrottledLog

NO_NAV2 = 'nav2 is true, and nav2_msgs cannot be imported: install ros-$ROS_DISTRO-nav2-msgs, or set nav2 to false'
INSCRIBED_COST = 253
"""The cost in a Nav2 costmap of a cell within the robot's radius of an obstacle; 254 is an obstacle, 255 unknown."""
MAX_CHECKED_POSES = 10_000
"""Poses of a path that is_path_valid takes, some 10 ms of work."""
MAX_FOOTPRINT_LENGTH = 10_000
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

    def __init__(self, node: LifecycleNode, types: Nav2Types, parameters: PlannerParameters, log: ThrottledLog) -> None:
        self.types = types
        self._node = node
        self._thread = ActionThread(node, log)
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
            return time_message(self._node.get_clock())

        self._handlers = [
            ComputePathHandler(server, self._controller, parameters, poses, log, publish_path, stamp)
            for server in self.servers
        ]
        for server in self.servers:
            server.activate(parameters, notify)
        return self._handlers

    def deactivate(self) -> None:
        for server in self.servers:
            server.deactivate()
        self._handlers = []

    def expire(self) -> None:
        """Ends requests that no tick has ended in time; called every second."""
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
            invalid = self._invalid(request)
        except PathNotChecked as reason:
            self._log.warn('path', f'{reason}; the path is reported as not valid')
            return response
        except Exception:  # the node goes on
            self._log.error('path', f'path not checked: {traceback.format_exc()}')
            return response
        response.is_valid = len(invalid) == 0
        response.invalid_pose_indices = [int(i) for i in invalid]
        if hasattr(response, 'success'):  # Lyrical
            response.success = True
        return response

    def _invalid(self, request: Any) -> NDArray[np.intp]:
        """Indices of the invalid poses ahead, from the message of Jazzy, Kilted or Lyrical; raises PathNotChecked."""
        path, map_update, frame = request.path, self._loop.map, self._loop.frame
        layer, corners = getattr(request, 'layer_name', ''), getattr(request, 'footprint', '')
        if map_update is None:
            raise PathNotChecked('there is no map yet')
        if not path.poses:
            raise PathNotChecked('the path has 0 poses; it must have at least 1')
        if len(path.poses) > MAX_CHECKED_POSES:
            raise PathNotChecked(f'the path has {len(path.poses)} poses; it must have at most {MAX_CHECKED_POSES}')
        if path.header.frame_id not in ('', frame):
            raise PathNotChecked(f'the path is in frame {path.header.frame_id!r}, the map in {frame!r}')
        if layer:
            raise PathNotChecked(f'layer_name is {layer!r}; it must be empty: only the whole costmap is published')
        points_m = points_of(path)
        ahead = part_ahead(points_m, self._loop.pose, getattr(request, 'max_lookahead_distance', -1.0))
        invalid = np.empty(0, np.intp)
        if not corners:
            invalid = invalid_points(points_m[ahead], map_update.geometry, map_update.grid)
        if hasattr(request, 'max_cost') and map_update.occupancy is not None:
            occupancy = map_update.occupancy
            if request.consider_unknown_as_obstacle:
                occupancy = occupancy.view(np.uint8)  # -1 is 255
            outline_m = corners_of(corners) if corners else np.zeros((1, 2))
            yaws, limit = yaws_of(path)[ahead], occupancy_of(request.max_cost)
            hits = collisions(points_m[ahead], yaws, outline_m, map_update.geometry, occupancy, limit)
            invalid = np.union1d(invalid, hits)
        if getattr(request, 'stop_at_first_collision', False):
            invalid = invalid[:1]
        return ahead.start + invalid


def part_ahead(points_m: NDArray[np.float64], robot: Pose2D | None, lookahead_m: float = -1.0) -> slice:
    """The points of a path from the one nearest to the robot on, up to a distance along the path if that is above 0."""
    first = 0 if robot is None else nearest_point(points_m, robot)
    if not lookahead_m > 0:
        return slice(first, len(points_m))
    lengths_m = np.hypot(*np.diff(points_m[first:], axis=0).T)
    return slice(first, first + 1 + np.count_nonzero(~(np.cumsum(lengths_m) > lookahead_m)))  # nan is not above


def yaws_of(path: Path) -> NDArray[np.float64]:
    turns = [pose.pose.orientation for pose in path.poses]
    x, y, z, w = np.array([(turn.x, turn.y, turn.z, turn.w) for turn in turns]).T
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def corners_of(text: str) -> NDArray[np.float64]:
    """The corners of a footprint such as [[0.3, 0.2], [0.3, -0.2], [-0.3, 0.0]], in metres; raises PathNotChecked."""
    try:
        if len(text) > MAX_FOOTPRINT_LENGTH:
            raise ValueError
        corners = np.array(ast.literal_eval(text), float)
        if corners.ndim != 2 or corners.shape[0] < 3 or corners.shape[1] != 2 or not np.isfinite(corners).all():
            raise ValueError
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise PathNotChecked(
            f'footprint is {text[:80]!r}; it must be at least 3 pairs of numbers, in at most '
            f'{MAX_FOOTPRINT_LENGTH} characters'
        ) from error
    return corners


def occupancy_of(cost: int) -> int:
    """The occupancy from which on a cell has at least this cost of a Nav2 costmap, as its publisher converts it; -1,
    which is unknown, for a cost that every cell has."""
    if cost <= 0:
        return UNKNOWN
    return 1 + 97 * (cost - 1) // 251 if cost < INSCRIBED_COST else OCCUPIED - (cost == INSCRIBED_COST)
