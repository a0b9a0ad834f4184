"""Several simulated robots with their planners, each in its own namespace: robot1, robot2, and so on.

The robots share the map only: each has its own start and goal and does not see the others. The other arguments are
those of demo.launch.py and apply to every robot.
"""

import math
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, GroupAction, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_ros.actions import SetRemap

DEMO = str(Path(get_package_share_directory('tb_planner'), 'launch', 'demo.launch.py'))
START = ('start_x_m', 'start_y_m', 'start_yaw')
GOAL = ('goal_x_m', 'goal_y_m', 'goal_yaw')
OF_EACH_ROBOT = ('namespace', 'random_start', 'random_goal', *START, *GOAL)
MAX_ROBOTS = 100


def generate_launch_description():
    of_the_fleet = [
        DeclareLaunchArgument('robots', default_value='3', description='number of robots'),
        DeclareLaunchArgument(
            'starts',
            default_value='',
            description='starts of the robots, in metres and radians: "x y yaw; x y yaw; …"; missing ones are random',
        ),
        DeclareLaunchArgument(
            'goals',
            default_value='',
            description='goals of the robots: "x y yaw; x y yaw; …"; missing ones are random',
        ),
        DeclareLaunchArgument(
            'seed', default_value='1', description='seed of the first robot; the next one has seed + 1'
        ),
        DeclareLaunchArgument(
            'rviz', default_value='false', description='true opens RViz for each robot, if it is installed'
        ),
    ]
    demo = PythonLaunchDescriptionSource(DEMO).get_launch_description(LaunchContext())
    names = {argument.name for argument in of_the_fleet}.union(OF_EACH_ROBOT)
    of_the_demo = [argument for argument in demo.get_launch_arguments() if argument.name not in names]
    return LaunchDescription([*of_the_fleet, *of_the_demo, OpaqueFunction(function=fleet)])


def fleet(context):
    given = context.launch_configurations
    count = whole_number('robots', given)
    if not 1 <= count <= MAX_ROBOTS:
        raise ValueError(f'robots is {count}; it must be between 1 and {MAX_ROBOTS}')
    starts = places('starts', START, 'random_start', given, count)
    goals = places('goals', GOAL, 'random_goal', given, count)
    seed = whole_number('seed', given)
    return [
        robot({'namespace': f'robot{i + 1}', 'seed': str(seed + i), **start, **goal, **shown(given, i)})
        for i, (start, goal) in enumerate(zip(starts, goals))
    ]


def robot(arguments):
    """One robot, in a group: without it, its arguments would apply to the next robot. Each robot has its own clock."""
    demo = IncludeLaunchDescription(PythonLaunchDescriptionSource(DEMO), launch_arguments=arguments.items())
    return GroupAction([SetRemap('/clock', 'clock'), demo])


def shown(given, i):
    """The record and the page of one robot."""
    port = whole_number('view_port', given)
    record = Path(given['record'])
    return {
        'view_port': str(port + i if port else 0),
        'record': str(record.with_name(f'{record.stem}_robot{i + 1}{record.suffix}')) if given['record'] else '',
    }


def whole_number(name, given):
    try:
        return int(given[name])
    except ValueError:
        raise ValueError(f'{name} is {given[name]!r}; it must be a whole number') from None


def places(argument, names, drawn, given, count):
    """The arguments of demo.launch.py for the place of each robot; a robot that is not listed gets a random one."""
    listed = [place.split() for place in given[argument].rstrip('; ').split(';')]
    if len(listed) > count:
        raise ValueError(f'{argument} has {len(listed)} places; there are {count} robots')
    for place in filter(None, listed):
        if not 2 <= len(place) <= len(names) or not all(map(is_number, place)):
            raise ValueError(f'{argument} has {" ".join(place)!r}; a place must have 2 to {len(names)} numbers')
    listed += [[]] * (count - len(listed))
    return [dict(zip(names, place)) or {drawn: 'true'} for place in listed]


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
