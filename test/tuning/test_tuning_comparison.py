"""What if: parameter files on the same problems."""

import dataclasses
from pathlib import Path

import pytest
from helpers.made_up import DEFAULT, Clock, tune

from tb_planner.config import PlannerParameters
from tb_planner.tools.cli import main
from tb_planner.tools.tuning.candidates import Candidate
from tb_planner.tools.tuning.comparison import Rival, compare, comparison_text, remarks
from tb_planner.tools.tuning.parameter_file import parameter_file
from tb_planner.tools.tuning.time_limit import TimeLimit, TooLittleTime


class TestComparison:
    def test_of_a_file_with_itself_finds_no_difference(self, problems):
        rivals = [Rival(name, DEFAULT, 50, 0.05) for name in ('a.yaml', 'b.yaml')]
        text = comparison_text(compare(rivals, problems[:6], 'changing'))
        assert '+0.0 % ± 0.0 intervals against a.yaml, which may be chance' in text

    def test_is_on_the_same_problems(self, problems):
        rivals = [Rival('slow', Candidate('tba_star'), 2, 0.0), Rival('fast', Candidate('tba_star'), 2000, 0.0)]
        comparison = compare(rivals, problems[:12], 'static')
        slow, fast = (comparison.outcomes[rival.name] for rival in rivals)
        assert len(slow) == len(fast) == 12
        assert all(b.intervals <= a.intervals for a, b in zip(slow, fast, strict=True))
        assert 'which may be chance' not in comparison_text(comparison)

    def test_ends_when_the_time_is_over(self, problems):
        rivals = [Rival(name, DEFAULT, 50, 0.05) for name in ('a.yaml', 'b.yaml')]
        for looks in (400, 1000):
            comparison = compare(rivals, problems, 'static', TimeLimit(looks, Clock()))
            assert 0 < comparison.had < len(problems)
            assert {len(outcomes) for outcomes in comparison.outcomes.values()} == {comparison.had}
            told = f'The time limit came after {comparison.had} of {len(problems)} problems'
            assert told in comparison_text(comparison)

    def test_without_time_for_one_problem_tells_nothing(self, problems):
        rivals = [Rival(name, DEFAULT, 50, 0.05) for name in ('a.yaml', 'b.yaml')]
        with pytest.raises(TooLittleTime, match='--time-limit of 3 s was over before all 2 files had tried one'):
            compare(rivals, problems, 'static', TimeLimit(3, Clock()))

    @pytest.mark.parametrize(
        ('options', 'told'),
        [
            (['one.yaml'], 'two files or more'),
            (['one.yaml', 'one.yaml'], 'each once'),
            (['one.yaml', 'two.yaml', '--params', 'one.yaml'], '--params goes with tuning'),
            (['one.yaml', 'nothing.yaml'], 'nothing.yaml: cannot be read'),
        ],
    )
    def test_refuses_what_cannot_be_compared(self, options, told, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ('one.yaml', 'two.yaml'):
            Path(name).write_text(parameter_file(PlannerParameters(), '', {}))
        assert main([*tune(tmp_path), '--compare', *options]) == 2
        assert told in capsys.readouterr().err

    def test_tells_what_it_leaves_out_of_account(self):
        ours = PlannerParameters()
        others = dataclasses.replace(ours, tick_frequency=5.0, corner_cutting=True)
        assert list(remarks({'a.yaml': ours, 'b.yaml': ours})) == []
        costs, ticks = remarks({'a.yaml': ours, 'b.yaml': others})
        assert 'b.yaml makes other costs of a map than a.yaml' in costs
        assert 'b.yaml ticks at 5 Hz, a.yaml at 20' in ticks

    def test_by_command(self, tmp_path, capsys):
        for name, weight in (('one.yaml', 1.2), ('two.yaml', 4.0)):
            parameters = dataclasses.replace(PlannerParameters(), weight=weight, expansions_per_tick=50)
            (tmp_path / name).write_text(parameter_file(parameters, '', {}))
        files = [str(tmp_path / name) for name in ('one.yaml', 'two.yaml')]
        assert main([*tune(tmp_path), '--compare', *files]) == 0
        printed = capsys.readouterr().out
        assert 'one.yaml: tb_wa_star(1.2), k = 50' in printed
        assert 'two.yaml needs' in printed
        assert not (tmp_path / 'tuned.yaml').exists()

    def test_of_files_in_several_folders_leaves_none_out(self, tmp_path, capsys):
        files = [tmp_path / name for name in ('one/planner.yaml', 'two/planner.yaml', 'tuned.yaml')]
        for file, weight in zip(files, (1.2, 4.0, 2.0), strict=True):
            file.parent.mkdir(exist_ok=True)
            parameters = dataclasses.replace(PlannerParameters(), weight=weight, expansions_per_tick=50)
            file.write_text(parameter_file(parameters, '', {}))
        assert main([*tune(tmp_path), '--compare', *map(str, files)]) == 0
        printed = capsys.readouterr().out
        for file, weight in zip(files, ('1.2', '4', '2'), strict=True):
            assert f'{file}: tb_wa_star({weight}), k = 50' in printed
