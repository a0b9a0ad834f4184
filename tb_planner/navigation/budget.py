"""How a tick spends its time for the search: in chunks that are small against what is left, never far beyond it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from tb_planner.search.planner import Status, TimeBoundedPlanner

LEAST = 32
"""Expansions of the smallest chunk: some microseconds compiled, a millisecond as plain Python."""
GROWTH = 8
"""A chunk is at most so many times as large as the one before."""
REST = 0.05
"""With so little of the time left it is over: each chunk traces its path back, however small it is."""


class SearchBudget:
    """Searches for a given time. How many expansions that is, it learns from chunk to chunk."""

    def __init__(self, search_time_s: float, clock: Callable[[], float] = perf_counter) -> None:
        self.search_time_s = search_time_s
        self._clock = clock
        self._chunk, self._chunk_s = LEAST // GROWTH, 0.0  # the last one, in expansions and in time

    def spend(self, planner: TimeBoundedPlanner, time_s: float | None = None) -> None:
        """One chunk at least, so that every tick gets on; then more while another one fits."""
        time_s = self.search_time_s if time_s is None else time_s
        end = self._clock() + time_s
        chunk = self._fitting(time_s)
        while True:
            began, before = self._clock(), planner.expansions
            status = planner.search(chunk)
            now, expanded = self._clock(), planner.expansions - before
            if planner.goal_found or status in (Status.NO_PATH, Status.AT_GOAL):
                return
            if expanded >= chunk:
                self._chunk, self._chunk_s = expanded, now - began
            if end - now <= REST * time_s:
                return
            chunk = self._fitting(end - now)

    def _fitting(self, left_s: float) -> int:
        """What half of the time left is good for, since the pace may change; not much more than the last one."""
        pace = self._chunk / max(self._chunk_s, 1e-9)
        return max(min(int(left_s / 2 * pace), GROWTH * self._chunk), LEAST)


class TickBudget:
    """What a tick has for all who search in it: so many expansions if that is not 0, else the budget's time."""

    def __init__(self, budget: SearchBudget, expansions: int, parts: int, clock: Callable[[], float] = perf_counter):
        self.expansions = 0
        """Of all of them."""
        self._budget = budget
        self._most = expansions
        self._time_left_s = budget.search_time_s
        self._parts = parts
        self._clock = clock

    def spend(self, planner: TimeBoundedPlanner) -> None:
        """Each gets an equal part of what those before it have left, and a little in any case."""
        parts, self._parts = max(self._parts, 1), self._parts - 1
        before = planner.expansions
        if self._most:
            planner.search(max((self._most - self.expansions) // parts, 1))
        else:
            began_s = self._clock()
            self._budget.spend(planner, max(self._time_left_s / parts, 0.0))
            self._time_left_s -= self._clock() - began_s
        self.expansions += planner.expansions - before
