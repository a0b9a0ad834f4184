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
from numpy.typing import DTypeLike

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


def successor_tables(neighbours: int, weighted: bool) -> tuple[memoryview, memoryview]:
    """What can lead to something new: (successors, replaceable), by 256 * direction from the parent + legal moves.

    successors: the moves that can lead to something new.
    replaceable: for w = 1 on a map with costs, the moves that need not be made if dear_steps() returns them.

    Let p be the parent of s, and t a successor of s.

    One step: p has been expanded, so that t has been reached at no higher cost if p leads to it in one legal step that
    costs less than the two by way of s. (If p has left that step out, its own parent has made a better one.) These are
    the step back and those next to it, whatever cells cost, and each side after a straight step, by a diagonal one from
    p, if costs allow. On a map without costs they do.

    Two steps, for w = 1 on a map with costs: a free cell z beside s leads from p to t, too, in two legal steps that
    cost less. They are two straight ones instead of two diagonal ones at a right angle, or a diagonal and a straight
    one instead of a straight one and a diagonal one ahead. Such a t comes into Open only when z is expanded; records,
    for which Open is what lies beside expanded states, show it there before.

    A* stays exact: each step of a cost-minimal path is made. Let s be before t on such a path, expanded with g*(s), and
    p its parent, expanded with g*(p). If s left out the step to t, a path of lower cost would lead to t by way of p.
    Where both ways cost the same neither is left out: a tree of diagonal steps first would be exact, too, but while the
    goal is out of reach s_best would jump about in it, and an agent on a map that changes drives 9 % further.

    What is learned stays consistent, that is, lowest f - g(s) <= c(s, t) + h(t) for an expanded s: if s leaves out t,
    the path from p to t for which it does costs no more than g(s) + c(s, t) in all, and follows steps that were made up
    to a state o in Open, or t. (For each of its states that is expanded and leaves out the next the same holds, at
    lower costs.) And lowest f <= g(o) + h(o), where h is consistent.
    """
    successors, replaceable = np.zeros((2, 16, 256), np.uint8)
    moves = np.arange(256, dtype=np.uint8)
    successors[:] = moves
    for d in range(neighbours):
        successors[d] &= ~(_turned(d, 4) | _turned(d, 3) | _turned(d, 5))
        for side, ahead, back in ((6, 7, 5), (2, 1, 3)):
            if d >= 4:
                replaceable[d] |= np.where(moves & _turned(d, back), _turned(d, side), 0)
                continue
            passable = (moves & _turned(d, back) != 0) & (moves & _turned(d, side) != 0)
            replaceable[d] |= np.where(passable, _turned(d, side) | _turned(d, ahead), 0)
            if not weighted:
                successors[d] &= ~np.where(passable, _turned(d, side), 0)
    return _view(successors.reshape(-1)), _view(replaceable.reshape(-1))


def neighbour_tables(width: int) -> tuple[memoryview, memoryview, memoryview]:
    """The cells beside a step, and directions after a turn: (left, right, turned).

    By direction: what to add to the end of a step for the cell on its left, and on its right, that its start reaches in
    one step, too: next to the end of a straight step, next to both ends of a diagonal one. And by 8 * direction +
    eighths of a turn clockwise: the direction after it.
    """
    offset = np.asarray(offsets(width))
    turned = np.array([[_in_turn(d, eighths) for eighths in range(8)] for d in range(8)], np.uint8)
    turned = np.concatenate((turned, np.zeros_like(turned[:1])))  # for the root
    beside = np.arange(ROOT + 1) < 4
    left, right = (offset[np.where(beside, turned[:, i], turned[:, j])] for i, j in ((6, 5), (2, 3)))
    return _view(left), _view(right), _view(turned.reshape(-1))


def _turned(direction: int, eighths: int) -> np.uint8:
    """The bit of the direction this many eighths of a turn clockwise."""
    return np.uint8(1 << _in_turn(direction, eighths))


def _in_turn(direction: int, eighths: int) -> int:
    """The direction this many eighths of a turn clockwise."""
    clockwise = [0, 4, 1, 5, 2, 6, 3, 7]
    return clockwise[(clockwise.index(direction) + eighths) % 8]


def _view(array: Any) -> memoryview:  # before Python 3.12 the types do not know that arrays are buffers
    return memoryview(array)
