"""Carries out an experiment's trials on processes or on a Dask cluster, and keeps every row that was finished.

One CSV file an experiment, written by this process alone: rows are on the disk as soon as their task has ended. Trials
whose rows are there are not run again. In the end, or when interrupted, the rows are put in order, so that the same
seed gives the same file, but for times, whatever the number of processes. Where rows come from (date, commit, machine,
options) is told in a file beside it, a line a session; each row names its commit. All maps get their first problem
before any gets its second, so that the time left is known early.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import fcntl
import json
import multiprocessing
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

from benchmarks import rows as provenance_of
from benchmarks.experiment import Plan, Row, grouped, mean, progress_bar, table
from benchmarks.trials import KEY, Ground, Part, Task, tasks_of

TIMES = ('search_time_s',)
"""Columns that another run with the same seed fills otherwise; all that is measured, where intervals are times."""
NUMBER = re.compile(r'-?\d+(\.\d+)?')


class Options(NamedTuple):
    """What an experiment is made of its options."""

    maps: Path | None = None
    problems: int | None = None  # on each map, in place of the paper's number
    quick: bool = False


class Experiment(NamedTuple):
    """A row of the table of experiments. parts(): its figures and tables, for the options."""

    name: str
    paper: str
    title: str
    parts: Callable[[Options], tuple[Part, ...]]


class Outcome(NamedTuple):
    """Of a task: its rows, and what went wrong with the first of those that are missing."""

    task: Task
    rows: list[Row]
    error: str = ''


class ResultFile:
    """A CSV file of rows that can be told apart by KEY. While it is open nobody else writes to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open('a+', newline='')
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise SystemExit(f'{path} is being written by another process') from None
        self._drop_torn_line()
        self.rows = self._read()
        self.columns = list(self.rows[0]) if self.rows else []
        self._keys = {key_of(row) for row in self.rows}

    def __contains__(self, row: Row) -> bool:
        return key_of(row) in self._keys

    def append(self, rows: list[Row]) -> None:
        """The rows are on the disk when this returns."""
        writer = csv.DictWriter(self._file, self.columns)
        for row in rows:
            if not self.columns:
                self.columns.extend(row)
                writer.writeheader()
            if list(row) != self.columns:
                others = ', '.join(sorted(set(row) ^ set(self.columns)))
                raise SystemExit(f'{self.path} has other columns ({others}); move it away, or give another --out')
            writer.writerow(row)
            self.rows.append({name: str(value) for name, value in row.items()})
            self._keys.add(key_of(row))
        self._file.flush()
        os.fsync(self._file.fileno())

    def put_in_order(self) -> None:
        """Rows by their keys. What is on the disk is whole at any time."""
        self.rows.sort(key=lambda row: [_natural(row[name]) for name in KEY])
        if not self.rows:
            return
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

    def _drop_torn_line(self) -> None:
        """A process that was killed may have left half a row."""
        content = self.path.read_bytes()
        if content and not content.endswith(b'\n'):
            self._file.truncate(content.rfind(b'\n') + 1)

    def _read(self) -> list[Row]:
        with self.path.open(newline='') as file:
            return list(csv.DictReader(file))


def key_of(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEY)


def _natural(text: str) -> tuple[int, float, str]:
    """Numbers by their size, before texts."""
    if NUMBER.fullmatch(text):
        return 0, float(text), ''
    return 1, 0.0, text


def carry_out(experiment: Experiment, options: argparse.Namespace) -> int:
    """Runs what is not there yet, and sums up all that is; the exit code."""
    parts = chosen_parts(experiment.parts(Options(options.maps, options.problems, options.quick)), options.part)
    name = f'{experiment.name}-quick' if options.quick else experiment.name
    file = ResultFile((options.out or Path('results')) / f'{name}.csv')
    wanted = sorted(tasks_of(experiment.name, parts, options.seed), key=lambda task: task.problem)
    total = sum(len(task.settings) for task in wanted)
    left = [task for task in (unfinished(task, file) for task in wanted) if task.settings]
    to_do = sum(len(task.settings) for task in left)
    if to_do < total:
        print(f'{total - to_do} of {total} rows are there')
    commit = note_session(file.path, options)
    failed: list[Outcome] = []
    broken = ''
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what a cluster's queue sends ends as Ctrl-C does
    try:
        with contextlib.closing(outcomes(left, options)) as arriving, progress_bar(name, Plan(to_do, iter(()))) as bar:
            for outcome in arriving:
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
    keys = {key_of(key) for task in wanted for key in task.known_columns()}
    rows = [row for row in file.rows if key_of(row) in keys]
    if rows:
        print(summary(rows))
    print(f'\n{len(rows)} of {total} rows in {file.path}')
    if broken:
        print(f'{broken}: the same command goes on')
    for task, _, trace in failed[:3]:
        print(f'\nfailed: {task.part}, {task.map.name}, problem {task.problem}\n{trace}', file=sys.stderr)
    if failed:
        print(f'{len(failed)} tasks have failed; the same command tries them again', file=sys.stderr)
    return 130 if broken == 'interrupted' else int(bool(broken or failed))


def chosen_parts(parts: tuple[Part, ...], name: str | None) -> tuple[Part, ...]:
    names = sorted({part.name for part in parts})
    if name not in (None, *names):
        raise SystemExit(f'there is no part {name!r}; there are {", ".join(names)}')
    return tuple(part for part in parts if name in (None, part.name))


