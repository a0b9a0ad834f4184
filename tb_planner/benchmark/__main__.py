"""python -m tb_planner.benchmark EXPERIMENT: measures, prints what it means and writes a row for every run."""

from __future__ import annotations

import argparse
from pathlib import Path

from tb_planner import kernel
from tb_planner.benchmark.experiment import carry_out
from tb_planner.benchmark.memory import MEMORY
from tb_planner.benchmark.moves import MOVES
from tb_planner.benchmark.node import NODE
from tb_planner.benchmark.peers import PEERS
from tb_planner.benchmark.restarts import RESTARTS
from tb_planner.benchmark.ticks import TICKS
from tb_planner.benchmark.ties import TIES_EXPERIMENT

EXPERIMENTS = (PEERS, TICKS, MEMORY, RESTARTS, MOVES, TIES_EXPERIMENT, NODE)


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser('python -m tb_planner.benchmark', description=__doc__)
    commands = parser.add_subparsers(dest='experiment', required=True)
    for experiment in EXPERIMENTS:
        command = commands.add_parser(experiment.name, help=experiment.help, description=experiment.help)
        command.add_argument('--quick', action='store_true', help='small maps and few runs: seconds instead of minutes')
        command.add_argument('--scale', type=float, help='scale of the maps (1, or 0.1 with --quick)')
        command.add_argument('--repeats', type=int, help='how often a timing is repeated; the least counts')
        command.add_argument('--seed', type=int, default=0, help='of maps, problems and worlds (0)')
        command.add_argument('--out', type=Path, help=f'CSV file to append to (results/{experiment.name}.csv)')
        experiment.add_arguments(command)
        command.set_defaults(chosen=experiment)
    return parser


def main() -> None:
    options = command_line().parse_args()
    if not kernel.COMPILED:
        print('the kernel is not compiled: times say nothing about the compiled one')
    carry_out(options.chosen, options)


if __name__ == '__main__':
    main()
