"""The main function of every node: it spins one node until SIGINT or SIGTERM, and explains why it cannot start.

This module can be imported without ROS: where ROS is missing, a node's program ends with one line of explanation.
"""

from __future__ import annotations

import functools
import gc
import inspect
import signal
import sys
import textwrap
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tb_planner.errors import cut
from tb_planner.parameters import as_yaml
from tb_planner.ros.throttled_log import ThrottledLog

if TYPE_CHECKING:
    from rclpy.context import Context
    from rclpy.executors import Executor
    from rclpy.node import Node

    class LoggingNode(Node):
        """A node with a log for errors that may recur."""

        log: ThrottledLog


DONE, CANNOT_START, NO_ROS = 0, 1, 2
WAKE_S = 0.1
"""A signal does not wake an executor that waits; the executor wakes this often by itself."""
HELP_WIDTH = 79

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ros_needed_by(*programs: str) -> Iterator[None]:
    """Surrounds the imports of a node. If one fails, a program of these names ends with one line; anybody else who
    imports the node gets the exception."""
    try:
        yield
    except ModuleNotFoundError as error:
        if Path(sys.argv[0]).stem not in programs:
            raise
        hint = "source a ROS 2 installation, or pip install '.[ros]'"
        print(f'{programs[0]}: ROS 2 is not available: {hint} ({error})', file=sys.stderr)
        sys.exit(NO_ROS)


def run_node(
    new_node: Callable[[], LoggingNode],
    name: str,
    cannot_start: tuple[type[Exception], ...],
    args: list[str] | None,
    help_text: str,
) -> int:
    """Runs a process with one node until a signal ends it. Returns 0, or 1 if the node cannot start."""
    if {'-h', '--help'}.intersection(sys.argv[1:] if args is None else args):
        print(help_text)
        return DONE
    import rclpy

    try:
        shutdown_requested = init_with_signals(args)
    except (RuntimeError, ValueError) as error:  # of rcl, for a parameter file or an argument that it cannot read
        print(f'{name}: cannot start: {cut(" ".join(str(error).split()))}', file=sys.stderr)
        return CANNOT_START
    from tb_planner.ros.params import limit_requests

    node = None
    try:
        node = new_node()
        limit_requests(node)
        spin(node, shutdown_requested)
    except cannot_start as error:
        if node is not None:
            raise
        for reason in str(error).splitlines():
            rclpy.logging.get_logger(name).fatal(cut(reason))
        return CANNOT_START
    finally:
        if node is not None:
            node.destroy_node()
        # a lifecycle node, even a half-built one, keeps its ROS node, and so DDS, until it is collected; what was left
        # of DDS at the end of a process crashed in 1 of 180, when other nodes were just being discovered. Kilted's
        # rclpy crashes if that comes after the shutdown
        del node
        gc.unfreeze()
        gc.collect()
        rclpy.try_shutdown()
    return DONE


def help_of(program: str, page: str, doc: str | None, parameters: type) -> str:
    """What --help prints: usage, the first line of the node's module, and its parameters with their defaults."""
    lines = as_yaml(parameters, program).splitlines()
    defaults = [line.strip().replace(': ', ':=') for line in lines if line.startswith('    ') and '#' not in line]
    return '\n'.join(
        [
            f'usage: {program} [--ros-args [-p NAME:=VALUE] [--params-file FILE]]',
            '',
            *textwrap.wrap((doc or '').partition('\n')[0], HELP_WIDTH),
            '',
            f'Parameters and their defaults, which {page} explains:',
            *textwrap.wrap(' '.join(defaults), HELP_WIDTH, initial_indent='  ', subsequent_indent='  '),
        ]
    )


def init_with_signals(args: list[str] | None = None) -> threading.Event:
    """Calls rclpy.init(). SIGINT and SIGTERM set the event: rclpy's own handlers would end its context within a
    callback."""
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    shutdown_requested = threading.Event()
    for number in _SIGNALS:
        signal.signal(number, lambda *_: shutdown_requested.set())
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    return shutdown_requested


