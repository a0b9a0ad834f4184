"""The simulator as a process of its own, over DDS: every topic, and how it starts and ends."""

import dataclasses
import importlib.util
import math
import signal
from pathlib import Path

import numpy as np
import pytest
import yaml
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, Twist, TwistStamped
from helpers.peer import BEST_EFFORT, LATCHED
from helpers.processes import wait_until_logged
from helpers.scenes import place_of
from nav_msgs.msg import OccupancyGrid, Odometry
from PIL import Image
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import LaserScan
from std_msgs.msg import UInt32

from tb_planner.parameters import as_yaml, specs
from tb_planner.simulation.parameters import HEADING, SimulatorParameters

RESOLUTION_M = 0.05
CONFIG = Path(__file__).parents[2] / 'config' / 'simulator.yaml'


def needs(package):
    found = importlib.util.find_spec(package) is not None
    return pytest.mark.skipif(not found, reason=f'{package} is not installed')


@pytest.fixture
def hall(tmp_path):
    """A hall of 10 m x 5 m with a wall half across it; its lower left corner is at (-1, -2)."""
    pixels = np.full((100, 200), 254, np.uint8)
    pixels[[0, -1]] = pixels[:, [0, -1]] = 0
    pixels[50:, 120] = 0  # the first row is the top one
    Image.fromarray(pixels).save(tmp_path / 'hall.pgm')
    keys = {'image': 'hall.pgm', 'resolution': RESOLUTION_M, 'origin': [-1.0, -2.0, 0.0]}
    keys |= {'negate': 0, 'occupied_thresh': 0.65, 'free_thresh': 0.196}
    (tmp_path / 'hall.yaml').write_text(yaml.safe_dump(keys))
    occupancy = np.where(pixels == 0, 100, 0).astype(np.int8)[::-1]
    return tmp_path / 'hall.yaml', occupancy


@pytest.fixture
def simulator(nodes, hall):
    def start(**parameters):
        return nodes.simulator(map=str(hall[0]), **parameters)

    return start


def values_of(message):
    return np.frombuffer(message.data, np.int8).reshape(message.info.height, message.info.width)


def posed(x, y, yaw=0.0, kind=PoseStamped, frame='map'):
    message = kind()
    message.header.frame_id = frame
    pose = message.pose if kind is PoseStamped else message.pose.pose
    pose.position.x, pose.position.y = float(x), float(y)
    pose.orientation.z, pose.orientation.w = math.sin(yaw / 2), math.cos(yaw / 2)
    return message


def seconds_of(stamp):
    return stamp.sec + stamp.nanosec * 1e-9


def is_at(poses, x, y, within=0.06):
    return bool(poses) and math.dist(place_of(poses.last), (x, y)) < within


def set_parameter(peer, name, value):
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    return peer.call('simulator/set_parameters', SetParameters, request).results[0]


def test_the_map_comes_to_late_joiners_as_it_is_in_its_file(simulator, peer, hall):
    process = simulator()
    wait_until_logged(process, 'static world')
    received = peer.subscribe('map', OccupancyGrid, LATCHED)
    peer.wait_until(lambda: received, 'a map')
    message = received.last
    assert message.header.frame_id == 'map'
    assert message.info.resolution == pytest.approx(RESOLUTION_M)
    assert (message.info.origin.position.x, message.info.origin.position.y) == (-1.0, -2.0)
    assert message.info.origin.orientation.w == 1.0
    np.testing.assert_array_equal(values_of(message), hall[1])


def test_pose_and_odometry_start_where_they_should(simulator, peer):
    simulator(start_x_m=0.5, start_y_m=-0.5, start_yaw=1.0)
    pose, odom = peer.subscribe('pose', PoseStamped), peer.subscribe('odom', Odometry)
    peer.wait_until(lambda: pose and odom, 'pose and odom')
    assert place_of(pose.last) == (0.5, -0.5)
    assert pose.last.header.frame_id == 'map'
    assert 2 * math.atan2(pose.last.pose.orientation.z, pose.last.pose.orientation.w) == pytest.approx(1.0)
    assert place_of(odom.last) == pytest.approx((0.0, 0.0))
    assert (odom.last.header.frame_id, odom.last.child_frame_id) == ('odom', 'base_link')


