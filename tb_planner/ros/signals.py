"""A node ends between two callbacks when it is told to: rclpy's own handlers would end its context within one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

WAKE_S = 0.1
"""A signal does not wake an executor that waits; it looks up by itself this often."""

_NUMBERS = (signal.SIGINT, signal.SIGTERM)


def init(args: list[str] | None = None) -> threading.Event:
    """rclpy.init(); the event is set by SIGINT and SIGTERM, which do nothing else from now on."""
    shutdown_requested = threading.Event()
    for number in _NUMBERS:
        signal.signal(number, lambda *_: shutdown_requested.set())
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    return shutdown_requested


def spin(node: Node, shutdown_requested: threading.Event) -> None:
    """Serves the node until it is told to end; later signals are ignored, also while Python itself ends."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while node.context.ok() and not shutdown_requested.is_set():
            executor.spin_once(timeout_sec=WAKE_S)
    except ExternalShutdownException:
        pass
    finally:
        # Ctrl-C under launch comes twice, and at its end Python gives handlers back, but not what is ignored
        for number in _NUMBERS:
            signal.signal(number, signal.SIG_IGN)
        executor.shutdown()


def run(
    new_node: Callable[[], Node], name: str, cannot_start: tuple[type[Exception], ...], args: list[str] | None
) -> int:
    """A whole process with one node, until it is told to end: 0 then, 1 if it cannot start, and says why."""
    shutdown_requested = init(args)
    try:
        node = new_node()
    except cannot_start as error:
        for reason in str(error).splitlines():
            rclpy.logging.get_logger(name).fatal(reason)
        rclpy.try_shutdown()
        return 1
    try:
        spin(node, shutdown_requested)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    return 0
