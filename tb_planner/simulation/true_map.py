"""The true map: obstacles appear and vanish on it, scripted and at random, but never close to the robot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import BadInput
from tb_planner.files import read_yaml
from tb_planner.geometry import Box, MapGeometry
from tb_planner.maps.costmap import OCCUPIED

MAX_OBSTACLES = 1000

_FREE = 0
_NOT_DRAWN = -128
_EARLY_S = 1e-9  # 3 * 0.1 s must not count as before 0.3 s because of rounding


class ScriptError(BadInput):
    """A file is not a script of obstacles; the message names the file and the mistake."""


@dataclass(frozen=True, kw_only=True)
class Obstacle:
    """A rectangle along the axes of the map that appears at at_s, for for_s seconds, and again every every_s."""

    x_m: float
    y_m: float
    """y of its centre, in the map's frame."""
    width_m: float
    """Size along the x axis of the map."""
    height_m: float
    """Size along the y axis of the map."""
    at_s: float = 0.0
    for_s: float = math.inf
    every_s: float = 0.0
    """The time from one appearance to the next; 0 is only one."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
                raise ValueError(f'{name} is {value!r}; it must be a number')
            if math.isinf(value) and name != 'for_s':
                raise ValueError(f'{name} is {value}; it must be finite')
        for name in ('width_m', 'height_m', 'for_s'):
            if getattr(self, name) <= 0:
                raise ValueError(f'{name} is {getattr(self, name)}; it must be above 0')
        if self.at_s < 0:
            raise ValueError(f'at_s is {self.at_s}; it must be at least 0')
        if self.every_s != 0 and self.every_s <= self.for_s:
            raise ValueError(f'every_s is {self.every_s}; it must be 0 or above for_s, which is {self.for_s}')

    def is_due(self, time_s: float) -> bool:
        since = time_s - self.at_s + _EARLY_S
        if since < 0:
            return False
        return (since % self.every_s if self.every_s else since) < self.for_s

    def box(self, geometry: MapGeometry) -> Box:
        """The cells on the map whose centres it covers, at least one."""
        x, y = geometry.to_grid(self.x_m, self.y_m)
        spans = []
        for centre, size_m, cells in ((x, self.width_m, geometry.width), (y, self.height_m, geometry.height)):
            half = size_m / geometry.resolution_m / 2
            low = min(round(centre - half), math.floor(centre))
            high = max(round(centre + half), math.floor(centre) + 1)
            spans.append((max(low, 0), min(high, cells)))
        (x0, x1), (y0, y1) = spans
        if x0 >= x1 or y0 >= y1:
            size = f'{geometry.width} x {geometry.height} map'
            raise ValueError(f'obstacle at ({self.x_m}, {self.y_m}) lies outside the {size}')
        return Box(x0, y0, x1, y1)


def read_script(path: str | Path) -> list[Obstacle]:
    """Reads a YAML file with a list `obstacles`, whose items have the fields of Obstacle."""
    content = read_yaml(Path(path), ScriptError)
    items = content.get('obstacles') if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise ScriptError(f"{path}: it must have a list 'obstacles'")
    if len(items) > MAX_OBSTACLES:
        raise ScriptError(f'{path}: {len(items)} obstacles; a script has at most {MAX_OBSTACLES}')
    return [_obstacle(item, f'{path}, obstacle {number}') for number, item in enumerate(items, start=1)]


def _obstacle(item: Any, where: str) -> Obstacle:
    known = {field.name for field in fields(Obstacle)}
    if not isinstance(item, Mapping) or not set(item) <= known:
        strange = sorted(map(str, set(item) - known)) if isinstance(item, Mapping) else [repr(item)]
        raise ScriptError(f'{where}: {strange[0]} is not a field; use {", ".join(sorted(known))}')
    try:
        return Obstacle(**item)
    except (TypeError, ValueError) as error:
        raise ScriptError(f'{where}: {error}') from error


@dataclass(frozen=True, kw_only=True)
class RandomChange:
    """The 2014 paper's changes, in time instead of moves.

    Every period_s, rate/2 % of the originally free cells become blocked and, with open_walls, rate/2 % of the
    originally blocked cells become free; each change is drawn from the original map. With a size, cells change in
    squares of that side; without overlaps the squares make up the rate.
    """

    rate: float = 1.0
    period_s: float = 1.0
    size_m: float = 0.0
    open_walls: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 100:
            raise ValueError(f'rate is {self.rate}; it must be a percentage between 0 and 100')
        if not (math.isfinite(self.period_s) and self.period_s > 0):
            raise ValueError(f'period_s is {self.period_s}; it must be above 0')
        if not (math.isfinite(self.size_m) and self.size_m >= 0):
            raise ValueError(f'size_m is {self.size_m}; it must be at least 0')


@dataclass(frozen=True)
class KeepClear:
    """A disc in the map's frame within which no obstacle appears."""

    x_m: float
    y_m: float
    radius_m: float


