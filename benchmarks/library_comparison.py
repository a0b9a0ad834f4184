"""Full, optimal plans against other libraries, matched by corner rule, one after the other on the same problem."""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import gmean

from benchmarks.experiments import terrain
from benchmarks.experiments.engine import Experiment, Row, RunPlan, table
from benchmarks.experiments.terrain import Blocked, Cell, GridProblem, NamedMap
from tb_planner import Grid, find_path, tba_star

CellPath = npt.NDArray[Any]
Query = Callable[[Cell, Cell], Callable[[], Any]]

STRAIGHT, DIAGONAL = 985, 1393  # tcod counts in integers


class Peer(NamedTuple):
    """A planner of another library: what it needs, which corner rules it knows, what it makes minimal."""

    name: str
    package: str
    module: str
    corner_rules: tuple[bool, ...]
    minimises: str
    prepare: Callable[[Blocked, bool], Query]

    def missing(self) -> str:
        """Why it cannot run here; empty if it can."""
        try:
            importlib.import_module(self.module)
        except ImportError as error:
            return f'{self.name} is skipped: {error} (pip install {self.package})'
        return ''


def pyastar2d(blocked: Blocked, corner_cutting: bool) -> Query:
    """A* with a maximum norm: a diagonal step costs as much as a straight one, its API has no other norm."""
    from pyastar2d import astar_path

    weights = np.where(blocked, np.inf, 1).astype(np.float32)

    def query(start: Cell, goal: Cell) -> Callable[[], CellPath]:
        return lambda: astar_path(weights, start[::-1], goal[::-1], allow_diagonal=True)[:, ::-1]

    return query


def tcod_pathfinder(blocked: Blocked, corner_cutting: bool) -> Query:
    """libtcod's newer pathfinder; its arrays are cleared before the clock starts."""
    from tcod.path import Pathfinder

    finder = Pathfinder(_tcod_graph(blocked, corner_cutting))

    def query(start: Cell, goal: Cell) -> Callable[[], CellPath]:
        finder.clear()

        def plan() -> CellPath:
            finder.add_root(start[::-1])
            return finder.path_to(goal[::-1])[:, ::-1]

        return plan

    return query


def _tcod_graph(blocked: Blocked, corner_cutting: bool) -> Any:
    """Corners are not cut if each diagonal has a condition: both straight neighbours are free."""
    from tcod.path import CustomGraph, SimpleGraph

    cost = (~blocked).astype(np.int8)
    if corner_cutting:
        return SimpleGraph(cost=cost, cardinal=STRAIGHT, diagonal=DIAGONAL)
    graph = CustomGraph(blocked.shape)
    graph.add_edges(edge_map=[[0, STRAIGHT, 0], [STRAIGHT, 0, STRAIGHT], [0, STRAIGHT, 0]], cost=cost)
    free = np.pad(cost, 1)
    height, width = blocked.shape
    for dy, dx in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        beside = free[1 + dy : 1 + dy + height, 1:-1] & free[1:-1, 1 + dx : 1 + dx + width]
        graph.add_edge((dy, dx), DIAGONAL, cost=cost, condition=beside)
    graph.set_heuristic(cardinal=STRAIGHT, diagonal=DIAGONAL)
    return graph


def tcod_astar(blocked: Blocked, corner_cutting: bool) -> Query:
    """libtcod's older A*, which is the faster one in rooms and mazes."""
    from tcod.path import AStar

    finder = AStar((~blocked).astype(np.int8), diagonal=2**0.5)

    def query(start: Cell, goal: Cell) -> Callable[[], list[Cell]]:
        # it works on (y, x) and leaves the start out
        return lambda: [start, *((x, y) for y, x in finder.get_path(*start[::-1], *goal[::-1]))]

    return query


def w9_pathfinding(algorithm: str) -> Callable[[Blocked, bool], Query]:
    """w9-pathfinding's AStar or BiAStar."""

    def prepare(blocked: Blocked, corner_cutting: bool) -> Query:
        from w9_pathfinding import pf
        from w9_pathfinding.diagonal_movement import DiagonalMovement
        from w9_pathfinding.envs import Grid

        rule = DiagonalMovement.always if corner_cutting else DiagonalMovement.only_when_no_obstacle
        weights = np.where(blocked, np.int8(-1), np.int8(1)).tolist()
        grid = Grid(weights, diagonal_movement=rule, diagonal_movement_cost_multiplier=2**0.5)
        finder = getattr(pf, algorithm)(grid)
        return lambda start, goal: lambda: finder.find_path(start, goal)

    return prepare


