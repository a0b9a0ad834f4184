"""The node's state on /diagnostics."""

from __future__ import annotations

from collections.abc import Mapping

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from tb_planner import distance, kernel, sight
from tb_planner.navigator import NavigationStatus

COMPILED = kernel.COMPILED and sight.COMPILED and distance.COMPILED
NOT_COMPILED = 'the kernel is not compiled and runs many times slower; install a C compiler and Cython, then tb_planner'

_FINE = (
    NavigationStatus.IDLE,
    NavigationStatus.NAVIGATING,
    NavigationStatus.WAITING,
    NavigationStatus.ARRIVED,
    NavigationStatus.CANCELED,
)


def diagnostic_message(
    node_name: str,
    namespace: str,
    stamp: Time,
    status: NavigationStatus,
    text: str,
    facts: Mapping[str, object],
    warnings: list[str],
) -> DiagnosticArray:
    """OK, or WARN with everything that is not as it should be."""
    said = [text or status.value, *warnings] + ([] if COMPILED else [NOT_COMPILED])
    fine = status in _FINE and len(said) == 1
    message = DiagnosticArray()
    message.header.stamp = stamp
    message.status = [
        DiagnosticStatus(
            level=DiagnosticStatus.OK if fine else DiagnosticStatus.WARN,
            name=f'{node_name}: planner',
            message='; '.join(said),
            hardware_id=namespace,
            values=[KeyValue(key=key, value=_shown(value)) for key, value in facts.items()],
        )
    ]
    return message


def _shown(value: object) -> str:
    if value is None:
        return ''
    return f'{value:.3f}' if isinstance(value, float) else str(value)
