"""The live page: a server on this computer that follows a record while it is being written.

Every chunk of the file becomes one WebSocket message, and every page receives them from the beginning of the file.
Pages can send input back (a goal, obstacles, parameters); the server checks it and passes it to `on_input`. Besides
the chunks it sends JSON: {"input": whether it accepts input, …} whenever that changes, and {"response": text, "ok": …}.
"""

from __future__ import annotations

import errno
import hmac
import ipaddress
import json
import logging
import queue
import re
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from tb_planner.errors import cut
from tb_planner.recording.format import LARGEST_CHUNK, MAGIC, BadRecord
from tb_planner.view.page import make_live_page, make_page
from tb_planner.view.page_input import MAX_INPUT_BYTES, BadPageInput, read_input

if TYPE_CHECKING:
    from websockets.http11 import Request, Response
    from websockets.sync.server import ServerConnection

HOST = '127.0.0.1'
PORT, PORTS = 8642, 20
"""The usual port, and how many ports are tried from it on."""
POLL_S = 0.05
MAX_PAGES = 8
"""Pages that are served at the same time."""
MAX_PENDING = 64
"""Connections that are no page (yet). One more closes the oldest of them, which may be slow on purpose."""
SEND_TIMEOUT_S = 10.0
"""How long a page may take no data before its connection is closed."""
CLOSE_TIMEOUT_S = 1.0
"""How long close() waits for the pages to close."""

_NO_TOKEN = b'<!doctype html><title>Token needed</title>Open the URL with ?token=..., as the server has printed it.'
_GOING_AWAY, _POLICY_VIOLATION, _TRY_AGAIN_LATER = 1001, 1008, 1013  # close codes in IANA's registry
_MAX_REASON_BYTES = 123
_LENGTH = struct.Struct('<I')
_HOST = re.compile(r'(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(:\d+)?')

Respond = Callable[[str, bool], None]
"""Sends a text to the page that has asked, and whether what it asked for was done; any thread may call it."""
OnInput = Callable[[dict[str, Any], Respond], object]


