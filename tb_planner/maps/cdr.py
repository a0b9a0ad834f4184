"""Serialised ROS messages to the planner's types, without ROS: the node decodes large messages here, bags all of them.

A message that cannot be used raises BadMessage with value and limit. The layout is CDR: every number lies at a multiple
of its own size, counted from the end of a header of four bytes, which has the byte order.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import BadInput
from tb_planner.geometry import Cell, MapGeometry, Pose2D
from tb_planner.maps.costmap import OCCUPIED, UNKNOWN

MAX_CELLS = 10**8
"""The largest map: 10,000 x 10,000 cells need some 3 GB."""
MIN_RESOLUTION_M, MAX_RESOLUTION_M = 1e-4, 1e3
"""The range of a map's resolution: with cells of a micrometre every distance would be millions of cells."""
MAX_FRAME_LENGTH = 255
"""Characters of a frame's name: names are logged, and published with every waypoint."""
MAX_COORDINATE_M = 1e7
"""Positions farther from the origin are rejected, although doubles would still resolve millimetres there."""

_TILTED = 1e-3
_NOT_UNIT = 0.05
_STRIPE = 2**20
_AFTER_POSE = {'PoseStamped': '0d', 'PoseWithCovarianceStamped': '36d', 'Odometry': '78d'}
"""Covariance, and twist with its covariance: not used, but a message without them is incomplete."""


class BadMessage(BadInput):
    """A message that cannot be used; the text has the value and the limit."""


@dataclass(frozen=True)
class StampedPose:
    """Where something was, in which frame, and when."""

    frame: str
    stamp_ns: int
    pose: Pose2D


@dataclass(frozen=True, eq=False)
class Occupancy:
    """A whole map: occupancy [y, x], a view of the message's own bytes."""

    frame: str
    stamp_ns: int
    geometry: MapGeometry
    values: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Patch:
    """A part of a map, whose first cell is `at`."""

    frame: str
    stamp_ns: int
    at: Cell
    values: NDArray[np.int8]


def occupancy_from_cdr(data: bytes) -> Occupancy:
    """nav_msgs/OccupancyGrid. Values other than -1 and 0 to 100 are rejected: a guess might lead through a wall."""
    reader = _Reader(data, 'map')
    stamp_ns, frame = reader.header()
    reader.numbers('iI')  # map_load_time
    resolution, width, height = reader.numbers('fII')
    x, y, z, qx, qy, qz, qw = reader.numbers('7d')
    _check_size('map', width, height)
    # 0.05 arrives as the nearest float32; a map of a thousand cells would be off by some micrometres
    resolution_m = float(str(np.float32(resolution)))
    if not (math.isfinite(resolution_m) and resolution_m > 0):
        raise BadMessage(f'map has a resolution of {resolution_m} m; it must be finite and above 0')
    if not MIN_RESOLUTION_M <= resolution_m <= MAX_RESOLUTION_M:
        limits = f'between {MIN_RESOLUTION_M:g} and {MAX_RESOLUTION_M:g} m'
        raise BadMessage(f'map has a resolution of {resolution_m:g} m; it must be {limits}')
    check_place('map origin', x, y, z)
    yaw = yaw_of(qx, qy, qz, qw, 'map origin')
    if math.hypot(qx, qy) > _TILTED:
        orientation = f'({qx:g}, {qy:g}, {qz:g}, {qw:g})'
        raise BadMessage(f'map origin has the orientation {orientation}; x and y must be 0: a map is flat')
    geometry = MapGeometry(width, height, resolution_m, (x, y, yaw))
    return Occupancy(frame, stamp_ns, geometry, reader.cells(width, height))


def patch_from_cdr(data: bytes) -> Patch:
    """map_msgs/OccupancyGridUpdate."""
    reader = _Reader(data, 'map update')
    stamp_ns, frame = reader.header()
    x, y, width, height = reader.numbers('iiII')
    _check_size('map update', width, height)
    return Patch(frame, stamp_ns, (x, y), reader.cells(width, height))


