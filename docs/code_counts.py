"""Counts modules, lines, class names, words of the "not" column and call depth of the code base.

python docs/code_counts.py                  # this clone
python docs/code_counts.py --ref 283e685    # a commit, without what has to be run
"""

from __future__ import annotations

import argparse
import ast
import collections
import functools
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
PACKAGE, CODE = ('tb_planner/',), ('tb_planner/', 'benchmarks/')
WORDED = ('tb_planner/', 'benchmarks/', 'examples/', 'docs/', 'README.md', 'CONTRIBUTING.md', 'config/', 'launch/')
"""Where words of the "not" column are counted. docs/report*/ quotes the papers' claims and is left out."""
TEXT = ('.py', '.pxd', '.md', '.yaml', '.js', '.html', '.toml')
NOT_WORDS = {
    'way': r'ways?(_out)?',
    'stands, fault': r'stands?|faults?',
    'dearer, costly, kept clear': r'dear(er|est)|costl(y|ier)|kept clear',
    'shorter (a reason), clean_search, unlearned': r'clean_search|unlearned|Reason\.SHORTER',
    'tell, say, speak, hear': r'tells?|told|says?|said|speaks?|hears?|heard',
    'question, answer, refusal, enquiry, desk': r'questions?|answer(s|ed)?|refusals?|enquir(y|ies)|desks?',
    'errand, leg': r'errands?|legs?',
    'of it back': r'of it back',
    'it is 1 to 100': r'it is -?[\d.]+ to',
    'so many, as many as': r'so (many|much)|as many as',
    'onlooker, outputs, problems (a log)': r'onlookers?|outputs|(?-i:Problems)\b(?=\()',
    'what a tick may take': r'a tick may take',
}
INNOCENT = (
    r'either way|both ways|by the way|half ?way|in a way|one way|all the way',
    r'ways? (to|of|in which) |the way (it|a|the|its) ',
    r'waypoints?|gateway|right of way',
    r'the papers? (says?|said|tells?)|stands? for|\.tell\(\)',
)
"""Innocent uses, and the papers' own terms; they are cut out before words are counted."""


class Tree:
    """The files of the working copy, or of a commit."""

    def __init__(self, ref: str | None) -> None:
        self.ref = ref
        command = ['ls-tree', '-r', '--name-only', ref] if ref else ['ls-files']
        self.paths = [path for path in _git(*command).splitlines() if ref or (ROOT / path).exists()]

    def below(self, folders: tuple[str, ...], endings: tuple[str, ...]) -> list[str]:
        return [path for path in self.paths if path.startswith(folders) and path.endswith(endings)]

    @functools.cache  # noqa: B019 (lives as long as the command)
    def text(self, path: str) -> str:
        return _git('show', f'{self.ref}:{path}') if self.ref else (ROOT / path).read_text()

    def lines(self, paths: Iterable[str]) -> int:
        return sum(self.text(path).count('\n') for path in paths)


def _git(*arguments: str) -> str:
    return subprocess.run(['git', '-C', str(ROOT), *arguments], capture_output=True, text=True, check=True).stdout


# ---------------------------------------------------------------------- what is counted in files
def classes_defined_twice(tree: Tree) -> dict[str, list[str]]:
    found: dict[str, list[str]] = collections.defaultdict(list)
    for path in tree.below(CODE, ('.py',)):
        for node in ast.parse(tree.text(path)).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path)
    return {name: paths for name, paths in sorted(found.items()) if len(paths) > 1}


def words_left(tree: Tree) -> dict[str, dict[str, int]]:
    """Word of the "not" column -> file -> how often it is there."""
    innocent = re.compile('|'.join(INNOCENT), re.IGNORECASE)
    found: dict[str, dict[str, int]] = {name: {} for name in NOT_WORDS}
    for path in tree.below(WORDED, TEXT):
        if path.startswith('docs/report') or path == 'docs/code_counts.py':
            continue
        text = innocent.sub('', tree.text(path).replace('_', ' '))
        for name, pattern in NOT_WORDS.items():
            if count := len(re.findall(rf'\b(?:{pattern})\b', text, re.IGNORECASE)):
                found[name][path] = count
    return found


def counts_of(tree: Tree) -> dict[str, Any]:
    modules = tree.below(PACKAGE, ('.py',))
    words = words_left(tree)
    return {
        'modules in the installed package': len(modules),
        'lines in the installed package': tree.lines(tree.below(PACKAGE, ('.py', '.pxd'))),
        'lines of tb_planner + benchmarks': tree.lines(tree.below(CODE, ('.py', '.pxd'))),
        'modules of tb_planner + benchmarks': len(tree.below(CODE, ('.py',))),
        'class names defined twice': len(classes_defined_twice(tree)),
        'words of the "not" column': sum(sum(files.values()) for files in words.values()),
        'lines of README.md': tree.lines(['README.md']),
        'lines of CONTRIBUTING.md': tree.lines(['CONTRIBUTING.md']),
    }


