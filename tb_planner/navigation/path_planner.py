"""PathPlanner: the search for a path that somebody has asked for, kept from request to request.

No robot is led here: a path is found, or it is not. As long as the same goals are asked for, the robot is on the path
and the path stands on the present map, the answer is the very same one. A search that was not finished goes on with
the next request.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell, MapGeometry, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.held_route import HeldRoute
from tb_planner.navigation.navigator import TRACE_STEPS, Settings, cell_of, end_of, no_way_out, way_out, whole_cells
from tb_planner.navigation.standing_route import StandingRoute
from tb_planner.search.planner import Status, TimeBoundedPlanner
from tb_planner.search.sight import clear

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
    map_update: MapUpdate, question: PathRequest, start_tolerance_m: float, tolerance_m: float
) -> PathResult | None:
    """What keeps a search from being begun at all, in Nav2's order."""
    geometry, goals = map_update.geometry, question.goals
    size = f'the map of {geometry.width} x {geometry.height} cells of {geometry.resolution_m:g} m'
    if not geometry.contains(cell_of(geometry, question.start)):
        return PathResult(PathStatus.START_OUTSIDE_MAP, f'start {question.start} is outside {size}')
    for goal in goals:
        if not geometry.contains(cell_of(geometry, goal)):
            return PathResult(PathStatus.GOAL_OUTSIDE_MAP, f'goal {goal} is outside {size}')
    if way_out(map_update, question.start, start_tolerance_m) is None:
        text = f'start {question.start} is blocked, and {no_way_out(geometry, start_tolerance_m)}'
        return PathResult(PathStatus.START_OCCUPIED, text)
    tolerance = whole_cells(tolerance_m, geometry)
    for goal in goals:
        if map_update.grid.nearest_free(cell_of(geometry, goal), tolerance) is None:
            text = f'goal {goal} is blocked, and so is all within {tolerance_m:g} m'
            return PathResult(PathStatus.GOAL_OCCUPIED, text)
    return None


def route_along(legs: Sequence[Segment], map_update: MapUpdate) -> StandingRoute:
    cells = [legs[0].cells, *(leg.cells[1:] for leg in legs[1:])]
    ends = np.cumsum([len(part) for part in cells]) - 1
    return StandingRoute(np.concatenate(cells), ends.tolist(), map_update.grid)


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
    path: FoundPath, route: StandingRoute, goals: int, near: int, map_update: MapUpdate
) -> tuple[FoundPath, StandingRoute] | None:
    """What is left of a path and its route when the robot is done with so many goals: Nav2 takes a goal off the list
    when the robot is near it. None if it is not, so many cells, or has passed a later one, too."""
    first, ends = route.passed, route.ends[goals:]
    if route.ends[goals - 1] - first > near or ends[0] < first:
        return None
    return _cut(path, route, first_point(path, route), goals, map_update)


def ahead_of_robot(
    path: FoundPath, route: StandingRoute, most_behind_m: float, map_update: MapUpdate
) -> tuple[FoundPath, StandingRoute]:
    """A path and its route; if more than so much of it lies behind the robot, what is left of both, at least two
    points. Where the robot has passed a goal that is asked for still, it is all of them."""
    cut = min(first_point(path, route), len(path.points_m) - 2)
    if cut <= 0 or route.ends[0] < route.passed:
        return path, route
    behind_m = float(np.hypot(*np.diff(path.points_m[: cut + 1], axis=0).T).sum())
    return (path, route) if behind_m <= most_behind_m else _cut(path, route, cut, 0, map_update)


def _cut(
    path: FoundPath, route: StandingRoute, cut: int, goals: int, map_update: MapUpdate
) -> tuple[FoundPath, StandingRoute]:
    """From where the robot is on the route, and from a point of the path on, without the first goals."""
    first = route.passed
    rest = FoundPath(path.points_m[cut:], tuple(end - cut for end in path.ends[goals:]))
    point_of = None if route.point_of is None else route.point_of[first:] - cut
    return rest, StandingRoute(
        route.cells[first:], [end - first for end in route.ends[goals:]], map_update.grid, point_of
    )


