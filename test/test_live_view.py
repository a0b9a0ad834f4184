"""The page while a run goes on: it follows the record as it grows, is served to this machine alone, and is heard."""

import base64
import http.client
import queue
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress

import numpy as np
import pytest
from helpers.browser import Browser, chromium_or_skip
from helpers.trip import Trip, free_room

from tb_planner.recording import About, Recorder, read_record
from tb_planner.view.server import MOST_CALLERS, MOST_PAGES, LiveServer, Tail, _Handler

FOLLOWS = 'window.tbPlanner && tbPlanner.record.ticks === {0} && tbPlanner.replay.tick === {0} - 1'


class Drive:
    """A robot in an empty room whose recorder writes a chunk whenever it is told to."""

    def __init__(self, path, goal=(5.5, 3.5)):
        self.trip = Trip(free_room(60, 40), (0.55, 0.55), goal)
        self.recorder = Recorder(path, About('A drive', period_s=0.05), chunk_s=1000)
        self.ticks = 0

    def go(self, ticks):
        for _ in range(ticks):
            update = self.trip._update
            self.trip.tick(search=self.recorder.searching(None))
            self.recorder.see(self.trip.navigator, self.trip.last, update, self.trip.told[-1].pose, 0.05 * self.ticks)
            self.recorder.end_tick(0.001)
            self.trip.drive()
            self.ticks += 1
        self.recorder._writer._write_frames()


@pytest.fixture
def drive(tmp_path):
    drive = Drive(tmp_path / 'run.tbrun')
    yield drive
    drive.recorder.close()


@pytest.fixture
def heard():
    return queue.Queue()


@pytest.fixture
def server(drive, tmp_path, heard):
    with closing(LiveServer(tmp_path / 'run.tbrun', title='A drive', hear=heard.put)) as server:
        yield server


@pytest.fixture(scope='module')
def browser():
    with closing(Browser(chromium_or_skip())) as browser:
        yield browser


