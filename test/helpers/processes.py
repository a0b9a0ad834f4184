"""Nodes of tb_planner as processes."""

import re
import time
from collections.abc import Callable

from tb_planner.ros.processes import Process, Processes, ros_arguments

LIMIT_S = 30.0
"""A generous limit for things that take a second or two on an idle machine."""


class Nodes(Processes):
    """Starts nodes with parameters and remappings: nodes.planner(weight=2.0), nodes.simulator(world='changing')."""

    def planner(self, *, remaps: dict[str, str] | None = None, **parameters: bool | int | float | str) -> Process:
        """The planner node, which becomes active by itself unless autostart_node is False."""
        chosen = {'autostart_node': True, **parameters}
        return self.start_module('tb_planner.ros.node', ros_arguments(chosen, remaps=remaps))

    def simulator(self, *, remaps: dict[str, str] | None = None, **parameters: bool | int | float | str) -> Process:
        return self.start_module('tb_planner.ros.simulator_node', ros_arguments(parameters, remaps=remaps))


def wait_until_logged(process: Process, pattern: str, limit_s: float = LIMIT_S) -> re.Match[str]:
    """Waits until the process's log matches and returns the first match; fails with the whole log after the limit."""
    found: list[re.Match[str]] = []

    def is_logged() -> bool:
        found.extend(re.finditer(pattern, process.log_text))
        return bool(found) or process.exit_code is not None

    wait_for(is_logged, limit_s)
    assert found, f'{pattern!r} was not logged within {limit_s} s, exit code {process.exit_code}:\n{process.log_text}'
    return found[0]


def wait_for(condition: Callable[[], object], limit_s: float = LIMIT_S) -> bool:
    """Waits for a condition that needs no spinning; returns whether it came true in time."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
