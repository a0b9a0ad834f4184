"""Comparisons: the ratios behind a claim of claims.toml, each with an interval that is clustered by map."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from benchmarks.report.groups import GroupMeans, NotRun, factors

MIN_MAPS = 3
MIN_PROBLEMS = 30
CONFIDENCE = 0.95
STEP_MARGIN = 1.01
"""A curve that falls may rise by this factor in a step."""
WORDS = {'expansions_a_move': 'expansions an action', 'suboptimality': 'cost over shortest', 'moves': 'moves'}


@dataclass(frozen=True)
class RatioComparison:
    """A ratio with its interval, and the range in which the claim wants it."""

    where: dict[str, Any]
    label: str
    allowed: tuple[float, float, bool]  # from, to, and whether the limits themselves are allowed
    log_effect: float
    residuals: pd.Series  # of the jackknife, one for each map
    problems: int
    freedom: float  # degrees of freedom: effective number of maps - 1
    main: bool = True  # of those whose mean is printed

    @property
    def maps(self) -> int:
        return len(self.residuals)

    @property
    def effect(self) -> tuple[float, float, float]:
        """The ratio with its interval."""
        return math.exp(self.log_effect), *self.interval()

    def interval(self, comparisons: int = 1) -> tuple[float, float]:
        """95 %, or wider if one of several comparisons decides."""
        if math.isinf(self.log_effect):
            return (math.exp(self.log_effect),) * 2
        if math.isnan(self.log_effect) or self.maps < 2:
            return 0.0, math.inf
        error = math.sqrt(self.maps / (self.maps - 1) * float((self.residuals**2).sum()))
        width = error * _student(comparisons, self.freedom) if error else 0.0
        with np.errstate(over='ignore'):
            return float(np.exp(self.log_effect - width)), float(np.exp(self.log_effect + width))

    @property
    def enough(self) -> bool:
        return self.maps >= MIN_MAPS and self.problems >= MIN_PROBLEMS

    def side(self, for_of: int = 1, against_of: int = 1) -> int:
        """1: for the claim, -1: against it, 0: unclear."""
        if not self.enough or math.isnan(self.log_effect):
            return 0
        low, high, closed = self.allowed
        a, b = self.interval(for_of)
        if (low <= a and b <= high) if closed else (low < a or low == 0) and (b < high or high == math.inf):
            return 1
        a, b = self.interval(against_of)
        return -1 if (b < low or a > high if closed else b <= low or a >= high) else 0


@functools.cache
def _student(comparisons: int, freedom: float) -> float:
    return float(stdtrit(freedom, 1 - (1 - CONFIDENCE) / 2 / comparisons))


def averaged(comparisons: Sequence[RatioComparison]) -> RatioComparison:
    """The geometric mean of ratios, as a comparison; maps that they share count once."""
    finite = [one for one in comparisons if math.isfinite(one.log_effect)]
    if not finite:
        return comparisons[0]
    residuals = pd.concat([one.residuals for one in finite]).groupby(level=0).sum() / len(finite)
    first = finite[0]
    problems = min(one.problems for one in finite)
    effect = sum(one.log_effect for one in finite) / len(finite)
    by_set: dict[Any, float] = {}
    for one in finite:
        name = one.where.get('set')
        by_set[name] = min(one.freedom, by_set.get(name, math.inf))
    return RatioComparison({}, first.label, first.allowed, effect, residuals, problems, sum(by_set.values()))


# ---------------------------------------------------------------------- from a claim to its comparisons
@dataclass(frozen=True)
class Term:
    """A formula of the sums at one place, in the numerator (1) or the denominator (-1)."""

    formula: str
    place: tuple[str, float, str, float]
    exponent: int


def compare(
    means: GroupMeans, terms: Sequence[Term], where: dict[str, Any], label: str, allowed: Any, main: bool = True
) -> RatioComparison:
    """The ratio of sums over all maps, and what each map contributes to its error."""
    frames = []
    for term in terms:
        if term.place not in means.places:
            raise NotRun(f'{term.place[2]}, x = {term.place[3]:g}: no rows')
        frames.append(means.places[term.place])
    problems = min(int(frame.counted.sum()) for frame in frames)
    maps = frames[0].index
    for frame in frames[1:]:
        if frame.index is not maps and not frame.index.equals(maps):
            maps = maps.union(frame.index)
    log_effect, without, shares, certain = 0.0, np.zeros(len(maps)), np.zeros(len(maps)), True
    for term, frame in zip(terms, frames, strict=True):
        at = slice(None) if frame.index.equals(maps) else maps.get_indexer(frame.index)
        for factor, sign in factors(term.formula):
            values = np.zeros(len(maps))
            values[at] = means.values(term.place, factor)
            total, exponent = float(values.sum()), sign * term.exponent
            if not total > 0:
                log_effect += -exponent * math.inf if total == 0 else math.nan
                continue
            log_effect += exponent * math.log(total)
            with np.errstate(divide='ignore', invalid='ignore'):
                without += exponent * np.log(total - values)
            shares += values / total
            certain &= is_positive(values)
    if not math.isfinite(log_effect):  # nothing against something, which has to be more than a rare event
        effect = log_effect if certain else math.nan
        return RatioComparison(where, label, allowed, effect, pd.Series(0.0, index=maps), problems, len(maps) - 1, main)
    with np.errstate(invalid='ignore'):
        residuals = np.nan_to_num((without.mean() - without) * (len(maps) - 1) / len(maps), nan=math.inf)
    freedom = max(1.0, shares.sum() ** 2 / (shares**2).sum() - 1)
    return RatioComparison(where, label, allowed, log_effect, pd.Series(residuals, index=maps), problems, freedom, main)


def is_positive(values: NDArray[np.float64]) -> bool:
    """Whether the interval of the mean over maps lies above zero."""
    n = len(values)
    return bool(n > 1 and values.mean() > _student(1, n - 1) * values.std(ddof=1) / math.sqrt(n))


def comparisons_of(spec: dict[str, Any], means: GroupMeans, data: dict[str, Any]) -> Iterator[RatioComparison]:
    """All comparisons of a claim for which there are rows."""
    for more in spec.get('compare', [{}]):
        entry = {**spec, **more}
        measures = entry['measure'] if isinstance(entry['measure'], list) else [entry['measure']]
        for set_name, rate in itertools.product(entry.get('sets', means.sets), means.rates):
            for measure in measures:
                one = _Expansion(entry, measure, set_name, rate, means, data)
                yield from one.all()


class _Expansion:
    """The comparisons of one entry, measure, set of maps and rate."""

    def __init__(
        self, entry: dict[str, Any], measure: str, set_name: str, rate: float, means: GroupMeans, data: dict[str, Any]
    ) -> None:
        self.entry, self.measure, self.set, self.rate, self.means = entry, measure, set_name, rate, means
        self.formula = data['measures'].get(measure, measure)
        self.published = data['published']
        self.series = data['series']
        self.here = {'set': set_name, 'rate': rate}

    def all(self) -> Iterator[RatioComparison]:
        if 'match' in self.entry:
            yield from self._matched()
        elif 'falls' in self.entry:
            yield from self._falling()
        else:
            yield from self._ratios()

    def _names(self, value: Any) -> list[str]:
        """Series by name or by group, as far as there are rows of them."""
        given = value if isinstance(value, list) else [value]
        names = [name for one in given for name in (self.series[one[1:]] if one.startswith('$') else [one])]
        return [name for name in names if self.means.xs(name, self.set, self.rate)]

    def _xs(self, series: str, wanted: Any = '') -> list[float]:
        """wanted: '', 'first', 'last', a list, or a condition such as '<= 64', or these by set of maps."""
        xs = self.means.xs(series, self.set, self.rate)
        if isinstance(wanted, dict):
            wanted = wanted.get(self.set, wanted['*'])
        if isinstance(wanted, list):
            return [x for x in xs if x in wanted]
        if wanted in ('first', 'last'):
            return xs[:1] if wanted == 'first' else xs[-1:]
        return list(pd.DataFrame({'x': xs}).query(f'x {wanted}').x) if wanted else xs

    def _allowed(self, x: float) -> tuple[float, float, bool]:
        relation, margin = self.entry.get('relation', '<'), self.entry.get('margin', 1.0)
        if isinstance(margin, dict):
            if f'{x:g}' not in margin:
                raise NotRun(f'x = {x:g} is not in the paper')
            margin = margin[f'{x:g}']
        if relation == 'within':
            return float(margin[0]), float(margin[1]), True
        closed = relation.endswith('=')
        return (0.0, float(margin), closed) if relation.startswith('<') else (float(margin), math.inf, closed)

    def _ratios(self) -> Iterator[RatioComparison]:
        for a, b in self._pairs():
            for x in self._xs(a, self.entry.get('x', '')):
                top = Term(self.formula, (self.set, self.rate, a, x), 1)
                if b is None:
                    yield compare(self.means, [top], {**self.here, 'a': a, 'x': x}, self._label(), self._allowed(x))
                    continue
                chosen = self.entry.get('b_x', 'same')
                for b_x in [x] if chosen == 'same' else self._xs(b):
                    if (chosen == 'others' and b_x == x) or ((a, x) == (b, b_x) and 'b_set' not in self.entry):
                        continue
                    where = {**self.here, 'a': a, 'x': x, 'b': b, 'b_x': b_x}
                    bottom = Term(self.formula, (self.entry.get('b_set', self.set), self.rate, b, b_x), -1)
                    if bottom.place in self.means.places:
                        allowed = self._printed_order(a, b, x) or self._allowed(x)
                        yield compare(self.means, [top, bottom], where, self._label(b), allowed)

    def _pairs(self) -> Iterator[tuple[str, str | None]]:
        if order := self.entry.get('order'):
            yield from itertools.combinations(self._names(list(self.published[order])), 2)
            return
        names = self._names(self.entry['a'])
        given = self.entry.get('b')
        if given is None:
            yield from ((a, None) for a in names)
        elif given == 'same':
            yield from ((a, a) for a in names)
        elif self.entry.get('pairwise'):
            yield from zip(names, self._names(given), strict=True)
        elif given == self.entry['a'] and isinstance(given, str | list) and len(names) > 1:
            yield from itertools.combinations(names, 2)
        else:
            others = self._names(given)
            yield from ((a, b) for a, b in itertools.product(names, others) if a != b or 'b_x' in self.entry)

    def _label(self, b: str | None = None) -> str:
        if b is None:
            return self.measure
        other = str(self.entry['b']).lstrip('$') if 'compare' in self.entry else 'B'
        return f'{self.measure}, A / {other}'

    def _printed_order(self, a: str, b: str, x: float) -> tuple[float, float, bool] | None:
        if 'order' not in self.entry:
            return None
        if x not in self.published['x']:
            raise NotRun(f'x = {x:g} is not in the paper')
        at = self.published['x'].index(x)
        intervals = self.published[self.entry['order']]
        return (0.0, 1.0, False) if intervals[a][at] < intervals[b][at] else (1.0, math.inf, False)

    def _falling(self) -> Iterator[RatioComparison]:
        """Along w: the series in `a`; along x: every series in `a`, or its ratio to `b`."""
        if self.entry['falls'] == 'w':
            names = self._names(self.entry['a'])
            for x in self._xs(names[0], self.entry.get('x', '')) if names else []:
                points = [[(name, x)] for name in names]
                yield from self._steps(points, {**self.here, 'x': x})
            return
        for a in self._names(self.entry['a']):
            others = self._names(self.entry.get('b', []))
            points = [[(a, x), *((b, x) for b in others)] for x in self._xs(a, self.entry.get('x', ''))]
            yield from self._steps(points, {**self.here, 'a': a})

    def _steps(self, points: list[list[tuple[str, float]]], where: dict[str, Any]) -> Iterator[RatioComparison]:
        """Each step may rise by STEP_MARGIN at most, and the last point is below the first."""
        steps = [] if self.entry.get('steps') is False else list(itertools.pairwise(range(len(points))))
        ends = [] if self.entry.get('ends') is False else [(0, len(points) - 1)]
        for (i, j), is_end in [*((pair, False) for pair in steps), *((pair, True) for pair in ends)]:
            if i == j:
                continue
            margin = 1.0 if is_end else float(self.entry.get('margin', STEP_MARGIN))
            terms = [
                Term(self.formula, (self.set, self.rate, *point), (1 if n == 0 else -1) * sign)
                for index, sign in ((j, 1), (i, -1))
                for n, point in enumerate(points[index])
            ]
            name, x = points[j][0]
            at = {**where, 'step': f'{points[i][0][0]} to {name}' if 'x' in where else f'{points[i][0][1]:g} to {x:g}'}
            main = is_end or not ends
            label = f'{self.measure}, last / first' if ends else f'{self.measure}, next / previous'
            yield compare(self.means, terms, at, label, (0.0, margin, False), main)

    def _matched(self) -> Iterator[RatioComparison]:
        """B's points against A's curve where both have the same `match`; each map by itself, on logarithmic axes."""
        match = self.entry['match']
        for a, b in itertools.product(self._names(self.entry['a']), self._names(self.entry['b'])):
            curve = {x: self.means.places[self.set, self.rate, a, x] for x in self._xs(a)}
            for x in self._xs(b):
                point = self.means.places[self.set, self.rate, b, x]
                ratios = {}
                for one in point.index:
                    ours = np.array(
                        [[_at(frame, one, match), _at(frame, one, self.measure)] for frame in curve.values()]
                    )
                    ratios[one] = _at(point, one, self.measure) / value_at(
                        ours[np.argsort(ours[:, 0])], _at(point, one, match), bool(self.entry.get('bound'))
                    )
                logs = np.log(pd.Series(ratios))
                if logs.isna().any():
                    continue  # beyond A's curve on a map
                where = {**self.here, 'a': a, 'b': b, 'x': x}
                residuals = (logs - logs.mean()) / len(logs)
                label = f'{WORDS[self.measure]} at equal {WORDS[match]}, B / A'
                problems = int(point.counted.sum())
                yield RatioComparison(
                    where, label, self._allowed(x), float(logs.mean()), residuals, problems, len(logs) - 1
                )


def _at(frame: pd.DataFrame, one: str, measure: str) -> float:
    return float(frame.at[one, measure] / frame.at[one, 'counted'])


def value_at(curve: Any, x: float, bound: bool) -> float:
    """The curve's y at x; nan before its first point, and after its last one unless that serves as a bound."""
    xs, ys = curve[:, 0], curve[:, 1]
    if x < xs[0] or (x > xs[-1] and not bound):
        return math.nan
    return float(np.exp(np.interp(np.log(x), np.log(xs), np.log(ys))))
