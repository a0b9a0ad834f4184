"""The replay page in a real browser: it shows what the record holds, from disk, with no network and no complaint."""

import base64
import html
import io
import math
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from helpers import browser as this_browser
from helpers.browser import Browser, BrowserError, chromium_or_skip
from helpers.changed_record import beyond_the_map, changed_record, shares_of_more_than_there_is
from helpers.processes import wait_for
from helpers.replay_page import LOADED, SETTLED, go_to, make_record, rooms
from PIL import Image

from tb_planner import Grid, Static, TimeBoundedPlanner, move_to_goal, tb_wa_star
from tb_planner.recording import About, RecordedWalk, Replay, read_record, writer
from tb_planner.recording.format import MAGIC, UNKNOWN_BLOCKED, as_varints, pack
from tb_planner.search.algorithms import RestartReason
from tb_planner.view import make_page
from tb_planner.view import page as view_page
from tb_planner.view.page import SCRIPTS

ELEMENTS = (Path(view_page.__file__).parent / 'elements.js').read_text()
REASONS = dict(re.findall(r"^  (\w+): '([^']+)',$", ELEMENTS.partition('const REASONS')[2].partition('};')[0], re.M))
"""The words of the page for the reasons of restarts."""


def cells_of(page, name):
    """An array of the page's replay: cells or search."""
    encoded = page.run(
        f'(() => {{ const r = tbPlanner.replay; const a = r.{name}.subarray(0, r.width * r.height);'
        'let s = ""; for (const v of a) s += String.fromCharCode(v); return btoa(s); })()'
    )
    shape = page.run('[tbPlanner.replay.height, tbPlanner.replay.width]')
    return np.frombuffer(base64.b64decode(encoded), np.uint8).reshape(shape)


def as_shown(replay):
    return np.where(replay.expanded, 2, np.where(replay.open, 1, 0))


def assert_same(page, replay):
    assert np.array_equal(cells_of(page, 'cells'), replay.classes)
    assert np.array_equal(cells_of(page, 'search'), as_shown(replay)), replay.tick


# -------------------------------------------------------------------------------------------------- without a browser
def test_the_page_has_all_in_it(example):
    text = example[1].read_text(encoding='utf-8')
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert not re.search(r'https?://|@import|url\(', text)
    assert '{{' not in text
    assert b''.join(map(base64.b64decode, pieces_of(text))) == example[1].with_suffix('.tbrun').read_bytes()


def pieces_of(page):
    return re.findall(r'<script type="application/octet-stream">([^<]*)</script>', page)


def test_a_title_cannot_break_the_page():
    text = make_page(MAGIC, '</title><script>alert(1)</script> {{record}}')
    assert text.count('{{record}}') == 2  # as it was given
    assert '<script>alert' not in text
    assert html.escape('</title><script>') in text


def test_scripts_know_the_numbers_of_the_format():
    from tb_planner.recording import format as here
    from tb_planner.view.page import _read

    text = ''.join(_read(name) for name in SCRIPTS)
    for name in ('NEW_SEARCH', 'NEW_ROUTE', 'HAS_POSE', 'HAS_WAYPOINT', 'HIGHEST_COST', 'UNKNOWN', 'UNKNOWN_BLOCKED'):
        assert re.search(rf'\b{name} = {getattr(here, name)}\b', text), name
    for name in ('INFLATED', 'OBSTACLE'):
        assert re.search(rf'\b{name} = {getattr(here, name)}\b', text), name
    magic = ', '.join(f'0x{byte:02x}' for byte in MAGIC)
    assert magic in text


