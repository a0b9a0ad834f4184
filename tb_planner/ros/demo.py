"""`tb_planner demo` starts a simulator and a planner on ROS 2 and gives the robot a goal.

It ends with 0 if the robot has arrived with no collision, 1 if not, 2 if what was asked for cannot be done, and 130 on
Ctrl-C. Whatever happens, the processes that it started are gone then.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tb_planner.errors import OperationFailed
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.files import Map, read_map
from tb_planner.recording import read_record
from tb_planner.recording.format import BadRecord
from tb_planner.recording.writer import empty_record, may_begin
from tb_planner.ros.demo_output import LiveLine, algorithm, figures, progress, summary
from tb_planner.ros.processes import (
    LOOPBACK,
    Domain,
    NoFreeDomain,
    Process,
    Processes,
    ros_arguments,
    signals_held_back,
)
from tb_planner.search.algorithms import ALGORITHMS
from tb_planner.simulation.scenes import random_goal, random_start, shared_file
from tb_planner.simulation.simulator import WORLDS
from tb_planner.tools import plotting as picture
from tb_planner.tools.drive import Drive, Place
from tb_planner.view.page import may_become_page, write_page

if TYPE_CHECKING:
    from tb_planner.ros.demo_monitor import DemoMonitor

ARRIVED, NOT_ARRIVED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

GOALS: dict[str, Place] = {'office': (25.0, 6.0), 'warehouse': (34.5, 9.0)}
"""Of the maps that come along; on both the robot starts at (0, 0)."""
ROOM_M = 0.4
"""Around places that are drawn at random."""
CHANGE_RATE, CHANGE_SIZE_M = 0.2, 0.5
"""Few things that stand anywhere, besides those that come and go as the map's script has them."""
REAL_TIME_FACTOR = 3.0
START_LIMIT_S = 20.0
DRIVE_LIMIT_S = 90.0
LAST_WORDS_LIMIT_S = 2.0
LAST_LINES = 15
RECORD, REPLAY = '.tbrun', '.html'
SHOWN_AT = re.compile(r'the run is shown at (http://[\w.:]+/)')
"""What the view says."""


class CannotRun(OperationFailed):
    """Something that the demo needs is not there, or one of its processes has ended."""


@dataclass(frozen=True)
class Journey:
    """Where the robot goes, on which map."""

    map_name: str
    map_: Map
    start: Place
    goal: Place


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the demo and returns its exit code."""
    options = make_parser().parse_args(arguments)
    try:
        check_environment(options)
        return run(options, journey(options))
    except (CannotRun, NoFreeDomain, OSError, ValueError, picture.PictureError) as error:
        print(f'demo: {error}', file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print('\ndemo: interrupted; simulator and planner are ended', file=sys.stderr)
        return INTERRUPTED


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='tb_planner demo', description=__doc__.splitlines()[0])
    parser.add_argument('--map', default='office', help="office, warehouse, or the path of a map_server's .yaml")
    parser.add_argument('--world', choices=WORLDS, default='changing', help='default: changing')
    parser.add_argument('--start', metavar=('X', 'Y'), nargs=2, type=float, help='in metres')
    parser.add_argument('--goal', metavar=('X', 'Y'), nargs=2, type=float, help='in metres')
    parser.add_argument('--algorithm', choices=tuple(ALGORITHMS), default='tb_wa_star', help='default: tb_wa_star')
    parser.add_argument('--weight', metavar='W', type=float, help="of tb_wa_star, default: the node's own")
    parser.add_argument(
        '--expansions-per-tick', metavar='N', type=int, default=0, help='default: as many as fit in the time'
    )
    parser.add_argument('--seed', metavar='N', type=int, default=1, help="of the world's changes, default: 1")
    parser.add_argument(
        '--real-time-factor',
        metavar='F',
        type=float,
        default=REAL_TIME_FACTOR,
        help=f'how much faster than real the simulated robot and its world are, default: {REAL_TIME_FACTOR:g}',
    )
    parser.add_argument(
        '--limit-s',
        metavar='S',
        type=float,
        default=DRIVE_LIMIT_S,
        help=f'give up after so long, default: {DRIVE_LIMIT_S:g}',
    )
    parser.add_argument(
        '--png',
        metavar='FILE',
        type=Path,
        default=Path('demo.png'),
        help='picture of the run, default: demo.png; its record (.tbrun) and its replay (.html) have the same name',
    )
    parser.add_argument('--view', action='store_true', help='show the run in a browser while it goes on, till Ctrl-C')
    return parser


def check_environment(options: argparse.Namespace) -> None:
    if not find_spec('rclpy'):
        raise CannotRun("the demo needs ROS 2: source its setup.bash, or pip install '.[ros,plot]' in a clone")
    picture.check_matplotlib()
    if not options.png.resolve().parent.is_dir():
        raise CannotRun(f'there is no folder for the picture {options.png}')
    if options.png.is_dir() or not os.access(options.png if options.png.exists() else options.png.parent, os.W_OK):
        raise CannotRun(f'the picture {options.png} cannot be written: that is a folder, or not yours to write to')
    if options.png.suffix in (RECORD, REPLAY):
        raise CannotRun(f'{options.png} is no name for a picture: {RECORD} is the record, {REPLAY} the replay')
    check_names_beside(options.png)


def check_names_beside(png: Path) -> None:
    """Record and replay have the picture's name: what else has it was not meant."""
    record, replay = png.with_suffix(RECORD), png.with_suffix(REPLAY)
    if record.is_file() and not may_begin(record):
        raise CannotRun(f'{record}: it is there already, and is no record of a run; --png gives another name')
    if not may_become_page(replay):
        raise CannotRun(f'{replay}: it is there already, and is no page of a run; --png gives another name')


