"""PlannerLoop: the planner's tick without ROS, as the node, the bag replay and the benchmarks run it."""

import numpy as np
import pytest

pytest.importorskip('rosbags', reason="bags need rosbags: pip install '.[bags]'")

from helpers import bag_files as files
from helpers.bag_files import grid_update, occupancy_grid, pose_stamped

from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.tools.bags import open_bag
from tb_planner.tools.replay import ticks

PARAMETERS = PlannerParameters(
    expansions_per_tick=4000, robot_radius_m=0.0, inflation_radius_m=0.0, cleared_map_timeout_s=1.0, pose_timeout_s=0.0
)
GEOMETRY = MapGeometry(120, 80, 0.05)
START, GOAL = Pose2D(0.5, 2.0), Pose2D(5.5, 2.0)


def walls():
    """6 m x 4 m; 1,200 blocked cells stand between start and goal."""
    values = np.zeros((80, 120), np.int8)
    values[10:70, 50:70] = 100
    return values


def replayed(folder, messages):
    with open_bag(files.write(folder / 'bag', messages)) as bag:
        return list(ticks(bag, PARAMETERS))


def still_robot():
    return [
        (0.0, '/map', occupancy_grid(10.0, walls(), GEOMETRY)),
        (0.0, '/pose', pose_stamped(10.0, START)),
        (0.0, '/goal_pose', pose_stamped(10.0, GOAL)),
        (3.0, '/pose', pose_stamped(13.0, START)),
    ]


def test_a_replay_waits_for_a_cleared_costmap_as_the_node_does(tmp_path):
    cleared = (0.5, '/map', occupancy_grid(10.5, np.zeros((80, 120), np.int8), GEOMETRY))
    found = replayed(tmp_path, sorted([*still_robot(), cleared], key=lambda message: message[0]))
    times_s = [item.time_s for item in found if item.update is not None]
    assert times_s == pytest.approx([0.0, 1.5])


def test_a_replay_drops_a_patch_that_the_map_has_overtaken_as_the_node_does(tmp_path):
    wall = np.full((80, 2), 100, np.int8)
    overtaken = (0.5, '/map_updates', grid_update(9.0, wall, (30, 0)))
    newer = (1.0, '/map_updates', grid_update(10.5, wall, (40, 0)))
    found = replayed(tmp_path, sorted([*still_robot(), overtaken, newer], key=lambda message: message[0]))
    update = found[-1].update or next(item.update for item in reversed(found) if item.update is not None)
    assert not update.grid.blocked[5, 30]
    assert update.grid.blocked[5, 40]
