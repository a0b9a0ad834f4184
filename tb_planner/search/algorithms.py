"""The table of algorithms and the table of restart rules.

An algorithm is data: the evaluation function f = w_g g + w_h h, a restart rule, learning, and switches. A restart rule
is data, too: which changes of the map restart the search. `restart_reason` applies it: RestartSearch?() of the 2014
paper.

To add an algorithm, write a factory and add it to `ALGORITHMS`; to add a rule, add an entry to `RESTART_RULES`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_planner.search.grid import GridChange
from tb_planner.search.kernel import Search

TIES = ('lifo', 'larger_g')
MAX_WEIGHT = 100


@dataclass(frozen=True)
class Algorithm:
    """A search algorithm: what it minimises, when it restarts, and which variants of the papers are on.

    The factories below make the papers' algorithms; this class makes any other one.

    >>> Algorithm('half_greedy', w_g=1, w_h=2, restart='eager').weight
    2.0
    """

    name: str
    w_g: int
    w_h: int
    restart: str = 'lazy'
    """The name of a rule in RESTART_RULES."""
    learn_h: bool = False
    """TBAA*: h(s) := max(h(s), f(s_best) - g(s)) after each search."""
    reopen: bool = False
    """Re-open closed states, as Algorithm 1 prints it. With a consistent h the bound w c* holds without it."""
    ties: str = 'lifo'
    """Among states whose f lies in one range (docs/architecture.md): last in, first out. Or the exact order by f, and
    among equal f the larger g first, as in the papers' experiments."""
    shortcut: bool = False
    """2009: look for a shortcut to the path while backtracking to it."""
    path_switch: bool = False
    """2009: switch to a new path only if its g is at least that of the path followed."""

    def __post_init__(self) -> None:
        if self.restart not in RESTART_RULES:
            raise ValueError(f'restart is {self.restart!r}; it must be one of {", ".join(RESTART_RULES)}')
        if self.ties not in TIES:
            raise ValueError(f'ties is {self.ties!r}; it must be one of {", ".join(TIES)}')
        for name, w in (('w_g', self.w_g), ('w_h', self.w_h)):
            if not isinstance(w, int) or not 0 <= w <= 100 * MAX_WEIGHT:
                raise ValueError(f'{name} is {w}; it must be a whole number between 0 and {100 * MAX_WEIGHT}')
        if self.w_h == 0:
            raise ValueError('w_h is 0; it must be at least 1')
        if self.learn_h and self.shortcut:
            raise ValueError('learn_h and shortcut are both on; a shortcut search leaves nothing to learn from')
        if self.learn_h and (self.w_g, self.w_h) != (1, 1):
            raise ValueError(f'learn_h needs w_g = w_h = 1; they are {self.w_g} and {self.w_h}')
        if self.reopen and self.w_g == 0:
            raise ValueError('reopen is on and w_g is 0; greedy search does not look at g')

    @property
    def weight(self) -> float:
        """w of f = g + w h; inf for greedy search."""
        return self.w_h / self.w_g if self.w_g else math.inf

    @property
    def restart_rule(self) -> RestartRule:
        return RESTART_RULES[self.restart]

    @property
    def title(self) -> str:
        """The name as the papers write it, with the weight if it has one: 'TB-WA* (w = 1.5)'."""
        spec = ALGORITHMS.get(self.name)
        if spec is None:
            return self.name
        return f'{spec.title} (w = {self.weight:g})' if spec.takes_weight else spec.title


# ---------------------------------------------------------------------------------------------- the table of algorithms
def tba_star(restart: str = 'lazy', **switches: Any) -> Algorithm:
    """Time-Bounded A* (2009): f = g + h. The switches are fields of Algorithm.

    >>> tba_star(ties='larger_g').title
    'TBA*'
    """
    return Algorithm('tba_star', 1, 1, restart, **switches)


def tb_wa_star(w: float, restart: str = 'lazy', **switches: Any) -> Algorithm:
    """Time-Bounded Weighted A* (2014): f = g + w h. Decimals of w after the second are cut off.

    >>> tb_wa_star(1.5).weight
    1.5
    """
    return Algorithm('tb_wa_star', *_integer_weights(w), restart, **switches)


def tb_gbfs(restart: str = 'lazy', **switches: Any) -> Algorithm:
    """Time-Bounded Greedy Best-First Search (2014): f = h."""
    return Algorithm('tb_gbfs', 0, 1, restart, **switches)


def rtba_star(restart: str = 'path_cost_increased', *, ties: str = 'lifo') -> Algorithm:
    """Restarting Time-Bounded A* (2012), for terrain that becomes known as the agent moves."""
    return Algorithm('rtba_star', 1, 1, restart, ties=ties)


