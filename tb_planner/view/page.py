"""One HTML file that replays a record in a browser: all is in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import html
from importlib.resources import files

SCRIPTS = ('record.js', 'replay.js', 'scene.js', 'timeline.js', 'page.js')


def make_page(record: bytes, title: str = '') -> str:
    """The page with this record in it."""
    return _assemble(title or 'A run', base64.b64encode(record).decode(), '')


def make_live_page(stream: str, title: str = '') -> str:
    """The page that gets its chunks from a server, over the WebSocket at this address."""
    return _assemble(title or 'A run', '', stream)


def _assemble(title: str, record: str, stream: str) -> str:
    parts = {
        'title': html.escape(title),
        'style': _read('page.css'),
        'script': '\n'.join(_read(name) for name in SCRIPTS),
        'stream': html.escape(stream),
        'record': record,
    }
    page = _read('page.html')
    for name, text in parts.items():
        page = page.replace(f'{{{{{name}}}}}', text)
    return page


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding='utf-8')
