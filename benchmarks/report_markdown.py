"""A report as Markdown that GitHub shows, with plots in files beside it; long tables are in the page alone."""

from __future__ import annotations

import re

from benchmarks.claims import Judged, Verdict
from benchmarks.report import LEFT_OUT, Report, Section
from benchmarks.report_html import SIGNS, caution, opening, sentence
from benchmarks.tables import Table


def as_markdown(report: Report) -> str:
    parts = [
        f'# Three papers reproduced: the claims, {report.date}',
        *(
            ['**This is of quick sets: small generated maps and few problems. It says little.**']
            if report.quick
            else []
        ),
        f'{plain(opening(report))} {plain(caution(report))}',
        '[report.html](report.html) has all tables, the test of each claim, and what else '
        'was decided; `cells.csv.gz` has the sums of all rows that this was made from.',
        overview(report),
        *(claims_of(section, report) for section in report.sections if section.claims),
        *(section_of(section, report) for section in report.sections),
        '## What was run',
        listed(report.provenance),
        table_of(report.extents),
        '## What is left out',
        listed(LEFT_OUT),
        '## How verdicts are reached',
        listed(report.rules),
    ]
    return '\n\n'.join(parts) + '\n'


def overview(report: Report) -> str:
    header = ('paper', *(f'{SIGNS[verdict]} {verdict.value}' for verdict in Verdict))
    lines = tuple(
        (section.title, *(str(count) for count in report.counts(section.claims)))
        for section in report.sections
        if section.claims
    )
    return table_of(Table('', header, lines))


def claims_of(section: Section, report: Report) -> str:
    lines = [claim_of(one, report) for one in section.claims]
    notes = [f'\n**Note {number}.** {plain(text)}' for number, text in report.notes_of(section)]
    head = ['| | claim | where | measured |', '|---|---|---|---|']
    return '\n'.join([f'## Claims: {plain(section.title)}', '', *head, *lines, *notes])


def claim_of(one: Judged, report: Report) -> str:
    claim, finding = one.claim, one.finding
    reason = report.reasons.get(claim.id, '')
    if number := report.notes.get(reason):
        reason = f'Why: note {number}.'
    verdict = f'{SIGNS[finding.verdict]} **{finding.verdict.value}**'
    measured = [plain(sentence(finding.figure))]
    if finding.condition:
        measured.insert(0, f'**Holds {plain(finding.condition)}.**')
    few = one.problems if one.problems.startswith('few') and finding.verdict is not Verdict.NOT_RUN else ''
    if few or one.turning:
        measured.append(plain(sentence('; '.join(filter(None, (few, one.turning))))))
    measured += [f'*{plain(text)}*' for text in (claim.note, reason) if text]
    return f'| {verdict} | {plain(claim.text)} | {plain(claim.place)} | {"<br>".join(measured)} |'


def section_of(section: Section, report: Report) -> str:
    parts = [f'## {plain(section.title)}: figures and tables']
    if not section.plots and not section.tables:
        parts.append('Not run.')
    for plot in section.plots:
        parts.append(f'### {plain(plot.title)}\n\n![{plain(plot.title)}]({plot.name}.svg)\n\n{plain(plot.caption)}')
    if section.name == 'ours' and report.choices.lines:
        parts.append(table_of(report.choices))
    parts += [table_of(table) for table in section.tables if not table.long]
    return '\n\n'.join(parts)


def table_of(table: Table) -> str:
    lines = [f'### {plain(table.title)}', ''] if table.title else []
    lines.append('| ' + ' | '.join(map(plain, table.header)) + ' |')
    lines.append('|---' * len(table.header) + '|')
    lines += ['| ' + ' | '.join(map(plain, line)) + ' |' for line in table.lines]
    if table.note:
        lines += ['', plain(table.note)]
    return '\n'.join(lines)


def listed(lines: tuple[str, ...]) -> str:
    return '\n'.join(f'- {plain(line)}' for line in lines)


def plain(text: str) -> str:
    """As it stands: A* is no emphasis, and a | no column."""
    return re.sub(r'([*|_<])', r'\\\1', text)
