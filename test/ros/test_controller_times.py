"""How long a controller is waited for: the client of follow_path alone, over DDS, with a clock that the test sets."""

import logging
import time
from contextlib import contextmanager

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from helpers.controller_server import ControllerServer, FollowPath
from helpers.peer import LATCHED, BackgroundPeer
from helpers.processes import LIMIT_S
from helpers.surroundings import open_terrain, pose_stamped
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode
from rclpy.task import Future

from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.loop import TickResult
from tb_planner.navigation.navigator import Navigator
from tb_planner.ros import follow_path
from tb_planner.ros.follow_path import (
    CANCEL_TRIES,
    FEEDBACK_TIMEOUT_S,
    MAX_RETRY_S,
    RESPONSE_TIMEOUT_S,
    RETRY_S,
    PathFollower,
)
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.search.grid import Grid

GOAL = Pose2D(8.0, 5.0)
A_MOMENT_S = 0.3
"""Time in which messages come and go."""


class Planner:
    """Drives a controller, tick by tick; `now_s` is the time."""

    def __init__(self, node):
        self.now_s = 100.0
        self.arrived = []
        self.robot = Pose2D(2.0, 5.0)
        parameters = PlannerParameters(output='follow_path', robot_radius_m=0.0, inflation_radius_m=0.0)
        self.problems = ThrottledLog(logging.getLogger(), lambda: self.now_s)
        self.controller = PathFollower(node, lambda: parameters, self.problems, self.arrived.append, lambda: self.now_s)
        self.navigator = Navigator(parameters.settings())
        self.navigator.new_goal(GOAL)
        self._update = MapUpdate(MapGeometry(100, 100, 0.1), Grid(open_terrain() > 0), None)

    def tick(self):
        tick = self.navigator.tick(self._update, self.robot, lambda planner: planner.search(10_000))
        self._update = None
        self.controller.tick(self.navigator, TickResult('map', tick, None, None, self.robot, None, None, 0))
        time.sleep(0.005)

    def tick_until(self, condition, what):
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < deadline, f'not within {LIMIT_S} s: {what}'
            self.tick()

    def tick_on(self):
        deadline = time.monotonic() + A_MOMENT_S
        while time.monotonic() < deadline:
            self.tick()


@pytest.fixture
def server(ros_environment):
    """The robot does not move."""
    one = ControllerServer(pose_stamped(2.0, 5.0), speed=0.0).start()
    yield one
    one.close()


class ScriptedServer(BackgroundPeer):
    """An action server that follows nothing, and responds when the test makes it respond."""

    def __init__(self):
        super().__init__('scripted_server')
        self.asked = []
        """The pending responses to goals."""
        self.paths = []
        """The paths of the goals."""
        self.canceled = []
        """The pending responses to cancel requests."""
        self.ids, self.canceled_ids = [], []
        """The ids of the goals, and of the goals to cancel."""
        self._results = []
        parts, name, at_once = FollowPath.Impl, 'follow_path/_action', ReentrantCallbackGroup()
        self.node.create_publisher(parts.FeedbackMessage, f'{name}/feedback', 10)
        self.node.create_publisher(parts.GoalStatusMessage, f'{name}/status', LATCHED)
        self.node.create_service(parts.SendGoalService, f'{name}/send_goal', self._take, callback_group=at_once)
        self.node.create_service(parts.CancelGoalService, f'{name}/cancel_goal', self._cancel, callback_group=at_once)
        self.node.create_service(parts.GetResultService, f'{name}/get_result', self._get_result, callback_group=at_once)

    def accept(self):
        self.asked[-1].set_result(FollowPath.Impl.SendGoalService.Response(accepted=True))

    def respond_to_cancel(self, code, number=-1):
        self.canceled[number].set_result(CancelGoal.Response(return_code=code))

    def end(self, status):
        self._results[-1].set_result(FollowPath.Impl.GetResultService.Response(status=status))

    async def _take(self, request, _):
        self.paths.append(request.goal.path)
        self.ids.append(bytes(request.goal_id.uuid))
        return await self._pending_response(self.asked)

    async def _cancel(self, request, _):
        self.canceled_ids.append(bytes(request.goal_info.goal_id.uuid))
        return await self._pending_response(self.canceled)

    async def _get_result(self, _, __):
        return await self._pending_response(self._results)

    def _pending_response(self, waited_for):
        waited_for.append(Future(executor=self._executor))
        return waited_for[-1]


@contextmanager
def planner_node():
    context = rclpy.Context()
    context.init()
    node = LifecycleNode('planner', context=context)
    one = Planner(node)
    yield one
    one.controller.close()
    node.destroy_node()
    context.try_shutdown()


@pytest.fixture
def planner(server):
    with planner_node() as one:
        yield one


@pytest.fixture
def scripted(ros_environment, monkeypatch):
    """A planner and a server, which know each other."""
    monkeypatch.setattr(follow_path, 'PARTING_S', 0.0)
    server = ScriptedServer().start()
    with planner_node() as one:
        yield one, server
    server.close()


