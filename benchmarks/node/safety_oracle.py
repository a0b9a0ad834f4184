"""A safety oracle: judges a planner's waypoints from messages alone, with nothing of the planner's own code.

It knows maps, patches, poses and waypoints, each with the time at which it was published. A waypoint is safe if the
straight line from the robot to it crosses no blocked cell. A cell is blocked if its centre is at most robot_radius_m
from the centre of an obstacle's cell; outside the map all is blocked.

- **Latency.** A planner may miss, for one tick, a map that arrives while it works. So the line may be clear on any of
  several maps: those published in the last tick and `allowance_s` before the waypoint, and the newest one before these.
  One tick is the time since the last waypoint, at least a period and at most MAX_TICK_S. The allowance is for the
  transport of both messages, for the conversion of the map, and for the duration of a tick. `excused` counts the
  waypoints that are safe on such an older map only.
- **Pose.** Likewise the line may begin at any pose published within the allowance, or at the newest before.
- **Stop.** The robot's own position is always safe.
- **Escape.** From a robot in a blocked cell the line may cross blocked cells within start_tolerance_m, but no obstacle,
  except the one that the robot is in. It has to end in a free cell.
- **Corners.** A line that touches a blocked cell's edge or corner, to within EDGE cells, does not cross it: programs
  round differently. But no line passes between two blocked cells that touch at a corner.

Messages of several topics overtake each other. So a waypoint is judged SETTLE_S after its time, or in finish().

    oracle = SafetyOracle(SafetyRules(robot_radius_m=0.18), period_s=0.05)
    oracle.see_map(message, at_s), oracle.see_pose(…), oracle.see_waypoint(…)
    oracle.finish()
    assert not oracle.violations
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

ALLOWANCE_S = 0.05
"""Time allowed for transport, conversion of the map and a tick; on a busy machine they take longer."""
MAX_TICK_S = 0.5
"""However late a tick is, a map that is older than this and the allowance must be known."""
SETTLE_S = 1.0
MAX_VIOLATIONS = 1000
"""More are counted, but not kept."""
EDGE = 1e-3
"""Cells. A line this near to an edge may count as a line on either side of it."""
ROUNDING = 1e-6
"""Relative: a map's resolution arrives as a float of 32 bits."""

UNKNOWN, OCCUPIED = -1, 100

Place = tuple[float, float]
Item = TypeVar('Item')


@dataclass(frozen=True, kw_only=True)
class SafetyRules:
    """The planner's parameters of the same names, which define what is blocked."""

    robot_radius_m: float = 0.18
    lethal_threshold: int = 99
    allow_unknown: bool = True
    start_tolerance_m: float = 0.4


@dataclass(frozen=True)
class Violation:
    """A waypoint that is unsafe on every map and from every pose that the planner can have known."""

    at_s: float
    pose: Place
    waypoint: Place
    blocked_at: Place
    """Where the line from the newest pose first meets a blocked cell of the newest map."""

    def __str__(self) -> str:
        (x0, y0), (x1, y1), (x, y) = self.pose, self.waypoint, self.blocked_at
        line = f'the line from ({x0:.3f}, {y0:.3f}) to ({x1:.3f}, {y1:.3f}) m'
        return f'{self.at_s:.3f} s: {line} is blocked at ({x:.3f}, {y:.3f}) m'


