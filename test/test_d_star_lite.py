"""D* Lite: after every change of the map its path costs what A*'s and Dijkstra's do; its invariants and theorems."""

import math
from itertools import pairwise

import numpy as np
import pytest
from helpers.oracle import Terrain, true_distance, true_distances
from helpers.plain import load_plain
from helpers.strategies import Problem, freed, paint, patched, problems, repainted
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.baselines import d_star_lite
from benchmarks.baselines.d_star_lite_agent import DStarLite
from tb_planner import Changing, Grid, Static, Status, Unknown, find_path, move_to_goal, tba_star

FAR = 1 << 62
TIES = ('larger_g', 'smaller_g')


def search_of(agent):
    return agent._search


def kernel_cost(values, cells):
    """The cost of a path in the kernel's whole numbers."""
    t = np.full(values.shape, 16) if values.dtype == bool else np.rint(values * 16)
    return sum((1393 if x != u and y != v else 985) * int(t[y, x] + t[v, u]) for (x, y), (u, v) in pairwise(cells))


def path_cost(agent):
    """The cost of the agent's path; inf if there is none."""
    states = np.array([agent.grid.state(cell) for cell in agent.path], np.int32)
    return agent.grid.cost_of(*agent.grid.step_sums(states)) if len(states) else math.inf


def random_values(rng, shape, weighted):
    density = rng.choice((0.0, 0.1, 0.25, 0.4))
    return paint(rng.bytes(shape[0] * shape[1]), shape, density, weighted)


def random_problem(rng, max_side=20):
    height, width = (int(n) for n in rng.integers(2, max_side, 2))
    weighted = bool(rng.random() < 0.5)
    start, goal = ((int(rng.integers(width)), int(rng.integers(height))) for _ in range(2))
    values = freed(random_values(rng, (height, width), weighted), start, goal)
    return Problem(values, int(rng.choice((4, 8, 8))), bool(rng.random() < 0.5), start, goal)


def random_patch(rng, values, *kept):
    height, width = values.shape
    x, y = int(rng.integers(width)), int(rng.integers(height))
    shape = int(rng.integers(1, min(height - y, 6) + 1)), int(rng.integers(1, min(width - x, 6) + 1))
    patch = random_values(rng, shape, values.dtype != bool)
    inside = [(u - x, v - y) for u, v in kept if 0 <= u - x < shape[1] and 0 <= v - y < shape[0]]
    return freed(patch, *inside), (x, y)


