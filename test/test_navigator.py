"""Navigator: statuses, waypoints and plans, tick by tick."""

import math
from dataclasses import fields

import numpy as np
import pytest
from helpers.planners import open_field
from helpers.trip import Trip, picture, settings

from tb_planner import rtba_star, tb_gbfs, tb_wa_star, tba_star, tbaa_star
from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.navigation.navigator import NavigationStatus, Navigator, Settings
from tb_planner.search.algorithms import RestartReason

S = NavigationStatus

WALL_WITH_DOOR = """
    ....................
    ....................
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    """


def own_position(trip):
    pose = trip.history[-1].pose
    return trip.last.waypoint == pose


# ------------------------------------------------------------------------------------------------------ usual course
@pytest.mark.parametrize(
    'algorithm', [tba_star(), tb_wa_star(3.0), tb_gbfs(), rtba_star(), tbaa_star()], ids=lambda a: a.name
)
@pytest.mark.parametrize('k', [3, 100_000])
def test_a_robot_reaches_its_goal_around_a_wall(algorithm, k):
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81), algorithm=algorithm, k=k)
    trip.run_to_goal()
    assert math.dist(trip.place, (1.72, 0.81)) <= 0.1
    assert set(trip.statuses[:-1]) <= {S.WAITING, S.NAVIGATING}
    assert trip.restarts == []


def test_on_arrival_the_goal_pose_is_the_waypoint_once_and_the_plan_is_empty():
    trip = Trip(open_field(20, 10), (0.35, 0.85), (1.72, 0.31))
    arrived = trip.run_to_goal()
    assert arrived.waypoint == Pose2D(1.72, 0.31, 0.5)
    assert arrived.plan_changed
    assert len(trip.navigator.plan_points()) == 0
    after = trip.tick()
    assert (after.status, after.waypoint, after.plan_changed) == (S.ARRIVED, None, False)
    assert trip.navigator.goal is None


def test_the_last_waypoint_is_the_exact_goal_with_its_direction_and_those_before_look_along_the_route():
    trip = Trip(open_field(30, 10), (0.35, 0.55), (2.72, 0.57))
    first = trip.tick()
    assert first.waypoint.yaw == pytest.approx(0.0, abs=0.3)
    trip.run_to_goal()
    assert trip.history[-2].tick.waypoint == Pose2D(2.72, 0.57, 0.5)


def test_the_plan_leads_from_the_robot_to_the_exact_goal():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    assert trip.tick().plan_changed
    plan = trip.navigator.plan_points()
    assert plan[0] == pytest.approx((0.35, 0.85))
    assert plan[-1] == pytest.approx((1.72, 0.81))
    assert np.abs(np.diff(plan, axis=0)).max() <= 0.15 + 1e-9


def test_walking_along_a_plan_does_not_change_it():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    trip.run_to_goal()
    changed = [seen.tick.plan_changed for seen in trip.history]
    assert changed == [True] + [False] * (len(changed) - 2) + [True]


# ------------------------------------------------------------------------------------------------------ what is missing
def test_without_a_goal_there_is_no_waypoint_no_plan_and_no_restart():
    trip = Trip(open_field(5, 5), (0.25, 0.25))
    tick = trip.tick()
    assert (tick.status, tick.waypoint, tick.plan_changed, tick.restarts) == (S.IDLE, None, False, ())


def test_without_a_map_or_a_pose_the_navigator_waits_for_them():
    navigator = Navigator(settings())
    navigator.new_goal(Pose2D(1.0, 1.0))
    tick = navigator.tick(None, Pose2D(0.5, 0.5))
    assert (tick.status, tick.waypoint) == (S.WAITING_FOR_MAP, None)
    trip = Trip(open_field(20, 20), (0.35, 0.35), (1.5, 1.5))
    tick = trip.tick(pose=False)
    assert (tick.status, tick.waypoint) == (S.WAITING_FOR_POSE, None)
    assert trip.tick().status == S.NAVIGATING


def test_a_lost_pose_ends_waypoints_and_keeps_the_plan():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    trip.run(3)
    lost = trip.tick(pose=False)
    assert (lost.status, lost.waypoint, lost.plan_changed) == (S.POSE_LOST, None, False)
    assert len(trip.navigator.plan_points()) > 1
    trip.run_to_goal()
    assert trip.restarts == []


def test_with_a_lost_map_the_last_waypoint_is_repeated_while_it_is_in_sight():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    before = trip.tick()
    lost = trip.tick(map_lost=True)
    assert lost.status == S.MAP_LOST
    assert lost.waypoint == before.waypoint
    trip.place = 1.75, 0.55
    assert trip.tick(map_lost=True).status == S.MAP_LOST
    assert own_position(trip)
    trip.run_to_goal()