def ask(server, path='/', **headers):
    """The status of a request, and what came."""
    connection = http.client.HTTPConnection('127.0.0.1', server.port, timeout=10)
    with closing(connection):
        connection.request('GET', path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read() if answer.status == 200 else b''


def knock(server, **headers):
    """The status of a request for the stream."""
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
    connection.sendall('\r\n'.join(['GET /stream HTTP/1.1', *lines, '', '']).encode())
    answer = b''
    while b'\r\n\r\n' not in answer:
        answer += take(connection, 1)
    return int(answer.split()[1]), answer, connection


def own_origin(server):
    return {'Origin': f'http://127.0.0.1:{server.port}'}


# -------------------------------------------------------------------------------------------------- without a browser
def test_it_serves_the_page_to_this_machine(server):
    assert server._server.server_address[0] == '127.0.0.1'
    status, page = ask(server)
    assert status == 200
    assert b'data-stream="stream"' in page
    assert ask(server, '/?x=1') == (200, page)
    assert ask(server, '/etc/passwd')[0] == 404
    assert ask(server, '/etc/passwd?/')[0] == 404
    assert ask(server, '/stream')[0] == 404


def test_pages_of_other_sites_and_strange_names_are_turned_away(server):
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


def test_it_may_be_called_by_an_address_and_by_the_computers_own_name_with_any_port(server):
    """The port is left out where it is 80, and another one where it is forwarded."""
    own = socket.gethostname()
    for name in ('127.0.0.1', 'localhost', f'localhost:{server.port + 1}', '[::1]:9000', own.upper(), f'{own}:8642'):
        status, page = ask(server, Host=name)
        assert status == 200, name
        assert f"connect-src 'self' ws://{name};".encode() in page
        status, _, connection = knock(server, Host=name, Origin=f'http://{name}')
        connection.close()
        assert status == 101, name


@pytest.mark.parametrize('host', ['0.0.0.0', '::'])
def test_also_where_it_listens_on_all_addresses_others_cannot_make_it_theirs(drive, tmp_path, host):
    """A name of theirs that leads to this computer: their page would be of the same origin."""
    try:
        server = LiveServer(tmp_path / 'run.tbrun', host=host)
    except OSError as error:
        pytest.skip(f'{host}: {error}')
    with closing(server):
        assert re.fullmatch(rf'http://(127\.0\.0\.1|\[::1\]):{server.port}/', server.url)
        for name in (
            'evil.example',
            f'127.0.0.1.evil.example:{server.port}',
            'a"b',
            '127.0.0.1:80"',
            '',
            '[::1',
            '::1',
        ):
            assert ask(server, Host=name)[0] == 403, name
            status, _, connection = knock(server, Host=name, Origin=f'http://{name}')
            connection.close()
            assert status == 403, name
        assert ask(server, Host=f'192.168.1.5:{server.port}')[0] == 200


def test_it_listens_on_ipv6_where_it_is_told_to(drive, tmp_path):
    try:
        server = LiveServer(tmp_path / 'run.tbrun', host='::1')
    except OSError as error:
        pytest.skip(f'no IPv6 here: {error}')
    with closing(server), closing(http.client.HTTPConnection('::1', server.port, timeout=10)) as connection:
        assert server.url == f'http://[::1]:{server.port}/'
        connection.request('GET', '/')
        assert connection.getresponse().status == 200


@pytest.mark.parametrize(('host', 'port'), [('127.0.0.1', 99999), ('127.0.0.1', -1), ('192.0.2.1', 0), ('no.such.', 0)])
def test_where_it_cannot_listen_it_says_so(tmp_path, host, port):
    """192.0.2.1 is nobody's (RFC 5737)."""
    command = [sys.executable, '-m', 'tb_planner', 'view', str(tmp_path / 'run.tbrun'), '--live']
    done = subprocess.run(
        [*command, '--host', host, f'--port={port}'], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert f'no server at {host}, port {port}: ' in done.stderr


def test_the_handshake_is_that_of_the_standard(server):
    """The example of RFC 6455, section 1.3."""
    status, answer, connection = knock(server, **own_origin(server))
    connection.close()
    assert status == 101
    assert b's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' in answer


def test_chunks_of_the_file_are_the_messages(server, drive, tmp_path):
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


def test_pages_are_heard_and_nonsense_is_not(server, heard):
    _, _, connection = knock(server, **own_origin(server))
    with closing(connection):
        receive(connection)
        for data in (b'no JSON', b'[1]', b'[' * 50_000, b'\xff\xfe', b'{"goal": [1.0, 2.0]}'):
            send(connection, 1, data)
        send(connection, 9, b'ping')
        while (frame := receive(connection))[0] == 2:
            pass
        assert frame == (10, b'ping')
        assert heard.get(timeout=10) == {'goal': [1.0, 2.0]}
        assert heard.empty()
        send(connection, 1, b'{"draw": "' + b'x' * 300 + b'"}')
        assert heard.get(timeout=10) == {'draw': 'x' * 300}
        connection.sendall(b'\x81\xff' + b'\0' * 8)  # a message of any length
        assert is_hung_up(connection)


def is_hung_up(connection):
    """Once all that was sent has been read."""
    try:
        while connection.recv(1000):
            pass
    except ConnectionError:
        pass
    return True


def test_nobody_is_heard_while_that_is_not_allowed(drive, tmp_path, heard):
    allowed = []
    record = tmp_path / 'run.tbrun'
    with closing(LiveServer(record, hear=heard.put, may_hear=lambda: bool(allowed))) as server:
        _, _, connection = knock(server, **own_origin(server))
        with closing(connection):
            assert receive(connection) == (1, b'{"input": false}')
            send(connection, 1, b'{"goal": [1, 2]}')
            send(connection, 9, b'')
            while receive(connection)[0] != 10:
                pass
            assert heard.empty()
            allowed.append(True)
            assert receive(connection) == (1, b'{"input": true}')
            send(connection, 1, b'{"goal": [3, 4]}')
            assert heard.get(timeout=10) == {'goal': [3, 4]}


def test_a_page_that_goes_in_the_middle_is_no_error(server, capfd):
    connection = socket.create_connection(('127.0.0.1', server.port), 10)
    connection.sendall(b'GET / HT')
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))  # closing resets it
    connection.close()
    assert ask(server)[0] == 200
    server.close()
    assert capfd.readouterr().err == ''


