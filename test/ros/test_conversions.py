"""Messages to the core's words and back, compared with what ROS's own serialisation makes of them."""

import math
from array import array

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from hypothesis import given
from hypothesis import strategies as st
from nav_msgs.msg import OccupancyGrid, Odometry, Path
from rclpy.clock import ClockType, ROSClock
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.time import Time as RosTime

from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.cdr import MAX_CELLS, BadMessage, occupancy_from_cdr, patch_from_cdr, yaw_of
from tb_planner.ros.pose_source import pose_from_message
from tb_planner.ros.publishers import path_as_cdr, pose_message, quaternion_of, time_message

STAMP = Time(sec=12, nanosec=34)
YAWS = st.floats(-3.1, 3.1)
FRAMES = st.text('abcdef_/', max_size=12)


def map_message(values, resolution=0.05, frame='map'):
    message = OccupancyGrid()
    message.header.frame_id = frame
    message.header.stamp = STAMP
    message.info.height, message.info.width = values.shape
    message.info.resolution = resolution
    message.data = array('b', values.astype(np.int8).tobytes())
    return message


def pose_at(x, y, yaw=0.0, frame='map'):
    return pose_message(Pose2D(x, y, yaw), frame, STAMP)


# ------------------------------------------------------------------------------------------------------ maps
@given(frame=FRAMES, width=st.integers(1, 9), height=st.integers(1, 9), yaw=YAWS, seed=st.integers(0, 99))
def test_a_map_is_read_from_the_bytes_on_the_wire(frame, width, height, yaw, seed):
    values = np.random.default_rng(seed).integers(-1, 101, (height, width)).astype(np.int8)
    message = map_message(values, frame=frame)
    message.info.origin.position.x, message.info.origin.position.y = -3.5, 7.25
    message.info.origin.orientation = quaternion_of(yaw)
    occupancy = occupancy_from_cdr(serialize_message(message))
    assert (occupancy.frame, occupancy.stamp_ns) == (frame, 12_000_000_034)
    assert np.array_equal(occupancy.values, values)
    geometry = occupancy.geometry
    assert (geometry.width, geometry.height, geometry.resolution_m) == (width, height, 0.05)
    assert geometry.origin == pytest.approx((-3.5, 7.25, yaw))


def test_the_cells_of_a_map_are_not_copied():
    data = serialize_message(map_message(np.zeros((20, 30))))
    values = occupancy_from_cdr(data).values
    assert np.shares_memory(values, np.frombuffer(data, np.int8))


def spoilt(**changes):
    message = map_message(np.zeros((4, 5)))
    for path, value in changes.items():
        *owners, name = path.split('__')
        owner = message
        for part in owners:
            owner = getattr(owner, part)
        setattr(owner, name, value)
    return message


@pytest.mark.parametrize(
    ('changes', 'reason'),
    [
        ({'data': array('b', bytes(19))}, '5 x 4 cells has 19 values; it must have 20'),
        ({'data': array('b', bytes(21))}, '5 x 4 cells has 21 values; it must have 20'),
        ({'data': array('b')}, '5 x 4 cells has 0 values'),
        ({'info__width': 0}, '0 x 4 cells is empty'),
        ({'info__height': 0}, '5 x 0 cells is empty'),
        ({'info__width': 2**32 - 1, 'info__height': 2**32 - 1}, f'too large; it may have at most {MAX_CELLS}'),
        ({'info__resolution': 0.0}, 'resolution of 0.0 m; it must be finite and above 0'),
        ({'info__resolution': -0.05}, 'resolution of -0.05 m'),
        ({'info__resolution': math.nan}, 'resolution of nan m'),
        ({'info__resolution': 1e-6}, 'resolution of 1e-06 m; it must be between 0.0001 and 1000 m'),
        ({'info__resolution': 2e3}, 'resolution of 2000 m'),
        ({'info__resolution': math.inf}, 'resolution of inf m'),
        ({'info__origin__position__x': math.nan}, r'map origin is at \(nan, 0, 0\)'),
        ({'info__origin__position__y': math.inf}, r'map origin is at \(0, inf, 0\)'),
        ({'info__origin__orientation__w': 0.0}, r'\(0, 0, 0, 0\) of length 0'),
        ({'info__origin__orientation__z': 1.0}, r'\(0, 0, 1, 1\) of length 1.41'),
        ({'info__origin__orientation__w': math.nan}, 'of length nan'),
        ({'info__origin__orientation__x': 0.6, 'info__origin__orientation__w': 0.8}, 'a map is flat'),
        ({'data': array('b', [0] * 7 + [101] + [0] * 12)}, r'101 at \(2, 1\); it must be -1 \(unknown\) or 0 to 100'),
        ({'data': array('b', [0] * 19 + [-2])}, r'-2 at \(4, 3\)'),
    ],
)
def test_a_map_that_cannot_be_used_is_refused_with_value_and_limit(changes, reason):
    with pytest.raises(BadMessage, match=reason):
        occupancy_from_cdr(serialize_message(spoilt(**changes)))


