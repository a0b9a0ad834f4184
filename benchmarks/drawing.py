"""Draws plots as SVG: panels one by one for a page that has light and dark, or all together in a file.

Colours are Okabe and Ito's without black and yellow, so that they can be told apart by everybody, on light and on dark
ground; every line has a mark of its own besides. The last colour is the ink's.
"""

from __future__ import annotations

import io
import math
import re
from typing import TYPE_CHECKING, Any

from benchmarks.plots import Panel, Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#808080', '#a05a2c', '#1f2328')
MARKS = ('o', 's', '^', 'D', 'v', 'P', 'X', '*', 'h')
SIGNS = ('●', '■', '▲', '◆', '▼', '✚', '✖', '★', '⬢')
"""How marks are shown in a legend of letters."""
INK, PAPER = COLOURS[-1], '#ffffff'
PANEL_SIZE = (3.6, 2.9)
WIDE = (5.4, 3.4)
"""In inches: a panel among others, and one alone."""
SETTINGS: dict[str, Any] = {
    **{'svg.fonttype': 'none', 'font.family': 'sans-serif', 'font.sans-serif': ['Arial', 'Helvetica', 'DejaVu Sans']},
    **{'font.size': 9.5, 'axes.spines.top': False, 'axes.spines.right': False, 'axes.linewidth': 0.8},
    **{'axes.edgecolor': INK, 'axes.labelcolor': INK, 'text.color': INK, 'xtick.color': INK, 'ytick.color': INK},
    **{'axes.grid': True, 'grid.color': '#808080', 'grid.alpha': 0.25, 'grid.linewidth': 0.6},
}


def check_matplotlib() -> None:
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise SystemExit(f"the report's plots need matplotlib: pip install 'tb_planner[plot]' ({error})") from error


def style_of(plot: Plot, label: str) -> tuple[str, str, str]:
    """Colour, mark, and the mark as a letter."""
    number = plot.labels.index(label) % len(COLOURS)
    return COLOURS[number], MARKS[number], SIGNS[number]


def settings_for(name: str) -> Any:
    """The same plot gets the same names inside, whenever it is drawn."""
    return {**SETTINGS, 'svg.hashsalt': name}


def panel_svg(plot: Plot, number: int) -> str:
    """One panel, for a page: its ink is the page's, and its names are unlike those of other panels."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(settings_for(f'{plot.name} {number}')):
        figure = Figure(figsize=PANEL_SIZE if len(plot.panels) > 1 else WIDE, layout='constrained')
        draw_panel(figure.add_subplot(), plot, plot.panels[number])
        text = _svg(figure, transparent=True)
    return for_page(text, f'{plot.name}-{number}')


def whole_svg(plot: Plot) -> str:
    """All panels and a legend on white, as a file."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    columns = min(len(plot.panels), 3 if len(plot.panels) % 3 == 0 else 2)
    rows = -(-len(plot.panels) // columns)
    width, height = PANEL_SIZE if columns > 1 else WIDE
    with rc_context(settings_for(plot.name)):
        figure = Figure(figsize=(width * columns, height * rows + 0.6), layout='constrained', facecolor=PAPER)
        for number, panel in enumerate(plot.panels):
            draw_panel(figure.add_subplot(rows, columns, number + 1), plot, panel)
        handles = [_handle(Line2D, plot, label) for label in plot.labels]
        figure.legend(handles=handles, loc='outside lower center', ncols=min(len(handles), 2 + columns), frameon=False)
        return _svg(figure, transparent=False)


def _handle(line_of: Any, plot: Plot, label: str) -> Any:
    colour, mark, _ = style_of(plot, label)
    return line_of([], [], color=colour, marker=mark, markersize=5, label=label)


def draw_panel(axes: Axes, plot: Plot, panel: Panel) -> None:
    for line in panel.lines:
        colour, mark, _ = style_of(plot, line.label)
        axes.plot(
            line.xs,
            line.ys,
            color=colour,
            marker=mark,
            markersize=4.5,
            linewidth=1.3,
            linestyle='dashed' if line.dashed else 'solid',
            markerfacecolor='none' if line.dashed else colour,
            alpha=0.75 if line.dashed else 1.0,
        )
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.title:
        axes.set_title(panel.title, fontsize=10, loc='left')
    _scale(axes.xaxis, [x for line in panel.lines for x in line.xs], panel.x_log, at_points=True)
    _scale(axes.yaxis, [y for line in panel.lines for y in line.ys], panel.y_log, at_points=False)


def _scale(axis: Any, values: list[float], log: bool, *, at_points: bool) -> None:
    """Logarithmic axes with plain numbers: at the points themselves if these are few, else at 1, 2 and 5."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    if not log:
        return
    (axis.axes.set_xscale if axis.axis_name == 'x' else axis.axes.set_yscale)('log')
    points = sorted(set(values))
    if at_points and len(points) <= 8:
        axis.set_major_locator(FixedLocator(_apart(points)))
    elif max(points) < 100 * min(points):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))


def _apart(points: list[float]) -> list[float]:
    """Without those that are too close to the next one for their number."""
    chosen = points[-1:]
    for point in reversed(points[:-1]):
        if math.log(chosen[0] / point) > 0.11 * math.log(points[-1] / points[0]):
            chosen.insert(0, point)
    return chosen


def _plain(value: float) -> str:
    if value >= 10_000:
        return f'{value / 1000:g}k'
    return f'{value:g}' if math.isfinite(value) else ''


def _svg(figure: Any, *, transparent: bool) -> str:
    buffer = io.StringIO()
    nothing = {'Date': None, 'Creator': None, 'Format': None, 'Type': None}
    figure.savefig(buffer, format='svg', transparent=transparent, metadata=nothing)
    return re.sub(
        r'<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>', '', buffer.getvalue(), flags=re.DOTALL
    ).strip()


def for_page(text: str, name: str) -> str:
    """Names made unique, ink as the page's, and nothing that leads out of the page."""
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', '', text).replace('xlink:href', 'href')
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(url\(#|href="#)', rf'\g<1>{name}-', text)
    text = re.sub(r' (width|height)="[\d.]+pt"', '', text, count=2)
    return text.replace(INK, 'currentColor')
