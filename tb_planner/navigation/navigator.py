"""Navigator: leads a robot to a goal, tick by tick. Map, pose and goal go in, waypoint and status come out.

It has no ROS and no clock. Goal, poses and waypoints are in metres, in the map's frame; search and follower count in
cells. A tick, from top to bottom:

1. Navigator.tick() takes in a new map and checks that there are a goal, a map and a pose on it.
2. Replanner.step() moves along the route as the robot did, spends the tick's search, and changes to a new route.
3. Replanner.aim() asks the follower for the waypoint.

ControllerPathPolicy chooses the path for a controller that follows whole paths by itself.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell, MapGeometry, Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.escape import EscapeFinder, no_escape_text
from tb_planner.navigation.follower import Aim, Follower
from tb_planner.navigation.route import Route, nearest_point
from tb_planner.search.algorithms import Algorithm, RestartReason
from tb_planner.search.grid import Grid, GridChange
from tb_planner.search.planner import Status, TimeBoundedPlanner
from tb_planner.search.sight import clear

TRACE_STEPS = 4096
"""N_T, trace steps a search: no tick grows with the length of a path."""
HELD_CELLS = 1024
"""The most cells of a route that are held: no tick grows with the length of a route."""
SAME_PATH_CELLS = 0.5
"""Paths that differ nowhere by more than this, in cells, are the same: a map may have moved by part of a cell."""

Search: TypeAlias = Callable[[TimeBoundedPlanner], object]
"""Spends the tick's budget on a planner."""


class NavigationStatus(str, enum.Enum):
    """The state of the navigation after a tick, as the node publishes it."""

    IDLE = 'IDLE'
    """There is no goal."""
    WAITING_FOR_MAP = 'WAITING_FOR_MAP'
    """There is a goal, and no map yet."""
    WAITING_FOR_POSE = 'WAITING_FOR_POSE'
    """There are a goal and a map, and no pose yet."""
    NAVIGATING = 'NAVIGATING'
    """The robot follows its route."""
    WAITING = 'WAITING'
    """There is nothing to follow: the search has just begun, or no point of the route is in sight. The robot stays."""
    ARRIVED = 'ARRIVED'
    """The robot has reached its goal, which is dropped."""
    NO_PATH = 'NO_PATH'
    """On the present map no path leads to the goal. The robot stays until a change of the map opens one."""
    GOAL_BLOCKED = 'GOAL_BLOCKED'
    """The goal and all cells within its tolerance are blocked. The robot stays until a change of the map frees one."""
    GOAL_OUTSIDE_MAP = 'GOAL_OUTSIDE_MAP'
    """The goal is not on the map. The robot stays until the map has grown."""
    START_BLOCKED = 'START_BLOCKED'
    """The robot is in a blocked cell, and there is no escape cell within the tolerance. The robot stays."""
    START_OUTSIDE_MAP = 'START_OUTSIDE_MAP'
    """The robot is not on the map. It stays."""
    CANCELED = 'CANCELED'
    """The last goal was canceled."""
    POSE_LOST = 'POSE_LOST'
    """There was a pose before, and there is none now. No waypoint is published: the last one was in sight."""
    MAP_LOST = 'MAP_LOST'
    """The map is too old. The last waypoint stays as long as it is in sight."""

    __str__ = str.__str__


_HAS_PLAN = frozenset(
    (NavigationStatus.NAVIGATING, NavigationStatus.WAITING, NavigationStatus.POSE_LOST, NavigationStatus.MAP_LOST)
)
_FOLLOWING = (NavigationStatus.NAVIGATING, NavigationStatus.WAITING)
_IDLE_MESSAGES = {
    NavigationStatus.IDLE: 'there is no goal',
    NavigationStatus.ARRIVED: 'the goal is reached',
    NavigationStatus.CANCELED: 'the goal was canceled',
}


