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


def squared_distances(obstacles, bound):
    """By cell of a bool array [y, x]: the square of the distance to the nearest True one, at most bound**2 + 1."""
    if obstacles.ndim != 2 or obstacles.dtype not in (np.bool_, np.uint8):
        raise ValueError(f'obstacles have {obstacles.ndim} dimensions and dtype {obstacles.dtype}; pass 2 and bool')
    if not 0 <= bound <= MAX_BOUND:
        raise ValueError(f'bound is {bound}; it must be between 0 and {MAX_BOUND}')
    if bound <= SMALL_BOUND:
        return short_squares(obstacles, bound).astype(np.int32)
    squares = np.empty(obstacles.shape, np.int32)
    if obstacles.size > 0:
        envelope = np.empty((obstacles.shape[1], 3), np.int32)
        source = np.ascontiguousarray(obstacles).view(np.uint8)
        transform(memoryview(source), bound, memoryview(squares), memoryview(envelope))
    return squares


def short_squares(obstacles, bound):
    """squared_distances() as bytes, for bounds up to SMALL_BOUND."""
    squares = np.empty(obstacles.shape, np.uint8)
    if obstacles.size > 0:
        source = np.ascontiguousarray(obstacles).view(np.uint8)
        row = np.empty(obstacles.shape[1] + 2 * bound, np.uint8)
        short_transform(memoryview(source), bound, memoryview(squares), memoryview(row))
    return squares


def short_transform(obstacles, bound, squares, row):
    """First distances within columns, then along each row the least of all offsets: bytes, many at a time."""
    with cython.nogil:
        within_columns(obstacles, bound + 1, squares)
        for y in range(squares.shape[0]):
            along_short_row(squares, y, bound, row)


def along_short_row(squares, y, bound, row):
    """row: the row's squared distances within columns, with `bound` distant cells on each side."""
    width = squares.shape[1]
    most = bound * bound + 1
    for x in range(bound):
        row[x] = row[bound + width + x] = most
    for x in range(width):
        square = squares[y, x] * squares[y, x]
        square = square if square < most else most
        row[bound + x] = square
        squares[y, x] = square
    for offset in range(1, bound + 1):
        rise = offset * offset
        for x in range(width):
            left, right = row[bound + x - offset], row[bound + x + offset]
            nearer = (left if left < right else right) + rise
            squares[y, x] = squares[y, x] if squares[y, x] < nearer else nearer


def transform(obstacles, bound, squares, envelope):
    with cython.nogil:
        within_columns(obstacles, bound + 1, squares)
        for y in range(squares.shape[0]):
            along_row(squares, y, bound, envelope)


def within_columns(obstacles, far, distances):
    """The distance to the nearest obstacle above or below, at most `far`: bytes or 32 bits."""
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
    """From distances within columns to squared distances in the plane, in place.

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
