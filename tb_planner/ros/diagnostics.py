"""What the node says of itself: its status when it changes, /diagnostics every second and when something happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.lifecycle import LifecycleNode

from tb_planner.navigation.navigator import NavigationStatus, Tick
from tb_planner.navigation.tick_stats import TickStats
from tb_planner.ros.pose_source import PoseSource
from tb_planner.ros.publishers import Publishers
from tb_planner.ros.throttled_log import ThrottledLog
from tb_planner.ros.ticker import Ticker
from tb_planner.search import distance, kernel, sight
from tb_planner.search.algorithms import RestartReason

COMPILED = kernel.COMPILED and sight.COMPILED and distance.COMPILED
NOT_COMPILED = 'the kernel is not compiled and runs many times slower; install a C compiler and Cython, then tb_planner'
RESTARTS_TOLD_S = 0.1
"""Restarts are on /diagnostics at once, but not more often than this."""

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


class Reporter:
    """Tells status, diagnostics and the log what ticks have come to."""

    def __init__(
        self,
        node: LifecycleNode,
        outputs: Publishers,
        problems: ThrottledLog,
        times: TickStats,
        ticker: Ticker,
        poses: PoseSource,
        more_facts: Sequence[Callable[[], dict[str, object]]] = (),
    ) -> None:
        self._node = node
        self._outputs = outputs
        self._problems = problems
        self._times = times
        self._ticker = ticker
        self._poses = poses
        self._more_facts = more_facts
        self._last: Tick | None = None
        self._overruns_told = 0
        self._restart_untold = False
        self._goal_is_new = False
        self._told_s = 0.0

    def new_goal(self) -> None:
        """The next tick's status is told, also if it is the same as before, as where the robot is there already."""
        self._goal_is_new = True

    def tell(self, tick: Tick) -> None:
        before, self._last = self._last, tick
        self._restart_untold |= bool(tick.restarts)
        if before is None or before.status != tick.status or self._goal_is_new:
            self._goal_is_new = False
            self._outputs.status(tick.status)
            self._diagnose(tick)
            self._log(tick, None if before is None else before.status)
        elif self._restart_untold and perf_counter() - self._told_s > RESTARTS_TOLD_S:
            self._diagnose(tick)

    def tell_again(self) -> None:
        """Every second."""
        if self._last is not None:
            self._diagnose(self._last)

    def _log(self, tick: Tick, before: NavigationStatus | None) -> None:
        if tick.status in TROUBLE:
            self._problems.warn('status', tick.message)
        elif tick.status == NavigationStatus.ARRIVED or before in TROUBLE:
            self._node.get_logger().info(tick.message)

    def _diagnose(self, tick: Tick) -> None:
        self._told_s, self._restart_untold = perf_counter(), False
        said = [tick.message or tick.status.value, *self._warnings()]
        fine = len(said) == 1 and tick.status not in TROUBLE
        status = DiagnosticStatus(
            level=DiagnosticStatus.OK if fine else DiagnosticStatus.WARN,
            name=f'{self._node.get_fully_qualified_name()}: planner',
            message='; '.join(said),
            hardware_id=self._node.get_namespace(),
            values=[KeyValue(key=key, value=_shown(value)) for key, value in self._facts(tick).items()],
        )
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._outputs.diagnostics(message)

    def _warnings(self) -> list[str]:
        new, self._overruns_told = self._times.overruns - self._overruns_told, self._times.overruns
        warnings = [f'{new} ticks took longer than {self._times.period_s:g} s'] if new else []
        return warnings if COMPILED else [*warnings, NOT_COMPILED]

    def _facts(self, tick: Tick) -> dict[str, object]:
        p50, p99, most = self._times.percentiles_ms()
        jitter_p99, jitter_most = self._times.jitters_ms()
        ticker, planner = self._ticker, self._ticker.navigator.planner
        return {
            'status': tick.status.value,
            'algorithm': ticker.navigator.settings.algorithm.name,
            'expansions_per_tick': ticker.expansions,
            'tick_p50_ms': p50,
            'tick_p99_ms': p99,
            'tick_max_ms': most,
            'tick_jitter_p99_ms': jitter_p99,
            'tick_jitter_max_ms': jitter_most,
            'ticks': self._times.ticks,
            'overruns': self._times.overruns,
            'missed_ticks': self._times.missed,
            'open_size': planner.open_size if planner is not None else 0,
            'searches': planner.searches if planner is not None else 0,
            **{f'restarts_{reason.value}': ticker.restarts[reason] for reason in RestartReason},
            'map_age_s': ticker.map_age_s(),
            'pose_age_s': self._poses.age_s(),
            'distance_to_goal_m': ticker.distance_to_goal_m(self._poses.latest()),
            'map_to_waypoint_ms': ticker.map_to_waypoint_ms,
            **{key: value for facts in self._more_facts for key, value in facts().items()},
            'refused_messages': sum(self._problems.counts[kind] for kind in ('map', 'map_updates', 'pose', 'goal')),
            'last_problem': self._problems.last,
        }


def _shown(value: object) -> str:
    if value is None:
        return ''
    return f'{value:.3f}' if isinstance(value, float) else str(value)
