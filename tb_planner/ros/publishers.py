"""What the planner node publishes, with its QoS, and what RViz can show of the search.

Paths are published as bytes: rclpy would take longer to encode them than everything else takes.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import yaml
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Point, PoseStamped, Quaternion
from nav_msgs.msg import OccupancyGrid, Path
from numpy.typing import NDArray
from rclpy.clock import Clock
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import ColorRGBA, Header, String
from visualization_msgs.msg import Marker, MarkerArray

from tb_planner.errors import MAX_TEXT
from tb_planner.geometry import MapGeometry, Pose2D, headings
from tb_planner.navigation.navigator import NavigationStatus, Navigator

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
IN_ORDER = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.VOLATILE)
STROKES = QoSProfile(depth=200)

_GREEN = ColorRGBA(r=0.1, g=0.7, b=0.2, a=0.9)
_BLUE = ColorRGBA(r=0.1, g=0.4, b=0.9, a=0.9)
_RED = ColorRGBA(r=0.9, g=0.2, b=0.1, a=0.9)
_ORANGE = ColorRGBA(r=0.9, g=0.6, b=0.0, a=0.9)


class RestartPlace(NamedTuple):
    """Where the robot was when the search restarted, and why."""

    pose: Pose2D
    reasons: str


class Publishers:
    """The publishers of the node. They exist from configure to clean-up, and publish while the node is active. Those
    for RViz cost nothing while nobody subscribes."""

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self._waypoint = node.create_lifecycle_publisher(PoseStamped, 'waypoint', NEWEST)
        self._plan = node.create_lifecycle_publisher(Path, 'plan', LATCHED)
        self._status = node.create_lifecycle_publisher(String, '~/status', LATCHED)
        self._summary = node.create_lifecycle_publisher(String, '~/summary', LATCHED)
        self._diagnostics = node.create_lifecycle_publisher(DiagnosticArray, '/diagnostics', IN_ORDER)
        self._expansions = node.create_lifecycle_publisher(OccupancyGrid, 'expansions', LATCHED)
        self._markers = node.create_lifecycle_publisher(MarkerArray, 'markers', NEWEST)

    def waypoint(self, pose: Pose2D, frame: str) -> None:
        self._waypoint.publish(pose_message(pose, frame, self.stamp()))

    def plan(self, points_m: NDArray[np.float64], frame: str, last_yaw: float | None) -> None:
        self._plan.publish(path_as_cdr(points_m, frame, self.stamp(), last_yaw))

    def status(self, status: NavigationStatus) -> None:
        self._status.publish(String(data=status.value))

    def summary(self, values: Mapping[str, object]) -> None:
        """Publishes YAML with one line for each value: people read it, and programs can."""
        text = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, width=MAX_TEXT)
        self._summary.publish(String(data=text.rstrip()))

    def diagnostics(self, message: DiagnosticArray) -> None:
        self._diagnostics.publish(message)

    def display(
        self, navigator: Navigator, waypoint: Pose2D | None, restarts: Sequence[RestartPlace], frame: str
    ) -> None:
        if self._expansions.get_subscription_count() and navigator.planner and navigator.geometry:
            header = Header(frame_id=frame, stamp=self.stamp())
            self._expansions.publish(map_message(navigator.planner.search_picture(), navigator.geometry, header))
        if self._markers.get_subscription_count():
            self._markers.publish(markers_message(navigator, waypoint, restarts, frame, self.stamp()))

    def close(self) -> None:
        reports = (self._status, self._summary, self._diagnostics)
        for publisher in (self._waypoint, self._plan, *reports, self._expansions, self._markers):
            self._node.destroy_lifecycle_publisher(publisher)

    def stamp(self) -> Time:
        return time_message(self._node.get_clock())


def time_message(clock: Clock) -> Time:
    """The present time; if it is too late for a message, by a mistake on /clock, the last that a message can have."""
    sec, nanosec = divmod(clock.now().nanoseconds, 10**9)
    return Time(sec=min(sec, 2**31 - 1), nanosec=nanosec)


def map_message(occupancy: NDArray[np.int8], geometry: MapGeometry, header: Header) -> OccupancyGrid:
    message = OccupancyGrid(header=header)
    message.info.map_load_time = header.stamp
    message.info.width, message.info.height = geometry.width, geometry.height
    message.info.resolution = float(geometry.resolution_m)
    message.info.origin.position.x, message.info.origin.position.y = map(float, geometry.origin[:2])
    message.info.origin.orientation = quaternion_of(geometry.yaw)
    message.data = occupancy_values(occupancy)
    return message


def occupancy_values(occupancy: NDArray[np.int8]) -> array[int]:
    # filling from an array.array takes 0.04 ms for 1000 x 1000 cells, from an ndarray 82 ms
    values = array('b')
    values.frombytes(np.ascontiguousarray(occupancy).data.cast('B'))
    return values


def markers_message(
    navigator: Navigator, waypoint: Pose2D | None, restarts: Sequence[RestartPlace], frame: str, stamp: Time
) -> MarkerArray:
    """The goal, the waypoint, the part of the plan that backtracks along the robot's own path, and the restarts."""
    backtracking = navigator.plan_points()[: navigator.backtracking_length + 1]
    world = Pose2D(0.0, 0.0, 0.0) if len(backtracking) > 1 else None
    markers = [
        _marker('goal', Marker.ARROW, navigator.goal, _GREEN, (0.5, 0.08, 0.08)),
        _marker('waypoint', Marker.SPHERE, waypoint, _BLUE, (0.15, 0.15, 0.15)),
        _marker('backtracking', Marker.LINE_STRIP, world, _RED, (0.04, 0.0, 0.0)),
    ]
    markers[-1].points = [Point(x=float(x), y=float(y), z=0.0) for x, y in backtracking]
    markers += _restart_markers(restarts)
    for marker in markers:
        marker.header.frame_id = frame
        marker.header.stamp = stamp
    return MarkerArray(markers=markers)


