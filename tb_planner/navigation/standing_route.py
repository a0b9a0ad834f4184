"""StandingRoute: a route that has been found, and whether it still stands; RestartSearch?() without the search.

It leads from goal to goal, in legs. What lies behind the robot counts no more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tb_planner.search.algorithms import Algorithm, RestartReason
from tb_planner.search.grid import BLOCKED, COST_STEPS, Grid, GridChange
from tb_planner.search.sight import clear

MOST_FALLEN = 2**17
"""So many cells that fell are looked at one by one, some milliseconds of work; if more fell, the map is another one."""
MOST_LOOKS = 64
"""Places of a stretch of the route that are looked at from the robot, nearest first."""

_PAST = 2 - math.sqrt(2)  # what a diagonal step past a cell may save against the way through it


class StandingRoute:
    """Cells (n, 2), each a neighbour of the one before; `ends` are the indices of the legs' last cells. point_of: if a
    path has not one point for each cell, the index of the last one before it."""

    def __init__(self, cells: NDArray[np.int32], ends: list[int], grid: Grid, point_of: NDArray[np.intp] | None = None):
        self.cells = cells
        self.ends = ends
        self.point_of = point_of
        self.passed = 0
        """How many cells lie behind the robot."""
        self._fits(grid)

    def _fits(self, grid: Grid) -> None:
        self._costs = [_cost(grid, self.cells[first : end + 1]) for first, end in self._legs()]

    def meet(self, grid: Grid, position: tuple[float, float], tolerance: float) -> bool:
        """Whether the robot is on what is left of it: within so many cells, and in clear sight. What it has passed is
        left behind. Where the route comes by twice, the robot is there for the first time: nothing is skipped."""
        ahead = self.cells[self.passed :] + 0.5
        distance = np.hypot(ahead[:, 0] - position[0], ahead[:, 1] - position[1])
        near = np.flatnonzero(distance <= tolerance)
        for stretch in np.split(near, np.flatnonzero(np.diff(near) > 1) + 1):
            for i in stretch[np.argsort(distance[stretch], kind='stable')][:MOST_LOOKS].tolist():
                if clear(grid.cost_u16, *position, *ahead[i].tolist()):
                    if i:
                        self.passed += i
                        self._fits(grid)
                    return True
        return False

    def stands(self, grid: Grid) -> bool:
        """Whether the grid allows every step that is left of it."""
        return _is_legal(grid, self.cells[self.passed :])

    def fault(
        self, grid: Grid, change: GridChange, algorithm: Algorithm, min_improvement: float
    ) -> RestartReason | None:
        """Why the present map asks for another one, by the algorithm's rule; None if this one stands. One that is
        blocked never does."""
        if not self.stands(grid):
            return RestartReason.BLOCKED
        rule = algorithm.restart
        if rule == 'never' or not change:
            return None
        if rule == 'eager':
            return RestartReason.EAGER
        if self._is_dearer(grid, min_improvement):
            return RestartReason.COST_INCREASED
        if rule == 'lazy' and self._could_be_shorter(grid, change, algorithm, min_improvement):
            return RestartReason.SHORTCUT_OPENED
        return None

    def _legs(self) -> Iterator[tuple[int, int]]:
        """First and last index of what is left of each leg."""
        first = self.passed
        for end in self.ends:
            if end >= first:
                yield first, end
                first = end

    def _is_dearer(self, grid: Grid, min_improvement: float) -> bool:
        """Than it was when it was found, or has become since."""
        before = self._costs
        self._fits(grid)
        now, self._costs = self._costs, [min(pair) for pair in zip(before, self._costs, strict=True)]
        return sum(now) > sum(self._costs) * (1 + min_improvement) + 1e-9

    def _could_be_shorter(self, grid: Grid, change: GridChange, algorithm: Algorithm, min_improvement: float) -> bool:
        """w c' < what remains, for a cell whose cost fell, on the way from a leg's first cell to its last."""
        if len(change.decreased) == 0 or algorithm.w_g == 0:  # greedy search promises nothing about costs
            return False
        if len(change.decreased) > MOST_FALLEN:
            return True
        w = algorithm.w_h / algorithm.w_g
        limits = [cost * (1 - min_improvement) / w for cost in self._costs]
        return any(
            self._least_way_past(grid, states, limits) < saved
            for states, saved in ((change.decreased, 0.0), (change.unblocked, _PAST))
            if len(states)
        )

    def _least_way_past(self, grid: Grid, states: NDArray[np.int32], limits: list[float]) -> float:
        """By how much ways past these states are at least longer than the limit of their leg, the least of all legs."""
        y, x = np.divmod(states, np.int32(grid.width))
        before, least = _h(grid, x, y, self.cells[self.passed]), math.inf
        for (_, end), limit in zip(self._legs(), limits, strict=True):
            after = _h(grid, x, y, self.cells[end])
            least = min(least, float((before + after).min()) - limit + 1e-9)
            before = after
        return least


def _is_legal(grid: Grid, cells: NDArray[np.int32]) -> bool:
    x, y = cells.T
    free = bool((grid.cost_u16[y, x] != BLOCKED).all())
    return free and grid.first_illegal_step(y * np.int32(grid.width) + x) is None


def _cost(grid: Grid, cells: NDArray[np.int32]) -> float:
    x, y = cells.T
    t = grid.cost_u16[y, x] / COST_STEPS
    return float((np.hypot(np.diff(x), np.diff(y)) * (t[:-1] + t[1:]) / 2).sum())


def _h(grid: Grid, x: NDArray[np.int32], y: NDArray[np.int32], cell: NDArray[np.int32]) -> NDArray[np.float64]:
    """The least that ways between these places and a cell can cost."""
    dx, dy = np.abs(x - cell[0]), np.abs(y - cell[1])
    if grid.neighbours == 4:
        return (dx + dy).astype(np.float64)
    return np.maximum(dx, dy) + (math.sqrt(2) - 1) * np.minimum(dx, dy)
