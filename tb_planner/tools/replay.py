"""A bag through the planner: the navigator ticks as the node would have done, with what the bag heard.

The robot goes where it went; what comes out is what the planner would have said to it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D
from tb_planner.maps.cdr import Occupancy, Patch
from tb_planner.maps.live_map import LiveMap, MapUpdate
from tb_planner.navigation.budget import SearchBudget
from tb_planner.navigation.navigator import NavigationStatus, Navigator, Search, Tick
from tb_planner.recording import Recorder
from tb_planner.search.algorithms import RestartReason
from tb_planner.search.planner import TimeBoundedPlanner
from tb_planner.tools.bags import Bag, BagError, Goal
from tb_planner.tools.bags.bag import What

MOST_TICKS = 10**7
_SAME_TIME_S = 1e-6


class ReplayedTick(NamedTuple):
    """A tick, and what went into it."""

    time_s: float
    pose: Pose2D | None
    goal: Pose2D | None
    update: MapUpdate | None
    tick: Tick
    expansions: int
    took_s: float


@dataclass
class ReplaySummary:
    """What a replay has come to."""

    ticks: int = 0
    goals: int = 0
    statuses: Counter[NavigationStatus] = field(default_factory=Counter)
    restarts: Counter[RestartReason] = field(default_factory=Counter)
    took_s: list[float] = field(default_factory=list)

    @property
    def arrived(self) -> int:
        return self.statuses[NavigationStatus.ARRIVED]

    def percentile_ms(self, part: float) -> float:
        return float(1e3 * np.percentile(self.took_s, part)) if self.took_s else 0.0


def replay(
    bag: Bag,
    parameters: PlannerParameters,
    recorder: Recorder | None = None,
    on_tick: Callable[[float], None] | None = None,
) -> ReplaySummary:
    """All of it, into the recorder if there is one; raises BagError if the bag has no map, pose or goal to use."""
    told = ReplaySummary()
    status, goal = NavigationStatus.IDLE, None
    for replayed in ticks(bag, parameters, recorder):
        told.ticks += 1
        told.took_s.append(replayed.took_s)
        told.restarts.update(replayed.tick.restarts)
        if replayed.goal is not None and replayed.goal != goal:
            told.goals += 1
        if replayed.tick.status != status:
            told.statuses[replayed.tick.status] += 1
        status, goal = replayed.tick.status, replayed.goal
        if on_tick is not None:
            on_tick(replayed.time_s)
    return told


def ticks(bag: Bag, parameters: PlannerParameters, recorder: Recorder | None = None) -> Iterator[ReplayedTick]:
    """At the node's rate, from the bag's first message to its last."""
    robot = _Robot(parameters, bag.problems)
    number = 0
    for event in bag.events():
        if event.time_s > MOST_TICKS * parameters.period_s:
            raise BagError(
                f'{bag.path}: a message comes {event.time_s:,.0f} s after the first one, and that would be more than '
                f'{MOST_TICKS:,} ticks; are its clocks right?'
            )
        while (now_s := number * parameters.period_s) < event.time_s - _SAME_TIME_S:
            yield robot.tick(now_s, recorder)
            number += 1
        robot.hear(event.time_s, event.what)
    for what, heard in (('map', robot.maps), ('pose', robot.poses), ('goal', robot.goals)):
        if not heard:
            reasons = '; '.join(f'{text} ({count} times)' for text, count in bag.problems.most_common(3))
            raise BagError(f'{bag.path}: no {what} in it could be used{": " * bool(reasons)}{reasons}')
    yield robot.tick(number * parameters.period_s, recorder)


class _Robot:
    """Everything about a node but ROS: the newest map and pose, the goal, and the navigator."""

    def __init__(self, parameters: PlannerParameters, problems: Counter[str]) -> None:
        self._parameters = parameters
        self._problems = problems
        self._navigator = Navigator(parameters.settings())
        self._live_map = self._new_map()
        self._frame: str | None = None
        self._pose: Pose2D | None = None
        self._pose_s = -math.inf
        self._map_s = math.inf
        self._search: Search = SearchBudget(parameters.search_time_s).spend
        if parameters.expansions_per_tick:
            self._search = TimeBoundedPlanner.search
        self.maps = self.poses = self.goals = 0
        """Heard, and good."""

    def hear(self, time_s: float, what: What) -> None:
        if isinstance(what, Goal):
            self._navigator.new_goal(what.pose)
            self.goals += 1
        elif isinstance(what, Pose2D):
            self._pose, self._pose_s = what, time_s
            self.poses += 1
        else:
            self._hear_map(time_s, what)

    def tick(self, now_s: float, recorder: Recorder | None) -> ReplayedTick:
        navigator, update = self._navigator, self._live_map.latest()
        goal, before = navigator.goal, self._expansions()
        pose = self._pose if now_s - self._pose_s <= (self._parameters.pose_timeout_s or math.inf) else None
        lost = 0 < self._parameters.map_timeout_s < now_s - self._map_s
        search = self._search if recorder is None else recorder.searching(self._search)
        began = time.perf_counter()
        tick = navigator.tick(update, pose, search, map_lost=lost)
        took_s = time.perf_counter() - began
        if recorder is not None:
            recorder.see(navigator, tick, update, pose, now_s)
            recorder.end_tick(took_s)
        return ReplayedTick(now_s, pose, goal, update, tick, max(self._expansions() - before, 0), took_s)

    def _hear_map(self, time_s: float, what: Occupancy | Patch) -> None:
        """One that cannot be used leaves the last one as it is."""
        try:
            if isinstance(what, Occupancy):
                self._change_frame(what.frame)
                self._live_map.full(what.values, what.geometry)
                self.maps += 1
            else:
                self._live_map.patch(what.values, what.at)
        except ValueError as error:
            self._problems[f'{error}'] += 1
        else:
            self._map_s = time_s

    def _change_frame(self, frame: str) -> None:
        """Map, route, pose and goal are dropped with the frame that they were said in."""
        if self._frame is not None and frame not in ('', self._frame):
            self._problems[f'the map is in frame {frame!r}, before in {self._frame!r}: all was dropped'] += 1
            self._navigator, self._live_map = Navigator(self._parameters.settings()), self._new_map()
            self._pose = None
            self._pose_s = -math.inf
        self._frame = frame or self._frame

    def _new_map(self) -> LiveMap:
        return LiveMap(self._parameters.costmap_config, corner_cutting=self._parameters.corner_cutting)

    def _expansions(self) -> int:
        planner = self._navigator.planner
        return 0 if planner is None else planner.expansions
