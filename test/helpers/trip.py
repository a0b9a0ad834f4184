"""A robot, its navigator and a map that changes and moves under them, for tests: no ROS, no clock, no threads.

And an oracle of what is in clear sight that shares nothing with tb_planner.search.sight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tb_planner import Grid, tb_wa_star
from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.navigator import NavigationStatus, Navigator, Settings, Tick

MOVES = {
    'grown on the right': MapGeometry(90, 40, 0.1),
    'grown on the left': MapGeometry(80, 55, 0.1, (-1.0, -1.5, 0.0)),
    'shifted by part of a cell': MapGeometry(70, 40, 0.1, (-0.037, 0.026, 0.0)),
    'shifted by half a cell': MapGeometry(70, 40, 0.1, (-0.05, -0.05, 0.0)),
    'finer': MapGeometry(140, 80, 0.05),
    'a little finer': MapGeometry(90, 60, 0.083, (-0.2, -0.1, 0.0)),
    'coarser': MapGeometry(50, 30, 0.15, (-0.3, -0.1, 0.0)),
    'turned': MapGeometry(110, 100, 0.1, (0.0, -3.0, 0.4)),
    'turned by a quarter': MapGeometry(60, 90, 0.1, (7.5, -1.0, math.pi / 2)),
}
"""Geometries of a map that was 70 x 40 cells of 0.1 m before it moved."""
UNDER_WAY = (NavigationStatus.NAVIGATING, NavigationStatus.WAITING)


def settings(**changes):
    """Settings with lengths that fit cells of 0.1 m."""
    values = {
        'algorithm': tb_wa_star(1.5),
        'k': 100_000,
        'goal_tolerance_m': 0.1,
        'waypoint_distance_m': 1.0,
        'deviation_tolerance_m': 0.4,
        'start_tolerance_m': 0.3,
        'min_improvement': 0.0,
        'full_replan_ticks': 0,
    }
    return Settings(**{**values, **changes})


def node_settings(**changes):
    """The node's defaults, but for these; a fixed number of expansions takes the place of its time."""
    return replace(PlannerParameters().settings(), **{'k': 256, **changes})


def picture(text):
    """# is blocked; the first line is y = 0."""
    rows = [line.strip() for line in text.strip().splitlines()]
    return np.array([[c == '#' for c in row] for row in rows])


def is_free(blocked, x, y):
    """The cell that holds this point, in cells."""
    height, width = blocked.shape
    column, row = math.floor(x), math.floor(y)
    return 0 <= column < width and 0 <= row < height and not blocked[row, column]


def sees(blocked, a, b):
    """The straight line from a to b, in cells, begins and ends in free cells and goes through the inside of no blocked
    one: each blocked cell's square cuts a piece out of the line, and none of the pieces has a length. (sight.py counts
    in 1/16384 of a cell.)"""
    if not (is_free(blocked, *a) and is_free(blocked, *b)):
        return False
    (x0, y0), (x1, y1) = a, b
    left, right = math.floor(min(x0, x1)), math.floor(max(x0, x1))
    low, high = math.floor(min(y0, y1)), math.floor(max(y0, y1))
    rows, columns = np.nonzero(blocked[low : high + 1, left : right + 1])
    begin, end = np.zeros(len(rows)), np.ones(len(rows))
    for start, length, first in ((x0, x1 - x0, columns + left), (y0, y1 - y0, rows + low)):
        if length == 0:
            outside = (start <= first) | (start >= first + 1)
            end[outside] = -1
        else:
            enter, leave = (first - start) / length, (first + 1 - start) / length
            begin = np.maximum(begin, np.minimum(enter, leave))
            end = np.minimum(end, np.maximum(enter, leave))
    return not np.any((end - begin) * math.dist(a, b) > 4 / 16384)


@dataclass
class TickAndPose:
    """A tick, and the pose that the navigator got."""

    tick: Tick
    pose: Pose2D | None


