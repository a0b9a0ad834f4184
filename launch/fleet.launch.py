"""Several simulated robots with their planners, each in a namespace of its own: robot1, robot2, and so on.

They share nothing but the map: each has a start and a goal of its own, and does not see the others. All other
arguments are those of demo.launch.py and go to every robot.
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
MOST_ROBOTS = 100


def generate_launch_description():
    of_the_fleet = [
        DeclareLaunchArgument('robots', default_value='3', description='how many robots'),
        DeclareLaunchArgument(
            'starts',
            default_value='',
            description='where the robots start, in metres and radians: "x y yaw; x y yaw; …"; '
            'those left out are drawn by seed',
        ),
        DeclareLaunchArgument(
            'goals',
            default_value='',
            description='where the robots go: "x y yaw; x y yaw; …"; those left out are drawn by seed',
        ),
        DeclareLaunchArgument('seed', default_value='1', description='of the first robot; the next has one more'),
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
    if not 1 <= count <= MOST_ROBOTS:
        raise ValueError(f'robots is {count}; it is 1 to {MOST_ROBOTS}')
    starts = places('starts', START, 'random_start', given, count)
    goals = places('goals', GOAL, 'random_goal', given, count)
    seed = whole_number('seed', given)
    return [
        robot({'namespace': f'robot{i + 1}', 'seed': str(seed + i), **start, **goal, **shown(given, i)})
        for i, (start, goal) in enumerate(zip(starts, goals))
    ]


def robot(arguments):
    """In a group, else its arguments would go on to the next robot. Each has a time of its own, too."""
    demo = IncludeLaunchDescription(PythonLaunchDescriptionSource(DEMO), launch_arguments=arguments.items())
    return GroupAction([SetRemap('/clock', 'clock'), demo])


def shown(given, i):
    """Each robot has a record and a page of its own."""
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
        raise ValueError(f'{name} is {given[name]!r}; it is a whole number') from None


def places(argument, names, drawn, given, count):
    """For each robot the arguments of demo.launch.py that say where; those that are not listed are drawn."""
    listed = [place.split() for place in given[argument].rstrip('; ').split(';')]
    if len(listed) > count:
        raise ValueError(f'{argument} has {len(listed)} places; there are {count} robots')
    for place in filter(None, listed):
        if not 2 <= len(place) <= len(names) or not all(map(is_number, place)):
            raise ValueError(f'{argument} has {" ".join(place)!r}; a place is 2 to {len(names)} numbers')
    listed += [[]] * (count - len(listed))
    return [dict(zip(names, place)) or {drawn: 'true'} for place in listed]


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