# ------------------------------------------------------------------------------------------------------ no path
def test_a_goal_outside_the_map_is_gone_to_by_itself_once_the_map_has_grown_to_it():
    trip = Trip(open_field(10, 10), (0.35, 0.35), (2.5, 0.5))
    tick = trip.tick()
    assert tick.status == S.GOAL_OUTSIDE_MAP
    assert tick.message == 'goal (2.50, 0.50) m is outside the map of 10 x 10 cells of 0.1 m'
    assert own_position(trip)
    trip.move_map(open_field(30, 10), MapGeometry(30, 10, 0.1))
    trip.run_to_goal()


def test_a_blocked_goal_is_gone_to_by_itself_once_it_is_free():
    values = open_field(20, 10)
    values[3:8, 12:18] = True
    trip = Trip(values, (0.35, 0.55), (1.55, 0.55))
    tick = trip.tick()
    assert tick.status == S.GOAL_BLOCKED
    assert tick.message == 'goal (1.55, 0.55) m is blocked, and so is everything within 0.1 m'
    assert own_position(trip)
    trip.change_map(open_field(20, 10))
    trip.run_to_goal()


def test_a_goal_that_becomes_blocked_stops_the_robot_until_it_is_free_again():
    trip = Trip(open_field(20, 10), (0.35, 0.55), (1.55, 0.55))
    trip.run(3)
    values = open_field(20, 10)
    values[4:7, 13:18] = True
    trip.change_map(values)
    tick = trip.tick()
    assert (tick.status, tick.plan_changed) == (S.GOAL_BLOCKED, True)
    assert own_position(trip)
    assert len(trip.navigator.plan_points()) == 0
    trip.run(3)
    assert trip.last.status == S.GOAL_BLOCKED
    trip.change_map(open_field(20, 10))
    assert trip.tick().status == S.NAVIGATING
    trip.run_to_goal()


def test_a_free_cell_near_a_blocked_goal_replaces_it():
    values = open_field(20, 10)
    values[5, 15] = True
    trip = Trip(values, (0.35, 0.55), (1.55, 0.55))
    arrived = trip.run_to_goal()
    cell = trip.geometry.cell_at(*trip.place)
    assert math.dist(cell, (15, 5)) == 1.0
    assert (arrived.waypoint.x_m, arrived.waypoint.y_m) == pytest.approx(trip.geometry.centre_of(cell))
    assert arrived.waypoint.yaw == 0.5


def test_without_a_path_the_robot_stays_until_the_map_opens_one():
    closed = open_field(20, 10)
    closed[:, 9] = True
    trip = Trip(closed, (0.35, 0.55), (1.55, 0.55))
    trip.run(4)
    assert trip.last.status == S.NO_PATH
    assert own_position(trip)
    assert len(trip.navigator.plan_points()) == 0
    opened = closed.copy()
    opened[0, 9] = False
    trip.change_map(opened)
    tick = trip.tick()
    assert (tick.status, tick.restarts) == (S.NAVIGATING, (RestartReason.NO_PATH,))
    trip.run_to_goal()


def test_a_robot_with_no_path_that_is_carried_elsewhere_finds_one():
    closed = open_field(20, 10)
    closed[:, 9] = True
    trip = Trip(closed, (0.35, 0.55), (1.55, 0.55))
    trip.run(2)
    assert trip.last.status == S.NO_PATH
    trip.place = 1.25, 0.15
    assert trip.tick().status == S.NAVIGATING
    trip.run_to_goal()


def test_a_robot_outside_the_map_stays_until_it_is_inside():
    trip = Trip(open_field(20, 10), (-0.35, 0.55), (1.55, 0.55))
    tick = trip.tick()
    assert tick.status == S.START_OUTSIDE_MAP
    assert tick.message == 'the robot at (-0.35, 0.55) m is outside the map of 20 x 10 cells of 0.1 m'
    assert own_position(trip)
    trip.place = 0.05, 0.55
    trip.run_to_goal()


def test_a_robot_deep_in_blocked_cells_stays_until_it_is_near_a_free_one():
    values = open_field(30, 10)
    values[:, :10] = True
    trip = Trip(values, (0.35, 0.55), (2.55, 0.55))
    tick = trip.tick()
    assert tick.status == S.START_BLOCKED
    sure = 'no free cell within 0.3 m is certain to be on its side of the obstacles'
    assert tick.message == f'the robot at (0.35, 0.55) m is blocked, and {sure}'
    assert own_position(trip)
    trip.place = 0.75, 0.55
    tick = trip.tick()
    assert tick.status == S.NAVIGATING
    assert (tick.waypoint.x_m, tick.waypoint.y_m) == pytest.approx((1.05, 0.55))
    trip.run_to_goal()


