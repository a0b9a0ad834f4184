"""Exports from the replay page, in a real browser: a picture, a video of the range, and a table of the ticks."""

import base64
import csv
import io
import subprocess
import sys

import numpy as np
import pytest
from helpers.changed_record import changed_record
from helpers.replay_page import LOADED, SETTLED, go_to, text_of
from PIL import Image

from tb_planner.view import make_page
from tb_planner.view.page import OtherRun

CATCH = 'URL.createObjectURL = (blob) => { window.saved = blob; return "#"; }; 0'
"""Keeps what the page would download."""
READ = """
    window.saved.arrayBuffer().then((buffer) => {
        let text = '';
        for (const byte of new Uint8Array(buffer)) text += String.fromCharCode(byte);
        return btoa(text);
    })
"""


@pytest.fixture
def path(example):
    return example[1].with_suffix('.tbrun')


def opened(browser, url):
    page = browser.open(url)
    page.wait_for(LOADED)
    page.run(CATCH)
    return page


def saved(page, button):
    page.press('e')
    assert page.run('document.getElementById("export-dialog").open')
    page.run(f'document.getElementById("{button}").click()')
    page.wait_for('Boolean(window.saved)')
    assert not page.run('document.getElementById("export-dialog").open')
    return base64.b64decode(page.run(READ))


def table(data):
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_the_png_is_the_map_as_it_is_shown(browser, path):
    page = opened(browser, path.with_suffix('.html').as_uri())
    go_to(page, 70)
    picture = np.asarray(Image.open(io.BytesIO(saved(page, 'export-png'))).convert('RGB'))
    left, top, width, height = (round(value) for value in page.box_of('map'))
    shown = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert('RGB'))[
        top : top + height, left : left + width
    ]
    assert picture.shape == shown.shape
    middle = slice(height // 4, 3 * height // 4), slice(width // 4, 3 * width // 4)  # chips and buttons are at the edge
    assert np.array_equal(picture[middle], shown[middle])
    assert len(np.unique(picture[middle].reshape(-1, 3), axis=0)) > 3
    page.close()


def test_the_csv_is_the_table_that_the_command_writes(browser, path, tmp_path):
    command = [sys.executable, '-m', 'tb_planner', 'export', path, tmp_path / 'run.csv']
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    expected = table((tmp_path / 'run.csv').read_bytes())
    page = opened(browser, path.with_suffix('.html').as_uri())
    rows = table(saved(page, 'export-csv'))
    assert len(rows) == len(expected)
    in_page_units = [name.replace('_m', '_cells') if name.endswith('_m') else name for name in expected[0]]
    assert list(rows[0]) == in_page_units
    exact = ('tick', 'status', 'expansions', 'open_size', 'route_moves', 'backtracking_moves', 'restarts')
    for row, other in zip(rows, expected, strict=True):
        assert [row[name] for name in exact] == [other[name] for name in exact]
        assert float(row['time_s']) == pytest.approx(float(other['time_s']))
        assert float(row['tick_time_ms']) == pytest.approx(float(other['tick_time_ms']), abs=1e-3)
        for name in ('x', 'y', 'goal_x', 'goal_y'):
            assert float(row[f'{name}_cells']) == pytest.approx(float(other[f'{name}_m']), abs=2e-3)
    page.close()


def test_the_csv_of_two_runs_names_the_run_of_each_row(browser, path, tmp_path):
    data = path.read_bytes()
    (tmp_path / 'two.html').write_text(make_page(data, 'One, first', OtherRun(data, 'Other')), encoding='utf-8')
    page = opened(browser, (tmp_path / 'two.html').as_uri())
    rows = table(saved(page, 'export-csv'))
    runs = [row['run'] for row in rows]
    assert sorted(set(runs)) == ['One, first', 'Other']
    assert runs.count('Other') == len(rows) / 2
    page.close()


def test_texts_of_a_record_are_no_formulas_in_the_table(browser, path, tmp_path):
    def change(head, columns):
        head['events'] = [event for event in head['events'] if 'map' in event]
        head['events'] += [{'tick': 0, 'status': '=HYPERLINK("x","y")'}]

    (tmp_path / 'run.html').write_text(make_page(changed_record(path.read_bytes(), change)), encoding='utf-8')
    page = opened(browser, (tmp_path / 'run.html').as_uri())
    assert table(saved(page, 'export-csv'))[0]['status'] == '\'=HYPERLINK("x","y")'
    page.close()


def test_the_video_plays_the_range_once_and_is_webm(browser, path):
    page = opened(browser, path.with_suffix('.html').as_uri())
    for tick, key in ((20, 'a'), (50, 'b')):
        go_to(page, tick)
        page.press(key)
    page.press('l')
    page.run('window.ticks = []; tbPlanner.timeline.show = (tick) => window.ticks.push(tick); 0')
    data = saved(page, 'export-webm')
    page.wait_for(SETTLED)
    assert data.startswith(b'\x1a\x45\xdf\xa3')  # EBML
    assert b'webm' in data[:64]
    assert b'V_VP' in data[:1000]
    assert len(data) > 5000
    assert page.run('[Math.min(...window.ticks), Math.max(...window.ticks), tbPlanner.target]') == [20, 50, 50]
    assert page.run('tbPlanner.range.isLooping && document.getElementById("recording").hidden')
    assert page.complaints() == []
    page.close()


def test_a_browser_that_cannot_record_says_so_on_the_button(browser, path, tmp_path):
    html = path.with_suffix('.html').read_text(encoding='utf-8')
    without = tmp_path / 'without.html'
    script = '<script>delete window.MediaRecorder</script></head>'
    without.write_text(html.replace('</head>', script, 1), encoding='utf-8')
    page = opened(browser, without.as_uri())
    assert page.run('document.getElementById("export-webm").disabled')
    assert text_of(page, 'export-webm') == 'WebM: this browser cannot record it'
    page.close()
