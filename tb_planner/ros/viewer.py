"""The wait for a viewer: a demo with a live page starts its robot when the page is open, or when the time is up."""

from __future__ import annotations

import time

from rclpy.node import Node
from std_msgs.msg import UInt32

from tb_planner.ros.publishers import LATCHED


class Viewer:
    """Waits until a page of the live view shows the run, for limit_s at most. The caller spins the node."""

    def __init__(self, node: Node, limit_s: float) -> None:
        self._limit_s = limit_s
        self._deadline = time.monotonic() + limit_s
        self._has_come = False
        node.create_subscription(UInt32, 'view/pages', self._see_pages, LATCHED)

    @property
    def is_awaited(self) -> bool:
        return not self._has_come and time.monotonic() < self._deadline

    @property
    def announcement(self) -> str:
        return f'The robot starts when the page is open, or in {self._limit_s:g} s.'

    @property
    def outcome(self) -> str:
        """How the wait has ended, in words."""
        return 'The page is open.' if self._has_come else 'The robot starts; the page can be opened at any time.'

    def _see_pages(self, message: UInt32) -> None:
        self._has_come = self._has_come or message.data > 0