def laid_on(path: FoundPath, route: StandingRoute, map_update: MapUpdate) -> StandingRoute | None:
    """What is left of a path on a map of another geometry, if that allows it just as it is."""
    cut = first_point(path, route)
    if len(path.points_m) - cut < 2:
        return None
    held = HeldRoute.under(path.points_m[cut:], map_update.geometry)
    if not held.stands(map_update.grid):
        return None
    last = len(held.cells) - 1
    ends = [min(int(np.searchsorted(held.point_of, end - cut)), last) if end >= cut else -1 for end in path.ends]
    return StandingRoute(held.cells, ends, map_update.grid, held.point_of + cut)


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


class SegmentPlanner:
    """step() goes on with a leg until it is found; the next one begins a new one. stop() gives it up."""

    def __init__(self) -> None:
        self.searches = 0
        """One for a leg, and what started over."""
        self._planner: TimeBoundedPlanner | None = None  # of the leg in hand, or of the last one, for its memory
        self._is_under_way = False
        self._instead: Cell | None = None  # of the leg's goal, which is cut off
        self._hopeless = 0  # number of the search that found nothing in place of it, either

    @property
    def has_no_path(self) -> bool:
        """To the goal of the leg in hand, or near it, on the present map."""
        planner = self._planner
        if planner is None or not self._is_under_way or planner.status != Status.NO_PATH:
            return False
        return self._hopeless == planner.searches

    def stop(self) -> None:
        self._is_under_way, self._instead, self._hopeless = False, None, 0

    def drop_memory(self) -> None:
        """It is of no use on a map of another size."""
        self._planner = None
        self.stop()

    def update_map(self, update: MapUpdate) -> None:
        """Of the same geometry."""
        if self._planner is not None and update.change is not None:
            before = self._planner.searches
            self._planner.use_grid(update.grid, update.change)
            self.searches += self._is_under_way * (self._planner.searches - before)
            if self._instead is not None and frees_cells(update):  # the goal may be cut off no more
                self.stop()

    def step(
        self,
        map_update: MapUpdate,
        ends: tuple[Cell, Cell],
        settings: Settings,
        tolerance_m: float,
        search: Callable[[TimeBoundedPlanner], object],
    ) -> Segment | None:
        """Spends what `search` spends; the leg, if it is found. `ends` are its first cell and its goal's."""
        tolerance = whole_cells(tolerance_m, map_update.geometry)
        planner = self._planner
        if planner is None or not self._is_under_way:
            planner = self._begin(map_update, ends, settings, tolerance)
        before = planner.searches
        if planner.current_cell != ends[0]:  # it was blocked: the planner may have gone to the other side of a wall
            planner.leave_route(ends[0])
        if planner.status != Status.NO_PATH:
            search(planner)
        self.searches += planner.searches - before
        if planner.status == Status.NO_PATH:
            self._look_beside(ends[1], tolerance, planner)
            return None
        if not planner.route_reaches_goal and planner.current_cell != planner.target:
            return None
        leg = Segment(planner.route_cells(), ends[1], self._instead is not None)
        self.stop()
        return leg

    def _begin(
        self, map_update: MapUpdate, ends: tuple[Cell, Cell], settings: Settings, tolerance: int
    ) -> TimeBoundedPlanner:
        """O(1): the search's memory is that of the last one, or what the grid has prepared."""
        if self._planner is not None:
            self._planner.release()
        self._planner = TimeBoundedPlanner(
            map_update.grid,
            ends[0],
            self._instead or ends[1],
            settings.algorithm,
            settings.k,
            trace_steps=None if settings.algorithm.reopen else TRACE_STEPS,
            min_improvement=settings.min_improvement,
            start_tolerance=whole_cells(settings.start_tolerance_m, map_update.geometry),
            goal_tolerance=0 if self._instead else tolerance,
        )
        self._is_under_way = True
        self.searches += 1
        return self._planner

    def _look_beside(self, goal: Cell, tolerance: int, planner: TimeBoundedPlanner) -> None:
        """The search has seen all that can be reached. If some of it is within the tolerance of the goal, the leg may
        end there."""
        if self._instead is not None:  # on a map that has changed
            self.stop()
        elif self._hopeless != planner.searches:
            reached = planner.search_picture(unknown=0, expanded=1, opened=0)
            self._instead = _nearest(reached, goal, tolerance)
            self._is_under_way = self._instead is None
            self._hopeless = planner.searches if self._instead is None else 0


