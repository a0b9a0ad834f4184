"""The live page: it follows the record while it grows, is served to this computer only, and sends input back."""

import base64
import http.client
import queue
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import closing, suppress

import numpy as np
import pytest
from helpers.planners import open_field
from helpers.processes import wait_for
from helpers.trip import Trip

from tb_planner.recording import About, Recorder, read_record
from tb_planner.recording.format import LARGEST_CHUNK, BadRecord
from tb_planner.view.page import make_page
from tb_planner.view.page_input import MAX_INPUT_BYTES, BadPageInput, read_input
from tb_planner.view.server import MAX_PAGES, MAX_PENDING, LiveServer, Tail

FOLLOWS = 'window.tbPlanner && tbPlanner.record.ticks === {0} && tbPlanner.replay.tick === {0} - 1'


@pytest.fixture(autouse=True)
def chunks_on_request(monkeypatch):
    """The recorder itself writes no chunk before the record is closed."""
    monkeypatch.setattr('tb_planner.recording.writer.CHUNK_S', 1000)


class Drive:
    """A robot in an empty room; its recorder writes a chunk after every go()."""

    def __init__(self, path, goal=(5.5, 3.5)):
        self.trip = Trip(open_field(60, 40), (0.55, 0.55), goal)
        self.recorder = Recorder(path, About('A drive', period_s=0.05))
        self.ticks = 0

    def go(self, ticks):
        for _ in range(ticks):
            update = self.trip._update
            self.trip.tick(search=self.recorder.searching(None))
            self.recorder.see(
                self.trip.navigator, self.trip.last, update, self.trip.history[-1].pose, 0.05 * self.ticks
            )
            self.recorder.end_tick(0.001)
            self.trip.drive()
            self.ticks += 1
        self.recorder._write_frames()


@pytest.fixture
def drive(tmp_path):
    drive = Drive(tmp_path / 'run.tbrun')
    yield drive
    drive.recorder.close()


@pytest.fixture
def inputs():
    return queue.Queue()


@pytest.fixture
def hangs_up_soon(monkeypatch):
    """A server that waits less for a page that does not close its side."""
    monkeypatch.setattr('tb_planner.view.server.CLOSE_TIMEOUT_S', 0.1)


@pytest.fixture
def server(drive, tmp_path, inputs):
    with closing(LiveServer(tmp_path / 'run.tbrun', title='A drive', on_input=inputs.put)) as server:
        yield server


