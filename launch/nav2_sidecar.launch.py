"""tb_planner beside Nav2: it plans on the global costmap of Nav2 and serves its own actions under tb_planner/.
planner_server works as before.

Behaviour trees that call tb_planner first are in config/nav2/$ROS_DISTRO. The other arguments are those of
planner.launch.py.
"""

from launch import LaunchDescription

from tb_planner.ros.launch_args import nav2_arguments, nav2_planner, package_share

DEFAULTS = package_share() / 'config' / 'nav2' / 'sidecar.yaml'
REMAPPED = [(name, f'tb_planner/{name}') for name in ('plan', 'waypoint', 'expansions', 'markers')]
"""Nav2 publishes a plan, too."""


def generate_launch_description():
    return LaunchDescription([*nav2_arguments(DEFAULTS), nav2_planner(DEFAULTS, REMAPPED)])
