"""What a study has found, for people: the trade-off, the recommendation and its reasons."""

from __future__ import annotations

from collections.abc import Sequence

from tb_planner.grid import COST_STEPS
from tb_planner.tuning.budget import SEARCH_SHARE
from tb_planner.tuning.candidates import WEIGHTS, Candidate
from tb_planner.tuning.figures import Difference, Figures
from tb_planner.tuning.study import Study

SHOWN = 8
"""Candidates in the table: so many of the best, and the default."""
FEW = 8
"""Problems; a choice by fewer is a guess, and the report says so."""
COLUMNS = ('intervals', 'over shortest', 'first move', 'back-moves', 'restarts', 'tick p99', 'problems')
WEIGHED = 'Cells near obstacles are dear here: an interval counts as much as the cell moved through costs.\n\n'
IN_WORDS = {
    'static': 'the map stays as it is',
    'changing': 'things appear and vanish in sight',
    'unknown': 'the map becomes known on the way',
}
BLIND = (
    'It does not look for a shorter way when obstacles vanish: if doors open on your map, prefer lazy, as a robot that '
    'has gone around one would go on doing so'
)


def study_text(study: Study) -> str:
    """All of it."""
    parts = [head(study), trade_off(study), *less_search(study), *recommendation(study)]
    if study.race.rounds < FEW:
        rounds = f'{study.race.rounds} problem' + 's' * (study.race.rounds > 1)
        parts.append(f'{rounds} to choose by are few: more --problems and a longer --time-limit would make it surer.')
    if study.interrupted:
        parts.append(f'Interrupted: this is from {study.race.rounds} of {len(study.plan.seen)} problems.')
    return '\n\n'.join(parts)


def head(study: Study) -> str:
    plan, ground = study.plan, study.plan.seen[0].ground
    height, width = ground.occupancy.shape
    budget = plan.budget
    return (
        f'{ground.name}: {width} x {height} cells of {ground.rules.resolution_m:g} m; '
        f'{IN_WORDS[plan.conditions.world]}\n'
        f'A tick at {budget.tick_hz:g} Hz with {budget.cpu:g} of a core has {1e3 * budget.tick_s:.3g} ms; '
        f'{SEARCH_SHARE:.0%} of it is for the search.\n'
        f'An expansion takes up to {1e6 * study.expansion_s:.3f} µs here: {study.race.k:,} a tick'
    )


def trade_off(study: Study) -> str:
    """The best candidates and the default, with what each costs."""
    race = study.race
    ranked = race.ranked()
    shown = [candidate for candidate in ranked[:SHOWN] if candidate != race.default]
    rows = [
        (_name(candidate, study), f'{100 * race.against_default(candidate).mean:+.1f} %', race.figures(candidate))
        for candidate in sorted({*shown, race.default}, key=ranked.index)
    ]
    left = len(ranked) - len(rows)
    text = WEIGHED * bool((study.plan.seen[0].ground.grid.terrain > COST_STEPS).any())
    text += table('', COLUMNS, [(name, figures_columns(more, figures)) for name, more, figures in rows])
    if left > 0:
        worst = race.against_default(ranked[-1]).mean
        text += f'\n{left} more were worse, up to {100 * worst:+.0f} % ({ranked[-1]})'
    return text


def less_search(study: Study) -> list[str]:
    """What fewer expansions would do, in lines; none if that was not tried."""
    if len(study.less) < 2:
        return []
    full = study.less[0][1].weighed
    rows = [
        (f'k = {k:,}', [f'{100 * (figures.weighed / full - 1):+.1f} %' for figures in (ours, default)])
        for k, ours, default in study.less
    ]
    return [table('with less search', (str(study.recommended), str(study.plan.default)), rows)]


def recommendation(study: Study) -> list[str]:
    plan, check = study.plan, study.check
    if study.recommended == plan.default:
        first = f'Recommended: {study.recommended}, as it is now, with {study.k:,} expansions a tick'
    else:
        first = f'Recommended: {study.recommended} with {study.k:,} expansions a tick'
    lines = [first]
    if check is not None:
        budget = f'tick p99 {_ms(check.ours.tick_p99_s)}, max {_ms(check.ours.tick_max_s)} of {_ms(plan.budget.tick_s)}'
        told = '' if study.chosen == plan.default else f'{compared(study, check.difference)}; '
        luck = f'{study.chosen}, the best of those it was chosen from, was worse: ' if study.was_luck else ''
        lines.append(f'On {check.ours.problems} problems not seen before: {luck}{told}{budget}')
        if check.ours.tick_p99_s > plan.budget.tick_s:
            lines.append(f'Its ticks were too long there: {study.k:,} expansions a tick instead of {check.k:,}')
    return ['\n'.join(lines)]


