"""ROS 2 bags, sqlite3 or mcap, read without ROS: maps, map updates, poses and goals in the order of recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tb_planner.files import check_yaml, open_file
from tb_planner.geometry import Box, MapGeometry, Pose2D, composed
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
from tb_planner.tools.bag_topics import BASE_FRAME, TF, BagError, ChosenTopics, Topic, TopicNames, choose

SUFFIXES = ('.mcap', '.db3')
COMPRESSED = '.zstd'
MAX_FRAMES = 64
"""Frames from the robot to the map; a longer chain is a cycle."""
MAX_DECOMPRESSED_BYTES = 2**28
"""Size of a decompressed chunk or message: more than twice the largest map."""
MAX_METADATA_BYTES = 2**24


@dataclass(frozen=True)
class Goal:
    """A goal in the map's frame."""

    pose: Pose2D


What: TypeAlias = 'Occupancy | Patch | Pose2D | Goal'


class Event(NamedTuple):
    """A message of the bag; the time counts from the bag's first message."""

    time_s: float
    what: What


class BagGoals(NamedTuple):
    """The goals of a bag, and the last map."""

    occupancy: NDArray[np.int8]
    geometry: MapGeometry
    trips: list[tuple[Pose2D, Pose2D]]
    """The robot's pose when a goal came, and the goal."""
    read_whole: bool
    """Whether there was time to read the whole bag."""


class Bag:
    """A bag that open_bag() has opened. It skips messages that cannot be used, and counts them in `problems`."""

    def __init__(self, path: Path, reader: Any, topics: TopicNames, base_frame: str) -> None:
        self.path = path
        self._reader = reader
        self._base_frame = base_frame
        counts = {topic.name: topic for topic in _topics_of(reader)}
        if not any(topic.messages for topic in counts.values()):
            raise BagError(f'{path}: the bag is empty; no topic has a message')
        self.topics: ChosenTopics = choose(path, counts, topics)
        self.problems: Counter[str] = Counter()
        """Reasons why messages were skipped, and how often, after events() has been read."""

    @property
    def duration_s(self) -> float:
        return float(self._reader.duration * 1e-9)

    def events(self) -> Iterator[Event]:
        """Yields all events in order. Poses and goals are in the map's frame; the last ones before the first map follow
        it, since its frame is known only then."""
        self.problems.clear()
        reader = _MessageReader(self.topics, self._base_frame)
        began_ns: int | None = None
        for topic, at_ns, data in self._messages():
            began_ns = at_ns if began_ns is None else min(began_ns, at_ns)
            try:
                for what in reader.read(topic, data):
                    yield Event((at_ns - began_ns) * 1e-9, what)
            except BadMessage as error:
                self.problems[f'{topic.name}: {error}'] += 1

    def goals(self, time_is_over: Callable[[], bool] = lambda: False) -> BagGoals:
        """Returns the goals for which there is a pose, until the time is over; a repeated goal counts once. Goals in
        the frame of an earlier map do not count. Raises BagError if there are none."""
        map_: Occupancy | None = None
        pose, goal, last_goal = None, None, None
        trips: list[tuple[Pose2D, Pose2D]] = []
        read_whole = True
        for _, what in self.events():
            if isinstance(what, Occupancy):
                if map_ is not None and what.frame not in ('', map_.frame):
                    trips, pose = [], None
                map_ = replace(what, values=what.values.copy())
            elif isinstance(what, Patch) and map_ is not None:
                self._apply(what, map_)
            elif isinstance(what, Pose2D):
                pose = what
            elif isinstance(what, Goal) and what != last_goal:
                goal = last_goal = what
            if goal is not None and pose is not None:
                trips.append((pose, goal.pose))
                goal = None
            if time_is_over():
                read_whole = False
                break
        if map_ is None or not trips:
            over = '' if read_whole else ' in the part that there was time to read'
            raise BagError(f'{self.path}: it has no goal with a map and a pose{over}{self.listed_problems()}')
        return BagGoals(map_.values, map_.geometry, trips, read_whole)

    def _apply(self, patch: Patch, map_: Occupancy) -> None:
        (x, y), (height, width) = patch.at, patch.values.shape
        box, whole = Box(x, y, x + width, y + height), Box(0, 0, map_.geometry.width, map_.geometry.height)
        if box.overlap(whole) == box:
            map_.values[box.slices] = patch.values
        else:
            self.problems['map update outside the map'] += 1

    def _messages(self) -> Iterator[tuple[Topic, int, bytes]]:
        """Yields messages of the chosen topics, and static transforms if the pose comes from TF."""
        wanted = {topic.name: topic for topic in self.topics if topic is not None}
        if self.topics.pose.type == TF:
            wanted.update({topic.name: topic for topic in _topics_of(self._reader) if topic.type == TF})
        connections = [connection for connection in self._reader.connections if connection.topic in wanted]
        with _bag_errors(self.path):
            messages = self._reader.messages(connections=connections)
        while True:
            with _bag_errors(self.path):
                item = next(messages, None)
            if item is None:
                return
            connection, at_ns, data = item
            yield wanted[connection.topic], at_ns, bytes(data)

    def listed_problems(self) -> str:
        """Returns the most frequent ones as the end of a sentence."""
        listed = '; '.join(f'{text} ({count} times)' for text, count in self.problems.most_common(3))
        return f': {listed}' if listed else ''


