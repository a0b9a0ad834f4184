"""A race: all candidates try the same problems, one after the other, and those that are clearly worse drop out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tb_planner.tools.tuning.problems import TuningProblem
from tb_planner.tools.tuning.time_limit import NO_LIMIT, TimeLimit
from tb_planner.tools.tuning.trial import Candidate, TrialConditions, TrialResult, run_trial

STUDENTS_T = {2: 12.7, 3: 4.3, 4: 3.2, 5: 2.8, 6: 2.6, 7: 2.4, 8: 2.4, 9: 2.3, 10: 2.3}
"""Number of problems -> standard errors that chance exceeds once in 20 times; about 2 for more problems."""
DROP_OUT_ERRORS = 2.5
"""A candidate drops out if it is behind the leader by this number of standard errors,"""
DROP_OUT_FRACTION = 0.003
"""and by this fraction."""
GIVE_UP_RATIO = 4
"""A trial ends if it takes this many times as long as the fastest one before it on the same problem."""
MIN_ROUNDS = 3
"""No candidate drops out before this number of problems."""


class TrialMeans(NamedTuple):
    """Means over problems. The cost ratio counts arrivals only; tick times count ticks that searched."""

    problems: int
    arrived: int
    intervals: float
    weighted_intervals: float
    cost_ratio: float
    first_move: float
    back_moves: float
    restarts: float
    expansions: float
    tick_p99_s: float
    tick_max_s: float

    @classmethod
    def of(cls, results: Sequence[TrialResult]) -> TrialMeans:
        ticks_s = np.concatenate([result.ticks[:, 1] for result in results])
        p99_s, max_s = (float(np.percentile(ticks_s, percent)) if len(ticks_s) else 0.0 for percent in (99, 100))
        cost_ratios = [result.cost_ratio for result in results if result.arrived]
        names = ('intervals', 'weighted_intervals', 'first_move', 'back_moves', 'restarts', 'expansions')
        return cls(
            problems=len(results),
            arrived=len(cost_ratios),
            cost_ratio=float(np.mean(cost_ratios)) if cost_ratios else math.nan,
            tick_p99_s=p99_s,
            tick_max_s=max_s,
            **{name: float(np.mean([getattr(result, name) for result in results])) for name in names},
        )


class PairedDifference(NamedTuple):
    """The fraction by which one candidate needs more intervals than another on the same problems, and its error."""

    mean: float
    error: float
    problems: int

    @classmethod
    def of(cls, ours: Sequence[TrialResult], theirs: Sequence[TrialResult]) -> PairedDifference:
        """Compares the problems that both have tried; the mean is negative if ours need fewer intervals."""
        count = min(len(ours), len(theirs))
        base = np.array([result.weighted_intervals for result in theirs[:count]])
        more = np.array([result.weighted_intervals for result in ours[:count]]) - base
        error = float(more.std(ddof=1)) / math.sqrt(count) if count > 1 else math.inf
        return cls(float(more.mean() / base.mean()), error / float(base.mean()), count)

    @property
    def is_clear(self) -> bool:
        """Whether chance is an unlikely explanation."""
        return abs(self.mean) > STUDENTS_T.get(self.problems, 2.0) * self.error

    def __str__(self) -> str:
        error = f'± {100 * self.error:.1f}' if math.isfinite(self.error) else '(one problem)'
        return f'{100 * self.mean:+.1f} % {error}'


class Race:
    """Rounds of one problem each. The default never drops out. An unfinished round does not count."""

    def __init__(
        self, candidates: Sequence[Candidate], default: Candidate, k: int, conditions: TrialConditions
    ) -> None:
        self.default = default
        self.k = k
        others = [candidate for candidate in candidates if not candidate.is_same_as(default)]
        self.results: dict[Candidate, list[TrialResult]] = {candidate: [] for candidate in (default, *others)}
        self.tried = 0
        """Candidates that have tried the problem of the current or last round."""
        self.running = list(self.results)
        self._conditions = conditions

    @property
    def rounds(self) -> int:
        return len(self.results[self.default])

    def run(self, problem: TuningProblem, limit: TimeLimit = NO_LIMIT) -> None:
        """Runs one round. Raises TimeOver."""
        results: dict[Candidate, TrialResult] = {}
        fastest = math.inf
        self.tried = 0
        for candidate in self.running:
            result = run_trial(problem, candidate, self.k, self._conditions, GIVE_UP_RATIO * fastest, limit)
            results[candidate] = result
            self.tried += 1
            fastest = min(fastest, result.intervals if result.arrived else math.inf)
        for candidate, result in results.items():
            self.results[candidate].append(result)
        if self.rounds >= MIN_ROUNDS:
            leader = self.leader
            self.running = [candidate for candidate in self.running if not self._drops_out(candidate, leader)]

    @property
    def leader(self) -> Candidate:
        """The running candidate that arrives most often, then needs the fewest intervals, then expands least."""
        return min(self.running, key=lambda candidate: self._rank(self.results[candidate]))

    def means(self, candidate: Candidate) -> TrialMeans:
        return TrialMeans.of(self.results[candidate])

    def against_default(self, candidate: Candidate) -> PairedDifference:
        return PairedDifference.of(self.results[candidate], self.results[self.default])

    def ranked(self) -> list[Candidate]:
        """Returns the best candidate first; those that dropped out come last, since they tried fewer problems."""
        ran = [candidate for candidate, results in self.results.items() if results]
        return sorted(ran, key=lambda one: (self.has_dropped_out(one), self.against_default(one).mean, str(one)))

    def has_dropped_out(self, candidate: Candidate) -> bool:
        """Whether it dropped out before the last round."""
        return len(self.results[candidate]) < self.rounds

    def _drops_out(self, candidate: Candidate, leader: Candidate) -> bool:
        if candidate in (self.default, leader):
            return False
        if self._arrivals(candidate) < self._arrivals(leader):
            return True
        behind = PairedDifference.of(self.results[candidate], self.results[leader])
        return behind.mean > max(DROP_OUT_FRACTION, DROP_OUT_ERRORS * behind.error)

    def _arrivals(self, candidate: Candidate) -> int:
        return sum(result.arrived for result in self.results[candidate])

    @staticmethod
    def _rank(results: Sequence[TrialResult]) -> tuple[float, float, float]:
        if not results:
            return math.inf, math.inf, math.inf
        means = TrialMeans.of(results)
        return means.problems - means.arrived, means.weighted_intervals, means.expansions
