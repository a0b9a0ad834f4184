"""Occupancy to costs, against distances taken cell by cell, and updates against starting afresh."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tb_planner.maps.costmap import MAX_REACH, Costmap, CostmapConfig
from tb_planner.search.grid import COST_STEPS, MAX_COST, Grid

OCCUPANCY_VALUES = st.sampled_from([0, 0, 0, 0, -1, 100, 100, 99, 98, 50, 1])


def occupancies(max_side=14, min_side=1):
    shapes = st.tuples(st.integers(min_side, max_side), st.integers(min_side, max_side))
    return shapes.flatmap(lambda shape: npst.arrays(np.int8, shape, elements=OCCUPANCY_VALUES))


@st.composite
def costmap_config(draw):
    resolution_m = draw(st.sampled_from([0.03, 0.05, 0.1, 1.0]))
    robot_cells = draw(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0]))
    margin_cells = draw(st.sampled_from([0.0, 0.7, 1.0, 2.5, 4.0]))
    return CostmapConfig(
        resolution_m=resolution_m,
        lethal_threshold=draw(st.sampled_from([1, 50, 99, 100])),
        allow_unknown=draw(st.booleans()),
        unknown_cost=draw(st.sampled_from([1.0, 1.03, 2.5])),
        robot_radius_m=robot_cells * resolution_m,
        inflation_radius_m=(robot_cells + margin_cells) * resolution_m,
        cost_travel_multiplier=draw(st.sampled_from([0.0, 0.1, 2.0, 10.0])),
    )


def expected_cost(occupancy, rules, x, y):
    """The cost by the module's definition, before it is brought to steps: every obstacle is looked at."""
    height, width = occupancy.shape
    distance_m = math.inf
    for oy in range(height):
        for ox in range(width):
            if occupancy[oy, ox] >= rules.lethal_threshold:
                distance_m = min(distance_m, math.hypot(ox - x, oy - y) * rules.resolution_m)
    value = int(occupancy[y, x])
    if value >= rules.lethal_threshold or distance_m <= rules.robot_radius_m + 1e-9:
        return math.inf
    if value == -1 and not rules.allow_unknown:
        return math.inf
    pressure = max(value, 0)
    if distance_m < rules.inflation_radius_m:
        left = (rules.inflation_radius_m - distance_m) / (rules.inflation_radius_m - rules.robot_radius_m)
        pressure = max(pressure, 100 * left * left)
    cost = 1 + rules.cost_travel_multiplier * pressure / 100
    return max(cost, rules.unknown_cost) if value == -1 else cost


@given(occupancies(), costmap_config())
def test_costs_follow_the_definition_cell_by_cell(occupancy, rules):
    costs = Costmap(occupancy, rules).costs
    assert costs.shape == occupancy.shape
    assert costs.dtype == np.float32
    for y, x in np.ndindex(occupancy.shape):
        expected = expected_cost(occupancy, rules, x, y)
        if math.isinf(expected):
            assert math.isinf(costs[y, x])
        else:
            assert abs(costs[y, x] - expected) <= 0.5 / COST_STEPS + 1e-6
            assert costs[y, x] >= 1
            assert (costs[y, x] * COST_STEPS).is_integer()


@given(occupancies(), costmap_config())
def test_a_grid_keeps_the_costs_as_they_are(occupancy, rules):
    costs = Costmap(occupancy, rules).costs
    assert np.array_equal(Grid(costs).costs, costs)


def test_the_largest_costs_that_rules_allow_fit_a_grid():
    rules = CostmapConfig(
        resolution_m=1.0, lethal_threshold=100, unknown_cost=MAX_COST, cost_travel_multiplier=MAX_COST - 1
    )
    costs = Costmap([[-1, 99, 0]], rules).costs
    assert costs[0, 0] == MAX_COST
    assert np.array_equal(Grid(costs).costs, costs)


