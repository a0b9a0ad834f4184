"""The page while the run goes on: a server on this machine that follows a record as it grows.

Each chunk of the file goes out as one message of a WebSocket, to every page from the file's beginning on. Pages may
have something to say, too: what they ask for goes to `hear`, if somebody listens there.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import re
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import FileIO
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any, ClassVar

from tb_planner.recording.format import MAGIC
from tb_planner.view.page import make_live_page

HOST = '127.0.0.1'
POLL_S = 0.05
MOST_PAGES = 8
"""That are served at once."""
MOST_CALLERS = 64
"""That are heard at once, whatever they want; each takes a thread. One more takes the line of whoever has held one for
longest and is no page that is served: that may be somebody who says nothing, or is slow on purpose."""
LONGEST_MESSAGE = 2**16
"""From a page, in bytes."""
PATIENCE_S = 10.0
"""With a page that takes nothing."""
HANGS_UP_S = 5.0
"""So long at most a caller who is hung up on is waited for."""
CLOSES_S = 1.0
"""For all pages to go."""

_ACCEPT = b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'  # RFC 6455, 1.3
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
_TRY_AGAIN_LATER = 1013  # as IANA has it
_LENGTH = struct.Struct('<I')
_HOST = re.compile(r'(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:\d+)?')

Hear = Callable[[dict[str, Any]], object]


class Tail:
    """A record that somebody else is writing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begins = b''  # up to the end of its head, which is of this run alone
        self._at = 0

    def chunks(self) -> Iterator[bytes]:
        """Those that have come since the last call, each with its length in front. Raises EOFError if the file has been
        begun anew."""
        try:
            with self._path.open('rb', buffering=0) as file:
                while True:
                    chunk = self._next_chunk(file)
                    self._check(file)  # once it has been read: it is of the run that the others are of
                    if not chunk:
                        return
                    self._at += len(chunk)
                    yield chunk
        except FileNotFoundError:
            if self._begins:
                raise EOFError from None

    def _next_chunk(self, file: FileIO) -> bytes:
        if self._begins:
            return _chunk_at(file, self._at)
        first = _chunk_at(file, len(MAGIC))
        if first:
            self._begins, self._at = MAGIC + first, len(MAGIC)
        return first

    def _check(self, file: FileIO) -> None:
        file.seek(0)
        if file.read(len(self._begins)) != self._begins or file.seek(0, 2) < self._at:
            raise EOFError


def _chunk_at(file: FileIO, at: int) -> bytes:
    """b'' if it has not all come yet."""
    end = file.seek(0, 2)
    file.seek(at)
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return b''
    size = _LENGTH.unpack(head)[0]
    body = file.read(size) if at + len(head) + size <= end else b''
    return head + body if len(body) == size else b''


