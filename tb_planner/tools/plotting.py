"""Pictures of a run of an agent, or of a robot's drive.

The picture of a run shows the map, expanded cells, the Open list, the moves, start and goal. The picture of a drive
shows the map, obstacles that appeared, the path driven, the shortest path, and the places of restarts.

Every cell is a square of whole pixels; on large maps a pixel is the mean of a square of cells. So the picture is sharp
at its own size. Lines, marks and letters grow with the picture. Unknown cells around the map are cut off. The colours
are Okabe and Ito's, which people with any kind of colour vision can distinguish. Backtracking moves are drawn last.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import OperationFailed
from tb_planner.geometry import Cell
from tb_planner.maps.costmap import OCCUPIED, UNKNOWN
from tb_planner.maps.files import Map

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCKED_COLOUR = '#30343b'
INFLATED_COLOUR = '#9097a1'
HIGHER_COST_COLOUR = '#bcc2ca'
UNKNOWN_COLOUR = '#dcdfe4'
FREE_COLOUR = '#ffffff'
EXPANDED_COLOUR = '#c4e3f6'
OPEN_COLOUR = '#009e73'
AHEAD_COLOUR = '#0072b2'
BACK_COLOUR = '#d55e00'
APPEARED_COLOUR = '#e69f00'
SHORTEST_COLOUR = '#cc79a7'
RESTART_COLOUR = '#f0643c'
START_COLOUR = '#ffffff'
GOAL_COLOUR = '#f0e442'
INK = '#20242a'
FAINT_INK = '#6b7280'

DPI = 100
SMALL_SIDE = 800
"""Cells of small maps are magnified until the longer side has this many pixels."""
LARGE_SIDE = 2400
"""Cells of large maps share pixels so that the longer side has no more than these."""
LARGEST_CELL = 80
NARROWEST_PAGE = 900
RULED_CELL = 16
"""Lines are drawn between cells from this many pixels a cell on."""
RIM = 8
"""Cells of unknown surroundings that are shown."""


Points = Sequence[tuple[float, float]]


class PictureError(OperationFailed):
    """A picture cannot be drawn; the message names the missing package or the file."""


def check_matplotlib() -> None:
    """Raises PictureError if matplotlib is missing; call it before a long run."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise PictureError('pictures need the Python package matplotlib, which is not installed') from error


