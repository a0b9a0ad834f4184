"""The command `tb_planner`: its commands, and `tb_planner solve MAP --start X Y --goal X Y`.

The exit code is 0 if the agent arrived, 1 if it did not, 2 for bad input and 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import tb_planner
from tb_planner.errors import cut
from tb_planner.files import check_may_write, written_whole
from tb_planner.geometry import Cell, length_m
from tb_planner.maps.costmap import CostmapConfig, costs_of
from tb_planner.maps.files import MAP_FILES, MAP_SUFFIXES, Map, read_map
from tb_planner.search import kernel
from tb_planner.search.agent import Run, Static, move_to_goal
from tb_planner.search.algorithms import ALGORITHMS, TIES, WEIGHTED, Algorithm, make_algorithm, takes_weight, tba_star
from tb_planner.search.grid import Grid
from tb_planner.search.planner import UNBOUNDED, SearchResult, Status, TimeBoundedPlanner, find_path
from tb_planner.simulation.scenes import DEMO_GOALS, map_file
from tb_planner.tools import export, replay
from tb_planner.tools import plotting as picture
from tb_planner.tools import view_command as view
from tb_planner.tools.arguments import BAD_INPUT, OneLineParser
from tb_planner.tools.tuning import command as tuning

ARRIVED, NOT_ARRIVED, INTERRUPTED = 0, 1, 130
WEIGHT = 3.0
K = 256
MAP_HELP = 'a MovingAI .map file, a map_server .yaml file, or one of our maps, office and warehouse'

EXAMPLES = """examples:
  tb_planner solve arena.map --start 3 4 --goal 40 52
  tb_planner solve arena.map --start 3 4 --goal 40 52 --algorithm tb_wa_star -w 3 -k 64 --png arena.png
  tb_planner solve depot.yaml --metres --start 2 2 --goal 28 12 --robot-radius 0.2 --inflation-radius 0.7
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    try:
        options = make_parser().parse_args(arguments)
        if not kernel.COMPILED:
            print('tb_planner: the kernel is not compiled; it runs as plain Python, many times slower', file=sys.stderr)
        command: Callable[[argparse.Namespace], int] = options.command
        return command(options)
    except (ValueError, picture.PictureError) as error:
        print(f'tb_planner: {cut(" ".join(str(error).splitlines()))}', file=sys.stderr)
        return BAD_INPUT
    except OSError as error:  # a file that cannot be read or written
        where = '' if error.filename is None else f'{error.filename}: '
        print(f'tb_planner: {where}{error.strerror or error}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print('tb_planner: interrupted', file=sys.stderr)
        return INTERRUPTED


def make_parser() -> OneLineParser:
    parser = OneLineParser(prog='tb_planner', description='Time-bounded best-first search on occupancy grids.')
    parser.add_argument('--version', action='version', version=f'tb_planner {tb_planner.__version__}')
    commands = parser.add_subparsers(title='commands', metavar='COMMAND', required=True)
    solve_parser = commands.add_parser(
        'solve',
        help='move an agent from start to goal on a static map, and report the run',
        description='Moves an agent from start to goal on a static map, at most one move per interval, and reports '
        'cost, moves, expansions and search time.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    solve_parser.set_defaults(command=solve)
    add_solve_options(solve_parser)
    # __main__ runs the demo, which needs ROS 2; here it only has its line in the help text
    commands.add_parser('demo', help='let a simulated robot drive through a changing building (needs ROS 2)')
    view.add_parser(commands)
    export.add_parser(commands)
    replay.add_parser(commands)
    tuning.add_parser(commands)
    return parser


def add_solve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('map', metavar='MAP', type=Path, help=MAP_HELP)
    for name in ('start', 'goal'):
        parser.add_argument(
            f'--{name}', metavar=('X', 'Y'), nargs=2, type=float, required=True, help='a cell, or metres'
        )
    parser.add_argument('--png', metavar='FILE', type=Path, help='draw the map, the expanded cells and the moves')
    search = parser.add_argument_group('search').add_argument
    search('--algorithm', choices=tuple(ALGORITHMS), default='tba_star', help='search algorithm (default: tba_star)')
    search('-w', '--weight', metavar='W', type=float, help=f'weight of {WEIGHTED} (default: {WEIGHT:g})')
    search('-k', metavar='N', type=int, help=f'expansions per interval (default: {K})')
    search('--whole', action='store_true', help='find the whole path before the first move, in place of -k')
    search('--trace-steps', metavar='N', type=int, help='trace-back steps per interval (default: no limit)')
    search('--ties', choices=TIES, default='lifo', help='order of states with equal f (default: lifo)')
    search('--max-intervals', metavar='N', type=int, help='give up after N intervals')
    grid = parser.add_argument_group('grid').add_argument
    grid('--neighbours', type=int, choices=(4, 8), default=8, help='neighbours per cell (default: 8)')
    grid('--corner-cutting', action='store_true', help='allow diagonal moves past the corner of a blocked cell')
    yaml = parser.add_argument_group('.yaml maps only').add_argument
    yaml('--metres', action='store_true', help="start and goal are in metres, in the map's frame")
    yaml(
        '--robot-radius',
        metavar='M',
        type=float,
        help='cells within this distance of obstacles are blocked (default: 0)',
    )
    yaml('--inflation-radius', metavar='M', type=float, help='cells within this distance have a higher cost')
    yaml('--unknown', choices=('free', 'blocked'), help='how to treat unknown cells (default: free)')


@dataclass(frozen=True, eq=False)
class SolveProblem:
    """The map, the endpoints and the search that the command line names."""

    map_: Map
    costs: NDArray[np.float32]
    grid: Grid
    start: Cell
    goal: Cell
    algorithm: Algorithm
    k: int


def solve(options: argparse.Namespace) -> int:
    """Reads the map, moves the agent, and prints the report."""
    if options.png is not None:
        check_can_draw(options.png)
    problem = read_problem(options)
    grid, start, goal = problem.grid, problem.start, problem.goal
    for name, cell in (('start', start), ('goal', goal)):
        check_free(name, cell, problem, options)
    planner = TimeBoundedPlanner(grid, start, goal, problem.algorithm, problem.k, trace_steps=options.trace_steps)
    run = move_to_goal(planner, Static(grid), max_intervals=options.max_intervals, clock=time.thread_time)
    optimal = find_path(grid, start, goal, tba_star())
    print(report(problem, run, optimal))
    if options.png is not None:
        draw(problem, planner, run, optimal, options.png)
    return ARRIVED if run.status == Status.AT_GOAL else NOT_ARRIVED


def read_problem(options: argparse.Namespace) -> SolveProblem:
    options.map = map_file(options.map)
    if options.map.suffix.lower() not in MAP_SUFFIXES:
        raise ValueError(f'{options.map}: {MAP_FILES}, or {" or ".join(DEMO_GOALS)}')
    map_ = read_map(options.map)
    if options.map.suffix == '.map':
        refuse_yaml_options(options)
    costs = read_costs(map_, options)
    blocked = np.isinf(costs)
    weighted = ((costs != 1) & ~blocked).any()
    return SolveProblem(
        map_=map_,
        costs=costs,
        grid=Grid(costs if weighted else blocked, neighbours=options.neighbours, corner_cutting=options.corner_cutting),
        start=read_cell('start', map_, options),
        goal=read_cell('goal', map_, options),
        algorithm=read_algorithm(options),
        k=read_k(options),
    )


def refuse_yaml_options(options: argparse.Namespace) -> None:
    """Raises ValueError: a .map file has no frame, no resolution and no unknown cells."""
    for name in ('metres', 'robot_radius', 'inflation_radius', 'unknown'):
        value = getattr(options, name)
        if value is not None and value is not False:
            raise ValueError(f'--{name.replace("_", "-")} is for .yaml maps only; {options.map} is a .map file')


def read_costs(map_: Map, options: argparse.Namespace) -> NDArray[np.float32]:
    robot_radius_m = options.robot_radius or 0.0
    rules = CostmapConfig(
        resolution_m=map_.resolution_m,
        allow_unknown=options.unknown != 'blocked',
        robot_radius_m=robot_radius_m,
        inflation_radius_m=robot_radius_m if options.inflation_radius is None else options.inflation_radius,
    )
    return costs_of(map_.occupancy, rules)


def read_cell(name: str, map_: Map, options: argparse.Namespace) -> Cell:
    x, y = getattr(options, name)
    if not (math.isfinite(x) and math.isfinite(y)):
        raise ValueError(f'{name} ({x:g}, {y:g}) is not finite')
    if not options.metres:
        if not (x.is_integer() and y.is_integer()):
            raise ValueError(f'{name} ({x:g}, {y:g}) is not a cell; give whole numbers, or --metres with a .yaml map')
        return int(x), int(y)
    cell = map_.geometry.cell_at(x, y)
    if not map_.geometry.contains(cell):
        corners = (map_.geometry.to_world(0, 0), map_.geometry.to_world(map_.width, map_.height))
        low, high = (f'({x_m:g}, {y_m:g})' for x_m, y_m in corners)
        raise ValueError(f'{name} ({x:g}, {y:g}) m is outside the map, from {low} to {high} m')
    return cell


def check_free(name: str, cell: Cell, problem: SolveProblem, options: argparse.Namespace) -> None:
    """Raises ValueError with the nearest free cell, in the unit of the command line."""
    grid, geometry = problem.grid, problem.map_.geometry
    if not geometry.contains(cell) or not grid.is_blocked(cell):
        return
    free = grid.nearest_free(cell, max(grid.width, grid.height))
    if options.metres:
        text = '({:g}, {:g}) m'.format(*getattr(options, name))
        nearest = '({:.2f}, {:.2f}) m'.format(*geometry.centre_of(free)) if free is not None else ''
    else:
        text, nearest = f'{cell}', f'{free}'
    hint = f'; the nearest free cell is {nearest}' if free is not None else ', and so are all cells'
    unit = ' (these are cells; --metres takes metres)' if problem.map_.y_up and not options.metres else ''
    raise ValueError(f'{name} {text} is blocked{hint}{unit}')


def read_k(options: argparse.Namespace) -> int:
    if options.whole and options.k is not None:
        raise ValueError(f'-k {options.k} and --whole exclude each other; leave one of them out')
    return UNBOUNDED if options.whole else K if options.k is None else int(options.k)


def read_algorithm(options: argparse.Namespace) -> Algorithm:
    if options.weight is not None and not takes_weight(options.algorithm):
        raise ValueError(f'-w {options.weight:g} is for {WEIGHTED}; {options.algorithm} takes no weight')
    weight = WEIGHT if options.weight is None else options.weight
    return make_algorithm(options.algorithm, weight, ties=options.ties)


def report(problem: SolveProblem, run: Run, optimal: SearchResult) -> str:
    """Returns the report: two lines about the problem, the outcome, and one line per figure with a remark."""
    map_, grid, algorithm = problem.map_, problem.grid, problem.algorithm
    corners = 'with corner cutting' if grid.corner_cutting else 'no corner cutting'
    expansion_rate = f'{run.expansions / run.search_time_s / 1e6:,.2f} M' if run.search_time_s else 'no'
    rows = [
        ('cost', f'{run.cost:,.3f}', against_optimal(run, optimal)),
        ('moves', f'{run.moves:,}', f'{run.back_moves:,} backtracking'),
        ('intervals', f'{run.intervals:,}', ''),
        ('expansions', f'{run.expansions:,}', f'{run.expansions / max(run.intervals, 1):,.1f} per interval'),
        ('searches', f'{run.searches:,}', ''),
        ('search time', f'{1e3 * run.search_time_s:,.3f} ms', f'{expansion_rate} expansions/s'),
    ]
    if map_.y_up:
        rows.insert(1, ('length', f'{length_m(run.cells) * map_.resolution_m:,.2f} m', ''))
    return '\n'.join(
        [
            f'{map_.name}: {map_.width} x {map_.height} cells, {100 * np.isinf(problem.costs).mean():.0f} % blocked; '
            f'{grid.neighbours} neighbours, {corners}',
            f'{algorithm.title}: {k_text(problem)}, ties {algorithm.ties}; from {problem.start} to {problem.goal}',
            f'\n  {outcome(run)}',
            *(f'  {name:<12}{figure:>16}   {remark}'.rstrip() for name, figure, remark in rows),
        ]
    )


def k_text(problem: SolveProblem) -> str:
    return 'the whole path before the first move' if problem.k == UNBOUNDED else f'k = {problem.k:,}'


def outcome(run: Run) -> str:
    if run.status == Status.AT_GOAL:
        return 'arrived'
    if run.status == Status.NO_PATH:
        return 'there is no path'
    return f'not arrived after {run.intervals:,} intervals'


def against_optimal(run: Run, optimal: SearchResult) -> str:
    if run.status != Status.AT_GOAL:
        return '' if math.isinf(optimal.cost) else f'the optimal path costs {optimal.cost:,.3f}'
    ratio = run.cost / optimal.cost if optimal.cost else 1.0
    return f'{ratio:.4f} times the optimal cost, {optimal.cost:,.3f}'


def check_can_draw(path: Path) -> None:
    """Raises before the run, not after it, if the picture cannot be written."""
    if path.suffix.lower() != '.png':
        raise ValueError(f'--png {path}: pictures must be .png files')
    check_may_write(path, 'a picture', lambda _: True, '--png')
    picture.check_matplotlib()


def draw(problem: SolveProblem, planner: TimeBoundedPlanner, run: Run, optimal: SearchResult, path: Path) -> None:
    cost = f'cost {run.cost:,.2f}'
    if run.status == Status.AT_GOAL and optimal.cost:
        cost += f', {run.cost / optimal.cost:.3f} times the optimal cost'
    scene = picture.Scene(
        problem.map_,
        problem.costs,
        start=problem.start,
        goal=problem.goal,
        expanded=planner.expanded,
        open_cells=[cell for cell, _, _ in planner.open_cells()],
        walked=run.cells,
    )
    figure = picture.draw(
        scene,
        title=f'{problem.map_.name}: {problem.algorithm.title}, {k_text(problem)}',
        figures=[
            outcome(run),
            cost,
            f'{run.moves:,} moves ({run.back_moves:,} backtracking)',
            f'{run.intervals:,} intervals',
            f'{run.expansions:,} expansions',
        ],
    )
    with written_whole(path):
        picture.save(figure, path)
    print(f'  {"picture":<12}{path}')
