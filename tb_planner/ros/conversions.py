"""Messages to the core's words and back. What cannot be used raises BadMessage with the value and the limit.

Maps and patches come as the bytes that were on the wire: what rclpy would do to them takes longer than all the rest,
and holds up every thread. A path goes out as such bytes, for the same reason. The layout is CDR: every number at a
multiple of its own size, counted from behind four bytes that tell the byte order.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, Quaternion
from numpy.typing import NDArray

from tb_planner.costmap import OCCUPIED, UNKNOWN
from tb_planner.geometry import Geometry
from tb_planner.grid import Cell
from tb_planner.navigator import Pose2

MAX_CELLS = 10**8
"""The largest map that is taken: 10,000 x 10,000 cells need some 3 GB."""
MIN_RESOLUTION_M, MAX_RESOLUTION_M = 1e-4, 1e3
"""Of a map: in cells of a millionth of a metre every distance would be millions of cells."""
MAX_COORDINATE_M = 1e7
"""Positions farther from the origin are taken for nonsense: doubles would still tell millimetres there."""

_TILTED = 1e-3
_NOT_UNIT = 0.05
_STRIPE = 2**20


class BadMessage(ValueError):
    """A message that cannot be used; says what it held and what is possible."""


@dataclass(frozen=True)
class StampedPose:
    """Where something was, in which frame, and when."""

    frame: str
    stamp_ns: int
    pose: Pose2


@dataclass(frozen=True, eq=False)
class Occupancy:
    """A whole map: occupancy [y, x], a view of the message's own bytes."""

    frame: str
    stamp_ns: int
    geometry: Geometry
    values: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Patch:
    """A part of a map, whose first cell is `at`."""

    frame: str
    stamp_ns: int
    at: Cell
    values: NDArray[np.int8]


def occupancy_from_cdr(data: bytes) -> Occupancy:
    """nav_msgs/OccupancyGrid. Values other than -1 and 0 to 100 are refused: a guess might lead through a wall."""
    reader = _Reader(data, 'map')
    stamp_ns, frame = reader.header()
    reader.numbers('iI')  # map_load_time
    resolution, width, height = reader.numbers('fII')
    x, y, z, *orientation = reader.numbers('7d')
    _check_size('map', width, height)
    # 0.05 comes as the float32 next to it; a map of a thousand cells would be out by some micrometres
    resolution_m = float(str(np.float32(resolution)))
    if not (math.isfinite(resolution_m) and resolution_m > 0):
        raise BadMessage(f'map has a resolution of {resolution_m} m; it is finite and above 0')
    if not MIN_RESOLUTION_M <= resolution_m <= MAX_RESOLUTION_M:
        limits = f'{MIN_RESOLUTION_M:g} to {MAX_RESOLUTION_M:g} m'
        raise BadMessage(f'map has a resolution of {resolution_m:g} m; {limits} are possible')
    check_place('map origin', x, y, z)
    origin = (x, y, _planar_yaw('map origin', *orientation))
    values = reader.cells(width, height)
    return Occupancy(frame, stamp_ns, Geometry(width, height, resolution_m, origin), values)


def patch_from_cdr(data: bytes) -> Patch:
    """map_msgs/OccupancyGridUpdate."""
    reader = _Reader(data, 'map update')
    stamp_ns, frame = reader.header()
    x, y, width, height = reader.numbers('iiII')
    _check_size('map update', width, height)
    return Patch(frame, stamp_ns, (x, y), reader.cells(width, height))


def pose_from_message(message: Any, what: str = 'pose') -> StampedPose:
    """PoseStamped, PoseWithCovarianceStamped or Odometry. Of the orientation only the yaw counts."""
    pose = getattr(message.pose, 'pose', message.pose)
    x, y, z = pose.position.x, pose.position.y, pose.position.z
    check_place(what, x, y, z)
    orientation = pose.orientation
    yaw = yaw_of(orientation.x, orientation.y, orientation.z, orientation.w, what)
    return StampedPose(message.header.frame_id, stamp_ns(message.header.stamp), Pose2(x, y, yaw))


def stamp_ns(stamp: Time) -> int:
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)


def check_place(what: str, *position: float) -> None:
    """Raises BadMessage for a position that is none."""
    if not all(abs(value) <= MAX_COORDINATE_M for value in position):  # also refuses nan
        shown = ', '.join(f'{value:g}' for value in position)
        raise BadMessage(f'{what} is at ({shown}); positions are finite, at most {MAX_COORDINATE_M:g} m')


