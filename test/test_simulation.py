"""The simulator without ROS: the robot keeps its limits, walls hold, worlds change as they should, runs repeat."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import astuple
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_planner import Grid, find_path
from tb_planner.geometry import MapGeometry, Pose2D, composed
from tb_planner.maps.costmap import CostmapConfig, costs_of
from tb_planner.maps.files import read_map
from tb_planner.simulation.robot import Limits, sweep_touches
from tb_planner.simulation.scenes import NoPlace, random_goal, random_start
from tb_planner.simulation.simulator import Simulation, SimulationSettings
from tb_planner.simulation.true_map import Obstacle, RandomChange, ScriptError, read_script

ROOT = Path(__file__).parents[1]
RESOLUTION_M = 0.05
RADIUS_M = 0.15


def hall(width=200, height=200):
    """An empty hall with walls one cell thick."""
    occupancy = np.zeros((height, width), np.int8)
    occupancy[[0, -1]] = occupancy[:, [0, -1]] = 100
    return occupancy


def simulation(occupancy=None, start=(2.0, 5.0, 0.0), script=(), origin=(0.0, 0.0, 0.0), **settings):
    occupancy = hall() if occupancy is None else occupancy
    height, width = occupancy.shape
    geometry = MapGeometry(width, height, RESOLUTION_M, origin)
    settings = SimulationSettings(robot_radius_m=RADIUS_M, **settings)
    return Simulation(occupancy, geometry, Pose2D(*start), settings, script)


def run(sim, seconds):
    """Yields after every step."""
    for _ in range(round(seconds / sim.settings.dt_s)):
        sim.step()
        yield


def run_through(sim, seconds):
    for _ in run(sim, seconds):
        pass


def distance_to_obstacles(sim):
    """The distance from the robot's centre to the nearest occupied cell, by brute force."""
    x, y = sim.geometry.to_grid(sim.pose.x_m, sim.pose.y_m)
    rows, columns = np.nonzero(sim.true_map.occupancy == 100)
    nearest_x, nearest_y = np.clip(x, columns, columns + 1), np.clip(y, rows, rows + 1)
    return np.hypot(nearest_x - x, nearest_y - y).min() * sim.geometry.resolution_m


def test_speed_and_acceleration_limits_are_kept_whatever_is_commanded():
    limits = Limits(max_speed_m_s=0.8, max_acceleration_m_s2=1.5, max_turn_rad_s=2.0, max_turn_acceleration_rad_s2=6.0)
    sim = simulation(hall(1000, 1000), limits=limits, start=(25.0, 25.0, 0.0))
    random = np.random.default_rng(0)
    speeds, turns = [0.0], [0.0]
    for number, _ in enumerate(run(sim, 30.0)):
        if number % 40 == 0:
            sim.command(*random.normal(0.0, 5.0, 2))
        speeds.append(sim.motion.speed_m_s)
        turns.append(sim.motion.turn_rad_s)
    dt_s = sim.settings.dt_s
    assert max(np.abs(speeds)) == 0.8
    assert max(np.abs(turns)) == 2.0
    assert max(np.abs(np.diff(turns))) <= 6.0 * dt_s + 1e-12
    assert max(np.abs(np.diff(speeds))) <= 1.5 * dt_s + 1e-12
    assert sim.collisions == 0


def test_a_commanded_arc_ends_on_its_circle():
    sim = simulation(start=(5.0, 5.0, 0.0), limits=Limits(max_acceleration_m_s2=1e3, max_turn_acceleration_rad_s2=1e3))
    for _ in run(sim, 2.0):
        sim.command(0.5, 1.0)
    radius_m, angle = 0.5, 2.0
    assert sim.pose.x_m == pytest.approx(5.0 + radius_m * math.sin(angle), abs=0.02)
    assert sim.pose.y_m == pytest.approx(5.0 + radius_m * (1 - math.cos(angle)), abs=0.02)
    assert sim.pose.yaw == pytest.approx(angle, abs=0.03)


def test_the_robot_stops_when_commands_cease():
    sim = simulation(command_timeout_s=0.5)
    sim.command(1.0, 0.0)
    run_through(sim, 0.4)
    assert sim.motion.speed_m_s > 0
    run_through(sim, 1.5)
    assert sim.motion.speed_m_s == 0
    stood_at = sim.pose
    run_through(sim, 0.5)
    assert sim.pose == stood_at


def test_the_robot_stops_at_a_wall_and_counts_one_collision_however_long_it_pushes():
    sim = simulation(start=(8.5, 5.0, 0.0))
    for _ in run(sim, 5.0):
        sim.command(1.0, 0.0)
    assert sim.collisions == 1
    assert sim.motion.speed_m_s == 0
    assert distance_to_obstacles(sim) == pytest.approx(RADIUS_M, abs=1e-4)