def test_the_robot_follows_waypoints_and_stops_at_the_last(simulator, peer):
    simulator(real_time_factor=4.0)
    pose, odom = peer.subscribe('pose', PoseStamped), peer.subscribe('odom', Odometry)
    waypoint = peer.publisher('waypoint', PoseStamped)
    for x, y in ((1.5, 1.0), (3.0, 1.5)):
        waypoint.publish(posed(x, y))
        peer.wait_until(lambda x=x, y=y: is_at(pose, x, y), lambda: f'robot at the waypoint, is {place_of(pose.last)}')
    peer.wait_until(lambda: odom.last.twist.twist.linear.x == 0.0, 'the robot stops')
    assert max(message.twist.twist.linear.x for message in odom) <= 1.0


@pytest.mark.parametrize(('stamped', 'kind'), [(False, Twist), (True, TwistStamped)])
def test_the_robot_obeys_cmd_vel_until_it_ceases(simulator, peer, stamped, kind):
    simulator(follow_waypoint=False, enable_stamped_cmd_vel=stamped, real_time_factor=2.0)
    odom = peer.subscribe('odom', Odometry)
    publisher = peer.publisher('cmd_vel', kind)
    message = kind()
    twist = message.twist if stamped else message
    twist.linear.x, twist.angular.z = 0.4, 0.2
    publisher.publish(message)
    peer.wait_until(lambda: odom and odom.last.twist.twist.linear.x == 0.4, 'the speed that is commanded')
    peer.wait_until(lambda: odom.last.twist.twist.linear.x == 0.0, 'the robot stops without commands')
    assert place_of(odom.last)[0] > 0.2
    assert place_of(odom.last)[1] > 0.0


def test_a_command_that_is_no_number_is_not_used(simulator, peer):
    process = simulator(follow_waypoint=False)
    publisher = peer.publisher('cmd_vel', Twist)
    bad = Twist()
    bad.linear.x = math.nan
    publisher.publish(bad)
    wait_until_logged(process, 'speeds nan m/s, 0.0 rad/s are not finite; ignored')
    odom = peer.subscribe('odom', Odometry)
    peer.wait_until(lambda: len(odom) > 3, 'odometry goes on')
    assert place_of(odom.last) == pytest.approx((0.0, 0.0))


def test_initialpose_puts_the_robot_elsewhere_and_odometry_goes_on(simulator, peer):
    process = simulator()
    pose, odom = peer.subscribe('pose', PoseStamped), peer.subscribe('odom', Odometry)
    publisher = peer.publisher('initialpose', PoseWithCovarianceStamped)
    publisher.publish(posed(7.0, 2.0, 1.5, PoseWithCovarianceStamped))
    peer.wait_until(lambda: odom and is_at(pose, 7.0, 2.0, 1e-9), 'robot at its new place')
    assert place_of(odom.last) == pytest.approx((0.0, 0.0))
    for bad, reason in (
        (posed(50.0, 2.0, 0.0, PoseWithCovarianceStamped), 'outside the map of 200 x 100 cells; ignored'),
        (posed(5.0, -1.0, 0.0, PoseWithCovarianceStamped), 'closer to an obstacle'),
        (posed(1.0, 1.0, 0.0, PoseWithCovarianceStamped, frame='moon'), "frame 'moon'; it must be in 'map'; ignored"),
        (posed(math.nan, 1.0, 0.0, PoseWithCovarianceStamped), 'nan'),
    ):
        peer.spin(0.6)  # errors are logged at most twice a second
        publisher.publish(bad)
        wait_until_logged(process, reason)
    count = len(pose)
    peer.wait_until(lambda: len(pose) > count + 3, 'poses go on')
    assert place_of(pose.last) == (7.0, 2.0)


