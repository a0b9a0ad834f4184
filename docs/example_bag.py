"""Makes examples/office.mcap, a small bag of a simulated drive for the documents and the tests.

`python docs/example_bag.py [FILE.mcap]` drives the simulated robot through the demo's changing office to two goals, and
writes what the planner received: map, map_updates, pose and goal_pose, with the simulator node's types and QoS. A run
has a fixed seed and needs neither ROS nor a clock: it is the same every time.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer

from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D
from tb_planner.maps.files import read_map
from tb_planner.maps.live_map import LiveMap
from tb_planner.navigation.navigator import NavigationStatus, Navigator
from tb_planner.simulation.scenes import DEMO_GOALS, shared_file
from tb_planner.simulation.simulator import Simulation, SimulationSettings
from tb_planner.simulation.true_map import RandomChange, read_script

ROOT = Path(__file__).parents[1]
FILE = ROOT / 'examples' / 'office.mcap'
SEED = 1
GOALS = [Pose2D(*DEMO_GOALS['office']), Pose2D(4.0, -3.0)]
PARAMETERS = PlannerParameters(expansions_per_tick=20_000)  # not the time: a run then is the same on every computer
CHANGE = RandomChange(rate=0.2, period_s=2.0, size_m=0.5, open_walls=False)
STEPS_A_TICK = 2
LIMIT_S = 200.0
NEVER = QosTime(9223372036, 854775807)
Message = tuple[float, str, Any]
"""Time, topic and message."""


def main() -> None:
    sys.path.append(str(ROOT / 'test'))
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FILE
    messages = list(drive(import_module('helpers.bag_files')))
    write(path, messages)
    print(f'{path}: {messages[-1][0]:.0f} s, {len(messages):,} messages, {path.stat().st_size / 1e3:.0f} kB')


def drive(files: Any) -> Iterator[Message]:
    """Yields the messages of the drive; `files` makes them."""
    office = read_map(shared_file('maps', 'office.yaml'))
    settings = SimulationSettings(
        world='changing', dt_s=PARAMETERS.period_s / STEPS_A_TICK, seed=SEED, script_from_goal=True, change=CHANGE
    )
    script = read_script(shared_file('config', 'office_obstacles.yaml'))
    simulation = Simulation(office.occupancy, office.geometry, Pose2D(0.0, 0.0), settings, script)
    live_map, navigator = LiveMap(PARAMETERS.costmap_config()), Navigator(PARAMETERS.settings())
    first = simulation.whole_map()
    live_map.full(first.occupancy, first.geometry)
    yield 0.0, '/map', files.occupancy_grid(0.0, first.occupancy, first.geometry)
    for goal in GOALS:
        navigator.new_goal(goal)
        simulation.set_goal(goal)
        yield simulation.time_s, '/goal_pose', files.pose_stamped(simulation.time_s, goal)
        status = NavigationStatus.IDLE
        while status != NavigationStatus.ARRIVED:
            now_s = simulation.time_s
            if now_s > LIMIT_S:
                sys.exit(f'the robot has not reached {goal} after {LIMIT_S:g} s')
            changed = simulation.changed_map()
            if changed is not None and (box := changed.changed) is not None:
                patch, at = changed.occupancy[box.slices], (box.x0, box.y0)
                live_map.patch(patch, at)
                yield now_s, '/map_updates', files.grid_update(now_s, patch, at)
            yield now_s, '/pose', files.pose_stamped(now_s, simulation.pose)
            tick = navigator.tick(live_map.latest(), simulation.pose)
            status = tick.status
            if tick.waypoint is not None:
                simulation.drive_to(tick.waypoint)
            for _ in range(STEPS_A_TICK):
                simulation.step()


def write(path: Path, messages: list[Message]) -> None:
    files = import_module('helpers.bag_files')
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / path.stem
        writer = Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP)
        writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        with writer:
            connections = {}
            for time_s, topic, message in messages:
                if topic not in connections:
                    connections[topic] = writer.add_connection(
                        topic, message.__msgtype__, typestore=files.STORE, offered_qos_profiles=[qos(topic)]
                    )
                writer.write(connections[topic], files.nanoseconds(time_s), files.serialised(message))
        path.write_bytes((bag / f'{path.stem}.mcap').read_bytes())


def qos(topic: str) -> Qos:
    """The simulator's: a whole map is transient local, so that a planner that subscribes later gets it, too."""
    durability = QosDurability.TRANSIENT_LOCAL if topic == '/map' else QosDurability.VOLATILE
    depth = 10 if topic == '/map_updates' else 1
    return Qos(
        QosHistory.KEEP_LAST,
        depth,
        QosReliability.RELIABLE,
        durability,
        NEVER,
        NEVER,
        QosLiveliness.AUTOMATIC,
        NEVER,
        False,
    )


if __name__ == '__main__':
    main()
