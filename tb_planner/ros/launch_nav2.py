"""What the launch files for Nav2 have in common: the planner by Nav2's names of arguments, and a lifecycle manager."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import AndSubstitution, LaunchConfiguration, NotSubstitution, OrSubstitution
from launch_ros.actions import Node, PushRosNamespace, SetParametersFromFile, SetRemap
from launch_ros.parameter_descriptions import ParameterValue

NODE = 'tb_planner'


def share() -> Path:
    return Path(get_package_share_directory('tb_planner'))


def arguments(defaults: Path) -> list[DeclareLaunchArgument]:
    """Those that are not planner.launch.py's own, or have other defaults there."""
    return [
        DeclareLaunchArgument('namespace', default_value='', description='namespace of Nav2 and of the planner'),
        DeclareLaunchArgument(
            'autostart', default_value='true', description='false leaves it to others to configure and activate'
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value=str(defaults),
            description='path of a YAML file, for instance the one that Nav2 is given; a section tb_planner in it '
            f'wins over {defaults.name}',
        ),
        DeclareLaunchArgument(
            'map_topic',
            default_value='global_costmap/costmap',
            description='where the costmap comes from; patches come from the same name with _updates behind it',
        ),
        DeclareLaunchArgument(
            'use_respawn', default_value='false', description='true starts the node again 2 s after it has died'
        ),
        DeclareLaunchArgument(
            'lifecycle_manager',
            default_value='false',
            description='true starts a nav2_lifecycle_manager for the node, with a bond; else it starts itself',
        ),
    ]


def planner(defaults: Path, remaps: Iterable[tuple[str, str]] = ()) -> GroupAction:
    """planner.launch.py, on top of these parameters; its lifecycle manager comes first: what is missing is said before
    anything has started."""
    file = PythonLaunchDescriptionSource(str(share() / 'launch' / 'planner.launch.py'))
    manager, autostart = LaunchConfiguration('lifecycle_manager'), LaunchConfiguration('autostart')
    its_arguments = {
        'autostart': AndSubstitution(autostart, NotSubstitution(manager)),
        'respawn': OrSubstitution(LaunchConfiguration('use_respawn'), LaunchConfiguration('respawn', default='false')),
    }
    return GroupAction(
        [
            GroupAction([PushRosNamespace(LaunchConfiguration('namespace')), _lifecycle_manager(autostart, manager)]),
            SetParametersFromFile(str(defaults)),
            *(SetRemap(source, to) for source, to in remaps),
            IncludeLaunchDescription(file, launch_arguments=its_arguments.items()),
        ]
    )


def _lifecycle_manager(autostart: LaunchConfiguration, condition: LaunchConfiguration) -> Node:
    return Node(
        package='nav2_lifecycle_manager',
        executable='lifecycle_manager',
        name=f'lifecycle_manager_{NODE}',
        parameters=[{'autostart': ParameterValue(autostart, value_type=bool), 'node_names': [NODE]}],
        condition=IfCondition(condition),
        output='screen',
    )
