"""A map that changes, kept as it was at some moments: few, however many there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import MapGeometry

MOST_MAPS = 8
"""So many states of a map are kept; what was asked on others is asked on the one before."""
MOST_CELLS = 2**25
"""And so many cells of them all, but one map at least: who plans on one takes some 40 bytes a cell."""


class Snapshot(NamedTuple):
    """A map as it was."""

    occupancy: NDArray[np.int8]
    geometry: MapGeometry

    def is_like(self, occupancy: NDArray[np.int8], geometry: MapGeometry) -> bool:
        return self.geometry == geometry and np.array_equal(self.occupancy, occupancy)


class Snapshots:
    """Every state is kept at first; when there are too many, every other one goes, and every other one is taken."""

    def __init__(self, most: int = MOST_MAPS) -> None:
        self._most = most
        self._kept: list[Snapshot] = []
        self._step = 1
        self._states = 0
        self._last: Snapshot | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, occupancy: NDArray[np.int8], geometry: MapGeometry) -> int:
        """The number of this state: that of the last one if nothing has changed since."""
        if self._last is None or not self._last.is_like(occupancy, geometry):
            self._last = Snapshot(occupancy.copy(), geometry)
            if self._states % self._step == 0:
                self._kept.append(self._last)
            while self._are_too_many:
                self._kept = self._kept[::2]
                self._step *= 2
            self._states += 1
        return self._states - 1

    @property
    def _are_too_many(self) -> bool:
        cells = sum(snapshot.occupancy.size for snapshot in self._kept)
        return len(self._kept) > (self._most if cells <= MOST_CELLS else 1)

    def at(self, number: int) -> Snapshot:
        """The state of this number, or the one before it that is still there."""
        return self._kept[number // self._step]
