"""The demo as people run it: for real, and ended in the middle."""

import errno
import fcntl
import itertools
import math
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import urllib.request
import uuid
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from helpers.processes import wait_for
from PIL import Image
from websockets.sync.client import connect

from tb_planner.recording import read_record
from tb_planner.recording.format import MAGIC
from tb_planner.ros.demo import main as demo_main
from tb_planner.ros.demo import remove_older, write_picture
from tb_planner.view.page import SIGNATURE

DEMO = [sys.executable, '-m', 'tb_planner.ros.demo']
COMMAND = [sys.executable, '-m', 'tb_planner', 'demo']
LIMIT_S = 120
DRIVING = r'm to go'

# its session's terminal is the one that it reads from, as if typed there
TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
ON_TERMINAL = [sys.executable, '-c', TAKE_TERMINAL]


class Demo:
    """The demo as a process; all processes that it starts have a mark in their environment."""

    def __init__(self, command, stdout, **settings):
        self._mark = f'TB_PLANNER_TEST={uuid.uuid4()}'
        name, _, value = self._mark.partition('=')
        environment = {**os.environ, name: value, 'PYTHONUNBUFFERED': '1'}
        for size in ('COLUMNS', 'LINES'):  # of the terminal of the tests; readline sets them
            environment.pop(size, None)
        self.process = subprocess.Popen(command, stdout=stdout, stderr=subprocess.STDOUT, env=environment, **settings)

    def processes_left(self):
        """Numbers and command lines of the processes of this run that are there."""
        left = {}
        for folder in Path('/proc').glob('[0-9]*'):
            try:
                if self._mark.encode() in (folder / 'environ').read_bytes():
                    left[int(folder.name)] = (folder / 'cmdline').read_bytes().replace(b'\0', b' ').decode()
            except OSError:
                continue
        return left

    def end(self):
        for number in self.processes_left():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.process.wait(LIMIT_S)
        if self.process.stdout:
            self.process.stdout.close()


@pytest.fixture
def start_demo():
    """Starts demos; none is left when the test has ended, however it did."""
    started = []

    def start(*options, stdout=subprocess.PIPE, on_terminal=False, command=DEMO, **settings):
        command = [*(ON_TERMINAL if on_terminal else []), *command, *options]
        started.append(Demo(command, stdout, **settings))
        return started[-1]

    yield start
    for demo in started:
        demo.end()


@pytest.fixture
def picture(tmp_path):
    return tmp_path / 'run.png'


def test_the_robot_arrives_with_no_collision_and_there_is_a_picture_of_it(start_demo, picture):
    demo = start_demo('--png', str(picture), text=True)
    output, _ = demo.process.communicate(timeout=LIMIT_S)
    assert demo.process.returncode == 0, output
    assert re.search(DRIVING, output)
    assert re.search(r'Arrived at .* without a collision', output)
    assert re.search(r'driven +\d+\.\d m, \d+ % longer than the initial shortest path \(\d+\.\d m\)', output)
    assert re.search(r'time +\d+\.\d s at 3 times real time', output)
    assert re.search(r'ticks +\d+, p50 \d+\.\d+, p99 \d+\.\d+, max \d+\.\d+ ms; \d+ overruns', output)
    assert re.search(r'restarts +[1-9]\d* \(.*\d blocked', output)
    assert '>office, changing world, 3 times real time</title>' in picture.with_suffix('.html').read_text(
        encoding='utf-8'
    )
    record = read_record(picture.with_suffix('.tbrun'))
    printed = int(re.search(r'^  restarts +(\d+)', output, re.M).group(1))
    assert (
        printed <= sum(len(reasons) for _, reasons in record.restarts) <= printed + 2
    )  # diagnostics come once a second
    seconds = record.columns['time_us'].sum() / 1e6
    assert picture.with_suffix('.tbrun').stat().st_size / seconds < 5e6 / 60
    assert re.search(r'collisions +0', output)
    assert Image.open(picture).width > 500
    assert demo.processes_left() == {}


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_demo_that_is_ended_by_a_signal_leaves_no_process_and_files_of_this_run_only(
    start_demo, picture, tmp_path, number
):
    for suffix, begins in (('.png', b''), ('.html', SIGNATURE), ('.tbrun', MAGIC)):
        picture.with_suffix(suffix).write_bytes(begins + b'of an older run')
    with (tmp_path / 'output').open('wb') as file:
        demo = start_demo('--png', str(picture), stdout=file)
    output = tmp_path / 'output'
    assert wait_for(lambda: re.search(DRIVING, output.read_text()), LIMIT_S)
    assert len(demo.processes_left()) == 3
    demo.process.send_signal(number)
    assert demo.process.wait(LIMIT_S) == 130, output.read_text()
    assert demo.processes_left() == {}
    check_files_of_interrupted_run(picture, output.read_text())


