"""Equal f: last in, first out against larger g first; expansions, time, cost, and the cost of a run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks import library_comparison
from benchmarks.experiments import terrain
from benchmarks.experiments.engine import Experiment, Row, RunPlan, geometric_mean, grouped, mean, table, timed_s
from benchmarks.experiments.terrain import GridProblem, NamedMap
from tb_planner import Algorithm, Grid, Static, TimeBoundedPlanner, find_path, move_to_goal, tb_wa_star
from tb_planner.maps.files import read_map
from tb_planner.search.planner import UNBOUNDED

WEIGHTS = (1.0, 1.4, 3.0)
TIES = ('lifo', 'larger_g')
K = 256
RATIOS = ('expansions', 'ms', 'cost', 'run_cost')


def kinds_of(options: argparse.Namespace) -> list[NamedMap]:
    """Generated maps, or the .map files of a folder."""
    if options.maps is None:
        return list(library_comparison.maps(options.scale or (0.2 if options.quick else 1.0)))
    files = sorted(options.maps.rglob('*.map'))
    if not files:
        raise SystemExit(f'{options.maps} has no .map files')
    return [NamedMap(file.stem, partial(blocked_of, file)) for file in files]


def blocked_of(file: Path, seed: int) -> terrain.Blocked:
    return read_map(file).blocked


def plan(options: argparse.Namespace) -> RunPlan:
    kinds = kinds_of(options)
    count = options.problems or (1 if options.quick else 5)
    repeats = options.repeats or (1 if options.quick else 3)
    return RunPlan(len(kinds) * count * len(WEIGHTS) * len(TIES), runs(kinds, count, repeats, options.seed))


def runs(kinds: list[NamedMap], count: int, repeats: int, seed: int) -> Iterator[Row]:
    for kind in kinds:
        blocked = kind.build(seed)
        grid = Grid(blocked)
        for number, problem in enumerate(terrain.problems(blocked, count, seed, apart=0.3)):
            for w in WEIGHTS:
                for ties in TIES:
                    settings = {'map': kind.name, 'problem': number, 'w': w, 'ties': ties, 'repeats': repeats}
                    yield {**settings, **run(grid, problem, tb_wa_star(w, ties=ties), repeats)}


def run(grid: Grid, problem: GridProblem, algorithm: Algorithm, repeats: int) -> Row:
    """The whole search in memory that was searched before, and an agent that searches and moves in turn."""
    searching = TimeBoundedPlanner(grid, *problem, algorithm, UNBOUNDED)

    def search() -> None:
        searching.restart()
        searching.search()

    search()
    seconds = min(timed_s(search)[0] for _ in range(repeats))
    plan = find_path(grid, *problem, algorithm)
    record = move_to_goal(TimeBoundedPlanner(grid, *problem, algorithm, K), Static(grid))
    return {
        **{'ms': 1e3 * seconds, 'expansions': plan.expansions, 'cost': plan.cost},
        **{'k': K, 'run_cost': record.cost, 'run_expansions': record.expansions},
    }


def summary(rows: list[Row]) -> str:
    header = ('map', 'w', 'problems', 'expansions', 'time', 'cost', 'run cost', 'ms: lifo', 'larger g')
    lines = [
        (name, w, *ratios(group))
        for (name, w), group in grouped(rows, lambda row: (row['map'], row['w'])).items()
        if len(group) > 1
    ]
    totals = [
        ('all maps', w, *ratios(group)) for w, group in grouped(rows, lambda row: row['w']).items() if len(group) > 1
    ]
    return f'\nlast in, first out / larger g first, geometric means over problems\n{table(header, lines + totals)}'


def ratios(rows: list[Row]) -> tuple[object, ...]:
    pairs = [pair for pair in grouped(rows, lambda row: (row['map'], row['problem'])).values() if len(pair) == 2]
    values = [geometric_mean(lifo[name] / larger[name] for lifo, larger in pairs) for name in RATIOS]
    return len(pairs), *values, mean(lifo['ms'] for lifo, _ in pairs), mean(larger['ms'] for _, larger in pairs)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--problems', type=int, help='problems a map (5)')
    parser.add_argument('--maps', type=Path, help='a folder of .map files instead of generated maps')


TIES_EXPERIMENT = Experiment('ties', 'last in, first out against larger g first', add_arguments, plan, summary)
