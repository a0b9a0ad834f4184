"""What a robot sees: rays cast from its place, and the part of the map that it has come to know by them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tb_planner.costmap import OCCUPIED, UNKNOWN
from tb_planner.simulation.terrain import Box

MAX_REACH = 1000
"""The farthest a sensor sees, in cells."""

_BEYOND = -2  # stands for cells outside the map


class Rays:
    """Rays from a point in all the given directions: the cells they enter, in the order of the two kinds of grid lines.

    Every ray is followed exactly, from grid line to grid line, up to `reach` cells; it ends in the first occupied cell.
    """

    def __init__(
        self, occupancy: NDArray[np.int8], x: float, y: float, directions: NDArray[np.float64], reach: float
    ) -> None:
        x, y = _off_grid_lines(x), _off_grid_lines(y)
        reach = min(reach, math.hypot(*occupancy.shape))
        column, row = math.floor(x), math.floor(y)
        margin = math.ceil(reach) + 2
        self._left, self._low = column - margin, row - margin
        self._window = _window(occupancy, self._left, self._low, 2 * margin + 1)
        crossings = [
            self._crossings(x - self._left, y - self._low, directions, reach, along_x) for along_x in (True, False)
        ]
        self._distances = np.concatenate([distances for distances, _ in crossings], axis=1)
        self._cells = np.concatenate([cells for _, cells in crossings], axis=1)
        hits = np.where(self._window.reshape(-1)[self._cells] >= OCCUPIED, self._distances, math.inf)
        self.ranges = hits.min(axis=1)
        self.ranges[self.ranges > reach] = math.inf
        """In cells; inf where nothing is met."""
        if self._window[margin, margin] >= OCCUPIED:
            self.ranges[:] = 0.0
        self._reach = reach

    def seen(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Columns and rows, in the map, of the cells that the rays enter, up to the ones that end them."""
        until = np.minimum(self.ranges, self._reach)[:, None]
        met = np.zeros(self._window.size, np.bool_)
        met[self._cells[self._distances <= until]] = True
        side = self._window.shape[0]
        met[(side // 2) * side + side // 2] = True
        met &= self._window.reshape(-1) != _BEYOND
        rows, columns = np.divmod(np.flatnonzero(met), side)
        return columns + self._left, rows + self._low

    def _crossings(
        self, x: float, y: float, directions: NDArray[np.float64], reach: float, along_x: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Distances at which the rays cross the grid lines x = whole number (or y =), and the cells entered there."""
        ahead, aside = np.cos(directions), np.sin(directions)
        if not along_x:
            x, y, ahead, aside = y, x, aside, ahead
        count, side = math.ceil(reach) + 1, self._window.shape[0]
        forwards = ahead > 0
        steps = np.arange(count)
        with np.errstate(divide='ignore', invalid='ignore'):
            first = np.where(forwards, math.floor(x) + 1 - x, x - math.floor(x))
            distances = (first[:, None] + steps) / np.abs(ahead)[:, None]
        distances[~(distances <= reach)] = math.inf
        beyond = np.isinf(distances)
        entered = math.floor(x) + np.where(forwards, 1, -1)[:, None] * (steps + 1)
        other = np.floor(y + np.where(beyond, 0.0, distances) * aside[:, None]).astype(np.intp)
        cells = other * side + entered if along_x else entered * side + other
        cells[beyond] = 0
        return distances, cells


class Known:
    """What is known of a map: nothing at first, then what has been seen of it."""

    def __init__(self, shape: tuple[int, ...], radius: float, line_of_sight: bool) -> None:
        if not 0 < radius <= MAX_REACH:
            raise ValueError(f'sensor radius is {radius:g} cells; it is above 0 and at most {MAX_REACH}')
        self.occupancy = np.full(shape, UNKNOWN, np.int8)
        self.extent: Box | None = None
        """The smallest box around all that has been seen."""
        self._radius = radius
        self._line_of_sight = line_of_sight
        # one and a half rays for each cell on the rim: none is missed
        self._directions = np.linspace(-math.pi, math.pi, math.ceil(3 * math.pi * radius) + 8, endpoint=False)

    def look(self, truth: NDArray[np.int8], x: float, y: float) -> Box | None:
        """Takes in what is to be seen from (x, y); the cells within which something is new, or None."""
        if self._line_of_sight:
            columns, rows = Rays(truth, x, y, self._directions, self._radius).seen()
        else:
            columns, rows = self._disc(x, y)
        if columns.size == 0:
            return None
        box = Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
        self.extent = box.union(self.extent)
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


def _off_grid_lines(value: float) -> float:
    """A ray that begins on a grid line would enter the first cell before it has begun."""
    return value + 1e-6 if value == math.floor(value) else value


def _window(occupancy: NDArray[np.int8], left: int, low: int, side: int) -> NDArray[np.int8]:
    """A square of the map; what of it lies outside the map is marked."""
    height, width = occupancy.shape
    window = np.full((side, side), _BEYOND, np.int8)
    x0, y0 = min(max(left, 0), width), min(max(low, 0), height)
    x1, y1 = min(max(left + side, 0), width), min(max(low + side, 0), height)
    window[y0 - low : y1 - low, x0 - left : x1 - left] = occupancy[y0:y1, x0:x1]
    return window
