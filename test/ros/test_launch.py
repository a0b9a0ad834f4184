"""The launch files, run by ROS's own launch; and checks of them that need no launch."""

import ast
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml
from helpers.peer import LATCHED
from helpers.processes import wait_for, wait_until_logged
from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import GetParameters
from rclpy.action import get_action_names_and_types, get_action_server_names_and_types_by_node
from rclpy.parameter import parameter_value_to_python
from std_msgs.msg import UInt32
from websockets.sync.client import connect

from tb_planner.config import PlannerParameters
from tb_planner.parameters import specs
from tb_planner.recording import read_record
from tb_planner.recording.format import MAGIC
from tb_planner.simulation.parameters import SimulatorParameters

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / 'README.md').read_text()
REFERENCE = (ROOT / 'docs' / 'reference.md').read_text()
NAV2_PAGE = (ROOT / 'docs' / 'nav2.md').read_text()
ALL_FILES = sorted((ROOT / 'launch').glob('*.launch.py'))
FOR_NAV2 = [file for file in ALL_FILES if file.name.startswith('nav2_')]
"""Launch files that docs/nav2.md describes."""
FILES = [file for file in ALL_FILES if file not in FOR_NAV2]
PARAMETERS = {**specs(SimulatorParameters), **specs(PlannerParameters)}
STARTS_S = 60.0
ARRIVES_S = 150.0
INCLUDES = """
from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch_ros.actions import PushRosNamespace, SetParameter
from launch_ros.substitutions import FindPackageShare


def generate_launch_description():
    planner = IncludeLaunchDescription(
        [FindPackageShare('tb_planner'), '/launch/planner.launch.py'],
        launch_arguments={'namespace': 'left', 'map_topic': '/shared/map', 'pose_topic': 'amcl_pose'}.items(),
    )
    return LaunchDescription([GroupAction([PushRosNamespace('house'), SetParameter('use_sim_time', True), planner])])
"""

BRINGUP = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node


def generate_launch_description():
    given = {'use_sim_time': LaunchConfiguration('use_sim_time')}
    server = Node(package='nav2_planner', executable='planner_server', name='planner_server', parameters=[given])
    return LaunchDescription([
        DeclareLaunchArgument('use_sim_time', default_value='true'),
        DeclareLaunchArgument('params_file', default_value='{params_file}'),
        server,
    ])
"""
PLANNER_SERVER = """#!{python}
import os
import signal
import rclpy
from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose
from nav2_msgs.srv import IsPathValid
from rclpy.action import ActionServer
from rclpy.signals import SignalHandlerOptions

rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
signal.signal(signal.SIGINT, lambda *_: os._exit(0))
node = rclpy.create_node('planner_server')
servers = [
    ActionServer(node, ComputePathToPose, 'compute_path_to_pose', print),
    ActionServer(node, ComputePathThroughPoses, 'compute_path_through_poses', print),
    node.create_service(IsPathValid, 'is_path_valid', print),
]
while True:
    rclpy.spin_once(node, timeout_sec=0.1)
"""
LIFECYCLE_MANAGER = """#!{python}
import os
import signal
import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.signals import SignalHandlerOptions

rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
signal.signal(signal.SIGINT, lambda *_: os._exit(0))
node = rclpy.create_node('lifecycle_manager', automatically_declare_parameters_from_overrides=True)
print('autostart', node.get_parameter('autostart').value)
for name in node.get_parameter('node_names').value:
    client = node.create_client(ChangeState, name + '/change_state')
    client.wait_for_service()
    for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
        response = client.call_async(ChangeState.Request(transition=Transition(id=transition)))
        rclpy.spin_until_future_complete(node, response)
while True:
    rclpy.spin_once(node, timeout_sec=0.1)
