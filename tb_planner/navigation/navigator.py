"""Navigator: a robot's way to its goal, tick by tick. Map, pose and goal go in, waypoint and status come out.

No ROS and no clock. Goal, poses and waypoints are in metres, in the map's frame; search and follower count in cells.
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
from tb_planner.navigation.escape import FARTHEST, find_escape_cell
from tb_planner.navigation.follower import Aim, Follower
from tb_planner.navigation.held_route import HeldRoute
from tb_planner.search.algorithms import Algorithm, RestartReason
from tb_planner.search.grid import BLOCKED, Grid, GridChange
from tb_planner.search.planner import Status, TimeBoundedPlanner
from tb_planner.search.sight import clear

TRACE_STEPS = 4096
"""N_T, trace steps a search: no tick goes with the length of a path."""

HELD_CELLS = 1024
"""So much of a route is held at most: no tick goes with the length of a route."""

Search = Callable[[TimeBoundedPlanner], object]

_ROUNDING = 1e-9  # 3 cells of 0.05 m are within 0.15 m, though 3 * 0.05 > 0.15 in floating point


class NavigationStatus(str, enum.Enum):
    """What a tick has come to."""

    IDLE = 'IDLE'
    """There is no goal."""
    WAITING_FOR_MAP = 'WAITING_FOR_MAP'
    WAITING_FOR_POSE = 'WAITING_FOR_POSE'
    NAVIGATING = 'NAVIGATING'
    """On the way."""
    WAITING = 'WAITING'
    """There is nothing to follow: the search has just begun, or none of the route is in sight. The robot stays."""
    ARRIVED = 'ARRIVED'
    """The goal has been reached, and is done."""
    NO_PATH = 'NO_PATH'
    """On the present map no path leads to the goal. The robot stays until a change of the map opens one."""
    GOAL_BLOCKED = 'GOAL_BLOCKED'
    """So is the goal, and all within its tolerance. Otherwise as NO_PATH."""
    GOAL_OUTSIDE_MAP = 'GOAL_OUTSIDE_MAP'
    """Otherwise as NO_PATH: the map may grow."""
    START_BLOCKED = 'START_BLOCKED'
    """The robot is in a blocked cell, and no free one within the tolerance is a way out. The robot stays."""
    START_OUTSIDE_MAP = 'START_OUTSIDE_MAP'
    CANCELED = 'CANCELED'
    """The last goal was given up on request."""
    POSE_LOST = 'POSE_LOST'
    """There was a pose before. No waypoint: the last one was in free sight."""
    MAP_LOST = 'MAP_LOST'
    """The map is too old. The last waypoint holds while it is in sight."""

    __str__ = str.__str__


_HAS_PLAN = frozenset(
    (NavigationStatus.NAVIGATING, NavigationStatus.WAITING, NavigationStatus.POSE_LOST, NavigationStatus.MAP_LOST)
)


@dataclass(frozen=True)
class Settings:
    """What may be changed at run time."""

    algorithm: Algorithm
    k: int = 256
    """Expansions a tick."""
    min_improvement: float = 0.0
    """The fraction by which a restart for a shorter way must shorten it."""
    goal_tolerance_m: float = 0.25
    """So near the goal is reached; so near a free cell may stand in for a blocked goal."""
    waypoint_distance_m: float = 1.0
    """How far ahead the waypoint is at most."""
    deviation_tolerance_m: float = 0.5
    """So far from its route the robot may be before the search restarts from where it is."""
    start_tolerance_m: float = 0.5
    """So near a robot in a blocked cell looks for a free one to leave it by."""
    full_replan_ticks: int = 0
    """After so many ticks a search on a map that has changed since is started afresh; 0: never."""

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, Algorithm):
            raise ValueError(f'algorithm is {self.algorithm!r}; make one with a factory, such as tba_star()')
        for name, least in (('k', 1), ('full_replan_ticks', 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ValueError(f'{name} is {value}; it is a whole number, >= {least}')
        if not 0 <= self.min_improvement < 1:
            raise ValueError(f'min_improvement is {self.min_improvement}; it is a fraction, 0 to below 1')
        for name in ('goal_tolerance_m', 'waypoint_distance_m', 'deviation_tolerance_m', 'start_tolerance_m'):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f'{name} is {value}; it is finite and >= 0')


@dataclass(frozen=True)
class Tick:
    """What a tick has to say."""

    status: NavigationStatus
    waypoint: Pose2D | None
    """To be published, if there is one."""
    plan_changed: bool
    """plan_points() are others than before; walking along a plan does not change it."""
    restarts: tuple[RestartReason, ...]
    """Why the search was started over in this tick, in order. The first search for a goal is not a restart."""
    message: str
    """The status in words and figures."""


_ROUTE_IS_STILL_GOOD = frozenset(
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
    """Positions are in cells of the grid; the robot's cell is a free one, its own or one to leave a blocked one by."""

    def __init__(
        self,
        planner: TimeBoundedPlanner,
        geometry: MapGeometry,
        followers: tuple[Follower, Follower],
        held: HeldRoute | None,
        restarts: list[RestartReason],
    ):
        self.planner = planner
        self.geometry = geometry
        self.held = held
        self.use_followers(*followers)
        self._restarts = restarts  # to be added to
        self._counted = planner.restarts
        self._holds = 0
        self._look_ahead()
        self._has_restarted = False  # and not gone on yet
        self._ticks = 0  # of the present search
        self._map_has_changed = False  # since it began

    def use_followers(self, follower: Follower, held_follower: Follower) -> None:
        """For the search's route, and for a held one."""
        self._follower, self._held_follower = follower, held_follower

    # -------------------------------------------------------------------------------------------------- what is known
    @property
    def route(self) -> NDArray[np.int32]:
        """The cells ahead of the robot, x and y in rows; cut off where that makes no difference."""
        return self._ahead if self.held is None else self.held.cells

    def whole_route(self) -> NDArray[np.int32]:
        """Not cut off; the work goes with its length."""
        return self.planner.route_cells() if self.held is None else self.held.cells

    def points_m(self, end_m: tuple[float, float]) -> NDArray[np.float64]:
        """The route in metres; `end_m` is its last point if it reaches the target."""
        points_m = self.geometry.to_world_array(self._ahead) if self.held is None else self.held.points_m
        return np.vstack((points_m, end_m)) if self.reaches_target else points_m

    @property
    def reaches_target(self) -> bool:
        """The route, as far as it is looked at, ends there."""
        x, y = self.route[-1].tolist()
        return (x, y) == self.planner.target

    @property
    def has_no_path(self) -> bool:
        return self.held is None and self.planner.status == Status.NO_PATH

    @property
    def version(self) -> tuple[object, ...]:
        """Another one whenever the route is another, not when the robot walks along it."""
        return (self._holds,) if self.held is not None else (self._holds, self.planner.route_version)

    # -------------------------------------------------------------------------------------------------- news
    def map_changed(self, grid: Grid, change: GridChange) -> None:
        """The same geometry. A route that is blocked is left at once."""
        self.planner.use_grid(grid, change)
        if self.held is not None and not self.held.stands(grid):
            self._let_go()
        self._map_has_changed = self._map_has_changed or bool(change)
        self._note_restarts()

    def hold(self) -> HeldRoute | None:
        """Keeps the route, for as long as it stands, whatever becomes of the search."""
        if self.held is None and len(self._ahead) > 1:
            self.held = HeldRoute.lay(self.geometry.to_world_array(self._ahead), self.geometry, self.planner.grid)
            self._holds += 1
            self._held_follower.take_over(self._follower.waypoint)
        return self.held

    # -------------------------------------------------------------------------------------------------- a tick
    def step(self, position: tuple[float, float], cell: Cell, search: Search, clean_every: int) -> None:
        """The robot goes along its route or leaves it; then search; then, if a new route is ready, take it."""
        if self._has_restarted and cell != self.planner.current_cell:
            self._begin_at(cell)
        self._keep_to_route(position, cell)
        self._ticks += 1
        if clean_every and self._ticks > clean_every and self._is_clean_search_due():
            self.planner.restart(RestartReason.PERIODIC)
            self._note_restarts()
        self._has_restarted = False
        search(self.planner)
        self._note_restarts()
        self._look_ahead()
        if self.held is not None:
            self._take_over(position, cell, self.held)

    def aim(self, position: tuple[float, float], cell: Cell, end: tuple[float, float]) -> Aim | None:
        """The waypoint; None if there is nothing to follow. `end` is the exact point to reach in the target's cell."""
        reaches = self.reaches_target
        if len(self.route) < 2 and not reaches:
            return None
        follower = self._follower if self.held is None else self._held_follower
        return follower.aim(self.planner.grid.cost_u16, self.route, position, end if reaches else None, cell)

    def _keep_to_route(self, position: tuple[float, float], cell: Cell) -> None:
        terrain = self.planner.grid.cost_u16
        if self.held is not None:
            passed = self._held_follower.passed(terrain, self.held.cells, position, cell)
            if passed is not None:
                self.held = self.held.walked(passed)
                return
            self._let_go()
        self._look_ahead()
        passed = self._follower.passed(terrain, self._ahead, position, cell)
        if passed is None:
            self._leave_route(cell)
        else:
            self._advance_by(passed)

    def _take_over(self, position: tuple[float, float], cell: Cell, held: HeldRoute) -> None:
        """The search's route takes the held one's place once it is ready and the robot is on it. If the robot is not,
        the search starts again from where it is."""
        used_up = len(held.cells) == 1 and held.last_cell != self.planner.target
        ready = self.planner.route_reaches_goal or self.planner.status == Status.NO_PATH
        if not (ready or used_up):
            return
        self._follower.take_over(self._held_follower.waypoint)
        passed = self._follower.passed(self.planner.grid.cost_u16, self._ahead, position, cell)
        if passed is not None or used_up:
            self._let_go()
        if passed is None:
            self._leave_route(cell)
        else:
            self._advance_by(passed)

    def _let_go(self) -> None:
        """Of what is held; the robot may be anywhere on the search's route, or off it."""
        self.held = None
        self._holds += 1
        self._follower.take_over(self._held_follower.waypoint)

    def _look_ahead(self) -> None:
        self._ahead = self.planner.route_cells(HELD_CELLS)
        self._reaches_goal = self.planner.route_reaches_goal

    def _is_clean_search_due(self) -> bool:
        """The map has changed since the search began, and that has come to its end: or none ever would."""
        return self._map_has_changed and self._reaches_goal and self.held is None

    def _advance_by(self, cells: int) -> None:
        if cells:
            self.planner.advance_by(cells)
            self._ahead = self._ahead[cells:]

    def _leave_route(self, cell: Cell) -> None:
        self.planner.leave_route(cell)
        self._note_restarts()
        self._look_ahead()

    def _begin_at(self, cell: Cell) -> None:
        """A search that has restarted and not gone on yet begins where the robot is. That is no other restart."""
        self.planner.leave_route(cell)
        self._counted = self.planner.restarts
        self._follower.forget()

    def _note_restarts(self) -> None:
        """Those since the last call. If none of them says that the route to the goal is bad, it is held."""
        counts, before = self.planner.restarts, self._counted
        new = [r for r in counts for _ in range(counts[r] - before[r])]
        if not new:
            return
        self._counted = counts
        self._ticks, self._map_has_changed, self._has_restarted = 0, False, True
        self._restarts += new
        if self._reaches_goal and _ROUTE_IS_STILL_GOOD.issuperset(new):
            self.hold()


