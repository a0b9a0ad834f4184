"""Trials, and the clutter that changes the map in them."""

import numpy as np
import pytest
from helpers.tuning import CELLS, DEFAULT, rooms, scattered, tuning_map
from scipy import ndimage

from tb_planner import Grid, Static, TimeBoundedPlanner, move_to_goal
from tb_planner.maps.costmap import CostmapConfig, costs_of
from tb_planner.navigation.navigator import TRACE_STEPS
from tb_planner.tools.tuning import trial
from tb_planner.tools.tuning.problems import TuningMap, draw_problems
from tb_planner.tools.tuning.race import PairedDifference
from tb_planner.tools.tuning.trial import WORLDS, Candidate, Clutter, TrialConditions, run_trial


class FrequentClutter(Clutter):
    """Clutter that changes after every move."""

    def __init__(self, occupancy, rules, grid, seed):
        super().__init__(occupancy, rules, grid, seed, every=1)


class TestTrial:
    def test_on_a_static_map_is_a_run_to_the_goal(self, problems):
        """The trial counts as move_to_goal() does on the same costs."""
        for problem in problems[:4]:
            ours = run_trial(problem, DEFAULT, 40, TrialConditions('static'))
            grid = Grid(costs_of(problem.map_.occupancy, problem.map_.rules))
            planner = TimeBoundedPlanner(grid, problem.start, problem.goal, DEFAULT.config, 40, trace_steps=TRACE_STEPS)
            run = move_to_goal(planner, Static(Grid(costs_of(problem.map_.occupancy, problem.map_.rules))))
            assert (ours.intervals, ours.back_moves, ours.expansions) == (run.intervals, run.back_moves, run.expansions)
            assert ours.cost_ratio == pytest.approx(run.cost / problem.shortest_cost)
            assert ours.weighted_intervals == ours.intervals  # where all cells cost 1
            assert ours.ticks[:, 0].sum() == run.expansions

    def test_weighs_moves_by_what_cells_cost(self):
        """Through a lane whose cells cost 2 an interval with a move counts twice."""
        lane = TuningMap('lane', np.full((1, 20), 50, np.int8), CELLS)
        ours = run_trial(lane.problem((0, 0), (19, 0)), Candidate('tba_star'), 100, TrialConditions('static'))
        assert (ours.intervals, ours.weighted_intervals) == (19, 38.0)

    @pytest.mark.parametrize('world', WORLDS)
    def test_is_the_same_each_time_and_leaves_the_map_as_it_was(self, world, problems):
        terrain = problems[0].map_.grid.cost_u16.copy()
        first, second = (
            [run_trial(problem, Candidate('rtba_star'), 30, TrialConditions(world)) for problem in problems[:4]]
            for _ in range(2)
        )
        assert all(outcome.arrived for outcome in first)
        assert [outcome.intervals for outcome in first] == [outcome.intervals for outcome in second]
        assert np.array_equal(problems[0].map_.grid.cost_u16, terrain)

    def test_in_a_changing_world_restarts_and_leaves_nothing_behind(self, monkeypatch):
        """Obstacles that vanish with the last move leave nothing behind, too."""
        monkeypatch.setattr(trial, 'Clutter', FrequentClutter)
        drawn = draw_problems(tuning_map(np.zeros((60, 60), bool)), 20, seed=3)
        assert sum(run_trial(problem, DEFAULT, 100, TrialConditions('changing')).restarts for problem in drawn) > 0
        assert not drawn[0].map_.grid.blocked.any()

    def test_keeps_some_of_very_many_ticks_and_the_slowest(self, problems, monkeypatch):
        whole = run_trial(problems[0], DEFAULT, 1, TrialConditions('static'))
        monkeypatch.setattr(trial, 'MAX_TICKS', 10)
        some = run_trial(problems[0], DEFAULT, 1, TrialConditions('static'))
        assert len(some.ticks) <= 10 < len(whole.ticks)
        assert some.ticks[-1, 1] == some.ticks[:, 1].max()
        assert some.intervals == whole.intervals

    def test_with_more_expansions_needs_no_more_intervals(self, problems):
        slow, fast = (
            [run_trial(problem, Candidate('tba_star'), k, TrialConditions('static')) for problem in problems[:12]]
            for k in (2, 2000)
        )
        assert all(b.intervals <= a.intervals for a, b in zip(slow, fast, strict=True))
        difference = PairedDifference.of(fast, slow)
        assert difference.mean < 0
        assert difference.is_clear

    def test_is_given_up_after_a_while(self, problems):
        found = run_trial(problems[0], DEFAULT, 40, TrialConditions('static'), max_intervals=3)
        assert (found.arrived, found.intervals, found.weighted_intervals) == (False, 3, 3.0)


class TestClutter:
    @pytest.mark.parametrize('radius_m', [0.0, 2.0])
    def test_never_disconnects_free_cells(self, radius_m):
        rules = CostmapConfig(resolution_m=1.0, robot_radius_m=radius_m, inflation_radius_m=radius_m)
        clutter, goal, changes = cluttered((rooms() * 100).astype(np.int8), rules, every=1), (5, 5), 0
        free = before = np.isfinite(costs_of(clutter.occupancy, rules))
        cells = np.argwhere(before)
        random = np.random.default_rng(0)
        for _ in range(300):
            y, x = (int(i) for i in cells[random.integers(len(cells))])
            if not free[y, x]:
                continue
            changes += clutter.look((x, y), goal) is not None
            free = np.isfinite(costs_of(clutter.occupancy, rules))
            assert free[y, x]
            assert free[goal[1], goal[0]]
            assert joined(free) == joined(before)
        assert changes > 100

    def test_changes_the_grid_as_the_occupancy(self):
        rules = CostmapConfig(resolution_m=1.0, robot_radius_m=1.0, inflation_radius_m=4.0)
        clutter = cluttered((scattered(part=0.02) * 100).astype(np.int8), rules, every=1)
        for _ in range(50):
            if (change := clutter.look((30, 30), (50, 50))) is not None:
                clutter.grid.update(*change)
            assert np.array_equal(clutter.grid.costs, costs_of(clutter.occupancy, rules))

    def test_is_cleared_without_a_trace(self):
        occupancy = (scattered(part=0.1) * 100).astype(np.int8)
        clutter = cluttered(occupancy, CELLS, every=1)
        for _ in range(50):
            clutter.look((30, 30), (50, 50))
        assert not np.array_equal(clutter.occupancy, occupancy)
        clutter.restore()
        assert np.array_equal(clutter.occupancy, occupancy)
        assert np.array_equal(clutter.grid.costs, costs_of(occupancy, CELLS))

    def test_appears_at_its_period_in_moves(self):
        clutter = cluttered(np.zeros((50, 50), np.int8), CELLS, every=5)
        assert [clutter.look((25, 25), (40, 40)) is not None for _ in range(10)] == ([False] * 4 + [True]) * 2


def cluttered(occupancy, rules, every):
    return Clutter(occupancy, rules, Grid(costs_of(occupancy, rules)), seed=4, every=every)


def joined(free):
    """The number of parts, by straight steps."""
    return ndimage.label(free)[1]
