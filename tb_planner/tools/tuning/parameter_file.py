"""The planner's parameter file: what is read from one, and the one that a recommendation is written to."""

from __future__ import annotations

import dataclasses
import difflib
import errno
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tb_planner.config import PlannerParameters
from tb_planner.parameters import as_yaml, find_errors, make, specs
from tb_planner.search.algorithms import takes_weight
from tb_planner.tools.tuning.budget import SEARCH_SHARE, Budget
from tb_planner.tools.tuning.candidates import Candidate

NODE = 'tb_planner'
HEADING = 'Parameters of the planner node, written by tb_planner tune.'
"""The first line of every file that the tuner has written, and may write again."""


def read_parameters(path: Path) -> PlannerParameters:
    """Defaults where the file says nothing; raises ValueError with the file and every reason."""
    values = dict(_values(path))
    every = specs(PlannerParameters)
    strangers = [name for name in values if name not in every and name != 'use_sim_time']
    for name in strangers:
        near = ''.join(difflib.get_close_matches(str(name), every, n=1))
        raise ValueError(f'{path}: the planner has no parameter {name}' + f'; did you mean {near}?' * bool(near))
    reasons = list(find_errors(PlannerParameters, values))
    if reasons:
        raise ValueError(f'{path}: {"; ".join(reasons)}')
    return make(PlannerParameters, values)


def candidate_of(parameters: PlannerParameters) -> Candidate:
    return Candidate(parameters.algorithm, parameters.weight, parameters.restart)


def with_candidate(parameters: PlannerParameters, candidate: Candidate, k: int, budget: Budget) -> PlannerParameters:
    """These, but for what has been tuned, and the budget's time for who sets expansions_per_tick to 0."""
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
    """As planner.launch.py takes it; the reasons stand above the values."""
    return as_yaml(PlannerParameters, NODE, f'{HEADING}\n{heading}', parameters, reasons)


def check_folder(option: str, path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f'{option} {path}: there is no folder {path.parent}')


def check_may_write(path: Path) -> None:
    """Before the work, not after it."""
    check_folder('-o', path)
    try:
        if path.exists() and (not path.is_file() or not path.read_text(errors='replace').startswith(f'# {HEADING}')):
            raise ValueError(f'-o {path}: it is there already, and was not written by the tuner; give another name')
    except OSError as error:
        raise ValueError(f'-o {path}: cannot be written: {error.strerror}') from error
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f'-o {path}: cannot be written: {os.strerror(errno.EACCES)}')


def write_text(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding='utf-8')
    except OSError as error:
        raise ValueError(f'-o {path}: cannot be written: {error.strerror}') from error


def _values(path: Path) -> Iterator[tuple[str, Any]]:
    """Those for a node of our name; of several that fit, the later ones win."""
    try:
        content = yaml.safe_load(path.read_text(encoding='utf-8'))
    except OSError as error:
        raise ValueError(f'{path}: cannot be read: {error.strerror}') from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f'{path}: not YAML: {" ".join(str(error).split())}') from error
    nodes = content if isinstance(content, dict) else {}
    ours = [name for name in nodes if str(name).split('/')[-1] in (NODE, '*', '**')]
    if not ours:
        found = ', '.join(map(str, nodes)) or 'nothing'
        raise ValueError(f'{path}: no parameters of /**/{NODE}; it has {found}')
    for name in ours:
        parameters = nodes[name].get('ros__parameters') if isinstance(nodes[name], dict) else None
        if not isinstance(parameters, dict):
            raise ValueError(f'{path}: {name} has no ros__parameters')
        yield from parameters.items()
