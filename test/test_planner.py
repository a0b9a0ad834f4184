"""What a planner's calls leave behind: its place, budget, status and learned values."""

import copy
import pickle
import threading

import numpy as np
import pytest

from tb_planner import (
    Algorithm,
    Changing,
    Grid,
    Resources,
    Static,
    Status,
    TimeBoundedPlanner,
    find_path,
    move_to_goal,
    tba_star,
    tbaa_star,
)


def free(width, height):
    return np.zeros((height, width), bool)


def run_to_the_end(planner):
    for _ in range(10_000):
        if planner.step() in (Status.AT_GOAL, Status.NO_PATH):
            return planner.status
    raise AssertionError('the planner does not come to an end')


@pytest.mark.parametrize('by_steps', [True, False])
def test_an_increased_cost_ahead_is_noticed_after_advancing_as_after_walking(by_steps):
    costs = np.ones((3, 40), np.float32)
    planner = TimeBoundedPlanner(Grid(costs), (0, 1), (39, 1), k=10_000)
    planner.step()
    costs[0, 0] = 2
    assert not planner.observe(costs)
    if by_steps:
        while planner.current_cell != (20, 1):
            planner.step()
    else:
        assert not planner.advance((20, 1))
    x, y = planner.route[5]
    costs[y, x] = 5
    assert planner.observe(costs)


def test_learned_values_are_forgotten_when_a_cost_decreases_after_no_path():
    random = np.random.default_rng(3)
    compared = 0
    for _ in range(300):
        blocked = random.random((7, 7)) < 0.4
        blocked[0, 0] = blocked[-1, -1] = False
        planner = TimeBoundedPlanner(Grid(blocked), (0, 0), (6, 6), tbaa_star(), k=3)
        for _ in range(3):
            rises = blocked | (random.random((7, 7)) < 0.1)
            rises[planner.current_cell[::-1]] = rises[-1, -1] = False
            planner.observe(rises)
            blocked = rises
        if run_to_the_end(planner) is not Status.NO_PATH:
            continue
        blocked = blocked & (random.random((7, 7)) < 0.5)
        planner.observe(blocked)
        best = find_path(Grid(blocked), planner.current_cell, (6, 6))
        planner.search(1000)
        if best.status is Status.AT_GOAL:
            assert sum(planner.grid.step_cost(a, b) for a, b in zip(planner.path, planner.path[1:])) == pytest.approx(
                best.cost
            )
            compared += 1
    assert compared > 20


def test_a_planner_whose_cell_is_blocked_before_its_first_step_leaves_by_a_free_one():
    blocked = free(10, 10)
    planner = TimeBoundedPlanner(Grid(blocked), (5, 5), (9, 9), k=10, start_tolerance=3)
    blocked[5, 5] = True
    assert planner.observe(blocked)
    assert planner.current_cell != (5, 5)
    assert run_to_the_end(planner) is Status.AT_GOAL


def test_a_new_goal_is_sought_from_a_free_cell():
    blocked = free(10, 10)
    planner = TimeBoundedPlanner(Grid(blocked), (5, 5), (5, 5), start_tolerance=2, goal_tolerance=0)
    blocked[5, 5] = True
    planner.observe(blocked)
    planner.new_goal((0, 0))
    assert run_to_the_end(planner) is Status.AT_GOAL


def test_expansions_given_to_a_search_at_the_goal_are_not_kept():
    planner = TimeBoundedPlanner(Grid(free(50, 50)), (0, 0), (0, 0), k=256)
    planner.search(1)
    planner.new_goal((49, 49))
    planner.step()
    assert planner.goal_found


def test_an_agent_next_to_its_blocked_goal_goes_on_when_that_is_freed():
    blocked = free(10, 10)
    blocked[9, 9] = True
    planner = TimeBoundedPlanner(Grid(blocked), (2, 2), (9, 9), goal_tolerance=2)
    assert run_to_the_end(planner) is Status.AT_GOAL
    assert planner.current_cell != (9, 9)
    blocked[9, 9] = False
    assert planner.observe(blocked)
    assert move_to_goal(planner, Static(Grid(blocked))).status is Status.AT_GOAL
    assert planner.current_cell == (9, 9)


def test_a_changing_world_leaves_the_agents_cell_alone_where_a_change_had_freed_it():
    blocked = np.ones((9, 9), bool)
    blocked[4, :] = False
    world = Changing(Grid(blocked), 100, every=1, seed=1)
    world.grid.update(np.zeros((1, 1), bool), at=(4, 3))
    for _ in range(20):
        values, _ = world.look((4, 3), (8, 4))
        assert not values[3, 4]


def test_k_can_be_set_at_any_time():
    planner = TimeBoundedPlanner(Grid(free(50, 50)), (0, 0), (49, 0), k=1)
    planner.k = 5
    planner.step()
    assert planner.expansions == 5
    with pytest.raises(ValueError, match='k is 0'):
        planner.k = 0
    with pytest.raises(ValueError, match='cannot be changed'):
        TimeBoundedPlanner(Grid(free(5, 5)), (0, 0), (4, 4), k=Resources(10)).k = 7


def test_touched_memory_changes_nothing():
    blocked = np.random.default_rng(5).random((60, 60)) < 0.3
    blocked[0, 0] = blocked[-1, -1] = False
    runs = []
    for touch in (False, True):
        planner = TimeBoundedPlanner(Grid(blocked), (0, 0), (59, 59), k=7)
        planner.step()
        if touch:
            planner.touch_memory()
        runs.append((run_to_the_end(planner), planner.figures))
    assert runs[0] == runs[1]


def test_a_grid_can_be_copied_after_a_plan():
    grid = Grid(free(8, 8))
    find_path(grid, (0, 0), (7, 7))
    for twin in (copy.deepcopy(grid), pickle.loads(pickle.dumps(grid))):
        assert find_path(twin, (0, 0), (7, 7)).cost == find_path(grid, (0, 0), (7, 7)).cost


def test_planners_on_two_threads_do_as_they_do_alone():
    blocked = np.random.default_rng(7).random((300, 300)) < 0.3
    blocked[0, 0] = blocked[-1, -1] = False

    def figures(results, name):
        planner = TimeBoundedPlanner(Grid(blocked), (0, 0), (299, 299), tba_star(), k=100)
        run_to_the_end(planner)
        results[name] = planner.figures

    alone, together = {}, {}
    figures(alone, 0)
    threads = [threading.Thread(target=figures, args=(together, i)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert together == {0: alone[0], 1: alone[0]}


def test_algorithms_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match='w_h is 0'):
        Algorithm('dijkstra', 1, 0)
    with pytest.raises(ValueError, match='shortcut'):
        Algorithm('adaptive', 1, 1, learn_h=True, shortcut=True)
    with pytest.raises(TypeError, match='; make one, for example tba_star'):
        TimeBoundedPlanner(Grid(free(3, 3)), (0, 0), (2, 2), 'tba_star')