def draw(
    map_: Map,
    costs: NDArray[np.float32],
    *,
    start: Cell,
    goal: Cell,
    expanded: NDArray[np.bool_] | None = None,
    open_cells: Sequence[Cell] = (),
    walked: Sequence[Cell] = (),
    appeared: NDArray[np.bool_] | None = None,
    shortest: Points = (),
    driven: Points = (),
    restarts: Points = (),
    title: str = '',
    figures: Sequence[str] = (),
) -> Figure:
    """Draws a run or a drive on a map. The search used `costs` (inf is blocked), which were made from the map.

    The points of a drive are in cells; whole numbers are the centres of cells.
    """
    check_matplotlib()
    from matplotlib.figure import Figure

    scene = _Scene(map_, costs, start, goal, expanded, open_cells, walked, appeared, shortest, driven, restarts)
    page = _Page(scene, figures)
    figure = Figure(figsize=(page.width / DPI, page.height / DPI), dpi=DPI, facecolor='white')
    axes = figure.add_axes(page.map_rectangle)
    _draw_cells(axes, scene, page)
    _draw_scales(axes, page)
    _draw_walk(axes, scene, page)
    _draw_drive(axes, scene, page)
    _draw_mark(axes, start, _START, page)
    _draw_mark(axes, goal, _GOAL, page)
    _write_title(figure, title, page)
    _write_legend(figure, scene, page)
    return figure


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Writes the figure as a PNG, pixel by pixel as it was laid out."""
    figure.savefig(path, dpi=DPI, format='png')


def backtracking_moves(walked: Sequence[Cell]) -> list[bool]:
    """Returns for every move whether it undoes the last move that is not undone yet."""
    trail = list(walked[:1])
    steps = []
    for cell in walked[1:]:
        steps.append(len(trail) > 1 and cell == trail[-2])
        if steps[-1]:
            trail.pop()
        else:
            trail.append(cell)
    return steps


@dataclass(frozen=True, eq=False)
class _Scene:
    """Everything that the picture shows."""

    map_: Map
    costs: NDArray[np.float32]
    start: Cell
    goal: Cell
    expanded: NDArray[np.bool_] | None
    open_cells: Sequence[Cell]
    walked: Sequence[Cell]
    appeared: NDArray[np.bool_] | None
    shortest: Points
    driven: Points
    restarts: Points

    @property
    def unknown(self) -> NDArray[np.bool_]:
        return self.map_.occupancy == UNKNOWN

    @property
    def inflated(self) -> NDArray[np.bool_]:
        """Cells that are blocked only because an obstacle is near."""
        return np.isinf(self.costs) & (self.map_.occupancy < OCCUPIED) & ~self.unknown

    @property
    def relative_cost(self) -> NDArray[np.float32]:
        """0 for cells of cost 1, and 1 for the highest cost of cells that are not blocked."""
        above = np.where(np.isinf(self.costs), np.float32(0), self.costs - 1)
        highest = above.max()
        return above / highest if highest > 0 else above

    def window(self) -> tuple[slice, slice]:
        """Returns the rows and columns that the picture shows."""
        seen = ~self.unknown
        if self.expanded is not None:
            seen |= self.expanded
        columns, rows = np.array([self.start, self.goal, *self.walked]).T
        seen[rows, columns] = True
        return _span(np.any(seen, axis=1)), _span(np.any(seen, axis=0))

    def colours(self) -> NDArray[np.uint8]:
        picture = np.empty((*self.costs.shape, 3), np.uint8)
        picture[:] = _rgb(FREE_COLOUR)
        picture[self.unknown] = _rgb(UNKNOWN_COLOUR)
        _darken(picture, self.relative_cost)
        if self.expanded is not None:
            tint = _rgb(EXPANDED_COLOUR).astype(np.uint16)
            picture[self.expanded] = picture[self.expanded] * tint // 255
        picture[self.inflated] = _rgb(INFLATED_COLOUR)
        if self.appeared is not None:
            picture[self.appeared] = _rgb(APPEARED_COLOUR)
        picture[self.map_.blocked] = _rgb(BLOCKED_COLOUR)
        if self.open_cells:
            columns, rows = np.array(self.open_cells).T
            picture[rows, columns] = _rgb(OPEN_COLOUR)
        return picture


class _Page:
    """The layout, in pixels from the top left corner."""

    def __init__(self, scene: _Scene, figures: Sequence[str]) -> None:
        self.map_ = scene.map_
        self.in_metres = scene.map_.y_up and scene.map_.origin[2] == 0
        self.rows, self.columns = scene.window()
        columns, rows = self.columns.stop - self.columns.start, self.rows.stop - self.rows.start
        self.magnify = min(-(-SMALL_SIDE // max(rows, columns)), LARGEST_CELL)
        self.shrink = -(-max(rows, columns) // LARGE_SIDE)
        self.map_size = -(-columns // self.shrink) * self.magnify, -(-rows // self.shrink) * self.magnify
        self.unit = unit = max(*self.map_size, 1000) / 1000
        """The unit of lines, letters and marks, in pixels; it grows with the picture."""
        self.left, right = round(70 * unit), round(30 * unit)
        self.width = max(self.map_size[0] + self.left + right, round(NARROWEST_PAGE * unit))
        self.figures = _wrapped(figures, int((self.width - self.left - right) / (8 * unit)))
        entries = len(_legend_entries(scene))
        legend_rows = -(-entries // max(int((self.width - self.left) / (140 * unit)), 1))
        self.legend_columns = -(-entries // legend_rows)
        self.top = round((62 + 22 * len(self.figures)) * unit)
        bottom = round(((54 if scene.map_.y_up else 36) + 24 * legend_rows + 10) * unit)
        self.height = self.top + self.map_size[1] + bottom

    @property
    def map_rectangle(self) -> tuple[float, float, float, float]:
        """Left, lower edge, width and height as parts of the page."""
        width, height = self.map_size
        below = self.height - self.top - height
        return self.left / self.width, below / self.height, width / self.width, height / self.height

    def points(self, cells: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
        """x and y of the centres of cells: metres in the map's frame, or cells."""
        x, y = np.array(cells, np.float64).T
        if self.in_metres:
            step = self.map_.resolution_m
            x, y = self.map_.origin[0] + (x + 0.5) * step, self.map_.origin[1] + (y + 0.5) * step
        return np.array([x, y])

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Edges of the map's picture, of whole pixels: where cells share them, the last may reach beyond the map."""
        width, height = (n // self.magnify * self.shrink for n in self.map_size)
        first = self.columns.start - 0.5, self.rows.start - 0.5
        (left, right), (low, high) = self.points([first, (first[0] + width, first[1] + height)])
        return (left, right, low, high) if self.map_.y_up else (left, right, high, low)

    def across(self, pixels: float) -> float:
        return pixels / self.width

    def down(self, pixels: float) -> float:
        return 1 - pixels / self.height

    @property
    def line_width(self) -> float:
        """A part of a cell, but never so thin that it is lost when the picture is looked at in a smaller size."""
        return min(max(0.5 * self.magnify, 3.2 * self.unit), 8 * self.unit)

    def mark_size(self, size: float) -> float:
        return max(size * self.unit, min(size / 30, 1.0) * self.magnify)


def _wrapped(figures: Sequence[str], letters: int) -> tuple[str, ...]:
    """The figures in lines that break only between them."""
    unbroken = (figure.replace(' ', '\N{NO-BREAK SPACE}') for figure in figures)
    return tuple(textwrap.wrap(' · '.join(unbroken), letters, break_long_words=False))


def _draw_cells(axes: Axes, scene: _Scene, page: _Page) -> None:
    colours = _shrunk(scene.colours()[page.rows, page.columns], page.shrink)
    axes.imshow(
        colours,
        origin='lower' if page.map_.y_up else 'upper',
        extent=page.extent,
        interpolation='nearest',
        aspect='auto',
    )
    if page.magnify >= RULED_CELL:
        (left, right), (first, last) = page.extent[:2], page.extent[2:]
        for x in np.linspace(left, right, page.columns.stop - page.columns.start + 1):
            axes.axvline(x, **_RULE)
        for y in np.linspace(first, last, page.rows.stop - page.rows.start + 1):
            axes.axhline(y, **_RULE)
    axes.set(xlim=page.extent[:2], ylim=page.extent[2:])


def _draw_scales(axes: Axes, page: _Page) -> None:
    from matplotlib.ticker import MaxNLocator

    size, width = _points(12 * page.unit), _points(page.unit)
    axes.tick_params(labelsize=size, colors=FAINT_INK, width=width, length=_points(4 * page.unit))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=9, steps=[1, 2, 5, 10], integer=not page.in_metres, min_n_ticks=1))
    for spine in axes.spines.values():
        spine.set(color=FAINT_INK, linewidth=width)
    if page.in_metres:
        axes.set_xlabel('x in m', fontsize=size, color=FAINT_INK)
        axes.set_ylabel('y in m', fontsize=size, color=FAINT_INK)


