"""Configure, activate, deactivate, clean up, shut down, in every order that is allowed, while maps and poses come."""

import importlib.util
import os
import random
import re
import signal
import sys
from functools import partial

import numpy as np
import pytest
from helpers.processes import wait_for, wait_until_logged
from helpers.surroundings import TRANSITIONS, PlannerPeer, map_message
from std_srvs.srv import Trigger

from tb_planner.ros.processes import ros_arguments

NEXT = {
    'unconfigured': {'configure': 'inactive', 'unconfigured_shutdown': 'finalized'},
    'inactive': {'activate': 'active', 'cleanup': 'unconfigured', 'inactive_shutdown': 'finalized'},
    'active': {'deactivate': 'inactive', 'active_shutdown': 'finalized'},
    'finalized': {},
}
OUR_TOPICS = {'/map', '/map_updates', '/pose', '/goal_pose'}
"""The topics that an active planner subscribes to; map_updates only where map_msgs is installed."""
BROKEN = """
import sys
from tb_planner.ros import node as planner_node

class Broken(planner_node.PlannerNode):
    @planner_node.log_transition('never logged')
    def on_{transition}(self, state):
        raise KeyError('no such shelf') from OSError('the cupboard is locked')

planner_node.PlannerNode = Broken
sys.exit(planner_node.main())
"""
SHUTDOWNS = {state: f'{state}_shutdown' for state in ('unconfigured', 'inactive', 'active')}


class Load:
    """Maps of a million cells and poses, all the time."""

    def __init__(self, around: PlannerPeer) -> None:
        self._around = around
        self._random = np.random.default_rng(1)
        self._cells = np.zeros((1000, 1000), np.int8)
        around.peer.node.create_timer(0.2, self._publish_map)

    def _publish_map(self) -> None:
        rows, columns = self._random.integers(0, 1000, (2, 500))
        self._cells[rows, columns] ^= 100
        self._around.maps.publish(map_message(self._cells, resolution=0.05))


def bring_to(around, state):
    for transition in {'unconfigured': [], 'inactive': ['configure'], 'active': ['configure', 'activate']}[state]:
        assert around.change_state(transition)
    assert around.state() == state


def subscribed_topics(around):
    """The topics of ours that the planner listens to."""
    names = around.peer.node.get_subscriber_names_and_types_by_node('tb_planner', '/')
    return {name for name, _ in names} & OUR_TOPICS


def threads(process):
    return len(os.listdir(f'/proc/{process.pid}/task'))


def memory_mb(process):
    with open(f'/proc/{process.pid}/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE') // 2**20


