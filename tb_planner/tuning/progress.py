"""How far the work is, and how long it will take, in one line on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TextIO


class ProgressLine:
    """Elsewhere than on a terminal it says a line for every tenth of the work."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._began_s = time.monotonic()
        self._tenth = -1

    def __call__(self, part: float, text: str) -> None:
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
        seconds = round((time.monotonic() - self._began_s) * (1 - part) / part)
        return f', {seconds // 60}:{seconds % 60:02} left'
