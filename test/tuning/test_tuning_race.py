"""The race of candidates: who runs in it, who drops out, and when it ends."""

import itertools

from helpers.tuning import DEFAULT, length, make_plan, result

from tb_planner.tools.tuning import race
from tb_planner.tools.tuning.report import study_text
from tb_planner.tools.tuning.study import run_study
from tb_planner.tools.tuning.time_limit import TimeLimit
from tb_planner.tools.tuning.trial import WORLDS, Candidate, TrialConditions, candidates


class TestRace:
    def test_drops_those_that_are_clearly_worse(self, fake_trials, problems):
        fake_trials(lambda candidate, problem, k: result(length(problem) * (1 + (candidate.algorithm == 'tb_gbfs'))))
        found = run_study(make_plan(problems))
        greedy = Candidate('tb_gbfs')
        assert greedy not in found.race.running
        assert found.race.means(greedy).problems == race.MIN_ROUNDS
        assert found.race.means(DEFAULT).problems == len(found.plan.seen)

    def test_ranks_those_that_dropped_out_after_those_that_ran_to_the_end(self, fake_trials, problems):
        """Its few problems were easy for it, as they were for the leader, which was better by a little."""
        plan = make_plan(problems)
        first = {id(problem) for problem in plan.seen[: race.MIN_ROUNDS]}
        leader, second = Candidate('tba_star'), Candidate('rtba_star')

        def go(candidate, problem, k):
            easy = id(problem) in first
            less = {leader: 2200 if easy else 1000, second: 2000 * easy}.get(candidate, 0)
            return result(length(problem) - less)

        fake_trials(go)
        found = run_study(plan).race
        assert second not in found.running
        assert found.against_default(second).mean < found.against_default(leader).mean
        ranked = found.ranked()
        assert ranked[0] == leader
        assert ranked.index(second) > ranked.index(DEFAULT)
        to_the_end = [found.means(candidate).problems == found.rounds for candidate in ranked]
        assert to_the_end == sorted(to_the_end, reverse=True)

    def test_has_each_candidate_once(self):
        for world in WORLDS:
            rows = [
                (candidate.config.weight, candidate.config.restart, candidate.config.learn_h)
                for candidate in candidates(world)
            ]
            assert len(set(rows)) == len(rows)
            assert DEFAULT in candidates(world)

    def test_has_the_default_once_whatever_it_is_called(self):
        mine = Candidate('tb_wa_star', 1.0, 'lazy')
        ran = race.Race(candidates('changing'), mine, 10, TrialConditions('changing'))
        assert [
            candidate for candidate in ran.results if candidate.config.weight == 1.0 and candidate.is_same_as(mine)
        ] == [mine]
        assert len(ran.results) == len(candidates('changing'))

    def test_ends_when_the_time_is_over(self, fake_trials, problems):
        """A round takes ten seconds by this clock, of which 70 % are for the race."""
        clock = itertools.count(step=5.0)
        fake_trials(lambda candidate, problem, k: result(length(problem)))
        found = run_study(make_plan(problems), TimeLimit(100.0, lambda: float(next(clock))))
        assert 2 <= found.race.rounds <= 8
        assert not found.interrupted

    def test_reports_that_it_has_seen_little(self, fake_trials, problems):
        fake_trials(lambda candidate, problem, k: result(length(problem)))
        assert 'a small sample' in study_text(run_study(make_plan(problems[:6])))
        assert 'a small sample' not in study_text(run_study(make_plan(problems)))


def test_a_difference_of_equal_results_is_zero_and_not_clear():
    results = [result(100), result(120), result(90)]
    difference = race.PairedDifference.of(results, results)
    assert not difference.is_clear
    assert str(difference) == '+0.0 % ± 0.0'
