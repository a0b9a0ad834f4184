"""`tb_planner tune MAP|BAG` measures candidates, recommends one, draws a plot and writes a parameter file."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tb_planner.config import PlannerParameters
from tb_planner.maps.files import MAP_FILES, MAP_SUFFIXES, read_map
from tb_planner.recording.record import check_is_no_record
from tb_planner.simulation.scenes import map_file
from tb_planner.tools.bag_topics import add_topic_options, topics_of
from tb_planner.tools.bags import is_bag, open_bag
from tb_planner.tools.plotting import PictureError
from tb_planner.tools.progress import progress_bar
from tb_planner.tools.tuning.comparison import compare, compared_files, comparison_text, remarks
from tb_planner.tools.tuning.parameter_file import (
    candidate_of,
    check_may_write_parameters,
    parameter_file,
    read_parameters,
    with_candidate,
)
from tb_planner.tools.tuning.problems import TuningMap, bag_problems, draw_problems, repeated
from tb_planner.tools.tuning.report import check_may_draw, draw_study, heading, reasons, study_text
from tb_planner.tools.tuning.study import CpuBudget, StudyPlan, run_study
from tb_planner.tools.tuning.time_limit import DRAWN_FRACTION, READ_FRACTION, TimeLimit
from tb_planner.tools.tuning.trial import WORLDS, TrialConditions

DONE, INTERRUPTED = 0, 130
EXAMPLES = """examples:
  tb_planner tune depot.yaml --tick-hz 20 --cpu 0.2
  tb_planner tune depot.yaml --params planner.yaml --world unknown -o tuned.yaml
  tb_planner tune depot.yaml --compare planner.yaml tuned.yaml
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        'tune',
        help='find the best parameters for a map and this computer',
        description='Tries algorithms, weights and restart rules on problems on the map, recommends the candidate with '
        'the fewest ticks to the goal within the budget, and writes a parameter file for planner.launch.py.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=tune)
    parser.add_argument(
        'map',
        metavar='MAP|BAG',
        type=Path,
        help='a .map or .yaml file, office or warehouse; or a ROS 2 bag, whose goals are the problems',
    )
    budget = parser.add_argument_group('budget')
    budget.add_argument('--tick-hz', metavar='HZ', type=float, help='ticks per second (default: as in --params, or 20)')
    budget.add_argument(
        '--cpu', metavar='PART', type=float, default=0.2, help='part of one core for the search (default: 0.2)'
    )
    group = parser.add_argument_group('problems')
    group.add_argument(
        '--world',
        choices=WORLDS,
        default='changing',
        help='; '.join(f'{world}: {text}' for world, text in WORLDS.items()) + ' (default: changing)',
    )
    group.add_argument(
        '--problems',
        metavar='N',
        type=int,
        default=40,
        help='problems to choose on, and the same number to check the choice on (default: 40)',
    )
    group.add_argument('--seed', metavar='N', type=int, default=0, help='seed of the problems (default: 0)')
    group.add_argument(
        '--time-limit',
        metavar='S',
        type=float,
        default=120.0,
        help='seconds after which the study ends with the results so far (default: 120)',
    )
    parser.add_argument('--params', metavar='FILE', type=Path, help='current parameters (default: built-in)')
    parser.add_argument(
        '--compare', metavar='FILE', type=Path, nargs='+', help='only compare these parameter files, do not tune'
    )
    parser.add_argument(
        '-o', '--output', metavar='FILE', type=Path, default=Path('planner.yaml'), help='default: planner.yaml'
    )
    parser.add_argument('--png', metavar='FILE', type=Path, help='the plot (default: the name of -o with .png)')
    add_topic_options(parser)


def tune(options: argparse.Namespace) -> int:
    """Returns 0, or 130 if Ctrl-C ended the study and there are results."""
    limit = TimeLimit(options.time_limit)
    for name, least in (('problems', 1), ('seed', 0)):
        if getattr(options, name) < least:
            raise ValueError(f'--{name} is {getattr(options, name)}; it must be at least {least}')
    if options.compare:
        return compare_files(options, limit)
    png = options.png or options.output.with_suffix('.png')
    if png == options.output:
        raise ValueError(f'-o {png}: the plot would overwrite it; choose another name for it with --png')
    check_may_write_parameters(options.output)
    check_may_draw(png)
    parameters = PlannerParameters() if options.params is None else read_parameters(options.params)
    with progress_bar() as progress:
        print(
            'Looking for the parameters with which a robot needs the fewest ticks to its goals on this map.', flush=True
        )
        progress(0.0, 'drawing problems')
        study = run_study(make_plan(options, parameters, limit), limit, progress)
    print(study_text(study))
    tuned = with_candidate(parameters, study.recommended, study.k, study.plan.budget)
    options.output.write_text(parameter_file(tuned, heading(study), reasons(study)), encoding='utf-8')
    print(
        f'\nwrote {options.output}; use it with: ros2 launch tb_planner planner.launch.py params_file:={options.output}'
    )
    try:
        draw_study(study, png)
        print(f'wrote {png}, a plot of the trade-off')
    except PictureError as error:
        print(f'no plot: {error}')
    return INTERRUPTED if study.interrupted else DONE


