"""RestartSearch?(): when a change of the map starts a new search, and what a new search may still know."""

import math

import numpy as np
import pytest
from helpers.oracle import EXACT, Oracle, Rules, Terrain, true_distance
from helpers.planners import UNLIMITED, open_field, planner_on, run_to_the_end
from helpers.random_maps import random_problem, random_rules
from helpers.strategies import COSTS, patched

from tb_planner import (
    GoalBlocked,
    StartBlocked,
    Status,
    rtba_star,
    tb_gbfs,
    tb_wa_star,
    tba_star,
    tbaa_star,
)

BLOCKED = np.array([[True]])
FREE = np.array([[False]])


def cost(value):
    return np.array([[value]], dtype=np.float32)


# ------------------------------------------------------------------ each rule on its own


def test_never_restarts_for_no_change():
    planner = planner_on(open_field(), (0, 2), (8, 2), tba_star(restart='never'))
    planner.step()
    assert not planner.observe(BLOCKED, at=(4, 2))
    assert not planner.observe(FREE, at=(4, 2))
    assert planner.searches == 1


def test_eager_restarts_for_every_change_and_for_changes_only():
    planner = planner_on(open_field(), (0, 2), (8, 2), tba_star(restart='eager'))
    planner.step()
    assert planner.observe(BLOCKED, at=(0, 0))
    assert not planner.observe(BLOCKED, at=(0, 0))
    assert planner.observe(FREE, at=(0, 0))
    assert planner.searches == 3


@pytest.mark.parametrize('algorithm', [tba_star(), tb_wa_star(3.0), tb_gbfs(), rtba_star(), tbaa_star()])
def test_a_blocked_cell_ahead_restarts_and_one_off_the_route_does_not(algorithm):
    planner = planner_on(open_field(), (0, 2), (8, 2), algorithm)
    planner.step()
    ahead, off = planner.route[3], (0, 0)
    assert not planner.observe(BLOCKED, at=off)
    assert planner.observe(BLOCKED, at=ahead)
    assert planner.searches == 2
    assert run_to_the_end(planner) is Status.AT_GOAL


@pytest.mark.parametrize(('algorithm', 'restarts'), [(tba_star(), True), (rtba_star(), False), (tbaa_star(), False)])
def test_a_gap_in_a_wall_restarts_a_lazy_search_only(algorithm, restarts):
    blocked = open_field()
    blocked[:4, 4] = True
    planner = planner_on(blocked, (0, 0), (8, 0), algorithm)
    planner.step()
    assert planner.observe(FREE, at=(4, 0)) == restarts


def test_a_large_weight_lets_a_small_gain_pass():
    """w c' is not below what remains of the route, though c' is."""
    blocked = open_field()
    blocked[:4, 4] = True
    planner = planner_on(blocked, (0, 3), (8, 3), tb_wa_star(3.0))
    planner.step()
    assert not planner.observe(FREE, at=(4, 3))


def test_greedy_search_never_restarts_for_a_shorter_path():
    blocked = open_field(9, 9)
    blocked[:8, 4] = True
    planner = planner_on(blocked, (3, 0), (5, 0), tb_gbfs())
    planner.step()
    assert not planner.observe(FREE, at=(4, 0))


def test_the_rule_as_printed_looks_at_path_only():
    """Algorithm 3: a cell on path that the agent has passed restarts the search; the whole-route rule lets it be."""
    for restart, restarts in (('lazy_as_printed', True), ('lazy', False)):
        planner = planner_on(open_field(9, 1), (0, 0), (8, 0), tba_star(restart=restart))
        for _ in range(4):
            planner.step()
        assert planner.observe(BLOCKED, at=(1, 0)) == restarts


# ------------------------------------------------------------------ the whole route, cell by cell


def small_problem(rng, weighted=False):
    return *random_problem(rng, tuple(rng.integers(3, 9, 2)), (0.25,), weighted), random_rules(rng)