def check_files_of_interrupted_run(picture, output):
    assert re.search(r'Interrupted \d+\.\d m before the goal \(25, 6\) m', output), output
    assert 'longer than' not in output
    assert f'picture     {picture}' in output
    assert f'replay      {picture.with_suffix(".html")}' in output
    assert 'Traceback' not in output
    assert Image.open(picture).width > 500
    assert read_record(picture.with_suffix('.tbrun')).ticks > 0
    assert b'of an older run' not in picture.with_suffix('.html').read_bytes()


COLUMNS = 60


def on_terminal():
    """A narrow terminal, its other side, and the settings of a process on it."""
    terminal, its_side = pty.openpty()
    fcntl.ioctl(its_side, termios.TIOCSWINSZ, struct.pack('4H', 24, COLUMNS, 0, 0))
    return terminal, its_side, {'stdin': its_side, 'stdout': its_side, 'start_new_session': True}


def test_on_a_terminal_one_line_is_written_over_and_control_c_twice_ends_it_with_picture_and_replay(
    start_demo, picture
):
    terminal, its_side, settings = on_terminal()
    demo = start_demo('--png', str(picture), on_terminal=True, **settings)
    os.close(its_side)
    output = read_until(terminal, r'(?s)navigating.*(\r[^\r]*to go.*){3}')
    assert '\n' not in output.partition('to go')[2]
    assert COLUMNS // 2 < max(map(len, output.rpartition('\n')[2].split('\r'))) <= COLUMNS  # else it would wrap
    os.write(terminal, b'\x03\x03')
    output = re.sub(r'\r\n', '\n', read_until(terminal, r'replay +\S+\r'))
    assert demo.process.wait(LIMIT_S) == 130
    assert demo.processes_left() == {}
    check_files_of_interrupted_run(picture, output)
    os.close(terminal)


@pytest.mark.parametrize('after_s', [0.0, 0.1, 0.5])
def test_control_c_while_python_imports_is_reported_in_one_line(start_demo, picture, after_s):
    demo = start_demo('--png', str(picture), text=True, command=COMMAND)
    maps = Path(f'/proc/{demo.process.pid}/maps')
    assert wait_for(lambda: 'numpy' in maps.read_text(), LIMIT_S)  # our imports have begun
    time.sleep(after_s)
    demo.process.send_signal(signal.SIGINT)
    output, _ = demo.process.communicate(timeout=LIMIT_S)
    assert demo.process.returncode in (130, -signal.SIGINT)
    assert 'Traceback' not in output
    assert 'nterrupted' in output
    assert demo.processes_left() == {}


def test_a_robot_that_does_not_arrive_in_time_is_no_success(start_demo, picture):
    demo = start_demo('--limit-s', '1', '--png', str(picture), text=True)
    output, _ = demo.process.communicate(timeout=LIMIT_S)
    assert demo.process.returncode == 1, output
    assert 'Not arrived' in output
    assert picture.exists()
    assert demo.processes_left() == {}


WITHOUT_CHECKS = """
import sys
from tb_planner.ros import demo
demo.check_start = demo.check_path = lambda *_: None
sys.exit(demo.main(sys.argv[1:]))
"""


def test_a_node_that_cannot_start_is_named_with_its_output(start_demo, picture):
    command = [sys.executable, '-c', WITHOUT_CHECKS]
    demo = start_demo('--start', '999', '0', '--png', str(picture), text=True, command=command)
    output, _ = demo.process.communicate(timeout=LIMIT_S)
    assert demo.process.returncode == 2, output
    assert re.search(r'simulator_node has ended, exit code 1', output)
    assert '999' in output
    assert demo.processes_left() == {}


