"""The same messages through the real node over DDS and through the replay of a bag: the same ticks."""

from collections import Counter

import pytest
import rclpy
from geometry_msgs.msg import PoseStamped
from helpers.peer import LATCHED, RELIABLE
from helpers.processes import wait_for
from nav_msgs.msg import OccupancyGrid
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock

pytest.importorskip('rosbags', reason="bags need rosbags: pip install '.[bags]'")
pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed: no map_updates')

from helpers import bag_files
from helpers.eventful_run import PARAMETERS, check_is_eventful, messages, outcome
from map_msgs.msg import OccupancyGridUpdate

from tb_planner.maps.map_worker import MapWorker
from tb_planner.parameters import specs
from tb_planner.ros.node import ActivePlanner, PlannerNode
from tb_planner.ros.pose_source import TopicPose
from tb_planner.tools.bags import open_bag
from tb_planner.tools.replay import ticks

BEGIN_NS = 100 * 10**9
LATER_NS = 1000
"""The node ticks this much after the replay would, so that messages at the time of a tick arrive before it."""
PERIOD_NS = round(PARAMETERS.period_s * 1e9)
TOPICS = {
    '/map': (OccupancyGrid, LATCHED),
    '/map_updates': (OccupancyGridUpdate, RELIABLE),
    '/pose': (PoseStamped, RELIABLE),
    '/goal_pose': (PoseStamped, RELIABLE),
}


class SteppedNode:
    """A planner node whose simulated time the test steps; it counts what arrives and keeps every tick."""

    def __init__(self, context, monkeypatch):
        self.received, self.ticks = Counter(), []
        for owner, name in (
            (MapWorker, 'put_map'),
            (MapWorker, 'put_patch'),
            (TopicPose, '_receive'),
            (ActivePlanner, '_take_goal'),
        ):
            monkeypatch.setattr(owner, name, self._counted(name, getattr(owner, name)))
        changed = {name: getattr(PARAMETERS, name) for name, spec in specs(type(PARAMETERS)).items()}
        changed = {name: value for name, value in changed.items() if value != getattr(type(PARAMETERS), name)}
        values = {**changed, 'use_sim_time': True, 'pose_reliability': 'reliable'}
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        self.node = PlannerNode(context=context, parameter_overrides=overrides)
        self._tester = rclpy.create_node('tester', context=context)
        self._clock = self._tester.create_publisher(Clock, '/clock', 1)
        self._publishers = {
            topic: self._tester.create_publisher(kind, topic, qos) for topic, (kind, qos) in TOPICS.items()
        }
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(self.node)
        self._published = 0

    def close(self):
        self._executor.shutdown()
        self.node.destroy_node()
        self._tester.destroy_node()

    def activate(self):
        assert self.node.trigger_configure().name == 'SUCCESS'
        self.set_time(BEGIN_NS + LATER_NS - PERIOD_NS)
        assert self.node.trigger_activate().name == 'SUCCESS'
        loop = self.node._active.loop
        tick = loop.tick

        def keep(now_s):
            result = tick(now_s)
            self.ticks.append(result.tick)
            return result

        loop.tick = keep
        self._spin_until(lambda: all(one.get_subscription_count() for one in self._publishers.values()), 'topics')

    def set_time(self, now_ns):
        message = Clock()
        message.clock.sec, message.clock.nanosec = divmod(now_ns, 10**9)
        self._spin_until(self._clock.get_subscription_count, '/clock')
        self._clock.publish(message)
        self._spin_until(lambda: self.node.get_clock().now().nanoseconds == now_ns, 'the time')

    def publish(self, topic, data):
        self._publishers[topic].publish(data)
        self._published += 1
        self._spin_until(lambda: self.received.total() == self._published, f'{topic} arrives')
        assert wait_for(lambda: self.node._active._worker.is_idle)

    def tick(self, now_ns):
        count = len(self.ticks) + 1
        self.set_time(now_ns)
        self._spin_until(lambda: len(self.ticks) == count, f'tick {count}')

    def _counted(self, name, method):
        def counted(*arguments):
            method(*arguments)
            self.received[name] += 1

        return counted

    def _spin_until(self, condition, what):
        def spun():
            self._executor.spin_once(timeout_sec=0.01)
            return condition()

        assert condition() or wait_for(spun), f'{what}: not in time'


@pytest.fixture
def node(context, monkeypatch):
    one = SteppedNode(context, monkeypatch)
    yield one
    one.close()


def test_the_same_bag_through_node_and_replay_gives_the_same_ticks(node, tmp_path):
    recorded = messages()
    with open_bag(bag_files.write(tmp_path / 'bag', recorded)) as bag:
        replayed = list(ticks(bag, PARAMETERS))
    check_is_eventful([item.tick for item in replayed])

    node.activate()
    waiting = [
        (BEGIN_NS + round(time_s * 1e9), topic, bag_files.serialised(message)) for time_s, topic, message in recorded
    ]
    for number in range(len(replayed)):
        tick_ns = BEGIN_NS + LATER_NS + number * PERIOD_NS
        while waiting and waiting[0][0] < tick_ns:
            time_ns, topic, data = waiting.pop(0)
            node.set_time(time_ns)
            node.publish(topic, data)
        node.tick(tick_ns)

    assert not waiting
    assert node.received['put_map'] == 6
    assert node.received['put_patch'] == 3
    assert [outcome(tick) for tick in node.ticks] == [outcome(item.tick) for item in replayed]
