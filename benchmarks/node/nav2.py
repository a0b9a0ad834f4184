"""Nav2's planner actions over DDS: how soon a goal is acknowledged while maps change and ticks search."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.experiments.engine import Experiment, Row, RunPlan, grouped, table
from benchmarks.node.node import (
    BEYOND_S,
    MACHINE,
    options_of,
    own_processes,
    percentiles,
    repeated,
    robot_figures,
    start_measuring,
    wait_for,
)
from tb_planner.ros.processes import ros_arguments

AFTER_S = 6.0
"""Maps change for this time after the last request, or for three times what is measured, if that is less: the client
starts when the planner is there."""
LIMIT_MS = 20.0
"""The default of Nav2's trees; a goal acknowledged later has failed."""
TICK_FREQUENCY = 20.0


class Nav2Scenario(NamedTuple):
    """What a tick may search, and what is asked for."""

    name: str
    algorithm: str
    search_time_s: float
    asks: tuple[str, ...]
    """What is asked for, each by a client of its own; the first one is measured."""
    size: int = 2000
    poses: int = 0
    """The number of poses of each request for a path through poses; the map does not change then."""


ONE_PATH, NEW_PATHS, CANCELED, TOURS = 'one path', 'new paths', 'canceled', 'tours'
"""What can be asked for: one path, again and again; from corner to corner, each time another one; long paths that are
canceled while they are searched for; or paths through many poses, each time from another start."""
SCENARIOS = (
    Nav2Scenario('one-path', 'tb_wa_star', 0.01, (ONE_PATH,)),
    Nav2Scenario('new-paths', 'tb_wa_star', 0.01, (ONE_PATH, NEW_PATHS)),
    Nav2Scenario('search', 'tba_star', 0.01, (CANCELED,)),
    Nav2Scenario('long-search', 'tba_star', 0.045, (CANCELED,)),
    *(Nav2Scenario(f'poses-{poses}', 'tb_wa_star', 0.01, (TOURS,), poses=poses) for poses in (2, 50, 500, 5000)),
)
EXPLANATION = f"""\
A costmap of 2000² cells, 10 updates a second, 1 % of its cells change; {TICK_FREQUENCY:g} ticks a second. A robot
drives to a goal of its own. one-path: the same path across the map is asked for again and again; new-paths: the
same, while a second client gets other paths as long as that; search: paths that take TBA* seconds to find, canceled
while they are searched for; long-search: the same, and a tick searches 45 of its 50 ms. poses-N: paths through N poses,
0.4 m apart in rooms, each time from another start, on a map that does not change. Acknowledgement: from sending a goal
to hearing that it is accepted, in the client."""


def plan(options: argparse.Namespace) -> RunPlan:
    return repeated(options, SCENARIOS, runs, ('nav2_msgs', 'map_msgs'))


def runs(scenario: Nav2Scenario, options: argparse.Namespace) -> Iterator[Row]:
    client, bench_world = measured(scenario, options.seconds, options.seed)
    yield {
        'tick_frequency': TICK_FREQUENCY,
        'search_time_s': scenario.search_time_s,
        'measured_s': options.seconds,
        **client_figures(client),
        **planner_figures(bench_world['robots'][0]),
        **{name: bench_world[name] for name in MACHINE},
    }


def measured(scenario: Nav2Scenario, seconds: float, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What client and bench_world have seen of a planner; each is a process."""
    with own_processes() as (processes, folder):
        parameters: dict[str, bool | float | str] = {
            'autostart_node': True,
            'nav2': True,
            'tick_frequency': TICK_FREQUENCY,
            'search_time_s': scenario.search_time_s,
            'algorithm': scenario.algorithm,
            'max_planning_time_s': 60.0,
            'bond_heartbeat_period': 0.0,
        }
        planner = processes.start_module('tb_planner.ros.node', ros_arguments(parameters))
        asked = {'size': scenario.size, 'seconds': seconds, 'seed': seed}
        changing = {
            **asked,
            'seconds': seconds + min(AFTER_S, 3 * seconds),
            'pids': [planner.pid],
            'changes': scenario.poses == 0,
        }
        started = [start_measuring(processes, folder, 'bench_world', changing)]
        for what in scenario.asks:
            started.append(
                start_measuring(processes, folder, 'nav2_client', {**asked, 'what': what, 'poses': scenario.poses})
            )
        for process, _ in reversed(started):
            wait_for(process, processes, seconds + BEYOND_S)
        bench_world, client = (json.loads(figures.read_text()) for _, figures in started[:2])
        return client, bench_world


def client_figures(client: dict[str, Any]) -> Row:
    acknowledged_ms = client['acknowledged_ms']
    return {
        'requests': len(acknowledged_ms),
        **{f'acknowledged_{name}_ms': value for name, value in percentiles(acknowledged_ms).items()},
        'too_late': sum(time_ms > LIMIT_MS for time_ms in acknowledged_ms),
        **{f'result_{name}_ms': value for name, value in percentiles(client['result_ms']).items()},
        **{f'planning_{name}_ms': value for name, value in percentiles(client['planning_ms']).items()},
        'outcomes': ', '.join(f'{count} {outcome}' for outcome, count in sorted(client['outcomes'].items())),
    }


def planner_figures(robot: dict[str, Any]) -> Row:
    last = robot['diagnostics'][-1]
    reported = ('acknowledgement_p99_ms', 'acknowledgement_max_ms', 'action_thread_jitter_p99_ms', 'paths_unchanged')
    figures = robot_figures(robot, 1 / TICK_FREQUENCY)
    kept = ('ticks', 'missed_ticks', 'overruns', 'tick_p50_ms', 'tick_p99_ms', 'tick_max_ms', 'planner_percent')
    return {**{name: figures[name] for name in kept}, **{name: float(last[name]) for name in reported}}


FIGURES = {
    'requests': 'goals sent',
    'acknowledged_p50_ms': 'acknowledged, p50 ms',
    'acknowledged_p99_ms': '              p99',
    'acknowledged_max_ms': '              max',
    'too_late': f'              later than {LIMIT_MS:g} ms',
    'result_p50_ms': 'goal to result, p50 ms',
    'result_p99_ms': '                p99',
    'planning_p50_ms': 'planning_time, p50 ms',
    'outcomes': 'results',
    'paths_unchanged': 'paths that were the same message again',
    'acknowledgement_p99_ms': 'goal taken to acknowledgement, from diagnostics, p99 ms',
    'action_thread_jitter_p99_ms': 'jitter of the thread of the actions, p99 ms',
    'tick_p50_ms': 'tick, p50 ms',
    'tick_p99_ms': '      p99',
    'tick_max_ms': '      max',
    'missed_ticks': 'missed ticks',
    'planner_percent': 'planner, % of a core',
    'others_percent': 'client and all else on the machine, % of a core',
}


def summary(rows: list[Row]) -> str:
    """The table of the repeats with the worst p99."""
    worst = {
        name: max(group, key=lambda row: row['acknowledged_p99_ms'])
        for name, group in grouped(rows, lambda row: row['scenario']).items()
    }
    lines = [(text, *(row[name] for row in worst.values())) for name, text in FIGURES.items()]
    return '\n'.join(['', EXPLANATION, '', table(('', *worst), lines)])


NAV2 = Experiment('nav2', "how soon Nav2's goals are acknowledged", plan, summary, options_of(SCENARIOS))
