"""A link to a moment of a run, and the settings that the replay page keeps."""

import pytest
from helpers.replay_page import LOADED, SETTLED, go_to, opened, text_of

PLACE = '[tbPlanner.scene.x, tbPlanner.scene.y, tbPlanner.scene.scale]'
HIDDEN = 'Array.from(document.querySelectorAll("#legend input:not(:checked)"), (box) => box.dataset.layer).sort()'


def at_a_moment(browser, url):
    """A page at tick 17, zoomed, moved, with two layers hidden and a cell pinned."""
    page = opened(browser, url)
    go_to(page, 17)
    page.run('tbPlanner.zoom(3)')
    page.run('tbPlanner.scene.moveTo(20, 12)')
    page.run('tbPlanner.inspector.pin([21, 11])')
    for layer in ('open', 'trail'):
        page.run(f"document.querySelector('[data-layer={layer}]').click()")
    page.wait_for(SETTLED)
    return page


def test_a_copied_link_leads_to_the_same_moment(browser, example):
    page = at_a_moment(browser, example[1].as_uri())
    page.permit('clipboard-write', 'granted')
    page.permit('clipboard-read', 'granted')
    page.run('document.getElementById("copy-link").click()')
    page.wait_for('document.getElementById("note").textContent === "Link copied"')
    link = page.run('navigator.clipboard.readText()')
    place = page.run(PLACE)
    assert link == page.run('location.href')
    assert page.complaints() == []
    page.close()
    for motion in (False, True):
        other = opened(browser, link, motion=motion)
        assert other.run('[tbPlanner.target, tbPlanner.replay.tick, tbPlanner.isPlaying]') == [17, 17, False]
        assert other.run(PLACE) == pytest.approx(place, rel=1e-3)
        assert other.run(HIDDEN) == ['open', 'trail']
        assert other.run('tbPlanner.inspector.cell') == [21, 11]
        assert other.complaints() == []
        other.close()


def test_where_the_clipboard_is_refused_the_link_is_shown_and_selected(browser, example):
    page = at_a_moment(browser, example[1].as_uri())
    page.permit('clipboard-write', 'denied')
    page.run('document.getElementById("copy-link").click()')
    page.wait_for('document.getElementById("link-dialog").open')
    link = page.run('document.getElementById("link").value')
    assert link.startswith(example[1].as_uri() + '#tick=17&')
    assert page.run('getSelection().toString()') == link
    page.press('ArrowRight')  # is for the text, not for the run
    assert page.run('tbPlanner.target') == 17
    page.close()


def test_another_hash_in_the_same_page_goes_to_its_moment(browser, example):
    page = opened(browser, example[1].as_uri())
    page.run('location.hash = "#tick=9&hide=route"')
    page.wait_for('tbPlanner.replay.tick === 9')
    assert page.run(HIDDEN) == ['route']
    page.close()


@pytest.mark.parametrize(
    'hash_', ['#tick=x', '#tick=1e9&view=1,2', '#view=NaN,1,1', '#hide=<img src=x>', '#cell=1', '#%', '#tick=-5']
)
def test_a_hash_of_nonsense_does_no_harm(browser, example, hash_):
    page = opened(browser, example[1].as_uri() + hash_)
    assert page.run('tbPlanner.scene.scale') > 0
    assert page.run('tbPlanner.replay.tick') < example[0].ticks
    assert text_of(page, 'message') == ''
    assert page.complaints() == []
    page.close()


def test_a_tick_or_a_place_beyond_the_record_becomes_the_nearest(browser, example):
    page = opened(browser, example[1].as_uri() + '#tick=99999999&view=-50,9999,1000')
    assert page.run('tbPlanner.replay.tick') == example[0].ticks - 1
    assert page.run(PLACE) == [0, 36, 64]
    page.close()


def test_layers_and_speed_are_kept_on_reload(browser, example):
    page = opened(browser, example[1].as_uri())
    page.run("document.querySelector('[data-layer=expanded]').click()")
    page.press('ArrowUp')
    speed = page.run('document.getElementById("speed").value')
    assert speed == '2'
    page.run('window.isOld = true; location.reload()')
    page.wait_for(f'!window.isOld && {LOADED}')
    assert page.run(HIDDEN) == ['expanded']
    assert page.run('document.getElementById("speed").value') == speed
    page.run("document.querySelector('[data-layer=expanded]').click()")
    assert page.run(HIDDEN) == []
    page.close()


def test_without_a_storage_the_page_works_all_the_same(browser, example):
    page = browser.open('about:blank')
    refuse = (
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    page.call('Page.addScriptToEvaluateOnNewDocument', source=refuse)
    page.call('Page.navigate', url=example[1].as_uri())
    page.wait_for(LOADED)
    page.run("document.querySelector('[data-layer=expanded]').click()")
    page.press('ArrowUp')
    page.press('d')
    page.wait_for(SETTLED)
    assert page.run(HIDDEN) == ['expanded']
    assert page.complaints() == []
    page.close()
