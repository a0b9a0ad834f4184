"""The tuner: what it recommends from known trade-offs, the file it writes, and how it ends."""

import dataclasses
import functools
import itertools
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from tb_planner import Grid, Static, TimeBoundedPlanner, move_to_goal
from tb_planner.__main__ import main
from tb_planner.bags import GivenGoal
from tb_planner.benchmark import tuner
from tb_planner.costmap import Costmap, CostRules
from tb_planner.geometry import Geometry
from tb_planner.navigator import TRACE_STEPS, Pose2
from tb_planner.ros.planner_parameters import PlannerParameters
from tb_planner.tuning import budget, race, study, trial
from tb_planner.tuning.bag_problems import again_and_again, bag_problems, places_of
from tb_planner.tuning.budget import Budget, Pace, check_fits, fitting_k, measured_pace
from tb_planner.tuning.candidates import Candidate, candidates
from tb_planner.tuning.clutter import Clutter
from tb_planner.tuning.comparison import Rival, compare, comparison_text, remarks
from tb_planner.tuning.ground import Ground, NoProblems, draw_problems
from tb_planner.tuning.parameter_file import (
    candidate_of,
    check_may_write,
    parameter_file,
    read_parameters,
    with_candidate,
)
from tb_planner.tuning.report import reasons, study_text
from tb_planner.tuning.study import Plan, carry_out_study
from tb_planner.tuning.time_limit import DRAWN_BY, NO_LIMIT, TimeLimit, TimeOver, TooLittleTime
from tb_planner.tuning.trial import WORLDS, Conditions, CutShort, Outcome, carry_out

DEFAULT = Candidate('tb_wa_star', 1.5)
CELLS = CostRules(resolution_m=1.0)
EXPANSION_S = 1e-6


def ground(blocked, name='ground', rules=CELLS):
    return Ground(name, (np.asarray(blocked) * 100).astype(np.int8), rules)


def scattered(size=60, part=0.3, seed=0):
    return np.random.default_rng(seed).random((size, size)) < part


def rooms():
    """Four of them, joined by doors of three cells."""
    blocked = np.zeros((61, 61), bool)
    blocked[30] = blocked[:, 30] = True
    for place in (10, 45):
        blocked[30, place : place + 3] = blocked[place : place + 3, 30] = False
    return blocked


@pytest.fixture(scope='module')
def place():
    return ground(scattered())


@pytest.fixture(scope='module')
def problems(place):
    return draw_problems(place, 24, seed=1)


def outcome(intervals, *, tick_s=1e-3, arrived=True, expansions=1000):
    return Outcome(
        arrived=arrived,
        intervals=intervals,
        weighed=float(intervals),
        cost_ratio=1.0,
        first_move=1,
        back_moves=0,
        restarts=0,
        expansions=expansions,
        ticks=np.array([[expansions, tick_s]]),
    )


@pytest.fixture
def told(monkeypatch):
    """Lets a function of candidate, problem and k say how trials go, and an expansion take a microsecond."""

    def tell(function):
        def pretend(problem, candidate, k, conditions, most=math.inf, limit=NO_LIMIT):
            return function(candidate, problem, k)

        for module in (race, study, budget):
            monkeypatch.setattr(module, 'carry_out', pretend)
        monkeypatch.setattr(study, 'measured_pace', lambda *_: Pace(EXPANSION_S, 100))

    return tell


def make_plan(problems, **changes):
    half = len(problems) // 2
    values = {
        'seen': problems[:half],
        'unseen': problems[half:],
        'budget': Budget(20.0, 0.2),
        'conditions': Conditions('changing'),
        'default': DEFAULT,
    }
    return Plan(**{**values, **changes})


def length(problem):
    return 10_000 + 10 * problem.shortest_moves


