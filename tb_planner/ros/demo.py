"""Runs a simulator and a planner as two processes on ROS 2, and sends the robot to a goal.

The exit code is 0 if the robot arrived without a collision, 1 if it did not, 2 if the demo cannot run, and 130 after
Ctrl-C before its arrival. The demo always ends the processes that it started, and writes picture and replay whenever it
is ended.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import select
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from tb_planner.config import PlannerParameters
from tb_planner.errors import OperationFailed
from tb_planner.files import check_may_write
from tb_planner.geometry import Cell, Pose2D
from tb_planner.maps.costmap import costs_of
from tb_planner.maps.files import Map, read_map
from tb_planner.parameters import find_errors
from tb_planner.recording import read_record
from tb_planner.recording.format import BadRecord
from tb_planner.recording.writer import empty_record, may_begin
from tb_planner.ros.processes import (
    DDS_PROFILES,
    LOOPBACK,
    Domain,
    NoFreeDomain,
    Process,
    Processes,
    end,
    ros_arguments,
    signals_held_back,
)
from tb_planner.search.algorithms import ALGORITHMS, WEIGHTED, takes_weight
from tb_planner.search.grid import Grid
from tb_planner.search.planner import Status, find_path
from tb_planner.simulation.parameters import SimulatorParameters
from tb_planner.simulation.robot import sweep_touches
from tb_planner.simulation.scenes import DEMO_GOALS, VIEWER_LIMIT_S, NoPlace, random_goal, random_start, shared_file
from tb_planner.simulation.simulator import WORLDS
from tb_planner.tools import plotting as picture
from tb_planner.tools.arguments import OneLineParser
from tb_planner.tools.drive import Drive, Place
from tb_planner.view.page import may_become_page, write_page

if TYPE_CHECKING:
    from tb_planner.ros.demo_monitor import DemoMonitor

ARRIVED, NOT_ARRIVED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

ROOM_M = 0.4
"""Clearance of a random start or goal."""
TRIES = 20
"""Random starts, of which the farthest is taken that has a path to the goal."""
CHANGE_RATE, CHANGE_SIZE_M = 0.2, 0.5
"""A few random obstacles, in addition to those of the map's script."""
REAL_TIME_FACTOR = 3.0
START_LIMIT_S = 20.0
DRIVE_LIMIT_S = 90.0
LAST_DIAGNOSTICS_LIMIT_S = 2.0
LIVE_PERIOD_S, LINE_PERIOD_S = 0.1, 3.0
RECORD, REPLAY = '.tbrun', '.html'
SHOWN_AT = re.compile(r'shown at (http://[\w.:]+/)')
"""The line that the view logs."""


class CannotRun(OperationFailed):
    """Something that the demo needs is not there, or one of its processes has ended."""


