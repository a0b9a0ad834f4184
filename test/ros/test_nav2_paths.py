"""The paths of Nav2's planner actions: where they begin, lead and look to. All tests here ask the same planner."""

import itertools
import math

import pytest
from helpers.surroundings import RESOLUTION_M, PlannerPeer, map_message, open_terrain, pose_stamped

from tb_planner.maps.cdr import yaw_of
from tb_planner.ros.publishers import quaternion_of

pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')

from helpers.path_client import PATIENT, PathClient, is_free, points

PARAMETERS = {**PATIENT, 'path_tolerance_m': 0.5}


@pytest.fixture(scope='module')
def around(shared_nodes, shared_peer):
    shared_nodes.planner(nav2=True, **PARAMETERS)
    around = PlannerPeer(shared_peer)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    return around


@pytest.fixture(scope='module')
def client(around):
    return PathClient(around.peer)


def yaw(pose):
    turn = pose.pose.orientation
    return yaw_of(turn.x, turn.y, turn.z, turn.w)


def looking(x, y, to, frame='map'):
    pose = pose_stamped(x, y, frame)
    pose.pose.orientation = quaternion_of(to)
    return pose


def test_a_path_from_a_given_start_begins_there(client):
    status, result = client.ask((8.0, 5.0), start=(2.0, 8.0)).end()
    assert status == 'succeeded'
    assert points(result.path)[0] == (2.0, 8.0)
    assert points(client.path_to(8.0, 5.0))[0] == (2.0, 5.0), 'else it is the robot'


def test_each_pose_looks_to_the_next_and_the_last_one_as_the_goal(client):
    _, result = client.ask(looking(8.0, 5.0, 2.0)).end()
    path = result.path
    assert path.header.frame_id == 'map'
    assert {pose.header.frame_id for pose in path.poses} == {'map'}
    assert yaw(path.poses[-1]) == pytest.approx(2.0)
    for pose, (here, there) in zip(path.poses, itertools.pairwise(points(path)), strict=False):
        assert yaw(pose) == pytest.approx(math.atan2(there[1] - here[1], there[0] - here[0]), abs=1e-6)
    assert max(math.dist(*pair) for pair in itertools.pairwise(points(path))) < 2 * RESOLUTION_M


def test_the_last_pose_looks_along_the_path_if_that_is_wanted(client, around):
    assert around.set_parameters(use_final_approach_orientation=True) == ''
    _, result = client.ask(looking(8.0, 2.0, 2.0)).end()
    *_, before, last = points(result.path)
    assert yaw(result.path.poses[-1]) == pytest.approx(math.atan2(last[1] - before[1], last[0] - before[0]))
    assert around.set_parameters(use_final_approach_orientation=False) == ''
    _, result = client.ask(looking(8.0, 2.0, 2.0)).end()
    assert yaw(result.path.poses[-1]) == pytest.approx(2.0)


@pytest.mark.parametrize('along', [False, True])
def test_where_the_start_is_the_goal_the_path_is_one_pose(client, around, along):
    assert around.set_parameters(use_final_approach_orientation=along) == ''
    _, result = client.ask(looking(2.0, 3.0, 2.0), start=looking(2.0, 3.0, 1.0)).end()
    assert around.set_parameters(use_final_approach_orientation=False) == ''
    (pose,) = result.path.poses
    assert points(result.path) == [(2.0, 3.0)]
    assert yaw(pose) == pytest.approx(1.0 if along else 2.0)


def test_a_path_through_poses_passes_each_pose_with_its_orientation(client):
    goals = [looking(8.0, 5.0, 1.0), looking(8.0, 2.0, 2.0), looking(3.0, 2.0, 3.0)]
    _, result = client.ask_through(*goals).end()
    places = points(result.path)
    indices = [places.index((goal.pose.position.x, goal.pose.position.y)) for goal in goals]
    assert indices == sorted(indices)
    assert indices[-1] == len(places) - 1
    assert [yaw(result.path.poses[i]) for i in indices] == pytest.approx([1.0, 2.0, 3.0])
    assert is_free(open_terrain(), result.path)
    assert min(math.dist(*pair) for pair in itertools.pairwise(places)) > 0, 'no pose comes twice'
    assert client.ask_through(*goals).end()[1].path == result.path


def test_a_path_to_an_occupied_goal_ends_within_the_tolerance(client):
    x, y = points(client.path_to(5.05, 5.0))[-1]
    assert math.dist((x, y), (5.05, 5.0)) <= 0.5
    assert is_free(open_terrain(), client.path_to(5.05, 5.0))


def test_a_path_is_published_on_plan_also_when_it_is_returned_again(client, around):
    """RViz's default subscription receives only what is published while it exists."""
    path = client.path_to(8.0, 3.0)
    client.peer.wait_until(lambda: around.plans and points(around.plans.last) == points(path), 'the plan')
    count = len(around.plans)
    assert client.path_to(8.0, 3.0) == path
    client.peer.wait_until(lambda: len(around.plans) > count, 'the plan again')
    assert points(around.plans.last) == points(path)


def test_the_acknowledgements_are_measured(client, around):
    client.path_to(8.0, 5.0)
    facts = around.next_facts()
    assert 0 < float(facts['acknowledgement_p50_ms']) <= float(facts['acknowledgement_max_ms'])
    assert float(facts['action_thread_jitter_max_ms']) > 0