def tbaa_star(restart: str = 'path_cost_increased', *, ties: str = 'lifo') -> Algorithm:
    """Time-Bounded Adaptive A* (2012): RTBA* that learns h from search to search."""
    return Algorithm('tbaa_star', 1, 1, restart, learn_h=True, ties=ties)


@dataclass(frozen=True)
class AlgorithmSpec:
    """An entry of the table of algorithms. Calling it makes the algorithm."""

    name: str
    title: str
    """The name as the papers write it."""
    factory: Callable[..., Algorithm]
    takes_weight: bool = False
    """Whether the factory's first argument is a weight."""

    def __call__(self, *args: Any, **options: Any) -> Algorithm:
        return self.factory(*args, **options)


ALGORITHMS: dict[str, AlgorithmSpec] = {
    spec.name: spec
    for spec in (
        AlgorithmSpec('tba_star', 'TBA*', tba_star),
        AlgorithmSpec('tb_wa_star', 'TB-WA*', tb_wa_star, takes_weight=True),
        AlgorithmSpec('tb_gbfs', 'TB-GBFS', tb_gbfs),
        AlgorithmSpec('rtba_star', 'RTBA*', rtba_star),
        AlgorithmSpec('tbaa_star', 'TBAA*', tbaa_star),
    )
}


WEIGHTED = ', '.join(spec.name for spec in ALGORITHMS.values() if spec.takes_weight)
"""The algorithms that take a weight, for help texts and errors."""


def takes_weight(name: str) -> bool:
    """Whether the algorithm of this name has a weight."""
    return ALGORITHMS[name].takes_weight


def make_algorithm(name: str, weight: float, restart: str = '', **switches: Any) -> Algorithm:
    """An algorithm by its name. The weight is used if the algorithm takes one; no restart rule means its own one.

    >>> make_algorithm('tb_wa_star', 2.0, 'eager').title
    'TB-WA* (w = 2)'
    >>> make_algorithm('tbaa_star', 2.0).restart
    'path_cost_increased'
    """
    if name not in ALGORITHMS:
        raise ValueError(f'algorithm is {name!r}; it must be one of {", ".join(ALGORITHMS)}')
    spec = ALGORITHMS[name]
    if restart:
        switches['restart'] = restart
    return spec(weight, **switches) if spec.takes_weight else spec(**switches)


def check_algorithm(algorithm: Algorithm) -> Algorithm:
    """Returns the algorithm; raises TypeError if it is not an Algorithm, but for example a factory or a name."""
    if not isinstance(algorithm, Algorithm):
        raise TypeError(f'algorithm is {algorithm!r}; make one, for example tba_star() or ALGORITHMS["tba_star"]()')
    return algorithm


def _integer_weights(w: float) -> tuple[int, int]:
    """(w_g, w_h), integers with w_h / w_g = w: the order of expansion is exact."""
    if not isinstance(w, (int, float)) or not 1 <= w <= MAX_WEIGHT:  # also refuses nan
        raise ValueError(f'w is {w}; it must be between 1 and {MAX_WEIGHT}')
    hundredths = math.floor(Fraction(str(float(w))) * 100)
    fraction = Fraction(hundredths, 100)
    return fraction.denominator, fraction.numerator


# ---------------------------------------------------------------------------------------------- restarts
class RestartReason(str, enum.Enum):
    """Why a search was started over."""

    BLOCKED = 'blocked'
    """An obstacle appeared on the route."""
    COST_INCREASED = 'cost_increased'
    """The route costs more than when it was planned."""
    SEARCH_EXHAUSTED = 'search_exhausted'
    """The search found no path, but the map had changed since it began."""
    SHORTCUT_OPENED = 'shortcut_opened'
    """A cost decreased, and a shorter path may exist."""
    EAGER = 'eager'
    """The map changed, and the restart rule is 'eager'."""
    GOAL_MOVED = 'goal_moved'
    """The goal was blocked or freed, so another cell is the search's target."""
    START_BLOCKED = 'start_blocked'
    """The agent's cell was blocked, so the search starts from another one."""
    NO_PATH = 'no_path'
    """There was no path, and the map has changed since."""
    HEURISTIC_INVALIDATED = 'heuristic_invalidated'
    """A cost decreased, which makes the heuristic inadmissible: a learned one, or h times the cost of the cheapest
    cell."""
    PERIODIC = 'periodic'
    """The map has changed since the search began, and the period of full searches is over."""
    NEW_GOAL = 'new_goal'
    """The planner got a new goal."""
    OFF_ROUTE = 'off_route'
    """The agent left its route."""
    REQUESTED = 'requested'
    """The caller asked for a restart."""
    MAP_MOVED = 'map_moved'
    """The map has a new size, resolution or origin."""
    SETTINGS = 'settings'
    """The algorithm was changed, or a tolerance that changes the search's target."""

    __str__ = str.__str__


