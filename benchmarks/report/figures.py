"""The figures of the report, drawn as SVG: the verdicts by paper, and figures like those of the papers, which are lines
of means over all problems.

Colours are Okabe and Ito's without black and yellow, which everybody can distinguish; every line has its own mark.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from benchmarks.report.groups import GroupMeans, Groups, NotRun
from benchmarks.report.judge import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLOURS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#808080', '#a05a2c', '#1f2328')
MARKS = ('o', 's', '^', 'D', 'v', 'P', 'X', '*', 'h')
INK, PAPER = COLOURS[-1], '#ffffff'
PANEL_INCHES, SINGLE_INCHES = (3.6, 2.9), (5.4, 3.4)
SETTINGS: dict[str, Any] = {
    **{'svg.fonttype': 'none', 'font.family': 'sans-serif', 'font.sans-serif': ['Arial', 'Helvetica', 'DejaVu Sans']},
    **{'font.size': 9.5, 'axes.spines.top': False, 'axes.spines.right': False, 'axes.linewidth': 0.8},
    **{'axes.edgecolor': INK, 'axes.labelcolor': INK, 'text.color': INK, 'xtick.color': INK, 'ytick.color': INK},
    **{'axes.grid': True, 'grid.color': '#808080', 'grid.alpha': 0.25, 'grid.linewidth': 0.6},
}
BAR_INCHES, BAR_HEIGHT = (7.2, 0.55), 0.62
VERDICT_COLOURS = {
    Verdict.SUPPORTED: '#5cc4a2',
    Verdict.CONTRADICTED: '#ee9a66',
    Verdict.MIXED: '#f0c24b',
    Verdict.INCONCLUSIVE: '#c3c9d0',
    Verdict.NOT_JUDGED: PAPER,
}
Points = Sequence[tuple[float, float]]
Place = tuple[str | None, float, str, float]


@dataclass(frozen=True)
class Line:
    label: str
    points: Points
    dashed: bool = False  # published, or another measure; see the caption


@dataclass(frozen=True)
class Panel:
    title: str
    lines: list[Line]
    x_label: str
    y_label: str
    x_log: bool = True
    y_log: bool = True


@dataclass(frozen=True)
class Figure:
    """Panels side by side that share a legend."""

    paper: str
    name: str
    title: str
    caption: str
    panels: list[Panel]

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(line.label for panel in self.panels for line in panel.lines))


@dataclass(frozen=True)
class ClaimBars:
    """A bar for each paper: how many of its claims have which verdict."""

    name: str
    title: str
    counts: dict[str, dict[Verdict, int]]

    @property
    def description(self) -> str:
        """The counts in words."""
        papers = (
            f'{paper}: {", ".join(f"{count} {verdict.value}" for verdict, count in counts.items() if count)}'
            for paper, counts in self.counts.items()
        )
        return '; '.join(papers) + '.'


class Source:
    """The means of a part, as points of lines."""

    def __init__(self, groups: Groups, data: dict[str, Any], experiment: str, part: str) -> None:
        self.means: GroupMeans = groups.means(experiment, part)
        self.measures: dict[str, str] = data['measures']

    def value(self, measure: str, series: str, x: float, set_name: str | None = None, rate: float = 0.0) -> float:
        return self.means.mean(self.measures.get(measure, measure), series, x, set_name, rate)

    def xs(self, series: str, set_name: str | None = None, rate: float = 0.0) -> list[float]:
        found = {x for s, r, name, x in self.means.places if set_name in (None, s) and (r, name) == (rate, series)}
        return sorted(x for x in found if math.isfinite(x))

    def line(
        self, measure: str, series: str, set_name: str | None = None, rate: float = 0.0, factor: float = 1
    ) -> Line:
        xs = self.xs(series, set_name, rate)
        return Line(series, [(x, factor * self.value(measure, series, x, set_name, rate)) for x in xs])

    def panels(self, measure: str, y_label: str, factor: float = 1, y_log: bool = True) -> list[Panel]:
        """A panel for each rate of change; on static maps, for each set of maps."""
        static = self.means.rates == [0.0]
        places = [(name, 0.0) for name in self.means.sets] if static else [(None, rate) for rate in self.means.rates]
        panels = []
        for set_name, rate in places:
            lines = [self.line(measure, name, set_name, rate, factor) for name in self.means.series]
            panels.append(Panel(set_name or f'rate {rate:g} %', lines, 'look-ahead k', y_label, y_log=y_log))
        return panels

    def lazy_over_eager(self, label: str, points: Sequence[Place]) -> list[Line]:
        """Solid: search time. Dashed: expansions. points: set of maps, rate, algorithm, and x of the ratio."""
        lines = []
        for measure, dashed in (('search time', False), ('expansions', True)):
            values = [
                [self.value(measure, f'{name}, {rule}', math.inf, set_name, rate) for rule in ('lazy', 'eager')]
                for set_name, rate, name, _ in points
            ]
            ratios = [(point[3], lazy / eager) for point, (lazy, eager) in zip(points, values)]
            lines.append(Line(label, ratios, dashed))
        return lines


# ---------------------------------------------------------------------- the figures
def figure_3_of_2009(groups: Groups, data: dict[str, Any]) -> Figure:
    source = Source(groups, data, '2009', 'Figure 3')
    lines = []
    for name in source.means.series:
        points = [
            (source.value('expansions_a_move / counted', name, x), source.value('cost over shortest', name, x))
            for x in source.xs(name)
        ]
        lines.append(Line(name, sorted(points)))
    caption = (
        'Each point is a setting (R, depth, queue, look-ahead); nearer to the lower left is better. TBA* expands '
        'nothing once it has found its path, so its points are close together.'
    )
    panels = [Panel('', lines, 'states expanded an action', 'cost / shortest')]
    return Figure('2009', '2009-figure-3', '2009, Figure 3: TBA* against real-time search', caption, panels)


def table_1_of_2009(groups: Groups, data: dict[str, Any]) -> Figure:
    source, printed = Source(groups, data, '2009', 'Table 1'), data['published']['2009']
    lines = []
    for label, name in (('early (TBA*)', 'TBA*'), ('late (A*)', 'late A*')):
        lines.append(Line(label, source.line('cost over shortest', name).points))
        lines.append(Line(label, list(zip(printed['x'], printed[name], strict=True)), dashed=True))
    panels = [Panel('', lines, 'R, resources an action', 'cost / shortest')]
    caption = 'Solid: here. Dashed: published.'
    return Figure('2009', '2009-table-1', '2009, Table 1: acting early and late', caption, panels)


def enhancements_of_2009(groups: Groups, data: dict[str, Any]) -> Figure:
    source = Source(groups, data, '2009', 'enhancements')
    basic = dict(source.line('cost over shortest', 'TBA*, basic').points)
    lines = []
    for name in ('shortcut', 'path switch', 'both'):
        points = source.line('cost over shortest', f'TBA*, {name}').points
        lines.append(Line(name, [(x, 100 * (1 - y / basic[x])) for x, y in points]))
    caption = (
        'How much shorter the paths are than those of basic TBA*. The paper has about 2 % for the rule for switching '
        'paths at R ≤ 100, and nothing significant for shortcuts.'
    )
    panels = [Panel('', lines, 'R, resources an action', 'shorter by, %', y_log=False)]
    return Figure('2009', '2009-enhancements', '2009, section 4.3: the two enhancements', caption, panels)


def tables_of_2012(groups: Groups, data: dict[str, Any]) -> Figure:
    panels = []
    for table, terrain in (('Table 1', 'known'), ('Table 2', 'unknown'), ('Table 3', 'partly unknown')):
        source, lines = Source(groups, data, '2012', table), []
        for name, printed in data['published'][table].items():
            lines.append(source.line('intervals', name))
            lines.append(Line(name, list(zip(data['published']['x'], printed, strict=True)), dashed=True))
        panels.append(Panel(f'{table}, {terrain}', lines, 'expansions an interval', 'intervals'))
    caption = 'Solid: here, by expansions. Dashed: published, by time; 0.3 ms are taken for 1,130 expansions.'
    return Figure('2012', '2012-tables', '2012, Tables 1 to 3: time intervals to the goal', caption, panels)


def static_of_2014(
    number: int, title: str, measure: str, y_label: str, factor: float = 1, y_log: bool = True
) -> Callable[[Groups, dict[str, Any]], Figure]:
    def figure(groups: Groups, data: dict[str, Any]) -> Figure:
        panels = Source(groups, data, '2014', 'Figures 1-4').panels(measure, y_label, factor, y_log)
        caption = 'Means over all problems of a set. The paper shows BG and ROOMS.'
        return Figure('2014', f'2014-figure-{number}', f'2014, Figure {number}: {title}', caption, panels)

    return figure


def figure_5_of_2014(groups: Groups, data: dict[str, Any]) -> Figure:
    source = Source(groups, data, '2014-dynamic', 'Figure 5')
    panels = source.panels('cost', 'cost') + source.panels('search time', 'search time, ms', 1e3)
    title = '2014, Figure 5: cost and search time on changing maps'
    return Figure('2014', '2014-figure-5', title, 'With lazy restarts.', panels)


def figure_6_of_2014(groups: Groups, data: dict[str, Any]) -> Figure:
    source = Source(groups, data, '2014-dynamic', 'Figure 6')
    names = [name.removesuffix(', lazy') for name in data['series']['lazy']]
    weights = [float(found[1]) if (found := re.search(r'\((.*)\)', name)) else 1.0 for name in names]
    lines = []
    for rate in source.means.rates:
        lines += source.lazy_over_eager(f'rate {rate:g} %', [(None, rate, *one) for one in zip(names, weights)])
    caption = 'Below 1 lazy restarting is better. Solid: search time. Dashed: expansions.'
    panels = [Panel('', lines, 'weight w', 'lazy / eager', x_log=False, y_log=False)]
    return Figure('2014', '2014-figure-6', '2014, Figure 6: lazy over eager restarting', caption, panels)


def lazy_by_rate(groups: Groups, data: dict[str, Any]) -> Figure:
    source, panels = Source(groups, data, 'ours', 'lazy against eager'), []
    for set_name in source.means.sets:
        rates = [rate for rate in source.means.rates if (set_name, rate, 'TBA*, lazy', math.inf) in source.means.places]
        lines: list[Line] = []
        for name in ('TBA*', 'TB-WA*(3)'):
            lines += source.lazy_over_eager(name, [(set_name, rate, name, rate) for rate in rates])
        panels.append(Panel(f'{set_name} cells', lines, 'change rate, %', 'lazy / eager'))
    caption = (
        'Below 1 lazy restarting is better. Solid: search time. Dashed: expansions. The 2014 paper has 1000 x 1000.'
    )
    return Figure('ours', 'ours-lazy', 'Lazy over eager restarting, by the rate of change', caption, panels)


def replanning(groups: Groups, data: dict[str, Any]) -> Figure:
    source = Source(groups, data, 'ours-replanning', 'D* Lite')
    panels = source.panels('intervals', 'intervals to the goal') + source.panels('cost', 'cost')
    caption = '1000 x 1000 cells, 10 % obstacles, as in the 2014 paper.'
    title = 'D* Lite, Repeated A* and RTB-WA* on changing maps'
    return Figure('ours', 'ours-replanning', title, caption, panels)


FIGURES: tuple[Callable[[Groups, dict[str, Any]], Figure], ...] = (
    *(figure_3_of_2009, table_1_of_2009, enhancements_of_2009, tables_of_2012),
    static_of_2014(1, 'cost', 'cost', 'cost'),
    static_of_2014(2, 'search time', 'search time', 'search time, ms', 1e3),
    static_of_2014(3, 'non-optimal moves', 'non-optimal moves', 'non-optimal moves'),
    static_of_2014(4, 'back-moves in non-optimal moves', 'share of back-moves', 'back-moves, %', 100, y_log=False),
    *(figure_5_of_2014, figure_6_of_2014, lazy_by_rate, replanning),
)


def figures_of(groups: Groups, data: dict[str, Any]) -> list[Figure]:
    """The figures for which there are rows."""
    found = []
    for figure in FIGURES:
        try:
            found.append(figure(groups, data))
        except NotRun:
            continue
    return found


# ---------------------------------------------------------------------- drawing
def svg(figure: Figure) -> str:
    """All panels and a legend, the same text for the same figure."""
    columns = min(len(figure.panels), 3 if len(figure.panels) % 3 == 0 else 2)
    rows = -(-len(figure.panels) // columns)
    width, height = PANEL_INCHES if columns > 1 else SINGLE_INCHES

    def draw(canvas: Canvas) -> None:
        from matplotlib.lines import Line2D

        for number, panel in enumerate(figure.panels):
            _draw(canvas.add_subplot(rows, columns, number + 1), figure, panel)
        handles = [
            Line2D([], [], color=COLOURS[n % 9], marker=MARKS[n % 9], markersize=5, label=label)
            for n, label in enumerate(figure.labels)
        ]
        canvas.legend(handles=handles, loc='outside lower center', ncols=min(len(handles), 2 + columns), frameon=False)

    return _svg(figure.name, figure.title, figure.caption, (width * columns, height * rows + 0.6), draw)


def claim_bars_svg(bars: ClaimBars) -> str:
    """The bars with their numbers, the first paper at the top."""
    width, height = BAR_INCHES

    def draw(canvas: Canvas) -> None:
        from matplotlib.patches import Patch

        axes = canvas.add_subplot()
        for row, (paper, counts) in enumerate(bars.counts.items()):
            left = 0
            for verdict, count in ((verdict, count) for verdict, count in counts.items() if count):
                (bar,) = axes.barh(row, count, BAR_HEIGHT, left, color=VERDICT_COLOURS[verdict], edgecolor=INK)
                bar.set_linewidth(0.6)
                bar.set_gid(f'{paper}, {verdict.value}')
                axes.text(left + count / 2, row, str(count), ha='center', va='center')
                left += count
        axes.set_yticks(range(len(bars.counts)), list(bars.counts))
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.spines['left'].set_visible(False)
        axes.tick_params(axis='y', length=0)
        axes.set_xlabel('claims')
        handles = [
            Patch(facecolor=colour, edgecolor=INK, linewidth=0.6, label=verdict.value)
            for verdict, colour in VERDICT_COLOURS.items()
        ]
        canvas.legend(handles=handles, loc='outside upper center', ncols=len(handles), frameon=False)

    return _svg(bars.name, bars.title, bars.description, (width, height * len(bars.counts) + 0.9), draw)


def _svg(name: str, title: str, description: str, inches: tuple[float, float], draw: Callable[[Canvas], None]) -> str:
    """What `draw` draws, with a background of its own and with words for those who do not see it."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise SystemExit(f"the figures need matplotlib: pip install '.[plot]' ({error})") from error
    settings: Any = {**SETTINGS, 'svg.hashsalt': name}
    with rc_context(settings):
        canvas = Canvas(figsize=inches, layout='constrained', facecolor=PAPER)
        draw(canvas)
        buffer = io.StringIO()
        canvas.savefig(buffer, format='svg', metadata={'Date': None, 'Creator': None, 'Format': None, 'Type': None})
    text = re.sub(r'<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>', '', buffer.getvalue(), flags=re.S).strip()
    words = f'<title>{escape(title)}</title>\n <desc>{escape(description)}</desc>'
    return re.sub(r'<svg (.*?)>', lambda found: f'<svg role="img" {found[1]}>\n {words}', text, count=1, flags=re.S)


