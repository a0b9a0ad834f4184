"""A* with a floating √2: what ties cost that are not exact. Plain Python, to be compared by its expansions alone."""

from __future__ import annotations

import heapq
import math
import time

from benchmarks.experiments.terrain import Blocked, Cell, octile
from tb_planner import Grid, Run, Status

STEPS = [(dx, dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dx or dy]


def floating_a_star(blocked: Blocked, start: Cell, goal: Cell, corner_cutting: bool = False) -> Run:
    """Larger g first within equal f, as in the papers; but g and f are sums of floating numbers, so that equal paths
    differ in their last bit and few states are tied. The record of a search; nobody moves."""
    grid = Grid(blocked, corner_cutting=corner_cutting)
    began = time.thread_time()
    g = {start: 0.0}
    closed: set[Cell] = set()
    opened = [(octile(start, goal), 0.0, start)]
    while opened:
        _, minus_g, s = heapq.heappop(opened)
        if s == goal:
            break
        if s in closed:
            continue
        closed.add(s)
        for dx, dy in STEPS:
            t = s[0] + dx, s[1] + dy
            if t in closed or not grid.contains(t) or math.isinf(grid.step_cost(s, t)):
                continue
            new = (math.sqrt(2) if dx and dy else 1.0) - minus_g
            if new < g.get(t, math.inf):
                g[t] = new
                heapq.heappush(opened, (new + octile(t, goal), -new, t))
    found = goal in g
    return Run(
        status=Status.AT_GOAL if found else Status.NO_PATH,
        cost=g.get(goal, math.inf),
        moves=0,
        back_moves=0,
        non_optimal_moves=None,
        intervals=0,
        expansions=len(closed),
        searches=1,
        search_time_s=time.thread_time() - began,
        cells=[],
    )