"""

missing = [name for name in ('launch_ros', 'ros2launch') if not importlib.util.find_spec(name)]
needs_launch = pytest.mark.skipif(bool(missing), reason=f'not installed: {", ".join(missing)}')
missing_for_nav2 = [name for name in ('nav2_msgs', 'tf2_ros') if not importlib.util.find_spec(name)]
needs_nav2 = pytest.mark.skipif(bool(missing_for_nav2), reason=f'not installed: {", ".join(missing_for_nav2)}')


# --------------------------------------------------------------------------------------------- where launch is not
def declared(file):
    """The arguments that a launch file and those that it includes name in their text, besides parameters."""
    tree = ast.parse(file.read_text(), file.name)
    calls = [item for item in ast.walk(tree) if isinstance(item, ast.Call) and isinstance(item.func, ast.Name)]
    named = {call.args[0].value for call in calls if call.func.id == 'DeclareLaunchArgument'}
    included = re.findall(r"'(\w+\.launch\.py)'", file.read_text())
    return named.union(*(declared(file.with_name(name)) for name in included))


def test_the_launch_files_have_the_function_that_launch_calls():
    assert [file.name for file in FILES] == ['demo.launch.py', 'fleet.launch.py', 'planner.launch.py']
    assert [file.name for file in FOR_NAV2] == ['nav2_drop_in.launch.py', 'nav2_sidecar.launch.py']
    for file in ALL_FILES:
        tree = ast.parse(file.read_text(), file.name)
        functions = {item.name for item in tree.body if isinstance(item, ast.FunctionDef)}
        assert 'generate_launch_description' in functions, file.name


def test_launch_files_write_to_no_file_by_themselves():
    """A launch argument may name the wrong one; who writes records looks first at what is there."""
    for file in ALL_FILES:
        tree = ast.parse(file.read_text(), file.name)
        called = {item.attr if isinstance(item, ast.Attribute) else item.id for item in functions_called(tree)}
        assert not called & {'open', 'write', 'write_bytes', 'write_text', 'truncate', 'touch', 'unlink'}, file.name


def functions_called(tree):
    calls = [item.func for item in ast.walk(tree) if isinstance(item, ast.Call)]
    return [item for item in calls if isinstance(item, ast.Attribute | ast.Name)]


def test_every_argument_that_a_page_gives_to_a_launch_file_is_one():
    commands = re.findall(r'^ros2 launch tb_planner (\w+\.launch\.py)(.*)', README + REFERENCE, re.MULTILINE)
    commands = [command for command in commands if not command[0].startswith('nav2_')]
    assert {name for name, _ in commands} == {file.name for file in FILES}
    for name, rest in commands:
        given = set(re.findall(r'(\w+):=', rest))
        assert given <= declared(ROOT / 'launch' / name).union(PARAMETERS), name


def test_the_reference_lists_every_argument_that_is_no_parameter_and_the_files_that_take_it():
    documented = {file.name: set() for file in FILES}
    section = REFERENCE.partition('## Launch files')[2].partition('\n## ')[0]
    for names, files in re.findall(r'^\| (`\w+`(?:, `\w+`)*) \| ([a-z, ]+) \|', section, re.MULTILINE):
        for file in documented if files == 'all' else [f'{name}.launch.py' for name in files.split(', ')]:
            documented[file].update(re.findall(r'\w+', names))
    for file in FILES:
        leaves_out = {'namespace'} if file.name == 'fleet.launch.py' else set()  # a robot's own
        assert documented[file.name] == declared(file) - leaves_out, file.name


def test_the_view_shows_topics_that_the_nodes_have_by_names_that_a_namespace_can_move():
    view = yaml.safe_load((ROOT / 'config' / 'demo.rviz').read_text())['Visualization Manager']
    topics = {item['Name']: item['Topic']['Value'] for item in view['Displays'] if 'Topic' in item}
    assert topics == {
        'Map': 'map',
        'Expansions': 'expansions',
        'Plan': 'plan',
        'Waypoint': 'waypoint',
        'Robot': 'pose',
        'Goal': 'goal_pose',
        'Markers': 'markers',
    }
    tools = {tool['Class']: tool.get('Topic', {}).get('Value') for tool in view['Tools']}
    assert tools['rviz_default_plugins/SetGoal'] == 'goal_pose'
    assert view['Global Options']['Fixed Frame'] == SimulatorParameters().map_frame_id


# ------------------------------------------------------------------------------------------------ where launch is
@pytest.fixture
def prefix(tmp_path):
    """A folder as colcon makes one, of the files that lie here: what runs from it is known by its path."""
    folder = tmp_path / 'install'
    index = folder / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    (index / 'tb_planner').touch()
    for name in ('config', 'launch', 'maps'):
        shutil.copytree(ROOT / name, folder / 'share' / 'tb_planner' / name)
    programs = folder / 'lib' / 'tb_planner'
    programs.mkdir(parents=True)
    for name in ('planner_node', 'simulator_node', 'view_node'):
        _, _, text = (ROOT / 'scripts' / name).read_text().partition('\n')
        (programs / name).write_text(f'#!{sys.executable}\n{text}')
        (programs / name).chmod(0o755)
    return folder


@pytest.fixture
def launch(prefix, nodes):
    """Runs `ros2 launch` with a file of this package, or of a path."""
    ros2 = shutil.which('ros2', path=f'{Path(sys.executable).parent}:{os.environ["PATH"]}')
    nodes.environment = {
        **nodes.environment,
        'AMENT_PREFIX_PATH': f'{prefix}:{os.environ.get("AMENT_PREFIX_PATH", sys.prefix)}',
        'PYTHONPATH': f'{ROOT}:{os.environ.get("PYTHONPATH", "")}',
        'PYTHONUNBUFFERED': '1',
    }

    def run(file, *arguments):
        where = [str(file)] if isinstance(file, Path) else ['tb_planner', file]
        return nodes.start([ros2, 'launch', *where, *arguments], 'launch')

    return run


def values(peer, node, *names):
    response = peer.call(f'{node}/get_parameters', GetParameters, GetParameters.Request(names=names), STARTS_S)
    return [parameter_value_to_python(value) for value in response.values]


def state(peer, node):
    return peer.call(f'{node}/get_state', GetState, limit_s=STARTS_S).current_state.label


def running(prefix):
    """The processes whose program lies in the folder."""
    lines = subprocess.run(
        ['ps', '-eww', '-o', 'pid=,args='], capture_output=True, text=True, check=True, timeout=30
    ).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if f'{prefix}/lib/' in line]


def end_as_ctrl_c_does(process, prefix):
    """Sends SIGINT to the whole group, as a terminal does, and checks that no process is left."""
    assert running(prefix)
    process.send(signal.SIGINT)
    assert process.wait(30), process.log_text
    assert running(prefix) == []
    assert 'Traceback' not in process.log_text
    assert 'exit code -2' not in process.log_text  # of a node that the second SIGINT, launch's own, killed
    assert 'SIGTERM' not in process.log_text  # launch had to ask only once


@needs_launch
@pytest.mark.parametrize('file', ALL_FILES, ids=lambda file: file.name)
def test_all_arguments_are_shown_with_what_they_mean(launch, file):
    process = launch(file.name, '--show-args')
    assert process.wait(STARTS_S)
    assert process.exit_code == 0, process.log_text
    shown = dict(re.findall(r"^    '(\w+)':\*?\n        (.+)$", process.log_text, re.MULTILINE))
    expected = specs(PlannerParameters) if file in FOR_NAV2 or file.name == 'planner.launch.py' else PARAMETERS
    of_each_robot = {'random_start', 'random_goal', 'start_x_m', 'start_y_m', 'start_yaw', 'goal_x_m', 'goal_y_m'}
    expected = set(expected) - {'autostart_node'}
    assert expected - (of_each_robot | {'goal_yaw'} if file.name == 'fleet.launch.py' else set()) <= shown.keys()
    assert {
        'params_file',
        'use_sim_time',
        'autostart',
        'log_level',
        'respawn',
        'map_topic',
        'pose_topic',
    } < shown.keys()
    assert 'no description given' not in shown.values()
    assert not any("'' is" in text for text in shown.values()), 'as an argument that leaves it to the file'


@pytest.mark.slow
@needs_launch
def test_the_demo_drives_to_its_goal_and_ends_with_ctrl_c(launch, peer, prefix):
    arguments = ['rviz:=false', 'algorithm:=tba_star', 'weight:=2', 'expansions_per_tick:=5000', 'tick_frequency:=25']
    process = launch('demo.launch.py', *arguments, 'world:=static', 'map:=office', 'real_time_factor:=4')
    status = peer.subscribe_status()
    collisions = peer.subscribe('simulator/collisions', UInt32, LATCHED)
    names = ('algorithm', 'weight', 'expansions_per_tick', 'tick_frequency', 'waypoint_distance_m')
    default = PlannerParameters().waypoint_distance_m
    assert values(peer, 'tb_planner', *names) == ['tba_star', 2.0, 5000, 25.0, default]
    assert values(peer, 'simulator', 'world', 'map', 'real_time_factor') == ['static', 'office', 4.0]
    peer.wait_for_status(status, 'ARRIVED', limit_s=ARRIVES_S)
    assert collisions.last.data == 0
    end_as_ctrl_c_does(process, prefix)


@pytest.mark.slow
@needs_launch
def test_the_demo_is_shown_in_a_browser_and_leaves_nothing_behind(launch, nodes, peer, prefix, tmp_path):
    folder = tmp_path / 'temporary'
    folder.mkdir()
    nodes.environment['TMPDIR'] = str(folder)
    process = launch('demo.launch.py', 'rviz:=false', 'world:=static', 'view:=true', 'view_port:=0')
    url = wait_until_logged(process, r'The run is shown at (http://[\w.:]+/)', STARTS_S)[1]
    with urllib.request.urlopen(url, timeout=20) as response:
        assert b'data-stream="stream"' in response.read()
    (record,) = values(peer, 'tb_planner', 'record')
    assert values(peer, 'view', 'record') == [record]
    assert Path(record).is_relative_to(folder)
    wait_until_logged(process, 'The robot starts when the page is open, or in 60 s', STARTS_S)
    statuses = peer.subscribe_status()
    assert wait_for(lambda: Path(record).exists() and read_record(record).ticks, STARTS_S)
    peer.spin(3.0)
    assert {status.data for status in statuses} == {'IDLE'}
    with connect(f'{url.replace("http", "ws")}stream', origin=url.rstrip('/'), max_size=None):
        peer.wait_for_status(statuses, 'NAVIGATING', limit_s=STARTS_S)
    assert 'The page is open.' in process.log_text
    end_as_ctrl_c_does(process, prefix)
    assert list(folder.glob('tb_planner_*')) == []


@pytest.mark.slow
@needs_launch
@pytest.mark.parametrize('can_be_written', [True, False])
def test_no_older_run_is_shown_in_place_of_this_one(launch, nodes, peer, tmp_path, can_be_written):
    """The planner does not come up, so that nothing but launch can have taken the older one away."""
    record = tmp_path / 'run.tbrun'
    if can_be_written:
        record.write_bytes(MAGIC + b'an older run')
    else:
        record.mkdir()
        nodes.environment['TMPDIR'] = str(tmp_path)
    arguments = ['rviz:=false', 'world:=static', 'autostart:=false', 'view:=true', 'view_port:=0', f'record:={record}']
    process = launch('demo.launch.py', *arguments)
    (shown,) = values(peer, 'view', 'record')
    assert values(peer, 'tb_planner', 'record') == [shown]
    if can_be_written:
        assert shown == str(record)
        assert record.read_bytes() == b''
    else:
        assert Path(shown).parent.name.startswith('tb_planner_')
        assert f'This run is not recorded to {record}: Is a directory' in process.log_text


@needs_launch
def test_a_file_that_is_no_record_is_neither_emptied_nor_shown(launch, tmp_path):
    path = tmp_path / 'planner.yaml'
    path.write_text('tb_planner: {}')
    process = launch('demo.launch.py', 'rviz:=false', 'view:=true', 'view_port:=0', f'record:={path}')
    assert process.wait(STARTS_S)
    assert process.exit_code == 1
    assert f'record is {path}: the file exists and is not the record of a run' in process.log_text
    assert 'process started' not in process.log_text
    assert path.read_text() == 'tb_planner: {}'


@needs_launch
@pytest.mark.parametrize('port', ['eighty', '-1', '65536'])
def test_an_invalid_port_is_refused_before_anything_starts(launch, prefix, port):
    process = launch('demo.launch.py', 'rviz:=false', 'view:=true', f'view_port:={port}')
    assert process.wait(STARTS_S)
    assert process.exit_code == 1
    assert f"view_port is '{port}'; it must be between 0 and 65535" in process.log_text
    assert running(prefix) == []


@pytest.mark.slow
@needs_launch
def test_on_another_map_the_demo_draws_start_and_goal(launch, peer, tmp_path):
    rows = ['.' * 60] * 60
    (tmp_path / 'arena.map').write_text('\n'.join(['type octile', 'height 60', 'width 60', 'map', *rows]) + '\n')
    launch('demo.launch.py', 'rviz:=false', f'map:={tmp_path / "arena.map"}', 'world:=static', 'real_time_factor:=4')
    peer.wait_for_status(peer.subscribe_status(), 'ARRIVED', limit_s=ARRIVES_S)
    assert values(peer, 'simulator', 'random_start', 'random_goal', 'obstacles') == [True, True, '']


@needs_launch
def test_a_node_included_in_a_namespace_is_inside_it_and_subscribes_to_the_given_topics(launch, peer, tmp_path):
    file = tmp_path / 'house.launch.py'
    file.write_text(INCLUDES)
    launch(file)
    assert state(peer, '/house/left/tb_planner') == 'active'
    assert values(peer, '/house/left/tb_planner', 'use_sim_time') == [True]
    subscribed = dict(peer.node.get_subscriber_names_and_types_by_node('tb_planner', '/house/left'))
    assert {'/shared/map', '/house/left/amcl_pose', '/house/left/goal_pose'} <= subscribed.keys()
    assert '/house/left/map' not in subscribed


@needs_launch
def test_an_argument_wins_over_the_file_and_without_one_the_file_counts(launch, peer, tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text(
        '/**:\n  ros__parameters:\n    weight: 3.0\n    inflation_radius_m: 0.8\n    autostart_node: true\n'
    )
    process = launch(
        'planner.launch.py',
        f'params_file:={file}',
        'weight:=4',
        'autostart:=false',
        'use_sim_time:=True',
        'log_level:=debug',
    )
    names = ('weight', 'inflation_radius_m', 'autostart_node', 'use_sim_time')
    assert values(peer, 'tb_planner', *names) == [4.0, 0.8, False, True]
    assert state(peer, 'tb_planner') == 'unconfigured'
    assert '[DEBUG] [rcl' not in process.log_text


@needs_launch
@pytest.mark.parametrize(
    ('argument', 'reason'),
    [
        ('weight:=0.5', 'weight is 0.5; it must be between 1 and 100'),
        ('expansions_per_tick:=many', "expansions_per_tick is 'many'; it must be a whole number"),
        ('real_time_factor:=0.0', 'real_time_factor is 0.0; it must be between 0.01 and 100'),
        ('simulator_params_file:=/no/such.yaml', 'simulator_params_file is /no/such.yaml; there is no such file'),
        ('rviz:=perhaps', "rviz is 'perhaps'; it must be true or false"),
        ('autostart:=perhaps', "autostart is 'perhaps'; it must be true or false"),
        ('algorithm:=astar', 'Argument "algorithm" provided value "astar" is not valid'),
        ('params_file:=/no/such.yaml', 'params_file is /no/such.yaml; there is no such file'),
    ],
)
def test_a_bad_argument_is_refused_with_its_reason_before_anything_starts(launch, prefix, argument, reason):
    process = launch('demo.launch.py', 'rviz:=false', argument)
    assert process.wait(STARTS_S)
    assert process.exit_code == 1
    assert reason in process.log_text
    assert 'process started' not in process.log_text
    assert running(prefix) == []


@pytest.mark.slow
@needs_launch
def test_a_planner_that_dies_comes_back_and_brings_the_robot_to_its_goal(launch, peer, prefix):
    process = launch('demo.launch.py', 'rviz:=false', 'respawn:=true', 'world:=static', 'real_time_factor:=2')
    status = peer.subscribe_status()
    peer.wait_for_status(status, 'NAVIGATING', limit_s=STARTS_S)
    first = int(wait_until_logged(process, r'\[planner_node-\d+\]: process started with pid \[(\d+)\]')[1])
    os.kill(first, signal.SIGKILL)
    assert wait_for(lambda: len(re.findall(r'\[planner_node-\d+\]: process started', process.log_text)) == 2, STARTS_S)
    del status[:]
    peer.wait_for_status(status, 'ARRIVED', limit_s=ARRIVES_S)
    assert state(peer, 'tb_planner') == 'active'
    end_as_ctrl_c_does(process, prefix)


@needs_launch
def test_closing_rviz_ends_the_demo(launch, prefix):
    """A program in place of RViz prints its arguments, and ends as RViz does when its window is closed."""
    (prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'rviz2').touch()
    program = prefix / 'lib' / 'rviz2' / 'rviz2'
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho shown: "$@"\nsleep 3\n')
    program.chmod(0o755)
    process = launch('demo.launch.py', 'namespace:=robot7')
    assert process.wait(STARTS_S)
    assert running(prefix) == []
    assert re.search(r'shown: -d \S+/config/demo.rviz .*__ns:=/robot7 ', process.log_text)
    assert 'RViz was closed: the demo ends' in process.log_text


@pytest.mark.slow
@needs_launch
@pytest.mark.skipif(not importlib.util.find_spec('tf2_ros'), reason='tf2_ros is not installed')
def test_the_demo_drives_with_its_pose_from_tf(launch, peer):
    arguments = ['rviz:=false', 'namespace:=robot1', 'world:=static', 'real_time_factor:=4']
    launch('demo.launch.py', *arguments, 'pose_source:=tf')
    peer.wait_for_status(peer.subscribe_status('robot1/tb_planner'), 'ARRIVED', limit_s=ARRIVES_S)
    assert peer.node.count_subscribers('/robot1/tf') == 1
    assert peer.node.count_subscribers('/robot1/pose') == 0


@pytest.mark.slow
@needs_launch
def test_every_robot_of_a_fleet_drives_its_own_route_to_its_own_goal(launch, peer, prefix):
    process = launch(
        'fleet.launch.py', 'robots:=2', 'world:=static', 'starts:=0 0 1.5', 'goals:=; 5 0', 'real_time_factor:=4'
    )
    statuses = [peer.subscribe_status(f'robot{i}/tb_planner') for i in (1, 2)]
    collisions = [peer.subscribe(f'robot{i}/simulator/collisions', UInt32, LATCHED) for i in (1, 2)]
    assert values(peer, 'robot1/simulator', 'start_yaw', 'random_start', 'random_goal', 'seed') == [1.5, False, True, 1]
    assert values(peer, 'robot2/simulator', 'goal_x_m', 'random_start', 'random_goal', 'seed') == [5.0, True, False, 2]
    for status in statuses:
        peer.wait_for_status(status, 'ARRIVED', limit_s=ARRIVES_S)
    assert [counts.last.data for counts in collisions] == [0, 0]
    end_as_ctrl_c_does(process, prefix)


@pytest.mark.slow
@needs_launch
def test_every_robot_of_a_fleet_is_recorded_and_shown_by_itself(launch, peer, tmp_path):
    with socket.create_server(('127.0.0.1', 0)) as free:
        port = free.getsockname()[1]
    record = tmp_path / 'run.tbrun'
    launch('fleet.launch.py', 'robots:=2', 'world:=static', 'view:=true', f'view_port:={port}', f'record:={record}')
    records = [tmp_path / f'run_robot{i}.tbrun' for i in (1, 2)]
    for i, own in enumerate(records):
        assert values(peer, f'robot{i + 1}/tb_planner', 'record') == [str(own)]
        assert values(peer, f'robot{i + 1}/view', 'record', 'port') == [str(own), port + i]
    assert wait_for(lambda: all(own.exists() for own in records), STARTS_S)
    assert not record.exists()


@pytest.mark.slow
@needs_launch
def test_a_fleet_in_simulated_time_arrives_each_robot_by_its_own_clock(launch, peer):
    launch('fleet.launch.py', 'robots:=2', 'world:=static', 'use_sim_time:=true', 'real_time_factor:=4')
    assert values(peer, 'robot2/tb_planner', 'use_sim_time') == [True]
    for status in [peer.subscribe_status(f'robot{i}/tb_planner') for i in (1, 2)]:
        peer.wait_for_status(status, 'ARRIVED', limit_s=ARRIVES_S)
    assert peer.node.count_publishers('/clock') == 0
    assert peer.node.count_publishers('/robot2/clock') == 1


# ------------------------------------------------------------------------------------------------------------ Nav2
def program(prefix, package, name, text):
    """A file in place of one of Nav2's, which PyPI does not have."""
    (prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / package).touch()
    path = prefix / 'lib' / package / name
    path.parent.mkdir(parents=True)
    path.write_text(text.replace('{python}', sys.executable))
    path.chmod(0o755)


