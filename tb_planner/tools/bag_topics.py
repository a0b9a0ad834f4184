"""Finds the topics of a bag with the map, its updates, the pose and the goal: by option, or by type and name."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tb_planner.errors import BadInput

BASE_FRAME = 'base_link'
MAP = 'nav_msgs/msg/OccupancyGrid'
UPDATE = 'map_msgs/msg/OccupancyGridUpdate'
POSE = 'geometry_msgs/msg/PoseStamped'
POSE_WITH_COVARIANCE = 'geometry_msgs/msg/PoseWithCovarianceStamped'
ODOMETRY = 'nav_msgs/msg/Odometry'
TF = 'tf2_msgs/msg/TFMessage'

ROLES: dict[str, tuple[str, ...]] = {
    'map': (MAP,),
    'updates': (UPDATE,),
    'pose': (POSE, POSE_WITH_COVARIANCE, ODOMETRY, TF),
    'goal': (POSE,),
}
MAP_NAMES = ('map', 'global_costmap/costmap')
GOAL_NAMES = ('goal_pose', 'move_base_simple/goal', 'goal')
POSE_NAMES = ('pose', 'robot_pose', 'tracked_pose')
SPARSE_NAMES = ('amcl_pose',)
"""Names of poses that are published only while the robot moves; TF is preferred, if there is any."""
NOT_POSES = (*GOAL_NAMES, 'waypoint', 'initialpose', 'initial_pose', 'clicked_point')


class BagError(BadInput):
    """A bag that cannot be used. The message names the file, the error, and what to do."""


class Topic(NamedTuple):
    """A topic of a bag."""

    name: str
    type: str
    messages: int


@dataclass(frozen=True)
class TopicNames:
    """The names that the user gives; None means: find it. The pose '/tf' is the transform from map to robot."""

    map: str | None = None
    updates: str | None = None
    pose: str | None = None
    goal: str | None = None


class ChosenTopics(NamedTuple):
    """The topics to read; a bag may have no updates."""

    map: Topic
    updates: Topic | None
    pose: Topic
    goal: Topic


def choose(path: object, topics: Mapping[str, Topic], names: TopicNames) -> ChosenTopics:
    """Raises BagError with the option to set."""
    finder = _TopicFinder(path, topics)
    map_ = finder.named('map', names.map) or finder.map()
    goal = finder.named('goal', names.goal) or finder.goal()
    pose = finder.named('pose', names.pose) or finder.pose(goal)
    if pose == goal:
        raise BagError(f'{path}: {pose.name} cannot be both pose and goal; set --pose-topic and --goal-topic')
    updates = finder.named('updates', names.updates) or finder.updates(map_)
    return ChosenTopics(map_, updates, pose, goal)


class _TopicFinder:
    def __init__(self, path: object, topics: Mapping[str, Topic]) -> None:
        self._path = path
        self._topics = topics

    def named(self, role: str, name: str | None) -> Topic | None:
        if name is None:
            return None
        topic = self._topics.get(name) or self._topics.get(f'/{name}')
        if topic is None:
            raise BagError(f'{self._path}: it has no topic {name}; it has {_listed(self._topics.values())}')
        if topic.type not in ROLES[role]:
            possible = ' or '.join(ROLES[role])
            raise BagError(f'{self._path}: topic {topic.name} has type {topic.type}; a {role} must be {possible}')
        if topic.messages == 0:
            raise BagError(f'{self._path}: topic {topic.name} has no messages')
        return topic

    def map(self) -> Topic:
        found = self._of_types(MAP)
        return self._only('map', self._named(found, MAP_NAMES) or [t for t in found if _last(t) != 'expansions'])

    def goal(self) -> Topic:
        found = self._of_types(POSE)
        named = self._named(found, GOAL_NAMES) or [topic for topic in found if 'goal' in topic.name]
        return self._only('goal', named)

    def pose(self, goal: Topic) -> Topic:
        found = [t for t in self._of_types(POSE, POSE_WITH_COVARIANCE) if not _is_named(t, NOT_POSES) and t != goal]
        transforms = [topic for topic in self._of_types(TF) if _last(topic) == 'tf']
        candidates = (
            *(self._named(found, POSE_NAMES), transforms, self._named(found, SPARSE_NAMES)),
            *(found, self._of_types(ODOMETRY)),
        )
        return self._only('pose', next(filter(None, candidates), []))

    def updates(self, map_: Topic) -> Topic | None:
        found = self._of_types(UPDATE)
        return next((topic for topic in found if topic.name == f'{map_.name}_updates'), None)

    def _of_types(self, *types: str) -> list[Topic]:
        return [topic for topic in self._topics.values() if topic.type in types and topic.messages]

    @staticmethod
    def _named(topics: Collection[Topic], names: Collection[str]) -> list[Topic]:
        """Returns the topics with the first of these names that is in use, in any namespace."""
        for name in names:
            if fitting := [topic for topic in topics if _is_named(topic, (name,))]:
                return fitting
        return []

    def _only(self, role: str, topics: Collection[Topic]) -> Topic:
        if len(topics) == 1:
            return next(iter(topics))
        if topics:
            names = ', '.join(topic.name for topic in topics)
            raise BagError(f'{self._path}: several topics may be the {role}: {names}; choose one with --{role}-topic')
        raise BagError(
            f'{self._path}: found no {role} topic (of type {" or ".join(ROLES[role])}); '
            f'it has {_listed(self._topics.values())}. Name it with --{role}-topic'
        )


def _last(topic: Topic) -> str:
    return topic.name.rpartition('/')[2]


def _is_named(topic: Topic, names: Collection[str]) -> bool:
    return any(topic.name == name or topic.name.endswith(f'/{name}') for name in names)


def _listed(topics: Collection[Topic]) -> str:
    return ', '.join(f'{topic.name} ({topic.type}, {topic.messages:,})' for topic in topics) or 'no topics'


# ------------------------------------------------------------------------------------------------ options
def add_topic_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of commands that read a bag."""
    group = parser.add_argument_group('topics of a bag (default: found by type and by the usual names)')
    group.add_argument('--map-topic', metavar='NAME', help='nav_msgs/OccupancyGrid')
    group.add_argument('--updates-topic', metavar='NAME', help='map_msgs/OccupancyGridUpdate')
    group.add_argument(
        '--pose-topic', metavar='NAME', help='PoseStamped, PoseWithCovarianceStamped or Odometry; or /tf'
    )
    group.add_argument('--goal-topic', metavar='NAME', help='geometry_msgs/PoseStamped')
    group.add_argument(
        '--base-frame', metavar='NAME', default=BASE_FRAME, help=f"the robot's frame for /tf (default: {BASE_FRAME})"
    )


def topics_of(options: argparse.Namespace) -> TopicNames:
    return TopicNames(options.map_topic, options.updates_topic, options.pose_topic, options.goal_topic)