def ask(server, path='/', **headers):
    """The status of a request, and the body of its response."""
    connection = http.client.HTTPConnection('127.0.0.1', server.port, timeout=10)
    with closing(connection):
        connection.request('GET', path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read() if response.status == 200 else b''


def knock(server, path='/stream', **headers):
    """Asks for the stream: status and head of the response, and the connection."""
    wanted = {
        'Host': f'127.0.0.1:{server.port}',
        'Upgrade': 'websocket',
        'Connection': 'Upgrade',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
        **headers,
    }
    connection = socket.create_connection(('127.0.0.1', server.port), 10)
    lines = [f'{name}: {value}' for name, value in wanted.items() if value is not None]
    connection.sendall('\r\n'.join([f'GET {path} HTTP/1.1', *lines, '', '']).encode())
    head = b''
    while b'\r\n\r\n' not in head:
        head += take(connection, 1)
    return int(head.split()[1]), head, connection


def own_origin(server):
    return {'Origin': f'http://127.0.0.1:{server.port}'}


# -------------------------------------------------------------------------------------------------- without a browser
def test_the_page_is_served_to_this_computer_only(server):
    assert server._server.socket.getsockname()[0] == '127.0.0.1'
    status, page = ask(server)
    assert status == 200
    assert b'data-stream="stream"' in page
    assert ask(server, '/?x=1') == (200, page)
    assert ask(server, '/etc/passwd')[0] == 404
    assert ask(server, '/etc/passwd?/')[0] == 404
    assert ask(server, '/stream')[0] == 404


def test_pages_of_other_sites_and_foreign_host_names_are_refused(server):
    assert ask(server, Host='evil.example:80')[0] == 403
    assert ask(server, Host=f'evil.example:{server.port}')[0] == 403
    assert ask(server, Origin='http://evil.example')[0] == 403
    for origin in ('http://evil.example', 'null', f'https://127.0.0.1:{server.port}', 'http://127.0.0.1:1', None):
        status, _, connection = knock(server, Origin=origin)
        connection.close()
        assert status == 403, origin
    status, _, connection = knock(server, **own_origin(server), Host=f'evil.example:{server.port}')
    connection.close()
    assert status == 403


def test_an_address_and_the_computers_own_name_are_accepted_with_any_port(server):
    """The port is missing where it is 80, and differs where it is forwarded."""
    own = socket.gethostname()
    for name in ('127.0.0.1', 'localhost', f'localhost:{server.port + 1}', '[::1]:9000', own.upper(), f'{own}:8642'):
        status, page = ask(server, Host=name)
        assert status == 200, name
        assert f"connect-src 'self' ws://{name};".encode() in page
        status, _, connection = knock(server, Host=name, Origin=f'http://{name}')
        connection.close()
        assert status == 101, name


@pytest.mark.parametrize('host', ['0.0.0.0', '::'])
def test_a_server_on_all_addresses_is_safe_from_dns_rebinding(drive, tmp_path, host):
    """Another site can make its own name resolve to this computer; its page would then have the same origin."""
    try:
        server = LiveServer(tmp_path / 'run.tbrun', host=host)
    except OSError as error:
        pytest.skip(f'{host}: {error}')
    with closing(server):
        query = re.fullmatch(rf'http://(?:127\.0\.0\.1|\[::1\]):{server.port}/(\?token=[\w-]{{43}})', server.url)[1]
        for name in (
            'evil.example',
            f'127.0.0.1.evil.example:{server.port}',
            'a"b',
            '127.0.0.1:80"',
            '',
            '[::1',
            '::1',
        ):
            assert ask(server, f'/{query}', Host=name)[0] == 403, name
            status, _, connection = knock(server, f'/stream{query}', Host=name, Origin=f'http://{name}')
            connection.close()
            assert status == 403, name
        assert ask(server, f'/{query}', Host=f'192.168.1.5:{server.port}')[0] == 200


@pytest.mark.parametrize('second', ['Host: {own}', 'host: evil.example', 'HOST: evil.example'])
def test_a_request_with_two_host_headers_is_refused(server, second):
    own = f'127.0.0.1:{server.port}'
    second = second.format(own=own)
    for hosts in (f'{own}\r\n{second}', f'{second[6:]}\r\nHost: {own}'):
        for path in ('/', '/stream'):
            status, _, connection = knock(server, path, Host=hosts, Origin=f'http://{own}')
            connection.close()
            assert status == 403


@pytest.fixture
def public_server(drive, tmp_path, inputs):
    with closing(LiveServer(tmp_path / 'run.tbrun', host='0.0.0.0', on_input=inputs.put)) as server:
        yield server


def test_where_other_computers_can_connect_the_page_needs_the_token_of_its_url(public_server):
    token = public_server.url.partition('?token=')[2]
    wrong = token[:-1] + ('A' if token[-1] != 'A' else 'B')
    for query in ('', '?', '?token', '?token=', f'?token={wrong}', f'?token={token}x', f'?token={token[:-1]}'):
        assert ask(public_server, f'/{query}')[0] == 403, query
        status, head, connection = knock(public_server, f'/stream{query}', **own_origin(public_server))
        connection.close()
        assert status == 403, query
        assert token.encode() not in head
    for query in (f'?token={token}&token={wrong}', f'?token={wrong}&token={token}', f'?Token={token}', '?token=%ff%00'):
        assert ask(public_server, f'/{query}')[0] == 403, query
    status, page = ask(public_server, f'/?token={token}')
    assert status == 200
    assert f'data-stream="stream?token={token}"'.encode() in page


def test_with_the_token_a_page_gets_the_stream_and_may_send_input(public_server, drive, inputs):
    drive.go(3)
    query = public_server.url.partition('/?')[2]
    status, _, connection = knock(public_server, f'/stream?{query}', **own_origin(public_server))
    assert status == 101
    with closing(connection):
        assert receive(connection) == (1, b'{"input": true}')
        assert receive(connection)[0] == 2
        send(connection, 1, b'{"goal": [1.0, 2.0]}')
        assert inputs.get(timeout=10) == {'goal': [1.0, 2.0]}


def test_every_server_for_other_computers_has_a_token_of_its_own(public_server, tmp_path):
    with closing(LiveServer(tmp_path / 'run.tbrun', host='0.0.0.0')) as other:
        query = public_server.url.partition('/?')[2]
        assert ask(public_server, f'/?{query}')[0] == 200
        assert ask(other, f'/?{query}')[0] == 403


@pytest.mark.parametrize('host', ['127.0.0.1', 'localhost', '127.0.0.5'])
def test_a_server_for_this_computer_only_needs_no_token(tmp_path, host):
    with closing(LiveServer(tmp_path / 'run.tbrun', host=host)) as server:
        assert server.access == server.url == f'http://{host}:{server.port}/'


@pytest.mark.parametrize('host', ['127.0.0.1', '0.0.0.0'])
def test_the_command_prints_a_url_that_opens_the_page(tmp_path, host):
    command = [sys.executable, '-m', 'tb_planner', 'view', str(tmp_path / 'run.tbrun'), '--live', '--host', host]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            url = re.search(r'at (\S+) ', line)[1]
            with urllib.request.urlopen(url, timeout=20) as response:
                assert b'data-stream="stream' in response.read()
            assert ('need this token' in line) == ('?token=' in url) == (host == '0.0.0.0')
        finally:
            process.send_signal(signal.SIGINT)


def test_the_server_listens_on_ipv6(drive, tmp_path):
    try:
        server = LiveServer(tmp_path / 'run.tbrun', host='::1')
    except OSError as error:
        pytest.skip(f'no IPv6 here: {error}')
    with closing(server), closing(http.client.HTTPConnection('::1', server.port, timeout=10)) as connection:
        assert server.url == f'http://[::1]:{server.port}/'
        connection.request('GET', '/')
        assert connection.getresponse().status == 200


@pytest.mark.parametrize(('host', 'port'), [('127.0.0.1', 99999), ('127.0.0.1', -1), ('192.0.2.1', 0), ('no.such.', 0)])
def test_an_address_that_cannot_be_listened_on_is_an_error(tmp_path, host, port):
    """192.0.2.1 belongs to no computer (RFC 5737)."""
    command = [sys.executable, '-m', 'tb_planner', 'view', str(tmp_path / 'run.tbrun'), '--live']
    done = subprocess.run(
        [*command, '--host', host, f'--port={port}'], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert f'cannot listen on {host}, port {port}: ' in done.stderr


def test_the_handshake_follows_the_standard(server):
    """The example of RFC 6455, section 1.3."""
    status, head, connection = knock(server, **own_origin(server))
    connection.close()
    assert status == 101
    assert b's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' in head


def test_every_chunk_of_the_file_is_one_message(server, drive, tmp_path):
    drive.go(3)
    status, _, connection = knock(server, **own_origin(server))
    assert status == 101
    with closing(connection):
        assert receive(connection) == (1, b'{"input": true}')
        messages = [receive(connection)[1] for _ in range(2)]
        drive.go(2)
        messages.append(receive(connection)[1])
    data = (tmp_path / 'run.tbrun').read_bytes()
    assert data == data[:8] + b''.join(messages)


def receive(connection):
    """(kind, data) of the next frame."""
    head = take(connection, 2)
    size = head[1]
    if size >= 126:
        size = struct.unpack('>H' if size == 126 else '>Q', take(connection, 2 if size == 126 else 8))[0]
    return head[0] & 15, take(connection, size)


def receive_other(connection):
    """The next frame that is not a chunk of the record."""
    while (frame := receive(connection))[0] == 2:
        pass
    return frame


def take(connection, size):
    data = b''
    while len(data) < size:
        more = connection.recv(size - len(data))
        assert more
        data += more
    return data


def send(connection, kind, data, *, mask=b'\1\2\3\4'):
    size = bytes([128 | len(data)]) if len(data) < 126 else b'\xfe' + struct.pack('>H', len(data))
    masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
    connection.sendall(bytes([128 | kind]) + size + mask + masked)


def test_input_of_pages_is_passed_on(server, inputs):
    _, _, connection = knock(server, **own_origin(server))
    with closing(connection):
        receive(connection)
        send(connection, 1, b'{"goal": [1.0, 2.0]}')
        send(connection, 9, b'ping')
        assert receive_other(connection) == (10, b'ping')
        assert inputs.get(timeout=10) == {'goal': [1.0, 2.0]}
        send(connection, 1, b'{"set": {"weight": 0.5}}')  # the planner refuses it, and says why
        assert inputs.get(timeout=10) == {'set': {'weight': 0.5}}


@pytest.mark.parametrize(
    ('message', 'reason'),
    [
        ('no JSON', "'no JSON' is not JSON"),
        ('[1]', 'a message of a page must be an object with one entry'),
        ('{}', 'a message of a page must be an object with one entry'),
        ('{"goal": [1, 2], "draw": [1, 2]}', 'a message of a page must be an object with one entry'),
        ('[' * 900, f"'{'[' * 40}' is not JSON"),
        ('{"shutdown": true}', "'shutdown' is unknown; a page may send goal, draw, erase, cancel, set"),
        ('{"goal": [1.0]}', 'goal is [1.0]; it must be two coordinates of at most 1e+09 m'),
        ('{"goal": [NaN, 0]}', 'goal is [NaN, 0]; it must be two coordinates of at most 1e+09 m'),
        ('{"goal": [1e400, 0]}', 'goal is [Infinity, 0]; it must be two coordinates of at most 1e+09 m'),
        ('{"goal": [2e9, 0]}', 'goal is [2000000000.0, 0]; it must be two coordinates of at most 1e+09 m'),
        ('{"goal": [true, 0]}', 'goal is [true, 0]; it must be two coordinates of at most 1e+09 m'),
        ('{"draw": "here"}', 'draw is "here"; it must be two coordinates of at most 1e+09 m'),
        ('{"cancel": 1}', 'cancel is 1; it must be true'),
        ('{"set": {}}', 'set is {}; it must be an algorithm or a weight'),
        ('{"set": {"weight": "2"}}', 'set is {"weight": "2"}; it must be an algorithm or a weight'),
        ('{"set": {"weight": 1e10}}', 'set is {"weight": 10000000000.0}; it must be an algorithm or a weight'),
        ('{"set": {"record": "/etc/passwd"}}', 'set is {"record": "/etc/passwd"}; it must be an algorithm or a weight'),
        ('{"set": {"algorithm": 7}}', 'set is {"algorithm": 7}; it must be an algorithm or a weight'),
        ('{"set": {"algorithm": "' + 'a' * 65 + '"}}', 'set is {"algorithm": "' + 'a' * 25 + '; it must be'),
    ],
)
def test_bad_input_ends_its_own_connection_only_with_the_reason(hangs_up_soon, server, inputs, message, reason):
    bad, good = (knock(server, **own_origin(server))[2] for _ in range(2))
    with closing(bad), closing(good):
        receive_other(bad)
        send(bad, 1, message.encode())
        kind, data = receive_other(bad)
        assert (kind, data[:2]) == (8, struct.pack('>H', 1008))
        assert data[2:].decode().startswith(reason)
        assert is_hung_up(bad)
        receive_other(good)
        send(good, 1, b'{"cancel": true}')
        assert inputs.get(timeout=10) == {'cancel': True}
    assert inputs.empty()


def test_binary_input_is_refused(server, inputs):
    _, _, connection = knock(server, **own_origin(server))
    with closing(connection):
        receive_other(connection)
        send(connection, 2, b'{"cancel": true}')
        kind, data = receive_other(connection)
    assert (kind, data) == (8, struct.pack('>H', 1008) + b'a message of a page must be text')
    assert inputs.empty()


def test_the_reason_of_a_refusal_has_at_most_the_bytes_of_a_closing_frame(server):
    _, _, connection = knock(server, **own_origin(server))
    with closing(connection):
        receive_other(connection)
        send(connection, 1, ('{"' + 'ä' * 60 + '": 1}').encode())
        kind, data = receive_other(connection)
    assert kind == 8
    assert 100 < len(data[2:]) <= 123
    assert data[2:].decode().startswith("'ää")


def test_a_message_of_the_largest_size_is_read_without_an_error_of_another_kind():
    for text in (
        '{"goal": ' + '[' * 500 + ']' * 500 + '}',
        '{"goal": [' + '9' * 900 + ', 0]}',
        '{"a": "' + '\\ud800' * 99 + '"}',
    ):
        assert len(text) <= MAX_INPUT_BYTES
        with pytest.raises(BadPageInput):
            read_input(text)


def test_facts_are_sent_when_they_change_and_responses_to_the_page_that_asked(drive, tmp_path):
    facts = {'planner': None}
    asked = queue.Queue()
    record = tmp_path / 'run.tbrun'
    server = LiveServer(record, on_input=lambda message, respond: asked.put(respond), facts=lambda: dict(facts))
    with closing(server):
        first, second = (knock(server, **own_origin(server))[2] for _ in range(2))
        with closing(first), closing(second):
            for connection in (first, second):
                assert receive_other(connection) == (1, b'{"input": true, "planner": null}')
            send(first, 1, b'{"cancel": true}')
            asked.get(timeout=10)('there is no goal to cancel', False)
            assert receive_other(first) == (1, b'{"response": "there is no goal to cancel", "ok": false}')
            send(first, 1, b'{"cancel": true}')
            asked.get(timeout=10)('no' * 10**6, False)
            kind, response = receive_other(first)
            assert kind == 1
            assert len(response) < 5000
            facts['planner'] = {'weight': 2.0}
            for connection in (first, second):
                assert receive_other(connection) == (1, b'{"input": true, "planner": {"weight": 2.0}}')


def test_the_number_of_pages_is_reported_when_it_changes(drive, tmp_path):
    numbers = queue.Queue()
    with closing(LiveServer(tmp_path / 'run.tbrun', on_pages=numbers.put)) as server:
        assert ask(server)[0] == 200  # a page that is loaded has no stream yet
        assert numbers.empty()
        for connection in [knock(server, **own_origin(server))[2] for _ in range(2)]:
            receive_other(connection)
            connection.close()
        assert sorted(numbers.get(timeout=10) for _ in range(4)) in ([0, 0, 1, 1], [0, 1, 1, 2])
        assert numbers.empty()


def test_a_port_that_is_in_use_is_replaced_by_the_next_free_one(tmp_path):
    with closing(socket.create_server(('127.0.0.1', 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match='in use'):
            LiveServer(tmp_path / 'run.tbrun', port=port)
        with closing(LiveServer(tmp_path / 'run.tbrun', port=port, ports=20)) as server:
            assert port < server.port < port + 20
            with closing(LiveServer(tmp_path / 'run.tbrun', port=port, ports=20)) as other:
                assert server.port < other.port < port + 20


def test_an_ending_server_sends_the_rest_of_the_record_and_its_reason(drive, tmp_path):
    server = LiveServer(tmp_path / 'run.tbrun')
    with closing(server):
        _, _, connection = knock(server, **own_origin(server))
        with closing(connection):
            assert receive(connection)[0] == 1
            assert receive(connection)[0] == 2
            drive.go(3)
            server.close('The run has ended.')
            data = (tmp_path / 'run.tbrun').read_bytes()
            assert receive(connection) == (2, data[-len(receive_rest(data)) :])
            assert receive(connection) == (8, struct.pack('>H', 1001) + b'The run has ended.')


def receive_rest(data):
    """The last chunk of a record of two chunks, with its length in front."""
    at = 8 + 4 + struct.unpack_from('<I', data, 8)[0]
    return data[at:]


@pytest.mark.parametrize(
    ('frame', 'code'),
    [
        (b'\x81\xff' + struct.pack('>Q', MAX_INPUT_BYTES + 1), 1009),
        (b'\x81\x82\0\0\0\0\xff\xfe', 1007),
        (b'\x81\x02{}', 1002),
    ],
    ids=['too long', 'not UTF-8', 'not masked'],
)
def test_a_frame_that_no_page_of_ours_sends_closes_the_connection(server, inputs, frame, code):
    _, _, connection = knock(server, **own_origin(server))
    with closing(connection):
        assert receive(connection)[0] == 1
        connection.sendall(frame)
        while (received := receive(connection))[0] == 2:
            pass
        assert (received[0], received[1][:2]) == (8, struct.pack('>H', code))
        assert is_hung_up(connection)
    assert inputs.empty()


def is_hung_up(connection):
    """Reads what was sent before, until the server has closed the connection."""
    try:
        while connection.recv(1000):
            pass
    except ConnectionError:
        pass
    return True


def test_input_is_ignored_while_it_is_not_accepted(drive, tmp_path, inputs):
    allowed, asked = [], []

    def accepts_input():
        asked.append(True)
        return bool(allowed)

    record = tmp_path / 'run.tbrun'
    with closing(LiveServer(record, on_input=inputs.put, accepts_input=accepts_input)) as server:
        _, _, connection = knock(server, **own_origin(server))
        with closing(connection):
            assert receive(connection) == (1, b'{"input": false}')
            send(connection, 1, b'{"goal": [1, 2]}')
            send(connection, 9, b'')
            while receive(connection)[0] != 10:
                pass
            seen = len(asked)  # the first goal has arrived; the page's thread takes it within three looks
            assert wait_for(lambda: len(asked) >= seen + 3)
            assert inputs.empty()
            allowed.append(True)
            assert receive(connection) == (1, b'{"input": true}')
            send(connection, 1, b'{"goal": [3, 4]}')
            assert inputs.get(timeout=10) == {'goal': [3, 4]}


def test_a_page_that_disconnects_within_a_request_logs_no_error(server, capfd):
    connection = socket.create_connection(('127.0.0.1', server.port), 10)
    connection.sendall(b'GET / HT')
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))  # closing resets it
    connection.close()
    assert ask(server)[0] == 200
    server.close()
    assert capfd.readouterr().err == ''


def test_the_number_of_pages_is_limited_and_a_closed_page_makes_room(server):
    connections = [knock(server, **own_origin(server))[2] for _ in range(MAX_PAGES)]
    assert {receive(connection)[0] for connection in connections} == {1}
    kind, data = first_frame(server)
    assert (kind, data[:2]) == (8, struct.pack('>H', 1013))  # try again later, in IANA's registry
    assert f'{MAX_PAGES} pages' in data[2:].decode()
    connections[0].close()
    deadline = time.monotonic() + 60
    while kind != 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)
        kind, _ = first_frame(server)
    for connection in connections:
        connection.close()


def first_frame(server):
    """Kind and data of the first frame that a page receives."""
    status, _, connection = knock(server, **own_origin(server))
    assert status == 101
    with closing(connection):
        return receive(connection)


def test_a_page_too_many_shows_why_it_waits_and_connects_later(browser, server, drive):
    drive.go(3)
    connections = [knock(server, **own_origin(server))[2] for _ in range(MAX_PAGES)]
    page = browser.open(server.url, offline=False)
    page.wait_for(f'document.getElementById("message")?.textContent.includes("{MAX_PAGES} pages")')
    assert page.run('document.getElementById("live").textContent') == 'Not connected'
    for connection in connections:
        connection.close()
    page.wait_for(FOLLOWS.format(3))
    assert page.run('document.getElementById("message").textContent') == ''
    assert page.run('document.getElementById("live").textContent') == 'Live'
    assert page.complaints() == []
    page.close()


@pytest.mark.parametrize('request_', [b'', b'GET / HTTP/1.1\r\nHost: loc'], ids=['nothing', 'half a request'])
def test_slow_clients_take_limited_threads_and_lock_nobody_out(drive, tmp_path, monkeypatch, request_):
    monkeypatch.setattr('tb_planner.view.server.SEND_TIMEOUT_S', 600.0)  # no client times out
    server = LiveServer(tmp_path / 'run.tbrun')
    _, _, page = knock(server, **own_origin(server))
    assert receive(page)[0] == 1  # all threads of this page have started
    before = threading.active_count()
    slow = [socket.create_connection(('127.0.0.1', server.port), 10) for _ in range(MAX_PENDING + 20)]
    for connection in slow:
        with suppress(ConnectionError):  # closed already
            connection.sendall(request_)
    for connection in slow[:20]:
        assert is_hung_up(connection)
    deadline = time.monotonic() + 60  # threads of closed connections may be about to end
    while threading.active_count() > before + 2 * MAX_PENDING:  # each client has two: one reads
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for _ in range(3):
        assert ask(server)[0] == 200
    status, _, other = knock(server, **own_origin(server))
    assert status == 101
    send(page, 9, b'still there')
    while (frame := receive(page))[0] != 10:
        pass
    assert frame == (10, b'still there')
    for connection in (*slow, page, other):
        connection.close()
    server.close()


def test_a_replaced_record_is_noticed_even_if_the_new_one_is_longer(drive, tmp_path):
    drive.go(3)
    tail = Tail(tmp_path / 'run.tbrun')
    stalled = Tail(tmp_path / 'run.tbrun')
    assert len(list(tail.chunks())) == 2
    slowly = stalled.chunks()
    next(slowly)
    drive.go(3)
    assert len(list(tail.chunks())) == 1
    drive.recorder.close()
    with closing(Drive(tmp_path / 'run.tbrun').recorder):
        pass
    again = Drive(tmp_path / 'run.tbrun')
    with closing(again.recorder):
        for _ in range(10):
            again.go(3)
        for chunks in (tail.chunks(), slowly):
            with pytest.raises(EOFError):
                next(chunks)
        assert len(list(Tail(tmp_path / 'run.tbrun').chunks())) == 11


def test_a_chunk_that_is_larger_than_any_of_ours_is_not_read(drive, tmp_path):
    drive.go(2)
    size = LARGEST_CHUNK + 1
    with (tmp_path / 'run.tbrun').open('ab') as file:
        file.write(struct.pack('<I', size))
        file.truncate(file.tell() + size)  # which takes no room on the disk
    chunks = Tail(tmp_path / 'run.tbrun').chunks()
    assert len([next(chunks), next(chunks)]) == 2
    with pytest.raises(BadRecord, match=f'has {size} bytes; it must have at most {LARGEST_CHUNK}'):
        next(chunks)


def test_a_page_of_a_record_with_such_a_chunk_gets_the_reason(hangs_up_soon, server, tmp_path):
    with (tmp_path / 'run.tbrun').open('ab') as file:
        file.write(struct.pack('<I', LARGEST_CHUNK + 1))
    connection = knock(server, **own_origin(server))[2]
    with closing(connection):
        while (frame := receive_other(connection))[0] != 8:
            pass
    assert frame[1][:2] == struct.pack('>H', 1008)
    assert f'at most {LARGEST_CHUNK}'.encode() in frame[1]


def test_closing_does_not_wait_for_stuck_pages(drive, tmp_path):
    """One page reads nothing of a long record, one has sent half a request, one has gone."""
    (tmp_path / 'long.tbrun').write_bytes(
        (tmp_path / 'run.tbrun').read_bytes() + struct.pack('<I', 2**26) + b'x' * 2**26
    )
    with closing(LiveServer(tmp_path / 'long.tbrun')) as server:
        connections = [knock(server, **own_origin(server))[2] for _ in range(2)]
        connections.append(socket.create_connection(('127.0.0.1', server.port), 10))
        connections[1].close()
        connections[2].sendall(b'GET / HT')
    assert not server._thread.is_alive()
    for connection in connections:
        connection.close()


def test_the_command_serves_until_it_is_interrupted(drive, tmp_path):
    drive.go(2)
    command = [sys.executable, '-m', 'tb_planner', 'view', str(tmp_path / 'run.tbrun'), '--live']
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert select.select([process.stdout], [], [], 60)[0]
        port = int(process.stdout.readline().split('127.0.0.1:')[1].split('/')[0])
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=10)
        with closing(connection):
            connection.request('GET', '/')
            assert connection.getresponse().status == 200
        process.send_signal(2)
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.wait(20)
        process.stdout.close()


