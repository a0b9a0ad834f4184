"""LRTA*, LSS-LRTA*, P LRTA*, RTAA* and daRTAA* against their theorems and against plain oracles of their own."""

from __future__ import annotations

import heapq
import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from helpers.oracle import INTEGER, SIXTEENTHS, Terrain, is_straight, true_distances
from helpers.plain import load_plain
from helpers.strategies import patched, problems, repainted
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from benchmarks.baselines import BASELINES, local_search, real_time
from benchmarks.baselines.real_time import da_rtaa_star, lrta_star, lss_lrta_star, p_lrta_star, rtaa_star
from tb_planner import Changing, GoalBlocked, Grid, StartBlocked, Static, Status, Unknown, find_path, move_to_goal

ALL = {
    'lrta_star': lrta_star,
    'lrta_star, depth 1': partial(lrta_star, depth=1),
    'lrta_star, depth 3': partial(lrta_star, depth=3),
    'lss_lrta_star': lss_lrta_star,
    'p_lrta_star': p_lrta_star,
    'p_lrta_star, queue of 5': partial(p_lrta_star, queue_size=5),
    'rtaa_star': rtaa_star,
    'rtaa_star, larger_g': partial(rtaa_star, ties='larger_g'),
    'da_rtaa_star': da_rtaa_star,
    'da_rtaa_star, larger_g': partial(da_rtaa_star, ties='larger_g'),
}
CONSISTENT = sorted(ALL.keys() - {'lrta_star', 'lrta_star, depth 3'})
BEST_FIRST = (lss_lrta_star, rtaa_star, da_rtaa_star)

each_algorithm = pytest.mark.parametrize('name', sorted(ALL))


# ------------------------------------------------------------------------------------------------- the plain oracle
class Plain:
    """The common part of the algorithms, in dicts, with one move a search."""

    def __init__(self, terrain, start, goal, k, ties='lifo'):
        self.terrain, self.s_current, self.goal, self.k, self.ties = terrain, start, goal, k, ties
        self.learned = {}
        self.expansions = 0

    def user_given_h(self, s):
        dx, dy = abs(s[0] - self.goal[0]), abs(s[1] - self.goal[1])
        straight, diagonal = INTEGER if self.terrain.neighbours == 8 else (INTEGER[0], 2 * INTEGER[0])
        return 2 * SIXTEENTHS * (straight * abs(dx - dy) + diagonal * min(dx, dy))

    def h(self, s):
        return self.learned.get(s, self.user_given_h(s))

    def c(self, s, t):
        return edge_length(self.terrain, s, t)

    def best_neighbour(self, s, value):
        """(c(s, t) + value(t), t), the first of the best; None if s has no neighbour."""
        return min(((self.c(s, t) + value(t), t) for t in self.terrain.succ(s)), key=lambda pair: pair[0], default=None)

    def observe(self, terrain, fell):
        self.terrain = terrain
        if fell:
            self.learned = {}

    def step(self):
        """One interval; False if there is no path."""
        t = self.plan()
        if t is None:
            return False
        self.s_current = t
        return True


class PlainLRTA(Plain):
    def __init__(self, *args, depth=math.inf):
        super().__init__(*args)
        self.depth = depth

    def plan(self):
        closed, frontier = self.look_ahead()
        worth = dict.fromkeys(closed, math.inf) | {s: self.h(s) for s in frontier}
        changed = True
        while changed:  # rounds over all states until nothing changes, in place of Dijkstra's order
            changed = False
            for s in closed:
                best = self.best_neighbour(s, worth.__getitem__)
                value = max(self.h(s), best[0]) if best else math.inf
                changed |= value < worth[s]
                worth[s] = min(worth[s], value)
        best = self.best_neighbour(self.s_current, worth.__getitem__)
        if best is None or best[0] == math.inf:
            return None
        self.learned[self.s_current] = max(self.h(self.s_current), best[0])
        return best[1]

    def look_ahead(self):
        closed, layer, seen, left = [], [self.s_current], {self.s_current}, self.k
        steps = 0
        while layer and steps < self.depth and left:
            following = []
            for s in layer:
                if s == self.goal or not left:
                    continue
                left -= 1
                closed.append(s)
                new = [t for t in self.terrain.succ(s) if t not in seen]
                seen.update(new)
                following += new
            layer = following
            steps += 1
        self.expansions += len(closed)
        return closed, seen - set(closed)


