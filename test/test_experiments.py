"""The papers' experiments: what they claim holds in their quick sets, and their rows are lost by nothing.

The quick sets are generated maps: what is checked here is the direction of each claim, on problems that are always the
same. How far each claim holds on the papers' maps is in the report.
"""

import csv
import io
import itertools
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import FROM_PAPERS, main
from benchmarks.baselines import BASELINES
from benchmarks.experiments import engine
from benchmarks.experiments.engine import (
    PartOptions,
    TaskOutcome,
    attempt,
    check_versions,
    source_version,
)
from benchmarks.experiments.map_sets import maps_of
from benchmarks.experiments.ours import OURS_REPLANNING
from benchmarks.experiments.paper_2009 import PAPER_2009
from benchmarks.experiments.paper_2012 import PAPER_2012
from benchmarks.experiments.paper_2014 import PAPER_2014, PAPER_2014_DYNAMIC, greedy, weighted
from benchmarks.experiments.terrain import GridProblem
from benchmarks.experiments.trials import KEY, MapInstance, Part, Setting, floating_a_star, new_agent, tasks_of
from tb_planner import Changing, Grid, Static, Status, Unknown, find_path, move_to_goal, tba_star

pytestmark = pytest.mark.slow

BY_CLOCK = '2012-time'
NAMES = [experiment.name for experiment in FROM_PAPERS]
ONE_PROBLEM = '--quick', '--problems', '1', '--jobs', '1'
FLOATING = 76, 954, 11_355
"""Searches of Repeated A* on the 2012 paper's unknown terrain, their mean expansions with exact ties, and with floating
ones; docs/papers.md has these figures."""
TRACED = {'BG': (100, 626_927, 568_737), 'ROOMS': (54, 893_017, 801_393)}
"""Problems, and states that TB-GBFS and TB-WA*(3) would trace in a run at k = 1; docs/papers.md has these figures."""


def carry_out(name, out, *arguments, code=0):
    """Runs the command in this process, which saves the start of another one."""
    on_sigterm = signal.getsignal(signal.SIGTERM)
    with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()) as errors:
        try:
            ended_with = main(['run', name, '--out', str(out), *arguments])
        except SystemExit as end:
            print(end.code, file=sys.stderr)
            ended_with = 1
        finally:
            signal.signal(signal.SIGTERM, on_sigterm)
    done = subprocess.CompletedProcess(name, ended_with, output.getvalue(), errors.getvalue())
    assert done.returncode == code, done.stdout + done.stderr
    return done


def rows_of(task):
    outcome = attempt(task)
    assert not outcome.error
    return outcome.rows


def read(path):
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def without_times(rows):
    """The columns that are the same in two runs with the same seed, where intervals are counted in expansions."""
    return [{name: value for name, value in row.items() if name != 'search_time_s'} for row in rows]


@pytest.fixture(scope='module')
def quick(tmp_path_factory):
    """Rows of an experiment's quick set, which is run once."""
    out = tmp_path_factory.mktemp('results')

    def rows(name):
        path = out / f'{name}-quick.csv'
        if not path.exists():
            carry_out(name, out, '--quick', '--jobs', '2')
        return read(path)

    return rows


@pytest.fixture(scope='module')
def one_problem(tmp_path_factory):
    """Copies of the results of a short run: one problem of each map of 2014's quick set, one process."""
    out = tmp_path_factory.mktemp('one_problem')
    carry_out('2014', out, *ONE_PROBLEM)

    def copy(folder):
        shutil.copytree(out, folder, dirs_exist_ok=True)
        return folder / '2014-quick.csv'

    return copy


class Curves:
    """Means over problems, by series and x."""

    def __init__(self, rows, part, set_name=None, rate=None):
        chosen = [row for row in rows if row['part'] == part and set_name in (None, row['set'])]
        self.groups = defaultdict(list)
        for row in chosen:
            if rate is None or float(row['rate']) == rate:
                self.groups[row['series'], float(row['x'])].append(row)

    def mean(self, name, series, x):
        rows = self.groups[series, x]
        return sum(float(row[name]) for row in rows) / len(rows)

    def suboptimality(self, series, x):
        rows = self.groups[series, x]
        return sum(float(row['cost']) / float(row['optimal_cost']) for row in rows) / len(rows)

    def expansions_a_move(self, series, x):
        return self.mean('expansions', series, x) / self.mean('moves', series, x)

    def xs(self, series):
        return sorted(x for name, x in self.groups if name == series)

    def over_x(self, name, series):
        return [self.mean(name, series, x) for x in self.xs(series)]