_AT_REST = {
    NavigationStatus.IDLE: 'there is no goal',
    NavigationStatus.ARRIVED: 'the goal is reached',
    NavigationStatus.CANCELED: 'the goal was given up',
}
_Outcome: TypeAlias = 'tuple[NavigationStatus, Pose2D | None, str]'


class Navigator:
    """Leads a robot to a goal on a map that changes, moves and grows. To be used by one thread."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._map: MapUpdate | None = None
        self._goal: Pose2D | None = None
        self._target: Cell | None = None  # the goal's cell, or the free one that stands in for it
        self._errand: Replanner | None = None
        self._errands = 0
        self._because: RestartReason | None = None  # why there will be another errand to the same goal
        self._held: HeldRoute | None = None  # for it
        self._spare: TimeBoundedPlanner | None = None  # the last errand's, for its memory
        self._restarts: list[RestartReason] = []
        self._had_pose = False
        self._was_free: Pose2D | None = None  # where the robot was last, without a break, in a cell that is not blocked
        self._rests_as = NavigationStatus.IDLE
        self._stop = False  # the robot is still to be told to stay where it is
        self._waypoint: Pose2D | None = None
        self._shown: object = None  # the plan that was told last

    # -------------------------------------------------------------------------------------------------- requests
    @property
    def settings(self) -> Settings:
        """They may be set to others at any time. Where that needs a new search, the robot goes on along its route until
        the search has caught up."""
        return self._settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        old, self._settings = self._settings, settings
        self._find_target()
        if self._map is None or self._errand is None:
            return
        planner, geometry = self._errand.planner, self._map.geometry
        planner.k = settings.k
        planner.min_improvement = settings.min_improvement
        planner.start_tolerance = whole_cells(settings.start_tolerance_m, geometry)
        planner.goal_tolerance = whole_cells(settings.goal_tolerance_m, geometry)
        self._errand.use_followers(*self._new_followers(self._map))
        if old.algorithm != settings.algorithm or planner.target != self._target:
            self._set_out_again(RestartReason.SETTINGS, self._errand.hold())

    def new_goal(self, goal: Pose2D) -> None:
        """Instead of the old one, if there is one. Within the same cell it needs no new search."""
        old, self._goal, self._stop = self._goal, goal, False
        if self._map is None or old is None or cell_of(self._map.geometry, old) != cell_of(self._map.geometry, goal):
            self._end_errand()
        self._find_target()

    def cancel(self) -> bool:
        """Gives the goal up. False if there is none."""
        if self._goal is None:
            return False
        self._finish(NavigationStatus.CANCELED)
        self._stop = True
        return True

    def arrive(self) -> bool:
        """The robot has reached its goal, as whoever drives it says. False if there is none."""
        if self._goal is None:
            return False
        self._finish(NavigationStatus.ARRIVED)
        return True

    def reset_search(self) -> None:
        """Drops the route and searches afresh from where the robot is."""
        self._held = None
        if self._errand is not None:
            self._set_out_again(RestartReason.REQUESTED, None)

    # -------------------------------------------------------------------------------------------------- what is known
    @property
    def geometry(self) -> MapGeometry | None:
        return None if self._map is None else self._map.geometry

    @property
    def goal(self) -> Pose2D | None:
        return self._goal

    @property
    def planner(self) -> TimeBoundedPlanner | None:
        """The search for a way to the goal, if there is one."""
        return None if self._errand is None else self._errand.planner

    @property
    def way_back(self) -> int:
        """How many of the plan's first moves lead back to a branching point."""
        if self._shown is None or self._errand is None or self._errand.held is not None:
            return 0
        return self._errand.planner.backtracking_length

    @property
    def plan_reaches_goal(self) -> bool:
        """It ends there; or in the cell that stands in for the goal."""
        if self._shown is None or self._errand is None:
            return False
        errand = self._errand
        return errand.reaches_target or (errand.held is None and errand.planner.route_reaches_goal)

    def plan_points(self) -> NDArray[np.float64]:
        """The plan from where the robot is, (n, 2) in metres. The work goes with its length."""
        if self._shown is None or self._errand is None:
            return np.empty((0, 2))
        geometry, route = self._errand.geometry, self._errand.whole_route()
        points = geometry.to_world_array(route)
        if self._goal is not None and self._target == tuple(route[-1].tolist()):
            end = end_of(geometry, self._goal, self._target)
            points[-1] = end.x_m, end.y_m
        return points

    def plan_cells(self) -> NDArray[np.int32]:
        """The plan from where the robot is, x and y in rows. The work goes with its length."""
        if self._shown is None or self._errand is None:
            return np.empty((0, 2), np.int32)
        return self._errand.whole_route()

    @property
    def plan_length(self) -> int:
        """How many moves the plan has from where the robot is."""
        if self._shown is None or self._errand is None:
            return 0
        held = self._errand.held
        return self._errand.planner.route_length if held is None else len(held.cells) - 1

    # -------------------------------------------------------------------------------------------------- a tick
    def tick(
        self, map_update: MapUpdate | None, pose: Pose2D | None, search: Search | None = None, *, map_lost: bool = False
    ) -> Tick:
        """Takes in what is new, searches, and says where to go.

        pose: None if there is none, or none of late. search: how to spend the tick's budget; by default one
        planner.search() with k. map_lost: the map is too old to go on by it.
        """
        self._restarts.clear()
        if map_update is not None:
            self._take_in(map_update)
        status, waypoint, message = self._act(pose, search or TimeBoundedPlanner.search)
        if map_lost and pose is not None and status in _HAS_PLAN:
            status, waypoint, message = NavigationStatus.MAP_LOST, self._old_waypoint(pose), 'the map is too old'
        self._waypoint = waypoint or self._waypoint
        self._had_pose = self._had_pose or pose is not None
        shown = self._plan_to_show(status)
        changed, self._shown = shown != self._shown, shown
        return Tick(status, waypoint, changed, tuple(self._restarts), message)

    def _take_in(self, update: MapUpdate) -> None:
        before, self._map = self._map, update
        if before is None or update.change is None:
            self._move_routes(update)
        elif self._errand is not None:
            self._errand.map_changed(update.grid, update.change)
        elif self._spare is not None:
            self._spare.use_grid(update.grid, update.change)
        if self._held is not None and not self._held.stands(update.grid):
            self._held = None
        self._find_target()

    def _move_routes(self, update: MapUpdate) -> None:
        """Onto another geometry."""
        points_m = None if self._held is None else self._held.points_m
        if self._errand is not None and self._goal is not None:
            points_m = self._errand.points_m((self._goal.x_m, self._goal.y_m))
            self._set_out_again(RestartReason.MAP_MOVED, None)
        self._held = None if points_m is None else HeldRoute.lay(points_m, update.geometry, update.grid)
        self._release_memory()

    def _act(self, pose: Pose2D | None, search: Search) -> _Outcome:
        if self._goal is None or pose is None:
            self._was_free = None
        if self._goal is None:
            return self._rest(pose)
        if self._map is None:
            return NavigationStatus.WAITING_FOR_MAP, None, 'there is no map yet'
        if pose is None and self._had_pose:
            return NavigationStatus.POSE_LOST, None, 'the pose is lost'
        if pose is None:
            return NavigationStatus.WAITING_FOR_POSE, None, 'there is no pose yet'
        return self._lead(self._map, self._goal, pose, search)

    def _rest(self, pose: Pose2D | None) -> _Outcome:
        """Without a goal."""
        waypoint = pose if self._stop else None
        self._stop = self._stop and pose is None
        return self._rests_as, waypoint, _AT_REST[self._rests_as]

    def _lead(self, map_update: MapUpdate, goal: Pose2D, pose: Pose2D, search: Search) -> _Outcome:
        """The robot towards its goal."""
        geometry, target = map_update.geometry, self._target
        size = f'{geometry.width} x {geometry.height} cells of {geometry.resolution_m:g} m'
        free = self._free_cell(map_update, pose)
        if not geometry.contains(cell_of(geometry, goal)):
            return NavigationStatus.GOAL_OUTSIDE_MAP, pose, f'goal {goal} is outside the map of {size}'
        if target is None:
            message = f'goal {goal} is blocked, and so is all within {self._settings.goal_tolerance_m:g} m'
            return NavigationStatus.GOAL_BLOCKED, pose, message
        if not geometry.contains(cell_of(geometry, pose)):
            return NavigationStatus.START_OUTSIDE_MAP, pose, f'the robot at {pose} is outside the map of {size}'
        if free is None:
            message = f'the robot at {pose} is blocked, and {no_way_out(geometry, self._settings.start_tolerance_m)}'
            return NavigationStatus.START_BLOCKED, pose, message
        position, end = geometry.to_grid(pose.x_m, pose.y_m), end_of(geometry, goal, target)
        if self._has_arrived(map_update, goal, pose, target):
            self._finish(NavigationStatus.ARRIVED)
            return NavigationStatus.ARRIVED, end, f'at the goal {goal}'
        errand = self._errand or self._set_out(map_update, goal, free)
        errand.step(position, free, search, self._settings.full_replan_ticks)
        if errand.has_no_path:
            return NavigationStatus.NO_PATH, pose, f'no path leads to the goal {goal} on the present map'
        aim = errand.aim(position, free, geometry.to_grid(end.x_m, end.y_m))
        if aim is None:
            return NavigationStatus.WAITING, pose, 'the search has just begun'
        if (aim.x, aim.y) == position and not aim.at_end:
            return NavigationStatus.WAITING, pose, 'nothing of the route is in sight'
        message = f'{math.dist((pose.x_m, pose.y_m), (goal.x_m, goal.y_m)):.2f} m from the goal {goal}'
        return NavigationStatus.NAVIGATING, end if aim.at_end else _waypoint(geometry, aim), message

    def _free_cell(self, map_update: MapUpdate, pose: Pose2D) -> Cell | None:
        """The robot's own, or its way out of a blocked one. In every tick, whatever becomes of it: where the robot was
        free before tells on which side of an obstacle it is."""
        cell = cell_of(map_update.geometry, pose)
        if not map_update.geometry.contains(cell):
            self._was_free = None
            return None
        free = way_out(map_update, pose, self._settings.start_tolerance_m, self._was_free)
        self._was_free = pose if free == cell else self._was_free
        return free

    def _has_arrived(self, map_update: MapUpdate, goal: Pose2D, pose: Pose2D, target: Cell) -> bool:
        """Within the tolerance of the goal; of a cell that stands in for it half of that has to do, since it is up to
        the whole away from the goal. The robot has to see it: it may be behind a wall."""
        end, tolerance_m = end_of(map_update.geometry, goal, target), self._settings.goal_tolerance_m
        if target != cell_of(map_update.geometry, goal):
            if target == cell_of(map_update.geometry, pose):
                return True
            tolerance_m /= 2
        if math.dist((pose.x_m, pose.y_m), (end.x_m, end.y_m)) > tolerance_m:
            return False
        here, there = (map_update.geometry.to_grid(p.x_m, p.y_m) for p in (pose, end))
        return clear(map_update.grid.cost_u16, *here, *there)

    def _old_waypoint(self, pose: Pose2D) -> Pose2D:
        """If it is still in sight."""
        if self._map is None or self._waypoint is None:
            return pose
        here, there = (self._map.geometry.to_grid(p.x_m, p.y_m) for p in (pose, self._waypoint))
        return self._waypoint if clear(self._map.grid.cost_u16, *here, *there) else pose

    def _plan_to_show(self, status: NavigationStatus) -> object:
        if self._errand is None or status not in _HAS_PLAN:
            return None
        return self._errands, self._errand.version

    # -------------------------------------------------------------------------------------------------- errands
    def _find_target(self) -> None:
        """The goal's cell, or the free one that stands in for it, if any."""
        self._target = None
        if self._map is None or self._goal is None:
            return
        geometry, cell = self._map.geometry, cell_of(self._map.geometry, self._goal)
        if geometry.contains(cell):
            tolerance = whole_cells(self._settings.goal_tolerance_m, geometry)
            self._target = self._map.grid.nearest_free(cell, tolerance)

    def _set_out(self, map_update: MapUpdate, goal: Pose2D, start: Cell) -> Replanner:
        """O(1): the search's memory is that of the last one, or what the grid has prepared."""
        settings, geometry = self._settings, map_update.geometry
        self._release_memory()
        planner = TimeBoundedPlanner(
            map_update.grid,
            start,
            cell_of(geometry, goal),
            settings.algorithm,
            settings.k,
            trace_steps=None if settings.algorithm.reopen else TRACE_STEPS,
            min_improvement=settings.min_improvement,
            start_tolerance=whole_cells(settings.start_tolerance_m, geometry),
            goal_tolerance=whole_cells(settings.goal_tolerance_m, geometry),
        )
        if self._because is not None:
            self._restarts.append(self._because)
        self._errand = Replanner(planner, geometry, self._new_followers(map_update), self._held, self._restarts)
        self._errands += 1
        self._because = self._held = None
        return self._errand

    def _set_out_again(self, because: RestartReason, held: HeldRoute | None) -> None:
        """In the next tick, for the same goal; until the new search has caught up the robot follows what is held."""
        self._end_errand()
        self._because, self._held = because, held

    def _end_errand(self) -> None:
        self._spare = self._spare if self._errand is None else self._errand.planner
        self._errand = self._because = self._held = None

    def _release_memory(self) -> None:
        """To the grid it belongs to, for the next search there, or to be freed with it by whoever drops it last."""
        if self._spare is not None:
            self._spare.release()
            self._spare = None

    def _finish(self, status: NavigationStatus) -> None:
        self._end_errand()
        self._goal = self._target = None
        self._rests_as = status

    def _new_followers(self, map_update: MapUpdate) -> tuple[Follower, Follower]:
        """One for the search's route, one for a held one; the robot goes on towards its waypoint, if it is on them."""
        return self._new_follower(map_update), self._new_follower(map_update)

    def _new_follower(self, map_update: MapUpdate) -> Follower:
        cell_m, old = map_update.geometry.resolution_m, self._waypoint
        follower = Follower(
            waypoint_distance=self._settings.waypoint_distance_m / cell_m,
            deviation_tolerance=self._settings.deviation_tolerance_m / cell_m,
            corner_cutting=map_update.grid.corner_cutting,
        )
        follower.take_over(None if old is None else map_update.geometry.to_grid(old.x_m, old.y_m))
        return follower


