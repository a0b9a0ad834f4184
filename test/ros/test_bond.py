"""The bond with Nav2's lifecycle manager: a peer keeps to bondcpp's protocol on the other side."""

import functools
import signal
import sys

import numpy as np
import pytest
from helpers.lifecycle_manager import ALIVE, DEAD, HEARTBEAT_PERIOD_S, Manager, Status
from helpers.surroundings import PlannerPeer, map_message
from rclpy.lifecycle import LifecycleNode

from tb_planner.ros.bond import Bond
from tb_planner.ros.processes import ros_arguments

SIDE = 1000

IMPATIENT = """
import sys
from tb_planner.ros import node as planner_node
from tb_planner.ros import bond
bond.CONNECT_TIMEOUT_S = 1.0
sys.exit(planner_node.main(sys.argv))
"""


@pytest.fixture
def managed(nodes, peer):
    """Makes a planner that waits for its lifecycle manager, what is around it, and the manager."""
    managers = []

    def make(*, bond_timeout_s=4.0, **parameters):
        planner = nodes.planner(autostart_node=False, nav2=True, **parameters)
        around = PlannerPeer(peer)
        managers.append(Manager(around, bond_timeout_s))
        return planner, around, managers[0]

    yield make
    for manager in managers:
        manager.close()


def topics(peer):
    return {name for name, _ in peer.node.get_topic_names_and_types()}


def wait_for_heartbeats(peer, bond, count):
    goal = len(bond.received) + count
    peer.wait_until(lambda: len(bond.received) >= goal, f'{count} heartbeats')


def test_a_heartbeat_that_was_due_when_the_bond_ended_is_no_error(context):
    node = LifecycleNode('tb_planner', context=context)
    bond = Bond(node, Status, 1.0)
    bond.close()
    bond._beat()
    node.destroy_node()


def test_a_bond_is_formed_broken_on_deactivation_and_formed_anew_with_another_instance_id(managed, peer):
    _, _, manager = managed(bond_heartbeat_period=0.05)
    manager.start_up()
    instances = []
    for _ in range(3):
        wait_for_heartbeats(peer, manager.bond, 5)
        assert manager.bond.state == ALIVE
        bond = manager.deactivate()
        peer.wait_until(lambda bond=bond: bond.state == DEAD, 'the bond is broken')
        last, instance_ids = bond.received[-1], {status.instance_id for status in bond.received}
        assert not last.active
        assert all(status.active for status in bond.received[:-1])
        assert (last.id, round(last.heartbeat_timeout, 3), round(last.heartbeat_period, 3)) == ('tb_planner', 4.0, 0.05)
        assert len(instance_ids) == 1
        instances += instance_ids
        count = len(bond.received)
        peer.spin(5 * HEARTBEAT_PERIOD_S)
        assert len(bond.received) == count  # nothing is published while inactive
        manager.activate()
    assert len(set(instances)) == 3


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_planner_that_is_shut_down_breaks_its_bond_at_once(managed, peer, number):
    planner, _, manager = managed()
    manager.start_up()
    planner.send(number)
    peer.wait_until(lambda: manager.bond.state == DEAD, 'the bond is broken')
    assert not manager.bond.received[
        -1
    ].active  # it announced its end: the manager did not have to wait for its time-out


def test_a_planner_that_is_killed_is_found_dead_by_its_silence(managed, peer):
    planner, _, manager = managed(bond_timeout_s=1.0)
    manager.start_up()
    planner.send(signal.SIGKILL)
    peer.wait_until(lambda: manager.bond.state == DEAD, 'the bond times out')
    assert all(status.active for status in manager.bond.received)


def test_a_manager_that_breaks_its_side_gets_a_reply_and_the_planner_keeps_running(managed, peer):
    _, around, manager = managed()
    manager.start_up()
    around.set_out()
    manager.bond.break_bond()
    peer.wait_until(lambda: manager.bond.state == DEAD, 'the planner has ended its side, too')
    count = len(manager.bond.received)
    around.wait_for_waypoints(20)
    assert len(manager.bond.received) == count
    assert around.state() == 'active'


