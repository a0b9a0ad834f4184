"""Line of sight, compiled and plain, against fractions: every cell of the grid is cut with the whole line."""

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.plain import load_plain
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tb_planner.search import sight

MODES = pytest.mark.parametrize('mode', [sight, load_plain('tb_planner.search.sight')], ids=['installed', 'plain'])
COSTS = (0, 16, 17, 200, 65535)


def touched_between(start, end, cell):
    """Whether the line between the two points, without these, meets the cell's closed square."""
    enter, leave = Fraction(0), Fraction(1)
    for a, b, low in zip(start, end, cell):
        a, b = Fraction(a), Fraction(b)
        if a == b:
            if not low <= a <= low + 1:
                return False
        else:
            crossings = sorted([(low - a) / (b - a), (low + 1 - a) / (b - a)])
            enter, leave = max(enter, crossings[0]), min(leave, crossings[1])
    return start != end and enter <= leave and leave > 0 and enter < 1


def cells_of_line(start, end, width, height):
    """The cells that have to be clear, including those around the grid."""
    around = {(x, y) for x in range(-1, width + 1) for y in range(-1, height + 1)}
    touched = {cell for cell in around if touched_between(start, end, cell)}
    return touched | {tuple(map(math.floor, start)), tuple(map(math.floor, end))}


def expected(terrain, start, end, max_cost=65535):
    height, width = terrain.shape
    return all(
        0 <= x < width and 0 <= y < height and 0 < terrain[y, x] <= max_cost
        for x, y in cells_of_line(start, end, width, height)
    )


def free(*rows):
    """A terrain of cost 1, blocked at every #."""
    return np.array([[0 if sign == '#' else 16 for sign in row] for row in rows], np.uint16)


def coordinates(side):
    """Coordinates on grid lines, at centres and between, in and around the grid, with all digits that count."""
    fine = st.integers(-4096, (side * 16384) + 4096).map(lambda n: n / 16384)
    coarse = st.integers(-1, (side + 1) * 2).map(lambda n: n / 2)
    lines = st.integers(0, side - 1).map(float)
    return st.one_of(lines, coarse, fine)


@st.composite
def lines(draw):
    shape = draw(st.tuples(st.integers(1, 9), st.integers(1, 9)))
    costs = draw(st.sampled_from([(16,), (0, 16, 16, 16), (0, *[16] * 12), COSTS]))
    terrain = draw(npst.arrays(np.uint16, shape, elements=st.sampled_from(costs)))
    points = st.tuples(coordinates(shape[1]), coordinates(shape[0]))
    return terrain, draw(points), draw(points), draw(st.sampled_from([0, 15, 16, 17, 200, 65534, 65535]))


@MODES
@given(lines())
@example((free('..', '..'), (0.5, 0.5), (1.5, 1.5), 16))
@example((free('.#', '..'), (0.5, 0.5), (1.5, 1.5), 16))
@example((free('..', '#.'), (0.5, 0.5), (1.5, 1.5), 16))
@example((free('.#', '..'), (1.0, 0.5), (0.5, 1.5), 16))
@example((free('..#', '...'), (0.5, 1.0), (2.0, 1.0), 16))
@example((free('.#..'), (2.0, 0.25), (0.5, 0.75), 16))
@example((free('.#', '..'), (1.0, 1.0), (0.25, 0.5), 16))
@example((free('....', '....'), (0.0, 0.0), (4.0, 2.0), 16))
@example((free('....', '....'), (0.0, 0.0), (3.0, 1.0), 16))
def test_a_line_is_clear_if_all_cells_it_touches_are(mode, line):
    terrain, start, end, max_cost = line
    seen = mode.clear(terrain, *start, *end, max_cost)
    assert seen == expected(terrain, start, end, max_cost)
    assert seen == mode.clear(terrain, *end, *start, max_cost)


@MODES
@given(lines())
def test_without_a_limit_only_blocked_cells_hide_the_end(mode, line):
    terrain, start, end, _ = line
    assert mode.clear(terrain, *start, *end) == expected(terrain, start, end)


@MODES
def test_through_a_corner_both_side_cells_must_be_free(mode):
    assert mode.clear(free('..', '..'), 0.5, 0.5, 1.5, 1.5)
    assert not mode.clear(free('.#', '..'), 0.5, 0.5, 1.5, 1.5)
    assert not mode.clear(free('..', '#.'), 0.5, 0.5, 1.5, 1.5)


@MODES
def test_nothing_passes_along_the_edge_of_an_obstacle_but_a_point_on_it_may_be_left(mode):
    beside_obstacle = free('#..', '#..', '#..')
    assert not mode.clear(beside_obstacle, 1.0, 0.5, 1.0, 2.5)
    assert mode.clear(beside_obstacle, 1.0, 0.5, 2.5, 2.5)
    assert mode.clear(beside_obstacle, 1.0, 0.5, 1.0, 0.5)


