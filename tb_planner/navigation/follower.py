"""Follower: how far along its route a robot has come, and the waypoint ahead that it should head for.

The robot is not the papers' agent: it takes many ticks for a cell, is hardly ever at a cell's centre, and its pose is
noisy. All lengths are in cells, as in sight.py: the centre of cell (0, 0) is (0.5, 0.5). The work grows with
waypoint_distance and deviation_tolerance, not with the length of the route.

A tick:

1. Where is the robot? At its pose; if that is in an obstacle, where it was last, or else at its escape cell.
2. Where is it on the route? At the foot: the nearest point of the route within the tolerance and in clear sight. If
   there is no foot, the robot has left the route. The cells before the foot are passed.
3. Where to? Points ahead are candidates if the straight line there keeps to the route. The waypoint is the first of
   these that exists: the farthest candidate in sight from the robot, from its foot and from half a cell beside it, if
   it is not near; the last waypoint, if it is in sight and not near; the farthest candidate in sight from robot and
   foot; the farthest candidate in sight from the robot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box, Cell
from tb_planner.search.grid import BLOCKED, nearest_marked
from tb_planner.search.sight import clear, farthest_clear

Point: TypeAlias = tuple[float, float]

MIN_TOLERANCE = 1.5
"""A robot anywhere in its cell is up to 0.71 from the centre, where its route begins."""
MIN_DISTANCE = 2.0
"""A waypoint reaches beyond the next centre: else the robot would creep up to the centre and never pass it."""
NOISE_DISTANCE = 1.5
"""A pose in an obstacle that is at most this far from a good one is taken for noise."""
SIDE_OFFSET = 0.5
"""A waypoint farther on must also be in sight from places this far beside the robot."""
NEAR_FRACTION = 0.4
"""Fraction of waypoint_distance. Robots stop short of a waypoint, so a waypoint this near is replaced by any other in
sight, and costs do not keep it nearer."""
STOP_FRACTION = 0.1
"""Fraction of waypoint_distance. Robots may stop this far before a waypoint."""
SAME_WAYPOINT_DISTANCE = 1.5
"""A route that passes the last waypoint within this distance still leads to it."""
ANY_COST = 65535
EDGE_MARGIN = 1e-6
"""A waypoint this near to the edge of an obstacle is inside it for a program that rounds differently."""
CORNER_DISTANCE = 0.35
"""A robot this near to a step of the route may pass a corner that the step cuts."""


@dataclass(frozen=True)
class Aim:
    """Where to head for, and the heading of the route there, in radians of the grid's axes."""

    x: float
    y: float
    heading: float
    at_end: bool
    """The waypoint is the end of the route, at the goal."""
    index: int
    """The index of the route's cell that is aimed at."""


