"""The algorithms that the papers compare with: agents that `move_to_goal` runs like a TimeBoundedPlanner."""

from collections.abc import Callable

from tb_planner.baselines.a_star import AStar, a_star, adaptive_a_star, late_a_star, repeated_a_star
from tb_planner.baselines.agent import Baseline
from tb_planner.baselines.d_star_lite_agent import DStarLite

BASELINES: dict[str, Callable[..., Baseline]] = {
    'late_a_star': late_a_star,
    'a_star': a_star,
    'repeated_a_star': repeated_a_star,
    'adaptive_a_star': adaptive_a_star,
    'd_star_lite': DStarLite,
}
"""Name -> factory(grid, start, goal, k), with options of its own as keywords."""

__all__ = [
    'BASELINES',
    'AStar',
    'Baseline',
    'DStarLite',
    'a_star',
    'adaptive_a_star',
    'late_a_star',
    'repeated_a_star',
]