# ---------------------------------------------------------------------- what is counted by running
ROS_MAP_FILES = ('maps/cdr.py', 'ros/node.py', 'ros/publishers.py')
"""Files around the tick with a new map: the callbacks of the map and the timer, decoding, and the publishers."""
ROS_REQUEST_FILES = ('ros/node.py', 'ros/path_actions.py', 'ros/pose_source.py', 'navigation/loop.py')
"""Files around PathPlanner between an action's goal and its result: the tick, server and handler, and goals to the
map's frame."""
TIMER_FRAMES = 1
"""Frames of the node above PlannerLoop.tick: the timer's callback."""


class NoLog:
    """Drops warnings: the program ends with an error if a tick fails."""

    def warn(self, kind: str, text: str, *, same: str = '') -> None:
        pass

    def error(self, kind: str, text: str) -> None:
        raise RuntimeError(text)


def traversed(call: Callable[[], object]) -> tuple[set[str], int]:
    """Runs the call; returns the package's files whose functions it called, and its frames above the kernel."""
    package = str(ROOT / 'tb_planner') + '/'
    files: set[str] = set()
    deepest = 0

    def profile(frame: Any, event: str, _: object) -> None:
        nonlocal deepest
        name = frame.f_code.co_filename
        if event != 'call' or not name.startswith(package) or frame.f_code.co_name == '<module>':
            return
        files.add(name[len(package) :])
        if name.endswith('search/planner.py') and frame.f_code.co_name == 'search':  # calls the compiled kernel
            depth, caller = 0, frame
            while caller is not None:
                depth += caller.f_code.co_filename.startswith(package)
                caller = caller.f_back
            deepest = max(deepest, depth)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files, deepest


def measured() -> dict[str, Any]:
    """Files and frames of a tick with a new map, and of a path request on it."""
    from tb_planner.config import PlannerParameters
    from tb_planner.geometry import MapGeometry, Pose2D
    from tb_planner.maps.cdr import Occupancy
    from tb_planner.maps.map_worker import MapIntake
    from tb_planner.navigation.loop import PlannerLoop, ReceivedPose
    from tb_planner.navigation.path_planner import PathPlanner

    parameters, log = PlannerParameters(robot_radius_m=0.0), NoLog()
    maps, poses = MapIntake(parameters.map_settings(), log), ReceivedPose(0.0)
    loop = PlannerLoop(parameters.loop_settings(), maps, poses, log, time.perf_counter)
    values = np.zeros((80, 120), np.int8)
    values[10:70, 50:70] = 100
    start, goal = Pose2D(0.5, 2.0), Pose2D(5.5, 2.0)
    poses.take(start, 0.0)
    loop.navigator.new_goal(goal)

    def map_to_waypoint() -> None:
        maps.take_map(Occupancy('map', 0, MapGeometry(120, 80, 0.05), values), 0.0)
        assert loop.tick(0.0).tick is not None

    files, frames = traversed(map_to_waypoint)
    planner: Any = PathPlanner(parameters.loop_settings().navigation, parameters.path_tolerance_m)
    planner.update_map(loop.map)

    def request_to_result() -> None:
        planner.request(start, [goal], start_is_robot=False)
        while planner.step(lambda search: search.search(1000)).path is None:
            pass

    found: dict[str, Any] = {}
    for what, passed, depth in (
        ('map message to waypoint', files | set(ROS_MAP_FILES), frames + TIMER_FRAMES),
        ('path request to result', traversed(request_to_result)[0] | set(ROS_REQUEST_FILES), None),
    ):
        found[f'files from {what}'] = f'{len(passed)}: {", ".join(sorted(passed))}'
        if depth is not None:
            found['Python frames from the timer to the kernel'] = depth
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--ref', metavar='COMMIT', help='count a commit, without what has to be run')
    options = parser.parse_args()
    tree = Tree(options.ref)
    counts = counts_of(tree) | ({} if options.ref else measured())
    for name, value in counts.items():
        print(f'{name:<44} {value}')
    for name, paths in classes_defined_twice(tree).items():
        print(f'  class {name}: {", ".join(paths)}')
    for word, files in words_left(tree).items():
        for path, count in files.items():
            print(f'  "{word}": {count} in {path}')


if __name__ == '__main__':
    main()
