"""What the tuner says of a study."""

import pytest
from helpers.made_up import DEFAULT, length, make_plan, outcome

from tb_planner.tools.tuning import race
from tb_planner.tools.tuning.candidates import Candidate
from tb_planner.tools.tuning.figures import figures_of
from tb_planner.tools.tuning.report import figures_columns, reasons, study_text
from tb_planner.tools.tuning.study import carry_out_study


class TestReport:
    def test_shows_what_is_recommended_however_many_are_about_as_good(self, told, problems):
        """Every weight with eager is better than the recommended one by less than the rule is worth."""
        told(
            lambda candidate, problem, k: outcome(
                length(problem)
                - 1000 * (candidate.greed < 3)
                + 400 * (candidate == DEFAULT)
                - 50 * (candidate.restart == 'eager')
                - 10 * (candidate.greed == 1.1)
            )
        )
        found = carry_out_study(make_plan(problems))
        assert found.recommended == Candidate('tb_wa_star', 1.1)
        assert '\n* tb_wa_star(1.1) ' in study_text(found)

    def test_compares_restart_rules_on_the_problems_that_both_have_had(self, told, problems):
        """eager drops out after the first, which are easier than the rest for both."""
        plan = make_plan(problems)
        first = {id(problem) for problem in plan.seen[: race.FIRST_LOOK]}

        def go(candidate, problem, k):
            if candidate.greed != 1.1 or candidate.row.learn_h:
                return outcome(length(problem))
            less = 3000 if id(problem) in first else 1000
            return outcome((length(problem) - less) * (1.05 if candidate.row.restart == 'eager' else 1))

        told(go)
        found = carry_out_study(plan)
        assert found.recommended == Candidate('tb_wa_star', 1.1)
        assert found.race.figures(Candidate('tb_wa_star', 1.1, 'eager')).problems == race.FIRST_LOOK
        assert 'eager +5.0 %' in reasons(found)['restart']

    def test_takes_the_cost_over_the_shortest_from_those_that_arrived(self):
        """Who was given up half way has not paid all of it."""
        figures = figures_of([outcome(100, cost_ratio=1.2), outcome(900, cost_ratio=0.3, arrived=False)])
        assert figures.cost_ratio == 1.2
        assert '1.200' in figures_columns('', figures)
        none = figures_of([outcome(900, cost_ratio=0.3, arrived=False)])
        assert figures_columns('', none)[1] == '–'

    @pytest.mark.parametrize(('more', 'told_as'), [(0, ' more were as good\n'), (1000, ' more were worse, up to +')])
    def test_calls_worse_only_what_is(self, more, told_as, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem) + more * (candidate.algorithm == 'tb_gbfs')))
        assert told_as in study_text(carry_out_study(make_plan(problems)))

    def test_has_the_ticks_of_what_is_recommended(self, told, problems):
        """Where the choice was luck, those of the default."""
        plan = make_plan(problems)
        seen = {id(problem) for problem in plan.seen}

        def go(candidate, problem, k):
            lucky = candidate.algorithm == 'tb_gbfs'
            more = lucky * (-800 if id(problem) in seen else 400)
            return outcome(length(problem) + more, tick_s=2e-3 if lucky else 4e-3)

        told(go)
        found = carry_out_study(plan)
        assert found.was_luck
        assert 'tick p99 4 ms' in study_text(found)
        assert 'took 4 ms or less' in reasons(found)['expansions_per_tick']

    def test_says_that_a_budget_cannot_be_kept(self, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem), tick_s=0.02))
        found = carry_out_study(make_plan(problems))
        assert 'not tried yet' in study_text(found)
        found.k = found.check.k
        assert 'The budget cannot be kept' in study_text(found)
        assert '--cpu has to be 0.4 at least' in study_text(found)