def actions_of(peer, node, namespace='/'):
    return {name for name, _ in get_action_server_names_and_types_by_node(peer.node, node, namespace)}


def wait_for_actions(peer, names):
    def there():
        return {name for name, _ in get_action_names_and_types(peer.node)}

    peer.wait_until(lambda: names <= there(), f'the actions {names}', limit_s=STARTS_S)


@needs_launch
@needs_nav2
def test_beside_nav2_the_planner_comes_up_active_under_names_of_its_own(launch, peer, prefix):
    process = launch('nav2_sidecar.launch.py', 'namespace:=bot', 'weight:=2.5', 'use_sim_time:=True')
    assert state(peer, '/bot/tb_planner') == 'active'
    names = ('nav2', 'pose_source', 'robot_radius_m', 'subscribe_goal_pose', 'weight', 'use_sim_time', 'autostart_node')
    assert values(peer, '/bot/tb_planner', *names) == [True, 'tf', 0.0, False, 2.5, True, True]
    actions = {f'/bot/tb_planner/compute_path_{which}' for which in ('to_pose', 'through_poses')}
    wait_for_actions(peer, actions)
    subscribed = dict(peer.node.get_subscriber_names_and_types_by_node('tb_planner', '/bot'))
    assert {'/bot/global_costmap/costmap', '/bot/tf'} <= subscribed.keys()
    assert not {'/bot/goal_pose', '/bot/map'} & subscribed.keys()
    published = dict(peer.node.get_publisher_names_and_types_by_node('tb_planner', '/bot'))
    assert '/bot/tb_planner/plan' in published
    assert not {'/bot/plan', '/bot/waypoint'} & published.keys()
    end_as_ctrl_c_does(process, prefix)


