"""The view node: serves the live page of a record, and passes the input of its pages on.

A click sets a goal; strokes draw or erase obstacles in the simulator; a goal can be canceled, and the planner's
algorithm and weight be changed. Input is accepted only while a simulator runs: a page must not drive a real robot.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tb_planner.errors import OperationFailed
from tb_planner.ros.main import help_of, ros_needed_by, run_node

with ros_needed_by('view_node'):
    from geometry_msgs.msg import PointStamped, PoseStamped
    from rcl_interfaces.msg import ParameterEvent
    from rcl_interfaces.srv import GetParameters, SetParameters
    from rclpy.clock import Clock, ClockType
    from rclpy.node import Node
    from rclpy.parameter import Parameter, parameter_value_to_python
    from std_msgs.msg import UInt32
    from std_srvs.srv import Trigger

from tb_planner.geometry import Pose2D
from tb_planner.parameters import parameter
from tb_planner.ros import params as ros_parameters
from tb_planner.ros.publishers import IN_ORDER, LATCHED, NEWEST, STROKES, pose_message, time_message
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.search.algorithms import ALGORITHMS, takes_weight
from tb_planner.view.page_input import is_setting
from tb_planner.view.server import HOST, PORT, PORTS, LiveServer, Respond

PLANNER = 'tb_planner'
SHOWN = ('algorithm', 'weight')
"""Parameters of the planner that pages show and change."""
MAX_ASKED = 16
"""Requests of pages to the planner that may wait for a response."""
LOOK_S, REMIND_S = 0.5, 10.0
ENDED = 'The run has ended.'


@dataclass(frozen=True)
class ViewParameters:
    """Every parameter of the node."""

    record: str = parameter('', "file that the planner's parameter record names", read_only=True)
    title: str = parameter('', "title of the page; '' is the name of the record", read_only=True)
    host: str = parameter(
        HOST, 'address to listen on; 127.0.0.1 is this computer only, others need a token (see the log)', read_only=True
    )
    port: int = parameter(
        PORT,
        f'port to listen on; if it is in use, the next free one of {PORTS}; 0 takes any free port',
        low=0,
        high=65535,
        read_only=True,
    )
    map_frame_id: str = parameter('map', 'frame of goals and strokes', read_only=True)

    def problems(self) -> Iterator[str]:
        """Which values contradict each other."""
        if not self.record:
            yield "record is ''; it must be the file to show"


class CannotServe(OperationFailed):
    """The server cannot listen on this address."""


class ViewNode(Node):
    """Runs the server of the live page, publishes goals and strokes of its pages, and asks the planner for them."""

    def __init__(self, **options: Any) -> None:
        super().__init__('view', **options)
        self._chosen = ros_parameters.declare(self, ViewParameters)
        self.log = ThrottledLog(self.get_logger())
        self._goals = self.create_publisher(PoseStamped, 'goal_pose', NEWEST)
        self._strokes = {
            tool: self.create_publisher(PointStamped, f'simulator/{tool}', STROKES) for tool in ('draw', 'erase')
        }
        self._pages = self.create_publisher(UInt32, '~/pages', LATCHED)
        self._reminder = self.create_timer(REMIND_S, self._remind, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._planner = PlannerClient(self)
        record = Path(self._chosen.record).expanduser()
        try:
            self._server = LiveServer(
                record,
                host=self._chosen.host,
                port=self._chosen.port,
                ports=PORTS,
                title=self._chosen.title or record.stem,
                on_input=self._on_input,
                accepts_input=self._is_simulated,
                facts=lambda: {'planner': self._planner.values},
                on_pages=self._publish_pages,
            )
        except (OSError, ImportError) as error:
            raise CannotServe(f'cannot listen on {self._chosen.host}, port {self._chosen.port}: {error}') from error
        self._publish_pages(0)
        if self._chosen.port not in (0, self._server.port):
            self.get_logger().warning(f'Port {self._chosen.port} is in use: the page has port {self._server.port}')
        self.get_logger().info(f'The run is shown at {self._server.access}')

    def destroy_node(self) -> None:
        self._server.close(ENDED)
        super().destroy_node()

    def _publish_pages(self, number: int) -> None:
        self._pages.publish(UInt32(data=number))
        if number:
            self._reminder.cancel()

    def _remind(self) -> None:
        self.get_logger().info(f'No page shows the run yet; open {self._server.access}')

    def _is_simulated(self) -> bool:
        """Whether the simulator subscribes to strokes. Others may, too, such as `ros2 bag record -a`."""
        topic = self._strokes['draw'].topic_name
        owner = topic.removesuffix('/draw')
        return any(
            f'{subscriber.node_namespace.rstrip("/")}/{subscriber.node_name}' == owner
            for subscriber in self.get_subscriptions_info_by_topic(topic)
        )

    def _on_input(self, message: dict[str, Any], respond: Respond) -> None:
        """Passes the checked input of a page on; called in the thread of that page."""
        ((what, value),) = message.items()
        if what == 'goal':
            self._goals.publish(pose_message(Pose2D(*value), self._chosen.map_frame_id, self._stamp()))
        elif what in self._strokes:
            stroke = PointStamped()
            stroke.header.frame_id, stroke.header.stamp = self._chosen.map_frame_id, self._stamp()
            stroke.point.x, stroke.point.y = map(float, value)
            self._strokes[what].publish(stroke)
        elif what == 'cancel':
            self._planner.cancel(respond)
        elif what == 'set':
            self._planner.set(value, respond)

    def _stamp(self) -> Any:
        return time_message(self.get_clock())


class PlannerClient:
    """The planner beside the view: its algorithm and weight, and requests to it."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._name = node.resolve_topic_name(PLANNER)
        self._cancel = node.create_client(Trigger, f'{PLANNER}/cancel')
        self._get = node.create_client(GetParameters, f'{PLANNER}/get_parameters')
        self._lock = threading.Lock()
        self._asked: deque[tuple[Any, Any]] = deque()  # clients and futures of the last requests
        self._set = node.create_client(SetParameters, f'{PLANNER}/set_parameters')
        node.create_subscription(ParameterEvent, '/parameter_events', self._see_event, IN_ORDER)
        node.create_timer(LOOK_S, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.values: dict[str, Any] | None = None
        """What pages show; None without a planner."""

    def cancel(self, respond: Respond) -> None:
        """Asks the planner to cancel its goal; any thread may call it."""
        if not self._cancel.service_is_ready():
            respond(f'{self._name} does not run, or is not configured', False)
            return

        def report(done: Any) -> None:
            respond(done.result().message, done.result().success)

        self._ask(self._cancel, Trigger.Request(), report)

    def set(self, values: dict[str, Any], respond: Respond) -> None:
        """Asks the planner to change these parameters; any thread may call it."""
        if not self._set.service_is_ready():
            respond(f'{self._name} does not run', False)
            return
        items = [Parameter(name, value=float(value) if name == 'weight' else value) for name, value in values.items()]
        text = ', '.join(f'{item.name} is now {item.value}' for item in items)

        def report(done: Any) -> None:
            reasons = [result.reason for result in done.result().results if not result.successful]
            respond('; '.join(reasons) or text, not reasons)

        request = SetParameters.Request(parameters=[item.to_parameter_msg() for item in items])
        self._ask(self._set, request, report)

    def _ask(self, client: Any, request: Any, report: Callable[[Any], None]) -> None:
        """Calls a service; forgets the oldest request if too many have no response yet."""
        with self._lock:
            if len(self._asked) == MAX_ASKED:
                other, oldest = self._asked.popleft()
                other.remove_pending_request(oldest)
            future = client.call_async(request)
            self._asked.append((client, future))
        future.add_done_callback(report)

    def _look(self) -> None:
        """Asks a planner that has appeared for its parameters; its first response may be lost."""
        if not self._get.service_is_ready():
            self.values = None
        elif self.values is None:
            future = self._get.call_async(GetParameters.Request(names=list(SHOWN)))
            future.add_done_callback(lambda done: self._take(zip(SHOWN, done.result().values, strict=False)))

    def _see_event(self, event: ParameterEvent) -> None:
        if event.node == self._name:
            self._take((item.name, item.value) for item in (*event.new_parameters, *event.changed_parameters))

    def _take(self, items: Iterable[tuple[str, Any]]) -> None:
        values = ((name, parameter_value_to_python(value)) for name, value in items if name in SHOWN)
        found = {name: value for name, value in values if is_setting({name: value})}
        if found:
            known = {'algorithms': {name: takes_weight(name) for name in ALGORITHMS}, **(self.values or {})}
            self.values = {**known, **found}


def main(args: list[str] | None = None) -> int:
    """Runs the node until it is shut down; returns 0, or 1 if it cannot start."""
    text = help_of('view_node', 'docs/reference.md', __doc__, ViewParameters)
    return run_node(ViewNode, 'view', (ros_parameters.BadParameters, CannotServe), args, text)


if __name__ == '__main__':
    sys.exit(main())
