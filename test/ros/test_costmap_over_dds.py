"""Nav2's global costmap in place of a map: weighted costs, patches, bad ones, and one that is cleared."""

import math

import numpy as np
import pytest
from helpers.peer import LATCHED
from helpers.surroundings import PlannerPeer, map_message
from nav_msgs.msg import OccupancyGrid

OccupancyGridUpdate = pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed').OccupancyGridUpdate

REMAPS = {'map': 'global_costmap/costmap', 'map_updates': 'global_costmap/costmap_updates'}
INSCRIBED, LETHAL, UNKNOWN = 99, 100, -1
SIDE = 100
DOORS = (slice(10, 20), slice(80, 90))


class Costmap:
    """Nav2's costmap publisher: both topics reliable, transient local, of depth 1, and stamped."""

    def __init__(self, peer, cells, frame='map', resolution=0.1):
        self.cells = cells
        self._frame = frame
        self._resolution = resolution
        self._clock = peer.node.get_clock()
        self._full = peer.node.create_publisher(OccupancyGrid, REMAPS['map'], LATCHED)
        self._updates = peer.node.create_publisher(OccupancyGridUpdate, REMAPS['map_updates'], LATCHED)
        peer.wait_until(self._updates.get_subscription_count, 'the planner listens to updates')

    def _now(self):
        return self._clock.now().to_msg()

    def publish(self, cells=None):
        """Publishes the whole costmap."""
        self.cells = self.cells if cells is None else cells
        message = map_message(self.cells, resolution=self._resolution, frame=self._frame)
        message.header.stamp = self._now()
        self._full.publish(message)

    def update(self, x, y, values, *, frame=''):
        """A part, as it is from now on."""
        height, width = values.shape
        self.cells[y : y + height, x : x + width] = values
        self.publish_update(x, y, values, frame=frame)

    def publish_update(self, x, y, values, *, frame=''):
        height, width = values.shape
        message = OccupancyGridUpdate(x=x, y=y, width=width, height=height)
        message.header.frame_id = frame or self._frame
        message.header.stamp = self._now()
        message.data.frombytes(values.astype(np.int8).tobytes())
        self._updates.publish(message)


def inflated(obstacles, inscribed=2, radius=8):
    """Costs as of Nav2's inflation layer: 99 around obstacles, then decreasing, and 0 beyond the radius."""
    rows, columns = np.nonzero(obstacles)
    y, x = np.mgrid[: obstacles.shape[0], : obstacles.shape[1]]
    away = np.full(obstacles.shape, np.inf)
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        np.minimum(away, np.hypot(x - column, y - row), out=away)
    weighted = np.where(away <= radius, 98 * np.exp(-0.4 * (away - inscribed)), 0)
    return np.where(obstacles, LETHAL, np.where(away <= inscribed, INSCRIBED, weighted)).astype(np.int8)


def wall(*doors):
    """Across the map, with these doors open."""
    obstacles = np.zeros((SIDE, SIDE), bool)
    obstacles[:, 50] = True
    for door in doors:
        obstacles[DOORS[door], 50] = False
    return obstacles


OPEN = [inflated(wall(0, 1)), inflated(wall(0)), inflated(wall(1))]
"""The maps with both doors open, with the first one, and with the second one."""


@pytest.fixture
def make_costmap(nodes, peer):
    """A planner that subscribes to a costmap, its surroundings, and the costmap."""

    def make(cells, *, resolution=0.1, **parameters):
        chosen = {'robot_radius_m': 0.0, 'inflation_radius_m': 0.0, 'pose_timeout_s': 60.0, **parameters}
        planner = nodes.planner(remaps=REMAPS, **chosen)
        around = PlannerPeer(peer)
        return planner, around, Costmap(peer, cells.copy(), resolution=resolution)

    return make


def set_out(around, costmap, x=8.0, y=5.0):
    costmap.publish()
    around.publish_goal(x, y)
    around.wait_for_status('NAVIGATING')
    wait_for_whole_plan(around, x, y)


def wait_for_whole_plan(around, x=8.0, y=5.0):
    around.peer.wait_until(lambda: cells_of(around) and ends_at(around, x, y), 'a plan to the goal')


def ends_at(around, x, y):
    end = around.plans.last.poses[-1].pose.position
    return math.dist((end.x, end.y), (x, y)) < 0.15


def cells_of(around):
    """The cells of the last plan as (column, row); a cell is 0.1 m."""
    if not around.plans:
        return []
    return [(int(pose.pose.position.x / 0.1), int(pose.pose.position.y / 0.1)) for pose in around.plans.last.poses]


def door_of(around):
    """The door that the plan leads through."""
    rows = [row for column, row in cells_of(around) if column == 50]
    return next((number for number, door in enumerate(DOORS) if rows and door.start <= rows[0] < door.stop), None)


def wait_for_door(around, number):
    around.peer.wait_until(lambda: door_of(around) == number, lambda: f'door {number}; {cells_of(around)}')


