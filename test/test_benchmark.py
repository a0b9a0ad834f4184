"""The benchmark: its maps have the properties that they promise, and each experiment runs and writes its rows."""

import csv
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.oracle import Terrain, true_distance
from scipy import ndimage

from benchmarks.experiments import terrain
from benchmarks.experiments.engine import PACKAGES, RowFile, now, provenance
from benchmarks.library_comparison import ALL_OURS, COSTS, LIBRARIES, Peer, maps, path_cost, pyastar2d, runs
from benchmarks.navfn import costmap_of
from tb_planner import Grid, find_path

COMMAND = [sys.executable, '-m', 'benchmarks']
PROVENANCE = {'date', 'commit', 'dirty', 'machine', 'cpu', 'cores', 'memory_gb', 'python', *PACKAGES}

MAPS = {
    'random obstacles': lambda seed: terrain.random_obstacles(60, 0.1, seed),
    'rooms': lambda seed: terrain.rooms(60, 7, seed),
    'maze': lambda seed: terrain.maze(60, 3, seed),
    'caves': lambda seed: terrain.caves(60, 0.4, seed),
}


def components(blocked):
    return ndimage.label(~blocked)[1]


# ---------------------------------------------------------------------- terrain
@pytest.mark.parametrize('name', MAPS)
def test_a_map_follows_from_its_seed(name):
    build = MAPS[name]
    assert np.array_equal(build(3), build(3))
    assert not np.array_equal(build(3), build(4))
    assert build(3).dtype == np.bool_
    assert build(3).shape == (60, 60)


@pytest.mark.parametrize('fraction', [0.0, 0.1, 0.35])
def test_the_fraction_of_obstacles_is_exact(fraction):
    assert np.count_nonzero(terrain.random_obstacles(50, fraction, 1)) == round(2500 * fraction)


@pytest.mark.parametrize('seed', range(5))
def test_all_rooms_are_connected(seed):
    blocked = terrain.rooms(60, 7, seed)
    assert components(blocked) == 1
    assert not blocked[1:8, 1:8].any()


def test_rooms_have_more_doors_than_a_tree_needs():
    tree, more = terrain.rooms(60, 7, 1, extra_doors=0.0), terrain.rooms(60, 7, 1, extra_doors=1.0)
    assert np.count_nonzero(~tree) == 49 * 49 + 48  # 7 x 7 rooms of 7 x 7, and the doors of a spanning tree
    assert np.count_nonzero(~more) == 49 * 49 + 84  # a door in every wall


@pytest.mark.parametrize('corridor', [1, 3])
def test_a_maze_is_perfect(corridor):
    """Connected, and without a cycle: one wall less than squares is open."""
    size, n = 60, 59 // (corridor + 1)
    blocked = terrain.maze(size, corridor, 2)
    assert components(blocked) == 1
    assert np.count_nonzero(~blocked) == (n * corridor) ** 2 + (n * n - 1) * corridor


def test_caves_are_smoother_than_noise():
    noise, caves = terrain.random_obstacles(80, 0.4, 5), terrain.caves(80, 0.4, 5)
    assert components(caves) < components(noise) / 2


@pytest.mark.parametrize('name', MAPS)
def test_problems_are_solvable_without_cutting_corners_and_far_apart(name):
    blocked = MAPS[name](7)
    for start, goal in terrain.problems(blocked, 5, seed=1, apart=0.4):
        assert max(abs(start[0] - goal[0]), abs(start[1] - goal[1])) >= 24
        assert find_path(Grid(blocked), start, goal).cells[-1] == goal


def test_maps_and_problems_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r'fraction 1\.5'):
        terrain.random_obstacles(10, 1.5)
    with pytest.raises(ValueError, match='hold no square of 40'):
        terrain.maze(30, 40)
    with pytest.raises(ValueError, match='every cell'):
        terrain.problems(np.ones((5, 5), bool), 1)
    with pytest.raises(ValueError, match='apart'):
        terrain.problems(np.zeros((5, 5), bool), 1, apart=2.0)


