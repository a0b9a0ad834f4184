"""The time limit of a study: when it is over, and how it is shared out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from tb_planner.errors import BadInput, TbPlannerError

Item = TypeVar('Item')

READ_BY = 0.2
"""By this part of the limit a bag has been read,"""
DRAWN_BY = 0.25
"""by this one problems have been drawn,"""
MEASURED_BY = 0.35
"""by this one the computer has been measured,"""
RACED_BY = 0.7
"""and by this one the race is over; the rest is for trying what was chosen. All of it is less where there is less to
do."""


class TimeOver(TbPlannerError):
    """The limit has come in the middle of something. What is not whole counts for nothing."""


class TooLittleTime(BadInput):
    """The limit has come before there was anything to tell; says what to raise."""


class TimeLimit:
    """So many seconds from now on. What looks at it stops within what it does between two looks: a tick of a trial, or
    one search for the shortest way."""

    def __init__(
        self,
        seconds: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        began_s: float | None = None,
    ) -> None:
        if not seconds > 0:
            raise ValueError(f'--time-limit is {seconds:g} s; it is above 0')
        self.seconds = seconds
        self._clock = clock
        self._began_s = clock() if began_s is None else began_s

    def __str__(self) -> str:
        return f'--time-limit of {self.seconds:g} s'

    @property
    def left_s(self) -> float:
        """Below 0 once it is over."""
        return self._began_s + self.seconds - self._clock()

    @property
    def is_over(self) -> bool:
        return self.left_s <= 0

    def part(self, part: float) -> TimeLimit:
        """Its first part, which began when it did."""
        return TimeLimit(part * self.seconds, self._clock, self._began_s)

    def share(self, of: int) -> TimeLimit:
        """From now on: what is left, for the first of so many."""
        return TimeLimit(max(self.left_s, 1e-9) / of, self._clock)

    def while_it_lasts(self, items: Iterable[Item], part: float = 1.0) -> Iterator[Item]:
        """One at least; then another one while it seems to fit into this part."""
        soon = self.part(part)
        longest_s = 0.0
        for number, item in enumerate(items):
            began_s = self._clock()
            if number and soon.left_s < longest_s:
                return
            yield item
            # rounds become shorter as candidates drop out: only the last ones count
            longest_s = max(self._clock() - began_s, longest_s / 2)


NO_LIMIT = TimeLimit()
