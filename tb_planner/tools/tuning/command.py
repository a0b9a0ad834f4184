"""`tb_planner tune MAP|BAG` measures candidates, recommends one, draws a plot and writes a parameter file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_planner.config import PlannerParameters
from tb_planner.tools import plotting
from tb_planner.tools.bag_topics import add_topic_options
from tb_planner.tools.progress import progress_bar
from tb_planner.tools.tuning.comparison import ComparedFile, compare, comparison_text, k_of, remarks
from tb_planner.tools.tuning.parameter_file import (
    candidate_of,
    check_folder,
    check_may_write,
    parameter_file,
    read_parameters,
    with_candidate,
    write_text,
)
from tb_planner.tools.tuning.problems import TuningProblem, read_problems
from tb_planner.tools.tuning.report import WORLD_TEXTS, check_may_draw, draw_study, heading, reasons, study_text
from tb_planner.tools.tuning.study import (
    MEASURED_PROBLEMS,
    SEARCH_SHARE,
    CpuBudget,
    Progress,
    Study,
    StudyPlan,
    measure_speed,
    run_study,
)
from tb_planner.tools.tuning.time_limit import MEASURED_FRACTION, TimeLimit
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
        help='a MovingAI .map file or a map_server .yaml file; or a ROS 2 bag, whose goals are the problems',
    )
    budget = parser.add_argument_group('budget')
    budget.add_argument('--tick-hz', metavar='HZ', type=float, help='ticks per second (default: as in --params, or 20)')
    budget.add_argument(
        '--cpu', metavar='PART', type=float, default=0.2, help='part of one core for the search (default: 0.2)'
    )
    add_trial_options(parser.add_argument_group('problems'))
    parser.add_argument('--params', metavar='FILE', type=Path, help='current parameters (default: built-in)')
    parser.add_argument(
        '--compare', metavar='FILE', type=Path, nargs='+', help='only compare these parameter files, do not tune'
    )
    parser.add_argument(
        '-o', '--output', metavar='FILE', type=Path, default=Path('planner.yaml'), help='default: planner.yaml'
    )
    add_topic_options(parser)
    parser.add_argument('--png', metavar='FILE', type=Path, help='the plot (default: the name of -o with .png)')


def add_trial_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        '--world',
        choices=WORLDS,
        default='changing',
        help='; '.join(f'{world}: {text}' for world, text in WORLD_TEXTS.items()) + ' (default: changing)',
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
        raise ValueError(f'-o {options.output}: the plot would overwrite it; choose another name for it with --png')
    check_may_write(options.output)
    check_folder('--png', png)
    check_may_draw(png)
    if options.png is not None:
        plotting.check_matplotlib()
    parameters = PlannerParameters() if options.params is None else read_parameters(options.params)
    with progress_bar() as progress:
        study = run_study(make_plan(options, parameters, limit, progress), limit, progress)
    print(study_text(study))
    write(study, parameters, options.output)
    draw(study, png, required=options.png is not None)
    return INTERRUPTED if study.interrupted else DONE


def make_plan(
    options: argparse.Namespace, parameters: PlannerParameters, limit: TimeLimit, progress: Progress
) -> StudyPlan:
    budget = CpuBudget(parameters.tick_frequency if options.tick_hz is None else options.tick_hz, options.cpu)
    progress(0.0, 'drawing problems')
    return StudyPlan(
        **read_problems(options, parameters, limit)._asdict(),
        budget=budget,
        conditions=TrialConditions(options.world, parameters.min_improvement),
        default=candidate_of(parameters),
    )


def write(study: Study, parameters: PlannerParameters, path: Path) -> None:
    tuned = with_candidate(parameters, study.recommended, study.k, study.plan.budget)
    write_text(path, parameter_file(tuned, heading(study), reasons(study)))
    print(f'\nwrote {path}; use it with: ros2 launch tb_planner planner.launch.py params_file:={path}')


def draw(study: Study, path: Path, *, required: bool) -> None:
    try:
        draw_study(study, path)
    except plotting.PictureError as error:
        if required:
            raise
        print(f'no plot: {error}')
    else:
        print(f'wrote {path}, a plot of the trade-off')


def compare_files(options: argparse.Namespace, limit: TimeLimit) -> int:
    """Compares files on the map with the costs of the first one."""
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
        sets = read_problems(options, next(iter(parameters.values())), limit)
        files = make_files(parameters, sets.seen, options.world, limit)
        comparison = compare(files, sets.seen, options.world, limit, progress)
    print(comparison_text(comparison))
    return INTERRUPTED if comparison.interrupted else DONE


def make_files(
    parameters: Mapping[str, PlannerParameters], problems: Sequence[TuningProblem], world: str, limit: TimeLimit
) -> list[ComparedFile]:
    """Measures this computer if one of the files sets a search time instead of a number of expansions."""
    expansion_s = 0.0
    if any(not found.expansions_per_tick for found in parameters.values()):
        longest_s = SEARCH_SHARE * max(found.search_time_s for found in parameters.values())
        conditions = TrialConditions(world, next(iter(parameters.values())).min_improvement)
        part = limit.part(MEASURED_FRACTION)
        expansion_s = measure_speed(problems[:MEASURED_PROBLEMS], conditions, longest_s, part).expansion_s
    return [
        ComparedFile(
            name,
            candidate_of(found),
            k_of(found.expansions_per_tick, found.search_time_s, expansion_s),
            found.min_improvement,
        )
        for name, found in parameters.items()
    ]
