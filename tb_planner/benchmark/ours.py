"""What no paper shows: our choices switched one by one, and D* Lite against RTB-WA* on maps that change."""

from __future__ import annotations

import math

from tb_planner.benchmark.engine import Experiment, Options
from tb_planner.benchmark.map_sets import generated, maps_of, random_for_each_problem
from tb_planner.benchmark.paper_2014 import OBSTACLES, RATES, SIZE, greedy, static_settings, weighted
from tb_planner.benchmark.trials import MapSource, Part, Setting

PROBLEMS = 20
MAPS = 10
CHANGING_PROBLEMS = 50
WEIGHTS = (1.0, 1.4, 3.0)
LOOK_AHEADS = (1, 16, 256)
ALL_LOOK_AHEADS = (*LOOK_AHEADS, math.inf)
TIES = ('larger_g', 'lifo')


def switches(options: Options) -> tuple[Part, ...]:
    """Our choices on static maps (ten of BG, ten of ROOMS, an open one) and on the 2014 paper's changing ones. What is
    not switched is as in its experiments.

    re-opening: Algorithm 1 as printed re-opens closed states. exact ties: larger g first, newest first, and A* with a
    floating √2, in plain Python, whose expansions alone can be compared (of a whole search: x is inf). lazy as printed:
    Algorithm 3 to the letter; moves that it makes into obstacles are refused and counted. corner cutting: allowed.
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
    static = (*static_maps(options), generated('open', 'random', 512, OBSTACLES, 0, 0.3 if options.quick else 1.0))
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
    )


def replanning(options: Options) -> tuple[Part, ...]:
    """D* Lite against RTB-WA* and Repeated A* on the 2014 paper's changing maps.

    D* Lite and Repeated A* wait until they know the whole way, and their intervals count; RTB-WA* moves in every one.
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


def static_maps(options: Options) -> tuple[MapSource, ...]:
    most, scale = (2, 0.3) if options.quick else (MAPS, 1.0)
    return tuple(source for name in ('BG', 'ROOMS') for source in maps_of(name, options.maps, most, scale))


def changing_maps(options: Options) -> tuple[tuple[MapSource, ...], int]:
    """The maps, and how many problems on each."""
    count = options.problems or (5 if options.quick else CHANGING_PROBLEMS)
    return (random_for_each_problem(250 if options.quick else SIZE, OBSTACLES),), count


OURS = Experiment('ours', 'ours', 're-opening, exact ties, lazy as printed and corner cutting, switched', switches)
OURS_REPLANNING = Experiment('ours-replanning', 'ours', 'D* Lite against RTB-WA* on changing maps', replanning)
