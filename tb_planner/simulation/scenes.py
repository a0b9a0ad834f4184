"""Maps and obstacle scripts that are installed with the package, and random places on a map."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import BadInput
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.costmap import OCCUPIED, UNKNOWN
from tb_planner.search.distance import squared_distances
from tb_planner.search.grid import Grid
from tb_planner.search.planner import Status, find_path

PACKAGE = 'tb_planner'
DEMO_GOALS = {'office': (25.0, 6.0), 'warehouse': (34.5, 9.0)}
"""The goal on each map of the package, in metres; the robot starts at (0, 0)."""
VIEWER_LIMIT_S = 60.0
"""How long the robot of a demo waits for a page of the live view."""
TRIES = 200
FAR_FRACTION = 0.4
"""Smallest distance of a random goal from the start, as a fraction of the map's diagonal, if possible."""


class NoPlace(BadInput):
    """The map has no place that fits."""


def shared_file(folder: str, name: str) -> Path:
    """The path of an installed file in maps, config or launch; FileNotFoundError names the folders searched."""
    places = [place / folder / name for place in _places()]
    for path in places:
        if path.is_file():
            return path
    raise FileNotFoundError(f'{folder}/{name} was not found in {", ".join(str(path.parent) for path in places)}')


def map_file(name: str | Path) -> Path:
    """The path of a map: a name such as office is a map of the package, unless a file of that name exists."""
    path = Path(name).expanduser()
    return shared_file('maps', f'{name}.yaml') if str(name) in DEMO_GOALS and not path.exists() else path


def _places() -> Iterator[Path]:
    yield Path(__file__).resolve().parents[2]  # the sources, or links to them
    try:
        index = import_module('ament_index_python.packages')
        yield Path(index.get_package_share_directory(PACKAGE))
    except (ImportError, LookupError, OSError):  # no ROS, or the package is not installed in it
        pass
    yield Path(sys.prefix, 'share', PACKAGE)


def room_for(occupancy: NDArray[np.int8], geometry: MapGeometry, clearance_m: float) -> NDArray[np.bool_]:
    """The free cells that are further than this from every occupied and every unknown cell."""
    clearance = math.ceil(clearance_m / geometry.resolution_m)
    squares = squared_distances((occupancy >= OCCUPIED) | (occupancy == UNKNOWN), clearance)
    room: NDArray[np.bool_] = squares > clearance**2
    return room


def random_start(occupancy: NDArray[np.int8], geometry: MapGeometry, clearance_m: float, seed: int) -> Pose2D:
    """A random pose with this much room around it."""
    random = np.random.default_rng([seed, 3])
    states = np.flatnonzero(room_for(occupancy, geometry, clearance_m))
    if states.size == 0:
        raise NoPlace(f'no place on the map is {clearance_m:g} m away from every obstacle')
    y, x = divmod(int(random.choice(states)), geometry.width)
    return Pose2D(*geometry.centre_of((x, y)), float(random.uniform(-math.pi, math.pi)))


def random_goal(
    occupancy: NDArray[np.int8], geometry: MapGeometry, start: Pose2D, clearance_m: float, seed: int
) -> Pose2D:
    """A random pose far from the start; the place and a path to it have this much room."""
    random = np.random.default_rng([seed, 4])
    room = room_for(occupancy, geometry, clearance_m)
    from_cell = geometry.cell_at(start.x_m, start.y_m)
    x, y = from_cell
    room[y, x] = True
    grid = Grid(~room)
    cells = np.argwhere(room)[:, ::-1]
    distances = np.hypot(*(cells - from_cell).T)
    far = cells[distances >= min(FAR_FRACTION * math.hypot(geometry.width, geometry.height), 0.8 * distances.max())]
    for _ in range(TRIES):
        x, y = map(int, far[random.integers(len(far))])
        if find_path(grid, from_cell, (x, y)).status == Status.AT_GOAL:
            return Pose2D(*geometry.centre_of((x, y)), float(random.uniform(-math.pi, math.pi)))
    raise NoPlace(f'found no reachable place far from ({start.x_m:g}, {start.y_m:g}) in {TRIES} tries')