def test_driving_off_and_into_the_wall_again_is_a_second_collision():
    sim = simulation(start=(9.5, 5.0, 0.0))
    for speed, seconds in ((1.0, 1.0), (-1.0, 1.0), (1.0, 2.0)):
        for _ in run(sim, seconds):
            sim.command(speed, 0.0)
    assert sim.collisions == 2


def test_the_robot_cannot_leave_the_map():
    sim = simulation(np.zeros((100, 100), np.int8), start=(4.0, 2.5, 0.0))
    for _ in run(sim, 4.0):
        sim.command(1.0, 0.0)
    assert sim.collisions == 1
    assert sim.geometry.contains(sim.geometry.cell_at(sim.pose.x_m, sim.pose.y_m))


@given(
    dt_s=st.sampled_from([0.02, 0.1, 1.0]),
    speed=st.sampled_from([0.5, 3.0, 50.0]),
    yaw=st.floats(-math.pi, math.pi),
    diagonal=st.booleans(),
    radius_m=st.sampled_from([0.01, 0.15]),
)
def test_no_wall_is_too_thin_at_any_step_and_speed(dt_s, speed, yaw, diagonal, radius_m):
    """One cell thick, also where its cells touch only by their corners."""
    occupancy = np.zeros((80, 80), np.int8)
    index = np.arange(20, 61)
    if diagonal:  # a diamond
        for x, y in ((index[:21], 40 - np.arange(21)), (index[20:], 20 + np.arange(21))):
            occupancy[y, x] = occupancy[80 - y, x] = 100
    else:
        occupancy[20, 20:61] = occupancy[60, 20:61] = occupancy[20:61, 20] = occupancy[20:61, 60] = 100
    limits = Limits(max_speed_m_s=speed, max_acceleration_m_s2=1e4)
    settings = SimulationSettings(robot_radius_m=radius_m, limits=limits, dt_s=dt_s, command_timeout_s=10.0)
    sim = Simulation(occupancy, MapGeometry(80, 80, RESOLUTION_M), Pose2D(2.02, 2.02, yaw), settings)
    sim.command(speed, 0.3)
    for _ in range(min(round(4.0 / (speed * dt_s)) + 5, 120)):
        sim.step()
        x, y = sim.geometry.to_grid(sim.pose.x_m, sim.pose.y_m)
        inside = abs(x - 40.5) + abs(y - 40.5) < 21 if diagonal else 21 <= x <= 60 and 21 <= y <= 60
        assert inside
        assert distance_to_obstacles(sim) > radius_m - 1e-6


def test_the_disc_in_its_sweep_touches_what_a_fine_walk_of_points_touches():
    """Compares with a disc that is put down at a thousand places on the sweep."""
    random = np.random.default_rng(1)
    occupancy = np.where(random.random((30, 30)) < 0.05, 100, 0).astype(np.int8)
    rows, columns = np.nonzero(occupancy)
    met = 0
    for _ in range(300):
        a, b = random.uniform(5, 25, 2), random.uniform(5, 25, 2)
        b = a + (b - a) * random.uniform(0, 0.4)
        radius = random.uniform(0.05, 2.5)
        points = a + np.linspace(0, 1, 1000)[:, None] * (b - a)
        dx = np.maximum(np.abs(points[:, :1] - columns - 0.5) - 0.5, 0)
        dy = np.maximum(np.abs(points[:, 1:] - rows - 0.5) - 0.5, 0)
        nearest = np.hypot(dx, dy).min()
        if abs(nearest - radius) > 0.01:
            assert sweep_touches(occupancy, tuple(a), tuple(b), radius) == (nearest < radius)
            met += nearest < radius
    assert 50 < met < 250


@pytest.mark.parametrize('yaw', [0.0, 1.0, 3.0, -2.0])
@pytest.mark.parametrize('dt_s', [0.005, 0.02, 0.1])
def test_the_robot_turns_drives_and_stops_at_its_waypoint(yaw, dt_s):
    sim = simulation(start=(3.0, 3.0, yaw), dt_s=dt_s, waypoint_timeout_s=0.0)
    waypoint = Pose2D(6.0, 5.0, -1.0)
    sim.drive_to(waypoint)
    farthest_aside = 0.0
    along = math.atan2(2.0, 3.0)
    for _ in run(sim, 10.0):
        dx, dy = sim.pose.x_m - 3.0, sim.pose.y_m - 3.0
        farthest_aside = max(farthest_aside, abs(dy * math.cos(along) - dx * math.sin(along)))
    assert math.hypot(sim.pose.x_m - 6.0, sim.pose.y_m - 5.0) <= sim.settings.waypoint_tolerance_m
    assert sim.pose.yaw == pytest.approx(-1.0, abs=0.05)
    assert sim.motion.speed_m_s == 0
    assert sim.motion.turn_rad_s == 0
    assert farthest_aside < 0.1


