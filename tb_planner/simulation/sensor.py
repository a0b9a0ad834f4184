"""The robot's sensor: rays cast on the true map, and the part of the map that they have made known."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box
from tb_planner.maps.costmap import OCCUPIED, UNKNOWN

MAX_REACH = 1000
"""Largest range of a sensor, in cells."""

_BEYOND = -2  # cells outside the map
_NEVER_CROSSES = 1e-12
_BATCH = 128  # rays whose crossings fit into the processor's cache


class Rays:
    """Rays from a point, followed exactly from grid line to grid line into the first occupied cell.

    Lengths are in cells; `reach` is the length of a ray.
    """

    def __init__(self, occupancy: NDArray[np.int8], x: float, y: float, reach: float) -> None:
        x, y = _off_grid_lines(x), _off_grid_lines(y)
        self._reach = min(reach, math.hypot(*occupancy.shape))
        margin = math.ceil(self._reach) + 2
        self._side = 2 * margin + 1
        self._left, self._low = math.floor(x) - margin, math.floor(y) - margin
        self._x, self._y = x - self._left, y - self._low
        window = Box(self._left, self._low, self._left + self._side, self._low + self._side)
        self._window = cut_out(occupancy, window, _BEYOND).reshape(-1)
        self._own = margin * self._side + margin

    def ranges(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """The distance to an occupied cell in each direction; inf where none is within reach."""
        if self._window[self._own] >= OCCUPIED:
            return np.zeros(len(directions))
        return np.concatenate([self._hits(*self._crossings(part)) for part in _parts(directions)])

    def seen(self, directions: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns and rows on the map of the cells that the rays enter, up to the cells that stop them."""
        met = np.zeros(self._window.size, np.bool_)
        met[self._own] = True
        for part in _parts(directions):
            distances, cells = self._crossings(part)
            until = np.minimum(self._hits(distances, cells), self._reach)[:, None]
            met[cells[distances <= until]] = True
        met &= self._window != _BEYOND
        rows, columns = np.divmod(np.flatnonzero(met), self._side)
        return columns + self._left, rows + self._low

    def _hits(self, distances: NDArray[np.float64], cells: NDArray[np.intp]) -> NDArray[np.float64]:
        hits: NDArray[np.float64] = np.where(self._window[cells] >= OCCUPIED, distances, math.inf).min(axis=1)
        return hits

    def _crossings(self, directions: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The distances at which the rays cross grid lines, and the cells that they enter there."""
        across, along = np.cos(directions), np.sin(directions)
        distances_x, columns, rows = self._lines(self._x, self._y, across, along)
        distances_y, other_rows, other_columns = self._lines(self._y, self._x, along, across)
        cells = np.concatenate([rows * self._side + columns, other_rows * self._side + other_columns], axis=1)
        distances = np.concatenate([distances_x, distances_y], axis=1)
        cells[np.isinf(distances)] = 0
        return distances, cells

    def _lines(
        self, x: float, y: float, across: NDArray[np.float64], along: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]:
        """Crossings of the lines x = 1, 2, …: distance (inf: out of reach), and x and y of the cells entered."""
        steps = np.arange(math.ceil(self._reach) + 1)
        forwards = across > 0
        first = np.where(forwards, math.floor(x) + 1 - x, x - math.floor(x))
        slowly = np.maximum(np.abs(across), _NEVER_CROSSES)
        distances = (first[:, None] + steps) / slowly[:, None]
        others = (y + np.minimum(distances, self._reach) * along[:, None]).astype(np.intp)  # all of it is above 0
        distances[distances > self._reach] = math.inf
        return distances, math.floor(x) + np.where(forwards, 1, -1)[:, None] * (steps + 1), others


class Known:
    """The known part of a map: nothing at first, then what the sensor has seen."""

    def __init__(self, shape: tuple[int, ...], radius: float, line_of_sight: bool) -> None:
        if not 0 < radius <= MAX_REACH:
            raise ValueError(f'sensor radius is {radius:g} cells; it must be above 0 and at most {MAX_REACH}')
        self.occupancy = np.full(shape, UNKNOWN, np.int8)
        self.extent: Box | None = None
        """The bounding box of all cells seen so far."""
        self._radius = radius
        self._line_of_sight = line_of_sight
        # 1.5 rays for each cell on the circumference, so that no cell is missed
        self._directions = np.linspace(-math.pi, math.pi, math.ceil(3 * math.pi * radius) + 8, endpoint=False)

    def look(self, truth: NDArray[np.int8], x: float, y: float) -> Box | None:
        """Adds what is visible from (x, y); returns the box of the cells that changed, or None."""
        if self._line_of_sight:
            columns, rows = Rays(truth, x, y, self._radius).seen(self._directions)
        else:
            columns, rows = self._disc(x, y)
        if columns.size == 0:
            return None
        box = Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
        self.extent = box.around(self.extent)
        seen = truth[rows, columns]
        if np.array_equal(seen, self.occupancy[rows, columns]):
            return None
        self.occupancy[rows, columns] = seen
        return box

    def _disc(self, x: float, y: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        height, width = self.occupancy.shape
        columns = np.arange(max(math.floor(x - self._radius), 0), min(math.ceil(x + self._radius), width))
        rows = np.arange(max(math.floor(y - self._radius), 0), min(math.ceil(y + self._radius), height))
        near = (columns + 0.5 - x) ** 2 + (rows[:, None] + 0.5 - y) ** 2 <= self._radius**2
        inside = np.nonzero(near)
        return columns[inside[1]], rows[inside[0]]


def _parts(directions: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    for start in range(0, len(directions), _BATCH):
        yield directions[start : start + _BATCH]


def _off_grid_lines(value: float) -> float:
    """Moves a coordinate off a grid line: a ray that starts on one would enter its first cell at distance 0."""
    return value + 1e-6 if value == math.floor(value) else value


def cut_out(occupancy: NDArray[np.int8], box: Box, outside: int) -> NDArray[np.int8]:
    """A copy of the part of a map in this box; cells outside the map get the value `outside`."""
    height, width = occupancy.shape
    part = np.full((box.y1 - box.y0, box.x1 - box.x0), outside, np.int8)
    inside = box.overlap(Box(0, 0, width, height))
    part[box.part(inside)] = occupancy[inside.slices]
    return part
