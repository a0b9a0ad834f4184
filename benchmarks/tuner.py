"""The tuner's recommendations on problems that it has not seen, against the defaults with as many expansions a tick.

Ten maps of three kinds: generated ones, or MovingAI's. A map is won if the mean of intervals to the goal is lower;
where the tuner keeps the defaults, or nothing differs, nobody wins. On a perfect maze there is only one path, and
little to win.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.experiments.engine import Experiment, Row, RunPlan, grouped, table
from benchmarks.experiments.map_sets import generated, maps_of
from benchmarks.experiments.trials import MapSource
from tb_planner.config import PlannerParameters
from tb_planner.maps.costmap import OCCUPIED, CostmapConfig
from tb_planner.tools.tuning.parameter_file import candidate_of
from tb_planner.tools.tuning.problems import TuningMap, draw_problems
from tb_planner.tools.tuning.study import CpuBudget, Study, StudyPlan, run_study
from tb_planner.tools.tuning.time_limit import TimeLimit
from tb_planner.tools.tuning.trial import WORLDS, TrialConditions

SIZE = 512
GENERATED = (
    *(('rooms', 'rooms', 15), ('rooms', 'rooms', 31), ('rooms', 'rooms', 63)),
    *(('caves, mazes', 'caves', 0.44), ('caves, mazes', 'caves', 0.45), ('caves, mazes', 'caves', 0.46)),
    *(('caves, mazes', 'maze', 10), ('random', 'random', 0.1), ('random', 'random', 0.2), ('random', 'random', 0.3)),
)
"""Set, kind, and the side of rooms, the width of corridors or the fraction of obstacles."""
TICK_HZ, PART_OF_CORE = 20.0, 0.2
A_TIE = 0.0005
"""A difference below this fraction is none."""
FROM_FOLDER = {'BG': 4, 'ROOMS': 3, 'WC3': 3}
"""Set -> how many of its maps."""
WON, TIED, LOST = 'won', 'tied', 'lost'


def from_folder(folder: Path) -> list[MapSource]:
    """Spread evenly over each set."""
    found: list[MapSource] = []
    for set_name, count in FROM_FOLDER.items():
        sources = maps_of(set_name, folder)
        found += [sources[i * len(sources) // count] for i in range(min(count, len(sources)))]
    if not found:
        raise SystemExit(f'{folder} has none of the sets {", ".join(FROM_FOLDER)}')
    return found


def plan(options: argparse.Namespace) -> RunPlan:
    if options.maps is None:
        terrains = [
            generated(set_name, kind, SIZE, number, options.seed, options.scale) for set_name, kind, number in GENERATED
        ]
    else:
        terrains = from_folder(options.maps)
    problems = options.problems or (6 if options.quick else 40)
    return RunPlan(len(terrains) * len(options.world), runs(terrains, problems, options))


def runs(terrains: list[MapSource], problems: int, options: argparse.Namespace) -> Iterator[Row]:
    """A row for each map in each world; the choice is tried on three times the problems that it was made by."""
    parameters = PlannerParameters()
    for world in options.world:
        for place in terrains:
            occupancy = (place.blocked(0) * OCCUPIED).astype(np.int8)
            limit = TimeLimit(options.time_limit)
            ground = TuningMap(place.name, occupancy, CostmapConfig(resolution_m=1.0))
            study = run_study(
                StudyPlan(
                    seen=draw_problems(ground, problems, 2 * options.seed, limit),
                    unseen=draw_problems(ground, 3 * problems, 2 * options.seed + 1, limit),
                    budget=CpuBudget(TICK_HZ, PART_OF_CORE),
                    conditions=TrialConditions(world, parameters.min_improvement),
                    default=candidate_of(parameters),
                ),
                limit,
            )
            yield {'kind': place.set, 'map': place.name, 'world': world, **row_of(study)}
            if study.interrupted:
                raise KeyboardInterrupt


def row_of(study: Study) -> Row:
    """The row of what was chosen before the check on unseen problems: that the tuner itself takes back what clearly
    loses there does not count. It does not recommend what few problems leave unclear."""
    check, default = study.check, study.plan.default
    ours = default if study.is_inconclusive else study.chosen
    if check is None:
        return {'outcome': TIED, 'recommended': str(ours), 'problems': 0}
    figures, more = (check.default, 0.0) if ours == default else (check.chosen, check.difference.mean)
    return {
        'outcome': TIED if abs(more) < A_TIE else WON if more < 0 else LOST,
        'recommended': str(ours),
        'default': str(default),
        'k': check.k,
        'problems_seen': study.race.rounds,
        'problems': figures.problems,
        'intervals': figures.intervals,
        'default_intervals': check.default.intervals,
        'more': more,
        'error': 0.0 if ours == default else check.difference.error,
        'restarts': figures.restarts,
        'default_restarts': check.default.restarts,
        'tick_p99_ms': 1e3 * figures.tick_p99_s,
        'tick_max_ms': 1e3 * figures.tick_max_s,
        'tick_budget_ms': 1e3 * study.plan.budget.tick_s,
    }


def summary(rows: list[Row]) -> str:
    return '\n\n'.join(_in_world(world, group) for world, group in grouped(rows, lambda row: row['world']).items())


def _in_world(world: str, rows: list[Row]) -> str:
    header = (
        *('kind', 'map', 'recommended', 'k', 'intervals', 'defaults', 'difference', 'outcome'),
        *('tick p99 ms', 'of ms', 'max ms'),
    )
    judged = [row for row in rows if row['problems']]
    lines = [
        (
            *(row['kind'], row['map'], row['recommended'], f'{row["k"]:,}'),
            *(f'{row["intervals"]:.1f}', f'{row["default_intervals"]:.1f}'),
            *(f'{100 * row["more"]:+.1f} % ± {100 * row["error"]:.1f}', row['outcome']),
            *(row['tick_p99_ms'], row['tick_budget_ms'], row['tick_max_ms']),
        )
        for row in judged
    ]
    count = {outcome: sum(row['outcome'] == outcome for row in rows) for outcome in (WON, TIED, LOST)}
    sure = sum(row['outcome'] == WON and -row['more'] > 2 * row['error'] for row in judged)
    kept = sum(row['tick_p99_ms'] <= row['tick_budget_ms'] for row in judged)
    return (
        f'{world} world, {PART_OF_CORE:g} of a core\n{table(header, lines)}\n'
        f'The recommendation beats the defaults with the same expansions a tick on {count[WON]} of {len(rows)} maps '
        f'({sure} by more than two standard errors), {count[TIED]} tied, {count[LOST]} lost; '
        f'tick p99 within the budget on {kept} of {len(judged)}'
    )


TUNER = Experiment(
    'tuner',
    "the tuner's recommendations on problems not seen before",
    plan,
    summary,
    {
        '--maps': {'type': Path, 'help': "folder of MovingAI's maps; default: generated ones"},
        '--problems': {'type': int, 'help': 'to choose by (40)'},
        '--world': {'nargs': '+', 'choices': WORLDS, 'default': ['static', 'changing'], 'help': 'static changing'},
        '--time-limit': {'type': float, 'default': 120.0, 'help': 'seconds for a map at most (120)'},
    },
)
