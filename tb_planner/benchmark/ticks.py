"""How long a tick takes over a whole search, how long a restart, and whether the size of the map matters."""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from tb_planner import Algorithm, Grid, TimeBoundedPlanner, tb_gbfs, tb_wa_star, tba_star
from tb_planner.benchmark import peers, terrain
from tb_planner.benchmark.experiment import Experiment, Plan, Row, grouped, table
from tb_planner.benchmark.terrain import Blocked, Problem, Terrain

ALGORITHMS = {'TBA*': tba_star(), 'TB-WA*(3)': tb_wa_star(3.0), 'TB-GBFS': tb_gbfs()}
KS = (16, 256, 4096)
WHOLE, SLICED, FIRST = 'whole', 'sliced', 'sliced, new planner'
TRACES = {
    SLICED: 'k trace steps a tick, in memory that was searched before',
    FIRST: 'k trace steps a tick, in memory that is touched for the first time',
    WHOLE: 'all of the path traced back in every tick, in memory that was searched before',
}
RESTARTS = 200


def plan(options: argparse.Namespace) -> Plan:
    kinds = peers.maps(options.scale or (0.2 if options.quick else 1.0))
    problems = options.problems or (1 if options.quick else 3)
    total = len(kinds) * len(ALGORITHMS) * len(KS) * len(TRACES)
    return Plan(total, runs(kinds, problems, options.repeats or (2 if options.quick else 5), options.seed))


def runs(kinds: tuple[Terrain, ...], count: int, repeats: int, seed: int) -> Iterator[Row]:
    """A row for each map, algorithm, k and way to trace: its ticks over all problems."""
    for kind in kinds:
        blocked = kind.build(seed)
        problems = terrain.problems(blocked, count, seed)
        for name, algorithm in ALGORITHMS.items():
            for k in KS:
                for trace in TRACES:
                    settings = {'map': kind.name, 'size': len(blocked), 'algorithm': name, 'k': k, 'trace': trace}
                    ticks = [ticks_of(blocked, problem, algorithm, k, trace, repeats) for problem in problems]
                    restart_us = restart_time_us(blocked, problems[0], algorithm)
                    yield {
                        **settings,
                        'repeats': repeats,
                        **statistics(np.concatenate(ticks)),
                        'restart_us': restart_us,
                    }


def ticks_of(
    blocked: Blocked, problem: Problem, algorithm: Algorithm, k: int, trace: str, repeats: int
) -> npt.NDArray[np.int64]:
    """Nanoseconds of each full tick of the search, each the least of its repeats."""
    grid = Grid(blocked)
    planner = new_planner(grid, problem, algorithm, k, trace)
    least = tick_times(planner)
    for _ in range(repeats):
        if trace == FIRST:
            planner = new_planner(grid, problem, algorithm, k, trace)
        else:
            planner.restart()
        least = np.minimum(least, tick_times(planner))
    return least[:-1]  # the last one ends with the goal, before it has done k expansions


def new_planner(grid: Grid, problem: Problem, algorithm: Algorithm, k: int, trace: str) -> TimeBoundedPlanner:
    return TimeBoundedPlanner(grid, *problem, algorithm, k, trace_steps=None if trace == WHOLE else k)


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


def restart_time_us(blocked: Blocked, problem: Problem, algorithm: Algorithm) -> float:
    """The median time to drop a search and to start the next one, towards another goal."""
    planner = TimeBoundedPlanner(Grid(blocked), *problem, algorithm)
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
    return '\n'.join(
        part
        for trace, group in grouped(rows, lambda row: row['trace']).items()
        for part in (f'\n{TRACES[trace]}', tick_table(group), *verdict(group))
    )


def tick_table(rows: list[Row]) -> str:
    header = (
        'map',
        'algorithm',
        'k',
        'ticks',
        'median µs',
        'p99 µs',
        'max µs',
        'p99/median',
        'max/median',
        'restart µs',
    )
    return table(header, [tick_line(row) for row in rows])


def tick_line(row: Row) -> tuple[object, ...]:
    median, p99, most = row['median_us'], row['p99_us'], row['max_us']
    settings = (row['map'], row['algorithm'], row['k'], row['ticks'])
    return (*settings, median, p99, most, p99 / median, most / median, row['restart_us'])


def verdict(rows: list[Row]) -> list[str]:
    """The ratios that have a target; none where there is no full tick to speak of."""
    full = [row for row in rows if row['ticks'] > 0]
    lines = []
    ratios = [f'{row["p99_us"] / row["median_us"]:.2f}' for row in full if row['k'] == 256]
    if ratios:
        lines.append(f'p99 / median at k = 256 (target: at most 2): {", ".join(ratios)}')
    for (algorithm, k), group in grouped(full, lambda row: (row['algorithm'], row['k'])).items():
        open_maps = {row['size']: row['median_us'] for row in group if 'obstacles' in row['map']}
        if len(open_maps) > 1:
            small, large = min(open_maps), max(open_maps)
            ratio = open_maps[large] / open_maps[small]
            lines.append(f'{algorithm}, k = {k}: median at {large}² / at {small}² = {ratio:.2f} (target: at most 1.3)')
    return lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--problems', type=int, help='problems a map, whose ticks are taken together (3)')


TICKS = Experiment('ticks', 'tick by tick over whole searches, and restarts', add_arguments, plan, summary)
