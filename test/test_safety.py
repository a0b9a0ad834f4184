"""No illegal move, ever: the world is the referee, and the referee is tested too.

Every test walks some thousand moves; the benchmark walks a million.
"""

import math

import numpy as np
import pytest
from helpers.oracle import Terrain, true_distance
from helpers.random_maps import random_problem, random_rules, random_values
from helpers.random_operations import Game
from helpers.strategies import LOOKAHEADS, freed_in, problems
from hypothesis import given, settings

from tb_planner import (
    Changing,
    Grid,
    IllegalMove,
    OutsideGrid,
    Resources,
    Static,
    Status,
    TimeBoundedPlanner,
    Unknown,
    move_to_goal,
    rtba_star,
    tb_gbfs,
    tb_wa_star,
    tba_star,
    tbaa_star,
)

RATES = (1, 5, 10)
SIDE = 32
MAX_INTERVALS = 600

ALGORITHMS = {
    'tba_star': tba_star,
    'tb_wa_star_1.4': lambda **options: tb_wa_star(1.4, **options),
    'tb_wa_star_3': lambda **options: tb_wa_star(3.0, **options),
    'tb_gbfs': tb_gbfs,
    'rtba_star': rtba_star,
    'tbaa_star': tbaa_star,
}


# ------------------------------------------------------------------ the referee


@settings(max_examples=150)
@given(problems(max_side=6))
def test_a_world_takes_legal_steps_and_no_others(problem):
    """All pairs of cells, near and far."""
    terrain = problem.terrain()
    cells = [(x, y) for y in range(terrain.height) for x in range(terrain.width)]
    world = Static(problem.grid())
    for frm in cells:
        for to in cells:
            if frm != to and terrain.length([frm, to]) < math.inf:
                world.move(frm, to)
            elif frm != to:
                with pytest.raises(IllegalMove):
                    world.move(frm, to)


def test_a_move_that_leaves_the_map_is_refused():
    world = Static(Grid(np.zeros((3, 3), dtype=bool)))
    for to in ((-1, 0), (0, -1), (3, 0), (0, 3)):
        with pytest.raises((IllegalMove, OutsideGrid), match=rf'\({to[0]}, {to[1]}\)'):
            world.move((0, 0), to)


def test_a_planner_that_knows_less_than_its_world_is_caught():
    """The agent believes the map to be free; a static world gives it no observation, and stops it."""
    wall = np.zeros((5, 9), dtype=bool)
    wall[:, 4] = True
    planner = TimeBoundedPlanner(Grid(np.zeros((5, 9), dtype=bool)), (0, 2), (8, 2), tba_star())
    with pytest.raises(IllegalMove, match=r'\(3, \d\).*\(4, \d\)'):
        move_to_goal(planner, Static(Grid(wall)))


class Repainted:
    """A world of costs that change after every move, whose referee is the oracle."""

    def __init__(self, values, shape, rng):
        self.values, self.shape, self.rng = values, shape, rng
        self.grid = Grid(values, **shape)

    def enter(self, cell, goal):
        return None

    def moves_until_news(self):
        return 1

    def walk(self, states):
        cells = [self.grid.cell(state) for state in states]
        if Terrain(self.values, **self.shape).length(cells) == math.inf:
            raise IllegalMove(f'{cells}')

    def look(self, cell, goal):
        x, y = (int(n) for n in self.rng.integers(0, SIDE - 4, 2))
        height, width = (int(n) for n in self.rng.integers(1, 5, 2))
        patch = freed_in(random_values(self.rng, (height, width), (0.3,), weighted=True), (x, y), (cell, goal))
        self.values[y : y + height, x : x + width] = patch
        return patch, (x, y)


# ------------------------------------------------------------------ what the agents are like


def random_map(rng, weighted, side=SIDE):
    return random_problem(rng, (side, side), (0.1, 0.2, 0.3), weighted)


def lookahead_of(rng):
    """k alone, k with sliced trace-back, or the 2009 paper's resources."""
    mode = rng.integers(4)
    if mode == 0:
        r, c = float(rng.choice((0.5, 0.9))), int(rng.choice((1, 10)))
        return {'k': Resources(int(rng.choice((10, 25, 100))), r=r, c=c)}
    k = {'k': int(rng.choice(LOOKAHEADS))}
    return {**k, 'trace_steps': int(rng.choice((1, 3, 20)))} if mode == 1 else k