REASON_CODES = {reason: code for code, reason in enumerate(RestartReason, 1)}
"""The kernel's numbers for the reasons; the kernel itself restarts for the first three."""
REASONS_BY_CODE = dict(enumerate(RestartReason, 1))


@dataclass(frozen=True)
class RestartRule:
    """What about a changed map restarts a search: an entry of the table of restart rules.

    A search and a Route (navigation/route.py) are judged by the same entry.
    """

    name: str
    any_change: bool = False
    """Any change restarts the search."""
    invalid_route: bool = False
    """A route that is blocked, or whose cost has increased, restarts the search.

    The route is the agent's backtracking moves and the path ahead; the papers look at the path alone."""
    shortcut: bool = False
    """A decreased cost that may allow a shorter path restarts the search."""
    path_alone: bool = False
    """The search looks at its path alone, as the papers print it. It sends backtracking agents into obstacles."""

    def __post_init__(self) -> None:
        if self.shortcut and not self.invalid_route:
            raise ValueError(
                f'restart rule {self.name!r} has shortcut without invalid_route; a shortcut is compared with the cost '
                'of a valid route'
            )

    @property
    def restarts(self) -> bool:
        """Whether any change restarts a search; if not, an agent whose route is blocked waits."""
        return self.any_change or self.invalid_route or self.shortcut


RESTART_RULES: dict[str, RestartRule] = {
    rule.name: rule
    for rule in (
        RestartRule('lazy', invalid_route=True, shortcut=True),  # RestartSearch?(), Algorithm 3 of 2014
        RestartRule('path_cost_increased', invalid_route=True),  # StartNewSearch?(), Algorithm 2 of 2012
        RestartRule('eager', any_change=True),  # eager restarting, 2014
        RestartRule('never'),  # TB-BFS without restarts, for static maps
        RestartRule('lazy_as_printed', invalid_route=True, shortcut=True, path_alone=True),  # for comparison only
    )
}
"""Of rules that are about as good the tuner recommends the first: path_cost_increased never notices that a shortcut has
opened, eager restarts after every change, and never keeps a blocked route."""


def restart_reason(
    search: Search, change: GridChange, algorithm: Algorithm, min_improvement: float
) -> RestartReason | None:
    """Why a changed map restarts this search by the algorithm's rule; None if it goes on."""
    rule = algorithm.restart_rule
    if rule.path_alone:
        return _restart_reason_as_printed(search, change, algorithm)
    if rule.any_change:
        return RestartReason.EAGER if change else None
    if rule.invalid_route and (code := search.route_invalid_reason()):
        return REASONS_BY_CODE[code]
    if rule.shortcut:
        return could_shorten(search, change.decreased, change.unblocked, algorithm, min_improvement)
    return None


def _restart_reason_as_printed(search: Search, change: GridChange, algorithm: Algorithm) -> RestartReason | None:
    """RestartSearch?(), Algorithm 3 of 2014 to the letter."""
    path = search.branch()
    if np.isin(path, change.increased, kind='table').any():
        return RestartReason.COST_INCREASED if search.is_legal(path) else RestartReason.BLOCKED
    if len(change.decreased) == 0 or algorithm.w_g == 0:
        return None
    limit = shortcut_limit(search.suffix_cost(path), algorithm, 0.0)
    shorter = search.could_shorten(change.decreased, change.unblocked, False, limit)
    return RestartReason.SHORTCUT_OPENED if shorter else None


def could_shorten(
    search: Search,
    decreased: NDArray[np.int32],
    unblocked: NDArray[np.int32],
    algorithm: Algorithm,
    min_improvement: float,
) -> RestartReason | None:
    """SHORTCUT_OPENED if w c' is below the cost that remains, for a cell whose cost decreased; else None.

    BLOCKED if the route is not valid. While the search runs only cells next to closed ones count: the search will reach
    the others by itself.
    """
    if len(decreased) == 0 or algorithm.w_g == 0:  # greedy search promises nothing about costs
        return None
    remaining = search.remaining_cost()
    if remaining is None:
        return RestartReason.BLOCKED
    limit = shortcut_limit(remaining, algorithm, min_improvement)
    shorter = search.could_shorten(decreased, unblocked, not search.goal_found, limit)
    return RestartReason.SHORTCUT_OPENED if shorter else None


def shortcut_limit(remaining: int, algorithm: Algorithm, min_improvement: float) -> int:
    """The least whole c' that does not satisfy w c' < remaining (1 - min_improvement); exact if that is 0."""
    if min_improvement:
        remaining = math.ceil(remaining * (1 - min_improvement))
    return -(-algorithm.w_g * remaining // algorithm.w_h)
