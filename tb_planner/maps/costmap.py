"""Occupancy values to traversal costs: thresholds, unknown space, the robot's radius and a margin around obstacles.

A cell's traversal cost t is 1 in free space, and grows with occupancy and near obstacles:

    t = 1 + cost_travel_multiplier * p / 100

where p is the larger of the cell's own occupancy and of what its distance d to the nearest obstacle gives: 100 at the
robot's radius, falling to 0 at the inflation radius as the square of the remaining distance between the two. Cells no
farther than the robot's radius from an obstacle are blocked (t = inf), since the robot's centre cannot be there.
Distances are Euclidean, between cell centres.

Unknown cells never inflate, not even where they are blocked: every mapped room is lined with unknown cells, and a
margin around all of them would close its doors. Known obstacles do inflate into unknown cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.geometry import Box
from tb_planner.search.cells import Marks, all_stale, terrain_by_tables
from tb_planner.search.distance import SMALL_BOUND, short_squares, squared_distances
from tb_planner.search.grid import COST_STEPS, MAX_COST, costs_of_terrain

UNKNOWN = -1
OCCUPIED = 100
MAX_REACH = 1024
"""The largest inflation radius, in cells."""
TILE = 512
"""Costs are computed in tiles of this many cells a side: some milliseconds of work each, also on the largest map."""

# 3 cells of 0.05 m are within a radius of 0.15 m, though 3 * 0.05 > 0.15 in floating point
_ROUNDING = 1e-9
_BLOCKED = 2**16 - 1  # in the tables


@dataclass(frozen=True, kw_only=True)
class CostmapConfig:
    """How occupancy becomes cost. A bad value raises ValueError with the value and its limit."""

    resolution_m: float = 1.0
    """Side of a cell; a LiveMap replaces it by that of its map."""
    lethal_threshold: int = 99
    """Occupancy from which on a cell is an obstacle (1 to 100)."""
    allow_unknown: bool = True
    """Whether unknown cells may be crossed; if not they are blocked."""
    unknown_cost: float = 1.0
    """Traversal cost of unknown cells that may be crossed; 1 makes them as good as free."""
    robot_radius_m: float = 0.0
    """Cells no farther than this from an obstacle are blocked."""
    inflation_radius_m: float = 0.0
    """Cells no farther than this from an obstacle have a higher cost; at least the robot's radius."""
    cost_travel_multiplier: float = 2.0
    """An almost lethal cell costs this much more than a free one."""

    def __post_init__(self) -> None:
        _check_number('resolution_m', self.resolution_m, above=0.0)
        if not isinstance(self.lethal_threshold, (int, np.integer)):
            raise ValueError(f'lethal_threshold {self.lethal_threshold!r} is not a whole number')
        _check_number('lethal_threshold', self.lethal_threshold, low=1, high=OCCUPIED)
        if not isinstance(self.allow_unknown, (bool, np.bool_)):
            raise ValueError(f'allow_unknown {self.allow_unknown!r} is neither True nor False')
        _check_number('unknown_cost', self.unknown_cost, low=1.0, high=MAX_COST)
        _check_number('robot_radius_m', self.robot_radius_m, low=0.0)
        _check_number('inflation_radius_m', self.inflation_radius_m, low=0.0)
        _check_number('cost_travel_multiplier', self.cost_travel_multiplier, low=0.0, high=MAX_COST - 1)
        if self.inflation_radius_m < self.robot_radius_m:
            raise ValueError(
                f'inflation_radius_m {self.inflation_radius_m} is below robot_radius_m {self.robot_radius_m}'
            )
        if self.inflation_radius_m / self.resolution_m > MAX_REACH:
            raise ValueError(
                f'inflation_radius_m {self.inflation_radius_m} is more than {MAX_REACH} cells of {self.resolution_m} m'
            )

    @property
    def obstacle_threshold(self) -> int:
        """Occupancy from which on a cell is an obstacle itself. A map for a robot without a radius is inflated already:
        what is lethal there but not 100 are margins, as Nav2's inscribed cells are."""
        return self.lethal_threshold if self.robot_radius_m > 0 else OCCUPIED

    @property
    def reach(self) -> int:
        """The largest distance, in cells along a row or column, at which an obstacle still raises a cost."""
        return math.floor(self.inflation_radius_m / self.resolution_m + _ROUNDING)