@dataclass(frozen=True)
class Journey:
    """Map, start and goal of the robot."""

    map_: Map
    start: Place
    goal: Place


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demo with these arguments of the command line and returns its exit code."""
    options = make_parser().parse_args(arguments)
    try:
        check_values(options)
        check_environment(options)
        return run(options, journey(options))
    except (CannotRun, NoFreeDomain, OSError, ValueError, picture.PictureError) as error:
        print(f'demo: {error}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print('\ndemo: interrupted before the run began; nothing was written', file=sys.stderr)
        return INTERRUPTED


def make_parser() -> OneLineParser:
    parser = OneLineParser(prog='tb_planner demo', description=__doc__.splitlines()[0])
    parser.add_argument('--map', default='office', help='office, warehouse, or the path of a map_server .yaml file')
    parser.add_argument('--world', choices=WORLDS, default='changing', help='default: changing')
    places = ', '.join(f'({x:g}, {y:g}) on {name}' for name, (x, y) in DEMO_GOALS.items())
    parser.add_argument(
        '--start', metavar=('X', 'Y'), nargs=2, type=float, help='in metres, default: (0, 0) on our maps, else random'
    )
    parser.add_argument(
        '--goal', metavar=('X', 'Y'), nargs=2, type=float, help=f'in metres, default: {places}, else random'
    )
    own = PlannerParameters()
    parser.add_argument(
        '--algorithm', choices=tuple(ALGORITHMS), default=own.algorithm, help=f'default: {own.algorithm}'
    )
    parser.add_argument('--weight', metavar='W', type=float, help=f'of {WEIGHTED}; default: {own.weight:g}')
    parser.add_argument(
        '--expansions-per-tick', metavar='N', type=int, default=0, help='default: whatever the time allows'
    )
    parser.add_argument('--seed', metavar='N', type=int, default=1, help="of the world's changes, default: 1")
    parser.add_argument(
        '--real-time-factor',
        metavar='F',
        type=float,
        default=REAL_TIME_FACTOR,
        help=f'simulated seconds in a second of real time, default: {REAL_TIME_FACTOR:g}',
    )
    parser.add_argument(
        '--limit-s',
        metavar='S',
        type=float,
        default=DRIVE_LIMIT_S,
        help=f'give up after S seconds, default: {DRIVE_LIMIT_S:g}',
    )
    parser.add_argument(
        '--png',
        metavar='FILE',
        type=Path,
        default=Path('demo.png'),
        help='picture of the run, default: demo.png; its record (.tbrun) and replay page (.html) get the same name',
    )
    parser.add_argument('--view', action='store_true', help='serve a live page of the run until Ctrl-C')
    parser.add_argument(
        '--viewer-limit-s',
        metavar='S',
        type=float,
        default=VIEWER_LIMIT_S,
        help=f'with --view, start after S seconds although no page is open, default: {VIEWER_LIMIT_S:g}',
    )
    return parser


def check_values(options: argparse.Namespace) -> None:
    """Raises CannotRun for a value that simulator or planner would refuse, before they start."""
    if options.weight is not None and not takes_weight(options.algorithm):
        raise CannotRun(f'--weight {options.weight:g} is for {WEIGHTED}; {options.algorithm} takes no weight')
    search = {'expansions_per_tick': options.expansions_per_tick}
    if options.weight is not None:
        search['weight'] = options.weight
    world = {'seed': options.seed, 'real_time_factor': options.real_time_factor}
    errors = [*find_errors(PlannerParameters, search), *find_errors(SimulatorParameters, world)]
    if not options.limit_s > 0:
        errors.append(f'--limit-s is {options.limit_s:g}; it must be above 0')
    if not options.viewer_limit_s >= 0:
        errors.append(f'--viewer-limit-s is {options.viewer_limit_s:g}; it must be at least 0')
    if errors:
        raise CannotRun('; '.join(errors))


def check_environment(options: argparse.Namespace) -> None:
    if not find_spec('rclpy'):
        raise CannotRun("the demo needs ROS 2: source its setup.bash, or pip install '.[ros,plot]' in a clone")
    picture.check_matplotlib()
    if options.png.suffix in (RECORD, REPLAY):
        raise CannotRun(f'{options.png} is not a name for a picture: {RECORD} is the record, {REPLAY} the replay page')
    check_may_write(options.png, 'a picture', lambda _: True, '--png')
    check_may_write(options.png.with_suffix(RECORD), 'the record of a run', may_begin, '--png')
    check_may_write(options.png.with_suffix(REPLAY), 'the page of a run', may_become_page, '--png')


def journey(options: argparse.Namespace) -> Journey:
    """Start and goal from the options, else those of the map, else random ones."""
    known = options.map in DEMO_GOALS
    if not known and not Path(options.map).exists():
        raise CannotRun(f'there is no map {options.map!r}; use {", ".join(DEMO_GOALS)}, or the path of a .yaml file')
    map_ = read_map(shared_file('maps', f'{options.map}.yaml') if known else options.map)
    grid = Grid(costs_of(map_.occupancy, PlannerParameters().costmap_config(map_.resolution_m)))
    start: Place | None = None if options.start is None else (options.start[0], options.start[1])
    goal: Place | None = None if options.goal is None else (options.goal[0], options.goal[1])
    if known:
        start, goal = start or (0.0, 0.0), goal or DEMO_GOALS[options.map]
    if start is not None:
        check_start(map_, grid, start)
    if goal is not None:
        check_goal(map_, grid, goal)
    if start is None:
        start = random_start_for(map_, grid, goal, options.seed)
    if goal is None:
        goal = _place(random_goal(map_.occupancy, map_.geometry, Pose2D(*start), ROOM_M, options.seed))
    check_path(map_, grid, start, goal)
    return Journey(map_, start, goal)


def random_start_for(map_: Map, grid: Grid, goal: Place | None, seed: int) -> Place:
    """A random start that a path connects with the goal, and far from it, if possible."""
    if goal is None:
        return _place(random_start(map_.occupancy, map_.geometry, ROOM_M, seed))
    with suppress(NoPlace):  # there is none in a small room, or for a goal beside a wall
        return _place(random_goal(map_.occupancy, map_.geometry, Pose2D(*goal), ROOM_M, seed))
    tried = [_place(random_start(map_.occupancy, map_.geometry, ROOM_M, seed + i)) for i in range(TRIES)]
    return max(tried, key=lambda start: (has_path(map_, grid, start, goal), math.dist(start, goal)))


def check_start(map_: Map, grid: Grid, start: Place) -> None:
    """Raises CannotRun for a start that the simulator would refuse."""
    check_on_map(map_, 'start', start)
    radius_m = SimulatorParameters().robot_radius_m
    here = map_.geometry.to_grid(*start)
    if sweep_touches(map_.occupancy, here, here, radius_m / map_.resolution_m):
        raise CannotRun(no_room('start', start, radius_m, map_, grid))


def check_goal(map_: Map, grid: Grid, goal: Place) -> None:
    """Raises CannotRun for a goal that the planner would report as blocked until the time is up."""
    check_on_map(map_, 'goal', goal)
    planner, geometry = PlannerParameters(), map_.geometry
    if grid.nearest_free(geometry.cell_at(*goal), geometry.whole_cells(planner.goal_tolerance_m)) is None:
        raise CannotRun(no_room('goal', goal, planner.robot_radius_m, map_, grid))


def check_path(map_: Map, grid: Grid, start: Place, goal: Place) -> None:
    """Raises CannotRun if the map has no path: obstacles of the demo only come on top."""
    if not has_path(map_, grid, start, goal):
        ends = f'from ({start[0]:g}, {start[1]:g}) to ({goal[0]:g}, {goal[1]:g}) m'
        distance_m = PlannerParameters().robot_radius_m
        raise CannotRun(f'no path leads {ends}: paths keep {distance_m:g} m away from obstacles')


def has_path(map_: Map, grid: Grid, start: Place, goal: Place) -> bool:
    first, last = nearest_free(map_, grid, start), nearest_free(map_, grid, goal)
    return first is not None and last is not None and find_path(grid, first, last).status == Status.AT_GOAL


def check_on_map(map_: Map, name: str, place: Place) -> None:
    geometry, (x, y) = map_.geometry, map_.geometry.to_grid(*place)
    if not (0 <= x < geometry.width and 0 <= y < geometry.height):  # also refuses nan
        (x0, y0), (x1, y1) = geometry.to_world(0, 0), geometry.to_world(geometry.width, geometry.height)
        corners = f'from ({x0:g}, {y0:g}) to ({x1:g}, {y1:g}) m'
        raise CannotRun(f'the {name} ({place[0]:g}, {place[1]:g}) m is outside the map, {corners}')


def no_room(name: str, place: Place, distance_m: float, map_: Map, grid: Grid) -> str:
    """What is wrong with a place in an obstacle, and the nearest one that is not."""
    free = nearest_free(map_, grid, place)
    hint = '; the nearest free place is ({:.2f}, {:.2f}) m'.format(*map_.geometry.centre_of(free)) if free else ''
    return f'the {name} ({place[0]:g}, {place[1]:g}) m is in an obstacle, or within {distance_m:g} m of one{hint}'


def nearest_free(map_: Map, grid: Grid, place: Place) -> Cell | None:
    return grid.nearest_free(map_.geometry.cell_at(*place), max(grid.width, grid.height))


def run(options: argparse.Namespace, journey: Journey) -> int:
    """Drives to the goal and writes picture and replay; a signal ends the drive, and then nothing else."""
    with signals_held_back() as signals:
        code = drive_and_report(options, journey, signals)
        signals.clear()
    return code


def drive_and_report(options: argparse.Namespace, journey: Journey, signals: list[int]) -> int:
    """Starts the nodes, waits for a viewer, publishes the goal, waits until the robot arrives, and prints a summary."""
    from tb_planner.ros.demo_monitor import DemoMonitor

    defaults = PlannerParameters()
    options.weight = defaults.weight if options.weight is None else options.weight
    rules = defaults.costmap_config(journey.map_.resolution_m)
    drive = Drive(journey.map_, rules, journey.start, journey.goal)
    title = f'{Path(options.map).stem}, {options.world} world'
    on_page = title_of_page(title, options.real_time_factor)
    with tempfile.TemporaryDirectory() as folder, closing(Domain()) as domain:
        environment = domain.enter(Path(folder))
        record, replay = begin_record(options.png.with_suffix(RECORD).resolve(), Path(folder)), replay_of(options)
        remove_older(options.png, replay)
        with Processes(Path(folder), environment) as processes:
            nodes: list[Process] = []
            view = start_view(processes, record, on_page) if options.view else None
            print(announcement(options, journey, domain), flush=True)
            with closing(DemoMonitor(drive, lambda: check_running(processes, signals))) as monitor:
                interrupted = False
                try:
                    if view is not None:
                        wait_for_viewer(monitor, view, options.viewer_limit_s, processes)
                    nodes += start_nodes(processes, options, journey, record)
                    wait_for_start(monitor, lambda: monitor.is_ready, 'simulator and planner', processes)
                    monitor.publish_goal()
                    drive_to_goal(monitor, options.limit_s)
                except KeyboardInterrupt:
                    interrupted = True
                    print('\nInterrupted: writing picture and replay', flush=True)
                lines = summary(monitor, options) if monitor.has_begun else {}
                verdict = outcome(monitor, options, interrupted)
                print('\n'.join([verdict, *(f'  {name:11} {text}' for name, text in lines.items())]), flush=True)
                figures = [f'{name} {text}' for name, text in lines.items()]
                heading = f'{title}, {algorithm(options)}'
                print(f'  picture     {write_picture(drive, options.png, heading, [verdict, *figures])}', flush=True)
                if view is not None and not interrupted:  # the summary covers the first goal only
                    stay(monitor, url_of(view))
            end(nodes)  # before the view, which sends the end of the record
            print(f'  replay      {write_replay(record, replay, on_page, nodes)}', flush=True)
    if interrupted:
        return INTERRUPTED
    return ARRIVED if monitor.has_arrived and monitor.collisions == 0 else NOT_ARRIVED


def replay_of(options: argparse.Namespace) -> Path:
    return Path(options.png.with_suffix(REPLAY))


def title_of_page(title: str, real_time_factor: float) -> str:
    """The page has the algorithm of each tick; its speeds are those of the simulation, which may be faster."""
    return title if real_time_factor == 1 else f'{title}, {real_time_factor:g} times real time'


def begin_record(path: Path, folder: Path) -> Path:
    """Empties the file, so that no older run is shown as this one; if that fails, uses a file in the folder."""
    try:
        empty_record(path)
    except OSError as error:
        print(f'demo: this run is not recorded to {path}: {error.strerror}', file=sys.stderr)
        return folder / path.name
    return path


def remove_older(*paths: Path) -> None:
    """Removes the files of an older run, which an interrupted run would leave in place."""
    for path in paths:
        if path.is_file():  # and no device
            with suppress(OSError):
                path.resolve().unlink()


def write_picture(drive: Drive, path: Path, title: str, figures: Sequence[str]) -> str:
    """Writes the picture; returns its name, or why there is none."""
    try:
        drive.save_picture(path, title=title, figures=figures)
    except OSError as error:
        return f'none: {path}: {error.strerror}'
    return str(path)


def write_replay(record: Path, replay: Path, title: str, nodes: Sequence[Process]) -> str:
    """Writes the page; returns its name, or why there is none, which the log of a node may have."""
    cut_short = [line for node in nodes for line in re.findall('the run is not recorded.*', node.log_text)][-1:]
    try:
        if not nodes or not record.stat().st_size:
            raise BadRecord('the run had not begun')
        if not read_record(record).ticks:
            raise BadRecord(f'{record} has no ticks')
        write_page(replay, record.read_bytes(), title)
    except (BadRecord, OSError) as error:
        with suppress(OSError):
            if may_become_page(replay):
                replay.unlink()
        why = f'{error.filename}: {error.strerror}' if isinstance(error, OSError) else error
        return f'none: {(cut_short or [why])[0]}'
    return ', incomplete: '.join([str(replay), *cut_short])


def start_nodes(
    processes: Processes, options: argparse.Namespace, journey: Journey, record: Path
) -> tuple[Process, Process]:
    """Starts simulator and planner."""
    world = {
        'map': options.map,
        'world': options.world,
        'obstacles': options.map if options.map in DEMO_GOALS and options.world == 'changing' else '',
        'change_rate': CHANGE_RATE,
        'change_size_m': CHANGE_SIZE_M,
        'seed': options.seed,
        'start_x_m': journey.start[0],
        'start_y_m': journey.start[1],
        'real_time_factor': options.real_time_factor,
    }
    search = {
        'algorithm': options.algorithm,
        'weight': options.weight,
        'expansions_per_tick': options.expansions_per_tick,
        'record': str(record),
        'autostart_node': True,
    }
    return (
        processes.start_module('tb_planner.ros.simulator_node', ros_arguments(world)),
        processes.start_module('tb_planner.ros.node', ros_arguments(search)),
    )


def start_view(processes: Processes, record: Path, title: str) -> Process:
    """Starts the live page at its usual port or the next free one, which its log names."""
    return processes.start_module('tb_planner.ros.view_node', ros_arguments({'record': str(record), 'title': title}))


def url_of(view: Process) -> str:
    """The address of the live page; empty before it is served."""
    return (SHOWN_AT.findall(view.log_text) or [''])[0]


def wait_for_viewer(monitor: DemoMonitor, view: Process, limit_s: float, processes: Processes) -> None:
    """Waits until a page shows the run, until Enter is pressed, or until the time is up."""
    wait_for_start(monitor, lambda: url_of(view), 'the live page', processes)
    enter = ' Press Enter to start without one.' if may_read_terminal() else ''
    print(f'Waiting for a viewer at {url_of(view)}', flush=True)
    viewer = monitor.viewer(limit_s)
    print(f'  {viewer.announcement}{enter}', flush=True)
    monitor.spin_until(lambda: line_was_entered() or not viewer.is_awaited, math.inf)
    print(f'  {viewer.outcome}', flush=True)


def may_read_terminal() -> bool:
    """Whether this process may read what is typed; a terminal would stop one in the background."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (AttributeError, OSError, ValueError):  # there is no input, or it is closed
        return False


