"""Bad input is refused with its value and the limit, and what was there before stays as it was."""

import numpy as np
import pytest

from tb_planner import (
    Algorithm,
    Changing,
    GoalBlocked,
    Grid,
    OutsideGrid,
    Resources,
    StartBlocked,
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
)

FREE = np.zeros((4, 6), dtype=bool)
WALLED = FREE.copy()
WALLED[1, 2] = True


def grid():
    return Grid(WALLED)


def planner(**options):
    return TimeBoundedPlanner(grid(), start=(0, 0), goal=(5, 3), algorithm=tba_star(), **{'k': 4, **options})


def walks_on(agent):
    """The planner still brings its agent to the goal."""
    for _ in range(100):
        if agent.step() is Status.AT_GOAL:
            return True
    return agent.current_cell == agent.goal


@pytest.mark.parametrize(
    ('values', 'message'),
    [
        (np.zeros((0, 0), dtype=bool), '0'),
        (np.zeros((0, 5), dtype=bool), '0'),
        (np.zeros((5, 0)), '0'),
        (np.zeros(5, dtype=bool), '5'),
        (np.zeros((2, 3, 4), dtype=bool), '3'),
        (np.zeros((3, 3), dtype=np.int8), 'int8'),
        (np.zeros((3, 3), dtype=complex), 'complex'),
        (np.full((3, 3), 'free'), 'U4'),
        (np.array([[1, np.nan]]), 'nan'),
        (np.array([[1, -2.0]]), '-2'),
        (np.array([[1, 0.5]]), '0.5'),
        (np.array([[1, 0.0]]), '0'),
        (np.array([[1, -np.inf]]), '-inf'),
        (np.array([[1, 1e30]]), '1e'),
    ],
)
def test_a_grid_of_wrong_shape_type_or_costs_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        Grid(values)


@pytest.mark.parametrize('neighbours', [0, 6, 16, -8])
def test_cells_have_4_or_8_neighbours(neighbours):
    with pytest.raises(ValueError, match=rf'{neighbours}.*4.*8|4.*8.*{neighbours}'):
        Grid(FREE, neighbours=neighbours)


@pytest.mark.parametrize(
    ('values', 'at', 'message'),
    [
        (np.zeros((4, 5), dtype=bool), None, ('5', '6')),
        (np.zeros((6, 4), dtype=bool), None, ('4', '6')),
        (np.zeros((2, 2), dtype=bool), (5, 0), ('5', '6')),
        (np.zeros((2, 2), dtype=bool), (0, 3), ('3', '4')),
        (np.zeros((1, 1), dtype=bool), (-1, 0), ('-1',)),
        (np.zeros((1, 1), dtype=bool), (0, 4), ('4',)),
        (np.array([[np.nan]]), (0, 0), ('nan',)),
        (np.array([[-1.0]]), (0, 0), ('-1',)),
        (np.array([[0.25]]), (0, 0), ('0.25',)),
        (np.zeros((1, 1), dtype=np.int16), (0, 0), ('int16',)),
        (np.zeros(3, dtype=bool), (0, 0), ('3',)),
    ],
)
def test_a_bad_update_changes_nothing(values, at, message):
    target = grid()
    with pytest.raises(ValueError) as error:
        target.update(values, at=at)
    assert all(part in str(error.value) for part in message)
    np.testing.assert_array_equal(target.blocked, WALLED)
    agent = planner()
    agent.step()
    with pytest.raises(ValueError):
        agent.observe(values, at=at)
    assert walks_on(agent)


def test_a_bad_value_at_the_end_of_a_full_update_changes_nothing_before_it():
    target = Grid(np.ones((50, 50)))
    values = np.full((50, 50), 3.0)
    values[-1, -1] = np.nan
    with pytest.raises(ValueError, match='nan'):
        target.update(values)
    assert (target.costs == 1).all()
    assert not target.update(np.ones((50, 50)))


@pytest.mark.parametrize('cell', [(6, 0), (0, 4), (-1, 0), (0, -1), (412, 7)])
def test_cells_outside_the_grid_are_refused(cell):
    message = rf'\({cell[0]}, {cell[1]}\).*6 x 4'
    with pytest.raises(OutsideGrid, match=message):
        TimeBoundedPlanner(grid(), start=cell, goal=(5, 3), algorithm=tba_star())
    with pytest.raises(OutsideGrid, match=message):
        TimeBoundedPlanner(grid(), start=(0, 0), goal=cell, algorithm=tba_star())
    with pytest.raises(OutsideGrid, match=message):
        find_path(grid(), cell, (5, 3))
    with pytest.raises(OutsideGrid, match=message):
        find_path(grid(), (0, 0), cell)
    agent = planner()
    agent.step()
    with pytest.raises(OutsideGrid, match=message):
        agent.new_goal(cell)
    with pytest.raises(OutsideGrid, match=message):
        agent.advance(cell)
    assert agent.goal == (5, 3)
    assert walks_on(agent)


def test_a_blocked_start_or_goal_is_refused():
    with pytest.raises(StartBlocked, match=r'\(2, 1\)'):
        TimeBoundedPlanner(grid(), start=(2, 1), goal=(5, 3), algorithm=tba_star())
    with pytest.raises(GoalBlocked, match=r'\(2, 1\)'):
        TimeBoundedPlanner(grid(), start=(0, 0), goal=(2, 1), algorithm=tba_star())
    with pytest.raises(StartBlocked, match=r'\(2, 1\)'):
        find_path(grid(), (2, 1), (5, 3))
    with pytest.raises(GoalBlocked, match=r'\(2, 1\)'):
        find_path(grid(), (0, 0), (2, 1))


