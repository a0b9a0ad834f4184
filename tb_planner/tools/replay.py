"""tb_planner replay BAG: PlannerLoop ticks as in the node, with the messages of a bag.

The robot goes where it went; the result is what the planner would have published.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tb_planner.config import PlannerParameters
from tb_planner.files import check_may_write, written_whole
from tb_planner.geometry import Pose2D, length_m
from tb_planner.maps.cdr import Occupancy, Patch
from tb_planner.maps.live_map import MapUpdate
from tb_planner.maps.map_worker import MapIntake
from tb_planner.navigation.loop import PlannerLoop, ReceivedPose, TickResult
from tb_planner.navigation.navigator import NavigationStatus, Tick
from tb_planner.recording import About, Recorder
from tb_planner.recording.record import check_is_no_record
from tb_planner.recording.writer import may_begin
from tb_planner.search.algorithms import RestartReason
from tb_planner.tools.bag_topics import TF, BagError, add_topic_options, topics_of
from tb_planner.tools.bags import Bag, Event, Goal, open_bag
from tb_planner.tools.progress import progress_bar
from tb_planner.tools.tuning.parameter_file import candidate_of, read_parameters

DONE, NOT_RECORDED = 0, 1
EXAMPLES = """examples:
  tb_planner replay rosbag2_2026_05_04 -o run.tbrun
  tb_planner replay drive.mcap --map-topic /warehouse/map --pose-topic /tf --params planner.yaml
"""
MAX_TICKS = 10**7
REASONS = {
    RestartReason.BLOCKED: 'an obstacle appeared on the route',
    RestartReason.COST_INCREASED: 'the cost of the route rose',
    RestartReason.SHORTCUT_OPENED: 'cells became free that may shorten the route',
    RestartReason.OFF_ROUTE: 'the robot went elsewhere than this planner would have',
    RestartReason.MAP_MOVED: 'the map has another size or origin',
    RestartReason.PERIODIC: 'the search was older than full_replan_period_s',
}
"""Restarts in words; docs/reference.md has all reasons."""
_SAME_TIME_S = 1e-6


class ReplayedTick(NamedTuple):
    """A tick, the goal before it, the map that was new in it, and how long it took."""

    time_s: float
    goal: Pose2D | None
    map_update: MapUpdate | None
    tick: Tick
    took_s: float
    pose: Pose2D | None
    plan_m: float | None
    """The length of the plan if it has changed and reaches the goal."""


@dataclass
class ReplaySummary:
    """Counts of a whole replay."""

    ticks: int = 0
    goals: int = 0
    statuses: Counter[NavigationStatus] = field(default_factory=Counter)
    restarts: Counter[RestartReason] = field(default_factory=Counter)
    took_s: list[float] = field(default_factory=list)
    planned_m: float = 0.0
    """The lengths of the first whole plans of all goals that had one."""
    driven_m: float = 0.0
    """How far the robot went from those plans on, until it arrived, or the goal changed or the bag ended."""
    planned_goals: int = 0

    def percentile_ms(self, part: float) -> float:
        return float(1e3 * np.percentile(self.took_s, part)) if self.took_s else 0.0


def replay(
    bag: Bag,
    parameters: PlannerParameters,
    recorder: Recorder | None = None,
    on_tick: Callable[[float], None] | None = None,
) -> ReplaySummary:
    """Replays the whole bag, and records it if there is a recorder; raises BagError if it has no usable map, pose or
    goal."""
    summary = ReplaySummary()
    status, goal, last_pose = NavigationStatus.IDLE, None, Pose2D(0.0, 0.0)
    has_plan = False  # for the present goal
    for replayed in ticks(bag, parameters, recorder):
        summary.ticks += 1
        summary.took_s.append(replayed.took_s)
        summary.restarts.update(replayed.tick.restarts)
        if replayed.goal is not None and replayed.goal != goal:
            summary.goals += 1
            has_plan = False
        if replayed.pose is not None:
            if has_plan and replayed.goal is not None:
                summary.driven_m += math.dist((last_pose.x_m, last_pose.y_m), (replayed.pose.x_m, replayed.pose.y_m))
            last_pose = replayed.pose
        if not has_plan and replayed.plan_m is not None:
            has_plan = True
            summary.planned_goals += 1
            summary.planned_m += replayed.plan_m
        if replayed.tick.status != status:
            summary.statuses[replayed.tick.status] += 1
        status, goal = replayed.tick.status, replayed.goal
        if on_tick is not None:
            on_tick(replayed.time_s)
    return summary


def ticks(bag: Bag, parameters: PlannerParameters, recorder: Recorder | None = None) -> Iterator[ReplayedTick]:
    """Ticks at the node's rate, from the bag's first message to its last. A tick that fails is left out."""
    events = bag.events()
    first = next(events, None)
    if first is not None and isinstance(first.what, Occupancy):  # poses and goals come after it, in its frame
        parameters = replace(parameters, global_frame=first.what.frame or parameters.global_frame)
    pose_timeout_s = parameters.pose_timeout_s
    if bag.topics.pose.type == TF:
        pose_timeout_s = max(parameters.transform_tolerance_s, _SAME_TIME_S)  # 0 would be never
    robot = _ReplayedRobot(parameters, pose_timeout_s, bag.problems, recorder)
    number = 0
    for event in itertools.chain([] if first is None else [first], events):
        if event.time_s > MAX_TICKS * parameters.period_s:
            raise BagError(
                f'{bag.path}: a message comes {event.time_s:,.0f} s after the first one, which would take more than '
                f'{MAX_TICKS:,} ticks; are its clocks right?'
            )
        while (now_s := number * parameters.period_s) < event.time_s - _SAME_TIME_S:
            yield from robot.tick(now_s)
            number += 1
        robot.take(event)
    for what, count in (('map', robot.maps.taken), ('pose', robot.poses_taken), ('goal', robot.goals_taken)):
        if not count:
            raise BagError(f'{bag.path}: it has no usable {what}{bag.listed_problems()}')
    yield from robot.tick(number * parameters.period_s)


class _CountedProblems:
    """Counts the messages that could not be used, and ticks that failed."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts

    def warn(self, kind: str, text: str, *, same: str = '') -> None:
        if kind in ('map', 'map_updates'):
            self._counts[text] += 1

    def error(self, kind: str, text: str) -> None:
        self._counts[text] += 1


