"""Where the robot is: from a topic, or from TF."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time

from tb_planner.config import PlannerParameters
from tb_planner.errors import OperationFailed
from tb_planner.geometry import Pose2D
from tb_planner.ros.conversions import BadMessage, StampedPose, check_place, pose_from_message, stamp_ns, yaw_of
from tb_planner.ros.throttled_log import ThrottledLog

TYPES = {'PoseStamped': PoseStamped, 'PoseWithCovarianceStamped': PoseWithCovarianceStamped, 'Odometry': Odometry}
NO_TF = (
    'pose_source is tf, and tf2_ros cannot be imported: install ros-$ROS_DISTRO-tf2-ros-py, or set pose_source to topic'
)


class Missing(OperationFailed):
    """Something that has to be installed first."""


def require_tf() -> Any:
    """tf2_ros; raises Missing."""
    try:
        import tf2_ros
    except ImportError as error:
        raise Missing(NO_TF) from error
    return tf2_ros


class NotYet(BadMessage):
    """A place that is not known, and may be in a moment, when more transforms have come."""


class PoseSource(Protocol):
    """Where the robot is in the map's frame."""

    def latest(self) -> Pose2D | None:
        """None if it is not known, or no longer."""

    def why_none(self) -> str:
        """Empty if there has never been one."""

    def change(self, parameters: PlannerParameters) -> None:
        """How old it may be."""

    def age_s(self) -> float | None: ...

    def as_seen(self, goal: StampedPose) -> Pose2D:
        """A goal in the map's frame; raises BadMessage if it is in another one and that one's place is not known,
        NotYet if it may be in a moment."""

    def forget(self) -> None:
        """What was known was said in another frame."""

    def clock_jumped(self) -> None:
        """Ages count from now on."""

    def close(self) -> None: ...


class TopicPose:
    """Keeps the last good message. Its age counts from its receipt: robots' clocks differ."""

    def __init__(
        self,
        node: Node,
        parameters: PlannerParameters,
        problems: ThrottledLog,
        frame: Callable[[], str],
        now_s: Callable[[], float],
    ) -> None:
        self._node = node
        self._frame = frame
        self.change(parameters)
        self._problems = problems
        self._now_s = now_s
        self._last: Pose2D | None = None
        self._received_s = 0.0
        best_effort = parameters.pose_reliability == 'best_effort'
        qos = QoSProfile(
            depth=1,
            reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
            durability=DurabilityPolicy.VOLATILE,
        )
        self._subscription = node.create_subscription(TYPES[parameters.pose_type], 'pose', self._take, qos)

    def _take(self, message: Any) -> None:
        try:
            stamped = pose_from_message(message)
            if stamped.frame not in ('', self._frame()):
                raise BadMessage(f'pose is in frame {stamped.frame!r}, the map in {self._frame()!r}')
        except BadMessage as error:
            self._problems.warn('pose', f'{error}; the last good pose stays')
        else:
            self._last, self._received_s = stamped.pose, self._now_s()

    def change(self, parameters: PlannerParameters) -> None:
        self._timeout_s = parameters.pose_timeout_s or math.inf

    def latest(self) -> Pose2D | None:
        age_s = self.age_s()
        return None if age_s is None or age_s > self._timeout_s else self._last

    def why_none(self) -> str:
        age_s = self.age_s()
        return '' if age_s is None else f'pose is {age_s:.1f} s old, more than {self._timeout_s} s'

    def age_s(self) -> float | None:
        if self._last is None:
            return None
        now_s = self._now_s()
        self._received_s = min(self._received_s, now_s)  # the clock may have been set back
        return now_s - self._received_s

    def as_seen(self, goal: StampedPose) -> Pose2D:
        if goal.frame in ('', self._frame()):
            return goal.pose
        raise BadMessage(
            f'goal is in frame {goal.frame!r}, the map in {self._frame()!r} (pose_source tf could transform it)'
        )

    def forget(self) -> None:
        self._last = None

    def clock_jumped(self) -> None:
        self._received_s = self._now_s()

    def close(self) -> None:
        self._node.destroy_subscription(self._subscription)


