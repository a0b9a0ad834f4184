"""python -m tb_planner: the command tb_planner."""

import sys

from tb_planner.tools.cli import main

if __name__ == '__main__':
    sys.exit(main())
