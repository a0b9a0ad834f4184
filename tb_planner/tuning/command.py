"""python -m tb_planner tune MAP|BAG: measures, recommends, draws, and writes a parameter file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tb_planner import picture
from tb_planner.bags import is_bag, open_bag
from tb_planner.bags.options import add_topic_options, topics_of
from tb_planner.maps import Map, read_map
from tb_planner.ros.planner_parameters import PlannerParameters
from tb_planner.tuning.bag_problems import bag_problems, places_of
from tb_planner.tuning.budget import SEARCH_SHARE, Budget, measured_expansion_s
from tb_planner.tuning.comparison import Rival, compare, comparison_text, k_of
from tb_planner.tuning.ground import Ground, Problem, draw_problems
from tb_planner.tuning.parameter_file import (
    candidate_of,
    check_folder,
    check_may_write,
    parameter_file,
    read_parameters,
    with_candidate,
)
from tb_planner.tuning.plot import draw_study
from tb_planner.tuning.progress import ProgressLine
from tb_planner.tuning.report import IN_WORDS, head, reasons, study_text
from tb_planner.tuning.study import MEASURED_ON, Plan, Study, carry_out_study
from tb_planner.tuning.trial import WORLDS, Conditions

DONE, INTERRUPTED = 0, 130
EXAMPLES = """examples:
  python -m tb_planner tune depot.yaml --tick-hz 20 --cpu 0.2
  python -m tb_planner tune depot.yaml --params planner.yaml --world unknown -o tuned.yaml
  python -m tb_planner tune depot.yaml --compare planner.yaml tuned.yaml
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        'tune',
        help='find the parameters that suit a map and this computer',
        description='Tries algorithms, weights and restart rules on problems on the map, recommends what needs the '
        'fewest ticks to the goal within the budget, and writes a parameter file for planner.launch.py.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=tune)
    parser.add_argument(
        'map',
        metavar='MAP|BAG',
        type=Path,
        help="MovingAI's .map, or map_server's .yaml with its image; or a ROS 2 bag, whose goals are taken",
    )
    budget = parser.add_argument_group('budget')
    budget.add_argument('--tick-hz', metavar='HZ', type=float, help='ticks a second, default: as in --params, or 20')
    budget.add_argument('--cpu', metavar='PART', type=float, default=0.2, help='of a core, for searching; default: 0.2')
    add_trial_options(parser.add_argument_group('problems'))
    parser.add_argument('--params', metavar='FILE', type=Path, help='the parameters now, default: the defaults')
    parser.add_argument('--compare', metavar='FILE', type=Path, nargs='+', help='only compare these parameter files')
    parser.add_argument(
        '-o', '--output', metavar='FILE', type=Path, default=Path('planner.yaml'), help='default: planner.yaml'
    )
    add_topic_options(parser)
    parser.add_argument('--png', metavar='FILE', type=Path, help='the plot, default: as -o, with .png')


def add_trial_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        '--world',
        choices=WORLDS,
        default='changing',
        help='; '.join(f'{world}: {words}' for world, words in IN_WORDS.items()) + '; default: changing',
    )
    group.add_argument(
        '--problems', metavar='N', type=int, default=40, help='to choose by, and as many others to try; default: 40'
    )
    group.add_argument('--seed', metavar='N', type=int, default=0, help='of the problems, default: 0')
    group.add_argument(
        '--time-limit',
        metavar='S',
        type=float,
        default=120.0,
        help='seconds after which no problem is begun, default: 120',
    )


def tune(options: argparse.Namespace) -> int:
    """Ends with 0, or with 130 if it was interrupted and what there was has been told."""
    if options.problems < 1 or options.seed < 0:
        raise ValueError(f'--problems is {options.problems}, --seed {options.seed}; they are at least 1, and 0')
    if options.compare:
        return compare_files(options)
    png = options.png or options.output.with_suffix('.png')
    check_may_write(options.output)
    if options.png is not None:
        check_folder('--png', png)
        picture.check_matplotlib()
    parameters = PlannerParameters() if options.params is None else read_parameters(options.params)
    plan = make_plan(options, parameters)
    progress = ProgressLine()
    try:
        study = carry_out_study(plan, progress)
    finally:
        progress.close()
    print(study_text(study))
    write(study, parameters, options.output)
    draw(study, png, asked_for=options.png is not None)
    return INTERRUPTED if study.interrupted else DONE


