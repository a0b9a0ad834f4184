"""Runs experiments, writes a row for every run, and prints a summary of the rows.

Two kinds of experiments share this engine and its row file:

- a measurement (`Experiment`) yields its rows one after the other in this process, as timings need it;
- an experiment of the papers (`PaperExperiment`) is a list of tasks that run on any number of processes or on a Dask
  cluster. Its rows have a key, so that an interrupted run continues where it was, and so that the file is the same,
  except for times, whatever the number of processes. All maps get their first problem before any gets its second, so
  that the remaining time is known early.

A row is on the disk as soon as its run has ended. Rows of measurements carry date, commit, machine and versions; rows
of the papers' experiments name their commit, and a file beside them describes each session in one line.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import datetime
import fcntl
import functools
import importlib.metadata
import json
import math
import multiprocessing
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import pandas as pd
from tqdm import tqdm

from benchmarks.experiments.trials import KEY, MapInstance, Part, Task, tasks_of

PACKAGES = ('tb_planner', 'numpy', 'scipy', 'pyastar2d', 'tcod', 'w9-pathfinding', 'scikit-image')
"""Packages whose versions belong to the provenance of a row."""
NUMBER = re.compile(r'-?\d+(\.\d+)?')
Row = dict[str, Any]
Item = TypeVar('Item')
GroupKey = TypeVar('GroupKey', bound=Hashable)


# ---------------------------------------------------------------------- what an experiment is
class TaskOutcome(NamedTuple):
    """The rows of a task, and the traceback of its first failure."""

    task: Task
    rows: list[Row]
    error: str = ''


class RunPlan(NamedTuple):
    """The rows of a measurement, and how many there will be, if that is known."""

    total: int | None
    rows: Iterator[Row]


class Experiment(NamedTuple):
    """A measurement: plan() returns the runs for the options, summary() a text about the rows.

    arguments: options of its own; name -> keywords of add_argument(). draw: writes a picture of the rows to the file
    of the option --plot.
    """

    name: str
    help: str
    plan: Callable[[argparse.Namespace], RunPlan]
    summary: Callable[[list[Row]], str]
    arguments: Mapping[str, dict[str, Any]] = MappingProxyType({})
    draw: Callable[[list[Row], Path], None] | None = None


class PartOptions(NamedTuple):
    """The options from which a PaperExperiment makes its parts."""

    maps: Path | None = None
    problems: int | None = None  # on each map, in place of the paper's number
    quick: bool = False


class PaperExperiment(NamedTuple):
    """An experiment of a paper, or one of ours beside them. parts(): its figures and tables for the options."""

    name: str
    title: str
    parts: Callable[[PartOptions], tuple[Part, ...]]


# ---------------------------------------------------------------------- the row file
class RowFile:
    """A CSV file of rows. While it is open no other process can write to it.

    With a key, a row can be found by its key columns, and put_in_order() sorts the file by them.
    """

    def __init__(self, path: Path, key: tuple[str, ...] = ()) -> None:
        self.path, self.key = path, key
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open('a+', newline='')
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise SystemExit(f'{self.path} is being written by another process') from None
        content = self.path.read_bytes()
        if content and not content.endswith(b'\n'):  # a process that was killed may have left half a row
            self._file.truncate(content.rfind(b'\n') + 1)
        with self.path.open(newline='') as file:
            reader = csv.DictReader(file)
            self.rows: list[Row] = list(reader) if self.key else []
            self.columns = list(reader.fieldnames or [])
        self._keys = {self.key_of(row) for row in self.rows}

    def key_of(self, row: Row) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in self.key)

    def __contains__(self, row: Row) -> bool:
        return self.key_of(row) in self._keys

    def append(self, rows: Sequence[Row]) -> None:
        """Writes the rows to the disk before it returns."""
        for row in rows:
            if not self.columns:
                self.columns = list(row)
                csv.writer(self._file).writerow(self.columns)
            if others := ', '.join(sorted(set(row) ^ set(self.columns))):
                raise SystemExit(f'{self.path} has other columns ({others}); move it away, or give another --out')
            csv.DictWriter(self._file, self.columns).writerow(row)
            self.rows.append({name: str(value) for name, value in row.items()} if self.key else row)
            self._keys.add(self.key_of(row))
        self._file.flush()
        os.fsync(self._file.fileno())

    def put_in_order(self) -> None:
        """Sorts the rows by their key. The file on the disk is complete at any time."""
        if not self.rows or not self.key:
            return
        self.rows.sort(key=lambda row: [_natural(row[name]) for name in self.key])
        ordered = self.path.with_suffix('.ordered')
        with ordered.open('w', newline='') as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(self.rows)
            file.flush()
            os.fsync(file.fileno())
        ordered.replace(self.path)

    def close(self) -> None:
        self._file.close()


def _natural(text: str) -> tuple[int, float, str]:
    """Sorts numbers by their size, before texts."""
    if NUMBER.fullmatch(text):
        return 0, float(text), ''
    return 1, 0.0, text


# ---------------------------------------------------------------------- running
def run_measurement(experiment: Experiment, options: argparse.Namespace) -> int:
    """Runs it, writes each row, and prints a summary, also after Ctrl-C; returns the exit code."""
    options.scale = options.scale or (0.2 if options.quick else 1.0)
    plan = experiment.plan(options)
    file = RowFile(options.out or Path('results') / f'{experiment.name}.csv')
    same = {'experiment': experiment.name, 'seed': options.seed, 'quick': options.quick}
    measured: list[Row] = []

    broken = ''
    try:
        for row in tqdm(plan.rows, experiment.name, plan.total, unit='row'):
            measured.append(row)
            file.append([{'date': now(), **provenance(), **same, **row}])
    except KeyboardInterrupt:
        broken = 'interrupted'
    file.close()
    if broken:
        print(f'\n{broken} after {len(measured)} runs; their rows are kept')
    if measured:
        print(experiment.summary(measured))
        print(f'\n{len(measured)} rows in {file.path}')
        if experiment.draw is not None:
            experiment.draw(measured, options.plot)
            print(f'a picture of them in {options.plot}')
    return 130 if broken else 0


def run_paper_experiment(experiment: PaperExperiment, options: argparse.Namespace) -> int:
    """Runs the tasks that have no rows yet, and prints a summary of all rows; returns the exit code."""
    parts = chosen_parts(experiment.parts(PartOptions(options.maps, options.problems, options.quick)), options.part)
    name = f'{experiment.name}-quick' if options.quick else experiment.name
    file = RowFile((options.out or Path('results')) / f'{name}.csv', KEY)
    wanted = sorted(tasks_of(experiment.name, parts, options.seed), key=lambda task: task.problem)
    total = sum(len(task.settings) for task in wanted)
    left = [task for task in (unfinished(task, file) for task in wanted) if task.settings]
    missing = sum(len(task.settings) for task in left)
    if missing < total:
        print(f'{total - missing} of {total} rows are there')
    commit = note_session(file.path, options)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cluster's queue ends a job with it

    failed: list[TaskOutcome] = []
    broken = ''
    try:
        with (
            contextlib.closing(run_tasks(left, options)) as finished,
            tqdm(desc=name, total=missing, unit='row') as bar,
        ):
            for outcome in finished:
                file.append([{**row, 'commit': commit} for row in outcome.rows])
                if outcome.error:
                    failed.append(outcome)
                bar.update(len(outcome.task.settings))
    except KeyboardInterrupt:
        broken = 'interrupted'
    except BrokenProcessPool as error:
        broken = str(error)
    file.put_in_order()
    file.close()
    keys = {file.key_of(key) for task in wanted for key in task.known_columns()}
    rows = [row for row in file.rows if file.key_of(row) in keys]
    if rows:
        print(summary(rows))
    print(f'\n{len(rows)} of {total} rows in {file.path}')
    if broken:
        print(f'{broken}: the same command continues')
    for task, _, trace in failed[:3]:
        print(f'\nfailed: {task.part.name}, {task.map.name}, problem {task.problem}\n{trace}', file=sys.stderr)
    if failed:
        print(f'{len(failed)} tasks have failed; the same command tries them again', file=sys.stderr)
    return 130 if broken == 'interrupted' else int(bool(broken or failed))


def chosen_parts(parts: tuple[Part, ...], name: str | None) -> tuple[Part, ...]:
    names = sorted({part.name for part in parts})
    if name not in (None, *names):
        raise SystemExit(f'there is no part {name!r}; there are {", ".join(names)}')
    return tuple(part for part in parts if name in (None, part.name))


def unfinished(task: Task, file: RowFile) -> Task:
    """Returns the task with the settings that have no row yet."""
    pairs = zip(task.known_columns(), task.settings, strict=True)
    return replace(task, settings=tuple(setting for key, setting in pairs if key not in file))


def run_tasks(tasks: list[Task], options: argparse.Namespace) -> Generator[TaskOutcome, None, None]:
    """Yields outcomes as they are finished, in any order. Closing it ends the workers."""
    if options.scheduler:
        return on_cluster(tasks, options.scheduler)
    if options.jobs > 1 and len(tasks) > 1:
        return on_processes(tasks, min(options.jobs, len(tasks)))
    return (attempt(task) for task in tasks)


def attempt(task: Task) -> TaskOutcome:
    """Runs the trials of a task. One that fails costs no row of another."""
    try:
        instance = MapInstance(task)
    except Exception:
        return TaskOutcome(task, [], traceback.format_exc())
    rows: list[Row] = []
    error = ''
    for key, setting in zip(task.known_columns(), task.settings, strict=True):
        try:
            rows.append({**key, **instance.trial(setting)})
        except Exception:
            error = error or traceback.format_exc()
    return TaskOutcome(task, rows, error)


def on_processes(tasks: list[Task], jobs: int) -> Generator[TaskOutcome, None, None]:
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context('spawn'), initializer=_begin_worker)
    try:
        for future in as_completed([pool.submit(attempt, task) for task in tasks]):
            yield future.result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown()


def on_cluster(tasks: list[Task], address: str) -> Generator[TaskOutcome, None, None]:
    """Runs tasks on a Dask cluster whose workers have these sources and see the maps under the same path."""
    try:
        from dask.distributed import Client

        client = Client(address)
    except ImportError as error:
        raise SystemExit(f"--scheduler needs Dask: pip install '.[cluster]' ({error})") from error
    except OSError as error:
        raise SystemExit(f'no Dask scheduler at {address}: {error}') from error
    pool = client.get_executor()  # not shut down: that waits for results again which died with their worker, for ever
    with client:
        check_versions(client.run(source_version))
        task_of = {pool.submit(attempt, task, pure=False): task for task in tasks}
        for future in as_completed(task_of):
            try:
                yield future.result()
            except Exception:  # its worker has died
                yield TaskOutcome(task_of[future], [], traceback.format_exc())


def source_version() -> str:
    """The version of the sources that this process runs."""
    found = provenance()
    return f'tb_planner {found["tb_planner"]}, {found["commit"][:12]}{"+" * found["dirty"]}'


def check_versions(found: Mapping[str, str]) -> None:
    """Rows name the commit of this process, so the workers have to run the same sources."""
    if others := [f'{worker} ({theirs})' for worker, theirs in found.items() if theirs != source_version()]:
        raise SystemExit(f'workers run other sources than {source_version()}: {", ".join(others)}')


def _begin_worker() -> None:
    """The parent handles Ctrl-C; a worker whose parent is gone ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


