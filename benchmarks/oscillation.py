"""How often a robot's path switches in the demo's changing office: tb_planner against A* that plans anew every second.

The client is that of a Nav2 behaviour tree: it requests a path every second, and the robot follows the last one. The
planners run in a PlannerLoop, without ROS and clock, so that a seed makes the same run on any machine.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.experiments.engine import Experiment, Row, RunPlan, table
from tb_planner import find_path, tba_star
from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.cdr import Occupancy, Patch
from tb_planner.maps.files import Map, read_map
from tb_planner.maps.live_map import MapUpdate
from tb_planner.maps.map_worker import MapIntake
from tb_planner.navigation.escape import EscapeFinder
from tb_planner.navigation.follower import Follower
from tb_planner.navigation.loop import LoopSettings, PlannerLoop, ReceivedPose, TickContext
from tb_planner.navigation.path_planner import PathPlanner, PathStatus
from tb_planner.navigation.route import Route, nearest_point
from tb_planner.search.planner import TickBudget
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
"""Random changes, in addition to the office's script of obstacles."""

DEFAULTS = PlannerParameters(weight=1.0, expansions_per_tick=100_000)
"""Those of config/nav2; the search time of a tick is enough for more expansions."""
SETTINGS = DEFAULTS.settings()
STEP_S, STEPS_A_TICK, TICKS_A_SECOND = 0.025, 2, 20
LIMIT_S = 300
SWITCH_M = 0.2
"""A path that leads farther than this from the one before is a switch: about the robot's radius."""
FARTHER_M = (0.5, 1.0, 2.0)
"""Other thresholds, counted as well: the definition of a switch decides the result."""


# ---------------------------------------------------------------------- the planners
class PathClient:
    """Requests a path every second from a planner that a PlannerLoop ticks."""

    def __init__(self) -> None:
        self.has_request = False
        self.path: Points | None = None
        """The last path; None if there is none."""

    @property
    def has_path(self) -> bool:
        return self.path is not None

    def request(self) -> None:
        self.has_request, self.path = True, None

    def use_settings(self, settings: LoopSettings) -> None: ...

    def forget(self) -> None: ...

    def rest(self) -> None: ...

    def tick(self, context: TickContext, budget: TickBudget) -> None:
        raise NotImplementedError


class PlainAStar(PathClient):
    """Plans from the robot's pose on the present map, and keeps nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._escape = EscapeFinder()

    def tick(self, context: TickContext, budget: TickBudget) -> None:
        if self.has_request and context.map is not None and context.pose is not None:
            self.has_request, self.path = False, self._plan(context.map, context.pose)

    def _plan(self, map_update: MapUpdate, pose: Pose2D) -> Points | None:
        start = self._escape.find(map_update, pose, SETTINGS.start_tolerance_m)
        goal = map_update.geometry.cell_of(GOAL)
        if start is None or map_update.grid.is_blocked(goal):
            return None
        cells = find_path(map_update.grid, start, goal, tba_star()).cells
        return map_update.geometry.to_world_array(np.array(cells)) if cells else None


class TbPlanner(PathClient):
    """Plans as the node's actions do, and keeps its search and its path between requests."""

    def __init__(self) -> None:
        super().__init__()
        self._planner = PathPlanner(SETTINGS, DEFAULTS.path_tolerance_m)
        self._has_begun = False

    def tick(self, context: TickContext, budget: TickBudget) -> None:
        if context.map_update is not None:
            self._planner.update_map(context.map_update)
        if not self.has_request or context.pose is None:
            return
        if not self._has_begun:
            self._planner.request(context.pose, [GOAL], start_is_robot=True)
        result = self._planner.step(budget.search_for)
        self.has_request = self._has_begun = result.status == PathStatus.SEARCHING
        self.path = None if result.path is None else result.path.points_m


PLANNERS: dict[str, Callable[[], PathClient]] = {'A* every second': PlainAStar, 'tb_planner': TbPlanner}


