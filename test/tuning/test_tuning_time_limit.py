"""The time limit of the tuner, wherever it comes."""

import math

import numpy as np
import pytest
from helpers.made_up import DEFAULT, Clock, ground, length, make_plan, outcome, tune

from tb_planner.tools.cli import main
from tb_planner.tools.tuning import race
from tb_planner.tools.tuning.budget import Budget, measured_pace
from tb_planner.tools.tuning.ground import draw_problems
from tb_planner.tools.tuning.report import reasons, study_text
from tb_planner.tools.tuning.study import carry_out_study
from tb_planner.tools.tuning.time_limit import DRAWN_BY, TimeLimit, TimeOver, TooLittleTime
from tb_planner.tools.tuning.trial import WORLDS, Conditions, CutShort, carry_out


class TestTimeLimit:
    """By a clock that goes on with every look at it, so that nothing depends on how fast this computer is."""

    @pytest.mark.parametrize('world', WORLDS)
    def test_ends_a_study_within_a_few_ticks(self, world, problems, monkeypatch):
        """Wherever it comes. After it each part that is begun still has one tick."""
        monkeypatch.setattr(race, 'PATIENCE', math.inf)
        few, told = problems[:4], set()
        for looks in (2**power for power in range(18)):
            clock = Clock()
            plan = make_plan(few, conditions=Conditions(world), budget=Budget(1000.0, 1.0))
            try:
                found = carry_out_study(plan, TimeLimit(looks, clock))
            except TooLittleTime:
                told.add('too little')
            else:
                told.add('cut short' if found.cut_short else 'whole')
            assert clock.now_s <= looks + 40
        assert told == {'too little', 'cut short', 'whole'}

    def test_ends_a_trial_and_leaves_the_map_as_it_was(self, problems):
        terrain = problems[0].ground.grid.cost_u16.copy()
        with pytest.raises(CutShort) as cut:
            carry_out(problems[0], DEFAULT, 10, Conditions('changing'), limit=TimeLimit(25, Clock()))
        assert 0 < cut.value.outcome.intervals <= 25
        assert not cut.value.outcome.arrived
        assert np.array_equal(problems[0].ground.grid.cost_u16, terrain)

    def test_leaves_a_tick_of_each_algorithm_to_measure(self, problems):
        whole = measured_pace(problems[:3], Conditions('static'), 1e-3)
        assert not whole.cut_short
        cut = measured_pace(problems[:3], Conditions('static'), 1e-3, TimeLimit(1, Clock()))
        assert cut.cut_short
        assert 3 <= cut.ticks < whole.ticks
        assert cut.expansion_s > 0

    def test_ends_the_drawing_of_problems_with_one_at_least(self, place):
        drawn = draw_problems(place, 1000, seed=1, limit=TimeLimit(200, Clock()))
        assert 1 < len(drawn) <= 200 * DRAWN_BY
        (one,) = draw_problems(place, 1000, seed=1, limit=TimeLimit(4, Clock()))
        assert (one.start, one.goal) == (drawn[0].start, drawn[0].goal)

    def test_ends_the_drawing_of_problems_where_hardly_any_cells_are_joined(self):
        islands = np.ones((200, 200), bool)
        islands[::2, ::2] = False
        with pytest.raises(TooLittleTime, match='--time-limit of 50 s was over before a start and a goal'):
            draw_problems(ground(islands), 3, seed=0, limit=TimeLimit(50, Clock()))

    def test_that_ends_all_before_one_round_names_what_to_raise(self, told, problems):
        def go(candidate, problem, k):
            if candidate.algorithm == 'tb_gbfs':
                raise TimeOver
            return outcome(length(problem))

        told(go)
        with pytest.raises(TooLittleTime) as error:
            carry_out_study(make_plan(problems), TimeLimit(5.0))
        assert 'the --time-limit of 5 s was over when 31 of 33 candidates had tried one problem' in str(error.value)
        assert 'about 11 s would do' in str(error.value)

    def test_tells_what_there_was_no_time_for(self, told, problems):
        plan = make_plan(problems)

        def go(candidate, problem, k):
            if problems.index(problem) >= 4:
                raise TimeOver
            return outcome(length(problem) - 300 * (candidate.algorithm == 'rtba_star'))

        told(go)
        found = carry_out_study(plan, TimeLimit(5.0))
        text = study_text(found)
        assert 'The time limit of 5 s came before all was done: 4 of 12 problems to choose by were tried; ' in text
        assert '0 of 12 others to check the choice on; less search was tried with 0 of 3 numbers of expansions.' in text
        assert 'To choose by 4 problems is little' in text
        assert 'Nothing was tried on problems not seen before' in text
        assert found.recommended.algorithm == 'rtba_star'  # by as much on each of them

    def test_of_the_race_leaves_time_to_check_the_choice(self, told, problems):
        plan = make_plan(problems)

        def go(candidate, problem, k):
            if problem is plan.seen[10]:
                raise TimeOver
            return outcome(length(problem))

        told(go)
        found = carry_out_study(plan, TimeLimit(1000.0))
        assert found.race.rounds == 10
        assert found.check.ours.problems == len(plan.unseen)
        assert found.cut_short == ['10 of 12 problems to choose by were tried']

    def test_keeps_what_is_set_where_few_problems_tell_nothing(self, told, problems):
        """The best on four problems, by chance on one of them."""
        plan = make_plan(problems)

        def go(candidate, problem, k):
            if problems.index(problem) >= 4:
                raise TimeOver
            return outcome(length(problem) - 300 * (candidate.greed == 3.0 and problem is plan.seen[0]))

        told(go)
        found = carry_out_study(plan, TimeLimit(5.0))
        assert (found.chosen.greed, found.recommended) == (3.0, DEFAULT)
        text = study_text(found)
        assert 'tb_wa_star(3) was the best, -0.7 % ± 0.7 intervals, but that may be chance: only k is tuned' in text
        assert 'may be chance' in reasons(found)['algorithm']
        assert reasons(found)['restart'].startswith('kept')

    def test_is_told_of_nothing_where_all_was_done(self, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem)))
        found = carry_out_study(make_plan(problems))
        assert found.cut_short == []
        assert 'before all was done' not in study_text(found)

    def test_by_command_is_an_error_where_it_was_too_short(self, tmp_path, capsys):
        assert main([*tune(tmp_path), '--time-limit', '1e-6']) == 2
        assert '--time-limit of 1e-06 s was over' in capsys.readouterr().err.splitlines()[-1]
        assert not (tmp_path / 'tuned.yaml').exists()
