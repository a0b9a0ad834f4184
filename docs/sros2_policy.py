"""Writes the SROS2 policies in config/sros2 from what the nodes publish, subscribe to, serve and call.

Run it after a change of a topic, service or action: `python docs/sros2_policy.py`. It needs ROS 2 with nav2_msgs,
map_msgs, tf2_msgs and bond. Tests compare the files with the nodes.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from tb_planner.ros.node import PlannerNode
from tb_planner.ros.simulator_node import SimulatorNode
from tb_planner.ros.view_node import ViewNode

FOLDER = Path(__file__).resolve().parents[1] / 'config' / 'sros2'
NAMESPACES = (f'/policy_{i}' for i in itertools.count())
"""One for each node, since DDS may still report one that has ended. Names in it become relative, others not."""
SWITCHES: dict[str, list[dict[str, Any]]] = {
    'planner': [{}, {'nav2': True, 'use_sim_time': True}, {'output': 'follow_path'}],
    'simulator': [
        {'give_goal': True, 'viewer_limit_s': 60.0, 'publish_clock': True, 'publish_map_updates': True},
        {'follow_waypoint': False, 'use_sim_time': True},
    ],
    'view': [{}, {'use_sim_time': True}],
}
"""The parameters that decide which topics, services and actions there are; a policy allows what any of them needs."""
POLICIES = {
    'policy.xml': SWITCHES,
    'planner_least_privilege.xml': {'planner': [{}]},
}
TF = {('topics', 'subscribe'): {'/tf', '/tf_static'}}
"""What a node with pose_source tf also subscribes to; tf2_ros need not be installed here."""
ACTION_SERVICES = ('cancel_goal', 'get_result', 'send_goal')

Rules = dict[tuple[str, str], set[str]]
"""Names by kind and right, such as ('topics', 'publish')."""


@contextmanager
def running(kind: str, overrides: dict[str, Any]) -> Iterator[Node]:
    """A node in a namespace and a context of its own; the planner is active."""
    context = rclpy.Context()
    context.init()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as undo:
        undo.callback(context.shutdown)
        if kind == 'view':
            overrides = {'record': f'{folder}/run.tbrun', 'port': 0, **overrides}
        options = {
            'context': context,
            'namespace': next(NAMESPACES),
            'parameter_overrides': [Parameter(name, value=value) for name, value in overrides.items()],
        }
        node = {'planner': PlannerNode, 'simulator': SimulatorNode, 'view': ViewNode}[kind](**options)
        undo.callback(node.destroy_node)
        if kind == 'planner':
            undo.callback(node.release)
            node.trigger_configure()
            node.trigger_activate()
        yield node


def rules_of(observer: Node, name: str) -> Rules:
    """What the node of this name does, by the ROS graph."""
    namespace = observer.get_namespace()

    def names(query: Callable[[str, str], list[tuple[str, list[str]]]]) -> set[str]:
        return {topic for topic, _ in query(name, namespace)}

    rules = {
        ('topics', 'publish'): names(observer.get_publisher_names_and_types_by_node),
        ('topics', 'subscribe'): names(observer.get_subscriber_names_and_types_by_node),
        ('services', 'reply'): names(observer.get_service_names_and_types_by_node),
        ('services', 'request'): names(observer.get_client_names_and_types_by_node),
    }
    for right, services, topics in (('execute', 'reply', 'publish'), ('call', 'request', 'subscribe')):
        actions = {
            service.partition('/_action/')[0] for service in rules['services', services] if '/_action/' in service
        }
        for action in actions:
            rules['services', services] -= {f'{action}/_action/{part}' for part in ACTION_SERVICES}
            rules['topics', topics] -= {f'{action}/_action/{part}' for part in ('feedback', 'status')}
        rules['actions', right] = actions
    return {key: {relative(topic, namespace, name) for topic in found} for key, found in rules.items()}


def relative(topic: str, namespace: str, node: str) -> str:
    """The name as a policy has it: ~ is the node, and names without a slash in front are in its namespace."""
    own = f'{namespace}/{node}/'
    return f'~/{topic.removeprefix(own)}' if topic.startswith(own) else topic.removeprefix(f'{namespace}/')


def rules_by_node(kind: str, switches: Iterable[dict[str, Any]]) -> dict[str, Rules]:
    """What the nodes of one process do with any of these parameters."""
    found: dict[str, Rules] = {}
    for overrides in switches:
        with running(kind, overrides) as node:
            nodes = node.get_node_names_and_namespaces()
            own = {name for name, namespace in nodes if namespace == node.get_namespace()}
            for name in sorted(own):
                rules = found.setdefault(name, {})
                for key, topics in rules_of(node, name).items():
                    rules.setdefault(key, set()).update(topics)
    return found


def make_policy(by_kind: dict[str, list[dict[str, Any]]]) -> str:
    """The policy in SROS2's format, one enclave for each process."""
    policy = ElementTree.Element('policy', version='0.2.0')
    policy.append(ElementTree.Comment(' written by docs/sros2_policy.py '))
    enclaves = ElementTree.SubElement(policy, 'enclaves')
    for kind, switches in by_kind.items():
        enclave = ElementTree.SubElement(enclaves, 'enclave', path=f'/tb_planner/{kind}')
        profiles = ElementTree.SubElement(enclave, 'profiles')
        for name, rules in rules_by_node(kind, switches).items():
            if name == 'tb_planner' and switches is SWITCHES['planner']:
                for key, topics in TF.items():
                    rules[key] |= topics
            profile = ElementTree.SubElement(profiles, 'profile', ns='/', node=name)
            for (group, right), topics in rules.items():
                if topics:
                    listed = ElementTree.SubElement(profile, group, {right: 'ALLOW'})
                    for topic in sorted(topics):
                        ElementTree.SubElement(listed, group.removesuffix('s')).text = topic
    ElementTree.indent(policy)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(policy, "unicode")}\n'


def main() -> None:
    for file, by_kind in POLICIES.items():
        (FOLDER / file).write_text(make_policy(by_kind))


if __name__ == '__main__':
    main()
