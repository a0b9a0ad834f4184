"""Planner and simulator as processes in a small world; the test's own node subscribes to both."""

import math
import signal
from pathlib import Path

import numpy as np
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid, Odometry
from nav_msgs.msg import Path as Plan
from PIL import Image
from rclpy.publisher import Publisher
from std_msgs.msg import UInt32

from benchmarks.node.safety_oracle import SafetyOracle, SafetyRules, report
from helpers.peer import LATCHED, RELIABLE, Peer, Received, deep_queue
from helpers.processes import LIMIT_S, Nodes
from helpers.surroundings import RESOLUTION_M, Facts, map_message, pose_stamped
from tb_planner.ros.node import map_update_type
from tb_planner.ros.processes import Process

BLOCK = 8
"""Cells along the side of the square of one letter of a drawing: 0.8 m."""
DRIVE_LIMIT_S = 60.0
"""A generous limit for a drive of some seconds on a busy machine."""

PLANNER = {
    'autostart_node': True,
    'tick_frequency': 40.0,
    'robot_radius_m': 0.25,
    'inflation_radius_m': 0.5,
    'waypoint_distance_m': 0.7,
    'goal_tolerance_m': 0.2,
}
"""The robot is a disc of 0.1 m among squares of 0.1 m."""
SIMULATOR = {'robot_radius_m': 0.1, 'real_time_factor': 4.0, 'keep_clear_m': 1.5, 'publish_tf': False}
"""Nothing appears nearer than twice the distance to the waypoint: a planner that is late does no harm."""
BUSY_MACHINE_S = 0.3
"""Allowance of the safety oracle: tests share their processors with others."""


class World:
    """Drawn in letters, north is up: # is a wall, . is free, and every other letter is free and names the place in the
    middle of it. (0, 0) is the lower left corner."""

    def __init__(self, drawing: str) -> None:
        rows = drawing.split()[::-1]
        self.cells = np.kron([[letter == '#' for letter in row] for row in rows], np.ones((BLOCK, BLOCK))).astype(bool)
        self.places = {
            letter: ((x + 0.5) * BLOCK * RESOLUTION_M, (y + 0.5) * BLOCK * RESOLUTION_M)
            for y, row in enumerate(rows)
            for x, letter in enumerate(row)
            if letter not in '#.'
        }

    def write(self, folder: Path) -> Path:
        """Writes the map file for the simulator."""
        Image.fromarray(np.where(self.cells, 0, 254).astype(np.uint8)[::-1]).save(folder / 'world.pgm')
        keys = {'image': 'world.pgm', 'resolution': RESOLUTION_M, 'origin': [0.0, 0.0, 0.0]}
        keys |= {'negate': 0, 'occupied_thresh': 0.65, 'free_thresh': 0.196}
        path = folder / 'world.yaml'
        path.write_text(yaml.safe_dump(keys))
        return path

    def message(self, blocked: str = '') -> OccupancyGrid:
        """The map message of this world, with these places blocked."""
        cells = self.cells.copy()
        for place in blocked:
            x, y = (round(at_m / RESOLUTION_M - BLOCK / 2) for at_m in self.places[place])
            cells[y : y + BLOCK, x : x + BLOCK] = True
        return map_message(np.where(cells, 100, 0))

    def blocks(self, place: str, **times: float) -> dict[str, float]:
        """An obstacle of a script that fills the letter at this place."""
        x_m, y_m = self.places[place]
        side_m = BLOCK * RESOLUTION_M
        return {'x_m': x_m, 'y_m': y_m, 'width_m': side_m, 'height_m': side_m, **times}


