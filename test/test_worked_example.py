"""The worked example of the 2012 paper, Figures 1 and 2: rows A to E, columns 2 to 6, 4 neighbours, k = 2, E3 to E5.

The text calls the goal E6 twice; it is E5, as the f-values show.
"""

import numpy as np
import pytest
from oracle import EXACT, SIXTEENTHS, Oracle, Rules, Terrain

from tb_planner import ALGORITHMS, Grid, Status, TimeBoundedPlanner, Unknown, move_to_goal, rtba_star, tbaa_star

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