def test_there_are_so_many_places_and_they_come_free(server):
    connections = [knock(server, **own_origin(server))[2] for _ in range(MOST_PAGES)]
    assert {receive(connection)[0] for connection in connections} == {1}
    kind, data = first_word(server)
    assert (kind, data[:2]) == (8, struct.pack('>H', 1013))  # try again later, as IANA has it
    assert f'{MOST_PAGES} pages' in data[2:].decode()
    connections[0].close()
    deadline = time.monotonic() + 60
    while kind != 1:
        assert time.monotonic() < deadline
        time.sleep(0.02)
        kind, _ = first_word(server)
    for connection in connections:
        connection.close()


def first_word(server):
    """Kind and data of what a page hears first."""
    status, _, connection = knock(server, **own_origin(server))
    assert status == 101
    with closing(connection):
        return receive(connection)


def test_a_page_for_which_there_is_no_place_says_so_and_comes_in_later(browser, server, drive):
    drive.go(3)
    connections = [knock(server, **own_origin(server))[2] for _ in range(MOST_PAGES)]
    page = browser.open(server.url, offline=False)
    page.wait_for(f'document.getElementById("message")?.textContent.includes("{MOST_PAGES} pages")')
    assert page.run('document.getElementById("live").textContent') == 'Not connected'
    for connection in connections:
        connection.close()
    page.wait_for(FOLLOWS.format(3))
    assert page.run('document.getElementById("message").textContent') == ''
    assert page.run('document.getElementById("live").textContent') == 'Live'
    assert page.complaints() == []
    page.close()


@pytest.mark.parametrize('word', [b'', b'GET / HTTP/1.1\r\nHost: loc'], ids=['nothing', 'half a word'])
def test_callers_who_are_slow_take_so_many_threads_and_no_more_and_make_way_for_others(server, monkeypatch, word):
    monkeypatch.setattr(_Handler, 'timeout', 600.0)  # none of them has to go by itself
    _, _, page = knock(server, **own_origin(server))
    before = threading.active_count()
    slow = [socket.create_connection(('127.0.0.1', server.port), 10) for _ in range(MOST_CALLERS + 20)]
    for connection in slow:
        with suppress(ConnectionError):  # it has made way
            connection.sendall(word)
    for connection in slow[:20]:
        assert is_hung_up(connection)
    deadline = time.monotonic() + 60  # threads of those who made way may be about to end
    while threading.active_count() >= before + MOST_CALLERS:
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


def test_a_record_that_is_begun_anew_is_noticed_also_if_it_is_longer_by_then(drive, tmp_path):
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


def test_closing_waits_for_no_page_for_long(drive, tmp_path):
    """One that takes nothing of a long record, one that has said half a word, and one that has gone."""
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


def test_a_live_page_can_be_paused_and_played_and_goes_live_again_from_where_it_plays(browser, server, drive):
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


def test_only_the_first_button_of_a_mouse_gives_goals(browser, server, drive, heard):
    drive.go(3)
    page = browser.open(server.url, offline=False)
    page.wait_for(f'{FOLLOWS.format(3)} && tbPlanner.scene.scale > 0 && !document.getElementById("tools").hidden')
    left, top, _, _ = page.box_of('map')
    for button, cell in (('right', (10, 10)), ('left', (30, 12))):
        px, py = page.run(f'tbPlanner.scene.pointOf{cell}')
        for kind in ('mousePressed', 'mouseReleased'):
            page.mouse(kind, left + px, top + py, button=button, clickCount=1)
    assert heard.get(timeout=10)['goal'] == pytest.approx([3.0, 1.2], abs=0.1)
    assert heard.empty()
    page.close()


def test_a_page_that_comes_late_sees_all(browser, server, drive):
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