class Tail:
    """Reads a record that another process is writing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beginning = b''  # up to the end of the head, which differs between runs
        self._at = 0

    def chunks(self) -> Iterator[bytes]:
        """The chunks since the last call, each with its length in front.

        Raises EOFError if another record has replaced this one, and BadRecord if a chunk is too large.
        """
        try:
            with self._path.open('rb', buffering=0) as file:
                while True:
                    chunk = self._next_chunk(file)
                    self._check(file)  # after reading: the chunk belongs to the same run as the others
                    if not chunk:
                        return
                    self._at += len(chunk)
                    yield chunk
        except FileNotFoundError:
            if self._beginning:
                raise EOFError from None

    def _next_chunk(self, file: FileIO) -> bytes:
        if self._beginning:
            return _chunk_at(file, self._at)
        first = _chunk_at(file, len(MAGIC))
        if first:
            self._beginning, self._at = MAGIC + first, len(MAGIC)
        return first

    def _check(self, file: FileIO) -> None:
        file.seek(0)
        if file.read(len(self._beginning)) != self._beginning or file.seek(0, 2) < self._at:
            raise EOFError


def _chunk_at(file: FileIO, at: int) -> bytes:
    """The chunk at this offset, or b'' if it is not complete yet; raises BadRecord if it is too large."""
    end = file.seek(0, 2)
    file.seek(at)
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return b''
    size = _LENGTH.unpack(head)[0]
    if size > LARGEST_CHUNK:
        raise BadRecord(f'a chunk of the record has {size} bytes; it must have at most {LARGEST_CHUNK}')
    body = file.read(size) if at + len(head) + size <= end else b''
    return head + body if len(body) == size else b''


class LiveServer:
    """Serves the page of a record until it is closed; port 0 takes a free port.

    ports: how many ports are tried from this one on; the first free one is taken.
    host: the address to listen on. 0.0.0.0 is every IPv4 address of this computer, :: every IPv6 address as well.
    The server refuses pages of other sites, and requests for a host name that is not this computer's. Where other
    computers can connect, it also requires the token that `url` contains.
    on_input: called with what a page sends, in that page's thread; accepts_input: whether to call it just now. facts:
    what pages are sent besides, whenever it changes. on_pages: called with the number of pages, whenever it changes.
    """

    def __init__(
        self,
        record: Path,
        *,
        host: str = HOST,
        port: int = 0,
        ports: int = 1,
        title: str = '',
        on_input: OnInput | None = None,
        accepts_input: Callable[[], bool] = lambda: True,
        facts: Callable[[], dict[str, Any]] = dict,
        on_pages: Callable[[int], object] = lambda _: None,
    ) -> None:
        serve = _import_serve()
        listener = _listen_from(host, port, ports)
        address, port = listener.getsockname()[:2]
        self.host, self.port = host, int(port)
        self._token = '' if ipaddress.ip_address(address).is_loopback else secrets.token_urlsafe()
        name = socket.gethostname().lower()  # other computers may know this one by it, or by it and .local
        self._names = {host.lower(), 'localhost', name, f'{name.partition(".")[0]}.local'}
        self._record = record
        self._title = title
        self._on_input = on_input
        self._accepts_input = accepts_input
        self._facts = facts
        self._on_pages = on_pages
        self._pages = 0
        self._reason = ''
        self._closing = threading.Event()
        self._places = threading.Semaphore(MAX_PAGES)
        self._lock = threading.Lock()
        self._sockets: dict[socket.socket, bool] = {}  # True: pending; the oldest first
        log = logging.getLogger(f'{__name__}.connections')
        log.setLevel(logging.CRITICAL + 1)  # a page that disconnects in the middle of a request is not an error
        self._server = serve(
            self._stream,
            sock=listener,
            process_request=self._respond,
            compression=None,  # chunks are compressed already
            max_size=MAX_INPUT_BYTES,
            open_timeout=SEND_TIMEOUT_S,
            close_timeout=CLOSE_TIMEOUT_S,
            server_header=None,
            logger=log,
        )
        self._handle, self._server.handler = self._server.handler, self._admit
        self._thread = threading.Thread(target=self._server.serve_forever, name='live_view', daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page on this computer, with the token if one is required."""
        host = {'0.0.0.0': HOST, '::': '::1'}.get(self.host, self.host)
        return f'http://{f"[{host}]" if ":" in host else host}:{self.port}/{self._query}'

    @property
    def access(self) -> str:
        """The URL and who can open it: what a command prints, and a node logs."""
        if not self._token:
            return self.url
        return f'{self.url} ({self.host}: other computers can connect, and need this token)'

    @property
    def _query(self) -> str:
        return f'?token={self._token}' if self._token else ''

    def close(self, reason: str = '') -> None:
        """Sends the rest of the record and the reason, and closes every connection. No input is passed on afterwards,
        unless `on_input` blocks for too long."""
        self._reason = reason
        self._closing.set()
        deadline = time.monotonic() + CLOSE_TIMEOUT_S
        free = sum(self._places.acquire(timeout=max(deadline - time.monotonic(), 0)) for _ in range(MAX_PAGES))
        if free:
            self._places.release(free)
        with self._lock:
            for connection in self._sockets:
                _hang_up(connection)
        stop = threading.Thread(target=self._server.shutdown, daemon=True)
        stop.start()
        stop.join(SEND_TIMEOUT_S)
        self._thread.join(SEND_TIMEOUT_S)

    def _admit(self, connection: socket.socket, address: Any) -> None:
        """Handles one connection in its own thread, and closes the oldest pending one if there are too many."""
        timeout = struct.pack('ll', int(SEND_TIMEOUT_S), 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)
        with self._lock:
            self._sockets[connection] = True
            pending = [other for other, is_pending in self._sockets.items() if is_pending]
            if len(pending) > MAX_PENDING:
                self._sockets[pending[0]] = False
                _hang_up(pending[0])
        try:
            self._handle(connection, address)
        finally:
            with self._lock:
                del self._sockets[connection]

    def _respond(self, connection: ServerConnection, request: Request) -> Response | None:
        """None to go on with the WebSocket handshake."""
        names, origins = request.headers.get_all('Host'), request.headers.get_all('Origin')
        path, _, query = request.path.partition('?')
        if len(names) != 1 or not self._is_own_name(names[0]) or origins not in ([], [f'http://{names[0]}']):
            return _response(HTTPStatus.FORBIDDEN)
        if not self._has_token(query):
            return _response(HTTPStatus.FORBIDDEN, _NO_TOKEN)
        if path == '/':
            page = make_live_page(f'stream{self._query}', self._title, f'ws://{names[0]}')
            return _response(HTTPStatus.OK, page.encode())
        if path == '/empty.html':  # the live page saves the run with it, also after the server has ended
            return _response(HTTPStatus.OK, make_page(b'', self._title).encode())
        if path != '/stream' or request.headers.get('Upgrade', '').lower() != 'websocket':
            return _response(HTTPStatus.NOT_FOUND)
        if not origins:  # a browser always sends one
            return _response(HTTPStatus.FORBIDDEN)
        with self._lock:
            self._sockets[connection.socket] = False
        return None

    def _has_token(self, query: str) -> bool:
        given = parse_qs(query).get('token', []) if self._token else ['']
        return len(given) == 1 and hmac.compare_digest(given[0].encode(errors='replace'), self._token.encode())

    def _is_own_name(self, host: str) -> bool:
        """Whether this Host header is this computer's name or an address.

        Another site can make its own name resolve to this computer (DNS rebinding), but its visitors then send that
        name and no address. The port may be another one, where it is forwarded, or missing.
        """
        match = _HOST.fullmatch(host)
        return match is not None and (match[1].lower() in self._names or _is_address(match[1].strip('[]')))

    def _stream(self, page: ServerConnection) -> None:
        """Sends the record to one page until either side closes."""
        if not self._places.acquire(blocking=False):
            page.close(
                _TRY_AGAIN_LATER, f'{MAX_PAGES} pages show this run already: close one of them, then this one opens.'
            )
            return
        self._count(1)
        try:
            self._send_chunks(page)
            page.close(_GOING_AWAY, _reason(self._reason))
        except EOFError:
            pass  # another record has replaced this one: the page connects again by itself
        except (BadPageInput, BadRecord) as error:
            page.close(_POLICY_VIOLATION, _reason(str(error)))
        finally:
            self._places.release()
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self._pages += change
            self._on_pages(self._pages)

    def _send_chunks(self, page: ServerConnection) -> None:
        tail = Tail(self._record)
        responses: queue.SimpleQueue[str] = queue.SimpleQueue()
        sent: dict[str, Any] = {}
        while True:
            closing = self._closing.is_set()
            facts = {'input': self._on_input is not None and self._accepts_input(), **self._facts()}
            if facts != sent:
                page.send(json.dumps(facts))
                sent = facts
            while not responses.empty():
                page.send(responses.get())
            for chunk in tail.chunks():
                page.send(chunk)
            if closing:
                return
            with suppress(TimeoutError):
                self._receive(page.recv(timeout=POLL_S), responses)

    def _receive(self, data: str | bytes, responses: queue.SimpleQueue[str]) -> None:
        """Passes a message on if input is accepted; raises BadPageInput in any case if it is a bad one."""
        message = read_input(data)
        if self._on_input is not None and self._accepts_input():
            self._on_input(message, lambda text, ok: responses.put(json.dumps({'response': cut(text), 'ok': ok})))


