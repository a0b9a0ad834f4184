"""The command line as a process of its own, and the pictures that it draws."""

from __future__ import annotations

import io
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageColor

import tb_planner
from tb_planner import Static, TimeBoundedPlanner, move_to_goal, tb_wa_star
from tb_planner.__main__ import main
from tb_planner.maps.costmap import CostmapConfig, costs_of
from tb_planner.maps.files import Map, read_map
from tb_planner.recording.format import MAGIC
from tb_planner.search.grid import Grid
from tb_planner.tools import plotting as picture

ROOT = Path(__file__).parents[1]
ROOM = """type octile
height 7
width 9
map
.........
.@@@@@@..
.@....@..
.@..@.@..
....@.@..
.@@@@.@..
.........
"""
CUP_SIDE = 15

needs_matplotlib = pytest.mark.skipif(find_spec('matplotlib') is None, reason='matplotlib is not installed')


def run_process(*arguments, cwd=None):
    command = [sys.executable, '-m', 'tb_planner', *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def run_command(*arguments):
    """Runs the command in this process, which saves the start of another."""
    command = [str(argument) for argument in arguments]
    with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()) as errors:
        try:
            code = main(command)
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess(command, code, output.getvalue(), errors.getvalue())


def row_of(report, name):
    """Figure and remark of one row of a report."""
    (row,) = re.findall(rf'^  {name}  +(\S+(?: ms| m)?)(?:   (\S.*))?$', report, re.MULTILINE)
    return row


def figure_of(report, name):
    return float(row_of(report, name)[0].split()[0].replace(',', ''))


@pytest.fixture
def room(tmp_path):
    path = tmp_path / 'room.map'
    path.write_text(ROOM)
    return path


@pytest.fixture
def cup(tmp_path):
    """A cup that is open to the left, where the start is; the goal lies behind its bottom."""
    rows = [['.'] * CUP_SIDE for _ in range(CUP_SIDE)]
    for x in range(3, 12):
        rows[2][x] = rows[12][x] = '@'
    for y in range(2, 13):
        rows[y][11] = '@'
    path = tmp_path / 'cup.map'
    path.write_text(f'type octile\nheight {CUP_SIDE}\nwidth {CUP_SIDE}\nmap\n' + '\n'.join(map(''.join, rows)) + '\n')
    return path


@pytest.fixture
def hall(tmp_path):
    """A hall of 6 m x 4 m around (0, 0), a wall at x = 0 with a door of 0.6 m around y = -1, unknown cells around."""
    image = np.full((60, 100), 205, np.uint8)
    image[10:50, 20:80] = 254
    image[10:50, 50] = 0
    image[37:43, 50] = 254
    Image.fromarray(image).save(tmp_path / 'hall.png')
    path = tmp_path / 'hall.yaml'
    path.write_text(
        'image: hall.png\nresolution: 0.1\norigin: [-5.0, -3.0, 0.0]\n'
        'negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n'
    )
    return path


