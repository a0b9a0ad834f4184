"""Options of commands that read a bag: which topics are which."""

from __future__ import annotations

import argparse

from tb_planner.tools.bags.bag import BASE_FRAME
from tb_planner.tools.bags.topics import Topics

TITLE = 'topics of a bag, default: found by type and by the usual names'


def add_topic_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(TITLE)
    group.add_argument('--map-topic', metavar='NAME', help='nav_msgs/OccupancyGrid')
    group.add_argument('--updates-topic', metavar='NAME', help='map_msgs/OccupancyGridUpdate')
    group.add_argument(
        '--pose-topic', metavar='NAME', help='PoseStamped, PoseWithCovarianceStamped or Odometry; or /tf'
    )
    group.add_argument('--goal-topic', metavar='NAME', help='geometry_msgs/PoseStamped')
    group.add_argument(
        '--base-frame', metavar='NAME', default=BASE_FRAME, help=f"the robot's, for /tf; default: {BASE_FRAME}"
    )


def topics_of(options: argparse.Namespace) -> Topics:
    return Topics(options.map_topic, options.updates_topic, options.pose_topic, options.goal_topic)
