"""What Hypothesis draws: grids with start and goal, algorithms and their rules for the oracle, changes of the map."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from helpers.oracle import Cell, Rules, Terrain
from tb_planner import Grid, rtba_star, tb_gbfs, tb_wa_star, tba_star, tbaa_star

COSTS = np.array([1, 1.0625, 1.5, 2, 3.25, 7.5])
WEIGHTS = (1.0, 1.25, 1.4, 1.8, 2.2, 2.6, 3.0, 10.0)
LOOKAHEADS = (1, 2, 3, 5, 16, 64, 256)


@dataclass(frozen=True)
class Problem:
    """A map with a start and a goal, for the planner as a Grid and for the oracle as a Terrain."""

    values: np.ndarray
    neighbours: int
    corner_cutting: bool
    start: Cell
    goal: Cell

    def grid(self) -> Grid:
        """A Grid of its own."""
        return Grid(self.values, neighbours=self.neighbours, corner_cutting=self.corner_cutting)

    def terrain(self, values: np.ndarray | None = None) -> Terrain:
        """The map, or other values of its size, as the oracle sees them."""
        return Terrain(self.values if values is None else values, self.neighbours, self.corner_cutting)


def paint(noise: bytes, shape: tuple[int, int], density: float, weighted: bool) -> np.ndarray:
    """Blocked cells where the noise is high, else free ones: of cost 1, or of the costs in COSTS."""
    levels = np.frombuffer(noise, dtype=np.uint8).reshape(shape)
    blocked = levels >= 256 * (1 - density)
    return np.where(blocked, np.inf, COSTS[levels % len(COSTS)]).astype(np.float32) if weighted else blocked


def freed(values: np.ndarray, *cells: Cell) -> np.ndarray:
    """A copy in which these cells are free."""
    values = values.copy()
    for x, y in cells:
        values[y, x] = False if values.dtype == bool else min(values[y, x], COSTS[-1])
    return values


def freed_in(patch: np.ndarray, at: Cell, cells: Iterable[Cell]) -> np.ndarray:
    """A copy of a patch, whose first cell is `at`, in which those of these cells of the map that it covers are free."""
    height, width = patch.shape
    inside = ((x - at[0], y - at[1]) for x, y in cells)
    return freed(patch, *((x, y) for x, y in inside if 0 <= x < width and 0 <= y < height))


@st.composite
def problems(draw: Any, max_side: int = 12, weighted: bool | None = None) -> Problem:
    """Small maps of any shape, free to mostly blocked; start and goal are free, and may be the same cell."""
    width, height = draw(st.integers(1, max_side)), draw(st.integers(1, max_side))
    density = draw(st.sampled_from((0.0, 0.1, 0.2, 0.3, 0.45)))
    costs = draw(st.booleans()) if weighted is None else weighted
    noise = draw(st.binary(min_size=width * height, max_size=width * height))
    start, goal = (divmod(draw(st.integers(0, width * height - 1)), width)[::-1] for _ in range(2))
    values = freed(paint(noise, (height, width), density, costs), start, goal)
    return Problem(values, draw(st.sampled_from((4, 8))), draw(st.booleans()), start, goal)


def repainted(draw: Any, values: np.ndarray, *kept: Cell) -> tuple[np.ndarray, Cell]:
    """A patch of new values within the map, and where its corner lies; the cells to be kept are free in it."""
    height, width = values.shape
    x, y = draw(st.integers(0, width - 1)), draw(st.integers(0, height - 1))
    shape = draw(st.integers(1, height - y)), draw(st.integers(1, width - x))
    size = shape[0] * shape[1]
    noise = draw(st.binary(min_size=size, max_size=size))
    patch = paint(noise, shape, draw(st.sampled_from((0.0, 0.2, 0.5, 1.0))), values.dtype != bool)
    return freed_in(patch, (x, y), kept), (x, y)


def patched(values: np.ndarray, patch: np.ndarray, at: Cell) -> np.ndarray:
    """The map with a patch laid on it."""
    values = values.copy()
    values[at[1] : at[1] + patch.shape[0], at[0] : at[0] + patch.shape[1]] = patch
    return values


def weights_of(w: float) -> tuple[int, int]:
    """(w_g, w_h) in whole numbers."""
    fraction = Fraction(str(w))
    return fraction.denominator, fraction.numerator


@st.composite
def static_algorithms(draw: Any, reopen: bool = False) -> tuple[Any, Rules]:
    """An algorithm for a map that stays as it is, with the oracle's rules for it."""
    ties = draw(st.sampled_from(('lifo', 'larger_g')))
    w = draw(st.sampled_from((*WEIGHTS, None)))
    if w is None:
        return tb_gbfs(ties=ties), Rules(0, 1, 'lazy', False, False, ties)
    return tb_wa_star(w, ties=ties, reopen=reopen), Rules(*weights_of(w), 'lazy', False, reopen, ties)


@st.composite
def restarting_algorithms(draw: Any) -> tuple[Any, Rules]:
    """An algorithm for a map that changes, with the oracle's rules for it."""
    ties = draw(st.sampled_from(('lifo', 'larger_g')))
    kind = draw(st.sampled_from(('tba_star', 'tb_wa_star', 'tb_gbfs', 'rtba_star', 'tbaa_star')))
    if kind == 'rtba_star':
        return rtba_star(ties=ties), Rules(1, 1, 'path_cost_increased', False, False, ties)
    if kind == 'tbaa_star':
        return tbaa_star(ties=ties), Rules(1, 1, 'path_cost_increased', True, False, ties)
    restart = draw(st.sampled_from(('lazy', 'eager')))
    if kind == 'tba_star':
        return tba_star(restart=restart, ties=ties), Rules(1, 1, restart, False, False, ties)
    if kind == 'tb_gbfs':
        return tb_gbfs(restart=restart, ties=ties), Rules(0, 1, restart, False, False, ties)
    w = draw(st.sampled_from(WEIGHTS))
    return tb_wa_star(w, restart=restart, ties=ties), Rules(*weights_of(w), restart, False, False, ties)