class LiveServer:
    """Serves until it is closed. With port 0 it takes one that is free.

    host: where it listens; 0.0.0.0 is all addresses of this computer, and :: those of IPv6 besides. Pages of other
    sites are turned away, and so is who calls the server by a name that is not this computer's.
    hear: told of what pages ask for, by the thread of that page; may_hear: whether it is to be, just now.
    """

    def __init__(
        self,
        record: Path,
        *,
        host: str = HOST,
        port: int = 0,
        title: str = '',
        hear: Hear | None = None,
        may_hear: Callable[[], bool] = lambda: True,
    ) -> None:
        handler = type('Handler', (_Handler,), {'live': self})
        self._server = _Server(host, port, handler)
        self.host, self.port = host, int(self._server.server_address[1])
        self._names = {host.lower(), 'localhost', *_own_names()}
        self.record = record
        self.hear = hear
        self.may_hear = may_hear
        self.closing = threading.Event()
        self.places = threading.Semaphore(MOST_PAGES)
        self._title = title
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is to be seen on this computer."""
        host = {'0.0.0.0': HOST, '::': '::1'}.get(self.host, self.host)
        return f'http://[{host}]:{self.port}/' if ':' in host else f'http://{host}:{self.port}/'

    def is_called(self, name: str) -> bool:
        """Whether this may be a Host: this computer's name, or an address. Another site can get its own name to lead
        here, but not its visitors to call it by an address. The port is that of whoever forwards it, or left out."""
        host = _HOST.fullmatch(name)
        return host is not None and (host[1].lower() in self._names or _is_address(host[1].strip('[]')))

    def page(self, name: str) -> bytes:
        return make_live_page('stream', self._title, f'ws://{name}').encode()

    def close(self) -> None:
        """Nobody is heard any more then, unless a page has kept its thread waiting for too long."""
        self.closing.set()
        self._thread.join(PATIENCE_S)
        self._server.server_close()
        deadline = time.monotonic() + CLOSES_S
        gone = sum(self.places.acquire(timeout=max(deadline - time.monotonic(), 0)) for _ in range(MOST_PAGES))
        if gone:
            self.places.release(gone)

    def _serve(self) -> None:
        while not self.closing.is_set():
            self._server.handle_request()


def _own_names() -> set[str]:
    """As other computers of the same network may call this one; nobody is asked."""
    name = socket.gethostname().lower()
    return {name, f'{name.partition(".")[0]}.local'} - {''}


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = MOST_CALLERS
    timeout = POLL_S

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]) -> None:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        self.address_family, address = found[0][0], str(found[0][4][0])
        self._lines = threading.Semaphore(MOST_CALLERS)
        self._callers: dict[socket.socket, None] = {}  # who may be hung up on, the oldest first
        self._changes = threading.Lock()
        super().__init__((address, port), handler)

    def server_bind(self) -> None:
        self.socket.settimeout(POLL_S)  # a page that has gone before it was accepted is not waited for
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._lines.acquire(blocking=False) or self._hang_up():
            with self._changes:
                self._callers[request] = None
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.keep(request)
            self._lines.release()

    def keep(self, request: socket.socket) -> None:
        """This caller is not hung up on any more."""
        with self._changes:
            self._callers.pop(request, None)

    def _hang_up(self) -> bool:
        """On the oldest caller; whether that line is free then."""
        with self._changes:
            if not self._callers:
                return False
            oldest = next(iter(self._callers))
            del self._callers[oldest]
        with suppress(OSError):  # it has gone by itself
            oldest.shutdown(socket.SHUT_RDWR)  # whoever waits for it wakes up
        return self._lines.acquire(timeout=HANGS_UP_S)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that has gone, even in the middle of a request, is nothing to tell of."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    live: ClassVar[LiveServer]
    server: _Server
    protocol_version = 'HTTP/1.1'
    timeout = PATIENCE_S

    def do_GET(self) -> None:
        name, path = self.headers.get('Host', ''), self.path.partition('?')[0]
        if not self.live.is_called(name) or self._is_of_other_site(name):
            self._refuse(HTTPStatus.FORBIDDEN)
        elif path == '/':
            self._send_page(self.live.page(name))
        elif path == '/stream' and self.headers.get('Upgrade', '').lower() == 'websocket':
            self._stream()
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: who serves has a log of its own."""

    def _is_of_other_site(self, name: str) -> bool:
        origin = self.headers.get('Origin')
        return origin is not None and origin != f'http://{name}'

    def _refuse(self, status: HTTPStatus) -> None:
        self.send_response(status)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def _send_page(self, page: bytes) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header('Content-Type', 'text/html; charset=utf-8')
        self.send_header('Content-Length', str(len(page)))
        self.send_header('Cache-Control', 'no-store')
        self.send_header('X-Frame-Options', 'DENY')
        self.end_headers()
        self.wfile.write(page)

    def _stream(self) -> None:
        self.close_connection = True
        if self.headers.get('Origin') is None:  # a browser always tells
            self._refuse(HTTPStatus.FORBIDDEN)
        elif not self.live.places.acquire(blocking=False):
            self._shake_hands()  # or a browser would not tell its page why
            WebSocket(self.connection, self.live).turn_away()
        else:
            try:
                self.server.keep(self.connection)
                self._shake_hands()
                WebSocket(self.connection, self.live).run()
            except (OSError, EOFError):
                pass  # the page has gone, or the record has been begun anew: a page comes back by itself
            finally:
                self.live.places.release()

    def _shake_hands(self) -> None:
        key = self.headers.get('Sec-WebSocket-Key', '').encode()
        accept = base64.b64encode(hashlib.sha1(key + _ACCEPT).digest()).decode()
        self.send_response(HTTPStatus.SWITCHING_PROTOCOLS)
        self.send_header('Upgrade', 'websocket')
        self.send_header('Connection', 'Upgrade')
        self.send_header('Sec-WebSocket-Accept', accept)
        self.end_headers()
        self.wfile.flush()


