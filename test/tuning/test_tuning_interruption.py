"""Ctrl-C ends the tuner with the results so far."""

import itertools

import pytest
from helpers.tuning import length, make_plan, result, tune

from tb_planner.tools.cli import main
from tb_planner.tools.tuning.parameter_file import read_parameters
from tb_planner.tools.tuning.report import study_text
from tb_planner.tools.tuning.study import run_study


class TestInterruption:
    def interrupted_at(self, fake_trials, problems, number):
        def go(candidate, problem, k):
            if problem is problems[number]:
                raise KeyboardInterrupt
            return result(length(problem) - 500 * (candidate.algorithm == 'tba_star'))

        fake_trials(go)
        return run_study(make_plan(problems))

    def test_leaves_what_was_measured(self, fake_trials, problems):
        found = self.interrupted_at(fake_trials, problems, 5)
        assert found.interrupted
        assert found.race.rounds == 5
        assert {len(results) for results in found.race.results.values()} == {3, 5}
        assert found.recommended.algorithm == 'tba_star'
        assert f'5 of {len(found.plan.seen)} problems' in study_text(found)

    def test_in_the_last_part_keeps_the_choice(self, fake_trials, problems):
        found = self.interrupted_at(fake_trials, problems, 15)
        assert found.race.rounds == len(found.plan.seen)
        assert found.check.chosen.problems == 3

    def test_at_the_very_end_is_reported(self, fake_trials, problems):
        found = self.interrupted_at(fake_trials, problems, len(problems) - 1)
        assert found.interrupted
        assert 'Ctrl-C ended the study early: the check used 11 of 12 problems' in study_text(found)

    def test_before_anything_was_measured_is_an_interruption(self, fake_trials, problems):
        with pytest.raises(KeyboardInterrupt):
            self.interrupted_at(fake_trials, problems, 0)

    def test_still_writes_the_file(self, fake_trials, tmp_path, capsys):
        count = itertools.count()

        def go(candidate, problem, k):
            if next(count) > 200:
                raise KeyboardInterrupt
            return result(length(problem))

        fake_trials(go)
        assert main([*tune(tmp_path), '--problems', '40']) == 130
        assert 'Ctrl-C ended the study early' in capsys.readouterr().out
        read_parameters(tmp_path / 'tuned.yaml')
