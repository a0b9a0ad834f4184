"""The worked example of the 2012 paper, Figures 1 and 2: rows A to E, columns 2 to 6, 4 neighbours, k = 2, E3 to E5.

The text calls the goal E6 twice; it is E5, as the f-values show.
"""

import numpy as np
import pytest
from helpers.oracle import EXACT, SIXTEENTHS, Oracle, Rules, Terrain

from tb_planner import (
    ALGORITHMS,
    Grid,
    Static,
    Status,
    TimeBoundedPlanner,
    Unknown,
    move_to_goal,
    rtba_star,
    tba_star,
    tbaa_star,
)

ROWS = 'ABCDE'
FIGURE_1 = ('D3', 'D4', 'E4')
FIGURE_2 = ('C3', 'D3', 'D4', 'E4')
UNIT = 2 * SIXTEENTHS * EXACT[0]
RULES = {
    'tba_star': Rules(ties='larger_g'),
    'rtba_star': Rules(ties='larger_g', restart='path_cost_increased'),
    'tbaa_star': Rules(ties='larger_g', restart='path_cost_increased', learn_h=True),
}


def cell(name):
    return int(name[1]) - 2, ROWS.index(name[0])


def name(xy):
    return f'{ROWS[xy[1]]}{xy[0] + 2}'


def blocked(names):
    values = np.zeros((5, 5), dtype=bool)
    for x, y in map(cell, names):
        values[y, x] = True
    return values


class OracleAgent:
    """The oracle, as the example looks at an agent."""

    def __init__(self, algorithm, known):
        self.oracle = Oracle(Terrain(blocked(known), 4), cell('E3'), cell('E5'), RULES[algorithm], k=2)

    def search(self):
        assert self.oracle.search_interval()

    def move(self):
        assert self.oracle.move()

    def observe(self, known):
        return self.oracle.observe(Terrain(blocked(known), 4))

    def open(self):
        return {name(s): self.oracle.f(s) / UNIT for s in self.oracle.open_cells()}

    def path(self):
        return [name(s) for s in self.oracle.path]

    def at(self):
        return name(self.oracle.s_current)


class PlannerAgent:
    """The planner, as the example looks at an agent."""

    def __init__(self, algorithm, known):
        grid = Grid(blocked(known), neighbours=4)
        chosen = ALGORITHMS[algorithm](ties='larger_g')
        self.planner = TimeBoundedPlanner(grid, start=cell('E3'), goal=cell('E5'), algorithm=chosen, k=2)

    def search(self):
        self.planner.search()

    def move(self):
        assert self.planner.move() in (Status.MOVED, Status.AT_GOAL)

    def observe(self, known):
        return self.planner.observe(blocked(known))

    def open(self):
        return {name(s): f for s, f, _ in self.planner.open_cells()}

    def path(self):
        return [name(s) for s in self.planner.path]

    def at(self):
        return name(self.planner.current_cell)


class UnknownTerrain:
    """Figure 2's terrain: the agent observes its four neighbours, where it starts and after every move."""

    def __init__(self, make_agent, algorithm):
        self.known = set()
        self.agent = make_agent(algorithm, self.known)
        self.sense()

    def sense(self):
        x, y = cell(self.agent.at())
        self.known |= {n for n in FIGURE_2 if abs(cell(n)[0] - x) + abs(cell(n)[1] - y) == 1}
        return self.agent.observe(self.known)

    def interval(self):
        self.agent.search()
        self.agent.move()
        return self.sense()


agents = pytest.mark.parametrize('make_agent', [OracleAgent, PlannerAgent])


@agents
def test_tba_star_moves_as_in_figure_1(make_agent):
    agent = make_agent('tba_star', FIGURE_1)
    agent.search()
    assert agent.open() == {'D2': 6}
    assert agent.path() == ['E3', 'E2', 'D2']
    agent.move()
    assert agent.at() == 'E2'
    agent.search()
    assert agent.open() == {'C3': 8, 'B2': 10}
    assert agent.path()[-1] == 'C3'
    agent.move()
    assert agent.at() == 'D2'
    agent.search()
    assert agent.path()[-1] == 'C5'
    agent.move()
    assert agent.at() == 'C2'
    agent.search()
    found = ['E3', 'E2', 'D2', 'C2', 'C3', 'C4', 'C5', 'D5', 'E5']
    assert agent.path() == found, 'the search finds a cost-minimal path at the end of the fourth interval'
    for following in found[4:]:
        agent.move()
        assert agent.at() == following


@agents
def test_a_found_goal_needs_no_further_expansions(make_agent):
    agent = make_agent('tba_star', FIGURE_1)
    for _ in range(4):
        agent.search()
        agent.move()
    frontier = agent.open()
    agent.search()
    assert agent.open() == frontier


@agents
@pytest.mark.parametrize('algorithm', ['rtba_star', 'tbaa_star'])
def test_the_first_three_intervals_in_unknown_terrain_are_as_in_figure_1(make_agent, algorithm):
    terrain = UnknownTerrain(make_agent, algorithm)
    agent = terrain.agent
    assert not terrain.interval()
    assert agent.open() == {'D2': 6}
    assert agent.at() == 'E2'
    assert not terrain.interval()
    assert agent.open() == {'C3': 8, 'B2': 10}
    assert agent.at() == 'D2'
    agent.search()
    assert agent.open()['C5'] == 8
    assert min(agent.open().values()) == 8, 'this is pathcost(1)'
    agent.move()
    assert agent.at() == 'C2'
    assert terrain.sense(), 'C3 is on the path and seen to be blocked: a new search starts'


