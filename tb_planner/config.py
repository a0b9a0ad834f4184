"""The planner node's parameters, and what they mean to the core. Defaults suit a small indoor robot at 20 Hz.

It can be imported where there is no ROS: the tuner writes parameter files for the node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tb_planner.maps.costmap import OCCUPIED, CostmapConfig
from tb_planner.maps.map_worker import MapSettings
from tb_planner.navigation.loop import LoopSettings
from tb_planner.navigation.navigator import Settings
from tb_planner.parameters import as_yaml, parameter
from tb_planner.search.algorithms import (
    ALGORITHMS,
    MAX_WEIGHT,
    RESTART_RULES,
    Algorithm,
    make_algorithm,
    takes_weight,
)
from tb_planner.search.grid import MAX_COST

HEADING = """Parameters of the planner node: every one with its default.
Parameters that are not "read at start only" may be changed while the node runs, with ros2 param set."""
TOPIC_NAME = re.compile(r'(~?/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*')
POSE_TYPES = ('PoseStamped', 'PoseWithCovarianceStamped', 'Odometry')


@dataclass(frozen=True)
class PlannerParameters:
    """Every parameter of the node, and the only place where their defaults stand."""

    # the search
    algorithm: str = parameter('tb_wa_star', 'row of the table of algorithms', choices=ALGORITHMS)
    weight: float = parameter(
        1.5,
        'w of g + w h, used by tb_wa_star alone: above 1 the way is found sooner and is up to w times as long',
        low=1,
        high=MAX_WEIGHT,
    )
    restart: str = parameter(
        '',
        "when a change of the map starts the search over; '' is the algorithm's own rule",
        choices=('', *(rule for rule in RESTART_RULES if rule != 'lazy_as_printed')),
    )
    min_improvement: float = parameter(
        0.05, 'by what fraction a way must become shorter, or dearer, to start over for it', low=0, high=0.99
    )
    full_replan_period_s: float = parameter(
        0.0,
        'after so long a search on a map that has changed since starts over; 0 is never',
        unit='s',
        low=0,
        high=3600,
    )

    # time
    tick_frequency: float = parameter(20.0, 'ticks, and so waypoints, a second', unit='Hz', low=0.1, high=1000)
    expansions_per_tick: int = parameter(
        0, 'states expanded in a tick at most; 0 is as many as fit in search_time_s', low=0, high=10**9
    )
    search_time_s: float = parameter(
        0.01, 'time to search in a tick, if expansions_per_tick is 0', unit='s', low=0.0001, high=10
    )

    # occupancy to costs
    lethal_threshold: int = parameter(99, 'occupancy from which on a cell is an obstacle', low=1, high=OCCUPIED)
    allow_unknown: bool = parameter(True, 'whether the way may lead through unknown cells')
    unknown_cost: float = parameter(1.0, 'cost of an unknown cell; a free one costs 1', low=1, high=MAX_COST)
    robot_radius_m: float = parameter(
        0.18,
        'cells this near to an obstacle are blocked; 0 for a map that is inflated already',
        unit='m',
        low=0,
        high=50,
    )
    inflation_radius_m: float = parameter(
        0.55, 'where the margin of dearer cells around obstacles ends', unit='m', low=0, high=50
    )
    cost_travel_multiplier: float = parameter(
        2.0, 'how much dearer than a free cell an almost lethal one is', low=0, high=MAX_COST - 1
    )
    corner_cutting: bool = parameter(
        False, 'whether a diagonal step may pass the corner of a blocked cell', read_only=True
    )

    # following the way
    goal_tolerance_m: float = parameter(
        0.2, 'so near to the goal, in free sight of it, the robot has arrived', unit='m', low=0, high=10
    )
    start_tolerance_m: float = parameter(
        0.4,
        'how far away the nearest free cell may be if the robot stands in a blocked one; 100 cells at most',
        unit='m',
        low=0,
        high=10,
    )
    waypoint_distance_m: float = parameter(
        1.0, 'how far ahead on the way the waypoint is at most', unit='m', low=0.01, high=100
    )
    deviation_tolerance_m: float = parameter(
        0.3, 'how far off its way the robot may be without a new search', unit='m', low=0.01, high=100
    )

    # the robot's pose
    pose_source: str = parameter('topic', 'where the pose comes from', choices=('topic', 'tf'), read_only=True)
    pose_type: str = parameter('PoseStamped', 'message type of the topic pose', choices=POSE_TYPES, read_only=True)
    pose_reliability: str = parameter(
        'best_effort',
        'QoS of the topic pose; best_effort also hears reliable publishers',
        choices=('best_effort', 'reliable'),
        read_only=True,
    )
    global_frame: str = parameter('map', 'frame of map, pose and goal, until a map says otherwise', read_only=True)
    robot_base_frame: str = parameter('base_link', "the robot's frame, for pose_source tf", read_only=True)
    transform_tolerance_s: float = parameter(
        0.5, 'a pose from TF older than this is lost: no waypoint is given', unit='s', low=0, high=60
    )
    pose_timeout_s: float = parameter(
        1.0, 'a pose received longer ago is lost: no waypoint is given; 0 is never', unit='s', low=0, high=3600
    )
    map_timeout_s: float = parameter(
        0.0,
        'a map received longer ago is lost: the robot is held; 0 is never',
        unit='s',
        low=0,
        high=3600,
    )
    cleared_map_timeout_s: float = parameter(
        5.0,
        'a map that suddenly has lost most of its obstacles, as a cleared costmap has, is believed only after so long, '
        'if all that need a way have one; 0 is at once',
        unit='s',
        low=0,
        high=3600,
    )

    # Nav2
    nav2: bool = parameter(False, "whether Nav2's planner actions are served; needs nav2_msgs", read_only=True)
    compute_path_to_pose_action: str = parameter(
        'compute_path_to_pose', 'name of the action for a path to a pose', read_only=True
    )
    compute_path_through_poses_action: str = parameter(
        'compute_path_through_poses', 'name of the action for a path through poses', read_only=True
    )
    planner_id: str = parameter('GridBased', 'planner_id that requests have to name; an empty one is always taken')
    max_planning_time_s: float = parameter(
        2.0, 'a request that has no path after so long ends with TIMEOUT', unit='s', low=0.001, high=3600
    )
    path_tolerance_m: float = parameter(
        0.5, 'how far from a goal that is blocked or cut off a path may end', unit='m', low=0, high=10
    )
    use_final_approach_orientation: bool = parameter(
        False, "whether a path's last pose looks along the path instead of where the goal does"
    )
    output: str = parameter(
        'waypoint',
        "what drives the robot: the topic waypoint, or Nav2's controller, by the action follow_path",
        choices=('waypoint', 'follow_path'),
        read_only=True,
    )
    follow_path_action: str = parameter('follow_path', "name of the controller's action", read_only=True)
    controller_id: str = parameter('FollowPath', 'controller_id of what is sent there')
    goal_checker_id: str = parameter('', "goal_checker_id of what is sent there; '' is the only one there is")
    progress_checker_id: str = parameter('', "progress_checker_id of what is sent there; '' is the only one there is")
    bond_heartbeat_period: float = parameter(
        0.1,
        "time between two heartbeats of the bond with Nav2's lifecycle manager, if nav2 is true; 0 is no bond",
        unit='s',
        low=0,
        high=1,
        read_only=True,
    )

    # the node
    record: str = parameter(
        '',
        'file for a record of the run, run.tbrun say, begun anew with every activation; the one before becomes '
        "run.1.tbrun; '' is none",
        read_only=True,
    )
    subscribe_goal_pose: bool = parameter(True, 'whether goals come from the topic goal_pose', read_only=True)
    autostart_node: bool = parameter(False, 'whether the node configures and activates itself', read_only=True)

    def problems(self) -> Iterator[str]:
        """What does not fit together."""
        if self.inflation_radius_m < self.robot_radius_m:
            least = self.robot_radius_m
            yield f'inflation_radius_m is {self.inflation_radius_m}; it is at least robot_radius_m, {least}'
        if self.expansions_per_tick == 0 and self.search_time_s > self.period_s:
            yield f'search_time_s is {self.search_time_s}; a tick at {self.tick_frequency} Hz has {self.period_s:g} s'
        for name in ('global_frame', 'robot_base_frame'):
            frame = getattr(self, name)
            if not frame or frame.startswith('/') or ' ' in frame:
                yield f'{name} is {frame!r}; it is a name without a slash in front and without spaces'
        for name in ('compute_path_to_pose_action', 'compute_path_through_poses_action', 'follow_path_action'):
            if not TOPIC_NAME.fullmatch(getattr(self, name)):
                yield (
                    f'{name} is {getattr(self, name)!r}; it must be the name of an action: letters, digits and '
                    'underscores, in parts that slashes separate and that begin with no digit'
                )
        if self.compute_path_to_pose_action == self.compute_path_through_poses_action:
            yield f'both actions are named {self.compute_path_to_pose_action!r}; each needs a name of its own'

    @property
    def period_s(self) -> float:
        return 1.0 / self.tick_frequency

    @property
    def full_replan_ticks(self) -> int:
        """The period of clean searches in ticks; 0 is never."""
        return round(self.full_replan_period_s * self.tick_frequency) or int(self.full_replan_period_s > 0)

    @property
    def pose_max_age_s(self) -> float:
        """How old a pose from the chosen source may be."""
        return self.transform_tolerance_s if self.pose_source == 'tf' else self.pose_timeout_s

    @property
    def algorithm_name(self) -> str:
        """The search algorithm for people, with its weight if it has one."""
        return f'{self.algorithm}, weight {self.weight:g}' if takes_weight(self.algorithm) else self.algorithm

    def algorithm_config(self) -> Algorithm:
        """The search algorithm with its weight and restart rule."""
        return make_algorithm(self.algorithm, self.weight, self.restart)

    def settings(self) -> Settings:
        """What the navigator has to know."""
        return Settings(
            algorithm=self.algorithm_config(),
            k=self.expansions_per_tick or 1,
            min_improvement=self.min_improvement,
            goal_tolerance_m=self.goal_tolerance_m,
            waypoint_distance_m=self.waypoint_distance_m,
            deviation_tolerance_m=self.deviation_tolerance_m,
            start_tolerance_m=self.start_tolerance_m,
            full_replan_ticks=self.full_replan_ticks,
        )

    def loop_settings(self) -> LoopSettings:
        """What the planner's loop has to know."""
        return LoopSettings(
            navigation=self.settings(),
            expansions_per_tick=self.expansions_per_tick,
            search_time_s=self.search_time_s,
            map_timeout_s=self.map_timeout_s,
            cleared_map_timeout_s=self.cleared_map_timeout_s,
            path_tolerance_m=self.path_tolerance_m,
        )

    def map_settings(self) -> MapSettings:
        """How map messages become grids."""
        return MapSettings(self.costmap_config, self.corner_cutting, self.global_frame, self.period_s)

    def costmap_config(self, resolution_m: float) -> CostmapConfig:
        """How occupancy becomes cost on a map of this resolution; raises ValueError if the radii are too many cells."""
        return CostmapConfig(
            resolution_m=resolution_m,
            lethal_threshold=self.lethal_threshold,
            allow_unknown=self.allow_unknown,
            unknown_cost=self.unknown_cost,
            robot_radius_m=self.robot_radius_m,
            inflation_radius_m=self.inflation_radius_m,
            cost_travel_multiplier=self.cost_travel_multiplier,
        )


if __name__ == '__main__':
    print(as_yaml(PlannerParameters, 'tb_planner', HEADING), end='')
