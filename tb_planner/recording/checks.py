"""Whether what a record says fits together: it may come from anywhere, and whoever shows it relies on it."""

from __future__ import annotations

from typing import Any

from tb_planner.recording.format import NEW_SEARCH, BadRecord, Chunk

SHARES = {'expanded': 'expanded_bytes', 'changes': 'change_bytes', 'route': 'route_bytes'}
"""Columns that ticks share, and those that tell how many bytes are whose."""
PER_TICK = (
    *('time_us', 'duration_us', 'flags', 'left', 'back', 'expansions', 'open_size'),
    *('x', 'y', 'yaw', 'waypoint_x', 'waypoint_y'),
    *SHARES.values(),
)


def check_head(head: dict[str, Any]) -> None:
    if head.get('kind') != 'head':
        raise BadRecord('it has no beginning')
    if not isinstance(head.get('title', ''), str):
        raise BadRecord(f'its title is {head["title"]!r}; it is a text')


def check_ticks(chunk: Chunk, first: int) -> None:
    """Of a chunk whose first tick has this number; raises BadRecord."""
    count, columns = chunk.head['count'], chunk.columns
    if type(count) is not int or count < 0:
        raise BadRecord(f'a chunk has {count!r} ticks; it is a whole number')
    for name in PER_TICK:
        if len(columns[name]) != count:
            raise BadRecord(f'{name} has {len(columns[name])} entries; there are {count} ticks')
    for name, sizes in SHARES.items():
        _check_length(name, chunk, int(columns[sizes].sum()))
    _check_length('roots', chunk, int((columns['flags'] & NEW_SEARCH != 0).sum()))
    _check_length('map', chunk, sum(_cells_told(event, first, first + count) for event in chunk.head['events']))


def _check_length(name: str, chunk: Chunk, expected: int) -> None:
    length = len(chunk.columns[name])
    if length != expected:
        raise BadRecord(f'{name} is {length} long; its ticks have {expected} of it')


def _cells_told(event: dict[str, Any], first: int, end: int) -> int:
    """How many cells of a map come with this event."""
    tick = event['tick']
    if type(tick) is not int or not first <= tick < end:
        raise BadRecord(f'an event is at tick {tick!r}; its chunk has {first} to {end - 1}')
    if not all(isinstance(text, str) for text in (event.get('status', ''), *event.get('restarts', ()))):
        raise BadRecord(f'the event at tick {tick} has status or restarts that are no texts')
    if 'map' not in event:
        return 0
    width, height = event['map']['width'], event['map']['height']
    if type(width) is not int or type(height) is not int or min(width, height) < 1:
        raise BadRecord(f'the map at tick {tick} has {width!r} x {height!r} cells; it has 1 x 1 at least')
    return width * height