class TestRecommendation:
    def test_is_the_candidate_with_the_fewest_intervals(self, told, problems):
        best = Candidate('tb_wa_star', 2.5, 'eager')
        told(lambda candidate, problem, k: outcome(length(problem) - 500 * (candidate == best)))
        assert carry_out_study(make_plan(problems)).recommended == best

    @pytest.mark.parametrize('best_weight', [1.1, 2.0, 5.0])
    def test_finds_the_weight_where_the_curve_is_lowest(self, told, problems, best_weight):
        told(lambda candidate, problem, k: outcome(length(problem) * (1 + abs(min(candidate.greed, 9) - best_weight))))
        found = carry_out_study(make_plan(problems)).recommended
        assert found == Candidate('tb_wa_star', best_weight)

    def test_is_the_default_where_nothing_is_better(self, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem)))
        found = carry_out_study(make_plan(problems))
        assert found.recommended == DEFAULT
        assert 'as it is now' in study_text(found)
        assert '\nwith less search  tb_wa_star(1.5)\n' in study_text(found)

    def test_does_not_follow_noise_that_is_smaller_than_a_hair(self, told, problems):
        told(lambda candidate, problem, k: outcome(100_000 + hash((candidate, problem.seed)) % 7))
        assert carry_out_study(make_plan(problems)).recommended == DEFAULT

    def test_of_rules_that_make_no_difference_takes_the_one_that_notices_most(self, told, problems):
        """One that is always a little faster is not preferred for that, one that is much faster is."""
        for faster, best in ((50, ''), (500, 'eager')):
            told(
                lambda candidate, problem, k, faster=faster: outcome(
                    length(problem) - 1000 * (candidate.greed == 1.2) - faster * (candidate.restart == 'eager')
                )
            )
            assert carry_out_study(make_plan(problems)).recommended == Candidate('tb_wa_star', 1.2, best)

    def test_is_the_default_where_few_problems_do_not_tell(self, told, problems):
        """Much better on one problem in four, as much worse on another: of few problems that is noise."""

        def go(candidate, problem, k):
            number = problems.index(problem) % 4
            noise = {0: -900, 1: 800}.get(number, 0)
            return outcome(length(problem) + noise * (candidate == Candidate('tb_gbfs')))

        told(go)
        few = carry_out_study(make_plan(problems[:12]))
        assert (few.chosen, few.recommended) == (Candidate('tb_gbfs'), DEFAULT)
        assert not few.was_luck
        assert 'that may be chance: only k is tuned' in study_text(few)
        more = carry_out_study(make_plan(problems))
        assert more.recommended == Candidate('tb_gbfs')
        assert 'which may be chance' in study_text(more)

    def test_is_none_that_does_not_arrive(self, told, problems):
        stuck = Candidate('tba_star')

        def go(candidate, problem, k):
            if candidate == stuck and problem is problems[2]:
                return outcome(10**6, arrived=False)
            return outcome(length(problem) - 1000 * (candidate == stuck))

        told(go)
        found = carry_out_study(make_plan(problems))
        assert found.recommended == DEFAULT
        assert stuck not in found.race.running

    def test_is_tried_on_problems_that_it_was_not_chosen_by(self, told, problems):
        """Better only where it was chosen: the check says so, and the default stays."""
        plan = make_plan(problems)
        lucky = Candidate('tb_gbfs')
        seen = {id(problem) for problem in plan.seen}
        told(
            lambda candidate, problem, k: outcome(
                length(problem) + (candidate == lucky) * (-800 if id(problem) in seen else 400)
            )
        )
        found = carry_out_study(plan)
        assert (found.chosen, found.recommended) == (lucky, DEFAULT)
        assert found.race.against_default(lucky).mean < 0 < found.check.difference.mean
        assert 'tb_gbfs, the best of those it was chosen from, was worse' in study_text(found)
        assert 'kept: tb_gbfs was the best' in reasons(found)['algorithm']
        assert found.check.ours.problems == len(plan.unseen)

    def test_that_was_luck_stays_so_when_there_is_no_time_to_try_it_with_shorter_ticks(self, told, problems):
        plan = make_plan(problems)
        lucky = Candidate('tb_gbfs')
        seen = {id(problem) for problem in plan.seen}
        tried = []

        def trial_of(candidate, problem, k):
            if id(problem) not in seen:
                tried.append(problem)
            more = (candidate == lucky) * (-800 if id(problem) in seen else 400)
            return outcome(length(problem) + more, tick_s=3 * EXPANSION_S * k, expansions=k)

        told(trial_of)
        limit = TimeLimit(1000.0, lambda: 2000.0 if len(tried) >= 2 * len(plan.unseen) else 0.0)
        found = carry_out_study(plan, limit)
        assert found.recommended == DEFAULT
        assert found.check.ours.problems == len(plan.unseen)
        assert found.k < 3400

    def test_keeps_its_ticks_within_the_budget(self, told, problems):
        """Ticks turn out three times as long as measured before: so many expansions fewer."""
        told(lambda candidate, problem, k: outcome(length(problem), tick_s=3 * EXPANSION_S * k, expansions=k))
        found = carry_out_study(make_plan(problems))
        assert found.race.k == 7500
        assert found.check.ours.tick_p99_s <= found.plan.budget.tick_s
        assert found.k == found.check.k < 3400

    def test_is_better_than_the_default_on_a_real_map(self, monkeypatch, problems):
        """With many expansions a tick the shortest way is found at once, and a weight of 1.5 only makes it longer."""
        monkeypatch.setattr(study, 'measured_pace', lambda *_: Pace(EXPANSION_S, 100))
        found = carry_out_study(make_plan(problems, conditions=Conditions('static')))
        assert found.recommended.greed < 1.5
        assert found.check.difference.mean < 0

    def test_asks_for_greed_where_there_is_little_time(self, monkeypatch):
        monkeypatch.setattr(study, 'measured_pace', lambda *_: Pace(2e-3, 100))
        drawn = draw_problems(ground(rooms()), 24, seed=1)
        found = carry_out_study(make_plan(drawn, conditions=Conditions('static')))
        assert found.k == 3
        assert found.recommended.greed > 1.5


class TestReport:
    def test_shows_what_is_recommended_however_many_are_about_as_good(self, told, problems):
        """Every weight with eager is better than the recommended one by less than the rule is worth."""
        told(
            lambda candidate, problem, k: outcome(
                length(problem)
                - 1000 * (candidate.greed < 3)
                + 400 * (candidate == DEFAULT)
                - 50 * (candidate.restart == 'eager')
                - 10 * (candidate.greed == 1.1)
            )
        )
        found = carry_out_study(make_plan(problems))
        assert found.recommended == Candidate('tb_wa_star', 1.1)
        assert '\n* tb_wa_star(1.1) ' in study_text(found)

    def test_has_the_ticks_of_what_is_recommended(self, told, problems):
        """Where the choice was luck, those of the default."""
        plan = make_plan(problems)
        seen = {id(problem) for problem in plan.seen}

        def go(candidate, problem, k):
            lucky = candidate.algorithm == 'tb_gbfs'
            more = lucky * (-800 if id(problem) in seen else 400)
            return outcome(length(problem) + more, tick_s=2e-3 if lucky else 4e-3)

        told(go)
        found = carry_out_study(plan)
        assert found.was_luck
        assert 'tick p99 4 ms' in study_text(found)
        assert 'took 4 ms or less' in reasons(found)['expansions_per_tick']

    def test_says_that_a_budget_cannot_be_kept(self, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem), tick_s=0.02))
        found = carry_out_study(make_plan(problems))
        assert 'not tried yet' in study_text(found)
        found.k = found.check.k
        assert 'The budget cannot be kept' in study_text(found)
        assert '--cpu has to be 0.4 at least' in study_text(found)


