"""A bag's events: maps, map updates, poses and goals with the times at which they were recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.cdr import (
    BadMessage,
    Occupancy,
    Patch,
    StampedPose,
    occupancy_from_cdr,
    patch_from_cdr,
    pose_from_cdr,
    transforms_from_cdr,
)
from tb_planner.tools.bags.snapshots import Snapshots
from tb_planner.tools.bags.topics import TF, BagError, Chosen, Topic, Topics, choose
from tb_planner.tools.bags.transforms import Transforms

BASE_FRAME = 'base_link'
SUFFIXES = ('.mcap', '.db3')
PACKED = '.zstd'


@dataclass(frozen=True)
class Goal:
    """A goal in the map's frame."""

    pose: Pose2D


What: TypeAlias = 'Occupancy | Patch | Pose2D | Goal'


class Event(NamedTuple):
    """Something that was heard; the time counts from the bag's first message."""

    time_s: float
    what: What


class GivenGoal(NamedTuple):
    """A goal, and what was known when it was given; of maps that change often, as it was not long before."""

    occupancy: NDArray[np.int8]
    geometry: MapGeometry
    start: Pose2D
    goal: Pose2D


class Bag:
    """Made by open_bag(). Messages that cannot be used are passed over, and counted in `problems`."""

    def __init__(self, path: Path, reader: Any, topics: Topics, base_frame: str) -> None:
        self.path = path
        self._reader = reader
        self._base_frame = base_frame
        counts = {topic.name: topic for topic in _topics_of(reader)}
        if not any(topic.messages for topic in counts.values()):
            raise BagError(f'{path}: the bag is empty: no topic has a message')
        self.topics: Chosen = choose(path, counts, topics)
        self.problems: Counter[str] = Counter()
        """What was passed over, and how often, after events() have been read."""
        self.read_whole = True
        """Whether goals() had the time to read all of it."""

    @property
    def duration_s(self) -> float:
        return float(self._reader.duration * 1e-9)

    def events(self) -> Iterator[Event]:
        """From first to last. Poses and goals are in the map's frame; the last ones before the first map come with it,
        since only then its frame is known."""
        self.problems.clear()
        hearing = _Hearing(self.topics, self._base_frame)
        began_ns: int | None = None
        for topic, at_ns, data in self._messages():
            began_ns = at_ns if began_ns is None else min(began_ns, at_ns)
            try:
                for what in hearing.hear(topic, data):
                    yield Event((at_ns - began_ns) * 1e-9, what)
            except BadMessage as error:
                self.problems[f'{topic.name}: {error}'] += 1

    def goals(self, time_is_over: Callable[[], bool] = lambda: False) -> list[GivenGoal]:
        """Those for which there was a map and a pose, up to when the time is over; one that is only said again counts
        once. Raises BagError if there are none."""
        known = _Known()
        found: list[tuple[int, Pose2D, Pose2D]] = []
        self.read_whole = True
        for event in self.events():
            try:
                known.take(event.what)
            except BadMessage as error:
                self.problems[f'{error}'] += 1
            if given := known.take_goal():
                found.append(given)
            if time_is_over():
                self.read_whole = False
                break
        if not found:
            over = '' if self.read_whole else ' in as much of it as there was time to read'
            raise BagError(f'{self.path}: no goal with a map and a pose before it or behind it{over}{self._troubles()}')
        return [GivenGoal(*known.maps.at(number), start, goal) for number, start, goal in found]

    def _messages(self) -> Iterator[tuple[Topic, int, bytes]]:
        """Of the topics that count, and of static transforms if the pose comes from TF."""
        wanted = {topic.name: topic for topic in self.topics if topic is not None}
        if self.topics.pose.type == TF:
            wanted.update({topic.name: topic for topic in _topics_of(self._reader) if topic.type == TF})
        connections = [connection for connection in self._reader.connections if connection.topic in wanted]
        with _told(self.path):
            messages = self._reader.messages(connections=connections)
        while True:
            with _told(self.path):
                item = next(messages, None)
            if item is None:
                return
            connection, at_ns, data = item
            yield wanted[connection.topic], at_ns, bytes(data)

    def _troubles(self) -> str:
        told = '; '.join(f'{text} ({count} times)' for text, count in self.problems.most_common(3))
        return f': {told}' if told else ''


class _Known:
    """What a robot knows when it is told a goal."""

    def __init__(self) -> None:
        self.maps = Snapshots()
        self._occupancy: NDArray[np.int8] | None = None
        self._geometry: MapGeometry | None = None
        self._changed = False
        self._number = -1
        self._pose: Pose2D | None = None
        self._goal: Goal | None = None
        self._last_goal: Goal | None = None

    def take(self, what: What) -> None:
        """Raises BadMessage."""
        if isinstance(what, Occupancy):
            self._occupancy, self._geometry, self._changed = what.values.copy(), what.geometry, True
        elif isinstance(what, Patch):
            self._patch(what)
        elif isinstance(what, Pose2D):
            self._pose = what
        elif what != self._last_goal:
            self._goal = self._last_goal = what

    def take_goal(self) -> tuple[int, Pose2D, Pose2D] | None:
        """A new one, once map and pose are known: the number of the map, from where, and to where."""
        if self._goal is None or self._pose is None or self._occupancy is None or self._geometry is None:
            return None
        if self._changed:
            self._number, self._changed = self.maps.take(self._occupancy, self._geometry), False
        goal, self._goal = self._goal, None
        return self._number, self._pose, goal.pose

    def _patch(self, patch: Patch) -> None:
        (x, y), (height, width) = patch.at, patch.values.shape
        occupancy = self._occupancy
        if occupancy is None or not (0 <= x <= occupancy.shape[1] - width and 0 <= y <= occupancy.shape[0] - height):
            raise BadMessage('map update outside the map')
        occupancy[y : y + height, x : x + width] = patch.values
        self._changed = True


