"""A node for actions, and a thread that serves it: goals are answered while a tick searches.

rclpy serves a node by one executor, and this package's by one thread: a goal would wait for the end of a tick, and the
search in it may take as long as a user likes. The search lets other threads run, so a second thread is enough; and
rclpy cannot share a node between executors, so it is a second node.
"""

from __future__ import annotations

import threading
import traceback
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

from rclpy.action import ActionServer
from rclpy.clock import Clock, ClockType
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.parameter import Parameter

from tb_planner.navigation.tick_stats import TickStats

PROBE_S = 0.1
"""How often the thread looks how late it comes."""
STOP_S = 5.0
LAST_ROUNDS = 200
"""After the last task: results are sent by tasks that tasks have made, one a round."""


def second_node(node: LifecycleNode, what_for: str) -> Node:
    """Named <node>_<what_for>, beside a node that has all the services. Its arguments are not for this one: a remapped
    name would be the name of both. rclpy never gives back the 0.1 MB of a node's get_type_description."""
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
    """Of a node's actions."""

    def __init__(self, node: LifecycleNode) -> None:
        self.node = second_node(node, 'actions')
        self.times = TickStats(PROBE_S)
        """Durations are those of acknowledgements; jitter says how long a goal may have to wait for its turn."""
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
        """In the thread, soon; in the order of calls, which an executor of rclpy does not keep to by itself."""
        self._tasks.append(task)
        self._executor.create_task(self._do_next)

    def close(self) -> None:
        """Ends the thread, and the servers with the node; what it was given to do before, it does."""
        if self._thread.ident is not None:
            self.do(self._stop)
            self._thread.join(STOP_S)
            self._stopping = True  # also if it was too busy to hear of it
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
            except Exception:  # of rclpy, when a client is gone in the wrong moment: others are to be answered
                self._logger.error(f'action: {traceback.format_exc()}')
            rounds_left -= self._stopping

    def _do_next(self) -> None:
        try:
            self._tasks.popleft()()
        except Exception:  # other requests are to be answered
            self._logger.error(f'action: {traceback.format_exc()}')


class TimedActionServer(ActionServer):
    """Tells when it took a goal off the wire."""

    taken_s = 0.0

    def take_data(self) -> Any:
        data = super().take_data()
        if 'goal' in data:
            self.taken_s = perf_counter()
        return data
