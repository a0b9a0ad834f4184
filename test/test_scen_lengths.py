"""Optimal lengths of MovingAI's .scen files, problem by problem. They hold for corners that may not be cut.

By default a fixed sample of every file; all of the 150,000 problems with TB_PLANNER_ALL_PROBLEMS=1.
"""

import math
import os

import numpy as np
import pytest

from tb_planner import Grid, Status, find_path, tba_star
from tb_planner.maps.files import read_map, read_problems

SAMPLE = 40
ALL = os.environ.get('TB_PLANNER_ALL_PROBLEMS', '0') not in ('', '0')


def sample(problems, seed):
    """All problems, or SAMPLE of them drawn with a fixed seed."""
    if ALL or len(problems) <= SAMPLE:
        return problems
    chosen = np.random.default_rng(seed).choice(len(problems), SAMPLE, replace=False)
    return [problems[i] for i in sorted(chosen)]


def half_a_digit(length, decimals):
    """The largest rounding error of a length: two decimals in bg512, six digits in the others."""
    digits = 5 - math.floor(math.log10(length)) if length else 5
    return 0.5 * 10.0 ** -min(digits, decimals)


def decimals_of(path):
    """The most decimals that a length of this file is written with."""
    lengths = [line.split()[-1] for line in path.read_text().splitlines()[1:] if line.strip()]
    return max(len(length.partition('.')[2]) for length in lengths)


@pytest.mark.parametrize('folder', ['bg512', 'rooms', 'sc1', 'dao'])
def test_plans_have_the_lengths_of_the_scen_files(maps_folder, folder, record_property):
    files = sorted((maps_folder / folder).glob('*.map.scen'))
    if not files:
        pytest.skip(f'no .scen files in {maps_folder / folder}')
    checked, worst = 0, 0.0
    for seed, path in enumerate(files):
        grid = Grid(read_map(path.with_suffix('')).blocked)
        decimals = decimals_of(path)
        for problem in sample(list(read_problems(path)), seed):
            plan = find_path(grid, problem.start, problem.goal, tba_star())
            if problem.optimal_length == 0 and problem.start != problem.goal:
                # dao/orz703d.map.scen has problems without a solution, whose length it gives as 0
                assert plan.status is Status.NO_PATH, (path.name, problem)
                continue
            assert plan.status is Status.AT_GOAL, (path.name, problem)
            tolerance = 1e-4 + half_a_digit(problem.optimal_length, decimals)
            assert plan.cost == pytest.approx(problem.optimal_length, abs=tolerance), (path.name, problem)
            checked += 1
            worst = max(worst, abs(plan.cost - problem.optimal_length))
    record_property('problems', checked)
    record_property('largest_difference', worst)
    print(f'{folder}: {checked} problems on {len(files)} maps, lengths differ by {worst:.1e} at most')
