"""A trial: an agent moves from start to goal with one candidate, one move per tick at most, and each tick is measured.

The agent is the papers' agent. It never leaves its route, and it waits while a restarted search has no path yet. The
node follows its old route meanwhile, as long as that is valid: a restart costs it less than it costs the agent here.
"""

from __future__ import annotations

import math
import time
from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box, Cell
from tb_planner.maps.costmap import OCCUPIED, CostmapConfig, CostTable
from tb_planner.navigation.navigator import TRACE_STEPS
from tb_planner.search.agent import Observation, Static, Unknown, take_turns
from tb_planner.search.algorithms import Algorithm, make_algorithm, takes_weight
from tb_planner.search.grid import COST_STEPS, Grid
from tb_planner.search.planner import Status, TimeBoundedPlanner
from tb_planner.tools.tuning.problems import TuningProblem
from tb_planner.tools.tuning.time_limit import NO_LIMIT, TimeLimit, TimeOver

WEIGHTS = (1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 5.0)
WORLDS = {
    'static': 'the map does not change',
    'changing': 'obstacles appear and vanish near the robot',
    'unknown': 'the robot senses the map as it moves',
}
SENSOR_RADIUS, SENSOR_RADIUS_M = 10, 1.5
"""The agent's sensor radius in an unknown world: the larger one of cells and metres."""
MAX_TICKS = 4096
"""A trial keeps the times of this number of ticks; with few expansions per tick it has hundreds of thousands."""


# ------------------------------------------------------------------------------------------------ candidates
@dataclass(frozen=True)
class Candidate:
    """An algorithm, its weight and its restart rule, named as in the node's parameters; '' is the algorithm's rule."""

    algorithm: str
    weight: float = 1.5
    restart: str = ''

    @property
    def config(self) -> Algorithm:
        return make_algorithm(self.algorithm, self.weight, self.restart)

    def is_same_as(self, other: Candidate) -> bool:
        """Whether both are the same search: one may name a weight that is not used, or the algorithm's own rule."""
        ours, theirs = self.config, other.config
        return (ours.weight, ours.restart, ours.learn_h) == (theirs.weight, theirs.restart, theirs.learn_h)

    def __str__(self) -> str:
        weight = f'({self.weight:g})' if takes_weight(self.algorithm) else ''
        return f'{self.algorithm}{weight}' + f', {self.restart}' * bool(self.restart)


def candidates(world: str) -> tuple[Candidate, ...]:
    """Returns the candidates for a world.

    On a static map nothing restarts a search, so algorithms that differ only in restarts are one candidate. In an
    unknown world almost all changes increase costs: lazy and path_cost_increased are the same, and eager, which
    restarts after every step, takes too long to try.
    """
    rules = ('', 'path_cost_increased', 'eager') if world == 'changing' else ('',)
    weighted = [Candidate('tb_wa_star', weight, rule) for weight in WEIGHTS for rule in rules]
    if world == 'static':
        return Candidate('tba_star'), *weighted, Candidate('tb_gbfs')
    if world == 'unknown':
        return Candidate('tba_star'), Candidate('tbaa_star'), *weighted, Candidate('tb_gbfs')
    # rtba_star is tba_star with path_cost_increased; decreased costs never restart greedy search
    shortest = Candidate('tba_star'), Candidate('tba_star', restart='eager'), Candidate('rtba_star')
    greedy = Candidate('tb_gbfs'), Candidate('tb_gbfs', restart='eager')
    return *shortest, Candidate('tbaa_star'), *weighted, *greedy


