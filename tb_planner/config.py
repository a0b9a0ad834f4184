"""The planner node's parameters with their defaults, and the settings of every part that follow from them.

The defaults suit a small indoor robot at 20 Hz. This module can be imported without ROS: the tuner writes parameter
files for the node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tb_planner.maps.costmap import OCCUPIED, CostmapConfig
from tb_planner.maps.map_worker import MapSettings
from tb_planner.navigation.loop import LoopSettings
from tb_planner.navigation.navigator import Settings
from tb_planner.parameters import parameter
from tb_planner.search.algorithms import (
    ALGORITHMS,
    MAX_WEIGHT,
    RESTART_RULES,
    WEIGHTED,
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
    """Every parameter of the node. No other module has defaults."""

    # the search
    algorithm: str = parameter('tb_wa_star', 'search algorithm', choices=ALGORITHMS)
    weight: float = parameter(
        1.5,
        f'w in f = g + w h, for {WEIGHTED} only: above 1 it finds a path sooner, which costs up to w times as much',
        low=1,
        high=MAX_WEIGHT,
    )
    restart: str = parameter(  # without lazy_as_printed, which is for comparisons: it can lead into obstacles
        '',
        "rule by which a change of the map restarts the search; '' is the algorithm's own rule",
        choices=('', *(rule.name for rule in RESTART_RULES.values() if not rule.path_alone)),
    )
    min_improvement: float = parameter(
        0.05, "fraction by which a path's cost must fall or rise to restart the search", low=0, high=0.99
    )
    full_replan_period_s: float = parameter(
        0.0,
        'a search older than this restarts if the map has changed since it began; 0 is never',
        unit='s',
        low=0,
        high=3600,
    )

    # time
    tick_frequency: float = parameter(
        20.0, 'ticks per second; every tick publishes a waypoint', unit='Hz', low=0.1, high=1000
    )
    expansions_per_tick: int = parameter(
        0, 'largest number of states expanded in a tick; 0 searches for search_time_s', low=0, high=10**9
    )
    search_time_s: float = parameter(
        0.01, 'search time per tick if expansions_per_tick is 0', unit='s', low=0.0001, high=10
    )

    # occupancy to costs
    lethal_threshold: int = parameter(99, 'cells of at least this occupancy are obstacles', low=1, high=OCCUPIED)
    allow_unknown: bool = parameter(True, 'whether paths may cross unknown cells')
    unknown_cost: float = parameter(1.0, 'cost of an unknown cell; a free cell costs 1', low=1, high=MAX_COST)
    robot_radius_m: float = parameter(
        0.18,
        'cells at most this far from an obstacle are blocked; 0 for a map that is inflated already',
        unit='m',
        low=0,
        high=50,
    )
    inflation_radius_m: float = parameter(
        0.55, 'cells at most this far from an obstacle have a higher cost', unit='m', low=0, high=50
    )
    cost_travel_multiplier: float = parameter(
        2.0, 'an almost lethal cell costs 1 plus this value; a free cell costs 1', low=0, high=MAX_COST - 1
    )
    corner_cutting: bool = parameter(
        False, 'whether a diagonal move may pass the corner of a blocked cell', read_only=True
    )

    # following the route
    goal_tolerance_m: float = parameter(
        0.2, 'the robot has arrived at most this far from the goal, if it can see it', unit='m', low=0, high=10
    )
    start_tolerance_m: float = parameter(
        0.4,
        'a robot in a blocked cell may leave it by a free cell at most this far away, and at most 100 cells',
        unit='m',
        low=0,
        high=10,
    )
    waypoint_distance_m: float = parameter(
        1.0, 'largest distance from the robot to the waypoint', unit='m', low=0.01, high=100
    )
    deviation_tolerance_m: float = parameter(
        0.3, 'a robot farther than this from its route needs a new search', unit='m', low=0.01, high=100
    )

    # the robot's pose
    pose_source: str = parameter('topic', 'where the pose comes from', choices=('topic', 'tf'), read_only=True)
    pose_type: str = parameter('PoseStamped', 'message type of the topic pose', choices=POSE_TYPES, read_only=True)
    pose_reliability: str = parameter(
        'best_effort',
        'QoS of the topic pose; best_effort also works with reliable publishers',
        choices=('best_effort', 'reliable'),
        read_only=True,
    )
    global_frame: str = parameter('map', 'frame of map, pose and goal, until a map names another', read_only=True)
    robot_base_frame: str = parameter('base_link', "the robot's frame, for pose_source tf", read_only=True)
    transform_tolerance_s: float = parameter(
        0.5, 'a pose from TF older than this is lost: no waypoint is published', unit='s', low=0, high=60
    )
    pose_timeout_s: float = parameter(
        1.0, 'a pose received longer ago is lost: no waypoint is published; 0 is never', unit='s', low=0, high=3600
    )
    map_timeout_s: float = parameter(
        0.0,
        'a map received longer ago is lost: the robot stops at its last waypoint; 0 is never',
        unit='s',
        low=0,
        high=3600,
    )
    cleared_map_timeout_s: float = parameter(
        5.0,
        'a map that has lost most of its obstacles, such as a cleared costmap, is used only after this time if every '
        'goal and request has a path already; 0 is at once',
        unit='s',
        low=0,
        high=3600,
    )

    # Nav2
    nav2: bool = parameter(False, "whether to serve Nav2's planner actions; needs nav2_msgs", read_only=True)
    compute_path_to_pose_action: str = parameter(
        'compute_path_to_pose', 'name of the action for a path to a pose', read_only=True
    )
    compute_path_through_poses_action: str = parameter(
        'compute_path_through_poses', 'name of the action for a path through poses', read_only=True
    )
    planner_id: str = parameter('GridBased', 'planner_id that requests must name or leave empty')
    max_planning_time_s: float = parameter(
        2.0, 'a request without a path after this time ends with TIMEOUT', unit='s', low=0.001, high=3600
    )
    path_tolerance_m: float = parameter(
        0.5, 'a path may end at most this far from a goal that is blocked or cut off', unit='m', low=0, high=10
    )
    use_final_approach_orientation: bool = parameter(
        False, "whether a path's last pose points along the path, not as the goal does"
    )
    output: str = parameter(
        'waypoint',
        "what drives the robot: the topic waypoint, or Nav2's controller by the action follow_path",
        choices=('waypoint', 'follow_path'),
        read_only=True,
    )
    follow_path_action: str = parameter('follow_path', "name of the controller's action", read_only=True)
    controller_id: str = parameter('FollowPath', 'controller_id of the paths sent to the controller')
    goal_checker_id: str = parameter(
        '', "goal_checker_id of the paths sent to the controller; '' if the controller has only one"
    )
    progress_checker_id: str = parameter(
        '', "progress_checker_id of the paths sent to the controller; '' if the controller has only one"
    )
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
        'file in which to record the run, such as run.tbrun; every activation begins a new file and renames the old '
        "one to run.1.tbrun; '' records nothing",
        read_only=True,
    )
    subscribe_goal_pose: bool = parameter(True, 'whether to subscribe to goals on the topic goal_pose', read_only=True)
    autostart_node: bool = parameter(False, 'whether the node configures and activates itself', read_only=True)

    def problems(self) -> Iterator[str]:
        """What is wrong with the combination of values."""
        if self.inflation_radius_m < self.robot_radius_m:
            low = self.robot_radius_m
            yield f'inflation_radius_m is {self.inflation_radius_m}; it must be at least robot_radius_m, {low}'
        if self.expansions_per_tick == 0 and self.search_time_s > self.period_s:
            high = f'the period of {self.tick_frequency} Hz, {self.period_s:g} s'
            yield f'search_time_s is {self.search_time_s}; it must be at most {high}'
        for name in ('global_frame', 'robot_base_frame'):
            frame = getattr(self, name)
            if not frame or frame.startswith('/') or ' ' in frame:
                yield f'{name} is {frame!r}; it must be a name without a slash at its beginning and without spaces'
        for name in ('compute_path_to_pose_action', 'compute_path_through_poses_action', 'follow_path_action'):
            if not TOPIC_NAME.fullmatch(getattr(self, name)):
                yield (
                    f'{name} is {getattr(self, name)!r}; it must be the name of an action: letters, digits and '
                    'underscores, in parts that slashes separate and that begin with no digit'
                )
        if self.compute_path_to_pose_action == self.compute_path_through_poses_action:
            yield f'both actions are named {self.compute_path_to_pose_action!r}; their names must differ'

    @property
    def period_s(self) -> float:
        return 1.0 / self.tick_frequency

    @property
    def full_replan_ticks(self) -> int:
        """full_replan_period_s in ticks; 0 is never."""
        return round(self.full_replan_period_s * self.tick_frequency) or int(self.full_replan_period_s > 0)

    @property
    def pose_max_age_s(self) -> float:
        """How old a pose from the chosen source may be."""
        return self.transform_tolerance_s if self.pose_source == 'tf' else self.pose_timeout_s

    @property
    def algorithm_name(self) -> str:
        """The search algorithm for people, with its weight if it has one."""
        return f'{self.algorithm}, weight {self.weight:g}' if takes_weight(self.algorithm) else self.algorithm

    def settings(self) -> Settings:
        """The settings of the navigator."""
        return Settings(
            algorithm=make_algorithm(self.algorithm, self.weight, self.restart),
            k=self.expansions_per_tick or 1,
            min_improvement=self.min_improvement,
            goal_tolerance_m=self.goal_tolerance_m,
            waypoint_distance_m=self.waypoint_distance_m,
            deviation_tolerance_m=self.deviation_tolerance_m,
            start_tolerance_m=self.start_tolerance_m,
            full_replan_ticks=self.full_replan_ticks,
        )

    def loop_settings(self) -> LoopSettings:
        """The settings of the planner's loop."""
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
        costmap, recorded = self.costmap_config(), bool(self.record)
        return MapSettings(costmap, self.corner_cutting, self.global_frame, self.period_s, recorded)

    def costmap_config(self, resolution_m: float = 1.0) -> CostmapConfig:
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