def falls(values):
    return all(a > b for a, b in itertools.pairwise(values))


# ---------------------------------------------------------------------- every quick set
@pytest.mark.parametrize('name', NAMES)
def test_every_agent_of_a_quick_set_arrives_on_generated_maps(name, quick):
    rows = quick(name)
    assert {row['status'] for row in rows} == {'AT_GOAL'}
    assert {row['generated'] for row in rows} == {'True'}
    assert len({tuple(row[key] for key in KEY) for row in rows}) == len(rows)


@pytest.mark.parametrize('name', NAMES)
def test_no_agent_finds_a_path_shorter_than_the_shortest(name, quick):
    for row in quick(name):
        if row['world'] != 'changing':
            assert float(row['cost']) >= float(row['optimal_cost']) - 1e-5, row


@pytest.mark.parametrize('name', NAMES)
def test_an_experiment_documents_where_its_conditions_come_from(name):
    experiment = next(experiment for experiment in FROM_PAPERS if experiment.name == name)
    assert len(experiment.parts.__doc__) > 200
    full, small = (experiment.parts(PartOptions(quick=quick)) for quick in (False, True))
    assert [part.name for part in full] == [part.name for part in small]
    for few, all_of_them in zip(small, full, strict=True):
        assert {setting.series for setting in few.settings} <= {setting.series for setting in all_of_them.settings}


# ---------------------------------------------------------------------- 2009
def test_tba_star_needs_less_search_for_better_paths_than_real_time_search(quick):
    figure = Curves(quick('2009'), 'Figure 3')
    for series in ('LRTA*', 'LSS-LRTA*', 'P LRTA*'):
        for x in figure.xs(series):
            assert figure.expansions_a_move('TBA*', 100) < 3 * figure.expansions_a_move(series, x)
            assert figure.suboptimality('TBA*', 100) < figure.suboptimality(series, x)
    assert falls([figure.suboptimality('TBA*', R) for R in figure.xs('TBA*')])


def test_contemporary_real_time_search_beats_classic_lrta_star(quick):
    figure = Curves(quick('2009'), 'Figure 3')
    assert figure.expansions_a_move('LSS-LRTA*', 100) < figure.expansions_a_move('LRTA*', 10)
    assert figure.suboptimality('LSS-LRTA*', 100) < figure.suboptimality('LRTA*', 10)


def test_early_acting_beats_late_acting_and_less_so_with_more_resources(quick):
    table = Curves(quick('2009'), 'Table 1')
    saved = [table.suboptimality('late A*', R) - table.suboptimality('TBA*', R) for R in table.xs('TBA*')]
    assert min(saved) > 0
    assert falls(saved)


def test_switching_paths_by_the_rule_shortens_paths_and_shortcuts_hardly_do(quick):
    part = Curves(quick('2009'), 'enhancements')
    for R in part.xs('TBA*, basic'):
        basic = part.suboptimality('TBA*, basic', R)
        assert part.suboptimality('TBA*, path switch', R) < basic
        assert part.suboptimality('TBA*, shortcut', R) == pytest.approx(basic, rel=0.01)


def test_problems_of_2009_have_lengths_within_its_range(quick):
    for row in quick('2009'):
        assert 90 <= float(row['optimal_cost']) <= 200


def test_both_rows_of_table_1_have_the_same_expansions_an_action(quick):
    for row in quick('2009'):
        if row['part'] == 'Table 1':
            assert int(row['k']) == math.floor(0.9 * float(row['x']))


