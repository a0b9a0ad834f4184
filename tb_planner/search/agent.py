"""MoveToGoal(): an agent in a world, the papers' kinds of worlds, and the record of a run.

A world knows the true map. It checks every move of the agent against it, and returns what the agent sees:

- Static: the map is known and stays as it is (2009, 2014);
- Changing: obstacles appear and vanish, and the agent sees all of them (2014);
- Unknown: the agent sees the cells near it (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.errors import OperationFailed
from tb_planner.geometry import Cell
from tb_planner.search.grid import Grid, GridChange
from tb_planner.search.planner import Figures, Status, count_non_optimal, distances_to

Observation = tuple[NDArray[np.generic], Cell | None]
"""A new map, or a patch and its first cell: what Grid.update() takes."""
NEVER = 2**62


class IllegalMove(OperationFailed):
    """The agent tried a move that the true map forbids."""


class Agent(Protocol):
    """The interface that move_to_goal() needs of an agent. TimeBoundedPlanner and the baselines have it."""

    grid: Grid
    status: Status

    @property
    def current_cell(self) -> Cell: ...

    @property
    def goal(self) -> Cell: ...

    @property
    def target(self) -> Cell:
        """The goal, or the free cell that replaces a blocked one."""

    @property
    def figures(self) -> Figures: ...

    def run(self, intervals: int) -> NDArray[np.int32]:
        """Runs up to this many intervals without a change of the map; returns the states moved to."""

    def map_changed(self, change: GridChange) -> bool:
        """Takes note of a change that its grid already has."""


class World(Protocol):
    """The interface that move_to_goal() needs of a world."""

    grid: Grid

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        """The agent appears in this cell; returns what it observes."""

    def moves_until_news(self) -> int:
        """The number of moves until look() may return something."""

    def walk(self, states: NDArray[np.int32]) -> None:
        """Moves the agent from the first of these states to the last; raises IllegalMove."""

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        """Returns what changed for the agent after its move to this cell."""


class CheckedWorld:
    """A world that checks every move against the true map."""

    def __init__(self, grid: Grid):
        if not isinstance(grid, Grid):
            raise TypeError(f'grid is {type(grid).__name__}; pass a Grid, for example Grid(array)')
        self.grid = grid

    def move(self, a: Cell, b: Cell) -> None:
        """Moves the agent from a to b; raises IllegalMove."""
        self.walk(np.array([self.grid.state(a), self.grid.state(b)], np.int32))

    def walk(self, states: NDArray[np.int32]) -> None:
        """Moves the agent from the first of these states to the last; raises IllegalMove."""
        legal = self.grid.legal_steps(states)
        if not legal.all():
            i = int(legal.argmin())
            a, b = self.grid.cell(states[i]), self.grid.cell(states[i + 1])
            raise IllegalMove(f'the map forbids the move from {a} to {b}')


class Static(CheckedWorld):
    """A map that is known and stays as it is."""

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        return None

    def moves_until_news(self) -> int:
        return NEVER

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        return None


class Changing(CheckedWorld):
    """The dynamic terrain of the 2014 paper, all of which the agent sees.

    After every `every` moves, rate/2 % of the originally free cells are blocked and rate/2 % of the originally blocked
    ones are free, drawn from the original map each time. The agent's cell and the goal do not change.
    """

    def __init__(self, grid: Grid, rate: float, every: int = 10, seed: int = 0):
        if not 0 <= rate <= 100:
            raise ValueError(f'rate is {rate}; it must be a percentage between 0 and 100')
        if not isinstance(every, int) or every < 1:
            raise ValueError(f'every is {every}; it must be a whole number of moves, at least 1')
        super().__init__(grid)
        if grid.weighted:
            raise ValueError('the grid has costs; a Changing world needs a grid of free and blocked cells')
        self.grid = Grid(grid.blocked, neighbours=grid.neighbours, corner_cutting=grid.corner_cutting)
        self.every = every
        self._original = grid.blocked
        self._moves = 0
        self._random = np.random.default_rng(seed)
        self._free, self._blocked = (np.flatnonzero(cells) for cells in (~self._original, self._original))
        self._to_block, self._to_free = (round(len(cells) * rate / 200) for cells in (self._free, self._blocked))

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        return None

    def moves_until_news(self) -> int:
        return self.every - self._moves % self.every

    def walk(self, states: NDArray[np.int32]) -> None:
        super().walk(states)
        self._moves += len(states) - 1

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        if self._moves % self.every:
            return None
        blocked = self._original.copy()
        flat = blocked.reshape(-1)
        flat[self._random.choice(self._free, self._to_block, replace=False, shuffle=False)] = True
        flat[self._random.choice(self._blocked, self._to_free, replace=False, shuffle=False)] = False
        for x, y in (cell, goal):
            blocked[y, x] = self.grid.is_blocked((x, y))
        self.grid.update(blocked)
        return blocked, None


class Unknown(CheckedWorld):
    """The terrain of the 2012 paper: the agent sees the cells near it and remembers them.

    sensor_radius: in cells; a square on grids with 8 neighbours, a diamond on grids with 4, so that radius 1 is the
        neighbours.
    known: the map that the agent starts with, bool or costs as the grid; by default all is free (the freespace
        assumption).
    """

    def __init__(self, grid: Grid, sensor_radius: int = 1, known: ArrayLike | None = None):
        if not isinstance(sensor_radius, int) or sensor_radius < 1:
            raise ValueError(f'sensor_radius is {sensor_radius}; it must be a whole number of cells, at least 1')
        super().__init__(grid)
        self.sensor_radius = sensor_radius
        self._true: NDArray[np.generic] = grid.costs if grid.weighted else grid.blocked
        if known is None:
            known = np.ones_like(self._true) if grid.weighted else np.zeros_like(self._true)
        belief = Grid(known)
        if belief.blocked.shape != self._true.shape:
            raise ValueError(f'known has shape {belief.blocked.shape}; the grid has {self._true.shape}')
        if belief.weighted and not grid.weighted:
            raise ValueError('known has costs, but the grid has only free and blocked cells; pass a bool array')
        self._belief: NDArray[np.generic] = belief.costs if grid.weighted else belief.blocked
        offsets = np.abs(np.arange(-sensor_radius, sensor_radius + 1))
        reach = offsets[:, None] + offsets if grid.neighbours == 4 else np.maximum(offsets[:, None], offsets)
        self._sensed = reach <= sensor_radius

    def initial_grid(self) -> Grid:
        """A grid for the agent, with what it knows at first."""
        return Grid(self._belief, neighbours=self.grid.neighbours, corner_cutting=self.grid.corner_cutting)

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        return self.look(cell, goal)

    def moves_until_news(self) -> int:
        return 1

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        (x, y), r = cell, self.sensor_radius
        left, top = max(x - r, 0), max(y - r, 0)
        window = slice(top, y + r + 1), slice(left, x + r + 1)
        true, belief = self._true[window], self._belief[window]
        height, width = true.shape
        sensed = self._sensed[top - y + r :, left - x + r :][:height, :width]
        if not np.any(sensed & (true != belief)):
            return None
        belief[sensed] = true[sensed]
        return belief.copy(), (left, top)


class Turn(NamedTuple):
    """What an agent did between two observations."""

    states: NDArray[np.int32]
    """The states that it moved to."""
    search_time_s: float
    """The time of RestartSearch?(), searching, tracing and moving, without the grid's update; 0 without a clock."""


