"""The parameter files for Nav2, given to a real node on a costmap such as Nav2's: it serves the actions that the trees
and Nav2's clients ask."""

import importlib.util
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from helpers.peer import LATCHED
from helpers.surroundings import RESOLUTION_M, map_message, open_terrain
from nav_msgs.msg import OccupancyGrid
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python

from tb_planner.ros.processes import ros_arguments
from tb_planner.search.distance import squared_distances

if not importlib.util.find_spec('nav2_msgs'):
    pytest.skip('nav2_msgs is not installed', allow_module_level=True)

from helpers.path_client import PathClient, points

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / 'config' / 'nav2'
INSCRIBED, LETHAL = 99, 100


def parameters(name):
    return yaml.safe_load((FOLDER / name).read_text())['/**/tb_planner']['ros__parameters']


def costmap(robot_cells=3, margin_cells=8):
    """Costs as inflation_layer makes them: inscribed cells around obstacles, then decreasing costs."""
    obstacles = open_terrain() == LETHAL
    away = np.sqrt(squared_distances(obstacles, margin_cells + 1))
    cells = np.where(away <= margin_cells, 98 * np.exp(-0.5 * (away - robot_cells)), 0).astype(np.int8)
    cells[away <= robot_cells] = INSCRIBED
    cells[obstacles] = LETHAL
    return cells


@pytest.fixture
def start(nodes, peer):
    """The node as the launch files start it, but that the pose may come from a topic where there is no tf2_ros."""

    def start_with(name, **parameters):
        chosen = {'autostart_node': True, 'max_planning_time_s': 30.0, **parameters}
        if not importlib.util.find_spec('tf2_ros'):
            chosen['pose_source'] = 'topic'
        remaps = {'map': 'global_costmap/costmap', 'map_updates': 'global_costmap/costmap_updates'}
        arguments = ['--ros-args', '--params-file', str(FOLDER / name), *ros_arguments(chosen, remaps=remaps)]
        process = nodes.start_module('tb_planner.ros.node', arguments)
        peer.publisher('global_costmap/costmap', OccupancyGrid, LATCHED).publish(map_message(costmap()))
        return process

    return start_with


@pytest.mark.parametrize('name', ['sidecar.yaml', 'drop_in.yaml'])
def test_a_node_with_the_file_takes_every_value_and_plans_on_nav2s_costmap(start, peer, name):
    process = start(name)
    given = parameters(name)
    client = PathClient(peer, given['compute_path_to_pose_action'].removesuffix('compute_path_to_pose'))
    outcome, result = client.ask((8.0, 5.0), start=(2.0, 5.0), planner_id='GridBased').end()
    assert (outcome, result.error_code) == ('succeeded', 0)
    places = np.array(points(result.path))
    x, y = np.floor(places / RESOLUTION_M).astype(int).T
    assert costmap()[y, x].max() < INSCRIBED
    assert places[-1].tolist() == [8.0, 5.0]
    names = sorted(given.keys() - {'pose_source'})
    response = peer.call('tb_planner/get_parameters', GetParameters, GetParameters.Request(names=names))
    assert [parameter_value_to_python(value) for value in response.values] == [given[name] for name in names]
    assert 'no parameter' not in process.log_text


def test_the_servers_that_the_trees_ask_first_are_the_sidecars(start, peer):
    start('sidecar.yaml')
    client = PathClient(peer, 'tb_planner/')
    asked = {'navigate_to_pose': client.ask, 'navigate_through_poses': client.ask_through}
    for name, ask in asked.items():
        for file in FOLDER.glob(f'*/{name}.xml'):
            first = next(node for node in ElementTree.parse(file).iter() if node.tag.startswith('ComputePath'))
            assert first.get('server_name').startswith('tb_planner/')
        assert ask((8.0, 5.0), start=(2.0, 5.0)).end()[0] == 'succeeded', name


def documented_keys(page):
    """The diagnostics keys in the tables of a page."""
    table = (ROOT / page).read_text().partition('| key | |\n')[2].partition('\n\n')[0]
    return {name for row in table.splitlines() for name in re.findall(r'`(\w+|\w+_<\w+>)`', row.split('|')[1])}


def test_the_page_lists_every_diagnostics_value_that_the_reference_does_not(start, peer):
    start('sidecar.yaml', output='follow_path')
    diagnostics = peer.subscribe('/diagnostics', DiagnosticArray)
    peer.wait_until(lambda: diagnostics, 'diagnostics')
    keys = {value.key for value in diagnostics.last.status[0].values}
    reference, nav2_page = documented_keys('docs/reference.md'), documented_keys('docs/nav2.md')
    assert keys == (reference | nav2_page) - {'restarts_<reason>'}  # nothing has restarted
    assert nav2_page
