"""How a tick spends its time for the search: in chunks that are small against what is left, never far beyond it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from tb_planner.search.planner import TimeBoundedPlanner, TimedSearch


class SearchBudget:
    """The time that a tick has for its search."""

    def __init__(self, search_time_s: float, clock: Callable[[], float] = perf_counter) -> None:
        self.search_time_s = search_time_s
        self._timed_search = TimedSearch(clock)

    def spend(self, planner: TimeBoundedPlanner, time_s: float | None = None) -> None:
        """Searches for this time, by default for all of the budget."""
        self._timed_search.search(planner, self.search_time_s if time_s is None else time_s)


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