class Replay:
    """A run up to some interval that can be had again and again, to try one change after the other on it."""

    def __init__(self, seed, algorithm, weighted=False):
        rng = np.random.default_rng(seed)
        self.algorithm = algorithm
        self.values, self.start, self.goal, self.shape = small_problem(rng, weighted)
        self.k, self.intervals = int(rng.choice((1, 2, 3, 5, UNLIMITED))), int(rng.integers(1, 8))

    def planner(self):
        planner = planner_on(self.values, self.start, self.goal, self.algorithm, self.k, **self.shape)
        for _ in range(self.intervals):
            planner.step()
        return planner

    def terrain(self, values=None):
        return Terrain(self.values if values is None else values, **self.shape)

    def cells(self, planner):
        height, width = self.values.shape
        kept = (planner.current_cell, self.goal)
        return [(x, y) for y in range(height) for x in range(width) if (x, y) not in kept]

    def is_over(self, planner):
        return planner.status is Status.NO_PATH or planner.current_cell == self.goal


def check_every_blocked_cell(replay):
    """Blocks one cell after the other; returns how many of them cut the route, and how many its backtracking moves."""
    reference = replay.planner()
    cut = cut_behind = 0
    if replay.is_over(reference):
        return cut, cut_behind
    for cell in replay.cells(reference):
        if replay.values[cell[1], cell[0]]:
            continue
        planner = replay.planner()
        route = list(planner.route)
        backtracking = route[: planner.backtracking_length + 1]
        closed = replay.terrain(patched(replay.values, BLOCKED, cell))
        illegal = closed.length(route) == math.inf
        assert planner.observe(BLOCKED, at=cell) == illegal, cell
        cut += illegal
        cut_behind += closed.length(backtracking) == math.inf
    return cut, cut_behind


@pytest.mark.parametrize('algorithm', [tba_star(), tb_wa_star(2.2), tb_gbfs(), rtba_star()], ids=lambda a: a.name)
def test_blocking_a_cell_restarts_exactly_if_a_step_of_the_route_gets_illegal(algorithm):
    cuts = [check_every_blocked_cell(Replay(seed, algorithm))[0] for seed in range(120)]
    assert sum(cuts) > 50


def cul_de_sac():
    """The path to the goal at the right is shut; the agent has to come out at the left."""
    blocked = open_field(14, 11)
    blocked[2:9, 10] = True
    blocked[2, 3:10] = blocked[8, 3:10] = True
    return blocked


@pytest.mark.parametrize('algorithm', [tba_star(), rtba_star(), tbaa_star()], ids=lambda a: a.name)
def test_blocking_a_cell_of_the_backtracking_moves_restarts(algorithm):
    """The backtracking moves are not on path: Algorithm 3 as printed would let the agent walk into the obstacle."""
    behind = 0
    for intervals in range(2, 60, 3):
        replay = Replay(0, algorithm)
        replay.values, replay.start, replay.goal = cul_de_sac(), (6, 5), (13, 5)
        replay.shape, replay.k, replay.intervals = {'neighbours': 8, 'corner_cutting': False}, 2, intervals
        behind += check_every_blocked_cell(replay)[1]
    assert behind > 5


def matters(planner, terrain, cell):
    """While the search runs a decreased cell matters if it or a cell one step from it is closed."""
    return planner.goal_found or any(planner.expanded[y, x] for x, y in (cell, *terrain.succ(cell)))


def could_shorten(planner, before, after, algorithm):
    """w c' against what remains of the route, in exact numbers, over every edge that has become cheaper."""
    oracle = Oracle(after, planner.current_cell, planner.goal, Rules(), 1, EXACT)
    route = list(planner.route)
    remaining = oracle.path_cost(route) + oracle.distance(route[-1], planner.goal)
    oracle.terrain = after
    paths_through = [
        oracle.distance(planner.current_cell, u) + new + oracle.distance(v, planner.goal)
        for (u, v), old, new in oracle.changed_edges(before)
        if new < old
    ]
    return bool(paths_through) and algorithm.w_h * min(paths_through) < algorithm.w_g * remaining


@pytest.mark.parametrize('weighted', [False, True], ids=['uniform', 'weighted'])
@pytest.mark.parametrize('algorithm', [tba_star(), tb_wa_star(1.4), tb_gbfs()], ids=lambda a: a.name)
def test_a_cheaper_cell_restarts_exactly_if_a_path_through_it_could_be_shorter(algorithm, weighted):
    restarts = passes = 0
    new = cost(1) if weighted else FREE
    for seed in range(100, 400):
        replay = Replay(seed, algorithm, weighted)
        reference = replay.planner()
        if replay.is_over(reference):
            continue
        before = replay.terrain()
        for cell in replay.cells(reference):
            after = replay.terrain(patched(replay.values, new, cell))
            if before.cost.get(cell) == after.cost[cell]:
                continue
            planner = replay.planner()
            expected = matters(planner, after, cell) and could_shorten(planner, before, after, algorithm)
            if algorithm.w_g and not planner.goal_found and after.lowest_cost < before.lowest_cost:
                expected = True  # the running search has relied on every cell to cost more
            assert planner.observe(new, at=cell) == expected, (seed, cell)
            restarts, passes = restarts + expected, passes + (not expected)
    assert passes > 50
    assert restarts > 0 or algorithm.w_g == 0


