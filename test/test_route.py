"""Route: whether a map allows it, what it costs, where the robot is on it, and when it asks for another one.

The oracle of the rule to replan is a planner that has found the same route.
"""

import itertools
import math

import numpy as np
import pytest
from helpers.planners import open_field
from helpers.strategies import WEIGHTS, patched, problems, repainted
from helpers.trip import MOVES
from helpers.trip import settings as trip_settings
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tb_planner import Grid, Status, TimeBoundedPlanner, find_path, rtba_star, tb_gbfs, tb_wa_star, tba_star
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation import route as module
from tb_planner.navigation.navigator import Navigator
from tb_planner.navigation.path_planner import PathPlanner
from tb_planner.navigation.route import PathNotChecked, Route, collisions, invalid_points, nearest_point
from tb_planner.search.algorithms import RESTART_RULES, RestartReason

FAR = 10**6


def geometry_of(grid):
    return MapGeometry(grid.width, grid.height, 0.1)


def route_through(grid, *stops, algorithm=None):
    """The shortest route from stop to stop."""
    parts = [find_path(grid, a, b, algorithm).cells for a, b in itertools.pairwise(stops)]
    cells = np.array(parts[0] + [cell for part in parts[1:] for cell in part[1:]], np.int32)
    ends = np.cumsum([len(parts[0])] + [len(part) - 1 for part in parts[1:]]) - 1
    route = Route(geometry_of(grid).to_world_array(cells), cells, np.arange(len(cells)), ends.tolist())
    route.expect(grid)
    return route


def route_on(costs, *stops):
    """A grid with these costs, and the shortest route on it from stop to stop."""
    grid = Grid(costs)
    return grid, route_through(grid, *stops)


def reason(route, grid, cells, cost, algorithm=None, min_improvement=0.0):
    """The reason to replan after these cells have come to cost this much."""
    costs = grid.costs
    for x, y in cells:
        costs[y, x] = cost
    change = grid.update(costs)
    return route.replan_reason(grid, change, algorithm or tba_star(), min_improvement)


# ------------------------------------------------------------------------------------------------------ the same rule
RULES = [rule.name for rule in RESTART_RULES.values() if not rule.path_alone]


@st.composite
def rules(draw):
    restart = draw(st.sampled_from(('lazy', 'lazy', *RULES)))
    w = draw(st.sampled_from((*WEIGHTS, None)))
    return tb_gbfs(restart=restart) if w is None else tb_wa_star(w, restart=restart)


@settings(max_examples=1000, deadline=None)
@given(problems(), rules(), st.sampled_from((0.0, 0.0, 0.01, 0.05, 0.2, 0.9)), st.data())
def test_a_route_and_the_planner_that_found_it_come_to_the_same_verdict(problem, algorithm, min_improvement, data):
    """Compares both on any map, uniform or weighted, change after change, while the robot follows its route."""
    planner = TimeBoundedPlanner(
        problem.grid(), problem.start, problem.goal, algorithm, FAR, min_improvement=min_improvement
    )
    planner.search()
    assume(planner.route_reaches_goal)
    route = Route.from_cells(planner.route_cells(), geometry_of(planner.grid))
    route.expect(planner.grid)
    values = problem.values
    for _ in range(data.draw(st.integers(1, 4))):
        steps = data.draw(st.integers(0, len(route.ahead) - 2)) if len(route.ahead) > 2 else 0
        x, y = route.ahead[steps].tolist()
        planner.advance_by(steps)
        route.expected_cost -= module._cost(planner.grid, route.ahead[: steps + 1])
        route.passed += steps
        patch, at = repainted(data.draw, values, (x, y), problem.goal)
        values = patched(values, patch, at)
        change = planner.grid.update(patch, at)
        before = planner.searches
        restarted = planner.map_changed(change)
        verdict = planner.last_restart if restarted else None
        assert restarted == (planner.searches > before)
        assert route.replan_reason(planner.grid, change, algorithm, min_improvement) == verdict
        if restarted:
            return


