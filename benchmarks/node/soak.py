"""A long drive in a changing world: memory, threads, files, ticks, latency, restarts and safety over time.

Planner and simulator are processes over DDS, with the settings of the demo. The robot gets a new goal whenever it has
reached one. A row is a sample; counts are those since the first goal.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiments.engine import Experiment, Row, RunPlan, table
from benchmarks.node.node import percentiles
from benchmarks.node.safety_oracle import ALLOWANCE_S, SafetyOracle, SafetyRules, report
from benchmarks.report.figures import COLOURS, PAPER, SETTINGS
from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D
from tb_planner.maps.files import read_map
from tb_planner.ros.demo import CHANGE_RATE, CHANGE_SIZE_M, REAL_TIME_FACTOR, ROOM_M
from tb_planner.ros.processes import Domain, Process, Processes, ros_arguments, signals_held_back
from tb_planner.search.algorithms import RestartReason
from tb_planner.simulation.scenes import random_goal, shared_file
from tb_planner.tools.plotting import PictureError, check_matplotlib

if TYPE_CHECKING:
    from benchmarks.node.soak_monitor import SoakMonitor

MINUTES, QUICK_MINUTES = 60.0, 0.1
SAMPLE_S = 5.0
FEWEST_SAMPLES = 6
WARM_UP_MINUTES = 5.0
"""Memory counts after this time, or after half of a shorter run."""
START_LIMIT_S = 60.0
GOALS = 40
"""Places to which the robot goes, one after the other and again."""
GROWTH_LIMIT_MB = 2.0

RESTARTS = {f'restarts_{reason.value}': reason.value.replace('_', ' ') for reason in RestartReason}
TICKS = ('ticks', 'missed_ticks', 'overruns')
TIMES = ('tick_p50_ms', 'tick_p99_ms', 'tick_max_ms', 'tick_jitter_p99_ms', 'tick_jitter_max_ms')


# ---------------------------------------------------------------------- the run
def plan(options: argparse.Namespace) -> RunPlan:
    if not find_spec('rclpy'):
        raise SystemExit("there is no ROS 2 here: source one, or pip install '.[ros]'")
    try:
        check_matplotlib()
    except PictureError as error:
        raise SystemExit(f"{error}: pip install '.[plot]'") from error
    seconds = 60 * (options.minutes or (QUICK_MINUTES if options.quick else MINUTES))
    sample_s = min(SAMPLE_S, seconds / FEWEST_SAMPLES)
    return RunPlan(round(seconds / sample_s), samples(options, round(seconds / sample_s), sample_s))


def samples(options: argparse.Namespace, count: int, sample_s: float) -> Iterator[Row]:
    """Starts planner and simulator, and yields a row every few seconds. If one of them ends, so does the soak."""
    chosen = PlannerParameters()
    oracle = SafetyOracle(rules_of(chosen), chosen.period_s, options.allowance_s)
    goals = itertools.cycle(places(options.map, options.seed))
    with (
        signals_held_back() as signals,
        tempfile.TemporaryDirectory() as name,
        closing(Domain()) as domain,
        Processes(Path(name), domain.enter(Path(name))) as processes,
    ):
        from benchmarks.node.soak_monitor import SoakMonitor

        nodes = start_nodes(processes, options)

        def check() -> None:
            if signals:
                raise KeyboardInterrupt
            if any(node.exit_code is not None for node in nodes):
                raise ProcessEnded

        with closing(SoakMonitor(oracle, goals, check)) as monitor:
            try:
                if not monitor.begin(START_LIMIT_S):
                    raise RuntimeError(f'no waypoint within {START_LIMIT_S:g} s\n{processes.last_lines}')
                meter, before, began_s = Meter(nodes), dict(monitor.facts), time.monotonic()
                for number in range(1, count + 1):
                    monitor.wait(began_s + number * sample_s)
                    if number == count:
                        oracle.finish()
                    yield {'minutes': (time.monotonic() - began_s) / 60, **meter.row(), **row_of(monitor, before)}
            except ProcessEnded:
                print(f'\na node has ended\n{processes.last_lines}', flush=True)
            finally:
                oracle.finish()
                if oracle.violations:
                    print(f'\nunsafe waypoints:\n{report(oracle.violations)}', flush=True)


class ProcessEnded(Exception):
    """Planner or simulator has ended."""


def rules_of(chosen: PlannerParameters) -> SafetyRules:
    return SafetyRules(
        robot_radius_m=chosen.robot_radius_m,
        lethal_threshold=chosen.lethal_threshold,
        allow_unknown=chosen.allow_unknown,
        start_tolerance_m=chosen.start_tolerance_m,
    )


def places(map_name: str, seed: int) -> list[Pose2D]:
    """Random goals, each far from the one before."""
    map_ = read_map(shared_file('maps', f'{map_name}.yaml'))
    found = [Pose2D(0.0, 0.0)]
    for number in range(GOALS):
        found.append(random_goal(map_.occupancy, map_.geometry, found[-1], ROOM_M, seed + number))
    return found[1:]


def start_nodes(processes: Processes, options: argparse.Namespace) -> tuple[Process, Process]:
    world = {
        'map': options.map,
        'world': 'changing',
        'obstacles': options.map,
        'change_rate': CHANGE_RATE,
        'change_size_m': CHANGE_SIZE_M,
        'seed': options.seed,
        'real_time_factor': REAL_TIME_FACTOR,
        'publish_map_updates': options.patches,
    }
    planner = processes.start_module('tb_planner.ros.node', ros_arguments({'autostart_node': True}))
    return planner, processes.start_module('tb_planner.ros.simulator_node', ros_arguments(world))


class Meter:
    """What the processes hold, and what share of a core they and the rest of the machine take between two rows."""

    def __init__(self, nodes: tuple[Process, Process]) -> None:
        self._planner, self._simulator = (node.pid for node in nodes)
        self._before = self._now()

    def _now(self) -> tuple[float, NDArray[np.float64]]:
        from benchmarks.node.bench_world import used_s

        return time.monotonic(), used_s([self._planner, self._simulator, os.getpid()])

    def row(self) -> Row:
        (began_s, before_s), self._before = self._before, self._now()
        now_s, used_s = self._before
        planner, simulator, monitor, busy, stolen = (100 * (used_s - before_s) / (now_s - began_s)).tolist()
        return {
            **process_figures(self._planner),
            'simulator_rss_mb': process_figures(self._simulator)['rss_mb'],
            'monitor_rss_mb': process_figures(os.getpid())['rss_mb'],
            'planner_percent': planner,
            'simulator_percent': simulator,
            'monitor_percent': monitor,
            'others_percent': max(busy - planner - simulator - monitor, 0.0),
            'stolen_percent': stolen,
        }


def process_figures(pid: int) -> Row:
    """Resident memory, threads and open files of a process. Linux only."""
    lines = (line.partition(':') for line in Path(f'/proc/{pid}/status').read_text().splitlines())
    facts = {name: value.split() for name, _, value in lines}
    return {
        'rss_mb': int(facts['VmRSS'][0]) / 1024,
        'threads': int(facts['Threads'][0]),
        'descriptors': len(os.listdir(f'/proc/{pid}/fd')),
    }


def row_of(monitor: SoakMonitor, before: dict[str, str]) -> Row:
    """What planner and oracle have counted since the first goal; latencies are those since the last row.

    before: the planner's diagnostics at the first goal."""
    facts, oracle = monitor.facts, monitor.oracle
    latencies_ms, own_ms = list(monitor.latencies_ms), list(monitor.map_to_waypoint_ms)
    del monitor.latencies_ms[:], monitor.map_to_waypoint_ms[:]
    return {
        'status': facts['status'],
        **{name: int(facts[name]) - int(before[name]) for name in TICKS},
        **{name: float(facts[name]) for name in TIMES},
        'waypoints': monitor.waypoints,
        'maps': monitor.maps,
        **{f'latency_{name}_ms': value for name, value in percentiles(latencies_ms).items()},
        'map_to_waypoint_max_ms': max(own_ms, default=math.nan),
        **{name: int(facts.get(name, 0)) - int(before.get(name, 0)) for name in RESTARTS},
        'goals_reached': monitor.goals_reached,
        'goals_given_up': monitor.goals_given_up,
        'collisions': monitor.collisions,
        'judged': oracle.judged,
        'stops': oracle.stops,
        'excused': oracle.excused,
        'excused_max_ms': 1e3 * oracle.excused_s,
        'unjudged': oracle.unjudged,
        'violations': oracle.violation_count,
    }


