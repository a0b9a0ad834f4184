"""A drive of the simulated robot through the demo's changing office with PlannerLoop, for the scripts beside it.

It needs neither ROS nor a clock, so it does not depend on what else the computer does.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from time import thread_time

import numpy as np

from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.cdr import Occupancy, Patch
from tb_planner.maps.files import read_map
from tb_planner.maps.map_worker import MapIntake
from tb_planner.navigation.loop import PlannerLoop, ReceivedPose, TickResult
from tb_planner.navigation.navigator import NavigationStatus
from tb_planner.recording.recorder import Recorder
from tb_planner.simulation.scenes import DEMO_GOALS, shared_file
from tb_planner.simulation.simulator import Simulation, SimulationSettings
from tb_planner.simulation.true_map import RandomChange, read_script

SEED, STEPS_A_TICK = 1, 2
CHANGE = RandomChange(rate=0.2, period_s=2.0, size_m=0.5, open_walls=False)


class StrictLog:
    """An error in the loop ends the script."""

    def warn(self, kind: str, text: str, *, same: str = '') -> None: ...

    def error(self, kind: str, text: str) -> None:
        sys.exit(text)


def drive(
    parameters: PlannerParameters,
    tick: Callable[[PlannerLoop, float], TickResult] = PlannerLoop.tick,
    *,
    recorder: Recorder | None = None,
    finer: int = 1,
    limit_s: float = 120.0,
) -> Iterator[tuple[PlannerLoop, TickResult]]:
    """Yields each tick until the robot arrives. tick: runs one. finer: each side of the demo's cells is divided by it.

    Search time is that of the thread's processor.
    """
    office = read_map(shared_file('maps', 'office.yaml'))
    script = read_script(shared_file('config', 'office_obstacles.yaml'))
    geometry = MapGeometry(
        *(finer * office.geometry.width, finer * office.geometry.height),
        *(office.geometry.resolution_m / finer, office.geometry.origin),
    )
    dt_s = parameters.period_s / STEPS_A_TICK
    settings = SimulationSettings(world='changing', dt_s=dt_s, seed=SEED, script_from_goal=True, change=CHANGE)
    occupancy = np.repeat(np.repeat(office.occupancy, finer, 0), finer, 1)
    simulation = Simulation(occupancy, geometry, Pose2D(0.0, 0.0), settings, script)
    maps, poses = MapIntake(parameters.map_settings(), StrictLog()), ReceivedPose(0.0)
    loop = PlannerLoop(parameters.loop_settings(), maps, poses, StrictLog(), thread_time)
    loop.recorder = recorder
    maps.take_map(Occupancy('', 0, geometry, simulation.whole_map().occupancy))
    goal = Pose2D(*DEMO_GOALS['office'])
    loop.navigator.new_goal(goal)
    simulation.set_goal(goal)
    for number in range(math.ceil(limit_s / parameters.period_s)):
        now_s = number * parameters.period_s
        poses.take(simulation.pose, now_s)
        result = tick(loop, now_s)
        yield loop, result
        if result.tick is None or result.tick.status == NavigationStatus.ARRIVED:
            return
        if result.tick.waypoint is not None:
            simulation.drive_to(result.tick.waypoint)
        for _ in range(STEPS_A_TICK):
            simulation.step()
        changed = simulation.changed_map()
        if changed is not None and (box := changed.changed) is not None:
            maps.take_patch(Patch('', 0, (box.x0, box.y0), changed.occupancy[box.slices]))
