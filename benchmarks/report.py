"""python -m benchmarks report: the papers' claims, tables and figures, judged and shown from rows.

Everything that a report says is gathered here, once; report_html.py and report_markdown.py write it down.
"""

from __future__ import annotations

import argparse
import datetime
import inspect
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks import claims_2009, claims_2012, claims_2014_changing, claims_2014_static, tables
from benchmarks.cells import NotRun, Results, part_of, read_results, write_cells
from benchmarks.claims import Claim, Judged, Variation, Verdict, judge
from benchmarks.drawing import check_matplotlib, whole_svg
from benchmarks.experiments.engine import PaperExperiment
from benchmarks.plots import Plot, plots_of
from benchmarks.published import TITLES
from benchmarks.reasons import REASONS
from benchmarks.tables import Table, tables_of

CLAIMS: tuple[Claim, ...] = (
    *claims_2009.CLAIMS,
    *claims_2012.CLAIMS,
    *claims_2014_static.CLAIMS,
    *claims_2014_changing.CLAIMS,
)
VARIATIONS: dict[tuple[str, str], tuple[Variation, ...]] = {
    **claims_2012.VARIATIONS,
    **claims_2014_static.VARIATIONS,
    **claims_2014_changing.VARIATIONS,
}
LEFT_OUT = (
    'PR LRTA* and D LRTA* (2009, Figure 4): they need state abstractions and pattern databases.',
    'The maps of 2009 are not named, so others stand in; "all" maps of a game (2014) are those that were at hand, not '
    'all that there are.',
    'Theorems are proved or refuted by tests, not by rows, but for the cost bound; Theorem 3 of 2014 does not hold for '
    'w > 1: test/test_theorems.py.',
    'Figures without printed numbers (2009, Figure 3; 2014, all) are compared with what the text says of them alone.',
    'Search times are those of compiled code on this machine, which did other work, too; expansions depend on neither.',
)
RULES = (
    'Verdicts are computed from the rows by the test that stands below each claim; none is written by hand.',
    '"Holds": in every case (set of maps, look-ahead, rate). "Holds only if": in half of the cases or more, which are '
    'told, or if one of our choices is switched. "Does not hold": in fewer. Claims about "most" cases need more than '
    'half of them. A choice decides if it was tried on 30 problems or more, with all algorithms, in every case that '
    'fails without it.',
    'Fewer than 100 problems of a set, or than a tenth of the paper’s, are called few: small differences may turn with '
    'more of them. Standard errors are those of differences problem by problem.',
    'A mean is taken over all problems of a set. A change of less than 1 % counts as none.',
    'Runs that did not arrive are left out of means and told with what was run; on changing maps a problem counts if '
    'all agents that are compared arrived.',
)
BY_CLOCK = {'d4f26069717a', 'f2ad886e0e67'}
"""Commits whose rows tell search time by the clock; all later ones tell that of the processor."""


@dataclass(frozen=True)
class Section:
    """A paper, or ours."""

    name: str
    title: str
    claims: tuple[Judged, ...]
    plots: tuple[Plot, ...]
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Report:
    date: str
    quick: bool
    sections: tuple[Section, ...]
    reasons: dict[str, str]
    choices: Table
    extents: Table
    map_names: tuple[str, ...]
    shortfalls: tuple[str, ...]
    maps_at_hand: tuple[str, ...]
    provenance: tuple[str, ...]
    rules: tuple[str, ...]
    decisions: tuple[tuple[str, str], ...]
    """PaperExperiment, and what its docstring says of its conditions."""

    @property
    def notes(self) -> dict[str, int]:
        """Reasons that serve several claims -> their numbers."""
        told = Counter(self.reasons.values())
        in_order = (self.reasons.get(one.claim.id, '') for one in self.judged)
        return {
            text: number for number, text in enumerate(dict.fromkeys(text for text in in_order if told[text] > 1), 1)
        }

    def notes_of(self, section: Section) -> list[tuple[int, str]]:
        """Those that the section's claims refer to."""
        texts = dict.fromkeys(self.reasons.get(one.claim.id, '') for one in section.claims)
        return [(self.notes[text], text) for text in texts if text in self.notes]

    @property
    def judged(self) -> list[Judged]:
        return [one for section in self.sections for one in section.claims]

    def counts(self, claims: Iterable[Judged]) -> list[int]:
        """How many claims got each verdict, in the order of Verdict."""
        counted = Counter(one.finding.verdict for one in claims)
        return [counted[verdict] for verdict in Verdict]


