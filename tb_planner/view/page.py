"""One HTML file that replays a record in a browser: all is in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import html
import re
from importlib.resources import files
from pathlib import Path

SCRIPTS = (
    'elements.js',
    'record.js',
    'replay.js',
    'scene.js',
    'timeline.js',
    'figures.js',
    'controls.js',
    'page.js',
)

SIGNATURE = b'<meta name="generator" content="tb_planner">'
"""Stands near the beginning of every page."""


def may_become_page(path: Path) -> bool:
    """Whether nothing else than a page, or nothing at all, would be written over there."""
    if not path.is_file():
        return True
    with path.open('rb') as file:
        begins = file.read(1000)
    return not begins or SIGNATURE in begins


def make_page(record: bytes, title: str = '') -> str:
    """The page with this record in it."""
    return _assemble(title, base64.b64encode(record).decode(), stream='', connect="'none'")


def make_live_page(stream: str, title: str = '', server: str = '') -> str:
    """The page that gets its chunks from the server that it comes from, over the WebSocket at this path.

    server: the address of its WebSockets, for browsers to which that is not the same server.
    """
    return _assemble(title, '', stream=stream, connect=f"'self' {server}".strip())


def _assemble(title: str, record: str, *, stream: str, connect: str) -> str:
    parts = {
        'title': html.escape(title or 'A run'),
        'connect': html.escape(connect, quote=False),
        'style': _read('page.css'),
        'script': '\n'.join(_read(name) for name in SCRIPTS),
        'stream': html.escape(stream),
        'record': record,
    }
    return re.sub(r'\{\{(\w+)\}\}', lambda place: parts[place[1]], _read('page.html'))


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding='utf-8')
