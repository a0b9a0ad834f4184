"""The thread that turns map messages into grids, so that no tick has to."""

from __future__ import annotations

import threading
import traceback
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

from tb_planner.config import PlannerParameters
from tb_planner.maps.live_map import LiveMap
from tb_planner.ros.conversions import BadMessage, Occupancy, occupancy_from_cdr, patch_from_cdr
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.search.grid import OutsideGrid

MOST_PATCHES = 1024
"""Updates that may wait for the worker; more come only if it cannot keep up."""
OVERTAKEN_NS = 5 * 10**9
"""An update stamped before the map has been overtaken by it; but if by more than this, the clock has been set."""
STOP_S = 30.0
TICKS_TO_WAIT = 2
"""For a tick that is late, or that does not come, since simulated time stands still."""


@dataclass(frozen=True)
class Source:
    """The map in one frame. A map in another frame is another source: nothing of the one may be used with the other."""

    frame: str
    live_map: LiveMap


class _Message(NamedTuple):
    is_map: bool
    data: bytes
    received_s: float


@dataclass
class _Waiting:
    """What the worker has not begun with, in order. Of maps it is the last two: the newest may be a bad one."""

    messages: list[_Message] = field(default_factory=list)
    parameters: PlannerParameters | None = None

    def __bool__(self) -> bool:
        return bool(self.messages) or self.parameters is not None

    def add_map(self, message: _Message) -> None:
        maps = [i for i, waiting in enumerate(self.messages) if waiting.is_map]
        del self.messages[: maps[-1] if maps else 0]
        self.messages.append(message)

    def add_patch(self, message: _Message) -> bool:
        """False if the oldest had to give way."""
        self.messages.append(message)
        patches = [i for i, waiting in enumerate(self.messages) if not waiting.is_map]
        if len(patches) <= MOST_PATCHES:
            return True
        del self.messages[patches[0]]
        return False


class MapWorker:
    """put_map(), put_patch() and change() leave something to do and return at once; source is what came of it."""

    def __init__(self, parameters: PlannerParameters, problems: ThrottledLog) -> None:
        self._parameters = parameters
        self._problems = problems
        self._waiting = _Waiting()
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name='map_worker', daemon=True)
        self.source = self._new_source(parameters.global_frame)
        self._map_stamp_ns = 0
        self.newest_received_s: float | None = None
        """When the newest message that is in the grids was received, by perf_counter()."""
        self.maps = 0
        """Maps and updates taken in."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; what it is at, it finishes."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self.source.live_map.latest()  # it may be waiting for somebody to fetch that
        if self._thread.ident is not None:
            self._thread.join(STOP_S)

    def put_map(self, data: bytes) -> None:
        with self._changed:
            self._waiting.add_map(_Message(True, data, perf_counter()))
            self._changed.notify()

    def put_patch(self, data: bytes) -> None:
        with self._changed:
            all_wait = self._waiting.add_patch(_Message(False, data, perf_counter()))
            self._changed.notify()
        if not all_wait:
            text = f'more than {MOST_PATCHES} map updates wait; the oldest is lost until the next whole map'
            self._problems.error('map_updates', text)

    def change(self, parameters: PlannerParameters) -> None:
        """Costs, and the ticks that it waits for, follow other parameters from now on."""
        with self._changed:
            self._waiting.parameters = parameters
            self._changed.notify()

    def _run(self) -> None:
        while (work := self._next()) is not None:
            try:
                self._take_in(work)
            except Exception:  # the thread goes on: the next map may be a better one
                self._problems.error('map', f'map not taken in, the last one stays: {traceback.format_exc()}')
            # however fast messages come, every tick finds what there is; what comes meanwhile is taken in at once
            if not self._stopping:
                self.source.live_map.wait_until_fetched(TICKS_TO_WAIT * self._parameters.period_s)

    def _next(self) -> _Waiting | None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._waiting)
            work, self._waiting = self._waiting, _Waiting()
            return None if self._stopping else work

    def _take_in(self, work: _Waiting) -> None:
        if work.parameters is not None:
            self._take_rules(work.parameters)
        for patch in self._after_newest_map(work.messages):
            self._take_patch(patch)

    def _take_rules(self, parameters: PlannerParameters) -> None:
        self._parameters = parameters
        try:
            self.source.live_map.set_rules(parameters.costmap_config)
        except (ValueError, MemoryError) as error:
            self._problems.error('parameters', f'{error or "no memory for other costs"}; the costs stay as they were')

    def _after_newest_map(self, messages: list[_Message]) -> list[_Message]:
        """Takes in the newest good map. Updates before it are in it already; if there is none, all of them count."""
        first = 0
        for i in reversed(range(len(messages))):
            if messages[i].is_map and self._take_map(messages[i]):
                first = i + 1
                break
        return [message for message in messages[first:] if not message.is_map]

    def _take_map(self, message: _Message) -> bool:
        try:
            occupancy = occupancy_from_cdr(message.data)
            self._parameters.costmap_config(occupancy.geometry.resolution_m)
            self._into_source(occupancy)
            self._map_stamp_ns = occupancy.stamp_ns
        except (ValueError, MemoryError) as error:
            self._problems.warn('map', f'{error or "no memory for this map"}; the last map stays')
            return False
        self._is_in(message)
        return True

    def _into_source(self, occupancy: Occupancy) -> None:
        frame = occupancy.frame or self.source.frame
        if frame == self.source.frame:
            self.source.live_map.full(occupancy.values, occupancy.geometry)
            return
        source = self._new_source(frame)
        source.live_map.full(occupancy.values, occupancy.geometry)
        self.source = source

    def _take_patch(self, message: _Message) -> None:
        try:
            patch = patch_from_cdr(message.data)
            if patch.stamp_ns and 0 < self._map_stamp_ns - patch.stamp_ns < OVERTAKEN_NS:
                return  # it is in the map already, and so may be what has changed since
            if patch.frame not in ('', self.source.frame):
                raise BadMessage(f'map update is in frame {patch.frame!r}; the map is in {self.source.frame!r}')
            self.source.live_map.patch(patch.values, patch.at)
        except (OutsideGrid, ValueError) as error:
            self._problems.warn('map_updates', f'{error}; the update is dropped')
        else:
            self._is_in(message)

    def _is_in(self, message: _Message) -> None:
        self.newest_received_s = message.received_s
        self.maps += 1

    def _new_source(self, frame: str) -> Source:
        return Source(frame, LiveMap(self._parameters.costmap_config, corner_cutting=self._parameters.corner_cutting))
