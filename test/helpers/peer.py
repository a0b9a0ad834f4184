"""The test's own node: it hears topics, says things, calls services, and waits while it spins."""

import threading
import time
from collections.abc import Callable
from typing import Any

import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionClient, ActionServer
from rclpy.client import Client
from rclpy.executors import SingleThreadedExecutor
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from helpers.processes import LIMIT_S

RELIABLE = QoSProfile(depth=10)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
HEARD_LATER = 1000
"""So many messages wait for a test that is busy; with fewer the older ones of them would be lost."""


def patient(qos: QoSProfile) -> QoSProfile:
    return QoSProfile(depth=HEARD_LATER, reliability=qos.reliability, durability=qos.durability)


class Heard(list):
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
        """Actions, too, which rclpy leaves to the garbage collector: what outlives its node may keep that waiting."""
        self._executor.shutdown(timeout_sec=LIMIT_S)
        for waitable in list(self.node.waitables):
            if isinstance(waitable, (ActionClient, ActionServer)):
                waitable.destroy()
        self.node.destroy_node()
        self._context.try_shutdown()

    def hear(self, topic: str, type_: type, qos: QoSProfile = RELIABLE) -> Heard:
        """All messages of the topic from now on; they come in while one of the waits below is under way."""
        heard = Heard()
        self.node.create_subscription(type_, topic, heard.append, patient(qos))
        return heard

    def hear_status(self, node: str = 'tb_planner') -> Heard:
        return self.hear(f'{node}/status', String, LATCHED)

    def speaker(self, topic: str, type_: type, qos: QoSProfile = RELIABLE, *, to: int = 1) -> Publisher:
        """A publisher that so many already listen to."""
        publisher = self.node.create_publisher(type_, topic, qos)
        self.wait_until(lambda: publisher.get_subscription_count() >= to, f'somebody listens to {topic}')
        return publisher

    def say_goal(self, x_m: float, y_m: float, *, frame: str = 'map', topic: str = 'goal_pose') -> None:
        goal = PoseStamped()
        goal.header.frame_id = frame
        goal.pose.position.x, goal.pose.position.y = float(x_m), float(y_m)
        goal.pose.orientation.w = 1.0
        self.speaker(topic, PoseStamped).publish(goal)

    def call(self, service: str, type_: Any, request: Any = None, limit_s: float = LIMIT_S) -> Any:
        """The service's answer."""
        client = self._clients.get(service) or self._new_client(service, type_, limit_s)
        self.wait_until(client.service_is_ready, f'service {service} is there', limit_s)
        answer = client.call_async(request or type_.Request())
        self.wait_until(answer.done, f'service {service} answers', limit_s)
        return answer.result()

    def _new_client(self, service: str, type_: Any, limit_s: float) -> Client:
        """One that the service knows, too: a busy server that has not heard of it yet drops its answer."""
        client = self._clients[service] = self.node.create_client(type_, service)
        self.wait_until(client.service_is_ready, f'service {service} is there', limit_s)
        self.spin(0.05)
        return client

    def wait_for_status(self, heard: Heard, *statuses: str, limit_s: float = LIMIT_S) -> str:
        """Waits until the last status is one of these."""
        self.wait_until(
            lambda: heard and heard.last.data in statuses,
            lambda: f'status is {" or ".join(statuses)}; heard {[status.data for status in heard]}',
            limit_s,
        )
        return heard.last.data

    def wait_until(
        self, condition: Callable[[], object], what: str | Callable[[], str], limit_s: float = LIMIT_S
    ) -> None:
        """Spins until the condition is true; fails, saying what was waited for, if it is not in time."""
        deadline = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f'not within {limit_s} s: {what() if callable(what) else what}')
            self._executor.spin_once(timeout_sec=0.05)

    def spin(self, time_s: float) -> None:
        """Goes on hearing for so long."""
        deadline = time.monotonic() + time_s
        while (left := deadline - time.monotonic()) > 0:
            self._executor.spin_once(timeout_sec=left)


class BackgroundPeer(Peer):
    """Hears and speaks in a thread of its own, from start() to close(), whatever the test does meanwhile."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._ending = False

    def start(self) -> 'BackgroundPeer':
        self._thread.start()
        return self

    def close(self) -> None:
        """Nothing is taken down under a thread that still uses it: better a failure, and a thread left alone."""
        self._ending = True
        if self._thread.is_alive():
            self._thread.join(LIMIT_S)
            assert not self._thread.is_alive(), f'{self.node.get_name()} is busy for more than {LIMIT_S} s'
        super().close()

    def _serve(self) -> None:
        while not self._ending:
            self._executor.spin_once(timeout_sec=0.05)
