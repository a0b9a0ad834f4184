"""The replay page in metres: lengths, speed, the scale bar, the robot's circle and the measure tool."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from helpers.replay_page import LOADED, SETTLED, Picture, click_on, go_to, text_of, write_page

from tb_planner import Grid
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.recording import About
from tb_planner.recording.recorder import NO_DIRECTIONS, NO_STATES
from tb_planner.recording.writer import Frame, MapChange, RecordWriter
from tb_planner.search.planner import Expanded

SIZE_M, WIDTH, HEIGHT = 0.25, 60, 40
RADIUS_M = 1.0
TICK_S, TICKS, SPEED = 0.1, 12, 1.5
"""The robot drives to the right with this speed in m/s, after a first tick without a pose."""
START = 2.125, 5.125
ROUTE = [*((8 + i, 20) for i in range(11)), *((19 + i, 21 + i) for i in range(4))]
"""Ten straight steps, then four diagonal ones."""
LEFT, BACK = 12, 3
GOAL_CELL = (40, 24)


def frames(geometry):
    grid = Grid(np.zeros((HEIGHT, WIDTH), bool))
    scale = 1.0 if geometry is None else SIZE_M
    for tick in range(TICKS):
        x, y = START[0] + SPEED * TICK_S * tick, START[1]
        is_first = tick == 0
        yield Frame(
            time_s=TICK_S * tick,
            status='NAVIGATING',
            pose=None if is_first else Pose2D(x * scale / SIZE_M, y * scale / SIZE_M),
            waypoint=None,
            goal=Pose2D(*((v + 0.5) * scale for v in GOAL_CELL)),
            restarts=(),
            left=LEFT,
            back=BACK,
            expansions=0,
            open_size=0,
            change=MapChange(geometry, grid, None, (grid.cost_u16.copy(),), None, None) if is_first else None,
            expanded=Expanded(True, -1, NO_STATES, NO_DIRECTIONS) if is_first else None,
            route=np.array(ROUTE, np.int32) if is_first else None,
        )


def opened(browser, folder, geometry):
    with RecordWriter(folder / 'run.tbrun', About('Metres', robot_radius_m=RADIUS_M)) as writer:
        for frame in frames(geometry):
            writer.put(frame)
    page = browser.open(write_page(folder / 'run.tbrun').as_uri())
    page.wait_for(LOADED)
    go_to(page, TICKS - 1)
    return page


@pytest.fixture(scope='module')
def page(browser, tmp_path_factory):
    page = opened(browser, tmp_path_factory.mktemp('metres'), MapGeometry(WIDTH, HEIGHT, SIZE_M))
    yield page
    assert page.complaints() == []
    page.close()


def figures(page):
    rows = page.run(
        'Array.from(document.querySelectorAll("#figures div"), (row) => [...row.children].map(e => e.textContent))'
    )
    return dict(rows)


def expected_lengths(unit):
    ahead = ROUTE[-LEFT - 1 :]
    route = sum(math.dist(a, b) for a, b in pairwise(ahead))
    end, goal = ((x + 0.5, y + 0.5) for x, y in (ROUTE[-1], GOAL_CELL))
    return {'Route': route * unit, 'Backtracking': BACK * unit, 'To go': (route + math.dist(end, goal)) * unit}


def test_route_driven_to_go_and_speed_are_in_metres(page):
    shown = figures(page)
    for name, length in expected_lengths(SIZE_M).items():
        value = re.fullmatch(r'(?:≥ )?([\d.]+) m', shown[name])
        assert float(value.group(1)) == pytest.approx(length, abs=0.006), name
    assert shown['To go'].startswith('≥')  # the route does not reach the goal
    assert shown['Driven'] == f'{SPEED * TICK_S * (TICKS - 2):.2f} m'
    assert shown['Speed'] == f'{SPEED:.2f} m/s'
    go_to(page, 0)
    assert figures(page)['Driven'] == '0.00 m'
    assert figures(page)['Speed'] == '–'
    go_to(page, TICKS - 1)


def test_without_a_resolution_lengths_are_in_cells(browser, tmp_path):
    page = opened(browser, tmp_path, None)
    assert figures(page)['Backtracking'] == f'{BACK:.2f} cells'
    assert text_of(page, 'scale').endswith(' cells')
    assert page.complaints() == []
    page.close()


def test_the_scale_bar_is_as_long_as_it_says(page):
    for factor in (1, 3, 0.2):
        page.run(f'tbPlanner.zoom({factor})')
        page.wait_for(SETTLED)
        length = float(text_of(page, 'scale').removesuffix(' m'))
        width = page.box_of('scale')[2]
        assert width / page.run('tbPlanner.scene.scale') * SIZE_M == pytest.approx(length, rel=0.03)
        assert 40 < width <= 122
    page.run('tbPlanner.fit()')
    page.wait_for(SETTLED)


def test_the_robot_is_drawn_to_scale(page):
    """A ring with the radius of the robot, and nothing of it a little farther out."""
    picture = Picture(page)
    x, y = (float(page.run(f'tbPlanner.record.{axis}.values[{TICKS - 1}]')) for axis in 'xy')
    free, radius = (255, 255, 255), RADIUS_M / SIZE_M
    for angle in (0.6, 1.6, 4.0, 5.5):
        inside, outside = (
            picture.at(x + far * math.cos(angle), y + far * math.sin(angle)) for far in (0.9 * radius, 1.2 * radius)
        )
        assert inside != free, angle
        assert outside == free, angle


def test_two_clicks_measure_a_distance(page):
    page.press('m')
    assert page.run('document.getElementById("measure").ariaPressed') == 'true'
    for place in ((10, 30), (34, 23)):
        click_on(page, *place)
    expected = f'{math.dist((10, 30), (34, 23)) * SIZE_M:.2f}'
    said = re.fullmatch(r'Distance: ([\d.]+) m', text_of(page, 'note'))
    assert float(said.group(1)) == pytest.approx(float(expected), abs=2 * SIZE_M / page.run('tbPlanner.scene.scale'))
    page.wait_for(SETTLED)
    ink = (29, 33, 39)
    assert ink in Picture(page).along((12, 30 - 14 / 24), (16, 30 - 42 / 24))
    page.press('Escape')
    page.wait_for(f'{SETTLED} && !tbPlanner.wantsFrame')
    assert ink not in Picture(page).along((12, 30 - 14 / 24), (16, 30 - 42 / 24))
    assert page.run('document.getElementById("measure").ariaPressed') == 'false'