def way_out(map_update: MapUpdate, pose: Pose2D, tolerance_m: float, came_from: Pose2D | None = None) -> Cell | None:
    """The cell of a robot on the map, or the one to leave a blocked one by; came_from: where it was free of late."""
    position = map_update.geometry.to_grid(pose.x_m, pose.y_m)
    before = None if came_from is None else map_update.geometry.to_grid(came_from.x_m, came_from.y_m)
    return find_escape_cell(map_update, position, whole_cells(tolerance_m, map_update.geometry), before)


def no_way_out(geometry: MapGeometry, tolerance_m: float) -> str:
    """All may be blocked there, or it cannot be told on which side of an obstacle the robot is."""
    within_m = min(tolerance_m, FARTHEST * geometry.resolution_m)
    return f'nothing free within {within_m:g} m is surely on its side of obstacles'


def cell_of(geometry: MapGeometry, pose: Pose2D) -> Cell:
    return geometry.cell_at(pose.x_m, pose.y_m)


def end_of(geometry: MapGeometry, goal: Pose2D, target: Cell) -> Pose2D:
    """Where exactly the way ends."""
    if target == cell_of(geometry, goal):
        return goal
    x_m, y_m = geometry.centre_of(target)
    return Pose2D(x_m, y_m, goal.yaw)


