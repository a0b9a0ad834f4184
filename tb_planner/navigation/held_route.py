"""HeldRoute: a route in world coordinates, to be followed while a new search catches up, whatever the map does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell, MapGeometry
from tb_planner.search.grid import BLOCKED, Grid
from tb_planner.search.planner import find_path

MOST_MENDS = 16
MOST_MENDED_CELLS = 2**16
"""What mending may look at: some milliseconds of work."""

_MARGIN = 2  # cells around a gap in which a way to close it is looked for
_NUDGE = 1e-6  # places that a shift of half a cell has put on the lines of the grid all fall to the same side
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class HeldRoute:
    """Points of the world, and the cells of the present map that lie under the straight ways between them."""

    points_m: NDArray[np.float64]
    cells: NDArray[np.int32]
    """Each a neighbour of the one before."""
    point_of: NDArray[np.intp]
    """For each cell the last point before it."""

    @classmethod
    def under(cls, points_m: NDArray[np.float64], geometry: MapGeometry) -> HeldRoute:
        """These points as they are, whatever the map has there."""
        places = geometry.to_grid_array(points_m)
        places[:-1] += _NUDGE  # but not the goal
        return cls(points_m, *_cells_under(places))

    @classmethod
    def lay(cls, points_m: NDArray[np.float64], geometry: MapGeometry, grid: Grid) -> HeldRoute | None:
        """On this map, if it allows that. On a map that has moved, walls are drawn on other cells than before: where
        that has put one into the way, the route gives way a little."""
        held: HeldRoute | None = cls.under(points_m, geometry)
        for _ in range(MOST_MENDS):
            if held is None or held.stands(grid):
                return held
            held = held._mended(grid)
        return None

    def walked(self, cells: int) -> HeldRoute:
        """What is left of it after so many cells."""
        first = int(self.point_of[cells])
        return HeldRoute(self.points_m[first:], self.cells[cells:], self.point_of[cells:] - first)

    def stands(self, grid: Grid) -> bool:
        """Whether the grid allows every step of it."""
        return bool(_is_free(grid, self.cells).all()) and grid.first_illegal_step(self._states(grid)) is None

    @property
    def last_cell(self) -> Cell:
        return _as_cell(self.cells[-1])

    def _states(self, grid: Grid) -> NDArray[np.int32]:
        x, y = self.cells.T
        return y * np.int32(grid.width) + x

    def _mended(self, grid: Grid) -> HeldRoute | None:
        """With its first gap closed, or what is left of it after a beginning that is blocked."""
        free = np.flatnonzero(_is_free(grid, self.cells))
        if len(free) < 2:
            return None
        if free[0] > 0:
            return self.walked(int(free[0])) if free[0] <= _MARGIN else None
        gaps = np.flatnonzero(np.diff(free) > 1)
        before = free[gaps[0]] if len(gaps) else free[-1]
        sound = HeldRoute(self.points_m, self.cells[: before + 1], self.point_of[: before + 1])
        cut = grid.first_illegal_step(sound._states(grid))
        before = before if cut is None else cut
        after = free[free > before]
        if len(after) == 0:
            return None
        between = _way_between(grid, self.cells[before : after[0] + 1])
        if between is None:
            return None
        cells = np.concatenate((self.cells[:before], between, self.cells[after[0] + 1 :]))
        point_of = np.concatenate(
            (self.point_of[:before], np.full(len(between), self.point_of[before]), self.point_of[after[0] + 1 :])
        )
        return HeldRoute(self.points_m, cells, point_of)


def _cells_under(places: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """The cells under the straight ways between places, and for each the index of the last place before it."""
    ways = np.diff(places, axis=0)
    parts = np.maximum(np.ceil(np.abs(ways).max(axis=1, initial=0.0) - _ROUNDING), 1).astype(np.intp)
    before = np.append(np.repeat(np.arange(len(ways)), parts), len(ways))
    first = np.cumsum(parts) - parts
    share = (np.arange(len(before) - 1) - np.repeat(first, parts)) / np.repeat(parts, parts)
    filled = places[before]
    filled[:-1] += share[:, None] * ways[before[:-1]]
    cells = np.floor(filled).astype(np.int32)
    is_new = np.ones(len(cells), np.bool_)
    is_new[1:] = (cells[1:] != cells[:-1]).any(axis=1)
    return cells[is_new], before[is_new]


def _way_between(grid: Grid, gap: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """From the first of these cells to the last, near them."""
    (left, top), (right, bottom) = (np.maximum(gap.min(axis=0) - _MARGIN, 0), gap.max(axis=0) + _MARGIN + 1)
    window = grid.cost_u16[top:bottom, left:right] == BLOCKED
    if window.size > MOST_MENDED_CELLS:
        return None
    near = Grid(window, neighbours=grid.neighbours, corner_cutting=grid.corner_cutting)
    plan = find_path(near, _as_cell(gap[0] - (left, top)), _as_cell(gap[-1] - (left, top)))
    return np.array(plan.cells, np.int32) + np.array((left, top), np.int32) if plan.cells else None


def _as_cell(row: NDArray[np.int32]) -> Cell:
    x, y = row.tolist()
    return x, y


def _is_free(grid: Grid, cells: NDArray[np.int32]) -> NDArray[np.bool_]:
    x, y = cells[:, 0], cells[:, 1]
    inside = (x >= 0) & (y >= 0) & (x < grid.width) & (y < grid.height)
    free: NDArray[np.bool_] = inside & (grid.cost_u16[np.where(inside, y, 0), np.where(inside, x, 0)] != BLOCKED)
    return free
