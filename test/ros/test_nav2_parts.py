"""Parts of what serves Nav2, one by one: shares of a tick, messages of Jazzy and later, the poses of a path."""

import logging
import math
import threading
import time
from dataclasses import dataclass, field
from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
from helpers.processes import LIMIT_S
from helpers.surroundings import pose_stamped
from nav_msgs.msg import Path
from rclpy.lifecycle import LifecycleNode
from std_msgs.msg import Header
from test_planner_parts import Pace, long_search

from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.loop import TickContext
from tb_planner.navigation.route import PathNotChecked, Route, invalid_points
from tb_planner.ros.nav2_planner import corners_of, occupancy_of, part_ahead, yaws_of
from tb_planner.ros.path_actions import (
    POSES_AT_ONCE,
    ActionThread,
    ComputePathHandler,
    PathMessage,
    directions,
    duration_of,
    goals_of,
    result_of,
)
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.search.grid import Grid
from tb_planner.search.planner import MIN_CHUNK, TickBudget


# ------------------------------------------------------------------------------------------------------ the budget
def test_two_searches_get_half_of_the_expansions_each():
    one, other = long_search(), long_search()
    budget = TickBudget(perf_counter, expansions_per_tick=1000)
    budget.begin_tick(2)
    budget.search_for(one)
    budget.search_for(other)
    assert (one.expansions, other.expansions) == (500, 500)


def test_expansions_that_the_first_search_does_not_need_go_to_the_other():
    done, other = long_search(), long_search()
    while not done.goal_found:
        done.search(10**6)
    before = done.expansions
    budget = TickBudget(perf_counter, expansions_per_tick=1000)
    budget.begin_tick(2)
    budget.search_for(done)
    budget.search_for(other)
    assert (done.expansions - before, other.expansions) == (0, 1000)


def test_a_search_that_comes_when_the_budget_is_spent_still_advances():
    first, last = long_search(), long_search()
    budget = TickBudget(perf_counter, expansions_per_tick=100)
    budget.search_for(first)
    budget.search_for(last)
    assert (first.expansions, last.expansions) == (100, 1)


class Both:
    """The expansions of two planners together, for a clock that advances with them."""

    def __init__(self, *planners):
        self._planners = planners

    @property
    def expansions(self):
        return sum(planner.expansions for planner in self._planners)


def test_two_searches_share_the_time_of_a_tick():
    one, other = long_search(), long_search()
    clock = Pace(Both(one, other), 1e6)
    budget = TickBudget(clock, search_time_s=0.01)
    for planner in (one, other):  # it learns the pace
        budget.begin_tick()
        budget.search_for(planner)
    before_s, *before = clock(), one.expansions, other.expansions
    budget.begin_tick(2)
    budget.search_for(one)
    budget.search_for(other)
    assert clock() - before_s == pytest.approx(0.01, rel=0.15)
    assert one.expansions - before[0] == pytest.approx(5000, rel=0.15)
    assert other.expansions - before[1] == pytest.approx(5000, rel=0.15)
    begun = one.expansions
    budget.search_for(one)
    assert one.expansions - begun <= MIN_CHUNK + 1000, 'all is spent'


# ------------------------------------------------------------------------------------------------------ the thread
@pytest.fixture
def somebody():
    """A node that nobody serves."""
    context = rclpy.Context()
    context.init()
    node = LifecycleNode('somebody', context=context)
    yield node
    node.destroy_node()
    context.shutdown()


@pytest.fixture
def actions(somebody):
    thread = ActionThread(somebody, ThrottledLog(somebody.get_logger()))
    thread.start()
    yield thread
    thread.close()


def test_tasks_are_done_in_order_by_another_thread(actions):
    done, ready = [], threading.Event()
    for i in range(100):
        actions.do(lambda i=i: done.append((i, threading.current_thread().name)))
    actions.do(ready.set)
    assert ready.wait(LIMIT_S)
    assert done == [(i, 'actions') for i in range(100)]


def test_the_thread_outlives_mistakes_in_tasks_and_callbacks(actions):
    ready = threading.Event()
    actions.do(lambda: 1 / 0)
    actions.node.create_timer(0.01, lambda: 1 / 0)  # as rclpy's own callbacks may fail
    time.sleep(0.1)
    actions.do(ready.set)
    assert ready.wait(LIMIT_S)


def test_waiting_tasks_are_done_before_the_thread_ends(somebody):
    thread = ActionThread(somebody, ThrottledLog(somebody.get_logger()))
    thread.start()
    done = []
    for i in range(100):
        thread.do(lambda i=i: thread.do(lambda: done.append(i)))
    thread.close()
    assert done == list(range(100))


# ------------------------------------------------------------------------------------------------------ requests
class OneRequest:
    """A server with a request of some age."""

    def __init__(self, age_s):
        self.request, self.ends = SimpleNamespace(age_s=age_s), []

    def current(self):
        return self.request

    def fail(self, request, error, text):
        self.ends.append(error)
        return True


