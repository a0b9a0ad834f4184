"""PlannerLoop: one tick of the planner, without ROS and without a clock of its own.

The node, the bag replay, the benchmarks and the tests all run this loop; they differ in where maps, poses and goals
come from, and in what they do with the TickResult.
"""

from __future__ import annotations

import math
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Pose2D
from tb_planner.maps.live_map import LiveMap, MapUpdate
from tb_planner.maps.map_worker import INCOMPLETE, Log, MapIntake
from tb_planner.navigation.navigator import Navigator, Search, Settings, Tick
from tb_planner.search.planner import TickBudget

NO_PLAN: NDArray[np.float64] = np.empty((0, 2))
REGULAR_ARRIVALS, MAX_IRREGULAR = 10, 4
"""Maps are periodic once this number of them have come regularly, and until that number of the last ones have not."""
SAME_ARRIVAL_S = 0.5
"""Maps and updates that come within this time count as one."""
OVERDUE_PERIODS, OVERDUE_S = 5, 3.0
"""A periodic map is overdue if it is older than both: this number of periods, and this time."""


@dataclass(frozen=True)
class LoopSettings:
    """What may be changed between two ticks; config.PlannerParameters derives it."""

    navigation: Settings
    expansions_per_tick: int
    """0 searches for search_time_s instead."""
    search_time_s: float
    map_timeout_s: float
    """A map older than this is lost; 0 is never."""
    cleared_map_timeout_s: float
    path_tolerance_m: float


class PoseSource(Protocol):
    """The source of the robot's pose in the map's frame."""

    def latest(self, now_s: float) -> Pose2D | None:
        """The newest pose; None if there is none, or if it is too old."""

    def why_none(self, now_s: float) -> str:
        """Why latest() returns None; empty if there has never been a pose."""

    def age_s(self, now_s: float) -> float | None: ...

    def forget(self) -> None:
        """Drops the pose: the map's frame has changed."""

    def clock_jumped(self, now_s: float) -> None:
        """Counts ages from now on."""


class ReceivedPose:
    """The last pose that arrived as a message. Its age counts from its receipt: the clocks of computers differ."""

    def __init__(self, timeout_s: float) -> None:
        """timeout_s: a pose older than this is lost; 0 is never."""
        self.timeout_s = timeout_s
        self._pose: Pose2D | None = None
        self._received_s = 0.0

    def take(self, pose: Pose2D, now_s: float) -> None:
        self._pose, self._received_s = pose, now_s

    def latest(self, now_s: float) -> Pose2D | None:
        age_s = self.age_s(now_s)
        return None if age_s is None or age_s > (self.timeout_s or math.inf) else self._pose

    def why_none(self, now_s: float) -> str:
        age_s = self.age_s(now_s)
        return '' if age_s is None else f'the pose is {age_s:.1f} s old, more than {self.timeout_s} s (pose_timeout_s)'

    def age_s(self, now_s: float) -> float | None:
        if self._pose is None:
            return None
        self._received_s = min(self._received_s, now_s)  # the clock may have been set back
        return now_s - self._received_s

    def forget(self) -> None:
        self._pose = None

    def clock_jumped(self, now_s: float) -> None:
        self._received_s = now_s


class TickRecorder(Protocol):
    """Records the run tick by tick."""

    def searching(self, search: Search | None) -> Search: ...

    def see(
        self, navigator: Navigator, tick: Tick, update: MapUpdate | None, pose: Pose2D | None, time_s: float
    ) -> None: ...


@dataclass(frozen=True, eq=False)
class TickContext:
    """What a tick knows when it serves path requests."""

    now_s: float
    frame: str
    pose: Pose2D | None
    map: MapUpdate | None
    """The newest map; None if there is none yet."""
    map_update: MapUpdate | None
    """The same if it is new in this tick, else None."""
    map_lost: bool
    maps_taken: int
    """How many maps and map updates have arrived, also those that changed nothing."""


class PathHandler(Protocol):
    """Serves requests for paths, such as those of one of Nav2's actions."""

    @property
    def has_request(self) -> bool:
        """Whether a request waits for its path."""

    @property
    def has_path(self) -> bool:
        """Whether the last path that was found is still valid."""

    def use_settings(self, settings: LoopSettings) -> None: ...

    def forget(self) -> None:
        """Drops paths and searches: the map's frame has changed."""

    def rest(self) -> None:
        """Drops searches, of which nobody waits for one."""

    def tick(self, context: TickContext, budget: TickBudget) -> None: ...


