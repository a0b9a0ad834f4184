"""The planner node over DDS: what it publishes, what services and parameters do, how it goes on without pose or map."""

import math
import re
import socket

import numpy as np
import pytest
import yaml
from helpers.peer import LATCHED, RELIABLE, Peer
from helpers.surroundings import Facts, PlannerPeer, map_message, open_terrain, pose_stamped
from nav_msgs.msg import OccupancyGrid
from std_msgs.msg import String
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from tb_planner.ros.diagnostics import SUMMARY

SMALL = {'robot_radius_m': 0.1, 'inflation_radius_m': 0.2}


def place(message):
    """The place of a pose, in metres."""
    return message.pose.position.x, message.pose.position.y


def path_length(plan):
    points = np.array([place(pose) for pose in plan.poses])
    return float(np.hypot(*np.diff(points, axis=0).T).sum())


def leads_to(around, x, y):
    """Whether the last plan ends there."""
    poses = around.plans.last.poses
    return bool(poses) and math.dist(place(poses[-1]), (x, y)) < 0.1


@pytest.fixture(scope='module')
def running(shared_nodes, shared_peer) -> tuple:
    """One navigating planner, shared by the tests that change nothing for each other."""
    return shared_nodes.planner(**SMALL), PlannerPeer(shared_peer)


@pytest.fixture
def around(running) -> PlannerPeer:
    """The planner navigates to (8, 5), around a wall; the robot is at (2, 5)."""
    around = running[1]
    around.move_to(2.0, 5.0)
    around.set_out()
    return around


# -------------------------------------------------------------------------------------------------- what it publishes
def test_every_tick_has_a_waypoint_ahead_in_sight_and_the_plan_is_published_once(around):
    plans, ticks, count = len(around.plans), int(around.next_facts()['ticks']), len(around.waypoints)
    around.peer.wait_until(lambda: int(around.facts['ticks']) >= ticks + 40, 'forty ticks')
    ticked, published = int(around.facts['ticks']) - ticks, len(around.waypoints) - count
    assert abs(published - ticked) <= 5  # messages in transit between the two topics
    assert len(around.plans) == plans
    x, y = place(around.waypoints.last)
    assert 0.5 < math.dist((x, y), (2.0, 5.0)) <= 1.05
    assert around.waypoints.last.header.frame_id == around.plans.last.header.frame_id == 'map'


def test_the_plan_leads_from_the_robot_to_the_goal_around_the_wall(around):
    plan = around.plans.last
    assert math.dist(place(plan.poses[0]), (2.0, 5.0)) < 0.1
    assert math.dist(place(plan.poses[-1]), (8.0, 5.0)) < 0.1
    cells = open_terrain()
    assert all(cells[int(y * 10), int(x * 10)] == 0 for x, y in map(place, plan.poses))
    assert path_length(plan) > 6.0


def test_a_late_listener_gets_status_and_plan(around):
    late = Peer('late')
    try:
        statuses, plans = late.subscribe_status(), late.subscribe('plan', type(around.plans.last), LATCHED)
        late.wait_until(lambda: statuses and plans, 'latched messages')
        assert statuses.last.data == 'NAVIGATING'
        assert plans.last == around.plans.last
    finally:
        late.close()


def test_diagnostics_count_the_restarts_by_reason_and_describe_the_navigation(around):
    facts = around.next_facts()
    status = around.diagnostics.last.status[0]
    restarts = {key: int(value) for key, value in facts.items() if key.startswith('restarts_')}
    assert all(restarts.values())
    assert sum(restarts.values()) == int(facts['restarts'])
    assert (status.name, status.hardware_id) == ('/tb_planner: planner', socket.gethostname())
    # a second with a tick too long is a warning
    around.peer.wait_until(lambda: around.diagnostics.last.status[0].level == status.OK, 'all is well')
    assert around.facts['status'] == 'NAVIGATING'
    assert float(around.facts['distance_to_goal_m']) == pytest.approx(path_length(around.plans.last), abs=0.3)
    message, facts = around.diagnostics.last.status[0].message, Facts(around.diagnostics.last)
    assert message.startswith(f'going to the goal (8.00, 5.00) m; {float(facts["distance_to_goal_m"]):.2f} m to go')
    around.peer.wait_until(lambda: float(around.facts['tick_p50_ms']) > 0, 'ticks that have ended')
    assert float(around.facts['tick_p50_ms']) <= float(around.facts['tick_p99_ms'])
    assert float(around.facts['pose_age_s']) >= 0
    assert float(around.facts['map_age_s']) >= 0
    assert float(around.facts['map_to_waypoint_ms']) > 0


