"""A simulated robot with its planner, and RViz. The robot drives to a first goal; set more goals in RViz.

Every parameter of the simulator and of the planner is an argument, too. A name that both have is the planner's.
"""

import atexit
import shutil
import tempfile
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix, get_package_share_directory
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    GroupAction,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushRosNamespace

from tb_planner.config import PlannerParameters
from tb_planner.parameters import specs
from tb_planner.recording.writer import empty_record
from tb_planner.ros.launch_args import declare_arguments, given_parameters, is_true, level_of_logger
from tb_planner.simulation.parameters import SimulatorParameters
from tb_planner.simulation.scenes import DEMO_GOALS, VIEWER_LIMIT_S

SHARE = Path(get_package_share_directory('tb_planner'))
PLANNER_SPECS = specs(PlannerParameters)
SIMULATOR_FILE = SHARE / 'config' / 'simulator.yaml'
TRANSFORMS = [('/tf', 'tf'), ('/tf_static', 'tf_static')]


FIRST = ('world', 'map', 'algorithm', 'weight', 'expansions_per_tick', 'tick_frequency')
"""Arguments that --show-args shows first."""


def generate_launch_description():
    of_parameters = [
        *declare_arguments(SimulatorParameters, 'simulator_params_file', leave_out=PLANNER_SPECS),
        *declare_arguments(PlannerParameters, 'params_file', leave_out=['autostart_node']),
    ]
    return LaunchDescription(
        [
            *(argument for argument in of_parameters if argument.name in FIRST),
            DeclareLaunchArgument(
                'view',
                default_value='false',
                description='true serves a live page of the run for the browser; '
                'the robot starts when it is open, or after viewer_limit_s',
            ),
            DeclareLaunchArgument('view_port', default_value='8642', description='port of that page on 127.0.0.1'),
            DeclareLaunchArgument('rviz', default_value='true', description='true opens RViz, if it is installed'),
            DeclareLaunchArgument(
                'rviz_config', default_value=str(SHARE / 'config' / 'demo.rviz'), description='configuration of RViz'
            ),
            DeclareLaunchArgument(
                'simulator_params_file',
                default_value=str(SIMULATOR_FILE),
                description='path of a YAML file with the parameters of the simulator; '
                "your own file replaces the demo's goal, obstacles and changing world",
            ),
            *(argument for argument in of_parameters if argument.name not in FIRST),
            OpaqueFunction(function=check),
            OpaqueFunction(function=record),
            IncludeLaunchDescription(PythonLaunchDescriptionSource(str(SHARE / 'launch' / 'planner.launch.py'))),
            GroupAction(
                [
                    PushRosNamespace(LaunchConfiguration('namespace')),
                    OpaqueFunction(function=simulator),
                    OpaqueFunction(function=view),
                    OpaqueFunction(function=rviz),
                ]
            ),
        ]
    )


def check(context):
    """Refuses bad arguments of the simulator before the planner starts: launch would leave it running."""
    given_parameters(context, SimulatorParameters, leave_out=PLANNER_SPECS)
    is_true(context, 'rviz')
    if is_true(context, 'view'):
        view_port(context)
    file = context.launch_configurations['simulator_params_file']
    if not Path(file).is_file():  # launch would warn and go on with defaults
        raise FileNotFoundError(f'simulator_params_file is {file}; there is no such file')


def simulator(context):
    file = Path(context.launch_configurations['simulator_params_file'])
    chosen = given_parameters(context, SimulatorParameters, leave_out=PLANNER_SPECS)
    node = Node(
        package='tb_planner',
        executable='simulator_node',
        name='simulator',
        parameters=[
            str(file),
            {
                'publish_clock': uses_sim_time(context),
                **(demo_parameters(context, chosen) if file == SIMULATOR_FILE else {}),
                **chosen,
            },
        ],
        remappings=TRANSFORMS,
        ros_arguments=level_of_logger(context, 'simulator'),
        output='screen',
        emulate_tty=True,
    )
    return [node]


def demo_parameters(context, chosen):
    """A goal and obstacles on the maps of the package; a random start and goal on other maps."""
    map_name = context.launch_configurations['map'] or 'office'
    parameters = {'give_goal': True, 'world': 'changing'}
    if is_true(context, 'view'):
        parameters['viewer_limit_s'] = VIEWER_LIMIT_S
    if map_name in DEMO_GOALS:
        goal_x_m, goal_y_m = DEMO_GOALS[map_name]
        return {**parameters, 'obstacles': map_name, 'goal_x_m': goal_x_m, 'goal_y_m': goal_y_m}
    return {**parameters, 'random_start': 'start_x_m' not in chosen, 'random_goal': 'goal_x_m' not in chosen}


def uses_sim_time(context):
    return bool(context.launch_configurations['use_sim_time']) and is_true(context, 'use_sim_time')


def record(context):
    """Makes the planner record the run for the page, if only until the launch ends; clears an older record."""
    given = context.launch_configurations
    if not is_true(context, 'view'):
        return []
    messages = []
    if given['record']:
        file = Path(given['record']).expanduser()
        try:
            empty_record(file)
            return []
        except FileExistsError as error:  # nothing has started yet: the user can choose another name
            raise FileExistsError(f'record is {file}: {error.strerror}; choose another name') from error
        except OSError as error:
            messages.append(LogInfo(msg=f'This run is not recorded to {file}: {error.strerror}'))
    folder = tempfile.mkdtemp(prefix='tb_planner_')
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # the nodes write to it until they end
    given['record'] = str(Path(folder) / 'demo.tbrun')
    return messages


def view_port(context):
    text = context.launch_configurations['view_port']
    if not text.isdecimal() or int(text) > 65535:
        raise ValueError(f'view_port is {text!r}; it must be between 0 and 65535')
    return int(text)


def view(context):
    given = context.launch_configurations
    if not is_true(context, 'view'):
        return []
    node = Node(
        package='tb_planner',
        executable='view_node',
        name='view',
        parameters=[{'record': given['record'], 'port': view_port(context)}],
        output='screen',
        emulate_tty=True,
    )
    return [node]


def rviz(context):
    given = context.launch_configurations
    if not is_true(context, 'rviz'):
        return []
    try:
        get_package_prefix('rviz2')
    except PackageNotFoundError:
        return [LogInfo(msg='rviz2 is not installed; view:=true shows the run in a browser')]
    node = Node(
        package='rviz2',
        executable='rviz2',
        arguments=['-d', given['rviz_config']],
        parameters=[{'use_sim_time': uses_sim_time(context)}],
        remappings=TRANSFORMS,
        output='screen',
    )
    # closing the window ends the demo; an RViz that fails to start does not
    closed = OnProcessExit(target_action=node, on_exit=lambda event, _: end_if_closed(event))
    return [node, RegisterEventHandler(closed)]


def end_if_closed(event):
    reason = 'RViz was closed: the demo ends'
    return [LogInfo(msg=reason), EmitEvent(event=Shutdown(reason=reason))] if event.returncode == 0 else []
