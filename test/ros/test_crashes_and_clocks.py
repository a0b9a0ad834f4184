"""Nodes that come late, crash and come again, robots that are lost and found, clocks that jump."""

import signal

import pytest
from builtin_interfaces.msg import Time
from helpers.peer import LATCHED
from helpers.scenes import World
from nav_msgs.msg import OccupancyGrid
from rosgraph_msgs.msg import Clock

ROOMS = World("""
    ############
    #...#......#
    #.a.#..#.b.#
    #......#...#
    #...#..#...#
    ############
""")
GATE = World("""
    #########
    #...#...#
    #a..g..b#
    #...#...#
    #.......#
    #########
""")
SLOW = {'real_time_factor': 2.0}


@pytest.mark.parametrize('patches', [False, True], ids=['whole maps', 'patches'])
def test_planner_that_comes_late_gets_the_map_as_it_is_by_then(make_scene, patches):
    """The straight path was blocked before the planner started, and the map has not changed since."""
    scene = make_scene(GATE)
    updates = scene.peer.subscribe('map_updates', pytest.importorskip('map_msgs.msg').OccupancyGridUpdate)
    maps = scene.peer.subscribe('map', OccupancyGrid, LATCHED)
    scene.start_simulator(
        world='changing',
        change_rate=0.0,
        change_period_s=3600.0,  # else all of the map is sent anew with every period
        obstacles=[GATE.blocks('g', at_s=2.0)],
        obstacles_from_goal=False,
        publish_map_updates=patches,
    )
    scene.peer.wait_until(lambda: updates if patches else len(maps) > 1, 'the path is blocked')
    scene.start_planner()
    scene.drive('b')
    assert not scene.has_been_near('g', 0.5)


def test_simulator_that_comes_late_finds_the_planner_waiting_with_the_goal(make_scene):
    scene = make_scene(ROOMS)
    scene.start_planner()
    scene.give_goal('b', to=1)
    scene.wait_for_status('WAITING_FOR_MAP')
    scene.start_simulator()
    scene.wait_for_arrival('b')


def test_planner_that_was_killed_goes_on_when_it_is_back(make_scene):
    """The simulator gives the goal to every planner that comes up."""
    scene = make_scene(ROOMS)
    x_m, y_m = ROOMS.places['b']
    planner = scene.start_planner()
    scene.start_simulator(give_goal=True, goal_x_m=x_m, goal_y_m=y_m, **SLOW)
    scene.wait_until_it_drives()
    scene.kill(planner)
    scene.wait_until_it_stops()
    assert scene.distance_to('b') > 1.0
    scene.forget_messages()
    scene.start_planner()
    scene.wait_for_arrival('b')


@pytest.mark.parametrize('simulated_time', [False, True], ids=['wall clock', 'simulated clock that begins anew'])
def test_simulator_that_was_killed_and_is_back_brings_the_robot_to_the_goal(make_scene, simulated_time):
    scene = make_scene(ROOMS)
    scene.start_planner(use_sim_time=simulated_time)
    simulator = scene.start_simulator(publish_clock=simulated_time, **SLOW)
    scene.give_goal('b')
    scene.wait_until_it_drives()
    scene.kill(simulator)
    if not simulated_time:  # otherwise time does not advance
        scene.wait_for_status('POSE_LOST')
        scene.check_that_no_waypoints_come()
    scene.forget_messages()
    scene.start_simulator(publish_clock=simulated_time)
    scene.wait_for_arrival('b')


def test_robot_that_is_lost_for_a_while_goes_on(make_scene):
    scene = make_scene(ROOMS)
    scene.start_planner()
    simulator = scene.start_simulator(**SLOW)
    scene.give_goal('b')
    scene.wait_until_it_drives()
    simulator.send(signal.SIGSTOP)
    scene.wait_for_status('POSE_LOST')
    assert scene.plans.last.poses, 'the plan is kept'
    scene.check_that_no_waypoints_come()
    simulator.send(signal.SIGCONT)
    scene.wait_for_arrival('b')
    assert scene.facts['restarts_off_route'] == '0'


@pytest.mark.parametrize('jump_s', [1000.0, -500.0], ids=['forward', 'backward'])
def test_clock_that_jumps_does_not_stop_the_robot(make_scene, jump_s):
    """The test is the clock."""
    scene = make_scene(ROOMS)
    clock = Ticking(scene.peer, 1000.0)
    scene.start_planner(use_sim_time=True)
    scene.start_simulator(**SLOW)
    scene.give_goal('b')
    scene.wait_until_it_drives()
    scene.statuses.clear()
    clock.now_s += jump_s
    scene.wait_for_waypoints(10)
    clock.now_s -= jump_s
    scene.wait_for_waypoints(10)
    scene.wait_for_arrival('b')
    assert [status.data for status in scene.statuses] == ['ARRIVED']
    assert int(scene.facts['missed_ticks']) < 1000, 'ticks between the old time and the new one are not missed'


class Ticking:
    """Publishes the time on /clock, 100 times a second."""

    PERIOD_S = 0.01

    def __init__(self, peer, now_s):
        self.now_s = now_s
        self._publisher = peer.node.create_publisher(Clock, '/clock', 1)
        peer.node.create_timer(self.PERIOD_S, self._tick)

    def _tick(self):
        self.now_s += self.PERIOD_S
        nanoseconds = round(self.now_s * 1e9)
        self._publisher.publish(Clock(clock=Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)))


def test_two_robots_in_namespaces_do_not_mix(make_scene):
    one, two = make_scene(ROOMS, 'one'), make_scene(ROOMS, 'two')
    for scene, place in ((one, 'a'), (two, 'b')):
        scene.start_planner()
        scene.start_simulator(place)
    for scene in (one, two):
        scene.wait_for_robot()
        scene.peer.wait_until(lambda statuses=scene.statuses: statuses, 'its planner is active')
    one.drive('b')
    assert [status.data for status in two.statuses] == ['IDLE']
    assert two.waypoints == [] == two.plans
    assert two.distance_to('b') == 0.0
    two.drive('a')
    assert one.distance_to('b') < 0.1
    assert one.facts['status'] == two.facts['status'] == 'ARRIVED'
