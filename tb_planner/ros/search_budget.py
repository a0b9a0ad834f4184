"""How a tick spends its time for the search: in chunks that are small against what is left, never far beyond it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from tb_planner.planner import Status, TimeBoundedPlanner

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

    def spend(self, planner: TimeBoundedPlanner) -> None:
        """One chunk at least, so that every tick gets on; then more while another one fits."""
        end = self._clock() + self.search_time_s
        chunk = self._fitting(self.search_time_s)
        while True:
            began, before = self._clock(), planner.expansions
            status = planner.search(chunk)
            now, expanded = self._clock(), planner.expansions - before
            if planner.goal_found or status in (Status.NO_PATH, Status.AT_GOAL):
                return
            if expanded >= chunk:
                self._chunk, self._chunk_s = expanded, now - began
            if end - now < REST * self.search_time_s:
                return
            chunk = self._fitting(end - now)

    def _fitting(self, left_s: float) -> int:
        """What half of the time left is good for, since the pace may change; not much more than the last one."""
        pace = self._chunk / max(self._chunk_s, 1e-9)
        return max(min(int(left_s / 2 * pace), GROWTH * self._chunk), LEAST)
