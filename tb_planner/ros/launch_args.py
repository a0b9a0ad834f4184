"""A node's parameters as launch arguments: what is given wins over the parameter file, what is not leaves it alone."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from launch import LaunchContext
from launch.actions import DeclareLaunchArgument
from launch_ros.parameter_descriptions import ParameterValue

from tb_planner.ros.params import BadParameters, Spec, specs

_BOOLEANS = {'true': True, 'false': False}


def declare_arguments(cls: type[Any], else_from: str, leave_out: Collection[str] = ()) -> list[DeclareLaunchArgument]:
    """An argument for every parameter, without a default: that stands in the file which is the argument else_from."""
    return [_argument(spec, else_from) for spec in specs(cls).values() if spec.name not in leave_out]


def given_parameters(context: LaunchContext, cls: type[Any], leave_out: Collection[str] = ()) -> dict[str, Any]:
    """The parameters that are given as launch arguments; raises BadParameters with every reason at once."""
    given = context.launch_configurations
    asked = {name: spec for name, spec in specs(cls).items() if name not in leave_out and given.get(name)}
    values = {name: _value(spec, given[name]) for name, spec in asked.items()}
    reasons = [reason for name, value in values.items() if (reason := asked[name].refusal(value))]
    if reasons:
        raise BadParameters('; '.join(reasons))
    # launch would read a text such as 1 or true as YAML
    return {name: ParameterValue(value, value_type=asked[name].kind) for name, value in values.items()}


def is_true(context: LaunchContext, name: str) -> bool:
    """Whether a launch argument says true. Nav2's users write True."""
    text = context.launch_configurations[name]
    if text.lower() not in _BOOLEANS:
        raise ValueError(f'{name} is {text!r}; it is true or false')
    return _BOOLEANS[text.lower()]


def level_of_logger(context: LaunchContext, node: str) -> list[str]:
    """ROS arguments for log_level, for this node's logger alone: at debug, all that is below it would say much, too."""
    namespace = context.launch_configurations.get('ros_namespace', '')
    logger = '.'.join([*filter(None, namespace.split('/')), node])
    return ['--log-level', f'{logger}:={context.launch_configurations["log_level"].lower()}']


def _argument(spec: Spec, else_from: str) -> DeclareLaunchArgument:
    unit = f' [{spec.unit}]' if spec.unit else ''
    limits = f'; {spec.range}' if spec.range and not spec.choices else ''
    description = re.sub("[;,] '' is [^;,]*", '', spec.description)  # as an argument, '' leaves it to the file
    return DeclareLaunchArgument(
        spec.name,
        default_value='',
        description=f'{description}{unit}{limits} (else from {else_from})',
        choices=['', *filter(None, spec.choices)] if spec.choices else None,
    )


def _value(spec: Spec, text: str) -> object:
    if spec.kind is bool:
        return _BOOLEANS.get(text.lower(), text)
    try:
        return spec.kind(text)
    except ValueError:
        return text
