"""The lifecycle node tb_planner: map, pose and goal in; every tick a waypoint out.

configure makes publishers and services; from activate to deactivate it hears, searches and speaks (session.py).
Deactivating drops goal and map; the map comes again, since its topic is latched.
"""

from __future__ import annotations

import functools
import gc
import sys
import traceback
from collections.abc import Callable
from typing import Any

from tb_planner.ros.without_ros import ros_needed_by

with ros_needed_by('planner_node'):
    import rclpy
    from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
    from rclpy.parameter import Parameter
    from std_srvs.srv import Trigger

from tb_planner.config import PlannerParameters
from tb_planner.ros import params as parameters
from tb_planner.ros import signals
from tb_planner.ros.controller import require_follow_path
from tb_planner.ros.diagnostics import COMPILED, NOT_COMPILED
from tb_planner.ros.nav2_messages import require_nav2
from tb_planner.ros.nav2_planner import Nav2Planner
from tb_planner.ros.pose_source import Missing, require_tf
from tb_planner.ros.publishers import Publishers
from tb_planner.ros.session import Session, map_update_type
from tb_planner.ros.throttled_log import ThrottledLog

SWITCH_INTERVAL_S = 0.0005
"""A tick that waits for the worker to let go of Python waits this long, not Python's 5 ms."""
FULL_COLLECTION = 1000
"""So many times as seldom as its younger objects Python looks through all of them for garbage, not 10 times: of long
paths for Nav2, each of thousands of poses and kept for ten seconds, that takes up to 100 ms, and all wait for it."""

Transition = Callable[['PlannerNode', LifecycleState], None]
Step = Callable[['PlannerNode', LifecycleState], TransitionCallbackReturn]


def told(done: str) -> Callable[[Transition], Step]:
    """A transition that logs how it went: rclpy would swallow an exception, and its cause with it."""

    def decorate(transition: Transition) -> Step:
        @functools.wraps(transition)
        def step(node: PlannerNode, state: LifecycleState) -> TransitionCallbackReturn:
            name = transition.__name__.removeprefix('on_')
            try:
                transition(node, state)
            except Missing as error:
                node.get_logger().error(f'{name} failed: {error}')
                return TransitionCallbackReturn.FAILURE
            except Exception:
                node.get_logger().error(f'{name} failed: {traceback.format_exc()}')
                return TransitionCallbackReturn.ERROR
            node.get_logger().info(done)
            return TransitionCallbackReturn.SUCCESS

        return step

    return decorate


class PlannerNode(LifecycleNode):
    """Raises parameters.BadParameters if it is given values that it cannot start with."""

    def __init__(self, **options: Any) -> None:
        super().__init__('tb_planner', **options)
        self._outputs: Publishers | None = None
        self._nav2: Nav2Planner | None = None
        self._session: Session | None = None
        self._served: list[Any] = []
        self._problems = ThrottledLog(self.get_logger())
        self.chosen = parameters.declare(self, PlannerParameters)
        parameters.apply_changes(self, PlannerParameters, self._apply, self._refuse)
        self.add_post_set_parameters_callback(self._clock_changed)
        self._refuse_impossible_transitions()
        if not COMPILED:
            self.get_logger().warning(NOT_COMPILED)

    # -------------------------------------------------------------------------------------------------- lifecycle
    @told('configured')
    def on_configure(self, state: LifecycleState) -> None:
        if self.chosen.pose_source == 'tf':
            require_tf()
        if self.chosen.output == 'follow_path':
            require_follow_path()
        nav2_types = require_nav2() if self.chosen.nav2 else None
        if map_update_type() is None:
            self.get_logger().info('map_msgs is not installed: map_updates are not heard, whole maps are')
        self._outputs = Publishers(self)
        self._served = [
            self.create_service(Trigger, '~/cancel', functools.partial(self._serve, Session.cancel)),
            self.create_service(Trigger, '~/reset_search', functools.partial(self._serve, Session.reset_search)),
        ]
        if nav2_types is not None:
            self._nav2 = Nav2Planner(self, nav2_types, self.chosen)
        super().on_configure(state)

    @told('active')
    def on_activate(self, state: LifecycleState) -> None:
        assert self._outputs is not None
        super().on_activate(state)
        self._session = Session(self, self.chosen, self._outputs, self._problems, self._nav2)

    @told('inactive; goal and map are dropped')
    def on_deactivate(self, state: LifecycleState) -> None:
        self._end_session()
        super().on_deactivate(state)

    @told('cleaned up')
    def on_cleanup(self, state: LifecycleState) -> None:
        self.release()

    @told('shut down')
    def on_shutdown(self, state: LifecycleState) -> None:
        self.release()

    @told('released everything after an error; the node may be configured again')
    def on_error(self, state: LifecycleState) -> None:
        self.release()

    def release(self) -> None:
        """Takes down whatever there is; also at the end of the process, in any state."""
        self._end_session()
        for service in self._served:
            self.destroy_service(service)
        self._served.clear()
        if self._nav2 is not None:
            nav2, self._nav2 = self._nav2, None
            nav2.close()
        if self._outputs is not None:
            outputs, self._outputs = self._outputs, None
            outputs.close()

    def _end_session(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            session.close()
            del session
            gc.collect()  # it refers to itself, and its grids may be hundreds of megabytes

    def _refuse_impossible_transitions(self) -> None:
        """rclpy would let a request that does not fit the state end the process."""
        service = self._service_change_state
        change_state = service.callback

        def guarded(request: Any, response: Any) -> Any:
            try:
                return change_state(request, response)
            except Exception as error:
                asked = request.transition.label or request.transition.id
                self.get_logger().warning(f'transition {asked} refused: {error}')
                response.success = False
                return response

        service.callback = guarded

    # -------------------------------------------------------------------------------------------------- requests
    def _apply(self, changed: PlannerParameters) -> None:
        self.chosen = changed
        try:
            if self._session is not None:
                self._session.change(changed)
        except Exception:  # the node goes on
            self._problems.error('parameters', f'parameters not applied: {traceback.format_exc()}')

    def _refuse(self, wanted: PlannerParameters) -> str:
        return self._session.refuse(wanted) if self._session is not None else ''

    def _clock_changed(self, changed: list[Parameter]) -> None:
        if self._session is not None and any(item.name == 'use_sim_time' for item in changed):
            self._session.change_clock()

    def _serve(
        self, request: Callable[[Session], tuple[bool, str]], _: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        if self._session is None:
            response.success, response.message = False, f'{self.get_name()} is not active'
            return response
        try:
            response.success, response.message = request(self._session)
        except Exception as error:  # the node goes on
            self._problems.error('request', f'request failed: {traceback.format_exc()}')
            response.success, response.message = False, f'failed: {error!r}'
        return response


def main(args: list[str] | None = None) -> int:
    """Runs the node until it is told to end; 0 then, 1 if it cannot start."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(*gc.get_threshold()[:2], FULL_COLLECTION)
    shutdown_requested = signals.init(args)
    try:
        node = PlannerNode()
        gc.freeze()  # what is there by now stays; to look through it for garbage again and again takes 10 ms of a tick
        try:
            if node.chosen.autostart_node and node.trigger_configure() == TransitionCallbackReturn.SUCCESS:
                node.trigger_activate()
            signals.spin(node, shutdown_requested)
        finally:
            node.release()
            node.destroy_node()
    except parameters.BadParameters as error:
        for reason in str(error).splitlines():
            rclpy.logging.get_logger('tb_planner').fatal(reason)
        return 1
    finally:
        rclpy.try_shutdown()
    return 0


if __name__ == '__main__':
    sys.exit(main())
