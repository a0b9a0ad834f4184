"""Turns occupancy values into costs for a robot of a given radius, plans on them, and applies a patch of the map.

Run it with `python examples/custom_costmap.py`; it needs no ROS.
"""

import numpy as np

from tb_planner import find_path
from tb_planner.geometry import MapGeometry
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.live_map import LiveMap

occupancy = np.zeros((80, 120), np.int8)  # [y, x]; 0 is free, 100 is occupied, -1 is unknown
occupancy[30:, 60] = 100
occupancy[:10, 100:] = -1

live_map = LiveMap(CostmapConfig(robot_radius_m=0.2, inflation_radius_m=0.6, unknown_cost=3.0))
live_map.full(occupancy, MapGeometry(120, 80, resolution_m=0.05))
start, goal = (20, 60), (100, 60)  # (x, y)
print(f'path around the wall: cost {find_path(live_map.latest().grid, start, goal).cost:.1f} cells')

door = np.zeros((20, 1), np.int8)  # free cells where the wall was
live_map.patch(door, at=(60, 50))
print(f'path through the new door: cost {find_path(live_map.latest().grid, start, goal).cost:.1f} cells')
