"""Where the robot is: from a topic, or from TF."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from builtin_interfaces.msg import Time as Stamp
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.time import Time

from tb_planner.config import PlannerParameters
from tb_planner.errors import OperationFailed
from tb_planner.geometry import Pose2D, composed
from tb_planner.maps.cdr import BadMessage, StampedPose, check_frame, check_place, yaw_of
from tb_planner.navigation.loop import PoseSource, ReceivedPose
from tb_planner.ros.throttled_log import ThrottledLog

TYPES = {'PoseStamped': PoseStamped, 'PoseWithCovarianceStamped': PoseWithCovarianceStamped, 'Odometry': Odometry}
NO_TF = (
    'pose_source is tf, and tf2_ros cannot be imported: install ros-$ROS_DISTRO-tf2-ros-py, or set pose_source to topic'
)


class MissingPackage(OperationFailed):
    """A package that has to be installed first."""


class TransformNotReady(BadMessage):
    """A pose that cannot be transformed yet; it may be in a moment, when more transforms have arrived."""


def require_tf() -> Any:
    """Imports tf2_ros; raises MissingPackage."""
    try:
        import tf2_ros
    except ImportError as error:
        raise MissingPackage(NO_TF) from error
    return tf2_ros


def pose_from_message(message: Any, what: str = 'pose') -> StampedPose:
    """PoseStamped, PoseWithCovarianceStamped or Odometry. Of the orientation only the yaw counts."""
    check_frame(what, message.header.frame_id)
    pose = getattr(message.pose, 'pose', message.pose)
    x, y, z = pose.position.x, pose.position.y, pose.position.z
    check_place(what, x, y, z)
    orientation = pose.orientation
    yaw = yaw_of(orientation.x, orientation.y, orientation.z, orientation.w, what)
    return StampedPose(message.header.frame_id, stamp_ns(message.header.stamp), Pose2D(x, y, yaw))


def stamp_ns(stamp: Stamp) -> int:
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


class RobotPose(PoseSource, Protocol):
    """A PoseSource that also brings goals into the map's frame."""

    timeout_s: float
    """A pose older than this is lost."""

    def to_map_frame(self, goal: StampedPose) -> Pose2D:
        """Raises BadMessage if the goal is in a frame that is not known, TransformNotReady if it may be in a moment."""

    def close(self) -> None: ...


class TopicPose(ReceivedPose):
    """The last usable message of the topic `pose`."""

    def __init__(
        self,
        node: Node,
        parameters: PlannerParameters,
        log: ThrottledLog,
        frame: Callable[[], str],
        now_s: Callable[[], float],
    ) -> None:
        super().__init__(parameters.pose_timeout_s)
        self._node = node
        self._frame = frame
        self._log = log
        self._now_s = now_s
        best_effort = parameters.pose_reliability == 'best_effort'
        qos = QoSProfile(
            depth=1,
            reliability=ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE,
            durability=DurabilityPolicy.VOLATILE,
        )
        self._subscription = node.create_subscription(TYPES[parameters.pose_type], 'pose', self._receive, qos)

    def _receive(self, message: Any) -> None:
        try:
            stamped = pose_from_message(message)
            if stamped.frame not in ('', self._frame()):
                raise BadMessage(f'pose is in frame {stamped.frame!r}, the map in {self._frame()!r}')
        except BadMessage as error:
            self._log.warn('pose', f'{error}; the last good pose stays')
        else:
            self.take(stamped.pose, self._now_s())

    def to_map_frame(self, goal: StampedPose) -> Pose2D:
        if goal.frame in ('', self._frame()):
            return goal.pose
        raise BadMessage(
            f'goal is in frame {goal.frame!r}, the map in {self._frame()!r} (pose_source tf could transform it)'
        )

    def close(self) -> None:
        self._node.destroy_subscription(self._subscription)


class TfPose:
    """The pose of the robot's frame in TF. A transform older than the tolerance is lost.

    Ages follow the stamps of transforms and the node's ROS clock; the ticks' now_s may be another clock.
    """

    def __init__(self, node: Node, parameters: PlannerParameters, log: ThrottledLog, frame: Callable[[], str]) -> None:
        tf2_ros = require_tf()
        self.timeout_s = parameters.transform_tolerance_s
        self._node = node
        self._frame = frame
        self._base = parameters.robot_base_frame
        self._log = log
        self._last: Pose2D | None = None
        self._stamp_ns = 0
        self._reason = ''
        self._error = tf2_ros.TransformException
        self._buffer = tf2_ros.Buffer()
        self._listener = tf2_ros.TransformListener(self._buffer, node)

    def latest(self, now_s: float) -> Pose2D | None:
        try:
            transform = self._buffer.lookup_transform(self._frame(), self._base, Time())
            self._last = _pose_of(transform.transform, f'transform {self._frame()} to {self._base}')
            self._stamp_ns = stamp_ns(transform.header.stamp)
            self._reason = ''
        except self._error as error:
            self._reason = f'no pose from TF: {_text_of(error)}'
        except BadMessage as error:
            self._log.warn('pose', f'{error}; the last good pose stays')
        age_s = self.age_s(now_s)
        return None if age_s is None or age_s > self.timeout_s else self._last

    def why_none(self, now_s: float) -> str:
        age_s = self.age_s(now_s)
        if age_s is None or self._reason:
            return self._reason
        limit = f'{self.timeout_s} s (transform_tolerance_s)'
        return f'transform {self._frame()} to {self._base} is {age_s:.1f} s old, more than {limit}'

    def age_s(self, now_s: float) -> float | None:
        if self._last is None:
            return None
        if self._stamp_ns == 0:  # a static transform
            return 0.0
        return max((self._node.get_clock().now().nanoseconds - self._stamp_ns) * 1e-9, 0.0)

    def to_map_frame(self, goal: StampedPose) -> Pose2D:
        """Transforms the goal at its own time: a goal in the robot's frame stays where it is when the robot moves on.
        A stamp of 0 means the newest transform, and so does a stamp that TF has not reached yet."""
        frame = self._frame()
        if goal.frame in ('', frame):
            return goal.pose
        try:
            newest = self._buffer.get_latest_common_time(frame, goal.frame)
            then = Time(nanoseconds=goal.stamp_ns if 0 < goal.stamp_ns < newest.nanoseconds else 0)
            transform = self._buffer.lookup_transform(frame, goal.frame, then)
        except self._error as error:
            text = f'goal is in frame {goal.frame!r}, the map in {frame!r}: {_text_of(error)}'
            raise TransformNotReady(text) from error
        return composed(_pose_of(transform.transform, f'transform {frame} to {goal.frame}'), goal.pose)

    def forget(self) -> None:
        self._last = None

    def clock_jumped(self, now_s: float) -> None:
        self._last = None
        self._buffer.clear()  # else, with the clock set back, every new transform would look old; static ones stay

    def close(self) -> None:
        self._listener.unregister()


def _text_of(error: Exception) -> str:
    """The error's text without a full stop at its end: the sentence goes on."""
    return str(error).rstrip(' .')


def _pose_of(transform: Any, what: str) -> Pose2D:
    x, y = transform.translation.x, transform.translation.y
    check_place(what, x, y)
    turn = transform.rotation
    return Pose2D(x, y, yaw_of(turn.x, turn.y, turn.z, turn.w, what))
