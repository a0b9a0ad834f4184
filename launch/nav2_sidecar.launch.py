"""tb_planner beside Nav2: it plans on Nav2's global costmap and serves actions of its own, whose names begin with
tb_planner/. Nav2's planner_server goes on as before.

Trees that ask tb_planner first are in config/nav2. All other arguments are those of planner.launch.py.
"""

from launch import LaunchDescription

from tb_planner.ros.launch_nav2 import arguments, planner, share

DEFAULTS = share() / 'config' / 'nav2' / 'sidecar.yaml'
OUT_OF_THE_WAY = [(name, f'tb_planner/{name}') for name in ('plan', 'waypoint', 'expansions', 'markers')]
"""Nav2 has a plan, too."""


def generate_launch_description():
    return LaunchDescription([*arguments(DEFAULTS), planner(DEFAULTS, OUT_OF_THE_WAY)])