def _restart_markers(restarts: Sequence[RestartPlace]) -> list[Marker]:
    """A dot for each restart, with its reason beside it."""
    world = Pose2D(0.0, 0.0, 0.0) if restarts else None
    dots = _marker('restarts', Marker.SPHERE_LIST, world, _ORANGE, (0.15, 0.15, 0.15))
    dots.points = [Point(x=place.pose.x_m, y=place.pose.y_m, z=0.0) for place in restarts]
    markers = [dots]
    for number, place in enumerate(restarts):
        beside = Pose2D(place.pose.x_m, place.pose.y_m + 0.2)
        text = _marker('restart_reasons', Marker.TEXT_VIEW_FACING, beside, _ORANGE, (0.0, 0.0, 0.2))
        text.id, text.text = number, place.reasons
        markers.append(text)
    return markers


def _marker(name: str, kind: int, pose: Pose2D | None, colour: ColorRGBA, scale: tuple[float, float, float]) -> Marker:
    """A marker in a namespace of its own; without a pose it is deleted."""
    marker = Marker(ns=name, id=0, type=kind, action=Marker.DELETE if pose is None else Marker.ADD, color=colour)
    if pose is not None:
        marker.pose = pose_message(pose, '', Time()).pose
    marker.scale.x, marker.scale.y, marker.scale.z = scale
    return marker


def quaternion_of(yaw: float) -> Quaternion:
    return Quaternion(x=0.0, y=0.0, z=math.sin(yaw / 2), w=math.cos(yaw / 2))


def pose_message(pose: Pose2D, frame: str, stamp: Time) -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    message.header.stamp = stamp
    message.pose.position.x = float(pose.x_m)
    message.pose.position.y = float(pose.y_m)
    message.pose.orientation = quaternion_of(pose.yaw)
    return message


def points_of(path: Path) -> NDArray[np.float64]:
    """(n, 2) in metres; not checked for nan."""
    points = [(pose.pose.position.x, pose.pose.position.y) for pose in path.poses]
    return np.array(points, np.float64).reshape(-1, 2)


def path_as_cdr(points_m: NDArray[np.float64], frame: str, stamp: Time, last_yaw: float | None = None) -> bytes:
    """nav_msgs/Path through these points, each pointing to the next one; the last has last_yaw, or points on."""
    name = frame.encode() + b'\0'
    header = struct.pack('<iII', stamp.sec, stamp.nanosec, len(name)) + name
    head = _padded(header, 4) + struct.pack('<I', len(points_m))
    encapsulation = b'\0\1\0\0'
    if len(points_m) == 0:
        return encapsulation + head
    first = _padded(head + header, 8)
    between = _padded(header, 8)  # every pose ends at a multiple of 8
    poses = np.zeros(len(points_m), [('pose', '<f8', 7), ('next_header', np.uint8, len(between))])
    yaws = headings(points_m, last_yaw)
    poses['pose'][:, :2] = points_m
    poses['pose'][:, 5] = np.sin(yaws / 2)
    poses['pose'][:, 6] = np.cos(yaws / 2)
    poses['next_header'] = np.frombuffer(between, np.uint8)
    return encapsulation + first + poses.tobytes()[: -len(between)]


def _padded(data: bytes, size: int) -> bytes:
    return data + bytes(-len(data) % size)