def take_turns(
    agent: Agent,
    world: World,
    max_intervals: int,
    *,
    intervals: int = NEVER,
    clock: Callable[[], float] | None = None,
    check_moves: bool = True,
) -> Iterator[Turn]:
    """MoveToGoal() turn by turn: the agent takes note of the last change, runs, and observes the next one.

    A turn ends when the world may have news, and after `intervals` at the latest. check_moves: let the world check
    the moves, and raise IllegalMove.
    """
    news = world.enter(agent.current_cell, agent.goal)
    change = None if news is None else agent.grid.update(*news)
    at = np.array([agent.grid.state(agent.current_cell)], np.int32)
    last = agent.figures.intervals + max_intervals
    while (left := last - agent.figures.intervals) > 0 and agent.status != Status.AT_GOAL:
        began = clock() if clock else 0.0
        if change is not None:
            agent.map_changed(change)
        states = agent.run(min(left, intervals, world.moves_until_news()))
        search_time_s = clock() - began if clock else 0.0
        change = None
        if check_moves:
            world.walk(np.concatenate((at, states)))
        if len(states):
            at = states[-1:]
            news = world.look(agent.current_cell, agent.goal)
            change = None if news is None else agent.grid.update(*news)
        yield Turn(states, search_time_s)
        if agent.status == Status.NO_PATH:
            break
    if change is not None and agent.status != Status.AT_GOAL:
        agent.map_changed(change)


