"""A report as one page that needs nothing else: no fonts, scripts or pictures from elsewhere."""

from __future__ import annotations

import re
from html import escape

from benchmarks.claims import AGAIN, Judged, Verdict
from benchmarks.drawing import INK, panel_svg, style_of
from benchmarks.plots import Plot
from benchmarks.report import LEFT_OUT, Report, Section
from benchmarks.tables import Table

SIGNS = {Verdict.HOLDS: '✔', Verdict.ONLY_IF: '◐', Verdict.FAILS: '✘', Verdict.NOT_RUN: '–', Verdict.LEFT_OUT: '–'}
CLASSES = {
    Verdict.HOLDS: 'holds',
    Verdict.ONLY_IF: 'only-if',
    Verdict.FAILS: 'fails',
    Verdict.NOT_RUN: 'not-run',
    Verdict.LEFT_OUT: 'not-run',
}
STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --faint: #59636e; --paper: #ffffff; --line: #d1d9e0; --band: #f6f8fa;
  --link: #0a5a8a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --faint: #9198a1; --paper: #14181d; --line: #3d444d;
  --band: #1c2128; --link: #7cc4f0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 66rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; }
a { color: var(--link); }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .4rem; }
nav a { margin-right: .9rem; white-space: nowrap; }
small, .faint { color: var(--faint); font-size: .85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 600; vertical-align: bottom; }
th:first-child, td:first-child { text-align: left; }
table.words td, table.words th { text-align: left; vertical-align: top; }
ul.claims { list-style: none; padding: 0; margin: 0; }
ul.claims > li { display: grid; grid-template-columns: 9.5rem 1fr; gap: .2rem 1rem; padding: .7rem .2rem;
  border-bottom: 1px solid var(--line); }
ul.claims p { margin: 0 0 .2rem; }
.badge { display: inline-block; padding: .05rem .55rem; border-radius: .8rem; font-size: .8rem; font-weight: 600;
  white-space: nowrap; }
