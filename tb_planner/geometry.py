"""Geometry: where a grid lies in the world. Metres to cells and back.

Grid coordinates are continuous and counted in cells: cell (x, y) is the floor of both, its centre (x + 0.5, y + 0.5).
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.grid import Cell


@dataclass(frozen=True)
class Geometry:
    """Size, resolution and origin of a map, as in nav_msgs/MapMetaData."""

    width: int
    height: int
    resolution_m: float
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """x and y in metres and yaw of the outer corner of cell (0, 0)."""

    def __post_init__(self) -> None:
        if operator.index(self.width) < 1 or operator.index(self.height) < 1:
            raise ValueError(f'the map is {self.width} x {self.height} cells; it has at least 1 x 1')
        if not (math.isfinite(self.resolution_m) and self.resolution_m > 0):
            raise ValueError(f'resolution is {self.resolution_m} m; it is finite and above 0')
        if len(self.origin) != 3 or not all(math.isfinite(value) for value in self.origin):
            raise ValueError(f'origin is {self.origin}; it is three finite numbers: x, y and yaw')

    @property
    def yaw(self) -> float:
        return self.origin[2]

    def to_grid(self, x_m: float, y_m: float) -> tuple[float, float]:
        """A point of the world in cells; it may be outside the map."""
        x0, y0, yaw = self.origin
        cos, sin = math.cos(yaw), math.sin(yaw)
        dx, dy = x_m - x0, y_m - y0
        return (cos * dx + sin * dy) / self.resolution_m, (cos * dy - sin * dx) / self.resolution_m

    def to_world(self, x: float, y: float) -> tuple[float, float]:
        """The point of the world, in metres, of a point in cells."""
        x0, y0, yaw = self.origin
        cos, sin = math.cos(yaw), math.sin(yaw)
        along_x, along_y = x * self.resolution_m, y * self.resolution_m
        return x0 + cos * along_x - sin * along_y, y0 + sin * along_x + cos * along_y

    def cell_at(self, x_m: float, y_m: float) -> Cell:
        """The cell that holds a point of the world; it may be outside the map."""
        x, y = self.to_grid(x_m, y_m)
        return math.floor(x), math.floor(y)

    def centre_of(self, cell: Cell) -> tuple[float, float]:
        """The point of the world, in metres, at the centre of a cell."""
        x, y = cell
        return self.to_world(x + 0.5, y + 0.5)

    def contains(self, cell: Cell) -> bool:
        x, y = cell
        return 0 <= x < self.width and 0 <= y < self.height

    def to_grid_array(self, points_m: ArrayLike) -> NDArray[np.float64]:
        """Points of the world, (n, 2) in metres, in cells."""
        x0, y0, yaw = self.origin
        return (np.asarray(points_m, np.float64) - (x0, y0)) @ _turn(yaw) / self.resolution_m

    def to_world_array(self, cells: ArrayLike) -> NDArray[np.float64]:
        """The centres of cells, (n, 2), in metres."""
        x0, y0, yaw = self.origin
        return (np.asarray(cells, np.float64) + 0.5) * self.resolution_m @ _turn(-yaw) + (x0, y0)


def _turn(yaw: float) -> NDArray[np.float64]:
    """Turns rows (x, y) by -yaw when multiplied from the right."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.array([[cos, -sin], [sin, cos]])
