"""The file format: a magic number, then chunks. A chunk can be shown as soon as it is complete.

    file   :=  MAGIC  chunk*
    chunk  :=  length (32 bits, little-endian)  body in zlib's format
    body   :=  length (32 bits, little-endian)  head in JSON  columns, one after the other

The head names its columns as [name, kind, bytes]. Kinds are `varint` (unsigned numbers in groups of 7 bits, lowest
first; the top bit means that more follow), `f4` (little-endian) and `u1`. A browser reads all of it with what it has
(DecompressionStream, JSON, DataView).

The head of the first chunk has kind `head` and describes the run; `version` is the version of this format, and `run`
identifies the record. All other chunks have kind `ticks`: `first` is the number of their first tick, `count` the
number of ticks, and `events` what happens rarely:

    {"tick": n, "status": "NAVIGATING"}         the new status
    {"tick": n, "goal": [x, y] or null}         the new goal
    {"tick": n, "restarts": ["blocked", …]}     why the search restarted
    {"tick": n, "search": {…}}                  the goal's cell and the algorithm of the searches from here on
    {"tick": n, "algorithm": "tba_star"}        the new algorithm, with its weight; the one before is in the first head
    {"tick": n, "map": {…}}                     a whole new map: size, resolution, origin, moves
    {"tick": n, "lost": m}                      m ticks before this one could not be recorded

Columns with an entry for each tick: `time_us` since the tick before, `duration_us`, `flags`, `x`, `y` and `yaw` of the
robot, `waypoint_x`, `waypoint_y`, `left` and `back` (moves of the route that are left, and how many of them lead back),
`expansions`, `open_size`, and `expanded_bytes`, `parent_bytes`, `change_bytes` and `route_bytes`: its share of the
columns `expanded`, `parents`, `changes` and `route`. Places are in cells of the present map: (0, 0) is the outer corner
of cell (0, 0).

`expanded` is pairs of numbers: how many states to pass over, and how many expanded ones follow. `changes` is the same
with the class of those cells as a third number. `route` is the first state, then a byte (dy + 1) * 3 + dx + 1 a step.
`parents` has a byte for each state in `expanded`, in the same order: the direction of the step to it from its parent,
which was (0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1) or (-1, -1) for 0 to 7; 8 is the root. The event
`search` has the cell `goal`, the weights of f = w_g g + w_h h, and whether the search `learns` h. Older records have
neither of the two.

`roots` are the root states of new searches (flag NEW_SEARCH) plus 1; 0 means that there is no search any more. `map`
is the classes of all cells of the new maps.

The rest can be computed: the Open list is the states next to expanded ones, by a move legal at that time, that are not
expanded themselves; g is the sum of the costs of the steps from the root, each at the tick at which the parent was
expanded, and as exact as the classes of the cells are. While the robot follows its route, the last `left` moves of the
newest route are ahead of it.
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
"""Compression level of zlib. Higher levels make files 10 % smaller and take three times as long."""
LARGEST_CHUNK = 2**28
"""Largest body in bytes: two maps of 10,000² cells."""
LARGEST_RECORD = 2**30
"""Most memory of all chunks in bytes: a browser can hardly hold more, and a small file may claim far more."""
LARGEST_PART = 2**22
"""Largest head or varint column in bytes: both take many times as much memory when decoded."""
LARGEST_SHARE = 2**23
"""Largest share of a tick in bytes: its expanded states, its changes of the map, or its route."""
HEAD_FACTOR = 32
"""Memory of a decoded head, in bytes for each byte of it: an empty list of 3 bytes takes 64."""
MAX_WORD = 1000
"""Characters of a title, a status or a reason; the page shows them."""
MAX_FACTS = 100
"""Facts in the head; the page shows them, too."""
GROUPS = 5
"""Largest number of 7-bit groups in a number."""

NEW_SEARCH, NEW_ROUTE, HAS_POSE, HAS_WAYPOINT = 1, 2, 4, 8
"""Bits of the column `flags`."""

HIGHEST_COST, UNKNOWN, UNKNOWN_BLOCKED, INFLATED, OBSTACLE = 250, 251, 252, 253, 254
"""Classes of cells: 0 is free, 1 to HIGHEST_COST have a higher cost, UNKNOWN_BLOCKED and above are blocked."""
LEVELS = 32
"""Number of classes between a cost and twice that cost."""

ROW = ('time_us', 'duration_us', 'flags', 'left', 'back', 'expansions', 'open_size')
"""Columns of numbers with an entry for each tick."""
PLACES = ('x', 'y', 'yaw', 'waypoint_x', 'waypoint_y')
"""Columns of floats with an entry for each tick."""
SHARES = {'expanded': 'expanded_bytes', 'changes': 'change_bytes', 'route': 'route_bytes'}
"""Columns that ticks share, and the columns with the number of bytes of each tick."""

OPTIONAL_SHARES = {'parents': 'parent_bytes'}
"""Such columns that older records lack."""

_LENGTH = struct.Struct('<I')
_TOO_LARGE = 'decompressed, the record would have more than {:,} bytes'
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""Errors that a malformed head or column may raise."""