class TestSolve:
    def test_an_arrival_is_reported_with_its_cost_against_the_optimum(self, tmp_path):
        path = tmp_path / 'open.map'
        path.write_text('type octile\nheight 3\nwidth 6\nmap\n' + '......\n' * 3)
        result = run_command('solve', path, '--start', 0, 0, '--goal', 5, 2)
        assert (result.returncode, result.stderr) == (0, '')
        assert 'open: 6 x 3 cells' in result.stdout
        assert '\n  arrived\n' in result.stdout
        assert figure_of(result.stdout, 'cost') == pytest.approx(3 + 2 * math.sqrt(2), abs=6e-4)
        assert row_of(result.stdout, 'cost')[1] == '1.0000 times the optimal cost, 5.828'
        assert row_of(result.stdout, 'moves') == ('5', '0 backtracking')
        assert row_of(result.stdout, 'searches')[0] == '1'

    def test_a_short_sighted_search_pays_more_than_the_optimum(self, cup):
        arguments = ('solve', cup, '--start', 5, 7, '--goal', 14, 7, '--algorithm')
        blind = run_command(*arguments, 'tba_star', '-k', 1).stdout
        sighted = run_command(*arguments, 'tba_star', '-k', 10_000).stdout
        assert figure_of(blind, 'cost') > figure_of(sighted, 'cost')
        assert figure_of(blind, 'intervals') > figure_of(sighted, 'intervals')
        assert row_of(sighted, 'cost')[1].startswith('1.0000 times')
        ratio, optimal = re.fullmatch(r'(\S+) times the optimal cost, (\S+)', row_of(blind, 'cost')[1]).groups()
        assert float(optimal) == figure_of(sighted, 'cost')
        assert float(ratio) == pytest.approx(figure_of(blind, 'cost') / figure_of(sighted, 'cost'), abs=1e-3)

    @pytest.mark.parametrize('algorithm', ['tba_star', 'tb_wa_star', 'tb_gbfs', 'rtba_star', 'tbaa_star'])
    def test_every_algorithm_arrives(self, room, algorithm):
        result = run_command('solve', room, '--start', 2, 3, '--goal', 8, 6, '--algorithm', algorithm, '-k', 3)
        assert (result.returncode, result.stderr) == (0, '')

    def test_the_report_names_the_options_of_the_search(self, room):
        kind = ('--algorithm', 'tb_wa_star', '-w', 1.5, '--ties', 'larger_g')
        result = run_command('solve', room, '--start', 2, 3, '--goal', 8, 6, *kind, '-k', 7, '--trace-steps', 2)
        assert result.returncode == 0
        assert 'TB-WA* (w = 1.5): k = 7, ties larger_g' in result.stdout

    def test_neighbours_and_corner_cutting_change_the_path(self, room):
        arguments = ('solve', room, '--start', 0, 0, '--goal', 8, 3, '-k', 1000)
        for options, cost in (
            ((), 9 + math.sqrt(2)),
            (('--corner-cutting',), 7 + 2 * math.sqrt(2)),
            (('--neighbours', 4), 11),
        ):
            assert figure_of(run_command(*arguments, *options).stdout, 'cost') == pytest.approx(cost, abs=6e-4)

    def test_no_path_ends_with_1(self, room):
        room.write_text(ROOM.replace('....@.@..', '.@..@.@..').replace('.@@@@.@..', '.@@@@@@..'))
        result = run_command('solve', room, '--start', 2, 2, '--goal', 8, 6)
        assert (result.returncode, result.stderr) == (1, '')
        assert '\n  there is no path\n' in result.stdout

    def test_too_few_intervals_end_with_1(self, room):
        result = run_command('solve', room, '--start', 2, 3, '--goal', 8, 6, '--max-intervals', 4)
        assert (result.returncode, result.stderr) == (1, '')
        assert '\n  not arrived after 4 intervals\n' in result.stdout
        assert figure_of(result.stdout, 'intervals') == 4
        assert row_of(result.stdout, 'cost')[1].startswith('the optimal path costs ')

    def test_start_and_goal_may_be_given_in_metres(self, hall):
        result = run_command('solve', hall, '--metres', '--start', -2.95, -1.95, '--goal', 2.95, 1.95)
        assert (result.returncode, result.stderr) == (0, '')
        assert 'from (20, 10) to (79, 49)' in result.stdout
        assert row_of(result.stdout, 'length')[0].endswith(' m')
        assert figure_of(result.stdout, 'length') == pytest.approx(figure_of(result.stdout, 'cost') / 10, abs=0.01)

    def test_the_robots_radius_closes_a_narrow_door(self, hall):
        arguments = ('solve', hall, '--metres', '--start', -2, 0, '--goal', 2, 0, '--unknown', 'blocked')
        assert run_command(*arguments, '--robot-radius', 0.2).returncode == 0
        assert run_command(*arguments, '--robot-radius', 0.5).returncode == 1
        assert run_command(*arguments[:-2], '--robot-radius', 0.5).returncode == 0

    def test_inflation_makes_the_path_longer(self, hall):
        arguments = ('solve', hall, '--metres', '--start', -2, 0, '--goal', 2, 0, '-k', 100_000)
        near, far = run_command(*arguments).stdout, run_command(*arguments, '--inflation-radius', 1).stdout
        assert figure_of(near, 'cost') < figure_of(far, 'cost')
        assert figure_of(near, 'length') < figure_of(far, 'length')

    def test_help_shows_an_example_of_every_kind_of_map(self):
        result = run_command('solve', '--help')
        assert result.returncode == 0
        assert 'examples:' in result.stdout
        assert 'solve arena.map --start' in result.stdout
        assert 'solve depot.yaml --metres --start' in result.stdout
        assert result.stdout.startswith('usage: tb_planner solve')

    def test_the_help_text_lists_every_command(self):
        result = run_command('--help')
        assert result.returncode == 0
        commands = ['solve', 'demo', 'view', 'export', 'replay', 'tune']
        assert re.findall(r'^    (\w+)  ', result.stdout, re.MULTILINE) == commands

    def test_the_version_is_the_packages(self):
        result = run_process('--version')
        assert (result.returncode, result.stdout) == (0, f'tb_planner {tb_planner.__version__}\n')

    def test_demo_has_its_own_options(self):
        result = run_process('demo', '--help')
        assert result.returncode == 0
        assert result.stdout.startswith('usage: tb_planner demo')
        assert '--real-time-factor' in result.stdout

    def test_interrupt_ends_with_130_and_without_a_traceback(self, tmp_path):
        command = [sys.executable, '-m', 'tb_planner', 'view', '--live', tmp_path / 'run.tbrun']
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert 'until Ctrl-C' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert (process.returncode, output, errors) == (130, '', 'tb_planner: interrupted\n')

    @pytest.mark.parametrize('option', [('-m', 'tb_planner'), ('-mtb_planner',)], ids=' '.join)
    def test_interrupt_while_numpy_is_imported_ends_with_one_line(self, tmp_path, option):
        """NumPy turns a KeyboardInterrupt within its own imports into an ImportError."""
        (tmp_path / 'numpy.py').write_text(
            'import os, signal\n'
            'try:\n    os.kill(os.getpid(), signal.SIGINT)\n'
            'except KeyboardInterrupt as error:\n    raise ImportError("a page of advice") from error\n'
        )
        environment = {**os.environ, 'PYTHONPATH': f'{tmp_path}:{ROOT}'}
        command = [sys.executable, *option, 'solve', 'room.map']
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (-signal.SIGINT, '')
        assert done.stderr == '\ntb_planner: interrupted\n'


