"""A race: all candidates get the same problems, one after the other; those that are clearly worse drop out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tb_planner.tools.tuning.candidates import Candidate
from tb_planner.tools.tuning.figures import Difference, Figures, difference, figures_of
from tb_planner.tools.tuning.ground import Problem
from tb_planner.tools.tuning.time_limit import NO_LIMIT, TimeLimit
from tb_planner.tools.tuning.trial import Conditions, Outcome, carry_out

SURE = 2.5
"""Standard errors by which a candidate has to be behind the leader to drop out."""
LEAST_BEHIND = 0.003
"""And by what fraction."""
PATIENCE = 4
"""A trial is given up that takes so many times as long as the fastest before it on the same problem."""
FIRST_LOOK = 3
"""ThrottledLog before anybody drops out."""


class Race:
    """The default stays in to the end. A round that is broken off counts for nobody."""

    def __init__(self, candidates: Sequence[Candidate], default: Candidate, k: int, conditions: Conditions) -> None:
        self.default = default
        self.k = k
        others = [candidate for candidate in candidates if not candidate.is_like(default)]
        self.outcomes: dict[Candidate, list[Outcome]] = {candidate: [] for candidate in (default, *others)}
        self.tried = 0
        """Candidates that have had the problem of the present round, or of the last."""
        self.running = list(self.outcomes)
        self._conditions = conditions

    @property
    def rounds(self) -> int:
        return len(self.outcomes[self.default])

    def run(self, problem: Problem, limit: TimeLimit = NO_LIMIT) -> None:
        """One round. Raises TimeOver."""
        results: dict[Candidate, Outcome] = {}
        fastest = math.inf
        self.tried = 0
        for candidate in self.running:
            outcome = carry_out(problem, candidate, self.k, self._conditions, PATIENCE * fastest, limit)
            results[candidate] = outcome
            self.tried += 1
            fastest = min(fastest, outcome.intervals if outcome.arrived else math.inf)
        for candidate, outcome in results.items():
            self.outcomes[candidate].append(outcome)
        if self.rounds >= FIRST_LOOK:
            leader = self.leader
            self.running = [candidate for candidate in self.running if not self._is_out(candidate, leader)]

    @property
    def leader(self) -> Candidate:
        """Of those still running: who arrives, needs the fewest intervals, and searches least for them."""
        return min(self.running, key=lambda candidate: self._merit(self.outcomes[candidate]))

    def figures(self, candidate: Candidate) -> Figures:
        return figures_of(self.outcomes[candidate])

    def against_default(self, candidate: Candidate) -> Difference:
        return difference(self.outcomes[candidate], self.outcomes[self.default])

    def ranked(self) -> list[Candidate]:
        """The best first. Those that dropped out come last: they have had other problems."""
        ran = [candidate for candidate, outcomes in self.outcomes.items() if outcomes]
        return sorted(ran, key=lambda one: (self.has_dropped_out(one), self.against_default(one).mean, str(one)))

    def has_dropped_out(self, candidate: Candidate) -> bool:
        """Before the last round."""
        return len(self.outcomes[candidate]) < self.rounds

    def _is_out(self, candidate: Candidate, leader: Candidate) -> bool:
        if candidate in (self.default, leader):
            return False
        if self._arrivals(candidate) < self._arrivals(leader):
            return True
        behind = difference(self.outcomes[candidate], self.outcomes[leader])
        return behind.mean > max(LEAST_BEHIND, SURE * behind.error)

    def _arrivals(self, candidate: Candidate) -> int:
        return sum(outcome.arrived for outcome in self.outcomes[candidate])

    @staticmethod
    def _merit(outcomes: Sequence[Outcome]) -> tuple[float, float, float]:
        """To arrive comes first."""
        if not outcomes:
            return math.inf, math.inf, math.inf
        figures = figures_of(outcomes)
        return figures.problems - figures.arrived, figures.weighed, figures.expansions