class TrueMap:
    """The true occupancy at this moment, int8 [y, x]."""

    def __init__(
        self,
        occupancy: NDArray[np.int8],
        geometry: MapGeometry,
        *,
        script: Sequence[Obstacle] = (),
        change: RandomChange | None = None,
        seed: int = 0,
    ) -> None:
        self.geometry = geometry
        self.occupancy = np.array(occupancy, np.int8, order='C')
        self._whole = Box(0, 0, geometry.width, geometry.height)
        self._script = [(obstacle, obstacle.box(geometry)) for obstacle in script]
        self._visible: set[int] = set()
        self._beneath = self.occupancy.copy() if script else self.occupancy  # without the script's obstacles
        self._drawn: NDArray[np.int8] | None = None  # by hand, on top of everything else
        self._change = change
        self._changes = 0
        self._random = np.random.default_rng(seed)
        if change is not None:
            self._original = self.occupancy.copy()
            blocked = self._original >= OCCUPIED
            self._free, self._blocked = np.flatnonzero(self._original == _FREE), np.flatnonzero(blocked)
            side = max(1, round(change.size_m / geometry.resolution_m))
            self._square = np.arange(side) - side // 2
            self._to_block, self._to_free = (
                round(len(cells) * change.rate / 200 / side**2) for cells in (self._free, self._blocked)
            )

    def advance(self, time_s: float, script_time_s: float, clear: Sequence[KeepClear]) -> Box | None:
        """Applies every change that is due; returns the box of the cells that may have changed, or None."""
        touched = self._change_at_random(time_s, clear)
        for number, (obstacle, box) in enumerate(self._script):
            due, visible = obstacle.is_due(script_time_s), number in self._visible
            if due and not visible and not any(self._is_near(box, disc) for disc in clear):
                self._visible.add(number)
                self.occupancy[box.slices] = OCCUPIED
                touched = box.around(touched)
            elif visible and not due:
                self._visible.remove(number)
                self.occupancy[box.slices] = self._beneath[box.slices]
                self._show_obstacles()
                touched = box.around(touched)
        if touched is not None:
            self._show_drawn(touched)
        return touched

    def draw(self, x_m: float, y_m: float, size_m: float, occupied: bool, clear: Sequence[KeepClear]) -> Box | None:
        """Draws a square of obstacle or of free cells over all other changes; returns its box.

        Returns None, and draws nothing, outside the map and where no obstacle may appear.
        """
        x, y = self.geometry.to_grid(x_m, y_m)
        half = size_m / self.geometry.resolution_m / 2
        box = Box(*(math.floor(side + 0.5) for side in (x - half, y - half, x + half, y + half))).overlap(self._whole)
        if box.x0 == box.x1 or box.y0 == box.y1 or (occupied and any(self._is_near(box, disc) for disc in clear)):
            return None
        if self._drawn is None:
            self._drawn = np.full(self.occupancy.shape, _NOT_DRAWN, np.int8)
        self._drawn[box.slices] = OCCUPIED if occupied else _FREE
        self._show_drawn(box)
        return box

    def _show_drawn(self, box: Box) -> None:
        if self._drawn is not None:
            drawn = self._drawn[box.slices]
            is_drawn = drawn != _NOT_DRAWN
            self.occupancy[box.slices][is_drawn] = drawn[is_drawn]

    def _change_at_random(self, time_s: float, clear: Sequence[KeepClear]) -> Box | None:
        change = self._change
        if change is None or time_s + _EARLY_S < (self._changes + 1) * change.period_s:
            return None
        self._changes += 1
        drawn = self._original.copy()
        self._draw_squares(drawn, self._free, self._to_block, OCCUPIED)
        if change.open_walls:
            self._draw_squares(drawn, self._blocked, self._to_free, _FREE)
        for disc in clear:
            self._prevent_new_obstacles(drawn, disc)
        self._beneath[...] = drawn
        if self._beneath is not self.occupancy:
            self.occupancy[...] = drawn
            self._show_obstacles()
        return self._whole

    def _draw_squares(self, drawn: NDArray[np.int8], cells: NDArray[np.intp], count: int, value: int) -> None:
        """Sets squares around `count` of the cells, but only cells that are originally like their centre."""
        centres = self._random.choice(cells, count, replace=False, shuffle=False)
        if self._square.size == 1:
            drawn.reshape(-1)[centres] = value
            return
        y, x = np.divmod(centres, self.geometry.width)
        rows = np.clip(y[:, None, None] + self._square[:, None], 0, self.geometry.height - 1)
        columns = np.clip(x[:, None, None] + self._square, 0, self.geometry.width - 1)
        places = (rows * self.geometry.width + columns).reshape(-1)
        original = self._original.reshape(-1)[places]
        fits = original == _FREE if value == OCCUPIED else original >= OCCUPIED
        drawn.reshape(-1)[places[fits]] = value

    def _show_obstacles(self) -> None:
        for number in self._visible:
            self.occupancy[self._script[number][1].slices] = OCCUPIED

    def _prevent_new_obstacles(self, drawn: NDArray[np.int8], disc: KeepClear) -> None:
        """Undoes new obstacles within the disc; obstacles may vanish there, so that no robot stays trapped."""
        x, y = self.geometry.to_grid(disc.x_m, disc.y_m)
        reach = disc.radius_m / self.geometry.resolution_m
        low, high = (math.floor(x - reach), math.floor(y - reach)), (math.ceil(x + reach), math.ceil(y + reach))
        box = Box(*low, *high).overlap(self._whole)
        away_x = np.maximum(np.abs(np.arange(box.x0, box.x1) + 0.5 - x) - 0.5, 0.0)
        away_y = np.maximum(np.abs(np.arange(box.y0, box.y1) + 0.5 - y) - 0.5, 0.0)
        near = away_x**2 + away_y[:, None] ** 2 < reach**2
        new, old = drawn[box.slices], self._beneath[box.slices]
        appears = near & (new >= OCCUPIED) & (old < OCCUPIED)
        new[appears] = old[appears]

    def _is_near(self, box: Box, disc: KeepClear) -> bool:
        x, y = self.geometry.to_grid(disc.x_m, disc.y_m)
        away_x, away_y = max(box.x0 - x, x - box.x1, 0.0), max(box.y0 - y, y - box.y1, 0.0)
        return math.hypot(away_x, away_y) < disc.radius_m / self.geometry.resolution_m
