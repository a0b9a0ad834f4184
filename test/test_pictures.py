"""The pictures in docs/: what their scripts compute, and that the files are what the scripts draw."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tb_planner.recording import read_record
from tb_planner.search.algorithms import RestartReason

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / 'docs'
SVG = '{http://www.w3.org/2000/svg}'
PICTURES = sorted(DOCS.glob('*.svg'))
sys.path.insert(0, str(DOCS))
import lazy_restart  # noqa: E402
import node_graph  # noqa: E402
import tick_timeline  # noqa: E402
import view_pictures  # noqa: E402

sys.path.remove(str(DOCS))


@pytest.mark.parametrize('path', PICTURES, ids=[path.name for path in PICTURES])
def test_a_picture_has_words_and_a_background_and_needs_nothing_from_outside(path):
    text = path.read_text()
    drawing = ElementTree.fromstring(text)
    assert drawing.get('role') == 'img'
    assert drawing.find(f'{SVG}title').text
    assert len(drawing.find(f'{SVG}desc').text) > 50
    background = drawing.find(f'{SVG}rect')
    assert (background.get('width'), background.get('fill')) == (drawing.get('width'), '#ffffff')
    assert not re.search(r'url\((?!#)|@font-face|href=|<script', text)
    assert len(text) < 100_000


def test_every_picture_is_on_a_page():
    pages = ''.join(page.read_text() for page in [ROOT / 'README.md', *DOCS.glob('*.md')])
    assert len(PICTURES) == 3
    for path in PICTURES:
        assert f'{path.name})' in pages


@pytest.mark.parametrize('script', [lazy_restart, node_graph])
def test_a_picture_without_times_is_what_its_script_draws(script):
    name = script.__name__.replace('_', '-')
    assert (DOCS / f'{name}.svg').read_text() == str(script.picture())


class TestTheLazyRestart:
    def test_only_the_obstacle_on_the_route_restarts_the_search(self):
        frames, planner = lazy_restart.run()
        assert [one.searches for one in frames] == [1, 2, 2]
        assert {reason for reason, count in planner.restarts.items() if count} == {RestartReason.BLOCKED}

    def test_the_old_route_is_cut_and_no_route_that_is_followed_crosses_an_obstacle(self):
        frames, _ = lazy_restart.run()
        for one in frames:
            blocked = lazy_restart.walls()
            for (x, y), (height, width) in one.appeared:
                blocked[y : y + height, x : x + width] = True
            assert not any(blocked[y, x] for x, y in one.route)
            assert not one.old_route or any(blocked[y, x] for x, y in one.old_route)
        assert frames[2].route[-1] == lazy_restart.GOAL


class TestTheNodeGraph:
    def test_it_has_the_topics_of_the_reference(self):
        section = (DOCS / 'reference.md').read_text().partition('\n## Topics\n')[2].partition('\n## ')[0]
        found = node_graph.names()
        for direction, kind in (('in', 'subscribes to'), ('out', 'publishes')):
            listed = re.findall(rf'^\| {direction} \| `([^`]+)` \|', section, re.MULTILINE)
            assert len(listed) >= 4
            assert set(listed) <= set(found[kind])

    def test_a_note_is_a_parameter_of_the_node_or_a_package(self):
        reference = (DOCS / 'reference.md').read_text() + (DOCS / 'nav2.md').read_text()
        for name, note in node_graph.IF.items():
            assert f'`{note.partition(":")[0]}' in reference or note == 'map_msgs', name


def test_the_drive_of_the_moving_picture_backtracks_restarts_and_arrives(tmp_path):
    record = read_record(view_pictures.record_drive(tmp_path / 'office.tbrun'))
    assert 800 < record.ticks < 2000
    assert record.columns['back'].max() >= 20
    assert record.columns['back'][-1] == 0
    assert record.head['facts'] == {'expansions per tick': '100'}
    assert record.columns['expansions'].max() <= 100


@pytest.fixture(scope='module')
def ticks():
    """Three seconds of the drive, on the demo's own cells."""
    return tick_timeline.measured_drive(finer=1, limit_s=3.0)


class TestTheTickTimeline:
    def test_every_part_of_a_tick_was_measured(self, ticks):
        spent = {part: sum(one.parts_ms[part] for one in ticks) for part in tick_timeline.PARTS}
        assert all(ms > 0 for ms in spent.values()), spent

    def test_the_parts_of_a_tick_add_up_and_follow_the_order_of_the_loop(self, ticks):
        for one in ticks:
            assert one.total_ms == pytest.approx(sum(one.parts_ms.values()))
            parts = [part for part, _ in one.spans]
            order = [parts.index(part) for part in ('newest map and pose', 'search') if part in parts]
            assert order == sorted(order)

    def test_the_methods_are_as_before_after_the_measurement(self, ticks):
        for _, methods in tick_timeline.PARTS.values():
            assert not any(hasattr(getattr(owner, name), '__wrapped__') for owner, name in methods)

    def test_the_table_adds_up_to_the_whole_tick(self):
        text = ElementTree.parse(DOCS / 'tick-timeline.svg').find(f'{SVG}desc').text
        kinds = text.partition(' All ')[0].split('; ')
        assert len(kinds) == 3
        sums = [sum(map(float, re.findall(r'([\d.]+) ms', kind))) for kind in kinds]
        shown = [float(ms) for ms in re.findall(r'bold">([\d.]+) ms', (DOCS / 'tick-timeline.svg').read_text())]
        assert sums == pytest.approx(shown, abs=0.04)
        assert np.all(np.array(shown) < 50)
