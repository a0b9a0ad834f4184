"""The strips of the replay page, their shared cursor, the jumps, and the range that is played, in a real browser."""

import base64
import io

import numpy as np
import pytest
from helpers.replay_page import LOADED, SETTLED, go_to, text_of
from PIL import Image

from tb_planner.recording import Replay

STRIPS = ['times', 'open', 'expansions', 'to-go']
NAMES = ['Tick time', 'Open list', 'Expansions', 'To go']
BAR = (154, 164, 178)


def array_of(page, expression):
    """The numbers of a Float32Array of the page."""
    encoded = page.run(f'btoa(String.fromCharCode(...new Uint8Array(({expression}).buffer)))')
    return np.frombuffer(base64.b64decode(encoded), np.float32)


def shown_strips(page):
    return page.run(
        '[...document.querySelectorAll(".lane")].flatMap((lane, i) => '
        f'lane.getBoundingClientRect().height ? [{STRIPS}[i]] : [])'
    )


def to_go(replay, goal=(52.5, 34.5)):
    """The length of the route in cells, and of the straight line from its end to the goal if it does not reach it."""
    columns, tick = replay.record.columns, replay.tick
    route = np.array(replay.route) if columns['left'][tick] else np.empty((0, 2))
    end = route[-1] + 0.5 if len(route) else np.array([columns['x'][tick], columns['y'][tick]])
    rest = np.hypot(*(np.array(goal) - end))
    reaches = len(route) > 0 and rest < 1
    ahead = np.hypot(*np.diff(route, axis=0).T).sum() if len(route) else 0.0
    return ahead + (0 if reaches else rest), reaches


def columns_of(page, number):
    """The heights of the bars of a strip, by the columns of its pixels."""
    left, top, width, height = page.run(
        f'(() => {{ const r = document.querySelectorAll(".lane canvas")[{number}].getBoundingClientRect();'
        'return [r.x, r.y, r.width, r.height]; })()'
    )
    picture = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert('RGB'))
    part = picture[round(top) : round(top + height), round(left) : round(left + width)]
    return (part == BAR).all(axis=2).sum(axis=0), height


def test_the_distance_to_go_is_the_route_and_the_straight_line_from_its_end_to_the_goal(shown):
    page, record = shown
    expected = [to_go(replay)[0] for replay in Replay(record)]
    values = 'tbPlanner.timeline.runs[0].toGo'
    seen = array_of(page, f'Float32Array.from({{ length: {record.ticks} }}, (_, t) => {values}.at(t))')
    assert seen == pytest.approx(np.array(expected), abs=1e-3)
    assert max(expected) > 10


@pytest.mark.parametrize(('number', 'name'), [(1, 'open_size'), (2, 'expansions')])
def test_bars_of_a_strip_are_as_high_as_the_values_of_its_ticks(shown, number, name):
    """Names and the present tick cover a part of them."""
    page, record = shown
    go_to(page, record.ticks - 1)
    values = np.asarray(record.columns[name], float)
    heights, height = columns_of(page, number)
    scale = (height - 2) / values.max()
    free = 0
    for tick in range(record.ticks):
        x = int((tick + 0.4) * len(heights) / record.ticks)
        if 200 < x < len(heights) - 20:
            assert heights[x] == pytest.approx(values[tick] * scale, abs=1.5), tick
            free += 1
    assert free > 50


def test_the_names_of_strips_have_the_values_of_the_present_tick(shown):
    page, record = shown
    distances = {replay.tick: to_go(replay) for replay in Replay(record)}
    for tick in (10, 77, record.ticks - 1):
        go_to(page, tick)
        names = page.run('[...document.querySelectorAll(".lane-name")].map((name) => name.textContent)')
        length, reaches = distances[tick]
        assert names == [
            f'Open list {record.columns["open_size"][tick]}',
            f'Expansions {record.columns["expansions"][tick]}',
            f'To go {"" if reaches else "≥ "}{length:.2f} cells',
        ]


