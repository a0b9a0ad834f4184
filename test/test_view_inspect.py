"""A pinned cell on the replay page: its class, g, h, f, parent, tick of expansion and branch to the root."""

import heapq
import math
import re
from itertools import pairwise

import numpy as np
import pytest
from helpers.changed_record import changed_record
from helpers.replay_page import (
    LOADED,
    SETTLED,
    Picture,
    click_on,
    go_to,
    make_record,
    opened,
    rooms,
    text_of,
    write_page,
)

from tb_planner import Changing, Grid, Static, TimeBoundedPlanner, move_to_goal, tb_gbfs, tb_wa_star, tba_star
from tb_planner.recording import About, RecordedWalk, Replay, read_record
from tb_planner.view import make_page

START, GOAL = (1, 1), (52, 34)


def walked(path, grid, world, algorithm, k=8, seen=lambda planner: None):
    """Records a walk; returns what was seen of the planner after each interval."""
    planner, found = TimeBoundedPlanner(grid, START, GOAL, algorithm, k=k), []
    with RecordedWalk(path, planner, world, About(y_up=False)) as walk:
        while planner.current_cell != GOAL:
            move_to_goal(planner, walk, max_intervals=1)
            found.append(seen(planner))
    return found


def pinned(page, cell):
    """What the panel shows of a cell, by row."""
    page.run(f'tbPlanner.inspector.pin({list(cell)})')
    page.wait_for(SETTLED)
    rows = 'document.querySelectorAll("#inspected div")'
    return dict(page.run(f'Array.from({rows}, (row) => [row.firstChild.textContent, row.lastChild.textContent])'))


def distances_from(cell, costs):
    """Dijkstra's algorithm with the costs of steps as design and papers have them; no corner is cut."""
    height, width = costs.shape
    is_free = lambda x, y: 0 <= x < width and 0 <= y < height and np.isfinite(costs[y, x])  # noqa: E731
    found, queue = {}, [(0.0, cell)]
    while queue:
        g, (x, y) = heapq.heappop(queue)
        if (x, y) in found:
            continue
        found[x, y] = g
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if (dx or dy) and is_free(x + dx, y + dy) and is_free(x + dx, y) and is_free(x, y + dy):
                    step = math.hypot(dx, dy) * (costs[y, x] + costs[y + dy, x + dx]) / 2
                    heapq.heappush(queue, (g + step, (x + dx, y + dy)))
    return found


def octile(a, b):
    dx, dy = abs(a[0] - b[0]), abs(a[1] - b[1])
    return max(dx, dy) + (math.sqrt(2) - 1) * min(dx, dy)


@pytest.mark.parametrize('is_graded', [False, True], ids=['uniform', 'graded'])
def test_g_h_and_f_of_expanded_cells_are_those_of_dijkstra_and_the_octile_distance(browser, tmp_path, is_graded):
    """TBA* expands with the least g on a map that does not change."""
    rng = np.random.default_rng(5)
    costs = np.where(rooms(3), np.inf, 1 + 3 * rng.random((36, 54)) if is_graded else 1.0).astype(np.float32)
    walked(tmp_path / 'run.tbrun', Grid(costs), Static(Grid(costs)), tba_star(), k=40)
    *_, replay = Replay(read_record(tmp_path / 'run.tbrun'))
    expected = distances_from(START, costs.astype(float))
    page = opened(browser, write_page(tmp_path / 'run.tbrun').as_uri())
    go_to(page, replay.tick)
    cells = rng.permutation(np.argwhere(replay.expanded))[:40].tolist()
    for y, x in cells:
        rows = pinned(page, (x, y))
        g = float(rows['g'].removeprefix('≈ '))
        assert g == pytest.approx(expected[x, y], abs=0.006, rel=0.012 if is_graded else 0)
        assert float(rows['h']) == pytest.approx(octile((x, y), GOAL), abs=0.006)
        assert float(rows['f = g + h'].removeprefix('≈ ')) == pytest.approx(g + float(rows['h']), abs=0.011)
        assert ('≈' in rows['g']) == (is_graded and g > 0)
    assert page.complaints() == []
    page.close()