class PlainLRTAByTheLetter(PlainLRTA):
    """Only h of the frontier counts, whatever was learned of states before it."""

    def plan(self):
        _, frontier = self.look_ahead()
        g, queue, best = {}, [(0, self.s_current, self.s_current)], (math.inf, None)
        while queue:
            cost, s, first = heapq.heappop(queue)
            if s in g:
                continue
            g[s] = cost
            if s in frontier:
                best = min(best, (cost + self.h(s), first))
            else:
                for t in self.terrain.succ(s):
                    heapq.heappush(queue, (cost + self.c(s, t), t, t if s == self.s_current else first))
        self.learned[self.s_current] = max(self.h(self.s_current), best[0])
        return best[1]


class PlainBestFirst(Plain):
    """A* for k expansions, and RTAA*'s rule."""

    def plan(self):
        self.a_star()
        open_states = sorted(self.open, key=self.order_in_open)
        if not open_states:
            return None
        s = self.choose(open_states)
        self.learn(self.g[open_states[0]] + self.h(open_states[0]))
        while self.parent[s] != self.s_current:
            s = self.parent[s]
        return s

    def order_in_open(self, s):
        f = self.g[s] + self.h(s)
        return f, s != self.goal, -self.g[s] if self.ties == 'larger_g' else 0, -self.open[s]

    def a_star(self):
        self.g, self.parent, self.open, self.closed = {self.s_current: 0}, {}, {self.s_current: 0}, []
        queue, inserted = [(*self.order_in_open(self.s_current), self.s_current)], 0
        for _ in range(self.k):
            while queue and (queue[0][-1] not in self.open or -queue[0][-2] != self.open[queue[0][-1]]):
                heapq.heappop(queue)
            if not queue or queue[0][-1] == self.goal:
                return
            s = heapq.heappop(queue)[-1]
            del self.open[s]
            self.closed.append(s)
            self.expansions += 1
            for t in self.terrain.succ(s):
                g = self.g[s] + self.c(s, t)
                if g < self.g.get(t, math.inf):
                    assert t not in self.closed
                    inserted += 1
                    self.g[t], self.parent[t], self.open[t] = g, s, inserted
                    heapq.heappush(queue, (*self.order_in_open(t), t))

    def choose(self, open_states):
        return open_states[0]

    def learn(self, f):
        for s in self.closed:
            self.learned[s] = f - self.g[s]


class PlainDepressionAvoiding(PlainBestFirst):
    def choose(self, open_states):
        return min(open_states, key=lambda s: self.h(s) - self.user_given_h(s))


class PlainLSS(PlainBestFirst):
    def learn(self, f):
        queue = [(self.h(s), s) for s in self.open]
        self.learned |= dict.fromkeys(self.closed, math.inf)
        heapq.heapify(queue)
        while queue:
            h, s = heapq.heappop(queue)
            if h > self.h(s):
                continue
            for p in self.terrain.succ(s):
                if p in self.closed and self.c(p, s) + h < self.h(p):
                    self.learned[p] = self.c(p, s) + h
                    heapq.heappush(queue, (self.learned[p], p))