def test_what_comes_all_at_once_is_not_looked_at_chunk_by_chunk(browser, server, drive, tmp_path):
    """A look goes with the length of the record."""
    drive.go(5)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(5))
    *_, chunk = Tail(tmp_path / 'run.tbrun').chunks()
    assert page.run(TAKE_IN.format(base64.b64encode(chunk[4:]).decode())) <= 400 / 16
    page.wait_for(FOLLOWS.format(401 * 5))
    assert page.complaints() == []
    page.close()


def test_a_record_that_is_begun_anew_is_seen_anew(browser, server, drive, tmp_path):
    drive.go(20)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(20))
    drive.recorder.close()
    again = Drive(tmp_path / 'run.tbrun')
    again.go(3)
    page.wait_for(FOLLOWS.format(3))
    again.recorder.close()
    page.close()


def test_when_the_server_has_gone_the_page_stays_where_somebody_looks(browser, drive, tmp_path):
    with closing(LiveServer(tmp_path / 'run.tbrun', title='A drive')) as server:
        drive.go(20)
        page = browser.open(server.url, offline=False)
        page.wait_for(FOLLOWS.format(20))
        page.press('Home')
        page.wait_for('tbPlanner.isSettled && tbPlanner.target === 0')
        page.run('window.firstSocket = tbPlanner.socket')
    page.wait_for('tbPlanner.socket !== firstSocket')
    assert page.run('tbPlanner.target') == 0
    page.wait_for('document.getElementById("live").textContent === "Not connected"')
    page.close()


BOXES = """
    ['#map', '#tools', '.zoom', '#status'].map((name) => {
        const { x, y, right, bottom } = document.querySelector(name).getBoundingClientRect();
        return [x, y, right, bottom];
    })
"""


def test_on_a_phone_nothing_covers_the_map_or_something_else(browser, server, drive):
    drive.go(4)
    page = browser.open(server.url, offline=False, width=360, height=740, scale=2)
    page.wait_for(FOLLOWS.format(4) + ' && !document.getElementById("tools").hidden')
    map_, tools, zoom, status = page.run(BOXES)
    assert not are_over_each_other(map_, tools)
    assert not are_over_each_other(map_, zoom)
    assert not are_over_each_other(tools, zoom)
    assert are_over_each_other(map_, status)
    assert page.box_of('live')[1] < sum(page.box_of('clock')[1::2])  # in one row
    assert page.run('document.documentElement.scrollWidth') <= 360
    page.close()


def are_over_each_other(a, b):
    """Boxes: left, top, right, bottom."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_a_click_gives_a_goal_and_drags_move_the_map_or_draw(browser, server, drive, heard):
    drive.go(4)
    page = browser.open(server.url, offline=False)
    page.wait_for(FOLLOWS.format(4) + ' && !document.getElementById("tools").hidden')
    left, top, _, _ = page.box_of('map')

    def at(x, y):
        px, py = page.run(f'tbPlanner.scene.pointOf({x}, {y})')
        return left + px, top + py

    start, end = at(30, 12), at(34, 12)  # not in the middle: of a map that is upside down, another place
    page.drag(start, end)
    assert at(30, 12) == pytest.approx(end, abs=6)
    page.run('tbPlanner.fit()')
    page.drag(start, (start[0] + 2, start[1]), steps=1)  # no hand is quite still
    assert heard.get(timeout=10)['goal'] == pytest.approx([3.0, 1.2], abs=0.05)
    page.run('document.querySelector("[data-tool=move]").click()')
    page.drag(start, start, steps=1)
    page.run('document.querySelector("[data-tool=draw]").click()')
    page.drag(at(10, 10), at(20, 10), steps=4)
    drawn = [heard.get(timeout=10)['draw']]
    while drawn[-1] != pytest.approx([2.0, 1.0], abs=0.05):
        drawn.append(heard.get(timeout=10)['draw'])
    assert drawn[0] == pytest.approx([1.0, 1.0], abs=0.05)
    assert np.hypot(*np.diff(drawn, axis=0).T).max() < 0.2
    page.run('document.querySelector("[data-tool=erase]").click()')
    page.drag(at(10, 10), at(10, 10), steps=1)
    assert 'erase' in heard.get(timeout=10)
    assert page.complaints() == []
    page.close()
