"""The route as the agent's driver sees it: its cells, its version, and the agent's progress along it."""

import mmap
import threading
from pathlib import Path

import numpy as np
import pytest
from helpers.strategies import problems, repainted, restarting_algorithms
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_planner import (
    Grid,
    Resources,
    RestartReason,
    StartBlocked,
    Status,
    TimeBoundedPlanner,
    find_path,
    tb_wa_star,
    tba_star,
    tbaa_star,
)
from tb_planner.search import pages

FAR = 10**6


def cells(array):
    return [tuple(cell) for cell in array.tolist()]


def field(width=30, height=9):
    return np.zeros((height, width), bool)


@st.composite
def planners(draw):
    """A planner that has lived a little, and the problem it was given."""
    problem = draw(problems())
    algorithm, _ = draw(restarting_algorithms())
    lookahead = draw(
        st.sampled_from(({'k': 1}, {'k': 5}, {'k': 300}, {'k': 4, 'trace_steps': 2}, {'k': Resources(12)}))
    )
    planner = TimeBoundedPlanner(problem.grid(), problem.start, problem.goal, algorithm, **lookahead)
    values = problem.values
    for _ in range(draw(st.integers(0, 12))):
        planner.step()
        if draw(st.integers(0, 3)) == 0:
            planner.observe(*repainted(draw, values, planner.current_cell, problem.goal))
    return planner


@settings(max_examples=300, deadline=None)
@given(planners(), st.integers(1, 40))
def test_the_first_cells_of_the_route_are_those_of_the_whole(planner, most):
    route = planner.route
    assert cells(planner.route_cells()) == route
    assert cells(planner.route_cells(most)) == route[:most]
    assert planner.route_length == len(route) - 1


@settings(max_examples=300, deadline=None)
@given(planners(), st.data())
def test_walking_some_cells_is_advancing_to_the_last_of_them(planner, data):
    planner.search()
    if planner.status is not Status.MOVED:
        return
    route, version, backtracking = planner.route, planner.route_version, planner.backtracking_length
    steps = data.draw(st.integers(0, len(route) - 1))
    searches = planner.searches
    planner.advance_by(steps)
    assert planner.route == route[steps:]
    assert planner.backtracking_length == max(backtracking - steps, 0)
    assert (planner.route_version, planner.searches) == (version, searches)
    assert (planner.status is Status.AT_GOAL) == (route[steps] == planner.target)


@settings(max_examples=200, deadline=None)
@given(problems(), restarting_algorithms(), st.sampled_from((1, 3, 20)), st.data())
def test_a_walked_agent_goes_on_as_one_that_was_advanced(problem, drawn, k, data):
    algorithm, _ = drawn
    walking, advancing = (
        TimeBoundedPlanner(problem.grid(), problem.start, problem.goal, algorithm, k) for _ in range(2)
    )
    for _ in range(20):
        assert walking.search() == advancing.search()
        if walking.status is Status.MOVED:
            steps = data.draw(st.integers(0, min(3, walking.route_length)))
            cell = walking.route[steps]
            walking.advance_by(steps)
            assert not advancing.advance(cell)
        news = repainted(data.draw, problem.values, walking.current_cell, problem.goal)
        assert walking.observe(*news) == advancing.observe(*news)
        assert (walking.route, walking.status, walking.path) == (advancing.route, advancing.status, advancing.path)


@settings(max_examples=300, deadline=None)
@given(planners(), st.data())
def test_the_version_changes_with_the_route(planner, data):
    """The version may change without need while the search runs, but it always changes with the route."""
    for _ in range(15):
        route, version = planner.route, planner.route_version
        if data.draw(st.integers(0, 4)) == 0:
            values = np.where(planner.grid.blocked, np.inf, 1.0) if planner.grid.weighted else planner.grid.blocked
            planner.observe(*repainted(data.draw, values, planner.current_cell, planner.goal))
        else:
            planner.step()
        if planner.route_version == version:
            assert planner.route == route[len(route) - len(planner.route) :]


def test_the_version_stays_while_the_agent_walks_a_route_that_was_found():
    planner = TimeBoundedPlanner(Grid(field()), (0, 4), (29, 4), k=FAR)
    planner.step()
    versions = {planner.route_version}
    planner.observe(np.array([[True]]), at=(0, 0))
    while planner.step() is Status.MOVED:
        versions.add(planner.route_version)
    assert planner.status is Status.AT_GOAL
    assert len(versions) == 1


def test_walking_farther_than_the_route_is_refused_and_moves_nothing():
    planner = TimeBoundedPlanner(Grid(field()), (0, 4), (29, 4), k=FAR)
    planner.search()
    planner.advance_by(3)
    route = planner.route
    with pytest.raises(ValueError, match=r'cells is 27; it must be at most 26, the length of the route'):
        planner.advance_by(27)
    with pytest.raises(ValueError, match=r'cells is -1; it must be a whole number between 0 and'):
        planner.advance_by(-1)
    assert planner.route == route
    planner.advance_by(26)
    assert planner.status is Status.AT_GOAL


