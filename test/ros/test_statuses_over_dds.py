"""Every status, and what is published in it; and what requests do while the robot navigates."""

import math

from helpers.scenes import World, place_of
from helpers.surroundings import PlannerPeer, pose_stamped
from std_srvs.srv import Trigger

GROUND = World("""
    ##########
    #...######
    #.a.##.###
    #...##d###
    #...######
    #.......b#
    #.c......#
    ##########
""")
"""No path leads to d, and all around (7, 5) m is wall."""
INSIDE_WALL, OUTSIDE = (7.2, 4.8), (20.0, 2.0)


def test_each_status_has_its_waypoints_and_its_plan(nodes, peer):
    nodes.planner(tick_frequency=40.0, robot_radius_m=0.2, inflation_radius_m=0.3, start_tolerance_m=0.3)
    around = PlannerPeer(peer)
    around.pose = None
    around.wait_for_status('IDLE')
    around.check_that_no_waypoints_come()

    around.publish_goal(*GROUND.places['b'])
    around.wait_for_status('WAITING_FOR_MAP')
    around.check_that_no_waypoints_come()

    around.maps.publish(GROUND.message())
    around.wait_for_status('WAITING_FOR_POSE')
    around.check_that_no_waypoints_come()
    assert not around.plans

    for pose, status in ((OUTSIDE, 'START_OUTSIDE_MAP'), (INSIDE_WALL, 'START_BLOCKED')):
        around.pose = pose_stamped(*pose)
        around.wait_for_status(status)
        check_that_robot_is_to_stay(around)

    around.pose = pose_stamped(*GROUND.places['a'])
    around.wait_for_status('NAVIGATING')
    for goal, status in ((OUTSIDE, 'GOAL_OUTSIDE_MAP'), (INSIDE_WALL, 'GOAL_BLOCKED'), (GROUND.places['d'], 'NO_PATH')):
        around.publish_goal(*goal)
        around.wait_for_status(status)
        check_that_robot_is_to_stay(around)

    around.publish_goal(*GROUND.places['b'])
    around.wait_for_status('NAVIGATING')
    around.wait_for_waypoints(5)
    ahead = place_of(around.waypoints.last)
    assert 0.5 < math.dist(ahead, GROUND.places['a']) < 1.2
    assert math.dist(place_of(around.plans.last.poses[-1]), GROUND.places['b']) < 0.01

    around.pose = None
    around.wait_for_status('POSE_LOST')
    around.check_that_no_waypoints_come()
    assert around.plans.last.poses
    around.pose = pose_stamped(*GROUND.places['a'])
    around.wait_for_status('NAVIGATING')

    assert around.set_parameters(map_timeout_s=0.2) == ''
    around.wait_for_status('MAP_LOST')
    around.wait_for_waypoints(5)
    assert place_of(around.waypoints.last) == ahead, 'it was in sight on the last map'
    assert around.plans.last.poses
    assert around.set_parameters(map_timeout_s=0.0) == ''
    around.wait_for_status('NAVIGATING')

    around.waypoints.clear()
    assert peer.call('tb_planner/cancel', Trigger).success
    around.wait_for_status('CANCELED')
    around.check_that_no_waypoints_come()
    stay = [waypoint for waypoint in around.waypoints if place_of(waypoint) != ahead]
    assert [place_of(waypoint) for waypoint in stay] == [GROUND.places['a']]
    assert around.plans.last.poses == []
    assert not peer.call('tb_planner/reset_search', Trigger).success

    x, y = GROUND.places['b']
    around.move_to(x - 0.1, y)  # the planner receives this before it receives the goal
    around.waypoints.clear()
    around.publish_goal(x, y)
    around.wait_for_status('ARRIVED')
    around.check_that_no_waypoints_come()
    assert [place_of(waypoint) for waypoint in around.waypoints] == [(x, y)]
    assert around.plans.last.poses == []


def check_that_robot_is_to_stay(around):
    """Every tick a waypoint where it is, and no plan."""
    around.wait_for_waypoints(2)
    around.wait_for_waypoints(10)
    assert {place_of(waypoint) for waypoint in around.waypoints[-10:]} == {place_of(around.pose)}
    assert not around.plans or around.plans.last.poses == []


def test_the_plan_is_published_only_when_it_changes(make_scene):
    """On an unchanging map the plan comes once for a search of one tick, and once more, empty, on arrival."""
    scene = make_scene(GROUND)
    scene.start_planner(search_time_s=0.02)
    scene.start_simulator()
    scene.drive('b')
    scene.peer.wait_until(lambda: scene.plans.last.poses == [], 'an empty plan')
    whole = [plan for plan in scene.plans if plan.poses and is_whole(plan, 'b')]
    assert len(whole) == 1
    assert len(scene.plans) <= 4, 'a search of a tick or two'
    assert len(scene.waypoints) > 40


def is_whole(plan, place):
    return math.dist(place_of(plan.poses[-1]), GROUND.places[place]) < 0.01


def test_requests_while_the_robot_navigates_take_effect_at_once(make_scene):
    """Requests to restart the search, to go elsewhere, to stop, and to go on."""
    scene = make_scene(GROUND)
    scene.start_planner()
    scene.start_simulator(real_time_factor=2.0)
    scene.give_goal('b')
    scene.wait_until_it_drives()

    assert scene.peer.call('tb_planner/reset_search', Trigger).success
    scene.wait_for_fact('restarts_requested', lambda value: value == '1')
    scene.wait_for_waypoints(5)
    assert scene.plans.last.poses, 'it goes on'

    scene.give_goal('c')
    scene.peer.wait_until(lambda: scene.plans and scene.plans.last.poses and is_whole(scene.plans.last, 'c'), 'a plan')
    assert 'ARRIVED' not in [status.data for status in scene.statuses]
    scene.wait_until_it_drives()

    assert scene.peer.call('tb_planner/cancel', Trigger).success
    scene.wait_for_status('CANCELED')
    scene.wait_until_it_stops()
    assert scene.distance_to('c') > 0.5
    where = scene.place
    scene.check_that_no_waypoints_come()
    assert math.dist(scene.place, where) < 0.01

    scene.drive('c')
    scene.drive('a')