@given(st.integers(0, 200))
def test_a_map_that_is_cut_off_anywhere_is_refused(length):
    data = serialize_message(map_message(np.zeros((10, 11))))
    with pytest.raises(BadMessage):
        occupancy_from_cdr(data[: min(length, len(data) - 1)])


def test_a_map_in_the_other_byte_order_is_read():
    little = serialize_message(map_message(np.zeros((1, 1)), frame=''))
    # stamp, load time, resolution and size are words of 4 bytes; behind them the origin, in words of 8
    words = np.frombuffer(little[4:16] + b'\0' * 4 + little[20:40], '<u4').astype('>u4').tobytes()
    big = b'\0\0\0\0' + words[:12] + b'\0' * 4 + words[16:] + b'\0' * 4
    big += np.frombuffer(little[44:100], '<f8').astype('>f8').tobytes() + b'\0\0\0\1' + b'\5'
    occupancy = occupancy_from_cdr(big)
    assert occupancy.stamp_ns == 12_000_000_034
    assert occupancy.geometry == MapGeometry(1, 1, 0.05)
    assert occupancy.values.tolist() == [[5]]


def test_data_that_is_not_cdr_is_refused():
    with pytest.raises(BadMessage, match='begins with 0003'):
        occupancy_from_cdr(b'\0\3\0\0' + bytes(100))


# ------------------------------------------------------------------------------------------------------ patches
@given(x=st.integers(-(2**31), 2**31 - 1), y=st.integers(-5, 5), width=st.integers(1, 5), frame=FRAMES)
def test_a_patch_is_read_from_the_bytes_on_the_wire(x, y, width, frame):
    map_msgs = pytest.importorskip('map_msgs.msg')
    message = map_msgs.OccupancyGridUpdate(x=x, y=y, width=width, height=2, data=array('b', range(2 * width)))
    message.header.frame_id = frame
    patch = patch_from_cdr(serialize_message(message))
    assert (patch.at, patch.frame) == ((x, y), frame)
    assert np.array_equal(patch.values, np.arange(2 * width).reshape(2, width))


@pytest.mark.parametrize(
    ('width', 'values', 'reason'),
    [(3, 5, '3 x 2 cells has 5 values'), (0, 0, 'map update of 0 x 2 cells is empty')],
)
def test_a_patch_that_cannot_be_used_is_refused(width, values, reason):
    map_msgs = pytest.importorskip('map_msgs.msg')
    message = map_msgs.OccupancyGridUpdate(width=width, height=2, data=array('b', bytes(values)))
    with pytest.raises(BadMessage, match=reason):
        patch_from_cdr(serialize_message(message))


# ------------------------------------------------------------------------------------------------------ poses
@given(YAWS)
def test_yaw_to_quaternion_and_back(yaw):
    turn = quaternion_of(yaw)
    assert yaw_of(turn.x, turn.y, turn.z, turn.w) == pytest.approx(yaw)


@given(yaw=YAWS, pitch=st.floats(-0.3, 0.3))
def test_of_a_robot_on_a_slope_only_the_yaw_counts(yaw, pitch):
    cy, sy, cp, sp = math.cos(yaw / 2), math.sin(yaw / 2), math.cos(pitch / 2), math.sin(pitch / 2)
    assert yaw_of(-sy * sp, cy * sp, sy * cp, cy * cp) == pytest.approx(yaw)


@pytest.mark.parametrize('kind', [PoseStamped, PoseWithCovarianceStamped, Odometry])
def test_a_pose_is_read_from_each_of_the_three_types(kind):
    stamped = pose_at(1.5, -2.0, 0.7)
    message = kind(header=stamped.header)
    if kind is PoseStamped:
        message.pose = stamped.pose
    else:
        message.pose.pose = stamped.pose
    read = pose_from_message(message)
    assert (read.frame, read.stamp_ns) == ('map', 12_000_000_034)
    assert (read.pose.x_m, read.pose.y_m, read.pose.yaw) == pytest.approx((1.5, -2.0, 0.7))