def _draw_walk(axes: Axes, scene: _Scene, page: _Page) -> None:
    if len(scene.walked) < 2:
        return
    back = np.array(backtracking_moves(scene.walked))
    line = page.points(scene.walked)
    width = _points(page.line_width)
    axes.plot(*line, color='white', alpha=0.85, linewidth=1.8 * width, **_ROUND)
    axes.plot(*_steps(line, ~back), color=AHEAD_COLOUR, linewidth=width, **_ROUND)
    axes.plot(*_steps(line, back), color=BACK_COLOUR, linewidth=0.9 * width, **_ROUND)


def _draw_drive(axes: Axes, scene: _Scene, page: _Page) -> None:
    width = _points(page.line_width)
    for path, colour, style in ((scene.shortest, SHORTEST_COLOUR, 'dashed'), (scene.driven, AHEAD_COLOUR, 'solid')):
        if len(path) > 1:
            line = page.points(path)
            axes.plot(*line, color='white', alpha=0.85, linewidth=1.8 * width, **_ROUND)
            axes.plot(*line, color=colour, linestyle=style, linewidth=width, **_ROUND)
    for place in scene.restarts:
        _draw_mark(axes, place, _RESTART, page)


def _draw_mark(axes: Axes, cell: tuple[float, float], mark: dict[str, Any], page: _Page) -> None:
    size = page.mark_size(mark['markersize'])
    axes.plot(*page.points([cell]), **{**mark, **_mark_of_size(size)}, clip_on=False, zorder=3)


def _write_title(figure: Figure, title: str, page: _Page) -> None:
    """Writes plain text: the name of a map may contain dollar signs."""
    x, y = page.across(page.left), 18 * page.unit
    size = _points(19 * page.unit)
    figure.text(x, page.down(y), title, va='top', weight='bold', color=INK, size=size, parse_math=False)
    y += 30 * page.unit
    size = _points(15 * page.unit)
    for line in page.figures:
        figure.text(x, page.down(y), line, va='top', color=FAINT_INK, size=size, parse_math=False)
        y += 22 * page.unit


