"""The table of algorithms: evaluation f = w_g g + w_h h, restart rule, learning and switches. An algorithm is data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

RESTARTS = ('never', 'eager', 'lazy', 'path_cost_increased', 'lazy_as_printed')
TIES = ('lifo', 'larger_g')
MAX_WEIGHT = 100


@dataclass(frozen=True)
class Algorithm:
    """A row of the table."""

    name: str
    w_g: int
    w_h: int
    restart: str = 'lazy'
    learn_h: bool = False  # TBAA*: h(s) := max(h(s), f(s_best) - g(s)) after each search
    reopen: bool = False  # Algorithm 1 as printed; a consistent h needs it neither for w = 1 nor for the bound of w c*
    ties: str = 'lifo'  # within equal f: last in, first out; or larger g first, as in the papers' experiments
    shortcut: bool = False  # 2009: look for a shortcut to the path while backtracking to it
    path_switch: bool = False  # 2009: take a new path only if its g is at least that of the path followed

    def __post_init__(self) -> None:
        if self.restart not in RESTARTS:
            raise ValueError(f'restart is {self.restart!r}; it is one of {", ".join(RESTARTS)}')
        if self.ties not in TIES:
            raise ValueError(f'ties is {self.ties!r}; it is one of {", ".join(TIES)}')
        for w in (self.w_g, self.w_h):
            if not isinstance(w, int) or not 0 <= w <= 100 * MAX_WEIGHT:
                raise ValueError(f'a weight is {w}; it is a whole number, 0 to {100 * MAX_WEIGHT}')
        if self.w_h == 0:
            raise ValueError('w_h is 0; it is at least 1')
        if self.learn_h and self.shortcut:
            raise ValueError('learn_h and shortcut are both on; a shortcut search leaves nothing to learn from')
        if self.learn_h and (self.w_g, self.w_h) != (1, 1):
            raise ValueError(f'learn_h goes with w_g = w_h = 1; they are {self.w_g} and {self.w_h}')

    @property
    def weight(self) -> float:
        """w of g + w h; inf for greedy search."""
        return self.w_h / self.w_g if self.w_g else math.inf


def tba_star(
    restart: str = 'lazy',
    *,
    reopen: bool = False,
    ties: str = 'lifo',
    shortcut: bool = False,
    path_switch: bool = False,
) -> Algorithm:
    """Time-Bounded A* (2009): f = g + h."""
    return Algorithm('tba_star', 1, 1, restart, False, reopen, ties, shortcut, path_switch)


def tb_wa_star(
    w: float,
    restart: str = 'lazy',
    *,
    reopen: bool = False,
    ties: str = 'lifo',
    shortcut: bool = False,
    path_switch: bool = False,
) -> Algorithm:
    """Time-Bounded Weighted A* (2014): f = g + w h. Of w two decimals count, the rest is cut off."""
    w_g, w_h = _weights(w)
    return Algorithm('tb_wa_star', w_g, w_h, restart, False, reopen, ties, shortcut, path_switch)


def tb_gbfs(
    restart: str = 'lazy', *, ties: str = 'lifo', shortcut: bool = False, path_switch: bool = False
) -> Algorithm:
    """Time-Bounded Greedy Best-First Search (2014): f = h."""
    return Algorithm('tb_gbfs', 0, 1, restart, False, False, ties, shortcut, path_switch)


def rtba_star(restart: str = 'path_cost_increased', *, ties: str = 'lifo') -> Algorithm:
    """Restarting Time-Bounded A* (2012), for terrain that becomes known on the way."""
    return Algorithm('rtba_star', 1, 1, restart, False, False, ties)


def tbaa_star(restart: str = 'path_cost_increased', *, ties: str = 'lifo') -> Algorithm:
    """Time-Bounded Adaptive A* (2012): RTBA* that learns h from search to search."""
    return Algorithm('tbaa_star', 1, 1, restart, True, False, ties)


ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    'tba_star': tba_star,
    'tb_wa_star': tb_wa_star,
    'tb_gbfs': tb_gbfs,
    'rtba_star': rtba_star,
    'tbaa_star': tbaa_star,
}


def _weights(w: float) -> tuple[int, int]:
    """Integers with w_h / w_g = w: the order of expansion is exact."""
    if not isinstance(w, (int, float)) or not 1 <= w <= MAX_WEIGHT:  # also refuses nan
        raise ValueError(f'w is {w}; it is 1 to {MAX_WEIGHT}')
    hundredths = math.floor(Fraction(str(float(w))) * 100)
    fraction = Fraction(hundredths, 100)
    return fraction.denominator, fraction.numerator
