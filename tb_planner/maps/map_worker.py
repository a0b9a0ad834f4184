"""Map messages become grids: MapIntake decides what to do with each, MapWorker does it outside the thread of ticks."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from tb_planner.maps.cdr import BadMessage, Occupancy, Patch, occupancy_from_cdr, patch_from_cdr
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.live_map import LiveMap
from tb_planner.search.grid import OutsideGrid

MAX_PATCHES = 1024
"""The largest number of map updates that wait for the worker; more arrive only if it cannot keep up."""
MAX_WAITING_BYTES = 2**28
"""The largest size of these messages together: two updates of all cells of the largest map."""
OVERTAKEN_NS = 5 * 10**9
"""A map contains every update stamped up to this long before it; an older stamp means that the clock was set."""
INCOMPLETE = 'map updates are missing: the map may be wrong until the next whole map'
JOIN_TIMEOUT_S = 30.0
TICKS_TO_WAIT = 2
"""Ticks for which the worker waits until one fetches the map: it may never come where simulated time has stopped."""


class Log(Protocol):
    """Where a part without ROS reports its problems; the node throttles and logs them, the replay counts them."""

    def warn(self, kind: str, text: str, *, same: str = '') -> None: ...

    def error(self, kind: str, text: str) -> None: ...


@dataclass(frozen=True)
class MapSettings:
    """How map messages become grids; config.PlannerParameters derives it."""

    costmap: CostmapConfig
    """The resolution of each map replaces its own."""
    corner_cutting: bool
    frame: str
    """The frame of maps that name none, until a map names another."""
    period_s: float
    """The time between two ticks."""
    recorded: bool = False
    """Whether the run is recorded."""


@dataclass(frozen=True)
class FrameMap:
    """The map in one frame. Routes and poses cannot move to a map in another frame."""

    frame: str
    live_map: LiveMap


class MapIntake:
    """Decides what to do with each map and map update: which frame it is in, and whether a newer map contains it.

    A message that cannot be used is reported, and the last map stays. One thread at a time may write.
    """

    def __init__(self, settings: MapSettings, log: Log) -> None:
        self._settings = settings
        self._log = log
        self._map_stamp_ns = 0
        self._gap_stamp_ns: int | None = None  # of the update before which others were lost
        self.source = self._new_source(settings.frame)
        self.taken = 0
        """How many maps and map updates are in the grids."""
        self.received_s: float | None = None
        """When the newest of them was received, by the clock of whoever passes them in."""
        self.lost_maps = self.lost_patches = 0
        """How many were published, as far as that is known, and did not arrive."""

    @property
    def is_incomplete(self) -> bool:
        """Whether updates are missing, and no whole map has come since."""
        return self._gap_stamp_ns is not None

    def take_map(self, message: Occupancy | bytes, received_s: float | None = None) -> bool:
        """Replaces the map; bytes are a nav_msgs/OccupancyGrid as serialised. Returns False if it cannot be used."""
        try:
            occupancy = occupancy_from_cdr(message) if isinstance(message, bytes) else message
            replace(self._settings.costmap, resolution_m=occupancy.geometry.resolution_m)  # checks the radii
            frame, source = occupancy.frame or self.source.frame, self.source
            if frame != source.frame:
                source = self._new_source(frame)
            source.live_map.full(occupancy.values, occupancy.geometry)
        except (ValueError, MemoryError) as error:
            self._log.warn('map', f'{error or "not enough memory for this map"}; the last map stays')
            return False
        self.source, self._map_stamp_ns = source, occupancy.stamp_ns
        if not _is_earlier(occupancy.stamp_ns, self._gap_stamp_ns or 0):
            self._gap_stamp_ns = None
        self._count(received_s)
        return True

    def take_patch(self, message: Patch | bytes, received_s: float | None = None, lost: int = 0) -> bool:
        """Updates a part of the map; bytes are a map_msgs/OccupancyGridUpdate. lost: how many before it did not arrive.
        Returns False if it is not used."""
        stamp_ns, used = 0, False
        try:
            patch = patch_from_cdr(message) if isinstance(message, bytes) else message
            stamp_ns = patch.stamp_ns
            if _is_earlier(stamp_ns, self._map_stamp_ns):
                return False  # the map contains it, and perhaps what has changed there since
            if patch.frame not in ('', self.source.frame):
                raise BadMessage(f'map update is in frame {patch.frame!r}; the map is in {self.source.frame!r}')
            self.source.live_map.patch(patch.values, patch.at)
        except (OutsideGrid, ValueError) as error:
            self._log.warn('map_updates', f'{error}; the update is dropped')
            lost += isinstance(error, OutsideGrid)  # and perhaps the map that it belongs to
        else:
            used = True
            self._count(received_s)
        if lost:
            self._gap_stamp_ns = stamp_ns
        return used

    def use_settings(self, settings: MapSettings) -> None:
        """Computes the costs of the present map again."""
        self._settings = settings
        try:
            self.source.live_map.set_rules(settings.costmap)
        except (ValueError, MemoryError) as error:
            text = f'{error or "not enough memory for other costs"}; the costs stay as they were'
            self._log.error('parameters', text)

    def _new_source(self, frame: str) -> FrameMap:
        settings = self._settings
        live_map = LiveMap(settings.costmap, corner_cutting=settings.corner_cutting, recorded=settings.recorded)
        return FrameMap(frame, live_map)

    def _count(self, received_s: float | None) -> None:
        self.received_s = received_s
        self.taken += 1


def _is_earlier(stamp_ns: int, than_ns: int) -> bool:
    """Whether a stamp is earlier than another one of the same clock; a stamp of 0 is none."""
    return stamp_ns != 0 and 0 < than_ns - stamp_ns < OVERTAKEN_NS


class _Message(NamedTuple):
    is_map: bool
    data: bytes
    received_s: float
    lost: int
    """The number of messages before it that did not arrive."""


@dataclass
class _Queue:
    """What the worker has not begun with, in order. Of the maps it keeps the last two: the newest may be unusable."""

    messages: list[_Message] = field(default_factory=list)
    settings: MapSettings | None = None
    drops_spare_searches: bool = False

    def __bool__(self) -> bool:
        return bool(self.messages) or self.settings is not None or self.drops_spare_searches

    def add_map(self, message: _Message) -> None:
        maps = [i for i, waiting in enumerate(self.messages) if waiting.is_map]
        del self.messages[: maps[-1] if maps else 0]
        self.messages.append(message)

    def add_patch(self, message: _Message) -> int:
        """Returns how many of the oldest patches are lost, because too many wait."""
        self.messages.append(message)
        patches = [i for i, waiting in enumerate(self.messages) if not waiting.is_map]
        sizes = [len(self.messages[i].data) for i in patches]
        size, lost = sum(sizes), 0
        while lost < len(patches) - 1 and (len(patches) - lost > MAX_PATCHES or size > MAX_WAITING_BYTES):
            size -= sizes[lost]
            lost += 1
        if lost:
            after = self.messages[patches[lost]]
            self.messages[patches[lost]] = after._replace(lost=after.lost + lost)
            for i in reversed(patches[:lost]):
                del self.messages[i]
        return lost


class MapWorker:
    """Runs a MapIntake in a thread. put_map(), put_patch() and use_settings() return at once."""

    def __init__(self, settings: MapSettings, log: Log, clock: Callable[[], float]) -> None:
        """clock: the time in seconds at which a message is received."""
        self.intake = MapIntake(settings, log)
        self._settings = settings
        self._log = log
        self._clock = clock
        self._queue = _Queue()
        self._changed = threading.Condition()
        self._is_busy = False
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name='map_worker', daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the work that it has begun."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self.intake.source.live_map.latest()  # the thread may be waiting for a tick to fetch the map
        if self._thread.ident is not None:
            self._thread.join(JOIN_TIMEOUT_S)

    def put_map(self, data: bytes, lost: int = 0) -> None:
        """lost: how many before it were published and did not arrive."""
        self.intake.lost_maps += lost
        with self._changed:
            self._queue.add_map(_Message(True, data, self._clock(), lost))
            self._changed.notify()

    def put_patch(self, data: bytes, lost: int = 0) -> None:
        """lost: how many before it were published and did not arrive."""
        with self._changed:
            dropped = self._queue.add_patch(_Message(False, data, self._clock(), lost))
            self._changed.notify()
        self.intake.lost_patches += lost + dropped
        if lost:
            self._log.warn('lost', f'{lost} {INCOMPLETE}', same=INCOMPLETE)
        if dropped:
            limit = f'{MAX_PATCHES} map updates or {MAX_WAITING_BYTES} bytes of them'
            text = f'more than {limit} are waiting; the oldest are lost until the next whole map'
            self._log.error('map_updates', text)

    def use_settings(self, settings: MapSettings) -> None:
        with self._changed:
            self._queue.settings = settings
            self._changed.notify()

    def drop_spare_searches(self) -> None:
        """Gives back the memory of searches that nobody uses, 16 bytes a cell each. The next search takes new one."""
        with self._changed:
            self._queue.drops_spare_searches = True
            self._changed.notify()

    @property
    def is_idle(self) -> bool:
        """Whether every message so far is in the grids, or dropped."""
        with self._changed:
            return not self._queue and not self._is_busy

    def _run(self) -> None:
        while (work := self._next()) is not None:
            try:
                self._take(work)
            except Exception:  # the thread goes on: the next map may be a better one
                self._log.error('map', f'map not used, the last one stays: {traceback.format_exc()}')
            del work  # the message of a map of 4000 x 4000 cells has 16 MB
            self._is_busy = False
            # however fast messages arrive, every tick finds a map; what arrives meanwhile is merged into the next one
            if not self._stopping:
                self.intake.source.live_map.wait_until_fetched(TICKS_TO_WAIT * self._settings.period_s)

    def _next(self) -> _Queue | None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or self._queue)
            work, self._queue = self._queue, _Queue()
            self._is_busy = True
            return None if self._stopping else work

    def _take(self, work: _Queue) -> None:
        """Only the newest usable map counts: it contains the updates before it. Without one, all of them count."""
        if work.settings is not None:
            self._settings = work.settings
            self.intake.use_settings(work.settings)
        if work.drops_spare_searches:
            self.intake.source.live_map.drop_spare_searches()
        first = 0
        for i in reversed(range(len(work.messages))):
            message = work.messages[i]
            if message.is_map and self.intake.take_map(message.data, message.received_s):
                first = i + 1
                break
        for message in work.messages[first:]:
            if not message.is_map:
                self.intake.take_patch(message.data, message.received_s, message.lost)
