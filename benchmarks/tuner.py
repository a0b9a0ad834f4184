"""The tuner's recommendations on problems that it has not seen, against the defaults with as many expansions a tick.

Ten maps of three kinds: generated ones, or MovingAI's. A map is won if the mean of intervals to the goal is lower;
where the tuner keeps the defaults, or nothing differs, nobody wins. On a perfect maze there is only one path, and
little to win.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.experiments import terrain
from benchmarks.experiments.engine import Experiment, Row, RunPlan, grouped, table
from benchmarks.experiments.map_sets import maps_of
from benchmarks.experiments.terrain import Blocked
from tb_planner.config import PlannerParameters
from tb_planner.maps.costmap import OCCUPIED, CostmapConfig
from tb_planner.tools.tuning.parameter_file import candidate_of
from tb_planner.tools.tuning.problems import TuningMap, draw_problems
from tb_planner.tools.tuning.study import CpuBudget, Study, StudyPlan, run_study
from tb_planner.tools.tuning.time_limit import TimeLimit
from tb_planner.tools.tuning.trial import WORLDS, TrialConditions

SIZE = 512
A_TIE = 0.0005
"""A difference below this fraction is none."""
FROM_FOLDER = {'BG': 4, 'ROOMS': 3, 'WC3': 3}
"""Set -> how many of its maps."""
WON, TIED, LOST = 'won', 'tied', 'lost'


class TunerMap(NamedTuple):
    kind: str
    name: str
    build: Callable[[], Blocked]


def generated(size: int, seed: int) -> list[TunerMap]:
    """Rooms and corridors shrink half as much as the map."""
    part = min(1.0, 2 * size / SIZE)
    squares = [max(3, round(side * part)) for side in (15, 31, 63)]
    corridor = max(3, round(10 * part))
    return [
        *(TunerMap('rooms', f'rooms of {side}', partial(terrain.rooms, size, side, seed)) for side in squares),
        *(
            TunerMap('caves, mazes', f'caves {part}', partial(terrain.caves, size, part, seed))
            for part in (0.44, 0.45, 0.46)
        ),
        TunerMap('caves, mazes', f'maze of {corridor}', partial(terrain.maze, size, corridor, seed)),
        *(
            TunerMap('random', f'random {part}', partial(terrain.random_obstacles, size, part, seed))
            for part in (0.1, 0.2, 0.3)
        ),
    ]


def from_folder(folder: Path) -> list[TunerMap]:
    """Spread evenly over each set."""
    found = []
    for set_name, count in FROM_FOLDER.items():
        sources = maps_of(set_name, folder)
        chosen = [sources[i * len(sources) // count] for i in range(min(count, len(sources)))]
        found += [TunerMap(set_name, source.name, partial(source.blocked, 0)) for source in chosen]
    if not found:
        raise SystemExit(f'{folder} has none of the sets {", ".join(FROM_FOLDER)}')
    return found


def plan(options: argparse.Namespace) -> RunPlan:
    size = max(64, int(SIZE * (options.scale or (0.2 if options.quick else 1.0))))
    terrains = generated(size, options.seed) if options.maps is None else from_folder(options.maps)
    problems = options.problems or (6 if options.quick else 40)
    settings = [(world, cpu) for world in options.world for cpu in options.cpu]
    unseen = options.unseen or 3 * problems
    return RunPlan(len(terrains) * len(settings), runs(terrains, settings, problems, unseen, options), 'map')


def runs(
    terrains: list[TunerMap],
    settings: list[tuple[str, float]],
    problems: int,
    unseen: int,
    options: argparse.Namespace,
) -> Iterator[Row]:
    """A row for each map in each world with each budget."""
    parameters = PlannerParameters()
    for world, cpu in settings:
        for place in terrains:
            occupancy = (place.build() * OCCUPIED).astype(np.int8)
            limit = TimeLimit(options.time_limit)
            ground = TuningMap(place.name, occupancy, CostmapConfig(resolution_m=1.0))
            study = run_study(
                StudyPlan(
                    seen=draw_problems(ground, problems, 2 * options.seed, limit),
                    unseen=draw_problems(ground, unseen, 2 * options.seed + 1, limit),
                    budget=CpuBudget(options.tick_hz, cpu),
                    conditions=TrialConditions(world, parameters.min_improvement),
                    default=candidate_of(parameters),
                ),
                limit,
            )
            yield {'kind': place.kind, 'map': place.name, 'world': world, 'part_of_core': cpu, **row_of(study)}
            if study.interrupted:
                raise KeyboardInterrupt


def row_of(study: Study) -> Row:
    """Of what was chosen before the problems not seen were looked at: that the tuner itself takes back what clearly
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
    parts = [_of_setting(group) for group in grouped(rows, lambda row: (row['world'], row['part_of_core'])).values()]
    return '\n\n'.join(parts)


def _of_setting(rows: list[Row]) -> str:
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
        f'{rows[0]["world"]} world, {rows[0]["part_of_core"]:g} of a core\n{table(header, lines)}\n'
        f'The recommendation beats the defaults with the same expansions a tick on {count[WON]} of {len(rows)} maps '
        f'({sure} by more than two standard errors), {count[TIED]} tied, {count[LOST]} lost; '
        f'tick p99 within the budget on {kept} of {len(judged)}'
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--maps', type=Path, help="folder of MovingAI's maps; default: generated ones")
    parser.add_argument('--problems', type=int, help='to choose by (40)')
    parser.add_argument('--unseen', type=int, help='others, to try the choice on (three times as many)')
    parser.add_argument('--world', nargs='+', choices=WORLDS, default=['static', 'changing'], help='static changing')
    parser.add_argument('--tick-hz', type=float, default=20.0, help='ticks a second (20)')
    parser.add_argument('--cpu', type=float, nargs='+', default=[0.2], help='part of a core (0.2)')
    parser.add_argument('--time-limit', type=float, default=120.0, help='seconds for a map at most (120)')


TUNER = Experiment('tuner', "the tuner's recommendations on problems not seen before", add_arguments, plan, summary)
