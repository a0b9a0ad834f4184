"""Nodes that are forked from a process which has imported them: an import takes a node 0.4 s of processor time.

    python -u forked.py tb_planner.ros.node tb_planner.ros.simulator_node

imports these modules, and then reads requests, one JSON list in each line: the process that is to be started, or the
one whose exit code is asked for. It writes one line for each. Forked nodes are processes as any other: with arguments,
environment, output and process group of their own. DDS begins in them.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

POLL_S = 0.01


class Forker:
    """The process that forks; close() ends it. It starts with the first node."""

    def __init__(self, modules: Sequence[str], environment: Mapping[str, str]) -> None:
        self.modules = modules
        self.environment = dict(environment)
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()

    def fork(self, module: str, arguments: Sequence[str], output: Path) -> Forked:
        output.touch()  # it may be read before the new process has opened it
        return Forked(self, int(self.ask('start', module, [*arguments], str(output))))

    def ask(self, *request: object) -> str:
        with self._lock:
            if self._process is None:
                command = [sys.executable, '-u', __file__, *self.modules]
                pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE, 'text': True}
                self._process = subprocess.Popen(command, env=self.environment, **pipes)
            print(json.dumps(request), file=self._process.stdin, flush=True)
            response = self._process.stdout.readline()
            assert response, 'the process that forks nodes has ended'
            return response


class Forked:
    """A forked process, with what tb_planner.ros.processes uses of subprocess.Popen."""

    def __init__(self, forker: Forker, pid: int) -> None:
        self.pid = pid
        self._forker = forker
        self._exit_code: int | None = None

    def poll(self) -> int | None:
        if self._exit_code is None:
            self._exit_code = json.loads(self._forker.ask('poll', self.pid))
        return self._exit_code

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (exit_code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f'process {self.pid}', timeout)
            time.sleep(POLL_S)
        return exit_code


# ---------------------------------------------------------------------- the process that forks
def serve() -> str:
    """Handles requests; returns in the process of a node, with its module."""
    while line := sys.stdin.readline():
        kind, *request = json.loads(line)
        if kind == 'poll':
            (pid,) = request
            ended, status = os.waitpid(pid, os.WNOHANG)
            print(json.dumps(os.waitstatus_to_exitcode(status) if ended else None))
            continue
        module, arguments, output = request
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', DeprecationWarning)  # for the threads of NumPy's linear algebra, which rest
            pid = os.fork()
        if not pid:
            become(output)
            sys.argv = [str(sys.modules[module].__file__), *arguments]
            return module
        with suppress(OSError):  # it may have ended
            os.setpgid(pid, pid)
        print(pid)
    return ''


def become(output: str) -> None:
    """Makes this process one of its own, with its output in a file."""
    os.setpgid(0, 0)
    for file, flags, number in (
        (os.devnull, os.O_RDONLY, 0),
        (output, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 1),
        (output, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 2),
    ):
        opened = os.open(file, flags, 0o666)
        os.dup2(opened, number)
        os.close(opened)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def main() -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # nodes are ended one by one
    for module in sys.argv[1:]:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    module = serve()
    return sys.modules[module].main() if module else 0


if __name__ == '__main__':
    sys.exit(main())
