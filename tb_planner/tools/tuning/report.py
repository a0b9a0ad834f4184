"""What a study has found, for people: the trade-off, the recommendation and its reasons."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence

from tb_planner.search.algorithms import takes_weight
from tb_planner.search.grid import COST_STEPS
from tb_planner.tools.tuning.budget import SEARCH_SHARE
from tb_planner.tools.tuning.candidates import WEIGHTS, Candidate
from tb_planner.tools.tuning.figures import Difference, Figures, difference
from tb_planner.tools.tuning.study import A_HAIR, FEW, Check, Study

SHOWN = 8
"""Candidates in the table: so many of the best, and the default."""
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
    return '\n\n'.join([head(study), trade_off(study), *less_search(study), recommendation(study), *doubts(study)])


def head(study: Study) -> str:
    plan, ground = study.plan, study.plan.seen[0].ground
    height, width = ground.occupancy.shape
    budget, check = plan.budget, study.check
    others = 0 if check is None else check.ours.problems
    origin = f'; {plan.origin}' if plan.origin else ''
    return (
        f'{ground.name}: {width} x {height} cells of {ground.rules.resolution_m:g} m; '
        f'{IN_WORDS[plan.conditions.world]}\n'
        f'A tick at {budget.tick_hz:g} Hz with {budget.cpu:g} of a core has {1e3 * budget.tick_s:.3g} ms; '
        f'{SEARCH_SHARE:.0%} of it is for the search.\n'
        f'An expansion takes up to {1e6 * study.pace.expansion_s:.3f} µs here: {study.race.k:,} a tick.\n'
        f'{len(study.race.outcomes)} candidates, {_counted(study.race.rounds)} to choose by, {others} others{origin}'
    )


def doubts(study: Study) -> list[str]:
    """What speaks against trusting it: what was left out, and why, and how few problems there were."""
    told = []
    if study.cut_short:
        why = 'Interrupted' if study.interrupted else f'The time limit of {study.time_limit_s:g} s came'
        told.append(f'{why} before all was done: {"; ".join(study.cut_short)}.')
    if study.race.rounds < FEW:
        told.append(
            f'To choose by {_counted(study.race.rounds)} is little: more --problems and a longer --time-limit would '
            'make it surer.'
        )
    if study.check is None:
        told.append('Nothing was tried on problems not seen before: the figures are of those it was chosen by.')
    return told


def trade_off(study: Study) -> str:
    """The best candidates and the default, with what each costs."""
    race = study.race
    ranked = race.ranked()
    shown = {*ranked[:SHOWN], race.default, study.chosen}
    rows = [
        (_name(candidate, study), f'{100 * race.against_default(candidate).mean:+.1f} %', race.figures(candidate))
        for candidate in sorted(shown, key=ranked.index)
    ]
    left = len(ranked) - len(rows)
    text = WEIGHED * bool((study.plan.seen[0].ground.grid.cost_u16 > COST_STEPS).any())
    text += table('', COLUMNS, [(name, figures_columns(more, figures)) for name, more, figures in rows])
    if left > 0:
        last = max(ranked, key=lambda candidate: race.against_default(candidate).mean)
        best, worst = (race.against_default(candidate).mean for candidate in (ranked[0], last))
        worse = f'worse, up to {100 * worst:+.0f} % ({last})' if worst - best >= A_HAIR else 'as good'
        text += f'\n{left} more were {worse}'
    if any(race.has_dropped_out(candidate) for candidate in shown):
        text += f'\nThose with fewer than {race.rounds} problems fell clearly behind the best, and dropped out.'
    return text


def less_search(study: Study) -> list[str]:
    """What fewer expansions would do, in lines; none if that was not tried."""
    if len(study.less) < 2:
        return []
    full = study.less[0][1].weighed
    names = dict.fromkeys((str(study.recommended), str(study.plan.default)))  # once, if they are the same
    rows = [
        (f'k = {k:,}', [f'{100 * (figures.weighed / full - 1):+.1f} %' for figures, _ in zip(both, names)])
        for k, *both in study.less
    ]
    return [table('with less search', tuple(names), rows)]


def recommendation(study: Study) -> str:
    plan, check = study.plan, study.check
    kept = ', as it is now,' * (study.recommended == plan.default)
    lines = [f'Recommended: {study.recommended}{kept} with {study.k:,} expansions a tick']
    if study.is_guess:
        more = study.race.against_default(study.chosen)
        lines.append(f'{study.chosen} was the best, {more} intervals, but that may be chance: only k is tuned')
    if check is not None:
        figures = study.checked(check)
        budget = f'tick p99 {_ms(figures.tick_p99_s)}, max {_ms(figures.tick_max_s)} of {_ms(plan.budget.tick_s)}'
        told = '' if study.chosen == plan.default else f'{compared(study, check.difference)}; '
        luck = f'{study.chosen}, the best of those it was chosen from, was worse: ' if study.was_luck else ''
        guess = f'{study.chosen} ' if study.is_guess else ''
        lines.append(f'On {_counted(check.ours.problems)} not seen before: {luck}{guess}{told}{budget}')
        lines += _too_long(study, check)
    return '\n'.join(lines)


def _too_long(study: Study, check: Check) -> list[str]:
    """What is told where the budget was not kept."""
    budget, took_s = study.plan.budget, study.checked(check).tick_p99_s
    if took_s <= budget.tick_s:
        return []
    if study.k < check.k:
        return [f'Its ticks were too long there: {study.k:,} expansions a tick instead of {check.k:,}, not tried yet']
    return [
        f'The budget cannot be kept: ticks take longer however little they search; --cpu has to be '
        f'{budget.cpu * took_s / budget.tick_s:.2g} at least, or --tick-hz lower'
    ]


def compared(study: Study, difference: Difference) -> str:
    """In words, and not more than is known."""
    default = study.plan.default
    if not difference.is_clear:
        return f'{difference} intervals against {default} with as many expansions, which may be chance'
    return f'{difference} intervals against {default} with as many expansions'


def reasons(study: Study) -> dict[str, str]:
    """For the parameter file, by parameter."""
    plan, ours = study.plan, study.recommended
    found = {'algorithm': _why(study), 'tick_frequency': 'as asked for'}
    kept = ours == plan.default
    if takes_weight(ours.algorithm) and not kept:
        found['weight'] = f'tuned: the best of {", ".join(f"{weight:g}" for weight in WEIGHTS)} and 1 (tba_star)'
    if plan.conditions.world == 'static':
        found['restart'] = 'not tuned: on a map that stays as it is nothing restarts a search'
    else:
        found['restart'] = f'{"kept" if kept else "tuned"}: {_restarts(study)}'
    found['expansions_per_tick'] = _why_k(study)
    found['search_time_s'] = f'{SEARCH_SHARE:.0%} of the {_ms(plan.budget.tick_s)} that a tick has'
    return found


def _why(study: Study) -> str:
    """This algorithm."""
    check, ours, rounds = study.check, study.recommended, _counted(study.race.rounds)
    if study.was_luck:
        return f'kept: {study.chosen} was the best on {rounds}, and worse than this one on others'
    if study.is_guess:
        return f'kept: {study.chosen} was the best on {rounds}, but that may be chance'
    if ours == study.plan.default:
        return f'kept: of {len(study.race.outcomes)} candidates on {rounds} none was better by more than a hair'
    if check is not None:
        return f'tuned: {compared(study, check.difference)}, on {_counted(check.ours.problems)} it was not chosen by'
    return f'tuned: {compared(study, study.race.against_default(ours))}, on the {rounds} it was chosen by'


def _why_k(study: Study) -> str:
    budget, check = study.plan.budget, study.check
    figures = study.race.figures(study.recommended) if check is None else study.checked(check)
    k = study.race.k if check is None else check.k
    counted = f' with {k:,}' * (k != study.k)
    return (
        f'tuned on this computer, {platform.node()}: {_ms(budget.tick_s)} a tick are {budget.cpu:g} of a core at '
        f'{budget.tick_hz:g} Hz; 99 of 100 ticks that searched took {_ms(figures.tick_p99_s)} or less{counted}. '
        f'{_less_in_words(study)}On another computer tune again, or set it to 0: then a tick searches for search_time_s'
    )


def _counted(problems: int) -> str:
    return f'{problems} problem' + 's' * (problems != 1)


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
        '–' if math.isnan(figures.cost_ratio) else f'{figures.cost_ratio:.3f}',
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
    more = {other.row.restart: 100 * difference(race.outcomes[other], race.outcomes[ours]).mean for other in others}
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
