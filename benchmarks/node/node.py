"""Planner nodes over DDS while maps change: missed ticks, jitter, time from map to waypoint, processor time."""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.experiments.engine import Experiment, Row, RunPlan, grouped, table
from tb_planner.ros.processes import Domain, Process, Processes, ros_arguments

SECONDS, QUICK_SECONDS = 60.0, 2.0
SECONDS_OPTION = {'--seconds': {'type': float, 'help': f'measured in each run ({SECONDS:g})'}}
BEYOND_S = 150.0
"""What a run may take longer than it measures, until something must be wrong."""
MACHINE = ('playground_percent', 'others_percent', 'stolen_percent')


class NodeScenario(NamedTuple):
    """Who plans on what."""

    name: str
    size: int
    tick_frequency: float
    robots: int = 1
    patches: bool = False
    goals: bool = True


SCENARIOS = (
    NodeScenario('1000', 1000, 20.0),
    NodeScenario('1000-patches', 1000, 20.0, patches=True),
    NodeScenario('4000', 4000, 10.0),
    NodeScenario('fleet', 1000, 10.0, robots=5),
    NodeScenario('idle', 4000, 20.0, goals=False),
)
EXPLANATION = """\
1000: whole maps of 1000² cells every second; 1000-patches: ten map updates a second, a sixteenth of the map each;
4000: whole maps of 4000² cells every second; fleet: five planners, whole maps of 1000² cells every second for all;
idle: as 4000, at 20 Hz, without goals.
In all of them 1 % of the cells change every second. Of several robots the worst, of several repeats the best run."""


def plan(options: argparse.Namespace) -> RunPlan:
    scenarios: Sequence[NodeScenario] = SCENARIOS
    if not find_spec('map_msgs'):
        print('map_msgs is not installed: 1000-patches is left out')
        scenarios = [scenario for scenario in SCENARIOS if not scenario.patches]
    return repeated(options, scenarios, runs)


def repeated(
    options: argparse.Namespace,
    scenarios: Iterable[Any],
    rows: Callable[[Any, argparse.Namespace], Iterable[Row]],
    needed: Sequence[str] = (),
) -> RunPlan:
    """Runs each scenario, and all of them again for each repeat, with another seed. needed: ROS packages."""
    for package in ('rclpy', *needed):
        if not find_spec(package):
            raise SystemExit(f"there is no ROS 2 here that has {package}: source one, or pip install '.[ros]'")
    options.seconds = options.seconds or (QUICK_SECONDS if options.quick else SECONDS)
    only = getattr(options, 'only', None)
    chosen = [scenario for scenario in scenarios if not only or scenario.name in only]
    repeats = range(options.repeats or 1)

    def all_rows() -> Iterator[Row]:
        for repeat, scenario in itertools.product(repeats, chosen):
            size = max(round(scenario.size * options.scale), 200)
            again = argparse.Namespace(**{**vars(options), 'seed': options.seed + repeat})
            for row in rows(scenario._replace(size=size), again):
                yield {'scenario': scenario.name, 'size': size, 'repeat': repeat, **row}

    return RunPlan(len(repeats) * sum(getattr(scenario, 'robots', 1) for scenario in chosen), all_rows())


def options_of(scenarios: Iterable[Any]) -> dict[str, dict[str, Any]]:
    names = [scenario.name for scenario in scenarios]
    only = {'nargs': '+', 'choices': names, 'metavar': 'NAME', 'help': f'some of {", ".join(names)}'}
    return {**SECONDS_OPTION, '--only': only}


def runs(scenario: NodeScenario, options: argparse.Namespace) -> Iterator[Row]:
    """A row for each planner."""
    figures = measured(scenario, options.seconds, options.seed)
    for number, robot in enumerate(figures['robots']):
        yield {
            'tick_frequency': scenario.tick_frequency,
            'patches': scenario.patches,
            'robot': number,
            'robots': scenario.robots,
            'measured_s': figures['seconds'],
            **robot_figures(robot, 1 / scenario.tick_frequency),
            **{name: figures[name] for name in MACHINE},
        }


