"""A claim of a paper, and how it is judged: a row of a table, with a function from figures to a verdict.

Verdicts are computed, never written down. A claim about many cases (sets of maps, look-aheads) holds if it does in all
of them; it holds only if … where it does in half of them or more, or where one of our choices decides; else it does
not hold.
"""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.cells import Curves, NotRun, Renaming, Results, as_it_is
from benchmarks.published import EXTENTS

FEW = 100
"""Fewer problems than these are few, and a verdict about small differences may change with more."""
FEW_OF_THE_PAPERS = 0.1
"""So are fewer than this part of the paper's."""
DECIDING = 30
"""On fewer problems of a set, one of our choices cannot decide about a claim."""
FLAT = 0.01
"""A change by less than this fraction is none."""
LITTLE = 0.1
"""Costs that differ by less than this fraction are similar."""
FALLING = 'the mean falls from the first to the last, and rises by more than 1 % in no step'
AGAIN = 'The same by '
BY_EXPANSIONS = f'{AGAIN}expansions, which do not depend on the machine'
"""Words of several claims: a test, by falls(); a claim in another unit; and one about time by expansions."""


class Verdict(enum.Enum):
    HOLDS = 'holds'
    ONLY_IF = 'holds only if'
    FAILS = 'does not hold'
    NOT_RUN = 'not run'
    LEFT_OUT = 'left out'