def test_the_robot_brakes_without_turning_when_its_waypoint_is_suddenly_its_own_position():
    sim = simulation(start=(3.0, 3.0, 0.0))
    sim.drive_to(Pose2D(8.0, 3.0, 0.0))
    run_through(sim, 1.5)
    assert sim.motion.speed_m_s == 1.0
    waypoint = sim.pose
    for _ in run(sim, 1.0):
        waypoint = waypoint if sim.motion.speed_m_s > 0.1 else sim.pose
        sim.drive_to(waypoint)
        assert abs(sim.pose.yaw) < 0.05
    assert sim.motion.speed_m_s == 0
    assert sim.pose.x_m - 4.0 < 1.0


def test_the_robot_stops_when_waypoints_cease():
    sim = simulation(waypoint_timeout_s=1.0)
    sim.drive_to(Pose2D(9.0, 5.0, 0.0))
    run_through(sim, 3.0)
    assert sim.motion.speed_m_s == 0
    assert sim.pose.x_m < 4.0


def wild_run(seed):
    """A run with everything in it; its states as bytes."""
    sim = simulation(
        world='changing',
        change=RandomChange(rate=4.0, period_s=0.4, size_m=0.2),
        seed=seed,
        script=[Obstacle(x_m=6.0, y_m=6.0, width_m=1.0, height_m=1.0, at_s=1.0, for_s=2.0)],
    )
    states = []
    for number, _ in enumerate(run(sim, 6.0)):
        if number % 50 == 0:
            sim.drive_to(Pose2D(2.0 + number / 50, 5.0, 0.0))
        states += [np.array([*astuple(sim.pose), sim.motion.speed_m_s]), np.array(astuple(sim.noisy_pose(0.1, 0.1)))]
        states.append(sim.true_map.occupancy)
    return b''.join(state.tobytes() for state in states)


def test_the_same_inputs_and_seed_give_the_same_states_byte_for_byte():
    assert wild_run(3) == wild_run(3)
    assert wild_run(3) != wild_run(4)


def test_a_static_world_stays_as_it_is():
    script = [Obstacle(x_m=5.0, y_m=5.0, width_m=1.0, height_m=1.0)]
    sim = simulation(script=script, change=RandomChange(rate=50.0, period_s=0.1))
    first = sim.changed_map()
    assert first.changed is None
    run_through(sim, 2.0)
    assert sim.changed_map() is None
    np.testing.assert_array_equal(sim.true_map.occupancy, hall())


@pytest.mark.parametrize('size_m', [0.0, 0.25])
def test_a_changing_world_draws_the_papers_share_of_cells_afresh_from_the_original_map(size_m):
    random = np.random.default_rng(0)
    occupancy = np.kron(np.where(random.random((10, 10)) < 0.3, 100, 0), np.ones((20, 20))).astype(np.int8)
    occupancy[60:140, 10:90] = 0
    rate = 4.0
    sim = simulation(occupancy, world='changing', change=RandomChange(rate=rate, period_s=0.5, size_m=size_m))
    seen = []
    for _ in run(sim, 5.0):
        if sim.map_has_changed:
            seen.append((sim.time_s, sim.changed_map().occupancy))
    assert [time_s for time_s, _ in seen] == pytest.approx([0.5 * number for number in range(1, 11)])
    for _, now in seen:
        appeared, vanished = (now == 100) & (occupancy == 0), (now == 0) & (occupancy == 100)
        assert set(np.unique(now)) == {0, 100}
        # single cells: all but those near the robot; squares overlap, and reach over edges
        low = 0.8 if size_m == 0 else 0.5
        for changed, of in ((appeared, occupancy == 0), (vanished, occupancy == 100)):
            share = changed.sum() / of.sum()
            assert low * rate / 200 <= share <= rate / 200 + 1e-4
    assert all((a[1] != b[1]).any() for a, b in pairwise(seen))


def test_walls_stay_closed_if_so_asked():
    sim = simulation(world='changing', change=RandomChange(rate=20.0, period_s=0.1, open_walls=False))
    for _ in run(sim, 2.0):
        assert (sim.true_map.occupancy[hall() == 100] == 100).all()


def test_nothing_appears_near_the_robot_or_its_goal():
    change = RandomChange(rate=30.0, period_s=0.1, size_m=0.3, open_walls=False)
    script = [Obstacle(x_m=x, y_m=5.0, width_m=0.3, height_m=0.3, at_s=1.0) for x in np.arange(1.0, 9.0, 0.5)]
    sim = simulation(world='changing', change=change, script=script, keep_clear_m=1.0, goal_clear_m=0.7)
    goal = Pose2D(7.0, 7.0, 0.0)
    sim.set_goal(goal)
    before = sim.true_map.occupancy.copy()
    centres = (np.indices(before.shape)[::-1].reshape(2, -1).T + 0.5) * RESOLUTION_M
    appeared = 0
    for number, _ in enumerate(run(sim, 10.0)):
        sim.drive_to(Pose2D(2.5 + number % 7 * 0.1, 5.0, 0.0))
        new = ((sim.true_map.occupancy == 100) & (before != 100)).reshape(-1)
        appeared += new.sum()
        to_robot = np.hypot(*(centres[new] - (sim.pose.x_m, sim.pose.y_m)).T)
        to_goal = np.hypot(*(centres[new] - (goal.x_m, goal.y_m)).T)
        # the pose is that of the step's end: the robot may have come nearer by a step
        assert to_robot.min(initial=9.0) > RADIUS_M + 1.0 - 0.03
        assert to_goal.min(initial=9.0) > 0.7
        before = sim.true_map.occupancy.copy()
    assert appeared > 10_000
    assert (before[98:102, 130:140] == 100).any()