class PlainPrioritised(Plain):
    def __init__(self, *args, queue_size=None):
        super().__init__(*args)
        self.queue_size = self.k - 1 if queue_size is None else queue_size
        self.queue = {}  # state -> (priority, when it came)
        self.came = 0

    def plan(self):
        self.state_update(self.s_current)
        for _ in range(self.k - 1):
            if not self.queue:
                break
            s = max(self.queue, key=self.queue.__getitem__)
            del self.queue[s]
            self.state_update(s)
        best = self.best_neighbour(self.s_current, self.h)
        return best and best[1]

    def state_update(self, s):
        self.expansions += 1
        best = self.best_neighbour(s, self.h)
        if best is None or best[0] <= self.h(s):
            return
        rise = best[0] - self.h(s)
        self.learned[s] = best[0]
        for t in self.terrain.succ(s):
            self.add_to_queue(t, rise)

    def add_to_queue(self, s, priority):
        if s == self.goal or self.queue.get(s, (0, 0))[0] >= priority:
            return
        if s not in self.queue and len(self.queue) == self.queue_size:
            if not self.queue:
                return
            lowest = min(self.queue, key=self.queue.__getitem__)
            if self.queue[lowest][0] >= priority:
                return
            del self.queue[lowest]
        self.came += 1
        self.queue[s] = priority, self.came

    def observe(self, terrain, fell):
        super().observe(terrain, fell)
        if fell:
            self.queue = {}


PLAIN = {
    'lrta_star': PlainLRTA,
    'lrta_star, depth 1': partial(PlainLRTA, depth=1),
    'lrta_star, depth 3': partial(PlainLRTA, depth=3),
    'lss_lrta_star': PlainLSS,
    'p_lrta_star': PlainPrioritised,
    'p_lrta_star, queue of 5': partial(PlainPrioritised, queue_size=5),
    'rtaa_star': PlainBestFirst,
    'rtaa_star, larger_g': partial(PlainBestFirst, ties='larger_g'),
    'da_rtaa_star': PlainDepressionAvoiding,
    'da_rtaa_star, larger_g': partial(PlainDepressionAvoiding, ties='larger_g'),
}


def edge_length(terrain, u, v):
    """c(u, v) in whole numbers; 32 times the agents' unit on a map without costs."""
    return terrain.weight(u, v) * INTEGER[0 if is_straight(u, v) else 1]


def unit(grid):
    return 1 if grid.weighted else 2 * SIXTEENTHS


def h_of(agent):
    """[y, x]: h as it is now, in the kernel's units: 985 for a straight step, 32 times that on a map with costs."""
    return agent._search.h_values().reshape(agent.grid.height, agent.grid.width)


def h_in_edge_lengths(agent):
    return h_of(agent) * unit(agent.grid)


def assert_same(agent, plain):
    assert agent.current_cell == plain.s_current
    assert agent.figures.expansions == plain.expansions
    h = h_in_edge_lengths(agent)
    assert {s: int(h[s[1], s[0]]) for s in plain.terrain.cost} == {s: plain.h(s) for s in plain.terrain.cost}


@each_algorithm
@given(problem=problems(max_side=9), k=st.sampled_from((1, 2, 5, 20, 80)))
@settings(max_examples=40)
def test_moves_and_h_are_the_oracles_step_by_step(name, problem, k):
    agent = ALL[name](problem.grid(), problem.start, problem.goal, k)
    plain = PLAIN[name](problem.terrain(), problem.start, problem.goal, k)
    assert_same(agent, plain)
    for _ in range(12):
        if agent.status in (Status.AT_GOAL, Status.NO_PATH):
            break
        moved = plain.step()
        assert (agent.step() != Status.NO_PATH) == moved
        assert_same(agent, plain)


@each_algorithm
@given(problem=problems(max_side=9), k=st.sampled_from((1, 3, 20)), data=st.data())
@settings(max_examples=25)
def test_moves_and_h_are_the_oracles_on_a_map_that_changes(name, problem, k, data):
    agent = ALL[name](problem.grid(), problem.start, problem.goal, k)
    plain = PLAIN[name](problem.terrain(), problem.start, problem.goal, k)
    values = problem.values
    for _ in range(8):
        if agent.status == Status.AT_GOAL:
            break
        moved = plain.step()
        assert (agent.step() != Status.NO_PATH) == moved
        patch, at = repainted(data.draw, values, agent.current_cell, problem.goal)
        before, values = problem.terrain(values), patched(values, patch, at)
        after = problem.terrain(values)
        agent.observe(patch, at)
        plain.observe(after, any(before.cost.get(s, math.inf) > t for s, t in after.cost.items()))
        assert_same(agent, plain)


