"""Places for a robot to start from and to go to, drawn at random."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import BadInput
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.costmap import OCCUPIED, UNKNOWN
from tb_planner.search.distance import squared_distances
from tb_planner.search.grid import Grid
from tb_planner.search.planner import Status, find_path

TRIES = 200
FAR = 0.4
"""A goal is at least so far from the start, as a part of the map's diagonal, if there is such a place."""


class NoPlace(BadInput):
    """The map has no such place."""


def room_for(occupancy: NDArray[np.int8], geometry: MapGeometry, clearance_m: float) -> NDArray[np.bool_]:
    """The known free cells that are farther than this from every obstacle and from unknown ground."""
    clearance = math.ceil(clearance_m / geometry.resolution_m)
    squares = squared_distances((occupancy >= OCCUPIED) | (occupancy == UNKNOWN), clearance)
    room: NDArray[np.bool_] = squares > clearance**2
    return room


def random_start(occupancy: NDArray[np.int8], geometry: MapGeometry, clearance_m: float, seed: int) -> Pose2D:
    """A place with this much room around it, and a direction."""
    random = np.random.default_rng([seed, 3])
    states = np.flatnonzero(room_for(occupancy, geometry, clearance_m))
    if states.size == 0:
        raise NoPlace(f'no place on the map is {clearance_m:g} m from all obstacles')
    y, x = divmod(int(random.choice(states)), geometry.width)
    return Pose2D(*geometry.centre_of((x, y)), float(random.uniform(-math.pi, math.pi)))


def random_goal(
    occupancy: NDArray[np.int8], geometry: MapGeometry, start: Pose2D, clearance_m: float, seed: int
) -> Pose2D:
    """A place with this much room around it and on the way there, far from the start."""
    random = np.random.default_rng([seed, 4])
    room = room_for(occupancy, geometry, clearance_m)
    from_cell = geometry.cell_at(start.x_m, start.y_m)
    x, y = from_cell
    room[y, x] = True
    grid = Grid(~room)
    cells = np.argwhere(room)[:, ::-1]
    distances = np.hypot(*(cells - from_cell).T)
    far = cells[distances >= min(FAR * math.hypot(geometry.width, geometry.height), 0.8 * distances.max())]
    for _ in range(TRIES):
        x, y = map(int, far[random.integers(len(far))])
        if find_path(grid, from_cell, (x, y)).status == Status.AT_GOAL:
            return Pose2D(*geometry.centre_of((x, y)), float(random.uniform(-math.pi, math.pi)))
    raise NoPlace(f'no place far from ({start.x_m:g}, {start.y_m:g}) was found that can be reached, in {TRIES} tries')
