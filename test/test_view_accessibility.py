"""The replay page and the live page have no accessibility violations that axe-core finds, in a real browser."""

from contextlib import closing

import pytest
from helpers.axe import axe_or_skip, violations
from helpers.replay_page import LOADED, go_to, make_record

from tb_planner.view import make_page
from tb_planner.view.page import OtherRun
from tb_planner.view.server import LiveServer

SHAPES = {'light': {}, 'dark': {'dark': True}, 'phone': {'width': 390, 'height': 844}}
each_shape = pytest.mark.parametrize('shape', SHAPES.values(), ids=SHAPES)


@pytest.fixture(scope='module')
def browser(browser):
    axe_or_skip()
    return browser


@pytest.fixture
def record(example):
    return example[1].with_suffix('.tbrun')


@each_shape
def test_axe_finds_no_violation_on_the_replay_page(browser, record, shape):
    page = browser.open(record.with_suffix('.html').as_uri(), **shape)
    page.wait_for(LOADED)
    go_to(page, 60)
    assert violations(page) == []
    go_to(page, page.run('tbPlanner.record.restarts[3].tick'))  # with a chip, and a range
    page.press('a')
    page.press('l')
    page.run('document.querySelector("#strips button").click()')
    assert violations(page) == []
    page.close()


@each_shape
def test_axe_finds_no_violation_with_a_dialog_open(browser, record, shape):
    page = browser.open(record.with_suffix('.html').as_uri(), **shape)
    page.wait_for(LOADED)
    for name in page.run('[...document.querySelectorAll("dialog")].map((dialog) => dialog.id)'):
        page.run(f'document.getElementById("{name}").showModal()')
        assert violations(page) == [], name
        page.run(f'document.getElementById("{name}").close()')
    page.close()


@each_shape
def test_axe_finds_no_violation_on_the_page_of_two_runs(browser, record, tmp_path, shape):
    make_record(tmp_path / 'other.tbrun', k=7)
    path, other = tmp_path / 'two.html', OtherRun((tmp_path / 'other.tbrun').read_bytes(), 'Other')
    path.write_text(make_page(record.read_bytes(), 'One', other), encoding='utf-8')
    page = browser.open(path.as_uri(), **shape)
    page.wait_for(f'{LOADED} && tbPlanner.companion.isCompared')
    go_to(page, 60)
    assert violations(page) == []
    page.close()


@each_shape
def test_axe_finds_no_violation_on_the_live_page(browser, record, shape):
    """With its tools, and when the server has ended."""
    with closing(LiveServer(record, title='A drive', on_input=lambda message: None)) as server:
        page = browser.open(server.access, offline=False, **shape)
        page.wait_for('window.tbPlanner && tbPlanner.record.ticks > 100 && !document.getElementById("tools").hidden')
        assert violations(page) == []
    page.wait_for('tbPlanner.socket?.readyState !== WebSocket.OPEN && document.getElementById("tools").hidden')
    assert violations(page) == []
    page.close()


@each_shape
def test_axe_finds_a_violation_where_there_is_one(browser, record, shape):
    page = browser.open(record.with_suffix('.html').as_uri(), **shape)
    page.wait_for(LOADED)
    page.run('document.getElementById("play").removeAttribute("aria-label")')
    page.run('document.getElementById("play").title = ""')
    assert [text for text in violations(page) if text.startswith('button-name')]
    page.close()
