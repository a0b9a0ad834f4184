"""The safety oracle finds waypoints that are unsafe, and excuses only what a tick of latency explains."""

import math
from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.node.safety_oracle import ALLOWANCE_S, MAX_TICK_S, SafetyOracle, SafetyRules, SeenMap
from tb_planner.maps.costmap import CostmapConfig, costs_of
from tb_planner.search.sight import clear

PERIOD_S = 0.05
CELL_M = 0.1
LATE_S = PERIOD_S + ALLOWANCE_S
"""A map that is older than this must be known."""


def map_of(*rows, yaw=0.0, origin=(0.0, 0.0)):
    """A message like nav_msgs/OccupancyGrid; north is up, # is occupied, ? is unknown."""
    values = {'#': 100, '?': -1, '.': 0}
    cells = np.array([[values[letter] for letter in row] for row in rows[::-1]], np.int8)
    return message_of(cells, yaw, origin)


def message_of(cells, yaw=0.0, origin=(0.0, 0.0)):
    turn = SimpleNamespace(x=0.0, y=0.0, z=math.sin(yaw / 2), w=math.cos(yaw / 2))
    place = SimpleNamespace(position=SimpleNamespace(x=origin[0], y=origin[1]), orientation=turn)
    height, width = cells.shape
    info = SimpleNamespace(width=width, height=height, resolution=float(np.float32(CELL_M)), origin=place)
    return SimpleNamespace(info=info, data=array('b', cells.tobytes()))


def patch_of(x, y, cells):
    height, width = cells.shape
    return SimpleNamespace(x=x, y=y, width=width, height=height, data=array('b', cells.astype(np.int8).tobytes()))


def at(x, y):
    """A pose in cells: (0.5, 0.5) is the centre of the first cell."""
    return SimpleNamespace(pose=SimpleNamespace(position=SimpleNamespace(x=x * CELL_M, y=y * CELL_M)))


def judge(maps, robot, waypoint, *, patches=(), at_s=10.0, poses=(), **rules):
    """One waypoint, after a waypoint of the tick before, at which the robot stood still. maps: (message, time)."""
    oracle = SafetyOracle(SafetyRules(**{'robot_radius_m': 0.0, **rules}), PERIOD_S)
    for message, seen_s in maps:
        oracle.see_map(message, seen_s)
    for message, seen_s in patches:
        oracle.see_patch(message, seen_s)
    for message, seen_s in poses or [(at(*robot), 0.0)]:
        oracle.see_pose(message, seen_s)
    oracle.see_waypoint(at(*robot), at_s - PERIOD_S)
    oracle.see_waypoint(at(*waypoint), at_s)
    oracle.finish()
    assert oracle.judged == 2
    assert oracle.violation_count == len(oracle.violations) <= 1
    return oracle


OPEN = map_of(*['.......'] * 5)
WALL = map_of(*['...#...'] * 5)
SMALL_GAP = map_of('...#...', '...#...', '.......', '...#...', '...#...')
DIAGONAL = map_of('..#....', '..#....', '...#...', '...#...', '...#...')


# ---------------------------------------------------------------------- lines
def test_a_waypoint_in_sight_is_safe():
    assert not judge([(WALL, 0.0)], (0.5, 0.5), (2.5, 4.5)).violations


@pytest.mark.parametrize('waypoint', [(6.5, 2.5), (3.5, 2.5), (3.01, 2.5)])
def test_a_waypoint_through_or_in_a_wall_is_a_violation(waypoint):
    (violation,) = judge([(WALL, 0.0)], (0.5, 2.5), waypoint).violations
    assert violation.waypoint == pytest.approx((waypoint[0] * CELL_M, 2.5 * CELL_M))
    assert 3.0 * CELL_M <= violation.blocked_at[0] <= 4.0 * CELL_M
    assert 'is blocked at (0.3' in str(violation)


def test_a_wall_blocks_what_is_within_the_radius_of_the_robot():
    assert not judge([(WALL, 0.0)], (0.5, 0.5), (1.5, 4.5), robot_radius_m=0.1).violations
    assert judge([(WALL, 0.0)], (0.5, 0.5), (2.5, 4.5), robot_radius_m=0.1).violations
    assert not judge([(SMALL_GAP, 0.0)], (0.5, 2.5), (6.5, 2.5)).violations
    assert judge([(SMALL_GAP, 0.0)], (0.5, 2.5), (6.5, 2.5), robot_radius_m=0.1).violations


def test_a_line_through_the_gap_between_two_cells_that_touch_at_a_corner_is_a_violation():
    assert judge([(DIAGONAL, 0.0)], (2.5, 2.5), (3.5, 3.5)).violations
    assert judge([(DIAGONAL, 0.0)], (3.5, 3.5), (2.5, 2.5)).violations
    assert judge([(DIAGONAL, 0.0)], (1.2, 1.2), (4.7, 4.7)).violations
    mirrored = map_of('....#..', '....#..', '...#...', '...#...', '...#...')
    assert judge([(mirrored, 0.0)], (4.5, 2.5), (3.5, 3.5)).violations