def test_obstacles_near_the_robot_vanish_in_time_and_are_not_replaced():
    change = RandomChange(rate=10.0, period_s=0.5, size_m=0.3, open_walls=False)
    sim = simulation(world='changing', change=change, start=(2.0, 2.0, 0.0))
    run_through(sim, 0.6)
    y, x = np.argwhere(sim.true_map.occupancy[100:180, 100:180] == 100)[0] + np.array([100, 94])
    sim.place(Pose2D(x * RESOLUTION_M, y * RESOLUTION_M, 0.0))
    near = np.hypot(*(np.indices((200, 200))[::-1] + 0.5 - np.array([x, y])[:, None, None])) * RESOLUTION_M < 1.0
    counts = []
    for _ in run(sim, 6.0):
        counts.append((sim.true_map.occupancy[near] == 100).sum())
    assert counts[0] > 0
    assert (np.diff(counts) <= 0).all()
    assert counts[-1] == 0


def test_the_robot_can_always_stop_before_what_appears():
    """The robot's stopping distance counts, however small keep_clear_m is."""
    limits = Limits(max_speed_m_s=2.0, max_acceleration_m_s2=2.0)
    script = [Obstacle(x_m=x, y_m=5.0, width_m=0.05, height_m=3.0, at_s=1.5) for x in np.arange(1.0, 9.5, 0.1)]
    sim = simulation(world='changing', change=RandomChange(rate=0.0), script=script, limits=limits, keep_clear_m=0.0)
    fastest = 0.0
    for _ in run(sim, 5.0):
        ahead_m = sim.scan(np.zeros(1), 9.0)[0]
        needed_m = sim.motion.speed_m_s**2 / (2 * 2.0) + RADIUS_M + 0.08
        sim.command(2.0 if ahead_m > needed_m else 0.0, 0.0)
        fastest = max(fastest, sim.motion.speed_m_s)
    assert fastest == 2.0
    assert sim.collisions == 0
    assert sim.motion.speed_m_s == 0
    assert sim.pose.x_m < 6.0


def test_scripted_obstacles_come_and_go_at_their_times():
    once = Obstacle(x_m=6.0, y_m=6.0, width_m=0.4, height_m=0.2, at_s=1.0, for_s=0.5)
    again = Obstacle(x_m=8.0, y_m=2.0, width_m=0.2, height_m=0.2, at_s=0.5, for_s=0.5, every_s=1.0)
    always = Obstacle(x_m=3.0, y_m=8.0, width_m=0.2, height_m=0.2)
    sim = simulation(world='changing', change=RandomChange(rate=0.0), script=[once, again, always])
    assert sim.true_map.occupancy[158:162, 58:62].all()
    for _ in run(sim, 3.0):
        time = round(sim.time_s, 6)
        window = sim.true_map.occupancy[116:124, 114:126]
        expected = np.zeros_like(window)
        expected[2:6, 2:10] = 100 if 1.0 <= time < 1.5 else 0
        np.testing.assert_array_equal(window, expected)
        there = 0.5 <= time < 1.0 or 1.5 <= time < 2.0 or 2.5 <= time < 3.0
        assert bool(sim.true_map.occupancy[40, 160]) == there
    assert sim.true_map.occupancy[160, 60] == 100


def test_an_obstacle_that_goes_leaves_what_was_beneath_and_what_overlaps_it():
    walls = hall()
    walls[100, 100:120] = 100
    goes = Obstacle(x_m=5.5, y_m=5.0, width_m=1.0, height_m=1.0, at_s=0.1, for_s=0.5)
    stays = Obstacle(x_m=6.0, y_m=5.0, width_m=1.0, height_m=0.5, at_s=0.2)
    sim = simulation(
        walls, start=(2.0, 2.0, 0.0), world='changing', change=RandomChange(rate=0.0), script=[goes, stays]
    )
    run_through(sim, 1.0)
    expected = walls.copy()
    expected[95:105, 110:130] = 100
    np.testing.assert_array_equal(sim.true_map.occupancy, expected)


def test_an_obstacle_appears_only_after_the_robot_has_left_its_place():
    script = [Obstacle(x_m=2.0, y_m=5.0, width_m=0.5, height_m=0.5, at_s=0.5)]
    sim = simulation(world='changing', change=RandomChange(rate=0.0), script=script)
    run_through(sim, 1.0)
    assert sim.true_map.occupancy[100, 40] == 0
    sim.drive_to(Pose2D(5.0, 5.0, 0.0))
    run_through(sim, 3.0)
    assert sim.true_map.occupancy[100, 40] == 100
    assert sim.collisions == 0


