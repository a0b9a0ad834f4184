"""Grid: cells, costs and legal moves; update() returns what changed.

A cell is (x, y); arrays are [y, x]; a state is the int y * width + x. Costs are symmetric, because the agent walks back
along the edges of its search tree: c(u, v) = length (t(u) + t(v)) / 2, with t >= 1 and length 1 or sqrt(2).
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.errors import BadInput
from tb_planner.geometry import Box, Cell
from tb_planner.search import kernel, pages
from tb_planner.search.cells import Marks, all_opened, all_stale, differences, legal_moves, store
from tb_planner.search.grid_math import DIAGONAL, MAX_G

COST_STEPS = 16  # costs are multiples of 1/16: sums of them are exact, and ties are ties
MAX_COST = (2**16 - 1) // COST_STEPS
MAX_STATES = 2**31 - 1

BLOCKED = 0  # in terrain
NORTH, EAST, SOUTH, WEST, NORTH_EAST, SOUTH_EAST, SOUTH_WEST, NORTH_WEST = (1 << d for d in range(8))


class OutsideGrid(BadInput):
    """A cell or a part of a patch lies outside the grid."""


class StartBlocked(BadInput):
    """The start is blocked, and so is every cell within the tolerance."""


class GoalBlocked(BadInput):
    """The goal is blocked, and so is every cell within the tolerance."""


@dataclass(frozen=True)
class GridChange:
    """The states whose cost an update changed."""

    increased: NDArray[np.int32]
    """The cost is higher, or the cell is blocked now."""
    decreased: NDArray[np.int32]
    """The cost is lower, or the cell is free now."""
    unblocked: NDArray[np.int32]
    """The states of `decreased` past which diagonal steps may have become legal."""

    def __bool__(self) -> bool:
        return bool(len(self.increased) or len(self.decreased))

    @classmethod
    def between(cls, old: Grid, new: Grid, boxes: Iterable[Box]) -> GridChange:
        """The difference between two grids in these boxes, which must not overlap."""
        increased, decreased, unblocked = differences(old.cost_u16, new.cost_u16, list(boxes))
        return cls(increased, decreased, unblocked[:0] if new.corner_cutting else unblocked)


class Grid:
    """Cells that are free or blocked, or that have a cost.

    values: bool [y, x], True is blocked; or costs, float of at least 1, inf is blocked, kept as multiples of 1/16.
    neighbours: 4 or 8. corner_cutting: allow diagonal steps past a blocked cell.

    >>> grid = Grid([[False, True], [False, False]])
    >>> grid
    Grid(2 x 2 cells, 1 blocked, 8 neighbours)
    >>> grid.is_blocked((1, 0)), grid.step_cost((0, 0), (0, 1)), grid.step_cost((0, 0), (1, 1))
    (True, 1.0, inf)
    """

    def __init__(self, values: ArrayLike, *, neighbours: int = 8, corner_cutting: bool = False):
        array = _checked_array(values)
        self._make(array.shape, neighbours, corner_cutting, array.dtype != np.bool_)
        self.cost_u16[...] = _terrain(array)
        self._total = int(self.cost_u16.sum(dtype=np.int64))
        self.check_room()
        for box in self.box.tiles(256):  # which stay in the cache
            self._set_moves(box, all_opened(box))
            if self.weighted:
                cells = np.bincount(self.cost_u16[box.slices].reshape(-1))
                self._cells_of_cost[: len(cells)] += cells.astype(np.int32)

    @classmethod
    def all_blocked(
        cls, width: int, height: int, *, weighted: bool, neighbours: int = 8, corner_cutting: bool = False
    ) -> Grid:
        """A grid without free cells, for write(). Its memory is taken only there, and that of a new search in a thread
        while the search begins."""
        grid = cls.__new__(cls)
        grid._make((height, width), neighbours, corner_cutting, weighted)
        grid._takes_memory_ahead = True
        return grid

    def twin(self) -> Grid:
        """A grid of the same kind and size without free cells. Both have the same spare searches."""
        twin = Grid.__new__(Grid)
        twin._make((self.height, self.width), self.neighbours, self.corner_cutting, self.weighted)
        twin._spare_searches = self._spare_searches
        twin._takes_memory_ahead = self._takes_memory_ahead
        return twin

    def _make(self, shape: tuple[int, ...], neighbours: int, corner_cutting: bool, weighted: bool) -> None:
        if neighbours not in (4, 8):
            raise ValueError(f'neighbours is {neighbours}; it must be 4 or 8')
        if len(shape) != 2 or 0 in shape:
            raise ValueError(f'the grid has shape {shape}; it must have two dimensions and at least one cell')
        self.height, self.width = shape
        if self.width * self.height > MAX_STATES:
            raise ValueError(f'the grid has {self.width * self.height} cells; it must have at most {MAX_STATES}')
        self.neighbours = neighbours
        self.corner_cutting = bool(corner_cutting)
        self.weighted = weighted
        self.cost_u16 = np.zeros(shape, np.uint16)
        self.legal_moves = np.zeros(shape, np.uint8)
        self._total = 0
        self._cells_of_cost = np.zeros(2**16 if weighted else 0, np.int32)
        self._spare_searches: list[kernel.Search] = []
        self._takes_memory_ahead = False

    def __repr__(self) -> str:
        blocked = np.count_nonzero(self.cost_u16 == BLOCKED)
        costs, cutting = ' with costs' * self.weighted, ', corner cutting' * self.corner_cutting
        cells = f'{self.width} x {self.height} cells{costs}, {blocked} blocked'
        return f'Grid({cells}, {self.neighbours} neighbours{cutting})'

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, '_spare_searches': []}  # which cannot be copied, and need not be

    def new_search(self) -> kernel.Search:
        """A search on this grid; its memory is taken where the search goes."""
        search = kernel.Search(
            self.legal_moves.reshape(-1), self.cost_u16.reshape(-1), self.width, self.neighbours, self.weighted
        )
        search.set_lowest_cost(self.lowest_cost)
        return search

    def take_search(self) -> kernel.Search:
        """A spare search if there is one, else a new one."""
        try:
            search = self._spare_searches.pop()
        except IndexError:
            search = self.new_search()
            if self._takes_memory_ahead:
                _take_memory_of(search)
            return search
        search.use_grid(self.legal_moves.reshape(-1), self.cost_u16.reshape(-1))
        search.set_lowest_cost(self.lowest_cost)
        return search

    def keep_search(self, search: kernel.Search) -> None:
        """Keeps a search on this grid, or on its twin, for the next take_search()."""
        self._spare_searches.append(search)

    def drop_spare_searches(self) -> None:
        """Gives the memory of spare searches back to the system. Another thread may take a search meanwhile."""
        while True:
            try:
                search = self._spare_searches.pop()
            except IndexError:
                return
            pages.give_back(search.arrays())

    @property
    def has_spare_search(self) -> bool:
        """Whether the next planner needs no new memory."""
        return bool(self._spare_searches)

    def prepare(self) -> None:
        """Takes a search's memory from the system now, so that the next planner or find_path() needs no time for it,
        whatever the size of the map."""
        search = self.take_search()
        search.touch_memory()
        self.keep_search(search)

    @property
    def box(self) -> Box:
        """The box of all cells."""
        return Box(0, 0, self.width, self.height)

    @property
    def blocked(self) -> NDArray[np.bool_]:
        return self.cost_u16 == BLOCKED

    @property
    def costs(self) -> NDArray[np.float32]:
        """The cost of every cell, rounded to 1/16; inf where blocked."""
        return costs_of_terrain(self.cost_u16)

    @property
    def lowest_cost(self) -> int:
        """The cost of the cheapest free cell, in sixteenths; 16 on a grid without costs, or without free cells."""
        for costs in (slice(COST_STEPS, 1024), slice(1024, None)):  # mostly it is among the first
            found = np.flatnonzero(self._cells_of_cost[costs])
            if len(found):
                return int(found[0]) + costs.start
        return COST_STEPS

    def contains(self, cell: Cell) -> bool:
        x, y = cell
        return 0 <= x < self.width and 0 <= y < self.height

    def is_blocked(self, cell: Cell) -> bool:
        return bool(self.cost_u16.reshape(-1)[self.state(cell)] == BLOCKED)

    def state(self, cell: Cell, what: str = 'cell') -> int:
        """The number of a cell, y * width + x; raises OutsideGrid."""
        x, y = whole_numbers(cell, what)
        if not self.contains((x, y)):
            raise OutsideGrid(f'{what} ({x}, {y}) is outside the {self.width} x {self.height} grid')
        return y * self.width + x

    def cell(self, state: int) -> Cell:
        y, x = divmod(int(state), self.width)
        return x, y

    def cells(self, states: ArrayLike) -> list[Cell]:
        ys, xs = np.divmod(np.asarray(states, np.int64), self.width)
        return list(zip(xs.tolist(), ys.tolist(), strict=True))

    def step_cost(self, a: Cell, b: Cell) -> float:
        """The cost of the step from a to b; inf if it is illegal."""
        a, b = whole_numbers(a, 'a'), whole_numbers(b, 'b')
        dx, dy = b[0] - a[0], b[1] - a[1]
        is_near = abs(dx) <= 1 and abs(dy) <= 1 and self.contains(a)
        if not is_near or not self.legal_moves[a[1], a[0]] & _BITS[dy + 1, dx + 1]:
            return math.inf
        t = (int(self.cost_u16[a[1], a[0]]) + int(self.cost_u16[b[1], b[0]])) / (2 * COST_STEPS)
        return t * math.sqrt(2) if dx and dy else t

    def step_sums(self, states: NDArray[np.int32]) -> tuple[int, int]:
        """(straight, diagonal) of a walk along these states: the number of steps, or, on a grid with costs, the sum of
        the costs at both ends of each step."""
        ys, xs = np.divmod(states, self.width)
        diagonal = (np.diff(xs) != 0) & (np.diff(ys) != 0)
        terrain = self.cost_u16.reshape(-1)[states].astype(np.int64)
        steps = terrain[:-1] + terrain[1:] if self.weighted else np.ones(len(diagonal), np.int64)
        return int(steps[~diagonal].sum()), int(steps[diagonal].sum())

    def cost_of(self, straight: int, diagonal: int) -> float:
        """The cost of moves with these sums, see step_sums()."""
        return (straight + diagonal * math.sqrt(2)) / (2 * COST_STEPS if self.weighted else 1)

    def legal_steps(self, states: NDArray[np.int32]) -> NDArray[np.bool_]:
        """For each of these states but the last, whether a legal step leads to the next one."""
        y, x = np.divmod(states, self.width)
        dx, dy = np.diff(x), np.diff(y)
        near = (np.abs(dx) <= 1) & (np.abs(dy) <= 1)
        bits = _BITS[np.clip(dy, -1, 1) + 1, np.clip(dx, -1, 1) + 1]
        legal: NDArray[np.bool_] = near & (self.legal_moves.reshape(-1)[states[:-1]] & bits != 0)
        return legal

    def nearest_free(self, cell: Cell, tolerance: int) -> Cell | None:
        """The free cell nearest to this one, at most `tolerance` cells away; ties go to the first row, then column.

        It reads only the cells within the tolerance.
        """
        if not self.is_blocked(cell):
            return cell
        window = Box(*cell, cell[0] + 1, cell[1] + 1).grown(tolerance, self.box)
        return nearest_marked(self.cost_u16[window.slices], window, cell, tolerance)

    def update(self, values: ArrayLike, at: Cell | None = None) -> GridChange:
        """Takes in a new map, or a patch whose first cell is `at`. The work grows with the size of the array.

        >>> change = Grid([[False, False]]).update([[True]], at=(1, 0))
        >>> change.increased.tolist(), change.decreased.tolist()
        ([1], [])
        """
        array = _checked_array(values)
        if array.dtype != np.bool_ and not self.weighted:
            raise ValueError(f'the update has dtype {array.dtype}; this grid has no costs and takes bool')
        x, y = (0, 0) if at is None else whole_numbers(at, 'at')
        self._check_patch(array.shape, None if at is None else (x, y))
        height, width = array.shape
        new = _terrain(array)
        box = Box(x, y, x + width, y + height)
        change = _difference(self, box, self.cost_u16[box.slices], new)
        if not change:
            return change
        rows, columns = np.divmod(np.concatenate((change.increased, change.decreased)), self.width)
        box = Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)
        new = new[Box(x, y, x + width, y + height).part(box)]
        rise = int(new.sum(dtype=np.int64)) - int(self.cost_u16[box.slices].sum(dtype=np.int64))
        self.check_room(rise)
        self.write(new, box)
        return change

    def write(self, terrain: NDArray[np.uint16], box: Box, marks: Marks | None = None) -> bool:
        """Takes in new costs for a box, unchecked: in sixteenths, 0 is blocked. Returns False if nothing changes.

        marks: where there are new costs; they are used up. The caller checks with check_room() afterwards whether there
        is room for the sums of costs.
        """
        marks = all_stale(box) if marks is None else marks
        changed, opened, rise = store(terrain, self.cost_u16, box, marks, self._cells_of_cost)
        self._total += rise
        if opened:
            self._set_moves(box, marks)
        return changed

    def copy(self, other: Grid, boxes: Iterable[Box]) -> None:
        """Copies from another grid of the same kind and size, which does not differ outside these boxes."""
        for box in boxes:
            self.cost_u16[box.slices] = other.cost_u16[box.slices]
            grown = box.grown(1, self.box)  # a cell's moves go with its neighbours, too
            self.legal_moves[grown.slices] = other.legal_moves[grown.slices]
        self._total = other._total
        self._cells_of_cost[...] = other._cells_of_cost

    def _check_patch(self, shape: tuple[int, ...], at: Cell | None) -> None:
        if at is None:
            if shape != (self.height, self.width):
                raise ValueError(
                    f'the new map has shape {shape}; the grid has {(self.height, self.width)} (a patch needs at=(x, y))'
                )
            return
        if len(shape) != 2:
            raise ValueError(f'the patch has shape {shape}; it must have two dimensions')
        (x, y), (height, width) = at, shape
        if x < 0 or y < 0 or x + width > self.width or y + height > self.height:
            raise OutsideGrid(
                f'the {width} x {height} patch at ({x}, {y}) reaches outside the {self.width} x {self.height} grid'
            )

    def has_room_for(self, cost: int) -> bool:
        """Whether check_room() passes whatever the cells cost, up to this, in sixteenths."""
        return not self.weighted or 2 * DIAGONAL * cost * self.width * self.height <= MAX_G

    def check_room(self, rise: int = 0) -> None:
        """Raises ValueError if a path could cost more than the kernel has room for, with this rise of all costs.

        A path visits a cell at most once.
        """
        total = self._total + rise
        bound = 2 * DIAGONAL * total if self.weighted else DIAGONAL * self.width * self.height
        if bound > MAX_G:
            mean = total / COST_STEPS / (self.width * self.height)
            limit = MAX_G / (2 * DIAGONAL) / COST_STEPS / (self.width * self.height)
            raise ValueError(f'the mean cost is {mean:.1f}; it must be at most {limit:.1f} on a grid of this size')

    def _set_moves(self, box: Box, marks: Marks) -> None:
        """The legal moves, one bit a direction, of the cells marked as OPENED and of those beside them."""
        legal_moves(self.cost_u16, box, marks, self.neighbours == 8, self.corner_cutting, self.legal_moves)


_BITS = np.array(  # by dy + 1 and dx + 1
    [[NORTH_WEST, NORTH, NORTH_EAST], [WEST, 0, EAST], [SOUTH_WEST, SOUTH, SOUTH_EAST]], np.uint8
)


def _take_memory_of(search: kernel.Search) -> None:
    """Takes a new search's memory in a thread. If the search did all of that, its first path would take ten times as
    long."""
    arrays = search.arrays()

    def take() -> None:
        pages.take(arrays)
        search.taking_memory = False

    search.taking_memory = True
    threading.Thread(target=take, name='search_memory', daemon=True).start()


def nearest_marked(marks: NDArray[np.generic], box: Box, cell: Cell, tolerance: int) -> Cell | None:
    """The cell nearest to this one that is marked in an array that covers this box, at most `tolerance` cells away;
    ties go to the first row, then column. The cell may be outside the box."""
    rows, columns = np.nonzero(marks)
    squares = (columns + box.x0 - cell[0]) ** 2 + (rows + box.y0 - cell[1]) ** 2
    if len(squares) == 0 or squares.min() > tolerance**2:
        return None
    i = int(squares.argmin())
    return int(columns[i]) + box.x0, int(rows[i]) + box.y0


def whole_numbers(cell: Cell, what: str) -> Cell:
    """A cell as plain ints; raises ValueError."""
    try:
        x, y = (operator.index(i) for i in cell)
    except (TypeError, ValueError):
        raise ValueError(f'{what} is {cell}; it must be two whole numbers, x and y') from None
    return x, y


def _difference(grid: Grid, box: Box, old: NDArray[np.uint16], new: NDArray[np.uint16]) -> GridChange:
    """Between the old and the new terrain of a box of the grid."""
    changed = np.flatnonzero(old != new)
    if len(changed) == 0:
        return GridChange(*(np.empty(0, np.int32) for _ in range(3)))
    rows, columns = np.divmod(changed, box.x1 - box.x0)
    before, after = old[rows, columns], new[rows, columns]
    states = ((rows + box.y0) * grid.width + columns + box.x0).astype(np.int32)
    rises = (after == BLOCKED) | ((before != BLOCKED) & (after > before))
    unblocked = (before == BLOCKED) & (not grid.corner_cutting)
    return GridChange(states[rises], states[~rises], states[unblocked])


def _checked_array(values: ArrayLike) -> NDArray[np.generic]:
    """A bool or float array of sane costs."""
    array = np.asarray(values)
    if array.dtype == np.bool_:
        return array
    if not np.issubdtype(array.dtype, np.floating):
        raise ValueError(
            f'the array has dtype {array.dtype}; pass bool (True is blocked) or float costs (inf is blocked). '
            'For occupancy values see tb_planner.maps.costmap.costs_of'
        )
    wrong = ~((array >= 1) & ((array <= MAX_COST) | np.isposinf(array)))
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise ValueError(
            f'cost {array[where]} at {list(where)} ([y, x]); costs must be between 1 and {MAX_COST}, or inf for blocked'
        )
    return array


def costs_of_terrain(terrain: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Costs in sixteenths as costs; inf where blocked."""
    costs: NDArray[np.float32] = terrain * np.float32(1 / COST_STEPS)
    costs[terrain == BLOCKED] = np.inf
    return costs


def _terrain(array: NDArray[np.generic]) -> NDArray[np.uint16]:
    """Costs in sixteenths, 0 is blocked."""
    if array.dtype == np.bool_:
        return np.logical_not(array).astype(np.uint16) * np.uint16(COST_STEPS)
    steps = np.rint(np.where(np.isinf(array), BLOCKED, array) * COST_STEPS)
    return steps.astype(np.uint16)
