"""The report's tables: what was measured, beside what the papers print."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks import published
from benchmarks.cells import Cell, Curves, NotRun, Results
from benchmarks.claims import Judged, by_set, number, percent, whole
from benchmarks.claims_2012 import index_of, lengths
from benchmarks.curves_2014 import SETS, TBA, back_share, everybody, look_aheads, number_of, sets_of, weighted

EXPANSIONS_UNIT = 'so many expansions'
EXTENT_UNKNOWN = published.Extent('no paper’s', 0)


@dataclass(frozen=True)
class Table:
    """long: shown on demand."""

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    note: str = ''
    long: bool = False


# ---------------------------------------------------------------------- 2009
def table_1_of_2009(results: Results) -> list[Table]:
    curves = results.curves('2009', 'Table 1')
    lines = []
    for R in curves.xs(TBA):
        early, late = (curves.mean('suboptimality', series, R) for series in (TBA, 'late A*'))
        printed = ('–', '–', '–')
        if R in published.RESOURCES:
            at = published.RESOURCES.index(int(R))
            values = published.EARLY[at], published.LATE[at], published.LATE[at] / published.EARLY[at]
            printed = tuple(f'{value:.2f}' for value in values)  # type: ignore[assignment]
        lines.append(
            (f'{R:g}', f'{early:.2f}', printed[0], f'{late:.2f}', printed[1], f'{late / early:.2f}', printed[2])
        )
    header = ('R', 'early, here', 'published', 'late, here', 'published', 'late / early, here', 'published')
    return [Table('Table 1: cost over shortest, acting early and late', header, tuple(lines))]


def figure_3_of_2009(results: Results) -> list[Table]:
    curves = results.curves('2009', 'Figure 3')
    setting = {TBA: 'R', 'LRTA*': 'depth', 'P LRTA*': 'queue', 'LSS-LRTA*': 'look-ahead'}
    lines = []
    for series in curves.series:
        for x in curves.xs(series):
            cell = curves.cell(series, x)
            means = [curves.mean(name, series, x) for name in ('expansions_a_move', 'suboptimality', 'moves')]
            arrived = f'{cell.arrived} of {cell.problems}'
            lines.append((series, f'{setting.get(series, "")} {x:g}', *map(number, means), arrived))
    header = ('algorithm', 'setting', 'expansions an action', 'cost / shortest', 'actions', 'arrived')
    note = 'The paper’s figure has no numbers to compare with.'
    return [Table('Figure 3, point by point', header, tuple(lines), note, long=True)]


def enhancements_of_2009(results: Results) -> list[Table]:
    curves = results.curves('2009', 'enhancements')
    names = ('basic', 'shortcut', 'path switch', 'both')
    lines = tuple(
        (f'{R:g}', *(f'{curves.mean("suboptimality", f"TBA*, {name}", R):.3f}' for name in names))
        for R in curves.xs('TBA*, basic')
    )
    return [Table('Section 4.3: cost over shortest with the enhancements', ('R', *names), lines)]


# ---------------------------------------------------------------------- 2012
def tables_of_2012(experiment: str, unit: str) -> Callable[[Results], list[Table]]:
    def tables(results: Results) -> list[Table]:
        found = []
        for table, measure in itertools.product(published.TABLES, ('intervals', 'moves')):
            try:
                found.append(_table_of_2012(results.curves(experiment, table), table, measure, unit))
            except NotRun:
                continue
        return found

    return tables


def _table_of_2012(curves: Curves, table: str, measure: str, unit: str) -> Table:
    xs = lengths(curves)
    lines = []
    for series, pair in published.TABLES[table].items():
        cells = [series]
        for x in xs:
            index = index_of(x)
            printed = (pair.intervals if measure == 'intervals' else pair.movements)[index] if index is not None else 0
            here = whole(curves.mean(measure, series, x))
            cells.append(f'{here} ({printed:,})' if printed else here)
        lines.append(tuple(cells))
    words = {'intervals': 'time intervals', 'moves': 'movements'}
    title = f'{table}: {words[measure]}, here (published), intervals of {unit}'
    return Table(title, ('algorithm', *(_length(x, unit) for x in xs)), tuple(lines), long=unit != EXPANSIONS_UNIT)


def _length(x: float, unit: str) -> str:
    index = index_of(x)
    if unit == EXPANSIONS_UNIT and index is not None:
        return f'{x:,g} (for {published.INTERVALS_MS[index]} ms)'
    return f'{x:,g}'


# ---------------------------------------------------------------------- 2014
def static_of_2014(results: Results) -> list[Table]:
    curves = results.curves('2014', 'Figures 1-4')
    measures: tuple[tuple[str, Callable[[str, float, str], float], Callable[[float], str]], ...] = (
        ('Figure 1: cost', lambda s, k, name: curves.mean('cost', s, k, name), number),
        ('Figure 1: cost over shortest', lambda s, k, name: curves.mean('suboptimality', s, k, name), number),
        ('Figure 2: search time in ms', lambda s, k, name: 1e3 * curves.mean('search_time_s', s, k, name), number),
        ('Expansions', lambda s, k, name: curves.mean('expansions', s, k, name), number),
        ('Figure 3: non-optimal moves', lambda s, k, name: curves.mean('non_optimal_moves', s, k, name), number),
        ('Figure 4: back-moves of non-optimal moves', lambda s, k, name: back_share(curves, s, k, name), percent),
        ('Back-moves', lambda s, k, name: curves.mean('back_moves', s, k, name), number),
    )
    names = everybody(curves)
    tables = []
    for title, value, shown in measures:
        lines = tuple(
            (name, f'{k:g}', *(shown(value(series, k, name)) for series in names))
            for name in sets_of(curves)
            for k in look_aheads(curves, name)
        )
        tables.append(Table(title, ('maps', 'k', *names), lines, long=True))
    return tables


def figure_5_of_2014(results: Results) -> list[Table]:
    curves = results.curves('2014-dynamic', 'Figure 5')
    names = weighted(curves)
    tables = []
    for title, measure, factor in (
        ('Figure 5: cost', 'cost', 1.0),
        ('Figure 5: search time in ms', 'search_time_s', 1e3),
        ('Searches (Figure 5)', 'searches', 1.0),
    ):
        lines = tuple(
            (f'{rate:g} %', f'{k:g}', *(number(factor * curves.mean(measure, name, k, rate=rate)) for name in names))
            for rate in curves.rates
            for k in curves.xs(TBA)
        )
        tables.append(Table(title, ('rate', 'k', *names), lines, long=True))
    return tables


def figure_6_of_2014(results: Results) -> list[Table]:
    curves = results.curves('2014-dynamic', 'Figure 6')
    return [_lazy_and_eager(curves, 'Figure 6: lazy over eager', [None])]


def _lazy_and_eager(curves: Curves, title: str, sets: Sequence[str | None]) -> Table:
    names = sorted(name.removesuffix(', lazy') for name in curves.series if name.endswith(', lazy'))
    lines = []
    for set_name, rate, name in itertools.product(sets, curves.rates, names):
        try:
            pairs = [
                [curves.mean(measure, f'{name}, {rule}', math.inf, set_name, rate) for rule in ('lazy', 'eager')]
                for measure in ('search_time_s', 'expansions', 'searches')
            ]
        except NotRun:
            continue
        ratios = [number(lazy / eager) for lazy, eager in pairs]
        lines.append((*filter(None, [set_name]), f'{rate:g} %', name, *ratios, *map(number, pairs[2])))
    header = (*(['maps'] if sets != [None] else []), 'rate', 'algorithm', 'search time', 'expansions', 'searches')
    return Table(title, (*header, 'searches, lazy', 'eager'), tuple(lines), long=sets == [None])


# ---------------------------------------------------------------------- ours
SWITCHES = (
    ('re-opening', 'Re-opening closed states', '', ', re-opening'),
    ('exact ties', 'Ties to the newest state, in place of the larger g', ', larger_g', ', lifo'),
    ('corner cutting', 'Cutting corners', '', ', cutting corners'),
)


def switches(results: Results) -> list[Table]:
    """Each of our choices: with it switched over without."""
    tables = []
    for part, title, before, after in SWITCHES:
        try:
            curves = results.curves('ours', part)
        except NotRun:
            continue
        lines = []
        for set_name, series, k in itertools.product(curves.sets, _stems(curves, before, after), _ks(curves)):
            try:
                ratios = [
                    curves.mean(measure, series + after, k, set_name)
                    / curves.mean(measure, series + before, k, set_name)
                    for measure in ('suboptimality', 'expansions', 'search_time_s', 'moves', 'back_moves')
                ]
            except (NotRun, ZeroDivisionError):
                continue
            lines.append((set_name, series, number_of(k), *map(number, ratios)))
        header = ('maps', 'algorithm', 'k', 'cost / shortest', 'expansions', 'search time', 'moves', 'back-moves')
        tables.append(Table(f'{title}: factors', header, tuple(lines), long=True))
    return tables


def _stems(curves: Curves, before: str, after: str) -> list[str]:
    stems = [name.removesuffix(after) for name in curves.series if name.endswith(after)]
    return [stem for stem in stems if stem + before in curves.series]


def _ks(curves: Curves) -> list[float]:
    return sorted({k for series in curves.series for k in curves.xs(series)})


def floating_ties(results: Results) -> list[Table]:
    curves = results.curves('ours', 'exact ties')
    lines = []
    for set_name in curves.sets:
        floating, exact = (
            curves.mean('expansions', series, math.inf, set_name) for series in ('A*, floating', 'TBA*, larger_g')
        )
        lines.append((set_name, whole(exact), whole(floating), number(floating / exact)))
    header = ('maps', 'exact √2', 'floating √2', 'factor')
    return [Table('A* with a floating √2: expansions', header, tuple(lines), 'Both break ties to the larger g.')]


def lazy_as_printed(results: Results) -> list[Table]:
    curves = results.curves('ours', 'lazy as printed')
    names = ('lazy', 'lazy_as_printed', 'eager')
    lines = []
    for rate, series, k in itertools.product(curves.rates, (TBA, 'TB-WA*(3)'), _ks(curves)):
        row = [f'{rate:g} %', series, number_of(k)]
        for measure in ('cost', 'searches', 'refused_moves'):
            row += [number(curves.mean(measure, f'{series}, {name}', k, rate=rate)) for name in names]
        lines.append(tuple(row))
    kinds = ('ours', 'as printed', 'eager')
    words = (f'{what}, {kind}' for what in ('cost', 'searches', 'moves into obstacles') for kind in kinds)
    title = 'Lazy restarts: ours, as printed (Algorithm 3), and eager'
    return [Table(title, ('rate', 'algorithm', 'k', *words), tuple(lines), long=True)]


def lazy_by_rate(results: Results) -> list[Table]:
    curves = results.curves('ours', 'lazy against eager')
    return [_lazy_and_eager(curves, 'Lazy over eager by rate and size of the map', curves.sets)]


def moves_a_search(results: Results) -> list[Table]:
    tables = []
    for world in ('static', 'unknown'):
        try:
            curves = results.curves('ours', f'moves a search, {world}')
        except NotRun:
            continue
        ks = _ks(curves)
        lines = tuple(
            (series, *(whole(curves.mean('intervals', series, k)) for k in ks)) for series in sorted(curves.series)
        )
        header = ('algorithm', *(f'k = {k:,g}' for k in ks))
        title = f'RTAA* and daRTAA*, one move a search or the whole path, {world} terrain: intervals'
        tables.append(Table(title, header, lines))
    return tables


def table_2_with_less(results: Results) -> list[Table]:
    """As if searches took eight times as long."""
    curves = results.curves('ours', 'Table 2, k / 8')
    unit = 'so many expansions, an eighth of 2012’s'
    return [_table_of_2012(curves, 'Table 2', measure, unit) for measure in ('intervals', 'moves')]


def replanning(results: Results) -> list[Table]:
    curves = results.curves('ours-replanning', 'D* Lite')
    tables = []
    for title, measure, factor in (
        ('intervals to the goal', 'intervals', 1.0),
        ('cost', 'cost', 1.0),
        ('search time in ms', 'search_time_s', 1e3),
        ('expansions', 'expansions', 1.0),
    ):
        lines = tuple(
            (
                f'{rate:g} %',
                number_of(k),
                *(number(factor * curves.mean(measure, name, k, rate=rate)) for name in curves.series),
            )
            for rate in curves.rates
            for k in _ks(curves)
        )
        tables.append(Table(f'D* Lite against RTB-WA*: {title}', ('rate', 'k', *curves.series), lines))
    return tables


def choices(judged: Sequence[Judged], results: Results) -> Table:
    """Claims whose verdict changes with one of our choices, beside runs with none switched."""
    switching = [one for one in judged if one.switched]
    conditions = list(dict.fromkeys(variation.condition for one in switching for variation, _ in one.tried))
    lines = []
    for one in switching:
        found = {variation.condition: finding.verdict.value for variation, finding in one.tried}
        lines.append((one.claim.id, one.as_ours.value, *(found.get(condition, '') for condition in conditions)))
    problems = {
        f'{name} ({experiment}, {part})': by_set(results.problems(experiment, part))
        for one in switching
        for name, experiment, part in _judged_in(one)
    }
    told = '; '.join(f'{name} {counts}' for name, counts in problems.items() if counts)
    untried = sum(not one.tried for one in judged)
    note = (
        f'Problems: {told}. Where columns differ in these, so may verdicts for that alone. A claim is listed if its '
        f'verdict is another with a choice that was tried; with {untried} of {len(judged)} claims none was.'
    )
    return Table('Verdicts with our choices switched one by one', ('claim', 'as ours', *conditions), tuple(lines), note)


def _judged_in(one: Judged) -> Iterator[tuple[str, str, str]]:
    """Column of that table, and the experiment and part in which the claim was judged for it."""
    if not any(variation.base for variation, _ in one.elsewhere):
        yield 'as ours', one.claim.experiment, one.claim.part
    for variation, _ in one.elsewhere:
        yield variation.condition, variation.experiment, variation.part


# ---------------------------------------------------------------------- what was run
def extents(results: Results) -> Table:
    """Maps and problems of each part, beside the paper's."""
    lines = []
    for key, cells in _by_set(results).items():
        per_map: dict[str, int] = {}
        for (map_name, _), problems in _problems(cells).items():
            per_map[map_name] = max(per_map.get(map_name, 0), problems)
        drawn = 'generated' if cells[0].key['generated'] == 'True' else 'MovingAI’s'
        if cells[0].key['world'] == 'changing':
            drawn = 'generated, another for each problem'
        counts = sorted(set(per_map.values()))
        each = f'{counts[0]}' if len(counts) == 1 else f'{counts[0]} to {counts[-1]}'
        runs = sum(cell.problems for cell in cells)
        missing = runs - sum(cell.arrived for cell in cells)
        paper = published.EXTENTS.get(key, EXTENT_UNKNOWN)
        told = f'{paper.maps}; {paper.problems} each' if paper.problems else paper.maps
        lines.append(
            (*key, f'{len(per_map)} {drawn}', each, told, f'{runs:,}', f'all but {missing:,}' if missing else 'all')
        )
    header = ('experiment', 'part', 'maps', 'how many', 'problems on each', 'in the paper', 'runs', 'arrived')
    return Table('Maps, problems and runs', header, tuple(lines))


