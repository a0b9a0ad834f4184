"""Nav2 with tb_planner in place of planner_server: tb_planner serves compute_path_to_pose and
compute_path_through_poses for every behaviour tree and every client.

planner_server keeps running, because it hosts the global costmap; its actions move to
planner_server/compute_path_to_pose and so on. The other arguments are those of the Nav2 launch file and of
planner.launch.py.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch_ros.actions import SetRemap

from tb_planner.ros.launch_args import nav2_arguments, nav2_planner, package_share

DEFAULTS = package_share() / 'config' / 'nav2' / 'drop_in.yaml'
ACTIONS = ('compute_path_to_pose', 'compute_path_through_poses')
PARTS = ('send_goal', 'cancel_goal', 'get_result', 'feedback', 'status')
MOVED = [*(f'{action}/_action/{part}' for action in ACTIONS for part in PARTS), 'is_path_valid']
"""Jazzy cannot remap an action, but the services and topics that it consists of."""


def generate_launch_description():
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                'bringup',
                default_value='bringup_launch.py',
                description="Nav2's launch file: the path of yours, or the name of one of nav2_bringup's, "
                'such as tb3_simulation_launch.py',
            ),
            *(SetRemap(f'planner_server:{name}', f'planner_server/{name}') for name in MOVED),
            OpaqueFunction(function=bringup),
            # after Nav2, so that namespace, use_sim_time and params_file of its launch files apply here, too
            *nav2_arguments(DEFAULTS),
            nav2_planner(DEFAULTS),
        ]
    )


def bringup(context):
    file = Path(context.launch_configurations['bringup'])
    if not file.is_file():
        file = Path(get_package_share_directory('nav2_bringup'), 'launch', file)
    if not file.is_file():
        raise FileNotFoundError(f'bringup is {file}; there is no such file')
    return [IncludeLaunchDescription(AnyLaunchDescriptionSource(str(file)))]