def test_transitions_in_every_order_under_load_leave_nothing_behind(nodes, peer):
    planner = nodes.planner(autostart_node=False, expansions_per_tick=1000)
    around = PlannerPeer(peer)
    load = Load(around)  # noqa: F841  it goes on as long as it is held
    pick, state, walked = random.Random(5), around.state(), []
    edges = {(before, name) for before, after in NEXT.items() for name in after if 'shutdown' not in name}
    counted, memory = {}, []
    while len(walked) < 40 or not edges <= set(walked):
        name = pick.choice([name for name in NEXT[state] if 'shutdown' not in name])
        assert around.change_state(name), f'{name} in {state} after {walked}'
        walked.append((state, name))
        state = NEXT[state][name]
        assert around.state() == state
        if state == 'active':
            around.peer.wait_until(lambda: OUR_TOPICS - {'/map_updates'} <= subscribed_topics(around), 'it subscribes')
            around.publish_goal(20.0, 20.0)
            around.peer.spin(pick.choice([0.0, 0.1, 0.4]))
        else:
            around.peer.wait_until(lambda: not subscribed_topics(around), 'it subscribes to nothing')
            counted.setdefault(state, []).append(threads(planner))
            memory.append(memory_mb(planner))
    assert all(count <= counted[state][0] + 1 for state in counted for count in counted[state]), counted
    assert memory[-1] < memory[len(memory) // 4] + 100, memory  # one map of this size takes 30 MB
    assert planner.exit_code is None
    assert not re.search('Traceback|(activate|cleanup|configure) failed', planner.log_text), planner.log_text


@pytest.mark.parametrize('state', SHUTDOWNS)
def test_shut_down_in_every_state_under_load(nodes, peer, state):
    planner = nodes.planner(autostart_node=False)
    around = PlannerPeer(peer)
    load = Load(around)  # noqa: F841
    bring_to(around, state)
    around.peer.spin(0.3)
    assert around.change_state(SHUTDOWNS[state])
    assert around.state() == 'finalized'
    peer.wait_until(lambda: not subscribed_topics(around), 'it subscribes to nothing')
    planner.send(signal.SIGTERM)
    assert wait_for(lambda: planner.exit_code is not None)
    assert planner.exit_code == 0, planner.log_text


def logged_refusal(planner, begin, transition):
    """Ours, or since Kilted that of rclpy."""
    text = planner.log_text[begin:]
    return f'transition {transition} refused' in text or f'Unable to start transition {transition} ' in text


def test_what_is_not_possible_in_a_state_is_refused_and_changes_nothing(nodes, peer):
    planner = nodes.planner(autostart_node=False)
    around = PlannerPeer(peer)
    for state in ('unconfigured', 'inactive', 'active'):
        if state != 'unconfigured':
            assert around.change_state({'inactive': 'configure', 'active': 'activate'}[state])
        for name in TRANSITIONS.keys() - NEXT[state].keys():
            begin = len(planner.log_text)
            assert not around.change_state(name)
            peer.wait_until(partial(logged_refusal, planner, begin, TRANSITIONS[name]), 'the refusal is in the log')
            assert around.state() == state
    around.set_out()  # and it works as if nobody had asked


def test_after_a_pause_the_node_uses_the_map_again_but_not_the_goal(nodes, peer):
    nodes.planner(autostart_node=True, robot_radius_m=0.1, inflation_radius_m=0.2)
    around = PlannerPeer(peer)
    around.set_out()
    assert around.change_state('deactivate')
    around.wait_for_status('IDLE')
    around.peer.wait_until(lambda: not around.plans.last.poses, 'an empty plan')
    there = around.pose.pose.position
    peer.wait_until(lambda: around.waypoints.last.pose.position == there, 'the waypoint is at the robot')
    around.peer.spin(0.2)
    silent = len(around.waypoints)
    around.peer.spin(0.3)
    assert len(around.waypoints) == silent
    assert around.change_state('activate')
    around.peer.wait_until(lambda: around.facts['map_age_s'], 'the map comes again by itself')
    assert around.statuses.last.data == 'IDLE'
    around.publish_goal(8.0, 5.0)
    around.wait_for_status('NAVIGATING')


def test_services_respond_in_every_state_that_has_them(nodes, peer):
    nodes.planner(autostart_node=False)
    around = PlannerPeer(peer)
    bring_to(around, 'inactive')
    responses = [peer.call(f'tb_planner/{name}', Trigger) for name in ('cancel', 'reset_search')]
    assert [(response.success, response.message) for response in responses] == [(False, 'tb_planner is not active')] * 2
    assert around.change_state('activate')
    responses = [peer.call(f'tb_planner/{name}', Trigger) for name in ('cancel', 'reset_search')]
    assert [response.message for response in responses] == [
        'there is no goal to cancel',
        'there is no goal to search a path to',
    ]


@pytest.mark.parametrize('transition', ['configure', 'activate', 'deactivate', 'cleanup', 'shutdown'])
def test_an_exception_in_a_transition_is_logged_with_its_cause(nodes, peer, transition):
    planner = nodes.start([sys.executable, '-c', BROKEN.format(transition=transition), *ros_arguments({})], 'broken')
    around = PlannerPeer(peer)
    state = {'configure': 'unconfigured', 'activate': 'inactive', 'deactivate': 'active', 'cleanup': 'inactive'}.get(
        transition, 'active'
    )
    bring_to(around, state)
    assert not around.change_state(SHUTDOWNS[state] if transition == 'shutdown' else transition)
    wait_until_logged(planner, f'{transition} failed')
    for text in ('Traceback', 'the cupboard is locked', 'no such shelf', 'released everything after an error'):
        assert text in planner.log_text
    assert around.state() == 'unconfigured'
    peer.wait_until(lambda: not subscribed_topics(around), 'it subscribes to nothing')
    if transition not in ('configure', 'activate'):
        bring_to(around, 'active')  # nothing is left over that would prevent it
        around.set_out()


@pytest.mark.parametrize('request_to_end', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('state', ['unconfigured', 'inactive', 'active'])
def test_a_signal_ends_the_node_cleanly(nodes, peer, state, request_to_end):
    planner = nodes.planner(autostart_node=False)
    around = PlannerPeer(peer)
    bring_to(around, state)
    if state == 'active':
        load = Load(around)  # noqa: F841
        around.peer.spin(0.5)
    planner.send(request_to_end)
    assert wait_for(lambda: planner.exit_code is not None)
    assert planner.exit_code == 0, planner.log_text
    assert 'Traceback' not in planner.log_text


def test_the_node_activates_itself_if_autostart_is_set(nodes, peer):
    nodes.planner(autostart_node=True)
    around = PlannerPeer(peer)
    around.wait_for_status('IDLE')
    assert around.state() == 'active'


def test_the_node_does_not_start_with_bad_parameters_and_names_them(nodes):
    planner = nodes.planner(weight=0.1, algorithm='a_star', robot_radius_m=2)
    assert wait_for(lambda: planner.exit_code is not None)
    assert planner.exit_code == 1
    assert 'weight is 0.1; it must be between 1 and 100' in planner.log_text
    assert "algorithm is 'a_star'; it must be one of tba_star" in planner.log_text
    assert 'Traceback' not in planner.log_text


@pytest.mark.skipif(importlib.util.find_spec('tf2_ros') is not None, reason='tf2_ros is installed')
def test_without_tf2_a_pose_from_tf_is_refused_and_the_error_names_what_to_install(nodes, peer):
    planner = nodes.planner(autostart_node=False, pose_source='tf')
    around = PlannerPeer(peer)
    assert not around.change_state('configure')
    assert around.state() == 'unconfigured'
    wait_until_logged(planner, r'tf2_ros cannot be imported: install ros-\$ROS_DISTRO-tf2-ros-py')
    assert 'Traceback' not in planner.log_text
