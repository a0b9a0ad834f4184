"""The simulator without ROS: a robot in a world, stepped by a fixed dt. Same inputs, same states, byte for byte.

A world is what the robot's planner is told of the true map: in a `static` one all of it, and it stays as it is; in a
`changing` one all of it, and obstacles appear and vanish; in an `unknown` one what the robot has seen so far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.geometry import Box, MapGeometry, Pose2D
from tb_planner.simulation.map_view import MapNews, MapView
from tb_planner.simulation.robot import (
    Limits,
    Motion,
    accelerated,
    composed,
    inverse,
    moved,
    touches,
    towards,
    way_until_contact,
)
from tb_planner.simulation.sensor import Known, Rays
from tb_planner.simulation.terrain import KeepClear, Obstacle, RandomChange, ScriptError, Terrain, read_script

__all__ = [
    'Limits',
    'MapNews',
    'Motion',
    'Obstacle',
    'RandomChange',
    'ScriptError',
    'Settings',
    'Simulation',
    'Terrain',
    'read_script',
]

WORLDS = ('static', 'changing', 'unknown')


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What stays the same during a run."""

    dt_s: float = 0.02
    """The step of the physics."""
    robot_radius_m: float = 0.1
    limits: Limits = field(default_factory=Limits)
    world: str = 'static'
    waypoint_tolerance_m: float = 0.03
    """So near to its waypoint the robot is there."""
    command_timeout_s: float = 1.0
    """After so long without a command the robot stops."""
    waypoint_timeout_s: float = 3.0
    """After so long without a waypoint the robot stops; 0: never."""
    keep_clear_m: float = 1.0
    """Nothing appears so near to the robot's rim; at least the way it needs to stop counts."""
    goal_clear_m: float = 0.5
    """Nothing appears so near to the goal."""
    change: RandomChange = field(default_factory=RandomChange)
    """Changes of a changing world."""
    script_from_goal: bool = False
    """Whether the script's times count from the first goal instead of from the start."""
    sensor_radius_m: float = 4.0
    """How far the robot sees in an unknown world."""
    line_of_sight: bool = True
    """Whether obstacles hide what is behind them."""
    sensor_period_s: float = 0.1
    growing_map: bool = False
    """Whether the map has the size of what is known, as a map that is being made."""
    map_margin_m: float = 0.0
    """A growing map has so much unknown ground around what is known."""
    map_jitter: float = 0.0
    """The origin of a growing map lies off the true one by up to this part of a cell, another with each new size."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.world not in WORLDS:
            raise ValueError(f'world is {self.world!r}; it is one of {", ".join(WORLDS)}')
        for name in ('dt_s', 'robot_radius_m', 'sensor_radius_m', 'sensor_period_s'):
            _check(name, getattr(self, name), above_0=True)
        for name in (
            'waypoint_tolerance_m',
            'command_timeout_s',
            'waypoint_timeout_s',
            'keep_clear_m',
            'goal_clear_m',
            'map_margin_m',
        ):
            _check(name, getattr(self, name))
        if not 0 <= self.map_jitter <= 0.5:
            raise ValueError(f'map_jitter is {self.map_jitter}; it is 0 to 0.5')
        if self.growing_map and self.world != 'unknown':
            raise ValueError(f'growing_map is for an unknown world; this one is {self.world}')

    @property
    def clear_around_robot_m(self) -> float:
        """From the robot's centre."""
        return self.robot_radius_m + max(self.keep_clear_m, self.limits.stopping_distance_m(self.dt_s))


