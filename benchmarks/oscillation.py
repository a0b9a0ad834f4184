"""How often a robot's way switches, in the demo's changing office: tb_planner against a client that plans with A* anew
every second.

The clients are a Nav2 behaviour tree's: every second they ask for a path, and the robot is led along the last one.
Without ROS and clock, so that a seed makes the same run on any machine.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiments.engine import Experiment, Row, RunPlan, grouped, mean, table
from tb_planner import find_path, tba_star
from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.files import Map, read_map
from tb_planner.maps.live_map import LiveMap, MapUpdate
from tb_planner.navigation.follower import Follower
from tb_planner.navigation.navigator import cell_of, way_out
from tb_planner.navigation.path_planner import PathPlanner, PathStatus
from tb_planner.search.planner import TimeBoundedPlanner
from tb_planner.simulation.scenes import shared_file
from tb_planner.simulation.simulator import Simulation, SimulationSettings
from tb_planner.simulation.true_map import Obstacle, RandomChange, read_script

Points = NDArray[np.float64]
"""(n, 2), in metres."""

START, GOAL = Pose2D(0.0, 0.0), Pose2D(25.0, 6.0)
WORLDS = {
    'make demo': RandomChange(rate=0.2, period_s=2.0, size_m=0.5, open_walls=False),
    'demo.launch.py': RandomChange(rate=1.0, period_s=2.0, size_m=0.3, open_walls=False),
}
"""Both have the office's script of obstacles, too."""

DEFAULTS = PlannerParameters(expansions_per_tick=100_000)
"""The node's, and about what its 10 ms a tick are."""
SETTINGS = DEFAULTS.settings()
STEP_S, STEPS_A_TICK, TICKS_A_SECOND = 0.025, 2, 20
LIMIT_S = 300
SWITCH_M = 0.2
"""A path that leads so far away from the one before is another one: the robot's radius, about."""
FARTHER_M = (0.5, 1.0, 2.0)
"""Counted apart: what a switch is decides what comes out."""


# ---------------------------------------------------------------------- who is asked
class Planner(Protocol):
    """Is told of every map, and asked for a path every second; None: there is none."""

    def take_in(self, update: MapUpdate) -> None: ...

    def path(self, pose: Pose2D) -> Points | None: ...


class PlainAStar:
    """From where the robot is, on the map as it is; nothing is kept."""

    def __init__(self) -> None:
        self._map: MapUpdate | None = None

    def take_in(self, update: MapUpdate) -> None:
        self._map = update

    def path(self, pose: Pose2D) -> Points | None:
        assert self._map is not None
        start = way_out(self._map, pose, SETTINGS.start_tolerance_m)
        goal = cell_of(self._map.geometry, GOAL)
        if start is None or self._map.grid.is_blocked(goal):
            return None
        cells = find_path(self._map.grid, start, goal, tba_star()).cells
        return self._map.geometry.to_world_array(np.array(cells)) if cells else None


class TbPlanner:
    """The search for a path as the node's actions have it; it is searched for in ticks until it is found."""

    def __init__(self) -> None:
        self._path_planner = PathPlanner(SETTINGS, DEFAULTS.path_tolerance_m)

    def take_in(self, update: MapUpdate) -> None:
        self._path_planner.update_map(update)

    def path(self, pose: Pose2D) -> Points | None:
        self._path_planner.request(pose, [GOAL], start_is_robot=True)
        answer = self._path_planner.step(TimeBoundedPlanner.search)
        while answer.status == PathStatus.SEARCHING:
            answer = self._path_planner.step(TimeBoundedPlanner.search)
        return None if answer.path is None else answer.path.points_m


PLANNERS: dict[str, Callable[[], Planner]] = {'A* every second': PlainAStar, 'tb_planner': TbPlanner}


# ---------------------------------------------------------------------- the robot and its way
class Leader:
    """Leads the robot along a path by waypoints in sight."""

    def __init__(self, geometry: MapGeometry) -> None:
        cells = 1 / geometry.resolution_m
        self._geometry = geometry
        self._follower = Follower(
            waypoint_distance=SETTINGS.waypoint_distance_m * cells,
            deviation_tolerance=SETTINGS.deviation_tolerance_m * cells,
        )
        self._cells = np.empty((0, 2), np.int32)

    def follow(self, path: Points) -> None:
        cells = np.floor(self._geometry.to_grid_array(path)).astype(np.int32)
        keep = np.append(True, (np.diff(cells, axis=0) != 0).any(axis=1))
        self._cells = cells[keep]
        self._follower.take_over(self._follower.waypoint)

    def waypoint(self, terrain: NDArray[np.uint16], pose: Pose2D) -> Pose2D:
        """Its own place if it is to stay."""
        position = self._geometry.to_grid(pose.x_m, pose.y_m)
        passed = self._follower.passed(terrain, self._cells, position) if len(self._cells) else None
        if passed is None:
            return pose
        self._cells = self._cells[passed:]
        aim = self._follower.aim(terrain, self._cells, position, self._geometry.to_grid(GOAL.x_m, GOAL.y_m))
        return Pose2D(*self._geometry.to_world(aim.x, aim.y), aim.heading)


@dataclass
class Switches:
    """Compares each path with the one before."""

    paths: int = 0
    """That were not the very same as the one before: the controller is given them."""
    switches: int = 0
    unforced: int = 0
    """Switches from a path that was not blocked."""
    farther: dict[float, int] = field(default_factory=lambda: dict.fromkeys(FARTHER_M, 0))
    """Switches by so much and more."""
    _last: Points | None = field(default=None, repr=False)

    def see(self, path: Points, pose: Pose2D, update: MapUpdate) -> bool:
        """Whether it is a new one."""
        last, self._last = self._last, path
        if path is last:
            return False
        self.paths += 1
        if last is None:
            return True
        apart_m = farthest_m(path, last)
        if apart_m > SWITCH_M:
            self.switches += 1
            self.unforced += stands(last, pose, update)
        for least_m in FARTHER_M:
            self.farther[least_m] += apart_m > least_m
        return True


