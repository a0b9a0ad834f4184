"""The command tb_planner tune: the files that it writes, and the input that it refuses."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.tuning import tune

from tb_planner.config import PlannerParameters
from tb_planner.tools.cli import main
from tb_planner.tools.tuning.parameter_file import parameter_file, read_parameters


class TestCommand:
    def test_writes_a_file_for_the_node_and_a_plot(self, tmp_path, capsys):
        pytest.importorskip('matplotlib')
        assert main([*tune(tmp_path), '--tick-hz', '10', '--cpu', '0.1']) == 0
        printed = capsys.readouterr().out
        assert printed.startswith('Looking for the parameters with which a robot needs the fewest ticks to its goals')
        for column in ('cost ratio', 'first move', 'backtracking', 'restarts', 'tick p99'):
            assert column in printed
        parameters = read_parameters(tmp_path / 'tuned.yaml')
        assert parameters.tick_frequency == 10.0
        assert f'{parameters.expansions_per_tick:,} expansions per tick' in printed
        assert (tmp_path / 'tuned.png').read_bytes().startswith(b'\x89PNG')

    def test_draws_over_its_own_plots_only(self, tmp_path, capsys):
        """Beside the file of parameters may lie the image of a map."""
        pytest.importorskip('matplotlib')
        image = tmp_path / 'tuned.png'
        image.write_bytes(b'a map')
        assert main(tune(tmp_path)) == 2
        assert 'tuned.png: the file exists and is not a plot of the tuner' in capsys.readouterr().err
        assert image.read_bytes() == b'a map'
        image.unlink()
        assert [main(tune(tmp_path)) for _ in range(2)] == [0, 0]

    def test_draws_the_plot_of_a_map_with_any_name(self, tmp_path):
        """Matplotlib would take the dollar signs of such a name for a formula."""
        pytest.importorskip('matplotlib')
        command, path, *options = tune(tmp_path)
        odd = Path(path).rename(tmp_path / r'dollars $\no_formula$.map')
        assert main([command, str(odd), *options]) == 0
        assert (tmp_path / 'tuned.png').read_bytes().startswith(b'\x89PNG')

    def test_writes_a_time_that_fits_into_a_tick(self, tmp_path):
        """The search time serves a node that searches for a time, on another computer."""
        assert main([*tune(tmp_path), '--tick-hz', '200', '--cpu', '0.5']) == 0
        tuned = dataclasses.replace(read_parameters(tmp_path / 'tuned.yaml'), expansions_per_tick=0)
        assert tuned.search_time_s == pytest.approx(0.75 * 0.5 / 200, rel=0.01)
        assert list(tuned.problems()) == []

    def test_goes_out_from_the_parameters_that_there_are(self, tmp_path):
        mine = dataclasses.replace(PlannerParameters(), waypoint_distance_m=2.5, tick_frequency=8.0, weight=4.0)
        (tmp_path / 'mine.yaml').write_text(parameter_file(mine, '', {}))
        assert main([*tune(tmp_path), '--params', str(tmp_path / 'mine.yaml')]) == 0
        tuned = read_parameters(tmp_path / 'tuned.yaml')
        assert (tuned.waypoint_distance_m, tuned.tick_frequency) == (2.5, 8.0)

    @pytest.mark.parametrize(
        ('options', 'message'),
        [
            (['--cpu', '3'], '--cpu is 3'),
            (['--tick-hz', '-1'], '--tick-hz is -1'),
            (['--tick-hz', '0'], '--tick-hz is 0'),
            (
                ['--png', 'no/such/folder/plot.png'],
                '--png no/such/folder/plot.png: the folder no/such/folder does not exist',
            ),
            (['--problems', '0'], '--problems is 0; it must be at least 1'),
            (['--seed', '-1'], '--seed is -1; it must be at least 0'),
            (['--time-limit', '0'], '--time-limit is 0 s'),
            (['-o', 'no/such/folder/planner.yaml'], 'does not exist'),
            (['--params', 'nothing.yaml'], 'nothing.yaml: cannot be read'),
            (['-o', 'plot.png'], 'choose another name for it with --png'),
            (['--time-limit', 'nan'], '--time-limit is nan s'),
            (['--cpu', '1e-9'], '--cpu must be above'),
        ],
    )
    def test_refuses_what_cannot_be_done(self, options, message, tmp_path, capsys):
        assert main([*tune(tmp_path), *options]) == 2
        complaint = capsys.readouterr().err.splitlines()[-1]
        assert message in complaint

    def test_needs_no_ros(self, tmp_path):
        """The command runs where the modules of ROS cannot be imported."""
        blocked = ('rclpy', 'rcl_interfaces', 'builtin_interfaces', 'geometry_msgs', 'nav_msgs', 'tf2_ros', 'launch')
        code = f'import sys; sys.modules.update(dict.fromkeys({blocked})); import tb_planner.tools.cli as command; '
        code += f'sys.exit(command.main({[*tune(tmp_path), "--problems", "2"]}))'
        done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert 'Recommended' in done.stdout
