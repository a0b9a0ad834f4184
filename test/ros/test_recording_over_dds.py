"""The planner node records its run: the file holds what the node published meanwhile."""

import csv
import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers.processes import wait_for
from helpers.scenes import World, place_of
from helpers.surroundings import RESOLUTION_M

from tb_planner import Grid, Static, TimeBoundedPlanner, move_to_goal
from tb_planner.recording import About, RecordedWalk, Replay, read_record
from tb_planner.recording.format import MAGIC, OBSTACLE
from tb_planner.ros.demo import main, write_replay
from tb_planner.ros.processes import Process
from tb_planner.view.page import SIGNATURE

ROOM = World("""
    ############
    #a....b...c#
    #....##....#
    #..........#
    ############
""")


def recorded_till_arrival(scene, path):
    """The file may be read while it is written."""

    def statuses():
        return [event['status'] for event in read_record(path).events if 'status' in event]

    scene.peer.wait_until(lambda: statuses()[-1:] == ['ARRIVED'], lambda: f'arrival in the record: {statuses()}')
    return read_record(path)


def test_a_run_is_recorded_as_it_was(make_scene, tmp_path):
    scene, path = make_scene(ROOM), tmp_path / 'run.tbrun'
    scene.start_planner(record=str(path))
    scene.start_simulator(obstacles=[ROOM.blocks('b', at_s=2.0)], world='changing', change_rate=0.0)
    scene.drive('c')
    restarts = sum(int(value) for key, value in scene.next_facts().items() if key.startswith('restarts_'))
    record = recorded_till_arrival(scene, path)
    assert record.head['algorithm'] == 'tb_wa_star, weight 1.5'
    assert sum(len(reasons) for _, reasons in record.restarts) == restarts
    statuses = [event['status'] for event in record.events if 'status' in event]
    assert statuses[-1] == 'ARRIVED'
    assert {message.data for message in scene.statuses} <= {*statuses, 'IDLE'}
    published = np.array([place_of(message) for message in scene.waypoints]) / RESOLUTION_M
    recorded = np.column_stack([record.columns[name] for name in ('waypoint_x', 'waypoint_y')])
    far = np.hypot(*(published[:, None] - recorded[None]).transpose(2, 0, 1)).min(axis=1)
    assert far.max() < 0.01
    goals = [event['goal'] for event in record.events if event.get('goal')]
    assert math.dist(goals[0], [part / RESOLUTION_M for part in ROOM.places['c']]) < 0.01


def test_the_map_and_its_changes_are_in_the_record(make_scene, tmp_path):
    scene, path = make_scene(ROOM), tmp_path / 'run.tbrun'
    scene.start_planner(record=str(path))
    scene.start_simulator(obstacles=[ROOM.blocks('b', at_s=2.0)], world='changing', change_rate=0.0)
    scene.drive('c')
    record = recorded_till_arrival(scene, path)
    obstacles = [replay.classes == OBSTACLE for replay in Replay(record) if replay.classes.size]
    assert np.array_equal(obstacles[0], ROOM.cells)
    x, y = (math.floor(part / RESOLUTION_M) for part in ROOM.places['b'])
    assert obstacles[-1][y, x]
    assert np.count_nonzero(obstacles[-1] ^ ROOM.cells) == 64


def test_a_run_that_cannot_be_recorded_goes_on(make_scene, tmp_path):
    scene = make_scene(ROOM)
    planner = scene.start_planner(record=str(tmp_path / 'no such folder' / 'run.tbrun'))
    scene.start_simulator()
    scene.drive('c')
    assert 'the run is not recorded' in planner.log_text


def test_a_crash_leaves_what_was_recorded(make_scene, tmp_path):
    scene, path = make_scene(ROOM), tmp_path / 'run.tbrun'
    planner = scene.start_planner(record=str(path))
    scene.start_simulator()
    scene.give_goal('c')
    scene.wait_until_it_drives()
    scene.peer.spin(1.0)
    scene.kill(planner)
    record = read_record(path)
    assert record.ticks > 20
    assert 'NAVIGATING' in [event['status'] for event in record.events if 'status' in event]
    older = tmp_path / 'run.1.tbrun'
    scene.start_planner(record=str(path))
    assert wait_for(lambda: older.exists() and path.exists() and path.stat().st_size > len(MAGIC))
    assert read_record(older).ticks == record.ticks
    assert read_record(path).head['run'] != record.head['run']


