"""A study: measures the computer, lets candidates race, recommends one, and tries it on problems not seen before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tb_planner.tuning.budget import SEARCH_SHARE, Budget, fitting_k, measured_expansion_s
from tb_planner.tuning.candidates import Candidate, candidates
from tb_planner.tuning.figures import Difference, Figures, difference, figures_of
from tb_planner.tuning.ground import Problem
from tb_planner.tuning.race import Race
from tb_planner.tuning.trial import Conditions, carry_out

MEASURED_ON = 3
"""Problems on which the computer is measured."""
RACE_SHARE = 0.6
"""Of the time limit; the rest is for trying what was recommended."""
LESS = (4, 16, 64)
"""By these k is divided, to see what less search would do."""
LESS_ON = 10
"""Problems for that."""
A_HAIR = 0.001
"""By this fraction a candidate has to be better than the default to be recommended in its place."""
WORTH_A_RULE = 0.01
"""By this fraction another restart rule than lazy has to be better to be worth its disadvantages."""
RULES = ('lazy', 'path_cost_increased', 'eager', 'never')
"""Of those that are about as good the first is recommended: eager searches anew for every change, path_cost_increased
never notices a shorter way that has opened."""

Progress = Callable[[float, str], None]
"""Is told what part is done, and what is being done."""


def silent(part: float, text: str) -> None:
    """Nobody looks on."""


@dataclass(frozen=True)
class Plan:
    """What is to be studied."""

    seen: Sequence[Problem]
    """To choose by."""
    unseen: Sequence[Problem]
    """To try the choice on."""
    budget: Budget
    conditions: Conditions
    default: Candidate
    time_limit_s: float = 120.0

    def __post_init__(self) -> None:
        if not self.seen:
            raise ValueError('there are no problems to choose by')
        if not self.time_limit_s > 0:
            raise ValueError(f'--time-limit is {self.time_limit_s:g} s; it is above 0')


@dataclass(frozen=True)
class Check:
    """The recommendation and the default on problems that nothing was chosen by."""

    k: int
    ours: Figures
    default: Figures
    difference: Difference


@dataclass
class Study:
    """What has come out so far."""

    plan: Plan
    expansion_s: float
    k: int
    race: Race
    interrupted: bool = False
    check: Check | None = None
    less: list[tuple[int, Figures, Figures]] = field(default_factory=list)
    """k, and figures of the recommendation and of the default with it."""

    @property
    def recommended(self) -> Candidate:
        """What was chosen, unless it was clearly worse than the default on problems not seen before."""
        return self.plan.default if self.was_luck else self.chosen

    @property
    def was_luck(self) -> bool:
        return self.check is not None and self.check.difference.mean > 2 * self.check.difference.error

    @property
    def chosen(self) -> Candidate:
        """By the race: the default if nothing is better than it by more than a hair. Of restart rules that make little
        difference the one that notices most for its restarts."""
        leader = self.race.leader
        if self.race.against_default(leader).mean >= -A_HAIR:
            return self.plan.default
        alike = [candidate for candidate in self.race.ranked() if self._is_like(candidate, leader)]
        return min(alike, key=lambda candidate: (RULES.index(candidate.row.restart), candidate.row.learn_h))

    def _is_like(self, candidate: Candidate, leader: Candidate) -> bool:
        behind = difference(self.race.outcomes[candidate], self.race.outcomes[leader])
        return candidate.greed == leader.greed and (
            candidate == leader or behind.mean <= max(WORTH_A_RULE, behind.error)
        )


def carry_out_study(plan: Plan, progress: Progress = silent, clock: Callable[[], float] = time.monotonic) -> Study:
    """Ctrl-C ends it with what there is; before the first round is over there is nothing, and it goes on upwards."""
    end_s = clock() + plan.time_limit_s
    progress(0.0, 'measuring this computer')
    search_s = SEARCH_SHARE * plan.budget.tick_s
    expansion_s = measured_expansion_s(plan.seen[:MEASURED_ON], plan.conditions, search_s)
    k = fitting_k(search_s, expansion_s)
    race = Race(candidates(plan.conditions.world), plan.default, k, plan.conditions)
    study = Study(plan, expansion_s, k, race)
    try:
        for problem in while_time_lasts(plan.seen, end_s - (1 - RACE_SHARE) * plan.time_limit_s, clock):
            race.run(problem)
            progress(RACE_SHARE * race.rounds / len(plan.seen), f'{len(race.running)} candidates left')
        _try_on_unseen(study, end_s, progress, clock)
        _try_less(study, end_s, progress, clock)
    except KeyboardInterrupt:
        if not race.rounds:
            raise
        study.interrupted = True
    return study


def while_time_lasts(problems: Sequence[Problem], end_s: float, clock: Callable[[], float]) -> Iterator[Problem]:
    """One at least; then another one while it seems to fit."""
    longest_s = 0.0
    for number, problem in enumerate(problems):
        began_s = clock()
        if number and began_s + longest_s > end_s:
            return
        yield problem
        # rounds become shorter as candidates drop out: only the last ones count
        longest_s = max(clock() - began_s, longest_s / 2)


def _try_on_unseen(study: Study, end_s: float, progress: Progress, clock: Callable[[], float]) -> None:
    """With fewer expansions if the ticks turn out too long; what was seen before counts until as much is seen again."""
    plan, chosen = study.plan, study.chosen
    text = f'trying {chosen} on problems not seen before'
    for _ in range(2):
        ours, default = [], []
        before = 0 if study.check is None else study.check.ours.problems
        for problem in while_time_lasts(plan.unseen, end_s, clock):
            ours.append(carry_out(problem, chosen, study.k, plan.conditions))
            default.append(carry_out(problem, plan.default, study.k, plan.conditions))
            if len(ours) >= before:
                study.check = Check(study.k, figures_of(ours), figures_of(default), difference(ours, default))
            progress(RACE_SHARE + 0.3 * len(ours) / len(plan.unseen), text)
        if study.check is None or study.check.k != study.k or study.check.ours.tick_p99_s <= plan.budget.tick_s:
            return
        study.k = fitting_k(0.9 * study.k * plan.budget.tick_s / study.check.ours.tick_p99_s, 1.0)


def _try_less(study: Study, end_s: float, progress: Progress, clock: Callable[[], float]) -> None:
    """All get the same problems: those for which the time has not lasted are left out."""
    plan, problems = study.plan, study.plan.seen[:LESS_ON]
    for by in (1, *LESS):
        k = study.k // by
        if k < 1 or clock() > end_s:
            return
        progress(1 - 0.1 / by, f'trying k = {k:,}')
        pairs = [
            [carry_out(problem, candidate, k, plan.conditions) for candidate in (study.recommended, plan.default)]
            for problem in while_time_lasts(problems, end_s, clock)
        ]
        if len(pairs) < len(problems):
            return
        ours, default = (figures_of(outcomes) for outcomes in zip(*pairs))
        study.less.append((k, ours, default))