def line_was_entered() -> bool:
    if not may_read_terminal() or not select.select([sys.stdin], [], [], 0)[0]:
        return False
    sys.stdin.readline()
    return True


def check_running(processes: Processes, signals: list[int]) -> None:
    """Raises KeyboardInterrupt after a signal, and CannotRun if a process has ended."""
    if signals:
        raise KeyboardInterrupt
    for process in processes.all:
        if process.exit_code is not None:
            raise CannotRun(f'{process.name} has ended, exit code {process.exit_code}\n{processes.last_lines}')


def wait_for_start(monitor: DemoMonitor, condition: Callable[[], object], what: str, processes: Processes) -> None:
    if not monitor.spin_until(condition, START_LIMIT_S):
        raise CannotRun(f'{what} did not start within {START_LIMIT_S:g} s\n{processes.last_lines}')


def drive_to_goal(monitor: DemoMonitor, limit_s: float) -> None:
    """Shows the progress until the robot arrives or the time is up."""
    options: dict[str, Any] = {'bar_format': '{desc}\n', 'leave': True, 'mininterval': LINE_PERIOD_S}
    end = None
    if sys.stdout.isatty():
        width, height = shutil.get_terminal_size()  # tqdm draws nothing where the terminal does not know its size
        options = {'bar_format': '{desc}', 'leave': False, 'mininterval': LIVE_PERIOD_S}
        options |= {'ncols': width, 'nrows': height}
        end = width - 1  # a longer line would wrap, and could not be written over; tqdm cuts none without a bar
    with tqdm(file=sys.stdout, miniters=1, **options) as line:

        def has_arrived() -> bool:
            line.set_description_str(progress(monitor)[:end], refresh=False)
            line.update()
            return monitor.has_arrived

        monitor.spin_until(has_arrived, limit_s)
    monitor.spin_until(lambda: monitor.facts.get('status') == monitor.status, LAST_DIAGNOSTICS_LIMIT_S)


