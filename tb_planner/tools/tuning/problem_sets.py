"""ThrottledLog to choose by and others to check the choice on: drawn on a map, or a bag's own."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tb_planner.config import PlannerParameters
from tb_planner.maps.files import MAP_SUFFIXES, Map, read_map
from tb_planner.recording.record import check_is_no_record
from tb_planner.tools.bags import Topics, is_bag, not_a_bag, open_bag
from tb_planner.tools.tuning.bag_problems import again_and_again, bag_problems, places_of
from tb_planner.tools.tuning.ground import Ground, Problem, draw_problems
from tb_planner.tools.tuning.time_limit import DRAWN_BY, NO_LIMIT, READ_BY, TimeLimit


class Wanted(NamedTuple):
    """As the command line asks for it."""

    path: Path
    world: str
    problems: int
    seed: int
    topics: Topics
    base_frame: str


class ProblemSets(NamedTuple):
    seen: list[Problem]
    """To choose by."""
    unseen: list[Problem]
    origin: str
    """Where they come from, for people."""
    cut_short: list[str]
    """What there was no time for."""


def read_problems(wanted: Wanted, parameters: PlannerParameters, limit: TimeLimit = NO_LIMIT) -> ProblemSets:
    """Of a map or of a bag; raises ValueError with what is wrong."""
    check_is_no_record(wanted.path)
    if is_bag(wanted.path):
        return _of_bag(wanted, parameters, limit)
    if wanted.path.suffix.lower() not in MAP_SUFFIXES:
        raise ValueError(f'{wanted.path}: a map ends in .map or .yaml; {not_a_bag(wanted.path)}')
    ground = ground_of(read_map(wanted.path), parameters)
    count = 2 * wanted.problems
    problems = draw_problems(ground, count, wanted.seed, limit)
    cut_short = [f'{len(problems)} of {count} problems were drawn'] * (len(problems) < count)
    return ProblemSets(problems[::2], problems[1::2], f'drawn with --seed {wanted.seed}', cut_short)


def ground_of(map_: Map, parameters: PlannerParameters) -> Ground:
    rules = parameters.costmap_config(map_.resolution_m)
    return Ground(map_.name, map_.occupancy, rules, parameters.corner_cutting)


def _of_bag(wanted: Wanted, parameters: PlannerParameters, limit: TimeLimit) -> ProblemSets:
    """The bag's goals to choose by, on a map that stays as it is each once; others are drawn on its last map."""
    reading = limit.part(READ_BY)
    with open_bag(wanted.path, wanted.topics, wanted.base_frame) as bag:
        given = bag.goals(lambda: reading.is_over)
        cut_short = ['the bag was not read to its end'] * (not bag.read_whole)
    places = places_of(wanted.path, given, parameters)
    static = wanted.world == 'static'
    seen = bag_problems(wanted.path, given, places, parameters, len(given) if static else wanted.problems, limit)
    if limit.part(DRAWN_BY).is_over:
        cut_short.append(f'{len(seen)} of {len(given)} goals were looked at')
    unseen = draw_problems(places[-1].ground, wanted.problems, wanted.seed, limit)
    if len(unseen) < wanted.problems:
        cut_short.append(f'{len(unseen)} of {wanted.problems} others were drawn')
    goals = f'{len(seen)} goal' + 's' * (len(seen) != 1)
    origin = f'the first by {goals} of the bag, the others drawn on its last map with --seed {wanted.seed}'
    return ProblemSets(seen if static else again_and_again(seen, wanted.problems), unseen, origin, cut_short)
