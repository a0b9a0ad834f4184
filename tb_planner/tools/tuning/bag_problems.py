"""A bag's own goals as problems: from where the robot was when it was told, on the map as it was then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tb_planner.config import PlannerParameters
from tb_planner.geometry import Cell, MapGeometry, Pose2D
from tb_planner.navigation.navigator import cell_of, whole_cells
from tb_planner.tools.bags import GivenGoal
from tb_planner.tools.tuning.ground import Ground, NoProblems, Problem
from tb_planner.tools.tuning.time_limit import DRAWN_BY, NO_LIMIT, TimeLimit


class Place(NamedTuple):
    """A map of the bag, and where it lies."""

    ground: Ground
    geometry: MapGeometry


def places_of(path: Path, given: Sequence[GivenGoal], parameters: PlannerParameters) -> list[Place]:
    """One for each goal; those with the same map share it."""
    places: list[Place] = []
    for number, goal in enumerate(given):
        if number and goal.occupancy is given[number - 1].occupancy:
            places.append(places[-1])
        else:
            rules = parameters.costmap_config(goal.geometry.resolution_m)
            ground = Ground(path.stem, goal.occupancy, rules, parameters.corner_cutting)
            places.append(Place(ground, goal.geometry))
    return places


def bag_problems(
    path: Path,
    given: Sequence[GivenGoal],
    places: Sequence[Place],
    parameters: PlannerParameters,
    count: int,
    limit: TimeLimit = NO_LIMIT,
) -> list[Problem]:
    """So many at most, from all of the bag; fewer where they take long. Raises NoProblems."""
    found: list[Problem] = []
    asked = 0
    step = -(-len(given) // count)
    soon = limit.part(DRAWN_BY)
    for number in (number for first in range(step) for number in range(first, len(given), step)):
        if len(found) == count or (soon if found else limit).is_over:
            break
        asked += 1
        problem = _problem(given[number], places[number], parameters)
        if problem is not None:
            found.append(problem)
    if not found:
        asked_of = f'{asked} of {len(given)}' if asked < len(given) else f'{asked}'
        over = f', and then the {limit} was over' if asked < len(given) else ''
        raise NoProblems(
            f'{path}: of {asked_of} goals none can be reached from where the robot was{over}; are the topics the right '
            f'ones, and the robot’s radius of {parameters.robot_radius_m} m?'
        )
    return found


def again_and_again(problems: Sequence[Problem], count: int) -> list[Problem]:
    """So many, each with other things on the way."""
    return [replace(problems[number % len(problems)], seed=number) for number in range(count)]


def _problem(given: GivenGoal, place: Place, parameters: PlannerParameters) -> Problem | None:
    start = _free_cell(place, given.start, parameters.start_tolerance_m)
    goal = _free_cell(place, given.goal, parameters.goal_tolerance_m)
    return None if start is None or goal is None else place.ground.problem(start, goal)


def _free_cell(place: Place, pose: Pose2D, tolerance_m: float) -> Cell | None:
    cell = cell_of(place.geometry, pose)
    if not place.geometry.contains(cell):
        return None
    return place.ground.grid.nearest_free(cell, whole_cells(tolerance_m, place.geometry))
