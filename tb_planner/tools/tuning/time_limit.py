"""The time limit of a study: when it ends, and how its parts share it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from tb_planner.errors import BadInput, TbPlannerError

Item = TypeVar('Item')

READ_FRACTION = 0.2
"""The bag is read by this fraction of the limit."""
DRAWN_FRACTION = 0.25
"""The problems are drawn by this fraction."""
MEASURED_FRACTION = 0.35
"""The computer is measured by this fraction."""
RACED_FRACTION = 0.7
"""The race ends by this fraction; the rest is for checking the choice. Parts with little work end earlier."""


class TimeOver(TbPlannerError):
    """The limit ended a piece of work before its end; its result does not count."""


class TooLittleTime(BadInput):
    """The limit ended the work before there was any result. The message names the option to raise."""


class TimeLimit:
    """A number of seconds from now on.

    Work that checks the limit ends one step late at most: after one tick of a trial, or after one search for a shortest
    path.
    """

    def __init__(
        self,
        seconds: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        began_s: float | None = None,
    ) -> None:
        if not seconds > 0:
            raise ValueError(f'--time-limit is {seconds:g} s; it must be above 0')
        self.seconds = seconds
        self._clock = clock
        self._began_s = clock() if began_s is None else began_s

    def __str__(self) -> str:
        return f'--time-limit of {self.seconds:g} s'

    @property
    def left_s(self) -> float:
        """Seconds left; negative after the end."""
        return self._began_s + self.seconds - self._clock()

    @property
    def is_over(self) -> bool:
        return self.left_s <= 0

    def part(self, fraction: float) -> TimeLimit:
        """Returns the limit that begins with this one and ends after a fraction of it."""
        return TimeLimit(fraction * self.seconds, self._clock, self._began_s)

    def share(self, count: int) -> TimeLimit:
        """Returns the limit for the first of `count` equal pieces of work that have the time left."""
        return TimeLimit(max(self.left_s, 1e-9) / count, self._clock)

    def while_it_lasts(self, items: Iterable[Item], fraction: float = 1.0) -> Iterator[Item]:
        """Yields at least one item, and then items as long as the next one seems to fit into this fraction."""
        end = self.part(fraction)
        longest_s = 0.0
        for number, item in enumerate(items):
            began_s = self._clock()
            if number and end.left_s < longest_s:
                return
            yield item
            # rounds become shorter as candidates drop out: only the last ones count
            longest_s = max(self._clock() - began_s, longest_s / 2)


NO_LIMIT = TimeLimit()
