"""A recorded run in which everything happens that node and replay could treat differently: the messages of a bag.

A cleared costmap gets its obstacles back in time, and another one does not; an update is older than the newest map;
poses are missing for a while; the map's frame changes.
"""

import numpy as np

from helpers.bag_files import grid_update, occupancy_grid, pose_stamped
from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D

PARAMETERS = PlannerParameters(
    expansions_per_tick=800,
    robot_radius_m=0.0,
    inflation_radius_m=0.0,
    cleared_map_timeout_s=0.98,
    pose_timeout_s=0.48,
)
"""No timeout is a multiple of the period: rounding must not decide."""
GEOMETRY = MapGeometry(120, 80, 0.05)
START, GOAL = Pose2D(0.5, 2.0), Pose2D(5.5, 2.0)
CORNERS = np.array([(0.5, 2.0), (0.6, 3.8), (5.4, 3.8), (5.5, 2.1)])
SPEED_M_S = 2.0
POSES_LOST_S, OTHER_FRAME_S, END_S = (4.0, 5.0), 5.43, 6.5


def walls():
    """6 m x 4 m with a block of 1,200 cells between start and goal."""
    values = np.zeros((80, 120), np.int8)
    values[10:70, 50:70] = 100
    return values


def messages():
    """(time_s, topic, message) in order. No message but the first ones arrives at the time of a tick."""
    closed, empty, column = walls(), np.zeros((80, 120), np.int8), np.full((80, 2), 100, np.int8)
    closed[70:78, 60:62] = 100
    found = [
        (0.0, '/map', occupancy_grid(10.0, walls(), GEOMETRY)),
        (0.03, '/goal_pose', pose_stamped(10.0, GOAL)),
        (0.53, '/map_updates', grid_update(10.5, closed[70:78, 58:64], (58, 70))),
        (1.03, '/map', occupancy_grid(11.0, empty, GEOMETRY)),  # cleared, and back in time
        (1.43, '/map', occupancy_grid(11.4, closed, GEOMETRY)),
        (1.83, '/map_updates', grid_update(11.3, column, (40, 0))),  # overtaken: it would close every path
        (2.23, '/map_updates', grid_update(12.0, walls()[70:78, 58:64], (58, 70))),
        (2.43, '/map', occupancy_grid(12.4, empty, GEOMETRY)),  # cleared, and not back in time
        (3.83, '/map', occupancy_grid(13.8, walls(), GEOMETRY)),
        (OTHER_FRAME_S, '/map', occupancy_grid(15.4, walls(), GEOMETRY, 'other')),
        (5.63, '/goal_pose', pose_stamped(15.6, GOAL, 'other')),
    ]
    for number in range(int(END_S / PARAMETERS.period_s)):
        time_s = round(number * PARAMETERS.period_s + 0.01 * (number > 0), 3)
        if not POSES_LOST_S[0] <= time_s < POSES_LOST_S[1]:
            frame = 'map' if time_s < OTHER_FRAME_S else 'other'
            found.append((time_s, '/pose', pose_stamped(10.0 + time_s, robot_at(time_s), frame)))
    return sorted(found, key=lambda message: message[0])


def robot_at(time_s):
    lengths = np.append(0.0, np.hypot(*np.diff(CORNERS, axis=0).T).cumsum())
    x, y = (np.interp(SPEED_M_S * time_s, lengths, axis) for axis in CORNERS.T)
    return Pose2D(float(x), float(y), 0.0)


def outcome(tick):
    """The part of a tick that node and replay must agree about."""
    return tick.status, tick.waypoint, tick.restarts, tick.plan_changed, tick.message


def check_is_eventful(ticks):
    statuses = {str(tick.status) for tick in ticks}
    assert statuses == {'IDLE', 'NAVIGATING', 'WAITING', 'POSE_LOST', 'ARRIVED'}, statuses
    reasons = {str(reason) for tick in ticks for reason in tick.restarts}
    assert reasons == {'off_route', 'blocked'}, reasons
