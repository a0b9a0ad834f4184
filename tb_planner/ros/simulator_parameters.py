"""The simulator node's parameters, and what they mean to the simulation.

What Nav2's loopback simulator has as well has its name from there, also where units are missing in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Pose2D
from tb_planner.ros.params import as_yaml, parameter
from tb_planner.simulation import WORLDS, Limits, RandomChange, Settings

HEADING = """Parameters of the simulator node, with their defaults.
Written by `python -m tb_planner.ros.simulator_parameters`, and checked by a test."""

TURN = 3.1416


@dataclass(frozen=True)
class SimulatorParameters:
    """Every parameter of the node. Defaults that the simulation has too are its own."""

    # the world
    map: str = parameter(
        '', "a map_server's .yaml or a MovingAI .map; office and warehouse come along, '' is the office", read_only=True
    )
    world: str = parameter(
        Settings.world,
        'whether the map is known and stays, is known and changes, or is unknown',
        choices=WORLDS,
        read_only=True,
    )
    seed: int = parameter(
        Settings.seed,
        'of all that is drawn at random: the same seed and inputs make the same run',
        low=0,
        high=2**31 - 1,
        read_only=True,
    )
    obstacles: str = parameter(
        '',
        "script of obstacles, a .yaml; office and warehouse come along, '' is none; not in a static world",
        read_only=True,
    )
    obstacles_from_goal: bool = parameter(
        True, "whether the script's times count from the first goal, not from the start", read_only=True
    )
    change_rate: float = parameter(
        RandomChange.rate,
        "the 2014 paper's: half of it is the share of free cells that are blocked in a changing world",
        unit='%',
        low=0,
        high=100,
        read_only=True,
    )
    change_period_s: float = parameter(
        2.0, 'how often these cells are drawn anew', unit='s', low=0.01, high=3600, read_only=True
    )
    change_size_m: float = parameter(
        0.3, 'side of the squares in which cells change; 0 is single cells', unit='m', low=0, high=10, read_only=True
    )
    change_opens_walls: bool = parameter(
        False, 'whether the same share of blocked cells is freed, as in the paper', read_only=True
    )
    keep_clear_m: float = parameter(
        Settings.keep_clear_m,
        "nothing appears so near to the robot's rim; where it needs more to stop, that counts",
        unit='m',
        low=0,
        high=100,
    )
    goal_clear_m: float = parameter(
        Settings.goal_clear_m, 'nothing appears so near to the goal', unit='m', low=0, high=100
    )
    brush_m: float = parameter(
        0.3, 'side of the squares that are drawn and erased by hand', unit='m', low=0.01, high=10
    )

    # the map that is published
    sensor_radius_m: float = parameter(
        Settings.sensor_radius_m,
        'how far the robot sees in an unknown world',
        unit='m',
        low=0.01,
        high=100,
        read_only=True,
    )
    line_of_sight: bool = parameter(
        Settings.line_of_sight, 'whether obstacles hide what is behind them', read_only=True
    )
    growing_map: bool = parameter(
        Settings.growing_map, 'whether the map of an unknown world has only the size of what is known', read_only=True
    )
    map_margin_m: float = parameter(
        Settings.map_margin_m,
        'unknown ground around what is known, on a growing map; a goal has to be on the map',
        unit='m',
        low=0,
        high=200,
        read_only=True,
    )
    map_jitter: float = parameter(
        Settings.map_jitter,
        'how far off the origin of a growing map is at most, another way with each new size',
        unit='cells',
        low=0,
        high=0.5,
        read_only=True,
    )
    map_period_s: float = parameter(
        0.2, 'what is newly seen is published this often at most; what changes, at once', unit='s', low=0, high=3600
    )
    publish_map_updates: bool = parameter(
        False, 'whether changes are published as patches on map_updates, which needs map_msgs', read_only=True
    )

    # the robot
    start_x_m: float = parameter(0.0, 'where the robot starts', unit='m', read_only=True)
    start_y_m: float = parameter(0.0, 'where the robot starts', unit='m', read_only=True)
    start_yaw: float = parameter(0.0, 'its direction there', unit='rad', low=-TURN, high=TURN, read_only=True)
    random_start: bool = parameter(False, 'whether it starts at a place drawn by the seed instead', read_only=True)
    give_goal: bool = parameter(
        False, 'whether the simulator itself gives a goal, on goal_pose, to a planner that comes up', read_only=True
    )
    goal_x_m: float = parameter(0.0, 'the goal that is given', unit='m', read_only=True)
    goal_y_m: float = parameter(0.0, 'the goal that is given', unit='m', read_only=True)
    goal_yaw: float = parameter(0.0, 'the direction there', unit='rad', low=-TURN, high=TURN, read_only=True)
    random_goal: bool = parameter(False, 'whether it is a far place drawn by the seed instead', read_only=True)
    follow_waypoint: bool = parameter(
        True, 'whether the robot drives to waypoint by itself; if not, it obeys cmd_vel', read_only=True
    )
    waypoint_tolerance_m: float = parameter(
        Settings.waypoint_tolerance_m, 'so near to its waypoint the robot stops', unit='m', low=0.001, high=10
    )
    waypoint_timeout_s: float = parameter(
        Settings.waypoint_timeout_s,
        'so long after the last waypoint the robot stops; 0 is never',
        unit='s',
        low=0,
        high=3600,
    )
    command_timeout_s: float = parameter(
        Settings.command_timeout_s, 'so long after the last cmd_vel the robot stops', unit='s', low=0.01, high=3600
    )
    robot_radius_m: float = parameter(
        Settings.robot_radius_m,
        "the robot is a disc that stops at occupied cells; the planner's is larger by one and a half cells or more",
        unit='m',
        low=0.001,
        high=10,
        read_only=True,
    )
    max_speed_m_s: float = parameter(Limits.max_speed_m_s, 'top speed, also backwards', unit='m/s', low=0.001, high=50)
    max_acceleration_m_s2: float = parameter(
        Limits.max_acceleration_m_s2, 'how fast it gains speed or loses it', unit='m/s²', low=0.001, high=1000
    )
    max_turn_rad_s: float = parameter(Limits.max_turn_rad_s, 'top speed of turning', unit='rad/s', low=0.001, high=100)
    max_turn_acceleration_rad_s2: float = parameter(
        Limits.max_turn_acceleration_rad_s2,
        'how fast it begins to turn or stops',
        unit='rad/s²',
        low=0.001,
        high=10_000,
    )
    pose_noise_m: float = parameter(
        0.0, 'standard deviation of the position on pose, both ways', unit='m', low=0, high=10
    )
    pose_noise_rad: float = parameter(0.0, 'standard deviation of the direction on pose', unit='rad', low=0, high=TURN)

    # time
    update_duration: float = parameter(
        Settings.dt_s, 'step of the physics', unit='s', low=0.001, high=0.1, read_only=True
    )
    real_time_factor: float = parameter(1.0, 'how much faster than real time it all goes', low=0.01, high=100)
    publish_clock: bool = parameter(
        False, 'whether simulated time is published on /clock, from 0 on, for nodes with use_sim_time', read_only=True
    )
    odom_publish_dur: float = parameter(
        0.04, 'how often pose, odom and TF are published', unit='s', low=0.001, high=10, read_only=True
    )

    # frames, TF, commands
    map_frame_id: str = parameter('map', 'frame of the map', read_only=True)
    odom_frame_id: str = parameter('odom', 'frame of odometry', read_only=True)
    base_frame_id: str = parameter('base_link', 'frame of the robot', read_only=True)
    publish_tf: bool = parameter(True, 'whether to publish TF, if tf2_msgs is installed', read_only=True)
    publish_map_odom_tf: bool = parameter(True, 'whether map to odom is part of it', read_only=True)
    enable_stamped_cmd_vel: bool = parameter(False, 'whether cmd_vel is a TwistStamped, not a Twist', read_only=True)

    # the laser, which computes only while somebody listens
    scan_publish_dur: float = parameter(0.1, 'how often it scans', unit='s', low=0.01, high=10, read_only=True)
    scan_frame_id: str = parameter('base_link', 'frame of the laser, which sits in the middle', read_only=True)
    scan_range_min: float = parameter(0.05, 'nearer things give 0', unit='m', low=0, high=10, read_only=True)
    scan_range_max: float = parameter(10.0, 'how far it reaches', unit='m', low=0.1, high=100, read_only=True)
    scan_angle_min: float = parameter(-3.1415, 'first direction', unit='rad', low=-TURN, high=TURN, read_only=True)
    scan_angle_max: float = parameter(3.1415, 'last direction', unit='rad', low=-TURN, high=TURN, read_only=True)
    scan_angle_increment: float = parameter(
        0.02617, 'between two directions', unit='rad', low=0.001, high=TURN, read_only=True
    )
    scan_use_inf: bool = parameter(
        True, 'whether no echo is inf; if not, it is 0.1 m less than the reach', read_only=True
    )

    def problems(self) -> Iterator[str]:
        """What does not fit together."""
        if self.growing_map and self.world != 'unknown':
            yield f'growing_map is for an unknown world; world is {self.world}'
        if self.scan_angle_max < self.scan_angle_min:
            yield f'scan_angle_max is {self.scan_angle_max}; it is at least scan_angle_min, {self.scan_angle_min}'
        if self.scan_range_max <= self.scan_range_min:
            yield f'scan_range_max is {self.scan_range_max}; it is above scan_range_min, {self.scan_range_min}'
        for name in ('map_frame_id', 'odom_frame_id', 'base_frame_id', 'scan_frame_id'):
            frame = getattr(self, name)
            if not frame or frame.startswith('/') or ' ' in frame:
                yield f'{name} is {frame!r}; it is a name without a slash in front and without spaces'

    def settings(self) -> Settings:
        """What the simulation has to know."""
        return Settings(
            dt_s=self.update_duration,
            robot_radius_m=self.robot_radius_m,
            limits=Limits(
                max_speed_m_s=self.max_speed_m_s,
                max_acceleration_m_s2=self.max_acceleration_m_s2,
                max_turn_rad_s=self.max_turn_rad_s,
                max_turn_acceleration_rad_s2=self.max_turn_acceleration_rad_s2,
            ),
            world=self.world,
            waypoint_tolerance_m=self.waypoint_tolerance_m,
            command_timeout_s=self.command_timeout_s,
            waypoint_timeout_s=self.waypoint_timeout_s,
            keep_clear_m=self.keep_clear_m,
            goal_clear_m=self.goal_clear_m,
            change=RandomChange(
                rate=self.change_rate,
                period_s=self.change_period_s,
                size_m=self.change_size_m,
                open_walls=self.change_opens_walls,
            ),
            script_from_goal=self.obstacles_from_goal,
            sensor_radius_m=self.sensor_radius_m,
            line_of_sight=self.line_of_sight,
            growing_map=self.growing_map,
            map_margin_m=self.map_margin_m,
            map_jitter=self.map_jitter,
            seed=self.seed,
        )

    @property
    def start(self) -> Pose2D:
        return Pose2D(self.start_x_m, self.start_y_m, self.start_yaw)

    @property
    def goal(self) -> Pose2D:
        return Pose2D(self.goal_x_m, self.goal_y_m, self.goal_yaw)

    @property
    def scan_angles(self) -> NDArray[np.float64]:
        """The laser's directions, from the robot's own."""
        count = math.floor((self.scan_angle_max - self.scan_angle_min) / self.scan_angle_increment) + 1
        return self.scan_angle_min + self.scan_angle_increment * np.arange(count, dtype=np.float64)


if __name__ == '__main__':
    print(as_yaml(SimulatorParameters, 'simulator', HEADING), end='')