def test_a_collision_stops_the_robot_and_is_counted(simulator, peer):
    process = simulator(real_time_factor=4.0, start_x_m=4.0, start_y_m=-1.0)
    pose = peer.subscribe('pose', PoseStamped)
    collisions = peer.subscribe('simulator/collisions', UInt32, LATCHED)
    peer.wait_until(lambda: collisions and collisions.last.data == 0, 'no collision yet')
    peer.publisher('waypoint', PoseStamped).publish(posed(7.0, -1.0))
    peer.wait_until(lambda: collisions.last.data == 1, 'a collision')
    wait_until_logged(process, 'The robot collided at')
    late = peer.subscribe('simulator/collisions', UInt32, LATCHED)
    peer.wait_until(lambda: late, 'a late subscriber receives it')
    assert late.last.data == 1
    assert place_of(pose.last)[0] < 5.0 - 0.1 + 1e-6


def test_the_clock_runs_as_fast_as_asked_and_stamps_follow_it(simulator, peer):
    simulator(publish_clock=True, real_time_factor=10.0)
    clock = peer.subscribe('/clock', Clock)
    pose = peer.subscribe('pose', PoseStamped)
    peer.wait_until(lambda: clock and seconds_of(clock.last.clock) > 5.0, 'simulated time')
    times = np.array([seconds_of(message.clock) for message in clock])
    assert (np.diff(times) > 0).all()
    steps = times / 0.02
    assert np.abs(steps - np.round(steps)).max() < 1e-6
    peer.wait_until(lambda: pose and seconds_of(pose.last.header.stamp) > 5.0, 'poses in simulated time')
    assert seconds_of(pose.last.header.stamp) <= seconds_of(clock.last.clock) + 1.0


def test_without_a_clock_stamps_are_of_the_system(simulator, peer):
    simulator()
    pose = peer.subscribe('pose', PoseStamped)
    peer.wait_until(lambda: pose, 'a pose')
    now_s = peer.node.get_clock().now().nanoseconds * 1e-9
    assert abs(seconds_of(pose.last.header.stamp) - now_s) < 60.0
    assert not [name for name, _ in peer.node.get_topic_names_and_types() if name == '/clock']


def test_the_speed_factor_can_be_changed_while_the_robot_drives_and_bad_values_are_refused(simulator, peer):
    simulator(publish_clock=True, real_time_factor=0.01)
    clock = peer.subscribe('/clock', Clock)
    refused = set_parameter(peer, 'real_time_factor', 1000.0)
    assert not refused.successful
    assert 'real_time_factor' in refused.reason
    assert not set_parameter(peer, 'world', 'changing').successful
    assert set_parameter(peer, 'real_time_factor', 20.0).successful
    peer.wait_until(lambda: clock and seconds_of(clock.last.clock) > 10.0, 'ten simulated seconds')


def test_the_scan_meets_the_walls(simulator, peer):
    simulator(start_x_m=2.0, start_y_m=-1.0)
    received = peer.subscribe('scan', LaserScan, BEST_EFFORT)
    peer.wait_until(lambda: received, 'a scan')
    scan = received.last
    assert scan.header.frame_id == 'base_link'
    angles = scan.angle_min + scan.angle_increment * np.arange(len(scan.ranges))
    assert angles[-1] == pytest.approx(scan.angle_max, abs=1e-4)
    ranges = np.array(scan.ranges)
    assert ranges[np.abs(angles).argmin()] == pytest.approx(3.0, abs=0.01)
    assert ranges[np.abs(angles + math.pi / 2).argmin()] == pytest.approx(0.95, abs=0.01)
    assert ranges[0] == pytest.approx(2.95, abs=0.01)
    assert ranges.min() >= 0.94


@needs('tf2_msgs')
def test_tf_goes_from_map_over_odom_to_the_robot(simulator, peer):
    from tf2_msgs.msg import TFMessage

    simulator(start_x_m=0.5, start_y_m=1.0, start_yaw=0.3)
    received = peer.subscribe('/tf', TFMessage)
    peer.wait_until(lambda: received, 'a transform')
    frames = {(one.header.frame_id, one.child_frame_id): one for one in received.last.transforms}
    assert set(frames) == {('map', 'odom'), ('odom', 'base_link')}
    translation = frames['map', 'odom'].transform.translation
    assert (translation.x, translation.y) == pytest.approx((0.5, 1.0))
    assert frames['map', 'odom'].transform.rotation.z == pytest.approx(math.sin(0.15))
    assert frames['odom', 'base_link'].transform.translation.x == pytest.approx(0.0)


