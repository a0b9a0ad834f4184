"""Restarts happen exactly when the rule asks for it, tick by tick, with a moving robot and a map that changes.

The rule is computed here once more, from the cells, the route and the costs alone: a change restarts the search if it
blocks the route, makes it cost more than expected, or could shorten it (w c' < what remains of it). While the
search runs, only arcs next to closed cells could.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from helpers.trip import Trip

from tb_planner import rtba_star, tb_gbfs, tb_wa_star, tba_star
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.navigation.navigator import NavigationStatus
from tb_planner.search.algorithms import RestartReason

S = NavigationStatus
STRAIGHT, DIAGONAL = 985, 1393
STEPS = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]


class Costs:
    """A map as whole numbers, sixteenths of a cost, 0 where blocked; arcs in the units of STRAIGHT and DIAGONAL."""

    def __init__(self, values):
        if values.dtype == bool:
            self.t = np.where(values, 0, 16)
        else:
            self.t = np.where(np.isinf(values), 0, np.where(np.isinf(values), 0, values) * 16).astype(int)
        self._rows = self.t.tolist()

    def __getitem__(self, cell):
        x, y = cell
        return self._rows[y][x] if 0 <= y < len(self._rows) and 0 <= x < len(self._rows[y]) else 0

    def arc(self, u, v):
        """c(u, v), None if the step is illegal: corners are not cut."""
        if not self[u] or not self[v] or not self[u[0], v[1]] or not self[v[0], u[1]]:
            return None
        diagonal = u[0] != v[0] and u[1] != v[1]
        return (self[u] + self[v]) * (DIAGONAL if diagonal else STRAIGHT)

    def steps_from(self, u):
        near = ((u[0] + dx, u[1] + dy) for dx, dy in STEPS)
        return [v for v in near if self.arc(u, v) is not None]

    def along(self, route):
        """The cost of the route; None if it is blocked."""
        arcs = [self.arc(u, v) for u, v in pairwise(route)]
        return None if None in arcs else sum(arcs)


def h(u, v):
    """The octile distance, with every cell at the least cost."""
    dx, dy = abs(u[0] - v[0]), abs(u[1] - v[1])
    return 32 * (DIAGONAL * min(dx, dy) + STRAIGHT * (max(dx, dy) - min(dx, dy)))


def arcs_that_fell(old, new):
    """Arcs that cost less than before, or are new: for each the changed cells that it goes through or past."""
    rows, columns = np.nonzero((new.t != 0) & ((old.t == 0) | (new.t < old.t)))
    for v in zip(columns.tolist(), rows.tolist()):
        for u in new.steps_from(v):
            yield u, v, v
            yield v, u, v
        if not old[v]:
            x, y = v
            for dx, dy in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
                a, b = (x + dx, y), (x, y + dy)
                if new.arc(a, b) is not None:
                    yield a, b, v
                    yield b, a, v


class Watch:
    """The state of the search before a change, and the expected effect of the change."""

    def __init__(self, navigator, expected):
        planner = navigator.planner
        self.route = planner.route
        self.target = planner.target
        self.found = planner.goal_found
        self.closed = planner.expanded
        self.algorithm = planner.algorithm
        self.min_improvement = planner.min_improvement
        self.expected = expected

    def should_restart(self, old, new):
        """The reason, or None."""
        if np.array_equal(old.t, new.t):
            return None
        if self.algorithm.restart == 'eager':
            return RestartReason.EAGER
        cost = new.along(self.route)
        if cost is None:
            return RestartReason.BLOCKED
        if cost > self.expected * (1 + self.min_improvement):
            return RestartReason.COST_INCREASED
        if self.algorithm.restart == 'path_cost_increased' or self.algorithm.w_g == 0:
            return None
        remaining = cost + h(self.route[-1], self.target)
        return RestartReason.SHORTCUT_OPENED if self.could_shorten(old, new, remaining) else None

    def could_shorten(self, old, new, remaining):
        """w c' < what remains, for an arc that counts."""
        w = Fraction(self.algorithm.w_h, self.algorithm.w_g)
        limit = remaining * (1 - self.min_improvement)
        for u, v, changed in arcs_that_fell(old, new):
            through = h(self.route[0], u) + new.arc(u, v) + h(v, self.target)
            if w * through < limit and (self.found or self.is_next_to_closed(new, changed)):
                return True
        return False

    def is_next_to_closed(self, new, cell):
        return any(self.closed[y, x] for x, y in [cell, *new.steps_from(cell)])


