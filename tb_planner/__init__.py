"""Time-bounded best-first search on grids that change: TBA*, TB-WA*, TB-GBFS, RTBA* and TBAA*.

>>> import numpy as np
>>> blocked = np.zeros((50, 80), bool)
>>> blocked[10:, 40] = True

A path at once:

>>> find_path(blocked, start=(5, 25), goal=(75, 25)).status
<Status.AT_GOAL: 2>

A planner that never needs more than k expansions for a move, while the map changes:

>>> planner = TimeBoundedPlanner(Grid(blocked), start=(5, 25), goal=(75, 25), algorithm=tb_wa_star(1.5), k=64)
>>> while planner.step() not in (Status.AT_GOAL, Status.NO_PATH):
...     if planner.moves == 20:
...         blocked[4:10, 40] = True  # an obstacle appears on its route
...         _ = planner.observe(blocked)
>>> print(planner.status, planner.current_cell, planner.last_restart)
AT_GOAL (75, 25) blocked
"""

from tb_planner.errors import TbPlannerError, end_on_interrupt, is_command

if is_command():  # before NumPy: imports may take a second, and Ctrl-C within it is no error
    end_on_interrupt()

from tb_planner.geometry import Cell
from tb_planner.search.agent import Changing, IllegalMove, Run, Static, Unknown, move_to_goal
from tb_planner.search.algorithms import (
    ALGORITHMS,
    Algorithm,
    RestartReason,
    make_algorithm,
    rtba_star,
    tb_gbfs,
    tb_wa_star,
    tba_star,
    tbaa_star,
)
from tb_planner.search.grid import GoalBlocked, Grid, GridChange, OutsideGrid, StartBlocked
from tb_planner.search.planner import Resources, SearchResult, Status, TimeBoundedPlanner, find_path

__version__ = '0.1.0'

__all__ = [
    'ALGORITHMS',
    'Algorithm',
    'Cell',
    'Changing',
    'GoalBlocked',
    'Grid',
    'GridChange',
    'IllegalMove',
    'OutsideGrid',
    'Resources',
    'RestartReason',
    'Run',
    'SearchResult',
    'StartBlocked',
    'Static',
    'Status',
    'TbPlannerError',
    'TimeBoundedPlanner',
    'Unknown',
    '__version__',
    'find_path',
    'make_algorithm',
    'move_to_goal',
    'rtba_star',
    'tb_gbfs',
    'tb_wa_star',
    'tba_star',
    'tbaa_star',
]