# -------------------------------------------------------------------------------------------------- in a browser
def test_the_page_follows_the_run(browser, server, drive, tmp_path):
    page = browser.open(server.url, offline=False)
    drive.go(4)
    page.wait_for(FOLLOWS.format(4))
    drive.go(6)
    page.wait_for(FOLLOWS.format(10))
    assert page.run('document.title') == 'A drive'
    page.press('ArrowLeft')
    page.wait_for('tbPlanner.isSettled && tbPlanner.target === 8')
    drive.go(5)
    page.wait_for('tbPlanner.record.ticks === 15')
    assert page.run('tbPlanner.target') == 8
    page.run('document.getElementById("live").click()')
    page.wait_for(FOLLOWS.format(15))
    record = read_record(tmp_path / 'run.tbrun')
    assert np.allclose(page.run('Array.from(tbPlanner.record.x.values.subarray(0, 15))'), record.columns['x'])
    assert page.complaints() == []
    page.close()


def test_a_live_page_can_be_paused_played_and_made_live_again(browser, server, drive):
    drive.go(20)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(20))
    label = 'document.getElementById("play").getAttribute("aria-label")'
    assert page.run(label) == 'Pause'
    page.press(' ')
    assert page.run(f'[tbPlanner.isLive, tbPlanner.isPlaying, tbPlanner.target, {label}]') == [False, False, 19, 'Play']
    drive.go(200)
    page.wait_for('tbPlanner.record.ticks === 220')
    page.press(' ')
    page.wait_for('tbPlanner.isPlaying && tbPlanner.target > 19')
    page.run('document.getElementById("live").click()')
    page.wait_for(FOLLOWS.format(220))
    drive.go(10)
    page.wait_for(FOLLOWS.format(230))
    assert page.run('[tbPlanner.isLive, tbPlanner.isPlaying]') == [True, False]
    page.close()


