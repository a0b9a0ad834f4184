"""Problems for the tuner: a map with costs, a start and a goal, drawn on the map or taken from the goals of a bag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_planner.config import PlannerParameters
from tb_planner.errors import BadInput
from tb_planner.geometry import Cell, MapGeometry, Pose2D
from tb_planner.maps.costmap import CostmapConfig, costs_of
from tb_planner.maps.files import Map
from tb_planner.search.algorithms import tba_star
from tb_planner.search.grid import BLOCKED, Grid
from tb_planner.search.planner import Status, find_path
from tb_planner.tools.bags import BagGoals
from tb_planner.tools.tuning.time_limit import (
    DRAWN_FRACTION,
    NO_LIMIT,
    TimeLimit,
    TimeOver,
    TooLittleTime,
)

DISTANCE_FRACTION = 0.25
"""Start and goal are at least this fraction of the map's longer side apart."""
DRAWS = 200
"""After this number of failed draws the required distance is halved."""


class NoProblems(BadInput):
    """No start and goal on the map are connected."""


@dataclass(frozen=True, eq=False)
class TuningMap:
    """Occupancy [y, x] from 0 to 100 (-1 is unknown), and the rules that turn it into costs."""

    name: str
    occupancy: NDArray[np.int8]
    rules: CostmapConfig
    corner_cutting: bool = False

    @classmethod
    def of(cls, map_: Map, parameters: PlannerParameters) -> TuningMap:
        """Returns a map as a planner with these parameters sees it."""
        rules = parameters.costmap_config(map_.resolution_m)
        return cls(map_.name, map_.occupancy, rules, parameters.corner_cutting)

    @cached_property
    def grid(self) -> Grid:
        """A grid with costs, like the node's, so that a search takes as long. Trials that change it restore it."""
        grid = Grid(costs_of(self.occupancy, self.rules), corner_cutting=self.corner_cutting)
        grid.prepare()
        return grid

    def problem(self, start: Cell, goal: Cell, seed: int = 0) -> TuningProblem | None:
        """Returns the problem, or None if no path leads to the goal."""
        plan = find_path(self.grid, start, goal, tba_star())
        if plan.status != Status.AT_GOAL or len(plan.cells) < 2:
            return None
        return TuningProblem(self, start, goal, plan.cost, len(plan.cells) - 1, seed)


@dataclass(frozen=True, eq=False)
class TuningProblem:
    """A start and a goal on a map. The seed determines every random change during a trial."""

    map_: TuningMap
    start: Cell
    goal: Cell
    shortest_cost: float
    shortest_moves: int
    seed: int


def draw_problems(map_: TuningMap, count: int, seed: int, limit: TimeLimit = NO_LIMIT) -> list[TuningProblem]:
    """Returns up to `count` problems between known free cells, at least one; the same seed gives the same problems.

    Raises NoProblems and TooLittleTime."""
    random = np.random.default_rng(seed)
    free = (map_.occupancy >= 0) & (map_.grid.cost_u16 != BLOCKED)
    cells = np.flatnonzero(free)
    distance = DISTANCE_FRACTION * max(free.shape)
    end = limit.part(DRAWN_FRACTION)
    found: list[TuningProblem] = []
    while len(found) < count and not (found and end.is_over):
        try:
            problem = _draw(map_, cells, distance, random, end if found else limit)
        except TimeOver:
            break
        if problem is not None:
            found.append(problem)
        elif distance < 1:
            raise NoProblems(
                f'{map_.name}: no two of its {len(cells)} free cells are connected; check the map, and the robot '
                f'radius of {map_.rules.robot_radius_m} m'
            )
        else:
            distance /= 2
    if not found:
        raise TooLittleTime(
            f'{map_.name}: the {limit} was over before a connected start and goal were found among {len(cells)} free '
            'cells; raise it'
        )
    return found


def _draw(
    map_: TuningMap, cells: NDArray[np.int64], distance: float, random: np.random.Generator, limit: TimeLimit
) -> TuningProblem | None:
    """Returns a problem with start and goal this far apart, or None after DRAWS draws. Raises TimeOver."""
    width = map_.occupancy.shape[1]
    for _ in range(DRAWS if len(cells) else 0):
        (y0, y1), (x0, x1) = (pair.tolist() for pair in np.divmod(random.choice(cells, 2), width))
        if max(abs(x1 - x0), abs(y1 - y0)) < max(distance, 1):
            continue
        if limit.is_over:
            raise TimeOver
        problem = map_.problem((x0, y0), (x1, y1), seed=int(random.integers(2**31)))
        if problem is not None:
            return problem
    return None


# ------------------------------------------------------------------------------------------------ goals of a bag
def bag_problems(
    goals: BagGoals, map_: TuningMap, parameters: PlannerParameters, count: int, limit: TimeLimit = NO_LIMIT
) -> list[TuningProblem]:
    """Returns up to `count` problems, spread over the bag; fewer if the time runs out. Raises NoProblems."""
    found: list[TuningProblem] = []
    tried = 0
    trips = goals.trips
    step = -(-len(trips) // count)
    end = limit.part(DRAWN_FRACTION)
    for trip in (trip for first in range(step) for trip in trips[first::step]):
        if len(found) == count or (end if found else limit).is_over:
            break
        tried += 1
        problem = _bag_problem(trip, goals.geometry, map_, parameters)
        if problem is not None:
            found.append(problem)
    if not found:
        tried_of = f'{tried} of {len(trips)}' if tried < len(trips) else f'{tried}'
        over = f', and then the {limit} was over' if tried < len(trips) else ''
        raise NoProblems(
            f"{map_.name}: none of {tried_of} goals can be reached from the robot's pose on the last map{over}; check "
            f'the topics, and the robot radius of {parameters.robot_radius_m} m'
        )
    return found


def repeated(problems: Sequence[TuningProblem], count: int) -> list[TuningProblem]:
    """Returns `count` problems: these again and again, each time with another seed."""
    return [replace(problems[number % len(problems)], seed=number) for number in range(count)]


def _bag_problem(
    trip: tuple[Pose2D, Pose2D], geometry: MapGeometry, map_: TuningMap, parameters: PlannerParameters
) -> TuningProblem | None:
    cells = []
    for pose, tolerance_m in zip(trip, (parameters.start_tolerance_m, parameters.goal_tolerance_m), strict=True):
        cell = geometry.cell_of(pose)
        if not geometry.contains(cell):
            return None
        cells.append(map_.grid.nearest_free(cell, geometry.whole_cells(tolerance_m)))
    start, end = cells
    return None if start is None or end is None else map_.problem(start, end)