def run_view(*arguments):
    command = [sys.executable, '-m', 'tb_planner', 'view', *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_the_command_writes_the_page(example, tmp_path):
    done = run_view(example[1].with_suffix('.tbrun'), '-o', tmp_path / 'shown.html')
    assert done.returncode == 0, done.stderr
    assert 'shown.html' in done.stdout
    assert '>Rooms &amp; &lt;walls&gt;</title>' in (tmp_path / 'shown.html').read_text(encoding='utf-8')


def test_a_title_that_is_not_of_letters_does_not_keep_the_page_from_being_written(example, tmp_path):
    done = run_view(example[1].with_suffix('.tbrun'), '-o', tmp_path / 'shown.html', '--title', 'Halle \udcff')
    assert done.returncode == 0, done.stderr
    assert '>Halle ?</title>' in (tmp_path / 'shown.html').read_text(encoding='utf-8')


def test_the_command_writes_beside_the_record_by_default(tmp_path):
    make_record(tmp_path / 'walk.tbrun', 'static', 300)
    assert run_view(tmp_path / 'walk.tbrun').returncode == 0
    assert (tmp_path / 'walk.html').stat().st_size > 10_000


def test_the_command_serves_nothing_by_default(example, tmp_path):
    page = tmp_path / 'page.html'
    for option, value in (('--port', '8000'), ('--host', '0.0.0.0')):
        done = run_view(example[1].with_suffix('.tbrun'), '-o', page, option, value)
        assert done.returncode == 2
        assert f'{option} {value} is for --live' in done.stderr
        assert not page.exists()


def test_the_command_refuses_what_it_cannot_show(tmp_path):
    for name, data, why in (
        ('none', None, 'No such file'),
        ('empty', b'', 'the file is empty'),
        ('picture', b'\x89PNG\r\n', 'begins with'),
        ('no_ticks', MAGIC, 'the file has no head'),
    ):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        done = run_view(tmp_path / name)
        assert done.returncode == 2
        assert why in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / f'{name}.html').exists()
    done = run_view('.')
    assert (done.returncode, done.stderr) == (2, 'tb_planner: .: Is a directory\n')
    for path, why in ((tmp_path / 'picture', 'begins with'), (tmp_path, 'Is a directory')):
        done = run_view(path, '--live')
        assert done.returncode == 2
        assert why in done.stderr


def test_the_command_reports_what_it_leaves_out_of_a_record_that_was_cut_off(example, tmp_path):
    data, path = example[1].with_suffix('.tbrun').read_bytes(), tmp_path / 'cut.tbrun'
    path.write_bytes(data + b'\x40\0\0\0torn')
    done = run_view(path)
    assert done.returncode == 0, done.stderr
    assert f'{path}: the last 8 bytes cannot be shown: the file ends within a chunk' in done.stdout
    pieces = pieces_of(path.with_suffix('.html').read_text(encoding='utf-8'))
    assert b''.join(map(base64.b64decode, pieces)) == data


def test_of_a_record_without_ticks_there_is_no_page(example, tmp_path):
    data, path = example[1].with_suffix('.tbrun').read_bytes(), tmp_path / 'cut.tbrun'
    head_end = len(MAGIC) + 4 + int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], 'little')
    for rest, reason in (
        (b'', 'it has no ticks'),
        (data[head_end : head_end + 50], 'the last 50 bytes cannot be shown'),
    ):
        path.write_bytes(data[:head_end] + rest)
        done = run_view(path)
        assert done.returncode == 2
        assert reason in done.stderr
        assert not path.with_suffix('.html').exists()


def test_the_page_never_takes_the_place_of_the_record(tmp_path):
    record, link = tmp_path / 'run.html', tmp_path / 'link'
    make_record(record, 'static', 300)
    data = record.read_bytes()
    link.symlink_to(record)
    for arguments in ((record,), (record, '-o', link), (link, '-o', record)):
        done = run_view(*arguments)
        assert done.returncode == 2
        assert 'is the record itself' in done.stderr
        assert record.read_bytes() == data


def test_only_a_page_is_written_over(example, tmp_path):
    record, output = example[1].with_suffix('.tbrun'), tmp_path / 'run.html'
    output.write_text('<!doctype html>\n<title>Minutes of a meeting</title>')
    (tmp_path / 'link.html').symlink_to(output)
    for there in (output, tmp_path / 'link.html'):
        done = run_view(record, '-o', there)
        assert done.returncode == 2
        assert 'the file exists and is not a page of a run' in done.stderr
        assert 'Minutes' in output.read_text()
    output.write_text('')
    assert [run_view(record, '-o', output).returncode for _ in range(2)] == [0, 0]


