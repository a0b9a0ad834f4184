"""Made-up maps, plans, results and a clock for the tests of the tuner."""

import numpy as np

from tb_planner.maps.costmap import CostmapConfig
from tb_planner.tools.tuning.problems import TuningMap
from tb_planner.tools.tuning.study import CpuBudget, StudyPlan
from tb_planner.tools.tuning.trial import Candidate, TrialConditions, TrialResult

DEFAULT = Candidate('tb_wa_star', 1.5)
CELLS = CostmapConfig(resolution_m=1.0)
EXPANSION_S = 1e-6


def tuning_map(blocked, name='map', rules=CELLS):
    return TuningMap(name, (np.asarray(blocked) * 100).astype(np.int8), rules)


def scattered(size=60, part=0.3, seed=0):
    return np.random.default_rng(seed).random((size, size)) < part


def rooms():
    """Four of them, joined by doors of three cells."""
    blocked = np.zeros((61, 61), bool)
    blocked[30] = blocked[:, 30] = True
    for place in (10, 45):
        blocked[30, place : place + 3] = blocked[place : place + 3, 30] = False
    return blocked


def result(intervals, *, tick_s=1e-3, arrived=True, expansions=1000, cost_ratio=1.0):
    return TrialResult(
        arrived=arrived,
        intervals=intervals,
        weighted_intervals=float(intervals),
        cost_ratio=cost_ratio,
        first_move=1,
        back_moves=0,
        restarts=0,
        expansions=expansions,
        ticks=np.array([[expansions, tick_s]]),
    )


def make_plan(problems, **changes):
    half = len(problems) // 2
    values = {
        'seen': problems[:half],
        'unseen': problems[half:],
        'budget': CpuBudget(20.0, 0.2),
        'conditions': TrialConditions('changing'),
        'default': DEFAULT,
    }
    return StudyPlan(**{**values, **changes})


def length(problem):
    return 10_000 + 10 * problem.shortest_moves


class Clock:
    """A second goes by with every look."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        self.now_s += 1.0
        return self.now_s


def tune(folder):
    """A command for a small map."""
    blocked = scattered(40, 0.2)
    rows = '\n'.join(''.join('@' if cell else '.' for cell in row) for row in blocked)
    (folder / 'small.map').write_text(f'type octile\nheight 40\nwidth 40\nmap\n{rows}\n')
    return ['tune', str(folder / 'small.map'), '--problems', '5', '-o', str(folder / 'tuned.yaml')]
