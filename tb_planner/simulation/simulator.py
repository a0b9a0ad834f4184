"""The simulator without ROS: a robot in a world. Equal inputs give equal states, bit by bit.

The world decides which part of the true map the planner gets: all of it in a `static` world, which does not change,
and in a `changing` world, where obstacles appear and vanish; in an `unknown` world what the robot has seen so far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.geometry import Box, MapGeometry, Pose2D, composed
from tb_planner.maps.costmap import UNKNOWN
from tb_planner.simulation.robot import (
    Limits,
    Motion,
    accelerated,
    inverse,
    move_until_contact,
    moved,
    sweep_touches,
    towards,
)
from tb_planner.simulation.sensor import Known, Rays, cut_out
from tb_planner.simulation.true_map import KeepClear, Obstacle, RandomChange, TrueMap

WORLDS = ('static', 'changing', 'unknown')


@dataclass(frozen=True, kw_only=True)
class SimulationSettings:
    """What does not change during a run."""

    dt_s: float = 0.02
    """Time step of the physics."""
    robot_radius_m: float = 0.1
    limits: Limits = field(default_factory=Limits)
    world: str = 'static'
    waypoint_tolerance_m: float = 0.03
    """Distance at which the robot has reached its waypoint."""
    command_timeout_s: float = 1.0
    """Time without a command after which the robot stops."""
    waypoint_timeout_s: float = 3.0
    """Time without a waypoint after which the robot stops; 0: never."""
    keep_clear_m: float = 1.0
    """Distance from the robot's edge within which no obstacle appears; at least its stopping distance."""
    goal_clear_m: float = 0.5
    """Distance from the goal within which no obstacle appears."""
    change: RandomChange = field(default_factory=RandomChange)
    """Random changes of a changing world."""
    script_from_goal: bool = False
    """Whether the times of the script count from the first goal instead of from the start."""
    sensor_radius_m: float = 4.0
    """Range of the robot's sensor in an unknown world."""
    line_of_sight: bool = True
    """Whether obstacles hide what is behind them."""
    sensor_period_s: float = 0.1
    growing_map: bool = False
    """Whether the map covers only the known part, as the map of a SLAM node does."""
    map_margin_m: float = 0.0
    """Unknown margin around the known part of a growing map."""
    map_jitter: float = 0.0
    """Largest random offset of the origin of a growing map, in cells; drawn anew with each size."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.world not in WORLDS:
            raise ValueError(f'world is {self.world!r}; it must be one of {", ".join(WORLDS)}')
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
            raise ValueError(f'map_jitter is {self.map_jitter}; it must be between 0 and 0.5')
        if self.growing_map and self.world != 'unknown':
            raise ValueError(f'growing_map needs an unknown world; this one is {self.world}')

    @property
    def clear_around_robot_m(self) -> float:
        """The distance from the robot's centre within which no obstacle appears: it can stop from full speed there,
        with one time step of delay."""
        speed = self.limits.max_speed_m_s
        stopping_distance_m = speed**2 / (2 * self.limits.max_acceleration_m_s2) + speed * self.dt_s
        return self.robot_radius_m + max(self.keep_clear_m, stopping_distance_m)


class Simulation:
    """A robot in a world. Simulated time passes only in `step()`; commands take effect between steps.

    >>> simulation = Simulation(occupancy, geometry, start=Pose2D(1.0, 1.0))
    >>> simulation.drive_to(Pose2D(3.0, 1.0))
    >>> while not arrived(simulation.pose): simulation.step()
    """

    def __init__(
        self,
        occupancy: ArrayLike,
        geometry: MapGeometry,
        start: Pose2D,
        settings: SimulationSettings | None = None,
        script: Sequence[Obstacle] = (),
    ) -> None:
        self.settings = settings = settings or SimulationSettings()
        occupied = np.asarray(occupancy, np.int8)
        if occupied.shape != (geometry.height, geometry.width):
            raise ValueError(f'occupancy has shape {occupied.shape}; the map is {geometry.width} x {geometry.height}')
        self.geometry = geometry
        still = settings.world == 'static'
        change = settings.change if settings.world == 'changing' else None
        self.true_map = TrueMap(occupied, geometry, script=() if still else script, change=change, seed=settings.seed)
        self.steps = 0
        self.collisions = 0
        self.goal: Pose2D | None = None
        """No obstacle appears near this pose."""
        self._script_starts_at_s = math.inf if settings.script_from_goal else 0.0
        self._touching = False
        self._speeds: tuple[float, float] | None = None
        self._waypoint: Pose2D | None = None
        self._stops_at_s = math.inf
        self._noise = np.random.default_rng([settings.seed, 1])
        self._looked_from: tuple[float, float] | None = None
        self._known: Known | None = None
        self._map = MapView(self.true_map.occupancy, geometry)
        if settings.world == 'unknown':
            radius = settings.sensor_radius_m / geometry.resolution_m
            self._known = Known(occupied.shape, radius, settings.line_of_sight)
            self._map = MapView(
                self._known.occupancy,
                geometry,
                self._known if settings.growing_map else None,
                margin=round(settings.map_margin_m / geometry.resolution_m),
                jitter=settings.map_jitter,
                seed=settings.seed,
            )
        self.map_has_changed = False
        """Whether the true map has changed since the last changed_map(), not only the known part of it."""
        self.motion = Motion(start)
        self.map_to_odom = start
        """Where odometry started; it moves only when the robot is placed elsewhere."""
        self.place(start)
        self._change_world()

    @property
    def time_s(self) -> float:
        return self.steps * self.settings.dt_s

    @property
    def pose(self) -> Pose2D:
        return self.motion.pose

    @property
    def odometry(self) -> Pose2D:
        """The pose that the wheels measure."""
        return composed(inverse(self.map_to_odom), self.pose)

    def command(self, speed_m_s: float, turn_rad_s: float) -> None:
        """Drives at these speeds, for at most command_timeout_s."""
        if not (math.isfinite(speed_m_s) and math.isfinite(turn_rad_s)):
            raise ValueError(f'speeds {speed_m_s} m/s, {turn_rad_s} rad/s are not finite')
        self._speeds, self._waypoint = (speed_m_s, turn_rad_s), None
        self._stops_at_s = self.time_s + self.settings.command_timeout_s

    def drive_to(self, waypoint: Pose2D) -> None:
        """Turns to this point, drives there and stops. The robot's own position stops it at once."""
        self._speeds, self._waypoint = None, waypoint
        timeout_s = self.settings.waypoint_timeout_s
        self._stops_at_s = self.time_s + timeout_s if timeout_s else math.inf

    def halt(self) -> None:
        self._speeds = self._waypoint = None

    def place(self, pose: Pose2D) -> None:
        """Puts the robot somewhere else, at rest. Odometry does not notice."""
        cell = self.geometry.cell_at(pose.x_m, pose.y_m)
        where = f'({pose.x_m:g}, {pose.y_m:g})'
        if not self.geometry.contains(cell):
            raise ValueError(f'{where} is outside the map of {self.geometry.width} x {self.geometry.height} cells')
        here, radius_m = self.geometry.to_grid(pose.x_m, pose.y_m), self.settings.robot_radius_m
        if sweep_touches(self.true_map.occupancy, here, here, radius_m / self.geometry.resolution_m):
            raise ValueError(f'{where} is closer to an obstacle than the radius of the robot, {radius_m} m')
        odometry = self.odometry
        self.motion, self._touching = Motion(pose), False
        self.map_to_odom = composed(pose, inverse(odometry))
        self.halt()
        self._look()

    def set_goal(self, goal: Pose2D | None) -> None:
        """Keeps obstacles from appearing around this pose from now on; the first goal may start the script."""
        self.goal = goal
        if goal is not None:
            self._script_starts_at_s = min(self._script_starts_at_s, self.time_s)

    def draw(self, x_m: float, y_m: float, size_m: float, *, occupied: bool) -> bool:
        """Draws a square obstacle that stays, or erases what is there.

        Returns False, and draws nothing, outside the map and too close to the robot or its goal.
        """
        if not (math.isfinite(x_m) and math.isfinite(y_m)):
            raise ValueError(f'({x_m}, {y_m}) is not a position; both numbers must be finite')
        drawn = self.true_map.draw(x_m, y_m, size_m, occupied, self._keep_clear())
        self._notice(drawn)
        return drawn is not None

    def step(self) -> None:
        """Advances the simulation by dt_s: the world changes, the robot moves, and its sensor looks when it is due."""
        settings = self.settings
        self.steps += 1
        self._change_world()
        self._move()
        period = max(1, round(settings.sensor_period_s / settings.dt_s))
        if self.steps % period == 0:
            self._look()

    def noisy_pose(self, noise_m: float, noise_rad: float) -> Pose2D:
        """The pose with the noise of a localisation; the noise does not affect the rest of the run."""
        x, y, turn = self._noise.normal(size=3)
        pose = self.pose
        return Pose2D(pose.x_m + noise_m * x, pose.y_m + noise_m * y, pose.yaw + noise_rad * turn)

    def scan(self, angles: NDArray[np.float64], range_max_m: float) -> NDArray[np.float64]:
        """Ranges in metres on the true map, at these angles from the robot's heading; inf without an obstacle."""
        resolution = self.geometry.resolution_m
        x, y = self.geometry.to_grid(self.pose.x_m, self.pose.y_m)
        directions = angles + (self.pose.yaw - self.geometry.yaw)
        return Rays(self.true_map.occupancy, x, y, range_max_m / resolution).ranges(directions) * resolution

    def changed_map(self) -> PublishedMap | None:
        """The map, if it has changed since the last call."""
        self.map_has_changed = False
        return self._map.changed()

    def whole_map(self) -> PublishedMap:
        """The whole map; changed_map() then counts from here."""
        self.map_has_changed = False
        return self._map.whole()

    def _change_world(self) -> None:
        self._notice(self.true_map.advance(self.time_s, self.time_s - self._script_starts_at_s, self._keep_clear()))

    def _notice(self, changed: Box | None) -> None:
        """Marks this part of the true map as changed."""
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
        pose, stopped = move_until_contact(
            self.true_map.occupancy, self.geometry, before, motion.pose, settings.robot_radius_m
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
            self._map.touch(self._known.look(self.true_map.occupancy, *here))
            self._looked_from = here

    def _keep_clear(self) -> list[KeepClear]:
        discs = [KeepClear(self.pose.x_m, self.pose.y_m, self.settings.clear_around_robot_m)]
        if self.goal is not None:
            discs.append(KeepClear(self.goal.x_m, self.goal.y_m, self.settings.goal_clear_m))
        return discs


@dataclass(frozen=True, eq=False)
class PublishedMap:
    """A map to publish; its occupancy is a copy."""

    occupancy: NDArray[np.int8]
    geometry: MapGeometry
    changed: Box | None
    """The part that may have changed; None: all of it, and the geometry."""


class MapView:
    """The map that the simulator publishes, and which part of it has changed since it was published last.

    A growing map is the bounding box of the known part, plus a margin. A jitter adds a random offset to its origin with
    each new size, as SLAM does when it computes its map anew.
    """

    def __init__(
        self,
        occupancy: NDArray[np.int8],
        geometry: MapGeometry,
        growing: Known | None = None,
        *,
        margin: int = 0,
        jitter: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._occupancy = occupancy
        self._geometry = geometry
        self._growing, self._margin, self._jitter = growing, margin, jitter
        self._random = np.random.default_rng([seed, 2])
        self._changed: Box | None = None
        self._published: Box | None = None
        self._published_geometry = geometry

    def touch(self, box: Box | None) -> None:
        """Marks these cells as changed."""
        if box is not None:
            self._changed = box.around(self._changed)

    def changed(self) -> PublishedMap | None:
        """The map, if it has changed since the last call."""
        extent = self._extent()
        if extent == self._published and self._changed is None:
            return None
        changed, self._changed = self._changed, None
        if extent != self._published:
            changed = None
            self._published, self._published_geometry = extent, self._geometry_of(extent)
        if changed is not None:
            x, y = extent.x0, extent.y0
            changed = Box(changed.x0 - x, changed.y0 - y, changed.x1 - x, changed.y1 - y)
        return PublishedMap(cut_out(self._occupancy, extent, UNKNOWN), self._published_geometry, changed)

    def whole(self) -> PublishedMap:
        """The whole map as it is now."""
        self.changed()
        return PublishedMap(cut_out(self._occupancy, self._extent(), UNKNOWN), self._published_geometry, None)

    def _extent(self) -> Box:
        """The published part of the true map; its margin may reach beyond the true map."""
        if self._growing is not None and self._growing.extent is not None:
            box, margin = self._growing.extent, self._margin
            return Box(box.x0 - margin, box.y0 - margin, box.x1 + margin, box.y1 + margin)
        return Box(0, 0, self._geometry.width, self._geometry.height)

    def _geometry_of(self, extent: Box) -> MapGeometry:
        if self._growing is None:
            return self._geometry
        off_x, off_y = self._random.uniform(-self._jitter, self._jitter, 2)
        x_m, y_m = self._geometry.to_world(extent.x0 + off_x, extent.y0 + off_y)
        size = {'width': extent.x1 - extent.x0, 'height': extent.y1 - extent.y0}
        return replace(self._geometry, origin=(x_m, y_m, self._geometry.yaw), **size)


def _check(name: str, value: float, above_0: bool = False) -> None:
    if not math.isfinite(value) or value < 0 or (above_0 and value == 0):
        raise ValueError(f'{name} is {value}; it must be {"above" if above_0 else "at least"} 0')
