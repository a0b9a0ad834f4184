"""The arithmetic of grids that every compiled module shares: step costs, octile distance, directions, bits.

Compiled modules take constants and small functions from grid_math.pxd, where they are inlined; as plain Python they
import them from here. The functions that make arrays are Python in both modes.

Costs are integers: a straight step is 985 and a diagonal one 1393. 1393/985 is sqrt(2) to 4e-7, and paths of equal
cost have equal sums. Directions are N, E, S, W, NE, SE, SW, NW, from 0 to 7; bit d of a cell's moves is set if the
step in direction d is legal.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

STRAIGHT, DIAGONAL = 985, 1393
FAR = 1 << 62  # infinity: an f or a cost that nothing has
MAX_G = 2**43 - 1  # the largest cost that a state's word has room for
ROOT = 8  # the "direction" of a tree's root
NONE = -1  # no state, no place
MAX_TRAIL = 4096  # moves that a run() makes at most
MOVED, WAITED, AT_GOAL, NO_PATH = 0, 1, 2, 3  # what run() returns: the values of planner.Status

DX, DY = (0, 1, 0, -1, 1, 1, -1, -1), (-1, 0, 1, 0, -1, 1, 1, -1)  # of a step, by direction

no_cython = SimpleNamespace(compiled=False, nogil=nullcontext())
"""Replaces the module cython where modules run as plain Python and Cython is not installed."""


def lowest(bits: int) -> int:
    """The index of the lowest bit set."""
    return (bits & -bits).bit_length() - 1


def array(view: memoryview) -> memoryview:
    """The array itself: compiled it is a pointer to its first item, which no store makes the compiler read again."""
    return view


def prefetch(where: object) -> None:
    """Does nothing: Python has no cache lines."""


def bit(i: int) -> int:
    """A 64-bit word in which only the bit i modulo 64 is set."""
    return 1 << (i & 63)


def octile(straight: int, diagonal: int, dx: int, dy: int) -> int:
    """The cost of a shortest path on an empty grid; with moves in 4 directions diagonal is twice straight."""
    dx, dy = abs(dx), abs(dy)
    return straight * abs(dx - dy) + diagonal * min(dx, dy)


def zeros(n: int, dtype: DTypeLike) -> memoryview:
    """A memoryview of zeros: C values when compiled, range-checked ints when not. Memory is taken only on access."""
    return _view(np.zeros(n, dtype))


def offsets(width: int) -> memoryview:
    """What a step adds to a state, by direction. The root's direction adds nothing."""
    return _view(np.array([-width, 1, width, -1, 1 - width, 1 + width, width - 1, -width - 1, 0], np.int32))


def reciprocal(width: int, states: int) -> tuple[int, int]:
    """(factor, shift) for which (s * factor) >> shift is s // width, for each of these states.

    factor is 2**shift / width and at most 1 more. So s * factor / 2**shift exceeds s / width by less than 1 / width, as
    s * width is below 2**shift, and no whole number lies between. With up to 2**31 states it all fits into 64 bits.
    """
    shift = (states * width).bit_length()
    return (1 << shift) // width + 1, shift


def step_lengths(neighbours: int, weighted: bool) -> tuple[int, int]:
    """The costs of a straight and a diagonal step through cells of cost 1, for the octile distance.

    Terrain is counted in sixteenths at both ends of a step: with costs a step is 32 times as long.
    """
    scale = 32 if weighted else 1
    return STRAIGHT * scale, (DIAGONAL if neighbours == 8 else 2 * STRAIGHT) * scale


def successor_table(neighbours: int, weighted: bool) -> memoryview:
    """The moves that can lead to something new, by 256 * direction from the parent + legal moves.

    The parent has been expanded: what it reaches in one step at no greater cost than through s needs no second look.
    That is the step back and the steps next to it, whatever cells cost. Where all cost the same, it is also each side
    after a straight step whose diagonal back is legal (else the parent could not step there).
    """
    moves = np.arange(256, dtype=np.uint8)
    table: NDArray[Any] = np.tile(moves, (ROOT + 1, 1))
    for d in range(neighbours):
        if neighbours == 8 and d < 4 and not weighted:
            for turn in (2, 6):
                diagonal_back = _turned(d, turn + 1 if turn == 2 else turn - 1)
                table[d] = np.where(moves & diagonal_back, table[d] & ~_turned(d, turn), table[d])
        table[d] &= ~(_turned(d, 4) | _turned(d, 3) | _turned(d, 5))
    return _view(table.reshape(-1))


def _turned(direction: int, eighths: int) -> np.uint8:
    """The bit of the direction this many eighths of a turn clockwise."""
    clockwise = [0, 4, 1, 5, 2, 6, 3, 7]
    return np.uint8(1 << clockwise[(clockwise.index(direction) + eighths) % 8])


def _view(array: Any) -> memoryview:  # before Python 3.12 the types do not know that arrays are buffers
    return memoryview(array)
