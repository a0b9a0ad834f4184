"""A parameter file that ROS cannot read ends a node in one line."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    'content', ['a: [1, 2\nb: }{\n', 'tb_planner:\n  weight: 3\n', None], ids=['text', 'flat', 'none']
)
def test_a_parameter_file_that_cannot_be_read_ends_the_node_with_its_name(tmp_path, content):
    path = tmp_path / 'params.yaml'
    if content is not None:
        path.write_text(content)
    command = [sys.executable, '-m', 'tb_planner.ros.node', '--ros-args', '--params-file', path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert 'Traceback' not in done.stderr
    line = done.stderr.splitlines()[-1]
    assert line.startswith('tb_planner: cannot start: ')
    assert str(path) in line