def test_a_browser_that_hangs_is_ended_with_all_it_has_started(tmp_path, monkeypatch):
    """A program that prints nothing and has a child takes the place of the browser."""
    program = tmp_path / 'browser'
    program.write_text('#!/bin/sh\nsleep 600 &\necho $$ $! > "$0.pids"\nwait\n')
    program.chmod(0o755)
    monkeypatch.setattr(this_browser, 'LIMIT_S', 2.0)
    with closing(Browser(str(program))) as hanging:
        for size in (10, 10**6):
            with pytest.raises(BrowserError, match='not responded within 2 s'):
                hanging.call('Page.navigate', url='x' * size)
        pids = (tmp_path / 'browser.pids').read_text().split()
        assert [is_running(pid) for pid in pids] == [True, True]
    assert wait_for(lambda: not any(map(is_running, pids)))  # the child is not ours to wait for


@pytest.mark.parametrize(
    'script', ['setTimeout(() => null.x)', 'try { null.x } catch (error) { console.error(error) }']
)
def test_a_bug_in_a_script_ends_the_wait_for_the_page(browser, script):
    page = browser.open('about:blank')
    try:
        page.run(f'console.error(new Error("the record is cut off")), 0; {script}')
        with pytest.raises(BrowserError, match='TypeError: Cannot read'):
            page.wait_for('false')
    finally:
        page.close()


def test_a_page_that_is_loaded_anew_while_it_is_asked_is_asked_again(browser, example):
    page = browser.open(example[1].as_uri())
    page.wait_for(LOADED)
    page.wait_for('window.name === "again" || (window.name = "again", location.reload(), new Promise(() => {}))')
    page.close()


