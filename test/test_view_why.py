"""Why a search restarted, on the replay page: what changed, where it blocked the route, and the route before."""

import numpy as np
import pytest
from helpers.replay_page import LOADED, Picture, click_on, go_to, make_record, text_of, write_page

from tb_planner import Grid
from tb_planner.geometry import Pose2D
from tb_planner.recording import About, Replay
from tb_planner.recording.recorder import NO_DIRECTIONS, NO_STATES
from tb_planner.recording.writer import Frame, MapChange, RecordWriter
from tb_planner.search.planner import Expanded

WIDTH, HEIGHT = 40, 24
TICK_S = 0.5
APPEARS, FADED, OVER, LAST = 3, 5, 10, 12
"""Ticks at which the obstacle appears, its flash has ended, and the route before is no longer shown."""
BEFORE = [(x, 12) for x in range(5, 36)]
AFTER = [*((x, 12) for x in range(7, 15)), *((15 + i, 13 + i) for i in range(6)), *((x, 19) for x in range(21, 36))]
NEW = [(x, y) for y in range(10, 15) for x in (20, 21)]
WALL = (10, 4)
INK = {
    'free': (255, 255, 255),
    'obstacle': (48, 52, 59),
    'appeared': (184, 112, 47),
    'blocked': (213, 94, 0),
    'before': (98, 107, 120),
    'ahead': (0, 114, 178),
}


def frames():
    blocked = np.zeros((HEIGHT, WIDTH), bool)
    blocked[WALL[1], WALL[0]] = True
    grid = Grid(blocked)
    whole = MapChange(None, grid, None, (grid.cost_u16.copy(),), None, None)
    states = np.array([y * WIDTH + x for x, y in NEW], np.int32)
    part = MapChange(None, grid, (states,), (np.zeros(len(states), np.uint16),), None, None)
    for tick in range(LAST + 1):
        route = {0: BEFORE, APPEARS: AFTER}.get(tick)
        yield Frame(
            time_s=TICK_S * tick,
            status='NAVIGATING',
            pose=Pose2D(7.5, 12.5),
            waypoint=None,
            goal=Pose2D(35.5, 12.5),
            restarts=('blocked',) if tick == APPEARS else (),
            left=len(BEFORE if tick < APPEARS else AFTER) - 1,
            back=0,
            expansions=0,
            open_size=0,
            change={0: whole, APPEARS: part}.get(tick),
            expanded=Expanded(True, -1, NO_STATES, NO_DIRECTIONS) if tick in (0, APPEARS) else None,
            route=None if route is None else np.array(route, np.int32),
        )


@pytest.fixture(scope='module')
def made_up(tmp_path_factory):
    path = tmp_path_factory.mktemp('why') / 'run.tbrun'
    with RecordWriter(path, About('Made up')) as writer:
        for frame in frames():
            writer.put(frame)
    return write_page(path).as_uri()


@pytest.fixture
def page(browser, made_up):
    page = browser.open(made_up)
    page.wait_for(LOADED)
    yield page
    assert page.complaints() == []
    page.close()


def test_cells_flash_at_the_tick_at_which_they_change(page):
    go_to(page, APPEARS)
    assert Picture(page).at(21.5, 10.5) == INK['blocked']
    assert 'Cells blocked10' in text_of(page, 'figures')
    go_to(page, FADED)
    assert Picture(page).at(21.5, 10.5) in (INK['obstacle'], INK['appeared'])
    assert 'Cells blocked–' in text_of(page, 'figures')


def test_new_obstacles_are_striped_and_walls_are_not(page):
    go_to(page, OVER)
    picture = Picture(page)
    colours = {picture.at(x + 0.5, y + 0.5) for x, y in NEW if (x, y) not in [(20, 12), (21, 12)]}
    assert colours == {INK['obstacle'], INK['appeared']}
    assert picture.at(WALL[0] + 0.5, WALL[1] + 0.5) == INK['obstacle']
    page.run("document.querySelector('[data-layer=appeared]').click()")
    page.wait_for('tbPlanner.isSettled')
    picture = Picture(page)
    assert {picture.at(x + 0.5, y + 0.5) for x, y in NEW if y != 12} == {INK['obstacle']}