NOBODY = SimpleNamespace(has_stopped=False, paths_begun=0)
"""A controller that is not known."""


def handler_of(server, parameters=None):
    log = ThrottledLog(logging.getLogger())
    chosen = parameters or PlannerParameters()
    return ComputePathHandler(server, NOBODY, lambda: chosen, None, log, lambda *_: None, Time)


def test_a_request_that_is_late_is_left_to_the_next_tick_unless_there_is_none():
    """The next tick may return an older path; the check of requests every second must not come before it."""
    for tick_frequency, age_s, ends in ((20.0, 1.9, []), (20.0, 2.9, []), (20.0, 3.2, ['TIMEOUT']), (0.2, 12.9, [])):
        parameters = PlannerParameters(max_planning_time_s=2.0, tick_frequency=tick_frequency)
        server = OneRequest(age_s)
        handler_of(server, parameters).expire()
        assert server.ends == ends


def test_an_error_is_reported_to_the_request_that_caused_it():
    """This holds even if another request is pending meanwhile."""
    server, failures = OneRequest(0.1), []
    first, second = server.request, SimpleNamespace(age_s=0.0)
    first.message = SimpleNamespace(planner_id='', goal=pose_stamped(1.0, 0.0))
    requests = iter((first, second))
    server.current = lambda: next(requests)
    server.fail = lambda request, error, text: failures.append((request, error))
    update = MapUpdate(MapGeometry(30, 20, 0.1), Grid(np.zeros((20, 30), bool)), None)
    context = TickContext(0.0, 'map', None, update, None, False, 1)
    handler_of(server).tick(context, TickBudget())  # without a source of poses
    assert failures == [(first, 'UNKNOWN')]


# ------------------------------------------------------------------------------------------------------ messages
@dataclass
class LaterGoals:
    """nav_msgs/Goals, which Jazzy does not have."""

    header: Header = field(default_factory=Header)
    goals: list[PoseStamped] = field(default_factory=list)


class LaterAction:
    class Result:
        NONE, TIMEOUT = 0, 207

        def __init__(self):
            self.error_code, self.path, self.planning_time = 0, Path(), None


def places(poses):
    return [(pose.header.frame_id, pose.pose.position.x) for pose in poses]


def test_goals_are_found_in_the_messages_of_jazzy_and_later():
    one, two = pose_stamped(1.0, 0.0), pose_stamped(2.0, 0.0, '')
    assert places(goals_of(SimpleNamespace(goal=one))) == [('map', 1.0)]
    assert places(goals_of(SimpleNamespace(goal=one, viapoints=[two]))) == [('', 2.0), ('map', 1.0)]
    assert places(goals_of(SimpleNamespace(goals=[one, two]))) == [('map', 1.0), ('', 2.0)]
    later = LaterGoals(Header(frame_id='odom'), [one, two])
    assert places(goals_of(SimpleNamespace(goals=later))) == [('map', 1.0), ('odom', 2.0)]
    assert goals_of(SimpleNamespace(goals=LaterGoals())) == goals_of(SimpleNamespace(goals=[])) == []


def test_a_result_has_the_error_message_if_it_has_a_field_for_it():
    nav2 = pytest.importorskip('nav2_msgs.action', reason='nav2_msgs is not installed')
    result = result_of(nav2.ComputePathToPose, 'TIMEOUT', 'too late', None, 1.25)
    assert (result.error_code, result.error_msg, result.path.poses) == (207, 'too late', [])
    assert (result.planning_time.sec, result.planning_time.nanosec) == (1, 250_000_000)
    assert result_of(LaterAction, 'TIMEOUT', 'too late', None, 0.0).error_code == 207


@pytest.mark.parametrize('time_s', [0.0, 0.9999999999, 1.0, 3.5])
def test_a_duration_has_less_than_a_second_of_nanoseconds(time_s):
    duration = duration_of(time_s)
    assert 0 <= duration.nanosec < 10**9
    assert duration.sec + duration.nanosec * 1e-9 == pytest.approx(time_s, abs=1e-9)


def route(points_m, ends=None):
    return Route.from_points(np.array(points_m), MapGeometry(100, 100, 0.1), ends)


def test_poses_face_along_the_path_and_at_goals_as_requested():
    path = route([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], (1, 3))
    east, north, west = 0.0, math.pi / 2, math.pi
    assert directions(path, (1.0, 2.0), 9.0) == pytest.approx([east, 1.0, west, 2.0])
    assert directions(path, (None, None), 9.0) == pytest.approx([east, east, west, west])
    assert north not in directions(path, (None, None), 9.0), 'at a goal it looks as it has come'
    single = route([(0.0, 0.0)])
    assert directions(single, (2.0,), 1.0) == [2.0]
    assert directions(single, (None,), 1.0) == [1.0]