def asked(planner, server, count):
    planner.tick_until(lambda: len(server.asked) == count, f'path {count} is sent')
    planner.tick_on()
    assert len(server.asked) == count


def canceled(planner, server, count):
    planner.tick_until(lambda: len(server.canceled) == count, f'cancel {count} is asked for')


def wait_in_vain(planner, server):
    """Waits in vain for the response to a path."""
    asked(planner, server, 1)
    planner.now_s += RESPONSE_TIMEOUT_S + 0.01
    planner.tick()
    assert planner.problems.last == 'the path is without a response for 2 s; it is sent again in 1 s'
    canceled(planner, server, 1)


def test_a_path_that_is_accepted_late_has_ended_before_the_next_one_is_sent(scripted):
    """Two goals at once would be ended together, or both be followed."""
    planner, server = scripted
    wait_in_vain(planner, server)
    planner.now_s += RETRY_S + 0.01
    canceled(planner, server, 2)  # once more, since it has no response
    server.accept()
    canceled(planner, server, 3)  # and since it is accepted
    for number in range(2):
        server.respond_to_cancel(CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID, number)
    server.respond_to_cancel(CancelGoal.Response.ERROR_NONE)
    asked(planner, server, 1)
    server.end(GoalStatus.STATUS_CANCELED)
    asked(planner, server, 2)


def test_a_path_that_the_server_does_not_know_even_later_is_lost_and_sent_again(scripted):
    planner, server = scripted
    wait_in_vain(planner, server)
    server.respond_to_cancel(CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID)
    planner.tick_on()
    planner.now_s += RETRY_S + 0.01
    canceled(planner, server, 2)
    asked(planner, server, 1)
    server.respond_to_cancel(CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID)
    asked(planner, server, 2)
    assert planner.controller.failures == 1


def test_a_path_whose_goal_response_is_lost_is_canceled(scripted):
    planner, server = scripted
    wait_in_vain(planner, server)
    server.respond_to_cancel(CancelGoal.Response.ERROR_NONE)
    planner.tick_on()
    planner.now_s += RETRY_S + 0.01
    canceled(planner, server, 2)
    asked(planner, server, 1)
    server.respond_to_cancel(CancelGoal.Response.ERROR_GOAL_TERMINATED)
    asked(planner, server, 2)
    assert planner.problems.last.startswith('the path is without a response')


def test_a_path_that_is_accepted_when_nobody_waits_for_it_any_more_is_canceled_until_it_stops(scripted):
    planner, server = scripted
    wait_in_vain(planner, server)
    planner.navigator.cancel()
    for count in range(2, CANCEL_TRIES + 1):
        planner.now_s += RETRY_S + 0.01
        canceled(planner, server, count)
    planner.now_s += RETRY_S + 0.01
    planner.tick()
    assert planner.problems.last.startswith('follow_path has not confirmed that the robot stops')
    server.accept()
    for count in range(CANCEL_TRIES + 1, CANCEL_TRIES + 4):
        canceled(planner, server, count)
        server.respond_to_cancel(CancelGoal.Response.ERROR_REJECTED)
        planner.tick_on()
        planner.now_s += RETRY_S + 0.01
    canceled(planner, server, CANCEL_TRIES + 4)
    server.end(GoalStatus.STATUS_CANCELED)
    planner.tick_on()
    planner.now_s += RETRY_S + 0.01
    planner.tick_on()
    assert len(server.canceled) == CANCEL_TRIES + 4
    assert len(server.asked) == 1


def test_a_server_that_did_not_know_a_path_before_it_took_it_is_still_to_leave_it(scripted):
    """The cancel request arrived before the path, and its response comes after that to the path."""
    planner, server = scripted
    asked(planner, server, 1)
    planner.navigator.cancel()
    canceled(planner, server, 1)
    server.accept()
    canceled(planner, server, 2)
    planner.navigator.new_goal(Pose2D(8.0, 2.0))
    server.respond_to_cancel(CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID, 0)
    asked(planner, server, 1)
    server.respond_to_cancel(CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID, 1)
    asked(planner, server, 2)


def replaced(planner, server):
    """One path is followed, and another one has been sent."""
    asked(planner, server, 1)
    server.accept()
    planner.tick_until(lambda: planner.controller.diagnostics()['controller_follows'], 'the path is accepted')
    planner.navigator.new_goal(Pose2D(8.0, 2.0))
    asked(planner, server, 2)


def test_the_older_path_is_canceled_while_a_newer_one_awaits_its_response(scripted):
    planner, server = scripted
    replaced(planner, server)
    planner.navigator.cancel()
    canceled(planner, server, 2)
    assert sorted(server.canceled_ids) == sorted(server.ids)