@dataclass(frozen=True)
class Finding:
    """figure: what was measured; condition: where the claim holds, of one that holds only there; cases: looked at."""

    verdict: Verdict
    figure: str
    condition: str = ''
    cases: tuple[Case, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Case:
    """A place where a claim can be looked at: names of columns and their values there, as ('', 'BG'), ('k =', '4')."""

    where: tuple[tuple[str, str], ...]
    holds: bool


@dataclass(frozen=True)
class Claim:
    """In our words; place: where the paper says so; test: what counts as holding.

    experiment and part: whose curves are judged. A claim without a judge cannot be decided by rows; then test says why.
    """

    id: str
    paper: str
    place: str
    text: str
    test: str
    experiment: str
    part: str
    judge: Callable[[Curves], Finding] | None
    note: str = ''


@dataclass(frozen=True)
class Variation:
    """Another run in which a claim can be judged: with one of our choices switched, or in another unit."""

    condition: str
    experiment: str
    part: str
    rename: Renaming = as_it_is
    base: bool = False  # the same runs with no choice switched: what the others are to be compared with


@dataclass(frozen=True)
class Judged:
    claim: Claim
    finding: Finding
    elsewhere: tuple[tuple[Variation, Finding], ...] = ()
    problems: str = ''  # how many there were
    turning: str = ''  # how often the verdict is another if one map is left out
    alone: Verdict = Verdict.LEFT_OUT  # in its own experiment, whatever our choices decide

    @property
    def tried(self) -> tuple[tuple[Variation, Finding], ...]:
        """Variations in which it could be judged."""
        return tuple(
            (variation, finding)
            for variation, finding in self.elsewhere
            if not variation.base and finding.verdict is not Verdict.NOT_RUN
        )

    @property
    def as_ours(self) -> Verdict:
        """With no choice switched: in the runs beside those in which one is, or in its own experiment."""
        return next((finding.verdict for variation, finding in self.elsewhere if variation.base), self.alone)

    @property
    def switched(self) -> tuple[tuple[Variation, Finding], ...]:
        """Variations with another verdict than with no choice switched."""
        return tuple((variation, finding) for variation, finding in self.tried if finding.verdict is not self.as_ours)


def judge(claim: Claim, results: Results, variations: Sequence[Variation] = ()) -> Judged:
    """The claim in its own experiment, and in its variations."""
    if claim.judge is None:
        return Judged(claim, Finding(Verdict.LEFT_OUT, claim.test))
    found = _look(claim.judge, results, Variation('', claim.experiment, claim.part))
    elsewhere = tuple((variation, _look(claim.judge, results, variation)) for variation in variations)
    problems = counted(results, claim.experiment, claim.part)
    own = 0 if any(variation.base for variation in variations) else _least(results, claim.experiment, claim.part)
    deciding = tuple(
        (variation, found_there)
        for variation, found_there in elsewhere
        if _least(results, variation.experiment, variation.part) >= max(own, DECIDING)
        and (variation.base or _looks_at_all_that_fails(claim, found, variation, found_there, results))
    )
    finding = _decided_by_choice(found, deciding)
    return Judged(claim, finding, elsewhere, problems, _turning(claim, results, found.verdict), found.verdict)


def counted(results: Results, experiment: str, part: str) -> str:
    """problems: 5,000 on BG, 300 to 400 on ROOMS"""
    problems, maps = results.problems(experiment, part), results.maps(experiment, part)
    enough = {name: max(FEW, FEW_OF_THE_PAPERS * papers(experiment, part, name, maps[name])) for name in problems}
    few = any(least < enough[name] for name, (least, _) in problems.items())
    return f'{"few " * few}problems: {by_set(problems)}' if problems else ''


def papers(experiment: str, part: str, set_name: str, maps: int) -> int:
    """How many problems the paper had on so many maps of the set."""
    extent = EXTENTS.get((experiment, part, set_name))
    return extent.problems * maps if extent else 0


def by_set(problems: dict[str, tuple[int, int]]) -> str:
    return ', '.join(f'{between(counts, lambda count: f"{count:,.0f}")} on {name}' for name, counts in problems.items())


def _least(results: Results, experiment: str, part: str) -> int:
    """How many problems of one set there are, at least. A variation decides nothing if that is few, or fewer than the
    claim's own, where it has no base: what differs may be the problems."""
    return max((least for least, _ in results.problems(experiment, part).values()), default=0)


def _looks_at_all_that_fails(
    claim: Claim, found: Finding, variation: Variation, there: Finding, results: Results
) -> bool:
    """Where a claim fails with some series in some cases, a run without all of them cannot say that it would hold."""
    if there.verdict is Verdict.NOT_RUN or found.verdict is Verdict.NOT_RUN:
        return False
    missing = {case.where for case in found.cases if not case.holds} - {case.where for case in there.cases}
    ours = results.curves(claim.experiment, claim.part).series
    theirs = results.curves(variation.experiment, variation.part, variation.rename).series
    return not missing and set(ours) <= set(theirs)


def _turning(claim: Claim, results: Results, verdict: Verdict) -> str:
    """A verdict that hangs on a single map is worth less."""
    if claim.judge is None or verdict is Verdict.NOT_RUN:
        return ''
    with_one_left_out = results.curves_without_a_map.get((claim.experiment, claim.part), [])
    others = 0
    for curves in with_one_left_out:
        try:
            others += claim.judge(curves).verdict is not verdict
        except NotRun:
            continue
    if not others:
        return ''
    which = 'one certain map' if others == 1 else f'any one of {others} maps'
    return f'of {len(with_one_left_out)} maps, leaving out {which} would change the verdict'


def _look(judge_curves: Callable[[Curves], Finding], results: Results, variation: Variation) -> Finding:
    try:
        return judge_curves(results.curves(variation.experiment, variation.part, variation.rename))
    except NotRun as reason:
        return Finding(Verdict.NOT_RUN, str(reason))


def _decided_by_choice(found: Finding, elsewhere: tuple[tuple[Variation, Finding], ...]) -> Finding:
    """A claim that holds with one choice switched, and not without on the same problems, holds only if it is."""
    if found.verdict not in (Verdict.FAILS, Verdict.ONLY_IF):
        return found
    if any(variation.base and finding.verdict is Verdict.HOLDS for variation, finding in elsewhere):
        return found
    deciding = [f'if {v.condition}' for v, finding in elsewhere if not v.base and finding.verdict is Verdict.HOLDS]
    if not deciding:
        return found
    condition = ' or '.join(filter(None, (found.condition, *deciding)))
    return replace(found, verdict=Verdict.ONLY_IF, condition=condition)


# ---------------------------------------------------------------------- from cases to verdicts
def judged(cases: Sequence[Case], figure: str) -> Finding:
    """All cases: holds. Half or more: only if. Fewer: does not hold; the figure tells where it does.

    What is looked at more than once in the same place holds there if it does every time.
    """
    if not cases:
        raise NotRun('no case of this claim was run')
    places = dict.fromkeys((case.where for case in cases), True)
    for case in cases:
        places[case.where] &= case.holds
    cases = tuple(Case(where, holds) for where, holds in places.items())
    held = [case for case in cases if case.holds]
    if len(held) == len(cases):
        return Finding(Verdict.HOLDS, figure, cases=cases)
    counted = f'{figure}; holds in {len(held)} of {len(cases)} cases' if len(cases) > 1 else figure
    if 2 * len(held) >= len(cases):
        return Finding(Verdict.ONLY_IF, counted, condition_of(cases), cases)
    return Finding(Verdict.FAILS, f'{counted}: {_listed(held, cases)}' if held else counted, cases=cases)


def in_most(cases: Sequence[Case], figure: str) -> Finding:
    """For claims about most cases: more than half of them."""
    if not cases:
        raise NotRun('no case of this claim was run')
    held = [case for case in cases if case.holds]
    counted = f'{len(held)} of {len(cases)} cases' + (f'; {figure}' if figure else '')
    return Finding(Verdict.HOLDS if 2 * len(held) > len(cases) else Verdict.FAILS, counted, cases=tuple(cases))


def condition_of(cases: Sequence[Case]) -> str:
    """The cases in which it holds; or all but those in which it fails, where these are few."""
    held = [case for case in cases if case.holds]
    failed = [case for case in cases if not case.holds]
    only, but = f'only for {_listed(held, cases)}', f'in all cases but {_listed(failed, cases)}'
    return but if len(failed) < len(held) / 2 and len(but) < 2 * len(only) else min(only, but, key=len)


def _listed(chosen: Sequence[Case], cases: Sequence[Case]) -> str:
    """ROOMS (k = 1, 4); WC3: the values of the last column behind those of the first, left out if they are all."""
    groups: dict[tuple[str, ...], list[str]] = {}
    every: dict[tuple[str, ...], list[str]] = {}
    for into, some in ((groups, chosen), (every, cases)):
        for case in some:
            values = into.setdefault(tuple(_said(*part) for part in case.where[:-1]), [])
            if case.where[-1][1] not in values:
                values.append(case.where[-1][1])
    column = cases[0].where[-1][0]
    if groups.keys() == every.keys() and len({tuple(values) for values in groups.values()}) == 1 < len(groups):
        return _said(column, ', '.join(next(iter(groups.values()))))
    texts = []
    for place, values in groups.items():
        last = _said(column, ', '.join(values))
        if not place or not place[0]:
            texts.append(last)
        elif values == every[place]:
            texts.append(' '.join(place))
        else:
            texts.append(f'{" ".join(place)} ({last})')
    return '; '.join(texts)


def _said(column: str, value: str) -> str:
    return f'{column} {value}'.strip()


# ---------------------------------------------------------------------- figures
def falls(values: Sequence[float]) -> bool:
    """The last is below the first, and none is above the one before it by more than FLAT."""
    return values[-1] < values[0] and all(b <= a * (1 + FLAT) for a, b in itertools.pairwise(values))


def spread(values: Sequence[float]) -> float:
    """By what fraction the largest is above the smallest."""
    return max(values) / min(values) - 1 if min(values) > 0 else float('inf')


def over(value: float, other: float) -> float:
    """Their ratio; infinite over nothing."""
    return value / other if other else float('inf')


def number(value: float) -> str:
    """Three digits."""
    if value != value or abs(value) in (0.0, float('inf')):
        return {0.0: '0', float('inf'): '∞'}.get(abs(value), '–')
    if abs(value) >= 100:
        return whole(value)
    digits = 2 if abs(value) < 10 else 1
    return f'{value:.{digits}f}' if abs(value) >= 0.1 else f'{value:.2g}'


def whole(value: float) -> str:
    """Rounded; halves go up, so that what differs by one does not look alike."""
    return f'{math.floor(value + 0.5):,}'


def percent(fraction: float) -> str:
    return f'{100 * fraction:.{0 if abs(fraction) >= 0.2 else 1}f} %'


def between(values: Sequence[float], shown: Callable[[float], str] = number) -> str:
    """'2.10 to 3.30', or one number if they look alike."""
    if not values:
        return '–'
    low, high = shown(min(values)), shown(max(values))
    return low if low == high else f'{low} to {high}'


def by_group(values: Sequence[tuple[str, float]], shown: Callable[[float], str] = number) -> str:
    """BG 1.2 to 3.4, ROOMS 5.6"""
    groups: dict[str, list[float]] = {}
    for name, value in values:
        groups.setdefault(name, []).append(value)
    return ', '.join(f'{name} {between(group, shown)}' for name, group in groups.items())
