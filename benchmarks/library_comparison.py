"""Full plans against other libraries, matched by corner rule, one after the other on the same problem.

Maps are uniform, or graded as Nav2 inflates them. No planner plans a problem twice: a processor learns the branches of
a search that is repeated, and a robot seldom plans the same path again. Times are the thread's own.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import geometric_mean
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks import navfn
from benchmarks.experiments import terrain
from benchmarks.experiments.engine import Experiment, Row, RunPlan, table
from benchmarks.experiments.terrain import Blocked, Cell, Costs, NamedMap
from tb_planner import Grid, find_path, tb_wa_star
from tb_planner.search.grid import COST_STEPS

CellPath = npt.NDArray[Any]
Query = Callable[[Cell, Cell], Callable[[], Any]]

STRAIGHT, DIAGONAL = 985, 1393  # tcod counts in integers


class Peer(NamedTuple):
    """A planner of another library: what it needs, which corner rules it knows, what it makes minimal.

    minimises: 'steps', 'length', or 'costs' if it also minimises our costs on graded maps: of a step's two cells most
    count the one that is entered. prepare() takes costs [y, x], inf where blocked, and the corner rule.
    """

    name: str
    package: str
    module: str
    corner_rules: tuple[bool, ...]
    minimises: str
    prepare: Callable[[Costs, bool], Query]

    def missing(self) -> str:
        """Why it cannot run here; empty if it can."""
        try:
            importlib.import_module(self.module)
        except ImportError as error:
            return f'{self.name} is skipped: {error} (pip install {self.package})'
        return ''


def pyastar2d(costs: Costs, corner_cutting: bool) -> Query:
    """A* with a maximum norm: a diagonal step costs as much as a straight one, its API has no other norm."""
    from pyastar2d import astar_path

    weights = costs.astype(np.float32)

    def query(start: Cell, goal: Cell) -> Callable[[], CellPath]:
        return lambda: astar_path(weights, start[::-1], goal[::-1], allow_diagonal=True)[:, ::-1]

    return query


def tcod_pathfinder(costs: Costs, corner_cutting: bool) -> Query:
    """libtcod's newer pathfinder; its arrays are cleared before the clock starts."""
    from tcod.path import Pathfinder

    finder = Pathfinder(_tcod_graph(costs, corner_cutting))

    def query(start: Cell, goal: Cell) -> Callable[[], CellPath]:
        finder.clear()

        def plan() -> CellPath:
            finder.add_root(start[::-1])
            return finder.path_to(goal[::-1])[:, ::-1]

        return plan

    return query


