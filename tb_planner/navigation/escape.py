"""How a robot leaves a blocked cell: straight to a free cell near by, its escape cell.

A robot in the inflated margin of an obstacle may cross margins, and never an obstacle.

Inside an obstacle itself a robot can only be by mistake: of its pose, of a sensor, of the map. It leaves the obstacle
on the side where it is, and crosses nothing else. That is the side where it was free before. If that is not known, it
is the nearest side, unless leaving by another one is hardly longer: then nobody knows on which side of the obstacle,
for example a thin wall, the robot is, and there is no escape cell. An obstacle that is small, or ends near by, has one
side only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box, Cell, MapGeometry, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.search.grid import BLOCKED, COST_STEPS
from tb_planner.search.sight import clear, farthest_clear

SAFE_DIFFERENCE = 1.0
"""In cells. Another side counts as a possible one if leaving there leads at most this much farther through the obstacle
than the nearest side is away."""
DETOUR_MARGIN = 2
"""In cells. Two sides are one if they meet within twice the distance out of the obstacle, and this much more."""
SMALL_REACH = 4
"""In cells. An obstacle that ends all around within this distance of the robot's cell is small. Wherever in it the
robot is, it has one side only, since a path leads around it."""

MAX_CELLS = 512
"""Free cells that are looked at from within an obstacle, some milliseconds of work: half of them the nearest, the
others, if there are more, spread over all the rest, which may be on another side."""

MAX_DISTANCE = 100
"""In cells. An escape cell is never farther away, whatever the tolerance."""
PLACES_PER_CELL = 64
"""Parts of a cell's side to which the robot's place is rounded, so that a place found before is known again."""
MAX_REMEMBERED = 64
"""Escape cells that are kept for one window."""

_LOOKS_PER_CELL = 4  # along a straight line

Point = tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Window:
    """The map around a robot in a blocked cell, and the escape cells that were found there."""

    box: Box
    terrain: NDArray[np.uint16]
    obstacles: NDArray[np.bool_]
    found: dict[tuple[Point, int, Point | None], Cell | None] = field(default_factory=dict)

    @classmethod
    def read(cls, map_update: MapUpdate, box: Box) -> _Window:
        terrain = map_update.grid.cost_u16[box.slices]
        return cls(box, terrain, terrain == BLOCKED if map_update.obstacles is None else map_update.obstacles(box))

    def is_like(self, other: _Window) -> bool:
        """Obstacles may differ though the terrain is the same."""
        return (
            self.box == other.box
            and np.array_equal(self.terrain, other.terrain)
            and np.array_equal(self.obstacles, other.obstacles)
        )


class EscapeFinder:
    """Finds escape cells, and remembers those of the last window: most ticks find robot and map as they were.

    It belongs to one robot on one map: a Navigator and a PathPlanner have one each."""

    def __init__(self) -> None:
        self._last: _Window | None = None

    def find(
        self, map_update: MapUpdate, pose: Pose2D, tolerance_m: float, came_from: Pose2D | None = None
    ) -> Cell | None:
        """The cell of a robot on the map; if that is blocked, the one to leave it by, within the tolerance and
        MAX_DISTANCE; None if there is none. came_from: where the robot was free before, if that is known."""
        geometry = map_update.geometry
        position = geometry.to_grid(pose.x_m, pose.y_m)
        before = None if came_from is None else geometry.to_grid(came_from.x_m, came_from.y_m)
        return self.find_cell(map_update, position, geometry.whole_cells(tolerance_m), before)

    def find_cell(
        self, map_update: MapUpdate, position: Point, tolerance: int, came_from: Point | None = None
    ) -> Cell | None:
        """find(), with positions and the tolerance in cells."""
        cell = math.floor(position[0]), math.floor(position[1])
        if not map_update.grid.is_blocked(cell):
            return cell
        tolerance = min(tolerance, MAX_DISTANCE)
        window = self._window(map_update, Box(*cell, cell[0] + 1, cell[1] + 1).grown(tolerance, map_update.grid.box))
        place = (
            math.floor(position[0] * PLACES_PER_CELL) / PLACES_PER_CELL,
            math.floor(position[1] * PLACES_PER_CELL) / PLACES_PER_CELL,
        )
        key = place, tolerance, came_from
        if key not in window.found:
            if len(window.found) >= MAX_REMEMBERED:
                window.found.clear()
            window.found[key] = _find_escape_cell(window, *key)
        return window.found[key]

    def _window(self, map_update: MapUpdate, box: Box) -> _Window:
        """The map in the box; the window of the last call, with what was found there, if the map is the same."""
        window = _Window.read(map_update, box)
        if self._last is None or not self._last.is_like(window):
            self._last = replace(window, terrain=window.terrain.copy())  # the grid is written to again
        return self._last


def no_escape_text(geometry: MapGeometry, tolerance_m: float) -> str:
    """Why a blocked robot has no escape cell: all may be blocked, or its side of an obstacle is not known."""
    within_m = min(tolerance_m, MAX_DISTANCE * geometry.resolution_m)
    return f'no free cell within {within_m:g} m is certain to be on its side of the obstacles'


def _find_escape_cell(window: _Window, position: Point, tolerance: int, came_from: Point | None) -> Cell | None:
    box, obstacles = window.box, window.obstacles
    here = position[0] - box.x0, position[1] - box.y0
    cells = _nearest_first(window.terrain, here, tolerance)
    if len(cells) == 0:
        return None
    if obstacles[math.floor(here[1]), math.floor(here[0])]:
        before = None if came_from is None else (came_from[0] - box.x0, came_from[1] - box.y0)
        found = _out_of_obstacle(obstacles, here, cells, before)
    else:
        found = _out_of_margin(obstacles, here, cells)
    return None if found is None else (int(cells[found, 0]) + box.x0, int(cells[found, 1]) + box.y0)


def _nearest_first(terrain: NDArray[np.uint16], here: Point, tolerance: int) -> NDArray[np.intp]:
    """The free cells within the tolerance of the robot's cell, (n, 2), nearest first; ties go to the one nearer to the
    robot itself."""
    rows, columns = np.nonzero(terrain)
    squares = (columns - math.floor(here[0])) ** 2 + (rows - math.floor(here[1])) ** 2
    order = np.lexsort((np.hypot(columns + 0.5 - here[0], rows + 0.5 - here[1]), squares))
    return np.column_stack((columns, rows))[order[: np.count_nonzero(squares <= tolerance**2)]]


def _out_of_margin(obstacles: NDArray[np.bool_], here: Point, cells: NDArray[np.intp]) -> int | None:
    """Which of the cells is the first in sight, but for margins."""
    passable = np.where(obstacles, np.uint16(BLOCKED), np.uint16(COST_STEPS))
    farthest_first = np.ascontiguousarray(cells[::-1] + 0.5)
    found = farthest_clear(passable, *here, farthest_first, np.full(len(cells), COST_STEPS, np.int32))
    return None if found < 0 else len(cells) - 1 - int(found)


def _out_of_obstacle(
    obstacles: NDArray[np.bool_], here: Point, cells: NDArray[np.intp], before: Point | None
) -> int | None:
    """Which of the cells is the first on the robot's side."""
    obstacles = _filled(obstacles, cells)
    considered = np.arange(len(cells))
    if len(cells) > MAX_CELLS:
        half = MAX_CELLS // 2
        considered = np.append(considered[:half], np.linspace(half, len(cells) - 1, half).astype(np.intp))
    cells = cells[considered]
    doors, crossed, is_clear_beyond = _doors(obstacles, here, cells)
    away = np.where(obstacles, math.inf, _distances(obstacles.shape, here))
    nearest = float(away.min())
    if before is not None and _is_open(obstacles, before):
        side = _side(obstacles, here, before, math.dist(before, here) + DETOUR_MARGIN)
    else:
        row, column = np.unravel_index(away.argmin(), away.shape)
        reach = max(2 * nearest + DETOUR_MARGIN, SMALL_REACH + 1 if _is_small(obstacles, here) else 0)
        side = _side(obstacles, here, (float(column), float(row)), reach)
        if (is_clear_beyond & ~_are_in(side, doors) & (crossed <= nearest + SAFE_DIFFERENCE)).any():
            return None
    passable = np.where(obstacles, np.uint16(BLOCKED), np.uint16(COST_STEPS))
    for i in np.flatnonzero(is_clear_beyond & _are_in(side, doors)).tolist():
        if clear(passable, *doors[i].tolist(), *(cells[i] + 0.5).tolist()):
            return int(considered[i])
    return None


