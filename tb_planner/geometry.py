"""Poses, cells and boxes, and where a map lies in the world: metres to cells and back.

Grid coordinates are continuous and counted in cells: cell (x, y) is the floor of both, its centre (x + 0.5, y + 0.5).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ROUNDING = 1e-9

Cell: TypeAlias = tuple[int, int]
"""(x, y); arrays are [y, x]."""


@dataclass(frozen=True)
class Pose2D:
    """A position and a heading in the plane, in metres and radians, in the map's frame.

    >>> print(Pose2D(1.0, 2.5))
    (1.00, 2.50) m
    """

    x_m: float
    y_m: float
    yaw: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.x_m) and math.isfinite(self.y_m) and math.isfinite(self.yaw)):
            raise ValueError(f'the pose is ({self.x_m}, {self.y_m}, {self.yaw}); its numbers must be finite')

    def __str__(self) -> str:
        return f'({self.x_m:.2f}, {self.y_m:.2f}) m'


class Box(NamedTuple):
    """Cells with x0 <= x < x1 and y0 <= y < y1."""

    x0: int
    y0: int
    x1: int
    y1: int

    @property
    def slices(self) -> tuple[slice, slice]:
        return slice(self.y0, self.y1), slice(self.x0, self.x1)

    def part(self, other: Box) -> tuple[slice, slice]:
        """The cells of `other` as slices of an array that covers this box."""
        return (
            slice(max(other.y0 - self.y0, 0), max(other.y1 - self.y0, 0)),
            slice(max(other.x0 - self.x0, 0), max(other.x1 - self.x0, 0)),
        )

    def grown(self, by: int, within: Box) -> Box:
        """This box with `by` more cells on every side, cut to the other box."""
        return Box(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by).overlap(within)

    def overlap(self, other: Box) -> Box:
        """The cells that are in both boxes; an empty box if there are none."""
        x0, y0 = max(self.x0, other.x0), max(self.y0, other.y0)
        return Box(x0, y0, max(min(self.x1, other.x1), x0), max(min(self.y1, other.y1), y0))

    def around(self, other: Box | None) -> Box:
        """The smallest box that holds both."""
        if other is None:
            return self
        return Box(min(self.x0, other.x0), min(self.y0, other.y0), max(self.x1, other.x1), max(self.y1, other.y1))

    def tiles(self, side: int) -> Iterator[Box]:
        """The parts of this box in squares of this side that begin at multiples of it."""
        for y in range(self.y0 - self.y0 % side, self.y1, side):
            for x in range(self.x0 - self.x0 % side, self.x1, side):
                yield self.overlap(Box(x, y, x + side, y + side))

    def bounds(self, marked: NDArray[np.bool_]) -> Box | None:
        """The smallest box around the cells that are marked in an array that covers this box, or None."""
        rows = np.flatnonzero(marked.any(axis=1))
        if rows.size == 0:
            return None
        columns = np.flatnonzero(marked.any(axis=0))
        return Box(
            self.x0 + int(columns[0]),
            self.y0 + int(rows[0]),
            self.x0 + int(columns[-1]) + 1,
            self.y0 + int(rows[-1]) + 1,
        )


@dataclass(frozen=True)
class MapGeometry:
    """Size, resolution and origin of a map, as in nav_msgs/MapMetaData.

    >>> geometry = MapGeometry(width=40, height=20, resolution_m=0.5, origin=(-1.0, -2.0, 0.0))
    >>> geometry.cell_at(-0.9, -2.0), geometry.centre_of((39, 19))
    ((0, 0), (18.75, 7.75))
    """

    width: int
    height: int
    resolution_m: float
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """x and y in metres and yaw of the outer corner of cell (0, 0)."""

    def __post_init__(self) -> None:
        if operator.index(self.width) < 1 or operator.index(self.height) < 1:
            raise ValueError(f'the map is {self.width} x {self.height} cells; it must have at least 1 x 1')
        if not (math.isfinite(self.resolution_m) and self.resolution_m > 0):
            raise ValueError(f'resolution is {self.resolution_m} m; it must be finite and above 0')
        if len(self.origin) != 3 or not all(math.isfinite(value) for value in self.origin):
            raise ValueError(f'origin is {self.origin}; it must be three finite numbers: x, y and yaw')

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

    def cell_of(self, pose: Pose2D) -> Cell:
        """The cell that holds a pose; it may be outside the map."""
        return self.cell_at(pose.x_m, pose.y_m)

    def whole_cells(self, distance_m: float) -> int:
        """How many whole cells fit into a distance: 0.15 m are 3 cells of 0.05 m, though 3 * 0.05 > 0.15 in floats."""
        return math.floor(distance_m / self.resolution_m + _ROUNDING)

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


def composed(frame: Pose2D, pose: Pose2D) -> Pose2D:
    """A pose given in a frame, in the parent of that frame."""
    cos, sin = math.cos(frame.yaw), math.sin(frame.yaw)
    x_m = frame.x_m + cos * pose.x_m - sin * pose.y_m
    y_m = frame.y_m + sin * pose.x_m + cos * pose.y_m
    return Pose2D(x_m, y_m, math.remainder(frame.yaw + pose.yaw, math.tau))


def length_m(points: ArrayLike) -> float:
    """The length of the line through these points, (n, 2)."""
    return float(np.hypot(*np.diff(np.asarray(points), axis=0).T).sum())


def headings(points_m: NDArray[np.float64], last_yaw: float | None = None) -> NDArray[np.float64]:
    """The direction from each point to the next."""
    steps = np.diff(points_m, axis=0)
    yaws = np.zeros(len(points_m))
    yaws[:-1] = np.arctan2(steps[:, 1], steps[:, 0])
    yaws[-1] = last_yaw if last_yaw is not None else yaws[-2] if len(yaws) > 1 else 0.0
    return yaws


def _turn(yaw: float) -> NDArray[np.float64]:
    """Turns rows (x, y) by -yaw when multiplied from the right."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.array([[cos, -sin], [sin, cos]])