# ---------------------------------------------------------------------- what came of it
def summary(rows: list[Row]) -> str:
    last, settled = rows[-1], after_warm_up(rows)
    growth = memory_growth(settled)
    reasons = ', '.join(f'{last[name]} {text}' for name, text in RESTARTS.items() if last[name])
    lines = [
        ('minutes', last['minutes']),
        ('ticks', last['ticks']),
        ('missed ticks', last['missed_ticks']),
        ('ticks longer than a period', last['overruns']),
        ('tick, p99 ms, median of the samples', float(np.median([row['tick_p99_ms'] for row in rows]))),
        ('      max ms', max(row['tick_max_ms'] for row in rows)),
        ('map published to next waypoint, p50 ms', median_of('latency_p50_ms', rows)),
        ('                                max ms', largest('latency_max_ms', rows)),
        ('map received to its waypoint, max ms', largest('map_to_waypoint_max_ms', rows)),
        ('maps', last['maps']),
        ('restarts', sum(last[name] for name in RESTARTS)),
        ('goals reached', last['goals_reached']),
        ('goals given up', last['goals_given_up']),
        ('collisions', last['collisions']),
        ('waypoints judged', last['judged']),
        ('  unsafe', last['violations']),
        ('  safe on the map before only', last['excused']),
        ('  longest time without the new map, ms', last['excused_max_ms']),
        ('  not judged', last['unjudged']),
        ('threads, fewest and most', span('threads', settled)),
        ('open files, fewest and most', span('descriptors', settled)),
        ('planner, MB at first', rows[0]['rss_mb']),
        ('         MB at the end', last['rss_mb']),
        (f'         MB, most less least after {settled[0]["minutes"]:.1f} minutes', growth['span_mb']),
        ('         MB, growth by a linear fit', growth['fit_mb']),
        ('simulator, MB at first and at the end', f'{rows[0]["simulator_rss_mb"]:.1f}, {last["simulator_rss_mb"]:.1f}'),
        ('planner, % of a core', mean_of('planner_percent', rows)),
        ('simulator, % of a core', mean_of('simulator_percent', rows)),
        ('this monitor, % of a core', mean_of('monitor_percent', rows)),
        ('all else on the machine, % of a core', mean_of('others_percent', rows)),
        ('stolen from the machine, % of a core', mean_of('stolen_percent', rows)),
    ]
    texts = [str(__doc__).partition('\n\n')[2], table((f'on {os.cpu_count()} cores', ''), lines), '']
    return '\n'.join(['', *texts, f'restarts: {reasons or "none"}', verdict(last, growth)])


