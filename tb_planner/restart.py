"""RestartSearch?(): whether a change of the map makes the search start over.

The agent's route is its way back to the path and the path ahead. `never`, `eager` and `lazy` are the 2014 paper's,
`path_cost_increased` is StartNewSearch? of the 2012 paper. `lazy_as_printed` is Algorithm 3 to the letter, which looks
at path alone and sends agents into obstacles on their way back: for comparison only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tb_planner.algorithms import Algorithm
from tb_planner.grid import Change
from tb_planner.kernel import Search

Rule = Callable[[Search, Change, Algorithm, float], bool]


def never(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> bool:
    """TB-BFS as it is, for static maps: a blocked agent waits."""
    return False


def eager(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> bool:
    """Eager restarting: whenever the cost function has changed."""
    return bool(change)


def path_cost_increased(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> bool:
    """StartNewSearch?(), Algorithm 2 of 2012; looks at the whole route."""
    return not search.stands()


def lazy(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> bool:
    """RestartSearch?(), Algorithm 3; looks at the whole route, not only at path."""
    if not search.stands():
        return True
    return could_shorten(search, change.fallen, change.opened, algorithm, min_improvement)


def could_shorten(
    search: Search,
    fallen: NDArray[np.int32],
    opened: NDArray[np.int32],
    algorithm: Algorithm,
    min_improvement: float,
) -> bool:
    """w c' < what remains, for a cell whose cost fell. While the search runs only cells next to closed ones count: the
    others it will meet by itself."""
    if len(fallen) == 0 or algorithm.w_g == 0:  # greedy search promises nothing about costs
        return False
    remaining = search.remaining_cost()
    if remaining is None:
        return True
    limit = _limit(remaining, algorithm, min_improvement)
    return search.could_shorten(fallen, opened, not search.goal_found, limit)


def lazy_as_printed(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> bool:
    """RestartSearch?(), Algorithm 3 to the letter."""
    path = search.branch()
    if np.isin(path, change.risen, kind='table').any():
        return True
    if len(change.fallen) == 0 or algorithm.w_g == 0:
        return False
    limit = _limit(search.suffix_cost(path), algorithm, 0.0)
    return search.could_shorten(change.fallen, change.opened, False, limit)


def _limit(remaining: int, algorithm: Algorithm, min_improvement: float) -> int:
    """The least whole c' that does not satisfy w c' < remaining (1 - min_improvement); exact if that is 0."""
    if min_improvement:
        remaining = math.ceil(remaining * (1 - min_improvement))
    return -(-algorithm.w_g * remaining // algorithm.w_h)


RULES: dict[str, Rule] = {
    'never': never,
    'eager': eager,
    'lazy': lazy,
    'path_cost_increased': path_cost_increased,
    'lazy_as_printed': lazy_as_printed,
}
