"""Maps that move: SLAM's grow and shift, also by parts of a cell. Goal and route stay where they are in the world."""

import numpy as np
import pytest
from helpers.planners import open_field
from helpers.trip import MOVES, Trip

from tb_planner import tba_star
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.navigation.navigator import NavigationStatus
from tb_planner.search.algorithms import RestartReason

S = NavigationStatus

WALLS = [(2.0, -1.0, 2.3, 2.2), (4.0, 0.8, 4.3, 5.0)]
"""Left, bottom, right and top, in metres."""
START, GOAL = (0.55, 1.05), (5.55, 1.05)


def seen_on(geometry, walls=WALLS):
    """Cells whose centres are in a wall, or near enough to touch it."""
    ys, xs = np.mgrid[: geometry.height, : geometry.width]
    points = geometry.to_world_array(np.stack((xs, ys), axis=-1).reshape(-1, 2))
    reach = geometry.resolution_m / 2
    blocked = np.zeros(len(points), bool)
    for left, bottom, right, top in walls:
        x, y = points.T
        blocked |= (x > left - reach) & (x < right + reach) & (y > bottom - reach) & (y < top + reach)
    return blocked.reshape(geometry.height, geometry.width)


def trip_on(geometry, **changes):
    return Trip(seen_on(geometry), START, GOAL, geometry=geometry, algorithm=tba_star(), **changes)


FIRST = MapGeometry(70, 40, 0.1)


@pytest.mark.parametrize('moved', MOVES.values(), ids=MOVES.keys())
def test_a_robot_neither_stops_nor_turns_back_when_the_map_moves(moved):
    still = trip_on(FIRST)
    still.run_to_goal()
    trip = trip_on(FIRST)
    trip.run(10)
    trip.move_map(seen_on(moved), moved)
    trip.navigator.settings = still.navigator.settings
    few = {'search': lambda planner: planner.search(20)}  # so that the new search takes many ticks
    tick = trip.tick(**few)
    assert tick.restarts == (RestartReason.MAP_MOVED,)
    while trip.last.status == S.NAVIGATING:
        trip.drive()
        trip.tick(**few)
    assert trip.last.status == S.ARRIVED
    assert trip.driven_m < 1.05 * still.driven_m + 0.3


@pytest.mark.parametrize('moved', MOVES.values(), ids=MOVES.keys())
def test_the_plan_of_the_tick_that_moves_the_map_is_the_old_one_and_lies_in_free_cells(moved):
    trip = trip_on(FIRST)
    trip.run(10)
    before = trip.navigator.plan_points()
    trip.move_map(seen_on(moved), moved)
    trip.tick(search=lambda planner: planner.search(1))
    plan = trip.navigator.plan_points()
    gaps = np.hypot(*(plan[:, None] - before[None]).T).min(axis=0)
    assert gaps.max() <= 2.5 * moved.resolution_m  # half a diagonal, and a cell where a wall is drawn on others
    assert plan[-1] == pytest.approx(GOAL)
    cells = [moved.cell_at(*point) for point in plan]
    assert not any(trip.blocked[y, x] for x, y in cells)


@pytest.mark.parametrize('seed', range(8))
def test_a_map_that_grows_and_shifts_with_every_update_does_not_stop_the_robot(seed):
    random = np.random.default_rng(seed)
    still = trip_on(FIRST)
    still.run_to_goal()
    trip = trip_on(FIRST, k=50)
    trip.run(1)
    left, bottom, width, height = 0.0, 0.0, 70, 40
    while trip.last.status in (S.NAVIGATING, S.WAITING) and len(trip.history) < 300:
        if len(trip.history) % 5 == 0:
            left -= 0.1 * random.integers(0, 3) + random.choice([0.0, 0.05, 0.013])
            bottom -= 0.1 * random.integers(0, 3) + random.choice([0.0, 0.05, 0.021])
            width, height = width + int(random.integers(3, 6)), height + int(random.integers(3, 6))
            moved = MapGeometry(width, height, 0.1, (float(left), float(bottom), 0.0))
            trip.move_map(seen_on(moved), moved)
        trip.tick()
        trip.drive()
    assert trip.last.status == S.ARRIVED
    assert trip.statuses.index(S.NAVIGATING) < 3
    assert S.WAITING not in trip.statuses[3:]
    assert trip.driven_m < 1.3 * still.driven_m  # walls are now and then drawn a cell thicker


