"""The planner node with a stop-watch on its recorder; as a process: recorded_planner.py FIGURES --ros-args …

In the time of the ticks' thread, what others on the machine do does not count.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any

from tb_planner.recording import Recorder
from tb_planner.ros.node import ActivePlanner
from tb_planner.ros.node import main as planner_main

RECORDING = ('searching', 'see', 'end_tick')


class RecorderStopWatch:
    """Lists what each tick takes, and what of that goes to the recorder."""

    def __init__(self) -> None:
        self.ticks_s: list[float] = []
        self.recording_s: list[float] = []
        self._now_s = 0.0
        self._own_s = min(-(thread_time() - thread_time()) for _ in range(1000))  # what looking at it takes

    def watch(self) -> None:
        for name in RECORDING:
            setattr(Recorder, name, self._added(getattr(Recorder, name)))
        setattr(ActivePlanner, '_tick', self._listed(ActivePlanner._tick))  # noqa: B010

    def _added(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            began_s = thread_time()
            result = method(*arguments)
            self._now_s += thread_time() - began_s - self._own_s
            return result

        return timed

    def _listed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(active: ActivePlanner) -> None:
            self._now_s, began_s = 0.0, thread_time()
            method(active)
            self.ticks_s.append(thread_time() - began_s)
            self.recording_s.append(self._now_s)

        return timed


def main() -> int:
    path, *arguments = sys.argv[1:]
    watch = RecorderStopWatch()
    watch.watch()
    code = planner_main([sys.argv[0], *arguments])
    Path(path).write_text(json.dumps({'ticks_s': watch.ticks_s, 'recording_s': watch.recording_s}))
    return code


if __name__ == '__main__':
    sys.exit(main())