@contextmanager
def own_processes(*, with_this_one: bool = False) -> Iterator[tuple[Processes, Path]]:
    """Processes on a ROS domain of their own, which end with the block, and their folder. with_this_one: whether the
    nodes of this process are to be in that domain, too."""
    with tempfile.TemporaryDirectory() as name, closing(Domain()) as domain:
        folder = Path(name)
        environment = domain.enter(folder) if with_this_one else domain.environment(folder)
        with Processes(folder, environment) as processes:
            yield processes, folder


def measured(scenario: NodeScenario, seconds: float, seed: int) -> dict[str, Any]:
    """Starts planners and their bench_world as processes, and returns what the bench_world measured."""
    with own_processes() as (processes, folder):
        namespaces = [f'/robot_{i}' for i in range(scenario.robots)] if scenario.robots > 1 else ['']
        pids = [start_planner(processes, namespace, scenario.tick_frequency).pid for namespace in namespaces]
        scene = {
            'size': scenario.size,
            'patches': scenario.patches,
            'goals': scenario.goals,
            'seconds': seconds,
            'seed': seed,
        }
        bench_world, figures_path = start_measuring(
            processes, folder, 'bench_world', {**scene, 'namespaces': namespaces, 'pids': pids}
        )
        wait_for(bench_world, processes, seconds + BEYOND_S)
        return dict(json.loads(figures_path.read_text()))


def start_planner(processes: Processes, namespace: str, tick_frequency: float) -> Process:
    """Starts a planner with default parameters except for its rate; the robots of a fleet share the map."""
    remaps = {'__ns': namespace, 'map': '/map', 'map_updates': '/map_updates'} if namespace else {}
    parameters = {'autostart_node': True, 'tick_frequency': tick_frequency}
    return processes.start_module('tb_planner.ros.node', ros_arguments(parameters, remaps=remaps))


def start_measuring(processes: Processes, folder: Path, module: str, scene: dict[str, Any]) -> tuple[Process, Path]:
    """Starts a module that measures this scene. Returns the process, and the file that its figures will be in."""
    scene_path, figures = (folder / f'{len(processes.all)}_{what}.json' for what in ('scene', 'figures'))
    scene_path.write_text(json.dumps(scene))
    return processes.start_module(f'benchmarks.node.{module}', [str(scene_path), str(figures)]), figures


def wait_for(bench_world: Process, processes: Processes, limit_s: float) -> None:
    """Waits until the process has ended with exit code 0; raises RuntimeError if it or a planner fails."""
    deadline = time.monotonic() + limit_s
    while bench_world.exit_code is None:
        dead = [process for process in processes.all if process.exit_code not in (None, 0)]
        if dead or time.monotonic() > deadline:
            break
        bench_world.wait(0.5)
    if bench_world.exit_code != 0:
        raise RuntimeError(f'no figures\n{processes.last_lines}')


