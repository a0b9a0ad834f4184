"""Mutated serialised messages: our reader accepts only what rosidl accepts, with the same fields, and refuses the rest
with BadMessage alone.

rosidl is laxer by design: it accepts values that a planner cannot use (nan, sizes that contradict the data, occupancy
above 100, quaternions of any length, names of any length), and encapsulations other than plain CDR.
"""

import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip('rclpy', reason='rclpy is not installed')

from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped
from helpers.surroundings import map_message, open_terrain, pose_stamped
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message

from tb_planner.geometry import Pose2D
from tb_planner.maps.cdr import (
    BadMessage,
    occupancy_from_cdr,
    patch_from_cdr,
    pose_from_cdr,
    transforms_from_cdr,
    yaw_of,
)

WORDS = (0, 1, 2, 3, 5, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1)
FLOATS = (0.0, 1.0, -1.0, 1e7, 1e308, float('nan'), float('inf'), 5e-324)

places = st.floats(0, 1)
edits = st.one_of(
    st.tuples(st.just('cut'), places, st.none()),
    st.tuples(st.just('flip'), places, st.integers(0, 7)),
    st.tuples(st.just('insert'), places, st.binary(min_size=1, max_size=9)),
    st.tuples(st.just('delete'), places, st.integers(1, 9)),
    st.tuples(st.just('write'), places, st.binary(min_size=1, max_size=4)),
    st.tuples(st.just('word'), places, st.sampled_from(WORDS)),
    st.tuples(st.just('float'), places, st.sampled_from(FLOATS)),
    st.tuples(st.just('head'), places, st.binary(min_size=2, max_size=2)),
)