def test_a_row_records_whether_the_agent_was_on_another_path_when_the_optimal_one_was_found(quick):
    """Compares the place before the move of that interval with a separate search."""
    found = defaultdict(set)
    for task in itertools.islice(tasks_of('2009', PAPER_2009.parts(PartOptions(quick=True))[2:], seed=0), 6):
        ground = MapInstance(task)
        for row, setting in zip(rows_of(task), task.settings, strict=True):
            planner = new_agent(setting, Grid(ground.true), ground.problem, seed=0)
            while not planner.goal_found:
                before = planner.current_cell
                planner.step()
            optimal = find_path(Grid(ground.true), *ground.problem, tba_star(ties='larger_g')).cells
            assert row['aside_when_found'] == (before not in optimal)
            found[setting.series].add(row['aside_when_found'])
    assert set().union(*found.values()) == {0, 1}
    others = [row for row in quick('2009') if row['series'] in ('late A*', 'LRTA*', 'LSS-LRTA*')]
    assert {row['aside_when_found'] for row in others} == {''}


def test_looking_for_shortcuts_changes_nothing_before_the_goal_is_found(quick):
    rows = [row for row in quick('2009') if row['part'] == 'enhancements']
    for with_it, without in (('shortcut', 'basic'), ('both', 'path switch')):
        aside = [
            {(row['map'], row['problem'], row['x']): row['aside_when_found'] for row in rows if row['series'] == name}
            for name in (f'TBA*, {with_it}', f'TBA*, {without}')
        ]
        assert aside[0] == aside[1]


# ---------------------------------------------------------------------- 2012
def test_the_first_interval_only_searches(quick):
    table = [row for row in quick('2012') if row['series'] in ('RTAA*', 'daRTAA*', 'TBA*')]
    assert {int(row['intervals']) - int(row['moves']) for row in table} == {1}


def test_known_terrain_movements_in_excess_of_a_star_fall_with_the_interval(quick):
    table = Curves(quick('2012'), 'Table 1')
    assert len(set(table.over_x('moves', 'A*'))) == 1
    assert all(table.suboptimality('A*', k) == 1 for k in table.xs('A*'))
    assert falls(table.over_x('moves', 'TBA*'))
    for k in table.xs('TBA*'):
        intervals = {series: table.mean('intervals', series, k) for series in ('TBA*', 'A*', 'RTAA*', 'daRTAA*')}
        assert min(intervals, key=intervals.get) == 'TBA*'  # in fewer intervals than A*, against the paper's text


@pytest.mark.parametrize('part', ['Table 2', 'Table 3'])
def test_unknown_terrain_intervals_fall_and_complete_searches_make_the_same_movements(part, quick):
    table = Curves(quick('2012'), part)
    for series in ('Repeated A*', 'Adaptive A*', 'D* Lite'):
        assert len(set(table.over_x('moves', series))) == 1
        assert falls(table.over_x('intervals', series))
    for k in table.xs('TBAA*'):
        assert table.mean('intervals', 'Adaptive A*', k) < table.mean('intervals', 'Repeated A*', k)
    shortest = min(table.xs('TBAA*'))
    for series in ('RTBA*', 'Adaptive A*', 'Repeated A*'):
        assert table.mean('intervals', 'TBAA*', shortest) < table.mean('intervals', series, shortest)


def test_a_longer_time_has_more_expansions(quick):
    table = Curves(quick(BY_CLOCK), 'Table 1')
    for series in ('TBA*', 'A*', 'RTAA*'):
        short, long = table.xs(series)
        assert table.mean('k', series, short) < table.mean('k', series, long)


# ---------------------------------------------------------------------- 2014
SETS = ('BG', 'WC3', 'ROOMS', 'StarCraft')


@pytest.mark.parametrize('set_name', SETS)
def test_weights_save_cost_where_the_look_ahead_is_short(set_name, quick):
    figures = Curves(quick('2014'), 'Figures 1-4', set_name)
    for k in (1, 16):
        costs = [figures.mean('cost', series, k) for series in ('TBA*', 'TB-WA*(1.4)', 'TB-WA*(3)')]
        assert falls(costs)
    at_1 = {series: figures.mean('cost', series, 1) for series, _ in figures.groups}
    assert min(at_1, key=at_1.get) == 'TB-GBFS'


def test_greedy_search_is_several_times_better_than_tba_star_on_rooms(quick):
    figures = Curves(quick('2014'), 'Figures 1-4', 'ROOMS')
    assert figures.mean('cost', 'TBA*', 1) > 3 * figures.mean('cost', 'TB-GBFS', 1)


