"""Attacks on nodes that run as processes over DDS, and the check after each: they live, respond and still navigate.

What is attacked is what the nodes' own graph has: every topic that they subscribe to and every service that they serve,
those of actions included.
"""

from __future__ import annotations

import math
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import rclpy
from action_msgs.srv import CancelGoal
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TransformStamped
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import OccupancyGrid
from nav_msgs.msg import Path as PathMessage
from rcl_interfaces.msg import Parameter
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from benchmarks.node.fuzz_inputs import FRAME, FuzzInputs, good_map, pose
from tb_planner.ros.main import spin_until
from tb_planner.ros.pose_source import TYPES
from tb_planner.ros.processes import Process, Processes, ros_arguments
from tb_planner.ros.publishers import IN_ORDER, LATCHED

START_S, RESPONSE_S = 60.0, 30.0
"""How long a node may take to start, and to do anything else that is expected of it."""
REQUEST_S, AGAIN_S = 1.0, 0.5
"""Times after which a request without a response, and a goal without a path, is sent again."""
BURST, PAUSE_S = 10, 0.005
"""After this number of inputs comes a pause, so that the nodes take them and drop none."""
STAYS_S, CONNECTION_S = 0.3, 0.2
PERIOD_S = 0.05
FIRST_TIME_S = 1000.0
"""The simulated time at which a run begins."""
ROBOT_M = (1.5, 3.0)
GOALS_M = ((4.5, 3.0), (4.5, 1.0), (4.5, 5.0), (1.5, 5.0), (1.5, 1.0))
NEAR_M = 0.3
SHUTDOWNS = (
    Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
    Transition.TRANSITION_INACTIVE_SHUTDOWN,
    Transition.TRANSITION_ACTIVE_SHUTDOWN,
)
ORDERS = (
    Transition.TRANSITION_CONFIGURE,
    Transition.TRANSITION_ACTIVATE,
    Transition.TRANSITION_DEACTIVATE,
    Transition.TRANSITION_CLEANUP,
)

RCLError = rclpy_implementation.RCLError
_RECORD = re.compile(r'^\[(\w+)\] \[\d', re.MULTILINE)
_CAUGHT = re.compile(r"^\[FATAL\] .*: Exception in '", re.MULTILINE)
OF_RCLPY = 'continues after an error in ROS'
_PORT = re.compile(r'shown at http://[^:]+:(\d+)')


class CheckFailed(Exception):
    """A node has ended, does not respond, or does not navigate."""


@dataclass(eq=False)
class Target:
    """A node under attack. navigates: whether it is a planner, which must lead to a goal after each attack."""

    name: str
    module: str
    node: str
    parameters: dict[str, Any]
    navigates: bool = True
    process: Process | None = None
    initial: list[Parameter] = field(default_factory=list)
    start_mb: float = 0.0
    missed_ticks: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    """The last diagnostics."""
    status: str = ''
    waypoints: int = 0
    poses: int = 0
    end_of_plan: tuple[float, float] = (math.nan, math.nan)

    @property
    def namespace(self) -> str:
        return self.node.rpartition('/')[0]

    @property
    def has_ended(self) -> bool:
        return self.process is not None and self.process.exit_code is not None

    @property
    def log_text(self) -> str:
        return self.process.log_text if self.process else ''

    @property
    def caught(self) -> int:
        """Exceptions within rclpy that the node caught. The executor logs each of them."""
        return len(_CAUGHT.findall(self.log_text))

    @property
    def failures(self) -> list[str]:
        """Exceptions in our own callbacks, which were caught, too, but should not happen."""
        _, *parts = _RECORD.split(self.log_text)  # severities and texts in turn
        errors = [text for severity, text in zip(parts[::2], parts[1::2]) if severity == 'ERROR']
        return [text for text in errors if 'Traceback' in text and OF_RCLPY not in text]

    def memory_mb(self) -> tuple[float, float]:
        """Resident memory: now, and the most since the process started. Linux only."""
        assert self.process is not None
        with suppress(OSError):
            text = Path(f'/proc/{self.process.pid}/status').read_text()
            found = dict(re.findall(r'^(VmRSS|VmHWM):\s*(\d+) kB', text, re.MULTILINE))
            return int(found['VmRSS']) / 1024, int(found['VmHWM']) / 1024
        return math.nan, math.nan

    def take(self, facts: dict[str, str]) -> None:
        """Diagnostics: their count of missed ticks begins anew with every activation."""
        before, now = int(self.facts.get('missed_ticks', 0)), int(facts['missed_ticks'])
        self.missed_ticks += now - before if now >= before else now
        self.facts = facts