# ---------------------------------------------------------------------- the robot and its path
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
        self._cells = Route.from_points(path, self._geometry).cells
        self._follower.reset(self._follower.waypoint)

    def waypoint(self, terrain: NDArray[np.uint16], pose: Pose2D) -> Pose2D:
        """The robot's own pose if it has to stay."""
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
    """Paths that differ from the one before: the controller gets them."""
    switches: int = 0
    unforced: int = 0
    """Switches from a path that was not blocked."""
    farther: dict[float, int] = field(default_factory=lambda: dict.fromkeys(FARTHER_M, 0))
    """Switches by threshold."""
    _last: Points | None = field(default=None, repr=False)

    def see(self, path: Points, pose: Pose2D, update: MapUpdate) -> bool:
        """Returns whether the path is a new one."""
        last, self._last = self._last, path
        if path is last:
            return False
        self.paths += 1
        if last is None:
            return True
        apart_m = farthest_m(path, last)
        if apart_m > SWITCH_M:
            self.switches += 1
            ahead = Route.from_points(last[nearest_point(last, pose) :], update.geometry)
            self.unforced += ahead.is_valid(update.grid)
        for least_m in FARTHER_M:
            self.farther[least_m] += apart_m > least_m
        return True


def farthest_m(path: Points, other: Points) -> float:
    """The largest distance of one of the path's points from the other path."""
    apart = path[:, None, :] - other[None, :, :]
    return float(np.sqrt((apart**2).sum(axis=2).min(axis=1).max()))


# ---------------------------------------------------------------------- a run
class StrictLog:
    """This world sends no bad message."""

    def warn(self, kind: str, text: str, *, same: str = '') -> None:
        raise AssertionError(text)

    def error(self, kind: str, text: str) -> None:
        raise AssertionError(text)


def run(office: Map, script: list[Obstacle], world: str, planner: PathClient, seed: int) -> Row:
    settings = SimulationSettings(world='changing', dt_s=STEP_S, seed=seed, script_from_goal=True, change=WORLDS[world])
    simulation = Simulation(office.occupancy, office.geometry, START, settings, script)
    simulation.set_goal(GOAL)
    leader, switches = Leader(office.geometry), Switches()
    maps, poses = MapIntake(DEFAULTS.map_settings(), StrictLog()), ReceivedPose(DEFAULTS.pose_timeout_s)
    loop = PlannerLoop(DEFAULTS.loop_settings(), maps, poses, StrictLog(), lambda: 0.0)
    loop.path_handlers = [planner]
    maps.take_map(Occupancy('', 0, office.geometry, simulation.whole_map().occupancy))
    driven_m, tick = 0.0, 0
    while not has_arrived(simulation) and tick < LIMIT_S * TICKS_A_SECOND:
        now_s, pose = tick / TICKS_A_SECOND, simulation.pose
        poses.take(pose, now_s)
        if is_due := tick % TICKS_A_SECOND == 0:
            planner.request()
        loop.tick(now_s)
        while planner.has_request:  # a search of several ticks takes no time here
            loop.tick(now_s)
        assert loop.map is not None
        if is_due and planner.path is not None and switches.see(planner.path, pose, loop.map):
            leader.follow(planner.path)
        simulation.drive_to(leader.waypoint(loop.map.grid.cost_u16, pose))
        for _ in range(STEPS_A_TICK):
            simulation.step()
        driven_m += math.dist((pose.x_m, pose.y_m), (simulation.pose.x_m, simulation.pose.y_m))
        changed = simulation.changed_map()
        if changed is not None and (box := changed.changed) is not None:
            maps.take_patch(Patch('', 0, (box.x0, box.y0), changed.occupancy[box.slices]))
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
    frame = pd.DataFrame(rows)
    runs_of = frame.groupby(['world', 'planner'], sort=False)
    means = runs_of[[*COUNTS, 'driven_m', 'time_s']].mean().round(2)
    lines = pd.concat([runs_of.size(), runs_of[['arrived', 'collisions']].sum(), means], axis=1)
    parts = [
        f'\nmeans per run; a switch leads more than {SWITCH_M} m away from the path before; it is unforced if that '
        'path was not blocked',
        table(header, lines.reset_index().itertuples(index=False, name=None)),
    ]
    for world, counts in frame.groupby('world', sort=False):
        theirs, ours = (counts[counts.planner == planner][list(COUNTS)].sum() for planner in PLANNERS)
        found = (f'{name} {ours[name] / theirs[name]:.2f}' for name in COUNTS if theirs[name])
        parts.append(f'{world}: tb_planner / A*: {", ".join(found)}')
    return '\n'.join(parts)


OSCILLATION = Experiment(
    'oscillation',
    'switches of the path, against A* every second, in a changing world',
    plan,
    summary,
    {'--runs': {'type': int, 'help': 'runs for each world and planner (20)'}},
)
