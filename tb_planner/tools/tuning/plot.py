"""The trade-off as a picture: intervals by weight and restart rule, and by expansions a tick."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from tb_planner.tools.plotting import PictureError, check_matplotlib
from tb_planner.tools.tuning.candidates import WEIGHTS, Candidate
from tb_planner.tools.tuning.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {'lazy': '#0072b2', 'path_cost_increased': '#e69f00', 'eager': '#009e73'}
MARKS = {'lazy': 'o', 'path_cost_increased': 's', 'eager': '^'}
LEARNING_COLOUR = '#cc79a7'
PERCENTS = (-20, -10, -5, -2, 0, 2, 5, 10, 20, 50, 100)
SIGNATURE = 'tb_planner tune'
"""Stands in every plot, which may be drawn over; pictures of others may not."""
GREEDY_AT = 1.6 * WEIGHTS[-1]
"""Where TB-GBFS stands on the scale of weights."""


def check_may_draw(path: Path) -> None:
    """Before the work: beside a file of parameters may lie a map's image."""
    if not path.exists():
        return
    try:
        with path.open('rb') as file:
            is_ours = SIGNATURE.encode() in file.read(1000)
    except OSError as error:
        raise ValueError(f'{path}: the plot cannot be written there: {error.strerror}') from error
    if not is_ours:
        raise ValueError(f'{path}: it is there already, and was not drawn by the tuner; --png names another')


def draw_study(study: Study, path: Path) -> None:
    """As a PNG; raises PictureError where there is nothing to draw with."""
    check_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.6), layout='constrained')
    by_weight, by_k = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_weights(by_weight, study)
    _draw_less(by_k, study)
    ground = study.plan.seen[0].ground
    title = f'{ground.name}, {study.plan.conditions.world} world: recommended {study.recommended}'
    figure.suptitle(title, parse_math=False)  # a file may be called anything
    try:
        figure.savefig(path, dpi=120, format='png', metadata={'Software': SIGNATURE})
    except OSError as error:
        raise PictureError(f'{path}: the plot cannot be written: {error.strerror}') from error


def _draw_weights(axes: Axes, study: Study) -> None:
    race = study.race
    for rule, colour in COLOURS.items():
        line = sorted(
            (candidate for candidate, outcomes in race.outcomes.items() if outcomes and _is_of(candidate, rule)),
            key=lambda candidate: candidate.greed,
        )
        if line:
            places = [_place(candidate, study) for candidate in line]
            axes.plot(*zip(*places), color=colour, marker=MARKS[rule], mfc='white', clip_on=False)
            whole = [place for place, candidate in zip(places, line, strict=True) if candidate in race.running]
            axes.plot(*zip(*whole or [(math.nan, math.nan)]), MARKS[rule], color=colour, clip_on=False)
            axes.plot([], [], color=colour, marker=MARKS[rule], label=rule)
    for candidate, outcomes in race.outcomes.items():
        if candidate.row.learn_h and outcomes:
            axes.plot(*_place(candidate, study), 'D', color=LEARNING_COLOUR, label=candidate.algorithm)
    if any(0 < len(outcomes) < race.rounds for outcomes in race.outcomes.values()):
        axes.plot([], [], 'o', color='0.5', mfc='white', label='dropped out after a few problems')
    axes.plot(*_place(race.default, study), 's', ms=14, mfc='none', mec='0.4', label='now')
    axes.plot(*_place(study.recommended, study), 'o', ms=18, mfc='none', mec='black', label='recommended')
    axes.axhline(0, color='0.6', linewidth=0.8)
    axes.set_xscale('log')
    ticks = [1.0, *(weight for weight in WEIGHTS if weight not in (1.2, 1.35, 1.75, 2.5)), GREEDY_AT]
    axes.set_xticks(ticks, [*(f'{tick:g}' for tick in ticks[:-1]), 'greedy'])
    axes.minorticks_off()
    axes.set_yscale('symlog', linthresh=5)
    axes.set_yticks(PERCENTS, [f'{percent:+d}' if percent else '0' for percent in PERCENTS])
    axes.set(xlabel='weight w', ylabel=f'intervals against {study.plan.default}, %')
    drawn = [_place(candidate, study)[1] for candidate, outcomes in race.outcomes.items() if outcomes]
    axes.set_ylim(1.3 * min(drawn) - 1, max(drawn) + 10)
    axes.set_title(f'with {race.k:,} expansions a tick', fontsize=10)
    axes.legend(fontsize=8, markerscale=0.7)


def _draw_less(axes: Axes, study: Study) -> None:
    axes.set(xlabel='expansions a tick', ylabel=f'intervals against {study.recommended} with {study.k:,}, %')
    axes.set_title('with less search', fontsize=10)
    if not study.less:
        axes.text(0.5, 0.5, 'not measured', ha='center', transform=axes.transAxes)
        axes.set(xticks=[], yticks=[])
        return
    ks = [k for k, _, _ in study.less]
    full = study.less[0][1].weighed
    ours, default = (
        [100 * (figures.weighed / full - 1) for figures in column] for column in list(zip(*study.less, strict=True))[1:]
    )
    axes.plot(ks, ours, 'o-', color='#0072b2', label=str(study.recommended))
    if study.recommended != study.plan.default:
        axes.plot(ks, default, 's--', color='0.4', label=f'{study.plan.default}, now')
    axes.set_xscale('log')
    axes.set_xticks(ks, [f'{k:,}' for k in ks])
    axes.minorticks_off()
    axes.axvline(ks[0], color='#d55e00', linewidth=0.8, label='the budget')
    axes.legend(fontsize=8)


def _is_of(candidate: Candidate, rule: str) -> bool:
    return candidate.row.restart == rule and not candidate.row.learn_h


def _place(candidate: Candidate, study: Study) -> tuple[float, float]:
    greed = GREEDY_AT if math.isinf(candidate.greed) else candidate.greed
    return greed, 100 * study.race.against_default(candidate).mean