class TestBenchmark:
    """Of the tuner's recommendations: what a row counts as."""

    @pytest.mark.parametrize(
        ('count', 'seen', 'unseen', 'told_as'),
        [
            (24, (-300, -310), (-200, -210), ('won', 'tb_gbfs')),
            (24, (-300, -310), (200, 210), ('lost', 'tb_gbfs')),  # though the tuner takes it back
            (12, (-900, 800), (-900, 800), ('tied', 'tb_wa_star(1.5)')),  # so few do not tell
            (24, (300, 310), (300, 310), ('tied', 'tb_wa_star(1.5)')),
        ],
    )
    def test_counts_what_the_user_gets(self, count, seen, unseen, told_as, told, problems):
        plan = make_plan(problems[:count])

        def go(candidate, problem, k):
            number = problems.index(problem)
            more = (seen if number < len(plan.seen) else unseen)[number % 2]
            return outcome(length(problem) + more * (candidate == Candidate('tb_gbfs')))

        told(go)
        row = tuner.row_of(carry_out_study(plan))
        assert (row['outcome'], row['recommended']) == told_as
        assert (row['intervals'] == row['default_intervals']) == (row['outcome'] == 'tied')


class TestRace:
    def test_drops_those_that_are_clearly_worse(self, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem) * (1 + (candidate.algorithm == 'tb_gbfs'))))
        found = carry_out_study(make_plan(problems))
        greedy = Candidate('tb_gbfs')
        assert greedy not in found.race.running
        assert found.race.figures(greedy).problems == race.FIRST_LOOK
        assert found.race.figures(DEFAULT).problems == len(found.plan.seen)

    def test_has_each_candidate_once(self):
        for world in WORLDS:
            rows = [
                (candidate.row.weight, candidate.row.restart, candidate.row.learn_h) for candidate in candidates(world)
            ]
            assert len(set(rows)) == len(rows)
            assert DEFAULT in candidates(world)

    def test_has_the_default_once_whatever_it_is_called(self):
        mine = Candidate('tb_wa_star', 1.0, 'lazy')
        ran = race.Race(candidates('changing'), mine, 10, Conditions('changing'))
        assert [candidate for candidate in ran.outcomes if candidate.greed == 1.0 and candidate.is_like(mine)] == [mine]
        assert len(ran.outcomes) == len(candidates('changing'))

    def test_ends_when_the_time_is_over(self, told, problems):
        """A round takes ten seconds by this clock, of which 70 % are for the race."""
        clock = itertools.count(step=5.0)
        told(lambda candidate, problem, k: outcome(length(problem)))
        found = carry_out_study(make_plan(problems), TimeLimit(100.0, lambda: float(next(clock))))
        assert 2 <= found.race.rounds <= 8
        assert not found.interrupted

    def test_says_when_it_has_seen_little(self, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem)))
        assert 'is little' in study_text(carry_out_study(make_plan(problems[:6])))
        assert 'is little' not in study_text(carry_out_study(make_plan(problems)))


class TestInterruption:
    def interrupted_at(self, told, problems, number):
        def go(candidate, problem, k):
            if problem is problems[number]:
                raise KeyboardInterrupt
            return outcome(length(problem) - 500 * (candidate.algorithm == 'tba_star'))

        told(go)
        return carry_out_study(make_plan(problems))

    def test_leaves_what_was_measured(self, told, problems):
        found = self.interrupted_at(told, problems, 5)
        assert found.interrupted
        assert found.race.rounds == 5
        assert {len(outcomes) for outcomes in found.race.outcomes.values()} == {3, 5}
        assert found.recommended.algorithm == 'tba_star'
        assert f'5 of {len(found.plan.seen)} problems' in study_text(found)

    def test_in_the_last_part_keeps_the_choice(self, told, problems):
        found = self.interrupted_at(told, problems, 15)
        assert found.race.rounds == len(found.plan.seen)
        assert found.check.ours.problems == 3

    def test_at_the_very_end_is_told(self, told, problems):
        def go(candidate, problem, k):
            if k < 1000:
                raise KeyboardInterrupt
            return outcome(length(problem))

        told(go)
        found = carry_out_study(make_plan(problems))
        assert found.interrupted
        assert 'less search was tried with 1 of 3 numbers of expansions' in study_text(found)

    def test_before_anything_was_measured_is_an_interruption(self, told, problems):
        with pytest.raises(KeyboardInterrupt):
            self.interrupted_at(told, problems, 0)

    def test_still_writes_the_file(self, told, tmp_path, capsys):
        count = itertools.count()

        def go(candidate, problem, k):
            if next(count) > 200:
                raise KeyboardInterrupt
            return outcome(length(problem))

        told(go)
        assert main([*tune(tmp_path), '--problems', '40']) == 130
        assert 'Interrupted' in capsys.readouterr().out
        read_parameters(tmp_path / 'tuned.yaml')


