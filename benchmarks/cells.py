"""Cells: what the rows of one setting on one map sum up to. All figures of the report come from them.

Rows of the papers' experiments are many; their sums are few enough to be kept beside a report, which can be made again
from them.
"""

from __future__ import annotations

import csv
import functools
import gzip
import io
import itertools
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

KEY = (
    *('experiment', 'part', 'set', 'map', 'generated', 'world', 'rate', 'corner_cutting'),
    *('series', 'algorithm', 'options', 'unit', 'x', 'seed', 'commit'),
)
"""The columns in which all rows of a cell are alike."""
FIGURES = (
    *('cost', 'optimal_cost', 'moves', 'back_moves', 'non_optimal_moves', 'intervals', 'expansions', 'searches'),
    *('refused_moves', 'k', 'search_time_s'),
)
"""Columns of rows that are summed as they are."""
OPTIONAL = {
    'aside_when_found': 'where the agent was when the path was found',
    'first_path_intervals': 'when the first path was found',
    'first_path_at_once': 'when the first path was found',
}
"""Measures that few agents have and older rows and cells lack, in words; the last is 1 where the one before is."""
MEASURES = (*FIGURES, 'suboptimality', 'expansions_a_move', 'beyond_bound', *OPTIONAL)
"""What a cell has sums of. suboptimality: cost / optimal cost; beyond_bound: 1 for a run of TB-WA* that has cost more
than Theorem 2 of the 2014 paper allows."""
PAIRED = ('2012', '2012-time')
"""Experiments whose algorithms are compared problem by problem: these differ much more than the algorithms do."""
PAIRED_MEASURES = ('intervals', 'moves')
AT = {name: index for index, name in enumerate(MEASURES)}
SETTING = ('rate', 'corner_cutting', 'series', 'algorithm', 'options', 'unit', 'x')
"""The columns in which cells of one setting are alike, on whatever map."""
FEWEST_MAPS = 3
"""With fewer it says nothing to leave one out."""
CELLS, SESSIONS = 'cells.csv.gz', 'sessions.jsonl'
"""The files that stand for all rows, and where these come from, beside a report."""


class NotRun(Exception):
    """There are no rows for what was asked; the message says of what."""


Tally = NDArray[np.float64]
"""Of differences: how many, above 0, below 0, their sum, the sum of their squares."""


class Difference(NamedTuple):
    """Of two algorithms with the same problems: how much more the first takes on the mean, the standard error of that,
    and in how many problems it takes more, and less."""

    mean: float
    standard_error: float
    more: int
    less: int
    problems: int

    def is_clear(self, margin: float = 0.0) -> bool:
        """The mean is farther than two standard errors from the margin, or from the one on the other side of 0."""
        return abs(abs(self.mean) - margin) >= 2 * self.standard_error


@dataclass
class Cell:
    """Sums over the runs that count: those that arrived and, on changing maps, whose rivals did, too.

    against: measure and another algorithm -> by how much it takes more than this one with the same problems and x.
    """

    key: dict[str, str]
    problems: int = 0
    arrived: int = 0
    counted: int = 0
    sums: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(MEASURES)))  # in the order of MEASURES
    against: dict[tuple[str, str], Tally] = field(default_factory=dict)

    def sum_of(self, measure: str) -> float:
        return float(self.sums[AT[measure]])

    def take_in(self, other: Cell) -> None:
        self.problems += other.problems
        self.arrived += other.arrived
        self.counted += other.counted
        self.sums += other.sums
        for pair, tally in other.against.items():
            self.against[pair] = self.against.get(pair, 0.0) + tally


Renaming = Callable[[str], str | None]


def as_it_is(series: str) -> str | None:
    return series


