"""A node's parameters from one frozen dataclass: defaults, ranges, units, descriptions, and who may change them when.

A field is declared by parameter(); declare() makes ROS parameters of all fields, read() makes a dataclass of a node's
parameters, and apply_changes() refuses bad values with a reason and hands good ones on. If the dataclass has a method
problems(), it is asked about values that have to fit together.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

Values = TypeVar('Values')

_KEY = 'parameter'
_NOT_OURS = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')
_NAMES = {bool: 'true or false', int: 'a whole number', float: 'a number', str: 'a text'}


class BadParameters(ValueError):
    """Values from YAML, launch file or command line that a node cannot start with; one line for each."""


@dataclass(frozen=True)
class Spec:
    """What is known of a parameter besides its value."""

    name: str
    default: bool | int | float | str
    description: str
    unit: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    read_only: bool

    @property
    def kind(self) -> type:
        return type(self.default)

    @property
    def range(self) -> str:
        """What values are possible, for people."""
        if self.choices:
            return ', '.join(choice or "''" for choice in self.choices)
        if self.low is None and self.high is None:
            return 'true, false' if self.kind is bool else ''
        low = '' if self.low is None else f'{self.low:.12g}'
        high = '' if self.high is None else f'{self.high:.12g}'
        return f'{low} to {high}' if low and high else f'at least {low}' if low else f'at most {high}'

    def refusal(self, value: object) -> str:
        """Why not this value; empty if it is fine."""
        if not self._is_of_kind(value):
            return f'{self.name} is {value!r}; it is {_NAMES[self.kind]}'
        if self.choices and value not in self.choices:
            return f'{self.name} is {value!r}; it is one of {self.range}'
        if isinstance(value, (int, float)) and not self._in_range(value):
            return f'{self.name} is {value}; it is {self.range or "finite"}'
        return ''

    def _is_of_kind(self, value: object) -> bool:
        if self.kind is float:  # 2 is as good as 2.0
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        return type(value) is self.kind

    def _in_range(self, value: float) -> bool:
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return low <= value <= high and math.isfinite(value)  # also refuses nan

    def descriptor(self) -> ParameterDescriptor:
        unit = f' [{self.unit}]' if self.unit else ''
        descriptor = ParameterDescriptor(
            description=f'{self.description}{unit}',
            additional_constraints=f'one of {self.range}' if self.choices else '',
            read_only=self.read_only,
            dynamic_typing=self.kind is float,  # else 2 would be refused where 2.0 is meant
        )
        if self.low is None and self.high is None:
            return descriptor
        if self.kind is int:
            low = -(2**63) if self.low is None else int(self.low)
            high = 2**63 - 1 if self.high is None else int(self.high)
            descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
        elif self.kind is float:
            most = sys.float_info.max
            low_f = -most if self.low is None else float(self.low)
            high_f = most if self.high is None else float(self.high)
            descriptor.floating_point_range = [FloatingPointRange(from_value=low_f, to_value=high_f)]
        return descriptor


def parameter(
    default: bool | float | str,
    description: str,
    *,
    unit: str = '',
    low: float | None = None,
    high: float | None = None,
    choices: Iterable[str] = (),
    read_only: bool = False,
) -> Any:
    """A field of a dataclass of parameters. Its type is that of the default."""
    facts = {
        'default': default,
        'description': description,
        'unit': unit,
        'low': low,
        'high': high,
        'choices': tuple(choices),
        'read_only': read_only,
    }
    return dataclasses.field(default=default, metadata={_KEY: facts})


def specs(cls: type[Values]) -> dict[str, Spec]:
    """The parameters of a dataclass, by name, in order."""
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    return {field.name: Spec(field.name, **field.metadata[_KEY]) for field in fields}


def refusals(cls: type[Values], values: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with these values, each by itself, and, if nothing is, all together."""
    every = specs(cls)
    alone = [reason for name, value in values.items() if name in every and (reason := every[name].refusal(value))]
    yield from alone
    if not alone:
        yield from getattr(_make(cls, values), 'problems', tuple)()


