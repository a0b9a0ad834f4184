"""HeldRoute: a route in world coordinates, to be followed while a new search catches up, whatever the map does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Geometry
from tb_planner.grid import BLOCKED, Cell, Grid

_NUDGE = 1e-6
"""In cells. Points that a shift of half a cell has put on the lines of the grid all fall to the same side of them."""


@dataclass(frozen=True, eq=False)
class HeldRoute:
    """Points of the world, and the cells of the present map that lie under the straight ways between them."""

    points_m: NDArray[np.float64]
    cells: NDArray[np.int32]
    point_of: NDArray[np.intp]
    """For each cell the last point before it."""

    @classmethod
    def lay(cls, points_m: NDArray[np.float64], geometry: Geometry) -> HeldRoute:
        """On this map; its cells may be outside."""
        points = geometry.to_grid_array(points_m) + _NUDGE
        ways = np.diff(points, axis=0)
        parts = np.maximum(np.ceil(np.abs(ways).max(axis=1, initial=0.0) - _NUDGE), 1).astype(np.intp)
        point_of = np.append(np.repeat(np.arange(len(ways)), parts), len(ways))
        first = np.cumsum(parts) - parts
        share = (np.arange(len(point_of) - 1) - np.repeat(first, parts)) / np.repeat(parts, parts)
        samples = points[point_of]
        samples[:-1] += share[:, None] * ways[point_of[:-1]]
        cells = np.floor(samples).astype(np.int32)
        is_new = np.ones(len(cells), np.bool_)
        is_new[1:] = (cells[1:] != cells[:-1]).any(axis=1)
        return cls(points_m, cells[is_new], point_of[is_new])

    def walked(self, cells: int) -> HeldRoute:
        """What is left of it after so many cells."""
        first = int(self.point_of[cells])
        return HeldRoute(self.points_m[first:], self.cells[cells:], self.point_of[cells:] - first)

    def stands(self, grid: Grid) -> bool:
        """Whether the grid allows every step of it."""
        x, y = self.cells.T
        if x.min() < 0 or y.min() < 0 or x.max() >= grid.width or y.max() >= grid.height:
            return False
        if grid.terrain[y[0], x[0]] == BLOCKED:
            return False
        return grid.first_illegal_step(y * np.int32(grid.width) + x) is None

    @property
    def last_cell(self) -> Cell:
        x, y = self.cells[-1].tolist()
        return x, y
