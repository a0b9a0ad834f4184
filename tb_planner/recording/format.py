"""The file: a magic number, then chunks. What a chunk holds can be shown as soon as it has come.

    file   :=  MAGIC  chunk*
    chunk  :=  length (32 bits, little-endian)  body in zlib's format
    body   :=  length (32 bits, little-endian)  head in JSON  columns, one after the other

The head names its columns as [name, kind, bytes]. Kinds are `varint` (unsigned numbers in groups of 7 bits, lowest
first, the top bit says that more follow), `f4` (little-endian) and `u1`. A browser reads all of it with what it has
(DecompressionStream, JSON, DataView).

The first chunk's head has kind `head`, and says what is recorded; `version` is this format's, and `run` is this
record's alone. All others have kind `ticks`: `first` is the number of their first tick, `count` how many there are,
`events` is what happens rarely:

    {"tick": n, "status": "NAVIGATING"}         it has changed to this
    {"tick": n, "goal": [x, y] or null}         so has the goal
    {"tick": n, "restarts": ["blocked", …]}     the search was started over
    {"tick": n, "map": {…}}                     all of the map is new: size, resolution, origin, moves
    {"tick": n, "lost": m}                      before this tick m ticks could not be recorded

Columns with an entry for each tick: `time_us` since the tick before, `duration_us`, `flags`, `x`, `y` and `yaw` of the
robot, `waypoint_x`, `waypoint_y`, `left` and `back` (moves of the route that are left, and how many of them lead back),
`expansions`, `open_size`, and `expanded_bytes`, `change_bytes` and `route_bytes`: its share of the columns `expanded`,
`changes` and `route`. Places are in cells of the present map: (0, 0) is the outer corner of cell (0, 0).

`expanded` is pairs of numbers: how many states to pass over, and how many expanded ones follow. `changes` is the same
with the class of those cells as a third number. `route` is the first state, then a byte (dy + 1) * 3 + dx + 1 a step.
`roots` are one more than the first states of the searches that begin (flag NEW_SEARCH); 0 says that there is no search
any more. `map` is the classes of all cells of the maps that are all new.

What is not there can be computed: Open is the states next to expanded ones, by a move legal at that time, that are not
expanded themselves. While the robot walks along its route, that is the last `left` moves of the route last given.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.errors import BadInput
from tb_planner.search.grid import BLOCKED, COST_STEPS

MAGIC = b'TBRUN\r\n\x01'
VERSION = 1
LEVEL = 1
"""Of zlib. Higher ones make files a tenth smaller and take three times as long."""
LARGEST_CHUNK = 2**30
"""Bytes of a body, as large as a map of 32,000² cells."""
LARGEST_RECORD = 2**32
"""Bytes of all bodies together: a browser would hardly hold more, and a small file may say that it has far more."""
LARGEST_PART = 2**24
"""Bytes of a head, or of a column of numbers, one for each tick: both are worked out to many times as much."""
GROUPS = 5
"""Of 7 bits in a number, at most."""

NEW_SEARCH, NEW_ROUTE, HAS_POSE, HAS_WAYPOINT = 1, 2, 4, 8
"""In flags."""

DEAREST, UNKNOWN, UNKNOWN_BLOCKED, KEPT_CLEAR, OBSTACLE = 250, 251, 252, 253, 254
"""Classes of cells. 0 is free, up to DEAREST it is the dearer to cross, and from UNKNOWN_BLOCKED on it is blocked."""
LEVELS = 32
"""Classes between a cost and twice that cost."""

_LENGTH = struct.Struct('<I')
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""Errors that a head which is not as it should be may lead to."""


class BadRecord(BadInput):
    """A file that is not a record, or not one that can be read here."""


class TooLarge(BadRecord):
    """One that would take too much memory."""


class TogetherTooLarge(BadRecord):
    """One that would, with what was read before it."""


class Chunk(NamedTuple):
    head: dict[str, Any]
    columns: dict[str, NDArray[Any]]


class Column(NamedTuple):
    """What goes into a chunk, as bytes."""

    name: str
    kind: str
    data: bytes


def as_varints(numbers: ArrayLike) -> bytes:
    """Numbers below 2**35, none negative."""
    values = np.asarray(numbers, np.uint64)
    if not len(values):
        return b''
    groups = np.ones(len(values), np.int64)
    for n in range(1, GROUPS):
        groups += values >= np.uint64(1 << 7 * n)
    ends = np.cumsum(groups)
    out = np.zeros(int(ends[-1]), np.uint8)
    places = ends - groups
    for n in range(int(groups.max())):
        has = groups > n
        more = np.where(groups[has] > n + 1, 128, 0).astype(np.uint8)
        out[places[has] + n] = (values[has] >> np.uint64(7 * n)).astype(np.uint8) & 127 | more
    return out.tobytes()


def from_varints(data: bytes | NDArray[np.uint8]) -> NDArray[np.int64]:
    octets = np.frombuffer(data, np.uint8)
    if not len(octets):
        return np.empty(0, np.int64)
    ends = np.flatnonzero(octets < 128)
    starts = np.concatenate(([0], ends[:-1] + 1))
    if int((ends - starts).max()) >= GROUPS:
        raise BadRecord(f'a number has more than {7 * GROUPS} bits')
    shifts = np.arange(ends[-1] + 1) - np.repeat(starts, ends - starts + 1)
    parts = (octets[: ends[-1] + 1] & 127).astype(np.int64) << 7 * shifts
    return np.add.reduceat(parts, starts)