def new_executor(context: Context, log: ThrottledLog) -> Executor:
    """An executor of one thread: the one of newer versions of rclpy, which is notified of what is ready. The older one
    looks at every entity of a node each time: with it, an idle planner that receives 50 poses a second takes 8.4 % of
    a core instead of 3.2 %.

    log: for errors of tasks. The newer executor ends the process by SIGSEGV if a task raises (Jazzy, rclpy 7.1.6):
    tasks are what create_task() was given, all callbacks of futures, and whatever a waitable executes.
    """
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.impl.implementation_singleton import rclpy_implementation

    if not hasattr(rclpy_implementation, 'EventsExecutor'):
        return SingleThreadedExecutor(context=context)

    class GuardedExecutor(rclpy_implementation.EventsExecutor):
        def add_node(self, node: Node) -> Any:
            self.nodes = [node]  # each of our executors has one
            _guard_waitables(node, log)
            return super().add_node(node)

        def wake(self) -> None:
            """Called by a node that has another entity."""
            for node in self.nodes:
                _guard_waitables(node, log)
            super().wake()

        def create_task(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            return super().create_task(_guarded(callback, log), *args, **kwargs)

    executor = GuardedExecutor(context)
    executor.nodes = []
    context.on_shutdown(executor.wake)  # as rclpy.experimental does
    return executor


def _guard_waitables(node: Node, log: ThrottledLog) -> None:
    for waitable in list(node.waitables):
        if 'execute' not in vars(waitable):
            execute = functools.partial(type(waitable).execute, weakref.proxy(waitable))
            vars(waitable)['execute'] = _guarded(execute, log)


def _guarded(task: Callable[..., Any], log: ThrottledLog) -> Callable[..., Any]:
    """The task, or the coroutine function, with a log in place of its exceptions."""

    def report(error: Exception) -> None:
        log.error('task', f'the node continues after an error in a task: {traceback.format_exc()}', same=repr(error))

    async def guarded_coroutine(*args: Any, **kwargs: Any) -> Any:
        try:
            return await task(*args, **kwargs)
        except Exception as error:
            report(error)

    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return task(*args, **kwargs)
        except Exception as error:
            report(error)

    return guarded_coroutine if inspect.iscoroutinefunction(task) else guarded


def spin_once(executor: Executor, timeout_s: float, log: ThrottledLog) -> None:
    """Spins once. An error is logged and counted, and ends nothing: rclpy raises in its own callbacks, for instance for
    a parameter of an unknown type, for a negative time on /clock, or when a client disappears at the wrong moment."""
    from rclpy.executors import ExternalShutdownException

    try:
        executor.spin_once(timeout_sec=timeout_s)
    except ExternalShutdownException:
        raise
    except Exception as error:
        log.error('rclpy', f'the node continues after an error in ROS: {traceback.format_exc()}', same=repr(error))


def spin_until(executor: Executor, condition: Callable[[], object], limit_s: float, check: Callable[[], None]) -> bool:
    """Spins until the condition is true; returns whether it became true in time.

    check: called again and again; raises an exception if the wait must end.
    """
    deadline = time.monotonic() + limit_s
    check()
    while not condition():
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return False
        executor.spin_once(timeout_sec=min(left_s, WAKE_S))
        check()
    return True


def spin(node: LoggingNode, shutdown_requested: threading.Event) -> None:
    """Spins the node until the event is set, and ignores signals from then on."""
    from rclpy.executors import ExternalShutdownException

    executor = new_executor(node.context, node.log)
    executor.add_node(node)
    try:
        while node.context.ok() and not shutdown_requested.is_set():
            spin_once(executor, WAKE_S, node.log)
    except ExternalShutdownException:
        pass
    finally:
        # Ctrl-C under launch comes twice, and Python restores handlers at its end, but not what is ignored
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        executor.shutdown()