def test_a_changing_world_publishes_a_map_with_every_change(simulator, peer, hall):
    simulator(world='changing', change_rate=10.0, change_period_s=0.5, change_size_m=0.0, publish_clock=True)
    received = peer.subscribe('map', OccupancyGrid, LATCHED)
    peer.wait_until(lambda: len(received) >= 5, 'five maps')
    walls = hall[1] == 100
    for message in received[1:]:
        values = values_of(message)
        assert (values[walls] == 100).all()
        assert 0.02 < (values[~walls] == 100).mean() <= 0.0501
    times = np.array([seconds_of(message.header.stamp) for message in received[1:]])
    assert np.diff(times) == pytest.approx(0.5)


def test_scripted_obstacles_count_from_the_goal(simulator, peer, tmp_path):
    script = tmp_path / 'script.yaml'
    script.write_text('obstacles: [{at_s: 1, for_s: 3, x_m: 6.5, y_m: 0.5, width_m: 0.5, height_m: 0.5}]')
    simulator(world='changing', change_rate=0.0, obstacles=str(script), real_time_factor=5.0)
    received = peer.subscribe('map', OccupancyGrid, LATCHED)
    peer.wait_until(lambda: received, 'a map')
    peer.spin(0.5)
    assert all(values_of(message)[50, 150] == 0 for message in received)
    peer.publisher('goal_pose', PoseStamped).publish(posed(1.0, 2.0))
    peer.wait_until(lambda: values_of(received.last)[50, 150] == 100, 'the obstacle appears')
    peer.wait_until(lambda: values_of(received.last)[50, 150] == 0, 'and goes')


def test_nothing_appears_on_the_goal(simulator, peer, tmp_path):
    script = tmp_path / 'script.yaml'
    boxes = ', '.join(
        f'{{at_s: 0.5, x_m: {x}, y_m: {y}, width_m: 0.3, height_m: 0.3}}' for x, y in ((6.5, 0.5), (7.8, 0.5))
    )
    script.write_text(f'obstacles: [{boxes}]')
    simulator(world='changing', change_rate=0.0, obstacles=str(script), real_time_factor=5.0)
    received = peer.subscribe('map', OccupancyGrid, LATCHED)
    peer.publisher('goal_pose', PoseStamped).publish(posed(6.5, 0.5))
    peer.wait_until(lambda: received and values_of(received.last)[50, 176] == 100, 'the obstacle beside the goal')
    assert values_of(received.last)[50, 150] == 0


@needs('map_msgs')
@pytest.mark.parametrize('world', ['changing', 'unknown'])
def test_patches_bring_a_map_up_to_date(simulator, peer, world):
    """A map with its patches applied in order is what a late joiner gets."""
    from map_msgs.msg import OccupancyGridUpdate

    simulator(world=world, change_rate=4.0, change_period_s=0.3, publish_map_updates=True, sensor_radius_m=1.0)
    maps = peer.subscribe('map', OccupancyGrid, LATCHED)
    patches = peer.subscribe('map_updates', OccupancyGridUpdate)
    waypoint = peer.publisher('waypoint', PoseStamped)
    waypoint.publish(posed(2.0, 0.0))
    peer.wait_until(lambda: maps and len(patches) >= 4, 'a map and four patches')
    stamp = seconds_of(maps.last.header.stamp)
    values = values_of(maps.last).copy()
    later = sorted(patches, key=lambda message: seconds_of(message.header.stamp))
    for patch in (patch for patch in later if seconds_of(patch.header.stamp) > stamp):
        part = np.frombuffer(patch.data, np.int8).reshape(patch.height, patch.width)
        values[patch.y : patch.y + patch.height, patch.x : patch.x + patch.width] = part
    last = seconds_of(patches.last.header.stamp)
    late = peer.subscribe('map', OccupancyGrid, LATCHED)
    peer.wait_until(lambda: late and seconds_of(late.last.header.stamp) >= last, 'a new whole map')
    if world == 'unknown':
        known = values >= 0
        np.testing.assert_array_equal(values_of(late.last)[known], values[known])
        assert known.any()
    else:
        assert values.shape == values_of(late.last).shape
        assert (values == 100).any()


