"""Reads files that may come from anywhere: regular files only, up to a size; YAML without aliases and deep nesting.

check_may_write() protects the files of the user from the commands that write.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from tb_planner.errors import BadInput

MAX_YAML_BYTES = 2**18
"""Size of a map's description, a parameter file or a script of obstacles; parsed, it takes up to 400 times as much."""
MAX_YAML_DEPTH = 32

_LOADER: type[Any] = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
_YAML_ERRORS = (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""PyYAML raises a KeyError for `!!bool x`, for instance."""


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Opens a regular file. Others raise OSError: a device may have no end, and a FIFO may have nobody who writes."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        is_folder = stat.S_ISDIR(mode)
        reason = os.strerror(errno.EISDIR) if is_folder else 'it is not a regular file but a device or FIFO'
        raise OSError(errno.EISDIR if is_folder else errno.EINVAL, reason, str(path))
    return open(file, 'rb')


def read_up_to(file: BinaryIO, most: int) -> bytes:
    """The next bytes of a regular file, up to `most`. Python takes memory for all that it may read."""
    return file.read(min(most, os.fstat(file.fileno()).st_size))


@contextmanager
def written_whole(path: Path) -> Iterator[None]:
    """Removes a file that cannot be written to its end, on a full disk for instance, and names it in the OSError."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:  # it could not be opened
            raise
        with suppress(OSError):
            if path.is_file():  # and no device
                path.resolve().unlink()
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def size_text(path: Path) -> str:
    """The size of a file in kB or MB."""
    size = path.stat().st_size
    return f'{size / 1e6:,.1f} MB' if size >= 999_500 else f'{size / 1e3:.0f} kB'


def begins_with(path: Path, begins: bytes) -> bool:
    """Whether a file begins with these bytes, or is empty."""
    with open_file(path) as file:
        return begins.startswith(file.read(len(begins)))


def check_may_write(path: Path, what: str, is_one: Callable[[Path], bool], option: str = '-o') -> None:
    """Raises BadInput, before the work, if a file cannot be written, or if another kind of file is there already.

    what: the kind of file that may be overwritten; is_one: whether a file is of this kind; option: of the command; ''
    for an argument.
    """
    name = f'{option} {path}'.lstrip()
    if not path.parent.is_dir():
        raise BadInput(f'{name}: the folder {path.parent} does not exist')
    if path.is_dir():
        raise BadInput(f'{name}: it is a folder; choose another name')
    if path.is_file() and not is_one(path):
        raise BadInput(f'{name}: the file exists and is not {what}; choose another name')
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadInput(f'{name}: cannot be written: {os.strerror(errno.EACCES)}')


def read_text(path: Path, most: int, error: type[BadInput], *, only_beginning: bool = False) -> str:
    """The text of a file of at most this many bytes; raises `error` with the path, the value and the limit.

    only_beginning: the file may be larger, and the rest is not read.
    """
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            data = read_up_to(file, most)
    except (OSError, ValueError) as problem:  # a name with a zero in it is a ValueError
        raise error(f'{path}: cannot be read: {getattr(problem, "strerror", None) or problem}') from problem
    if size > most and not only_beginning:
        raise error(f'{path}: it has {size} bytes; it must have at most {most}')
    try:
        return codecs.utf_8_decode(data, 'strict', not only_beginning)[0]  # a letter may be cut off
    except UnicodeDecodeError as problem:
        raise error(f'{path}: byte {problem.start} is not text') from problem


def read_yaml(path: Path, error: type[BadInput]) -> Any:
    """The content of a YAML file; raises `error`."""
    text = check_yaml(path, MAX_YAML_BYTES, error)
    try:
        return yaml.load(text, _LOADER)
    except _YAML_ERRORS as problem:
        raise _not_yaml(path, problem, error) from problem


def check_yaml(path: Path, most: int, error: type[BadInput]) -> str:
    """The text of a YAML file that may be parsed: a few aliases would make thousands of millions of items, and deep
    nesting ends in a RecursionError."""
    text, depth = read_text(path, most, error), 0
    try:
        for event in yaml.parse(text, _LOADER):
            line = 1 + getattr(event.start_mark, 'line', 0)
            if isinstance(event, yaml.AliasEvent):
                raise error(f'{path}: line {line} has an alias (*); write its value out')
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_YAML_DEPTH:
                raise error(f'{path}: line {line} is nested more than {MAX_YAML_DEPTH} deep')
    except yaml.YAMLError as problem:
        raise _not_yaml(path, problem, error) from problem
    return text


def _not_yaml(path: Path, problem: Exception, error: type[BadInput]) -> BadInput:
    return error(f'{path}: not YAML: {" ".join(str(problem).split())}')
