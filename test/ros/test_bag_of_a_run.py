"""A drive of real nodes, written to a bag: its replay equals what the planner did and recorded itself."""

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped
from helpers.peer import LATCHED, RELIABLE, deep_queue
from helpers.scenes import PLANNER, World
from nav_msgs.msg import OccupancyGrid

pytest.importorskip('rosbags', reason="bags need rosbags: pip install '.[bags]'")

from rosbags.rosbag2 import StoragePlugin, Writer

from tb_planner.config import PlannerParameters
from tb_planner.parameters import make
from tb_planner.recording import read_record
from tb_planner.ros.pose_source import pose_from_message
from tb_planner.tools.bags import open_bag
from tb_planner.tools.replay import ticks

ROOM = World("""
    #############
    #...........#
    #.a.....g.b.#
    #...........#
    #############
""")
PARAMETERS = {**PLANNER, 'expansions_per_tick': 3000}
LATE_S = 0.5
"""Of the waypoints in the replay that are at most so far from a waypoint in time, the nearest in place counts."""
TOPICS = {
    '/map': (OccupancyGrid, LATCHED, 'nav_msgs/msg/OccupancyGrid'),
    '/pose': (PoseStamped, RELIABLE, 'geometry_msgs/msg/PoseStamped'),
    '/goal_pose': (PoseStamped, RELIABLE, 'geometry_msgs/msg/PoseStamped'),
}


class Listener:
    """Keeps what comes as the bytes that it comes in, with the time of publishing: a busy test receives it late."""

    def __init__(self, peer):
        self.received = []
        self.waypoints = []
        for topic, (type_, qos, _) in TOPICS.items():
            peer.node.create_subscription(type_, topic, self._taker(topic), deep_queue(qos), raw=True)
        peer.node.create_subscription(PoseStamped, 'waypoint', self._take_waypoint, deep_queue(RELIABLE))

    def _taker(self, topic):
        return lambda data, info: self.received.append((info['source_timestamp'], topic, bytes(data)))

    def _take_waypoint(self, message, info):
        self.waypoints.append((info['source_timestamp'], pose_from_message(message).pose))

    def write(self, path, plugin):
        """Writes the bag as rosbag2 does, without the definitions of messages."""
        with Writer(path, version=9, storage_plugin=plugin) as writer:
            connections = {
                topic: writer.add_connection(topic, name, msgdef=' ', rihs01='RIHS01_0')
                for topic, (_, _, name) in TOPICS.items()
            }
            for at_ns, topic, data in sorted(self.received):
                writer.write(connections[topic], at_ns, data)
        return path


@pytest.mark.parametrize('plugin', [StoragePlugin.MCAP, StoragePlugin.SQLITE3], ids=['mcap', 'sqlite3'])
def test_the_replay_of_a_bag_is_what_the_planner_did(make_scene, peer, plugin, tmp_path):
    """Something blocks the straight path while the robot drives. Ticks of node and replay are not in step: their
    waypoints differ by what the robot goes in a tick, and on a busy computer the node's ticks are late."""
    scene, listener = make_scene(ROOM), Listener(peer)
    maps = scene.become_map_publisher()
    maps.publish(ROOM.message())
    scene.start_simulator(real_time_factor=1.0, remaps={'map': 'true_map', 'map_updates': 'true_map_updates'})
    scene.start_planner(**PARAMETERS, record=str(tmp_path / 'live.run'))
    scene.give_goal('b')
    scene.wait_until_it_drives()
    maps.publish(ROOM.message('g'))
    scene.wait_for_arrival('b')
    facts = scene.next_facts()

    with open_bag(listener.write(tmp_path / 'bag', plugin)) as bag:
        replayed = list(ticks(bag, make(PlannerParameters, PARAMETERS)))
        assert not bag.problems

    assert [item for item in statuses(replayed) if item != 'IDLE'][-2:] == ['NAVIGATING', 'ARRIVED']
    restarts = [str(reason) for item in replayed for reason in item.tick.restarts]
    reported = [key.removeprefix('restarts_') for key, n in facts.items() if key.startswith('restarts_') and int(n)]
    assert 'blocked' in restarts
    assert set(restarts) == set(reported)
    assert {reason for _, reasons in read_record(tmp_path / 'live.run').restarts for reason in reasons} == set(reported)

    began_ns = min(listener.received)[0]
    waypoints = np.array([(item.time_s, at.x_m, at.y_m) for item in replayed if (at := item.tick.waypoint) is not None])
    apart_m = []
    for at_ns, waypoint in listener.waypoints:
        then = waypoints[np.abs(waypoints[:, 0] - (at_ns - began_ns) * 1e-9) < LATE_S]
        if len(then):
            apart_m.append(np.hypot(then[:, 1] - waypoint.x_m, then[:, 2] - waypoint.y_m).min())
    assert len(apart_m) > 0.9 * len(listener.waypoints)
    assert np.median(apart_m) < 0.1
    assert np.percentile(apart_m, 90) < 0.3


def statuses(replayed):
    """Each time that another one begins."""
    statuses = [str(item.tick.status) for item in replayed]
    return [status for number, status in enumerate(statuses) if number == 0 or status != statuses[number - 1]]
