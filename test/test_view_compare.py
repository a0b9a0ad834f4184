"""Two runs on one page: both are shown at one time, and the page goes to their first difference, in a real browser."""

import base64
import re
import subprocess
import sys

import numpy as np
import pytest
from helpers.changed_record import changed_record
from helpers.replay_page import LOADED, SETTLED, go_to, make_record, text_of

from tb_planner.recording import Replay, read_record
from tb_planner.recording.format import HAS_WAYPOINT
from tb_planner.view import make_page
from tb_planner.view.page import OtherRun

COMPARED = f'{LOADED} && tbPlanner.companion.isCompared'


@pytest.fixture(scope='module')
def records(tmp_path_factory):
    """The files of runs: of two on the same changing map, and of one where it never changes."""
    folder = tmp_path_factory.mktemp('compare')
    ticks = {k: make_record(folder / f'{k}.tbrun', k=k).ticks for k in (4, 7)}
    for k, name in zip(sorted(ticks, key=lambda k: ticks[k]), ('fast', 'slow'), strict=True):
        (folder / f'{k}.tbrun').rename(folder / f'{name}.tbrun')
    assert ticks[4] != ticks[7]
    make_record(folder / 'static.tbrun', 'static')
    return folder


def view(*arguments):
    command = [sys.executable, '-m', 'tb_planner', 'view', *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def open_two(browser, path, first, second, **shape):
    path.write_text(make_page(first, 'One', OtherRun(second, 'Other')), encoding='utf-8')
    page = browser.open(path.as_uri(), **shape)
    page.wait_for(COMPARED)
    return page


def cells_of(page, run, name):
    """An array of the replay of the page or of its companion: cells or search."""
    encoded = page.run(
        f'(() => {{ const r = {run}.replay; let s = "";'
        f'for (const v of r.{name}.subarray(0, r.width * r.height)) s += String.fromCharCode(v); return btoa(s); }})()'
    )
    shape = page.run(f'[{run}.replay.height, {run}.replay.width]')
    return np.frombuffer(base64.b64decode(encoded), np.uint8).reshape(shape)


def replayed(record, tick):
    replay = Replay(record)
    while replay.tick < tick:
        replay.step()
    return replay


def states_of(record):
    """Of each tick: status, what is left of the route, waypoint and map."""
    columns, status = record.columns, ''
    statuses = {event['tick']: event['status'] for event in record.events if 'status' in event}
    for replay in Replay(record):
        tick = replay.tick
        status = statuses.get(tick, status)
        has_waypoint = columns['flags'][tick] & HAS_WAYPOINT
        waypoint = (columns['waypoint_x'][tick], columns['waypoint_y'][tick]) if has_waypoint else None
        route = np.array(replay.route).tolist() if columns['left'][tick] else []
        yield {'status': status, 'route': route, 'waypoint': waypoint, 'map': replay.classes.tolist()}


def first_difference(one, other):
    for tick, (a, b) in enumerate(zip(states_of(one), states_of(other), strict=False)):
        differ = [name for name in a if a[name] != b[name]]
        if differ:
            return tick, differ
    return None


def test_the_command_makes_one_page_of_two_runs(browser, records, tmp_path):
    paths = [records / 'fast.tbrun', records / 'slow.tbrun']  # the longer one is the second, and leads
    done = view(*paths, '-o', tmp_path / 'two.html')
    assert done.returncode == 0, done.stderr
    one, other = map(read_record, paths)
    assert f'{one.ticks:,} ticks' in done.stdout
    assert f'{other.ticks:,} ticks' in done.stdout
    page = browser.open((tmp_path / 'two.html').as_uri())
    page.wait_for(COMPARED)
    assert page.run('[tbPlanner.record.ticks, tbPlanner.companion.record.ticks]') == [other.ticks, one.ticks]
    assert page.run('document.title') == 'fast and slow'  # the titles of both are the same
    stages = page.run('[...document.querySelectorAll(".stage")].map((stage) => stage.getBoundingClientRect().x)')
    assert stages[1] < stages[0]
    assert page.complaints() == []
    page.close()


def test_the_page_of_two_runs_is_beside_the_first_by_default(tmp_path):
    for name in 'ab':
        make_record(tmp_path / f'{name}.tbrun', 'static', 300)
    assert view(tmp_path / 'a.tbrun', tmp_path / 'b.tbrun').returncode == 0
    assert (tmp_path / 'a-and-b.html').stat().st_size > 10_000


def test_options_of_one_run_are_refused_with_two(records, tmp_path):
    paths = [records / 'fast.tbrun', records / 'slow.tbrun']
    for arguments, why in (
        (('--title', 'Both'), 'is for one run'),
        (('--live',), 'shows one run'),
        (('-o', paths[1]), 'is the record itself'),
    ):
        done = view(*paths, *arguments)
        assert done.returncode == 2
        assert why in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_both_runs_are_shown_at_the_same_time_since_their_start(browser, records, tmp_path):
    paths = [records / 'slow.tbrun', records / 'fast.tbrun']
    slow, fast = map(read_record, paths)
    page = open_two(browser, tmp_path / 'two.html', *(path.read_bytes() for path in paths))
    times = [np.cumsum(record.columns['time_us']) for record in (slow, fast)]
    for tick in (0, 40, 77, slow.ticks - 1):
        go_to(page, tick)
        other = int(np.searchsorted(times[1], times[0][tick], side='right')) - 1
        assert page.run('tbPlanner.companion.tick') == other
        for run, record, shown in (('tbPlanner', slow, tick), ('tbPlanner.companion', fast, other)):
            replay = replayed(record, shown)
            assert np.array_equal(cells_of(page, run, 'cells'), replay.classes)
            search = np.where(replay.expanded, 2, np.where(replay.open, 1, 0))
            assert np.array_equal(cells_of(page, run, 'search'), search)
        figures = page.run('[...document.querySelectorAll("#figures dd.second")].map((value) => value.textContent)')
        assert figures[0] == f'{other} of {fast.ticks - 1}'
    assert '(end)' in page.run('tbPlanner.companion.status.textContent')
    left, _, width, _ = page.box_of('lanes')
    assert page.box_of('playhead')[0] - left == pytest.approx(width, abs=2)
    assert page.complaints() == []
    page.close()


@pytest.mark.parametrize('other', ['fast', 'static'])
def test_the_page_goes_to_the_first_tick_at_which_two_runs_differ(browser, records, tmp_path, other):
    paths = [records / 'slow.tbrun', records / f'{other}.tbrun']
    tick, differ = first_difference(*map(read_record, paths))
    page = open_two(browser, tmp_path / 'two.html', *(path.read_bytes() for path in paths))
    page.press('End')
    page.press('g')
    page.wait_for(SETTLED)
    assert page.run('[tbPlanner.target, tbPlanner.companion.tick]') == [tick, tick]
    assert text_of(page, 'note') == f'first difference at tick {tick}: {", ".join(differ)}'
    page.close()


def a_new_status(head, columns):
    events = [*head['events'], {'tick': 30, 'status': 'LOST'}]
    head['events'] = sorted(events, key=lambda event: event['tick'])


def a_waypoint(head, columns):
    flags = list(columns['flags'][1])
    flags[50] ^= HAS_WAYPOINT
    columns['flags'][1] = bytes(flags)


@pytest.mark.parametrize(('change', 'tick', 'name'), [(a_new_status, 30, 'status'), (a_waypoint, 50, 'waypoint')])
def test_a_difference_in_one_thing_is_found(browser, records, tmp_path, change, tick, name):
    data = (records / 'slow.tbrun').read_bytes()
    page = open_two(browser, tmp_path / 'two.html', data, changed_record(data, change))
    page.run('document.getElementById("difference").click()')
    page.wait_for(SETTLED)
    assert text_of(page, 'note') == f'first difference at tick {tick}: {name}'
    assert page.run('[tbPlanner.target, tbPlanner.companion.tick]') == [tick, tick]
    page.close()


def test_equal_runs_have_no_difference(browser, records, tmp_path):
    data = (records / 'slow.tbrun').read_bytes()
    page = open_two(browser, tmp_path / 'two.html', data, data)
    assert page.run('document.getElementById("difference").disabled')
    page.press('g')
    assert text_of(page, 'note') == 'the runs do not differ'
    page.close()


def test_both_maps_move_and_hide_layers_together(browser, records, tmp_path):
    page = open_two(
        browser, tmp_path / 'two.html', *((records / f'{name}.tbrun').read_bytes() for name in ('slow', 'fast'))
    )
    place = 'tbPlanner{}.scene.pointOf(10, 10)'
    for action in (
        lambda: page.press('+'),
        lambda: page.drag((500, 300), (540, 330)),
        lambda: page.drag((page.run('innerWidth') * 0.6, 300), (page.run('innerWidth') * 0.6 + 20, 320)),
    ):
        before = page.run(place.format(''))
        action()
        page.wait_for(SETTLED)
        assert page.run(place.format('')) != before
        assert page.run(place.format('.companion')) == pytest.approx(page.run(place.format('')), abs=1)
    looks = page.run('tbPlanner.companion.scene.palette.join()')
    page.run('document.querySelector("[data-layer=expanded]").click()')
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.companion.scene.palette.join()') != looks
    assert page.complaints() == []
    page.close()


def test_on_a_phone_the_maps_are_one_above_the_other(browser, records, tmp_path):
    data = [(records / f'{name}.tbrun').read_bytes() for name in ('slow', 'fast')]
    page = open_two(browser, tmp_path / 'two.html', *data, width=360, height=740)
    boxes = page.run('[...document.querySelectorAll(".stage")].map((stage) => stage.getBoundingClientRect().toJSON())')
    assert boxes[0]['x'] == boxes[1]['x']
    assert boxes[0]['bottom'] <= boxes[1]['top']
    assert page.run('document.documentElement.scrollWidth') <= 360
    page.close()


def test_a_title_of_the_second_run_cannot_break_the_page():
    text = make_page(b'', '', OtherRun(b'', '"><script>alert(1)</script>'))
    assert '<script>alert' not in text
    assert re.search(r'data-title="&quot;&gt;&lt;script', text)