@dataclass(frozen=True, eq=False)
class TickResult:
    """What a tick has to publish, and what went into it."""

    frame: str
    tick: Tick | None
    """Waypoint, status and restarts; None if the tick failed: the next one starts over, with the same goal."""
    plan_m: NDArray[np.float64] | None
    """The points of the plan if it has changed, else None."""
    plan_yaw: float | None
    """The heading at the plan's end, if that is the goal."""
    pose: Pose2D | None
    map_update: MapUpdate | None
    map_received_s: float | None
    expansions: int


class ClearedMapGuard:
    """Keeps a map that has lost most of its obstacles waiting: a costmap that was cleared gets them back soon.

    The time counts from the first tick that finds such a map; any other map ends it.
    """

    def __init__(self, timeout_s: float, log: Log) -> None:
        self.timeout_s = timeout_s
        self._log = log
        self._since_s: float | None = None

    def newest(self, live_map: LiveMap, now_s: float, *, may_wait: bool) -> MapUpdate | None:
        """Returns the newest map if there is one, unless it is a cleared one and the tick may wait for a better one."""
        may_wait = may_wait and self.timeout_s > 0
        update = live_map.latest(leave_cleared=may_wait)
        if not may_wait or update is not None or not live_map.offers_cleared:
            self._since_s = None
            return update
        if self._since_s is None:
            self._since_s = now_s
            text = f'the map has lost most of its obstacles; it is used in {self.timeout_s:g} s unless they come back'
            self._log.warn('cleared', text)
        return None if now_s - self._since_s < self.timeout_s else live_map.latest()

    def clock_jumped(self) -> None:
        self._since_s = None


class MapRhythm:
    """Learns the period of maps that come periodically, and so from when on the next one is overdue.

    The period is the median of the last ten times between arrivals. It is learned when all of them are between half and
    twice the median, and forgotten when MAX_IRREGULAR are not, or when an overdue map comes. A map that comes once, or
    whenever something has changed, has no period. Times in which messages were lost do not count: they are not the
    publisher's.
    """

    def __init__(self) -> None:
        self.period_s: float | None = None
        self._last_s: float | None = None
        self._times_s: deque[float] = deque(maxlen=REGULAR_ARRIVALS)

    def arrived(self, now_s: float, *, some_were_lost: bool) -> None:
        if self._last_s is None or some_were_lost:
            self._last_s = now_s
            return
        time_s = now_s - self._last_s
        if time_s < SAME_ARRIVAL_S:
            return
        self._last_s = now_s
        if self.is_overdue(time_s):
            self.period_s = None
            self._times_s.clear()
            return
        self._times_s.append(time_s)
        median_s = median(self._times_s)
        regular = sum(median_s / 2 <= one_s <= 2 * median_s for one_s in self._times_s)
        if regular == REGULAR_ARRIVALS:
            self.period_s = median_s
        elif len(self._times_s) - regular >= MAX_IRREGULAR:
            self.period_s = None

    def clock_jumped(self) -> None:
        self._last_s = None

    def is_overdue(self, age_s: float) -> bool:
        return self.period_s is not None and age_s > max(OVERDUE_PERIODS * self.period_s, OVERDUE_S)


