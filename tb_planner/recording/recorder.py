"""Recorder: records what a Navigator does, tick by tick; RecordedWalk: what a planner does in move_to_goal()."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.navigator import Navigator, Search, Tick
from tb_planner.recording.writer import About, Frame, FrozenMarks, MapChange, NotRecorded, RecordWriter, tiles_around
from tb_planner.search.agent import Observation, World
from tb_planner.search.planner import Expanded, Status, TimeBoundedPlanner

NO_STATES: NDArray[np.int32] = np.empty(0, np.int32)
NO_DIRECTIONS: NDArray[np.uint8] = np.empty(0, np.uint8)


class Recorder(RecordWriter):
    """Records a run. In each tick: navigator.tick(update, pose, recorder.searching(search)), then see() and end_tick().

    Call it from the thread that ticks. The cost of a tick depends on what is new in it; the recorder's own thread does
    the rest. That thread also reads where obstacles are. Unless ticks come in real time, it would read them too late:
    the recorder then copies them, and ticks wait for a slow disk.
    """

    def __init__(self, path: str | os.PathLike[str], about: About, *, real_time: bool = True) -> None:
        super().__init__(path, about, real_time=real_time)
        self.algorithm = about.algorithm
        """The algorithm's name for people; it may change between two ticks."""
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
            algorithm=self.algorithm,
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
        """The states expanded since the last tick, None if there are none. Without a planner, an empty new search."""
        if planner is self._planner and not self._starts_over:
            return None if planner is None else planner.take_expanded()
        if planner is None:
            return Expanded(True, -1, NO_STATES, NO_DIRECTIONS)
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


class RecordedWalk(RecordWriter):
    """Wraps a world and records what the planner does in it; each interval is a tick.

    >>> with RecordedWalk(path, planner, world, About(title='A walk')) as walk:
    ...     move_to_goal(planner, walk)

    The last tick shows the cell that the agent has reached. The walk waits for a slow disk; close() raises NotRecorded
    if writing failed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        planner: TimeBoundedPlanner,
        world: World,
        about: About,
        *,
        interval_s: float = 0.05,
    ) -> None:
        super().__init__(path, about, real_time=False)
        self.grid = world.grid
        self._world = world
        self._planner = planner
        self._interval_s = interval_s
        self._intervals = 0
        self._version: int | None = None
        self._before = planner.figures
        self._restarts = planner.restarts
        self._seen: NDArray[np.uint16] | None = None  # the map as recorded last
        planner.log_expansions()
        self._began = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            super().close()  # the first error is the one to report

    def close(self) -> None:
        super().close()
        if self.error:
            raise NotRecorded(f'the record lacks the end of the walk: {self.error}')

    def enter(self, cell: Cell, goal: Cell) -> Observation | None:
        observation = self._world.enter(cell, goal)
        self._began = time.perf_counter()
        return observation

    def moves_until_news(self) -> int:
        """1: every interval is recorded."""
        return 1

    def walk(self, states: NDArray[np.int32]) -> None:
        duration_s = time.perf_counter() - self._began
        self._world.walk(states)
        self._record(duration_s)
        self._began = time.perf_counter()

    def look(self, cell: Cell, goal: Cell) -> Observation | None:
        observation = self._world.look(cell, goal)
        self._began = time.perf_counter()
        return observation

    def _record(self, duration_s: float) -> None:
        planner, whole = self._planner, self._seen is None
        figures, restarts = planner.figures, planner.restarts
        version, self._version = self._version, planner.route_version
        frame = Frame(
            time_s=self._intervals * self._interval_s,
            status=Status(planner.status).name,
            pose=_centre(planner.current_cell),
            waypoint=None,
            goal=_centre(planner.target),
            restarts=tuple(reason for reason, count in restarts.items() for _ in range(count - self._restarts[reason])),
            left=planner.route_length,
            back=planner.backtracking_length,
            expansions=figures.expansions - self._before.expansions,
            open_size=planner.open_size,
            change=self._change(),
            expanded=planner.take_expanded(whole=whole),
            route=planner.route_cells() if version != self._version else None,
            duration_s=duration_s,
        )
        self._before, self._restarts = figures, restarts
        self._intervals += 1
        if not self.put(frame):
            self._seen = self._version = None

    def _change(self) -> MapChange | None:
        """The cells that differ from the last recorded map; the work grows with the size of the map."""
        grid, before = self._planner.grid, self._seen
        if before is None:
            self._seen = grid.cost_u16.copy()
            return MapChange(None, grid, None, (self._seen.copy(),), None, None)
        states = np.flatnonzero(before.reshape(-1) != grid.cost_u16.reshape(-1)).astype(np.int32)
        if not len(states):
            return None
        values = grid.cost_u16.reshape(-1)[states]
        before.reshape(-1)[states] = values
        return MapChange(None, grid, (states,), (values,), None, None)


def _centre(cell: Cell) -> Pose2D:
    return Pose2D(cell[0] + 0.5, cell[1] + 0.5)