def make_report(results: Results, experiments: Iterable[PaperExperiment], date: str, *, quick: bool = False) -> Report:
    judged = [judge(claim, results, VARIATIONS.get((claim.experiment, claim.part), ())) for claim in CLAIMS]
    titles = {**TITLES, 'ours': 'Ours: what no paper shows'}
    sections = tuple(
        Section(
            name,
            title,
            tuple(one for one in judged if one.claim.paper == name),
            tuple(plots_of(name, results)),
            tuple(tables_of(name, results)),
        )
        for name, title in titles.items()
    )
    return Report(
        date=date,
        quick=quick,
        sections=sections,
        reasons=reasons_of(judged, results),
        choices=tables.choices(judged, results),
        extents=tables.extents(results),
        map_names=tuple(tables.map_names(results)),
        shortfalls=tuple(tables.shortfalls(results)),
        maps_at_hand=tuple(tables.maps_at_hand(results)),
        provenance=tuple(provenance_of(results)),
        rules=(*RULES, how_time_was_taken(results)),
        decisions=tuple((one.name, inspect.getdoc(one.parts) or '') for one in experiments),
    )


def reasons_of(judged: Iterable[Judged], results: Results) -> dict[str, str]:
    """Claim -> why it fails, of those that do, as far as that was looked into and its experiments were run."""
    failing = {one.claim.id for one in judged if one.finding.verdict in (Verdict.FAILS, Verdict.ONLY_IF)}
    if unknown := sorted(REASONS.keys() - {claim.id for claim in CLAIMS}):
        raise KeyError(f'reasons for claims that there are not: {", ".join(unknown)}')
    found = {}
    for claim in REASONS.keys() & failing:
        try:
            found[claim] = REASONS[claim](results)
        except NotRun:
            continue
    return found


def provenance_of(results: Results) -> list[str]:
    """Commits, machines and dates of the rows, in words."""
    commits = Counter[str]()
    for cell in results.cells:
        commits[cell.key['commit'] or 'unknown'] += cell.problems
    lines = [f'Rows by commit: {", ".join(f"{name} ({count:,})" for name, count in commits.items())}']
    machines = dict.fromkeys(
        f'{one["cpu"]}, {one["cores"]} cores, {one["memory_gb"]:g} GB, Python {one["python"]}, NumPy {one["numpy"]}'
        for one in results.sessions
    )
    lines += [f'Machine: {machine}' for machine in machines]
    if dates := sorted(one['date'] for one in results.sessions):
        lines.append(f'Run from {dates[0]} on; the last session began {dates[-1]}')
    return lines


def how_time_was_taken(results: Results) -> str:
    parts = dict.fromkeys(
        ', '.join(part_of(cell)) for cell in results.cells if cell.key['commit'].rstrip('+') in BY_CLOCK
    )
    by_clock = f', but by the clock in some rows or all of {"; ".join(parts)}' if parts else ''
    return f'Search time is that of the processor{by_clock}.'


# ---------------------------------------------------------------------- the command
def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--results',
        type=Path,
        action='append',
        metavar='DIR',
        help='folder of rows, or of a report (results); may be given again: what one has not, the next one fills in',
    )
    parser.add_argument('--out', type=Path, default=Path('results/report'), metavar='DIR', help='(results/report)')
    parser.add_argument('--date', default=datetime.date.today().isoformat(), help='that the report bears (today)')
    parser.add_argument('--quick', action='store_true', help='of quick sets, which show that it works and little else')


def carry_out(options: argparse.Namespace, experiments: Iterable[PaperExperiment]) -> int:
    """Writes report.html, README.md with its plots, and the cells that both were made from."""
    from benchmarks.report_html import as_html
    from benchmarks.report_markdown import as_markdown

    check_matplotlib()
    experiments = list(experiments)
    results = read_results(options.results or [Path('results')], [one.name for one in experiments], quick=options.quick)
    report = make_report(results, experiments, options.date, quick=options.quick)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / 'report.html').write_text(as_html(report))
    (options.out / 'README.md').write_text(as_markdown(report))
    for section in report.sections:
        for plot in section.plots:
            (options.out / f'{plot.name}.svg').write_text(whole_svg(plot) + '\n')
    write_cells(results, options.out)
    print(in_a_line(report))
    print(f'{options.out / "report.html"}, README.md with {sum(len(one.plots) for one in report.sections)} plots')
    return 0


def in_a_line(report: Report) -> str:
    counts = zip(report.counts(report.judged), Verdict, strict=True)
    return f'{len(report.judged)} claims: ' + ', '.join(f'{count} {verdict.value}' for count, verdict in counts)
