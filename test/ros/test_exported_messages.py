"""The messages of `tb_planner export` as ROS itself reads them."""

from importlib import import_module

import pytest
from helpers.planners import open_field
from helpers.recorded_trip import RecordedTrip
from rclpy.serialization import deserialize_message

from tb_planner.tools.cli import main
from tb_planner.tools.export import TOPICS


def values_of(message):
    """The fields of a message of ROS or of rosbags, as numbers and texts."""
    fields = getattr(message, 'get_fields_and_field_types', lambda: message.__dataclass_fields__)
    if hasattr(message, 'tolist'):
        return message.tolist()
    if isinstance(message, list):
        return [values_of(item) for item in message]
    if isinstance(message, (int, float, str)):
        return message
    return {name: values_of(getattr(message, name)) for name in fields() if name != '__msgtype__'}


def test_ros_reads_the_same_values_from_every_exported_message_as_rosbags(tmp_path):
    rosbags = pytest.importorskip('rosbags.highlevel')
    pytest.importorskip('map_msgs')
    trip = RecordedTrip(tmp_path / 'run.tbrun', open_field(60, 40), (0.55, 0.55), (5.5, 3.5), k=300)
    trip.run(10)
    walled = open_field(60, 40)
    walled[10:, 30] = True
    trip.change_map(walled)
    trip.run_to_goal()
    trip.close(tmp_path / 'run.tbrun')
    assert main(['export', str(tmp_path / 'run.tbrun'), str(tmp_path / 'run.mcap')]) == 0
    read = set()
    with rosbags.AnyReader([tmp_path / 'run.mcap']) as reader:
        for connection, _, data in reader.messages():
            package, _, name = connection.msgtype.split('/')
            message = deserialize_message(bytes(data), getattr(import_module(f'{package}.msg'), name))
            assert values_of(message) == values_of(reader.deserialize(data, connection.msgtype))
            read.add(connection.topic)
    assert read == TOPICS.keys()