def check_that_it_goes_on(planner, around, *texts):
    plans, begin = len(around.plans), 0
    around.wait_until_logged(planner, begin, *texts)
    around.wait_for_waypoints(5)
    assert len(around.plans) == plans
    assert around.statuses.last.data == 'NAVIGATING'
    assert planner.exit_code is None


def test_the_route_avoids_inscribed_cells_and_prefers_cells_of_low_cost(make_costmap, peer):
    _, around, costmap = make_costmap(OPEN[0], cost_travel_multiplier=4.0, weight=1.0)
    set_out(around, costmap)
    values = [costmap.cells[row, column] for column, row in cells_of(around)]
    assert max(values) < INSCRIBED
    door, sides = DOORS[door_of(around)], (2, 2)
    rows = [row for column, row in cells_of(around) if column == 50]
    assert all(door.start + sides[0] < row < door.stop - 1 - sides[1] for row in rows)
    assert np.mean([value > 40 for value in values]) < 0.2


def test_cells_of_high_cost_are_avoided_if_the_detour_is_cheaper(make_costmap, peer):
    cells = np.zeros((SIDE, SIDE), np.int8)
    cells[20:80, 45:55] = 98
    _, around, costmap = make_costmap(cells, cost_travel_multiplier=10.0, weight=1.0)
    set_out(around, costmap)
    assert not any(cells[row, column] for column, row in cells_of(around))
    around.set_parameters(cost_travel_multiplier=0.0)
    around.peer.wait_until(lambda: any(cells[row, column] for column, row in cells_of(around)), 'the straight path')


@pytest.mark.parametrize('allow_unknown', [True, False])
def test_unknown_cells_are_crossed_only_if_that_is_allowed(make_costmap, peer, allow_unknown):
    cells = OPEN[1].copy()
    cells[70:95, 40:60] = UNKNOWN
    _, around, costmap = make_costmap(cells, allow_unknown=allow_unknown, weight=1.0)
    around.pose.pose.position.y = 8.0
    set_out(around, costmap, y=8.0)
    crossed = [cells[row, column] == UNKNOWN for column, row in cells_of(around)]
    assert any(crossed) == allow_unknown


def test_patches_are_taken_in_and_a_route_that_they_block_is_left(make_costmap, peer):
    _, around, costmap = make_costmap(OPEN[2])
    set_out(around, costmap)
    for number in (0, 1, 0):
        after = OPEN[1 + number]
        costmap.update(30, 0, after[:, 30:70].copy())
        wait_for_door(around, number)
    assert (costmap.cells == OPEN[1]).all()


def test_patches_before_the_first_whole_costmap_are_dropped_and_that_one_seeds_the_map(make_costmap, peer):
    planner, around, costmap = make_costmap(OPEN[0])
    around.publish_goal(8.0, 5.0)
    around.wait_for_status('WAITING_FOR_MAP')
    costmap.publish_update(30, 0, OPEN[1][:, 30:70])
    around.wait_until_logged(planner, 0, 'comes before the first whole map; the update is dropped')
    assert around.statuses.last.data == 'WAITING_FOR_MAP'
    costmap.publish(OPEN[2])
    wait_for_door(around, 1)


@pytest.mark.parametrize(
    ('x', 'y', 'shape', 'frame', 'text'),
    [
        (90, 0, (10, 20), '', 'patch of 20 x 10 cells at (90, 0) is not inside the 100 x 100 map'),
        (-1, 5, (2, 2), '', 'patch of 2 x 2 cells at (-1, 5) is not inside the 100 x 100 map'),
        (0, 0, (101, 100), '', 'patch of 100 x 101 cells at (0, 0) is not inside the 100 x 100 map'),
        (40, 0, (100, 20), 'odom', "map update is in frame 'odom'; the map is in 'map'"),
    ],
)
def test_patches_out_of_bounds_or_in_another_frame_are_dropped(make_costmap, peer, x, y, shape, frame, text):
    """All of them would block the route."""
    planner, around, costmap = make_costmap(OPEN[0])
    set_out(around, costmap)
    costmap.publish_update(x, y, np.full(shape, LETHAL), frame=frame)
    check_that_it_goes_on(planner, around, text, 'the update is dropped')


def test_changes_of_lost_patches_arrive_with_the_next_whole_costmap(make_costmap, peer):
    planner, around, costmap = make_costmap(OPEN[2])
    set_out(around, costmap)
    costmap.cells[:] = OPEN[1]  # not published
    costmap.update(0, 0, costmap.cells[:5, :5].copy())
    around.wait_for_waypoints(5)
    assert door_of(around) == 1  # as far as it can know
    costmap.publish()
    wait_for_door(around, 0)
    assert planner.exit_code is None


def test_a_burst_of_patches_ends_in_the_map_that_they_end_in(make_costmap, peer):
    """500 of them at once, more than any queue holds; and the whole costmap, that nothing may be missing."""
    _, around, costmap = make_costmap(OPEN[2])
    set_out(around, costmap)
    for number in range(500):
        costmap.update(30, 0, OPEN[1 + number % 2][:, 30:70].copy())
    costmap.publish(OPEN[1])
    wait_for_door(around, 0)
    around.wait_for_waypoints(10)
    assert door_of(around) == 0
    assert max(OPEN[1][row, column] for column, row in cells_of(around)) < INSCRIBED