def is_running(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().split()[2] not in 'ZX'
    except FileNotFoundError:
        return False


# -------------------------------------------------------------------------------------------------- in a browser
def test_the_page_opens_from_disk_and_describes_the_run(shown):
    page, record = shown
    assert page.run('tbPlanner.record.ticks') == record.ticks
    assert page.run('document.title') == 'Rooms'
    assert '54 × 36 cells' in page.run('document.getElementById("facts").textContent')
    assert page.run('document.getElementById("message").textContent') == ''


def test_ticks_are_shown_as_the_record_has_them(shown):
    page, record = shown
    for replay in Replay(record):
        if replay.tick % 4:
            continue
        go_to(page, replay.tick)
        assert_same(page, replay)
        route = page.run('Array.from(tbPlanner.record.route(tbPlanner.replay.tick))')
        left = page.run('tbPlanner.record.left.values[tbPlanner.replay.tick]')
        cells = np.array(route).reshape(-1, 2)
        assert np.array_equal(cells[max(len(cells) - left - 1, 0) :], replay.route)


@pytest.mark.parametrize('world', ['static', 'unknown'])
@pytest.mark.parametrize('options', [{}, {'neighbours': 4}, {'corner_cutting': True}], ids=str)
def test_other_worlds_and_rules_are_shown_right(browser, tmp_path, world, options):
    record = make_record(tmp_path / 'run.tbrun', world, 6, **options)
    path = tmp_path / 'run.html'
    path.write_text(make_page((tmp_path / 'run.tbrun').read_bytes()), encoding='utf-8')
    page = browser.open(path.as_uri())
    page.wait_for(LOADED)
    for replay in Replay(record):
        if replay.tick % 5 == 0 or replay.tick == record.ticks - 1:
            go_to(page, replay.tick)
            assert_same(page, replay)
    assert page.complaints() == []
    page.close()


def test_a_record_of_many_chunks_is_loaded_whole(browser, tmp_path, monkeypatch):
    """The page shows the record from its first chunks on; a seek to the end waits for the last."""
    path, blocked = tmp_path / 'run.tbrun', rooms(3)
    planner = TimeBoundedPlanner(Grid(blocked), (1, 1), (52, 34), tb_wa_star(1.5), k=1)
    monkeypatch.setattr(writer, 'CHUNK_S', 1000)  # chunks are written here
    with RecordedWalk(path, planner, Static(Grid(blocked)), About()) as walk:
        for _ in range(200):
            move_to_goal(planner, walk, max_intervals=1)
            walk._write_frames()
    *_, last = Replay(read_record(path))
    page = shown_from(browser, tmp_path / 'run.html', path.read_bytes())
    page.wait_for(LOADED)
    go_to(page, last.tick)
    assert_same(page, last)
    page.close()


KEEP_ALL = """
    const { scout, frames, record } = tbPlanner;
    scout.keepFrames = function () {
        const data = tbPlanner.packed(this.search);
        frames.keep(frames.searches, { tick: this.tick, data, box: this.box && { ...this.box } }, data.length);
        frames.keep(frames.maps, { tick: this.tick, data: this.cells.slice() }, this.cells.length);
    };
    scout.tick = -1;
    while (scout.tick + 1 < record.ticks) scout.step();
"""


def test_scrubbing_to_and_fro_shows_the_same_as_going_straight(shown):
    """This record has key frames at every tick, so that seeks begin at them."""
    page, record = shown
    seen = {replay.tick: (replay.classes.copy(), as_shown(replay)) for replay in Replay(record)}
    page.run(KEEP_ALL)
    assert page.run('tbPlanner.frames.searches.length') == record.ticks
    for tick in np.random.default_rng(1).integers(0, record.ticks, 60).tolist():
        go_to(page, tick)
        classes, search = seen[tick]
        assert np.array_equal(cells_of(page, 'cells'), classes)
        assert np.array_equal(cells_of(page, 'search'), search), tick


KEEP_SEARCHES = KEEP_ALL.replace('frames.keep(frames.maps', 'false && frames.keep(frames.maps')
SEEK_IN_SLICES = """
    (() => {{
        const {{ replay }} = tbPlanner;
        tbPlanner.target = {0};
        const change = replay.change;
        let calls = 0, most = 0, changes = 0;
        replay.change = function (tick) {{ changes++; change.call(this, tick); }};
        for (let isThere = false; !isThere; calls++) {{
            changes = 0;
            isThere = replay.seek({0}, -1);
            most = Math.max(most, changes);
        }}
        replay.change = change;
        return [calls, most];
    }})()
"""


def test_a_far_seek_goes_on_from_slice_to_slice_also_while_it_restores_the_map(shown):
    """This record has key frames of searches only, so that a seek restores all changes of the map."""
    page, record = shown
    replay = Replay(record)
    while replay.tick < record.ticks - 2:
        replay.step()
    page.run(KEEP_SEARCHES)
    go_to(page, record.ticks - 1)
    calls, most = page.run(SEEK_IN_SLICES.format(replay.tick))
    assert calls > 10
    assert most <= 2  # of a map that begins, and of a tick
    assert_same(page, replay)


def test_pixels_are_what_the_record_holds(shown):
    """Compares the middle pixel of every cell; cells under marks, chips and buttons are left out."""
    page, record = shown
    most = max((r.expanded.sum(), r.tick) for r in Replay(record))[1]
    replay = Replay(record)
    while replay.tick < most:
        replay.step()
    go_to(page, replay.tick)
    for layer in ('route', 'back', 'before', 'trail', 'waypoint', 'restarts', 'changed', 'appeared'):
        page.run(f"document.querySelector('[data-layer={layer}]').click()")
    page.wait_for(SETTLED)
    left, top, width, _ = page.box_of('map')
    zero, one = np.array(page.run('tbPlanner.scene.pointOf(0, 0)')), np.array(page.run('tbPlanner.scene.pointOf(1, 1)'))
    assert (one - zero > 10).all()
    picture = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert('RGB'))
    goal, robot = (52.5, 34.5), tuple(record.columns[name][replay.tick] for name in ('x', 'y'))
    counted = dict.fromkeys(COLOURS, 0)
    for y, x in np.ndindex(replay.classes.shape):
        px, py = ((left, top) + zero + (np.array((x, y)) + 0.5) * (one - zero)).round().astype(int)
        is_covered = py < top + 190 and not left + 260 < px < left + width - 60
        if is_covered or min(math.dist((x + 0.5, y + 0.5), mark) for mark in (goal, robot)) < 2.5:
            continue
        name = name_of(replay, x, y)
        assert tuple(picture[py, px]) == COLOURS[name], (x, y, name)
        counted[name] += 1
    assert min(counted.values()) > 1, counted


COLOURS = {
    'obstacle': (48, 52, 59),
    'obstacle on an expanded cell': (102, 114, 125),  # 0.35 towards the colour of an expanded one
    'free': (255, 255, 255),
    'expanded': (203, 230, 247),
    'open': (0, 158, 115),
}


