"""Drives a robot that turns on the spot from waypoint to waypoint, and stops when waypoints stop.

It needs ROS 2. With the simulator in place of a robot, in three terminals:

    ros2 run tb_planner simulator_node --ros-args -p follow_waypoint:=false
    ros2 launch tb_planner planner.launch.py
    python3 examples/waypoint_follower.py

It reads the pose from a topic; a robot that uses TF looks it up there instead. Robots expect a TwistStamped since
Kilted, a Twist in Jazzy; `--ros-args -p enable_stamped_cmd_vel:=true` chooses, here and for the simulator.
"""

import math
import os

import rclpy
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from rclpy.node import Node

STOP_AFTER_S = 0.5


class WaypointFollower(Node):
    """Subscribes to `waypoint` and `pose`, publishes `cmd_vel`."""

    def __init__(self):
        super().__init__('waypoint_follower')
        self.waypoint = None
        self.received = self.get_clock().now()
        self.create_subscription(PoseStamped, 'waypoint', self.store_waypoint, 1)
        self.create_subscription(PoseStamped, 'pose', self.drive, 1)
        by_default = os.environ.get('ROS_DISTRO', 'jazzy') != 'jazzy'  # as for Nav2's own nodes
        self.stamped = self.declare_parameter('enable_stamped_cmd_vel', by_default).value
        self.commands = self.create_publisher(TwistStamped if self.stamped else Twist, 'cmd_vel', 1)

    def store_waypoint(self, message):
        self.waypoint, self.received = message.pose, self.get_clock().now()

    def drive(self, message):
        stamped = TwistStamped()
        stamped.header.stamp, stamped.header.frame_id = self.get_clock().now().to_msg(), 'base_link'
        command = stamped.twist  # all zero: the robot stops
        age_s = (self.get_clock().now() - self.received).nanoseconds * 1e-9
        if self.waypoint is not None and age_s < STOP_AFTER_S:
            dx = self.waypoint.position.x - message.pose.position.x
            dy = self.waypoint.position.y - message.pose.position.y
            distance = math.hypot(dx, dy)
            yaw = 2 * math.atan2(message.pose.orientation.z, message.pose.orientation.w)
            turn = math.remainder(math.atan2(dy, dx) - yaw, math.tau)
            if distance > 0.05:  # nearer, the robot has reached the waypoint
                command.angular.z = 2.0 * turn
                command.linear.x = min(0.5, 2.0 * distance) if abs(turn) < 0.3 else 0.0
        self.commands.publish(stamped if self.stamped else command)


if __name__ == '__main__':
    rclpy.init()
    rclpy.spin(WaypointFollower())
