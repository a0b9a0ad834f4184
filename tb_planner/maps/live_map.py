"""LiveMap: the newest occupancy as a grid, brought up to date by one thread while another plans on it.

There are two grids. The reader has one; the worker updates the other and offers it. A fetched grid is not written to
until the next one has been fetched. The worker withdraws an offer that nobody has fetched, extends it and offers it
again; a worker that is never idle waits first (wait_until_fetched()), or the reader would hardly find an offer. The
reader never waits: a lock is held only while an offer changes hands.

The work is done tile by tile, with NumPy and compiled code that let other threads run meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.geometry import Box, Cell, MapGeometry
from tb_planner.maps.costmap import TILE, UNKNOWN, CostmapConfig, CostTable, checked_occupancy
from tb_planner.search.cells import Marks, all_stale, chunks_of, take_in, within_reach
from tb_planner.search.grid import BLOCKED, Grid, GridChange, OutsideGrid, whole_numbers

CLEARED_FRACTION, CLEARED_CELLS = 0.5, 1000
"""A map counts as cleared if at least this fraction of the blocked cells, and this number, are freed at once."""


@dataclass(frozen=True, eq=False)
class MapUpdate:
    """A map to plan on. The grid stays as it is until the next update is fetched."""

    geometry: MapGeometry
    grid: Grid
    change: GridChange | None
    """The change since the grid of the update before; None if everything is new."""
    obstacles: Callable[[Box], NDArray[np.bool_]] | None = None
    """Where in a box the obstacles themselves are, without inflation; may be newer than the grid."""
    unknown: Callable[[Box], NDArray[np.bool_]] | None = None
    """Where in a box the map is unknown; may be newer than the grid."""
    occupancy: NDArray[np.int8] | None = None
    """The map [y, x], from 0 to 100, -1 is unknown; may be newer than the grid."""
    cleared: bool = False
    """Most blocked cells have become free, and none has become blocked: a costmap that was cleared looks like this
    until its obstacles are seen again."""
    changed_terrain: tuple[NDArray[np.uint16], ...] | None = None
    """The new costs of the increased and of the decreased cells, if the run is recorded."""

    def without_change(self) -> MapUpdate:
        """The same map for whoever keeps it: a list of changed cells may take ten megabytes."""
        return replace(self, change=None, changed_terrain=None)


class LiveMap:
    """One thread, the worker, writes: full(), patch(), set_rules(). Another thread reads: latest().

    Bad input raises ValueError with value and limit, and leaves the map as it was.
    """

    def __init__(
        self,
        rules: CostmapConfig,
        *,
        corner_cutting: bool = False,
        neighbours: int = 8,
        tile: int = TILE,
        recorded: bool = False,
    ) -> None:
        """recorded: whether updates carry their changed_terrain."""
        self._rules = rules
        self._recorded = recorded
        self._corner_cutting = corner_cutting
        self._neighbours = neighbours
        self._tile = tile
        self._changed_hands = threading.Condition()
        self._offer: MapUpdate | None = None
        self.offers_cleared = False
        """Whether the map on offer, or the one that the worker is about to offer, is a cleared one."""
        self._map: _Map | None = None
        self._retired: _Map | None = None  # kept till the next call: else the reader would have to free its memory

    def full(self, occupancy: ArrayLike, geometry: MapGeometry) -> None:
        """Takes a whole map: occupancy [y, x] from 0 to 100, -1 is unknown. With another geometry everything is new."""
        self._retired = None
        values = checked_occupancy(occupancy)
        height, width = values.shape
        if (width, height) != (geometry.width, geometry.height):
            raise ValueError(f'map has {width} x {height} cells; its geometry has {geometry.width} x {geometry.height}')
        if self._map is not None and self._map.geometry == geometry:
            self._take_in(self._map, values, Box(0, 0, width, height))
        else:
            self._begin(values.copy(), geometry, CostTable(replace(self._rules, resolution_m=geometry.resolution_m)))

    def patch(self, occupancy: ArrayLike, at: Cell) -> None:
        """Takes a part of the map whose lowest corner is the cell `at`."""
        self._retired = None
        values = checked_occupancy(occupancy)
        x, y = whole_numbers(at, 'at')
        height, width = values.shape
        if self._map is None:
            raise ValueError(f'patch of {width} x {height} cells at ({x}, {y}) comes before the first whole map')
        box, whole = Box(x, y, x + width, y + height), self._map.grid.box
        if box.overlap(whole) != box:
            raise OutsideGrid(
                f'patch of {width} x {height} cells at ({x}, {y}) is not inside the {whole.x1} x {whole.y1} map'
            )
        self._take_in(self._map, values, box)

    def set_rules(self, rules: CostmapConfig) -> None:
        """Computes the costs again from the same occupancy."""
        self._retired = None
        here = self._map
        if here is not None:
            before = here.conversion
            conversion = CostTable(replace(rules, resolution_m=here.geometry.resolution_m))
            if conversion.weighted != before.weighted:
                self._begin(here.occupancy, here.geometry, conversion)
            elif conversion.rules != before.rules:
                here.conversion = conversion
                self._update(here, list(here.grid.box.tiles(self._tile)), lambda: setattr(here, 'conversion', before))
        self._rules = rules

    def latest(self, *, leave_cleared: bool = False) -> MapUpdate | None:
        """The update since the last call, or None. Nobody may read the grid of the update before any more.

        leave_cleared: leaves a cleared map on offer; obstacles that come back meanwhile were never gone for the
        reader."""
        with self._changed_hands:
            if leave_cleared and self._offer is not None and self._offer.cleared:
                return None
            self._offer, offer = None, self._offer
            self.offers_cleared &= offer is None
            self._changed_hands.notify()
        return offer

    def wait_until_fetched(self, limit_s: float) -> bool:
        """For the worker: waits until nothing is on offer; returns whether that is so. If it is, brings the grid that
        has been given back up to date, so that the next map need not wait for it."""
        with self._changed_hands:
            is_fetched = self._changed_hands.wait_for(lambda: self._offer is None, limit_s)
        here = self._map
        if is_fetched and here is not None and here.fetched and here.offered:  # the first change takes its memory
            here.swap()
        return is_fetched

    def drop_spare_searches(self) -> None:
        """Gives back the memory of searches that nobody uses. For the worker."""
        if self._map is not None:
            self._map.grid.drop_spare_searches()

    # -------------------------------------------------------------------------------------------------- inside
    def _put(self, offer: MapUpdate | None) -> None:
        """Offers an update to the reader, or nothing."""
        with self._changed_hands:
            self._offer, self.offers_cleared = offer, offer is not None and offer.cleared
            self._changed_hands.notify()

    def _begin(self, occupancy: NDArray[np.int8], geometry: MapGeometry, conversion: CostTable) -> None:
        """Starts a map that has nothing in common with the one before."""
        before, kind = self._map, (geometry.width, geometry.height, conversion.weighted)
        if before is not None and (before.grid.width, before.grid.height, before.grid.weighted) == kind:
            grid = before.grid.twin()  # a window that has moved: its searches have their memory already
        else:
            grid = Grid.all_blocked(
                geometry.width,
                geometry.height,
                weighted=conversion.weighted,
                neighbours=self._neighbours,
                corner_cutting=self._corner_cutting,
            )
        for tile in grid.box.tiles(self._tile):
            grid.write(conversion.terrain(occupancy, tile), tile)
        grid.check_room()
        self._retired, self._map = before, _Map(geometry, occupancy, conversion, grid, grid.twin())
        for tile in grid.box.tiles(self._tile):  # the other one is empty, and takes its memory with the first change
            self._mark(self._map.differing, tile)
        self._put(self._map.update(None))

    def _take_in(self, here: _Map, values: NDArray[np.int8], box: Box) -> None:
        """Takes the occupancy of a box, and computes costs within reach of a change."""
        whole, reach = here.grid.box, here.conversion.rules.reach
        before: list[tuple[Box, NDArray[np.int8]]] = []
        stale: dict[Cell, Box] = {}
        may_be_refused = not here.grid.has_room_for(here.conversion.highest)
        here.changed[...] = 0
        for tile in box.tiles(self._tile):
            if may_be_refused:
                before.append((tile, here.occupancy[tile.slices].copy()))
            touched = take_in(values, (box.x0, box.y0), here.occupancy, tile, here.changed)
            if touched is not None:
                self._mark(stale, Box(*touched).grown(reach, whole))
        if stale:
            self._update(here, stale.values(), lambda: here.restore(before), here.changed)

    def _update(
        self, here: _Map, boxes: Collection[Box], undo: Callable[[], None], changed: Marks | None = None
    ) -> None:
        """Updates a grid in these boxes, within reach of what has changed, and offers it; restores it if the kernel has
        no room for the costs."""
        with self._changed_hands:
            self._offer, withdrawn = None, self._offer  # to be extended
        if withdrawn is None and here.offered:
            here.swap()
        try:
            self._write(here, boxes, changed)
            here.grid.check_room()
        except ValueError:
            undo()
            self._write(here, boxes, changed)
            raise
        finally:
            self._put(here.offer(self._recorded))

    def _write(self, here: _Map, boxes: Collection[Box], changed: Marks | None) -> None:
        for box in boxes:
            stale = all_stale(box) if changed is None else within_reach(changed, box, here.conversion.rules.reach)
            if here.grid.write(here.conversion.terrain(here.occupancy, box, stale), box, stale):
                self._mark(here.differing, box)

    def _mark(self, boxes: dict[Cell, Box], box: Box) -> None:
        """Adds the box to what is marked in each of its tiles."""
        for part in box.tiles(self._tile):
            tile = part.x0 // self._tile, part.y0 // self._tile
            boxes[tile] = part.around(boxes.get(tile))


@dataclass(eq=False)
class _Map:
    """The worker's state of a map of one geometry."""

    geometry: MapGeometry
    occupancy: NDArray[np.int8]
    conversion: CostTable
    grid: Grid  # the worker's own, or on offer
    other: Grid  # being read, once one of the two has been fetched
    differing: dict[Cell, Box] = field(default_factory=dict)  # by tile: where they may differ
    offered: bool = True  # grid, since the last swap
    fetched: bool = False  # one of the two

    def __post_init__(self) -> None:
        self.changed: Marks = np.zeros(chunks_of(self.grid.box), np.uint8)  # by the last map or patch

    def swap(self) -> None:
        """The grid on offer has been fetched: makes the other one the worker's, and copies the differences."""
        self.grid, self.other = self.other, self.grid
        self.offered, self.fetched = False, True
        self.grid.copy(self.other, self.differing.values())
        self.differing.clear()

    def restore(self, occupancy: Iterable[tuple[Box, NDArray[np.int8]]]) -> None:
        for box, values in occupancy:
            self.occupancy[box.slices] = values

    def offer(self, recorded: bool) -> MapUpdate | None:
        """The grid and its change since the one being read; None if there is no change."""
        change = GridChange.between(self.other, self.grid, self.differing.values()) if self.fetched else None
        self.offered = change is None or bool(change)
        return self.update(change, recorded) if self.offered else None

    def update(self, change: GridChange | None, recorded: bool = False) -> MapUpdate:
        occupancy, threshold = self.occupancy, self.conversion.rules.obstacle_threshold
        terrain = self.grid.cost_u16.reshape(-1)
        return MapUpdate(
            self.geometry,
            self.grid,
            change,
            lambda box: occupancy[box.slices] >= threshold,
            lambda box: occupancy[box.slices] == UNKNOWN,
            occupancy,
            change is not None and _is_cleared(self.other, self.grid, change),
            None
            if change is None or not recorded
            else (terrain.take(change.increased), terrain.take(change.decreased)),
        )


def _is_cleared(old: Grid, new: Grid, change: GridChange) -> bool:
    """Whether most blocked cells have become free, and none has become blocked."""
    terrain, some = new.cost_u16.reshape(-1), change.increased[:CLEARED_CELLS]  # all of them take milliseconds
    if len(change.decreased) < CLEARED_CELLS or not terrain[some].all() or not terrain[change.increased].all():
        return False
    freed = np.count_nonzero(old.cost_u16.reshape(-1)[change.decreased] == BLOCKED)
    return bool(freed >= CLEARED_CELLS and freed >= CLEARED_FRACTION * np.count_nonzero(old.cost_u16 == BLOCKED))
