"""A robot on two wheels: a disc with limits to speed and acceleration, which turns towards a waypoint and drives to it.

Everything is a function of the previous state: there is no clock and nothing random. In a step of dt_s the speeds
change first, within the limits; then the robot moves straight along its heading in the middle of the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.costmap import OCCUPIED

TURN_ON_THE_SPOT_RAD = 0.4
"""If the direction to the waypoint differs by more than this, the robot stops and turns before it drives on."""
HEADING_TOLERANCE_RAD = 0.02

_BRAKING = 0.8  # fraction of the limit that the robot uses to slow down; the rest is left for steering
_BISECTIONS = 16
_ROUNDING = 1e-9  # in cells

Point = tuple[float, float]


@dataclass(frozen=True)
class Motion:
    """Where the robot is and how it moves."""

    pose: Pose2D
    speed_m_s: float = 0.0
    turn_rad_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of the robot's motion, in both directions."""

    max_speed_m_s: float = 1.0
    max_acceleration_m_s2: float = 2.0
    max_turn_rad_s: float = 2.5
    max_turn_acceleration_rad_s2: float = 10.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f'{name} is {value}; it must be above 0')


def wrapped(angle: float) -> float:
    """The same angle between -pi and pi."""
    return math.remainder(angle, 2 * math.pi)


def inverse(pose: Pose2D) -> Pose2D:
    """The origin as seen from the pose."""
    cos, sin = math.cos(pose.yaw), math.sin(pose.yaw)
    return Pose2D(-cos * pose.x_m - sin * pose.y_m, sin * pose.x_m - cos * pose.y_m, wrapped(-pose.yaw))


def accelerated(motion: Motion, speed_m_s: float, turn_rad_s: float, limits: Limits, dt_s: float) -> Motion:
    """The motion after one step of acceleration towards the commanded speeds, within the limits."""
    return Motion(
        motion.pose,
        _ramp(motion.speed_m_s, speed_m_s, limits.max_speed_m_s, limits.max_acceleration_m_s2 * dt_s),
        _ramp(motion.turn_rad_s, turn_rad_s, limits.max_turn_rad_s, limits.max_turn_acceleration_rad_s2 * dt_s),
    )


def moved(motion: Motion, dt_s: float) -> Motion:
    """The motion one step later, without obstacles."""
    pose, turned = motion.pose, motion.turn_rad_s * dt_s
    heading, distance_m = pose.yaw + turned / 2, motion.speed_m_s * dt_s
    ahead = Pose2D(
        pose.x_m + distance_m * math.cos(heading), pose.y_m + distance_m * math.sin(heading), wrapped(pose.yaw + turned)
    )
    return Motion(ahead, motion.speed_m_s, motion.turn_rad_s)


def towards(motion: Motion, waypoint: Pose2D, tolerance_m: float, limits: Limits, dt_s: float) -> tuple[float, float]:
    """The speeds to command: turn to the waypoint, drive, slow down, stop, then turn to the waypoint's heading."""
    pose = motion.pose
    dx, dy = waypoint.x_m - pose.x_m, waypoint.y_m - pose.y_m
    distance_m = math.hypot(dx, dy)
    if distance_m <= tolerance_m:
        return 0.0, _turn(wrapped(waypoint.yaw - pose.yaw), limits, dt_s)
    aside = wrapped(math.atan2(dy, dx) - pose.yaw)
    if abs(aside) >= TURN_ON_THE_SPOT_RAD:
        # brake straight ahead first: a curve may meet an obstacle
        at_rest = abs(motion.speed_m_s) <= limits.max_acceleration_m_s2 * dt_s
        return 0.0, _turn(aside, limits, dt_s) if at_rest else 0.0
    speed = _speed_to_stop_in(distance_m, _BRAKING * limits.max_acceleration_m_s2, dt_s)
    ahead = 1.0 - abs(aside) / TURN_ON_THE_SPOT_RAD
    return min(speed, limits.max_speed_m_s * ahead), _turn(aside, limits, dt_s)


def sweep_touches(occupancy: NDArray[np.int8], start: Point, end: Point, radius: float) -> bool:
    """Whether a disc that moves on a straight line touches an occupied cell; exact, so that no wall is too thin."""
    return _meets(_occupied_near(occupancy, start, end, radius), start, end, radius)