def _tcod_graph(costs: Costs, corner_cutting: bool) -> Any:
    """Corners are not cut if each diagonal has a condition: both straight neighbours are free."""
    from tcod.path import CustomGraph, SimpleGraph

    cost = _whole_costs(costs)
    if corner_cutting and cost.max() == 1:
        return SimpleGraph(cost=cost, cardinal=STRAIGHT, diagonal=DIAGONAL)
    graph = CustomGraph(cost.shape)
    free = np.pad((cost > 0).astype(np.int8), 1)
    height, width = cost.shape
    for dy, dx in ((-1, 0), (0, 1), (1, 0), (0, -1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
        beside = free[1 + dy : 1 + dy + height, 1:-1] & free[1:-1, 1 + dx : 1 + dx + width]
        condition = None if corner_cutting or not (dx and dy) else beside
        graph.add_edge((dy, dx), DIAGONAL if dx and dy else STRAIGHT, cost=cost, condition=condition)
    least = int(cost[cost > 0].min())
    graph.set_heuristic(cardinal=STRAIGHT * least, diagonal=DIAGONAL * least)
    return graph


def tcod_astar(costs: Costs, corner_cutting: bool) -> Query:
    """libtcod's older A*, which is the faster one in rooms and mazes."""
    from tcod.path import AStar

    finder = AStar(_whole_costs(costs), diagonal=2**0.5)

    def query(start: Cell, goal: Cell) -> Callable[[], list[Cell]]:
        # it works on (y, x) and leaves the start out
        return lambda: [start, *((x, y) for y, x in finder.get_path(*start[::-1], *goal[::-1]))]

    return query


def _whole_costs(costs: Costs) -> npt.NDArray[np.integer[Any]]:
    """1 where all free cells cost 1, else costs in sixteenths; 0 where blocked."""
    free = np.isfinite(costs)
    if (costs[free] == 1).all():
        return free.astype(np.int8)
    return np.rint(np.where(free, costs, 0) * COST_STEPS).astype(np.int32)


def w9_pathfinding(algorithm: str) -> Callable[[Costs, bool], Query]:
    """w9-pathfinding's AStar or BiAStar."""

    def prepare(costs: Costs, corner_cutting: bool) -> Query:
        from w9_pathfinding import pf
        from w9_pathfinding.diagonal_movement import DiagonalMovement
        from w9_pathfinding.envs import Grid

        rule = DiagonalMovement.always if corner_cutting else DiagonalMovement.only_when_no_obstacle
        weights = np.where(np.isfinite(costs), _whole_costs(costs), -1).tolist()
        grid = Grid(weights, diagonal_movement=rule, diagonal_movement_cost_multiplier=2**0.5)
        finder = getattr(pf, algorithm)(grid)
        return lambda start, goal: lambda: finder.find_path(start, goal)

    return prepare


def scikit_image(costs: Costs, corner_cutting: bool) -> Query:
    """Dijkstra that ends at the goal. A step costs the mean of its two cells, as ours does."""
    from skimage.graph import MCP_Geometric

    paths = MCP_Geometric(np.where(np.isfinite(costs), costs, -1.0), fully_connected=True)

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
    Peer('scikit-image', 'scikit-image', 'skimage.graph', CUTS, 'costs', scikit_image),
)


def find_path_on_one_grid(costs: Costs, corner_cutting: bool, w: float = 1.0) -> Query:
    """Ours, as most would call it."""
    grid, algorithm = _grid(costs, corner_cutting), tb_wa_star(w)
    grid.prepare()
    return lambda start, goal: lambda: find_path(grid, start, goal, algorithm)


def find_path_on_new_grid(costs: Costs, corner_cutting: bool) -> Query:
    """Ours on a grid that nobody has searched: the memory of the search is new, too."""

    def query(start: Cell, goal: Cell) -> Callable[[], Any]:
        grid = _grid(costs, corner_cutting)
        return lambda: find_path(grid, start, goal)

    return query


def _grid(costs: Costs, corner_cutting: bool) -> Grid:
    """A grid without costs where all free cells cost 1."""
    blocked = np.isinf(costs)
    return Grid(blocked if (costs[~blocked] == 1).all() else costs, corner_cutting=corner_cutting)


# ---------------------------------------------------------------------- the comparison
OURS = Peer('tb_planner', 'tb_planner', 'tb_planner', EITHER, 'costs', find_path_on_one_grid)
OURS_FRESH = OURS._replace(name='tb_planner, new grid', prepare=find_path_on_new_grid)
WEIGHTED = tuple(
    OURS._replace(name=f'tb_planner, w = {w:g}', prepare=partial(find_path_on_one_grid, w=w)) for w in (1.5, 3.0)
)
ALL_OURS = (OURS, *WEIGHTED, OURS_FRESH)
PATIENCE_S = 10.0
"""A planner that has taken this long on a map leaves out the map's other problems."""


def maps(scale: float) -> tuple[NamedMap, ...]:
    """The four maps of the comparison, or smaller ones of their kind."""
    side, large, wide = (max(40, int(size * scale)) for size in (1000, 4000, 2000))
    return (
        NamedMap(f'{side}² with 10 % obstacles', partial(terrain.random_obstacles, side, 0.1)),
        NamedMap(f'{large}² with 10 % obstacles', partial(terrain.random_obstacles, large, 0.1)),
        NamedMap(f'{side}² rooms of 32', partial(terrain.rooms, side, min(32, side // 4))),
        NamedMap(f'{wide}² maze, corridors of 10', partial(terrain.maze, wide, min(10, wide // 8))),
    )


COSTS: dict[str, Callable[[Blocked], Costs]] = {
    'uniform': terrain.uniform,
    "Nav2's inflation": terrain.inflated,
    'steep inflation': partial(terrain.inflated, scaling=30.0),
}


def path_cost(costs: Costs, path: npt.ArrayLike, corner_cutting: bool) -> float:
    """Cost of a path, of a step its length times the mean of its two cells; infinite if a step is not allowed.

    A path of points that lie between cells, as NavFn's do, may be below the shortest path of cells.
    """
    points = np.asarray(path).reshape(-1, 2)
    if np.issubdtype(points.dtype, np.floating):
        return _polyline_cost(costs, points)
    x, y = points.astype(np.int64).T
    dx, dy = np.diff(x), np.diff(y)
    one_step = np.maximum(abs(dx), abs(dy)) == 1
    diagonal = (dx != 0) & (dy != 0)
    cut = diagonal & np.isinf(costs[y[:-1], x[1:]] + costs[y[1:], x[:-1]])
    if not len(x) or not one_step.all() or (cut.any() and not corner_cutting):
        return float('inf')
    means = (costs[y[:-1], x[:-1]] + costs[y[1:], x[1:]]) / 2
    return float(means.sum() + (2**0.5 - 1) * means[diagonal].sum()) if len(means) else 0.0


def _polyline_cost(costs: Costs, points: npt.NDArray[np.floating[Any]]) -> float:
    """The cost of a polyline. A blocked cell that it grazes counts with the highest cost."""
    if not len(points):
        return float('inf')
    x, y = np.rint(points).astype(np.int64).T
    at_points = np.minimum(costs[y, x], costs[np.isfinite(costs)].max())
    lengths = np.hypot(*np.diff(points.astype(np.float64), axis=0).T)
    return float((lengths * (at_points[:-1] + at_points[1:]) / 2).sum())


def players(corner_cutting: bool, navfn_library: Path | None = None) -> list[Peer]:
    """Ours and the peers that are installed and know the corner rule."""
    peers = [*ALL_OURS, *LIBRARIES, *_navfn_peers(navfn_library)]
    return [peer for peer in peers if corner_cutting in peer.corner_rules and not peer.missing()]


def _navfn_peers(library: Path | None) -> list[Peer]:
    """NavFn's A* and Dijkstra, if there is a library."""
    if library is None:
        return []
    return [
        Peer(name, '', 'ctypes', (False,), 'potential', partial(navfn.navfn, library, astar=astar))
        for name, astar in (('NavFn A*', True), ('NavFn Dijkstra', False))
    ]


def plan(options: argparse.Namespace) -> RunPlan:
    for line in filter(None, (peer.missing() for peer in LIBRARIES)):
        print(line)
    count = (options.problems or (1 if options.quick else 3)) * (options.repeats or (2 if options.quick else 5))
    return RunPlan(None, runs(maps(options.scale), count, options.navfn, options.seed))


def runs(kinds: tuple[NamedMap, ...], count: int, navfn_library: Path | None, seed: int) -> Iterator[Row]:
    """A row for each problem and player."""
    for kind in kinds:
        blocked = kind.build(seed)
        blocked[0] = blocked[-1] = blocked[:, 0] = blocked[:, -1] = True  # as NavFn does
        problems = terrain.problems(blocked, count, seed)
        for name, costs_of in COSTS.items():
            costs = costs_of(blocked)
            for corner_cutting in (True, False):
                peers = players(corner_cutting, navfn_library)
                queries = {peer: peer.prepare(costs, corner_cutting) for peer in peers}
                used_s = dict.fromkeys(peers, 0.0)
                for number, problem in enumerate(problems):
                    shared = {'map': kind.name, 'costs': name, 'corner_cutting': corner_cutting, 'problem': number}
                    ends = dict(zip(('start_x', 'start_y', 'goal_x', 'goal_y'), (*problem.start, *problem.goal)))
                    for peer, query in queries.items():
                        if used_s[peer] > PATIENCE_S:
                            continue
                        one_plan = query(*problem)
                        gc.collect()
                        gc.disable()  # other libraries leave millions of objects behind
                        began = time.thread_time()
                        result: Any = one_plan()
                        time_s = time.thread_time() - began
                        gc.enable()
                        used_s[peer] += time_s
                        yield {
                            **{**shared, **ends, 'planner': peer.name, 'ms': time_s * 1e3},
                            'cost': path_cost(costs, getattr(result, 'cells', result), corner_cutting),
                            'expansions': getattr(result, 'expansions', np.nan),
                        }


def summary(rows: list[Row]) -> str:
    """A table for each map, costs and corner rule, then the ratios that count."""
    frame = pd.DataFrame(rows)
    frame['rule'] = [
        f'{costs}, corners {"cut" if cutting else "not cut"}'
        for costs, cutting in zip(frame.costs, frame.corner_cutting, strict=True)
    ]
    places = frame.groupby(['map', 'rule'], sort=False)
    return '\n'.join([*(f'\n{name}, {rule}\n{map_table(some)}' for (name, rule), some in places), '', *verdict(frame)])


def map_table(frame: pd.DataFrame) -> str:
    """Everyone on one map: faster counts the problems on which a planner beat ours."""
    header = ('planner', 'ms a plan', 'M expansions/s', 'times ours', 'faster', 'path costs more: mean', 'up to')
    by_problem = frame.pivot(index='problem', columns='planner', values=['ms', 'expansions', 'cost'])
    ms, expansions, cost = (by_problem[name] for name in ('ms', 'expansions', 'cost'))
    lines = []
    for name in frame.planner.unique():
        times, excess = ms[name].dropna(), cost[name] / cost[OURS.name] - 1
        rate = expansions[name].sum() / times.sum() / 1e3 if expansions[name].notna().any() else float('nan')
        faster = f'{(times < ms[OURS.name][times.index]).sum()}/{len(times)}'
        more = (f'{value:.2%}' for value in (excess.mean(), excess.max()))
        lines.append((name, times.mean(), rate, times_ours(ms, name), faster, *more))
    return table(header, lines)


def times_ours(ms: pd.DataFrame, name: str, ours: str = OURS.name) -> float:
    """How many times as long a planner took on the problems that both have planned."""
    if ours not in ms or name not in ms:  # the run was interrupted, or has left it out
        return float('nan')
    both = ms[name].notna() & ms[ours].notna()
    return float(ms[name][both].sum() / ms[ours][both].sum()) if both.any() else float('nan')


def verdict(frame: pd.DataFrame) -> list[str]:
    """Best peer over each of ours, map by map and in the geometric mean."""
    lines = ['best peer / ours (target: more than 1 on every map, 2.5 in the geometric mean)']
    for rule, some in frame.groupby('rule', sort=False):
        present = set(some.planner)
        names = sorted(present - {peer.name for peer in ALL_OURS})
        exact = [peer.name for peer in LIBRARIES if peer.name in present and _finds_ours(peer, some)]
        contests = [(ours, names, '') for ours in ALL_OURS]
        if exact and set(exact) != set(names):
            contests.append((OURS, exact, ', only peers that minimise the same'))
        if 'NavFn A*' in present:
            contests += [(ours, ['NavFn A*'], ', only NavFn A*') for ours in ALL_OURS]
        for ours, others, remark in contests:
            ratios = [
                min((times_ours(ms, name, ours.name) for name in others if name in ms), default=float('nan'))
                for _, one in some.groupby('map', sort=False)
                for ms in (one.pivot(index='problem', columns='planner', values='ms'),)
            ]
            listed = ', '.join(f'{ratio:.2f}' for ratio in ratios)
            mean = f'{listed}; geometric mean {geometric_mean(ratios):.2f}' if others else 'no peer is installed'
            lines.append(f'  {rule}, {ours.name}{remark}: {mean}')
    return lines


def _finds_ours(peer: Peer, frame: pd.DataFrame) -> bool:
    """Whether the peer minimises what ours does under these costs."""
    return peer.minimises == 'costs' or (peer.minimises == 'length' and frame.costs.iloc[0] == 'uniform')


PEERS = Experiment(
    'peers',
    'full plans against other libraries',
    plan,
    summary,
    {
        '--problems': {'type': int, 'help': 'problems a map and repeat (3)'},
        '--navfn': {'type': Path, 'metavar': 'LIBRARY', 'help': 'a shared library with NavFn, see benchmarks/navfn.py'},
    },
)
