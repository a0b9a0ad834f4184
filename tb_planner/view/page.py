"""One HTML file that replays a record in a browser: all is in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Literal, NamedTuple

from tb_planner.files import written_whole

SCRIPTS = (
    'elements.js',
    'record.js',
    'replay.js',
    'scene.js',
    'why.js',
    'metres.js',
    'inspect.js',
    'timeline.js',
    'strips.js',
    'range.js',
    'compare.js',
    'export.js',
    'figures.js',
    'moment.js',
    'opening.js',
    'controls.js',
    'live.js',
    'page.js',
)

SIGNATURE = b'<meta name="generator" content="tb_planner">'
"""A line near the beginning of every page."""


MAX_TITLE = 1000
"""Characters of a title."""
PIECE = 3 * 2**24
"""Bytes of the record in one element of the page: as text they are a third more, and browsers have a longest string
(Chromium's has 2**29 letters)."""


def may_become_page(path: Path) -> bool:
    """Whether nothing else than a page, or nothing at all, would be written over there."""
    if not path.is_file():
        return True
    with path.open('rb') as file:
        begins = file.read(1000)
    return not begins or SIGNATURE in begins


class OtherRun(NamedTuple):
    """A run beside the one of a page: not longer than that, in time."""

    record: bytes
    title: str
    side: Literal['left', 'right'] = 'right'


def make_page(record: bytes, title: str = '', other: OtherRun | None = None) -> str:
    """The page with this record in it, or with these two."""
    return ''.join(_page(record, title, other))


def write_page(path: Path, record: bytes, title: str = '', other: OtherRun | None = None) -> None:
    """Piece by piece: a large record is not in memory three times."""
    with written_whole(path), path.open('w', encoding='utf-8', errors='replace') as file:
        file.writelines(_page(record, title, other))


def _page(record: bytes, title: str, other: OtherRun | None) -> Iterator[str]:
    return _assemble(title, _in_pieces(record), stream='', connect="'none'", other=_holder(other) if other else ())


def _holder(other: OtherRun) -> Iterator[str]:
    yield f'<div id="other" data-title="{html.escape(other.title[:MAX_TITLE])}" data-side="{other.side}" hidden>\n'
    yield from _in_pieces(other.record)
    yield '</div>\n'


def _in_pieces(record: bytes) -> Iterator[str]:
    view = memoryview(record)
    for at in range(0, len(view), PIECE):
        piece = base64.b64encode(view[at : at + PIECE]).decode()
        yield f'<script type="application/octet-stream">{piece}</script>\n'


def make_live_page(stream: str, title: str = '', server: str = '') -> str:
    """The page that gets its chunks from the server that it comes from, over the WebSocket at this path.

    server: the address of its WebSockets, for browsers to which that is not the same server.
    """
    return ''.join(_assemble(title, (), stream=stream, connect=f"'self' {server}".strip()))


def _assemble(
    title: str, record: Iterable[str], *, stream: str, connect: str, other: Iterable[str] = ()
) -> Iterator[str]:
    parts = {
        'title': html.escape(title[:MAX_TITLE] or 'A run'),
        'connect': html.escape(connect, quote=False),
        'style': _read('page.css'),
        'script': '\n'.join(_read(name) for name in SCRIPTS),
        'stream': html.escape(stream),
    }
    for i, piece in enumerate(re.split(r'\{\{(\w+)\}\}', _read('page.html'))):
        if i % 2 == 0:
            yield piece
        elif piece == 'record':
            yield from record
        elif piece == 'other':
            yield from other
        else:
            yield parts[piece]


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding='utf-8')
