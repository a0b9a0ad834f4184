"""A node's parameters from one frozen dataclass.

declare() declares ROS parameters for all fields, read() returns a node's parameters as a dataclass, and apply_changes()
rejects bad values with a reason and passes good ones on.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from tb_planner.errors import cut
from tb_planner.parameters import BadParameters, Spec, Values, find_errors, make, specs

if TYPE_CHECKING:
    from tb_planner.ros.main import LoggingNode

__all__ = ['BadParameters', 'apply_changes', 'declare', 'limit_requests', 'read']

MAX_NAMES = 128
"""Parameters in one request to a node's parameter services, which rclpy serves one by one: setting takes some 0.2 ms
each, for which a tick has to wait."""

_SERVICES = (
    *('describe_parameters', 'get_parameters', 'get_parameter_types'),
    *('list_parameters', 'set_parameters', 'set_parameters_atomically'),
)
_NOT_OURS = ('use_sim_time', 'start_type_description_service', 'qos_overrides.')


def declare(node: Node, cls: type[Values]) -> Values:
    """Declares all parameters and returns their values; raises BadParameters with every reason at once."""
    refused: dict[str, object] = {}
    for spec in specs(cls).values():
        try:
            node.declare_parameter(spec.name, spec.default, _descriptor(spec))
        except (InvalidParameterTypeException, InvalidParameterValueException):  # the reason is below
            refused[spec.name] = _overrides(node)[spec.name].value
            node.declare_parameter(spec.name, spec.default, _descriptor(spec), ignore_override=True)
    _warn_about_unknown_names(node, cls)
    reasons = list(find_errors(cls, {**_values_of(node, cls), **refused}))
    if reasons:
        raise BadParameters('\n'.join(reasons))
    return read(node, cls)


def read(node: Node, cls: type[Values]) -> Values:
    """The present values of declared parameters."""
    return make(cls, _values_of(node, cls))


def apply_changes(
    node: LoggingNode,
    cls: type[Values],
    apply: Callable[[Values], None],
    refuse: Callable[[Values], str] = lambda _: '',
) -> None:
    """Rejects bad changes of declared parameters from now on, and calls `apply` with the new values after good ones.

    refuse: returns why the node cannot use values that are allowed by themselves; empty if it can."""
    names = specs(cls).keys()

    def check(changed: list[Parameter]) -> SetParametersResult:
        changes = {item.name: item.value for item in changed if item.name in names}
        values = {**_values_of(node, cls), **changes}
        reason = '; '.join(find_errors(cls, values))
        if changes and not reason:
            reason = refuse(make(cls, values))
        if reason:
            node.log.warn('parameters', f'parameter rejected, the old value stays: {reason}')
        return SetParametersResult(successful=not reason, reason=cut(reason))

    def hand_on(changed: list[Parameter]) -> None:
        if any(item.name in names for item in changed):
            apply(read(node, cls))

    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(hand_on)


def limit_requests(node: LoggingNode) -> None:
    """Refuses requests to the node's parameter services that name more than MAX_NAMES parameters."""
    ours = {f'{node.get_fully_qualified_name()}/{name}' for name in _SERVICES}
    for service in node.services:
        if service.service_name in ours:
            service.callback = _limited(service.callback, node)


def _limited(serve: Callable[[Any, Any], Any], node: LoggingNode) -> Callable[[Any, Any], Any]:
    """Returns the callback of a parameter service with the limit; whatever it refuses gets rclpy's empty response, and
    a reason where there is a place for one."""

    def limited(request: Any, response: Any) -> Any:
        names = next(
            getattr(request, field) for field in ('parameters', 'names', 'prefixes') if hasattr(request, field)
        )
        if len(names) <= MAX_NAMES:
            return serve(request, response)
        reason = f'the request has {len(names)} parameters; it must have at most {MAX_NAMES}'
        node.log.warn('parameters', f'{reason}: it is refused')
        refused = SetParametersResult(successful=False, reason=reason)
        if hasattr(response, 'results'):
            response.results = [refused]
        elif isinstance(getattr(response, 'result', None), SetParametersResult):
            response.result = refused
        return response

    return limited


def _values_of(node: Node, cls: type[Values]) -> dict[str, object]:
    return {name: node.get_parameter(name).value for name in specs(cls)}


def _overrides(node: Node) -> dict[str, Parameter]:
    # rclpy keeps the values of YAML and command line private, and does not report names that no node has declared
    return getattr(node, '_parameter_overrides', {})


def _warn_about_unknown_names(node: Node, cls: type[Values]) -> None:
    names = specs(cls)
    for name in _overrides(node):
        if name in names or name.startswith(_NOT_OURS):
            continue
        near = difflib.get_close_matches(name, names, n=1)
        hint = f'; did you mean {near[0]}?' if near else ''
        node.get_logger().warning(f'{node.get_name()} has no parameter {cut(name)}: its value is ignored{hint}')


def _descriptor(spec: Spec) -> ParameterDescriptor:
    unit = f' [{spec.unit}]' if spec.unit else ''
    descriptor = ParameterDescriptor(
        description=f'{spec.description}{unit}',
        additional_constraints=f'one of {spec.range}' if spec.choices else '',
        read_only=spec.read_only,
        dynamic_typing=spec.kind is float,  # else 2 would be rejected where 2.0 is meant
    )
    if spec.low is None and spec.high is None:
        return descriptor
    if spec.kind is int:
        low = -(2**63) if spec.low is None else int(spec.low)
        high = 2**63 - 1 if spec.high is None else int(spec.high)
        descriptor.integer_range = [IntegerRange(from_value=low, to_value=high)]
    elif spec.kind is float:
        most = sys.float_info.max
        low_f = -most if spec.low is None else float(spec.low)
        high_f = most if spec.high is None else float(spec.high)
        descriptor.floating_point_range = [FloatingPointRange(from_value=low_f, to_value=high_f)]
    return descriptor
