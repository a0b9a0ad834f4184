"""Answers the requests for paths of one action, tick by tick, with Nav2's error codes."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from tb_planner.config import PlannerParameters
from tb_planner.errors import TbPlannerError
from tb_planner.geometry import Pose2D
from tb_planner.maps.live_map import MapUpdate
from tb_planner.navigation.budget import TickBudget
from tb_planner.navigation.path_planner import FoundPath, PathPlanner, PathResult, PathStatus
from tb_planner.ros.controller_watch import ControllerWatch
from tb_planner.ros.conversions import BadMessage, pose_from_message
from tb_planner.ros.nav2_messages import PathMessage, goals_of
from tb_planner.ros.path_server import PathServer, Request
from tb_planner.ros.pose_source import NotYet, PoseSource
from tb_planner.ros.throttled_log import ThrottledLog

EXPIRED_S = 1.0
"""So long after its time, and two ticks, a request is ended without a tick, which may have an older path for it."""

_UNDER_WAY = (PathStatus.SEARCHING, PathStatus.WAITING_FOR_MAP)


class Refused(TbPlannerError):
    """A request that cannot be answered with a path; the error's name in the action, and why."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


@dataclass(frozen=True)
class TickContext:
    """What a tick knows besides the request."""

    update: MapUpdate | None
    """The newest map, also if it is not new; None if there is none."""
    frame: str
    poses: PoseSource
    map_lost: bool
    stamp: Any


