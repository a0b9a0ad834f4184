"""What a tick may spend on searching, and how long ticks take."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from tb_planner.search.planner import TimeBoundedPlanner, TimedSearch

WINDOW = 1024
"""Percentiles are computed over this number of ticks."""


class TickBudget:
    """What all searches of a tick may spend together: a number of expansions, or else an amount of time.

    budget = TickBudget(perf_counter, search_time_s=0.01)
    budget.begin_tick(searches=2)
    budget.search_for(planner)
    """

    def __init__(self, clock: Callable[[], float], *, search_time_s: float = 0.0, expansions_per_tick: int = 0) -> None:
        """expansions_per_tick: 0 spends search_time_s instead."""
        self.search_time_s = search_time_s
        self.expansions_per_tick = expansions_per_tick
        self.expansions = 0
        """What the searches of this tick have expanded so far."""
        self._clock = clock
        self._time_left_s = search_time_s
        self._searches_left = 1
        self._timed_search = TimedSearch(clock)

    def begin_tick(self, searches: int = 1) -> None:
        """searches: how many will share the budget."""
        self.expansions = 0
        self._time_left_s = self.search_time_s
        self._searches_left = searches

    def search_for(self, planner: TimeBoundedPlanner) -> None:
        """Searches with an equal share of what is left, and at least a little, so that every tick makes progress."""
        searches, self._searches_left = max(self._searches_left, 1), self._searches_left - 1
        before = planner.expansions
        if self.expansions_per_tick:
            planner.search(max((self.expansions_per_tick - self.expansions) // searches, 1))
        else:
            began_s = self._clock()
            self._timed_search.search(planner, max(self._time_left_s / searches, 0.0))
            self._time_left_s -= self._clock() - began_s
        self.expansions += planner.expansions - before


class TickStats:
    """How long ticks take, and which came too late or not at all, since the node became active."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self.ticks = 0
        self.overruns = 0
        """Ticks that took longer than a period."""
        self.missed = 0
        """Periods in which no tick began."""
        self._durations_s: deque[float] = deque(maxlen=WINDOW)
        self._jitters_s: deque[float] = deque(maxlen=WINDOW)
        self._last_begin_s: float | None = None

    def begin(self, now_s: float) -> None:
        """A tick begins, by the clock of its timer."""
        if self._last_begin_s is not None:
            since_s = now_s - self._last_begin_s
            # a tick may come half a period late, and the next one in time
            self.missed += max(round(since_s / self.period_s) - 1, 0)
            self._jitters_s.append(abs(since_s - self.period_s))
        self._last_begin_s = now_s
        self.ticks += 1

    def end(self, duration_s: float) -> None:
        self._durations_s.append(duration_s)
        self.overruns += duration_s > self.period_s

    def clock_jumped(self) -> None:
        """The time since the last tick is no longer known."""
        self._last_begin_s = None
        self._jitters_s.clear()

    def percentiles_ms(self) -> tuple[float, float, float]:
        """p50, p99 and maximum of the ticks' durations."""
        p50, p99, maximum = _percentiles_ms(self._durations_s, 50, 99, 100)
        return p50, p99, maximum

    def jitters_ms(self) -> tuple[float, float]:
        """p99 and maximum of the difference between a period and the time between two ticks."""
        p99, maximum = _percentiles_ms(self._jitters_s, 99, 100)
        return p99, maximum


def _percentiles_ms(times_s: deque[float], *percents: int) -> list[float]:
    if not times_s:
        return [0.0] * len(percents)
    return [float(value) * 1e3 for value in np.percentile(np.fromiter(times_s, float), percents)]
