"""Compares parameter files on the same problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tb_planner.config import PlannerParameters
from tb_planner.tools.tuning.problems import TuningProblem
from tb_planner.tools.tuning.race import PairedDifference, TrialMeans
from tb_planner.tools.tuning.report import COLUMNS, means_columns, table
from tb_planner.tools.tuning.study import Progress, fitting_k, no_progress
from tb_planner.tools.tuning.time_limit import NO_LIMIT, TimeLimit, TimeOver, TooLittleTime
from tb_planner.tools.tuning.trial import Candidate, TrialConditions, TrialResult, run_trial


class ComparedFile(NamedTuple):
    """The values of a parameter file that matter for the comparison."""

    name: str
    candidate: Candidate
    k: int
    min_improvement: float


@dataclass
class Comparison:
    """Results by file; all files are compared with the first one."""

    files: Sequence[ComparedFile]
    problems: int
    """Number of problems to try."""
    results: dict[str, list[TrialResult]] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def tried(self) -> int:
        """Number of problems that all files have tried."""
        return len(self.results[self.files[0].name])


def k_of(expansions_per_tick: int, search_time_s: float, expansion_s: float) -> int:
    """Returns the expansions of a tick: as set, or as many as fit into the search time."""
    return expansions_per_tick or fitting_k(search_time_s, expansion_s)


def remarks(parameters: Mapping[str, PlannerParameters]) -> Iterator[str]:
    """Yields differences between the files that the comparison ignores."""
    (first, base), *others = parameters.items()
    for name, found in others:
        if (found.costmap_config(1.0), found.corner_cutting) != (base.costmap_config(1.0), base.corner_cutting):
            yield f'{name} and {first} turn the map into different costs; the comparison uses those of {first}.'
        if found.tick_frequency != base.tick_frequency:
            yield (
                f'{name} ticks at {found.tick_frequency:g} Hz, {first} at {base.tick_frequency:g} Hz; the comparison '
                'counts ticks, and an agent moves one cell per tick.'
            )


def compare(
    files: Sequence[ComparedFile],
    problems: Sequence[TuningProblem],
    world: str,
    limit: TimeLimit = NO_LIMIT,
    progress: Progress = no_progress,
) -> Comparison:
    """Tries all files on the same problems. Ctrl-C and the time limit end it with the problems that all files have
    tried; if there is none, it raises KeyboardInterrupt or TooLittleTime."""
    comparison = Comparison(files, len(problems), {file.name: [] for file in files})
    try:
        for problem in limit.while_it_lasts(problems):
            results = [
                run_trial(problem, file.candidate, file.k, TrialConditions(world, file.min_improvement), limit=limit)
                for file in files
            ]
            for file, result in zip(files, results, strict=True):
                comparison.results[file.name].append(result)
            progress(comparison.tried / len(problems), f'problem {comparison.tried} of {len(problems)}')
    except KeyboardInterrupt:
        if not comparison.tried:
            raise
        comparison.interrupted = True
    except TimeOver:
        if not comparison.tried:
            raise TooLittleTime(
                f'the {limit} was over before all {len(files)} files had tried the first problem; raise it, or use '
                'more expansions per tick'
            ) from None
    return comparison


def comparison_text(comparison: Comparison) -> str:
    first, *others = comparison.files
    base = comparison.results[first.name]
    rows = []
    for file in comparison.files:
        results = comparison.results[file.name]
        more = '' if file is first else f'{100 * PairedDifference.of(results, base).mean:+.1f} %'
        name = f'{file.name}: {file.candidate}, k = {file.k:,}'
        rows.append((name, means_columns(more, TrialMeans.of(results))))
    verdicts = [_verdict(comparison, first, file) for file in others]
    return '\n\n'.join([table('', COLUMNS, rows), *verdicts, *_early_end(comparison)])


def _early_end(comparison: Comparison) -> list[str]:
    if comparison.tried == comparison.problems:
        return []
    why = 'Ctrl-C' if comparison.interrupted else 'The time limit'
    return [f'{why} ended the comparison after {comparison.tried} of {comparison.problems} problems.']


def _verdict(comparison: Comparison, first: ComparedFile, file: ComparedFile) -> str:
    difference = PairedDifference.of(comparison.results[file.name], comparison.results[first.name])
    text = f'{file.name} needs {difference} intervals against {first.name}'
    return text if difference.is_clear else f'{text}, which may be chance'
