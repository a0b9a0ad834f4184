"""`python -m benchmarks node`: real planners, on real DDS, on small maps; counts, not times."""

import csv
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks.__main__ import command_line
from benchmarks.experiments.engine import run_measurement
from benchmarks.node import node as benchmark
from benchmarks.node.bench_world import distance_m, machine_time_s, process_time_s
from benchmarks.node.changing_rooms import Things, corners, rooms
from tb_planner.geometry import Box
from tb_planner.search.grid import Grid
from tb_planner.search.planner import Status, find_path

COMMAND = [sys.executable, '-m', 'benchmarks', 'node', '--quick']
LIMIT_S = 180.0


def read(path):
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


# ---------------------------------------------------------------------- the map
@pytest.mark.parametrize('size', [200, 450, 1000])
def test_every_corner_can_be_reached_from_every_other(size):
    grid = Grid(rooms(size) > 0)
    first, *others = corners(size)
    assert all(find_path(grid, first, other).status == Status.AT_GOAL for other in others)


@pytest.mark.parametrize('side', [1, 6])
def test_exactly_the_given_number_of_cells_changes_and_half_of_them_become_free(side):
    occupancy = rooms(400)
    things = Things(occupancy, side, seed=3)
    whole, cells = Box(0, 0, 400, 400), 20 * side**2
    things.change(whole, cells, [])
    for _ in range(20):
        before = occupancy.copy()
        things.change(whole, cells, [])
        assert np.count_nonzero(occupancy > before) == np.count_nonzero(occupancy < before) == cells / 2
    assert (occupancy >= rooms(400)).all()


def test_only_the_box_changes_and_nothing_appears_where_it_has_to_be_clear():
    occupancy = rooms(400)
    things = Things(occupancy, 4, seed=5)
    box, clear = Box(203, 7, 397, 193), Box(300, 100, 321, 121)
    for _ in range(50):
        things.change(box, 4000, [clear])
        assert not occupancy[clear.slices].any()
    touched = occupancy != rooms(400)
    assert np.count_nonzero(touched) == np.count_nonzero(touched[box.slices]) == 2000


def test_something_appears_where_it_is_asked_for_unless_that_is_a_wall_or_has_to_be_clear():
    occupancy = rooms(400)
    things = Things(occupancy, 4, seed=5)
    whole = Box(0, 0, 400, 400)
    put = things.change(whole, 64, [Box(50, 50, 60, 60)], [(101, 102), (0, 0), (55, 55)])
    assert put == [Box(100, 100, 104, 104)]
    assert (occupancy[100:104, 100:104] == 100).all()
    assert np.count_nonzero(occupancy != rooms(400)) == 32


# ---------------------------------------------------------------------- what is made of what was seen
def test_the_distance_is_that_to_the_line_between_two_places():
    assert distance_m((1.0, 1.0), (0.0, 0.0), (2.0, 0.0)) == pytest.approx(1.0)
    assert distance_m((3.0, 1.0), (0.0, 0.0), (2.0, 0.0)) == pytest.approx(math.sqrt(2))
    assert distance_m((3.0, 4.0), (0.0, 0.0), (0.0, 0.0)) == pytest.approx(5.0)


def test_counts_are_those_between_the_first_diagnostics_and_the_last():
    common = {'tick_p50_ms': '1', 'tick_p99_ms': '2', 'tick_max_ms': '3', 'restarts': '1', 'overruns': '0'}
    robot = {
        'diagnostics': [
            {**common, 'ticks': '100', 'missed_ticks': '7', 'map_to_waypoint_ms': ''},
            {**common, 'ticks': '110', 'missed_ticks': '8', 'map_to_waypoint_ms': '40', 'restarts': '4'},
        ],
        'received_s': [0.0, 0.1, 0.21, 0.5, 0.6],  # two are missing
        'reactions_ms': [],
        'without_reaction': 0,
        'planner_percent': 5.0,
        'planner_mb': 100.0,
    }
    row = benchmark.robot_figures(robot, 0.1)
    assert (row['ticks'], row['missed_ticks'], row['restarts']) == (10, 1, 3)
    assert (row['waypoints'], row['missed_waypoints']) == (5, 2)
    assert row['waypoint_jitter_max_ms'] == pytest.approx(190)
    assert row['map_to_waypoint_max_ms'] == 40
    assert math.isnan(row['reaction_p50_ms'])