def name_of(replay, x, y):
    if replay.open[y, x]:
        return 'open'
    if replay.classes[y, x] >= UNKNOWN_BLOCKED:
        return 'obstacle on an expanded cell' if replay.expanded[y, x] else 'obstacle'
    return 'expanded' if replay.expanded[y, x] else 'free'


def test_restarts_are_marked_at_their_ticks_with_their_reasons(shown):
    page, record = shown
    listed = page.run(
        'Array.from(document.querySelectorAll("#restarts button"), '
        'b => [Number(b.dataset.tick), b.lastChild.textContent])'
    )
    assert listed == [[tick, ', '.join(REASONS[reason] for reason in reasons)] for tick, reasons in record.restarts]
    assert len(listed) > 3
    left, top, width, _ = page.box_of('times')
    picture = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert('RGB'))
    row = picture[round(top) + 7, round(left) : round(left + width)]
    marked = np.flatnonzero((row == (213, 94, 0)).all(axis=1))
    for tick, reasons in record.restarts:
        x = tick / (record.ticks - 1) * width
        assert np.abs(marked - x).min() < 3, tick
        assert page.run(f'tbPlanner.timeline.restartNear({x}).restarts') == reasons
    others = [x for x in marked if all(abs(x - tick / (record.ticks - 1) * width) > 6 for tick, _ in record.restarts)]
    assert others == []


def test_the_page_has_words_for_every_reason_of_a_restart():
    assert sorted(REASONS) == sorted(reason.value for reason in RestartReason)


