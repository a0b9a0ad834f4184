"""Settings shared by all tests: Hypothesis draws the same examples on every run and is not timed."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# a shell's background jobs ignore Ctrl-C, and what tests start would inherit that
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile('fixed', derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    'search_for_more', deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=5000
)
settings.register_profile('no_shrinking', settings.get_profile('fixed'), phases=(Phase.explicit, Phase.generate))
settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'fixed'))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The file that takes longest comes first: with several workers, the last one to end is then no file alone."""
    items.sort(key=lambda item: item.path.name != 'test_experiments.py')


@pytest.fixture(scope='session')
def maps_folder() -> Path:
    """The folder of MovingAI maps; tests that need it are skipped where it is not."""
    beside = Path(__file__).resolve().parents[1].parent / 'shared' / 'maps' / 'movingai'
    folder = Path(os.environ.get('TB_PLANNER_MAPS', beside))
    if not folder.is_dir():
        pytest.skip(f'no MovingAI maps at {folder}: set TB_PLANNER_MAPS to their folder')
    return folder
