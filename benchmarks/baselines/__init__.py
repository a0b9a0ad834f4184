"""The algorithms that the papers compare with: agents that `move_to_goal` runs like a TimeBoundedPlanner."""

from collections.abc import Callable

from benchmarks.baselines.a_star import a_star, adaptive_a_star, late_a_star, repeated_a_star
from benchmarks.baselines.agent import Baseline
from benchmarks.baselines.d_star_lite_agent import DStarLite
from benchmarks.baselines.real_time import da_rtaa_star, lrta_star, lss_lrta_star, p_lrta_star, rtaa_star

BASELINES: dict[str, Callable[..., Baseline]] = {
    'late_a_star': late_a_star,
    'a_star': a_star,
    'repeated_a_star': repeated_a_star,
    'adaptive_a_star': adaptive_a_star,
    'd_star_lite': DStarLite,
    'lrta_star': lrta_star,
    'lss_lrta_star': lss_lrta_star,
    'p_lrta_star': p_lrta_star,
    'rtaa_star': rtaa_star,
    'da_rtaa_star': da_rtaa_star,
}
"""Name -> factory(grid, start, goal, k), with options of its own as keywords."""
