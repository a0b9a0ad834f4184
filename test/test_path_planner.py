"""PathPlanner: paths that are requested again and again while the map changes."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from helpers.planners import open_field
from helpers.trip import picture, settings

from tb_planner import Grid, find_path, rtba_star, tb_gbfs, tb_wa_star, tba_star
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.live_map import LiveMap, MapUpdate
from tb_planner.navigation import path_planner as module
from tb_planner.navigation import route as routes
from tb_planner.navigation.path_planner import MAX_BEHIND_M, MAX_GOALS, SEGMENT_EXPANSIONS, PathPlanner, PathStatus
from tb_planner.navigation.route import MAX_SHORTCUT_SEGMENTS, Route
from tb_planner.search.planner import TickBudget, TimeBoundedPlanner

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


class Client:
    """Requests paths on a map in two grids, of which one is searched while the other is changed."""

    def __init__(self, blocked, *, tolerance_m=0.3, origin=(0.0, 0.0, 0.0), **changes):
        self.path_planner = PathPlanner(settings(**changes), tolerance_m)
        self.show(blocked, origin=origin)

    def show(self, values, origin=(0.0, 0.0, 0.0)):
        """A map of a geometry of its own."""
        height, width = values.shape
        self.values = values.copy()
        self.geometry = MapGeometry(width, height, CELL_M, origin)
        self.grid, self.other = Grid(values), Grid(values)
        self.path_planner.update_map(MapUpdate(self.geometry, self.grid, None))

    def change(self, values):
        """The same geometry; the grid that was searched so far is spoilt, since nobody may read it any more."""
        change = self.other.update(values)
        spoilt, self.grid, self.other = self.grid, self.other, Grid(values)
        self.path_planner.update_map(MapUpdate(self.geometry, self.grid, change))
        spoilt.cost_u16[...] = 0
        spoilt.legal_moves[...] = 0
        self.values = values.copy()

    def block(self, *cells, free=False):
        values = self.values.copy()
        for x, y in cells:
            values[y, x] = not free
        self.change(values)

    def ask(self, start, *goals, robot=True, steps=1, k=None, anew=False):
        self.path_planner.request(
            Pose2D(*start), [Pose2D(*goal) for goal in goals], start_is_robot=robot, controller_stopped=anew
        )
        for _ in range(steps):
            result = self.path_planner.step(lambda planner: planner.search(k))
        return result

    def cost(self, result):
        """The cost of a path, in cells, from centre to centre."""
        cells = [self.geometry.cell_at(*point) for point in result.path.points_m.tolist()]
        assert not any(self.values[y, x] for x, y in cells)
        assert all(self.grid.step_cost(a, b) < math.inf for a, b in itertools.pairwise(cells) if a != b)
        return sum(self.grid.step_cost(a, b) for a, b in itertools.pairwise(cells) if a != b)


def shortest(values, start, goal):
    return find_path(Grid(values), start, goal).cost


# ------------------------------------------------------------------------------------------------------ paths
@pytest.mark.parametrize('algorithm', [tba_star(), tb_wa_star(1.5), tb_gbfs(), rtba_star()], ids=lambda a: a.name)
def test_a_path_leads_from_the_exact_start_to_the_exact_goal(algorithm):
    client = Client(picture(WALL_WITH_DOORS), algorithm=algorithm)
    result = client.ask((0.32, 0.57), (1.78, 0.51, 1.0))
    assert result.status == S.FOUND
    assert result.path.points_m[0].tolist() == [0.32, 0.57]
    assert result.path.points_m[-1].tolist() == [1.78, 0.51]
    assert result.path.ends == (len(result.path.points_m) - 1,)
    assert np.abs(np.diff(result.path.points_m, axis=0)).max() <= 0.15 + 1e-9
    if algorithm == tba_star():
        assert client.cost(result) == pytest.approx(shortest(client.values, (3, 5), (17, 5)))


def test_while_the_search_is_not_finished_there_is_no_path_at_all():
    client = Client(picture(WALL_WITH_DOORS))
    result = client.ask((0.35, 0.55), (1.75, 0.55), k=1)
    statuses = []
    while result.status == S.SEARCHING:
        assert result.path is None
        statuses.append(result.status)
        result = client.path_planner.step(lambda planner: planner.search(1))
    assert result.status == S.FOUND
    assert len(statuses) > 10
    assert client.path_planner.searches == 1


def test_a_path_from_a_place_to_itself_is_that_place():
    result = Client(open_field(10, 10)).ask((0.5, 0.5), (0.5, 0.5, 2.0))
    assert result.path.points_m.tolist() == [[0.5, 0.5]]
    assert result.path.ends == (0,)


def test_a_path_within_a_cell_has_both_places():
    result = Client(open_field(10, 10)).ask((0.52, 0.52), (0.58, 0.57))
    assert result.path.points_m.tolist() == [[0.52, 0.52], [0.58, 0.57]]


def test_a_path_through_goals_visits_each_in_order_and_each_segment_is_a_shortest_path():
    client = Client(picture(WALL_WITH_DOORS), algorithm=tba_star())
    goals = (1.75, 0.55), (1.75, 0.15), (0.25, 0.85)
    result = client.ask((0.35, 0.55), *goals, steps=2)
    assert [tuple(result.path.points_m[end]) for end in result.path.ends] == list(goals)
    stops = [(3, 5), (17, 5), (17, 1), (2, 8)]
    expected = sum(shortest(client.values, a, b) for a, b in itertools.pairwise(stops))
    assert client.cost(result) == pytest.approx(expected)


def test_equal_goals_in_a_row_add_nothing():
    result = Client(open_field(20, 10)).ask((0.35, 0.55), (1.75, 0.55), (1.75, 0.55))
    assert result.path.ends == (len(result.path.points_m) - 1,) * 2
    assert np.hypot(*np.diff(result.path.points_m, axis=0).T).min() > 0


def test_after_a_rest_a_path_stays_and_an_unfinished_search_begins_again():
    client = Client(picture(WALL_WITH_DOORS), algorithm=tba_star())
    ask = {'k': 20}
    assert client.ask((0.35, 0.55), (1.75, 0.55), **ask).status == S.SEARCHING
    assert not client.grid.has_spare_search
    client.path_planner.rest()
    assert client.grid.has_spare_search
    found = client.ask((0.35, 0.55), (1.75, 0.55))
    assert client.cost(found) == pytest.approx(shortest(client.values, (3, 5), (17, 5)))
    client.path_planner.rest()
    assert client.ask((0.35, 0.55), (1.75, 0.55)).path is found.path


def test_after_a_rest_there_is_still_no_path():
    blocked = picture(WALL_WITH_DOORS)
    blocked[:, 9] = True
    client = Client(blocked)
    for _ in range(2):
        assert client.ask((0.35, 0.55), (1.75, 0.55)).status == S.NO_VALID_PATH
        assert not client.grid.has_spare_search
        client.path_planner.rest()
        assert client.grid.has_spare_search


def zigzag(count):
    """Goals some cells apart on a map of 60 x 30 cells."""
    return [(0.25 + 0.4 * (i % 14), 0.25 + 0.3 * (i // 14 % 8)) for i in range(count)]


def test_a_step_of_many_goals_ends_when_its_budget_is_spent_and_the_next_one_goes_on():
    goals, budget = zigzag(100), TickBudget(expansions_per_tick=4 * SEGMENT_EXPANSIONS)
    client = Client(open_field(60, 30))
    path_planner, segments = client.path_planner, []
    path_planner.request(Pose2D(0.05, 0.05), [Pose2D(*goal) for goal in goals], start_is_robot=True)
    while not path_planner.has_path:
        before = path_planner.searches
        budget.begin_tick()
        share = budget.share()
        result = path_planner.step(share.search_for, share.goes_on)
        segments.append(path_planner.searches - before)
    assert sum(segments) == len(goals)
    assert min(segments) >= 1
    assert max(segments) <= 4
    assert len(result.path.ends) == len(goals)
    at_once = Client(open_field(60, 30)).ask((0.05, 0.05), *goals)
    assert np.array_equal(result.path.points_m, at_once.path.points_m)


def test_the_work_for_a_path_grows_linearly_with_the_number_of_goals(monkeypatch):
    """Counts the cells of all routes that are made on the way to the path, two segments a step."""
    made, use_cells = [], Route._use_cells

    def counted(route, cells, point_of):
        made.append(len(cells))
        use_cells(route, cells, point_of)

    monkeypatch.setattr(Route, '_use_cells', counted)
    work = {}
    for count in (50, 400):
        client, made[:] = Client(open_field(60, 30)), []
        goals = [Pose2D(*goal) for goal in zigzag(count)]
        client.path_planner.request(Pose2D(0.05, 0.05), goals, start_is_robot=True)
        result = None
        while result is None or result.path is None:
            two = iter((True, False))
            result = client.path_planner.step(lambda planner: planner.search(None), lambda _, left=two: next(left))
        work[count] = sum(made) / len(result.path.cells)
    assert max(work.values()) <= 3
    assert work[400] == pytest.approx(work[50], rel=0.2)


def test_a_long_path_is_joined_in_a_step_of_its_own(monkeypatch):
    monkeypatch.setattr(module, 'JOINED_AT_ONCE', 20)
    client = Client(open_field(60, 30))
    assert client.ask((0.05, 0.05), *zigzag(10)).status == S.SEARCHING
    assert client.ask((0.05, 0.05), *zigzag(10)).status == S.FOUND
    assert client.ask((0.05, 0.05), (5.55, 2.55)).status == S.FOUND, 'a single segment'


def test_a_path_that_gets_too_long_is_refused_with_its_length_and_the_limit(monkeypatch):
    monkeypatch.setattr(module, 'MAX_PATH_CELLS', 100)
    client = Client(open_field(60, 30))
    result = client.ask((0.05, 0.05), *[(0.05, 0.05), (5.95, 0.05)] * 20)
    assert result.status == S.UNKNOWN
    assert 'the path has 121 cells to 3 of 40 goals; it must have at most 100' in result.message
    assert client.ask((0.05, 0.05), (5.95, 0.05)).status == S.FOUND


def test_more_goals_than_the_limit_are_refused():
    client = Client(open_field(5, 5))
    with pytest.raises(ValueError, match='10001 goals; it must have 1 to 10000'):
        client.ask((0.1, 0.1), *[(0.2, 0.2)] * (MAX_GOALS + 1))


def test_a_changed_map_looks_at_few_segments_and_windows_however_many_goals_a_path_has(monkeypatch):
    """All cells of the path are checked, at once; what takes a look at each segment is bounded."""
    blocked = open_field(60, 30)
    for x, y in zigzag(100):
        blocked[int(y * 10), int(x * 10)] = True  # every segment ends beside its goal
    client = Client(blocked)
    result = client.ask((0.05, 0.05), *zigzag(100))
    assert result.status == S.FOUND
    looks, windows, could_shorten, nearest_free = [], [], routes._could_shorten, Grid.nearest_free
    monkeypatch.setattr(routes, '_could_shorten', lambda *args: looks.append(1) or could_shorten(*args))
    monkeypatch.setattr(Grid, 'nearest_free', lambda *args: windows.append(1) or nearest_free(*args))
    monkeypatch.setattr(module, 'MAX_WINDOW_CELLS', 10 * 7**2)
    client.block((59, 29))
    assert client.ask((0.05, 0.05), *zigzag(100)).path is result.path
    client.block((59, 29), free=True)
    assert 1 <= len(looks) <= MAX_SHORTCUT_SEGMENTS
    assert len(windows) <= 10
    assert not client.path_planner.has_path, 'a goal might be reached now'


def test_a_request_without_goals_is_refused():
    with pytest.raises(ValueError, match='0 goals; it must have 1 to 10000'):
        Client(open_field(5, 5)).ask((0.1, 0.1))


def test_a_request_waits_for_a_map():
    path_planner = PathPlanner(settings(), 0.3)
    path_planner.request(Pose2D(0.1, 0.1), [Pose2D(0.2, 0.2)], start_is_robot=True)
    assert path_planner.step(TimeBoundedPlanner.search).status == S.WAITING_FOR_MAP


# ------------------------------------------------------------------------------------------------------ no path
def test_requests_that_cannot_be_fulfilled_are_refused_in_nav2s_order():
    blocked = open_field(20, 20)
    blocked[0:9, 0:9] = True  # more than the tolerances reach, around (0.4, 0.4)
    blocked[11:20, 11:20] = True  # around (1.5, 1.5)
    client = Client(blocked)
    inside, occupied, outside, goal_occupied = (0.5, 1.5), (0.45, 0.45), (-0.5, 0.5), (1.55, 1.55)
    assert client.ask(outside, outside).status == S.START_OUTSIDE_MAP
    assert client.ask(occupied, outside).status == S.GOAL_OUTSIDE_MAP
    assert client.ask(occupied, goal_occupied).status == S.START_OCCUPIED
    assert client.ask(inside, goal_occupied).status == S.GOAL_OCCUPIED
    assert client.ask(inside, (1.5, 0.5), outside).status == S.GOAL_OUTSIDE_MAP
    assert 'outside the map of 20 x 20 cells of 0.1 m' in client.ask(inside, outside).message
    assert 'blocked, and so is everything within 0.3 m' in client.ask(inside, goal_occupied).message
    assert 'blocked, and no free cell within 0.3 m' in client.ask(occupied, goal_occupied).message
    assert client.ask(inside, (1.5, 0.5)).status == S.FOUND


def test_no_path_is_reported_for_the_present_map_and_needs_no_search_the_second_time():
    blocked = picture(WALL_WITH_DOORS)
    blocked[:, 9] = True
    client = Client(blocked)
    result = client.ask((0.35, 0.55), (1.75, 0.55), steps=2)
    assert result.status == S.NO_VALID_PATH
    assert 'within 0.3 m' in result.message
    searches = client.path_planner.searches
    assert client.ask((0.35, 0.55), (1.75, 0.55)).status == S.NO_VALID_PATH
    assert client.path_planner.searches == searches
    client.block((9, 0), free=True)
    assert client.ask((0.35, 0.55), (1.75, 0.55), steps=2).status == S.FOUND


def test_no_path_from_one_side_of_a_wall_is_not_reported_for_the_other_side():
    blocked = picture(WALL_WITH_DOORS)
    blocked[:, 9] = True
    client = Client(blocked)
    assert client.ask((0.35, 0.55), (1.75, 0.55), steps=2).status == S.NO_VALID_PATH
    assert client.ask((1.15, 0.55), (1.75, 0.55), steps=2).status == S.FOUND


def test_no_path_is_not_reported_while_the_map_changes_under_the_search():
    blocked = picture(WALL_WITH_DOORS)
    blocked[:, 9] = True
    client = Client(blocked)
    assert client.ask((0.35, 0.55), (1.75, 0.55), k=60).status == S.SEARCHING
    client.block((9, 5), free=True)  # the search has been there already
    for _ in range(20):
        result = client.ask((0.35, 0.55), (1.75, 0.55), k=60)
        assert result.status in (S.SEARCHING, S.FOUND)
    assert result.status == S.FOUND
    assert client.path_planner.searches == 2, 'it has started over, and that counts'


def test_a_path_to_a_blocked_goal_ends_at_the_free_cell_nearest_to_it_within_the_tolerance():
    client = Client(picture(WALL_WITH_DOORS), tolerance_m=0.1)
    result = client.ask((0.35, 0.55), (0.95, 0.55))
    assert result.path.points_m[-1] == pytest.approx((0.85, 0.55))
    client.block((9, 5), free=True)
    again = client.ask((0.35, 0.55), (0.95, 0.55))
    assert again.path.points_m[-1] == pytest.approx((0.95, 0.55))


def test_a_path_to_a_goal_that_is_cut_off_ends_at_the_reachable_cell_nearest_to_it():
    blocked = open_field(20, 10)
    blocked[:, 12] = True
    client = Client(blocked, tolerance_m=0.3)
    result = client.ask((0.35, 0.55), (1.35, 0.55), steps=3)
    assert result.status == S.FOUND
    assert result.path.points_m[-1] == pytest.approx((1.15, 0.55))
    client.block((2, 2))
    assert client.ask((0.35, 0.55), (1.35, 0.55)).path is result.path
    assert client.ask((0.35, 0.55), (1.65, 0.55), steps=3).status == S.NO_VALID_PATH


def test_a_goal_that_is_cut_off_takes_no_look_at_the_whole_map():
    """The map has 4,000,000 cells, the searched room 100: no tick may grow with the map."""
    blocked = open_field(2000, 2000)
    blocked[:12, 11] = blocked[11, :12] = True
    client = Client(blocked, tolerance_m=0.3)
    client.ask((0.35, 0.55), (1.35, 0.55), k=1)
    tracemalloc.start()
    try:
        result = client.ask((0.35, 0.55), (1.35, 0.55), steps=3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.path.points_m[-1] == pytest.approx((1.05, 0.55))
    assert peak < 200_000, 'bytes; a byte for each cell of the map is 4,000,000'


def test_a_search_that_finds_the_same_path_again_leaves_the_result_as_it_is():
    """The goal is cut off, and a cell that comes free anywhere might open a path to it."""
    blocked = open_field(20, 10)
    blocked[:, 12] = True
    client = Client(blocked, tolerance_m=0.3)
    path = client.ask((0.35, 0.55), (1.35, 0.55), steps=3).path
    searches = client.path_planner.searches
    for x in (16, 17, 18):
        client.block((x, 2))
        client.block((x, 2), free=True)
        assert client.ask((0.35, 0.55), (1.35, 0.55), steps=3).path is path
    assert client.path_planner.searches > searches
    assert client.ask(tuple(path.points_m[3]), (1.35, 0.55)).path is path


@pytest.mark.parametrize('when', ['with a path', 'while it is searched for'])
def test_when_a_goal_is_cut_off_no_more_the_path_leads_there(when):
    blocked = open_field(20, 10)
    blocked[:, 12] = True
    client = Client(blocked, tolerance_m=0.3)
    result = client.ask((0.35, 0.55), (1.35, 0.55), steps=3 if when == 'with a path' else 1)
    assert (result.status == S.FOUND) == (when == 'with a path')
    client.change(open_field(20, 10))
    result = client.ask((0.35, 0.55), (1.35, 0.55), steps=3)
    assert result.path.points_m[-1] == pytest.approx((1.35, 0.55))


def test_a_robot_in_an_obstacles_margin_gets_a_path_from_where_it_is():
    blocked = open_field(20, 10)
    blocked[4:7, 2:5] = True
    client = Client(blocked, start_tolerance_m=0.3)
    result = client.ask((0.35, 0.55), (1.75, 0.55))
    assert result.path.points_m[0].tolist() == [0.35, 0.55]
    assert not blocked[client.geometry.cell_at(*result.path.points_m[1])[::-1]]


@pytest.mark.parametrize('is_open', [False, True])
def test_on_a_costmap_a_robot_in_a_walls_margin_is_not_led_through_the_wall(is_open):
    """Free cells on the other side of the wall are nearer than those on the robot's side, which is all margin."""
    cells = np.zeros((60, 60), np.int8)
    cells[:, 8:25] = 99
    cells[:, (12, 20)] = 100
    if is_open:
        cells[20:24, 13:20] = 0
    live_map = LiveMap(CostmapConfig())
    live_map.full(cells, MapGeometry(60, 60, 0.05))
    path_planner = PathPlanner(settings(start_tolerance_m=0.4), 0.5)
    path_planner.update_map(live_map.latest())
    path_planner.request(Pose2D(0.925, 1.275), [Pose2D(0.825, 1.075)], start_is_robot=True)
    result = path_planner.step(lambda planner: planner.search(10_000))
    assert result.status == (S.FOUND if is_open else S.START_OCCUPIED)
    if is_open:
        x, y = (result.path.points_m[1] / 0.05).astype(int)
        assert 13 <= x < 20
        assert y == 23


