"""Plans on a NumPy array: the shortest path at once, then a path in slices of at most 64 expansions.

Run it with `python examples/plan_on_array.py`; it needs no ROS.
"""

import numpy as np

from tb_planner import Grid, TimeBoundedPlanner, find_path, tb_wa_star

blocked = np.zeros((100, 100), bool)  # [y, x]; True is an obstacle
blocked[20:80, 50] = True
start, goal = (10, 50), (90, 50)  # (x, y)

plan = find_path(blocked, start, goal)
print(f'shortest path: {len(plan.cells) - 1} moves, cost {plan.cost:.2f}, {plan.expansions} expansions')

planner = TimeBoundedPlanner(Grid(blocked), start, goal, tb_wa_star(3.0), k=64)
ticks = 0
while not planner.route_reaches_goal:
    planner.search()  # a tick's share of the search; the planner keeps its tree and its Open list
    ticks += 1
print(f'in slices: {ticks} ticks of at most 64 expansions, route of {planner.route_length} moves')
