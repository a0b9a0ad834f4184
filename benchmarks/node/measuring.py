"""`python -m MODULE SCENE.json FIGURES.json`: a process that measures nodes, with a node of its own."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from tb_planner.ros.main import init_with_signals, spin_until


class MeasurementAborted(RuntimeError):
    """Something that was waited for has not happened in time, or the process was asked to end."""


class NodeWatch:
    """Serves the node while something is waited for."""

    def __init__(self, node: Node, shutdown_requested: threading.Event) -> None:
        self.node = node
        self._shutdown_requested = shutdown_requested
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(node)

    def wait_until(self, condition: Callable[[], object], limit_s: float, what: str) -> None:
        """what: the message if it has not come true within the limit."""
        if not spin_until(self._executor, condition, limit_s, self._check):
            raise MeasurementAborted(f'{what} within {limit_s:g} s')

    def wait(self, time_s: float) -> None:
        spin_until(self._executor, lambda: False, time_s, self._check)

    def _check(self) -> None:
        if self._shutdown_requested.is_set():
            raise MeasurementAborted('asked to end')


def main(name: str, measure: Callable[[NodeWatch, dict[str, Any]], dict[str, Any]]) -> int:
    """Measures, with a node of this name, the scene; 0 if the figures are written, 1 if it was cut short."""
    scene_path, figures_path = map(Path, sys.argv[1:3])
    shutdown_requested = init_with_signals([])
    node = rclpy.create_node(name)
    try:
        figures = measure(NodeWatch(node, shutdown_requested), json.loads(scene_path.read_text()))
    except MeasurementAborted as reason:
        print(reason, file=sys.stderr)
        return 1
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    figures_path.write_text(json.dumps(figures))
    return 0
