"""Parameter files of the planner: read_parameters() reads one, and parameter_file() makes the text of a new one."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tb_planner.config import PlannerParameters
from tb_planner.files import begins_with, check_may_write, read_yaml
from tb_planner.parameters import BadParameters, as_yaml, find_errors, make, specs
from tb_planner.search.algorithms import takes_weight
from tb_planner.tools.tuning.study import SEARCH_SHARE, CpuBudget
from tb_planner.tools.tuning.trial import Candidate

NODE = 'tb_planner'
HEADING = 'Parameters of the planner node, written by tb_planner tune.'
"""The first line of every file that the tuner writes; the tuner overwrites no other files."""


def read_parameters(path: Path) -> PlannerParameters:
    """The parameters of a file, and defaults for the others; raises BadParameters with the file and all errors."""
    values = dict(_values(path))
    known = specs(PlannerParameters)
    for name in values:
        if name not in known and name != 'use_sim_time':
            near = ''.join(difflib.get_close_matches(str(name), known, n=1))
            raise BadParameters(f'{path}: the planner has no parameter {name}' + f'; did you mean {near}?' * bool(near))
    errors = list(find_errors(PlannerParameters, values))
    if errors:
        raise BadParameters(f'{path}: {"; ".join(errors)}')
    return make(PlannerParameters, values)


def candidate_of(parameters: PlannerParameters) -> Candidate:
    return Candidate(parameters.algorithm, parameters.weight, parameters.restart)


def with_candidate(parameters: PlannerParameters, candidate: Candidate, k: int, budget: CpuBudget) -> PlannerParameters:
    """Returns the parameters with the tuned values, and with a search time for users who set expansions_per_tick to
    0."""
    weight = candidate.weight if takes_weight(candidate.algorithm) else parameters.weight
    times = specs(PlannerParameters)['search_time_s']
    return dataclasses.replace(
        parameters,
        algorithm=candidate.algorithm,
        weight=weight,
        restart=candidate.restart,
        expansions_per_tick=k,
        tick_frequency=float(budget.tick_hz),
        search_time_s=float(f'{min(max(SEARCH_SHARE * budget.tick_s, times.low or 0), times.high or math.inf):.3g}'),
    )


def parameter_file(parameters: PlannerParameters, heading: str, reasons: Mapping[str, str]) -> str:
    """Returns a file for planner.launch.py with each reason as a comment above its value."""
    return as_yaml(PlannerParameters, NODE, f'{HEADING}\n{heading}', parameters, reasons)


def check_may_write_parameters(path: Path) -> None:
    """Raises BadInput before the study if the file cannot be written, or if the tuner did not write it."""
    begins = f'# {HEADING}'.encode()
    check_may_write(path, 'a parameter file that the tuner wrote', lambda path: begins_with(path, begins))


def _values(path: Path) -> Iterator[tuple[str, Any]]:
    """Yields the parameters of all nodes whose name matches; later ones overwrite earlier ones."""
    content = read_yaml(path, BadParameters)
    nodes = content if isinstance(content, dict) else {}
    ours = [name for name in nodes if str(name).split('/')[-1] in (NODE, '*', '**')]
    if not ours:
        found = ', '.join(map(str, nodes)) or 'nothing'
        raise BadParameters(f'{path}: it has no parameters of /**/{NODE}; it has {found}')
    for name in ours:
        parameters = nodes[name].get('ros__parameters') if isinstance(nodes[name], dict) else None
        if not isinstance(parameters, dict):
            raise BadParameters(f'{path}: {name} has no ros__parameters')
        yield from parameters.items()