def shortfalls(results: Results) -> list[str]:
    """Parts with fewer problems on a map than the paper had: '2012, Table 2: 10 of 300'."""
    short: dict[str, tuple[int, int]] = {}
    for key, cells in _by_set(results).items():
        paper, least = published.EXTENTS.get(key, EXTENT_UNKNOWN).problems, min(_problems(cells).values())
        if least < paper:
            place = ', '.join(key[:2])
            short[place] = min(least, short.get(place, (least, paper))[0]), paper
    return [f'{place}: {here} of {paper}' for place, (here, paper) in short.items()]


def maps_at_hand(results: Results) -> list[str]:
    """Sets of which the paper took all maps, and how many were run: '50 of BG'. Generated ones are no part of them."""
    return [
        f'{len({cell.key["map"] for cell in cells})} of {key[2]}'
        for key, cells in _by_set(results).items()
        if published.EXTENTS.get(key, EXTENT_UNKNOWN).all_maps and cells[0].key['generated'] != 'True'
    ]


def _by_set(results: Results) -> dict[tuple[str, str, str], list[Cell]]:
    """Experiment, part and set of maps -> cells, in the order of the report."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in results.cells:
        groups.setdefault((cell.key['experiment'], cell.key['part'], cell.key['set']), []).append(cell)
    return dict(sorted(groups.items(), key=lambda item: _order(item[0])))


def _order(key: tuple[str, str, str]) -> tuple[str, str, int, str]:
    experiment, part, set_name = key
    return experiment, part, SETS.index(set_name) if set_name in SETS else -1, set_name


def _problems(cells: Sequence[Cell]) -> dict[tuple[str, str], int]:
    """Map and setting -> problems; rows of one setting may have been made by several commits."""
    counts: dict[tuple[str, str], int] = {}
    for cell in cells:
        names = ('rate', 'corner_cutting', 'series', 'options', 'unit', 'x')
        key = cell.key['map'], ' '.join(cell.key[name] for name in names)
        counts[key] = counts.get(key, 0) + cell.problems
    return counts


def map_names(results: Results) -> list[str]:
    """Set and names of its maps, of sets of few."""
    found: dict[str, set[str]] = {}
    for cell in results.cells:
        found.setdefault(cell.key['set'], set()).add(cell.key['map'])
    return [f'{name}: {", ".join(sorted(maps))}' for name, maps in found.items()]


TABLES: dict[str, tuple[Callable[[Results], list[Table]], ...]] = {
    '2009': (table_1_of_2009, enhancements_of_2009, figure_3_of_2009),
    '2012': (tables_of_2012('2012', EXPANSIONS_UNIT), tables_of_2012('2012-time', 'so many ms')),
    '2014': (static_of_2014, figure_5_of_2014, figure_6_of_2014),
    'ours': (switches, floating_ties, lazy_as_printed, lazy_by_rate, moves_a_search, table_2_with_less, replanning),
}
"""Section of the report -> its tables."""


def tables_of(section: str, results: Results) -> list[Table]:
    """Those whose experiments were run."""
    found = []
    for tables in TABLES[section]:
        try:
            found += [table for table in tables(results) if table.lines]
        except NotRun:
            continue
    return found
