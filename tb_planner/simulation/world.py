"""Worlds for an agent to move in: Static, Changing, Unknown. A world refuses an illegal move: it is the referee."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.errors import OperationFailed
from tb_planner.geometry import Cell
from tb_planner.search.grid import Grid

Observation = tuple[NDArray[np.generic], Cell | None]  # what Grid.update takes: values, at
NEVER = 2**62


class IllegalMove(OperationFailed):
    """The agent tried what the true map forbids."""


class World(Protocol):
    """What move_to_goal asks of a world."""

    grid: Grid

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        """The agent appears; what it sees."""

    def moves_until_news(self) -> int:
        """So many moves the agent can make before look() may have something new."""

    def walk(self, states: NDArray[np.int32]) -> None:
        """The agent goes from the first of these states to the last; raises IllegalMove."""

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        """After a move to this cell: what has changed for the agent."""


class Refereed:
    """The referee: every step is checked against the true map."""

    def __init__(self, grid: Grid):
        self.grid = grid

    def move(self, a: Cell, b: Cell) -> None:
        """One step; raises IllegalMove."""
        self.walk(np.array([self.grid.state(a), self.grid.state(b)], np.int32))

    def walk(self, states: NDArray[np.int32]) -> None:
        """From the first of these states to the last; raises IllegalMove."""
        i = self.grid.first_illegal_step(states)
        if i is not None:
            a, b = self.grid.cell(states[i]), self.grid.cell(states[i + 1])
            raise IllegalMove(f'from {a} to {b}: the map forbids this step')


class Static(Refereed):
    """A map that is known and stays as it is."""

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        return None

    def moves_until_news(self) -> int:
        return NEVER

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        return None


class Changing(Refereed):
    """The 2014 paper's dynamic terrain, all of which the agent sees.

    After every so many moves rate/2 % of the originally free cells are blocked and rate/2 % of the originally blocked
    ones are freed: always drawn afresh from the original map. The agent's cell and the goal are left alone.
    """

    def __init__(self, grid: Grid, rate: float, every: int = 10, seed: int = 0):
        if not 0 <= rate <= 100:
            raise ValueError(f'rate is {rate}; it is a percentage, 0 to 100')
        if not isinstance(every, int) or every < 1:
            raise ValueError(f'every is {every}; it is a whole number of moves, >= 1')
        if grid.weighted:
            raise ValueError('the grid has costs; a changing world is made of free and blocked cells')
        super().__init__(Grid(grid.blocked, neighbours=grid.neighbours, corner_cutting=grid.corner_cutting))
        self.every = every
        self._original = grid.blocked
        self._moves = 0
        self._random = np.random.default_rng(seed)
        self._free, self._blocked = (np.flatnonzero(cells) for cells in (~self._original, self._original))
        self._to_block, self._to_free = (round(len(cells) * rate / 200) for cells in (self._free, self._blocked))

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        return None

    def moves_until_news(self) -> int:
        return self.every - self._moves % self.every

    def walk(self, states: NDArray[np.int32]) -> None:
        super().walk(states)
        self._moves += len(states) - 1

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        if self._moves % self.every:
            return None
        blocked = self._original.copy()
        flat = blocked.reshape(-1)
        flat[self._random.choice(self._free, self._to_block, replace=False, shuffle=False)] = True
        flat[self._random.choice(self._blocked, self._to_free, replace=False, shuffle=False)] = False
        for x, y in (cell, goal):
            blocked[y, x] = self.grid.is_blocked((x, y))
        self.grid.update(blocked)
        return blocked, None


class Unknown(Refereed):
    """The 2012 paper's terrain: the agent senses cells near it and takes the others for what it knows of them.

    sensor_radius: in cells; a square on 8-neighbour grids, a diamond on 4-neighbour ones, so that radius 1 is the
    neighbours. known: the map the agent starts with, bool or costs as the grid's; by default all is free (freespace
    assumption).
    """

    def __init__(self, grid: Grid, sensor_radius: int = 1, known: ArrayLike | None = None):
        if not isinstance(sensor_radius, int) or sensor_radius < 1:
            raise ValueError(f'sensor_radius is {sensor_radius}; it is a whole number of cells, >= 1')
        super().__init__(grid)
        self.sensor_radius = sensor_radius
        self._true: NDArray[np.generic] = grid.costs if grid.weighted else grid.blocked
        if known is None:
            known = np.ones_like(self._true) if grid.weighted else np.zeros_like(self._true)
        belief = Grid(known)
        if belief.blocked.shape != self._true.shape:
            raise ValueError(f'known has shape {belief.blocked.shape}; the grid has {self._true.shape}')
        if belief.weighted and not grid.weighted:
            raise ValueError('known has costs; the grid has free and blocked cells only')
        self._belief: NDArray[np.generic] = belief.costs if grid.weighted else belief.blocked
        offsets = np.abs(np.arange(-sensor_radius, sensor_radius + 1))
        reach = offsets[:, None] + offsets if grid.neighbours == 4 else np.maximum(offsets[:, None], offsets)
        self._sensed = reach <= sensor_radius

    def initial_grid(self) -> Grid:
        """A grid of the agent's own, with what it knows at first."""
        return Grid(self._belief, neighbours=self.grid.neighbours, corner_cutting=self.grid.corner_cutting)

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        return self.look(cell, goal)

    def moves_until_news(self) -> int:
        return 1

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        (x, y), r = cell, self.sensor_radius
        left, top = max(x - r, 0), max(y - r, 0)
        window = slice(top, y + r + 1), slice(left, x + r + 1)
        true, belief = self._true[window], self._belief[window]
        height, width = true.shape
        sensed = self._sensed[top - y + r :, left - x + r :][:height, :width]
        if not np.any(sensed & (true != belief)):
            return None
        belief[sensed] = true[sensed]
        return belief.copy(), (left, top)
