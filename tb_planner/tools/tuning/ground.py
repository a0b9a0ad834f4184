"""A map as the planner node sees it, and problems on it: from where to where, and what the shortest way costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import BadInput
from tb_planner.geometry import Cell
from tb_planner.maps.costmap import Costmap, CostmapConfig
from tb_planner.search.algorithms import tba_star
from tb_planner.search.grid import Grid
from tb_planner.search.planner import Status, find_path
from tb_planner.tools.tuning.time_limit import DRAWN_BY, NO_LIMIT, TimeLimit, TimeOver, TooLittleTime

APART = 0.25
"""Start and goal lie at least this part of the map's longer side away from each other."""
DRAWS = 200
"""For each problem; after so many in vain, they may lie half as far apart."""


class NoProblems(BadInput):
    """A map on which there is nothing to drive."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Occupancy [y, x] from 0 to 100, -1 is unknown, and the rules by which it becomes costs."""

    name: str
    occupancy: NDArray[np.int8]
    rules: CostmapConfig
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


def draw_problems(ground: Ground, count: int, seed: int, limit: TimeLimit = NO_LIMIT) -> list[Problem]:
    """So many, between known free cells; the same for the same seed. Fewer where they take long, but one at least.

    Raises NoProblems, and TooLittleTime."""
    random = np.random.default_rng(seed)
    free = (ground.occupancy >= 0) & np.isfinite(ground.costmap.costs)
    cells = np.flatnonzero(free)
    apart = APART * max(free.shape)
    soon = limit.part(DRAWN_BY)
    found: list[Problem] = []
    while len(found) < count and not (found and soon.is_over):
        try:
            problem = _draw(ground, cells, apart, random, soon if found else limit)
        except TimeOver:
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
    if not found:
        raise TooLittleTime(
            f'{ground.name}: the {limit} was over before a start and a goal that are joined by a way were found among '
            f'{len(cells)} free cells; a longer one may help'
        )
    return found


def _draw(
    ground: Ground, cells: NDArray[np.int64], apart: float, random: np.random.Generator, limit: TimeLimit
) -> Problem | None:
    """One with start and goal so far apart; None if there seems to be none. Raises TimeOver."""
    width = ground.occupancy.shape[1]
    for _ in range(DRAWS if len(cells) else 0):
        (y0, y1), (x0, x1) = (pair.tolist() for pair in np.divmod(random.choice(cells, 2), width))
        if max(abs(x1 - x0), abs(y1 - y0)) < max(apart, 1):
            continue
        if limit.is_over:
            raise TimeOver
        problem = ground.problem((x0, y0), (x1, y1), seed=int(random.integers(2**31)))
        if problem is not None:
            return problem
    return None
