"""A trial: an agent, a world and a problem, as plain data that any process can carry out; and the row it gives.

The row follows from the data alone, but for times: problems and worlds are drawn by the seed, the map's name and the
problem's number, and generated maps have seeds of their own, so that it matters neither which process carries a trial
out, nor what it did before.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.baselines import BASELINES
from benchmarks.experiments import terrain
from benchmarks.experiments.terrain import Blocked, Cell, GridProblem, octile
from tb_planner import ALGORITHMS, Changing, Grid, Resources, Static, Status, TimeBoundedPlanner, Unknown, find_path
from tb_planner.maps.files import read_map
from tb_planner.search.agent import Run, World, move_to_goal
from tb_planner.search.grid import GridChange
from tb_planner.search.planner import UNBOUNDED, count_non_optimal, distances_to

Row = dict[str, Any]

GENERATORS: dict[str, Callable[..., Blocked]] = {
    'rooms': terrain.rooms,
    'maze': terrain.maze,
    'caves': terrain.caves,
    'random': terrain.random_obstacles,
}
STEPS = [(dx, dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy]
LRTA_LIMIT = 1000  # expansions an action; the 2009 paper's cut-off
DRAWS = 10_000
MS_AT_FIRST = 3800  # expansions a millisecond, to begin with
KEY = (
    *('experiment', 'part', 'set', 'map', 'problem', 'world', 'rate', 'corner_cutting'),
    *('series', 'algorithm', 'options', 'unit', 'x', 'seed'),
)
"""The columns that identify a trial."""


@dataclass(frozen=True)
class MapSource:
    """Where a map comes from: ('file', path), or a generator's name, its numbers and a seed."""

    set: str
    name: str
    recipe: tuple[str | int | float, ...]
    for_each_problem: bool = False  # drawn afresh for each problem

    def blocked(self, problem: int) -> Blocked:
        kind, *numbers = self.recipe
        if self.for_each_problem:
            numbers[-1] = int(numbers[-1]) + problem
        return blocked_of(kind, *numbers)

    @property
    def generated(self) -> bool:
        return self.recipe[0] != 'file'


@dataclass(frozen=True)
class Setting:
    """A point of a curve, or a cell of a table: which agent, in which world, with how much search an interval."""

    series: str  # as the paper names it
    algorithm: str  # a name in ALGORITHMS or BASELINES, or 'floating_a_star'
    x: float  # inf: unbounded
    unit: str = 'k'  # expansions an interval; R: the 2009 paper's resources; depth of LRTA*; queue of P LRTA*; ms
    options: tuple[tuple[str, Any], ...] = ()  # the algorithm's own
    world: str = 'static'  # or changing, unknown, partly unknown
    rate: float = 0.0  # of a changing world, in per cent
    corner_cutting: bool = False

    def columns(self) -> Row:
        return {**vars(self), 'options': ' '.join(f'{name}={value}' for name, value in self.options)}


@dataclass(frozen=True)
class Part:
    """A figure or a table: its maps, how problems are drawn on them, and its settings.

    cost_range: of a problem's shortest path. game_time: intervals are counted as in the 2012 paper, whose first one
    only searches.
    """

    name: str
    maps: tuple[MapSource, ...]
    problems: int  # on each map
    settings: tuple[Setting, ...]
    cost_range: tuple[float, float] = (0.0, math.inf)
    game_time: bool = False
    max_intervals: int = 10_000_000


@dataclass(frozen=True)
class Task:
    """All trials of a part with one problem: they share its map and its shortest path."""

    experiment: str
    part: Part
    map: MapSource
    problem: int
    settings: tuple[Setting, ...]
    seed: int

    def known_columns(self) -> list[Row]:
        """The columns of its rows that are known before it runs."""
        same = {
            **{'experiment': self.experiment, 'part': self.part.name, 'set': self.map.set, 'map': self.map.name},
            **{'generated': self.map.generated, 'problem': self.problem, 'seed': self.seed},
        }
        return [{**same, **setting.columns()} for setting in self.settings]


def tasks_of(experiment: str, parts: tuple[Part, ...], seed: int) -> Iterator[Task]:
    for part in parts:
        for source, problem in itertools.product(part.maps, range(part.problems)):
            yield Task(experiment, replace(part, maps=(), settings=()), source, problem, part.settings, seed)


class SharedGrid(Grid):
    """The map of a changing world and of its agent, who sees all of it: both pass every change to it, one after the
    other. What has changed is worked out once, which takes most of the time of such a trial."""

    _last: tuple[ArrayLike, GridChange] | None = None

    def update(self, values: ArrayLike, at: Cell | None = None) -> GridChange:
        if self._last is None or self._last[0] is not values:
            self._last = values, super().update(values, at)
        return self._last[1]


