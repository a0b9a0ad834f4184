"""Nav2's planner actions, used as behaviour trees and nav2_simple_commander use them."""

import itertools
import math
import signal
import time

import numpy as np
import pytest
from helpers.peer import Peer
from helpers.surroundings import RESOLUTION_M, PlannerPeer, map_message, open_terrain, pose_stamped
from nav_msgs.msg import Path
from rclpy.action import ActionClient

pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')

from helpers.controller_server import ControllerServer, FollowPath
from helpers.path_client import PATIENT, PathClient, is_free, points
from nav2_msgs.action import ComputePathToPose

SLOW = {**PATIENT, 'expansions_per_tick': 30, 'max_planning_time_s': 60.0}
"""A search that takes seconds, not milliseconds."""
LONG_S = 60.0


@pytest.fixture
def around(peer):
    return PlannerPeer(peer)


@pytest.fixture
def begin(nodes, peer, around):
    """Starts a planner on a map, and gives a client to ask it for paths."""

    def begin_with(cells=None, **parameters):
        begin_with.planner = nodes.planner(nav2=True, **{**PATIENT, **parameters})
        around.maps.publish(map_message(open_terrain() if cells is None else cells))
        around.wait_for_status('IDLE')
        peer.wait_until(lambda: around.diagnostics and around.facts['map_age_s'], 'the map is taken in')
        return PathClient(peer)

    return begin_with


@pytest.fixture
def server(ros_environment):
    """A controller whose robot does not move."""
    one = ControllerServer(pose_stamped(2.0, 5.0), speed=0.0).start()
    yield one
    one.close()


def map_with_a_long_path():
    """A serpentine of walls: from one corner to the other it takes some 9000 expansions."""
    cells = np.zeros((100, 100), np.int8)
    cells[5::20, :95] = 100
    cells[15::20, 5:] = 100
    return cells


def show(around, cells, **where):
    """A map, until the planner has it."""
    around.maps.publish(map_message(cells, **where))
    shown_s = time.monotonic()
    around.peer.wait_until(
        lambda: float(around.next_facts()['map_age_s']) < time.monotonic() - shown_s, 'the map is taken in'
    )


def searches(around):
    return int(around.next_facts()['path_searches'])


def straight(*places):
    path = Path()
    path.header.frame_id = 'map'
    path.poses = [pose_stamped(x, y) for x, y in places]
    return path


def length_m(path):
    return sum(math.dist(*pair) for pair in itertools.pairwise(points(path)))


# ------------------------------------------------------------------------------------------------------ the same goal
def test_map_changes_off_the_path_return_the_same_message_without_a_search(begin, around, peer):
    cells = open_terrain()
    client = begin(cells)
    first = client.path_to(8.0, 5.0)
    assert first.poses
    assert first.header.stamp.sec > 0
    begun = searches(around)
    for i in range(8):
        cells[90, 10 + 10 * i] = 100
        around.maps.publish(map_message(cells))
        x, y = points(first)[3 * i]
        around.pose = pose_stamped(x + 0.03, y)  # the robot goes along
        peer.spin(0.15)
        again = client.path_to(8.0, 5.0)
        assert again == first
    facts = around.next_facts()
    assert int(facts['path_searches']) == begun
    assert (facts['path_requests'], facts['paths_found'], facts['paths_unchanged']) == ('9', '9', '8')


def follow_the_first_half(begin, around, peer, server):
    """The controller follows a path, whose place 40 the robot has reached."""
    client = begin()
    controller = ActionClient(peer.node, FollowPath, 'follow_path')
    peer.wait_until(controller.server_is_ready, 'the controller is there')
    path = client.path_to(8.0, 5.0)
    controller.send_goal_async(FollowPath.Goal(path=path))
    peer.wait_until(lambda: server.is_following, 'the path is followed')
    around.pose = pose_stamped(*points(path)[40])
    peer.spin(0.5)
    return client, controller, path


def test_a_controller_that_has_given_up_gets_the_rest_of_the_path_without_a_search(begin, around, peer, server):
    """Nav2's controllers, when they begin anew, look for the robot on the first metres of a path only. While one goes
    on, another path would preempt it."""
    client, _, first = follow_the_first_half(begin, around, peer, server)
    places = points(first)
    for _ in range(3):
        assert client.path_to(8.0, 5.0) == first
    server.aborts_with = FollowPath.Result.FAILED_TO_MAKE_PROGRESS
    peer.wait_until(lambda: math.dist(points(client.path_to(8.0, 5.0))[0], places[40]) < 0.1, 'a path from there')
    rest = client.path_to(8.0, 5.0)
    begin_at = len(places) - len(rest.poses)
    assert points(rest) == places[begin_at:]
    assert [pose.pose.orientation for pose in rest.poses] == [pose.pose.orientation for pose in first.poses[begin_at:]]
    assert rest.header.stamp != first.header.stamp
    assert client.path_to(8.0, 5.0) == rest
    assert searches(around) == 1


