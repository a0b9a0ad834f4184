"""Baseline: what the agents of all baselines have in common.

They run in `move_to_goal` as a TimeBoundedPlanner does, on the same grid, costs, corner rule and worlds. An interval is
the planner's, too: first k expansions, then a move if there is one to make. So an agent whose search takes n intervals
moves for the first time in the n-th. In the 2012 paper's count it moves in the next one: moves and searches overlap
there, the first interval only searches, and every algorithm needs one interval more than here.
"""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.geometry import Cell
from tb_planner.search.grid import GoalBlocked, Grid, GridChange, StartBlocked
from tb_planner.search.planner import Figures, Status, check_whole


class Baseline(abc.ABC):
    """An agent that moves to a goal. The grid belongs to it: observe() writes into it.

    k: the budget of an interval: expansions, unless the algorithm defines it otherwise.
    """

    status: Status
    _search: Any
    """The compiled search."""

    def __init__(self, grid: Grid, start: Cell, goal: Cell, k: int):
        check_whole('k', k, 1)
        self.grid = grid
        self.k = int(k)
        self.s_start, self.s_goal = grid.state(start, 'start'), grid.state(goal, 'goal')
        if grid.is_blocked(start):
            raise StartBlocked(f'start {grid.cell(self.s_start)} is blocked')
        if grid.is_blocked(goal):
            raise GoalBlocked(f'goal {grid.cell(self.s_goal)} is blocked')
        self.status = Status.AT_GOAL if self.s_start == self.s_goal else Status.WAITED

    def run(self, intervals: int) -> NDArray[np.int32]:
        """Runs up to this many intervals without a change of the map; fewer at the goal, with no path, and after 4096
        moves. Returns the states the agent moved to, and sets status."""
        check_whole('intervals', intervals, 1)
        self.status = Status(self._search.run(intervals, self.k))
        trail: NDArray[np.int32] = self._search.take_trail()
        return trail

    @abc.abstractmethod
    def map_changed(self, change: GridChange) -> bool:
        """The grid has been updated; True if a search begins for it. An agent that had no path may have one now."""

    @property
    def s_current(self) -> int:
        """The agent's state."""
        return int(self._search.s_current)

    @property
    def figures(self) -> Figures:
        """Counted since the agent was made; the search that runs is in it. Only time-bounded agents make back-moves."""
        s = self._search
        return Figures(s.intervals, s.moved, 0, s.expansions, s.searches, s.straight_sum, s.diagonal_sum)

    def _search_arguments(self) -> tuple[Any, ...]:
        """Grid, start and goal, as the compiled searches take them."""
        grid, (moves, costs) = self.grid, (self.grid.legal_moves.reshape(-1), self.grid.cost_u16.reshape(-1))
        return moves, costs, grid.width, grid.neighbours, grid.weighted, self.s_start, self.s_goal

    def step(self) -> Status:
        """Runs one interval."""
        self.run(1)
        return self.status

    def observe(self, values: ArrayLike, at: Cell | None = None) -> bool:
        """The new map, or a patch of it whose first cell is `at`; True if a search begins for it."""
        return self.map_changed(self.grid.update(values, at))

    @property
    def current_cell(self) -> Cell:
        return self.grid.cell(self.s_current)

    @property
    def goal(self) -> Cell:
        return self.grid.cell(self.s_goal)

    @property
    def target(self) -> Cell:
        """The goal; no other cell replaces a blocked one."""
        return self.goal

    @property
    def cost(self) -> float:
        """What the agent's moves have cost, from exact sums of straight and diagonal steps."""
        return self.grid.cost_of(self.figures.straight, self.figures.diagonal)
