"""The report of a study: the trade-off as text and as a plot, the recommendation, and its reasons."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tb_planner.search.algorithms import takes_weight
from tb_planner.search.grid import COST_STEPS
from tb_planner.tools.plotting import PictureError, check_matplotlib
from tb_planner.tools.tuning.race import PairedDifference, TrialMeans
from tb_planner.tools.tuning.study import MIN_GAIN, SEARCH_SHARE, SMALL_SAMPLE, Study, UnseenCheck
from tb_planner.tools.tuning.trial import WEIGHTS, Candidate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 8
"""The table has this number of candidates, and the default."""
COLUMNS = ('intervals', 'cost ratio', 'first move', 'backtracking', 'restarts', 'tick p99', 'problems')
WEIGHTED = 'Cells near obstacles have a higher cost: an interval counts as much as the cell entered costs.\n\n'
WORLD_TEXTS = {
    'static': 'the map does not change',
    'changing': 'obstacles appear and vanish near the robot',
    'unknown': 'the robot senses the map as it moves',
}
NO_SHORTCUTS = (
    'It does not notice opened shortcuts: if doors open on your map, prefer lazy, or the robot keeps its detour'
)
COLOURS = {'lazy': '#0072b2', 'path_cost_increased': '#e69f00', 'eager': '#009e73'}
MARKS = {'lazy': 'o', 'path_cost_increased': 's', 'eager': '^'}
LEARNING_COLOUR = '#cc79a7'
PERCENTS = (-20, -10, -5, -2, 0, 2, 5, 10, 20, 50, 100)
SIGNATURE = 'tb_planner tune'
"""Every plot contains this text: the tuner overwrites its own plots, and no other picture."""
GREEDY_AT = 1.6 * WEIGHTS[-1]
"""The place of greedy search on the axis of weights."""


# ------------------------------------------------------------------------------------------------ text
def study_text(study: Study) -> str:
    parts = [heading(study), trade_off(study), *less_search(study), recommendation(study), *caveats(study)]
    return '\n\n'.join(parts)


def heading(study: Study) -> str:
    plan, map_ = study.plan, study.plan.seen[0].map_
    height, width = map_.occupancy.shape
    budget, check = plan.budget, study.check
    others = 0 if check is None else check.chosen.problems
    origin = f'; {plan.origin}' if plan.origin else ''
    return (
        f'{map_.name}: {width} x {height} cells of {map_.rules.resolution_m:g} m; '
        f'{WORLD_TEXTS[plan.conditions.world]}\n'
        f'A tick at {budget.tick_hz:g} Hz with {budget.cpu:g} of a core has {1e3 * budget.tick_s:.3g} ms; '
        f'{SEARCH_SHARE:.0%} of it is for the search.\n'
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
    text += table('', COLUMNS, [(name, means_columns(more, means)) for name, more, means in rows])
    if left > 0:
        last = max(ranked, key=lambda candidate: race.against_default(candidate).mean)
        best, worst = (race.against_default(candidate).mean for candidate in (ranked[0], last))
        worse = f'worse, up to {100 * worst:+.0f} % ({last})' if worst - best >= MIN_GAIN else 'as good'
        text += f'\n{left} more were {worse}'
    if any(race.has_dropped_out(candidate) for candidate in shown):
        text += f'\nCandidates with fewer than {race.rounds} problems were clearly worse and dropped out.'
    return text


def less_search(study: Study) -> list[str]:
    """Returns a table of the effect of fewer expansions, if that was measured."""
    if len(study.smaller_ks) < 2:
        return []
    full = study.smaller_ks[0].recommended.weighted_intervals
    names = dict.fromkeys((str(study.recommended), str(study.plan.default)))  # one column, if they are the same
    rows = [
        (f'k = {k:,}', [f'{100 * (means.weighted_intervals / full - 1):+.1f} %' for means, _ in zip(both, names)])
        for k, *both in study.smaller_ks
    ]
    return [table('with less search', tuple(names), rows)]


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
    found['search_time_s'] = f'{SEARCH_SHARE:.0%} of the budget of {_ms(plan.budget.tick_s)} per tick'
    return found


def _algorithm_reason(study: Study) -> str:
    check, ours, rounds = study.check, study.recommended, _count(study.race.rounds)
    if study.is_contradicted:
        return f'kept: {study.chosen} was the best on {rounds}, and worse than this one on others'
    if study.is_inconclusive:
        return f'kept: {study.chosen} was the best on {rounds}, but that may be chance'
    if ours == study.plan.default:
        return f'kept: none of {len(study.race.results)} candidates was better by {MIN_GAIN:.1%} on {rounds}'
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
        f'{_enough_k(study)}On another computer tune again, or set it to 0: then a tick searches for search_time_s'
    )


def _enough_k(study: Study) -> str:
    if not study.smaller_ks:
        return ''
    full = study.smaller_ks[0].recommended.weighted_intervals
    enough = [(k, ours) for k, ours, _ in study.smaller_ks[1:] if ours.weighted_intervals <= 1.01 * full]
    if not enough:
        return ''
    k, means = enough[-1]
    return f'{k:,} is almost as good ({100 * (means.weighted_intervals / full - 1):+.1f} % intervals). '


def _restart_reason(study: Study) -> str:
    """Compares the rule with the other rules for the same algorithm and weight."""
    race, ours = study.race, study.recommended
    others = [
        candidate
        for candidate in race.ranked()
        if candidate != ours
        and candidate.weight_used == ours.weight_used
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


def table(corner: str, header: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    """Returns lines with the names on the left and right-aligned columns."""
    lines = [(corner, header), *rows]
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
    """Raises ValueError before the study if the plot would overwrite a file that is not a plot of the tuner."""
    if not path.exists():
        return
    try:
        with path.open('rb') as file:
            is_plot = SIGNATURE.encode() in file.read(1000)
    except OSError as error:
        raise ValueError(f'{path}: cannot write the plot: {error.strerror}') from error
    if not is_plot:
        raise ValueError(f'{path}: the file exists and is not a plot of the tuner; choose another name with --png')


def draw_study(study: Study, path: Path) -> None:
    """Draws intervals by weight and restart rule, and by expansions per tick, as a PNG. Raises PictureError."""
    check_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout='constrained')
    by_weight, by_k = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_weights(by_weight, study)
    _draw_smaller_ks(by_k, study)
    name = study.plan.seen[0].map_.name
    title = f'{name}, {study.plan.conditions.world} world: recommended {study.recommended}'
    figure.suptitle(title, parse_math=False)  # a file name may contain dollar signs
    try:
        figure.savefig(path, dpi=120, format='png', metadata={'Software': SIGNATURE})
    except OSError as error:
        raise PictureError(f'{path}: cannot write the plot: {error.strerror}') from error


def _draw_weights(axes: Axes, study: Study) -> None:
    race = study.race
    for rule, colour in COLOURS.items():
        line = sorted(
            (candidate for candidate, results in race.results.items() if results and _has_rule(candidate, rule)),
            key=lambda candidate: candidate.weight_used,
        )
        if line:
            points = [_point(candidate, study) for candidate in line]
            axes.plot(*zip(*points), color=colour, marker=MARKS[rule], mfc='white', clip_on=False)
            running = [point for point, candidate in zip(points, line, strict=True) if candidate in race.running]
            axes.plot(*zip(*running or [(math.nan, math.nan)]), MARKS[rule], color=colour, clip_on=False)
            axes.plot([], [], color=colour, marker=MARKS[rule], label=rule)
    for candidate, results in race.results.items():
        if candidate.config.learn_h and results:
            axes.plot(*_point(candidate, study), 'D', color=LEARNING_COLOUR, label=candidate.algorithm)
    if any(0 < len(results) < race.rounds for results in race.results.values()):
        axes.plot([], [], 'o', color='0.5', mfc='white', label='dropped out')
    axes.plot(*_point(race.default, study), 's', ms=14, mfc='none', mec='0.4', label='current')
    axes.plot(*_point(study.recommended, study), 'o', ms=18, mfc='none', mec='black', label='recommended')
    axes.axhline(0, color='0.6', linewidth=0.8)
    axes.set_xscale('log')
    ticks = [1.0, *(weight for weight in WEIGHTS if weight not in (1.2, 1.35, 1.75, 2.5)), GREEDY_AT]
    axes.set_xticks(ticks, [*(f'{tick:g}' for tick in ticks[:-1]), 'greedy'])
    axes.minorticks_off()
    axes.set_yscale('symlog', linthresh=5)
    axes.set_yticks(PERCENTS, [f'{percent:+d}' if percent else '0' for percent in PERCENTS])
    axes.set(xlabel='weight w', ylabel=f'intervals against {study.plan.default}, %')
    drawn = [_point(candidate, study)[1] for candidate, results in race.results.items() if results]
    axes.set_ylim(1.3 * min(drawn) - 1, max(drawn) + 10)
    axes.set_title(f'with {race.k:,} expansions per tick', fontsize=10)
    axes.legend(fontsize=8, markerscale=0.7)


def _draw_smaller_ks(axes: Axes, study: Study) -> None:
    axes.set(xlabel='expansions per tick', ylabel=f'intervals against {study.recommended} with {study.k:,}, %')
    axes.set_title('with less search', fontsize=10)
    if not study.smaller_ks:
        axes.text(0.5, 0.5, 'not measured', ha='center', transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    ks = [smaller.k for smaller in study.smaller_ks]
    full = study.smaller_ks[0].recommended.weighted_intervals
    ours, default = (
        [100 * (means.weighted_intervals / full - 1) for means in column]
        for column in list(zip(*study.smaller_ks, strict=True))[1:]
    )
    axes.plot(ks, ours, 'o-', color='#0072b2', label=str(study.recommended))
    if study.recommended != study.plan.default:
        axes.plot(ks, default, 's--', color='0.4', label=f'{study.plan.default}, current')
    axes.set_xscale('log')
    axes.set_xticks(ks, [f'{k:,}' for k in ks])
    axes.minorticks_off()
    axes.axvline(ks[0], color='#d55e00', linewidth=0.8, label='budget')
    axes.legend(fontsize=8)


def _has_rule(candidate: Candidate, rule: str) -> bool:
    return candidate.config.restart == rule and not candidate.config.learn_h


def _point(candidate: Candidate, study: Study) -> tuple[float, float]:
    weight = GREEDY_AT if math.isinf(candidate.weight_used) else candidate.weight_used
    return weight, 100 * study.race.against_default(candidate).mean
