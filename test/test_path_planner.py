"""PathPlanner: paths that somebody asks for, again and again, while the map changes."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from helpers.trip import free_room, picture, settings

from tb_planner import Grid, find_path, rtba_star, tb_gbfs, tb_wa_star, tba_star
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.live_map import LiveMap, MapUpdate
from tb_planner.navigation import path_planner as module
from tb_planner.navigation.path_planner import MAX_BEHIND_M, MAX_SEGMENTS_PER_STEP, PathPlanner, PathStatus
from tb_planner.search.planner import TimeBoundedPlanner

S = PathStatus
CELL_M = 0.1

WALL_WITH_DOORS = """
    ....................
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    .........#..........
    ....................
    """


class Desk:
    """Asks for paths on a map in two grids, of which one is searched while the other is changed."""

    def __init__(self, blocked, *, tolerance_m=0.3, origin=(0.0, 0.0, 0.0), **changes):
        self.enquiry = PathPlanner(settings(**changes), tolerance_m)
        self.show(blocked, origin=origin)

    def show(self, values, origin=(0.0, 0.0, 0.0)):
        """A map of a geometry of its own."""
        height, width = values.shape
        self.values = values.copy()
        self.geometry = MapGeometry(width, height, CELL_M, origin)
        self.grid, self.other = Grid(values), Grid(values)
        self.enquiry.update_map(MapUpdate(self.geometry, self.grid, None))

    def change(self, values):
        """The same geometry; the grid that was searched so far is spoilt, since nobody may read it any more."""
        change = self.other.update(values)
        spoilt, self.grid, self.other = self.grid, self.other, Grid(values)
        self.enquiry.update_map(MapUpdate(self.geometry, self.grid, change))
        spoilt.cost_u16[...] = 0
        spoilt.legal_moves[...] = 0
        self.values = values.copy()

    def block(self, *cells, free=False):
        values = self.values.copy()
        for x, y in cells:
            values[y, x] = not free
        self.change(values)

    def ask(self, start, *goals, robot=True, steps=1, k=None, anew=False):
        self.enquiry.request(
            Pose2D(*start), [Pose2D(*goal) for goal in goals], start_is_robot=robot, controller_stopped=anew
        )
        for _ in range(steps):
            answer = self.enquiry.step(lambda planner: planner.search(k))
        return answer

    def cost(self, answer):
        """Of a path, in cells, from centre to centre."""
        cells = [self.geometry.cell_at(*point) for point in answer.path.points_m.tolist()]
        assert not any(self.values[y, x] for x, y in cells)
        assert all(self.grid.step_cost(a, b) < math.inf for a, b in itertools.pairwise(cells) if a != b)
        return sum(self.grid.step_cost(a, b) for a, b in itertools.pairwise(cells) if a != b)


def shortest(values, start, goal):
    return find_path(Grid(values), start, goal).cost


# ------------------------------------------------------------------------------------------------------ paths
@pytest.mark.parametrize('algorithm', [tba_star(), tb_wa_star(1.5), tb_gbfs(), rtba_star()], ids=lambda a: a.name)
def test_a_path_leads_from_the_exact_start_to_the_exact_goal(algorithm):
    desk = Desk(picture(WALL_WITH_DOORS), algorithm=algorithm)
    answer = desk.ask((0.32, 0.57), (1.78, 0.51, 1.0))
    assert answer.status == S.FOUND
    assert answer.path.points_m[0].tolist() == [0.32, 0.57]
    assert answer.path.points_m[-1].tolist() == [1.78, 0.51]
    assert answer.path.ends == (len(answer.path.points_m) - 1,)
    assert np.abs(np.diff(answer.path.points_m, axis=0)).max() <= 0.15 + 1e-9
    if algorithm == tba_star():
        assert desk.cost(answer) == pytest.approx(shortest(desk.values, (3, 5), (17, 5)))


def test_while_the_search_is_not_finished_there_is_no_path_at_all():
    desk = Desk(picture(WALL_WITH_DOORS))
    answer = desk.ask((0.35, 0.55), (1.75, 0.55), k=1)
    statuses = []
    while answer.status == S.SEARCHING:
        assert answer.path is None
        statuses.append(answer.status)
        answer = desk.enquiry.step(lambda planner: planner.search(1))
    assert answer.status == S.FOUND
    assert len(statuses) > 10
    assert desk.enquiry.searches == 1


def test_a_path_from_a_place_to_itself_is_that_place():
    answer = Desk(free_room(10, 10)).ask((0.5, 0.5), (0.5, 0.5, 2.0))
    assert answer.path.points_m.tolist() == [[0.5, 0.5]]
    assert answer.path.ends == (0,)


def test_a_path_within_a_cell_has_both_places():
    answer = Desk(free_room(10, 10)).ask((0.52, 0.52), (0.58, 0.57))
    assert answer.path.points_m.tolist() == [[0.52, 0.52], [0.58, 0.57]]


def test_a_path_through_goals_visits_each_in_order_and_each_leg_is_a_shortest_one():
    desk = Desk(picture(WALL_WITH_DOORS), algorithm=tba_star())
    goals = (1.75, 0.55), (1.75, 0.15), (0.25, 0.85)
    answer = desk.ask((0.35, 0.55), *goals, steps=2)
    assert [tuple(answer.path.points_m[end]) for end in answer.path.ends] == list(goals)
    stops = [(3, 5), (17, 5), (17, 1), (2, 8)]
    expected = sum(shortest(desk.values, a, b) for a, b in itertools.pairwise(stops))
    assert desk.cost(answer) == pytest.approx(expected)


def test_equal_goals_in_a_row_add_nothing():
    answer = Desk(free_room(20, 10)).ask((0.35, 0.55), (1.75, 0.55), (1.75, 0.55))
    assert answer.path.ends == (len(answer.path.points_m) - 1,) * 2
    assert np.hypot(*np.diff(answer.path.points_m, axis=0).T).min() > 0


def test_many_goals_take_several_steps():
    goals = [(0.15 + 0.1 * (i % 15), 0.15 + 0.2 * (i % 2)) for i in range(3 * MAX_SEGMENTS_PER_STEP)]
    desk = Desk(free_room(20, 10))
    assert desk.ask((0.05, 0.05), *goals, steps=2).status == S.SEARCHING
    answer = desk.ask((0.05, 0.05), *goals, steps=2)
    assert answer.status == S.FOUND
    assert len(answer.path.ends) == len(goals)


def test_a_request_without_goals_is_refused():
    with pytest.raises(ValueError, match='0 goals; it must have at least 1'):
        Desk(free_room(5, 5)).ask((0.1, 0.1))


def test_nothing_is_told_before_there_is_a_map():
    enquiry = PathPlanner(settings(), 0.3)
    enquiry.request(Pose2D(0.1, 0.1), [Pose2D(0.2, 0.2)], start_is_robot=True)
    assert enquiry.step(TimeBoundedPlanner.search).status == S.WAITING_FOR_MAP


# ------------------------------------------------------------------------------------------------------ no path
def test_what_cannot_be_is_told_in_nav2s_order():
    blocked = free_room(20, 20)
    blocked[0:9, 0:9] = True  # more than the tolerances reach, around (0.4, 0.4)
    blocked[11:20, 11:20] = True  # around (1.5, 1.5)
    desk = Desk(blocked)
    inside, occupied, outside, goal_occupied = (0.5, 1.5), (0.45, 0.45), (-0.5, 0.5), (1.55, 1.55)
    assert desk.ask(outside, outside).status == S.START_OUTSIDE_MAP
    assert desk.ask(occupied, outside).status == S.GOAL_OUTSIDE_MAP
    assert desk.ask(occupied, goal_occupied).status == S.START_OCCUPIED
    assert desk.ask(inside, goal_occupied).status == S.GOAL_OCCUPIED
    assert desk.ask(inside, (1.5, 0.5), outside).status == S.GOAL_OUTSIDE_MAP
    assert 'outside the map of 20 x 20 cells of 0.1 m' in desk.ask(inside, outside).message
    assert 'blocked, and so is all within 0.3 m' in desk.ask(inside, goal_occupied).message
    assert 'blocked, and nothing free within 0.3 m' in desk.ask(occupied, goal_occupied).message
    assert desk.ask(inside, (1.5, 0.5)).status == S.FOUND


def test_no_path_is_told_of_the_present_map_and_needs_no_search_the_second_time():
    blocked = picture(WALL_WITH_DOORS)
    blocked[:, 9] = True
    desk = Desk(blocked)
    answer = desk.ask((0.35, 0.55), (1.75, 0.55), steps=2)
    assert answer.status == S.NO_VALID_PATH
    assert 'within 0.3 m' in answer.message
    searches = desk.enquiry.searches
    assert desk.ask((0.35, 0.55), (1.75, 0.55)).status == S.NO_VALID_PATH
    assert desk.enquiry.searches == searches
    desk.block((9, 0), free=True)
    assert desk.ask((0.35, 0.55), (1.75, 0.55), steps=2).status == S.FOUND


def test_no_path_from_one_side_says_nothing_of_the_other():
    blocked = picture(WALL_WITH_DOORS)
    blocked[:, 9] = True
    desk = Desk(blocked)
    assert desk.ask((0.35, 0.55), (1.75, 0.55), steps=2).status == S.NO_VALID_PATH
    assert desk.ask((1.15, 0.55), (1.75, 0.55), steps=2).status == S.FOUND


def test_no_path_is_not_told_while_the_map_changes_under_the_search():
    blocked = picture(WALL_WITH_DOORS)
    blocked[:, 9] = True
    desk = Desk(blocked)
    assert desk.ask((0.35, 0.55), (1.75, 0.55), k=60).status == S.SEARCHING
    desk.block((9, 5), free=True)  # the search has been there already
    for _ in range(20):
        answer = desk.ask((0.35, 0.55), (1.75, 0.55), k=60)
        assert answer.status in (S.SEARCHING, S.FOUND)
    assert answer.status == S.FOUND
    assert desk.enquiry.searches == 2, 'it has started over, and that is told'


def test_a_path_to_a_blocked_goal_ends_at_the_free_cell_nearest_to_it_within_the_tolerance():
    desk = Desk(picture(WALL_WITH_DOORS), tolerance_m=0.1)
    answer = desk.ask((0.35, 0.55), (0.95, 0.55))
    assert answer.path.points_m[-1] == pytest.approx((0.85, 0.55))
    desk.block((9, 5), free=True)
    again = desk.ask((0.35, 0.55), (0.95, 0.55))
    assert again.path.points_m[-1] == pytest.approx((0.95, 0.55))


def test_a_path_to_a_goal_that_is_cut_off_ends_where_a_way_comes_nearest_to_it():
    blocked = free_room(20, 10)
    blocked[:, 12] = True
    desk = Desk(blocked, tolerance_m=0.3)
    answer = desk.ask((0.35, 0.55), (1.35, 0.55), steps=3)
    assert answer.status == S.FOUND
    assert answer.path.points_m[-1] == pytest.approx((1.15, 0.55))
    desk.block((2, 2))
    assert desk.ask((0.35, 0.55), (1.35, 0.55)).path is answer.path
    assert desk.ask((0.35, 0.55), (1.65, 0.55), steps=3).status == S.NO_VALID_PATH


def test_a_goal_that_is_cut_off_takes_no_look_at_the_whole_map():
    """Of 4,000,000 cells; the search has seen a room of 100. No tick may grow with the map."""
    blocked = free_room(2000, 2000)
    blocked[:12, 11] = blocked[11, :12] = True
    desk = Desk(blocked, tolerance_m=0.3)
    desk.ask((0.35, 0.55), (1.35, 0.55), k=1)
    tracemalloc.start()
    try:
        answer = desk.ask((0.35, 0.55), (1.35, 0.55), steps=3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.path.points_m[-1] == pytest.approx((1.05, 0.55))
    assert peak < 200_000, 'bytes; a byte for each cell of the map is 4,000,000'


def test_a_search_that_finds_the_same_way_again_leaves_the_answer_as_it_is():
    """The goal is cut off, and what comes free anywhere might open a way to it."""
    blocked = free_room(20, 10)
    blocked[:, 12] = True
    desk = Desk(blocked, tolerance_m=0.3)
    path = desk.ask((0.35, 0.55), (1.35, 0.55), steps=3).path
    searches = desk.enquiry.searches
    for x in (16, 17, 18):
        desk.block((x, 2))
        desk.block((x, 2), free=True)
        assert desk.ask((0.35, 0.55), (1.35, 0.55), steps=3).path is path
    assert desk.enquiry.searches > searches
    assert desk.ask(tuple(path.points_m[3]), (1.35, 0.55)).path is path


@pytest.mark.parametrize('when', ['with a path', 'while it is searched for'])
def test_when_a_goal_is_cut_off_no_more_the_path_leads_there(when):
    blocked = free_room(20, 10)
    blocked[:, 12] = True
    desk = Desk(blocked, tolerance_m=0.3)
    answer = desk.ask((0.35, 0.55), (1.35, 0.55), steps=3 if when == 'with a path' else 1)
    assert (answer.status == S.FOUND) == (when == 'with a path')
    desk.change(free_room(20, 10))
    answer = desk.ask((0.35, 0.55), (1.35, 0.55), steps=3)
    assert answer.path.points_m[-1] == pytest.approx((1.35, 0.55))


def test_a_robot_in_an_obstacles_margin_gets_a_path_from_where_it_is():
    blocked = free_room(20, 10)
    blocked[4:7, 2:5] = True
    desk = Desk(blocked, start_tolerance_m=0.3)
    answer = desk.ask((0.35, 0.55), (1.75, 0.55))
    assert answer.path.points_m[0].tolist() == [0.35, 0.55]
    assert not blocked[desk.geometry.cell_at(*answer.path.points_m[1])[::-1]]


@pytest.mark.parametrize('is_open', [False, True])
def test_on_a_costmap_a_robot_in_a_walls_margin_is_not_led_through_the_wall(is_open):
    """Which has free cells nearer on its other side than where the robot is, all of which is margin."""
    cells = np.zeros((60, 60), np.int8)
    cells[:, 8:25] = 99
    cells[:, (12, 20)] = 100
    if is_open:
        cells[20:24, 13:20] = 0
    live_map = LiveMap(lambda resolution_m: CostmapConfig(resolution_m=resolution_m))
    live_map.full(cells, MapGeometry(60, 60, 0.05))
    enquiry = PathPlanner(settings(start_tolerance_m=0.4), 0.5)
    enquiry.update_map(live_map.latest())
    enquiry.request(Pose2D(0.925, 1.275), [Pose2D(0.825, 1.075)], start_is_robot=True)
    answer = enquiry.step(lambda planner: planner.search(10_000))
    assert answer.status == (S.FOUND if is_open else S.START_OCCUPIED)
    if is_open:
        x, y = (answer.path.points_m[1] / 0.05).astype(int)
        assert 13 <= x < 20
        assert y == 23


def test_a_search_that_a_map_starts_over_counts_as_another_one():
    """Blocked right before the start, where the search's best path goes."""
    desk = Desk(free_room(40, 20))
    desk.ask((0.35, 0.95), (3.65, 0.95), k=5)
    assert desk.enquiry.searches == 1
    desk.block((5, 9))
    assert desk.enquiry.searches == 2
    assert desk.ask((0.35, 0.95), (3.65, 0.95)).status == S.FOUND
    assert desk.enquiry.searches == 2


