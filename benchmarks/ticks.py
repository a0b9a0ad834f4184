"""How long a tick takes over a whole search, how long a restart, and whether the size of the map matters."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from benchmarks import library_comparison
from benchmarks.experiments import terrain
from benchmarks.experiments.engine import Experiment, Row, RunPlan, geometric_mean, grouped, table
from benchmarks.experiments.terrain import Blocked, GridProblem, NamedMap
from tb_planner import Algorithm, Grid, TimeBoundedPlanner, tb_gbfs, tb_wa_star, tba_star

ALGORITHMS = {'TBA*': tba_star(), 'TB-WA*(3)': tb_wa_star(3.0), 'TB-GBFS': tb_gbfs()}
KS = (16, 256, 4096)
WHOLE, SLICED, FIRST, TOUCHED = 'whole', 'sliced', 'sliced, new planner', 'sliced, new planner, touched'
TRACES = {
    SLICED: 'k trace steps a tick, in memory that was searched before',
    FIRST: 'k trace steps a tick, in memory that is touched for the first time',
    TOUCHED: 'k trace steps a tick, in new memory after touch_memory()',
    WHOLE: 'all of the path traced back in every tick, in memory that was searched before',
}
RESTARTS = 200
WITHIN = 'within walls of'


def maps(scale: float) -> tuple[NamedMap, ...]:
    """Those of the comparison with other libraries, and the first of them again within walls as large as the second."""
    kinds = library_comparison.maps(scale)
    small, large = kinds[:2]

    def build(seed: int) -> Blocked:
        blocked = np.ones_like(large.build(seed))
        inner = small.build(seed)
        blocked[: len(inner), : len(inner)] = inner
        return blocked

    return (*kinds, NamedMap(f'{small.name}, {WITHIN} {large.name.split()[0]}', build))


def plan(options: argparse.Namespace) -> RunPlan:
    kinds = maps(options.scale or (0.2 if options.quick else 1.0))
    problems = options.problems or (1 if options.quick else 3)
    total = len(kinds) * problems * len(ALGORITHMS) * len(KS) * len(TRACES)
    return RunPlan(total, runs(kinds, problems, options.repeats or (2 if options.quick else 5), options.seed))


def runs(kinds: tuple[NamedMap, ...], count: int, repeats: int, seed: int) -> Iterator[Row]:
    """A row for each search: map, problem, algorithm, k and the rule of trace-back."""
    for kind in kinds:
        blocked = kind.build(seed)
        grid = Grid(blocked)
        inner = len(kinds[0].build(seed)) if WITHIN in kind.name else len(blocked)
        problems = terrain.problems(blocked[:inner, :inner], count, seed)
        for name, algorithm in ALGORITHMS.items():
            restart_us = restart_time_us(grid, problems[0], algorithm)
            for k in KS:
                for trace in TRACES:
                    for number, problem in enumerate(problems):
                        yield {
                            **{'map': kind.name, 'size': len(blocked), 'problem': number, 'algorithm': name},
                            **{'k': k, 'trace': trace, 'repeats': repeats},
                            **statistics(ticks_of(grid, problem, algorithm, k, trace, repeats)),
                            'restart_us': restart_us,
                        }


def ticks_of(
    grid: Grid, problem: GridProblem, algorithm: Algorithm, k: int, trace: str, repeats: int
) -> npt.NDArray[np.int64]:
    """Nanoseconds of each full tick of the search, each the least of its repeats."""
    planner = new_planner(grid, problem, algorithm, k, trace)
    least = tick_times(planner)
    for _ in range(repeats):
        if trace in (FIRST, TOUCHED):
            planner = new_planner(grid, problem, algorithm, k, trace)
        else:
            planner.restart()
        least = np.minimum(least, tick_times(planner))
    return least[:-1]  # the last one ends with the goal, before it has done k expansions


def new_planner(grid: Grid, problem: GridProblem, algorithm: Algorithm, k: int, trace: str) -> TimeBoundedPlanner:
    planner = TimeBoundedPlanner(grid, *problem, algorithm, k, trace_steps=None if trace == WHOLE else k)
    if trace == TOUCHED:
        planner.touch_memory()
    return planner


def tick_times(planner: TimeBoundedPlanner) -> npt.NDArray[np.int64]:
    """Search alone, the agent does not move; a tick takes as long as a caller in Python waits for it."""
    times = []
    clock = time.perf_counter_ns
    with no_garbage_collection():
        while not planner.goal_found:
            begin = clock()
            planner.search()
            times.append(clock() - begin)
    return np.array(times)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def restart_time_us(grid: Grid, problem: GridProblem, algorithm: Algorithm) -> float:
    """The median time to drop a search and to start the next one, towards another goal."""
    planner = TimeBoundedPlanner(grid, *problem, algorithm)
    times = []
    clock = time.perf_counter_ns
    for goal in (problem.start, problem.goal) * (RESTARTS // 2):
        begin = clock()
        planner.new_goal(goal)
        times.append(clock() - begin)
        planner.search()
    return float(np.median(times)) / 1e3


def statistics(ticks: npt.NDArray[np.int64]) -> Row:
    names = ('median_us', 'p99_us', 'max_us')
    if len(ticks) == 0:
        return {'ticks': 0, **dict.fromkeys(names, float('nan'))}
    return {
        'ticks': len(ticks),
        **{name: float(np.percentile(ticks, q)) / 1e3 for name, q in zip(names, (50, 99, 100))},
    }


def summary(rows: list[Row]) -> str:
    parts = []
    for trace, group in grouped(rows, lambda row: row['trace']).items():
        searches = [row for row in group if row['ticks'] > 0]
        parts += [f'\n{TRACES[trace]}', tick_table(searches), *verdict(searches)]
    return '\n'.join(parts)


def tick_table(rows: list[Row]) -> str:
    """Medians in the geometric mean over the searches, the worst search for the ratios."""
    header = ('map', 'algorithm', 'k', 'ticks', 'median µs', 'max µs', 'p99/median', 'max/median', 'restart µs')
    settings = grouped(rows, lambda row: (row['map'], row['algorithm'], row['k']))
    return table(header, [(*names, *tick_figures(group)) for names, group in settings.items()])


def tick_figures(rows: list[Row]) -> tuple[object, ...]:
    p99, most = (max(row[name] / row['median_us'] for row in rows) for name in ('p99_us', 'max_us'))
    ticks, max_us = sum(row['ticks'] for row in rows), max(row['max_us'] for row in rows)
    return ticks, median_us(rows), max_us, p99, most, rows[0]['restart_us']


def median_us(rows: list[Row]) -> float:
    return geometric_mean(row['median_us'] for row in rows)


def verdict(rows: list[Row]) -> list[str]:
    """The ratios that have a target, where there are enough full ticks."""
    lines = []
    ratios = [row['p99_us'] / row['median_us'] for row in rows if row['k'] == 256]
    if ratios:
        worst = f'{max(ratios):.2f}, geometric mean {geometric_mean(ratios):.2f}'
        lines.append(f'p99 / median at k = 256 over {len(ratios)} searches (target: at most 2): worst {worst}')
    if any(row['trace'] == SLICED for row in rows):
        lines += size_ratios(rows)
    return lines


def size_ratios(rows: list[Row]) -> list[str]:
    """Longer problems on a larger map, and the same problems on a larger map: only there the map's size is all."""
    first = rows[0]['map']
    lines = [f'median / that on {first} (target: at most 1.3)']
    for (algorithm, k), group in grouped(rows, lambda row: (row['algorithm'], row['k'])).items():
        on = {name: median_us(some) for name, some in grouped(group, lambda row: row['map']).items()}
        ratios = [f'{on[name] / on[first]:.2f} {name}' for name in on if '%' in name and name != first and first in on]
        if ratios:
            lines.append(f'  {algorithm}, k = {k}: {"; ".join(ratios)}')
    return lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--problems', type=int, help='problems a map (3)')


TICKS = Experiment('ticks', 'tick by tick over whole searches, and restarts', add_arguments, plan, summary)