def compared(study: Study, difference: Difference) -> str:
    """In words, and not more than is known."""
    default = study.plan.default
    if abs(difference.mean) <= 2 * difference.error:
        return f'{difference} intervals against {default} with as many expansions, which may be chance'
    return f'{difference} intervals against {default} with as many expansions'


def reasons(study: Study) -> dict[str, str]:
    """For the parameter file, by parameter."""
    plan, budget, ours = study.plan, study.plan.budget, study.recommended
    check, rounds = study.check, study.race.rounds
    if study.was_luck:
        why = f'kept: {study.chosen} was the best on {rounds} problems, and worse than this one on others'
    elif ours == plan.default:
        why = f'kept: of {len(study.race.outcomes)} candidates on {rounds} problems none was better by more than a hair'
    elif check is not None:
        why = f'tuned: {compared(study, check.difference)}, on {check.ours.problems} problems it was not chosen by'
    else:
        why = f'tuned: {compared(study, study.race.against_default(ours))}, on the {rounds} problems it was chosen by'
    found = {'algorithm': why, 'tick_frequency': 'as asked for'}
    if ours.algorithm == 'tb_wa_star':
        found['weight'] = f'tuned: the best of {", ".join(f"{weight:g}" for weight in WEIGHTS)} and 1 (tba_star)'
    if plan.conditions.world == 'static':
        found['restart'] = 'not tuned: on a map that stays as it is nothing restarts a search'
    else:
        found['restart'] = f'tuned: {_restarts(study)}'
    p99 = check.ours.tick_p99_s if check is not None else study.race.figures(ours).tick_p99_s
    found['expansions_per_tick'] = (
        f'tuned on this computer: {_ms(budget.tick_s)} a tick are {budget.cpu:g} of a core at {budget.tick_hz:g} Hz; '
        f'99 of 100 ticks that searched took {_ms(p99)} or less. {_less_in_words(study)}On another computer tune '
        'again, or set it to 0, and search_time_s'
    )
    return found


def table(corner: str, header: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Names to the left, figures to the right."""
    lines = [(corner, header), *rows]
    widths = [max(len(name) for name, _ in lines)]
    widths += [max(len(cells[i]) for _, cells in lines) for i in range(len(header))]
    return '\n'.join(
        '  '.join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))])
        for name, cells in lines
    )


def figures_columns(more: str, figures: Figures) -> list[str]:
    return [
        more,
        f'{figures.cost_ratio:.3f}',
        f'{figures.first_move:.1f} ticks',
        f'{figures.back_moves:.1f}',
        f'{figures.restarts:.1f}',
        _ms(figures.tick_p99_s),
        str(figures.problems) if figures.arrived == figures.problems else f'{figures.arrived} of {figures.problems}',
    ]


def _name(candidate: Candidate, study: Study) -> str:
    mark = '*' if candidate == study.recommended else ' '
    return f'{mark} {candidate}' + ' (now)' * (candidate == study.plan.default)


def _restarts(study: Study) -> str:
    """How the other rules did with the same algorithm and weight."""
    race, ours = study.race, study.recommended
    others = [
        candidate
        for candidate in race.ranked()
        if candidate != ours and candidate.greed == ours.greed and candidate.row.learn_h == ours.row.learn_h
    ]
    if not others:
        return f'{ours.row.restart}, the only one tried with {ours.algorithm}'
    base = race.against_default(ours).mean
    more = {other.row.restart: 100 * (race.against_default(other).mean - base) for other in others}
    told = ', '.join(f'{rule} {percent:+.1f} %' for rule, percent in more.items())
    remark = f'. {BLIND}' if ours.row.restart == 'path_cost_increased' else ''
    return f'{ours.row.restart}; against it, in intervals: {told}{remark}'


def _less_in_words(study: Study) -> str:
    enough = [(k, ours) for k, ours, _ in study.less[1:] if ours.weighed <= 1.01 * study.less[0][1].weighed]
    if not enough:
        return ''
    k, figures = enough[-1]
    return (
        f'{k:,} would do almost as well ({100 * (figures.weighed / study.less[0][1].weighed - 1):+.1f} % intervals). '
    )


def _ms(seconds: float) -> str:
    return f'{1e3 * seconds:.3g} ms'
