"""A map for the node's benchmark: rooms with wide doors, in which things come and go."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box, Cell
from tb_planner.maps.costmap import OCCUPIED

ROOM, DOOR, WALL = 200, 40, 2
"""Sizes in cells: 10 m, 2 m and 0.1 m at 0.05 m a cell."""
DRAWS = 2
"""Places drawn for each thing, since at some there is something already."""


def rooms(size: int) -> NDArray[np.int8]:
    """Occupancy of square rooms, each with a door in the middle of every wall to the next."""
    side = min(ROOM, size // 2)
    occupancy = np.zeros((size, size), np.int8)
    for at in range(side, size - side + 1, side):
        for middle in range(side // 2, size, side):
            door = slice(max(middle - DOOR // 2, 0), middle + DOOR // 2)
            wall = np.full(size, True)
            wall[door] = False
            part = slice(middle - side // 2, middle + side // 2)
            occupancy[at : at + WALL, part][:, wall[part]] = OCCUPIED
            occupancy[part, at : at + WALL][wall[part]] = OCCUPIED
    for edge in (slice(0, WALL), slice(-WALL, None)):
        occupancy[edge] = occupancy[:, edge] = OCCUPIED
    return occupancy


def corners(size: int) -> list[Cell]:
    """The middles of the rooms in the four corners, one after the other across the map."""
    side = min(ROOM, size // 2)
    near, far = side // 2, (size // side - 1) * side + side // 2
    return [(near, near), (far, far), (near, far), (far, near)]


def tour(size: int, count: int) -> list[Cell]:
    """Places in one room after the other, 50 in each, 8 cells apart; after the last room the first one follows."""
    side = min(ROOM, size // 2)
    across, cells = size // side, []
    for i in range(count):
        room, place = divmod(i, 50)
        row, column = divmod(room % across**2, across)
        column = across - 1 - column if row % 2 else column
        y, x = divmod(place, 10)
        x = 9 - x if y % 2 else x
        cells.append((column * side + side // 2 - 36 + 8 * x, row * side + side // 2 - 16 + 8 * y))
    return cells


class Things:
    """Squares of some cells a side on a map. Those in a box vanish, and others appear, as often as one likes."""

    def __init__(self, occupancy: NDArray[np.int8], side: int, seed: int) -> None:
        self.side = side
        self._occupancy = occupancy
        self._random = np.random.default_rng(seed)
        height, width = (length // side for length in occupancy.shape)
        squares = occupancy[: height * side, : width * side].reshape(height, side, width, side)
        self._possible = (squares == 0).all((1, 3))
        self._present = np.zeros_like(self._possible)

    def change(self, box: Box, cells: int, keep_clear: Iterable[Box], put_at: Iterable[Cell] = ()) -> list[Box]:
        """This number of cells of the box changes, once things are there: half of them become free, half occupied.

        Nothing appears where it has to be clear. Returns where things were put on the cells that they were asked for.
        """
        part = self._squares(box)
        gone = np.argwhere(self._present[part.slices]) + np.array((part.y0, part.x0))
        asked = [(y // self.side, x // self.side) for x, y in put_at]
        first = self._fitting(np.array(asked, np.int64).reshape(-1, 2), part, keep_clear)
        count = round(cells / (2 * self.side**2))
        draws = self._random.integers((part.y0, part.x0), (part.y1, part.x1), (DRAWS * count, 2))
        come = self._fitting(np.concatenate([first, draws]), part, keep_clear)[:count]
        self._put(gone, 0)
        self._put(come, OCCUPIED)
        side = self.side
        return [Box(x * side, y * side, (x + 1) * side, (y + 1) * side) for y, x in first[:count].tolist()]

    def _squares(self, box: Box) -> Box:
        """The places for things that are wholly in a box of cells."""
        height, width = self._present.shape
        inner = Box(-(-box.x0 // self.side), -(-box.y0 // self.side), box.x1 // self.side, box.y1 // self.side)
        return inner.overlap(Box(0, 0, width, height))

    def _fitting(self, places: NDArray[np.int64], part: Box, keep_clear: Iterable[Box]) -> NDArray[np.int64]:
        """Those places at which something can be put, each once, in their order."""
        rows, columns = places.T
        places = places[(rows >= part.y0) & (rows < part.y1) & (columns >= part.x0) & (columns < part.x1)]
        _, first = np.unique(places @ (self._present.shape[1], 1), return_index=True)
        places = places[np.sort(first)]
        rows, columns = places.T
        fit = self._possible[rows, columns] & ~self._present[rows, columns]
        for clear in keep_clear:
            above_or_below = ((rows + 1) * self.side <= clear.y0) | (rows * self.side >= clear.y1)
            beside = ((columns + 1) * self.side <= clear.x0) | (columns * self.side >= clear.x1)
            fit &= above_or_below | beside
        return places[fit]

    def _put(self, places: NDArray[np.int64], value: int) -> None:
        rows, columns = places.T
        self._present[rows, columns] = value != 0
        for dy in range(self.side):
            for dx in range(self.side):
                self._occupancy[rows * self.side + dy, columns * self.side + dx] = value
