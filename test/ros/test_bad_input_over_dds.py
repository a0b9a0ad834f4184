"""Every kind of bad input, sent to a planner that runs at its rate: it logs what it got, keeps what it had, goes on."""

import math
from array import array

import numpy as np
import pytest
from helpers.peer import RELIABLE
from helpers.surroundings import PlannerPeer, map_message, open_terrain, pose_stamped

TICKS = 8
"""The number of ticks that have to follow each piece of bad input."""


@pytest.fixture(scope='module')
def running(shared_nodes, shared_peer) -> tuple:
    """One planner for all tests here, which navigates to a goal; the robot does not move and publishes its pose."""
    planner = shared_nodes.planner(autostart_node=True, robot_radius_m=0.1, inflation_radius_m=0.2)
    around = PlannerPeer(shared_peer)
    around.set_out()
    return planner, around


def spoilt_map(*, data=None, **changes):
    message = map_message(open_terrain())
    for name, value in changes.items():
        setattr(message.info, name, value)
    if data is not None:
        message.data = data
    return message


def spoilt_origin(part, **changes):
    message = map_message(open_terrain())
    for name, value in changes.items():
        setattr(getattr(message.info.origin, part), name, value)
    return message


def spoilt_pose(part='position', frame='map', **changes):
    message = pose_stamped(2.0, 5.0, frame)
    for name, value in changes.items():
        setattr(getattr(message.pose, part), name, value)
    return message


def check_that_it_goes_on(planner, around, publisher, message, *texts):
    """The planner logs it, keeps the goal, the plan and the waypoint, and goes on ticking."""
    begin, plans, statuses = len(planner.log_text), len(around.plans), len(around.statuses)
    waypoint = around.waypoints.last.pose
    publisher.publish(message)
    again = around.peer.node.create_timer(0.05, lambda: publisher.publish(message))  # best effort may lose one
    around.wait_until_logged(planner, begin, *texts)
    around.peer.node.destroy_timer(again)
    around.wait_for_waypoints(TICKS)
    assert all(message.pose == waypoint for message in around.waypoints[-TICKS:])
    assert len(around.plans) == plans
    assert len(around.statuses) == statuses
    assert around.statuses.last.data == 'NAVIGATING'
    assert planner.exit_code is None


MAPS = {
    'too few values': (spoilt_map(data=array('b', bytes(9999))), '100 x 100 cells has 9999 values; it must have 10000'),
    'too many values': (
        spoilt_map(data=array('b', bytes(10001))),
        '100 x 100 cells has 10001 values; it must have 10000',
    ),
    'no values': (spoilt_map(data=array('b')), '100 x 100 cells has 0 values'),
    'no width': (spoilt_map(width=0), '0 x 100 cells is empty'),
    'no cells at all': (map_message(np.zeros((0, 0))), '0 x 0 cells is empty'),
    'more cells than fit': (
        spoilt_map(width=2**32 - 1, height=2**32 - 1),
        'is too large; it may have at most 100000000',
    ),
    'no resolution': (spoilt_map(resolution=0.0), 'resolution of 0.0 m; it must be finite and above 0'),
    'negative resolution': (spoilt_map(resolution=-0.1), 'resolution of -0.1 m'),
    'resolution that is no number': (spoilt_map(resolution=math.nan), 'resolution of nan m'),
    'infinite resolution': (spoilt_map(resolution=math.inf), 'resolution of inf m'),
    'resolution too fine for the radii': (spoilt_map(resolution=1.5e-4), 'more than 1024 cells'),
    'resolution too fine for anything': (spoilt_map(resolution=1e-6), 'it must be between 0.0001 and 1000 m'),
    'origin that is no number': (spoilt_origin('position', x=math.nan), 'map origin is at (nan, 0, 0)'),
    'infinite origin': (spoilt_origin('position', y=-math.inf), 'map origin is at (0, -inf, 0)'),
    'origin without orientation': (spoilt_origin('orientation', w=0.0), '(0, 0, 0, 0) of length 0'),
    'orientation that is none': (spoilt_origin('orientation', z=3.0), '(0, 0, 3, 1) of length 3.16'),
    'tilted map': (spoilt_origin('orientation', x=0.6, w=0.8), 'a map is flat'),
    'value above 100': (
        spoilt_map(data=array('b', [101] + [0] * 9999)),
        '101 at (0, 0); it must be -1 (unknown) or 0 to',
    ),
    'value below -1': (spoilt_map(data=array('b', [0] * 9999 + [-128])), '-128 at (99, 99)'),
}