def as_runs(states: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sorted states as runs: how many are passed over before each, and its length."""
    if not len(states):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    breaks = np.flatnonzero(np.diff(states) != 1) + 1
    firsts = np.concatenate(([0], breaks))
    lengths = np.diff(np.concatenate((firsts, [len(states)])))
    starts = states[firsts].astype(np.int64)
    gaps = starts.copy()
    gaps[1:] -= starts[:-1] + lengths[:-1]
    return gaps, lengths


def from_runs(gaps: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    ends = np.cumsum(gaps + lengths)
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(ends - lengths, lengths) + within


def classes_of(
    terrain: NDArray[np.uint16], obstacles: NDArray[np.bool_] | None, unknown: NDArray[np.bool_] | None
) -> NDArray[np.uint8]:
    """By what it costs to cross cells, and what stands there."""
    classes = _CLASS_OF_COST[terrain]
    blocked = terrain == BLOCKED
    if obstacles is None:
        classes[blocked] = OBSTACLE
    else:
        classes[blocked] = np.where(obstacles[blocked], OBSTACLE, KEPT_CLEAR)
    if unknown is not None:
        classes[unknown] = np.where(blocked[unknown], UNKNOWN_BLOCKED, UNKNOWN)
    return classes


def pack(head: dict[str, Any], columns: Sequence[Column] = ()) -> bytes:
    """A chunk."""
    head = {**head, 'columns': [[column.name, column.kind, len(column.data)] for column in columns]}
    text = json.dumps(head, separators=(',', ':'), ensure_ascii=False, allow_nan=False).encode()
    body = zlib.compress(b''.join((_LENGTH.pack(len(text)), text, *(column.data for column in columns))), LEVEL)
    return _LENGTH.pack(len(body)) + body


def inflated(body: bytes, most: int) -> bytes:
    """What is behind a chunk's length, if it is not larger than that."""
    inflater = zlib.decompressobj()
    plain = inflater.decompress(body, max(most, 1))  # 0 would be as much as there is
    if inflater.unconsumed_tail and most < LARGEST_CHUNK:
        raise TogetherTooLarge
    if inflater.unconsumed_tail:
        raise TooLarge(f'it is of more than {LARGEST_CHUNK} bytes')
    if not inflater.eof:
        raise BadRecord('it is torn')
    return plain


def unpack(plain: bytes) -> Chunk:
    """A body."""
    (length,) = _LENGTH.unpack_from(plain)
    if length > LARGEST_PART:
        raise TooLarge(f'it has a head of {length} bytes; at most {LARGEST_PART} are possible')
    at = _LENGTH.size + length
    head = json.loads(plain[_LENGTH.size : at])
    columns = {}
    for name, kind, size in head.pop('columns'):
        columns[name] = _column(kind, plain[at : at + size])
        at += size
    return Chunk(head, columns)


def _column(kind: str, data: bytes) -> NDArray[Any]:
    if kind == 'varint':
        if len(data) > LARGEST_PART:
            raise TooLarge(f'it has numbers of more than {LARGEST_PART} bytes')
        return from_varints(data)
    return np.frombuffer(data, {'f4': '<f4', 'u1': 'u1'}[kind])


def check_begins(data: bytes) -> None:
    """Whether a file that begins so may be a record; raises BadRecord."""
    if not data:
        raise BadRecord('it is empty: nothing has been recorded')
    if not data.startswith(MAGIC[:-1]):
        raise BadRecord(f'it begins with {data[: len(MAGIC)]!r}; the record of a run begins with {MAGIC!r}')
    if data[len(MAGIC) - 1 : len(MAGIC)] != MAGIC[-1:]:
        version = data[len(MAGIC) - 1 : len(MAGIC)]
        raise BadRecord(f'it is of version {version!r}; this tb_planner reads version {MAGIC[-1:]!r}')


class Chunks:
    """Of a file, to be gone through once. Left out are a last chunk that is torn, as a crash may leave it, and those
    that would be too much together."""

    def __init__(self, data: bytes) -> None:
        check_begins(data)
        self._data = data
        self.end = len(MAGIC)
        """Of the last one that could be read."""
        self.why = ''
        """There was none after it, if there should have been."""

    def __iter__(self) -> Iterator[Chunk]:
        left = LARGEST_RECORD
        while self.end < len(self._data):
            body = self._next_body()
            if body is None:
                self.why = 'the file ends within a chunk'
                return
            at = self.end + _LENGTH.size
            is_last = at + len(body) == len(self._data)
            try:
                plain = inflated(body, min(left, LARGEST_CHUNK))
                chunk = unpack(plain)
            except TogetherTooLarge:
                self.why = f'unpacked, it would be of more than {LARGEST_RECORD:,} bytes'
                return
            except (zlib.error, struct.error, *MALFORMED) as error:
                if isinstance(error, TooLarge) or not is_last:
                    raise BadRecord(f'its chunk at byte {at} cannot be read: {error}') from error
                self.why = f'its last chunk cannot be read: {error}'
                return
            self.end = at + len(body)
            yield chunk
            left -= len(plain)

    def _next_body(self) -> bytes | None:
        """None if it is not all there."""
        at = self.end + _LENGTH.size
        if at > len(self._data):
            return None
        (length,) = _LENGTH.unpack_from(self._data, self.end)
        return self._data[at : at + length] if at + length <= len(self._data) else None


def _make_classes_of_costs() -> NDArray[np.uint8]:
    terrain = np.arange(2**16)
    levels = np.rint(LEVELS * np.log2(np.maximum(terrain, COST_STEPS) / COST_STEPS))
    return np.minimum(levels, DEAREST).astype(np.uint8)


_CLASS_OF_COST = _make_classes_of_costs()
