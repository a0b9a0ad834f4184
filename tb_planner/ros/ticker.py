"""One tick of the node: the newest map and pose in, a search, a waypoint out."""

from __future__ import annotations

import math
import traceback
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D
from tb_planner.maps.live_map import LiveMap, MapUpdate
from tb_planner.maps.map_worker import MapWorker
from tb_planner.navigation.budget import SearchBudget, TickBudget
from tb_planner.navigation.navigator import Navigator, Tick
from tb_planner.navigation.path_planner import FoundPath
from tb_planner.recording import Recorder
from tb_planner.ros.cleared_map_guard import ClearedMapGuard
from tb_planner.ros.path_actions import ComputePathHandler, TickContext
from tb_planner.ros.pose_source import PoseSource
from tb_planner.ros.publishers import Publishers
from tb_planner.ros.rviz import RestartPlace
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.search.algorithms import RestartReason

NO_PLAN = np.empty((0, 2))
MOST_RESTARTS = 50
"""Whose places are kept, to be shown."""


class Ticker:
    """Asks worker and pose source for what is new, the navigator what to do, and publishes that."""

    def __init__(
        self,
        parameters: PlannerParameters,
        worker: MapWorker,
        outputs: Publishers,
        problems: ThrottledLog,
        now_s: Callable[[], float],
    ) -> None:
        self.frame = parameters.global_frame
        """The map's, in which all that is heard and said has to be."""
        self.navigator = Navigator(parameters.settings())
        self.desks: Sequence[ComputePathHandler] = ()
        """Where paths are asked for."""
        self.recorder: Recorder | None = None
        self.waypoint: Pose2D | None = None
        self.restarts: Counter[RestartReason] = Counter()
        self.restart_places: deque[RestartPlace] = deque(maxlen=MOST_RESTARTS)
        """The last ones."""
        self.expansions = 0
        """In the last tick."""
        self.map_to_waypoint_ms: float | None = None
        """From the receipt of a map to the first waypoint that knows of it."""
        self._parameters = parameters
        self._worker = worker
        self._outputs = outputs
        self._problems = problems
        self._now_s = now_s
        self._budget = SearchBudget(parameters.search_time_s)
        self._patience = ClearedMapGuard(parameters.cleared_map_timeout_s, problems, now_s)
        self._maps_seen = 0
        self._map_s: float | None = None
        self._update: MapUpdate | None = None
        self._news: MapUpdate | None = None  # the update of this tick
        self._failed = False

    def change(self, parameters: PlannerParameters) -> None:
        """Other parameters, from the next tick on."""
        self._parameters = parameters
        self.navigator.settings = parameters.settings()
        self._budget.search_time_s = parameters.search_time_s
        self._patience.limit_s = parameters.cleared_map_timeout_s
        for desk in self.desks:
            desk.change(parameters)

    @property
    def newest_map(self) -> MapUpdate | None:
        """To be read by the thread of the ticks."""
        return self._update

    def tick(self, poses: PoseSource) -> Tick | None:
        """None if it failed: then the next one searches afresh, to the same goal."""
        tick, self._news = None, None
        asked = sum(desk.is_asked for desk in self.desks)
        shares = TickBudget(
            self._budget, self._parameters.expansions_per_tick, (self.navigator.goal is not None) + asked
        )
        try:
            tick = self._navigate(poses, shares)
            self._publish(tick)
        except Exception:
            self._problems.error('tick', f'no waypoint in this tick: {traceback.format_exc()}')
            self._failed = True
        if self.desks:
            self._answer_requests(poses, shares)
        self.expansions = shares.expansions
        return tick

    def stop(self, pose: Pose2D | None) -> None:
        """The robot stays where it is, and the plan is gone."""
        if self.navigator.goal is not None and pose is not None:
            self._lead_to(pose)
        self._outputs.plan(NO_PLAN, self.frame, None)

    def map_age_s(self) -> float | None:
        return None if self._map_s is None else max(self._now_s() - self._map_s, 0.0)

    def clock_jumped(self) -> None:
        """The map's age counts from now on."""
        if self._map_s is not None:
            self._map_s = self._now_s()
        self._patience.forget()

    def distance_to_goal_m(self, pose: Pose2D | None) -> float | None:
        """Along the plan, and straight on from its end if it does not reach the goal yet."""
        goal = self.navigator.goal
        if goal is None or pose is None:
            return None
        points = np.vstack([(pose.x_m, pose.y_m), self.navigator.plan_points(), (goal.x_m, goal.y_m)])
        return float(np.hypot(*np.diff(points, axis=0).T).sum())

    def _navigate(self, poses: PoseSource, shares: TickBudget) -> Tick:
        source = self._worker.source
        if source.frame != self.frame:
            self._change_frame(source.frame)
            poses.forget()
        if self._worker.maps != self._maps_seen:
            self._maps_seen, self._map_s = self._worker.maps, self._now_s()
        received_s = self._worker.newest_received_s
        update = self._new_map(source.live_map)
        pose = poses.latest()
        if pose is None and self.navigator.goal is not None and (reason := poses.why_none()):
            self._problems.warn('pose_age', f'{reason}; no waypoint is given', same='old')
        search = shares.spend if self.recorder is None else self.recorder.searching(shares.spend)
        tick = self.navigator.tick(update, pose, search, map_lost=self._map_is_lost())
        if self.recorder is not None:
            self._record(self.recorder, tick, update, pose)
        if tick.restarts and pose is not None:
            self.restart_places.append(RestartPlace(pose, ', '.join(tick.restarts)))
        if update is not None and tick.waypoint is not None and received_s is not None:
            self.map_to_waypoint_ms = (perf_counter() - received_s) * 1e3
        return tick

    def _record(self, recorder: Recorder, tick: Tick, update: MapUpdate | None, pose: Pose2D | None) -> None:
        try:
            recorder.see(self.navigator, tick, update, pose, self._now_s())
        except Exception:  # what is only to be looked at must not keep the robot from its way
            self._problems.error('record', f'the run is not recorded any more: {traceback.format_exc()}')
            self.recorder = None

    def _answer_requests(self, poses: PoseSource, shares: TickBudget) -> None:
        around = TickContext(self._update, self.frame, poses, self._map_is_lost(), self._outputs.stamp())
        for desk in self.desks:
            desk.tick(self._news, around, shares)

    def show_path(self, path: FoundPath, frame: str, last_yaw: float) -> None:
        """A path that was asked for, as Nav2's planner server shows it; unless the plan is the robot's own."""
        if self.navigator.goal is None:
            self._outputs.plan(path.points_m, frame, last_yaw)

    def _new_map(self, live_map: LiveMap) -> MapUpdate | None:
        """What is new; all is, to a new navigator after a tick that failed halfway."""
        self._news = update = self._patience.newest(live_map, may_wait=self._may_wait())
        self._update = update or self._update
        if not self._failed:
            return update
        self._failed = False
        goal, self.navigator = self.navigator.goal, Navigator(self._parameters.settings())
        if goal is not None:
            self.navigator.new_goal(goal)
        return replace(self._update, change=None) if self._update is not None else None

    def _may_wait(self) -> bool:
        """For a better map: all that search have a way already."""
        ways = [self.navigator.plan_reaches_goal] if self.navigator.goal is not None else []
        ways += [desk.has_path for desk in self.desks if desk.is_asked or desk.has_path]
        return bool(ways) and all(ways) and not self._failed

    def _map_is_lost(self) -> bool:
        age_s, limit_s = self.map_age_s(), self._parameters.map_timeout_s
        if age_s is None or limit_s == 0 or age_s <= limit_s:
            return False
        if self.navigator.goal is not None:
            text = f'map is {age_s:.1f} s old, more than {limit_s} s; holding the last waypoint'
            self._problems.warn('map_age', text, same='old')
        return True

    def _change_frame(self, frame: str) -> None:
        before = 'before in' if self._update is not None else 'global_frame is'
        text = f'the map is in frame {frame!r}, {before} {self.frame!r}: map, route, pose and goal are dropped'
        self._problems.error('frame', text)
        self._outputs.plan(NO_PLAN, self.frame, None)
        self.frame = frame
        self._update = None
        self.restart_places.clear()
        self.navigator = Navigator(self._parameters.settings())
        for desk in self.desks:
            desk.forget()

    def _publish(self, tick: Tick) -> None:
        if tick.waypoint is not None:
            self.waypoint = tick.waypoint
            self._lead_to(tick.waypoint)
        if tick.plan_changed:
            points_m = self.navigator.plan_points()
            self._outputs.plan(points_m, self.frame, self._last_yaw(points_m[-1:]))
        self.restarts.update(tick.restarts)

    def _lead_to(self, waypoint: Pose2D) -> None:
        """Unless it is another who drives."""
        if self._parameters.output == 'waypoint':
            self._outputs.waypoint(waypoint, self.frame)

    def _last_yaw(self, last_point_m: np.ndarray) -> float | None:
        """The goal's, if the plan ends there."""
        goal, geometry = self.navigator.goal, self.navigator.geometry
        if goal is None or geometry is None or len(last_point_m) == 0:
            return None
        there = math.dist(last_point_m[0], (goal.x_m, goal.y_m)) <= geometry.resolution_m
        return goal.yaw if there else None