def test_the_older_path_is_canceled_if_a_newer_one_is_lost(scripted):
    planner, server = scripted
    replaced(planner, server)
    planner.now_s += RESPONSE_TIMEOUT_S + 0.01
    canceled(planner, server, 2)
    assert sorted(server.canceled_ids) == sorted(server.ids)


def test_a_server_that_was_out_of_sight_for_a_moment_may_be_following_still(scripted, monkeypatch):
    planner, server = scripted
    asked(planner, server, 1)
    server.accept()
    planner.tick_until(lambda: planner.controller.diagnostics()['controller_follows'], 'the path is accepted')
    with monkeypatch.context() as blind:
        blind.setattr(planner.controller._client, 'server_is_ready', lambda: False)
        planner.tick()
    assert planner.problems.last.startswith('the path is lost: nobody serves')
    planner.navigator.cancel()
    canceled(planner, server, 1)
    assert server.canceled_ids == server.ids


def test_a_controller_that_has_given_up_gets_the_path_from_where_the_robot_is(scripted):
    """A controller looks for the robot on the first metres of a new path."""
    planner, server = scripted
    asked(planner, server, 1)
    server.accept()
    planner.tick_until(lambda: planner.controller.diagnostics()['controller_follows'], 'the path is accepted')
    along_the_path = server.paths[0].poses[20].pose.position
    planner.robot = Pose2D(along_the_path.x, along_the_path.y)
    planner.tick_on()
    server.end(GoalStatus.STATUS_ABORTED)
    planner.tick_until(lambda: planner.controller.failures, 'the failure is reported')
    assert len(server.asked) == 1
    planner.now_s += RETRY_S + 0.01
    asked(planner, server, 2)
    starts = [path.poses[0].pose.position for path in server.paths]
    assert (starts[0].x, starts[0].y) == pytest.approx((2.0, 5.0), abs=0.06)
    assert (starts[1].x, starts[1].y) == pytest.approx((planner.robot.x_m, planner.robot.y_m), abs=0.06)


def follow(planner, server):
    planner.tick_until(lambda: server.is_following, 'the path is followed')
    planner.tick_until(lambda: planner.controller.diagnostics()['controller_follows'], 'the path is accepted')
    planner.tick_on()


def test_a_refused_path_is_sent_again_after_ever_longer_pauses(planner, server):
    server.active = False
    planner.tick_until(lambda: planner.controller.failures == 1, 'the path is refused')
    for number, pause_s in enumerate((RETRY_S, 2 * RETRY_S, 4 * RETRY_S, MAX_RETRY_S, MAX_RETRY_S), start=1):
        assert planner.problems.last.endswith(f'it is sent again in {pause_s:g} s')
        planner.now_s += pause_s - 0.01
        planner.tick_on()
        assert len(server.paths) == number
        planner.now_s += 0.02
        planner.tick_until(lambda number=number: planner.controller.failures > number, 'it is refused again')
    server.active = True
    planner.now_s += MAX_RETRY_S
    follow(planner, server)
    assert len(server.paths) == 7


def test_if_a_newer_path_is_refused_the_older_one_is_followed_no_more(planner, server):
    follow(planner, server)
    server.active = False
    planner.navigator.new_goal(Pose2D(8.0, 2.0))
    planner.tick_until(lambda: planner.controller.failures, 'the newer path is refused')
    planner.tick_until(lambda: server.ends, 'the older one is ended')
    assert server.ends == ['canceled']
    assert not server.is_following


def test_a_controller_without_feedback_is_left_alone(planner, server):
    server.gives_feedback = False
    follow(planner, server)
    planner.now_s += 100 * FEEDBACK_TIMEOUT_S
    planner.tick_on()
    assert len(server.paths) == 1
    assert server.is_following


def test_a_silent_controller_is_canceled_before_it_gets_the_path_again(planner, server):
    follow(planner, server)
    server.gives_feedback = False
    planner.tick_on()
    planner.now_s += FEEDBACK_TIMEOUT_S - 0.01
    planner.tick_on()
    assert planner.controller.failures == 0
    planner.now_s += 0.02
    planner.tick()
    assert planner.problems.last == 'the path is lost: no feedback for 5 s; it is sent again in 1 s'
    planner.tick_until(lambda: server.ends, 'the path is ended')
    planner.now_s += RETRY_S + 0.01
    planner.tick_until(lambda: len(server.paths) == 2, 'it is sent again')
    assert server.ends == ['canceled']


def test_a_path_that_is_accepted_after_the_goal_was_canceled_is_canceled(planner, server):
    server.responds_after_s = 0.5
    planner.tick_until(lambda: planner.controller.paths_sent, 'the path is sent')
    planner.now_s += RESPONSE_TIMEOUT_S + 0.01
    planner.tick()
    assert planner.problems.last.startswith('the path is without a response for 2 s')
    planner.navigator.cancel()
    planner.tick_until(lambda: server.ends, 'the path is ended')
    assert server.ends == ['canceled']
    assert not server.is_following
    assert planner.controller.paths_sent == 1
