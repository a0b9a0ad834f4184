"""The view node: serves the live page of a record, and publishes the input of its pages.

A click sets a goal; strokes draw or erase obstacles in the simulator. Input is accepted only while a simulator runs: a
page must not drive a real robot.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb_planner.errors import OperationFailed
from tb_planner.ros.main import help_of, ros_needed_by, run_node

with ros_needed_by('view_node'):
    from geometry_msgs.msg import PointStamped, PoseStamped
    from rclpy.node import Node

from tb_planner.geometry import Pose2D
from tb_planner.parameters import parameter
from tb_planner.ros import params as ros_parameters
from tb_planner.ros.publishers import NEWEST, STROKES, pose_message, time_message
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.view.server import HOST, LiveServer

MAX_COORDINATE_M = 1e9


@dataclass(frozen=True)
class ViewParameters:
    """Every parameter of the node."""

    record: str = parameter('', "file that the planner's parameter record names", read_only=True)
    host: str = parameter(
        HOST, 'address to listen on; 127.0.0.1 is this computer only, others need a token (see the log)', read_only=True
    )
    port: int = parameter(8642, 'port to listen on; 0 takes a free port', low=0, high=65535, read_only=True)
    map_frame_id: str = parameter('map', 'frame of goals and strokes', read_only=True)

    def problems(self) -> Iterator[str]:
        """Which values contradict each other."""
        if not self.record:
            yield "record is ''; it must be the file to show"


class CannotServe(OperationFailed):
    """The server cannot listen on this address."""


class ViewNode(Node):
    """Runs the server of the live page, and publishes goals and strokes of its pages."""

    def __init__(self, **options: Any) -> None:
        super().__init__('view', **options)
        self._chosen = ros_parameters.declare(self, ViewParameters)
        self.log = ThrottledLog(self.get_logger())
        self._goals = self.create_publisher(PoseStamped, 'goal_pose', NEWEST)
        self._strokes = {
            tool: self.create_publisher(PointStamped, f'simulator/{tool}', STROKES) for tool in ('draw', 'erase')
        }
        record = Path(self._chosen.record).expanduser()
        try:
            self._server = LiveServer(
                record,
                host=self._chosen.host,
                port=self._chosen.port,
                title=record.stem,
                on_input=self._on_input,
                accepts_input=self._is_simulated,
            )
        except (OSError, ImportError) as error:
            raise CannotServe(f'cannot listen on {self._chosen.host}, port {self._chosen.port}: {error}') from error
        self.get_logger().info(f'The run is shown at {self._server.access}')

    def destroy_node(self) -> None:
        self._server.close()
        super().destroy_node()

    def _is_simulated(self) -> bool:
        """Whether the simulator subscribes to strokes. Others may, too, such as `ros2 bag record -a`."""
        topic = self._strokes['draw'].topic_name
        owner = topic.removesuffix('/draw')
        return any(
            f'{subscriber.node_namespace.rstrip("/")}/{subscriber.node_name}' == owner
            for subscriber in self.get_subscriptions_info_by_topic(topic)
        )

    def _on_input(self, message: dict[str, Any]) -> None:
        """Publishes the input of a page; called in the thread of that page."""
        for what, place in message.items():
            if not _is_place(place):
                self.log.warn('page', f'Ignoring {what!r} of a page: {place!r} is not a position')
            elif what == 'goal':
                self._goals.publish(pose_message(Pose2D(*place), self._chosen.map_frame_id, self._stamp()))
            elif what in self._strokes:
                stroke = PointStamped()
                stroke.header.frame_id, stroke.header.stamp = self._chosen.map_frame_id, self._stamp()
                stroke.point.x, stroke.point.y = map(float, place)
                self._strokes[what].publish(stroke)

    def _stamp(self) -> Any:
        return time_message(self.get_clock())


def _is_place(place: object) -> bool:
    """Whether this is a list of two coordinates in metres."""
    if not isinstance(place, list) or len(place) != 2:
        return False
    return all(isinstance(value, (int, float)) and abs(value) <= MAX_COORDINATE_M for value in place)


def main(args: list[str] | None = None) -> int:
    """Runs the node until it is shut down; returns 0, or 1 if it cannot start."""
    text = help_of('view_node', 'docs/reference.md', __doc__, ViewParameters)
    return run_node(ViewNode, 'view', (ros_parameters.BadParameters, CannotServe), args, text)


if __name__ == '__main__':
    sys.exit(main())