def move_until_contact(
    occupancy: NDArray[np.int8], geometry: MapGeometry, start: Pose2D, end: Pose2D, radius_m: float
) -> tuple[Pose2D, bool]:
    """How far the disc gets on a straight line, and whether an obstacle stopped it; its centre stays on the map."""
    a, b = geometry.to_grid(start.x_m, start.y_m), geometry.to_grid(end.x_m, end.y_m)
    radius = radius_m / geometry.resolution_m
    cells = _occupied_near(occupancy, a, b, radius)

    def free(share: float) -> bool:
        x, y = a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
        inside = 0 <= x < geometry.width and 0 <= y < geometry.height
        return inside and not _meets(cells, a, (x, y), radius)

    if a == b or free(1.0):
        return end, False
    reached, blocked = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (reached + blocked) / 2
        reached, blocked = (middle, blocked) if free(middle) else (reached, middle)
    x_m = start.x_m + reached * (end.x_m - start.x_m)
    y_m = start.y_m + reached * (end.y_m - start.y_m)
    return Pose2D(x_m, y_m, end.yaw), True


def _occupied_near(occupancy: NDArray[np.int8], start: Point, end: Point, radius: float) -> NDArray[np.float64]:
    """Lower left corners, x and y, of the occupied cells in the box around the movement of a disc."""
    (x0, y0), (x1, y1) = start, end
    left, low = max(math.floor(min(x0, x1) - radius), 0), max(math.floor(min(y0, y1) - radius), 0)
    right, high = math.floor(max(x0, x1) + radius) + 1, math.floor(max(y0, y1) + radius) + 1
    rows, columns = np.nonzero(occupancy[low : max(high, 0), left : max(right, 0)] >= OCCUPIED)
    return np.array([columns + left, rows + low], np.float64)


def _meets(cells: NDArray[np.float64], start: Point, end: Point, radius: float) -> bool:
    if cells.size == 0:
        return False
    (x0, y0), (x1, y1) = start, end
    squares = _squares_of_distances(cells[0], cells[1], x0, y0, x1 - x0, y1 - y0)
    return bool(squares.min() < max(radius - _ROUNDING, _ROUNDING) ** 2)


def _ramp(now: float, wanted: float, limit: float, most: float) -> float:
    wanted = min(max(wanted, -limit), limit)
    return min(max(wanted, now - most), now + most)


def _turn(angle: float, limits: Limits, dt_s: float) -> float:
    if abs(angle) <= HEADING_TOLERANCE_RAD:
        return 0.0
    speed = _speed_to_stop_in(abs(angle), _BRAKING * limits.max_turn_acceleration_rad_s2, dt_s)
    return math.copysign(min(speed, limits.max_turn_rad_s), angle)


def _speed_to_stop_in(distance: float, braking: float, dt_s: float) -> float:
    """The highest speed from which the robot can stop within the distance."""
    lost = braking * dt_s
    return min(math.sqrt(lost**2 / 4 + 2 * braking * distance) - lost / 2, distance / dt_s)


def _squares_of_distances(
    left: NDArray[np.float64], low: NDArray[np.float64], x: float, y: float, dx: float, dy: float
) -> NDArray[np.float64]:
    """Squared distances of unit squares to the segment from (x, y) to (x + dx, y + dy)."""
    squares = np.minimum(_from_square(left, low, x, y), _from_square(left, low, x + dx, y + dy))
    length2 = dx * dx + dy * dy
    if length2 == 0.0:
        return squares
    for corner_x, corner_y in ((left, low), (left + 1, low), (left, low + 1), (left + 1, low + 1)):
        share = np.clip(((corner_x - x) * dx + (corner_y - y) * dy) / length2, 0.0, 1.0)
        np.minimum(squares, (x + share * dx - corner_x) ** 2 + (y + share * dy - corner_y) ** 2, out=squares)
    squares[_crosses(left, low, x, y, dx, dy)] = 0.0
    return squares


def _from_square(left: NDArray[np.float64], low: NDArray[np.float64], x: float, y: float) -> NDArray[np.float64]:
    away_x, away_y = np.abs(left + 0.5 - x) - 0.5, np.abs(low + 0.5 - y) - 0.5
    return np.maximum(away_x, 0.0) ** 2 + np.maximum(away_y, 0.0) ** 2


def _crosses(
    left: NDArray[np.float64], low: NDArray[np.float64], x: float, y: float, dx: float, dy: float
) -> NDArray[np.bool_]:
    """Whether a part of the segment lies inside the square."""
    enters, leaves = np.zeros(left.shape), np.ones(left.shape)
    for corner, start, length in ((left, x, dx), (low, y, dy)):
        if length == 0.0:
            outside = (start <= corner) | (start >= corner + 1)
            leaves[outside] = -1.0
            continue
        one, other = (corner - start) / length, (corner + 1 - start) / length
        np.maximum(enters, np.minimum(one, other), out=enters)
        np.minimum(leaves, np.maximum(one, other), out=leaves)
    return enters < leaves
