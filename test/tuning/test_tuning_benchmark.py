"""The benchmark of the tuner."""

import pytest
from helpers.tuning import length, make_plan, result

from benchmarks import tuner
from tb_planner.tools.tuning.study import run_study
from tb_planner.tools.tuning.trial import Candidate


class TestBenchmark:
    """The benchmark of the tuner's recommendations: the verdict of a row."""

    @pytest.mark.parametrize(
        ('count', 'seen', 'unseen', 'verdict'),
        [
            (24, (-300, -310), (-200, -210), ('won', 'tb_gbfs')),
            (24, (-300, -310), (200, 210), ('lost', 'tb_gbfs')),  # though the tuner takes it back
            (12, (-900, 800), (-900, 800), ('tied', 'tb_wa_star(1.5)')),  # 12 are too few to decide
            (24, (300, 310), (300, 310), ('tied', 'tb_wa_star(1.5)')),
        ],
    )
    def test_counts_what_the_user_gets(self, count, seen, unseen, verdict, fake_trials, problems):
        plan = make_plan(problems[:count])

        def go(candidate, problem, k):
            number = problems.index(problem)
            more = (seen if number < len(plan.seen) else unseen)[number % 2]
            return result(length(problem) + more * (candidate == Candidate('tb_gbfs')))

        fake_trials(go)
        row = tuner.row_of(run_study(plan))
        assert (row['outcome'], row['recommended']) == verdict
        assert (row['intervals'] == row['default_intervals']) == (row['outcome'] == 'tied')