def test_walking_farther_than_backtracking_and_path_is_refused_and_moves_nothing():
    found = 0
    for seed in range(60):
        blocked = np.random.default_rng(seed).random((20, 20)) < 0.3
        blocked[0, 0] = blocked[-1, -1] = False
        planner = TimeBoundedPlanner(Grid(blocked), (0, 0), (19, 19), k=4)
        while planner.step() in (Status.MOVED, Status.WAITED):
            planner.search()
            route, backtracking = planner.route, planner.backtracking_length
            with pytest.raises(ValueError, match=rf'it must be at most {len(route) - 1}, the length of the route'):
                planner.advance_by(len(route))
            assert (planner.route, planner.backtracking_length) == (route, backtracking)
            found += backtracking > 0
    assert found > 20


def test_an_agent_that_has_left_its_route_searches_from_where_it_is():
    planner = TimeBoundedPlanner(Grid(field()), (0, 4), (29, 4), k=FAR, start_tolerance=1)
    planner.step()
    planner.leave_route((5, 4))
    assert planner.current_cell == (5, 4)
    assert planner.last_restart is RestartReason.OFF_ROUTE
    assert planner.restarts[RestartReason.OFF_ROUTE] == planner.searches - 1 == 1
    assert planner.step() is Status.MOVED
    planner.observe(np.ones((3, 3), bool), at=(9, 3))
    before = planner.route
    with pytest.raises(StartBlocked, match=r'cell \(10, 4\) is blocked'):
        planner.leave_route((10, 4))
    assert planner.route == before


# ------------------------------------------------------------------ the same map in another grid


@settings(max_examples=150, deadline=None)
@given(problems(), restarting_algorithms(), st.sampled_from((1, 4, 50)), st.data())
def test_a_planner_given_another_grid_does_as_one_whose_grid_is_written_to(problem, drawn, k, data):
    algorithm, _ = drawn
    swapping, observing = (
        TimeBoundedPlanner(problem.grid(), problem.start, problem.goal, algorithm, k) for _ in range(2)
    )
    spare = problem.grid()
    values = problem.values
    for _ in range(12):
        assert swapping.step() == observing.step()
        patch, at = repainted(data.draw, values, swapping.current_cell, problem.goal)
        change = observing.grid.update(patch, at)
        spare.update(observing.grid.costs if spare.weighted else observing.grid.blocked)
        spare, old = swapping.grid, spare
        assert swapping.use_grid(old, change) == observing.map_changed(change)
        assert swapping.grid is old
        assert swapping.restarts == observing.restarts
        assert (swapping.route, swapping.expansions) == (observing.route, observing.expansions)


def test_a_grid_of_another_size_or_kind_is_refused():
    planner = TimeBoundedPlanner(Grid(field()), (0, 4), (29, 4), k=FAR)
    change = Grid(field()).update(field())
    for other in (
        Grid(field(31, 9)),
        Grid(field(), neighbours=4),
        Grid(field(), corner_cutting=True),
        Grid(np.ones((9, 30), np.float32)),
    ):
        with pytest.raises(ValueError, match='expected'):
            planner.use_grid(other, change)


# ------------------------------------------------------------------ memory that is kept


@pytest.mark.parametrize(
    'algorithm', [tba_star(), tb_wa_star(3.0), tbaa_star(), tba_star(ties='larger_g', shortcut=True)]
)
def test_a_planner_in_memory_that_was_used_before_does_as_one_in_new_memory(algorithm):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        blocked = rng.random((25, 25)) < 0.3
        blocked[0, 0] = blocked[-1, -1] = False
        used = Grid(blocked)
        used.prepare()
        find_path(used, (24, 24), (0, 0), tbaa_star())
        first = TimeBoundedPlanner(used, (24, 24), (0, 0), tbaa_star(), k=3)
        first.run(20)
        first.release()
        planners = [TimeBoundedPlanner(grid, (0, 0), (24, 24), algorithm, k=5) for grid in (used, Grid(blocked))]
        assert not used.has_spare_search
        for _ in range(200):
            states = [
                (p.step(), p.route, p.figures, p.restarts, p.last_restart, p.open_size, p.current_cell)
                for p in planners
            ]
            assert states[0] == states[1]


def test_a_second_planner_on_a_grid_has_memory_of_its_own():
    grid = Grid(field())
    grid.prepare()
    one, other = (TimeBoundedPlanner(grid, (0, y), (29, y), k=FAR) for y in (0, 8))
    one.step()
    other.step()
    assert one.route[-1] == (29, 0)
    assert other.route[-1] == (29, 8)


