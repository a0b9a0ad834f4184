"""The public library: what it takes, what it refuses and how it prints itself; its examples run as written."""

import doctest
import importlib
import math
import subprocess
import sys

import numpy as np
import pytest

import tb_planner
from tb_planner import (
    ALGORITHMS,
    Changing,
    Grid,
    OutsideGrid,
    Static,
    Status,
    TimeBoundedPlanner,
    Unknown,
    find_path,
    move_to_goal,
    tb_wa_star,
    tba_star,
)
from tb_planner.search.algorithms import RESTART_RULES, make_algorithm, takes_weight
from tb_planner.search.planner import TickBudget

MODULES_WITH_EXAMPLES = [
    'tb_planner',
    'tb_planner.errors',
    'tb_planner.geometry',
    *(f'tb_planner.search.{name}' for name in ('agent', 'algorithms', 'grid', 'planner')),
]

WALL = np.zeros((6, 8), bool)
WALL[1:5, 4] = True


def planner_on(values, start=(0, 0), goal=(7, 5), **options):
    return TimeBoundedPlanner(Grid(values), start, goal, **options)


@pytest.mark.parametrize('name', MODULES_WITH_EXAMPLES)
def test_examples_in_docstrings_run_as_written(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0
    assert found.attempted > 0


def test_every_public_name_has_a_docstring_and_is_exported_once():
    assert len(set(tb_planner.__all__)) == len(tb_planner.__all__)
    for name in tb_planner.__all__:
        thing = getattr(tb_planner, name)
        if name not in ('ALGORITHMS', 'Cell', '__version__'):
            assert thing.__doc__, name
            assert thing.__doc__[0].isupper(), name


def test_the_package_is_light_to_import():
    """Importing it loads neither ROS, nor the simulator, nor what reads files and draws pictures."""
    heavy = ('rclpy', 'yaml', 'PIL', 'matplotlib', 'tb_planner.ros', 'tb_planner.simulation', 'tb_planner.tools')
    code = f'import sys, tb_planner; print([name for name in {heavy} if name in sys.modules])'
    found = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == '[]'


class TestFindPath:
    def test_takes_an_array_of_obstacles(self):
        assert find_path(WALL, (0, 0), (7, 5)) == find_path(Grid(WALL), (0, 0), (7, 5))

    def test_takes_an_array_of_costs(self):
        costs = np.where(WALL, np.inf, 2.0)
        assert find_path(costs, (0, 0), (7, 5)).cost == pytest.approx(2 * find_path(WALL, (0, 0), (7, 5)).cost)

    def test_takes_nested_lists(self):
        assert find_path(WALL.tolist(), (0, 0), (7, 5)).cost == find_path(WALL, (0, 0), (7, 5)).cost

    def test_without_a_path_the_status_is_no_path(self):
        wall = WALL.copy()
        wall[:, 4] = True
        found = find_path(wall, (0, 0), (7, 5))
        assert (found.status, found.cells, found.cost) == (Status.NO_PATH, [], math.inf)

    def test_a_bad_array_is_refused_as_by_grid(self):
        with pytest.raises(ValueError, match=r'cost 0\.5 at'):
            find_path(np.full((3, 3), 0.5), (0, 0), (2, 2))


class TestWrongTypes:
    @pytest.mark.parametrize('value', [*ALGORITHMS, tba_star, 3])
    @pytest.mark.parametrize('use', [find_path, lambda *args: TimeBoundedPlanner(Grid(args[0]), *args[1:])])
    def test_a_name_a_factory_and_a_number_are_no_algorithm(self, use, value):
        with pytest.raises(TypeError) as error:
            use(WALL, (0, 0), (7, 5), value)
        assert str(error.value).startswith(f'algorithm is {value!r}; make one, for example tba_star()')

    def test_an_array_is_not_a_planner_s_grid(self):
        with pytest.raises(TypeError, match=r'grid is ndarray; pass a Grid, for example Grid\(array\)'):
            TimeBoundedPlanner(WALL, (0, 0), (7, 5))

    def test_a_grid_is_not_a_world(self):
        with pytest.raises(TypeError, match=r'world is Grid; pass a world, for example Static\(grid\)'):
            move_to_goal(planner_on(WALL), Grid(WALL))

    def test_a_grid_is_not_an_agent(self):
        with pytest.raises(TypeError, match='agent is Grid; pass an agent, for example a TimeBoundedPlanner'):
            move_to_goal(Grid(WALL), Static(Grid(WALL)))

    @pytest.mark.parametrize('world', [Static, Unknown, lambda values: Changing(values, 1)])
    def test_an_array_is_not_a_world_s_grid(self, world):
        with pytest.raises(TypeError, match='grid is ndarray; pass a Grid'):
            world(WALL)

    @pytest.mark.parametrize('dtype', [np.int8, np.uint8, np.int32])
    def test_occupancy_is_pointed_to_the_costmap(self, dtype):
        with pytest.raises(ValueError, match=rf'dtype {np.dtype(dtype)}.*occupancy.*tb_planner\.maps\.costmap'):
            Grid(np.zeros((3, 3), dtype))


class TestSearchForATime:
    def test_stops_when_the_time_is_over(self):
        planner = planner_on(np.zeros((500, 500), bool), goal=(499, 0))
        budget = TickBudget(clock=lambda: planner.expansions / 10_000, search_time_s=0.02)
        assert budget.search_for(planner) == Status.MOVED
        assert 190 <= planner.expansions <= 200 + 32
        assert not planner.goal_found

    def test_makes_one_chunk_at_least(self):
        planner = planner_on(np.zeros((500, 500), bool), goal=(499, 0))
        planner.search(seconds=0)
        assert planner.expansions == 32

    def test_ends_when_the_goal_is_found(self):
        planner = planner_on(WALL)
        assert planner.search(seconds=60.0) == Status.MOVED
        assert planner.goal_found

    def test_ends_without_a_path(self):
        wall = WALL.copy()
        wall[:, 4] = True
        assert planner_on(wall).search(seconds=60.0) == Status.NO_PATH

    @pytest.mark.parametrize('seconds', [-1, math.nan, math.inf, '1'])
    def test_a_bad_time_is_refused(self, seconds):
        with pytest.raises(ValueError, match=f'seconds is {seconds!r}; it must be'):
            planner_on(WALL).search(seconds=seconds)

    def test_time_and_expansions_exclude_each_other(self):
        with pytest.raises(ValueError, match='expansions is 5 and seconds is 1; give one'):
            planner_on(WALL).search(5, seconds=1)


class TestPrinting:
    def test_a_status_prints_its_name(self):
        assert [str(status) for status in Status] == ['MOVED', 'WAITED', 'AT_GOAL', 'NO_PATH']
        assert f'{Status.AT_GOAL}' == 'AT_GOAL'

    def test_a_grid_shows_its_size_kind_and_rules(self):
        assert repr(Grid(WALL)) == 'Grid(8 x 6 cells, 4 blocked, 8 neighbours)'
        costs = np.where(WALL, np.inf, 2.0)
        assert repr(Grid(costs, neighbours=4)) == 'Grid(8 x 6 cells with costs, 4 blocked, 4 neighbours)'
        assert repr(Grid(WALL, corner_cutting=True)) == 'Grid(8 x 6 cells, 4 blocked, 8 neighbours, corner cutting)'

    def test_a_planner_shows_its_algorithm_place_and_status(self):
        planner = planner_on(WALL, algorithm=tb_wa_star(1.5), k=7)
        assert repr(planner) == 'TimeBoundedPlanner(TB-WA* (w = 1.5), k=7, at (0, 0), goal (7, 5), WAITED)'
        planner.release()
        assert repr(planner) == 'TimeBoundedPlanner(TB-WA* (w = 1.5), released)'


class TestTables:
    def test_tb_wa_star_takes_a_weight_and_the_others_of_the_papers_do_not(self):
        assert takes_weight('tb_wa_star')
        assert not any(map(takes_weight, ('tba_star', 'tb_gbfs', 'rtba_star', 'tbaa_star')))

    @pytest.mark.parametrize('name', ALGORITHMS)
    @pytest.mark.parametrize('restart', ['', *RESTART_RULES])
    def test_an_algorithm_is_made_by_its_name(self, name, restart):
        made = make_algorithm(name, 2.0, restart, ties='larger_g')
        assert made == ALGORITHMS[name](
            *([2.0] if takes_weight(name) else []), **({'restart': restart} if restart else {}), ties='larger_g'
        )
        assert (made.name, made.ties) == (name, 'larger_g')

    def test_an_unknown_name_is_refused_with_those_there_are(self):
        with pytest.raises(ValueError, match=f"algorithm is 'a_star'; it must be one of {', '.join(ALGORITHMS)}"):
            make_algorithm('a_star', 1.0)


def test_an_observation_after_the_last_interval_reaches_the_agent():
    """A run that was cut off can go on: the agent knows all that it has seen."""
    world = Unknown(Grid(WALL))
    planner = TimeBoundedPlanner(world.initial_grid(), (0, 2), (7, 2))
    while move_to_goal(planner, world, max_intervals=1).status != Status.AT_GOAL:
        x, y = planner.current_cell
        seen = WALL[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
        assert np.array_equal(planner.grid.blocked[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2], seen)
    assert planner.refused_moves == 0


def test_a_cell_outside_the_array_is_refused():
    with pytest.raises(OutsideGrid, match=r'goal \(8, 5\) is outside the 8 x 6 grid'):
        find_path(WALL, (0, 0), (8, 5))
