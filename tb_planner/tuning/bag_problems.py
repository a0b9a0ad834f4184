"""A bag's own goals as problems: from where the robot was when it was told, on the map as it was then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tb_planner.bags import GivenGoal
from tb_planner.geometry import Geometry
from tb_planner.grid import Cell
from tb_planner.navigator import Pose2, cell_of, whole_cells
from tb_planner.ros.planner_parameters import PlannerParameters
from tb_planner.tuning.ground import Ground, NoProblems, Problem

MOST_MAPS = 8
"""So many states of a bag's map are kept, each some 30 bytes a cell; goals in between are asked on the one before."""


class Place(NamedTuple):
    """A map of the bag, and where it lies."""

    ground: Ground
    geometry: Geometry


def places_of(path: Path, given: Sequence[GivenGoal], parameters: PlannerParameters) -> list[Place]:
    """One for each goal; those with the same map share it."""
    firsts = [number for number in range(len(given)) if not number or not _is_same(given[number], given[number - 1])]
    kept = set(firsts[:: -(-len(firsts) // MOST_MAPS)])
    places: list[Place] = []
    for number, goal in enumerate(given):
        if number in kept:
            rules = parameters.cost_rules(goal.geometry.resolution_m)
            ground = Ground(path.stem, goal.occupancy, rules, parameters.corner_cutting)
            places.append(Place(ground, goal.geometry))
        else:
            places.append(places[-1])
    return places


def bag_problems(
    path: Path, given: Sequence[GivenGoal], places: Sequence[Place], parameters: PlannerParameters, count: int
) -> list[Problem]:
    """As many as asked for: each goal again and again, with other things on the way. Raises NoProblems."""
    found = [problem for pair in zip(given, places) if (problem := _problem(*pair, parameters)) is not None]
    if not found:
        raise NoProblems(f'{path}: of {len(given)} goals none can be reached from where the robot was')
    return [replace(found[number % len(found)], seed=number) for number in range(count)]


def _problem(given: GivenGoal, place: Place, parameters: PlannerParameters) -> Problem | None:
    start = _free_cell(place, given.start, parameters.start_tolerance_m)
    goal = _free_cell(place, given.goal, parameters.goal_tolerance_m)
    return None if start is None or goal is None else place.ground.problem(start, goal)


def _free_cell(place: Place, pose: Pose2, tolerance_m: float) -> Cell | None:
    cell = cell_of(place.geometry, pose)
    if not place.geometry.contains(cell):
        return None
    return place.ground.grid.nearest_free(cell, whole_cells(tolerance_m, place.geometry))


def _is_same(one: GivenGoal, other: GivenGoal) -> bool:
    return one.geometry == other.geometry and np.array_equal(one.occupancy, other.occupancy)