def pose_from_cdr(data: bytes, type_name: str, what: str = 'pose') -> StampedPose:
    """PoseStamped, PoseWithCovarianceStamped or Odometry. Of the orientation only the yaw counts."""
    reader = _Reader(data, what)
    stamp_ns, frame = reader.header()
    if type_name == 'Odometry':
        reader.text()  # child_frame_id
    pose = reader.pose(what)
    reader.numbers(_AFTER_POSE[type_name])
    return StampedPose(frame, stamp_ns, pose)


def transforms_from_cdr(data: bytes) -> list[tuple[str, StampedPose]]:
    """tf2_msgs/TFMessage: child frames, and the pose of each in its parent."""
    reader = _Reader(data, 'transform')
    transforms = []
    for _ in range(reader.numbers('I')[0]):
        stamp_ns, frame = reader.header()
        child = reader.text()
        transforms.append((child, StampedPose(frame, stamp_ns, reader.pose(f'transform {frame} to {child}'))))
    return transforms


def check_frame(what: str, frame: str) -> None:
    """Raises BadMessage if the name of the frame is too long."""
    if len(frame) > MAX_FRAME_LENGTH:
        shown = f'{frame[:20]!r}, of {len(frame)} characters'
        raise BadMessage(f'{what} is in frame {shown}; it must have at most {MAX_FRAME_LENGTH}')


def check_place(what: str, *position: float) -> None:
    """Raises BadMessage unless the position is finite and near enough."""
    if not all(abs(value) <= MAX_COORDINATE_M for value in position):  # also rejects nan
        shown = ', '.join(f'{value:g}' for value in position)
        raise BadMessage(f'{what} is at ({shown}); coordinates must be finite and at most {MAX_COORDINATE_M:g} m')


def yaw_of(x: float, y: float, z: float, w: float, what: str = 'orientation') -> float:
    """The yaw of a unit quaternion; raises BadMessage for others."""
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if not abs(length - 1) <= _NOT_UNIT:  # also rejects nan
        raise BadMessage(
            f'{what} has the orientation ({x:g}, {y:g}, {z:g}, {w:g}) of length {length:g}; the length '
            'must be 1, as of (0, 0, 0, 1)'
        )
    return math.atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z)


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
            raise BadMessage(f'{self._what} ends after {len(self._data)} bytes; it is incomplete') from None
        self._at += struct.calcsize(self._order + codes)
        return values

    def header(self) -> tuple[int, str]:
        """Stamp and frame of std_msgs/Header."""
        sec, nanosec = self.numbers('iI')
        frame = self.text()
        check_frame(self._what, frame)
        return sec * 10**9 + nanosec, frame

    def text(self) -> str:
        (length,) = self.numbers('I')
        text = self._data[self._at : self._at + length]
        self._at += length
        return text.partition(b'\0')[0].decode(errors='replace')  # ROS, too, ends a text at its first zero

    def pose(self, what: str) -> Pose2D:
        """geometry_msgs/Pose, or Transform."""
        x, y, z, qx, qy, qz, qw = self.numbers('7d')
        check_place(what, x, y, z)
        return Pose2D(x, y, yaw_of(qx, qy, qz, qw, what))

    def cells(self, width: int, height: int) -> NDArray[np.int8]:
        """The sequence of occupancy values at the end of a message, as [y, x], without a copy."""
        (length,) = self.numbers('I')
        if length != width * height:
            raise BadMessage(
                f'{self._what} of {width} x {height} cells has {length} values; it must have {width * height}'
            )
        if len(self._data) < self._at + length:
            raise BadMessage(f'{self._what} ends after {len(self._data)} bytes; it must have {self._at + length}')
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
                    raise BadMessage(
                        f'{self._what} has {value} at ({x}, {y}); it must be -1 (unknown) or 0 to {OCCUPIED}'
                    )


def _check_size(what: str, width: int, height: int) -> None:
    if width == 0 or height == 0:
        raise BadMessage(f'{what} of {width} x {height} cells is empty; it must have at least 1 x 1')
    if width * height > MAX_CELLS:
        raise BadMessage(f'{what} of {width} x {height} cells is too large; it may have at most {MAX_CELLS} cells')