@needs_launch
@needs_nav2
@pytest.mark.parametrize(('namespace', 'heading'), [('', 'tb_planner:'), ('bot', '"**/tb_planner":')])
def test_a_section_of_nav2s_own_file_wins_over_the_sidecars_and_an_argument_over_both(
    launch, peer, tmp_path, namespace, heading
):
    assert heading.rstrip(':') in NAV2_PAGE
    file = tmp_path / 'nav2_params.yaml'
    file.write_text(
        'planner_server:\n  ros__parameters:\n    weight: 9.0\n'
        f'{heading}\n  ros__parameters:\n    weight: 3.0\n    path_tolerance_m: 0.25\n    max_planning_time_s: 4.0\n'
    )
    arguments = [f'params_file:={file}', 'weight:=4', 'autostart:=false', 'log_level:=WARN']
    launch('nav2_sidecar.launch.py', *arguments, *([f'namespace:={namespace}'] if namespace else []))
    node = f'{namespace}/tb_planner'.lstrip('/')
    names = ('weight', 'path_tolerance_m', 'max_planning_time_s', 'nav2', 'compute_path_to_pose_action')
    expected = [4.0, 0.25, 4.0, True, 'tb_planner/compute_path_to_pose']
    assert values(peer, node, *names) == expected
    assert state(peer, node) == 'unconfigured'