def test_of_repeats_the_best_counts_and_of_robots_the_worst():
    def row(repeat, robot, missed, jitter_ms):
        return {'repeat': repeat, 'robot': robot, 'missed_ticks': missed, 'waypoint_jitter_max_ms': jitter_ms}

    rows = [row(0, 0, 0, 1.0), row(0, 1, 2, 1.0), row(1, 0, 1, 9.0), row(1, 1, 0, 5.0)]
    best = benchmark.best_run(rows)
    assert {one['repeat'] for one in best} == {1}
    assert benchmark.worst('missed_ticks', best) == 1
    assert benchmark.missed_in_each_repeat([{**one, 'scenario': 'fleet'} for one in rows]) == ['2, 1']


def test_processor_time_goes_on_while_a_process_works():
    before, (machine, _) = process_time_s(os.getpid()), machine_time_s()
    begin = time.process_time()
    while time.process_time() < begin + 0.1:
        pass
    assert process_time_s(os.getpid()) > before
    assert machine_time_s()[0] > machine


# ---------------------------------------------------------------------- as a process
def test_all_scenarios_are_measured(tmp_path):
    out = tmp_path / 'rows.csv'
    done = subprocess.run(
        [*COMMAND, '--seconds', '1', '--out', str(out)], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stderr
    rows = read(out)
    by_scenario = {name: [row for row in rows if row['scenario'] == name] for name in {row['scenario'] for row in rows}}
    assert [row['robot'] for row in by_scenario['fleet']] == ['0', '1', '2', '3', '4']
    for name in ('1000', '4000'):
        assert len(by_scenario[name]) == 1
    for row in rows:
        assert (int(row['waypoints']) > 0) == (row['scenario'] != 'idle')
        assert float(row['planner_mb']) > 50
        assert (
            int(row['ticks']) + int(row['missed_ticks']) >= float(row['tick_frequency']) * float(row['measured_s']) - 1
        )
        assert float(row['planner_percent']) > 0
        assert float(row['tick_p50_ms']) <= float(row['tick_p99_ms']) <= float(row['tick_max_ms'])
        if row['scenario'] != 'idle':
            assert float(row['waypoint_jitter_p50_ms']) <= float(row['waypoint_jitter_max_ms'])
    assert 'missed ticks' in done.stdout
    assert f'{len(rows)} rows in {out}' in done.stdout


def test_the_planner_avoids_obstacles_that_appear_on_its_route(tmp_path):
    out = tmp_path / 'rows.csv'
    command = [*COMMAND, '--only', '1000', '--seconds', '6', '--out', str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    (row,) = read(out)
    assert int(row['reactions']) > 0
    assert int(row['restarts']) > 0


def test_ctrl_c_keeps_the_rows_and_leaves_no_process(tmp_path):
    out = tmp_path / 'rows.csv'
    command = [*COMMAND, '--only', '1000', '--seconds', '1', '--repeats', '50', '--out', str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + LIMIT_S
    while not (out.exists() and read(out) and children_of(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    started = children_of(process.pid)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert 'interrupted' in printed
    assert f'{len(read(out))} rows in' in printed
    assert started
    assert not [pid for pid in started if os.path.exists(f'/proc/{pid}')]


def children_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children') as file:
        return [int(child) for child in file.read().split()]


def test_without_ros_the_error_names_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, 'find_spec', lambda name: None)
    out = tmp_path / 'rows.csv'
    options = command_line().parse_args(['node', '--out', str(out)])
    with pytest.raises(SystemExit, match='there is no ROS 2 here'):
        run_measurement(options.chosen, options)
    assert not out.exists()
