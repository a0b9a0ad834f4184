"""Nav2's planner actions with poses from TF: skipped where tf2_ros is not installed."""

import math

import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from helpers.surroundings import PlannerPeer, map_message, open_terrain, pose_stamped
from rclpy.duration import Duration
from test_planner_start import Frames

from tb_planner.ros.publishers import quaternion_of

pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')
pytest.importorskip('tf2_ros', reason='tf2_ros is not installed')

from helpers.path_client import PathClient, points
from nav2_msgs.action import ComputePathToPose
from tf2_msgs.msg import TFMessage

POINT = {'robot_radius_m': 0.0, 'inflation_radius_m': 0.0}
TF_ERROR = ComputePathToPose.Result.TF_ERROR


@pytest.fixture
def around(nodes, peer):
    around = PlannerPeer(peer)
    around.pose = None
    nodes.planner(nav2=True, pose_source='tf', **POINT)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    return around


def test_the_start_comes_from_tf_and_goals_in_other_frames_are_transformed(around, peer):
    client = PathClient(peer)
    status, result = client.ask((8.0, 5.0)).end()
    assert (status, result.error_code) == ('aborted', TF_ERROR)
    assert 'no pose from TF' in result.error_msg
    frames = Frames(peer)  # the robot is at (2, 5) in the map, odom is turned by 90 degrees
    peer.wait_until(lambda: client.ask((8.0, 5.0)).end()[0] == 'succeeded', 'the transforms are received')
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
    frames.is_publishing = False
    peer.spin(1.0)
    status, result = client.ask((8.0, 5.0)).end()
    assert (status, result.error_code) == ('aborted', TF_ERROR)
    assert 's old, more than 0.5 s' in result.error_msg
    assert client.ask((8.0, 5.0), start=(2.0, 5.0)).end()[0] == 'succeeded'


def transform_of_the_robot(place, at):
    """The transform of a robot at this place and time that faces along y."""
    frame = TransformStamped(child_frame_id='base_link')
    frame.header.frame_id, frame.header.stamp = 'map', at.to_msg()
    frame.transform.translation.x, frame.transform.translation.y = place
    frame.transform.rotation = quaternion_of(math.pi / 2)
    return TFMessage(transforms=[frame])


def test_a_goal_in_the_robots_frame_is_where_that_frame_was_at_the_goals_time(around, peer):
    """As in Nav2: by the newest transform, the goal would move along with the robot, which would never arrive."""
    client, now = PathClient(peer), peer.node.get_clock().now()
    before = now - Duration(seconds=4)
    publisher = peer.publisher('/tf', TFMessage)
    publisher.publish(transform_of_the_robot((2.0, 2.0), before))
    publisher.publish(transform_of_the_robot((2.0, 6.0), now))

    def end(stamp):
        """The end of a path to a metre ahead of the robot at that time."""
        goal = pose_stamped(1.0, 0.0, 'base_link')
        goal.header.stamp = stamp
        status, result = client.ask(goal, start=(2.0, 5.0)).end()
        return pytest.approx(points(result.path)[-1], abs=0.01) if status == 'succeeded' else result.error_code

    peer.wait_until(lambda: end(Time()) == (2.0, 7.0), 'the transforms are received')
    assert end(before.to_msg()) == (2.0, 3.0)
    assert end((now - Duration(seconds=1)).to_msg()) == (2.0, 6.0)
    assert end((now + Duration(seconds=1)).to_msg()) == (2.0, 7.0), 'TF has nothing newer'
    assert end((before - Duration(seconds=1)).to_msg()) == TF_ERROR, 'nobody knows where it was'
