"""What the tuner recommends where the trade-offs are known."""

import pytest
from helpers.tuning import DEFAULT, EXPANSION_S, length, make_plan, result, rooms, tuning_map

from tb_planner.tools.tuning import study
from tb_planner.tools.tuning.problems import draw_problems
from tb_planner.tools.tuning.report import reasons, study_text
from tb_planner.tools.tuning.study import SearchSpeed, run_study
from tb_planner.tools.tuning.time_limit import TimeLimit
from tb_planner.tools.tuning.trial import Candidate, TrialConditions


class TestRecommendation:
    def test_is_the_candidate_with_the_fewest_intervals(self, fake_trials, problems):
        best = Candidate('tb_wa_star', 2.5, 'eager')
        fake_trials(lambda candidate, problem, k: result(length(problem) - 500 * (candidate == best)))
        assert run_study(make_plan(problems)).recommended == best

    @pytest.mark.parametrize('best_weight', [1.1, 2.0, 5.0])
    def test_finds_the_weight_where_the_curve_is_lowest(self, fake_trials, problems, best_weight):
        fake_trials(
            lambda candidate, problem, k: result(
                length(problem) * (1 + abs(min(candidate.config.weight, 9) - best_weight))
            )
        )
        found = run_study(make_plan(problems)).recommended
        assert found == Candidate('tb_wa_star', best_weight)

    def test_is_the_default_where_nothing_is_better(self, fake_trials, problems):
        fake_trials(lambda candidate, problem, k: result(length(problem)))
        found = run_study(make_plan(problems))
        assert found.recommended == DEFAULT
        assert '(unchanged)' in study_text(found)

    def test_does_not_follow_noise_that_is_smaller_than_a_hair(self, fake_trials, problems):
        fake_trials(lambda candidate, problem, k: result(100_000 + hash((candidate, problem.seed)) % 7))
        assert run_study(make_plan(problems)).recommended == DEFAULT

    def test_of_rules_that_make_no_difference_takes_the_one_that_notices_most(self, fake_trials, problems):
        """One that is always a little faster is not preferred for that, one that is much faster is."""
        for faster, best in ((50, ''), (500, 'eager')):
            fake_trials(
                lambda candidate, problem, k, faster=faster: result(
                    length(problem) - 1000 * (candidate.config.weight == 1.2) - faster * (candidate.restart == 'eager')
                )
            )
            assert run_study(make_plan(problems)).recommended == Candidate('tb_wa_star', 1.2, best)

    def test_is_the_default_where_few_problems_are_inconclusive(self, fake_trials, problems):
        """Much better on one problem in four, as much worse on another: of few problems that is noise."""

        def go(candidate, problem, k):
            number = problems.index(problem) % 4
            noise = {0: -900, 1: 800}.get(number, 0)
            return result(length(problem) + noise * (candidate == Candidate('tb_gbfs')))

        fake_trials(go)
        few = run_study(make_plan(problems[:12]))
        assert (few.chosen, few.recommended) == (Candidate('tb_gbfs'), DEFAULT)
        assert not few.is_contradicted
        assert 'that may be chance: only k is tuned' in study_text(few)
        more = run_study(make_plan(problems))
        assert more.recommended == Candidate('tb_gbfs')
        assert 'which may be chance' in study_text(more)

    def test_is_none_that_does_not_arrive(self, fake_trials, problems):
        stuck = Candidate('tba_star')

        def go(candidate, problem, k):
            if candidate == stuck and problem is problems[2]:
                return result(10**6, arrived=False)
            return result(length(problem) - 1000 * (candidate == stuck))

        fake_trials(go)
        found = run_study(make_plan(problems))
        assert found.recommended == DEFAULT
        assert stuck not in found.race.running

    def test_is_tried_on_problems_that_it_was_not_chosen_by(self, fake_trials, problems):
        """A candidate that is better only on the problems it was chosen by fails the check, and the default stays."""
        plan = make_plan(problems)
        lucky = Candidate('tb_gbfs')
        seen = {id(problem) for problem in plan.seen}
        fake_trials(
            lambda candidate, problem, k: result(
                length(problem) + (candidate == lucky) * (-800 if id(problem) in seen else 400)
            )
        )
        found = run_study(plan)
        assert (found.chosen, found.recommended) == (lucky, DEFAULT)
        assert found.race.against_default(lucky).mean < 0 < found.check.difference.mean
        assert 'tb_gbfs, the best before, was worse' in study_text(found)
        assert 'kept: tb_gbfs was the best' in reasons(found)['algorithm']
        assert found.check.chosen.problems == len(plan.unseen)

    def test_that_was_luck_stays_rejected_when_there_is_no_time_to_try_it_with_shorter_ticks(
        self, fake_trials, problems
    ):
        plan = make_plan(problems)
        lucky = Candidate('tb_gbfs')
        seen = {id(problem) for problem in plan.seen}
        tried = []

        def trial_of(candidate, problem, k):
            if id(problem) not in seen:
                tried.append(problem)
            more = (candidate == lucky) * (-800 if id(problem) in seen else 400)
            return result(length(problem) + more, tick_s=3 * EXPANSION_S * k, expansions=k)

        fake_trials(trial_of)
        limit = TimeLimit(1000.0, lambda: 2000.0 if len(tried) >= 2 * len(plan.unseen) else 0.0)
        found = run_study(plan, limit)
        assert found.recommended == DEFAULT
        assert found.check.chosen.problems == len(plan.unseen)
        assert found.k < 3400

    def test_keeps_its_ticks_within_the_budget(self, fake_trials, problems):
        """Ticks turn out three times as long as measured before: a third of the expansions fits."""
        fake_trials(lambda candidate, problem, k: result(length(problem), tick_s=3 * EXPANSION_S * k, expansions=k))
        found = run_study(make_plan(problems))
        assert found.race.k == 7500
        assert found.check.chosen.tick_p99_s <= found.plan.budget.tick_s
        assert found.k == found.check.k < 3400

    def test_keeps_the_ticks_of_the_default_within_the_budget_where_it_is_the_default(self, fake_trials, problems):
        """The ticks of the candidate that was chosen by luck are much shorter."""
        plan = make_plan(problems)
        lucky = Candidate('tb_gbfs')
        seen = {id(problem) for problem in plan.seen}

        def go(candidate, problem, k):
            more = (candidate == lucky) * (-800 if id(problem) in seen else 400)
            tick_s = (1 if candidate == lucky else 3) * EXPANSION_S * k
            return result(length(problem) + more, tick_s=tick_s, expansions=k)

        fake_trials(go)
        found = run_study(plan)
        assert (found.chosen, found.recommended) == (lucky, DEFAULT)
        assert found.check.default.tick_p99_s <= plan.budget.tick_s
        assert found.k == found.check.k < 3400
        assert 'not tried yet' not in study_text(found)

    def test_is_better_than_the_default_on_a_real_map(self, monkeypatch, problems):
        """With many expansions per tick the shortest path is found at once; a weight of 1.5 only makes it longer."""
        monkeypatch.setattr(study, 'measure_speed', lambda *_: SearchSpeed(EXPANSION_S, 100))
        found = run_study(make_plan(problems, conditions=TrialConditions('static')))
        assert found.recommended.config.weight < 1.5
        assert found.check.difference.mean < 0

    def test_asks_for_greed_where_there_is_little_time(self, monkeypatch):
        monkeypatch.setattr(study, 'measure_speed', lambda *_: SearchSpeed(2e-3, 100))
        drawn = draw_problems(tuning_map(rooms()), 24, seed=1)
        found = run_study(make_plan(drawn, conditions=TrialConditions('static')))
        assert found.k == 3
        assert found.recommended.config.weight > 1.5