@needs_launch
@needs_nav2
def test_beside_nav2_a_lifecycle_manager_of_its_own_brings_the_planner_up(launch, peer, prefix):
    program(prefix, 'nav2_lifecycle_manager', 'lifecycle_manager', LIFECYCLE_MANAGER)
    process = launch('nav2_sidecar.launch.py', 'lifecycle_manager:=True', 'namespace:=bot')
    assert values(peer, '/bot/tb_planner', 'autostart_node') == [False]
    peer.wait_until(lambda: state(peer, '/bot/tb_planner') == 'active', 'active', limit_s=STARTS_S)
    assert 'autostart True' in process.log_text
    assert ('lifecycle_manager_tb_planner', '/bot') in peer.node.get_node_names_and_namespaces()
    end_as_ctrl_c_does(process, prefix)


@needs_launch
def test_without_nav2s_lifecycle_manager_nothing_starts_and_it_is_named(launch, prefix):
    process = launch('nav2_sidecar.launch.py', 'lifecycle_manager:=true')
    assert process.wait(STARTS_S)
    assert process.exit_code == 1
    assert "package 'nav2_lifecycle_manager' not found" in process.log_text
    assert running(prefix) == []


@needs_launch
@needs_nav2
def test_in_place_of_planner_server_the_stock_names_are_the_planners_and_the_servers_move(launch, peer, prefix):
    nav2_params = prefix / 'nav2_params.yaml'
    nav2_params.write_text('tb_planner:\n  ros__parameters:\n    weight: 3.0\n')
    program(prefix, 'nav2_planner', 'planner_server', PLANNER_SERVER)
    (prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'nav2_bringup').touch()
    folder = prefix / 'share' / 'nav2_bringup' / 'launch'
    folder.mkdir(parents=True)
    (folder / 'tb3_simulation_launch.py').write_text(BRINGUP.replace('{params_file}', str(nav2_params)))
    process = launch('nav2_drop_in.launch.py', 'bringup:=tb3_simulation_launch.py')
    assert state(peer, 'tb_planner') == 'active'
    assert values(peer, 'tb_planner', 'weight', 'use_sim_time', 'planner_id') == [3.0, True, 'GridBased']
    stock = {'/compute_path_to_pose', '/compute_path_through_poses'}
    wait_for_actions(peer, stock | {f'/planner_server{name}' for name in stock})
    assert actions_of(peer, 'planner_server') == {f'/planner_server{name}' for name in stock}
    its_own = dict(peer.node.get_service_names_and_types_by_node('planner_server', '/'))
    its_own.update(peer.node.get_publisher_names_and_types_by_node('planner_server', '/'))
    assert '/planner_server/is_path_valid' in its_own
    assert not [name for name in its_own if name.startswith(('/compute_path', '/is_path_valid'))]
    assert '/is_path_valid' in dict(peer.node.get_service_names_and_types())
    end_as_ctrl_c_does(process, prefix)