def test_a_growing_map_moves_its_origin_as_it_grows(simulator, peer, hall):
    simulator(world='unknown', growing_map=True, sensor_radius_m=1.0, real_time_factor=3.0, start_x_m=8.0)
    received = peer.subscribe('map', OccupancyGrid, LATCHED)
    waypoint = peer.publisher('waypoint', PoseStamped)
    waypoint.publish(posed(6.0, 1.5))

    def sizes():
        return {(message.info.width, message.info.height) for message in received}

    def origins():
        return {message.info.origin.position.x for message in received}

    peer.wait_until(lambda: len(sizes()) >= 5 and len(origins()) >= 3, 'five sizes and three origins')
    for message in received:
        values = values_of(message)
        x = round((message.info.origin.position.x + 1.0) / RESOLUTION_M)
        y = round((message.info.origin.position.y + 2.0) / RESOLUTION_M)
        true = hall[1][y : y + values.shape[0], x : x + values.shape[1]]
        np.testing.assert_array_equal(values[values >= 0], true[values >= 0])
        assert (values >= 0).any()


def test_poses_are_as_noisy_as_asked_and_odometry_is_not(simulator, peer):
    simulator(pose_noise_m=0.1, real_time_factor=10.0)
    pose, odom = peer.subscribe('pose', PoseStamped), peer.subscribe('odom', Odometry)
    peer.wait_until(lambda: len(pose) > 200, 'poses')
    noise = np.array([place_of(message) for message in pose])
    assert noise.std() == pytest.approx(0.1, rel=0.3)
    assert all(place_of(message) == pytest.approx((0.0, 0.0)) for message in odom)


@pytest.mark.parametrize('follow_waypoint', [True, False])
def test_the_goal_is_published_to_subscribers_until_the_planner_follows_it(simulator, peer, follow_waypoint):
    simulator(give_goal=True, random_goal=True, seed=3, follow_waypoint=follow_waypoint)
    goals = peer.subscribe('goal_pose', PoseStamped)
    peer.wait_until(lambda: len(goals) >= 2, 'the goal, and again')
    x, y = place_of(goals.last)
    assert math.hypot(x, y) > 3.0
    peer.publisher('waypoint', PoseStamped).publish(posed(0.1, 0.0))
    peer.spin(1.5)
    count = len(goals)
    peer.spin(1.5)
    assert len(goals) == count
    again = peer.subscribe('goal_pose', PoseStamped)
    peer.wait_until(lambda: again, 'a planner that comes later is given it too')
    assert place_of(again.last) == (x, y)


def test_the_goal_waits_for_a_page_of_the_live_view(simulator, peer):
    process = simulator(give_goal=True, goal_x_m=5.0, viewer_limit_s=600.0)
    wait_until_logged(process, 'Waiting for a viewer. The robot starts when the page is open, or in 600 s.')
    goals, pages = peer.subscribe('goal_pose', PoseStamped), peer.publisher('view/pages', UInt32, LATCHED)
    pages.publish(UInt32(data=0))
    peer.spin(2.5)
    assert not goals
    pages.publish(UInt32(data=1))
    peer.wait_until(lambda: goals, 'the goal')
    wait_until_logged(process, 'The page is open.')


def test_the_goal_comes_without_a_viewer_after_the_limit(simulator, peer):
    process = simulator(give_goal=True, goal_x_m=5.0, viewer_limit_s=0.5)
    goals = peer.subscribe('goal_pose', PoseStamped)
    peer.wait_until(lambda: goals, 'the goal')
    wait_until_logged(process, 'The robot starts; the page can be opened at any time.')


