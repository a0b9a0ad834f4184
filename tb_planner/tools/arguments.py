"""The parser of every command's arguments."""

from __future__ import annotations

import argparse
from typing import NoReturn

BAD_INPUT = 2
"""The exit code."""


class OneLineParser(argparse.ArgumentParser):
    """An argument parser that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f'{self.prog}: {message} (see --help)\n')