def test_only_the_left_mouse_button_sets_a_goal(browser, server, drive, inputs):
    drive.go(3)
    page = browser.open(server.url, offline=False)
    page.wait_for(f'{FOLLOWS.format(3)} && tbPlanner.scene.scale > 0 && !document.getElementById("tools").hidden')
    left, top, _, _ = page.box_of('map')
    for button, cell in (('right', (10, 10)), ('left', (30, 12))):
        px, py = page.run(f'tbPlanner.scene.pointOf{cell}')
        for kind in ('mousePressed', 'mouseReleased'):
            page.mouse(kind, left + px, top + py, button=button, clickCount=1)
    assert inputs.get(timeout=10)['goal'] == pytest.approx([3.0, 1.2], abs=0.1)
    assert inputs.empty()
    page.close()


def test_a_page_that_is_opened_late_shows_the_whole_run(browser, server, drive):
    drive.go(30)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(30))
    page.press('Home')
    page.wait_for('tbPlanner.isSettled && tbPlanner.replay.tick === 0')
    assert page.complaints() == []
    page.close()


TAKE_IN = """
    (async () => {{
        let looks = 0;
        const grown = tbPlanner.grown;
        tbPlanner.grown = function () {{ looks++; grown.call(this); }};
        const body = Uint8Array.from(atob('{0}'), (letter) => letter.charCodeAt(0));
        await tbPlanner.takeIn(Array(400).fill(body));
        return looks;
    }})()
"""


