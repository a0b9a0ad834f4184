"""Writes the frames of a run to a file, in its own thread.

Whoever records a run leaves a Frame for each tick and goes on. The Encoder turns frames into chunks of the format, and
the RecordWriter writes these to the file.
"""

from __future__ import annotations

import errno
import math
import os
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import OperationFailed
from tb_planner.geometry import Box, MapGeometry, Pose2D
from tb_planner.recording.format import (
    HAS_POSE,
    HAS_WAYPOINT,
    MAGIC,
    MAX_WORD,
    NEW_ROUTE,
    NEW_SEARCH,
    OPTIONAL_SHARES,
    PLACES,
    ROW,
    SHARES,
    UNKNOWN,
    UNKNOWN_BLOCKED,
    VERSION,
    Column,
    as_runs,
    as_varints,
    classes_of,
    pack,
)
from tb_planner.search.grid import Grid
from tb_planner.search.planner import Expanded

if TYPE_CHECKING:
    from typing_extensions import Self  # in typing from Python 3.11 on

FRAME_BYTES = 500
"""Size of a frame with nothing new in it, roughly."""
CELL_BYTES = 6
"""Size of a changed cell: its state and its cost."""

Marks = Callable[[Box], NDArray[np.bool_]]
"""Returns which cells of a box are marked."""


@dataclass(frozen=True)
class About:
    """The head of a record: title and facts to show with it."""

    title: str = ''
    algorithm: str = ''
    period_s: float | None = None
    """Time between two ticks, if it is fixed."""
    budget_s: float | None = None
    """Time budget of a tick: a line in the chart of tick times."""
    y_up: bool = True
    """Whether y points up, as in ROS; in MovingAI's maps it points down."""
    robot_radius_m: float | None = None
    """The radius with which the page draws the robot."""
    facts: Mapping[str, str] = field(default_factory=dict)


class MapChange(NamedTuple):
    """A new map, or the changed cells of a map. It owns its terrain."""

    geometry: MapGeometry | None
    grid: Grid
    """Gives size and rules only: its cells may have changed again."""
    states: tuple[NDArray[np.int32], ...] | None
    """The changed cells; None: the whole map."""
    terrain: tuple[NDArray[np.uint16], ...]
    """The costs of each array of states, or of the whole map."""
    obstacles: Marks | None
    unknown: Marks | None
    """Both are read when the frame is written; the sooner, the better they fit the terrain."""

    @property
    def cells(self) -> int:
        return sum(map(len, self.terrain)) if self.states is not None else self.terrain[0].size


class FrozenMarks:
    """Marks as they were in one box; elsewhere as they are now."""

    def __init__(self, now: Marks, box: Box) -> None:
        self.now = now
        self._box = box
        self._cells = now(box)

    def __call__(self, box: Box) -> NDArray[np.bool_]:
        if box.overlap(self._box) != box:
            return self.now(box)
        cells: NDArray[np.bool_] = self._cells[self._box.part(box)]
        return cells


class Frame(NamedTuple):
    """One tick of a record. Poses are in metres, or in cells if the map has no geometry."""

    time_s: float
    status: str
    pose: Pose2D | None
    waypoint: Pose2D | None
    goal: Pose2D | None
    restarts: tuple[str, ...]
    left: int
    back: int
    expansions: int
    open_size: int
    change: MapChange | None
    expanded: Expanded | None
    route: NDArray[np.int32] | None
    """Cells, x and y in rows; None: the route of before, or what is left of it."""
    duration_s: float = 0.0
    algorithm: str = ''
    """Its name for people; empty: the one of before."""

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        size = FRAME_BYTES
        if self.change is not None:
            size += CELL_BYTES * self.change.cells
        if self.expanded is not None:
            size += self.expanded.states.nbytes + self.expanded.directions.nbytes
        if self.route is not None:
            size += self.route.nbytes
        return size


TILE = 64
"""Side of a tile, in cells. If one cell changes, its whole tile is read: an obstacle within inflated cells changes no
cost."""
NEAR_CELLS = 256
"""Distance from the robot within which each chunk looks for cells that became known without a change of cost."""
MAX_GAP_S = 600.0
"""A longer gap between two ticks is recorded as none: the player would have to wait."""