def test_a_search_that_a_map_starts_over_counts_as_another_one():
    """Blocked right before the start, where the search's best path goes."""
    client = Client(open_field(40, 20))
    client.ask((0.35, 0.95), (3.65, 0.95), k=5)
    assert client.path_planner.searches == 1
    client.block((5, 9))
    assert client.path_planner.searches == 2
    assert client.ask((0.35, 0.95), (3.65, 0.95)).status == S.FOUND
    assert client.path_planner.searches == 2


def test_a_search_that_is_done_does_not_count_again_when_the_map_changes():
    """Its memory is kept, and has to know of the map; nobody waits for what it would find."""
    client = Client(open_field(40, 20))
    assert client.ask((0.35, 0.95), (3.65, 0.95)).status == S.FOUND
    client.block((20, 9))
    client.block((20, 9), free=True)
    assert client.path_planner.searches == 1
    assert client.ask((0.35, 0.95), (3.65, 0.95)).status == S.FOUND
    assert client.path_planner.searches == 2


# ------------------------------------------------------------------------------------------------------ asked again
def test_the_same_request_gets_the_same_path_while_the_map_changes_elsewhere():
    client = Client(picture(WALL_WITH_DOORS))
    path = client.ask((0.35, 0.15), (1.75, 0.15)).path
    searches = client.path_planner.searches
    for i in range(10):
        client.block((3 + i, 8), free=i % 2)
        assert client.ask((0.35, 0.15), (1.75, 0.15)).path is path
    assert client.path_planner.searches == searches