def yaw_of(x: float, y: float, z: float, w: float, what: str = 'orientation') -> float:
    """The turn about the vertical of a quaternion that is one."""
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if not abs(length - 1) <= _NOT_UNIT:  # also refuses nan
        raise BadMessage(
            f'{what} has the orientation ({x:g}, {y:g}, {z:g}, {w:g}) of length {length:g}; it is 1, and (0, 0, 0, 1) '
            'is no turn'
        )
    return math.atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)


def quaternion_of(yaw: float) -> Quaternion:
    return Quaternion(x=0.0, y=0.0, z=math.sin(yaw / 2), w=math.cos(yaw / 2))


def pose_message(pose: Pose2, frame: str, stamp: Time) -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = frame
    message.header.stamp = stamp
    message.pose.position.x = float(pose.x_m)
    message.pose.position.y = float(pose.y_m)
    message.pose.orientation = quaternion_of(pose.yaw)
    return message


def path_as_cdr(points_m: NDArray[np.float64], frame: str, stamp: Time, last_yaw: float | None = None) -> bytes:
    """nav_msgs/Path through these points, each turned towards the next one; the last as told, or as the one before."""
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


class _Reader:
    """Reads CDR from front to back."""

    def __init__(self, data: bytes, what: str) -> None:
        self._data = data
        self._what = what
        self._at = 4
        if len(data) < 4 or data[0] != 0 or data[1] not in (0, 1):
            raise BadMessage(f'{what} begins with {data[:4].hex()}; plain CDR begins with 0000 or 0001')
        self._order = '<' if data[1] else '>'

    def numbers(self, codes: str) -> tuple[Any, ...]:
        size = struct.calcsize(self._order + codes[-1])
        self._at += -(self._at - 4) % size
        try:
            values = struct.unpack_from(self._order + codes, self._data, self._at)
        except struct.error:
            raise BadMessage(f'{self._what} ends after {len(self._data)} bytes; it has more to say') from None
        self._at += struct.calcsize(self._order + codes)
        return values

    def header(self) -> tuple[int, str]:
        """Stamp and frame of std_msgs/Header."""
        sec, nanosec, length = self.numbers('iII')
        text = self._data[self._at : self._at + length]
        self._at += length
        return sec * 10**9 + nanosec, text.rstrip(b'\0').decode(errors='replace')

    def cells(self, width: int, height: int) -> NDArray[np.int8]:
        """The sequence of occupancy values at the end of a message, as [y, x], without a copy."""
        (length,) = self.numbers('I')
        if length != width * height:
            raise BadMessage(f'{self._what} of {width} x {height} cells has {length} values; it has {width * height}')
        if len(self._data) < self._at + length:
            raise BadMessage(f'{self._what} ends after {len(self._data)} bytes; it has {self._at + length}')
        values = np.frombuffer(self._data, np.int8, length, self._at)
        self._check_values(values, width)
        return values.reshape(height, width)

    def _check_values(self, values: NDArray[np.int8], width: int) -> None:
        for start in range(0, len(values), _STRIPE):  # other threads get their turn in between
            stripe = values[start : start + _STRIPE]
            for where in (int(stripe.argmin()), int(stripe.argmax())):
                value = int(stripe[where])
                if not UNKNOWN <= value <= OCCUPIED:
                    y, x = divmod(start + where, width)
                    raise BadMessage(f'{self._what} has {value} at ({x}, {y}); it has -1 (unknown) or 0 to {OCCUPIED}')


def _check_size(what: str, width: int, height: int) -> None:
    if width == 0 or height == 0:
        raise BadMessage(f'{what} of {width} x {height} cells is empty; it has at least 1 x 1')
    if width * height > MAX_CELLS:
        raise BadMessage(f'{what} of {width} x {height} cells is too large; at most {MAX_CELLS} are possible')


def _planar_yaw(what: str, x: float, y: float, z: float, w: float) -> float:
    yaw = yaw_of(x, y, z, w, what)
    if math.hypot(x, y) > _TILTED:
        raise BadMessage(f'{what} has the orientation ({x:g}, {y:g}, {z:g}, {w:g}); a map lies flat: x and y are 0')
    return yaw


def _padded(data: bytes, size: int) -> bytes:
    return data + bytes(-len(data) % size)
