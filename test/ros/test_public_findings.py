"""What others found by fuzzing Nav2 and rclcpp in public, tried on our nodes: each test names the issue or the fix."""

import math
from array import array
from importlib.util import find_spec

import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped, TwistStamped
from helpers.peer import RELIABLE
from helpers.processes import wait_until_logged
from helpers.surroundings import PlannerPeer, map_message, open_terrain, pose_stamped
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters

from tb_planner.ros.throttled_log import SAME_KIND_S

NAV2 = find_spec('nav2_msgs') is not None
needs_nav2 = pytest.mark.skipif(not NAV2, reason='nav2_msgs is not installed')


@pytest.fixture(scope='module')
def running(shared_nodes, shared_peer) -> tuple:
    """One planner for all tests here, with Nav2's actions where they are installed."""
    planner = shared_nodes.planner(robot_radius_m=0.1, inflation_radius_m=0.2, nav2=NAV2, cleared_map_timeout_s=0.0)
    around = PlannerPeer(shared_peer)
    around.set_out()
    return planner, around


@pytest.fixture
def paths(running):
    from helpers.path_client import PathClient

    client = PathClient(running[1].peer)
    yield client
    client.close()


def check_that_it_navigates(planner, around):
    around.publish_goal(8.0, 5.0)
    around.wait_for_status('NAVIGATING')
    around.wait_for_waypoints(5)
    around.peer.spin(1.5 * SAME_KIND_S)  # sooner, the next error of this kind would not be logged
    assert planner.exit_code is None
    assert 'Traceback' not in planner.log_text


@pytest.mark.parametrize('resolution', [1e-10, 1e-6, -1.0, 0.0, math.nan])
def test_navigation2_6147_a_map_of_a_tiny_or_negative_resolution_is_refused(running, resolution):
    """A resolution near 0 made a costmap allocate and index cells that it did not have (fixed by 6190 and 6209)."""
    planner, around = running
    begin = len(planner.log_text)
    around.maps.publish(map_message(open_terrain(), resolution=resolution))
    around.wait_until_logged(planner, begin, 'resolution of', 'the last map stays')
    check_that_it_navigates(planner, around)


@pytest.mark.parametrize(('width', 'height'), [(65536, 65536), (65535, 65537), (2**32 - 1, 2)])
def test_navigation2_5612_a_map_whose_size_overflows_32_bits_is_refused(running, width, height):
    """The product of width and height overflowed to 0 and matched empty data (fixed by 6208)."""
    planner, around = running
    message = map_message(open_terrain())
    message.info.width, message.info.height, message.data = width, height, array('b')
    begin = len(planner.log_text)
    around.maps.publish(message)
    around.wait_until_logged(planner, begin, f'map of {width} x {height} cells is too large')
    check_that_it_navigates(planner, around)


def test_navigation2_6237_a_map_with_less_data_than_cells_is_refused(running):
    """The map saver indexed the data by width and height without a look at its length."""
    planner, around = running
    message = map_message(open_terrain())
    message.data = array('b', [0] * 10)
    begin = len(planner.log_text)
    around.maps.publish(message)
    around.wait_until_logged(planner, begin, '100 x 100 cells has 10 values; it must have 10000')
    check_that_it_navigates(planner, around)


UPDATES = {
    'no data': (0, 0, 5, 5, 0),
    'negative place': (-3, 0, 5, 5, 25),
    'height that overflows': (0, 1, 1, 2**32 - 1, 0),
    'place that overflows': (2**31 - 1, 2**31 - 1, 5, 5, 25),
    'beyond the map': (98, 98, 5, 5, 25),
}


@pytest.mark.parametrize('what', UPDATES)
def test_navigation2_6220_a_map_update_outside_the_map_or_its_data_is_dropped(running, what):
    """Updates were applied without a check of place, size and data (also 5693 and 6211): reads and writes beyond."""
    map_msgs = pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed')
    planner, around = running
    x, y, width, height, count = UPDATES[what]
    message = map_msgs.OccupancyGridUpdate(x=x, y=y, width=width, height=height, data=[100] * count)
    message.header.frame_id = 'map'
    updates = around.peer.publisher('map_updates', map_msgs.OccupancyGridUpdate, RELIABLE)
    begin = len(planner.log_text)
    updates.publish(message)
    around.wait_until_logged(planner, begin, 'the update is dropped')
    around.peer.node.destroy_publisher(updates)
    check_that_it_navigates(planner, around)


GOALS = {'far': (1e6, 1e6), 'just outside': (10.001, 5.0), 'negative': (-0.001, 5.0), 'no number': (math.nan, 5.0)}


@needs_nav2
@pytest.mark.parametrize('place', GOALS.values(), ids=GOALS)
def test_navigation2_6145_a_request_beyond_the_map_is_aborted_with_a_code(running, paths, place):
    """The result of the conversion from world to map was ignored, and a cell beyond the costmap was read; so it was
    near the edge of the map (4694)."""
    planner, around = running
    for goal, start in ((place, None), ((8.0, 5.0), place)):
        status, result = paths.ask(goal, start=start).end()
        assert status == 'aborted'
        assert result.error_code != 0
        assert result.error_msg
    check_that_it_navigates(planner, around)