def test_a_robot_on_its_path_gets_the_same_path():
    client = Client(picture(WALL_WITH_DOORS))
    path = client.ask((0.35, 0.55), (1.75, 0.55)).path
    for x, y in path.points_m.tolist():
        assert client.ask((x + 0.03, y - 0.02), (1.75, 0.55)).path is path
    assert client.path_planner.searches == 1


def paths_along(client, path, *goals):
    """The paths of a robot that goes along a path from point to point, with a controller that begins anew at each; each
    path that is another one than before."""
    paths = [path]
    for point in path.points_m:
        result = client.ask(point + 0.02, *goals, anew=True).path
        if result is not paths[-1]:
            paths.append(result)
    return paths


def behind_m(path, place):
    """How much of a path lies behind a place on it."""
    at = int(np.hypot(*(path.points_m - place).T).argmin())
    return float(np.hypot(*np.diff(path.points_m[: at + 1], axis=0).T).sum())


def test_a_controller_that_begins_anew_far_along_the_path_gets_the_rest_of_it():
    client = Client(open_field(90, 30))
    goal = (8.52, 2.57, 1.0)
    path = client.ask((0.32, 0.18), goal).path
    first, *others = paths_along(client, path, goal)
    assert first is path
    assert len(others) == 8, 'of 9.3 m'
    for before, after in itertools.pairwise((first, *others)):
        begin = len(before.points_m) - len(after.points_m)
        assert after.points_m.tolist() == before.points_m[begin:].tolist()
        assert MAX_BEHIND_M < behind_m(before, after.points_m[0]) < MAX_BEHIND_M + 0.2
        assert after.ends == (len(after.points_m) - 1,)
    assert client.path_planner.searches == 1