class CostTable:
    """Rules as tables: occupancy to the grid's own terrain, which is costs in sixteenths, 0 where blocked."""

    def __init__(self, rules: CostmapConfig) -> None:
        self.rules = rules
        self._by_occupancy = _by_occupancy(rules)
        self._by_square = _by_square(rules)
        self._bound = math.ceil(math.sqrt(len(self._by_square) - 2))
        self._by_byte = self._by_square.take(np.arange(256), mode='clip') if self._bound <= SMALL_BOUND else None

    @property
    def weighted(self) -> bool:
        """Whether there can be costs other than 1."""
        costs = np.concatenate((self._by_occupancy, self._by_square))
        return bool(np.any((costs != _BLOCKED) & (costs != COST_STEPS - 1)))

    @property
    def highest(self) -> int:
        """The highest cost of a cell that is not blocked, in sixteenths."""
        costs = np.concatenate((self._by_occupancy, self._by_square))
        return int(costs[costs != _BLOCKED].max(initial=0)) + 1

    def terrain(self, occupancy: NDArray[np.int8], box: Box, marks: Marks | None = None) -> NDArray[np.uint16]:
        """The terrain in a box that follows from a map's occupancy in and around it; anything where marks are 0."""
        # -1 is 255 as an unsigned byte: one table serves known and unknown cells
        bytes_ = occupancy.view(np.uint8)
        if self._by_byte is not None and self.rules.reach > 0:
            marks = all_stale(box) if marks is None else marks
            squares = short_squares(occupancy, self.rules.lethal_threshold, box, self._bound, marks)
            far = self._bound**2 + 1
            return terrain_by_tables(bytes_, box, squares, far, self._by_occupancy, self._by_byte, marks)
        terrain = self._by_occupancy.take(bytes_[box.slices])
        if self.rules.reach > 0:
            height, width = occupancy.shape
            around = box.grown(self.rules.reach, Box(0, 0, width, height))
            obstacles = occupancy[around.slices] >= self.rules.lethal_threshold
            if obstacles.any():
                squares = squared_distances(obstacles, self._bound)[around.part(box)]
                np.maximum(terrain, self._by_square.take(squares, mode='clip'), out=terrain)
        terrain += np.uint16(1)
        return terrain

    def costs(self, occupancy: NDArray[np.int8], box: Box) -> NDArray[np.float32]:
        """The same as costs, inf where blocked."""
        return costs_of_terrain(self.terrain(occupancy, box))


def costs_of(occupancy: ArrayLike, rules: CostmapConfig, *, tile: int = TILE) -> NDArray[np.float32]:
    """The traversal costs of a map [y, x], inf where blocked. Raises ValueError.

    >>> costs_of([[0, 50, 100]], CostmapConfig()).tolist()
    [[1.0, 2.0, inf]]
    """
    values, table = checked_occupancy(occupancy), CostTable(rules)
    costs = np.empty(values.shape, np.float32)
    for box in Box(0, 0, values.shape[1], values.shape[0]).tiles(tile):
        costs[box.slices] = table.costs(values, box)
    return costs


def _by_occupancy(rules: CostmapConfig) -> NDArray[np.uint16]:
    """Cost by occupancy as an unsigned byte: 0 to 100, and 255 for unknown."""
    table = np.full(256, np.inf)
    table[: rules.lethal_threshold] = _traversal_cost(np.arange(rules.lethal_threshold), rules)
    if rules.allow_unknown:
        table[UNKNOWN % 256] = rules.unknown_cost
    return _quantised(table)


def _by_square(rules: CostmapConfig) -> NDArray[np.uint16]:
    """Cost by the squared distance, in cells, to the nearest obstacle; the last entry is for all larger distances."""
    inner = rules.robot_radius_m / rules.resolution_m + _ROUNDING
    outer = rules.inflation_radius_m / rules.resolution_m + _ROUNDING
    distances = np.sqrt(np.arange(math.floor(outer**2) + 2))
    # with equal radii no cell lies between them, and any width will do
    left = np.clip((outer - distances) / ((outer - inner) or 1.0), 0.0, 1.0)
    table = _traversal_cost(OCCUPIED * left**2, rules)
    table[distances <= inner] = np.inf
    return _quantised(table)


def _traversal_cost(occupancy: NDArray[np.generic], rules: CostmapConfig) -> NDArray[np.float64]:
    return 1.0 + rules.cost_travel_multiplier * np.asarray(occupancy, np.float64) / OCCUPIED


def _quantised(costs: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Costs in the grid's own steps less one: so blocked is the highest, and adding one makes it 0."""
    steps = np.rint(np.where(np.isinf(costs), 0.0, costs) * COST_STEPS) - 1
    return np.where(np.isinf(costs), _BLOCKED, steps).astype(np.uint16)


def checked_occupancy(occupancy: ArrayLike) -> NDArray[np.int8]:
    """Whole numbers from -1 to 100 in two dimensions; raises ValueError."""
    values = np.asarray(occupancy)
    if values.ndim != 2:
        raise ValueError(f'occupancy has {values.ndim} dimensions, not 2')
    if values.size == 0:
        raise ValueError(f'occupancy of {values.shape[1]} x {values.shape[0]} cells is empty')
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError(f'occupancy is of type {values.dtype}, not of whole numbers')
    y, x = divmod(int(values.argmin()), values.shape[1])
    if values[y, x] < UNKNOWN:
        raise ValueError(f'occupancy {values[y, x]} at ({x}, {y}) is below {UNKNOWN}')
    y, x = divmod(int(values.argmax()), values.shape[1])
    if values[y, x] > OCCUPIED:
        raise ValueError(f'occupancy {values[y, x]} at ({x}, {y}) is above {OCCUPIED}')
    return np.ascontiguousarray(values, np.int8)


def _check_number(
    name: str, value: float, *, low: float = -math.inf, above: float = -math.inf, high: float = math.inf
) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f'{name} {value!r} is not a number')
    if not math.isfinite(value):
        raise ValueError(f'{name} {value} is not finite')
    if value < low:
        raise ValueError(f'{name} {value} is below {low}')
    if value <= above:
        raise ValueError(f'{name} {value} is not above {above}')
    if value > high:
        raise ValueError(f'{name} {value} is above {high}')
