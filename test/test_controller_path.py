"""ControllerPathPolicy: which paths a controller gets, and when the robot has to stop."""

import numpy as np
import pytest
from helpers.planners import open_field
from helpers.trip import Trip, picture

from tb_planner import tb_wa_star
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.navigation.navigator import ControllerPathPolicy, NavigationStatus, thinned

WALL_WITH_TWO_DOORS = """
    ..............................
    ..............................
    ..............#...............
    ..............#...............
    ..............#...............
    ..............#...............
    ..............#...............
    ..............#...............
    ..............................
    ..............................
    """


class Given:
    """A controller on a trip: it gets paths and drives along them, cell by cell."""

    def __init__(self, trip):
        self.trip = trip
        self.policy = ControllerPathPolicy()
        self.paths = []
        """Each that was given, and None for every stop."""

    def tick(self, **arguments):
        tick = self.trip.tick(**arguments)
        path = self.policy.tick(self.trip.navigator, tick, self.trip.history[-1].pose)
        if not self.paths or path is not self.paths[-1]:
            self.paths.append(path)
        return path

    def drive(self, ticks, until=(NavigationStatus.ARRIVED,)):
        for _ in range(ticks):
            path = self.tick()
            if self.trip.last.status in until:
                return
            if path is not None:
                to = np.hypot(*(path.points_m - self.trip.place).T)
                self.trip.place = tuple(path.points_m[min(to.argmin() + 1, len(to) - 1)])


def test_on_a_map_that_does_not_change_one_path_is_given_and_a_stop_on_arrival():
    given = Given(Trip(picture(WALL_WITH_TWO_DOORS), (0.35, 0.55), (2.62, 0.57)))
    given.drive(200)
    path, stop = given.paths
    assert stop is None
    assert given.trip.last.status == NavigationStatus.ARRIVED
    assert path.points_m[0] == pytest.approx((0.35, 0.55))
    assert path.points_m[-1] == pytest.approx((2.62, 0.57))
    assert path.goal == Pose2D(2.62, 0.57, 0.5)


def test_a_controller_that_begins_anew_gets_a_path_from_where_the_robot_is():
    given = Given(Trip(open_field(40, 30), (0.35, 1.55), (3.62, 1.57)))
    given.drive(20)
    given.policy.reset()
    given.tick()
    old, new = given.paths
    at = np.hypot(*(old.points_m - given.trip.place).T).argmin()
    assert at > 15
    assert new.points_m.tolist() == old.points_m[at:].tolist()
    assert given.trip.navigator.planner.searches == 1


@pytest.mark.parametrize('k', [1, 5, 15])
def test_no_path_is_given_before_the_plan_reaches_the_goal(k):
    given = Given(Trip(picture(WALL_WITH_TWO_DOORS), (0.35, 0.55), (2.62, 0.57), k=k))
    ticks = 0
    while given.tick() is None:
        assert not given.trip.navigator.planner.route_reaches_goal
        ticks += 1
    assert ticks > 0
    assert given.paths[-1].points_m[-1] == pytest.approx((2.62, 0.57))


def test_changes_beside_the_route_give_nothing_anew():
    given = Given(Trip(open_field(40, 30), (0.35, 1.55), (3.62, 1.57)))
    random = np.random.default_rng(3)
    for _ in range(60):
        values = open_field(40, 30)
        values[random.integers(0, 8, 30), random.integers(0, 40, 30)] = True
        given.trip.change_map(values)
        given.drive(1)
    assert len([path for path in given.paths if path is not None]) == 1


def test_a_wall_across_the_route_gives_another_path_and_a_far_one_no_stop():
    given = Given(Trip(open_field(60, 20), (0.35, 1.05), (5.62, 1.07), k=100))
    given.drive(4)
    values = open_field(60, 20)
    values[2:18, 40] = True
    given.trip.change_map(values)
    given.drive(200)
    assert given.trip.last.status == NavigationStatus.ARRIVED
    _, second, stop = given.paths
    assert stop is None
    x, y = np.floor(given.trip.geometry.to_grid_array(second.points_m)).astype(int).T
    assert not values[y, x].any()


def test_a_wall_close_ahead_stops_the_robot_until_there_is_another_path():
    given = Given(Trip(open_field(60, 20), (0.35, 1.05), (5.62, 1.07), k=4))
    given.drive(100, until=(NavigationStatus.NAVIGATING,))
    while given.tick() is None:
        pass
    values = open_field(60, 20)
    values[2:18, 8] = True
    given.trip.change_map(values)
    assert given.tick() is None
    given.drive(3000)
    assert [path is None for path in given.paths] == [True, False, True, False, True]
    assert given.trip.last.status == NavigationStatus.ARRIVED


