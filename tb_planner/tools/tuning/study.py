"""A study: measures the computer, lets candidates race, recommends one, and tries it on problems not seen before."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tb_planner.tools.tuning.budget import FIRST_K, SEARCH_SHARE, Budget, Pace, check_fits, fitting_k, measured_pace
from tb_planner.tools.tuning.candidates import Candidate, candidates
from tb_planner.tools.tuning.figures import Difference, Figures, difference, figures_of
from tb_planner.tools.tuning.ground import Problem
from tb_planner.tools.tuning.race import Race
from tb_planner.tools.tuning.time_limit import MEASURED_BY, NO_LIMIT, RACED_BY, TimeLimit, TimeOver, TooLittleTime
from tb_planner.tools.tuning.trial import Conditions, carry_out

MEASURED_ON = 3
"""ThrottledLog on which the computer is measured."""
LESS = (4, 16, 64)
"""By these k is divided, to see what less search would do."""
LESS_ON = 10
"""ThrottledLog for that."""
FEW = 8
"""ThrottledLog; by fewer nothing is chosen that is not clearly better."""
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
    origin: str = ''
    """Where the problems come from, for people."""
    cut_short: Sequence[str] = ()
    """What there was no time for."""

    def __post_init__(self) -> None:
        if not self.seen:
            raise ValueError('there are no problems to choose by')


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
    pace: Pace
    k: int
    race: Race
    time_limit_s: float = math.inf
    interrupted: bool = False
    check: Check | None = None
    less: list[tuple[int, Figures, Figures]] = field(default_factory=list)
    """k, and figures of the recommendation and of the default with it."""

    @property
    def recommended(self) -> Candidate:
        """What was chosen, unless it was clearly worse than the default on problems not seen before, or nothing is
        clear."""
        return self.plan.default if self.was_luck or self.is_guess else self.chosen

    def checked(self, check: Check) -> Figures:
        """Of what is recommended."""
        return check.default if self.recommended == self.plan.default else check.ours

    @property
    def was_luck(self) -> bool:
        return self.check is not None and self.check.difference.mean > 0 and self.check.difference.is_clear

    @property
    def is_guess(self) -> bool:
        """Whether the choice was made by few problems, or checked on few, and neither tells clearly that it is better:
        then all is kept but k."""
        if self.chosen == self.plan.default or self.race.against_default(self.chosen).is_clear:
            return False
        if self.check is None:
            return True
        return min(self.race.rounds, self.check.ours.problems) < FEW and not self.check.difference.is_clear

    @property
    def cut_short(self) -> list[str]:
        """What there was no time for, each part of the work by itself."""
        plan, check = self.plan, self.check
        told = list(plan.cut_short)
        if self.pace.cut_short:
            told.append(f'the computer was measured in {self.pace.ticks} ticks')
        if self.race.rounds < len(plan.seen):
            told.append(f'{self.race.rounds} of {len(plan.seen)} problems to choose by were tried')
        tried = 0 if check is None else check.ours.problems
        if tried < len(plan.unseen):
            told.append(f'{tried} of {len(plan.unseen)} others to check the choice on')
        less = len(_less(self.k)) - 1
        if len(self.less) < less + 1:
            told.append(f'less search was tried with {max(len(self.less) - 1, 0)} of {less} numbers of expansions')
        return told

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


def carry_out_study(plan: Plan, limit: TimeLimit = NO_LIMIT, progress: Progress = silent) -> Study:
    """Ctrl-C, or the time limit, ends it with what there is. Before the first round is over there is nothing: Ctrl-C
    goes on upwards, and the limit becomes TooLittleTime. Raises ValueError if no expansion fits into a tick."""
    progress(0.0, 'measuring this computer')
    search_s = SEARCH_SHARE * plan.budget.tick_s
    pace = measured_pace(plan.seen[:MEASURED_ON], plan.conditions, search_s, limit.part(MEASURED_BY))
    check_fits(plan.budget, pace)
    k = fitting_k(search_s, pace.expansion_s)
    race = Race(candidates(plan.conditions.world), plan.default, k, plan.conditions)
    study = Study(plan, pace, k, race, limit.seconds)
    with _broken_off(study, limit):
        _let_race(study, limit, progress)
        _try_on_unseen(study, limit, progress)
        _try_less(study, limit, progress)
    return study


@contextmanager
def _broken_off(study: Study, limit: TimeLimit) -> Iterator[None]:
    """By Ctrl-C or by the limit."""
    try:
        yield
    except KeyboardInterrupt:
        if not study.race.rounds:
            raise
        study.interrupted = True
    except TimeOver:
        if not study.race.rounds:
            raise _too_little(study, limit) from None


def _too_little(study: Study, limit: TimeLimit) -> TooLittleTime:
    tried, of = study.race.tried, len(study.race.running)
    about = f'about {limit.seconds * 2 * of / tried:.2g} s' if tried else 'much more'
    shorter = ', or a larger --cpu: with so few expansions a tick trials are long' * (study.k < FIRST_K)
    return TooLittleTime(
        f'the {limit} was over when {tried} of {of} candidates had tried one problem, which tells nothing; {about} '
        f'would do{shorter}'
    )


def _let_race(study: Study, limit: TimeLimit, progress: Progress) -> None:
    """A round that turns out too long is left out, so that time is left for the check; the first has all of it."""
    race, problems = study.race, study.plan.seen
    for problem in limit.while_it_lasts(problems, RACED_BY):
        try:
            race.run(problem, limit.part(RACED_BY) if race.rounds else limit)
        except TimeOver:
            if not race.rounds:
                raise
            return
        progress(RACED_BY * race.rounds / len(problems), f'{len(race.running)} candidates left')


def _try_on_unseen(study: Study, limit: TimeLimit, progress: Progress) -> None:
    """With fewer expansions if the ticks turn out too long; what was seen before counts until as much is seen again."""
    plan, chosen = study.plan, study.chosen
    text = f'trying {chosen} on problems not seen before'
    for _ in range(2):
        ours, default = [], []
        before = 0 if study.check is None else study.check.ours.problems
        for problem in limit.while_it_lasts(plan.unseen):
            ours.append(carry_out(problem, chosen, study.k, plan.conditions, limit=limit))
            default.append(carry_out(problem, plan.default, study.k, plan.conditions, limit=limit))
            if len(ours) >= before:
                study.check = Check(study.k, figures_of(ours), figures_of(default), difference(ours, default))
            progress(RACED_BY + 0.25 * len(ours) / len(plan.unseen), text)
        if study.check is None or study.check.k != study.k:
            return
        tick_s = study.checked(study.check).tick_p99_s
        if tick_s <= plan.budget.tick_s:
            return
        study.k = fitting_k(SEARCH_SHARE * study.k * plan.budget.tick_s / tick_s, 1.0)


def _try_less(study: Study, limit: TimeLimit, progress: Progress) -> None:
    """All get the same problems: those for which the time has not lasted are left out."""
    plan, problems = study.plan, study.plan.seen[:LESS_ON]
    both = study.recommended, plan.default
    for number, k in enumerate(_less(study.k)):
        if limit.is_over:
            return
        progress(0.95 + 0.01 * number, f'trying k = {k:,}')
        pairs = [
            [carry_out(problem, candidate, k, plan.conditions, limit=limit) for candidate in both]
            for problem in limit.while_it_lasts(problems)
        ]
        if len(pairs) < len(problems):
            return
        ours, default = (figures_of(outcomes) for outcomes in zip(*pairs))
        study.less.append((k, ours, default))


def _less(k: int) -> list[int]:
    """This one first."""
    return [k // by for by in (1, *LESS) if k >= by]