def _doors(
    obstacles: NDArray[np.bool_], here: Point, cells: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """For each of the cells: where the straight line there leaves the obstacle, how far it has led through it, and
    whether it seems to meet no obstacle after."""
    lines = cells + 0.5 - here
    lengths = np.hypot(*lines.T)
    shares = np.linspace(0.0, 1.0, math.ceil(lengths.max() * _LOOKS_PER_CELL) + 1)
    columns, rows = ((start + np.outer(shares, line)).astype(np.intp) for start, line in zip(here, lines.T))
    blocked = obstacles[rows, columns]
    first = blocked.argmin(axis=0)
    return here + shares[first, None] * lines, shares[first] * lengths, np.count_nonzero(blocked, axis=0) == first


def _filled(obstacles: NDArray[np.bool_], cells: NDArray[np.intp]) -> NDArray[np.bool_]:
    """The obstacles with the areas that they enclose, where none of the free cells lies: no robot is in there."""
    is_reached = np.zeros_like(obstacles)
    is_reached[[0, -1]] = is_reached[:, [0, -1]] = True
    is_reached[cells[:, 1], cells[:, 0]] = True
    return ~_connected(~obstacles, is_reached)


def _is_small(obstacles: NDArray[np.bool_], here: Point) -> bool:
    """Whether what the robot is in, with all that is near it, ends near by on all sides. A wall may have been seen with
    gaps of a cell or two."""
    obstacles, here = _near(obstacles, here, SMALL_REACH + 3)
    steps = _steps(obstacles.shape, here)
    whole = _connected(_widened(_widened(obstacles).T).T, steps == 0) & obstacles
    ends_in_view = not (whole[[0, -1]].any() or whole[:, [0, -1]].any())
    return ends_in_view and not whole[steps > SMALL_REACH].any()


def _near(mask: NDArray[np.bool_], here: Point, reach: int) -> tuple[NDArray[np.bool_], Point]:
    """The part of a mask within this many steps of the robot's cell, and the robot's place in it."""
    left, top = max(math.floor(here[0]) - reach, 0), max(math.floor(here[1]) - reach, 0)
    part = mask[top : math.floor(here[1]) + reach + 1, left : math.floor(here[0]) + reach + 1]
    return part, (here[0] - left, here[1] - top)


def _widened(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask, widened by a row above and below."""
    wider = mask.copy()
    wider[1:] |= mask[:-1]
    wider[:-1] |= mask[1:]
    return wider


def _side(obstacles: NDArray[np.bool_], here: Point, place: Point, reach: float) -> NDArray[np.bool_]:
    """What can be reached from this place within `reach` of the robot's cell; diagonally only past what is open."""
    return _connected(~obstacles & (_steps(obstacles.shape, here) <= reach), _steps(obstacles.shape, place) == 0)


def _connected(within: NDArray[np.bool_], seeds: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """All of `within` that is connected with one of the seeds, not diagonally. Whole rows and columns are gone along at
    once: the work grows with the turns of the connection, not with its length."""
    closed = np.pad(~within, 1, constant_values=True)
    runs = np.cumsum(closed).reshape(closed.shape), np.cumsum(closed.T).reshape(closed.T.shape).T
    found, count = np.pad(seeds & within, 1), -1
    while count < int(found.sum()):
        count = int(found.sum())
        for run in runs:
            is_met = np.zeros(closed.size + 1, np.bool_)
            is_met[run[found]] = True
            found = is_met[run] & ~closed
    return found[1:-1, 1:-1]


def _are_in(side: NDArray[np.bool_], places: NDArray[np.float64]) -> NDArray[np.bool_]:
    columns, rows = np.floor(places).astype(np.intp).T
    within: NDArray[np.bool_] = side[rows, columns]
    return within


def _steps(shape: tuple[int, ...], here: Point) -> NDArray[np.intp]:
    """The number of steps from the robot's cell to each cell, diagonal ones included."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    steps: NDArray[np.intp] = np.maximum(np.abs(columns - math.floor(here[0])), np.abs(rows - math.floor(here[1])))
    return steps


def _distances(shape: tuple[int, ...], here: Point) -> NDArray[np.float64]:
    """The distance from the robot to the nearest point of each cell."""
    rows, columns = np.ogrid[: shape[0], : shape[1]]
    dx = np.maximum(np.maximum(columns - here[0], here[0] - columns - 1), 0.0)
    dy = np.maximum(np.maximum(rows - here[1], here[1] - rows - 1), 0.0)
    distances: NDArray[np.float64] = np.hypot(dx, dy)
    return distances


def _is_open(obstacles: NDArray[np.bool_], place: Point) -> bool:
    x, y = math.floor(place[0]), math.floor(place[1])
    return 0 <= y < obstacles.shape[0] and 0 <= x < obstacles.shape[1] and not obstacles[y, x]
