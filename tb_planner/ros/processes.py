"""Runs nodes as processes of this machine, on an unused ROS domain, and always ends them."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from tb_planner.errors import OperationFailed

LOOPBACK = Path(__file__).with_name('loopback.xml')
DDS_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
"""Variables that name Fast DDS's profiles: since Kilted, and in Jazzy."""

DOMAINS = range(1, 101)
"""Domains whose ports are not in the range of ephemeral ports."""
CLAIMS = 22300
"""A run claims a domain by holding the TCP port CLAIMS + domain, so that two runs never take the same one."""

LAST_LINES = 15

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a program to end."""

# not a session of its own, if possible: Linux shares the processor among sessions first, and a tick would have to wait
# for what another thread of its node has used up
_OWN_GROUP: dict[str, Any] = {'process_group': 0} if sys.version_info >= (3, 11) else {'start_new_session': True}
_LEFT_OUT = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_DISCOVERY_SERVER', 'ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS')


class NoFreeDomain(OperationFailed):
    """Every ROS domain of this machine is in use."""


class Domain:
    """A ROS domain without other participants on this machine, held until close()."""

    def __init__(self) -> None:
        for number in random.SystemRandom().sample(DOMAINS, len(DOMAINS)):
            claim = _bound(socket.SOCK_STREAM, CLAIMS + number)
            if claim is None:
                continue
            if _is_empty(number):
                self.number, self._claim = number, claim
                return
            claim.close()
        raise NoFreeDomain(f'every ROS domain from {DOMAINS[0]} to {DOMAINS[-1]} is in use on this machine')

    def close(self) -> None:
        self._claim.close()

    def enter(self, log_folder: Path) -> dict[str, str]:
        """Applies environment() to this process, too; call it before the first node."""
        environment = self.environment(log_folder)
        for name in _LEFT_OUT:
            os.environ.pop(name, None)
        os.environ.update(environment)
        return environment

    def environment(self, log_folder: Path) -> dict[str, str]:
        """The environment for nodes that communicate in this domain and write nothing outside the folder."""
        return {
            **{name: value for name, value in os.environ.items() if name not in _LEFT_OUT},
            'ROS_DOMAIN_ID': str(self.number),
            **dict.fromkeys(DDS_PROFILES, str(LOOPBACK)),
            'ROS_LOG_DIR': str(log_folder),
        }


class Process:
    """A program in its own process group; its output goes to a file."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], output: Path) -> None:
        self.name = name
        self.output = output
        with output.open('ab') as file:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                **_OWN_GROUP,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; a negative code is the signal that ended it."""
        return self._process.poll()

    @property
    def log_text(self) -> str:
        return self.output.read_text(errors='replace')

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to every process of the group."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def wait(self, limit_s: float) -> bool:
        """Waits for the process to end; returns whether it ended in time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(limit_s)
        return self.exit_code is not None


class Processes:
    """Starts processes, and ends all of them when the with block is left."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.all: list[Process] = []

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with signals_held_back():
            end(self.all)

    def start(self, command: Sequence[str], name: str = '') -> Process:
        """Starts a program; its output goes to a file of this name in the folder."""
        name = name or Path(command[0]).name
        output = self.folder / f'{len(self.all)}_{name}.log'
        with signals_held_back():  # so that a signal cannot lose a process that was just started
            self.all.append(Process(name, command, self.environment, output))
        return self.all[-1]

    @property
    def last_lines(self) -> str:
        """The last lines of each process's output, and the exit codes of those that have ended."""
        lines = []
        for process in self.all:
            ended = '' if process.exit_code is None else f', exit code {process.exit_code}'
            lines += [f'--- {process.name}{ended}', *process.log_text.splitlines()[-LAST_LINES:]]
        return '\n'.join(lines)

    def start_module(self, module: str, arguments: Iterable[str] = ()) -> Process:
        """Starts `python -m module`."""
        command = [sys.executable, '-u', '-m', module, *arguments]
        return self.start(command, module.rpartition('.')[2])


def end(processes: Sequence[Process], patience_s: float = 5.0) -> None:
    """Sends SIGINT, then SIGTERM, then SIGKILL to all processes, and returns when none is left."""
    left = processes
    for number in (signal.SIGINT, signal.SIGTERM):
        left = [process for process in left if process.exit_code is None]
        for process in left:
            process.send(number)
        deadline = time.monotonic() + patience_s
        for process in left:
            process.wait(max(deadline - time.monotonic(), 0))
    for process in processes:  # with their own child processes
        process.send(signal.SIGKILL)
    for process in left:
        process.wait(patience_s)


@contextmanager
def signals_held_back() -> Iterator[list[int]]:
    """Delays SIGINT, SIGTERM and SIGHUP until the block is left; yields the list of signals received."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in ENDING}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])


def ros_arguments(
    parameters: Mapping[str, bool | int | float | str], *, remaps: Mapping[str, str] | None = None
) -> list[str]:
    """The command line of a node."""
    arguments = ['--ros-args']
    for name, value in parameters.items():
        arguments += ['-p', f'{name}:={json.dumps(value)}']
    for name, other in (remaps or {}).items():
        arguments += ['-r', f'{name}:={other}']
    return arguments


def _is_empty(domain: int) -> bool:
    """Whether the ports that the DDS standard assigns to the first participants of this domain are free."""
    first = 7400 + 250 * domain
    for port in (first, *range(first + 10, first + 20)):
        listener = _bound(socket.SOCK_DGRAM, port)
        if listener is None:
            return False
        listener.close()
    return True


def _bound(kind: socket.SocketKind, port: int) -> socket.socket | None:
    """A socket bound to this port on all interfaces, or None if the port is taken."""
    claim = socket.socket(socket.AF_INET, kind)
    try:
        claim.bind(('', port))
    except OSError:
        claim.close()
        return None
    return claim