def end_search(agent):
    """Searches in slices, as an agent would, with a limit."""
    for _ in range(4 * agent.grid.width * agent.grid.height // agent.k + 2):
        if agent.search():
            return
    raise AssertionError('every state has been expanded more than twice')


def assert_u_holds_the_inconsistent_states(agent):
    """U is a heap of the states with g != rhs, with keys that are not above their present ones."""
    g, rhs = search_of(agent).values()
    states, first, second = search_of(agent).in_queue()
    assert sorted(states) == sorted(np.flatnonzero(g != rhs))
    keys = list(zip(first.tolist(), second.tolist()))
    assert all(keys[(i - 1) // 2] <= keys[i] for i in range(1, len(keys)))


# ---------------------------------------------------------------------- path costs
@pytest.mark.parametrize('ties', TIES)
def test_after_each_of_five_thousand_changes_the_path_costs_what_that_of_a_star_costs(ties):
    rng = np.random.default_rng(4)
    changes = rises = falls = searched = 0
    while changes < 5000:
        problem = random_problem(rng)
        values, agent = problem.values, DStarLite(problem.grid(), problem.start, problem.goal, 7, ties=ties)
        for _ in range(60):
            if agent.status == Status.AT_GOAL:
                break
            patch, at = random_patch(rng, values, agent.current_cell, problem.goal)
            values = patched(values, patch, at)
            change = agent.grid.update(patch, at)
            searched += agent.map_changed(change)
            changes, rises, falls = changes + 1, rises + len(change.increased), falls + len(change.decreased)
            if rng.random() < 0.3:  # the next change comes during the search
                agent.search()
                continue
            end_search(agent)
            fresh = Grid(values, neighbours=problem.neighbours, corner_cutting=problem.corner_cutting)
            plan = find_path(fresh, agent.current_cell, problem.goal)
            assert kernel_cost(values, agent.path) == kernel_cost(values, plan.cells)
            assert path_cost(agent) == pytest.approx(plan.cost, rel=1e-12)
            assert bool(agent.path) == bool(plan.cells)
            agent.run(int(rng.integers(1, 4)))
    assert min(rises, falls, searched) > 1000


@given(problems(), st.sampled_from(TIES), st.sampled_from((1, 3, 1000)), st.data())
@settings(max_examples=60)
def test_path_costs_and_distances_are_those_of_dijkstra(problem, ties, k, data):
    agent, values = DStarLite(problem.grid(), problem.start, problem.goal, k, ties=ties), problem.values
    for _ in range(4):
        end_search(agent)
        distance = true_distance(problem.terrain(values), agent.current_cell, problem.goal)
        assert path_cost(agent) == pytest.approx(distance, rel=1e-12)
        assert problem.terrain(values).length(agent.path) == pytest.approx(distance, rel=1e-12) or not agent.path
        assert_u_holds_the_inconsistent_states(agent)
        if agent.status == Status.AT_GOAL:
            break
        agent.step()
        patch, at = repainted(data.draw, values, agent.current_cell, problem.goal)
        values = patched(values, patch, at)
        agent.observe(patch, at)
        assert_u_holds_the_inconsistent_states(agent)


@pytest.mark.parametrize('ties', TIES)
def test_steps_taken_are_those_of_a_shortest_path(ties):
    rng = np.random.default_rng(5)
    arrived = 0
    for _ in range(60):
        problem = random_problem(rng)
        run = move_to_goal(
            DStarLite(problem.grid(), problem.start, problem.goal, 10, ties=ties),
            Static(problem.grid()),
            non_optimal=True,
        )
        distance = true_distance(problem.terrain(), problem.start, problem.goal)
        assert (run.status == Status.AT_GOAL) == math.isfinite(distance)
        if run.status == Status.AT_GOAL:
            arrived += 1
            assert run.cost == pytest.approx(distance, rel=1e-12)
            assert run.non_optimal_moves == 0
    assert arrived > 20


# ---------------------------------------------------------------------- expansions
@given(problems(), st.sampled_from(TIES))
@settings(max_examples=60)
def test_the_first_search_expands_what_a_star_must_and_nothing_that_it_may_not(problem, ties):
    """The search expands all states with f < c* and none with f > c*; g is the distance from the goal."""
    agent = DStarLite(problem.grid(), problem.start, problem.goal, 10**6, ties=ties)
    end_search(agent)
    g, rhs = search_of(agent).values()
    distance = true_distances(problem.terrain(), problem.goal)
    shortest = distance.get(problem.start, math.inf)
    straight, diagonal = 1.0, math.sqrt(2) if problem.neighbours == 8 else 2.0
    for (x, y), d in distance.items():
        dx, dy = sorted((abs(x - problem.start[0]), abs(y - problem.start[1])))
        f = d + diagonal * dx + straight * (dy - dx)
        state = agent.grid.state((x, y))
        expanded = g[state] == rhs[state] < FAR
        if f < shortest - 1e-5:
            assert expanded or (x, y) == problem.start
        if f > shortest + 1e-5:
            assert not expanded
    assert agent.figures.expansions == np.count_nonzero(g < FAR)


@pytest.mark.parametrize('ties', TIES)
def test_no_state_is_expanded_more_than_twice_in_a_search(ties):
    """Theorem of D* Lite's paper: at most once each to have its value raised and lowered."""
    rng = np.random.default_rng(6)
    twice = 0
    for _ in range(400):
        problem = random_problem(rng, max_side=12)
        agent, values = DStarLite(problem.grid(), problem.start, problem.goal, 1, ties=ties), problem.values
        for _ in range(8):
            if agent.status == Status.AT_GOAL:
                break
            times = np.zeros((2, values.size), int)
            g, _ = search_of(agent).values()
            before = agent.figures.expansions
            while not agent.search():
                now, _ = search_of(agent).values()
                times[0] += now < g
                times[1] += now > g
                assert np.count_nonzero(now != g) == 1
                g = now
            now, _ = search_of(agent).values()
            times += now < g, now > g
            assert times.sum() == agent.figures.expansions - before
            assert times.max() <= 1
            twice += np.count_nonzero(times.sum(axis=0) == 2)
            agent.step()
            patch, at = random_patch(rng, values, agent.current_cell, problem.goal)
            values = patched(values, patch, at)
            agent.observe(patch, at)
    assert twice > 20


def test_open_ground_takes_as_many_expansions_as_steps_if_the_larger_g_goes_first():
    start, goal = (3, 4), (60, 30)
    for ties, expansions in (('larger_g', range(57, 58)), ('smaller_g', range(500, 10**6))):
        agent = DStarLite(Grid(np.zeros((64, 64), bool)), start, goal, 10**6, ties=ties)
        end_search(agent)
        assert agent.figures.expansions in expansions


def test_changes_that_do_not_matter_to_the_path_take_no_expansion():
    grid = Grid(np.zeros((40, 40), bool))
    agent = DStarLite(grid, (5, 20), (35, 20), 1000)
    end_search(agent)
    before = agent.figures
    assert not agent.observe(np.ones((3, 3), bool), (2, 2))
    assert not agent.observe(np.zeros((3, 3), bool), (2, 2))
    assert agent.run(3).tolist() == [grid.state((x, 20)) for x in (6, 7, 8)]
    assert agent.figures.expansions == before.expansions
    assert agent.figures.searches == 1


def test_k_m_is_the_sum_of_h_between_the_places_where_the_map_changed():
    agent = DStarLite(Grid(np.zeros((20, 40), bool)), (5, 10), (35, 10), 1000)
    for moves in (3, 4):
        agent.run(moves)
        agent.observe(~agent.grid.blocked[:1, :1], (0, 0))
    assert search_of(agent).k_m == 7 * 985


def test_a_repair_takes_fewer_expansions_than_a_search_from_scratch():
    rng = np.random.default_rng(7)
    blocked = rng.random((150, 150)) < 0.2
    blocked[5, 5] = blocked[140, 140] = False
    agent = DStarLite(Grid(blocked), (5, 5), (140, 140), 10**6)
    agent.run(40)
    first = agent.figures.expansions
    x, y = agent.path[3]
    assert agent.observe(np.ones((1, 1), bool), (x, y))
    end_search(agent)
    blocked[y, x] = True
    scratch = find_path(Grid(blocked), agent.current_cell, (140, 140), tba_star(ties='larger_g'))
    assert path_cost(agent) == pytest.approx(scratch.cost, rel=1e-12)
    assert 0 < agent.figures.expansions - first < scratch.expansions / 5


# ---------------------------------------------------------------------- the agent
def test_an_agent_waits_while_it_searches_and_moves_in_the_interval_in_which_the_search_ends():
    grid = Grid(np.zeros((30, 30), bool))
    at_once = DStarLite(grid, (2, 3), (25, 9), 10**6)
    at_once.search()
    n = at_once.figures.expansions
    for k in (1, 5, n - 1, n, n + 1):
        run = move_to_goal(DStarLite(grid, (2, 3), (25, 9), k), Static(grid))
        assert run.status == Status.AT_GOAL
        assert run.moves == 23
        assert run.intervals == 23 + math.ceil(n / k) - 1
        assert run.expansions == n
        assert run.searches == 1


def test_slices_of_the_search_do_not_change_it():
    rng = np.random.default_rng(9)
    for seed in range(15):
        blocked = rng.random((25, 25)) < 0.25
        blocked[0, 0] = blocked[24, 24] = False
        runs = [
            move_to_goal(DStarLite(Grid(blocked), (0, 0), (24, 24), k), Changing(Grid(blocked), 10, every=3, seed=seed))
            for k in (1, 40, 10**6)
        ]
        assert len({(tuple(run.cells), run.expansions, run.searches, run.status) for run in runs}) == 1
        assert runs[0].intervals > runs[-1].intervals or runs[0].expansions == runs[0].searches


@pytest.mark.parametrize('ties', TIES)
def test_agents_arrive_in_unknown_terrain_if_and_only_if_there_is_a_path(ties):
    rng = np.random.default_rng(10)
    statuses = []
    for _ in range(40):
        problem = random_problem(rng)
        world = Unknown(problem.grid())
        run = move_to_goal(DStarLite(world.initial_grid(), problem.start, problem.goal, 20, ties=ties), world)
        solvable = math.isfinite(true_distance(problem.terrain(), problem.start, problem.goal))
        assert run.status == (Status.AT_GOAL if solvable else Status.NO_PATH)
        statuses.append(run.status)
    assert {Status.AT_GOAL, Status.NO_PATH} == set(statuses)


def test_a_path_that_a_later_map_opens_is_found():
    wall = np.zeros((5, 7), bool)
    wall[:, 3] = True
    agent = DStarLite(Grid(wall), (1, 2), (5, 2), 100)
    assert agent.step() == Status.NO_PATH
    assert agent.path == []
    assert path_cost(agent) == math.inf
    assert agent.observe(np.zeros((1, 1), bool), (3, 2))
    assert agent.step() == Status.MOVED
    agent.run(100)
    assert agent.status == Status.AT_GOAL
    assert agent.cost == 4


def test_a_blocked_goal_has_no_path_until_it_is_free_again():
    agent = DStarLite(Grid(np.zeros((5, 7), bool)), (1, 2), (5, 2), 100)
    agent.step()
    agent.observe(np.ones((1, 1), bool), (5, 2))
    assert agent.step() == Status.NO_PATH
    agent.observe(np.zeros((1, 1), bool), (5, 2))
    agent.run(100)
    assert agent.status == Status.AT_GOAL


def test_an_agent_at_its_goal_stays():
    agent = DStarLite(Grid(np.zeros((3, 3), bool)), (1, 1), (1, 1), 5)
    assert agent.status == Status.AT_GOAL
    assert agent.run(10).tolist() == []
    assert agent.figures.moves == 0


def test_bad_input_is_refused():
    grid = Grid(np.eye(4, dtype=bool))
    with pytest.raises(ValueError, match="ties is 'lifo'; it must be one of larger_g, smaller_g"):
        DStarLite(grid, (0, 1), (1, 0), 5, ties='lifo')
    with pytest.raises(ValueError, match='k is 0; it must be a whole number between 1 and'):
        DStarLite(grid, (0, 1), (1, 0), 0)
    with pytest.raises(ValueError, match=r'start \(2, 2\) is blocked'):
        DStarLite(grid, (2, 2), (1, 0), 5)
    with pytest.raises(ValueError, match=r'goal \(3, 3\) is blocked'):
        DStarLite(grid, (0, 1), (3, 3), 5)
    with pytest.raises(ValueError, match=r'goal \(4, 3\) is outside the 4 x 4 grid'):
        DStarLite(grid, (0, 1), (4, 3), 5)
    with pytest.raises(ValueError, match='the search has not ended after 0 expansions'):
        _ = DStarLite(grid, (0, 1), (0, 3), 5).path


# ---------------------------------------------------------------------- compiled and plain
def test_the_source_as_plain_python_does_the_same():
    if not d_star_lite.COMPILED:
        pytest.skip('the module is not compiled')
    plain = load_plain('benchmarks.baselines.d_star_lite')
    rng = np.random.default_rng(11)
    moved = 0
    for _ in range(25):
        problem, larger_g = random_problem(rng, max_side=12), bool(rng.random() < 0.5)
        grid, values, k = problem.grid(), problem.values, int(rng.choice((1, 4, 100)))
        state = grid.state(problem.start), grid.state(problem.goal)
        arrays = grid.legal_moves.reshape(-1), grid.cost_u16.reshape(-1), grid.width, grid.neighbours, grid.weighted
        pair = [module.DStarLiteSearch(*arrays, *state, larger_g) for module in (d_star_lite, plain)]
        for _ in range(10):
            n = int(rng.integers(1, 5))
            assert len({search.run(n, k) for search in pair}) == 1
            trails = [search.take_trail().tolist() for search in pair]
            assert trails[0] == trails[1]
            moved += len(trails[0])
            for a, b in zip(pair[0].values() + pair[0].in_queue(), pair[1].values() + pair[1].in_queue()):
                assert a.tolist() == b.tolist()
            patch, at = random_patch(rng, values, grid.cell(pair[0].s_start), problem.goal)
            values = patched(values, patch, at)
            change = grid.update(patch, at)
            assert (
                len({search.cells_changed(np.concatenate((change.increased, change.decreased))) for search in pair})
                == 1
            )
            assert len({(search.expansions, search.requeued, search.recomputed) for search in pair}) == 1
    assert moved > 50


def test_terrain_of_the_oracle_is_the_agents():
    """The tests above compare with it: one diagonal step past a corner."""
    blocked = np.zeros((2, 2), bool)
    blocked[0, 1] = True
    for cutting, cost in ((False, 2.0), (True, math.sqrt(2))):
        agent = DStarLite(Grid(blocked, corner_cutting=cutting), (0, 0), (1, 1), 10)
        agent.search()
        assert path_cost(agent) == pytest.approx(cost, rel=1e-12)
        assert true_distance(Terrain(blocked, 8, cutting), (0, 0), (1, 1)) == pytest.approx(cost, rel=1e-12)
