"""LiveMap: a costmap that is cleared and gets its obstacles back, and a reader that leaves it on offer meanwhile."""

import logging

import numpy as np
import pytest

from tb_planner.geometry import MapGeometry
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.live_map import LiveMap
from tb_planner.navigation.loop import ClearedMapGuard
from tb_planner.ros.throttled_log import ThrottledLog

SIDE = 120
GEOMETRY = MapGeometry(SIDE, SIDE, 0.05)
LETHAL, UNKNOWN = 100, -1


def walls():
    """2,400 blocked cells of 14,400, and weighted ones beside them."""
    cells = np.zeros((SIDE, SIDE), np.int8)
    cells[:, 48:72] = 40
    cells[:, 50:70] = LETHAL
    return cells


@pytest.fixture
def live_map():
    """A live map with walls that its reader has fetched."""
    live = LiveMap(CostmapConfig(unknown_cost=2.0))
    live.full(walls(), GEOMETRY)
    assert not live.latest().cleared
    return live


def changed(live, **changes):
    """The walls with cells replaced by slices of rows."""
    cells = walls()
    for name, rows in changes.items():
        cells[rows, 48:72] = {'freed': 0, 'unknown': UNKNOWN}[name]
    live.full(cells, GEOMETRY)


@pytest.mark.parametrize('what', ['freed', 'unknown'])
def test_a_map_that_has_lost_most_of_its_obstacles_is_held_back_on_request(live_map, what):
    changed(live_map, **{what: slice(0, 61)})
    assert live_map.offers_cleared
    assert live_map.latest(leave_cleared=True) is None
    assert live_map.offers_cleared
    update = live_map.latest()
    assert update.cleared
    assert (np.count_nonzero(update.grid.blocked), len(update.change.decreased)) == (
        59 * 20,
        61 * (20 + 4 * (what == 'freed')),
    )


def test_a_map_that_has_lost_less_than_half_of_its_obstacles_is_not_held_back(live_map):
    changed(live_map, freed=slice(0, 59))
    assert not live_map.offers_cleared
    assert not live_map.latest(leave_cleared=True).cleared


def test_a_map_with_new_obstacles_is_not_held_back(live_map):
    cells = np.zeros((SIDE, SIDE), np.int8)
    cells[3, 3] = LETHAL
    live_map.full(cells, GEOMETRY)
    update = live_map.latest(leave_cleared=True)
    assert update.grid.is_blocked((3, 3))


def test_costs_that_rise_elsewhere_are_no_obstacles(live_map):
    live_map.full(np.full((SIDE, SIDE), 20, np.int8), GEOMETRY)
    assert live_map.offers_cleared


def test_a_few_obstacles_that_were_all_may_go(live_map):
    cells = np.zeros((SIDE, SIDE), np.int8)
    cells[5:45, 5:65] = 30
    cells[10:20, 10:60] = LETHAL
    live_map.full(cells, GEOMETRY)
    live_map.latest()
    live_map.full(np.zeros((SIDE, SIDE), np.int8), GEOMETRY)
    assert live_map.latest(leave_cleared=True) is not None


def test_obstacles_that_come_back_leave_no_change_to_report(live_map):
    for _ in range(3):
        live_map.full(np.zeros((SIDE, SIDE), np.int8), GEOMETRY)
        assert live_map.latest(leave_cleared=True) is None
        live_map.full(walls(), GEOMETRY)
        assert live_map.latest(leave_cleared=True) is None
        assert live_map.latest() is None


def test_patches_can_clear_a_map(live_map):
    for y in range(0, SIDE, 20):
        live_map.patch(np.zeros((20, SIDE), np.int8), (0, y))
    assert live_map.latest(leave_cleared=True) is None
    assert live_map.latest().cleared


def test_obstacles_that_stay_away_are_reported_when_the_rest_is_back(live_map):
    live_map.full(np.zeros((SIDE, SIDE), np.int8), GEOMETRY)
    assert live_map.latest(leave_cleared=True) is None
    changed(live_map, freed=slice(0, 10))
    update = live_map.latest(leave_cleared=True)
    assert len(update.change.decreased) == 10 * 24
    assert len(update.change.increased) == 0


# ------------------------------------------------------------------------------------------------------ the guard
class BusyMap(LiveMap):
    """A live map whose reader looks in the middle of the worker's work."""

    reader = staticmethod(lambda: None)

    def _write(self, here, boxes, changed):
        self.reader()
        super()._write(here, boxes, changed)


class Reader:
    """A reader that waits five seconds for a cleared map, by a clock that the test sets."""

    def __init__(self):
        self.map = BusyMap(CostmapConfig())
        self.now_s = 100.0
        self.guard = ClearedMapGuard(5.0, ThrottledLog(logging.getLogger()))
        self.map.full(walls(), GEOMETRY)
        assert self.look() is not None

    def look(self, *, may_wait=True):
        return self.guard.newest(self.map, self.now_s, may_wait=may_wait)

    def clear(self, cost=0):
        """Clears the map; cost is the value of one cell, so that each map differs from the last."""
        cells = np.zeros((SIDE, SIDE), np.int8)
        cells[3, 3] = cost
        self.map.full(cells, GEOMETRY)


def test_the_wait_for_a_cleared_map_ends_in_time_on_a_map_that_goes_on_changing():
    """This holds even if the reader always looks while the worker writes."""
    reader, seen = Reader(), []
    reader.clear()
    assert reader.look() is None
    reader.map.reader = lambda: seen.append(reader.look())
    for cost in range(1, 5):
        reader.now_s += 1.0
        reader.clear(cost)
        assert reader.look() is None
    assert seen == [None] * 4
    reader.now_s += 1.0
    assert reader.look().cleared


def test_the_wait_begins_again_when_the_obstacles_have_been_back():
    reader = Reader()
    for _ in range(3):
        reader.clear()
        assert reader.look() is None
        reader.now_s += 3.0
        assert reader.look() is None
        reader.map.full(walls(), GEOMETRY)
        assert reader.look() is None


def test_a_map_that_is_cleared_during_the_look_is_held_back():
    reader = Reader()
    latest = reader.map.latest
    reader.map.latest = lambda **options: (reader.clear(), latest(**options))[1]
    assert reader.look() is None


def test_a_reader_that_may_not_wait_gets_the_map_at_once():
    reader = Reader()
    reader.clear()
    assert reader.look() is None
    assert reader.look(may_wait=False).cleared
    reader.guard.timeout_s = 0.0
    reader.map.full(walls(), GEOMETRY)
    assert reader.look() is not None
    reader.clear()
    assert reader.look().cleared
