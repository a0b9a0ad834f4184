"""An action of Nav2's planner server, and the thread that serves it.

At most one request of an action runs and one is pending, and every request ends. The thread of the actions deals with
goals, cancels and results; the tick looks for a request and reports how it ended.

rclpy serves a node by one executor, and this package's node by one thread: a goal would wait for the end of a tick, in
which the search may take as long as a user likes. The search lets other threads run, so a second thread is enough; and
rclpy cannot share a node between executors, so the actions have a second node.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile

from tb_planner.ros.diagnostics import TickStats
from tb_planner.ros.nav2_messages import PathMessage, result_of

BURST = QoSProfile(depth=256)
"""For requests that arrive at once; with ROS's own depth of 10 the rest would never get a response."""
RESULT_TIMEOUT_S = 10
"""How long a result is kept for whoever fetches it, as in Nav2."""
PROBE_S = 0.1
"""How often the thread measures how late it comes."""
STOP_S = 5.0
LAST_ROUNDS = 200
"""Rounds after the last task: results are sent by tasks that tasks have made, one a round."""


def second_node(node: LifecycleNode, what_for: str) -> Node:
    """Makes <node>_<what_for>, without services of its own. It ignores the process's arguments: a remapped name would
    name both nodes. rclpy never frees the 0.1 MB of a node's get_type_description."""
    return Node(
        f'{node.get_name()}_{what_for}',
        namespace=node.get_namespace(),
        context=node.context,
        use_global_arguments=False,
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=[Parameter('start_type_description_service', value=False)],
    )


class ActionThread:
    """Spins a second node for a node's actions."""

    def __init__(self, node: LifecycleNode) -> None:
        self.node = second_node(node, 'actions')
        self.times = TickStats(PROBE_S)
        """Durations are those of acknowledgements; jitter is how long a goal may have to wait for its turn."""
        self._logger = node.get_logger()
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self.node)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.node.create_timer(PROBE_S, lambda: self.times.begin(perf_counter()), clock=steady)
        self._tasks: deque[Callable[[], object]] = deque()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name='actions', daemon=True)

    def start(self) -> None:
        self._thread.start()

    def do(self, task: Callable[[], object]) -> None:
        """Runs the task in the thread, in the order of calls, which an executor of rclpy does not keep by itself."""
        self._tasks.append(task)
        self._executor.create_task(self._do_next)

    def close(self) -> None:
        """Ends the thread after the tasks that it has, and destroys the servers and the node."""
        if self._thread.ident is not None:
            self.do(self._stop)
            self._thread.join(STOP_S)
            self._stopping = True  # also if it was too busy for that task
        self._executor.shutdown(timeout_sec=STOP_S)
        for waitable in list(self.node.waitables):
            if isinstance(waitable, ActionServer):
                waitable.destroy()
        self.node.destroy_node()

    def _stop(self) -> None:
        self._stopping = True

    def _run(self) -> None:
        rounds_left = LAST_ROUNDS
        while self.node.context.ok() and rounds_left:
            try:
                self._executor.spin_once(timeout_sec=0.001 if self._stopping else PROBE_S)
            except ExternalShutdownException:
                return
            except Exception:  # of rclpy, when a client disappears at the wrong moment; other clients wait
                self._logger.error(f'action: {traceback.format_exc()}')
            rounds_left -= self._stopping

    def _do_next(self) -> None:
        try:
            self._tasks.popleft()()
        except Exception:  # other requests wait
            self._logger.error(f'action: {traceback.format_exc()}')


class TimedActionServer(ActionServer):
    """Keeps the time at which it received a goal."""

    taken_s = 0.0

    def take_data(self) -> Any:
        data = super().take_data()
        if 'goal' in data:
            self.taken_s = perf_counter()
        return data


@dataclass(eq=False)
class ActionRequest:
    """An accepted goal of an action."""

    handle: ServerGoalHandle
    accepted_s: float = field(default_factory=perf_counter)

    @property
    def message(self) -> Any:
        return self.handle.request

    @property
    def age_s(self) -> float:
        return perf_counter() - self.accepted_s


