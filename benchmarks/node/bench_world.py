"""`python -m benchmarks.node.bench_world SCENE.json FIGURES.json`: maps that change, robots, and a stop-watch.

Planner nodes are measured in it. It costs little, so that they are what is measured, and sends them map, pose and goal
alone, as any robot would.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from std_msgs.msg import Header

from benchmarks.node import measuring
from benchmarks.node.changing_rooms import Things, corners, rooms
from tb_planner.geometry import Box, Cell, MapGeometry, Pose2D
from tb_planner.ros.publishers import LATCHED, map_message, pose_message
from tb_planner.ros.simulator_node import update_message
from tb_planner.simulation.simulator import PublishedMap

RESOLUTION_M = 0.05
SPEED_M_S = 0.5
POSE_PERIOD_S = 0.05
CHANGED = 0.01
"""Part of the cells that change in a second."""
PATCHES = 10
"""Map updates a second, where there are any; each is a sixteenth of the map."""
UNSTEADY_S = 0.05
"""A map may come this much sooner or later, so that it meets ticks at any moment."""
CLEAR_M = 0.4
"""Around robots and their goals."""
NEAR_GOAL_M = 2.0
"""A robot this near to its goal gets another one, so that it always drives."""
AHEAD_M = 0.6
"""Something is put on a waypoint that is at least so far ahead."""
MARGIN_M = 0.1
"""A waypoint that leads past it at this distance was chosen in knowledge of it."""
START_LIMIT_S, SETTLE_S, LAST_WORDS_LIMIT_S = 60.0, 3.0, 5.0

_ALL = QoSProfile(depth=1000)
_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
_NO_TIME = Time()
_HEADER = Header(frame_id='map')
_TICKS_S = os.sysconf('SC_CLK_TCK')

Place = tuple[float, float]


@dataclass(frozen=True)
class BenchScene:
    """A scene, and the planners that it is played for: their namespaces and processes."""

    size: int
    seconds: float
    seed: int
    pids: list[int]
    namespaces: Sequence[str] = ('',)
    patches: bool = True
    thing: int = 6
    """Side of what comes and goes, in cells."""
    changes: bool = True
    """Whether anything comes and goes."""
    goals: bool = True
    """Whether robots get goals."""


class Robot:
    """Goes straight to its last waypoint, from goal to goal, and records what it receives and when."""

    def __init__(self, node: Node, namespace: str, start: Place, goals: list[Place]) -> None:
        self.planner = f'{namespace}/tb_planner: planner'
        self.place = start
        self.waypoint: Place | None = None
        self.received_ns: list[int] = []
        """When waypoints came in."""
        self.diagnostics: list[dict[str, str]] = []
        """The planner's diagnostics."""
        self.reactions_ms: list[float] = []
        """Times from just before a map was published to a waypoint that avoids what is new on it."""
        self.without_reaction = 0
        self._obstacle: tuple[Place, float, int] | None = None
        self._goals = goals
        self._poses = node.create_publisher(PoseStamped, f'{namespace}/pose', _NEWEST)
        self._goal = node.create_publisher(PoseStamped, f'{namespace}/goal_pose', QoSProfile(depth=1))
        node.create_subscription(PoseStamped, f'{namespace}/waypoint', self._take, _ALL)

    @property
    def goal(self) -> Place:
        return self._goals[0]

    @property
    def is_connected(self) -> bool:
        return bool(self._goal.get_subscription_count() and self._poses.get_subscription_count())

    def forget(self) -> None:
        """Begins to measure; counts are those since the last diagnostics."""
        del self.received_ns[:], self.diagnostics[:-1], self.reactions_ms[:]
        self.without_reaction = 0

    def give_goal(self) -> None:
        self._goal.publish(pose_message(Pose2D(*self.goal), 'map', _NO_TIME))

    def step(self) -> None:
        """Moves on and publishes its pose."""
        x, y = self.place
        if self.waypoint is not None:
            dx, dy = self.waypoint[0] - x, self.waypoint[1] - y
            part = min(SPEED_M_S * POSE_PERIOD_S / max(math.hypot(dx, dy), 1e-9), 1.0)
            self.place = x, y = x + part * dx, y + part * dy
        self._poses.publish(pose_message(Pose2D(x, y), 'map', _NO_TIME))
        if math.dist(self.place, self.goal) < NEAR_GOAL_M:
            self._goals = self._goals[1:] + self._goals[:1]
            self.give_goal()

    def expect_reaction(self, to: Place, radius_m: float, since_ns: int) -> None:
        """Something is on the waypoint, on a map that goes out now."""
        self.without_reaction += self._obstacle is not None
        self._obstacle = to, radius_m, since_ns

    def _take(self, message: PoseStamped, info: dict[str, int]) -> None:
        received_ns = info['received_timestamp']
        self.received_ns.append(received_ns)
        self.waypoint = message.pose.position.x, message.pose.position.y
        if self._obstacle is None:
            return
        thing, radius_m, since_ns = self._obstacle
        if received_ns > since_ns and distance_m(thing, self.place, self.waypoint) > radius_m + MARGIN_M:
            self.reactions_ms.append((received_ns - since_ns) / 1e6)
            self._obstacle = None


