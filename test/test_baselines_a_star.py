"""A* that acts late, Repeated A* and Adaptive A*: their paths are shortest ones, their intervals and moves add up."""

import math

import numpy as np
import pytest
from helpers.oracle import true_distance, true_distances
from helpers.strategies import Problem, freed, paint, patched, problems, repainted
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.baselines import BASELINES, a_star, adaptive_a_star, late_a_star, repeated_a_star
from benchmarks.baselines.a_star import AStar
from tb_planner import Changing, Grid, Static, Status, Unknown, find_path, move_to_goal, tba_star

TIES = ('larger_g', 'lifo')
REPEATED = (repeated_a_star, adaptive_a_star)
IN_UNKNOWN_TERRAIN = ('repeated_a_star', 'adaptive_a_star', 'd_star_lite')


def open_field(height=5, width=9):
    return np.zeros((height, width), bool)


def walled(gap):
    """A wall between left and right with one gap, in this row."""
    blocked = open_field(7, 9)
    blocked[:, 4] = True
    blocked[gap, 4] = False
    return blocked


def random_problem(rng, max_side=16, density=None):
    height, width = (int(n) for n in rng.integers(2, max_side, 2))
    start, goal = ((int(rng.integers(width)), int(rng.integers(height))) for _ in range(2))
    density = rng.choice((0.0, 0.1, 0.25, 0.4)) if density is None else density
    values = paint(rng.bytes(height * width), (height, width), density, bool(rng.random() < 0.5))
    neighbours, cutting = int(rng.choice((4, 8, 8))), bool(rng.random() < 0.5)
    return Problem(freed(values, start, goal), neighbours, cutting, start, goal)


def is_on_a_shortest_path(terrain, goal, a, b):
    distance = true_distances(terrain, goal)
    return distance[a] == pytest.approx(terrain.length([a, b]) + distance[b], rel=1e-12)


# ---------------------------------------------------------------------- A* of 2012: it waits
@given(problems(), st.sampled_from(TIES), st.sampled_from((1, 3, 10, 1000)))
def test_an_agent_waits_for_a_star_and_then_walks_a_shortest_path(problem, ties, k):
    run = move_to_goal(
        a_star(problem.grid(), problem.start, problem.goal, k, ties=ties), Static(problem.grid()), non_optimal=True
    )
    plan = find_path(problem.grid(), problem.start, problem.goal, tba_star(ties=ties))
    searching = math.ceil(plan.expansions / k)
    assert run.expansions == plan.expansions
    assert run.searches == 1
    if problem.start == problem.goal:
        assert (run.status, run.moves, run.intervals) == (Status.AT_GOAL, 0, 0)
    elif plan.cells:
        assert run.status == Status.AT_GOAL
        assert run.cells == plan.cells
        assert run.cost == pytest.approx(true_distance(problem.terrain(), problem.start, problem.goal), rel=1e-12)
        assert run.intervals == searching - 1 + run.moves
        assert run.non_optimal_moves == 0
    else:
        assert (run.status, run.moves, run.intervals) == (Status.NO_PATH, 0, searching)


@given(problems(max_side=8), st.sampled_from((1, 4)), st.lists(st.integers(1, 7), min_size=1, max_size=40))
def test_intervals_may_come_in_any_portions(problem, k, portions):
    for paces in (False, True):
        options = {'restart': None, 'paces': paces, 'seed': 3}
        one, many = (AStar(problem.grid(), problem.start, problem.goal, k, **options) for _ in range(2))
        walked, run = [], 0
        for n in portions:
            before, run = many.figures.intervals, run + n
            walked += many.run(n).tolist()
            if many.status > Status.WAITED:
                break
            assert many.figures.intervals - before == n
        at_once = one.run(run).tolist()
        assert walked == at_once
        assert (many.figures, many.status, many.current_cell) == (one.figures, one.status, one.current_cell)


