"""RestartSearch?(): whether a change of the map makes the search start over, and why.

The agent's route is its way back to the path and the path ahead. `never`, `eager` and `lazy` are the 2014 paper's,
`path_cost_increased` is StartNewSearch? of the 2012 paper. `lazy_as_printed` is Algorithm 3 to the letter, which looks
at path alone and sends agents into obstacles on their way back: for comparison only.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tb_planner.search.algorithms import Algorithm
from tb_planner.search.grid import GridChange
from tb_planner.search.kernel import Search


class RestartReason(str, enum.Enum):
    """Why a search was started over."""

    BLOCKED = 'blocked'
    """The route is."""
    COST_INCREASED = 'cost_increased'
    """The route costs more than expected."""
    SEARCH_EXHAUSTED = 'search_exhausted'
    """The search found no path, on a map that had changed meanwhile."""
    SHORTCUT_OPENED = 'shortcut_opened'
    """A cost fell, and there could be a shorter way."""
    EAGER = 'eager'
    """The map changed, and the rule is to restart then."""
    GOAL_MOVED = 'goal_moved'
    """The goal was blocked or freed, and another cell stands in for it."""
    START_BLOCKED = 'start_blocked'
    """The agent's own cell was blocked; it leaves through another."""
    NO_PATH = 'no_path'
    """There was no path; the map has changed since."""
    HEURISTIC_INVALIDATED = 'heuristic_invalidated'
    """A cost fell, and what had been learned held only while costs rose."""
    PERIODIC = 'periodic'
    """It was time for one."""
    NEW_GOAL = 'new_goal'
    OFF_ROUTE = 'off_route'
    """The agent is not where its route is."""
    REQUESTED = 'requested'
    MAP_MOVED = 'map_moved'
    """The map has another size, resolution or origin."""
    SETTINGS = 'settings'
    """Another algorithm is wanted."""

    __str__ = str.__str__


CODES = {reason: code for code, reason in enumerate(RestartReason, 1)}
"""The kernel's numbers for them; it gives the first three reasons by itself."""
REASONS = dict(enumerate(RestartReason, 1))

Rule = Callable[[Search, GridChange, Algorithm, float], 'RestartReason | None']


def never(search: Search, change: GridChange, algorithm: Algorithm, min_improvement: float) -> RestartReason | None:
    """TB-BFS as it is, for static maps: a blocked agent waits."""
    return None


def eager(search: Search, change: GridChange, algorithm: Algorithm, min_improvement: float) -> RestartReason | None:
    """Eager restarting: whenever the cost function has changed."""
    return RestartReason.EAGER if change else None


def path_cost_increased(
    search: Search, change: GridChange, algorithm: Algorithm, min_improvement: float
) -> RestartReason | None:
    """StartNewSearch?(), Algorithm 2 of 2012; looks at the whole route."""
    return REASONS.get(search.route_fault())


def lazy(search: Search, change: GridChange, algorithm: Algorithm, min_improvement: float) -> RestartReason | None:
    """RestartSearch?(), Algorithm 3; looks at the whole route, not only at path."""
    if fault := search.route_fault():
        return REASONS[fault]
    return could_shorten(search, change.decreased, change.opened, algorithm, min_improvement)


def could_shorten(
    search: Search,
    decreased: NDArray[np.int32],
    opened: NDArray[np.int32],
    algorithm: Algorithm,
    min_improvement: float,
) -> RestartReason | None:
    """w c' < what remains, for a cell whose cost fell. While the search runs only cells next to closed ones count: the
    others it will meet by itself."""
    if len(decreased) == 0 or algorithm.w_g == 0:  # greedy search promises nothing about costs
        return None
    remaining = search.remaining_cost()
    if remaining is None:
        return RestartReason.BLOCKED
    limit = _limit(remaining, algorithm, min_improvement)
    return (
        RestartReason.SHORTCUT_OPENED if search.could_shorten(decreased, opened, not search.goal_found, limit) else None
    )


def lazy_as_printed(
    search: Search, change: GridChange, algorithm: Algorithm, min_improvement: float
) -> RestartReason | None:
    """RestartSearch?(), Algorithm 3 to the letter."""
    path = search.branch()
    if np.isin(path, change.increased, kind='table').any():
        return RestartReason.COST_INCREASED if search.is_legal(path) else RestartReason.BLOCKED
    if len(change.decreased) == 0 or algorithm.w_g == 0:
        return None
    limit = _limit(search.suffix_cost(path), algorithm, 0.0)
    return (
        RestartReason.SHORTCUT_OPENED if search.could_shorten(change.decreased, change.opened, False, limit) else None
    )


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
