"""A robot in a world and its planner, two processes over DDS: it arrives without a collision.

The safety oracle judges every waypoint of every test.
"""

import itertools
import math

import numpy as np
import pytest
from helpers.peer import LATCHED
from helpers.scenes import DRIVE_LIMIT_S, World, place_of
from helpers.surroundings import RESOLUTION_M, map_message, pose_stamped
from nav_msgs.msg import OccupancyGrid

from tb_planner.search.algorithms import ALGORITHMS

HALL = World("""
    ###########
    #.........#
    #a..##.##.#
    #...##.#..#
    #....#.#b.#
    #.#..#.####
    #.#.......#
    ###########
""")

GATE = World("""
    ###########
    #....#....#
    #a...g...b#
    #....#....#
    ###########
""")


@pytest.fixture
def make_scene(make_scene):
    scenes = []

    def make(world):
        scenes.append(make_scene(world))
        scenes[-1].watch()
        return scenes[-1]

    yield make
    for scene in scenes:
        scene.check_waypoints()


def test_robot_goes_to_and_fro_in_a_static_world_with_one_algorithm_after_the_other(make_scene):
    scene = make_scene(HALL)
    scene.start_planner()
    scene.start_simulator()
    for algorithm, place in zip(ALGORITHMS, itertools.cycle('ba')):
        assert scene.peer.set_parameters('tb_planner', algorithm=algorithm) == ''
        scene.drive(place)
        scene.wait_for_fact('algorithm', lambda value, wanted=algorithm: value == wanted)


@pytest.mark.parametrize('algorithm', ALGORITHMS)
def test_robot_arrives_while_obstacles_appear_and_vanish(make_scene, algorithm):
    scene = make_scene(HALL)
    scene.start_planner(algorithm=algorithm)
    scene.start_simulator(world='changing', change_rate=8.0, change_period_s=3.0, seed=7)
    scene.drive('b')


@pytest.mark.parametrize('algorithm', ALGORITHMS)
def test_robot_arrives_in_an_unknown_world(make_scene, algorithm):
    scene = make_scene(HALL)
    scene.start_planner(algorithm=algorithm)
    scene.start_simulator(world='unknown', sensor_radius_m=2.5, publish_map_updates=True)
    scene.drive('b')


def test_robot_waits_at_a_blocked_corridor_and_goes_through_when_it_opens(make_scene):
    scene = make_scene(GATE)
    scene.start_planner()
    scene.start_simulator(world='changing', change_rate=0.0, obstacles=[GATE.blocks('g', for_s=20.0)])
    scene.give_goal('b')
    scene.wait_for_status('NO_PATH')
    scene.wait_for_waypoints(5)
    where = scene.place
    scene.wait_for_waypoints(20)
    assert [status.data for status in scene.statuses][-1] == 'NO_PATH', 'the corridor is still blocked'
    assert all(math.dist(place_of(waypoint), where) < 0.05 for waypoint in scene.waypoints[-20:])
    assert not scene.plans or scene.plans.last.poses == []
    scene.wait_for_arrival('b')
    assert scene.facts['restarts_no_path'] != '0'


def test_a_goal_that_becomes_unreachable_then_blocked_is_reached_when_the_path_is_free_again(make_scene):
    """The test is the map's publisher, and waits for the planner's reaction."""
    scene = make_scene(GATE)
    maps = scene.become_map_publisher()
    scene.start_planner()
    scene.start_simulator(remaps={'map': 'true_map'}, real_time_factor=0.2)
    scene.give_goal('b')
    for blocked, status in (('', 'NAVIGATING'), ('g', 'NO_PATH'), ('b', 'GOAL_BLOCKED'), ('', 'NAVIGATING')):
        maps.publish(GATE.message(blocked))
        scene.peer.wait_for_status(scene.statuses, status)
    assert scene.peer.set_parameters('simulator', real_time_factor=4.0) == ''
    scene.wait_for_arrival('b')


