"""Nav2's messages, imported late and recognised by their fields, so that one source serves Jazzy and later."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from numpy.typing import NDArray
from std_msgs.msg import Header

from tb_planner.navigation.route import Route
from tb_planner.ros.conversions import headings
from tb_planner.ros.pose_source import MissingPackage

NO_NAV2 = 'nav2 is true, and nav2_msgs cannot be imported: install ros-$ROS_DISTRO-nav2-msgs, or set nav2 to false'
POSES_AT_ONCE = 200
"""How many poses of a path's message are made in one piece; each takes about ten microseconds."""


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


def goals_of(request: Any) -> list[PoseStamped]:
    """The goals of a request of either action: `goal`, after the `viapoints` of later versions; or `goals`, which is a
    list in Jazzy and a nav_msgs/Goals with its own header in later versions."""
    if hasattr(request, 'goal'):
        return [*getattr(request, 'viapoints', ()), request.goal]
    goals = request.goals
    if not hasattr(goals, 'goals'):
        return list(goals)
    for goal in goals.goals:
        goal.header.frame_id = goal.header.frame_id or goals.header.frame_id
    return list(goals.goals)


def result_of(action: Any, error: str, text: str, path: Path | None, planning_time_s: float) -> Any:
    """error: the name of one of the action's error codes."""
    result = action.Result()
    result.error_code = int(getattr(action.Result, error))
    if hasattr(result, 'error_msg'):
        result.error_msg = text
    if path is not None:
        result.path = path
    result.planning_time = duration_of(planning_time_s)
    return result


def duration_of(time_s: float) -> Duration:
    nanoseconds = round(time_s * 1e9)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


class PathMessage:
    """The message of a path, which may be the result of many requests. The first one makes it, piece by piece: a long
    one takes some ten milliseconds, for which other requests would have to wait."""

    def __init__(self, path: Route, yaws: Sequence[float | None], start_yaw: float, frame: str, stamp: Time) -> None:
        """yaws: the heading at each of its goals; None is along the path."""
        self.path = path
        self._looks = directions(path, yaws, start_yaw)
        self._message = Path(header=Header(frame_id=frame, stamp=stamp))
        self._poses: list[PoseStamped] = []

    def go_on(self) -> bool:
        """Makes another piece; returns whether the message is complete."""
        header = Header(frame_id=self._message.header.frame_id)
        piece = slice(len(self._poses), len(self._poses) + POSES_AT_ONCE)
        self._poses += _poses(header, self.path.points_m[piece], self._looks[piece])
        return len(self._poses) == len(self._looks)

    @property
    def message(self) -> Path:
        while not self._message.poses:
            if self.go_on():
                self._message.poses = self._poses
        return self._message


def directions(path: Route, yaws: Sequence[float | None], start_yaw: float) -> list[float]:
    """Each pose points to the next one, or at a goal as given; a single pose without a yaw points as the start."""
    looks = headings(path.points_m, start_yaw if len(path.points_m) == 1 else None)
    for end, yaw in zip(path.ends, yaws, strict=True):
        if yaw is not None:
            looks[end] = yaw
        elif end > 0:
            looks[end] = looks[end - 1]
    return [float(look) for look in looks]


def path_message(points_m: NDArray[np.float64], looks: Sequence[float], frame: str, stamp: Time) -> Path:
    """A path through these points with these headings. The poses have no stamps, which TF takes for the newest time:
    Nav2's controller server transforms the last pose by its stamp, and a path is kept while localisation goes on."""
    return Path(header=Header(frame_id=frame, stamp=stamp), poses=_poses(Header(frame_id=frame), points_m, looks))


def _poses(header: Header, points_m: NDArray[np.float64], looks: Sequence[float]) -> list[PoseStamped]:
    return [_pose(header, x, y, yaw) for (x, y), yaw in zip(points_m.tolist(), looks, strict=True)]


def _pose(header: Header, x_m: float, y_m: float, yaw: float) -> PoseStamped:
    stamped = PoseStamped(header=header)
    position, orientation = stamped.pose.position, stamped.pose.orientation
    position.x, position.y = x_m, y_m
    orientation.z, orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return stamped


def points_of(path: Path) -> np.ndarray:
    """(n, 2) in metres; not checked for nan."""
    return np.array([(pose.pose.position.x, pose.pose.position.y) for pose in path.poses]).reshape(-1, 2)
