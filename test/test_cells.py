"""Passes over the cells of a box, compiled and plain, against looking at every cell."""

import numpy as np
import pytest
from helpers.plain import load_plain
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tb_planner import Grid
from tb_planner.geometry import Box
from tb_planner.search import cells
from tb_planner.search.grid import GridChange

MODES = pytest.mark.parametrize('mode', [cells, load_plain('tb_planner.search.cells')], ids=['installed', 'plain'])
SHAPES = st.tuples(st.integers(1, 20), st.integers(1, 40))
TERRAIN = st.sampled_from([0, 0, 16, 16, 17, 80, 65535])


def boxes_in(shape):
    height, width = shape
    return st.builds(
        lambda x, y: Box(min(x), min(y), max(x), max(y)),
        st.tuples(st.integers(0, width), st.integers(0, width)),
        st.tuples(st.integers(0, height), st.integers(0, height)),
    )


def two_terrains(shape):
    terrain = npst.arrays(np.uint16, shape, elements=TERRAIN)
    return st.tuples(terrain, terrain, boxes_in(shape))


@MODES
@given(SHAPES.flatmap(two_terrains))
def test_differences_are_those_of_looking_at_every_cell(mode, drawn):
    old, new, box = drawn
    width = old.shape[1]
    increased, decreased, unblocked = [], [], []
    for y in range(box.y0, box.y1):
        for x in range(box.x0, box.x1):
            before, after = (int(cost[y, x]) or 10**6 for cost in (old, new))  # blocked is the highest
            if after > before:
                increased.append(y * width + x)
            if after < before:
                decreased.append(y * width + x)
                if before == 10**6:
                    unblocked.append(y * width + x)
    found = mode.differences(old, new, [box])
    assert [part.tolist() for part in found] == [increased, decreased, unblocked]
    assert {part.dtype for part in found} == {np.dtype(np.int32)}


def marked(marks, box, cells):
    """Whether the chunk of each cell of a box has this mark."""
    columns = np.arange(box.x0, box.x1) // 16 - box.x0 // 16
    return np.isin(marks, cells)[:, columns]


@MODES
@given(SHAPES.flatmap(lambda shape: st.tuples(npst.arrays(np.bool_, shape), boxes_in(shape))), st.data())
@pytest.mark.parametrize('neighbours', [4, 8])
@pytest.mark.parametrize('corner_cutting', [False, True])
def test_legal_moves_are_those_of_looking_at_every_step(mode, neighbours, corner_cutting, drawn, data):
    blocked, box = drawn
    free = np.pad(~blocked, 1).astype(np.uint8)
    steps = [(0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1)][:neighbours]  # bit by bit
    expected = np.zeros(blocked.shape, np.uint8)
    for y, x in np.argwhere(~blocked):
        for bit, (dx, dy) in enumerate(steps):
            beside = free[y + 1, x + 1 + dx] and free[y + 1 + dy, x + 1]
            if free[y + 1 + dy, x + 1 + dx] and (corner_cutting or beside or not (dx and dy)):
                expected[y, x] |= 1 << bit
    terrain = np.where(blocked, 0, 16).astype(np.uint16)
    moves = np.zeros(blocked.shape, np.uint8)
    mode.legal_moves(terrain, box, mode.all_opened(box), neighbours == 8, corner_cutting, moves)
    inside = np.zeros(blocked.shape, bool)
    inside[box.grown(1, Box(0, 0, *blocked.shape[::-1])).slices] = box.x1 > box.x0 and box.y1 > box.y0
    assert np.array_equal(moves, np.where(inside, expected, 0))
    marks = data.draw(npst.arrays(np.uint8, mode.chunks_of(box), elements=st.sampled_from([0, 1, 2])))
    moves[...] = 255
    mode.legal_moves(terrain, box, marks, neighbours == 8, corner_cutting, moves)
    around = np.zeros(np.add(blocked.shape, 2), bool)  # of cells that are marked as opened
    for y, x in np.argwhere(marked(marks, box, [2])):
        around[box.y0 + y : box.y0 + y + 3, box.x0 + x : box.x0 + x + 3] = True
    assert np.array_equal(moves, np.where(around[1:-1, 1:-1], expected, 255))