@pytest.mark.parametrize('what', MAPS)
def test_a_bad_map_is_refused_and_the_last_one_stays(running, what):
    planner, around = running
    message, text = MAPS[what]
    check_that_it_goes_on(planner, around, around.maps, message, text, 'the last map stays')


POSES = {
    'x is no number': (spoilt_pose(x=math.nan), 'pose is at (nan, 5, 0); coordinates must be finite'),
    'y is infinite': (spoilt_pose(y=math.inf), 'pose is at (2, inf, 0)'),
    'no orientation': (spoilt_pose('orientation', w=0.0), '(0, 0, 0, 0) of length 0; the length must be 1'),
    'orientation is no number': (spoilt_pose('orientation', w=math.nan), 'of length nan'),
    'another frame': (spoilt_pose(frame='odom'), "pose is in frame 'odom', the map in 'map'"),
}


@pytest.mark.parametrize('what', POSES)
def test_a_bad_pose_is_refused_and_the_last_good_one_stays(running, what):
    planner, around = running
    message, text = POSES[what]
    check_that_it_goes_on(planner, around, around.poses, message, text, 'the last good pose stays')


GOALS = {
    'x is no number': (spoilt_pose(x=math.nan), 'goal is at (nan, 5, 0)'),
    'y is infinite': (spoilt_pose(y=-math.inf), 'goal is at (2, -inf, 0)'),
    'no orientation': (spoilt_pose('orientation', w=0.0), 'goal has the orientation (0, 0, 0, 0) of length 0'),
    'another frame': (spoilt_pose(frame='odom'), "goal is in frame 'odom', the map in 'map'"),
}


@pytest.mark.parametrize('what', GOALS)
def test_a_bad_goal_is_refused_and_the_robot_goes_on_to_the_old_one(running, what):
    planner, around = running
    message, text = GOALS[what]
    check_that_it_goes_on(planner, around, around.goals, message, text, 'the goal (8.00, 5.00) m, 0 degrees stays')


@pytest.fixture
def patches(running):
    map_msgs = pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed: no map_updates')
    publisher = running[1].peer.publisher('map_updates', map_msgs.OccupancyGridUpdate, RELIABLE)
    yield publisher
    running[1].peer.node.destroy_publisher(publisher)


def patch_message(x, y, width, height, *, values=None, frame='map'):
    from map_msgs.msg import OccupancyGridUpdate

    count = width * height if values is None else values
    message = OccupancyGridUpdate(x=x, y=y, width=width, height=height, data=array('b', bytes(count)))
    message.header.frame_id = frame
    return message


PATCHES = {
    'beyond the right edge': ((98, 5, 5, 5), {}, 'the 100 x 100 '),
    'beyond the lower edge': ((-1, 5, 5, 5), {}, '(-1, 5)'),
    'far away': ((2**31 - 1, 0, 5, 5), {}, '2147483647'),
    'empty': ((5, 5, 0, 5), {}, '0 x 5 cells is empty'),
    'too few values': ((5, 5, 5, 5), {'values': 24}, '5 x 5 cells has 24 values; it must have 25'),
    'in another frame': ((5, 5, 5, 5), {'frame': 'odom'}, "map update is in frame 'odom'; the map is in 'map'"),
}


@pytest.mark.parametrize('what', PATCHES)
def test_a_bad_map_update_is_dropped(running, patches, what):
    planner, around = running
    place, more, text = PATCHES[what]
    check_that_it_goes_on(planner, around, patches, patch_message(*place, **more), text, 'the update is dropped')


