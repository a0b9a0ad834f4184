"""Turns occupancy values into costs for a robot of a given radius, plans on them, and applies a patch of the map.

Run it with `python examples/custom_costmap.py`; it needs no ROS.
"""

import numpy as np

from tb_planner import find_path
from tb_planner.maps.costmap import Costmap, CostmapConfig

occupancy = np.zeros((80, 120), np.int8)  # [y, x]; 0 is free, 100 is occupied, -1 is unknown
occupancy[30:, 60] = 100
occupancy[:10, 100:] = -1

config = CostmapConfig(resolution_m=0.05, robot_radius_m=0.2, inflation_radius_m=0.6, unknown_cost=3.0)
costmap = Costmap(occupancy, config)
start, goal = (20, 60), (100, 60)  # (x, y)
print(f'path around the wall: cost {find_path(costmap.costs, start, goal).cost:.1f} cells')

door = np.zeros((20, 1), np.int8)  # free cells where the wall was
costmap.update(door, at=(60, 50))
print(f'path through the new door: cost {find_path(costmap.costs, start, goal).cost:.1f} cells')
