"""A study: measures the computer, races the candidates, recommends one, and checks it on unseen problems."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_planner.search.algorithms import RESTART_RULES
from tb_planner.tools.tuning.problems import TuningProblem
from tb_planner.tools.tuning.race import PairedDifference, Race, TrialMeans
from tb_planner.tools.tuning.time_limit import (
    MEASURED_FRACTION,
    NO_LIMIT,
    RACED_FRACTION,
    TimeLimit,
    TimeOver,
    TooLittleTime,
)
from tb_planner.tools.tuning.trial import Candidate, TrialConditions, TrialCutShort, candidates, run_trial

SEARCH_SHARE = 0.75
"""The part of a tick's budget for the search; the rest is for the other work of a tick and for slower ticks."""
MEASURED = (Candidate('tba_star'), Candidate('tb_wa_star', 1.5), Candidate('tb_gbfs'))
MEASURED_PROBLEMS = 3
FIRST_K = 2000
MAX_K = 10**9
SURE_TICKS = 1000
"""Ticks after which a measurement can show that a budget is too small."""
PASSES = 3
MAX_SLOWDOWN = 2.0
"""Expansions of a search that outgrows the processor's cache take up to this many times as long. The measurement
assumes it where far more expansions fit into a tick than any measured tick had."""
MIN_EXPANSION_S = 1e-10
"""Clocks are too coarse to show that an expansion takes less."""
SMALL_SAMPLE = 8
"""With fewer problems only a clearly better candidate is recommended."""
MIN_GAIN = 0.001
"""The default is recommended unless a candidate is better by this fraction."""
MIN_RULE_GAIN = 0.01
"""The lazy restart rule is recommended unless another one is better by this fraction."""

Progress = Callable[[float, str], None]
"""A function of the fraction that is done and of the present work."""


# ------------------------------------------------------------------------------------------------ the budget
@dataclass(frozen=True)
class CpuBudget:
    """Ticks per second, and the part of one core that their searches may use.

    >>> CpuBudget(tick_hz=20, cpu=0.2).tick_s
    0.01
    """

    tick_hz: float
    cpu: float

    def __post_init__(self) -> None:
        if not 0.1 <= self.tick_hz <= 1000:
            raise ValueError(f'--tick-hz is {self.tick_hz:g}; it must be between 0.1 and 1000')
        if not 0 < self.cpu <= 1:
            raise ValueError(f'--cpu is {self.cpu:g}; it is a part of one core and must be above 0 and at most 1')

    @property
    def tick_s(self) -> float:
        return self.cpu / self.tick_hz


class SearchSpeed(NamedTuple):
    """How fast this computer searches this map."""

    expansion_s: float
    """Seconds per expansion in 99 of 100 ticks."""
    ticks: int
    """Number of measured ticks."""
    cut_short: bool = False
    max_expansions: float = 0
    """The largest number of expansions in a tick."""


def fitting_k(time_s: float, expansion_s: float) -> int:
    """Returns the number of expansions that fit into a time, rounded down to two digits."""
    k = min(max(time_s / expansion_s, 1.0), MAX_K)
    digits = 10 ** max(math.floor(math.log10(k)) - 1, 0)
    return int(k / digits) * digits


def measure_speed(
    problems: Sequence[TuningProblem], conditions: TrialConditions, time_s: float, limit: TimeLimit = NO_LIMIT
) -> SearchSpeed:
    """Measures ticks that search for `time_s`: first with few expansions, then with the number that seems to fit, and
    again if that turns out far larger. Each algorithm gets at least one tick, whatever the limit."""
    speed = _slowest(problems, conditions, FIRST_K, limit.share(PASSES))
    for passes_left in range(PASSES - 1, 0, -1):
        k = fitting_k(time_s, speed.expansion_s)
        speed = _slowest(problems, conditions, k, limit.share(passes_left))
        fitting = fitting_k(time_s, speed.expansion_s)
        if fitting <= 2 * k:
            break
    slowdown = min(max(fitting / (2 * speed.max_expansions), 1.0), MAX_SLOWDOWN)
    return speed._replace(expansion_s=slowdown * speed.expansion_s)


def check_fits(budget: CpuBudget, speed: SearchSpeed) -> None:
    """Raises ValueError if not even one expansion fits into a tick, as far as the measurement can show."""
    search_s = SEARCH_SHARE * budget.tick_s
    known = speed.ticks >= SURE_TICKS or not speed.cut_short
    if known and search_s < speed.expansion_s:
        raise ValueError(
            f'a tick at {budget.tick_hz:g} Hz with {budget.cpu:g} of a core has {1e6 * search_s:.2g} µs for the '
            f'search, but a tick with one expansion takes {1e6 * speed.expansion_s:.2g} µs on this computer; --cpu '
            f'must be above {1.05 * budget.cpu * speed.expansion_s / search_s:.2g}, or --tick-hz lower'
        )