@pytest.mark.parametrize(
    'option', [('--map', 'nowhere.yaml'), ('--png', 'nowhere/run.png')], ids=lambda option: option[0]
)
def test_a_place_that_is_not_there_is_named(option):
    done = subprocess.run([*DEMO, *option], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2
    assert option[1] in done.stderr


@pytest.mark.parametrize('suffix', ['.html', '.tbrun'])
def test_a_file_beside_the_picture_that_no_demo_has_written_is_left_as_it_is(tmp_path, suffix):
    report = tmp_path / f'report{suffix}'
    report.write_text('Minutes of a meeting')
    command = [*DEMO, '--png', str(tmp_path / 'report.png')]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2
    assert f'--png {report}: the file exists and is not the ' in done.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ['Minutes of a meeting']


@pytest.fixture
def journeys(monkeypatch):
    """Map, start and goal of every demo that would have begun."""
    begun = []
    monkeypatch.setattr('tb_planner.ros.demo.run', lambda _, journey: begun.append(journey) or 0)
    return begun


@pytest.mark.parametrize('end', ['start', 'goal'])
@pytest.mark.parametrize('place', [('99', '0'), ('nan', '0'), ('0', 'inf')])
@pytest.mark.parametrize('map_name', ['office', 'flat.yaml'])
def test_an_end_outside_the_map_is_refused_at_once(flat, journeys, capsys, end, place, map_name):
    assert demo_main(['--map', map_name, f'--{end}', *place]) == 2
    assert capsys.readouterr().err.startswith(f'demo: the {end} ({place[0]}, {place[1]}) m is outside the map, from (')
    assert not journeys


@pytest.mark.parametrize(('end', 'distance_m'), [('start', 0.1), ('goal', 0.18)])
def test_an_end_in_a_wall_is_refused_with_a_free_place_near_it(journeys, capsys, end, distance_m):
    assert demo_main([f'--{end}', '17.6', '0.3']) == 2
    error = capsys.readouterr().err
    assert error.startswith(f'demo: the {end} (17.6, 0.3) m is in an obstacle, or within {distance_m} m of one; the ')
    place = re.search(r'nearest free place is \((\S+), (\S+)\) m', error).groups()
    assert math.dist(map(float, place), (17.6, 0.3)) < 1.0
    assert demo_main([f'--{end}', *place]) == 0


@pytest.fixture
def flat(tmp_path, monkeypatch):
    """The map of a flat of 6 m x 4 m with a store of 2 m x 4 m that has no door, on the right."""
    image = np.full((40, 60), 255, np.uint8)
    image[:, 40] = 0
    Image.fromarray(image).save(tmp_path / 'flat.png')
    thresholds = 'negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n'
    (tmp_path / 'flat.yaml').write_text(f'image: flat.png\nresolution: 0.1\norigin: [0, 0, 0]\n{thresholds}')
    monkeypatch.chdir(tmp_path)


def test_a_goal_without_a_path_is_refused_at_once(flat, journeys, capsys):
    assert demo_main(['--map', 'flat.yaml', '--start', '1', '2', '--goal', '5', '2']) == 2
    error = capsys.readouterr().err
    assert error == 'demo: no path leads from (1, 2) to (5, 2) m: paths keep 0.18 m away from obstacles\n'
    assert not journeys


def test_without_a_start_the_robot_starts_where_a_path_leads_to_the_goal(flat, journeys):
    for goal, seed in itertools.product(('3.5', '5.5'), range(1, 40, 8)):
        assert demo_main(['--map', 'flat.yaml', '--goal', goal, '2', '--seed', f'{seed}']) == 0
        assert (journeys[-1].start[0] < 4.0) == (float(goal) < 4.0)
    assert len({journey.start for journey in journeys}) > 5


def test_without_a_start_the_robot_starts_far_from_a_goal_beside_a_wall(flat, journeys):
    for seed in range(10):
        assert demo_main(['--map', 'flat.yaml', '--goal', '3.7', '2', '--seed', f'{seed}']) == 0
    assert min(math.dist(journey.start, journey.goal) for journey in journeys) > 2.0


def test_a_bad_argument_is_refused_in_one_line(capsys):
    with pytest.raises(SystemExit, match='2'):
        demo_main(['--goal', '5'])
    assert capsys.readouterr().err == 'tb_planner demo: argument --goal: expected 2 arguments (see --help)\n'


@pytest.mark.parametrize(
    ('options', 'reason'),
    [
        ('--algorithm tba_star --weight 2', '--weight 2 is for tb_wa_star; tba_star takes no weight'),
        ('--weight 0.5', 'weight is 0.5; it must be between 1 and '),
        ('--expansions-per-tick -1', 'expansions_per_tick is -1; it must be between 0 and '),
        ('--seed -1', 'seed is -1; it must be between 0 and '),
        ('--real-time-factor 0', 'real_time_factor is 0.0; it must be between '),
        ('--limit-s 0', '--limit-s is 0; it must be above 0'),
    ],
)
def test_a_bad_value_is_refused_before_any_process_starts(options, reason, capsys, monkeypatch):
    monkeypatch.setattr('tb_planner.ros.demo.run', lambda *_: pytest.fail('the demo has begun'))
    assert demo_main(options.split()) == 2
    assert capsys.readouterr().err.startswith(f'demo: {reason}')


def test_a_missing_map_is_refused_with_a_list_of_the_maps():
    done = subprocess.run([*DEMO, '--map', 'kitchen'], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2
    assert done.stderr == "demo: there is no map 'kitchen'; use office, warehouse, or the path of a .yaml file\n"


def test_without_ros_the_error_names_what_to_install():
    hide_and_run = 'import sys; sys.modules["rclpy"] = None; from tb_planner.ros.demo import main; sys.exit(main([]))'
    done = subprocess.run([sys.executable, '-c', hide_and_run], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2
    assert '[ros,plot]' in done.stderr


def test_a_picture_that_cannot_be_written_does_not_keep_the_demo_from_its_end(tmp_path):
    class FullDisk:
        def save_picture(self, path, **_):
            raise OSError(errno.ENOSPC, 'No space left on device', str(path))

    reason = write_picture(FullDisk(), tmp_path / 'run.png', 'office', [])
    assert reason == f'none: {tmp_path / "run.png"}: No space left on device'


def test_what_is_removed_is_a_file_also_behind_a_link_and_nothing_else(tmp_path):
    """A device such as /dev/null is no file of an older run."""
    older, link, pipe = (tmp_path / name for name in ('older.png', 'link.png', 'pipe.png'))
    older.write_text('of an older run')
    link.symlink_to(older)
    os.mkfifo(pipe)
    remove_older(link, tmp_path / 'none.png', pipe)
    assert not older.exists()
    assert link.is_symlink()
    assert pipe.exists()


def read_until(terminal, pattern):
    output, deadline = '', time.monotonic() + LIMIT_S
    while not re.search(pattern, output):
        ready, _, _ = select.select([terminal], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f'no more output after {output!r}'
        output += os.read(terminal, 4096).decode(errors='replace')
    return output


URL = r'Waiting for a viewer at (http://127\.0\.0\.1:(\d+)/)'


def test_with_a_view_the_robot_waits_for_a_page_and_the_demo_runs_until_ctrl_c(start_demo, picture):
    demo = start_demo('--view', '--png', str(picture))
    output = read_until(demo.process.stdout.fileno(), 'The robot starts when the page is open, or in 60 s')
    url, port = re.search(URL, output).groups()
    assert 8642 <= int(port) < 8662
    assert 'Press Enter' not in output  # there is no terminal
    assert len(demo.processes_left()) == 2  # the demo and its view
    with urllib.request.urlopen(url, timeout=20) as response:
        served = response.read()
    assert b'data-stream="stream"' in served
    assert b'>office, changing world, 3 times real time</title>' in served
    with connect(f'ws://127.0.0.1:{port}/stream', origin=url.rstrip('/'), max_size=None) as page:
        output += read_until(demo.process.stdout.fileno(), 'Ctrl-C ends the demo')
        assert f'Set more goals and draw obstacles at {url}' in output
        demo.process.send_signal(signal.SIGINT)
        data = MAGIC + b''.join(message for message in page if isinstance(message, bytes))
        assert page.close_reason == 'The run has ended.'
    output += demo.process.communicate(timeout=LIMIT_S)[0].decode()
    assert demo.process.returncode == 0, output
    assert 'The page is open.' in output
    assert re.search(r'Arrived at .* without a collision', output)
    assert data == picture.with_suffix('.tbrun').read_bytes()
    assert picture.with_suffix('.html').exists()
    assert demo.processes_left() == {}


def test_without_a_viewer_the_robot_starts_after_the_limit(start_demo, picture):
    demo = start_demo('--view', '--viewer-limit-s', '0', '--limit-s', '1', '--png', str(picture))
    output = read_until(demo.process.stdout.fileno(), 'Ctrl-C ends the demo')
    assert 'The robot starts; the page can be opened at any time.' in output
    assert 'Not arrived' in output
    demo.process.send_signal(signal.SIGINT)
    demo.process.communicate(timeout=LIMIT_S)
    assert demo.process.returncode == 1


@pytest.mark.parametrize('key', [b'\r', b'\x03'], ids=['Enter', 'Ctrl-C'])
def test_enter_starts_the_robot_without_a_viewer_and_ctrl_c_ends_the_wait(start_demo, picture, key):
    terminal, its_side, settings = on_terminal()
    demo = start_demo('--view', '--png', str(picture), on_terminal=True, **settings)
    os.close(its_side)
    read_until(terminal, 'Press Enter to start without one')
    os.write(terminal, key)
    if key == b'\r':
        read_until(terminal, DRIVING)
        os.write(terminal, b'\x03')
    output = read_until(terminal, r'replay +\S.*\r')
    assert demo.process.wait(LIMIT_S) == 130
    assert demo.processes_left() == {}
    assert picture.exists()
    if key == b'\x03':
        assert 'Interrupted before the robot started' in output
        assert 'replay      none: the run had not begun' in output
    os.close(terminal)
