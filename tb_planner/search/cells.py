# cython: language_level=3, infer_types=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Passes over the cells of a box: what changes, terrain by tables, legal moves, and what differs between two grids.

A whole map of 4000 x 4000 cells goes through each of them once a second, so they leave out what is not marked: there is
a mark for every row and chunk of CHUNK cells along it, counted from the map's first column. The inner loops run along
rows, so that the compiler can take many cells at a time. One source, two modes, as in kernel.py. The work is done
without the GIL.
"""

import numpy as np
from numpy.typing import NDArray

try:
    import cython
except ImportError:
    from tb_planner.search.grid_math import no_cython as cython

COMPILED = cython.compiled
Marks = NDArray[np.uint8]
"""For each row of a box and each chunk of its cells: 0, STALE or OPENED."""

if not cython.compiled:  # cells.pxd has these for the compiler
    CHUNK, STALE, OPENED = 16, 1, 2


def chunks_of(box):
    """The shape of marks for a box: one for each row and chunk. Chunks begin at multiples of CHUNK in the map."""
    return box[3] - box[1], -(-box[2] // CHUNK) - box[0] // CHUNK if box[2] > box[0] else 0


def all_stale(box):
    """Marks by which nothing is left out."""
    return np.full(chunks_of(box), STALE, np.uint8)


def all_opened(box):
    """Marks by which no cell's moves are left out."""
    return np.full(chunks_of(box), OPENED, np.uint8)


def take_in(values, at, occupancy, box, changed):
    """Copies a box from values, whose first cell is at, into the occupancy of the whole map, both signed bytes, and
    marks the chunks that change: changed has a mark for each row and chunk of the map. Returns the box around the cells
    that change, as four numbers, or None."""
    bounds = np.zeros(4, np.int64)
    copy_changes(
        memoryview(values),
        at[0],
        at[1],
        memoryview(occupancy),
        box[0],
        box[1],
        box[2],
        box[3],
        memoryview(changed),
        memoryview(bounds),
    )
    return tuple(bounds.tolist()) if bounds[3] > 0 else None