def test_a_robot_in_an_obstacle_leaves_it_by_a_cell_farther_away_than_a_waypoint_may_be():
    room = open_field(60, 20)
    room[:, :30] = True
    trip = Trip(room, (1.05, 1.05), (5.0, 1.0), start_tolerance_m=3.0, waypoint_distance_m=1.0)
    trip.run_to_goal()
    assert trip.restarts == []


def test_a_robot_that_a_map_puts_into_a_blocked_cell_leaves_it_by_the_nearest_free_one():
    trip = Trip(open_field(30, 10), (0.35, 0.55), (2.55, 0.55))
    trip.run(5)
    x, y = trip.geometry.cell_at(*trip.place)
    values = open_field(30, 10)
    values[y - 1 : y + 3, x - 1 : x + 3] = True
    trip.change_map(values)
    trip.tick()
    assert trip.last.status == S.NAVIGATING
    trip.run_to_goal()
    assert len(trip.restarts) <= 3


# ------------------------------------------------------------------------------------------------------ goals
def test_a_new_goal_preempts_the_old_one():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    trip.run(5)
    trip.navigator.new_goal(Pose2D(0.15, 0.15, 1.0))
    tick = trip.tick()
    assert (tick.status, tick.plan_changed, tick.restarts) == (S.NAVIGATING, True, ())
    trip.run_to_goal()
    assert math.dist(trip.place, (0.15, 0.15)) <= 0.1


def test_the_same_goal_again_needs_no_new_search():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    trip.run(3)
    planner, expansions = trip.navigator.planner, trip.navigator.planner.expansions
    trip.navigator.new_goal(Pose2D(1.75, 0.83, 2.0))
    tick = trip.tick()
    assert not tick.plan_changed
    assert trip.navigator.planner is planner
    assert planner.expansions == expansions
    trip.run_to_goal()
    assert math.dist(trip.place, (1.75, 0.83)) <= 0.1
    assert trip.last.waypoint.yaw == 2.0


def test_a_goal_where_the_robot_is_has_been_reached():
    trip = Trip(open_field(20, 10), (0.35, 0.55), (0.41, 0.55))
    assert trip.tick().status == S.ARRIVED


def test_a_goal_that_is_near_but_behind_a_wall_has_not_been_reached():
    values = open_field(20, 10)
    values[1:, 4] = True
    trip = Trip(values, (0.38, 0.55), (0.53, 0.55), goal_tolerance_m=0.2)
    assert trip.tick().status == S.NAVIGATING
    trip.run_to_goal()
    assert trip.place[0] > 0.5


def test_canceling_stops_the_robot_once_and_forgets_the_goal():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    trip.run(3)
    assert trip.navigator.cancel()
    tick = trip.tick()
    assert (tick.status, tick.plan_changed) == (S.CANCELED, True)
    assert own_position(trip)
    assert len(trip.navigator.plan_points()) == 0
    tick = trip.tick()
    assert (tick.status, tick.waypoint) == (S.CANCELED, None)
    assert not trip.navigator.cancel()
    trip.navigator.new_goal(Pose2D(0.15, 0.15))
    trip.run_to_goal()


def test_a_robot_without_a_pose_is_stopped_when_it_has_one_again():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    trip.run(3)
    trip.navigator.cancel()
    assert trip.tick(pose=False).waypoint is None
    trip.tick()
    assert own_position(trip)


def test_map_goal_and_pose_may_all_be_new_in_one_tick():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    trip.run(3)
    values = picture(WALL_WITH_DOOR)
    values[0:2, 9] = True
    values[8:, 9] = False
    trip.change_map(values)
    trip.navigator.new_goal(Pose2D(1.55, 0.35))
    trip.place = 0.75, 0.15
    assert trip.tick().status == S.NAVIGATING
    trip.run_to_goal()
    trip.move_map(open_field(40, 40), MapGeometry(40, 40, 0.07, (-0.2, -0.3, 0.0)))
    trip.navigator.new_goal(Pose2D(1.95, 1.35))
    trip.place = 0.15, 0.15
    assert trip.tick().status == S.NAVIGATING
    trip.run_to_goal()


