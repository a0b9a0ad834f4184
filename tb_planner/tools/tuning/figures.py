"""What the trials of one candidate come to, and how two candidates compare on the same problems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tb_planner.tools.tuning.trial import Outcome

STUDENTS_T = {2: 12.7, 3: 4.3, 4: 3.2, 5: 2.8, 6: 2.6, 7: 2.4, 8: 2.4, 9: 2.3, 10: 2.3}
"""By problems: standard errors that are exceeded by chance once in 20 times; of more problems about 2."""


class Figures(NamedTuple):
    """Means over problems, the cost's over those where it arrived; tick times are those of ticks that searched."""

    problems: int
    arrived: int
    intervals: float
    weighed: float
    cost_ratio: float
    first_move: float
    back_moves: float
    restarts: float
    expansions: float
    tick_p99_s: float
    tick_max_s: float


class Difference(NamedTuple):
    """By what fraction one needs more intervals than another on the same problems, and the standard error of that."""

    mean: float
    error: float
    problems: int

    @property
    def is_clear(self) -> bool:
        """Whether it is hardly chance, which few problems can hardly tell."""
        return abs(self.mean) > STUDENTS_T.get(self.problems, 2.0) * self.error

    def __str__(self) -> str:
        error = f'± {100 * self.error:.1f}' if math.isfinite(self.error) else '(one problem)'
        return f'{100 * self.mean:+.1f} % {error}'


def figures_of(outcomes: Sequence[Outcome]) -> Figures:
    ticks_s = np.concatenate([outcome.ticks[:, 1] for outcome in outcomes])
    p99_s, max_s = (float(np.percentile(ticks_s, part)) if len(ticks_s) else 0.0 for part in (99, 100))

    def mean(name: str) -> float:
        return float(np.mean([getattr(outcome, name) for outcome in outcomes]))

    cost_ratios = [outcome.cost_ratio for outcome in outcomes if outcome.arrived]

    return Figures(
        problems=len(outcomes),
        arrived=sum(outcome.arrived for outcome in outcomes),
        intervals=mean('intervals'),
        weighed=mean('weighed'),
        cost_ratio=float(np.mean(cost_ratios)) if cost_ratios else math.nan,
        first_move=mean('first_move'),
        back_moves=mean('back_moves'),
        restarts=mean('restarts'),
        expansions=mean('expansions'),
        tick_p99_s=p99_s,
        tick_max_s=max_s,
    )


def difference(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> Difference:
    """On the problems that both have had; below 0 if ours need fewer."""
    count = min(len(ours), len(theirs))
    base = np.array([outcome.weighed for outcome in theirs[:count]])
    more = np.array([outcome.weighed for outcome in ours[:count]]) - base
    error = float(more.std(ddof=1)) / math.sqrt(count) if count > 1 else math.inf
    return Difference(float(more.mean() / base.mean()), error / float(base.mean()), count)