def test_a_parameter_out_of_range_is_refused_and_the_old_one_stays(running):
    planner, around = running
    begin = len(planner.log_text)
    assert 'weight' in around.set_parameters(weight=0.5)
    assert 'inflation_radius_m is 0.2; it must be at least robot_radius_m, 0.3' in around.set_parameters(
        robot_radius_m=0.3
    )
    around.wait_until_logged(planner, begin, 'the old value stays')
    around.wait_for_waypoints(TICKS)
    assert around.statuses.last.data == 'NAVIGATING'


def test_a_parameter_that_the_map_cannot_take_is_refused(running):
    _, around = running
    assert around.set_parameters(inflation_radius_m=50.0) == ''  # 500 cells of 0.1 m
    begin = len(running[0].log_text)
    around.maps.publish(map_message(open_terrain(20), resolution=0.01))
    around.wait_until_logged(running[0], begin, 'inflation_radius_m 50.0 is more than 1024 cells of 0.01 m')
    assert around.set_parameters(inflation_radius_m=0.2) == ''
    around.wait_for_waypoints(TICKS)


def test_the_last_problem_and_the_number_of_refused_messages_are_in_the_diagnostics(running):
    _, around = running
    refused = int(around.next_facts()['refused_messages'])
    again = around.peer.node.create_timer(0.05, lambda: around.poses.publish(spoilt_pose(x=math.nan)))
    around.peer.wait_until(lambda: int(around.facts['refused_messages']) > refused, 'more refused messages')
    around.peer.node.destroy_timer(again)
    assert around.facts['last_problem'] == (
        'pose is at (nan, 5, 0); coordinates must be finite and at most 1e+07 m; the last good pose stays'
    )


def test_a_flood_of_bad_messages_is_counted_but_not_logged_one_by_one(running):
    planner, around = running
    refused, begin = int(around.next_facts()['refused_messages']), len(planner.log_text)
    for _ in range(200):
        around.poses.publish(spoilt_pose(y=math.nan))
        around.peer.spin(0.002)
    around.peer.wait_until(lambda: int(around.facts['refused_messages']) > refused + 100, 'the refused messages')
    around.wait_for_waypoints(TICKS)
    assert planner.log_text[begin:].count('pose is at (2, nan, 0)') <= 2


@pytest.mark.parametrize('topic', ['maps', 'poses', 'goals'])
def test_a_frame_of_a_million_characters_is_refused_and_fills_neither_log_nor_diagnostics(running, topic):
    planner, around = running
    begin, frame = len(planner.log_text), 1_000_000 * 'f'
    message = map_message(open_terrain()) if topic == 'maps' else pose_stamped(2.0, 5.0, frame)
    message.header.frame_id = frame
    check_that_it_goes_on(
        planner, around, getattr(around, topic), message, 'of 1000000 characters; it must have at most'
    )
    assert max(map(len, around.next_facts().values())) < 1000
    assert len(planner.log_text) - begin < 5000


def test_a_goal_outside_the_map_is_reported_and_the_next_goal_is_accepted(running):
    planner, around = running
    begin = len(planner.log_text)
    around.publish_goal(50.0, 5.0)
    around.wait_for_status('GOAL_OUTSIDE_MAP')
    around.wait_until_logged(planner, begin, '(50.00, 5.00)')
    around.wait_for_waypoints(TICKS)  # at the robot's own place
    assert around.waypoints.last.pose.position == around.pose.pose.position
    around.publish_goal(8.0, 5.0)
    around.wait_for_status('NAVIGATING')


def test_a_robot_in_an_obstacle_is_reported_and_continues_once_it_is_out(running):
    _, around = running
    before = around.pose
    wide = open_terrain()
    wide[10:30, 10:30] = 100
    around.maps.publish(map_message(wide))
    around.pose = pose_stamped(2.0, 2.0)
    around.wait_for_status('START_BLOCKED')
    around.wait_for_waypoints(TICKS)
    around.pose = before
    around.wait_for_status('NAVIGATING')
    around.maps.publish(map_message(open_terrain()))


def test_no_tick_fails_after_all_kinds_of_bad_input(running):
    planner, around = running
    facts = around.next_facts()
    assert facts['status'] == 'NAVIGATING'
    assert int(facts['ticks']) > 100
    assert 'Traceback' not in planner.log_text