def _waypoint(geometry: MapGeometry, aim: Aim) -> Pose2D:
    x_m, y_m = geometry.to_world(aim.x, aim.y)
    return Pose2D(x_m, y_m, math.remainder(aim.heading + geometry.yaw, math.tau))


def whole_cells(distance_m: float, geometry: MapGeometry) -> int:
    return math.floor(distance_m / geometry.resolution_m + _ROUNDING)


ON_THE_WAY = (NavigationStatus.NAVIGATING, NavigationStatus.WAITING)
SAME_CELLS = 0.5
"""Routes that differ nowhere by more than this, in cells, are the same: a map may have moved by part of a cell."""


@dataclass(frozen=True, eq=False)
class GivenPath:
    """It is known by its identity."""

    points_m: NDArray[np.float64]
    """(n, 2), at least two, to the goal."""
    goal: Pose2D


class ControllerPathPolicy:
    """Asked after every tick; `path` is what the controller is to follow, None if the robot is to stand still.

    A plan that does not reach the goal yet is not given. While it is sought, the controller keeps what it has, as long
    as that is free as far ahead as a waypoint would be: robots do not brake for what is blocked far away.
    """

    def __init__(self) -> None:
        self.path: GivenPath | None = None
        self._is_plan = False  # what is left of the path is the navigator's plan

    def tick(self, navigator: Navigator, tick: Tick, pose: Pose2D | None) -> GivenPath | None:
        """The path from now on. The work goes with the plan's length, but only in ticks that change it."""
        goal, geometry = navigator.goal, navigator.geometry
        if pose is None or goal is None or geometry is None or tick.status not in ON_THE_WAY:
            self.path, self._is_plan = None, False
        elif tick.plan_changed or not self._is_plan or self.path is None or self.path.goal != goal:
            self._decide(navigator, goal, geometry, pose)
        if navigator.settings.algorithm.restart == 'never' and geometry is not None and pose is not None:
            self._look_ahead(navigator, geometry, pose)
        return self.path

    def _look_ahead(self, navigator: Navigator, geometry: MapGeometry, pose: Pose2D) -> None:
        """Where the rule is never to restart, a plan stays as it is when it gets blocked."""
        if self.path is not None and not _is_free(self.path, navigator, geometry, pose):
            self.path, self._is_plan = None, False

    def reset(self) -> None:
        """The controller has given up. The next path begins where the robot is: one that begins looks for it on the
        first metres of a path only."""
        self.path, self._is_plan = None, False

    def _decide(self, navigator: Navigator, goal: Pose2D, geometry: MapGeometry, pose: Pose2D) -> None:
        points_m, given = navigator.plan_points(), self.path
        whole, tolerance_m = navigator.plan_reaches_goal, SAME_CELLS * geometry.resolution_m
        if given is not None and given.goal == goal:
            self._is_plan = whole and _is_left_of(points_m, given, tolerance_m)
            if self._is_plan:
                return
        if whole:
            self.path, self._is_plan = GivenPath(_two_at_least(points_m, pose), goal), True
        elif given is not None and not _is_free(given, navigator, geometry, pose):
            self.path = None


