"""A planner node of its own for each test: what it is started with, what comes in which order, simulated time."""

import pytest
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
from peer import BEST_EFFORT, RELIABLE, Peer
from rosgraph_msgs.msg import Clock
from surroundings import Surroundings, map_message, open_terrain, pose_stamped

SMALL = {'robot_radius_m': 0.1, 'inflation_radius_m': 0.2}


def test_a_goal_waits_for_map_and_pose(nodes, peer):
    nodes.planner(**SMALL)
    around = Surroundings(peer)
    around.pose = None
    around.say_goal(8.0, 5.0)
    around.wait_for_status('WAITING_FOR_MAP')
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('WAITING_FOR_POSE')
    around.pose = pose_stamped(2.0, 5.0)
    around.wait_for_status('NAVIGATING')
    assert [status.data for status in around.statuses][-1] == 'NAVIGATING'


def test_a_map_update_before_the_first_map_is_dropped_with_a_warning(nodes, peer):
    map_msgs = pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed: map_updates are not heard')
    planner = nodes.planner(**SMALL)
    around = Surroundings(peer)
    patches = peer.speaker('map_updates', map_msgs.OccupancyGridUpdate, RELIABLE)
    message = map_msgs.OccupancyGridUpdate(width=1, height=1)
    message.data.append(100)
    patches.publish(message)
    around.wait_until_said(planner, 0, 'the update is dropped')
    around.set_out()


# ------------------------------------------------------------------------------------------------------ poses
@pytest.mark.parametrize('qos', [RELIABLE, BEST_EFFORT], ids=['reliable', 'best_effort'])
@pytest.mark.parametrize('kind', [PoseStamped, PoseWithCovarianceStamped, Odometry])
def test_poses_of_every_type_and_reliability_are_heard(nodes, peer, kind, qos):
    nodes.planner(pose_type=kind.__name__, **SMALL)
    around = Surroundings(peer, pose_type=kind, pose_qos=qos)
    stamped = around.pose
    around.pose = kind(header=stamped.header)
    if kind is PoseStamped:
        around.pose.pose = stamped.pose
    else:
        around.pose.pose.pose = stamped.pose
    around.set_out()


def test_a_reliable_pose_may_be_asked_for(nodes, peer):
    nodes.planner(pose_reliability='reliable', **SMALL)
    Surroundings(peer, pose_qos=RELIABLE).set_out()


# ------------------------------------------------------------------------------------------------------ names and time
def test_in_a_namespace_all_names_go_along(nodes, peer):
    nodes.planner(remaps={'__ns': '/robot1'}, **SMALL)
    namespaced = Peer('other', namespace='/robot1')
    try:
        around = Surroundings(namespaced)
        around.set_out()
        around.next_facts()
        status = around.diagnostics.last.status[0]
        assert (status.name, status.hardware_id) == ('/robot1/tb_planner: planner', '/robot1')
    finally:
        namespaced.close()


def test_goals_are_not_heard_if_not_wanted(nodes, peer):
    nodes.planner(subscribe_goal_pose=False, **SMALL)
    around = Surroundings(peer)
    around.wait_for_status('IDLE')
    assert around.goals.get_subscription_count() == 0


class SimulatedClock:
    """Says what time it is, at twenty times a second."""

    def __init__(self, peer: Peer, start_s: float) -> None:
        self.now_s = start_s
        self._publisher = peer.node.create_publisher(Clock, 'clock', RELIABLE)
        self._timer = peer.node.create_timer(0.05, self._advance)
        self.stands_still = False

    def _advance(self) -> None:
        self.now_s += 0.0 if self.stands_still else 0.05
        message = Clock()
        message.clock.sec, message.clock.nanosec = int(self.now_s), int(self.now_s % 1 * 1e9)
        self._publisher.publish(message)


def test_ticks_go_on_when_the_simulated_clock_jumps(nodes, peer):
    planner = nodes.planner(use_sim_time=True, **SMALL)
    around = Surroundings(peer)
    clock = SimulatedClock(peer, 1000.0)
    around.set_out()
    for jump_s in (-900.0, +5000.0, -1.0, +0.5, -5000.0):
        clock.now_s = max(clock.now_s + jump_s, 10.0)
        peer.spin(0.2)
        missed = int(around.next_facts()['missed_ticks'])
        around.wait_for_waypoints(5)
        assert float(around.next_facts()['pose_age_s']) >= 0
        assert float(around.facts['map_age_s']) >= 0
        assert int(around.facts['missed_ticks']) < missed + 100
        assert around.statuses.last.data == 'NAVIGATING'
    clock.stands_still = True
    peer.spin(0.3)
    silent = len(around.waypoints)
    peer.spin(0.3)
    assert len(around.waypoints) == silent
    clock.stands_still = False
    around.wait_for_waypoints(3)
    assert 'Traceback' not in planner.said