def test_the_script_can_wait_for_the_first_goal():
    script = [Obstacle(x_m=6.0, y_m=6.0, width_m=0.4, height_m=0.4, at_s=0.5)]
    sim = simulation(world='changing', change=RandomChange(rate=0.0), script=script, script_from_goal=True)
    run_through(sim, 2.0)
    sim.set_goal(Pose2D(8.0, 8.0, 0.0))
    run_through(sim, 0.4)
    sim.set_goal(Pose2D(8.0, 7.0, 0.0))
    assert sim.true_map.occupancy[120, 120] == 0
    run_through(sim, 0.2)
    assert sim.true_map.occupancy[120, 120] == 100


def test_an_unknown_world_is_revealed_by_line_of_sight():
    walls = hall()
    walls[20:180, 100] = 100
    sim = simulation(walls, world='unknown', sensor_radius_m=4.0)
    known = sim.changed_map().occupancy
    inside = np.hypot(*(np.indices(known.shape)[::-1] + 0.5 - np.array([40.0, 100.0])[:, None, None])) < 79
    inside[:, 100:] = False
    assert (known[inside & (walls == 0)] == 0).all()
    assert (known[90:110, 100] == 100).all()
    assert (known[:, 101:] == -1).all()
    seen = known >= 0
    np.testing.assert_array_equal(known[seen], walls[seen])


def test_without_line_of_sight_all_within_the_radius_is_revealed():
    walls = hall()
    walls[20:180, 100] = 100
    sim = simulation(walls, start=(4.0, 5.0, 0.0), world='unknown', sensor_radius_m=2.0, line_of_sight=False)
    known = sim.changed_map().occupancy
    distances = np.hypot(*(np.indices(known.shape)[::-1] + 0.5 - np.array([80.0, 100.0])[:, None, None]))
    np.testing.assert_array_equal(known, np.where(distances <= 40, walls, -1))


def test_what_was_seen_stays_known_and_news_covers_all_that_is_new():
    sim = simulation(world='unknown', sensor_radius_m=1.0, waypoint_timeout_s=0.0)
    known = sim.changed_map().occupancy
    sim.drive_to(Pose2D(6.0, 5.0, 0.0))
    patches = 0
    for _ in run(sim, 5.0):
        news = sim.changed_map()
        if news is not None:
            patches += 1
            known[news.changed.slices] = news.occupancy[news.changed.slices]
            np.testing.assert_array_equal(known, news.occupancy)
    assert patches > 10
    assert known[100, 40] == known[100, 120] == 0
    assert known[100, 160] == -1


def test_an_obstacle_in_an_unknown_world_is_known_once_it_is_seen():
    script = [Obstacle(x_m=8.0, y_m=5.0, width_m=0.5, height_m=0.5)]
    sim = simulation(world='unknown', sensor_radius_m=3.0, script=script)
    assert sim.changed_map().occupancy[100, 155] == -1
    sim.drive_to(Pose2D(6.0, 5.0, 0.0))
    run_through(sim, 3.0)
    assert sim.changed_map().occupancy[100, 155] == 100


def test_a_robot_that_does_not_move_sees_what_appears_and_vanishes():
    script = [Obstacle(x_m=4.0, y_m=5.0, width_m=0.5, height_m=0.5, at_s=1.0, for_s=1.0)]
    sim = simulation(world='unknown', sensor_radius_m=3.0, script=script)
    seen = []
    for _ in range(3):
        seen.append(int(sim.whole_map().occupancy[100, 75]))
        run_through(sim, 1.2)
    assert seen == [0, 100, 0]


@pytest.mark.parametrize('origin', [(0.0, 0.0, 0.0), (-3.0, 2.0, 0.7)])
@pytest.mark.parametrize('jitter', [0.0, 0.4])
def test_a_growing_map_is_the_known_part_at_its_place_in_the_world(origin, jitter):
    place = MapGeometry(200, 200, RESOLUTION_M, origin)
    walls = hall()
    walls[40:60, 40:60] = 100
    start, end = (Pose2D(*place.to_world(x, 100.0), 0.0) for x in (60.0, 120.0))
    sim = simulation(
        walls,
        astuple(start),
        origin=origin,
        world='unknown',
        sensor_radius_m=1.5,
        growing_map=True,
        map_jitter=jitter,
    )
    sim.drive_to(end)
    sizes, offsets = set(), []
    for _ in run(sim, 6.0):
        news = sim.changed_map()
        if news is None:
            continue
        geometry = news.geometry
        sizes.add((geometry.width, geometry.height))
        assert news.occupancy.shape == (geometry.height, geometry.width)
        x, y = (round(value - 0.5) for value in place.to_grid(*geometry.centre_of((0, 0))))
        true = walls[y : y + geometry.height, x : x + geometry.width]
        seen = news.occupancy >= 0
        np.testing.assert_array_equal(news.occupancy[seen], true[seen])
        off = np.array(place.to_grid(*geometry.to_world(0.0, 0.0))) - (x, y)
        offsets.append(np.abs(off).max())
        for edge in (seen[0], seen[-1], seen[:, 0], seen[:, -1]):
            assert edge.any()
    assert len(sizes) > 10
    assert jitter / 2 <= max(offsets) <= jitter + 1e-9