def _draw(axes: Axes, figure: Figure, panel: Panel) -> None:
    for line in (line for line in panel.lines if line.points):
        number = figure.labels.index(line.label) % len(COLOURS)
        axes.plot(
            *zip(*line.points, strict=True),
            color=COLOURS[number],
            marker=MARKS[number],
            markersize=4.5,
            linewidth=1.3,
            linestyle='dashed' if line.dashed else 'solid',
            markerfacecolor='none' if line.dashed else COLOURS[number],
            alpha=0.75 if line.dashed else 1.0,
        )
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.title:
        axes.set_title(panel.title, fontsize=10, loc='left')
    points = [point for line in panel.lines for point in line.points]
    for axis, log, index in ((axes.xaxis, panel.x_log, 0), (axes.yaxis, panel.y_log, 1)):
        if log:
            _scale(axis, sorted({point[index] for point in points}), at_points=index == 0)


def _scale(axis: Any, values: list[float], *, at_points: bool) -> None:
    """A logarithmic axis with plain numbers: at the points themselves if these are few, else at 1, 2 and 5."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    (axis.axes.set_xscale if axis.axis_name == 'x' else axis.axes.set_yscale)('log')
    if at_points and len(values) <= 8:
        chosen = values[-1:]
        for value in reversed(values[:-1]):  # without those too close to the next one for their number
            if math.log(chosen[0] / value) > 0.11 * math.log(values[-1] / values[0]):
                chosen.insert(0, value)
        axis.set_major_locator(FixedLocator(chosen))
    elif max(values) < 100 * min(values):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f'{value / 1000:g}k' if value >= 10_000 else f'{value:g}'))
