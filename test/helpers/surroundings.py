"""What a planner node needs around it: a map, the robot's pose, and a subscriber to everything it publishes."""

from array import array

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import OccupancyGrid, Path
from rosgraph_msgs.msg import Clock

from helpers.peer import LATCHED, RELIABLE, Peer
from helpers.processes import LIMIT_S

RESOLUTION_M = 0.1
POSE_PERIOD_S = 0.02


def open_terrain(side=100):
    """10 m x 10 m, with a wall in the middle that leaves both ends open."""
    cells = np.zeros((side, side), np.int8)
    cells[3 * side // 10 : 7 * side // 10, side // 2] = 100
    return cells


def walled_in():
    """A closed room on the right, a block of 3 m x 3 m in a corner."""
    cells = open_terrain()
    cells[:, 50] = 100
    cells[:30, :30] = 100
    return cells


def map_message(cells, *, resolution=RESOLUTION_M, frame='map', x=0.0, y=0.0):
    message = OccupancyGrid()
    message.header.frame_id = frame
    message.info.height, message.info.width = cells.shape
    message.info.resolution = resolution
    message.info.origin.position.x, message.info.origin.position.y = x, y
    message.data = array('b', cells.astype(np.int8).tobytes())
    return message


def pose_stamped(x, y, frame='map'):
    message = PoseStamped()
    message.header.frame_id = frame
    message.pose.position.x, message.pose.position.y = float(x), float(y)
    message.pose.orientation.w = 1.0
    return message


class SimulatedClock:
    """Publishes the time, twenty times a second; it may pass faster than that of the machine."""

    def __init__(self, peer: Peer, start_s: float, speed: float = 1.0) -> None:
        self.now_s = start_s
        self.speed = speed
        self._publisher = peer.node.create_publisher(Clock, 'clock', RELIABLE)
        self._timer = peer.node.create_timer(0.05, self._advance)
        self.is_stopped = False

    def _advance(self) -> None:
        self.now_s += 0.0 if self.is_stopped else 0.05 * self.speed
        message = Clock()
        message.clock.sec, message.clock.nanosec = int(self.now_s), int(self.now_s % 1 * 1e9)
        self._publisher.publish(message)


class Facts(dict[str, str]):
    """The values of the planner's diagnostics. A reason for which nothing has restarted has no key there."""

    def __init__(self, message: DiagnosticArray) -> None:
        super().__init__((item.key, item.value) for item in message.status[0].values)

    def __missing__(self, key: str) -> str:
        if key.startswith('restarts_'):
            return '0'
        raise KeyError(key)


class PlannerPeer:
    """Publishes poses all the time, and maps and goals on request; keeps everything that the planner publishes."""

    def __init__(self, peer: Peer, *, node='tb_planner', pose_type=PoseStamped, pose_qos=RELIABLE) -> None:
        self.peer = peer
        self.name = node
        self.pose = pose_stamped(2.0, 5.0)
        self.poses = peer.node.create_publisher(pose_type, 'pose', pose_qos)
        self.maps = peer.node.create_publisher(OccupancyGrid, 'map', LATCHED)
        self.goals = peer.node.create_publisher(PoseStamped, 'goal_pose', RELIABLE)
        self.statuses = peer.subscribe_status(node)
        self.waypoints = peer.subscribe('waypoint', PoseStamped)
        self.plans = peer.subscribe('plan', Path, LATCHED)
        self.diagnostics = peer.subscribe('/diagnostics', DiagnosticArray)
        self._timer = peer.node.create_timer(POSE_PERIOD_S, self.publish_pose)

    def publish_pose(self) -> None:
        if self.pose is not None:
            self.poses.publish(self.pose)

    def move_to(self, x, y) -> None:
        """Puts the robot at another place, and waits until the planner knows it."""
        if (pose := pose_stamped(x, y)) != self.pose:
            self.pose = pose
            for _ in range(2):  # of the first the planner may have begun with an older pose
                self.next_facts()

    def set_out(self, x=8.0, y=5.0, cells=None) -> None:
        """Publishes a map and a goal and waits until the planner navigates."""
        self.maps.publish(map_message(open_terrain() if cells is None else cells))
        self.publish_goal(x, y)
        self.wait_for_status('NAVIGATING')
        self.peer.wait_until(lambda: self.plans and self.plans.last.poses, 'a plan')

    def publish_goal(self, x, y, frame='map') -> None:
        self.peer.wait_until(self.goals.get_subscription_count, 'the planner subscribes to goals')
        self.goals.publish(pose_stamped(x, y, frame))

    def wait_for_status(self, *statuses: str) -> str:
        return self.peer.wait_for_status(self.statuses, *statuses)

    def wait_for_waypoints(self, count: int) -> None:
        """Waits for this number of further waypoints."""
        goal = len(self.waypoints) + count
        self.peer.wait_until(lambda: len(self.waypoints) >= goal, f'{count} waypoints')

    def check_that_no_waypoints_come(self, ticks: int = 10) -> None:
        """Checks that this number of ticks publishes no waypoint."""
        begin = int(self.next_facts()['ticks'])  # what was in transit has been received meanwhile
        count = len(self.waypoints)
        self.peer.wait_until(lambda: int(self.facts['ticks']) >= begin + ticks, 'ticks')
        assert len(self.waypoints) == count

    @property
    def facts(self) -> Facts:
        """The values of the last diagnostics; the first ones are waited for."""
        self.peer.wait_until(lambda: self.diagnostics, 'diagnostics')
        return Facts(self.diagnostics.last)

    def next_facts(self) -> Facts:
        """The values of diagnostics that are still to come."""
        count = len(self.diagnostics)
        self.peer.wait_until(lambda: len(self.diagnostics) > count, 'diagnostics')
        return self.facts

    # -------------------------------------------------------------------------------------------------- lifecycle
    def change_state(self, transition: str) -> bool:
        request = ChangeState.Request(transition=Transition(id=TRANSITIONS[transition]))
        return self.peer.call(f'{self.name}/change_state', ChangeState, request).success

    def state(self) -> str:
        return self.peer.call(f'{self.name}/get_state', GetState).current_state.label

    # -------------------------------------------------------------------------------------------------- parameters
    def set_parameters(self, **values) -> str:
        """Sets parameters of the planner; returns the reason if they are refused."""
        return self.peer.set_parameters(self.name, **values)

    def wait_until_logged(self, process, begin: int, *texts: str) -> None:
        """Waits until the process has logged all of these texts after the first begin characters."""
        self.peer.wait_until(
            lambda: all(text in process.log_text[begin:] for text in texts),
            lambda: f'{texts} in the log; it has {process.log_text[begin:]}',
            LIMIT_S,
        )


TRANSITIONS = {
    'configure': Transition.TRANSITION_CONFIGURE,
    'cleanup': Transition.TRANSITION_CLEANUP,
    'activate': Transition.TRANSITION_ACTIVATE,
    'deactivate': Transition.TRANSITION_DEACTIVATE,
    'unconfigured_shutdown': Transition.TRANSITION_UNCONFIGURED_SHUTDOWN,
    'inactive_shutdown': Transition.TRANSITION_INACTIVE_SHUTDOWN,
    'active_shutdown': Transition.TRANSITION_ACTIVE_SHUTDOWN,
}
