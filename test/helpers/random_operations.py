"""Random operations on a planner, with a referee that has its own map and its own rules of legal steps.

As a script: `python -m helpers.random_operations --operations 100000 --seed 0`.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from itertools import pairwise

import numpy as np

from helpers.oracle import Terrain, true_distance
from helpers.random_maps import random_problem, random_rules, random_values
from helpers.strategies import LOOKAHEADS, WEIGHTS, freed, freed_in, patched
from tb_planner import ALGORITHMS, Grid, Resources, Status, TimeBoundedPlanner, find_path, make_algorithm
from tb_planner.search import sight
from tb_planner.search.algorithms import takes_weight

DENSITIES = (0.0, 0.15, 0.3, 0.45)
OPERATIONS = 60
"""Operations of one game."""


class Game:
    """One planner on one map. The referee judges every move and every verdict that there is no path."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        shape = tuple(int(n) for n in self.rng.integers(1, 25, 2))
        weighted = bool(self.rng.integers(2))
        self.values, start, goal = random_problem(self.rng, shape, DENSITIES, weighted)
        self.rules = random_rules(self.rng)
        self.grid = Grid(self.values, **self.rules)
        self.planner = self.new_planner(start, goal)
        self.operations = (
            *(self.step, self.step, self.run, self.search_and_move, self.patch, self.whole_map),
            *(self.advance, self.advance_by, self.leave_route, self.new_goal, self.restart, self.take_memory),
            *(self.change_budget, self.look, self.find_path, self.twin),
        )

    def play(self) -> int:
        """Returns the number of operations done."""
        for _ in range(OPERATIONS):
            self.rng.choice(self.operations)()
            self.judge_route()
        return OPERATIONS

    # -------------------------------------------------------------------------------------------------- the referee
    @property
    def terrain(self) -> Terrain:
        return Terrain(self.values, **self.rules)

    def judge_route(self) -> None:
        """A route that has just been checked or searched on the present map need not be legal; its cells are on it."""
        height, width = self.values.shape
        assert all(0 <= x < width and 0 <= y < height for x, y in self.planner.route)
        assert self.planner.current_cell in self.terrain.cost

    def judge_moves(self, cells: list[tuple[int, int]]) -> None:
        terrain = self.terrain
        for a, b in pairwise(cells):
            assert b in set(terrain.succ(a)), f'illegal move from {a} to {b}'

    def judge_interval(self, before: tuple[int, int], cells: list[tuple[int, int]]) -> None:
        moved = [before, *cells]
        assert moved[-1] == self.planner.current_cell
        self.judge_moves(moved)
        terrain = self.terrain
        if self.planner.status is Status.NO_PATH:
            assert true_distance(terrain, self.planner.current_cell, self.planner.target) == math.inf
        if self.planner.status is Status.AT_GOAL:
            assert self.planner.current_cell == self.planner.target

    # -------------------------------------------------------------------------------------------------- operations
    def new_planner(self, start: tuple[int, int], goal: tuple[int, int]) -> TimeBoundedPlanner:
        rng = self.rng
        name = str(rng.choice(sorted(ALGORITHMS)))
        options: dict[str, object] = {'ties': str(rng.choice(('lifo', 'larger_g')))}
        k = Resources(int(rng.integers(10, 40))) if rng.random() < 0.2 else int(rng.choice(LOOKAHEADS))
        sliced = not isinstance(k, Resources) and rng.random() < 0.3
        if name not in ('rtba_star', 'tbaa_star'):
            options.update(shortcut=bool(rng.random() < 0.3), path_switch=bool(rng.random() < 0.3))
        weight = float(rng.choice(WEIGHTS)) if takes_weight(name) else 1.0
        algorithm = make_algorithm(name, weight, **options)
        planner = TimeBoundedPlanner(
            self.grid, start, goal, algorithm, k, trace_steps=int(rng.integers(1, 6)) if sliced else None
        )
        if rng.random() < 0.5:
            planner.log_expansions()
        return planner

    def free_cell(self) -> tuple[int, int]:
        cells = list(self.terrain.cost)
        return cells[int(self.rng.integers(len(cells)))]

    def step(self) -> None:
        before = self.planner.current_cell
        self.planner.step()
        self.judge_interval(before, [self.planner.current_cell] if self.planner.current_cell != before else [])

    def run(self) -> None:
        before = self.planner.current_cell
        states = self.planner.run(int(self.rng.integers(1, 30)))
        self.judge_interval(before, self.grid.cells(states))

    def search_and_move(self) -> None:
        before = self.planner.current_cell
        if self.planner.search(int(self.rng.integers(1, 50))) is Status.MOVED:
            self.planner.move()
        self.judge_interval(before, [self.planner.current_cell] if self.planner.current_cell != before else [])

    def observe(self, values: np.ndarray, at: tuple[int, int] | None = None) -> None:
        self.values = values if at is None else patched(self.values, values, at)
        self.planner.observe(values, at=at)

    def patch(self) -> None:
        height, width = self.values.shape
        x, y = int(self.rng.integers(width)), int(self.rng.integers(height))
        shape = int(self.rng.integers(1, height - y + 1)), int(self.rng.integers(1, width - x + 1))
        patch = random_values(self.rng, shape, DENSITIES, self.values.dtype != bool)
        self.observe(freed_in(patch, (x, y), (self.planner.current_cell, self.planner.goal)), (x, y))

    def whole_map(self) -> None:
        values = random_values(self.rng, self.values.shape, DENSITIES, self.values.dtype != bool)
        self.observe(freed(values, self.planner.current_cell, self.planner.goal))

    def twin(self) -> None:
        """Goes on with another grid of the same values, as the node does with every map."""
        other = Grid(self.values, **self.rules)
        self.planner.use_grid(other, other.update(self.values))
        self.grid = other

    def advance(self) -> None:
        route = self.planner.route
        on_route = route and self.rng.random() < 0.7
        cell = route[int(self.rng.integers(len(route)))] if on_route else self.free_cell()
        if cell in self.terrain.cost:
            self.planner.advance(cell)

    def advance_by(self) -> None:
        route = self.planner.route
        legal = 0
        while legal + 1 < len(route) and route[legal + 1] in set(self.terrain.succ(route[legal])):
            legal += 1
        self.planner.advance_by(int(self.rng.integers(legal + 1)))

    def leave_route(self) -> None:
        self.planner.leave_route(self.free_cell())

    def new_goal(self) -> None:
        self.planner.new_goal(self.free_cell())

    def restart(self) -> None:
        self.planner.restart()

    def take_memory(self) -> None:
        """The next planner takes the memory of this one."""
        start, goal = self.planner.current_cell, self.planner.goal
        self.planner.release()
        self.planner = self.new_planner(start, goal)

    def change_budget(self) -> None:
        if not isinstance(self.planner.k, Resources):
            self.planner.k = int(self.rng.choice(LOOKAHEADS))
        self.planner.min_improvement = float(self.rng.choice((0.0, 0.1, 0.5)))

    def look(self) -> None:
        """Everything that a planner shows."""
        self.planner.search_picture()
        self.planner.open_cells()
        self.planner.take_expanded(whole=bool(self.rng.integers(2)))
        self.planner.route_cells(int(self.rng.integers(1, 9)))
        height, width = self.values.shape
        ends = self.rng.uniform(-1, max(height, width) + 1, 4)
        sight.clear(self.grid.cost_u16, *ends)

    def find_path(self) -> None:
        start, goal = self.free_cell(), self.free_cell()
        result = find_path(self.grid, start, goal)
        shortest = true_distance(self.terrain, start, goal)
        assert result.cost == shortest == math.inf or math.isclose(result.cost, shortest, rel_tol=1e-6)
        if result.cells:
            self.judge_moves(result.cells)


def end_process(error: object) -> None:
    """Ends the process after a failed bounds check in a compiled function that cannot raise."""
    sys.__unraisablehook__(error)
    sys.stderr.flush()
    os._exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--operations', type=int, default=100_000)
    parser.add_argument('--seed', type=int, default=0, help='of the first game; every game has the next one')
    options = parser.parse_args()
    sys.unraisablehook = end_process
    began_s, done, seed = time.monotonic(), 0, options.seed
    while done < options.operations:
        try:
            done += Game(seed).play()
        except BaseException:
            print(f'game {seed} failed; to play it again: --operations 1 --seed {seed}', flush=True)
            raise
        seed += 1
    print(f'{done:,} operations in {seed - options.seed:,} games, none illegal; {time.monotonic() - began_s:.0f} s')


if __name__ == '__main__':
    main()
