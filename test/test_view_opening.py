"""What the replay page shows first: map and route, and then the run, once, until somebody acts."""

import numpy as np
import pytest
from helpers.replay_page import LOADED, SETTLED, make_record, write_page

from tb_planner import Grid
from tb_planner.geometry import Pose2D
from tb_planner.recording import About, read_record
from tb_planner.recording.writer import Frame, MapChange, RecordWriter

PLAYING = 'window.tbPlanner && tbPlanner.isPlaying && tbPlanner.scouting === false'


@pytest.fixture(scope='module')
def example(tmp_path_factory):
    path = tmp_path_factory.mktemp('opening') / 'run.tbrun'
    return make_record(path, k=2), write_page(path).as_uri()


GRID = Grid(np.zeros((8, 12), bool))
ROUTE = np.array([(x, 3) for x in range(2, 10)], np.int32)


def frame(tick, with_map=False, route=None, left=0):
    whole = MapChange(None, GRID, None, (GRID.cost_u16.copy(),), None, None) if with_map else None
    times, poses = (0.05 * tick, 'NAVIGATING'), (Pose2D(2.5, 3.5), None, Pose2D(9.5, 3.5))
    return Frame(*times, *poses, (), left, 0, 0, 0, whole, None, route)


@pytest.mark.parametrize(
    ('map_tick', 'route_tick', 'first'), [(3, 7, 7), (0, 0, 0), (3, None, 3)], ids=['later', 'at once', 'no route']
)
def test_the_first_frame_shows_map_and_route(browser, tmp_path, map_tick, route_tick, first):
    """Without a route it shows the map."""
    path = tmp_path / 'run.tbrun'
    with RecordWriter(path, About()) as writer:
        for tick in range(12):
            has_route = route_tick is not None and tick >= route_tick
            left = len(ROUTE) - 1 if has_route else 0
            writer.put(frame(tick, tick == map_tick, ROUTE if tick == route_tick else None, left))
    page = browser.open(write_page(path).as_uri())
    page.wait_for(LOADED)
    assert page.run('tbPlanner.replay.tick') == first
    assert page.run('document.getElementById("scrub").value') == str(first)
    assert page.run('tbPlanner.scene.scale') > 0
    page.close()


def test_the_header_has_the_algorithm_of_the_tick(browser, tmp_path):
    path = tmp_path / 'run.tbrun'
    with RecordWriter(path, About(algorithm='tba_star')) as writer:
        for tick in range(6):
            algorithm = 'tb_gbfs' if tick >= 4 else 'tba_star'
            writer.put(frame(tick, tick == 0, None, 0)._replace(algorithm=algorithm))
    assert [event for event in read_record(path).events if 'algorithm' in event] == [
        {'tick': 4, 'algorithm': 'tb_gbfs'}
    ]
    page = browser.open(write_page(path).as_uri())
    page.wait_for(LOADED)
    for tick, name in ((3, 'tba_star'), (4, 'tb_gbfs'), (0, 'tba_star')):
        page.run(f'tbPlanner.goTo({tick})')
        page.wait_for(f'tbPlanner.replay.tick === {tick}')
        assert page.run('document.getElementById("facts").textContent').startswith(f'{name} · ')
    page.close()


def test_a_page_that_is_opened_plays_once_to_its_end(browser, example):
    record, url = example
    page = browser.open(url, motion=True)
    page.wait_for(PLAYING)
    page.run('document.getElementById("speed").value = "64"')
    page.wait_for(f'!tbPlanner.isPlaying && {SETTLED} && tbPlanner.target === {record.ticks - 1}')
    assert page.complaints() == []
    page.close()


def test_with_reduced_motion_nothing_plays_by_itself(browser, example):
    page = browser.open(example[1])
    page.wait_for(LOADED)
    assert page.run('tbPlanner.isPlaying') is False
    page.close()


ACTIONS = {
    'a click on the map': lambda page: press_on(page, 'map'),
    'the pause button': lambda page: press_on(page, 'play'),
    'the space bar': lambda page: page.press(' '),
    'another key': lambda page: page.press('+'),
    'the wheel': lambda page: page.mouse('mouseWheel', 400, 300, deltaX=0, deltaY=-100),
}


def press_on(page, name):
    left, top, width, height = page.box_of(name)
    at = left + width / 2, top + height / 2
    page.mouse('mousePressed', *at, button='left', clickCount=1)
    page.mouse('mouseReleased', *at, button='left', clickCount=1)


@pytest.mark.parametrize('action', ACTIONS)
def test_any_action_stops_a_page_that_plays_by_itself(browser, example, action):
    page = browser.open(example[1], motion=True)
    page.wait_for(PLAYING)
    page.run('document.getElementById("speed").value = "0.1"')
    ACTIONS[action](page)
    page.wait_for(f'!tbPlanner.isPlaying && {SETTLED}')
    tick = page.run('tbPlanner.target')
    assert page.run('new Promise((resolve) => setTimeout(() => resolve(tbPlanner.target), 300))') == tick
    page.close()
