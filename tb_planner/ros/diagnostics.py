"""What the node reports about itself: its status when it changes; summary and /diagnostics every second."""

from __future__ import annotations

import math
import socket
from collections import Counter, deque
from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.lifecycle import LifecycleNode

from tb_planner.geometry import Pose2D, length_m
from tb_planner.navigation.loop import PlannerLoop, PoseSource, TickResult
from tb_planner.navigation.navigator import NavigationStatus, Tick
from tb_planner.ros.publishers import Publishers, RestartPlace
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.search import distance, kernel, sight
from tb_planner.search.algorithms import RestartReason

COMPILED = kernel.COMPILED and sight.COMPILED and distance.COMPILED
NOT_COMPILED = 'the kernel is not compiled and runs many times slower; install a C compiler and Cython, then tb_planner'
WINDOW = 1024
"""Percentiles are computed over this number of ticks."""
RESTART_PERIOD_S = 0.1
"""Restarts are published at once, but not more often than this."""
MAX_RESTART_PLACES = 50
"""RViz shows the places of the last restarts."""
SPEED_WINDOW_S, SPEED_SAMPLE_S = 10, 1.0
"""The robot's speed is its mean over this time, from one pose a second: poses vary even if the robot does not move."""
MIN_SPEED_M_S = 0.01

SUMMARY = (
    *('status', 'reason', 'distance_to_goal_m', 'time_to_goal_s', 'route_length_m', 'goal', 'actual_goal'),
    *('restarts', 'last_restart', 'tick_p99_ms', 'map_age_s', 'pose_age_s'),
)
"""The values of the diagnostics that are in the summary, in its order."""
_FIGURES = {
    NavigationStatus.NAVIGATING: ('distance_to_goal_m', '; {:.2f} m to go'),
    NavigationStatus.POSE_LOST: ('pose_age_s', ': the last one is {:.1f} s old'),
    NavigationStatus.MAP_LOST: ('map_age_s', ': the last one is {:.1f} s old'),
}
"""By status: the value that its message gets, and the words around it."""

TROUBLE = (
    NavigationStatus.NO_PATH,
    NavigationStatus.GOAL_BLOCKED,
    NavigationStatus.GOAL_OUTSIDE_MAP,
    NavigationStatus.START_BLOCKED,
    NavigationStatus.START_OUTSIDE_MAP,
    NavigationStatus.POSE_LOST,
    NavigationStatus.MAP_LOST,
)
"""There is a goal, and something keeps the robot from it."""


class TickStats:
    """How long ticks take, and which came too late or not at all, since the node became active."""

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self.ticks = 0
        self.overruns = 0
        """Ticks that took longer than a period."""
        self.missed = 0
        """Periods in which no tick began."""
        self._durations_s: deque[float] = deque(maxlen=WINDOW)
        self._jitters_s: deque[float] = deque(maxlen=WINDOW)
        self._last_begin_s: float | None = None

    def begin(self, now_s: float) -> None:
        """A tick begins, by the clock of its timer."""
        if self._last_begin_s is not None:
            since_s = now_s - self._last_begin_s
            # a tick may come half a period late, and the next one in time
            self.missed += max(round(since_s / self.period_s) - 1, 0)
            self._jitters_s.append(abs(since_s - self.period_s))
        self._last_begin_s = now_s
        self.ticks += 1

    def end(self, duration_s: float) -> None:
        self._durations_s.append(duration_s)
        self.overruns += duration_s > self.period_s

    def clock_jumped(self) -> None:
        """The time since the last tick is no longer known."""
        self._last_begin_s = None
        self._jitters_s.clear()

    def percentiles_ms(self, durations: str, jitters: str) -> dict[str, object]:
        """p50, p99 and maximum of the ticks' durations, and p99 and maximum of the jitter: the difference between a
        period and the time between two ticks. Both by these names, such as tick_p50_ms."""
        found: dict[str, object] = {}
        for name, times_s in ((durations, self._durations_s), (jitters, self._jitters_s)):
            ranked = np.sort(np.fromiter(times_s or (0.0,), float))  # np.percentile imports numpy.ma: 30 ms of a tick
            values = np.interp(np.array((0.5, 0.99, 1.0)) * (len(ranked) - 1), np.arange(len(ranked)), ranked) * 1e3
            found |= {f'{name}_{part}_ms': float(value) for part, value in zip(('p50', 'p99', 'max'), values)}
        del found[f'{jitters}_p50_ms']
        return found