class Simulation:
    """A robot in a world. Commands come in between steps; `step()` is the only thing that takes time."""

    def __init__(
        self,
        occupancy: ArrayLike,
        geometry: MapGeometry,
        start: Pose2D,
        settings: Settings | None = None,
        script: Sequence[Obstacle] = (),
    ) -> None:
        self.settings = settings = settings or Settings()
        occupied = np.asarray(occupancy, np.int8)
        if occupied.shape != (geometry.height, geometry.width):
            raise ValueError(f'occupancy has shape {occupied.shape}; the map is {geometry.width} x {geometry.height}')
        self.geometry = geometry
        still = settings.world == 'static'
        change = settings.change if settings.world == 'changing' else None
        self.terrain = Terrain(occupied, geometry, script=() if still else script, change=change, seed=settings.seed)
        self.steps = 0
        self.collisions = 0
        self.goal: Pose2D | None = None
        """Where the robot is to go; nothing appears there."""
        self._script_starts_at_s = math.inf if settings.script_from_goal else 0.0
        self._touching = False
        self._speeds: tuple[float, float] | None = None
        self._waypoint: Pose2D | None = None
        self._stops_at_s = math.inf
        self._noise = np.random.default_rng([settings.seed, 1])
        self._looked_from: tuple[float, float] | None = None
        self._known: Known | None = None
        self._map = MapView(self.terrain.occupancy, geometry)
        if settings.world == 'unknown':
            self._known = Known(
                occupied.shape, settings.sensor_radius_m / geometry.resolution_m, settings.line_of_sight
            )
            self._map = MapView(self._known.occupancy, geometry)
            if settings.growing_map:
                margin = round(settings.map_margin_m / geometry.resolution_m)
                self._map.grow_with(self._known, margin, settings.map_jitter, np.random.default_rng([settings.seed, 2]))
        self.map_has_changed = False
        """Whether the true map has, since map_news(), and not only what is known of it."""
        self.motion = Motion(start)
        self._map_to_odom = start
        self.place(start)
        self._change_world()

    @property
    def time_s(self) -> float:
        return self.steps * self.settings.dt_s

    @property
    def pose(self) -> Pose2D:
        return self.motion.pose

    @property
    def map_to_odom(self) -> Pose2D:
        """Where odometry began; it moves only when the robot is put elsewhere."""
        return self._map_to_odom

    @property
    def odometry(self) -> Pose2D:
        """The pose as the wheels tell it."""
        return composed(inverse(self._map_to_odom), self.pose)

    def command(self, speed_m_s: float, turn_rad_s: float) -> None:
        """Drive so; for command_timeout_s at most."""
        if not (math.isfinite(speed_m_s) and math.isfinite(turn_rad_s)):
            raise ValueError(f'speeds {speed_m_s} m/s, {turn_rad_s} rad/s are not finite')
        self._speeds, self._waypoint = (speed_m_s, turn_rad_s), None
        self._stops_at_s = self.time_s + self.settings.command_timeout_s

    def drive_to(self, waypoint: Pose2D) -> None:
        """Turn to this point, drive there and stop; if it is the robot's own position, stop."""
        self._speeds, self._waypoint = None, waypoint
        timeout_s = self.settings.waypoint_timeout_s
        self._stops_at_s = self.time_s + timeout_s if timeout_s else math.inf

    def halt(self) -> None:
        self._speeds = self._waypoint = None

    def place(self, pose: Pose2D) -> None:
        """Puts the robot elsewhere, standing still. Odometry does not notice."""
        cell = self.geometry.cell_at(pose.x_m, pose.y_m)
        where = f'({pose.x_m:g}, {pose.y_m:g})'
        if not self.geometry.contains(cell):
            raise ValueError(f'{where} is outside the {self.geometry.width} x {self.geometry.height} map')
        if self._touches(pose):
            raise ValueError(
                f'{where} is nearer to an obstacle than the robot’s radius, {self.settings.robot_radius_m} m'
            )
        odometry = self.odometry
        self.motion, self._touching = Motion(pose), False
        self._map_to_odom = composed(pose, inverse(odometry))
        self.halt()
        self._look()

    def set_goal(self, goal: Pose2D | None) -> None:
        """Nothing appears around this point from now on."""
        self.goal = goal
        if goal is not None:
            self._script_starts_at_s = min(self._script_starts_at_s, self.time_s)

    def draw(self, x_m: float, y_m: float, size_m: float, *, occupied: bool) -> bool:
        """Puts a square of obstacle there, or takes away what is there; that stays. False if it is not on the map, or
        too near to the robot or its goal."""
        if not (math.isfinite(x_m) and math.isfinite(y_m)):
            raise ValueError(f'({x_m}, {y_m}) is no place; its numbers are finite')
        drawn = self.terrain.draw(x_m, y_m, size_m, occupied, self._keep_clear())
        self._notice(drawn)
        return drawn is not None

    def step(self) -> None:
        """dt_s goes by: the world changes, the robot moves, and now and then it looks around."""
        settings = self.settings
        self.steps += 1
        self._change_world()
        self._move()
        period = max(1, round(settings.sensor_period_s / settings.dt_s))
        if self.steps % period == 0:
            self._look()

    def noisy_pose(self, noise_m: float, noise_rad: float) -> Pose2D:
        """The robot's pose as a poor localisation has it; draws do not touch the rest of the run."""
        x, y, turn = self._noise.normal(size=3)
        pose = self.pose
        return Pose2D(pose.x_m + noise_m * x, pose.y_m + noise_m * y, pose.yaw + noise_rad * turn)

    def scan(self, angles: NDArray[np.float64], range_max_m: float) -> NDArray[np.float64]:
        """Ranges in metres at these angles from the robot's heading, through the true world; inf: nothing met."""
        resolution = self.geometry.resolution_m
        x, y = self.geometry.to_grid(self.pose.x_m, self.pose.y_m)
        directions = angles + (self.pose.yaw - self.geometry.yaw)
        return Rays(self.terrain.occupancy, x, y, range_max_m / resolution).ranges(directions) * resolution

    def map_news(self) -> MapNews | None:
        """What is new on the map since the last call, or None."""
        self.map_has_changed = False
        return self._map.news()

    def whole_map(self) -> MapNews:
        """All of the map; what is new on it is then no news any more."""
        self.map_has_changed = False
        return self._map.whole()

    def _change_world(self) -> None:
        self._notice(self.terrain.advance(self.time_s, self.time_s - self._script_starts_at_s, self._keep_clear()))

    def _notice(self, changed: Box | None) -> None:
        """The true map may have changed there."""
        if changed is not None:
            self._looked_from = None
        if changed is not None and self._known is None:
            self._map.touch(changed)
            self.map_has_changed = True

    def _move(self) -> None:
        settings = self.settings
        if self.time_s > self._stops_at_s + settings.dt_s / 2:
            self.halt()
        speeds = self._speeds or (0.0, 0.0)
        if self._waypoint is not None:
            tolerance_m = settings.waypoint_tolerance_m
            speeds = towards(self.motion, self._waypoint, tolerance_m, settings.limits, settings.dt_s)
        before = self.pose
        motion = moved(accelerated(self.motion, *speeds, settings.limits, settings.dt_s), settings.dt_s)
        pose, stopped = way_until_contact(
            self.terrain.occupancy, self.geometry, before, motion.pose, settings.robot_radius_m
        )
        if stopped:
            self.collisions += not self._touching
            motion = Motion(pose, 0.0, motion.turn_rad_s)
        if stopped or motion.speed_m_s != 0.0:
            self._touching = stopped
        self.motion = motion

    def _look(self) -> None:
        here = self.geometry.to_grid(self.pose.x_m, self.pose.y_m)
        if self._known is not None and here != self._looked_from:
            self._map.touch(self._known.look(self.terrain.occupancy, *here))
            self._looked_from = here

    def _keep_clear(self) -> list[KeepClear]:
        discs = [KeepClear(self.pose.x_m, self.pose.y_m, self.settings.clear_around_robot_m)]
        if self.goal is not None:
            discs.append(KeepClear(self.goal.x_m, self.goal.y_m, self.settings.goal_clear_m))
        return discs

    def _touches(self, pose: Pose2D) -> bool:
        resolution = self.geometry.resolution_m
        x, y = self.geometry.to_grid(pose.x_m, pose.y_m)
        return touches(self.terrain.occupancy, x, y, self.settings.robot_radius_m / resolution)


def _check(name: str, value: float, above_0: bool = False) -> None:
    if not math.isfinite(value) or value < 0 or (above_0 and value == 0):
        raise ValueError(f'{name} is {value}; it is {"above" if above_0 else "at least"} 0')