def test_weights_make_search_on_large_maps_many_times_smaller(quick):
    figures = Curves(quick('2014'), 'Figures 1-4', 'StarCraft')
    for series in ('TB-WA*(3)', 'TB-GBFS'):
        assert figures.mean('expansions', 'TBA*', 256) > 6 * figures.mean('expansions', series, 256)


@pytest.mark.parametrize('set_name', SETS)
def test_tba_star_makes_most_back_moves_and_greedy_search_fewest(set_name, quick):
    figures = Curves(quick('2014'), 'Figures 1-4', set_name)
    for k in (1, 16, 256):
        back_moves = [figures.mean('back_moves', series, k) for series in ('TBA*', 'TB-WA*(3)', 'TB-GBFS')]
        assert back_moves == sorted(back_moves, reverse=True)
        assert back_moves[0] > back_moves[2]


@pytest.mark.parametrize('set_name', SETS)
def test_non_optimal_moves_fall_with_the_weight_but_for_a_long_look_ahead(set_name, quick):
    figures = Curves(quick('2014'), 'Figures 1-4', set_name)
    for k in (1, 16):
        assert figures.mean('non_optimal_moves', 'TB-WA*(3)', k) < figures.mean('non_optimal_moves', 'TBA*', k)
    assert figures.mean('non_optimal_moves', 'TB-WA*(3)', 256) > figures.mean('non_optimal_moves', 'TBA*', 256)


@pytest.mark.parametrize('rate', [1, 5, 10])
def test_weights_save_cost_and_search_on_changing_maps(rate, quick):
    figure = Curves(quick('2014-dynamic'), 'Figure 5', rate=rate)
    for k in (1, 256):
        for name in ('cost', 'expansions'):
            assert figure.mean(name, 'TB-WA*(3)', k) < figure.mean(name, 'TBA*', k)


@pytest.mark.parametrize('rate', [1, 5, 10])
@pytest.mark.parametrize('series', ['TBA*', 'TB-WA*(3)'])
def test_lazy_restarts_search_less_than_eager_ones(series, rate, quick):
    figure = Curves(quick('2014-dynamic'), 'Figure 6', rate=rate)
    for name in ('searches', 'expansions'):
        assert figure.mean(name, f'{series}, lazy', math.inf) < figure.mean(name, f'{series}, eager', math.inf)


# ---------------------------------------------------------------------- ours
def test_re_opening_costs_expansions(quick):
    part = Curves(quick('ours'), 're-opening')
    for series in ('TB-WA*(1.4)', 'TB-WA*(3)'):
        assert part.mean('expansions', series, 256) < part.mean('expansions', f'{series}, re-opening', 256)
    assert part.mean('expansions', 'TBA*', 256) == part.mean('expansions', 'TBA*, re-opening', 256)


def test_floating_ties_cost_expansions_on_open_maps_and_nothing_else(quick):
    part = Curves(quick('ours'), 'exact ties', 'open')
    floating, exact = ('A*, floating', math.inf), ('TBA*, larger_g', math.inf)
    assert part.mean('expansions', *floating) > 1.2 * part.mean('expansions', *exact)
    assert part.mean('cost', *floating) == pytest.approx(part.mean('cost', *exact))


def test_only_the_lazy_rule_as_printed_walks_into_obstacles(quick):
    refused = defaultdict(int)
    for row in quick('ours'):
        refused[dict(option.split('=') for option in row['options'].split()).get('restart')] += int(
            row['refused_moves']
        )
    assert refused['lazy_as_printed'] > 0
    assert refused['lazy'] == refused['eager'] == 0


def test_cutting_corners_shortens_paths(quick):
    part = Curves(quick('ours'), 'corner cutting', 'ROOMS')
    assert part.mean('optimal_cost', 'TBA*, cutting corners', 256) < part.mean('optimal_cost', 'TBA*', 256)


@pytest.mark.parametrize('series', ['TBA*', 'TB-WA*(3)'])
def test_lazy_restarts_save_the_more_searches_the_fewer_cells_change(series, quick):
    def searches_saved(size, rate):
        part = Curves(quick('ours'), 'lazy against eager', size, rate)
        lazy, eager = (part.mean('searches', f'{series}, {rule}', math.inf) for rule in ('lazy', 'eager'))
        return eager / lazy

    assert searches_saved('250 x 250', 0.1) > 2 * searches_saved('250 x 250', 1) > 2