def test_a_growing_map_has_unknown_ground_around_it_also_beyond_the_true_map():
    sim = simulation(world='unknown', sensor_radius_m=2.0, growing_map=True, map_margin_m=1.0)
    bare = simulation(world='unknown', sensor_radius_m=2.0, growing_map=True)
    news, without = sim.changed_map(), bare.changed_map()
    np.testing.assert_array_equal(news.occupancy[20:-20, 20:-20], without.occupancy)
    assert news.geometry.to_world(20, 20) == pytest.approx(without.geometry.to_world(0, 0))
    for edge in (news.occupancy[:20], news.occupancy[-20:], news.occupancy[:, :20], news.occupancy[:, -20:]):
        assert (edge == -1).all()
    assert news.geometry.origin[0] < 0.0
    assert sim.changed_map() is None
    sim.drive_to(Pose2D(3.0, 5.0))
    run_through(sim, 1.0)
    assert sim.changed_map().changed is None


def test_a_late_joiner_gets_the_whole_map_with_its_last_geometry():
    sim = simulation(world='unknown', sensor_radius_m=1.0, growing_map=True, map_jitter=0.5)
    news = sim.changed_map()
    whole = sim.whole_map()
    assert whole.geometry == news.geometry
    assert whole.changed is None
    np.testing.assert_array_equal(whole.occupancy, news.occupancy)


def test_a_scan_meets_the_walls_where_they_are():
    walls = hall()
    walls[:, 150] = 100
    sim = simulation(walls, start=(3.0, 5.0, math.pi / 2))
    ranges = sim.scan(np.array([0.0, math.pi / 2, math.pi, -math.pi / 2, -math.pi / 4]), 20.0)
    expected = [9.95 - 5.0, 3.0 - 0.05, 5.0 - 0.05, 7.5 - 3.0, 4.5 * math.sqrt(2)]
    assert ranges == pytest.approx(expected, abs=1e-6)
    assert sim.scan(np.array([0.0]), 2.0) == math.inf


@given(seed=st.integers(0, 10_000))
def test_a_scan_agrees_with_a_fine_walk_along_each_ray(seed):
    random = np.random.default_rng(seed)
    occupancy = np.where(random.random((60, 60)) < 0.03, 100, 0).astype(np.int8)
    occupancy[24:36, 24:36] = 0
    origin = (1.0, -2.0, float(random.uniform(-3, 3)))
    start = MapGeometry(60, 60, RESOLUTION_M, origin).to_world(*random.uniform(29, 31, 2))
    sim = simulation(occupancy, start=(*start, float(random.uniform(-3, 3))), origin=origin)
    angles = np.linspace(-3.0, 3.0, 20)
    walk = np.arange(0.0, 1.2, 0.0005)
    for angle, measured in zip(angles, sim.scan(angles, 1.2)):
        heading = sim.pose.yaw + angle
        points = np.stack([sim.pose.x_m + walk * math.cos(heading), sim.pose.y_m + walk * math.sin(heading)], axis=1)
        x, y = np.floor(sim.geometry.to_grid_array(points)).astype(int).T
        met = np.flatnonzero(occupancy[y, x] == 100)
        expected = walk[met[0]] if met.size else math.inf
        # a walk of points can step over a corner that the ray cuts, but never meet one that it does not
        assert measured <= expected + 1e-9
        if math.isfinite(measured) and measured < expected - 0.001:
            corner = np.array([math.cos(heading), math.sin(heading)]) * (measured + 0.00025)
            cx, cy = sim.geometry.to_grid(sim.pose.x_m + corner[0], sim.pose.y_m + corner[1])
            assert min(abs(cx - round(cx)), abs(cy - round(cy))) < 0.02


def test_putting_the_robot_elsewhere_moves_odometry_s_origin_and_not_odometry():
    sim = simulation()
    assert astuple(sim.odometry) == pytest.approx((0.0, 0.0, 0.0))
    sim.drive_to(Pose2D(4.0, 5.0, 0.0))
    run_through(sim, 1.0)
    odometry = sim.odometry
    assert odometry.x_m > 0.2
    sim.place(Pose2D(7.0, 3.0, 2.0))
    assert astuple(sim.odometry) == pytest.approx(astuple(odometry))
    assert astuple(composed(sim.map_to_odom, sim.odometry)) == pytest.approx((7.0, 3.0, 2.0))
    run_through(sim, 1.0)
    assert astuple(sim.pose) == (7.0, 3.0, 2.0)


