"""The record of a drive: shortest paths against plain geometry, and what a picture shows."""

import math

import numpy as np
import pytest
from PIL import Image

from tb_planner.geometry import MapGeometry, length_m
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.files import Map
from tb_planner.tools import plotting as picture
from tb_planner.tools.drive import Drive, shortest_path

RESOLUTION_M = 0.1
RULES = CostmapConfig(resolution_m=RESOLUTION_M, robot_radius_m=0.25, inflation_radius_m=0.6)


def room(width_m=10.0, height_m=8.0, yaw=0.0):
    """Free ground whose outer corner is at (-1, -2) m."""
    cells = round(height_m / RESOLUTION_M), round(width_m / RESOLUTION_M)
    return Map('room', np.zeros(cells, np.int8), RESOLUTION_M, (-1.0, -2.0, yaw), y_up=True)


def wall(map_, x_m, from_y_m, to_y_m):
    """One cell thick, along y."""
    column, first = map_.geometry.cell_at(x_m, from_y_m)
    map_.occupancy[first : map_.geometry.cell_at(x_m, to_y_m)[1], column] = 100
    return map_


def test_with_nothing_in_between_the_shortest_path_is_straight():
    path = shortest_path(room(), RULES, (0.13, 0.22), (7.77, 4.91))
    assert path == pytest.approx(np.array([(0.13, 0.22), (7.77, 4.91)]))


def test_the_shortest_path_turns_at_the_end_of_a_wall_a_robots_radius_off():
    map_ = wall(room(), 4.0, -2.0, 3.0)
    start, goal = (1.0, 0.0), (7.0, 0.0)
    path = shortest_path(map_, RULES, start, goal)
    over_the_end = 2 * math.hypot(3.0, 3.0)
    around_the_robot = 2 * math.hypot(3.0, 3.0 + RULES.robot_radius_m + RESOLUTION_M)
    assert over_the_end < length_m(path) < around_the_robot
    assert all(y > 3.0 for x, y in path[1:-1])


def test_the_shortest_path_does_not_depend_on_how_the_map_is_turned():
    plain = wall(room(), 4.0, -2.0, 3.0)
    turned = Map('turned', plain.occupancy, RESOLUTION_M, (-1.0, -2.0, 0.7), y_up=True)
    places = [(1.0, 0.0), (7.0, 0.5)]
    same_places = [turned.geometry.to_world(*plain.geometry.to_grid(*place)) for place in places]
    one, other = shortest_path(plain, RULES, *places), shortest_path(turned, RULES, *same_places)
    assert length_m(one) == pytest.approx(length_m(other), abs=1e-6)


@pytest.mark.parametrize('goal', [(7.0, 0.0), (4.1, 0.0), (99.0, 0.0)], ids=['shut off', 'in the wall', 'outside'])
def test_without_a_path_there_is_no_shortest_path(goal):
    map_ = wall(room(), 4.0, -2.0, 5.95)
    map_.occupancy[-1, :] = 100
    drive = Drive(map_, RULES, (1.0, 0.0), goal)
    assert drive.shortest_m is None


def test_the_driven_path_has_the_length_between_the_poses():
    drive = Drive(room(), RULES, (0.0, 0.0), (3.0, 4.0))
    for place in [(0.0, 0.0), (3.0, 0.0), (3.0, 0.001), (3.0, 4.0)]:
        drive.see_pose(place)
    assert drive.driven_m == pytest.approx(7.0)


def test_what_stood_somewhere_for_a_while_is_remembered_and_walls_are_not_news():
    map_ = wall(room(), 4.0, -2.0, 3.0)
    drive = Drive(map_, RULES, (0.0, 0.0), (3.0, 0.0))
    later = map_.occupancy.copy()
    later[7, 9] = 100
    message = MapGeometry(map_.width, map_.height, float(np.float32(RESOLUTION_M)), map_.origin)
    drive.see_map(later, message)
    drive.see_map(map_.occupancy, message)
    assert np.argwhere(drive.appeared).tolist() == [[7, 9]]


def test_a_map_of_another_size_is_passed_over():
    drive = Drive(room(), RULES, (0.0, 0.0), (3.0, 0.0))
    drive.see_map(np.full((3, 3), 100, np.int8), MapGeometry(3, 3, RESOLUTION_M))
    assert not drive.appeared.any()


def test_a_picture_shows_obstacles_restarts_and_both_paths(tmp_path):
    drive = Drive(room(), RULES, (0.0, 0.0), (8.0, 5.0))
    drive.see_restarts({'blocked': 0, 'shortcut_opened': 0})
    drive.save_picture(tmp_path / 'before.png', title='before')
    drive.appeared[40:50, 60:70] = True
    drive.see_pose((4.0, 0.5))
    drive.see_restarts({'blocked': 2, 'shortcut_opened': 0})
    drive.see_pose((8.0, 5.0))
    drive.save_picture(tmp_path / 'after.png', title='after', figures=['driven', 'far'])
    for colour in (picture.APPEARED_COLOUR, picture.AHEAD_COLOUR, picture.RESTART_COLOUR):
        assert not shows(tmp_path / 'before.png', colour)
        assert shows(tmp_path / 'after.png', colour)
    assert shows(tmp_path / 'before.png', picture.SHORTEST_COLOUR)
    assert drive.restarts == {'blocked': 2, 'shortcut_opened': 0}


def shows(path, colour):
    pixels = np.asarray(Image.open(path).convert('RGB'))
    return bool((pixels == [int(colour[i : i + 2], 16) for i in (1, 3, 5)]).all(axis=-1).any())
