"""Every waypoint is in clear sight of the robot on the present map, or is the robot's own place; whatever happens.

Trip.check_waypoint() looks at each tick with an oracle of its own. What happens is drawn by Hypothesis: maps of all
kinds that change, move, grow and turn, robots that drive towards their waypoints, lag, drift, are pushed and carried
away, noisy and missing poses, goals anywhere, settings that change.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers.trip import Trip, is_free, sees
from hypothesis import example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from tb_planner import rtba_star, tb_gbfs, tb_wa_star, tba_star, tbaa_star
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.navigation.navigator import NavigationStatus

S = NavigationStatus
ALGORITHMS = (tba_star(), tb_wa_star(1.5), tb_wa_star(3.0), tb_gbfs(), rtba_star(), tbaa_star(), tba_star('eager'))
COSTS = np.array([1.0, 1.0, 1.5, 4.0], np.float32)


def painted(random, height, width, density, weighted):
    """Rooms with scattered blocks, some of them larger than a cell."""
    blocked = random.random((height, width)) < density
    for _ in range(random.integers(0, 4)):
        x, y, w, h = random.integers(0, (width, height, 8, 8))
        blocked[y : y + h, x : x + w] = random.random() < 0.7
    return np.where(blocked, np.float32(np.inf), random.choice(COSTS, blocked.shape)) if weighted else blocked


def changed(random, values):
    """A patch drawn anew, or a few cells, or a wall with a gap; seldom all."""
    values = values.copy()
    height, width = values.shape
    weighted = values.dtype != bool
    what = random.integers(0, 10)
    if what < 4:
        x, y, w, h = random.integers(0, (width, height, 9, 9))
        patch = values[y : y + h, x : x + w]
        patch[...] = painted(random, *patch.shape, 0.3, weighted) if patch.size else patch
    elif what < 8:
        ys, xs = random.integers(0, height, 5), random.integers(0, width, 5)
        values[ys, xs] = painted(random, 5, 1, 0.5, weighted)[:, 0]
    elif what == 8:
        column = random.integers(0, width)
        values[:, column] = np.inf if weighted else True
        values[random.integers(0, height), column] = 1.0 if weighted else False
    else:
        return painted(random, height, width, 0.15, weighted)
    return values


def moved(random, values, geometry):
    """The same walls on another geometry: grown, shifted, finer, coarser or turned."""
    x0, y0, yaw = geometry.origin
    resolution_m = geometry.resolution_m * random.choice([1.0, 1.0, 1.0, 0.8, 1.25])
    resolution_m = min(max(resolution_m, 0.06), 0.15)
    yaw += random.choice([0.0, 0.0, 0.0, 0.1, math.pi / 2])
    shift = random.choice([0.0, 0.1, 0.05, 0.037], 2) * random.integers(-3, 4, 2)
    origin = float(x0 + shift[0]), float(y0 + shift[1]), float(yaw)
    size = (max(10, geometry.width + random.integers(-2, 6)), max(10, geometry.height + random.integers(-2, 6)))
    other = MapGeometry(int(size[0]), int(size[1]), float(resolution_m), origin)
    ys, xs = np.mgrid[: other.height, : other.width]
    cells = np.stack((xs, ys), axis=-1).reshape(-1, 2)
    seen = np.floor(geometry.to_grid_array(other.to_world_array(cells))).astype(int)
    inside = (seen >= 0).all(axis=1) & (seen[:, 0] < geometry.width) & (seen[:, 1] < geometry.height)
    new = np.full(len(cells), values.dtype.type(1 if values.dtype != bool else 0))
    new[inside] = values[seen[inside, 1], seen[inside, 0]]
    return new.reshape(other.height, other.width), other


def somewhere(random, trip):
    """Mostly on the map, sometimes just outside."""
    margin = 2 if random.random() < 0.1 else -1
    x = random.uniform(-margin, trip.geometry.width + margin)
    y = random.uniform(-margin, trip.geometry.height + margin)
    return trip.geometry.to_world(x, y)


class Adventure:
    """A trip on which things happen, all drawn from one seed."""

    def __init__(self, seed, *, noise_m, weighted, maps_move):
        self.random = random = np.random.default_rng(seed)
        width, height = (int(n) for n in random.integers(12, 45, 2))
        values = painted(random, height, width, random.choice([0.0, 0.05, 0.15, 0.25]), weighted)
        self.noise_m = noise_m
        self.maps_move = maps_move
        k = int(random.choice([1, 5, 30, 300, 10_000]))
        algorithm = ALGORITHMS[random.integers(len(ALGORITHMS))]
        self.trip = Trip(values, (0.0, 0.0), geometry=MapGeometry(width, height, 0.1), k=k, algorithm=algorithm)
        self.trip.place = somewhere(random, self.trip)

    def happen(self):
        """Perhaps something happens, perhaps several things."""
        random, trip = self.random, self.trip
        if trip.navigator.goal is None or random.random() < 0.02:
            trip.navigator.new_goal(Pose2D(*somewhere(random, trip), 1.0))
        if random.random() < 0.25:
            trip.change_map(changed(random, trip.values))
        if self.maps_move and random.random() < 0.05:
            trip.move_map(*moved(random, trip.values, trip.geometry))
        if random.random() < 0.02:
            trip.place = somewhere(random, trip)
        if random.random() < 0.01:
            getattr(trip.navigator, random.choice(['cancel', 'reset_search']))()
        if random.random() < 0.02:
            self.change_settings()

    def change_settings(self):
        random, old = self.random, self.trip.navigator.settings
        change = [
            {'algorithm': ALGORITHMS[random.integers(len(ALGORITHMS))]},
            {'k': int(random.choice([1, 5, 30, 300]))},
            {'waypoint_distance_m': float(random.choice([0.2, 0.5, 1.0, 3.0]))},
            {'deviation_tolerance_m': float(random.choice([0.1, 0.4, 1.0]))},
            {'goal_tolerance_m': float(random.choice([0.05, 0.1, 0.4]))},
            {'full_replan_ticks': int(random.choice([0, 3, 20]))},
            {'min_improvement': float(random.choice([0.0, 0.05]))},
        ]
        self.trip.navigator.settings = replace(old, **change[random.integers(len(change))])

    def tick(self):
        random, trip = self.random, self.trip
        self.happen()
        noise = random.normal(0.0, self.noise_m, 2) if self.noise_m else (0.0, 0.0)
        trip.tick(noise, pose=random.random() > 0.02, map_lost=random.random() < 0.03)
        trip.drive(random.choice([0.0, 0.02, 0.1, 0.3]))
        drift = random.normal(0.0, 0.02, 2)
        trip.place = trip.place[0] + drift[0], trip.place[1] + drift[1]

    def check_plan(self):
        """What the navigator publishes as its plan is legal on the present map, backtracking moves and path ahead."""
        trip = self.trip
        plan = trip.navigator.plan_points()
        if trip.last.status != S.NAVIGATING or len(plan) == 0:
            return
        places = [trip.geometry.to_grid(*point) for point in plan]
        for a, b in pairwise(places):
            assert sees(trip.blocked, a, b), f'{a} to {b} of the plan'


@pytest.mark.parametrize('noise_m', [0.0, 0.03, 0.15])
@pytest.mark.parametrize('weighted', [False, True], ids=['plain', 'weighted'])
@pytest.mark.parametrize('maps_move', [False, True], ids=['still', 'moving'])
@hypothesis_settings(max_examples=12)
@example(seed=3715357)  # a waypoint on the very edge of an obstacle
@given(seed=st.integers(0, 2**32))
def test_every_waypoint_is_in_clear_sight_on_the_present_map(noise_m, weighted, maps_move, seed):
    adventure = Adventure(seed, noise_m=noise_m, weighted=weighted, maps_move=maps_move)
    for _ in range(150):
        adventure.tick()
        adventure.check_plan()


@hypothesis_settings(max_examples=40)
@example(seed=62)  # the robot ends in a wall
@example(seed=5283)
@given(seed=st.integers(0, 2**32))
def test_a_robot_that_drives_to_its_waypoints_reaches_its_goal_whenever_a_path_exists(seed):
    """Once the map is quiet, the robot arrives, or the navigator reports, rightly, why not."""
    adventure = Adventure(seed, noise_m=0.0, weighted=False, maps_move=True)
    for _ in range(60):
        adventure.tick()
    trip = adventure.trip
    trip.navigator.settings = replace(trip.navigator.settings, k=2000, goal_tolerance_m=0.1)
    trip.navigator.new_goal(Pose2D(*somewhere(adventure.random, trip), 1.0))
    tick = trip.run(1500, (S.ARRIVED,), most_m=0.05)
    assert tick.status not in (S.NAVIGATING, S.WAITING, S.POSE_LOST, S.MAP_LOST)
    if tick.status == S.NO_PATH:
        assert not are_connected(trip)


def are_connected(trip):
    """Flood fill from the robot's cell, without cutting corners; if that is blocked, from the robot's escape cell: a
    robot in a wall must not leave it on the other side."""
    blocked = trip.blocked
    goal = trip.navigator.goal
    target, start = (trip.geometry.cell_at(*place) for place in ((goal.x_m, goal.y_m), trip.place))
    if not is_free(blocked, *start):
        start = trip.navigator.planner.current_cell
    seen, todo = {start}, [start]
    while todo:
        x, y = todo.pop()
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            cell = x + dx, y + dy
            if cell not in seen and is_free(blocked, *cell):
                seen.add(cell)
                todo.append(cell)
    return target in seen