def test_many_chunks_at_once_are_not_drawn_one_by_one(browser, server, drive, tmp_path):
    """The cost of drawing grows with the length of the record."""
    drive.go(5)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(5))
    *_, chunk = Tail(tmp_path / 'run.tbrun').chunks()
    assert page.run(TAKE_IN.format(base64.b64encode(chunk[4:]).decode())) <= 400 / 16
    page.wait_for(FOLLOWS.format(401 * 5))
    assert page.complaints() == []
    page.close()


def test_a_page_for_other_computers_follows_the_run_with_its_token(browser, public_server, drive):
    drive.go(20)
    page = browser.open(public_server.url, offline=False)
    page.wait_for(FOLLOWS.format(20))
    drive.go(5)
    page.wait_for(FOLLOWS.format(25))
    assert page.complaints() == []
    page.close()


def test_a_page_starts_over_when_the_record_is_replaced(browser, server, drive, tmp_path):
    drive.go(20)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(20))
    drive.recorder.close()
    again = Drive(tmp_path / 'run.tbrun')
    again.go(3)
    page.wait_for(FOLLOWS.format(3))
    again.recorder.close()
    page.close()


def test_a_page_that_loses_its_server_stays_at_its_tick(browser, drive, tmp_path):
    with closing(LiveServer(tmp_path / 'run.tbrun', title='A drive')) as server:
        drive.go(20)
        page = browser.open(server.url, offline=False)
        page.wait_for(FOLLOWS.format(20))
        page.press('Home')
        page.wait_for('tbPlanner.isSettled && tbPlanner.target === 0')
        page.run('window.firstSocket = tbPlanner.live.socket')
    page.wait_for('tbPlanner.live.socket !== firstSocket')
    assert page.run('tbPlanner.target') == 0
    page.wait_for('document.getElementById("live").textContent === "Ended"')
    page.close()