def test_where_no_cell_is_cheap_a_shortcut_is_judged_as_the_planner_does():
    """h counts with the cheapest cell of the map, 1.0625, as the planner's does; with 1 it saw a shortcut here."""
    costs = np.array([[np.inf], [1.0625], [7.5]], np.float32)
    planner = TimeBoundedPlanner(Grid(costs, neighbours=4), (0, 1), (0, 2), tba_star(), FAR)
    planner.search()
    route = Route.from_cells(planner.route_cells(), geometry_of(planner.grid))
    route.expect(planner.grid)
    change = planner.grid.update(np.array([[3.25]], np.float32), (0, 0))
    assert not planner.map_changed(change)
    assert route.replan_reason(planner.grid, change, tba_star(), 0.0) is None


@given(problems(), st.data())
def test_a_route_is_valid_if_every_step_of_it_has_a_cost(problem, data):
    grid = problem.grid()
    found = find_path(grid, problem.start, problem.goal)
    assume(found.status == Status.AT_GOAL)
    route = Route.from_cells(np.array(found.cells, np.int32), geometry_of(grid))
    assert route.is_valid(grid)
    unit = 985 * (32 if grid.weighted else 1)
    assert route.cost(grid) / unit == pytest.approx(found.cost, rel=1e-6)
    patch, at = repainted(data.draw, problem.values)
    grid.update(patch, at)
    steps = [grid.step_cost(a, b) for a, b in itertools.pairwise(found.cells)]
    is_legal = not any(grid.is_blocked(cell) for cell in found.cells) and max(steps, default=0) < math.inf
    assert route.is_valid(grid) == is_legal
    assert (len(invalid_points(route.points_m, geometry_of(grid), grid)) == 0) == is_legal


# ------------------------------------------------------------------------------------------------------ reasons
def test_a_route_that_costs_more_asks_for_another_one_if_it_is_more_than_a_little():
    grid, route = route_on(np.ones((3, 12), np.float32), (0, 1), (11, 1))
    assert reason(route, grid, [(5, 1)], 1.5, min_improvement=0.05) is None
    assert reason(route, grid, [(5, 1), (6, 1)], 1.5, min_improvement=0.05) == RestartReason.COST_INCREASED


def test_a_route_is_compared_with_the_least_that_it_has_cost():
    costs = np.full((3, 12), 3.0, np.float32)
    grid, route = route_on(costs, (0, 1), (11, 1))
    assert reason(route, grid, [(x, 1) for x in range(12)], 1.0, min_improvement=0.9) is None
    assert reason(route, grid, [(x, 1) for x in range(12)], 3.0, min_improvement=0.9) == RestartReason.COST_INCREASED


def test_what_is_behind_the_robot_may_cost_anything():
    grid, route = route_on(np.ones((3, 12), np.float32), (0, 1), (11, 1))
    assert route.meet(grid, (6.5, 1.4), 1.5)
    assert reason(route, grid, [(x, 1) for x in range(6)], np.inf) is None
    assert reason(route, grid, [(8, 1)], 9.0) == RestartReason.COST_INCREASED


def detour(walled=True):
    """A wall with a path around its end."""
    costs = np.ones((10, 12), np.float32)
    if walled:
        costs[:9, 6] = np.inf
    return costs


@pytest.mark.parametrize(
    ('algorithm', 'expected'),
    [
        (tba_star(), RestartReason.SHORTCUT_OPENED),
        (tb_wa_star(1.5), RestartReason.SHORTCUT_OPENED),
        (tb_wa_star(3.0), None),
        (tba_star(restart='never'), None),
        (tba_star(restart='eager'), RestartReason.EAGER),
        (rtba_star(), None),
        (tb_gbfs(), None),
    ],
    ids=['w = 1', 'w = 1.5', 'w = 3', 'never', 'eager', 'path_cost_increased', 'greedy'],
)
def test_a_door_that_opens_counts_by_the_algorithms_rule(algorithm, expected):
    grid, route = route_on(detour(), (1, 0), (11, 0))
    assert reason(route, grid, [(6, 0)], 1.0, algorithm) == expected


