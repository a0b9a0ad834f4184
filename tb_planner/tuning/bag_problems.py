"""A bag's own goals as problems: from where the robot was when it was told, on the map as it was then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tb_planner.bags import GivenGoal
from tb_planner.grid import Cell
from tb_planner.navigator import Pose2, cell_of, whole_cells
from tb_planner.ros.planner_parameters import PlannerParameters
from tb_planner.tuning.ground import Ground, NoProblems, Problem


def grounds_of(path: Path, given: Sequence[GivenGoal], parameters: PlannerParameters) -> list[Ground]:
    """One for each goal; those with the same map share it."""
    grounds: list[Ground] = []
    for number, goal in enumerate(given):
        if number and _is_same(goal, given[number - 1]):
            grounds.append(grounds[-1])
            continue
        rules = parameters.cost_rules(goal.geometry.resolution_m)
        grounds.append(Ground(path.stem, goal.occupancy, rules, parameters.corner_cutting))
    return grounds


def bag_problems(
    path: Path, given: Sequence[GivenGoal], grounds: Sequence[Ground], parameters: PlannerParameters, count: int
) -> list[Problem]:
    """As many as asked for: each goal again and again, with other things on the way. Raises NoProblems."""
    found = [problem for pair in zip(given, grounds) if (problem := _problem(*pair, parameters)) is not None]
    if not found:
        raise NoProblems(f'{path}: of {len(given)} goals none can be reached from where the robot was')
    return [
        Problem(one.ground, one.start, one.goal, one.shortest_cost, one.shortest_moves, seed=number)
        for number, one in enumerate(found[i % len(found)] for i in range(count))
    ]


def _problem(given: GivenGoal, ground: Ground, parameters: PlannerParameters) -> Problem | None:
    start = _free_cell(given, ground, given.start, parameters.start_tolerance_m)
    goal = _free_cell(given, ground, given.goal, parameters.goal_tolerance_m)
    return None if start is None or goal is None else ground.problem(start, goal)


def _free_cell(given: GivenGoal, ground: Ground, pose: Pose2, tolerance_m: float) -> Cell | None:
    cell = cell_of(given.geometry, pose)
    if not given.geometry.contains(cell):
        return None
    return ground.grid.nearest_free(cell, whole_cells(tolerance_m, given.geometry))


def _is_same(one: GivenGoal, other: GivenGoal) -> bool:
    return one.geometry == other.geometry and np.array_equal(one.occupancy, other.occupancy)
