"""What the report's plots show: lines out of the results, like the papers' figures. drawing.py draws them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks import published
from benchmarks.cells import Curves, NotRun, Results
from benchmarks.claims import counted
from benchmarks.claims_2009 import OTHERS, savings
from benchmarks.claims_2012 import index_of, lengths
from benchmarks.curves_2014 import TBA, back_share, everybody, look_aheads, sets_of, weighted


@dataclass(frozen=True)
class Line:
    label: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    dashed: bool = False  # published, or another measure; the caption says which


@dataclass(frozen=True)
class Panel:
    title: str
    lines: tuple[Line, ...]
    x_label: str
    y_label: str
    x_log: bool = True
    y_log: bool = True


@dataclass(frozen=True)
class Plot:
    """Panels side by side that share a legend."""

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(line.label for panel in self.panels for line in panel.lines))


K = 'look-ahead k'


def told(caption: str, results: Results, experiment: str, part: str) -> str:
    """The caption, and of how many problems the plot is."""
    problems = counted(results, experiment, part)
    return f'{caption} {problems[0].upper()}{problems[1:]}.'.strip()


# ---------------------------------------------------------------------- 2009
def figure_3_of_2009(results: Results) -> Plot:
    curves = results.curves('2009', 'Figure 3')
    lines = []
    for series in (name for name in (TBA, *OTHERS) if name in curves.series):
        points = [
            (curves.mean('expansions_a_move', series, x), curves.mean('suboptimality', series, x))
            for x in curves.xs(series)
        ]
        lines.append(Line(series, *_transposed(sorted(points))))
    panel = Panel('', tuple(lines), 'states expanded an action', 'cost / shortest')
    caption = 'Each point is a setting (R, depth, queue, look-ahead); nearer to the lower left is better. Axes are '
    caption += 'logarithmic; TBA* expands nothing once it has found its path, so its points are close together.'
    caption = told(caption, results, '2009', 'Figure 3')
    return Plot('2009-figure-3', '2009, Figure 3: TBA* against real-time search', caption, (panel,))


def table_1_of_2009(results: Results) -> Plot:
    curves = results.curves('2009', 'Table 1')
    lines = []
    for label, series, printed in (
        ('early (TBA*)', TBA, published.EARLY),
        ('late (A*)', 'late A*', published.LATE),
    ):
        xs = curves.xs(series)
        lines.append(Line(label, tuple(xs), tuple(curves.over_x('suboptimality', series))))
        lines.append(Line(label, tuple(map(float, published.RESOURCES)), printed, dashed=True))
    panel = Panel('', tuple(lines), 'R, resources an action', 'cost / shortest')
    caption = told('Solid: here. Dashed: published.', results, '2009', 'Table 1')
    return Plot('2009-table-1', '2009, Table 1: acting early and late', caption, (panel,))


def enhancements_of_2009(results: Results) -> Plot:
    curves = results.curves('2009', 'enhancements')
    lines = []
    for name in ('shortcut', 'path switch', 'both'):
        saved = savings(curves, name)
        lines.append(Line(name, tuple(saved), tuple(100 * value for value in saved.values())))
    panel = Panel('', tuple(lines), 'R, resources an action', 'shorter by, %', y_log=False)
    caption = (
        'How much shorter than basic TBA*’s paths are with each. The paper says about 2 % of the rule for switching '
    )
    caption += 'paths at R ≤ 100, and insignificant of shortcuts.'
    caption = told(caption, results, '2009', 'enhancements')
    return Plot('2009-enhancements', '2009, section 4.3: the two enhancements', caption, (panel,))


# ---------------------------------------------------------------------- 2012
def tables_of_2012(results: Results) -> Plot:
    panels = []
    for table, title in (('Table 1', 'known'), ('Table 2', 'unknown'), ('Table 3', 'partly unknown')):
        try:
            panels.append(_panel_of_2012(results.curves('2012', table), table, title))
        except NotRun:
            continue
    if not panels:
        raise NotRun('2012 was not run')
    caption = (
        'Solid: here, by expansions. Dashed: published, by time. An interval of 0.3 ms stands for 1,130 expansions.'
    )
    for table in published.TABLES:
        if ('2012', table) in results.parts:
            caption = told(f'{caption} {table}:', results, '2012', table)
    return Plot('2012-tables', '2012, Tables 1 to 3: time intervals to the goal', caption, tuple(panels))


def _panel_of_2012(curves: Curves, table: str, title: str) -> Panel:
    lines = []
    for series, printed in published.TABLES[table].items():
        xs = lengths(curves)
        lines.append(Line(series, tuple(xs), tuple(curves.mean('intervals', series, x) for x in xs)))
        shown = [(x, float(printed.intervals[index])) for x in xs if (index := index_of(x)) is not None]
        if shown:
            lines.append(Line(series, *_transposed(shown), dashed=True))
    return Panel(f'{table}, {title}', tuple(lines), 'expansions an interval', 'intervals')


# ---------------------------------------------------------------------- 2014
def figure_of_2014(
    number: int, what: str, y_label: str, value: Callable[[Curves, str, float, str], float], y_log: bool = True
) -> Callable[[Results], Plot]:
    def plot(results: Results) -> Plot:
        curves = results.curves('2014', 'Figures 1-4')
        panels = []
        for name in sets_of(curves):
            ks = tuple(look_aheads(curves, name))
            lines = tuple(
                Line(series, ks, tuple(value(curves, series, k, name) for k in ks)) for series in everybody(curves)
            )
            panels.append(Panel(name, lines, K, y_label, y_log=y_log))
        caption = 'Means over all problems of a set. The paper shows BG and ROOMS.'
        caption = told(caption, results, '2014', 'Figures 1-4')
        return Plot(f'2014-figure-{number}', f'2014, Figure {number}: {what}', caption, tuple(panels))

    return plot


def mean_of(measure: str, factor: float = 1.0) -> Callable[[Curves, str, float, str], float]:
    return lambda curves, series, k, name: factor * curves.mean(measure, series, k, name)


def back_share_in_percent(curves: Curves, series: str, k: float, name: str) -> float:
    return 100 * back_share(curves, series, k, name)


def figure_5_of_2014(results: Results) -> Plot:
    curves = results.curves('2014-dynamic', 'Figure 5')
    ks = tuple(curves.xs(TBA))
    panels = []
    for (measure, factor, label), rate in itertools.product(
        (('cost', 1.0, 'cost'), ('search_time_s', 1e3, 'search time, ms')), curves.rates
    ):
        lines = tuple(
            Line(series, ks, tuple(factor * curves.mean(measure, series, k, rate=rate) for k in ks))
            for series in weighted(curves)
        )
        panels.append(Panel(f'rate {rate:g} %', lines, K, label))
    title = '2014, Figure 5: cost and search time on changing maps'
    caption = told('With lazy restarts.', results, '2014-dynamic', 'Figure 5')
    return Plot('2014-figure-5', title, caption, tuple(panels))


def figure_6_of_2014(results: Results) -> Plot:
    curves = results.curves('2014-dynamic', 'Figure 6')
    names = sorted(name.removesuffix(', lazy') for name in curves.series if name.endswith(', lazy'))
    weights = tuple(sorted(weight_of(name) for name in names))
    by_weight = sorted(names, key=weight_of)
    lines = []
    for rate, (measure, dashed) in itertools.product(curves.rates, (('search_time_s', False), ('expansions', True))):
        ratios = []
        for name in by_weight:
            lazy, eager = (curves.mean(measure, f'{name}, {rule}', math.inf, rate=rate) for rule in ('lazy', 'eager'))
            ratios.append(lazy / eager)
        lines.append(Line(f'rate {rate:g} %', weights, tuple(ratios), dashed))
    panel = Panel('', tuple(lines), 'weight w', 'lazy / eager', x_log=False, y_log=False)
    caption = 'Below 1 lazy is better. Solid: search time. Dashed: expansions.'
    caption = told(caption, results, '2014-dynamic', 'Figure 6')
    return Plot('2014-figure-6', '2014, Figure 6: lazy over eager restarting', caption, (panel,))


def weight_of(series: str) -> float:
    return 1.0 if series == TBA else float(series.removeprefix('TB-WA*(').removesuffix(')'))


# ---------------------------------------------------------------------- ours
def lazy_by_rate(results: Results) -> Plot:
    curves = results.curves('ours', 'lazy against eager')
    panels = []
    for name in curves.sets:
        lines = []
        for series, (measure, dashed) in itertools.product(
            (TBA, 'TB-WA*(3)'), (('search_time_s', False), ('expansions', True))
        ):
            points = []
            for rate in curves.rates:
                try:
                    lazy, eager = (
                        curves.mean(measure, f'{series}, {rule}', math.inf, name, rate) for rule in ('lazy', 'eager')
                    )
                except NotRun:
                    continue
                points.append((rate, lazy / eager))
            if points:
                lines.append(Line(series, *_transposed(points), dashed))
        panels.append(Panel(f'{name} cells', tuple(lines), 'change rate, %', 'lazy / eager'))
    caption = 'Below 1 lazy is better. Solid: search time. Dashed: expansions. The 2014 paper’s maps are 1000 x 1000.'
    caption = told(caption, results, 'ours', 'lazy against eager')
    return Plot('ours-lazy', 'Ours: lazy over eager restarting, by how much changes', caption, tuple(panels))


def replanning(results: Results) -> Plot:
    curves = results.curves('ours-replanning', 'D* Lite')
    panels = []
    for measure, label in (('intervals', 'intervals to the goal'), ('cost', 'cost')):
        for rate in curves.rates:
            ks = tuple(k for k in curves.xs('D* Lite') if not math.isinf(k))
            lines = tuple(
                Line(series, ks, tuple(curves.mean(measure, series, k, rate=rate) for k in ks))
                for series in curves.series
            )
            panels.append(Panel(f'rate {rate:g} %', lines, K, label))
    title = 'Ours: D* Lite, Repeated A* and RTB-WA* on changing maps'
    caption = '1000 x 1000 cells, 10 % obstacles, as in the 2014 paper.'
    caption = told(caption, results, 'ours-replanning', 'D* Lite')
    return Plot('ours-replanning', title, caption, tuple(panels))


PLOTS: dict[str, tuple[Callable[[Results], Plot], ...]] = {
    '2009': (figure_3_of_2009, table_1_of_2009, enhancements_of_2009),
    '2012': (tables_of_2012,),
    '2014': (
        figure_of_2014(1, 'cost', 'cost', mean_of('cost')),
        figure_of_2014(2, 'search time', 'search time, ms', mean_of('search_time_s', 1e3)),
        figure_of_2014(3, 'non-optimal moves', 'non-optimal moves', mean_of('non_optimal_moves')),
        figure_of_2014(
            4, 'back-moves as a share of non-optimal moves', 'back-moves, %', back_share_in_percent, y_log=False
        ),
        figure_5_of_2014,
        figure_6_of_2014,
    ),
    'ours': (lazy_by_rate, replanning),
}
"""Section of the report -> its plots."""


def plots_of(section: str, results: Results) -> list[Plot]:
    """Those whose experiments were run."""
    found = []
    for plot in PLOTS[section]:
        try:
            found.append(plot(results))
        except NotRun:
            continue
    return found


def _transposed(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    xs, ys = zip(*points, strict=True)
    return xs, ys