def verdict(last: Row, growth: dict[str, float]) -> str:
    held = {
        'no unsafe waypoint': last['violations'] == 0,
        'no collision': last['collisions'] == 0,
        'no missed tick': last['missed_ticks'] == 0,
        f'memory growth below {GROWTH_LIMIT_MB:g} MB': growth['span_mb'] < GROWTH_LIMIT_MB,
    }
    return '; '.join(f'{text}: {"yes" if holds else "NO"}' for text, holds in held.items())


def after_warm_up(rows: list[Row]) -> list[Row]:
    """The rows after the first minutes, in which memory is still taken for the first time."""
    begin = min(WARM_UP_MINUTES, rows[-1]['minutes'] / 2)
    return [row for row in rows if row['minutes'] >= begin] or rows


def memory_growth(rows: list[Row]) -> dict[str, float]:
    """The planner's: the most less the least, and what a straight line through the samples rises by."""
    minutes, rss_mb = (np.array([row[name] for row in rows], float) for name in ('minutes', 'rss_mb'))
    slope = float(np.polyfit(minutes, rss_mb, 1)[0]) if len(rows) > 1 else 0.0
    return {'span_mb': float(np.ptp(rss_mb)), 'fit_mb': slope * float(np.ptp(minutes))}


def span(name: str, rows: list[Row]) -> str:
    values = [row[name] for row in rows]
    return f'{min(values)}, {max(values)}'