# ---------------------------------------------------------------------- provenance
def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds')


@functools.cache
def provenance() -> dict[str, Any]:
    """Commit, machine and versions: the same for all rows of a process."""
    tracked = _git('ls-files', '--error-unmatch', Path(__file__).name) != ''  # or a copy within some other repository
    return {
        'commit': _git('rev-parse', 'HEAD') if tracked else '',
        'dirty': tracked and _git('status', '--porcelain', '--untracked-files=no') != '',
        'machine': platform.machine(),
        'cpu': _cpu_model(),
        'cores': os.cpu_count(),
        'memory_gb': round(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9, 1),
        'python': platform.python_version(),
        **{package: _package_version(package) for package in PACKAGES},
    }


def note_session(path: Path, options: argparse.Namespace) -> str:
    """Adds a line to the file of sessions; returns the commit, with a + if files have changed since."""
    origin = provenance()
    given = {name: str(value) for name, value in vars(options).items() if name != 'chosen'}
    with path.with_suffix('.sessions.jsonl').open('a') as file:
        print(json.dumps({'date': now(), **origin, 'options': given}), file=file)
    return str(origin['commit'][:12] + '+' * origin['dirty'])


def _package_version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ''


def _git(*arguments: str) -> str:
    """The output of git about these sources; empty where they are not in a repository."""
    command = ['git', '-C', str(Path(__file__).parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ''


def _cpu_model() -> str:
    with contextlib.suppress(OSError):
        if found := re.search(r'model name\s*: (.*)', Path('/proc/cpuinfo').read_text()):
            return found[1].strip()
    return platform.processor()


# ---------------------------------------------------------------------- summaries
def summary(rows: list[Row]) -> str:
    """Means over the problems that were solved, for each point of each curve."""
    figures = ['moves', 'back_moves', 'non_optimal_moves', 'intervals', 'expansions', 'search_time_s']
    frame = pd.DataFrame(rows).assign(runs=1)
    frame[figures] = frame[figures].apply(pd.to_numeric)
    frame['cost/optimal'] = pd.to_numeric(frame.cost) / pd.to_numeric(frame.optimal_cost)
    frame['arrived'] = (frame.status == 'AT_GOAL').astype(int)
    frame.loc[frame.arrived == 0, [*figures, 'cost/optimal']] = math.nan
    settings = frame.groupby(['part', 'set', 'series', 'unit', 'x', 'rate'], sort=False)
    means = settings[['cost/optimal', *figures]].mean()
    lines = pd.concat([settings[['arrived', 'runs']].sum(), means], axis=1).reset_index()
    return table(list(lines.columns), lines.itertuples(index=False, name=None))


def grouped(rows: Iterable[Item], key: Callable[[Item], GroupKey]) -> dict[GroupKey, list[Item]]:
    """Groups rows by key, keys in the order of their first row."""
    groups: dict[GroupKey, list[Item]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Formats text columns: the first to the left, the others to the right."""
    cells = [list(header), *([_shown(value) for value in line] for line in lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return '\n'.join(
        '  '.join(cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(line, widths)))
        for line in cells
    )


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return '–'
    return f'{value:.0f}' if abs(value) >= 1000 else f'{value:.4g}'


# ---------------------------------------------------------------------- options
def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--part', metavar='NAME', help='run one figure or table only')
    parser.add_argument('--maps', type=Path, metavar='DIR', help="MovingAI's maps (default: generated maps)")
    parser.add_argument('--problems', type=positive, metavar='N', help="on each map, in place of the paper's number")
    parser.add_argument('--jobs', type=positive, default=os.cpu_count() or 1, metavar='N', help='processes (all cores)')
    parser.add_argument('--scheduler', metavar='ADDRESS', help='a Dask scheduler, in place of --jobs')
    parser.add_argument('--quick', action='store_true', help='small generated maps, few problems: seconds')
    parser.add_argument('--seed', type=int, default=0, help='of problems and worlds, not of maps (0)')
    parser.add_argument('--out', type=Path, metavar='DIR', help='folder of the CSV file (results)')


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f'{number} is too small; it must be at least 1')
    return number
