"""Frames to chunks of the format."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box, MapGeometry, Pose2D
from tb_planner.recording.format import (
    HAS_POSE,
    HAS_WAYPOINT,
    NEW_ROUTE,
    NEW_SEARCH,
    UNKNOWN,
    UNKNOWN_BLOCKED,
    Column,
    as_runs,
    as_varints,
    classes_of,
    pack,
)
from tb_planner.recording.frame import Frame, MapNews, Marked, Snapshot

TILE = 64
"""Where one of so many by so many cells changes, all are looked at: an obstacle in another's margin changes no cost."""
IN_VIEW = 256
"""Cells around the robot in which, once a chunk, it is looked for what has become known and has changed no cost."""
LONGEST_S = 600.0
"""Between two ticks; who plays the record would have to wait for so long."""


class Encoder:
    """Frames to chunks; knows what has been told before."""

    def __init__(self) -> None:
        self._ticks = 0
        self._time_s: float | None = None
        self._status = ''
        self._goal: list[float] | None = None
        self._geometry: MapGeometry | None = None
        self._width = 0
        self._box = Box(0, 0, 0, 0)
        self._marks: tuple[Marked | None, Marked | None] = None, None
        self._terrain: NDArray[np.uint16] = np.empty((0, 0), np.uint16)
        self._classes: NDArray[np.uint8] = np.empty((0, 0), np.uint8)

    def chunk(self, frames: list[Frame], lost: int = 0) -> bytes:
        """At least one frame. lost: so many have got lost before the first one."""
        first, events = self._ticks, []
        if lost:
            events.append({'tick': first, 'lost': lost})
        maps: list[bytes] = []
        roots: list[int] = []
        rows: list[tuple[int, ...]] = []
        places: list[tuple[float, ...]] = []
        blobs: list[tuple[bytes, bytes, bytes]] = []
        for frame in frames:
            changes = b'' if frame.news is None else self._map(frame.news, events, maps)
            if frame is frames[-1] and not changes and frame.pose is not None and self._width:
                changes = self._became_known(self._near(frame.pose))
            self._rare(frame, events)
            flags = self._flags(frame)
            if flags & NEW_SEARCH and frame.expanded is not None:
                roots.append(frame.expanded.root + 1)
            expanded = b'' if frame.expanded is None else _runs(np.sort(frame.expanded.states))
            route = b'' if frame.route is None else self._route(frame.route)
            rows.append((self._since(frame.time_s), _micro(frame.duration_s), flags, *_figures(frame)))
            places.append((*self._place(frame.pose), *self._place(frame.waypoint)[:2]))
            blobs.append((expanded, changes, route))
            self._ticks += 1
        columns = [
            *(Column(name, 'varint', as_varints(values)) for name, values in zip(_ROW, zip(*rows), strict=True)),
            *(
                Column(name, 'f4', np.array(values, '<f4').tobytes())
                for name, values in zip(_PLACES, zip(*places), strict=True)
            ),
            Column('roots', 'varint', as_varints(roots)),
            Column('map', 'u1', b''.join(maps)),
        ]
        for name, sizes, parts in zip(_BLOBS, _SIZES, zip(*blobs), strict=True):
            columns.append(Column(sizes, 'varint', as_varints([len(part) for part in parts])))
            columns.append(Column(name, 'u1', b''.join(parts)))
        return pack({'kind': 'ticks', 'first': first, 'count': len(frames), 'events': events}, columns)

    def _since(self, time_s: float) -> int:
        """Microseconds; a clock that is set, on or back, stands still."""
        before, self._time_s = self._time_s, time_s
        return 0 if before is None or time_s - before > LONGEST_S else _micro(time_s - before)

    def _rare(self, frame: Frame, events: list[dict[str, Any]]) -> None:
        if frame.status != self._status:
            self._status = frame.status
            events.append({'tick': self._ticks, 'status': frame.status})
        goal = [round(value, 3) for value in self._place(frame.goal)[:2]] if self._has(frame.goal) else None
        if goal != self._goal:
            self._goal = goal
            events.append({'tick': self._ticks, 'goal': goal})
        if frame.restarts:
            events.append({'tick': self._ticks, 'restarts': [str(reason) for reason in frame.restarts]})

    def _map(self, news: MapNews, events: list[dict[str, Any]], maps: list[bytes]) -> bytes:
        """The changes; a map that is all new goes to events and maps."""
        if news.states is None:
            self._begin_map(news)
            events.append({'tick': self._ticks, 'map': _facts(news)})
            maps.append(self._classes.tobytes())
            return b''
        states = np.concatenate(news.states)
        if not len(states):
            return b''
        self._marks = news.obstacles, news.unknown
        self._terrain.reshape(-1)[states] = np.concatenate(news.terrain)
        return self._changes_in(tiles_of(states, self._box))

    def _begin_map(self, news: MapNews) -> None:
        self._geometry, self._width = news.geometry, news.grid.width
        self._box, self._marks = news.grid.box, (news.obstacles, news.unknown)
        (self._terrain,) = news.terrain
        self._classes = self._classes_in(self._box)

    def _near(self, pose: Pose2D) -> Box:
        x, y, _ = self._place(pose)
        cell = Box(math.floor(x), math.floor(y), math.floor(x) + 1, math.floor(y) + 1)
        return cell.grown(IN_VIEW, self._box)

    def _changes_in(self, boxes: Iterable[Box]) -> bytes:
        parts = [self._renewed(box, self._classes_in(box)) for box in boxes]
        changed = np.concatenate([np.empty(0, np.int64), *(states for states, _ in parts)])
        order = np.argsort(changed)
        classes = np.concatenate([np.empty(0, np.uint8), *(classes for _, classes in parts)])
        return _class_runs(changed[order], classes[order])

    def _became_known(self, box: Box) -> bytes:
        old = self._classes[box.slices]
        was_unknown = (old == UNKNOWN) | (old == UNKNOWN_BLOCKED)
        if not was_unknown.any():
            return b''
        obstacles, unknown = self._marks
        self._marks = _now(obstacles), _now(unknown)
        return _class_runs(*self._renewed(box, np.where(was_unknown, self._classes_in(box), old)))

    def _renewed(self, box: Box, new: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The states in a box whose class is another one now, in order, and these classes."""
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
        """Without a map there are no cells to be in."""
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


_ROW = ('time_us', 'duration_us', 'flags', 'left', 'back', 'expansions', 'open_size')
_PLACES = ('x', 'y', 'yaw', 'waypoint_x', 'waypoint_y')
_BLOBS = ('expanded', 'changes', 'route')
_SIZES = ('expanded_bytes', 'change_bytes', 'route_bytes')


def tiles_of(states: NDArray[np.int32], whole: Box) -> list[Box]:
    """Those that hold one of these states of a map."""
    rows, columns = np.divmod(states, whole.x1)
    across = whole.x1 // TILE + 1
    tiles = [divmod(int(tile), across) for tile in np.unique(rows // TILE * across + columns // TILE)]
    return [Box(x * TILE, y * TILE, (x + 1) * TILE, (y + 1) * TILE).overlap(whole) for y, x in tiles]


def tiles_around(states: NDArray[np.int32], whole: Box) -> Box:
    """The box of all tiles from the first to the last in both directions."""
    if not len(states):
        return Box(0, 0, 0, 0)
    rows, columns = np.divmod(states, whole.x1)
    x0, y0, x1, y1 = (int(side) // TILE for side in (columns.min(), rows.min(), columns.max(), rows.max()))
    return Box(x0 * TILE, y0 * TILE, (x1 + 1) * TILE, (y1 + 1) * TILE).overlap(whole)


def _now(marked: Marked | None) -> Marked | None:
    return marked.now if isinstance(marked, Snapshot) else marked


def _figures(frame: Frame) -> tuple[int, int, int, int]:
    return frame.left, frame.back, frame.expansions, frame.open_size


def _micro(time_s: float) -> int:
    return max(round(time_s * 1e6), 0)


def _facts(news: MapNews) -> dict[str, object]:
    grid, geometry = news.grid, news.geometry
    facts: dict[str, object] = {
        'width': grid.width,
        'height': grid.height,
        'neighbours': grid.neighbours,
        'corner_cutting': grid.corner_cutting,
    }
    if geometry is not None:
        facts.update(resolution_m=float(geometry.resolution_m), origin=[float(value) for value in geometry.origin])
    return facts


def _runs(states: NDArray[np.int32]) -> bytes:
    return as_varints(np.column_stack(as_runs(states)).reshape(-1))


def _class_runs(states: NDArray[np.int64], classes: NDArray[np.uint8]) -> bytes:
    """Sorted states, in runs of equal class."""
    if not len(states):
        return b''
    firsts = np.concatenate(([0], np.flatnonzero((np.diff(states) != 1) | (np.diff(classes) != 0)) + 1))
    lengths = np.diff(np.concatenate((firsts, [len(states)])))
    gaps = states[firsts].astype(np.int64)
    gaps[1:] -= gaps[:-1].copy() + lengths[:-1]
    return as_varints(np.column_stack((gaps, lengths, classes[firsts])).reshape(-1))
