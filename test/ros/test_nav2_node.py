"""The planner node in a Nav2 stack: names, what is installed, is_path_valid, time that does not advance, memory."""

import math
import sys

import numpy as np
import pytest
from helpers.peer import Peer
from helpers.surroundings import PlannerPeer, SimulatedClock, map_message, open_terrain, pose_stamped
from nav_msgs.msg import Path
from test_lifecycle import memory_mb, threads

from tb_planner.ros.nav2_planner import MAX_CHECKED_POSES
from tb_planner.ros.processes import ros_arguments

pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')

from helpers.path_client import PATIENT, PathClient, points
from nav2_msgs.action import ComputePathToPose
from nav2_msgs.srv import IsPathValid

WITHOUT_NAV2 = """
import sys
sys.modules['nav2_msgs'] = None
from tb_planner.ros import node as planner_node
sys.exit(planner_node.main())
"""


def services_of(peer, node):
    return {name for name, _ in peer.node.get_service_names_and_types_by_node(node, '/')}


# ------------------------------------------------------------------------------------------------------ names
def test_without_nav2_there_are_no_actions_and_services_of_it(nodes, peer):
    nodes.planner(**PATIENT)
    around = PlannerPeer(peer)
    around.wait_for_status('IDLE')
    assert 'tb_planner_actions' not in peer.node.get_node_names()
    assert not any('path_requests' in key for key in around.next_facts())


def test_actions_have_the_names_that_they_are_given(nodes, peer):
    names = {f'compute_path_{end}_action': f'tb_planner/compute_path_{end}' for end in ('to_pose', 'through_poses')}
    nodes.planner(nav2=True, **PATIENT, **names)
    around = PlannerPeer(peer)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    client = PathClient(peer, 'tb_planner/')
    assert client.path_to(8.0, 5.0).poses
    services = services_of(peer, 'tb_planner') | services_of(peer, 'tb_planner_actions')
    assert '/tb_planner/compute_path_to_pose/_action/send_goal' in services
    assert '/is_path_valid' not in services, "it is the planner server's, which has the other names"
    assert '/compute_path_to_pose/_action/send_goal' not in services
    assert '/tb_planner/get_type_description' in services
    assert '/tb_planner_actions/get_type_description' not in services, 'rclpy would leak 0.1 MB with every clean-up'


def test_a_renamed_planner_in_a_namespace_has_its_actions_there(nodes):
    nodes.planner(nav2=True, remaps={'__ns': '/robot1', '__node': 'planner_server'}, **PATIENT)
    peer = Peer('other', namespace='/robot1')
    try:
        around = PlannerPeer(peer, node='planner_server')
        around.maps.publish(map_message(open_terrain()))
        around.wait_for_status('IDLE')
        assert PathClient(peer).path_to(8.0, 5.0).poses

        def planners() -> list[str]:  # also of nodes of before, whose farewell may be lost
            found = peer.node.get_node_names_and_namespaces()
            return sorted(name for name, namespace in found if namespace == '/robot1' and 'planner' in name)

        both = ['planner_server', 'planner_server_actions']
        peer.wait_until(lambda: planners() == both, lambda: f'the graph has {both}; it has {planners()}')
    finally:
        peer.close()


def test_an_invalid_action_name_is_refused_at_the_start(nodes):
    planner = nodes.planner(nav2=True, compute_path_to_pose_action='compute path')
    planner.wait(20)
    assert planner.exit_code == 1
    assert "compute_path_to_pose_action is 'compute path'; it must be the name of an action" in planner.log_text


def test_without_nav2_msgs_configuring_fails_and_the_error_names_what_to_install(nodes, peer):
    arguments = ros_arguments({'nav2': True})
    planner = nodes.start([sys.executable, '-c', WITHOUT_NAV2, *arguments], 'without_nav2')
    around = PlannerPeer(peer)
    assert not around.change_state('configure')
    assert around.state() == 'unconfigured'
    around.wait_until_logged(planner, 0, 'configure failed: nav2 is true', 'install ros-$ROS_DISTRO-nav2-msgs')
    assert 'Traceback' not in planner.log_text


