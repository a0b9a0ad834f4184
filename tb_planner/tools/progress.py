"""A progress bar for work that knows which fraction of it is done."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from tqdm import tqdm

FORMAT = '{percentage:3.0f} % |{bar:30}| {elapsed}<{remaining}  {desc}'


@contextmanager
def progress_bar(stream: TextIO | None = None) -> Iterator[Callable[[float, str], None]]:
    """Yields a function of the fraction done and of the present work; it draws only on a terminal.

    >>> with progress_bar() as progress:
    ...     progress(0.5, 'drawing problems')
    """
    stream = sys.stderr if stream is None else stream
    with tqdm(total=1.0, bar_format=FORMAT, file=stream, leave=False, disable=None, mininterval=0) as bar:

        def show(fraction: float, text: str) -> None:
            bar.set_description_str(text, refresh=False)
            bar.update(min(fraction, 1.0) - bar.n)  # work may take longer than announced

        yield show