def check_on_map(goal: Sequence[float], geometry: MapGeometry) -> None:
    x, y = geometry.to_grid(*goal)
    if not (0 <= x < geometry.width and 0 <= y < geometry.height):
        (x0, y0), (x1, y1) = geometry.to_world(0, 0), geometry.to_world(geometry.width, geometry.height)
        corners = f'from ({x0:g}, {y0:g}) to ({x1:g}, {y1:g}) m'
        raise CannotRun(f'the goal ({goal[0]:g}, {goal[1]:g}) m is outside the map, {corners}')


def journey(options: argparse.Namespace) -> Journey:
    """Start and goal as asked for; else the ones that belong to the map, or drawn at random."""
    known = options.map in GOALS
    if not known and not Path(options.map).exists():
        raise CannotRun(f'there is no map {options.map!r}: it is {", ".join(GOALS)}, or the path of a .yaml')
    map_ = read_map(shared_file('maps', f'{options.map}.yaml') if known else options.map)
    start, goal = options.start, options.goal
    if start is None:
        start = (0.0, 0.0) if known else _place(random_start(map_.occupancy, map_.geometry, ROOM_M, options.seed))
    if goal is None and known:
        goal = GOALS[options.map]
    elif goal is None:
        goal = _place(random_goal(map_.occupancy, map_.geometry, Pose2D(*start), ROOM_M, options.seed))
    check_on_map(goal, map_.geometry)
    return Journey(options.map, map_, (start[0], start[1]), (goal[0], goal[1]))


def run(options: argparse.Namespace, journey: Journey) -> int:
    """Starts both nodes, gives the goal, looks on until the robot is there, and tells how it went."""
    from tb_planner.config import PlannerParameters
    from tb_planner.ros.demo_monitor import DemoMonitor

    defaults = PlannerParameters()
    options.weight = defaults.weight if options.weight is None else options.weight
    rules = defaults.costmap_config(journey.map_.resolution_m)
    drive = Drive(journey.map_, rules, journey.start, journey.goal)
    title = f'{Path(journey.map_name).stem}, {options.world} world, {algorithm(options)}'
    with signals_held_back() as signals, tempfile.TemporaryDirectory() as folder, closing(Domain()) as domain:
        environment = domain.enter(Path(folder))
        record = begin_record(options.png.with_suffix(RECORD).resolve(), Path(folder))
        remove_older(options.png, options.png.with_suffix(REPLAY))
        with Processes(Path(folder), environment) as processes:
            planner = start_nodes(processes, options, journey, record)
            view = start_view(processes, record) if options.view else None
            print(announcement(options, journey, domain), flush=True)
            with closing(DemoMonitor(drive)) as onlooker:
                watch = Watch(onlooker, processes, signals)
                if view is not None:
                    print(f'In the browser: {watch.wait_for_page(view)}', flush=True)
                watch.wait_for_both()
                onlooker.give_goal()
                time_s = watch.drive(options.limit_s)
                outcome = ARRIVED if onlooker.has_arrived and onlooker.collisions == 0 else NOT_ARRIVED
                print(summary(onlooker, time_s, options))
                drive.save_picture(options.png, title=title, figures=figures(onlooker, time_s, options))
                print(f'  picture     {options.png}', flush=True)
                if options.view:  # what the robot does for others is not told of
                    watch.stay()
        print(f'  replay      {write_replay(record, options.png.with_suffix(REPLAY), title, planner.said)}')
    return outcome


def begin_record(path: Path, folder: Path) -> Path:
    """Empties the file, so that no older run is shown as this one; where that cannot be, another one in the folder."""
    try:
        empty_record(path)
    except OSError as error:
        print(f'demo: the record of this run is not kept: {path}: {error.strerror}', file=sys.stderr)
        return folder / path.name
    return path


