"""What a node's program says where ROS 2 is not installed, or not sourced."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CANNOT_RUN = 2


@contextmanager
def ros_needed_by(program: str) -> Iterator[None]:
    """Around the imports of a node. If one of them is not there, the program of this name ends with one line; to others
    that import the node the error is as it is."""
    try:
        yield
    except ModuleNotFoundError as error:
        if Path(sys.argv[0]).stem != program:
            raise
        print(f"{program}: there is no ROS 2 here: source one, or pip install '.[ros]' ({error})", file=sys.stderr)
        sys.exit(CANNOT_RUN)
