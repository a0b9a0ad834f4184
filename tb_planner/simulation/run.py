"""MoveToGoal: an agent in a world, and the record of its run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell
from tb_planner.search.grid import Grid, GridChange
from tb_planner.search.planner import Figures, Status, count_non_optimal
from tb_planner.simulation.world import Static, World


class Agent(Protocol):
    """What move_to_goal asks of an agent: a TimeBoundedPlanner, or one of the baselines."""

    grid: Grid
    status: Status

    @property
    def current_cell(self) -> Cell: ...

    @property
    def goal(self) -> Cell: ...

    @property
    def target(self) -> Cell:
        """The goal, or what stands in for it."""

    @property
    def figures(self) -> Figures: ...

    def run(self, intervals: int) -> NDArray[np.int32]:
        """Up to so many intervals with no news of the map; the states moved to."""

    def map_changed(self, change: GridChange) -> bool:
        """The grid has been updated."""


@dataclass(frozen=True)
class Run:
    """What happened. A status of MOVED or WAITED says that the intervals ran out."""

    status: Status
    cost: float
    moves: int
    back_moves: int
    non_optimal_moves: int | None  # moves that lie on no shortest path to the goal; on request
    intervals: int
    expansions: int
    searches: int
    search_time_s: float  # of the processor: searching, tracing, moving and RestartSearch?(); not the grid's update
    cells: list[Cell]  # from the start on


def move_to_goal(agent: Agent, world: World, *, max_intervals: int | None = None, non_optimal: bool = False) -> Run:
    """MoveToGoal(), Algorithms 1 and 2: intervals until the agent is at its goal or has no path.

    max_intervals: by default 1000 for each cell of the grid. An agent that has moved before counts from now.
    """
    if non_optimal and not isinstance(world, Static):
        raise ValueError(f'non-optimal moves are defined on a static map; the world is {type(world).__name__}')
    size, world_size = ((grid.width, grid.height) for grid in (agent.grid, world.grid))
    if size != world_size:
        raise ValueError(f"the agent's grid is {size[0]} x {size[1]}; the world's is {world_size[0]} x {world_size[1]}")
    if max_intervals is None:
        max_intervals = 1000 * agent.grid.width * agent.grid.height
    if max_intervals < 1:
        raise ValueError(f'max_intervals is {max_intervals}; it is >= 1')
    before = agent.figures
    search_time_s = 0.0
    trail = [np.array([agent.grid.state(agent.current_cell)], np.int32)]
    news = world.enter(agent.current_cell, agent.goal)
    left = max_intervals
    while left > 0 and agent.status != Status.AT_GOAL:
        change = None if news is None else agent.grid.update(*news)
        began = time.thread_time()
        if change is not None:
            agent.map_changed(change)
        walked = agent.run(min(left, world.moves_until_news()))
        search_time_s += time.thread_time() - began
        left = max_intervals - (agent.figures.intervals - before.intervals)
        world.walk(np.concatenate((trail[-1][-1:], walked)))
        news = None
        if len(walked):
            trail.append(walked)
            news = world.look(agent.current_cell, agent.goal)
        if agent.status == Status.NO_PATH:
            break
    after = agent.figures
    states = np.concatenate(trail)
    return Run(
        status=agent.status,
        cost=agent.grid.cost_of(after.straight - before.straight, after.diagonal - before.diagonal),
        moves=after.moves - before.moves,
        back_moves=after.back_moves - before.back_moves,
        non_optimal_moves=count_non_optimal(world.grid, states, agent.target) if non_optimal else None,
        intervals=after.intervals - before.intervals,
        expansions=after.expansions - before.expansions,
        searches=after.searches - before.searches + 1,  # the one that was running counts
        search_time_s=search_time_s,
        cells=agent.grid.cells(states),
    )