def test_at_the_end_the_page_gives_the_reason_and_saves_the_whole_run_without_the_server(
    browser, drive, tmp_path, monkeypatch
):
    monkeypatch.setattr('tb_planner.view.server.POLL_S', 0.5)  # so that the last ticks are not there before the end
    server = LiveServer(tmp_path / 'run.tbrun', title='A drive: <1>')
    with closing(server):
        drive.go(20)
        page = browser.open(server.url, offline=False)
        page.wait_for(FOLLOWS.format(20) + ' && tbPlanner.live.template')
        assert page.run('document.querySelector(".ending").hidden')
        drive.go(5)
        server.close('The run has ended.')
    page.wait_for(FOLLOWS.format(25) + ' && !document.querySelector(".ending").hidden')
    page.wait_for('tbPlanner.live.socket.readyState === WebSocket.CLOSED')  # the next connection is refused
    assert page.run('document.querySelector(".ending").textContent') == 'The run has ended.Save'
    assert page.run('document.getElementById("play").getAttribute("aria-label")') == 'Play'
    page.download_to(tmp_path)
    page.run('document.querySelector(".ending button").click()')
    saved = tmp_path / 'A_drive_1_.html'
    assert wait_for(lambda: saved.exists() and saved.stat().st_size > 0)
    page.close()
    again = browser.open(saved.as_uri())
    again.wait_for('window.tbPlanner && tbPlanner.record.ticks === 25')
    assert saved.read_text(encoding='utf-8') == make_page((tmp_path / 'run.tbrun').read_bytes(), 'A drive: <1>')
    assert again.run('document.title') == 'A drive: <1>'
    assert again.complaints() == []
    again.close()