INTERRUPTED_WITHIN_NUMPY = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == 'datetime':  # NumPy imports it from C
            os.kill(os.getpid(), signal.SIGINT)

sys.argv = ['tb_planner', 'demo']
sys.meta_path.insert(0, Interrupt())
import tb_planner.__main__
"""


def test_an_interrupt_while_numpy_is_imported_ends_with_one_line():
    """NumPy would report it as an ImportError of 20 lines."""
    done = subprocess.run([sys.executable, '-c', INTERRUPTED_WITHIN_NUMPY], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == '\ntb_planner: interrupted\n'


def test_the_whole_path_is_found_before_the_first_move_on_request(cup):
    arguments = ('solve', cup, '--start', 5, 7, '--goal', 14, 7)
    whole = run_command(*arguments, '--whole')
    assert whole.returncode == 0
    assert 'the whole path before the first move' in whole.stdout
    assert row_of(whole.stdout, 'cost')[1].startswith('1.0000 times')
    assert row_of(run_command(*arguments, '-k', 1).stdout, 'cost')[1] != row_of(whole.stdout, 'cost')[1]


@pytest.mark.parametrize(('name', 'goal'), [('office', (25, 6)), ('warehouse', (34.5, 9))])
def test_a_map_of_the_package_is_named_without_its_path(name, goal, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run_command('solve', name, '--metres', '--start', 0, 0, '--goal', *goal)
    assert (result.returncode, result.stderr) == (0, '')
    assert result.stdout.startswith(f'{name}: ')


BAD_INPUT = {
    '': 'the following arguments are required: COMMAND',
    'walk': "argument COMMAND: invalid choice: 'walk'",
    'solve room.map --start 0 0': 'the following arguments are required: --goal',
    'solve room.map --start 0 0 --goal 8': 'argument --goal: expected 2 arguments',
    'solve room.map --start 0 0 --goal 8 six': "argument --goal: invalid float value: 'six'",
    'solve none.map --start 0 0 --goal 8 6': 'none.map: cannot be read: No such file or directory',
    'solve room.txt --start 0 0 --goal 8 6': 'room.txt: maps must be .map or .yaml files',
    'solve room.map --start 0.5 0 --goal 8 6': 'start (0.5, 0) is not a cell; give whole numbers',
    'solve room.map --start 0 nan --goal 8 6': 'start (0, nan) is not finite',
    'solve room.map --start 0 0 --goal 9 6': 'goal (9, 6) is outside the 9 x 7 grid',
    'solve room.map --start -1 0 --goal 8 6': 'start (-1, 0) is outside the 9 x 7 grid',
    'solve room.map --start 1 1 --goal 8 6': '(1, 1)',
    'solve room.map --start 0 0 --goal 6 3': '(6, 3)',
    'solve room.map --start 0 0 --goal 8 6 -k 0': '0',
    'solve room.map --start 0 0 --goal 8 6 -k many': "argument -k: invalid int value: 'many'",
    'solve room.map --start 0 0 --goal 8 6 --algorithm tb_wa_star -w 0.5': '0.5',
    'solve room.map --start 0 0 --goal 8 6 --algorithm tb_wa_star -w nan': 'nan',
    'solve room.map --start 0 0 --goal 8 6 -w 3': '-w 3 is for tb_wa_star; tba_star takes no weight',
    'solve room.map --start 0 0 --goal 8 6 --algorithm dijkstra': "argument --algorithm: invalid choice: 'dijkstra'",
    'solve room.map --start 0 0 --goal 8 6 --neighbours 6': 'argument --neighbours: invalid choice: ',
    'solve room.map --start 0 0 --goal 8 6 --max-intervals 0': '0',
    'solve room.map --start 0 0 --goal 8 6 --trace-steps 0': '0',
    'solve room.map --start 0 0 --goal 8 6 --metres': '--metres is for .yaml maps only; room.map is a .map file',
    'solve room.map --start 0 0 --goal 8 6 --robot-radius 0': '--robot-radius is for .yaml maps only; room.map is a',
    'solve room.map --start 0 0 --goal 8 6 --png no/run.png': '--png no/run.png: the folder no does not exist',
    'solve room.map --start 0 0 --goal 8 6 --png run.jpg': '--png run.jpg: pictures must be .png files',
    'solve room.map --start 1 1 --goal 8 7': 'start (1, 1) is blocked; the nearest free cell is (1, 0)',
    'solve room.map --start 0 0 --goal 8 6 -k 9 --whole': '-k 9 and --whole exclude each other',
    'solve hall.yaml --metres --start 1 0 --goal 9 6': ('goal (9, 6) m is outside the map, from (-5, -3) to (5, 3) m'),
    'solve hall.yaml --metres --start 1 0 --goal 0.02 1': (
        'goal (0.02, 1) m is blocked; the nearest free cell is (-0.05, 1.05) m'
    ),
    'solve hall.yaml --start 50 40 --goal 9 6': (
        'start (50, 40) is blocked; the nearest free cell is (49, 40) (these are cells; --metres takes metres)'
    ),
    'solve offic --start 0 0 --goal 1 1': 'offic: maps must be .map or .yaml files, or office or warehouse',
    'solve hall.yaml --start 1 1 --goal 9 6 --robot-radius -1': 'robot_radius_m -1.0 is below 0.0',
    'solve hall.yaml --start 1 1 --goal 9 6 --robot-radius 0.4 --inflation-radius 0.3': (
        'inflation_radius_m 0.3 is below robot_radius_m 0.4'
    ),
}


@pytest.mark.parametrize(('line', 'message'), BAD_INPUT.items())
def test_bad_input_ends_with_2_and_one_line_with_the_reason(room, hall, monkeypatch, line, message):
    monkeypatch.chdir(room.parent)
    result = run_command(*line.split())
    assert (result.returncode, result.stdout) == (2, '')
    assert message in result.stderr
    assert result.stderr.startswith('tb_planner')
    assert result.stderr.count('\n') == 1


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


@pytest.mark.parametrize(
    ('command', 'name'),
    [
        ('view run.tbrun', 'run.html'),
        ('export run.tbrun run.csv', 'run.csv'),
        ('solve office --metres --start 0 0 --goal 25 6 --png run.png', 'run.png'),
    ],
)
def test_a_file_that_cannot_be_written_to_its_end_is_named_and_removed(example, tmp_path, command, name):
    shutil.copy(example[1].with_suffix('.tbrun'), tmp_path)
    run = [sys.executable, '-m', 'tb_planner', *command.split()]
    done = subprocess.run(
        run, cwd=tmp_path, preexec_fn=small_files, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (2, f'tb_planner: {name}: File too large\n')
    assert [path.name for path in tmp_path.iterdir()] == ['run.tbrun']


@pytest.mark.parametrize('line', ['solve room.map --start 0 0 --goal 9 6', 'solve room.map --start 0 0 --goal 8'])
def test_a_process_with_bad_input_ends_as_quietly(room, line):
    result = run_process(*line.split(), cwd=room.parent)
    assert (result.returncode, result.stdout) == (2, '')
    assert BAD_INPUT[line] in result.stderr
    assert result.stderr.count('\n') == 1


@pytest.mark.parametrize('command', ['tune', 'replay'])
def test_the_record_of_a_run_is_not_taken_for_a_bag_or_a_map(command, tmp_path):
    path = tmp_path / 'run.tbrun'
    path.write_bytes(MAGIC + b'and so on')
    done = run_command(command, path)
    assert done.returncode == 2
    complaint = done.stderr.splitlines()[-1]
    assert f'{path} is the record of a run' in complaint
    assert f'tb_planner view {path}' in complaint


def test_the_tuner_explains_which_files_are_maps_and_bags(tmp_path):
    (tmp_path / 'depot.md').write_text('# Depot')
    complaint = run_command('tune', tmp_path / 'depot.md').stderr.splitlines()[-1]
    for kind in ('.map', '.yaml', '.mcap', '.db3', 'folder'):
        assert kind in complaint


@pytest.mark.parametrize('command', ['solve --start 0 0 --goal 1 1', 'view', 'view --live', 'tune', 'replay'])
def test_a_file_that_cannot_be_opened_is_reported_in_one_line(capsys, command):
    name, *options = command.split()
    assert main([name, 'x' * 300, *options]) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.startswith('tb_planner: xxx')


def test_a_picture_without_matplotlib_is_refused_before_the_run(room, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    assert main(['solve', str(room), '--start', '0', '0', '--goal', '8', '6', '--png', str(room.parent / 'a.png')]) == 2
    output, errors = capsys.readouterr()
    assert output == ''
    assert errors == 'tb_planner: pictures need matplotlib, which is not installed: pip install matplotlib\n'


@needs_matplotlib
class TestPicture:
    def test_is_drawn_on_request(self, room):
        result = run_command('solve', room, '--start', 2, 3, '--goal', 8, 6, '--png', room.parent / 'run.png')
        assert (result.returncode, result.stderr) == (0, '')
        assert f'  picture     {room.parent}/run.png\n' in result.stdout
        with Image.open(room.parent / 'run.png') as image:
            colours = {colour[:3] for _, colour in image.convert('RGB').getcolors(1 << 24)}
        shown = (picture.BLOCKED_COLOUR, picture.EXPANDED_COLOUR, picture.AHEAD_COLOUR, picture.GOAL_COLOUR)
        assert {ImageColor.getrgb(colour) for colour in shown} <= colours

    def test_is_drawn_of_a_failed_run(self, room):
        room.write_text(ROOM.replace('....@.@..', '.@..@.@..').replace('.@@@@.@..', '.@@@@@@..'))
        result = run_command('solve', room, '--start', 2, 2, '--goal', 8, 6, '--png', room.with_suffix('.png'))
        assert result.returncode == 1
        assert room.with_suffix('.png').stat().st_size > 0

    def test_of_a_map_with_any_name_is_drawn(self, room):
        """Matplotlib would take the dollar signs of such a name for a formula."""
        odd = room.rename(room.with_name(r'dollars $\no_formula$.map'))
        result = run_command('solve', odd, '--start', 2, 3, '--goal', 8, 6, '--png', odd.with_suffix('.png'))
        assert (result.returncode, result.stderr) == (0, '')
        assert odd.with_suffix('.png').stat().st_size > 0

    def test_that_cannot_be_written_is_refused_with_the_reason(self, room):
        (room.parent / 'run.png').mkdir()
        result = run_command('solve', room, '--start', 2, 3, '--goal', 8, 6, '--png', room.parent / 'run.png')
        assert result.returncode == 2
        assert result.stderr == f'tb_planner: --png {room.parent}/run.png: it is a folder; choose another name\n'

    def test_leaves_pyplot_and_its_global_state_alone(self):
        script = (
            'import sys, io, numpy as np\n'
            'from tb_planner.tools import plotting as picture\nfrom tb_planner.maps.files import Map\n'
            'grid = np.zeros((4, 5), np.int8)\n'
            'figure = picture.draw(picture.Scene(Map("a", grid), grid + np.float32(1), (0, 0), (3, 3)))\n'
            'picture.save(figure, io.BytesIO())\n'
            'sys.exit("matplotlib.pyplot" in sys.modules)\n'
        )
        assert subprocess.run([sys.executable, '-c', script], check=False).returncode == 0


@needs_matplotlib
class TestPixels:
    """Colours where cells are, looked up by the axes' own scale."""

    def drawn(self, tmp_path, map_, costs, **keywords):
        figure = picture.draw(picture.Scene(map_, costs, **keywords))
        picture.save(figure, tmp_path / 'a.png')
        with Image.open(tmp_path / 'a.png') as image:
            return figure, np.asarray(image.convert('RGB'))

    def in_map(self, figure, pixels, colour):
        """The pixels of the map's part of the picture that have this colour."""
        box = figure.axes[0].get_window_extent()
        top, bottom = (pixels.shape[0] - round(y) for y in (box.y1, box.y0))
        part = pixels[top:bottom, round(box.x0) : round(box.x1)]
        return (part == ImageColor.getrgb(colour)).all(axis=-1)

    def pixel(self, figure, pixels, x, y):
        column, row = figure.axes[0].transData.transform((x, y))
        return tuple(pixels[pixels.shape[0] - 1 - int(row), int(column)])

    def test_every_kind_of_cell_has_its_colour(self, tmp_path):
        occupancy = np.zeros((6, 9), np.int8)
        occupancy[2, 2] = 100
        occupancy[5, :3] = -1
        rules = CostmapConfig(resolution_m=1.0, robot_radius_m=1.0, inflation_radius_m=1.0)
        expanded = np.zeros((6, 9), bool)
        expanded[0, 4:7] = True
        figure, pixels = self.drawn(
            tmp_path,
            Map('a', occupancy),
            costs_of(occupancy, rules),
            start=(8, 0),
            goal=(8, 5),
            expanded=expanded,
            open_cells=[(4, 3)],
        )
        for cell, colour in (
            ((2, 2), picture.BLOCKED_COLOUR),
            ((3, 2), picture.INFLATED_COLOUR),
            ((1, 5), picture.UNKNOWN_COLOUR),
            ((5, 0), picture.EXPANDED_COLOUR),
            ((4, 3), picture.OPEN_COLOUR),
            ((6, 4), picture.FREE_COLOUR),
            ((8, 0), picture.START_COLOUR),
            ((8, 5), picture.GOAL_COLOUR),
        ):
            assert self.pixel(figure, pixels, *cell) == ImageColor.getrgb(colour), cell

    def test_cost_darkens_a_cell(self, tmp_path):
        costs = np.array([[1, 1, 2, 3, 1]], np.float32)
        figure, pixels = self.drawn(
            tmp_path, Map('a', np.zeros((1, 5), np.int8)), costs, start=(0, 0), goal=(4, 0), walked=[]
        )
        free, higher, highest = (sum(map(int, self.pixel(figure, pixels, x, 0.2))) for x in (1, 2, 3))
        assert free > higher > highest

    def test_row_0_is_at_the_top_or_at_the_bottom(self, tmp_path):
        occupancy = np.zeros((6, 6), np.int8)
        occupancy[0, :] = 100
        costs = costs_of(occupancy, CostmapConfig(resolution_m=1.0))
        for y_up in (False, True):
            figure, pixels = self.drawn(tmp_path, Map('a', occupancy, y_up=y_up), costs, start=(0, 3), goal=(5, 3))
            blocked = self.in_map(figure, pixels, picture.BLOCKED_COLOUR)
            lower = blocked.shape[0] // 2
            assert blocked.any()
            assert blocked[:lower].any() == (not y_up)
            assert blocked[lower:].any() == y_up

    def test_cells_of_a_small_map_are_squares_of_one_colour(self, tmp_path):
        occupancy = np.zeros((100, 100), np.int8)
        occupancy[40:60:2, 40:60:2] = 100
        costs = costs_of(occupancy, CostmapConfig(resolution_m=1.0))
        figure, pixels = self.drawn(tmp_path, Map('a', occupancy), costs, start=(0, 0), goal=(99, 99))
        blocked = self.in_map(figure, pixels, picture.BLOCKED_COLOUR)
        side = blocked.shape[0] // 100
        assert blocked.shape == (100 * side, 100 * side)
        middle = slice(30 * side, 70 * side)
        cells = occupancy[30:70, 30:70] == 100
        assert np.array_equal(blocked[middle, middle], np.kron(cells, np.ones((side, side), bool)))

    def test_a_path_across_a_large_map_stays_visible(self, tmp_path):
        occupancy = np.zeros((300, 4000), np.int8)
        walked = [(x, 150) for x in range(4000)]
        figure, pixels = self.drawn(
            tmp_path,
            Map('a', occupancy),
            np.ones(occupancy.shape, np.float32),
            start=walked[0],
            goal=walked[-1],
            walked=walked,
        )
        assert max(pixels.shape) < 3000
        path = (pixels == ImageColor.getrgb(picture.AHEAD_COLOUR)).all(axis=-1)
        left, right = (figure.axes[0].transData.transform((x, 150))[0] for x in (100, 3900))
        assert (path[:, int(left) : int(right)].sum(axis=0) >= 4).all()

    def test_steps_back_are_drawn_in_another_colour(self, tmp_path):
        walked = [(1, 1), (2, 1), (3, 1), (4, 1), (3, 1), (2, 1), (2, 2), (2, 3)]
        figure, pixels = self.drawn(
            tmp_path,
            Map('a', np.zeros((5, 7), np.int8)),
            np.ones((5, 7), np.float32),
            start=(1, 1),
            goal=(2, 3),
            walked=walked,
        )
        assert self.pixel(figure, pixels, 3.5, 1) == ImageColor.getrgb(picture.BACK_COLOUR)
        assert self.pixel(figure, pixels, 1.5, 1) == ImageColor.getrgb(picture.AHEAD_COLOUR)
        assert self.pixel(figure, pixels, 2, 2) == ImageColor.getrgb(picture.AHEAD_COLOUR)

    def test_unknown_surroundings_are_cut_off(self, tmp_path):
        occupancy = np.full((500, 500), -1, np.int8)
        occupancy[200:220, 240:280] = 0
        figure, _ = self.drawn(
            tmp_path, Map('a', occupancy), np.ones((500, 500), np.float32), start=(240, 200), goal=(300, 219)
        )
        assert figure.axes[0].get_xlim() == (240 - picture.RIM - 0.5, 300 + picture.RIM + 0.5)
        assert sorted(figure.axes[0].get_ylim()) == [200 - picture.RIM - 0.5, 219 + picture.RIM + 0.5]

    def test_scales_of_a_map_server_map_are_in_metres(self, tmp_path):
        map_ = Map('a', np.zeros((40, 60), np.int8), 0.05, (-1.0, 2.0, 0.0), y_up=True)
        figure, _ = self.drawn(tmp_path, map_, np.ones((40, 60), np.float32), start=(0, 0), goal=(59, 39))
        assert figure.axes[0].get_xlim() == pytest.approx((-1.0, 2.0))
        assert figure.axes[0].get_ylim() == pytest.approx((2.0, 4.0))

    def test_legend_names_what_is_there_and_nothing_else(self):
        occupancy = np.zeros((5, 5), np.int8)
        costs = np.ones((5, 5), np.float32)
        scene = picture.Scene(Map('a', occupancy), costs, (0, 0), (2, 0), walked=[(0, 0), (1, 0), (2, 0)])
        figure = picture.draw(scene)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ['moves', 'start', 'goal']


def test_steps_that_undo_the_last_one_are_steps_back():
    a, b, c, d = (0, 0), (1, 0), (2, 0), (2, 1)
    assert picture.backtracking_moves([]) == []
    assert picture.backtracking_moves([a]) == []
    assert picture.backtracking_moves([a, b, c]) == [False, False]
    assert picture.backtracking_moves([a, b, c, b, a]) == [False, False, True, True]
    assert picture.backtracking_moves([a, b, c, b, c, d]) == [False, False, True, False, False]
    assert picture.backtracking_moves([a, b, a, b, a]) == [False, True, False, True]


@pytest.mark.parametrize('k', [1, 2, 5])
def test_what_is_drawn_as_walked_back_is_what_the_planner_counts(cup, k):
    blocked = read_map(cup).blocked
    planner = TimeBoundedPlanner(Grid(blocked), (5, 7), (14, 7), tb_wa_star(3.0), k=k)
    run = move_to_goal(planner, Static(Grid(blocked)))
    assert run.searches == 1
    assert sum(picture.backtracking_moves(run.cells)) == run.back_moves > 0
