"""The experiments of "TBA*: Time-Bounded A*" (Björnsson, Bulitko and Sturtevant, IJCAI 2009)."""

from __future__ import annotations

from benchmarks.experiments.engine import PaperExperiment, PartOptions
from benchmarks.experiments.map_sets import maps_of
from benchmarks.experiments.trials import Part, Setting

COST_RANGE = (230.0, 320.0)
QUICK_COST_RANGE = (90.0, 200.0)
MAPS, PROBLEMS = 3, 100
RESOURCES = (10, 25, 50, 75, 100, 200, 500, 1000)
DEPTHS = tuple(range(4, 17))
QUEUES = (10, 20, 30, 40, 100, 250)
LOOK_AHEADS = (10, 20, 30, 40, 100, 250, 500, 1000)
MOST_ACTIONS = 1_000_000
LARGER_G = (('ties', 'larger_g'),)


def parts(options: PartOptions) -> tuple[Part, ...]:
    """Figure 3, Table 1 and section 4.3: three maps of a real-time strategy game of 512 x 512 cells, 100 problems on
    each with a shortest path of 230 to 320.

    The paper's choices: R, r = 0.9 and c = 10, depths, queues and look-aheads, at most 1000 expansions an action. x of
    Figure 3 is expansions / moves, both in the rows; y is cost / optimal_cost.

    Decided here: the maps are the first three of the Warcraft III set (the paper names none), corners are not cut, ties
    go to the larger g. Table 1's late A* has as many expansions an action as TBA* has, ⌊R r⌋, so that acting is all
    that differs. R = 200 is in Table 1 alone, and in Figure 3 as well here. An agent that has not arrived after a
    million actions is given up; its status is in the row. PR LRTA* and D LRTA* (Figure 4) need abstractions and pattern
    databases and are left out.
    """
    maps = maps_of('WC3', options.maps, MAPS, 0.4 if options.quick else 1.0)
    count = options.problems or (8 if options.quick else PROBLEMS)
    resources, depths, queues, look_aheads = (
        ((10, 25, 100, 500), (4, 10), (10, 100), (10, 100))
        if options.quick
        else (RESOURCES, DEPTHS, QUEUES, LOOK_AHEADS)
    )
    early = tuple(Setting('TBA*', 'tba_star', R, 'R', LARGER_G) for R in resources)
    figure_3 = (
        *early,
        *(Setting('LRTA*', 'lrta_star', d, 'depth') for d in depths),
        *(Setting('P LRTA*', 'p_lrta_star', size, 'queue') for size in queues),
        *(Setting('LSS-LRTA*', 'lss_lrta_star', k, 'k', LARGER_G) for k in look_aheads),
    )
    table_1 = (*early, *(Setting('late A*', 'late_a_star', R, 'R', LARGER_G) for R in resources))
    switches = {'basic': (), 'shortcut': ('shortcut',), 'path switch': ('path_switch',)}
    switches['both'] = ('shortcut', 'path_switch')
    enhancements = tuple(
        Setting(f'TBA*, {name}', 'tba_star', R, 'R', (*LARGER_G, *((switch, True) for switch in on)))
        for R in resources
        for name, on in switches.items()
    )
    cost_range = QUICK_COST_RANGE if options.quick else COST_RANGE
    return tuple(
        Part(name, maps, count, settings, cost_range, max_intervals=MOST_ACTIONS)
        for name, settings in (('Figure 3', figure_3), ('Table 1', table_1), ('enhancements', enhancements))
    )


PAPER_2009 = PaperExperiment('2009', 'real-time search, early and late acting, enhancements', parts)