@pytest.mark.parametrize(
    ('algorithm', 'expected'),
    [
        (tba_star(restart='never'), None),
        (tba_star(restart='eager'), RestartReason.EAGER),
        (rtba_star(), RestartReason.BLOCKED),
        (tb_gbfs(), RestartReason.BLOCKED),
    ],
    ids=['never', 'eager', 'path_cost_increased', 'greedy'],
)
def test_a_blocked_route_is_invalid_whatever_the_algorithms_rule(algorithm, expected):
    grid, route = route_on(detour(), (1, 0), (11, 0))
    assert reason(route, grid, [(6, 9)], np.inf, algorithm) == expected
    assert not route.is_valid(grid)


def test_a_corner_that_may_not_be_cut_blocks_a_diagonal_step():
    grid, route = route_on(np.ones((5, 5), np.float32), (0, 0), (4, 4))
    assert reason(route, grid, [(2, 1)], np.inf) == RestartReason.BLOCKED


def test_a_cell_that_opens_lets_diagonal_steps_past_it():
    """The path through it is no shorter, 2 cells as before; past it, it is the square root of 2."""
    costs = np.ones((3, 3), np.float32)
    costs[0, 1] = np.inf
    grid, route = route_on(costs, (0, 0), (1, 1))
    assert reason(route, grid, [(1, 0)], 1.0) == RestartReason.SHORTCUT_OPENED


def test_a_cell_that_opens_beside_a_straight_route_opens_no_shortcut():
    """The path through it is 0.83 cells longer; steps past it save less than 0.59."""
    costs = np.ones((4, 6), np.float32)
    costs[2, 2] = np.inf
    grid, route = route_on(costs, (0, 1), (5, 1))
    assert reason(route, grid, [(2, 2)], 1.0) is None


def test_each_segment_is_compared_by_itself():
    costs = np.ones((30, 12), np.float32)
    costs[:9, 6] = np.inf
    grid, route = route_on(costs, (11, 29), (11, 0), (1, 0))
    assert reason(route, grid, [(6, 20)], 1.0) is None
    assert reason(route, grid, [(6, 0)], 1.0) == RestartReason.SHORTCUT_OPENED, 'on the second segment'


def test_if_the_costs_of_too_many_cells_decreased_to_look_at_the_map_counts_as_another_one(monkeypatch):
    grid, route = route_on(np.full((3, 12), 2.0, np.float32), (0, 1), (11, 1))
    monkeypatch.setattr(module, 'MAX_DECREASED', 3)
    assert reason(route, grid, [(0, 0), (1, 0), (2, 0)], 1.9, min_improvement=0.5) is None
    assert reason(route, grid, [(x, 0) for x in range(4, 9)], 1.9, min_improvement=0.5) == RestartReason.SHORTCUT_OPENED


# ------------------------------------------------------------------------------------------------------ laid on a map
def laid(points_m, geometry, grid=None):
    """A route along these points, repaired where a map needs it; by default on one that is free."""
    grid = grid or Grid(np.zeros((geometry.height, geometry.width), bool))
    return Route.from_points(points_m, geometry).repaired(grid)


@pytest.mark.parametrize('geometry', MOVES.values(), ids=MOVES.keys())
def test_the_cells_of_a_route_follow_each_other_and_lie_under_its_points(geometry):
    random = np.random.default_rng(1)
    steps = random.choice([-0.1, 0.0, 0.1], (200, 2))
    points = np.array((3.05, 2.05)) + np.cumsum(steps[(steps != 0).any(axis=1)], axis=0)
    route = laid(points, geometry)
    steps = np.abs(np.diff(route.cells, axis=0)).max(axis=1)
    assert steps.min() == steps.max() == 1
    centres = geometry.to_world_array(route.cells)
    gaps = np.hypot(*(points[:, None] - centres[None]).T).min(axis=0)
    assert gaps.max() <= geometry.resolution_m * math.sqrt(0.5) + 1e-5


@pytest.mark.parametrize('geometry', MOVES.values(), ids=MOVES.keys())
def test_the_rest_of_a_route_is_laid_on_the_same_cells(geometry):
    points = np.stack((np.linspace(1.05, 5.05, 41), np.full(41, 1.05)), axis=1)
    route = laid(points, geometry)
    for walked in (0, 1, 7, len(route.cells) - 1):
        route.passed = walked
        ahead = route.ahead.tolist()
        cells = laid(route.points_ahead_m, geometry).cells.tolist()
        assert cells[cells.index(ahead[0]) :] == ahead


