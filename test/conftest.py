"""Settings shared by all tests: Hypothesis draws the same examples on every run and is not timed."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from helpers.browser import Browser, Page, chromium_or_skip
from helpers.replay_page import make_record, opened, write_page
from hypothesis import HealthCheck, Phase, settings

from tb_planner.recording import Record

# a shell's background jobs ignore Ctrl-C, and what tests start would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile('fixed', derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    'search_for_more', deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=5000
)
settings.register_profile('no_shrinking', settings.get_profile('fixed'), phases=(Phase.explicit, Phase.generate))
settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'fixed'))

LONG = [
    'test_controller.py',
    'test_demo.py',
    'test_packaging.py',
    'test_restarts_over_dds.py',
    'test_safety.py',
    'test_simulator_node.py',
    'test_statuses_over_dds.py',
    'test_view.py',
    'test_view_accessibility.py',
    'test_worlds_end_to_end.py',
]
"""Files that take a worker half a minute or more, and would be among the last."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of test/ros, whose tests wait for nodes most of the time, and files whose tests compute take turns, so that
    workers of both kinds share the processors at any time. Long files come first: none is left alone in the end.
    """
    files = sorted(dict.fromkeys(item.path for item in items), key=lambda path: path.name not in LONG)
    turns = {}
    for waits in (True, False):
        kind = [path for path in files if (path.parent.name == 'ros') == waits]
        turns.update({path: turn / len(kind) for turn, path in enumerate(kind)})
    items.sort(key=lambda item: turns[item.path])


@pytest.fixture(scope='session')
def maps_folder() -> Path:
    """The folder of MovingAI maps; tests that need it are skipped where it is not."""
    beside = Path(__file__).resolve().parents[1].parent / 'shared' / 'maps' / 'movingai'
    folder = Path(os.environ.get('TB_PLANNER_MAPS', beside))
    if not folder.is_dir():
        pytest.skip(f'no MovingAI maps at {folder}: set TB_PLANNER_MAPS to their folder')
    return folder


# -------------------------------------------------------------------------------------------------- the replay page
@pytest.fixture(scope='session')
def browser() -> Iterator[Browser]:
    """The browser of this process; each page has a storage of its own."""
    with closing(Browser(chromium_or_skip())) as browser:
        yield browser


@pytest.fixture(scope='session')
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, Path]:
    """A record and its page, which tests only read; the file of the record is beside the page."""
    path = tmp_path_factory.mktemp('example') / 'run.tbrun'
    return make_record(path), write_page(path, 'Rooms')


@pytest.fixture
def shown(browser: Browser, example: tuple[Record, Path]) -> Iterator[tuple[Page, Record]]:
    """The page of the example, and its record; whatever a test does with it, there is no complaint."""
    record, path = example
    page = opened(browser, path.as_uri())
    yield page, record
    assert page.complaints() == []
    assert page.requests() == [path.as_uri()]
    page.close()