class _MessageReader:
    """Turns messages into events; what a message means depends on those before it."""

    def __init__(self, topics: ChosenTopics, base_frame: str) -> None:
        self._topics = topics
        self._base_frame = base_frame
        self._frame: str | None = None
        self._waiting: dict[Topic, StampedPose] = {}  # for the map's frame
        self._transforms = Transforms()

    def read(self, topic: Topic, data: bytes) -> Iterator[What]:
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
            raise BadMessage(f'the map update is in frame {patch.frame!r}, but the map is in {self._frame!r}')
        return patch

    def _placed(self, topic: Topic, stamped: StampedPose, frame: str) -> Pose2D | Goal:
        if stamped.frame.lstrip('/') not in ('', frame.lstrip('/')):
            role = self._role(topic)
            raise BadMessage(
                f'the {role} is in frame {stamped.frame!r}, but the map is in {frame!r}; choose another --{role}-topic'
            )
        return Goal(stamped.pose) if topic == self._topics.goal else stamped.pose

    def _transformed(self, frame: str) -> Pose2D:
        pose = self._transforms.pose(frame, self._base_frame)
        if pose is None:
            raise BadMessage(
                f'no transforms connect {frame!r} and {self._base_frame!r} (see --base-frame); the bag has '
                f'{self._transforms}'
            )
        return pose

    def _role(self, topic: Topic) -> str:
        return 'goal' if topic == self._topics.goal else 'pose'


class Transforms:
    """The newest transform of each frame, as TF has it, in the plane and without interpolation."""

    def __init__(self) -> None:
        self._parents: dict[str, StampedPose] = {}

    def take(self, transforms: Iterable[tuple[str, StampedPose]]) -> None:
        for child, pose in transforms:
            self._parents[child.lstrip('/')] = pose

    def pose(self, frame: str, child: str) -> Pose2D | None:
        """Returns the pose of a frame in one of its ancestors, or None if no transforms connect them."""
        pose, at = Pose2D(0.0, 0.0, 0.0), child.lstrip('/')
        for _ in range(MAX_FRAMES):
            if at == frame.lstrip('/'):
                return pose
            if at not in self._parents:
                return None
            parent = self._parents[at]
            pose, at = composed(parent.pose, pose), parent.frame.lstrip('/')
        return None

    def __str__(self) -> str:
        return ', '.join(f'{parent.frame} to {child}' for child, parent in self._parents.items()) or 'none'