class _ReplayedRobot:
    """A PlannerLoop, and the events of a bag as its maps, poses and goals."""

    def __init__(
        self,
        parameters: PlannerParameters,
        pose_timeout_s: float,
        problems: Counter[str],
        recorder: Recorder | None,
    ) -> None:
        log = _CountedProblems(problems)
        self.maps = MapIntake(parameters.map_settings(), log)
        self.poses_taken = self.goals_taken = 0
        self._poses = ReceivedPose(pose_timeout_s)
        self._loop = PlannerLoop(parameters.loop_settings(), self.maps, self._poses, log, time.perf_counter)
        self._loop.recorder = self._recorder = recorder

    def take(self, event: Event) -> None:
        what = event.what
        if isinstance(what, Occupancy):
            self.maps.take_map(what)
        elif isinstance(what, Patch):
            self.maps.take_patch(what)
        elif isinstance(what, Goal):
            self._loop.navigator.new_goal(what.pose)
            self.goals_taken += 1
        else:
            self._poses.take(what, event.time_s)
            self.poses_taken += 1

    def tick(self, now_s: float) -> Iterator[ReplayedTick]:
        goal, began = self._loop.navigator.goal, time.perf_counter()
        result = self._loop.tick(now_s)
        took_s = time.perf_counter() - began
        if self._recorder is not None:
            self._recorder.end_tick(took_s)
        if result.tick is not None:
            yield ReplayedTick(now_s, goal, result.map_update, result.tick, took_s, result.pose, self._plan_m(result))

    def _plan_m(self, result: TickResult) -> float | None:
        """The length of a new plan that reaches the goal."""
        if result.plan_m is None or not len(result.plan_m) or not self._loop.navigator.plan_reaches_goal:
            return None
        return length_m(result.plan_m)


