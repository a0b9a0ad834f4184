"""Maps that do not come any more, and map updates that do not arrive: the node drives on, and warns."""

import signal
from array import array

import pytest
from helpers.peer import RELIABLE
from helpers.surroundings import PlannerPeer, SimulatedClock, map_message, open_terrain

MISSING = 'map updates are missing: the map may be wrong until the next whole map'


def level_and_message(around):
    """Of the next diagnostics."""
    around.next_facts()
    status = around.diagnostics.last.status[0]
    return status.level, status.message


def wait_for_warning(around, text):
    around.peer.wait_until(
        lambda: around.diagnostics and text in around.diagnostics.last.status[0].message,
        lambda: f'{text!r} in diagnostics; the last is {around.diagnostics.last}',
    )
    assert around.diagnostics.last.status[0].level == b'\1', 'WARN'


def wait_until_no_warning(around, text):
    around.peer.wait_until(lambda: text not in level_and_message(around)[1], f'diagnostics without {text!r}')


class TestAPeriodicMapThatStops:
    @pytest.fixture
    def periodic(self, nodes, peer):
        """A planner that navigates while a map comes every simulated second."""
        SimulatedClock(peer, 1000.0, speed=5.0)
        planner = nodes.planner(use_sim_time=True, pose_timeout_s=0.0)
        around = PlannerPeer(peer)
        around.set_out()
        maps = peer.node.create_timer(0.2, lambda: around.maps.publish(map_message(open_terrain())))
        peer.spin(4.0)
        return planner, around, maps

    def test_is_logged_and_reported_until_the_next_one_comes(self, periodic):
        planner, around, maps = periodic
        assert 'it came every' not in planner.log_text
        maps.cancel()
        wait_for_warning(around, 's old; it came every')
        around.wait_until_logged(planner, 0, 's old; it came every', 'the robot may be led by an outdated map')
        assert around.statuses.last.data == 'NAVIGATING', 'without map_timeout_s the robot goes on'
        maps.reset()
        wait_until_no_warning(around, 's old; it came every')


class TestMapUpdates:
    @pytest.fixture
    def planner(self, nodes, peer):
        pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed: no map_updates')
        planner, around = nodes.planner(), PlannerPeer(peer)
        around.set_out()
        return planner, around

    def publisher(self, around):
        from map_msgs.msg import OccupancyGridUpdate

        publisher = around.peer.publisher('map_updates', OccupancyGridUpdate, RELIABLE)

        def publish(x):
            publisher.publish(OccupancyGridUpdate(x=x, y=0, width=1, height=1, data=array('b', [100])))
            around.peer.spin(0.01)

        return publish

    def test_that_a_halted_node_missed_are_counted_and_reported_until_the_next_whole_map(self, planner):
        process, around = planner
        publish = self.publisher(around)
        publish(0)
        around.wait_for_waypoints(5)
        process.send(signal.SIGSTOP)
        for x in range(50):
            publish(x)
        process.send(signal.SIGCONT)
        wait_for_warning(around, MISSING)
        around.wait_until_logged(process, 0, MISSING)
        assert 0 < int(around.facts['lost_map_updates']) < 50
        assert around.statuses.last.data == 'NAVIGATING'
        around.maps.publish(map_message(open_terrain()))
        wait_until_no_warning(around, MISSING)

    def test_of_two_publishers_are_not_taken_for_lost_ones(self, planner):
        _, around = planner
        one = self.publisher(around)
        for x in range(20):
            one(x)
        other = self.publisher(around)
        for x in range(5):
            other(x)
            one(x)
        assert around.next_facts()['lost_map_updates'] == '0'