class Follower:
    """Keeps, from tick to tick, the last waypoint, the last good pose and the cells just passed.

    In a tick, passed() comes first; the route for aim() begins after the cells that passed() counted. Routes may be cut
    off after `window` cells. corner_cutting: as the grid's; where the route cuts a corner, its step counts as sight.

    passed = follower.passed(grid.cost_u16, route, position)
    aim = follower.aim(grid.cost_u16, route[passed:], position)
    """

    def __init__(self, *, waypoint_distance: float, deviation_tolerance: float, corner_cutting: bool = False):
        for name, value in (('waypoint_distance', waypoint_distance), ('deviation_tolerance', deviation_tolerance)):
            if not 0 <= value < math.inf:
                raise ValueError(f'{name} is {value}; it must be a finite number of cells, at least 0')
        self._distance = max(float(waypoint_distance), MIN_DISTANCE)
        self._tolerance = max(float(deviation_tolerance), MIN_TOLERANCE)
        self._near_distance = max(NEAR_FRACTION * self._distance, 1.0)
        self._stop_distance = STOP_FRACTION * self._distance
        self._corner_cutting = corner_cutting
        self.reset()

    @property
    def window(self) -> int:
        """How many cells of the route are looked at."""
        return math.ceil(self._distance + self._tolerance) + 2

    def reset(self, waypoint: Point | None = None) -> None:
        """Forgets the robot's progress, for another route. waypoint: the one that was given before; the robot goes on
        towards it as far as this follower's route leads there, too."""
        self._trail = np.empty((0, 2), np.int32)
        self._good_position: Point | None = None
        self._is_doubted = False
        self._waypoint = waypoint

    @property
    def waypoint(self) -> Point | None:
        """The last one, if it was on the route."""
        return self._waypoint

    def passed(
        self,
        terrain: NDArray[np.uint16],
        route: NDArray[np.int32],
        position: Point,
        escape_cell: Cell | None = None,
    ) -> int | None:
        """How many cells of the route the robot has passed, at least 0; None if it has left the route.

        It has left the route if no point of it within the tolerance is in clear sight. A jump across a wall that may be
        noise must be seen twice. The cells just passed still belong to the route, since noise or a push may take the
        robot back. escape_cell: of a robot in an obstacle; by default the nearest free cell."""
        line = self._line(route, None)
        here = self._here(terrain, line, position, escape_cell)
        foot = None if here is None else self._foot(terrain, line, here.point)
        self._is_doubted = not self._is_doubted and self._is_doubtful(terrain, line, foot, position)
        if self._is_doubted:
            return 0
        if here is None or foot is None:
            self.reset()
            return None
        self._good_position = None if here.is_stuck else here.point
        passed = max(foot.at - line.start, 0)
        self._trail = line.cells[: line.start + passed][-math.ceil(self._tolerance) :]
        return passed

    def aim(
        self,
        terrain: NDArray[np.uint16],
        route: NDArray[np.int32],
        position: Point,
        end: Point | None = None,
        escape_cell: Cell | None = None,
    ) -> Aim:
        """The waypoint: the farthest point up to waypoint_distance ahead that is in clear sight, through no cell of a
        higher cost than the route has there; near points are not left out for their cost. The straight line to it never
        leaves the route by more than a third of the tolerance.

        The waypoint moves ahead only if it is in sight from the robot and from the route beside it, and back only if it
        is no longer in sight or the route has changed. `end` is the exact point to reach in the last cell. In an
        obstacle the waypoint is the escape cell. With nothing in sight it is the robot's own position. Where robots
        would stop short of it, it is a place beyond, if that is clear."""
        line = self._line(route, end)
        here = self._here(terrain, line, position, escape_cell)
        foot = None if here is None or here.is_stuck or self._is_doubted else self._foot(terrain, line, here.point)
        if here is None or foot is None:
            x, y = position
            if here is not None and here.is_stuck:
                x, y = self._beyond(terrain, position, here.point)
            return Aim(x, y, line.heading(line.start, position), False, 0)
        chosen = self._choose(terrain, line, foot, here.point)
        index = foot.at if chosen is None else chosen
        x, y = foot.point if chosen is None else line.point(chosen)
        self._waypoint = None if chosen is None else line.point(chosen)
        at_end = end is not None and line.whole and index == chosen == len(line.cells) - 1
        if not at_end:
            x, y = self._beyond(terrain, here.point, (x, y))
        return Aim(x, y, line.heading(index, position), at_end, max(index - line.start, 0))

    def _beyond(self, terrain: NDArray[np.uint16], position: Point, point: Point) -> Point:
        """The point; if a robot might stop before it, a clear place straight on from there."""
        away = math.dist(position, point)
        if not 0.0 < away <= self._stop_distance:
            return point
        ahead = (point[0] - position[0]) / away, (point[1] - position[1]) / away
        for farther in (1.0, 0.5, 0.25):
            distance = farther * min(self._stop_distance, self._tolerance / 3)
            if clear(terrain, *point, *_moved(point, ahead, distance + EDGE_MARGIN)):
                return _moved(point, ahead, distance)
        return point

    def _line(self, route: NDArray[np.int32], end: Point | None) -> _Line:
        """The trail, if it leads to where the route begins, and the route within the window."""
        ahead, trail = route[: self.window], self._trail
        if len(trail) and np.abs(trail[-1] - ahead[0]).max() > 1:
            trail = trail[:0]
        cells = np.concatenate((trail, ahead))
        points = cells + np.float64(0.5)
        whole = len(route) == len(ahead)
        if whole and end is not None:
            points[-1] = end
        return _Line(cells, points, len(trail), whole)

    def _here(
        self, terrain: NDArray[np.uint16], line: _Line, position: Point, escape_cell: Cell | None
    ) -> _Here | None:
        """The position; in an obstacle the last good one, if it is near, or else the centre of the escape cell."""
        if _is_free(terrain, position):
            return _Here(position, False)
        good = self._last_good(position, NOISE_DISTANCE)
        if good is not None and _is_free(terrain, good):
            return _Here(good, False)
        if escape_cell is None:
            escape_cell = self._nearest_free_cell(terrain, position, line.cell(line.start))
        return None if escape_cell is None else _Here((escape_cell[0] + 0.5, escape_cell[1] + 0.5), True)

    def _nearest_free_cell(self, terrain: NDArray[np.uint16], position: Point, first: Cell) -> Cell | None:
        """The free cell nearest to a position, the route's first cell if none is nearer; None if that is too far."""
        cell = math.floor(position[0]), math.floor(position[1])
        reach, to_first = math.ceil(self._distance + self._tolerance), math.dist(cell, first)
        window = Box(*cell, cell[0] + 1, cell[1] + 1).grown(reach, Box(0, 0, terrain.shape[1], terrain.shape[0]))
        nearest = nearest_marked(terrain[window.slices], window, cell, reach)
        if nearest is not None and math.dist(cell, nearest) < to_first:
            return nearest
        return first if to_first <= reach else None

    def _last_good(self, position: Point, within: float) -> Point | None:
        """The last position from which the route was in sight, if it is within this distance."""
        return (
            self._good_position
            if self._good_position is not None and math.dist(self._good_position, position) <= within
            else None
        )

    def _is_doubtful(self, terrain: NDArray[np.uint16], line: _Line, foot: _Foot | None, position: Point) -> bool:
        """Whether the robot seems to be off the route, or across a wall on another part of it, by a jump that noise can
        make."""
        good = self._last_good(position, self._tolerance)
        if good is None or foot is None:
            return good is not None
        return foot.at - line.start > self._tolerance and not clear(terrain, *good, *position)

    def _foot(self, terrain: NDArray[np.uint16], line: _Line, position: Point) -> _Foot | None:
        """The nearest point ahead that is within the tolerance and in clear sight, else the nearest on the trail."""
        for first, last in ((line.start, len(line.cells)), (0, line.start + 1)):
            feet, shares = _feet(line.points[first:last], position)
            distances = np.hypot(*(feet - position).T)
            for i in distances.argsort(kind='stable').tolist():
                if distances[i] > self._tolerance:
                    break
                x, y = feet[i].tolist()
                if clear(terrain, *position, x, y):
                    return _Foot((x, y), first + i + int(shares[i] == 1.0))
        return None

    def _choose(self, terrain: NDArray[np.uint16], line: _Line, foot: _Foot, position: Point) -> int | None:
        """The index of the waypoint; None if nothing ahead is in sight."""
        first = min(foot.at + 1, len(line.cells) - 1)
        columns, rows = line.cells[foot.at :].T
        route_costs = np.maximum.accumulate(terrain[rows, columns])[first - foot.at :]
        max_costs = np.maximum(route_costs, terrain[int(position[1]), int(position[0])]).astype(np.int32)
        chosen = first + self._farthest(
            terrain, line.points[first:], max_costs, foot, position, self._kept(line, first)
        )
        if self._corner_cutting and line.cuts_corner(terrain, chosen):
            feet, _ = _feet(line.points[chosen : chosen + 2], position)
            chosen += int(math.dist(feet[0], position) <= CORNER_DISTANCE)
        return chosen if chosen >= first else None

    def _kept(self, line: _Line, first: int) -> int:
        """The index of the last waypoint among the points ahead, or of the point next to it if the route has moved a
        little; else -1."""
        if self._waypoint is None:
            return -1
        distances = np.hypot(*(line.points[first:] - self._waypoint).T)
        nearest = int(distances.argmin())
        return nearest if distances[nearest] <= SAME_WAYPOINT_DISTANCE else -1

    def _farthest(
        self,
        terrain: NDArray[np.uint16],
        points: NDArray[np.float64],
        max_costs: NDArray[np.int32],
        foot: _Foot,
        position: Point,
        kept: int,
    ) -> int:
        """The index of the point ahead to head for; -1 if none is in sight."""

        def farthest_from(places: list[Point], among: NDArray[np.intp]) -> int:
            """The index of the farthest point in sight from every one of these places."""
            while len(among):
                ends, limits = points[among], max_costs[among]
                last = min(farthest_clear(terrain, *place, ends, limits) for place in places)
                if last == len(among) - 1:
                    return int(among[last])
                among = among[: last + 1]
            return -1

        along = np.hypot(*np.diff(points, axis=0, prepend=[foot.point]).T).cumsum()
        # whatever the costs beside the route: a diagonal step touches them, and a robot may stop short of what is near
        max_costs[along <= max(self._near_distance, MIN_DISTANCE)] = ANY_COST
        deviation = self._tolerance / 3  # the rest is for noise and drift
        is_near = math.dist(position, foot.point) <= deviation  # else the robot has to come nearer first
        reach = self._distance if is_near else min(self._distance, self._tolerance)
        candidates = np.flatnonzero(_keeps_to_route(points - foot.point, deviation) & (along <= max(reach, along[0])))
        if kept >= 0 and not (
            along[kept] <= self._distance + self._tolerance
            and clear(terrain, *position, *points[kept], 2 * int(max_costs[kept]))
        ):
            kept = -1
        x, y = position
        beside = [(x - SIDE_OFFSET, y), (x + SIDE_OFFSET, y), (x, y - SIDE_OFFSET), (x, y + SIDE_OFFSET)]
        places = [position, foot.point, *(place for place in beside if _is_free(terrain, place))]
        farther = farthest_from(places, candidates[candidates > kept])
        if farther >= 0 and math.dist(position, points[farther]) > self._near_distance:
            return farther
        if kept >= 0 and math.dist(position, points[kept]) > self._near_distance:
            return kept
        if kept >= 0:
            return max(farthest_from([position, foot.point], candidates[candidates > kept]), kept)
        return farthest_from([position], candidates)