class Speedometer:
    """The robot's mean speed during the last ten seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float, float]] = deque(maxlen=SPEED_WINDOW_S + 1)  # time, x, y

    def reset(self) -> None:
        self._samples.clear()

    def see(self, pose: Pose2D, now_s: float) -> None:
        if self._samples and now_s < self._samples[-1][0]:  # the clock was set back
            self.reset()
        if not self._samples or now_s - self._samples[-1][0] >= SPEED_SAMPLE_S:
            self._samples.append((now_s, pose.x_m, pose.y_m))

    def time_s(self, distance_m: float) -> float | None:
        """How long this distance takes; None if the robot does not move, or if its speed is not known yet."""
        if len(self._samples) < 2:
            return None
        samples = np.array(self._samples)
        speed_m_s = length_m(samples[:, 1:]) / float(samples[-1, 0] - samples[0, 0])
        return distance_m / speed_m_s if speed_m_s >= MIN_SPEED_M_S else None


class Diagnostics:
    """Publishes status, summary, diagnostics and RViz's view of the ticks, and logs changes of the status."""

    def __init__(
        self,
        node: LifecycleNode,
        publishers: Publishers,
        log: ThrottledLog,
        stats: TickStats,
        loop: PlannerLoop,
        poses: PoseSource,
        more_values: Sequence[Callable[[], dict[str, object]]] = (),
    ) -> None:
        self._node = node
        self._publishers = publishers
        self._log = log
        self._stats = stats
        self._loop = loop
        self._poses = poses
        self._more_values = more_values
        self._last: TickResult | None = None
        self._now_s = 0.0
        self._waypoint: Pose2D | None = None
        self._restarts: Counter[RestartReason] = Counter()
        self._last_restart: RestartReason | None = None
        self._speedometer = Speedometer()
        self._replaced: tuple[Pose2D, Pose2D] | None = None  # a blocked goal that was logged, and where the robot goes
        self._restart_places: deque[RestartPlace] = deque(maxlen=MAX_RESTART_PLACES)
        self._map_to_waypoint_ms: float | None = None
        self._overruns_published = 0
        self._has_new_restart = False
        self._has_new_goal = False
        self._published_s = 0.0

    def new_goal(self) -> None:
        """The next tick's status is published even if it is the same as before: the robot may be there already."""
        self._has_new_goal = True
        self._speedometer.reset()

    def report(self, result: TickResult, now_s: float) -> None:
        """Reports a tick; called after every one."""
        tick, before = result.tick, self._last
        if tick is None:
            return
        self._last, self._now_s = result, now_s
        self._count(result, tick, before)
        self._log_replaced_goal(tick)
        status_before = None if before is None or before.tick is None else before.tick.status
        if status_before != tick.status or self._has_new_goal:
            self._has_new_goal = False
            self._publishers.status(tick.status)
            self._publish(result, tick)
            if tick.status in TROUBLE:
                self._log.warn('status', tick.message)
            elif tick.status == NavigationStatus.ARRIVED or status_before in TROUBLE:
                self._node.get_logger().info(tick.message)
        elif self._has_new_restart and perf_counter() - self._published_s > RESTART_PERIOD_S:
            self._publish(result, tick)

    def publish(self, now_s: float) -> None:
        """Publishes diagnostics and summary; called every second."""
        self._now_s = now_s
        if self._last is not None and self._last.tick is not None:
            self._publish(self._last, self._last.tick)

    def publish_for_rviz(self) -> None:
        """Publishes markers and expansions; called every second."""
        self._publishers.display(self._loop.navigator, self._waypoint, self._restart_places, self._loop.frame)

    def _count(self, result: TickResult, tick: Tick, before: TickResult | None) -> None:
        if before is not None and before.frame != result.frame:
            self._restart_places.clear()
        self._has_new_restart |= bool(tick.restarts)
        self._restarts.update(tick.restarts)
        self._last_restart = tick.restarts[-1] if tick.restarts else self._last_restart
        if result.pose is not None:
            self._speedometer.see(result.pose, self._now_s)
        if tick.restarts and result.pose is not None:
            self._restart_places.append(RestartPlace(result.pose, ', '.join(tick.restarts)))
        if tick.waypoint is not None:
            self._waypoint = tick.waypoint
            if result.map_update is not None and result.map_received_s is not None:
                self._map_to_waypoint_ms = (perf_counter() - result.map_received_s) * 1e3

    def _log_replaced_goal(self, tick: Tick) -> None:
        """Logs where the robot goes if its goal is blocked, once, and again if that changes."""
        if tick.status != NavigationStatus.NAVIGATING:
            return
        goal, actual_goal = self._loop.navigator.goal, self._loop.navigator.actual_goal
        replaced = None if goal is None or actual_goal is None or actual_goal == goal else (goal, actual_goal)
        if replaced is not None and replaced != self._replaced:
            self._log.warn('goal_blocked', tick.message)
        self._replaced = replaced

    def _publish(self, result: TickResult, tick: Tick) -> None:
        self._published_s, self._has_new_restart = perf_counter(), False
        values = self._values(result, tick)
        texts = [_in_words(tick, values), *self._warnings()]
        fine = len(texts) == 1 and tick.status not in TROUBLE
        status = DiagnosticStatus(
            level=DiagnosticStatus.OK if fine else DiagnosticStatus.WARN,
            name=f'{self._node.get_fully_qualified_name()}: planner',
            message='; '.join(texts),
            hardware_id=self._node.get_namespace().strip('/') or socket.gethostname(),
            values=[KeyValue(key=key, value=_text_of(value)) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._publishers.stamp()
        self._publishers.diagnostics(message)
        values['reason'] = status.message
        self._publishers.summary({key: _rounded(values[key]) for key in SUMMARY})

    def _warnings(self) -> list[str]:
        new, self._overruns_published = self._stats.overruns - self._overruns_published, self._stats.overruns
        warnings = self._loop.map_problems(self._now_s)
        warnings += [f'{new} ticks took longer than {self._stats.period_s:g} s'] if new else []
        return warnings if COMPILED else [*warnings, NOT_COMPILED]

    def _values(self, result: TickResult, tick: Tick) -> dict[str, object]:
        navigator, planner = self._loop.navigator, self._loop.navigator.planner
        route_m, distance_m = self._lengths_m(result.pose)
        return {
            'status': tick.status.value,
            'algorithm': navigator.settings.algorithm.name,
            'expansions_per_tick': result.expansions,
            **self._stats.percentiles_ms('tick', 'tick_jitter'),
            'ticks': self._stats.ticks,
            'overruns': self._stats.overruns,
            'missed_ticks': self._stats.missed,
            'open_size': planner.open_size if planner is not None else 0,
            'searches': planner.searches if planner is not None else 0,
            'restarts': self._restarts.total(),
            'last_restart': None if self._last_restart is None else self._last_restart.value,
            **{f'restarts_{reason.value}': count for reason, count in sorted(self._restarts.items())},
            'map_age_s': self._loop.map_age_s(self._now_s),
            'lost_maps': self._loop.maps.lost_maps,
            'lost_map_updates': self._loop.maps.lost_patches,
            'pose_age_s': self._poses.age_s(self._now_s),
            'goal': None if navigator.goal is None else str(navigator.goal),
            'actual_goal': None if navigator.actual_goal is None else str(navigator.actual_goal),
            'route_length_m': route_m,
            'distance_to_goal_m': distance_m,
            'time_to_goal_s': None if distance_m is None else self._speedometer.time_s(distance_m),
            'map_to_waypoint_ms': self._map_to_waypoint_ms,
            **{key: value for values in self._more_values for key, value in values().items()},
            'refused_messages': sum(self._log.counts[kind] for kind in ('map', 'map_updates', 'pose', 'goal')),
            'errors': self._log.errors,
            'last_problem': self._log.last,
            'last_problem_age_s': self._log.last_age_s(),
        }

    def _lengths_m(self, pose: Pose2D | None) -> tuple[float | None, float | None]:
        """The length of the route from the robot on, and the distance to the actual goal: straight on from the route's
        end if it does not reach the goal yet."""
        navigator = self._loop.navigator
        goal = navigator.actual_goal or navigator.goal
        if goal is None or pose is None:
            return None, None
        route = np.vstack([(pose.x_m, pose.y_m), navigator.plan_points()])
        route_m, end = length_m(route), route[-1]
        return route_m, route_m + math.dist(end, (goal.x_m, goal.y_m))


def _in_words(tick: Tick, values: dict[str, object]) -> str:
    """The status in words, with the figure that people need for it."""
    key, words = _FIGURES.get(tick.status, ('', ''))
    value = values.get(key)
    figure = words.format(value) if value is not None else ''  # the goal may have been canceled since the tick
    return (tick.message or tick.status.value) + figure


def _rounded(value: object) -> object:
    return round(value, 2) if isinstance(value, float) else value


def _text_of(value: object) -> str:
    if value is None:
        return ''
    return f'{value:.3f}' if isinstance(value, float) else str(value)