def frees_cells(update: MapUpdate) -> bool:
    """Whether cells are free that were blocked. Where corners may be cut a change does not tell: then, whether any has
    become cheaper."""
    change = update.change
    return change is not None and len(change.decreased if update.grid.corner_cutting else change.unblocked) > 0


def _nearest(marked: NDArray[np.int8], cell: Cell, tolerance: int) -> Cell | None:
    """The marked cell nearest to this one, at most so many cells away."""
    x, y = cell
    left, top = max(x - tolerance, 0), max(y - tolerance, 0)
    rows, columns = np.nonzero(marked[top : y + tolerance + 1, left : x + tolerance + 1])
    squares = (columns + left - x) ** 2 + (rows + top - y) ** 2
    if len(squares) == 0 or squares.min() > tolerance**2:
        return None
    i = int(squares.argmin())
    return int(columns[i]) + left, int(rows[i]) + top


MOST_LEGS = 16
"""Legs that are begun in a step; the next step goes on."""
NEAR_M = 1.0
"""So near to a goal, along the path, the robot may be done with it; Nav2's trees say so at 0.7 m."""
BEHIND_M = 1.0
"""Of a path that is told to whoever begins anew so much may lie behind the robot; where more does, the rest of it is
told. Nav2's controllers look for the robot on the first part only of a path that they begin with, half the size of
their local costmap, by default 1.5 m: one that has given up would not find it on a path from long ago."""

_LEAST_TOLERANCE = 1.5  # in cells: a robot anywhere in its cell is up to 0.71 from the centre, where its route begins