# ---------------------------------------------------------------------- the command
def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        'replay',
        help='run the planner on a ROS 2 bag, and record what it would have done',
        description='Reads maps, map updates, poses and goals from a bag (sqlite3 or mcap, without ROS) and runs the '
        'planner on them, tick by tick. The robot goes where it went.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=replay_bag)
    parser.add_argument('bag', metavar='BAG', type=Path, help='folder of a bag, or one .mcap or .db3 file')
    parser.add_argument('-o', '--output', metavar='FILE', type=Path, help='record for tb_planner view')
    parser.add_argument('--params', metavar='FILE', type=Path, help='parameter file of the planner (default: built-in)')
    add_topic_options(parser)


def replay_bag(options: argparse.Namespace) -> int:
    """Returns 0, or 1 if the record could not be written."""
    check_is_no_record(options.bag)
    if options.output is not None:
        check_may_write(options.output, 'the record of a run', may_begin)
    parameters = PlannerParameters() if options.params is None else read_parameters(options.params)
    with open_bag(options.bag, topics_of(options), options.base_frame) as bag:
        chosen = (f'{role} {topic.name} ({topic.messages:,})' for role, topic in bag.topics._asdict().items() if topic)
        print(f'{options.bag.name}: {", ".join(chosen)}')
        recorder = make_recorder(options.output, options.bag.stem, parameters)
        try:
            with progress_bar() as progress:
                duration_s = bag.duration_s or 1.0
                summary = replay(bag, parameters, recorder, lambda now_s: progress(now_s / duration_s, 'replaying'))
        finally:
            if recorder is not None:
                recorder.close()
    print(in_words(summary, bag))
    if recorder is not None and recorder.error:
        print(f'{options.output}: not written: {recorder.error}')
        return NOT_RECORDED
    if recorder is not None:
        print(f'{options.output}: tb_planner view {options.output}')
    return DONE


def make_recorder(path: Path | None, title: str, parameters: PlannerParameters) -> Recorder | None:
    if path is None:
        return None
    about = About(
        title,
        str(candidate_of(parameters)),
        period_s=parameters.period_s,
        budget_s=parameters.period_s,
        robot_radius_m=parameters.robot_radius_m,
    )
    with written_whole(path):
        return Recorder(path, about, real_time=False)


def in_words(summary: ReplaySummary, bag: Bag) -> str:
    reasons = summary.restarts.most_common()
    restarts = [
        f'{count:,} {reason.value}: {REASONS.get(reason, "see docs/reference.md")}' for reason, count in reasons
    ] or ['none']
    statuses = ', '.join(f'{status} {_times(count)}' for status, count in summary.statuses.most_common())
    lines = [
        f'  goals     {summary.goals:,}, {summary.statuses[NavigationStatus.ARRIVED]:,} reached',
        f'  ticks     {summary.ticks:,}, p50 {summary.percentile_ms(50):.2f}, p99 {summary.percentile_ms(99):.2f} ms',
        f'  restarts  {(chr(10) + " " * 12).join(restarts)}',
        f'  planned   {planned_text(summary)}',
        f'  statuses  {statuses}',
    ]
    lines += [f'  ignored: {text} ({_times(count)})' for text, count in bag.problems.most_common(5)]
    return '\n'.join(lines)


def planned_text(summary: ReplaySummary) -> str:
    """The planner's first plans against what the robot drove."""
    if not summary.planned_m:
        return 'no path to any goal'
    goals = f'{summary.planned_goals:,} goal' + 's' * (summary.planned_goals != 1)
    difference = 100 * (summary.driven_m / summary.planned_m - 1)
    return f'{summary.planned_m:,.1f} m to {goals}; the robot drove {summary.driven_m:,.1f} m ({difference:+.0f} %)'


def _times(count: int) -> str:
    return 'once' if count == 1 else f'{count:,} times'