class ComputePathHandler:
    """Its search is kept from request to request. To be used by the thread of the ticks."""

    def __init__(
        self,
        server: PathServer,
        controller: ControllerWatch,
        parameters: PlannerParameters,
        problems: ThrottledLog,
        show: Callable[[FoundPath, str, float], None],
    ) -> None:
        self.found = 0
        """Requests answered with a path."""
        self.unchanged = 0
        """Of these, with the same one as before."""
        self._server = server
        self._controller = controller
        self._parameters = parameters
        self._problems = problems
        self._show = show
        self._searches_before = 0
        self._request: Request | None = None  # that has been put to the enquiry
        self._unplaced: Request | None = None  # that could not be, for want of a transform
        self._unplaced_s = 0.0  # when that was seen first
        self._goals: tuple[Pose2D, ...] = ()
        self._start = Pose2D(0.0, 0.0)
        self._told: PathMessage | None = None
        self._path_planner = self._new_path_planner()

    @property
    def is_asked(self) -> bool:
        return self._server.is_asked

    @property
    def has_path(self) -> bool:
        """One that was found, and stands."""
        return self._path_planner.has_path

    @property
    def requests(self) -> int:
        return self._server.accepted

    @property
    def searches(self) -> int:
        return self._searches_before + self._path_planner.searches

    def change(self, parameters: PlannerParameters) -> None:
        if parameters.use_final_approach_orientation != self._parameters.use_final_approach_orientation:
            self._told = None
        self._parameters = parameters
        self._path_planner.change(parameters.settings(), parameters.path_tolerance_m)

    def forget(self) -> None:
        """All that was known was said in another frame, or by a tick that failed."""
        self._searches_before += self._path_planner.searches
        self._path_planner = self._new_path_planner()
        self._request = self._told = None

    def tick(self, news: MapUpdate | None, around: TickContext, shares: TickBudget) -> None:
        """news: the update that has come with this tick."""
        request = None
        try:
            if news is not None:
                self._path_planner.update_map(news)
            request = self._server.current()
            if request is not None:
                self._answer(request, around, shares)
        except Exception as error:
            self._problems.error('path', f'no path in this tick: {traceback.format_exc()}')
            self.forget()
            if around.update is not None:
                self._path_planner.update_map(replace(around.update, change=None))
            if request := request or self._server.current():
                self._server.finish(request, 'UNKNOWN', f'internal error: {error!r}')

    def expire(self) -> None:
        """What no tick has ended in time, since there is none: simulated time may stand still."""
        request = self._server.current()
        if request is not None and self._is_late(request, by_s=EXPIRED_S + 2 / self._parameters.tick_frequency):
            self._end_late(request, 'there was no tick in time')

    # -------------------------------------------------------------------------------------------------- a request
    def _answer(self, request: Request, around: TickContext, shares: TickBudget) -> None:
        try:
            self._check(request)
            answer = self._step(request, around, shares)
        except NotYet:  # the next tick may know more
            return
        except Refused as refusal:
            self._refuse(request, refusal.error, str(refusal))
            return
        if answer.path is not None:
            self._tell(request, answer.path, around)
        elif answer.status not in _UNDER_WAY:
            self._refuse(request, answer.status.value, answer.message)
        elif self._is_late(request) and self._path_planner.held_path is not None and not around.map_lost:
            self._tell(request, self._path_planner.held_path, around)
        elif self._is_late(request):
            self._end_late(request, answer.message)

    def _check(self, request: Request) -> None:
        """What needs no map."""
        if not goals_of(request.message):
            raise Refused('NO_VIAPOINTS_GIVEN', 'there are 0 goals; there is at least 1')
        asked, known = request.message.planner_id, self._parameters.planner_id
        if asked not in ('', known):
            raise Refused('INVALID_PLANNER', f'planner_id is {asked!r}; it is {known!r}, or empty')

    def _step(self, request: Request, around: TickContext, shares: TickBudget) -> PathResult:
        if around.update is None:
            return PathResult(PathStatus.WAITING_FOR_MAP, 'there is no map yet')
        if around.map_lost:
            return PathResult(PathStatus.WAITING_FOR_MAP, f'the map is older than {self._parameters.map_timeout_s} s')
        if self._request is not request:
            self._put(request, around.poses)
        return self._path_planner.step(shares.spend)

    def _put(self, request: Request, poses: PoseSource) -> None:
        """To the enquiry. Raises NotYet while it is waited for transforms, as Nav2's planner server does."""
        message = request.message
        try:
            start = _place(message.start, 'start', poses) if message.use_start else _robot(poses)
            goals = tuple(_place(goal, 'goal', poses) for goal in goals_of(message))
        except BadMessage as error:
            if isinstance(error, NotYet) and not self._has_waited(request):
                raise
            raise Refused('TF_ERROR', str(error)) from error
        controller_stopped = self._controller.has_stopped
        self._path_planner.request(
            start, goals, start_is_robot=not message.use_start, controller_stopped=controller_stopped
        )
        self._request, self._start, self._goals = request, start, goals

    def _has_waited(self, request: Request) -> bool:
        """For transforms, for as long as one may be old; counted from when one was missed, since a busy computer may
        come to the request late, and to the transforms right after it."""
        if self._unplaced is not request:
            self._unplaced, self._unplaced_s = request, perf_counter()
        waited_s = perf_counter() - self._unplaced_s
        return waited_s >= self._parameters.transform_tolerance_s or self._is_late(request)

    def _tell(self, request: Request, path: FoundPath, around: TickContext) -> None:
        is_new = self._told is None or self._told.path is not path
        if is_new or self._told is None:
            along = self._parameters.use_final_approach_orientation
            yaws = tuple(None if along else goal.yaw for goal in self._goals)
            self._told = PathMessage(path, yaws, self._start.yaw, around.frame, around.stamp)
        if self._server.succeed(request, self._told):
            self.found += 1
            self.unchanged += not is_new
            self._show(path, around.frame, self._goals[-1].yaw)

    # -------------------------------------------------------------------------------------------------- no path
    def _is_late(self, request: Request, by_s: float = 0.0) -> bool:
        return request.age_s > self._parameters.max_planning_time_s + by_s

    def _end_late(self, request: Request, why: str) -> None:
        limit_s = self._parameters.max_planning_time_s
        self._refuse(request, 'TIMEOUT', f'no path after max_planning_time_s, {limit_s:g} s: {why}')

    def _refuse(self, request: Request, error: str, text: str) -> None:
        if self._server.finish(request, error, text):
            self._problems.warn('path', f'{error}: {text}')

    def _new_path_planner(self) -> PathPlanner:
        return PathPlanner(self._parameters.settings(), self._parameters.path_tolerance_m)


def _robot(poses: PoseSource) -> Pose2D:
    pose = poses.latest()
    if pose is None:
        raise NotYet(poses.why_none() or 'there is no pose of the robot yet')
    return pose


def _place(message: Any, what: str, poses: PoseSource) -> Pose2D:
    """Raises BadMessage."""
    return poses.as_seen(pose_from_message(message, what))
