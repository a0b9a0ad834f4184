"""Searches that run to their end at once, with no agent moving: a path, and the distances of all states."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell
from tb_planner.search import kernel
from tb_planner.search.algorithms import Algorithm, tba_star
from tb_planner.search.grid import GoalBlocked, Grid, StartBlocked
from tb_planner.search.planner import UNBOUNDED, Status, blocked_and_none_near, configure


@dataclass(frozen=True)
class Plan:
    """What a search that ran to its end has found."""

    status: Status
    cells: list[Cell]
    cost: float
    expansions: int


def find_path(grid: Grid, start: Cell, goal: Cell, algorithm: Algorithm | None = None) -> Plan:
    """Best-First-Search() from start to goal. Its memory is kept with the grid for the next call."""
    s_start, s_goal = grid.state(start, 'start'), grid.state(goal, 'goal')
    if grid.is_blocked(start):
        raise StartBlocked(blocked_and_none_near('start', start, 0))
    if grid.is_blocked(goal):
        raise GoalBlocked(blocked_and_none_near('goal', goal, 0))
    search = grid.take_search()
    configure(search, tba_star() if algorithm is None else algorithm)
    before = search.expansions
    search.forget_learned()
    search.spend(UNBOUNDED, UNBOUNDED, UNBOUNDED)
    search.start(s_start, s_goal)
    while search.search_and_trace() == kernel.PATH_FULL:
        search.grow_path()
    states = search.path_states() if search.goal_found else np.empty(0, np.int32)
    expansions = int(search.expansions - before)
    grid.keep_search(search)
    if not len(states):
        return Plan(Status.NO_PATH, [], math.inf, expansions)
    return Plan(Status.AT_GOAL, grid.cells(states), grid.cost_of(*grid.step_sums(states)), expansions)


def distances_to(grid: Grid, goal: Cell) -> kernel.Search:
    """Dijkstra's algorithm, from the goal to everywhere: g of a state is its distance."""
    search = grid.new_search()
    search.configure(1, 0)
    search.spend(UNBOUNDED, UNBOUNDED, UNBOUNDED)
    search.start(grid.state(goal), -1)
    search.search_and_trace()
    return search


def count_non_optimal(grid: Grid, states: NDArray[np.int32], goal: Cell) -> int:
    """How many steps of this walk lie on no shortest path to the goal."""
    search = distances_to(grid, goal)
    distance = search.g_values(states)
    return int(np.count_nonzero(distance[:-1] != search.step_costs(states) + distance[1:]))