def test_a_route_is_valid_only_where_every_step_is_legal():
    points = np.array([[0.15, 0.15], [0.25, 0.25], [0.35, 0.25]])
    route = laid(points, MapGeometry(5, 5, 0.1))
    assert route.cells.tolist() == [[1, 1], [2, 2], [3, 2]]
    assert route.is_valid(Grid(open_field(5, 5)))
    for x, y in ((1, 1), (2, 2), (3, 2), (2, 1), (1, 2)):
        blocked = open_field(5, 5)
        blocked[y, x] = True
        assert not route.is_valid(Grid(blocked))
    assert not route.is_valid(Grid(open_field(3, 5)))


def test_a_route_beside_a_wall_is_repaired_by_a_cell_where_the_wall_is_drawn_on_others():
    points = np.stack((np.linspace(0.15, 0.75, 7), np.full(7, 0.35)), axis=1)
    values = open_field(9, 6)
    values[3, 3:6] = True
    route = laid(points, MapGeometry(9, 6, 0.1), Grid(values))
    assert route is not None
    assert route.cells[[0, -1]].tolist() == [[1, 3], [7, 3]]
    assert np.abs(route.cells[:, 1] - 3).max() == 1
    values[:, 3:6] = True
    assert laid(points, MapGeometry(9, 6, 0.1), Grid(values)) is None


def test_a_route_that_leaves_the_map_cannot_be_repaired():
    points = np.stack((np.linspace(0.15, 2.75, 27), np.full(27, 0.35)), axis=1)
    assert laid(points, MapGeometry(9, 6, 0.1), Grid(open_field(9, 6))) is None


# ------------------------------------------------------------------------------------------------------ who asks
@settings(max_examples=300, deadline=None)
@given(problems(), st.data())
def test_navigator_path_planner_and_path_check_agree_about_the_same_route_and_map(problem, data):
    """The topic must not follow what the action gives up, nor the service call valid what either calls blocked."""
    assume(problem.start != problem.goal)
    geometry = geometry_of(problem.grid())
    start, goal = Pose2D(*geometry.centre_of(problem.start)), Pose2D(*geometry.centre_of(problem.goal))
    exact = trip_settings(algorithm=tba_star(), goal_tolerance_m=0.0, start_tolerance_m=0.0)
    navigator, path_planner = Navigator(exact), PathPlanner(exact, 0.0)
    navigator.new_goal(goal)
    navigator.tick(MapUpdate(geometry, problem.grid(), None), start)
    path_planner.update_map(MapUpdate(geometry, problem.grid(), None))
    path_planner.request(start, [goal], start_is_robot=True)
    path = path_planner.step(TimeBoundedPlanner.search).path
    assume(path is not None)
    assert navigator.plan_points() == pytest.approx(path.points_m)
    patch, at = repainted(data.draw, problem.values, problem.start, problem.goal)
    updates = []
    for _ in range(2):
        grid = problem.grid()
        updates.append(MapUpdate(geometry, grid, grid.update(patch, at)))
    is_valid = len(invalid_points(path.points_m, geometry, updates[0].grid)) == 0
    tick = navigator.tick(updates[0], start, lambda planner: planner.search(1))
    path_planner.update_map(updates[1])
    assert (RestartReason.BLOCKED not in tick.restarts) == is_valid
    assert (path_planner.has_path or path_planner.held_path is path) == is_valid


def test_a_path_is_invalid_where_a_line_between_its_points_meets_an_obstacle():
    grid = Grid(open_field(30, 20))
    points_m = np.array([(0.15, 0.55), (1.15, 0.55), (2.15, 0.55), (2.15, 1.55)])
    assert len(invalid_points(points_m, geometry_of(grid), grid)) == 0
    blocked = open_field(30, 20)
    blocked[4:7, 16] = True
    assert invalid_points(points_m, geometry_of(grid), Grid(blocked)).tolist() == [2]


def test_a_path_is_invalid_where_it_cuts_a_corner_that_may_not_be_cut():
    blocked = open_field(5, 5)
    blocked[1, 2] = True
    points_m = np.array([(0.15, 0.15), (0.25, 0.25), (0.35, 0.35)])
    assert invalid_points(points_m, MapGeometry(5, 5, 0.1), Grid(blocked)).tolist() == [1]
    assert len(invalid_points(points_m, MapGeometry(5, 5, 0.1), Grid(blocked, corner_cutting=True))) == 0