def _slowest(problems: Sequence[TuningProblem], conditions: TrialConditions, k: int, limit: TimeLimit) -> SearchSpeed:
    """Returns the speed of the slowest of the algorithms whose expansions differ; they share the time equally."""
    speeds = [
        _measure(problems, candidate, k, conditions, limit.share(len(MEASURED) - number))
        for number, candidate in enumerate(MEASURED)
    ]
    # an algorithm that needs few expansions shows the time of the tick's other work, not the time of k expansions
    full = [speed for speed in speeds if speed.max_expansions >= min(k / 2, FIRST_K)] or speeds
    slowest_s = max(MIN_EXPANSION_S, *(speed.expansion_s for speed in full))
    cut_short = any(speed.cut_short for speed in speeds)
    largest = max(speed.max_expansions for speed in speeds)
    return SearchSpeed(slowest_s, sum(speed.ticks for speed in speeds), cut_short, largest)


def _measure(
    problems: Sequence[TuningProblem], candidate: Candidate, k: int, conditions: TrialConditions, limit: TimeLimit
) -> SearchSpeed:
    measured: list[NDArray[np.float64]] = []
    cut_short = False
    for problem in problems:
        try:
            measured.append(run_trial(problem, candidate, k, conditions, limit=limit).ticks)
        except TrialCutShort as cut:
            measured.append(cut.result.ticks)
            cut_short = True
            break
    ticks = np.concatenate(measured)
    largest = float(ticks[:, 0].max())
    full = ticks[ticks[:, 0] >= largest / 2]  # in smaller ticks the other work takes most of the time
    return SearchSpeed(float(np.percentile(full[:, 1] / full[:, 0], 99)), len(ticks), cut_short, largest)


# ------------------------------------------------------------------------------------------------ the study
@dataclass(frozen=True)
class StudyPlan:
    """The problems, the budget and the current parameters of a study."""

    seen: Sequence[TuningProblem]
    """The candidate is chosen on these."""
    unseen: Sequence[TuningProblem]
    """The choice is checked on these."""
    budget: CpuBudget
    conditions: TrialConditions
    default: Candidate
    """The current parameters."""
    origin: str = ''
    """Where the problems come from, for the report."""
    cut_short: Sequence[str] = ()
    """Work that the time limit left out."""

    def __post_init__(self) -> None:
        if not self.seen:
            raise ValueError('seen is empty; the tuner needs at least one problem to choose on')


@dataclass(frozen=True)
class UnseenCheck:
    """The chosen candidate and the default on unseen problems."""

    k: int
    chosen: TrialMeans
    default: TrialMeans
    difference: PairedDifference


@dataclass
class Study:
    """The results so far."""

    plan: StudyPlan
    speed: SearchSpeed
    k: int
    race: Race
    time_limit_s: float = math.inf
    interrupted: bool = False
    check: UnseenCheck | None = None

    @property
    def recommended(self) -> Candidate:
        """The chosen candidate, unless the check contradicts the choice, or the choice is inconclusive."""
        return self.plan.default if self.is_contradicted or self.is_inconclusive else self.chosen

    def checked(self, check: UnseenCheck) -> TrialMeans:
        """Returns the figures of the recommended candidate."""
        return check.default if self.recommended == self.plan.default else check.chosen

    @property
    def is_contradicted(self) -> bool:
        """Whether the choice was clearly worse than the default on unseen problems."""
        return self.check is not None and self.check.difference.mean > 0 and self.check.difference.is_clear

    @property
    def is_inconclusive(self) -> bool:
        """Whether the sample is small and shows no clear difference; then only k is tuned."""
        if self.chosen == self.plan.default or self.race.against_default(self.chosen).is_clear:
            return False
        if self.check is None:
            return True
        return min(self.race.rounds, self.check.chosen.problems) < SMALL_SAMPLE and not self.check.difference.is_clear

    @property
    def cut_short(self) -> list[str]:
        """The work that there was no time for."""
        plan, check = self.plan, self.check
        parts = list(plan.cut_short)
        if self.speed.cut_short:
            parts.append(f'the computer was measured in {self.speed.ticks} ticks')
        if self.race.rounds < len(plan.seen):
            parts.append(f'the choice used {self.race.rounds} of {len(plan.seen)} problems')
        tried = 0 if check is None else check.chosen.problems
        if tried < len(plan.unseen):
            parts.append(f'the check used {tried} of {len(plan.unseen)} problems')
        return parts

    @property
    def chosen(self) -> Candidate:
        """The winner of the race, or the default if no candidate is better by MIN_GAIN. Among restart rules that make
        little difference it is the first of the table."""
        leader = self.race.leader
        if self.race.against_default(leader).mean >= -MIN_GAIN:
            return self.plan.default
        similar = [candidate for candidate in self.race.ranked() if self._is_similar(candidate, leader)]
        rules = list(RESTART_RULES)
        return min(similar, key=lambda candidate: (rules.index(candidate.config.restart), candidate.config.learn_h))

    def _is_similar(self, candidate: Candidate, leader: Candidate) -> bool:
        behind = PairedDifference.of(self.race.results[candidate], self.race.results[leader])
        return candidate.config.weight == leader.config.weight and (
            candidate == leader or behind.mean <= max(MIN_RULE_GAIN, behind.error)
        )


