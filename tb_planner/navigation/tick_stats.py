"""How long ticks take, and which came too late or not at all."""

from __future__ import annotations

from collections import deque

import numpy as np

WINDOW = 1024


class TickStats:
    """Counted since the node became active; percentiles are those of the last ticks."""

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
        """A tick begins, by the clock that its timer goes by."""
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
        """The time since the last tick tells nothing."""
        self._last_begin_s = None
        self._jitters_s.clear()

    def percentiles_ms(self) -> tuple[float, float, float]:
        """p50, p99 and the largest of the ticks' durations."""
        p50, p99, most = _percentiles_ms(self._durations_s, 50, 99, 100)
        return p50, p99, most

    def jitters_ms(self) -> tuple[float, float]:
        """p99 and the largest of how far the time between two ticks was from a period."""
        p99, most = _percentiles_ms(self._jitters_s, 99, 100)
        return p99, most


def _percentiles_ms(times_s: deque[float], *percents: int) -> list[float]:
    if not times_s:
        return [0.0] * len(percents)
    return [float(value) * 1e3 for value in np.percentile(np.fromiter(times_s, float), percents)]
