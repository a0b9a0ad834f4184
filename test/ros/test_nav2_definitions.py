"""The planner node with the definitions that nav2_msgs has in each distribution.

All tests but the last use the nav2_msgs that is installed. The last runs them again with the definitions of the other
distributions, which test/build_interfaces.py has built.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.peer import Peer
from helpers.surroundings import PlannerPeer, map_message, open_terrain, pose_stamped
from nav_msgs.msg import Path as PathMessage

pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')

from helpers.controller_server import ControllerServer
from helpers.path_client import PATIENT, PathClient, points
from nav2_msgs.action import ComputePathThroughPoses, ComputePathToPose, FollowPath
from nav2_msgs.srv import IsPathValid

OTHERS = Path(sys.prefix, 'nav2_definitions')
SKIPPED = {'jazzy': (True, True), 'kilted': (False, True), 'lyrical': (False, False)}
"""Whether a distribution lacks what came with Kilted, and with Lyrical."""
LONG_ROBOT = '[[0.55, 0.25], [0.55, -0.25], [-0.55, -0.25], [-0.55, 0.25]]'
UNSEEN, MARGIN, INSCRIBED, WALL = -1, 50, 99, 100


def has(message, *fields):
    return all(hasattr(message(), field) for field in fields)


@pytest.fixture(scope='module')
def around(shared_nodes, shared_peer):
    """One planner for all tests here, but for the one with a controller."""
    shared_nodes.planner(nav2=True, **PATIENT)
    around = PlannerPeer(shared_peer)
    around.wait_for_status('IDLE')
    return around


@pytest.fixture
def client(around):
    around.maps.publish(map_message(open_terrain()))
    around.pose = pose_stamped(2.0, 5.0)
    client = PathClient(around.peer)
    yield client
    client.close()


# ------------------------------------------------------------------------------------------------------ actions
def test_a_path_leads_to_a_pose_and_through_poses(client):
    assert points(client.path_to(8.0, 5.0))[-1] == (8.0, 5.0)
    status, result = client.ask_through((2.0, 8.0), (8.0, 5.0)).end()
    assert (status, result.error_code, result.error_msg) == ('succeeded', 0, '')
    assert (2.0, 8.0) in points(result.path)
    if has(ComputePathThroughPoses.Result, 'last_reached_index'):
        assert result.last_reached_index == ComputePathThroughPoses.Result.ALL_GOALS


@pytest.mark.skipif(not has(ComputePathToPose.Goal, 'viapoints'), reason='since Lyrical')
def test_a_path_to_a_pose_leads_through_its_viapoints(client):
    _, result = client.ask((8.0, 5.0), viapoints=[pose_stamped(2.0, 8.0)]).end()
    assert result.error_code == 0
    assert (2.0, 8.0) in points(result.path)
    assert points(result.path)[-1] == (8.0, 5.0)


def test_without_goals_there_is_no_path(client):
    status, result = client.ask_through().end()
    assert (status, result.error_code) == ('aborted', ComputePathThroughPoses.Result.NO_VIAPOINTS_GIVEN)


def test_an_unknown_planner_is_an_error_and_since_lyrical_no_reason_to_accept_a_goal(client):
    for ask, action in ((client.ask, ComputePathToPose), (client.ask_through, ComputePathThroughPoses)):
        request = ask((8.0, 5.0), planner_id='Unknown')
        assert request.is_accepted == (not hasattr(action.Result, 'GOAL_REJECTED'))
        if request.is_accepted:
            assert request.end()[1].error_code == action.Result.INVALID_PLANNER
        assert ask((8.0, 5.0), planner_id='GridBased').end()[0] == 'succeeded'


def test_a_controller_gets_the_path_and_its_feedback_is_taken(nodes):
    nodes.planner(nav2=True, output='follow_path', remaps={'__ns': '/driven'}, **PATIENT)
    peer = Peer('other', namespace='/driven')
    around = PlannerPeer(peer)
    around.maps.publish(map_message(open_terrain()))
    server = ControllerServer(around.pose, speed=4.0, action='/driven/follow_path').start()
    try:
        around.wait_for_status('IDLE')
        around.publish_goal(4.0, 8.0)
        around.wait_for_status('ARRIVED')
        assert server.goals[0].controller_id == 'FollowPath'
        if has(FollowPath.Goal, 'path_handler_id'):
            assert server.goals[0].path_handler_id == '', 'the only one that the controller has'
    finally:
        server.close()
        peer.close()


# ------------------------------------------------------------------------------------------------------ is_path_valid
@pytest.fixture
def is_valid(around):
    """Requests is_path_valid for a path along y = 5 m on a map with cells of every kind; returns the response."""
    cells = np.zeros((100, 100), np.int8)
    cells[50, 20], cells[50, 40], cells[50, 60], cells[50, 80] = UNSEEN, MARGIN, INSCRIBED, WALL
    around.maps.publish(map_message(cells))
    around.pose = pose_stamped(1.05, 5.05)

    def request(*x_m, yaw=0.0, **fields):
        path = PathMessage()
        path.header.frame_id = 'map'
        path.poses = [pose_stamped(x, 5.05) for x in x_m]
        for pose in path.poses:
            pose.pose.orientation.z, pose.pose.orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)
        return around.peer.call('is_path_valid', IsPathValid, IsPathValid.Request(path=path, **fields))

    around.peer.wait_until(lambda: not request(8.05).is_valid and request(5.05).is_valid, 'the map is there')
    return request


def test_by_default_cells_below_inscribed_are_valid(is_valid):
    assert is_valid(1.05, 5.05).is_valid
    assert list(is_valid(1.05, 5.05, 7.05).invalid_pose_indices) == [2]
    if has(IsPathValid.Response, 'success'):
        assert is_valid(1.05, 7.05).success
        assert not is_valid().success


@pytest.mark.skipif(not has(IsPathValid.Request, 'max_cost'), reason='since Kilted')
def test_costs_and_unknown_cells_are_invalid_if_so_requested(is_valid):
    assert is_valid(1.05, 5.05, max_cost=160).is_valid  # 50 is 127 to 129 of Nav2's 254
    assert list(is_valid(1.05, 5.05, max_cost=127).invalid_pose_indices) == [1]
    assert list(is_valid(1.05, 3.05, consider_unknown_as_obstacle=True).invalid_pose_indices) == [1]


@pytest.mark.skipif(not has(IsPathValid.Request, 'footprint'), reason='since Lyrical')
def test_footprint_lookahead_and_layer_are_heeded_or_refused(is_valid):
    assert is_valid(1.05, 5.05, footprint=LONG_ROBOT).is_valid
    assert is_valid(1.05, 7.05, footprint=LONG_ROBOT).is_valid, 'inscribed cells are for robots without a footprint'
    assert not is_valid(1.05, 7.55, footprint=LONG_ROBOT).is_valid, 'its front is in the wall'
    assert is_valid(7.55, footprint=LONG_ROBOT, yaw=math.pi / 2).is_valid
    assert is_valid(1.05, 5.05, 8.05, max_lookahead_distance=5.0).is_valid
    assert list(is_valid(1.05, 8.05, 8.05).invalid_pose_indices) == [1]
    assert list(is_valid(1.05, 8.05, 8.05, stop_at_first_collision=False).invalid_pose_indices) == [1, 2]
    for refused in ({'layer_name': 'obstacle_layer'}, {'footprint': 'round'}):
        response = is_valid(1.05, 2.05, **refused)
        assert (response.success, response.is_valid) == (False, False)


# ------------------------------------------------------------------------------------------------------ others
@pytest.mark.slow
@pytest.mark.skipif('TB_PLANNER_DEFINITIONS' in os.environ, reason='this is such a run')
@pytest.mark.parametrize('distribution', ['jazzy', 'kilted', 'lyrical'])
def test_with_the_definitions_of_another_distribution(distribution):
    folder = OTHERS / distribution
    if not folder.exists():
        pytest.skip(f'nav2_msgs of {distribution} is the one installed, or was not built')
    (packages,) = folder.glob('lib/python*/site-packages')
    environment = {
        **os.environ,
        'PYTHONPATH': f'{packages}:{os.environ.get("PYTHONPATH", "")}',
        'LD_LIBRARY_PATH': f'{folder / "lib"}:{os.environ.get("LD_LIBRARY_PATH", "")}',
        'TB_PLANNER_DEFINITIONS': distribution,
    }
    command = [sys.executable, '-m', 'pytest', '-q', '-rs', '-p', 'no:cacheprovider', '-p', 'no:xdist', __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ('since Kilted' in done.stdout, 'since Lyrical' in done.stdout) == SKIPPED[distribution]