ALGORITHM, WEIGHT = '#planner select', '#planner input'
SET = """
    (() => {{
        const input = document.querySelector('{}');
        input.value = {};
        input.dispatchEvent(new Event('change'));
    }})()
"""
RESPONDED = 'document.querySelector("#planner output").textContent === "{}"'


def test_the_page_asks_for_another_algorithm_weight_or_no_goal_and_shows_the_responses(browser, drive, tmp_path):
    values = {'algorithms': {'tba_star': False, 'tb_wa_star': True}, 'algorithm': 'tb_wa_star', 'weight': 1.5}
    facts = {'planner': values}
    asked = queue.Queue()
    record = tmp_path / 'run.tbrun'
    server = LiveServer(record, on_input=lambda *both: asked.put(both), facts=lambda: dict(facts))
    with closing(server):
        drive.go(4)
        page = browser.open(server.url, offline=False)
        page.wait_for(FOLLOWS.format(4) + f' && document.querySelector("{WEIGHT}")?.value === "1.5"')
        assert page.run(f'document.querySelector("{ALGORITHM}").value') == 'tb_wa_star'
        page.run(SET.format(WEIGHT, 0.5))
        message, respond = asked.get(timeout=10)
        assert message == {'set': {'weight': 0.5}}
        respond('weight is 0.5; it must be between 1 and 100', False)
        page.wait_for(RESPONDED.format('weight is 0.5; it must be between 1 and 100'))
        assert page.run(f'document.querySelector("{WEIGHT}").value') == '1.5'
        assert page.run('document.querySelector("#planner output").className') == 'refused'
        page.run(SET.format(ALGORITHM, '"tba_star"'))
        message, respond = asked.get(timeout=10)
        assert message == {'set': {'algorithm': 'tba_star'}}
        facts['planner'] = {**values, 'algorithm': 'tba_star'}
        respond('algorithm is now tba_star', True)
        page.wait_for(RESPONDED.format('algorithm is now tba_star'))
        page.wait_for(f'document.querySelector("{WEIGHT}").disabled')
        page.run('document.querySelector("#planner button").click()')
        message, respond = asked.get(timeout=10)
        assert message == {'cancel': True}
        assert page.run('document.querySelector("#planner output").className') == ''
        page.run(f'document.querySelector("{WEIGHT}").disabled = false')
        page.run(f'document.querySelector("{WEIGHT}").focus()')
        page.press('0')
        assert page.run('[tbPlanner.isLive, tbPlanner.target]') == [True, 3]
        facts['planner'] = None
        page.wait_for(f'document.querySelector("{ALGORITHM}").disabled')
        assert page.complaints() == []
        page.close()


