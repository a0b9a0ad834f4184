"""What if: several parameter files on the same problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tb_planner.config import PlannerParameters
from tb_planner.tools.tuning.budget import fitting_k
from tb_planner.tools.tuning.candidates import Candidate
from tb_planner.tools.tuning.figures import difference, figures_of
from tb_planner.tools.tuning.ground import Problem
from tb_planner.tools.tuning.report import COLUMNS, figures_columns, table
from tb_planner.tools.tuning.study import Progress, silent
from tb_planner.tools.tuning.time_limit import NO_LIMIT, TimeLimit, TimeOver, TooLittleTime
from tb_planner.tools.tuning.trial import Conditions, Outcome, carry_out


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
    problems: int
    """That there are."""
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def had(self) -> int:
        """ThrottledLog that all of them have had."""
        return len(self.outcomes[self.rivals[0].name])


def k_of(expansions_per_tick: int, search_time_s: float, expansion_s: float) -> int:
    """As many as asked for, or as fit into the time."""
    return expansions_per_tick or fitting_k(search_time_s, expansion_s)


def remarks(parameters: Mapping[str, PlannerParameters]) -> Iterator[str]:
    """What the files differ in, and the comparison does not."""
    (first, base), *others = parameters.items()
    for name, found in others:
        if (found.costmap_config(1.0), found.corner_cutting) != (base.costmap_config(1.0), base.corner_cutting):
            yield f'{name} makes other costs of a map than {first}, by whose rules all are compared.'
        if found.tick_frequency != base.tick_frequency:
            yield (
                f'{name} ticks at {found.tick_frequency:g} Hz, {first} at {base.tick_frequency:g}: ticks are counted '
                'here, however long they are, and all agents move a cell a tick.'
            )


def compare(
    rivals: Sequence[Rival],
    problems: Sequence[Problem],
    world: str,
    limit: TimeLimit = NO_LIMIT,
    progress: Progress = silent,
) -> Comparison:
    """All of them get the same problems; Ctrl-C, or the time limit, ends it with those that all have had. Before there
    is one, Ctrl-C goes on upwards, and the limit becomes TooLittleTime."""
    comparison = Comparison(rivals, len(problems), {rival.name: [] for rival in rivals})
    try:
        for problem in limit.while_it_lasts(problems):
            results = [
                carry_out(problem, rival.candidate, rival.k, Conditions(world, rival.min_improvement), limit=limit)
                for rival in rivals
            ]
            for rival, outcome in zip(rivals, results, strict=True):
                comparison.outcomes[rival.name].append(outcome)
            progress(comparison.had / len(problems), f'problem {comparison.had} of {len(problems)}')
    except KeyboardInterrupt:
        if not comparison.had:
            raise
        comparison.interrupted = True
    except TimeOver:
        if not comparison.had:
            raise TooLittleTime(
                f'the {limit} was over before all {len(rivals)} files had tried one problem; a longer one, or more '
                'expansions a tick, would do'
            ) from None
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
    return '\n\n'.join([table('', COLUMNS, rows), *verdicts, *_broken_off(comparison)])


def _broken_off(comparison: Comparison) -> list[str]:
    if comparison.had == comparison.problems:
        return []
    why = 'Interrupted' if comparison.interrupted else 'The time limit came'
    return [f'{why} after {comparison.had} of {comparison.problems} problems.']


def _verdict(comparison: Comparison, first: Rival, rival: Rival) -> str:
    found = difference(comparison.outcomes[rival.name], comparison.outcomes[first.name])
    text = f'{rival.name} needs {found} intervals against {first.name}'
    return text if found.is_clear else f'{text}, which may be chance'
