"""The behaviour trees and parameter files for Nav2, against what each of its releases has: facts from its sources.

That the node takes the parameters, and the launch files the rest, is tested in test/ros.
"""

import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

from tb_planner.config import PlannerParameters
from tb_planner.parameters import specs

FOLDER = Path(__file__).parents[1] / 'config' / 'nav2'
TREES = sorted(FOLDER.glob('*/*.xml'))
DISTRIBUTIONS = ('jazzy', 'kilted', 'lyrical')
PARAMETER_FILES = sorted(FOLDER.glob('*.yaml'))

NODE_LISTS = Path(__file__).with_name('nav2_nodes')
"""Names of nodes and ports that Nav2 registers in each distribution, and those of BehaviorTree.CPP."""
GIVEN = {'goal', 'goals', 'waypoint_statuses'}  # by bt_navigator
ERROR_CODES = {'compute_path_error_code', 'follow_path_error_code'}  # that bt_navigator reports
ERRORS = (
    *('UNKNOWN', 'INVALID_PLANNER', 'TF_ERROR', 'START_OUTSIDE_MAP', 'GOAL_OUTSIDE_MAP'),
    *('START_OCCUPIED', 'GOAL_OCCUPIED', 'TIMEOUT', 'NO_VALID_PATH', 'NO_VIAPOINTS_GIVEN'),
)
"""From 200 on, and from 300 on for paths through poses."""
PLANNERS = {
    'navigate_to_pose.xml': ('ComputePathToPose', 'compute_path_to_pose'),
    'navigate_through_poses.xml': ('ComputePathThroughPoses', 'compute_path_through_poses'),
}
each_tree = pytest.mark.parametrize('file', TREES, ids=lambda file: f'{file.parent.name}-{file.stem}')
each_parameter_file = pytest.mark.parametrize('file', PARAMETER_FILES, ids=lambda file: file.name)


def nodes(file):
    """All nodes below the tree's root."""
    (tree,) = ElementTree.parse(file).getroot().iter('BehaviorTree')
    return [node for node in tree.iter() if node is not tree]


def registered(file):
    """The nodes that a tree may use in its distribution, by name, with the names of their ports."""
    lists = ('behaviortree_cpp', file.parent.name)
    return {
        name: ports
        for part in lists
        for name, ports in yaml.safe_load((NODE_LISTS / f'{part}.yaml').read_text()).items()
    }


def parameters(file):
    ((name, section),) = yaml.safe_load(file.read_text()).items()
    assert name == '/**/tb_planner'  # before an argument's /** and a user's own section, so that these win
    return section['ros__parameters']


def test_the_files_are_those_that_are_tested_here():
    assert sorted(FOLDER / distribution / name for distribution in DISTRIBUTIONS for name in PLANNERS) == TREES
    assert [file.name for file in PARAMETER_FILES] == ['drop_in.yaml', 'sidecar.yaml']


@each_tree
def test_a_tree_is_one_for_the_fourth_version_of_the_library(file):
    root = ElementTree.parse(file).getroot()
    assert (root.tag, root.get('BTCPP_format')) == ('root', '4')
    assert [tree.get('ID') for tree in root] == [root.get('main_tree_to_execute')]
    assert len(next(root.iter('BehaviorTree'))) == 1


@each_tree
def test_the_name_of_a_tree_is_not_that_of_a_node(file):
    """BehaviorTree.CPP does not load such a tree."""
    (tree,) = ElementTree.parse(file).getroot().iter('BehaviorTree')
    assert tree.get('ID') not in registered(file)


@each_tree
def test_every_node_and_port_of_a_tree_is_registered(file):
    known = registered(file)
    for node in nodes(file):
        assert node.tag in known
        ports = known[node.tag]
        assert set(node.attrib) <= {'name', *ports['in'], *ports['out']}, node.tag


@each_tree
def test_what_a_tree_reads_from_its_blackboard_something_has_written(file):
    known = registered(file)
    read, written = (
        {
            node.get(port).strip('{}')
            for node in nodes(file)
            for port in known[node.tag][way]
            if '{' in node.get(port, '')
        }
        for way in ('in', 'out')
    )
    assert read <= written | GIVEN
    assert {node.get('error_code').strip('{}') for node in nodes(file) if node.get('error_code')} == ERROR_CODES


@each_tree
def test_tb_planner_is_asked_first_and_planner_server_if_it_fails(file):
    kind, action = PLANNERS[file.name]
    (fallback,) = (node for node in nodes(file) if node.get('name') == 'Plan')
    assert fallback.tag == 'Fallback'
    assert [child.tag for child in fallback] == ['Timeout', kind]
    (first,), second = fallback
    assert first.tag == kind
    assert first.get('server_name') == parameters(FOLDER / 'sidecar.yaml')[f'{action}_action'] == f'tb_planner/{action}'
    assert second.get('server_name') == action
    assert second.get('planner_id') == '{selected_planner}'
    assert {child.get('path') for child in (first, second)} == {'{path}'}
    assert all(int(child.get('server_timeout')) >= 20 for child in (first, second))  # ms, the default
    (selector,) = (node for node in nodes(file) if node.tag == 'PlannerSelector')
    assert (selector.get('default_planner'), selector.get('selected_planner')) == ('GridBased', '{selected_planner}')