def test_a_search_that_is_done_does_not_count_again_when_the_map_changes():
    """Its memory is kept, and has to know of the map; nobody waits for what it would find."""
    desk = Desk(free_room(40, 20))
    assert desk.ask((0.35, 0.95), (3.65, 0.95)).status == S.FOUND
    desk.block((20, 9))
    desk.block((20, 9), free=True)
    assert desk.enquiry.searches == 1
    assert desk.ask((0.35, 0.95), (3.65, 0.95)).status == S.FOUND
    assert desk.enquiry.searches == 2


# ------------------------------------------------------------------------------------------------------ asked again
def test_the_same_request_gets_the_same_path_while_the_map_changes_elsewhere():
    desk = Desk(picture(WALL_WITH_DOORS))
    path = desk.ask((0.35, 0.15), (1.75, 0.15)).path
    searches = desk.enquiry.searches
    for i in range(10):
        desk.block((3 + i, 8), free=i % 2)
        assert desk.ask((0.35, 0.15), (1.75, 0.15)).path is path
    assert desk.enquiry.searches == searches


def test_a_robot_on_its_path_gets_the_same_path():
    desk = Desk(picture(WALL_WITH_DOORS))
    path = desk.ask((0.35, 0.55), (1.75, 0.55)).path
    for x, y in path.points_m.tolist():
        assert desk.ask((x + 0.03, y - 0.02), (1.75, 0.55)).path is path
    assert desk.enquiry.searches == 1


