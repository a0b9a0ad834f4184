"""PathPlanner: finds the paths of requests, and keeps what it has found from request to request (Nav2's actions).

It leads no robot: it finds a path, or it does not. As long as the same goals are requested, the robot is on the path
and the path is valid on the present map, the result is the very same Route. A search that was not finished goes on with
the next request.

    path_planner = PathPlanner(settings, tolerance_m=0.5)
    path_planner.update_map(map_update)                               # every update
    path_planner.request(pose, [goal], start_is_robot=True)           # once a request
    result = path_planner.step(search, goes_on)                       # every tick, until result.path is not None

A step spends its share of the tick's budget, whatever the number of goals, and all steps together take work that grows
linearly with the goals and the cells of the path.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box, Cell, MapGeometry, Pose2D, length_m
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.escape import EscapeFinder, no_escape_text
from tb_planner.navigation.navigator import Search, Settings, new_planner
from tb_planner.navigation.route import Route, as_cell
from tb_planner.search.grid import Grid, nearest_marked
from tb_planner.search.planner import Status, TimeBoundedPlanner
from tb_planner.search.sight import clear

SAME_GOAL_M = 1e-3
"""Goals that differ by at most this, in metres or radians, are the same: they may have gone through a transform."""
MAX_GOALS = 10_000
"""Goals of a request."""
MAX_PATH_CELLS = 2**16
"""No further segment is searched for once the path has more cells than this: every change of the map checks all of it,
some milliseconds of work. A single segment may be as long as the map allows."""
JOINED_AT_ONCE = 4096
"""A path of more cells is joined from its segments in a step of its own, some milliseconds of work."""
SEGMENT_EXPANSIONS = 256
"""About as many expansions take the time of a segment's other work, 40 microseconds."""
MAX_WINDOW_CELLS = 2**17
"""Cells around the goals of segments that end beside them, which a change of the map looks at, a millisecond of
work."""
PASSED_GOAL_M = 1.0
"""A robot that is this near to a goal, along the path, may have passed it; Nav2's trees count 0.7 m."""
MAX_BEHIND_M = 1.0
"""At most this much of a path may lie behind the robot when a controller begins with it; where more does, the result is
the rest of the path. Nav2's controllers look for the robot on the first part only of a path that they begin with, half
the size of their local costmap, by default 1.5 m: one that has given up would not find it on a path from long ago."""

_MIN_TOLERANCE = 1.5  # in cells: a robot anywhere in its cell is up to 0.71 from the centre, where its route begins


class PathStatus(str, enum.Enum):
    """The state of a request. All names but the first three are those of Nav2's error codes."""

    WAITING_FOR_MAP = 'WAITING_FOR_MAP'
    """There is no map yet."""
    SEARCHING = 'SEARCHING'
    """The search is not finished."""
    FOUND = 'FOUND'
    """There is a path."""
    START_OUTSIDE_MAP = 'START_OUTSIDE_MAP'
    """The start is not on the map."""
    GOAL_OUTSIDE_MAP = 'GOAL_OUTSIDE_MAP'
    """One of the goals is not on the map."""
    START_OCCUPIED = 'START_OCCUPIED'
    """The start is blocked, and there is no escape cell within start_tolerance_m."""
    GOAL_OCCUPIED = 'GOAL_OCCUPIED'
    """One of the goals and all cells within the path's tolerance of it are blocked."""
    NO_VALID_PATH = 'NO_VALID_PATH'
    """On the present map no path leads to the goal, or within the tolerance of it."""
    UNKNOWN = 'UNKNOWN'
    """The path would have too many cells."""

    __str__ = str.__str__


@dataclass(frozen=True)
class PathResult:
    """The state of a request, and its path if there is one."""

    status: PathStatus
    message: str = ''
    path: Route | None = None
    """Another request for the same goals gets the same object as long as it is valid."""


@dataclass(frozen=True)
class PathRequest:
    """From where a path is requested, and to which goals."""

    start: Pose2D
    goals: tuple[Pose2D, ...]
    start_is_robot: bool
    """Whether the start is the robot's pose. Then a path serves as long as the robot is anywhere on it; else only if it
    begins at the start."""

    @cached_property
    def goal_poses(self) -> NDArray[np.float64]:
        """(n, 3): x and y in metres, yaw."""
        return np.array([(goal.x_m, goal.y_m, goal.yaw) for goal in self.goals])

    def goals_dropped(self, later: PathRequest) -> int | None:
        """The number of first goals that a later request no longer has; None if the others differ."""
        count = len(self.goals) - len(later.goals)
        if count < 0 or self.start_is_robot != later.start_is_robot:
            return None
        apart = self.goal_poses[count:] - later.goal_poses
        apart[:, 2] = np.remainder(apart[:, 2] + math.pi, math.tau) - math.pi
        return count if np.abs(apart).max() <= SAME_GOAL_M else None


