"""A question for a path, and what can be answered: a path, a validate_request, or that it is being searched for."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell, MapGeometry, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.held_route import HeldRoute
from tb_planner.navigation.navigator import cell_of, end_of, no_way_out, way_out, whole_cells
from tb_planner.navigation.standing_route import StandingRoute

SAME_M = 1e-3
"""Goals that differ by less, or by less in radians, are the same: they may have gone through a transform."""


class PathStatus(str, enum.Enum):
    """What has become of an enquiry; but for the first three as in Nav2's actions."""

    WAITING_FOR_MAP = 'WAITING_FOR_MAP'
    SEARCHING = 'SEARCHING'
    FOUND = 'FOUND'
    START_OUTSIDE_MAP = 'START_OUTSIDE_MAP'
    GOAL_OUTSIDE_MAP = 'GOAL_OUTSIDE_MAP'
    START_OCCUPIED = 'START_OCCUPIED'
    """And no free cell within start_tolerance_m is a way out."""
    GOAL_OCCUPIED = 'GOAL_OCCUPIED'
    """And all within the path's tolerance."""
    NO_VALID_PATH = 'NO_VALID_PATH'
    """None leads to the goal, or within the tolerance of it, on the present map."""

    __str__ = str.__str__


@dataclass(frozen=True, eq=False)
class FoundPath:
    """Points (n, 2) in metres; `ends` are the indices of those where the goals are, or what stands in for them."""

    points_m: NDArray[np.float64]
    ends: tuple[int, ...]


@dataclass(frozen=True)
class PathResult:
    """How it stands; another request for the same goals gets the same path object as long as it stands."""

    status: PathStatus
    message: str = ''
    path: FoundPath | None = None


@dataclass(frozen=True)
class PathRequest:
    """From where to where."""

    start: Pose2D
    goals: tuple[Pose2D, ...]
    start_is_robot: bool
    """Then a path serves as long as the robot is on it, wherever; else it begins at the start."""

    def goals_left_out(self, later: PathRequest) -> int | None:
        """How many of the first goals a later question has no more; None if the rest is another."""
        count = len(self.goals) - len(later.goals)
        if count < 0 or self.start_is_robot != later.start_is_robot:
            return None
        return count if all(map(is_same, self.goals[count:], later.goals)) else None


@dataclass(frozen=True, eq=False)
class Segment:
    """The way to a goal's cell, or to one that stands in for it."""

    cells: NDArray[np.int32]
    goal: Cell
    is_cut_off: bool
    """The goal is, and so is the free cell nearest to it."""


def validate_request(
    on: MapUpdate, question: PathRequest, start_tolerance_m: float, tolerance_m: float
) -> PathResult | None:
    """What keeps a search from being begun at all, in Nav2's order."""
    geometry, goals = on.geometry, question.goals
    size = f'the map of {geometry.width} x {geometry.height} cells of {geometry.resolution_m:g} m'
    if not geometry.contains(cell_of(geometry, question.start)):
        return PathResult(PathStatus.START_OUTSIDE_MAP, f'start {question.start} is outside {size}')
    for goal in goals:
        if not geometry.contains(cell_of(geometry, goal)):
            return PathResult(PathStatus.GOAL_OUTSIDE_MAP, f'goal {goal} is outside {size}')
    if way_out(on, question.start, start_tolerance_m) is None:
        text = f'start {question.start} is blocked, and {no_way_out(geometry, start_tolerance_m)}'
        return PathResult(PathStatus.START_OCCUPIED, text)
    tolerance = whole_cells(tolerance_m, geometry)
    for goal in goals:
        if on.grid.nearest_free(cell_of(geometry, goal), tolerance) is None:
            text = f'goal {goal} is blocked, and so is all within {tolerance_m:g} m'
            return PathResult(PathStatus.GOAL_OCCUPIED, text)
    return None


def route_along(legs: Sequence[Segment], on: MapUpdate) -> StandingRoute:
    cells = [legs[0].cells, *(leg.cells[1:] for leg in legs[1:])]
    ends = np.cumsum([len(part) for part in cells]) - 1
    return StandingRoute(np.concatenate(cells), ends.tolist(), on.grid)


