"""What "Time-Bounded Best-First Search" (2014) claims of maps that change: Figures 5 and 6."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from benchmarks.cells import Curves, NotRun
from benchmarks.claims import (
    BY_EXPANSIONS,
    FALLING,
    LITTLE,
    Case,
    Claim,
    Finding,
    Variation,
    by_group,
    falls,
    judged,
    number,
    percent,
    spread,
)
from benchmarks.curves_2014 import TBA, heavier, number_of, weighted

DYNAMIC = '2014-dynamic'


# ---------------------------------------------------------------------- cases
def changing(rate: float, k: float, holds: bool) -> Case:
    return Case((('rate', f'{rate:g} %'), ('k =', number_of(k))), holds)


def by_rate(values: Sequence[tuple[float, float]], shown: Callable[[float], str] = number) -> str:
    return by_group([(f'rate {rate:g} %', value) for rate, value in values], shown)


# ---------------------------------------------------------------------- weights and look-aheads, Figure 5
def changing_falls_with_w(measure: str) -> Callable[[Curves], Finding]:
    def judge(curves: Curves) -> Finding:
        cases, ratios = [], []
        for rate, k in itertools.product(curves.rates, curves.xs(TBA)):
            values = [curves.mean(measure, series, k, rate=rate) for series in weighted(curves)]
            cases.append(changing(rate, k, falls(values)))
            ratios.append((rate, values[-1] / values[0]))
        return judged(cases, f'at w = 3 over w = 1: {by_rate(ratios)}')

    return judge


def best_look_ahead(measure: str, wanted: float, weighted_too: bool) -> Callable[[Curves], Finding]:
    """Where TBA*, or every TB-WA* with w > 1, has the smallest mean."""

    def judge(curves: Curves) -> Finding:
        cases, best = [], []
        ks = curves.xs(TBA)
        if wanted not in ks:
            raise NotRun(f'{curves.name} has no look-ahead of {wanted:g}')
        for rate, series in itertools.product(curves.rates, heavier(curves) if weighted_too else [TBA]):
            best.append(min(ks, key=lambda k: curves.mean(measure, series, k, rate=rate)))
            cases.append(Case((('rate', f'{rate:g} %'), ('', series)), best[-1] == wanted))
        found = ', '.join(f'k = {k:g} in {best.count(k)}' for k in sorted(set(best)))
        return judged(cases, f'best: {found} of {len(best)} cases')

    return judge


def best_cost_with_weight(curves: Curves) -> Finding:
    cases, ratios = [], []
    for rate in curves.rates:
        costs = {
            (series, k): curves.mean('cost', series, k, rate=rate)
            for series in weighted(curves)
            for k in curves.xs(series)
        }
        best = min(costs, key=costs.__getitem__)
        cases.append(Case((('rate', f'{rate:g} %'),), best[0] != TBA))
        tba = min(cost for (series, _), cost in costs.items() if series == TBA)
        ratios.append((rate, tba / costs[best] - 1))
    return judged(cases, f'TBA* at its best above the best of all: {by_rate(ratios, percent)}')


def costs_alike_over_k(curves: Curves) -> Finding:
    cases, spreads = [], []
    for rate, series in itertools.product(curves.rates, heavier(curves)):
        over_k = spread(curves.over_x('cost', series, rate=rate))
        cases.append(Case((('rate', f'{rate:g} %'), ('', series)), over_k <= LITTLE))
        spreads.append((rate, over_k))
    return judged(cases, f'dearest above cheapest look-ahead: {by_rate(spreads, percent)}')


def best_of_all(curves: Curves) -> Finding:
    """k = 1 with w > 1: costs as the best, but for what is called similar, and less time than all others."""
    ours, cases, dearer, slower = min(curves.xs(TBA)), [], [], []
    for rate in curves.rates:
        settings = [(series, k) for series in weighted(curves) for k in curves.xs(series)]
        cheapest = min(curves.mean('cost', *setting, rate=rate) for setting in settings)
        others = [(series, k) for series, k in settings if k != ours or series == TBA]
        fastest = min(curves.mean('search_time_s', *setting, rate=rate) for setting in others)
        for series in heavier(curves):
            cost = curves.mean('cost', series, ours, rate=rate) / cheapest - 1
            time = curves.mean('search_time_s', series, ours, rate=rate) / fastest
            cases.append(Case((('rate', f'{rate:g} %'), ('', series)), cost <= LITTLE and time < 1))
            dearer.append((rate, cost))
            slower.append((rate, time))
    told = f'cost above the cheapest of all: {by_rate(dearer, percent)}; search time over the fastest of the others'
    return judged(cases, f'{told}: {by_rate(slower)}')


def fewer_restarts(curves: Curves) -> Finding:
    cases, told = [], []
    k = min(curves.xs(TBA))
    for rate, series in itertools.product(curves.rates, heavier(curves)):
        ours = curves.mean('searches', series, k, rate=rate)
        theirs = min(curves.over_x('searches', TBA, rate=rate))
        cases.append(Case((('rate', f'{rate:g} %'), ('', series)), ours < theirs))
        told.append((rate, ours / theirs))
    return judged(cases, f'searches at k = {k:g} over the fewest of TBA*: {by_rate(told)}')


# ---------------------------------------------------------------------- lazy and eager, Figure 6
def lazy_faster(measure: str) -> Callable[[Curves], Finding]:
    """By more than LITTLE: substantially, the paper says."""

    def judge(curves: Curves) -> Finding:
        cases, ratios = [], []
        lazy = [name.removesuffix(', lazy') for name in curves.series if name.endswith(', lazy')]
        for rate, series in itertools.product(curves.rates, sorted(lazy)):
            values = [curves.mean(measure, f'{series}, {rule}', math.inf, rate=rate) for rule in ('lazy', 'eager')]
            ratios.append((rate, values[0] / values[1]))
            cases.append(Case((('rate', f'{rate:g} %'), ('', series)), values[0] < (1 - LITTLE) * values[1]))
        less = sum(ratio < 1 for _, ratio in ratios)
        return judged(cases, f'lazy over eager: {by_rate(ratios)}; below 1 in {less} cases')

    return judge


# ---------------------------------------------------------------------- the table
def _figure(number_: int, name: str, text: str, test: str, judge: Callable[[Curves], Finding], note: str = '') -> Claim:
    place = f'Dynamic Environments, Figure {number_}'
    return Claim(f'2014 {name}', '2014', place, text, test, DYNAMIC, f'Figure {number_}', judge, note)


CLAIMS = (
    _figure(
        5,
        'dynamic cost falls with w',
        'The cost falls as w grows, for all look-aheads.',
        f'for each rate and k, over w: {FALLING}',
        changing_falls_with_w('cost'),
    ),
    _figure(
        5,
        'dynamic time falls with w',
        'The search time falls as w grows, for all look-aheads.',
        f'for each rate and k, over w: {FALLING}',
        changing_falls_with_w('search_time_s'),
    ),
    _figure(
        5,
        'dynamic expansions fall with w',
        f'{BY_EXPANSIONS}: they fall as w grows, for all look-aheads.',
        f'for each rate and k, over w: {FALLING}',
        changing_falls_with_w('expansions'),
    ),
    _figure(
        5,
        'dynamic w = 1 cheapest at k = 256',
        'With w = 1 the best cost comes with a look-ahead of 256.',
        'its mean cost is the smallest there, for each rate',
        best_look_ahead('cost', 256, weighted_too=False),
    ),
    _figure(
        5,
        'dynamic w = 1 fastest at k = 4',
        'With w = 1 the best search time comes with a look-ahead of 4.',
        'its mean search time is the smallest there, for each rate',
        best_look_ahead('search_time_s', 4, weighted_too=False),
    ),
    _figure(
        5,
        'dynamic w = 1 fewest expansions at k = 4',
        f'{BY_EXPANSIONS}: with w = 1 they are fewest with a look-ahead of 4.',
        'its mean number is the smallest there, for each rate',
        best_look_ahead('expansions', 4, weighted_too=False),
    ),
    _figure(
        5,
        'dynamic best cost with w > 1',
        'The best costs come with w > 1.',
        'the smallest mean cost of all weights and look-aheads is one of w > 1, for each rate',
        best_cost_with_weight,
    ),
    _figure(
        5,
        'dynamic costs alike over k',
        'With w > 1 costs are similar for all look-aheads.',
        'the mean costs of all look-aheads are within 10 % of each other, for each rate and w > 1',
        costs_alike_over_k,
    ),
    _figure(
        5,
        'dynamic w > 1 fastest at k = 1',
        'With w > 1 the best search times come with a look-ahead of 1.',
        'the mean search time is the smallest there, for each rate and w > 1',
        best_look_ahead('search_time_s', 1, weighted_too=True),
    ),
    _figure(
        5,
        'dynamic w > 1 fewest expansions at k = 1',
        f'{BY_EXPANSIONS}: with w > 1 they are fewest with a look-ahead of 1.',
        'the mean number is the smallest there, for each rate and w > 1',
        best_look_ahead('expansions', 1, weighted_too=True),
    ),
    _figure(
        5,
        'dynamic k = 1 best of all',
        'A look-ahead of 1 with w > 1 performs best of all.',
        'its mean cost is within 10 % of the smallest of all weights and look-aheads, and its mean search time is '
        'smaller than with w = 1 or a larger look-ahead, for each rate and w > 1',
        best_of_all,
    ),
    _figure(
        5,
        'dynamic fewer restarts',
        'That is because the agent makes fewer non-optimal moves, and restarts are less frequent.',
        'fewer searches than TBA* has at any look-ahead, for each rate and w > 1',
        fewer_restarts,
        note='Of restarts alone: non-optimal moves are not defined on maps that change.',
    ),
    _figure(
        6,
        'lazy faster than eager',
        'Lazy restarting is substantially faster than eager restarting.',
        'the mean search time is smaller by more than 10 %, for each rate and weight, with an unbounded look-ahead',
        lazy_faster('search_time_s'),
    ),
    _figure(
        6,
        'lazy expands less than eager',
        f'{BY_EXPANSIONS}: lazy restarting expands substantially less than eager restarting.',
        'the mean number of expansions is smaller by more than 10 %, for each rate and weight',
        lazy_faster('expansions'),
    ),
)


# ---------------------------------------------------------------------- our choices, switched
def lazy_as_printed(name: str) -> str | None:
    """Lazy as printed in the place of lazy."""
    if name.endswith(', lazy'):
        return None
    return name.replace(', lazy_as_printed', ', lazy')


def lazy_as_ours(name: str) -> str | None:
    return None if name.endswith(', lazy_as_printed') else name


VARIATIONS: dict[tuple[str, str], tuple[Variation, ...]] = {
    (DYNAMIC, 'Figure 6'): (
        Variation('as ours', 'ours', 'lazy as printed', lazy_as_ours, base=True),
        Variation('lazy is as printed', 'ours', 'lazy as printed', lazy_as_printed),
    ),
}
"""Experiment and part -> where its claims can be judged with our choices switched."""
