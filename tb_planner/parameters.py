"""Parameters as fields of one frozen dataclass: default, range, unit and description, and files and tables of them.

parameter() declares a field. If the dataclass has a method problems(), it checks combinations of values.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tb_planner.errors import BadInput

Values = TypeVar('Values')

MAX_LENGTH = 4096
"""Characters of a text, which may be the path of a file."""

_KEY = 'parameter'
_WORDS_OF_YAML = frozenset(('true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', 'null'))
_NAMES = {bool: 'true or false', int: 'a whole number', float: 'a number', str: 'a text'}


class BadParameters(BadInput):
    """Values from YAML, launch file or command line that a node cannot start with; one line for each."""


@dataclass(frozen=True)
class Spec:
    """What is known of a parameter besides its value."""

    name: str
    default: bool | int | float | str
    description: str
    unit: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    read_only: bool

    @property
    def kind(self) -> type:
        return type(self.default)

    @property
    def range(self) -> str:
        """The allowed values, for tables."""
        if self.choices:
            return ', '.join(choice or "''" for choice in self.choices)
        if self.low is None and self.high is None:
            return 'true, false' if self.kind is bool else ''
        low = '' if self.low is None else f'{self.low:.12g}'
        high = '' if self.high is None else f'{self.high:.12g}'
        return f'{low} to {high}' if low and high else f'at least {low}' if low else f'at most {high}'

    def error(self, value: object) -> str:
        """What is wrong with a value; empty if it is allowed."""
        if isinstance(value, str) and len(value) > MAX_LENGTH:
            return f'{self.name} has {len(value)} characters; it must have at most {MAX_LENGTH}'
        if not self._is_of_kind(value):
            return f'{self.name} is {value!r}; it must be {_NAMES[self.kind]}'
        if self.choices and value not in self.choices:
            return f'{self.name} is {value!r}; it must be one of {self.range}'
        if isinstance(value, (int, float)) and not self._in_range(value):
            between = self.low is not None and self.high is not None
            limits = f'between {self.low:.12g} and {self.high:.12g}' if between else self.range or 'finite'
            return f'{self.name} is {value}; it must be {limits}'
        return ''

    def _is_of_kind(self, value: object) -> bool:
        if self.kind is float:  # 2 is as good as 2.0
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        return type(value) is self.kind

    def _in_range(self, value: float) -> bool:
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return low <= value <= high and math.isfinite(value)  # also refuses nan


def parameter(
    default: bool | float | str,
    description: str,
    *,
    unit: str = '',
    low: float | None = None,
    high: float | None = None,
    choices: Iterable[str] = (),
    read_only: bool = False,
) -> Any:
    """A field of a dataclass of parameters. Its type is the type of the default."""
    spec = Spec('', default, description, unit, low, high, tuple(choices), read_only)
    return dataclasses.field(default=default, metadata={_KEY: spec})


def specs(cls: type[Values]) -> Mapping[str, Spec]:
    """The parameters of a dataclass, by name, in order."""
    every: Any = cls
    return _specs(every)


@functools.cache  # of 0.65 ms that a change of a parameter took, 0.4 ms were for this
def _specs(cls: type[Any]) -> Mapping[str, Spec]:
    fields = dataclasses.fields(cls)
    return {field.name: dataclasses.replace(field.metadata[_KEY], name=field.name) for field in fields}


def find_errors(cls: type[Values], values: Mapping[str, object]) -> Iterator[str]:
    """What is wrong with each value; if nothing is, what is wrong with their combination."""
    every = specs(cls)
    alone = [reason for name, value in values.items() if name in every and (reason := every[name].error(value))]
    yield from alone
    if not alone:
        yield from getattr(make(cls, values), 'problems', tuple)()


def make(cls: type[Values], values: Mapping[str, Any]) -> Values:
    """A dataclass with these values and defaults for the rest; ignores names that are not parameters."""
    every = specs(cls)
    return cls(**{name: every[name].kind(value) for name, value in values.items() if name in every})


def as_yaml(
    cls: type[Values],
    node_name: str,
    heading: str = '',
    values: Values | None = None,
    remarks: Mapping[str, str] | None = None,
) -> str:
    """A parameter file. A comment above each value has its meaning, unit, range and remark.

    values: these instead of the defaults."""
    lines = [f'# {line}'.rstrip() for line in heading.splitlines()]
    lines += [f'/**/{node_name}:', '  ros__parameters:']
    for spec in specs(cls).values():
        facts = [spec.description, f'unit: {spec.unit}' * bool(spec.unit), f'range: {spec.range}' * bool(spec.range)]
        facts += ['read at start only'] * spec.read_only
        comment = textwrap.wrap('; '.join(filter(None, facts)), 110)
        comment += textwrap.wrap((remarks or {}).get(spec.name, ''), 110)
        value = spec.default if values is None else getattr(values, spec.name)
        lines += [f'    # {line}' for line in comment]
        lines += [f'    {spec.name}: {_as_yaml(value)}', '']
    return '\n'.join(lines[:-1]) + '\n'


def as_table(cls: type[Values]) -> str:
    """The parameters as a table in Markdown."""
    lines = ['| parameter | default | unit | range | meaning |', '|---|---|---|---|---|']
    for spec in specs(cls).values():
        default = f'`{_as_yaml(spec.default)}`'
        meaning = spec.description + (' (read at start only)' if spec.read_only else '')
        lines.append(f'| `{spec.name}` | {default} | {spec.unit} | {spec.range} | {meaning} |')
    return '\n'.join(lines) + '\n'


def _as_yaml(value: bool | float | str) -> str:
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, str):
        plain = value.isidentifier() and value.lower() not in _WORDS_OF_YAML
        return value if plain else "'{}'".format(value.replace("'", "''"))
    text = str(value)
    return text if '.' in text else text.replace('e', '.0e')  # YAML takes 1e-05 for a text
