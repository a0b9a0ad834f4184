"""Nav2's planner actions when the map, the pose or time is missing, or something unexpected happens."""

import sys

import numpy as np
import pytest
from helpers.surroundings import PlannerPeer, map_message, open_terrain, pose_stamped, walled_in

from tb_planner.ros.processes import ros_arguments

pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')

from helpers.path_client import PATIENT, POINT, BothActions, PathClient, codes_of, points

BROKEN = """
import sys
from tb_planner.navigation.path_planner import PathPlanner
from tb_planner.ros import node as planner_node

step, PathPlanner.calls = PathPlanner.step, 0

def broken_step(self, *share):
    PathPlanner.calls += 1
    if PathPlanner.calls <= 2:
        raise RuntimeError('a broken part')
    return step(self, *share)

PathPlanner.step = broken_step
sys.exit(planner_node.main(sys.argv))
"""


@pytest.fixture
def around(peer):
    return PlannerPeer(peer)


def test_a_search_that_takes_too_long_has_its_error_code(nodes, peer, around):
    nodes.planner(nav2=True, expansions_per_tick=1, max_planning_time_s=0.3, **POINT)
    around.maps.publish(map_message(walled_in()))
    around.wait_for_status('IDLE')
    codes, text = BothActions(peer).errors((8.0, 5.0))
    assert codes == codes_of('TIMEOUT')
    assert text == 'no path after max_planning_time_s, 0.3 s: the search is not finished'


def test_without_a_map_a_request_waits_for_one_and_ends_in_time(nodes, peer, around):
    nodes.planner(nav2=True, max_planning_time_s=0.3, **POINT)
    around.wait_for_status('IDLE')
    codes, text = BothActions(peer).errors((8.0, 5.0))
    assert codes == codes_of('TIMEOUT')
    assert text.endswith('there is no map yet')


def test_a_map_that_comes_while_a_request_waits_for_it_is_used(nodes, peer, around):
    nodes.planner(nav2=True, **PATIENT)
    around.wait_for_status('IDLE')
    request = PathClient(peer).ask((8.0, 5.0))
    assert request.is_accepted
    around.maps.publish(map_message(open_terrain()))
    status, result = request.end()
    assert status == 'succeeded'
    assert points(result.path)[-1] == (8.0, 5.0)


def test_a_request_waits_for_a_new_map_if_the_map_is_too_old(nodes, peer, around):
    nodes.planner(nav2=True, max_planning_time_s=0.5, map_timeout_s=1.0, **POINT)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    asked = BothActions(peer)
    peer.wait_until(lambda: float(around.next_facts()['map_age_s'] or 0) > 1.0, 'the map is old')
    codes, text = asked.errors((8.0, 5.0))
    assert codes == codes_of('TIMEOUT')
    assert text.endswith('the map is older than 1.0 s')


def test_a_request_without_a_start_fails_if_there_is_no_pose(nodes, peer, around):
    around.pose = None
    nodes.planner(nav2=True, **PATIENT)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    asked = BothActions(peer)
    codes, text = asked.errors((8.0, 5.0))
    assert codes == codes_of('TF_ERROR')
    assert text == 'there is no pose of the robot yet'
    assert asked.client.ask((8.0, 5.0), start=(2.0, 5.0)).end()[0] == 'succeeded'


def test_a_pose_is_waited_for_as_nav2_waits_for_a_transform(nodes, peer, around):
    around.pose = None
    nodes.planner(nav2=True, transform_tolerance_s=60.0, **{**POINT, 'max_planning_time_s': 60.0})
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    client = PathClient(peer)
    requests = [client.ask((8.0, 5.0)), client.ask_through((8.0, 5.0))]
    for request in requests:
        assert request.is_accepted
    for _ in range(2):  # some ticks
        around.next_facts()
    assert not any(request.is_done for request in requests)
    around.pose = pose_stamped(2.0, 5.0)
    for request in requests:
        status, result = request.end()
        assert (status, result.error_msg) == ('succeeded', '')
        assert points(result.path)[0] == (2.0, 5.0)


def test_a_pose_is_waited_for_no_longer_than_a_request_may_take(nodes, peer, around):
    around.pose = None
    nodes.planner(nav2=True, transform_tolerance_s=60.0, max_planning_time_s=0.3, **POINT)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    peer.wait_until(lambda: around.next_facts()['map_age_s'], 'the map is taken in')
    codes, text = BothActions(peer).errors((8.0, 5.0))
    assert codes == codes_of('TF_ERROR')
    assert text == 'there is no pose of the robot yet'


def test_an_unexpected_exception_has_the_code_unknown_and_the_node_keeps_running(nodes, peer, around):
    arguments = ros_arguments({'autostart_node': True, 'nav2': True, **PATIENT})
    planner = nodes.start([sys.executable, '-c', BROKEN, *arguments], 'broken')
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    asked = BothActions(peer)
    codes, text = asked.errors((8.0, 5.0))
    assert codes == codes_of('UNKNOWN')
    assert 'a broken part' in text
    assert 'a broken part' in planner.log_text
    assert np.isfinite(points(asked.client.path_to(8.0, 5.0))).all()
