"""Without ROS 2, a node's program prints so in one line; importing a node raises Python's own error."""

import subprocess
import sys

import pytest

LIMIT_S = 60.0
HIDE = 'import runpy, sys; sys.modules["rclpy"] = None; '

PROGRAMS = {'planner_node': 'node', 'simulator_node': 'simulator_node', 'view_node': 'view_node'}
nodes = pytest.mark.parametrize('node', PROGRAMS)


def run_without_ros(code):
    return subprocess.run([sys.executable, '-c', HIDE + code], capture_output=True, text=True, timeout=LIMIT_S)


@nodes
@pytest.mark.parametrize(
    'start',
    [
        'runpy.run_module("tb_planner.ros.{1}", run_name="__main__", alter_sys=True)',
        'sys.argv[0] = "lib/tb_planner/{0}"; from tb_planner.ros.{1} import main; sys.exit(main())',
    ],
    ids=['python -m', 'installed'],
)
def test_a_node_without_ros_names_in_one_line_what_to_install(node, start):
    done = run_without_ros(start.format(node, PROGRAMS[node]))
    assert (done.returncode, done.stdout) == (2, '')
    (line,) = done.stderr.splitlines()
    assert line.startswith(f'{node}: ')
    assert 'source' in line
    assert '[ros]' in line


@nodes
def test_importing_a_node_without_ros_raises_pythons_own_error(node):
    done = run_without_ros(f'import tb_planner.ros.{PROGRAMS[node]}')
    assert done.returncode == 1
    assert 'ModuleNotFoundError' in done.stderr.splitlines()[-1]
