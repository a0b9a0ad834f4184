"""python docs/nav2_weights.py: what the weight costs and saves on costmaps as Nav2's, for docs/nav2.md."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.node.changing_rooms import rooms
from tb_planner import Grid, SearchResult, Status, find_path, tb_wa_star
from tb_planner.geometry import Cell
from tb_planner.maps.costmap import CostmapConfig, costs_of
from tb_planner.maps.files import read_map
from tb_planner.simulation.scenes import shared_file

WEIGHTS = (1.0, 1.1, 1.2, 1.5, 2.0)
PROBLEMS, REPEATS, DISTANCE = 12, 3, 0.4
RESOLUTION_M, ROBOT_RADIUS_M, INFLATION_RADIUS_M, COST_SCALING = 0.05, 0.22, 0.7, 3.0
"""The values in nav2_bringup."""


def costmap(occupancy: NDArray[np.int8]) -> Grid:
    """A map with the inflation of Nav2's costmaps, as they are published: 99 is inscribed, 100 an obstacle."""
    distance_m = ndimage.distance_transform_edt(occupancy < 65) * RESOLUTION_M
    inflated = 98 * np.exp(-COST_SCALING * np.maximum(distance_m - ROBOT_RADIUS_M, 0.0))
    inflated[distance_m > INFLATION_RADIUS_M] = 0
    inflated[distance_m <= ROBOT_RADIUS_M] = 99
    grid = Grid(costs_of(inflated.astype(np.int8), CostmapConfig(resolution_m=RESOLUTION_M)))
    grid.prepare()
    return grid


def length(result: SearchResult) -> float:
    return float(np.hypot(*np.diff(np.array(result.cells, float), axis=0).T).sum())


def main() -> None:
    maps = {f'rooms, {size}² cells': rooms(size) for size in (2000, 4000)}
    maps['warehouse of the simulator'] = read_map(shared_file('maps', 'warehouse.yaml')).occupancy
    random = np.random.default_rng(3)
    for name, occupancy in maps.items():
        grid, found = costmap(occupancy), list[tuple[Cell, Cell]]()
        free = np.argwhere(~grid.blocked)[:, ::-1]
        while len(found) < PROBLEMS:
            start, goal = (tuple(cell) for cell in free[random.integers(len(free), size=2)].tolist())
            if np.hypot(start[0] - goal[0], start[1] - goal[1]) < DISTANCE * max(occupancy.shape):
                continue
            if find_path(grid, start, goal).status == Status.AT_GOAL:
                found.append((start, goal))
        rows = {}
        for weight in tqdm(WEIGHTS, name):
            times_s, lengths = [], []
            for start, goal in found:
                taken_s = []
                for _ in range(REPEATS):
                    began_s = time.thread_time()
                    result = find_path(grid, start, goal, tb_wa_star(weight))
                    taken_s.append(time.thread_time() - began_s)
                times_s.append(min(taken_s))
                lengths.append(length(result))
            rows[weight] = np.mean(times_s), np.array(lengths)
        for weight, (mean_s, each) in rows.items():
            longer = each / rows[1.0][1]
            print(f'{name}: weight {weight:g}: {1e3 * mean_s:.1f} ms, {longer.mean():.3f} ({longer.max():.2f})')


if __name__ == '__main__':
    main()