@each_algorithm
@pytest.mark.parametrize('k', [2, 9, 30])
def test_moves_and_h_are_the_oracles_deep_in_a_depression(name, k):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        blocked = cup(18) | (rng.random((18, 18)) < 0.1 * seed)
        blocked[9, 8] = blocked[8, 17] = False
        if seed == 2:
            blocked = np.where(blocked, np.inf, rng.choice((1, 1, 2), blocked.shape)).astype(np.float32)
        agent = ALL[name](Grid(blocked), (8, 9), (17, 8), k)
        plain = PLAIN[name](Terrain(blocked), (8, 9), (17, 8), k)
        for _ in range(60):
            if agent.status == Status.AT_GOAL:
                break
            plain.step()
            agent.step()
            assert_same(agent, plain)


def test_the_source_as_plain_python_does_the_same(monkeypatch):
    uncompiled = load_plain('benchmarks.baselines.local_search')
    assert local_search.COMPILED
    for seed, (name, make) in enumerate(ALL.items()):
        rng = np.random.default_rng(seed)
        for costs in (False, True):
            values = random_map(rng, 14, 0.25)
            if costs:
                values = np.where(values, np.inf, rng.uniform(1, 9, values.shape)).astype(np.float32)
            agents = []
            for module in (local_search, uncompiled):
                monkeypatch.setattr(real_time, 'local_search', module)
                agents.append(make(Grid(values), (0, 0), (13, 13), 12))
            for _ in range(3):
                first, second = (agent.run(8).tolist() for agent in agents)
                assert first == second, name
                assert (h_of(agents[0]) == h_of(agents[1])).all()
                assert agents[0].figures == agents[1].figures


# ------------------------------------------------------------------------------------------------- theorems
def random_map(rng, side, density):
    """Obstacles at random; the corners at either end are free and in one part."""
    while True:
        blocked = rng.random((side, side)) < density
        blocked[0, 0] = blocked[-1, -1] = False
        if find_path(Grid(blocked), (0, 0), (side - 1, side - 1)).status == Status.AT_GOAL:
            return blocked


def cup(side=24):
    """A deep depression of the octile distance between start and goal."""
    blocked = np.zeros((side, side), bool)
    blocked[4:-4, -6] = blocked[4, 6:-6] = blocked[-5, 6:-6] = True
    return blocked


def exact_distances(terrain, goal):
    """The distances from every cell to the goal, in whole numbers, by Dijkstra's algorithm."""
    distance, queue = {goal: 0}, [(0, goal)]
    while queue:
        d, s = heapq.heappop(queue)
        if d > distance[s]:
            continue
        for t in terrain.succ(s):
            if d + edge_length(terrain, s, t) < distance.get(t, math.inf):
                distance[t] = d + edge_length(terrain, s, t)
                heapq.heappush(queue, (distance[t], t))
    return distance


def assert_admissible(agent, terrain):
    h = h_in_edge_lengths(agent)
    for (x, y), distance in exact_distances(terrain, agent.goal).items():
        assert h[y, x] <= distance
    assert h[agent.goal[1], agent.goal[0]] == 0


def assert_consistent(agent, terrain):
    h = h_in_edge_lengths(agent)
    for u, v in terrain.edges():
        assert h[u[1], u[0]] <= edge_length(terrain, u, v) + h[v[1], v[0]]


@each_algorithm
@pytest.mark.parametrize('k', [1, 6, 40])
def test_h_stays_admissible_and_consistent_and_never_falls(name, k):
    rng = np.random.default_rng(k)
    for weighted in (False, True):
        for corner_cutting in (False, True):
            values = random_map(rng, 12, 0.3)
            if weighted:
                values = np.where(values, np.inf, rng.uniform(1, 5, values.shape)).astype(np.float32)
            agent = ALL[name](Grid(values, corner_cutting=corner_cutting), (0, 0), (11, 11), k)
            terrain = Terrain(values, corner_cutting=corner_cutting)
            before = h_of(agent)
            while agent.status != Status.AT_GOAL and agent.figures.moves < 60:
                agent.run(4)
                assert (h_of(agent) >= before).all()
                before = h_of(agent)
                assert_admissible(agent, terrain)
                if name in CONSISTENT:
                    assert_consistent(agent, terrain)


