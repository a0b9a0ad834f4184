"""The compiled kernel and its source, run as plain Python in a process of its own, do the same in every interval.

As a script, this file prints what the plain kernel does.
"""

import importlib.util
import json
import os
import subprocess
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

import numpy as np
import pytest

PROBLEMS = 90
INTERVALS = 40


class PlainKernel(MetaPathFinder):
    """Finds kernel.py where Python would prefer the compiled module beside it."""

    def find_spec(self, name, path, target=None):
        if name != 'tb_planner.search.kernel':
            return None
        return importlib.util.spec_from_file_location(name, Path(path[0]) / 'kernel.py')


def algorithm_of(rng, sliced):
    from tb_planner.search.algorithms import ALGORITHMS, make_algorithm, takes_weight

    name = str(rng.choice(sorted(ALGORITHMS)))
    options = {'ties': str(rng.choice(('lifo', 'larger_g')))}
    if name not in ('rtba_star', 'tbaa_star'):
        options.update(shortcut=bool(rng.random() < 0.3), path_switch=bool(rng.random() < 0.3))
        if name != 'tb_gbfs' and not sliced:
            options['reopen'] = bool(rng.random() < 0.3)
    weight = float(rng.choice((1.0, 1.01, 1.4, 3.0, 25.0))) if takes_weight(name) else 1.0
    return make_algorithm(name, weight, **options)


def lookahead_of(rng):
    from tb_planner import Resources

    if rng.random() < 0.2:
        return {'k': Resources(int(rng.integers(10, 40)))}
    options = {'k': int(rng.choice((1, 2, 5, 16, 64)))}
    return {**options, 'trace_steps': int(rng.integers(1, 6))} if rng.random() < 0.3 else options


def values_of(rng, shape):
    blocked = rng.random(shape) < rng.choice((0.0, 0.15, 0.3))
    if rng.random() < 0.5:
        return blocked
    largest = rng.choice((1.5, 9.0, 4000.0))
    costs = np.exp(rng.uniform(0, np.log(largest), shape))
    return np.where(blocked, np.inf, costs).astype(np.float32)


def patch_of(rng, values, cells):
    """New values for a part of the map, in which the cells are free, and where it lies."""
    height, width = values.shape
    x, y = int(rng.integers(width)), int(rng.integers(height))
    patch = values[y : y + 4, x : x + 4].copy()
    patch[rng.random(patch.shape) < 0.3] = True if values.dtype == bool else np.inf
    patch[rng.random(patch.shape) < 0.3] = False if values.dtype == bool else 1
    for cx, cy in cells:
        if x <= cx < x + patch.shape[1] and y <= cy < y + patch.shape[0]:
            patch[cy - y, cx - x] = False if values.dtype == bool else 1
    return patch, (x, y)


def snapshot(planner):
    """All public state of a planner."""
    return {
        'status': planner.status.name,
        'current_cell': planner.current_cell,
        'path': list(planner.path),
        'route': list(planner.route),
        'goal_found': planner.goal_found,
        'expansions': planner.expansions,
        'searches': planner.searches,
        'restarts': {reason.value: count for reason, count in planner.restarts.items()},
        'route_version': planner.route_version,
        'first cells': planner.route_cells(4).tolist(),
        'picture': planner.search_picture().tolist(),
        'expanded': np.flatnonzero(planner.expanded).tolist(),
        'open': sorted(planner.open_cells()),
        'log': as_lists(planner.take_expanded()),
    }


def as_lists(expanded):
    """The states expanded since the last interval, in order."""
    return None if expanded is None else [expanded.is_new, expanded.root, expanded.states.tolist()]


def intervals_of(seed):
    """A generated problem, interval by interval, with changes of the map in between."""
    from tb_planner import Grid, Status, TimeBoundedPlanner

    rng = np.random.default_rng(seed)
    height, width = (int(n) for n in rng.integers(2, 15, 2))
    values = values_of(rng, (height, width))
    start, goal = ((int(rng.integers(width)), int(rng.integers(height))) for _ in range(2))
    for x, y in (start, goal):
        values[y, x] = False if values.dtype == bool else 1
    grid = Grid(values, neighbours=int(rng.choice((4, 8))), corner_cutting=bool(rng.integers(2)))
    lookahead = lookahead_of(rng)
    sliced = 'trace_steps' in lookahead or not isinstance(lookahead['k'], int)
    planner = TimeBoundedPlanner(grid, start, goal, algorithm_of(rng, sliced), **lookahead)
    planner.log_expansions()
    for interval in range(INTERVALS):
        status = planner.step()
        yield snapshot(planner)
        if status is Status.AT_GOAL:
            break
        if interval % 5 == 4:
            patch, at = patch_of(rng, values, (planner.current_cell, goal))
            planner.observe(patch, at=at)


def plan_of_a_larger_map(seed):
    """f-values so far apart that Open has to move its window."""
    from tb_planner import Grid, find_path, tb_wa_star

    rng = np.random.default_rng(seed)
    costs = np.exp(rng.uniform(0, np.log(4000), (24, 32)))
    plan = find_path(Grid(costs), (0, 0), (31, 23), tb_wa_star(float(rng.choice((1.0, 1.07, 99.99)))))
    return [plan.status.name, list(plan.cells), plan.cost, plan.expansions]


def everything():
    """All results as JSON returns them: tuples as lists."""
    done = {'problems': [list(intervals_of(seed)) for seed in range(PROBLEMS)]}
    done['larger'] = [plan_of_a_larger_map(seed) for seed in range(4)]
    return json.loads(json.dumps(done))


def run_plain():
    sys.meta_path.insert(0, PlainKernel())
    from tb_planner.search import kernel

    return {'compiled': bool(kernel.COMPILED), **everything()}


@pytest.fixture(scope='module')
def plain():
    import tb_planner

    # the subprocess finds the same package, installed or not
    path = os.pathsep.join([str(Path(tb_planner.__file__).parents[1]), os.environ.get('PYTHONPATH', '')])
    environment = {**os.environ, 'PYTHONPATH': path}
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope='module')
def compiled():
    from tb_planner.search import kernel

    if not kernel.COMPILED:
        pytest.skip('tb_planner.search.kernel is not compiled here: there is nothing to compare')
    return everything()


def test_the_plain_kernel_is_the_source(plain):
    assert plain['compiled'] is False


def test_the_problems_are_worth_comparing(plain):
    last = [intervals[-1] for intervals in plain['problems']]
    assert sum(state['searches'] > 1 for state in last) > 15  # 19 to 21, as the table of algorithms grows
    assert sum(len(state['path']) > 5 for state in last) > 20
    assert sum(state['current_cell'] == state['path'][-1] for state in last if state['path']) > 10


def test_both_kernels_do_the_same_in_every_interval(plain, compiled):
    for seed, (expected, got) in enumerate(zip(plain['problems'], compiled['problems'], strict=True)):
        for interval, (before, after) in enumerate(zip(expected, got, strict=True)):
            assert after == before, f'problem {seed}, interval {interval}'


def test_both_kernels_plan_the_same_on_larger_maps(plain, compiled):
    assert compiled['larger'] == plain['larger']


if __name__ == '__main__':
    print(json.dumps(run_plain()))
