"""Maps on which nearly every cell has a cost of its own, as inflated costmaps are: costs against SciPy's Dijkstra.

By default a sample; with TB_PLANNER_ALL_PROBLEMS=1 20,000 maps that are patched between searches, and 5,000 for each
weight.
"""

import math
import os

import numpy as np
import pytest
from helpers.oracle import Terrain, true_distance
from helpers.random_maps import random_rules
from helpers.strategies import freed, freed_in, patched

from tb_planner import (
    Grid,
    Resources,
    RestartReason,
    Status,
    TimeBoundedPlanner,
    find_path,
    rtba_star,
    tb_gbfs,
    tb_wa_star,
    tba_star,
    tbaa_star,
)

ALL = os.environ.get('TB_PLANNER_ALL_PROBLEMS', '0') not in ('', '0')
PARTS, MAPS = (20, 1_000) if ALL else (1, 300)  # each part ends long before pytest's time limit
WEIGHT_PARTS, MAPS_A_WEIGHT = (5, 1_000) if ALL else (1, 150)
LARGEST_COSTS = (1.3, 3.0, 9.0, 60.0, 4000.0)
OPTIMAL = (tba_star(), tb_wa_star(1.0), rtba_star(), tbaa_star(), tba_star(reopen=True), tba_star(ties='larger_g'))


def graded_values(rng, shape):
    """Costs from the lowest to the highest of the map, evenly spread over their logarithms, and obstacles."""
    lowest = rng.choice((1.0, 1.0, 1.7, 4.0))
    costs = lowest * np.exp(rng.uniform(0, np.log(rng.choice(LARGEST_COSTS)), shape))
    costs = np.round(np.minimum(costs, 4095) * 16) / 16
    return np.where(rng.random(shape) < rng.choice((0.0, 0.15, 0.3)), np.inf, costs).astype(np.float32)


def graded_problem(rng, max_side=14):
    shape = tuple(int(n) for n in rng.integers(2, max_side + 1, 2))
    start, goal = ((int(rng.integers(shape[1])), int(rng.integers(shape[0]))) for _ in range(2))
    return freed(graded_values(rng, shape), start, goal), start, goal


def graded_patch(rng, values, *kept):
    """New values for a box, often of another level than the map's, and where it lies."""
    height, width = values.shape
    x, y = int(rng.integers(width)), int(rng.integers(height))
    shape = int(rng.integers(1, height - y + 1)), int(rng.integers(1, width - x + 1))
    return freed_in(graded_values(rng, shape), (x, y), kept), (x, y)


def check_cost(terrain, cells, optimal, w=1.0):
    cost = terrain.length(cells)
    assert optimal * (1 - 1e-6) <= cost <= w * optimal * (1 + 1e-6)


@pytest.mark.parametrize('part', range(PARTS))
def test_optimal_algorithms_find_the_costs_of_dijkstra_on_maps_that_change_between_searches(part):
    rng = np.random.default_rng(15 + part)
    found = 0
    for number in range(MAPS):
        values, start, goal = graded_problem(rng)
        rules = random_rules(rng)
        grid = Grid(values, **rules)
        for _ in range(3):
            terrain = Terrain(values, **rules)
            optimal = true_distance(terrain, start, goal)
            plan = find_path(grid, start, goal, OPTIMAL[number % len(OPTIMAL)])
            assert (plan.status is Status.NO_PATH) == (optimal == math.inf)
            if optimal < math.inf:
                check_cost(terrain, list(plan.cells), optimal)
                found += 1
            patch, at = graded_patch(rng, values, start, goal)
            values = patched(values, patch, at)
            grid.update(patch, at=at)
    assert found > MAPS


@pytest.mark.parametrize('part', range(WEIGHT_PARTS))
@pytest.mark.parametrize('w', [1.05, 1.1, 1.5, 2.0, 3.0, 10.0])
def test_weighted_plans_on_graded_maps_cost_at_most_w_times_the_optimum(w, part, record_property):
    rng = np.random.default_rng((int(100 * w), part))
    worst, solved = 1.0, 0
    while solved < MAPS_A_WEIGHT:
        values, start, goal = graded_problem(rng, max_side=20)
        rules = random_rules(rng)
        terrain = Terrain(values, **rules)
        optimal = true_distance(terrain, start, goal)
        plan = find_path(Grid(values, **rules), start, goal, tb_wa_star(w, reopen=bool(solved % 4 == 0)))
        assert (plan.status is Status.NO_PATH) == (optimal == math.inf)
        if 0 < optimal < math.inf:
            check_cost(terrain, list(plan.cells), optimal, w)
            worst = max(worst, plan.cost / optimal)
            solved += 1
    record_property('maps', solved)
    record_property('worst_ratio_to_optimal', worst)
    print(f'w = {w}: {solved} maps, the worst path costs {worst:.3f} c*')


@pytest.mark.parametrize('algorithm', [*OPTIMAL, tb_wa_star(1.05), tb_wa_star(1.5), tb_gbfs()], ids=str)
def test_a_search_in_slices_ends_as_one_in_one_piece(algorithm):
    rng = np.random.default_rng(5)
    for _ in range(60):
        values, start, goal = graded_problem(rng)
        whole = find_path(Grid(values), start, goal, algorithm)
        planner = TimeBoundedPlanner(Grid(values), start, goal, algorithm, k=int(rng.integers(1, 9)))
        while not planner.goal_found and planner.search() not in (Status.NO_PATH, Status.AT_GOAL):
            pass
        assert (planner.status is Status.NO_PATH) == (whole.status is Status.NO_PATH)
        assert planner.expansions == whole.expansions
        if planner.goal_found:
            assert planner.path == list(whole.cells)