@pytest.mark.parametrize('algorithm', [tba_star(), tb_wa_star(1.5)], ids=lambda a: a.name)
def test_g_and_f_of_open_cells_are_the_planners_own_while_the_map_changes(browser, tmp_path, algorithm):
    blocked = rooms(3)
    seen = walked(
        tmp_path / 'run.tbrun',
        Grid(blocked),
        Changing(Grid(blocked), 8, every=5, seed=4),
        algorithm,
        k=20,
        seen=lambda planner: planner.open_cells(),
    )
    page = opened(browser, write_page(tmp_path / 'run.tbrun').as_uri())
    compared = 0
    rng = np.random.default_rng(2)
    for tick in range(0, len(seen), 3):
        go_to(page, tick)
        for i in rng.permutation(len(seen[tick]))[:5].tolist():
            cell, f, g = seen[tick][i]
            rows = pinned(page, cell)
            if rows['Search'] == 'in the Open list' and rows['g'] != '0.00':
                assert float(rows['g']) == pytest.approx(g, abs=0.006), (tick, cell)
                shown = next(text for name, text in rows.items() if name.startswith('f ='))
                assert float(shown) == pytest.approx(f, abs=0.006), (tick, cell)
                compared += 1
    assert compared > 20
    page.close()


@pytest.fixture(scope='module')
def example(tmp_path_factory):
    path = tmp_path_factory.mktemp('inspect') / 'run.tbrun'
    return make_record(path, k=20), path


@pytest.fixture
def page(browser, example):
    page = opened(browser, write_page(example[1]).as_uri())
    yield page
    assert page.complaints() == []
    page.close()


def some_expanded_cell(record):
    """A tick, and the cell that is expanded then farthest from the robot."""
    most = max((int(replay.expanded.sum()), replay.tick) for replay in Replay(record))[1]
    replay = Replay(record)
    while replay.tick < most:
        replay.step()
    robot = record.columns['x'][most], record.columns['y'][most]
    return most, max(((x, y) for y, x in np.argwhere(replay.expanded).tolist()), key=lambda c: math.dist(c, robot))


def test_a_click_pins_a_cell_and_another_click_lets_it_go(page, example):
    tick, (x, y) = some_expanded_cell(example[0])
    go_to(page, tick)
    click_on(page, x + 0.5, y + 0.5)
    page.wait_for('!document.getElementById("inspect").hidden')
    assert text_of(page, 'inspect-title') == f'Cell {x}, {y}'
    click_on(page, x + 0.5, y + 0.5)
    page.wait_for('document.getElementById("inspect").hidden')
    click_on(page, x + 0.5, y + 0.5)
    page.wait_for('!document.getElementById("inspect").hidden')
    page.run('document.getElementById("unpin").click()')
    page.wait_for('document.getElementById("inspect").hidden')


