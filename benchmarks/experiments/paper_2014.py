"""The experiments of "Time-Bounded Best-First Search" (Hernández, Asín and Baier, SoCS 2014)."""

from __future__ import annotations

import math
from dataclasses import replace

from benchmarks.experiments.engine import PaperExperiment, PartOptions
from benchmarks.experiments.map_sets import maps_of, random_for_each_problem
from benchmarks.experiments.trials import Part, Setting

PROBLEMS = 100
WEIGHTS = (1.0, 1.4, 1.8, 2.2, 2.6, 3.0)
SMALL_MAPS = ('BG', 'WC3', 'ROOMS')
LOOK_AHEADS = (1, 4, 16, 64, 256)
STARCRAFT_LOOK_AHEADS = (1, 32, 128, 256, 512, 1024)
RATES = (1, 5, 10)
SIZE, OBSTACLES = 1000, 0.1


def static(options: PartOptions) -> tuple[Part, ...]:
    """Figures 1 to 4: cost, search time, non-optimal moves and back-moves on maps that stay as they are.

    The paper's choices: maps, look-aheads, weights, 100 solvable problems on each map, ties to the larger g.

    Decided here: start and goal are drawn uniformly from the largest component of the map; corners are not cut (the
    paper leaves that open; "ours" has both); closed states are not re-opened ("ours" has both); ties of TB-GBFS go to
    the larger g, too (the paper has that for TB-WA* alone). Runtimes are those of the compiled kernel, whose Open is a
    binary heap with these ties, as the paper's.
    """
    most, scale, count = (3, 0.4, 5) if options.quick else (None, 1.0, PROBLEMS)

    def settings(set_name: str) -> tuple[Setting, ...]:
        if options.quick:
            return static_settings((1, 16, 256), (1.0, 1.4, 3.0))
        return static_settings(STARCRAFT_LOOK_AHEADS if set_name == 'StarCraft' else LOOK_AHEADS, WEIGHTS)

    return tuple(
        Part('Figures 1-4', maps_of(name, options.maps, most, scale), options.problems or count, settings(name))
        for name in (*SMALL_MAPS, 'StarCraft')
    )


def dynamic(options: PartOptions) -> tuple[Part, ...]:
    """Figures 5 and 6: 1000 x 1000 cells, a tenth of them obstacles anywhere, which change every ten moves.

    The paper's choices: sizes, change rates 1, 5 and 10, weights, 100 cases for each rate; Figure 5 with lazy restarts,
    Figure 6 with an unbounded look-ahead, lazy against eager.

    Decided here: each case has a map of its own, and its start and goal are drawn uniformly from its largest component.
    The three rates share the same cases. Agents of one case meet the same changes while they make the same moves.
    Figure 5 has the look-aheads of the small static maps; the text names 1, 4 and 256. Lazy is the rule that looks at
    the whole route; "ours" has it as printed. A case in which the goal gets walled in ends with NO_PATH. Search time is
    that of searches, moves and restart rules, not that of taking in the new map.
    """
    maps = (random_for_each_problem(250 if options.quick else SIZE, OBSTACLES),)
    count = options.problems or (4 if options.quick else PROBLEMS)
    weights = (1.0, 3.0) if options.quick else WEIGHTS
    look_aheads = (1, 256) if options.quick else LOOK_AHEADS
    figure_5 = tuple(weighted(w, k, rate=rate) for rate in RATES for k in look_aheads for w in weights)
    figure_6 = tuple(
        weighted(w, math.inf, name, restart=restart, rate=rate)
        for rate in RATES
        for w in weights
        for name, restart in ((', lazy', 'lazy'), (', eager', 'eager'))
    )
    return Part('Figure 5', maps, count, figure_5), Part('Figure 6', maps, count, figure_6)


def static_settings(
    look_aheads: tuple[int, ...], weights: tuple[float, ...], suffix: str = '', *, corner_cutting: bool = False
) -> tuple[Setting, ...]:
    settings = (
        setting for k in look_aheads for setting in (*(weighted(w, k, suffix) for w in weights), greedy(k, suffix))
    )
    return tuple(replace(setting, corner_cutting=corner_cutting) for setting in settings)


def weighted(
    w: float,
    k: float,
    suffix: str = '',
    *,
    restart: str = 'lazy',
    reopen: bool = False,
    ties: str = 'larger_g',
    rate: float | None = None,
) -> Setting:
    """TB-WA*, or TBA* if w is 1; in a changing world if there is a rate."""
    options = {'w': w, 'restart': restart, 'ties': ties, **({'reopen': True} if reopen else {})}
    name = 'TBA*' if w == 1 else f'TB-WA*({w:g})'
    setting = Setting(name + suffix, 'tb_wa_star', k, options=tuple(options.items()))
    return setting if rate is None else replace(setting, world='changing', rate=rate)


def greedy(k: float, suffix: str = '', *, ties: str = 'larger_g') -> Setting:
    return Setting(f'TB-GBFS{suffix}', 'tb_gbfs', k, options=(('restart', 'lazy'), ('ties', ties)))


PAPER_2014 = PaperExperiment('2014', 'static maps: cost, time, non-optimal moves, back-moves', static)
PAPER_2014_DYNAMIC = PaperExperiment('2014-dynamic', 'changing maps; lazy against eager restarts', dynamic)