@given(occupancies(), costmap_config(), st.integers(1, 16))
def test_costs_do_not_depend_on_the_size_of_the_tiles(occupancy, rules, tile):
    assert np.array_equal(Costmap(occupancy, rules, tile=tile).costs, Costmap(occupancy, rules).costs)


@given(st.data(), occupancies(max_side=24, min_side=4), costmap_config(), st.sampled_from([1, 5, 256]))
def test_updates_give_what_a_fresh_start_gives(data, occupancy, rules, tile):
    costmap = Costmap(occupancy, rules, tile=tile)
    present = occupancy.copy()
    follower = Grid(costmap.costs)
    for _ in range(3):
        patch, at = data.draw(patches(*present.shape))
        height, width = patch.shape
        present[at[1] : at[1] + height, at[0] : at[0] + width] = patch
        costs, costs_at = costmap.update(patch, at=at)
        follower.update(costs, at=costs_at)
        assert np.array_equal(costmap.costs, Costmap(present, rules).costs)
        assert np.array_equal(follower.costs, costmap.costs)
        assert np.array_equal(costmap.occupancy, present)


@st.composite
def patches(draw, height, width):
    shape = draw(st.tuples(st.integers(1, height), st.integers(1, width)))
    at = (draw(st.integers(0, width - shape[1])), draw(st.integers(0, height - shape[0])))
    return draw(npst.arrays(np.int8, shape, elements=OCCUPANCY_VALUES)), at


def test_update_of_one_cell_returns_no_more_than_the_inflation_radius_around_it():
    rules = CostmapConfig(resolution_m=0.1, robot_radius_m=0.2, inflation_radius_m=0.5)
    costmap = Costmap(np.zeros((400, 300), np.int8), rules)
    costs, at = costmap.update([[100]], at=(100, 200))
    assert at == (95, 195)
    assert costs.shape == (11, 11)
    assert np.isinf(costs[5, 3:8]).all()
    assert np.array_equal(costs, costs.T)


def test_update_leaves_tiles_alone_that_no_change_can_reach(monkeypatch):
    rules = CostmapConfig(resolution_m=1.0, inflation_radius_m=3.0)
    costmap = Costmap(np.zeros((64, 64), np.int8), rules, tile=8)
    computed = []
    compute = costmap._compute
    monkeypatch.setattr(costmap, '_compute', lambda box: (computed.append(box), compute(box)))
    changed = np.zeros((64, 64), np.int8)
    changed[0, 0] = changed[63, 63] = 100
    costs, at = costmap.update(changed)
    assert 0 < len(computed) <= 8
    assert costs.shape == (64, 64)
    assert at == (0, 0)
    assert np.array_equal(costmap.costs, Costmap(changed, rules).costs)


def test_update_that_changes_nothing_returns_an_empty_patch():
    occupancy = np.zeros((5, 6), np.int8)
    costmap = Costmap(occupancy, CostmapConfig(resolution_m=1.0, inflation_radius_m=2.0))
    assert costmap.update(occupancy)[0].size == 0
    assert costmap.update(occupancy[1:3, 1:3], at=(2, 2))[0].size == 0


def test_whole_map_is_taken_without_a_place():
    rules = CostmapConfig(resolution_m=1.0, inflation_radius_m=2.0)
    occupancy = np.zeros((5, 6), np.int8)
    costmap = Costmap(occupancy, rules)
    occupancy[2, 3] = 100
    costmap.update(occupancy)
    assert np.array_equal(costmap.costs, Costmap(occupancy, rules).costs)


def test_what_is_returned_is_not_touched_by_later_updates():
    costmap = Costmap(np.zeros((5, 5), np.int8), CostmapConfig(resolution_m=1.0))
    costs, _ = costmap.update([[100]], at=(2, 2))
    costmap.update([[0]], at=(2, 2))
    assert np.isinf(costs[0, 0])
    assert costmap.costs[2, 2] == 1


def test_costs_cannot_be_written_to_from_outside():
    costmap = Costmap(np.zeros((2, 2), np.int8), CostmapConfig(resolution_m=1.0))
    with pytest.raises(ValueError, match='read-only'):
        costmap.costs[0, 0] = 3.0


