"""The curves of "Time-Bounded Best-First Search" (2014): whose there are, on which maps, for which look-aheads."""

from __future__ import annotations

import math

from benchmarks.cells import Curves

SETS = ('BG', 'WC3', 'ROOMS', 'StarCraft')
LARGE = 'StarCraft'
TBA, GBFS, HEAVIEST = 'TBA*', 'TB-GBFS', 'TB-WA*(3)'
STATIC = '2014', 'Figures 1-4'
"""Experiment and part."""


def sets_of(curves: Curves) -> list[str]:
    return [name for name in SETS if name in curves.sets]


def weighted(curves: Curves) -> list[str]:
    """TBA* and TB-WA* by weight."""
    names = [name for name in curves.series if name.startswith('TB-WA*(')]
    return [name for name in [TBA] if name in curves.series] + sorted(names)


def heavier(curves: Curves) -> list[str]:
    return [name for name in weighted(curves) if name != TBA]


def everybody(curves: Curves) -> list[str]:
    return [*weighted(curves), *([GBFS] if GBFS in curves.series else [])]


def look_aheads(curves: Curves, set_name: str) -> list[float]:
    """The papers': not the unbounded one."""
    return [k for k in curves.xs(TBA, set_name) if not math.isinf(k)]


def number_of(k: float) -> str:
    return '∞' if math.isinf(k) else f'{k:g}'


def back_share(curves: Curves, series: str, k: float, set_name: str) -> float:
    """Back-moves relative to non-optimal moves, as in Figure 4."""
    non_optimal = curves.mean('non_optimal_moves', series, k, set_name)
    return curves.mean('back_moves', series, k, set_name) / non_optimal if non_optimal else 0.0
