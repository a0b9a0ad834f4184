"""Clutter: things that appear and vanish where a robot can see them, and that never close a way."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box, Cell
from tb_planner.maps.costmap import OCCUPIED, Costmap
from tb_planner.search.agent import Observation
from tb_planner.search.grid import Grid

EVERY = 20
"""Moves between two changes."""
LARGEST = 3
"""Cells a side on maps whose cells are large; else LARGEST_M counts."""
LARGEST_M = 0.4
SIGHT = 30
"""How far away, in cells, a change is at most; else SIGHT_M counts."""
SIGHT_M = 4.0


class Clutter:
    """After every so many moves a square of cells becomes an obstacle, or one that has is as it was.

    All around it stays free, with the robot's radius: whatever was joined by a way still is. Nothing appears where the
    agent or its goal is. What is out of sight stays as it was seen last.
    """

    def __init__(self, costmap: Costmap, grid: Grid, seed: int, every: int = EVERY) -> None:
        self.grid = grid
        self._costmap = costmap
        self._random = np.random.default_rng(seed)
        self._every = every
        self._moves = 0
        cell_m = costmap.rules.resolution_m
        self._largest = max(LARGEST, round(LARGEST_M / cell_m))
        self._sight = max(SIGHT, round(SIGHT_M / cell_m))
        self._margin = math.floor(costmap.rules.robot_radius_m / cell_m + 1e-9) + 1
        self._whole = Box(0, 0, costmap.width, costmap.height)
        self._before: dict[Box, NDArray[np.int8]] = {}

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        """The agent knows the map as it is."""
        return None

    def moves_until_news(self) -> int:
        return self._every - self._moves % self._every

    def walk(self, states: NDArray[np.int32]) -> None:
        """The agent's grid is the true one, so that every move is legal."""

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        """After a move: what is new."""
        self._moves += 1
        if self._moves % self._every:
            return None
        x, y = cell
        seen = Box(x, y, x + 1, y + 1).grown(self._sight, self._whole)
        standing = [box for box in self._before if box.overlap(seen) == box]
        if standing and self._random.random() < 0.5:
            return self._remove(standing[self._random.integers(len(standing))])
        return self._put(seen, cell, goal)

    def clear(self) -> list[Observation]:
        """All is as it was at first."""
        return [self._remove(box) for box in list(self._before)]

    def _put(self, seen: Box, cell: Cell, goal: Cell) -> Observation | None:
        for side in range(int(self._random.integers(1, self._largest + 1)), 0, -1):
            places = self._places(seen, side + 2 * self._margin, (cell, goal))
            if len(places):
                y, x = (int(i) + self._margin for i in places[self._random.integers(len(places))])
                box = Box(seen.x0 + x, seen.y0 + y, seen.x0 + x + side, seen.y0 + y + side)
                self._before[box] = self._costmap.occupancy[box.slices].copy()
                return self._costmap.update(np.full((side, side), OCCUPIED, np.int8), (box.x0, box.y0))
        return None

    def _places(self, seen: Box, side: int, keep_free: tuple[Cell, ...]) -> NDArray[np.int64]:
        """First cells, as [y, x] within the box, of squares of this side that are free and hold none of these."""
        taken = np.isinf(self._costmap.costs[seen.slices])
        for x, y in keep_free:
            if Box(x, y, x + 1, y + 1).overlap(seen) == Box(x, y, x + 1, y + 1):
                taken[y - seen.y0, x - seen.x0] = True
        sums = np.zeros((taken.shape[0] + 1, taken.shape[1] + 1), np.int32)
        np.cumsum(np.cumsum(taken, axis=0, dtype=np.int32), axis=1, out=sums[1:, 1:])
        if min(taken.shape) < side:
            return np.empty((0, 2), np.int64)
        inside = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
        return np.argwhere(inside == 0)

    def _remove(self, box: Box) -> Observation:
        return self._costmap.update(self._before.pop(box), (box.x0, box.y0))
