"""Grid: what is stored, which steps are legal, what an update returns as changed."""

import math

import numpy as np
import pytest
from helpers.oracle import SIXTEENTHS, Terrain
from helpers.strategies import patched, problems, repainted
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_planner import Grid
from tb_planner.search.grid import COST_STEPS


def state_ids(mask):
    """The ids y * width + x of the cells that are set."""
    return np.flatnonzero(mask).tolist()


def as_costs(values):
    return np.where(values, np.inf, 1.0) if values.dtype == bool else values.astype(float)


def assert_same(grid, fresh):
    """Two grids of the same map hold the same in every array, and allow the same steps."""
    np.testing.assert_array_equal(grid.costs, fresh.costs)
    np.testing.assert_array_equal(grid.blocked, fresh.blocked)
    everywhere = [(x, y) for y in range(grid.height) for x in range(grid.width)]
    for x, y in everywhere:
        for dx, dy in ((1, 0), (0, 1), (1, 1), (-1, 1)):
            if fresh.contains((x + dx, y + dy)):
                step = (x, y), (x + dx, y + dy)
                assert grid.step_cost(*step) == fresh.step_cost(*step)


@settings(max_examples=200)
@given(problems(max_side=8))
def test_every_step_costs_what_the_oracle_computes(problem):
    grid, terrain = problem.grid(), problem.terrain()
    for u in ((x, y) for y in range(grid.height) for x in range(grid.width)):
        assert grid.is_blocked(u) == (u not in terrain.cost)
        for v in terrain.around(u):
            assert grid.step_cost(u, v) == pytest.approx(terrain.length([u, v]), rel=1e-6)


@pytest.mark.parametrize('target', [(2, 2), (4, 2), (2, 4), (4, 3), (0, 0)])
def test_a_step_to_a_cell_that_is_no_neighbour_costs_inf(target):
    assert Grid(np.zeros((5, 5), dtype=bool)).step_cost((2, 2), target) == math.inf


@pytest.mark.parametrize(('corner_cutting', 'cost'), [(False, math.inf), (True, math.sqrt(2))])
def test_a_diagonal_step_past_a_blocked_corner_needs_corner_cutting(corner_cutting, cost):
    blocked = np.array([[False, True], [False, False]])
    grid = Grid(blocked, corner_cutting=corner_cutting)
    assert grid.step_cost((0, 0), (1, 1)) == pytest.approx(cost)
    assert grid.step_cost((1, 1), (0, 0)) == pytest.approx(cost)


def test_four_neighbours_know_no_diagonal_step():
    grid = Grid(np.zeros((2, 2), dtype=bool), neighbours=4, corner_cutting=True)
    assert grid.step_cost((0, 0), (1, 1)) == math.inf
    assert grid.step_cost((0, 0), (1, 0)) == 1


def test_a_cell_has_a_column_and_a_row():
    blocked = np.zeros((2, 5), dtype=bool)
    blocked[1, 4] = True
    grid = Grid(blocked)
    assert (grid.width, grid.height) == (5, 2)
    assert grid.is_blocked((4, 1))
    assert not grid.is_blocked((1, 1))
    assert grid.contains((4, 1))
    assert not grid.contains((1, 4))
    assert not grid.contains((-1, 0))


def test_costs_are_quantised_to_sixteenths():
    assert COST_STEPS == SIXTEENTHS
    costs = np.random.default_rng(1).uniform(1, 50, (20, 30)).astype(np.float32)
    costs[3, 4] = np.inf
    stored = Grid(costs).costs
    assert np.isinf(stored[3, 4])
    free = np.isfinite(costs)
    np.testing.assert_array_equal(stored[free] * COST_STEPS, np.round(stored[free] * COST_STEPS))
    assert np.abs(stored[free] - costs[free]).max() <= 0.5 / COST_STEPS + 1e-6
    assert stored[free].min() >= 1


@pytest.mark.parametrize('dtype', [np.float32, np.float64])
def test_costs_may_be_of_either_precision(dtype):
    costs = np.array([[1, 2.5, np.inf]], dtype=dtype)
    np.testing.assert_array_equal(Grid(costs).costs, costs)