class Clock:
    """A second goes by with every look."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        self.now_s += 1.0
        return self.now_s


class TestTimeLimit:
    """By a clock that goes on with every look at it, so that nothing depends on how fast this computer is."""

    @pytest.mark.parametrize('world', WORLDS)
    def test_ends_a_study_within_a_few_ticks(self, world, problems, monkeypatch):
        """Wherever it comes. After it each part that is begun still has one tick."""
        monkeypatch.setattr(race, 'PATIENCE', math.inf)
        few, told = problems[:4], set()
        for looks in (2**power for power in range(18)):
            clock = Clock()
            plan = make_plan(few, conditions=Conditions(world), budget=Budget(1000.0, 1.0))
            try:
                found = carry_out_study(plan, TimeLimit(looks, clock))
            except TooLittleTime:
                told.add('too little')
            else:
                told.add('cut short' if found.cut_short else 'whole')
            assert clock.now_s <= looks + 40
        assert told == {'too little', 'cut short', 'whole'}

    def test_ends_a_trial_and_leaves_the_map_as_it_was(self, problems):
        terrain = problems[0].ground.grid.terrain.copy()
        with pytest.raises(CutShort) as cut:
            carry_out(problems[0], DEFAULT, 10, Conditions('changing'), limit=TimeLimit(25, Clock()))
        assert 0 < cut.value.outcome.intervals <= 25
        assert not cut.value.outcome.arrived
        assert np.array_equal(problems[0].ground.grid.terrain, terrain)

    def test_leaves_a_tick_of_each_algorithm_to_measure(self, problems):
        whole = measured_pace(problems[:3], Conditions('static'), 1e-3)
        assert not whole.cut_short
        cut = measured_pace(problems[:3], Conditions('static'), 1e-3, TimeLimit(1, Clock()))
        assert cut.cut_short
        assert 3 <= cut.ticks < whole.ticks
        assert cut.expansion_s > 0

    def test_ends_the_drawing_of_problems_with_one_at_least(self, place):
        drawn = draw_problems(place, 1000, seed=1, limit=TimeLimit(200, Clock()))
        assert 1 < len(drawn) <= 200 * DRAWN_BY
        (one,) = draw_problems(place, 1000, seed=1, limit=TimeLimit(4, Clock()))
        assert (one.start, one.goal) == (drawn[0].start, drawn[0].goal)

    def test_ends_the_drawing_of_problems_where_hardly_any_cells_are_joined(self):
        islands = np.ones((200, 200), bool)
        islands[::2, ::2] = False
        with pytest.raises(TooLittleTime, match='--time-limit of 50 s was over before a start and a goal'):
            draw_problems(ground(islands), 3, seed=0, limit=TimeLimit(50, Clock()))

    def test_that_ends_all_before_one_round_names_what_to_raise(self, told, problems):
        def go(candidate, problem, k):
            if candidate.algorithm == 'tb_gbfs':
                raise TimeOver
            return outcome(length(problem))

        told(go)
        with pytest.raises(TooLittleTime) as error:
            carry_out_study(make_plan(problems), TimeLimit(5.0))
        assert 'the --time-limit of 5 s was over when 31 of 33 candidates had tried one problem' in str(error.value)
        assert 'about 11 s would do' in str(error.value)

    def test_tells_what_there_was_no_time_for(self, told, problems):
        plan = make_plan(problems)

        def go(candidate, problem, k):
            if problems.index(problem) >= 4:
                raise TimeOver
            return outcome(length(problem) - 300 * (candidate.algorithm == 'rtba_star'))

        told(go)
        found = carry_out_study(plan, TimeLimit(5.0))
        text = study_text(found)
        assert 'The time limit of 5 s came before all was done: 4 of 12 problems to choose by were tried; ' in text
        assert '0 of 12 others to check the choice on; less search was tried with 0 of 3 numbers of expansions.' in text
        assert 'To choose by 4 problems is little' in text
        assert 'Nothing was tried on problems not seen before' in text
        assert found.recommended.algorithm == 'rtba_star'  # by as much on each of them

    def test_of_the_race_leaves_time_to_check_the_choice(self, told, problems):
        plan = make_plan(problems)

        def go(candidate, problem, k):
            if problem is plan.seen[10]:
                raise TimeOver
            return outcome(length(problem))

        told(go)
        found = carry_out_study(plan, TimeLimit(1000.0))
        assert found.race.rounds == 10
        assert found.check.ours.problems == len(plan.unseen)
        assert found.cut_short == ['10 of 12 problems to choose by were tried']

    def test_keeps_what_is_set_where_few_problems_tell_nothing(self, told, problems):
        """The best on four problems, by chance on one of them."""
        plan = make_plan(problems)

        def go(candidate, problem, k):
            if problems.index(problem) >= 4:
                raise TimeOver
            return outcome(length(problem) - 300 * (candidate.greed == 3.0 and problem is plan.seen[0]))

        told(go)
        found = carry_out_study(plan, TimeLimit(5.0))
        assert (found.chosen.greed, found.recommended) == (3.0, DEFAULT)
        text = study_text(found)
        assert 'tb_wa_star(3) was the best, -0.7 % ± 0.7 intervals, but that may be chance: only k is tuned' in text
        assert 'may be chance' in reasons(found)['algorithm']
        assert reasons(found)['restart'].startswith('kept')

    def test_is_told_of_nothing_where_all_was_done(self, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem)))
        found = carry_out_study(make_plan(problems))
        assert found.cut_short == []
        assert 'before all was done' not in study_text(found)

    def test_by_command_is_an_error_where_it_was_too_short(self, tmp_path, capsys):
        assert main([*tune(tmp_path), '--time-limit', '1e-6']) == 2
        assert '--time-limit of 1e-06 s was over' in capsys.readouterr().err.splitlines()[-1]
        assert not (tmp_path / 'tuned.yaml').exists()


class TestTrial:
    def test_on_a_static_map_is_a_run_to_the_goal(self, problems):
        """As move_to_goal() counts it, on the same costs."""
        for problem in problems[:4]:
            ours = carry_out(problem, DEFAULT, 40, Conditions('static'))
            grid = Grid(problem.ground.costmap.costs)
            planner = TimeBoundedPlanner(grid, problem.start, problem.goal, DEFAULT.row, 40, trace_steps=TRACE_STEPS)
            run = move_to_goal(planner, Static(Grid(problem.ground.costmap.costs)))
            assert (ours.intervals, ours.back_moves, ours.expansions) == (run.intervals, run.back_moves, run.expansions)
            assert ours.cost_ratio == pytest.approx(run.cost / problem.shortest_cost)
            assert ours.weighed == ours.intervals  # where all cells cost 1
            assert ours.ticks[:, 0].sum() == run.expansions

    def test_weighs_moves_by_what_cells_cost(self):
        """Through a lane whose cells cost 2 an interval with a move counts twice."""
        lane = Ground('lane', np.full((1, 20), 50, np.int8), CELLS)
        ours = carry_out(lane.problem((0, 0), (19, 0)), Candidate('tba_star'), 100, Conditions('static'))
        assert (ours.intervals, ours.weighed) == (19, 38.0)

    @pytest.mark.parametrize('world', WORLDS)
    def test_is_the_same_each_time_and_leaves_the_map_as_it_was(self, world, problems):
        terrain = problems[0].ground.grid.terrain.copy()
        first, second = (
            [carry_out(problem, Candidate('rtba_star'), 30, Conditions(world)) for problem in problems[:4]]
            for _ in range(2)
        )
        assert all(outcome.arrived for outcome in first)
        assert [outcome.intervals for outcome in first] == [outcome.intervals for outcome in second]
        assert np.array_equal(problems[0].ground.grid.terrain, terrain)

    def test_in_a_changing_world_restarts_and_leaves_nothing_behind(self, monkeypatch):
        """Also of what has vanished with the last move."""
        monkeypatch.setattr(trial, 'Clutter', functools.partial(Clutter, every=1))
        drawn = draw_problems(ground(np.zeros((60, 60), bool)), 20, seed=3)
        assert sum(carry_out(problem, DEFAULT, 100, Conditions('changing')).restarts for problem in drawn) > 0
        assert not drawn[0].ground.grid.blocked.any()

    def test_keeps_some_of_very_many_ticks_and_the_slowest(self, problems, monkeypatch):
        whole = carry_out(problems[0], DEFAULT, 1, Conditions('static'))
        monkeypatch.setattr(trial, 'MOST_TICKS', 10)
        some = carry_out(problems[0], DEFAULT, 1, Conditions('static'))
        assert len(some.ticks) <= 10 < len(whole.ticks)
        assert some.ticks[-1, 1] == some.ticks[:, 1].max()
        assert some.intervals == whole.intervals

    def test_is_given_up_after_a_while(self, problems):
        found = carry_out(problems[0], DEFAULT, 40, Conditions('static'), most=3)
        assert (found.arrived, found.intervals, found.weighed) == (False, 3, 3.0)


class TestClutter:
    @pytest.mark.parametrize('radius_m', [0.0, 2.0])
    def test_never_closes_a_way(self, radius_m):
        rules = CostRules(resolution_m=1.0, robot_radius_m=radius_m, inflation_radius_m=radius_m)
        costmap = Costmap((rooms() * 100).astype(np.int8), rules)
        before = np.isfinite(costmap.costs)
        cells = np.argwhere(before)
        random = np.random.default_rng(0)
        clutter, goal, changes = Clutter(costmap, seed=4, every=1), (5, 5), 0
        for _ in range(300):
            y, x = (int(i) for i in cells[random.integers(len(cells))])
            if np.isinf(costmap.costs[y, x]):
                continue
            changes += clutter.look((x, y), goal) is not None
            free = np.isfinite(costmap.costs)
            assert free[y, x]
            assert free[goal[1], goal[0]]
            assert joined(free) == joined(before)
        assert changes > 100

    def test_is_cleared_without_a_trace(self):
        costmap = Costmap((scattered(part=0.1) * 100).astype(np.int8), CELLS)
        costs = costmap.costs.copy()
        clutter = Clutter(costmap, seed=4, every=1)
        for _ in range(50):
            clutter.look((30, 30), (50, 50))
        assert not np.array_equal(costmap.costs, costs)
        clutter.clear()
        assert np.array_equal(costmap.costs, costs)

    def test_comes_every_so_many_moves(self):
        costmap = Costmap(np.zeros((50, 50), np.int8), CELLS)
        clutter = Clutter(costmap, seed=4, every=5)
        assert [clutter.look((25, 25), (40, 40)) is not None for _ in range(10)] == ([False] * 4 + [True]) * 2


def joined(free):
    """The number of parts, by straight steps."""
    return ndimage.label(free)[1]


class TestProblems:
    def test_are_the_same_for_the_same_seed(self, place, problems):
        again = draw_problems(place, len(problems), seed=1)
        assert [(p.start, p.goal, p.seed) for p in again] == [(p.start, p.goal, p.seed) for p in problems]
        assert [(p.start, p.goal) for p in draw_problems(place, 5, seed=2)] != [(p.start, p.goal) for p in problems[:5]]

    def test_begin_and_end_in_known_cells(self):
        occupancy = np.full((40, 40), -1, np.int8)
        occupancy[10:20, 5:25] = 0
        for problem in draw_problems(Ground('known', occupancy, CELLS), 20, seed=0):
            for x, y in (problem.start, problem.goal):
                assert occupancy[y, x] == 0

    def test_are_refused_where_nothing_can_drive(self):
        for blocked in (np.ones((10, 10), bool), ~np.eye(10, dtype=bool)):
            with pytest.raises(NoProblems, match=r'free cells no two are joined'):
                draw_problems(ground(blocked), 3, seed=0)


class TestBudget:
    def test_is_a_part_of_a_tick(self):
        assert Budget(20.0, 0.2).tick_s == pytest.approx(0.01)

    @pytest.mark.parametrize(
        ('tick_hz', 'cpu', 'told'), [(0, 0.2, '--tick-hz is 0'), (20, 0, '--cpu is 0'), (20, 1.5, '1.5')]
    )
    def test_out_of_range_is_refused(self, tick_hz, cpu, told):
        with pytest.raises(ValueError, match=told):
            Budget(tick_hz, cpu)

    @pytest.mark.parametrize(
        ('greedy', 'others', 'expected_us'), [(1200, 10**6, 0.1), (2500, 10**6, 0.14), (300, 600, 0.86)]
    )
    def test_is_measured_in_ticks_that_are_full(self, greedy, others, expected_us, problems, monkeypatch):
        """A tick takes 0.1 ms, and 0.1 µs an expansion: who expands little says nothing of those who expand much. Where
        nobody fills a tick all there is counts, and twice."""

        def pretend(problem, candidate, k, conditions, limit):
            expansions = min(k, greedy if candidate.algorithm == 'tb_gbfs' else others)
            return outcome(100, tick_s=1e-4 + 1e-7 * expansions, expansions=expansions)

        monkeypatch.setattr(budget, 'carry_out', pretend)
        pace = measured_pace(problems[:3], Conditions('static'), 0.0075)
        assert 1e6 * pace.expansion_s == pytest.approx(expected_us, rel=0.1)

    def test_in_which_not_one_expansion_fits_is_refused(self):
        check_fits(Budget(20.0, 1e-4), Pace(1e-6, 100))
        check_fits(Budget(20.0, 1e-7), Pace(1e-6, 100, cut_short=True))  # so few ticks do not tell
        with pytest.raises(ValueError, match=r'0.0038 µs for the search.* takes 1 µs here; --cpu .* above 2.8e-05'):
            check_fits(Budget(20.0, 1e-7), Pace(1e-6, 100))

    def test_k_has_two_digits_and_fits(self):
        assert fitting_k(0.0075, 1.23e-7) == 60_000
        assert fitting_k(1e-9, 1e-6) == 1
        assert fitting_k(1e9, 1e-9) == 10**9


ODD = dataclasses.replace(
    PlannerParameters(),
    global_frame="o'dd",
    robot_base_frame='no',
    search_time_s=0.0005,
    min_improvement=1e-5,
    weight=3.0,
)


class TestParameterFile:
    @pytest.mark.parametrize('parameters', [PlannerParameters(), ODD], ids=['defaults', 'odd'])
    @pytest.mark.parametrize('candidate', candidates('changing')[::3], ids=str)
    def test_gives_back_what_was_written(self, candidate, parameters, tmp_path):
        tuned = with_candidate(parameters, candidate, 4321, Budget(12.5, 0.2))
        path = tmp_path / 'planner.yaml'
        path.write_text(parameter_file(tuned, 'a map', {'algorithm': 'because'}))
        assert read_parameters(path) == tuned
        assert candidate_of(tuned).row == candidate.row
        assert tuned.row() == candidate.row
        assert (tuned.expansions_per_tick, tuned.tick_frequency) == (4321, 12.5)

    def test_has_reasons_above_what_was_tuned(self, told, problems):
        told(lambda candidate, problem, k: outcome(length(problem) - 300 * (candidate.algorithm == 'rtba_star')))
        found = carry_out_study(make_plan(problems))
        why = reasons(found)
        text = parameter_file(
            with_candidate(PlannerParameters(), found.recommended, found.k, found.plan.budget), '', why
        )
        lines = text.splitlines()
        above = ' '.join(line.strip(' #') for line in lines[: lines.index('    algorithm: rtba_star')])
        assert why['algorithm'] in above
        assert 'shorter way' in why['restart']  # which this rule does not look for

    @pytest.mark.parametrize(
        ('text', 'told'),
        [
            ('tb_planner: {ros__parameters: {weihgt: 2.0}}', 'no parameter weihgt; did you mean weight?'),
            ('tb_planner: {ros__parameters: {weight: 0.5}}', 'weight is 0.5; it is 1 to 100'),
            ('tb_planner: {ros__parameters: {weight: heavy}}', "weight is 'heavy'; it is a number"),
            ('controller_server: {ros__parameters: {weight: 2.0}}', 'it has controller_server'),
            ('tb_planner: {ros__parameters: {zzzz: 2.0}}', 'no parameter zzzz'),
            ('tb_planner: {ros__parameters: {5: 2.0}}', 'no parameter 5'),
            ('tb_planner: {weight: 2.0}', 'no ros__parameters'),
            ('', 'it has nothing'),
            ('a: [', 'not YAML'),
        ],
    )
    def test_that_is_wrong_is_refused_by_name(self, text, told, tmp_path):
        path = tmp_path / 'wrong.yaml'
        path.write_text(text)
        with pytest.raises(ValueError) as error:
            read_parameters(path)
        assert told in str(error.value)
        assert 'wrong.yaml' in str(error.value)

    @pytest.mark.parametrize('name', ['tb_planner', '/**', '/robot1/tb_planner', '/**/tb_planner'])
    def test_may_name_the_node_as_ros_does(self, name, tmp_path):
        path = tmp_path / 'planner.yaml'
        path.write_text(f"'{name}': {{ros__parameters: {{weight: 2, use_sim_time: true}}}}")
        assert read_parameters(path).weight == 2.0

    def test_of_somebody_else_is_not_written_over(self, tmp_path):
        path = tmp_path / 'planner.yaml'
        path.write_text('# mine\n')
        with pytest.raises(ValueError, match='not written by the tuner'):
            check_may_write(path)
        path.write_text(parameter_file(PlannerParameters(), '', {}))
        check_may_write(path)


class TestComparison:
    def test_of_a_file_with_itself_finds_no_difference(self, problems):
        rivals = [Rival(name, DEFAULT, 50, 0.05) for name in ('a.yaml', 'b.yaml')]
        text = comparison_text(compare(rivals, problems[:6], 'changing'))
        assert '+0.0 % ± 0.0 intervals against a.yaml, which may be chance' in text

    def test_is_on_the_same_problems(self, problems):
        rivals = [Rival('slow', Candidate('tba_star'), 2, 0.0), Rival('fast', Candidate('tba_star'), 2000, 0.0)]
        comparison = compare(rivals, problems[:12], 'static')
        slow, fast = (comparison.outcomes[rival.name] for rival in rivals)
        assert len(slow) == len(fast) == 12
        assert all(b.intervals <= a.intervals for a, b in zip(slow, fast, strict=True))
        assert 'which may be chance' not in comparison_text(comparison)

    def test_ends_when_the_time_is_over(self, problems):
        rivals = [Rival(name, DEFAULT, 50, 0.05) for name in ('a.yaml', 'b.yaml')]
        for looks in (400, 1000):
            comparison = compare(rivals, problems, 'static', TimeLimit(looks, Clock()))
            assert 0 < comparison.had < len(problems)
            assert {len(outcomes) for outcomes in comparison.outcomes.values()} == {comparison.had}
            told = f'The time limit came after {comparison.had} of {len(problems)} problems'
            assert told in comparison_text(comparison)

    def test_without_time_for_one_problem_tells_nothing(self, problems):
        rivals = [Rival(name, DEFAULT, 50, 0.05) for name in ('a.yaml', 'b.yaml')]
        with pytest.raises(TooLittleTime, match='--time-limit of 3 s was over before all 2 files had tried one'):
            compare(rivals, problems, 'static', TimeLimit(3, Clock()))

    @pytest.mark.parametrize(
        ('options', 'told'),
        [
            (['one.yaml'], 'two files or more'),
            (['one.yaml', 'one.yaml'], 'each once'),
            (['one.yaml', 'two.yaml', '--params', 'one.yaml'], '--params goes with tuning'),
            (['one.yaml', 'nothing.yaml'], 'nothing.yaml: cannot be read'),
        ],
    )
    def test_refuses_what_cannot_be_compared(self, options, told, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        for name in ('one.yaml', 'two.yaml'):
            Path(name).write_text(parameter_file(PlannerParameters(), '', {}))
        assert main([*tune(tmp_path), '--compare', *options]) == 2
        assert told in capsys.readouterr().err

    def test_tells_what_it_leaves_out_of_account(self):
        ours = PlannerParameters()
        others = dataclasses.replace(ours, tick_frequency=5.0, corner_cutting=True)
        assert list(remarks({'a.yaml': ours, 'b.yaml': ours})) == []
        costs, ticks = remarks({'a.yaml': ours, 'b.yaml': others})
        assert 'b.yaml makes other costs of a map than a.yaml' in costs
        assert 'b.yaml ticks at 5 Hz, a.yaml at 20' in ticks

    def test_by_command(self, tmp_path, capsys):
        for name, weight in (('one.yaml', 1.2), ('two.yaml', 4.0)):
            parameters = dataclasses.replace(PlannerParameters(), weight=weight, expansions_per_tick=50)
            (tmp_path / name).write_text(parameter_file(parameters, '', {}))
        files = [str(tmp_path / name) for name in ('one.yaml', 'two.yaml')]
        assert main([*tune(tmp_path), '--compare', *files]) == 0
        printed = capsys.readouterr().out
        assert 'one.yaml: tb_wa_star(1.2), k = 50' in printed
        assert 'two.yaml needs' in printed
        assert not (tmp_path / 'tuned.yaml').exists()

    def test_of_files_in_several_folders_leaves_none_out(self, tmp_path, capsys):
        files = [tmp_path / name for name in ('one/planner.yaml', 'two/planner.yaml', 'tuned.yaml')]
        for file, weight in zip(files, (1.2, 4.0, 2.0), strict=True):
            file.parent.mkdir(exist_ok=True)
            parameters = dataclasses.replace(PlannerParameters(), weight=weight, expansions_per_tick=50)
            file.write_text(parameter_file(parameters, '', {}))
        assert main([*tune(tmp_path), '--compare', *map(str, files)]) == 0
        printed = capsys.readouterr().out
        for file, weight in zip(files, ('1.2', '4', '2'), strict=True):
            assert f'{file}: tb_wa_star({weight}), k = 50' in printed


def tune(folder):
    """A command for a small map."""
    blocked = scattered(40, 0.2)
    rows = '\n'.join(''.join('@' if cell else '.' for cell in row) for row in blocked)
    (folder / 'small.map').write_text(f'type octile\nheight 40\nwidth 40\nmap\n{rows}\n')
    return ['tune', str(folder / 'small.map'), '--problems', '5', '-o', str(folder / 'tuned.yaml')]


class TestCommand:
    def test_writes_a_file_for_the_node_and_a_plot(self, tmp_path, capsys):
        pytest.importorskip('matplotlib')
        assert main([*tune(tmp_path), '--tick-hz', '10', '--cpu', '0.1']) == 0
        printed = capsys.readouterr().out
        for column in ('over shortest', 'first move', 'back-moves', 'restarts', 'tick p99'):
            assert column in printed
        parameters = read_parameters(tmp_path / 'tuned.yaml')
        assert parameters.tick_frequency == 10.0
        assert f'{parameters.expansions_per_tick:,} expansions a tick' in printed
        assert (tmp_path / 'tuned.png').read_bytes().startswith(b'\x89PNG')

    def test_draws_over_its_own_plots_only(self, tmp_path, capsys):
        """Beside the file of parameters may lie the image of a map."""
        pytest.importorskip('matplotlib')
        image = tmp_path / 'tuned.png'
        image.write_bytes(b'a map')
        assert main(tune(tmp_path)) == 2
        assert 'tuned.png: it is there already, and was not drawn by the tuner' in capsys.readouterr().err
        assert image.read_bytes() == b'a map'
        image.unlink()
        assert [main(tune(tmp_path)) for _ in range(2)] == [0, 0]

    def test_writes_a_time_that_fits_into_a_tick(self, tmp_path):
        """For who lets the node search for a time, on another computer."""
        assert main([*tune(tmp_path), '--tick-hz', '200', '--cpu', '0.5']) == 0
        tuned = dataclasses.replace(read_parameters(tmp_path / 'tuned.yaml'), expansions_per_tick=0)
        assert tuned.search_time_s == pytest.approx(0.75 * 0.5 / 200, rel=0.01)
        assert list(tuned.problems()) == []

    def test_goes_out_from_the_parameters_that_there_are(self, tmp_path):
        mine = dataclasses.replace(PlannerParameters(), waypoint_distance_m=2.5, tick_frequency=8.0, weight=4.0)
        (tmp_path / 'mine.yaml').write_text(parameter_file(mine, '', {}))
        assert main([*tune(tmp_path), '--params', str(tmp_path / 'mine.yaml')]) == 0
        tuned = read_parameters(tmp_path / 'tuned.yaml')
        assert (tuned.waypoint_distance_m, tuned.tick_frequency) == (2.5, 8.0)

    @pytest.mark.parametrize(
        ('options', 'told'),
        [
            (['--cpu', '3'], '--cpu is 3'),
            (['--tick-hz', '-1'], '--tick-hz is -1'),
            (['--tick-hz', '0'], '--tick-hz is 0'),
            (['--png', 'no/such/folder/plot.png'], '--png no/such/folder/plot.png: there is no folder'),
            (['--problems', '0'], '--problems is 0'),
            (['--time-limit', '0'], '--time-limit is 0 s'),
            (['-o', 'no/such/folder/planner.yaml'], 'no folder'),
            (['--params', 'nothing.yaml'], 'nothing.yaml: cannot be read'),
            (['-o', 'plot.png'], '--png names another'),
            (['--time-limit', 'nan'], '--time-limit is nan s'),
            (['--cpu', '1e-9'], '--cpu has to be above'),
        ],
    )
    def test_refuses_what_cannot_be_done(self, options, told, tmp_path, capsys):
        assert main([*tune(tmp_path), *options]) == 2
        complaint = capsys.readouterr().err.splitlines()[-1]
        assert told in complaint

    def test_has_the_options_that_the_readme_tells(self, capsys):
        readme = (Path(__file__).parents[1] / 'README.md').read_text()
        for title, command in (('Tune it on your map', 'tune'), ('Replay a bag', 'replay')):
            section = readme.partition(f'## {title}\n')[2].partition('\n## ')[0]
            told = set(re.findall(r'`?(--[a-z-]+)', section))
            assert len(told) >= 4
            with pytest.raises(SystemExit):
                main([command, '--help'])
            assert told <= set(re.findall(r'--[a-z-]+', capsys.readouterr().out))

    def test_needs_no_ros(self, tmp_path):
        """Where its modules cannot be imported."""
        blocked = ('rclpy', 'rcl_interfaces', 'builtin_interfaces', 'geometry_msgs', 'nav_msgs', 'tf2_ros', 'launch')
        code = f'import sys; sys.modules.update(dict.fromkeys({blocked})); import tb_planner.__main__ as command; '
        code += f'sys.exit(command.main({[*tune(tmp_path), "--problems", "2"]}))'
        done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert 'Recommended' in done.stdout


def goals_on_growing_maps(count):
    """Each on a map that is a row and a column larger than the one before."""
    for number in range(count):
        geometry = Geometry(20 + number, 20 + number, 0.5)
        yield GivenGoal(np.zeros((20 + number, 20 + number), np.int8), geometry, Pose2(1.0, 1.0), Pose2(8.0, 8.0))


class TestBag:
    def test_gives_each_map_once(self):
        first, second = goals_on_growing_maps(2)
        given = [first, first, second, second, second]
        places = places_of(Path('bag'), given, PlannerParameters())
        assert [place.ground.occupancy for place in places] == [goal.occupancy for goal in given]
        assert len({id(place.ground) for place in places}) == 2

    @pytest.mark.parametrize(('count', 'asked'), [(50, 50), (80, 50), (10, 10)])
    def test_gives_problems_from_all_of_it(self, count, asked):
        given = list(goals_on_growing_maps(50))
        places = places_of(Path('bag'), given, PlannerParameters())
        drawn = bag_problems(Path('bag'), given, places, PlannerParameters(), count)
        numbers = [[place.ground for place in places].index(problem.ground) for problem in drawn]
        assert len(numbers) == len(set(numbers)) == asked
        assert set(np.diff(sorted(numbers))) == {50 // asked}

    def test_is_asked_no_longer_than_there_is_time(self):
        given = list(goals_on_growing_maps(50))
        places = places_of(Path('bag'), given, PlannerParameters())
        drawn = bag_problems(Path('bag'), given, places, PlannerParameters(), 50, TimeLimit(40, Clock()))
        assert 1 < len(drawn) <= 40 * DRAWN_BY

    def test_gives_its_goals_again_with_other_things_on_the_way(self):
        drawn = again_and_again(draw_problems(ground(rooms()), 3, seed=0), 7)
        assert [problem.start for problem in drawn[:4]] == [problem.start for problem in drawn[3:]]
        assert len({problem.seed for problem in drawn}) == 7

    def test_whose_goals_cannot_be_reached_is_refused(self):
        (given,) = goals_on_growing_maps(1)
        given.occupancy[:, 10] = 100
        places = places_of(Path('bag'), [given], PlannerParameters())
        with pytest.raises(NoProblems, match='of 1 goals none can be reached'):
            bag_problems(Path('bag'), [given], places, PlannerParameters(), 3)

    def test_gives_its_own_goals(self, tmp_path, capsys):
        pytest.importorskip('rosbags', reason="bags need rosbags: pip install '.[bags]'")
        import bag_files as files

        geometry = Geometry(61, 61, 0.5)
        messages = [
            (0.0, '/map', files.occupancy_grid(0.0, rooms() * 100, geometry)),
            (0.1, '/pose', files.pose_stamped(0.1, Pose2(3.0, 3.0))),
            (0.2, '/goal_pose', files.pose_stamped(0.2, Pose2(27.0, 27.0))),
        ]
        bag = files.write(tmp_path / 'bag', messages)
        command = ['tune', str(bag), '--problems', '4', '-o', str(tmp_path / 'tuned.yaml')]
        assert main(command) == 0
        assert 'bag: 61 x 61 cells of 0.5 m' in capsys.readouterr().out
        read_parameters(tmp_path / 'tuned.yaml')
        assert main(['tune', str(tmp_path), '-o', str(tmp_path / 'tuned.yaml')]) == 2
        assert 'metadata.yaml' in capsys.readouterr().err