# ------------------------------------------------------------------------------------------------------ is_path_valid
def is_path_valid(peer, path):
    return peer.call('is_path_valid', IsPathValid, IsPathValid.Request(path=path))


def straight(*places, frame='map'):
    path = Path()
    path.header.frame_id = frame
    path.poses = [pose_stamped(x, y) for x, y in places]
    return path


def test_is_path_valid_looks_at_what_is_ahead_of_the_robot(nodes, peer):
    nodes.planner(nav2=True, **PATIENT)
    around = PlannerPeer(peer)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    path = PathClient(peer).path_to(8.0, 5.0)
    assert is_path_valid(peer, path).is_valid
    through_the_wall = straight((2.0, 5.0), (4.0, 5.0), (5.05, 5.0), (6.0, 5.0), (60.0, 5.0), (7.0, math.nan))
    response = is_path_valid(peer, through_the_wall)
    assert (response.is_valid, list(response.invalid_pose_indices)) == (False, [2, 4, 5])
    around.pose = pose_stamped(6.0, 5.0)
    peer.wait_until(
        lambda: list(is_path_valid(peer, through_the_wall).invalid_pose_indices) == [4, 5],
        'what is behind the robot does not matter',
    )
    around.pose = pose_stamped(2.0, 5.0)
    cells = open_terrain()
    x, y = points(path)[20]
    cells[int(y * 10), int(x * 10)] = 100
    around.maps.publish(map_message(cells))
    peer.wait_until(lambda: not is_path_valid(peer, path).is_valid, 'the path is blocked')


def test_is_path_valid_is_false_without_a_map_without_poses_with_too_many_and_in_another_frame(nodes, peer):
    nodes.planner(nav2=True, **PATIENT)
    around = PlannerPeer(peer)
    around.wait_for_status('IDLE')
    good = straight((2.0, 5.0), (3.0, 5.0))
    assert not is_path_valid(peer, good).is_valid, 'there is no map yet'
    around.maps.publish(map_message(open_terrain()))
    peer.wait_until(lambda: is_path_valid(peer, good).is_valid, 'the map is there')
    assert not is_path_valid(peer, straight()).is_valid
    assert not is_path_valid(peer, straight((2.0, 5.0), (3.0, 5.0), frame='odom')).is_valid
    assert not is_path_valid(peer, straight(*[(2.0, 5.0), (3.0, 5.0)] * MAX_CHECKED_POSES)).is_valid, 'too many poses'
    assert is_path_valid(peer, good).is_valid


# ------------------------------------------------------------------------------------------------------ time and memory
def test_a_request_ends_in_time_although_simulated_time_does_not_advance(nodes, peer):
    nodes.planner(nav2=True, use_sim_time=True, **{**PATIENT, 'max_planning_time_s': 0.5})
    client = PathClient(peer)
    around = PlannerPeer(peer)
    peer.wait_until(lambda: client.ask((8.0, 5.0)).is_accepted, 'the planner is active')
    status, result = client.ask((8.0, 5.0)).end()
    assert (status, result.error_code) == ('aborted', ComputePathToPose.Result.TIMEOUT)
    assert result.error_msg.endswith('there was no tick in time')
    assert around.state() == 'active'


def test_a_request_has_its_result_before_the_next_tick(nodes, peer):
    """Simulated time stands still after the first ticks, so that no further tick can serve it."""
    nodes.planner(nav2=True, use_sim_time=True, **PATIENT)
    around, client, clock = PlannerPeer(peer), PathClient(peer), SimulatedClock(peer, 100.0)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    known = client.path_to(8.0, 5.0)
    clock.is_stopped = True
    peer.wait_until(lambda: around.next_facts()['ticks'] == around.next_facts()['ticks'], 'no more ticks')
    ticks = around.next_facts()['ticks']
    assert client.path_to(8.0, 5.0).header.stamp == known.header.stamp
    status, result = client.ask((8.0, 2.0)).end()
    assert status == 'succeeded'
    assert result.path.poses
    assert around.next_facts()['ticks'] == ticks