def test_h_of_lrta_does_not_fall_where_an_obstacle_hides_what_was_seen_before():
    """(2, 2) gets blocked: what lies behind it is then out of the look-ahead, and looks better than from within."""
    blocked = np.array([[char == '#' for char in row] for row in ('.#...', '.....', '...##', '.##..', '.....')])
    agent = lrta_star(Grid(blocked), (4, 1), (4, 4), 1000, depth=2)
    before = h_of(agent)
    for step in range(5):
        if step == 3:
            blocked[2, 2] = True
            agent.observe(blocked)
        agent.step()
        assert (h_of(agent) >= before).all()
        before = h_of(agent)
    assert agent.status == Status.MOVED


@each_algorithm
@pytest.mark.parametrize('k', [1, 10, 100])
def test_the_goal_is_reached_on_known_and_on_unknown_terrain(name, k):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        for blocked in (random_map(rng, 40, 0.3), cup()):
            goal = (blocked.shape[1] - 1, blocked.shape[0] - 1)
            grid = Grid(blocked)
            run = move_to_goal(ALL[name](grid, (0, 0), goal, k), Static(grid), max_intervals=10**6)
            assert run.status == Status.AT_GOAL
            assert run.cost >= find_path(grid, (0, 0), goal).cost - 1e-9
            assert run.intervals == run.moves
            assert run.expansions <= k * run.intervals
            world = Unknown(grid)
            run = move_to_goal(ALL[name](world.initial_grid(), (0, 0), goal, k), world, max_intervals=10**6)
            assert run.status == Status.AT_GOAL


def test_lrta_by_the_letter_may_pace_for_ever_where_ours_arrives():
    picture = ('...#..#', '.#.....', '.#..##.', '##....#', '..#..#.', '#..#...', '....#..')
    blocked = np.array([[cell == '#' for cell in row] for row in picture])
    goal = (len(picture[0]) - 1, len(picture) - 1)
    letter = PlainLRTAByTheLetter(Terrain(blocked), (0, 0), goal, 1000, depth=2)
    for _ in range(1000):
        letter.step()
    seen, learned = set(), dict(letter.learned)
    for _ in range(1000):
        letter.step()
        seen.add(letter.s_current)
    assert letter.learned == learned
    assert goal not in seen
    agent = lrta_star(Grid(blocked), (0, 0), goal, 1000, depth=2)
    assert move_to_goal(agent, Static(Grid(blocked)), max_intervals=1000).status == Status.AT_GOAL


@each_algorithm
@pytest.mark.parametrize('neighbours', [4, 8])
def test_the_goal_is_reached_on_a_map_that_changes_and_by_legal_moves(name, neighbours):
    for seed in range(4):
        blocked = random_map(np.random.default_rng(seed), 30, 0.2)
        grid = Grid(blocked, neighbours=neighbours)
        world = Changing(grid, rate=10, every=5, seed=seed)  # it raises IllegalMove
        agent = ALL[name](Grid(blocked, neighbours=neighbours), (0, 0), (29, 29), 15)
        run = move_to_goal(agent, world, max_intervals=20_000)
        assert run.status in (Status.AT_GOAL, Status.NO_PATH)
        assert run.moves > 0


@each_algorithm
def test_h_stays_admissible_while_unknown_terrain_becomes_known(name):
    blocked = random_map(np.random.default_rng(5), 14, 0.35)
    world = Unknown(Grid(blocked))
    agent = ALL[name](world.initial_grid(), (0, 0), (13, 13), 8)
    news = world.enter((0, 0), (13, 13))
    before = h_of(agent)
    while agent.status != Status.AT_GOAL:
        if news:
            agent.observe(*news)
        agent.run(1)
        assert (h_of(agent) >= before).all()
        before = h_of(agent)
        believed = Terrain(agent.grid.blocked)
        assert_admissible(agent, believed)
        if name in CONSISTENT:
            assert_consistent(agent, believed)
        news = world.look(agent.current_cell, agent.goal)


