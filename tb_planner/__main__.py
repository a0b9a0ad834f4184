"""The command `tb_planner`, which `python -m tb_planner` runs as well.

This module lies above all layers: it passes `demo` to the ROS part of the package and everything else to the tools.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tb_planner.errors import raise_on_interrupt
from tb_planner.tools import cli


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] == 'demo':
        from tb_planner.ros import demo  # only here: the other commands start faster without it

        raise_on_interrupt()
        return demo.main(arguments[1:])
    raise_on_interrupt()
    return cli.main(arguments)


if __name__ == '__main__':
    sys.exit(main())