def test_the_search_and_the_waypoint_are_published_to_subscribers(around):
    pictures = around.peer.subscribe('expansions', OccupancyGrid, LATCHED)
    markers = around.peer.subscribe('markers', MarkerArray, RELIABLE)
    around.peer.wait_until(lambda: pictures and markers, 'pictures of the search')
    values = np.frombuffer(pictures.last.data, np.int8).reshape(100, 100)
    assert set(np.unique(values)) == {-1, 50, 100}
    assert values[50, 20] == 50  # the robot's cell has been expanded
    assert pictures.last.info.resolution == pytest.approx(0.1)
    shown = {marker.ns: marker for marker in markers.last.markers}
    assert shown.keys() == {'goal', 'waypoint', 'backtracking', 'restarts'}
    assert shown['goal'].pose.position.x == 8.0
    assert any(shown['waypoint'].pose.position == message.pose.position for message in around.waypoints)
    assert shown['backtracking'].action == Marker.DELETE
    assert shown['restarts'].action == Marker.DELETE


def test_restarts_are_shown_where_they_were_with_their_reason(around):
    markers = around.peer.subscribe('markers', MarkerArray, RELIABLE)
    assert around.peer.call('tb_planner/reset_search', Trigger).success
    around.peer.wait_until(lambda: markers and len(markers.last.markers) > 4, 'a restart is shown')
    shown = {marker.ns: marker for marker in markers.last.markers}
    here = around.pose.pose.position
    assert [(point.x, point.y) for point in shown['restarts'].points] == [(here.x, here.y)]
    assert shown['restart_reasons'].text == 'requested'


def test_the_summary_has_a_line_for_everything_that_people_ask_first(around):
    summaries = around.peer.subscribe('tb_planner/summary', String, LATCHED)
    around.peer.call('tb_planner/reset_search', Trigger)

    def is_under_way(summary):
        return summary['last_restart'] == 'requested' and summary['distance_to_goal_m'] is not None

    around.peer.wait_until(lambda: summaries and is_under_way(yaml.safe_load(summaries.last.data)), 'the restart')
    lines = summaries.last.data.splitlines()
    summary = yaml.safe_load(summaries.last.data)
    assert [line.partition(':')[0] for line in lines] == list(summary) == list(SUMMARY)
    assert max(map(len, lines)) < 80
    assert summary['status'] == 'NAVIGATING'
    assert f'{summary["distance_to_goal_m"]:.2f} m to go' in summary['reason']
    assert summary['goal'] == summary['actual_goal'] == '(8.00, 5.00) m'
    assert summary['restarts'] >= 1
    assert min(summary['map_age_s'], summary['pose_age_s'], summary['tick_p99_ms']) >= 0
    assert summary['time_to_goal_s'] is None  # the robot does not move
    assert around.peer.call('tb_planner/cancel', Trigger).success
    around.peer.wait_until(lambda: yaml.safe_load(summaries.last.data)['status'] == 'CANCELED', 'the new status')


# ------------------------------------------------------------------------------------------------------ goals
def test_a_new_goal_takes_the_place_of_the_old_one(around):
    around.publish_goal(2.0, 8.0)
    around.peer.wait_until(lambda: leads_to(around, 2.0, 8.0), 'another plan')
    assert around.statuses.last.data == 'NAVIGATING'


def test_arrival_is_reported_once_with_the_goal_as_the_last_waypoint(around):
    around.pose = pose_stamped(7.95, 5.0)
    around.wait_for_status('ARRIVED')
    around.peer.wait_until(lambda: not around.plans.last.poses, 'an empty plan')
    around.peer.wait_until(lambda: place(around.waypoints.last) == (8.0, 5.0), 'the goal as a waypoint')
    around.check_that_no_waypoints_come()
    count = len(around.statuses)
    around.publish_goal(8.0, 5.0)
    around.peer.wait_until(lambda: len(around.statuses) > count, 'ARRIVED again, for the same goal given again')
    assert around.statuses.last.data == 'ARRIVED'


def test_cancel_stops_the_robot_where_it_is(around):
    response = around.peer.call('tb_planner/cancel', Trigger)
    assert (response.success, response.message) == (True, 'goal (8.00, 5.00) m, 0 degrees canceled')
    around.wait_for_status('CANCELED')
    around.peer.wait_until(lambda: place(around.waypoints.last) == (2.0, 5.0), 'a waypoint to stay at')
    around.peer.wait_until(lambda: not around.plans.last.poses, 'an empty plan')
    assert not around.peer.call('tb_planner/cancel', Trigger).success


