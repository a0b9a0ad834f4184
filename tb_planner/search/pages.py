"""Memory of large arrays: taken from the system before it is needed, and given back while nobody needs it.

Both are done on Linux only; elsewhere an array's memory is taken where it is first touched. Other threads run
meanwhile: neither holds the GIL.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

_GIVE_BACK, _TAKE = 4, 23  # MADV_DONTNEED; MADV_POPULATE_WRITE, since Linux 5.14
_SLICE = 2**21
"""Bytes at once, a huge page. Another thread that wants memory of its own has to wait for the end of a slice."""


def take(arrays: Iterable[NDArray[np.generic]]) -> None:
    """Takes the memory of arrays now. They keep their values, and other threads may use them meanwhile.

    256 MB take 11 ms with huge pages, for which NumPy asks, and 77 ms without.
    """
    _advise(arrays, _TAKE)


def give_back(arrays: Iterable[NDArray[np.generic]]) -> None:
    """Gives the memory of arrays back: what they hold is lost, and nobody may use them meanwhile or afterwards.

    An array does so itself when it is freed, but with the GIL, for which a tick would have to wait: 15 ms for the
    search of a map of 4000 x 4000 cells.
    """
    _advise(arrays, _GIVE_BACK)


def _advise(arrays: Iterable[NDArray[np.generic]], advice: int) -> None:
    """Advises the system about the whole pages of arrays. Nothing depends on whether it heeds that."""
    if sys.platform != 'linux':
        return
    madvise = ctypes.CDLL(None).madvise
    for array in arrays:
        begin = -(-array.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (array.ctypes.data + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        for at in range(begin, end, _SLICE):
            madvise(ctypes.c_void_p(at), ctypes.c_size_t(min(_SLICE, end - at)), ctypes.c_int(advice))