def stay(monitor: DemoMonitor, url: str) -> None:
    """Keeps everything running until Ctrl-C."""
    print(f'Set more goals and draw obstacles at {url}\n  Ctrl-C ends the demo and writes the replay.', flush=True)
    with suppress(KeyboardInterrupt):
        monitor.spin_until(lambda: False, math.inf)
    print(flush=True)


def announcement(options: argparse.Namespace, journey: Journey, domain: Domain) -> str:
    (x0, y0), (x1, y1) = journey.start, journey.goal
    profiles = ' '.join(f'{name}={LOOPBACK}' for name in DDS_PROFILES)
    return (
        f'{options.map}, {options.world} world: from ({x0:g}, {y0:g}) to ({x1:g}, {y1:g}) m with '
        f'{algorithm(options)}, {options.real_time_factor:g} times real time\n'
        f'To watch in RViz: ROS_DOMAIN_ID={domain.number} {profiles} rviz2'
    )


def progress(monitor: DemoMonitor) -> str:
    facts, distance_m = monitor.facts, monitor.distance_to_go_m
    return ' · '.join(
        [
            f'{distance_m:5.1f} m to go' if distance_m is not None else 'no pose yet',
            monitor.status.lower().replace('_', ' '),
            f'restarts {restarts(monitor.drive)}',
            f'tick {number(facts, "tick_p50_ms"):.1f} ms, p99 {number(facts, "tick_p99_ms"):.1f} ms',
        ]
    )


