"""The planner against the pseudo-code in dicts and heapq, and its costs against SciPy's Dijkstra."""

import math
from itertools import pairwise

import numpy as np
import pytest
from helpers.oracle import Oracle, Rules, SlicedOracle, Terrain, true_distance, true_distances
from helpers.strategies import (
    LOOKAHEADS,
    WEIGHTS,
    Problem,
    freed,
    patched,
    problems,
    repainted,
    restarting_algorithms,
    static_algorithms,
    weights_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_planner import (
    Resources,
    Static,
    Status,
    TimeBoundedPlanner,
    find_path,
    move_to_goal,
    rtba_star,
    tb_gbfs,
    tb_wa_star,
    tba_star,
    tbaa_star,
)

OPTIMAL = (tba_star(), tb_wa_star(1.0), rtba_star(), tbaa_star(), tba_star(ties='larger_g'), tba_star(reopen=True))


def check_plan(problem: Problem, algorithm, w: float) -> None:
    """The plan is a legal path from start to goal of the cost it states, within w of optimal; or there is none."""
    terrain = problem.terrain()
    optimal = true_distance(terrain, problem.start, problem.goal)
    plan = find_path(problem.grid(), problem.start, problem.goal, algorithm)
    if optimal == math.inf:
        assert plan.status is Status.NO_PATH
        return
    assert plan.status is Status.AT_GOAL
    assert (plan.cells[0], plan.cells[-1]) == (problem.start, problem.goal)
    assert terrain.length(list(plan.cells)) == pytest.approx(plan.cost, rel=1e-9)
    assert optimal * (1 - 1e-9) <= plan.cost
    assert plan.cost <= w * optimal * (1 + 1e-6) or w == math.inf


@settings(max_examples=1500)
@given(problems(), st.sampled_from(OPTIMAL))
def test_optimal_algorithms_find_the_costs_of_dijkstra(problem, algorithm):
    check_plan(problem, algorithm, w=1.0)


@settings(max_examples=1000)
@given(problems(), st.sampled_from(WEIGHTS), st.booleans(), st.sampled_from(('lifo', 'larger_g')))
def test_weighted_plans_cost_at_most_w_times_the_optimum(problem, w, reopen, ties):
    check_plan(problem, tb_wa_star(w, reopen=reopen, ties=ties), w)


@pytest.mark.parametrize(('w', 'w_g', 'w_h'), [(1, 1, 1), (1.4, 5, 7), (2.6, 5, 13), (1.999, 100, 199), (1.0099, 1, 1)])
def test_a_weight_is_exact_to_hundredths_and_never_rounded_up(w, w_g, w_h):
    assert (tb_wa_star(w).w_g, tb_wa_star(w).w_h) == (w_g, w_h)


@settings(max_examples=500)
@given(problems(), st.sampled_from(('lifo', 'larger_g')))
def test_greedy_search_finds_a_path_whenever_there_is_one(problem, ties):
    check_plan(problem, tb_gbfs(ties=ties), w=math.inf)


class Pair:
    """The planner and the oracle on the same problem, compared after every half of an interval."""

    def __init__(self, problem: Problem, algorithm, rules, k: int) -> None:
        self.problem, self.values = problem, problem.values
        self.planner = TimeBoundedPlanner(problem.grid(), problem.start, problem.goal, algorithm, k)
        self.oracle = Oracle(problem.terrain(), problem.start, problem.goal, rules, k)

    def arrived(self) -> bool:
        assert self.planner.current_cell == self.oracle.s_current
        return self.oracle.s_current == self.problem.goal

    def interval(self) -> bool:
        """One interval of both; False if there is no path."""
        solvable = self.oracle.search_interval()
        self.planner.search()
        assert (self.planner.status is Status.NO_PATH) == (not solvable)
        self.compare_trees()
        if solvable:
            self.compare_paths()
            moved = self.oracle.move()
            assert (self.planner.move() in (Status.MOVED, Status.AT_GOAL)) == moved
            assert self.planner.current_cell == self.oracle.s_current
        return solvable

    def compare_trees(self) -> None:
        """What both have closed and what is in Open."""
        oracle, planner = self.oracle, self.planner
        ys, xs = np.nonzero(planner.expanded)
        assert set(zip(xs.tolist(), ys.tolist(), strict=True)) == oracle.is_closed
        assert planner.expansions == oracle.expansions
        assert planner.searches == oracle.searchnumber
        assert planner.goal_found == oracle.goal_found
        assert {cell for cell, _, _ in planner.open_cells()} == oracle.open_cells()

    def compare_paths(self) -> None:
        """Where both will go. A search just restarted has no path yet."""
        assert list(self.planner.path) == (self.oracle.path or [self.oracle.s_root])
        assert list(self.planner.route) == self.oracle.route

    def change(self, patch: np.ndarray, at: tuple[int, int]) -> None:
        """The same patch for both; they must agree on whether to restart."""
        self.values = patched(self.values, patch, at)
        expected = self.oracle.observe(self.problem.terrain(self.values))
        assert self.planner.observe(patch, at=at) == expected


def run_static(problem, algorithm, rules, k) -> None:
    pair = Pair(problem, algorithm, rules, k)
    while not pair.arrived() and pair.interval():
        pass


@settings(max_examples=800)
@given(problems(), static_algorithms(), st.sampled_from(LOOKAHEADS))
def test_every_interval_on_a_static_map_is_that_of_the_oracle(problem, algorithm, k):
    run_static(problem, *algorithm, k)


@settings(max_examples=300)
@given(problems(), static_algorithms(), st.sampled_from(LOOKAHEADS))
def test_a_run_counts_what_the_oracle_counts(problem, algorithm, k):
    algorithm, rules = algorithm
    oracle = Oracle(problem.terrain(), problem.start, problem.goal, rules, k)
    walked, intervals, solvable = [problem.start], 0, True
    while solvable and walked[-1] != problem.goal:
        intervals += 1
        solvable = oracle.search_interval()
        if solvable:
            oracle.move()
            walked.append(oracle.s_current)
    planner = TimeBoundedPlanner(problem.grid(), problem.start, problem.goal, algorithm, k)
    run = move_to_goal(planner, Static(problem.grid()), non_optimal=True)
    assert run.status is (Status.AT_GOAL if solvable else Status.NO_PATH)
    assert run.cells == walked
    assert (run.moves, run.back_moves, run.intervals) == (len(walked) - 1, oracle.back_moves, intervals)
    assert (run.expansions, run.searches) == (oracle.expansions, 1)
    assert run.cost == pytest.approx(problem.terrain().length(walked))
    assert run.search_time_s >= 0
    if solvable:
        assert run.non_optimal_moves == count_non_optimal(problem, walked)


@settings(max_examples=300)
@given(problems(), st.sampled_from((1.0, 1.4, 3.0)), st.sampled_from(LOOKAHEADS))
def test_a_shortcut_never_increases_the_cost_of_a_run(problem, w, k):
    """Until the goal is found it changes nothing; from then on it is taken only if it is shorter."""
    costs = []
    for shortcut in (False, True):
        algorithm = tb_wa_star(w, shortcut=shortcut)
        planner = TimeBoundedPlanner(problem.grid(), problem.start, problem.goal, algorithm, k)
        run = move_to_goal(planner, Static(problem.grid()))
        assert problem.terrain().length(run.cells) == pytest.approx(run.cost)
        costs.append(run.cost)
    assert costs[1] <= costs[0] * (1 + 1e-6)


def count_non_optimal(problem, walked) -> int:
    """Moves that lie on no cost-minimal path to the goal."""
    terrain = problem.terrain()
    left = true_distances(terrain, problem.goal)
    return sum(left[v] + terrain.length([u, v]) > left[u] * (1 + 1e-9) + 1e-9 for u, v in pairwise(walked))


@settings(max_examples=300)
@given(problems(max_side=7), static_algorithms(), st.just(1))
def test_states_are_expanded_in_the_order_of_the_oracle(problem, algorithm, k):
    run_static(problem, *algorithm, k)


def run_sliced(problem, algorithm, rules, resources) -> int:
    """Algorithm 1 of 2009 beside the planner; returns how often the agent stood at the end of its path."""
    n_e, n_t, n_t_found = resources.expansions, resources.trace_steps, resources.trace_steps_found
    oracle = SlicedOracle(problem.terrain(), problem.start, problem.goal, rules, n_e, n_t, n_t_found)
    planner = TimeBoundedPlanner(problem.grid(), problem.start, problem.goal, algorithm, resources)
    ends = 0
    for _ in range(1000):
        if oracle.s_current == problem.goal:
            assert planner.status is Status.AT_GOAL
            break
        ends += oracle.follow[-1:] == [oracle.s_current]
        solvable = oracle.interval()
        assert (planner.step() is Status.NO_PATH) == (not solvable)
        assert planner.expansions == oracle.expansions
        assert planner.current_cell == oracle.s_current
        if not solvable:
            break
    return ends


def test_resources_are_divided_as_in_the_2009_paper():
    resources = Resources(25, r=0.9, c=10)
    assert (resources.expansions, resources.trace_steps, resources.trace_steps_found) == (22, 30, 250)


@settings(max_examples=400)
@given(
    problems(weighted=False),
    static_algorithms(),
    st.integers(4, 40),
    st.sampled_from((0.3, 0.9)),
    st.sampled_from((1, 10)),
)
def test_every_interval_with_sliced_trace_back_is_that_of_the_2009_paper(problem, algorithm, resource, r, c):
    run_sliced(problem, *algorithm, Resources(resource, r, c))


@pytest.mark.parametrize('resources', [Resources(2, 0.5, 1), Resources(5, 0.5, 2), Resources(7, 0.9, 1)], ids=str)
def test_agents_that_outrun_their_trace_backtrack_as_in_the_2009_paper(resources):
    """Where tracing is slow the agent comes to the end of its path before a new one is there."""
    start, goal = (0, 0), (29, 19)
    ends = 0
    for seed in range(12):
        problem = Problem(freed(noise((20, 30), 0.25, seed), start, goal), 8, False, start, goal)
        ends += run_sliced(problem, tba_star(ties='larger_g'), Rules(ties='larger_g'), resources)
    assert ends > 5


@settings(max_examples=300)
@given(problems(), static_algorithms(reopen=True))
def test_closed_states_reopen_as_printed_if_asked_to(problem, algorithm):
    algorithm, rules = algorithm
    plan = find_path(problem.grid(), problem.start, problem.goal, algorithm)
    oracle = Oracle(problem.terrain(), problem.start, problem.goal, rules, 1)
    found = oracle.best_first_search(10**6)
    assert (plan.status is Status.AT_GOAL) == found
    assert plan.expansions == oracle.expansions
    assert list(plan.cells) == (oracle.path if found else [])


@settings(max_examples=800)
@given(problems(), restarting_algorithms(), st.sampled_from(LOOKAHEADS), st.data())
def test_every_interval_on_a_changing_map_is_that_of_the_oracle(problem, algorithm, k, data):
    pair = Pair(problem, *algorithm, k)
    every = data.draw(st.integers(1, 4))
    for interval in range(200):
        if interval % every == 0 and interval < 8 * every:
            kept = (pair.oracle.s_current, problem.goal)
            pair.change(*repainted(data.draw, pair.values, *kept))
        if pair.arrived() or not pair.interval():
            break


@settings(max_examples=300)
@given(problems(), st.sampled_from(OPTIMAL), st.lists(st.integers(1, 7), min_size=1, max_size=4), st.data())
def test_a_search_interrupted_by_changes_ends_optimal_for_the_last_map(problem, algorithm, slices, data):
    planner = TimeBoundedPlanner(problem.grid(), problem.start, problem.goal, algorithm, k=1)
    values = problem.values
    for expansions in slices:
        planner.search(expansions)
        patch, at = repainted(data.draw, values, problem.start, problem.goal)
        values = patched(values, patch, at)
        planner.observe(patch, at=at)
    # a goal that moves away and back starts the last search, on the map as it is now
    planner.new_goal(problem.start)
    planner.new_goal(problem.goal)
    planner.search(10**6)
    optimal = true_distance(problem.terrain(values), problem.start, problem.goal)
    if optimal == math.inf:
        assert planner.status is Status.NO_PATH
    elif problem.start != problem.goal:
        assert problem.terrain(values).length(list(planner.path)) == pytest.approx(optimal, rel=1e-6)


def noise(shape, density, seed):
    return np.random.default_rng(seed).random(shape) < density


def serpentine(side):
    """Walls in every second row, with a gap at alternating ends: the longest path there is."""
    blocked = np.zeros((side, side), dtype=bool)
    blocked[1::2] = True
    blocked[1::4, -1] = False
    blocked[3::4, 0] = False
    return blocked


def hills(shape, seed):
    """Costs from 1 to 12, not smooth, and a few obstacles."""
    rng = np.random.default_rng(seed)
    costs = np.exp(rng.uniform(0, math.log(12), shape))
    return np.where(rng.random(shape) < 0.1, np.inf, np.round(costs * 16) / 16).astype(np.float32)


LARGER = {
    'random': noise((60, 80), 0.3, 1),
    'solvable': noise((60, 80), 0.2, 4),
    'open': np.zeros((50, 90), dtype=bool),
    'sparse': noise((90, 50), 0.1, 2),
    'serpentine': serpentine(61),
    'hills': hills((40, 50), 3),
    'row': np.zeros((1, 400), dtype=bool),
}


@pytest.mark.parametrize('w', [1.0, 1.01, 3.0, 99.99])
@pytest.mark.parametrize('ties', ['lifo', 'larger_g'])
@pytest.mark.parametrize('name', LARGER)
def test_larger_maps_are_searched_in_the_order_of_the_oracle(name, ties, w):
    height, width = LARGER[name].shape
    start, goal = (0, 0), (width - 1, height - 1)
    problem = Problem(freed(LARGER[name], start, goal), 8, False, start, goal)
    rules = Rules(*weights_of(w), 'lazy', False, False, ties)
    pair = Pair(problem, tb_wa_star(w, ties=ties), rules, k=max(1, height * width // 23))
    solvable = True
    while solvable and not pair.oracle.goal_found:
        solvable = pair.interval()
    optimal = true_distance(problem.terrain(), start, goal)
    assert solvable == (optimal < math.inf)
    if solvable:
        assert Terrain(problem.values).length(pair.oracle.path) <= w * optimal * (1 + 1e-6)