class PathServer:
    """current(), succeed() and fail() are for the tick; activate() and deactivate() for the lifecycle."""

    def __init__(self, thread: ActionThread, action: Any, name: str) -> None:
        self.action = action
        self.accepted = 0
        self._thread = thread
        self._lock = threading.Lock()
        self._is_active = False
        self._running: ActionRequest | None = None
        self._pending: ActionRequest | None = None
        self._server = TimedActionServer(
            thread.node,
            action,
            name,
            execute_callback=self._not_executed,
            goal_callback=self._accept_or_reject,
            handle_accepted_callback=self._take,
            cancel_callback=self._accept_cancel,
            goal_service_qos_profile=BURST,
            cancel_service_qos_profile=BURST,
            result_service_qos_profile=BURST,
            result_timeout=RESULT_TIMEOUT_S,
        )

    def activate(self) -> None:
        with self._lock:
            self._is_active, self.accepted = True, 0

    def deactivate(self) -> None:
        """Rejects goals from now on, and aborts unfinished requests."""
        with self._lock:
            self._is_active = False
            requests = [self._running, self._pending]
            self._running = self._pending = None
        for request in requests:
            self._abort(request, 'the planner was deactivated')

    # -------------------------------------------------------------------------------------------------- for the tick
    @property
    def has_request(self) -> bool:
        with self._lock:
            return self._running is not None or self._pending is not None

    def current(self) -> ActionRequest | None:
        """The request that needs a result; a pending one preempts the one that is running."""
        with self._lock:
            if self._pending is None:
                return self._running
            preempted, self._running, self._pending = self._running, self._pending, None
            current = self._running
        self._abort(preempted, 'preempted by another goal')
        return current

    def fail(self, request: ActionRequest, error: str, text: str) -> bool:
        """Ends a request without a path; returns False if it has ended already."""
        if not self._drop(request):
            return False
        planning_time_s = request.age_s
        self._end(request, lambda: result_of(self.action, error, text, None, planning_time_s), False)
        return True

    def succeed(self, request: ActionRequest, path: PathMessage) -> bool:
        """Ends a request with a path, whose message the thread of the actions makes; returns False if it has ended
        already."""
        if not self._drop(request):
            return False
        planning_time_s = request.age_s

        def go_on() -> None:
            if path.go_on():
                self._end(request, lambda: result_of(self.action, 'NONE', '', path.message, planning_time_s), True)
            else:
                self._thread.do(go_on)  # after goals that have come meanwhile

        self._thread.do(go_on)
        return True

    # -------------------------------------------------------------------------------------------------- for the thread
    def _accept_or_reject(self, _: Any) -> GoalResponse:
        return GoalResponse.ACCEPT if self._is_active else GoalResponse.REJECT

    def _take(self, handle: ServerGoalHandle) -> None:
        """By now the client knows that the goal is accepted."""
        self._thread.times.end(perf_counter() - self._server.taken_s)
        request = ActionRequest(handle)
        with self._lock:
            self.accepted += 1
            dropped, self._pending = (self._pending, request) if self._is_active else (request, None)
        self._abort(dropped, 'preempted by another goal' if dropped is not request else 'the planner was deactivated')

    def _accept_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        if not handle.is_active:
            return CancelResponse.REJECT
        self._thread.do(lambda: self._cancel(handle))  # after it has become canceling
        return CancelResponse.ACCEPT

    def _cancel(self, handle: ServerGoalHandle) -> None:
        with self._lock:
            requests = [request for request in (self._running, self._pending) if request is not None]
        for request in requests:
            if request.handle == handle and handle.is_cancel_requested and self._drop(request):
                self._abort(request, 'canceled')

    # -------------------------------------------------------------------------------------------------- how it ends
    def _drop(self, request: ActionRequest) -> bool:
        """Whether the request had no result yet."""
        with self._lock:
            if request is self._running:
                self._running = None
            elif request is self._pending:
                self._pending = None
            else:
                return False
        return True

    def _abort(self, request: ActionRequest | None, text: str) -> None:
        """Without an error code, as in Nav2: nothing is wrong with the request."""
        if request is not None:
            planning_time_s = request.age_s
            self._end(request, lambda: result_of(self.action, 'NONE', text, None, planning_time_s), False)

    def _end(self, request: ActionRequest, make_result: Callable[[], Any], has_succeeded: bool) -> None:
        """Executes the goal now that its result is known: rclpy would poll one that waits."""

        def conclude(handle: ServerGoalHandle) -> Any:
            result = make_result()
            if handle.is_cancel_requested:
                handle.canceled()
            elif has_succeeded:
                handle.succeed()
            else:
                handle.abort()
            return result

        self._thread.do(lambda: request.handle.execute(conclude))

    @staticmethod
    def _not_executed(_: ServerGoalHandle) -> Any:
        raise AssertionError('only _end() executes goals')
