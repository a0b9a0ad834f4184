"""How long ticks take, and which came too late or not at all."""

from __future__ import annotations

from collections import deque

import numpy as np

WINDOW = 1024


class TickTimes:
    """Counted since the node became active; percentiles are those of the last ticks."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self.ticks = 0
        self.overruns = 0
        """Ticks that took longer than a period."""
        self.missed = 0
        """Periods in which no tick began."""
        self._durations_s: deque[float] = deque(maxlen=WINDOW)
        self._last_begin_s: float | None = None

    def begin(self, now_s: float) -> None:
        """A tick begins, by the clock that its timer goes by."""
        if self._last_begin_s is not None:
            # a tick may come half a period late, and the next one in time
            self.missed += max(round((now_s - self._last_begin_s) / self.period_s) - 1, 0)
        self._last_begin_s = now_s
        self.ticks += 1

    def end(self, duration_s: float) -> None:
        self._durations_s.append(duration_s)
        self.overruns += duration_s > self.period_s

    def clock_jumped(self) -> None:
        """The time since the last tick tells nothing."""
        self._last_begin_s = None

    def percentiles_ms(self) -> tuple[float, float, float]:
        """p50, p99 and the largest."""
        if not self._durations_s:
            return 0.0, 0.0, 0.0
        p50, p99, most = np.percentile(np.fromiter(self._durations_s, float), (50, 99, 100)) * 1e3
        return float(p50), float(p99), float(most)
