"""Recorder: looks over a Navigator's shoulder in every tick."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.navigator import Navigator, Search, Tick
from tb_planner.recording.encoder import tiles_around
from tb_planner.recording.frame import About, MapNews, Snapshot, bytes_of
from tb_planner.recording.writer import CHUNK_S, RecordWriter
from tb_planner.search.planner import Expanded, TimeBoundedPlanner

_Seen: TypeAlias = (
    'tuple[float, str, Pose2D | None, Pose2D | None, Pose2D | None, tuple[str, ...], int, int, int, int, '
    'MapNews | None, Expanded | None, NDArray[np.int32] | None]'
)
"""A Frame but for how long the tick takes."""

NO_STATES: NDArray[np.int32] = np.empty(0, np.int32)


class Recorder:
    """In each tick: navigator.tick(update, pose, recorder.searching(search)), then see(), then end_tick().

    To be used by the thread that ticks. What a tick costs goes with what is new in it; the rest is done by a thread of
    the recorder's own. That also looks where obstacles are; unless ticks come in real time, that would be too late, and
    ticks wait for the disk if it is slow.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        about: About,
        *,
        chunk_s: float = CHUNK_S,
        also: Callable[[bytes], object] | None = None,
        real_time: bool = True,
    ) -> None:
        self._real_time = real_time
        self._writer = RecordWriter(path, about, chunk_s=chunk_s, also=also, real_time=real_time)
        self._search: Search = TimeBoundedPlanner.search
        self._update: MapUpdate | None = None
        self._planner: TimeBoundedPlanner | None = None
        self._expansions = self._open_size = self._way_back = self._bytes = 0
        self._all_is_new = True
        self._seen: _Seen | None = None

    @property
    def error(self) -> str:
        """Why nothing is recorded any more, if so."""
        return self._writer.error

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._writer.close()

    def searching(self, search: Search | None) -> Search:
        """To be given to navigator.tick() in place of this one."""
        self._search = search or TimeBoundedPlanner.search
        return self._search_and_log

    def see(
        self, navigator: Navigator, tick: Tick, update: MapUpdate | None, pose: Pose2D | None, time_s: float
    ) -> None:
        """What has come of the tick. update: what the navigator was given in it."""
        if update is not None:
            self._update = update
        planner = navigator.planner
        before = self._expansions if planner is self._planner else 0
        expansions = 0 if planner is None else planner.expansions
        # what cannot have changed is not asked for: most ticks only lead a robot along its route
        if planner is not self._planner or expansions != before or tick.restarts:
            self._open_size = 0 if planner is None else planner.open_size
        if tick.plan_changed or self._way_back or self._all_is_new:
            self._way_back = navigator.way_back
        news = None if update is None and not self._all_is_new else self._news(update)
        expanded = self._expanded(planner)
        route = navigator.plan_cells() if tick.plan_changed or self._all_is_new else None
        self._bytes = bytes_of(news, expanded, route)
        self._seen = (
            time_s,
            tick.status,
            pose,
            tick.waypoint,
            navigator.goal,
            tick.restarts,
            navigator.plan_length,
            self._way_back,
            expansions - before,
            self._open_size,
            news,
            expanded,
            route,
        )
        self._planner, self._expansions = planner, expansions
        self._all_is_new = False

    def end_tick(self, duration_s: float) -> None:
        """A tick that see() has not been told of is left out."""
        seen, self._seen = self._seen, None
        if seen is not None and not self._writer.put((*seen, duration_s), self._bytes):
            self._all_is_new = True

    def _search_and_log(self, planner: TimeBoundedPlanner) -> object:
        if planner is not self._planner:
            planner.log_expansions()
        return self._search(planner)

    def _expanded(self, planner: TimeBoundedPlanner | None) -> Expanded | None:
        """None: nothing new. A planner that is gone leaves an empty search."""
        if planner is self._planner and not self._all_is_new:
            return None if planner is None else planner.take_expanded()
        if planner is None:
            return Expanded(True, -1, NO_STATES)
        planner.log_expansions()
        return planner.take_expanded(whole=True)

    def _news(self, update: MapUpdate | None) -> MapNews | None:
        if self._all_is_new and self._update is not None:
            update = replace(self._update, change=None)
        return None if update is None else map_news(update, real_time=self._real_time)


def map_news(update: MapUpdate, *, real_time: bool = True) -> MapNews:
    """Copies what it needs: the grid is written to again once the next update has been fetched."""
    grid, change = update.grid, update.change
    obstacles, unknown = update.obstacles, update.unknown
    states: tuple[NDArray[np.int32], ...] | None
    terrain: tuple[NDArray[np.uint16], ...]
    if change is None:
        states, terrain = None, (grid.cost_u16.copy(),)
    elif update.changed_terrain is not None:
        states, terrain = (change.increased, change.decreased), update.changed_terrain
    else:
        flat = grid.cost_u16.reshape(-1)
        states, terrain = (
            (change.increased, change.decreased),
            (flat.take(change.increased, mode='clip'), flat.take(change.decreased, mode='clip')),
        )
    if not real_time and obstacles is not None and unknown is not None:
        box = grid.box if states is None else tiles_around(np.concatenate(states), grid.box)
        obstacles, unknown = Snapshot(obstacles, box), Snapshot(unknown, box)
    return MapNews(update.geometry, grid, states, terrain, obstacles, unknown)
