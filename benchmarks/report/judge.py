"""The judge: decides for every claim in claims.toml whether the data support it, contradict it, or neither.

A claim is a set of comparisons. Each compares sums over the same maps and problems, as a ratio A / B (or as a value,
where there is no B), and gets a 95 % interval that is clustered by map: the jackknife leaves out one map at a time, and
Student's t gives the width, with the effective number of maps minus 1 as degrees of freedom (fewer than the maps where
a few large ones make up most of the sums). Claims about curves (2009, Figure 3) compare map by map instead. A
comparison is *for* the claim if its interval lies inside the range that the claim allows, *against* it if it lies
outside, and *unclear* otherwise, or with fewer than 3 maps or 30 problems.

Comparisons with the same columns `cases` are one case; it is for the claim if all of them are, and against it if one
is. The quantifier makes the verdict of the cases:

    all      supported: all cases for; contradicted: at least one against and none for; mixed: some for, some against
    most     supported: more than half of the cases for; contradicted: at least half of them against
    any      supported: at least one case for; contradicted: all cases against
    average  one case: the mean of all comparisons

Everything else is inconclusive. Where one of many cases decides (against `all`, for `any`), its interval is widened by
Bonferroni's rule for the number of comparisons, so that noise decides in at most 5 % of the claims.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from benchmarks.experiments.engine import grouped
from benchmarks.report.comparisons import MIN_MAPS, MIN_PROBLEMS, RatioComparison, averaged, comparisons_of
from benchmarks.report.groups import Groups, NotRun

CLAIMS_FILE = Path(__file__).with_name('claims.toml')


class Verdict(enum.Enum):
    SUPPORTED = 'supported'
    CONTRADICTED = 'contradicted'
    MIXED = 'mixed'
    INCONCLUSIVE = 'inconclusive'
    NOT_JUDGED = 'not judged'


@dataclass(frozen=True)
class Claim:
    """A row of claims.toml. spec: the comparisons; empty if `reason` explains why it is not judged."""

    id: str
    paper: str
    place: str
    statement: str
    test: str
    experiment: str
    part: str
    spec: dict[str, Any]
    note: str = ''
    reason: str = ''


@dataclass(frozen=True)
class Case:
    where: dict[str, Any]
    side: int
    comparisons: list[RatioComparison]


@dataclass(frozen=True)
class Finding:
    """A verdict with everything that is printed of it."""

    verdict: Verdict
    cases: list[Case] = field(default_factory=list)
    means: dict[str, tuple[float, float, float]] = field(default_factory=dict)  # label -> effect and interval
    reason: str = ''

    def count(self, side: int) -> int:
        return sum(case.side == side for case in self.cases)

    @property
    def comparisons(self) -> list[RatioComparison]:
        return [one for case in self.cases for one in case.comparisons]


# ---------------------------------------------------------------------- claims
def read_claims(path: Path = CLAIMS_FILE) -> tuple[list[Claim], dict[str, Any]]:
    """The claims, and the rest of the file: papers, measures, series, suites, variants, published tables."""
    data = tomllib.loads(path.read_text())
    claims = []
    for row in data['claim']:
        row = {**data['suites'][row['suite']], **row}
        texts = {name: str(row.pop(name)) for name in ('id', 'paper', 'place', 'statement', 'experiment', 'part')}
        row.pop('suite')
        spare = {name: str(row.pop(name, '')) for name in ('test', 'note', 'reason')}
        claims.append(Claim(**texts, **spare, spec=row))
    return claims, data


def judge(claim: Claim, groups: Groups, data: dict[str, Any], variant: dict[str, Any] | None = None) -> Finding:
    """The verdict on the claim's own rows, or on those of a variant."""
    if claim.reason:
        return Finding(Verdict.NOT_JUDGED, reason=claim.reason)
    try:
        if variant:
            names = ('series', 'sets', 'xs')
            chosen = {name: variant[name] for name in names if name in variant}
            means = groups.means(variant['experiment'], variant['part'], **chosen)
        else:
            means = groups.means(claim.experiment, claim.part)
        comparisons = list(comparisons_of(claim.spec, means, data))
    except NotRun as missing:
        return Finding(Verdict.INCONCLUSIVE, reason=str(missing))
    return decide(comparisons, claim.spec.get('cases'), claim.spec.get('quantifier', 'all'), claim.spec.get('any_of'))


def decide(
    comparisons: Sequence[RatioComparison],
    columns: Sequence[str] | None = None,
    quantifier: str = 'all',
    any_of: Sequence[str] | None = None,
) -> Finding:
    """The verdict. any_of: within a case, one group of these columns is enough."""
    if not comparisons:
        return Finding(Verdict.INCONCLUSIVE, reason='no rows for any case')
    means = {}
    for label, group in grouped(comparisons, lambda one: one.label).items():
        means[label] = averaged([one for one in group if one.main] or group).effect
    if quantifier == 'average':
        one = averaged(comparisons)
        cases = [Case({}, one.side(), [one])]
        quantifier = 'all'
    else:
        m = len(comparisons)
        levels = {'all': (1, m), 'any': (m, 1), 'most': (1, 1)}[quantifier]
        wanted = columns or ('set', 'rate', 'x', 'a')
        named = grouped(comparisons, lambda one: tuple((name, one.where.get(name)) for name in wanted))
        cases = [Case(dict(where), _case_side(some, levels, any_of), some) for where, some in named.items()]
    found = Finding(_verdict([case.side for case in cases], quantifier), cases, means)
    if found.verdict is Verdict.INCONCLUSIVE and not any(one.enough for one in comparisons):
        maps, problems = (max(getattr(one, name) for one in comparisons) for name in ('maps', 'problems'))
        reason = f'too few: the data have {problems} problems in {maps} group{"s" * (maps != 1)} (one for each map); '
        return Finding(found.verdict, cases, means, f'{reason}at least {MIN_PROBLEMS} in {MIN_MAPS} are needed')
    return found


def _case_side(comparisons: list[RatioComparison], levels: tuple[int, int], any_of: Sequence[str] | None) -> int:
    if any_of:
        named = grouped(comparisons, lambda one: tuple(one.where.get(name) for name in any_of))
        widened = len(named), len(comparisons)
        sides = [min(one.side(*widened) for one in group) for group in named.values()]
        return max(sides)
    return min(one.side(*levels) for one in comparisons)


def _verdict(sides: list[int], quantifier: str) -> Verdict:
    n, yes, no = len(sides), sides.count(1), sides.count(-1)
    if quantifier == 'most':
        supported, contradicted, mixed = 2 * yes > n, 2 * no >= n, False
    elif quantifier == 'any':
        supported, contradicted, mixed = yes > 0, no == n, False
    else:
        supported, contradicted, mixed = yes == n, no > 0 and not yes, no > 0 and yes > 0
    if mixed:
        return Verdict.MIXED
    return Verdict.SUPPORTED if supported else Verdict.CONTRADICTED if contradicted else Verdict.INCONCLUSIVE
