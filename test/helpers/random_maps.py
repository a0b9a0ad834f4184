"""Maps that tests draw from a seed: what is blocked at random, of cost 1 elsewhere or of the costs in COSTS."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.oracle import Cell
from helpers.strategies import COSTS, freed


def random_values(rng: np.random.Generator, shape: Any, densities: tuple[float, ...], weighted: bool) -> np.ndarray:
    """Values with one of these densities of obstacles."""
    blocked = rng.random(shape) < rng.choice(densities)
    return np.where(blocked, np.inf, rng.choice(COSTS, shape)).astype(np.float32) if weighted else blocked


def random_problem(
    rng: np.random.Generator, shape: Any, densities: tuple[float, ...], weighted: bool
) -> tuple[np.ndarray, Cell, Cell]:
    """Values, start and goal, which are free."""
    height, width = shape
    values = random_values(rng, shape, densities, weighted)
    start, goal = ((int(rng.integers(width)), int(rng.integers(height))) for _ in range(2))
    return freed(values, start, goal), start, goal


def random_rules(rng: np.random.Generator) -> dict[str, Any]:
    """Which moves a Grid, or a Terrain, allows."""
    return {'neighbours': int(rng.choice((4, 8))), 'corner_cutting': bool(rng.integers(2))}