def test_inflation_follows_nav2s_formula():
    blocked = np.zeros((30, 30), bool)
    blocked[4, 5] = True
    costs = terrain.inflated(blocked)
    for x, y in ((5, 5), (6, 5), (5, 15), (5, 16), (20, 20), (12, 12)):
        distance_m = 0.05 * math.hypot(x - 5, y - 4)
        value = int(252 * math.exp(-3.0 * distance_m)) if distance_m <= 0.55 + 1e-9 else 0
        assert costs[y, x] == round(16 * (50 + int(0.8 * value)) / 50) / 16
    assert np.isinf(costs[4, 5])
    assert (costs[~blocked] >= 1).all()


# ---------------------------------------------------------------------- what the peers are held to
def test_path_cost_knows_the_corner_rules():
    blocked = np.zeros((3, 3), bool)
    blocked[0, 1] = True
    costs = terrain.uniform(blocked)
    past_the_corner = [(0, 0), (1, 1), (2, 2)]
    assert path_cost(costs, past_the_corner, corner_cutting=True) == pytest.approx(2 * 2**0.5)
    assert path_cost(costs, past_the_corner, corner_cutting=False) == float('inf')
    assert path_cost(costs, [(0, 0), (0, 1), (1, 2)], corner_cutting=False) == pytest.approx(1 + 2**0.5)
    assert path_cost(costs, [(0, 0), (1, 0)], corner_cutting=True) == float('inf')
    assert path_cost(costs, [(0, 0), (2, 2)], corner_cutting=True) == float('inf')
    assert path_cost(costs, [], corner_cutting=True) == float('inf')


def test_path_cost_takes_the_mean_of_both_cells_of_each_step():
    costs = np.array([[1.0, 3.0, 1.0], [1.0, 1.0, 2.0]])
    assert path_cost(costs, [(0, 0), (1, 0), (2, 1)], corner_cutting=False) == pytest.approx(2 + 2.5 * 2**0.5)
    between_cells = np.array([(0, 0), (0.5, 0), (1, 0)], np.float32)
    assert path_cost(costs, between_cells, corner_cutting=False) == pytest.approx(0.5 * 1 + 0.5 * 2)


@pytest.mark.parametrize('costs', COSTS)
@pytest.mark.parametrize('peer', [*ALL_OURS, *LIBRARIES], ids=lambda peer: peer.name)
def test_a_peer_finds_the_cost_that_scipys_dijkstra_finds(peer, costs):
    if peer.missing():
        pytest.skip(peer.missing())
    blocked = terrain.random_obstacles(50, 0.2, 3)
    cost_of = COSTS[costs](blocked)
    weight = next((w for w in (1.5, 3.0) if peer.name.endswith(f'w = {w:g}')), 1.0)
    for corner_cutting in peer.corner_rules:
        query = peer.prepare(cost_of, corner_cutting)
        for start, goal in terrain.problems(blocked, 3, seed=2):
            least = true_distance(Terrain(cost_of, corner_cutting=corner_cutting), start, goal)
            plan = query(start, goal)()
            cost = path_cost(cost_of, getattr(plan, 'cells', plan), corner_cutting)
            if weight == 1 and (peer.minimises == 'costs' or (peer.minimises == 'length' and costs == 'uniform')):
                assert cost == pytest.approx(least)
            elif peer in ALL_OURS:
                assert least - 1e-9 <= cost <= weight * least + 1e-9
            else:
                assert least - 1e-9 <= cost < float('inf')


def test_no_player_plans_a_problem_twice():
    rows = list(runs(maps(0.04)[:1], 4, None, seed=0))
    keys = ('costs', 'corner_cutting', 'planner', 'start_x', 'start_y', 'goal_x', 'goal_y')
    assert len({tuple(row[key] for key in keys) for row in rows}) == len(rows)
    assert {row['costs'] for row in rows} == set(COSTS)


def test_a_cell_of_the_costmap_for_navfn_weighs_as_much_as_ours():
    costs = np.array([np.arange(16, 81) / 16.0])
    values = costmap_of(costs)[0].astype(int)
    assert values.max() <= 252
    assert abs((50 + np.floor(0.8 * values)) / 50 - costs[0]).max() <= 1 / 50
    assert costmap_of(np.array([[np.inf, 1.0]])).tolist() == [[254, 0]]