def robot_figures(robot: dict[str, Any], period_s: float) -> Row:
    first, last = robot['diagnostics'][0], robot['diagnostics'][-1]
    counted = {name: int(last[name]) - int(first[name]) for name in ('ticks', 'missed_ticks', 'overruns')}
    intervals_s = np.diff(robot['received_s'])
    jitter_ms = np.abs(intervals_s - period_s) * 1e3
    map_to_waypoint_ms = [float(values['map_to_waypoint_ms'] or 'nan') for values in robot['diagnostics']]
    return {
        **counted,
        'waypoints': len(robot['received_s']),
        'missed_waypoints': int(np.maximum(np.rint(intervals_s / period_s) - 1, 0).sum()),
        **{f'tick_{name}_ms': float(last[f'tick_{name}_ms']) for name in ('p50', 'p99', 'max')},
        **{f'tick_jitter_{name}_ms': float(last.get(f'tick_jitter_{name}_ms', 'nan')) for name in ('p99', 'max')},
        **{f'waypoint_jitter_{name}_ms': value for name, value in percentiles(jitter_ms).items()},
        **{f'map_to_waypoint_{name}_ms': value for name, value in percentiles(map_to_waypoint_ms).items()},
        **{f'reaction_{name}_ms': value for name, value in percentiles(robot['reactions_ms']).items()},
        'reactions': len(robot['reactions_ms']),
        'without_reaction': robot['without_reaction'],
        'restarts': int(last['restarts']) - int(first['restarts']),
        'planner_percent': robot['planner_percent'],
        'planner_mb': robot['planner_mb'],
    }


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """nan if there are no values; values that are nan do not count."""
    found = pd.Series(values, dtype=float).quantile([0.5, 0.99, 1.0])
    return dict(zip(('p50', 'p99', 'max'), map(float, found), strict=True))


FIGURES = {
    'ticks': 'ticks',
    'missed_ticks': 'missed ticks',
    'overruns': 'ticks longer than a period',
    'waypoints': 'waypoints received',
    'missed_waypoints': 'periods without a waypoint',
    'tick_p50_ms': 'tick, p50 ms',
    'tick_p99_ms': '      p99',
    'tick_max_ms': '      max',
    'tick_jitter_p99_ms': "jitter of ticks' begins, p99 ms",
    'tick_jitter_max_ms': '                         max',
    'waypoint_jitter_p50_ms': 'jitter of waypoints received, p50 ms',
    'waypoint_jitter_p99_ms': '                           p99',
    'waypoint_jitter_max_ms': '                           max',
    'map_to_waypoint_p50_ms': 'map received to waypoint, p50 ms',
    'map_to_waypoint_max_ms': '                          max',
    'reaction_p50_ms': 'map published to waypoint received, p50 ms',
    'reaction_p99_ms': '                                 p99',
    'reaction_max_ms': '                                 max',
    'without_reaction': 'maps that another came before',
    'restarts': 'restarts of the search',
    'planner_percent': 'planner, % of a core',
    'planner_mb': '         resident memory at the end, MB',
    'playground_percent': 'maps and robots, % of a core',
    'others_percent': 'all else on the machine, % of a core',
    'stolen_percent': 'stolen from the machine, % of a core',
}


def summary(rows: list[Row]) -> str:
    best = {name: best_run(group) for name, group in grouped(rows, lambda row: row['scenario']).items()}
    header = (f'on {os.cpu_count()} cores', *best)
    lines = [(text, *(worst(name, run) for run in best.values())) for name, text in FIGURES.items()]
    if any(row['repeat'] for row in rows):
        lines.insert(2, ('             in each repeat', *missed_in_each_repeat(rows)))
    return '\n'.join(['', EXPLANATION, '', table(header, lines)])


def best_run(rows: list[Row]) -> list[Row]:
    """The repeat with the fewest ticks missed, and then the least jitter."""
    repeats = grouped(rows, lambda row: row['repeat']).values()
    return min(repeats, key=lambda run: (worst('missed_ticks', run), worst('waypoint_jitter_max_ms', run)))


def missed_in_each_repeat(rows: list[Row]) -> list[str]:
    """For each scenario, the ticks that all robots together missed in each repeat."""
    return [
        ', '.join(
            str(sum(row['missed_ticks'] for row in run)) for run in grouped(group, lambda row: row['repeat']).values()
        )
        for group in grouped(rows, lambda row: row['scenario']).values()
    ]


def worst(name: str, run: list[Row]) -> float:
    """The worst value among several robots."""
    values = [row[name] for row in run if not math.isnan(row[name])] or [math.nan]
    return min(values) if name in ('ticks', 'waypoints') else max(values)


NODE = Experiment('node', 'planner nodes on ROS 2 while maps change', plan, summary, options_of(SCENARIOS))
