"""Squared distances, compiled and plain, against SciPy and against looking at every obstacle."""

import sys
import threading

import numpy as np
import pytest
from helpers.plain import load_plain
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy.ndimage import distance_transform_edt

from tb_planner.search import distance

MODES = pytest.mark.parametrize(
    'mode', [distance, load_plain('tb_planner.search.distance')], ids=['installed', 'plain']
)


def one_by_one(obstacles, bound):
    """Every obstacle is looked at from every cell."""
    y, x = np.indices(obstacles.shape)
    nearest = np.full(obstacles.shape, bound**2 + 1)
    for oy, ox in np.argwhere(obstacles):
        nearest = np.minimum(nearest, (x - ox) ** 2 + (y - oy) ** 2)
    return nearest


def by_scipy(obstacles, bound):
    if not obstacles.any():
        return np.full(obstacles.shape, bound**2 + 1)
    return np.minimum(np.rint(distance_transform_edt(~obstacles) ** 2).astype(np.int64), bound**2 + 1)


def obstacle_maps():
    shapes = st.tuples(st.integers(1, 24), st.integers(1, 24))
    density = st.sampled_from([(True, False), (True, *[False] * 20), (True, *[False] * 200), (True, True, True, False)])
    return st.tuples(shapes, density).flatmap(
        lambda drawn: npst.arrays(np.bool_, drawn[0], elements=st.sampled_from(drawn[1]))
    )


@MODES
@given(obstacle_maps(), st.sampled_from([0, 1, 2, 3, 5, 10, 11, 12, 40]))
@example(np.array([[True] + [False] * 60]), 50)
@example(np.eye(40, dtype=bool), 7)
def test_squares_are_those_of_the_nearest_obstacle_up_to_the_bound(mode, obstacles, bound):
    squares = mode.squared_distances(obstacles, bound)
    assert squares.dtype == np.int32
    assert np.array_equal(squares, one_by_one(obstacles, bound))


@MODES
def test_a_far_obstacle_is_nearer_than_a_near_column_with_its_obstacle_at_the_bound(mode):
    """Parabolas that come below one another left of their own columns."""
    obstacles = np.zeros((60, 60), bool)
    obstacles[59, :30], obstacles[0, 31], obstacles[10, 59] = True, True, True
    for bound in (58, 59, 60, 100):
        assert np.array_equal(mode.squared_distances(obstacles, bound), one_by_one(obstacles, bound))


@pytest.mark.parametrize('density', [0.0, 0.0001, 0.01, 0.3, 0.99, 1.0])
@pytest.mark.parametrize('bound', [1, 11, 70, 1024])
def test_squares_are_scipys_on_larger_maps(density, bound):
    rng = np.random.default_rng(7)
    for shape in ((276, 276), (31, 300), (300, 31)):
        obstacles = rng.random(shape) < density
        assert np.array_equal(distance.squared_distances(obstacles, bound), by_scipy(obstacles, bound))


@MODES
def test_the_largest_bound_reaches_along_a_row_longer_than_it(mode):
    obstacles = np.zeros((1, 100_000), bool)
    obstacles[0, [0, 99_999]] = True
    x = np.arange(100_000)
    expected = np.minimum(np.minimum(x, x[::-1]) ** 2, distance.MAX_BOUND**2 + 1)
    assert np.array_equal(mode.squared_distances(obstacles, distance.MAX_BOUND)[0], expected)
    assert np.array_equal(mode.squared_distances(obstacles.T, distance.MAX_BOUND)[:, 0], expected)


@MODES
def test_bytes_views_and_read_only_arrays_are_accepted(mode):
    obstacles = np.random.default_rng(3).random((20, 30)) < 0.05
    obstacles.flags.writeable = False
    expected = one_by_one(obstacles[::2, 3:9], 5)
    assert np.array_equal(mode.squared_distances(obstacles[::2, 3:9], 5), expected)
    assert np.array_equal(mode.squared_distances(obstacles[::2, 3:9].astype(np.uint8), 5), expected)
    assert mode.squared_distances(np.zeros((0, 5), bool), 5).shape == (0, 5)


@MODES
def test_what_does_not_fit_is_refused(mode):
    with pytest.raises(ValueError, match='bound is -1; it must be between 0 and 46339'):
        mode.squared_distances(np.zeros((2, 2), bool), -1)
    with pytest.raises(ValueError, match='bound is 46340; it must be between 0 and 46339'):
        mode.squared_distances(np.zeros((2, 2), bool), 46340)
    with pytest.raises(ValueError, match='1 dimensions and dtype bool'):
        mode.squared_distances(np.zeros(2, bool), 3)
    with pytest.raises(ValueError, match='2 dimensions and dtype float64'):
        mode.squared_distances(np.zeros((2, 2)), 3)


@pytest.fixture
def threads_that_yield_only_by_themselves():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(600)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures('threads_that_yield_only_by_themselves')
def test_other_threads_run_meanwhile():
    if not distance.COMPILED:
        pytest.skip('tb_planner.search.distance is not compiled here: plain Python keeps the GIL')
    obstacles = np.random.default_rng(3).random((1000, 1000)) < 0.3
    has_run = []
    gate = threading.Lock()
    gate.acquire()
    other = threading.Thread(target=lambda: gate.acquire() and has_run.append(True))
    other.start()
    assert not has_run
    gate.release()
    calls = 0
    while not has_run and calls < 100:
        distance.squared_distances(obstacles, 40)
        calls += 1
    assert has_run
    other.join(10)