def test_a_branch_leads_to_the_root_and_is_drawn(page, example):
    tick, cell = some_expanded_cell(example[0])
    go_to(page, tick)
    pinned(page, cell)
    branch = page.run('tbPlanner.inspector.found.branch')
    cells = [(s % 54, s // 54) for s in branch]
    assert cells[0] == cell
    assert all(max(abs(ax - bx), abs(ay - by)) == 1 for (ax, ay), (bx, by) in pairwise(cells))
    assert pinned(page, cells[-1])['Parent'] == 'none: the root'
    pinned(page, cell)
    ink, picture = (29, 33, 39), Picture(page)
    middle = [((ax + bx + 1) / 2, (ay + by + 1) / 2) for (ax, ay), (bx, by) in pairwise(cells)]
    assert sum(picture.at(*place) == ink for place in middle) > 0.6 * len(middle)


def test_parent_and_tick_of_expansion_lead_there(page, example):
    tick, cell = some_expanded_cell(example[0])
    go_to(page, tick)
    rows = pinned(page, cell)
    when = int(re.sub(r'\D', '', rows['Expanded at']))
    expanded = {replay.tick: bool(replay.expanded[cell[1], cell[0]]) for replay in Replay(example[0])}
    assert expanded[when]
    assert not expanded[when - 1]
    page.run('document.querySelector("#inspected button[data-cell]").click()')
    page.wait_for(SETTLED)
    assert text_of(page, 'inspect-title') == f'Cell {rows["Parent"]}'
    pinned(page, cell)
    page.run('document.querySelector("#inspected button[data-tick]").click()')
    page.wait_for(f'tbPlanner.replay.tick === {when}')


def test_panel_and_read_out_follow_the_tick(page, example):
    tick, cell = some_expanded_cell(example[0])
    states = {'not met': 0, 'expanded': 0}
    go_to(page, tick)
    left, top, *_ = page.box_of('map')
    px, py = page.run(f'tbPlanner.scene.pointOf({cell[0] + 0.5}, {cell[1] + 0.5})')
    page.mouse('mouseMoved', left + px, top + py)
    for at in (tick, tick - 12, tick):
        go_to(page, at)
        state = pinned(page, cell)['Search']
        assert text_of(page, 'pointed').endswith('expanded') == (state == 'expanded')
        states[state] = states.get(state, 0) + 1
    assert states['expanded'] == 2


def test_a_greedy_search_does_not_know_g_of_open_cells(browser, tmp_path):
    record = make_record(tmp_path / 'run.tbrun', 'static', algorithm=tb_gbfs())
    replay = Replay(record)
    while replay.tick < 8:
        replay.step()
    page = opened(browser, write_page(tmp_path / 'run.tbrun').as_uri())
    go_to(page, 8)
    y, x = np.argwhere(replay.open)[0].tolist()
    rows = pinned(page, (x, y))
    assert rows['g'] == '–'
    assert float(rows['f = h']) == pytest.approx(octile((x, y), GOAL), abs=0.006)
    page.close()


def without_parents(head, columns):
    head['events'] = [event for event in head['events'] if 'search' not in event]
    for name in ('parents', 'parent_bytes'):
        del columns[name]


def test_an_older_record_is_shown_and_says_what_it_lacks(browser, example, tmp_path):
    path = tmp_path / 'old.html'
    path.write_text(make_page(changed_record(example[1].read_bytes(), without_parents)), encoding='utf-8')
    page = browser.open(path.as_uri())
    page.wait_for(LOADED)
    tick, cell = some_expanded_cell(example[0])
    go_to(page, tick)
    rows = pinned(page, cell)
    assert [rows[name] for name in ('Search', 'g', 'h', 'Parent')] == ['expanded', '–', '–', '–']
    assert rows['Expanded at'].startswith('tick ')
    assert 'does not hold parents' in text_of(page, 'inspect-note')
    assert page.complaints() == []
    page.close()


def test_the_keys_move_a_cursor_pin_its_cell_and_measure_from_it(page, example):
    go_to(page, 10)
    page.run('document.getElementById("map").focus()')
    page.press('c')
    x, y = page.run('tbPlanner.inspector.cursor')
    page.press('ArrowRight', shift=True)
    page.press('ArrowDown')
    assert page.run('tbPlanner.inspector.cursor') == [x + 10, y + 1]  # y points down here
    assert f'cell {x + 10}, {y + 1}' in text_of(page, 'note')
    assert page.run('tbPlanner.target') == 10
    page.press('Enter')
    page.wait_for('!document.getElementById("inspect").hidden')
    assert text_of(page, 'inspect-title') == f'Cell {x + 10}, {y + 1}'
    assert text_of(page, 'note').startswith(f'Cell {x + 10}, {y + 1}: Class')
    page.press('m')
    page.press('Enter')
    page.press('ArrowLeft', shift=True)
    page.press('Enter')
    assert text_of(page, 'note') == 'Distance: 10.00 cells'
    page.press('Escape')
    assert page.run('tbPlanner.inspector.cursor') is None
    page.press('ArrowRight')
    assert page.run('tbPlanner.target') == 11


@pytest.mark.parametrize('parents', [[8] * 3, [200] * 3, [0, 2, 0], [1, 3, 1]], ids=str)
def test_parents_that_make_no_tree_do_not_keep_the_page_busy(browser, example, tmp_path, parents):
    def change(head, columns):
        data = bytearray(columns['parents'][1])
        columns['parents'][1] = bytes(parents[i % len(parents)] for i in range(len(data)))

    path = tmp_path / 'bad.html'
    path.write_text(make_page(changed_record(example[1].read_bytes(), change)), encoding='utf-8')
    page = browser.open(path.as_uri())
    page.wait_for(LOADED)
    tick, cell = some_expanded_cell(example[0])
    go_to(page, tick)
    assert pinned(page, cell)['Search'] == 'expanded'
    assert page.complaints() == []
    page.close()