def farthest_m(path: Points, other: Points) -> float:
    """Of the path's points from the other path."""
    apart = path[:, None, :] - other[None, :, :]
    return float(np.sqrt((apart**2).sum(axis=2).min(axis=1).max()))


def stands(path: Points, pose: Pose2D, update: MapUpdate) -> bool:
    """Whether nothing blocks it ahead of the robot."""
    here = int(np.hypot(*(path - (pose.x_m, pose.y_m)).T).argmin())
    x, y = np.floor(update.geometry.to_grid_array(path[here:])).astype(int).T
    return not update.grid.blocked[y, x].any()


# ---------------------------------------------------------------------- a run
def run(office: Map, script: list[Obstacle], world: str, planner: Planner, seed: int) -> Row:
    settings = SimulationSettings(world='changing', dt_s=STEP_S, seed=seed, script_from_goal=True, change=WORLDS[world])
    simulation = Simulation(office.occupancy, office.geometry, START, settings, script)
    simulation.set_goal(GOAL)
    live_map, leader, switches = LiveMap(DEFAULTS.costmap_config), Leader(office.geometry), Switches()
    live_map.full(simulation.whole_map().occupancy, office.geometry)
    update: MapUpdate | None = None
    driven_m, tick = 0.0, 0
    while not has_arrived(simulation) and tick < LIMIT_S * TICKS_A_SECOND:
        if (latest := live_map.latest()) is not None:
            update = latest
            planner.take_in(update)
        assert update is not None
        pose = simulation.pose
        path = planner.path(pose) if tick % TICKS_A_SECOND == 0 else None
        if path is not None and switches.see(path, pose, update):
            leader.follow(path)
        simulation.drive_to(leader.waypoint(update.grid.cost_u16, pose))
        for _ in range(STEPS_A_TICK):
            simulation.step()
        driven_m += math.dist((pose.x_m, pose.y_m), (simulation.pose.x_m, simulation.pose.y_m))
        tell(simulation, live_map)
        tick += 1
    return {
        'arrived': has_arrived(simulation),
        'collisions': simulation.collisions,
        'time_s': tick / TICKS_A_SECOND,
        'driven_m': round(driven_m, 3),
        'paths': switches.paths,
        'switches': switches.switches,
        'unforced': switches.unforced,
        **{f'switches_{least_m}_m': count for least_m, count in switches.farther.items()},
    }


def has_arrived(simulation: Simulation) -> bool:
    pose = simulation.pose
    return math.dist((pose.x_m, pose.y_m), (GOAL.x_m, GOAL.y_m)) <= SETTINGS.goal_tolerance_m


def tell(simulation: Simulation, live_map: LiveMap) -> None:
    """What is new on the map goes to the planner as a patch."""
    news = simulation.changed_map()
    if news is not None and news.changed is not None:
        live_map.patch(news.occupancy[news.changed.slices], (news.changed.x0, news.changed.y0))


def plan(options: argparse.Namespace) -> RunPlan:
    count = options.runs or (2 if options.quick else 20)
    return RunPlan(count * len(WORLDS) * len(PLANNERS), runs(count, options.seed))


def runs(count: int, seed: int) -> Iterator[Row]:
    office = read_map(shared_file('maps', 'office.yaml'))
    script = read_script(shared_file('config', 'office_obstacles.yaml'))
    for world in WORLDS:
        for number in range(count):
            for name, new_planner in PLANNERS.items():
                settings = {'world': world, 'run': number, 'planner': name}
                yield {**settings, **run(office, script, world, new_planner(), seed + number)}


# ---------------------------------------------------------------------- summary
COUNTS = ('paths', 'switches', 'unforced', *(f'switches_{least_m}_m' for least_m in FARTHER_M))


def summary(rows: list[Row]) -> str:
    header = (
        *('world', 'planner', 'runs', 'arrived', 'collisions'),
        *('paths', 'switches', 'unforced', *(f'> {least_m} m' for least_m in FARTHER_M), 'driven m', 'time s'),
    )
    by_world = grouped(rows, lambda row: row['world'])
    lines = [
        (world, planner, *figures(some))
        for world, group in by_world.items()
        for planner, some in grouped(group, lambda row: row['planner']).items()
    ]
    return '\n'.join(
        [
            f'\nmeans a run; a switch leads more than {SWITCH_M} m away from the path before, which was not blocked '
            'if it was unforced',
            table(header, lines),
            *(f'{world}: {ratios(group)}' for world, group in by_world.items()),
        ]
    )


def figures(rows: list[Row]) -> tuple[object, ...]:
    values = (mean(row[name] for row in rows) for name in (*COUNTS, 'driven_m', 'time_s'))
    totals = (sum(row[name] for row in rows) for name in ('arrived', 'collisions'))
    return len(rows), *totals, *(round(value, 2) for value in values)


def ratios(rows: list[Row]) -> str:
    theirs, ours = (
        {name: sum(row[name] for row in rows if row['planner'] == planner) for name in COUNTS} for planner in PLANNERS
    )
    told = (f'{name} {ours[name] / theirs[name]:.2f}' for name in COUNTS if theirs[name])
    return f'tb_planner / A*: {", ".join(told)}'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument('--runs', type=int, help='for each world and planner (20)')


OSCILLATION = Experiment(
    'oscillation', 'switches of the way, against A* every second, in a changing world', add_arguments, plan, summary
)
