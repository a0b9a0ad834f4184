"""SegmentPlanner: the search for a path's legs, one after the other, in one memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.navigator import TRACE_STEPS, Settings, whole_cells
from tb_planner.navigation.path_request import Segment
from tb_planner.search.planner import Status, TimeBoundedPlanner


class SegmentPlanner:
    """step() goes on with a leg until it is found; the next one begins a new one. stop() gives it up."""

    def __init__(self) -> None:
        self.searches = 0
        """One for a leg, and what started over."""
        self._planner: TimeBoundedPlanner | None = None  # of the leg in hand, or of the last one, for its memory
        self._is_under_way = False
        self._instead: Cell | None = None  # of the leg's goal, which is cut off
        self._hopeless = 0  # number of the search that found nothing in place of it, either

    @property
    def has_no_path(self) -> bool:
        """To the goal of the leg in hand, or near it, on the present map."""
        planner = self._planner
        if planner is None or not self._is_under_way or planner.status != Status.NO_PATH:
            return False
        return self._hopeless == planner.searches

    def stop(self) -> None:
        self._is_under_way, self._instead, self._hopeless = False, None, 0

    def drop_memory(self) -> None:
        """It is of no use on a map of another size."""
        self._planner = None
        self.stop()

    def take_in(self, update: MapUpdate) -> None:
        """Of the same geometry."""
        if self._planner is not None and update.change is not None:
            before = self._planner.searches
            self._planner.use_grid(update.grid, update.change)
            self.searches += self._is_under_way * (self._planner.searches - before)
            if self._instead is not None and frees_cells(update):  # the goal may be cut off no more
                self.stop()

    def step(
        self,
        on: MapUpdate,
        ends: tuple[Cell, Cell],
        settings: Settings,
        tolerance_m: float,
        search: Callable[[TimeBoundedPlanner], object],
    ) -> Segment | None:
        """Spends what `search` spends; the leg, if it is found. `ends` are its first cell and its goal's."""
        tolerance = whole_cells(tolerance_m, on.geometry)
        planner = self._planner
        if planner is None or not self._is_under_way:
            planner = self._begin(on, ends, settings, tolerance)
        before = planner.searches
        if planner.current_cell != ends[0]:  # it was blocked: the planner may have gone to the other side of a wall
            planner.leave_route(ends[0])
        if planner.status != Status.NO_PATH:
            search(planner)
        self.searches += planner.searches - before
        if planner.status == Status.NO_PATH:
            self._look_beside(ends[1], tolerance, planner)
            return None
        if not planner.route_reaches_goal and planner.current_cell != planner.target:
            return None
        leg = Segment(planner.route_cells(), ends[1], self._instead is not None)
        self.stop()
        return leg

    def _begin(self, on: MapUpdate, ends: tuple[Cell, Cell], settings: Settings, tolerance: int) -> TimeBoundedPlanner:
        """O(1): the search's memory is that of the last one, or what the grid has prepared."""
        if self._planner is not None:
            self._planner.release()
        self._planner = TimeBoundedPlanner(
            on.grid,
            ends[0],
            self._instead or ends[1],
            settings.algorithm,
            settings.k,
            trace_steps=None if settings.algorithm.reopen else TRACE_STEPS,
            min_improvement=settings.min_improvement,
            start_tolerance=whole_cells(settings.start_tolerance_m, on.geometry),
            goal_tolerance=0 if self._instead else tolerance,
        )
        self._is_under_way = True
        self.searches += 1
        return self._planner

    def _look_beside(self, goal: Cell, tolerance: int, planner: TimeBoundedPlanner) -> None:
        """The search has seen all that can be reached. If some of it is within the tolerance of the goal, the leg may
        end there."""
        if self._instead is not None:  # on a map that has changed
            self.stop()
        elif self._hopeless != planner.searches:
            reached = planner.search_picture(unknown=0, expanded=1, opened=0)
            self._instead = _nearest(reached, goal, tolerance)
            self._is_under_way = self._instead is None
            self._hopeless = planner.searches if self._instead is None else 0


def frees_cells(update: MapUpdate) -> bool:
    """Whether cells are free that were blocked. Where corners may be cut a change does not tell: then, whether any has
    become cheaper."""
    change = update.change
    return change is not None and len(change.decreased if update.grid.corner_cutting else change.opened) > 0


def _nearest(marked: NDArray[np.int8], cell: Cell, tolerance: int) -> Cell | None:
    """The marked cell nearest to this one, at most so many cells away."""
    x, y = cell
    left, top = max(x - tolerance, 0), max(y - tolerance, 0)
    rows, columns = np.nonzero(marked[top : y + tolerance + 1, left : x + tolerance + 1])
    squares = (columns + left - x) ** 2 + (rows + top - y) ** 2
    if len(squares) == 0 or squares.min() > tolerance**2:
        return None
    i = int(squares.argmin())
    return int(columns[i]) + left, int(rows[i]) + top