# ------------------------------------------------------------------------------------------------ a changing world
class Clutter:
    """A world in which obstacles appear and vanish near the agent, and never disconnect start and goal.

    After every `every` moves a square of cells becomes an obstacle, or an earlier obstacle vanishes. The cells around
    an obstacle stay free, as wide as the robot, so whatever was connected stays connected. No obstacle appears at the
    agent or at the goal. Obstacles far from the agent do not change.

    The agent's grid is `grid`; restore() undoes all changes of it and of the occupancy.
    """

    EVERY = 20
    """Moves between two changes."""
    MAX_SIDE, MAX_SIDE_M = 3, 0.4
    """The largest obstacle: the larger one of cells and metres."""
    SIGHT, SIGHT_M = 30, 4.0
    """The largest distance to a change: the larger one of cells and metres."""

    def __init__(
        self, occupancy: NDArray[np.int8], rules: CostmapConfig, grid: Grid, seed: int, every: int = EVERY
    ) -> None:
        self.grid = grid
        self.occupancy = occupancy.copy()
        self._costs = CostTable(rules)
        self._random = np.random.default_rng(seed)
        self._every = every
        self._moves = 0
        cell_m = rules.resolution_m
        self._max_side = max(self.MAX_SIDE, round(self.MAX_SIDE_M / cell_m))
        self._sight = max(self.SIGHT, round(self.SIGHT_M / cell_m))
        self._margin = math.floor(rules.robot_radius_m / cell_m + 1e-9) + 1
        self._bounds = grid.box
        self._original: dict[Box, NDArray[np.int8]] = {}

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        return None

    def moves_until_news(self) -> int:
        return self._every - self._moves % self._every

    def walk(self, states: NDArray[np.int32]) -> None:
        """Checks nothing: the agent's grid is the true one, so every move is legal."""

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        self._moves += 1
        if self._moves % self._every:
            return None
        x, y = cell
        near = Box(x, y, x + 1, y + 1).grown(self._sight, self._bounds)
        obstacles = [box for box in self._original if box.overlap(near) == box]
        if obstacles and self._random.random() < 0.5:
            return self._remove(obstacles[self._random.integers(len(obstacles))])
        return self._place(near, cell, goal)

    def restore(self) -> None:
        """Removes all obstacles."""
        for box in list(self._original):
            self.grid.update(*self._remove(box))

    def _place(self, near: Box, cell: Cell, goal: Cell) -> Observation | None:
        for side in range(int(self._random.integers(1, self._max_side + 1)), 0, -1):
            corners = self._free_squares(near, side + 2 * self._margin, (cell, goal))
            if len(corners):
                y, x = (int(i) + self._margin for i in corners[self._random.integers(len(corners))])
                box = Box(near.x0 + x, near.y0 + y, near.x0 + x + side, near.y0 + y + side)
                self._original[box] = self.occupancy[box.slices].copy()
                return self._change(box, OCCUPIED)
        return None

    def _free_squares(self, near: Box, side: int, excluded: tuple[Cell, ...]) -> NDArray[np.int64]:
        """Returns the first cells, as [y, x] within the box, of free squares of this side without excluded cells."""
        taken = np.isinf(self._costs.costs(self.occupancy, near))
        for x, y in excluded:
            if Box(x, y, x + 1, y + 1).overlap(near) == Box(x, y, x + 1, y + 1):
                taken[y - near.y0, x - near.x0] = True
        sums = np.zeros((taken.shape[0] + 1, taken.shape[1] + 1), np.int32)
        np.cumsum(np.cumsum(taken, axis=0, dtype=np.int32), axis=1, out=sums[1:, 1:])
        if min(taken.shape) < side:
            return np.empty((0, 2), np.int64)
        inside = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
        return np.argwhere(inside == 0)

    def _remove(self, box: Box) -> Observation:
        return self._change(box, self._original.pop(box))

    def _change(self, box: Box, occupancy: NDArray[np.int8] | int) -> Observation:
        self.occupancy[box.slices] = occupancy
        changed = box.grown(self._costs.rules.reach, self._bounds)
        return self._costs.costs(self.occupancy, changed), (changed.x0, changed.y0)


# ------------------------------------------------------------------------------------------------ trials
@dataclass(frozen=True)
class TrialConditions:
    """Conditions that all candidates share."""

    world: str = 'changing'
    min_improvement: float = 0.05

    def __post_init__(self) -> None:
        if self.world not in WORLDS:
            raise ValueError(f'world is {self.world!r}; it must be one of {", ".join(WORLDS)}')


