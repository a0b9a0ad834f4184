"""Time-bounded best-first search on grids that change: TBA*, TB-WA*, TB-GBFS, RTBA* and TBAA*."""

from tb_planner.algorithms import ALGORITHMS, Algorithm, rtba_star, tb_gbfs, tb_wa_star, tba_star, tbaa_star
from tb_planner.grid import Cell, Change, GoalBlocked, Grid, OutsideGrid, StartBlocked
from tb_planner.path import Plan, find_path
from tb_planner.planner import Resources, Status, TimeBoundedPlanner
from tb_planner.restart import Reason
from tb_planner.run import Run, move_to_goal
from tb_planner.world import Changing, IllegalMove, Static, Unknown

__all__ = [
    'ALGORITHMS',
    'Algorithm',
    'Cell',
    'Change',
    'Changing',
    'GoalBlocked',
    'Grid',
    'IllegalMove',
    'OutsideGrid',
    'Plan',
    'Reason',
    'Resources',
    'Run',
    'StartBlocked',
    'Static',
    'Status',
    'TimeBoundedPlanner',
    'Unknown',
    'find_path',
    'move_to_goal',
    'rtba_star',
    'tb_gbfs',
    'tb_wa_star',
    'tba_star',
    'tbaa_star',
]