@pytest.mark.parametrize(
    ('field', 'value', 'reason'),
    [
        ('position.x', math.nan, r'goal is at \(nan, 2, 0\); coordinates must be finite'),
        ('position.y', math.inf, r'goal is at \(1, inf, 0\)'),
        ('position.z', -math.inf, r'goal is at \(1, 2, -inf\)'),
        ('position.x', 1e300, r'goal is at \(1e\+300, 2, 0\)'),
        ('orientation.w', 0.0, r'goal has the orientation \(0, 0, 0, 0\) of length 0'),
        ('orientation.w', math.nan, 'of length nan'),
        ('orientation.z', 2.0, r'\(0, 0, 2, 1\)'),
    ],
)
def test_a_pose_that_cannot_be_used_is_refused(field, value, reason):
    message = pose_at(1.0, 2.0)
    part, name = field.split('.')
    setattr(getattr(message.pose, part), name, value)
    with pytest.raises(BadMessage, match=reason):
        pose_from_message(message, 'goal')


# ------------------------------------------------------------------------------------------------------ paths
def path_message(points, frame, last_yaw):
    """The message, built field by field."""
    path = Path()
    path.header.frame_id = frame
    path.header.stamp = STAMP
    for i, (x, y) in enumerate(points):
        if i + 1 < len(points):
            yaw = math.atan2(points[i + 1][1] - y, points[i + 1][0] - x)
        elif last_yaw is not None:
            yaw = last_yaw
        path.poses.append(pose_at(x, y, yaw, frame))
    return path


@given(
    points=st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3)), max_size=20),
    frame=st.text('abcdef_/ü', max_size=12),
    last_yaw=YAWS,
)
def test_a_path_as_bytes_equals_the_message_built_field_by_field(points, frame, last_yaw):
    data = path_as_cdr(np.array(points).reshape(-1, 2), frame, STAMP, last_yaw)
    path, plain = deserialize_message(data, Path), path_message(points, frame, last_yaw)
    assert (path.header, len(path.poses)) == (plain.header, len(plain.poses))
    for pose, expected in zip(path.poses, plain.poses):
        assert pose.header == expected.header
        assert pose.pose.position == expected.pose.position
        turn, wanted = pose.pose.orientation, expected.pose.orientation
        assert (turn.x, turn.y, turn.z, turn.w) == pytest.approx((wanted.x, wanted.y, wanted.z, wanted.w))


@given(frame=FRAMES, length=st.integers(0, 9))
def test_a_path_as_bytes_has_the_length_and_the_bits_of_the_serialized_message(frame, length):
    points = [(float(i), 0.0) for i in range(length)]  # all headings are 0: nothing is rounded
    data = path_as_cdr(np.array(points).reshape(-1, 2), frame, STAMP, 0.0)
    plain = path_message(points, frame, 0.0)
    assert len(data) == len(serialize_message(plain))
    assert deserialize_message(data, Path) == plain


def test_the_last_pose_of_a_path_looks_where_the_one_before_does():
    path = deserialize_message(path_as_cdr(np.array([(0.0, 0.0), (1.0, 1.0), (1.0, 2.0)]), 'map', STAMP), Path)
    yaws = [
        yaw_of(p.pose.orientation.x, p.pose.orientation.y, p.pose.orientation.z, p.pose.orientation.w)
        for p in path.poses
    ]
    assert yaws == pytest.approx([math.pi / 4, math.pi / 2, math.pi / 2])


@pytest.mark.parametrize('seconds', [0, 5, 2**31 - 1, 2**31, 2**31 + 3])
def test_a_time_too_late_for_a_message_is_the_last_one_that_a_message_can_have(seconds):
    clock = ROSClock()
    clock._set_ros_time_is_active(True)
    clock.set_ros_time_override(RosTime(seconds=seconds, nanoseconds=7, clock_type=ClockType.ROS_TIME))
    stamp = time_message(clock)
    assert (stamp.sec, stamp.nanosec) == (min(seconds, 2**31 - 1), 7)
    path = deserialize_message(path_as_cdr(np.array([(0.0, 0.0), (1.0, 1.0)]), 'map', stamp), Path)
    assert path.header.stamp == stamp