def unfinished(task: Task, file: ResultFile) -> Task:
    """The task with those settings that have no row yet."""
    pairs = zip(task.known_columns(), task.settings, strict=True)
    return task.only(tuple(setting for key, setting in pairs if key not in file))


def outcomes(tasks: list[Task], options: argparse.Namespace) -> Generator[Outcome, None, None]:
    """As they are finished, in any order. Closing it ends the workers."""
    if options.scheduler:
        return on_cluster(tasks, options.scheduler)
    if options.jobs > 1 and len(tasks) > 1:
        return on_processes(tasks, min(options.jobs, len(tasks)))
    return one_by_one(tasks)


def one_by_one(tasks: list[Task]) -> Generator[Outcome, None, None]:
    for task in tasks:
        yield attempt(task)


def attempt(task: Task) -> Outcome:
    """A trial that fails does not keep others from being run, and costs no other's row."""
    try:
        ground = Ground(task)
    except Exception:
        return Outcome(task, [], traceback.format_exc())
    rows: list[Row] = []
    error = ''
    for key, setting in zip(task.known_columns(), task.settings, strict=True):
        try:
            rows.append({**key, **ground.trial(setting)})
        except Exception:
            error = error or traceback.format_exc()
    return Outcome(task, rows, error)


def on_processes(tasks: list[Task], jobs: int) -> Generator[Outcome, None, None]:
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


def _begin_worker() -> None:
    """Ctrl-C is the parent's business; a worker without a parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)


def on_cluster(tasks: list[Task], address: str) -> Generator[Outcome, None, None]:
    """A Dask cluster, whose workers have tb_planner and see the folder of maps under the same path."""
    try:
        from dask.distributed import Client
        from dask.distributed import as_completed as as_finished
    except ImportError as error:
        raise SystemExit(f"--scheduler needs Dask: pip install 'tb_planner[cluster]' ({error})") from error
    try:
        client = Client(address)
    except OSError as error:
        raise SystemExit(f'no Dask scheduler answers at {address}: {error}') from error
    with client:
        check_versions(client.run(version))
        futures = client.map(attempt, tasks, pure=False)
        task_of = {future.key: task for future, task in zip(futures, tasks, strict=True)}
        try:
            for future in as_finished(futures):
                try:
                    outcome = future.result()
                except Exception:  # its worker has died
                    outcome = Outcome(task_of[future.key], [], traceback.format_exc())
                yield outcome
                future.release()
        finally:
            client.cancel(futures)


def version() -> str:
    """Of the sources that a process runs."""
    told = provenance_of.provenance()
    return f'tb_planner {told["tb_planner"] or "from sources"}, {told["commit"][:12]}{"+" * told["dirty"]}'.rstrip(', ')


def check_versions(found: dict[str, str]) -> None:
    """Rows name the commit of this process; what the workers run has to be the same."""
    if others := {worker: theirs for worker, theirs in found.items() if theirs != version()}:
        told = ', '.join(f'{worker} ({theirs})' for worker, theirs in others.items())
        raise SystemExit(f'workers run other sources than {version()}: {told}')


def note_session(path: Path, options: argparse.Namespace) -> str:
    """Adds a line to the file of sessions; returns the commit, with a + where files have been changed since."""
    provenance = provenance_of.provenance()
    commit = provenance['commit'][:12] + '+' * provenance['dirty']
    told = {name: str(value) for name, value in vars(options).items() if name != 'chosen'}
    with path.with_suffix('.sessions.jsonl').open('a') as file:
        print(json.dumps({'date': provenance_of.now(), **provenance, 'options': told}), file=file)
    return commit


def summary(rows: list[Row]) -> str:
    """Means over problems of those that arrived, for each point of each curve."""
    header = (
        *('part', 'set', 'series', '', 'x', 'rate', 'arrived', 'cost/optimal', 'moves', 'back-moves'),
        *('non-optimal', 'intervals', 'expansions', 'time ms'),
    )
    lines = []
    names = ('part', 'set', 'series', 'unit', 'x', 'rate')
    for key, group in grouped(rows, lambda row: tuple(row[name] for name in names)).items():
        arrived = [row for row in group if row['status'] == 'AT_GOAL']
        if arrived:
            figures = ('moves', 'back_moves', 'non_optimal_moves', 'intervals', 'expansions')
            means = [mean(float(row[name] or 'nan') for row in arrived) for name in figures]
            ratio = mean(float(row['cost']) / float(row['optimal_cost']) for row in arrived)
            ms = 1e3 * mean(float(row['search_time_s']) for row in arrived)
            lines.append((*key, f'{len(arrived)}/{len(group)}', ratio, *means, ms))
        else:
            lines.append((*key, f'0/{len(group)}', *[''] * 7))
    return table(header, lines)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--part', metavar='NAME', help='one figure or table alone')
    parser.add_argument('--maps', type=Path, metavar='DIR', help="MovingAI's maps; else generated ones stand in")
    parser.add_argument('--problems', type=positive, metavar='N', help="on each map, in place of the paper's number")
    parser.add_argument('--jobs', type=positive, default=os.cpu_count() or 1, metavar='N', help='processes (all cores)')
    parser.add_argument('--quick', action='store_true', help='small generated maps, few problems: seconds')
    parser.add_argument('--scheduler', metavar='ADDRESS', help="a Dask scheduler's, in place of --jobs")
    parser.add_argument('--seed', type=int, default=0, help='of problems and worlds, not of maps (0)')
    parser.add_argument('--out', type=Path, metavar='DIR', help='folder of the CSV file (results)')


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f'{number} is not 1 or more')
    return number
