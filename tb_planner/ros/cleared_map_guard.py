"""How long a map is not believed that has lost most of its obstacles: a costmap that was cleared gets them back."""

from __future__ import annotations

from collections.abc import Callable

from tb_planner.maps.live_map import LiveMap, MapUpdate
from tb_planner.ros.throttled_log import ThrottledLog


class ClearedMapGuard:
    """Counts from the first tick that finds such a map on offer; anything else on offer ends it."""

    def __init__(self, limit_s: float, problems: ThrottledLog, now_s: Callable[[], float]) -> None:
        self.limit_s = limit_s
        self._problems = problems
        self._now_s = now_s
        self._since_s: float | None = None

    def newest(self, live_map: LiveMap, *, may_wait: bool) -> MapUpdate | None:
        """What is new, but for such a map, if the tick may wait for a better one."""
        may_wait = may_wait and self.limit_s > 0
        update = live_map.latest(leave_cleared=may_wait)
        if not may_wait or update is not None or not live_map.offers_cleared:
            self._since_s = None
            return update
        if self._since_s is None:
            self._since_s = self._now_s()
            text = f'the map has lost most of its obstacles; unless they come back it is believed in {self.limit_s:g} s'
            self._problems.warn('cleared', text)
        return None if self._now_s() - self._since_s < self.limit_s else live_map.latest()

    def forget(self) -> None:
        """The clock has jumped."""
        self._since_s = None
