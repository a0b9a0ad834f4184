"""Record: a recorded run, read from its file and checked; Replay: what it shows at each tick.

A record may come from anywhere, and whoever shows it relies on its contents: they are checked first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_planner.files import open_file, read_up_to
from tb_planner.recording.format import (
    LARGEST_RECORD,
    LARGEST_SHARE,
    MAGIC,
    MALFORMED,
    MAX_FACTS,
    MAX_WORD,
    NEW_ROUTE,
    NEW_SEARCH,
    OPTIONAL_SHARES,
    PLACES,
    ROW,
    SHARES,
    UNKNOWN_BLOCKED,
    BadRecord,
    Chunk,
    Chunks,
    TooLarge,
    check_begins,
    from_runs,
    from_varints,
)

ALL_SHARES = SHARES | OPTIONAL_SHARES
COLUMNS = (*ROW, *PLACES, *ALL_SHARES.values(), *ALL_SHARES, 'roots', 'map')
"""All columns of a chunk with ticks."""

_MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1))


class Record:
    """A recorded run: the columns of the format by name, for all ticks, and the events."""

    def __init__(self, data: bytes) -> None:
        chunks = Chunks(data)
        parts = iter(chunks)
        first = next(parts, None)
        self.head: dict[str, Any] = {} if first is None else first.head
        if self.head.get('kind') != 'head':
            raise BadRecord('the file has no head')
        _check_head(self.head)
        self.ticks = 0
        self.events: list[dict[str, Any]] = []
        grown: dict[str, bytearray] = {}
        types: dict[str, Any] = {}
        for part in parts:  # checked one by one: of a bad record, no more than one chunk too many is in memory
            if part.head['kind'] != 'ticks':
                continue
            _add_optional(part)
            check_ticks(part, self.ticks)
            self.ticks += part.head['count']
            self.events += part.head['events']
            for name in COLUMNS:
                column = part.columns[name]
                if types.setdefault(name, column.dtype) != column.dtype:
                    raise BadRecord(f'{name} is {types[name]} in one chunk and {column.dtype} in another')
                grown.setdefault(name, bytearray()).extend(column.data)
        self.end = chunks.end
        """Offset of the first byte at the end of the file that could not be read."""
        self.left_out = len(data) - chunks.end
        """Number of these bytes."""
        self.why = chunks.why
        """Why they could not be read."""
        self.columns: dict[str, NDArray[Any]] = {
            name: np.frombuffer(values, types[name]) for name, values in grown.items()
        }
        self._ends = {name: np.cumsum(self.columns[size]) for name, size in ALL_SHARES.items() if self.columns}

    @property
    def restarts(self) -> list[tuple[int, list[str]]]:
        """The tick and the reasons of each restart."""
        return [(event['tick'], event['restarts']) for event in self.events if 'restarts' in event]

    def share(self, name: str, tick: int) -> NDArray[np.uint8]:
        """The part of `expanded`, `parents`, `changes` or `route` that belongs to a tick."""
        end, length = int(self._ends[name][tick]), int(self.columns[ALL_SHARES[name]][tick])
        if length > LARGEST_SHARE:
            raise TooLarge(f'tick {tick} has {length} bytes of {name}; it must have at most {LARGEST_SHARE}')
        share: NDArray[np.uint8] = self.columns[name][end - length : end]
        return share


def read_record(path: str | os.PathLike[str]) -> Record:
    """Reads and checks a record; raises BadRecord or OSError."""
    try:
        with open_file(path) as file:
            check_begins(file.read(len(MAGIC)))  # before reading the rest: a bag mistaken for a record may be large
            file.seek(0)
            return Record(read_up_to(file, LARGEST_RECORD))
    except BadRecord as error:
        raise BadRecord(f'{path} cannot be shown: {error}') from error
    except MALFORMED as error:
        raise BadRecord(f'{path} cannot be shown: its chunks are inconsistent: {error!r}') from error


def check_is_no_record(path: Path) -> None:
    """Raises ValueError if the file is a record, for commands that expect something else."""
    if not path.is_file():
        return
    with path.open('rb') as file:
        if file.read(len(MAGIC)) == MAGIC:
            raise ValueError(f'{path} is the record of a run: tb_planner view {path} shows it')


class Replay:
    """Goes through a record tick by tick: the map, expanded states, Open list and route after each tick."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.tick = -1
        self.classes: NDArray[np.uint8] = np.empty((0, 0), np.uint8)
        self.expanded: NDArray[np.bool_] = np.empty((0, 0), np.bool_)
        self.known: NDArray[np.bool_] = np.empty((0, 0), np.bool_)
        """States that are expanded or in the Open list."""
        self.route: NDArray[np.int64] = np.empty((0, 2), np.int64)
        """The cells ahead of the robot, x and y in rows."""
        self._whole_route = self.route
        self._maps_used = self._roots_used = 0
        self._maps = {event['tick']: event['map'] for event in record.events if 'map' in event}
        self._facts: dict[str, Any] = {}

    @property
    def open(self) -> NDArray[np.bool_]:
        return self.known & ~self.expanded

    @property
    def has_new_map(self) -> bool:
        """Whether this tick has a whole new map."""
        return self.tick in self._maps

    @property
    def blocked(self) -> NDArray[np.bool_]:
        return self.classes >= UNKNOWN_BLOCKED

    @property
    def backtracking_length(self) -> int:
        """The number of backtracking moves at the beginning of the route."""
        return int(self.record.columns['back'][self.tick])

    def __iter__(self) -> Iterator[Replay]:
        while self.tick + 1 < self.record.ticks:
            self.step()
            yield self

    def step(self) -> None:
        """Goes to the next tick; raises BadRecord if the tick does not fit the others."""
        self.tick += 1
        try:
            self._show_tick()
        except BadRecord:
            raise
        except MALFORMED as error:
            raise BadRecord(f'tick {self.tick} cannot be shown: it does not fit the others: {error}') from error

    def _show_tick(self) -> None:
        if self.tick in self._maps:
            self._begin_map(self._maps[self.tick])
        self._change_map()
        flags = int(self.record.columns['flags'][self.tick])
        if flags & NEW_SEARCH:
            self._begin_search()
        self._expand()
        if flags & NEW_ROUTE:
            self._whole_route = self._read_route()
        left = int(self.record.columns['left'][self.tick])
        self.route = self._whole_route[max(len(self._whole_route) - left - 1, 0) :]

    def _begin_map(self, facts: dict[str, Any]) -> None:
        shape = facts['height'], facts['width']
        size = shape[0] * shape[1]
        self.classes = self.record.columns['map'][self._maps_used : self._maps_used + size].reshape(shape).copy()
        self._maps_used += size
        self._facts = facts
        self.expanded, self.known = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)

    def _change_map(self) -> None:
        gaps, lengths, classes = from_varints(self.record.share('changes', self.tick)).reshape(-1, 3).T
        states = self._states(gaps, lengths)
        self.classes.reshape(-1)[states] = np.repeat(classes, lengths)

    def _begin_search(self) -> None:
        self.expanded[...] = self.known[...] = False
        root = int(self.record.columns['roots'][self._roots_used]) - 1
        self._roots_used += 1
        if root >= self.known.size:
            raise BadRecord(f'tick {self.tick} has its root at cell {root}; the map has {self.known.size} cells')
        if root >= 0:
            self.known.reshape(-1)[root] = True

    def _expand(self) -> None:
        states = self._states(*from_varints(self.record.share('expanded', self.tick)).reshape(-1, 2).T)
        if not len(states):
            return
        self.expanded.reshape(-1)[states] = True
        self.known.reshape(-1)[states] = True
        rows, columns = np.divmod(states, self.classes.shape[1])
        free = self._is_free(columns, rows)  # a cell may have become blocked while it was in the Open list
        for dx, dy in _MOVES[: self._facts['neighbours']]:
            x, y = columns + dx, rows + dy
            legal = free & self._is_free(x, y)
            if dx and dy and not self._facts['corner_cutting']:
                legal &= self._is_free(columns, y) & self._is_free(x, rows)
            self.known[y[legal], x[legal]] = True

    def _states(self, gaps: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        end, cells = int(gaps.sum() + lengths.sum()), self.classes.size
        if end > cells:
            raise BadRecord(f'tick {self.tick} names cell {end}; the map has {cells} cells')
        return from_runs(gaps, lengths)

    def _is_free(self, x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.bool_]:
        height, width = self.classes.shape
        inside = (x >= 0) & (y >= 0) & (x < width) & (y < height)
        free: NDArray[np.bool_] = inside & (
            self.classes[np.where(inside, y, 0), np.where(inside, x, 0)] < UNKNOWN_BLOCKED
        )
        return free

    def _read_route(self) -> NDArray[np.int64]:
        data = self.record.share('route', self.tick)
        if not len(data):
            return np.empty((0, 2), np.int64)
        after = int(np.argmax(data < 128)) + 1
        y, x = divmod(int(from_varints(data[:after])[0]), self.classes.shape[1])
        steps = data[after:].astype(np.int64)
        moves = np.column_stack((steps % 3 - 1, steps // 3 - 1))
        return np.cumsum(np.vstack(([[x, y]], moves)), axis=0)


def _add_optional(chunk: Chunk) -> None:
    """Adds the columns that older records lack, with nothing in them."""
    count = chunk.head['count']
    for name, sizes in OPTIONAL_SHARES.items():
        if name not in chunk.columns and sizes not in chunk.columns and type(count) is int and count >= 0:
            chunk.columns[name] = np.empty(0, np.uint8)
            chunk.columns[sizes] = np.zeros(len(chunk.columns['flags']), np.int64)


def check_ticks(chunk: Chunk, first: int) -> None:
    """Checks a chunk whose first tick has this number; raises BadRecord."""
    count, columns = chunk.head['count'], chunk.columns
    if type(count) is not int or count < 0:
        raise BadRecord(f'a chunk has {count!r} ticks; it must be a whole number')
    for name in (*ROW, *PLACES, *ALL_SHARES.values()):
        if len(columns[name]) != count:
            raise BadRecord(f'{name} has {len(columns[name])} entries; there are {count} ticks')
    for name, sizes in ALL_SHARES.items():
        _check_length(name, chunk, int(columns[sizes].sum()))
    _check_length('roots', chunk, int((columns['flags'] & NEW_SEARCH != 0).sum()))
    _check_length('map', chunk, sum(_cells_of_event(event, first, first + count) for event in chunk.head['events']))


def _check_length(name: str, chunk: Chunk, expected: int) -> None:
    length = len(chunk.columns[name])
    if length != expected:
        raise BadRecord(f'{name} has {length} entries; its ticks need {expected}')


def _cells_of_event(event: dict[str, Any], first: int, end: int) -> int:
    """The number of map cells of this event."""
    tick = event['tick']
    if type(tick) is not int or not first <= tick < end:
        raise BadRecord(f'an event is at tick {tick!r}; its chunk has ticks {first} to {end - 1}')
    for text in (event.get('status', ''), *event.get('restarts', ())):
        _check_text(f'a status or reason at tick {tick}', text)
    _check_text(f'the algorithm at tick {tick}', event.get('algorithm', ''))
    if 'map' not in event:
        return 0
    width, height = event['map']['width'], event['map']['height']
    if type(width) is not int or type(height) is not int or min(width, height) < 1:
        raise BadRecord(f'the map at tick {tick} has {width!r} x {height!r} cells; it must have at least 1 x 1')
    return width * height


def _check_head(head: dict[str, Any]) -> None:
    """Checks the texts that the page shows of a run."""
    _check_text('the title', head.get('title', ''))
    _check_text('the algorithm', head.get('algorithm', ''))
    facts = head.get('facts', {})
    if not isinstance(facts, dict):
        raise BadRecord(f'the facts of the head are a {type(facts).__name__}; they must be names with texts')
    if len(facts) > MAX_FACTS:
        raise BadRecord(f'the head has {len(facts)} facts; it must have at most {MAX_FACTS}')
    for name, value in facts.items():
        _check_text('the name of a fact', name)
        _check_text('a fact', value)


def _check_text(what: str, text: object) -> None:
    if not isinstance(text, str):
        raise BadRecord(f'{what} is {text!r}; it must be a string')
    if len(text) > MAX_WORD:
        raise BadRecord(f'{what} has {len(text)} characters; it must have at most {MAX_WORD}')
