"""A simulated robot with its planner, and RViz to look on. It drives to a goal by itself; give it others in RViz.

Every parameter of the simulator and of the planner is an argument, too; of a name that both have, the planner's.
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
from tb_planner.recording.writer import empty_record
from tb_planner.ros.launch_args import declare_arguments, given_parameters, is_true, level_of_logger
from tb_planner.ros.params import specs
from tb_planner.ros.simulator_parameters import SimulatorParameters

SHARE = Path(get_package_share_directory('tb_planner'))
THE_PLANNERS = specs(PlannerParameters)
SIMULATOR_FILE = SHARE / 'config' / 'simulator.yaml'
GIVEN_BY_DEMO = {
    'office': {'obstacles': 'office', 'goal_x_m': 25.0, 'goal_y_m': 6.0},
    'warehouse': {'obstacles': 'warehouse', 'goal_x_m': 34.5, 'goal_y_m': 9.0},
}
"""What happens on our own maps."""
TRANSFORMS = [('/tf', 'tf'), ('/tf_static', 'tf_static')]


FIRST = ('world', 'map', 'algorithm', 'weight', 'expansions_per_tick', 'tick_frequency')
"""Arguments that --show-args shows first."""


def generate_launch_description():
    of_parameters = [
        *declare_arguments(SimulatorParameters, 'simulator_params_file', leave_out=THE_PLANNERS),
        *declare_arguments(PlannerParameters, 'params_file', leave_out=['autostart_node']),
    ]
    return LaunchDescription(
        [
            *(argument for argument in of_parameters if argument.name in FIRST),
            DeclareLaunchArgument(
                'view', default_value='false', description='true shows the run in a browser while it goes on'
            ),
            DeclareLaunchArgument('view_port', default_value='8642', description='of the page, on 127.0.0.1'),
            DeclareLaunchArgument('rviz', default_value='true', description='true opens RViz, if it is installed'),
            DeclareLaunchArgument(
                'rviz_config', default_value=str(SHARE / 'config' / 'demo.rviz'), description='what RViz shows'
            ),
            DeclareLaunchArgument(
                'simulator_params_file',
                default_value=str(SIMULATOR_FILE),
                description='path of the YAML file with the parameters of the simulator; '
                "with one of your own, the demo's goal, obstacles and changing world are not used",
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
    """Refuses what the simulator cannot be given before the planner is started: launch would leave that running."""
    given_parameters(context, SimulatorParameters, leave_out=THE_PLANNERS)
    is_true(context, 'rviz')
    if is_true(context, 'view'):
        view_port(context)
    file = context.launch_configurations['simulator_params_file']
    if not Path(file).is_file():  # launch would warn and go on with defaults
        raise FileNotFoundError(f'simulator_params_file {file} is not there')


def simulator(context):
    file = Path(context.launch_configurations['simulator_params_file'])
    told = given_parameters(context, SimulatorParameters, leave_out=THE_PLANNERS)
    node = Node(
        package='tb_planner',
        executable='simulator_node',
        name='simulator',
        parameters=[
            str(file),
            {
                'publish_clock': uses_sim_time(context),
                **(unless_told(told, context.launch_configurations['map']) if file == SIMULATOR_FILE else {}),
                **told,
            },
        ],
        remappings=TRANSFORMS,
        ros_arguments=level_of_logger(context, 'simulator'),
        output='screen',
        emulate_tty=True,
    )
    return [node]


def unless_told(told, map_name):
    """A goal and obstacles on our own maps; on others a start and a goal are drawn."""
    drawn = {'random_start': 'start_x_m' not in told, 'random_goal': 'goal_x_m' not in told}
    return {'give_goal': True, 'world': 'changing', **GIVEN_BY_DEMO.get(map_name or 'office', drawn)}


def uses_sim_time(context):
    return bool(context.launch_configurations['use_sim_time']) and is_true(context, 'use_sim_time')


def record(context):
    """What is to be seen in a browser has to be recorded, if only until the launch ends; no older run is shown."""
    given = context.launch_configurations
    if not is_true(context, 'view'):
        return []
    told = []
    if given['record']:
        file = Path(given['record']).expanduser()
        try:
            empty_record(file)
            return []
        except FileExistsError as error:  # a slip of whoever named it: nothing has started yet
            raise FileExistsError(f'record {file}: {error.strerror}; give another name') from error
        except OSError as error:
            told.append(LogInfo(msg=f'the record of this run is not kept: {file}: {error.strerror}'))
    folder = tempfile.mkdtemp(prefix='tb_planner_')
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # the nodes write to it until they have ended
    given['record'] = str(Path(folder) / 'demo.tbrun')
    return told


def view_port(context):
    text = context.launch_configurations['view_port']
    if not text.isdecimal() or int(text) > 65535:
        raise ValueError(f'view_port is {text!r}; it is 0 to 65535')
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
    # who closes the window is done; an RViz that finds no screen is no reason to stop
    closed = OnProcessExit(target_action=node, on_exit=lambda event, _: end_if_closed(event))
    return [node, RegisterEventHandler(closed)]


def end_if_closed(event):
    reason = 'RViz was closed: the demo ends'
    return [LogInfo(msg=reason), EmitEvent(event=Shutdown(reason=reason))] if event.returncode == 0 else []
