"""Navigator, LiveMap and the simulated robot together, without ROS: it arrives, and touches nothing."""

import math
import weakref
from pathlib import Path

import numpy as np
import pytest
from helpers.trip import node_settings

from tb_planner import ALGORITHMS, make_algorithm, tb_wa_star
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.files import read_map
from tb_planner.maps.live_map import LiveMap
from tb_planner.navigation.navigator import NavigationStatus, Navigator
from tb_planner.navigation.path_planner import PathPlanner
from tb_planner.search.algorithms import RestartReason
from tb_planner.search.planner import TimeBoundedPlanner
from tb_planner.simulation.simulator import Simulation, SimulationSettings
from tb_planner.simulation.true_map import Obstacle, RandomChange

S = NavigationStatus
OFFICE = Path(__file__).parents[1] / 'maps' / 'office.yaml'
CELL_M = 0.05
TICK_STEPS = 2  # of 0.025 s


def flat():
    """8 m x 6 m, two walls with doors."""
    occupancy = np.zeros((120, 160), np.int8)
    occupancy[[0, -1], :] = occupancy[:, [0, -1]] = 100
    occupancy[:, 50:53] = 100
    occupancy[80:100, 50:53] = 0
    occupancy[:, 105:108] = 100
    occupancy[15:35, 105:108] = 0
    return occupancy


START, GOAL = Pose2D(1.0, 1.0, 0.0), Pose2D(7.0, 5.0, 1.0)


RULES = CostmapConfig(robot_radius_m=0.22, inflation_radius_m=0.55)


class World:
    """A simulated robot and its navigator, tick by tick."""

    def __init__(self, world, *, algorithm=None, k=2000, script=(), origin=(0.0, 0.0, 0.0), **changes):
        geometry = MapGeometry(160, 120, CELL_M, origin)
        start, goal = (self.placed(geometry, pose) for pose in (START, GOAL))
        settings = SimulationSettings(world=world, dt_s=0.025, **changes)
        self.simulation = Simulation(flat(), geometry, start, settings, script)
        self.map = LiveMap(RULES)
        self.navigator = Navigator(node_settings(algorithm=algorithm or tb_wa_star(1.5), k=k))
        self.navigator.new_goal(goal)
        self.simulation.set_goal(goal)
        self.ticks = []
        self.moves = 0
        self.send_map(self.simulation.whole_map())

    @staticmethod
    def placed(geometry, pose):
        x, y = geometry.to_world(pose.x_m / CELL_M, pose.y_m / CELL_M)
        return Pose2D(x, y, pose.yaw + geometry.yaw)

    def send_map(self, news):
        """The map goes to the planner, as a patch where it can."""
        if news is None:
            return
        if news.changed is None:
            self.map.full(news.occupancy, news.geometry)
            self.moves += 1
        else:
            box = news.changed
            self.map.patch(news.occupancy[box.y0 : box.y1, box.x0 : box.x1], (box.x0, box.y0))

    def tick(self, noise_m=0.0):
        tick = self.navigator.tick(self.map.latest(), self.simulation.noisy_pose(noise_m, noise_m))
        self.ticks.append(tick)
        if tick.waypoint is not None:
            self.simulation.drive_to(tick.waypoint)
        for _ in range(TICK_STEPS):
            self.simulation.step()
        self.send_map(self.simulation.changed_map())
        return tick

    def run(self, most_s=120.0, **arguments):
        for _ in range(round(most_s / 0.05)):
            if self.tick(**arguments).status == S.ARRIVED:
                break
        last, pose = self.ticks[-1], self.simulation.pose
        assert last.status == S.ARRIVED, f'{last} after {len(self.ticks)} ticks at {pose}'
        assert self.simulation.collisions == 0
        assert math.dist((pose.x_m, pose.y_m), (last.waypoint.x_m, last.waypoint.y_m)) < 0.3

    @property
    def restarts(self):
        return [reason for tick in self.ticks for reason in tick.restarts]

    @property
    def statuses(self):
        return [tick.status for tick in self.ticks]