def told_along(desk, path, *goals):
    """What a robot is told that goes along a path from point to point, and begins anew at each; each that is another
    one than before."""
    told = [path]
    for point in path.points_m:
        answer = desk.ask(point + 0.02, *goals, anew=True).path
        if answer is not told[-1]:
            told.append(answer)
    return told


def behind_m(path, place):
    """How much of a path lies behind a place on it."""
    at = int(np.hypot(*(path.points_m - place).T).argmin())
    return float(np.hypot(*np.diff(path.points_m[: at + 1], axis=0).T).sum())


def test_a_robot_that_begins_anew_far_along_its_path_is_told_the_rest_of_it():
    desk = Desk(free_room(90, 30))
    goal = (8.52, 2.57, 1.0)
    path = desk.ask((0.32, 0.18), goal).path
    first, *others = told_along(desk, path, goal)
    assert first is path
    assert len(others) == 8, 'of 9.3 m'
    for before, after in itertools.pairwise((first, *others)):
        begin = len(before.points_m) - len(after.points_m)
        assert after.points_m.tolist() == before.points_m[begin:].tolist()
        assert MAX_BEHIND_M < behind_m(before, after.points_m[0]) < MAX_BEHIND_M + 0.2
        assert after.ends == (len(after.points_m) - 1,)
    assert desk.enquiry.searches == 1


