"""Why a search was started over: every restart is counted under its reason."""

import numpy as np
import pytest
from helpers.oracle import Terrain
from helpers.planners import open_field, planner_on
from helpers.random_maps import random_values
from helpers.strategies import freed

from tb_planner import (
    ALGORITHMS,
    Resources,
    RestartReason,
    Status,
    make_algorithm,
    rtba_star,
    tba_star,
    tbaa_star,
)
from tb_planner.geometry import MapGeometry
from tb_planner.navigation.route import Route
from tb_planner.search.algorithms import REASON_CODES, RESTART_RULES, RestartRule

BLOCKED = np.array([[True]])
FREE = np.array([[False]])


def reasons(planner):
    """The restarts that have happened, by reason."""
    assert planner.searches == 1 + sum(planner.restarts.values())
    return {reason: count for reason, count in planner.restarts.items() if count}


def test_the_kernel_and_the_planner_mean_the_same_by_a_number():
    from tb_planner.search import kernel

    assert kernel.ROUTE_VALID == 0
    for name in ('BLOCKED', 'COST_INCREASED', 'SEARCH_EXHAUSTED'):
        assert REASON_CODES[RestartReason[name]] == getattr(kernel, name)


def test_a_reason_reads_as_its_word():
    assert (
        f'{RestartReason.GOAL_MOVED}' == str(RestartReason.GOAL_MOVED) == RestartReason.GOAL_MOVED.value == 'goal_moved'
    )


def test_a_first_search_is_no_restart():
    planner = planner_on(open_field(), (0, 2), (8, 2))
    planner.step()
    assert reasons(planner) == {}
    assert planner.last_restart is None


def test_an_obstacle_on_the_route_is_blocked():
    planner = planner_on(open_field(), (0, 2), (8, 2))
    planner.step()
    assert planner.observe(BLOCKED, at=planner.route[3])
    assert reasons(planner) == {RestartReason.BLOCKED: 1}


@pytest.mark.parametrize('algorithm', [tba_star(), rtba_star(), tba_star('lazy_as_printed')])
def test_a_route_that_costs_more_is_cost_increased(algorithm):
    planner = planner_on(np.ones((1, 9), np.float32), (0, 0), (8, 0), algorithm)
    planner.step()
    assert planner.observe(np.array([[3.0]], np.float32), at=(5, 0))
    assert reasons(planner) == {RestartReason.COST_INCREASED: 1}
    planner.step()
    planner.observe(np.array([[np.inf]], np.float32), at=(6, 0))
    assert planner.last_restart is RestartReason.BLOCKED


def test_a_gap_that_shortens_the_route_is_shortcut_opened():
    blocked = open_field()
    blocked[:4, 4] = True
    planner = planner_on(blocked, (0, 0), (8, 0))
    planner.step()
    assert planner.observe(FREE, at=(4, 0))
    assert reasons(planner) == {RestartReason.SHORTCUT_OPENED: 1}


def test_a_decrease_tested_again_when_the_goal_is_found_is_shortcut_opened():
    seen = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        blocked = rng.random((12, 12)) < 0.35
        blocked[0, 0] = blocked[-1, -1] = False
        planner = planner_on(blocked, (0, 0), (11, 11), k=3)
        planner.step()
        x, y = (int(n) for n in rng.integers(6, 12, 2))
        if not planner.observe(FREE, at=(x, y)):
            while planner.step() in (Status.MOVED, Status.WAITED):
                pass
            seen += reasons(planner) == {RestartReason.SHORTCUT_OPENED: 1}
    assert seen > 3


def test_a_change_under_the_eager_rule_is_eager():
    planner = planner_on(open_field(), (0, 2), (8, 2), tba_star('eager'))
    planner.step()
    assert planner.observe(BLOCKED, at=(0, 0))
    assert reasons(planner) == {RestartReason.EAGER: 1}


def test_a_goal_that_is_blocked_is_goal_moved():
    planner = planner_on(open_field(), (0, 2), (8, 2), goal_tolerance=1)
    planner.step()
    assert planner.observe(BLOCKED, at=(8, 2))
    assert planner.observe(FREE, at=(8, 2))
    assert reasons(planner) == {RestartReason.GOAL_MOVED: 2}


def test_an_agent_whose_cell_is_blocked_is_start_blocked():
    planner = planner_on(open_field(), (4, 2), (8, 2), start_tolerance=1)
    planner.step()
    assert planner.observe(BLOCKED, at=planner.current_cell)
    assert reasons(planner) == {RestartReason.START_BLOCKED: 1}


def test_a_search_without_a_path_restarts_as_no_path_or_search_exhausted():
    blocked = open_field()
    blocked[:, 4] = True
    planner = planner_on(blocked, (0, 2), (8, 2))
    assert planner.step() is Status.NO_PATH
    assert planner.observe(BLOCKED, at=(0, 0))
    assert reasons(planner) == {RestartReason.NO_PATH: 1}
    slow = planner_on(blocked, (0, 2), (8, 2), k=1)
    slow.step()
    assert not slow.observe(BLOCKED, at=(0, 0))
    while slow.step() is not Status.NO_PATH:
        pass
    assert reasons(slow) == {RestartReason.SEARCH_EXHAUSTED: 1}


