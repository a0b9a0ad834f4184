"""tb_planner tune MAP|BAG: measures, recommends, draws, and writes a parameter file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tb_planner.config import PlannerParameters
from tb_planner.tools import plotting as picture
from tb_planner.tools.bags.options import add_topic_options, topics_of
from tb_planner.tools.tuning.budget import SEARCH_SHARE, Budget, measured_pace
from tb_planner.tools.tuning.comparison import Rival, compare, comparison_text, k_of, remarks
from tb_planner.tools.tuning.ground import Problem
from tb_planner.tools.tuning.parameter_file import (
    candidate_of,
    check_folder,
    check_may_write,
    parameter_file,
    read_parameters,
    with_candidate,
    write_text,
)
from tb_planner.tools.tuning.plot import check_may_draw, draw_study
from tb_planner.tools.tuning.problem_sets import Wanted, read_problems
from tb_planner.tools.tuning.progress import ProgressLine
from tb_planner.tools.tuning.report import IN_WORDS, head, reasons, study_text
from tb_planner.tools.tuning.study import MEASURED_ON, Plan, Study, carry_out_study
from tb_planner.tools.tuning.time_limit import MEASURED_BY, TimeLimit
from tb_planner.tools.tuning.trial import WORLDS, Conditions

DONE, INTERRUPTED = 0, 130
EXAMPLES = """examples:
  tb_planner tune depot.yaml --tick-hz 20 --cpu 0.2
  tb_planner tune depot.yaml --params planner.yaml --world unknown -o tuned.yaml
  tb_planner tune depot.yaml --compare planner.yaml tuned.yaml
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
    parser.add_argument(
        '--compare', metavar='FILE', type=Path, nargs='+', help='only compare these parameter files, with their budgets'
    )
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
        help='seconds; what is under way then is broken off, and the rest left out; default: 120',
    )


def tune(options: argparse.Namespace) -> int:
    """Ends with 0, or with 130 if it was interrupted and what there was has been told."""
    limit = TimeLimit(options.time_limit)
    for name, least in (('problems', 1), ('seed', 0)):
        if getattr(options, name) < least:
            raise ValueError(f'--{name} is {getattr(options, name)}; it is at least {least}')
    if options.compare:
        return compare_files(options, limit)
    png = options.png or options.output.with_suffix('.png')
    if png == options.output:
        raise ValueError(f'-o {options.output}: the plot would be written over it; --png names another file for that')
    check_may_write(options.output)
    check_folder('--png', png)
    check_may_draw(png)
    if options.png is not None:
        picture.check_matplotlib()
    parameters = PlannerParameters() if options.params is None else read_parameters(options.params)
    with ProgressLine(limit) as progress:
        study = carry_out_study(make_plan(options, parameters, limit, progress), limit, progress)
    print(study_text(study))
    write(study, parameters, options.output)
    draw(study, png, asked_for=options.png is not None)
    return INTERRUPTED if study.interrupted else DONE


def make_plan(
    options: argparse.Namespace, parameters: PlannerParameters, limit: TimeLimit, progress: ProgressLine
) -> Plan:
    budget = Budget(parameters.tick_frequency if options.tick_hz is None else options.tick_hz, options.cpu)
    progress(0.0, 'drawing problems')
    sets = read_problems(wanted(options), parameters, limit)
    return Plan(
        seen=sets.seen,
        unseen=sets.unseen,
        budget=budget,
        conditions=Conditions(options.world, parameters.min_improvement),
        default=candidate_of(parameters),
        origin=sets.origin,
        cut_short=sets.cut_short,
    )


def wanted(options: argparse.Namespace) -> Wanted:
    return Wanted(
        path=options.map,
        world=options.world,
        problems=options.problems,
        seed=options.seed,
        topics=topics_of(options),
        base_frame=options.base_frame,
    )


def write(study: Study, parameters: PlannerParameters, path: Path) -> None:
    tuned = with_candidate(parameters, study.recommended, study.k, study.plan.budget)
    write_text(path, parameter_file(tuned, head(study), reasons(study)))
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


def compare_files(options: argparse.Namespace, limit: TimeLimit) -> int:
    """The map is seen by the first one's rules."""
    if options.params is not None:
        raise ValueError('--params goes with tuning; name that file with --compare, too')
    if len({path.resolve() for path in options.compare}) < max(len(options.compare), 2):
        raise ValueError(f'--compare {" ".join(map(str, options.compare))}: it takes two files or more, each once')
    names = {path.name for path in options.compare}
    files = {path.name if len(names) == len(options.compare) else str(path): path for path in options.compare}
    parameters = {name: read_parameters(path) for name, path in files.items()}
    for remark in remarks(parameters):
        print(remark)
    with ProgressLine(limit) as progress:
        progress(0.0, 'drawing problems')
        sets = read_problems(wanted(options), next(iter(parameters.values())), limit)
        rivals = make_rivals(parameters, sets.seen, options.world, limit)
        comparison = compare(rivals, sets.seen, options.world, limit, progress)
    print(comparison_text(comparison))
    return INTERRUPTED if comparison.interrupted else DONE


def make_rivals(
    parameters: Mapping[str, PlannerParameters], problems: Sequence[Problem], world: str, limit: TimeLimit
) -> list[Rival]:
    """This computer is measured if one of them says how long to search, and not how much."""
    expansion_s = 0.0
    if any(not found.expansions_per_tick for found in parameters.values()):
        longest_s = SEARCH_SHARE * max(found.search_time_s for found in parameters.values())
        first = next(iter(parameters.values()))
        conditions = Conditions(world, first.min_improvement)
        measured = measured_pace(problems[:MEASURED_ON], conditions, longest_s, limit.part(MEASURED_BY))
        expansion_s = measured.expansion_s
    return [
        Rival(
            name,
            candidate_of(found),
            k_of(found.expansions_per_tick, found.search_time_s, expansion_s),
            found.min_improvement,
        )
        for name, found in parameters.items()
    ]