@dataclass(frozen=True, eq=False)
class SeenMap:
    """A map as it was at one moment: occupancy [y, x], its resolution and the pose of its first corner."""

    occupancy: NDArray[np.int8]
    resolution_m: float
    origin: Place
    yaw: float

    @classmethod
    def from_message(cls, message: Any) -> SeenMap:
        info, turn = message.info, message.info.origin.orientation
        occupancy = np.array(message.data, np.int8).reshape(info.height, info.width)
        resolution_m = float(f'{info.resolution:.7g}')  # 0.05 arrives as 0.05000000074505806
        yaw = math.atan2(2 * (turn.w * turn.z + turn.x * turn.y), 1 - 2 * (turn.y**2 + turn.z**2))
        return cls(occupancy, resolution_m, (info.origin.position.x, info.origin.position.y), yaw)

    def patched(self, message: Any) -> SeenMap:
        occupancy = self.occupancy.copy()
        values = np.array(message.data, np.int8).reshape(message.height, message.width)
        occupancy[message.y : message.y + message.height, message.x : message.x + message.width] = values
        return SeenMap(occupancy, self.resolution_m, self.origin, self.yaw)

    def to_cells(self, place: Place) -> NDArray[np.float64]:
        dx, dy = place[0] - self.origin[0], place[1] - self.origin[1]
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return np.array([cos * dx + sin * dy, cos * dy - sin * dx]) / self.resolution_m

    def to_metres(self, x: float, y: float) -> Place:
        cos, sin = math.cos(self.yaw) * self.resolution_m, math.sin(self.yaw) * self.resolution_m
        return self.origin[0] + cos * x - sin * y, self.origin[1] + sin * x + cos * y

    def are_blocked(self, cells: NDArray[np.intp], rules: SafetyRules) -> NDArray[np.bool_]:
        """For each cell (n, 2): whether the robot's centre may not be there."""
        blocked = self.are_near(cells, rules.lethal_threshold, rules.robot_radius_m)
        if rules.allow_unknown:
            return blocked
        height, width = self.occupancy.shape
        x, y = np.clip(cells, 0, (width - 1, height - 1)).T
        unknown: NDArray[np.bool_] = self.occupancy[y, x] == UNKNOWN
        return blocked | unknown

    def are_obstacles(self, cells: NDArray[np.intp], rules: SafetyRules) -> NDArray[np.bool_]:
        """For each cell (n, 2): whether it is one of an obstacle. A map for a robot without a radius is inflated by
        others, and only its highest value is an obstacle."""
        return self.are_near(cells, rules.lethal_threshold if rules.robot_radius_m > 0 else OCCUPIED, 0.0)

    def are_near(self, cells: NDArray[np.intp], threshold: int, radius_m: float) -> NDArray[np.bool_]:
        """For each cell (n, 2): whether it is outside the map, or an occupied cell is within the radius. The distance
        to every one near by is measured."""
        height, width = self.occupancy.shape
        radius = radius_m / self.resolution_m * (1 + ROUNDING)
        reach = math.floor(radius)
        (x0, y0), (x1, y1) = np.maximum(cells.min(axis=0) - reach, 0), cells.max(axis=0) + reach + 1
        rows, columns = np.nonzero(self.occupancy[y0 : max(y1, 0), x0 : max(x1, 0)] >= threshold)
        squares = (cells[:, :1] - (columns + x0)) ** 2 + (cells[:, 1:] - (rows + y0)) ** 2
        x, y = cells.T
        near: NDArray[np.bool_] = (squares <= radius**2).any(axis=1)
        return near | (x < 0) | (y < 0) | (x >= width) | (y >= height)


class Timeline(Generic[Item]):
    """Items by the time at which they were published."""

    def __init__(self) -> None:
        self.times_s: list[float] = []
        self.items: list[Item] = []

    def add(self, item: Item, at_s: float) -> None:
        at = bisect.bisect_right(self.times_s, at_s)
        self.times_s.insert(at, at_s)
        self.items.insert(at, item)

    def known(self, by_s: float, until_s: float) -> range:
        """Indices of what was published after by_s until until_s, and of the newest before that, newest first."""
        first = max(bisect.bisect_right(self.times_s, by_s) - 1, 0)
        return range(bisect.bisect_right(self.times_s, until_s) - 1, first - 1, -1)

    def forget(self, before_s: float) -> None:
        """Drops what no later waypoint needs: the newest item before that time stays."""
        count = max(bisect.bisect_right(self.times_s, before_s) - 1, 0)
        del self.times_s[:count], self.items[:count]


