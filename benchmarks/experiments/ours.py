"""What no paper shows: our choices switched one by one, and D* Lite against RTB-WA* on maps that change."""

from __future__ import annotations

import math
from dataclasses import replace

from benchmarks.experiments.engine import PaperExperiment, PartOptions
from benchmarks.experiments.map_sets import generated, maps_of, random_for_each_problem
from benchmarks.experiments.paper_2012 import MOST_INTERVALS, by_expansions
from benchmarks.experiments.paper_2014 import OBSTACLES, RATES, SIZE, greedy, static_settings, weighted
from benchmarks.experiments.trials import MapSource, Part, Setting

PROBLEMS = 20
MAPS = 10
CHANGING_PROBLEMS = 50
WEIGHTS = (1.0, 1.4, 3.0)
LOOK_AHEADS = (1, 16, 256)
ALL_LOOK_AHEADS = (*LOOK_AHEADS, math.inf)
TIES = ('larger_g', 'lifo')
SIZES_AND_RATES = ((100, (0.1, 1, 10)), (1000, (0.01, 0.1, 1, 10)))
QUICK_SIZES_AND_RATES = ((50, (1, 10)), (250, (0.1, 1)))
SHORTCUT_OPENED = 8
"""Floating ties take 2 to 12 times the expansions of exact ones on unknown terrain, by the sample: reasons.py."""
SEARCHED = (128, 1130)
"""Expansions an interval for real-time search: few, and the 2012 paper's shortest interval."""


def switches(options: PartOptions) -> tuple[Part, ...]:
    """Our choices on static maps (ten of BG, ten of ROOMS, an open one) and on the 2014 paper's changing ones. What is
    not switched is as in its experiments.

    re-opening: Algorithm 1 as printed re-opens closed states. exact ties: larger g first, newest first, and A* with a
    floating √2, in plain Python, whose expansions alone can be compared (of a whole search: x is inf). lazy as printed:
    Algorithm 3 to the letter; moves that it makes into obstacles are refused and counted. corner cutting: allowed.
    lazy against eager: by how many cells change, and how long paths are. moves a search: one, or to the end of the
    path, for RTAA* and daRTAA* on the 2012 paper's maps, known and unknown. Table 2, k / 8: the 2012 paper's unknown
    terrain with an eighth of the expansions an interval.
    """
    settings = {
        're-opening': (
            *static_settings(LOOK_AHEADS, WEIGHTS),
            *(weighted(w, k, ', re-opening', reopen=True) for k in LOOK_AHEADS for w in WEIGHTS),
        ),
        'exact ties': (
            *(weighted(w, k, f', {ties}', ties=ties) for k in ALL_LOOK_AHEADS for w in WEIGHTS for ties in TIES),
            *(greedy(k, f', {ties}', ties=ties) for k in ALL_LOOK_AHEADS for ties in TIES),
            Setting('A*, floating', 'floating_a_star', math.inf),
        ),
        'corner cutting': (
            *static_settings(LOOK_AHEADS, WEIGHTS),
            *static_settings(LOOK_AHEADS, WEIGHTS, ', cutting corners', corner_cutting=True),
        ),
    }
    most, scale = (2, 0.3) if options.quick else (MAPS, 1.0)
    static = (
        *(source for name in ('BG', 'ROOMS') for source in maps_of(name, options.maps, most, scale)),
        generated('open', 'random', 512, OBSTACLES, 0, scale),
    )
    count = options.problems or (2 if options.quick else PROBLEMS)
    look_aheads = (1, math.inf) if options.quick else ALL_LOOK_AHEADS
    lazy = tuple(
        weighted(w, k, f', {restart}', restart=restart, rate=rate)
        for rate in RATES
        for k in look_aheads
        for w in (1.0, 3.0)
        for restart in ('lazy', 'lazy_as_printed', 'eager')
    )
    changing, changing_count = changing_maps(options)
    return (
        *(Part(name, static, count, of_part) for name, of_part in settings.items()),
        Part('lazy as printed', changing, changing_count, lazy),
        *lazy_against_eager(options),
        *moves_a_search(options),
        shorter_intervals(options),
    )