def make_plan(options: argparse.Namespace, parameters: PlannerParameters) -> Plan:
    budget = Budget(parameters.tick_frequency if options.tick_hz is None else options.tick_hz, options.cpu)
    seen, unseen = read_problems(options, parameters)
    return Plan(
        seen=seen,
        unseen=unseen,
        budget=budget,
        conditions=Conditions(options.world, parameters.min_improvement),
        default=candidate_of(parameters),
        time_limit_s=options.time_limit,
    )


def read_problems(options: argparse.Namespace, parameters: PlannerParameters) -> tuple[list[Problem], list[Problem]]:
    """Problems to choose by, and others."""
    if is_bag(options.map):
        return problems_of_bag(options, parameters)
    ground = ground_of(read_map(options.map), parameters)
    problems = draw_problems(ground, 2 * options.problems, options.seed)
    return problems[::2], problems[1::2]


def problems_of_bag(options: argparse.Namespace, parameters: PlannerParameters) -> tuple[list[Problem], list[Problem]]:
    """The bag's goals to choose by, on a map that stays as it is each once; others are drawn on its last map."""
    with open_bag(options.map, topics_of(options), options.base_frame) as bag:
        given = bag.goals()
    places = places_of(options.map, given, parameters)
    count = len(given) if options.world == 'static' else options.problems
    seen = bag_problems(options.map, given, places, parameters, count)
    return seen, draw_problems(places[-1].ground, options.problems, options.seed)


def ground_of(map_: Map, parameters: PlannerParameters) -> Ground:
    rules = parameters.cost_rules(map_.resolution_m)
    return Ground(map_.name, map_.occupancy, rules, parameters.corner_cutting)


def write(study: Study, parameters: PlannerParameters, path: Path) -> None:
    tuned = with_candidate(parameters, study.recommended, study.k, study.plan.budget.tick_hz)
    path.write_text(parameter_file(tuned, head(study), reasons(study)), encoding='utf-8')
    print(f'\n{path}: ros2 launch tb_planner planner.launch.py params_file:={path}')


def draw(study: Study, path: Path, *, asked_for: bool) -> None:
    try:
        draw_study(study, path)
    except picture.PictureError as error:
        if asked_for:
            raise
        print(f'no plot: {error}')
    else:
        print(f'{path}: the trade-off')


def compare_files(options: argparse.Namespace) -> int:
    """The map is seen by the first one's rules."""
    names = {path.name for path in options.compare}
    files = {path.name if len(names) == len(options.compare) else str(path): path for path in options.compare}
    parameters = {name: read_parameters(path) for name, path in files.items()}
    first = next(iter(parameters.values()))
    problems, _ = read_problems(options, first)
    for name, others in parameters.items():
        if others.cost_rules(1.0) != first.cost_rules(1.0):
            print(f'{name} makes other costs of a map than {next(iter(files))}, by whose rules all are compared')
    expansion_s = 0.0
    if any(not found.expansions_per_tick for found in parameters.values()):
        longest_s = SEARCH_SHARE * max(found.search_time_s for found in parameters.values())
        conditions = Conditions(options.world, first.min_improvement)
        expansion_s = measured_expansion_s(problems[:MEASURED_ON], conditions, longest_s)
    rivals = [
        Rival(
            name,
            candidate_of(found),
            k_of(found.expansions_per_tick, found.search_time_s, expansion_s),
            found.min_improvement,
        )
        for name, found in parameters.items()
    ]
    progress = ProgressLine()
    try:
        comparison = compare(rivals, problems, options.world, progress, options.time_limit)
    finally:
        progress.close()
    print(comparison_text(comparison))
    return INTERRUPTED if comparison.interrupted else DONE