class Curves:
    """A figure or a table: means over problems, by set of maps, rate, series and x.

    A set of None is all of them together. Where x is infinite the look-ahead was unbounded.
    """

    def __init__(self, cells: Iterable[Cell], name: str, rename: Renaming = as_it_is) -> None:
        self.name = name
        self._cells: dict[tuple[str | None, float, str, float], Cell] = {}
        for cell in cells:
            series = rename(cell.key['series'])
            if series is None:
                continue
            for set_name in (cell.key['set'], None):
                place = set_name, float(cell.key['rate']), series, float(cell.key['x'])
                if place not in self._cells:
                    self._cells[place] = Cell({})
                self._cells[place].take_in(cell)
        if not self._cells:
            raise NotRun(f'{name} was not run')
        self.sets = list(dict.fromkeys(place[0] for place in self._cells if place[0]))
        self.rates = sorted({place[1] for place in self._cells})
        self.series = list(dict.fromkeys(place[2] for place in self._cells))
        self._xs: dict[tuple[str | None, str], set[float]] = defaultdict(set)
        for set_name, _, series, x in self._cells:
            self._xs[set_name, series].add(x)

    def xs(self, series: str, set_name: str | None = None) -> list[float]:
        return sorted(self._xs.get((set_name, series), ()))

    def cell(self, series: str, x: float, set_name: str | None = None, rate: float = 0.0) -> Cell:
        place = (set_name, rate, series, x)
        if place not in self._cells or not self._cells[place].counted:
            where = ', '.join(str(part) for part in (self.name, set_name, series, f'{x:g}') if part)
            raise NotRun(f'{where} was not run' if place not in self._cells else f'{where}: no run has arrived')
        return self._cells[place]

    def mean(self, measure: str, series: str, x: float, set_name: str | None = None, rate: float = 0.0) -> float:
        cell = self.cell(series, x, set_name, rate)
        mean = cell.sum_of(measure) / cell.counted
        if math.isnan(mean) and measure in OPTIONAL:
            raise NotRun(f'{self.name}: the rows do not tell {OPTIONAL[measure]}')
        return mean

    def difference(self, measure: str, one: str, other: str, x: float) -> Difference | None:
        """GridProblem by problem; None where the rows' sums do not tell it."""
        for first, second, sign in ((one, other, -1), (other, one, 1)):
            tally = self.cell(first, x).against.get((measure, second))
            if tally is not None and tally[0] == self.cell(one, x).counted == self.cell(other, x).counted > 1:
                n, above, below, total, squares = map(float, tally)
                variance = max(0.0, squares - total * total / n) / (n - 1)
                more, less = (above, below) if sign > 0 else (below, above)
                return Difference(sign * total / n, math.sqrt(variance / n), int(more), int(less), int(n))
        return None

    def over_x(self, measure: str, series: str, set_name: str | None = None, rate: float = 0.0) -> list[float]:
        return [self.mean(measure, series, x, set_name, rate) for x in self.xs(series, set_name)]