@pytest.mark.parametrize('name', ['a_star', 'repeated_a_star', 'adaptive_a_star', 'd_star_lite'])
def test_a_search_in_portions_of_any_size_takes_no_interval_and_leaves_only_the_walk(name):
    problem = Problem(walled(gap=6), 8, False, (1, 3), (7, 3))
    at_once = move_to_goal(BASELINES[name](problem.grid(), problem.start, problem.goal, 10**6), Static(problem.grid()))
    agent = BASELINES[name](problem.grid(), problem.start, problem.goal, 1)
    portions = 1
    while not agent.search(2):
        portions += 1
    assert portions == math.ceil(at_once.expansions / 2)
    run = move_to_goal(agent, Static(problem.grid()))
    assert run.cells == at_once.cells
    assert run.intervals == run.moves
    assert agent.figures.expansions == at_once.expansions


# ---------------------------------------------------------------------- A* of 2009: it paces
@given(problems(), st.sampled_from(TIES), st.sampled_from((1, 2, 5, 1000)), st.integers(0, 5))
def test_a_pacing_agent_goes_back_and_forth_until_its_path_is_found(problem, ties, k, seed):
    agent = late_a_star(problem.grid(), problem.start, problem.goal, k, ties=ties, seed=seed)
    run = move_to_goal(agent, Static(problem.grid()))
    plan = find_path(problem.grid(), problem.start, problem.goal, tba_star(ties=ties))
    assert run.expansions == plan.expansions
    assert run.status == (Status.AT_GOAL if plan.cells else Status.NO_PATH)
    assert run.cost == pytest.approx(problem.terrain().length(run.cells), rel=1e-12)
    assert run.moves == len(run.cells) - 1
    if problem.start == problem.goal:
        return
    idle = math.ceil(plan.expansions / k) - 1
    if set(problem.terrain().succ(problem.start)) <= {problem.goal}:
        assert run.cells == (plan.cells or [problem.start])
        assert run.intervals == idle + max(run.moves, 1)
        return
    paced, rest = run.cells[: idle + 1], run.cells[idle:]
    assert paced == [run.cells[1] if i % 2 else problem.start for i in range(idle + 1)]
    if not plan.cells:
        assert len(rest) == 1
    elif rest[0] == problem.start:
        assert rest == plan.cells
    elif rest[0] == plan.cells[1]:
        assert rest == plan.cells[1:]
    else:
        assert rest[1:] == plan.cells
    assert run.intervals == run.moves + (not plan.cells)
    assert run.back_moves == sum(cell == problem.start for cell in run.cells[1:])


def test_the_seed_draws_the_neighbour_and_only_a_legal_one_that_is_not_the_goal():
    blocked = open_field(9, 9)
    blocked[3, 4] = True  # so that three of the eight neighbours of (4, 4) cannot be stepped to
    seen = set()
    for seed in range(60):
        runs = [
            move_to_goal(late_a_star(Grid(blocked), (4, 4), (4, 5), 1, seed=seed), Static(Grid(blocked))) for _ in 'ab'
        ]
        assert runs[0].cells == runs[1].cells
        agent = late_a_star(Grid(blocked), (4, 4), (8, 0), 1, seed=seed)
        agent.step()
        seen.add(agent.current_cell)
    assert seen == {(3, 4), (5, 4), (3, 5), (4, 5), (5, 5)}


def test_an_agent_that_has_no_neighbour_but_the_goal_waits():
    run = move_to_goal(late_a_star(Grid(open_field(1, 2)), (0, 0), (1, 0), 1), Static(Grid(open_field(1, 2))))
    assert (run.status, run.moves, run.cells) == (Status.AT_GOAL, 1, [(0, 0), (1, 0)])