# ------------------------------------------------------------------------------------------------------ the route
def test_a_route_that_is_blocked_is_left_in_the_same_tick():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    trip.run(4)
    values = picture(WALL_WITH_DOOR)
    values[0:2, 9] = True
    values[9, 9] = False
    trip.change_map(values)
    tick = trip.tick()
    assert tick.restarts == (RestartReason.BLOCKED,)
    cells = {trip.geometry.cell_at(*point) for point in trip.navigator.plan_points()}
    assert not any(values[y, x] for x, y in cells)
    trip.run_to_goal()


def test_a_route_that_is_blocked_is_not_held_while_the_search_catches_up():
    trip = Trip(open_field(60, 20), (0.35, 0.95), (5.55, 0.95))
    trip.run(4)
    values = open_field(60, 20)
    x, y = trip.navigator.planner.route[30]
    values[y, x] = True
    trip.change_map(values)
    tick = trip.tick(search=lambda planner: planner.search(1))
    assert tick.restarts == (RestartReason.BLOCKED,)
    assert len(trip.navigator.plan_points()) < 5
    trip.run_to_goal()


def test_a_route_that_could_be_shorter_is_followed_until_the_search_has_caught_up():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81), algorithm=tba_star())
    trip.run(2)
    before = trip.navigator.plan_points()
    trip.change_map(open_field(20, 10))
    tick = trip.tick(search=lambda planner: planner.search(1))
    assert (tick.status, tick.restarts) == (S.NAVIGATING, (RestartReason.SHORTCUT_OPENED,))
    held = trip.navigator.plan_points()
    assert held[-1] == pytest.approx(before[-1])
    tick = trip.tick()
    assert tick.plan_changed
    assert len(trip.navigator.plan_points()) < len(held)
    trip.run_to_goal()
    assert trip.restarts == [RestartReason.SHORTCUT_OPENED]


def test_a_goal_behind_a_cut_corner_is_reached():
    values = picture("""
        .....#.....
        .....#.....
        .....#.....
        ....#......
        ....#......
        ....#......
        """)
    trip = Trip(values, (0.15, 0.15), (0.95, 0.45), corner_cutting=True)
    trip.run_to_goal()


def test_a_wall_between_the_robot_and_its_route_sends_the_search_back_to_the_robot():
    trip = Trip(open_field(30, 20), (0.35, 0.95), (2.55, 0.95))
    trip.run(5)
    trip.place = trip.place[0], trip.place[1] + 0.3
    trip.tick()
    assert trip.restarts == []
    values = open_field(30, 20)
    values[11, 2:28] = True
    trip.change_map(values)
    trip.run(2)
    assert trip.restarts == [RestartReason.OFF_ROUTE]
    trip.run_to_goal()


def test_a_push_within_the_tolerance_restarts_nothing_and_one_beyond_it_does():
    trip = Trip(open_field(40, 20), (0.35, 0.95), (3.55, 0.95))
    trip.run(5)
    trip.place = trip.place[0], trip.place[1] + 0.3
    trip.run(5)
    assert trip.restarts == []
    trip.place = trip.place[0], trip.place[1] - 0.7
    trip.run(5)
    assert trip.restarts == [RestartReason.OFF_ROUTE]
    trip.run_to_goal()


def test_noisy_poses_restart_nothing():
    random = np.random.default_rng(4)
    values = picture(WALL_WITH_DOOR).repeat(3, axis=0).repeat(3, axis=1)
    trip = Trip(values, (0.55, 2.55), (5.15, 2.45), goal_tolerance_m=0.2)
    trip.run_to_goal(noise=lambda: random.normal(0.0, 0.05, 2), most_m=0.03)
    assert trip.restarts == []


def test_a_route_is_followed_however_far_the_goal_is():
    values = open_field(3000, 3)
    trip = Trip(values, (0.15, 0.15), (299.5, 0.15), waypoint_distance_m=5.0)
    trip.run_to_goal(ticks=2000, most_m=4.0)
    assert trip.restarts == []
    assert trip.driven_m < 301


# ------------------------------------------------------------------------------------------------------ settings
def test_k_counts_from_the_next_tick_on():
    trip = Trip(open_field(60, 60), (0.35, 0.35), (5.55, 5.55), k=1, algorithm=tba_star())
    trip.tick()
    assert trip.navigator.planner.expansions == 1
    trip.navigator.settings = settings(k=7, algorithm=tba_star())
    trip.tick()
    assert trip.navigator.planner.expansions == 8


