"""Bags for tests: messages as rosbags' own types serialise them, written by its writer, and an mcap written by hand."""

from __future__ import annotations

import math
import struct

import numpy as np
from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

UPDATE = 'map_msgs/msg/OccupancyGridUpdate'
STORE = get_typestore(Stores.ROS2_JAZZY)
STORE.register(
    get_types_from_msg('std_msgs/Header header\nint32 x\nint32 y\nuint32 width\nuint32 height\nint8[] data', UPDATE)
)
NEVER = QosTime(9223372036, 854775807)
BEST_EFFORT = Qos(
    QosHistory.KEEP_LAST,
    5,
    QosReliability.BEST_EFFORT,
    QosDurability.VOLATILE,
    NEVER,
    NEVER,
    QosLiveliness.AUTOMATIC,
    NEVER,
    False,
)
BEST_EFFORT_YAML = """
- history: keep_last
  depth: 5
  reliability: best_effort
  durability: volatile
  deadline: {sec: 9223372036, nsec: 854775807}
  lifespan: {sec: 9223372036, nsec: 854775807}
  liveliness: automatic
  liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}
  avoid_ros_namespace_conventions: false
"""
MAGIC = b'\x89MCAP0\r\n'


def make(type_name, **fields):
    return STORE.types[type_name](**fields)


def header(time_s, frame='map'):
    sec, nanosec = divmod(round(time_s * 1e9), 10**9)
    return make(
        'std_msgs/msg/Header', stamp=make('builtin_interfaces/msg/Time', sec=sec, nanosec=nanosec), frame_id=frame
    )


def pose_of(pose):
    return make(
        'geometry_msgs/msg/Pose',
        position=make('geometry_msgs/msg/Point', x=pose.x_m, y=pose.y_m, z=0.0),
        orientation=turn(pose.yaw),
    )


def turn(yaw):
    return make('geometry_msgs/msg/Quaternion', x=0.0, y=0.0, z=math.sin(yaw / 2), w=math.cos(yaw / 2))


def pose_stamped(time_s, pose, frame='map'):
    return make('geometry_msgs/msg/PoseStamped', header=header(time_s, frame), pose=pose_of(pose))


def with_covariance(pose):
    return make('geometry_msgs/msg/PoseWithCovariance', pose=pose_of(pose), covariance=np.zeros(36))


def pose_with_covariance(time_s, pose, frame='map'):
    return make('geometry_msgs/msg/PoseWithCovarianceStamped', header=header(time_s, frame), pose=with_covariance(pose))


def odometry(time_s, pose, frame='map'):
    zero = make('geometry_msgs/msg/Vector3', x=0.0, y=0.0, z=0.0)
    twist = make('geometry_msgs/msg/Twist', linear=zero, angular=zero)
    return make(
        'nav_msgs/msg/Odometry',
        header=header(time_s, frame),
        child_frame_id='base_link',
        pose=with_covariance(pose),
        twist=make('geometry_msgs/msg/TwistWithCovariance', twist=twist, covariance=np.zeros(36)),
    )


def transforms(time_s, *items):
    """A TFMessage; each item is a frame, a child frame and the place of the child in the frame."""
    return make(
        'tf2_msgs/msg/TFMessage',
        transforms=[
            make(
                'geometry_msgs/msg/TransformStamped',
                header=header(time_s, frame),
                child_frame_id=child,
                transform=make(
                    'geometry_msgs/msg/Transform',
                    translation=make('geometry_msgs/msg/Vector3', x=pose.x_m, y=pose.y_m, z=0.0),
                    rotation=turn(pose.yaw),
                ),
            )
            for frame, child, pose in items
        ],
    )


def occupancy_grid(time_s, occupancy, geometry, frame='map'):
    x, y, yaw = geometry.origin
    info = make(
        'nav_msgs/msg/MapMetaData',
        map_load_time=make('builtin_interfaces/msg/Time', sec=0, nanosec=0),
        resolution=geometry.resolution_m,
        width=geometry.width,
        height=geometry.height,
        origin=make(
            'geometry_msgs/msg/Pose',
            position=make('geometry_msgs/msg/Point', x=x, y=y, z=0.0),
            orientation=turn(yaw),
        ),
    )
    data = np.ascontiguousarray(occupancy, np.int8).reshape(-1)
    return make('nav_msgs/msg/OccupancyGrid', header=header(time_s, frame), info=info, data=data)


def grid_update(time_s, patch, at, frame='map'):
    height, width = patch.shape
    data = np.ascontiguousarray(patch, np.int8).reshape(-1)
    return make(UPDATE, header=header(time_s, frame), x=at[0], y=at[1], width=width, height=height, data=data)


def string(text):
    return make('std_msgs/msg/String', data=text)


def serialised(message):
    return bytes(STORE.serialize_cdr(message, message.__msgtype__))


def write(path, messages, storage='mcap', qos=()):
    """Messages: time_s, topic, message. The clock begins somewhere."""
    plugin = StoragePlugin.MCAP if storage == 'mcap' else StoragePlugin.SQLITE3
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        connections = {}
        for time_s, topic, message in messages:
            if topic not in connections:
                connections[topic] = writer.add_connection(
                    topic, message.__msgtype__, typestore=STORE, offered_qos_profiles=qos
                )
            writer.write(connections[topic], nanoseconds(time_s), serialised(message))
    return path


def nanoseconds(time_s):
    return 1_700_000_000 * 10**9 + round(time_s * 1e9)


def write_mcap_by_hand(path, messages):
    """Writes an MCAP file without chunks, index and summary, as the simplest of writers does."""
    out = [MAGIC, _record(0x01, _text('ros2') + _text('by hand'))]
    channels = {}
    for number, (time_s, topic, message) in enumerate(messages):
        if topic not in channels:
            channels[topic] = channel = len(channels) + 1
            definition, _ = STORE.generate_msgdef(message.__msgtype__, ros_version=2)
            schema = struct.pack('<H', channel) + _text(message.__msgtype__) + _text('ros2msg') + _text(definition)
            metadata = _text('offered_qos_profiles') + _text(BEST_EFFORT_YAML)
            head = struct.pack('<HH', channel, channel) + _text(topic) + _text('cdr')
            out += [_record(0x03, schema), _record(0x04, head + struct.pack('<I', len(metadata)) + metadata)]
        at_ns = nanoseconds(time_s)
        head = struct.pack('<HIQQ', channels[topic], number, at_ns, at_ns)
        out.append(_record(0x05, head + serialised(message)))
    out += [_record(0x0F, struct.pack('<I', 0)), _record(0x02, struct.pack('<QQI', 0, 0, 0)), MAGIC]
    path.write_bytes(b''.join(out))
    return path


def _record(code, content):
    return struct.pack('<BQ', code, len(content)) + content


def _text(text):
    data = text.encode()
    return struct.pack('<I', len(data)) + data
