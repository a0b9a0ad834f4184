"""What if: several parameter files on the same problems."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tb_planner.tuning.budget import fitting_k
from tb_planner.tuning.candidates import Candidate
from tb_planner.tuning.figures import difference, figures_of
from tb_planner.tuning.ground import Problem
from tb_planner.tuning.report import COLUMNS, figures_columns, table
from tb_planner.tuning.study import Progress, silent, while_time_lasts
from tb_planner.tuning.trial import Conditions, Outcome, carry_out


class Rival(NamedTuple):
    """A parameter file, as far as it matters here."""

    name: str
    candidate: Candidate
    k: int
    min_improvement: float


@dataclass
class Comparison:
    """The first one is what the others are compared with."""

    rivals: Sequence[Rival]
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    interrupted: bool = False


def k_of(expansions_per_tick: int, search_time_s: float, expansion_s: float) -> int:
    """As many as asked for, or as fit into the time."""
    return expansions_per_tick or fitting_k(search_time_s, expansion_s)


def compare(
    rivals: Sequence[Rival],
    problems: Sequence[Problem],
    world: str,
    progress: Progress = silent,
    time_limit_s: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> Comparison:
    """All of them get the same problems; Ctrl-C, or the time limit, ends it with those that all have had."""
    comparison = Comparison(rivals, {rival.name: [] for rival in rivals})
    try:
        for number, problem in enumerate(while_time_lasts(problems, clock() + time_limit_s, clock)):
            results = [
                carry_out(problem, rival.candidate, rival.k, Conditions(world, rival.min_improvement))
                for rival in rivals
            ]
            for rival, outcome in zip(rivals, results, strict=True):
                comparison.outcomes[rival.name].append(outcome)
            progress((number + 1) / len(problems), f'problem {number + 1} of {len(problems)}')
    except KeyboardInterrupt:
        if not comparison.outcomes[rivals[0].name]:
            raise
        comparison.interrupted = True
    return comparison


def comparison_text(comparison: Comparison) -> str:
    first, *others = comparison.rivals
    base = comparison.outcomes[first.name]
    rows = []
    for rival in comparison.rivals:
        outcomes = comparison.outcomes[rival.name]
        more = '' if rival is first else f'{100 * difference(outcomes, base).mean:+.1f} %'
        name = f'{rival.name}: {rival.candidate}, k = {rival.k:,}'
        rows.append((name, figures_columns(more, figures_of(outcomes))))
    verdicts = [_verdict(comparison, first, rival) for rival in others]
    broken_off = [f'Interrupted after {len(base)} problems'] * comparison.interrupted
    return '\n\n'.join([table('', COLUMNS, rows), *verdicts, *broken_off])


def _verdict(comparison: Comparison, first: Rival, rival: Rival) -> str:
    found = difference(comparison.outcomes[rival.name], comparison.outcomes[first.name])
    text = f'{rival.name} needs {found} intervals against {first.name}'
    return text if abs(found.mean) > 2 * found.error else f'{text}, which may be chance'
