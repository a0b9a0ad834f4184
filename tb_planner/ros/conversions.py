"""Messages to the planner's types and back. A message that cannot be used raises BadMessage with value and limit.

Maps and patches arrive as serialised bytes (maps/cdr.py): rclpy would take longer to decode them than everything else
takes, and would hold up every thread. Paths are published as bytes for the same reason.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, Quaternion
from numpy.typing import NDArray

from tb_planner.geometry import Pose2D
from tb_planner.maps.cdr import (
    MAX_CELLS,
    BadMessage,
    Occupancy,
    Patch,
    StampedPose,
    check_place,
    occupancy_from_cdr,
    patch_from_cdr,
    yaw_of,
)

__all__ = [
    'MAX_CELLS',
    'BadMessage',
    'Occupancy',
    'Patch',
    'StampedPose',
    'check_place',
    'headings',
    'occupancy_from_cdr',
    'patch_from_cdr',
    'path_as_cdr',
    'pose_from_message',
    'pose_message',
    'quaternion_of',
    'stamp_ns',
    'yaw_of',
]


def pose_from_message(message: Any, what: str = 'pose') -> StampedPose:
    """PoseStamped, PoseWithCovarianceStamped or Odometry. Of the orientation only the yaw counts."""
    pose = getattr(message.pose, 'pose', message.pose)
    x, y, z = pose.position.x, pose.position.y, pose.position.z
    check_place(what, x, y, z)
    orientation = pose.orientation
    yaw = yaw_of(orientation.x, orientation.y, orientation.z, orientation.w, what)
    return StampedPose(message.header.frame_id, stamp_ns(message.header.stamp), Pose2D(x, y, yaw))


def stamp_ns(stamp: Time) -> int:
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


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


def headings(points_m: NDArray[np.float64], last_yaw: float | None = None) -> NDArray[np.float64]:
    """The direction from each point to the next."""
    steps = np.diff(points_m, axis=0)
    yaws = np.zeros(len(points_m))
    yaws[:-1] = np.arctan2(steps[:, 1], steps[:, 0])
    yaws[-1] = last_yaw if last_yaw is not None else yaws[-2] if len(yaws) > 1 else 0.0
    return yaws


def _padded(data: bytes, size: int) -> bytes:
    return data + bytes(-len(data) % size)