def test_a_decrease_next_to_no_closed_state_is_left_to_the_search():
    """The far end of a wall opens while the search is still near the start: it will meet the gap by itself."""
    blocked = open_field(15, 9)
    blocked[1:8, 10] = True
    planner = planner_on(blocked, (0, 4), (14, 4), tba_star(), k=4)
    planner.step()
    assert not planner.goal_found
    assert not planner.expanded[:, 9:].any()
    assert not planner.observe(FREE, at=(10, 4))
    assert run_to_the_end(planner) is Status.AT_GOAL
    assert planner.searches == 1


def test_decreases_let_pass_are_tested_again_when_the_goal_is_found():
    """Once the goal is found its path may be longer than one through a cell that has become cheaper meanwhile."""
    tested = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        values, start, goal, shape = small_problem(rng)
        if true_distance(Terrain(values, **shape), start, goal) in (0, math.inf):
            continue
        planner = planner_on(values, start, goal, tba_star(), k=int(rng.integers(1, 6)), **shape)
        began_on = {1: Terrain(values, **shape)}
        while planner.current_cell != goal:
            planner.search()
            now = Terrain(values, **shape)
            began = began_on.setdefault(planner.searches, now)
            if planner.goal_found:
                assert not could_shorten(planner, began, now, tba_star()), seed
                tested += began.cost != now.cost
                break
            planner.move()
            x, y = int(rng.integers(values.shape[1])), int(rng.integers(values.shape[0]))
            values = patched(values, FREE, (x, y))
            planner.observe(FREE, at=(x, y))
            began_on.setdefault(planner.searches, Terrain(values, **shape))
    assert tested > 20


def test_a_later_search_that_returns_to_a_cut_branch_starts_over_instead_of_walking_into_it():
    """Blocked cells off the route are let pass; when the path later runs through one the agent waits, and lives."""
    restarted = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        values, start, goal, shape = small_problem(rng)
        planner = planner_on(values, start, goal, tba_star(), k=int(rng.integers(1, 4)), **shape)
        for _ in range(60):
            if planner.current_cell == goal or planner.status is Status.NO_PATH:
                break
            searches = planner.searches
            planner.search()
            assert Terrain(values, **shape).length(list(planner.route)) < math.inf
            restarted += planner.searches - searches
            planner.move()
            x, y = int(rng.integers(values.shape[1])), int(rng.integers(values.shape[0]))
            if (x, y) not in (planner.current_cell, goal) and rng.random() < 0.5:
                values = patched(values, BLOCKED, (x, y))
                planner.observe(BLOCKED, at=(x, y))
    assert restarted > 10


# ------------------------------------------------------------------ min_improvement


def graded_field():
    return np.full((3, 21), 2.0, dtype=np.float32)


@pytest.mark.parametrize(('min_improvement', 'restarts'), [(0.0, True), (0.5, False)])
def test_a_small_increase_on_the_route_restarts_only_if_it_matters(min_improvement, restarts):
    planner = planner_on(graded_field(), (0, 1), (20, 1), tba_star(), min_improvement=min_improvement)
    planner.step()
    assert planner.observe(cost(2.5), at=(10, 1)) == restarts


@pytest.mark.parametrize('min_improvement', [0.0, 0.5, 0.9])
def test_a_blocked_route_restarts_whatever_min_improvement_is(min_improvement):
    planner = planner_on(graded_field(), (0, 1), (20, 1), tba_star(), min_improvement=min_improvement)
    planner.step()
    assert planner.observe(cost(np.inf), at=(10, 1))


@pytest.mark.parametrize(('min_improvement', 'restarts'), [(0.0, True), (0.9, False)])
def test_a_shorter_path_must_be_shorter_by_min_improvement(min_improvement, restarts):
    blocked = open_field(9, 3)
    blocked[0:2, 4] = True
    planner = planner_on(blocked, (0, 0), (8, 0), tba_star(), min_improvement=min_improvement)
    planner.step()
    assert planner.observe(FREE, at=(4, 0)) == restarts