def test_points_of_a_path_that_are_no_places_of_the_map_are_invalid_and_take_no_memory():
    grid = Grid(open_field(30, 20))
    points_m = np.array([(0.15, 0.55), (1e300, 0.55), (math.nan, 0.5), (-1e9, math.inf), (0.25, 0.55), (0.35, 0.55)])
    assert invalid_points(points_m, geometry_of(grid), grid).tolist() == [1, 2, 3]


def test_a_path_with_too_many_cells_under_it_to_look_at_is_invalid_beyond(monkeypatch):
    monkeypatch.setattr(module, 'MAX_CHECKED_CELLS', 25)
    grid = Grid(open_field(30, 20))
    points_m = np.array([(0.15, 0.55), (1.15, 0.55), (2.15, 0.55), (0.15, 0.55)])
    assert invalid_points(points_m, geometry_of(grid), grid).tolist() == [3]


# ------------------------------------------------------------------------------------------------------ footprints
LONG_ROBOT_M = np.array([(0.55, 0.25), (0.55, -0.25), (-0.55, -0.25), (-0.55, 0.25)])
POINT_M = np.zeros((1, 2))
FIELD = MapGeometry(60, 40, 0.1)


def occupancy_with(*cells, value=100):
    occupancy = np.zeros((40, 60), np.int8)
    for x, y in cells:
        occupancy[y, x] = value
    return occupancy


def hits(points_m, yaws, corners_m, occupancy, limit=100, geometry=FIELD):
    return collisions(np.array(points_m), np.array(yaws), corners_m, geometry, occupancy, limit).tolist()


def test_a_long_robot_passes_a_gap_that_it_cannot_turn_in():
    walls = occupancy_with(*((x, y) for x in range(20, 40) for y in (15, 25)))  # 0.9 m apart
    assert hits([(1.0, 2.05), (3.0, 2.05), (5.0, 2.05)], [0.0, 0.0, 0.0], LONG_ROBOT_M, walls) == []
    assert hits([(1.0, 2.05), (3.0, 2.05), (3.0, 2.05)], [0.0, 0.0, math.pi / 2], LONG_ROBOT_M, walls) == [2]
    assert hits([(3.0, 2.05), (3.0, 2.05)], [0.0, math.pi], LONG_ROBOT_M, walls) == [1], 'it turns through both walls'


def test_an_obstacle_between_two_poses_is_a_collision_at_the_later_one():
    assert hits([(1.0, 2.0), (5.0, 2.0)], [0.0, 0.0], LONG_ROBOT_M, occupancy_with((30, 22))) == [1]
    assert hits([(1.0, 2.0), (5.0, 2.0)], [0.0, 0.0], LONG_ROBOT_M, occupancy_with((30, 24))) == []
    assert hits([(1.0, 2.05), (5.0, 2.05)], [0.0, 0.0], POINT_M, occupancy_with((30, 20))) == [1]


def test_an_outline_that_leaves_the_map_and_poses_that_are_no_places_are_collisions():
    points_m = [(1.0, 2.0), (0.3, 2.0), (-1e300, 2.0), (math.nan, 2.0), (1.0, 2.0), (1.0, 2.0)]
    yaws = [0.0, 0.0, 0.0, 0.0, 0.0, math.inf]
    assert hits(points_m, yaws, LONG_ROBOT_M, occupancy_with()) == [1, 2, 3, 5]


def test_cells_below_the_limit_are_free_and_unknown_ones_if_they_are_so_wanted():
    points_m, yaws = [(1.05, 2.05), (5.05, 2.05)], [0.0, 0.0]
    assert hits(points_m, yaws, POINT_M, occupancy_with((30, 20), value=60), limit=61) == []
    assert hits(points_m, yaws, POINT_M, occupancy_with((30, 20), value=60), limit=60) == [1]
    unknown = occupancy_with((30, 20), value=-1)
    assert hits(points_m, yaws, POINT_M, unknown) == []
    assert hits(points_m, yaws, POINT_M, unknown.view(np.uint8)) == [1]


