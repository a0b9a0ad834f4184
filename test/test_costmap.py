"""Occupancy to costs, against distances taken cell by cell, and updates against starting afresh."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tb_planner.maps.costmap import MAX_REACH, CostmapConfig, costs_of
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
    costs = costs_of(occupancy, rules)
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
    costs = costs_of(occupancy, rules)
    assert np.array_equal(Grid(costs).costs, costs)


def test_the_largest_costs_that_rules_allow_fit_a_grid():
    rules = CostmapConfig(
        resolution_m=1.0, lethal_threshold=100, unknown_cost=MAX_COST, cost_travel_multiplier=MAX_COST - 1
    )
    costs = costs_of([[-1, 99, 0]], rules)
    assert costs[0, 0] == MAX_COST
    assert np.array_equal(Grid(costs).costs, costs)


@given(occupancies(), costmap_config(), st.integers(1, 16))
def test_costs_do_not_depend_on_the_size_of_the_tiles(occupancy, rules, tile):
    assert np.array_equal(costs_of(occupancy, rules, tile=tile), costs_of(occupancy, rules))


def test_cost_falls_with_distance_from_the_robots_radius_to_the_inflation_radius():
    occupancy = np.zeros((1, 30), np.int8)
    occupancy[0, 0] = 100
    rules = CostmapConfig(resolution_m=0.1, robot_radius_m=0.3, inflation_radius_m=2.0, cost_travel_multiplier=8.0)
    row = costs_of(occupancy, rules)[0]
    assert np.isinf(row[:4]).all()
    assert row[4] > 7
    assert (np.diff(row[4:16]) < 0).all()
    assert (np.diff(row[16:]) <= 0).all()
    assert (row[20:] == 1).all()


def test_a_radius_of_whole_cells_includes_the_last_of_them_in_spite_of_rounding():
    occupancy = np.zeros((1, 8), np.int8)
    occupancy[0, 0] = 100
    rules = CostmapConfig(resolution_m=0.05, robot_radius_m=0.15, inflation_radius_m=0.15)
    assert np.isinf(costs_of(occupancy, rules)[0]).tolist() == [True] * 4 + [False] * 4


@pytest.mark.parametrize(
    ('keywords', 'cost'),
    [({}, 1.0), ({'unknown_cost': 3.0}, 3.0), ({'allow_unknown': False, 'unknown_cost': 3.0}, math.inf)],
)
def test_unknown_is_free_of_high_cost_or_blocked(keywords, cost):
    rules = CostmapConfig(resolution_m=1.0, **keywords)
    assert costs_of([[0, -1, 0]], rules).tolist() == [[1.0, cost, 1.0]]


def test_unknown_space_does_not_inflate_even_when_blocked():
    rules = CostmapConfig(resolution_m=1.0, allow_unknown=False, robot_radius_m=1.0, inflation_radius_m=3.0)
    assert costs_of([[0, -1, 0, 0]], rules).tolist() == [[1.0, math.inf, 1.0, 1.0]]


def test_known_obstacles_inflate_into_unknown_space():
    rules = CostmapConfig(resolution_m=1.0, robot_radius_m=1.0, inflation_radius_m=1.0)
    assert costs_of([[100, -1, -1]], rules).tolist() == [[math.inf, math.inf, 1.0]]


def test_graded_occupancy_costs_in_proportion_up_to_the_threshold():
    rules = CostmapConfig(resolution_m=1.0, lethal_threshold=90, cost_travel_multiplier=4.0)
    assert costs_of([[0, 25, 50, 75, 90, 100]], rules).tolist() == [[1, 2, 3, 4, math.inf, math.inf]]


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
        costs_of(occupancy, CostmapConfig(resolution_m=1.0))