def test_where_the_rule_is_never_to_restart_a_wall_close_ahead_stops_the_robot_until_it_is_gone():
    given = Given(Trip(open_field(60, 20), (0.35, 1.05), (5.62, 1.07), algorithm=tb_wa_star(1.5, restart='never')))
    given.drive(5)
    values = open_field(60, 20)
    values[2:18, 12] = True
    given.trip.change_map(values)
    assert [given.tick() for _ in range(5)] == [None] * 5
    given.trip.change_map(open_field(60, 20))
    given.drive(200)
    assert given.trip.last.status == NavigationStatus.ARRIVED
    assert [path is None for path in given.paths] == [False, True, False, True]


def test_a_map_that_grows_or_moves_by_part_of_a_cell_gives_nothing_anew_while_the_route_is_the_same():
    trip = Trip(open_field(60, 20), (0.35, 1.05), (5.65, 1.05))
    given = Given(trip)
    given.drive(3)
    trip.move_map(open_field(70, 25), MapGeometry(70, 25, 0.1, (-0.5, -0.3, 0.0)))
    given.drive(3)
    trip.move_map(open_field(70, 25), MapGeometry(70, 25, 0.1, (-0.53, -0.3, 0.0)))
    given.drive(200)
    assert trip.last.status == NavigationStatus.ARRIVED
    assert len(given.paths) == 2


@pytest.mark.parametrize('lose', [{'pose': False}, {'map_lost': True}], ids=lambda lose: next(iter(lose)))
def test_without_a_pose_or_a_map_the_robot_stops_and_then_goes_on(lose):
    given = Given(Trip(open_field(60, 20), (0.35, 1.05), (5.62, 1.07)))
    given.drive(5)
    assert given.tick(**lose) is None
    given.drive(200)
    assert [path is None for path in given.paths] == [False, True, False, True]


def test_a_cancelled_goal_a_blocked_one_and_no_path_stop_the_robot():
    for stop in ('cancel', 'block', 'cut off'):
        given = Given(Trip(open_field(60, 20), (0.35, 1.05), (5.62, 1.07)))
        given.drive(5)
        values = open_field(60, 20)
        if stop == 'cancel':
            given.trip.navigator.cancel()
        elif stop == 'block':
            values[5:15, 50:60] = True
        else:
            values[:, 40] = True
        given.trip.change_map(values)
        assert given.tick() is None, stop


def test_a_goal_in_the_cell_of_the_old_one_is_another_path():
    given = Given(Trip(open_field(60, 20), (0.35, 1.05), (5.62, 1.07)))
    given.drive(5)
    given.trip.navigator.new_goal(Pose2D(5.66, 1.03, -1.0))
    given.drive(1)
    _, second = given.paths
    assert second.points_m[-1] == pytest.approx((5.66, 1.03))
    assert second.goal.yaw == -1.0


def test_in_the_goals_cell_a_path_still_has_two_points():
    given = Given(Trip(open_field(60, 20), (0.31, 1.01), (0.38, 1.08), goal_tolerance_m=0.0))
    assert given.tick().points_m == pytest.approx(np.array([(0.31, 1.01), (0.38, 1.08)]))


def test_of_a_long_route_that_is_held_in_part_the_whole_path_stays():
    """The route has more cells than are held; a restarted search does not disturb the controller."""
    values = open_field(1500, 30)
    given = Given(Trip(values, (0.35, 2.05), (149.0, 2.05), k=1000, algorithm=tb_wa_star(1.5, restart='eager')))
    given.drive(50)
    path = given.paths[-1]
    assert len(path.points_m) > 1024
    values[10, 700] = True
    given.trip.change_map(values)
    assert given.tick() is path
    assert not given.trip.navigator.plan_reaches_goal
    given.drive(50)
    assert given.trip.navigator.plan_reaches_goal
    assert given.paths[-1] is path


def test_a_long_path_is_thinned_where_it_goes_straight_on_and_nowhere_else():
    east, north, north_east = (0.05, 0.0), (0.0, 0.05), (0.05, 0.05)
    steps = [east] * 400 + [north] * 3 + [east] * 400 + [north_east] * 301
    points_m = np.vstack([(0.0, 0.0), np.cumsum(steps, axis=0)])
    thin = thinned(points_m, 100)
    assert len(thin) <= 110
    corners = points_m[[0, 400, 403, 803, -1]]
    assert all((thin == corner).all(axis=1).any() for corner in corners)
    x = np.interp(np.arange(len(points_m)), np.searchsorted(points_m.sum(axis=1), thin.sum(axis=1)), thin[:, 0])
    assert x == pytest.approx(points_m[:, 0])


def test_a_path_that_is_not_long_or_only_turns_keeps_all_its_points():
    stairs = np.cumsum([(0.05, 0.0), (0.0, 0.05)] * 100, axis=0)
    assert (thinned(stairs, 10) == stairs).all()
    line = np.column_stack((np.arange(50) * 0.05, np.zeros(50)))
    assert (thinned(line, 50) == line).all()
