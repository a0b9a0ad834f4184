"""The papers' theorems, run after run, against SciPy's Dijkstra.

The 2014 paper: Theorem 1 (completeness), Theorem 2 (a bound on the cost on a static map), Theorem 3 (the path of a
lazily restarted search on a changing map). The 2012 paper: Theorem 2 (repeated runs end on a cost-minimal path).
"""

import math

import numpy as np
import pytest
from helpers.oracle import Terrain, true_distance, true_distances
from helpers.random_maps import random_problem, random_rules, random_values
from helpers.strategies import WEIGHTS, freed_in, patched

from tb_planner import (
    Grid,
    Static,
    Status,
    TimeBoundedPlanner,
    Unknown,
    find_path,
    move_to_goal,
    rtba_star,
    tb_gbfs,
    tb_wa_star,
    tba_star,
    tbaa_star,
)

FAR = 10**6
ALL_ALGORITHMS = (tba_star(), tb_wa_star(2.2), tb_gbfs(), rtba_star(), tbaa_star())


def name_of(algorithm):
    return algorithm.name


def random_map(rng, weighted=False, max_side=9, densities=(0.0, 0.15, 0.3)):
    return random_problem(rng, tuple(rng.integers(2, max_side + 1, 2)), densities, weighted)


def test_theorem_2_of_2014_bounds_the_cost_of_ten_thousand_runs(record_property):
    """cost <= floor((N(w) - 1) / k) c+ + 2 w c*, where N(w) - 1 states are expanded before the goal is found."""
    rng = np.random.default_rng(2014)
    runs, tightest = 0, math.inf
    while runs < 10_000:
        values, start, goal = random_map(rng, weighted=bool(rng.integers(2)))
        shape = random_rules(rng)
        terrain = Terrain(values, **shape)
        optimal = true_distances(terrain, start).get(goal, math.inf)
        if optimal in (0, math.inf):
            continue
        largest = terrain.largest_edge_cost()
        for _ in range(10):
            w, k = float(rng.choice(WEIGHTS)), int(rng.choice((1, 2, 3, 5, 16, 64)))
            algorithm = tb_wa_star(w, ties=str(rng.choice(('lifo', 'larger_g'))))
            expansions = find_path(Grid(values, **shape), start, goal, algorithm).expansions
            planner = TimeBoundedPlanner(Grid(values, **shape), start, goal, algorithm, k)
            run = move_to_goal(planner, Static(Grid(values, **shape)))
            bound = expansions // k * largest + 2 * w * optimal
            assert run.status is Status.AT_GOAL
            assert run.cost <= bound * (1 + 1e-6), (values, start, goal, shape, w, k)
            tightest = min(tightest, bound / run.cost)
            runs += 1
    record_property('runs', runs)
    record_property('tightest_bound_over_cost', tightest)
    print(f'Theorem 2 (2014): {runs} runs, the bound is at least {tightest:.3f} times the cost')


class ChangingMap:
    """Patches of new values, laid on the map after every move; the agent's cell and the goal stay free."""

    def __init__(self, rng, values):
        self.rng, self.values = rng, values

    def change(self, *kept):
        height, width = self.values.shape
        x, y = int(self.rng.integers(width)), int(self.rng.integers(height))
        shape = int(self.rng.integers(1, height - y + 1)), int(self.rng.integers(1, width - x + 1))
        patch = random_values(self.rng, shape, (0.0, 0.2, 0.4), weighted=self.values.dtype != bool)
        patch = freed_in(patch, (x, y), kept)
        self.values = patched(self.values, patch, (x, y))
        return patch, (x, y)


def paths_followed(rng, w, runs):
    """Pairs (cost of the path left, optimal cost) of every interval of agents with unbounded k on changing maps."""
    for _ in range(runs):
        values, start, goal = random_map(rng, weighted=bool(rng.integers(2)), max_side=10)
        shape = random_rules(rng)
        terrain = ChangingMap(rng, values)
        planner = TimeBoundedPlanner(Grid(values, **shape), start, goal, tb_wa_star(w, restart='lazy'), k=FAR)
        for _ in range(30):
            planner.search()
            if planner.status is Status.NO_PATH or planner.current_cell == goal:
                break
            if planner.goal_found:
                now = Terrain(terrain.values, **shape)
                yield now.length(list(planner.route)), true_distance(now, planner.current_cell, goal)
            planner.move()
            patch, at = terrain.change(planner.current_cell, goal)
            planner.observe(patch, at=at)