def test_the_oracle_remembers_pathcost_1():
    terrain = UnknownTerrain(OracleAgent, 'tbaa_star')
    for _ in range(3):
        terrain.interval()
    assert terrain.agent.oracle.pathcost[1] == 8 * UNIT


@agents
def test_rtba_star_moves_as_in_figure_2(make_agent):
    terrain = UnknownTerrain(make_agent, 'rtba_star')
    agent = terrain.agent
    for _ in range(3):
        terrain.interval()
    agent.search()
    assert agent.open() == {'E2': 5, 'B2': 7}
    assert agent.path() == ['C2', 'D2', 'E2']
    agent.move()
    assert agent.at() == 'D2'
    assert not terrain.sense()
    agent.search()
    assert agent.open() == {'B2': 7}
    assert agent.path() == ['C2', 'B2']
    agent.move()
    assert agent.at() == 'C2', 'D2 is not on the path, so the agent goes back to its parent'


@agents
def test_tbaa_star_moves_as_in_figure_2(make_agent):
    terrain = UnknownTerrain(make_agent, 'tbaa_star')
    agent = terrain.agent
    for _ in range(3):
        terrain.interval()
    agent.search()
    assert agent.open() == {'E2': 9, 'B2': 7}, 'h(E2) has become pathcost(1) - g(E2) = 8 - 1'
    assert agent.path() == ['C2', 'B2']
    agent.move()
    assert agent.at() == 'B2'


@agents
@pytest.mark.parametrize(('algorithm', 'moves'), [('rtba_star', 12), ('tbaa_star', 10)])
def test_learned_h_values_save_two_moves(make_agent, algorithm, moves):
    terrain = UnknownTerrain(make_agent, algorithm)
    walked = ['E3']
    while walked[-1] != 'E5':
        terrain.interval()
        walked.append(terrain.agent.at())
    assert len(walked) - 1 == moves
    assert not set(walked) & set(FIGURE_2)


@pytest.mark.parametrize(('algorithm', 'moves'), [(rtba_star, 12), (tbaa_star, 10)])
def test_move_to_goal_in_an_unknown_world_counts_the_same_moves(algorithm, moves):
    known = Grid(blocked([]), neighbours=4)
    planner = TimeBoundedPlanner(known, start=cell('E3'), goal=cell('E5'), algorithm=algorithm(ties='larger_g'), k=2)
    run = move_to_goal(planner, Unknown(Grid(blocked(FIGURE_2), neighbours=4), sensor_radius=1))
    assert run.status is Status.AT_GOAL
    assert (run.moves, run.cost) == (moves, moves)
    assert run.back_moves == (1 if algorithm is rtba_star else 0)


OPENING = (41, 42)


def two_corridors():
    """The 2009 paper's Figure 2: the left corridor leads into a room without an exit, the right one to the goal, dearly
    at its end. In the wall between them there is an opening."""
    costs = np.ones((51, 43), dtype=np.float32)
    costs[30:, :40] = np.inf
    costs[:50, 41] = np.inf
    costs[OPENING[1], OPENING[0]] = 1
    costs[1, 42] = 200
    return costs


def walk_two_corridors(k, shortcut):
    planner = TimeBoundedPlanner(Grid(two_corridors()), (41, 50), (42, 0), tba_star(shortcut=shortcut), k)
    run = move_to_goal(planner, Static(Grid(two_corridors())))
    assert run.status is Status.AT_GOAL
    return run


@pytest.mark.parametrize('k', [60, 80, 100])
def test_a_shortcut_saves_the_agent_of_figure_2_of_2009_the_backtracking(k):
    """When the path is found it is beyond the opening, which it takes instead of going back to the start.

    A search that the path's states seed with their distances to the goal reaches the agent in fewer than 60 expansions.
    """
    plain, shortcut = walk_two_corridors(k, False), walk_two_corridors(k, True)
    assert OPENING not in plain.cells
    assert OPENING in shortcut.cells
    assert shortcut.cost < plain.cost - 10


def scattered(seed):
    values = np.random.default_rng(seed).random((24, 24)) < 0.3
    values[0, 0] = values[23, 23] = False
    return values


@pytest.mark.parametrize('k', [1, 2, 5])
def test_path_switching_takes_a_new_path_only_if_it_is_as_long_as_the_one_followed(k):
    """2009: the g-value of the new path must be at least as high; one that reaches the goal is always taken."""
    switches = 0
    for seed in range(30):
        planner = TimeBoundedPlanner(Grid(scattered(seed)), (0, 0), (23, 23), tba_star(path_switch=True), k)
        followed = g_followed = None
        for _ in range(400):
            here = planner.current_cell
            if planner.search() is not Status.MOVED:
                break
            end = planner.route[-1]
            g = {cell: g for cell, _, g in planner.open_cells()}
            if end != followed:
                assert followed in (None, here) or planner.goal_found or g[end] >= g_followed
                switches += 1
                followed = end
            g_followed = g.get(end, g_followed)
            planner.move()
    assert switches > 100


def test_path_switching_makes_agents_go_back_less():
    """2009: it alleviates indecisive stepping back and forth."""
    back = {False: 0, True: 0}
    for path_switch in back:
        for seed in range(60):
            algorithm = tba_star(path_switch=path_switch)
            planner = TimeBoundedPlanner(Grid(scattered(seed)), (0, 0), (23, 23), algorithm, k=2)
            back[path_switch] += move_to_goal(planner, Static(Grid(scattered(seed)))).back_moves
    assert back[True] < back[False]
