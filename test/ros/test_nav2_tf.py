"""Nav2's planner actions with poses from TF: skipped where tf2_ros is not installed."""

import math

import pytest
from surroundings import Surroundings, map_message, open_terrain, pose_stamped
from test_planner_start import Frames

pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')
pytest.importorskip('tf2_ros', reason='tf2_ros is not installed')

from nav2_msgs.action import ComputePathToPose
from path_client import PathClient, points

POINT = {'robot_radius_m': 0.0, 'inflation_radius_m': 0.0}
TF_ERROR = ComputePathToPose.Result.TF_ERROR


@pytest.fixture
def around(nodes, peer):
    around = Surroundings(peer)
    around.pose = None
    nodes.planner(nav2=True, pose_source='tf', **POINT)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    return around


def test_the_start_is_where_tf_says_and_goals_in_other_frames_are_transformed(around, peer):
    client = PathClient(peer)
    status, result = client.ask((8.0, 5.0)).end()
    assert (status, result.error_code) == ('aborted', TF_ERROR)
    assert 'no pose from TF' in result.error_msg
    frames = Frames(peer)  # the robot is at (2, 5) in the map, odom is turned by 90 degrees
    peer.spin(0.5)
    path = client.path_to(8.0, 5.0)
    assert math.dist(points(path)[0], (2.0, 5.0)) < 0.01
    in_odom = pose_stamped(-2.0, 1.0, 'odom')  # that is (2, 2) in the map
    for request in (client.ask(in_odom), client.ask_through((3.0, 5.0), in_odom)):
        status, result = request.end()
        assert status == 'succeeded'
        assert result.path.header.frame_id == 'map'
        assert math.dist(points(result.path)[-1], (2.0, 2.0)) < 0.01
        turn = result.path.poses[-1].pose.orientation
        assert 2 * math.atan2(turn.z, turn.w) == pytest.approx(math.pi / 2, abs=1e-3)
    status, result = client.ask((8.0, 5.0), start=in_odom).end()
    assert math.dist(points(result.path)[0], (2.0, 2.0)) < 0.01
    assert client.ask(in_odom).end()[1].path == client.ask(in_odom).end()[1].path
    assert client.ask(pose_stamped(1.0, 1.0, 'kitchen')).end()[1].error_code == TF_ERROR
    frames.speaks = False
    peer.spin(1.0)
    status, result = client.ask((8.0, 5.0)).end()
    assert (status, result.error_code) == ('aborted', TF_ERROR)
    assert 's old, more than 0.5 s' in result.error_msg
    assert client.ask((8.0, 5.0), start=(2.0, 5.0)).end()[0] == 'succeeded'