def test_theorem_3_of_2014_holds_for_w_1_and_unbounded_lookahead(record_property):
    """The path followed is optimal on every map, though the search restarts only now and then."""
    checked = 0
    for cost, optimal in paths_followed(np.random.default_rng(3), 1.0, runs=600):
        assert cost == pytest.approx(optimal, rel=1e-6)
        checked += 1
    assert checked > 1000
    record_property('paths_checked', checked)


@pytest.mark.parametrize('increased', [(3, 2), (3, 3), (3, 4), (4, 3), (4, 2)])
def test_theorem_3_of_2014_holds_when_the_route_rises_after_it_has_fallen(increased):
    """A gate in a wall gets cheaper, which changes no route; then one of the many routes behind it costs more."""
    costs = np.ones((5, 5), dtype=np.float32)
    costs[:, 2], costs[2, 2] = np.inf, 2
    planner = TimeBoundedPlanner(Grid(costs, neighbours=4), (0, 0), (4, 4), tba_star(), k=FAR)
    planner.step()
    for cell, cost in (((2, 2), 1.0), (increased, 1.5)):
        patch = np.array([[cost]], dtype=np.float32)
        costs = patched(costs, patch, cell)
        planner.observe(patch, at=cell)
    planner.search()
    now = Terrain(costs, neighbours=4)
    assert now.length(list(planner.route)) == true_distance(now, planner.current_cell, (4, 4))


@pytest.mark.parametrize('w', [1.4, 2.2, 3.0])
def test_theorem_3_of_2014_is_counted_for_greater_weights(w, record_property):
    """A suffix of a weighted path is not itself bounded by w, so that violations are counted, not refused."""
    ratios = [cost / optimal for cost, optimal in paths_followed(np.random.default_rng(4), w, runs=300)]
    violations = sum(ratio > w * (1 + 1e-6) for ratio in ratios)
    assert len(ratios) > 500
    assert all(math.isfinite(ratio) for ratio in ratios), 'the path ahead is never blocked'
    record_property('paths_checked', len(ratios))
    record_property('violations', violations)
    record_property('worst_ratio_to_optimal', max(ratios))
    print(f'Theorem 3 (2014), w = {w}: {violations} of {len(ratios)} paths above w c*, the worst {max(ratios):.3f} c*')


def split_by_a_wall():
    blocked = np.zeros((7, 9), dtype=bool)
    blocked[:, 4] = True
    return blocked


@pytest.mark.parametrize('k', [1, 3, 64])
@pytest.mark.parametrize('algorithm', ALL_ALGORITHMS, ids=name_of)
def test_theorem_1_unsolvable_problems_end_with_no_path(algorithm, k):
    planner = TimeBoundedPlanner(Grid(split_by_a_wall()), (0, 3), (8, 3), algorithm, k)
    run = move_to_goal(planner, Static(Grid(split_by_a_wall())))
    assert run.status is Status.NO_PATH
    assert planner.status is Status.NO_PATH


@pytest.mark.parametrize('k', [1, 5, 64])
@pytest.mark.parametrize('algorithm', [rtba_star(), tbaa_star(), tba_star(restart='path_cost_increased')], ids=name_of)
def test_theorem_1_of_2012_unknown_walls_end_with_no_path(algorithm, k):
    planner = TimeBoundedPlanner(Grid(np.zeros((7, 9), dtype=bool)), (0, 3), (8, 3), algorithm, k)
    run = move_to_goal(planner, Unknown(Grid(split_by_a_wall()), sensor_radius=1))
    assert run.status is Status.NO_PATH


@pytest.mark.parametrize('k', [1, 4, 64])
@pytest.mark.parametrize('restart', ['eager', 'lazy', 'path_cost_increased'])
@pytest.mark.parametrize('algorithm', [tba_star, lambda **o: tb_wa_star(2.2, **o), tb_gbfs], ids=['1', '2.2', 'gbfs'])
def test_theorem_1_a_map_that_closes_ends_with_no_path_and_one_that_opens_is_solved(algorithm, restart, k):
    planner = TimeBoundedPlanner(Grid(np.zeros((7, 9), dtype=bool)), (0, 3), (8, 3), algorithm(restart=restart), k)
    for _ in range(2):
        assert planner.step() is Status.MOVED
    planner.observe(split_by_a_wall())
    status = [planner.step() for _ in range(100)]
    assert Status.NO_PATH in status
    assert status[-1] is Status.NO_PATH
    opened = split_by_a_wall()
    opened[6, 4] = False
    planner.observe(opened)
    status = [planner.step() for _ in range(200)]
    assert Status.NO_PATH not in status
    assert planner.current_cell == (8, 3)


