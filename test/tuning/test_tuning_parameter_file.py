"""The parameter file that the tuner reads and writes."""

import dataclasses

import pytest
from helpers.tuning import length, make_plan, result

from tb_planner.config import PlannerParameters
from tb_planner.tools.tuning.parameter_file import (
    candidate_of,
    check_may_write_parameters,
    parameter_file,
    read_parameters,
    with_candidate,
)
from tb_planner.tools.tuning.report import reasons
from tb_planner.tools.tuning.study import CpuBudget, run_study
from tb_planner.tools.tuning.trial import candidates

ODD = dataclasses.replace(
    PlannerParameters(),
    global_frame="o'dd",
    robot_base_frame='no',
    search_time_s=0.0005,
    min_improvement=1e-5,
    weight=3.0,
)


class TestParameterFile:
    @pytest.mark.parametrize('parameters', [PlannerParameters(), ODD], ids=['defaults', 'odd'])
    @pytest.mark.parametrize('candidate', candidates('changing')[::3], ids=str)
    def test_gives_back_what_was_written(self, candidate, parameters, tmp_path):
        tuned = with_candidate(parameters, candidate, 4321, CpuBudget(12.5, 0.2))
        path = tmp_path / 'planner.yaml'
        path.write_text(parameter_file(tuned, 'a map', {'algorithm': 'because'}))
        assert read_parameters(path) == tuned
        assert candidate_of(tuned).config == candidate.config
        assert tuned.settings().algorithm == candidate.config
        assert (tuned.expansions_per_tick, tuned.tick_frequency) == (4321, 12.5)

    def test_has_reasons_above_what_was_tuned(self, fake_trials, problems):
        fake_trials(lambda candidate, problem, k: result(length(problem) - 300 * (candidate.algorithm == 'rtba_star')))
        found = run_study(make_plan(problems))
        why = reasons(found)
        text = parameter_file(
            with_candidate(PlannerParameters(), found.recommended, found.k, found.plan.budget), '', why
        )
        lines = text.splitlines()
        above = ' '.join(line.strip(' #') for line in lines[: lines.index('    algorithm: rtba_star')])
        assert why['algorithm'] in above
        assert 'does not notice opened shortcuts' in why['restart']

    @pytest.mark.parametrize(
        ('text', 'message'),
        [
            ('tb_planner: {ros__parameters: {weihgt: 2.0}}', 'no parameter weihgt; did you mean weight?'),
            ('tb_planner: {ros__parameters: {weight: 0.5}}', 'weight is 0.5; it must be between 1 and 100'),
            ('tb_planner: {ros__parameters: {weight: heavy}}', "weight is 'heavy'; it must be a number"),
            ('controller_server: {ros__parameters: {weight: 2.0}}', 'it has controller_server'),
            ('tb_planner: {ros__parameters: {zzzz: 2.0}}', 'no parameter zzzz'),
            ('tb_planner: {ros__parameters: {5: 2.0}}', 'no parameter 5'),
            ('tb_planner: {weight: 2.0}', 'no ros__parameters'),
            ('', 'it has nothing'),
            ('a: [', 'not YAML'),
        ],
    )
    def test_that_is_wrong_is_refused_by_name(self, text, message, tmp_path):
        path = tmp_path / 'wrong.yaml'
        path.write_text(text)
        with pytest.raises(ValueError) as error:
            read_parameters(path)
        assert message in str(error.value)
        assert 'wrong.yaml' in str(error.value)

    @pytest.mark.parametrize('name', ['tb_planner', '/**', '/robot1/tb_planner', '/**/tb_planner'])
    def test_may_name_the_node_as_ros_does(self, name, tmp_path):
        path = tmp_path / 'planner.yaml'
        path.write_text(f"'{name}': {{ros__parameters: {{weight: 2, use_sim_time: true}}}}")
        assert read_parameters(path).weight == 2.0

    def test_of_somebody_else_is_not_written_over(self, tmp_path):
        path = tmp_path / 'planner.yaml'
        path.write_text('# mine\n')
        with pytest.raises(ValueError, match='the file exists and is not a parameter file that the tuner wrote'):
            check_may_write_parameters(path)
        path.write_text(parameter_file(PlannerParameters(), '', {}))
        check_may_write_parameters(path)
