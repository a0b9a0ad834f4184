"""A million moves of all algorithms on all kinds of terrain, with the world as referee: none may be illegal."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd

from benchmarks.experiments import terrain
from benchmarks.experiments.engine import Experiment, Row, RunPlan, table
from benchmarks.experiments.terrain import Blocked
from tb_planner import (
    ALGORITHMS,
    Changing,
    Grid,
    IllegalMove,
    Static,
    TimeBoundedPlanner,
    Unknown,
    make_algorithm,
    move_to_goal,
)
from tb_planner.search.agent import World

WORLDS = ('static', 'changing 1', 'changing 5', 'changing 10', 'unknown', 'partly unknown')
RESTARTS = {
    **dict.fromkeys(('tba_star', 'tb_wa_star', 'tb_gbfs'), ('lazy', 'eager')),
    **dict.fromkeys(('rtba_star', 'tbaa_star'), ('path_cost_increased',)),
}
INTERVALS = 20_000
SIZE = 100


def plan(options: argparse.Namespace) -> RunPlan:
    return RunPlan(None, runs(options.moves or (2_000 if options.quick else 1_000_000), options.seed))


def runs(moves: int, seed: int) -> Iterator[Row]:
    """Runs drawn at random until there are enough moves."""
    rng = np.random.default_rng(seed)
    while moves > 0:
        row = run(rng)
        moves -= row['moves']
        yield row


def run(rng: np.random.Generator) -> Row:
    settings = draw(rng)
    planner, world = encounter(settings)
    illegal, status = 0, ''
    try:
        status = move_to_goal(planner, world, max_intervals=INTERVALS).status.name
    except IllegalMove:
        illegal = 1
    return {
        **settings,
        'status': status,
        'moves': planner.moves,
        'illegal_moves': illegal,
        'refused_moves': planner.refused_moves,
        'searches': planner.searches,
    }


def encounter(settings: Row) -> tuple[TimeBoundedPlanner, World]:
    """A planner with a grid of its own, and the world it will move in."""
    seed = settings['run_seed']
    blocked = MAPS[settings['map']](SIZE, seed)
    new_grid = partial(Grid, neighbours=settings['neighbours'], corner_cutting=settings['corner_cutting'])
    world, grid = world_and_belief(settings['world'], blocked, new_grid, settings['sensor_radius'], seed)
    start, goal = terrain.problems(blocked, 1, seed, apart=0.3)[0]
    algorithm = make_algorithm(settings['algorithm'], settings['w'], settings['restart'])
    return TimeBoundedPlanner(grid, start, goal, algorithm, settings['k']), world


MAPS = {
    'random obstacles': lambda size, seed: terrain.random_obstacles(size, 0.1 + 0.2 * (seed % 2), seed),
    'rooms': lambda size, seed: terrain.rooms(size, 7, seed),
    'maze': lambda size, seed: terrain.maze(size, 3, seed),
    'caves': lambda size, seed: terrain.caves(size, 0.4, seed),
}


def draw(rng: np.random.Generator) -> Row:
    """One of everything; k from 1 to 256, small ones as often as large ones."""
    algorithm = str(rng.choice(list(ALGORITHMS)))
    neighbours = int(rng.choice([8, 8, 8, 4]))
    return {
        'map': str(rng.choice(list(MAPS))),
        'world': str(rng.choice(WORLDS)),
        'sensor_radius': int(rng.integers(1, 6)),
        'neighbours': neighbours,
        'corner_cutting': bool(neighbours == 8 and rng.integers(2)),
        'algorithm': algorithm,
        'w': float(rng.choice([1.0, 1.4, 2.0, 3.0])),
        'restart': str(rng.choice(RESTARTS[algorithm])),
        'k': round(2 ** rng.uniform(0, 8)),
        'run_seed': int(rng.integers(1 << 31)),
    }


def world_and_belief(
    kind: str, blocked: Blocked, new_grid: Callable[[Blocked], Grid], sensor_radius: int, seed: int
) -> tuple[World, Grid]:
    """The world, and the agent's own grid at the start."""
    if kind == 'static':
        return Static(new_grid(blocked)), new_grid(blocked)
    if kind.startswith('changing'):
        return Changing(new_grid(blocked), float(kind.split()[1]), seed=seed), new_grid(blocked)
    known = None
    if kind == 'partly unknown':
        known = blocked & (np.random.default_rng(seed).random(blocked.shape) < 0.5)
    world = Unknown(new_grid(blocked), sensor_radius, known)
    return world, world.initial_grid()


def summary(rows: list[Row]) -> str:
    """Refused are moves that the agent's own map forbade, so that it did not try them on the world."""
    sums = ['runs', 'moves', 'at_goal', 'illegal_moves', 'refused_moves']
    frame = pd.DataFrame(rows).assign(runs=1)
    frame['at_goal'] = (frame.status == 'AT_GOAL').astype(int)
    tables = [
        table((name, *sums), frame.groupby(name)[sums].sum().itertuples(name=None))
        for name in ('algorithm', 'world', 'corner_cutting', 'map')
    ]
    total = f'{frame.moves.sum()} moves, {frame.illegal_moves.sum()} illegal (target: none of a million)'
    return '\n' + '\n\n'.join([*tables, total])


MOVES = Experiment(
    'moves',
    'legal moves on all kinds of terrain',
    plan,
    summary,
    {'--moves': {'type': int, 'help': 'how many (1,000,000)'}},
)
