"""python -m benchmarks soak: a long drive that is measured and judged."""

import csv
import itertools
import math
import os
import signal
import subprocess
import sys
import time

import pytest

from benchmarks.__main__ import command_line
from benchmarks.experiments.engine import run_measurement
from benchmarks.node import soak

COMMAND = [sys.executable, '-m', 'benchmarks', 'soak']
LIMIT_S = 180.0


def read(path):
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def row(minutes, rss_mb, **others):
    counts = dict.fromkeys(('ticks', 'overruns', 'maps', 'goals_reached', 'goals_given_up', 'judged', 'excused'), 100)
    counts |= dict.fromkeys(('missed_ticks', 'collisions', 'violations', 'unjudged', *soak.RESTARTS), 0)
    times = dict.fromkeys((*soak.TIMES, 'latency_p50_ms', 'latency_max_ms', 'map_to_waypoint_max_ms'), math.nan)
    shares = [f'{name}_percent' for name in ('planner', 'simulator', 'monitor', 'others', 'stolen')]
    memory = {'simulator_rss_mb': 100.0, 'threads': 20, 'descriptors': 19, 'excused_max_ms': 0.0}
    known = {**counts, **times, **dict.fromkeys(shares, 10.0), **memory}
    return {'minutes': minutes, 'rss_mb': rss_mb, **known, **others}


# ---------------------------------------------------------------------- what is made of the rows
def test_memory_counts_after_the_first_five_minutes_or_half_of_a_shorter_run():
    rows = [row(minute, 50.0 + minute) for minute in range(61)]
    assert [one['minutes'] for one in soak.after_warm_up(rows)] == list(range(5, 61))
    assert [one['minutes'] for one in soak.after_warm_up(rows[:5])] == [2, 3, 4]


def test_growth_is_that_of_a_line_through_the_samples_and_the_span_between_most_and_least():
    rows = [row(minute, 100.0 + 0.1 * minute + (3.0 if minute == 30 else 0.0)) for minute in range(61)]
    growth = soak.memory_growth(rows)
    assert growth['fit_mb'] == pytest.approx(6.0, abs=0.01)
    assert growth['span_mb'] == pytest.approx(6.0)


@pytest.mark.parametrize('name', ['violations', 'collisions', 'missed_ticks'])
def test_the_summary_says_what_did_not_hold(name):
    rows = [row(minute, 100.0, restarts_blocked=minute) for minute in range(11)]
    assert 'NO' not in soak.summary(rows)
    assert 'restarts: 10 blocked' in soak.summary(rows)
    assert soak.summary([*rows, row(11, 100.0, **{name: 1})]).count(': NO') == 1
    assert soak.summary([*rows, row(11, 102.5)]).count(': NO') == 1


def test_the_goals_are_far_from_each_other_and_the_same_for_the_same_seed():
    goals = soak.places('office', 3)
    assert goals == soak.places('office', 3)
    assert min(math.dist((a.x_m, a.y_m), (b.x_m, b.y_m)) for a, b in itertools.pairwise(goals)) > 5.0


# ---------------------------------------------------------------------- as a process
def test_a_short_soak_writes_rows_a_summary_and_a_picture(tmp_path):
    out, plot = tmp_path / 'rows.csv', tmp_path / 'new' / 'soak.svg'
    command = [*COMMAND, '--minutes', '0.1', '--out', str(out), '--plot', str(plot)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    rows = read(out)
    assert len(rows) == soak.FEWEST_SAMPLES
    last = rows[-1]
    assert int(last['ticks']) + int(last['missed_ticks']) > 60
    assert int(last['judged']) > 60
    assert int(last['maps']) > 1
    for one in rows:
        assert float(one['rss_mb']) > 20
        assert int(one['threads']) > 1
        assert int(one['descriptors']) > 3
        assert float(one['planner_percent']) > 0
    assert 'waypoints judged' in done.stdout
    assert 'all else on the machine' in done.stdout
    assert f'{len(rows)} rows in {out}' in done.stdout
    text = plot.read_text()
    assert all(words in text for words in ('memory of the planner', 'unsafe waypoints', 'restarts', 'minutes'))


def test_ctrl_c_ends_a_soak_with_its_summary_and_picture_and_leaves_no_process(tmp_path):
    out, plot = tmp_path / 'rows.csv', tmp_path / 'soak.png'
    command = [*COMMAND, '--minutes', '0.5', '--out', str(out), '--plot', str(plot)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    deadline = time.monotonic() + LIMIT_S
    while not (out.exists() and read(out)) and time.monotonic() < deadline:
        time.sleep(0.05)
    with open(f'/proc/{process.pid}/task/{process.pid}/children') as file:
        started = [int(child) for child in file.read().split()]
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert 'interrupted' in printed
    assert 'waypoints judged' in printed
    assert plot.read_bytes().startswith(b'\x89PNG')
    assert len(started) == 2
    assert not [pid for pid in started if os.path.exists(f'/proc/{pid}')]


def test_without_ros_the_error_names_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(soak, 'find_spec', lambda name: None)
    options = command_line().parse_args(['soak', '--out', str(tmp_path / 'rows.csv')])
    with pytest.raises(SystemExit, match='there is no ROS 2 here'):
        run_measurement(options.chosen, options)
