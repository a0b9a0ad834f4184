"""An action of Nav2's planner server: at most one request runs and one is pending, and each of them ends.

Goals, cancels and results are dealt with by the thread of the actions; the tick looks for what there is to do, and
says how it ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.qos import QoSProfile

from tb_planner.ros.action_thread import ActionThread, TimedActionServer
from tb_planner.ros.nav2_messages import PathMessage, result_of

BURST = QoSProfile(depth=256)
"""Requests that come at once; of ROS's own 10 the rest would get no answer at all."""
RESULT_S = 10
"""So long a result is kept for whoever asks for it, as in Nav2."""


@dataclass(eq=False)
class Request:
    """An accepted goal."""

    handle: ServerGoalHandle
    accepted_s: float = field(default_factory=perf_counter)

    @property
    def message(self) -> Any:
        return self.handle.request

    @property
    def age_s(self) -> float:
        return perf_counter() - self.accepted_s


class PathServer:
    """current() and finish() are for the tick; activate() and deactivate() for the lifecycle."""

    def __init__(self, thread: ActionThread, action: Any, name: str) -> None:
        self.action = action
        self.accepted = 0
        self._thread = thread
        self._lock = threading.Lock()
        self._is_active = False
        self._running: Request | None = None
        self._pending: Request | None = None
        self._server = TimedActionServer(
            thread.node,
            action,
            name,
            execute_callback=self._not_executed,
            goal_callback=self._answer_goal,
            handle_accepted_callback=self._take,
            cancel_callback=self._answer_cancel,
            goal_service_qos_profile=BURST,
            cancel_service_qos_profile=BURST,
            result_service_qos_profile=BURST,
            result_timeout=RESULT_S,
        )

    def activate(self) -> None:
        with self._lock:
            self._is_active, self.accepted = True, 0

    def deactivate(self) -> None:
        """Goals are rejected from now on, and requests under way aborted."""
        with self._lock:
            self._is_active = False
            requests = [self._running, self._pending]
            self._running = self._pending = None
        for request in requests:
            self._abort(request, 'the planner was deactivated')

    # -------------------------------------------------------------------------------------------------- for the tick
    @property
    def is_asked(self) -> bool:
        with self._lock:
            return self._running is not None or self._pending is not None

    def current(self) -> Request | None:
        """The request to be answered; a pending one has preempted the one that was running."""
        with self._lock:
            if self._pending is None:
                return self._running
            preempted, self._running, self._pending = self._running, self._pending, None
            current = self._running
        self._abort(preempted, 'preempted by another goal')
        return current

    def finish(self, request: Request, error: str, text: str) -> bool:
        """Answers it without a path; False if it has ended otherwise."""
        if not self._drop(request):
            return False
        planning_time_s = request.age_s
        self._end(request, lambda: result_of(self.action, error, text, None, planning_time_s), False)
        return True

    def succeed(self, request: Request, told: PathMessage) -> bool:
        """Answers it with a path, which the thread of the actions makes; False if it has ended otherwise."""
        if not self._drop(request):
            return False
        planning_time_s = request.age_s

        def go_on() -> None:
            if told.go_on():
                self._end(request, lambda: result_of(self.action, 'NONE', '', told.message, planning_time_s), True)
            else:
                self._thread.do(go_on)  # after goals that have come meanwhile

        self._thread.do(go_on)
        return True

    # -------------------------------------------------------------------------------------------------- for the thread
    def _answer_goal(self, _: Any) -> GoalResponse:
        return GoalResponse.ACCEPT if self._is_active else GoalResponse.REJECT

    def _take(self, handle: ServerGoalHandle) -> None:
        """The client has been told by now that the goal is accepted."""
        self._thread.times.end(perf_counter() - self._server.taken_s)
        request = Request(handle)
        with self._lock:
            self.accepted += 1
            dropped, self._pending = (self._pending, request) if self._is_active else (request, None)
        self._abort(dropped, 'preempted by another goal' if dropped is not request else 'the planner was deactivated')

    def _answer_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
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
    def _drop(self, request: Request) -> bool:
        """Whether it was still to be answered."""
        with self._lock:
            if request is self._running:
                self._running = None
            elif request is self._pending:
                self._pending = None
            else:
                return False
        return True

    def _abort(self, request: Request | None, text: str) -> None:
        """As Nav2 does, without an error code: nothing is wrong with the request."""
        if request is not None:
            planning_time_s = request.age_s
            self._end(request, lambda: result_of(self.action, 'NONE', text, None, planning_time_s), False)

    def _end(self, request: Request, make_result: Callable[[], Any], has_succeeded: bool) -> None:
        """A goal is executed when its result is known: rclpy would keep asking one that waits whether it is ready."""

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
        raise AssertionError('a goal is executed by _end() alone')
