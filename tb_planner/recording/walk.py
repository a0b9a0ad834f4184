"""RecordedWalk: a world that records what an agent does in it, for move_to_goal()."""

from __future__ import annotations

import os
import time

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell, Pose2D
from tb_planner.recording.writer import About, Frame, MapChange, NotRecorded, RecordWriter
from tb_planner.search.agent import Observation, World
from tb_planner.search.planner import Status, TimeBoundedPlanner


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
