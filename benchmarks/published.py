"""Numbers that the papers print, as they print them. What they show in figures alone is not here."""

from __future__ import annotations

from typing import NamedTuple

TITLES = {
    '2009': 'TBA*: Time-Bounded A* (Björnsson, Bulitko and Sturtevant, IJCAI 2009)',
    '2012': 'Time-Bounded Adaptive A* (Hernández, Baier, Uras and Koenig, AAMAS 2012)',
    '2014': 'Time-Bounded Best-First Search (Hernández, Asín and Baier, SoCS 2014)',
}

# ---------------------------------------------------------------------- 2009
RESOURCES = (10, 25, 50, 75, 100, 200, 500, 1000)
EARLY = (3.83, 2.10, 1.49, 1.31, 1.21, 1.09, 1.03, 1.01)
LATE = (4.21, 2.32, 1.64, 1.43, 1.30, 1.15, 1.06, 1.02)
"""Table 1: suboptimality of acting early and late, by R."""
PLANNING_SLICES = {10: 700, 100: 70, 1000: 7}
"""Section 4.3: R -> slices until the path is found."""

# ---------------------------------------------------------------------- 2012
INTERVALS_MS = (0.3, 0.6, 0.9, 1.2, 1.5)


class Pair(NamedTuple):
    """Time intervals and movements of an algorithm, by the length of intervals."""

    intervals: tuple[int, ...]
    movements: tuple[int, ...]


TABLES: dict[str, dict[str, Pair]] = {
    'Table 1': {
        'RTAA*': Pair((2193, 1541, 1362, 1196, 1087), (2192, 1540, 1361, 1195, 1086)),
        'daRTAA*': Pair((1729, 1303, 1151, 1057, 970), (1728, 1302, 1150, 1056, 969)),
        'TBA*': Pair((568, 556, 552, 550, 549), (567, 555, 551, 549, 548)),
        'A*': Pair((584, 565, 558, 555, 553), (545, 545, 545, 545, 545)),
    },
    'Table 2': {
        'RTAA*': Pair((3245, 2598, 2451, 2310, 2281), (3244, 2597, 2450, 2309, 2280)),
        'daRTAA*': Pair((2879, 2472, 2418, 2305, 2272), (2878, 2471, 2417, 2304, 2271)),
        'RTBA*': Pair((4613, 3368, 2918, 2695, 2560), (4604, 3360, 2910, 2688, 2553)),
        'TBAA*': Pair((2290, 2147, 2101, 2086, 2070), (2286, 2144, 2099, 2083, 2068)),
        'Repeated A*': Pair((7155, 4487, 3611, 3178, 2920), (2004, 2004, 2004, 2004, 2004)),
        'Adaptive A*': Pair((3230, 2572, 2361, 2260, 2202), (2010, 2010, 2010, 2010, 2010)),
        'D* Lite': Pair((2203, 2090, 2062, 2051, 2045), (2027, 2027, 2027, 2027, 2027)),
    },
    'Table 3': {
        'RTAA*': Pair((2694, 2039, 1840, 1707, 1620), (2693, 2038, 1839, 1706, 1619)),
        'daRTAA*': Pair((2460, 1863, 1779, 1643, 1642), (2459, 1862, 1778, 1642, 1641)),
        'RTBA*': Pair((2734, 2037, 1860, 1726, 1668), (2730, 2034, 1857, 1724, 1666)),
        'TBAA*': Pair((1505, 1442, 1431, 1421, 1415), (1504, 1441, 1430, 1420, 1414)),
        'Repeated A*': Pair((6324, 3812, 2979, 2564, 2316), (1409, 1409, 1409, 1409, 1409)),
        'Adaptive A*': Pair((2430, 1875, 1695, 1608, 1556), (1399, 1399, 1399, 1399, 1399)),
        'D* Lite': Pair((1659, 1532, 1490, 1470, 1458), (1418, 1418, 1418, 1418, 1418)),
    },
}
"""Table -> algorithm -> intervals and movements, by INTERVALS_MS."""


def excess_movements() -> tuple[float, ...]:
    """TBA*'s movements in excess of A*'s, as a fraction, by INTERVALS_MS: Table 1."""
    known = TABLES['Table 1']
    return tuple(ours / best - 1 for ours, best in zip(known['TBA*'].movements, known['A*'].movements, strict=True))


# ---------------------------------------------------------------------- what was run
class Extent(NamedTuple):
    """How much a paper ran of a part: its maps in words, and problems on each of them. all_maps: that a game has."""

    maps: str
    problems: int
    all_maps: bool = False


EXTENTS: dict[tuple[str, str, str], Extent] = {
    **{
        ('2009', part, 'WC3'): Extent('three of a real-time strategy game, scaled up to 512 x 512; not named', 100)
        for part in ('Figure 3', 'Table 1', 'enhancements')
    },
    **{
        (experiment, table, '2012'): Extent('Enigma, Inferno, WheelofWar, orz103d, orz702d, orz703d', 300)
        for experiment in ('2012', '2012-time')
        for table in TABLES
    },
    ('2014', 'Figures 1-4', 'BG'): Extent('all of 512 x 512', 100, all_maps=True),
    ('2014', 'Figures 1-4', 'WC3'): Extent('all of 512 x 512', 100, all_maps=True),
    ('2014', 'Figures 1-4', 'ROOMS'): Extent('all', 100, all_maps=True),
    ('2014', 'Figures 1-4', 'StarCraft'): Extent('Cauldron, Expedition, Octopus, PrimevalIsles, TheFrozenSea', 100),
    ('2014-dynamic', 'Figure 5', 'random'): Extent('1000 x 1000, 10 % obstacles, drawn at random', 100),
    ('2014-dynamic', 'Figure 6', 'random'): Extent('1000 x 1000, 10 % obstacles, drawn at random', 100),
}
"""Experiment, part and set of maps -> what the paper ran."""
