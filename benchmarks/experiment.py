"""An experiment: runs that each give a row, and a summary of the rows there are."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchmarks.rows import RowFile

Row = dict[str, Any]
Key = TypeVar('Key', bound=Hashable)


def one_run(row: Row) -> int:
    return 1


class Plan(NamedTuple):
    """The runs, and how far they are on the way to the total after each row."""

    total: int
    runs: Iterator[Row]
    unit: str = 'run'
    progress: Callable[[Row], int] = one_run


class Experiment(NamedTuple):
    """A subcommand: plan() gives the runs for the options, summary() says what the rows mean."""

    name: str
    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    plan: Callable[[argparse.Namespace], Plan]
    summary: Callable[[list[Row]], str]


def carry_out(experiment: Experiment, options: argparse.Namespace) -> None:
    """Runs it, writes each row as it comes, and sums up what there is, also after Ctrl-C."""
    file = RowFile(options.out or Path('results') / f'{experiment.name}.csv')
    rows: list[Row] = []
    plan = experiment.plan(options)
    try:
        with progress_bar(experiment.name, plan) as bar:
            for row in plan.runs:
                file.write({'experiment': experiment.name, 'seed': options.seed, 'quick': options.quick, **row})
                rows.append(row)
                bar.update(plan.progress(row))
    except KeyboardInterrupt:
        print(f'\ninterrupted after {len(rows)} runs; their rows are kept')
    if rows:
        print(experiment.summary(rows))
        print(f'\n{len(rows)} rows in {file.path}')


def progress_bar(name: str, plan: Plan) -> Any:
    """tqdm's, on a terminal or not; without tqdm there is none, and a line says so."""
    try:
        from tqdm import tqdm
    except ImportError:
        print(f'{name}: no progress is shown (pip install tqdm)', file=sys.stderr)
        return NoBar()
    return tqdm(desc=name, total=plan.total, unit=plan.unit, dynamic_ncols=True)


class NoBar(AbstractContextManager['NoBar']):
    """Takes the place of a progress bar."""

    def update(self, steps: int) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def timed_s(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that the call took, and its result."""
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Rows by key, keys in the order of their first row."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def geometric_mean(values: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(values)))))


def table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Text columns: the first to the left, the others to the right."""
    cells = [list(header), *([_shown(value) for value in line] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return '\n'.join(
        '  '.join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(line, widths)))
        for line in cells
    )


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f'{value:.0f}' if abs(value) >= 1000 else f'{value:.4g}'
