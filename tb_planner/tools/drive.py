"""A robot's drive to its goal as an observer sees it: its path, obstacles that appeared, and the restarts."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tb_planner.files import written_whole
from tb_planner.geometry import MapGeometry, length_m
from tb_planner.maps.costmap import OCCUPIED, CostmapConfig, costs_of
from tb_planner.maps.files import Map
from tb_planner.search import sight
from tb_planner.search.algorithms import tba_star
from tb_planner.search.grid import Grid
from tb_planner.search.planner import find_path
from tb_planner.tools import plotting as picture

Place = tuple[float, float]
"""x and y in metres."""

SMALLEST_MOVE_M = 0.01
_MIN_GAIN_CELLS = 0.01


class Drive:
    """A drive on a map; `rules` are the planner's rules for costs near obstacles."""

    def __init__(self, map_: Map, rules: CostmapConfig, start: Place, goal: Place) -> None:
        self.map_ = map_
        self.rules = rules
        self.start = start
        self.goal = goal
        self.shortest = shortest_path(map_, rules, start, goal)
        self.appeared = np.zeros(map_.occupancy.shape, bool)
        """Cells that were occupied at some time and are free on the map."""
        self.restarts: Counter[str] = Counter()
        """Number of restarts by reason."""
        self._driven = [start]
        self._restarted_at: list[Place] = []

    def see_pose(self, place: Place) -> None:
        if length_m([self._driven[-1], place]) >= SMALLEST_MOVE_M:
            self._driven.append(place)

    def see_map(self, occupancy: NDArray[np.int8], geometry: MapGeometry) -> None:
        """Adds the obstacles of a map; a map with another geometry shows only part of the world and is ignored."""
        if _is_same(geometry, self.map_.geometry):
            self.appeared |= (occupancy >= OCCUPIED) & ~self.map_.blocked

    def see_restarts(self, counts: Mapping[str, int]) -> None:
        """Takes the numbers of restarts so far; new restarts happened at the robot's present place."""
        if any(count > self.restarts[reason] for reason, count in counts.items()):
            self._restarted_at.append(self._driven[-1])
        self.restarts = Counter(dict(counts))

    @property
    def driven(self) -> NDArray[np.float64]:
        return np.array(self._driven)

    @property
    def driven_m(self) -> float:
        return length_m(self._driven)

    @property
    def shortest_m(self) -> float | None:
        """The length of the shortest path on the first map; None if there was no path."""
        return length_m(self.shortest) if len(self.shortest) else None

    def save_picture(self, path: str | os.PathLike[str], *, title: str, figures: Sequence[str] = ()) -> None:
        """Raises PictureError if matplotlib is missing."""
        scene = picture.Scene(
            self.map_,
            costs_of(self.map_.occupancy, self.rules),
            start=self.map_.geometry.cell_at(*self.start),
            goal=self.map_.geometry.cell_at(*self.goal),
            appeared=self.appeared,
            shortest=self._in_cells(self.shortest),
            driven=self._in_cells(self.driven),
            restarts=self._in_cells(self._restarted_at),
        )
        with written_whole(Path(path)):
            picture.save(picture.draw(scene, title=title, figures=figures), path)

    def _in_cells(self, points: NDArray[np.float64] | Sequence[Place]) -> list[Place]:
        """Returns points in cells; whole numbers are the centres of cells."""
        if not len(points):
            return []
        return [(float(x), float(y)) for x, y in self.map_.geometry.to_grid_array(points) - 0.5]


def _is_same(one: MapGeometry, other: MapGeometry) -> bool:
    """Compares geometries up to the digits that a message loses."""
    size = (one.width, one.height) == (other.width, other.height)
    return size and np.allclose((one.resolution_m, *one.origin), (other.resolution_m, *other.origin))


def shortest_path(map_: Map, rules: CostmapConfig, start: Place, goal: Place) -> NDArray[np.float64]:
    """Returns the corners of the shortest path for a robot of this radius, (n, 2) in metres; empty if there is none.

    It is the shortest path over cells, pulled tight from both ends in turn until it gets no shorter.
    """
    rules = dataclasses.replace(rules, inflation_radius_m=rules.robot_radius_m, cost_travel_multiplier=0.0)
    blocked = np.isinf(costs_of(map_.occupancy, rules))
    first, last = map_.geometry.cell_at(*start), map_.geometry.cell_at(*goal)
    for x, y in (first, last):
        if not map_.geometry.contains((x, y)) or blocked[y, x]:
            return np.empty((0, 2))
    cells = find_path(Grid(blocked), first, last, tba_star()).cells
    if not cells:
        return np.empty((0, 2))
    points = np.array(cells, np.float64) + 0.5
    points[0], points[-1] = map_.geometry.to_grid_array([start, goal])
    cost_u16 = np.where(blocked, 0, 1).astype(np.uint16)
    path = _pulled_tight(cost_u16, points)
    while length_m(tighter := _pulled_tight(cost_u16, _dense(path)[::-1])[::-1]) < length_m(path) - _MIN_GAIN_CELLS:
        path = _pulled_tight(cost_u16, _dense(tighter))
    return map_.geometry.to_world_array(path - 0.5)


def _pulled_tight(cost_u16: NDArray[np.uint16], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Connects each corner with the last point ahead that is in sight."""
    points = np.ascontiguousarray(points)
    free = np.ones(len(points), np.int32)
    at, corners = 0, [0]
    while at < len(points) - 1:
        x, y = points[at]
        seen = sight.farthest_clear(cost_u16, x, y, points[at + 1 :], free[at + 1 :])
        at += 1 + max(int(seen), 0)
        corners.append(at)
    return points[corners]


def _dense(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the path with at least one point in every cell."""
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    places = np.union1d(along, np.arange(0.0, along[-1], 0.5))
    return np.stack([np.interp(places, along, corners[:, axis]) for axis in (0, 1)], axis=1)