def test_a_line_that_touches_one_corner_is_safe_and_one_that_cuts_it_is_not():
    corner = map_of('.......', '.......', '...#...', '...#...', '...#...')
    assert not judge([(corner, 0.0)], (1.5, 1.5), (4.5, 4.5)).violations
    assert judge([(corner, 0.0)], (1.52, 1.5), (4.52, 4.5)).violations


def test_a_line_along_the_edge_of_a_wall_is_safe_and_one_between_two_walls_is_not():
    assert not judge([(WALL, 0.0)], (3.0, 0.5), (3.0, 4.5)).violations
    assert judge([(map_of(*['..##...'] * 5), 0.0)], (3.0, 0.5), (3.0, 4.5)).violations


def test_all_is_blocked_outside_the_map():
    assert judge([(OPEN, 0.0)], (0.5, 0.5), (-0.5, 0.5)).violations
    assert judge([(OPEN, 0.0)], (0.5, 0.5), (90.5, 0.5)).violations


def test_unknown_cells_are_blocked_if_the_planner_must_not_cross_them():
    unknown = map_of(*['...?...'] * 5)
    assert not judge([(unknown, 0.0)], (0.5, 2.5), (6.5, 2.5)).violations
    assert judge([(unknown, 0.0)], (0.5, 2.5), (6.5, 2.5), allow_unknown=False).violations


def test_a_map_may_be_turned_and_shifted():
    turned = map_of(*['...#...'] * 5, yaw=math.pi / 2, origin=(1.0, 0.0))  # its wall is along x, at y from 3 to 4
    assert not judge([(turned, 0.0)], (5.5, 2.5), (9.5, 2.5)).violations
    assert judge([(turned, 0.0)], (7.5, 2.5), (7.5, 5.5)).violations


def test_lines_are_judged_as_the_planner_judges_them_wherever_rounding_does_not_matter():
    random = np.random.default_rng(3)
    rules, differ = SafetyRules(robot_radius_m=0.18), 0
    for _ in range(20):
        cells = np.where(random.random((40, 40)) < 0.02, 100, 0).astype(np.int8)
        config = CostmapConfig(resolution_m=CELL_M, robot_radius_m=0.18, inflation_radius_m=0.18)
        terrain = np.where(np.isinf(costs_of(cells, config)), 0, 16).astype(np.uint16)
        for _ in range(100):
            x0, y0, x1, y1 = random.uniform(0, 40, 4)
            if not terrain[int(y0), int(x0)]:
                continue  # an escape
            oracle = SafetyOracle(rules, PERIOD_S)
            oracle.see_map(message_of(cells), 0.0)
            oracle.see_pose(at(x0, y0), 0.0)
            oracle.see_waypoint(at(x1, y1), 1.0)
            oracle.finish()
            differ += bool(oracle.violations) == clear(terrain, x0, y0, x1, y1)
    assert differ == 0


# ---------------------------------------------------------------------- stops and escapes
def test_the_own_position_of_the_robot_is_safe_even_in_an_obstacle():
    oracle = judge([(WALL, 0.0)], (3.5, 2.5), (3.5, 2.5))
    assert not oracle.violations
    assert oracle.stops == 2


ROOM = map_of('.........', '.........', '....#....', '.........', '.........')


def test_a_robot_near_an_obstacle_may_leave_by_a_near_free_cell_but_not_through_the_obstacle():
    rules = {'robot_radius_m': 0.1, 'start_tolerance_m': 0.3}
    assert not judge([(ROOM, 0.0)], (3.5, 2.5), (2.5, 2.5), **rules).violations
    assert judge([(ROOM, 0.0)], (3.5, 2.5), (6.5, 2.5), **rules).violations
    assert judge([(ROOM, 0.0)], (3.5, 2.5), (3.7, 2.5), **rules).violations, 'it does not leave'


def test_a_robot_in_an_obstacle_may_leave_it_but_not_through_another_one():
    rules = {'robot_radius_m': 0.1, 'start_tolerance_m': 0.3}
    assert not judge([(ROOM, 0.0)], (4.3, 2.5), (2.5, 2.5), **rules).violations
    two = map_of('.........', '.........', '..#.#....', '.........', '.........')
    assert judge([(two, 0.0)], (4.3, 2.5), (0.5, 2.5), **rules).violations


def test_a_robot_in_a_blocked_cell_may_not_cross_blocked_cells_farther_than_its_tolerance():
    rules = {'robot_radius_m': 0.1, 'start_tolerance_m': 0.1}
    wide = map_of('.......', '.......', '.......', '.######', '.......')
    assert judge([(wide, 0.0)], (6.5, 2.5), (0.5, 3.5), **rules).violations
    assert not judge([(wide, 0.0)], (6.5, 2.5), (6.5, 4.5), **rules).violations


