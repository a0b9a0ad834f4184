"""The newest map, brought up to date by one thread and planned on by another."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_planner import Grid, OutsideGrid, TimeBoundedPlanner
from tb_planner.geometry import MapGeometry
from tb_planner.maps.costmap import CostmapConfig, costs_of
from tb_planner.maps.live_map import LiveMap

RULES = {
    'plain': CostmapConfig(cost_travel_multiplier=0.0),
    'weighted': CostmapConfig(allow_unknown=False),
    'inflated': CostmapConfig(
        lethal_threshold=60,
        unknown_cost=2.5,
        robot_radius_m=0.06,
        inflation_radius_m=0.18,
    ),
}


def occupancy_of(noise, shape):
    """Free, occupied, unknown and in between."""
    levels = np.array([0, 0, 0, 100, 100, -1, 30, 70], np.int8)
    return levels[np.frombuffer(noise, np.uint8).reshape(shape) % len(levels)]


@st.composite
def occupancies(draw, shape):
    height, width = shape
    return occupancy_of(draw(st.binary(min_size=width * height, max_size=width * height)), shape)


@st.composite
def geometries(draw):
    side = st.integers(1, 14)
    return MapGeometry(
        draw(side), draw(side), draw(st.sampled_from((0.06, 0.05))), (draw(st.sampled_from((0.0, 1.5))), 0.0, 0.0)
    )


@st.composite
def calls(draw):
    """A sequence of tasks of a worker; a whole map comes first."""
    geometry = draw(geometries())
    done = [('full', draw(occupancies((geometry.height, geometry.width))), geometry)]
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(('patch', 'patch', 'patch', 'full', 'same', 'moved', 'rules')))
        if kind == 'patch':
            x, y = draw(st.integers(0, geometry.width - 1)), draw(st.integers(0, geometry.height - 1))
            shape = draw(st.integers(1, geometry.height - y)), draw(st.integers(1, geometry.width - x))
            done.append(('patch', draw(occupancies(shape)), (x, y)))
        elif kind == 'rules':
            done.append(('rules', draw(st.sampled_from(sorted(RULES)))))
        elif kind == 'same':
            done.append(('same',))
        else:
            geometry = draw(geometries()) if kind == 'moved' else geometry
            done.append(('full', draw(occupancies((geometry.height, geometry.width))), geometry))
    return done


class Model:
    """The expected map, kept as plain arrays."""

    def __init__(self, rules):
        self.rules, self.occupancy, self.geometry = rules, None, None

    def take(self, call):
        match call:
            case 'full', occupancy, geometry:
                self.occupancy, self.geometry = occupancy.copy(), geometry
            case 'patch', occupancy, (x, y):
                self.occupancy[y : y + occupancy.shape[0], x : x + occupancy.shape[1]] = occupancy
            case 'rules', name:
                self.rules = name

    def grid(self, **shape):
        costs = costs_of(self.occupancy, replace(RULES[self.rules], resolution_m=self.geometry.resolution_m))
        return Grid(np.isinf(costs) if self.rules == 'plain' else costs, **shape)


def ask(live_map, model, call):
    match call:
        case 'full', occupancy, geometry:
            live_map.full(occupancy, geometry)
        case 'patch', occupancy, at:
            live_map.patch(occupancy, at)
        case 'rules', name:
            live_map.set_rules(RULES[name])
        case ('same',):
            live_map.full(model.occupancy.copy(), model.geometry)


def same_map(grid, other):
    return (
        (grid.width, grid.height, grid.weighted, grid.neighbours, grid.corner_cutting)
        == (other.width, other.height, other.weighted, other.neighbours, other.corner_cutting)
        and np.array_equal(grid.cost_u16, other.cost_u16)
        and np.array_equal(grid.legal_moves, other.legal_moves)
    )


def difference(before, after, corner_cutting):
    """States that have increased, decreased and opened, by their costs."""
    inf = np.iinfo(np.int32).max
    old, new = (np.where(t == 0, inf, t.astype(np.int32)).reshape(-1) for t in (before, after))
    opened = [] if corner_cutting else np.flatnonzero((old == inf) & (new < inf)).tolist()
    return np.flatnonzero(new > old).tolist(), np.flatnonzero(new < old).tolist(), opened


def as_lists(change):
    return tuple(sorted(states.tolist()) for states in (change.increased, change.decreased, change.unblocked))


class Reader:
    """Fetches updates and keeps a copy of what it has."""

    def __init__(self, live_map):
        self.live_map, self.update, self.terrain, self.moves = live_map, None, None, None
        self.fetched = 0

    def look(self):
        """Fetches; the grid read so far must not have changed, and the change must be the difference."""
        if self.update is not None:
            assert np.array_equal(self.update.grid.cost_u16, self.terrain)
            assert np.array_equal(self.update.grid.legal_moves, self.moves)
        update = self.live_map.latest()
        if update is None:
            return
        if update.change is not None:
            assert update.geometry == self.update.geometry
            assert update.grid is not self.update.grid
            assert update.change
            expected = difference(self.terrain, update.grid.cost_u16, update.grid.corner_cutting)
            assert as_lists(update.change) == expected
        self.fetched += 1
        self.update, self.terrain, self.moves = update, update.grid.cost_u16.copy(), update.grid.legal_moves.copy()


@settings(max_examples=300, deadline=None)
@given(
    calls(),
    st.sampled_from(sorted(RULES)),
    st.booleans(),
    st.sampled_from((4, 8)),
    st.sampled_from((1, 3, 256)),
    st.data(),
)
def test_what_is_fetched_is_the_newest_map_whenever_it_is_fetched(calls, rules, corner_cutting, neighbours, tile, data):
    shape = {'corner_cutting': corner_cutting, 'neighbours': neighbours}
    live_map, model = LiveMap(RULES[rules], **shape, tile=tile), Model(rules)
    reader = Reader(live_map)
    assert live_map.latest() is None
    for call in calls:
        ask(live_map, model, call)
        model.take(call)
        if data.draw(st.booleans()):
            reader.look()
            assert same_map(reader.update.grid, model.grid(**shape))
            assert reader.update.geometry == model.geometry
        if data.draw(st.booleans()):
            live_map.wait_until_fetched(0.0)  # which brings the other grid up to date
    reader.look()
    assert same_map(reader.update.grid, model.grid(**shape))
    assert live_map.latest() is None


@settings(max_examples=60, deadline=None)
@given(st.lists(calls(), min_size=3, max_size=6))
def test_two_threads_need_no_turns(many_calls):
    """While the worker writes, the reader's grid stays as it was; in the end it has the newest map."""
    live_map, model = LiveMap(RULES['inflated'], tile=4), Model('inflated')
    reader, failures, done = Reader(live_map), [], threading.Event()

    def read():
        try:
            while not done.is_set():
                reader.look()
            reader.look()
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for call in (call for calls in many_calls for call in calls):
            ask(live_map, model, call)
            model.take(call)
    finally:
        done.set()
        thread.join(30)
    assert not thread.is_alive()
    assert not failures
    assert same_map(reader.update.grid, model.grid())