class SafetyOracle:
    """Takes messages in any order and judges waypoints. Times are those of publishing, in seconds, by one clock."""

    def __init__(self, rules: SafetyRules, period_s: float, allowance_s: float = ALLOWANCE_S) -> None:
        self.rules, self.period_s, self.allowance_s = rules, period_s, allowance_s
        self.judged = 0
        self.stops = 0
        """The judged waypoints that were the robot's own position."""
        self.excused = 0
        self.excused_s = 0.0
        """The longest time for which a map was not known to a waypoint that was excused."""
        self.unjudged = 0
        """Waypoints before the first map or pose that the oracle has received."""
        self.violation_count = 0
        self.violations: list[Violation] = []
        self._maps: Timeline[SeenMap] = Timeline()
        self._poses: Timeline[Place] = Timeline()
        self._waypoints: Timeline[Place] = Timeline()
        self._last_s = -math.inf  # the time of the last waypoint that was judged

    # -------------------------------------------------------------------------------------------------- messages
    def see_map(self, message: Any, at_s: float) -> None:
        """nav_msgs/OccupancyGrid."""
        self._maps.add(SeenMap.from_message(message), at_s)

    def see_patch(self, message: Any, at_s: float) -> None:
        """map_msgs/OccupancyGridUpdate. The newest map contains a patch that is older, and without a map there is
        nothing to patch."""
        if self._maps.times_s and at_s >= self._maps.times_s[-1]:
            self._maps.add(self._maps.items[-1].patched(message), at_s)

    def see_pose(self, message: Any, at_s: float) -> None:
        """geometry_msgs/PoseStamped."""
        self._poses.add(_place_of(message), at_s)

    def see_waypoint(self, message: Any, at_s: float) -> None:
        """geometry_msgs/PoseStamped."""
        self._waypoints.add(_place_of(message), at_s)
        self._judge_until(at_s - SETTLE_S)

    def finish(self) -> None:
        """Judges the waypoints that are left."""
        self._judge_until(math.inf)

    # -------------------------------------------------------------------------------------------------- judging
    def _judge_until(self, until_s: float) -> None:
        times_s, count = self._waypoints.times_s, bisect.bisect_right(self._waypoints.times_s, until_s)
        for at_s, waypoint in zip(times_s[:count], self._waypoints.items[:count], strict=True):
            self._judge(waypoint, at_s)
            self._last_s = at_s
        if count:
            before_s = self._last_s - MAX_TICK_S - self.allowance_s
            self._maps.forget(before_s)
            self._poses.forget(before_s)
            del times_s[:count], self._waypoints.items[:count]

    def _judge(self, waypoint: Place, at_s: float) -> None:
        tick_s = min(max(at_s - self._last_s, self.period_s), MAX_TICK_S)
        maps = self._maps.known(at_s - tick_s - self.allowance_s, at_s)
        poses = [self._poses.items[i] for i in self._poses.known(at_s - self.allowance_s, at_s)]
        if not maps or not poses:
            self.unjudged += 1
            return
        self.judged += 1
        if any(math.dist(pose, waypoint) < EDGE * self._maps.items[maps[0]].resolution_m for pose in poses):
            self.stops += 1
            return
        for i in maps:
            if any(_first_blocked(self._maps.items[i], pose, waypoint, self.rules) is None for pose in poses):
                if i != maps[0]:
                    self.excused += 1
                    self.excused_s = max(self.excused_s, at_s - self._maps.times_s[i + 1])
                return
        self.violation_count += 1
        if len(self.violations) < MAX_VIOLATIONS:
            blocked_at = _first_blocked(self._maps.items[maps[0]], poses[0], waypoint, self.rules)
            assert blocked_at is not None
            self.violations.append(Violation(at_s, poses[0], waypoint, blocked_at))


def _first_blocked(seen: SeenMap, pose: Place, waypoint: Place, rules: SafetyRules) -> Place | None:
    """Where the line from the robot to its waypoint is blocked first; None if it is safe."""
    begin, end = seen.to_cells(pose), seen.to_cells(waypoint)
    middles = _pieces(begin, end)
    blocked = _are_closed(middles, end - begin, lambda cells: seen.are_blocked(cells, rules))
    if not blocked.any():
        return None
    forbidden = blocked
    if blocked[0] and not blocked[-1]:  # the robot is in a blocked cell and has to leave it
        away = np.hypot(*(middles - begin).T)
        obstacle = _are_closed(middles, end - begin, lambda cells: seen.are_obstacles(cells, rules))
        leaving = np.logical_and.accumulate(obstacle)  # the obstacle that the robot is in
        forbidden = (obstacle & ~leaving) | (blocked & (away > rules.start_tolerance_m / seen.resolution_m + 1.5))
        if not forbidden.any():
            return None
    return seen.to_metres(*middles[int(forbidden.argmax())])


def _pieces(begin: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """The middle of each piece into which the lines between cells cut the line; a corner is a piece without length."""
    shares = [np.array([0.0, 1.0])]
    for a, b in zip(begin, end, strict=True):
        edges = np.arange(math.floor(min(a, b)) + 1, math.ceil(max(a, b)))
        shares.append((edges - a) / (b - a) if a != b else edges[:0] * 1.0)
    cuts = np.sort(np.concatenate(shares))
    return begin + ((cuts[1:] + cuts[:-1]) / 2)[:, None] * (end - begin)


def _are_closed(
    middles: NDArray[np.float64],
    ahead: NDArray[np.float64],
    are_blocked: Callable[[NDArray[np.intp]], NDArray[np.bool_]],
) -> NDArray[np.bool_]:
    """For each piece, by its middle: whether a line that goes `ahead` cannot pass there. Within a cell that is so if
    the cell is blocked, on an edge if the cells on both sides are, at a corner if those to the left and right are."""
    low, high = np.floor(middles - EDGE).astype(np.intp), np.floor(middles + EDGE).astype(np.intp)
    corners = [np.column_stack((x[:, 0], y[:, 1])) for x in (low, high) for y in (low, high)]
    cells, where = np.unique(np.concatenate(corners), axis=0, return_inverse=True)
    found = are_blocked(cells)[where.reshape(4, -1)]
    beside = found[[1, 2]] if ahead[0] * ahead[1] > 0 else found[[0, 3]]
    at_corner = (low != high).all(axis=1)
    closed: NDArray[np.bool_] = np.where(at_corner, beside.all(axis=0), found.all(axis=0))
    return closed


def _place_of(message: Any) -> Place:
    return message.pose.position.x, message.pose.position.y


def report(violations: Sequence[Violation]) -> str:
    """A line for each of the first violations."""
    return '\n'.join(map(str, violations[:10]))
