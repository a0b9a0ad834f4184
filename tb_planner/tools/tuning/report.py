"""The report of a study: the trade-off as text and as a plot, the recommendation, and its reasons."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tb_planner.files import check_may_write
from tb_planner.search.algorithms import takes_weight
from tb_planner.search.grid import COST_STEPS
from tb_planner.tools.plotting import PictureError, check_matplotlib
from tb_planner.tools.tuning.race import PairedDifference, TrialMeans
from tb_planner.tools.tuning.study import MIN_GAIN, SEARCH_SHARE, SMALL_SAMPLE, Study, UnseenCheck
from tb_planner.tools.tuning.trial import WEIGHTS, WORLDS, Candidate

SHOWN = 8
"""The table has this number of candidates, and the default."""
COLUMNS = ('intervals', 'cost ratio', 'first move', 'backtracking', 'restarts', 'tick p99', 'problems')
WEIGHTED = 'Cells near obstacles have a higher cost: an interval counts as much as the cell entered costs.\n\n'
NO_SHORTCUTS = (
    'It does not notice opened shortcuts: if doors open on your map, prefer lazy, or the robot keeps its detour'
)
SIGNATURE = 'tb_planner tune'
"""Every plot contains this text: the tuner overwrites its own plots, and no other picture."""
STYLES: dict[str, dict[str, Any]] = {
    'lazy': {'marker': 'o', 'color': '#0072b2'},
    'path_cost_increased': {'marker': 's', 'color': '#e69f00'},
    'eager': {'marker': '^', 'color': '#009e73'},
    'never': {'marker': 'v', 'color': '#56b4e9'},
    'learns h': {'marker': 'D', 'color': '#cc79a7', 'linestyle': 'none'},
}
"""Restart rules, and algorithms that learn, in the plot."""
GREEDY_AT = 1.6 * WEIGHTS[-1]
"""The place of greedy search on the axis of weights."""


def study_text(study: Study) -> str:
    parts = [heading(study), trade_off(study), recommendation(study), *caveats(study)]
    return '\n\n'.join(parts)


def heading(study: Study) -> str:
    plan, map_ = study.plan, study.plan.seen[0].map_
    height, width = map_.occupancy.shape
    budget, check = plan.budget, study.check
    others = 0 if check is None else check.chosen.problems
    origin = f'; {plan.origin}' if plan.origin else ''
    return (
        f'{map_.name}: {width} x {height} cells of {map_.rules.resolution_m:g} m; '
        f'{WORLDS[plan.conditions.world]}\n'
        f'A tick at {budget.tick_hz:g} Hz with {budget.cpu:g} of a core has {1e3 * budget.tick_s:.3g} ms; '
        f'{100 * SEARCH_SHARE:.0f} % of it is for the search.\n'
        f'An expansion takes up to {1e6 * study.speed.expansion_s:.3f} µs on this computer: {study.race.k:,} fit into '
        'a tick.\n'
        f'{len(study.race.results)} candidates; chosen on {_count(study.race.rounds)}, checked on {others} '
        f'others{origin}'
    )


def caveats(study: Study) -> list[str]:
    """Returns reasons for not trusting the result: work that was left out, and small samples."""
    found = []
    if study.cut_short:
        why = 'Ctrl-C' if study.interrupted else f'The time limit of {study.time_limit_s:g} s'
        found.append(f'{why} ended the study early: {"; ".join(study.cut_short)}.')
    if study.race.rounds < SMALL_SAMPLE:
        verb = 'is' if study.race.rounds == 1 else 'are'
        found.append(
            f'{_count(study.race.rounds)} {verb} a small sample; use more --problems and a longer --time-limit.'
        )
    if study.check is None:
        found.append('The choice was not checked on unseen problems: the figures come from the problems it won on.')
    return found


def trade_off(study: Study) -> str:
    """Returns the table of the best candidates and the default."""
    race = study.race
    ranked = race.ranked()
    shown = {*ranked[:SHOWN], race.default, study.chosen}
    rows = [
        (_name(candidate, study), f'{100 * race.against_default(candidate).mean:+.1f} %', race.means(candidate))
        for candidate in sorted(shown, key=ranked.index)
    ]
    left = len(ranked) - len(rows)
    text = WEIGHTED * bool((study.plan.seen[0].map_.grid.cost_u16 > COST_STEPS).any())
    text += table(COLUMNS, [(name, means_columns(more, means)) for name, more, means in rows])
    if left > 0:
        last = max(ranked, key=lambda candidate: race.against_default(candidate).mean)
        best, worst = (race.against_default(candidate).mean for candidate in (ranked[0], last))
        worse = f'worse, up to {100 * worst:+.0f} % ({last})' if worst - best >= MIN_GAIN else 'as good'
        text += f'\n{left} more were {worse}'
    if any(race.has_dropped_out(candidate) for candidate in shown):
        text += f'\nCandidates with fewer than {race.rounds} problems were clearly worse and dropped out.'
    return text


def recommendation(study: Study) -> str:
    plan, check = study.plan, study.check
    kept = ' (unchanged)' * (study.recommended == plan.default)
    lines = [f'Recommended: {study.recommended}{kept} with {study.k:,} expansions per tick']
    if study.is_inconclusive:
        more = study.race.against_default(study.chosen)
        lines.append(f'{study.chosen} was the best, {more} intervals, but that may be chance: only k is tuned')
    if check is not None:
        means = study.checked(check)
        budget = f'tick p99 {_ms(means.tick_p99_s)}, max {_ms(means.tick_max_s)}, budget {_ms(plan.budget.tick_s)}'
        compared = '' if study.chosen == plan.default else f'{comparison(study, check.difference)}; '
        contradicted = f'{study.chosen}, the best before, was worse: ' if study.is_contradicted else ''
        inconclusive = f'{study.chosen} ' if study.is_inconclusive else ''
        lines.append(f'On {_count(check.chosen.problems, "unseen ")}: {contradicted}{inconclusive}{compared}{budget}')
        lines += _exceeded_budget(study, check)
    return '\n'.join(lines)


def _exceeded_budget(study: Study, check: UnseenCheck) -> list[str]:
    budget, took_s = study.plan.budget, study.checked(check).tick_p99_s
    if took_s <= budget.tick_s:
        return []
    if study.k < check.k:
        return [f'Its ticks exceeded the budget: {study.k:,} expansions per tick instead of {check.k:,}, not tried yet']
    return [
        f'Ticks exceed the budget however little they search; --cpu must be at least '
        f'{budget.cpu * took_s / budget.tick_s:.2g}, or --tick-hz lower'
    ]


def comparison(study: Study, difference: PairedDifference) -> str:
    chance = '' if difference.is_clear else ', which may be chance'
    return f'{difference} intervals against {study.plan.default} with as many expansions{chance}'


def reasons(study: Study) -> dict[str, str]:
    """Returns the comments for the parameter file, by parameter."""
    plan, ours = study.plan, study.recommended
    found = {'algorithm': _algorithm_reason(study), 'tick_frequency': 'from --tick-hz or --params'}
    kept = ours == plan.default
    if takes_weight(ours.algorithm) and not kept:
        found['weight'] = f'tuned: the best of {", ".join(f"{weight:g}" for weight in WEIGHTS)} and 1 (tba_star)'
    if plan.conditions.world == 'static':
        found['restart'] = 'not tuned: nothing restarts a search on a static map'
    else:
        found['restart'] = f'{"kept" if kept else "tuned"}: {_restart_reason(study)}'
    found['expansions_per_tick'] = _k_reason(study)
    found['search_time_s'] = f'{100 * SEARCH_SHARE:.0f} % of the budget of {_ms(plan.budget.tick_s)} per tick'
    return found


def _algorithm_reason(study: Study) -> str:
    check, ours, rounds = study.check, study.recommended, _count(study.race.rounds)
    if study.is_contradicted:
        return f'kept: {study.chosen} was the best on {rounds}, and worse than this one on others'
    if study.is_inconclusive:
        return f'kept: {study.chosen} was the best on {rounds}, but that may be chance'
    if ours == study.plan.default:
        return f'kept: none of {len(study.race.results)} candidates was better by {100 * MIN_GAIN:.1f} % on {rounds}'
    if check is not None:
        return f'tuned: {comparison(study, check.difference)}, on {_count(check.chosen.problems, "unseen ")}'
    return f'tuned: {comparison(study, study.race.against_default(ours))}, on the {rounds} that it was chosen on'


def _k_reason(study: Study) -> str:
    budget, check = study.plan.budget, study.check
    means = study.race.means(study.recommended) if check is None else study.checked(check)
    k = study.race.k if check is None else check.k
    with_k = f' with {k:,}' * (k != study.k)
    return (
        f'tuned on this computer, {platform.node()}: {budget.cpu:g} of a core at {budget.tick_hz:g} Hz is '
        f'{_ms(budget.tick_s)} per tick; 99 of 100 ticks that searched took {_ms(means.tick_p99_s)} or less{with_k}. '
        'On another computer tune again, or set it to 0: then a tick searches for search_time_s'
    )


def _restart_reason(study: Study) -> str:
    """Compares the rule with the other rules for the same algorithm and weight."""
    race, ours = study.race, study.recommended
    others = [
        candidate
        for candidate in race.ranked()
        if candidate != ours
        and candidate.config.weight == ours.config.weight
        and candidate.config.learn_h == ours.config.learn_h
    ]
    if not others:
        return f'{ours.config.restart}, the only rule tried with {ours.algorithm}'
    more = {other.config.restart: PairedDifference.of(race.results[other], race.results[ours]) for other in others}
    listed = ', '.join(f'{rule} {100 * difference.mean:+.1f} %' for rule, difference in more.items())
    remark = f'. {NO_SHORTCUTS}' if ours.config.restart == 'path_cost_increased' else ''
    return f'{ours.config.restart}; intervals of the others against it: {listed}{remark}'


def _count(problems: int, kind: str = '') -> str:
    return f'{problems} {kind}problem' + 's' * (problems != 1)


def table(header: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Returns lines with the names on the left and right-aligned columns."""
    lines = [('', header), *rows]
    widths = [max(len(name) for name, _ in lines)]
    widths += [max(len(cells[i]) for _, cells in lines) for i in range(len(header))]
    return '\n'.join(
        '  '.join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))])
        for name, cells in lines
    )