.holds { background: #0072b2; color: #fff; }
.only-if { background: #e69f00; color: #000; }
.fails { background: #b33a00; color: #fff; }
.not-run { background: #6b7280; color: #fff; }
.condition { font-weight: 600; }
.reason { border-left: 3px solid #e69f00; padding-left: .6rem; }
.plot { margin: 1.2rem 0; }
.panels { display: grid; gap: .5rem 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); }
.panels.by-three { grid-template-columns: repeat(auto-fill, minmax(min(100%, 18rem), 1fr)); }
.panels svg { width: 100%; height: auto; }
.panels.one { max-width: 38rem; grid-template-columns: 1fr; }
.legend span { display: inline-block; margin-right: 1rem; font-size: .85rem; }
.legend b { margin-right: .3rem; }
details { margin: .4rem 0; }
summary { cursor: pointer; }
pre { white-space: pre-wrap; font: inherit; font-size: .9rem; margin: .3rem 0 1rem; }
@media (max-width: 40rem) { ul.claims > li { grid-template-columns: 1fr; } body { padding: .7rem; } }
"""


def as_html(report: Report) -> str:
    title = f'Three papers reproduced: the claims, {report.date}'
    body = [
        f'<h1>{escape(title)}</h1>',
        *([warning()] if report.quick else []),
        f'<p>{escape(opening(report))} {escape(caution(report))}</p>',
        navigation(report),
        overview(report),
        *(failing(report, verdict) for verdict in (Verdict.FAILS, Verdict.ONLY_IF)),
        *(claims_of(section, report) for section in report.sections if section.claims),
        *(section_of(section, report) for section in report.sections),
        what_was_run(report),
        left_out(report),
    ]
    return '\n'.join(
        [
            '<!DOCTYPE html>',
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<title>{escape(title)}</title><style>{STYLE}</style></head><body>',
            *body,
            '</body></html>\n',
        ]
    )


def warning() -> str:
    return '<p class="reason">This is of quick sets: small generated maps and few problems. It says little.</p>'


def opening(report: Report) -> str:
    holds, only_if, fails, not_run, left_out = report.counts(report.judged)
    again = sum(one.claim.text.startswith(AGAIN) for one in report.judged)
    return (
        f'Of {len(report.judged)} claims about time-bounded search that three papers make, {again} of them put '
        f'twice, by expansions or by number, {holds} hold here, {only_if} hold only under a condition, {fails} do not '
        f'hold, {not_run} {"was" if not_run == 1 else "were"} not run, and {left_out} '
        f'{"is" if left_out == 1 else "are"} left out.'
    )


def caution(report: Report) -> str:
    told = 'All of the papers’ problems were run.'
    if report.shortfalls:
        told = f'Not all of the papers’ problems were run; on each map: {"; ".join(report.shortfalls)}.'
    if report.maps_at_hand:
        told += f' Where a paper took all maps of a game, those at hand were: {", ".join(report.maps_at_hand)}.'
    return told


def navigation(report: Report) -> str:
    links = [
        *((f'claims-{section.name}', f'Claims of {section.name}') for section in report.sections if section.claims),
        *((section.name, f'Figures of {section.name}') for section in report.sections),
        ('run', 'What was run'),
        ('left-out', 'Left out, decided'),
    ]
    return '<nav>' + ' '.join(f'<a href="#{name}">{escape(text)}</a>' for name, text in links) + '</nav>'


def overview(report: Report) -> str:
    lines = [
        (section.title, *(str(count) for count in report.counts(section.claims)))
        for section in report.sections
        if section.claims
    ]
    return table_of(Table('', ('paper', *(verdict.value for verdict in Verdict)), tuple(lines)))


def failing(report: Report, verdict: Verdict) -> str:
    """Links to all claims of a verdict, so that nobody has to look for them."""
    items = ''.join(
        f'<li><a href="#{slug(one.claim.id)}">{escape(one.claim.text)}</a> '
        f'<small>{escape(f"{one.claim.paper}, {one.claim.place}")}</small></li>'
        for one in report.judged
        if one.finding.verdict is verdict
    )
    return f'<h3>{badge(verdict)}</h3><ul>{items}</ul>' if items else ''


# ---------------------------------------------------------------------- claims
def claims_of(section: Section, report: Report) -> str:
    items = '\n'.join(claim_of(one, report) for one in section.claims)
    heading = f'<h2 id="claims-{section.name}">Claims: {escape(section.title)}</h2>'
    notes = ''.join(
        f'<p class="reason" id="note-{number}"><b>Note {number}.</b> {escape(text)}</p>'
        for number, text in report.notes_of(section)
    )
    return f'{heading}\n<ul class="claims">\n{items}\n</ul>{notes}'


def claim_of(one: Judged, report: Report) -> str:
    claim, finding = one.claim, one.finding
    reason = report.reasons.get(claim.id, '')
    parts = [f'<p>{escape(claim.text)} <small>{escape(claim.place)}</small></p>']
    if finding.condition:
        parts.append(f'<p class="condition">Holds {escape(finding.condition)}.</p>')
    if claim.judge:
        parts.append(f'<p>{escape(sentence(finding.figure))}</p>')
        parts.append(f'<p class="faint">Test: {escape(claim.test)}.</p>')
    else:
        parts.append(f'<p class="faint">{escape(sentence(claim.test))}</p>')
    if claim.note:
        parts.append(f'<p class="reason">{escape(claim.note)}</p>')
    if number := report.notes.get(reason):
        parts.append(f'<p class="reason">Why: <a href="#note-{number}">note {number}</a>.</p>')
    elif reason:
        parts.append(f'<p class="reason">{escape(reason)}</p>')
    if one.problems and finding.verdict is not Verdict.NOT_RUN:
        parts.append(f'<p class="faint">{escape(sentence("; ".join(filter(None, (one.problems, one.turning)))))}</p>')
    if differing := elsewhere(one):
        parts.append(f'<p class="faint">{escape(differing)}</p>')
    return f'<li id="{slug(claim.id)}"><div>{badge(finding.verdict)}</div><div>{"".join(parts)}</div></li>'


def sentence(text: str) -> str:
    """With a capital, unless it begins with a letter of a formula."""
    return f'{text[0].upper() if text[1:2].isalpha() else text[0]}{text[1:]}.' if text else ''


def elsewhere(one: Judged) -> str:
    """What comes out in variations, where that is something else."""
    told = [f'{variation.condition}: {finding.verdict.value} ({finding.figure})' for variation, finding in one.switched]
    return f'With one choice switched, on fewer problems – {"; ".join(told)}.' if told else ''


def badge(verdict: Verdict) -> str:
    return f'<span class="badge {CLASSES[verdict]}">{SIGNS[verdict]} {escape(verdict.value)}</span>'


def slug(name: str) -> str:
    return re.sub(r'\W+', '-', name.lower()).strip('-')


# ---------------------------------------------------------------------- figures and tables
def section_of(section: Section, report: Report) -> str:
    parts = [f'<h2 id="{section.name}">{escape(section.title)}: figures and tables</h2>']
    if not section.plots and not section.tables:
        parts.append('<p>Not run.</p>')
    parts += [plot_of(plot) for plot in section.plots]
    if section.name == 'ours' and report.choices.lines:
        parts.append(table_of(report.choices, words=True))
    parts += [table_of(table) for table in section.tables]
    return '\n'.join(parts)


def plot_of(plot: Plot) -> str:
    panels = []
    for number, panel in enumerate(plot.panels):
        label = escape(f'{plot.title}. {panel.title}', quote=True)
        panels.append(panel_svg(plot, number).replace('<svg', f'<svg role="img" aria-label="{label}"', 1))
    legend = ''.join(
        f'<span><b style="color:{colour}">{sign}</b>{escape(label)}</span>'
        for label in plot.labels
        for colour, sign in [legend_of(plot, label)]
    )
    kind = 'panels one' if len(panels) == 1 else 'panels by-three' if len(panels) % 3 == 0 else 'panels'
    return (
        f'<div class="plot"><h3>{escape(plot.title)}</h3><div class="{kind}">{"".join(panels)}</div>'
        f'<div class="legend">{legend}</div><small>{escape(plot.caption)}</small></div>'
    )


def legend_of(plot: Plot, label: str) -> tuple[str, str]:
    colour, _, sign = style_of(plot, label)
    return ('currentColor' if colour == INK else colour), sign


def table_of(table: Table, *, words: bool = False) -> str:
    head = ''.join(f'<th>{escape(name)}</th>' for name in table.header)
    lines = ''.join('<tr>' + ''.join(f'<td>{escape(cell)}</td>' for cell in line) + '</tr>' for line in table.lines)
    kind = ' class="words"' if words else ''
    body = f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
    if table.note:
        body += f'<small>{escape(table.note)}</small>'
    if table.long:
        return f'<details><summary>{escape(table.title)}</summary>{body}</details>'
    return (f'<h3>{escape(table.title)}</h3>' if table.title else '') + body


# ---------------------------------------------------------------------- where it comes from
def what_was_run(report: Report) -> str:
    provenance = ''.join(f'<li>{escape(line)}</li>' for line in report.provenance)
    names = ''.join(f'<li>{escape(line)}</li>' for line in report.map_names)
    return (
        f'<h2 id="run">What was run</h2><ul>{provenance}</ul>{table_of(report.extents, words=True)}'
        f'<details><summary>Names of all maps</summary><ul class="faint">{names}</ul></details>'
    )


def left_out(report: Report) -> str:
    items = ''.join(f'<li>{escape(line)}</li>' for line in LEFT_OUT)
    rules = ''.join(f'<li>{escape(line)}</li>' for line in report.rules)
    decisions = ''.join(
        f'<details><summary>{escape(name)}</summary><pre>{escape(text)}</pre></details>'
        for name, text in report.decisions
    )
    return (
        f'<h2 id="left-out">What is left out, and what was decided</h2><ul>{items}</ul>'
        f'<h3>How verdicts are reached</h3><ul>{rules}</ul>'
        f'<h3>The conditions of each experiment, the papers’ and ours</h3>{decisions}'
    )
