"""tb_planner replay BAG: a bag through the planner, and a record of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tb_planner.config import PlannerParameters
from tb_planner.recording import About, Recorder
from tb_planner.recording.record import check_is_no_record
from tb_planner.recording.writer import may_begin
from tb_planner.tools.bag_topics import add_topic_options, topics_of
from tb_planner.tools.bags import Bag, open_bag
from tb_planner.tools.progress import progress_bar
from tb_planner.tools.replay import ReplaySummary, replay
from tb_planner.tools.tuning.parameter_file import candidate_of, read_parameters

DONE, NOT_RECORDED = 0, 1
EXAMPLES = """examples:
  tb_planner replay rosbag2_2026_05_04 -o run.tbrun
  tb_planner replay drive.mcap --map-topic /warehouse/map --pose-topic /tf --params planner.yaml
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        'replay',
        help='let the planner tick through a ROS 2 bag, and record what it would have done',
        description='Reads map, map updates, pose and goals from a bag (sqlite3 or mcap; no ROS is needed) and lets '
        'the planner tick through it. The robot goes where it went.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=replay_bag)
    parser.add_argument('bag', metavar='BAG', type=Path, help='folder of a bag, or one .mcap or .db3 file')
    parser.add_argument('-o', '--output', metavar='FILE', type=Path, help='record for tb_planner view')
    parser.add_argument('--params', metavar='FILE', type=Path, help='parameters of the planner (default: built-in)')
    add_topic_options(parser)


def replay_bag(options: argparse.Namespace) -> int:
    """Ends with 0, or with 1 if the record could not be written."""
    check_is_no_record(options.bag)
    parameters = PlannerParameters() if options.params is None else read_parameters(options.params)
    with open_bag(options.bag, topics_of(options), options.base_frame) as bag:
        print(f'{options.bag.name}: {topics_in_words(bag)}')
        recorder = make_recorder(options.output, options.bag.stem, parameters)
        try:
            with progress_bar() as progress:
                duration_s = bag.duration_s or 1.0
                told = replay(bag, parameters, recorder, lambda now_s: progress(now_s / duration_s, 'replaying'))
        finally:
            if recorder is not None:
                recorder.close()
    print(in_words(told, bag))
    if recorder is not None and recorder.error:
        print(f'{options.output}: not written: {recorder.error}')
        return NOT_RECORDED
    if recorder is not None:
        print(f'{options.output}: tb_planner view {options.output}')
    return DONE


def make_recorder(path: Path | None, title: str, parameters: PlannerParameters) -> Recorder | None:
    if path is None:
        return None
    if not path.parent.is_dir():
        raise ValueError(f'-o {path}: there is no folder {path.parent}')
    if not may_begin(path):
        raise ValueError(f'-o {path}: it is there already, and is no record of a run; give another name')
    about = About(title, str(candidate_of(parameters)), period_s=parameters.period_s, budget_s=parameters.period_s)
    try:
        return Recorder(path, about, real_time=False)
    except OSError as error:
        raise ValueError(f'-o {path}: cannot be written: {error.strerror}') from error


def topics_in_words(bag: Bag) -> str:
    chosen = {role: topic for role, topic in bag.topics._asdict().items() if topic is not None}
    return ', '.join(f'{role} {topic.name} ({topic.messages})' for role, topic in chosen.items())


def in_words(told: ReplaySummary, bag: Bag) -> str:
    restarts = ', '.join(f'{count} {reason}' for reason, count in told.restarts.most_common()) or 'none'
    statuses = ', '.join(f'{status} {_times(count)}' for status, count in told.statuses.most_common())
    lines = [
        f'  goals     {told.goals}, {told.arrived} of them reached',
        f'  ticks     {told.ticks:,} of p50 {told.percentile_ms(50):.2f}, p99 {told.percentile_ms(99):.2f} ms',
        f'  restarts  {restarts}',
        f'  statuses  {statuses}',
    ]
    lines += [f'  passed over: {text} ({_times(count)})' for text, count in bag.problems.most_common(5)]
    return '\n'.join(lines)


def _times(count: int) -> str:
    return 'once' if count == 1 else f'{count:,} times'
