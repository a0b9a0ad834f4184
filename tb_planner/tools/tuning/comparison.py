"""Compares parameter files on the same problems: `tb_planner tune MAP --compare FILE FILE`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tb_planner.config import PlannerParameters
from tb_planner.tools.tuning.parameter_file import candidate_of
from tb_planner.tools.tuning.problems import TuningProblem
from tb_planner.tools.tuning.race import PairedDifference, TrialMeans
from tb_planner.tools.tuning.report import COLUMNS, means_columns, table
from tb_planner.tools.tuning.study import MEASURED_PROBLEMS, SEARCH_SHARE, Progress, fitting_k, measure_speed
from tb_planner.tools.tuning.time_limit import MEASURED_FRACTION, NO_LIMIT, TimeLimit, TimeOver, TooLittleTime
from tb_planner.tools.tuning.trial import Candidate, TrialConditions, TrialResult, run_trial


class ComparedFile(NamedTuple):
    """The values of a parameter file that matter for the comparison."""

    name: str
    candidate: Candidate
    k: int
    conditions: TrialConditions


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


def compared_files(
    parameters: Mapping[str, PlannerParameters], problems: Sequence[TuningProblem], world: str, limit: TimeLimit
) -> list[ComparedFile]:
    """Measures this computer if one of the files sets a search time instead of a number of expansions."""
    conditions = {name: TrialConditions(world, found.min_improvement) for name, found in parameters.items()}
    expansion_s = 0.0
    if any(not found.expansions_per_tick for found in parameters.values()):
        longest_s = SEARCH_SHARE * max(found.search_time_s for found in parameters.values())
        measured, part = problems[:MEASURED_PROBLEMS], limit.part(MEASURED_FRACTION)
        expansion_s = measure_speed(measured, next(iter(conditions.values())), longest_s, part).expansion_s
    return [
        ComparedFile(
            name,
            candidate_of(found),
            found.expansions_per_tick or fitting_k(found.search_time_s, expansion_s),
            conditions[name],
        )
        for name, found in parameters.items()
    ]


def compare(
    files: Sequence[ComparedFile],
    problems: Sequence[TuningProblem],
    limit: TimeLimit = NO_LIMIT,
    progress: Progress = lambda fraction, text: None,
) -> tuple[list[list[TrialResult]], str]:
    """Returns the results of each file on the same problems, and why it ended early. Ctrl-C and the time limit end it
    with the problems that all files have tried; if there is none, it raises KeyboardInterrupt or TooLittleTime."""
    rounds: list[list[TrialResult]] = []
    why = 'The time limit'
    try:
        for problem in limit.while_it_lasts(problems):
            rounds.append([run_trial(problem, file.candidate, file.k, file.conditions, limit=limit) for file in files])
            progress(len(rounds) / len(problems), f'problem {len(rounds)} of {len(problems)}')
    except KeyboardInterrupt:
        if not rounds:
            raise
        why = 'Ctrl-C'
    except TimeOver:
        if not rounds:
            raise TooLittleTime(
                f'the {limit} was over before all {len(files)} files had tried the first problem; raise it, or use '
                'more expansions per tick'
            ) from None
    ended = f'{why} ended the comparison after {len(rounds)} of {len(problems)} problems.'
    return [list(results) for results in zip(*rounds)], ended * (len(rounds) < len(problems))


def comparison_text(files: Sequence[ComparedFile], results: Sequence[Sequence[TrialResult]]) -> str:
    """Returns a table, and for each file but the first how much more or less it needs than that one."""
    rows, verdicts = [], []
    for file, theirs in zip(files, results, strict=True):
        difference = PairedDifference.of(theirs, results[0])
        more = '' if file is files[0] else f'{100 * difference.mean:+.1f} %'
        name = f'{file.name}: {file.candidate}, k = {file.k:,}'
        rows.append((name, means_columns(more, TrialMeans.of(theirs))))
        chance = '' if difference.is_clear else ', which may be chance'
        verdicts.append(f'{file.name} needs {difference} intervals against {files[0].name}{chance}')
    return '\n\n'.join([table(COLUMNS, rows), *verdicts[1:]])