def test_real_time_search_that_follows_whole_paths_searches_less_and_walks_more(quick):
    for world in ('static', 'unknown'):
        part = Curves(quick('ours'), f'moves a search, {world}')
        one, whole = (f'RTAA*, {moves}, larger_g' for moves in ('one move', 'whole path'))
        assert part.mean('expansions', whole, 16) < part.mean('expansions', one, 16)
        assert part.mean('moves', whole, 16) > part.mean('moves', one, 16)


def test_a_row_records_in_how_many_intervals_d_star_lite_finds_its_first_path(quick):
    """The agent waits until then and moves from then on; with unlimited intervals it is the first."""
    for row in quick('2012') + quick('ours-replanning'):
        if row['series'] != 'D* Lite':
            assert row['first_path_intervals'] == ''
            continue
        found, waits = int(row['first_path_intervals']), int(row['intervals']) - int(row['moves'])
        assert 1 <= found <= waits + 1
        assert found <= math.ceil(int(row['expansions']) / int(row['k'])) or found == 1
        assert found == 1 or row['x'] != 'inf'


def test_d_star_lite_finds_its_first_path_sooner_where_nothing_is_known(quick):
    """Section 8.2 of the 2012 paper explains it: there are no local minima on a map without obstacles."""
    unknown, partly = (Curves(quick('2012'), part) for part in ('Table 2', 'Table 3'))
    for k in unknown.xs('D* Lite'):
        assert unknown.mean('first_path_intervals', 'D* Lite', k) <= partly.mean('first_path_intervals', 'D* Lite', k)


def test_floating_ties_lengthen_searches_on_unknown_terrain(maps_folder):
    """Searches of Repeated A* on the 2012 paper's unknown maps, the first one and every hundredth, made again from the
    same state on the same map with a floating √2. docs/papers.md has these figures."""
    part = next(part for part in PAPER_2012.parts(PartOptions(maps=maps_folder, problems=2)) if part.name == 'Table 2')
    exact, floating = [], []
    for task in tasks_of('', (part,), seed=0):
        ground = MapInstance(task)
        world = Unknown(ground.grid(True))
        agent = BASELINES['repeated_a_star'](world.initial_grid(), *ground.problem, k=1 << 40)
        news, searches = world.enter(agent.current_cell, agent.goal), 0
        while agent.status != Status.AT_GOAL:
            if (news and agent.observe(*news)) or not searches:
                if searches % 100 == 0:
                    problem = agent.current_cell, agent.goal
                    exact.append(find_path(agent.grid, *problem, tba_star(ties='larger_g')).expansions)
                    floating.append(floating_a_star(agent.grid.blocked, *problem, corner_cutting=True).expansions)
                searches += 1
            agent.step()
            news = world.look(agent.current_cell, agent.goal)
    print(
        f'{len(exact)} searches: {np.mean(exact):.0f} expansions with exact ties, {np.mean(floating):.0f} with floating'
    )
    assert (len(exact), round(np.mean(exact)), round(np.mean(floating))) == FLOATING


@pytest.mark.parametrize('set_name', ['BG', 'ROOMS'])
def test_tracing_whole_paths_would_cost_greedy_search_more_than_w_3(set_name, maps_folder):
    """Line 25 of Algorithm 1 (2014) builds path from s_best to s_root in each interval. Our trace-back stops where it
    meets the agent's branch. If it did not, TB-GBFS, whose paths are longer, would lose its lead at small k."""
    part = Part('', maps_of(set_name, maps_folder), 2, (greedy(1), weighted(3, 1)))
    expansions, traced = defaultdict(int), defaultdict(int)
    tasks = list(tasks_of('', (part,), seed=0))
    for task in tasks:
        ground = MapInstance(task)
        for setting in task.settings:
            planner = new_agent(setting, ground.grid(False), ground.problem, seed=0)
            while not planner.route_reaches_goal:
                planner.step()
                traced[setting.series] += len(planner._search.branch())
            expansions[setting.series] += planner.figures.expansions
            planner.release()
    means = {series: (expansions[series] / len(tasks), traced[series] / len(tasks)) for series in traced}
    for series, (expanded, steps) in means.items():
        print(f'{set_name}, k = 1, a run: {series} expands {expanded:.0f} states and would trace {steps:.0f}')
    (less, longer), (more, shorter) = means['TB-GBFS'], means['TB-WA*(3)']
    assert less < more
    assert less + longer / 10 > more + shorter / 10, 'ten steps take as long as an expansion (2009)'
    assert min(longer / less, shorter / more) > 100
    assert (len(tasks), round(longer), round(shorter)) == TRACED[set_name], 'the figures in docs/papers.md'


