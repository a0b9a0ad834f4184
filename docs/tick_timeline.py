"""Draws docs/tick-timeline.svg: which part of a tick of 50 ms is what, measured in a run of PlannerLoop.tick.

Run it with `python docs/tick_timeline.py`. A simulated robot drives through the demo's office, drawn with cells of
1 cm so that a search takes several ticks. Times are those of the thread's processor, so other programs do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from drawing import FAINT, Drawing
from office_drive import drive

from tb_planner.config import PlannerParameters
from tb_planner.navigation.loop import PlannerLoop, TickResult
from tb_planner.navigation.navigator import Navigator, Replanner
from tb_planner.search.algorithms import RestartReason
from tb_planner.search.planner import BudgetShare

FINER = 5
LIMIT_S = 120.0
PARAMETERS = PlannerParameters()
OTHER = 'everything else'
PARTS: dict[str, tuple[str, list[tuple[type, str]]]] = {
    'newest map and pose': ('#cc79a7', [(PlannerLoop, '_newest_map'), (PlannerLoop, '_newest_pose')]),
    'restart rule on changed cells': ('#e69f00', [(Navigator, '_update_map')]),
    'search': ('#56b4e9', [(BudgetShare, 'search_for')]),
    'route and waypoint': (
        '#009e73',
        [(Replanner, '_track_robot'), (Replanner, '_look_ahead'), (Replanner, '_take_new_route'), (Replanner, 'aim')],
    ),
    'points of the plan': ('#0072b2', [(Navigator, 'plan_points')]),
    OTHER: ('#808890', []),
}
"""Parts of a tick: their colours, and the methods whose own time they are."""
TITLE = 'The parts of a tick of 50 ms'
PERIOD_MS = 1e3 * PARAMETERS.period_s
WIDTH, TOP, BAR, ROW = 860, 48, 38, 22
LEFT, SCALE = 178, 13.0
"""Where bars begin, and pixels a millisecond."""
FIRST, COLUMN = 430, 200
"""The right side of the table's first column, and from column to column."""


@dataclass(frozen=True)
class MeasuredTick:
    """The time of a tick, in ms, by its parts."""

    spans: list[tuple[str, float]]
    """Its parts in order; one that is interrupted by others is there several times."""
    restarts: tuple[RestartReason, ...]
    expansions: int
    reaches_goal: bool

    @property
    def parts_ms(self) -> dict[str, float]:
        return {part: sum(ms for name, ms in self.spans if name == part) for part in PARTS}

    @property
    def total_ms(self) -> float:
        return sum(ms for _, ms in self.spans)


class Stopwatch:
    """Each part's own time, without that of the parts within it."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, float]] = []
        self._parts = [OTHER]
        self._since_ns = 0

    def begin(self) -> None:
        self.spans = []
        self._since_ns = time.thread_time_ns()

    def turn(self) -> None:
        """Charges the time since the last turn to the part that runs."""
        now_ns = time.thread_time_ns()
        self.spans.append((self._parts[-1], (now_ns - self._since_ns) / 1e6))
        self._since_ns = now_ns

    def timed(self, part: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def timed(*arguments: Any, **named: Any) -> Any:
            self.turn()
            self._parts.append(part)
            try:
                return method(*arguments, **named)
            finally:
                self.turn()
                self._parts.pop()

        return timed


@contextmanager
def measuring() -> Iterator[Stopwatch]:
    """Times the methods of PARTS."""
    watch, originals = Stopwatch(), []
    for part, (_, methods) in PARTS.items():
        for owner, name in methods:
            method = getattr(owner, name)
            originals.append((owner, name, method))
            setattr(owner, name, watch.timed(part, method))
    try:
        yield watch
    finally:
        for owner, name, method in originals:
            setattr(owner, name, method)


def measured_drive(finer: int = FINER, limit_s: float = LIMIT_S) -> list[MeasuredTick]:
    """The ticks of a drive through the office, with the sides of the demo's cells divided by finer."""
    ticks = []
    with measuring() as watch:

        def tick(loop: PlannerLoop, now_s: float) -> TickResult:
            watch.begin()
            result = loop.tick(now_s)
            watch.turn()
            return result

        for loop, result in drive(PARAMETERS, tick, finer=finer, limit_s=limit_s):
            assert result.tick is not None
            reaches = loop.navigator.plan_reaches_goal
            ticks.append(MeasuredTick(watch.spans, result.tick.restarts, result.expansions, reaches))
    return ticks


