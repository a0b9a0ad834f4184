# cython: language_level=3, infer_types=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Squared distances to the nearest obstacle, exact up to a bound, in time proportional to the number of cells.

Distances are Euclidean, between cell centres, so their squares are whole numbers. The method is that of Meijster,
Roerdink and Hesselink, "A general algorithm for computing distance transforms in linear time" (2000): first the
distance within each column, then along each row the lower envelope of one parabola a column. Columns with no obstacle
within the bound have none, which makes sparse maps cheap.

One source, two modes, as in kernel.py. The work is done without the GIL.
"""

import numpy as np

try:
    import cython
except ImportError:
    from tb_planner.search.grid_math import no_cython as cython

COMPILED = cython.compiled
MAX_BOUND = 46339
"""The largest bound: its square fits the result's 32 bits."""
SMALL_BOUND = 11
"""Up to this bound all offsets are tried; the sum of two squares fits a byte."""

if not cython.compiled:  # distance.pxd has these for the compiler
    COLUMN, HEIGHT, BEGIN = 0, 1, 2  # of a piece of the envelope
    CHUNK = 16


def squared_distances(obstacles, bound):
    """[y, x]: the square of the distance to the nearest True cell of a bool array, at most bound**2 + 1."""
    if obstacles.ndim != 2 or obstacles.dtype not in (np.bool_, np.uint8):
        raise ValueError(f'obstacles have {obstacles.ndim} dimensions and dtype {obstacles.dtype}; pass 2 and bool')
    if not 0 <= bound <= MAX_BOUND:
        raise ValueError(f'bound is {bound}; it must be between 0 and {MAX_BOUND}')
    if bound <= SMALL_BOUND:
        height, width = obstacles.shape
        marks = np.ones((height, -(-width // CHUNK)), np.uint8)
        bytes_ = np.ascontiguousarray(obstacles).view(np.int8)
        return short_squares(bytes_, 1, (0, 0, width, height), bound, marks)[:, :width].astype(np.int32)
    squares = np.empty(obstacles.shape, np.int32)
    if obstacles.size > 0:
        envelope = np.empty((obstacles.shape[1], 3), np.int32)
        source = np.ascontiguousarray(obstacles).view(np.uint8)
        transform(memoryview(source), bound, memoryview(squares), memoryview(envelope))
    return squares


def short_squares(occupancy, threshold, box, bound, marks):
    """Squared distances of the cells of a box as bytes, for bounds up to SMALL_BOUND; only where marks are not 0.

    occupancy: signed bytes; cells of at least the threshold are obstacles, also those outside the box. There is a mark
    for each row of the box and chunk of CHUNK cells, counted from the map's first column, and the result begins with
    the first of these chunks.
    """
    rows, width = marks.shape[0], (marks.shape[1] + 2) * CHUNK
    squares = np.empty((rows, marks.shape[1] * CHUNK), np.uint8)
    if squares.size > 0:
        distances, row = np.empty((rows, width), np.uint8), np.empty(width, np.uint8)
        short_transform(
            memoryview(occupancy),
            threshold,
            box[0] // CHUNK * CHUNK - CHUNK,
            box[1],
            bound,
            memoryview(marks),
            memoryview(distances),
            memoryview(row),
            memoryview(squares),
        )
    return squares


def short_transform(occupancy, threshold, x0, y0, bound, marks, distances, row, squares):
    """First distances within columns, then along rows the least of all offsets: bytes, many at a time.

    distances: one chunk wider than squares on both sides; it begins in column x0 of the map, which may be outside.
    """
    with cython.nogil:
        short_columns(occupancy, threshold, x0, y0, bound + 1, distances, row)
        for y in range(marks.shape[0]):
            end = 0
            while end < marks.shape[1]:
                begin = end
                while end < marks.shape[1] and marks[y, end] != 0 and is_near(distances, y, end, bound):
                    end += 1
                if end > begin:
                    along_short_row(distances, y, begin * CHUNK, end * CHUNK, bound, row, squares)
                else:
                    for x in range(CHUNK):
                        squares[y, end * CHUNK + x] = bound * bound + 1
                    end += 1


def short_columns(occupancy, threshold, x0, y0, far, distances, row):
    """The distance to the nearest obstacle above or below, at most `far`, which is also the bound plus 1."""
    height, width, rows = occupancy.shape[0], occupancy.shape[1], distances.shape[0]
    begin, end = max(-x0, 0), min(distances.shape[1], width - x0)
    for x in range(row.shape[0]):
        row[x] = far
    for y in range(max(y0 - far + 1, 0), y0 + rows):
        next_row(occupancy, threshold, x0, y, begin, end, far, row)
        if y >= y0:
            for x in range(row.shape[0]):
                distances[y - y0, x] = row[x]
    for x in range(row.shape[0]):
        row[x] = far
    for y in range(min(y0 + rows + far - 1, height) - 1, y0 - 1, -1):
        next_row(occupancy, threshold, x0, y, begin, end, far, row)
        if y < y0 + rows:
            for x in range(row.shape[0]):
                distances[y - y0, x] = row[x] if row[x] < distances[y - y0, x] else distances[y - y0, x]


def next_row(occupancy, threshold, x0, y, begin, end, far, row):
    """Makes the distances of row y from those of the row before it, which is above or below."""
    for x in range(begin, end):
        nearer = row[x] + 1
        nearer = nearer if nearer < far else far
        row[x] = 0 if occupancy[y, x0 + x] >= threshold else nearer


def is_near(distances, y, chunk, bound):
    """Whether there are obstacles so near that they can matter to this chunk of squares."""
    least = bound + 1
    for x in range(3 * CHUNK):
        least = least if least < distances[y, chunk * CHUNK + x] else distances[y, chunk * CHUNK + x]
    return least <= bound


def along_short_row(distances, y, begin, end, bound, row, squares):
    """The squares of a part of a row. row: room for the squared distances within columns."""
    most = bound * bound + 1
    for x in range(begin, end + 2 * CHUNK):
        square = distances[y, x] * distances[y, x]
        row[x] = square if square < most else most
    for x in range(begin, end):
        squares[y, x] = row[CHUNK + x]
    for offset in range(1, bound + 1):
        rise = offset * offset
        for x in range(begin, end):
            left, right = row[CHUNK + x - offset], row[CHUNK + x + offset]
            nearer = (left if left < right else right) + rise
            squares[y, x] = squares[y, x] if squares[y, x] < nearer else nearer


def transform(obstacles, bound, squares, envelope):
    with cython.nogil:
        within_columns(obstacles, bound + 1, squares)
        for y in range(squares.shape[0]):
            along_row(squares, y, bound, envelope)


def within_columns(obstacles, far, distances):
    """The distance to the nearest obstacle above or below, at most `far`."""
    rows, width = obstacles.shape[0], obstacles.shape[1]
    for x in range(width):
        distances[0, x] = 0 if obstacles[0, x] else far
    for y in range(1, rows):
        for x in range(width):
            above = distances[y - 1, x] + 1
            above = above if above < far else far
            distances[y, x] = 0 if obstacles[y, x] else above
    for y in range(rows - 2, -1, -1):
        for x in range(width):
            below = distances[y + 1, x] + 1
            distances[y, x] = distances[y, x] if distances[y, x] < below else below


def along_row(squares, y, bound, envelope):
    """Turns distances within columns into squared distances in the plane, in place.

    Piece i of the lower envelope holds its parabola's column, its height there, and where the piece begins.
    """
    width = squares.shape[1]
    pieces = 0
    for x in range(width):
        distance = squares[y, x]
        if distance <= bound:
            pieces = add_parabola(x, distance * distance, width, pieces, envelope)
    most = bound * bound + 1
    end = width
    for i in range(pieces - 1, -1, -1):
        for x in range(envelope[i, BEGIN], end):
            squares[y, x] = min(parabola(x, envelope[i, COLUMN], envelope[i, HEIGHT]), most)
        end = envelope[i, BEGIN]
    for x in range(end):
        squares[y, x] = most


def parabola(x, column, height):
    return (x - column) * (x - column) + height


def add_parabola(x, square, width, pieces, envelope):
    """Takes in the parabola of column x, right of all others so far; the number of pieces after that."""
    while pieces > 0:
        last = pieces - 1
        begin = envelope[last, BEGIN]
        if parabola(begin, envelope[last, COLUMN], envelope[last, HEIGHT]) < parabola(begin, x, square):
            break
        pieces = last
    begin = 0
    if pieces > 0:
        column = envelope[last, COLUMN]
        begin = (x * x - column * column + square - envelope[last, HEIGHT]) // (2 * (x - column)) + 1
    if begin < width:
        envelope[pieces, COLUMN], envelope[pieces, HEIGHT], envelope[pieces, BEGIN] = x, square, begin
        pieces += 1
    return pieces