def test_the_rest_of_a_path_has_two_points_at_least_and_passes_all_goals():
    desk = Desk(free_room(90, 30))
    goals = [(4.05, 0.55), (8.05, 0.55), (8.05, 2.75)]
    path = desk.ask((0.35, 0.55), *goals, steps=2).path
    assert desk.ask((3.55, 0.55), *goals).path is path
    rest = desk.ask((3.55, 0.55), *goals, anew=True).path
    assert rest.points_m.tolist() == path.points_m[32:].tolist()
    assert [tuple(rest.points_m[end]) for end in rest.ends] == goals
    assert desk.ask((7.55, 0.55), *goals, anew=True).path is rest, 'the first goal is asked for still'
    *_, last = told_along(desk, desk.ask((3.55, 0.55), *goals[1:]).path, *goals[1:])
    assert tuple(last.points_m[last.ends[-1]]) == goals[-1]
    end = desk.ask((0.35, 0.55), (2.85, 0.55)).path
    assert desk.ask((2.85, 0.55), (2.85, 0.55), anew=True).path.points_m.tolist() == end.points_m[-2:].tolist()


def test_a_path_that_is_held_is_told_from_the_robot_on_too():
    desk = Desk(picture(WALL_WITH_DOORS), algorithm=tba_star())
    desk.show(np.pad(desk.values, ((0, 0), (30, 0))))
    path = desk.ask((0.35, 0.55), (4.75, 0.55)).path
    desk.block((39, 5), (39, 6), free=True)  # a door in the wall that the path goes around
    for x, is_same in ((0.35, True), (1.05, True), (2.95, False)):
        assert desk.ask((x, 0.55), (4.75, 0.55), k=1, anew=True).status == S.SEARCHING
        assert (desk.enquiry.held_path is path) == is_same
    held = desk.enquiry.held_path
    assert held.points_m.tolist() == path.points_m[len(path.points_m) - len(held.points_m) :].tolist()
    assert math.dist(held.points_m[0], (2.95, 0.55)) < 0.1