def test_a_planner_that_starts_late_gets_the_costmap_that_was_published_before(nodes, peer):
    full = peer.node.create_publisher(OccupancyGrid, REMAPS['map'], LATCHED)
    full.publish(map_message(OPEN[2]))
    nodes.planner(remaps=REMAPS, robot_radius_m=0.0, inflation_radius_m=0.0)
    around = PlannerPeer(peer)
    around.publish_goal(8.0, 5.0)
    wait_for_door(around, 1)


# ------------------------------------------------------------------------------------------------------ cleared
def fine(cells):
    """The same place in cells of 0.025 m: as many are blocked as a clear has to free."""
    return np.kron(cells, np.ones((4, 4), np.int8))


FINE, CLEAR, CUT_OFF = fine(OPEN[2]), np.zeros((4 * SIDE, 4 * SIDE), np.int8), fine(inflated(wall()))


def restarts(facts):
    return {key: int(value) for key, value in facts.items() if key.startswith('restarts_') and int(value)}


def wait_for_straight_path(around):
    around.peer.wait_until(
        lambda: cells_of(around) and door_of(around) is None and ends_at(around, 8.0, 5.0), 'straight on'
    )


@pytest.mark.parametrize('weight', [1.0, 1.5])
def test_a_cleared_costmap_whose_obstacles_come_back_restarts_nothing(make_costmap, peer, weight):
    """Ten times, and each time for some cycles of the costmap: the route stays the same."""
    planner, around, costmap = make_costmap(FINE, resolution=0.025, weight=weight, cleared_map_timeout_s=60.0)
    set_out(around, costmap)
    plans = len(around.plans)
    for _ in range(10):
        for _ in range(3):
            costmap.publish(CLEAR)
            peer.spin(0.1)
        costmap.publish(FINE)
        peer.spin(0.2)
    assert len(around.plans) == plans
    assert restarts(around.next_facts()) == {}
    assert 'the map has lost most of its obstacles' in planner.log_text


def test_new_obstacles_end_the_wait_for_a_cleared_costmap(make_costmap, peer):
    _, around, costmap = make_costmap(FINE, resolution=0.025, cleared_map_timeout_s=3600.0)
    set_out(around, costmap)
    assert door_of(around) == 1
    costmap.publish(CLEAR)
    peer.spin(0.3)
    assert door_of(around) == 1
    costmap.publish(fine(OPEN[1]))
    wait_for_door(around, 0)


def test_a_costmap_that_stays_clear_is_used_after_the_timeout(make_costmap, peer):
    _, around, costmap = make_costmap(FINE, resolution=0.025, weight=1.0, cleared_map_timeout_s=1.0)
    set_out(around, costmap)
    costmap.publish(CLEAR)
    wait_for_straight_path(around)
    assert set(restarts(around.next_facts())) == {'restarts_shortcut_opened'}


def test_without_a_timeout_clearing_and_return_cause_a_restart_each_and_obstacles_are_avoided(make_costmap, peer):
    _, around, costmap = make_costmap(FINE, resolution=0.025, weight=1.0, cleared_map_timeout_s=0.0)
    set_out(around, costmap)
    for _ in range(5):
        costmap.publish(CLEAR)
        wait_for_straight_path(around)
        costmap.publish(FINE)
        wait_for_door(around, 1)
        wait_for_whole_plan(around)
        points = np.array([(pose.pose.position.x, pose.pose.position.y) for pose in around.plans.last.poses])
        columns, rows = (points / 0.025).astype(int).T
        assert FINE[rows, columns].max() < INSCRIBED
    assert sum(restarts(around.next_facts()).values()) <= 2 * 5


def test_without_a_path_a_cleared_costmap_is_used_at_once(make_costmap, peer):
    _, around, costmap = make_costmap(CUT_OFF, resolution=0.025, cleared_map_timeout_s=3600.0)
    costmap.publish()
    around.publish_goal(8.0, 5.0)
    around.wait_for_status('NO_PATH')
    costmap.publish(CLEAR)
    around.wait_for_status('NAVIGATING')


def test_a_path_that_is_asked_for_again_and_again_stays_the_same_over_clears(make_costmap, peer):
    pytest.importorskip('nav2_msgs', reason='nav2_msgs is not installed')
    from helpers.path_client import PathClient

    patience = {'max_planning_time_s': 30.0, 'cleared_map_timeout_s': 60.0}
    planner, around, costmap = make_costmap(FINE, resolution=0.025, weight=1.0, nav2=True, **patience)
    around.wait_until_logged(planner, 0, '[tb_planner]: active')
    client = PathClient(peer)
    costmap.publish()
    first = client.path_to(8.0, 5.0)
    for _ in range(5):
        costmap.publish(CLEAR)
        peer.spin(0.2)
        assert client.path_to(8.0, 5.0) == first
        costmap.publish(FINE)
        peer.spin(0.2)
        assert client.path_to(8.0, 5.0) == first
    assert around.next_facts()['path_searches'] == '1'
    client.close()
