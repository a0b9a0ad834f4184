"""A trial: an agent goes from start to goal, a cell a tick, and every tick is measured.

The agent is the papers': it is never off its route, and while a search that was started over has nothing to follow, it
waits. The node goes on along its old way meanwhile, where that is still good: restarts cost it less than they do here.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.navigation.navigator import TRACE_STEPS
from tb_planner.search.agent import Static, Unknown, World, take_turns
from tb_planner.search.grid import COST_STEPS, Grid
from tb_planner.search.planner import Status, TimeBoundedPlanner
from tb_planner.tools.tuning.candidates import Candidate
from tb_planner.tools.tuning.clutter import Clutter
from tb_planner.tools.tuning.ground import Problem
from tb_planner.tools.tuning.time_limit import NO_LIMIT, TimeLimit, TimeOver

WORLDS = ('static', 'changing', 'unknown')
"""All of the map is known and stays; things appear and vanish in sight; only what was in sight is known."""

SENSED, SENSED_M = 10, 1.5
"""How far the agent sees in an unknown world: in cells, or, where cells are small, in metres."""

MOST_TICKS = 4096
"""So many ticks of a trial are kept; with few expansions a tick there are hundreds of thousands."""


@dataclass(frozen=True)
class Conditions:
    """What is the same for all that is tried."""

    world: str = 'changing'
    min_improvement: float = 0.05

    def __post_init__(self) -> None:
        if self.world not in WORLDS:
            raise ValueError(f'world is {self.world!r}; it is one of {", ".join(WORLDS)}')


@dataclass(frozen=True, eq=False)
class Outcome:
    """How it went. Without arrival, what is counted is counted up to when it was given up."""

    arrived: bool
    intervals: int
    weighed: float
    """Intervals, of which those with a move count as much as the cells moved through cost: what is minimised. Where
    all cells cost 1 it is their number; else a way would be the better for brushing past walls."""
    cost_ratio: float
    """Cost over that of the shortest way."""
    first_move: int
    """Ticks until the agent has moved for the first time."""
    back_moves: int
    restarts: int
    expansions: int
    ticks: NDArray[np.float64]
    """Of each tick that searched, or of MOST_TICKS of them: expansions, and seconds of processor time."""


class CutShort(TimeOver):
    """The time limit has come in the middle of a trial, after a tick at least."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__('the time limit has come in the middle of a trial')
        self.outcome = outcome
        """Up to then."""


def carry_out(
    problem: Problem,
    candidate: Candidate,
    k: int,
    conditions: Conditions,
    most: float = math.inf,
    limit: TimeLimit = NO_LIMIT,
) -> Outcome:
    """From start to goal, or until it has taken hopelessly long. Raises CutShort when the time is over.

    most: intervals after which it is given up."""
    grid, world, put_back = _world(problem, conditions)
    planner = TimeBoundedPlanner(
        grid,
        problem.start,
        problem.goal,
        candidate.row,
        k,
        trace_steps=TRACE_STEPS,
        min_improvement=conditions.min_improvement,
    )
    try:
        return _run(planner, world, problem, math.ceil(min(most, most_intervals(problem, k))), limit)
    finally:
        planner.release()
        put_back()


def most_intervals(problem: Problem, k: int) -> int:
    """Far more than anything sensible takes."""
    cells = problem.ground.occupancy.size
    return 20 * problem.shortest_moves + 4 * cells // k + 1000


def _run(planner: TimeBoundedPlanner, world: World, problem: Problem, most: int, limit: TimeLimit) -> Outcome:
    over = False
    ticks = array('d')
    intervals = first_move = expansions = 0
    for turn in take_turns(planner, world, most, intervals=1, clock=time.thread_time, check_moves=False):
        intervals += 1
        if planner.expansions > expansions:
            ticks.extend((planner.expansions - expansions, turn.search_time_s))
            expansions = planner.expansions
        if len(turn.states):
            first_move = first_move or intervals
        if limit.is_over:
            over = True
            break
    outcome = _outcome(planner, problem, intervals, first_move, most, _kept(np.array(ticks).reshape(-1, 2)))
    if over and not outcome.arrived:
        raise CutShort(outcome)
    return outcome


def _outcome(
    planner: TimeBoundedPlanner,
    problem: Problem,
    intervals: int,
    first_move: int,
    most: int,
    ticks: NDArray[np.float64],
) -> Outcome:
    figures = planner.figures
    through = (figures.straight + figures.diagonal) / (2 * COST_STEPS if planner.grid.weighted else 1)
    return Outcome(
        arrived=planner.status == Status.AT_GOAL,
        intervals=intervals,
        weighed=through + intervals - planner.moves if planner.status == Status.AT_GOAL else float(most),
        cost_ratio=planner.cost / problem.shortest_cost,
        first_move=first_move or intervals,
        back_moves=planner.back_moves,
        restarts=planner.searches - 1,
        expansions=planner.expansions,
        ticks=ticks,
    )


def _kept(ticks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Some of very many, evenly, and the slowest."""
    if len(ticks) <= MOST_TICKS:
        return ticks
    return np.vstack([ticks[:: -(-len(ticks) // (MOST_TICKS - 1))], ticks[np.argmax(ticks[:, 1])]])


def _world(problem: Problem, conditions: Conditions) -> tuple[Grid, World, Callable[[], None]]:
    """The agent's grid, its world, and what puts the grid back as it was."""
    ground = problem.ground
    if conditions.world == 'changing':
        clutter = Clutter(ground.costmap, ground.grid, problem.seed)

        def put_back() -> None:
            for values, at in clutter.clear():
                ground.grid.update(values, at)

        return ground.grid, clutter, put_back
    if conditions.world == 'unknown':
        radius = max(SENSED, round(SENSED_M / ground.rules.resolution_m))
        world = Unknown(ground.grid, sensor_radius=radius)
        return world.initial_grid(), world, lambda: None
    return ground.grid, Static(ground.grid), lambda: None
