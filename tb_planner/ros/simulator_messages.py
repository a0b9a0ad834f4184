"""What the simulator says, as messages."""

from __future__ import annotations

import math
from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import OccupancyGrid, Odometry
from numpy.typing import NDArray
from sensor_msgs.msg import LaserScan

from tb_planner.geometry import Pose2D
from tb_planner.ros.conversions import quaternion_of
from tb_planner.ros.simulator_parameters import SimulatorParameters
from tb_planner.simulation import MapNews, Motion


def map_message(news: MapNews, frame: str, stamp: Time) -> OccupancyGrid:
    geometry, message = news.geometry, OccupancyGrid()
    x_m, y_m, yaw = geometry.origin
    message.header.frame_id = frame
    message.header.stamp = stamp
    message.info.map_load_time = stamp
    message.info.resolution = float(geometry.resolution_m)
    message.info.width, message.info.height = geometry.width, geometry.height
    message.info.origin.position.x, message.info.origin.position.y = float(x_m), float(y_m)
    message.info.origin.orientation = quaternion_of(yaw)
    message.data = _values(news.occupancy)
    return message


def update_message(news: MapNews, kind: Any, frame: str, stamp: Time) -> Any:
    """The changed part, as a map_msgs/OccupancyGridUpdate."""
    assert news.changed is not None
    box, message = news.changed, kind()
    message.header.frame_id = frame
    message.header.stamp = stamp
    message.x, message.y = box.x0, box.y0
    message.width, message.height = box.x1 - box.x0, box.y1 - box.y0
    message.data = _values(news.occupancy[box.slices])
    return message


def odometry_message(pose: Pose2D, motion: Motion, frame: str, child: str, stamp: Time) -> Odometry:
    message = Odometry()
    message.header.frame_id, message.child_frame_id = frame, child
    message.header.stamp = stamp
    message.pose.pose.position.x, message.pose.pose.position.y = pose.x_m, pose.y_m
    message.pose.pose.orientation = quaternion_of(pose.yaw)
    message.twist.twist.linear.x, message.twist.twist.angular.z = motion.speed_m_s, motion.turn_rad_s
    return message


def transform_message(pose: Pose2D, frame: str, child: str, stamp: Time) -> TransformStamped:
    message = TransformStamped()
    message.header.frame_id, message.child_frame_id = frame, child
    message.header.stamp = stamp
    message.transform.translation.x, message.transform.translation.y = pose.x_m, pose.y_m
    message.transform.rotation = quaternion_of(pose.yaw)
    return message


def scan_message(ranges_m: NDArray[np.float64], parameters: SimulatorParameters, stamp: Time) -> LaserScan:
    nothing = math.inf if parameters.scan_use_inf else parameters.scan_range_max - 0.1
    ranges = np.where(np.isinf(ranges_m), nothing, ranges_m)
    ranges[ranges < parameters.scan_range_min] = 0.0
    message = LaserScan()
    message.header.frame_id = parameters.scan_frame_id
    message.header.stamp = stamp
    message.angle_min, message.angle_increment = parameters.scan_angle_min, parameters.scan_angle_increment
    message.angle_max = parameters.scan_angle_min + parameters.scan_angle_increment * (len(ranges) - 1)
    message.scan_time = parameters.scan_publish_dur
    message.range_min, message.range_max = parameters.scan_range_min, parameters.scan_range_max
    message.ranges = array('f', ranges.astype(np.float32).tobytes())
    return message


def _values(occupancy: NDArray[np.int8]) -> array[int]:
    # of all that a message takes, this is the quickest by far
    values = array('b')
    values.frombytes(np.ascontiguousarray(occupancy).data.cast('B'))
    return values