def test_a_manager_that_falls_silent_and_comes_again_finds_the_planner_alive(managed, peer):
    """Nav2's servers do not die with their manager."""
    _, around, manager = managed()
    manager.start_up()
    manager.bond.fall_silent()
    around.set_out()
    around.wait_for_waypoints(40)
    again = manager.make_bond()
    wait_for_heartbeats(peer, again, 5)
    assert again.state == ALIVE


def test_other_bonds_and_messages_of_earlier_bonds_are_ignored(managed, peer):
    _, _, manager = managed()
    manager.start_up()
    own = manager.bond.received[-1].instance_id
    manager.bond.fall_silent()  # it would heed them
    publisher, received = peer.publisher('bond', Status), peer.subscribe('bond', Status)
    publisher.publish(Status(id='planner_server', instance_id='of another server', active=False))
    publisher.publish(Status(id='tb_planner', instance_id='of the activation before', active=False))
    publisher.publish(Status(id='tb_planner', instance_id=own, active=False))
    peer.wait_until(lambda: len(received) > 10, 'more heartbeats')
    assert all(status.active for status in received[-5:])


def test_without_a_heartbeat_period_there_is_no_bond_topic_and_the_manager_needs_none(managed, peer):
    _, around, manager = managed(bond_heartbeat_period=0.0, bond_timeout_s=0.0)
    manager.start_up()
    around.set_out()
    assert '/bond' not in topics(peer)
    manager.deactivate()
    manager.activate()
    around.set_out()


def test_a_planner_that_does_not_serve_nav2_has_no_bond(nodes, peer):
    nodes.planner()
    PlannerPeer(peer).set_out()
    assert '/bond' not in topics(peer)


def test_a_manager_without_bonds_does_not_disturb_a_planner_that_offers_one(nodes, peer):
    """The manager waits for 1 s here, in place of bondcpp's 10 s."""
    planner = nodes.start([sys.executable, '-c', IMPATIENT, *ros_arguments({'nav2': True})], 'impatient')
    around, received = PlannerPeer(peer), peer.subscribe('bond', Status)
    for transition in ('configure', 'activate'):
        assert around.change_state(transition)
    other = Status(id='controller_server', instance_id='of another bond', active=True)
    others = peer.node.create_timer(0.1, functools.partial(peer.publisher('bond', Status).publish, other))
    around.set_out()
    around.wait_until_logged(planner, 0, 'no lifecycle manager has formed a bond within 1 s')
    peer.node.destroy_timer(others)
    assert 'bond with the lifecycle manager formed' not in planner.log_text
    peer.spin(3 * HEARTBEAT_PERIOD_S)
    count = len(received)
    around.wait_for_waypoints(20)
    assert len(received) == count
    assert all(status.active for status in received)
    assert around.state() == 'active'


@pytest.mark.slow
def test_a_bond_is_kept_under_load_for_several_times_its_timeout(managed, peer):
    """Ticks at 20 Hz, and five whole maps of a million cells a second that are never the same."""
    _, around, manager = managed(tick_frequency=20.0)
    manager.start_up()
    random, cells = np.random.default_rng(1), np.zeros((SIDE, SIDE), np.int8)

    def publish_map():
        rows, columns = random.integers(10, SIDE - 10, (2, 500))
        cells[rows, columns] ^= 100
        around.maps.publish(map_message(cells, resolution=0.05))

    load = peer.node.create_timer(0.2, publish_map)
    around.pose.pose.position.x = around.pose.pose.position.y = 0.2
    around.publish_goal(49.8, 49.8)
    for _ in range(12):  # a bond breaks after 4 s
        peer.spin(1.0)
        assert manager.bond.state == ALIVE
    peer.node.destroy_timer(load)
    gaps_s = sorted(manager.bond.gaps_s)
    print(f'{len(gaps_s)} heartbeats, {gaps_s[len(gaps_s) // 2]:.3f} s apart, at most {gaps_s[-1]:.3f} s')
    print({key: value for key, value in around.next_facts().items() if key in ('ticks', 'missed_ticks', 'tick_max_ms')})
    bond = manager.deactivate()
    peer.wait_until(lambda: bond.state == DEAD, 'the bond is broken')