ALL = [make_algorithm(name, 2.0) for name in ALGORITHMS]


@pytest.mark.parametrize('algorithm', ALL, ids=lambda algorithm: algorithm.name)
def test_a_robot_arrives_in_a_static_world_with_one_search(algorithm):
    world = World('static', algorithm=algorithm)
    world.run()
    assert world.restarts == []


@pytest.mark.parametrize('algorithm', ALL, ids=lambda algorithm: algorithm.name)
def test_a_robot_arrives_in_an_unknown_world(algorithm):
    world = World('unknown', algorithm=algorithm, sensor_radius_m=2.0)
    world.run()


@pytest.mark.parametrize('algorithm', ALL, ids=lambda algorithm: algorithm.name)
def test_a_robot_arrives_in_a_changing_world(algorithm):
    change = RandomChange(rate=1.0, period_s=0.5, size_m=0.2, open_walls=False)
    world = World('changing', algorithm=algorithm, change=change, seed=2)
    world.run(240.0)


STOPS = [Pose2D(x, y) for x, y in ((1.5, 2.8), (1.5, 4.5), (4.0, 4.5), (4.0, 2.8), (4.0, 1.3), (6.5, 1.3), (6.5, 3.0))]
"""Each is on the map when the robot is at the one before, and the map grows before each."""


@pytest.mark.parametrize('jitter', [0.0, 0.5])
def test_a_map_that_grows_and_shifts_does_not_stop_a_driving_robot(jitter):
    world = World('unknown', sensor_radius_m=2.5, growing_map=True, map_jitter=jitter, k=200)
    assert world.tick().status == S.GOAL_OUTSIDE_MAP
    for goal in [*STOPS, GOAL]:
        world.navigator.new_goal(goal)
        before = len(world.ticks)
        world.run()
        driving = world.statuses[before:]
        driving = driving[driving.index(S.NAVIGATING) : -1]
        assert driving.count(S.NAVIGATING) >= len(driving) - 3
    assert world.moves > 20
    assert world.restarts.count(RestartReason.MAP_MOVED) > 20


