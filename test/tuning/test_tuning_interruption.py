"""Ctrl-C while the tuner works: what was measured is told."""

import itertools

import pytest
from helpers.made_up import length, make_plan, outcome, tune

from tb_planner.tools.cli import main
from tb_planner.tools.tuning.parameter_file import read_parameters
from tb_planner.tools.tuning.report import study_text
from tb_planner.tools.tuning.study import carry_out_study


class TestInterruption:
    def interrupted_at(self, told, problems, number):
        def go(candidate, problem, k):
            if problem is problems[number]:
                raise KeyboardInterrupt
            return outcome(length(problem) - 500 * (candidate.algorithm == 'tba_star'))

        told(go)
        return carry_out_study(make_plan(problems))

    def test_leaves_what_was_measured(self, told, problems):
        found = self.interrupted_at(told, problems, 5)
        assert found.interrupted
        assert found.race.rounds == 5
        assert {len(outcomes) for outcomes in found.race.outcomes.values()} == {3, 5}
        assert found.recommended.algorithm == 'tba_star'
        assert f'5 of {len(found.plan.seen)} problems' in study_text(found)

    def test_in_the_last_part_keeps_the_choice(self, told, problems):
        found = self.interrupted_at(told, problems, 15)
        assert found.race.rounds == len(found.plan.seen)
        assert found.check.ours.problems == 3

    def test_at_the_very_end_is_told(self, told, problems):
        def go(candidate, problem, k):
            if k < 1000:
                raise KeyboardInterrupt
            return outcome(length(problem))

        told(go)
        found = carry_out_study(make_plan(problems))
        assert found.interrupted
        assert 'less search was tried with 1 of 3 numbers of expansions' in study_text(found)

    def test_before_anything_was_measured_is_an_interruption(self, told, problems):
        with pytest.raises(KeyboardInterrupt):
            self.interrupted_at(told, problems, 0)

    def test_still_writes_the_file(self, told, tmp_path, capsys):
        count = itertools.count()

        def go(candidate, problem, k):
            if next(count) > 200:
                raise KeyboardInterrupt
            return outcome(length(problem))

        told(go)
        assert main([*tune(tmp_path), '--problems', '40']) == 130
        assert 'Interrupted' in capsys.readouterr().out
        read_parameters(tmp_path / 'tuned.yaml')