@pytest.mark.parametrize('make', [lrta_star, *BEST_FIRST])
def test_with_a_look_ahead_over_the_whole_map_the_path_is_a_shortest_one(make):
    for seed in range(10):
        blocked = random_map(np.random.default_rng(seed), 20, 0.3)
        grid = Grid(blocked)
        run = move_to_goal(make(grid, (0, 0), (19, 19), 400), Static(grid))
        assert run.cost == pytest.approx(true_distances(Terrain(blocked), (0, 0))[19, 19], abs=1e-9)


def test_with_one_expansion_all_learn_the_same_of_the_first_state():
    for seed in range(20):
        blocked = random_map(np.random.default_rng(seed), 10, 0.3)
        learned = []
        for make in ALL.values():
            agent = make(Grid(blocked), (0, 0), (9, 9), 1)
            agent.step()
            learned.append(h_of(agent))
        assert all((h == learned[0]).all() for h in learned)


def region_graph(terrain, closed, h):
    """Edges of closed states to their successors, and from the states of the frontier, by h, to a sink: a matrix whose
    last row and column is the sink's."""
    states = sorted({t for s in closed for t in terrain.succ(s)} | set(closed))
    number = {s: i for i, s in enumerate(states)}
    edges = [(number[s], number[t], edge_length(terrain, s, t)) for s in closed for t in terrain.succ(s)]
    edges += [(number[s], len(states), max(h[s[1], s[0]], 1e-9)) for s in states if s not in closed]  # 0 is no edge
    rows, columns, weights = zip(*edges)
    shape = (len(states) + 1,) * 2
    return number, csr_array((np.array(weights, float), (rows, columns)), shape=shape)


def searched_agents(make, k):
    """Agents deep in a depression, before and after one more search: (terrain, agent, h before, root)."""
    for seed in range(6):
        blocked = cup() if seed == 0 else random_map(np.random.default_rng(seed), 24, 0.35)
        agent = make(Grid(blocked), (1, 12) if seed == 0 else (0, 0), (23, 23), k)
        for _ in range(25):
            before, root = h_in_edge_lengths(agent), agent.current_cell
            agent.step()
            if agent.status == Status.AT_GOAL:
                break
            yield Terrain(blocked), agent, before, root


@pytest.mark.parametrize('k', [7, 60])
def test_h_of_lss_lrta_is_the_distance_through_the_local_search_space_by_scipys_dijkstra(k):
    for terrain, agent, before, _ in searched_agents(lss_lrta_star, k):
        closed = [agent.grid.cell(s) for s in agent._search.expanded()]
        number, graph = region_graph(terrain, closed, before)
        distance = dijkstra(graph.T, indices=len(number))
        after = h_in_edge_lengths(agent)
        for x, y in closed:
            assert after[y, x] == pytest.approx(distance[number[x, y]], abs=1e-6)


@pytest.mark.parametrize('make', [rtaa_star, da_rtaa_star])
@pytest.mark.parametrize('k', [7, 60])
def test_rtaa_learns_f_of_the_best_state_minus_g(make, k):
    for terrain, agent, before, root in searched_agents(make, k):
        closed = [agent.grid.cell(s) for s in agent._search.expanded()]
        number, graph = region_graph(terrain, closed, before)
        g = dijkstra(graph, indices=number[root])
        f = min(g[i] + before[y, x] for (x, y), i in number.items() if (x, y) not in closed)
        after = h_in_edge_lengths(agent)
        assert {s: after[s[1], s[0]] for s in closed} == {s: round(f - g[number[s]]) for s in closed}
        outside = np.ones(before.shape, bool)
        outside[tuple(np.array(closed).T[::-1])] = False
        assert (after == before)[outside].all()


