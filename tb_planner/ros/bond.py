"""A node's side of the bond with Nav2's lifecycle manager, as nav2_util's LifecycleNode keeps it in Jazzy.

While the node is active it publishes a heartbeat on the topic `bond` in every period, and a last message at the end.
The manager shuts all of its nodes down if one is silent for its bond_timeout. The reverse has no effect: a manager that
is silent, or that publishes the end of its side, leaves the node active. The id is the node's name, which the manager
knows; each activation has an instance id of its own.

Heartbeats come from the executor that the ticks come from: a node that hangs has none.
"""

from __future__ import annotations

import enum
import uuid
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import QoSProfile

from tb_planner.config import PlannerParameters
from tb_planner.ros.publishers import time_message
from tb_planner.ros.throttled_log import ThrottledLog

TOPIC = 'bond'
HEARTBEAT_TIMEOUT_S = 4.0
"""Part of every heartbeat, as with Nav2's servers; this side does not use it."""
CONNECT_TIMEOUT_S = 10.0
"""Without a manager, or with one that has no bonds, heartbeats end after this time, as bondcpp's do."""
PARTING_S = 0.1
"""How long the end waits at most until the other side has received the last message."""
NOT_INSTALLED = (
    "nav2 is true, and the package bond cannot be imported: there is no bond, and Nav2's lifecycle manager will "
    'consider this node dead; install ros-$ROS_DISTRO-bond, or set bond_heartbeat_period to 0 and its bond_timeout to '
    '0.0'
)


class BondState(str, enum.Enum):
    """The states of a bond: bondcpp's, but a bond does not wait when it ends."""

    WAITING = 'waiting'
    """The other side has sent nothing yet."""
    FORMED = 'formed'
    BROKEN = 'broken'
    """The other side sends no more heartbeats."""

    __str__ = str.__str__


def make_bond(node: LifecycleNode, parameters: PlannerParameters, log: ThrottledLog) -> Bond | None:
    """None if no bond is wanted, or if the package bond is not installed, which is logged."""
    if not parameters.nav2 or parameters.bond_heartbeat_period == 0:
        return None
    try:
        from bond.msg import Status
    except ImportError:
        log.error('bond', NOT_INSTALLED)
        return None
    return Bond(node, Status, parameters.bond_heartbeat_period)


class Bond:
    """Sends heartbeats from the beginning; close() breaks it."""

    def __init__(self, node: LifecycleNode, status_type: Any, period_s: float) -> None:
        self.state = BondState.WAITING
        self._is_closed = False
        self._node = node
        self._status_type = status_type
        self._period_s = period_s
        self._instance_id = str(uuid.uuid4())
        self._sister = ''  # the other side's instance id, once it is alive
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._began = self._clock.now()
        self._publisher = node.create_publisher(status_type, TOPIC, QoSProfile(depth=5))
        self._subscription = node.create_subscription(status_type, TOPIC, self._receive, QoSProfile(depth=100))
        self._timer = node.create_timer(period_s, self._beat, clock=self._clock)

    def close(self) -> None:
        """Publishes that this side has ended, unless it has, and destroys everything."""
        self._break()
        self._is_closed = True
        self._node.destroy_timer(self._timer)
        self._node.destroy_subscription(self._subscription)
        self._publisher.wait_for_all_acked(Duration(seconds=PARTING_S))
        self._node.destroy_publisher(self._publisher)

    def _beat(self) -> None:
        if self._is_closed:  # a heartbeat that was due by then may still come
            return
        if self.state == BondState.WAITING and self._clock.now() - self._began > Duration(seconds=CONNECT_TIMEOUT_S):
            self._node.get_logger().info(f'no lifecycle manager has formed a bond within {CONNECT_TIMEOUT_S:g} s')
            self.state = BondState.BROKEN
        if self.state == BondState.BROKEN:
            self._timer.cancel()
        else:
            self._publish(active=True)

    def _receive(self, status: Any) -> None:
        """Ignores other bonds on the topic, and this side's own messages."""
        if status.id != self._node.get_name() or status.instance_id == self._instance_id:
            return
        if status.active:
            self._sister = status.instance_id  # a manager that is started again has another one
            if self.state == BondState.WAITING:
                self.state = BondState.FORMED
                self._node.get_logger().info('bond with the lifecycle manager formed')
        elif status.instance_id == self._sister:  # others are late messages about an earlier activation
            self._break()

    def _break(self) -> None:
        if self.state != BondState.BROKEN:
            self.state = BondState.BROKEN
            self._publish(active=False)

    def _publish(self, *, active: bool) -> None:
        status = self._status_type()
        status.header.stamp = time_message(self._node.get_clock())
        status.id = self._node.get_name()
        status.instance_id = self._instance_id
        status.active = active
        status.heartbeat_timeout = HEARTBEAT_TIMEOUT_S
        status.heartbeat_period = self._period_s
        self._publisher.publish(status)
