"""A planner node of its own for each test: what it is started with, what comes in which order, simulated time."""

import importlib.util
import math
import subprocess
import sys
from pathlib import Path

import pytest
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped, TransformStamped
from helpers.peer import BEST_EFFORT, RELIABLE, Peer
from helpers.processes import wait_until_logged
from helpers.surroundings import PlannerPeer, SimulatedClock, map_message, open_terrain, pose_stamped
from nav_msgs.msg import Odometry

from tb_planner.ros.processes import ros_arguments
from tb_planner.ros.publishers import quaternion_of

ROOT = Path(__file__).resolve().parents[2]
FAULTY = """
import sys
from tb_planner.ros import node as planner_node
from tb_planner.navigation import loop

class Faulty(loop.Navigator):
    ticks = 0

    def tick(self, *arguments, **options):
        Faulty.ticks += 1
        tick = super().tick(*arguments, **options)
        if Faulty.ticks % 10 == 0:
            raise ZeroDivisionError('a mistake of ours')
        return tick

loop.Navigator = Faulty
sys.exit(planner_node.main())
"""
SMALL = {'robot_radius_m': 0.1, 'inflation_radius_m': 0.2}


def test_a_goal_waits_for_map_and_pose(nodes, peer):
    planner = nodes.planner(**SMALL)
    around = PlannerPeer(peer)
    around.pose = None
    around.publish_goal(8.0, 5.0)
    around.wait_for_status('WAITING_FOR_MAP')
    around.wait_until_logged(planner, 0, 'Waiting for a map on /map (none received for 5 s)')
    around.maps.publish(map_message(open_terrain()))
    around.wait_for_status('WAITING_FOR_POSE')
    around.pose = pose_stamped(2.0, 5.0)
    around.wait_for_status('NAVIGATING')
    assert [status.data for status in around.statuses][-1] == 'NAVIGATING'


def test_a_missing_map_is_reported_once_while_there_is_no_goal(nodes, peer):
    planner = nodes.planner(remaps={'map': 'floor'}, **SMALL)
    around = PlannerPeer(peer)
    around.wait_until_logged(planner, 0, 'Waiting for a map on /floor (none received for 5 s)')
    peer.spin(2.5)
    assert planner.log_text.count('Waiting for') == 1


def test_a_node_that_is_started_by_hand_logs_its_topics_its_state_and_how_to_activate_it(nodes):
    planner = nodes.planner(remaps={'__ns': '/robot1', 'map': 'floor'}, autostart_node=False, tick_frequency=10.0)
    wait_until_logged(planner, 'tb_planner [0-9.]+: tb_wa_star, weight 1.5, 10 Hz; map: /robot1/floor, pose: ')
    wait_until_logged(planner, 'pose: /robot1/pose, goals: /robot1/goal_pose, output: /robot1/waypoint')
    wait_until_logged(planner, 'unconfigured; to activate it: ros2 lifecycle set /robot1/tb_planner configure && ')
    wait_until_logged(planner, 'ros2 lifecycle set /robot1/tb_planner activate, or start it with .* autostart_node:=')


@pytest.mark.parametrize('program', ['planner_node', 'simulator_node', 'view_node'])
def test_the_help_of_a_node_fits_on_one_screen(program):
    command = [sys.executable, str(ROOT / 'scripts' / program), '--help']
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, '')
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f'usage: {program} ')
    assert 'record:=' in done.stdout or 'real_time_factor:=1.0' in done.stdout
    assert len(lines) <= 24
    assert max(map(len, lines)) < 80


def test_a_map_update_before_the_first_map_is_dropped_with_a_warning(nodes, peer):
    map_msgs = pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed: no map_updates')
    planner = nodes.planner(**SMALL)
    around = PlannerPeer(peer)
    patches = peer.publisher('map_updates', map_msgs.OccupancyGridUpdate, RELIABLE)
    message = map_msgs.OccupancyGridUpdate(width=1, height=1)
    message.data.append(100)
    patches.publish(message)
    around.wait_until_logged(planner, 0, 'the update is dropped')
    around.set_out()


# ------------------------------------------------------------------------------------------------------ poses
@pytest.mark.parametrize('qos', [RELIABLE, BEST_EFFORT], ids=['reliable', 'best_effort'])
@pytest.mark.parametrize('kind', [PoseStamped, PoseWithCovarianceStamped, Odometry])
def test_poses_of_every_type_and_reliability_are_received(nodes, peer, kind, qos):
    nodes.planner(pose_type=kind.__name__, **SMALL)
    around = PlannerPeer(peer, pose_type=kind, pose_qos=qos)
    stamped = around.pose
    around.pose = kind(header=stamped.header)
    if kind is PoseStamped:
        around.pose.pose = stamped.pose
    else:
        around.pose.pose.pose = stamped.pose
    around.set_out()


def test_a_reliable_pose_may_be_asked_for(nodes, peer):
    nodes.planner(pose_reliability='reliable', **SMALL)
    PlannerPeer(peer, pose_qos=RELIABLE).set_out()


# ------------------------------------------------------------------------------------------------------ names and time
def test_in_a_namespace_all_names_go_along(nodes, peer):
    nodes.planner(remaps={'__ns': '/robot1'}, **SMALL)
    namespaced = Peer('other', namespace='/robot1')
    try:
        around = PlannerPeer(namespaced)
        around.set_out()
        around.next_facts()
        status = around.diagnostics.last.status[0]
        assert (status.name, status.hardware_id) == ('/robot1/tb_planner: planner', 'robot1')
    finally:
        namespaced.close()


def test_goal_pose_is_not_subscribed_to_if_disabled(nodes, peer):
    nodes.planner(subscribe_goal_pose=False, **SMALL)
    around = PlannerPeer(peer)
    around.wait_for_status('IDLE')
    assert around.goals.get_subscription_count() == 0


