"""The simulator node: the interface of Nav2's loopback simulator, in a world that may change or be unknown.

The physics has a fixed time step. A timer on the steady clock runs the steps that are due: if the timer is late, the
robot is late, but it never jumps, and equal inputs before equal steps give the same run.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import BadInput
from tb_planner.ros.main import help_of, ros_needed_by, run_node

with ros_needed_by('simulator_node'):
    from builtin_interfaces.msg import Time
    from geometry_msgs.msg import (
        PointStamped,
        PoseStamped,
        PoseWithCovarianceStamped,
        TransformStamped,
        Twist,
        TwistStamped,
    )
    from nav_msgs.msg import OccupancyGrid, Odometry
    from rclpy.clock import Clock, ClockType
    from rclpy.event_handler import PublisherEventCallbacks
    from rclpy.node import Node
    from rclpy.qos import QoSProfile, ReliabilityPolicy
    from rosgraph_msgs.msg import Clock as ClockMessage
    from sensor_msgs.msg import LaserScan
    from std_msgs.msg import Header, UInt32

from tb_planner.geometry import Pose2D
from tb_planner.maps.cdr import BadMessage
from tb_planner.maps.files import MapError, read_map
from tb_planner.ros import params as ros_parameters
from tb_planner.ros.pose_source import pose_from_message
from tb_planner.ros.publishers import (
    IN_ORDER,
    LATCHED,
    NEWEST,
    STROKES,
    map_message,
    occupancy_values,
    pose_message,
    quaternion_of,
)
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.ros.viewer import Viewer
from tb_planner.simulation.parameters import SimulatorParameters
from tb_planner.simulation.robot import Motion
from tb_planner.simulation.scenes import random_goal, random_start, shared_file
from tb_planner.simulation.simulator import PublishedMap, Simulation
from tb_planner.simulation.true_map import Obstacle, read_script

SHORTEST_TIMER_S = 0.002
MAX_LAG_S = 0.25
"""Lag behind real time that is caught up. If the lag is longer, simulated time falls behind."""
GOAL_PERIOD_S = 1.0
ROOM_AT_START_M = 0.3
ARRIVED_M = 0.5

_SENSOR = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


class CannotStart(BadInput):
    """The simulator cannot start with this map, script or start."""


class SimulatorNode(Node):
    """Publishes the map, the robot's pose and its sensors; subscribes to waypoints or commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__('simulator', **options)
        self.chosen = ros_parameters.declare(self, SimulatorParameters)
        self.log = ThrottledLog(self.get_logger())
        try:
            self.simulation, self._goal = _simulation(self.chosen)
        except (MapError, OSError, ValueError) as error:
            raise CannotStart(str(error)) from error
        self._steady, self._system = Clock(clock_type=ClockType.STEADY_TIME), Clock(clock_type=ClockType.SYSTEM_TIME)
        self._make_publishers()
        self._make_subscriptions()
        self._publish_map(self.simulation.whole_map())
        self._publish_collisions()
        self._due = [(self._publish_pose, self._steps(self.chosen.odom_publish_dur))]
        self._due += [(self._publish_scan, self._steps(self.chosen.scan_publish_dur))]
        self._map_at_s = 0.0
        self._goal_subscribers, self._goal_accepted = 0, True
        self._anchor()
        self._timer = self.create_timer(self._timer_period_s, self._catch_up, clock=self._steady)
        self._viewer: Viewer | None = None
        if self.chosen.give_goal:
            if self.chosen.viewer_limit_s:
                self._viewer = Viewer(self, self.chosen.viewer_limit_s)
                self.get_logger().info(f'Waiting for a viewer. {self._viewer.announcement}')
            self.create_timer(GOAL_PERIOD_S, self._give_goal, clock=self._steady)
        ros_parameters.apply_changes(self, SimulatorParameters, self._apply)
        self.get_logger().info(
            f'Simulating the {self.chosen.world} world {self.chosen.map or "office"}: robot at {self.simulation.pose}, '
            f'{self.chosen.real_time_factor:g} times real time'
        )

    def _make_publishers(self) -> None:
        publish, chosen = self.create_publisher, self.chosen
        self._update_type: Any = None
        if chosen.publish_map_updates:
            self._update_type = self._optional('map_msgs.msg', 'OccupancyGridUpdate', 'publishing whole maps')
        events = PublisherEventCallbacks(matched=self._on_map_subscriber) if self._update_type else None
        self._map = publish(OccupancyGrid, 'map', LATCHED, event_callbacks=events)
        self._updates = publish(self._update_type, 'map_updates', IN_ORDER) if self._update_type else None
        self._pose = publish(PoseStamped, 'pose', NEWEST)
        self._odom = publish(Odometry, 'odom', IN_ORDER)
        self._scan = publish(LaserScan, 'scan', _SENSOR)
        self._collisions = publish(UInt32, '~/collisions', LATCHED)
        self._clock_publisher = publish(ClockMessage, '/clock', NEWEST) if chosen.publish_clock else None
        self._goals = publish(PoseStamped, 'goal_pose', NEWEST) if chosen.give_goal else None
        self._tf_type: Any = None
        if chosen.publish_tf:
            self._tf_type = self._optional('tf2_msgs.msg', 'TFMessage', 'publishing no TF')
        self._tf = publish(self._tf_type, '/tf', QoSProfile(depth=100)) if self._tf_type else None

    def _make_subscriptions(self) -> None:
        subscribe = self.create_subscription
        if self.chosen.follow_waypoint or self.chosen.give_goal:
            subscribe(PoseStamped, 'waypoint', self._posed('waypoint', self._take_waypoint), NEWEST)
        if not self.chosen.follow_waypoint:
            kind = TwistStamped if self.chosen.enable_stamped_cmd_vel else Twist
            subscribe(kind, 'cmd_vel', self._take_command, IN_ORDER)
        subscribe(PoseWithCovarianceStamped, 'initialpose', self._posed('initialpose', self._take_place), IN_ORDER)
        subscribe(PoseStamped, 'goal_pose', self._posed('goal_pose', self.simulation.set_goal), NEWEST)
        subscribe(PointStamped, '~/draw', lambda message: self._draw(message, occupied=True), STROKES)
        subscribe(PointStamped, '~/erase', lambda message: self._draw(message, occupied=False), STROKES)

    def _optional(self, module: str, name: str, consequence: str) -> Any:
        """A message type that may not be installed, or None."""
        try:
            return getattr(import_module(module), name)
        except ImportError:
            self.get_logger().warning(f'{module.partition(".")[0]} is not installed: {consequence}')
            return None

    # time

    def _steps(self, seconds: float) -> int:
        return max(1, round(seconds / self.chosen.update_duration))

    @property
    def _timer_period_s(self) -> float:
        return max(self.chosen.update_duration / self.chosen.real_time_factor, SHORTEST_TIMER_S)

    def _anchor(self) -> None:
        """Counts steps against the steady clock from now on."""
        self._anchor_ns, self._anchor_steps = self._steady.now().nanoseconds, self.simulation.steps

    def _catch_up(self) -> None:
        """Runs all steps that are due."""
        steps_per_s = self.chosen.real_time_factor / self.chosen.update_duration
        elapsed_s = (self._steady.now().nanoseconds - self._anchor_ns) * 1e-9
        behind = self._anchor_steps + math.floor(elapsed_s * steps_per_s) - self.simulation.steps
        most = max(1, math.ceil(MAX_LAG_S * steps_per_s))
        for _ in range(min(behind, most)):
            self._step()
        if behind > most:
            lag_s = (behind - most) / steps_per_s
            self.log.warn('lag', f'The simulation is {lag_s:.2f} s late: simulated time falls behind', same='late')
            self._anchor()

    def _step(self) -> None:
        simulation = self.simulation
        collisions = simulation.collisions
        simulation.step()
        if self._clock_publisher is not None:
            self._clock_publisher.publish(ClockMessage(clock=self._stamp()))
        if simulation.map_has_changed or simulation.time_s >= self._map_at_s + self.chosen.map_period_s:
            self._publish_changes()
        for publish, period in self._due:
            if simulation.steps % period == 0:
                publish()
        if simulation.collisions != collisions:
            self._publish_collisions()
            self.log.warn('collision', f'The robot collided at {simulation.pose}')

    def _header(self, frame: str) -> Header:
        return Header(frame_id=frame, stamp=self._stamp())

    def _stamp(self) -> Time:
        if not self.chosen.publish_clock:
            return self._system.now().to_msg()
        nanoseconds = round(self.simulation.time_s * 1e9)
        return Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)

    # publishing

    def _publish_changes(self) -> None:
        self._map_at_s = self.simulation.time_s
        changed = self.simulation.changed_map()
        if changed is None:
            return
        if changed.changed is not None and self._updates is not None:
            self._updates.publish(update_message(changed, self._update_type, self._header(self.chosen.map_frame_id)))
        else:
            self._publish_map(changed)

    def _publish_map(self, map_: PublishedMap) -> None:
        self._map.publish(map_message(map_.occupancy, map_.geometry, self._header(self.chosen.map_frame_id)))

    def _on_map_subscriber(self, info: Any) -> None:
        """Publishes the whole map: with patches, the latched map is an old one."""
        if info.current_count_change > 0:
            self._publish_map(self.simulation.whole_map())

    def _publish_collisions(self) -> None:
        self._collisions.publish(UInt32(data=self.simulation.collisions))

    def _publish_pose(self) -> None:
        chosen, simulation, stamp = self.chosen, self.simulation, self._stamp()
        pose = simulation.noisy_pose(chosen.pose_noise_m, chosen.pose_noise_rad)
        odometry = simulation.odometry
        in_map = Header(frame_id=chosen.map_frame_id, stamp=stamp)
        in_odom = Header(frame_id=chosen.odom_frame_id, stamp=stamp)
        self._pose.publish(pose_message(pose, chosen.map_frame_id, stamp))
        self._odom.publish(odometry_message(odometry, simulation.motion, in_odom, chosen.base_frame_id))
        if self._tf is not None:
            transforms = [transform_message(odometry, in_odom, chosen.base_frame_id)]
            if chosen.publish_map_odom_tf:
                transforms.append(transform_message(simulation.map_to_odom, in_map, chosen.odom_frame_id))
            self._tf.publish(self._tf_type(transforms=transforms))

    def _publish_scan(self) -> None:
        if self._scan.get_subscription_count():
            ranges_m = self.simulation.scan(self.chosen.scan_angles, self.chosen.scan_range_max)
            self._scan.publish(scan_message(ranges_m, self.chosen, self._header(self.chosen.scan_frame_id)))

    def _give_goal(self) -> None:
        """Publishes the goal to every planner that starts, until it publishes a waypoint."""
        assert self._goals is not None
        subscribers = self._goals.get_subscription_count() - 1  # without our own
        if subscribers > self._goal_subscribers:
            self._goal_accepted = False
        self._goal_subscribers = subscribers
        if self._viewer is not None:
            if self._viewer.is_awaited:
                return
            self.get_logger().info(self._viewer.outcome)
            self._viewer = None
        pose, goal = self.simulation.pose, self._goal
        away_m = math.hypot(pose.x_m - goal.x_m, pose.y_m - goal.y_m)
        if subscribers > 0 and not self._goal_accepted and away_m > ARRIVED_M:
            self._goals.publish(pose_message(goal, self.chosen.map_frame_id, self._stamp()))

    # subscriptions

    def _posed(self, what: str, take: Callable[[Pose2D], None]) -> Callable[[Any], None]:
        """A callback that passes the pose of a message on, or logs why the message is ignored."""

        def callback(message: Any) -> None:
            try:
                stamped = pose_from_message(message, what)
                self._check_frame(what, stamped.frame)
                take(stamped.pose)
            except ValueError as error:
                self.log.warn(what, f'{error}; ignored')

        return callback

    def _check_frame(self, what: str, frame: str) -> None:
        if frame not in ('', self.chosen.map_frame_id):
            raise BadMessage(f'{what} is in the frame {frame!r}; it must be in {self.chosen.map_frame_id!r}')

    def _take_waypoint(self, waypoint: Pose2D) -> None:
        self._goal_accepted = True
        if self.chosen.follow_waypoint:
            self.simulation.drive_to(waypoint)

    def _take_command(self, message: Twist | TwistStamped) -> None:
        twist = message.twist if isinstance(message, TwistStamped) else message
        try:
            self.simulation.command(twist.linear.x, twist.angular.z)
        except ValueError as error:
            self.log.warn('cmd_vel', f'{error}; ignored')

    def _draw(self, message: PointStamped, *, occupied: bool) -> None:
        try:
            self._check_frame('the point', message.header.frame_id)
            self.simulation.draw(message.point.x, message.point.y, self.chosen.brush_m, occupied=occupied)
        except ValueError as error:
            self.log.warn('draw', f'Ignoring a stroke: {error}')

    def _take_place(self, pose: Pose2D) -> None:
        self.simulation.place(pose)
        self.get_logger().info(f'The robot was placed at {pose}')

    def _apply(self, chosen: SimulatorParameters) -> None:
        self.chosen = chosen
        self.simulation.settings = chosen.settings()
        self._timer.timer_period_ns = round(self._timer_period_s * 1e9)
        self._anchor()


