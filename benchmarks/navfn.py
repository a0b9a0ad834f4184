"""NavFn, the grid planner of Nav2, in a shared library that its user has built from Nav2's sources.

The library has these functions:

    void * navfn_new(int width, int height);
    void navfn_delete(void * navfn);
    void navfn_costmap(void * navfn, const unsigned char * costs);
    int navfn_plan(void * navfn, int start_x, int start_y, int goal_x, int goal_y, int astar, float * xy, int room);

navfn_costmap() calls setCostmap(), and navfn_plan() the search and calcPath(), as NavFn's plug-in does. It writes at
most `room` points from start to goal, and returns their number, 0 without a path. The buffers stay from plan to plan,
while the plug-in allocates them for each plan anew.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.experiments.terrain import COST_FACTOR, LETHAL, NEUTRAL, Cell, Costs


def navfn(
    library: Path, costs: Costs, corner_cutting: bool, *, astar: bool
) -> Callable[[Cell, Cell], Callable[[], npt.NDArray[np.float32]]]:
    """Queries to NavFn on these costs [y, x], inf where blocked: paths of points about half a cell apart. NavFn has no
    rule for corners."""
    functions = ctypes.CDLL(str(library.resolve()))
    functions.navfn_new.restype = ctypes.c_void_p
    functions.navfn_delete.argtypes = [ctypes.c_void_p]
    functions.navfn_costmap.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    functions.navfn_plan.argtypes = (ctypes.c_void_p, *[ctypes.c_int] * 5, ctypes.c_void_p, ctypes.c_int)
    height, width = costs.shape
    planner = functions.navfn_new(width, height)
    costmap = costmap_of(costs)
    functions.navfn_costmap(planner, costmap.ctypes.data)
    points = np.empty((costs.size, 2), np.float32)

    def plan_path(start: Cell, goal: Cell) -> npt.NDArray[np.float32]:
        count = functions.navfn_plan(planner, *start, *goal, astar, points.ctypes.data, len(points))
        return points[:count].copy()

    def query(start: Cell, goal: Cell) -> Callable[[], npt.NDArray[np.float32]]:
        return lambda: plan_path(start, goal)

    plan_path((1, 1), (1, 1))  # so that its buffers have been touched

    weakref.finalize(query, functions.navfn_delete, planner)
    return query


def costmap_of(costs: Costs) -> npt.NDArray[np.uint8]:
    """The bytes of Nav2's costmap that NavFn takes for these costs, a neutral cell as 1."""
    free = np.isfinite(costs)
    steps = np.ceil((np.where(free, costs, 1.0) - 1) * NEUTRAL / COST_FACTOR - 1e-6)
    return np.where(free, steps, LETHAL).astype(np.uint8)