def test_the_rest_of_a_path_has_two_points_at_least_and_passes_all_goals():
    client = Client(open_field(90, 30))
    goals = [(4.05, 0.55), (8.05, 0.55), (8.05, 2.75)]
    path = client.ask((0.35, 0.55), *goals, steps=2).path
    assert client.ask((3.55, 0.55), *goals).path is path
    rest = client.ask((3.55, 0.55), *goals, anew=True).path
    assert rest.points_m.tolist() == path.points_m[32:].tolist()
    assert [tuple(rest.points_m[end]) for end in rest.ends] == goals
    assert client.ask((7.55, 0.55), *goals, anew=True).path is rest, 'the first goal is asked for still'
    *_, last = paths_along(client, client.ask((3.55, 0.55), *goals[1:]).path, *goals[1:])
    assert tuple(last.points_m[last.ends[-1]]) == goals[-1]
    end = client.ask((0.35, 0.55), (2.85, 0.55)).path
    assert client.ask((2.85, 0.55), (2.85, 0.55), anew=True).path.points_m.tolist() == end.points_m[-2:].tolist()


def test_a_held_path_is_cut_off_behind_the_robot():
    client = Client(picture(WALL_WITH_DOORS), algorithm=tba_star())
    client.show(np.pad(client.values, ((0, 0), (30, 0))))
    path = client.ask((0.35, 0.55), (4.75, 0.55)).path
    client.block((39, 5), (39, 6), free=True)  # a door in the wall that the path goes around
    for x, is_same in ((0.35, True), (1.05, True), (2.95, False)):
        assert client.ask((x, 0.55), (4.75, 0.55), k=1, anew=True).status == S.SEARCHING
        assert (client.path_planner.held_path is path) == is_same
    held = client.path_planner.held_path
    assert held.points_m.tolist() == path.points_m[len(path.points_m) - len(held.points_m) :].tolist()
    assert math.dist(held.points_m[0], (2.95, 0.55)) < 0.1


