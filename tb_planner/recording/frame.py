"""What is to be seen of a tick, as whoever records leaves it, and what is told once of a whole run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Box, MapGeometry, Pose2D
from tb_planner.search.grid import Grid
from tb_planner.search.planner import Expanded

FRAME_BYTES = 500
"""Of a frame with nothing new in it, about."""
CELL_BYTES = 6
"""Of a cell that has changed: its state and its terrain."""

Marked = Callable[[Box], NDArray[np.bool_]]
"""Where in a box something is."""


@dataclass(frozen=True)
class About:
    """What is recorded, to be shown with it."""

    title: str = ''
    algorithm: str = ''
    period_s: float | None = None
    """Time between two ticks, if there is one."""
    budget_s: float | None = None
    """What a tick may take, for the line among the ticks' times."""
    y_up: bool = True
    """As maps in ROS have it; MovingAI's maps have y down."""
    facts: Mapping[str, str] = field(default_factory=dict)


class MapNews(NamedTuple):
    """The map, or what has changed of it; terrain is nobody else's."""

    geometry: MapGeometry | None
    grid: Grid
    """For its size and rules. Its cells may be others by now."""
    states: tuple[NDArray[np.int32], ...] | None
    """None: all."""
    terrain: tuple[NDArray[np.uint16], ...]
    """Of each array of states; or the whole."""
    obstacles: Marked | None
    unknown: Marked | None
    """As they are when somebody asks; the nearer to the tick, the better they go with the terrain."""

    @property
    def cells(self) -> int:
        return sum(map(len, self.terrain)) if self.states is not None else self.terrain[0].size


class Snapshot:
    """What is marked in a box, as it was; elsewhere as it is."""

    def __init__(self, now: Marked, box: Box) -> None:
        self.now = now
        self._box = box
        self._cells = now(box)

    def __call__(self, box: Box) -> NDArray[np.bool_]:
        if box.overlap(self._box) != box:
            return self.now(box)
        cells: NDArray[np.bool_] = self._cells[self._box.part(box)]
        return cells


class Frame(NamedTuple):
    """What is to be seen of a tick. Places are in metres; of a map without a geometry, in cells."""

    time_s: float
    status: str
    pose: Pose2D | None
    waypoint: Pose2D | None
    goal: Pose2D | None
    restarts: tuple[str, ...]
    left: int
    back: int
    expansions: int
    open_size: int
    news: MapNews | None
    expanded: Expanded | None
    route: NDArray[np.int32] | None
    """Cells, x and y in rows; None: as before, but for what has been walked of it."""
    duration_s: float


def bytes_of(news: MapNews | None, expanded: Expanded | None, route: NDArray[np.int32] | None) -> int:
    """Of a frame, about."""
    size = FRAME_BYTES
    if news is not None:
        size += CELL_BYTES * news.cells
    if expanded is not None:
        size += expanded.states.nbytes
    if route is not None:
        size += route.nbytes
    return size
