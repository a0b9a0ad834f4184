"""PathPlanner: the search for a path that somebody has asked for, kept from request to request.

No robot is led here: a path is found, or it is not. As long as the same goals are asked for, the robot is on the path
and the path stands on the present map, the answer is the very same one. A search that was not finished goes on with
the next request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tb_planner.geometry import Cell, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.navigator import Settings, cell_of, way_out, whole_cells
from tb_planner.navigation.path_request import (
    FoundPath,
    PathRequest,
    PathResult,
    PathStatus,
    Segment,
    ahead_of_robot,
    as_cell,
    is_end_of,
    is_same,
    laid_on,
    path_along,
    rest_of,
    route_along,
    validate_request,
)
from tb_planner.navigation.segment_planner import SegmentPlanner, frees_cells
from tb_planner.navigation.standing_route import StandingRoute
from tb_planner.search.planner import TimeBoundedPlanner
from tb_planner.search.sight import clear

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

    def ask(self, start: Pose2D, goals: Sequence[Pose2D], *, start_is_robot: bool, begins_anew: bool = False) -> bool:
        """A request. Whether what has been found already, or is being searched for, serves. begins_anew: nobody follows
        the path of before, so that it may be told without what the robot has passed."""
        question = PathRequest(start, tuple(goals), start_is_robot)
        if not question.goals:
            raise ValueError('there are 0 goals; there is at least 1')
        on, asked = self._map, self._question
        serves = on is not None and asked is not None and self._serves(on, asked, question)
        held = self._held if on is not None and asked is not None and self._is_held_for(on, asked, question) else None
        if not serves:
            self._question = question
            self._begin()
        self._held = held
        if on is not None and begins_anew:
            self._leave_behind(on)
        return serves

    def step(self, search: Callable[[TimeBoundedPlanner], object]) -> PathResult:
        """Spends what `search` spends, and says how it stands."""
        on, question = self._map, self._question
        if question is None:
            raise ValueError('nothing has been asked for')
        if on is None:
            return PathResult(PathStatus.WAITING_FOR_MAP, 'there is no map yet')
        if self._path is None:
            refused = validate_request(on, question, self._settings.start_tolerance_m, self._tolerance_m)
            if refused is not None:
                self._begin()
                return refused
            self._search(on, question, search)
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
    def take_in(self, update: MapUpdate) -> None:
        """Every update that there is, also while nobody asks: the grid of the one before is not to be read any more."""
        before, self._map = self._map, update
        if before is None or update.change is None:
            self._move(before, update)
            return
        self._leg_search.take_in(update)
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
    def _serves(self, on: MapUpdate, asked: PathRequest, question: PathRequest) -> bool:
        """What there is, for another question than it was begun for."""
        left_out = asked.goals_left_out(question)
        if left_out is None:
            return False
        if not question.start_is_robot:
            return left_out == 0 and is_same(asked.start, question.start)
        position, tolerance = self._position(on, question.start), self._tolerance(on)
        if position is None:
            return False
        if self._path is not None and self._route is not None:
            return self._route.meet(on.grid, position, tolerance) and self._leave_out(left_out, question, on)
        if left_out:
            return False
        if self._leg_search.has_no_path:
            return cell_of(on.geometry, asked.start) == cell_of(on.geometry, question.start)
        begun = on.geometry.to_grid(asked.start.x_m, asked.start.y_m)
        return math.dist(begun, position) <= tolerance and clear(on.grid.cost_u16, *position, *begun)

    def _is_held_for(self, on: MapUpdate, asked: PathRequest, question: PathRequest) -> bool:
        """The older path, if there is one."""
        position = self._position(on, question.start)
        if self._held is None or position is None or asked.goals_left_out(question) != 0 or not question.start_is_robot:
            return False
        return self._held[1].meet(on.grid, position, self._tolerance(on))

    def _position(self, on: MapUpdate, start: Pose2D) -> tuple[float, float] | None:
        """In cells; of a start that is blocked, that of its way out, if there is one."""
        cell = cell_of(on.geometry, start)
        free = way_out(on, start, self._settings.start_tolerance_m) if on.geometry.contains(cell) else None
        if free is None:
            return None
        return on.geometry.to_grid(start.x_m, start.y_m) if free == cell else (free[0] + 0.5, free[1] + 0.5)

    def _tolerance(self, on: MapUpdate) -> float:
        """In cells: so far from a route the robot may be."""
        return max(self._settings.deviation_tolerance_m / on.geometry.resolution_m, _LEAST_TOLERANCE)

    def _leave_out(self, goals: int, question: PathRequest, on: MapUpdate) -> bool:
        """The robot is done with so many of the goals; whether the rest of the path serves."""
        if goals == 0:
            return True
        if self._path is None or self._route is None:
            return False
        rest = rest_of(self._path, self._route, goals, whole_cells(NEAR_M, on.geometry), on)
        if rest is None:
            return False
        self._path, self._route = rest
        self._legs, self._question = self._legs[goals:], question
        return True

    def _leave_behind(self, on: MapUpdate) -> None:
        """What the robot has passed, if that is much."""
        if self._path is not None and self._route is not None:
            self._path, self._route = ahead_of_robot(self._path, self._route, BEHIND_M, on)
        if self._held is not None:
            self._held = ahead_of_robot(*self._held, BEHIND_M, on)

    def _begin(self) -> None:
        """Afresh, with the next step."""
        self._leg_search.stop()
        self._legs, self._route, self._path, self._held = [], None, None, None

    def _search(self, on: MapUpdate, question: PathRequest, search: Callable[[TimeBoundedPlanner], object]) -> None:
        for _ in range(MOST_LEGS):
            if not self._search_leg(on, question, search):
                return
            self._route = route = route_along(self._legs, on)
            if not route.stands(on.grid):  # a rule that never restarts leads on through what has appeared meanwhile
                held = self._held
                self._begin()
                self._held = held
                return
            if len(self._legs) == len(question.goals):
                self._path, self._held = self._older_path(route) or path_along(self._legs, on.geometry, question), None
                return

    def _older_path(self, route: StandingRoute) -> FoundPath | None:
        """The one that is held, if what the search has found is just what is left of it: the answer stays the same."""
        return self._held[0] if self._held is not None and is_end_of(route, self._held[1]) else None

    def _search_leg(self, on: MapUpdate, question: PathRequest, search: Callable[[TimeBoundedPlanner], object]) -> bool:
        """Whether it has been found."""
        if self._legs:
            start: Cell | None = as_cell(self._legs[-1].cells[-1])
        else:
            start = way_out(on, question.start, self._settings.start_tolerance_m)
        if start is None:  # obstacles may be newer than they were a moment ago; the next step refuses it
            return False
        goal = cell_of(on.geometry, question.goals[len(self._legs)])
        leg = self._leg_search.step(on, (start, goal), self._settings, self._tolerance_m, search)
        if leg is not None:
            self._legs.append(leg)
        return leg is not None