class WebSocket:
    """The server's end of a connection (RFC 6455, without extensions)."""

    def __init__(self, connection: socket.socket, live: LiveServer) -> None:
        self._connection = connection
        self._live = live
        self._tail = Tail(live.record)
        self._heard = b''
        self._may_hear: bool | None = None

    def run(self) -> None:
        """Until one of both has enough; raises OSError or EOFError then."""
        while not self._live.closing.is_set():
            self._tell_whether_heard()
            for chunk in self._tail.chunks():
                self._send(_BINARY, chunk)
            if self._has_come():
                self._take_in()
        self._send(_CLOSE, b'')

    def turn_away(self) -> None:
        reason = f'{MOST_PAGES} pages show this run already: close one of them, and this one comes in by itself.'
        self._send(_CLOSE, struct.pack('>H', _TRY_AGAIN_LATER) + reason.encode())

    def _has_come(self) -> bool:
        """Waits a little for something from the page."""
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        return bool(poll.poll(1000 * POLL_S))

    def _tell_whether_heard(self) -> None:
        may_hear = self._live.hear is not None and self._live.may_hear()
        if may_hear != self._may_hear:
            self._may_hear = may_hear
            self._send(_TEXT, json.dumps({'input': may_hear}).encode())

    def _send(self, kind: int, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = struct.pack('>BB', 128 | kind, size)
        elif size < 2**16:
            head = struct.pack('>BBH', 128 | kind, 126, size)
        else:
            head = struct.pack('>BBQ', 128 | kind, 127, size)
        self._connection.sendall(head + data)

    def _take_in(self) -> None:
        data = self._connection.recv(LONGEST_MESSAGE)
        if not data:
            raise EOFError
        self._heard += data
        while (frame := self._next_frame()) is not None:
            self._answer(*frame)

    def _next_frame(self) -> tuple[int, bytes] | None:
        """(kind, data), or None if it has not all come yet. Raises OSError for what no page of ours would send."""
        heard = self._heard
        if len(heard) < 2:
            return None
        kind, size, at = heard[0] & 15, heard[1] & 127, 2
        if not heard[0] & 128 or not heard[1] & 128 or size == 127:
            raise OSError('a message in parts, one that is not masked, or one that is too long')
        if size == 126:
            if len(heard) < 4:
                return None
            size, at = struct.unpack_from('>H', heard, 2)[0], 4
        if len(heard) < at + 4 + size:
            return None
        mask, data = heard[at : at + 4], heard[at + 4 : at + 4 + size]
        self._heard = heard[at + 4 + size :]
        return kind, bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))

    def _answer(self, kind: int, data: bytes) -> None:
        if kind == _CLOSE:
            self._send(_CLOSE, data[:2])
            raise EOFError
        if kind == _PING:
            self._send(_PONG, data)
        if kind != _TEXT or self._live.hear is None or not self._live.may_hear():
            return
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            return
        if isinstance(message, dict):
            self._live.hear(message)
