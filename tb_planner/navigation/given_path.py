"""The path for a controller that follows whole paths by itself, and takes the last pose of a path for the goal.

So a plan is given only when it reaches the goal; and, since a controller that gets another path begins anew, only when
it is another one than what is left of the path given before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.navigation.navigator import NavigationStatus, Navigator, Tick
from tb_planner.search.grid import BLOCKED

ON_THE_WAY = (NavigationStatus.NAVIGATING, NavigationStatus.WAITING)
SAME_CELLS = 0.5
"""Routes that differ nowhere by more than this, in cells, are the same: a map may have moved by part of a cell."""


@dataclass(frozen=True, eq=False)
class GivenPath:
    """It is known by its identity."""

    points_m: NDArray[np.float64]
    """(n, 2), at least two, to the goal."""
    goal: Pose2D


class ControllerPathPolicy:
    """Asked after every tick; `path` is what the controller is to follow, None if the robot is to stand still.

    A plan that does not reach the goal yet is not given. While it is sought, the controller keeps what it has, as long
    as that is free as far ahead as a waypoint would be: robots do not brake for what is blocked far away.
    """

    def __init__(self) -> None:
        self.path: GivenPath | None = None
        self._is_plan = False  # what is left of the path is the navigator's plan

    def tick(self, navigator: Navigator, tick: Tick, pose: Pose2D | None) -> GivenPath | None:
        """The path from now on. The work goes with the plan's length, but only in ticks that change it."""
        goal, geometry = navigator.goal, navigator.geometry
        if pose is None or goal is None or geometry is None or tick.status not in ON_THE_WAY:
            self.path, self._is_plan = None, False
        elif tick.plan_changed or not self._is_plan or self.path is None or self.path.goal != goal:
            self._decide(navigator, goal, geometry, pose)
        if navigator.settings.algorithm.restart == 'never' and geometry is not None and pose is not None:
            self._look_ahead(navigator, geometry, pose)
        return self.path

    def _look_ahead(self, navigator: Navigator, geometry: MapGeometry, pose: Pose2D) -> None:
        """Where the rule is never to restart, a plan stays as it is when it gets blocked."""
        if self.path is not None and not _is_free(self.path, navigator, geometry, pose):
            self.path, self._is_plan = None, False

    def begin_anew(self) -> None:
        """The controller has given up. The next path begins where the robot is: one that begins looks for it on the
        first metres of a path only."""
        self.path, self._is_plan = None, False

    def _decide(self, navigator: Navigator, goal: Pose2D, geometry: MapGeometry, pose: Pose2D) -> None:
        points_m, given = navigator.plan_points(), self.path
        whole, tolerance_m = navigator.plan_reaches_goal, SAME_CELLS * geometry.resolution_m
        if given is not None and given.goal == goal:
            self._is_plan = whole and _is_left_of(points_m, given, tolerance_m)
            if self._is_plan:
                return
        if whole:
            self.path, self._is_plan = GivenPath(_two_at_least(points_m, pose), goal), True
        elif given is not None and not _is_free(given, navigator, geometry, pose):
            self.path = None


def thinned(points_m: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The same line with about so many points: of more, some are left out where it goes straight on. Where it turns
    they stay, or it would cut corners."""
    apart = -(-len(points_m) // most)
    steps = np.diff(points_m, axis=0)
    kept = np.ones(len(points_m), bool)
    kept[1:-1] = ~np.isclose(steps[1:], steps[:-1]).all(axis=1)
    kept[::apart] = True
    return points_m[kept]


def _two_at_least(points_m: NDArray[np.float64], pose: Pose2D) -> NDArray[np.float64]:
    """Where the robot is in the goal's cell already, from where it is."""
    return points_m if len(points_m) > 1 else np.vstack(((pose.x_m, pose.y_m), points_m))


def _is_left_of(points_m: NDArray[np.float64], given: GivenPath, tolerance_m: float) -> bool:
    """Whether the points are the end of a path."""
    left = given.points_m[-len(points_m) :]
    return left.shape == points_m.shape and bool((np.hypot(*(left - points_m).T) <= tolerance_m).all())


def _is_free(given: GivenPath, navigator: Navigator, geometry: MapGeometry, pose: Pose2D) -> bool:
    """Where the robot is on the path and for as far as waypoints go."""
    if navigator.planner is None:
        return False
    nearest = int(_distances(given.points_m, np.array((pose.x_m, pose.y_m))).argmin())
    ahead = given.points_m[nearest:]
    lengths = np.hypot(*np.diff(ahead, axis=0).T).cumsum()
    ahead = ahead[: np.searchsorted(lengths, navigator.settings.waypoint_distance_m) + 2]
    x, y = np.floor(geometry.to_grid_array(ahead)).astype(np.int64).T
    if x.min() < 0 or y.min() < 0 or x.max() >= geometry.width or y.max() >= geometry.height:
        return False
    return bool((navigator.planner.grid.cost_u16[y, x] != BLOCKED).all())


def _distances(points_m: NDArray[np.float64], place_m: NDArray[np.float64]) -> NDArray[np.float64]:
    distances: NDArray[np.float64] = np.hypot(*(points_m - place_m).T)
    return distances
