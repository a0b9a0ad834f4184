"""Attacks nodes over DDS with random, extreme and malformed input, and checks after each batch that all still work."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tqdm import tqdm

from benchmarks.experiments.engine import Experiment, Row, RunPlan, grouped, table
from benchmarks.node.node import own_processes
from tb_planner.tools.progress import progress_bar

if TYPE_CHECKING:
    from benchmarks.node.fuzz_attack import Attacker, Target

MINUTES, QUICK_MINUTES = 10.0, 0.5
INPUTS, QUICK_INPUTS = 400, 100
"""Inputs of a batch."""
COUNTED = {
    'sent': 'sent',
    'caught': 'caught in rclpy',
    'failed': 'caught in ours',
    'exits': 'exits',
    'stuck': 'stuck',
    'missed_ticks': 'missed ticks',
}
EXPLANATION = """\
sent: messages, requests, connections or frames; caught: exceptions that nodes survived, in rclpy or in our own code;
exits: nodes that ended; stuck: nodes that lived, but did not respond or did not lead to a goal again;
missed ticks: of planners on a steady clock. A batch of parameters may ask for rates that no computer reaches."""


def plan(options: argparse.Namespace) -> RunPlan:
    if not find_spec('rclpy'):
        raise SystemExit("there is no ROS 2 here: source one, or pip install '.[ros]'")
    return RunPlan(None, batches(options))


def batches(options: argparse.Namespace) -> Iterator[Row]:
    """A row for each batch, of one kind after the other, until the time is over; with --batch, of that one alone."""
    from benchmarks.node.fuzz_attack import KINDS, Attacker

    limit_s = 60 * (options.minutes or (QUICK_MINUTES if options.quick else MINUTES))
    count = QUICK_INPUTS if options.quick else INPUTS
    with (
        own_processes(with_this_one=True) as (processes, folder),
        closing(Attacker(processes, folder, options.seed)) as attacker,
        progress_bar() as progress,
    ):
        attacker.start()
        began_s = time.monotonic()
        kinds = list(KINDS)
        for number in itertools.count() if options.batch is None else (options.batch,):
            part = (time.monotonic() - began_s) / limit_s
            if part >= 1 and options.batch is None:
                return
            kind = kinds[number % len(kinds)]
            progress(part, f'seed {options.seed}, batch {number}: {kind}')
            yield {'batch': number, 'kind': kind, **attacked(attacker, kind, number, count)}


def attacked(attacker: Attacker, kind: str, number: int, count: int) -> Row:
    """One batch and the check of all nodes. A node that fails is started again."""
    from benchmarks.node.fuzz_attack import CheckFailed

    before = [figures(target) for target in attacker.targets]
    sent, failures, exits = 0, [], 0
    try:
        sent = attacker.attack(kind, number, count)
    except CheckFailed as error:
        failures.append(str(error))
    for target in attacker.targets:
        try:
            attacker.check(target, number)
        except CheckFailed as error:
            exits += target.has_ended
            failures.append(f'{error}\n{target.log_text[-3000:]}')
            attacker.restart(target)
    for failure in failures:
        tqdm.write(f'batch {number} ({kind}): {failure}')
    after = [figures(target) for target in attacker.targets]
    for target, then in zip(attacker.targets, before):
        for failure in target.failures[then['failed'] :]:
            tqdm.write(f'batch {number} ({kind}), caught in {target.name}: {failure}')
    memory: dict[str, float] = {}
    for target in attacker.targets:
        now_mb, peak_mb = target.memory_mb()
        name = f'{target.name}_memory'
        memory |= {f'{name}_start_mb': target.start_mb, f'{name}_end_mb': now_mb, f'{name}_peak_mb': peak_mb}
    return {
        'sent': sent,
        'exits': exits,
        'stuck': len(failures) - exits,
        **{name: sum(now[name] - then[name] for now, then in zip(after, before)) for name in after[0]},
        **memory,
    }


def figures(target: Target) -> dict[str, int]:
    """Simulated time, which an attack sets, misses no ticks."""
    missed = 0 if target.parameters.get('use_sim_time') else target.missed_ticks
    return {'caught': target.caught, 'failed': len(target.failures), 'missed_ticks': missed}


def summary(rows: list[Row]) -> str:
    kinds = grouped(rows, lambda row: row['kind'])
    lines = [
        [kind, len(batches), *(sum(row[name] for row in batches) for name in COUNTED)]
        for kind, batches in kinds.items()
    ]
    lines.append(['all', len(rows), *(sum(row[name] for row in rows) for name in COUNTED)])
    names = [name.removesuffix('_memory_end_mb') for name in rows[0] if name.endswith('_memory_end_mb')]
    memory = [
        (
            name,
            rows[0][f'{name}_memory_start_mb'],
            max(row[f'{name}_memory_peak_mb'] for row in rows),
            rows[-1][f'{name}_memory_end_mb'],
        )
        for name in names
    ]
    parts = (
        EXPLANATION,
        table(('input', 'batches', *COUNTED.values()), lines),
        table(('memory, MB', 'start', 'peak', 'end'), memory),
        'A batch alone, with the same inputs: python -m benchmarks fuzz --seed SEED --batch NUMBER',
    )
    return '\n'.join(f'\n{part}' for part in parts)


FUZZ = Experiment(
    'fuzz',
    'nodes on ROS 2 under attack: random, extreme and malformed input',
    plan,
    summary,
    {
        '--minutes': {'type': float, 'help': f'length of the run ({MINUTES:g})'},
        '--batch': {'type': int, 'metavar': 'NUMBER', 'help': 'this batch of the seed alone'},
    },
)
