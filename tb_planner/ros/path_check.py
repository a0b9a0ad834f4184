"""Nav2's service is_path_valid: whether the rest of a path is free on the present map."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.lifecycle import LifecycleNode

from tb_planner.geometry import Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.ros.nav2_messages import points_of
from tb_planner.ros.pose_source import PoseSource
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.ros.ticker import Ticker
from tb_planner.search.grid import BLOCKED

SERVICE = 'is_path_valid'


class PathCheck:
    """Served by the thread of the ticks, which alone may read the grid."""

    def __init__(
        self, node: LifecycleNode, service_type: Any, ticker: Ticker, poses: PoseSource, problems: ThrottledLog
    ) -> None:
        self._node = node
        self._ticker = ticker
        self._poses = poses
        self._problems = problems
        self._service = node.create_service(service_type, SERVICE, self._serve)

    def close(self) -> None:
        self._node.destroy_service(self._service)

    def _serve(self, request: Any, response: Any) -> Any:
        response.is_valid = False
        try:
            invalid = self._invalid(request.path)
        except Exception:  # the node goes on
            self._problems.error('path', f'path not looked at: {traceback.format_exc()}')
            return response
        if invalid is not None:
            response.is_valid = len(invalid) == 0
            response.invalid_pose_indices = [int(i) for i in invalid]
        if hasattr(response, 'success'):  # later than Jazzy
            response.success = invalid is not None
        return response

    def _invalid(self, path: Any) -> NDArray[np.intp] | None:
        """Indices of poses ahead that are not free; None if nothing can be said of the path."""
        map_update, frame = self._ticker.newest_map, self._ticker.frame
        if map_update is None or not path.poses:
            return None
        if path.header.frame_id not in ('', frame):
            text = f'path is in frame {path.header.frame_id!r}, the map in {frame!r}; it counts as not valid'
            self._problems.warn('path', text)
            return None
        return invalid_points(map_update, points_of(path), self._poses.latest())


def invalid_points(map_update: MapUpdate, points_m: NDArray[np.float64], robot: Pose2D | None) -> NDArray[np.intp]:
    """Of a path, from the point nearest to the robot on: indices of those that are blocked or off the map."""
    first = 0
    if robot is not None:
        distance = np.hypot(points_m[:, 0] - robot.x_m, points_m[:, 1] - robot.y_m)
        first = int(np.nan_to_num(distance, nan=np.inf).argmin())
    x, y = np.floor(map_update.geometry.to_grid_array(points_m[first:])).T
    inside = (x >= 0) & (y >= 0) & (x < map_update.geometry.width) & (y < map_update.geometry.height)  # nan is not
    column, row = (np.where(inside, value, 0).astype(np.intp) for value in (x, y))
    blocked: NDArray[np.bool_] = ~inside | (map_update.grid.cost_u16[row, column] == BLOCKED)
    return first + np.flatnonzero(blocked)