def _legend_entries(scene: _Scene) -> list[tuple[str, str]]:
    """Label and colour of everything that is in the picture."""
    entries = [
        (True, 'start', START_COLOUR),
        (True, 'goal', GOAL_COLOUR),
        (len(scene.walked) > 1, 'moves', AHEAD_COLOUR),
        (any(backtracking_moves(scene.walked)), 'backtracking', BACK_COLOUR),
        (len(scene.driven) > 1, 'driven', AHEAD_COLOUR),
        (len(scene.shortest) > 1, 'shortest path', SHORTEST_COLOUR),
        (bool(scene.restarts), 'restart', RESTART_COLOUR),
        (scene.expanded is not None and scene.expanded.any(), 'expanded', EXPANDED_COLOUR),
        (bool(scene.open_cells), 'open', OPEN_COLOUR),
        (scene.map_.blocked.any(), 'blocked', BLOCKED_COLOUR),
        (scene.appeared is not None and scene.appeared.any(), 'appeared', APPEARED_COLOUR),
        (scene.inflated.any(), 'inflated', INFLATED_COLOUR),
        (scene.relative_cost.any(), 'higher cost', HIGHER_COST_COLOUR),
        (scene.unknown.any(), 'unknown', UNKNOWN_COLOUR),
    ]
    return [(label, colour) for is_shown, label, colour in entries if is_shown]


def _write_legend(figure: Figure, scene: _Scene, page: _Page) -> None:
    figure.legend(
        handles=[_legend_handle(label, colour, page) for label, colour in _legend_entries(scene)],
        loc='lower left',
        bbox_to_anchor=(page.across(page.left), page.unit * 12 / page.height),
        ncols=page.legend_columns,
        fontsize=_points(13.5 * page.unit),
        frameon=False,
        labelcolor=INK,
        borderpad=0,
        borderaxespad=0,
        handlelength=1.4,
        columnspacing=1.4,
    )


def _legend_handle(label: str, colour: str, page: _Page) -> Artist:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    for mark in (_START, _GOAL, _RESTART):
        if mark['markerfacecolor'] == colour:
            return Line2D([], [], label=label, **{**mark, **_mark_of_size(mark['markersize'] * page.unit)})
    if colour in (AHEAD_COLOUR, BACK_COLOUR, SHORTEST_COLOUR):
        width = min(page.line_width, 5 * page.unit) * (0.9 if colour == BACK_COLOUR else 1)
        line = Line2D([], [], label=label, color=colour, linewidth=_points(width), **_ROUND)
        line.set_linestyle('dashed' if colour == SHORTEST_COLOUR else 'solid')
        return line
    return Patch(label=label, facecolor=colour, edgecolor=FAINT_INK, linewidth=_points(0.8 * page.unit))


_ROUND: dict[str, Any] = {'solid_capstyle': 'round', 'solid_joinstyle': 'round'}
_RULE: dict[str, Any] = {'color': FAINT_INK, 'alpha': 0.25, 'linewidth': 0.72, 'zorder': 1}
_START: dict[str, Any] = {'marker': 'o', 'markersize': 13, 'markerfacecolor': START_COLOUR}
_GOAL: dict[str, Any] = {'marker': '*', 'markersize': 22, 'markerfacecolor': GOAL_COLOUR}
_RESTART: dict[str, Any] = {'marker': 'X', 'markersize': 12, 'markerfacecolor': RESTART_COLOUR}


def _mark_of_size(pixels: float) -> dict[str, Any]:
    size = _points(pixels)
    return {'markersize': size, 'markeredgecolor': INK, 'markeredgewidth': max(size / 11, 1.2), 'linestyle': 'none'}


def _steps(line: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The chosen steps of a line, with gaps between them."""
    gaps = np.full((2, int(chosen.sum())), np.nan)
    return np.stack([line[:, :-1][:, chosen], line[:, 1:][:, chosen], gaps], axis=-1).reshape(2, -1)


def _span(seen: NDArray[np.bool_]) -> slice:
    """From the first to the last one seen, and a rim."""
    places = np.flatnonzero(seen)
    return slice(max(int(places[0]) - RIM, 0), min(int(places[-1]) + 1 + RIM, len(seen)))


def _darken(picture: NDArray[np.uint8], relative_cost: NDArray[np.float32]) -> None:
    darkest = _rgb(HIGHER_COST_COLOUR).astype(np.float32) / 255
    for channel in range(3):
        factor = 1 - relative_cost * (1 - darkest[channel])
        picture[..., channel] = (picture[..., channel] * factor).astype(np.uint8)


def _shrunk(picture: NDArray[np.uint8], by: int) -> NDArray[np.uint8]:
    """Means of squares of cells; the last ones are filled up with their own edge."""
    if by == 1:
        return picture
    height, width = picture.shape[:2]
    full = np.pad(picture, ((0, -height % by), (0, -width % by), (0, 0)), mode='edge')
    squares = full.reshape(full.shape[0] // by, by, full.shape[1] // by, by, 3)
    return squares.mean(axis=(1, 3), dtype=np.float32).astype(np.uint8)


def _rgb(colour: str) -> NDArray[np.uint8]:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)], np.uint8)


def _points(pixels: float) -> float:
    return pixels * 72 / DPI
