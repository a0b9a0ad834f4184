"""What recording a run costs the planner node, in the thread of its ticks, and how large the file is.

`python -m benchmarks.node.recording FIGURES.json --ros-args …` is the planner node with a stop-watch on its recorder.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from benchmarks.experiments.engine import Experiment, Row, RunPlan, table
from benchmarks.node.node import (
    BEYOND_S,
    SECONDS_OPTION,
    NodeScenario,
    own_processes,
    percentiles,
    repeated,
    start_measuring,
    wait_for,
)
from tb_planner.recording import Recorder, read_record
from tb_planner.ros.processes import end, ros_arguments

LIMIT_PERCENT = 5.0
SCENARIO = NodeScenario('recording', 1000, 20.0, patches=True)
EXPLANATION = f"""\
A planner node with its default settings leads a robot over a map of {SCENARIO.size}² cells on which
things come and go, and records the run. Time is that of the thread of its ticks alone;
encoding and disk have another."""


def plan(options: argparse.Namespace) -> RunPlan:
    return repeated(options, (SCENARIO,), runs, ('map_msgs',))


def runs(scenario: NodeScenario, options: argparse.Namespace) -> list[Row]:
    """Starts planner and bench_world as processes."""
    with own_processes() as (processes, folder):
        record, figures = folder / 'run.tbrun', folder / 'recording.json'
        parameters = ros_arguments({'autostart_node': True, 'record': str(record)})
        planner = processes.start_module('benchmarks.node.recording', [str(figures), *parameters])
        scene = {'size': scenario.size, 'seconds': options.seconds, 'seed': options.seed, 'pids': [planner.pid]}
        bench_world, _ = start_measuring(processes, folder, 'bench_world', scene)
        wait_for(bench_world, processes, options.seconds + BEYOND_S)
        end(processes.all)  # the planner then writes its figures
        return [{'measured_s': options.seconds, **figures_of(json.loads(figures.read_text()), record)}]


def figures_of(times: dict[str, Any], path: Path) -> Row:
    """The figures of the ticks with a goal; those before are short, and have little to record."""
    record = read_record(path)
    began = next(event['tick'] for event in record.events if event.get('goal'))
    ticks, recording = (np.array(times[name])[began:] * 1e6 for name in ('ticks_s', 'recording_s'))
    without = ticks - recording
    minutes = record.columns['time_us'].sum() / 60e6
    return {
        'ticks': len(ticks),
        **{f'tick_{name}_us': value for name, value in mean_and_percentiles(without).items()},
        **{f'recording_{name}_us': value for name, value in mean_and_percentiles(recording).items()},
        'share_percent': 100 * float(recording.sum() / without.sum()),
        'megabytes_a_minute': path.stat().st_size / 1e6 / minutes,
        'expansions': int(record.columns['expansions'].sum()),
        'restarts': len(record.restarts),
    }


def mean_and_percentiles(values: np.ndarray) -> dict[str, float]:
    return {'mean': float(values.mean()), **percentiles(values.tolist())}


FIGURES = {
    'ticks': 'ticks',
    'tick_mean_us': 'tick without recording, mean us',
    'tick_p50_us': '                        p50',
    'tick_p99_us': '                        p99',
    'recording_mean_us': 'recording, mean us',
    'recording_p50_us': '           p50',
    'recording_p99_us': '           p99',
    'recording_max_us': '           max',
    'share_percent': 'recording, % of the tick without it',
    'megabytes_a_minute': 'record, MB a minute',
    'expansions': 'expansions',
    'restarts': 'restarts',
}


def summary(rows: list[Row]) -> str:
    lines = [(text, *(row[name] for row in rows)) for name, text in FIGURES.items()]
    holds = all(row['share_percent'] <= LIMIT_PERCENT for row in rows)
    verdict = f'At most {LIMIT_PERCENT:g} % of the tick: {"yes" if holds else "no"}'
    header = ('', *(f'run {row["repeat"] + 1}' for row in rows))
    return '\n'.join(['', EXPLANATION, '', table(header, lines), '', verdict])


RECORDING = Experiment('recording', 'what recording costs a tick of the node', plan, summary, SECONDS_OPTION)


# ---------------------------------------------------------------------- the planner node that is measured
def run_planner(path: Path, arguments: list[str]) -> int:
    """Lists what each tick takes, and what of that goes to the recorder, in the time of the ticks' thread."""
    from tb_planner.ros import node

    ticks_s: list[float] = []
    recording_s: list[float] = []
    spent_s = 0.0
    own_s = min(-(thread_time() - thread_time()) for _ in range(1000))  # what looking at the clock takes

    def added(method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            nonlocal spent_s
            began_s = thread_time()
            result = method(*arguments)
            spent_s += thread_time() - began_s - own_s
            return result

        return timed

    def tick(active: node.ActivePlanner) -> None:
        nonlocal spent_s
        spent_s, began_s = 0.0, thread_time()
        usual_tick(active)
        ticks_s.append(thread_time() - began_s)
        recording_s.append(spent_s)

    for name in ('searching', 'see', 'end_tick'):
        setattr(Recorder, name, added(getattr(Recorder, name)))
    usual_tick = node.ActivePlanner._tick
    setattr(node.ActivePlanner, '_tick', tick)  # noqa: B010
    code = node.main(['planner', *arguments])
    path.write_text(json.dumps({'ticks_s': ticks_s, 'recording_s': recording_s}))
    return code


if __name__ == '__main__':
    sys.exit(run_planner(Path(sys.argv[1]), sys.argv[2:]))