def lazy_against_eager(options: PartOptions) -> tuple[Part, ...]:
    """Rates below the 2014 paper's, and maps with shorter paths, with an unbounded look-ahead as in its Figure 6.

    A change of a certain rate blocks rate / 200 of the free cells: of a path over n cells rate n / 200 on average.
    """
    count = options.problems or (4 if options.quick else PROBLEMS)
    return tuple(
        Part(
            'lazy against eager',
            (replace(random_for_each_problem(size, OBSTACLES), set=f'{size} x {size}'),),
            count,
            tuple(
                weighted(w, math.inf, f', {restart}', restart=restart, rate=rate)
                for rate in rates
                for w in (1.0, 3.0)
                for restart in ('lazy', 'eager')
            ),
        )
        for size, rates in (QUICK_SIZES_AND_RATES if options.quick else SIZES_AND_RATES)
    )


def moves_a_search(options: PartOptions) -> tuple[Part, ...]:
    """Whether depression avoidance pays goes with how far the agent follows a path before it searches again, and with
    ties; so both are switched. Corners are cut, and the first interval only searches, as in the 2012 paper."""
    maps = maps_of('2012', options.maps, scale=0.2 if options.quick else 1.0)
    count = options.problems or (1 if options.quick else PROBLEMS)
    return tuple(
        Part(
            f'moves a search, {world}',
            maps,
            count,
            tuple(
                Setting(
                    f'{name}, {"one move" if movements else "whole path"}, {ties}',
                    *(algorithm, k, 'k', (('ties', ties), ('movements', movements))),
                    world=world,
                    corner_cutting=True,
                )
                for k in ((16, 128) if options.quick else SEARCHED)
                for movements in (1, None)
                for ties in TIES
                for name, algorithm in (('RTAA*', 'rtaa_star'), ('daRTAA*', 'da_rtaa_star'))
            ),
            game_time=True,
            max_intervals=MOST_INTERVALS,
        )
        for world in ('static', 'unknown')
    )


def shorter_intervals(options: PartOptions) -> Part:
    """Under the freespace assumption unknown terrain is open, and with a floating √2 searches on it expand several
    times as many states as with exact ties; an interval then gets that much less done."""
    table = next(part for part in by_expansions(options) if part.name == 'Table 2')
    return replace(
        table,
        name='Table 2, k / 8',
        problems=options.problems or (1 if options.quick else PROBLEMS),
        settings=tuple(replace(setting, x=round(setting.x / SHORTCUT_OPENED)) for setting in table.settings),
    )


def replanning(options: PartOptions) -> tuple[Part, ...]:
    """D* Lite against RTB-WA* and Repeated A* on the 2014 paper's changing maps.

    D* Lite and Repeated A* wait until they know the whole path, and their intervals count; RTB-WA* moves in every one.
    D* Lite takes every change into its search; Repeated A* has the lazy restart rule. All see all changes at once.
    Corners are not cut, ties go to the larger g.
    """
    look_aheads = (16, math.inf) if options.quick else (16, 256, 4096, math.inf)
    settings = tuple(
        setting
        for rate in RATES
        for k in look_aheads
        for setting in (
            Setting('D* Lite', 'd_star_lite', k, world='changing', rate=rate),
            Setting('Repeated A*', 'repeated_a_star', k, options=(('restart', 'lazy'),), world='changing', rate=rate),
            *(weighted(w, k, rate=rate) for w in WEIGHTS),
        )
    )
    return (Part('D* Lite', *changing_maps(options), settings),)


def changing_maps(options: PartOptions) -> tuple[tuple[MapSource, ...], int]:
    """The maps, and how many problems on each."""
    count = options.problems or (5 if options.quick else CHANGING_PROBLEMS)
    return (random_for_each_problem(250 if options.quick else SIZE, OBSTACLES),), count


OURS = PaperExperiment('ours', 're-opening, exact ties, lazy as printed and corner cutting, switched', switches)
OURS_REPLANNING = PaperExperiment('ours-replanning', 'D* Lite against RTB-WA* on changing maps', replanning)