@needs_launch
def test_a_bringup_file_that_is_not_there_is_named_before_anything_starts(launch, prefix):
    (prefix / 'share' / 'ament_index' / 'resource_index' / 'packages' / 'nav2_bringup').touch()
    process = launch('nav2_drop_in.launch.py', 'bringup:=tb5_launch.py')
    assert process.wait(STARTS_S)
    assert process.exit_code == 1
    assert 'nav2_bringup/launch/tb5_launch.py; there is no such file' in process.log_text
    assert running(prefix) == []


def test_the_page_about_nav2_has_every_argument_of_its_launch_files_that_is_no_parameter():
    section = NAV2_PAGE.partition('## Launch files')[2].partition('\n## ')[0]
    documented = {'nav2_sidecar.launch.py': set(), 'nav2_drop_in.launch.py': set()}
    for names, files in re.findall(r'^\| (`\w+`(?:, `\w+`)*) \| ([a-z_ ]+) \|', section, re.MULTILINE):
        for file in documented if files == 'both' else [f'nav2_{files.strip()}.launch.py']:
            documented[file].update(re.findall(r'\w+', names))
    common = own_arguments(ROOT / 'tb_planner' / 'ros' / 'launch_args.py')
    passed_on = {'use_sim_time', 'log_level'}  # planner.launch.py's, and by the same names Nav2's
    for file in FOR_NAV2:
        assert documented[file.name] == common | own_arguments(file) | passed_on, file.name


def own_arguments(file):
    return set(re.findall(r"DeclareLaunchArgument\(\s*'(\w+)'", file.read_text()))


@pytest.mark.parametrize('page', [README, NAV2_PAGE], ids=['README.md', 'nav2.md'])
def test_every_argument_that_a_page_gives_to_a_launch_file_for_nav2_is_one(page):
    commands = re.findall(r'^ *ros2 launch tb_planner (nav2_\w+\.launch\.py)(.*)', page, re.MULTILINE)
    assert {name for name, _ in commands} == {file.name for file in FOR_NAV2}
    common = own_arguments(ROOT / 'tb_planner' / 'ros' / 'launch_args.py')
    of_the_planner = declared(ROOT / 'launch' / 'planner.launch.py').union(specs(PlannerParameters))
    of_the_bringup = {'headless'}
    for name, rest in commands:
        given = set(re.findall(r'(\w+):=', rest)) - (of_the_bringup if 'bringup:=' in rest else set())
        assert given <= own_arguments(ROOT / 'launch' / name) | common | of_the_planner, name
