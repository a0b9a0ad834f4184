"""Stands in for the module cython where kernel.py runs uncompiled and Cython is not installed."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar('T')

compiled = False


class _Type:
    """A C type in an annotation: cython.int, cython.int[::1]."""

    def __getitem__(self, _: object) -> '_Type':
        return self


class _NoGil:
    """Decorator and context manager, as cython.nogil is."""

    def __call__(self, function: T) -> T:
        return function

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


bint = char = schar = uchar = short = ushort = int = uint = long = ulong = longlong = ulonglong = _Type()
float = double = size_t = Py_ssize_t = void = _Type()
nogil = _NoGil()


def _unchanged(x: T) -> T:
    return x


cclass = cfunc = ccall = final = inline = _unchanged


def exceptval(*_: Any, **__: Any) -> Callable[[T], T]:
    return _unchanged


def declare(_type: object, value: Any = None, **__: Any) -> Any:
    return value


def cast(_type: object, value: Any, **__: Any) -> Any:
    return value