def resident_bytes():
    return int(Path('/proc/self/statm').read_text().split()[1]) * mmap.PAGESIZE


def test_the_memory_of_spare_searches_goes_back_to_the_system():
    side = 1500
    grid = Grid(np.zeros((side, side), bool))
    grid.prepare()
    before = resident_bytes()
    grid.drop_spare_searches()
    assert before - resident_bytes() > 0.9 * 16 * side**2
    assert find_path(grid, (0, 0), (side - 1, 0)).status == Status.AT_GOAL


@pytest.mark.parametrize(
    'algorithm', [tba_star(), tb_wa_star(3.0), tbaa_star(), tba_star(ties='larger_g', shortcut=True)]
)
def test_a_search_that_begins_while_its_memory_is_taken_does_as_any_other(algorithm):
    rng = np.random.default_rng(7)
    for _ in range(10):
        plain = Grid(np.where(rng.random((400, 400)) < 0.3, np.inf, 1 + 9 * rng.random((400, 400))))
        ahead = Grid.all_blocked(400, 400, weighted=True)
        ahead.write(plain.cost_u16, ahead.box)
        ends = [plain.nearest_free(cell, 20) for cell in ((0, 0), (399, 399))]
        runs = []
        for grid in (plain, ahead):
            planner = TimeBoundedPlanner(grid, *ends, algorithm, k=500)
            while planner.status != Status.NO_PATH and not planner.goal_found:
                planner.search()
            runs.append((planner.status, planner.route, planner.figures, planner.open_size))
        assert runs[0] == runs[1]
        for thread in threading.enumerate():
            if thread.name == 'search_memory':
                thread.join()
        assert not planner.is_taking_memory


def test_taking_and_giving_back_memory_touches_no_other_memory():
    arrays = [np.full(n, n % 256, np.uint8) for n in (1, 4095, 4096, 10_000, 3 * 4096)]
    pages.take(arrays)
    assert [int(array.sum(dtype=int)) for array in arrays] == [n * (n % 256) for n in map(len, arrays)]
    large = np.arange(3 * 4096, dtype=np.uint8)
    for part in (large[:4000], large[4000:4097], large[-5000:-4096]):  # no part has a whole page
        pages.give_back([part[:4000]])
    assert np.array_equal(large, np.arange(3 * 4096, dtype=np.uint8))


# ------------------------------------------------------------------ settings


def test_settings_may_change_while_the_planner_runs_and_bad_ones_are_refused():
    planner = TimeBoundedPlanner(Grid(field()), (0, 4), (29, 4), k=3, trace_steps=5)
    for name, good, bad in (
        ('k', 7, 0),
        ('min_improvement', 0.5, 1.0),
        ('start_tolerance', 2, -1),
        ('goal_tolerance', 3, 1.5),
    ):
        setattr(planner, name, good)
        with pytest.raises(ValueError, match=rf'{name} is {bad}'):
            setattr(planner, name, bad)
        assert getattr(planner, name) == good


def test_a_new_min_improvement_counts_for_rises_and_falls():
    costs = np.ones((3, 40), np.float32)
    planner = TimeBoundedPlanner(Grid(costs), (0, 1), (39, 1), k=FAR)
    planner.step()
    planner.min_improvement = 0.3
    costs[:, 20] = 5
    assert not planner.observe(costs)
    costs[:, 21:25] = 5
    assert planner.observe(costs)
    planner.step()
    costs[:, 21] = 1
    assert not planner.observe(costs)
    planner.min_improvement = 0.0
    costs[:, 22] = 1
    assert planner.observe(costs)
    assert planner.last_restart is RestartReason.SHORTCUT_OPENED


def test_a_new_goal_tolerance_counts_from_the_next_change_on():
    planner = TimeBoundedPlanner(Grid(field()), (0, 4), (29, 4), k=FAR)
    planner.observe(np.array([[True]]), at=(29, 4))
    assert planner.step() is Status.WAITED or planner.status is Status.NO_PATH
    planner.goal_tolerance = 1
    planner.observe(np.array([[True]]), at=(0, 0))
    assert planner.target != (29, 4)
    assert planner.step() is Status.MOVED


@settings(max_examples=100, deadline=None)
@given(planners())
def test_a_picture_of_the_search_shows_what_it_has_expanded_and_has_in_open(planner):
    picture = planner.search_picture()
    assert np.array_equal(picture == 50, planner.expanded)
    opened = {(int(x), int(y)) for y, x in np.argwhere(picture == 100)}
    assert opened == {cell for cell, _, _ in planner.open_cells()}
    assert set(np.unique(picture)) <= {-1, 50, 100}
