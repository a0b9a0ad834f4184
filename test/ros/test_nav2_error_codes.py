"""Every error code of Nav2's planner actions, provoked over DDS and compared with the constants of nav2_msgs."""

import math
import sys

import numpy as np
import pytest
from helpers.surroundings import PlannerPeer, map_message, open_terrain, pose_stamped

from tb_planner.navigation.path_planner import MAX_GOALS
from tb_planner.ros.processes import ros_arguments

pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')

from helpers.path_client import PathClient, points
from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose

POINT = {'robot_radius_m': 0.0, 'inflation_radius_m': 0.0, 'bond_heartbeat_period': 0.0, 'pose_timeout_s': 60.0}
PATIENT = {**POINT, 'max_planning_time_s': 30.0}
TO_POSE, THROUGH_POSES = ComputePathToPose.Result, ComputePathThroughPoses.Result

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


def walled_in():
    """A closed room on the right, a block of 3 m x 3 m in a corner."""
    cells = open_terrain()
    cells[:, 50] = 100
    cells[:30, :30] = 100
    return cells


class Asked:
    """Both actions, asked for the same."""

    def __init__(self, peer):
        self.client = PathClient(peer)

    def errors(self, goal, **options):
        """The error codes of both actions and their message; checks that both were aborted without a path."""
        codes, texts = [], []
        for request in (self.client.ask(goal, **options), self.client.ask_through(goal, **options)):
            status, result = request.end()
            assert (status, result.path.poses) == ('aborted', [])
            codes.append(result.error_code)
            texts.append(result.error_msg)
        assert texts[0].partition('after')[0] == texts[1].partition('after')[0]
        return codes, texts[0]


@pytest.fixture
def around(peer):
    return PlannerPeer(peer)


@pytest.fixture
def asked(nodes, peer, around):
    """A client of a planner that has its map."""
    nodes.planner(nav2=True, path_tolerance_m=0.3, **PATIENT)
    asked = Asked(peer)
    around.maps.publish(map_message(walled_in()))
    around.wait_for_status('IDLE')
    asked.client.path_to(3.0, 8.0)
    return asked


def codes_of(name):
    return [getattr(TO_POSE, name), getattr(THROUGH_POSES, name)]


def test_the_codes_are_those_that_nav2_is_known_for():
    names = [
        'UNKNOWN',
        'INVALID_PLANNER',
        'TF_ERROR',
        'START_OUTSIDE_MAP',
        'GOAL_OUTSIDE_MAP',
        'START_OCCUPIED',
        'GOAL_OCCUPIED',
        'TIMEOUT',
        'NO_VALID_PATH',
    ]
    assert [codes_of(name) for name in names] == [[200 + i, 300 + i] for i in range(9)]
    assert THROUGH_POSES.NO_VIAPOINTS_GIVEN == 309
    assert TO_POSE.NONE == THROUGH_POSES.NONE == 0


def test_an_unknown_planner_is_refused_with_its_error_code(asked):
    codes, text = asked.errors((3.0, 8.0), planner_id='Smac')
    assert codes == codes_of('INVALID_PLANNER')
    assert text == "planner_id is 'Smac'; it must be 'GridBased' or empty"
    assert asked.client.ask((3.0, 8.0), planner_id='GridBased').end()[0] == 'succeeded'


def test_a_goal_or_a_start_in_an_unknown_frame_is_a_tf_error(asked):
    codes, text = asked.errors(pose_stamped(3.0, 8.0, 'moon'))
    assert codes == codes_of('TF_ERROR')
    assert "'moon'" in text
    codes, text = asked.errors((3.0, 8.0), start=pose_stamped(3.0, 5.0, 'moon'))
    assert codes == codes_of('TF_ERROR')


def bad_poses():
    for quaternion_w in (0.0, math.nan):
        pose = pose_stamped(3.0, 8.0)
        pose.pose.orientation.w = quaternion_w
        yield pose
    for x in (math.nan, math.inf, 1e9):
        yield pose_stamped(x, 8.0)


def test_an_invalid_pose_is_a_tf_error(asked):
    for pose in bad_poses():
        for what, goal, start in (('goal', pose, None), ('start', (3.0, 8.0), pose)):
            codes, text = asked.errors(goal, start=start)
            assert codes == codes_of('TF_ERROR')
            assert text.startswith(f'{what} ')
    asked.client.path_to(3.0, 8.0)