class PathPlanner:
    """To be used by one thread, on the grids that a navigator gets, too: every update is to be taken in."""

    def __init__(self, settings: Settings, tolerance_m: float):
        self._settings = settings
        self._tolerance_m = tolerance_m
        self._map: MapUpdate | None = None
        self._question: PathRequest | None = None
        self._leg_search = SegmentPlanner()
        self._legs: list[Segment] = []  # that are found
        self._route: StandingRoute | None = None  # along them
        self._path: FoundPath | None = None  # if these are all
        self._held: tuple[FoundPath, StandingRoute] | None = None  # an older one that a search is to replace

    # -------------------------------------------------------------------------------------------------- requests
    def change(self, settings: Settings, tolerance_m: float) -> None:
        """Other settings. What was found by another algorithm or tolerance is found anew."""
        old = self._settings.algorithm, self._tolerance_m
        self._settings, self._tolerance_m = settings, tolerance_m
        if old != (settings.algorithm, tolerance_m):
            self._begin()

    def request(
        self, start: Pose2D, goals: Sequence[Pose2D], *, start_is_robot: bool, controller_stopped: bool = False
    ) -> bool:
        """A request. Whether what has been found already, or is being searched for, serves. controller_stopped: nobody
        follows the path of before, so that it may be told without what the robot has passed."""
        question = PathRequest(start, tuple(goals), start_is_robot)
        if not question.goals:
            raise ValueError('there are 0 goals; there is at least 1')
        map_update, asked = self._map, self._question
        serves = map_update is not None and asked is not None and self._serves(map_update, asked, question)
        held = (
            self._held
            if map_update is not None and asked is not None and self._is_held_for(map_update, asked, question)
            else None
        )
        if not serves:
            self._question = question
            self._begin()
        self._held = held
        if map_update is not None and controller_stopped:
            self._leave_behind(map_update)
        return serves

    def step(self, search: Callable[[TimeBoundedPlanner], object]) -> PathResult:
        """Spends what `search` spends, and says how it stands."""
        map_update, question = self._map, self._question
        if question is None:
            raise ValueError('nothing has been asked for')
        if map_update is None:
            return PathResult(PathStatus.WAITING_FOR_MAP, 'there is no map yet')
        if self._path is None:
            refused = validate_request(map_update, question, self._settings.start_tolerance_m, self._tolerance_m)
            if refused is not None:
                self._begin()
                return refused
            self._search(map_update, question, search)
        if self._path is not None:
            return PathResult(PathStatus.FOUND, '', self._path)
        if self._leg_search.has_no_path:
            goal = question.goals[len(self._legs)]
            text = f'no path leads to {goal}, or within {self._tolerance_m:g} m of it, on the present map'
            return PathResult(PathStatus.NO_VALID_PATH, text)
        return PathResult(PathStatus.SEARCHING, 'the search is not finished')

    @property
    def held_path(self) -> FoundPath | None:
        """An older path to the same goals: it stands, but there could be a better one, which is being searched for."""
        return None if self._held is None or self._path is not None else self._held[0]

    @property
    def has_path(self) -> bool:
        """To the goals that were asked for last."""
        return self._path is not None

    @property
    def searches(self) -> int:
        """That requests have made necessary: one for a leg, and what started over."""
        return self._leg_search.searches

    # -------------------------------------------------------------------------------------------------- the map
    def update_map(self, update: MapUpdate) -> None:
        """Every update that there is, also while nobody asks: the grid of the one before is not to be read any more."""
        before, self._map = self._map, update
        if before is None or update.change is None:
            self._move(before, update)
            return
        self._leg_search.update_map(update)
        if self._held is not None and not self._held[1].stands(update.grid):
            self._held = None
        if self._route is None or not update.change:
            return
        algorithm, min_improvement = self._settings.algorithm, self._settings.min_improvement
        if self._route.fault(update.grid, update.change, algorithm, min_improvement) or self._could_end_nearer(update):
            held = self._held
            if self._path is not None and self._route.stands(update.grid):
                held = self._path, self._route
            self._begin()
            self._held = held

    def _move(self, before: MapUpdate | None, update: MapUpdate) -> None:
        """Onto another geometry. A path that ends at its goals, and stands just as it is, stays; one that ends near
        them is held, since it might come nearer now. The search starts over."""
        path, route, held = self._path, self._route, self._held
        ends_there = not any(leg.is_cut_off or leg.goal != as_cell(leg.cells[-1]) for leg in self._legs)
        self._leg_search.drop_memory()
        self._begin()
        if before is None:
            return
        if path is not None and route is not None:
            held = path, route
        laid = None if held is None else laid_on(*held, update)
        if held is None or laid is None:
            return
        if path is not None and ends_there:
            self._path, self._route = path, laid
        else:
            self._held = held[0], laid

    def _could_end_nearer(self, update: MapUpdate) -> bool:
        """To a goal that was blocked or cut off and may be so no more, or nearer to it."""
        tolerance = whole_cells(self._tolerance_m, update.geometry)
        return any(
            frees_cells(update)
            if leg.is_cut_off
            else update.grid.nearest_free(leg.goal, tolerance) != as_cell(leg.cells[-1])
            for leg in self._legs
        )

    # -------------------------------------------------------------------------------------------------- the search
    def _serves(self, map_update: MapUpdate, asked: PathRequest, question: PathRequest) -> bool:
        """What there is, for another question than it was begun for."""
        left_out = asked.goals_left_out(question)
        if left_out is None:
            return False
        if not question.start_is_robot:
            return left_out == 0 and is_same(asked.start, question.start)
        position, tolerance = self._position(map_update, question.start), self._tolerance(map_update)
        if position is None:
            return False
        if self._path is not None and self._route is not None:
            return self._route.meet(map_update.grid, position, tolerance) and self._leave_out(
                left_out, question, map_update
            )
        if left_out:
            return False
        if self._leg_search.has_no_path:
            return cell_of(map_update.geometry, asked.start) == cell_of(map_update.geometry, question.start)
        begun = map_update.geometry.to_grid(asked.start.x_m, asked.start.y_m)
        return math.dist(begun, position) <= tolerance and clear(map_update.grid.cost_u16, *position, *begun)

    def _is_held_for(self, map_update: MapUpdate, asked: PathRequest, question: PathRequest) -> bool:
        """The older path, if there is one."""
        position = self._position(map_update, question.start)
        if self._held is None or position is None or asked.goals_left_out(question) != 0 or not question.start_is_robot:
            return False
        return self._held[1].meet(map_update.grid, position, self._tolerance(map_update))

    def _position(self, map_update: MapUpdate, start: Pose2D) -> tuple[float, float] | None:
        """In cells; of a start that is blocked, that of its way out, if there is one."""
        cell = cell_of(map_update.geometry, start)
        free = (
            way_out(map_update, start, self._settings.start_tolerance_m) if map_update.geometry.contains(cell) else None
        )
        if free is None:
            return None
        return map_update.geometry.to_grid(start.x_m, start.y_m) if free == cell else (free[0] + 0.5, free[1] + 0.5)

    def _tolerance(self, map_update: MapUpdate) -> float:
        """In cells: so far from a route the robot may be."""
        return max(self._settings.deviation_tolerance_m / map_update.geometry.resolution_m, _LEAST_TOLERANCE)

    def _leave_out(self, goals: int, question: PathRequest, map_update: MapUpdate) -> bool:
        """The robot is done with so many of the goals; whether the rest of the path serves."""
        if goals == 0:
            return True
        if self._path is None or self._route is None:
            return False
        rest = rest_of(self._path, self._route, goals, whole_cells(NEAR_M, map_update.geometry), map_update)
        if rest is None:
            return False
        self._path, self._route = rest
        self._legs, self._question = self._legs[goals:], question
        return True

    def _leave_behind(self, map_update: MapUpdate) -> None:
        """What the robot has passed, if that is much."""
        if self._path is not None and self._route is not None:
            self._path, self._route = ahead_of_robot(self._path, self._route, BEHIND_M, map_update)
        if self._held is not None:
            self._held = ahead_of_robot(*self._held, BEHIND_M, map_update)

    def _begin(self) -> None:
        """Afresh, with the next step."""
        self._leg_search.stop()
        self._legs, self._route, self._path, self._held = [], None, None, None

    def _search(
        self, map_update: MapUpdate, question: PathRequest, search: Callable[[TimeBoundedPlanner], object]
    ) -> None:
        for _ in range(MOST_LEGS):
            if not self._search_leg(map_update, question, search):
                return
            self._route = route = route_along(self._legs, map_update)
            if not route.stands(
                map_update.grid
            ):  # a rule that never restarts leads on through what has appeared meanwhile
                held = self._held
                self._begin()
                self._held = held
                return
            if len(self._legs) == len(question.goals):
                self._path, self._held = (
                    self._older_path(route) or path_along(self._legs, map_update.geometry, question),
                    None,
                )
                return

    def _older_path(self, route: StandingRoute) -> FoundPath | None:
        """The one that is held, if what the search has found is just what is left of it: the answer stays the same."""
        return self._held[0] if self._held is not None and is_end_of(route, self._held[1]) else None

    def _search_leg(
        self, map_update: MapUpdate, question: PathRequest, search: Callable[[TimeBoundedPlanner], object]
    ) -> bool:
        """Whether it has been found."""
        if self._legs:
            start: Cell | None = as_cell(self._legs[-1].cells[-1])
        else:
            start = way_out(map_update, question.start, self._settings.start_tolerance_m)
        if start is None:  # obstacles may be newer than they were a moment ago; the next step refuses it
            return False
        goal = cell_of(map_update.geometry, question.goals[len(self._legs)])
        leg = self._leg_search.step(map_update, (start, goal), self._settings, self._tolerance_m, search)
        if leg is not None:
            self._legs.append(leg)
        return leg is not None