def test_lss_lrta_learns_no_less_than_rtaa():
    for seed in range(20):
        blocked = random_map(np.random.default_rng(seed), 16, 0.35)
        lss, rtaa = (make(Grid(blocked), (0, 0), (15, 15), 25) for make in (lss_lrta_star, rtaa_star))
        lss.step()
        rtaa.step()
        assert sorted(lss._search.expanded()) == sorted(rtaa._search.expanded())
        assert (h_of(lss) >= h_of(rtaa)).all()


def test_da_rtaa_needs_fewer_moves_than_rtaa_in_a_deep_depression():
    grid = Grid(np.kron(cup(), np.ones((3, 3), bool)))
    moves = [
        move_to_goal(make(grid, (20, 35), (71, 35), 10), Static(grid), max_intervals=10**6).moves
        for make in (rtaa_star, da_rtaa_star)
    ]
    assert moves[1] < moves[0]


def test_prioritised_updates_and_larger_look_aheads_pay():
    """The 2009 paper's Figure 3: all are better than LRTA* with a look-ahead of one."""
    grid = Grid(cup(48))
    start, goal = (8, 24), (47, 24)
    moves = [
        move_to_goal(make(grid, start, goal, 50), Static(grid), max_intervals=10**6).moves
        for make in (p_lrta_star, lss_lrta_star, lrta_star)
    ]
    one = move_to_goal(lrta_star(grid, start, goal, 1000, depth=1), Static(grid), max_intervals=10**6).moves
    assert max(moves) < one


# ------------------------------------------------------------------------------------------------- what else they do
@pytest.mark.parametrize('name', ['da_rtaa_star', 'lrta_star', 'lss_lrta_star', 'p_lrta_star', 'rtaa_star'])
def test_every_real_time_search_is_a_baseline_that_expands_k_states_an_interval_at_most(name):
    agent = BASELINES[name](Grid(cup()), (0, 12), (23, 12), 17)
    assert BASELINES[name] is getattr(real_time, name)
    while agent.status != Status.AT_GOAL:
        before = agent.figures.expansions
        agent.step()
        assert 0 < agent.figures.expansions - before <= 17


@pytest.mark.parametrize('depth', [1, 2, 5, 16])
def test_on_open_ground_lrta_expands_the_square_within_its_depth(depth):
    agent = lrta_star(Grid(np.zeros((80, 80), bool)), (40, 40), (79, 79), 1000, depth=depth)
    agent.step()
    assert agent.figures.expansions == (2 * depth - 1) ** 2


@pytest.mark.parametrize('make', [lrta_star, *BEST_FIRST])
def test_a_look_ahead_that_covers_all_that_can_be_reached_returns_no_path_until_a_map_frees_one(make):
    blocked = np.zeros((5, 9), bool)
    blocked[:, 4] = True
    agent = make(Grid(blocked), (0, 0), (8, 4), 30)
    assert agent.step() == Status.NO_PATH
    blocked[2, 4] = False
    assert agent.observe(blocked)
    assert agent.status == Status.WAITED
    while agent.status != Status.AT_GOAL:
        agent.step()
    assert agent.current_cell == (8, 4)


@each_algorithm
def test_an_agent_that_is_walled_in_has_no_path(name):
    blocked = np.array([[False, True, False]])
    assert ALL[name](Grid(blocked), (0, 0), (2, 0), 3).step() == Status.NO_PATH


@each_algorithm
def test_an_agent_at_its_goal_stays_there(name):
    agent = ALL[name](Grid(np.zeros((3, 3), bool)), (1, 1), (1, 1), 3)
    assert agent.status == Status.AT_GOAL
    assert len(agent.run(5)) == 0
    assert agent.figures.intervals == 0


@pytest.mark.parametrize('make', BEST_FIRST)
def test_with_movements_the_agent_goes_on_along_its_path_without_a_search(make):
    grid = Grid(cup())
    agent = make(grid, (0, 12), (23, 12), 40, movements=None)
    agent.step()
    target, searches, expansions = agent._search.s_next, agent.figures.searches, agent.figures.expansions
    while agent.s_current != target:
        agent.step()
    assert agent.figures.moves > 2
    assert (agent.figures.searches, agent.figures.expansions) == (searches, expansions)
    agent.step()
    assert agent.figures.searches == searches + 1


