"""Parameter files, compared on the same problems."""

import dataclasses
from pathlib import Path

import pytest
from helpers.tuning import DEFAULT, Clock, tune

from tb_planner.config import PlannerParameters
from tb_planner.tools.cli import main
from tb_planner.tools.tuning.comparison import ComparedFile, compare, comparison_text, remarks
from tb_planner.tools.tuning.parameter_file import parameter_file
from tb_planner.tools.tuning.time_limit import TimeLimit, TooLittleTime
from tb_planner.tools.tuning.trial import Candidate, TrialConditions

STATIC, CHANGING = TrialConditions('static', 0.05), TrialConditions('changing', 0.05)
FILES = [ComparedFile(name, DEFAULT, 50, STATIC) for name in ('a.yaml', 'b.yaml')]


class TestComparison:
    def test_of_a_file_with_itself_finds_no_difference(self, problems):
        files = [file._replace(conditions=CHANGING) for file in FILES]
        text = comparison_text(files, compare(files, problems[:6])[0])
        assert '+0.0 % ± 0.0 intervals against a.yaml, which may be chance' in text

    def test_is_on_the_same_problems(self, problems):
        files = [
            ComparedFile('slow', Candidate('tba_star'), 2, STATIC),
            ComparedFile('fast', Candidate('tba_star'), 2000, STATIC),
        ]
        (slow, fast), ended = compare(files, problems[:12])
        assert not ended
        assert len(slow) == len(fast) == 12
        assert all(b.intervals <= a.intervals for a, b in zip(slow, fast, strict=True))
        assert 'which may be chance' not in comparison_text(files, [slow, fast])

    def test_ends_when_the_time_is_over(self, problems):
        for looks in (400, 1000):
            results, ended = compare(FILES, problems, TimeLimit(looks, Clock()))
            (tried,) = {len(theirs) for theirs in results}
            assert 0 < tried < len(problems)
            assert ended == f'The time limit ended the comparison after {tried} of {len(problems)} problems.'

    def test_without_time_for_one_problem_is_refused(self, problems):
        with pytest.raises(TooLittleTime, match='--time-limit of 3 s was over before all 2 files had tried the first'):
            compare(FILES, problems, TimeLimit(3, Clock()))

    @pytest.mark.parametrize(
        ('options', 'message'),
        [
            (['one.yaml'], 'two or more different files'),
            (['one.yaml', 'one.yaml'], 'two or more different files'),
            (['one.yaml', 'two.yaml', '--params', 'one.yaml'], '--params is for tuning'),
            (['one.yaml', 'nothing.yaml'], 'nothing.yaml: cannot be read'),
        ],
    )
    def test_refuses_what_cannot_be_compared(self, options, message, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ('one.yaml', 'two.yaml'):
            Path(name).write_text(parameter_file(PlannerParameters(), '', {}))
        assert main([*tune(tmp_path), '--compare', *options]) == 2
        assert message in capsys.readouterr().err

    def test_reports_what_it_leaves_out_of_account(self):
        ours = PlannerParameters()
        others = dataclasses.replace(ours, tick_frequency=5.0, corner_cutting=True)
        assert list(remarks({'a.yaml': ours, 'b.yaml': ours})) == []
        costs, ticks = remarks({'a.yaml': ours, 'b.yaml': others})
        assert 'b.yaml and a.yaml turn the map into different costs' in costs
        assert 'b.yaml ticks at 5 Hz, a.yaml at 20 Hz' in ticks

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