def mutated(data, changes):
    changed = bytearray(data)
    for how, place, value in changes:
        at = round(place * len(changed))
        if how == 'cut':
            del changed[at:]
        elif how == 'flip' and at < len(changed):
            changed[at] ^= 1 << value
        elif how == 'insert':
            changed[at:at] = value
        elif how == 'delete':
            del changed[at : at + value]
        elif how == 'write':
            changed[at : at + len(value)] = value
        elif how == 'word':
            changed[at // 4 * 4 : at // 4 * 4 + 4] = struct.pack('<I', value)
        elif how == 'float':
            begin = at // 8 * 8 + 4
            changed[begin : begin + 8] = struct.pack('<d', value)
        elif how == 'head':
            changed[:2] = value
    return bytes(changed)


def stamp_ns(stamp):
    return stamp.sec * 10**9 + stamp.nanosec


def pose_2d(position, orientation):
    turn = (orientation.x, orientation.y, orientation.z, orientation.w)
    return Pose2D(position.x, position.y, yaw_of(*turn))


def check_same_verdict(data, kind, read, check_equal):
    """read: our reader; check_equal: compares what it returns with rosidl's message."""
    try:
        ours = read(data)
    except BadMessage:
        return
    check_equal(ours, deserialize_message(data, kind))  # fails if rosidl refuses it


def check_head(ours, header):
    assert (ours.frame, ours.stamp_ns) == (header.frame_id, stamp_ns(header.stamp))


# ---------------------------------------------------------------------- maps
def small_map():
    return map_message(open_terrain(10), frame='map')


def check_equal_maps(ours, theirs):
    check_head(ours, theirs.header)
    info, geometry = theirs.info, ours.geometry
    assert (geometry.width, geometry.height) == (info.width, info.height)
    assert np.float32(geometry.resolution_m) == np.float32(info.resolution)
    origin = pose_2d(info.origin.position, info.origin.orientation)
    assert geometry.origin == (origin.x_m, origin.y_m, origin.yaw)
    assert ours.values.tobytes() == np.array(theirs.data, np.int8).tobytes()


@given(st.lists(edits, min_size=1, max_size=3))
def test_a_mutated_map_is_read_as_rosidl_reads_it_or_refused(changes):
    data = mutated(serialize_message(small_map()), changes)
    check_same_verdict(data, type(small_map()), occupancy_from_cdr, check_equal_maps)


# ---------------------------------------------------------------------- patches
def check_equal_patches(ours, theirs):
    check_head(ours, theirs.header)
    assert ours.at == (theirs.x, theirs.y)
    assert ours.values.shape == (theirs.height, theirs.width)
    assert ours.values.tobytes() == np.array(theirs.data, np.int8).tobytes()


@given(st.lists(edits, min_size=1, max_size=3))
def test_a_mutated_map_update_is_read_as_rosidl_reads_it_or_refused(changes):
    map_msgs = pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed')
    message = map_msgs.OccupancyGridUpdate(x=3, y=-4, width=5, height=4, data=[100] * 20)
    message.header.frame_id = 'map'
    data = mutated(serialize_message(message), changes)
    check_same_verdict(data, map_msgs.OccupancyGridUpdate, patch_from_cdr, check_equal_patches)


# ---------------------------------------------------------------------- poses
def posed(kind):
    message = kind(header=pose_stamped(2.0, 5.0).header)
    pose = message.pose if kind is PoseStamped else message.pose.pose
    pose.position.x, pose.orientation.z, pose.orientation.w = 2.0, 0.6, 0.8
    return message


def check_equal_poses(ours, theirs):
    check_head(ours, theirs.header)
    pose = theirs.pose if isinstance(theirs, PoseStamped) else theirs.pose.pose
    assert ours.pose == pose_2d(pose.position, pose.orientation)


@pytest.mark.parametrize('kind', [PoseStamped, PoseWithCovarianceStamped, Odometry])
@given(st.lists(edits, min_size=1, max_size=3))
def test_a_mutated_pose_is_read_as_rosidl_reads_it_or_refused(kind, changes):
    data = mutated(serialize_message(posed(kind)), changes)
    check_same_verdict(data, kind, lambda data: pose_from_cdr(data, kind.__name__), check_equal_poses)


# ---------------------------------------------------------------------- transforms
def transforms(count):
    tf2_msgs = pytest.importorskip('tf2_msgs.msg', reason='tf2_msgs is not installed')
    items = []
    for number in range(count):
        item = TransformStamped(child_frame_id=f'part_{number}')
        item.header.frame_id, item.header.stamp.sec = 'base_link', number
        item.transform.translation.x = float(number)
        items.append(item)
    return tf2_msgs.TFMessage(transforms=items)


def check_equal_transforms(ours, theirs):
    assert len(ours) == len(theirs.transforms)
    for (child, parent), item in zip(ours, theirs.transforms):
        assert child == item.child_frame_id
        check_head(parent, item.header)
        assert parent.pose == pose_2d(item.transform.translation, item.transform.rotation)


@given(st.integers(0, 3), st.lists(edits, min_size=1, max_size=3))
def test_mutated_transforms_are_read_as_rosidl_reads_them_or_refused(count, changes):
    message = transforms(count)
    data = mutated(serialize_message(message), changes)
    check_same_verdict(data, type(message), transforms_from_cdr, check_equal_transforms)


# ---------------------------------------------------------------------- names
@given(st.binary(max_size=12))
@example(b'ma\0p')
@example(b'map\0\0')
@example(b'\xff\xfe')
@example(b'')
def test_a_frame_of_any_bytes_is_read_as_rosidl_reads_it_or_refused(name):
    """With the terminating zero that CDR asks for, and without it."""
    for text in (name + b'\0', name):
        head = b'\0\1\0\0' + struct.pack('<iII', 1, 2, len(text)) + text
        data = head + b'\0' * (-(len(head) - 4) % 8) + struct.pack('<7d', 1, 2, 0, 0, 0, 0, 1)
        check_same_verdict(data, PoseStamped, lambda data: pose_from_cdr(data, 'PoseStamped'), check_equal_poses)


def test_unchanged_messages_are_accepted():
    check_equal_maps(occupancy_from_cdr(serialize_message(small_map())), small_map())
    for kind in (PoseStamped, PoseWithCovarianceStamped, Odometry):
        check_equal_poses(pose_from_cdr(serialize_message(posed(kind)), kind.__name__), posed(kind))
    check_equal_transforms(transforms_from_cdr(serialize_message(transforms(2))), transforms(2))