def test_caller_keeps_its_own_array():
    occupancy = np.zeros((3, 3), np.int8)
    costmap = Costmap(occupancy, CostmapConfig(resolution_m=1.0))
    occupancy[1, 1] = 100
    assert costmap.costs[1, 1] == 1


def test_cost_falls_with_distance_from_the_robots_radius_to_the_inflation_radius():
    occupancy = np.zeros((1, 30), np.int8)
    occupancy[0, 0] = 100
    rules = CostmapConfig(resolution_m=0.1, robot_radius_m=0.3, inflation_radius_m=2.0, cost_travel_multiplier=8.0)
    row = Costmap(occupancy, rules).costs[0]
    assert np.isinf(row[:4]).all()
    assert row[4] > 7
    assert (np.diff(row[4:16]) < 0).all()
    assert (np.diff(row[16:]) <= 0).all()
    assert (row[20:] == 1).all()


def test_a_radius_of_whole_cells_includes_the_last_of_them_in_spite_of_rounding():
    occupancy = np.zeros((1, 8), np.int8)
    occupancy[0, 0] = 100
    rules = CostmapConfig(resolution_m=0.05, robot_radius_m=0.15, inflation_radius_m=0.15)
    assert np.isinf(Costmap(occupancy, rules).costs[0]).tolist() == [True] * 4 + [False] * 4


@pytest.mark.parametrize(
    ('keywords', 'cost'),
    [({}, 1.0), ({'unknown_cost': 3.0}, 3.0), ({'allow_unknown': False, 'unknown_cost': 3.0}, math.inf)],
)
def test_unknown_is_free_of_high_cost_or_blocked(keywords, cost):
    rules = CostmapConfig(resolution_m=1.0, **keywords)
    assert Costmap([[0, -1, 0]], rules).costs.tolist() == [[1.0, cost, 1.0]]


def test_unknown_space_does_not_inflate_even_when_blocked():
    rules = CostmapConfig(resolution_m=1.0, allow_unknown=False, robot_radius_m=1.0, inflation_radius_m=3.0)
    assert Costmap([[0, -1, 0, 0]], rules).costs.tolist() == [[1.0, math.inf, 1.0, 1.0]]


def test_known_obstacles_inflate_into_unknown_space():
    rules = CostmapConfig(resolution_m=1.0, robot_radius_m=1.0, inflation_radius_m=1.0)
    assert Costmap([[100, -1, -1]], rules).costs.tolist() == [[math.inf, math.inf, 1.0]]


def test_graded_occupancy_costs_in_proportion_up_to_the_threshold():
    rules = CostmapConfig(resolution_m=1.0, lethal_threshold=90, cost_travel_multiplier=4.0)
    assert Costmap([[0, 25, 50, 75, 90, 100]], rules).costs.tolist() == [[1, 2, 3, 4, math.inf, math.inf]]


def test_every_obstacle_beyond_the_edge_of_the_patch_is_seen():
    occupancy = np.zeros((21, 21), np.int8)
    occupancy[10, 0] = 100
    rules = CostmapConfig(resolution_m=1.0, robot_radius_m=2.0, inflation_radius_m=6.0)
    costmap = Costmap(occupancy, rules)
    costs, (x, y) = costmap.update([[100]], at=(11, 10))
    assert (x, y) == (5, 4)
    occupancy[10, 11] = 100
    assert np.array_equal(costs, Costmap(occupancy, rules).costs[4:17, 5:18])
    costs, _ = costmap.update([[0]], at=(11, 10))
    assert costs[6, 0] > 1