def test_reset_search_starts_over_and_is_counted(around):
    before = int(around.next_facts()['restarts_requested'])
    response = around.peer.call('tb_planner/reset_search', Trigger)
    assert (response.success, response.message) == (True, 'the search for a path to (8.00, 5.00) m, 0 degrees restarts')
    around.peer.wait_until(lambda: int(around.facts['restarts_requested']) == before + 1, 'the restart is counted')
    around.wait_for_status('NAVIGATING')


def test_a_goal_in_an_obstacle_waits_for_a_map_that_frees_it(around):
    cells = open_terrain()
    cells[40:60, 70:90] = 100
    around.maps.publish(map_message(cells))
    around.wait_for_status('GOAL_BLOCKED')
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('NAVIGATING')


def test_a_blocked_goal_is_reported_with_the_place_where_the_robot_goes_instead(running, around):
    begin = len(running[0].log_text)
    cells = open_terrain()
    cells[50, 80] = 100  # the goal's cell; all within 0.1 m of it is blocked, too
    around.maps.publish(map_message(cells))
    around.wait_until_logged(running[0], begin, 'goal (8.00, 5.00) m is blocked; going to')
    around.next_facts()  # perhaps on its way before the map
    facts = around.next_facts()
    assert facts['goal'] == '(8.00, 5.00) m'
    x, y = map(float, re.findall(r'[\d.]+', facts['actual_goal']))
    away_m = math.dist((x, y), (8.0, 5.0))
    assert 0.05 < away_m <= 0.3
    text = f'goal (8.00, 5.00) m is blocked; going to ({x:.2f}, {y:.2f}) m, {away_m:.2f} m away'
    around.wait_until_logged(running[0], begin, text)
    around.peer.spin(0.5)
    assert running[0].log_text[begin:].count('is blocked; going to') == 1
    assert around.diagnostics.last.status[0].message.startswith(text)
    around.peer.wait_until(lambda: around.plans.last.poses, 'a plan')
    assert float(facts['distance_to_goal_m']) == pytest.approx(float(facts['route_length_m']), abs=0.01)


def test_no_path_is_reported_until_there_is_one(around):
    cells = open_terrain()
    cells[:, 50] = 100
    around.maps.publish(map_message(cells))
    around.wait_for_status('NO_PATH')
    around.peer.wait_until(lambda: place(around.waypoints.last) == (2.0, 5.0), 'the robot as the waypoint')
    around.peer.wait_until(lambda: not around.plans.last.poses, 'an empty plan')
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('NAVIGATING')