def test_a_grid_keeps_nothing_of_the_array_it_was_made_from():
    blocked = np.zeros((4, 4), dtype=bool)
    grid = Grid(blocked)
    blocked[:] = True
    assert not grid.blocked.any()


@settings(max_examples=300)
@given(problems(max_side=10), st.integers(1, 6), st.data())
def test_after_any_patches_a_grid_is_as_if_made_afresh(problem, patches, data):
    grid, values = problem.grid(), problem.values
    for _ in range(patches):
        patch, at = repainted(data.draw, values)
        before, values = values, patched(values, patch, at)
        change = grid.update(patch, at=at)
        assert sorted(change.increased.tolist()) == state_ids(as_costs(values) > as_costs(before))
        assert sorted(change.decreased.tolist()) == state_ids(as_costs(values) < as_costs(before))
        assert bool(change) == bool((as_costs(values) != as_costs(before)).any())
    fresh = Grid(values, neighbours=problem.neighbours, corner_cutting=problem.corner_cutting)
    assert_same(grid, fresh)


@settings(max_examples=100)
@given(problems(max_side=10), st.data())
def test_a_full_update_is_a_patch_of_everything(problem, data):
    grid = problem.grid()
    patch, at = repainted(data.draw, problem.values)
    values = patched(problem.values, patch, at)
    change = grid.update(values)
    assert sorted(change.increased.tolist()) == state_ids(as_costs(values) > as_costs(problem.values))
    assert sorted(change.decreased.tolist()) == state_ids(as_costs(values) < as_costs(problem.values))
    assert_same(grid, Grid(values, neighbours=problem.neighbours, corner_cutting=problem.corner_cutting))


def test_an_update_that_changes_nothing_is_no_change():
    costs = np.random.default_rng(2).uniform(1, 9, (6, 7))
    grid = Grid(costs)
    assert not grid.update(costs)
    assert not grid.update(costs[2:4, 1:5], at=(1, 2))
    assert not grid.update(grid.costs)


def test_a_grid_of_costs_takes_blocked_cells():
    grid = Grid(np.full((3, 3), 2.5))
    change = grid.update(np.array([[True, False]]), at=(1, 1))
    assert change.increased.tolist() == [4]
    assert change.decreased.tolist() == [5]
    assert np.isinf(grid.costs[1, 1])
    assert grid.step_cost((2, 0), (2, 1)) == 1.75


def test_a_grid_of_blocked_cells_refuses_costs():
    grid = Grid(np.zeros((3, 3), dtype=bool))
    with pytest.raises(ValueError, match='float64'):
        grid.update(np.array([[4.0]]), at=(1, 1))
    assert_same(grid, Grid(np.zeros((3, 3), dtype=bool)))


def test_steps_around_a_patch_change_with_it():
    """A cell in a patch is a corner for diagonal steps between cells outside of it."""
    grid = Grid(np.zeros((3, 3), dtype=bool))
    assert grid.step_cost((0, 1), (1, 2)) == pytest.approx(math.sqrt(2))
    grid.update(np.array([[True]]), at=(0, 2))
    assert grid.step_cost((0, 1), (1, 2)) == math.inf
    grid.update(np.array([[False]]), at=(0, 2))
    assert grid.step_cost((0, 1), (1, 2)) == pytest.approx(math.sqrt(2))


def test_a_patch_touches_nothing_beyond_the_cells_around_it():
    """The work goes with the patch: marks put on all other cells are still there afterwards."""
    grid = Grid(np.zeros((40, 50), dtype=bool))
    mark = 0xAA
    grid.legal_moves[...] = mark
    assert grid.update(np.ones((3, 4), dtype=bool), at=(20, 10))
    far = np.ones((40, 50), dtype=bool)
    far[9:14, 19:25] = False
    assert (grid.legal_moves[far] == mark).all()
    assert (grid.legal_moves[~far] != mark).all()


def test_terrain_and_grid_agree_on_a_map_one_cell_wide():
    values = np.zeros((1, 6), dtype=bool)
    values[0, 3] = True
    grid, terrain = Grid(values), Terrain(values)
    for x in range(5):
        assert grid.step_cost((x, 0), (x + 1, 0)) == terrain.length([(x, 0), (x + 1, 0)])
