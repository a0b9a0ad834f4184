"""How long a map is not believed that has lost most of its obstacles: a costmap that was cleared gets them back."""

from __future__ import annotations

from collections.abc import Callable

from tb_planner.live_map import LiveMap
from tb_planner.ros.problems import Problems


class Patience:
    """Counts from the first tick that finds such a map on offer; anything else on offer ends it."""

    def __init__(self, limit_s: float, problems: Problems, now_s: Callable[[], float]) -> None:
        self.limit_s = limit_s
        self._problems = problems
        self._now_s = now_s
        self._since_s: float | None = None

    def lasts(self, live_map: LiveMap, may_wait: bool) -> bool:
        """Whether the map is to be left where it is, in this tick."""
        if not live_map.offers_cleared:
            self._since_s = None
            return False
        if self.limit_s == 0 or not may_wait:
            return False
        if self._since_s is None:
            self._since_s = self._now_s()
            text = f'the map has lost most of its obstacles; unless they come back it is believed in {self.limit_s:g} s'
            self._problems.warn('cleared', text)
        return self._now_s() - self._since_s < self.limit_s

    def forget(self) -> None:
        """The clock has jumped."""
        self._since_s = None