def test_a_held_route_that_the_new_map_blocks_is_not_followed():
    trip = trip_on(FIRST)
    trip.run(10)
    moved = MapGeometry(80, 55, 0.1, (-1.0, -1.5, 0.0))
    walls = [*WALLS, (2.6, 1.5, 2.8, 5.0)]
    trip.move_map(seen_on(moved, walls), moved)
    tick = trip.tick(search=lambda planner: planner.search(1))
    assert tick.status in (S.WAITING, S.NAVIGATING)
    plan = trip.navigator.plan_points()
    assert len(plan) < 5
    trip.run_to_goal()


def test_a_held_route_that_is_blocked_later_is_dropped_in_the_same_tick():
    trip = trip_on(FIRST)
    trip.run(10)
    moved = MapGeometry(80, 55, 0.1, (-1.0, -1.5, 0.0))
    trip.move_map(seen_on(moved), moved)
    slow = {'search': lambda planner: planner.search(1)}
    trip.tick(**slow)
    assert len(trip.navigator.plan_points()) > 20
    values = seen_on(moved)
    x, y = moved.cell_at(*trip.navigator.plan_points()[20])
    values[y - 2 : y + 3, x - 2 : x + 3] = True
    trip.change_map(values)
    trip.tick(**slow)
    assert len(trip.navigator.plan_points()) < 20
    trip.run_to_goal()


def test_a_robot_pushed_off_a_held_route_starts_again_from_where_it_is():
    trip = trip_on(FIRST)
    trip.run(10)
    moved = MOVES['grown on the left']
    trip.move_map(seen_on(moved), moved)
    slow = {'search': lambda planner: planner.search(1)}
    trip.tick(**slow)
    trip.place = 0.3, 3.5
    trip.tick(**slow)
    trip.tick(**slow)
    assert RestartReason.OFF_ROUTE in trip.restarts
    trip.run_to_goal()


def test_the_new_route_takes_over_when_it_is_ready():
    trip = trip_on(FIRST)
    trip.run(10)
    moved = MOVES['grown on the left']
    trip.move_map(seen_on(moved, WALLS[1:]), moved)  # the first wall has gone
    tick = trip.tick(search=lambda planner: planner.search(1))
    assert not trip.navigator.planner.goal_found
    length = np.hypot(*np.diff(trip.navigator.plan_points(), axis=0).T).sum()
    tick = trip.tick(search=lambda planner: planner.search(100_000))
    assert tick.plan_changed
    assert np.hypot(*np.diff(trip.navigator.plan_points(), axis=0).T).sum() < length - 0.3
    trip.run_to_goal()


def test_two_moves_between_poses_keep_the_route():
    trip = trip_on(FIRST)
    trip.run(10)
    for name in ('grown on the left', 'a little finer'):
        trip.move_map(seen_on(MOVES[name]), MOVES[name])
        tick = trip.tick(pose=False)
        assert tick.status == S.POSE_LOST
    tick = trip.tick(search=lambda planner: planner.search(1))
    assert (tick.status, tick.restarts) == (S.NAVIGATING, (RestartReason.MAP_MOVED,))
    trip.run_to_goal()


def test_a_goal_that_the_new_map_no_longer_holds_waits_for_one_that_does():
    trip = trip_on(FIRST)
    trip.run(10)
    small = MapGeometry(30, 40, 0.1)
    trip.move_map(seen_on(small), small)
    assert trip.tick().status == S.GOAL_OUTSIDE_MAP
    assert len(trip.navigator.plan_points()) == 0
    trip.move_map(seen_on(FIRST), FIRST)
    assert trip.tick().status == S.NAVIGATING
    trip.run_to_goal()


def test_a_move_without_a_goal_is_no_restart():
    trip = Trip(open_field(20, 20), (0.35, 0.35))
    trip.tick()
    trip.move_map(open_field(30, 30), MapGeometry(30, 30, 0.1))
    assert trip.tick().restarts == ()
    trip.navigator.new_goal(Pose2D(2.5, 2.5))
    assert trip.run_to_goal().restarts == ()
    assert trip.restarts == []