def path_along(legs: Sequence[Segment], geometry: MapGeometry, question: PathRequest) -> FoundPath:
    """From the start itself, through the cells' centres, to the goals themselves, or to what stands in for them."""
    cells = [leg.cells[1:] for leg in legs]
    begins_there = as_cell(legs[0].cells[0]) == cell_of(geometry, question.start)
    if not begins_there or len(legs[0].cells) == 1:
        cells[0] = legs[0].cells
    points_m = np.vstack([(question.start.x_m, question.start.y_m), geometry.to_world_array(np.concatenate(cells))])
    ends = np.cumsum([len(part) for part in cells])
    for end, leg, goal in zip(ends, legs, question.goals, strict=True):
        there = end_of(geometry, goal, as_cell(leg.cells[-1]))
        points_m[end] = there.x_m, there.y_m
    if (points_m[0] == points_m[1]).all():
        points_m, ends = points_m[1:], ends - 1
    return FoundPath(points_m, tuple(ends.tolist()))


def rest_of(
    path: FoundPath, route: StandingRoute, goals: int, near: int, on: MapUpdate
) -> tuple[FoundPath, StandingRoute] | None:
    """What is left of a path and its route when the robot is done with so many goals: Nav2 takes a goal off the list
    when the robot is near it. None if it is not, so many cells, or has passed a later one, too."""
    first, ends = route.passed, route.ends[goals:]
    if route.ends[goals - 1] - first > near or ends[0] < first:
        return None
    return _cut(path, route, first_point(path, route), goals, on)


def ahead_of_robot(
    path: FoundPath, route: StandingRoute, most_behind_m: float, on: MapUpdate
) -> tuple[FoundPath, StandingRoute]:
    """A path and its route; if more than so much of it lies behind the robot, what is left of both, at least two
    points. Where the robot has passed a goal that is asked for still, it is all of them."""
    cut = min(first_point(path, route), len(path.points_m) - 2)
    if cut <= 0 or route.ends[0] < route.passed:
        return path, route
    behind_m = float(np.hypot(*np.diff(path.points_m[: cut + 1], axis=0).T).sum())
    return (path, route) if behind_m <= most_behind_m else _cut(path, route, cut, 0, on)


def _cut(path: FoundPath, route: StandingRoute, cut: int, goals: int, on: MapUpdate) -> tuple[FoundPath, StandingRoute]:
    """From where the robot is on the route, and from a point of the path on, without the first goals."""
    first = route.passed
    rest = FoundPath(path.points_m[cut:], tuple(end - cut for end in path.ends[goals:]))
    point_of = None if route.point_of is None else route.point_of[first:] - cut
    return rest, StandingRoute(route.cells[first:], [end - first for end in route.ends[goals:]], on.grid, point_of)


def laid_on(path: FoundPath, route: StandingRoute, on: MapUpdate) -> StandingRoute | None:
    """What is left of a path on a map of another geometry, if that allows it just as it is."""
    cut = first_point(path, route)
    if len(path.points_m) - cut < 2:
        return None
    held = HeldRoute.under(path.points_m[cut:], on.geometry)
    if not held.stands(on.grid):
        return None
    last = len(held.cells) - 1
    ends = [min(int(np.searchsorted(held.point_of, end - cut)), last) if end >= cut else -1 for end in path.ends]
    return StandingRoute(held.cells, ends, on.grid, held.point_of + cut)


def first_point(path: FoundPath, route: StandingRoute) -> int:
    """Of a path, the one where the robot is on its route."""
    if route.point_of is not None:
        return int(route.point_of[route.passed])
    return route.passed + len(path.points_m) - len(route.cells)  # the start may be a point before the first cell's


def is_end_of(route: StandingRoute, older: StandingRoute) -> bool:
    """Whether an older route, with the goals on it, ends just like this one."""
    before = len(older.cells) - len(route.cells)
    if older.point_of is not None or before < 0 or older.ends != [end + before for end in route.ends]:
        return False
    return np.array_equal(older.cells[before:], route.cells)


def is_same(one: Pose2D, other: Pose2D) -> bool:
    turn = math.remainder(one.yaw - other.yaw, math.tau)
    return max(abs(one.x_m - other.x_m), abs(one.y_m - other.y_m), abs(turn)) <= SAME_M


def as_cell(row: NDArray[np.int32]) -> Cell:
    x, y = row.tolist()
    return x, y