# ---------------------------------------------------------------------- Repeated A* and Adaptive A*
@pytest.mark.parametrize('factory', REPEATED)
@pytest.mark.parametrize('restart', ['eager', 'lazy'])
def test_after_each_of_two_thousand_changes_the_path_is_a_shortest_one(factory, restart):
    """Costs increase and decrease; the lazy rule ignores only what cannot shorten the path."""
    rng = np.random.default_rng(1)
    changes = restarts = kept = 0
    while changes < 2000:
        problem = random_problem(rng)
        values, agent = problem.values, factory(problem.grid(), problem.start, problem.goal, 10**6, restart=restart)
        for _ in range(40):
            if agent.status == Status.AT_GOAL:
                break
            patch, at = small_patch(rng, values, agent.current_cell, problem.goal)
            values, changes = patched(values, patch, at), changes + 1
            restarted = agent.observe(patch, at)
            restarts, kept = restarts + restarted, kept + (not restarted)
            fresh = Grid(values, neighbours=problem.neighbours, corner_cutting=problem.corner_cutting)
            plan, cell = find_path(fresh, agent.current_cell, problem.goal), agent.current_cell
            agent.run(1)
            if not plan.cells:
                assert agent.status == Status.NO_PATH
                continue
            path = [cell, *agent.path]
            assert problem.terrain(values).length(path) == pytest.approx(plan.cost, rel=1e-9)
    assert min(restarts, kept) > 200


def small_patch(rng, values, *kept):
    height, width = values.shape
    x, y = int(rng.integers(width)), int(rng.integers(height))
    patch = paint(rng.bytes(4), (2, 2), rng.choice((0.0, 0.5)), values.dtype != bool)[: height - y, : width - x]
    inside = [(u - x, v - y) for u, v in kept if 0 <= u - x < patch.shape[1] and 0 <= v - y < patch.shape[0]]
    return freed(patch, *inside), (x, y)


@given(problems(), st.sampled_from(REPEATED), st.sampled_from(TIES), st.data())
@settings(max_examples=60)
def test_no_step_is_illegal_and_every_path_reaches_the_goal_whatever_changes(problem, factory, ties, data):
    restart = data.draw(st.sampled_from(('path_cost_increased', 'lazy', 'eager')))
    k = data.draw(st.sampled_from((1, 5, 1000)))
    agent, values = factory(problem.grid(), problem.start, problem.goal, k, restart=restart, ties=ties), problem.values
    for _ in range(5):
        terrain, cell = problem.terrain(values), agent.current_cell
        walked = [cell, *(agent.grid.cell(s) for s in agent.run(data.draw(st.integers(1, 6))))]
        assert math.isfinite(terrain.length(walked))
        if agent.status == Status.NO_PATH:
            assert not math.isfinite(true_distance(terrain, agent.current_cell, problem.goal))
        elif agent._search.goal_found and agent.status != Status.AT_GOAL:
            assert math.isfinite(terrain.length(agent.path))
            assert agent.path[-1] == problem.goal
        patch, at = repainted(data.draw, values, agent.current_cell, problem.goal)
        values = patched(values, patch, at)
        agent.observe(patch, at)


@pytest.mark.parametrize('name', IN_UNKNOWN_TERRAIN)
def test_every_step_in_unknown_terrain_is_on_a_shortest_path_of_what_is_known(name):
    """All complete searches move alike but for ties: blocked cells are all that appears, so a path that is not blocked
    stays a shortest one."""
    rng = np.random.default_rng(2)
    steps = 0
    for _ in range(25):
        problem = random_problem(rng, max_side=12, density=0.3)
        world = Unknown(problem.grid())
        agent = BASELINES[name](world.initial_grid(), problem.start, problem.goal, 15)
        news = world.enter(agent.current_cell, problem.goal)
        while agent.status <= Status.WAITED:
            if news is not None:
                agent.observe(*news)
            a, news = agent.current_cell, None
            agent.run(1)
            if agent.current_cell != a:
                known = agent.grid.costs if agent.grid.weighted else agent.grid.blocked
                assert is_on_a_shortest_path(problem.terrain(known), problem.goal, a, agent.current_cell)
                news = world.look(agent.current_cell, problem.goal)
                steps += 1
        solvable = math.isfinite(true_distance(problem.terrain(), problem.start, problem.goal))
        assert agent.status == (Status.AT_GOAL if solvable else Status.NO_PATH)
    assert steps > 50