def test_a_footprint_is_found_on_a_map_that_is_turned():
    turned = MapGeometry(60, 40, 0.1, (2.0, -1.0, 0.7))
    obstacle_m = turned.to_world(30.5, 22.4)
    beside_m = turned.to_world(30.5, 20.0)
    for yaw, expected in ((0.7, [0]), (0.7 + math.pi / 2, [])):
        corners_m = np.array([(0.55, 0.25), (0.55, -0.25), (-0.55, -0.25), (-0.55, 0.25)])
        assert hits([beside_m], [yaw], corners_m, occupancy_with((30, 22)), geometry=turned) == expected
    assert hits([obstacle_m], [0.0], POINT_M, occupancy_with((30, 22)), geometry=turned) == [0]


@pytest.mark.parametrize('seed', range(40))
def test_an_outline_meets_the_cells_that_a_much_finer_sweep_meets(seed):
    """The sweep of the test has 20 times as many places and points, and knows which it meets well inside."""
    random = np.random.default_rng(seed)
    angles = np.sort(random.uniform(0, 2 * math.pi, 5))
    corners = np.column_stack((np.cos(angles), np.sin(angles))) * random.uniform(2, 12)  # in cells
    ends = random.uniform((15, 15), (45, 25), (2, 2))
    yaws = random.uniform(-1.5, 1.5, 2)
    shares = np.linspace(0, 1, 600)
    outline = np.concatenate(
        [
            corner + np.linspace(0, 1, 200)[:, None] * (after - corner)
            for corner, after in zip(corners, np.roll(corners, -1, 0))
        ]
    )
    at, yaw = ends[0] + shares[:, None] * (ends[1] - ends[0]), yaws[0] + shares * (yaws[1] - yaws[0])
    cos, sin = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    x = at[:, :1] + cos * outline[:, 0] - sin * outline[:, 1]
    y = at[:, 1:] + sin * outline[:, 0] + cos * outline[:, 1]
    for cell in random.integers((5, 5), (55, 35), (60, 2)):
        depth = 0.5 - np.maximum(np.abs(x - cell[0] - 0.5), np.abs(y - cell[1] - 0.5)).min()
        if depth > 0.35 or depth < -0.05:
            met = hits(ends * 0.1, yaws, corners * 0.1, occupancy_with(cell))
            assert bool(met) == (depth > 0), (cell, depth)


def test_a_check_that_would_take_too_long_is_refused():
    points_m, yaws = np.array([(1.0, 2.0), (5.0, 2.0)] * 50), np.zeros(100)
    assert hits(points_m, yaws, LONG_ROBOT_M, occupancy_with()) == []
    long_m = np.array([(1.0, 2.0), (5.0, 2.0)] * 100)
    with pytest.raises(PathNotChecked, match=r'the outline has 64 points at 7961 places; .* must be at most 262144'):
        hits(long_m, np.zeros(200), LONG_ROBOT_M, occupancy_with())
    with pytest.raises(PathNotChecked, match=r'the footprint has .* points; it must have at most 262144'):
        hits(points_m, yaws, LONG_ROBOT_M * 1e12, occupancy_with())


def test_a_robot_of_one_metre_is_checked_along_a_straight_path_of_a_hundred_metres():
    """Its outline has 128 points, and the path a place in every cell: 2048 poses are within the limit."""
    geometry, occupancy = MapGeometry(2100, 40, 0.05), np.zeros((40, 2100), np.int8)
    corners_m = np.array([(0.5, 0.3), (0.5, -0.3), (-0.5, -0.3), (-0.5, 0.3)])
    points_m = np.column_stack((0.6 + 0.05 * np.arange(2049), np.full(2049, 1.0)))
    assert hits(points_m[:2048], np.zeros(2048), corners_m, occupancy, geometry=geometry) == []
    with pytest.raises(PathNotChecked, match='the outline has 128 points at 2049 places'):
        hits(points_m, np.zeros(2049), corners_m, occupancy, geometry=geometry)


def test_the_nearest_point_of_a_path_is_a_finite_one():
    points_m = np.array([(math.nan, 0.0), (2.0, 0.0), (1.0, 0.0)])
    assert nearest_point(points_m, Pose2D(1.2, 0.0)) == 2