def remove_older(*paths: Path) -> None:
    """What an older run has left, and this one, ended in the middle, would not write anew."""
    for path in paths:
        if path.is_file():  # and no device
            with suppress(OSError):
                path.resolve().unlink()


def write_replay(record: Path, replay: Path, title: str, said: str) -> str:
    """The page, or why there is none; an older one is not left in its place. said: what the planner has said."""
    cut_short = re.findall('the run is not recorded.*', said)[-1:]
    try:
        if not read_record(record).ticks:
            raise BadRecord(f'{record} has no ticks')
        write_page(replay, record.read_bytes(), title)
    except (BadRecord, OSError) as error:
        with suppress(OSError):
            if may_become_page(replay):
                replay.unlink()
        return f'none, {(cut_short or [error])[0]}'
    return ', up to a point: '.join([str(replay), *cut_short])


def start_nodes(processes: Processes, options: argparse.Namespace, journey: Journey, record: Path) -> Process:
    """The planner is the one that is returned."""
    world = {
        'map': options.map,
        'world': options.world,
        'obstacles': journey.map_name if journey.map_name in GOALS and options.world == 'changing' else '',
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
    processes.start_module('tb_planner.ros.simulator_node', ros_arguments(world))
    return processes.start_module('tb_planner.ros.node', ros_arguments(search))


def start_view(processes: Processes, record: Path) -> Process:
    """It takes a port that is free, and says which."""
    return processes.start_module('tb_planner.ros.view_node', ros_arguments({'record': str(record), 'port': 0}))


class Watch:
    """Looks on, and after the processes and signals: rclpy would lose what a signal's handler raises within it."""

    def __init__(self, onlooker: DemoMonitor, processes: Processes, signals: list[int]) -> None:
        self._onlooker = onlooker
        self._processes = processes
        self._signals = signals

    def wait_for_page(self, view: Process) -> str:
        """Where it is to be seen."""
        if not self._look_on_until(lambda: SHOWN_AT.search(view.said), START_LIMIT_S):
            raise CannotRun(f'the page is not there after {START_LIMIT_S:g} s\n{self._last_lines()}')
        return SHOWN_AT.findall(view.said)[0]

    def wait_for_both(self) -> None:
        if not self._look_on_until(lambda: self._onlooker.is_ready, START_LIMIT_S):
            raise CannotRun(f'simulator and planner are not there after {START_LIMIT_S:g} s\n{self._last_lines()}')

    def drive(self, limit_s: float) -> float:
        """Shows how it goes until the robot has arrived or the time is up; tells how long that took."""
        onlooker, live = self._onlooker, LiveLine()
        began = time.monotonic()

        def has_arrived() -> bool:
            live.show(progress(onlooker))
            return onlooker.has_arrived

        try:
            self._look_on_until(has_arrived, limit_s)
        finally:
            live.clear()
        time_s = time.monotonic() - began
        self._look_on_until(lambda: onlooker.facts.get('status') == onlooker.status, LAST_WORDS_LIMIT_S)
        return time_s

    def stay(self) -> None:
        """Until Ctrl-C."""
        print('The robot takes other goals, and you may draw, in the browser; Ctrl-C ends it', flush=True)
        with suppress(KeyboardInterrupt):
            self._look_on_until(lambda: False, math.inf)
        self._signals.clear()  # it has ended what was to be ended

    def _look_on_until(self, condition: Callable[[], object], limit_s: float) -> bool:
        def is_over() -> bool:
            self._check()
            return bool(condition())

        return self._onlooker.spin_until(is_over, limit_s)

    def _check(self) -> None:
        if self._signals:
            raise KeyboardInterrupt
        for process in self._processes.all:
            if process.exit_code is not None:
                raise CannotRun(f'{process.name} has ended, exit code {process.exit_code}\n{self._last_lines()}')

    def _last_lines(self) -> str:
        return '\n'.join(
            '\n'.join([f'--- {process.name}', *process.said.splitlines()[-LAST_LINES:]])
            for process in self._processes.all
        )


def announcement(options: argparse.Namespace, journey: Journey, domain: Domain) -> str:
    (x0, y0), (x1, y1) = journey.start, journey.goal
    return (
        f'{journey.map_name}, {options.world} world: from ({x0:g}, {y0:g}) to ({x1:g}, {y1:g}) m with '
        f'{algorithm(options)}, {options.real_time_factor:g} times real time\n'
        f'To watch it in RViz: ROS_DOMAIN_ID={domain.number} FASTRTPS_DEFAULT_PROFILES_FILE={LOOPBACK} rviz2'
    )


def _place(pose: Pose2D) -> Place:
    return pose.x_m, pose.y_m


if __name__ == '__main__':
    sys.exit(main())