class Encoder:
    """Turns frames into chunks; remembers what earlier chunks contain."""

    def __init__(self, algorithm: str = '') -> None:
        self._algorithm = algorithm
        self._ticks = 0
        self._time_s: float | None = None
        self._status = ''
        self._goal: list[float] | None = None
        self._search: dict[str, object] = {}
        self._geometry: MapGeometry | None = None
        self._width = 0
        self._box = Box(0, 0, 0, 0)
        self._marks: tuple[Marks | None, Marks | None] = None, None
        self._terrain: NDArray[np.uint16] = np.empty((0, 0), np.uint16)
        self._classes: NDArray[np.uint8] = np.empty((0, 0), np.uint8)

    def chunk(self, frames: list[Frame], lost: int = 0) -> bytes:
        """The chunk of one or more frames. lost: the number of frames lost before the first one."""
        first, events = self._ticks, []
        if lost:
            events.append({'tick': first, 'lost': lost})
        maps: list[bytes] = []
        roots: list[int] = []
        rows: list[tuple[int, ...]] = []
        places: list[tuple[float, ...]] = []
        blobs: list[tuple[bytes, ...]] = []
        for frame in frames:
            changes = b'' if frame.change is None else self._map(frame.change, events, maps)
            if frame is frames[-1] and not changes and frame.pose is not None and self._width:
                changes = self._became_known(self._near(frame.pose))
            self._add_events(frame, events)
            expanded, parents = self._expanded(frame.expanded, events)
            flags = self._flags(frame)
            if flags & NEW_SEARCH and frame.expanded is not None:
                roots.append(frame.expanded.root + 1)
            route = b'' if frame.route is None else self._route(frame.route)
            times = self._since(frame.time_s), _micro(frame.duration_s)
            rows.append((*times, flags, frame.left, frame.back, frame.expansions, frame.open_size))
            places.append((*self._place(frame.pose), *self._place(frame.waypoint)[:2]))
            blobs.append((expanded, changes, route, parents))
            self._ticks += 1
        columns = [
            *(Column(name, 'varint', as_varints(values)) for name, values in zip(ROW, zip(*rows), strict=True)),
            *(
                Column(name, 'f4', np.array(values, '<f4').tobytes())
                for name, values in zip(PLACES, zip(*places), strict=True)
            ),
            Column('roots', 'varint', as_varints(roots)),
            Column('map', 'u1', b''.join(maps)),
        ]
        for (name, sizes), parts in zip((SHARES | OPTIONAL_SHARES).items(), zip(*blobs), strict=True):
            columns.append(Column(sizes, 'varint', as_varints([len(part) for part in parts])))
            columns.append(Column(name, 'u1', b''.join(parts)))
        return pack({'kind': 'ticks', 'first': first, 'count': len(frames), 'events': events}, columns)

    def _since(self, time_s: float) -> int:
        """Microseconds since the last frame; 0 if the clock was set back or far ahead."""
        before, self._time_s = self._time_s, time_s
        return 0 if before is None or time_s - before > MAX_GAP_S else _micro(time_s - before)

    def _add_events(self, frame: Frame, events: list[dict[str, Any]]) -> None:
        if frame.status != self._status:
            self._status = frame.status
            events.append({'tick': self._ticks, 'status': frame.status})
        goal = [round(value, 3) for value in self._place(frame.goal)[:2]] if self._has(frame.goal) else None
        if goal != self._goal:
            self._goal = goal
            events.append({'tick': self._ticks, 'goal': goal})
        if frame.algorithm not in ('', self._algorithm):
            self._algorithm = frame.algorithm
            events.append({'tick': self._ticks, 'algorithm': frame.algorithm})
        if frame.restarts:
            events.append({'tick': self._ticks, 'restarts': [str(reason) for reason in frame.restarts]})

    def _expanded(self, expanded: Expanded | None, events: list[dict[str, Any]]) -> tuple[bytes, bytes]:
        """The encoded states and parents; what a new search is about is added to events."""
        if expanded is None:
            return b'', b''
        algorithm = expanded.algorithm
        if expanded.is_new and algorithm is not None and self._width:
            search = {
                'goal': [expanded.goal % self._width, expanded.goal // self._width],
                'w_g': algorithm.w_g,
                'w_h': algorithm.w_h,
                'learns': algorithm.learn_h,
            }
            if search != self._search:
                self._search = search
                events.append({'tick': self._ticks, 'search': search})
        states, where = np.unique(expanded.states, return_index=True)  # one that was re-opened comes twice
        return as_varints(as_runs(states)), expanded.directions[where].tobytes()

    def _map(self, change: MapChange, events: list[dict[str, Any]], maps: list[bytes]) -> bytes:
        """The encoded changes; a whole new map is added to events and maps instead."""
        if change.states is None:
            self._begin_map(change)
            events.append({'tick': self._ticks, 'map': _facts(change)})
            maps.append(self._classes.tobytes())
            return b''
        states = np.concatenate(change.states)
        if not len(states):
            return b''
        self._marks = change.obstacles, change.unknown
        self._terrain.reshape(-1)[states] = np.concatenate(change.terrain)
        return self._changes_in(tiles_of(states, self._box))

    def _begin_map(self, change: MapChange) -> None:
        self._geometry, self._width = change.geometry, change.grid.width
        self._box, self._marks = change.grid.box, (change.obstacles, change.unknown)
        (self._terrain,) = change.terrain
        self._classes = self._classes_in(self._box)

    def _near(self, pose: Pose2D) -> Box:
        x, y, _ = self._place(pose)
        cell = Box(math.floor(x), math.floor(y), math.floor(x) + 1, math.floor(y) + 1)
        return cell.grown(NEAR_CELLS, self._box)

    def _changes_in(self, boxes: Iterable[Box]) -> bytes:
        parts = [self._renewed(box, self._classes_in(box)) for box in boxes]
        changed = np.concatenate([np.empty(0, np.int64), *(states for states, _ in parts)])
        order = np.argsort(changed)
        classes = np.concatenate([np.empty(0, np.uint8), *(classes for _, classes in parts)])
        return as_varints(as_runs(changed[order], classes[order]))

    def _became_known(self, box: Box) -> bytes:
        old = self._classes[box.slices]
        was_unknown = (old == UNKNOWN) | (old == UNKNOWN_BLOCKED)
        if not was_unknown.any():
            return b''
        obstacles, unknown = self._marks
        self._marks = _now(obstacles), _now(unknown)
        return as_varints(as_runs(*self._renewed(box, np.where(was_unknown, self._classes_in(box), old))))

    def _renewed(self, box: Box, new: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The states in a box whose class has changed, in order, and their new classes."""
        old = self._classes[box.slices]
        rows, columns = np.nonzero(old != new)
        old[...] = new
        return (rows + box.y0) * self._width + columns + box.x0, new[rows, columns]

    def _classes_in(self, box: Box) -> NDArray[np.uint8]:
        obstacles, unknown = (None if marked is None else marked(box) for marked in self._marks)
        return classes_of(self._terrain[box.slices], obstacles, unknown)

    def _flags(self, frame: Frame) -> int:
        flags = NEW_SEARCH if frame.expanded is not None and frame.expanded.is_new else 0
        flags |= NEW_ROUTE if frame.route is not None else 0
        flags |= HAS_POSE if self._has(frame.pose) else 0
        return flags | (HAS_WAYPOINT if self._has(frame.waypoint) else 0)

    def _has(self, place: Pose2D | None) -> bool:
        """Whether there is a pose, and a map to place it on."""
        return place is not None and self._width > 0

    def _place(self, place: Pose2D | None) -> tuple[float, float, float]:
        """x and y in cells, and yaw."""
        if place is None or not self._width:
            return 0.0, 0.0, 0.0
        if self._geometry is None:
            return place.x_m, place.y_m, place.yaw
        yaw = math.remainder(place.yaw - self._geometry.yaw, math.tau)
        return (*self._geometry.to_grid(place.x_m, place.y_m), yaw)

    def _route(self, cells: NDArray[np.int32]) -> bytes:
        if not len(cells):
            return b''
        x, y = cells.T
        steps = (np.diff(y) + 1) * 3 + np.diff(x) + 1
        return as_varints([int(y[0]) * self._width + int(x[0])]) + steps.astype(np.uint8).tobytes()


def tiles_of(states: NDArray[np.int32], whole: Box) -> list[Box]:
    """The tiles of a map that contain one of these states."""
    rows, columns = np.divmod(states, whole.x1)
    across = whole.x1 // TILE + 1
    tiles = [divmod(int(tile), across) for tile in np.unique(rows // TILE * across + columns // TILE)]
    return [Box(x * TILE, y * TILE, (x + 1) * TILE, (y + 1) * TILE).overlap(whole) for y, x in tiles]


def tiles_around(states: NDArray[np.int32], whole: Box) -> Box:
    """The box of the tiles that contain these states."""
    return reduce(Box.around, tiles_of(states, whole)) if len(states) else Box(0, 0, 0, 0)


def _now(marked: Marks | None) -> Marks | None:
    return marked.now if isinstance(marked, FrozenMarks) else marked


def _micro(time_s: float) -> int:
    return max(round(time_s * 1e6), 0)


def _facts(change: MapChange) -> dict[str, object]:
    grid, geometry = change.grid, change.geometry
    facts: dict[str, object] = {
        'width': grid.width,
        'height': grid.height,
        'neighbours': grid.neighbours,
        'corner_cutting': grid.corner_cutting,
    }
    if geometry is not None:
        facts.update(resolution_m=float(geometry.resolution_m), origin=[float(value) for value in geometry.origin])
    return facts


MAX_WAITING_BYTES = 64 * 2**20
"""Frames that wait for the disk. With a slower disk, frames are lost; if ticks do not come in real time, they wait."""
CHUNK_S = 0.25
"""Time between two chunks: the delay of the live page, and what a crash loses."""
STOP_S = 10.0

_NO_RECORD = 'the file exists and is not the record of a run'


def may_begin(path: Path) -> bool:
    """Whether writing a record here overwrites nothing but an older record."""
    if not path.is_file():  # a device may be written to
        return not path.is_dir()
    with path.open('rb') as file:
        return MAGIC.startswith(file.read(len(MAGIC)))


def _begun(path: Path) -> BinaryIO:
    if path.is_file() and not may_begin(path):
        raise FileExistsError(errno.EEXIST, _NO_RECORD, str(path))
    return path.open('wb')


def empty_record(path: Path) -> None:
    """Empties a record, so that no older run is shown in place of the new one.

    Raises FileExistsError if the file is not a record.
    """
    _begun(path).close()


def keep_older(path: Path) -> None:
    """Renames a record that has ticks: run.tbrun becomes run.1.tbrun and replaces an older one.

    Raises OSError, also if run.1.tbrun is not a record.
    """
    there = path.resolve()
    if not there.is_file() or not _has_ticks(there):
        return
    older = there.with_name(f'{there.stem}.1{there.suffix}')
    if not may_begin(older):
        raise FileExistsError(errno.EEXIST, _NO_RECORD, str(older))
    there.replace(older)


def _has_ticks(path: Path) -> bool:
    """Whether the file has more than a head."""
    with path.open('rb') as file:
        begins = file.read(len(MAGIC) + 4)
    head = int.from_bytes(begins[len(MAGIC) :], 'little')
    return begins.startswith(MAGIC) and path.stat().st_size > len(MAGIC) + 4 + head


class NotRecorded(OperationFailed):
    """The record of a run lacks its end."""


class RecordWriter:
    """Writes frames to a file: put() adds one, close() or the end of a with block writes the rest.

    real_time: put() never waits for the disk, so that a slow disk loses frames; else it waits.
    """

    def __init__(self, path: str | os.PathLike[str], about: About, *, real_time: bool = True) -> None:
        self.error = ''
        """Why nothing is written any more; empty while writing works."""
        self._file = _begun(Path(path))
        self._real_time = real_time
        self._encoder = Encoder(about.algorithm)
        self._frames: list[Frame] = []
        self._waiting = self._lost = 0
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._wake = threading.Event()
        self._closing = False
        try:
            head = {**asdict(about), 'title': about.title[:MAX_WORD]}
            self._write(pack({'kind': 'head', 'version': VERSION, 'run': secrets.token_hex(8), **head}))
        except OSError:
            self._close_file()
            raise
        self._thread = threading.Thread(target=self._run, name='record_writer', daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close()

    def put(self, frame: Frame) -> bool:
        """Adds a frame. Returns False if frames were lost: the next one must contain everything anew."""
        if self.error:
            return True
        with self._lock:
            while not self._real_time and self._waiting > MAX_WAITING_BYTES and not self.error:
                self._wake.set()
                self._room.wait()
            if self._real_time and self._waiting > MAX_WAITING_BYTES:
                self._lost += len(self._frames) + 1
                self._frames, self._waiting = [], 0
                return False
            self._frames.append(frame)
            self._waiting += frame.bytes
        return True

    def close(self) -> None:
        """Writes all waiting frames; sets `error` if that takes too long."""
        self._closing = True
        self._wake.set()
        self._thread.join(STOP_S if self._real_time else None)
        if self._thread.is_alive():
            self.error = f'the last frames were not written within {STOP_S:g} s'
        else:
            self._close_file()

    def _close_file(self) -> None:
        try:
            self._file.close()
        except OSError as error:  # closing writes once more what a full disk has refused
            self.error = self.error or str(error)

    def _run(self) -> None:
        try:
            closing = False
            while not closing:
                self._wake.wait(CHUNK_S)
                self._wake.clear()
                closing = self._closing
                self._write_frames()
        except Exception as error:  # the robot drives on without its record
            with self._lock:
                self.error = str(error) or repr(error)
                self._frames = []
                self._room.notify_all()

    def _write_frames(self) -> None:
        with self._lock:
            frames, self._frames, self._waiting = self._frames, [], 0
            lost, self._lost = self._lost, 0
            self._room.notify_all()
        if frames:
            self._write(self._encoder.chunk(frames, lost))

    def _write(self, chunk: bytes) -> None:
        self._file.write((b'' if self._file.tell() else MAGIC) + chunk)
        self._file.flush()
