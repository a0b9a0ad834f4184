"""How far the work is, and how long it will take, in one line on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from tb_planner.tools.tuning.time_limit import NO_LIMIT, TimeLimit


class ProgressLine:
    """Elsewhere than on a terminal it says a line for every tenth of the work."""

    def __init__(self, limit: TimeLimit = NO_LIMIT, stream: TextIO | None = None) -> None:
        self._limit = limit
        self._stream = stream = sys.stderr if stream is None else stream
        self._live = stream.isatty()
        self._began_s = time.monotonic()
        self._tenth = -1

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, part: float, text: str) -> None:
        part = min(part, 1.0)  # work that turns out longer than it was said to be is not told of for ever
        line = f'{100 * part:3.0f} %{self._left(part)}  {text}'
        if self._live:
            self._stream.write(f'\r{line:<78.78}')
            self._stream.flush()
        elif int(10 * part) > self._tenth:
            self._tenth = int(10 * part)
            print(line, file=self._stream, flush=True)

    def close(self) -> None:
        if self._live:
            self._stream.write(f'\r{"":<78}\r')
            self._stream.flush()

    def _left(self, part: float) -> str:
        if part < 0.02:
            return ''
        estimate_s = (time.monotonic() - self._began_s) * (1 - part) / part
        seconds = round(max(min(estimate_s, self._limit.left_s), 0.0))
        return f', {seconds // 60}:{seconds % 60:02} left'
