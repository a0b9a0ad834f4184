"""python -m benchmarks NAME: measures, prints a summary and writes a row for every run.

`run NAME` runs an experiment of the papers, or one of ours beside them, on any number of processes; `report` judges
the papers' claims from the rows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import report
from benchmarks.experiments.engine import add_run_arguments, run_measurement, run_paper_experiment
from benchmarks.experiments.ours import OURS, OURS_REPLANNING
from benchmarks.experiments.paper_2009 import PAPER_2009
from benchmarks.experiments.paper_2012 import PAPER_2012, PAPER_2012_TIME
from benchmarks.experiments.paper_2014 import PAPER_2014, PAPER_2014_DYNAMIC
from benchmarks.library_comparison import PEERS
from benchmarks.memory import MEMORY
from benchmarks.moves import MOVES
from benchmarks.node.fuzz import FUZZ
from benchmarks.node.nav2 import NAV2
from benchmarks.node.node import NODE
from benchmarks.node.recording import RECORDING
from benchmarks.node.soak import SOAK
from benchmarks.oscillation import OSCILLATION
from benchmarks.ticks import TICKS
from benchmarks.tuner import TUNER
from tb_planner.search import kernel

EXPERIMENTS = (PEERS, TICKS, MEMORY, MOVES, TUNER, NODE, NAV2, RECORDING, OSCILLATION, FUZZ, SOAK)

FROM_PAPERS = (
    *(PAPER_2009, PAPER_2012, PAPER_2012_TIME, PAPER_2014, PAPER_2014_DYNAMIC),
    *(OURS, OURS_REPLANNING),
)


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser('python -m benchmarks', description=__doc__)
    commands = parser.add_subparsers(dest='experiment', required=True)
    for experiment in EXPERIMENTS:
        command = commands.add_parser(experiment.name, help=experiment.help, description=experiment.help)
        command.add_argument('--quick', action='store_true', help='small maps and few runs: seconds instead of minutes')
        command.add_argument('--scale', type=float, help='scale of the maps (1, or 0.2 with --quick)')
        command.add_argument('--repeats', type=int, help='repetitions of a timing, of which the shortest counts')
        command.add_argument('--seed', type=int, default=0, help='of maps, problems and worlds (0)')
        command.add_argument('--out', type=Path, help=f'CSV file to append to (results/{experiment.name}.csv)')
        for argument, keywords in experiment.arguments.items():
            command.add_argument(argument, **keywords)
        command.set_defaults(chosen=experiment)
    lines = [f'{experiment.name}: {experiment.title}' for experiment in FROM_PAPERS]
    run = commands.add_parser('run', help="the papers' experiments, and ours", description='; '.join(lines))
    run.add_argument('name', choices=[experiment.name for experiment in FROM_PAPERS])
    add_run_arguments(run)
    text = str(report.__doc__).splitlines()[0].partition(': ')[2]
    report.add_arguments(commands.add_parser('report', help=text, description=text))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = command_line().parse_args(arguments)
    if options.experiment == 'report':
        return report.main(options)
    if not kernel.COMPILED:
        print('Warning: the kernel is not compiled; the times below are those of plain Python')
    if options.experiment == 'run':
        by_name = {experiment.name: experiment for experiment in FROM_PAPERS}
        return run_paper_experiment(by_name[options.name], options)
    return run_measurement(options.chosen, options)


if __name__ == '__main__':
    sys.exit(main())