class Results:
    """The cells of all experiments that were run, and the sessions that ran them."""

    def __init__(self, cells: list[Cell], sessions: list[dict[str, Any]]) -> None:
        self.cells = cells
        self.sessions = sessions
        self._of_part: dict[tuple[str, str], list[Cell]] = defaultdict(list)
        for cell in cells:
            self._of_part[part_of(cell)].append(cell)

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Experiment and part, of all that there are rows of."""
        return list(self._of_part)

    def of_part(self, experiment: str, part: str) -> list[Cell]:
        if (experiment, part) not in self._of_part:
            raise NotRun(f'{experiment}, {part}, was not run')
        return self._of_part[experiment, part]

    @functools.cache  # noqa: B019 (results live as long as the report is made)
    def curves(self, experiment: str, part: str, rename: Renaming = as_it_is) -> Curves:
        return Curves(self.of_part(experiment, part), f'{experiment}, {part}', rename)

    @functools.cached_property
    def curves_without_a_map(self) -> dict[tuple[str, str], list[Curves]]:
        """Experiment and part -> curves with one map left out, each in turn, where there are some maps."""
        found = {}
        for place, cells in self._of_part.items():
            maps = dict.fromkeys(cell.key['map'] for cell in cells)
            if len(maps) >= FEWEST_MAPS:
                name = ', '.join(place)
                found[place] = [Curves((one for one in cells if one.key['map'] != left), name) for left in maps]
        return found

    def problems(self, experiment: str, part: str) -> dict[str, tuple[int, int]]:
        """Set of maps -> problems that the settings had, from those with the fewest to those with the most."""
        counts: dict[str, dict[tuple[str, ...], int]] = {}
        for cell in self._of_part.get((experiment, part), ()):
            of_set = counts.setdefault(cell.key['set'], defaultdict(int))
            of_set[tuple(cell.key[name] for name in SETTING)] += cell.counted
        return {name: (min(of_set.values()), max(of_set.values())) for name, of_set in counts.items()}

    def maps(self, experiment: str, part: str) -> dict[str, int]:
        """Set of maps -> how many of them."""
        found: dict[str, set[str]] = defaultdict(set)
        for cell in self._of_part.get((experiment, part), ()):
            found[cell.key['set']].add(cell.key['map'])
        return {name: len(maps) for name, maps in found.items()}


# ---------------------------------------------------------------------- reading
def read_results(folders: Sequence[Path], names: Iterable[str], *, quick: bool = False) -> Results:
    """From NAME.csv or NAME.csv.gz of each experiment, and from what write_cells() has left.

    A figure or a table comes from one source alone: rows go before the cells beside them, and folders before those
    that come later.
    """
    stems = [f'{name}-quick' if quick else name for name in names]
    cells: list[Cell] = []
    sessions: list[dict[str, Any]] = []
    for folder in folders:
        if not folder.is_dir():
            raise SystemExit(f'{folder} is not a folder; rows are made by python -m benchmarks run NAME')
        for source in _sources(folder, stems):
            _fill_up(cells, sessions, *source)
    if not cells:
        told = ', '.join(map(str, folders))
        raise SystemExit(f'{told} has no rows of an experiment; python -m benchmarks run NAME makes them')
    return Results(sorted(cells, key=part_of), sessions)


Source = tuple[list[Cell], list[dict[str, Any]]]
"""Cells, and the sessions that ran them."""


def _sources(folder: Path, stems: Iterable[str]) -> Iterator[Source]:
    for stem in stems:
        for path in (folder / f'{stem}.csv', folder / f'{stem}.csv.gz'):
            if path.exists():
                yield cells_of(path), read_sessions(folder / f'{stem}.sessions.jsonl')
                break
    if (folder / CELLS).exists():
        yield list(_read_cells(folder / CELLS)), read_sessions(folder / SESSIONS)


def _fill_up(cells: list[Cell], sessions: list[dict[str, Any]], more: list[Cell], their: list[dict[str, Any]]) -> None:
    """Adds the parts that are not there yet, and all sessions but those that have run none of them."""
    there, offered = ({part_of(cell) for cell in some} for some in (cells, more))
    cells += [cell for cell in more if part_of(cell) not in there]
    for session in their:
        told = session['options']
        run = {part for part in offered if part[0] == told.get('name') and told.get('part') in ('None', part[1])}
        if not run or run - there:
            sessions.append(session)


def part_of(cell: Cell) -> tuple[str, str]:
    return cell.key['experiment'], cell.key['part']


def opened(path: Path) -> TextIO:
    if path.suffix == '.gz':
        return gzip.open(path, 'rt', newline='')
    return path.open(newline='')


def cells_of(path: Path) -> list[Cell]:
    """The sums of a file of rows. A last line that is still being written is left out."""
    with opened(path) as file:
        reader = csv.reader(file)
        columns = next(reader, [])
        if not columns:  # an experiment that has just begun
            return []
        if missing := sorted({*KEY, *FIGURES, 'status', 'problem'} - set(columns)):
            raise SystemExit(f'{path} has no column {", ".join(missing)}')
        rows = [row for row in reader if len(row) == len(columns)]
    at = {name: index for index, name in enumerate(columns)}
    key_of, numbers_of = (itemgetter(*(at[name] for name in names)) for names in (KEY, FIGURES))
    optional = [at.get(name) for name in list(OPTIONAL)[:-1]]
    status, world = at['status'], at['world']
    walled_in = _problems_that_somebody_gave_up(rows, at)
    rival_of = itemgetter(*(at[name] for name in RIVALS))
    cells: dict[tuple[str, ...], Cell] = {}
    rivals: dict[Any, list[tuple[Cell, tuple[float, ...]]]] = defaultdict(list)
    for row in rows:
        key = key_of(row)
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell(dict(zip(KEY, key, strict=True)))
        cell.problems += 1
        if row[status] != 'AT_GOAL':
            continue
        cell.arrived += 1
        if row[world] == 'changing' and rival_of(row) in walled_in:
            continue
        cell.counted += 1
        if key[0] in PAIRED:
            figures = tuple(float(row[at[name]]) for name in PAIRED_MEASURES)
            rivals[rival_of(row), row[at['x']]].append((cell, figures))
        rare = (None if index is None else row[index] for index in optional)
        _add(cell, [float(text or 'nan') for text in numbers_of(row)], [float(text or 'nan') for text in rare])
    for group in rivals.values():
        group.sort(key=lambda pair: pair[0].key['series'])
        for (one, ours), (other, theirs) in itertools.combinations(group, 2):
            for measure, a, b in zip(PAIRED_MEASURES, ours, theirs, strict=True):
                tally = one.against.setdefault((measure, other.key['series']), np.zeros(5))
                tally += (1, b > a, b < a, b - a, (b - a) ** 2)
    return list(cells.values())


RIVALS = ('experiment', 'part', 'set', 'map', 'problem', 'rate', 'seed')
"""Rows alike in these are of agents that had the same problem in the same world."""


def _problems_that_somebody_gave_up(rows: list[list[str]], at: dict[str, int]) -> set[Any]:
    """On changing maps a goal may get walled in for one agent and not for another: then nobody's run counts."""
    rival_of, status, world = itemgetter(*(at[name] for name in RIVALS)), at['status'], at['world']
    return {rival_of(row) for row in rows if row[world] == 'changing' and row[status] != 'AT_GOAL'}


