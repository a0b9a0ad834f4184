"""The house of CONTRIBUTING.md: every file has its room, and imports only what is listed above it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / 'tb_planner'
NAME = re.compile(r'`(\w+)(?:\.py|/)`')
ROS = ('rclpy', 'launch', 'launch_ros', 'ament_index_python', 'tf2_ros')
ROS_BENCHMARKS = ('benchmark/measuring.py', 'benchmark/playground.py', 'benchmark/nav2_client.py')


def listed():
    """The rooms in the order of CONTRIBUTING.md, those of tb_planner/ros where ros stands."""
    tables = re.findall(r'^\| in `tb_planner/(.*?)` \|.*\n((?:\|.*\n)+)', (ROOT / 'CONTRIBUTING.md').read_text(), re.M)
    rooms = {
        folder: [f'{folder}{name}' for row in rows.splitlines() for name in NAME.findall(row.split('|')[1])]
        for folder, rows in tables
    }
    at = rooms[''].index('ros')
    return [*rooms[''][:at], *rooms['ros/'], *rooms[''][at + 1 :]]


def room_of(module):
    """tb_planner.grid is grid, tb_planner.simulation.robot is simulation, tb_planner.ros.poses is ros/poses."""
    parts = module.split('.')[1:]
    return '/'.join(parts[:2]) if parts[0] == 'ros' and len(parts) > 1 else parts[0]


def files():
    for path in sorted(PACKAGE.rglob('*.py')):
        module = '.'.join(path.relative_to(ROOT).with_suffix('').parts).removesuffix('.__init__')
        if module not in ('tb_planner', 'tb_planner.ros'):
            yield pytest.param(path, room_of(module), id=module)


def imported_modules(path):
    """Full names of what a file imports; for a name from a package, of the module of that name if there is one."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            folder = ROOT.joinpath(*node.module.split('.'))
            below = [name.name for name in node.names if (folder / f'{name.name}.py').exists()]
            yield from (f'{node.module}.{name}' for name in below)
            if len(below) < len(node.names):
                yield node.module


ROOMS = listed()
FILES = list(files())


@pytest.mark.parametrize(('path', 'room'), FILES)
def test_a_file_has_its_room_and_imports_only_what_is_above_it(path, room):
    assert room in ROOMS, f'CONTRIBUTING.md does not say what {room} is for'
    ours = {name for name in imported_modules(path) if name.startswith('tb_planner.')}
    used = {room_of(name) for name in ours} - {room}
    assert used <= set(ROOMS[: ROOMS.index(room)])


@pytest.mark.parametrize(('path', 'room'), FILES)
def test_ros_stays_at_the_edge(path, room):
    if room.startswith('ros/') or path.relative_to(PACKAGE).as_posix() in ROS_BENCHMARKS:
        return
    imported = {name.partition('.')[0] for name in imported_modules(path)}
    assert not [name for name in imported if name in ROS or name.endswith('_msgs')]


def test_every_room_is_there():
    for room in ROOMS:
        assert (PACKAGE / f'{room}.py').exists() or (PACKAGE / room).is_dir(), room
