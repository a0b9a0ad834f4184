"""Route: the cells and points ahead of a robot, whether a map allows them, and whether it asks for another route.

This is the one place that judges routes. The route that a robot holds while a search catches up, a path that was
requested, a path that a controller follows and the service is_path_valid all ask here, so that they cannot disagree
about the same map. Costs are the kernel's integers, and the rule to replan is the kernel's (search/algorithms.py).

    route = Route.from_points(points_m, geometry)
    route.is_valid(grid)                                             # every cell is free, every step is legal
    route.meet(grid, position, tolerance)                            # the robot is on it; what it has passed is behind
    route.replan_reason(grid, change, algorithm, min_improvement)    # as RestartSearch?(), without a search
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import TbPlannerError
from tb_planner.geometry import Cell, MapGeometry, Pose2D
from tb_planner.search.algorithms import Algorithm, RestartReason, shortcut_limit
from tb_planner.search.grid import (
    BLOCKED,
    EAST,
    NORTH,
    NORTH_EAST,
    NORTH_WEST,
    SOUTH,
    SOUTH_EAST,
    SOUTH_WEST,
    WEST,
    Grid,
    GridChange,
)
from tb_planner.search.grid_math import DIAGONAL, STRAIGHT
from tb_planner.search.planner import find_path
from tb_planner.search.sight import clear

MAX_REPAIRS = 16
MAX_REPAIR_CELLS = 2**16
"""The largest window in which a gap is repaired, some milliseconds of work."""
REPAIR_MARGIN = 2
"""Cells around a gap in which a repair may lead."""
MAX_DECREASED = 2**17
"""If the costs of more cells decreased at once, they are not looked at: the map counts as another one."""
MAX_SHORTCUT_SEGMENTS = 32
"""Segments ahead of the robot, at most, that a change of the map looks at for a shortcut, some milliseconds of work;
fewer if the costs of many cells decreased. Whether a segment is valid, and what it costs, is checked for all."""
MAX_CHECKED_CELLS = 2**17
"""Cells under the points of a path that invalid_points() looks at, some 10 ms of work; what lies beyond counts as
invalid."""
MAX_OUTLINE_POINTS = 2**18
"""Points of a robot's outline times its places along a path that collisions() looks at, some 10 ms of work."""
MAX_LOOKS = 64
"""Places of one stretch of the route that meet() looks at from the robot, nearest first."""

_CHUNK = 4096  # cells whose arcs are looked at together
_OUTLINE_STEP = 0.5  # cells from point to point of an outline
_OUTLINE_POINTS = 2**16  # that are looked at together
_NUDGE = 1e-6  # points that a shift of half a cell has put on the lines of the grid all fall to the same side
_ROUNDING = 1e-9

_ARCS = (  # of a cell: direction, dx, dy
    (NORTH, 0, -1),
    (EAST, 1, 0),
    (SOUTH, 0, 1),
    (WEST, -1, 0),
    (NORTH_EAST, 1, -1),
    (SOUTH_EAST, 1, 1),
    (SOUTH_WEST, -1, 1),
    (NORTH_WEST, -1, -1),
)
_ARCS_PAST = (  # diagonal steps past a cell: the moves of the cell to both ends, the first end, the step from there
    (NORTH | EAST, (0, -1), (SOUTH_EAST, 1, 1)),
    (EAST | SOUTH, (1, 0), (SOUTH_WEST, -1, 1)),
    (SOUTH | WEST, (0, 1), (NORTH_WEST, -1, -1)),
    (WEST | NORTH, (-1, 0), (NORTH_EAST, 1, -1)),
)


class PathNotChecked(TbPlannerError):
    """Whether a path is valid cannot be found out."""