class PlannerLoop:
    """Leads a robot to its goal and serves path requests, tick by tick, on one thread.

    maps, poses = MapIntake(parameters.map_settings(), log), ReceivedPose(parameters.pose_timeout_s)
    loop = PlannerLoop(parameters.loop_settings(), maps, poses, log, perf_counter)
    loop.navigator.new_goal(Pose2D(3.0, 4.0))
    result = loop.tick(now_s)
    """

    def __init__(
        self,
        settings: LoopSettings,
        maps: MapIntake,
        poses: PoseSource,
        log: Log,
        clock: Callable[[], float],
    ) -> None:
        """clock: times the search within a tick; all other times are the now_s of whoever ticks."""
        self.navigator = Navigator(settings.navigation)
        self.path_handlers: Sequence[PathHandler] = ()
        self.recorder: TickRecorder | None = None
        self.maps = maps
        self.frame = maps.source.frame
        """The map's frame; poses and goals have to be in it."""
        self.map: MapUpdate | None = None
        """The newest map that a tick has used."""
        self.pose: Pose2D | None = None
        """The robot's pose in the last tick."""
        self._settings = settings
        self._poses = poses
        self._log = log
        self._budget = TickBudget(
            clock, search_time_s=settings.search_time_s, expansions_per_tick=settings.expansions_per_tick
        )
        self._early_budget = TickBudget(clock)  # of requests between two ticks; the next tick has less for requests
        self._cleared_maps = ClearedMapGuard(settings.cleared_map_timeout_s, log)
        self._rhythm = MapRhythm()
        self._maps_seen = 0
        self._messages_lost = 0
        self._map_s: float | None = None  # when a tick first found it
        self._must_start_over = False

    @property
    def settings(self) -> LoopSettings:
        """The settings; new ones may be set between two ticks."""
        return self._settings

    @settings.setter
    def settings(self, settings: LoopSettings) -> None:
        self._settings = settings
        self.navigator.settings = settings.navigation
        self._budget.search_time_s = settings.search_time_s
        self._budget.expansions_per_tick = settings.expansions_per_tick
        self._cleared_maps.timeout_s = settings.cleared_map_timeout_s
        for handler in self.path_handlers:
            handler.use_settings(settings)

    # -------------------------------------------------------------------------------------------------- a tick
    def tick(self, now_s: float) -> TickResult:
        """Takes the newest map and the pose, leads the robot towards its goal, and serves path requests."""
        self._budget.begin_tick((self.navigator.goal is not None) + sum(one.has_request for one in self.path_handlers))
        tick, pose, map_update, plan_m, received_s = None, None, None, None, self.maps.received_s
        try:
            source = self.maps.source  # read once: the worker may replace it during the tick
            if source.frame != self.frame:
                self._change_frame(source.frame)
                plan_m = NO_PLAN
            map_update = self._newest_map(source.live_map, now_s)
            self.pose = pose = self._newest_pose(now_s)
            map_lost = self._map_is_lost(now_s)
            if not map_lost and (problem := self._overdue(now_s)):
                self._log.warn('map_age', problem, same='overdue')
            for_navigator = self._replace_navigator() if self._must_start_over else map_update
            search: Search | None = None
            if self.navigator.goal is not None:
                search = self._budget.share().search_for  # the time for the map counts, too
            if self.recorder is not None:
                search = self.recorder.searching(search)
            tick = self.navigator.tick(for_navigator, pose, search, map_lost=map_lost)
            self._record(tick, for_navigator, pose, now_s)
            if tick.plan_changed:
                plan_m = self.navigator.plan_points()
        except Exception:
            self._log.error('tick', f'this tick has no waypoint: {traceback.format_exc()}')
            self.start_over()
        if self.path_handlers:
            self._budget.charge(self._early_budget)
            map_lost = self._map_is_lost(now_s)
            context = TickContext(now_s, self.frame, pose, self.map, map_update, map_lost, self._maps_seen)
            for handler in self.path_handlers:
                handler.tick(context, self._budget)
            self._refill_early_budget()
        plan_yaw = None if plan_m is None else self._yaw_at_end(plan_m)
        return TickResult(self.frame, tick, plan_m, plan_yaw, pose, map_update, received_s, self._budget.expansions)

    def serve_requests(self, now_s: float, time_s: float) -> None:
        """Serves path requests between two ticks: one whose path is known has its result at once, and the search for
        another one begins. All this together spends no more than the requests' part of one tick's budget, which the
        next tick takes into account, and no more than time_s. A map that no tick has seen yet is left to the next
        tick."""
        if self.maps.taken != self._maps_seen or self.maps.source.frame != self.frame or self._must_start_over:
            return
        self._early_budget.go_on(sum(one.has_request for one in self.path_handlers), time_s)
        pose, map_lost = self._poses.latest(now_s), self._map_is_lost(now_s)
        context = TickContext(now_s, self.frame, pose, self.map, None, map_lost, self._maps_seen)
        for handler in self.path_handlers:
            handler.tick(context, self._early_budget)

    @property
    def is_idle(self) -> bool:
        """Whether there is neither a goal nor a request."""
        return self.navigator.goal is None and not any(one.has_request for one in self.path_handlers)

    def rest(self) -> None:
        """Leaves the memory of all searches to the grid, while the loop is idle."""
        for handler in self.path_handlers:
            handler.rest()

    def _refill_early_budget(self) -> None:
        """A goal of the navigator's leaves half of the budget to requests."""
        shares = 1 + (self.navigator.goal is not None)
        self._early_budget.search_time_s = self._budget.search_time_s / shares
        self._early_budget.expansions_per_tick = -(-self._budget.expansions_per_tick // shares)
        self._early_budget.begin_tick()

    def _newest_map(self, live_map: LiveMap, now_s: float) -> MapUpdate | None:
        if self.maps.taken != self._maps_seen:
            self._maps_seen, self._map_s = self.maps.taken, now_s
            lost = self.maps.lost_maps + self.maps.lost_patches
            self._rhythm.arrived(now_s, some_were_lost=lost != self._messages_lost)
            self._messages_lost = lost
        update = self._cleared_maps.newest(live_map, now_s, may_wait=self._may_wait())
        if update is not None:
            self.map = update.without_change()
        return update

    def _newest_pose(self, now_s: float) -> Pose2D | None:
        pose = self._poses.latest(now_s)
        if pose is None and self.navigator.goal is not None and (reason := self._poses.why_none(now_s)):
            self._log.warn('pose_age', f'{reason}; no waypoint is published', same='old')
        return pose

    def _map_is_lost(self, now_s: float) -> bool:
        age_s, timeout_s = self.map_age_s(now_s), self._settings.map_timeout_s
        if age_s is None or timeout_s == 0 or age_s <= timeout_s:
            return False
        if self.navigator.goal is not None:
            text = f'the map is {age_s:.1f} s old, more than {timeout_s} s (map_timeout_s); the last waypoint is held'
            self._log.warn('map_age', text, same='old')
        return True

    def _may_wait(self) -> bool:
        """Whether nobody needs the next map at once: every goal and request has a path already."""
        has_path = [self.navigator.plan_reaches_goal] if self.navigator.goal is not None else []
        has_path += [handler.has_path for handler in self.path_handlers if handler.has_request or handler.has_path]
        return bool(has_path) and all(has_path) and not self._must_start_over

    def _record(self, tick: Tick, map_update: MapUpdate | None, pose: Pose2D | None, now_s: float) -> None:
        if self.recorder is None:
            return
        try:
            self.recorder.see(self.navigator, tick, map_update, pose, now_s)
        except Exception:  # a record must not keep the robot from its goal
            self._log.error('record', f'the run is not recorded any more: {traceback.format_exc()}')
            self.recorder = None

    def _yaw_at_end(self, plan_m: NDArray[np.float64]) -> float | None:
        goal, geometry = self.navigator.goal, self.navigator.geometry
        if goal is None or geometry is None or len(plan_m) == 0:
            return None
        return goal.yaw if math.dist(plan_m[-1], (goal.x_m, goal.y_m)) <= geometry.resolution_m else None

    # -------------------------------------------------------------------------------------------------- events
    def start_over(self) -> None:
        """Makes the next tick lead to the same goal with a new navigator: after an error the present one may be in any
        state."""
        self._must_start_over = True

    def _replace_navigator(self) -> MapUpdate | None:
        """A new navigator with the same goal. Returns the map as if all of it were new."""
        self._must_start_over = False
        self.navigator = self.navigator.replacement()
        return self.map

    def _change_frame(self, frame: str) -> None:
        """Drops map, route, pose and goal: nothing is known about where the old frame lies in the new one."""
        before = 'the map before was in' if self.map is not None else 'global_frame is'
        text = f'the map is in frame {frame!r}, {before} {self.frame!r}: map, route, pose and goal are dropped'
        self._log.error('frame', text)
        self.frame, self.map = frame, None
        self.navigator = Navigator(self._settings.navigation)
        self._poses.forget()
        for handler in self.path_handlers:
            handler.forget()

    def clock_jumped(self, now_s: float) -> None:
        """Counts the ages of map and pose from now on."""
        if self._map_s is not None:
            self._map_s = now_s
        self._rhythm.clock_jumped()
        self._cleared_maps.clock_jumped()
        self._poses.clock_jumped(now_s)

    def map_problems(self, now_s: float) -> list[str]:
        """Why the map may not show what is there; empty if there is no reason to think so."""
        problems = self._overdue(now_s), INCOMPLETE if self.maps.is_incomplete else ''
        return [problem for problem in problems if problem]

    def _overdue(self, now_s: float) -> str:
        """The warning that the map is overdue; empty if it is not, or if nobody drives by it: some maps come only while
        the robot moves."""
        age_s, period_s = self.map_age_s(now_s), self._rhythm.period_s
        if age_s is None or period_s is None or not self._rhythm.is_overdue(age_s) or not self._has_goals():
            return ''
        return f'the map is {age_s:.1f} s old; it came every {period_s:.1f} s: the robot may be led by an outdated map'

    def _has_goals(self) -> bool:
        return self.navigator.goal is not None or any(one.has_request or one.has_path for one in self.path_handlers)

    def map_age_s(self, now_s: float) -> float | None:
        """How long ago a tick found the newest map or map update; None before the first one."""
        return None if self._map_s is None else max(now_s - self._map_s, 0.0)