class Goals:
    """A robot that drives from goal to goal while the map changes in every tick, but for the cells around the robot,
    where the search starts and ends, and around its goal."""

    WIDTH, HEIGHT = 40, 30

    def __init__(self, seed, *, weighted=False, **changes):
        self.random = np.random.default_rng(seed)
        self.weighted = weighted
        blocked = self.random.random((self.HEIGHT, self.WIDTH)) < 0.2
        values = np.where(blocked, np.float32(np.inf), self.some_costs(blocked.shape)) if weighted else blocked
        geometry = MapGeometry(self.WIDTH, self.HEIGHT, 0.1)
        self.trip = Trip(values, (2.05, 1.55), geometry=geometry, **changes)
        self.trip.place = self.free_place()
        self.counts = {}
        self.updates = 0
        self.expected = None
        self.new_goal()

    def some_costs(self, shape):
        return self.random.choice(np.array([1.0, 1.0, 1.0, 1.5, 12.0], np.float32), shape)

    def free_place(self):
        rows, columns = np.nonzero(~self.trip.blocked)
        i = self.random.integers(len(rows))
        return self.trip.geometry.centre_of((int(columns[i]), int(rows[i])))

    def new_goal(self):
        self.trip.navigator.new_goal(Pose2D(*self.free_place()))

    def changed_values(self):
        """Some cells, some of them on the route ahead."""
        random, trip = self.random, self.trip
        values = trip.values.copy()
        columns, rows = random.integers(0, self.WIDTH, 6), random.integers(0, self.HEIGHT, 6)
        route = trip.navigator.planner.route if trip.navigator.planner else []
        for x, y in zip(columns.tolist(), rows.tolist()):
            if not self.is_near_an_end((x, y), route):
                values[y, x] = self.some_value()
        if len(route) > 6 and random.random() < 0.15:
            x, y = route[random.integers(5, len(route))]
            if not self.is_near_an_end((x, y), route):
                values[y, x] = self.blocked_value
        return values

    def is_near_an_end(self, cell, route):
        trip = self.trip
        goal = trip.navigator.goal
        ends = [trip.geometry.cell_at(*trip.place), *route[:1]]
        ends += [trip.geometry.cell_at(goal.x_m, goal.y_m)] if goal else []
        return any(max(abs(cell[0] - x), abs(cell[1] - y)) <= 4 for x, y in ends)

    def some_value(self):
        if self.random.random() < 0.25:
            return self.blocked_value
        return self.some_costs(()) if self.weighted else False

    @property
    def blocked_value(self):
        return np.float32(np.inf) if self.weighted else True

    @property
    def has_no_path(self):
        return bool(self.trip.history) and self.trip.last.status is S.NO_PATH

    def tick(self, search=None):
        trip = self.trip
        if self.has_no_path and self.random.random() < 0.3:
            trip.place = self.free_place()
            self.new_goal()
        if trip.navigator.goal is None:
            self.new_goal()
        navigator, planner = trip.navigator, trip.navigator.planner
        is_navigating = planner is not None and trip.last.status in (S.NAVIGATING, S.WAITING)
        watch = Watch(navigator, self.expected) if is_navigating else None
        old = Costs(trip.values)
        trip.change_map(self.changed_values())
        new = Costs(trip.values)
        restarts = []

        def look_and_search(planner):
            restarts.extend(navigator._restarts)
            (search or type(planner).search)(planner)

        had_no_path = self.has_no_path and not np.array_equal(old.t, new.t)
        trip.tick(search=look_and_search)
        if watch is not None and trip.last.status != S.ARRIVED:
            reason = watch.should_restart(old, new)
            assert restarts == ([] if reason is None else [reason]), f'{trip.last} in tick {len(trip.history)}'
            self.updates += 1
        elif had_no_path and planner is not None:
            assert restarts == [RestartReason.NO_PATH]
        for reason in trip.last.restarts:
            self.counts[reason] = self.counts.get(reason, 0) + 1
        self.expect(watch, new)
        trip.drive()

    def expect(self, watch, new):
        """The cost of the route as it was found, or as low as it has decreased since, less what has been walked."""
        planner = self.trip.navigator.planner
        route = planner.route if planner is not None and self.trip.navigator.goal is not None else []
        walked = len(watch.route) - len(route) if watch is not None else 0
        if watch is not None and not self.trip.last.restarts and watch.route[walked:] == route:
            left = min(watch.expected, new.along(watch.route))
            self.expected = left - new.along(watch.route[: walked + 1])
        else:
            self.expected = new.along(route) if route else None