def test_a_flickering_cell_does_not_make_the_agent_dither():
    planner = planner_on(np.ones((3, 21)), (0, 1), (20, 1), tba_star(), min_improvement=0.1)
    planner.step()
    for value in (1.5, 1.0) * 20:
        assert not planner.observe(cost(value), at=(10, 1))
    assert planner.searches == 1


def test_small_increases_that_add_up_restart_in_the_end():
    planner = planner_on(graded_field(), (0, 1), (20, 1), tba_star(), min_improvement=0.1)
    planner.step()
    increased = [planner.observe(cost(2.0 + step / 2), at=(10, 1)) for step in range(1, 20)]
    assert any(increased)
    assert not increased[0]


# ------------------------------------------------------------------ NO_PATH is about the present map


@pytest.mark.parametrize('restart', ['eager', 'lazy', 'path_cost_increased'])
@pytest.mark.parametrize('k', [1, 3, 7, UNLIMITED])
def test_no_path_is_never_returned_for_a_map_that_has_opened_meanwhile(restart, k):
    blocked = open_field(9, 7)
    blocked[:, 4] = True
    opened = blocked.copy()
    opened[0, 4] = False
    for intervals in range(0, 40):
        planner = planner_on(blocked, (0, 3), (8, 3), tba_star(restart=restart), k)
        statuses = [planner.step() for _ in range(intervals)]
        planner.observe(opened)
        assert run_to_the_end(planner) is Status.AT_GOAL
        if Status.NO_PATH in statuses:
            break
    else:
        pytest.fail('the search never came to its end')


# ------------------------------------------------------------------ learned h-values


def other_free_cell(rng, values, cell):
    """A free cell that is not the given one, or the given one if there is no other."""
    free = ~values if values.dtype == bool else np.isfinite(values)
    others = [(int(x), int(y)) for y, x in np.argwhere(free) if (x, y) != cell]
    return others[rng.integers(len(others))] if others else cell