class Playground:
    """The map and its robots. Whole maps change once a second; else one window of the map after the other does."""

    def __init__(self, node: Node, scene: BenchScene) -> None:
        self._random = np.random.default_rng([scene.seed, 1])
        self._geometry = MapGeometry(scene.size, scene.size, RESOLUTION_M)
        self._message = bytearray(serialize_message(map_message(rooms(scene.size), self._geometry, _HEADER)))
        cells = np.frombuffer(self._message, np.int8, scene.size**2, len(self._message) - scene.size**2)
        self._occupancy = cells.reshape(scene.size, scene.size)
        self._things = Things(self._occupancy, scene.thing, scene.seed)
        self._changes, self._goals = scene.changes, scene.goals
        self._turns_a_second = PATCHES if scene.patches else 1
        self._cells_a_turn = round(CHANGED * scene.size**2 / self._turns_a_second)
        self._windows = list(Box(0, 0, scene.size, scene.size).tiles(scene.size // 4 if scene.patches else scene.size))
        self._turn = 0
        places = [self._geometry.centre_of(cell) for cell in corners(scene.size)]
        self.robots = [
            Robot(node, namespace, places[i % 4], [places[(i + step) % 4] for step in (1, 2, 3, 4)])
            for i, namespace in enumerate(scene.namespaces)
        ]
        self._maps = node.create_publisher(OccupancyGrid, 'map', LATCHED)
        self._updates: Any = None
        if scene.patches:
            from map_msgs.msg import OccupancyGridUpdate  # may not be installed

            self._updates = node.create_publisher(OccupancyGridUpdate, 'map_updates', QoSProfile(depth=PATCHES))
        node.create_subscription(DiagnosticArray, '/diagnostics', self._take_diagnostics, _ALL)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(POSE_PERIOD_S, self._step_robots, clock=steady)
        self._timer = node.create_timer(1 / self._turns_a_second, self._change, clock=steady)
        self._timer.cancel()

    @property
    def is_connected(self) -> bool:
        listeners = self._maps.get_subscription_count()
        return listeners >= len(self.robots) and all(robot.is_connected for robot in self.robots)

    def begin(self) -> None:
        """Things are there, robots have goals, and from now on the map changes."""
        for window in self._windows if self._changes else ():
            self._things.change(window, self._cells_a_turn, self._keep_clear())
        self._maps.publish(bytes(self._message))
        for robot in self.robots if self._goals else ():
            robot.give_goal()
        if self._changes:
            self._timer.reset()

    def _step_robots(self) -> None:
        for robot in self.robots:
            robot.step()

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            for robot in self.robots:
                if status.name == robot.planner:
                    robot.diagnostics.append({item.key: item.value for item in status.values})

    # -------------------------------------------------------------------------------------------------- the map
    def _change(self) -> None:
        """Once a second something appears on the waypoints of robots, and their reaction is measured."""
        unsteady_s = self._random.uniform(-UNSTEADY_S, UNSTEADY_S)
        self._timer.timer_period_ns = round((1 + unsteady_s) / self._turns_a_second * 1e9)
        self._turn += 1
        window = self._windows[self._turn % len(self._windows)]
        watched: dict[Cell, Robot] = {}
        if self._turn % self._turns_a_second == 0:
            for robot in self.robots:
                if robot.waypoint is not None and math.dist(robot.place, robot.waypoint) > AHEAD_M:
                    watched[self._geometry.cell_at(*robot.waypoint)] = robot
            window = next((box for cell in watched for box in self._windows if _holds(box, cell)), window)
        put = self._things.change(window, self._cells_a_turn, self._keep_clear(), watched)
        since_ns = time.time_ns()
        self._publish(window)
        for box in put:
            to = self._geometry.to_world((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
            for cell, robot in watched.items():
                if _holds(box, cell):
                    robot.expect_reaction(to, RESOLUTION_M * (box.x1 - box.x0) / 2, since_ns)

    def _publish(self, window: Box) -> None:
        if self._updates is None:
            self._maps.publish(bytes(self._message))
            return
        changed = PublishedMap(self._occupancy, self._geometry, window)
        self._updates.publish(update_message(changed, self._updates.msg_type, _HEADER))

    def _keep_clear(self) -> list[Box]:
        """Boxes around the robots and their goals, in which nothing changes."""
        reach = round(CLEAR_M / RESOLUTION_M)
        cells = [self._geometry.cell_at(*place) for robot in self.robots for place in (robot.place, robot.goal)]
        return [Box(x - reach, y - reach, x + reach + 1, y + reach + 1) for x, y in cells]


def process_time_s(pid: int) -> float:
    """Processor time of a process: all threads, in user and system mode. Linux only."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()  # the name may hold anything
    return (int(fields[11]) + int(fields[12])) / _TICKS_S


def memory_mb(pid: int) -> float:
    """Resident memory of a process. Linux only."""
    return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**20


def machine_time_s() -> tuple[float, float]:
    """Time of all cores since the machine started: busy, and stolen by other machines on the same hardware."""
    first = Path('/proc/stat').read_text().splitlines()[0]
    user, nice, system, _, _, irq, softirq, steal = (int(field) / _TICKS_S for field in first.split()[1:9])
    return user + nice + system + irq + softirq, steal


def used_s(pids: list[int]) -> NDArray[np.float64]:
    """What each process and the whole machine took so far, and what was stolen from it."""
    return np.array([*map(process_time_s, pids), *machine_time_s()])


def distance_m(point: Place, begin: Place, end: Place) -> float:
    """The distance from a point to the line between two places."""
    (x, y), (dx, dy) = np.subtract(point, begin), np.subtract(end, begin)
    along = (x * dx + y * dy) / max(dx * dx + dy * dy, 1e-12)
    part = min(max(along, 0.0), 1.0)
    return math.hypot(x - part * dx, y - part * dy)


def _holds(box: Box, cell: Cell) -> bool:
    return box.x0 <= cell[0] < box.x1 and box.y0 <= cell[1] < box.y1


def play(watch: measuring.NodeWatch, scene: BenchScene) -> dict[str, Any]:
    """Waits until all planners plan, lets them do so for a while, and returns what was measured."""
    bench_world = Playground(watch.node, scene)
    robots = bench_world.robots
    watch.wait_until(lambda: bench_world.is_connected, START_LIMIT_S, 'not every planner was there')
    bench_world.begin()
    watch.wait_until(
        lambda: all((robot.received_ns or not scene.goals) and robot.diagnostics for robot in robots),
        START_LIMIT_S,
        'not every robot received diagnostics',
    )
    watch.wait(min(SETTLE_S, scene.seconds))
    for robot in robots:
        robot.forget()
    pids = [*scene.pids, os.getpid()]
    began_s, before_s = time.monotonic(), used_s(pids)
    watch.wait(scene.seconds)
    time_s = time.monotonic() - began_s
    *planners, bench_world_percent, busy, stolen = (100 * (used_s(pids) - before_s) / time_s).tolist()
    figures = {
        'seconds': time_s,
        'playground_percent': bench_world_percent,
        'others_percent': max(busy - sum(planners) - bench_world_percent, 0.0),
        'stolen_percent': stolen,
        'robots': [
            {
                'planner_percent': percent,
                'planner_mb': memory_mb(pid),
                'received_s': [received_ns / 1e9 for received_ns in robot.received_ns],
                'reactions_ms': list(robot.reactions_ms),
                'without_reaction': robot.without_reaction,
                'diagnostics': robot.diagnostics,  # those that come after this, too
            }
            for robot, pid, percent in zip(robots, scene.pids, planners)
        ],
    }
    counts = [len(robot.diagnostics) for robot in robots]
    watch.wait_until(
        lambda: all(len(robot.diagnostics) > before for robot, before in zip(robots, counts)),
        LAST_WORDS_LIMIT_S,
        'no last words',
    )
    return figures


if __name__ == '__main__':
    sys.exit(measuring.main('bench_world', lambda watch, scene: play(watch, BenchScene(**scene))))