def test_a_robot_on_a_detour_turns_to_a_corridor_that_opens(make_scene):
    """The test is the map's publisher: on its map the gate is shut until the robot is half round the detour."""
    world = World("""
        ###########
        #....#....#
        #.a..g..b.#
        #....#....#
        #.##.#.##.#
        #.##.#.##.#
        #....r....#
        ###########
    """)
    scene = make_scene(world)
    maps = scene.become_map_publisher()
    scene.start_planner(algorithm='tba_star')
    scene.start_simulator(remaps={'map': 'true_map'}, real_time_factor=2.0)
    maps.publish(world.message(blocked='g'))
    scene.give_goal('b')
    scene.peer.wait_until(lambda: scene.poses and scene.place[1] < 2.6, 'it goes round', DRIVE_LIMIT_S)
    assert scene.facts['restarts_shortcut_opened'] == '0'
    maps.publish(world.message())
    scene.wait_for_arrival('b')
    assert scene.wait_for_fact('restarts_shortcut_opened', lambda value: value != '0') == '1'
    assert scene.has_been_near('g', 0.4)
    assert not scene.has_been_near('r')


def test_robot_goes_round_when_the_corridor_before_it_is_blocked(make_scene):
    world = World("""
        ###########
        #....#....#
        #.a..g..b.#
        #....#....#
        #.........#
        ###########
    """)
    scene = make_scene(world)
    maps = scene.become_map_publisher()
    scene.start_planner()
    scene.start_simulator(remaps={'map': 'true_map'}, real_time_factor=2.0)
    maps.publish(world.message())
    scene.give_goal('b')
    scene.wait_until_it_drives()
    maps.publish(world.message(blocked='g'))
    scene.wait_for_arrival('b')
    assert scene.facts['restarts_blocked'] == '1'
    assert not scene.has_been_near('g', 0.4)


def test_map_that_grows_and_shifts_as_the_robot_sees_more_neither_stops_it_nor_turns_it_back(make_scene):
    """Every alcove is deeper than those before it: as the robot passes, its map grows. The goal it sees at once."""
    world = World("""
        ##############
        #########.####
        #######.#.####
        #####.#.#.####
        ###.#.#.#.####
        #a..........b#
        #.#.#.#.#.#.##
        ####.#.#.#.###
        ######.#.#.###
        ########.#.###
        ##########.###
        ##############
    """)
    scene = make_scene(world)
    maps = scene.peer.subscribe('map', OccupancyGrid, LATCHED)
    scene.start_planner(waypoint_distance_m=1.5)
    scene.start_simulator(
        world='unknown', growing_map=True, map_jitter=0.4, sensor_radius_m=15.0, real_time_factor=1.5, map_period_s=0.1
    )
    scene.drive('b')
    origins = {place_of_origin(message) for message in maps}
    assert len(origins) > 5, 'the map has moved'
    assert int(scene.facts['restarts_map_moved']) > 5
    scene.check_that_it_went_straight_on('b')


# ---------------------------------------------------------------------- the oracle can fail
def test_the_safety_oracle_finds_what_is_changed_in_the_messages_of_a_drive(make_scene):
    scene = make_scene(HALL)
    scene.start_planner()
    scene.start_simulator()
    scene.drive('b')
    seen = list(scene.seen)
    assert scene.judge(seen).violation_count == 0

    def changed(kind, change):
        return scene.judge(
            [(one, change(message) if one == kind else message, at_s) for one, message, at_s in scene.seen]
        )

    def mirrored(message):
        (x, y), width_m = place_of(message), HALL.cells.shape[1] * RESOLUTION_M
        return pose_stamped(width_m - x, y)

    assert changed('waypoint', mirrored).violation_count > 10
    assert changed('pose', mirrored).violation_count > 10
    x, y = scene.track()[len(scene.poses) // 2]
    cells = HALL.cells.copy()
    row, column = int(y / RESOLUTION_M), int(x / RESOLUTION_M)
    cells[row - 1 : row + 2, column - 1 : column + 2] = True  # an obstacle that the planner did not know
    assert changed('map', lambda _: map_message(np.where(cells, 100, 0))).violation_count > 0


def place_of_origin(message):
    position = message.info.origin.position
    return position.x, position.y, message.info.width, message.info.height