class MapInstance:
    """The map and the problem of a task, and what is the same for all of its trials."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.known = task.map.blocked(task.problem)
        self.random = np.random.default_rng([task.seed, zlib.crc32(task.map.name.encode()), task.problem])
        self.world_seed = int(self.random.integers(2**31))
        partly = {setting.world == 'partly unknown' for setting in task.settings}
        if len(partly) != 1:
            raise ValueError(f'{task.part.name} has partly unknown terrain and another; their problems would differ')
        self.true = self._with_surprises() if partly.pop() else self.known
        # by corner rule: the true map, on which the static world's agents search one after the other; what its shortest
        # path costs, in a changing world at first; and the distances to the goal
        self.grid = functools.cache(lambda cutting: Grid(self.true, corner_cutting=cutting))
        self._optimal_cost = functools.cache(lambda cutting: find_path(self.grid(cutting), *self.problem).cost)
        self._distances = functools.cache(lambda cutting: distances_to(self.grid(cutting), self.problem.goal))
        self.problem = self._draw()

    def trial(self, setting: Setting) -> Row:
        # first: its search takes the memory that all of them use
        optimal_cost = round(self._optimal_cost(setting.corner_cutting), 6)
        if setting.algorithm == 'floating_a_star':
            run, k, refused = floating_a_star(self.true, *self.problem, setting.corner_cutting), 0, 0
        else:
            measured = self._expansions_in(setting.x, setting) if setting.unit == 'ms' else None
            run, k, refused = self._run(setting, measured)
        (x0, y0), (x1, y1) = self.problem
        return {
            **{'start_x': x0, 'start_y': y0, 'goal_x': x1, 'goal_y': y1, 'optimal_cost': optimal_cost},
            **{'status': run.status.name, 'cost': round(run.cost, 6)},
            **{'moves': run.moves, 'back_moves': run.back_moves, 'non_optimal_moves': self._non_optimal(setting, run)},
            **{'intervals': run.intervals + self.task.part.game_time, 'expansions': run.expansions},
            **{'searches': run.searches, 'refused_moves': refused, 'k': k, 'search_time_s': f'{run.search_time_s:.6f}'},
            'aside_when_found': self._aside_when_found(setting),
            'first_path_intervals': self._first_path_intervals(setting, k),
        }

    def _run(self, setting: Setting, k: int | None) -> tuple[Run, int, int]:
        """The run, the expansions that an interval had, and how many moves the map refused."""
        world, grid = self._world(setting)
        if not grid.has_spare_search:
            grid.prepare()
        agent = new_agent(setting, grid, self.problem, self.world_seed, k)
        run = move_to_goal(agent, world, max_intervals=self.task.part.max_intervals, clock=time.thread_time)
        refused, budget = getattr(agent, 'refused_moves', 0), agent.k
        if release := getattr(agent, 'release', None):
            release()
        return run, budget.expansions if isinstance(budget, Resources) else budget, refused

    def _expansions_in(self, interval_ms: float, setting: Setting) -> int:
        """The number of this agent's expansions that fit into an interval, with moves and learning: measured on the
        same problem, beginning with the number of the 2012 paper's machine."""
        run, _, _ = self._run(setting, round(interval_ms * MS_AT_FIRST))
        return max(1, round(interval_ms * 1e-3 * run.expansions / run.search_time_s))

    def _aside_when_found(self, setting: Setting) -> int | str:
        """1 if TBA* with the 2009 paper's resources is off the optimal path when that is found, before its next move;
        else 0. The run is begun once more for it, so that its time is that of the run alone."""
        if setting.algorithm != 'tba_star' or setting.unit != 'R':
            return ''
        without = tuple(option for option in setting.options if option[0] != 'shortcut')  # sought on from there only
        planner = new_agent(replace(setting, options=without), self._world(setting)[1], self.problem, self.world_seed)
        while planner.search() <= Status.WAITED and not planner.goal_found:
            planner.move()
        aside = planner.current_cell not in planner.path
        planner.release()
        return int(aside)

    def _first_path_intervals(self, setting: Setting, k: int) -> int | str:
        """The number of intervals in which D* Lite finds its first path; its search is made once more for it."""
        if setting.algorithm != 'd_star_lite':
            return ''
        world, grid = self._world(setting)
        agent = new_agent(setting, grid, self.problem, self.world_seed, k)
        if news := world.enter(agent.current_cell, agent.goal):
            agent.observe(*news)
        intervals = 1
        while not agent.search():
            intervals += 1
        return intervals

    def _world(self, setting: Setting) -> tuple[World, Grid]:
        """The world, and the agent's grid."""
        true = self.grid(setting.corner_cutting)
        if setting.world == 'static':
            return Static(true), true
        if setting.world == 'changing':
            changing = Changing(true, setting.rate, seed=self.world_seed)
            changing.grid = SharedGrid(self.true, corner_cutting=setting.corner_cutting)
            return changing, changing.grid
        world = Unknown(true, known=self.known if setting.world == 'partly unknown' else None)
        return world, world.initial_grid()

    def _with_surprises(self) -> Blocked:
        """15 % of the free cells are blocked, and the agent does not know it: the 2012 paper's partly unknown map."""
        free = np.flatnonzero(~self.known)
        blocked = self.known.copy()
        blocked.reshape(-1)[self.random.choice(free, round(0.15 * len(free)), replace=False)] = True
        return blocked

    def _draw(self) -> GridProblem:
        """Uniformly among the cells of the largest component by straight steps, so that it is solvable under every
        corner rule; drawn again until the shortest path's cost is in the range."""
        surprises = self.true is not self.known
        cells = component_cells(self.true) if surprises else cells_of(self.task.map, self.task.problem)
        least, most = self.task.part.cost_range
        width = self.true.shape[1]
        for _ in range(DRAWS):
            (y0, y1), (x0, x1) = np.divmod(self.random.choice(cells, 2, replace=False), width)
            problem = GridProblem((int(x0), int(y0)), (int(x1), int(y1)))
            if (least, most) == (0.0, math.inf):
                return problem
            if octile(*problem) <= most and least <= find_path(self.grid(False), *problem).cost <= most:
                return problem
        raise ValueError(f'{self.task.map.name}: in {DRAWS} draws no problem costs from {least} to {most}')

    def _non_optimal(self, setting: Setting, run: Run) -> int | str:
        """Moves on no shortest path to the goal; on a static map."""
        if setting.world != 'static' or not run.cells:
            return ''
        numbers = np.fromiter(itertools.chain.from_iterable(run.cells), np.int32, 2 * len(run.cells))
        states = numbers[1::2] * np.int32(self.true.shape[1]) + numbers[::2]
        return count_non_optimal(self._distances(setting.corner_cutting), states)