def outcome(monitor: DemoMonitor, options: argparse.Namespace, interrupted: bool) -> str:
    x, y = monitor.drive.goal
    if monitor.has_arrived:
        return f'Arrived at ({x:g}, {y:g}) m ' + ('after collisions' if monitor.collisions else 'without a collision')
    if not monitor.has_begun:
        return 'Interrupted before the robot started'
    if interrupted:
        return f'Interrupted {monitor.distance_to_go_m or 0:.1f} m before the goal ({x:g}, {y:g}) m'
    return f'Not arrived at ({x:g}, {y:g}) m within {options.limit_s:g} s; status of the planner: {monitor.status}'


def summary(monitor: DemoMonitor, options: argparse.Namespace) -> dict[str, str]:
    """The figures of a run, for the terminal and for the picture."""
    drive, facts = monitor.drive, monitor.facts
    driven = f'{drive.driven_m:.1f} m'
    if drive.shortest_m and monitor.has_arrived:
        longer = 100 * (drive.driven_m / drive.shortest_m - 1)
        driven += f', {longer:.0f} % longer than the initial shortest path ({drive.shortest_m:.1f} m)'
    ticks = ', '.join(f'{name} {number(facts, f"tick_{name}_ms"):.2f}' for name in ('p50', 'p99', 'max'))
    return {
        'driven': driven,
        'time': f'{monitor.time_s:.1f} s at {options.real_time_factor:g} times real time',
        'ticks': f'{number(facts, "ticks"):,.0f}, {ticks} ms; {number(facts, "overruns"):,.0f} overruns, '
        f'{number(facts, "missed_ticks"):,.0f} missed',
        'restarts': restarts(drive),
        'collisions': str(monitor.collisions),
    }


def algorithm(options: argparse.Namespace) -> str:
    return f'{options.algorithm}({options.weight:g})' if takes_weight(options.algorithm) else options.algorithm


def restarts(drive: Drive) -> str:
    """The number of restarts, and the number for each reason."""
    reasons = ', '.join(
        f'{count} {reason.replace("_", " ")}' for reason, count in drive.restarts.most_common() if count
    )
    return f'{drive.restarts.total()}' + (f' ({reasons})' if reasons else '')


def number(facts: dict[str, str], name: str) -> float:
    return float(facts.get(name) or 0)


def _place(pose: Pose2D) -> Place:
    return pose.x_m, pose.y_m


if __name__ == '__main__':
    sys.exit(main())
