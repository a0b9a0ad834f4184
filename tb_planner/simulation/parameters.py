"""The parameters of the simulator node, and the settings of the simulation that they make.

A parameter that Nav2's loopback simulator has, too, keeps its name from there, even where the name lacks a unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Pose2D
from tb_planner.parameters import parameter
from tb_planner.simulation.robot import Limits
from tb_planner.simulation.simulator import WORLDS, SimulationSettings
from tb_planner.simulation.true_map import RandomChange

HEADING = """Parameters of the simulator node, with their defaults.
Written by `python docs/update_tables.py`, and checked by a test."""

TURN = 3.1416


@dataclass(frozen=True)
class SimulatorParameters:
    """Every parameter of the node. A default that the simulation has, too, is taken from there."""

    # the world
    map: str = parameter(
        '',
        "a map_server .yaml or a MovingAI .map file, or one of the package's maps, office and warehouse; '' is office",
        read_only=True,
    )
    world: str = parameter(
        SimulationSettings.world,
        'static: a known map; changing: a known map whose obstacles come and go; unknown: a map to be seen',
        choices=WORLDS,
        read_only=True,
    )
    seed: int = parameter(
        SimulationSettings.seed,
        'seed of everything random: the same seed and inputs give the same run',
        low=0,
        high=2**31 - 1,
        read_only=True,
    )
    obstacles: str = parameter(
        '',
        "script of obstacles, a .yaml file or office or warehouse; '' is none; a static world ignores it",
        read_only=True,
    )
    obstacles_from_goal: bool = parameter(
        True, 'whether the times of the script count from the first goal (else from the start)', read_only=True
    )
    change_rate: float = parameter(
        RandomChange.rate,
        'change rate of the 2014 paper: half of it is the share of free cells that become blocked in a changing world',
        unit='%',
        low=0,
        high=100,
        read_only=True,
    )
    change_period_s: float = parameter(
        2.0, 'time between two random changes', unit='s', low=0.01, high=3600, read_only=True
    )
    change_size_m: float = parameter(
        0.3, 'side of the squares in which cells change; 0 is single cells', unit='m', low=0, high=10, read_only=True
    )
    change_opens_walls: bool = parameter(
        False, 'whether the same share of blocked cells becomes free, as in the paper', read_only=True
    )
    keep_clear_m: float = parameter(
        SimulationSettings.keep_clear_m,
        "distance from the robot's edge within which no obstacle appears; at least its stopping distance",
        unit='m',
        low=0,
        high=100,
    )
    goal_clear_m: float = parameter(
        SimulationSettings.goal_clear_m,
        'distance from the goal within which no obstacle appears',
        unit='m',
        low=0,
        high=100,
    )
    brush_m: float = parameter(0.3, 'side of the square that a stroke draws or erases', unit='m', low=0.01, high=10)

    # the map that is published
    sensor_radius_m: float = parameter(
        SimulationSettings.sensor_radius_m,
        'range of the sensor in an unknown world',
        unit='m',
        low=0.01,
        high=100,
        read_only=True,
    )
    line_of_sight: bool = parameter(
        SimulationSettings.line_of_sight, 'whether obstacles hide what is behind them', read_only=True
    )
    growing_map: bool = parameter(
        SimulationSettings.growing_map,
        'whether the map of an unknown world covers only the known part',
        read_only=True,
    )
    map_margin_m: float = parameter(
        SimulationSettings.map_margin_m,
        'unknown margin around the known part of a growing map; a goal must be on the map',
        unit='m',
        low=0,
        high=200,
        read_only=True,
    )
    map_jitter: float = parameter(
        SimulationSettings.map_jitter,
        'largest random offset of the origin of a growing map, drawn anew with each size',
        unit='cells',
        low=0,
        high=0.5,
        read_only=True,
    )
    map_period_s: float = parameter(
        0.2,
        'shortest time between two maps of newly seen cells; changes are published at once',
        unit='s',
        low=0,
        high=3600,
    )
    publish_map_updates: bool = parameter(
        False, 'whether to publish changes as patches on map_updates; needs map_msgs', read_only=True
    )

    # the robot
    start_x_m: float = parameter(0.0, 'x of the start', unit='m', read_only=True)
    start_y_m: float = parameter(0.0, 'y of the start', unit='m', read_only=True)
    start_yaw: float = parameter(0.0, 'heading at the start', unit='rad', low=-TURN, high=TURN, read_only=True)
    random_start: bool = parameter(False, 'whether to draw the start at random instead', read_only=True)
    give_goal: bool = parameter(
        False, 'whether the simulator publishes a goal on goal_pose to every planner that starts', read_only=True
    )
    goal_x_m: float = parameter(0.0, 'x of that goal', unit='m', read_only=True)
    goal_y_m: float = parameter(0.0, 'y of that goal', unit='m', read_only=True)
    goal_yaw: float = parameter(0.0, 'heading at that goal', unit='rad', low=-TURN, high=TURN, read_only=True)
    random_goal: bool = parameter(False, 'whether to draw a distant goal at random instead', read_only=True)
    viewer_limit_s: float = parameter(
        0.0,
        'how long that goal waits for a page of the live view to be opened',
        unit='s',
        low=0,
        high=3600,
        read_only=True,
    )
    follow_waypoint: bool = parameter(
        True, 'whether the robot drives to the waypoint by itself (else it follows cmd_vel)', read_only=True
    )
    waypoint_tolerance_m: float = parameter(
        SimulationSettings.waypoint_tolerance_m,
        'distance from its waypoint at which the robot stops',
        unit='m',
        low=0.001,
        high=10,
    )
    waypoint_timeout_s: float = parameter(
        SimulationSettings.waypoint_timeout_s,
        'time after the last waypoint at which the robot stops; 0 is never',
        unit='s',
        low=0,
        high=3600,
    )
    command_timeout_s: float = parameter(
        SimulationSettings.command_timeout_s,
        'time after the last cmd_vel at which the robot stops',
        unit='s',
        low=0.01,
        high=3600,
    )
    robot_radius_m: float = parameter(
        SimulationSettings.robot_radius_m,
        "radius of the robot, a disc that stops at occupied cells; the planner's must be at least 1.5 cells larger",
        unit='m',
        low=0.001,
        high=10,
        read_only=True,
    )
    max_speed_m_s: float = parameter(
        Limits.max_speed_m_s, 'top speed, forwards and backwards', unit='m/s', low=0.001, high=50
    )
    max_acceleration_m_s2: float = parameter(
        Limits.max_acceleration_m_s2, 'largest acceleration and deceleration', unit='m/s²', low=0.001, high=1000
    )
    max_turn_rad_s: float = parameter(Limits.max_turn_rad_s, 'top turning speed', unit='rad/s', low=0.001, high=100)
    max_turn_acceleration_rad_s2: float = parameter(
        Limits.max_turn_acceleration_rad_s2,
        'largest turning acceleration and deceleration',
        unit='rad/s²',
        low=0.001,
        high=10_000,
    )
    pose_noise_m: float = parameter(0.0, 'standard deviation of x and of y on pose', unit='m', low=0, high=10)
    pose_noise_rad: float = parameter(0.0, 'standard deviation of the heading on pose', unit='rad', low=0, high=TURN)

    # time
    update_duration: float = parameter(
        SimulationSettings.dt_s, 'time step of the physics', unit='s', low=0.001, high=0.1, read_only=True
    )
    real_time_factor: float = parameter(1.0, 'simulated seconds in a second of real time', low=0.01, high=100)
    publish_clock: bool = parameter(
        False, 'whether to publish simulated time on /clock, starting at 0, for nodes with use_sim_time', read_only=True
    )
    odom_publish_dur: float = parameter(
        0.04, 'time between two messages on pose, odom and TF', unit='s', low=0.001, high=10, read_only=True
    )

    # frames, TF, commands
    map_frame_id: str = parameter('map', 'frame of the map', read_only=True)
    odom_frame_id: str = parameter('odom', 'frame of odometry', read_only=True)
    base_frame_id: str = parameter('base_link', 'frame of the robot', read_only=True)
    publish_tf: bool = parameter(True, 'whether to publish TF, if tf2_msgs is installed', read_only=True)
    publish_map_odom_tf: bool = parameter(True, 'whether TF includes map to odom', read_only=True)
    enable_stamped_cmd_vel: bool = parameter(False, 'whether cmd_vel is a TwistStamped (else a Twist)', read_only=True)

    # the laser, which computes only while it has subscribers
    scan_publish_dur: float = parameter(0.1, 'time between two scans', unit='s', low=0.01, high=10, read_only=True)
    scan_frame_id: str = parameter('base_link', 'frame of the laser, at the centre of the robot', read_only=True)
    scan_range_min: float = parameter(0.05, 'a nearer obstacle gives 0', unit='m', low=0, high=10, read_only=True)
    scan_range_max: float = parameter(10.0, 'range of the laser', unit='m', low=0.1, high=100, read_only=True)
    scan_angle_min: float = parameter(-3.1415, 'first angle', unit='rad', low=-TURN, high=TURN, read_only=True)
    scan_angle_max: float = parameter(3.1415, 'last angle', unit='rad', low=-TURN, high=TURN, read_only=True)
    scan_angle_increment: float = parameter(
        0.02617, 'step between two angles', unit='rad', low=0.001, high=TURN, read_only=True
    )
    scan_use_inf: bool = parameter(True, 'whether no echo is inf (else scan_range_max - 0.1 m)', read_only=True)

    def problems(self) -> Iterator[str]:
        """Which values contradict each other."""
        if self.growing_map and self.world != 'unknown':
            yield f'growing_map needs an unknown world; world is {self.world}'
        if self.scan_angle_max < self.scan_angle_min:
            yield f'scan_angle_max is {self.scan_angle_max}; it must be at least scan_angle_min, {self.scan_angle_min}'
        if self.scan_range_max <= self.scan_range_min:
            yield f'scan_range_max is {self.scan_range_max}; it must be above scan_range_min, {self.scan_range_min}'
        for name in ('map_frame_id', 'odom_frame_id', 'base_frame_id', 'scan_frame_id'):
            frame = getattr(self, name)
            if not frame or frame.startswith('/') or ' ' in frame:
                yield f'{name} is {frame!r}; it must be a name without a leading slash and without spaces'

    def settings(self) -> SimulationSettings:
        """The settings of the simulation: this class has most of them by the same name."""
        return SimulationSettings(
            **self._fields_of(SimulationSettings),
            dt_s=self.update_duration,
            limits=Limits(**self._fields_of(Limits)),
            change=RandomChange(
                rate=self.change_rate,
                period_s=self.change_period_s,
                size_m=self.change_size_m,
                open_walls=self.change_opens_walls,
            ),
            script_from_goal=self.obstacles_from_goal,
        )

    def _fields_of(self, cls: type[SimulationSettings | Limits]) -> dict[str, Any]:
        """The values whose names are fields of this dataclass, too."""
        return {field.name: getattr(self, field.name) for field in fields(cls) if hasattr(self, field.name)}

    @property
    def start(self) -> Pose2D:
        return Pose2D(self.start_x_m, self.start_y_m, self.start_yaw)

    @property
    def goal(self) -> Pose2D:
        return Pose2D(self.goal_x_m, self.goal_y_m, self.goal_yaw)

    @property
    def scan_angles(self) -> NDArray[np.float64]:
        """The angles of the laser, from the robot's heading."""
        count = math.floor((self.scan_angle_max - self.scan_angle_min) / self.scan_angle_increment) + 1
        return self.scan_angle_min + self.scan_angle_increment * np.arange(count, dtype=np.float64)