@MODES
def test_a_point_on_a_line_lies_in_the_cell_above_it(mode):
    assert not mode.clear(free('..#', '...'), 1.5, 0.5, 2.0, 0.5)
    assert mode.clear(free('#..', '...'), 1.5, 0.5, 1.0, 0.5)


@MODES
@pytest.mark.parametrize(
    'point', [(-0.0001, 1), (3, 1), (1, -0.0001), (1, 2), (math.nan, 1), (1, math.nan), (math.inf, 1), (1, -1e300)]
)
def test_outside_the_grid_nothing_is_clear(mode, point):
    terrain = free('...', '...')
    assert not mode.clear(terrain, *point, 1.5, 1.5)
    assert not mode.clear(terrain, 1.5, 1.5, *point)
    assert not mode.clear(terrain, *point, *point)


@MODES
@given(st.data())
def test_further_digits_are_cut_off(mode, data):
    terrain = data.draw(npst.arrays(np.uint16, (6, 6), elements=st.sampled_from([0, 16, 16, 16])))
    line = [data.draw(st.floats(0, 6, exclude_max=True, allow_subnormal=False)) for _ in range(4)]
    x0, y0, x1, y1 = (math.floor(value * 16384) / 16384 for value in line)
    assert mode.clear(terrain, *line) == expected(terrain, (x0, y0), (x1, y1))


@MODES
@pytest.mark.parametrize('shape', [(1, 2**20), (2**20, 1), (46, 46_000), (1024, 1024)])
def test_lines_across_large_grids_are_exact(mode, shape):
    height, width = shape
    terrain = np.broadcast_to(np.uint16(16), shape).copy()
    corners = [(0.0, 0.0), (width - 1 / 16384, height - 1 / 16384)]
    assert mode.clear(terrain, *corners[0], *corners[1])
    # the line's own column at half its height, in fractions: one obstacle there and it is no longer clear
    middle = height // 2 + Fraction(1, 2)
    x = math.floor(middle * Fraction(corners[1][0]) / Fraction(corners[1][1]))
    terrain[height // 2, x] = 0
    assert not mode.clear(terrain, *corners[0], *corners[1])
    terrain[height // 2, x] = 16
    if height > 1 and 0 < x < width - 1:
        apart = math.ceil(width / height) + 1
        terrain[height // 2, [max(x - apart, 0), min(x + apart, width - 1)]] = 0
        assert mode.clear(terrain, *corners[0], *corners[1])


@MODES
@given(st.data())
def test_farthest_clear_is_the_last_point_in_sight_by_its_own_limit(mode, data):
    terrain, start, _, _ = data.draw(lines())
    height, width = terrain.shape
    n = data.draw(st.integers(0, 6))
    points = [data.draw(st.tuples(coordinates(width), coordinates(height))) for _ in range(n)]
    max_cost = [data.draw(st.sampled_from([0, 16, 17, 65535])) for _ in range(n)]
    seen = [i for i in range(n) if expected(terrain, start, points[i], max_cost[i])]
    found = mode.farthest_clear(
        terrain, *start, np.array(points, np.float64).reshape(n, 2), np.array(max_cost, np.int32)
    )
    assert found == max(seen, default=-1)


@MODES
def test_lists_that_do_not_fit_each_other_are_refused(mode):
    terrain = free('..')
    with pytest.raises(ValueError, match='2 values of max_cost for 3 points'):
        mode.farthest_clear(terrain, 0.5, 0.5, np.zeros((3, 2)), np.zeros(2, np.int32))
    with pytest.raises(ValueError, match='points have 3 coordinates; they must have 2'):
        mode.farthest_clear(terrain, 0.5, 0.5, np.zeros((2, 3)), np.zeros(2, np.int32))


def test_read_only_arrays_will_do():
    arrays = [free('...'), np.array([[1.5, 0.5], [2.5, 0.5]]), np.array([16, 16], np.int32)]
    for array in arrays:
        array.flags.writeable = False
    assert sight.clear(arrays[0], 0.5, 0.5, 2.5, 0.5)
    assert sight.farthest_clear(arrays[0], 0.5, 0.5, *arrays[1:]) == 1


def test_terrain_of_another_type_or_layout_is_refused_where_sight_is_compiled():
    if not sight.COMPILED:
        pytest.skip('tb_planner.search.sight is not compiled here: Python takes any array')
    for terrain in (np.ones((3, 3)), np.ones((3, 3), np.uint16)[:, ::2], np.ones(3, np.uint16)):
        with pytest.raises(ValueError):
            sight.clear(terrain, 0.5, 0.5, 1.5, 1.5)