def test_adaptive_a_star_expands_less_than_repeated_a_star_in_unknown_terrain():
    rng = np.random.default_rng(3)
    expansions = {'repeated_a_star': 0, 'adaptive_a_star': 0}
    for _ in range(8):
        blocked = rng.random((60, 60)) < 0.4
        blocked[2, 2] = blocked[57, 57] = False
        for name in expansions:
            world = Unknown(Grid(blocked))
            run = move_to_goal(BASELINES[name](world.initial_grid(), (2, 2), (57, 57), 100), world)
            expansions[name] += run.expansions
    assert 0 < expansions['adaptive_a_star'] < 0.9 * expansions['repeated_a_star']


@pytest.mark.parametrize('factory', REPEATED)
@pytest.mark.parametrize('restart', ['path_cost_increased', 'lazy', 'eager'])
def test_which_changes_make_an_agent_search_again(factory, restart):
    agent = factory(Grid(walled(gap=6)), (1, 3), (7, 3), 10**6, restart=restart)
    agent.step()
    x, y = agent.path[2]
    assert agent.observe(np.ones((1, 1), bool), (0, 0)) == (restart == 'eager')
    assert agent.observe(np.zeros((1, 1), bool), (4, 3)) == (restart != 'path_cost_increased')
    agent.step()
    is_ahead = (x, y) in agent.path
    assert agent.observe(np.ones((1, 1), bool), (x, y)) == (restart == 'eager' or is_ahead)
    searches = agent.figures.searches
    assert not agent.observe(np.ones((1, 1), bool), (x, y)), 'nothing has changed'
    assert agent.figures.searches == searches


@pytest.mark.parametrize('factory', REPEATED)
def test_a_path_that_a_later_map_opens_is_found(factory):
    blocked = walled(gap=6)
    agent = factory(Grid(blocked), (1, 3), (7, 3), 10**6)
    agent.step()
    assert agent.observe(np.ones((1, 1), bool), (4, 6))
    assert agent.step() == Status.NO_PATH
    assert agent.step() == Status.NO_PATH
    assert agent.observe(np.zeros((1, 1), bool), (4, 0))
    walked = [agent.grid.cell(s) for s in agent.run(100)]
    assert (4, 0) in walked
    assert walked[-1] == (7, 3)


def test_adaptive_a_star_keeps_its_path_when_a_cost_falls_and_forgets_what_it_has_learned():
    agent = adaptive_a_star(Grid(walled(gap=6)), (1, 3), (7, 3), 10**6)
    agent.step()
    assert agent.observe(np.ones((1, 1), bool), agent.path[1])
    agent.step()
    path = agent.path
    assert not agent.observe(np.zeros((1, 1), bool), (4, 3))
    assert agent.path == path
    assert agent.observe(np.ones((1, 1), bool), (4, 6))
    agent.step()
    assert agent.path[-1] == (7, 3)
    cost = Grid(agent.grid.blocked)
    assert len(agent.path) == len(find_path(cost, agent.current_cell, (7, 3)).cells)


@pytest.mark.parametrize('factory', REPEATED)
def test_agents_live_in_changing_worlds(factory):
    rng = np.random.default_rng(4)
    arrived = 0
    for seed in range(20):
        blocked = rng.random((20, 20)) < 0.2
        blocked[0, 0] = blocked[19, 19] = False
        run = move_to_goal(factory(Grid(blocked), (0, 0), (19, 19), 30), Changing(Grid(blocked), 4, every=3, seed=seed))
        assert run.status in (Status.AT_GOAL, Status.NO_PATH)
        assert run.back_moves == 0
        arrived += run.status == Status.AT_GOAL
    assert arrived > 10