def test_a_planner_that_does_not_respond_is_reported(browser, server, drive):
    drive.go(4)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(4) + ' && !document.getElementById("planner").hidden')
    page.run('document.querySelector("#planner button").click()')
    page.wait_for(RESPONDED.format('The planner has not responded.'))
    page.close()


def test_on_a_page_without_input_there_is_no_panel_of_the_planner(browser, drive, tmp_path):
    with closing(LiveServer(tmp_path / 'run.tbrun')) as server:
        drive.go(4)
        page = browser.open(server.url, offline=False)
        page.wait_for(FOLLOWS.format(4))
        assert page.run('document.getElementById("planner").hidden')
        assert page.complaints() == []
        page.close()


BOXES = """
    ['#map', '#tools', '.zoom', '#status'].map((name) => {
        const { x, y, right, bottom } = document.querySelector(name).getBoundingClientRect();
        return [x, y, right, bottom];
    })
"""


def test_on_a_phone_nothing_overlaps_the_map_or_other_controls(browser, server, drive):
    drive.go(4)
    page = browser.open(server.url, offline=False, width=360, height=740, scale=2)
    page.wait_for(FOLLOWS.format(4) + ' && !document.getElementById("tools").hidden')
    map_, tools, zoom, status = page.run(BOXES)
    assert not overlap(map_, tools)
    assert not overlap(map_, zoom)
    assert not overlap(tools, zoom)
    assert overlap(map_, status)
    assert page.box_of('live')[1] < sum(page.box_of('clock')[1::2])  # in one row
    assert page.run('document.documentElement.scrollWidth') <= 360
    page.close()


def test_nothing_moves_when_a_run_passes_ten_seconds(browser, server, drive):
    drive.go(198)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(198) + ' && !document.getElementById("tools").hidden')
    boxes = [page.box_of(name) for name in ('map', 'live', 'clock')]
    assert boxes[1][1] < sum(boxes[2][1::2])  # in one row
    assert boxes[2][1] < sum(boxes[1][1::2])
    drive.go(7)
    page.wait_for(FOLLOWS.format(205))
    assert page.run('document.getElementById("clock").textContent').startswith('10.')
    assert [page.box_of(name) for name in ('map', 'live', 'clock')] == boxes
    page.close()


def overlap(a, b):
    """Whether two boxes (left, top, right, bottom) overlap."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_a_click_sets_a_goal_and_a_drag_moves_the_map_or_draws(browser, server, drive, inputs):
    drive.go(4)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(4) + ' && !document.getElementById("tools").hidden')
    left, top, _, _ = page.box_of('map')

    def at(x, y):
        px, py = page.run(f'tbPlanner.scene.pointOf({x}, {y})')
        return left + px, top + py

    start, end = at(30, 12), at(34, 12)  # off centre: on a map drawn upside down this would be another place
    page.drag(start, end)
    assert at(30, 12) == pytest.approx(end, abs=6)
    page.run('tbPlanner.fit()')
    page.drag(start, (start[0] + 2, start[1]), steps=1)  # a hand is never quite still
    assert inputs.get(timeout=10)['goal'] == pytest.approx([3.0, 1.2], abs=0.05)
    page.run('document.querySelector("[data-tool=move]").click()')
    page.drag(start, start, steps=1)
    page.run('document.querySelector("[data-tool=draw]").click()')
    page.drag(at(10, 10), at(20, 10), steps=4)
    drawn = [inputs.get(timeout=10)['draw']]
    while drawn[-1] != pytest.approx([2.0, 1.0], abs=0.05):
        drawn.append(inputs.get(timeout=10)['draw'])
    assert drawn[0] == pytest.approx([1.0, 1.0], abs=0.05)
    assert np.hypot(*np.diff(drawn, axis=0).T).max() < 0.2
    page.run('document.querySelector("[data-tool=erase]").click()')
    page.drag(at(10, 10), at(10, 10), steps=1)
    assert 'erase' in inputs.get(timeout=10)
    assert page.complaints() == []
    page.close()