def test_use_sim_time_may_change_while_the_node_runs(nodes, peer):
    planner = nodes.planner(**SMALL)
    around = PlannerPeer(peer)
    around.set_out()
    assert around.set_parameters(use_sim_time=True) == ''
    around.wait_until_logged(planner, 0, 'nobody publishes /clock; the planner does not tick')
    silent = len(around.waypoints)
    clock = SimulatedClock(peer, 77.0)
    peer.wait_until(lambda: len(around.waypoints) > silent + 5, 'ticks by the simulated clock')
    clock.is_stopped = True
    count = len(around.statuses)
    assert around.set_parameters(use_sim_time=False) == ''
    around.wait_for_waypoints(5)
    assert len(around.statuses) == count
    assert around.statuses.last.data == 'NAVIGATING'
    assert 0 < float(around.next_facts()['map_age_s']) < 60, 'times by one clock are not compared with those by another'


def test_a_clock_that_comes_late_is_not_reported_as_missing(nodes, peer):
    planner = nodes.planner(use_sim_time=True, **SMALL)
    around = PlannerPeer(peer)
    assert around.state() == 'active'
    peer.spin(2.5)
    SimulatedClock(peer, 10.0)
    around.set_out()
    assert 'publishes /clock' not in planner.log_text


def test_ticks_go_on_when_the_simulated_clock_jumps(nodes, peer):
    planner = nodes.planner(use_sim_time=True, **SMALL)
    around = PlannerPeer(peer)
    clock = SimulatedClock(peer, 1000.0)
    around.set_out()
    for jump_s in (-900.0, +5000.0, -1.0, +0.5, -5000.0):
        clock.now_s = max(clock.now_s + jump_s, 10.0)
        peer.spin(0.2)
        around.wait_for_waypoints(5)
        assert float(around.next_facts()['pose_age_s']) >= 0
        assert float(around.facts['map_age_s']) >= 0
        assert int(around.facts['missed_ticks']) < 500  # the jumps alone would have made a hundred thousand
        assert around.statuses.last.data == 'NAVIGATING'
    clock.is_stopped = True
    peer.spin(0.3)
    silent = len(around.waypoints)
    peer.spin(0.3)
    assert len(around.waypoints) == silent
    clock.is_stopped = False
    around.wait_for_waypoints(3)
    assert 'Traceback' not in planner.log_text


# ------------------------------------------------------------------------------------------------------ our mistakes
def test_a_tick_that_fails_is_logged_and_the_next_one_goes_on_to_the_same_goal(nodes, peer):
    planner = nodes.start([sys.executable, '-c', FAULTY, *ros_arguments({'autostart_node': True, **SMALL})], 'faulty')
    around = PlannerPeer(peer)
    around.set_out()
    around.wait_for_waypoints(30)
    assert 'Traceback' in planner.log_text
    assert 'a mistake of ours' in planner.log_text
    assert around.statuses.last.data == 'NAVIGATING'
    assert planner.log_text.count('new goal') == 1
    assert (
        math.dist((around.plans.last.poses[-1].pose.position.x, around.plans.last.poses[-1].pose.position.y), (8, 5))
        < 0.1
    )


# ------------------------------------------------------------------------------------------------------ TF
class Frames:
    """Publishes the transforms from map to odom and from odom to the robot, twenty times a second."""

    def __init__(self, peer):
        from tf2_msgs.msg import TFMessage

        self.is_publishing = True
        self._peer = peer
        self._kind = TFMessage
        self._publisher = peer.node.create_publisher(TFMessage, '/tf', RELIABLE)
        self._timer = peer.node.create_timer(0.05, self._publish)

    def _publish(self):
        if self.is_publishing:
            turn = quaternion_of(math.pi / 2)
            self._publisher.publish(
                self._kind(
                    transforms=[self._frame('map', 'odom', 3.0, 4.0, turn), self._frame('odom', 'base_link', 1.0, 1.0)]
                )
            )

    def _frame(self, parent, child, x, y, turn=None):
        frame = TransformStamped(child_frame_id=child)
        frame.header.frame_id = parent
        frame.header.stamp = self._peer.node.get_clock().now().to_msg()
        frame.transform.translation.x, frame.transform.translation.y = x, y
        if turn is not None:
            frame.transform.rotation = turn
        return frame


@pytest.mark.skipif(importlib.util.find_spec('tf2_ros') is None, reason='tf2_ros is not installed')
def test_the_pose_may_come_from_tf_and_goals_in_other_frames_are_transformed(nodes, peer):
    planner = nodes.planner(pose_source='tf', **SMALL)
    around = PlannerPeer(peer)
    around.pose = None
    frames = Frames(peer)  # the robot is at (2, 5) in the map
    around.set_out()
    first = around.plans.last.poses[0].pose.position
    assert math.dist((first.x, first.y), (2.0, 5.0)) < 0.1
    around.publish_goal(-2.0, 1.0, 'odom')  # that is (2, 2) in the map

    def leads_there():
        last = around.plans.last.poses[-1].pose.position if around.plans.last.poses else first
        return math.dist((last.x, last.y), (2.0, 2.0)) < 0.1

    peer.wait_until(leads_there, 'a plan to the transformed goal')
    begin = len(planner.log_text)
    around.publish_goal(1.0, 1.0, 'kitchen')
    around.wait_until_logged(planner, begin, "goal is in frame 'kitchen', the map in 'map'", 'stays')
    frames.is_publishing = False
    around.wait_for_status('POSE_LOST')
    around.wait_until_logged(planner, begin, 'transform map to base_link is', 's old, more than 0.5 s')
    frames.is_publishing = True
    around.wait_for_status('NAVIGATING')