@pytest.mark.parametrize(
    ('pose', 'reason'),
    [((0.1, 5.0, 0.0), 'radius of the robot, 0.15 m'), ((-4.0, 5.0, 0.0), 'outside the map of 200 x 200 cells')],
)
def test_the_robot_cannot_be_put_into_a_wall_or_off_the_map(pose, reason):
    sim = simulation()
    with pytest.raises(ValueError, match=reason):
        sim.place(Pose2D(*pose))
    assert astuple(sim.pose) == (2.0, 5.0, 0.0)
    with pytest.raises(ValueError, match=reason):
        simulation(start=pose)


def test_noise_of_the_pose_has_the_size_asked_for():
    sim = simulation()
    noise = np.array([astuple(sim.noisy_pose(0.1, 0.02)) for _ in range(2000)]) - (2.0, 5.0, 0.0)
    assert noise.std(axis=0) == pytest.approx([0.1, 0.1, 0.02], rel=0.1)
    assert astuple(sim.noisy_pose(0.0, 0.0)) == (2.0, 5.0, 0.0)


@pytest.mark.parametrize(
    ('bad', 'reason'),
    [
        ({'world': 'flat'}, "world is 'flat'; it must be one of static, changing, unknown"),
        ({'dt_s': 0.0}, 'dt_s is 0.0; it must be above 0'),
        ({'keep_clear_m': -1.0}, 'keep_clear_m is -1.0; it must be at least 0'),
        ({'growing_map': True}, 'growing_map needs an unknown world; this one is static'),
        ({'map_jitter': 0.7}, 'map_jitter is 0.7; it must be between 0 and 0.5'),
        ({'sensor_radius_m': math.nan}, 'sensor_radius_m is nan; it must be above 0'),
    ],
)
def test_bad_settings_are_refused_with_value_and_limit(bad, reason):
    with pytest.raises(ValueError, match=reason):
        SimulationSettings(**bad)


def test_a_command_that_is_no_number_is_refused():
    sim = simulation()
    with pytest.raises(ValueError, match=r'speeds nan m/s, 0\.0 rad/s are not finite'):
        sim.command(math.nan, 0.0)


@pytest.mark.parametrize(('name', 'goal'), [('office', (25.0, 6.0)), ('warehouse', (34.5, 9.0))])
class TestDemoMaps:
    def grid_of(self, occupancy):
        rules = CostmapConfig(
            resolution_m=RESOLUTION_M, robot_radius_m=0.25, inflation_radius_m=0.25, allow_unknown=False
        )
        return Grid(costs_of(occupancy, rules))

    def test_the_files_are_what_the_script_draws(self, name, goal, tmp_path):
        spec = importlib.util.spec_from_file_location('draw', ROOT / 'maps' / 'draw.py')
        draw = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(draw)
        getattr(draw, name)().save(tmp_path, name)
        for ending in ('pgm', 'yaml'):
            file = f'{name}.{ending}'
            assert (tmp_path / file).read_bytes() == (ROOT / 'maps' / file).read_bytes()

    def test_there_is_another_path_when_the_script_blocks_the_shortest(self, name, goal):
        plan = read_map(ROOT / 'maps' / f'{name}.yaml')
        script = read_script(ROOT / 'config' / f'{name}_obstacles.yaml')
        start, end = plan.geometry.cell_at(0.0, 0.0), plan.geometry.cell_at(*goal)
        free = find_path(self.grid_of(plan.occupancy), start, end)
        blocked_ways = 0
        for time_s in range(60):
            occupancy = plan.occupancy.copy()
            for obstacle in script:
                if obstacle.is_due(time_s):
                    occupancy[obstacle.box(plan.geometry).slices] = 100
            grid = self.grid_of(occupancy)
            blocked_ways += any(grid.is_blocked(cell) for cell in free.cells)
            assert find_path(grid, start, end).cost < 2.5 * free.cost
        assert blocked_ways > 30

    def test_a_random_goal_is_far_and_can_be_reached(self, name, goal):
        plan = read_map(ROOT / 'maps' / f'{name}.yaml')
        goals = {random_goal(plan.occupancy, plan.geometry, Pose2D(0.0, 0.0), 0.4, seed) for seed in range(5)}
        assert len(goals) == 5
        for place in goals:
            assert math.hypot(place.x_m, place.y_m) > 10.0
            cell = plan.geometry.cell_at(place.x_m, place.y_m)
            assert find_path(self.grid_of(plan.occupancy), plan.geometry.cell_at(0.0, 0.0), cell).cells