def _simulation(chosen: SimulatorParameters) -> tuple[Simulation, Pose2D]:
    """The simulation, and the goal that the node may publish."""
    settings = chosen.settings()
    world = read_map(_file(chosen.map or 'office', 'maps', '.yaml'))
    script: list[Obstacle] = []
    if chosen.obstacles:
        script = read_script(_file(chosen.obstacles, 'config', '_obstacles.yaml'))
    room_m = settings.robot_radius_m + ROOM_AT_START_M
    start, goal = chosen.start, chosen.goal
    if chosen.random_start:
        start = random_start(world.occupancy, world.geometry, room_m, chosen.seed)
    simulation = Simulation(world.occupancy, world.geometry, start, settings, script)
    if chosen.give_goal and chosen.random_goal:
        goal = random_goal(world.occupancy, world.geometry, start, room_m, chosen.seed)
    return simulation, goal


def _file(name: str, folder: str, ending: str) -> Path:
    """A path as it is; a plain name is a file of the package."""
    path = Path(name).expanduser()
    return shared_file(folder, f'{name}{ending}') if name.isidentifier() and not path.exists() else path


def update_message(map_: PublishedMap, kind: Any, header: Header) -> Any:
    """The changed part, as a map_msgs/OccupancyGridUpdate."""
    assert map_.changed is not None
    box, message = map_.changed, kind(header=header)
    message.x, message.y = box.x0, box.y0
    message.width, message.height = box.x1 - box.x0, box.y1 - box.y0
    message.data = occupancy_values(map_.occupancy[box.slices])
    return message


