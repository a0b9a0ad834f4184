"""Nodes of tb_planner as processes."""

import re
import time
from collections.abc import Callable

from tb_planner.ros.processes import Process, Processes, ros_arguments

LIMIT_S = 30.0
"""How long something is waited for that a machine with nothing else to do has ready within a second or two."""


class Nodes(Processes):
    """Starts nodes with parameters and remappings: nodes.planner(weight=2.0), nodes.simulator(world='changing')."""

    def planner(self, *, remaps: dict[str, str] | None = None, **parameters: bool | int | float | str) -> Process:
        """The planner node, which becomes active by itself unless told otherwise."""
        chosen = {'autostart_node': True, **parameters}
        return self.start_module('tb_planner.ros.node', ros_arguments(chosen, remaps=remaps))

    def simulator(self, *, remaps: dict[str, str] | None = None, **parameters: bool | int | float | str) -> Process:
        return self.start_module('tb_planner.ros.simulator_node', ros_arguments(parameters, remaps=remaps))


def wait_until_said(process: Process, pattern: str, limit_s: float = LIMIT_S) -> re.Match[str]:
    """The first place where the process's output matches; fails with all of the output if it does not in time."""
    found: list[re.Match[str]] = []

    def is_said() -> bool:
        found.extend(re.finditer(pattern, process.said))
        return bool(found) or process.exit_code is not None

    wait_for(is_said, limit_s)
    assert found, f'{pattern!r} was not said within {limit_s} s, exit code {process.exit_code}:\n{process.said}'
    return found[0]


def wait_for(condition: Callable[[], object], limit_s: float = LIMIT_S) -> bool:
    """Whether the condition has come true in time; for what needs no spinning."""
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