class Trip:
    """The robot is where `place` is, in metres; the pose that the navigator gets may be noisy."""

    def __init__(self, values, start, goal=None, *, geometry=None, corner_cutting=False, **changes):
        self.navigator = Navigator(settings(**changes))
        self.place = start
        self.yaw = 0.0
        self.track = [start]
        self.history = []
        self._corner_cutting = corner_cutting
        self._update = None
        self.geometry = geometry or MapGeometry(values.shape[1], values.shape[0], 0.1)
        self.move_map(values, self.geometry)
        if goal is not None:
            self.navigator.new_goal(Pose2D(*goal, 0.5))

    def change_map(self, values):
        """Other values on the same geometry."""
        grid = Grid(self.values, corner_cutting=self._corner_cutting)
        change = grid.update(values)
        pending = self._update is not None and self._update.change is None
        self.values = values.copy()
        self._update = MapUpdate(self.geometry, grid, None if pending else change)

    def move_map(self, values, geometry):
        """A new map, with its own values and geometry."""
        self.values, self.geometry = values.copy(), geometry
        grid = Grid(values, corner_cutting=self._corner_cutting)
        grid.prepare()
        self._update = MapUpdate(geometry, grid, None)

    @property
    def blocked(self):
        return self.values if self.values.dtype == bool else np.isinf(self.values)

    @property
    def position(self):
        return self.geometry.to_grid(*self.place)

    @property
    def last(self):
        return self.history[-1].tick

    @property
    def statuses(self):
        return [seen.tick.status for seen in self.history]

    @property
    def restarts(self):
        return [reason for seen in self.history for reason in seen.tick.restarts]

    def tick(self, noise=(0.0, 0.0), pose=True, **arguments):
        seen_pose = Pose2D(self.place[0] + noise[0], self.place[1] + noise[1], self.yaw) if pose else None
        update, self._update = self._update, None
        tick = self.navigator.tick(update, seen_pose, **arguments)
        self.history.append(TickAndPose(tick, seen_pose))
        self.check_waypoint()
        return tick

    def check_waypoint(self):
        """It is in clear sight of the pose that the navigator got, or that place itself."""
        waypoint, pose = self.last.waypoint, self.history[-1].pose
        if waypoint is None or pose is None or (waypoint.x_m, waypoint.y_m) == (pose.x_m, pose.y_m):
            return
        here, there = (self.geometry.to_grid(p.x_m, p.y_m) for p in (pose, waypoint))
        if self._corner_cutting and math.dist(here, there) < 2:
            return  # a step past a corner touches it
        if is_free(self.blocked, *here):
            assert sees(self.blocked, here, there), f'{self.last} from {pose}: {here} to {there}'
        else:
            self._check_escape(here, there)

    def _check_escape(self, here, there):
        """From a blocked cell: in sight of a place near by where it was before, or a place to which the straight line
        leads out of what is blocked, and not into it again."""
        for seen in self.history[-50:-1]:
            if seen.pose is not None:
                before = self.geometry.to_grid(seen.pose.x_m, seen.pose.y_m)
                if math.dist(before, here) <= 1.5 and sees(self.blocked, before, there):
                    return
        line = np.linspace(here, there, math.ceil(20 * math.dist(here, there)) + 1)
        met = [not is_free(self.blocked, *place) for place in line.tolist()]
        out = next((i for i in range(len(met)) if not any(met[i : i + 6])), 0)  # slivers do not count
        assert not any(met[out:]), f'{self.last}: {here} to {there}'

    def drive(self, most_m=0.1):
        """Straight towards the last waypoint."""
        waypoint = self.last.waypoint
        if waypoint is None:
            return
        dx, dy = waypoint.x_m - self.place[0], waypoint.y_m - self.place[1]
        distance = math.hypot(dx, dy)
        share = min(1.0, most_m / distance) if distance else 0.0
        self.place = self.place[0] + share * dx, self.place[1] + share * dy
        self.yaw = math.atan2(dy, dx) if distance > 1e-9 else waypoint.yaw
        self.track.append(self.place)

    def run(self, ticks, until=(), most_m=0.1, noise=None):
        """Ticks and drives, until a status is one of these."""
        for _ in range(ticks):
            tick = self.tick(noise() if noise else (0.0, 0.0))
            if tick.status in until:
                break
            self.drive(most_m)
        return self.last

    def run_to_goal(self, ticks=1000, **arguments):
        tick = self.run(ticks, (NavigationStatus.ARRIVED,), **arguments)
        assert tick.status == NavigationStatus.ARRIVED, f'{tick} after {ticks} ticks, robot at {self.place}'
        return tick

    @property
    def driven_m(self):
        return float(np.hypot(*np.diff(np.array(self.track), axis=0).T).sum())