def test_a_blocked_new_goal_is_refused_and_the_old_one_stays():
    agent = planner()
    agent.step()
    with pytest.raises(GoalBlocked, match=r'\(2, 1\)'):
        agent.new_goal((2, 1))
    assert agent.goal == (5, 3)
    assert walks_on(agent)


@pytest.mark.parametrize('error', [OutsideGrid, StartBlocked, GoalBlocked])
def test_the_errors_are_value_errors(error):
    assert issubclass(error, ValueError)


@pytest.mark.parametrize('k', [0, -1, -(2**40)])
def test_a_lookahead_below_1_is_refused(k):
    with pytest.raises(ValueError, match=rf'{k}.*1|1.*{k}'):
        planner(k=k)


@pytest.mark.parametrize('k', [2.5, '16', None, float('nan'), float('inf'), 2**70])
def test_a_lookahead_is_a_whole_number_that_the_kernel_can_count_to(k):
    with pytest.raises(ValueError, match=f'k is {k}'):
        planner(k=k)


@pytest.mark.parametrize('cell', [(1.5, 2), (float('nan'), 2), (1, 2, 3), (1,), 'ab', None])
def test_a_cell_is_two_whole_numbers(cell):
    with pytest.raises(ValueError, match='two whole numbers'):
        find_path(grid(), cell, (5, 3))
    agent = planner()
    with pytest.raises(ValueError, match='two whole numbers'):
        agent.new_goal(cell)
    with pytest.raises(ValueError, match='two whole numbers'):
        agent.advance(cell)
    assert walks_on(agent)


def test_a_cell_may_be_of_numpy_integers():
    assert find_path(grid(), (np.int64(0), np.int32(0)), (np.uint8(5), 3)).status is Status.AT_GOAL


@pytest.mark.parametrize('at', [(0.5, 0), (0,), (float('nan'), 0)])
def test_a_patch_lies_at_a_cell(at):
    with pytest.raises(ValueError):
        grid().update(np.ones((2, 2), dtype=bool), at=at)


@pytest.mark.parametrize(('w_g', 'w_h'), [(1.5, 1), (1, 2.5), (10**30, 1), (1, 10**30), (-1, 1), (0, 0)])
def test_the_weights_of_an_algorithm_are_whole_numbers_within_a_limit(w_g, w_h):
    with pytest.raises(ValueError, match=rf'{w_g}|{w_h}'):
        Algorithm('mine', w_g, w_h)


def test_a_world_of_another_size_is_refused():
    with pytest.raises(ValueError, match='6 x 4'):
        move_to_goal(planner(), Static(Grid(np.zeros((6, 4), dtype=bool))))


@pytest.mark.parametrize(
    'make', [lambda g: Changing(g, -1), lambda g: Changing(g, 101), lambda g: Changing(g, 1, every=0)]
)
def test_a_changing_world_refuses_rates_out_of_range(make):
    with pytest.raises(ValueError, match=r'-1|101|0'):
        make(grid())


def test_an_unknown_world_refuses_bad_sensors_and_maps():
    with pytest.raises(ValueError, match='sensor_radius is 0'):
        Unknown(grid(), sensor_radius=0)
    with pytest.raises(ValueError, match=r'\(3, 3\)'):
        Unknown(grid(), known=np.zeros((3, 3), dtype=bool))


@pytest.mark.parametrize('expansions', [0, -1, -256, 1.5, 2**70])
def test_a_number_of_expansions_below_1_is_refused(expansions):
    agent = planner()
    with pytest.raises(ValueError, match=str(expansions)):
        agent.search(expansions)
    assert walks_on(agent)


@pytest.mark.parametrize('w', [0.99, 0.0, -3.0, float('nan'), float('-inf')])
def test_a_weight_below_1_is_refused(w):
    with pytest.raises(ValueError, match=rf'{w}.*1|1.*{w}'):
        tb_wa_star(w)


def test_an_infinite_weight_is_refused():
    with pytest.raises(ValueError, match='inf'):
        tb_wa_star(float('inf'))


@pytest.mark.parametrize('factory', [tba_star, tb_gbfs, rtba_star])
def test_unknown_rules_are_refused(factory):
    with pytest.raises(ValueError, match='sometimes'):
        factory(restart='sometimes')
    with pytest.raises(ValueError, match='fifo'):
        factory(ties='fifo')


@pytest.mark.parametrize(
    'options',
    [
        {'trace_steps': 0},
        {'trace_steps': -5},
        {'trace_steps': 2**70},
        {'min_improvement': 1.0},
        {'start_tolerance': 1.5},
        {'min_improvement': -0.1},
        {'min_improvement': float('nan')},
        {'start_tolerance': -1},
        {'goal_tolerance': -1},
    ],
)
def test_settings_out_of_range_are_refused_with_their_value(options):
    (value,) = options.values()
    with pytest.raises(ValueError, match=str(value)):
        planner(**options)


@pytest.mark.parametrize('options', [{'R': 0}, {'R': -1}, {'R': 10, 'r': 1.5}, {'R': 10, 'r': -0.5}, {'R': 10, 'c': 0}])
def test_resources_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match=str(list(options.values())[-1])):
        planner(k=Resources(**options))


def test_resources_that_leave_nothing_to_expand_or_to_trace_are_refused():
    with pytest.raises(ValueError):
        planner(k=Resources(1, r=0.9))
    with pytest.raises(ValueError):
        planner(k=Resources(10, r=1.0))