def _import_serve() -> Callable[..., Any]:
    try:
        from websockets.sync.server import serve
    except ImportError as error:  # Ubuntu 24.04 ships websockets 10.4, which has no threaded server
        raise ImportError("the live view needs websockets 11 or newer: pip install 'websockets>=11'") from error
    return serve


def _listen(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, address = found[0][0], str(found[0][4][0])
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    return socket.create_server((address, port), family=family, backlog=MAX_PENDING, dualstack_ipv6=both)


def _listen_from(host: str, port: int, ports: int) -> socket.socket:
    """Listens on the first of these ports that is not in use."""
    for number in range(port, port + ports - 1 if port else port):
        try:
            return _listen(host, number)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
    return _listen(host, port + ports - 1 if port else port)


def _reason(text: str) -> str:
    """The text, cut to what a closing frame can have."""
    return text.encode()[:_MAX_REASON_BYTES].decode(errors='ignore')


def _hang_up(connection: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        connection.shutdown(socket.SHUT_RDWR)  # wakes every thread that waits for it


def _response(status: HTTPStatus, page: bytes = b'') -> Response:
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    headers = Headers({'Content-Length': str(len(page)), 'Connection': 'close'})
    if page:
        headers.update(
            {'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store', 'X-Frame-Options': 'DENY'}
        )
    return Response(status.value, status.phrase, headers, page)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
