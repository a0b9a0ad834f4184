"""Transforms as they came, and where one frame lies in another: what TF does for a robot in the plane."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tb_planner.geometry import Pose2D
from tb_planner.maps.cdr import StampedPose

DEEPEST = 64
"""Frames from the robot up to the map; more are a circle."""


class Transforms:
    """The newest transform of each frame. Nothing is interpolated."""

    def __init__(self) -> None:
        self._above: dict[str, StampedPose] = {}

    def take(self, transforms: Iterable[tuple[str, StampedPose]]) -> None:
        for child, pose in transforms:
            self._above[_plain(child)] = pose

    def pose(self, frame: str, of: str) -> Pose2D | None:
        """Where a frame lies in one above it; None if no transforms lead there."""
        pose, at = Pose2D(0.0, 0.0, 0.0), _plain(of)
        for _ in range(DEEPEST):
            if at == _plain(frame):
                return pose
            if at not in self._above:
                return None
            above = self._above[at]
            pose, at = _composed(above.pose, pose), _plain(above.frame)
        return None

    def __str__(self) -> str:
        return ', '.join(f'{above.frame} to {child}' for child, above in self._above.items()) or 'none'


def _plain(frame: str) -> str:
    return frame.lstrip('/')


def _composed(outer: Pose2D, inner: Pose2D) -> Pose2D:
    cos, sin = math.cos(outer.yaw), math.sin(outer.yaw)
    x_m = outer.x_m + cos * inner.x_m - sin * inner.y_m
    y_m = outer.y_m + sin * inner.x_m + cos * inner.y_m
    return Pose2D(x_m, y_m, math.remainder(outer.yaw + inner.yaw, math.tau))
