"""Recorder: records what a Navigator does, tick by tick."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.navigator import Navigator, Search, Tick
from tb_planner.recording.writer import About, Frame, FrozenMarks, MapChange, RecordWriter, tiles_around
from tb_planner.search.planner import Expanded, TimeBoundedPlanner

NO_STATES: NDArray[np.int32] = np.empty(0, np.int32)


class Recorder(RecordWriter):
    """In each tick: navigator.tick(update, pose, recorder.searching(search)), then see(), then end_tick().

    Call it from the thread that ticks. The cost of a tick depends on what is new in it; the recorder's own thread does
    the rest. That thread also reads where obstacles are. Unless ticks come in real time, it would read them too late:
    the recorder then copies them, and ticks wait for a slow disk.
    """

    def __init__(self, path: str | os.PathLike[str], about: About, *, real_time: bool = True) -> None:
        super().__init__(path, about, real_time=real_time)
        self._search: Search = TimeBoundedPlanner.search
        self._update: MapUpdate | None = None
        self._planner: TimeBoundedPlanner | None = None
        self._expansions = self._open_size = self._backtracking = 0
        self._starts_over = True
        self._frame: Frame | None = None

    def searching(self, search: Search | None) -> Search:
        """The search to pass to navigator.tick() in place of this one."""
        self._search = search or TimeBoundedPlanner.search
        return self._search_and_log

    def see(
        self, navigator: Navigator, tick: Tick, update: MapUpdate | None, pose: Pose2D | None, time_s: float
    ) -> None:
        """Takes the result of a tick. update: the map update that the navigator got in it."""
        if update is not None:
            self._update = update
        planner = navigator.planner
        before = self._expansions if planner is self._planner else 0
        expansions = 0 if planner is None else planner.expansions
        # most ticks only follow the route: what cannot have changed is not read again
        if planner is not self._planner or expansions != before or tick.restarts:
            self._open_size = 0 if planner is None else planner.open_size
        if tick.plan_changed or self._backtracking or self._starts_over:
            self._backtracking = navigator.backtracking_length
        self._frame = Frame(
            time_s=time_s,
            status=tick.status,
            pose=pose,
            waypoint=tick.waypoint,
            goal=navigator.goal,
            restarts=tick.restarts,
            left=navigator.plan_length,
            back=self._backtracking,
            expansions=expansions - before,
            open_size=self._open_size,
            change=None if update is None and not self._starts_over else self._change(update),
            expanded=self._expanded(planner),
            route=navigator.plan_cells() if tick.plan_changed or self._starts_over else None,
        )
        self._planner, self._expansions = planner, expansions
        self._starts_over = False

    def end_tick(self, duration_s: float) -> None:
        """Leaves the frame of see() to the writer; a tick without see() is not recorded."""
        frame, self._frame = self._frame, None
        if frame is not None and not self.put(frame._replace(duration_s=duration_s)):
            self._starts_over = True

    def _search_and_log(self, planner: TimeBoundedPlanner) -> object:
        if planner is not self._planner:
            planner.log_expansions()
        return self._search(planner)

    def _expanded(self, planner: TimeBoundedPlanner | None) -> Expanded | None:
        """The states expanded since the last tick; None: none. Without a planner, an empty new search."""
        if planner is self._planner and not self._starts_over:
            return None if planner is None else planner.take_expanded()
        if planner is None:
            return Expanded(True, -1, NO_STATES)
        planner.log_expansions()
        return planner.take_expanded(whole=True)

    def _change(self, update: MapUpdate | None) -> MapChange | None:
        if self._starts_over and self._update is not None:
            update = replace(self._update, change=None)
        return None if update is None else map_change(update, real_time=self._real_time)


def map_change(update: MapUpdate, *, real_time: bool = True) -> MapChange:
    """A copy of what the writer needs: the next update overwrites the grid."""
    grid, change = update.grid, update.change
    obstacles, unknown = update.obstacles, update.unknown
    states: tuple[NDArray[np.int32], ...] | None = None
    if change is None:
        terrain: tuple[NDArray[np.uint16], ...] = (grid.cost_u16.copy(),)
    else:
        states, flat = (change.increased, change.decreased), grid.cost_u16.reshape(-1)
        terrain = update.changed_terrain or tuple(flat.take(part, mode='clip') for part in states)
    if not real_time and obstacles is not None and unknown is not None:
        box = grid.box if states is None else tiles_around(np.concatenate(states), grid.box)
        obstacles, unknown = FrozenMarks(obstacles, box), FrozenMarks(unknown, box)
    return MapChange(update.geometry, grid, states, terrain, obstacles, unknown)