class TfPose:
    """Looks the robot's frame up in TF. A transform older than the tolerance is not used."""

    def __init__(
        self, node: Node, parameters: PlannerParameters, problems: ThrottledLog, frame: Callable[[], str]
    ) -> None:
        tf2_ros = require_tf()
        self._node = node
        self._frame = frame
        self._base = parameters.robot_base_frame
        self.change(parameters)
        self._problems = problems
        self._last: Pose2D | None = None
        self._stamp_ns = 0
        self._reason = ''
        self._error = tf2_ros.TransformException
        self._buffer = tf2_ros.Buffer()
        self._listener = tf2_ros.TransformListener(self._buffer, node)

    def change(self, parameters: PlannerParameters) -> None:
        self._tolerance_s = parameters.transform_tolerance_s

    def latest(self) -> Pose2D | None:
        try:
            transform = self._buffer.lookup_transform(self._frame(), self._base, Time())
            self._last = _pose_of(transform.transform, f'transform {self._frame()} to {self._base}')
            self._stamp_ns = stamp_ns(transform.header.stamp)
            self._reason = ''
        except self._error as error:
            self._reason = f'no pose from TF: {_said(error)}'
        except BadMessage as error:
            self._problems.warn('pose', f'{error}; the last good pose stays')
        age_s = self.age_s()
        return None if age_s is None or age_s > self._tolerance_s else self._last

    def why_none(self) -> str:
        age_s = self.age_s()
        if age_s is None or self._reason:
            return self._reason
        return f'transform {self._frame()} to {self._base} is {age_s:.1f} s old, more than {self._tolerance_s} s'

    def age_s(self) -> float | None:
        if self._last is None:
            return None
        if self._stamp_ns == 0:  # a static transform
            return 0.0
        return max((self._node.get_clock().now().nanoseconds - self._stamp_ns) * 1e-9, 0.0)

    def as_seen(self, goal: StampedPose) -> Pose2D:
        """From where its frame was at the goal's time: one that was said of the robot's own stays when the robot goes.
        A time of 0 is the newest that is known, and so is one that TF has not come to yet."""
        frame = self._frame()
        if goal.frame in ('', frame):
            return goal.pose
        try:
            newest = self._buffer.get_latest_common_time(frame, goal.frame)
            then = Time(nanoseconds=goal.stamp_ns if 0 < goal.stamp_ns < newest.nanoseconds else 0)
            transform = self._buffer.lookup_transform(frame, goal.frame, then)
        except self._error as error:
            raise NotYet(f'goal is in frame {goal.frame!r}, the map in {frame!r}: {_said(error)}') from error
        origin = _pose_of(transform.transform, f'transform {frame} to {goal.frame}')
        cos, sin = math.cos(origin.yaw), math.sin(origin.yaw)
        x, y = goal.pose.x_m, goal.pose.y_m
        return Pose2D(origin.x_m + cos * x - sin * y, origin.y_m + sin * x + cos * y, origin.yaw + goal.pose.yaw)

    def forget(self) -> None:
        self._last = None

    def clock_jumped(self) -> None:
        self._last = None
        self._buffer.clear()  # else, with the clock set back, all that comes would look old; static ones stay

    def close(self) -> None:
        self._listener.unregister()


def _said(error: Exception) -> str:
    """Without the full stop, and the space behind it: more is said after it."""
    return str(error).rstrip(' .')


def _pose_of(transform: Any, what: str) -> Pose2D:
    x, y = transform.translation.x, transform.translation.y
    check_place(what, x, y)
    turn = transform.rotation
    return Pose2D(x, y, yaw_of(turn.x, turn.y, turn.z, turn.w, what))