class BadRecord(BadInput):
    """A file is not a record, or not one that this version can read."""


class TooLarge(BadRecord):
    """A chunk would take too much memory."""


class TogetherTooLarge(BadRecord):
    """A chunk would take too much memory together with the chunks before it."""


class Chunk(NamedTuple):
    head: dict[str, Any]
    columns: dict[str, NDArray[Any]]

    @property
    def bytes(self) -> int:
        """The memory of its columns."""
        return sum(column.nbytes for column in self.columns.values())


class Column(NamedTuple):
    """One column of a chunk, as bytes."""

    name: str
    kind: str
    data: bytes


def as_varints(numbers: ArrayLike) -> bytes:
    """Encodes numbers from 0 to 2**35 - 1; an array row by row."""
    values = np.asarray(numbers, np.uint64).reshape(-1)
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


def from_varints(data: bytes | memoryview | NDArray[np.uint8]) -> NDArray[np.int64]:
    octets = np.frombuffer(data, np.uint8)
    if not len(octets):
        return np.empty(0, np.int64)
    ends = np.flatnonzero(octets < 128)
    starts = np.concatenate(([0], ends[:-1] + 1))
    if not len(ends) or int((ends - starts).max()) >= GROUPS:
        raise BadRecord(f'a number has more than {7 * GROUPS} bits')
    numbers = (octets[starts] & 127).astype(np.int64)
    for n in range(1, GROUPS):
        longer = np.flatnonzero(ends - starts >= n)
        if not len(longer):
            break
        numbers[longer] |= (octets[starts[longer] + n] & 127).astype(np.int64) << 7 * n
    return numbers


def as_runs(states: NDArray[np.integer[Any]], classes: NDArray[np.uint8] | None = None) -> NDArray[np.int64]:
    """Sorted states as runs, one a row: the gap before it, its length, and, if there are classes, its class."""
    breaks = np.diff(states) != 1
    if classes is not None:
        breaks |= np.diff(classes) != 0
    firsts = np.flatnonzero(np.concatenate(([len(states) > 0], breaks)))
    lengths = np.diff(firsts, append=len(states))
    starts = states[firsts].astype(np.int64)
    gaps = starts - np.concatenate(([0], (starts + lengths)[:-1]))[: len(starts)]
    return np.column_stack((gaps, lengths) if classes is None else (gaps, lengths, classes[firsts]))