def test_with_another_algorithm_the_robot_goes_on_while_a_new_search_catches_up():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81), k=100_000)
    trip.run(3)
    trip.navigator.settings = settings(algorithm=tba_star(), k=5)
    tick = trip.tick()
    assert tick.restarts == (RestartReason.SETTINGS,)
    assert trip.navigator.planner.algorithm == tba_star()
    assert not trip.navigator.planner.goal_found
    trip.run_to_goal()
    assert set(trip.statuses[1:-1]) == {S.NAVIGATING}
    assert trip.restarts.count(RestartReason.SETTINGS) == 1


def test_other_tolerances_and_distances_keep_the_search():
    trip = Trip(open_field(60, 20), (0.35, 0.95), (5.55, 0.95))
    near = trip.tick().waypoint.x_m
    planner = trip.navigator.planner
    trip.navigator.settings = settings(waypoint_distance_m=2.0, goal_tolerance_m=0.2, start_tolerance_m=0.1)
    far = trip.tick().waypoint.x_m
    assert far - near == pytest.approx(1.0, abs=0.11)
    assert trip.navigator.planner is planner
    assert (planner.goal_tolerance, planner.start_tolerance) == (2, 1)
    assert trip.restarts == []


def test_a_wider_goal_tolerance_finds_a_replacement_for_a_blocked_goal():
    values = open_field(20, 10)
    values[3:8, 12:18] = True
    trip = Trip(values, (0.35, 0.55), (1.55, 0.55))
    assert trip.tick().status == S.GOAL_BLOCKED
    trip.navigator.settings = settings(goal_tolerance_m=0.5)
    trip.run_to_goal()


def test_resetting_the_search_drops_the_route():
    trip = Trip(picture(WALL_WITH_DOOR), (0.35, 0.85), (1.72, 0.81))
    trip.run(3)
    trip.navigator.reset_search()
    tick = trip.tick()
    assert (tick.restarts, tick.plan_changed) == ((RestartReason.REQUESTED,), True)
    trip.run_to_goal()


def test_a_full_replan_comes_after_its_period_on_a_map_that_has_changed():
    trip = Trip(open_field(60, 20), (0.35, 0.95), (5.55, 0.95), full_replan_ticks=4)
    trip.run(8)
    assert trip.restarts == []
    values = open_field(60, 20)
    values[0, 0] = True
    trip.change_map(values)
    trip.run(8)
    assert trip.restarts == [RestartReason.PERIODIC]
    trip.run_to_goal()
    assert S.WAITING not in trip.statuses


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'k': 0}, 'k is 0; it must be a whole number, at least 1'),
        ({'k': 1.5}, 'k is 1.5; it must be a whole number, at least 1'),
        ({'full_replan_ticks': -1}, 'full_replan_ticks is -1; it must be a whole number, at least 0'),
        ({'min_improvement': 1.0}, 'min_improvement is 1.0; it must be at least 0 and below 1'),
        ({'goal_tolerance_m': -0.1}, 'goal_tolerance_m is -0.1; it must be finite and at least 0'),
        ({'waypoint_distance_m': math.nan}, 'waypoint_distance_m is nan; it must be finite and at least 0'),
        ({'algorithm': 'tba_star'}, r"algorithm is 'tba_star'; make one with a factory, such as tba_star\(\)"),
    ],
)
def test_a_bad_setting_is_refused_with_value_and_limit(change, message):
    with pytest.raises(ValueError, match=message):
        settings(**change)


def test_a_pose_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r'the pose is \(1.0, nan, 0.0\); its numbers must be finite'):
        Pose2D(1.0, math.nan)


def test_only_the_parameters_have_defaults_and_the_settings_are_derived_from_them():
    """A default in two places is two defaults: those of the tolerances once differed."""
    with pytest.raises(TypeError, match=f'{len(fields(Settings)) - 1} required positional arguments'):
        Settings(tba_star())
    parameters, derived = PlannerParameters(), PlannerParameters().settings()
    for field in fields(Settings):
        if field.name not in ('algorithm', 'k'):
            assert getattr(derived, field.name) == getattr(parameters, field.name)


# ------------------------------------------------------------------------------------------------------ memory
def test_a_new_geometry_uses_the_memory_that_was_prepared_for_it():
    trip = Trip(open_field(40, 40), (0.35, 0.35), (3.5, 3.5))
    trip.run(3)
    trip.move_map(open_field(50, 50), MapGeometry(50, 50, 0.1, (-0.5, -0.5, 0.0)))
    grid = trip._update.grid
    prepared = grid._spare_searches[0]
    trip.tick()
    assert trip.navigator.planner._search is prepared
    assert not grid.has_spare_search