def scikit_image(blocked: Blocked, corner_cutting: bool) -> Query:
    """Dijkstra that ends at the goal."""
    from skimage.graph import MCP_Geometric

    paths = MCP_Geometric(np.where(blocked, -1.0, 1.0), fully_connected=True)

    def query(start: Cell, goal: Cell) -> Callable[[], CellPath]:
        def plan() -> CellPath:
            paths.find_costs([start[::-1]], [goal[::-1]])
            return np.array(paths.traceback(goal[::-1]))[:, ::-1]

        return plan

    return query


CUTS, EITHER = (True,), (True, False)
LIBRARIES = (
    Peer('pyastar2d', 'pyastar2d', 'pyastar2d', CUTS, 'steps', pyastar2d),
    Peer('tcod', 'tcod', 'tcod.path', EITHER, 'length', tcod_pathfinder),
    Peer('tcod AStar', 'tcod', 'tcod.path', CUTS, 'length', tcod_astar),
    Peer('w9-pathfinding', 'w9-pathfinding', 'w9_pathfinding', EITHER, 'length', w9_pathfinding('AStar')),
    Peer('w9 BiAStar', 'w9-pathfinding', 'w9_pathfinding', EITHER, 'length', w9_pathfinding('BiAStar')),
    Peer('scikit-image', 'scikit-image', 'skimage.graph', CUTS, 'length', scikit_image),
)


def find_path_on_one_grid(blocked: Blocked, corner_cutting: bool) -> Query:
    """Ours, as most would call it."""
    grid = Grid(blocked, corner_cutting=corner_cutting)
    return lambda start, goal: lambda: find_path(grid, start, goal, tba_star())


def find_path_on_new_grid(blocked: Blocked, corner_cutting: bool) -> Query:
    """Ours on a grid that nobody has searched: the memory of the search is new, too."""

    def query(start: Cell, goal: Cell) -> Callable[[], Any]:
        grid = Grid(blocked, corner_cutting=corner_cutting)
        return lambda: find_path(grid, start, goal, tba_star())

    return query


# ---------------------------------------------------------------------- the comparison
OURS = Peer('tb_planner', 'tb_planner', 'tb_planner', EITHER, 'length', find_path_on_one_grid)
OURS_FRESH = OURS._replace(name='tb_planner, new grid', prepare=find_path_on_new_grid)
PATIENCE_S = 2.0  # what takes longer than this for one problem is not repeated