# ---------------------------------------------------------------------- latency
def test_a_map_that_came_within_a_tick_and_the_allowance_need_not_be_known():
    oracle = judge([(OPEN, 0.0), (WALL, 10.0 - LATE_S + 0.01)], (0.5, 2.5), (6.5, 2.5))
    assert not oracle.violations
    assert oracle.excused == 1
    assert oracle.excused_s == pytest.approx(LATE_S - 0.01)


def test_a_waypoint_on_a_map_that_is_older_is_a_violation():
    oracle = judge([(OPEN, 0.0), (WALL, 10.0 - LATE_S - 0.01)], (0.5, 2.5), (6.5, 2.5))
    assert len(oracle.violations) == 1
    assert oracle.excused == 0


def test_a_wall_that_every_possible_map_has_is_a_violation_however_new_the_maps_are():
    maps = [(WALL, 0.0), *((WALL, 10.0 - 0.01 * i) for i in range(20))]
    assert judge(maps, (0.5, 2.5), (6.5, 2.5)).violations


def test_a_waypoint_may_use_a_map_that_has_just_opened_but_not_one_of_the_future():
    assert not judge([(WALL, 0.0), (OPEN, 9.99)], (0.5, 2.5), (6.5, 2.5)).violations
    assert judge([(WALL, 0.0), (OPEN, 10.01)], (0.5, 2.5), (6.5, 2.5)).violations


def test_a_late_tick_may_miss_what_came_since_the_last_one_but_not_for_ever():
    for gap_s, is_excused in ((0.3, True), (5.0, False)):
        oracle = SafetyOracle(SafetyRules(robot_radius_m=0.0), PERIOD_S)
        for message, seen_s in ((OPEN, 0.0), (WALL, 10.0 - min(gap_s, MAX_TICK_S + ALLOWANCE_S + 0.1) + 0.01)):
            oracle.see_map(message, seen_s)
        oracle.see_pose(at(0.5, 2.5), 0.0)
        oracle.see_waypoint(at(0.5, 2.5), 10.0 - gap_s)
        oracle.see_waypoint(at(6.5, 2.5), 10.0)
        oracle.finish()
        assert (oracle.violation_count == 0) == is_excused


def test_the_line_begins_where_the_robot_can_have_been_and_not_where_it_was_long_ago():
    behind, here = at(4.5, 2.5), at(0.5, 2.5)
    poses = [(behind, 9.0), (here, 10.0 - ALLOWANCE_S + 0.01)]
    assert not judge([(WALL, 0.0)], (4.5, 2.5), (6.5, 2.5), poses=poses).violations
    poses = [(behind, 9.0), (here, 10.0 - ALLOWANCE_S - 0.01)]
    assert judge([(WALL, 0.0)], (4.5, 2.5), (6.5, 2.5), poses=poses).violations


def test_patches_belong_to_the_map_from_their_time_on():
    wall, gap = np.full((5, 1), 100), np.zeros((1, 1))
    patches = [(patch_of(3, 0, wall), 5.0)]
    assert judge([(OPEN, 0.0)], (0.5, 2.5), (6.5, 2.5), patches=patches).violations
    patches.append((patch_of(3, 2, gap), 6.0))
    assert not judge([(OPEN, 0.0)], (0.5, 2.5), (6.5, 2.5), patches=patches).violations
    assert judge([(OPEN, 0.0)], (0.5, 1.5), (6.5, 1.5), patches=patches).violations
    assert not judge([(OPEN, 7.0)], (0.5, 1.5), (6.5, 1.5), patches=patches).violations, 'the map contains them'


# ---------------------------------------------------------------------- a long run
def test_messages_that_arrive_late_still_count():
    oracle = SafetyOracle(SafetyRules(robot_radius_m=0.0), PERIOD_S)
    oracle.see_map(WALL, 0.0)
    oracle.see_pose(at(0.5, 2.5), 0.0)
    oracle.see_waypoint(at(6.5, 2.5), 10.0)
    oracle.see_map(OPEN, 9.0)
    oracle.finish()
    assert (oracle.judged, oracle.violation_count) == (1, 0)


def test_a_waypoint_before_the_first_map_or_pose_is_not_judged():
    oracle = SafetyOracle(SafetyRules(), PERIOD_S)
    oracle.see_waypoint(at(0.5, 0.5), 10.0)
    oracle.finish()
    assert (oracle.judged, oracle.unjudged) == (0, 1)


def test_a_long_run_keeps_only_the_last_messages():
    oracle = SafetyOracle(SafetyRules(robot_radius_m=0.0), PERIOD_S)
    for tick in range(2000):
        at_s = tick * PERIOD_S
        oracle.see_map(OPEN if tick % 2 else WALL, at_s)
        oracle.see_pose(at(0.5, 2.5), at_s)
        oracle.see_waypoint(at(1.5, 2.5), at_s)
    assert oracle.judged > 1900
    kept = [len(timeline.items) for timeline in (oracle._maps, oracle._poses, oracle._waypoints)]
    assert max(kept) <= 40


def test_the_resolution_of_a_message_is_the_decimal_number_that_was_meant():
    assert SeenMap.from_message(OPEN).resolution_m == CELL_M
