"""Which topics of a bag are map, map updates, pose and goal: as asked for, or by type and by the usual names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tb_planner.errors import BadInput

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
SELDOM_NAMES = ('amcl_pose',)
"""Poses that come only while the robot moves: TF is better, if it is there."""
NOT_POSES = (*GOAL_NAMES, 'waypoint', 'initialpose', 'initial_pose', 'clicked_point')


class BagError(BadInput):
    """A bag that cannot be used; names the file, what was found in it, and what to do."""


class Topic(NamedTuple):
    """Of a bag."""

    name: str
    type: str
    messages: int


@dataclass(frozen=True)
class Topics:
    """Names as asked for; None: to be found. A pose of '/tf' is the transform from the map to the robot."""

    map: str | None = None
    updates: str | None = None
    pose: str | None = None
    goal: str | None = None


class Chosen(NamedTuple):
    """Topics that are there; updates may be missing."""

    map: Topic
    updates: Topic | None
    pose: Topic
    goal: Topic


def choose(path: object, topics: Mapping[str, Topic], asked: Topics) -> Chosen:
    """Raises BagError, which tells the option to set."""
    search = _Search(path, topics)
    map_ = search.asked_for('map', asked.map) or search.map()
    goal = search.asked_for('goal', asked.goal) or search.goal()
    pose = search.asked_for('pose', asked.pose) or search.pose(goal)
    if pose == goal:
        raise BagError(f'{path}: {pose.name} is said to be both pose and goal; --pose-topic and --goal-topic name two')
    updates = search.asked_for('updates', asked.updates) or search.updates(map_)
    return Chosen(map_, updates, pose, goal)


class _Search:
    def __init__(self, path: object, topics: Mapping[str, Topic]) -> None:
        self._path = path
        self._topics = topics

    def asked_for(self, role: str, name: str | None) -> Topic | None:
        if name is None:
            return None
        topic = self._topics.get(name) or self._topics.get(f'/{name}')
        if topic is None:
            raise BagError(f'{self._path}: there is no topic {name}; it has {_listed(self._topics.values())}')
        if topic.type not in ROLES[role]:
            possible = ' or '.join(ROLES[role])
            raise BagError(f'{self._path}: topic {topic.name} is of type {topic.type}; a {role} is {possible}')
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
            *(self._named(found, POSE_NAMES), transforms, self._named(found, SELDOM_NAMES)),
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
        """Those with the first of these names that any has, whatever the namespace."""
        for name in names:
            if fitting := [topic for topic in topics if _is_named(topic, (name,))]:
                return fitting
        return []

    def _only(self, role: str, topics: Collection[Topic]) -> Topic:
        if len(topics) == 1:
            return next(iter(topics))
        if topics:
            names = ', '.join(topic.name for topic in topics)
            raise BagError(f'{self._path}: the {role} may be {names}; tell which with --{role}-topic')
        raise BagError(
            f'{self._path}: no {role}: no topic of type {" or ".join(ROLES[role])} that looks like one; '
            f'it has {_listed(self._topics.values())}. --{role}-topic names it'
        )


def _last(topic: Topic) -> str:
    return topic.name.rpartition('/')[2]


def _is_named(topic: Topic, names: Collection[str]) -> bool:
    return any(topic.name == name or topic.name.endswith(f'/{name}') for name in names)


def _listed(topics: Collection[Topic]) -> str:
    return ', '.join(f'{topic.name} ({topic.type}, {topic.messages})' for topic in topics) or 'no topics'