class Route:
    """Points of the world and the cells of the present map under them, in segments that each end at a goal.

    points_m: (n, 2), in metres. cells: (m, 2), each a neighbour of the one before. point_of: for each cell the index of
    the last point at or before it. ends: the indices of the points at the segments' ends; by default the last point.
    goals: the poses that the segments lead to, if they are known. Points and ends never change; the cells do when the
    map gets another geometry, and `passed` grows as the robot goes along. A route is known by its identity.
    """

    def __init__(
        self,
        points_m: NDArray[np.float64],
        cells: NDArray[np.int32],
        point_of: NDArray[np.intp],
        ends: Sequence[int] | None = None,
        goals: Sequence[Pose2D] = (),
    ):
        self.points_m = points_m
        self.ends = (len(points_m) - 1,) if ends is None else tuple(ends)
        self.goals = tuple(goals)
        self.expected_cost: int | None = None
        """The lowest cost of the rest of the route on the maps seen so far, in the kernel's unit."""
        self._lowest_cell: int | None = None
        """The cost of the cheapest cell of those maps, in sixteenths."""
        self._use_cells(cells, point_of)

    def _use_cells(self, cells: NDArray[np.int32], point_of: NDArray[np.intp]) -> None:
        self.cells = cells
        self.point_of = point_of
        self.passed = 0
        """How many cells lie behind the robot."""
        ends = np.array(self.ends, np.intp)
        cell_ends = np.minimum(np.searchsorted(point_of, ends), len(cells) - 1)
        self.cell_ends: list[int] = np.where(ends >= point_of[0], cell_ends, -1).tolist()
        """Of each segment, the index of its last cell; -1 is a segment before the first cell."""

    @classmethod
    def from_cells(cls, cells: NDArray[np.int32], geometry: MapGeometry) -> Route:
        """A route through the centres of these cells."""
        return cls(geometry.to_world_array(cells), cells, np.arange(len(cells)))

    @classmethod
    def from_points(
        cls,
        points_m: NDArray[np.float64],
        geometry: MapGeometry,
        ends: Sequence[int] | None = None,
        goals: Sequence[Pose2D] = (),
    ) -> Route:
        """A route along these points, whatever the map has there; its cells may be outside the map."""
        return cls(points_m, *_cells_under(points_m, geometry), ends, goals)

    # -------------------------------------------------------------------------------------------------- what is left
    @property
    def ahead(self) -> NDArray[np.int32]:
        """The cells from where the robot is to the end."""
        return self.cells[self.passed :]

    @property
    def first_point(self) -> int:
        """The index of the point where the robot is."""
        return int(self.point_of[self.passed])

    @property
    def points_ahead_m(self) -> NDArray[np.float64]:
        """The points from where the robot is to the end."""
        return self.points_m[self.first_point :]

    @property
    def last_cell(self) -> Cell:
        return as_cell(self.cells[-1])

    @property
    def goal(self) -> Pose2D:
        """The pose where the route ends."""
        return self.goals[-1]

    def remainder(self, first_point: int, segments_done: int = 0) -> Route:
        """What lies ahead of the robot, as a route of its own from a point on, without the first segments."""
        rest = Route(
            self.points_m[first_point:],
            self.ahead,
            self.point_of[self.passed :] - first_point,
            [end - first_point for end in self.ends[segments_done:]],
            self.goals[segments_done:],
        )
        rest.expected_cost, rest._lowest_cell = self.expected_cost, self._lowest_cell
        return rest

    def is_end_of(self, older: Route) -> bool:
        """Whether an older route ends with the cells of this one, and with its segments."""
        before = len(older.cells) - len(self.cells)
        if before < 0 or older.cell_ends != [end + before for end in self.cell_ends]:
            return False
        return np.array_equal(older.cells[before:], self.cells)

    def ends_as(self, other: Route) -> bool:
        """Whether its segments end at the same cells as those of another route."""
        return np.array_equal(self.cells[self.cell_ends], other.cells[other.cell_ends])

    # -------------------------------------------------------------------------------------------------- the robot
    def meet(self, grid: Grid, position: tuple[float, float], tolerance: float) -> bool:
        """Whether the robot is on the rest of the route: within the tolerance, in cells, and in clear sight of it.

        Cells behind the robot are passed. At a place that the route visits twice, this is the first visit: nothing is
        skipped."""
        ahead = self.ahead + 0.5
        distance = np.hypot(ahead[:, 0] - position[0], ahead[:, 1] - position[1])
        near = np.flatnonzero(distance <= tolerance)
        for stretch in np.split(near, np.flatnonzero(np.diff(near) > 1) + 1):
            for i in stretch[np.argsort(distance[stretch], kind='stable')][:MAX_LOOKS].tolist():
                if clear(grid.cost_u16, *position, *ahead[i].tolist()):
                    if i > 0 and self.expected_cost is not None:
                        self.expected_cost -= _cost(grid, self.cells[self.passed : self.passed + i + 1])
                    self.passed += i
                    return True
        return False

    # -------------------------------------------------------------------------------------------------- the map
    def is_valid(self, grid: Grid) -> bool:
        """Whether every cell ahead is free and every step from cell to cell legal."""
        free, legal = _check(grid, self.ahead)
        return bool(free.all()) and bool(legal.all())

    def cost(self, grid: Grid) -> int:
        """What the rest of the route costs on a map that allows it, in the kernel's unit."""
        return _cost(grid, self.ahead)

    def expect(self, grid: Grid) -> None:
        """Notes what the route costs on the map that it was found on, and the cost of that map's cheapest cell."""
        self.expected_cost, self._lowest_cell = self.cost(grid), grid.lowest_cost

    def replan_reason(
        self, grid: Grid, change: GridChange, algorithm: Algorithm, min_improvement: float
    ) -> RestartReason | None:
        """Why a changed map asks for another route, by the algorithm's rule: the verdict of a planner that
        has found this route. None keeps the route; the rule 'never' keeps even a blocked one, see is_valid().

        A cost is compared with the lowest one since expect(), and h goes through cells as cheap as the cheapest one
        since then: so does the planner's."""
        rule = algorithm.restart_rule
        if not rule.restarts or not change:
            return None
        if rule.any_change:
            return RestartReason.EAGER
        if rule.invalid_route and not self.is_valid(grid):
            return RestartReason.BLOCKED
        cost = self.cost(grid)
        expected = cost if self.expected_cost is None else self.expected_cost
        if rule.invalid_route and cost > expected * (1.0 + min_improvement):
            return RestartReason.COST_INCREASED
        self.expected_cost = min(expected, cost)
        lowest_cell = grid.lowest_cost if self._lowest_cell is None else min(self._lowest_cell, grid.lowest_cost)
        self._lowest_cell = lowest_cell
        if rule.shortcut and self._shortcut_opened(grid, change, algorithm, min_improvement, lowest_cell):
            return RestartReason.SHORTCUT_OPENED
        return None

    def rasterize(self, geometry: MapGeometry) -> None:
        """Lays what is left of the route on the cells of another geometry, whatever the map has there."""
        first = self.first_point
        cells, point_of = _cells_under(self.points_m[first:], geometry)
        self._use_cells(cells, point_of + first)

    def repaired(self, grid: Grid) -> Route | None:
        """The route with small gaps closed, itself if there are none; None if that is not possible.

        On a map that has moved, walls are drawn on other cells than before. Where that has put one on the route, the
        route is led around it within a window of a few cells."""
        route: Route | None = self
        for _ in range(MAX_REPAIRS):
            if route is None or route.is_valid(grid):
                return route
            route = route._with_first_gap_closed(grid)
        return None

    def _segments(self) -> Iterator[tuple[int, int]]:
        """The first and the last cell's index of what is left of each segment."""
        first = self.passed
        for end in self.cell_ends:
            if end >= first:
                yield first, end
                first = end

    def _shortcut_opened(
        self, grid: Grid, change: GridChange, algorithm: Algorithm, min_improvement: float, lowest_cell: int
    ) -> bool:
        """RestartSearch?(), the part about costs that decreased: w c' < what remains, for each segment by itself, as
        far as the work for one change is bounded."""
        if len(change.decreased) == 0 or algorithm.w_g == 0:  # greedy search promises nothing about costs
            return False
        if len(change.decreased) > MAX_DECREASED:
            return True
        segments = min(2 * MAX_DECREASED // len(change.decreased), MAX_SHORTCUT_SEGMENTS)
        for first, end in islice(self._segments(), segments):
            limit = shortcut_limit(_cost(grid, self.cells[first : end + 1]), algorithm, min_improvement)
            if _could_shorten(grid, change, self.cells[first], self.cells[end], limit, lowest_cell):
                return True
        return False

    def _with_first_gap_closed(self, grid: Grid) -> Route | None:
        """The route with its first gap closed, or without its first cells if these are blocked; None if that is not
        possible."""
        cells, point_of = self.ahead, self.point_of[self.passed :]
        is_free, is_legal = _check(grid, cells)
        free = np.flatnonzero(is_free)
        if len(free) < 2 or free[0] > REPAIR_MARGIN:
            return None
        if free[0] > 0:
            return Route(self.points_m, cells[free[0] :], point_of[free[0] :], self.ends, self.goals)
        before = int(is_legal.argmin())  # the first step that is not legal leads from there
        after = free[free > before]
        between = _path_between(grid, cells[before : after[0] + 1]) if len(after) else None
        if between is None:
            return None
        return Route(
            self.points_m,
            np.concatenate((cells[:before], between, cells[after[0] + 1 :])),
            np.concatenate((point_of[:before], np.full(len(between), point_of[before]), point_of[after[0] + 1 :])),
            self.ends,
            self.goals,
        )


def nearest_point(points_m: NDArray[np.float64], pose: Pose2D) -> int:
    """The index of the point nearest to a pose; points that are not finite are far away."""
    distance = np.hypot(points_m[:, 0] - pose.x_m, points_m[:, 1] - pose.y_m)
    return int(np.nan_to_num(distance, nan=np.inf).argmin())


def invalid_points(points_m: NDArray[np.float64], geometry: MapGeometry, grid: Grid) -> NDArray[np.intp]:
    """Indices of the points that lie outside the map or in a blocked cell, or to which no legal steps lead from the
    point before. None of them: a Route along these points is valid."""
    with np.errstate(invalid='ignore', over='ignore'):
        places = geometry.to_grid_array(points_m)
        x, y = places.T
        inside = (x >= 0) & (y >= 0) & (x < geometry.width) & (y < geometry.height)  # nan is not
    under = np.floor(np.where(inside[:, None], places, 0)).astype(np.int32)
    invalid: NDArray[np.bool_] = ~inside | (grid.cost_u16[under[:, 1], under[:, 0]] == BLOCKED)
    ends = np.flatnonzero(~invalid[:-1] & ~invalid[1:])  # steps from a valid point to a valid one
    parts = _parts(places[ends], places[ends + 1])
    checked = np.cumsum(parts) <= MAX_CHECKED_CELLS
    invalid[ends[~checked] + 1] = True
    ends, parts = ends[checked], parts[checked]
    step_of = np.repeat(np.arange(len(ends)), parts + 1)
    share = (np.arange(len(step_of)) - np.repeat(np.cumsum(parts + 1) - parts - 1, parts + 1)) / parts[step_of]
    from_m, to_m = places[ends][step_of], places[ends + 1][step_of]
    cells = np.floor(from_m + share[:, None] * (to_m - from_m)).astype(np.int32)
    cells[share == 1] = under[ends + 1]
    free, legal = _check(grid, cells)
    bad = ~free
    bad[1:] |= ~legal & (step_of[1:] == step_of[:-1])
    invalid[ends[step_of[bad]] + 1] = True
    return np.flatnonzero(invalid)


def collisions(
    points_m: NDArray[np.float64],
    yaws: NDArray[np.float64],
    corners_m: NDArray[np.float64],
    geometry: MapGeometry,
    occupancy: NDArray[np.integer],
    limit: int,
) -> NDArray[np.intp]:
    """Indices of the poses at which the robot's outline leaves the map or meets a cell whose occupancy is at least the
    limit. What it meets from the pose before to this one counts, too. Raises PathNotChecked if that takes too long.

    corners_m: (n, 2), in the robot's frame; a single corner is a robot without a size.
    """
    outline = _outline(corners_m / geometry.resolution_m)
    with np.errstate(invalid='ignore', over='ignore'):
        places = geometry.to_grid_array(points_m)
        x, y = places.T
        inside = (x >= 0) & (y >= 0) & (x < geometry.width) & (y < geometry.height) & np.isfinite(yaws)  # nan is not
    hit: NDArray[np.bool_] = ~inside
    checked = np.flatnonzero(inside)
    before = np.where(inside[checked - 1] & (checked > 0), checked - 1, checked)
    places = np.where(inside[:, None], places, 0.0)
    turns = np.remainder(yaws[checked] - yaws[before] + np.pi, 2 * np.pi) - np.pi
    moves = places[checked] - places[before]
    reach = np.hypot(*outline.T).max()
    parts = np.maximum(np.ceil(np.hypot(*moves.T) + reach * np.abs(turns) - _ROUNDING), 1).astype(np.intp)
    if len(outline) * parts.sum() > MAX_OUTLINE_POINTS:
        raise PathNotChecked(
            f'the outline has {len(outline)} points at {parts.sum()} places; the product must be at most '
            f'{MAX_OUTLINE_POINTS}'
        )
    step_of = np.repeat(np.arange(len(checked)), parts)
    share = (np.arange(len(step_of)) - np.repeat(np.cumsum(parts) - parts, parts) + 1) / parts[step_of]
    at = places[before][step_of] + share[:, None] * moves[step_of]
    heading = (yaws[before] - geometry.yaw)[step_of] + share * turns[step_of]
    for first in range(0, len(at), max(_OUTLINE_POINTS // len(outline), 1)):
        some = slice(first, first + max(_OUTLINE_POINTS // len(outline), 1))
        cos, sin = np.cos(heading[some])[:, None], np.sin(heading[some])[:, None]
        x = np.floor(at[some, :1] + cos * outline[:, 0] - sin * outline[:, 1]).astype(np.intp)
        y = np.floor(at[some, 1:] + sin * outline[:, 0] + cos * outline[:, 1]).astype(np.intp)
        outside = (x < 0) | (y < 0) | (x >= geometry.width) | (y >= geometry.height)
        met = outside | (occupancy[np.where(outside, 0, y), np.where(outside, 0, x)] >= limit)
        hit[checked[step_of[some][met.any(axis=1)]]] = True
    return np.flatnonzero(hit)


def _outline(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points along the sides of a polygon, so close together that no cell is skipped."""
    sides = np.roll(corners, -1, axis=0) - corners
    parts = np.maximum(np.ceil(np.hypot(*sides.T) / _OUTLINE_STEP - _ROUNDING), 1)
    if not parts.sum() <= MAX_OUTLINE_POINTS:
        raise PathNotChecked(f'the footprint has {parts.sum():g} points; it must have at most {MAX_OUTLINE_POINTS}')
    return np.concatenate(
        [corner + np.arange(n)[:, None] / n * side for corner, side, n in zip(corners, sides, parts.astype(int))]
    )


def as_cell(row: NDArray[np.int32]) -> Cell:
    x, y = row.tolist()
    return x, y


# ------------------------------------------------------------------------------------------------------ cells
def _parts(places: NDArray[np.float64], later: NDArray[np.float64]) -> NDArray[np.intp]:
    """Into how many steps the straight lines from place to place are cut: at most a cell each, and one from a cell to
    its neighbour."""
    length = np.ceil(np.abs(later - places).max(axis=1, initial=0.0) - _ROUNDING)
    apart = np.abs(np.floor(later) - np.floor(places)).max(axis=1, initial=0.0)
    return np.where(apart <= 1, 1, np.maximum(length, 1)).astype(np.intp)


def _cells_under(points_m: NDArray[np.float64], geometry: MapGeometry) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The cells under the straight lines between points, and for each the index of the last point at or before it."""
    places = geometry.to_grid_array(points_m)
    places[:-1] += _NUDGE  # but not the goal
    parts = _parts(places[:-1], places[1:])
    before = np.append(np.repeat(np.arange(len(parts)), parts), len(parts))
    first = np.cumsum(parts) - parts
    share = (np.arange(len(before) - 1) - np.repeat(first, parts)) / np.repeat(parts, parts)
    filled = places[before]
    filled[:-1] += share[:, None] * np.diff(places, axis=0)[before[:-1]]
    cells = np.floor(filled).astype(np.int32)
    is_new = np.ones(len(cells), np.bool_)
    is_new[1:] = (cells[1:] != cells[:-1]).any(axis=1)
    return cells[is_new], before[is_new]


def _check(grid: Grid, cells: NDArray[np.int32]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which cells are free, and which steps from one to the next are legal."""
    x, y = cells[:, 0], cells[:, 1]
    inside = (x >= 0) & (y >= 0) & (x < grid.width) & (y < grid.height)
    x, y = np.where(inside, x, 0), np.where(inside, y, 0)
    free: NDArray[np.bool_] = inside & (grid.cost_u16[y, x] != BLOCKED)
    legal: NDArray[np.bool_] = grid.legal_steps(y * np.int32(grid.width) + x) | (cells[1:] == cells[:-1]).all(axis=1)
    return free, legal & free[:-1] & free[1:]


def _path_between(grid: Grid, gap: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """A path from the first of these cells to the last, near them."""
    (left, top), (right, bottom) = np.maximum(gap.min(axis=0) - REPAIR_MARGIN, 0), gap.max(axis=0) + REPAIR_MARGIN + 1
    window = grid.cost_u16[top:bottom, left:right] == BLOCKED
    if window.size > MAX_REPAIR_CELLS:
        return None
    near = Grid(window, neighbours=grid.neighbours, corner_cutting=grid.corner_cutting)
    plan = find_path(near, as_cell(gap[0] - (left, top)), as_cell(gap[-1] - (left, top)))
    return np.array(plan.cells, np.int32) + np.array((left, top), np.int32) if plan.cells else None


# ------------------------------------------------------------------------------------------------------ costs
def _cost(grid: Grid, cells: NDArray[np.int32]) -> int:
    """The cost of a walk from cell to cell, in the kernel's unit."""
    straight, diagonal = grid.step_sums(cells[:, 1] * np.int32(grid.width) + cells[:, 0])
    return STRAIGHT * straight + DIAGONAL * diagonal


class _Heuristic:
    """The kernel's h through cells of the lowest cost, in sixteenths."""

    def __init__(self, grid: Grid, lowest_cell: int) -> None:
        unit = 2 * lowest_cell if grid.weighted else 1
        self.straight = STRAIGHT * unit
        self.diagonal = DIAGONAL * unit
        self._aslant = 2 * self.straight if grid.neighbours == 4 else self.diagonal

    def __call__(self, x: NDArray[np.int64], y: NDArray[np.int64], cell: NDArray[np.int32]) -> NDArray[np.int64]:
        """Between these cells and another one."""
        dx, dy = np.abs(x - int(cell[0])), np.abs(y - int(cell[1]))
        least = np.minimum(dx, dy)
        h: NDArray[np.int64] = self.straight * (np.maximum(dx, dy) - least) + self._aslant * least
        return h


def _could_shorten(
    grid: Grid, change: GridChange, start: NDArray[np.int32], goal: NDArray[np.int32], limit: int, lowest_cell: int
) -> bool:
    """Whether h(start, u) + c(u, v) + h(v, goal), Algorithm 3's c', is below the limit for an arc whose cost decreased.

    These are the arcs at the decreased cells and the diagonal steps past those that were blocked. The work grows
    with the number of cells that a path of this cost could touch."""
    h = _Heuristic(grid, lowest_cell)
    for states, past in ((change.decreased, False), (change.unblocked, True)):
        y, x = np.divmod(states.astype(np.int64), grid.width)
        least = h(x, y, start) + h(x, y, goal)  # less than any c' at a cell
        if past:
            least += h.diagonal - 2 * h.straight  # an arc past it saves two straight steps at most
        elif grid.weighted:
            least += STRAIGHT * (grid.cost_u16[y, x].astype(np.int64) - lowest_cell)
        near = np.flatnonzero(least < limit)
        for i in range(0, len(near), _CHUNK):
            part = near[i : i + _CHUNK]
            if _has_arc_below(grid, x[part], y[part], past, start, goal, limit, h):
                return True
    return False


def _has_arc_below(
    grid: Grid,
    x: NDArray[np.int64],
    y: NDArray[np.int64],
    past: bool,
    start: NDArray[np.int32],
    goal: NDArray[np.int32],
    limit: int,
    h: _Heuristic,
) -> bool:
    """Whether an arc at one of these cells, or a diagonal step past it, has a c' below the limit."""
    moves = grid.legal_moves[y, x]
    arcs = _ARCS_PAST if past else ((direction, (0, 0), (direction, dx, dy)) for direction, dx, dy in _ARCS)
    for needed, (dx, dy), (direction, to_x, to_y) in arcs:
        has_both = (moves & needed) == needed
        u_x, u_y = x[has_both] + dx, y[has_both] + dy
        is_legal = (grid.legal_moves[u_y, u_x] & direction) != 0
        u_x, u_y = u_x[is_legal], u_y[is_legal]
        v_x, v_y = u_x + to_x, u_y + to_y
        cost: NDArray[np.int64] | int = DIAGONAL if to_x and to_y else STRAIGHT
        if grid.weighted:
            cost = cost * (grid.cost_u16[u_y, u_x].astype(np.int64) + grid.cost_u16[v_y, v_x])
        there = h(u_x, u_y, start) + cost + h(v_x, v_y, goal)
        back = h(v_x, v_y, start) + cost + h(u_x, u_y, goal)
        if (there < limit).any() or (back < limit).any():
            return True
    return False
