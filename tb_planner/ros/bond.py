"""A node's side of the bond with Nav2's lifecycle manager, as nav2_util's LifecycleNode keeps it in Jazzy.

While the node is active it says on the topic `bond`, period by period, that it lives, and in the end that it does not.
The manager takes all of its nodes down if one is silent for its bond_timeout. The other way round nothing follows:
a manager that is silent, or that says its side has ended, leaves the node active. The id is the node's name, which the
manager knows; each activation has an instance id of its own.

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
from tb_planner.ros.throttled_log import ThrottledLog

TOPIC = 'bond'
HEARTBEAT_TIMEOUT_S = 4.0
"""ReplaySummary to the other side, as Nav2's servers do; this side does not heed it."""
CONNECT_TIMEOUT_S = 10.0
"""Where there is no manager, or one without bonds, heartbeats end after so long, as bondcpp's do."""
PARTING_S = 0.1
"""How long the end waits at most for the other side's middleware to have heard of it."""
NOT_INSTALLED = (
    "nav2 is true, and the package bond cannot be imported: there is no bond, and Nav2's lifecycle manager will take "
    'this node for dead; install ros-$ROS_DISTRO-bond, or set bond_heartbeat_period to 0 and its bond_timeout to 0.0'
)


class BondState(str, enum.Enum):
    """Where a bond is in its life; bondcpp's states, but that nothing is waited for when it ends."""

    WAITING = 'waiting'
    """for the other side."""
    FORMED = 'formed'
    BROKEN = 'broken'
    """No more heartbeats."""

    __str__ = str.__str__


def make_bond(node: LifecycleNode, parameters: PlannerParameters, problems: ThrottledLog) -> Bond | None:
    """None if none is wanted, or where the package bond is not installed: that is reported."""
    if not parameters.nav2 or parameters.bond_heartbeat_period == 0:
        return None
    try:
        from bond.msg import Status
    except ImportError:
        problems.error('bond', NOT_INSTALLED)
        return None
    return Bond(node, Status, parameters.bond_heartbeat_period)


class Bond:
    """Begins to beat at once; close() breaks it."""

    def __init__(self, node: LifecycleNode, status_type: Any, period_s: float) -> None:
        self.state = BondState.WAITING
        self._node = node
        self._status_type = status_type
        self._period_s = period_s
        self._instance_id = str(uuid.uuid4())
        self._sister = ''  # the other side's instance id, once it is alive
        self._clock = Clock(clock_type=ClockType.STEADY_TIME)
        self._began = self._clock.now()
        self._publisher = node.create_publisher(status_type, TOPIC, QoSProfile(depth=5))
        self._subscription = node.create_subscription(status_type, TOPIC, self._hear, QoSProfile(depth=100))
        self._timer = node.create_timer(period_s, self._beat, clock=self._clock)

    def close(self) -> None:
        """Says that this side has ended, unless that has been said, and takes all down."""
        self._break()
        self._node.destroy_timer(self._timer)
        self._node.destroy_subscription(self._subscription)
        self._publisher.wait_for_all_acked(Duration(seconds=PARTING_S))
        self._node.destroy_publisher(self._publisher)

    def _beat(self) -> None:
        if self.state == BondState.WAITING and self._clock.now() - self._began > Duration(seconds=CONNECT_TIMEOUT_S):
            self._node.get_logger().info(f'no lifecycle manager has made a bond within {CONNECT_TIMEOUT_S:g} s')
            self.state = BondState.BROKEN
        if self.state == BondState.BROKEN:
            self._timer.cancel()
        else:
            self._say(active=True)

    def _hear(self, status: Any) -> None:
        """Of the topic's bonds only this one counts, and of its two sides only the other."""
        if status.id != self._node.get_name() or status.instance_id == self._instance_id:
            return
        if status.active:
            self._sister = status.instance_id  # a manager that is started again has another one
            if self.state == BondState.WAITING:
                self.state = BondState.FORMED
                self._node.get_logger().info('bond with the lifecycle manager formed')
        elif status.instance_id == self._sister:  # others are late words about an earlier activation
            self._break()

    def _break(self) -> None:
        if self.state != BondState.BROKEN:
            self.state = BondState.BROKEN
            self._say(active=False)

    def _say(self, *, active: bool) -> None:
        status = self._status_type()
        status.header.stamp = self._node.get_clock().now().to_msg()
        status.id = self._node.get_name()
        status.instance_id = self._instance_id
        status.active = active
        status.heartbeat_timeout = HEARTBEAT_TIMEOUT_S
        status.heartbeat_period = self._period_s
        self._publisher.publish(status)
