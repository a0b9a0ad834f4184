"""A log for problems that may recur with every message or tick, and their counts for the diagnostics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

from tb_planner.errors import cut

SAME_TEXT_S = 5.0
SAME_KIND_S = 0.2
"""Times between two log lines with the same text, and between two of the same kind."""


class ThrottledLog:
    """Counts every problem by its kind. Logs the same text once in 5 s, other texts of its kind five times a second.

    Any thread may use it.
    """

    def __init__(self, logger: Any, clock: Callable[[], float] = monotonic) -> None:
        self.last = ''
        self._last_s: float | None = None
        self.counts: Counter[str] = Counter()
        self.errors = 0
        self._logger = logger
        self._clock = clock
        self._lock = threading.Lock()
        self._logged: dict[str, tuple[float, str]] = {}  # by kind: when, and which text
        self._suppressed: Counter[str] = Counter()

    def warn(self, kind: str, text: str, *, same: str = '') -> None:
        """Input that is ignored, and the consequence. same: replaces the text when texts are compared, for those that
        differ only in a number such as an age."""
        if line := self._line(kind, text, same or text):
            self._logger.warning(line)

    def error(self, kind: str, text: str, *, same: str = '') -> None:
        """Something that should not happen, or that loses data."""
        with self._lock:
            self.errors += 1
        if line := self._line(kind, text, same or text):
            self._logger.error(line)

    def last_age_s(self) -> float | None:
        """How long ago the last problem occurred; None if there was none."""
        return None if self._last_s is None else self._clock() - self._last_s

    def _line(self, kind: str, text: str, same: str) -> str:
        """Empty if the problem is only counted."""
        text, same = cut(text), cut(same)
        with self._lock:
            now = self._clock()
            self.last, self._last_s = text, now
            self.counts[kind] += 1
            when, before = self._logged.get(kind, (-SAME_TEXT_S, ''))
            if now - when < (SAME_TEXT_S if same == before else SAME_KIND_S):
                self._suppressed[kind] += 1
                return ''
            self._logged[kind] = now, same
            suppressed = self._suppressed.pop(kind, 0)
            return f'{text} ({suppressed} like this not shown)' if suppressed else text
