"""`python -m benchmarks fuzz`: real nodes under attack over DDS, a batch of every kind; counts, not times."""

import csv
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from nav_msgs.msg import OccupancyGrid, Odometry
from rcl_interfaces.srv import SetParameters
from rclpy.serialization import deserialize_message, serialize_message

from benchmarks.node.fuzz_attack import KINDS
from benchmarks.node.fuzz_inputs import FuzzInputs, serialized

SEED = 13
COMMAND = [sys.executable, '-m', 'benchmarks', 'fuzz', '--quick', '--minutes', '60', '--seed', str(SEED)]
LIMIT_S = 250.0
NEEDS = {'transforms': 'tf2_ros', 'path requests': 'nav2_msgs'}
"""Packages without which there is nothing to send."""


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """A run that is interrupted once every kind has had its batch: rows, output and exit code."""
    rows = tmp_path_factory.mktemp('fuzz') / 'rows.csv'
    # a process group of its own: the signal goes to the command alone
    process = subprocess.Popen(
        [*COMMAND, '--out', str(rows)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None and time.monotonic() < deadline and len(read(rows)) < len(KINDS):
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    print(output)
    return {row['kind']: row for row in read(rows)}, output, process.returncode


def read(path):
    if not path.exists():
        return []
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize('kind', KINDS)
def test_no_node_ends_or_hangs_under_attack(run, kind):
    rows, output, _ = run
    row = rows[kind]
    assert (row['exits'], row['stuck']) == ('0', '0'), output
    if kind in NEEDS:
        pytest.importorskip(NEEDS[kind], reason=f'{NEEDS[kind]} is not installed')
    assert int(row['sent']) > 0


@pytest.mark.parametrize('kind', KINDS)
def test_no_input_reaches_an_exception_in_our_own_code(run, kind):
    rows, output, _ = run
    assert rows[kind]['failed'] == '0', output


def test_exceptions_within_rclpy_are_counted(run):
    rows, _, _ = run
    assert int(rows['parameters']['caught']) > 0  # types that do not exist
    assert int(rows['clock']['caught']) > 0  # times before the epoch


def test_a_run_that_is_interrupted_prints_its_tables(run):
    _, output, exit_code = run
    assert exit_code == 130
    for text in ('caught in rclpy', 'missed ticks', 'memory, MB', *KINDS):
        assert text in output


def test_the_same_seed_draws_the_same_inputs():
    def drawn(seed):
        inputs = FuzzInputs(seed)
        messages = [inputs.cdr(OccupancyGrid) for _ in range(20)]
        return [*messages, inputs.http(80), inputs.handshake(80), inputs.frame()]

    assert drawn('1/2/messages') == drawn('1/2/messages') != drawn('1/3/messages')


@pytest.mark.parametrize('kind', [OccupancyGrid, Odometry, SetParameters.Request])
def test_messages_are_serialized_as_by_ros(kind):
    inputs = FuzzInputs('any')
    for _ in range(50):
        message = inputs.message(kind)
        ours, theirs = (deserialize_message(data, kind) for data in (serialized(message), serialize_message(message)))
        assert repr(ours) == repr(theirs)  # nan is not equal to itself