def known(name: str, rows: list[Row]) -> list[float]:
    return [row[name] for row in rows if not math.isnan(row[name])] or [math.nan]


def largest(name: str, rows: list[Row]) -> float:
    return max(known(name, rows))


def median_of(name: str, rows: list[Row]) -> float:
    return float(np.median(known(name, rows)))


def mean_of(name: str, rows: list[Row]) -> float:
    return float(np.mean(known(name, rows)))


# ---------------------------------------------------------------------- the picture
MEMORY = {'rss_mb': ''}
LEAST_SPAN_MB = 4.0
"""The least span of the memory's axis: a smaller one would show noise as growth."""
PANELS: dict[str, dict[str, str]] = {
    'memory of the planner, MB': MEMORY,
    'threads and open files': {'threads': 'threads', 'descriptors': 'open files'},
    'ticks, ms': {'tick_p50_ms': 'p50', 'tick_p99_ms': 'p99', 'tick_max_ms': 'max of the last 1024'},
    'map published to next waypoint, ms': {'latency_p50_ms': 'p50', 'latency_max_ms': 'max'},
    'ticks and safety, counts': {
        'missed_ticks': 'missed ticks',
        'collisions': 'collisions',
        'violations': 'unsafe waypoints',
    },
    'goals': {'goals_reached': 'reached', 'goals_given_up': 'given up'},
    'restarts': RESTARTS,
    'processor, % of a core': {
        'planner_percent': 'planner',
        'simulator_percent': 'simulator',
        'monitor_percent': 'monitor',
        'others_percent': 'all else',
    },
}
PANEL_INCHES = (4.2, 2.4)


def draw(rows: list[Row], path: Path) -> None:
    """A panel for each figure over time, as SVG or PNG."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings: Any = {**SETTINGS, 'svg.hashsalt': 'soak'}
    with rc_context(settings):
        width, height = PANEL_INCHES
        canvas = Figure(figsize=(2 * width, height * len(PANELS) / 2), layout='constrained', facecolor=PAPER)
        minutes = [row['minutes'] for row in rows]
        for number, (title, columns) in enumerate(PANELS.items()):
            axes = canvas.add_subplot(-(-len(PANELS) // 2), 2, number + 1)
            shown = {name: text for name, text in columns.items() if columns is not RESTARTS or rows[-1][name]}
            for colour, (name, text) in zip(itertools.cycle(COLOURS), shown.items()):
                axes.plot(minutes, [row[name] for row in rows], color=colour, label=text, linewidth=1.2)
            axes.set_title(title, fontsize=10, loc='left')
            low, high = axes.get_ylim()
            if columns is MEMORY:
                axes.set_ylim(min(low, (low + high - LEAST_SPAN_MB) / 2), max(high, (low + high + LEAST_SPAN_MB) / 2))
            else:
                axes.set_ylim(0, max(1.0, 1.05 * high))
            if any(shown.values()):
                axes.legend(frameon=False, fontsize=8, loc='best')
            if number >= len(PANELS) - 2:
                axes.set_xlabel('minutes')
        path.parent.mkdir(parents=True, exist_ok=True)
        canvas.savefig(path, metadata={'Date': None} if path.suffix == '.svg' else None)


SOAK = Experiment(
    'soak',
    'a long drive in a changing world: memory, ticks and safety over time',
    plan,
    summary,
    {
        '--minutes': {'type': float, 'help': f'length of the drive ({MINUTES:g})'},
        '--map': {'choices': ('office', 'warehouse'), 'default': 'office', 'help': 'office or warehouse (office)'},
        '--patches': {'action': 'store_true', 'help': 'the simulator publishes changes as map updates; needs map_msgs'},
        '--allowance-s': {
            'type': float,
            'default': ALLOWANCE_S,
            'help': f'latency that the safety oracle allows beyond a tick ({ALLOWANCE_S:g})',
        },
        '--plot': {'type': Path, 'default': Path('results/soak.svg'), 'help': 'SVG or PNG file (results/soak.svg)'},
    },
    draw,
)
