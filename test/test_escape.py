"""The escape cell of a robot in a blocked cell: on the robot's own side of obstacles, or none."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.trip import node_settings

from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.live_map import LiveMap
from tb_planner.navigation import escape
from tb_planner.navigation.escape import MAX_DISTANCE, EscapeFinder
from tb_planner.navigation.navigator import NavigationStatus, Navigator
from tb_planner.navigation.path_planner import PathPlanner, PathStatus

SIDE = 40
TOLERANCE = 8
S = PathStatus
GEOMETRY = MapGeometry(SIDE, SIDE, 1.0)
SETTINGS = node_settings(start_tolerance_m=TOLERANCE, waypoint_distance_m=10.0, deviation_tolerance_m=3.0, k=256)


def costmap(obstacles, margin=2):
    """A costmap as Nav2 publishes it: 100 for obstacles, 99 up to `margin` cells around them."""
    cells = np.zeros((SIDE, SIDE), np.int8)
    for y, x in np.argwhere(obstacles):
        cells[max(y - margin, 0) : y + margin + 1, max(x - margin, 0) : x + margin + 1] = 99
    cells[obstacles] = 100
    return cells


def live(cells):
    live_map = LiveMap(CostmapConfig())
    live_map.full(cells, GEOMETRY)
    return live_map


def shown(cells):
    return live(cells).latest()


def find_escape_cell(update, position, tolerance, came_from=None):
    """The escape cell by a finder that remembers nothing."""
    return EscapeFinder().find_cell(update, position, tolerance, came_from)


def wall(first, last):
    """A wall across the whole map, in these columns."""
    obstacles = np.zeros((SIDE, SIDE), bool)
    obstacles[:, first : last + 1] = True
    return obstacles


@pytest.mark.parametrize('x', [20.01, 20.3, 20.5, 20.7, 20.99])
def test_the_side_of_a_robot_in_a_thin_wall_is_unknown(x):
    assert find_escape_cell(shown(costmap(wall(20, 20))), (x, 20.5), TOLERANCE) is None


def test_a_robot_in_a_thin_wall_has_no_escape_cell_though_most_free_cells_are_on_one_side():
    """Cells are small here: there are thousands within the tolerance."""
    cells = np.zeros((200, 200), np.int8)
    cells[:, 96:140] = 99
    cells[:, 100] = 100
    live_map = LiveMap(CostmapConfig())
    live_map.full(cells, MapGeometry(200, 200, 0.01))
    assert find_escape_cell(live_map.latest(), (100.5, 100.5), 50) is None


@pytest.mark.parametrize(('x', 'column'), [(20.1, 17), (20.9, 17), (21.5, None), (22.1, 25), (22.9, 25)])
def test_out_of_a_thick_wall_a_robot_goes_to_the_side_that_is_nearer(x, column):
    cell = find_escape_cell(shown(costmap(wall(20, 22))), (x, 20.5), TOLERANCE)
    assert cell == (None if column is None else (column, 20))


def test_if_nothing_is_free_on_the_nearer_side_the_other_one_has_no_escape_cell():
    cells = costmap(wall(20, 22))
    cells[:, :20] = 99
    update = shown(cells)
    assert update.grid.nearest_free((20, 20), TOLERANCE) == (25, 20)
    assert find_escape_cell(update, (20.1, 20.5), TOLERANCE) is None


def test_where_there_is_nothing_free_behind_a_thin_wall_the_robot_can_be_on_one_side_only():
    cells = costmap(wall(20, 20))
    cells[:, 21:] = -1
    live_map = LiveMap(CostmapConfig(allow_unknown=False))
    live_map.full(cells, GEOMETRY)
    assert find_escape_cell(live_map.latest(), (20.5, 20.5), TOLERANCE) == (17, 20)


@pytest.mark.parametrize(('came_from', 'column'), [((16.5, 21.5), 17), ((24.5, 19.5), 23)])
@pytest.mark.parametrize('x', [20.1, 20.9])
def test_a_robot_goes_back_to_the_side_of_a_thin_wall_where_it_was(x, came_from, column):
    assert find_escape_cell(shown(costmap(wall(20, 20))), (x, 20.5), TOLERANCE, came_from)[0] == column


@pytest.mark.parametrize('came_from', [(11.5, 20.5), (-3.0, 20.5), (20.5, 22.5)])
def test_an_earlier_place_is_ignored_if_it_is_far_away_or_blocked_now(came_from):
    assert find_escape_cell(shown(costmap(wall(20, 20))), (20.5, 20.5), TOLERANCE, came_from) is None


@pytest.mark.parametrize('size', [1, 2, 3, 4])
def test_out_of_a_small_obstacle_a_robot_goes_to_the_nearest_free_cell(size):
    """Noise of a sensor, or its own arm."""
    obstacles = np.zeros((SIDE, SIDE), bool)
    obstacles[20 : 20 + size, 20 : 20 + size] = True
    update = shown(costmap(obstacles, margin=1))
    for x, y in np.argwhere(obstacles.T).tolist():
        cell = find_escape_cell(update, (x + 0.4, y + 0.6), TOLERANCE)
        free = np.argwhere(~update.grid.blocked.T)
        assert math.dist(cell, (x, y)) == np.hypot(*(free - (x, y)).T).min()


@pytest.mark.parametrize('drawn', ['#####', '.#.#\n####', '#####\n#.#.#\n####.', '####\n#..#\n#..#\n####'])
def test_wherever_the_robot_is_in_a_small_obstacle_it_gets_out(drawn):
    """Obstacles as a scanner sees a table or the robot itself: a line, an arc, a ring with no free cell in it."""
    small = np.array([[c == '#' for c in line] for line in drawn.split()])
    obstacles, rng = np.zeros((SIDE, SIDE), bool), np.random.default_rng(5)
    obstacles[20 : 20 + small.shape[0], 20 : 20 + small.shape[1]] = small
    update = shown(costmap(obstacles, margin=1))
    for x, y in np.argwhere(obstacles.T).tolist():
        for dx, dy in rng.random((20, 2)):
            assert find_escape_cell(update, (x + dx, y + dy), TOLERANCE) is not None


@pytest.mark.parametrize('gap', [1, 2])
def test_a_wall_that_was_seen_with_gaps_is_not_small(gap):
    obstacles = wall(20, 20)
    obstacles[17 - gap : 17] = obstacles[24 : 24 + gap] = False
    assert find_escape_cell(shown(costmap(obstacles)), (20.5, 20.5), TOLERANCE) is None


def test_an_obstacle_that_goes_on_beyond_a_few_cells_is_not_small():
    obstacles = np.zeros((SIDE, SIDE), bool)
    obstacles[20, 16:25] = True
    assert find_escape_cell(shown(costmap(obstacles)), (20.5, 20.5), TOLERANCE) is not None
    obstacles[20, 15:26] = True
    assert find_escape_cell(shown(costmap(obstacles)), (20.5, 20.5), TOLERANCE) is None


def test_a_second_obstacle_is_not_crossed():
    """The robot is in a speck between two walls, where all else is margin; free cells are beyond the walls."""
    obstacles = wall(17, 17) | wall(23, 23)
    obstacles[20, 20] = True
    cells = costmap(obstacles, margin=3)
    update = shown(cells)
    assert update.grid.nearest_free((20, 20), TOLERANCE) is not None
    assert find_escape_cell(update, (20.5, 20.5), TOLERANCE) is None
    cells[26, 20] = 0
    assert find_escape_cell(shown(cells), (20.5, 20.5), TOLERANCE) == (20, 26)


def test_a_wall_that_runs_diagonally_is_a_wall():
    """The cells of this wall touch at their corners only."""
    obstacles = np.eye(SIDE, dtype=bool)
    update = shown(costmap(obstacles, margin=0))
    assert find_escape_cell(update, (20.5, 20.5), TOLERANCE) is None
    x, y = find_escape_cell(update, (20.5, 20.5), TOLERANCE, (22.5, 18.5))
    assert x > y


def test_a_second_obstacle_that_runs_diagonally_is_not_crossed():
    """The line to the only free cell leads through the point where two of its cells touch."""
    rows, columns = np.indices((SIDE, SIDE))
    obstacles = rows + columns == 45
    obstacles[20, 20] = True
    cells = np.where(obstacles, 100, 99).astype(np.int8)
    cells[25, 25] = 0
    assert find_escape_cell(shown(cells), (20.5, 20.5), TOLERANCE) is None


def test_a_side_from_which_another_wall_keeps_the_robot_raises_no_doubt_about_the_robots_side():
    assert find_escape_cell(shown(costmap(wall(20, 20) | wall(22, 22), margin=1)), (20.5, 20.5), TOLERANCE) == (18, 20)


@pytest.mark.parametrize(('end', 'cell'), [(22, (19, 20)), (26, None)])
def test_a_thin_wall_has_one_side_only_where_it_ends(end, cell):
    obstacles = wall(20, 20)
    obstacles[end:] = False
    assert find_escape_cell(shown(costmap(obstacles, margin=0)), (20.4, 20.5), TOLERANCE) == cell


def met_between(obstacles, start, end):
    """Whether there is an obstacle, at 2001 places from start to end."""
    shares = np.linspace(0, 1, 2001)
    columns, rows = np.floor(np.outer(1 - shares, start) + np.outer(shares, end)).astype(int).T
    return obstacles[rows, columns]


def crossings(obstacles, start, end):
    """How often the line enters an obstacle; that it begins in one counts."""
    met = met_between(obstacles, start, end)
    return int(met[0]) + int(np.count_nonzero(met[1:] & ~met[:-1]))


def through(obstacles, start, end):
    """How far the line leads through obstacles."""
    return met_between(obstacles, start, end).mean() * math.dist(start, end)


def least_through(obstacles, start):
    """How far the nearest place is that is no obstacle, looked for in all directions."""
    angles = np.linspace(0, math.tau, 720, endpoint=False)
    for radius in np.arange(0.05, 12, 0.05):
        places = np.floor(np.add(start, radius * np.column_stack((np.cos(angles), np.sin(angles))))).astype(int)
        if not obstacles[places[:, 1], places[:, 0]].all():
            return radius
    return math.inf


def among_walls(rng):
    """Walls of all widths, up and down and across."""
    obstacles = np.zeros((SIDE, SIDE), bool)
    for _ in range(rng.integers(1, 4)):
        at, width = rng.integers(8, 30), rng.integers(1, 6)
        part = obstacles if rng.integers(2) else obstacles.T
        part[:, at : at + width] = True
    return obstacles


def test_among_walls_a_robot_crosses_the_obstacle_it_is_in_and_only_on_its_nearer_side():
    rng, found = np.random.default_rng(4), 0
    for _ in range(150):
        obstacles = among_walls(rng)
        update = shown(costmap(obstacles, margin=int(rng.integers(0, 3))))
        for y, x in rng.permutation(np.argwhere(obstacles[12:28, 12:28]) + 12)[:20].tolist():
            start = x + rng.random(), y + rng.random()
            cell = find_escape_cell(update, start, TOLERANCE)
            if cell is not None:
                found += 1
                end = cell[0] + 0.5, cell[1] + 0.5
                assert not update.grid.blocked[cell[1], cell[0]]
                assert crossings(obstacles, start, end) == 1
                assert through(obstacles, start, end) <= math.sqrt(2) * (least_through(obstacles, start) + 1.0)
    assert found > 500


# ------------------------------------------------------------------------------------------------------ how much work
@pytest.fixture
def worked_out(monkeypatch):
    """The places for which an escape cell had to be computed."""
    places = []

    def count(window, position, *others, find=escape._find_escape_cell):
        places.append(position)
        return find(window, position, *others)

    monkeypatch.setattr(escape, '_find_escape_cell', count)
    return places


def test_for_a_robot_that_stays_in_a_wall_nothing_is_worked_out_again(worked_out):
    """The pose varies a little, other cells of the map change, and Nav2 requests a path, too."""
    cells, rng = costmap(wall(20, 20)), np.random.default_rng(6)
    live_map, navigator, path_planner = live(cells), Navigator(SETTINGS), PathPlanner(SETTINGS, 0.0)
    navigator.new_goal(Pose2D(30.5, 20.5))
    for i in range(20):
        cells[5, 2:8] = 100 * (i % 2)
        live_map.full(cells, GEOMETRY)
        update, pose = live_map.latest(), Pose2D(20.51 + rng.uniform(0, 0.005), 20.51 + rng.uniform(0, 0.005))
        assert navigator.tick(update, pose).status == NavigationStatus.START_BLOCKED
        path_planner.update_map(update)
        path_planner.request(pose, [Pose2D(30.5, 20.5)], start_is_robot=True)
        assert path_planner.step(lambda planner: planner.search(10)).status == S.START_OCCUPIED
    assert len(worked_out) == 2, 'one each for the navigator and the path planner'


def test_navigators_on_two_maps_do_not_disturb_each_other(worked_out):
    """Each remembers its own escape cell, though they tick in turns. They once shared a cache of the process."""
    updates = shown(costmap(wall(20, 22))), shown(costmap(wall(20, 24)))
    navigators = Navigator(SETTINGS), Navigator(SETTINGS)
    for _ in range(5):
        for navigator, update in zip(navigators, updates):
            if navigator.goal is None:
                navigator.new_goal(Pose2D(5.5, 5.5))
                navigator.tick(update, Pose2D(20.5, 20.5))
            else:
                navigator.tick(None, Pose2D(20.5, 20.5))
    assert len(worked_out) == 2


def test_the_module_has_no_state_that_changes():
    assert not [
        name
        for name, value in vars(escape).items()
        if isinstance(value, (list, dict, set, EscapeFinder)) and not name.startswith('__')
    ]


def test_what_was_found_before_does_not_count_once_there_is_an_obstacle_before_the_escape_cell(worked_out):
    """The cell is always blocked, as margin or as obstacle, so that the grid stays the same."""
    cells, find_escape_cell = costmap(wall(20, 20)), EscapeFinder().find_cell
    live_map = live(cells)
    update = live_map.latest()
    assert find_escape_cell(update, (19.5, 20.5), TOLERANCE) == (17, 20)
    cells[:, 18] = 100
    live_map.full(cells, GEOMETRY)
    assert live_map.latest() is None
    assert find_escape_cell(update, (19.5, 20.5), TOLERANCE) is None


@pytest.mark.parametrize('updates', [1, 2])
def test_what_was_found_before_does_not_count_once_other_cells_are_free(worked_out, updates):
    """Every other update is in the same grid."""
    cells, find_escape_cell = costmap(wall(20, 22)), EscapeFinder().find_cell
    live_map = live(cells)
    assert find_escape_cell(live_map.latest(), (20.1, 20.5), TOLERANCE) == (17, 20)
    cells[:, 16:20] = 99
    for i in range(updates):
        cells[3, 3 + i] = 100
        live_map.full(cells, GEOMETRY)
        update = live_map.latest()
    assert find_escape_cell(update, (20.1, 20.5), TOLERANCE) == (15, 20)


def test_what_was_found_before_counts_for_the_same_place_tolerance_and_side_only(worked_out):
    update, find_escape_cell = shown(costmap(wall(20, 23), margin=0)), EscapeFinder().find_cell
    assert find_escape_cell(update, (21.1, 20.5), TOLERANCE) == (19, 20)
    assert find_escape_cell(update, (21.9, 20.5), TOLERANCE) is None
    assert find_escape_cell(update, (21.1, 20.5), 1) is None
    assert find_escape_cell(update, (21.1, 20.5), TOLERANCE, (25.5, 20.5)) == (24, 20)
    assert len(worked_out) == 4


def test_the_memory_of_a_finder_is_bounded(worked_out):
    update, finder = shown(costmap(wall(20, 20))), EscapeFinder()
    for x, y in np.random.default_rng(7).random((200, 2)).tolist():
        finder.find_cell(update, (20 + x, 20 + y), TOLERANCE)
    assert len(worked_out) > escape.MAX_REMEMBERED
    assert len(finder._last.found) <= escape.MAX_REMEMBERED


@pytest.mark.parametrize(('away', 'is_found'), [(MAX_DISTANCE, True), (MAX_DISTANCE + 1, False)])
def test_however_large_the_tolerance_an_escape_cell_is_looked_for_in_a_bounded_window(away, is_found):
    """Cells may be small, and a tick must not go with their number."""
    side = 2 * MAX_DISTANCE + 11
    cells = np.full((side, side), 99, np.int8)
    cells[5, 5 + away] = 0
    live_map, geometry = (
        LiveMap(CostmapConfig()),
        MapGeometry(side, side, 0.01),
    )
    live_map.full(cells, geometry)
    update = live_map.latest()
    assert find_escape_cell(update, (5.5, 5.5), 1000) == ((5 + away, 5) if is_found else None)
    navigator = Navigator(replace(SETTINGS, start_tolerance_m=10.0))
    navigator.new_goal(Pose2D(*geometry.centre_of((5 + away, 5))))
    tick = navigator.tick(update, Pose2D(*geometry.centre_of((5, 5))))
    assert ('no free cell within 1 m is certain' in tick.message) == (not is_found)


# ------------------------------------------------------------------------------------------------------ who asks
@pytest.mark.parametrize('beside', [-0.8, 0.8])
def test_noise_into_a_thin_wall_leads_no_robot_across_it(beside):
    """There is no margin, and the robot drives along the wall; sometimes it seems to be in it."""
    navigator = Navigator(SETTINGS)
    navigator.new_goal(Pose2D(20.5 + beside, 36.0))
    update, rng = shown(costmap(wall(20, 20), margin=0)), np.random.default_rng(3)
    x, y = 20.5 + beside, 4.0
    for i in range(200):
        shift = -beside * 0.9 if i % 5 == 4 else 0.0
        tick = navigator.tick(update, Pose2D(x + shift, y + rng.normal(0, 0.1)))
        update = None
        if tick.status == NavigationStatus.ARRIVED:
            break
        assert tick.status == NavigationStatus.NAVIGATING
        assert (tick.waypoint.x_m - 20.5) * beside > 0
        y = min(y + 0.5, tick.waypoint.y_m)
    assert tick.status == NavigationStatus.ARRIVED


def test_a_robot_that_begins_in_a_thin_wall_stays_until_it_is_seen_beside_it():
    navigator, update = Navigator(SETTINGS), shown(costmap(wall(20, 20)))
    navigator.new_goal(Pose2D(30.5, 20.5))
    pose = Pose2D(20.6, 20.5)
    tick = navigator.tick(update, pose)
    assert (tick.status, tick.waypoint) == (NavigationStatus.START_BLOCKED, pose)
    assert navigator.tick(None, Pose2D(22.6, 20.5)).status == NavigationStatus.NAVIGATING


def test_places_before_the_last_goal_or_a_lost_pose_are_ignored():
    navigator, update = Navigator(SETTINGS), shown(costmap(wall(20, 20)))
    for interrupt in (lambda: navigator.tick(None, None), lambda: navigator.cancel() and navigator.tick(None, None)):
        navigator.new_goal(Pose2D(5.5, 20.5))
        navigator.tick(update, Pose2D(15.5, 20.5))
        update = None
        assert navigator.tick(None, Pose2D(20.5, 20.5)).status == NavigationStatus.NAVIGATING
        interrupt()
        navigator.new_goal(Pose2D(5.5, 20.5))
        assert navigator.tick(None, Pose2D(20.5, 20.5)).status == NavigationStatus.START_BLOCKED


def test_where_the_robot_is_counts_also_while_its_goal_is_blocked():
    """Somebody drives it to the other side of the wall meanwhile."""
    cells = costmap(wall(20, 20))
    live_map, navigator = live(cells), Navigator(SETTINGS)
    navigator.new_goal(Pose2D(35.5, 20.5))
    navigator.tick(live_map.latest(), Pose2D(16.5, 20.5))
    blocked = cells.copy()
    blocked[:, 30:] = 100
    live_map.full(blocked, GEOMETRY)
    assert navigator.tick(live_map.latest(), Pose2D(24.5, 20.5)).status == NavigationStatus.GOAL_BLOCKED
    live_map.full(cells, GEOMETRY)
    tick = navigator.tick(live_map.latest(), Pose2D(20.5, 20.5))
    assert tick.status == NavigationStatus.NAVIGATING
    assert tick.waypoint.x_m > 20.5


@pytest.mark.parametrize(('last', 'x', 'status'), [(20, 20.4, S.START_OCCUPIED), (22, 22.4, S.FOUND)])
def test_a_request_from_within_a_wall_is_fulfilled_if_its_side_is_known(last, x, status):
    path_planner = PathPlanner(SETTINGS, 0.0)
    path_planner.update_map(shown(costmap(wall(20, last))))
    path_planner.request(Pose2D(x, 20.5), [Pose2D(30.5, 20.5)], start_is_robot=True)
    result = path_planner.step(lambda planner: planner.search(10_000))
    assert result.status == status
    assert result.path is None or (result.path.points_m[:, 0] >= x).all()


def test_an_obstacle_that_appears_within_a_step_is_reported_in_the_next_one():
    """The map's thread does not wait for the one that searches."""
    cells = costmap(wall(20, 20))
    update, looks = shown(cells), iter([cells, np.full_like(cells, 100)])
    newer = replace(update, obstacles=lambda box: next(looks)[box.slices] == 100)
    path_planner = PathPlanner(SETTINGS, 0.0)
    path_planner.update_map(newer)
    path_planner.request(Pose2D(18.5, 20.5), [Pose2D(5.5, 20.5)], start_is_robot=True)
    assert path_planner.step(lambda planner: planner.search(10_000)).status == S.SEARCHING
    looks = iter([np.full_like(cells, 100)])
    assert path_planner.step(lambda planner: planner.search(10_000)).status == S.START_OCCUPIED