def _add(cell: Cell, numbers: list[float], rare: list[float]) -> None:
    row = dict(zip(FIGURES, numbers, strict=True))
    suboptimality = row['cost'] / row['optimal_cost'] if row['optimal_cost'] else 1.0
    expansions_a_move = row['expansions'] / row['moves'] if row['moves'] else 0.0
    at_once = math.nan if math.isnan(rare[-1]) else rare[-1] == 1
    cell.sums += [*numbers, suboptimality, expansions_a_move, _is_beyond_bound(cell.key, row), *rare, at_once]


def _is_beyond_bound(key: dict[str, str], row: dict[str, float]) -> bool:
    """Whether the cost is above ⌊(N(w) - 1) / k⌋ c⁺ + 2 w c*, Theorem 2 of the 2014 paper."""
    if key['algorithm'] != 'tb_wa_star' or key['world'] != 'static' or math.isinf(float(key['x'])):
        return False
    w = float(dict(option.split('=') for option in key['options'].split())['w'])
    before_found = (row['expansions'] - 1) // float(key['x']) * math.sqrt(2)
    return row['cost'] > before_found + 2 * w * row['optimal_cost'] + 1e-6


def read_sessions(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def _read_cells(path: Path) -> Iterator[Cell]:
    with opened(path) as file:
        for row in csv.DictReader(file):
            problems, arrived, counted = (int(row[name]) for name in ('problems', 'arrived', 'counted'))
            sums = np.array([float(row.get(name, 'nan')) for name in MEASURES])
            told = json.loads(row.get('against') or '{}')
            against = {tuple(pair.split(' ', 1)): np.array(tally) for pair, tally in told.items()}
            yield Cell({name: row[name] for name in KEY}, problems, arrived, counted, sums, against)


# ---------------------------------------------------------------------- writing
def write_cells(results: Results, folder: Path) -> None:
    """All cells, and what the sessions tell but for folders of the machine; the same bytes for the same cells."""
    text = io.StringIO(newline='')
    writer = csv.writer(text)
    writer.writerow([*KEY, 'problems', 'arrived', 'counted', *MEASURES, 'against'])
    for cell in results.cells:
        sums = [f'{value:.10g}' for value in cell.sums]
        against = {' '.join(pair): tally.tolist() for pair, tally in cell.against.items()}
        told = json.dumps(against) if against else ''
        writer.writerow([*cell.key.values(), cell.problems, cell.arrived, cell.counted, *sums, told])
    (folder / CELLS).write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    lines = [json.dumps(without_folders(session)) for session in results.sessions]
    (folder / SESSIONS).write_text(''.join(f'{line}\n' for line in lines))


def without_folders(session: dict[str, Any]) -> dict[str, Any]:
    folders = ('maps', 'out')
    options = {name: Path(value).name if name in folders else value for name, value in session['options'].items()}
    return {**session, 'options': options}