def test_one_cursor_crosses_all_strips_and_the_tip_has_their_values(shown):
    page, record = shown
    left, top, width, height = page.box_of('lanes')
    restarts = np.array([tick for tick, _ in record.restarts])  # a restart draws the cursor to its mark
    tick = next(tick for tick in range(record.ticks // 3, record.ticks) if abs(restarts - tick).min() > 1)
    page.mouse('mouseMoved', left + tick / (record.ticks - 1) * width, top + height - 5)
    page.wait_for('!document.getElementById("cursor").hidden')
    line = page.box_of('cursor')
    assert line[0] - left == pytest.approx(tick / (record.ticks - 1) * width, abs=1)
    assert line[3] == pytest.approx(height, abs=1)
    assert page.box_of('playhead')[3] == pytest.approx(height, abs=1)
    tip = text_of(page, 'tip')
    assert f'open list {record.columns["open_size"][tick]}' in tip
    assert f'expansions {record.columns["expansions"][tick]}' in tip
    page.drag((left + 5, top + height - 5), (left + width / 2, top + height - 5))
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.target') == pytest.approx((record.ticks - 1) / 2, abs=1)


def test_each_strip_is_hidden_and_shown_again_by_its_button(shown):
    page, _ = shown
    assert shown_strips(page) == STRIPS
    buttons = page.run('[...document.querySelectorAll("#strips button")].map((button) => button.textContent)')
    assert buttons == NAMES
    for i, name in enumerate(STRIPS):
        page.run(f'document.querySelectorAll("#strips button")[{i}].focus()')
        page.press(' ')
        assert shown_strips(page) == [other for other in STRIPS if other != name]
        assert page.run('document.activeElement.ariaPressed') == 'false'
        page.press(' ')
        assert shown_strips(page) == STRIPS
    page.run('document.querySelectorAll("#strips button").forEach((button) => button.click())')
    assert shown_strips(page) == []
    page.press('ArrowRight')  # there is a time line still
    page.wait_for(SETTLED)
    page.run('localStorage.clear()')


def test_hidden_strips_stay_hidden_when_the_page_is_opened_again(browser, example):
    page = browser.open(example[1].as_uri())
    page.wait_for(LOADED)
    for expected in (['times', 'expansions', 'to-go'], STRIPS):  # and shown ones are shown again
        page.run('document.querySelector("#strips [data-strip=open]").click()')
        page.run('window.isOld = true')
        page.call('Page.reload')
        page.wait_for(f'!window.isOld && {LOADED}')
        assert shown_strips(page) == expected
    page.close()


def test_a_phone_shows_one_strip_which_a_list_chooses(browser, example):
    page = browser.open(example[1].as_uri(), width=360, height=740, scale=2)
    page.wait_for(LOADED)
    assert shown_strips(page) == ['times']
    for name in STRIPS[::-1]:
        page.run(
            f'(() => {{ const list = document.getElementById("one-strip"); list.value = "{name}";'
            'list.dispatchEvent(new Event("change")); })()'
        )
        assert shown_strips(page) == [name]
    page.run('localStorage.clear()')
    page.resize(1280, 800)
    page.wait_for('document.querySelectorAll(".lane:not([hidden])").length === 4')
    assert page.complaints() == []
    page.close()


def test_the_header_has_median_and_99th_percentile_of_the_tick_times(shown):
    page, record = shown
    durations = np.asarray(record.columns['duration_us'], float)
    p50, p99 = np.percentile(durations, [50, 99])
    sorted_values = 'tbPlanner.record.duration.values.slice(0, tbPlanner.record.ticks).sort()'
    assert page.run(f'tbPlanner.quantile({sorted_values}, 0.99)') * 1000 == pytest.approx(p99, rel=1e-4)
    words = [page.run(f'tbPlanner.durationText({value / 1000})') for value in (p50, p99)]
    assert text_of(page, 'percentiles') == f'tick time p50 {words[0]}, p99 {words[1]}'


# -------------------------------------------------------------------------------------------------- jumps
def visited(page, key, shift=False):
    """The ticks at which a key stops, until it moves no more."""
    ticks = []
    while True:
        before = page.run('tbPlanner.target')
        page.press(key.upper() if shift else key, shift=shift)
        page.wait_for(SETTLED)
        after = page.run('tbPlanner.target')
        if after == before:
            return ticks
        ticks.append(after)


def with_overruns(page, ticks):
    """Makes these ticks, and no others, longer than the budget."""
    page.run('tbPlanner.record.duration.values.fill(0.001) && 0')
    for tick in ticks:
        page.run(f'tbPlanner.record.duration.values[{tick}] = 99')


def test_the_key_of_overruns_stops_at_the_first_tick_of_each(shown):
    page, _ = shown
    with_overruns(page, [3, 4, 5, 40, 100, 101])
    go_to(page, 0)
    assert visited(page, 'o') == [3, 40, 100]
    assert text_of(page, 'note') == 'no later overrun'
    assert visited(page, 'o', shift=True) == [40, 3]
    assert text_of(page, 'note') == 'no earlier overrun'
    page.run('document.getElementById("overrun").click()')
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.target') == 40
    page.run('tbPlanner.record.head.budget_s = null')
    page.press('o')
    assert text_of(page, 'note') == 'this record has no budget'
    assert page.run('tbPlanner.target') == 40


def test_the_key_of_status_changes_stops_at_each(shown):
    page, record = shown
    changes = [event['tick'] for event in record.events if 'status' in event]
    assert len(changes) > 2
    go_to(page, 0)
    assert visited(page, 's') == [tick for tick in changes if tick > 0]
    assert text_of(page, 'note') == 'no later status change'
    go_to(page, record.ticks - 1)
    earlier = [tick for tick in changes if tick < record.ticks - 1]
    assert visited(page, 's', shift=True) == earlier[::-1]
    go_to(page, 0)
    page.run('document.getElementById("status-change").click()')
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.target') == next(tick for tick in changes if tick > 0)


def test_the_buttons_of_begin_and_end_go_there_and_not_to_restarts(shown):
    page, record = shown
    go_to(page, 50)
    for name, tick in (('end', record.ticks - 1), ('begin', 0)):
        page.run(f'document.getElementById("{name}").click()')
        page.wait_for(SETTLED)
        assert page.run('tbPlanner.target') == tick
    names = ['begin', 'end', 'restart-before', 'restart-after']
    icons = page.run(f'{names}.map((id) => document.getElementById(id).innerHTML)')
    assert len(set(icons)) == 4


# -------------------------------------------------------------------------------------------------- the range
def set_range(page, begin, end):
    for tick, key in ((begin, 'a'), (end, 'b')):
        go_to(page, tick)
        page.press(key)


def test_playing_begins_and_ends_with_the_range(shown):
    page, record = shown
    set_range(page, 30, 60)
    left, _, width, _ = page.box_of('lanes')
    box = page.box_of('range')
    assert box[0] - left == pytest.approx(30 / (record.ticks - 1) * width, abs=2)
    assert box[2] == pytest.approx(30 / (record.ticks - 1) * width, abs=2)
    assert text_of(page, 'note') == f'from {page.run("tbPlanner.record.time.values[30].toFixed(2)")} s to ' + (
        f'{page.run("tbPlanner.record.time.values[60].toFixed(2)")} s'
    )
    for start in (5, 100, 60):
        go_to(page, start)
        page.run('window.ticks = []; tbPlanner.timeline.show = (tick) => window.ticks.push(tick); 0')
        page.run('document.getElementById("speed").value = "4"')
        page.press(' ')
        page.wait_for(f'!tbPlanner.isPlaying && {SETTLED}')
        assert page.run('tbPlanner.target') == 60
        assert page.run('Math.min(...window.ticks)') >= 30
        assert page.run('Math.max(...window.ticks)') == 60


def test_a_loop_plays_the_range_again_and_again(shown):
    page, _ = shown
    set_range(page, 20, 40)
    page.press('l')
    assert page.run('document.getElementById("loop").ariaPressed') == 'true'
    page.run('document.getElementById("speed").value = "16"')
    page.run(
        'window.rounds = 0; window.last = 0; tbPlanner.timeline.show = (tick) => '
        '{ if (tick < window.last) window.rounds++; window.last = tick; window.outside ||= tick < 20 || tick > 40; }; 0'
    )
    go_to(page, 25)
    page.press(' ')
    page.wait_for('window.rounds >= 3')
    assert page.run('tbPlanner.isPlaying')
    assert not page.run('window.outside')
    page.run('document.getElementById("loop").click()')
    page.wait_for(f'!tbPlanner.isPlaying && {SETTLED}')
    assert page.run('tbPlanner.target') == 40


def test_a_loop_without_a_range_plays_the_whole_run_again(shown):
    page, _ = shown
    page.press('l')
    page.run('document.getElementById("speed").value = "64"')
    page.run('window.seen = []; tbPlanner.timeline.show = (tick) => window.seen.push(tick); 0')
    page.press(' ')
    page.wait_for('window.seen.filter((tick, i) => tick < window.seen[i - 1]).length >= 2')
    assert page.run('tbPlanner.isPlaying')
    page.press(' ')


def test_a_range_that_would_end_before_it_begins_keeps_the_end_that_is_set_last(shown):
    page, record = shown
    set_range(page, 60, 30)
    assert page.run('tbPlanner.range.limits') == [0, 30]
    set_range(page, 80, 80)
    assert page.run('tbPlanner.range.limits') == [0, 80]
    go_to(page, 90)
    page.run('document.getElementById("range-begin").click()')
    assert page.run('tbPlanner.range.limits') == [90, record.ticks - 1]
    page.press('x')
    assert page.run('tbPlanner.range.limits') == [0, record.ticks - 1]
    assert page.run('document.getElementById("range").hidden && document.getElementById("range-clear").hidden')


def test_the_help_lists_the_keys_of_jumps_and_of_the_range(shown):
    page, _ = shown
    page.press('?')
    text = page.run('document.getElementById("help").innerText')
    for words in ('next overrun, status change', 'the range to play', 'loop'):
        assert words in text