@pytest.mark.parametrize('make', BEST_FIRST)
@pytest.mark.parametrize('movements', [2, 5, None])
def test_with_movements_the_goal_is_reached_by_legal_moves_in_every_world(make, movements):
    for seed in range(4):
        blocked = random_map(np.random.default_rng(seed), 30, 0.25)
        grid = Grid(blocked)
        options = {'k': 12, 'movements': movements}
        run = move_to_goal(make(grid, (0, 0), (29, 29), **options), Static(grid), max_intervals=10**5)
        assert run.status == Status.AT_GOAL
        assert run.searches < run.moves
        world = Unknown(grid)
        run = move_to_goal(make(world.initial_grid(), (0, 0), (29, 29), **options), world, max_intervals=10**5)
        assert run.status == Status.AT_GOAL
        agent = make(Grid(blocked), (0, 0), (29, 29), **options)
        move_to_goal(agent, Changing(grid, rate=10, every=3, seed=seed), max_intervals=10**4)


def test_a_path_whose_cost_increases_is_dropped_and_another_is_kept():
    costs = np.ones((7, 20), np.float32)
    agent = rtaa_star(Grid(costs), (0, 3), (19, 3), 60, movements=None)
    agent.step()
    assert not agent.observe(np.array([[4.0]], np.float32), (10, 0))
    agent.step()
    assert agent.figures.searches == 1
    assert agent.observe(np.array([[4.0]], np.float32), (4, 3))
    agent.step()
    assert agent.figures.searches == 2


@each_algorithm
def test_search_numbers_and_lessons_may_come_round(name):
    blocked = random_map(np.random.default_rng(3), 12, 0.3)
    agents = [ALL[name](Grid(blocked), (0, 0), (11, 11), 9) for _ in range(2)]
    agents[1]._search.search = 2**32 - 8
    agents[1]._search.lesson = 2**32 - 5
    patch = np.array([[True]]), (5, 5)
    for agent in agents:
        for _ in range(4):
            agent.run(3)
            agent.observe(*patch)
            agent.observe(np.array([[False]]), (5, 5))
    assert agents[0].figures == agents[1].figures
    assert (h_of(agents[0]) == h_of(agents[1])).all()
    assert agents[1]._search.lesson < 10


def test_moves_are_made_4096_at_a_time_and_add_up():
    grid = Grid(cup(100))
    agent = lrta_star(grid, (10, 50), (99, 50), 1000, depth=1)
    walked = [agent.run(10**6) for _ in range(3)]
    assert [len(part) for part in walked] == [4096] * 3
    states = [grid.state((10, 50)), *np.concatenate(walked).tolist()]
    assert agent.figures.moves == agent.figures.intervals == 3 * 4096
    assert agent.cost == pytest.approx(sum(grid.step_cost(grid.cell(a), grid.cell(b)) for a, b in pairwise(states)))


def test_bad_input_is_refused_with_value_and_limit():
    grid = Grid(np.array([[False, False, True]]))
    with pytest.raises(ValueError, match='k is 0; it must be a whole number between 1 and'):
        rtaa_star(grid, (0, 0), (1, 0), 0)
    with pytest.raises(ValueError, match="ties is 'newest'; it must be one of lifo, larger_g"):
        rtaa_star(grid, (0, 0), (1, 0), 1, ties='newest')
    with pytest.raises(ValueError, match='depth is 0; it must be'):
        lrta_star(grid, (0, 0), (1, 0), 1000, depth=0)
    with pytest.raises(ValueError, match='queue_size is -1; it must be'):
        p_lrta_star(grid, (0, 0), (1, 0), 5, queue_size=-1)
    with pytest.raises(ValueError, match=r'movements is 0\.5; it must be'):
        lss_lrta_star(grid, (0, 0), (1, 0), 5, movements=0.5)
    with pytest.raises(StartBlocked, match='start'):
        rtaa_star(grid, (2, 0), (1, 0), 1)
    with pytest.raises(GoalBlocked, match='goal'):
        rtaa_star(grid, (0, 0), (2, 0), 1)