# ---------------------------------------------------------------------- all baselines
@pytest.mark.parametrize('name', sorted(BASELINES))
@pytest.mark.parametrize('weighted', [False, True])
def test_every_baseline_runs_as_a_planner_does(name, weighted):
    blocked = walled(gap=6)
    values = np.where(blocked, np.inf, 1.5).astype(np.float32) if weighted else blocked
    world = Static(Grid(values))
    agent = BASELINES[name](Grid(values), (1, 3), (7, 3), 8)
    shortest = find_path(world.grid, (1, 3), (7, 3))
    run = move_to_goal(agent, world)
    assert run.status == Status.AT_GOAL
    assert (run.cells[0], run.cells[-1], agent.current_cell) == ((1, 3), (7, 3), (7, 3))
    assert run.cost == pytest.approx(Problem(values, 8, False, (1, 3), (7, 3)).terrain().length(run.cells), rel=1e-12)
    assert run.cost >= shortest.cost - 1e-9
    assert run.moves == len(run.cells) - 1 <= run.intervals
    assert run.searches >= 1
    assert run.expansions >= 1
    assert agent.run(5).tolist() == [], 'it is at its goal'


@pytest.mark.parametrize('name', sorted(BASELINES))
def test_every_baseline_refuses_bad_input(name):
    grid = Grid(walled(gap=6))
    for start, goal, k, reason in (
        ((4, 0), (7, 3), 5, r'start \(4, 0\) is blocked'),
        ((1, 3), (4, 0), 5, r'goal \(4, 0\) is blocked'),
        ((1, 3), (9, 3), 5, r'goal \(9, 3\) is outside the 9 x 7 grid'),
        ((1, 3), (7, 3), 0, 'k is 0; it must be a whole number between 1 and'),
    ):
        with pytest.raises(ValueError, match=reason):
            BASELINES[name](grid, start, goal, k)


# ---------------------------------------------------------------------- what they refuse
@pytest.mark.parametrize('factory', [a_star, late_a_star])
def test_a_star_refuses_maps_that_change(factory):
    agent = factory(Grid(open_field()), (0, 0), (5, 0), 5)
    assert not agent.observe(open_field())
    with pytest.raises(ValueError, match='1 cells have changed; restart is None'):
        agent.observe(np.ones((1, 1), bool), (3, 3))


def test_bad_input_is_refused():
    grid = Grid(open_field())
    with pytest.raises(
        ValueError, match="restart is 'never'; it must be None or one of path_cost_increased, lazy, eager"
    ):
        repeated_a_star(grid, (0, 0), (5, 0), 5, restart='never')
    with pytest.raises(ValueError, match="ties is 'smaller_g'; it must be one of lifo, larger_g"):
        a_star(grid, (0, 0), (5, 0), 5, ties='smaller_g')
    with pytest.raises(ValueError, match=r'k is 2.5; it must be a whole number'):
        a_star(grid, (0, 0), (5, 0), 2.5)
    with pytest.raises(ValueError, match='intervals is 0; it must be a whole number'):
        a_star(grid, (0, 0), (5, 0), 5).run(0)
    with pytest.raises(ValueError, match="the agent paces, and restart is 'lazy'"):
        AStar(grid, (0, 0), (5, 0), 5, restart='lazy', paces=True)
    with pytest.raises(ValueError, match='no path has been found after 0 expansions'):
        _ = a_star(grid, (0, 0), (5, 0), 5).path


def test_a_searchs_memory_serves_the_next_agent_on_the_grid():
    grid = Grid(open_field())
    runs = []
    for _ in range(3):
        agent = adaptive_a_star(grid, (0, 0), (8, 4), 3)
        runs.append(move_to_goal(agent, Static(grid)))
        agent.release()
        assert grid.has_spare_search
    assert len({(tuple(run.cells), run.expansions, run.intervals, run.searches) for run in runs}) == 1
