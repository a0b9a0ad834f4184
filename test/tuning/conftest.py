"""Problems that all tests of the tuner share, and trials with made-up results."""

import math

import pytest
from helpers.tuning import EXPANSION_S, scattered, tuning_map

from tb_planner.tools.tuning import race, study
from tb_planner.tools.tuning.problems import draw_problems
from tb_planner.tools.tuning.study import SearchSpeed
from tb_planner.tools.tuning.time_limit import NO_LIMIT


@pytest.fixture(scope='module')
def scattered_map():
    return tuning_map(scattered())


@pytest.fixture(scope='module')
def problems(scattered_map):
    return draw_problems(scattered_map, 24, seed=1)


@pytest.fixture
def fake_trials(monkeypatch):
    """Replaces trials by a function of candidate, problem and k; an expansion takes a microsecond."""

    def replace(function):
        def pretend(problem, candidate, k, conditions, max_intervals=math.inf, limit=NO_LIMIT):
            return function(candidate, problem, k)

        for module in (race, study):
            monkeypatch.setattr(module, 'run_trial', pretend)
        monkeypatch.setattr(study, 'measure_speed', lambda *_: SearchSpeed(EXPANSION_S, 100))

    return replace
