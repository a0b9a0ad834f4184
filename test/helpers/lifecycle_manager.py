"""What Nav2's lifecycle manager does with one node: its transitions, and its side of the bond, as bondcpp keeps it."""

import time
import uuid

import pytest
from rclpy.node import Node
from rclpy.qos import QoSProfile

from helpers.peer import BackgroundPeer
from helpers.processes import LIMIT_S
from helpers.surroundings import PlannerPeer

Status = pytest.importorskip('bond.msg', reason='the package bond is not installed').Status

WAITING_FOR_SISTER, ALIVE, AWAIT_SISTER_DEATH, DEAD = 'waiting for sister', 'alive', 'await sister death', 'dead'
HEARTBEAT_PERIOD_S = 0.1


class Sister:
    """The manager's side of a bond: bondcpp's state machine, with its time-outs. Silence is counted in beats of its
    own, since a busy manager cannot know who is late."""

    def __init__(self, node: Node, id_: str, heartbeat_timeout_s: float) -> None:
        self.state = WAITING_FOR_SISTER
        self.received: list[Status] = []
        """The messages of the other side."""
        self.gaps_s: list[float] = []
        """The times between heartbeats of the other side."""
        self.id = id_
        self.instance_id = str(uuid.uuid4())
        self._heartbeat_timeout_s = heartbeat_timeout_s
        self._last_s = time.monotonic()
        self._silent_beats = 0
        self._node = node
        self._publisher = self._node.create_publisher(Status, 'bond', QoSProfile(depth=5))
        self._subscription = self._node.create_subscription(Status, 'bond', self._receive, QoSProfile(depth=100))
        self._timer = self._node.create_timer(HEARTBEAT_PERIOD_S, self._beat)

    def break_bond(self) -> None:
        if self.state == ALIVE:
            self.state = AWAIT_SISTER_DEATH
        elif self.state == WAITING_FOR_SISTER:
            self.state = DEAD
        self._publish(active=False)

    def fall_silent(self) -> None:
        """Stops publishing, as a manager that has crashed."""
        self._node.destroy_timer(self._timer)
        self._node.destroy_subscription(self._subscription)
        self._node.destroy_publisher(self._publisher)

    def _receive(self, status: Status) -> None:
        if status.id != self.id or status.instance_id == self.instance_id:
            return
        self.received.append(status)
        if status.active:
            now_s = time.monotonic()
            if self.state == ALIVE:
                self.gaps_s.append(now_s - self._last_s)
            self._last_s, self._silent_beats = now_s, 0
            self.state = ALIVE if self.state == WAITING_FOR_SISTER else self.state
        elif self.state != DEAD:
            acknowledge, self.state = self.state != AWAIT_SISTER_DEATH, DEAD
            if acknowledge:
                self._publish(active=False)

    def _beat(self) -> None:
        self._silent_beats += 1
        if self.state == ALIVE and self._silent_beats * HEARTBEAT_PERIOD_S > self._heartbeat_timeout_s:
            self.state = DEAD
        if self.state != DEAD:
            self._publish(active=self.state != AWAIT_SISTER_DEATH)

    def _publish(self, *, active: bool) -> None:
        status = Status(id=self.id, instance_id=self.instance_id, active=active)
        status.heartbeat_timeout, status.heartbeat_period = self._heartbeat_timeout_s, HEARTBEAT_PERIOD_S
        self._publisher.publish(status)


class Manager:
    """Brings a node up and down; without bonds where bond_timeout_s is 0, as Nav2's parameter bond_timeout. Bonds are
    kept by a node with a thread of its own."""

    def __init__(self, around: PlannerPeer, bond_timeout_s: float = 4.0) -> None:
        self._around = around
        self._peer = BackgroundPeer('lifecycle_manager')
        self._peer.start()
        self._bond_timeout_s = bond_timeout_s
        self.bond: Sister | None = None

    def start_up(self) -> None:
        assert self._around.change_state('configure')
        self.activate()

    def activate(self) -> None:
        assert self._around.change_state('activate')
        if self._bond_timeout_s > 0:
            bond = self.make_bond()
            self._around.peer.wait_until(lambda: bond.state != WAITING_FOR_SISTER, 'the bond is formed', LIMIT_S)
            assert bond.state == ALIVE

    def make_bond(self) -> Sister:
        self.bond = Sister(self._peer.node, self._around.name, self._bond_timeout_s)
        return self.bond

    def close(self) -> None:
        self._peer.close()

    def deactivate(self) -> Sister | None:
        """The bond, as it is after it."""
        assert self._around.change_state('deactivate')
        bond, self.bond = self.bond, None
        return bond