@pytest.mark.parametrize('rate', [1, 5, 10])
def test_rtb_wa_star_arrives_long_before_d_star_lite_when_expansions_are_few(rate, quick):
    part = Curves(quick('ours-replanning'), 'D* Lite', rate=rate)
    assert 2 * part.mean('intervals', 'TB-WA*(3)', 16) < part.mean('intervals', 'D* Lite', 16)
    assert part.mean('cost', 'D* Lite', math.inf) < part.mean('cost', 'TB-WA*(3)', math.inf)


# ---------------------------------------------------------------------- a trial
def test_a_row_has_the_figures_of_move_to_goal():
    """Trials share their grid and the distances to the goal; a run alone on its own grid is the same."""
    part = PAPER_2014.parts(PartOptions(quick=True))[2]
    task = next(tasks_of('2014', (part,), seed=3))
    rows = rows_of(task)
    blocked = task.map.blocked(task.problem)
    for row, setting in zip(rows, task.settings, strict=True):
        grid = Grid(blocked)
        problem = (row['start_x'], row['start_y']), (row['goal_x'], row['goal_y'])
        agent = new_agent(setting, grid, GridProblem(*problem), seed=0)
        run = move_to_goal(agent, Static(grid), non_optimal=True)
        for name in ('moves', 'back_moves', 'non_optimal_moves', 'intervals', 'expansions', 'searches'):
            assert row[name] == getattr(run, name), (setting, name)
        assert row['cost'] == pytest.approx(run.cost)
        assert row['optimal_cost'] == pytest.approx(find_path(Grid(blocked), *problem).cost)


@pytest.mark.parametrize('experiment', [PAPER_2014_DYNAMIC, OURS_REPLANNING], ids=lambda experiment: experiment.name)
def test_on_changing_maps_a_row_is_that_of_an_agent_with_a_map_of_its_own(experiment):
    """Trials have one map for the world and the agent, which is faster."""
    task = next(tasks_of(experiment.name, experiment.parts(PartOptions(quick=True)), seed=3))
    ground = MapInstance(task)
    for row, setting in zip(rows_of(task), task.settings, strict=True):
        agent = new_agent(setting, Grid(ground.true), ground.problem, seed=0)
        run = move_to_goal(agent, Changing(Grid(ground.true), setting.rate, seed=ground.world_seed))
        assert (row['status'], row['cost']) == (run.status.name, pytest.approx(run.cost))
        for name in ('moves', 'back_moves', 'intervals', 'expansions', 'searches'):
            assert row[name] == getattr(run, name), (setting, name)


def test_partly_unknown_terrain_hides_15_per_cent_of_the_free_cells():
    task = next(tasks_of('2012', PAPER_2012.parts(PartOptions(quick=True))[2:], seed=3))
    ground = MapInstance(task)
    hidden = ground.true & ~ground.known
    assert np.array_equal(ground.known & ~ground.true, np.zeros_like(ground.known))
    assert hidden.sum() == round(0.15 * np.count_nonzero(~ground.known))


def test_maps_that_change_are_drawn_for_each_problem():
    first, second = itertools.islice(tasks_of('x', PAPER_2014_DYNAMIC.parts(PartOptions(quick=True)), seed=0), 2)
    assert not np.array_equal(first.map.blocked(first.problem), second.map.blocked(second.problem))
    assert np.count_nonzero(first.map.blocked(0)) == round(0.1 * 250 * 250)


# ---------------------------------------------------------------------- the engine
@pytest.mark.parametrize('name', [name for name in NAMES if name != BY_CLOCK])
def test_the_same_seed_gives_the_same_rows_whatever_the_number_of_jobs(name, quick, tmp_path):
    carry_out(name, tmp_path, *ONE_PROBLEM)
    by_one_job = without_times(read(tmp_path / f'{name}-quick.csv'))
    by_two_jobs = without_times(row for row in quick(name) if row['problem'] == '0')
    assert by_one_job == by_two_jobs
    assert len(by_one_job) > 20


