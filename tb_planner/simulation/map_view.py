"""The map as a planner is told of it: what is new on it, and for a growing map where it lies by now."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box, MapGeometry
from tb_planner.maps.costmap import UNKNOWN
from tb_planner.simulation.sensor import Known


@dataclass(frozen=True, eq=False)
class MapNews:
    """A map as it is to be published; its occupancy is a copy."""

    occupancy: NDArray[np.int8]
    geometry: MapGeometry
    changed: Box | None
    """The part that may be new; None: all of it, its geometry too."""


class MapView:
    """Keeps account of what has been told already.

    A growing map is the smallest box around all that is known, and a margin. With a jitter its origin lies off the true
    one by up to this part of a cell, by another one with each new size, as that of a map which is computed anew.
    """

    def __init__(self, occupancy: NDArray[np.int8], geometry: MapGeometry) -> None:
        self._occupancy = occupancy
        self._geometry = geometry
        self._changed: Box | None = None
        self._told: Box | None = None
        self._told_geometry = geometry
        self._growing: Known | None = None
        self._margin, self._jitter, self._random = 0, 0.0, np.random.default_rng(0)

    def grow_with(self, known: Known, margin: int, jitter: float, random: np.random.Generator) -> None:
        """From now on only what is known, and so many unknown cells around it, are part of the map."""
        self._growing, self._margin, self._jitter, self._random = known, margin, jitter, random

    def touch(self, box: Box | None) -> None:
        """These cells may have changed."""
        if box is not None:
            self._changed = box.around(self._changed)

    def news(self) -> MapNews | None:
        """What is new since the last call, or None."""
        extent = self._extent()
        if extent == self._told and self._changed is None:
            return None
        changed = self._changed if extent == self._told else None
        if extent != self._told:
            self._told, self._told_geometry = extent, self._geometry_of(extent)
        self._changed = None
        return self._copy(changed)

    def whole(self) -> MapNews:
        """All of the map, as new as can be."""
        self.news()
        return self._copy(None)

    def _extent(self) -> Box:
        """The part of the true map that is told of; with a margin it may reach beyond it."""
        if self._growing is not None and self._growing.extent is not None:
            box, margin = self._growing.extent, self._margin
            return Box(box.x0 - margin, box.y0 - margin, box.x1 + margin, box.y1 + margin)
        return Box(0, 0, self._geometry.width, self._geometry.height)

    def _geometry_of(self, extent: Box) -> MapGeometry:
        if self._growing is None:
            return self._geometry
        off_x, off_y = self._random.uniform(-self._jitter, self._jitter, 2)
        x_m, y_m = self._geometry.to_world(extent.x0 + off_x, extent.y0 + off_y)
        size = {'width': extent.x1 - extent.x0, 'height': extent.y1 - extent.y0}
        return replace(self._geometry, origin=(x_m, y_m, self._geometry.yaw), **size)

    def _copy(self, changed: Box | None) -> MapNews:
        extent = self._extent()
        if changed is not None:
            changed = Box(
                changed.x0 - extent.x0, changed.y0 - extent.y0, changed.x1 - extent.x0, changed.y1 - extent.y0
            )
        return MapNews(self._part(extent), self._told_geometry, changed)

    def _part(self, extent: Box) -> NDArray[np.int8]:
        """A copy; what lies beyond the map is unknown."""
        height, width = self._occupancy.shape
        inside = Box(max(extent.x0, 0), max(extent.y0, 0), min(extent.x1, width), min(extent.y1, height))
        if inside == extent:
            return self._occupancy[inside.slices].copy()
        part = np.full((extent.y1 - extent.y0, extent.x1 - extent.x0), UNKNOWN, np.int8)
        y, x = inside.y0 - extent.y0, inside.x0 - extent.x0
        part[y : y + inside.y1 - inside.y0, x : x + inside.x1 - inside.x0] = self._occupancy[inside.slices]
        return part
