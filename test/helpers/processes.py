"""Nodes of tb_planner as processes."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from helpers.forked import Forked, Forker
from tb_planner.ros.processes import Process, Processes, ros_arguments, signals_held_back

LIMIT_S = 30.0
"""A generous limit for things that take a second or two on an idle machine."""


FORKED = ('tb_planner.ros.node', 'tb_planner.ros.simulator_node')
"""Modules of nodes that are started by the hundred."""


class ForkedProcess(Process):
    """A node that was forked from a process which had imported it."""

    def __init__(self, name: str, process: Forked, output: Path) -> None:
        self.name, self.output, self._process = name, output, process


class Nodes(Processes):
    """Starts nodes with parameters and remappings: nodes.planner(weight=2.0), nodes.simulator(world='changing').

    With a forker they are forked, if their environment is the forker's.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], forker: Forker | None = None) -> None:
        super().__init__(folder, environment)
        self._forker = forker

    def start_module(self, module: str, arguments: Iterable[str] = ()) -> Process:
        forker = self._forker
        if forker is None or module not in forker.modules or self.environment != forker.environment:
            return super().start_module(module, arguments)
        name = module.rpartition('.')[2]
        output = self.folder / f'{len(self.all)}_{name}.log'
        with signals_held_back():  # so that a signal cannot lose a process that was just started
            self.all.append(ForkedProcess(name, forker.fork(module, [*arguments], output), output))
        return self.all[-1]

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