def test_a_demo_whose_record_cannot_be_kept_is_driven_and_shown_all_the_same(nodes, tmp_path):
    (tmp_path / 'run.tbrun').symlink_to(tmp_path / 'no such folder' / 'run.tbrun')
    (tmp_path / 'run.html').write_bytes(SIGNATURE + b'an older run')
    options = ['--world', 'static', '--goal', '5', '0', '--png', str(tmp_path / 'run.png')]
    demo = nodes.start_module('tb_planner.ros.demo', options)
    assert demo.wait(120), demo.log_text
    assert demo.exit_code == 0
    assert re.search(r'this run is not recorded to .+/run\.tbrun: No such file', demo.log_text)
    assert re.search(r'^  replay +\S+/run\.html$', demo.log_text, re.MULTILINE)
    assert '>office, static world, 3 times real time</title>' in (tmp_path / 'run.html').read_text(encoding='utf-8')


def logged(folder, text):
    """A process that has logged the text and ended."""
    output = folder / f'{len(text)}.log'
    process = Process('node', [sys.executable, '-c', f'print({text!r})'], os.environ, output)
    assert process.wait(30)
    return process


@pytest.mark.parametrize('recorded', [b'', MAGIC, None], ids=['nothing', 'a beginning', 'no file'])
def test_where_nothing_was_recorded_no_older_run_is_shown(tmp_path, recorded):
    record, replay = tmp_path / 'run.tbrun', tmp_path / 'run.html'
    replay.write_bytes(SIGNATURE + b'an older run')
    if recorded is not None:
        record.write_bytes(recorded)
    full = logged(tmp_path, '[ERROR] [tb_planner]: the run is not recorded: [Errno 28] No space left on device')
    reason = write_replay(record, replay, 'A run', [full])
    assert reason.startswith('none: the run is not recorded: [Errno 28] No space')
    assert not replay.exists()
    why = 'the run had not begun' if recorded == b'' else 'run.tbrun'
    assert why in write_replay(record, replay, 'A run', [logged(tmp_path, 'all is well')])
    assert write_replay(record, replay, 'A run', []) == 'none: the run had not begun'
    replay.write_text('Minutes of a meeting')
    write_replay(record, replay, 'A run', [])
    assert replay.read_text() == 'Minutes of a meeting'


def test_a_picture_does_not_take_the_name_of_the_record_or_the_replay(capsys, tmp_path):
    for name in ('run.tbrun', 'run.html'):
        assert main(['--png', str(tmp_path / name)]) == 2
        assert f'{name} is not a name for a picture' in capsys.readouterr().err


def test_a_picture_that_cannot_be_written_is_refused_before_the_drive(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr('tb_planner.ros.demo.run', lambda *_: pytest.fail('it was driven'))
    assert main(['--png', str(tmp_path)]) == 2
    assert capsys.readouterr().err == f'demo: --png {tmp_path}: it is a folder; choose another name\n'
    monkeypatch.setattr('os.access', lambda path, _: path != tmp_path)
    assert main(['--png', str(tmp_path / 'run.png')]) == 2
    assert capsys.readouterr().err == f'demo: --png {tmp_path / "run.png"}: cannot be written: Permission denied\n'


def test_a_page_of_a_part_of_the_run_is_reported_as_incomplete(tmp_path):
    record, replay = tmp_path / 'run.tbrun', tmp_path / 'run.html'
    grid = Grid(np.zeros((10, 10), bool))
    planner = TimeBoundedPlanner(grid, (1, 1), (8, 8))
    with RecordedWalk(record, planner, Static(grid), About()) as walk:
        move_to_goal(planner, walk)
    assert write_replay(record, replay, 'A run', [logged(tmp_path, 'all is well')]) == str(replay)
    text = 'the run is not recorded any more: [Errno 28] No space left'
    result = write_replay(record, replay, 'A run', [logged(tmp_path, text)])
    assert result == f'{replay}, incomplete: the run is not recorded any more: [Errno 28] No space left'


def test_the_benchmark_reports_the_cost_of_recording(tmp_path):
    command = [
        sys.executable,
        '-m',
        'benchmarks',
        'recording',
        '--quick',
        '--out',
        str(tmp_path / 'rows.csv'),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r'At most 5 % of the tick: (yes|no)', done.stdout)
    (row,) = csv.DictReader((tmp_path / 'rows.csv').open())
    assert int(row['ticks']) > 10
    assert float(row['share_percent']) > 0