@pytest.mark.parametrize(
    ('keywords', 'message'),
    [
        ({'resolution_m': 0.0}, 'resolution_m 0.0 is not above 0.0'),
        ({'resolution_m': math.nan}, 'resolution_m nan is not finite'),
        ({'resolution_m': '0.05'}, "resolution_m '0.05' is not a number"),
        ({'lethal_threshold': 0}, 'lethal_threshold 0 is below 1'),
        ({'lethal_threshold': 101}, 'lethal_threshold 101 is above 100'),
        ({'lethal_threshold': 50.5}, 'lethal_threshold 50.5 is not a whole number'),
        ({'lethal_threshold': True}, 'lethal_threshold True is not a number'),
        ({'allow_unknown': 'no'}, "allow_unknown 'no' is neither True nor False"),
        ({'unknown_cost': 0.5}, 'unknown_cost 0.5 is below 1.0'),
        ({'unknown_cost': 1e6}, f'unknown_cost 1000000.0 is above {MAX_COST}'),
        ({'robot_radius_m': -0.1}, 'robot_radius_m -0.1 is below 0.0'),
        ({'robot_radius_m': 0.3, 'inflation_radius_m': 0.2}, 'inflation_radius_m 0.2 is below robot_radius_m 0.3'),
        ({'inflation_radius_m': math.inf}, 'inflation_radius_m inf is not finite'),
        ({'inflation_radius_m': 2000.0}, f'inflation_radius_m 2000.0 is more than {MAX_REACH} cells of 1.0 m'),
        ({'cost_travel_multiplier': -1.0}, 'cost_travel_multiplier -1.0 is below 0.0'),
        ({'cost_travel_multiplier': MAX_COST}, f'cost_travel_multiplier {MAX_COST} is above {MAX_COST - 1}'),
    ],
)
def test_rules_refuse_bad_values_with_value_and_limit(keywords, message):
    with pytest.raises(ValueError, match=f'^{re.escape(message)}$'):
        CostmapConfig(**{'resolution_m': 1.0, **keywords})


@pytest.mark.parametrize(
    ('occupancy', 'message'),
    [
        (np.zeros(4, np.int8), 'occupancy has 1 dimensions, not 2'),
        (np.zeros((0, 4), np.int8), 'occupancy of 4 x 0 cells is empty'),
        (np.zeros((2, 2)), 'occupancy is of type float64, not of whole numbers'),
        (np.zeros((2, 2), bool), 'occupancy is of type bool, not of whole numbers'),
        (np.array([[0, 0], [0, 101]]), 'occupancy 101 at (1, 1) is above 100'),
        (np.array([[0, -2], [0, 0]]), 'occupancy -2 at (1, 0) is below -1'),
    ],
)
def test_bad_occupancy_is_refused_with_value_and_limit(occupancy, message):
    with pytest.raises(ValueError, match=f'^{re.escape(message)}$'):
        Costmap(occupancy, CostmapConfig(resolution_m=1.0))


@pytest.mark.parametrize(
    ('patch', 'at', 'message'),
    [
        ([[0, 0]], (2, 0), 'patch of 2 x 1 cells at (2, 0) is not inside the 3 x 3 map'),
        ([[0]], (0, -1), 'patch of 1 x 1 cells at (0, -1) is not inside the 3 x 3 map'),
        ([[0, 0]], None, 'map of 2 x 1 cells does not fit the 3 x 3 map'),
        ([[105]], (1, 1), 'occupancy 105 at (0, 0) is above 100'),
    ],
)
def test_a_refused_update_changes_nothing(patch, at, message):
    occupancy = np.array([[0, 100, 0], [0, 0, 0], [0, 50, -1]], np.int8)
    costmap = Costmap(occupancy, CostmapConfig(resolution_m=1.0, inflation_radius_m=2.0))
    before = costmap.costs.copy()
    with pytest.raises(ValueError, match=f'^{re.escape(message)}$'):
        costmap.update(patch, at=at)
    assert np.array_equal(costmap.costs, before)
    assert np.array_equal(costmap.occupancy, occupancy)


def test_a_tile_needs_at_least_one_cell():
    with pytest.raises(ValueError, match='tile 0 is below 1'):
        Costmap([[0]], CostmapConfig(resolution_m=1.0), tile=0)
