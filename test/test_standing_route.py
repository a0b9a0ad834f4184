"""StandingRoute: when a route that was found is to be given up, and where the robot is on it."""

import itertools

import numpy as np
import pytest

from tb_planner import Grid, find_path, rtba_star, tb_gbfs, tb_wa_star, tba_star
from tb_planner.navigation import standing_route as module
from tb_planner.navigation.standing_route import StandingRoute
from tb_planner.search.algorithms import RestartReason


def route_on(costs, *stops):
    """The shortest one from stop to stop, on a grid of its own."""
    grid = Grid(costs)
    parts = [find_path(grid, a, b).cells for a, b in itertools.pairwise(stops)]
    cells = parts[0] + [cell for part in parts[1:] for cell in part[1:]]
    ends = np.cumsum([len(parts[0])] + [len(part) - 1 for part in parts[1:]]) - 1
    return grid, StandingRoute(np.array(cells, np.int32), ends.tolist(), grid)


def fault(route, grid, cells, cost, algorithm=None, min_improvement=0.0):
    """After these cells have come to cost so much."""
    costs = grid.costs
    for x, y in cells:
        costs[y, x] = cost
    change = grid.update(costs)
    return route.fault(grid, change, algorithm or tba_star(), min_improvement)


def test_a_route_that_costs_more_is_given_up_if_it_is_more_than_a_little():
    grid, route = route_on(np.ones((3, 12), np.float32), (0, 1), (11, 1))
    assert fault(route, grid, [(5, 1)], 1.5, min_improvement=0.05) is None
    assert fault(route, grid, [(5, 1), (6, 1)], 1.5, min_improvement=0.05) == RestartReason.COST_INCREASED


def test_a_route_is_compared_with_the_least_that_it_has_cost():
    costs = np.full((3, 12), 3.0, np.float32)
    grid, route = route_on(costs, (0, 1), (11, 1))
    assert fault(route, grid, [(x, 1) for x in range(12)], 1.0, min_improvement=0.9) is None
    assert fault(route, grid, [(x, 1) for x in range(12)], 3.0, min_improvement=0.9) == RestartReason.COST_INCREASED


def test_what_is_behind_the_robot_may_cost_anything():
    grid, route = route_on(np.ones((3, 12), np.float32), (0, 1), (11, 1))
    assert route.meet(grid, (6.5, 1.4), 1.5)
    assert fault(route, grid, [(x, 1) for x in range(6)], np.inf) is None
    assert fault(route, grid, [(8, 1)], 9.0) == RestartReason.COST_INCREASED


def detour(walled=True):
    """A wall with a way around its end."""
    costs = np.ones((10, 12), np.float32)
    if walled:
        costs[:9, 6] = np.inf
    return costs


@pytest.mark.parametrize(
    ('algorithm', 'reason'),
    [
        (tba_star(), RestartReason.SHORTCUT_OPENED),
        (tb_wa_star(1.5), RestartReason.SHORTCUT_OPENED),
        (tb_wa_star(3.0), None),
        (tba_star(restart='never'), None),
        (tba_star(restart='eager'), RestartReason.EAGER),
        (rtba_star(), None),
        (tb_gbfs(), None),
    ],
    ids=['w = 1', 'w = 1.5', 'w = 3', 'never', 'eager', 'path_cost_increased', 'greedy'],
)
def test_a_door_that_opens_counts_by_the_algorithms_rule(algorithm, reason):
    grid, route = route_on(detour(), (1, 0), (11, 0))
    assert fault(route, grid, [(6, 0)], 1.0, algorithm) == reason


def test_a_blocked_route_never_stands():
    for algorithm in (tba_star(restart='never'), rtba_star(), tb_gbfs()):
        grid, route = route_on(detour(), (1, 0), (11, 0))
        assert fault(route, grid, [(6, 9)], np.inf, algorithm) == RestartReason.BLOCKED


def test_a_corner_that_may_not_be_cut_blocks_a_diagonal_step():
    grid, route = route_on(np.ones((5, 5), np.float32), (0, 0), (4, 4))
    assert fault(route, grid, [(2, 1)], np.inf) == RestartReason.BLOCKED


def test_a_cell_that_opens_lets_diagonal_steps_past_it():
    """The way through it is no shorter, 2 cells as before; past it, it is the square root of 2."""
    costs = np.ones((3, 3), np.float32)
    costs[0, 1] = np.inf
    grid, route = route_on(costs, (0, 0), (1, 1))
    assert fault(route, grid, [(1, 0)], 1.0) == RestartReason.SHORTCUT_OPENED


def test_a_cell_that_opens_beside_a_straight_way_makes_it_no_shorter():
    """The way through it is 0.83 cells longer; steps past it save less than 0.59."""
    costs = np.ones((4, 6), np.float32)
    costs[2, 2] = np.inf
    grid, route = route_on(costs, (0, 1), (5, 1))
    assert fault(route, grid, [(2, 2)], 1.0) is None


def test_each_leg_is_compared_by_itself():
    costs = np.ones((30, 12), np.float32)
    costs[:9, 6] = np.inf
    grid, route = route_on(costs, (11, 29), (11, 0), (1, 0))
    assert fault(route, grid, [(6, 20)], 1.0) is None
    assert fault(route, grid, [(6, 0)], 1.0) == RestartReason.SHORTCUT_OPENED, 'on the way of the second leg'


def test_if_too_many_cells_fell_to_look_at_the_map_is_another_one(monkeypatch):
    grid, route = route_on(np.full((3, 12), 2.0, np.float32), (0, 1), (11, 1))
    monkeypatch.setattr(module, 'MOST_FALLEN', 3)
    assert fault(route, grid, [(0, 0), (1, 0), (2, 0)], 1.9, min_improvement=0.5) is None
    assert fault(route, grid, [(x, 0) for x in range(4, 9)], 1.9, min_improvement=0.5) == RestartReason.SHORTCUT_OPENED