@dataclass(frozen=True)
class Settings:
    """What may be changed at run time. The defaults are in PlannerParameters, which derives these settings."""

    algorithm: Algorithm
    k: int
    """Expansions a tick."""
    min_improvement: float
    """The fraction by which the cost of the route must fall or rise to restart the search."""
    goal_tolerance_m: float
    """The goal is reached within this distance; a free cell within it may replace a blocked goal."""
    waypoint_distance_m: float
    """The waypoint is at most this far ahead."""
    deviation_tolerance_m: float
    """A robot farther than this from its route makes the search restart from where it is."""
    start_tolerance_m: float
    """The escape cell of a robot in a blocked cell is at most this far away."""
    full_replan_ticks: int
    """A search older than this, on a map that has changed since, restarts; 0 is never."""

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, Algorithm):
            raise ValueError(f'algorithm is {self.algorithm!r}; make one with a factory, such as tba_star()')
        for name, least in (('k', 1), ('full_replan_ticks', 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ValueError(f'{name} is {value}; it must be a whole number, at least {least}')
        if not 0 <= self.min_improvement < 1:
            raise ValueError(f'min_improvement is {self.min_improvement}; it must be at least 0 and below 1')
        for name in ('goal_tolerance_m', 'waypoint_distance_m', 'deviation_tolerance_m', 'start_tolerance_m'):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f'{name} is {value}; it must be finite and at least 0')


@dataclass(frozen=True)
class Tick:
    """What a tick returns."""

    status: NavigationStatus
    waypoint: Pose2D | None
    """The pose to publish, if there is one."""
    plan_changed: bool
    """Whether plan_points() has changed. The robot's own progress along the plan does not count."""
    restarts: tuple[RestartReason, ...]
    """Why the search was started over in this tick, in order. The first search for a goal is not a restart."""
    message: str
    """The status in words and figures."""


_Outcome: TypeAlias = 'tuple[NavigationStatus, Pose2D | None, str]'


class Navigator:
    """Leads a robot to a goal on a map that changes, moves and grows. To be used by one thread.

    navigator = Navigator(PlannerParameters().settings())
    navigator.new_goal(Pose2D(8.0, 5.0))
    tick = navigator.tick(map_update, pose)
    """

    def __init__(self, settings: Settings):
        self._settings = settings
        self._map: MapUpdate | None = None
        self._goal: Pose2D | None = None
        self._target: Cell | None = None  # the goal's cell, or the free one that replaces it
        self._replanner: Replanner | None = None
        self._replanners = 0  # how many there have been
        self._restart_reason: RestartReason | None = None  # why the next search for the same goal begins
        self._held: Route | None = None  # the route to follow until that search reaches the goal
        self._escape = EscapeFinder()
        self._restarts: list[RestartReason] = []
        self._had_pose = False
        self._last_free: Pose2D | None = None  # the last pose, without a break since, in a cell that is not blocked
        self._idle_status = NavigationStatus.IDLE
        self._must_stop = False  # the next waypoint is the robot's own pose
        self._waypoint: Pose2D | None = None
        self._plan_version: object = None  # of the plan that the last tick had

    # -------------------------------------------------------------------------------------------------- requests
    @property
    def settings(self) -> Settings:
        """The settings. New ones may be set at any time; if that needs a new search, the robot follows its route until
        the search has reached the goal."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        old, self._settings = self._settings, settings
        self._find_target()
        if self._map is None or self._replanner is None:
            return
        planner, geometry = self._replanner.planner, self._map.geometry
        planner.k = settings.k
        planner.min_improvement = settings.min_improvement
        planner.start_tolerance = geometry.whole_cells(settings.start_tolerance_m)
        planner.goal_tolerance = geometry.whole_cells(settings.goal_tolerance_m)
        self._replanner.use_followers(*self._new_followers(self._map))
        if old.algorithm != settings.algorithm or planner.target != self._target:
            self._search_afresh(RestartReason.SETTINGS, self._replanner.hold())

    def new_goal(self, goal: Pose2D) -> None:
        """Replaces the goal, if there is one. Within the same cell that needs no new search."""
        old, self._goal, self._must_stop = self._goal, goal, False
        if self._map is None or old is None or self._map.geometry.cell_of(old) != self._map.geometry.cell_of(goal):
            self._end_search()
        self._find_target()

    def cancel(self) -> bool:
        """Drops the goal. Returns False if there is none."""
        if self._goal is None:
            return False
        self._finish(NavigationStatus.CANCELED)
        self._must_stop = True
        return True

    def arrive(self) -> bool:
        """Ends the goal: a controller reports that the robot has reached it. Returns False if there is none."""
        if self._goal is None:
            return False
        self._finish(NavigationStatus.ARRIVED)
        return True

    def reset_search(self) -> None:
        """Drops the route and searches afresh from where the robot is."""
        self._held = None
        if self._replanner is not None:
            self._search_afresh(RestartReason.REQUESTED, None)

    def replacement(self) -> Navigator:
        """A new navigator with the same goal, which also knows what was asked for and has not been done yet: after an
        error this one may be in any state."""
        other = Navigator(self._settings)
        other._goal, other._had_pose = self._goal, self._had_pose
        other._idle_status, other._must_stop = self._idle_status, self._must_stop
        return other

    # -------------------------------------------------------------------------------------------------- what is known
    @property
    def geometry(self) -> MapGeometry | None:
        return None if self._map is None else self._map.geometry

    @property
    def goal(self) -> Pose2D | None:
        return self._goal

    @property
    def actual_goal(self) -> Pose2D | None:
        """Where the robot goes: the goal, or the centre of the free cell that replaces a blocked one; None if there is
        neither."""
        if self._map is None or self._goal is None or self._target is None:
            return None
        return end_pose(self._map.geometry, self._goal, self._target)

    @property
    def planner(self) -> TimeBoundedPlanner | None:
        """The search for a path to the goal, if there is one."""
        return None if self._replanner is None else self._replanner.planner

    @property
    def backtracking_length(self) -> int:
        """The number of backtracking moves with which the plan begins."""
        if self._plan_version is None or self._replanner is None or self._replanner.held is not None:
            return 0
        return self._replanner.planner.backtracking_length

    @property
    def plan_reaches_goal(self) -> bool:
        """The plan ends at the goal, or in the cell that replaces it."""
        if self._plan_version is None or self._replanner is None:
            return False
        replanner = self._replanner
        return replanner.reaches_target or (replanner.held is None and replanner.planner.route_reaches_goal)

    def plan_points(self) -> NDArray[np.float64]:
        """The plan from where the robot is, (n, 2) in metres. The work grows with its length."""
        if self._plan_version is None or self._replanner is None:
            return np.empty((0, 2))
        geometry, cells = self._replanner.geometry, self._replanner.whole_route()
        points = geometry.to_world_array(cells)
        if self._goal is not None and self._target == tuple(cells[-1].tolist()):
            end = end_pose(geometry, self._goal, self._target)
            points[-1] = end.x_m, end.y_m
        return points

    def plan_cells(self) -> NDArray[np.int32]:
        """The plan from where the robot is, as rows of x and y. The work grows with its length."""
        if self._plan_version is None or self._replanner is None:
            return np.empty((0, 2), np.int32)
        return self._replanner.whole_route()

    @property
    def plan_length(self) -> int:
        """The number of moves of the plan from where the robot is."""
        if self._plan_version is None or self._replanner is None:
            return 0
        held = self._replanner.held
        return self._replanner.planner.route_length if held is None else len(held.ahead) - 1

    # -------------------------------------------------------------------------------------------------- a tick
    def tick(
        self, map_update: MapUpdate | None, pose: Pose2D | None, search: Search | None = None, *, map_lost: bool = False
    ) -> Tick:
        """Takes in what is new, searches, and returns where to go.

        map_update: a new map, if there is one. pose: None if there is none, or no recent one. search: how to spend the
        tick's budget; by default one planner.search() with k. map_lost: the map is too old to drive by it.
        """
        self._restarts.clear()
        if map_update is not None:
            self._update_map(map_update)
        if self._goal is None or pose is None:
            self._last_free = None
        if self._goal is None:
            status, message = self._idle_status, _IDLE_MESSAGES[self._idle_status]
            waypoint = pose if self._must_stop else None
            self._must_stop = self._must_stop and pose is None
        elif self._map is None:
            status, waypoint, message = NavigationStatus.WAITING_FOR_MAP, None, 'there is no map yet'
        elif pose is None and self._had_pose:
            status, waypoint, message = NavigationStatus.POSE_LOST, None, 'the pose is lost'
        elif pose is None:
            status, waypoint, message = NavigationStatus.WAITING_FOR_POSE, None, 'there is no pose yet'
        else:
            search = search or TimeBoundedPlanner.search
            status, waypoint, message = self._navigate(self._map, self._goal, pose, search)
        if map_lost and pose is not None and status in _HAS_PLAN:
            status, waypoint, message = NavigationStatus.MAP_LOST, self._old_waypoint(pose), 'the map is too old'
        self._waypoint = waypoint or self._waypoint
        self._had_pose = self._had_pose or pose is not None
        version = None
        if self._replanner is not None and status in _HAS_PLAN:
            version = self._replanners, self._replanner.version
        changed, self._plan_version = version != self._plan_version, version
        return Tick(status, waypoint, changed, tuple(self._restarts), message)

    def _update_map(self, map_update: MapUpdate) -> None:
        before, self._map = self._map, map_update.without_change()
        if before is None or map_update.change is None:
            self._move_routes(map_update)
        elif self._replanner is not None:
            self._replanner.map_changed(map_update.grid, map_update.change)
        if self._held is not None and not self._held.is_valid(map_update.grid):
            self._held = None
        self._find_target()

    def _move_routes(self, map_update: MapUpdate) -> None:
        """Moves the route to a map of another geometry, for which the search starts afresh."""
        points_m = None if self._held is None else self._held.points_ahead_m
        if self._replanner is not None and self._goal is not None:
            points_m = self._replanner.points_m((self._goal.x_m, self._goal.y_m))
            self._search_afresh(RestartReason.MAP_MOVED, None)
        self._held = None
        if points_m is not None:
            self._held = Route.from_points(points_m, map_update.geometry).repaired(map_update.grid)

    def _navigate(self, map_update: MapUpdate, goal: Pose2D, pose: Pose2D, search: Search) -> _Outcome:
        """One tick towards the goal. Where no step can be made, the waypoint is the robot's own pose: it stays."""
        geometry, target = map_update.geometry, self._target
        size = f'{geometry.width} x {geometry.height} cells of {geometry.resolution_m:g} m'
        free = self._free_cell(map_update, pose)
        if not geometry.contains(geometry.cell_of(goal)):
            return NavigationStatus.GOAL_OUTSIDE_MAP, pose, f'goal {goal} is outside the map of {size}'
        if target is None:
            message = f'goal {goal} is blocked, and so is everything within {self._settings.goal_tolerance_m:g} m'
            return NavigationStatus.GOAL_BLOCKED, pose, message
        if not geometry.contains(geometry.cell_of(pose)):
            return NavigationStatus.START_OUTSIDE_MAP, pose, f'the robot at {pose} is outside the map of {size}'
        if free is None:
            why = no_escape_text(geometry, self._settings.start_tolerance_m)
            return NavigationStatus.START_BLOCKED, pose, f'the robot at {pose} is blocked, and {why}'
        position, end = geometry.to_grid(pose.x_m, pose.y_m), end_pose(geometry, goal, target)
        if self._has_arrived(map_update, goal, pose, target):
            self._finish(NavigationStatus.ARRIVED)
            message = f'at the goal {goal}'
            if end != goal:
                message = f'at {end}, {_distance_text(goal, end)} from the goal {goal}, which is blocked'
            return NavigationStatus.ARRIVED, end, message
        replanner = self._replanner or self._begin_search(map_update, goal, free)
        replanner.step(position, free, search, self._settings.full_replan_ticks)
        if replanner.has_no_path:
            return NavigationStatus.NO_PATH, pose, f'no path leads to the goal {goal} on the present map'
        aim = replanner.aim(position, free, geometry.to_grid(end.x_m, end.y_m))
        if aim is None:
            return NavigationStatus.WAITING, pose, 'the search has just begun'
        if (aim.x, aim.y) == position and not aim.at_end:
            return NavigationStatus.WAITING, pose, 'no point of the route is in sight'
        message = f'going to the goal {goal}'
        if end != goal:
            message = f'goal {goal} is blocked; going to {end}, {_distance_text(goal, end)} away'
        return NavigationStatus.NAVIGATING, end if aim.at_end else _waypoint(geometry, aim), message

    def _free_cell(self, map_update: MapUpdate, pose: Pose2D) -> Cell | None:
        """The robot's own cell, or its escape cell. Called in every tick, whatever becomes of it: where the robot was
        free before decides on which side of an obstacle it is."""
        cell = map_update.geometry.cell_of(pose)
        if not map_update.geometry.contains(cell):
            self._last_free = None
            return None
        free = self._escape.find(map_update, pose, self._settings.start_tolerance_m, self._last_free)
        self._last_free = pose if free == cell else self._last_free
        return free

    def _has_arrived(self, map_update: MapUpdate, goal: Pose2D, pose: Pose2D, target: Cell) -> bool:
        """Whether the robot is within the tolerance of the goal, and sees it: it may be behind a wall. For a cell that
        replaces the goal half of the tolerance has to do, since it is up to the whole away from the goal."""
        geometry, tolerance_m = map_update.geometry, self._settings.goal_tolerance_m
        end = end_pose(geometry, goal, target)
        if target != geometry.cell_of(goal):
            if target == geometry.cell_of(pose):
                return True
            tolerance_m /= 2
        if math.dist((pose.x_m, pose.y_m), (end.x_m, end.y_m)) > tolerance_m:
            return False
        here, there = (geometry.to_grid(p.x_m, p.y_m) for p in (pose, end))
        return clear(map_update.grid.cost_u16, *here, *there)

    def _old_waypoint(self, pose: Pose2D) -> Pose2D:
        """The last waypoint if it is still in sight, else the robot's own pose."""
        if self._map is None or self._waypoint is None:
            return pose
        here, there = (self._map.geometry.to_grid(p.x_m, p.y_m) for p in (pose, self._waypoint))
        return self._waypoint if clear(self._map.grid.cost_u16, *here, *there) else pose

    # -------------------------------------------------------------------------------------------------- searches
    def _find_target(self) -> None:
        """The goal's cell, or the free one that replaces it, if there is any."""
        self._target = None
        if self._map is None or self._goal is None:
            return
        geometry, cell = self._map.geometry, self._map.geometry.cell_of(self._goal)
        if geometry.contains(cell):
            self._target = self._map.grid.nearest_free(cell, geometry.whole_cells(self._settings.goal_tolerance_m))

    def _begin_search(self, map_update: MapUpdate, goal: Pose2D, start: Cell) -> Replanner:
        geometry = map_update.geometry
        tolerance = geometry.whole_cells(self._settings.goal_tolerance_m)
        planner = new_planner(map_update, start, geometry.cell_of(goal), self._settings, tolerance)
        if self._restart_reason is not None:
            self._restarts.append(self._restart_reason)
        self._replanner = Replanner(planner, geometry, self._new_followers(map_update), self._held, self._restarts)
        self._replanners += 1
        self._restart_reason = self._held = None
        return self._replanner

    def _search_afresh(self, reason: RestartReason, held: Route | None) -> None:
        """Makes the next tick begin a new search for the same goal. Until that has reached the goal, the robot follows
        the held route."""
        self._end_search()
        self._restart_reason, self._held = reason, held

    def _end_search(self) -> None:
        """Leaves the search's memory to its grid, for the next search there, or to be freed with the grid."""
        if self._replanner is not None:
            self._replanner.planner.release()
        self._replanner = self._restart_reason = self._held = None

    def _finish(self, status: NavigationStatus) -> None:
        self._end_search()
        self._goal = self._target = None
        self._idle_status = status

    def _new_followers(self, map_update: MapUpdate) -> tuple[Follower, Follower]:
        """One for the search's route, one for a held route. Both keep the present waypoint if it is on their route."""
        return self._new_follower(map_update), self._new_follower(map_update)

    def _new_follower(self, map_update: MapUpdate) -> Follower:
        geometry, old = map_update.geometry, self._waypoint
        follower = Follower(
            waypoint_distance=self._settings.waypoint_distance_m / geometry.resolution_m,
            deviation_tolerance=self._settings.deviation_tolerance_m / geometry.resolution_m,
            corner_cutting=map_update.grid.corner_cutting,
        )
        follower.reset(None if old is None else geometry.to_grid(old.x_m, old.y_m))
        return follower


_ROUTE_STILL_VALID = frozenset(
    (
        RestartReason.COST_INCREASED,
        RestartReason.SHORTCUT_OPENED,
        RestartReason.EAGER,
        RestartReason.HEURISTIC_INVALIDATED,
        RestartReason.GOAL_MOVED,
        RestartReason.PERIODIC,
    )
)


class Replanner:
    """The search for a path to one goal on maps of one geometry, and the route that the robot follows meanwhile.

    A search that starts over would leave the robot without a route, or send it along the first guesses of the new
    search. So if the old route is still valid, it is held and followed until the new search has reached the goal.

    Positions are in cells of the grid; the robot's cell is a free one, its own or its escape cell.
    """

    def __init__(
        self,
        planner: TimeBoundedPlanner,
        geometry: MapGeometry,
        followers: tuple[Follower, Follower],
        held: Route | None,
        restarts: list[RestartReason],
    ):
        self.planner = planner
        self.geometry = geometry
        self.held = held
        self.use_followers(*followers)
        self._restarts = restarts  # the navigator's list, to which this class adds
        self._counted = planner.restarts  # those that are in the list already
        self._holds = 0  # how often a route was held or let go
        self._look_ahead()
        self._has_restarted = False  # the search has not expanded anything since it restarted
        self._ticks = 0  # of the present search
        self._map_has_changed = False  # since it began

    def use_followers(self, follower: Follower, held_follower: Follower) -> None:
        """Sets the follower of the search's route and that of a held route."""
        self._follower, self._held_follower = follower, held_follower

    # -------------------------------------------------------------------------------------------------- what is known
    @property
    def route(self) -> NDArray[np.int32]:
        """The cells ahead of the robot, as rows of x and y; at most HELD_CELLS, which is enough for a tick."""
        return self._ahead if self.held is None else self.held.ahead

    def whole_route(self) -> NDArray[np.int32]:
        """All cells ahead of the robot; the work grows with their number."""
        return self.planner.route_cells() if self.held is None else self.held.ahead

    def points_m(self, end_m: tuple[float, float]) -> NDArray[np.float64]:
        """The route in metres; `end_m` is its last point if it reaches the target."""
        points_m = self.geometry.to_world_array(self._ahead) if self.held is None else self.held.points_ahead_m
        return np.vstack((points_m, end_m)) if self.reaches_target else points_m

    @property
    def reaches_target(self) -> bool:
        """Whether `route` ends at the planner's target."""
        x, y = self.route[-1].tolist()
        return (x, y) == self.planner.target

    @property
    def has_no_path(self) -> bool:
        return self.held is None and self.planner.status == Status.NO_PATH

    @property
    def version(self) -> tuple[object, ...]:
        """A value that changes whenever the route does, but not when the robot goes along it."""
        return (self._holds,) if self.held is not None else (self._holds, self.planner.route_version)

    # -------------------------------------------------------------------------------------------------- the map
    def map_changed(self, grid: Grid, change: GridChange) -> None:
        """Takes in a map of the same geometry. A route that is blocked is left at once."""
        self.planner.use_grid(grid, change)
        if self.held is not None and not self.held.is_valid(grid):
            self._let_go()
        self._map_has_changed = self._map_has_changed or bool(change)
        self._note_restarts()

    def hold(self) -> Route | None:
        """Holds the route: the robot follows it, while it is valid, until a new search has reached the goal."""
        if self.held is None and len(self._ahead) > 1:
            self.held = Route.from_cells(self._ahead, self.geometry).repaired(self.planner.grid)
            self._holds += 1
            self._held_follower.reset(self._follower.waypoint)
        return self.held

    # -------------------------------------------------------------------------------------------------- a tick
    def step(self, position: tuple[float, float], cell: Cell, search: Search, full_replan_ticks: int) -> None:
        """Moves along the route or leaves it, as the robot did; then searches; then takes a new route that is ready."""
        if self._has_restarted and cell != self.planner.current_cell:
            self.planner.leave_route(cell)  # where the robot is; this does not count as another restart
            self._counted = self.planner.restarts
            self._follower.reset()
        self._track_robot(position, cell)
        self._ticks += 1
        # only a search that has reached the goal: a slow one would be restarted again and again
        is_outdated = self._map_has_changed and self._reaches_goal and self.held is None
        if full_replan_ticks and self._ticks > full_replan_ticks and is_outdated:
            self.planner.restart(RestartReason.PERIODIC)
            self._note_restarts()
        self._has_restarted = False
        search(self.planner)
        self._note_restarts()
        self._look_ahead()
        if self.held is not None:
            self._take_new_route(position, cell, self.held)

    def aim(self, position: tuple[float, float], cell: Cell, end: tuple[float, float]) -> Aim | None:
        """The waypoint; None if there is nothing to follow. `end` is the exact point to reach in the target's cell."""
        reaches = self.reaches_target
        if len(self.route) < 2 and not reaches:
            return None
        follower = self._follower if self.held is None else self._held_follower
        return follower.aim(self.planner.grid.cost_u16, self.route, position, end if reaches else None, cell)

    def _track_robot(self, position: tuple[float, float], cell: Cell) -> None:
        """A robot that has left its route makes the search restart from its cell."""
        terrain = self.planner.grid.cost_u16
        if self.held is not None:
            passed = self._held_follower.passed(terrain, self.held.ahead, position, cell)
            if passed is not None:
                self.held.passed += passed
                return
            self._let_go()
        self._look_ahead()
        self._advance_or_leave(self._follower.passed(terrain, self._ahead, position, cell), cell)

    def _take_new_route(self, position: tuple[float, float], cell: Cell, held: Route) -> None:
        """The search's route replaces the held one once it is ready and the robot is on it. If the robot is not on it,
        the search starts again from where the robot is."""
        used_up = len(held.ahead) == 1 and held.last_cell != self.planner.target
        ready = self.planner.route_reaches_goal or self.planner.status == Status.NO_PATH
        if not (ready or used_up):
            return
        self._follower.reset(self._held_follower.waypoint)
        passed = self._follower.passed(self.planner.grid.cost_u16, self._ahead, position, cell)
        if passed is not None or used_up:
            self._let_go()
        self._advance_or_leave(passed, cell)

    def _let_go(self) -> None:
        """Drops the held route. The robot may be anywhere on the search's route, or off it."""
        self.held = None
        self._holds += 1
        self._follower.reset(self._held_follower.waypoint)

    def _look_ahead(self) -> None:
        self._ahead = self.planner.route_cells(HELD_CELLS)
        self._reaches_goal = self.planner.route_reaches_goal

    def _advance_or_leave(self, passed: int | None, cell: Cell) -> None:
        """The robot has passed some cells of the search's route, or, if None, has left it and is in this cell."""
        if passed is None:
            self.planner.leave_route(cell)
            self._note_restarts()
            self._look_ahead()
        elif passed:
            self.planner.advance_by(passed)
            self._ahead = self._ahead[passed:]

    def _note_restarts(self) -> None:
        """Adds the restarts since the last call to the list. If all of them leave the route valid, it is held."""
        counts, before = self.planner.restarts, self._counted
        new = [r for r in counts for _ in range(counts[r] - before[r])]
        if not new:
            return
        self._counted = counts
        self._ticks, self._map_has_changed, self._has_restarted = 0, False, True
        self._restarts += new
        if self._reaches_goal and _ROUTE_STILL_VALID.issuperset(new):
            self.hold()


class ControllerPathPolicy:
    """Chooses the path for a controller that follows whole paths by itself, and takes the last pose for the goal.

    tick() is called after every tick of the navigator; `path` is what the controller is to follow, None if the robot is
    to stop. A controller that gets another path begins anew, so it gets one only if the plan reaches the goal and is
    another one than the rest of its path. While such a plan is searched for, the controller keeps its path as long as
    that is valid for as far ahead as a waypoint would be: robots do not brake for what is blocked far away.
    """

    def __init__(self) -> None:
        self.path: Route | None = None
        self._is_plan = False  # the rest of the path is the navigator's plan

    def tick(self, navigator: Navigator, tick: Tick, pose: Pose2D | None) -> Route | None:
        """Returns the path from now on. The work grows with the plan's length, but only in ticks that change it."""
        goal, geometry = navigator.goal, navigator.geometry
        if pose is None or goal is None or geometry is None or tick.status not in _FOLLOWING:
            self.reset()
            return None
        if tick.plan_changed or not self._is_plan or self.path is None or self.path.goal != goal:
            self._choose(navigator, goal, geometry, pose)
        plans_stay = not navigator.settings.algorithm.restart_rule.restarts  # even if they are blocked
        if plans_stay and self.path is not None and not _is_valid_ahead(self.path, navigator, geometry, pose):
            self.reset()
        return self.path

    def reset(self) -> None:
        """Drops the path, for example after the controller has failed. The next path begins where the robot is:
        controllers look for the robot only on the first metres of a new path."""
        self.path, self._is_plan = None, False

    def _choose(self, navigator: Navigator, goal: Pose2D, geometry: MapGeometry, pose: Pose2D) -> None:
        points_m, path = navigator.plan_points(), self.path
        reaches_goal = navigator.plan_reaches_goal
        if path is not None and path.goal == goal:
            tolerance_m = SAME_PATH_CELLS * geometry.resolution_m
            self._is_plan = reaches_goal and _is_rest_of(points_m, path.points_m, tolerance_m)
            if self._is_plan:
                return
        if reaches_goal:
            if len(points_m) == 1:  # the robot is in the goal's cell already
                points_m = np.vstack(((pose.x_m, pose.y_m), points_m))
            self.path, self._is_plan = Route.from_points(points_m, geometry, goals=(goal,)), True
        elif path is not None and not _is_valid_ahead(path, navigator, geometry, pose):
            self.path = None


def thinned(points_m: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The same line with about `most` points: of more, some are left out where it goes straight on. Where it turns
    they stay, or it would cut corners."""
    apart = -(-len(points_m) // most)
    steps = np.diff(points_m, axis=0)
    kept = np.ones(len(points_m), bool)
    kept[1:-1] = ~np.isclose(steps[1:], steps[:-1]).all(axis=1)
    kept[::apart] = True
    return points_m[kept]


def _is_rest_of(points_m: NDArray[np.float64], path_m: NDArray[np.float64], tolerance_m: float) -> bool:
    """Whether the points are the last ones of a path."""
    rest_m = path_m[-len(points_m) :]
    return rest_m.shape == points_m.shape and bool((np.hypot(*(rest_m - points_m).T) <= tolerance_m).all())


def _is_valid_ahead(path: Route, navigator: Navigator, geometry: MapGeometry, pose: Pose2D) -> bool:
    """Whether a path is valid from where the robot is for as far as waypoints go."""
    if navigator.planner is None:
        return False
    ahead_m = path.points_m[nearest_point(path.points_m, pose) :]
    lengths_m = np.hypot(*np.diff(ahead_m, axis=0).T).cumsum()
    ahead_m = ahead_m[: np.searchsorted(lengths_m, navigator.settings.waypoint_distance_m) + 2]
    return Route.from_points(ahead_m, geometry).is_valid(navigator.planner.grid)


def new_planner(
    map_update: MapUpdate, start: Cell, goal: Cell, settings: Settings, goal_tolerance: int
) -> TimeBoundedPlanner:
    """A planner with these settings. O(1): its memory is that of the last one, or is taken where the search goes."""
    return TimeBoundedPlanner(
        map_update.grid,
        start,
        goal,
        settings.algorithm,
        settings.k,
        trace_steps=None if settings.algorithm.reopen else TRACE_STEPS,
        min_improvement=settings.min_improvement,
        start_tolerance=map_update.geometry.whole_cells(settings.start_tolerance_m),
        goal_tolerance=goal_tolerance,
    )


def end_pose(geometry: MapGeometry, goal: Pose2D, target: Cell) -> Pose2D:
    """Where exactly a path ends: at the goal, or at the centre of the cell that replaces it."""
    if target == geometry.cell_of(goal):
        return goal
    x_m, y_m = geometry.centre_of(target)
    return Pose2D(x_m, y_m, goal.yaw)


def _distance_text(one: Pose2D, other: Pose2D) -> str:
    return f'{math.dist((one.x_m, one.y_m), (other.x_m, other.y_m)):.2f} m'


def _waypoint(geometry: MapGeometry, aim: Aim) -> Pose2D:
    x_m, y_m = geometry.to_world(aim.x, aim.y)
    return Pose2D(x_m, y_m, math.remainder(aim.heading + geometry.yaw, math.tau))
