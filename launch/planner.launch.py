"""The planner node alone, to be included in other launch files.

Every parameter of the node is an argument, too. A given argument overrides params_file.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node, PushRosNamespace

from tb_planner.config import PlannerParameters
from tb_planner.ros.launch_args import declare_arguments, given_parameters, is_true, level_of_logger

SHARE = Path(get_package_share_directory('tb_planner'))
LEVELS = ['debug', 'info', 'warn', 'error', 'fatal']
ALSO = [level.upper() for level in LEVELS]  # as Nav2's users may write them
SET_BY_AUTOSTART = ('autostart_node',)


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'namespace',
                default_value='',
                description='namespace of the node and its topics, within the namespace of an including launch file',
            ),
            DeclareLaunchArgument(
                'params_file',
                default_value=str(SHARE / 'config' / 'planner.yaml'),
                description='path of a YAML file with the parameters of the node',
            ),
            DeclareLaunchArgument(
                'use_sim_time',
                default_value='',
                description='true: the time comes from /clock; empty: as set before, by default false',
            ),
            DeclareLaunchArgument(
                'autostart',
                default_value='true',
                description='true configures and activates the node; false: a lifecycle manager does so',
            ),
            DeclareLaunchArgument(
                'log_level', default_value='info', description='log level of the node', choices=LEVELS + ALSO
            ),
            DeclareLaunchArgument(
                'respawn', default_value='false', description='true restarts the node 2 s after it dies'
            ),
            DeclareLaunchArgument(
                'map_topic',
                default_value='map',
                description='topic of the map; its patches are on the same name with the suffix _updates',
            ),
            DeclareLaunchArgument('pose_topic', default_value='pose', description="topic of the robot's pose"),
            *declare_arguments(PlannerParameters, 'params_file', leave_out=SET_BY_AUTOSTART),
            GroupAction([PushRosNamespace(LaunchConfiguration('namespace')), OpaqueFunction(function=planner)]),
        ]
    )


def planner(context):
    given = context.launch_configurations
    params_file = Path(given['params_file'])
    if not params_file.is_file():  # launch would warn and go on with defaults
        raise FileNotFoundError(f'params_file is {params_file}; there is no such file')
    parameters = given_parameters(context, PlannerParameters, leave_out=SET_BY_AUTOSTART)
    parameters['autostart_node'] = is_true(context, 'autostart')
    if given['use_sim_time']:
        parameters['use_sim_time'] = is_true(context, 'use_sim_time')
    node = Node(
        package='tb_planner',
        executable='planner_node',
        name='tb_planner',
        parameters=[str(params_file), parameters],
        remappings=[
            ('map', given['map_topic']),
            ('map_updates', given['map_topic'] + '_updates'),
            ('pose', given['pose_topic']),
            ('/tf', 'tf'),  # as in Nav2, so that each robot of a fleet has its own transforms
            ('/tf_static', 'tf_static'),
        ],
        ros_arguments=level_of_logger(context, 'tb_planner'),
        respawn=is_true(context, 'respawn'),
        respawn_delay=2.0,
        output='screen',
        emulate_tty=True,
    )
    return [node]
