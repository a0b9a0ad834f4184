"""The report of a study."""

import pytest
from helpers.tuning import DEFAULT, length, make_plan, result

from tb_planner.tools.tuning import race
from tb_planner.tools.tuning.race import TrialMeans
from tb_planner.tools.tuning.report import means_columns, reasons, study_text
from tb_planner.tools.tuning.study import run_study
from tb_planner.tools.tuning.trial import Candidate


class TestReport:
    def test_shows_what_is_recommended_however_many_are_about_as_good(self, fake_trials, problems):
        """Every weight with eager is better than the recommended one by less than the rule is worth."""
        fake_trials(
            lambda candidate, problem, k: result(
                length(problem)
                - 1000 * (candidate.config.weight < 3)
                + 400 * (candidate == DEFAULT)
                - 50 * (candidate.restart == 'eager')
                - 10 * (candidate.config.weight == 1.1)
            )
        )
        found = run_study(make_plan(problems))
        assert found.recommended == Candidate('tb_wa_star', 1.1)
        assert '\n* tb_wa_star(1.1) ' in study_text(found)

    def test_compares_restart_rules_on_the_problems_that_both_have_had(self, fake_trials, problems):
        """eager drops out after the first, which are easier than the rest for both."""
        plan = make_plan(problems)
        first = {id(problem) for problem in plan.seen[: race.MIN_ROUNDS]}

        def go(candidate, problem, k):
            if candidate.config.weight != 1.1 or candidate.config.learn_h:
                return result(length(problem))
            less = 3000 if id(problem) in first else 1000
            return result((length(problem) - less) * (1.05 if candidate.config.restart == 'eager' else 1))

        fake_trials(go)
        found = run_study(plan)
        assert found.recommended == Candidate('tb_wa_star', 1.1)
        assert found.race.means(Candidate('tb_wa_star', 1.1, 'eager')).problems == race.MIN_ROUNDS
        assert 'eager +5.0 %' in reasons(found)['restart']

    def test_takes_the_cost_over_the_shortest_from_those_that_arrived(self):
        """A trial that was given up has not paid its whole cost."""
        figures = TrialMeans.of([result(100, cost_ratio=1.2), result(900, cost_ratio=0.3, arrived=False)])
        assert figures.cost_ratio == 1.2
        assert '1.200' in means_columns('', figures)
        none = TrialMeans.of([result(900, cost_ratio=0.3, arrived=False)])
        assert means_columns('', none)[1] == '–'

    @pytest.mark.parametrize(('more', 'text'), [(0, ' more were as good\n'), (1000, ' more were worse, up to +')])
    def test_calls_worse_only_what_is(self, more, text, fake_trials, problems):
        fake_trials(lambda candidate, problem, k: result(length(problem) + more * (candidate.algorithm == 'tb_gbfs')))
        assert text in study_text(run_study(make_plan(problems)))

    def test_has_the_ticks_of_what_is_recommended(self, fake_trials, problems):
        """Where the choice was luck, the report has the ticks of the default."""
        plan = make_plan(problems)
        seen = {id(problem) for problem in plan.seen}

        def go(candidate, problem, k):
            lucky = candidate.algorithm == 'tb_gbfs'
            more = lucky * (-800 if id(problem) in seen else 400)
            return result(length(problem) + more, tick_s=2e-3 if lucky else 4e-3)

        fake_trials(go)
        found = run_study(plan)
        assert found.is_contradicted
        assert 'tick p99 4 ms' in study_text(found)
        assert 'took 4 ms or less' in reasons(found)['expansions_per_tick']

    def test_reports_that_a_budget_cannot_be_kept(self, fake_trials, problems):
        fake_trials(lambda candidate, problem, k: result(length(problem), tick_s=0.02))
        found = run_study(make_plan(problems))
        assert 'not tried yet' in study_text(found)
        found.k = found.check.k
        assert 'Ticks exceed the budget however little they search' in study_text(found)
        assert '--cpu must be at least 0.4' in study_text(found)
