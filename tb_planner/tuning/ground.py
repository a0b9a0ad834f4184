"""A map as the planner node sees it, and problems on it: from where to where, and what the shortest way costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_planner.algorithms import tba_star
from tb_planner.costmap import Costmap, CostRules
from tb_planner.grid import Cell, Grid
from tb_planner.planner import Status, find_path

APART = 0.25
"""Start and goal lie at least this part of the map's longer side away from each other."""
DRAWS = 200
"""For each problem; after so many in vain, they may lie half as far apart."""


class NoProblems(ValueError):
    """A map on which there is nothing to drive."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Occupancy [y, x] from 0 to 100, -1 is unknown, and the rules by which it becomes costs."""

    name: str
    occupancy: NDArray[np.int8]
    rules: CostRules
    corner_cutting: bool = False

    @cached_property
    def costmap(self) -> Costmap:
        return Costmap(self.occupancy, self.rules)

    @cached_property
    def grid(self) -> Grid:
        """With costs, as the node's grids: it takes as long to search. Who writes to it puts it back as it was."""
        grid = Grid(self.costmap.costs, corner_cutting=self.corner_cutting)
        grid.prepare()
        return grid

    def problem(self, start: Cell, goal: Cell, seed: int = 0) -> Problem | None:
        """None if no way leads there."""
        plan = find_path(self.grid, start, goal, tba_star())
        if plan.status != Status.AT_GOAL or len(plan.cells) < 2:
            return None
        return Problem(self, start, goal, plan.cost, len(plan.cells) - 1, seed)


@dataclass(frozen=True, eq=False)
class Problem:
    """From where to where; the seed is that of all that is drawn on the way."""

    ground: Ground
    start: Cell
    goal: Cell
    shortest_cost: float
    shortest_moves: int
    seed: int


def draw_problems(ground: Ground, count: int, seed: int) -> list[Problem]:
    """So many, between known free cells; the same for the same seed. Raises NoProblems."""
    random = np.random.default_rng(seed)
    free = (ground.occupancy >= 0) & np.isfinite(ground.costmap.costs)
    cells = np.flatnonzero(free)
    width = free.shape[1]
    apart = APART * max(free.shape)
    found: list[Problem] = []
    while len(found) < count:
        problem = None
        for _ in range(DRAWS if len(cells) else 0):
            (y0, y1), (x0, x1) = (pair.tolist() for pair in np.divmod(random.choice(cells, 2), width))
            if max(abs(x1 - x0), abs(y1 - y0)) >= max(apart, 1):
                problem = ground.problem((x0, y0), (x1, y1), seed=int(random.integers(2**31)))
                if problem is not None:
                    break
        if problem is not None:
            found.append(problem)
        elif apart < 1:
            raise NoProblems(
                f'{ground.name}: of {len(cells)} free cells no two are joined by a way; is it the right map, '
                f'and is the robot’s radius of {ground.rules.robot_radius_m} m right?'
            )
        else:
            apart /= 2
    return found
