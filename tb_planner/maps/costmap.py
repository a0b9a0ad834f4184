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

from tb_planner.geometry import Box, Cell
from tb_planner.search.distance import squared_distances
from tb_planner.search.grid import BLOCKED, COST_STEPS, MAX_COST, whole_numbers

UNKNOWN = -1
OCCUPIED = 100
MAX_REACH = 1024
"""The largest inflation radius, in cells."""
TILE = 256
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
    """Where the soft margin ends; at least the robot's radius."""
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
        """How many cells away, along a row or column, an obstacle can still be felt."""
        return math.floor(self.inflation_radius_m / self.resolution_m + _ROUNDING)


class CostTable:
    """Rules as tables: occupancy to the grid's own terrain, which is costs in sixteenths, 0 where blocked."""

    def __init__(self, rules: CostmapConfig) -> None:
        self.rules = rules
        self._by_occupancy = _by_occupancy(rules)
        self._by_square = _by_square(rules)
        self._bound = math.ceil(math.sqrt(len(self._by_square) - 2))

    @property
    def weighted(self) -> bool:
        """Whether there can be costs other than 1."""
        costs = np.concatenate((self._by_occupancy, self._by_square))
        return bool(np.any((costs != _BLOCKED) & (costs != COST_STEPS - 1)))

    def terrain(self, occupancy: NDArray[np.int8], box: Box) -> NDArray[np.uint16]:
        """The terrain in a box that follows from a map's occupancy in and around it."""
        # -1 is 255 as an unsigned byte: one table serves known and unknown cells
        terrain = self._by_occupancy.take(occupancy[box.slices].view(np.uint8))
        if self.rules.reach > 0:
            height, width = occupancy.shape
            around = box.grown(self.rules.reach, Box(0, 0, width, height))
            obstacles = occupancy[around.slices] >= self.rules.lethal_threshold
            if obstacles.any():
                squares = squared_distances(obstacles, self._bound)[around.part(box)]
                np.maximum(terrain, self._by_square.take(squares, mode='clip'), out=terrain)
        terrain += np.uint16(1)
        return terrain


class Costmap:
    """The occupancy of a map and the traversal costs that follow from it, kept in step patch by patch.

    It is to be used by one thread at a time. What it returns are copies, fit to be handed to another thread; no single
    step of the work is longer than a tile, so that other threads get their turn in between.
    """

    def __init__(self, occupancy: ArrayLike, rules: CostmapConfig, *, tile: int = TILE) -> None:
        if tile < 1:
            raise ValueError(f'tile {tile} is below 1')
        self.rules = rules
        self._tile = tile
        self._occupancy = checked_occupancy(occupancy).copy()
        self._costs = np.empty(self._occupancy.shape, np.float32)
        self._conversion = CostTable(rules)
        self._box = Box(0, 0, self.width, self.height)
        for tile_box in self._box.tiles(tile):
            self._compute(tile_box)

    @property
    def width(self) -> int:
        return int(self._occupancy.shape[1])

    @property
    def height(self) -> int:
        return int(self._occupancy.shape[0])

    @property
    def costs(self) -> NDArray[np.float32]:
        """Traversal costs [y, x], inf where blocked: a read-only view that later updates write to."""
        view = self._costs.view()
        view.flags.writeable = False
        return view

    @property
    def occupancy(self) -> NDArray[np.int8]:
        """The occupancy behind the costs: a read-only view that later updates write to."""
        view = self._occupancy.view()
        view.flags.writeable = False
        return view

    def update(self, occupancy: ArrayLike, at: Cell | None = None) -> tuple[NDArray[np.float32], Cell]:
        """Takes in a patch whose lowest corner is `at` (None: a whole map) and returns the costs that follow from it.

        The result is a patch of costs and where it goes: the cells that differ from before, grown by the inflation
        radius, and of size 0 if none differ. The work goes with that patch, not with the map.
        """
        patch = checked_occupancy(occupancy)
        box = self._box_of(patch, at)
        changed = patch != self._occupancy[box.slices]
        touched = box.bounds(changed)
        if touched is None:
            return np.empty((0, 0), np.float32), (box.x0, box.y0)
        self._occupancy[box.slices] = patch
        grown = self._grow(touched)
        for tile_box in grown.tiles(self._tile):
            if changed[box.part(self._grow(tile_box))].any():
                self._compute(tile_box)
        return self._costs[grown.slices].copy(), (grown.x0, grown.y0)

    def _box_of(self, patch: NDArray[np.int8], at: Cell | None) -> Box:
        height, width = patch.shape
        if at is None:
            if patch.shape != self._occupancy.shape:
                raise ValueError(f'map of {width} x {height} cells does not fit the {self.width} x {self.height} map')
            return Box(0, 0, width, height)
        x, y = whole_numbers(at, 'at')
        if not (0 <= x <= self.width - width and 0 <= y <= self.height - height):
            raise ValueError(
                f'patch of {width} x {height} cells at ({x}, {y}) is not inside the {self.width} x {self.height} map'
            )
        return Box(x, y, x + width, y + height)

    def _grow(self, box: Box) -> Box:
        return box.grown(self.rules.reach, self._box)

    def _compute(self, box: Box) -> None:
        """Sets the costs in `box` from the occupancy in and around it."""
        terrain = self._conversion.terrain(self._occupancy, box)
        costs = terrain * np.float32(1 / COST_STEPS)
        costs[terrain == BLOCKED] = np.inf
        self._costs[box.slices] = costs


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