@pytest.mark.parametrize(
    ('algorithm', 'expected'),
    [
        (tba_star(), {RestartReason.BLOCKED, RestartReason.SHORTCUT_OPENED}),
        (tb_wa_star(1.5), {RestartReason.BLOCKED, RestartReason.SHORTCUT_OPENED}),
        (tb_wa_star(3.0), {RestartReason.BLOCKED}),
        (tb_gbfs(), {RestartReason.BLOCKED}),
        (rtba_star(), {RestartReason.BLOCKED}),
        (tba_star('eager'), {RestartReason.EAGER}),
    ],
    ids=['TBA*', 'TB-WA*(1.5)', 'TB-WA*(3)', 'TB-GBFS', 'RTBA*', 'eager'],
)
def test_restarts_happen_exactly_when_the_rule_asks_for_it(algorithm, expected):
    goals = Goals(7, algorithm=algorithm)
    for _ in range(1500):
        goals.tick()
    assert goals.updates > 1300
    rare = {RestartReason.SHORTCUT_OPENED} if algorithm.weight == 3 else set()
    assert expected <= set(goals.counts) <= expected | rare | {RestartReason.NO_PATH}
    assert all(goals.counts[reason] > 3 for reason in expected)


@pytest.mark.parametrize('min_improvement', [0.0, 0.125])
@pytest.mark.parametrize('algorithm', [tba_star(), rtba_star()], ids=['TBA*', 'RTBA*'])
def test_with_weighted_costs_restarts_happen_exactly_when_the_rule_asks_for_it(algorithm, min_improvement):
    goals = Goals(8, weighted=True, algorithm=algorithm, min_improvement=min_improvement)
    for _ in range(1000):
        goals.tick()
    assert goals.updates > 800
    assert {RestartReason.BLOCKED, RestartReason.COST_INCREASED} <= set(goals.counts)
    assert (RestartReason.SHORTCUT_OPENED in goals.counts) == (algorithm.restart == 'lazy')
    assert RestartReason.OFF_ROUTE not in goals.counts


@pytest.mark.parametrize('k', [3, 20])
@pytest.mark.parametrize(
    'algorithm', [tba_star(), tb_wa_star(1.5), tb_gbfs(), rtba_star()], ids=lambda a: f'{a.name} {a.weight}'
)
def test_while_the_search_runs_a_change_restarts_it_exactly_when_the_rule_asks_for_it(algorithm, k):
    goals = Goals(9, algorithm=algorithm, k=k)
    for _ in range(800):
        goals.tick()
    assert goals.updates > 700
    assert goals.counts[RestartReason.BLOCKED] > 5


def test_a_blocked_route_is_left_in_the_tick_that_learns_of_it():
    goals = Goals(10, algorithm=tb_wa_star(1.5))
    blocked = 0
    for _ in range(1000):
        goals.tick()
        trip = goals.trip
        if trip.last.status == S.NAVIGATING:
            assert Costs(trip.values).along(trip.navigator.planner.route) is not None
        blocked += RestartReason.BLOCKED in trip.last.restarts
    assert blocked > 20


def test_changes_that_affect_neither_route_nor_search_never_restart_it():
    """Obstacles come and go by the thousand, next to the route, behind the robot and far away."""
    width, height = 120, 60
    values = np.zeros((height, width), bool)
    trip = Trip(values, (0.55, 3.05), (11.45, 3.05), algorithm=tba_star(), geometry=MapGeometry(width, height, 0.1))
    random = np.random.default_rng(11)
    updates = 0
    trip.tick()
    while trip.last.status == S.NAVIGATING:
        for _ in range(10):
            _, row = trip.geometry.cell_at(*trip.place)
            values = values.copy()
            some = random.random(values.shape) < 0.1
            some[row - 2 : row + 3] = False
            values ^= some
            trip.change_map(values)
            trip.tick()
            updates += 1
        trip.drive()
    assert trip.last.status == S.ARRIVED
    assert updates > 1000
    assert trip.restarts == []