def thinned(points_m: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The same line with about so many points: of more, some are left out where it goes straight on. Where it turns
    they stay, or it would cut corners."""
    apart = -(-len(points_m) // most)
    steps = np.diff(points_m, axis=0)
    kept = np.ones(len(points_m), bool)
    kept[1:-1] = ~np.isclose(steps[1:], steps[:-1]).all(axis=1)
    kept[::apart] = True
    return points_m[kept]


def _two_at_least(points_m: NDArray[np.float64], pose: Pose2D) -> NDArray[np.float64]:
    """Where the robot is in the goal's cell already, from where it is."""
    return points_m if len(points_m) > 1 else np.vstack(((pose.x_m, pose.y_m), points_m))


def _is_left_of(points_m: NDArray[np.float64], given: GivenPath, tolerance_m: float) -> bool:
    """Whether the points are the end of a path."""
    left = given.points_m[-len(points_m) :]
    return left.shape == points_m.shape and bool((np.hypot(*(left - points_m).T) <= tolerance_m).all())


def _is_free(given: GivenPath, navigator: Navigator, geometry: MapGeometry, pose: Pose2D) -> bool:
    """Where the robot is on the path and for as far as waypoints go."""
    if navigator.planner is None:
        return False
    nearest = int(_distances(given.points_m, np.array((pose.x_m, pose.y_m))).argmin())
    ahead = given.points_m[nearest:]
    lengths = np.hypot(*np.diff(ahead, axis=0).T).cumsum()
    ahead = ahead[: np.searchsorted(lengths, navigator.settings.waypoint_distance_m) + 2]
    x, y = np.floor(geometry.to_grid_array(ahead)).astype(np.int64).T
    if x.min() < 0 or y.min() < 0 or x.max() >= geometry.width or y.max() >= geometry.height:
        return False
    return bool((navigator.planner.grid.cost_u16[y, x] != BLOCKED).all())


def _distances(points_m: NDArray[np.float64], place_m: NDArray[np.float64]) -> NDArray[np.float64]:
    distances: NDArray[np.float64] = np.hypot(*(points_m - place_m).T)
    return distances
