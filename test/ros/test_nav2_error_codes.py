"""Every error code of Nav2's planner actions, provoked over DDS and compared with the constants of nav2_msgs."""

import math

import pytest
from helpers.surroundings import PlannerPeer, map_message, pose_stamped, walled_in

from tb_planner.navigation.path_planner import MAX_GOALS

pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')

from helpers.path_client import PATIENT, BothActions, codes_of
from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose

TO_POSE, THROUGH_POSES = ComputePathToPose.Result, ComputePathThroughPoses.Result


@pytest.fixture(scope='module')
def asked(shared_nodes, shared_peer):
    """A client of a planner that has its map."""
    shared_nodes.planner(nav2=True, path_tolerance_m=0.3, **PATIENT)
    around = PlannerPeer(shared_peer)
    around.maps.publish(map_message(walled_in()))
    around.wait_for_status('IDLE')
    asked = BothActions(shared_peer)
    asked.client.path_to(3.0, 8.0)
    return asked


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
