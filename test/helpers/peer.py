"""The test's own node: it subscribes, publishes, calls services, and spins while it waits."""

import threading
import time
from collections.abc import Callable
from typing import Any

import rclpy
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.action import ActionClient, ActionServer
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from helpers.processes import LIMIT_S

RELIABLE = QoSProfile(depth=10)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
QUEUE_DEPTH = 1000
"""The number of messages that wait for a busy test; with fewer, older ones would be lost."""


def deep_queue(qos: QoSProfile) -> QoSProfile:
    return QoSProfile(depth=QUEUE_DEPTH, reliability=qos.reliability, durability=qos.durability)


class Received(list):
    """The messages of a topic, oldest first."""

    @property
    def last(self) -> Any:
        return self[-1] if self else None


class Peer:
    def __init__(self, name: str = 'peer', **node_options: Any) -> None:
        self._context = rclpy.Context()
        self._context.init()  # and no handlers: signals are pytest's
        self.node = rclpy.create_node(name, context=self._context, **node_options)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._clients: dict[str, Client] = {}

    def close(self) -> None:
        """Ends the node with its actions: rclpy leaves those to the garbage collector, where they may block."""
        self._executor.shutdown(timeout_sec=LIMIT_S)
        for waitable in list(self.node.waitables):
            if isinstance(waitable, (ActionClient, ActionServer)):
                waitable.destroy()
        self.node.destroy_node()
        self._context.try_shutdown()

    def subscribe(self, topic: str, type_: type, qos: QoSProfile = RELIABLE) -> Received:
        """All messages of the topic from now on; they arrive while the peer spins."""
        received = Received()
        self.node.create_subscription(type_, topic, received.append, deep_queue(qos))
        return received

    def subscribe_status(self, node: str = 'tb_planner') -> Received:
        return self.subscribe(f'{node}/status', String, LATCHED)

    def publisher(self, topic: str, type_: type, qos: QoSProfile = RELIABLE, *, to: int = 1) -> Publisher:
        """A publisher that already has this number of subscribers."""
        publisher = self.node.create_publisher(type_, topic, qos)
        self.wait_until(lambda: publisher.get_subscription_count() >= to, f'{topic} has {to} subscribers')
        return publisher

    def call(self, service: str, type_: Any, request: Any = None, limit_s: float = LIMIT_S) -> Any:
        """Calls the service and returns its response.

        Where a node has just ended, DDS may still know its service, and the request for the next node of that name is
        lost: then it is sent once more.
        """
        client = self._clients.get(service) or self._new_client(service, type_, limit_s)
        self.wait_until(client.service_is_ready, f'service {service} is there', limit_s)
        deadline, responses = time.monotonic() + limit_s / 3, [client.call_async(request or type_.Request())]

        def response_is_there() -> bool:
            if len(responses) == 1 and time.monotonic() > deadline:
                responses.append(client.call_async(request or type_.Request()))
            return any(one.done() for one in responses)

        self.wait_until(response_is_there, f'service {service} responds', limit_s)
        return next(one.result() for one in responses if one.done())

    def _new_client(self, service: str, type_: Any, limit_s: float) -> Client:
        """A client that the service has discovered; a busy server drops its response to one that it has not."""
        client = self._clients[service] = self.node.create_client(type_, service)
        self.wait_until(client.service_is_ready, f'service {service} is there', limit_s)
        self.spin(0.05)
        return client

    def set_parameters(self, node: str, **values: Any) -> str:
        """Sets the parameters of a node together; returns the reason if they are refused."""
        request = SetParametersAtomically.Request(
            parameters=[Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        )
        result = self.call(f'{node}/set_parameters_atomically', SetParametersAtomically, request).result
        assert result.successful == (not result.reason)
        return result.reason

    def wait_for_status(self, received: Received, *statuses: str, limit_s: float = LIMIT_S) -> str:
        """Waits until the last status is one of these."""
        self.wait_until(
            lambda: received and received.last.data in statuses,
            lambda: f'status is {" or ".join(statuses)}; received {[status.data for status in received]}',
            limit_s,
        )
        return received.last.data

    def wait_until(
        self, condition: Callable[[], object], what: str | Callable[[], str], limit_s: float = LIMIT_S
    ) -> None:
        """Spins until the condition is true; fails with `what` if it is not in time."""
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f'not within {limit_s} s: {what() if callable(what) else what}')
            self._executor.spin_once(timeout_sec=0.05)

    def spin(self, time_s: float) -> None:
        """Receives messages for this time."""
        deadline = time.monotonic() + time_s
        while (left := deadline - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)


class BackgroundPeer(Peer):
    """Spins in a thread of its own, from start() to close(), whatever the test does meanwhile."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ending = False

    def start(self) -> 'BackgroundPeer':
        self._thread.start()
        return self

    def close(self) -> None:
        """Fails rather than destroy the node under a thread that still uses it."""
        self._ending = True
        if self._thread.is_alive():
            self._thread.join(LIMIT_S)
            assert not self._thread.is_alive(), f'{self.node.get_name()} is busy for more than {LIMIT_S} s'
        super().close()

    def _serve(self) -> None:
        while not self._ending:
            self._executor.spin_once(timeout_sec=0.05)
