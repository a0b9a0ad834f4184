"""How many expansions fit into a tick, measured on this computer and this map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_planner.tools.tuning.candidates import Candidate
from tb_planner.tools.tuning.ground import Problem
from tb_planner.tools.tuning.time_limit import NO_LIMIT, TimeLimit
from tb_planner.tools.tuning.trial import Conditions, CutShort, carry_out

SEARCH_SHARE = 0.75
"""Of a tick's budget; the rest is for what else a tick does, and for ticks that are slower than those measured."""
MEASURED = (Candidate('tba_star'), Candidate('tb_wa_star', 1.5), Candidate('tb_gbfs'))
FIRST_K = 2000
MOST_K = 10**9
ENOUGH_TICKS = 1000
"""To tell for certain that a budget is too small."""
PASSES = 3
CAUTION = 2.0
"""Expansions may take up to so many times as long where far more fit into a tick than any has had: in larger searches,
which outgrow the processor's cache, they do."""
LEAST_EXPANSION_S = 1e-10
"""Clocks are not so fine that an expansion could take less."""


@dataclass(frozen=True)
class Budget:
    """Ticks a second, and the part of one core that their searches may take while a way is looked for."""

    tick_hz: float
    cpu: float

    def __post_init__(self) -> None:
        if not 0.1 <= self.tick_hz <= 1000:
            raise ValueError(f'--tick-hz is {self.tick_hz:g}; it is 0.1 to 1000')
        if not 0 < self.cpu <= 1:
            raise ValueError(f'--cpu is {self.cpu:g}; it is a part of one core, above 0 and at most 1')

    @property
    def tick_s(self) -> float:
        return self.cpu / self.tick_hz


def fitting_k(time_s: float, expansion_s: float) -> int:
    """Of two digits, rounded down."""
    k = min(max(time_s / expansion_s, 1.0), MOST_K)
    digits = 10 ** max(math.floor(math.log10(k)) - 1, 0)
    return int(k / digits) * digits


class Pace(NamedTuple):
    """How fast this computer searches this map."""

    expansion_s: float
    """Seconds that an expansion takes, 99 ticks of 100."""
    ticks: int
    """That were measured."""
    cut_short: bool = False
    most: float = 0
    """Expansions in a tick."""


def measured_pace(
    problems: Sequence[Problem], conditions: Conditions, time_s: float, limit: TimeLimit = NO_LIMIT
) -> Pace:
    """Where a tick may search so long: first with few expansions a tick, then with as many as seem to fit, and again
    if those are far more. Each algorithm gets a tick at least, whatever the limit."""
    pace = _slowest(problems, conditions, FIRST_K, limit.share(PASSES))
    for passes_left in range(PASSES - 1, 0, -1):
        k = fitting_k(time_s, pace.expansion_s)
        pace = _slowest(problems, conditions, k, limit.share(passes_left))
        fitting = fitting_k(time_s, pace.expansion_s)
        if fitting <= 2 * k:
            break
    caution = min(max(fitting / (2 * pace.most), 1.0), CAUTION)
    return pace._replace(expansion_s=caution * pace.expansion_s)


def check_fits(budget: Budget, pace: Pace) -> None:
    """That a tick with one expansion does, if that is known."""
    search_s = SEARCH_SHARE * budget.tick_s
    known = pace.ticks >= ENOUGH_TICKS or not pace.cut_short
    if known and search_s < pace.expansion_s:
        raise ValueError(
            f'a tick at {budget.tick_hz:g} Hz with {budget.cpu:g} of a core has {1e6 * search_s:.2g} µs for the '
            f'search, and one with a single expansion takes {1e6 * pace.expansion_s:.2g} µs here; --cpu has to be '
            f'above {1.05 * budget.cpu * pace.expansion_s / search_s:.2g}, or --tick-hz lower'
        )


def _slowest(problems: Sequence[Problem], conditions: Conditions, k: int, limit: TimeLimit) -> Pace:
    """Of the algorithms that differ in how long an expansion takes; each has an equal part of the time left."""
    paces = [
        _pace(problems, candidate, k, conditions, limit.share(len(MEASURED) - number))
        for number, candidate in enumerate(MEASURED)
    ]
    # one that is done with a few expansions tells what else a tick takes, not what k expansions take
    full = [pace for pace in paces if pace.most >= min(k / 2, FIRST_K)] or paces
    slowest_s = max(LEAST_EXPANSION_S, *(pace.expansion_s for pace in full))
    cut_short = any(pace.cut_short for pace in paces)
    return Pace(slowest_s, sum(pace.ticks for pace in paces), cut_short, max(pace.most for pace in paces))


def _pace(problems: Sequence[Problem], candidate: Candidate, k: int, conditions: Conditions, limit: TimeLimit) -> Pace:
    measured: list[NDArray[np.float64]] = []
    cut_short = False
    for problem in problems:
        try:
            measured.append(carry_out(problem, candidate, k, conditions, limit=limit).ticks)
        except CutShort as cut:
            measured.append(cut.outcome.ticks)
            cut_short = True
            break
    ticks = np.concatenate(measured)
    most = float(ticks[:, 0].max())
    full = ticks[ticks[:, 0] >= most / 2]  # in small ones other things than expansions take the time
    return Pace(float(np.percentile(full[:, 1] / full[:, 0], 99)), len(ticks), cut_short, most)