def algorithm_of(rng, name, lookahead):
    """An algorithm with random options: TBA*'s enhancements, the order of ties and re-opening, where it has them."""
    options = {'ties': str(rng.choice(('lifo', 'larger_g')))}
    if name not in ('rtba_star', 'tbaa_star'):
        options.update(shortcut=bool(rng.integers(2)), path_switch=bool(rng.integers(2)))
        if name != 'tb_gbfs' and set(lookahead) == {'k'} and isinstance(lookahead['k'], int):
            options['reopen'] = bool(rng.random() < 0.3)
    return ALGORITHMS[name](**options)


def planner_of(rng, name, grid, start, goal):
    lookahead = lookahead_of(rng)
    return TimeBoundedPlanner(
        grid,
        start,
        goal,
        algorithm_of(rng, name, lookahead),
        **lookahead,
        min_improvement=float(rng.choice((0.0, 0.0, 0.1, 0.9))),
    )


def walk(planner, world):
    """A run in which the world refuses no move: it would raise."""
    run = move_to_goal(planner, world, max_intervals=MAX_INTERVALS)
    assert run.moves == len(run.cells) - 1
    assert run.moves <= run.intervals <= MAX_INTERVALS
    assert (run.cells[-1] == planner.goal) == (run.status is Status.AT_GOAL)
    # with resources an agent at the end of its path steps back off its route, if the map allows it
    assert planner.refused_moves == 0 or isinstance(planner.k, Resources)
    return run


class Tally:
    """Runs until enough moves have been made; some agents must have arrived, too."""

    def __init__(self, moves):
        self.wanted, self.moves, self.arrived, self.runs = moves, 0, 0, 0

    def __iter__(self):
        while self.moves < self.wanted:
            self.runs += 1
            assert self.runs < 3000, 'the agents hardly move'
            yield self.runs
        assert self.arrived > 5

    def add(self, run):
        self.moves += run.moves
        self.arrived += run.status is Status.AT_GOAL


# ------------------------------------------------------------------ tens of thousands of moves


@pytest.mark.parametrize('rate', RATES)
@pytest.mark.parametrize('name', ALGORITHMS)
def test_no_move_is_illegal_on_a_changing_map(name, rate, record_property):
    tally = Tally(2500)
    for seed in tally:
        rng = np.random.default_rng((seed, rate))
        values, start, goal = random_map(rng, weighted=False)
        shape = random_rules(rng)
        planner = planner_of(rng, name, Grid(values, **shape), start, goal)
        world = Changing(Grid(values, **shape), rate, every=int(rng.choice((1, 3, 10))), seed=seed)
        tally.add(walk(planner, world))
    record_property('moves', tally.moves)


@pytest.mark.parametrize('name', ALGORITHMS)
def test_no_move_is_illegal_on_a_map_of_changing_costs(name, record_property):
    tally = Tally(1500)
    for seed in tally:
        rng = np.random.default_rng(seed)
        values, start, goal = random_map(rng, weighted=True)
        shape = random_rules(rng)
        planner = planner_of(rng, name, Grid(values, **shape), start, goal)
        tally.add(walk(planner, Repainted(values, shape, rng)))
    record_property('moves', tally.moves)


@pytest.mark.parametrize('restart', ['eager', 'lazy', 'path_cost_increased'])
@pytest.mark.parametrize('k', LOOKAHEADS)
def test_no_move_is_illegal_at_any_lookahead_when_the_map_changes_after_every_move(k, restart, record_property):
    tally = Tally(1000)
    for seed in tally:
        rng = np.random.default_rng((seed, k))
        values, start, goal = random_map(rng, weighted=False)
        shape = random_rules(rng)
        planner = TimeBoundedPlanner(Grid(values, **shape), start, goal, tba_star(restart=restart), k)
        tally.add(walk(planner, Changing(Grid(values, **shape), 10, every=1, seed=seed)))
    record_property('moves', tally.moves)