def test_what_is_blocked_behind_the_robot_does_not_matter():
    client = Client(picture(WALL_WITH_DOORS))
    path = client.ask((0.35, 0.55), (1.75, 0.55)).path
    half = path.points_m[len(path.points_m) // 2]
    assert client.ask(half, (1.75, 0.55)).path is path
    client.block(client.geometry.cell_at(*path.points_m[2]))
    assert client.ask(half, (1.75, 0.55)).path is path


def test_on_a_path_that_comes_back_nothing_of_it_is_skipped():
    client = Client(open_field(40, 5), algorithm=tba_star())
    goals = (3.75, 0.15), (0.45, 0.25)
    path = client.ask((0.35, 0.15), *goals).path
    beside = (0.46, 0.24)  # on the first part, but nearer to the end of the path
    assert client.ask(beside, *goals).path is path
    client.block(client.geometry.cell_at(*path.points_m[15]))
    result = client.ask(beside, *goals)
    assert result.path is not path
    assert client.cost(result) > 0


def test_a_robot_off_its_path_gets_a_path_from_where_it_is():
    client = Client(picture(WALL_WITH_DOORS), deviation_tolerance_m=0.2)
    path = client.ask((0.35, 0.15), (1.75, 0.15)).path
    other = client.ask((0.35, 0.85), (1.75, 0.15)).path
    assert other is not path
    assert other.points_m[0].tolist() == [0.35, 0.85]


def test_a_robot_behind_a_wall_from_its_path_is_not_on_it():
    blocked = open_field(20, 10)
    blocked[5, :18] = True
    client = Client(blocked, deviation_tolerance_m=0.5)
    path = client.ask((0.35, 0.45), (1.55, 0.45)).path
    assert client.ask((0.95, 0.65), (1.55, 0.45)).path is not path


def test_a_path_from_a_given_start_serves_for_that_start_alone():
    client = Client(open_field(20, 10))
    path = client.ask((0.35, 0.55), (1.75, 0.55), robot=False).path
    assert client.ask((0.35, 0.55), (1.75, 0.55), robot=False).path is path
    assert client.ask((0.55, 0.55), (1.75, 0.55), robot=False).path.points_m[0].tolist() == [0.55, 0.55]


@pytest.mark.parametrize('goals', [[(1.75, 0.65)], [(1.75, 0.55, 1.0)], [(1.75, 0.55), (1.55, 0.55)]])
def test_other_goals_get_another_path(goals):
    client = Client(open_field(20, 10))
    path = client.ask((0.35, 0.55), (1.75, 0.55)).path
    assert client.ask((0.35, 0.55), *goals).path is not path


def test_a_change_on_the_path_makes_another_one():
    client = Client(picture(WALL_WITH_DOORS), algorithm=tba_star())
    path = client.ask((0.35, 0.25), (1.75, 0.25)).path
    client.block((9, 0))
    result = client.ask((0.35, 0.25), (1.75, 0.25))
    assert result.path is not path
    assert client.cost(result) == pytest.approx(shortest(client.values, (3, 2), (17, 2)))


def test_a_blocked_segment_that_was_found_is_searched_for_again():
    client = Client(picture(WALL_WITH_DOORS), algorithm=tba_star())
    goals = (1.75, 0.15), (1.75, 0.85), (0.35, 0.85)
    result = client.ask((0.35, 0.15), *goals, k=5)
    while not client.path_planner._segments:
        result = client.path_planner.step(lambda planner: planner.search(5))
    assert result.status == S.SEARCHING
    client.block((9, 0))
    result = client.ask((0.35, 0.15), *goals, steps=2)
    stops = [(3, 1), (17, 1), (17, 8), (3, 8)]
    assert client.cost(result) == pytest.approx(
        sum(shortest(client.values, a, b) for a, b in itertools.pairwise(stops))
    )


def test_a_shortcut_that_opens_makes_another_path_and_one_that_saves_little_does_not():
    blocked = picture(WALL_WITH_DOORS)
    blocked[0, 9] = True
    client = Client(blocked, algorithm=tba_star(), min_improvement=0.2)
    path = client.ask((0.35, 0.15), (1.75, 0.15)).path
    client.block((9, 8), free=True)
    assert client.ask((0.35, 0.15), (1.75, 0.15)).path is path
    client.block((9, 1), free=True)
    result = client.ask((0.35, 0.15), (1.75, 0.15))
    assert client.cost(result) == pytest.approx(14.0)


@pytest.mark.parametrize('end_of_second_wall', [4, 2])
def test_a_shortcut_that_turns_out_to_save_little_leaves_the_path_as_it_is(end_of_second_wall):
    """Behind the door that opens is a second wall, which nobody knows before the search: it ends near the end of the
    first one, or leaves a path that is much shorter."""
    blocked = picture(WALL_WITH_DOORS)
    blocked[0, 9] = True
    blocked[: end_of_second_wall + 1, 11] = True
    client = Client(blocked, algorithm=tba_star(), min_improvement=0.2)
    before = client.ask((0.35, 0.15), (1.75, 0.15))
    searches = client.path_planner.searches
    client.block((9, 1), free=True)
    after = client.ask((0.35, 0.15), (1.75, 0.15))
    assert client.path_planner.searches > searches, 'the search found out'
    shortest = find_path(client.grid, (3, 1), (17, 1), tba_star()).cost
    saves_enough = shortest < 0.8 * client.cost(before)
    assert saves_enough == (end_of_second_wall == 2)
    assert shortest < client.cost(before)
    assert (after.path is before.path) == (not saves_enough)


def closed_door():
    """A map and the cell of its closed door: once it is open, the path is much shorter."""
    blocked = picture(WALL_WITH_DOORS)
    blocked[0, 9] = True
    return blocked, (9, 1)


def test_an_older_path_is_held_while_a_shorter_one_is_searched_for():
    blocked, door = closed_door()
    client = Client(blocked, algorithm=tba_star())
    path = client.ask((0.35, 0.15), (1.75, 0.15)).path
    assert client.path_planner.held_path is None
    client.block(door, free=True)
    assert client.ask((0.35, 0.15), (1.75, 0.15), k=1).status == S.SEARCHING
    assert client.path_planner.held_path is path
    along = path.points_m[4]  # the robot goes on by it, and the search begins there
    assert client.ask(along, (1.75, 0.15), k=1).status == S.SEARCHING
    assert client.path_planner.held_path is path
    result = client.ask(along, (1.75, 0.15))
    assert result.status == S.FOUND
    assert len(result.path.points_m) < len(path.points_m)
    assert client.path_planner.held_path is None


def held_by(client):
    """A client's path that is held, while a search for another one runs."""
    path = client.ask((0.35, 0.15), (1.75, 0.15)).path
    client.block((9, 1), free=True)
    client.ask((0.35, 0.15), (1.75, 0.15), k=1)
    assert client.path_planner.held_path is path
    return path


def test_a_path_that_is_blocked_is_not_held():
    client = Client(closed_door()[0], algorithm=tba_star())
    path = held_by(client)
    client.block(client.geometry.cell_at(*path.points_m[8]))
    assert client.path_planner.held_path is None
    client = Client(picture(WALL_WITH_DOORS))
    path = client.ask((0.35, 0.55), (1.75, 0.55)).path
    client.block(client.geometry.cell_at(*path.points_m[8]))
    client.ask((0.35, 0.55), (1.75, 0.55), k=1)
    assert client.path_planner.held_path is None


@pytest.mark.parametrize(
    ('start', 'goal', 'robot'),
    [((0.15, 0.95), (1.75, 0.15), True), ((0.35, 0.15), (1.65, 0.15), True), ((0.35, 0.15), (1.75, 0.15), False)],
    ids=['robot elsewhere', 'other goal', 'given start'],
)
def test_a_path_is_held_for_the_robot_that_is_on_it_alone(start, goal, robot):
    client = Client(closed_door()[0], algorithm=tba_star())
    held_by(client)
    client.ask(start, goal, k=1, robot=robot)
    assert client.path_planner.held_path is None


def test_a_search_goes_on_with_the_next_request():
    client = Client(picture(WALL_WITH_DOORS))
    for i in range(200):
        result = client.ask((0.35 + 0.001 * (i % 3), 0.55), (1.75, 0.55), k=1)
        if result.status == S.FOUND:
            break
    assert result.status == S.FOUND
    assert i > 10
    assert client.path_planner.searches == 1


def test_on_a_map_that_grows_the_path_stays_and_on_one_that_puts_a_wall_there_it_does_not():
    client = Client(picture(WALL_WITH_DOORS))
    path = client.ask((0.35, 0.25), (1.75, 0.25)).path
    larger = np.pad(client.values, ((3, 4), (5, 0)))
    client.show(larger, origin=(-0.5, -0.3, 0.0))
    assert client.ask((0.35, 0.25), (1.75, 0.25)).path is path
    larger[3, 14] = True
    client.show(larger, origin=(-0.5, -0.3, 0.0))
    result = client.ask((0.35, 0.25), (1.75, 0.25))
    assert result.path is not path
    assert client.cost(result) > 0
    client.block((14, 11))
    assert client.ask((0.35, 0.25), (1.75, 0.25)).path is not None


def test_on_a_map_that_grows_a_path_stays_only_if_each_step_of_it_is_legal_there():
    """It does not stay if only a path beside it is legal."""
    client = Client(open_field(20, 20), algorithm=tba_star())
    path = client.ask((0.05, 0.05), (1.55, 1.55)).path
    larger = np.pad(client.values, ((0, 0), (0, 1)))
    larger[4, 5] = True  # at the corner of a diagonal step
    client.show(larger)
    result = client.ask((0.05, 0.05), (1.55, 1.55))
    assert result.path is not path
    assert client.cost(result) == pytest.approx(shortest(larger, (0, 0), (15, 15)))


def test_on_a_finer_map_an_obstacle_between_the_points_of_a_path_is_seen():
    client = Client(open_field(20, 20))
    path = client.ask((0.05, 0.55), (1.55, 0.55)).path
    for pole in (False, True):
        blocked = np.zeros((40, 40), bool)
        blocked[9:13, 16] = pole  # around x = 0.825; the points are at 0.75 and 0.85
        client.path_planner.update_map(MapUpdate(MapGeometry(40, 40, CELL_M / 2), Grid(blocked), None))
        assert (client.ask((0.05, 0.55), (1.55, 0.55)).path is path) == (not pole)


def test_on_a_map_that_grows_a_path_to_a_blocked_goal_ends_there_once_it_is_free():
    client = Client(picture(WALL_WITH_DOORS), tolerance_m=0.1)
    assert client.ask((0.35, 0.55), (0.95, 0.55)).path.points_m[-1] == pytest.approx((0.85, 0.55))
    client.show(np.pad(client.values, ((0, 1), (0, 0))))
    client.block((9, 5), free=True)
    assert client.ask((0.35, 0.55), (0.95, 0.55)).path.points_m[-1] == pytest.approx((0.95, 0.55))


def seen_from(world, left):
    """A window of 30 columns, as a rolling costmap has it: its values and its origin."""
    return world[:, left : left + 30], (left * CELL_M, 0.0, 0.0)


@pytest.mark.parametrize('finer', [1, 2], ids=['same cells', 'then smaller cells'])
def test_on_a_map_that_rolls_along_with_the_robot_a_path_through_poses_stays_and_so_does_its_rest(finer):
    world = np.zeros((20, 50), bool)
    world[5:15, 22] = True
    client = Client(seen_from(world, 0)[0])
    goals = [(2.55, 0.95), (2.55, 1.75), (2.05, 1.75)]
    path = client.ask((0.55, 0.95), *goals, steps=3).path
    searches = client.path_planner.searches
    for left in range(1, 15):
        client.show(*seen_from(world, left))
        assert client.ask(path.points_m[left], *goals).path is path
    assert client.path_planner.searches == searches
    values, origin = seen_from(world, 15)
    values = np.kron(values, np.ones((finer, finer), bool))
    geometry = MapGeometry(values.shape[1], values.shape[0], CELL_M / finer, origin)
    client.path_planner.update_map(MapUpdate(geometry, Grid(values), None))
    near = path.ends[0] - 3
    rest = client.ask(path.points_m[near], *goals[1:]).path
    assert rest.points_m.tolist() == path.points_m[near:].tolist()
    assert [tuple(rest.points_m[end]) for end in rest.ends] == goals[1:]
    assert client.ask(rest.points_m[5], *goals[1:]).path is rest
    last = client.ask(rest.points_m[rest.ends[0]], goals[-1]).path
    assert last.points_m.tolist() == rest.points_m[rest.ends[0] :].tolist()
    assert client.path_planner.searches == searches


def test_a_path_that_ends_near_its_goal_is_held_on_a_map_that_moves_until_there_is_another():
    client = Client(picture(WALL_WITH_DOORS), tolerance_m=0.1)
    path = client.ask((0.35, 0.55), (0.95, 0.55)).path
    for pad in (1, 2):
        client.show(np.pad(client.values, ((0, pad), (0, 0))))
        result = client.ask((0.35, 0.55), (0.95, 0.55), k=1)
        assert (result.status, client.path_planner.held_path) == (S.SEARCHING, path)
    client.block((6, 5))
    assert client.path_planner.held_path is None, 'it is blocked'
    client.show(np.pad(client.values, ((0, 1), (0, 0))))
    assert client.ask((0.35, 0.55), (0.95, 0.55), k=1).path is client.path_planner.held_path is None
    assert client.ask((0.35, 0.55), (0.95, 0.55)).status == S.FOUND


def test_another_algorithm_finds_another_path_and_other_lengths_do_not():
    client = Client(picture(WALL_WITH_DOORS))
    path = client.ask((0.35, 0.25), (1.75, 0.25)).path
    client.path_planner.use_settings(settings(waypoint_distance_m=2.0), 0.3)
    assert client.ask((0.35, 0.25), (1.75, 0.25)).path is path
    client.path_planner.use_settings(settings(algorithm=tba_star()), 0.3)
    assert client.ask((0.35, 0.25), (1.75, 0.25)).path is not path


def test_when_the_robot_is_done_with_a_goal_the_rest_of_its_path_serves():
    """Nav2's RemovePassedGoals leaves out goals in this manner."""
    client = Client(picture(WALL_WITH_DOORS))
    goals = [(1.75, 0.15, 1.0), (1.75, 0.85, 2.0), (0.35, 0.85, 3.0)]
    path = client.ask((0.35, 0.15), *goals, steps=2).path
    searches = client.path_planner.searches
    near = path.points_m[path.ends[0] - 5]
    rest = client.ask(near + 0.02, *goals[1:]).path
    assert rest.points_m.tolist() == path.points_m[path.ends[0] - 5 :].tolist()
    assert [tuple(rest.points_m[end]) for end in rest.ends] == [goal[:2] for goal in goals[1:]]
    assert client.ask(rest.points_m[7], *goals[1:]).path is rest
    assert client.path_planner.searches == searches
    client.block((2, 2))
    assert client.ask(rest.points_m[7], *goals[1:]).path is rest
    client.block(client.geometry.cell_at(*rest.points_m[-5]))
    other = client.ask(rest.points_m[7], *goals[1:], steps=2)
    assert other.path is not rest
    assert client.cost(other) > 0


def test_a_goal_left_out_far_from_it_makes_another_path():
    client = Client(open_field(40, 10))
    path = client.ask((0.35, 0.15), (3.75, 0.15), (0.35, 0.85)).path
    straight = client.ask((0.35, 0.15), (0.35, 0.85)).path
    assert len(straight.points_m) < len(path.points_m) / 4


def test_goals_left_out_behind_the_robot_make_another_path_if_it_is_past_more_of_them():
    client = Client(open_field(40, 10))
    goals = [(1.05, 0.15), (2.05, 0.15), (3.05, 0.15)]
    client.ask((0.35, 0.15), *goals)
    result = client.ask((2.55, 0.15), *goals[1:])
    assert [tuple(result.path.points_m[end]) for end in result.path.ends] == goals[1:]
    assert result.path.points_m[0].tolist() == [2.55, 0.15]


# ------------------------------------------------------------------------------------------------------ at random
@pytest.mark.parametrize('restart', ['lazy', 'eager', 'path_cost_increased', 'never'])
@pytest.mark.parametrize('seed', range(12))
def test_whatever_the_map_does_a_path_is_legal_and_costs_no_more_than_the_algorithm_guarantees(seed, restart):
    """Compares with find_path on the map at the moment of the result; the last two rules do not look for shortcuts."""
    random = np.random.default_rng(seed)
    blocked = random.random((30, 30)) < 0.25
    start, goal = (2, 3), (26, 25)
    blocked[start[::-1]] = blocked[goal[::-1]] = False
    client = Client(blocked, tolerance_m=0.0, algorithm=tba_star(restart))
    found = 0
    for _ in range(60):
        values = client.values.copy()
        for _ in range(random.integers(0, 6)):
            x, y = random.integers(0, 30, 2)
            values[y, x] = random.random() < 0.3
        values[start[::-1]] = values[goal[::-1]] = False
        client.change(values)
        result = client.ask((0.25, 0.35), (2.65, 2.55), k=int(random.integers(1, 400)))
        cost = shortest(client.values, start, goal)
        if result.status == S.FOUND:
            found += 1
            found_cost = client.cost(result)
            assert found_cost == pytest.approx(cost) or (
                found_cost > cost and restart in ('path_cost_increased', 'never')
            )
        elif result.status == S.NO_VALID_PATH:
            assert cost == math.inf
        else:
            assert result.status == S.SEARCHING
    assert found > 5


NEAR_M = 0.6
"""Deviation and, in an obstacle, the distance to the escape cell, and half a cell."""


class Wanderer:
    """Asks as robots do that go along their paths, get lost, change their minds and see their maps grow."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.client = Client(self.random.random((25, 35)) < 0.2, tolerance_m=0.2, deviation_tolerance_m=0.2)
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
        values = self.client.values.copy()
        for _ in range(self.random.integers(1, 20)):
            y, x = self.random.integers(values.shape)
            values[y, x] = self.random.random() < 0.3
        self.client.change(values)

    def grow(self):
        left, low = (int(n) for n in self.random.integers(0, 3, 2))
        x, y, yaw = self.origin
        self.origin = (x - left * CELL_M, y - low * CELL_M, yaw)
        self.client.show(np.pad(self.client.values, ((low, 1), (left, 0))), self.origin)

    def ask(self):
        k, anew = int(self.random.integers(1, 300)), self.random.random() < 0.5
        return self.client.ask(self.place, *self.goals, k=k, anew=anew)

    def check(self, path):
        """Checks that the path ahead of the robot is legal and passes all goals."""
        geometry, values, grid = self.client.geometry, self.client.values, self.client.grid
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
def test_however_robots_and_maps_move_a_resulting_path_is_valid(seed, monkeypatch):
    if seed % 2:
        monkeypatch.setattr(module, 'MAX_BEHIND_M', 0.3)
    wanderer, found = Wanderer(seed), 0
    for _ in range(150):
        wanderer.live()
        result = wanderer.ask()
        wanderer.path = result.path
        held = wanderer.client.path_planner.held_path
        for path in (result.path, held):
            if path is not None:
                wanderer.check(path)
        found += result.path is not None
    assert found > 10
