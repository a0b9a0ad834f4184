"""Generated maps and problems: bool arrays [y, x], True where blocked, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import minimum_spanning_tree

from tb_planner.search.grid import COST_STEPS

Blocked = npt.NDArray[np.bool_]
Costs = npt.NDArray[np.float64]
"""Traversal costs, of at least 1; inf where blocked."""
Indices = npt.NDArray[np.int64]
LETHAL, INFLATED_MAX = 254, 252
"""Costs in Nav2's costmaps: an obstacle, and the highest cost that inflation gives to a cell which is not blocked."""
NEUTRAL, COST_FACTOR = 50, 0.8
"""NavFn counts a cell of Nav2's costmap as NEUTRAL + COST_FACTOR times its value."""
RESOLUTION_M = 0.05
Cell = tuple[int, int]


class GridProblem(NamedTuple):
    """Start and goal."""

    start: Cell
    goal: Cell


class NamedMap(NamedTuple):
    """A kind of map: its name in tables, and the array for a seed."""

    name: str
    build: Callable[[int], Blocked]


def random_obstacles(size: int, fraction: float, seed: int = 0) -> Blocked:
    """Single blocked cells, exactly this fraction of them, anywhere."""
    if not 0 <= fraction < 1:
        raise ValueError(f'fraction {fraction} is not in [0, 1)')
    count = round(size * size * fraction)
    draws = np.random.default_rng(seed).random((size, size))
    return draws < np.partition(draws, count, axis=None)[count]


def rooms(size: int, room: int, seed: int = 0, extra_doors: float = 0.3) -> Blocked:
    """Square rooms with one-cell doors: a spanning tree of doors, and a part of the other walls has one too."""
    rng = np.random.default_rng(seed)
    blocked, n = _walled_squares(size, room)
    first, second, in_tree = _random_spanning_tree(n, rng)
    door = in_tree | (rng.random(len(first)) < extra_doors)
    _open_walls(blocked, n, room, first[door], second[door], rng.integers(0, room, int(door.sum())))
    return blocked


def maze(size: int, corridor: int, seed: int = 0) -> Blocked:
    """A perfect maze: corridors of this width between walls of one cell, one path between any two cells."""
    rng = np.random.default_rng(seed)
    blocked, n = _walled_squares(size, corridor)
    first, second, in_tree = _random_spanning_tree(n, rng)
    for offset in range(corridor):
        _open_walls(blocked, n, corridor, first[in_tree], second[in_tree], offset)
    return blocked


def caves(size: int, fraction: float = 0.45, seed: int = 0, rounds: int = 5) -> Blocked:
    """Caves of a cellular automaton: a cell is rock if at least five of its 3 x 3 cells were."""
    blocked = random_obstacles(size, fraction, seed)
    for _ in range(rounds):
        rock = np.pad(blocked, 1, constant_values=True).astype(np.uint8)
        rows = rock[:-2] + rock[1:-1] + rock[2:]
        blocked = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] >= 5
    return blocked


def uniform(blocked: Blocked) -> Costs:
    """All free cells cost 1."""
    return np.where(blocked, np.inf, 1.0)


def inflated(blocked: Blocked, scaling: float = 3.0, radius_m: float = 0.55) -> Costs:
    """Costs that fall with the distance to the next obstacle as in Nav2's inflation layer, whose defaults these are.

    The robot is a point, so that no passage is closed. NavFn weighs cells so; we round to sixteenths as Grid does."""
    distances_m = ndimage.distance_transform_edt(~blocked) * RESOLUTION_M
    values = np.floor(INFLATED_MAX * np.exp(-scaling * distances_m))
    values[distances_m > radius_m + 1e-9] = 0
    costs = (NEUTRAL + np.floor(COST_FACTOR * values)) / NEUTRAL
    return np.where(blocked, np.inf, np.rint(costs * COST_STEPS) / COST_STEPS)


def problems(blocked: Blocked, count: int, seed: int = 0, apart: float = 0.5) -> list[GridProblem]:
    """Solvable problems, start and goal at least apart times the longer side away from each other.

    Both lie in the largest component by straight steps alone, so they are solvable under every corner rule."""
    height, width = blocked.shape
    cells = np.flatnonzero(largest_component(blocked))
    rng = np.random.default_rng(seed)
    found: list[GridProblem] = []
    for _ in range(10_000 * max(count, 1)):
        if len(found) == count:
            return found
        (y0, y1), (x0, x1) = np.divmod(rng.choice(cells, 2), width)
        if max(abs(x1 - x0), abs(y1 - y0)) >= apart * max(width, height):
            found.append(GridProblem((int(x0), int(y0)), (int(x1), int(y1))))
    raise ValueError(f'no {count} problems with ends {apart} of {max(width, height)} cells apart on this map')


def octile(a: Cell, b: Cell) -> float:
    dx, dy = abs(a[0] - b[0]), abs(a[1] - b[1])
    return max(dx, dy) + (2**0.5 - 1) * min(dx, dy)


def largest_component(blocked: Blocked) -> Blocked:
    """The largest set of free cells joined by straight steps."""
    labels, n = ndimage.label(~blocked)
    if n == 0:
        raise ValueError('every cell of the map is blocked')
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    return labels == sizes.argmax()


def _walled_squares(size: int, inner: int) -> tuple[Blocked, int]:
    """n x n closed squares; what is left over at the far sides is blocked."""
    n = (size - 1) // (inner + 1)
    if inner < 1 or n < 1:
        raise ValueError(f'{size} cells hold no square of {inner} with its walls')
    free = np.zeros(size, bool)
    free[: n * (inner + 1)] = True
    free[:: inner + 1] = False
    return ~np.outer(free, free), n


def _random_spanning_tree(n: int, rng: np.random.Generator) -> tuple[Indices, Indices, Blocked]:
    """All walls between n x n squares as pairs of squares, and which of them a random spanning tree crosses."""
    square = np.arange(n * n).reshape(n, n)
    first = np.concatenate([square[:, :-1].ravel(), square[:-1].ravel()])
    second = np.concatenate([square[:, 1:].ravel(), square[1:].ravel()])
    weights = 1.0 + rng.permutation(len(first))
    tree = minimum_spanning_tree(coo_matrix((weights, (first, second)), shape=(n * n, n * n)))
    return first, second, np.isin(weights, tree.data)


def _open_walls(blocked: Blocked, n: int, inner: int, first: Indices, second: Indices, offset: Indices | int) -> None:
    """Frees one cell of the wall between each pair of squares, offset cells along it."""
    y, x = np.divmod(first, n)
    top, left = y * (inner + 1) + 1, x * (inner + 1) + 1
    beside = second == first + 1
    rows = np.where(beside, top + offset, top + inner)
    columns = np.where(beside, left + inner, left + offset)
    blocked[rows, columns] = False