def run_study(plan: StudyPlan, limit: TimeLimit = NO_LIMIT, progress: Progress = lambda fraction, text: None) -> Study:
    """Runs a study. After Ctrl-C or the time limit it returns the results so far; before the first round there are
    none, and it raises KeyboardInterrupt or TooLittleTime. Raises ValueError if no expansion fits into a tick."""
    progress(0.0, 'measuring this computer')
    search_s = SEARCH_SHARE * plan.budget.tick_s
    speed = measure_speed(plan.seen[:MEASURED_PROBLEMS], plan.conditions, search_s, limit.part(MEASURED_FRACTION))
    check_fits(plan.budget, speed)
    k = fitting_k(search_s, speed.expansion_s)
    race = Race(candidates(plan.conditions.world), plan.default, k, plan.conditions)
    study = Study(plan, speed, k, race, limit.seconds)
    try:
        _race_candidates(study, limit, progress)
        _check_on_unseen(study, limit, progress)
    except KeyboardInterrupt:
        if not race.rounds:
            raise
        study.interrupted = True
    except TimeOver:
        if not race.rounds:
            raise _too_little_time(study, limit) from None
    return study


def _too_little_time(study: Study, limit: TimeLimit) -> TooLittleTime:
    tried, count = study.race.tried, len(study.race.running)
    needed = f'about {limit.seconds * 2 * count / tried:.2g} s' if tried else 'much more'
    hint = ', or a larger --cpu: trials with few expansions per tick are long' * (study.k < FIRST_K)
    return TooLittleTime(
        f'the {limit} was over when {tried} of {count} candidates had tried the first problem; {needed} would be '
        f'enough{hint}'
    )


def _race_candidates(study: Study, limit: TimeLimit, progress: Progress) -> None:
    """Leaves out a round that takes too long, so that time is left for the check; the first round has all the time."""
    race, problems = study.race, study.plan.seen
    for problem in limit.while_it_lasts(problems, RACED_FRACTION):
        try:
            race.run(problem, limit.part(RACED_FRACTION) if race.rounds else limit)
        except TimeOver:
            if not race.rounds:
                raise
            return
        progress(RACED_FRACTION * race.rounds / len(problems), f'{len(race.running)} candidates left')


def _check_on_unseen(study: Study, limit: TimeLimit, progress: Progress) -> None:
    """Repeats the check with fewer expansions if the ticks take too long; the first check counts until the second has
    tried as many problems."""
    plan, candidate = study.plan, study.chosen
    text = f'checking {candidate} on unseen problems'
    for _ in range(2):
        chosen, default = [], []
        before = 0 if study.check is None else study.check.chosen.problems
        for problem in limit.while_it_lasts(plan.unseen):
            chosen.append(run_trial(problem, candidate, study.k, plan.conditions, limit=limit))
            default.append(run_trial(problem, plan.default, study.k, plan.conditions, limit=limit))
            if len(chosen) >= before:
                difference = PairedDifference.of(chosen, default)
                study.check = UnseenCheck(study.k, TrialMeans.of(chosen), TrialMeans.of(default), difference)
            progress(RACED_FRACTION + (1 - RACED_FRACTION) * len(chosen) / len(plan.unseen), text)
        if study.check is None or study.check.k != study.k:
            return
        tick_s = study.checked(study.check).tick_p99_s
        if tick_s <= plan.budget.tick_s:
            return
        study.k = fitting_k(SEARCH_SHARE * study.k * plan.budget.tick_s / tick_s, 1.0)
