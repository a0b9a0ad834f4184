"""Time-bounded best-first search on grids that change: TBA*, TB-WA*, TB-GBFS, RTBA* and TBAA*."""

from tb_planner.errors import TbPlannerError
from tb_planner.geometry import Cell
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
from tb_planner.simulation.run import Run, move_to_goal
from tb_planner.simulation.world import Changing, IllegalMove, Static, Unknown

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