# ------------------------------------------------------------------------------------------------------ maps
def test_a_map_update_that_blocks_the_route_changes_the_plan(around):
    map_msgs = pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed: no map_updates')
    patches = around.peer.publisher('map_updates', map_msgs.OccupancyGridUpdate, RELIABLE)
    above = place(around.plans.last.poses[len(around.plans.last.poses) // 2])[1] > 5.0
    message = map_msgs.OccupancyGridUpdate(x=50, y=70 if above else 0, width=1, height=30)
    message.header.frame_id = 'map'
    message.data.frombytes(bytes([100]) * 30)
    patches.publish(message)
    around.peer.wait_until(
        lambda: (
            around.plans.last.poses
            and all((y > 5.0) != above for x, y in map(place, around.plans.last.poses) if 4.5 < x < 5.5)
        ),
        'a plan around the other end of the wall',
    )
    assert int(around.next_facts()['restarts_blocked']) >= 1


def test_a_map_that_has_grown_and_shifted_changes_neither_goal_nor_robot(around):
    around.maps.publish(map_message(np.pad(open_terrain(), 20), x=-2.0, y=-2.0))
    restarts = int(around.next_facts()['restarts_map_moved'])
    around.peer.wait_until(lambda: int(around.facts['restarts_map_moved']) >= 1, 'the map has moved')
    around.wait_for_waypoints(5)
    assert restarts <= 1
    assert around.statuses.last.data == 'NAVIGATING'
    assert leads_to(around, 8.0, 5.0)


def test_a_map_in_another_frame_drops_everything_loudly(running, around):
    planner, begin = running[0], len(running[0].log_text)
    around.maps.publish(map_message(open_terrain(), frame='other_map'))
    around.wait_for_status('IDLE')
    around.wait_until_logged(planner, begin, '[ERROR]', "the map is in frame 'other_map', the map before was in 'map'")
    around.peer.wait_until(lambda: not around.plans.last.poses, 'an empty plan')
    around.pose = pose_stamped(2.0, 5.0, 'other_map')
    around.publish_goal(8.0, 5.0, 'other_map')
    around.wait_for_status('NAVIGATING')
    around.peer.wait_until(lambda: around.waypoints.last.header.frame_id == 'other_map', 'a waypoint in the new frame')
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')


def test_messages_without_a_frame_are_taken_to_be_in_that_of_the_map(around):
    around.pose = pose_stamped(2.0, 5.0, '')
    around.maps.publish(map_message(open_terrain(), frame=''))
    around.publish_goal(2.0, 8.0, '')
    around.peer.wait_until(lambda: leads_to(around, 2.0, 8.0), 'another plan')
    assert around.waypoints.last.header.frame_id == 'map'


# ------------------------------------------------------------------------------------------------------ parameters
def test_another_radius_makes_other_costs_of_the_same_map(around):
    cells = open_terrain()
    cells[:, 50] = 100
    cells[48:53, 50] = 0  # a gate of half a metre
    around.maps.publish(map_message(cells))
    around.peer.wait_until(lambda: path_length(around.plans.last) < 6.5, 'a path through the gate')
    assert around.set_parameters(robot_radius_m=0.4, inflation_radius_m=0.5) == ''
    around.wait_for_status('NO_PATH')
    assert around.set_parameters(**SMALL) == ''
    around.wait_for_status('NAVIGATING')


def test_the_algorithm_may_change_while_the_robot_navigates(around):
    for algorithm in ('tba_star', 'tb_gbfs', 'rtba_star', 'tbaa_star', 'tb_wa_star'):
        assert around.set_parameters(algorithm=algorithm) == ''
        around.peer.wait_until(lambda name=algorithm: around.facts['algorithm'] == name, algorithm)
        around.wait_for_waypoints(3)
    assert around.statuses.last.data in ('NAVIGATING', 'WAITING')
    around.wait_for_status('NAVIGATING')


def test_waypoint_distance_may_change_while_the_robot_navigates(around):
    assert around.set_parameters(waypoint_distance_m=0.5) == ''
    around.peer.wait_until(lambda: math.dist(place(around.waypoints.last), (2.0, 5.0)) <= 0.7, 'a nearer waypoint')
    assert around.set_parameters(waypoint_distance_m=1.0) == ''


def test_the_tick_frequency_may_change_while_the_robot_navigates(around):
    def due():
        """The ticks made so far, and those that a busy computer missed."""
        facts = around.next_facts()
        return int(facts['ticks']) + int(facts['missed_ticks'])

    due()
    assert around.set_parameters(tick_frequency=100.0, search_time_s=0.002) == ''
    ticks = [due()]
    while len(ticks) < 10 and max(np.diff(ticks), default=0) <= 25:  # in a second or less: 20 Hz would have made 20
        ticks.append(due())
    assert max(np.diff(ticks)) > 25
    missed = int(around.facts['missed_ticks'])
    assert around.set_parameters(tick_frequency=20.0, search_time_s=0.01) == ''
    around.wait_for_waypoints(5)
    assert int(around.next_facts()['missed_ticks']) <= missed + 100


def test_a_tick_makes_the_set_number_of_expansions(around):
    assert around.set_parameters(expansions_per_tick=7) == ''
    assert around.peer.call('tb_planner/reset_search', Trigger).success
    around.peer.wait_until(lambda: around.facts['expansions_per_tick'] == '7', 'a tick of 7 expansions')
    around.wait_for_waypoints(3)
    assert around.set_parameters(expansions_per_tick=0) == ''
    around.peer.wait_until(lambda: around.plans.last.poses and path_length(around.plans.last) > 6, 'the whole path')


# ------------------------------------------------------------------------------------------------------ lost
def test_without_a_pose_there_is_no_waypoint_until_it_comes_back(running, around):
    begin = len(running[0].log_text)
    assert around.set_parameters(pose_timeout_s=0.4) == ''
    around.pose, before = None, around.pose
    around.wait_for_status('POSE_LOST')
    around.check_that_no_waypoints_come()
    assert around.plans.last.poses  # the plan is kept
    around.wait_until_logged(running[0], begin, 's old, more than 0.4 s (pose_timeout_s); no waypoint is published')
    facts = around.next_facts()
    assert float(facts['pose_age_s']) > 0.4
    assert re.fullmatch(r'the pose is lost: the last one is \d+\.\d s old', around.diagnostics.last.status[0].message)
    assert 0 <= float(facts['last_problem_age_s']) < 60
    around.pose = before
    around.wait_for_status('NAVIGATING')
    assert around.set_parameters(pose_timeout_s=1.0) == ''


def test_a_map_that_is_too_old_holds_the_robot_until_a_new_one_comes(around):
    assert around.set_parameters(map_timeout_s=0.5) == ''
    around.wait_for_status('MAP_LOST')
    around.wait_for_waypoints(3)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('NAVIGATING')
    assert around.set_parameters(map_timeout_s=0.0) == ''
    around.wait_for_status('NAVIGATING')
