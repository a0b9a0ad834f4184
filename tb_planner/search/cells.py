# cython: language_level=3, infer_types=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Passes over the cells of a box: terrain by tables, legal moves, and what differs between two grids.

A whole map of 4000 x 4000 cells goes through each of them once a second. The inner loops run along rows, so that the
compiler can take many cells at a time. One source, two modes, as in kernel.py. The work is done without the GIL.
"""

import numpy as np

try:
    import cython
except ImportError:
    from tb_planner.search.grid_math import no_cython as cython

COMPILED = cython.compiled

if not cython.compiled:  # cells.pxd has these for the compiler
    CHUNK, PIECE = 16, 2**16


def terrain_by_tables(occupancy, box, squares, by_occupancy, by_square):
    """Of each cell of a box the higher of two costs, by its occupancy and by a squared distance, plus 1.

    occupancy covers the whole map, squares the box alone; both are bytes, and the tables have an entry for each byte.
    """
    terrain = np.empty(squares.shape, np.uint16)
    look_up(
        memoryview(occupancy),
        box[0],
        box[1],
        memoryview(squares),
        memoryview(by_occupancy),
        memoryview(by_square),
        memoryview(terrain),
    )
    return terrain


def look_up(occupancy, x0, y0, squares, by_occupancy, by_square, terrain):
    with cython.nogil:
        for y in range(terrain.shape[0]):
            for x in range(terrain.shape[1]):
                a = by_occupancy[occupancy[y0 + y, x0 + x]]
                b = by_square[squares[y, x]]
                terrain[y, x] = ((a if a > b else b) + 1) & 0xFFFF


def legal_moves(free, eight, corner_cutting):
    """The legal moves of cells, one bit a direction; free has one more cell on each side, 1 where free, else 0."""
    moves = np.empty((free.shape[0] - 2, free.shape[1] - 2), np.uint8)
    set_moves(memoryview(free), 1 if eight else 0, 1 if corner_cutting else 0, memoryview(moves))
    return moves


def set_moves(free, eight, cutting, moves):
    with cython.nogil:
        for y in range(moves.shape[0]):
            moves_of_row(free, y, eight, cutting, moves)


def moves_of_row(free, y, eight, cutting, moves):
    """The bits of grid.py: north, east, south, west, and then from north-east on."""
    for x in range(moves.shape[1]):
        north, east, south, west = free[y, x + 1], free[y + 1, x + 2], free[y + 2, x + 1], free[y + 1, x]
        straight = north | east << 1 | south << 2 | west << 3
        north_east = free[y, x + 2] & ((north & east) | cutting)
        south_east = free[y + 2, x + 2] & ((south & east) | cutting)
        south_west = free[y + 2, x] & ((south & west) | cutting)
        north_west = free[y, x] & ((north & west) | cutting)
        diagonal = north_east << 4 | south_east << 5 | south_west << 6 | north_west << 7
        moves[y, x] = free[y + 1, x + 1] * (straight | diagonal * eight)


def count(terrain, before, box, cells_of_cost):
    """Counts cells by cost: those of a box of a grid that terrain will change move to their new costs."""
    move_counts(
        memoryview(np.ascontiguousarray(terrain)), memoryview(before), box[0], box[1], memoryview(cells_of_cost)
    )


def move_counts(terrain, old, x0, y0, cells_of_cost):
    with cython.nogil:
        for y in range(terrain.shape[0]):
            for x in range(terrain.shape[1]):
                before, after = old[y0 + y, x0 + x], terrain[y, x]
                if before != after:
                    cells_of_cost[before] -= 1
                    cells_of_cost[after] += 1


def store(terrain, into, box):
    """Writes terrain into a box of a grid. Returns whether a cell changes, and whether one becomes blocked or free."""
    found = replace(memoryview(np.ascontiguousarray(terrain)), memoryview(into), box[0], box[1])
    return found != 0, found > 1


def replace(terrain, into, x0, y0):
    """0 if nothing changes, 1 if only costs do, 2 if cells become blocked or free."""
    with cython.nogil:
        any_change = any_opening = 0
        for y in range(terrain.shape[0]):
            for x in range(terrain.shape[1]):
                before, after = into[y0 + y, x0 + x], terrain[y, x]
                any_change |= before ^ after
                any_opening |= (before == 0) ^ (after == 0)
                into[y0 + y, x0 + x] = after
    return 2 if any_opening else 1 if any_change else 0


def total(terrain, box):
    """The sum of all costs in a box."""
    return add_up(memoryview(np.ascontiguousarray(terrain)), box[0], box[1], box[2], box[3])


def add_up(terrain, x0, y0, x1, y1):
    with cython.nogil:
        result = 0
        for y in range(y0, y1):
            end = x0
            while end < x1:
                begin, end, of_piece = end, min(end + PIECE, x1), 0
                for x in range(begin, end):
                    of_piece += terrain[y, x]
                result += of_piece
    return result


def differences(old, new, box):
    """The states of a box whose terrain differs, and how: (increased, decreased, unblocked), as in a GridChange.

    old and new cover the whole grid.
    """
    size = (box[2] - box[0]) * (box[3] - box[1])
    increased, decreased, unblocked = (np.empty(size, np.int32) for _ in range(3))
    counts = np.zeros(3, np.int64)
    compare(
        memoryview(old),
        memoryview(new),
        box[0],
        box[1],
        box[2],
        box[3],
        memoryview(increased),
        memoryview(decreased),
        memoryview(unblocked),
        memoryview(counts),
    )
    return tuple(part[:count].copy() for part, count in zip((increased, decreased, unblocked), counts.tolist()))


def compare(old, new, x0, y0, x1, y1, increased, decreased, unblocked, counts):
    with cython.nogil:
        width = old.shape[1]
        rises = falls = opens = 0
        for y in range(y0, y1):
            end = x0
            while end < x1:
                begin, end, bits = end, min(end + CHUNK, x1), 0
                for x in range(begin, end):
                    bits |= old[y, x] ^ new[y, x]
                if bits == 0:
                    continue
                for x in range(begin, end):
                    before, after = old[y, x], new[y, x]
                    if before == after:
                        continue
                    if after == 0 or (before != 0 and after > before):
                        increased[rises] = y * width + x
                        rises += 1
                    else:
                        decreased[falls] = y * width + x
                        falls += 1
                        if before == 0:
                            unblocked[opens] = y * width + x
                            opens += 1
        counts[0], counts[1], counts[2] = rises, falls, opens
