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
    found = mode.differences(old, new, box)
    assert [part.tolist() for part in found] == [increased, decreased, unblocked]
    assert {part.dtype for part in found} == {np.dtype(np.int32)}


@MODES
@given(SHAPES.flatmap(two_terrains))
def test_the_total_of_a_box_is_its_sum(mode, drawn):
    terrain, _, box = drawn
    assert mode.total(terrain, box) == int(terrain[box.slices].astype(np.int64).sum())
    part = terrain[box.slices]
    assert mode.total(part, Box(0, 0, *part.shape[::-1])) == int(part.astype(np.int64).sum())


def test_the_total_of_a_long_row_needs_more_than_32_bits():
    terrain = np.full((1, 200_000), 65535, np.uint16)
    assert cells.total(terrain, Box(0, 0, 200_000, 1)) == 200_000 * 65535


@MODES
@given(SHAPES.flatmap(lambda shape: npst.arrays(np.bool_, shape)), st.sampled_from([4, 8]), st.booleans())
def test_legal_moves_are_those_of_looking_at_every_step(mode, blocked, neighbours, corner_cutting):
    free = np.pad(~blocked, 1).astype(np.uint8)
    steps = [(0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1)][:neighbours]  # bit by bit
    expected = np.zeros(blocked.shape, np.uint8)
    for y, x in np.argwhere(~blocked):
        for bit, (dx, dy) in enumerate(steps):
            beside = free[y + 1, x + 1 + dx] and free[y + 1 + dy, x + 1]
            if free[y + 1 + dy, x + 1 + dx] and (corner_cutting or beside or not (dx and dy)):
                expected[y, x] |= 1 << bit
    assert np.array_equal(mode.legal_moves(free, neighbours == 8, corner_cutting), expected)


@MODES
def test_terrain_is_the_higher_of_two_costs_and_a_blocked_cell_becomes_0(mode):
    rng = np.random.default_rng(4)
    occupancy = rng.integers(0, 256, (30, 50), np.uint8)
    box = Box(7, 3, 48, 29)
    squares = rng.integers(0, 256, (26, 41), np.uint8)
    by_occupancy, by_square = (rng.choice([15, 16, 40, 65535], 256).astype(np.uint16) for _ in range(2))
    higher = np.maximum(by_occupancy[occupancy[box.slices]], by_square[squares]).astype(np.int64)
    expected = (higher + 1) % 65536
    assert np.array_equal(mode.terrain_by_tables(occupancy, box, squares, by_occupancy, by_square), expected)


def test_a_change_between_two_grids_that_cut_corners_unblocks_nothing():
    old, new = (Grid([[b, False]], corner_cutting=True) for b in (True, False))
    change = GridChange.between(old, new, [old.box])
    assert (change.increased.tolist(), change.decreased.tolist(), change.unblocked.tolist()) == ([], [0], [])


@MODES
@given(SHAPES.flatmap(two_terrains))
def test_terrain_is_stored_in_its_box_and_changes_are_reported(mode, drawn):
    old, new, box = drawn
    stored, part = old.copy(), new[box.slices]
    before, after = old[box.slices].tolist(), part.tolist()
    opens = any((b == 0) != (a == 0) for row in zip(before, after) for b, a in zip(*row))
    assert mode.store(part, stored, box) == (before != after, opens)
    expected = old.copy()
    expected[box.slices] = part
    assert np.array_equal(stored, expected)


@MODES
@given(SHAPES.flatmap(two_terrains))
def test_counts_by_cost_follow_what_a_box_becomes(mode, drawn):
    old, new, box = drawn
    counts = np.bincount(old.reshape(-1), minlength=2**16).astype(np.int32)
    mode.count(new[box.slices], old, box, counts)
    stored = old.copy()
    stored[box.slices] = new[box.slices]
    assert np.array_equal(counts, np.bincount(stored.reshape(-1), minlength=2**16))