def test_one_search_memory_serves_goals_and_requests_on_either_grid_and_where_the_map_moves_to():
    live_map, navigator = LiveMap(RULES), Navigator(node_settings())
    path_planner = PathPlanner(node_settings(), tolerance_m=0.5)
    occupancy, memory, grids = np.zeros((40, 40), np.int8), None, set()
    for x in range(10, 30):
        occupancy[0, x] = 100
        live_map.full(occupancy, MapGeometry(40, 40, CELL_M, (CELL_M * (x // 10), 0.0, 0.0)))
        update = live_map.latest()
        grids.add(update.grid)
        path_planner.update_map(update)
        path_planner.request(START, [Pose2D(1.5, 1.5, 0.1 * x)], start_is_robot=True)
        assert path_planner.step(TimeBoundedPlanner.search).path is not None
        memory = memory or update.grid._spare_searches[0]
        navigator.new_goal(Pose2D(0.05 * x, 1.5))
        navigator.tick(update, START)
        assert navigator.planner._search is memory
        navigator.cancel()
        assert update.grid._spare_searches == [memory]
    assert len(grids) == 4


def test_the_memory_of_a_map_that_has_grown_is_freed_by_the_thread_that_writes_maps():
    live_map, navigator = LiveMap(RULES), Navigator(node_settings())
    live_map.full(np.zeros((40, 40), np.int8), MapGeometry(40, 40, CELL_M))
    first = live_map.latest()
    navigator.new_goal(Pose2D(1.5, 1.5))
    navigator.tick(first, START)
    memory, grid = navigator.planner._search, weakref.ref(first.grid)
    del first
    larger = np.zeros((41, 40), np.int8), MapGeometry(40, 41, CELL_M)
    live_map.full(*larger)
    navigator.tick(live_map.latest(), START)
    assert grid() is not None
    assert grid()._spare_searches == [memory]
    live_map.full(*larger)
    assert grid() is None


@pytest.mark.parametrize('noise_m', [0.01, 0.03])
def test_noisy_poses_neither_hinder_nor_restart(noise_m):
    world = World('static')
    world.run(noise_m=noise_m)
    assert len(world.restarts) <= 2


def test_a_rotated_map_is_a_map():
    world = World('static', origin=(3.0, -2.0, 0.7))
    world.run()
    assert world.restarts == []


def test_a_corridor_that_closes_and_opens_again_is_waited_for():
    door = Obstacle(x_m=2.575, y_m=4.5, width_m=0.15, height_m=1.0, at_s=1.0, for_s=12.0)
    world = World('changing', script=[door], change=RandomChange(rate=0.0))
    world.run()
    assert S.NO_PATH in world.statuses
    assert RestartReason.NO_PATH in world.restarts


def corridor(closed):
    """A corridor of 0.3 m, too narrow for a robot of 0.22 m, with free ground beside its walls, open or closed."""
    occupancy = np.zeros((60, 60), np.int8)
    first = 0 if closed else 24
    occupancy[[26, 33], first:] = 100
    if closed:
        occupancy[26:34, [0, -1]] = 100
    return occupancy


@pytest.mark.parametrize('goal', [Pose2D(1.5, 0.5), Pose2D(1.5, 2.5)])
def test_no_robot_is_sent_out_of_a_margin_through_an_obstacle(goal):
    live_map, navigator = LiveMap(RULES), Navigator(node_settings())
    live_map.full(corridor(closed=True), MapGeometry(60, 60, CELL_M))
    navigator.new_goal(goal)
    pose = Pose2D(1.5, 1.5)
    tick = navigator.tick(live_map.latest(), pose)
    assert (tick.status, tick.waypoint) == (S.START_BLOCKED, pose)
    occupancy, geometry = corridor(closed=False), MapGeometry(60, 60, CELL_M)  # the open end is within the tolerance
    live_map.full(occupancy, geometry)
    navigator.settings = node_settings(start_tolerance_m=1.0)
    for _ in range(300):
        tick = navigator.tick(live_map.latest(), pose)
        if tick.status == S.ARRIVED:
            break
        pose = stepped(pose, tick.waypoint, 0.05)
        x, y = geometry.cell_at(pose.x_m, pose.y_m)
        assert occupancy[y, x] == 0
    assert tick.status == S.ARRIVED


@pytest.mark.parametrize('stops_at_m', [0.02, 0.05, 0.1])
def test_a_robot_that_stops_short_of_its_waypoints_arrives_all_the_same(stops_at_m):
    """Drives in the office, where costs are high along the walls, between random places."""
    office = read_map(OFFICE)
    rng = np.random.default_rng(1)
    for _ in range(12):
        live_map, navigator = LiveMap(RULES), Navigator(node_settings(k=100_000))
        live_map.full(office.occupancy, office.geometry)
        update = live_map.latest()
        places = np.argwhere(~update.grid.blocked)
        pose, goal = (
            Pose2D(*office.geometry.centre_of((int(x), int(y)))) for y, x in places[rng.integers(len(places), size=2)]
        )
        navigator.new_goal(goal)
        for _ in range(6000):
            tick = navigator.tick(update, pose)
            update = None
            if tick.status in (S.ARRIVED, S.NO_PATH):
                break
            pose = stepped(pose, tick.waypoint, stops_at_m)
        assert tick.status in (S.ARRIVED, S.NO_PATH), f'from {pose} towards {goal}'


def stepped(pose, waypoint, stops_at_m, step_m=0.025):
    """Straight on, unless the waypoint is so near that the robot stops."""
    left_m = math.dist((pose.x_m, pose.y_m), (waypoint.x_m, waypoint.y_m))
    if left_m <= stops_at_m:
        return pose
    share = min(step_m / left_m, 1.0)
    return Pose2D(pose.x_m + share * (waypoint.x_m - pose.x_m), pose.y_m + share * (waypoint.y_m - pose.y_m), 0.0)
