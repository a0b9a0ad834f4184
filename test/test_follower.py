"""The follower and a simulated robot: it lags, overshoots, drifts, is pushed and turned round, and its pose is noisy.

Whether one point can be seen from another is looked up by dense sampling here, not by sight.py.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from helpers.strategies import problems
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import distance_transform_edt

from tb_planner import Grid, Status, TimeBoundedPlanner, find_path, tb_gbfs, tb_wa_star, tba_star
from tb_planner.navigation.follower import Follower
from tb_planner.search.algorithms import RestartReason

DISTANCE, TOLERANCE = 10.0, 4.0


# ---------------------------------------------------------------------------------------------------- the simulation
@dataclass
class Robot:
    """Heads for its waypoint, up to `speed` cells a tick; a tick changes its velocity by `grip` of what is wanted. It
    slides along walls, and at a corner that may be cut over it."""

    x: float
    y: float
    speed: float = 0.4
    grip: float = 1.0
    stops_short: float = 0.0
    drift: tuple[float, float] = (0.0, 0.0)
    cuts_corners: bool = False
    velocity: tuple[float, float] = (0.0, 0.0)
    bumps: int = 0

    @property
    def position(self):
        return self.x, self.y

    def drive(self, terrain, x, y):
        away = math.dist((x, y), self.position)
        share = min(1.0, self.speed / away) if away > self.stops_short else 0.0
        wanted = ((x - self.x) * share, (y - self.y) * share)
        self.velocity = tuple(v + self.grip * (w - v) for v, w in zip(self.velocity, wanted))
        dx, dy = (v + d for v, d in zip(self.velocity, self.drift))
        for step in ((dx, dy), (dx, 0.0), (0.0, dy)):
            to = (self.x + step[0], self.y + step[1])
            if self.cuts_corners or sees(terrain, self.position, to):
                self.x, self.y = to
                break
            self.velocity = (0.0, 0.0)
            self.bumps += 1


@dataclass
class Drive:
    """The course of a drive."""

    planner: TimeBoundedPlanner
    robot: Robot
    arrived: bool = False
    ticks: int = 0
    hidden: int = 0
    """Waypoints not in sight from the pose that they were made for."""
    reversals: int = 0
    """Waypoints that lie, on the present route, before the last one."""
    needless_reversals: int = 0
    """Reversals made while the last waypoint was in sight."""
    track: list = field(default_factory=list)
    """Position, pose and aim of every tick."""

    @property
    def off_route(self):
        return self.planner.restarts[RestartReason.OFF_ROUTE]


def drive(
    values,
    start,
    goal,
    *,
    noise=0.0,
    k=100_000,
    algorithm=None,
    happens=None,
    most=6000,
    corner_cutting=False,
    seed=5,
    **robot,
):
    """A robot that drives to the centre of the goal; happens(tick, robot, planner) may push it or change the map."""
    grid = Grid(values, corner_cutting=corner_cutting)
    end = centre(goal)
    planner = TimeBoundedPlanner(grid, start, goal, algorithm or tb_wa_star(1.5), k=k, start_tolerance=3)
    follower = Follower(waypoint_distance=DISTANCE, deviation_tolerance=TOLERANCE, corner_cutting=corner_cutting)
    seen = Drive(planner, Robot(*centre(start), cuts_corners=corner_cutting, **robot))
    random = np.random.default_rng(seed)
    last = None
    for tick in range(most):
        if happens is not None:
            happens(tick, seen.robot, planner)
        pose = tuple(float(p + n) for p, n in zip(seen.robot.position, random.normal(0, noise, 2)))
        passed = follower.passed(grid.cost_u16, planner.route_cells(follower.window), pose)
        if passed is None:
            planner.leave_route(tuple(min(max(int(p), 0), n - 1) for p, n in zip(pose, (grid.width, grid.height))))
        else:
            planner.advance_by(passed)
        planner.search()
        route = planner.route_cells(follower.window)
        aim = follower.aim(grid.cost_u16, route, pose, end if tuple(route[-1]) == goal else None)
        look_at(seen, grid.cost_u16, route, pose, aim, last)
        last = tuple(route[aim.index].tolist())
        seen.robot.drive(grid.cost_u16, aim.x, aim.y)
        seen.ticks = tick + 1
        seen.arrived = math.dist(seen.robot.position, end) < 0.7
        if seen.arrived:
            break
    return seen


def look_at(seen, terrain, route, pose, aim, last):
    seen.track.append((seen.robot.position, pose, aim))
    in_free = is_free(terrain, pose)
    seen.hidden += in_free and not sees(terrain, pose, (aim.x, aim.y))
    cells = [tuple(cell) for cell in route.tolist()]
    if last in cells and cells.index(last) > aim.index:
        seen.reversals += 1
        seen.needless_reversals += in_free and sees_with_room(terrain, pose, centre(last))


def centre(cell):
    return cell[0] + 0.5, cell[1] + 0.5


def is_free(terrain, point):
    x, y = (math.floor(i) for i in point)
    return 0 <= x < terrain.shape[1] and 0 <= y < terrain.shape[0] and bool(terrain[y, x])


def distance_to_free(terrain, point):
    rows, columns = np.nonzero(terrain)
    dx = np.maximum(np.maximum(columns - point[0], point[0] - columns - 1), 0)
    dy = np.maximum(np.maximum(rows - point[1], point[1] - rows - 1), 0)
    return float(np.hypot(dx, dy).min())


def crossed(terrain, a, b):
    """The terrain along the line from a to b, looked at every hundredth of a cell; outside it is blocked."""
    shares = np.linspace(0, 1, int(math.dist(a, b) * 100) + 2)
    xs, ys = (np.floor(a[i] + shares * (b[i] - a[i])).astype(int) for i in range(2))
    inside = (xs >= 0) & (ys >= 0) & (xs < terrain.shape[1]) & (ys < terrain.shape[0])
    return np.where(inside, terrain[ys % terrain.shape[0], xs % terrain.shape[1]], 0)


def sees(terrain, a, b):
    return bool(crossed(terrain, a, b).all())


def sees_with_room(terrain, a, b):
    """Whether b is in sight of a by more than a hair, not just past a corner."""
    hair = 0.02
    return all(
        sees(terrain, (a[0] + dx, a[1] + dy), (b[0] + dx, b[1] + dy))
        for dx, dy in ((0, 0), (hair, 0), (-hair, 0), (0, hair), (0, -hair))
    )


# -------------------------------------------------------------------------------------------------------------- maps
def open_field():
    return np.zeros((40, 60), bool), (3, 3), (55, 20)


def rooms():
    """Thin walls, doors two cells wide."""
    blocked = np.zeros((48, 60), bool)
    blocked[:, 12::12] = blocked[12::12] = True
    random = np.random.default_rng(1)
    for i in range(5):
        for j in range(4):
            door = 12 * j + int(random.integers(2, 9))
            blocked[door : door + 2, 12 * i : 12 * i + 1] = False
            door = 12 * i + int(random.integers(2, 9))
            blocked[12 * j : 12 * j + 1, door : door + 2] = False
    return blocked, (2, 2), (57, 45)


def thicket():
    blocked = np.random.default_rng(3).random((50, 50)) < 0.2
    blocked[:3, :3] = blocked[-3:, -3:] = False
    return blocked, (1, 1), (48, 48)


def serpentine():
    """Corridors of three cells, walls of one; the route turns round at every end."""
    blocked = np.zeros((31, 40), bool)
    blocked[3::4] = True
    blocked[3::8, -3:] = blocked[7::8, :3] = False
    return blocked, (1, 1), (20, 29)


MAPS = (open_field, rooms, thicket, serpentine)
ROBOTS = {
    'exact': {},
    'slow': {'speed': 0.1},
    'fast': {'speed': 1.5},
    'lags': {'grip': 0.15},
    'overshoots': {'grip': 0.06, 'speed': 0.6},
    'stops short': {'stops_short': 0.6},
    'drifts': {'drift': (0.06, -0.09)},
}


# ------------------------------------------------------------------------------------------------------- whole drives
@pytest.mark.parametrize('robot', ROBOTS.values(), ids=ROBOTS)
@pytest.mark.parametrize('world', MAPS)
def test_every_robot_arrives_with_no_restart_and_no_waypoint_behind_a_wall(world, robot):
    seen = drive(*world(), **robot)
    assert seen.arrived
    assert not any(seen.planner.restarts.values())
    assert seen.hidden == seen.needless_reversals == 0


@pytest.mark.parametrize('world', MAPS)
def test_a_robot_that_goes_to_its_waypoints_bumps_into_nothing_and_its_waypoint_never_goes_back(world):
    seen = drive(*world())
    assert seen.robot.bumps == seen.reversals == 0


@pytest.mark.parametrize(
    ('world', 'noise'), [*((world, noise) for world in MAPS for noise in (0.15, 0.33)), (open_field, 0.5), (rooms, 0.5)]
)
@pytest.mark.parametrize('robot', ['exact', 'fast', 'lags', 'overshoots'])
def test_noisy_poses_restart_nothing_and_move_the_waypoint_back_only_where_it_is_out_of_sight(world, robot, noise):
    seen = drive(*world(), noise=noise, **ROBOTS[robot])
    assert seen.arrived
    assert not any(seen.planner.restarts.values())
    assert seen.hidden == seen.needless_reversals == 0


@pytest.mark.parametrize('noise', [0.33, 1.0])
def test_in_the_open_noise_up_to_the_tolerance_moves_no_waypoint_back(noise):
    seen = drive(*open_field(), noise=noise)
    assert seen.arrived
    assert seen.off_route == seen.reversals == 0


def test_a_robot_that_stops_short_of_its_waypoints_comes_round_the_corners_of_a_narrow_corridor():
    blocked = np.ones((16, 16), bool)
    blocked[1, 1:5] = blocked[1:8, 4] = blocked[7, 4:13] = blocked[7:15, 12] = False
    seen = drive(blocked, (1, 1), (12, 14), stops_short=0.49)
    assert seen.arrived


def test_a_noisy_robot_that_does_not_move_is_not_led_away_by_its_own_noise():
    seen = drive(np.zeros((9, 60), bool), (20, 4), (55, 4), noise=0.7, speed=0.0, most=3000)
    assert seen.off_route == 0
    assert seen.planner.current_cell[0] <= 20 + TOLERANCE


@pytest.mark.parametrize('algorithm', [tba_star(), tb_wa_star(3.0), tb_gbfs()], ids=lambda a: a.name)
@pytest.mark.parametrize('k', [1, 8, 64])
def test_a_route_that_changes_with_every_slice_of_the_search_is_followed(algorithm, k):
    seen = drive(*rooms(), k=k, algorithm=algorithm, noise=0.1, most=30_000)
    assert seen.arrived
    assert seen.hidden == seen.off_route == 0


def test_where_the_map_changes_the_robot_follows_the_new_route():
    values, start, goal = rooms()
    random = np.random.default_rng(8)

    def obstacles_come_and_go(tick, robot, planner):
        if tick % 10 == 0:
            changed = values | (random.random(values.shape) < 0.03)
            changed[max(int(robot.y) - 1, 0) : int(robot.y) + 2, max(int(robot.x) - 1, 0) : int(robot.x) + 2] = False
            planner.observe(np.where(np.indices(values.shape).sum(0) == sum(goal), values, changed))

    seen = drive(values, start, goal, happens=obstacles_come_and_go)
    assert seen.arrived
    assert seen.hidden == 0
    assert Counter(seen.planner.restarts).total() > 0


@pytest.mark.parametrize('robot', ['exact', 'lags', 'stops short'])
@pytest.mark.parametrize('noise', [0.0, 0.2])
@pytest.mark.parametrize('world', MAPS)
def test_a_robot_arrives_where_costs_decrease_from_the_walls(world, noise, robot):
    blocked, start, goal = world()
    near = distance_transform_edt(~np.pad(blocked, 1, constant_values=True))[1:-1, 1:-1]
    costs = np.where(blocked, np.inf, 1 + 6 * np.exp(-0.5 * near)).astype(np.float32)
    seen = drive(costs, start, goal, noise=noise, **ROBOTS[robot])
    assert seen.arrived
    assert seen.hidden == seen.off_route == 0


@pytest.mark.parametrize('robot', ['exact', 'stops short'])
def test_a_robot_arrives_where_costs_jump_from_cell_to_cell(robot):
    blocked, start, goal = rooms()
    costs = np.random.default_rng(2).choice([1.0, 1.5, 2.0, 4.0], blocked.shape).astype(np.float32)
    costs[blocked] = np.inf
    seen = drive(costs, start, goal, **ROBOTS[robot])
    assert seen.arrived
    assert seen.hidden == seen.off_route == 0


@pytest.mark.parametrize('noise', [0.0, 0.2])
@pytest.mark.parametrize('grip', [1.0, 0.2])
def test_corners_that_the_route_cuts_do_not_hold_the_robot_up(noise, grip):
    blocked = np.zeros((24, 24), bool)
    blocked[:, 5] = blocked[12, :] = blocked[:, 17] = True
    for x, y in ((5, 8), (9, 12), (17, 15)):
        blocked[y, x] = False
    blocked[np.arange(24), np.arange(24)] |= np.arange(24) == 20
    blocked[7, 6] = blocked[9, 4] = blocked[11, 8] = blocked[13, 10] = True
    seen = drive(blocked, (1, 1), (22, 22), corner_cutting=True, noise=noise, grip=grip)
    assert seen.arrived
    assert seen.off_route == 0
    depths = [distance_to_free(seen.planner.grid.cost_u16, position) for position, _, _ in seen.track]
    assert max(depths) < 0.4


# ---------------------------------------------------------------------------------------------------- pushed and turned
def push(at_tick, dx, dy):
    def happens(tick, robot, planner):
        if tick == at_tick:
            robot.x, robot.y = robot.x + dx, robot.y + dy

    return happens


@pytest.mark.parametrize(('dx', 'dy'), [(0, 3.5), (0, -3.5), (3.5, 0), (-3.5, 0), (-7, 0)])
def test_a_push_within_the_tolerance_or_back_along_the_trail_restarts_nothing(dx, dy):
    seen = drive(np.zeros((21, 60), bool), (3, 10), (55, 10), happens=push(50, dx, dy))
    assert seen.arrived
    assert seen.off_route == seen.hidden == 0


@pytest.mark.parametrize(('dx', 'dy'), [(0, 6), (-2, -7), (0, 9), (-15, 0)])
def test_a_push_farther_than_the_tolerance_restarts_once_and_at_once(dx, dy):
    restarted = []

    def happens(tick, robot, planner):
        push(50, dx, dy)(tick, robot, planner)
        restarted.append(planner.restarts[RestartReason.OFF_ROUTE])

    seen = drive(np.zeros((21, 60), bool), (3, 10), (55, 10), happens=happens)
    assert seen.arrived
    assert seen.off_route == 1
    assert restarted[51] == 1


def two_halls():
    """A thin wall between them, open at the right."""
    blocked = np.zeros((21, 60), bool)
    blocked[10, :50] = True
    return blocked


def test_a_push_across_a_wall_restarts_within_two_ticks_though_it_is_within_the_tolerance():
    restarted = []

    def happens(tick, robot, planner):
        push(60, 0, 2.5)(tick, robot, planner)
        restarted.append(planner.restarts[RestartReason.OFF_ROUTE])

    seen = drive(two_halls(), (3, 9), (40, 9), happens=happens)
    waypoints = [aim for _, _, aim in seen.track[60:63]]
    assert seen.arrived
    assert seen.off_route == restarted[62] == 1
    assert seen.hidden == 0
    assert all(aim.y > 11 for aim in waypoints)


def test_a_single_pose_across_a_wall_is_taken_for_noise():
    route = straight(3, 40, 9)
    terrain = Grid(two_halls()).cost_u16
    follower = Follower(waypoint_distance=DISTANCE, deviation_tolerance=TOLERANCE)
    assert follower.passed(terrain, route, (3.5, 9.5)) == 0
    assert follower.passed(terrain, route, (3.6, 11.5)) == 0
    stays = follower.aim(terrain, route, (3.6, 11.5))
    assert (stays.x, stays.y) == (3.6, 11.5)
    assert follower.passed(terrain, route, (3.7, 9.5)) == 0
    assert follower.passed(terrain, route, (3.8, 11.5)) == 0
    assert follower.passed(terrain, route, (3.8, 11.5)) is None


@pytest.mark.parametrize('grip', [1.0, 0.3, 0.1])
def test_where_the_route_turns_round_the_robot_turns_once(grip):
    """A door closes ahead, and the route leads back past the start."""
    blocked = np.zeros((9, 60), bool)
    blocked[4] = True
    blocked[4, 2:4] = blocked[4, 56:58] = False

    def door_closes(tick, robot, planner):
        if tick == 60:
            planner.observe(np.ones((1, 2), bool), at=(56, 4))

    seen = drive(blocked, (20, 2), (40, 6), happens=door_closes, grip=grip)
    xs = np.array([position[0] for position, _, _ in seen.track])
    signs = np.sign(np.diff(xs)[np.abs(np.diff(xs)) > 0.05])
    assert seen.arrived
    assert seen.off_route == 0
    assert np.count_nonzero(np.diff(signs)) == 2  # at the closed door, and at the open one


def test_a_route_that_leads_back_along_the_trail_is_followed_from_its_start():
    terrain = Grid(np.zeros((9, 40), bool)).cost_u16
    follower = Follower(waypoint_distance=DISTANCE, deviation_tolerance=TOLERANCE)
    out = straight(5, 30, 4)
    at = 0
    for x in np.arange(5.5, 16, 0.4):
        at += follower.passed(terrain, out[at:], (float(x), 4.5))
    back = out[at::-1]
    assert follower.passed(terrain, back, (15.9, 4.5)) == 0
    aims = [follower.aim(terrain, back, (x, 4.5)) for x in (15.9, 16.2, 15.7)]
    assert all(aim.x < 10 for aim in aims)
    assert all(math.cos(aim.heading) == pytest.approx(-1) for aim in aims)


# ---------------------------------------------------------------------------------------------------------- one tick
def straight(first, last, y):
    return np.array([(x, y) for x in range(first, last + 1)], np.int32)


def new_follower(**settings):
    return Follower(**{'waypoint_distance': DISTANCE, 'deviation_tolerance': TOLERANCE, **settings})


@pytest.mark.parametrize(
    ('x', 'passed'), [(1.0, 0), (2.5, 0), (3.4, 0), (3.5, 1), (4.4, 1), (7.6, 5), (12.5, 10), (40.0, None)]
)
def test_a_cell_is_passed_once_the_robot_is_level_with_the_next_centre(x, passed):
    terrain = Grid(np.zeros((9, 60), bool)).cost_u16
    assert new_follower().passed(terrain, straight(2, 20, 4), (x, 5.2)) == passed


def test_the_route_on_the_other_side_of_a_thin_wall_is_not_the_robots_place():
    blocked = np.zeros((9, 30), bool)
    blocked[4, :9] = True
    route = np.array([(x, 3) for x in range(2, 9)] + [(9, 4)] + [(x, 5) for x in range(8, 1, -1)], np.int32)
    near_the_wall = (6.5, 3.99)
    assert new_follower().passed(Grid(blocked).cost_u16, route, near_the_wall) == 4
    assert new_follower().passed(Grid(np.zeros((9, 30), bool)).cost_u16, route, (6.5, 5.2)) == 10


def test_the_waypoint_is_the_farthest_centre_within_the_distance():
    terrain = Grid(np.zeros((9, 60), bool)).cost_u16
    aim = new_follower().aim(terrain, straight(2, 50, 4), (2.5, 4.5))
    assert (aim.x, aim.y, aim.index, aim.at_end) == (12.5, 4.5, 10, False)
    assert aim.heading == 0


@pytest.mark.parametrize('distance', [5.0, 12.0, 40.0])
def test_the_straight_line_to_the_waypoint_stays_near_the_route(distance):
    terrain = Grid(np.zeros((50, 50), bool)).cost_u16
    route = np.concatenate((straight(2, 20, 4), np.array([(20, y) for y in range(5, 45)], np.int32)))
    for first in range(0, 30, 3):
        x, y = centre(route[first].tolist())
        aim = new_follower(waypoint_distance=distance).aim(terrain, route[first:], (x, y))
        line = np.linspace((x, y), (aim.x, aim.y), 200)
        away = np.hypot(*(line[:, None] - (route + 0.5)).T).min(0)
        assert away.max() <= TOLERANCE / 3 + 0.5  # half a step between two centres


def test_a_robot_far_from_its_route_heads_for_a_nearer_point():
    terrain = Grid(np.zeros((20, 60), bool)).cost_u16
    assert new_follower().aim(terrain, straight(2, 50, 4), (5.5, 8.0)).x <= 5.5 + TOLERANCE


def test_at_the_end_the_waypoint_is_the_exact_goal():
    terrain = Grid(np.zeros((9, 60), bool)).cost_u16
    aim = new_follower().aim(terrain, straight(2, 8, 4), (2.5, 4.5), (8.2, 4.9))
    assert (aim.x, aim.y, aim.at_end) == (8.2, 4.9, True)
    aim = new_follower().aim(terrain, straight(8, 8, 4), (8.9, 4.1), (8.2, 4.9))
    assert (aim.x, aim.y, aim.at_end) == (8.2, 4.9, True)
    assert not new_follower().aim(terrain, straight(2, 8, 4), (2.5, 4.5)).at_end


def test_what_lies_behind_the_window_makes_no_difference():
    terrain = Grid(np.zeros((9, 5000), bool)).cost_u16
    follower, route = new_follower(), straight(2, 4900, 4)
    for x in np.arange(2.5, 9, 0.7):
        whole, cut = new_follower(), new_follower()
        assert whole.passed(terrain, route, (x, 5.0)) == cut.passed(terrain, route[: follower.window], (x, 5.0))
        assert whole.aim(terrain, route, (x, 5.0), (4900.5, 4.5)) == cut.aim(terrain, route[: cut.window], (x, 5.0))


def test_no_waypoint_leads_through_cells_of_higher_cost_than_the_route():
    costs = np.ones((12, 12), np.float32)
    costs[2:9, 2:9] = 8.0
    planner = TimeBoundedPlanner(Grid(costs), (1, 5), (9, 5), tba_star(), k=1000)
    planner.search()
    aim = new_follower().aim(planner.grid.cost_u16, planner.route_cells(), (1.5, 5.5), (9.5, 5.5))
    assert crossed(planner.grid.cost_u16, (1.5, 5.5), (aim.x, aim.y)).max() == planner.grid.cost_u16[0, 0]


def test_a_robot_in_a_cell_of_high_cost_is_led_out_of_it():
    costs = np.ones((9, 30), np.float32)
    costs[6:] = 20.0
    aim = new_follower().aim(Grid(costs).cost_u16, straight(2, 25, 5), (4.5, 6.5))
    assert aim.y == 5.5
    assert aim.x > 4.5


def test_a_robot_in_an_obstacle_is_led_to_the_nearest_free_cell():
    blocked = np.zeros((12, 30), bool)
    blocked[6:] = True
    terrain, route = Grid(blocked).cost_u16, straight(2, 25, 4)
    follower = new_follower()
    assert follower.passed(terrain, route, (4.6, 8.3)) == 2
    aim = follower.aim(terrain, route[2:], (4.6, 8.3))
    assert (aim.x, aim.y) == (4.5, 5.5)


def test_a_robot_in_an_obstacle_that_stops_short_of_its_waypoints_gets_out():
    blocked = np.zeros((20, 20), bool)
    blocked[:, :10] = True
    terrain = Grid(blocked).cost_u16
    x = 9.8
    for _ in range(10):
        aim = new_follower().aim(terrain, straight(10, 15, 4), (x, 4.4))
        x += 0.2 if math.dist((x, 4.4), (aim.x, aim.y)) > DISTANCE / 10 else 0.0
    assert is_free(terrain, (x, 4.4))


def test_an_obstacle_around_robot_and_route_leads_to_where_the_route_begins():
    blocked = np.ones((20, 30), bool)
    blocked[10:13] = False
    terrain, route = Grid(blocked).cost_u16, straight(4, 25, 11)
    aim = new_follower().aim(terrain, route[:1], (4.5, 9.4))
    assert (aim.x, aim.y) == (4.5, 10.5)
    lonely = np.ones((20, 30), bool)
    lonely[11, 4:] = False
    aim = new_follower().aim(Grid(lonely).cost_u16, route, (1.5, 11.5))
    assert (aim.x, aim.y) == (4.5, 11.5)


def test_beside_a_wall_a_pose_inside_it_keeps_the_waypoint():
    blocked = np.zeros((9, 30), bool)
    blocked[5:] = True
    terrain, route = Grid(blocked).cost_u16, straight(2, 25, 4)
    follower = new_follower()
    assert follower.passed(terrain, route, (2.5, 4.6)) == 0
    before = follower.aim(terrain, route, (2.5, 4.6))
    assert follower.passed(terrain, route, (2.6, 5.2)) == 0
    assert follower.aim(terrain, route, (2.6, 5.2)) == before


@pytest.mark.parametrize('position', [(-0.4, 4.5), (3.5, -3.0), (3.5, 9.1), (60.2, 4.5)])
def test_a_pose_outside_the_grid_is_led_back_in(position):
    terrain = Grid(np.zeros((9, 60), bool)).cost_u16
    follower, route = new_follower(), straight(2, 20, 4)
    if follower.passed(terrain, route, position) is not None:
        aim = follower.aim(terrain, route, position)
        assert is_free(terrain, (aim.x, aim.y))


def test_with_nothing_ahead_in_sight_the_robot_stays():
    blocked = np.zeros((9, 30), bool)
    blocked[:, 5:8] = True
    route = straight(4, 20, 4)
    aim = new_follower().aim(Grid(blocked).cost_u16, route, (4.5, 4.5))
    assert (aim.x, aim.y, aim.at_end, aim.index) == (4.5, 4.5, False, 0)


@pytest.mark.parametrize('stops_short', [0.0, 0.5, 1.0])
def test_a_robot_beside_a_corner_is_led_past_the_only_point_in_sight_where_it_would_stop_before_it(stops_short):
    blocked = np.zeros((20, 20), bool)
    blocked[8:, :10] = True
    terrain = Grid(blocked).cost_u16
    route = np.array([(10, y) for y in range(7, 20)], np.int32)
    robot = Robot(9.91, 7.9, stops_short=stops_short)
    follower = new_follower()
    for _ in range(60):
        passed = follower.passed(terrain, route, robot.position)
        route = route[passed:]
        aim = follower.aim(terrain, route, robot.position)
        assert sees(terrain, robot.position, (aim.x, aim.y))
        robot.drive(terrain, aim.x, aim.y)
    assert robot.y > 18


def test_a_tolerance_below_the_size_of_a_cell_is_no_cause_for_restarts():
    follower = Follower(waypoint_distance=0.0, deviation_tolerance=0.0)
    terrain, route = Grid(np.zeros((9, 60), bool)).cost_u16, straight(2, 20, 4)
    assert follower.passed(terrain, route, (2.01, 4.99)) == 0
    assert follower.aim(terrain, route, (2.01, 4.99)).x > 2.5


@pytest.mark.parametrize('name', ['waypoint_distance', 'deviation_tolerance'])
@pytest.mark.parametrize('value', [-1.0, math.inf, math.nan])
def test_bad_settings_are_refused_with_their_value(name, value):
    with pytest.raises(ValueError, match=f'{name} is {value}'):
        new_follower(**{name: value})


# ------------------------------------------------------------------------------------------------------- any map at all
@given(problems(max_side=14), st.floats(0, 1), st.floats(-1.5, 1.5), st.floats(-1.5, 1.5))
def test_on_any_map_a_waypoint_is_on_the_route_near_enough_and_in_sight(problem, share, dx, dy):
    grid = problem.grid()
    planner = TimeBoundedPlanner(grid, problem.start, problem.goal, tba_star(), k=1000)
    planner.search()
    route = planner.route_cells()
    x, y = centre(route[int(share * (len(route) - 1))].tolist())
    position = (x + dx, y + dy)
    follower = new_follower(corner_cutting=problem.corner_cutting)
    passed = follower.passed(grid.cost_u16, route, position)
    if passed is None:
        return
    assert 0 <= passed < len(route)
    ahead = route[passed:]
    aim = follower.aim(grid.cost_u16, ahead, position)
    if not is_free(grid.cost_u16, position):
        assert is_free(grid.cost_u16, (aim.x, aim.y))
        return
    steps = np.hypot(*np.diff(ahead[: aim.index + 1], axis=0).T)
    assert steps.sum() <= DISTANCE + math.sqrt(2)
    cut = problem.corner_cutting and math.dist(position, (aim.x, aim.y)) < 2
    assert cut or sees(grid.cost_u16, position, (aim.x, aim.y))
    if (aim.x, aim.y) == centre(ahead[aim.index].tolist()) and math.dist(position, (aim.x, aim.y)) > 4:
        columns, rows = ahead[: aim.index + 1].T
        own = grid.cost_u16[int(position[1]), int(position[0])]
        assert crossed(grid.cost_u16, position, (aim.x, aim.y)).max() <= max(grid.cost_u16[rows, columns].max(), own)


@given(problems(max_side=14, weighted=False), st.integers(0, 2**32 - 1), st.sampled_from((0.0, 0.1, 0.2)))
def test_on_any_map_a_robot_arrives_where_a_path_leads(problem, seed, noise):
    if find_path(problem.grid(), problem.start, problem.goal).status is not Status.AT_GOAL:
        return
    seen = drive(
        problem.values, problem.start, problem.goal, noise=noise, seed=seed, corner_cutting=problem.corner_cutting
    )
    assert seen.arrived
    assert problem.corner_cutting or seen.hidden == 0
    assert noise or seen.off_route == 0