def means_columns(more: str, means: TrialMeans) -> list[str]:
    return [
        more,
        '–' if math.isnan(means.cost_ratio) else f'{means.cost_ratio:.3f}',
        f'{means.first_move:.1f} ticks',
        f'{means.back_moves:.1f}',
        f'{means.restarts:.1f}',
        _ms(means.tick_p99_s),
        str(means.problems) if means.arrived == means.problems else f'{means.arrived} of {means.problems}',
    ]


def _name(candidate: Candidate, study: Study) -> str:
    mark = '*' if candidate == study.recommended else ' '
    return f'{mark} {candidate}' + ' (current)' * (candidate == study.plan.default)


def _ms(seconds: float) -> str:
    return f'{1e3 * seconds:.3g} ms'


# ------------------------------------------------------------------------------------------------ plot
def check_may_draw(path: Path) -> None:
    """Raises BadInput before the study if the plot cannot be written, or would overwrite another file."""
    check_may_write(path, 'a plot of the tuner', lambda path: SIGNATURE.encode() in path.read_bytes()[:1000], '--png')


def draw_study(study: Study, path: Path) -> None:
    """Draws intervals by weight and restart rule, as a PNG. Raises PictureError."""
    check_matplotlib()
    from matplotlib.figure import Figure

    race, figure = study.race, Figure(figsize=(9, 5), layout='constrained')
    axes = figure.subplots()
    lines: dict[str, list[tuple[float, float]]] = {name: [] for name in STYLES}
    for candidate in race.ranked():
        lines['learns h' if candidate.config.learn_h else candidate.config.restart].append(_point(candidate, study))
    for label, points in filter(lambda line: line[1], lines.items()):
        axes.plot(*zip(*sorted(points)), label=label, **STYLES[label])
    for label, candidate, size in (('current', race.default, 14), ('recommended', study.recommended, 20)):
        axes.plot(*_point(candidate, study), 'o', ms=size, mfc='none', mec='black', label=label)
    ticks = [1.0, *WEIGHTS[1::2], WEIGHTS[-1], GREEDY_AT]
    axes.set(xscale='log', xlabel='weight w', ylabel=f'intervals against {study.plan.default}, %')
    axes.set_xticks(ticks, [*(f'{tick:g}' for tick in ticks[:-1]), 'greedy'])
    axes.minorticks_off()
    axes.legend(fontsize=8, markerscale=0.7)
    world, name = study.plan.conditions.world, study.plan.seen[0].map_.name
    title = f'{name}, {world} world, {race.k:,} expansions per tick: recommended {study.recommended}'
    figure.suptitle(title, parse_math=False)  # a file name may contain dollar signs
    try:
        figure.savefig(path, dpi=120, format='png', metadata={'Software': SIGNATURE})
    except OSError as error:
        raise PictureError(f'{path}: cannot write the plot: {error.strerror}') from error


def _point(candidate: Candidate, study: Study) -> tuple[float, float]:
    weight = GREEDY_AT if math.isinf(candidate.config.weight) else candidate.config.weight
    return weight, 100 * study.race.against_default(candidate).mean
