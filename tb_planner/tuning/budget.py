"""How many expansions fit into a tick, measured on this computer and this map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_planner.tuning.candidates import Candidate
from tb_planner.tuning.ground import Problem
from tb_planner.tuning.trial import Conditions, carry_out

SEARCH_SHARE = 0.75
"""Of a tick's budget; the rest is for what else a tick does, and for ticks that are slower than those measured."""
MEASURED = (Candidate('tba_star'), Candidate('tb_wa_star', 1.5), Candidate('tb_gbfs'))
FIRST_K = 2000
MOST_K = 10**9


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


def measured_expansion_s(problems: Sequence[Problem], conditions: Conditions, time_s: float) -> float:
    """Seconds that an expansion takes, 99 ticks of 100, where a tick is so long: first with few a tick, then with as
    many as seem to fit."""
    slowest_s = _slowest_s(problems, conditions, FIRST_K)
    return max(_slowest_s(problems, conditions, fitting_k(time_s, slowest_s)), 1e-10)


def _slowest_s(problems: Sequence[Problem], conditions: Conditions, k: int) -> float:
    return max(_expansion_s(problems, candidate, k, conditions) for candidate in MEASURED)


def _expansion_s(problems: Sequence[Problem], candidate: Candidate, k: int, conditions: Conditions) -> float:
    ticks = np.concatenate([carry_out(problem, candidate, k, conditions).ticks for problem in problems])
    if len(ticks) == 0:
        return 0.0
    full = ticks[ticks[:, 0] >= ticks[:, 0].max() / 2]  # in small ones other things than expansions take the time
    return float(np.percentile(full[:, 1] / full[:, 0], 99))
