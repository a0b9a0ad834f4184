"""python -m benchmarks EXPERIMENT: measures, prints what it means and writes a row for every run.

`run NAME` is an experiment of the papers, or ours beside them, on any number of processes; `report` says what came out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import engine, report
from benchmarks.experiment import carry_out
from benchmarks.memory import MEMORY
from benchmarks.moves import MOVES
from benchmarks.nav2 import NAV2
from benchmarks.node import NODE
from benchmarks.oscillation import OSCILLATION
from benchmarks.ours import OURS, OURS_REPLANNING
from benchmarks.paper_2009 import PAPER_2009
from benchmarks.paper_2012 import PAPER_2012, PAPER_2012_TIME
from benchmarks.paper_2014 import PAPER_2014, PAPER_2014_DYNAMIC
from benchmarks.peers import PEERS
from benchmarks.recording import RECORDING
from benchmarks.restarts import RESTARTS
from benchmarks.ticks import TICKS
from benchmarks.ties import TIES_EXPERIMENT
from benchmarks.tuner import TUNER
from tb_planner.search import kernel

EXPERIMENTS = (PEERS, TICKS, MEMORY, RESTARTS, MOVES, TIES_EXPERIMENT, TUNER, NODE, NAV2, RECORDING, OSCILLATION)

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
        command.add_argument('--repeats', type=int, help='how often a timing is repeated; the least counts')
        command.add_argument('--seed', type=int, default=0, help='of maps, problems and worlds (0)')
        command.add_argument('--out', type=Path, help=f'CSV file to append to (results/{experiment.name}.csv)')
        experiment.add_arguments(command)
        command.set_defaults(chosen=experiment)
    add_run(commands)
    add_report(commands)
    return parser


def add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    lines = [f'{experiment.name}: {experiment.title}' for experiment in FROM_PAPERS]
    run = commands.add_parser('run', help="the papers' experiments, and ours", description='; '.join(lines))
    run.add_argument('name', choices=[experiment.name for experiment in FROM_PAPERS])
    engine.add_arguments(run)


def add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "the papers' claims, figures and tables beside what was measured: a page and a summary"
    report.add_arguments(commands.add_parser('report', help=text, description=text))


def main() -> int:
    options = command_line().parse_args()
    if options.experiment == 'report':
        return report.carry_out(options, FROM_PAPERS)
    if not kernel.COMPILED:
        print('the kernel is not compiled: times say nothing about the compiled one')
    if options.experiment == 'run':
        by_name = {experiment.name: experiment for experiment in FROM_PAPERS}
        return engine.carry_out(by_name[options.name], options)
    carry_out(options.chosen, options)
    return 0


if __name__ == '__main__':
    sys.exit(main())