@needs_nav2
def test_navigation2_2505_cancels_and_new_goals_at_any_moment_end_in_a_result(running, paths):
    """Random navigation tasks ended the planner server in the threads of its actions."""
    planner, around = running
    requests = []
    for number in range(30):
        requests.append(paths.ask((8.0, 1.0 + number % 8)))
        if number % 3 == 0 and requests[-1].is_accepted:
            requests[-1].handle.cancel_goal_async()
    assert {request.end()[0] for request in requests if request.is_accepted} <= {'succeeded', 'canceled', 'aborted'}
    check_that_it_navigates(planner, around)


@needs_nav2
def test_navigation2_3883_is_path_valid_responds_while_maps_come_and_the_node_is_deactivated(running):
    """A check of a path used a costmap that had been freed."""
    from nav2_msgs.srv import IsPathValid

    planner, around = running
    request = IsPathValid.Request()
    request.path.header.frame_id = 'map'
    request.path.poses = [pose_stamped(1.0 + 0.1 * i, 5.0) for i in range(20)]
    for number in range(10):
        around.maps.publish(map_message(open_terrain(100 if number % 2 else 60)))
        around.peer.call('is_path_valid', IsPathValid, request)
    client = around.peer.node.create_client(IsPathValid, 'is_path_valid')
    around.peer.wait_until(client.service_is_ready, 'is_path_valid is there')
    for _ in range(5):
        client.call_async(request)
    assert around.change_state('deactivate')
    assert around.change_state('activate')
    around.peer.node.destroy_client(client)
    around.maps.publish(map_message(open_terrain()))
    check_that_it_navigates(planner, around)


VALUES = (
    *(
        ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=value)
        for value in (-1.0, 0.0, 1e308, math.inf)
    ),
    ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=math.nan),
    *(ParameterValue(type=ParameterType.PARAMETER_INTEGER, integer_value=value) for value in (-(2**63), 2**63 - 1)),
    ParameterValue(type=ParameterType.PARAMETER_STRING, string_value='x' * 1000),
    ParameterValue(type=ParameterType.PARAMETER_NOT_SET),
)
WITH_A_RANGE = (
    'tick_frequency',
    'weight',
    'robot_radius_m',
    'search_time_s',
    'waypoint_distance_m',
    'lethal_threshold',
)


def test_navigation2_3231_no_value_of_a_parameter_ends_the_node_or_its_navigation(running):
    """Random values of parameters ended servers; a frequency of 0 did so by a division (5765)."""
    planner, around = running
    for name in WITH_A_RANGE:
        for value in VALUES:
            request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
            (result,) = around.peer.call('tb_planner/set_parameters', SetParameters, request).results
            allowed = (
                name == 'robot_radius_m' and value.type == ParameterType.PARAMETER_DOUBLE and value.double_value == 0
            )
            assert result.successful == allowed, (name, value)
            assert result.reason or allowed
    assert around.set_parameters(robot_radius_m=0.1) == ''
    check_that_it_navigates(planner, around)


def test_rclcpp_3257_a_parameter_of_no_known_type_ends_nothing(running):
    """A type above 9 in one request ended every node of rclcpp; rclpy raises, too, and our executors go on."""
    _, around = running
    errors = int(around.next_facts()['errors'])
    client = around.peer.node.create_client(SetParameters, 'tb_planner/set_parameters')
    around.peer.wait_until(client.service_is_ready, 'set_parameters is there')
    client.call_async(SetParameters.Request(parameters=[Parameter(name='weight', value=ParameterValue(type=200))]))
    around.peer.wait_until(lambda: int(around.facts['errors']) > errors, 'the error is counted')
    around.wait_for_waypoints(5)


def test_navigation2_4294_a_place_with_a_covariance_of_nan_leaves_the_simulator_alive(nodes, peer):
    """A covariance of nan or of tiny numbers in initialpose overflowed a buffer of AMCL (also 4307)."""
    simulator = nodes.simulator()
    odometry = peer.subscribe('odom', Odometry)
    places = peer.publisher('initialpose', PoseWithCovarianceStamped)
    message = PoseWithCovarianceStamped(header=pose_stamped(0.0, 0.0).header)
    message.pose.pose.orientation.w = 1.0
    message.pose.covariance = [math.nan, 1.9e-305] * 18
    places.publish(message)
    message.pose.pose.position.x = math.nan
    places.publish(message)
    wait_until_logged(simulator, 'initialpose is at .*nan.*; ignored')
    count = len(odometry)
    peer.wait_until(lambda: len(odometry) > count, 'the simulator goes on')
    assert math.isfinite(odometry.last.pose.pose.position.x)


def test_navigation2_3628_commands_of_nan_and_inf_do_not_move_the_robot(nodes, peer):
    """Velocities that are no numbers passed through the collision monitor to the robot."""
    simulator = nodes.simulator(follow_waypoint=False, enable_stamped_cmd_vel=True)
    odometry = peer.subscribe('odom', Odometry)
    commands = peer.publisher('cmd_vel', TwistStamped)
    for value in (math.nan, math.inf, -math.inf):
        message = TwistStamped()
        message.twist.linear.x = value
        commands.publish(message)
    wait_until_logged(simulator, 'are not finite; ignored')
    count = len(odometry)
    peer.wait_until(lambda: len(odometry) > count + 3, 'the simulator goes on')
    assert odometry.last.twist.twist.linear.x == 0.0