def test_what_is_blocked_behind_the_robot_does_not_matter():
    desk = Desk(picture(WALL_WITH_DOORS))
    path = desk.ask((0.35, 0.55), (1.75, 0.55)).path
    half = path.points_m[len(path.points_m) // 2]
    assert desk.ask(half, (1.75, 0.55)).path is path
    desk.block(desk.geometry.cell_at(*path.points_m[2]))
    assert desk.ask(half, (1.75, 0.55)).path is path


def test_on_a_path_that_comes_back_nothing_of_it_is_skipped():
    desk = Desk(free_room(40, 5), algorithm=tba_star())
    goals = (3.75, 0.15), (0.45, 0.25)
    path = desk.ask((0.35, 0.15), *goals).path
    beside = (0.46, 0.24)  # on its way, but nearer to the end of the path
    assert desk.ask(beside, *goals).path is path
    desk.block(desk.geometry.cell_at(*path.points_m[15]))
    answer = desk.ask(beside, *goals)
    assert answer.path is not path
    assert desk.cost(answer) > 0


def test_a_robot_off_its_path_gets_a_path_from_where_it_is():
    desk = Desk(picture(WALL_WITH_DOORS), deviation_tolerance_m=0.2)
    path = desk.ask((0.35, 0.15), (1.75, 0.15)).path
    other = desk.ask((0.35, 0.85), (1.75, 0.15)).path
    assert other is not path
    assert other.points_m[0].tolist() == [0.35, 0.85]


def test_a_robot_behind_a_wall_from_its_path_is_not_on_it():
    blocked = free_room(20, 10)
    blocked[5, :18] = True
    desk = Desk(blocked, deviation_tolerance_m=0.5)
    path = desk.ask((0.35, 0.45), (1.55, 0.45)).path
    assert desk.ask((0.95, 0.65), (1.55, 0.45)).path is not path


def test_a_path_from_a_given_start_serves_for_that_start_alone():
    desk = Desk(free_room(20, 10))
    path = desk.ask((0.35, 0.55), (1.75, 0.55), robot=False).path
    assert desk.ask((0.35, 0.55), (1.75, 0.55), robot=False).path is path
    assert desk.ask((0.55, 0.55), (1.75, 0.55), robot=False).path.points_m[0].tolist() == [0.55, 0.55]


@pytest.mark.parametrize('goals', [[(1.75, 0.65)], [(1.75, 0.55, 1.0)], [(1.75, 0.55), (1.55, 0.55)]])
def test_other_goals_get_another_path(goals):
    desk = Desk(free_room(20, 10))
    path = desk.ask((0.35, 0.55), (1.75, 0.55)).path
    assert desk.ask((0.35, 0.55), *goals).path is not path


def test_a_change_on_the_path_makes_another_one():
    desk = Desk(picture(WALL_WITH_DOORS), algorithm=tba_star())
    path = desk.ask((0.35, 0.25), (1.75, 0.25)).path
    desk.block((9, 0))
    answer = desk.ask((0.35, 0.25), (1.75, 0.25))
    assert answer.path is not path
    assert desk.cost(answer) == pytest.approx(shortest(desk.values, (3, 2), (17, 2)))


def test_a_blocked_leg_that_was_found_is_searched_for_again():
    desk = Desk(picture(WALL_WITH_DOORS), algorithm=tba_star())
    goals = (1.75, 0.15), (1.75, 0.85), (0.35, 0.85)
    answer = desk.ask((0.35, 0.15), *goals, k=5)
    while not desk.enquiry._segments:
        answer = desk.enquiry.step(lambda planner: planner.search(5))
    assert answer.status == S.SEARCHING
    desk.block((9, 0))
    answer = desk.ask((0.35, 0.15), *goals, steps=2)
    stops = [(3, 1), (17, 1), (17, 8), (3, 8)]
    assert desk.cost(answer) == pytest.approx(sum(shortest(desk.values, a, b) for a, b in itertools.pairwise(stops)))


def test_a_shorter_way_that_opens_makes_another_path_and_a_hardly_shorter_one_does_not():
    blocked = picture(WALL_WITH_DOORS)
    blocked[0, 9] = True
    desk = Desk(blocked, algorithm=tba_star(), min_improvement=0.2)
    path = desk.ask((0.35, 0.15), (1.75, 0.15)).path
    desk.block((9, 8), free=True)
    assert desk.ask((0.35, 0.15), (1.75, 0.15)).path is path
    desk.block((9, 1), free=True)
    answer = desk.ask((0.35, 0.15), (1.75, 0.15))
    assert desk.cost(answer) == pytest.approx(14.0)


def closed_door():
    """And the door's cell: once it is open the way is much shorter."""
    blocked = picture(WALL_WITH_DOORS)
    blocked[0, 9] = True
    return blocked, (9, 1)


def test_an_older_path_is_held_while_a_shorter_one_is_searched_for():
    blocked, door = closed_door()
    desk = Desk(blocked, algorithm=tba_star())
    path = desk.ask((0.35, 0.15), (1.75, 0.15)).path
    assert desk.enquiry.held_path is None
    desk.block(door, free=True)
    assert desk.ask((0.35, 0.15), (1.75, 0.15), k=1).status == S.SEARCHING
    assert desk.enquiry.held_path is path
    along = path.points_m[4]  # the robot goes on by it, and the search begins there
    assert desk.ask(along, (1.75, 0.15), k=1).status == S.SEARCHING
    assert desk.enquiry.held_path is path
    answer = desk.ask(along, (1.75, 0.15))
    assert answer.status == S.FOUND
    assert len(answer.path.points_m) < len(path.points_m)
    assert desk.enquiry.held_path is None


def held_by(desk):
    """A desk's path that is held, with a search for another one under way."""
    path = desk.ask((0.35, 0.15), (1.75, 0.15)).path
    desk.block((9, 1), free=True)
    desk.ask((0.35, 0.15), (1.75, 0.15), k=1)
    assert desk.enquiry.held_path is path
    return path


def test_a_path_that_is_blocked_is_not_held():
    desk = Desk(closed_door()[0], algorithm=tba_star())
    path = held_by(desk)
    desk.block(desk.geometry.cell_at(*path.points_m[8]))
    assert desk.enquiry.held_path is None
    desk = Desk(picture(WALL_WITH_DOORS))
    path = desk.ask((0.35, 0.55), (1.75, 0.55)).path
    desk.block(desk.geometry.cell_at(*path.points_m[8]))
    desk.ask((0.35, 0.55), (1.75, 0.55), k=1)
    assert desk.enquiry.held_path is None


@pytest.mark.parametrize(
    ('start', 'goal', 'robot'),
    [((0.15, 0.95), (1.75, 0.15), True), ((0.35, 0.15), (1.65, 0.15), True), ((0.35, 0.15), (1.75, 0.15), False)],
    ids=['robot elsewhere', 'other goal', 'given start'],
)
def test_a_path_is_held_for_the_robot_that_is_on_it_alone(start, goal, robot):
    desk = Desk(closed_door()[0], algorithm=tba_star())
    held_by(desk)
    desk.ask(start, goal, k=1, robot=robot)
    assert desk.enquiry.held_path is None


def test_a_search_goes_on_with_the_next_request():
    desk = Desk(picture(WALL_WITH_DOORS))
    for i in range(200):
        answer = desk.ask((0.35 + 0.001 * (i % 3), 0.55), (1.75, 0.55), k=1)
        if answer.status == S.FOUND:
            break
    assert answer.status == S.FOUND
    assert i > 10
    assert desk.enquiry.searches == 1


def test_on_a_map_that_grows_the_path_stays_and_on_one_that_puts_a_wall_there_it_does_not():
    desk = Desk(picture(WALL_WITH_DOORS))
    path = desk.ask((0.35, 0.25), (1.75, 0.25)).path
    larger = np.pad(desk.values, ((3, 4), (5, 0)))
    desk.show(larger, origin=(-0.5, -0.3, 0.0))
    assert desk.ask((0.35, 0.25), (1.75, 0.25)).path is path
    larger[3, 14] = True
    desk.show(larger, origin=(-0.5, -0.3, 0.0))
    answer = desk.ask((0.35, 0.25), (1.75, 0.25))
    assert answer.path is not path
    assert desk.cost(answer) > 0
    desk.block((14, 11))
    assert desk.ask((0.35, 0.25), (1.75, 0.25)).path is not None


def test_on_a_map_that_grows_a_path_stays_only_if_each_step_of_it_is_legal_there():
    """Not if a way beside it is."""
    desk = Desk(free_room(20, 20), algorithm=tba_star())
    path = desk.ask((0.05, 0.05), (1.55, 1.55)).path
    larger = np.pad(desk.values, ((0, 0), (0, 1)))
    larger[4, 5] = True  # at the corner of a diagonal step
    desk.show(larger)
    answer = desk.ask((0.05, 0.05), (1.55, 1.55))
    assert answer.path is not path
    assert desk.cost(answer) == pytest.approx(shortest(larger, (0, 0), (15, 15)))


def test_on_a_finer_map_what_stands_between_the_points_of_a_path_is_seen():
    desk = Desk(free_room(20, 20))
    path = desk.ask((0.05, 0.55), (1.55, 0.55)).path
    for pole in (False, True):
        blocked = np.zeros((40, 40), bool)
        blocked[9:13, 16] = pole  # around x = 0.825; the points are at 0.75 and 0.85
        desk.enquiry.update_map(MapUpdate(MapGeometry(40, 40, CELL_M / 2), Grid(blocked), None))
        assert (desk.ask((0.05, 0.55), (1.55, 0.55)).path is path) == (not pole)


def test_on_a_map_that_grows_a_path_to_a_blocked_goal_ends_there_once_it_is_free():
    desk = Desk(picture(WALL_WITH_DOORS), tolerance_m=0.1)
    assert desk.ask((0.35, 0.55), (0.95, 0.55)).path.points_m[-1] == pytest.approx((0.85, 0.55))
    desk.show(np.pad(desk.values, ((0, 1), (0, 0))))
    desk.block((9, 5), free=True)
    assert desk.ask((0.35, 0.55), (0.95, 0.55)).path.points_m[-1] == pytest.approx((0.95, 0.55))


def seen_from(world, left):
    """A window of 30 columns, as a rolling costmap has it: its values and its origin."""
    return world[:, left : left + 30], (left * CELL_M, 0.0, 0.0)


@pytest.mark.parametrize('finer', [1, 2], ids=['same cells', 'then smaller cells'])
def test_on_a_map_that_rolls_along_with_the_robot_a_path_through_poses_stays_and_so_does_its_rest(finer):
    world = np.zeros((20, 50), bool)
    world[5:15, 22] = True
    desk = Desk(seen_from(world, 0)[0])
    goals = [(2.55, 0.95), (2.55, 1.75), (2.05, 1.75)]
    path = desk.ask((0.55, 0.95), *goals, steps=3).path
    searches = desk.enquiry.searches
    for left in range(1, 15):
        desk.show(*seen_from(world, left))
        assert desk.ask(path.points_m[left], *goals).path is path
    assert desk.enquiry.searches == searches
    values, origin = seen_from(world, 15)
    values = np.kron(values, np.ones((finer, finer), bool))
    geometry = MapGeometry(values.shape[1], values.shape[0], CELL_M / finer, origin)
    desk.enquiry.update_map(MapUpdate(geometry, Grid(values), None))
    near = path.ends[0] - 3
    rest = desk.ask(path.points_m[near], *goals[1:]).path
    assert rest.points_m.tolist() == path.points_m[near:].tolist()
    assert [tuple(rest.points_m[end]) for end in rest.ends] == goals[1:]
    assert desk.ask(rest.points_m[5], *goals[1:]).path is rest
    last = desk.ask(rest.points_m[rest.ends[0]], goals[-1]).path
    assert last.points_m.tolist() == rest.points_m[rest.ends[0] :].tolist()
    assert desk.enquiry.searches == searches


def test_a_path_that_ends_near_its_goal_is_held_on_a_map_that_moves_until_there_is_another():
    desk = Desk(picture(WALL_WITH_DOORS), tolerance_m=0.1)
    path = desk.ask((0.35, 0.55), (0.95, 0.55)).path
    for pad in (1, 2):
        desk.show(np.pad(desk.values, ((0, pad), (0, 0))))
        answer = desk.ask((0.35, 0.55), (0.95, 0.55), k=1)
        assert (answer.status, desk.enquiry.held_path) == (S.SEARCHING, path)
    desk.block((6, 5))
    assert desk.enquiry.held_path is None, 'it is blocked'
    desk.show(np.pad(desk.values, ((0, 1), (0, 0))))
    assert desk.ask((0.35, 0.55), (0.95, 0.55), k=1).path is desk.enquiry.held_path is None
    assert desk.ask((0.35, 0.55), (0.95, 0.55)).status == S.FOUND


def test_another_algorithm_finds_another_path_and_other_lengths_do_not():
    desk = Desk(picture(WALL_WITH_DOORS))
    path = desk.ask((0.35, 0.25), (1.75, 0.25)).path
    desk.enquiry.change(settings(waypoint_distance_m=2.0), 0.3)
    assert desk.ask((0.35, 0.25), (1.75, 0.25)).path is path
    desk.enquiry.change(settings(algorithm=tba_star()), 0.3)
    assert desk.ask((0.35, 0.25), (1.75, 0.25)).path is not path


def test_when_the_robot_is_done_with_a_goal_the_rest_of_its_path_serves():
    """As with Nav2's RemovePassedGoals."""
    desk = Desk(picture(WALL_WITH_DOORS))
    goals = [(1.75, 0.15, 1.0), (1.75, 0.85, 2.0), (0.35, 0.85, 3.0)]
    path = desk.ask((0.35, 0.15), *goals, steps=2).path
    searches = desk.enquiry.searches
    near = path.points_m[path.ends[0] - 5]
    rest = desk.ask(near + 0.02, *goals[1:]).path
    assert rest.points_m.tolist() == path.points_m[path.ends[0] - 5 :].tolist()
    assert [tuple(rest.points_m[end]) for end in rest.ends] == [goal[:2] for goal in goals[1:]]
    assert desk.ask(rest.points_m[7], *goals[1:]).path is rest
    assert desk.enquiry.searches == searches
    desk.block((2, 2))
    assert desk.ask(rest.points_m[7], *goals[1:]).path is rest
    desk.block(desk.geometry.cell_at(*rest.points_m[-5]))
    other = desk.ask(rest.points_m[7], *goals[1:], steps=2)
    assert other.path is not rest
    assert desk.cost(other) > 0


def test_a_goal_left_out_far_from_it_makes_another_path():
    desk = Desk(free_room(40, 10))
    path = desk.ask((0.35, 0.15), (3.75, 0.15), (0.35, 0.85)).path
    straight = desk.ask((0.35, 0.15), (0.35, 0.85)).path
    assert len(straight.points_m) < len(path.points_m) / 4


def test_goals_left_out_behind_the_robot_make_another_path_if_it_is_past_more_of_them():
    desk = Desk(free_room(40, 10))
    goals = [(1.05, 0.15), (2.05, 0.15), (3.05, 0.15)]
    desk.ask((0.35, 0.15), *goals)
    answer = desk.ask((2.55, 0.15), *goals[1:])
    assert [tuple(answer.path.points_m[end]) for end in answer.path.ends] == goals[1:]
    assert answer.path.points_m[0].tolist() == [2.55, 0.15]


# ------------------------------------------------------------------------------------------------------ at random
@pytest.mark.parametrize('restart', ['lazy', 'eager', 'path_cost_increased', 'never'])
@pytest.mark.parametrize('seed', range(12))
def test_whatever_the_map_does_a_path_told_is_legal_and_no_dearer_than_the_algorithm_may(seed, restart):
    """Against find_path on the map as it is at the moment of the answer. The last two rules do not look for shorter
    ways that have opened."""
    random = np.random.default_rng(seed)
    blocked = random.random((30, 30)) < 0.25
    start, goal = (2, 3), (26, 25)
    blocked[start[::-1]] = blocked[goal[::-1]] = False
    desk = Desk(blocked, tolerance_m=0.0, algorithm=tba_star(restart))
    found = 0
    for _ in range(60):
        values = desk.values.copy()
        for _ in range(random.integers(0, 6)):
            x, y = random.integers(0, 30, 2)
            values[y, x] = random.random() < 0.3
        values[start[::-1]] = values[goal[::-1]] = False
        desk.change(values)
        answer = desk.ask((0.25, 0.35), (2.65, 2.55), k=int(random.integers(1, 400)))
        cost = shortest(desk.values, start, goal)
        if answer.status == S.FOUND:
            found += 1
            told = desk.cost(answer)
            assert told == pytest.approx(cost) or (told > cost and restart in ('path_cost_increased', 'never'))
        elif answer.status == S.NO_VALID_PATH:
            assert cost == math.inf
        else:
            assert answer.status == S.SEARCHING
    assert found > 5


NEAR_M = 0.6
"""Deviation and, in an obstacle, the way out, and half a cell."""


class Wanderer:
    """Asks as robots do that go along their paths, get lost, change their minds and see their maps grow."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.desk = Desk(self.random.random((25, 35)) < 0.2, tolerance_m=0.2, deviation_tolerance_m=0.2)
        self.origin = (0.0, 0.0, 0.0)
        self.place = (1.05, 1.05)
        self.goals = [(2.55, 2.05)]
        self.path = None

    def live(self):
        chance = self.random.random()
        if chance < 0.1:
            self.goals = [tuple(self.random.uniform(0.0, (3.5, 2.5))) for _ in range(self.random.integers(1, 4))]
        elif chance < 0.15 and len(self.goals) > 1:
            self.goals = self.goals[1:]
        elif chance < 0.2:
            self.place = tuple(self.random.uniform(0.0, (3.5, 2.5)))
        elif chance < 0.7 and self.path is not None:
            self.place = tuple(self.path.points_m[self.random.integers(len(self.path.points_m))])
        if self.random.random() < 0.5:
            self.change_some_cells()
        if self.random.random() < 0.05:
            self.grow()

    def change_some_cells(self):
        values = self.desk.values.copy()
        for _ in range(self.random.integers(1, 20)):
            y, x = self.random.integers(values.shape)
            values[y, x] = self.random.random() < 0.3
        self.desk.change(values)

    def grow(self):
        left, low = (int(n) for n in self.random.integers(0, 3, 2))
        x, y, yaw = self.origin
        self.origin = (x - left * CELL_M, y - low * CELL_M, yaw)
        self.desk.show(np.pad(self.desk.values, ((low, 1), (left, 0))), self.origin)

    def ask(self):
        k, anew = int(self.random.integers(1, 300)), self.random.random() < 0.5
        return self.desk.ask(self.place, *self.goals, k=k, anew=anew)

    def check(self, path):
        """What lies ahead of the robot is legal, and leads by all goals."""
        geometry, values, grid = self.desk.geometry, self.desk.values, self.desk.grid
        distance = np.hypot(*(path.points_m - self.place).T)
        assert distance.min() <= NEAR_M
        cells = [geometry.cell_at(*point) for point in path.points_m.tolist()]
        first = int(np.flatnonzero(distance <= NEAR_M)[-1])  # from there on it is ahead, however the path winds
        blocked = [i for i in range(max(first, 1), len(cells)) if values[cells[i][1], cells[i][0]]]
        assert not blocked
        steps = list(itertools.pairwise(cells))[max(first, 1) :]
        assert all(a == b or grid.step_cost(a, b) < math.inf for a, b in steps)
        assert len(path.ends) == len(self.goals)
        for end, goal in zip(path.ends, self.goals, strict=True):
            assert math.dist(path.points_m[end], goal) <= 0.2 + 0.15  # from centre to centre of cells


@pytest.mark.parametrize('seed', range(20))
def test_however_robots_and_maps_move_a_path_told_is_good(seed, monkeypatch):
    if seed % 2:
        monkeypatch.setattr(module, 'MAX_BEHIND_M', 0.3)
    wanderer, found = Wanderer(seed), 0
    for _ in range(150):
        wanderer.live()
        answer = wanderer.ask()
        wanderer.path = answer.path
        held = wanderer.desk.enquiry.held_path
        for path in (answer.path, held):
            if path is not None:
                wanderer.check(path)
        found += answer.path is not None
    assert found > 10