class _Here(NamedTuple):
    """The position that the robot is assumed to have."""

    point: Point
    is_stuck: bool
    """The robot is in an obstacle, and this is its escape cell."""


class _Foot(NamedTuple):
    """The robot's place on the line, and the last cell centre at or before it."""

    point: Point
    at: int


class _Line(NamedTuple):
    """The cells just passed and, from `start` on, those of the route."""

    cells: NDArray[np.int32]
    points: NDArray[np.float64]
    start: int
    whole: bool
    """The route has not been cut off."""

    def cell(self, index: int) -> Cell:
        x, y = self.cells[index].tolist()
        return x, y

    def point(self, index: int) -> Point:
        x, y = self.points[index].tolist()
        return x, y

    def heading(self, index: int, position: Point) -> float:
        """Over a few cells, since a step alone knows eight directions only."""
        x0, y0 = self.point(max(index - 2, 0)) if len(self.points) > 1 else position
        x1, y1 = self.point(min(index + 2, len(self.points) - 1))
        return math.atan2(y1 - y0, x1 - x0)

    def cuts_corner(self, terrain: NDArray[np.uint16], index: int) -> bool:
        """Whether the step from here to the next cell goes past an obstacle's corner."""
        if index + 1 >= len(self.cells):
            return False
        (x0, y0), (x1, y1) = self.cell(index), self.cell(index + 1)
        return bool(terrain[y1, x1] != BLOCKED and (terrain[y0, x1] == BLOCKED or terrain[y1, x0] == BLOCKED))


