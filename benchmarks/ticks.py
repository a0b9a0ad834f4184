"""How long a tick takes over a whole search, how long a restart, and whether the size of the map matters."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Iterator
from statistics import geometric_mean

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks import library_comparison
from benchmarks.experiments import terrain
from benchmarks.experiments.engine import Experiment, Row, RunPlan, table
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
    kinds = maps(options.scale)
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
    gc.disable()
    try:
        while not planner.goal_found:
            begin = clock()
            planner.search()
            times.append(clock() - begin)
    finally:
        gc.enable()
    return np.array(times)


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
    found = np.percentile(ticks, (50, 99, 100)) / 1e3 if len(ticks) else [np.nan] * 3
    return {'ticks': len(ticks), **dict(zip(('median_us', 'p99_us', 'max_us'), map(float, found), strict=True))}


def summary(rows: list[Row]) -> str:
    frame = pd.DataFrame(rows)
    frame = frame[frame.ticks > 0].assign(
        p99=lambda one: one.p99_us / one.median_us, most=lambda one: one.max_us / one.median_us
    )
    parts = []
    for trace, searches in frame.groupby('trace', sort=False):
        parts += [f'\n{TRACES[trace]}', tick_table(searches), *verdict(searches)]
        if trace == SLICED:
            parts += size_ratios(searches)
    return '\n'.join(parts)


def tick_table(searches: pd.DataFrame) -> str:
    """Medians in the geometric mean over the searches, the worst search for the ratios."""
    header = ('map', 'algorithm', 'k', 'ticks', 'median µs', 'max µs', 'p99/median', 'max/median', 'restart µs')
    figures = {'ticks': 'sum', 'median_us': geometric_mean, 'max_us': 'max', 'p99': 'max', 'most': 'max'}
    settings = searches.groupby(['map', 'algorithm', 'k'], sort=False)
    lines = settings.agg({**figures, 'restart_us': 'first'}).reset_index()
    return table(header, lines.itertuples(index=False, name=None))


def verdict(searches: pd.DataFrame) -> list[str]:
    """The ratio that has a target, where there are enough full ticks."""
    ratios = searches[searches.k == 256].p99
    if not len(ratios):
        return []
    worst = f'{ratios.max():.2f}, geometric mean {geometric_mean(ratios):.2f}'
    return [f'p99 / median at k = 256 over {len(ratios)} searches (target: at most 2): worst {worst}']


def size_ratios(searches: pd.DataFrame) -> list[str]:
    """Longer problems on a larger map, and the same problems on a larger map: only there the map's size is all."""
    first = searches['map'].iloc[0]
    lines = [f'median / that on {first} (target: at most 1.3)']
    medians = searches.pivot_table('median_us', ['algorithm', 'k'], 'map', geometric_mean, sort=False)
    for (algorithm, k), on in medians.iterrows():
        ratios = [f'{on[name] / on[first]:.2f} {name}' for name in on.index if '%' in name and name != first]
        lines.append(f'  {algorithm}, k = {k}: {"; ".join(ratios)}')
    return lines


TICKS = Experiment(
    'ticks',
    'tick by tick over whole searches, and restarts',
    plan,
    summary,
    {'--problems': {'type': int, 'help': 'problems a map (3)'}},
)