class PathPlanner:
    """To be used by one thread, on the grids that a navigator gets, too: it has to get every update."""

    def __init__(self, settings: Settings, tolerance_m: float):
        self._settings = settings
        self._tolerance_m = tolerance_m
        self._map: MapUpdate | None = None
        self._request: PathRequest | None = None
        self._escape = EscapeFinder()
        self._segment_planner = SegmentPlanner()
        self._goal_cells: NDArray[np.int32] | None = None  # of the request, on the present map
        self._segments: list[_Segment] = []  # those found so far
        self._beside: list[_Segment] = []  # of these, those that end beside their goals
        self._cells = 0  # of these segments
        self._cost = 0  # the lowest one of these segments on the maps seen so far
        self._path: Route | None = None  # along these segments, once they reach the last goal
        self._held: Route | None = None  # an older path that a search is to replace

    # -------------------------------------------------------------------------------------------------- requests
    def use_settings(self, settings: Settings, tolerance_m: float) -> None:
        """Sets other settings. What was found by another algorithm or tolerance is searched for again."""
        old = self._settings.algorithm, self._tolerance_m
        self._settings, self._tolerance_m = settings, tolerance_m
        if old != (settings.algorithm, tolerance_m):
            self._search_afresh()

    def request(
        self, start: Pose2D, goals: Sequence[Pose2D], *, start_is_robot: bool, controller_stopped: bool = False
    ) -> bool:
        """Takes a new request. Returns whether a path that was found, or is being searched for, serves it.

        controller_stopped: nobody follows the last path, so that the result may leave out what the robot has
        passed."""
        request = PathRequest(start, tuple(goals), start_is_robot)
        if not 1 <= len(request.goals) <= MAX_GOALS:
            raise ValueError(f'the request has {len(request.goals)} goals; it must have 1 to {MAX_GOALS}')
        map_update, before = self._map, self._request
        serves, held = False, None
        if map_update is not None and before is not None:
            serves = self._serves(map_update, before, request)
            held = self._held if self._is_held_for(map_update, before, request) else None
        if not serves:
            self._request, self._goal_cells = request, None
            self._search_afresh()
        self._held = held
        if controller_stopped:
            if self._path is not None:
                self._path = _ahead_of_robot(self._path)
            if self._held is not None:
                self._held = _ahead_of_robot(self._held)
        return serves

    def step(self, search: Search, goes_on: Callable[[int], bool] = lambda _: True) -> PathResult:
        """Spends the budget of `search`, and returns the state of the request.

        goes_on: whether there is time for more after work of about n expansions; see BudgetShare."""
        map_update, request = self._map, self._request
        if request is None:
            raise ValueError('there is no request; call request() first')
        if map_update is None:
            return PathResult(PathStatus.WAITING_FOR_MAP, 'there is no map yet')
        if self._path is None:
            refused = self._refused(map_update, request) or self._search(map_update, request, search, goes_on)
            if refused is not None:
                self._search_afresh()
                return refused
        if self._path is not None:
            return PathResult(PathStatus.FOUND, '', self._path)
        found, goals = len(self._segments), len(request.goals)
        if self._segment_planner.has_no_path:
            text = (
                f'no path leads to {request.goals[found]}, or within {self._tolerance_m:g} m of it, on the present map'
            )
            return PathResult(PathStatus.NO_VALID_PATH, text)
        reached = f': it has reached {found} of {goals} goals' if goals > 1 else ''
        return PathResult(PathStatus.SEARCHING, f'the search is not finished{reached}')

    def rest(self) -> None:
        """Leaves the memory of a search that no request waits for to the grid. A further request for the same goals
        gets the same path, or a new search."""
        self._segment_planner.stop()

    @property
    def has_path(self) -> bool:
        """Whether there is a path to all goals of the last request."""
        return self._path is not None

    @property
    def held_path(self) -> Route | None:
        """An older path to the same goals: it is valid, but a better one may exist, which is being searched for."""
        return self._held if self._path is None else None

    @property
    def searches(self) -> int:
        """The number of searches for all requests: one for each segment, and the restarts."""
        return self._segment_planner.searches

    # -------------------------------------------------------------------------------------------------- the map
    def update_map(self, map_update: MapUpdate) -> None:
        """Takes in every update, also without a request: the grid of the one before is not to be read any more."""
        before, self._map = self._map, map_update.without_change()
        if before is None or map_update.change is None:
            self._move(before, map_update)
            return
        self._segment_planner.update_map(map_update)
        if self._held is not None and not self._held.is_valid(map_update.grid):
            self._held = None
        route = self._path if self._path is not None else self._route_so_far(map_update.geometry)
        if route is None or not map_update.change:
            return
        algorithm, min_improvement = self._settings.algorithm, self._settings.min_improvement
        is_valid = route.is_valid(map_update.grid)
        reason = route.replan_reason(map_update.grid, map_update.change, algorithm, min_improvement)
        if not is_valid or reason or self._could_end_nearer(map_update):
            self._search_afresh(self._path if self._path is not None and is_valid else self._held)
        elif route.expected_cost is not None:
            self._cost = route.expected_cost

    def _move(self, before: MapUpdate | None, map_update: MapUpdate) -> None:
        """Moves the path to a map of another geometry. A path that ends at its goals, and is valid as it is, stays;
        one that ends near them is held, since it might come nearer now. The search starts over."""
        stays = self._path is not None and not self._beside
        route = self._held if self._path is None else self._path
        self._goal_cells = None
        self._search_afresh()
        if before is None or route is None or len(route.points_ahead_m) < 2:
            return
        route.rasterize(map_update.geometry)
        if not route.is_valid(map_update.grid):
            return
        route.expect(map_update.grid)
        if stays:
            self._path = route
        else:
            self._held = route

    def _could_end_nearer(self, map_update: MapUpdate) -> bool:
        """Whether a segment that ends beside its goal could now end at the goal, or nearer to it."""
        tolerance = map_update.geometry.whole_cells(self._tolerance_m)
        if len(self._beside) > max(MAX_WINDOW_CELLS // (2 * tolerance + 1) ** 2, 1):
            return _frees_cells(map_update)
        return any(
            _frees_cells(map_update)
            if segment.is_cut_off
            else map_update.grid.nearest_free(segment.goal, tolerance) != segment.last_cell
            for segment in self._beside
        )

    # -------------------------------------------------------------------------------------------------- kept results
    def _serves(self, map_update: MapUpdate, before: PathRequest, request: PathRequest) -> bool:
        """Whether the path, or the search in progress, serves another request than the one it was begun for."""
        dropped = before.goals_dropped(request)
        if dropped is None:
            return False
        if not request.start_is_robot:
            return dropped == 0 and _is_same(before.start, request.start)
        position, tolerance = self._position(map_update, request.start), self._tolerance(map_update)
        if position is None:
            return False
        if self._path is not None:
            is_on_path = self._path.meet(map_update.grid, position, tolerance)
            return is_on_path and (dropped == 0 or self._drop_goals(self._path, dropped, request, map_update))
        if dropped:
            return False
        geometry = map_update.geometry
        if self._segment_planner.has_no_path:
            return geometry.cell_of(before.start) == geometry.cell_of(request.start)
        begun = geometry.to_grid(before.start.x_m, before.start.y_m)
        return math.dist(begun, position) <= tolerance and clear(map_update.grid.cost_u16, *position, *begun)

    def _is_held_for(self, map_update: MapUpdate, before: PathRequest, request: PathRequest) -> bool:
        """Whether the older path, if there is one, serves a request until there is a better one."""
        position = self._position(map_update, request.start)
        if self._held is None or position is None or before.goals_dropped(request) != 0 or not request.start_is_robot:
            return False
        return self._held.meet(map_update.grid, position, self._tolerance(map_update))

    def _position(self, map_update: MapUpdate, start: Pose2D) -> tuple[float, float] | None:
        """The start in cells; of one that is blocked, the centre of its escape cell, if there is one."""
        geometry, cell = map_update.geometry, map_update.geometry.cell_of(start)
        if not geometry.contains(cell):
            return None
        free = self._escape.find(map_update, start, self._settings.start_tolerance_m)
        if free is None:
            return None
        return geometry.to_grid(start.x_m, start.y_m) if free == cell else (free[0] + 0.5, free[1] + 0.5)

    def _tolerance(self, map_update: MapUpdate) -> float:
        """How far from a route the robot may be, in cells."""
        return max(self._settings.deviation_tolerance_m / map_update.geometry.resolution_m, _MIN_TOLERANCE)

    def _drop_goals(self, path: Route, goals: int, request: PathRequest, map_update: MapUpdate) -> bool:
        """The robot has passed this many goals: Nav2 takes a goal off the list when the robot is near it. Whether the
        rest of the path serves: not if the robot is far from the last of them, or has passed a later one, too."""
        near = map_update.geometry.whole_cells(PASSED_GOAL_M)
        if path.cell_ends[goals - 1] - path.passed > near or path.cell_ends[goals] < path.passed:
            return False
        self._path = path.remainder(path.first_point, goals)
        self._beside = self._beside[sum(not segment.reaches_goal for segment in self._segments[:goals]) :]
        self._segments, self._request, self._goal_cells = self._segments[goals:], request, None
        return True

    # -------------------------------------------------------------------------------------------------- the search
    def _search_afresh(self, held: Route | None = None) -> None:
        """Drops what was found; the next step begins a new search."""
        self._segment_planner.stop()
        self._segments, self._beside, self._cells, self._cost = [], [], 0, 0
        self._path, self._held = None, held

    def _refused(self, map_update: MapUpdate, request: PathRequest) -> PathResult | None:
        """The result of a request for which no search can begin, in Nav2's order; None if one can. Whether a goal is
        blocked is found out when its segment begins, as in Nav2."""
        geometry, start = map_update.geometry, request.start
        size = f'the map of {geometry.width} x {geometry.height} cells of {geometry.resolution_m:g} m'
        if not geometry.contains(geometry.cell_of(start)):
            return PathResult(PathStatus.START_OUTSIDE_MAP, f'start {start} is outside {size}')
        if self._goal_cells is None:
            with np.errstate(invalid='ignore', over='ignore'):
                cells = np.floor(geometry.to_grid_array(request.goal_poses[:, :2]))
                inside = ((cells >= 0) & (cells < (geometry.width, geometry.height))).all(axis=1)  # nan is not
            if not inside.all():
                goal = request.goals[int(inside.argmin())]
                return PathResult(PathStatus.GOAL_OUTSIDE_MAP, f'goal {goal} is outside {size}')
            self._goal_cells = cells.astype(np.int32)
        if self._escape.find(map_update, start, self._settings.start_tolerance_m) is None:
            text = f'start {start} is blocked, and {no_escape_text(geometry, self._settings.start_tolerance_m)}'
            return PathResult(PathStatus.START_OCCUPIED, text)
        return None

    def _search(
        self, map_update: MapUpdate, request: PathRequest, search: Search, goes_on: Callable[[int], bool]
    ) -> PathResult | None:
        """Searches for segments as long as the budget allows; the result of a request that has to be refused."""
        first, has_time = len(self._segments), True
        while has_time and len(self._segments) < len(request.goals):
            if (refused := self._goal_refused(map_update, request)) is not None:
                return refused
            if not self._search_segment(map_update, request, search):
                break
            has_time = goes_on(SEGMENT_EXPANSIONS)
        if not self._check_segments(map_update, first) or len(self._segments) < len(request.goals):
            return None
        if len(self._segments) > max(first, 1) and self._cells > JOINED_AT_ONCE:  # the next step joins them
            return None
        if (route := self._route_so_far(map_update.geometry)) is not None:
            self._path = self._unless_held_serves(route, map_update.grid)
            self._held = None
        return None

    def _goal_refused(self, map_update: MapUpdate, request: PathRequest) -> PathResult | None:
        """The result of a request to whose next goal no search can begin; None if one can."""
        found, geometry = len(self._segments), map_update.geometry
        if self._cells > MAX_PATH_CELLS:
            text = f'the path has {self._cells} cells to {found} of {len(request.goals)} goals'
            return PathResult(PathStatus.UNKNOWN, f'{text}; it must have at most {MAX_PATH_CELLS}: request fewer goals')
        if map_update.grid.nearest_free(self._goal_cell(), geometry.whole_cells(self._tolerance_m)) is None:
            text = f'goal {request.goals[found]} is blocked, and so is everything within {self._tolerance_m:g} m'
            return PathResult(PathStatus.GOAL_OCCUPIED, text)
        return None

    def _check_segments(self, map_update: MapUpdate, first: int) -> bool:
        """Takes the cost of the segments found since the first one. Whether they are valid: a rule that never restarts
        leads on through new obstacles; then the search starts over."""
        if first == len(self._segments):
            return True
        route = Route.from_cells(np.concatenate(_joined(self._segments[first:])), map_update.geometry)
        if not route.is_valid(map_update.grid):
            self._search_afresh(self._held)
            return False
        self._cost += route.cost(map_update.grid)
        return True

    def _route_so_far(self, geometry: MapGeometry) -> Route | None:
        """From the start itself, through the cells' centres, to the goals themselves, or to the cells that replace
        them; None before the first segment."""
        request, segments, goal_cells = self._request, self._segments, self._goal_cells
        if request is None or goal_cells is None or not segments:
            return None
        parts = _joined(segments)
        cells = np.concatenate(parts)
        points_m = geometry.to_world_array(cells)
        cell_ends = np.cumsum([len(part) for part in parts]) - 1
        reached = (cells[cell_ends] == goal_cells[: len(segments)]).all(axis=1)
        goals_m = request.goal_poses[: len(segments), :2]
        points_m[cell_ends] = np.where(reached[:, None], goals_m, points_m[cell_ends])
        start_m = request.start.x_m, request.start.y_m
        if cell_ends[0] > 0 and as_cell(cells[0]) == geometry.cell_of(request.start):
            points_m[0] = start_m
        elif tuple(points_m[0].tolist()) != start_m:  # an escape cell, or the goal's own: the start is a point before
            points_m = np.vstack((start_m, points_m))
        before = len(points_m) - len(cells)
        goals = request.goals[: len(segments)]
        route = Route(points_m, cells, np.arange(len(cells)) + before, (cell_ends + before).tolist(), goals)
        route.expected_cost = self._cost
        return route

    def _unless_held_serves(self, route: Route, grid: Grid) -> Route:
        """The route that was found, or the older path, so that the result stays the same: if the route is just the rest
        of it, or ends at the same cells and does not save the fraction min_improvement."""
        held = self._held
        if held is None:
            return route
        cost = held.cost(grid)
        if route.is_end_of(held):
            held.passed = len(held.cells) - len(route.cells)
        elif not route.ends_as(held) or route.cost(grid) < (1.0 - self._settings.min_improvement) * cost:
            return route
        held.expect(grid)
        return held

    def _search_segment(self, map_update: MapUpdate, request: PathRequest, search: Search) -> bool:
        """Whether the next segment has been found."""
        if self._segments:
            start: Cell | None = self._segments[-1].last_cell
        else:
            start = self._escape.find(map_update, request.start, self._settings.start_tolerance_m)
        if start is None:  # obstacles may be newer than they were a moment ago; the next step refuses the request
            return False
        ends = start, self._goal_cell()
        segment = self._segment_planner.step(map_update, ends, self._settings, self._tolerance_m, search)
        if segment is None:
            return False
        self._segments.append(segment)
        self._cells += len(segment.cells)
        if not segment.reaches_goal:
            self._beside.append(segment)
        return True

    def _goal_cell(self) -> Cell:
        """The cell of the next goal."""
        assert self._goal_cells is not None
        return as_cell(self._goal_cells[len(self._segments)])


class _Segment(NamedTuple):
    """The cells to a goal's cell, or to the one that replaces it."""

    cells: NDArray[np.int32]
    goal: Cell
    is_cut_off: bool
    """No path leads to the goal, nor to the free cell nearest to it."""

    @property
    def last_cell(self) -> Cell:
        return as_cell(self.cells[-1])

    @property
    def reaches_goal(self) -> bool:
        return not self.is_cut_off and self.last_cell == self.goal


class SegmentPlanner:
    """Searches for the segments of a path, one after the other.

    step() goes on with a segment until it is found; the next call begins a new one. stop() gives it up, and leaves the
    search's memory to the grid."""

    def __init__(self) -> None:
        self.searches = 0
        """One for each segment, and the restarts."""
        self._planner: TimeBoundedPlanner | None = None  # of the present segment
        self._is_searching = False
        self._instead: Cell | None = None  # the cell that replaces the segment's goal, which is cut off
        self._failed_search = 0  # the number of the search that found no such cell

    @property
    def has_no_path(self) -> bool:
        """No path leads to the goal of the present segment, or near it, on the present map."""
        planner = self._planner
        if planner is None or not self._is_searching or planner.status != Status.NO_PATH:
            return False
        return self._failed_search == planner.searches

    def stop(self) -> None:
        self._is_searching, self._instead, self._failed_search = False, None, 0
        if self._planner is not None:
            self._planner.release()
            self._planner = None

    def update_map(self, map_update: MapUpdate) -> None:
        """Takes in a map of the same geometry."""
        if self._planner is not None and map_update.change is not None:
            before = self._planner.searches
            self._planner.use_grid(map_update.grid, map_update.change)
            self.searches += self._is_searching * (self._planner.searches - before)
            if self._instead is not None and _frees_cells(map_update):  # the goal may be cut off no more
                self.stop()

    def step(
        self,
        map_update: MapUpdate,
        ends: tuple[Cell, Cell],
        settings: Settings,
        tolerance_m: float,
        search: Search,
    ) -> _Segment | None:
        """Spends the budget of `search`; the segment, if it is found. `ends` are its first cell and its goal's."""
        tolerance = map_update.geometry.whole_cells(tolerance_m)
        planner = self._planner
        if planner is None or not self._is_searching:
            planner = self._begin(map_update, ends, settings, tolerance)
        before = planner.searches
        if planner.current_cell != ends[0]:  # it was blocked: the planner may have gone to the other side of a wall
            planner.leave_route(ends[0])
        if planner.status != Status.NO_PATH:
            search(planner)
        self.searches += planner.searches - before
        if planner.status == Status.NO_PATH:
            self._look_near_goal(ends[1], tolerance, planner)
            return None
        if not planner.route_reaches_goal and planner.current_cell != planner.target:
            return None
        segment = _Segment(planner.route_cells(), ends[1], self._instead is not None)
        self.stop()
        return segment

    def _begin(
        self, map_update: MapUpdate, ends: tuple[Cell, Cell], settings: Settings, tolerance: int
    ) -> TimeBoundedPlanner:
        if self._planner is not None:
            self._planner.release()
        start, goal = ends
        if self._instead is not None:
            goal, tolerance = self._instead, 0
        self._planner = new_planner(map_update, start, goal, settings, tolerance)
        self._is_searching = True
        self.searches += 1
        return self._planner

    def _look_near_goal(self, goal: Cell, tolerance: int, planner: TimeBoundedPlanner) -> None:
        """The search has expanded all that can be reached. If a cell of that is within the tolerance of the goal, the
        segment may end there. Only the window around the goal is read, whatever the size of the map."""
        if self._instead is not None:  # on a map that has changed
            self.stop()
        elif self._failed_search != planner.searches:
            window = Box(*goal, goal[0] + 1, goal[1] + 1).grown(tolerance, planner.grid.box)
            self._instead = nearest_marked(planner.expanded_in(window), window, goal, tolerance)
            self._is_searching = self._instead is None
            self._failed_search = planner.searches if self._instead is None else 0


def _frees_cells(map_update: MapUpdate) -> bool:
    """Whether cells are free that were blocked. Where corners may be cut a change does not list them: then, whether any
    cost has decreased."""
    change = map_update.change
    return change is not None and len(change.decreased if map_update.grid.corner_cutting else change.unblocked) > 0


def _joined(segments: Sequence[_Segment]) -> list[NDArray[np.int32]]:
    """The cells of segments, each without the one where the segment before it ends."""
    return [segments[0].cells, *(segment.cells[1:] for segment in segments[1:])]


def _ahead_of_robot(path: Route) -> Route:
    """A path; if more than MAX_BEHIND_M of it lies behind the robot, the rest of it, at least two points. Where the
    robot has passed a goal that is still requested, it is all of the path."""
    first = min(path.first_point, len(path.points_m) - 2)
    if first <= 0 or path.cell_ends[0] < path.passed:
        return path
    return path if length_m(path.points_m[: first + 1]) <= MAX_BEHIND_M else path.remainder(first)


def _is_same(one: Pose2D, other: Pose2D) -> bool:
    turn = math.remainder(one.yaw - other.yaw, math.tau)
    return max(abs(one.x_m - other.x_m), abs(one.y_m - other.y_m), abs(turn)) <= SAME_GOAL_M