def chosen(ticks: list[MeasuredTick]) -> dict[str, MeasuredTick]:
    """A typical tick of each kind: the one of median length."""
    kinds = {
        'route blocked: restart': [one for one in ticks if RestartReason.BLOCKED in one.restarts],
        'search goes on': [one for one in ticks if not one.restarts and one.expansions and not one.reaches_goal],
        'goal found: follow': [one for one in ticks if not one.restarts and not one.expansions],
    }
    return {kind: sorted(some, key=lambda one: one.total_ms)[len(some) // 2] for kind, some in kinds.items()}


def picture(ticks: list[MeasuredTick]) -> Drawing:
    """A bar of 50 ms for each kind of tick, and a table of their parts."""
    kinds = chosen(ticks)
    lengths = np.percentile([one.total_ms for one in ticks], (50, 99, 100))
    summary = 'All {:,} ticks of the drive: median {:.1f} ms, p99 {:.1f} ms, longest {:.1f} ms.'.format(
        len(ticks), *lengths
    )
    words = '; '.join(
        f'{kind}: ' + ', '.join(f'{part} {ms:.2f} ms' for part, ms in one.parts_ms.items())
        for kind, one in kinds.items()
    )
    drawing = Drawing(WIDTH, TOP + 3 * BAR + 46 + ROW * (len(PARTS) + 2) + 40, TITLE, f'{words}. {summary}')
    drawing.text(16, 28, 'One tick of 50 ms', bold=True, size=15)
    for number, (kind, one) in enumerate(kinds.items()):
        y = TOP + BAR * number
        drawing.text(LEFT - 10, y + 18, kind, anchor='end')
        drawing.rectangle(LEFT, y, PERIOD_MS * SCALE, BAR - 10, '#f6f8fa', edge='#d1d9e0')
        at_ms = 0.0
        for part, ms in one.spans:
            drawing.rectangle(LEFT + SCALE * at_ms, y, SCALE * ms, BAR - 10, PARTS[part][0])
            at_ms += ms
        middle = LEFT + SCALE * (at_ms + PERIOD_MS) / 2
        drawing.text(middle, y + 18, f'{PERIOD_MS - at_ms:.1f} ms until the next tick', anchor='middle', colour=FAINT)
    y = TOP + 3 * BAR + 4
    for ms in range(0, int(PERIOD_MS) + 1, 10):
        drawing.line([(LEFT + SCALE * ms, y - 8), (LEFT + SCALE * ms, y - 3)])
        drawing.text(LEFT + SCALE * ms, y + 10, f'{ms} ms', anchor='middle', size=11)
    y += 46
    for column, kind in enumerate(kinds):
        drawing.text(FIRST + COLUMN * column, y, kind, anchor='end', bold=True, size=12)
    for row, (part, (colour, _)) in enumerate(PARTS.items(), 1):
        drawing.rectangle(16, y + ROW * row - 11, 14, 14, colour)
        drawing.text(38, y + ROW * row, part)
        for column, one in enumerate(kinds.values()):
            text = f'{one.parts_ms[part]:.2f} ms'
            drawing.text(FIRST + COLUMN * column, y + ROW * row, text, anchor='end')
    y += ROW * (len(PARTS) + 1) + 6
    drawing.line([(16, y - 16), (FIRST + 2 * COLUMN, y - 16)], FAINT)
    drawing.text(38, y, 'whole tick', bold=True)
    for column, one in enumerate(kinds.values()):
        drawing.text(FIRST + COLUMN * column, y, f'{one.total_ms:.2f} ms', anchor='end', bold=True)
    drawing.text(16, y + 36, summary, colour=FAINT)
    return drawing


if __name__ == '__main__':
    picture(measured_drive()).write('tick-timeline.svg')