@MODES
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_terrain_is_the_higher_of_two_costs_and_a_blocked_cell_becomes_0(mode, seed, mostly_free):
    rng = np.random.default_rng(seed)
    box, far = Box(7, 3, 48, 29), 122
    shape = mode.chunks_of(box)
    occupancy = rng.integers(0, 256, (30, 50), np.uint8)
    squares = rng.integers(0, far + 1, (shape[0], shape[1] * 16), np.uint8)
    if mostly_free:
        occupancy[rng.random(occupancy.shape) < 0.98] = 0
        squares[rng.random(squares.shape) < 0.98] = far
    marks = rng.integers(0, 3, shape, np.uint8)
    by_occupancy, by_square = (rng.choice([15, 16, 40, 65535], 256).astype(np.uint16) for _ in range(2))
    near = squares[:, box.x0 % 16 :][:, : box.x1 - box.x0]
    higher = np.maximum(by_occupancy[occupancy[box.slices]], by_square[near]).astype(np.int64)
    found = mode.terrain_by_tables(occupancy, box, squares, far, by_occupancy, by_square, marks)
    where = marked(marks, box, [1, 2])
    assert np.array_equal(found[where], ((higher + 1) % 65536)[where])


@MODES
@given(SHAPES.flatmap(two_terrains))
def test_changes_of_a_box_are_taken_in_and_marked(mode, drawn):
    old, new, box = (drawn[0] % 7).astype(np.int8), (drawn[1] % 7).astype(np.int8), drawn[2]
    occupancy, changed = old.copy(), np.zeros(mode.chunks_of(Box(0, 0, *old.shape[::-1])), np.uint8)
    part = np.ascontiguousarray(new[box.slices])
    bounds = mode.take_in(part, (box.x0, box.y0), occupancy, box, changed)
    expected = old.copy()
    expected[box.slices] = part
    assert np.array_equal(occupancy, expected)
    rows, columns = np.nonzero(old != expected)
    around = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1) if len(rows) else None
    assert bounds == around
    chunks = np.zeros_like(changed)
    chunks[rows, columns // 16] = 1
    assert np.array_equal(changed, chunks)


@MODES
@given(SHAPES.flatmap(two_terrains), st.integers(0, 40))
def test_everything_within_reach_of_a_change_is_stale(mode, drawn, reach):
    old, new, box = drawn
    changed = np.zeros(mode.chunks_of(Box(0, 0, *old.shape[::-1])), np.uint8)
    rows, columns = np.nonzero(old != new)
    changed[rows, columns // 16] = 1
    stale = mode.within_reach(changed, box, reach)
    expected = np.zeros_like(stale)
    for y, c in np.argwhere(changed):
        beside = -(-reach // 16)
        for row in range(box.y0, box.y1):
            for chunk in range(stale.shape[1]):
                if abs(row - y) <= reach and abs(chunk + box.x0 // 16 - c) <= beside:
                    expected[row - box.y0, chunk] = 1
    assert np.array_equal(stale, expected)


def test_a_change_between_two_grids_that_cut_corners_unblocks_nothing():
    old, new = (Grid([[b, False]], corner_cutting=True) for b in (True, False))
    change = GridChange.between(old, new, [old.box])
    assert (change.increased.tolist(), change.decreased.tolist(), change.unblocked.tolist()) == ([], [0], [])


@MODES
@given(SHAPES.flatmap(two_terrains), st.booleans(), st.data())
def test_terrain_is_stored_where_it_is_marked_and_changes_are_reported(mode, drawn, counted, data):
    old, new, box = drawn
    marks = data.draw(npst.arrays(np.uint8, mode.chunks_of(box), elements=st.sampled_from([0, 1])))
    expected, part = old.copy(), new[box.slices]
    expected[box.slices] = np.where(marked(marks, box, [1]), part, old[box.slices])
    opened = (expected[box.slices] == 0) != (old[box.slices] == 0)
    stored, given_marks = old.copy(), marks.copy()
    counts = np.bincount(old.reshape(-1), minlength=2**16).astype(np.int32) if counted else np.zeros(0, np.int32)
    rise = int(expected.sum(dtype=np.int64)) - int(old.sum(dtype=np.int64)) if counted else 0
    found = mode.store(part, stored, box, marks, counts)
    assert found == (not np.array_equal(expected, old), bool(opened.any()), rise)
    assert np.array_equal(stored, expected)
    if counted:
        assert np.array_equal(counts, np.bincount(expected.reshape(-1), minlength=2**16))
    for c in range(marks.shape[1]):
        cells = slice(max((box.x0 // 16 + c) * 16 - box.x0, 0), (box.x0 // 16 + c + 1) * 16 - box.x0)
        assert np.array_equal(marks[:, c] == 2, opened[:, cells].any(1))
    assert np.array_equal(marks > 0, given_marks > 0)