@dataclass(frozen=True, eq=False)
class TrialResult:
    """Measurements of a trial. An agent that did not arrive is counted up to its last interval."""

    arrived: bool
    intervals: int
    weighted_intervals: float
    """The tuner minimises this: intervals in which an interval with a move counts as much as the move's cells cost.
    Where all cells cost 1 it equals the intervals; elsewhere paths close to walls would win without it."""
    cost_ratio: float
    """Cost relative to the shortest path."""
    first_move: int
    """Ticks up to the first move."""
    back_moves: int
    restarts: int
    expansions: int
    ticks: NDArray[np.float64]
    """Expansions and seconds of processor time of each tick that searched, or of MAX_TICKS of them."""


class TrialCutShort(TimeOver):
    """The time limit ended a trial, after one tick or more."""

    def __init__(self, result: TrialResult) -> None:
        super().__init__('the time limit ended a trial')
        self.result = result
        """Measurements up to then."""


def run_trial(
    problem: TuningProblem,
    candidate: Candidate,
    k: int,
    conditions: TrialConditions,
    max_intervals: float = math.inf,
    limit: TimeLimit = NO_LIMIT,
) -> TrialResult:
    """Moves an agent from start to goal, for up to `max_intervals`. Raises TrialCutShort when the time is over."""
    world, grid = _make_world(problem, conditions)
    planner = TimeBoundedPlanner(
        grid,
        problem.start,
        problem.goal,
        candidate.config,
        k,
        trace_steps=TRACE_STEPS,
        min_improvement=conditions.min_improvement,
    )
    # far more intervals than any sensible candidate takes
    hopeless = 20 * problem.shortest_moves + 4 * problem.map_.occupancy.size // k + 1000
    last = math.ceil(min(max_intervals, hopeless))
    ticks = array('d')
    first_move = expansions = 0
    try:
        for turn in take_turns(planner, world, last, intervals=1, clock=time.thread_time, check_moves=False):
            if planner.expansions > expansions:
                ticks.extend((planner.expansions - expansions, turn.search_time_s))
                expansions = planner.expansions
            if len(turn.states):
                first_move = first_move or planner.intervals
            if limit.is_over and planner.status != Status.AT_GOAL:
                raise TrialCutShort(_result(planner, problem, first_move, last, ticks))
        return _result(planner, problem, first_move, last, ticks)
    finally:
        planner.release()
        if isinstance(world, Clutter):
            world.restore()


def _result(
    planner: TimeBoundedPlanner, problem: TuningProblem, first_move: int, last: int, ticks: array[float]
) -> TrialResult:
    figures = planner.figures
    arrived = planner.status == Status.AT_GOAL
    cells_cost = (figures.straight + figures.diagonal) / (2 * COST_STEPS if planner.grid.weighted else 1)
    return TrialResult(
        arrived=arrived,
        intervals=figures.intervals,
        weighted_intervals=cells_cost + figures.intervals - figures.moves if arrived else float(last),
        cost_ratio=planner.cost / problem.shortest_cost,
        first_move=first_move or figures.intervals,
        back_moves=figures.back_moves,
        restarts=figures.searches - 1,
        expansions=figures.expansions,
        ticks=_sample(np.array(ticks).reshape(-1, 2)),
    )


def _sample(ticks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns up to MAX_TICKS of them, evenly spread, and the slowest."""
    if len(ticks) <= MAX_TICKS:
        return ticks
    return np.vstack([ticks[:: -(-len(ticks) // (MAX_TICKS - 1))], ticks[np.argmax(ticks[:, 1])]])


def _make_world(problem: TuningProblem, conditions: TrialConditions) -> tuple[Clutter | Static | Unknown, Grid]:
    """Returns the world and the agent's grid."""
    map_ = problem.map_
    if conditions.world == 'changing':
        return Clutter(map_.occupancy, map_.rules, map_.grid, problem.seed), map_.grid
    if conditions.world == 'unknown':
        radius = max(SENSOR_RADIUS, round(SENSOR_RADIUS_M / map_.rules.resolution_m))
        world = Unknown(map_.grid, sensor_radius=radius)
        return world, world.initial_grid()
    return Static(map_.grid), map_.grid