def new_agent(setting: Setting, grid: Grid, problem: GridProblem, seed: int, k: int | None = None) -> Any:
    """k: expansions an interval, in place of the setting's."""
    name, options = setting.algorithm, dict(setting.options)
    number = UNBOUNDED if math.isinf(setting.x) else round(setting.x)
    budget: int | Resources = k or number
    if setting.unit == 'R':
        budget = Resources(number)
    elif setting.unit == 'depth':
        budget, options['depth'] = LRTA_LIMIT, number
    elif setting.unit == 'queue':
        budget, options['queue_size'] = number + 1, number
    if name in ALGORITHMS:
        return TimeBoundedPlanner(grid, *problem, ALGORITHMS[name](**options), budget)
    if name == 'late_a_star':
        options['seed'] = seed
    expansions = budget.expansions if isinstance(budget, Resources) else budget
    return BASELINES[name](grid, *problem, expansions, **options)


def floating_a_star(blocked: Blocked, start: Cell, goal: Cell, corner_cutting: bool = False) -> Run:
    """A* with a floating √2: what ties cost that are not exact. Plain Python, to be compared by its expansions alone.

    Larger g first within equal f, as in the papers; but g and f are sums of floating numbers, so that equal paths
    differ in their last bit and few states are tied. The record of a search; nobody moves.
    """
    grid = Grid(blocked, corner_cutting=corner_cutting)
    began = time.thread_time()
    g = {start: 0.0}
    closed: set[Cell] = set()
    opened = [(octile(start, goal), 0.0, start)]
    while opened:
        _, minus_g, s = heapq.heappop(opened)
        if s == goal:
            break
        if s in closed:
            continue
        closed.add(s)
        for dx, dy in STEPS:
            t = s[0] + dx, s[1] + dy
            if t in closed or not grid.contains(t) or math.isinf(grid.step_cost(s, t)):
                continue
            new = (math.sqrt(2) if dx and dy else 1.0) - minus_g
            if new < g.get(t, math.inf):
                g[t] = new
                heapq.heappush(opened, (new + octile(t, goal), -new, t))
    found = goal in g
    return Run(
        status=Status.AT_GOAL if found else Status.NO_PATH,
        cost=g.get(goal, math.inf),
        moves=0,
        back_moves=0,
        non_optimal_moves=None,
        intervals=0,
        expansions=len(closed),
        searches=1,
        search_time_s=time.thread_time() - began,
        cells=[],
    )


@functools.lru_cache(maxsize=2)
def blocked_of(kind: str, *numbers: Any) -> Blocked:
    blocked = read_map(Path(numbers[0])).blocked if kind == 'file' else GENERATORS[kind](*numbers)
    blocked.setflags(write=False)
    return blocked


@functools.lru_cache(maxsize=2)
def cells_of(source: MapSource, problem: int) -> NDArray[np.int64]:
    return component_cells(source.blocked(problem))


def component_cells(blocked: Blocked) -> NDArray[np.int64]:
    return np.flatnonzero(terrain.largest_component(blocked))
