"""Moves an agent to its goal while the map changes, once with eager and once with lazy restarts.

Every 10 moves some free cells become obstacles and some obstacles vanish. The eager rule restarts the search after
every change; the lazy rule only if the route is blocked or could become shorter. Run it with
`python examples/changing_world.py`; it needs no ROS.
"""

import numpy as np

from tb_planner import Changing, Grid, TimeBoundedPlanner, move_to_goal, tb_wa_star

SIZE = 300
start, goal = (5, 5), (SIZE - 6, SIZE - 6)  # (x, y)

blocked = np.random.default_rng(0).random((SIZE, SIZE)) < 0.2
blocked[start[::-1]] = blocked[goal[::-1]] = False  # arrays are [y, x]

for rule in ('eager', 'lazy'):
    planner = TimeBoundedPlanner(Grid(blocked), start, goal, tb_wa_star(1.5, restart=rule), k=256)
    run = move_to_goal(planner, Changing(Grid(blocked), rate=0.05, every=10, seed=1))
    print(f'{rule}: {run.status} with cost {run.cost:.1f}, {run.expansions} expansions in {run.searches} searches')
