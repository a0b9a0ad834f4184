"""What the demo tells: a live line on the way, a summary at the end, and the figures of its picture."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from typing import TYPE_CHECKING

from tb_planner.search.algorithms import takes_weight
from tb_planner.tools.drive import Drive

if TYPE_CHECKING:
    from tb_planner.ros.demo_monitor import DemoMonitor

LIVE_PERIOD_S = 0.1
LINE_PERIOD_S = 3.0


class LiveLine:
    """One line that is written over again and again; where there is no terminal, a line now and then."""

    def __init__(self) -> None:
        self._on_terminal = sys.stdout.isatty()
        self._period_s = LIVE_PERIOD_S if self._on_terminal else LINE_PERIOD_S
        self._due_s = time.monotonic() + self._period_s

    def show(self, text: str) -> None:
        now_s = time.monotonic()
        if now_s < self._due_s:
            return
        self._due_s = now_s + self._period_s
        if self._on_terminal:
            width = shutil.get_terminal_size().columns
            print(f'\r\033[K{text[: width - 1]}', end='', flush=True)
        else:
            print(text, flush=True)

    def clear(self) -> None:
        if self._on_terminal:
            print('\r\033[K', end='', flush=True)


def progress(onlooker: DemoMonitor) -> str:
    facts, distance_m = onlooker.facts, onlooker.distance_to_go_m
    return ' · '.join(
        [
            f'{distance_m:5.1f} m to go' if distance_m is not None else 'where is the robot?',
            f'tick {number(facts, "tick_p50_ms"):.1f} ms, p99 {number(facts, "tick_p99_ms"):.1f} ms',
            f'restarts {restarts(onlooker.drive)}',
            onlooker.status.lower().replace('_', ' '),
        ]
    )


def summary(onlooker: DemoMonitor, time_s: float, options: argparse.Namespace) -> str:
    drive, facts = onlooker.drive, onlooker.facts
    (x, y), collisions = drive.goal, onlooker.collisions
    if onlooker.has_arrived:
        outcome = f'Arrived at ({x:g}, {y:g}) m ' + ('with no collision' if not collisions else 'after collisions')
    else:
        outcome = f'Not arrived at ({x:g}, {y:g}) m within {time_s:.0f} s; the planner says {onlooker.status}'
    way = f'{drive.driven_m:.1f} m driven'
    if drive.shortest_m:
        way += f', {drive.driven_m / drive.shortest_m:.2f} times the shortest way at first, {drive.shortest_m:.1f} m'
    ticks = ', '.join(f'{name} {number(facts, f"tick_{name}_ms"):.2f}' for name in ('p50', 'p99', 'max'))
    lines = {
        'way': way,
        'time': f'{time_s:.1f} s at {options.real_time_factor:g} times real time',
        'ticks': f'{number(facts, "ticks"):.0f} of {ticks} ms; {number(facts, "overruns"):.0f} overruns, '
        f'{number(facts, "missed_ticks"):.0f} missed',
        'restarts': restarts(drive),
        'collisions': str(collisions),
    }
    return '\n'.join([outcome, *(f'  {name:11} {text}' for name, text in lines.items())])


def figures(onlooker: DemoMonitor, time_s: float, options: argparse.Namespace) -> list[str]:
    """What stands in the picture."""
    drive = onlooker.drive
    shortest = [f'shortest {drive.shortest_m:.1f} m'] if drive.shortest_m else []
    return [
        'arrived' if onlooker.has_arrived else f'not arrived: {onlooker.status}',
        f'driven {drive.driven_m:.1f} m',
        *shortest,
        f'{time_s:.1f} s at {options.real_time_factor:g} times real time',
        f'tick p99 {number(onlooker.facts, "tick_p99_ms"):.2f} ms',
        f'restarts {restarts(drive)}',
        f'collisions {onlooker.collisions}',
    ]


def algorithm(options: argparse.Namespace) -> str:
    return f'{options.algorithm}({options.weight:g})' if takes_weight(options.algorithm) else options.algorithm


def restarts(drive: Drive) -> str:
    """The number, and how many for which reason."""
    reasons = ', '.join(
        f'{count} {reason.replace("_", " ")}' for reason, count in drive.restarts.most_common() if count
    )
    return f'{drive.restarts.total()}' + (f' ({reasons})' if reasons else '')


def number(facts: dict[str, str], name: str) -> float:
    return float(facts.get(name) or 0)