def test_of_very_many_restarts_some_are_listed_and_among_them_the_present_one(shown):
    """Thousands of buttons would make the page slow."""
    page, record = shown
    count, last = 3000, record.ticks - 1
    page.run(
        f'void (tbPlanner.record.restarts = Array.from({{ length: {count} }}, (_, i) => '
        f'({{ tick: Math.floor(i * {last} / {count - 1}), restarts: [`reason ${{i}}`] }})))'
    )
    page.run('tbPlanner.figures.listFrom(0)')
    page.run('tbPlanner.grown()')
    for tick in (0, last // 2, last, last // 3, 0):
        go_to(page, tick)
        present = max(i for i in range(count) if i * last // (count - 1) <= tick)
        current = 'document.querySelector("#restarts [aria-current]")?.lastChild.textContent'
        page.wait_for(f'{current} === "reason {present}"')
        assert page.run('document.querySelectorAll("#restarts button").length') <= 500
    assert page.run('document.getElementById("restarts-title").textContent').startswith(f'Restarts ({count:,}')


def test_the_scale_of_the_strip_goes_by_the_longest_tick_and_about_the_middle_one(shown):
    """This holds while the run grows, too."""
    page, _ = shown
    durations = np.random.default_rng(2).lognormal(0.0, 1.0, 50_000).astype(np.float32)
    durations[100], durations[40_000] = 90.0, 2000.0
    encoded = base64.b64encode(durations.tobytes()).decode()
    limits = page.run(f"""(() => {{
        const bytes = Uint8Array.from(atob('{encoded}'), (letter) => letter.charCodeAt(0));
        const record = {{ ticks: 0, duration: {{ values: new Float32Array(bytes.buffer) }}, head: {{}} }};
        const strip = new tbPlanner.timeline.constructor(document.createElement('canvas'), record);
        return [1, 1000, 39_999, 50_000].map((ticks) => {{
            record.ticks = ticks;
            strip.limits();
            return [strip.most, strip.least];
        }});
    }})()""")
    for ticks, (most, least) in zip((1, 1000, 39_999, 50_000), limits, strict=True):
        longest, middle = durations[:ticks].max(), np.median(durations[:ticks])
        assert most == pytest.approx(longest)
        assert least == pytest.approx(min(middle / 10, longest / 100), rel=0.3)


def test_restart_buttons_and_keys_go_to_them(shown):
    page, record = shown
    go_to(page, 0)
    visited = []
    for _ in record.restarts:
        page.press(']')
        page.wait_for(SETTLED)
        visited.append(page.run('tbPlanner.target'))
        assert page.run('!document.getElementById("restarted").hidden')
    expected = [tick for tick, _ in record.restarts if tick > 0]
    assert visited[: len(expected)] == expected
    page.press('[')
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.target') < visited[-1]
    page.run('document.querySelectorAll("#restarts button")[1].click()')
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.target') == record.restarts[1][0]


def test_a_restart_that_has_come_and_is_not_listed_yet_is_no_trouble(shown):
    """A page that is being loaded lists what has come now and then, and may be asked for its end at any time."""
    page, record = shown
    last, listed = record.ticks - 1, len(record.restarts)
    page.run(f'tbPlanner.record.restarts.push({{ tick: {last}, restarts: ["blocked"] }}) && 0')
    go_to(page, last)
    page.run('tbPlanner.grown()')
    page.wait_for(f'document.querySelectorAll("#restarts button")[{listed}]?.ariaCurrent === "true"')


def test_the_page_plays_to_the_end_and_stops_there(shown):
    page, record = shown
    page.run('document.getElementById("speed").value = "16"')
    page.press('Home')
    page.press(' ')
    assert page.run('tbPlanner.isPlaying')
    page.wait_for(f'tbPlanner.target === {record.ticks - 1} && !tbPlanner.isPlaying && {SETTLED}')
    assert page.run('document.getElementById("play").getAttribute("aria-label")') == 'Play'
    page.run('document.getElementById("speed").value = "1"')  # or it may be at the end again before it is looked at
    page.press(' ')
    page.wait_for('tbPlanner.isPlaying && tbPlanner.target > 0')
    page.press(' ')
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.target') < record.ticks - 1


def test_keys_step_and_zoom(shown):
    page, record = shown
    go_to(page, 20)
    for key, shift, tick in (
        ('ArrowRight', False, 21),
        ('ArrowLeft', False, 20),
        ('ArrowRight', True, 30),
        ('ArrowLeft', True, 20),
        ('End', False, record.ticks - 1),
        ('Home', False, 0),
    ):
        page.press(key, shift=shift)
        page.wait_for(SETTLED)
        assert page.run('tbPlanner.target') == tick, key
    before = page.run('tbPlanner.scene.scale')
    page.press('+')
    assert page.run('tbPlanner.scene.scale') > before
    page.press('0')
    assert page.run('tbPlanner.scene.scale') == pytest.approx(before)
    page.press('?')
    assert page.run('document.getElementById("help").open')


def test_the_strip_is_dragged_and_the_map_moved_and_zoomed(shown):
    page, record = shown
    left, top, width, _ = page.box_of('scrub')
    page.drag((left + 5, top + 50), (left + width / 2, top + 50))
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.target') == pytest.approx((record.ticks - 1) / 2, abs=1)
    page.drag((left + width / 2, top + 50), (left + width + 80, top + 50))
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.target') == record.ticks - 1
    x, y = page.run('tbPlanner.scene.pointOf(10.5, 10.5)')
    ox, oy, _, _ = page.box_of('map')
    page.mouse('mouseWheel', ox + x, oy + y, deltaX=0, deltaY=-300)
    page.wait_for('!tbPlanner.scene.isFitted')
    assert page.run('tbPlanner.scene.pointOf(10.5, 10.5)') == pytest.approx([x, y], abs=1)
    page.drag((ox + x, oy + y), (ox + x + 60, oy + y + 30))
    assert page.run('tbPlanner.scene.pointOf(10.5, 10.5)') == pytest.approx([x + 60, y + 30], abs=1)
    assert 'cell 10, 10' in page.run('document.getElementById("pointed").textContent')


def test_light_and_dark_follow_the_system_and_the_switch(browser, example):
    page = browser.open(example[1].as_uri(), dark=True)
    page.wait_for(LOADED)
    assert page.run('document.documentElement.dataset.theme') == 'dark'
    page.press('d')
    assert page.run('document.documentElement.dataset.theme') == 'light'
    page.run('localStorage.clear()')
    page.prefer(False)
    page.run('new Promise(requestAnimationFrame)')
    page.prefer(True)
    page.wait_for("document.documentElement.dataset.theme === 'dark'")
    assert page.complaints() == []
    page.close()


def test_beside_a_scrollbar_the_panel_needs_no_second_one(example):
    with closing(Browser(chromium_or_skip(), has_scrollbars=True)) as browser:
        page = browser.open(example[1].as_uri(), height=600)
        page.wait_for(LOADED)
        height, client_height, width, client_width = page.run(
            '(({ scrollHeight, clientHeight, scrollWidth, clientWidth }) => [scrollHeight, clientHeight, scrollWidth, '
            "clientWidth])(document.querySelector('aside'))"
        )
        assert height > client_height
        assert width <= client_width
        assert page.run("document.querySelector('aside').offsetWidth") > client_width + 10  # there is a scrollbar


def test_on_a_phone_the_heading_is_above_its_buttons(browser, example):
    page = browser.open(example[1].as_uri(), width=390, height=740, scale=2)
    page.wait_for(LOADED)
    left, top, width, height = page.run(
        '(({ left, top, width, height }) => [left, top, width, height])'
        "(document.querySelector('.heading').getBoundingClientRect())"
    )
    assert left + width > 360
    assert page.box_of('theme')[1] >= top + height
    page.close()


def test_on_a_phone_the_list_of_restarts_is_as_high_as_it_needs_up_to_two_fifths_of_the_screen(browser, example):
    page = browser.open(example[1].as_uri(), width=390, height=740, scale=2)
    page.wait_for(LOADED)
    whole, shown = page.run(
        '[document.getElementById("restarts")].flatMap(list => [list.scrollHeight, list.clientHeight])'
    )
    assert whole > 100
    assert shown == pytest.approx(min(whole, 0.4 * 740), abs=1)
    page.close()


def test_on_a_phone_all_fits_in_the_width(browser, example):
    page = browser.open(example[1].as_uri(), width=360, height=740, scale=2)
    page.wait_for(LOADED)
    assert page.run('document.documentElement.scrollWidth') <= 360
    small = page.run(
        'Array.from(document.querySelectorAll(".buttons button, .buttons select"), b => b.getBoundingClientRect())'
        '.filter(r => r.width && Math.min(r.width, r.height) < 40).length'
    )
    assert small == 0
    page.close()


@pytest.mark.parametrize('size', [(932, 430), (844, 390), (1024, 300), (667, 375)])
def test_on_a_low_screen_the_map_is_not_below_other_things(browser, example, size):
    """Such as a phone that lies has."""
    page = browser.open(example[1].as_uri(), width=size[0], height=size[1])
    page.wait_for(LOADED)
    heights = page.run(
        "['.stage', '.transport'].map(name => document.querySelector(name).getBoundingClientRect())"
        '.flatMap(box => [box.top, box.bottom])'
    )
    assert heights == sorted(heights)
    page.close()


def test_the_help_explains_clicks_as_they_work(shown):
    """A live page that accepts input sets a goal on a click; a double-click then does not show the whole map."""
    page, _ = shown
    page.press('?')
    text = 'document.getElementById("help").innerText'
    page.wait_for(f'{text}.includes("double-click to show the whole map")')
    assert 'goal' not in page.run(text)
    page.run('document.getElementById("tools").hidden = false')
    assert 'Click on the map to set a goal' in page.run(text)
    assert 'double-click' not in page.run(text)


def test_everything_that_is_pressed_has_a_name(shown):
    page, _ = shown
    nameless = page.run(
        'Array.from(document.querySelectorAll("button, select, input, canvas"))'
        '.filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.[0]?.textContent.trim()))'
        '.map(e => e.outerHTML)'
    )
    assert nameless == []
    assert 'tick' in page.run('document.getElementById("scrub").getAttribute("aria-valuetext")')


def test_a_torn_record_is_shown_as_far_as_it_goes(browser, tmp_path, example):
    data = example[1].with_suffix('.tbrun').read_bytes()
    path = tmp_path / 'torn.html'
    path.write_text(make_page(data + b'\x40\0\0\0torn'), encoding='utf-8')
    page = browser.open(path.as_uri())
    page.wait_for(LOADED)
    assert page.run('tbPlanner.record.ticks') == example[0].ticks
    assert page.complaints() == []
    page.close()


def test_a_large_record_is_in_the_page_in_pieces(browser, tmp_path, example, monkeypatch):
    """A browser has a longest string: with all of a large record in one, it would have none."""
    monkeypatch.setattr(view_page, 'PIECE', 300)
    record, path = example[0], tmp_path / 'pieces.html'
    page = shown_from(browser, path, example[1].with_suffix('.tbrun').read_bytes())
    pieces = pieces_of(path.read_text(encoding='utf-8'))
    assert max(map(len, pieces)) <= 400
    assert len(pieces) > 5
    page.wait_for(LOADED)
    assert page.run('tbPlanner.record.ticks') == record.ticks
    assert page.complaints() == []
    page.close()


def test_a_page_without_a_record_shows_an_error(browser, tmp_path):
    page = shown_from(browser, tmp_path / 'none.html', b'')
    page.wait_for('document.getElementById("message")?.textContent.length > 0')
    assert 'contains no record' in page.run('document.getElementById("message").textContent')
    page.close()


def test_a_file_that_is_no_record_is_reported_on_the_page(browser, tmp_path):
    path = tmp_path / 'bad.html'
    path.write_text(make_page(b'something else'), encoding='utf-8')
    page = browser.open(path.as_uri())
    page.wait_for('document.getElementById("message")?.textContent.length > 0')
    assert 'not a record of a run' in page.run('document.getElementById("message").textContent')
    page.close()


def shown_from(browser, path, record):
    path.write_text(make_page(record), encoding='utf-8')
    return browser.open(path.as_uri())


def a_root_beyond_the_map(head, columns):
    flags = [5, *[4] * (head['count'] - 1)]
    columns['flags'][1], columns['roots'][1] = as_varints(flags), as_varints([2**30])


@pytest.mark.parametrize('change', [beyond_the_map('expanded'), beyond_the_map('changes'), a_root_beyond_the_map])
def test_cells_outside_the_map_do_not_keep_the_page_busy(browser, tmp_path, example, change):
    data = example[1].with_suffix('.tbrun').read_bytes()
    page = shown_from(browser, tmp_path / 'beyond.html', changed_record(data, change))
    page.wait_for(LOADED)
    for tick in (1, 0, 2):
        go_to(page, tick)
    assert page.run('tbPlanner.replay.box ? tbPlanner.replay.box.y1 : 0') <= 36
    assert page.complaints() == []
    page.close()


def ticks_without_end(head, columns):
    head['count'] = 10**12


def a_map_that_is_not_there(head, columns):
    next(event['map'] for event in head['events'] if 'map' in event).update(width=10**6, height=10**6)


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (ticks_without_end, 'time_us must have one value for each tick'),
        (shares_of_more_than_there_is, 'the length of expanded is wrong'),
        (a_map_that_is_not_there, 'A map of 1000000 × 1000000 cells is incomplete'),
    ],
    ids=lambda value: getattr(value, '__name__', ''),
)
def test_inconsistent_records_are_reported_on_the_page(browser, tmp_path, example, change, reason):
    """A live page gets what nobody has looked at before."""
    data = example[1].with_suffix('.tbrun').read_bytes()
    page = shown_from(browser, tmp_path / 'bad.html', changed_record(data, change))
    page.wait_for('document.getElementById("message")?.textContent.length > 0')
    assert reason in page.run('document.getElementById("message").textContent')
    page.close()


def test_texts_of_a_record_are_texts_on_the_page(browser, tmp_path, example):
    """Text in title, facts, status and reasons is never run as a script."""
    evil = '</script><img src=x onerror="window.isRun = 1"><script>window.isRun = 1</script>'

    def change(head, columns):
        head['events'] = [event for event in head['events'] if 'map' in event]
        head['events'] += [{'tick': 0, 'status': evil}, {'tick': 0, 'restarts': [evil]}]

    changed = changed_record(example[1].with_suffix('.tbrun').read_bytes(), change)
    about = {'kind': 'head', 'title': evil, 'algorithm': evil, 'facts': {evil: evil}}
    head_end = len(MAGIC) + 4 + int.from_bytes(changed[len(MAGIC) : len(MAGIC) + 4], 'little')
    page = shown_from(browser, tmp_path / 'evil.html', MAGIC + pack(about) + changed[head_end:])
    page.wait_for(LOADED)
    for name in ('title', 'facts', 'status', 'restarts'):
        assert 'onerror' in page.run(f'document.getElementById("{name}").textContent'), name
    assert page.run('document.querySelector("img")') is None
    assert page.run('window.isRun') is None
    assert page.complaints() == []
    page.close()