def test_a_part_can_be_run_alone(tmp_path):
    carry_out('2012', tmp_path, *ONE_PROBLEM, '--part', 'Table 1')
    assert {row['part'] for row in read(tmp_path / '2012-quick.csv')} == {'Table 1'}
    done = carry_out('2012', tmp_path, *ONE_PROBLEM, '--part', 'Table 4', code=1)
    assert 'there are Table 1, Table 2, Table 3' in done.stderr


def test_another_seed_gives_other_problems(one_problem, tmp_path):
    carry_out('2014', tmp_path / 'other', *ONE_PROBLEM, '--seed', '2')
    files = one_problem(tmp_path / 'first'), tmp_path / 'other' / '2014-quick.csv'
    starts = [[(row['start_x'], row['start_y']) for row in read(path)] for path in files]
    assert starts[0] != starts[1]


def test_an_interrupted_run_goes_on_where_it_was(one_problem, tmp_path):
    """Rows that are there stay as they are, and half a row is run again."""
    whole = one_problem(tmp_path / 'whole')
    lines = whole.read_text().splitlines()
    header = lines[0].split(',')
    kept = [line.split(',') for line in lines[1:20]]
    for row in kept:
        row[header.index('search_time_s')] = '77'
    torn = tmp_path / 'torn' / '2014-quick.csv'
    torn.parent.mkdir()
    torn.write_text('\n'.join([lines[0], *(','.join(row) for row in kept), lines[20][:30]]))
    carry_out('2014', tmp_path / 'torn', *ONE_PROBLEM)
    assert without_times(read(torn)) == without_times(read(whole))
    assert sum(row['search_time_s'] == '77' for row in read(torn)) == len(kept)


def test_more_problems_keep_the_rows_of_those_before(one_problem, tmp_path):
    before = read(one_problem(tmp_path))
    carry_out('2014', tmp_path, '--quick', '--problems', '2', '--jobs', '1')
    after = read(tmp_path / '2014-quick.csv')
    assert len(after) == 2 * len(before)
    assert [row for row in after if row['problem'] == '0'] == before