@pytest.mark.parametrize('algorithm', ALL_ALGORITHMS, ids=name_of)
def test_theorem_1_on_random_maps_agents_arrive_if_and_only_if_there_is_a_path(algorithm):
    rng = np.random.default_rng(1)
    ended = {Status.AT_GOAL: 0, Status.NO_PATH: 0}
    for _ in range(150):
        values, start, goal = random_map(rng, weighted=bool(rng.integers(2)), densities=(0.35,))
        shape = random_rules(rng)
        solvable = true_distance(Terrain(values, **shape), start, goal) < math.inf
        planner = TimeBoundedPlanner(Grid(values, **shape), start, goal, algorithm, k=int(rng.choice((1, 2, 7, 50))))
        run = move_to_goal(planner, Static(Grid(values, **shape)))
        assert run.status is (Status.AT_GOAL if solvable else Status.NO_PATH)
        ended[run.status] += 1
    assert min(ended.values()) > 20


@pytest.mark.parametrize('algorithm', ALL_ALGORITHMS, ids=name_of)
def test_theorem_1_on_maps_that_change_and_then_rest(algorithm):
    """After some changes the map stays as it is: then the agent arrives if and only if there is a path on that map."""
    rng = np.random.default_rng(11)
    ended = {True: 0, False: 0}
    for _ in range(150):
        values, start, goal = random_map(rng, weighted=bool(rng.integers(2)), densities=(0.3,))
        shape = random_rules(rng)
        terrain = ChangingMap(rng, values)
        planner = TimeBoundedPlanner(Grid(values, **shape), start, goal, algorithm, k=int(rng.choice((1, 2, 7, 50))))
        for _ in range(6):
            for _ in range(int(rng.integers(1, 4))):
                planner.step()
            if planner.current_cell == goal:
                break
            patch, at = terrain.change(planner.current_cell, goal)
            planner.observe(patch, at=at)
        for _ in range(2000):
            if planner.step() in (Status.AT_GOAL, Status.NO_PATH):
                break
        solvable = true_distance(Terrain(terrain.values, **shape), planner.current_cell, goal) < math.inf
        assert (planner.current_cell == goal) == solvable
        assert (planner.status is Status.NO_PATH) == (not solvable)
        ended[solvable] += 1
    assert min(ended.values()) > 3


def sense(known, true, cell, neighbours):
    """The agent observes its neighbours: what it knows of them becomes what they are."""
    x, y = cell
    for dx, dy in Terrain(true, neighbours).steps:
        if 0 <= x + dx < true.shape[1] and 0 <= y + dy < true.shape[0]:
            known[y + dy, x + dx] = true[y + dy, x + dx]


@pytest.mark.parametrize('algorithm', [rtba_star(), tbaa_star()], ids=name_of)
def test_theorem_2_of_2012_repeated_runs_end_on_a_cost_minimal_path(algorithm):
    """Algorithm 4: the agent is put back to its start until a run needs no new search: its path is cost-minimal."""
    rng = np.random.default_rng(2012)
    solved = 0
    while solved < 150:
        true, start, goal = random_map(rng, max_side=12, densities=(0.3,))
        shape = random_rules(rng)
        optimal = true_distance(Terrain(true, **shape), start, goal)
        if optimal in (0, math.inf):
            continue
        known = np.zeros_like(true)
        planner = TimeBoundedPlanner(Grid(known, **shape), start, goal, algorithm, k=int(rng.choice((1, 2, 5, 30))))
        for _ in range(200):
            searches = planner.searches
            sense(known, true, planner.current_cell, shape['neighbours'])
            planner.observe(known)
            while planner.current_cell != goal:
                assert planner.step() is not Status.NO_PATH
                sense(known, true, planner.current_cell, shape['neighbours'])
                planner.observe(known)
            if planner.searches == searches:
                break
            planner.advance(start)
        assert planner.searches == searches, 'still searching after 200 runs'
        assert Terrain(true, **shape).length(list(planner.path)) == pytest.approx(optimal)
        assert planner.path[0] == start
        solved += 1
