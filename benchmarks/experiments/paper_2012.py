"""The game time model of "Time-Bounded Adaptive A*" (Hernández, Baier, Uras and Koenig, AAMAS 2012)."""

from __future__ import annotations

from benchmarks.experiments.engine import PaperExperiment, PartOptions
from benchmarks.experiments.map_sets import maps_of
from benchmarks.experiments.trials import Part, Setting

PROBLEMS = 300
INTERVALS_MS = (0.3, 0.6, 0.9, 1.2, 1.5)
EXPANSIONS = (1130, 2260, 3390, 4520, 5650)  # in the paper's intervals, by the moves that its A* waits
QUICK_INTERVALS_MS = (0.01, 0.03)
QUICK_EXPANSIONS = (50, 100, 400)
MOST_INTERVALS = 2_000_000
TIES = (('ties', 'larger_g'),)
KNOWN = {'RTAA*': 'rtaa_star', 'daRTAA*': 'da_rtaa_star', 'TBA*': 'tba_star', 'A*': 'a_star'}
UNKNOWN = {
    **{'RTAA*': 'rtaa_star', 'daRTAA*': 'da_rtaa_star', 'RTBA*': 'rtba_star', 'TBAA*': 'tbaa_star'},
    **{'Repeated A*': 'repeated_a_star', 'Adaptive A*': 'adaptive_a_star', 'D* Lite': 'd_star_lite'},
}
TABLES = (
    ('Table 1', 'static', KNOWN),
    ('Table 2', 'unknown', UNKNOWN),
    ('Table 3', 'partly unknown', UNKNOWN),
)


def by_expansions(options: PartOptions) -> tuple[Part, ...]:
    """Tables 1 to 3 with intervals of k expansions, which do not depend on the machine. k = 1130 was chosen by the
    moves that the paper's A* waits at 0.3 ms on known terrain; the others are multiples of it, as theirs are of 0.3 ms.

    The paper's choices: six maps, 300 problems on each with start and goal drawn at random, corners may be cut, ties
    go to the larger g; the agent sees its eight neighbours; Repeated A* searches again when its path costs
    more. On partly unknown terrain 15 % of the free cells are blocked, unknown to the agent. The first interval
    only searches, so intervals are one more than the agent's own (moves + 1 for agents that always move).

    Decided here: problems are solvable, drawn from the largest component of the true map. The surprises of Table 3 are
    drawn for each problem. An expansion is the unit of all algorithms, though D* Lite's takes longer; "by time" does
    not have that flaw. Real-time search looks ahead k expansions and makes one move an interval.
    """
    return _tables(options, 'k', QUICK_EXPANSIONS if options.quick else EXPANSIONS)


def by_time(options: PartOptions) -> tuple[Part, ...]:
    """Tables 1 to 3 with intervals of time: all as by expansions, but k is what fits into 0.3 to 1.5 ms.

    Decided here: each agent walks every problem twice. The first time measures how long one of its expansions takes on
    this machine, with moves, learning and restarts in it; the second time k goes with that. So an interval takes as
    long as it should on the average of a run, not each for itself. Everything in these rows depends on the clock.
    """
    return _tables(options, 'ms', QUICK_INTERVALS_MS if options.quick else INTERVALS_MS)


def _tables(options: PartOptions, unit: str, lengths: tuple[float, ...]) -> tuple[Part, ...]:
    maps = maps_of('2012', options.maps, scale=0.2 if options.quick else 1.0)
    count = options.problems or ((1 if unit == 'ms' else 2) if options.quick else PROBLEMS)
    return tuple(
        Part(
            name,
            maps,
            count,
            tuple(
                Setting(series, algorithm, length, unit, TIES, world=world, corner_cutting=True)
                for series, algorithm in algorithms.items()
                for length in lengths
            ),
            game_time=True,
            max_intervals=MOST_INTERVALS,
        )
        for name, world, algorithms in TABLES
    )


PAPER_2012 = PaperExperiment('2012', 'the game time model, intervals of k expansions', by_expansions)
PAPER_2012_TIME = PaperExperiment('2012-time', 'the game time model, intervals of time', by_time)
