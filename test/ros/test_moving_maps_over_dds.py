"""Maps that grow and shift as SLAM's do, by parts of a cell and with another resolution, from a publisher of our own.

The robot drives east, away from a goal that it can reach only around the far end. A search that starts over leads
back at first, and with few expansions a tick none catches up before the map moves again: who keeps the route that
is valid neither stops nor turns back.
"""

import numpy as np
import pytest
from helpers.scenes import DRIVE_LIMIT_S, World
from helpers.surroundings import map_message

GALLERY = World("""
    ################
    ##.##.##.##.####
    #..............#
    #a...........e.#
    #..............#
    ##############.#
    #b.............#
    ################
""")
WIDTH_M, HEIGHT_M = 16 * 0.8, 8 * 0.8
STEP_M = 0.4
"""The distance in metres after which the map changes again."""


def map_of_part(left, bottom, right, top, resolution_m):
    """The gallery between these places in metres, as a map whose cells are occupied if they touch a wall."""
    columns, rows = (
        np.arange(low, high - resolution_m / 2, resolution_m) for low, high in ((left, right), (bottom, top))
    )
    cells = np.zeros((len(rows), len(columns)), bool)
    for part_y in (0.0, 0.5, 1.0):
        for part_x in (0.0, 0.5, 1.0):
            x, y = columns + part_x * resolution_m, rows + part_y * resolution_m
            inside = (x >= 0) & (x < WIDTH_M) & ((y >= 0) & (y < HEIGHT_M))[:, None]
            at = GALLERY.cells[np.clip((y / 0.1).astype(int), 0, 63)[:, None], np.clip((x / 0.1).astype(int), 0, 127)]
            cells |= ~inside | at
    return map_message(np.where(cells, 100, 0), resolution=resolution_m, x=float(left), y=float(bottom))


def shifted(random, _):
    """A map of the same size, shifted by any part of a cell."""
    x, y = random.uniform(-0.1, 0.1, 2)
    return map_of_part(x, y, WIDTH_M + x, HEIGHT_M + y, 0.1)


def grown(random, number):
    """A map that has grown on all sides, by whole cells and parts of them."""
    margin = 0.137 * number
    return map_of_part(-margin, -margin, WIDTH_M + margin, HEIGHT_M + 2 * margin, 0.1)


def refined(random, number):
    """Another resolution each time, and another origin."""
    x, y = random.uniform(-0.1, 0.1, 2)
    return map_of_part(x, y, WIDTH_M + x, HEIGHT_M + y, (0.1, 0.07, 0.05, 0.083)[number % 4])


@pytest.mark.parametrize(('moved', 'algorithm'), [(shifted, 'tb_wa_star'), (grown, 'tba_star'), (refined, 'tbaa_star')])
def test_robot_neither_stops_nor_turns_back_when_its_map_moves(make_scene, moved, algorithm):
    random = np.random.default_rng(5)
    scene = make_scene(GALLERY)
    maps = scene.become_map_publisher()
    scene.start_planner(algorithm=algorithm, waypoint_distance_m=1.5)
    scene.start_simulator(remaps={'map': 'true_map'}, real_time_factor=1.0)
    maps.publish(moved(random, 0))
    scene.give_goal('b')
    scene.peer.wait_until(lambda: scene.poses and scene.place[0] > 3.0, 'the robot drives', DRIVE_LIMIT_S)
    assert scene.peer.set_parameters('tb_planner', expansions_per_tick=8) == ''
    number = 0
    while scene.distance_to('e') > 2.0:
        number += 1
        maps.publish(moved(random, number))
        before = scene.distance_to('e')
        scene.peer.wait_until(
            lambda from_m=before: abs(scene.distance_to('e') - from_m) > STEP_M, 'it goes on', DRIVE_LIMIT_S
        )
        assert scene.distance_to('e') < before, f'it has turned back at {scene.place}'
    assert int(scene.next_facts()['restarts_map_moved']) >= number - 1 > 10, 'the planner counts the moved maps'
    assert scene.peer.set_parameters('tb_planner', expansions_per_tick=0) == ''
    assert scene.peer.set_parameters('simulator', real_time_factor=4.0) == ''
    scene.wait_for_arrival('b')
    statuses = [status.data for status in scene.statuses]
    assert statuses[statuses.index('NAVIGATING') :] == ['NAVIGATING', 'ARRIVED']
    scene.check_that_it_went_straight_on('e')
