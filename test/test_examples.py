"""Every program in examples/ runs and prints what its text promises. test/ros runs the one that needs ROS."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / 'examples'
FILES = sorted(FOLDER.glob('*.py'))
WITH_ROS = {'waypoint_follower.py'}
PROMISES = {
    'changing_world.py': [
        r'eager: AT_GOAL with cost ([\d.]+), 1\d{4} expansions in \d\d searches',
        r'lazy: AT_GOAL with cost \1, \d{4} expansions in \d searches',
    ],
    'custom_costmap.py': [
        r'path around the wall: cost 1\d\d\.\d cells',
        r'path through the new door: cost 8\d\.\d cells',
    ],
    'plan_on_array.py': [
        r'shortest path: 80 moves, cost 104\.85, \d+ expansions',
        r'in slices: \d+ ticks of at most 64 expansions, route of \d+ moves',
    ],
}


def test_every_example_has_a_test():
    assert {file.name for file in FILES} == WITH_ROS | set(PROMISES)


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_an_example_has_fewer_than_60_lines_and_a_docstring_with_the_command_that_runs_it(file):
    text = file.read_text()
    assert len(text.splitlines()) < 60
    assert re.search(rf'^""".*?python3? examples/{file.name}.*?"""', text, re.DOTALL)


@pytest.mark.parametrize('name', PROMISES)
def test_an_example_prints_what_it_promises(name):
    run = subprocess.run([sys.executable, FOLDER / name], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch('\n'.join(PROMISES[name]) + '\n', run.stdout), run.stdout
