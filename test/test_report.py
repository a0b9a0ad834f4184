"""The report: the judge on data with a known effect, the claims file, and the page in the repository."""

import math
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from benchmarks.report import HERE, figures, page
from benchmarks.report.comparisons import MIN_PROBLEMS, Term, compare, value_at
from benchmarks.report.groups import COUNTS, SETTING, SUMMED, Groups, factors, groups_of_rows, read_groups, write_groups
from benchmarks.report.judge import Claim, Verdict, decide, judge, read_claims

PAGE = Path(__file__).parents[1] / 'docs' / 'report' / 'README.md'
SVG = '{http://www.w3.org/2000/svg}'
CLAIMS, DATA = read_claims()
JUDGED = [one for one in CLAIMS if not one.reason]


# ---------------------------------------------------------------------- data with a known effect
def group(series, map_name, cost, x=1, problems=10, set_name='S', **columns):
    row = dict.fromkeys(SUMMED, math.nan) | dict.fromkeys(COUNTS, problems)
    place = dict.fromkeys(SETTING, '') | {'experiment': 'E', 'part': 'P', 'set': set_name, 'rate': 0.0}
    return {**place, **row, 'map': map_name, 'series': series, 'x': float(x), 'cost': cost * problems, **columns}


def groups_with(effects, maps=20, noise=0.05, seed=0, **columns):
    """A costs effect times as much as B, for each x, on maps that differ much more than A and B do."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(maps):
        base = 100 * random.lognormal(0, 1)
        for x, effect in effects.items():
            for series, factor in (('A', effect), ('B', 1.0)):
                cost = base * factor * random.lognormal(0, noise)
                rows.append(group(series, f'map {number}', cost, x, **columns))
    return Groups(pd.DataFrame(rows), [])


def claim(**spec):
    spec = {'measure': 'cost', 'a': 'A', 'b': 'B', **spec}
    return Claim('id', '2009', 'place', 'A costs less than B.', '', 'E', 'P', spec)


def verdict(groups, **spec):
    return judge(claim(**spec), groups, DATA).verdict


def test_a_clear_effect_supports_a_claim_and_contradicts_its_opposite():
    groups = groups_with({1: 0.8, 4: 0.8})
    assert verdict(groups) is Verdict.SUPPORTED
    assert verdict(groups, relation='>') is Verdict.CONTRADICTED


def test_a_claim_that_holds_in_one_case_and_fails_in_another_is_mixed():
    assert verdict(groups_with({1: 0.8, 4: 1.3})) is Verdict.MIXED


def test_an_interval_that_spans_the_margin_is_inconclusive():
    groups = groups_with({1: 0.8})
    assert verdict(groups, margin=0.8) is Verdict.INCONCLUSIVE
    assert verdict(groups_with({1: 0.98}, noise=0.3)) is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(('maps', 'problems'), [(2, 100), (20, 1)])
def test_too_few_maps_or_problems_are_inconclusive_and_the_finding_names_their_number(maps, problems):
    found = judge(claim(), groups_with({1: 0.5}, maps=maps, problems=problems), DATA)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert f'{maps * problems} problems in {maps} groups' in found.reason


def test_one_unclear_case_keeps_a_claim_about_all_cases_from_being_supported():
    assert verdict(groups_with({1: 0.5, 4: 0.5, 16: 1.0})) is Verdict.INCONCLUSIVE


def test_most_needs_more_than_half_of_the_cases():
    assert verdict(groups_with({1: 0.5, 4: 0.5, 16: 2.0}), quantifier='most') is Verdict.SUPPORTED
    assert verdict(groups_with({1: 0.5, 4: 2.0}), quantifier='most') is Verdict.CONTRADICTED
    assert verdict(groups_with({1: 0.5, 4: 1.0}), quantifier='most') is Verdict.INCONCLUSIVE


def test_any_needs_one_case():
    assert verdict(groups_with({1: 2.0, 4: 0.5}), quantifier='any') is Verdict.SUPPORTED
    assert verdict(groups_with({1: 2.0, 4: 2.0}), quantifier='any') is Verdict.CONTRADICTED


def test_similar_costs_are_within_a_margin_on_both_sides():
    groups = groups_with({1: 1.0})
    assert verdict(groups, relation='within', margin=[0.9, 1.1]) is Verdict.SUPPORTED
    assert verdict(groups, relation='within', margin=[1.1, 1.3]) is Verdict.CONTRADICTED


def test_a_measure_falls_along_x_if_no_step_rises():
    groups = groups_with({1: 2.0, 4: 1.5, 16: 1.0})
    assert verdict(groups, falls='x') is Verdict.SUPPORTED
    assert verdict(groups_with({1: 1.0, 4: 1.5, 16: 2.0}), falls='x') is Verdict.CONTRADICTED


@pytest.mark.parametrize('cases', [1, 6])
def test_noise_alone_decides_in_at_most_about_5_per_cent_of_the_claims(cases):
    """No effect, and a strict claim about all cases: everything but inconclusive is a false alarm."""
    verdicts = [verdict(groups_with(dict.fromkeys(range(1, cases + 1), 1.0), seed=seed)) for seed in range(300)]
    false_alarms = sum(found is not Verdict.INCONCLUSIVE for found in verdicts)
    assert false_alarms <= 0.08 * len(verdicts)
    assert sum(found is Verdict.SUPPORTED for found in verdicts) <= 0.05 * len(verdicts)


def test_the_interval_covers_the_true_ratio_in_about_95_per_cent_of_the_samples():
    covered = 0
    for seed in range(300):
        (one,) = judge(claim(), groups_with({1: 1.2}, seed=seed), DATA).comparisons
        low, high = one.interval()
        covered += low <= 1.2 <= high
    assert 0.91 * 300 <= covered <= 0.985 * 300


def test_the_interval_is_that_of_the_means_of_maps_not_of_problems():
    """Ten times the problems on each map, with the same sums a problem, do not narrow it."""
    few, many = (
        judge(claim(), groups_with({1: 0.9}, problems=count), DATA).comparisons[0].interval() for count in (10, 100)
    )
    assert few == pytest.approx(many)


def test_zero_against_a_positive_number_is_clear_and_zero_against_zero_is_not():
    rows = [
        group(series, f'map {number}', 0, back_moves=moves)
        for number in range(5)
        for series, moves in (('A', 0), ('B', 7), ('C', 0))
    ]
    groups = Groups(pd.DataFrame(rows), [])
    assert verdict(groups, measure='back-moves') is Verdict.SUPPORTED
    assert verdict(groups, measure='back-moves', b='C') is Verdict.INCONCLUSIVE


def test_a_claim_without_rows_is_inconclusive_and_the_finding_names_what_is_missing():
    found = judge(claim(a='nobody'), groups_with({1: 0.5}), DATA)
    assert (found.verdict, found.reason) == (Verdict.INCONCLUSIVE, 'no rows for any case')
    assert decide([]).verdict is Verdict.INCONCLUSIVE


def test_a_formula_is_a_product_of_sums():
    assert factors('(a - b) * c / d') == [('(a - b)', 1), ('c', 1), ('d', -1)]
    means = groups_with({1: 0.5}, noise=0.0).means('E', 'P')
    assert means.mean('cost / counted', 'A', 1) == pytest.approx(0.5 * means.mean('cost / counted', 'B', 1))
    one = compare(means, [Term('cost / counted', ('S', 0.0, 'A', 1.0), 1)], {}, '', (0, 1, False))
    assert math.exp(one.log_effect) == pytest.approx(means.mean('cost / counted', 'A', 1))


def test_a_curve_is_read_between_its_points_and_not_before_the_first():
    curve = np.array([[1.0, 100.0], [100.0, 1.0]])
    assert value_at(curve, 10, bound=False) == pytest.approx(10)
    assert math.isnan(value_at(curve, 0.5, bound=True))
    assert math.isnan(value_at(curve, 200, bound=False))
    assert value_at(curve, 200, bound=True) == pytest.approx(1)


# ---------------------------------------------------------------------- the claims and the data in the repository
@pytest.fixture(scope='module')
def groups():
    return read_groups([HERE], ())


def test_every_claim_has_a_name_of_its_own():
    assert len(CLAIMS) == len({one.id for one in CLAIMS})
    assert {one.paper for one in CLAIMS} == set(DATA['papers'])
    assert [one.id for one in CLAIMS if one.reason] == ['2009 PR LRTA* and D LRTA*']


@pytest.fixture(scope='module')
def findings(groups):
    return {one.id: judge(one, groups, DATA) for one in JUDGED}


@pytest.mark.parametrize('one', JUDGED, ids=lambda one: one.id)
def test_a_claim_finds_its_rows(one, findings):
    found = findings[one.id]
    assert found.cases
    assert found.means
    for comparison in found.comparisons:
        low, high = comparison.interval()
        assert math.isnan(comparison.log_effect) or low <= math.exp(comparison.log_effect) * (1 + 1e-9) <= high * (
            1 + 1e-6
        )


def with_clear_ratio(comparison, *, is_for):
    """The comparison with enough maps that all have the same ratio, inside the range that the claim allows or not."""
    low, high, _ = comparison.allowed
    most = min(high, 4 * low) if low else high
    inside, outside = math.sqrt(max(low, most / 4) * most), low / 2 or 2 * high or 1.0
    ratio = inside if is_for else outside
    maps = pd.Series(0.0, index=range(30))
    log_effect = math.log(ratio) if ratio else -math.inf
    return replace(comparison, log_effect=log_effect, residuals=maps, problems=300, freedom=29.0)


@pytest.mark.parametrize('one', JUDGED, ids=lambda one: one.id)
def test_a_claim_can_be_supported_and_can_be_contradicted(one, findings):
    """No claim holds, or fails, whatever the rows have."""
    rules = (one.spec.get('cases'), one.spec.get('quantifier', 'all'), one.spec.get('any_of'))
    for is_for, verdict in ((True, Verdict.SUPPORTED), (False, Verdict.CONTRADICTED)):
        comparisons = [with_clear_ratio(some, is_for=is_for) for some in findings[one.id].comparisons]
        assert decide(comparisons, *rules).verdict is verdict


def test_the_page_in_the_repository_is_what_the_command_generates(tmp_path):
    command = [sys.executable, '-m', 'benchmarks', 'report', '--out', str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / 'README.md').read_text()
    assert text == PAGE.read_text()
    drawn = set(re.findall(r'\]\(([\w-]+\.svg)\)', text))
    assert drawn == {path.name for path in PAGE.parent.glob('*.svg')} == {path.name for path in tmp_path.glob('*.svg')}
    assert done.stdout.splitlines()[0] in text
    assert done.stdout.splitlines()[0] in (PAGE.parents[1] / 'papers.md').read_text()


def test_every_row_of_the_page_has_problems_cases_and_an_interval():
    rows = [line for line in PAGE.read_text().splitlines() if re.match(r'\| [✔✘◐?] \w+ \|', line)]
    assert len(rows) == sum(not one.reason for one in CLAIMS) > 0
    for row in rows:
        assert re.search(r'\d cases?: \d+ for, \d+ against, \d+ unclear; n = [\d,]+( to [\d,]+)? problems on', row)
        assert re.search(r'\*\*[\d.,∞]+\*\* \[[\d.,]+, [\d.,∞]+\]', row)


def test_a_figure_is_the_same_text_each_time(groups):
    figure = figures.table_1_of_2009(groups, DATA)
    assert figures.svg(figure) == figures.svg(figure)
    assert 'late (A*)' in figures.svg(figure)


def test_the_bars_of_the_claims_have_the_counts_of_the_page_and_their_widths():
    drawing = ElementTree.parse(PAGE.parent / 'claims.svg')
    widths = {}
    for group in drawing.iter(f'{SVG}g'):
        if ', ' in group.get('id', ''):
            xs = [float(x) for x, _ in re.findall(r'[ML] ([\d.]+) ([\d.]+)', group.find(f'{SVG}path').get('d'))]
            widths[group.get('id')] = max(xs) - min(xs)
    sections = dict(zip(DATA['papers'], PAGE.read_text().split('\n## ')[2:], strict=False))
    rows = ((paper, line) for paper, text in sections.items() for line in text.splitlines())
    found = ((paper, re.match(r'\| [✔✘◐?–] ([\w ]+?) \|', line)) for paper, line in rows)
    counts = Counter(f'{paper}, {row[1]}' for paper, row in found if row)
    assert sum(counts.values()) == len(CLAIMS)
    assert widths == pytest.approx(
        {name: count * widths['2014, supported'] / counts['2014, supported'] for name, count in counts.items()},
        abs=0.01,
    )
    description = drawing.find(f'{SVG}desc').text
    for name, count in counts.items():
        paper, verdict = name.split(', ')
        assert re.search(rf'{paper}: [^;]*\b{count} {verdict}\b', description), name


def test_every_figure_has_words_and_a_background():
    for path in PAGE.parent.glob('*.svg'):
        drawing = ElementTree.parse(path).getroot()
        assert drawing.get('role') == 'img'
        assert drawing.find(f'{SVG}title').text
        assert drawing.find(f'{SVG}desc').text
        assert 'fill: #ffffff' in drawing.find(f".//{SVG}g[@id='patch_1']/{SVG}path").get('style')
        assert path.stat().st_size < 100_000


def test_stars_and_bars_do_not_change_the_table():
    assert page.plain('A* | k_max **1.2**<br>') == r'A\* \| k\_max **1.2**<br>'


# ---------------------------------------------------------------------- from rows to groups
ROW = {
    **{'experiment': 'E', 'part': 'P', 'set': 'S', 'map': 'm', 'generated': False, 'problem': 0, 'world': 'static'},
    **{'rate': 0.0, 'corner_cutting': False, 'series': 'TB-WA*(2)', 'algorithm': 'tb_wa_star', 'options': 'w=2.0'},
    **{'unit': 'k', 'x': 10, 'seed': 0, 'status': 'AT_GOAL', 'cost': 12.0, 'optimal_cost': 10.0, 'moves': 10},
    **{'back_moves': 2, 'non_optimal_moves': 3, 'intervals': 11, 'expansions': 21, 'searches': 1, 'refused_moves': 0},
    **{'k': 10, 'search_time_s': 0.5, 'aside_when_found': '', 'first_path_intervals': '', 'commit': 'abc'},
}


def sums(tmp_path, *changes):
    path = tmp_path / 'E.csv'
    pd.DataFrame([{**ROW, **change} for change in changes]).to_csv(path, index=False)
    return groups_of_rows(path)


def test_a_group_is_the_sum_of_the_runs_that_reached_the_goal(tmp_path):
    (found,) = sums(tmp_path, {}, {'problem': 1, 'cost': 20.0}, {'problem': 2, 'status': 'UNREACHABLE'}).to_dict(
        'records'
    )
    assert [found[name] for name in COUNTS] == [3, 2, 2]
    assert (found['cost'], found['suboptimality'], found['expansions_a_move']) == (32.0, 3.2, 4.2)


def test_a_run_beyond_the_bound_of_theorem_2_is_counted(tmp_path):
    bound = 2 * math.sqrt(2) + 2 * 2.0 * 10.0  # ⌊20 / 10⌋ intervals before the path is found
    found = sums(tmp_path, {'cost': bound}, {'problem': 1, 'cost': bound + 0.01})
    assert list(found.beyond_bound) == [1]


def test_on_changing_maps_a_problem_counts_if_all_agents_solved_it(tmp_path):
    changing = {'world': 'changing', 'rate': 1.0}
    found = sums(
        tmp_path,
        *({**changing, 'series': series, 'problem': n} for series in ('A', 'B') for n in (0, 1)),
        {**changing, 'series': 'C', 'problem': 0},
        {**changing, 'series': 'C', 'problem': 1, 'status': 'UNREACHABLE'},
    )
    assert dict(zip(found.series, found.counted, strict=True)) == {'A': 1, 'B': 1, 'C': 1}


def test_a_map_that_is_drawn_for_each_problem_is_a_map_of_its_own(tmp_path):
    drawn = {'world': 'changing', 'generated': True, 'map': 'random'}
    assert list(sums(tmp_path, drawn, {**drawn, 'problem': 1})['map']) == ['random #0', 'random #1']


def test_rows_go_before_the_sums_in_the_repository(tmp_path):
    sums(tmp_path, {'experiment': '2009', 'part': 'Table 1', 'cost': 77.0})
    (tmp_path / 'E.csv').rename(tmp_path / '2009.csv')
    frame = read_groups([tmp_path, HERE], ['2009']).frame
    chosen = frame[(frame.experiment == '2009') & (frame.part == 'Table 1')]
    assert list(chosen.cost) == [77.0]
    assert len(frame[frame.part == 'Figure 3'])


def test_groups_are_written_and_read_again_without_folders_of_the_machine(tmp_path, groups):
    session = {**groups.sessions[0], 'options': {'maps': '/home/somebody/maps', 'out': 'results'}}
    write_groups(Groups(groups.frame, [session]), tmp_path)
    again = read_groups([tmp_path], ())
    pd.testing.assert_frame_equal(again.frame[[*SETTING, *COUNTS, *SUMMED]], groups.frame[[*SETTING, *COUNTS, *SUMMED]])
    assert again.sessions[0]['options'] == {'maps': 'maps', 'out': 'results'}


def test_a_folder_without_rows_is_refused_with_the_command_that_makes_them(tmp_path):
    with pytest.raises(SystemExit, match='python -m benchmarks run'):
        read_groups([tmp_path], ['2009'])


def test_30_problems_are_enough():
    assert verdict(groups_with({1: 0.5}, maps=3, noise=0.001, problems=MIN_PROBLEMS // 3)) is Verdict.SUPPORTED