class _Hearing:
    """What messages mean, given those before them."""

    def __init__(self, topics: Chosen, base_frame: str) -> None:
        self._topics = topics
        self._base_frame = base_frame
        self._frame: str | None = None  # the map's
        self._waiting: dict[Topic, StampedPose] = {}  # for it
        self._transforms = Transforms()

    def hear(self, topic: Topic, data: bytes) -> Iterator[What]:
        """Raises BadMessage."""
        if topic == self._topics.map:
            yield from self._map(occupancy_from_cdr(data))
        elif topic == self._topics.updates:
            yield self._patch(patch_from_cdr(data))
        elif topic.type == TF:
            self._transforms.take(transforms_from_cdr(data))
            if self._frame is not None and topic == self._topics.pose:
                yield self._transformed(self._frame)
        else:
            stamped = pose_from_cdr(data, topic.type.rpartition('/')[2], self._role(topic))
            if self._frame is None:
                self._waiting[topic] = stamped
            else:
                yield self._placed(topic, stamped, self._frame)

    def _map(self, occupancy: Occupancy) -> Iterator[What]:
        self._frame = occupancy.frame or self._frame or ''
        yield occupancy
        while self._waiting:
            yield self._placed(*self._waiting.popitem(), self._frame)

    def _patch(self, patch: Patch) -> Patch:
        if self._frame is None:
            raise BadMessage('map update before the first map')
        if patch.frame not in ('', self._frame):
            raise BadMessage(f'map update is in frame {patch.frame!r}; the map is in {self._frame!r}')
        return patch

    def _placed(self, topic: Topic, stamped: StampedPose, frame: str) -> Pose2D | Goal:
        if stamped.frame.lstrip('/') not in ('', frame.lstrip('/')):
            role = self._role(topic)
            raise BadMessage(
                f'{role} in frame {stamped.frame!r}, the map in {frame!r}; --{role}-topic names one that is in it'
            )
        return Goal(stamped.pose) if topic == self._topics.goal else stamped.pose

    def _transformed(self, frame: str) -> Pose2D:
        pose = self._transforms.pose(frame, self._base_frame)
        if pose is None:
            raise BadMessage(
                f'no transforms lead from {frame!r} to {self._base_frame!r}, which --base-frame names; there are '
                f'{self._transforms}'
            )
        return pose

    def _role(self, topic: Topic) -> str:
        return 'goal' if topic == self._topics.goal else 'pose'


@contextmanager
def open_bag(path: Path, topics: Topics | None = None, base_frame: str = BASE_FRAME) -> Iterator[Bag]:
    """A folder with metadata.yaml, or one .mcap or .db3 file; raises BagError."""
    if not path.exists():
        raise BagError(f'{path}: there is no such file or folder')
    if path.is_dir() and not (path / 'metadata.yaml').exists():
        files = sorted(file.name for file in path.iterdir() if file.suffix in SUFFIXES)
        hint = f'give the file itself ({files[0]}), or' if files else 'is it a bag? If so,'
        raise BagError(f'{path}: the folder has no metadata.yaml; {hint} ros2 bag reindex {path} writes one')
    if path.suffix == PACKED:
        raise BagError(f'{path}: the file is compressed; give the folder with its metadata.yaml, or unzstd it first')
    if not is_bag(path):
        raise BagError(f'{path}: {not_a_bag(path)}')
    reader_class = _reader_class()
    with _told(path):
        reader = reader_class(path)
        reader.open()
    try:
        with _told(path):
            bag = Bag(path, reader, topics or Topics(), base_frame)
        yield bag
    finally:
        reader.close()


def is_bag(path: Path) -> bool:
    """Whether it looks like one."""
    return path.suffix in (*SUFFIXES, PACKED) or path.is_dir()


def not_a_bag(path: Path) -> str:
    """Why it does not."""
    other = f'not in {path.suffix!r}' if path.suffix else 'and this name has no ending'
    return f'a bag is a folder, or ends in {" or ".join(SUFFIXES)}, {other}'


def _reader_class() -> Any:
    try:
        from rosbags.rosbag2 import Reader
    except ImportError as error:
        raise BagError('bags need the Python package rosbags: pip install rosbags') from error
    return Reader


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What goes wrong in the library comes as BagError: damaged files make it raise whatever comes first."""
    try:
        yield
    except BagError:
        raise
    except MemoryError as error:  # a length that is damaged asks for more than any computer has
        raise BagError(f'{path}: the bag cannot be read: something in it is said to be larger than memory') from error
    except Exception as error:
        reason = ' '.join(str(error).split()).rstrip('.') or type(error).__name__
        raise BagError(
            f'{path}: the bag cannot be read: {reason}. If the recorder was killed, the file may be cut off: '
            'mcap recover mends .mcap files, sqlite3 .recover .db3 files, and ros2 bag reindex writes metadata.yaml'
        ) from error


def _topics_of(reader: Any) -> list[Topic]:
    """A topic may have several connections."""
    messages: Counter[tuple[str, str]] = Counter()
    for connection in reader.connections:
        messages[connection.topic, connection.msgtype] += connection.msgcount
    return [Topic(name, type_name, count) for (name, type_name), count in messages.items()]
