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

from tb_planner.algorithms import Algorithm
from tb_planner.grid import Change
from tb_planner.kernel import Search


class Reason(str, enum.Enum):
    """Why a search was started over."""

    BLOCKED = 'blocked'
    """The route is."""
    DEARER = 'dearer'
    """The route costs more than expected."""
    OPEN_EMPTY = 'open_empty'
    """The search found no path, on a map that had changed meanwhile."""
    SHORTER = 'shorter'
    """A cost fell, and there could be a shorter way."""
    EAGER = 'eager'
    """The map changed, and the rule is to restart then."""
    GOAL_MOVED = 'goal_moved'
    """The goal was blocked or freed, and another cell stands in for it."""
    START_BLOCKED = 'start_blocked'
    """The agent's own cell was blocked; it leaves through another."""
    NO_PATH = 'no_path'
    """There was no path; the map has changed since."""
    UNLEARNED = 'unlearned'
    """A cost fell, and what had been learned held only while costs rose."""
    CLEAN_SEARCH = 'clean_search'
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


CODES = {reason: code for code, reason in enumerate(Reason, 1)}
"""The kernel's numbers for them; it gives the first three reasons by itself."""
REASONS = dict(enumerate(Reason, 1))

Rule = Callable[[Search, Change, Algorithm, float], 'Reason | None']


def never(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> Reason | None:
    """TB-BFS as it is, for static maps: a blocked agent waits."""
    return None


def eager(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> Reason | None:
    """Eager restarting: whenever the cost function has changed."""
    return Reason.EAGER if change else None


def path_cost_increased(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> Reason | None:
    """StartNewSearch?(), Algorithm 2 of 2012; looks at the whole route."""
    return REASONS.get(search.route_fault())


def lazy(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> Reason | None:
    """RestartSearch?(), Algorithm 3; looks at the whole route, not only at path."""
    if fault := search.route_fault():
        return REASONS[fault]
    return could_shorten(search, change.fallen, change.opened, algorithm, min_improvement)


def could_shorten(
    search: Search,
    fallen: NDArray[np.int32],
    opened: NDArray[np.int32],
    algorithm: Algorithm,
    min_improvement: float,
) -> Reason | None:
    """w c' < what remains, for a cell whose cost fell. While the search runs only cells next to closed ones count: the
    others it will meet by itself."""
    if len(fallen) == 0 or algorithm.w_g == 0:  # greedy search promises nothing about costs
        return None
    remaining = search.remaining_cost()
    if remaining is None:
        return Reason.BLOCKED
    limit = _limit(remaining, algorithm, min_improvement)
    return Reason.SHORTER if search.could_shorten(fallen, opened, not search.goal_found, limit) else None


def lazy_as_printed(search: Search, change: Change, algorithm: Algorithm, min_improvement: float) -> Reason | None:
    """RestartSearch?(), Algorithm 3 to the letter."""
    path = search.branch()
    if np.isin(path, change.risen, kind='table').any():
        return Reason.DEARER if search.is_legal(path) else Reason.BLOCKED
    if len(change.fallen) == 0 or algorithm.w_g == 0:
        return None
    limit = _limit(search.suffix_cost(path), algorithm, 0.0)
    return Reason.SHORTER if search.could_shorten(change.fallen, change.opened, False, limit) else None


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