def copy_changes(values, at_x, at_y, occupancy, x0, y0, x1, y1, changed, bounds):
    with cython.nogil:
        left, right, top, bottom = x1, 0, y1, 0
        for y in range(y0, y1):
            bits = 0
            for x in range(x0, x1):
                bits |= values[y - at_y, x - at_x] ^ occupancy[y, x]
            end = x0 if bits != 0 else x1
            while end < x1:
                begin, bits = end, 0
                end = min((begin // CHUNK + 1) * CHUNK, x1)
                if end - begin == CHUNK:
                    for x in range(CHUNK):
                        bits |= values[y - at_y, begin - at_x + x] ^ occupancy[y, begin + x]
                else:
                    for x in range(begin, end):
                        bits |= values[y - at_y, x - at_x] ^ occupancy[y, x]
                if bits == 0:
                    continue
                changed[y, begin // CHUNK] = 1
                for x in range(begin, end):
                    if values[y - at_y, x - at_x] != occupancy[y, x]:
                        occupancy[y, x] = values[y - at_y, x - at_x]
                        left, right = min(left, x), max(right, x + 1)
                top, bottom = min(top, y), y + 1
        bounds[0], bounds[1], bounds[2], bounds[3] = left, top, right, bottom


def within_reach(changed, box, reach):
    """Marks for a box: STALE where something has changed at most reach rows and about as many columns away."""
    stale = np.zeros(chunks_of(box), np.uint8)
    first = box[0] // CHUNK
    ages = np.full(stale.shape[1], reach + 1, np.uint16)
    spread(memoryview(changed), first, box[1], reach, -(-reach // CHUNK), memoryview(ages), memoryview(stale))
    return stale


def spread(changed, first, y0, reach, beside, ages, stale):
    """ages: for each chunk, how many rows ago something has changed there or beside it; up to reach + 1."""
    with cython.nogil:
        rows = changed.shape[0]
        end = y0 + stale.shape[0]
        for y in range(max(y0 - reach, 0), end):
            grow_older(changed, y, first, beside, reach, ages)
            if y >= y0:
                mark(ages, reach, stale, y - y0)
        for i in range(ages.shape[0]):
            ages[i] = reach + 1
        for y in range(min(end + reach, rows) - 1, y0 - 1, -1):
            grow_older(changed, y, first, beside, reach, ages)
            if y < end:
                mark(ages, reach, stale, y - y0)


def grow_older(changed, y, first, beside, reach, ages):
    for i in range(ages.shape[0]):
        ages[i] = ages[i] + 1 if ages[i] <= reach else ages[i]
    for c in range(max(first - beside, 0), min(first + ages.shape[0] + beside, changed.shape[1])):
        if changed[y, c]:
            for i in range(max(c - beside - first, 0), min(c + beside - first + 1, ages.shape[0])):
                ages[i] = 0


def mark(ages, reach, stale, y):
    for i in range(ages.shape[0]):
        stale[y, i] |= 1 if ages[i] <= reach else 0


def terrain_by_tables(occupancy, box, squares, far, by_occupancy, by_square, marks):
    """For each cell of a box the higher of two costs, by its occupancy and by a squared distance, plus 1; only where
    the marks are STALE.

    occupancy covers the whole map, as bytes, squares the chunks of the box; the tables have an entry for each byte.
    far: the square of cells without an obstacle within reach.
    """
    terrain = np.empty((box[3] - box[1], box[2] - box[0]), np.uint16)
    look_up(
        memoryview(occupancy),
        box[0],
        box[1],
        memoryview(squares),
        far,
        memoryview(by_occupancy),
        memoryview(by_square),
        memoryview(marks),
        memoryview(terrain),
    )
    return terrain


def look_up(occupancy, x0, y0, squares, far, by_occupancy, by_square, marks, terrain):
    with cython.nogil:
        first, x1 = x0 // CHUNK, x0 + terrain.shape[1]
        a, b = by_occupancy[0], by_square[far]
        free = ((a if a > b else b) + 1) & 0xFFFF
        for y in range(terrain.shape[0]):
            for c in range(marks.shape[1]):
                if marks[y, c] == 0:
                    continue
                begin, end, bits = max((first + c) * CHUNK, x0), min((first + c + 1) * CHUNK, x1), 1
                if end - begin == CHUNK:
                    bits = 0
                    for x in range(CHUNK):
                        bits |= occupancy[y0 + y, begin + x] | (squares[y, c * CHUNK + x] ^ far)
                if bits == 0:  # as most chunks are
                    for x in range(CHUNK):
                        terrain[y, begin - x0 + x] = free
                    continue
                for x in range(begin, end):
                    a = by_occupancy[occupancy[y0 + y, x]]
                    b = by_square[squares[y, x - first * CHUNK]]
                    terrain[y, x - x0] = ((a if a > b else b) + 1) & 0xFFFF


def legal_moves(terrain, box, marks, eight, corner_cutting, moves):
    """Sets the legal moves, one bit a direction, of the cells of a box whose mark is OPENED, and of those beside them.

    terrain and moves cover the whole grid; a cell is free where its terrain is not 0.
    """
    free, opened = np.zeros((3, box[2] - box[0] + 4), np.uint8), np.zeros(marks.shape[1], np.uint8)
    set_moves(
        memoryview(terrain),
        box[0],
        box[1],
        box[2],
        memoryview(marks),
        1 if eight else 0,
        1 if corner_cutting else 0,
        memoryview(free),
        memoryview(opened),
        memoryview(moves),
    )


def set_moves(terrain, x0, y0, x1, marks, eight, cutting, free, opened, moves):
    with cython.nogil:
        height, width, rows, chunks = terrain.shape[0], terrain.shape[1], marks.shape[0], marks.shape[1]
        first = x0 // CHUNK
        for y in range(max(y0 - 1, 0), min(y0 + rows + 1, height)):
            end = 0 if find_opened(marks, y - y0, opened) else chunks
            while end < chunks:
                begin = end
                while end < chunks and opened[end] != 0:
                    end += 1
                if end > begin:
                    left, right = max(x0, (first + begin) * CHUNK) - 1, min(x1, (first + end) * CHUNK) + 1
                    moves_along(terrain, y, max(left, 0), min(right, width), eight, cutting, free, moves)
                end += 1


def find_opened(marks, y, opened):
    """Notes which chunks are marked as OPENED in this row, or in the one above or below. Returns whether any is."""
    bits = 0
    for c in range(opened.shape[0]):
        opened[c] = 0
    for row in range(max(y - 1, 0), min(y + 2, marks.shape[0])):
        for c in range(opened.shape[0]):
            opened[c] |= marks[row, c] & OPENED
            bits |= opened[c]
    return bits


def moves_along(terrain, y, begin, end, eight, cutting, free, moves):
    """The bits of grid.py: north, east, south, west, and then from north-east on.

    free: room for three rows of the cells from begin to end, with one more on each side.
    """
    height, width = terrain.shape[0], terrain.shape[1]
    for row in range(3):
        free[row, 0] = free[row, end - begin + 1] = 0
        if 0 <= y - 1 + row < height:
            for x in range(max(begin - 1, 0), min(end + 1, width)):
                free[row, x - begin + 1] = 1 if terrain[y - 1 + row, x] != 0 else 0
        else:
            for x in range(end - begin + 2):
                free[row, x] = 0
    for x in range(end - begin):
        north, east, south, west = free[0, x + 1], free[1, x + 2], free[2, x + 1], free[1, x]
        straight = north | east << 1 | south << 2 | west << 3
        north_east = free[0, x + 2] & ((north & east) | cutting)
        south_east = free[2, x + 2] & ((south & east) | cutting)
        south_west = free[2, x] & ((south & west) | cutting)
        north_west = free[0, x] & ((north & west) | cutting)
        diagonal = north_east << 4 | south_east << 5 | south_west << 6 | north_west << 7
        moves[y, begin + x] = free[1, x + 1] * (straight | diagonal * eight)


def store(terrain, into, box, marks, cells_of_cost):
    """Writes terrain into a box of a grid, where it is STALE, and marks as OPENED where cells become blocked or free.
    Cells that are counted by cost move to their new costs.

    Returns whether a cell changes, whether one becomes blocked or free, and by how much the sum of all costs rises.
    """
    found = np.zeros(3, np.int64)
    replace(
        memoryview(np.ascontiguousarray(terrain)),
        memoryview(into),
        box[0],
        box[1],
        memoryview(marks),
        memoryview(cells_of_cost),
        memoryview(found),
    )
    changed, opened, rise = found.tolist()
    return changed != 0, opened != 0, rise


def replace(terrain, into, x0, y0, marks, cells_of_cost, found):
    with cython.nogil:
        counts = cells_of_cost.shape[0] > 0
        first, x1 = x0 // CHUNK, x0 + terrain.shape[1]
        any_change = any_opened = rise = 0
        for y in range(terrain.shape[0]):
            for c in range(marks.shape[1]):
                if marks[y, c] == 0:
                    continue
                begin, end, bits, opened = max((first + c) * CHUNK, x0), min((first + c + 1) * CHUNK, x1), 0, 0
                if end - begin == CHUNK:
                    for x in range(CHUNK):
                        bits |= terrain[y, begin - x0 + x] ^ into[y0 + y, begin + x]
                else:
                    for x in range(begin, end):
                        bits |= terrain[y, x - x0] ^ into[y0 + y, x]
                if bits == 0:
                    continue
                any_change = 1
                for x in range(begin, end):
                    before, after = into[y0 + y, x], terrain[y, x - x0]
                    opened |= (before == 0) ^ (after == 0)
                    if counts:  # of a cell that stays as it is, too: a branch here would take longer
                        cells_of_cost[before] -= 1
                        cells_of_cost[after] += 1
                        rise += after
                        rise -= before
                    into[y0 + y, x] = after
                if opened:
                    marks[y, c] = OPENED
                    any_opened = 1
        found[0], found[1], found[2] = any_change, any_opened, rise


def differences(old, new, boxes):
    """The states of boxes whose terrain differs, and how: (increased, decreased, unblocked), as in a GridChange.

    old and new cover the whole grid.
    """
    size = max(((box[2] - box[0]) * (box[3] - box[1]) for box in boxes), default=0)
    room = [np.empty(size + 1, np.int32) for _ in range(3)]  # a state is written before it is known which kind it is
    counts = np.zeros(3, np.int64)
    parts = [[], [], []]
    for box in boxes:
        compare(
            memoryview(old),
            memoryview(new),
            box[0],
            box[1],
            box[2],
            box[3],
            memoryview(room[0]),
            memoryview(room[1]),
            memoryview(room[2]),
            memoryview(counts),
        )
        for part, states, count in zip(parts, room, counts.tolist()):
            part.append(states[:count].copy())
    return tuple(np.concatenate(part) if part else np.empty(0, np.int32) for part in parts)


def compare(old, new, x0, y0, x1, y1, increased, decreased, unblocked, counts):
    with cython.nogil:
        width = old.shape[1]
        rises = falls = opens = 0
        for y in range(y0, y1):
            end = x0
            while end < x1:
                begin, end, bits = end, min(end + CHUNK, x1), 0
                if end - begin == CHUNK:
                    for x in range(CHUNK):
                        bits |= old[y, begin + x] ^ new[y, begin + x]
                else:
                    for x in range(begin, end):
                        bits |= old[y, x] ^ new[y, x]
                if bits == 0:
                    continue
                for x in range(begin, end):
                    before, after = (old[y, x] - 1) & 0xFFFF, (new[y, x] - 1) & 0xFFFF  # blocked is the highest
                    increased[rises] = decreased[falls] = unblocked[opens] = y * width + x
                    rises += after > before
                    falls += after < before
                    opens += (after < before) & (before == 0xFFFF)
        counts[0], counts[1], counts[2] = rises, falls, opens