def maps(scale: float) -> tuple[NamedMap, ...]:
    """The four maps of the comparison, or smaller ones of their kind."""
    side, large, wide = (max(40, int(size * scale)) for size in (1000, 4000, 2000))
    return (
        NamedMap(f'{side}² with 10 % obstacles', partial(terrain.random_obstacles, side, 0.1)),
        NamedMap(f'{large}² with 10 % obstacles', partial(terrain.random_obstacles, large, 0.1)),
        NamedMap(f'{side}² rooms of 32', partial(terrain.rooms, side, min(32, side // 4))),
        NamedMap(f'{wide}² maze, corridors of 10', partial(terrain.maze, wide, min(10, wide // 8))),
    )


def path_length(blocked: Blocked, cells: npt.ArrayLike, corner_cutting: bool) -> float:
    """Octile length of a path; infinite if a step of it is not allowed."""
    x, y = np.asarray(cells, np.int64).reshape(-1, 2).T
    dx, dy = np.diff(x), np.diff(y)
    one_step = np.maximum(abs(dx), abs(dy)) == 1
    diagonal = (dx != 0) & (dy != 0)
    cut = diagonal & (blocked[y[:-1], x[1:]] | blocked[y[1:], x[:-1]])
    if blocked[y, x].any() or not one_step.all() or (cut.any() and not corner_cutting):
        return float('inf')
    return float(len(dx) - diagonal.sum() + diagonal.sum() * 2**0.5)


def players(corner_cutting: bool) -> list[Peer]:
    """Ours and the peers that are installed and know the corner rule."""
    peers = (OURS, OURS_FRESH, *LIBRARIES)
    return [peer for peer in peers if corner_cutting in peer.corner_rules and not peer.missing()]


def plan(options: argparse.Namespace) -> RunPlan:
    for line in filter(None, (peer.missing() for peer in LIBRARIES)):
        print(line)
    kinds, count = maps(options.scale), options.problems or (2 if options.quick else 5)
    total = len(kinds) * count * (len(players(True)) + len(players(False)))
    return RunPlan(total, runs(kinds, count, options.repeats or (2 if options.quick else 5), options.seed))


def runs(kinds: tuple[NamedMap, ...], count: int, repeats: int, seed: int) -> Iterator[Row]:
    """A row for each problem and player: the least of its times."""
    for kind in kinds:
        blocked = kind.build(seed)
        problems = terrain.problems(blocked, count, seed)
        for corner_cutting in (True, False):
            queries = {peer.name: peer.prepare(blocked, corner_cutting) for peer in players(corner_cutting)}
            for number, problem in enumerate(problems):
                measured = interleaved(queries, problem, repeats)
                shared = {'map': kind.name, 'corner_cutting': corner_cutting, 'problem': number}
                ends = dict(zip(('start_x', 'start_y', 'goal_x', 'goal_y'), (*problem.start, *problem.goal)))
                for name, (times, result) in measured.items():
                    length = path_length(blocked, getattr(result, 'cells', result), corner_cutting)
                    yield {
                        **{**shared, **ends, 'planner': name, 'repeats': len(times), 'ms': min(times) * 1e3},
                        **{'median_ms': float(np.median(times)) * 1e3, 'length': length},
                        'expansions': getattr(result, 'expansions', np.nan),
                    }


def interleaved(queries: dict[str, Query], problem: GridProblem, repeats: int) -> dict[str, Any]:
    """Each player in turn, again and again, so that a noisy moment hits them all."""
    measured: dict[str, tuple[list[float], Any]] = {}
    for _ in range(repeats):
        for name, query in queries.items():
            times, _ = measured.get(name, ([], None))
            if sum(times) < PATIENCE_S:
                plan = query(*problem)
                began = time.perf_counter()
                result = plan()
                measured[name] = ([*times, time.perf_counter() - began], result)
    return measured


def summary(rows: list[Row]) -> str:
    """A table for each map and corner rule, then the ratios that count."""
    frame = pd.DataFrame(rows)
    frame['rule'] = np.where(frame.corner_cutting, 'corners cut', 'corners not cut')
    places = frame.groupby(['map', 'rule'], sort=False)
    return '\n'.join([*(f'\n{name}, {rule}\n{map_table(some)}' for (name, rule), some in places), '', *verdict(frame)])


def map_table(frame: pd.DataFrame) -> str:
    """Everyone on one map: faster counts the problems on which a planner beat ours."""
    header = ('planner', 'ms a plan', 'M expansions/s', 'times ours', 'faster', 'longer by up to')
    by_problem = frame.pivot(index='problem', columns='planner', values=['ms', 'expansions', 'length'])
    ms, expansions, length = (by_problem[name] for name in ('ms', 'expansions', 'length'))
    mean_ms, mean_expansions = ms.mean(), expansions.mean()
    lines = []
    for name in frame.planner.unique():
        faster, excess = (ms[name] < ms[OURS.name]).sum(), (length[name] / length[OURS.name]).max() - 1
        rate, times_ours = mean_expansions[name] / mean_ms[name] / 1e3, mean_ms[name] / mean_ms[OURS.name]
        count = f'{faster}/{ms[name].count()}'
        lines.append((name, mean_ms[name], rate, times_ours, count, f'{max(excess, 0):.2%}'))
    return table(header, lines)


def verdict(frame: pd.DataFrame) -> list[str]:
    """Best peer over each of ours, map by map and in the geometric mean."""
    lines = ['best peer / ours (target: more than 1 on every map, 2.5 in the geometric mean)']
    for rule, some in frame.groupby('rule', sort=False):
        ms = some.pivot_table('ms', 'map', 'planner', sort=False)
        peers = [peer for peer in LIBRARIES if peer.name in ms]
        contests = [(ours, peers, '') for ours in (OURS, OURS_FRESH)]
        shortest = [peer for peer in peers if peer.minimises == 'length']
        if shortest != peers:
            contests.append((OURS, shortest, ', only peers that find shortest paths'))
        for ours, others, remark in contests:
            ratios = (ms[[peer.name for peer in others]].min(axis=1) / ms[ours.name]).dropna()
            listed = ', '.join(f'{ratio:.2f}' for ratio in ratios)
            mean = f'{listed}; geometric mean {gmean(ratios):.2f}' if listed else 'no peer is installed'
            lines.append(f'  {rule}, {ours.name}{remark}: {mean}')
    return lines


PEERS = Experiment(
    'peers',
    'full plans against other libraries',
    plan,
    summary,
    {'--problems': {'type': int, 'help': 'problems a map (5)'}},
)
