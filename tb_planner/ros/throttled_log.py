"""What went wrong: said in the log, but not at the rate at which it happens, and kept for the diagnostics."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any

SAME_TEXT_S = 5.0
SAME_KIND_S = 0.2


class ThrottledLog:
    """Every problem is counted by its kind; the same text is logged once in 5 s, others of the kind five a second.

    Any thread may report.
    """

    def __init__(self, logger: Any, clock: Callable[[], float] = monotonic) -> None:
        self.last = ''
        self.counts: Counter[str] = Counter()
        self._logger = logger
        self._clock = clock
        self._lock = threading.Lock()
        self._logged: dict[str, tuple[float, str]] = {}  # by kind: when, and what
        self._unsaid: Counter[str] = Counter()

    def warn(self, kind: str, text: str, *, same: str = '') -> None:
        """Something that is not used, and what follows from that. same: what texts have in common that are as good as
        equal, such as an age that grows."""
        if said := self._to_say(kind, text, same or text):
            self._logger.warning(said)

    def error(self, kind: str, text: str) -> None:
        """Something that should not happen, or that costs the user what he had."""
        if said := self._to_say(kind, text, text):
            self._logger.error(said)

    def _to_say(self, kind: str, text: str, same: str) -> str:
        with self._lock:
            now = self._clock()
            self.last = text
            self.counts[kind] += 1
            when, before = self._logged.get(kind, (-SAME_TEXT_S, ''))
            if now - when < (SAME_TEXT_S if same == before else SAME_KIND_S):
                self._unsaid[kind] += 1
                return ''
            self._logged[kind] = now, same
            unsaid = self._unsaid.pop(kind, 0)
            return f'{text} ({unsaid} like this not shown)' if unsaid else text