@pytest.fixture
def long_run(tmp_path):
    """A run that takes minutes, once some of its rows are there; their file; and its workers, which end with it."""
    command = [sys.executable, '-m', 'benchmarks', 'run', '2014', '--jobs', '2', '--out', str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    path = tmp_path / '2014.csv'
    deadline = time.monotonic() + 60
    try:
        while not (path.exists() and path.read_text().count('\n') > 50):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield process, path, children(process.pid)
    finally:
        process.kill()
        process.wait(60)


def children(pid):
    return [int(child) for child in Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def wait_for_end(pids):
    deadline = time.monotonic() + 20
    while left := [pid for pid in pids if is_running(pid)]:
        assert time.monotonic() < deadline, f'{left} still run'
        time.sleep(0.05)


def is_running(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


@pytest.mark.parametrize('interruption', [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_the_rows_and_ends_the_workers(interruption, long_run):
    process, path, workers = long_run
    process.send_signal(interruption)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert 'interrupted: the same command continues' in printed
    assert f'{len(read(path))} of' in printed
    assert len(workers) >= 2
    wait_for_end(workers)


def test_workers_end_with_a_parent_that_is_killed(long_run):
    process, path, workers = long_run
    process.kill()
    process.communicate(timeout=60)
    wait_for_end(workers)
    assert len(read(path)) >= 50


def test_a_map_that_has_no_problems_does_not_keep_others_from_being_run(tmp_path):
    folder = tmp_path / 'maps' / 'rooms'
    folder.mkdir(parents=True)
    for name, row in (('free', '.' * 30), ('full', '@' * 30)):
        lines = ['type octile', 'height 30', 'width 30', 'map', *[row] * 30]
        (folder / f'{name}.map').write_text('\n'.join(lines) + '\n')
    arguments = ('--quick', '--maps', str(tmp_path / 'maps'), '--problems', '1', '--jobs', '2')
    done = carry_out('2014', tmp_path, *arguments, code=1)
    rows = read(tmp_path / '2014-quick.csv')
    assert {(row['set'], row['map'], row['generated']) for row in rows} == {('ROOMS', 'free', 'False')}
    assert 'every cell of the map is blocked' in done.stderr
    assert 'does not have Cauldron, Expedition' in done.stdout
    assert 'does not have a folder bg512' in done.stdout


def test_a_worker_that_is_killed_is_reported_and_the_rows_stay(long_run):
    process, path, _ = long_run
    os.kill(busiest(children(process.pid)), signal.SIGKILL)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert 'terminated abruptly' in printed
    assert f'{len(read(path))} of' in printed


def busiest(pids):
    """A worker, and not what looks after the processes' resources."""
    return max(pids, key=lambda pid: int(Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[11]))


def test_two_processes_do_not_write_to_one_file(long_run):
    _, path, _ = long_run
    done = carry_out('2014', path.parent, code=1)
    assert 'being written by another process' in done.stderr


def test_rows_with_other_columns_are_not_mixed_with_ours(one_problem, tmp_path):
    path = one_problem(tmp_path)
    path.write_text(path.read_text().replace('back_moves', 'moves_back', 1))
    done = carry_out('2014', tmp_path, '--quick', '--problems', '2', '--jobs', '1', code=1)
    assert 'other columns (back_moves, moves_back)' in done.stderr


def test_a_session_records_where_its_rows_come_from(one_problem, tmp_path):
    one_problem(tmp_path)
    session = (tmp_path / '2014-quick.sessions.jsonl').read_text()
    for name in ('date', 'commit', 'cpu', 'python', 'numpy', 'problems'):
        assert f'"{name}"' in session
    assert session.count('\n') == 1


def test_a_setting_that_fails_costs_no_row_of_another():
    (part, *_) = PAPER_2014.parts(PartOptions(quick=True))
    bad = Setting('bad', 'no such algorithm', 1)
    task = next(tasks_of('2014', (part,), seed=3))
    settings = (task.settings[0], bad, task.settings[1])
    outcome = attempt(replace(task, settings=settings))
    assert [row['series'] for row in outcome.rows] == [settings[0].series, settings[2].series]
    assert 'no such algorithm' in outcome.error


def test_a_cluster_whose_workers_die_gives_the_rows_of_the_others(monkeypatch):
    """A task that is the end of every worker it comes to is reported as failed. Sometimes so is one that waits for the
    same worker each time: Dask does not know which of them it was."""
    distributed = pytest.importorskip('distributed')

    def deadly(task):
        if task.problem == 1:
            time.sleep(1.0)  # others have time to be done, or to be taken over
            os._exit(1)
        return TaskOutcome(task, [{'problem': task.problem}])

    monkeypatch.setattr(engine, 'attempt', deadly)
    (part, *_) = PAPER_2014.parts(PartOptions(quick=True))
    tasks = list(itertools.islice(tasks_of('2014', (part,), seed=0), 4))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        outcomes = list(engine.on_cluster(tasks, cluster.scheduler_address))
    assert {outcome.task for outcome in outcomes} == set(tasks)
    assert len(outcomes) == len(tasks)
    failed = {outcome.task.problem: outcome for outcome in outcomes if outcome.error}
    assert 1 in failed
    assert all('KilledWorker' in outcome.error and not outcome.rows for outcome in failed.values())
    rows = [row['problem'] for outcome in outcomes for row in outcome.rows]
    assert rows
    assert sorted([*rows, *failed]) == [0, 1, 2, 3]


def test_workers_with_other_sources_are_refused():
    check_versions({'here': source_version()})
    with pytest.raises(SystemExit, match=r'there \(tb_planner 0.0.1, abc\)'):
        check_versions({'here': source_version(), 'there': 'tb_planner 0.0.1, abc'})


def test_a_cluster_gives_the_same_rows(one_problem, tmp_path):
    distributed = pytest.importorskip('distributed')
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        arguments = ('--quick', '--problems', '1', '--scheduler', cluster.scheduler_address)
        carry_out('2014', tmp_path / 'cluster', *arguments)
    here, there = one_problem(tmp_path / 'here'), tmp_path / 'cluster' / '2014-quick.csv'
    assert without_times(read(there)) == without_times(read(here))
