"""The algorithms that the papers compare with: agents that `move_to_goal` runs like a TimeBoundedPlanner."""

from collections.abc import Callable

from tb_planner.baselines.agent import Baseline

BASELINES: dict[str, Callable[..., Baseline]] = {}
"""Name -> factory(grid, start, goal, k), with options of its own as keywords."""

__all__ = ['BASELINES', 'Baseline']
