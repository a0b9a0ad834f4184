"""The time limit of the tuner, wherever it comes."""

import math

import numpy as np
import pytest
from helpers.tuning import DEFAULT, Clock, length, make_plan, result, tune, tuning_map

from tb_planner.tools.cli import main
from tb_planner.tools.tuning import race
from tb_planner.tools.tuning.problems import draw_problems
from tb_planner.tools.tuning.report import reasons, study_text
from tb_planner.tools.tuning.study import CpuBudget, measure_speed, run_study
from tb_planner.tools.tuning.time_limit import DRAWN_FRACTION, TimeLimit, TimeOver, TooLittleTime
from tb_planner.tools.tuning.trial import WORLDS, TrialConditions, TrialCutShort, run_trial


class TestTimeLimit:
    """The clock advances with every look at it, so that nothing depends on the speed of this computer."""

    @pytest.mark.parametrize('world', WORLDS)
    def test_ends_a_study_within_a_few_ticks(self, world, problems, monkeypatch):
        """Wherever it comes. After it each part that is begun still has one tick."""
        monkeypatch.setattr(race, 'GIVE_UP_RATIO', math.inf)
        few, ends = problems[:4], set()
        for looks in (2**power for power in range(18)):
            clock = Clock()
            plan = make_plan(few, conditions=TrialConditions(world), budget=CpuBudget(1000.0, 1.0))
            try:
                found = run_study(plan, TimeLimit(looks, clock))
            except TooLittleTime:
                ends.add('too little')
            else:
                ends.add('cut short' if found.cut_short else 'whole')
            assert clock.now_s <= looks + 40
        assert ends == {'too little', 'cut short', 'whole'}

    def test_ends_a_trial_and_leaves_the_map_as_it_was(self, problems):
        terrain = problems[0].map_.grid.cost_u16.copy()
        with pytest.raises(TrialCutShort) as cut:
            run_trial(problems[0], DEFAULT, 10, TrialConditions('changing'), limit=TimeLimit(25, Clock()))
        assert 0 < cut.value.result.intervals <= 25
        assert not cut.value.result.arrived
        assert np.array_equal(problems[0].map_.grid.cost_u16, terrain)

    def test_leaves_a_tick_of_each_algorithm_to_measure(self, problems):
        whole = measure_speed(problems[:3], TrialConditions('static'), 1e-3)
        assert not whole.cut_short
        cut = measure_speed(problems[:3], TrialConditions('static'), 1e-3, TimeLimit(1, Clock()))
        assert cut.cut_short
        assert 3 <= cut.ticks < whole.ticks
        assert cut.expansion_s > 0

    def test_ends_the_drawing_of_problems_with_one_at_least(self, scattered_map):
        drawn = draw_problems(scattered_map, 1000, seed=1, limit=TimeLimit(200, Clock()))
        assert 1 < len(drawn) <= 200 * DRAWN_FRACTION
        (one,) = draw_problems(scattered_map, 1000, seed=1, limit=TimeLimit(4, Clock()))
        assert (one.start, one.goal) == (drawn[0].start, drawn[0].goal)

    def test_ends_the_drawing_of_problems_where_hardly_any_cells_are_joined(self):
        islands = np.ones((200, 200), bool)
        islands[::2, ::2] = False
        with pytest.raises(TooLittleTime, match='--time-limit of 50 s was over before a connected start and goal'):
            draw_problems(tuning_map(islands), 3, seed=0, limit=TimeLimit(50, Clock()))

    def test_that_ends_all_before_one_round_names_what_to_raise(self, fake_trials, problems):
        def go(candidate, problem, k):
            if candidate.algorithm == 'tb_gbfs':
                raise TimeOver
            return result(length(problem))

        fake_trials(go)
        with pytest.raises(TooLittleTime) as error:
            run_study(make_plan(problems), TimeLimit(5.0))
        assert 'the --time-limit of 5 s was over when 31 of 33 candidates had tried the first problem' in str(
            error.value
        )
        assert 'about 11 s would be enough' in str(error.value)

    def test_reports_what_there_was_no_time_for(self, fake_trials, problems):
        plan = make_plan(problems)

        def go(candidate, problem, k):
            if problems.index(problem) >= 4:
                raise TimeOver
            return result(length(problem) - 300 * (candidate.algorithm == 'rtba_star'))

        fake_trials(go)
        found = run_study(plan, TimeLimit(5.0))
        text = study_text(found)
        assert 'The time limit of 5 s ended the study early: the choice used 4 of 12 problems; ' in text
        assert 'the check used 0 of 12 problems.' in text
        assert '4 problems are a small sample' in text
        assert 'The choice was not checked on unseen problems' in text
        assert found.recommended.algorithm == 'rtba_star'  # by as much on each of them

    def test_of_the_race_leaves_time_to_check_the_choice(self, fake_trials, problems):
        plan = make_plan(problems)

        def go(candidate, problem, k):
            if problem is plan.seen[10]:
                raise TimeOver
            return result(length(problem))

        fake_trials(go)
        found = run_study(plan, TimeLimit(1000.0))
        assert found.race.rounds == 10
        assert found.check.chosen.problems == len(plan.unseen)
        assert found.cut_short == ['the choice used 10 of 12 problems']

    def test_keeps_the_settings_where_few_problems_are_inconclusive(self, fake_trials, problems):
        """The best on four problems, by chance on one of them."""
        plan = make_plan(problems)

        def go(candidate, problem, k):
            if problems.index(problem) >= 4:
                raise TimeOver
            return result(length(problem) - 300 * (candidate.config.weight == 3.0 and problem is plan.seen[0]))

        fake_trials(go)
        found = run_study(plan, TimeLimit(5.0))
        assert (found.chosen.config.weight, found.recommended) == (3.0, DEFAULT)
        text = study_text(found)
        assert 'tb_wa_star(3) was the best, -0.7 % ± 0.7 intervals, but that may be chance: only k is tuned' in text
        assert 'may be chance' in reasons(found)['algorithm']
        assert reasons(found)['restart'].startswith('kept')

    def test_reports_nothing_where_all_was_done(self, fake_trials, problems):
        fake_trials(lambda candidate, problem, k: result(length(problem)))
        found = run_study(make_plan(problems))
        assert found.cut_short == []
        assert 'ended the study early' not in study_text(found)

    def test_by_command_is_an_error_where_it_was_too_short(self, tmp_path, capsys):
        assert main([*tune(tmp_path), '--time-limit', '1e-6']) == 2
        assert '--time-limit of 1e-06 s was over' in capsys.readouterr().err.splitlines()[-1]
        assert not (tmp_path / 'tuned.yaml').exists()