@dataclass(frozen=True)
class Run:
    """What an agent did in move_to_goal(). A status of MOVED or WAITED means that the intervals ran out."""

    status: Status
    cost: float
    """The cost of the moves."""
    moves: int
    back_moves: int
    """Moves back along the search tree."""
    non_optimal_moves: int | None
    """Moves that lie on no shortest path to the goal; None unless asked for."""
    intervals: int
    expansions: int
    searches: int
    search_time_s: float
    """The sum of Turn.search_time_s; 0 without a clock."""
    cells: list[Cell]
    """The cells that the agent was in, from its start on."""


def move_to_goal(
    agent: Agent,
    world: World,
    *,
    max_intervals: int | None = None,
    non_optimal: bool = False,
    clock: Callable[[], float] | None = None,
) -> Run:
    """MoveToGoal(), Algorithms 1 and 2: intervals until the agent is at its goal or has no path.

    max_intervals: by default 1000 for each cell of the grid. An agent that has moved before counts from now.
    non_optimal: also count the moves that lie on no shortest path.
    clock: measures the search time, for example time.thread_time.

    >>> from tb_planner import TimeBoundedPlanner
    >>> blocked = np.zeros((20, 30), bool)
    >>> blocked[:15, 12] = True
    >>> planner = TimeBoundedPlanner(Grid(blocked), start=(2, 2), goal=(27, 2), k=32)
    >>> run = move_to_goal(planner, Changing(Grid(blocked), rate=2, seed=1))
    >>> print(run.status, run.cells[-1])
    AT_GOAL (27, 2)
    """
    if not hasattr(world, 'moves_until_news'):
        raise TypeError(f'world is {type(world).__name__}; pass a world, for example Static(grid)')
    if not hasattr(agent, 'map_changed'):
        raise TypeError(f'agent is {type(agent).__name__}; pass an agent, for example a TimeBoundedPlanner')
    if non_optimal and not isinstance(world, Static):
        raise ValueError(f'non_optimal needs a Static world; the world is {type(world).__name__}')
    size, world_size = ((grid.width, grid.height) for grid in (agent.grid, world.grid))
    if size != world_size:
        raise ValueError(f"the agent's grid is {size[0]} x {size[1]}; the world's is {world_size[0]} x {world_size[1]}")
    if max_intervals is None:
        max_intervals = 1000 * agent.grid.width * agent.grid.height
    if max_intervals < 1:
        raise ValueError(f'max_intervals is {max_intervals}; it must be at least 1')
    before = after = agent.figures
    status = agent.status
    search_time_s = 0.0
    trail = [np.array([agent.grid.state(agent.current_cell)], np.int32)]
    for turn in take_turns(agent, world, max_intervals, clock=clock):
        trail.append(turn.states)
        search_time_s += turn.search_time_s
        status, after = agent.status, agent.figures
    states = np.concatenate(trail)
    return Run(
        status=status,
        cost=agent.grid.cost_of(after.straight - before.straight, after.diagonal - before.diagonal),
        moves=after.moves - before.moves,
        back_moves=after.back_moves - before.back_moves,
        non_optimal_moves=count_non_optimal(distances_to(world.grid, agent.target), states) if non_optimal else None,
        intervals=after.intervals - before.intervals,
        expansions=after.expansions - before.expansions,
        searches=after.searches - before.searches + 1,  # the one that was running counts
        search_time_s=search_time_s,
        cells=agent.grid.cells(states),
    )