def test_no_place_is_found_where_there_is_none():
    full = np.full((20, 20), 100, np.int8)
    with pytest.raises(NoPlace, match=r'0\.4 m away from every obstacle'):
        random_start(full, MapGeometry(20, 20, RESOLUTION_M), 0.4, 0)
    cell = full.copy()
    cell[5:15, 5:15] = 0
    geometry = MapGeometry(20, 20, RESOLUTION_M)
    start = random_start(cell, geometry, 0.1, 0)
    assert cell[geometry.cell_at(start.x_m, start.y_m)[::-1]] == 0
    two = np.full((20, 200), 100, np.int8)
    two[5:15, 5:15] = two[5:15, 180:190] = 0
    with pytest.raises(NoPlace, match='in 200 tries'):
        random_goal(two, MapGeometry(200, 20, RESOLUTION_M), Pose2D(0.5, 0.5), 0.1, 0)


def test_a_script_is_read_from_yaml(tmp_path):
    path = tmp_path / 'script.yaml'
    path.write_text(
        'obstacles:\n- {at_s: 2, for_s: 3.5, x_m: 1.0, y_m: 2.0, width_m: 0.5, height_m: 1}\n'
        '- {x_m: 1.0, y_m: 2.0, width_m: 0.5, height_m: 1}\n'
    )
    first, second = read_script(path)
    assert first == Obstacle(at_s=2, for_s=3.5, x_m=1.0, y_m=2.0, width_m=0.5, height_m=1)
    assert second.for_s == math.inf


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('', "it must have a list 'obstacles'"),
        ('obstacles: [', 'not YAML: '),
        ('obstacles: [3]', 'obstacle 1: 3 is not a field'),
        ('obstacles: [{x_m: 1, y_m: 1, width_m: 1, height_m: 1, colour: red}]', 'colour is not a field'),
        ('obstacles: [{x_m: 1, y_m: 1, width_m: 1}]', 'height_m'),
        ('obstacles: [{x_m: 1, y_m: 1, width_m: -1, height_m: 1}]', 'width_m is -1; it must be above 0'),
        ('obstacles: [{x_m: one, y_m: 1, width_m: 1, height_m: 1}]', "x_m is 'one'; it must be a number"),
        (
            'obstacles: [{x_m: 1, y_m: 1, width_m: 1, height_m: 1, for_s: 2, every_s: 1}]',
            'every_s is 1; it must be 0 or',
        ),
    ],
)
def test_a_bad_script_is_refused_with_file_place_and_reason(tmp_path, text, reason):
    path = tmp_path / 'script.yaml'
    path.write_text(text)
    with pytest.raises(ScriptError, match=reason) as error:
        read_script(path)
    assert str(path) in str(error.value)


def test_an_obstacle_outside_the_map_is_refused():
    with pytest.raises(ValueError, match=r'obstacle at \(50.0, 5.0\) lies outside the 200 x 200 map'):
        simulation(world='changing', script=[Obstacle(x_m=50.0, y_m=5.0, width_m=1.0, height_m=1.0)])


def test_what_is_drawn_stays_whatever_changes_by_itself_and_erasing_takes_walls_away():
    change = RandomChange(rate=20.0, period_s=0.5, size_m=0.2)
    script = [Obstacle(at_s=0.5, for_s=1.0, x_m=7.0, y_m=5.0, width_m=1.0, height_m=1.0)]
    sim = simulation(world='changing', change=change, script=script)
    sim.changed_map()
    assert sim.draw(7.0, 5.0, 0.3, occupied=True)
    assert sim.draw(0.0, 8.0, 0.4, occupied=False)
    assert sim.map_has_changed
    drawn, erased = np.s_[97:103, 137:143], np.s_[156:164, 0:4]
    for _ in run(sim, 3.0):
        assert (sim.true_map.occupancy[drawn] == 100).all()
        assert (sim.true_map.occupancy[erased] == 0).all()
    assert np.array_equal(sim.whole_map().occupancy, sim.true_map.occupancy)


def test_nothing_is_drawn_on_the_robot_its_goal_or_off_the_map():
    sim = simulation()
    sim.set_goal(Pose2D(8.0, 8.0))
    before = sim.true_map.occupancy.copy()
    for x_m, y_m in ((2.0, 5.0), (2.5, 5.0), (8.1, 8.1), (-3.0, 5.0), (5.0, 1e9)):
        assert not sim.draw(x_m, y_m, 0.3, occupied=True)
    assert not sim.map_has_changed
    assert np.array_equal(sim.true_map.occupancy, before)
    assert sim.draw(2.0, 5.0, 0.3, occupied=False)
    with pytest.raises(ValueError, match='finite'):
        sim.draw(math.nan, 1.0, 0.3, occupied=True)


def test_in_an_unknown_world_the_robot_sees_what_is_drawn_when_it_is_near():
    sim = simulation(world='unknown', sensor_radius_m=3.0, line_of_sight=False)
    assert sim.draw(4.0, 5.0, 0.3, occupied=True)
    assert sim.draw(8.0, 5.0, 0.3, occupied=True)
    run_through(sim, 0.5)
    known = sim.whole_map().occupancy
    assert known[100, 80] == 100
    assert known[100, 160] == -1
