"""ThrottledLog that all tests of the tuner share, and trials that go as a test tells."""

import math

import pytest
from helpers.made_up import EXPANSION_S, ground, scattered

from tb_planner.tools.tuning import budget, race, study
from tb_planner.tools.tuning.budget import Pace
from tb_planner.tools.tuning.ground import draw_problems
from tb_planner.tools.tuning.time_limit import NO_LIMIT


@pytest.fixture(scope='module')
def place():
    return ground(scattered())


@pytest.fixture(scope='module')
def problems(place):
    return draw_problems(place, 24, seed=1)


@pytest.fixture
def told(monkeypatch):
    """Lets a function of candidate, problem and k say how trials go, and an expansion take a microsecond."""

    def tell(function):
        def pretend(problem, candidate, k, conditions, most=math.inf, limit=NO_LIMIT):
            return function(candidate, problem, k)

        for module in (race, study, budget):
            monkeypatch.setattr(module, 'carry_out', pretend)
        monkeypatch.setattr(study, 'measured_pace', lambda *_: Pace(EXPANSION_S, 100))

    return tell