def test_a_goal_that_the_planner_follows_before_a_viewer_comes_is_kept(simulator, peer):
    simulator(give_goal=True, goal_x_m=5.0, viewer_limit_s=600.0)
    goals, pages = peer.subscribe('goal_pose', PoseStamped), peer.publisher('view/pages', UInt32, LATCHED)
    peer.spin(1.5)
    peer.publisher('waypoint', PoseStamped).publish(posed(0.1, 0.0))
    peer.spin(0.5)
    pages.publish(UInt32(data=1))
    peer.spin(2.5)
    assert not goals


def test_a_random_start_is_free_and_the_same_for_a_seed(simulator, nodes, peer):
    places = []
    for namespace in ('a', 'b'):
        simulator(random_start=True, seed=5, remaps={'__ns': f'/{namespace}'})
        pose = peer.subscribe(f'{namespace}/pose', PoseStamped)
        peer.wait_until(lambda pose=pose: pose, 'a pose')
        places.append(place_of(pose.last))
    assert places[0] == places[1] != (0.0, 0.0)


def test_a_namespace_holds_all_topics(simulator, peer):
    simulator(remaps={'__ns': '/robot1'})
    pose = peer.subscribe('robot1/pose', PoseStamped)
    peer.wait_until(lambda: pose, 'a pose')
    topics = {name for name, _ in peer.node.get_topic_names_and_types()}
    ours = {'map', 'pose', 'odom', 'scan', 'waypoint', 'initialpose', 'goal_pose', 'simulator/collisions'}
    assert {f'/robot1/{name}' for name in ours} <= topics
    assert not {f'/{name}' for name in ours} & topics


def test_the_maps_of_the_package_are_found_by_name(nodes, peer):
    nodes.simulator(map='warehouse', world='changing', obstacles='warehouse')
    received = peer.subscribe('map', OccupancyGrid, LATCHED)
    peer.wait_until(lambda: received, 'a map')
    assert received.last.info.width * received.last.info.height > 400_000


@pytest.mark.parametrize(
    ('bad', 'reason'),
    [
        ({'map': '/nowhere.yaml'}, '/nowhere.yaml: cannot be read'),
        ({'map': 'castle'}, 'maps/castle.yaml was not found in'),
        ({'obstacles': '/nowhere.yaml'}, '/nowhere.yaml: cannot be read'),
        ({'start_x_m': 100.0}, r'\(100, 0\) is outside the'),
        ({'real_time_factor': 0.0}, 'real_time_factor is 0.0; it must be between 0.01 and 100'),
        ({'world': 'flat'}, "world is 'flat'; it must be one of static, changing, unknown"),
        ({'growing_map': True}, 'growing_map needs an unknown world; world is static'),
    ],
)
def test_a_start_that_cannot_be_ends_with_the_reason(nodes, bad, reason):
    process = nodes.simulator(**bad)
    wait_until_logged(process, reason)
    assert process.wait(20.0)
    assert process.exit_code == 1
    assert 'Traceback' not in process.log_text


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('busy', [False, True])
def test_the_simulator_ends_cleanly_on_signals(simulator, number, busy):
    """This holds even while the simulator publishes."""
    world = {'world': 'changing', 'change_period_s': 0.01, 'publish_clock': True, 'real_time_factor': 20.0}
    processes = [simulator(**(world if busy else {})) for _ in range(3)]
    for process in processes:
        wait_until_logged(process, 'times real time')
        process.send(number)
    for process in processes:
        assert process.wait(20.0)
        assert process.exit_code == 0
        assert 'Traceback' not in process.log_text


def test_the_yaml_file_is_made_of_the_dataclass():
    assert CONFIG.read_text() == as_yaml(SimulatorParameters, 'simulator', HEADING), (
        'bring config/simulator.yaml up to date: python docs/update_tables.py'
    )
    values = yaml.safe_load(CONFIG.read_text())['/**/simulator']['ros__parameters']
    assert values == dataclasses.asdict(SimulatorParameters())
    assert all(type(values[name]) is spec.kind for name, spec in specs(SimulatorParameters).items())


def test_the_node_starts_from_its_yaml_file(nodes, peer):
    arguments = ['--ros-args', '--params-file', str(CONFIG)]
    process = nodes.start_module('tb_planner.ros.simulator_node', arguments)
    wait_until_logged(process, 'static world office')
    assert 'has no parameter' not in process.log_text
