"""Groups: the sums of all rows of one setting on one map. The judge, the figures and the page read nothing else.

The rows of the papers' experiments are many; their sums are few enough to be kept in the repository. A map that is
drawn anew for each problem is a map of its own for each of them.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SETTING = (
    *('experiment', 'part', 'set', 'map', 'generated', 'world', 'rate', 'corner_cutting'),
    *('series', 'algorithm', 'options', 'unit', 'x'),
)
"""The columns in which all rows of a group are alike."""
SUMMED = (
    *('cost', 'optimal_cost', 'moves', 'back_moves', 'non_optimal_moves', 'intervals', 'expansions', 'searches'),
    *('refused_moves', 'k', 'search_time_s', 'suboptimality', 'expansions_a_move', 'beyond_bound'),
    *('aside_when_found', 'first_path_intervals', 'first_path_at_once'),
)
"""The sums of a group. suboptimality is cost / optimal cost; beyond_bound counts the runs of TB-WA* that cost more than
Theorem 2 of the 2014 paper allows."""
COUNTS = ('problems', 'arrived', 'counted')
"""counted: the runs in the sums, which have reached the goal; on changing maps, of problems that all agents solved."""
RIVALS = ['experiment', 'part', 'set', 'map', 'problem', 'rate', 'seed']
GROUPS_FILE, SESSIONS_FILE = 'groups.csv.gz', 'sessions.jsonl'
Place = tuple[str, float, str, float]
"""Set of maps, rate of change, series, x."""


class NotRun(Exception):
    """The data have no rows for this; the message names what is missing."""


class GroupMeans:
    """A figure or table of a paper: sums by map, for each set of maps, rate, series and x."""

    def __init__(self, groups: pd.DataFrame) -> None:
        self.places: dict[Place, pd.DataFrame] = {}
        for place, frame in groups.groupby(['set', 'rate', 'series', 'x'], sort=False):
            sums = frame.groupby('map')[[*COUNTS, *SUMMED]].sum(min_count=1)
            self.places[place] = sums.set_index(f'{place[0]}/' + sums.index.astype(str))
        self._values: dict[tuple[Place, str], NDArray[np.float64]] = {}
        self.sets = list(dict.fromkeys(place[0] for place in self.places))
        self.rates = sorted({place[1] for place in self.places})
        self.series = list(dict.fromkeys(place[2] for place in self.places))

    def values(self, place: Place, factor: str) -> NDArray[np.float64]:
        """The factor of a formula, for each map."""
        if (place, factor) not in self._values:
            frame = self.places[place]
            found = frame[factor] if factor in frame else frame.eval(factor)
            self._values[place, factor] = found.to_numpy(float)
        return self._values[place, factor]

    def xs(self, series: str, set_name: str, rate: float) -> list[float]:
        return sorted(x for s, r, name, x in self.places if (s, r, name) == (set_name, rate, series))

    def mean(self, formula: str, series: str, x: float, set_name: str | None = None, rate: float = 0.0) -> float:
        """The formula of the sums over all maps of a set, or of all sets."""
        places = [one for one in self.places if set_name in (None, one[0]) and one[1:] == (rate, series, x)]
        if not places:
            raise NotRun(f'{series}, x = {x:g}: no rows')
        value = 1.0
        for factor, exponent in factors(formula):
            total = float(sum(self.values(place, factor).sum() for place in places))
            value *= total**exponent if total or exponent > 0 else math.nan
        return value


def factors(formula: str) -> list[tuple[str, int]]:
    """'a * b / c' -> [('a', 1), ('b', 1), ('c', -1)]. A factor may be a sum such as (intervals - moves)."""
    parts = re.split(r' ([*/]) ', formula)
    return [(parts[0], 1)] + [(part, 1 if sign == '*' else -1) for sign, part in zip(parts[1::2], parts[2::2])]


class Groups:
    """All groups at hand, and the sessions that ran their experiments."""

    def __init__(self, frame: pd.DataFrame, sessions: list[dict[str, Any]]) -> None:
        self.frame, self.sessions = frame, sessions
        self._means: dict[tuple[Any, ...], GroupMeans] = {}

    def means(
        self, experiment: str, part: str, series: str = '', sets: Iterable[str] = (), xs: dict[str, float] | None = None
    ) -> GroupMeans:
        """series: a pattern whose first group that matches is the new name of a series; others are left out."""
        key = experiment, part, series, tuple(sets)
        if key not in self._means:
            chosen = self.frame[(self.frame.experiment == experiment) & (self.frame.part == part)]
            if sets:
                chosen = chosen[chosen.set.isin(list(sets))]
            if series:
                found = chosen.series.str.extract(series)
                chosen = chosen.assign(series=found.bfill(axis=1).iloc[:, 0]).dropna(subset='series')
            if xs:
                chosen = chosen.assign(x=chosen.x.map(lambda x: xs.get(f'{x:g}', x)))
            if not len(chosen):
                raise NotRun(f'{experiment}, {part}: no rows')
            self._means[key] = GroupMeans(chosen)
        return self._means[key]


# ---------------------------------------------------------------------- reading and writing
def read_groups(folders: Iterable[Path], names: Iterable[str]) -> Groups:
    """Reads NAME.csv of each experiment, and the groups that write_groups() has written.

    Each part comes from one source: rows go before the groups beside them, and earlier folders before later ones.
    """
    frames: list[pd.DataFrame] = []
    sessions: list[dict[str, Any]] = []
    known: set[tuple[str, str]] = set()
    folders = list(folders)
    for folder in folders:
        sources = [folder / f'{name}.csv' for name in names] + [folder / GROUPS_FILE]
        for path in (path for path in sources if path.exists()):
            frame = _with_types(pd.read_csv(path)) if path.name == GROUPS_FILE else groups_of_rows(path)
            parts = pd.MultiIndex.from_frame(frame[['experiment', 'part']])
            if len(frame := frame[~parts.isin(list(known))]):
                frames.append(frame)
                sessions += _sessions(folder / SESSIONS_FILE if path.name == GROUPS_FILE else path)
                known |= set(frame[['experiment', 'part']].itertuples(index=False, name=None))
    if not frames:
        listed = ', '.join(map(str, folders))
        raise SystemExit(f'{listed}: no rows of an experiment; python -m benchmarks run NAME makes them')
    return Groups(pd.concat(frames, ignore_index=True), sessions)


def groups_of_rows(path: Path) -> pd.DataFrame:
    """The sums of a file of rows."""
    rows = _with_types(pd.read_csv(path, on_bad_lines='skip'))
    arrived = rows.status == 'AT_GOAL'
    given_up = rows[(rows.world == 'changing') & ~arrived].set_index(RIVALS).index
    rows['problems'], rows['arrived'] = 1, arrived.astype(int)
    rows['counted'] = (arrived & ~pd.MultiIndex.from_frame(rows[RIVALS]).isin(given_up)).astype(int)
    rows['suboptimality'] = np.where(rows.optimal_cost > 0, rows.cost / rows.optimal_cost, 1.0)
    rows['expansions_a_move'] = np.where(rows.moves > 0, rows.expansions / rows.moves, 0.0)
    w = rows.options.str.extract(r'\bw=([\d.]+)')[0].astype(float)
    bound = (rows.expansions - 1) // rows.x * math.sqrt(2) + 2 * w * rows.optimal_cost
    has_bound = (rows.algorithm == 'tb_wa_star') & (rows.world == 'static') & np.isfinite(rows.x)
    rows['beyond_bound'] = (has_bound & (rows.cost > bound + 1e-6)).astype(int)
    at_once = rows.first_path_intervals == 1
    rows['first_path_at_once'] = at_once.astype(float).where(rows.first_path_intervals.notna())
    drawn = rows.generated & (rows.world == 'changing')  # these maps are drawn for each problem
    rows['map'] = rows['map'].where(~drawn, rows['map'] + ' #' + rows.problem.astype(str))
    rows.loc[rows.counted == 0, list(SUMMED)] = np.nan
    return rows.groupby(list(SETTING), sort=False)[[*COUNTS, *SUMMED]].sum(min_count=1).reset_index()


def _with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Groups written before some measures existed have nan for them."""
    frame = frame.reindex(columns=list(dict.fromkeys([*frame.columns, *SUMMED])))
    texts = {name: frame[name].fillna('').astype(str) for name in ('experiment', 'part', 'set', 'map', 'options')}
    return frame.assign(**texts, x=frame.x.astype(float), rate=frame.rate.astype(float))


def _sessions(path: Path) -> list[dict[str, Any]]:
    path = path if path.suffix == '.jsonl' else path.with_suffix('.sessions.jsonl')
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write_groups(groups: Groups, folder: Path) -> None:
    """Writes all groups, the same bytes for the same groups; sessions without the machine's folders."""
    text = groups.frame[[*SETTING, *COUNTS, *SUMMED]].to_csv(index=False, float_format='%.10g')
    folder.mkdir(parents=True, exist_ok=True)
    (folder / GROUPS_FILE).write_bytes(gzip.compress(text.encode(), mtime=0))
    lines = []
    for session in groups.sessions:
        options = {
            name: Path(value).name if name in ('maps', 'out') else value for name, value in session['options'].items()
        }
        lines.append(json.dumps({**session, 'options': options}))
    (folder / SESSIONS_FILE).write_text(''.join(f'{line}\n' for line in lines))