class Scene:
    """A robot in a world, and its planner; both may be started and ended at any time."""

    def __init__(self, nodes: Nodes, peer: Peer, folder: Path, world: World, *, namespace: str = '') -> None:
        self.nodes, self.peer, self.world = nodes, peer, world
        self._folder = folder / (namespace or 'scene')
        self._folder.mkdir()
        self._prefix = f'{namespace}/' if namespace else ''
        self._remaps = {'__ns': f'/{namespace}'} if namespace else {}
        self.statuses = peer.subscribe_status(f'{self._prefix}tb_planner')
        self.waypoints = peer.subscribe(f'{self._prefix}waypoint', PoseStamped)
        self.plans = peer.subscribe(f'{self._prefix}plan', Plan, LATCHED)
        self.poses = peer.subscribe(f'{self._prefix}pose', PoseStamped)
        self.odometry = peer.subscribe(f'{self._prefix}odom', Odometry)
        self.collisions = peer.subscribe(f'{self._prefix}simulator/collisions', UInt32, LATCHED)
        self._diagnostics = peer.subscribe('/diagnostics', DiagnosticArray)
        self._goals = peer.node.create_publisher(PoseStamped, f'{self._prefix}goal_pose', RELIABLE)
        self._planner_parameters: dict[str, object] = dict(PLANNER)

    # -------------------------------------------------------------------------------------------------- processes
    def start_planner(self, **parameters) -> Process:
        self._planner_parameters = {**PLANNER, **parameters}
        return self.nodes.planner(remaps=self._remaps, **self._planner_parameters)

    def start_simulator(self, at: str = 'a', *, remaps=None, obstacles=(), **parameters) -> Process:
        """Starts the simulator with the robot at this place."""
        x_m, y_m = self._start = self.world.places[at]
        chosen = {'map': str(self.world.write(self._folder)), 'start_x_m': x_m, 'start_y_m': y_m}
        if obstacles:
            script = self._folder / 'obstacles.yaml'
            script.write_text(yaml.safe_dump({'obstacles': list(obstacles)}))
            chosen['obstacles'] = str(script)
        return self.nodes.simulator(remaps={**self._remaps, **(remaps or {})}, **{**SIMULATOR, **chosen, **parameters})

    def kill(self, process: Process) -> None:
        """Kills the process, as a crash would."""
        process.send(signal.SIGKILL)
        assert process.wait(LIMIT_S)

    # -------------------------------------------------------------------------------------------------- the robot
    def give_goal(self, place: str, *, to: int = 2) -> None:
        """Forgets older messages and publishes the goal, once it has `to` subscribers: planner and simulator."""
        self.peer.wait_until(
            lambda: self.peer.node.count_subscribers(self._goals.topic_name) >= to and self.statuses, 'all is up'
        )
        self.forget_messages()
        self._goals.publish(pose_stamped(*self.world.places[place]))

    def forget_messages(self) -> None:
        for messages in (self.statuses, self.plans, self.waypoints):
            messages.clear()

    def wait_for_robot(self) -> None:
        self.peer.wait_until(lambda: self.poses, 'the robot is there')

    def wait_for_status(self, *statuses: str, limit_s: float = LIMIT_S) -> str:
        """Waits until one of these statuses has been published since the goal was given."""
        self.peer.wait_until(
            lambda: any(message.data in statuses for message in self.statuses),
            lambda: f'status {" or ".join(statuses)}; received {[message.data for message in self.statuses]}',
            limit_s,
        )
        return next(message.data for message in self.statuses if message.data in statuses)

    def wait_for_arrival(self, place: str) -> None:
        """Waits until the planner reports the arrival and the robot is there; checks that it collided with nothing."""
        self.wait_for_status('ARRIVED', limit_s=DRIVE_LIMIT_S)
        self.peer.wait_until(lambda: self.distance_to(place) < 0.1, lambda: f'robot at {place}; it is at {self.place}')
        assert self.collisions.last.data == 0

    def drive(self, place: str) -> None:
        self.give_goal(place)
        self.wait_for_arrival(place)

    def wait_until_it_drives(self) -> None:
        """Waits until the robot is half a metre from where it is now."""
        self.wait_for_robot()
        begin = self.place
        self.peer.wait_until(lambda: math.dist(begin, self.place) > 0.5, 'the robot drives', DRIVE_LIMIT_S)

    def wait_until_it_stops(self) -> None:
        """Waits until the robot has not moved for a while: it also stops shortly to turn back to its waypoint."""
        begin = len(self.odometry)
        self.peer.wait_until(
            lambda: len(self.odometry) > begin + 25 and not any(is_moving(message) for message in self.odometry[-25:]),
            'the robot stops',
            DRIVE_LIMIT_S,
        )

    def check_that_no_waypoints_come(self, ticks: int = 20) -> None:
        """Checks that this number of ticks publishes no waypoint."""
        begin = int(self.next_facts()['ticks'])  # waypoints in transit have been received meanwhile
        count = len(self.waypoints)
        self.wait_for_fact('ticks', lambda value: int(value) >= begin + ticks)
        assert len(self.waypoints) == count

    @property
    def place(self) -> tuple[float, float]:
        return place_of(self.poses.last)

    def distance_to(self, place: str) -> float:
        return math.dist(self.place, self.world.places[place])

    def track(self, poses: Received | None = None) -> np.ndarray:
        """The places where the robot has been, one row for each pose."""
        return np.array([place_of(pose) for pose in (self.poses if poses is None else poses)])

    def has_been_near(self, place: str, within_m: float = 0.6) -> bool:
        return bool((np.hypot(*(self.track() - self.world.places[place]).T) < within_m).any())

    def wait_for_waypoints(self, count: int) -> None:
        """Waits for this number of further waypoints."""
        enough = len(self.waypoints) + count
        self.peer.wait_until(lambda: len(self.waypoints) >= enough, f'{count} waypoints')

    def become_map_publisher(self) -> Publisher:
        """A publisher of the map, in place of the simulator."""
        return self.peer.node.create_publisher(OccupancyGrid, f'{self._prefix}map', LATCHED)

    def check_that_it_went_straight_on(self, place: str) -> None:
        """Checks that, between full speed and the last metre, the robot never stopped and always came nearer."""
        away_m = np.hypot(*(self._start + self.track(self.odometry) - self.world.places[place]).T)
        speeds = np.array([message.twist.twist.linear.x for message in self.odometry])
        begin, end = (speeds > 0.9).argmax(), (away_m < 1.2).argmax()
        assert 0 < begin < end, f'fastest {speeds.max()} m/s, nearest {away_m.min()} m'
        assert speeds[begin:end].min() > 0.0
        assert np.diff(away_m[begin:end]).max() <= 0.0

    # -------------------------------------------------------------------------------------------------- safety
    def watch(self) -> None:
        """Keeps from now on what the safety oracle needs to know, with the times of publishing."""
        self.seen: list[tuple[str, object, float]] = []
        kinds = {'map': (OccupancyGrid, 'map', LATCHED), 'pose': (PoseStamped, 'pose', RELIABLE)}
        kinds['waypoint'] = (PoseStamped, 'waypoint', RELIABLE)
        if (update := map_update_type()) is not None:
            kinds['patch'] = (update, 'map_updates', RELIABLE)
        for kind, (type_, topic, qos) in kinds.items():

            def see(message, info, kind=kind):
                self.seen.append((kind, message, info['source_timestamp'] * 1e-9))

            self.peer.node.create_subscription(type_, f'{self._prefix}{topic}', see, deep_queue(qos))

    def judge(self, seen: list[tuple[str, object, float]] | None = None) -> SafetyOracle:
        """The oracle's judgement of what was seen; by default of all that watch() kept."""
        chosen = self._planner_parameters
        rules = SafetyRules(robot_radius_m=chosen['robot_radius_m'])
        oracle = SafetyOracle(rules, 1 / chosen['tick_frequency'], BUSY_MACHINE_S)
        for kind, message, at_s in sorted(self.seen if seen is None else seen, key=lambda one: one[2]):
            getattr(oracle, f'see_{kind}')(message, at_s)
        oracle.finish()
        return oracle

    def check_waypoints(self) -> None:
        """Checks that no waypoint led through a blocked cell."""
        oracle = self.judge()
        assert oracle.judged > 10, f'{oracle.judged} waypoints judged, {oracle.unjudged} not judged'
        assert oracle.violation_count == 0, report(oracle.violations)

    # -------------------------------------------------------------------------------------------------- diagnostics
    @property
    def facts(self) -> dict[str, str]:
        """The values of the last diagnostics of this planner."""
        name = f'/{self._prefix}tb_planner: planner'
        for message in reversed(self._diagnostics):
            if message.status[0].name == name:
                return Facts(message)
        return {}

    def next_facts(self) -> dict[str, str]:
        """The values of diagnostics that are still to come."""
        before = self.facts
        self.peer.wait_until(lambda: self.facts != before, 'diagnostics')
        return self.facts

    def wait_for_fact(self, key: str, condition, limit_s: float = LIMIT_S) -> str:
        self.peer.wait_until(
            lambda: key in self.facts and condition(self.facts[key]), lambda: f'{key}; {self.facts}', limit_s
        )
        return self.facts[key]


def is_moving(message: Odometry) -> bool:
    return message.twist.twist.linear.x != 0.0 or message.twist.twist.angular.z != 0.0


def place_of(message) -> tuple[float, float]:
    pose = getattr(message.pose, 'pose', message.pose)
    return pose.position.x, pose.position.y


def check_ends(nodes: Nodes) -> None:
    """Checks that every node that was not killed still runs, and ends with exit code 0 on SIGINT and on SIGTERM."""
    left = [process for process in nodes.all if process.exit_code != -signal.SIGKILL]
    assert [process.exit_code for process in left] == [None] * len(left)
    for number, process in enumerate(left):
        process.send(signal.SIGINT if number % 2 else signal.SIGTERM)
    assert all(process.wait(LIMIT_S) for process in left)
    assert [process.exit_code for process in left] == [0] * len(left)
    assert not [process.log_text for process in left if 'Traceback' in process.log_text]