@each_tree
def test_a_tb_planner_that_dies_while_it_is_asked_is_not_waited_for_without_end(file):
    """The limit is the longest time of a request plus the second in which the node ends requests without a tick."""
    (limit,) = (node for node in nodes(file) if node.tag == 'Timeout')
    assert int(limit.get('msec')) >= 1000 * (PlannerParameters.max_planning_time_s + 1.0 + 1.0)
    assert [child.get('name') for child in limit] == ['AskTbPlanner']


@each_tree
def test_recoveries_are_those_of_nav2s_own_trees(file):
    (recoveries,) = (node for node in nodes(file) if node.tag == 'RoundRobin')
    assert [child.tag for child in recoveries] == ['Sequence', 'Spin', 'Wait', 'BackUp']
    services = {node.get('service_name') for node in nodes(file) if node.tag == 'ClearEntireCostmap'}
    assert services == {f'{which}_costmap/clear_entirely_{which}_costmap' for which in ('local', 'global')}
    retries = {node.get('name'): node.get('number_of_retries') for node in nodes(file) if node.tag == 'RecoveryNode'}
    assert retries == {'Navigate': '6', 'PlanOrClear': '1', 'FollowOrClear': '1'}


@pytest.mark.parametrize('name', PLANNERS)
def test_but_for_tb_planner_a_tree_is_that_of_the_nav2_installed_here(name):
    get_share = pytest.importorskip(
        'ament_index_python.packages', reason='ROS 2 is not installed'
    ).get_package_share_path
    try:
        theirs = get_share('nav2_bt_navigator') / 'behavior_trees'
    except (LookupError, OSError):
        pytest.skip('nav2_bt_navigator is not installed')
    distribution = os.environ['ROS_DISTRO']
    ours, own = (
        ElementTree.parse(file).getroot()[0][0]
        for file in (FOLDER / distribution / name, theirs / name.replace('.xml', '_w_replanning_and_recovery.xml'))
    )
    assert content(ours) == content(own)


def content(node):
    """A tree without names of nodes; in the place of the servers that ours asks, the one that Nav2's asks."""
    if node.get('name') == 'Plan':
        node = node[1]
    left_out = {'name', 'server_name', 'server_timeout'}
    if node.tag == 'BackUp':
        left_out.add('error_code_id')  # Jazzy's tree writes it to an entry with another name than its other trees
    ports = {port: value for port, value in node.attrib.items() if port not in left_out}
    return node.tag, ports, [content(child) for child in node]


@each_parameter_file
def test_every_parameter_is_one_of_the_nodes_within_its_range(file):
    known = specs(PlannerParameters)
    values = parameters(file)
    for name, value in values.items():
        assert name in known
        assert not known[name].error(value)
    assert list(PlannerParameters(**values).problems()) == []


@each_parameter_file
def test_the_node_serves_nav2_on_its_costmap(file):
    values = parameters(file)
    expected = {'nav2': True, 'pose_source': 'tf', 'subscribe_goal_pose': False, 'lethal_threshold': 99}
    assert expected.items() <= values.items()
    assert values['robot_radius_m'] == values['inflation_radius_m'] == 0.0


def test_the_two_files_differ_in_the_names_of_actions_only():
    beside, instead = (parameters(FOLDER / name) for name in ('sidecar.yaml', 'drop_in.yaml'))
    differing = {name for name in beside.keys() | instead.keys() if beside.get(name) != instead.get(name)}
    assert differing == {'compute_path_to_pose_action', 'compute_path_through_poses_action', 'planner_id'}
    defaults = PlannerParameters()
    assert all(instead[name] == getattr(defaults, name) for name in differing)


@each_tree
def test_a_trees_comment_names_the_tree_that_it_is_made_for(file):
    assert re.search(rf'{file.stem}_w_replanning_and_recovery', file.read_text())


def test_the_page_gives_bt_navigator_trees_that_are_there():
    page = (FOLDER.parents[1] / 'docs' / 'nav2.md').read_text()
    (block,) = re.findall(r'```yaml\n(.*?)```', page, re.DOTALL)
    given = yaml.safe_load(block)['bt_navigator']['ros__parameters']
    assert given.pop('wait_for_service_timeout') > 1000  # ms, the default
    share = '$(find-pkg-share tb_planner)/'  # Nav2's own launch files replace it by the folder
    trees = {name: value.removeprefix(share) for name, value in given.items()}
    assert trees == {
        'default_nav_to_pose_bt_xml': 'config/nav2/jazzy/navigate_to_pose.xml',
        'default_nav_through_poses_bt_xml': 'config/nav2/jazzy/navigate_through_poses.xml',
    }
    # Nav2's launch files write the file anew before they replace $(...), and PyYAML folds long lines at spaces
    written = yaml.safe_dump({'robot1': yaml.safe_load(block)})
    assert all(line.count('$(') == line.count(')') for line in written.splitlines()), written
    assert "behavior_tree: '$(ros2 pkg prefix --share tb_planner)/config/nav2/$ROS_DISTRO/navigate_to_pose.xml'" in page


def test_the_page_has_every_error_code():
    page = (FOLDER.parents[1] / 'docs' / 'nav2.md').read_text()
    rows = re.findall(r'^\|(?: (\d+))? \| (\d+) \| ([A-Z_]+) \|', page, re.MULTILINE)
    assert [name for _, _, name in rows] == ['NONE', *ERRORS]
    for number, name in enumerate(ERRORS):
        to_pose = '' if name == 'NO_VIAPOINTS_GIVEN' else str(200 + number)
        assert (to_pose, str(300 + number), name) in rows