def test_a_start_outside_the_map_has_its_error_code(asked):
    codes, text = asked.errors((30.0, 8.0), start=(-3.0, 5.0))  # before GOAL_OUTSIDE_MAP
    assert codes == codes_of('START_OUTSIDE_MAP')
    assert 'outside the map of 100 x 100 cells' in text


def test_a_goal_outside_the_map_has_its_error_code(asked):
    codes, text = asked.errors((3.0, 30.0), start=(1.5, 1.5))  # before START_OCCUPIED
    assert codes == codes_of('GOAL_OUTSIDE_MAP')
    assert '(3.00, 30.00)' in text


def test_a_start_in_an_obstacle_has_its_error_code(asked):
    assert asked.errors((1.5, 1.5), start=(1.5, 1.5))[0] == codes_of('START_OCCUPIED')  # before GOAL_OCCUPIED
    for goal in ((3.0, 8.0), (8.0, 5.0)):  # in a wall of one cell with free ground on both sides
        assert asked.errors(goal, start=(5.06, 5.0))[0] == codes_of('START_OCCUPIED')


def test_a_goal_in_an_obstacle_has_its_error_code(asked):
    codes, text = asked.errors((1.5, 1.5))
    assert codes == codes_of('GOAL_OCCUPIED')
    assert 'within 0.3 m' in text


def test_a_goal_that_cannot_be_reached_has_its_error_code(asked):
    assert asked.errors((8.0, 5.0))[0] == codes_of('NO_VALID_PATH')


def test_a_request_without_viapoints_has_its_error_code(asked):
    for planner_id in ('', 'another one'):  # Nav2 looks at the goals first
        status, result = asked.client.ask_through(planner_id=planner_id).end()
        assert (status, result.error_code) == ('aborted', THROUGH_POSES.NO_VIAPOINTS_GIVEN)


def test_a_request_with_more_goals_than_the_limit_has_an_error_code_and_a_message(asked):
    status, result = asked.client.ask_through(*[(3.0, 8.0)] * (MAX_GOALS + 1)).end()
    assert (status, result.error_code) == ('aborted', THROUGH_POSES.UNKNOWN)
    assert result.error_msg == 'the request has 10001 goals; it must have at most 10000'
    asked.client.path_to(3.0, 8.0)


def test_a_search_that_takes_too_long_has_its_error_code(nodes, peer, around):
    nodes.planner(nav2=True, expansions_per_tick=1, max_planning_time_s=0.3, **POINT)
    around.maps.publish(map_message(walled_in()))
    around.wait_for_status('IDLE')
    codes, text = Asked(peer).errors((8.0, 5.0))
    assert codes == codes_of('TIMEOUT')
    assert text == 'no path after max_planning_time_s, 0.3 s: the search is not finished'


def test_without_a_map_a_request_waits_for_one_and_ends_in_time(nodes, peer, around):
    nodes.planner(nav2=True, max_planning_time_s=0.3, **POINT)
    around.wait_for_status('IDLE')
    codes, text = Asked(peer).errors((8.0, 5.0))
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
    asked = Asked(peer)
    peer.wait_until(lambda: float(around.next_facts()['map_age_s'] or 0) > 1.0, 'the map is old')
    codes, text = asked.errors((8.0, 5.0))
    assert codes == codes_of('TIMEOUT')
    assert text.endswith('the map is older than 1.0 s')


def test_a_request_without_a_start_fails_if_there_is_no_pose(nodes, peer, around):
    around.pose = None
    nodes.planner(nav2=True, **PATIENT)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    asked = Asked(peer)
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
    codes, text = Asked(peer).errors((8.0, 5.0))
    assert codes == codes_of('TF_ERROR')
    assert text == 'there is no pose of the robot yet'


def test_an_unexpected_exception_has_the_code_unknown_and_the_node_keeps_running(nodes, peer, around):
    arguments = ros_arguments({'autostart_node': True, 'nav2': True, **PATIENT})
    planner = nodes.start([sys.executable, '-c', BROKEN, *arguments], 'broken')
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    asked = Asked(peer)
    codes, text = asked.errors((8.0, 5.0))
    assert codes == codes_of('UNKNOWN')
    assert 'a broken part' in text
    assert 'a broken part' in planner.log_text
    assert np.isfinite(points(asked.client.path_to(8.0, 5.0))).all()
