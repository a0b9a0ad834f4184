"""Launch arguments of the nodes, and the parts that the launch files for Nav2 share.

Every parameter of a node is a launch argument. A given argument overrides the parameter file; others leave it alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import AndSubstitution, LaunchConfiguration, NotSubstitution, OrSubstitution
from launch_ros.actions import Node, PushRosNamespace, SetParametersFromFile, SetRemap
from launch_ros.parameter_descriptions import ParameterValue

from tb_planner.parameters import BadParameters, Spec, specs

NODE = 'tb_planner'
_BOOLEANS = {'true': True, 'false': False}


def declare_arguments(cls: type[Any], else_from: str, leave_out: Collection[str] = ()) -> list[DeclareLaunchArgument]:
    """A launch argument for every parameter. None has a default: that is in the file which `else_from` names."""
    return [_argument(spec, else_from) for spec in specs(cls).values() if spec.name not in leave_out]


def given_parameters(context: LaunchContext, cls: type[Any], leave_out: Collection[str] = ()) -> dict[str, Any]:
    """The parameters given as launch arguments; raises BadParameters with all mistakes at once."""
    given = context.launch_configurations
    asked = {name: spec for name, spec in specs(cls).items() if name not in leave_out and given.get(name)}
    values = {name: _value(spec, given[name]) for name, spec in asked.items()}
    reasons = [reason for name, value in values.items() if (reason := asked[name].error(value))]
    if reasons:
        raise BadParameters('; '.join(reasons))
    # without a type, launch would parse a string such as 1 or true as YAML
    return {name: ParameterValue(value, value_type=asked[name].kind) for name, value in values.items()}


def is_true(context: LaunchContext, name: str) -> bool:
    """The value of a boolean launch argument; Nav2's users write True."""
    text = context.launch_configurations[name]
    if text.lower() not in _BOOLEANS:
        raise ValueError(f'{name} is {text!r}; it must be true or false')
    return _BOOLEANS[text.lower()]


def level_of_logger(context: LaunchContext, node: str) -> list[str]:
    """ROS arguments that set log_level for the logger of this node only: rcl and DDS log a lot at debug."""
    namespace = context.launch_configurations.get('ros_namespace', '')
    logger = '.'.join([*filter(None, namespace.split('/')), node])
    return ['--log-level', f'{logger}:={context.launch_configurations["log_level"].lower()}']


def _argument(spec: Spec, else_from: str) -> DeclareLaunchArgument:
    unit = f' [{spec.unit}]' if spec.unit else ''
    limits = f'; {spec.range}' if spec.range and not spec.choices else ''
    description = re.sub("[;,] '' is [^;,]*", '', spec.description)  # an empty argument leaves the value to the file
    return DeclareLaunchArgument(
        spec.name,
        default_value='',
        description=f'{description}{unit}{limits} (default: from {else_from})',
        choices=['', *filter(None, spec.choices)] if spec.choices else None,
    )


def _value(spec: Spec, text: str) -> object:
    if spec.kind is bool:
        return _BOOLEANS.get(text.lower(), text)
    try:
        return spec.kind(text)
    except ValueError:
        return text


def package_share() -> Path:
    return Path(get_package_share_directory('tb_planner'))


def nav2_arguments(defaults: Path) -> list[DeclareLaunchArgument]:
    """The arguments that planner.launch.py does not have, or that have other defaults there."""
    return [
        DeclareLaunchArgument('namespace', default_value='', description='namespace of Nav2 and of the planner'),
        DeclareLaunchArgument(
            'autostart',
            default_value='true',
            description='false: a lifecycle manager activates the node',
        ),
        DeclareLaunchArgument(
            'params_file',
            default_value=str(defaults),
            description='path of a YAML file, for instance the one for Nav2; its section tb_planner overrides '
            f'{defaults.name}',
        ),
        DeclareLaunchArgument(
            'map_topic',
            default_value='global_costmap/costmap',
            description='topic of the costmap; its patches are on the same name with the suffix _updates',
        ),
        DeclareLaunchArgument(
            'use_respawn', default_value='false', description='true restarts the node 2 s after it dies'
        ),
        DeclareLaunchArgument(
            'lifecycle_manager',
            default_value='false',
            description='true starts a nav2_lifecycle_manager with a bond for the node (else it activates itself)',
        ),
    ]


def nav2_planner(defaults: Path, remaps: Iterable[tuple[str, str]] = ()) -> GroupAction:
    """planner.launch.py with these parameters as defaults.

    The lifecycle manager comes first, so that a missing package is reported before a node starts.
    """
    file = PythonLaunchDescriptionSource(str(package_share() / 'launch' / 'planner.launch.py'))
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
