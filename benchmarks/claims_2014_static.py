"""What "Time-Bounded Best-First Search" (2014) claims of maps that stay as they are: Figures 1 to 4, Theorem 2."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from benchmarks.cells import Curves, NotRun
from benchmarks.claims import (
    AGAIN,
    BY_EXPANSIONS,
    FALLING,
    LITTLE,
    Case,
    Claim,
    Finding,
    Variation,
    between,
    by_group,
    falls,
    in_most,
    judged,
    number,
    over,
    percent,
    spread,
)
from benchmarks.curves_2014 import (
    GBFS,
    HEAVIEST,
    LARGE,
    STATIC,
    TBA,
    back_share,
    everybody,
    heavier,
    look_aheads,
    number_of,
    sets_of,
    weighted,
)

MUCH = 1.5
"""Curves within this factor look alike."""


# ---------------------------------------------------------------------- cases
def is_small(k: float) -> bool:
    """The paper does not say which are. All others are the "greater" or "higher" ones of its next sentence."""
    return k <= 4


def is_high(k: float, set_name: str) -> bool:
    """Where the paper excepts look-aheads from what it says of non-optimal moves."""
    return k >= (512 if set_name == LARGE else 256)


def places(curves: Curves, chosen: Callable[[float, str], bool] = lambda k, _: True) -> list[tuple[str, float]]:
    found = [(name, k) for name in sets_of(curves) for k in look_aheads(curves, name) if chosen(k, name)]
    if not found:
        raise NotRun(f'{curves.name} has none of the look-aheads of this claim')
    return found


def case(set_name: str, k: float, holds: bool) -> Case:
    return Case((('', set_name), ('k =', number_of(k))), holds)


def by_series(curves: Curves, measure: str, names: Iterable[str], k: float, set_name: str) -> list[float]:
    return [curves.mean(measure, name, k, set_name) for name in names]


# ---------------------------------------------------------------------- the abstract
def fewer_undesired_moves(curves: Curves) -> Finding:
    cases: list[Case] = []
    ratios: dict[str, list[tuple[str, float]]] = {'non_optimal_moves': [], 'back_moves': []}
    for (name, k), series in itertools.product(places(curves), [*heavier(curves), GBFS]):
        for measure, told in ratios.items():
            ours, theirs = by_series(curves, measure, (series, TBA), k, name)
            cases.append(case(name, k, ours < theirs))
            told.append((name, over(ours, theirs)))
    non_optimal, back = map(by_group, ratios.values())
    return judged(cases, f'over those of TBA*: non-optimal moves {non_optimal}; back-moves {back}')


# ---------------------------------------------------------------------- cost, Figure 1
def better_in_both(curves: Curves) -> Finding:
    cases, gains = [], []
    for (name, k), series in itertools.product(places(curves), [*heavier(curves), GBFS]):
        ratios = [curves.mean(m, series, k, name) / curves.mean(m, TBA, k, name) for m in ('cost', 'search_time_s')]
        cases.append(case(name, k, max(ratios) < 1))
        gains.append(ratios)
    cost, time = (sum(ratio[i] < 1 for ratio in gains) for i in (0, 1))
    return in_most(cases, f'cheaper in {cost}, faster in {time}')


def cost_falls_with_w(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves, lambda k, _: k <= 64):
        costs = by_series(curves, 'cost', weighted(curves), k, name)
        cases.append(case(name, k, falls(costs)))
        ratios.append((name, costs[-1] / costs[0]))
    return judged(cases, f'cost at w = 3 over cost at w = 1: {by_group(ratios)}')


def gains_shrink_with_k(curves: Curves) -> Finding:
    cases, told = [], []
    for name in sets_of(curves):
        ks = look_aheads(curves, name)
        gains = [curves.mean('cost', TBA, k, name) / curves.mean('cost', HEAVIEST, k, name) for k in ks]
        cases.append(Case((('', name),), all(b < a for a, b in itertools.pairwise(gains))))
        told.append(f'{name} {number(gains[0])} (k = {ks[0]:g}) to {number(gains[-1])} (k = {ks[-1]:g})')
    return judged(cases, f'cost of TBA* over cost at w = 3: {", ".join(told)}')


def w_does_not_matter(curves: Curves) -> Finding:
    cases, spreads = [], []
    for name, k in places(curves, lambda k, _: k >= 128):
        by_weight = spread(by_series(curves, 'cost', weighted(curves), k, name))
        cases.append(case(name, k, by_weight <= LITTLE))
        spreads.append((name, by_weight))
    return judged(cases, f'dearest above cheapest weight: {by_group(spreads, percent)}')


def greedy_cheapest(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves, lambda k, _: is_small(k)):
        greedy = curves.mean('cost', GBFS, k, name)
        best = min(by_series(curves, 'cost', weighted(curves), k, name))
        cases.append(case(name, k, greedy < best))
        ratios.append((name, greedy / best))
    return judged(cases, f'its cost over that of the best TB-WA*: {by_group(ratios)}')


def greedy_on_rooms(curves: Curves) -> Finding:
    k = min(look_aheads(curves, 'ROOMS'), default=1.0)
    ratio = curves.mean('cost', TBA, k, 'ROOMS') / curves.mean('cost', GBFS, k, 'ROOMS')
    return judged([case('ROOMS', k, ratio >= 5)], f'{number(ratio)} times at k = {k:g}')


def heaviest_cheapest(curves: Curves) -> Finding:
    cases, told = [], []
    for name, k in places(curves, lambda k, _: not is_small(k)):
        costs = dict(zip(everybody(curves), by_series(curves, 'cost', everybody(curves), k, name), strict=True))
        best = min(costs, key=costs.__getitem__)
        cases.append(case(name, k, best == HEAVIEST))
        told.append((name, costs[HEAVIEST] / costs[best] - 1))
    return judged(cases, f'w = 3 above the cheapest: {by_group(told, percent)}')


def cost_falls_with_k(curves: Curves) -> Finding:
    cases = []
    for name, series in itertools.product(sets_of(curves), everybody(curves)):
        holds = falls(curves.over_x('cost', series, name))
        cases.append(Case((('', name), ('', series)), holds))
    return judged(cases, f'{len(cases)} curves')


# ---------------------------------------------------------------------- search time, Figure 2
def falls_with_w(measure: str) -> Callable[[Curves], Finding]:
    def judge(curves: Curves) -> Finding:
        cases, told = [], []
        for name, k in places(curves):
            values = by_series(curves, measure, weighted(curves), k, name)
            cases.append(case(name, k, falls(values)))
            told.append((name, values[0] / values[-1]))
        return judged(cases, f'TBA* over w = 3: {by_group(told)}')

    return judge


def time_falls_less_with_large_k(curves: Curves) -> Finding:
    cases, told = [], []
    for name in sets_of(curves):
        ks = look_aheads(curves, name)
        gains = [
            curves.mean('search_time_s', TBA, k, name) / curves.mean('search_time_s', HEAVIEST, k, name)
            for k in (ks[0], ks[-1])
        ]
        cases.append(Case((('', name),), gains[0] > gains[1]))
        told.append(f'{name} {number(gains[0])} (k = {ks[0]:g}), {number(gains[1])} (k = {ks[-1]:g})')
    return judged(cases, f'TBA* over w = 3: {"; ".join(told)}')


def greedy_faster_than_tba(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves):
        ratio = curves.mean('search_time_s', TBA, k, name) / curves.mean('search_time_s', GBFS, k, name)
        cases.append(case(name, k, ratio > 1))
        ratios.append((name, ratio))
    return judged(cases, f'TBA* over TB-GBFS: {by_group(ratios)}')


def weighted_less_than_greedy(measure: str) -> Callable[[Curves], Finding]:
    def judge(curves: Curves) -> Finding:
        cases, ratios = [], []
        for (name, k), series in itertools.product(places(curves), heavier(curves)):
            ratios.append(curves.mean(measure, series, k, name) / curves.mean(measure, GBFS, k, name))
            cases.append(case(name, k, ratios[-1] < 1))
        return in_most(cases, f'TB-WA* (w > 1) over TB-GBFS: {between(ratios)}')

    return judge


def six_times(measure: str) -> Callable[[Curves], Finding]:
    def judge(curves: Curves) -> Finding:
        cases, told = [], []
        if LARGE not in curves.sets:
            raise NotRun(f'{curves.name} has no {LARGE} maps')
        for series in (HEAVIEST, GBFS):
            ratios = []
            for k in (k for k in look_aheads(curves, LARGE) if k > 128):
                ratios.append(curves.mean(measure, TBA, k, LARGE) / curves.mean(measure, series, k, LARGE))
                cases.append(Case((('', series), ('k =', number_of(k))), ratios[-1] >= 6))
            if ratios:
                told.append(f'{series} {between(ratios)}')
        return judged(cases, f'TBA* over {", ".join(told)}')

    return judge


def fewer_expansions(curves: Curves) -> Finding:
    cases, ratios = [], []
    for (name, k), series in itertools.product(places(curves), [*heavier(curves), GBFS]):
        ratio = curves.mean('expansions', TBA, k, name) / curves.mean('expansions', series, k, name)
        cases.append(case(name, k, ratio > 1))
        ratios.append((name, ratio))
    return judged(cases, f'expansions of TBA* over theirs: {by_group(ratios)}')


def time_falls_with_k(curves: Curves) -> Finding:
    cases = []
    for name, series in itertools.product(sets_of(curves), everybody(curves)):
        for a, b in itertools.pairwise(curves.over_x('search_time_s', series, name)):
            cases.append(Case((('', name), ('', series)), b < a))
    return in_most(cases, 'steps from a look-ahead to the next')


def wc3_like_bg(curves: Curves) -> Finding:
    cases, factors = [], []
    for k, series in itertools.product(look_aheads(curves, 'WC3'), everybody(curves)):
        for measure in ('suboptimality', 'search_time_s'):
            ratio = curves.mean(measure, series, k, 'WC3') / curves.mean(measure, series, k, 'BG')
            factors.append(max(ratio, 1 / ratio))
            cases.append(Case((('', series), ('k =', number_of(k))), factors[-1] <= MUCH))
    return judged(cases, f'WC3 and BG differ by a factor of {between(factors)}')


# ---------------------------------------------------------------------- moves, Figures 3 and 4
def non_optimal_fall_with_w(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves, lambda k, name: not is_high(k, name)):
        moves = by_series(curves, 'non_optimal_moves', weighted(curves), k, name)
        cases.append(case(name, k, falls(moves)))
        ratios.append((name, over(moves[-1], moves[0])))
    return judged(cases, f'at w = 3 over w = 1: {by_group(ratios)}')


def tba_fewest_non_optimal(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves, is_high):
        ours = curves.mean('non_optimal_moves', TBA, k, name)
        best = min(by_series(curves, 'non_optimal_moves', heavier(curves), k, name))
        cases.append(case(name, k, ours < best))
        ratios.append((name, over(ours, best)))
    return judged(cases, f'those of TBA* over those of the best w > 1: {by_group(ratios)}')


def greedy_fewest_non_optimal(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves, lambda k, _: is_small(k)):
        best = min(by_series(curves, 'non_optimal_moves', weighted(curves), k, name))
        ratio = over(curves.mean('non_optimal_moves', GBFS, k, name), best)
        cases.append(case(name, k, ratio < 1))
        ratios.append((name, ratio))
    return judged(cases, f'over those of the best TB-WA*: {by_group(ratios)}')


def greedy_most_non_optimal(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves, lambda k, _: not is_small(k)):
        worst = max(by_series(curves, 'non_optimal_moves', weighted(curves), k, name))
        ratio = over(curves.mean('non_optimal_moves', GBFS, k, name), worst)
        cases.append(case(name, k, ratio > 1))
        ratios.append((name, ratio))
    return judged(cases, f'over those of the worst TB-WA*: {by_group(ratios)}')


def heaviest_fewer_non_optimal(curves: Curves) -> Finding:
    cases = []
    for (name, k), other in itertools.product(places(curves), everybody(curves)):
        if other != HEAVIEST:
            moves = by_series(curves, 'non_optimal_moves', (HEAVIEST, other), k, name)
            cases.append(case(name, k, moves[0] < moves[1]))
    return in_most(cases, 'compared with one other algorithm at a time')


def tba_most_back_moves(curves: Curves) -> Finding:
    return _by_share(curves, lambda shares: shares[TBA] == max(shares.values()), TBA)


def back_moves_fall_with_w(curves: Curves) -> Finding:
    return _by_share(curves, lambda shares: falls([shares[name] for name in weighted(curves)]), HEAVIEST)


def greedy_smallest_share(curves: Curves) -> Finding:
    return _by_share(curves, lambda shares: shares[GBFS] == min(shares.values()), GBFS)


def _by_share(curves: Curves, holds: Callable[[dict[str, float]], bool], shown: str) -> Finding:
    cases, told = [], []
    for name, k in places(curves):
        shares = {series: back_share(curves, series, k, name) for series in everybody(curves)}
        cases.append(case(name, k, holds(shares)))
        told.append((name, shares[shown]))
    return judged(cases, f'share of back-moves, {shown}: {by_group(told, percent)}')


def greedy_fewest_back_moves(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves):
        others = by_series(curves, 'back_moves', weighted(curves), k, name)
        greedy = curves.mean('back_moves', GBFS, k, name)
        cases.append(case(name, k, greedy < min(others)))
        ratios.append((name, over(greedy, curves.mean('back_moves', TBA, k, name))))
    return judged(cases, f'back-moves of TB-GBFS over those of TBA*: {by_group(ratios)}')


def tba_most_back_moves_in_number(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves):
        others = by_series(curves, 'back_moves', [*heavier(curves), GBFS], k, name)
        ours = curves.mean('back_moves', TBA, k, name)
        cases.append(case(name, k, ours > max(others)))
        ratios.append((name, over(ours, max(others))))
    return judged(cases, f'back-moves of TBA* over those of the next: {by_group(ratios)}')


def heaviest_between(curves: Curves) -> Finding:
    cases, ratios = [], []
    for name, k in places(curves):
        tba, heavy, greedy = by_series(curves, 'back_moves', (TBA, HEAVIEST, GBFS), k, name)
        cases.append(case(name, k, greedy <= heavy <= tba / 2))
        ratios.append((name, over(heavy, tba)))
    return judged(cases, f'back-moves at w = 3 over those of TBA*: {by_group(ratios)}')


def almost_no_scrubbing(curves: Curves) -> Finding:
    cases, told = [], []
    for name in sets_of(curves):
        k = max(look_aheads(curves, name))
        back = curves.mean('back_moves', HEAVIEST, k, name) / curves.mean('moves', HEAVIEST, k, name)
        cost = curves.mean('suboptimality', HEAVIEST, k, name)
        cases.append(case(name, k, back <= 0.02 and cost <= 1 + 2 * LITTLE))
        told.append(f'{name} {percent(back)} back-moves, {number(cost)} c*')
    return judged(cases, '; '.join(told))


def within_bound(curves: Curves) -> Finding:
    cases, beyond, runs = [], 0.0, 0
    for (name, k), series in itertools.product(places(curves), weighted(curves)):
        cell = curves.cell(series, k, name)
        cases.append(case(name, k, cell.sum_of('beyond_bound') == 0))
        beyond, runs = beyond + cell.sum_of('beyond_bound'), runs + cell.counted
    return judged(cases, f'{beyond:.0f} of {runs:,} runs cost more')


# ---------------------------------------------------------------------- the table
def _static(name: str, place: str, text: str, test: str, judge: Callable[[Curves], Finding], note: str = '') -> Claim:
    return Claim(f'2014 {name}', '2014', place, text, test, *STATIC, judge, note)


COST, TIME = 'Solution Cost, Figure 1', 'Search Time, Figure 2'
NON_OPTIMAL, SCRUBBING = 'Non-Optimal Moves, Figure 3', 'Scrubbing, Figure 4'

CLAIMS = (
    _static(
        'better than TBA* in cost and time',
        'abstract; Search Time',
        'TB-WA* (w > 1) and TB-GBFS beat TBA* in both cost and search time in the majority of cases.',
        'both means are smaller than those of TBA* in more than half of all sets, look-aheads and algorithms',
        better_in_both,
    ),
    _static(
        'fewer undesired moves',
        'abstract',
        'TB-WA* (w > 1) and TB-GBFS make fewer undesired movements than TBA*.',
        'the mean numbers of non-optimal moves and of back-moves are both smaller, on each set, for each k',
        fewer_undesired_moves,
        note='The paper itself excepts high look-aheads: see “For high look-aheads TBA* makes fewer”.',
    ),
    _static(
        'cost falls with w',
        COST,
        'For look-aheads up to 64 the cost falls as w grows.',
        f'on each set, for each k ≤ 64, over w: {FALLING}',
        cost_falls_with_w,
    ),
    _static(
        'gains shrink with k',
        COST,
        'The smaller the look-ahead, the more a large w saves.',
        'the cost of TBA* over that of w = 3 falls with every step of k',
        gains_shrink_with_k,
    ),
    _static(
        'w does not matter for large k',
        COST,
        'For look-aheads of 128 and more, w does not affect the cost significantly.',
        'the mean costs of all weights are within 10 % of each other',
        w_does_not_matter,
    ),
    _static(
        'GBFS cheapest for small k',
        COST,
        'TB-GBFS has the best cost of all algorithms when the look-ahead is small.',
        'its mean cost is the smallest for k = 1 and k = 4',
        greedy_cheapest,
    ),
    _static(
        'GBFS on ROOMS',
        COST,
        'On ROOMS, TB-GBFS beats TBA* by almost an order of magnitude.',
        'TBA* costs at least five times as much at the smallest look-ahead',
        greedy_on_rooms,
    ),
    _static(
        'w = 3 cheapest for large k',
        COST,
        'With greater look-aheads TB-WA*(3) has the best cost overall.',
        'its mean cost is the smallest of all algorithms for each k > 4',
        heaviest_cheapest,
    ),
    _static(
        'cost falls with k',
        'Figure 1, caption',
        'The cost falls as the look-ahead grows.',
        f'for each algorithm on each set, over k: {FALLING}',
        cost_falls_with_k,
    ),
    _static(
        'time falls with w',
        TIME,
        'Search time falls as w grows.',
        f'on each set, for each k, over w: {FALLING}',
        falls_with_w('search_time_s'),
    ),
    _static(
        'expansions fall with w',
        TIME,
        f'{BY_EXPANSIONS}: they fall as w grows.',
        f'on each set, for each k, over w: {FALLING}',
        falls_with_w('expansions'),
    ),
    _static(
        'time falls more for small k',
        TIME,
        'Search time falls significantly with w for low look-aheads, and moderately for high ones.',
        'TBA* over w = 3 is larger at the smallest k than at the largest, on each set',
        time_falls_less_with_large_k,
    ),
    _static(
        'GBFS faster than TBA*',
        TIME,
        'TB-GBFS is faster than TBA*.',
        'its mean search time is smaller, on each set, for each k',
        greedy_faster_than_tba,
    ),
    _static(
        'TB-WA* mostly faster than GBFS',
        TIME,
        'In most cases TB-WA* is faster than TB-GBFS.',
        'its mean search time is smaller in more than half of all sets, look-aheads and weights above 1',
        weighted_less_than_greedy('search_time_s'),
    ),
    _static(
        'TB-WA* mostly fewer expansions than GBFS',
        TIME,
        f'{BY_EXPANSIONS}: in most cases TB-WA* expands less than TB-GBFS.',
        'its mean number of expansions is smaller in more than half of all sets, look-aheads and weights above 1',
        weighted_less_than_greedy('expansions'),
    ),
    _static(
        'six times faster on StarCraft',
        TIME,
        'On large maps TB-WA*(3) and TB-GBFS are at least six times as fast as TBA*, even for look-aheads above 128.',
        'TBA* takes at least six times their mean search time',
        six_times('search_time_s'),
    ),
    _static(
        'six times fewer expansions on StarCraft',
        TIME,
        f'{BY_EXPANSIONS}: at least six times fewer than TBA*.',
        'TBA* makes at least six times their mean number of expansions, for k > 128',
        six_times('expansions'),
    ),
    _static(
        'fewer expansions',
        'Search Time',
        'That is because they need fewer expansions to reach the goal than TBA*.',
        'the mean number of expansions is smaller for each w > 1 and TB-GBFS, on each set, for each k',
        fewer_expansions,
    ),
    _static(
        'time falls with k',
        'Figure 2, caption',
        'Search time typically falls as the look-ahead grows.',
        'it does in more than half of all steps from a look-ahead to the next',
        time_falls_with_k,
    ),
    _static(
        'WC3 like BG',
        'Static Environments',
        'The plots of WC3 look extremely similar to those of BG.',
        'cost / c* and search time of the same algorithm and k differ by a factor of 1.5 at most',
        wc3_like_bg,
    ),
    _static(
        'non-optimal moves fall with w',
        NON_OPTIMAL,
        'Non-optimal moves of TB-WA* fall as w grows, but for k = 256 (small maps), and from 512 on (large ones).',
        f'on each set, for each smaller k, over w: {FALLING}',
        non_optimal_fall_with_w,
    ),
    _static(
        'TBA* fewest non-optimal moves for high k',
        NON_OPTIMAL,
        'For high look-aheads TBA* makes fewer non-optimal moves than TB-WA* with w > 1.',
        'its mean is the smallest for k = 256 on small maps and k ≥ 512 on large ones',
        tba_fewest_non_optimal,
    ),
    _static(
        'GBFS fewest non-optimal moves for small k',
        NON_OPTIMAL,
        'TB-GBFS makes fewer non-optimal moves for small look-aheads.',
        'its mean is the smallest for k = 1 and k = 4',
        greedy_fewest_non_optimal,
    ),
    _static(
        'GBFS most non-optimal moves for high k',
        NON_OPTIMAL,
        'With higher look-aheads TB-GBFS makes more non-optimal moves than the others.',
        'its mean is the largest for each k > 4',
        greedy_most_non_optimal,
    ),
    _static(
        'TBA* most back-moves',
        SCRUBBING,
        'TBA* has the highest proportion of back-moves.',
        'its back-moves over its non-optimal moves are the largest share, on each set, for each k',
        tba_most_back_moves,
    ),
    _static(
        'back-moves fall with w',
        SCRUBBING,
        'The percentage of back-moves tends to fall as w grows.',
        f'back-moves over non-optimal moves, over w: {FALLING}',
        back_moves_fall_with_w,
    ),
    _static(
        'GBFS smallest share of back-moves',
        SCRUBBING,
        'TB-GBFS has the smallest percentage of back-moves of all algorithms.',
        'its back-moves over its non-optimal moves are the smallest share, on each set, for each k',
        greedy_smallest_share,
    ),
    _static(
        'TBA* most back-moves in number',
        SCRUBBING,
        f'{AGAIN}number: TBA* makes the most back-moves.',
        'its mean number is the largest, on each set, for each k',
        tba_most_back_moves_in_number,
    ),
    _static(
        'GBFS fewest back-moves',
        SCRUBBING,
        'TB-GBFS makes the fewest back-moves of all algorithms.',
        'its mean number is the smallest, on each set, for each k',
        greedy_fewest_back_moves,
    ),
    _static(
        'w = 3 scrubs little',
        SCRUBBING,
        'TB-WA*(3) scrubs significantly less than TBA*, and a little more than TB-GBFS.',
        'it makes at most half as many back-moves as TBA*, and no fewer than TB-GBFS',
        heaviest_between,
    ),
    _static(
        'w = 3 mostly fewer non-optimal moves',
        SCRUBBING,
        'In most cases TB-WA*(3) makes fewer non-optimal moves than other algorithms.',
        'it makes fewer than another algorithm in more than half of all sets, look-aheads and others',
        heaviest_fewer_non_optimal,
    ),
    _static(
        'w = 3 good at high k',
        'Conclusions',
        'TB-WA*(3) with high look-aheads finds good solutions with almost no scrubbing.',
        'at the largest k at most 2 % of its moves are back-moves, and its cost is at most 1.2 times the shortest',
        almost_no_scrubbing,
    ),
    _static(
        'cost bound',
        'Theorem 2',
        'The cost of TB-WA* is at most ⌊(N(w) − 1) / k⌋ c⁺ + 2 w c*.',
        'no run of TB-WA* on a static map has cost more',
        within_bound,
    ),
)


# ---------------------------------------------------------------------- our choices, switched
def with_suffix(suffix: str, *others: str) -> Callable[[str], str | None]:
    """Series with this suffix, without it; and others as they are."""
    return lambda name: name.removesuffix(suffix) if name.endswith(suffix) else name if name in others else None


def without_suffix(name: str) -> str | None:
    return None if ', ' in name else name


VARIATIONS: dict[tuple[str, str], tuple[Variation, ...]] = {
    STATIC: (
        Variation('as ours', 'ours', 're-opening', without_suffix, base=True),
        Variation('closed states are re-opened', 'ours', 're-opening', with_suffix(', re-opening', GBFS)),
        Variation('ties go to the newest state', 'ours', 'exact ties', with_suffix(', lifo')),
        Variation('corners are cut', 'ours', 'corner cutting', with_suffix(', cutting corners')),
    ),
}
"""Experiment and part -> where its claims can be judged with our choices switched, one at a time."""