def test_a_controller_that_got_a_path_of_another_planner_gets_the_rest_of_ours(begin, around, peer, server):
    """A behaviour tree asks its fallback when tb_planner is late once. With the next request the controller begins
    anew with our path, and looks for the robot on its first metres only."""
    client, controller, first = follow_the_first_half(begin, around, peer, server)
    places = points(first)
    assert client.path_to(8.0, 5.0) == first
    controller.send_goal_async(FollowPath.Goal(path=straight(places[40], (8.0, 5.0))))
    peer.wait_until(lambda: len(server.paths) == 2, "the fallback's path is followed")
    peer.wait_until(lambda: math.dist(points(client.path_to(8.0, 5.0))[0], places[40]) < 0.1, 'a path from there')
    rest = client.path_to(8.0, 5.0)
    controller.send_goal_async(FollowPath.Goal(path=rest))
    peer.wait_until(lambda: len(server.paths) == 3, 'our path is followed again')
    peer.spin(0.5)
    assert client.path_to(8.0, 5.0) == rest, 'the controller has it already'
    assert searches(around) == 1


def test_a_change_on_the_path_brings_another_one_in_time(begin, around):
    cells = open_terrain()
    client = begin(cells, max_planning_time_s=5.0)
    old = client.path_to(8.0, 5.0)
    for i in range(1, 4):
        x, y = points(old)[len(old.poses) // 2 + i]
        cells[int(y / RESOLUTION_M), int(x / RESOLUTION_M)] = 100
        show(around, cells)
        status, result = client.ask((8.0, 5.0)).end()
        assert status == 'succeeded'
        assert is_free(cells, result.path)
        assert result.path.header.stamp != old.header.stamp
        old = result.path


def test_on_a_map_that_grows_the_path_stays_the_same(begin, around):
    cells = open_terrain()
    client = begin(cells)
    first = client.path_to(8.0, 5.0)
    grown = np.pad(cells, ((20, 0), (0, 30)), constant_values=-1)
    show(around, grown, y=-2.0)
    assert client.path_to(8.0, 5.0) == first
    assert client.path_to(8.0, -1.0).poses, 'the new part is there'


def test_a_robot_that_leaves_its_path_gets_one_from_where_it_is(begin, around, peer):
    client = begin()
    first = client.path_to(8.0, 5.0)
    assert points(first)[0] == (2.0, 5.0)
    around.pose = pose_stamped(2.0, 8.0)
    peer.wait_until(lambda: points(client.path_to(8.0, 5.0))[0] == (2.0, 8.0), 'a path from there')


def test_a_search_that_was_not_finished_goes_on_with_the_next_request(begin, around):
    around.pose = pose_stamped(0.25, 0.25)
    client = begin(map_with_a_long_path(), expansions_per_tick=150, max_planning_time_s=0.6)
    ends = []
    while not ends or ends[-1] != 'succeeded':
        ends.append(client.ask((9.7, 9.7)).end()[0])
        assert len(ends) < 60
    assert ends.count('aborted') > 2
    assert searches(around) == 1


def test_a_valid_path_is_returned_again_if_no_shorter_one_is_found_in_time(begin, around):
    cells = open_terrain()
    client = begin(cells, algorithm='tba_star')
    old = client.path_to(8.0, 5.0)
    assert around.set_parameters(expansions_per_tick=1, max_planning_time_s=0.3) == ''
    cells[40:60, 50] = 0  # a door in the wall that the path goes around
    show(around, cells)
    assert client.path_to(8.0, 5.0) == old
    cells[:30, 50] = cells[70:, 50] = 100  # no path leads around the wall any more
    show(around, cells)
    status, result = client.ask((8.0, 5.0)).end()
    assert (status, result.error_code) == ('aborted', ComputePathToPose.Result.TIMEOUT)
    assert around.set_parameters(expansions_per_tick=10_000) == ''
    assert length_m(client.path_to(8.0, 5.0)) < length_m(old)


# ------------------------------------------------------------------------------------------------------ many goals
def test_a_goal_preempts_the_one_before_it(begin, around):
    around.pose = pose_stamped(0.25, 0.25)
    client = begin(map_with_a_long_path(), **SLOW)
    slow = client.ask((9.7, 9.7))
    assert slow.is_accepted
    client.peer.spin(0.3)
    quick = client.ask((1.0, 0.25))
    status, result = slow.end()
    assert (status, result.error_code, result.path.poses) == ('aborted', 0, [])
    assert result.error_msg == 'preempted by another goal'
    status, result = quick.end()
    assert status == 'succeeded'
    assert points(result.path)[-1] == (1.0, 0.25)


def test_a_cancel_ends_a_request_and_the_next_one_is_served(begin, around):
    around.pose = pose_stamped(0.25, 0.25)
    client = begin(map_with_a_long_path(), **SLOW)
    for ask in (client.ask, client.ask_through):
        request = ask((9.7, 9.7))
        assert request.is_accepted
        client.peer.spin(0.2)
        assert not request.is_done
        assert request.cancel()
        status, result = request.end()
        assert (status, result.error_code, result.path.poses) == ('canceled', 0, [])
        assert not request.cancel(), 'it has ended'
        assert ask((1.0, 0.25)).end()[0] == 'succeeded'


def test_a_client_that_goes_away_leaves_the_others_alone(begin, around):
    around.pose = pose_stamped(0.25, 0.25)
    client = begin(map_with_a_long_path(), **SLOW)
    for wait_s in (0.0, 0.3):
        other = Peer('other')
        gone = PathClient(other)
        request = gone.ask((9.7, 9.7))
        assert request.is_accepted
        request.listen()
        other.spin(wait_s)
        other.close()
        assert client.path_to(1.0, 0.25).poses
    assert 'Traceback' not in begin.planner.log_text


def test_of_a_hundred_requests_at_once_each_ends_and_the_last_one_gets_its_path(begin, around):
    client = begin()
    requests = [client.ask((8.0, 5.0 + 0.02 * i)) for i in range(100)]
    for request in requests:
        request.listen()  # the server keeps a result for ten seconds
    ends = [request.end() for request in requests]
    assert {status for status, _ in ends} <= {'succeeded', 'aborted'}
    assert all(result.error_code == 0 for _, result in ends)
    assert all(bool(result.path.poses) == (status == 'succeeded') for status, result in ends)
    status, result = ends[-1]
    assert status == 'succeeded'
    assert points(result.path)[-1] == pytest.approx((8.0, 5.0 + 0.02 * 99))
    assert around.next_facts()['path_requests'] == '100'


def test_both_actions_and_a_navigating_robot_share_a_tick(begin, around):
    around.pose = pose_stamped(0.25, 0.25)
    client = begin(map_with_a_long_path(), **{**SLOW, 'expansions_per_tick': 240})
    around.publish_goal(9.7, 9.7)
    around.wait_for_status('NAVIGATING')
    requests = [client.ask((9.7, 9.7)), client.ask_through((9.0, 0.25), (0.25, 2.0))]
    for request in requests:
        request.listen()
    around.wait_for_waypoints(10)
    assert max(int(around.next_facts()['expansions_per_tick']) for _ in range(2)) <= 240
    for request in requests:
        status, result = request.end(LONG_S)
        assert status == 'succeeded'
        assert is_free(map_with_a_long_path(), result.path)


# ------------------------------------------------------------------------------------------------------ while inactive
def test_goals_are_rejected_while_the_planner_is_not_active(nodes, peer, around):
    planner = nodes.planner(nav2=True, autostart_node=False, **PATIENT)
    assert around.change_state('configure')
    client = PathClient(peer)
    assert not client.ask((8.0, 5.0)).is_accepted
    assert around.change_state('activate')
    around.maps.publish(map_message(open_terrain()))
    assert client.path_to(8.0, 5.0).poses
    assert around.change_state('deactivate')
    assert not client.ask_through((8.0, 5.0)).is_accepted
    assert around.change_state('cleanup')
    assert planner.exit_code is None


def test_requests_in_progress_are_aborted_at_every_deactivation(begin, around):
    around.pose = pose_stamped(0.25, 0.25)
    client = begin(map_with_a_long_path(), **SLOW)
    for i in range(6):
        requests = [ask((9.7, 9.7)) for ask in (client.ask, client.ask, client.ask_through)]
        assert all(request.is_accepted for request in requests)
        client.peer.spin(0.05 * i)
        assert around.change_state('deactivate')
        for request in requests:
            status, result = request.end()
            assert (status, result.error_code) == ('aborted', 0)
        if i % 2:
            assert around.change_state('cleanup')
            assert around.change_state('configure')
            client.close()
            client = PathClient(client.peer)
        assert around.change_state('activate')
    assert 'Traceback' not in begin.planner.log_text


def test_a_node_that_is_shut_down_ends_its_requests_first(begin, around):
    around.pose = pose_stamped(0.25, 0.25)
    client = begin(map_with_a_long_path(), **SLOW)
    request = client.ask((9.7, 9.7))
    assert not request.is_done
    client.peer.spin(0.2)
    begin.planner.send(signal.SIGINT)
    status, result = request.end()
    assert (status, result.error_msg) == ('aborted', 'the planner was deactivated')
    begin.planner.wait(20)
    assert begin.planner.exit_code == 0


# ------------------------------------------------------------------------------------------------------ the time
def test_the_planning_time_is_what_the_search_took_and_no_more_than_the_client_has_waited(begin, around):
    around.pose = pose_stamped(0.25, 0.25)
    client = begin(map_with_a_long_path(), expansions_per_tick=300, max_planning_time_s=60.0)
    request = client.ask((9.7, 9.7))
    _, result = request.end(LONG_S)
    waited_s = time.monotonic() - request.sent_s
    reported_s = result.planning_time.sec + result.planning_time.nanosec * 1e-9
    assert 0.1 < reported_s < waited_s  # some ten ticks, at the least
