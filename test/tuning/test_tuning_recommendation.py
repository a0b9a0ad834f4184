"""What the tuner recommends where the trade-offs are known."""

import pytest
from helpers.made_up import DEFAULT, EXPANSION_S, ground, length, make_plan, outcome, rooms

from tb_planner.tools.tuning import study
from tb_planner.tools.tuning.budget import Pace
from tb_planner.tools.tuning.candidates import Candidate
from tb_planner.tools.tuning.ground import draw_problems
from tb_planner.tools.tuning.report import reasons, study_text
from tb_planner.tools.tuning.study import carry_out_study
from tb_planner.tools.tuning.time_limit import TimeLimit
from tb_planner.tools.tuning.trial import Conditions


class TestRecommendation:
    def test_is_the_candidate_with_the_fewest_intervals(self, told, problems):
        best = Candidate('tb_wa_star', 2.5, 'eager')
        told(lambda candidate, problem, k: outcome(length(problem) - 500 * (candidate == best)))
        assert carry_out_study(make_plan(problems)).recommended == best

    @pytest.mark.parametrize('best_weight', [1.1, 2.0, 5.0])
    def test_finds_the_weight_where_the_curve_is_lowest(self, told, problems, best_weight):
        told(lambda candidate, problem, k: outcome(length(problem) * (1 + abs(min(candidate.greed, 9) - best_weight))))
        found = carry_out_study(make_plan(problems)).recommended
        assert found == Candidate('tb_wa_star', best_weight)

    def test_is_the_default_where_nothing_is_better(self, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem)))
        found = carry_out_study(make_plan(problems))
        assert found.recommended == DEFAULT
        assert 'as it is now' in study_text(found)
        assert '\nwith less search  tb_wa_star(1.5)\n' in study_text(found)

    def test_does_not_follow_noise_that_is_smaller_than_a_hair(self, told, problems):
        told(lambda candidate, problem, k: outcome(100_000 + hash((candidate, problem.seed)) % 7))
        assert carry_out_study(make_plan(problems)).recommended == DEFAULT

    def test_of_rules_that_make_no_difference_takes_the_one_that_notices_most(self, told, problems):
        """One that is always a little faster is not preferred for that, one that is much faster is."""
        for faster, best in ((50, ''), (500, 'eager')):
            told(
                lambda candidate, problem, k, faster=faster: outcome(
                    length(problem) - 1000 * (candidate.greed == 1.2) - faster * (candidate.restart == 'eager')
                )
            )
            assert carry_out_study(make_plan(problems)).recommended == Candidate('tb_wa_star', 1.2, best)

    def test_is_the_default_where_few_problems_do_not_tell(self, told, problems):
        """Much better on one problem in four, as much worse on another: of few problems that is noise."""

        def go(candidate, problem, k):
            number = problems.index(problem) % 4
            noise = {0: -900, 1: 800}.get(number, 0)
            return outcome(length(problem) + noise * (candidate == Candidate('tb_gbfs')))

        told(go)
        few = carry_out_study(make_plan(problems[:12]))
        assert (few.chosen, few.recommended) == (Candidate('tb_gbfs'), DEFAULT)
        assert not few.was_luck
        assert 'that may be chance: only k is tuned' in study_text(few)
        more = carry_out_study(make_plan(problems))
        assert more.recommended == Candidate('tb_gbfs')
        assert 'which may be chance' in study_text(more)

    def test_is_none_that_does_not_arrive(self, told, problems):
        stuck = Candidate('tba_star')

        def go(candidate, problem, k):
            if candidate == stuck and problem is problems[2]:
                return outcome(10**6, arrived=False)
            return outcome(length(problem) - 1000 * (candidate == stuck))

        told(go)
        found = carry_out_study(make_plan(problems))
        assert found.recommended == DEFAULT
        assert stuck not in found.race.running

    def test_is_tried_on_problems_that_it_was_not_chosen_by(self, told, problems):
        """Better only where it was chosen: the check says so, and the default stays."""
        plan = make_plan(problems)
        lucky = Candidate('tb_gbfs')
        seen = {id(problem) for problem in plan.seen}
        told(
            lambda candidate, problem, k: outcome(
                length(problem) + (candidate == lucky) * (-800 if id(problem) in seen else 400)
            )
        )
        found = carry_out_study(plan)
        assert (found.chosen, found.recommended) == (lucky, DEFAULT)
        assert found.race.against_default(lucky).mean < 0 < found.check.difference.mean
        assert 'tb_gbfs, the best of those it was chosen from, was worse' in study_text(found)
        assert 'kept: tb_gbfs was the best' in reasons(found)['algorithm']
        assert found.check.ours.problems == len(plan.unseen)

    def test_that_was_luck_stays_so_when_there_is_no_time_to_try_it_with_shorter_ticks(self, told, problems):
        plan = make_plan(problems)
        lucky = Candidate('tb_gbfs')
        seen = {id(problem) for problem in plan.seen}
        tried = []

        def trial_of(candidate, problem, k):
            if id(problem) not in seen:
                tried.append(problem)
            more = (candidate == lucky) * (-800 if id(problem) in seen else 400)
            return outcome(length(problem) + more, tick_s=3 * EXPANSION_S * k, expansions=k)

        told(trial_of)
        limit = TimeLimit(1000.0, lambda: 2000.0 if len(tried) >= 2 * len(plan.unseen) else 0.0)
        found = carry_out_study(plan, limit)
        assert found.recommended == DEFAULT
        assert found.check.ours.problems == len(plan.unseen)
        assert found.k < 3400

    def test_keeps_its_ticks_within_the_budget(self, told, problems):
        """Ticks turn out three times as long as measured before: so many expansions fewer."""
        told(lambda candidate, problem, k: outcome(length(problem), tick_s=3 * EXPANSION_S * k, expansions=k))
        found = carry_out_study(make_plan(problems))
        assert found.race.k == 7500
        assert found.check.ours.tick_p99_s <= found.plan.budget.tick_s
        assert found.k == found.check.k < 3400

    def test_keeps_the_ticks_of_the_default_within_the_budget_where_it_is_the_default(self, told, problems):
        """Those of what was chosen by luck are much shorter."""
        plan = make_plan(problems)
        lucky = Candidate('tb_gbfs')
        seen = {id(problem) for problem in plan.seen}

        def go(candidate, problem, k):
            more = (candidate == lucky) * (-800 if id(problem) in seen else 400)
            tick_s = (1 if candidate == lucky else 3) * EXPANSION_S * k
            return outcome(length(problem) + more, tick_s=tick_s, expansions=k)

        told(go)
        found = carry_out_study(plan)
        assert (found.chosen, found.recommended) == (lucky, DEFAULT)
        assert found.check.default.tick_p99_s <= plan.budget.tick_s
        assert found.k == found.check.k < 3400
        assert 'not tried yet' not in study_text(found)

    def test_is_better_than_the_default_on_a_real_map(self, monkeypatch, problems):
        """With many expansions a tick the shortest way is found at once, and a weight of 1.5 only makes it longer."""
        monkeypatch.setattr(study, 'measured_pace', lambda *_: Pace(EXPANSION_S, 100))
        found = carry_out_study(make_plan(problems, conditions=Conditions('static')))
        assert found.recommended.greed < 1.5
        assert found.check.difference.mean < 0

    def test_asks_for_greed_where_there_is_little_time(self, monkeypatch):
        monkeypatch.setattr(study, 'measured_pace', lambda *_: Pace(2e-3, 100))
        drawn = draw_problems(ground(rooms()), 24, seed=1)
        found = carry_out_study(make_plan(drawn, conditions=Conditions('static')))
        assert found.k == 3
        assert found.recommended.greed > 1.5