@pytest.mark.parametrize('corner_cutting', [False, True])
def test_a_planner_walks_on_what_is_fetched_as_on_a_grid_of_its_own(corner_cutting):
    """Both planners take the same long sequence of patches and maps, by latest() and use_grid() or by observe()."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        geometry = MapGeometry(40, 30, 0.05)
        occupancy = np.where(rng.random((30, 40)) < 0.15, 100, 0).astype(np.int8)
        occupancy[:2, :2] = occupancy[-2:, -2:] = 0
        live_map = LiveMap(RULES['weighted'], corner_cutting=corner_cutting, tile=8)
        live_map.full(occupancy, geometry)
        grid = live_map.latest().grid
        following = TimeBoundedPlanner(grid, (0, 0), (39, 29), k=20)
        rules = replace(RULES['weighted'], resolution_m=0.05)
        own_grid = Grid(costs_of(occupancy, rules), corner_cutting=corner_cutting)
        observing = TimeBoundedPlanner(own_grid, (0, 0), (39, 29), k=20)
        for _ in range(120):
            assert following.step() == observing.step()
            x, y = int(rng.integers(36)), int(rng.integers(26))
            patch = np.where(rng.random((4, 4)) < 0.3, 100, 0).astype(np.int8)
            for cx, cy in (following.current_cell, (39, 29)):
                if 0 <= cx - x < 4 and 0 <= cy - y < 4:
                    patch[cy - y, cx - x] = 0
            occupancy[y : y + 4, x : x + 4] = patch
            if rng.random() < 0.3:
                live_map.full(occupancy, geometry)
            else:
                live_map.patch(patch, (x, y))
            update = live_map.latest()
            restarted = update is not None and following.use_grid(update.grid, update.change)
            assert restarted == observing.observe(costs_of(patch, rules), (x, y))
            assert (following.route, following.restarts) == (observing.route, observing.restarts)


def test_no_search_has_memory_before_it_begins_or_once_spare_searches_are_dropped():
    """16 bytes a cell, for which an idle robot has no use."""
    live_map, geometry = LiveMap(RULES['weighted']), MapGeometry(9, 9, 0.05)
    live_map.drop_spare_searches()
    live_map.full(np.zeros((9, 9), np.int8), geometry)
    first = live_map.latest().grid
    assert not first.has_spare_search
    planner = TimeBoundedPlanner(first, (0, 0), (8, 8))
    live_map.full(30 * np.eye(9, dtype=np.int8), geometry)
    live_map.drop_spare_searches()
    planner.search()
    assert planner.route[-1] == (8, 8), 'a search that is used stays'
    planner.release()
    second = live_map.latest().grid
    assert second.has_spare_search
    live_map.drop_spare_searches()
    assert not first.has_spare_search
    assert not second.has_spare_search


def test_searches_begin_and_end_while_spare_ones_are_dropped():
    live_map, ended = LiveMap(RULES['weighted']), threading.Event()
    live_map.full(np.zeros((300, 300), np.int8), MapGeometry(300, 300, 0.05))
    grid = live_map.latest().grid

    def drop():
        while not ended.is_set():
            live_map.drop_spare_searches()

    worker = threading.Thread(target=drop)
    worker.start()
    try:
        for _ in range(300):
            one, other = (TimeBoundedPlanner(grid, (x, 0), (299 - x, 299), k=10**6) for x in (0, 20))
            for planner, steps in ((one, 299), (other, 299)):
                planner.search()
                assert planner.route_length == steps
                planner.release()
    finally:
        ended.set()
        worker.join()


def test_a_map_with_the_same_values_is_no_update():
    live_map = LiveMap(RULES['inflated'])
    occupancy = occupancy_of(bytes(range(200)), (10, 20))
    live_map.full(occupancy, MapGeometry(20, 10, 0.05))
    assert live_map.latest() is not None
    live_map.full(occupancy.copy(), MapGeometry(20, 10, 0.05))
    live_map.patch(occupancy[2:5, 3:9], (3, 2))
    live_map.set_rules(RULES['inflated'])
    assert live_map.latest() is None


def test_a_change_that_was_undone_before_it_was_fetched_is_no_update():
    live_map = LiveMap(RULES['plain'])
    live_map.full(np.zeros((10, 20), np.int8), MapGeometry(20, 10, 0.05))
    live_map.latest()
    for value in (100, 0):
        live_map.patch(np.full((2, 2), value, np.int8), (4, 4))
    assert live_map.latest() is None


def test_only_the_tiles_that_a_change_can_reach_are_computed(monkeypatch):
    from tb_planner.maps.costmap import CostTable

    live_map = LiveMap(RULES['inflated'], tile=16)
    live_map.full(np.zeros((160, 160), np.int8), MapGeometry(160, 160, 0.05))
    live_map.latest()
    computed, terrain = [], CostTable.terrain

    def counted(self, occupancy, box, marks):
        computed.append((box.x1 - box.x0) * (box.y1 - box.y0))
        return terrain(self, occupancy, box, marks)

    monkeypatch.setattr(CostTable, 'terrain', counted)
    live_map.patch(np.array([[100]], np.int8), (40, 40))
    assert sum(computed) == 7 * 7


def test_other_rules_give_other_costs_of_the_same_occupancy():
    live_map = LiveMap(RULES['weighted'])
    occupancy = occupancy_of(bytes(range(200)), (10, 20))
    live_map.full(occupancy, MapGeometry(20, 10, 0.05))
    first = live_map.latest()
    live_map.set_rules(RULES['inflated'])
    second = live_map.latest()
    assert second.change
    assert np.array_equal(second.grid.costs, costs_of(occupancy, replace(RULES['inflated'], resolution_m=0.05)))
    live_map.set_rules(RULES['plain'])
    third = live_map.latest()
    assert third.change is None
    assert (first.grid.weighted, second.grid.weighted, third.grid.weighted) == (True, True, False)


def test_a_map_of_other_geometry_is_all_new_though_size_and_cells_are_the_same():
    live_map = LiveMap(RULES['plain'])
    occupancy = np.zeros((10, 20), np.int8)
    for geometry in (MapGeometry(20, 10, 0.05), MapGeometry(20, 10, 0.05, (0.025, 0.0, 0.0)), MapGeometry(20, 10, 0.1)):
        live_map.full(occupancy, geometry)
        update = live_map.latest()
        assert update.change is None
        assert update.geometry == geometry


# ------------------------------------------------------------------ bad input


def test_a_patch_needs_a_map():
    with pytest.raises(ValueError, match=r'patch of 1 x 1 cells at \(0, 0\) comes before the first whole map'):
        LiveMap(RULES['plain']).patch(np.zeros((1, 1), np.int8), (0, 0))


def small():
    return np.zeros((2, 3), np.int8)


@pytest.mark.parametrize(
    ('bad', 'kind', 'message'),
    [
        (lambda m: m.patch(small(), (18, 0)), OutsideGrid, r'3 x 2 cells at \(18, 0\) is not inside the 20 x 10 map'),
        (lambda m: m.patch(small(), (-1, 4)), OutsideGrid, r'at \(-1, 4\) is not inside the 20 x 10 map'),
        (lambda m: m.patch(small(), (0, 9)), OutsideGrid, r'at \(0, 9\) is not inside'),
        (lambda m: m.patch(small(), (0.5, 9)), ValueError, r'at is \(0.5, 9\); it must be two whole numbers'),
        (lambda m: m.patch(small() + 101, (0, 0)), ValueError, r'occupancy 101 at \(0, 0\) is above 100'),
        (lambda m: m.patch(small() - 2, (0, 0)), ValueError, r'occupancy -2 at \(0, 0\) is below -1'),
        (lambda m: m.patch(np.zeros((0, 3), np.int8), (0, 0)), ValueError, r'3 x 0 cells is empty'),
        (lambda m: m.full(small(), MapGeometry(3, 3, 0.05)), ValueError, r'has 3 x 2 cells; its geometry has 3 x 3'),
        (lambda m: m.full(np.full((10, 20), 101, np.int8), MapGeometry(20, 10, 0.05)), ValueError, r'above 100'),
        (lambda m: m.full(np.zeros((10, 20)), MapGeometry(20, 10, 0.05)), ValueError, r'float64, not of whole numbers'),
        (
            lambda m: m.set_rules(CostmapConfig(inflation_radius_m=99.0)),
            ValueError,
            r'more than 1024 cells',
        ),
    ],
)
@pytest.mark.parametrize('fetched', [True, False])
def test_bad_input_is_refused_with_value_and_limit_and_loses_nothing(bad, kind, message, fetched):
    live_map, model = LiveMap(RULES['inflated']), Model('inflated')
    first = ('full', occupancy_of(bytes(range(200)), (10, 20)), MapGeometry(20, 10, 0.05))
    second = ('patch', small() + 100, (4, 4))
    for call in (first, second):
        ask(live_map, model, call)
        model.take(call)
        if fetched:
            live_map.latest()
    with pytest.raises(kind, match=message):
        bad(live_map)
    if not fetched:
        assert same_map(live_map.latest().grid, model.grid())
    third = ('patch', small() + 70, (9, 5))
    ask(live_map, model, third)
    model.take(third)
    assert same_map(live_map.latest().grid, model.grid())


@pytest.mark.parametrize('fetched', [True, False])
def test_costs_that_the_kernel_has_no_room_for_are_refused_and_the_map_stays(monkeypatch, fetched):
    from tb_planner.search import grid as grid_module

    monkeypatch.setattr(grid_module, 'MAX_G', 2 * 1393 * 16 * 200 * 2)  # a mean cost of 2 on 20 x 10 cells

    live_map = LiveMap(CostmapConfig(cost_travel_multiplier=10.0))
    live_map.full(np.zeros((10, 20), np.int8), MapGeometry(20, 10, 0.05))
    if fetched:
        live_map.latest()
    live_map.patch(np.full((2, 2), 50, np.int8), (3, 3))
    expected = np.ones((10, 20))
    expected[3:5, 3:5] = 6
    for refused in (
        lambda: live_map.full(np.full((10, 20), 50, np.int8), MapGeometry(20, 10, 0.05)),
        lambda: live_map.full(np.full((10, 20), 50, np.int8), MapGeometry(20, 10, 0.07)),
        lambda: live_map.set_rules(CostmapConfig(cost_travel_multiplier=4000.0)),
    ):
        with pytest.raises(ValueError, match=r'mean cost is .*; it must be at most 2.0 on a grid of this size'):
            refused()
    update = live_map.latest()
    assert np.array_equal(update.grid.costs, expected)
    assert (update.change is None) == (not fetched)
    live_map.patch(np.full((1, 1), 10, np.int8), (0, 0))
    expected[0, 0] = 2
    assert np.array_equal(live_map.latest().grid.costs, expected)


def test_a_worker_that_is_never_idle_waits_until_its_offer_is_fetched():
    live_map = LiveMap(RULES['plain'])
    assert live_map.wait_until_fetched(0.0), 'nothing is on offer yet'
    live_map.full(np.zeros((4, 4), np.int8), MapGeometry(4, 4, 1.0))
    assert not live_map.wait_until_fetched(0.01)
    reader = threading.Timer(0.05, live_map.latest)
    reader.start()
    assert live_map.wait_until_fetched(60.0)
    reader.join()