@pytest.mark.parametrize('weighted', [False, True], ids=['uniform', 'weighted'])
@pytest.mark.parametrize('name', ALGORITHMS)
def test_no_move_is_illegal_in_unknown_terrain(name, weighted, record_property):
    """Completely unknown, or partly: some of the obstacles are known beforehand."""
    tally = Tally(2000)
    for seed in tally:
        rng = np.random.default_rng(seed)
        values, start, goal = random_map(rng, weighted)
        shape = random_rules(rng)
        unseen = rng.random(values.shape) < rng.choice((0.5, 1.0))
        known = np.where(unseen, 1.0 if weighted else False, values).astype(values.dtype)
        planner = planner_of(rng, name, Grid(known, **shape), start, goal)
        world = Unknown(Grid(values, **shape), sensor_radius=int(rng.choice((1, 2, 5))), known=known)
        tally.add(walk(planner, world))
    record_property('moves', tally.moves)


def test_a_run_is_legal_step_by_step_on_a_static_map():
    """The oracle, not the world, checks cells, cost and counts of a run."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values, start, goal = random_map(rng, weighted=bool(rng.integers(2)))
        shape = random_rules(rng)
        planner = planner_of(rng, str(rng.choice(sorted(ALGORITHMS))), Grid(values, **shape), start, goal)
        run = walk(planner, Static(Grid(values, **shape)))
        assert run.cells[0] == start
        assert Terrain(values, **shape).length(list(run.cells)) == pytest.approx(run.cost)


# ------------------------------------------------------------------ any calls in any order


class Caller:
    """Calls a planner's methods in random order, as a robot's node might, and looks at what must hold after each."""

    def __init__(self, seed, name):
        self.rng = np.random.default_rng(seed)
        self.shape = random_rules(self.rng)
        self.values, self.start, self.goal = random_map(self.rng, weighted=bool(self.rng.integers(2)), side=12)
        self.planner = planner_of(self.rng, name, Grid(self.values, **self.shape), self.start, self.goal)

    def terrain(self):
        return Terrain(self.values, **self.shape)

    def free_cell(self):
        free = list(self.terrain().cost)
        return free[self.rng.integers(len(free))]

    def step(self):
        self.planner.step()

    def search(self):
        if self.planner.search() is Status.MOVED:
            assert self.terrain().length(list(self.planner.route)) < math.inf

    def search_some(self):
        before = self.planner.expansions
        limit = int(self.rng.integers(1, 20))
        self.planner.search(limit)
        assert self.planner.expansions - before <= limit

    def move(self):
        here = self.planner.current_cell
        if self.planner.move() is Status.MOVED and self.planner.current_cell != here:
            assert self.terrain().length([here, self.planner.current_cell]) < math.inf

    def observe(self):
        kept = (self.planner.current_cell, self.planner.goal) if self.rng.random() < 0.9 else ()
        height, width = (int(n) for n in self.rng.integers(1, 6, 2))
        x, y = int(self.rng.integers(13 - width)), int(self.rng.integers(13 - height))
        patch = random_values(self.rng, (height, width), (0.4,), weighted=self.values.dtype != bool)
        patch = freed_in(patch, (x, y), kept)
        self.values[y : y + height, x : x + width] = patch
        self.planner.observe(patch, at=(x, y))

    def advance(self):
        route = [cell for cell in self.planner.route if cell in self.terrain().cost]
        cell = route[self.rng.integers(len(route))] if route and self.rng.integers(2) else self.free_cell()
        self.planner.advance(cell)
        assert self.planner.current_cell == cell

    def new_goal(self):
        self.goal = self.free_cell()
        self.planner.new_goal(self.goal)

    def restart(self):
        self.planner.restart()

    def call(self):
        often = (self.step, self.step, self.step, self.search, self.search_some, self.move, self.observe, self.observe)
        seldom = (self.advance, self.advance, self.new_goal, self.restart)
        calls = often if self.rng.random() < 0.9 else seldom
        calls[self.rng.integers(len(calls))]()
        assert self.planner.route[0] == self.planner.current_cell
        assert self.planner.goal == self.goal

    def rest(self):
        """The map stays as it is: the agent arrives, or its status is NO_PATH."""
        if self.planner.current_cell not in self.terrain().cost:
            return
        solvable = true_distance(self.terrain(), self.planner.current_cell, self.goal) < math.inf
        for _ in range(3000):
            if self.planner.step() in (Status.AT_GOAL, Status.NO_PATH):
                break
        assert self.planner.status is (Status.AT_GOAL if solvable else Status.NO_PATH)
        assert (self.planner.current_cell == self.goal) == solvable


@pytest.mark.parametrize('name', ALGORITHMS)
def test_calls_in_any_order_leave_a_planner_that_brings_its_agent_to_the_goal(name):
    for seed in range(60):
        caller = Caller(seed, name)
        for _ in range(60):
            caller.call()
        caller.rest()


# ------------------------------------------------------------------ the worlds


@pytest.mark.parametrize('rate', [0, *RATES, 100])
def test_a_changing_world_changes_as_in_the_2014_paper(rate):
    """After `every` moves rate/2 % of the originally free cells are blocked, rate/2 % of the blocked ones free."""
    original = np.random.default_rng(5).random((60, 60)) < 0.3
    here, there, goal = (0, 0), (1, 0), (59, 59)
    original[0, :2] = original[59, 59] = False
    world = Changing(Grid(original), rate, every=2, seed=3)
    assert np.array_equal(world.grid.blocked, original)
    for move in range(1, 21):
        world.move(here, there)
        before = world.grid.blocked.copy()
        news = world.look(there, goal)
        after = world.grid.blocked
        assert (news is not None) == (move % 2 == 0)
        if news is None:
            assert np.array_equal(after, before)
        else:
            assert np.array_equal(news[0], after)
            assert abs((after & ~original).sum() - rate / 200 * (~original).sum()) <= 3
            assert abs((~after & original).sum() - rate / 200 * original.sum()) <= 1
            assert not after[there[1], there[0]]
            assert not after[59, 59]
        here, there = there, here
        if world.grid.is_blocked(there):
            break


def test_the_same_seed_gives_the_same_changes_and_another_seed_others():
    original = np.random.default_rng(6).random((30, 30)) < 0.3
    original[0, :2] = False

    def changes(seed):
        world = Changing(Grid(original), 10, every=1, seed=seed)
        world.move((0, 0), (1, 0))
        return world.look((1, 0), (0, 0))[0].tolist()

    assert changes(1) == changes(1)
    assert changes(1) != changes(2)


@pytest.mark.parametrize(('neighbours', 'seen'), [(4, 13), (8, 25)])
def test_an_agent_in_unknown_terrain_sees_as_far_as_its_sensor_and_no_farther(neighbours, seen):
    true = np.ones((11, 11), dtype=bool)
    true[5, 5] = False
    world = Unknown(Grid(true, neighbours=neighbours), sensor_radius=2)
    believed = Grid(np.zeros((11, 11), dtype=bool), neighbours=neighbours)
    believed.update(*world.enter((5, 5), (0, 0)))
    ys, xs = np.nonzero(believed.blocked)
    assert len(ys) == seen - 1
    distance = abs(xs - 5) + abs(ys - 5) if neighbours == 4 else np.maximum(abs(xs - 5), abs(ys - 5))
    assert distance.max() == 2


@pytest.mark.parametrize('before', ['lifo', 'larger_g'])
def test_a_planner_takes_the_memory_of_one_whose_open_list_was_of_another_kind(before):
    """A bucket queue and a heap use the same arrays; what one has left in them is no Open list of the other."""
    values = np.zeros((SIDE, SIDE), bool)
    grid = Grid(values)
    first = TimeBoundedPlanner(grid, (0, 0), (SIDE - 1, 2), tba_star(ties=before), k=40)
    first.step()
    assert first.open_size > 0
    first.release()
    after = 'larger_g' if before == 'lifo' else 'lifo'
    planner = TimeBoundedPlanner(grid, (3, 3), (SIDE - 1, 5), tbaa_star(ties=after), k=5)
    fresh = TimeBoundedPlanner(Grid(values), (3, 3), (SIDE - 1, 5), tbaa_star(ties=after), k=5)
    while fresh.step() is not Status.AT_GOAL:
        planner.step()
        assert (planner.current_cell, planner.expansions, planner.path) == (
            fresh.current_cell,
            fresh.expansions,
            fresh.path,
        )


@pytest.mark.parametrize('first_seed', range(0, 60, 10))
def test_no_operation_makes_an_illegal_move(first_seed):
    """`make sanitize` plays thousands of such games."""
    for seed in range(first_seed, first_seed + 10):
        assert Game(seed).play()