def from_runs(gaps: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    ends = np.cumsum(gaps + lengths)
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(ends - lengths, lengths) + within


def classes_of(
    terrain: NDArray[np.uint16], obstacles: NDArray[np.bool_] | None, unknown: NDArray[np.bool_] | None
) -> NDArray[np.uint8]:
    """The classes of cells, from their costs and marks."""
    classes = _CLASS_OF_COST[terrain]
    blocked = terrain == BLOCKED
    if obstacles is None:
        classes[blocked] = OBSTACLE
    else:
        classes[blocked] = np.where(obstacles[blocked], OBSTACLE, INFLATED)
    if unknown is not None:
        classes[unknown] = np.where(blocked[unknown], UNKNOWN_BLOCKED, UNKNOWN)
    return classes


def pack(head: dict[str, Any], columns: Sequence[Column] = ()) -> bytes:
    """Encodes a chunk of a record."""
    head = {**head, 'columns': [[column.name, column.kind, len(column.data)] for column in columns]}
    text = json.dumps(head, separators=(',', ':'), ensure_ascii=False, allow_nan=False).encode()
    body = zlib.compress(b''.join((_LENGTH.pack(len(text)), text, *(column.data for column in columns))), LEVEL)
    return _LENGTH.pack(len(body)) + body


def inflated(body: bytes, most: int) -> bytes:
    """The decompressed body of a chunk, of at most this size."""
    inflater = zlib.decompressobj()
    plain = inflater.decompress(body, max(most, 1))  # 0 would mean no limit
    if inflater.unconsumed_tail and most < LARGEST_CHUNK:
        raise TogetherTooLarge
    if inflater.unconsumed_tail:
        raise TooLarge(f'a chunk has more than {LARGEST_CHUNK} bytes')
    if not inflater.eof:
        raise BadRecord('a chunk is incomplete')
    return plain


def unpack(plain: bytes) -> Chunk:
    """Decodes the body of a chunk, uncompressed."""
    (length,) = _LENGTH.unpack_from(plain)
    if length > LARGEST_PART:
        raise TooLarge(f'a head has {length} bytes; it must have at most {LARGEST_PART}')
    at = _LENGTH.size + length
    head = json.loads(plain[_LENGTH.size : at])
    columns = {}
    view = memoryview(plain)
    for name, kind, size in head.pop('columns'):
        if type(size) is not int or not 0 <= size <= len(plain) - at:
            raise BadRecord(f'a column has {size!r} bytes; its chunk has {len(plain) - at} bytes left')
        data = view[at : at + size]
        if kind != 'varint':
            columns[name] = np.frombuffer(data, {'f4': '<f4', 'u1': 'u1'}[kind])
        elif len(data) > LARGEST_PART:
            raise TooLarge(f'a column of numbers has more than {LARGEST_PART} bytes')
        else:
            columns[name] = from_varints(data)
        at += size
    return Chunk(head, columns)


def check_begins(data: bytes) -> None:
    """Raises BadRecord if a file that begins with this data is not a record of this version."""
    if not data:
        raise BadRecord('the file is empty: nothing was recorded')
    if not data.startswith(MAGIC[:-1]):
        raise BadRecord(f'the file begins with {data[: len(MAGIC)]!r}; the record of a run begins with {MAGIC!r}')
    if data[len(MAGIC) - 1 : len(MAGIC)] != MAGIC[-1:]:
        version = data[len(MAGIC) - 1 : len(MAGIC)]
        raise BadRecord(f'the record has version {version!r}; this tb_planner reads version {MAGIC[-1:]!r}')


class Chunks:
    """The chunks of a file, for one iteration.

    It ends before an incomplete last chunk, which a crash may leave, and before chunks that would be too large
    together.
    """

    def __init__(self, data: bytes) -> None:
        check_begins(data)
        self._data = data
        self.end = len(MAGIC)
        """Offset after the last chunk that was read."""
        self.why = ''
        """Why reading ended there, if it was not the end of the file."""

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
                self.why = _TOO_LARGE.format(LARGEST_RECORD)
                return
            except (zlib.error, struct.error, *MALFORMED) as error:
                if isinstance(error, TooLarge) or not is_last:
                    raise BadRecord(f'the chunk at byte {at} cannot be read: {error}') from error
                self.why = f'the last chunk cannot be read: {error}'
                return
            left -= HEAD_FACTOR * int.from_bytes(plain[: _LENGTH.size], 'little') + chunk.bytes
            if left < 0:
                self.why = _TOO_LARGE.format(LARGEST_RECORD)
                return
            self.end = at + len(body)
            yield chunk

    def _next_body(self) -> bytes | None:
        """The next body, or None if it is incomplete."""
        at = self.end + _LENGTH.size
        if at > len(self._data):
            return None
        (length,) = _LENGTH.unpack_from(self._data, self.end)
        return self._data[at : at + length] if at + length <= len(self._data) else None


def _make_classes_of_costs() -> NDArray[np.uint8]:
    terrain = np.arange(2**16)
    levels = np.rint(LEVELS * np.log2(np.maximum(terrain, COST_STEPS) / COST_STEPS))
    return np.minimum(levels, HIGHEST_COST).astype(np.uint8)


_CLASS_OF_COST = _make_classes_of_costs()