def _is_free(terrain: NDArray[np.uint16], position: Point) -> bool:
    x, y = math.floor(position[0]), math.floor(position[1])
    return 0 <= y < terrain.shape[0] and 0 <= x < terrain.shape[1] and bool(terrain[y, x] != BLOCKED)


def _moved(point: Point, direction: Point, distance: float) -> Point:
    return point[0] + distance * direction[0], point[1] + distance * direction[1]


def _feet(points: NDArray[np.float64], position: Point) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each step from point to point the place nearest to the position, and how much of the step lies before it."""
    if len(points) == 1:
        return points, np.zeros(1)
    steps = np.diff(points, axis=0)
    shares = ((position - points[:-1]) * steps).sum(1) / np.maximum((steps * steps).sum(1), 1e-9)
    shares = np.minimum(np.maximum(shares, 0.0), 1.0)
    return points[:-1] + shares[:, None] * steps, shares


def _keeps_to_route(offsets: NDArray[np.float64], most: float) -> NDArray[np.bool_]:
    """For each of the points, which follow each other, whether the straight line there passes every point before it
    within `most`. The lines that pass one point so fill a cone; those that pass all points, the cut of their cones."""
    distances = np.hypot(*offsets.T)
    far = distances > most
    if not far.any():
        return ~far
    angles = np.arctan2(offsets[:, 1], offsets[:, 0])
    angles = np.remainder(angles - angles[far.argmax()] + math.pi, 2 * math.pi) - math.pi
    spread = np.where(far, np.arcsin(most / np.maximum(distances, most)), math.pi)
    within = (np.maximum.accumulate(angles - spread) <= angles) & (angles <= np.minimum.accumulate(angles + spread))
    return within | ~far