def test_a_path_message_is_made_once():
    path_message = PathMessage(route([(0.0, 0.0), (1.0, 2.0)]), (0.5,), 0.0, 'map', Time(sec=7))
    assert path_message.message is path_message.message
    assert [pose.pose.position.y for pose in path_message.message.poses] == [0.0, 2.0]
    assert (path_message.message.header.frame_id, path_message.message.header.stamp.sec) == ('map', 7)


def test_a_long_path_message_is_made_piece_by_piece_and_is_the_same():
    points_m = np.column_stack((np.arange(3 * POSES_AT_ONCE + 1) * 0.05, np.zeros(3 * POSES_AT_ONCE + 1)))
    path = route(points_m)
    path_message, at_once = (PathMessage(path, (0.5,), 0.0, 'map', Time(sec=7)) for _ in range(2))
    assert [path_message.go_on() for _ in range(5)] == [False, False, False, True, True]
    assert path_message.message == at_once.message
    assert [pose.pose.position.x for pose in path_message.message.poses] == points_m[:, 0].tolist()


def test_the_poses_of_a_path_are_of_no_time_since_it_may_be_followed_for_long():
    """With a stamp, Nav2's goal checker would use the localisation of that time for the goal."""
    path_message = PathMessage(route([(0.0, 0.0), (1.0, 2.0)]), (0.5,), 0.0, 'map', Time(sec=7))
    assert [(pose.header.frame_id, pose.header.stamp) for pose in path_message.message.poses] == [('map', Time())] * 2


# ------------------------------------------------------------------------------------------------------ is_path_valid
def test_points_that_are_blocked_or_off_the_map_are_found_wherever_the_map_lies():
    blocked = np.zeros((20, 30), bool)
    blocked[10, 15] = True
    geometry = MapGeometry(30, 20, 0.1, (1.0, -2.0, 0.0))
    points_m = np.array([(1.05, -1.95), (2.55, -0.95), (3.95, -0.05), (4.05, -0.05), (math.nan, 0.0), (0.95, -1.0)])
    assert invalid_points(points_m, geometry, Grid(blocked)).tolist() == [1, 3, 4, 5]


def test_a_path_is_checked_from_the_robot_on_and_as_far_as_the_lookahead_reaches():
    points_m = np.array([(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (3.0, 1.0)])
    robot = Pose2D(1.1, 0.3)
    assert part_ahead(points_m, None) == slice(0, 5)
    assert part_ahead(points_m, robot) == slice(1, 5)
    assert part_ahead(points_m, robot, 0.5) == slice(1, 2)
    assert part_ahead(points_m, robot, 2.0) == slice(1, 4)
    assert part_ahead(points_m, robot, 9.0) == part_ahead(points_m, robot, math.nan) == slice(1, 5)
    points_m[2] = math.nan
    assert part_ahead(points_m, robot, 0.5) == slice(1, 5), 'a point that is no place is not skipped'


def test_costs_of_a_costmap_become_the_occupancy_that_nav2_publishes_for_them():
    """nav2_costmap_2d: 0 is 0, 1 to 252 are 1 to 98, 253 is 99, 254 is 100."""
    published = [0, *(1 + 97 * (cost - 1) // 251 for cost in range(1, 253)), 99, 100]
    for max_cost in range(1, 255):
        assert occupancy_of(max_cost) == min(published[max_cost:]), max_cost
    assert (occupancy_of(1), occupancy_of(252), occupancy_of(253), occupancy_of(254)) == (1, 98, 99, 100)
    assert (occupancy_of(0), occupancy_of(255)) == (-1, 100), 'every cell has a cost of 0 or more; an obstacle counts'


def test_the_yaws_of_a_path_are_those_of_its_quaternions():
    path = Path(poses=[pose_stamped(0.0, 0.0) for _ in range(3)])
    for pose, yaw in zip(path.poses, (0.5, -3.0, 2.0)):
        pose.pose.orientation.z, pose.pose.orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    assert yaws_of(path).tolist() == pytest.approx([0.5, -3.0, 2.0])


def test_a_footprint_is_a_list_of_corners():
    assert corners_of('[[0.3, .2], [0.3, -2e-1], [-1, 0.]]').tolist() == [[0.3, 0.2], [0.3, -0.2], [-1.0, 0.0]]


@pytest.mark.parametrize(
    'text',
    [
        *('robot', '[[0, 0], [1, 1]]', '[[0, 0], [1], [2, 2]]', '[[0, 0], [1, 1e999], [2, 2]]', '[0, 1, 2]'),
        *('[' * 5000, f'[{"[0.1, 0.2], " * 1000}]'),
    ],
)
def test_a_footprint_that_is_no_polygon_is_refused(text):
    with pytest.raises(PathNotChecked, match=r'footprint is .* it must be at least 3 pairs of numbers'):
        corners_of(text)
