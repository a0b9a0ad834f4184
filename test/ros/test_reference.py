"""The tables of docs/reference.md and docs/simulator.md against the nodes, and the example that drives a robot."""

import contextlib
import re
import sys
import textwrap
from pathlib import Path

import pytest
from geometry_msgs.msg import PoseStamped
from helpers.peer import LATCHED
from helpers.processes import wait_until_logged
from helpers.surroundings import PlannerPeer, pose_stamped
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from std_msgs.msg import UInt32
from std_srvs.srv import Trigger

from tb_planner.config import PlannerParameters
from tb_planner.navigation.navigator import NavigationStatus
from tb_planner.parameters import as_table
from tb_planner.ros.node import PlannerNode
from tb_planner.ros.simulator_node import SimulatorNode
from tb_planner.search.algorithms import RestartReason
from tb_planner.simulation.parameters import SimulatorParameters

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (ROOT / 'docs' / 'reference.md').read_text()
SIMULATOR = (ROOT / 'docs' / 'simulator.md').read_text()

RELIABILITIES = {ReliabilityPolicy.RELIABLE: 'reliable', ReliabilityPolicy.BEST_EFFORT: 'best effort'}
DURABILITIES = {DurabilityPolicy.VOLATILE: 'volatile', DurabilityPolicy.TRANSIENT_LOCAL: 'transient local'}
OF_EVERY_NODE = ('/rosout', '/parameter_events', '/transition_event')
INSTALLED_OR_NOT = {'map_updates', '/tf'}


def rows(page, heading):
    """The cells of the table below a row of headings."""
    table = page.partition(f'{heading}\n')[2].partition('\n\n')[0]
    return [[cell.strip() for cell in row.strip('|').split('|')] for row in table.splitlines()[1:]]


def names(text):
    return re.findall(r'`([^`]+)`', text)


def listed_topics(page):
    lines = rows(page, '| | topic | type | QoS | |')
    return {(direction, names(topic)[0], type_, qos) for direction, topic, type_, qos, _ in lines}


def topics(node):
    """The topics as the tables have them: direction, name, type and QoS."""
    for direction, ends in (('in', node.subscriptions), ('out', node.publishers)):
        for end in ends:
            if end.topic_name.endswith(OF_EVERY_NODE):
                continue
            kind, qos = end.msg_type, end.qos_profile
            type_ = f'{kind.__module__.partition(".")[0]}/{kind.__name__}'
            listed = RELIABILITIES[qos.reliability], DURABILITIES[qos.durability], str(qos.depth)
            yield direction, short(node, end.topic_name), type_, ', '.join(listed)


def short(node, name):
    """Relative to the namespace `here` and the node."""
    return name.replace(f'/here/{node.get_name()}/', '~/').removeprefix('/here/')


def without(lines, left_out):
    return {line for line in lines if line[1] not in left_out}


def test_the_planners_topics_and_services_are_those_of_the_reference(context):
    node = PlannerNode(context=context, namespace='here')
    try:
        assert node.trigger_configure() == TransitionCallbackReturn.SUCCESS
        assert node.trigger_activate() == TransitionCallbackReturn.SUCCESS
        found = set(topics(node))
        services = {(short(node, service.srv_name), service.srv_type.__name__) for service in node.services}
        services = {service for service in services if service[1] == 'Trigger'}
    finally:
        node.release()
        node.destroy_node()
    listed = listed_topics(REFERENCE)
    assert without(found, INSTALLED_OR_NOT) == without(listed, INSTALLED_OR_NOT)
    assert found <= listed
    listed_services = rows(REFERENCE, '| service | type | |')
    assert services == {(names(name)[0], type_.removeprefix('std_srvs/')) for name, type_, _ in listed_services}


def test_the_simulators_topics_are_those_of_its_page(context):
    found = set()
    for follow in (True, False):
        switches = {'give_goal': True, 'viewer_limit_s': 60.0, 'publish_clock': True, 'publish_map_updates': True}
        switches['follow_waypoint'] = follow
        overrides = [Parameter(name, value=value) for name, value in switches.items()]
        node = SimulatorNode(context=context, namespace='here', parameter_overrides=overrides)
        found.update(topics(node))
        node.destroy_node()
    listed = listed_topics(SIMULATOR)
    assert without(found, INSTALLED_OR_NOT) == without(listed, INSTALLED_OR_NOT)
    assert found <= listed


def test_parameters_are_those_of_the_nodes():
    assert as_table(PlannerParameters) in REFERENCE
    assert as_table(SimulatorParameters) in SIMULATOR


def test_every_status_is_in_the_reference():
    table = rows(REFERENCE, '| status | when | `waypoint` | `plan` |')
    assert [names(row[0])[0] for row in table] == [status.value for status in NavigationStatus]


def test_every_reason_of_a_restart_is_in_the_reference():
    table = rows(REFERENCE, '| reason of a restart | |')
    assert sorted(name for row in table for name in names(row[0])) == sorted(reason.value for reason in RestartReason)


def test_the_diagnostics_always_have_the_values_of_the_reference(nodes, peer):
    nodes.planner()
    around = PlannerPeer(peer)
    listed = {name for row in rows(REFERENCE, '| key | |') for name in names(row[0])}
    assert around.facts.keys() == listed - {'restarts_<reason>'}  # without a goal nothing restarts
    around.set_out()
    assert peer.call('tb_planner/reset_search', Trigger).success
    peer.wait_until(lambda: 'restarts_requested' in around.facts, 'the restart')
    assert {re.sub('^restarts_.*', 'restarts_<reason>', key) for key in around.facts} == listed


@pytest.mark.parametrize(('distribution', 'stamped'), [('jazzy', False), ('kilted', True)])
def test_the_waypoint_follower_drives_a_robot_to_its_goal(nodes, peer, monkeypatch, distribution, stamped):
    """With the message on cmd_vel that the distribution's robots expect."""
    monkeypatch.setitem(nodes.environment, 'ROS_DISTRO', distribution)
    simulator = nodes.simulator(follow_waypoint=False, enable_stamped_cmd_vel=stamped, real_time_factor=2.0)
    nodes.planner()
    wait_until_logged(simulator, 'robot at')
    nodes.start([sys.executable, str(ROOT / 'examples' / 'waypoint_follower.py')], 'waypoint_follower')
    statuses = peer.subscribe_status()
    collisions = peer.subscribe('simulator/collisions', UInt32, LATCHED)
    peer.publisher('goal_pose', PoseStamped, to=2).publish(pose_stamped(4.0, -3.0))
    peer.wait_for_status(statuses, 'ARRIVED', limit_s=120)
    assert collisions.last.data == 0


def test_the_launch_file_includes_the_planner_with_arguments_it_has():
    (block,) = (textwrap.dedent(block) for block in re.findall(r' *```python\n(.*?)```', REFERENCE, re.DOTALL))
    compile(block, 'reference.md', 'exec')
    arguments = set(re.findall(r"'(\w+)': '", block))
    assert arguments
    assert arguments <= set(re.findall(r'^\| `(\w+)` \|', as_table(PlannerParameters), re.MULTILINE))
    with contextlib.suppress(ImportError):
        scope = {}
        exec(block, scope)
        assert scope['generate_launch_description']().entities