def test_a_request_after_one_that_failed_waits_for_the_next_map(nodes, peer):
    """A behaviour tree clears the costmap between the two; planner_server waits for its costmap, too."""
    nodes.planner(nav2=True, **PATIENT)
    around, client = PlannerPeer(peer), PathClient(peer)
    closed = open_terrain()
    closed[:, 50] = 100
    around.maps.publish(map_message(closed))
    around.wait_for_status('IDLE')
    no_path = ComputePathToPose.Result.NO_VALID_PATH
    assert client.ask((8.0, 5.0)).end()[1].error_code == no_path
    second = client.ask((8.0, 5.0))
    assert second.is_accepted
    around.maps.publish(map_message(open_terrain()))
    assert second.end()[0] == 'succeeded'
    around.maps.publish(map_message(closed))
    peer.wait_until(lambda: client.ask((8.0, 5.0)).end()[1].error_code == no_path, 'the map is closed again')
    assert client.ask((8.0, 5.0)).end()[1].error_code == no_path, 'without a further map it ends all the same'


def test_parameters_count_from_the_next_request_on(nodes, peer):
    nodes.planner(nav2=True, **PATIENT)
    around = PlannerPeer(peer)
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('IDLE')
    client = PathClient(peer)
    old = client.path_to(5.05, 5.0)
    assert around.set_parameters(path_tolerance_m=0.0, planner_id='TimeBounded') == ''
    assert client.ask((5.05, 5.0)).end()[1].error_code == ComputePathToPose.Result.GOAL_OCCUPIED
    assert client.ask((8.0, 5.0), planner_id='TimeBounded').end()[0] == 'succeeded'
    assert client.ask((8.0, 5.0), planner_id='GridBased').end()[1].error_code == 201
    assert around.set_parameters(path_tolerance_m=0.5, algorithm='tba_star') == ''
    assert client.path_to(5.05, 5.0).header.stamp != old.header.stamp


@pytest.mark.slow
def test_an_idle_node_gives_the_memory_of_its_search_back(nodes, peer):
    planner = nodes.planner(nav2=True, **PATIENT)
    around = PlannerPeer(peer)
    around.maps.publish(map_message(np.zeros((2000, 2000), np.int8)))
    around.wait_for_status('IDLE')
    search_mb = 0.9 * 16 * 2000**2 / 2**20
    without = memory_mb(planner)
    client = PathClient(peer)
    first = client.path_to(99.0, 99.0)
    peer.wait_until(lambda: memory_mb(planner) > without + search_mb, 'the memory is taken')
    before = memory_mb(planner)
    peer.wait_until(lambda: memory_mb(planner) < before - search_mb, 'the memory is given back')
    assert client.path_to(99.0, 99.0).header.stamp == first.header.stamp
    assert client.path_to(99.0, 1.0).poses


@pytest.mark.slow
def test_memory_and_threads_come_back_with_every_deactivation(nodes, peer):
    planner = nodes.planner(nav2=True, autostart_node=False, expansions_per_tick=20_000, **PATIENT)
    around = PlannerPeer(peer)
    cells = np.zeros((1500, 1500), np.int8)
    cells[::30, ::7] = 100
    around.maps.publish(map_message(cells))
    around.pose = pose_stamped(1.05, 1.05)
    assert around.change_state('configure')
    client = PathClient(peer)
    memory, counts = [], []
    for _ in range(14):
        assert around.change_state('activate')
        peer.wait_until(lambda: client.ask((2.05, 1.05)).end()[0] == 'succeeded', 'the map is there')
        client.ask((140.05, 140.05)).listen()
        client.ask_through((140.05, 140.05), (1.05, 140.05)).listen()
        peer.spin(0.5)
        assert around.change_state('deactivate')
        memory.append(memory_mb(planner))
        counts.append(threads(planner))
    # two grids and two searches of this size take 100 MB; on a busy computer those of one activation may still be there
    assert max(memory[7:]) < max(memory[:7]) + 110, memory
    assert counts[-1] <= max(counts[:7]) + 1, counts  # some threads of DDS end a moment later
    assert 'Traceback' not in planner.log_text