def compare_files(options: argparse.Namespace, limit: TimeLimit) -> int:
    """Compares files on the map with the costs of the first one. Returns 0, or 130 after Ctrl-C."""
    if options.params is not None:
        raise ValueError('--params is for tuning; add the file to --compare instead')
    if len({path.resolve() for path in options.compare}) < max(len(options.compare), 2):
        raise ValueError(f'--compare {" ".join(map(str, options.compare))}: give two or more different files')
    names = {path.name for path in options.compare}
    paths = {path.name if len(names) == len(options.compare) else str(path): path for path in options.compare}
    parameters = {name: read_parameters(path) for name, path in paths.items()}
    for remark in remarks(parameters):
        print(remark)
    with progress_bar() as progress:
        progress(0.0, 'drawing problems')
        problems = make_plan(options, next(iter(parameters.values())), limit).seen
        files = compared_files(parameters, problems, options.world, limit)
        results, ended = compare(files, problems, limit, progress)
    print('\n\n'.join(filter(None, [comparison_text(files, results), ended])))
    return INTERRUPTED if ended.startswith('Ctrl-C') else DONE


def make_plan(options: argparse.Namespace, parameters: PlannerParameters, limit: TimeLimit) -> StudyPlan:
    """Returns a study of problems drawn on a map, or of the goals of a bag; raises ValueError."""
    path = options.map = map_file(options.map)
    study_of = partial(
        StudyPlan,
        budget=CpuBudget(parameters.tick_frequency if options.tick_hz is None else options.tick_hz, options.cpu),
        conditions=TrialConditions(options.world, parameters.min_improvement),
        default=candidate_of(parameters),
    )
    check_is_no_record(path)
    if is_bag(path):
        return _bag_plan(options, parameters, limit, study_of)
    if path.suffix.lower() not in MAP_SUFFIXES:
        raise ValueError(f'{path}: {MAP_FILES}, and bags must be folders, .mcap or .db3 files')
    count = 2 * options.problems
    problems = draw_problems(TuningMap.of(read_map(path), parameters), count, options.seed, limit)
    cut_short = [f'{len(problems)} of {count} problems were drawn'] * (len(problems) < count)
    return study_of(problems[::2], problems[1::2], origin=f'drawn with --seed {options.seed}', cut_short=cut_short)


def _bag_plan(
    options: argparse.Namespace, parameters: PlannerParameters, limit: TimeLimit, study_of: Callable[..., StudyPlan]
) -> StudyPlan:
    """Chooses on the bag's goals and checks on problems drawn on its map. A static map needs each goal only once; in
    other worlds goals are repeated with other changes."""
    reading = limit.part(READ_FRACTION)
    with open_bag(options.map, topics_of(options), options.base_frame) as bag:
        goals = bag.goals(lambda: reading.is_over)
    cut_short = ['the bag was not read to its end'] * (not goals.read_whole)
    rules = parameters.costmap_config(goals.geometry.resolution_m)
    map_ = TuningMap(options.map.stem, goals.occupancy, rules, parameters.corner_cutting)
    static = options.world == 'static'
    seen = bag_problems(goals, map_, parameters, len(goals.trips) if static else options.problems, limit)
    if limit.part(DRAWN_FRACTION).is_over:
        cut_short.append(f'{len(seen)} of {len(goals.trips)} goals were used')
    unseen = draw_problems(map_, options.problems, options.seed, limit)
    if len(unseen) < options.problems:
        cut_short.append(f'{len(unseen)} of {options.problems} others were drawn')
    used = f'{len(seen)} goal' + 's' * (len(seen) != 1)
    origin = f'the first from {used} of the bag, the others drawn on its last map with --seed {options.seed}'
    seen = seen if static else repeated(seen, options.problems)
    return study_of(seen, unseen, origin=origin, cut_short=cut_short)
