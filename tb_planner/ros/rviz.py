"""What RViz can show of the search: which cells it has expanded, where it started over, and where the robot is led."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from nav_msgs.msg import OccupancyGrid
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.navigation.navigator import Navigator
from tb_planner.ros.conversions import pose_message, quaternion_of
from tb_planner.search.planner import TimeBoundedPlanner

UNTOUCHED, EXPANDED, OPEN = -1, 50, 100

_GREEN = ColorRGBA(r=0.1, g=0.7, b=0.2, a=0.9)
_BLUE = ColorRGBA(r=0.1, g=0.4, b=0.9, a=0.9)
_RED = ColorRGBA(r=0.9, g=0.2, b=0.1, a=0.9)
_ORANGE = ColorRGBA(r=0.9, g=0.6, b=0.0, a=0.9)


class RestartPlace(NamedTuple):
    """Where the robot was when the search started over, and why it did."""

    pose: Pose2D
    reasons: str


def expansions_message(planner: TimeBoundedPlanner, geometry: MapGeometry, frame: str, stamp: Time) -> OccupancyGrid:
    """The present search as a map: untouched cells are unknown, those in Open are occupied."""
    message = OccupancyGrid()
    message.header.frame_id = frame
    message.header.stamp = message.info.map_load_time = stamp
    message.info.width, message.info.height = geometry.width, geometry.height
    message.info.resolution = float(geometry.resolution_m)
    message.info.origin.position.x, message.info.origin.position.y = map(float, geometry.origin[:2])
    message.info.origin.orientation = quaternion_of(geometry.yaw)
    message.data = array('b', planner.search_picture().tobytes())
    return message


def markers_message(
    navigator: Navigator, waypoint: Pose2D | None, restarts: Sequence[RestartPlace], frame: str, stamp: Time
) -> MarkerArray:
    """The goal, the waypoint, the part of the plan that leads back along the way the robot came, and the restarts."""
    way_back = navigator.plan_points()[: navigator.way_back + 1]
    world = Pose2D(0.0, 0.0, 0.0) if len(way_back) > 1 else None
    markers = [
        _marker('goal', Marker.ARROW, navigator.goal, _GREEN, (0.5, 0.08, 0.08)),
        _marker('waypoint', Marker.SPHERE, waypoint, _BLUE, (0.15, 0.15, 0.15)),
        _marker('way_back', Marker.LINE_STRIP, world, _RED, (0.04, 0.0, 0.0)),
    ]
    markers[-1].points = [Point(x=float(x), y=float(y), z=0.0) for x, y in way_back]
    markers += _restart_markers(restarts)
    for marker in markers:
        marker.header.frame_id = frame
        marker.header.stamp = stamp
    return MarkerArray(markers=markers)


def _restart_markers(restarts: Sequence[RestartPlace]) -> list[Marker]:
    """A dot for each, and the reason beside it."""
    world = Pose2D(0.0, 0.0, 0.0) if restarts else None
    dots = _marker('restarts', Marker.SPHERE_LIST, world, _ORANGE, (0.15, 0.15, 0.15))
    dots.points = [Point(x=place.pose.x_m, y=place.pose.y_m, z=0.0) for place in restarts]
    markers = [dots]
    for number, place in enumerate(restarts):
        beside = Pose2D(place.pose.x_m, place.pose.y_m + 0.2)
        text = _marker('restart_reasons', Marker.TEXT_VIEW_FACING, beside, _ORANGE, (0.0, 0.0, 0.2))
        text.id, text.text = number, place.reasons
        markers.append(text)
    return markers


def _marker(name: str, kind: int, pose: Pose2D | None, colour: ColorRGBA, scale: tuple[float, float, float]) -> Marker:
    """A marker of its own namespace; without a pose it is taken away."""
    marker = Marker(ns=name, id=0, type=kind, action=Marker.DELETE if pose is None else Marker.ADD, color=colour)
    if pose is not None:
        marker.pose = pose_message(pose, '', Time()).pose
    marker.scale.x, marker.scale.y, marker.scale.z = scale
    return marker