def test_a_decrease_with_learned_values_is_heuristic_invalidated():
    planner = planner_on(open_field(), (0, 2), (8, 2), tbaa_star())
    planner.step()
    planner.observe(BLOCKED, at=planner.route[3])
    planner.step()
    (blocked,) = planner.grid.cells(np.flatnonzero(planner.grid.blocked))
    assert planner.observe(FREE, at=blocked)
    assert reasons(planner) == {RestartReason.BLOCKED: 1, RestartReason.HEURISTIC_INVALIDATED: 1}


def test_the_callers_own_restarts_are_new_goal_requested_and_off_route():
    planner = planner_on(open_field(), (0, 2), (8, 2))
    planner.step()
    planner.new_goal((8, 4))
    assert planner.last_restart is RestartReason.NEW_GOAL
    planner.restart()
    assert planner.last_restart is RestartReason.REQUESTED
    planner.step()
    assert planner.advance((0, 0))
    assert planner.last_restart is RestartReason.OFF_ROUTE
    assert reasons(planner) == {RestartReason.NEW_GOAL: 1, RestartReason.REQUESTED: 1, RestartReason.OFF_ROUTE: 1}


# ------------------------------------------------------------------ in any order


@pytest.mark.parametrize('name', ALGORITHMS)
def test_every_restart_has_a_reason_that_holds(name):
    """Over thousands of changes, the counts add up, and every restart as blocked or as cost increased is justified."""
    given = dict.fromkeys(RestartReason, 0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        weighted = bool(rng.integers(2))
        values = freed(random_values(rng, (14, 14), (0.25,), weighted), (0, 0), (13, 13))
        algorithm = make_algorithm(name, 1.8)
        k = Resources(15) if rng.random() < 0.2 else int(rng.choice((2, 8, 40)))
        planner = planner_on(values, (0, 0), (13, 13), algorithm, k)
        for _ in range(60):
            if planner.step() is Status.AT_GOAL:
                break
            route, before = planner.route, values
            x, y = (int(n) for n in rng.integers(0, 12, 2))
            values = values.copy()
            values[y : y + 2, x : x + 2] = np.inf if weighted and rng.random() < 0.5 else rng.random() < 0.5 or 1
            values = freed(values, planner.current_cell, (13, 13))
            found, searches = planner.goal_found, planner.searches
            assert planner.observe(values) == (planner.searches == searches + 1)
            after = Terrain(values, 8, False).length(route)
            if planner.searches == searches:
                assert after < float('inf') or len(route) == 1
                continue
            reason = planner.last_restart
            given[reason] += 1
            if reason is RestartReason.BLOCKED:
                assert after == float('inf')
            elif reason is RestartReason.COST_INCREASED:
                assert Terrain(before, 8, False).length(route) < after < float('inf')
            elif reason is RestartReason.SHORTCUT_OPENED:
                assert after < float('inf')
                assert not found or algorithm.restart == 'lazy'
        assert reasons(planner) is not None
    assert given[RestartReason.BLOCKED] > 20


BY_THE_RULE = {
    RestartReason.BLOCKED,
    RestartReason.COST_INCREASED,
    RestartReason.SHORTCUT_OPENED,
    RestartReason.EAGER,
}


def reasons_of(algorithm):
    """The reasons that the algorithm's rule gives a route of nine cells, for one change after the other."""
    route_y, found = 1, set()
    for before, after in ((1.0, np.inf), (1.0, 3.0), (3.0, 1.0)):
        costs = np.full((3, 9), before, np.float32)
        planner = planner_on(costs, (0, route_y), (8, route_y), algorithm)
        route = Route.from_cells(np.array([(x, route_y) for x in range(9)], np.int32), MapGeometry(9, 3, 1.0))
        route.expect(planner.grid)
        change = planner.grid.update(np.full((1, 5), after, np.float32), (2, route_y))
        found.add(route.replan_reason(planner.grid, change, algorithm, 0.0))
    return found - {None}


@pytest.mark.parametrize('rule', RESTART_RULES)
def test_a_search_under_way_restarts_only_for_reasons_that_its_rule_gives_a_route(rule):
    """The kernel checks the route after each search on a map that has changed; it must do so by the same rule."""
    algorithm, seen = tba_star(rule), set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values = freed(random_values(rng, (16, 16), (0.2,), weighted=True), (0, 0), (15, 15))
        planner = planner_on(values, (0, 0), (15, 15), algorithm, k=8)
        for _ in range(40):
            if planner.step() not in (Status.MOVED, Status.WAITED):
                break
            x, y = (int(n) for n in rng.integers(0, 15, 2))
            values = values.copy()
            values[y : y + 2, x : x + 2] = rng.choice((1.0, 3.0, np.inf))
            values = freed(values, planner.current_cell, (15, 15))
            planner.observe(values)
        seen.update(reasons(planner))
    assert seen & BY_THE_RULE == reasons_of(algorithm)


def test_a_rule_of_shortcuts_alone_is_refused():
    """Such a search would restart for a blocked route as well, and a Route would not."""
    with pytest.raises(ValueError, match=r"'shortcut_alone' has shortcut without invalid_route"):
        RestartRule('shortcut_alone', shortcut=True)