def odometry_message(pose: Pose2D, motion: Motion, header: Header, child: str) -> Odometry:
    message = Odometry(header=header, child_frame_id=child)
    message.pose.pose.position.x, message.pose.pose.position.y = pose.x_m, pose.y_m
    message.pose.pose.orientation = quaternion_of(pose.yaw)
    message.twist.twist.linear.x, message.twist.twist.angular.z = motion.speed_m_s, motion.turn_rad_s
    return message


def transform_message(pose: Pose2D, header: Header, child: str) -> TransformStamped:
    message = TransformStamped(header=header, child_frame_id=child)
    message.transform.translation.x, message.transform.translation.y = pose.x_m, pose.y_m
    message.transform.rotation = quaternion_of(pose.yaw)
    return message


def scan_message(ranges_m: NDArray[np.float64], parameters: SimulatorParameters, header: Header) -> LaserScan:
    nothing = math.inf if parameters.scan_use_inf else parameters.scan_range_max - 0.1
    ranges = np.where(np.isinf(ranges_m), nothing, ranges_m)
    ranges[ranges < parameters.scan_range_min] = 0.0
    message = LaserScan(header=header)
    message.angle_min, message.angle_increment = parameters.scan_angle_min, parameters.scan_angle_increment
    message.angle_max = parameters.scan_angle_min + parameters.scan_angle_increment * (len(ranges) - 1)
    message.scan_time = parameters.scan_publish_dur
    message.range_min, message.range_max = parameters.scan_range_min, parameters.scan_range_max
    message.ranges = array('f', ranges.astype(np.float32).tobytes())
    return message


def main(args: list[str] | None = None) -> int:
    """Runs the node until it is shut down; returns 0, or 1 if it cannot start."""
    text = help_of('simulator_node', 'docs/simulator.md', __doc__, SimulatorParameters)
    return run_node(SimulatorNode, 'simulator', (ros_parameters.BadParameters, CannotStart), args, text)


if __name__ == '__main__':
    sys.exit(main())