def mountains(side, seed):
    """Costs from 1 to 4000, not smooth: values of f so far apart that Open's ring holds but a part of them."""
    rng = np.random.default_rng(seed)
    costs = np.exp(rng.uniform(0, math.log(4000), (side, side)))
    return np.where(rng.random(costs.shape) < 0.1, np.inf, np.round(costs * 16) / 16).astype(np.float32)


@pytest.mark.parametrize('w', [1.0, 1.01, 1.5, 99.99])
def test_costs_far_apart_change_neither_the_bound_nor_what_slices_lead_to(w):
    for seed in range(4):
        values = freed(mountains(50, seed), (0, 0), (49, 49))
        whole = find_path(Grid(values), (0, 0), (49, 49), tb_wa_star(w))
        terrain = Terrain(values)
        check_cost(terrain, list(whole.cells), true_distance(terrain, (0, 0), (49, 49)), w)
        planner = TimeBoundedPlanner(Grid(values), (0, 0), (49, 49), tb_wa_star(w), k=7)
        while not planner.goal_found:
            before = planner.expansions
            planner.search()
            assert planner.expansions - before <= 7
        assert (planner.path, planner.expansions) == (list(whole.cells), whole.expansions)


@pytest.mark.parametrize('lookahead', [{'k': 5}, {'k': 5, 'trace_steps': 3}, {'k': Resources(12)}], ids=str)
def test_agents_on_graded_maps_that_change_arrive_on_legal_steps(lookahead):
    """A cell may be re-opened while its path is being traced or walked; the route stays one of legal steps."""
    rng = np.random.default_rng(8)
    arrived = 0
    for _ in range(40):
        values, start, goal = graded_problem(rng, max_side=20)
        planner = TimeBoundedPlanner(Grid(values), start, goal, tba_star(), **lookahead)
        for interval in range(3000):
            before = planner.current_cell
            if planner.step() in (Status.AT_GOAL, Status.NO_PATH):
                break
            if planner.current_cell != before:
                assert planner.current_cell in set(Terrain(values).succ(before))
            if interval < 100 and interval % 9 == 0:
                patch, at = graded_patch(rng, values, planner.current_cell, goal)
                values = patched(values, patch, at)
                planner.observe(patch, at=at)
        solvable = true_distance(Terrain(values), planner.current_cell, goal) < math.inf
        assert (planner.current_cell == goal) == solvable
        arrived += solvable
    assert arrived > 10


# ------------------------------------------------------------------ h times the cost of the cheapest cell


def test_the_lowest_cost_of_a_grid_is_exact_after_every_patch_and_copy():
    rng = np.random.default_rng(6)
    for _ in range(60):
        values, start, goal = graded_problem(rng)
        grid = Grid(values)
        other = grid.twin()
        for _ in range(8):
            free = values[np.isfinite(values)]
            assert grid.lowest_cost == round(float(free.min()) * 16)
            other.copy(grid, [grid.box])
            assert other.lowest_cost == grid.lowest_cost
            patch, at = graded_patch(rng, values, start, goal)
            values = patched(values, patch, at)
            grid.update(patch, at=at)
    assert Grid(np.zeros((2, 2), bool)).lowest_cost == Grid(np.full((2, 2), np.inf)).lowest_cost == 16


def test_a_search_sees_less_of_a_map_without_cheap_cells():
    values = np.full((60, 60), 4, np.float32)
    values[20:40, 30] = np.inf
    dear = find_path(Grid(values), (5, 30), (55, 30), tba_star()).expansions
    values[0, 0] = 1
    assert dear < find_path(Grid(values), (5, 30), (55, 30), tba_star()).expansions / 3


@pytest.mark.parametrize('algorithm', [tba_star(), tb_wa_star(1.5), tba_star(ties='larger_g')], ids=str)
def test_a_cell_cheaper_than_all_restarts_a_running_search_but_not_one_that_has_found_the_goal(algorithm):
    values = np.full((30, 30), 4, np.float32)
    values[10:20, 15] = np.inf
    cheap = np.array([[3.5]], np.float32)
    planner = TimeBoundedPlanner(Grid(values), (2, 15), (27, 15), algorithm, k=3)
    planner.search()
    assert planner.observe(cheap, at=(29, 0))
    assert planner.last_restart is RestartReason.HEURISTIC_INVALIDATED
    planner.search()
    assert not planner.observe(cheap, at=(29, 29)), 'h is as low as that already'
    found = TimeBoundedPlanner(Grid(values), (2, 15), (27, 15), algorithm, k=10**6)
    found.search()
    assert found.goal_found
    assert not found.observe(cheap, at=(29, 0))
    gate = np.full((10, 1), 1, np.float32)
    assert found.observe(gate, at=(15, 10)), 'a shorter path leads through it'
    found.search()
    values[10:20, 15], values[0, 29] = 1, 3.5
    terrain = Terrain(values)
    check_cost(terrain, found.path, true_distance(terrain, (2, 15), (27, 15)), algorithm.weight)