def test_a_start_that_is_blocked_while_the_search_runs_is_left_on_its_own_side_of_the_wall():
    """The nearest free cell is beyond the wall then."""
    live_map, cells = live(costmap(wall(20, 20))), costmap(wall(20, 20))
    path_planner = PathPlanner(SETTINGS, 0.0)
    path_planner.update_map(live_map.latest())
    path_planner.request(Pose2D(16.5, 20.5), [Pose2D(2.5, 2.5)], start_is_robot=True)
    assert path_planner.step(lambda planner: planner.search(3)).status == S.SEARCHING
    cells[10:30, 9:20] = 99
    live_map.full(cells, GEOMETRY)
    update = live_map.latest()
    assert update.grid.nearest_free((16, 20), TOLERANCE) == (23, 20)
    path_planner.update_map(update)
    result = path_planner.step(lambda planner: planner.search(10_000))
    assert result.status == S.FOUND
    assert (result.path.points_m[:, 0] < 20).all()


@pytest.mark.parametrize('goal', [(2.5, 2.5), (37.5, 37.5)])
def test_a_robot_whose_cell_is_blocked_while_it_drives_is_led_out_on_its_own_side_of_the_wall(goal):
    obstacles = wall(20, 20)
    obstacles[36:, 20] = False
    live_map, cells, navigator = live(costmap(obstacles)), costmap(obstacles), Navigator(SETTINGS)
    navigator.new_goal(Pose2D(*goal))
    pose = Pose2D(16.5, 20.5)
    navigator.tick(live_map.latest(), pose, lambda planner: planner.search(3))
    cells[10:30, 9:20] = 99
    live_map.full(cells, GEOMETRY)
    tick = navigator.tick(live_map.latest(), pose, lambda planner: planner.search(10_000))
    assert tick.status == NavigationStatus.NAVIGATING
    assert (tick.waypoint.x_m, tick.waypoint.y_m) == (8.5, 20.5)
    assert navigator.plan_cells()[0].tolist() == [8, 20]