def test_a_peer_that_is_not_installed_is_named():
    peer = Peer('nobody', 'no-such-package', 'no_such_module', (True,), 'length', pyastar2d)
    assert 'nobody is skipped' in peer.missing()
    assert 'pip install no-such-package' in peer.missing()


# ---------------------------------------------------------------------- rows
def read(path):
    with path.open(newline='') as file:
        return list(csv.DictReader(file))


def append(path, **columns):
    file = RowFile(path)
    file.append([{'date': now(), **provenance(), **columns}])
    file.close()
    return file.path


def test_rows_are_appended_with_their_provenance(tmp_path):
    path = tmp_path / 'deep' / 'rows.csv'
    append(path, ms=1.5)
    append(path, ms=2.5)
    written = read(path)
    assert [row['ms'] for row in written] == ['1.5', '2.5']
    assert set(written[0]) >= PROVENANCE
    assert written[0]['numpy'] == np.__version__
    assert written[0]['cores'] == str(os.cpu_count())


def test_rows_with_other_columns_are_refused_and_the_file_stays_as_it_was(tmp_path):
    path = tmp_path / 'rows.csv'
    append(path, ms=1)
    with pytest.raises(SystemExit, match=r'has other columns \(ms, us\); move it away, or give another --out'):
        append(path, us=2)
    assert [row['ms'] for row in read(path)] == ['1']


def test_all_rows_of_a_run_have_the_same_columns(tmp_path):
    file = RowFile(tmp_path / 'rows.csv')
    with pytest.raises(SystemExit, match='columns'):
        file.append([{'us': 2}, {'us': 2, 'ms': 1}])
    file.close()


# ---------------------------------------------------------------------- experiments, as processes
EXPERIMENTS = {
    'peers': (['--scale', '0.04'], {'map', 'costs', 'corner_cutting', 'planner', 'ms', 'cost'}, 'geometric mean'),
    'ticks': (['--scale', '0.05'], {'algorithm', 'k', 'median_us', 'p99_us', 'max_us', 'restart_us'}, 'p99 / median'),
    'memory': (['--scale', '0.05'], {'algorithm', 'state_bytes_a_cell', 'resident_by_search'}, 'bytes a cell'),
    'moves': (['--moves', '300'], {'algorithm', 'world', 'k', 'moves', 'illegal_moves'}, ' 0 illegal'),
    'tuner': (
        ['--scale', '0.15', '--problems', '2', '--world', 'static'],
        {'kind', 'map', 'recommended', 'k', 'intervals', 'default_intervals', 'tick_p99_ms', 'outcome'},
        'beats the defaults',
    ),
    'oscillation': (['--runs', '1'], {'world', 'planner', 'paths', 'switches', 'unforced'}, 'tb_planner / A*'),
}


@pytest.mark.parametrize('name', EXPERIMENTS)
def test_an_experiment_prints_its_ratios_and_writes_its_rows(name, tmp_path):
    arguments, columns, ratio = EXPERIMENTS[name]
    out = tmp_path / 'rows.csv'
    command = [*COMMAND, name, '--quick', '--seed', '1', '--out', str(out), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert ratio in done.stdout
    written = read(out)
    assert f'{len(written)} rows in {out}' in done.stdout
    assert set(written[0]) >= PROVENANCE | columns | {'experiment', 'seed', 'quick'}
    assert all(row['experiment'] == name and row['seed'] == '1' for row in written)


def test_an_interrupted_experiment_keeps_its_rows_and_sums_them_up(tmp_path):
    out = tmp_path / 'rows.csv'
    process = subprocess.Popen(
        [*COMMAND, 'moves', '--out', str(out)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    deadline = time.monotonic() + 60
    while not (out.exists() and len(read(out)) > 2) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert 'interrupted' in printed
    assert 'illegal' in printed
    assert f'{len(read(out))} rows in' in printed