def declare(node: Node, cls: type[Values]) -> Values:
    """Declares all parameters and returns their values; raises BadParameters with every reason at once."""
    refused: dict[str, object] = {}
    for spec in specs(cls).values():
        try:
            node.declare_parameter(spec.name, spec.default, spec.descriptor())
        except (InvalidParameterTypeException, InvalidParameterValueException):  # by the descriptor; we say it our way
            refused[spec.name] = _overrides(node)[spec.name].value
            node.declare_parameter(spec.name, spec.default, spec.descriptor(), ignore_override=True)
    _warn_about_strangers(node, cls)
    reasons = list(refusals(cls, {**_values_of(node, cls), **refused}))
    if reasons:
        raise BadParameters('\n'.join(reasons))
    return read(node, cls)


def read(node: Node, cls: type[Values]) -> Values:
    """The present values of declared parameters."""
    return _make(cls, _values_of(node, cls))


def refusal(node: Node, cls: type[Values], changes: Mapping[str, object]) -> str:
    """Why these values cannot be set, all of them together with the present ones; empty if they can."""
    return '; '.join(refusals(cls, {**_values_of(node, cls), **changes}))


def apply_changes(
    node: Node,
    cls: type[Values],
    apply: Callable[[Values], None],
    refuse: Callable[[Values], str] = lambda _: '',
) -> None:
    """From now on refuses bad changes of declared parameters, and calls `apply` with the new values after good ones.

    refuse: what the node has against values that are good by themselves; empty if nothing."""
    names = specs(cls).keys()

    def check(changed: list[Parameter]) -> SetParametersResult:
        changes = {item.name: item.value for item in changed if item.name in names}
        reason = refusal(node, cls, changes)
        if changes and not reason:
            reason = refuse(_make(cls, {**_values_of(node, cls), **changes}))
        if reason:
            node.get_logger().warning(f'parameter refused, the old value stays: {reason}')
        return SetParametersResult(successful=not reason, reason=reason)

    def hand_on(changed: list[Parameter]) -> None:
        if any(item.name in names for item in changed):
            apply(read(node, cls))

    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(hand_on)


def as_yaml(cls: type[Values], node_name: str, heading: str = '') -> str:
    """A parameter file with all defaults; unit, range and meaning of every value stand above it."""
    lines = [f'# {line}'.rstrip() for line in heading.splitlines()]
    lines += [f'/**/{node_name}:', '  ros__parameters:']
    for spec in specs(cls).values():
        facts = [spec.description, f'unit: {spec.unit}' * bool(spec.unit), f'range: {spec.range}' * bool(spec.range)]
        facts += ['read at start only'] * spec.read_only
        comment = textwrap.wrap('; '.join(filter(None, facts)), 110)
        lines += [f'    # {line}' for line in comment]
        lines += [f'    {spec.name}: {_as_yaml(spec.default)}', '']
    return '\n'.join(lines[:-1]) + '\n'


def as_table(cls: type[Values]) -> str:
    """The parameters as a table in Markdown."""
    lines = ['| parameter | default | unit | range | meaning |', '|---|---|---|---|---|']
    for spec in specs(cls).values():
        default = f'`{_as_yaml(spec.default)}`'
        meaning = spec.description + (' (read at start only)' if spec.read_only else '')
        lines.append(f'| `{spec.name}` | {default} | {spec.unit} | {spec.range} | {meaning} |')
    return '\n'.join(lines) + '\n'


def _make(cls: type[Values], values: Mapping[str, Any]) -> Values:
    every = specs(cls)
    return cls(**{name: every[name].kind(value) for name, value in values.items() if name in every})


def _values_of(node: Node, cls: type[Values]) -> dict[str, object]:
    return {name: node.get_parameter(name).value for name in specs(cls)}


def _overrides(node: Node) -> dict[str, Parameter]:
    # rclpy keeps to itself what YAML and command line gave, and tells nobody of names that no node has declared
    return getattr(node, '_parameter_overrides', {})


def _warn_about_strangers(node: Node, cls: type[Values]) -> None:
    names = specs(cls)
    for name in _overrides(node):
        if name in names or name.startswith(_NOT_OURS):
            continue
        near = difflib.get_close_matches(name, names, n=1)
        hint = f'; did you mean {near[0]}?' if near else ''
        node.get_logger().warning(f'{node.get_name()} has no parameter {name}: its value is not used{hint}')


def _as_yaml(value: bool | float | str) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, str):
        return value if value.isidentifier() else f"'{value}'"
    return str(value)
