"""One CSV row a run, with everything needed to say later where the figures came from."""

from __future__ import annotations

import csv
import datetime
import functools
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PEER_PACKAGES = ('pyastar2d', 'tcod', 'w9-pathfinding', 'scikit-image')
PACKAGES = ('tb_planner', 'numpy', 'scipy', *PEER_PACKAGES)


def version(package: str) -> str:
    """The installed version, or an empty string."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ''


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
        'memory_gb': _memory_gb(),
        'python': platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


class RowFile:
    """Appends rows to a CSV file; each is on the disk before the next run starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns: list[str] = []

    def write(self, row: Mapping[str, Any]) -> None:
        """Adds date and provenance to the row; every row of a file has the same columns."""
        full = {'date': now(), **provenance(), **row}
        if not self.columns:
            self._open_for(list(full))
        if list(full) != self.columns:
            raise ValueError(f'columns {sorted(set(full) ^ set(self.columns))} are not in every row of {self.path}')
        with self.path.open('a', newline='') as file:
            csv.DictWriter(file, self.columns).writerow(full)

    def _open_for(self, columns: list[str]) -> None:
        """Takes the first of rows.csv, rows-2.csv, … that is new or has these columns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        first, number = self.path, 1
        while (header := _header(self.path)) not in ([], columns):
            number += 1
            self.path = first.with_stem(f'{first.stem}-{number}')
        if not header:
            with self.path.open('a', newline='') as file:
                csv.writer(file).writerow(columns)
        self.columns = columns


def _header(path: Path) -> list[str]:
    if not path.exists():
        return []
    with path.open(newline='') as file:
        return next(csv.reader(file), [])


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds')


def _git(*arguments: str) -> str:
    """What git says of the sources of this package; empty where they are not in a repository."""
    command = ['git', '-C', str(Path(__file__).parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ''


def _cpu_model() -> str:
    cpuinfo = Path('/proc/cpuinfo')
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith('model name'):
                return line.partition(':')[2].strip()
    return platform.processor()


def _memory_gb() -> float:
    return round(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9, 1)
