"""Whether Nav2's controller server follows a path, by the status of its action.

While it does, a path that stands is to come back as the same message, since another one would preempt it. Once it has
given up, it begins anew with whatever it is given next.
"""

from __future__ import annotations

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

_UNDER_WAY = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class ControllerWatch:
    """Its node may be served by another thread."""

    def __init__(self, node: Node, action: str) -> None:
        self.has_stopped = False
        """It is known, and follows nothing. One that is not known may be following: what drives the robot may be
        somebody else, or have another name."""
        node.create_subscription(GoalStatusArray, f'{action}/_action/status', self._hear, _LATCHED)

    def _hear(self, message: GoalStatusArray) -> None:
        self.has_stopped = not any(goal.status in _UNDER_WAY for goal in message.status_list)