def targets(folder: Path) -> list[Target]:
    """A planner for each type of pose, one on simulated time, a simulator, and the live view of the first planner."""
    record = str(folder / 'run.tbrun')
    first = {'record': record, 'nav2': find_spec('nav2_msgs') is not None}
    wanted: dict[str, dict[str, Any]] = {
        '/tb_planner': first,
        '/odometry/tb_planner': {'pose_type': 'Odometry', 'use_sim_time': True},
        '/covariance/tb_planner': {'pose_type': 'PoseWithCovarianceStamped'},
    }
    if find_spec('tf2_ros'):
        wanted['/tf/tb_planner'] = {'pose_source': 'tf'}
    planners = [
        Target(
            node.strip('/').replace('/', '_'),
            'tb_planner.ros.node',
            node,
            {'autostart_node': True, 'cleared_map_timeout_s': 0.0, **parameters},
        )
        for node, parameters in wanted.items()
    ]
    simulator = Target(
        'simulator', 'tb_planner.ros.simulator_node', '/sim/simulator', {'follow_waypoint': False}, False
    )
    view = Target('view', 'tb_planner.ros.view_node', '/sim/view', {'record': record, 'port': 0}, False)
    return [*planners, simulator, view]


class Attacker:
    """Starts the targets, attacks them in batches and checks them after each.

    Every batch draws from a generator of its own, so that it can be run alone.
    """

    def __init__(self, processes: Processes, folder: Path, seed: int) -> None:
        self.targets = targets(folder)
        self._processes = processes
        self._seed = seed
        self._began_s = time.monotonic()
        self._context = rclpy.Context()
        self._context.init()  # and no handlers of signals: Ctrl-C ends the attack in the normal order
        self._node = rclpy.create_node('attacker', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._clients: dict[str, Any] = {}
        self._maps, self._goals, self._poses = (dict[str, Any]() for _ in range(3))
        self._clock = self._node.create_publisher(Clock, '/clock', IN_ORDER)
        self._transforms: Any = None
        if find_spec('tf2_ros'):
            from tf2_msgs.msg import TFMessage

            self._transforms = self._node.create_publisher(TFMessage, '/tf', IN_ORDER)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._take_diagnostics, 100)
        for target in self.targets:
            self._connect(target)
        self._node.create_timer(PERIOD_S, self._publish_all)

    def close(self) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    def start(self) -> None:
        """Starts all targets and checks them for the first time."""
        for target in self.targets:
            self._start(target)
        for target in self.targets:
            self._get_ready(target)

    def _start(self, target: Target) -> None:
        remaps = {'__ns': target.namespace} if target.namespace else {}
        target.process = self._processes.start_module(target.module, ros_arguments(target.parameters, remaps=remaps))

    def _get_ready(self, target: Target) -> None:
        names = self._call(target, 'list_parameters', ListParameters, limit_s=START_S).result.names
        values = self._call(target, 'get_parameters', GetParameters, names=names).values
        about = self._call(target, 'describe_parameters', DescribeParameters, names=names).descriptors
        target.initial = [
            Parameter(name=name, value=value)
            for name, value, description in zip(names, values, about, strict=True)
            if not description.read_only and not name.startswith('qos_overrides')
        ]
        self._check(target, GOALS_M[0])
        target.start_mb = target.memory_mb()[0]

    def restart(self, target: Target) -> None:
        """Starts a new process in place of one that has ended or does not respond any more."""
        assert target.process is not None
        if target.process.exit_code is None:
            target.process.send(signal.SIGKILL)
            target.process.wait(RESPONSE_S)
        target.facts = {}
        self._start(target)
        self._get_ready(target)

    # ---------------------------------------------------------------------- batches
    def attack(self, kind: str, number: int, count: int) -> int:
        """Sends this number of inputs of a kind; returns how many were sent. A batch of the same number sends the same
        inputs again."""
        names = tuple(sorted({item.name for target in self.targets for item in target.initial}))
        inputs = FuzzInputs(f'{self._seed}/{number}/{kind}', names or ('weight',))
        return KINDS[kind](self, inputs, count)

    def check(self, target: Target, number: int) -> None:
        """Raises CheckFailed unless the node lives, responds and, as a planner, leads to another goal."""
        self._check(target, GOALS_M[number % len(GOALS_M)])

    def send_messages(self, inputs: FuzzInputs, count: int, topics: Sequence[str] = (), *, raw: bool = False) -> int:
        """topics: those alone; else all but the clock and the transforms."""
        chosen = [
            (name, kind)
            for name, kind in self._subscribed()
            if (name in topics if topics else raw or name not in ('/clock', '/tf', '/tf_static'))
        ]
        if not chosen:
            return 0
        with self._guest() as guest:
            publishers = [(guest.create_publisher(kind, name, LATCHED), kind) for name, kind in chosen]
            self._wait(lambda: all(publisher.get_subscription_count() for publisher, _ in publishers), 'subscribers')
            for sent in range(count):
                publisher, kind = inputs.random.choice(publishers)
                with suppress(RCLError):  # DDS refuses to send nothing
                    publisher.publish(inputs.cdr(kind) if raw else inputs.message(kind))
                self._pause(sent)
        return count

    def send_cdr(self, inputs: FuzzInputs, count: int) -> int:
        return self.send_messages(inputs, count, raw=True)

    def send_clock(self, inputs: FuzzInputs, count: int) -> int:
        return self.send_messages(inputs, count, ('/clock',))

    def send_transforms(self, inputs: FuzzInputs, count: int) -> int:
        return self.send_messages(inputs, count, ('/tf', '/tf_static'))

    def call_services(
        self, inputs: FuzzInputs, count: int, are_chosen: Callable[[str], bool], stays_s: float = STAYS_S
    ) -> int:
        """Nobody waits for responses. stays_s: how long after the last request the client disappears."""
        with self._guest() as guest:
            clients = [(guest.create_client(kind, name), kind) for name, kind in self._served() if are_chosen(name)]
            if not clients:
                return 0
            self._wait(lambda: all(client.service_is_ready() for client, _ in clients), 'services')
            for sent in range(count):
                client, kind = inputs.random.choice(clients)
                client.call_async(self._request(inputs, kind))
                self._pause(sent)
            self._spin(stays_s)
        return count

    def _request(self, inputs: FuzzInputs, kind: Any) -> Any:
        request = inputs.message(kind.Request)
        if kind is ChangeState:
            if request.transition.id in SHUTDOWNS or inputs.random.random() < 0.7:
                request.transition.id, request.transition.label = inputs.random.choice(ORDERS), ''
        elif kind is CancelGoal and inputs.random.random() < 0.3:  # all goals
            return CancelGoal.Request()
        return request

    def set_parameters(self, inputs: FuzzInputs, count: int) -> int:
        return self.call_services(inputs, count, lambda name: '/set_parameters' in name)

    def change_states(self, inputs: FuzzInputs, count: int) -> int:
        return self.call_services(inputs, max(count // 5, 1), lambda name: name.endswith('/change_state'))

    def request_paths(self, inputs: FuzzInputs, count: int) -> int:
        """Goals, cancels and requests for results of Nav2's actions, by clients that disappear meanwhile."""
        parts = [count // 4] * 4
        return sum(self.call_services(inputs, part, is_path_service, stays_s=0.0) for part in parts)

    def call_others(self, inputs: FuzzInputs, count: int) -> int:
        def is_other(name: str) -> bool:
            return not ('/set_parameters' in name or name.endswith('/change_state') or is_path_service(name))

        return self.call_services(inputs, count, is_other)

    def send_http(self, inputs: FuzzInputs, count: int) -> int:
        """Requests to the live view; some connections are left open until the last one."""
        port, left_open = self._port(), []
        for sent in range(count):
            connection = _connected(port)
            with suppress(OSError):  # the server may close it at any time
                connection.sendall(inputs.http(port))
                if inputs.random.random() < 0.3:
                    connection.recv(1000)
            if inputs.random.random() < 0.5:
                connection.close()
            else:
                left_open.append(connection)
            self._pause(sent)
        for connection in left_open:
            connection.close()
        return count

    def send_frames(self, inputs: FuzzInputs, count: int) -> int:
        """WebSocket frames to the live view, at most ten on a connection."""
        port, sent = self._port(), 0
        while sent < count:
            with closing(_connected(port)) as connection, suppress(OSError):
                connection.sendall(inputs.handshake(port))
                connection.recv(1000)
                for _ in range(inputs.random.randrange(1, 11)):
                    sent += 1
                    connection.sendall(inputs.frame())
                    self._pause(sent)
        return sent

    def shut_down(self, inputs: FuzzInputs, count: int) -> int:
        """Every order of transitions, also to the end, on a planner of its own, which a signal ends at last."""
        process = self._processes.start_module('tb_planner.ros.node', ros_arguments({}, remaps={'__ns': '/ended'}))
        target = Target('ended', '', '/ended/tb_planner', {}, False, process)
        self._call(target, 'get_state', GetState, limit_s=START_S)
        orders = [inputs.random.choice((*ORDERS, *SHUTDOWNS)) for _ in range(max(count // 20, 1))]
        for order in orders:
            self._call(target, 'change_state', ChangeState, transition=Transition(id=order))
        self._call(target, 'get_state', GetState)
        process.send(signal.SIGINT)
        if not process.wait(RESPONSE_S) or process.exit_code != 0:
            raise CheckFailed(f'a planner that was shut down has the exit code {process.exit_code}')
        for service in ('get_state', 'change_state'):
            self._node.destroy_client(self._clients.pop(f'/ended/tb_planner/{service}'))
        return len(orders)

    # ---------------------------------------------------------------------- what there is
    def _subscribed(self) -> list[tuple[str, Any]]:
        """Topics of all nodes, by name."""
        found = self._of_all_nodes(self._node.get_subscriber_names_and_types_by_node)
        return [(name, _class_of(kind)) for name, kind in found]

    def _served(self) -> list[tuple[str, Any]]:
        found = self._of_all_nodes(self._node.get_service_names_and_types_by_node)
        return [(name, _class_of(kind)) for name, kind in found]

    def _of_all_nodes(self, names_and_types: Callable[[str, str], Any]) -> list[tuple[str, str]]:
        found = set()
        for name, namespace in self._node.get_node_names_and_namespaces():
            if name not in ('attacker', 'guest') and namespace != '/ended':
                with suppress(Exception):  # a node that has just ended
                    found |= {(item, kinds[0]) for item, kinds in names_and_types(name, namespace)}
        return sorted(found)

    @contextmanager
    def _guest(self) -> Iterator[Node]:
        """A participant that exists for one attack."""
        context = rclpy.Context()
        context.init()
        node = rclpy.create_node('guest', context=context)
        try:
            yield node
        finally:
            node.destroy_node()
            context.try_shutdown()

    def _port(self) -> int:
        view = next(target for target in self.targets if target.name == 'view')
        self._wait(lambda: _PORT.search(view.log_text), 'the port of the live view')
        return int(_PORT.findall(view.log_text)[-1])

    # ---------------------------------------------------------------------- the check
    def _check(self, target: Target, goal_m: tuple[float, float]) -> None:
        assert target.process is not None
        if target.process.exit_code is not None:
            raise CheckFailed(f'{target.name} has ended with exit code {target.process.exit_code}')
        if target.initial:
            self._call(target, 'set_parameters_atomically', SetParametersAtomically, parameters=target.initial)
        if target.navigates:
            self._activate(target)
            self._navigate(target, goal_m)
        elif target.name == 'simulator':
            poses = target.poses
            self._wait(lambda: target.poses > poses, 'the simulator publishes poses')
        else:
            self._fetch_page()

    def _activate(self, target: Target) -> None:
        steps = {
            State.PRIMARY_STATE_UNCONFIGURED: Transition.TRANSITION_CONFIGURE,
            State.PRIMARY_STATE_INACTIVE: Transition.TRANSITION_ACTIVATE,
        }
        for _ in range(10):  # requests of the attack may still come in between
            state = self._call(target, 'get_state', GetState).current_state
            if state.id == State.PRIMARY_STATE_ACTIVE:
                return
            if state.id in steps:
                self._call(target, 'change_state', ChangeState, transition=Transition(id=steps[state.id]))
        raise CheckFailed(f'{target.name} does not become active; its state is {state.label}')

    def _navigate(self, target: Target, goal_m: tuple[float, float]) -> None:
        """A good map and goal lead to a plan to that goal, and to waypoints."""

        def leads_there() -> bool:
            near = math.dist(target.end_of_plan, goal_m) < NEAR_M
            return near and target.status == 'NAVIGATING'

        deadline = time.monotonic() + RESPONSE_S
        self._maps[target.node].publish(good_map())
        while not leads_there():
            if time.monotonic() > deadline:
                text = f'its status is {target.status!r}, its plan ends at {target.end_of_plan}, its goal is {goal_m}'
                raise CheckFailed(f'{target.name} does not navigate: {text}')
            self._goals[target.node].publish(pose(*goal_m))
            spin_until(self._executor, leads_there, AGAIN_S, _nothing)
            self._maps[target.node].publish(good_map())
        waypoints = target.waypoints
        self._wait(lambda: target.waypoints > waypoints + 1, f'{target.name} publishes waypoints')

    def _fetch_page(self) -> None:
        port = self._port()
        for _ in range(3):  # connections of the attack may still be pending
            with closing(_connected(port)) as connection, suppress(OSError):
                connection.settimeout(RESPONSE_S)
                connection.sendall(f'GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n'.encode())
                if connection.recv(1000).startswith(b'HTTP/1.1 200 '):
                    return
        raise CheckFailed('the live view does not serve its page')

    # ---------------------------------------------------------------------- communication
    def _connect(self, target: Target) -> None:
        node, prefix = self._node, target.namespace
        if target.name == 'simulator':
            node.create_subscription(PoseStamped, f'{prefix}/pose', lambda _: _count(target, 'poses'), 10)
        if not target.navigates:
            return
        self._maps[target.node] = node.create_publisher(OccupancyGrid, f'{prefix}/map', LATCHED)
        self._goals[target.node] = node.create_publisher(PoseStamped, f'{prefix}/goal_pose', IN_ORDER)
        if target.parameters.get('pose_source') != 'tf':
            kind = TYPES[target.parameters.get('pose_type', 'PoseStamped')]
            self._poses[target.node] = node.create_publisher(kind, f'{prefix}/pose', IN_ORDER)

        def take_status(message: String) -> None:
            target.status = message.data

        def take_plan(message: PathMessage) -> None:
            end = message.poses[-1].pose.position if message.poses else None
            target.end_of_plan = (end.x, end.y) if end else (math.nan, math.nan)

        node.create_subscription(String, f'{target.node}/status', take_status, LATCHED)
        node.create_subscription(PathMessage, f'{prefix}/plan', take_plan, LATCHED)
        node.create_subscription(PoseStamped, f'{prefix}/waypoint', lambda _: _count(target, 'waypoints'), 10)

    def _publish_all(self) -> None:
        """Clock, poses and transforms, as a robot would publish them all the time."""
        now_s = FIRST_TIME_S + time.monotonic() - self._began_s
        clock = Clock()
        clock.clock.sec, clock.clock.nanosec = int(now_s), int(now_s % 1 * 1e9)
        self._clock.publish(clock)
        stamped = pose(*ROBOT_M)
        for publisher in self._poses.values():
            message = publisher.msg_type(header=stamped.header)
            if isinstance(message, PoseStamped):
                message.pose = stamped.pose
            else:
                message.pose.pose = stamped.pose
            publisher.publish(message)
        if self._transforms is not None:
            transform = TransformStamped(child_frame_id='base_link')
            transform.header.frame_id, transform.header.stamp = FRAME, self._node.get_clock().now().to_msg()
            transform.transform.translation.x, transform.transform.translation.y = ROBOT_M
            self._transforms.publish(self._transforms.msg_type(transforms=[transform]))

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            for target in self.targets:
                if status.name == f'{target.node}: planner':
                    target.take({item.key: item.value for item in status.values})

    def _call(self, target: Target, service: str, kind: Any, limit_s: float = RESPONSE_S, **fields: Any) -> Any:
        """The response of a service. A busy node drops the response to a client that it has not discovered yet, so the
        request is sent again."""
        name = f'{target.node}/{service}'
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        client = self._clients[name]
        self._wait(client.service_is_ready, f'{name} is there', limit_s)
        responses, deadline = [], time.monotonic() + limit_s
        while time.monotonic() < deadline:
            responses.append(client.call_async(kind.Request(**fields)))
            if spin_until(self._executor, lambda: any(item.done() for item in responses), REQUEST_S, _nothing):
                return next(item for item in responses if item.done()).result()
        raise CheckFailed(f'not within {limit_s:g} s: {name} responds')

    def _wait(self, condition: Callable[[], object], what: str, limit_s: float = RESPONSE_S) -> None:
        if not spin_until(self._executor, condition, limit_s, _nothing):
            raise CheckFailed(f'not within {limit_s:g} s: {what}')

    def _pause(self, sent: int) -> None:
        if sent % BURST == 0:
            self._spin(PAUSE_S)

    def _spin(self, time_s: float) -> None:
        spin_until(self._executor, lambda: False, time_s, _nothing)


KINDS: dict[str, Callable[[Attacker, FuzzInputs, int], int]] = {
    'messages': Attacker.send_messages,
    'malformed CDR': Attacker.send_cdr,
    'clock': Attacker.send_clock,
    'transforms': Attacker.send_transforms,
    'parameters': Attacker.set_parameters,
    'services': Attacker.call_others,
    'lifecycle': Attacker.change_states,
    'shutdown': Attacker.shut_down,
    'path requests': Attacker.request_paths,
    'HTTP': Attacker.send_http,
    'WebSocket': Attacker.send_frames,
}


def is_path_service(name: str) -> bool:
    return '/_action/' in name or name.endswith('/is_path_valid')


def _class_of(kind: str) -> Any:
    """The class of a type such as std_msgs/msg/String, or of a service of an action."""
    package, folder, name = kind.split('/')
    module = import_module(f'{package}.{folder}')
    for ending, part in (('_SendGoal', 'SendGoalService'), ('_GetResult', 'GetResultService')):
        if folder == 'action' and name.endswith(ending):
            return getattr(getattr(module, name.removesuffix(ending)).Impl, part)
    if folder == 'action' and name.endswith('_FeedbackMessage'):
        return getattr(module, name.removesuffix('_FeedbackMessage')).Impl.FeedbackMessage
    return getattr(module, name)


def _connected(port: int) -> socket.socket:
    return socket.create_connection(('127.0.0.1', port), timeout=CONNECTION_S)


def _count(target: Target, name: str) -> None:
    setattr(target, name, getattr(target, name) + 1)


def _nothing() -> None:
    """Nothing ends a wait early."""
