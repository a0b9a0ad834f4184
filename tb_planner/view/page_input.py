"""What a page may send to its server: JSON with one entry, whose size, type and range are checked here.

- `{"goal": [x, y]}` sets a goal, in metres.
- `{"draw": [x, y]}` and `{"erase": [x, y]}` are strokes on the simulator's obstacles.
- `{"cancel": true}` cancels the goal.
- `{"set": {"algorithm": "tba_star"}}` and `{"set": {"weight": 2.0}}` change the planner; which values are allowed, the
  planner itself decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tb_planner.errors import BadInput

MAX_INPUT_BYTES = 2**10
MAX_NUMBER = 1e9
"""Largest coordinate in metres, and largest value of a parameter."""
MAX_NAME = 64
SHOWN = 40
"""Characters of a bad message that its error has."""


class BadPageInput(BadInput):
    """A message that no page of ours sends."""


def read_input(data: str | bytes) -> dict[str, Any]:
    """The message of a page; raises BadPageInput with what is wrong."""
    if not isinstance(data, str):
        raise BadPageInput('a message of a page must be text')
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        raise BadPageInput(f'{data[:SHOWN]!r} is not JSON') from None
    if not isinstance(message, dict) or len(message) != 1:
        raise BadPageInput('a message of a page must be an object with one entry')
    ((name, value),) = message.items()
    if name not in _CHECKS:
        raise BadPageInput(f'{name[:SHOWN]!r} is unknown; a page may send {", ".join(_CHECKS)}')
    is_right, expected = _CHECKS[name]
    if not is_right(value):
        raise BadPageInput(f'{name} is {json.dumps(value)[:SHOWN]}; it must be {expected}')
    return message


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER  # no nan


def _is_place(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and len(value) <= MAX_NAME


_SETTABLE: dict[str, Callable[[object], bool]] = {'algorithm': _is_name, 'weight': _is_number}


def is_setting(value: object) -> bool:
    """Whether these are parameters that a page may change, with values that it can show."""
    if not isinstance(value, dict) or not value:
        return False
    return all(name in _SETTABLE and _SETTABLE[name](item) for name, item in value.items())


_PLACE = f'two coordinates of at most {MAX_NUMBER:g} m'
_CHECKS: dict[str, tuple[Callable[[object], bool], str]] = {
    'goal': (_is_place, _PLACE),
    'draw': (_is_place, _PLACE),
    'erase': (_is_place, _PLACE),
    'cancel': (lambda value: value is True, 'true'),
    'set': (is_setting, 'an algorithm or a weight'),
}
