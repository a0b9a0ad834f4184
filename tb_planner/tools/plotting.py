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
LEGEND_ROWS, LEGEND_COLUMNS = 2, 5
"""A run and a drive have up to ten entries each."""
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
        raise PictureError('pictures need matplotlib, which is not installed: pip install matplotlib') from error


def draw(scene: Scene, *, title: str = '', figures: Sequence[str] = ()) -> Figure:
    """Draws a run or a drive on a map, with its figures below the title."""
    check_matplotlib()
    from matplotlib.figure import Figure

    page = _Page(scene, figures)
    figure = Figure(figsize=(page.width / DPI, page.height / DPI), dpi=DPI, facecolor='white')
    axes = figure.add_axes(page.map_rectangle)
    _draw_cells(axes, scene, page)
    _draw_scales(axes, page)
    _draw_lines(axes, scene, page)
    _draw_marks(axes, scene, page)
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
class Scene:
    """Everything that a picture shows. The search used `costs` (inf is blocked), which were made from the map.

    The points of a drive are in cells; whole numbers are the centres of cells.
    """

    map_: Map
    costs: NDArray[np.float32]
    start: Cell
    goal: Cell
    expanded: NDArray[np.bool_] | None = None
    open_cells: Sequence[Cell] = ()
    walked: Sequence[Cell] = ()
    appeared: NDArray[np.bool_] | None = None
    shortest: Points = ()
    driven: Points = ()
    restarts: Points = ()

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

    def __init__(self, scene: Scene, figures: Sequence[str]) -> None:
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
        self.top = round((62 + 22 * len(self.figures)) * unit)
        bottom = round(((54 if scene.map_.y_up else 36) + 24 * LEGEND_ROWS + 10) * unit)
        self.height = self.top + self.map_size[1] + bottom

    @property
    def map_rectangle(self) -> tuple[float, float, float, float]:
        """Left, lower edge, width and height as parts of the page."""
        width, height = self.map_size
        below = self.height - self.top - height
        return self.left / self.width, below / self.height, width / self.width, height / self.height

    def points(self, cells: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
        """x and y of the centres of cells: metres in the map's frame, or cells."""
        x, y = np.array(cells, np.float64).reshape(-1, 2).T
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


def _wrapped(figures: Sequence[str], letters: int) -> tuple[str, ...]:
    """The figures in lines that break only between them."""
    unbroken = (figure.replace(' ', '\N{NO-BREAK SPACE}') for figure in figures)
    return tuple(textwrap.wrap(' · '.join(unbroken), letters, break_long_words=False))


def _draw_cells(axes: Axes, scene: Scene, page: _Page) -> None:
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


def _draw_lines(axes: Axes, scene: Scene, page: _Page) -> None:
    """Draws each line above a white one, which sets it off from the cells."""
    back = np.array(backtracking_moves(scene.walked), bool)
    # a part of a cell, but never so thin that it is lost when the picture is looked at in a smaller size
    width = _points(min(max(0.5 * page.magnify, 3.2 * page.unit), 8 * page.unit))
    walked = page.points(scene.walked)
    for label, colour, style, line in (
        ('moves', AHEAD_COLOUR, 'solid', _steps(walked, ~back)),
        ('backtracking', BACK_COLOUR, 'solid', _steps(walked, back)),
        ('shortest path', SHORTEST_COLOUR, 'dashed', page.points(scene.shortest)),
        ('driven', AHEAD_COLOUR, 'solid', page.points(scene.driven)),
    ):
        if line.shape[1] > 1:
            axes.plot(*line, color='white', alpha=0.85, linewidth=1.8 * width, zorder=1.5, **_ROUND)
            axes.plot(*line, color=colour, linestyle=style, linewidth=width, label=label, **_ROUND)


def _draw_marks(axes: Axes, scene: Scene, page: _Page) -> None:
    for label, colour, marker, pixels, cells in (
        ('restart', RESTART_COLOUR, 'X', 12, scene.restarts),
        ('start', START_COLOUR, 'o', 13, [scene.start]),
        ('goal', GOAL_COLOUR, '*', 22, [scene.goal]),
    ):
        if len(cells):
            size = _points(pixels * page.unit)
            edge: dict[str, Any] = {'markeredgecolor': INK, 'markeredgewidth': max(size / 11, 1.2)}
            line = axes.plot(*page.points(cells), marker, color=colour, markersize=size, label=label, **edge)
            line[0].set(clip_on=False, zorder=3)


def _write_title(figure: Figure, title: str, page: _Page) -> None:
    """Writes plain text: the name of a map may contain dollar signs."""
    lines = [(18, 19, INK, 'bold', title)]
    lines += [(48 + 22 * number, 15, FAINT_INK, 'normal', line) for number, line in enumerate(page.figures)]
    for down, letter, colour, weight, text in lines:
        x, y = page.left / page.width, 1 - down * page.unit / page.height
        size = _points(letter * page.unit)
        figure.text(x, y, text, va='top', weight=weight, color=colour, size=size, parse_math=False)


def _write_legend(figure: Figure, scene: Scene, page: _Page) -> None:
    """Names everything that is in the picture."""
    from matplotlib.patches import Patch

    areas = [
        (scene.expanded is not None and scene.expanded.any(), 'expanded', EXPANDED_COLOUR),
        (bool(scene.open_cells), 'open', OPEN_COLOUR),
        (scene.map_.blocked.any(), 'blocked', BLOCKED_COLOUR),
        (scene.appeared is not None and scene.appeared.any(), 'appeared', APPEARED_COLOUR),
        (scene.inflated.any(), 'inflated', INFLATED_COLOUR),
        (scene.relative_cost.any(), 'higher cost', HIGHER_COST_COLOUR),
        (scene.unknown.any(), 'unknown', UNKNOWN_COLOUR),
    ]
    edge: dict[str, Any] = {'edgecolor': FAINT_INK, 'linewidth': _points(0.8 * page.unit)}
    drawn, _ = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles=[*drawn, *(Patch(label=label, facecolor=colour, **edge) for shown, label, colour in areas if shown)],
        loc='lower left',
        bbox_to_anchor=(page.left / page.width, page.unit * 12 / page.height),
        ncols=LEGEND_COLUMNS,
        fontsize=_points(13.5 * page.unit),
        frameon=False,
        labelcolor=INK,
        borderpad=0,
        borderaxespad=0,
        handlelength=1.4,
        columnspacing=1.4,
    )


_ROUND: dict[str, Any] = {'solid_capstyle': 'round', 'solid_joinstyle': 'round'}
_RULE: dict[str, Any] = {'color': FAINT_INK, 'alpha': 0.25, 'linewidth': 0.72, 'zorder': 1}


def _steps(line: NDArray[np.float64], chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The chosen steps of a line, with gaps between them."""
    gaps = np.full((2, int(chosen.sum())), np.nan)
    return np.stack([line[:, :-1][:, chosen], line[:, 1:][:, chosen], gaps], axis=-1).reshape(2, -1)


def _span(seen: NDArray[np.bool_]) -> slice:
    """The places from the first to the last one seen, with a rim."""
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