@pytest.mark.parametrize('algorithm', [rtba_star(), tbaa_star()], ids=lambda a: a.name)
def test_a_search_on_the_map_it_began_on_ends_optimal_whatever_was_learned_before(algorithm):
    """Rises, falls and new goals: learned h-values that were kept too long would overestimate."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values, start, goal, shape = small_problem(rng, weighted=bool(rng.integers(2)))
        planner = planner_on(values, start, goal, algorithm, k=int(rng.choice((1, 3, 10))), **shape)
        began_on = {planner.searches: values}
        for _ in range(40):
            planner.step()
            began_on.setdefault(planner.searches, values)
            if planner.status is Status.NO_PATH or planner.current_cell == planner.goal or rng.random() < 0.05:
                goal = other_free_cell(rng, values, planner.current_cell)
                planner.new_goal(goal)
                began_on.setdefault(planner.searches, values)
            elif planner.goal_found and began_on[planner.searches] is values:
                length = Terrain(values, **shape).length(list(planner.path))
                optimal = true_distance(Terrain(values, **shape), planner.path[0], planner.goal)
                assert length == pytest.approx(optimal, rel=1e-6), seed
                found += 1
            if rng.random() < 0.3:
                x, y = int(rng.integers(values.shape[1])), int(rng.integers(values.shape[0]))
                if (x, y) not in (planner.current_cell, planner.goal):
                    patch = rng.random((1, 1)) < 0.6
                    if values.dtype != bool:
                        patch = np.where(patch, rng.choice(COSTS, (1, 1)), np.inf).astype(np.float32)
                    new = patched(values, patch, (x, y))
                    planner.observe(patch, at=(x, y))
                    if not np.array_equal(new, values):
                        values = new
                        began_on.setdefault(planner.searches, values)
    assert found > 200


def expansions_of_a_second_search(algorithm, change=None):
    """A search in a cul-de-sac, a rise on its path, and how much work the next search to the same goal is."""
    blocked = open_field(21, 21)
    blocked[3:18, 16] = True
    blocked[3, 4:16] = blocked[17, 4:16] = True
    values = np.where(blocked, np.inf, 1.0).astype(np.float32)
    planner = planner_on(values, (10, 10), (20, 10), algorithm)
    planner.step()
    if change is not None:
        change(planner)
    before = planner.expansions
    assert planner.observe(cost(np.inf), at=planner.route[2])
    planner.step()
    return planner.expansions - before


def test_learned_h_values_save_expansions_and_a_fall_anywhere_forgets_them():
    def fall(planner):
        # the corner's cost falls off the route, so that nothing restarts
        assert not planner.observe(cost(1.0), at=(0, 0))

    def rise_then_fall(planner):
        planner.observe(cost(3.0), at=(0, 0))
        fall(planner)

    plain = expansions_of_a_second_search(rtba_star())
    assert expansions_of_a_second_search(tbaa_star()) < plain
    assert expansions_of_a_second_search(tbaa_star(), rise_then_fall) == plain


def test_a_new_goal_forgets_what_was_learned():
    blocked = open_field(21, 21)
    blocked[3:18, 16] = True
    blocked[3, 4:16] = blocked[17, 4:16] = True
    worked = []
    for algorithm in (rtba_star(), tbaa_star()):
        planner = planner_on(blocked, (10, 10), (20, 10), algorithm)
        planner.step()
        before = planner.expansions
        planner.new_goal((20, 0))
        planner.step()
        worked.append(planner.expansions - before)
    assert worked[0] == worked[1]


# ------------------------------------------------------------------ blocked start and goal


def island():
    """A blocked disc of radius 3 around (10, 10)."""
    y, x = np.mgrid[:21, :21]
    return (x - 10) ** 2 + (y - 10) ** 2 <= 9


def test_a_blocked_start_is_left_through_the_nearest_free_cell_within_the_tolerance():
    with pytest.raises(StartBlocked, match=r'\(10, 12\)'):
        planner_on(island(), (10, 12), (0, 0), tba_star())
    with pytest.raises(StartBlocked, match=r'\(10, 12\)'):
        planner_on(island(), (10, 12), (0, 0), tba_star(), start_tolerance=1)
    planner = planner_on(island(), (10, 12), (0, 0), tba_star(), start_tolerance=2)
    assert run_to_the_end(planner) is Status.AT_GOAL
    assert planner.current_cell == (0, 0)


def test_a_blocked_goal_is_replaced_by_the_nearest_free_cell_within_the_tolerance():
    with pytest.raises(GoalBlocked, match=r'\(10, 12\)'):
        planner_on(island(), (0, 0), (10, 12), tba_star())
    with pytest.raises(GoalBlocked, match=r'\(10, 12\)'):
        planner_on(island(), (0, 0), (10, 12), tba_star(), goal_tolerance=1)
    planner = planner_on(island(), (0, 0), (10, 12), tba_star(), goal_tolerance=2)
    assert run_to_the_end(planner) is Status.AT_GOAL
    assert planner.current_cell == (9, 13)


def test_a_map_that_frees_the_goal_sends_the_agent_to_it():
    planner = planner_on(island(), (0, 0), (10, 12), tba_star(), goal_tolerance=2)
    planner.step()
    planner.observe(np.zeros((21, 21), dtype=bool))
    assert run_to_the_end(planner) is Status.AT_GOAL
    assert planner.current_cell == (10, 12)


@pytest.mark.parametrize('algorithm', [tba_star(), rtba_star(), tbaa_star()], ids=lambda a: a.name)
def test_a_goal_that_is_blocked_and_freed_during_the_walk_is_reached(algorithm):
    planner = planner_on(open_field(), (0, 2), (8, 2), algorithm, k=3)
    planner.step()
    planner.observe(BLOCKED, at=(8, 2))
    for _ in range(30):
        assert planner.step() is not Status.AT_GOAL
    planner.observe(FREE, at=(8, 2))
    assert run_to_the_end(planner) is Status.AT_GOAL
    assert planner.current_cell == (8, 2)


@pytest.mark.parametrize('algorithm', [tba_star(), rtba_star(), tbaa_star()], ids=lambda a: a.name)
def test_an_agent_whose_cell_gets_blocked_goes_on_when_it_is_freed(algorithm):
    planner = planner_on(open_field(), (0, 2), (8, 2), algorithm, k=3)
    planner.step()
    here = planner.current_cell
    planner.observe(BLOCKED, at=here)
    for _ in range(5):
        planner.step()
    planner.observe(FREE, at=here)
    assert run_to_the_end(planner) is Status.AT_GOAL
    assert planner.current_cell == (8, 2)


# ------------------------------------------------------------------ where the agent really is, and new goals


def test_advance_along_the_route_keeps_the_search_and_elsewhere_restarts_it():
    planner = planner_on(open_field(), (0, 2), (8, 2), tba_star())
    planner.step()
    ahead = planner.route[2]
    planner.advance(ahead)
    assert (planner.current_cell, planner.searches) == (ahead, 1)
    assert planner.route[0] == ahead
    planner.advance((0, 0))
    assert (planner.current_cell, planner.searches) == ((0, 0), 2)
    assert run_to_the_end(planner) is Status.AT_GOAL


def test_advance_while_backtracking_keeps_the_search():
    planner = planner_on(cul_de_sac(), (6, 5), (13, 5), tba_star(), k=2)
    while planner.backtracking_length < 2:
        assert planner.step() is Status.MOVED
    route = list(planner.route)
    planner.advance(route[1])
    assert (planner.current_cell, planner.searches) == (route[1], 1)
    assert list(planner.route) == route[1:]
    assert run_to_the_end(planner) is Status.AT_GOAL


def test_a_new_goal_starts_a_search_from_where_the_agent_is():
    planner = planner_on(open_field(), (0, 2), (8, 2), tba_star(), k=4)
    planner.step()
    planner.new_goal((8, 4))
    assert planner.goal == (8, 4)
    assert planner.searches == 2
    assert run_to_the_end(planner) is Status.AT_GOAL
    assert planner.current_cell == (8, 4)
    planner.new_goal((0, 0))
    assert run_to_the_end(planner) is Status.AT_GOAL
    assert planner.current_cell == (0, 0)


# ------------------------------------------------------------------ search numbers come round


WITH_EACH_OPEN = pytest.mark.parametrize(
    'algorithm', [tba_star(), tba_star(ties='larger_g'), tbaa_star()], ids=['lifo', 'heap', 'learn']
)


@WITH_EACH_OPEN
def test_search_numbers_that_come_round_leave_no_trace(algorithm):
    """70,000 restarts are more than a 16-bit search number can distinguish."""
    rng = np.random.default_rng(7)
    blocked = rng.random((6, 6)) < 0.2
    blocked[0, 0] = blocked[5, 5] = blocked[0, 5] = blocked[5, 0] = False
    planner = planner_on(blocked, (0, 0), (5, 5), algorithm, k=5)
    corners = [(5, 0), (0, 5), (5, 5)]
    searches = planner.searches
    while planner.searches < 70_000:
        planner.new_goal(corners[planner.searches % 3])
        if planner.searches % 7 == 0:
            planner.search()
        if planner.searches % 1009 == 0 or planner.searches in range(65_530, 65_560):
            planner.search(UNLIMITED)
            optimal = true_distance(Terrain(blocked), (0, 0), planner.goal)
            if optimal < math.inf:
                assert Terrain(blocked).length(list(planner.path)) == pytest.approx(optimal)
            else:
                assert planner.status is Status.NO_PATH
    assert planner.searches - searches >= 69_999


@WITH_EACH_OPEN
def test_a_state_of_long_ago_is_not_taken_for_one_of_the_present_search(algorithm):
    """A search closes all states it can reach. Restarts that touch none follow, until its number comes round again."""
    walls = patched(open_field(6, 6), np.array([[True, False], [True, True]]), (4, 0))
    optimal = true_distance(Terrain(walls), (0, 0), (5, 5))
    for restarts in (*range(65_533, 65_538), 32_767, 32_768):
        planner = planner_on(walls, (0, 0), (5, 0), algorithm)
        assert planner.search() is Status.NO_PATH
        planner.new_goal((5, 5))
        for _ in range(restarts - 1):
            planner.restart()
        assert not planner.expanded.any()
        planner.search()
        assert Terrain(walls).length(list(planner.path)) == pytest.approx(optimal)


def test_restarts_by_changes_go_on_past_the_last_search_number():
    planner = planner_on(open_field(4, 4), (0, 0), (3, 3), tbaa_star(), k=3)
    for _ in range(65_200):
        planner.restart()
    for restart in range(600):
        planner.search()
        planner.observe(FREE if restart % 2 else BLOCKED, at=(1, 1))
    assert planner.searches > 65_700
    planner.observe(FREE, at=(1, 1))
    planner.advance((0, 0))
    assert run_to_the_end(planner) is Status.AT_GOAL