def test_the_route_before_a_restart_stays_for_a_while_as_dots(page):
    for tick, is_shown in ((APPEARS - 1, False), (APPEARS, True), (FADED, True), (OVER, False)):
        go_to(page, tick)
        colours = Picture(page).along((24.5, 12.5), (33.5, 12.5))
        share = colours.count(INK['before']) / len(colours)
        assert (0.1 < share < 0.7) if is_shown else share == 0, (tick, share)


def test_the_cells_that_blocked_the_route_are_marked(page):
    go_to(page, APPEARS)
    assert page.run(f'tbPlanner.scene.why.recent({APPEARS}).spots') == [[20, 12], [21, 12]]
    picture = Picture(page)
    assert picture.at(21.8, 12.8) == INK['blocked']
    ring = [picture.at(20.5 + far * dx, 12.5 + far * dy) for far in np.arange(0.5, 1.2, 0.01) for dx, dy in [(-1, -1)]]
    assert INK['blocked'] in ring


def test_a_restart_mark_explains_itself_and_leads_to_its_tick(page):
    go_to(page, LAST)
    left, top, *_ = page.box_of('map')
    px, py = page.run('tbPlanner.scene.pointOf(20.5, 12.5)')
    page.mouse('mouseMoved', left + px, top + py)
    page.wait_for('!document.getElementById("mark-tip").hidden')
    assert text_of(page, 'mark-tip') == 'restart at 1.50 s: route blocked'
    click_on(page, 20.5, 12.5)
    page.wait_for(f'tbPlanner.isSettled && tbPlanner.replay.tick === {APPEARS}')
    click_on(page, 30.5, 4.5)
    assert page.run('tbPlanner.target') == APPEARS


def test_marks_and_ghosts_are_layers_that_can_be_hidden(page):
    go_to(page, APPEARS)
    for layer in ('before', 'restarts', 'changed'):
        page.run(f"document.querySelector('[data-layer={layer}]').click()")
    page.wait_for('tbPlanner.isSettled')
    picture = Picture(page)
    assert INK['before'] not in picture.along((24.5, 12.5), (33.5, 12.5))
    assert picture.at(21.5, 10.5) in (INK['obstacle'], INK['appeared'])
    assert page.run('tbPlanner.scene.why.markAt(...tbPlanner.scene.pointOf(20.5, 12.5))') is None


def cells_needed_by(route, corner_cutting=False):
    """The cells of a route and, for each diagonal step, the two beside it."""
    needed = {tuple(cell) for cell in route.tolist()}
    for (ax, ay), (bx, by) in zip(route.tolist(), route.tolist()[1:], strict=False):
        if ax != bx and ay != by and not corner_cutting:
            needed |= {(ax, by), (bx, ay)}
    return needed


def test_the_marked_cells_are_those_of_the_route_that_the_record_shows_as_blocked(browser, tmp_path):
    """Compared with the replay in Python, which knows the whole map before and after."""
    record = make_record(tmp_path / 'run.tbrun', k=300)
    blocked_at = {tick for tick, reasons in record.restarts if 'blocked' in reasons}
    expected, before = {}, None
    for replay in Replay(record):
        if replay.tick in blocked_at and before is not None:
            route, blocked = before
            new = replay.blocked & ~blocked
            expected[replay.tick] = sorted([x, y] for x, y in cells_needed_by(route) if new[y, x])
        before = replay.route.copy(), replay.blocked.copy()
    assert len([spots for spots in expected.values() if spots]) >= 2
    page = browser.open(write_page(tmp_path / 'run.tbrun').as_uri())
    page.wait_for(LOADED)
    for tick, spots in expected.items():
        found = page.run(
            f'tbPlanner.scene.why.about(tbPlanner.record.restarts.find((event) => event.tick === {tick})).spots'
        )
        assert sorted(found) == spots, tick
    page.close()


def test_of_very_many_restarts_the_page_finds_the_places_in_several_frames(page):
    """The last ones are marked; the page does not stall."""
    page.run(
        f'void (tbPlanner.record.restarts = Array.from({{ length: 3000 }}, (_, i) => '
        f'({{ tick: Math.floor(i * {LAST} / 2999), restarts: ["eager"] }})))'
    )
    page.run('tbPlanner.figures.listFrom(0)')
    go_to(page, LAST)
    page.wait_for('tbPlanner.isSettled')
    assert 0 < page.run('tbPlanner.scene.why.marks.length') <= 200