@contextmanager
def open_bag(path: Path, topics: TopicNames | None = None, base_frame: str = BASE_FRAME) -> Iterator[Bag]:
    """Opens a folder with metadata.yaml, or one .mcap or .db3 file; raises BagError.

    >>> with open_bag(Path('rosbag2_2026_05_04')) as bag:  # doctest: +SKIP
    ...     print(len(bag.goals().trips))
    """
    if not path.exists():
        raise BagError(f'{path}: no such file or folder')
    if path.is_dir() and not (path / 'metadata.yaml').exists():
        files = sorted(file.name for file in path.iterdir() if file.suffix in SUFFIXES)
        hint = f'open the file itself ({files[0]}), or run' if files else 'if it is a bag, run'
        raise BagError(f'{path}: the folder has no metadata.yaml; {hint} ros2 bag reindex {path}')
    if path.suffix == COMPRESSED:
        raise BagError(f'{path}: the file is compressed; open the folder with its metadata.yaml, or run unzstd first')
    if not is_bag(path):
        raise BagError(f'{path}: bags must be folders, {" or ".join(SUFFIXES)} files')
    reader_class = _reader_class()
    _check_files(path)
    with _bounded_decompression():
        with _bag_errors(path):
            reader = reader_class(path)
            reader.open()
        try:
            with _bag_errors(path):
                bag = Bag(path, reader, topics or TopicNames(), base_frame)
            yield bag
        finally:
            reader.close()


def is_bag(path: Path) -> bool:
    """Whether the name looks like a bag."""
    return path.suffix in (*SUFFIXES, COMPRESSED) or path.is_dir()


def _check_files(path: Path) -> None:
    """Raises BagError if a file of the bag is a device or a FIFO, or its metadata cannot be parsed safely."""
    files = [path]
    if path.is_dir():
        check_yaml(path / 'metadata.yaml', MAX_METADATA_BYTES, BagError)
        files = [file for file in path.iterdir() if is_bag(file) and not file.is_dir()]
    for file in files:
        try:
            open_file(file).close()
        except OSError as error:
            raise BagError(f'{file}: cannot be read: {error.strerror}') from error


@contextmanager
def _bounded_decompression() -> Iterator[None]:
    """Within it, rosbags decompresses no chunk and no message to more than the limit: it has none of its own."""
    from rosbags.rosbag2 import reader, storage_mcap

    zstd, lz4 = storage_mcap.zstd, storage_mcap.lz4_decompress
    bounded = SimpleNamespace(**vars(zstd))  # of which another bag that is open may make another one
    bounded.decompress = lambda data: _decompressed(zstd.ZstdDecompressor, data)
    reader.zstd = storage_mcap.zstd = bounded
    storage_mcap.lz4_decompress = lambda data: _decompressed(import_module('lz4.frame').LZ4FrameDecompressor, data)
    try:
        yield
    finally:
        reader.zstd = storage_mcap.zstd = zstd
        storage_mcap.lz4_decompress = lz4


def _decompressed(new_decompressor: Callable[[], Any], data: bytes) -> bytes:
    """All frames in the data, one after the other."""
    parts: list[bytes] = []
    while data:
        decompressor = new_decompressor()
        left = MAX_DECOMPRESSED_BYTES - sum(map(len, parts))
        parts.append(decompressor.decompress(data, left + 1))
        if len(parts[-1]) > left:
            raise ValueError(f'decompressed, a chunk has more than {MAX_DECOMPRESSED_BYTES} bytes')
        if not decompressor.eof:
            raise ValueError('a compressed chunk is incomplete')
        data = decompressor.unused_data or b''
    return parts[0] if len(parts) == 1 else b''.join(parts)


def _reader_class() -> Any:
    try:
        from rosbags.rosbag2 import Reader
    except ImportError as error:
        raise BagError('bags need the Python package rosbags: pip install rosbags') from error
    return Reader


@contextmanager
def _bag_errors(path: Path) -> Iterator[None]:
    """Turns all errors of the library into BagError: a damaged file makes it raise any exception."""
    try:
        yield
    except BagError:
        raise
    except MemoryError as error:  # a damaged length field
        raise BagError(f'{path}: the bag cannot be read: a length in it exceeds the memory') from error
    except Exception as error:
        reason = ' '.join(str(error).split()).rstrip('.') or type(error).__name__
        raise BagError(
            f'{path}: the bag cannot be read: {reason}. If the recorder was killed, the file may be incomplete: '
            'repair .mcap files with mcap recover and .db3 files with sqlite3 .recover, then run ros2 bag reindex'
        ) from error


def _topics_of(reader: Any) -> list[Topic]:
    """Returns the topics with their message counts; a topic may have several connections."""
    messages: Counter[tuple[str, str]] = Counter()
    for connection in reader.connections:
        messages[connection.topic, connection.msgtype] += connection.msgcount
    return [Topic(name, type_name, count) for (name, type_name), count in messages.items()]
