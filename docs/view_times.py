"""Measures how fast the replay page is with a long run on a large map: `python docs/view_times.py`.

It records 10,000 ticks on a changing map of 2000² cells, opens the page in Chromium and seeks in it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from view_pictures import open_browser

from tb_planner import Changing, Grid, TimeBoundedPlanner, move_to_goal, tb_wa_star
from tb_planner.recording import About, RecordedWalk
from tb_planner.view.page import write_page

SIDE, TICKS, SEEKS = 2000, 10_000, 60
OPEN = 'window.tbPlanner && tbPlanner.isSettled && tbPlanner.record.ticks === {}'
SCOUTED = 'tbPlanner.scouting === false'
SEEK = """
    new Promise((resolve) => {{
        const began = performance.now();
        tbPlanner.goTo({0});
        const isThere = () => tbPlanner.isSettled && tbPlanner.replay.tick === {0};
        const look = () => (isThere() ? resolve(performance.now() - began) : setTimeout(look));
        look();
    }})
"""


def main() -> None:
    with open_browser() as browser, tempfile.TemporaryDirectory() as folder:
        record, page = Path(folder) / 'run.tbrun', Path(folder) / 'run.html'
        record_walk(record)
        write_page(page, record.read_bytes())
        print(f'{TICKS:,} ticks on {SIDE}² cells: a record of {record.stat().st_size / 1e6:.1f} MB')
        measure(browser, page.as_uri())


def record_walk(path: Path) -> None:
    """Walks from corner to corner and back again, with few expansions, so that each search takes many ticks."""
    blocked = np.random.default_rng(1).random((SIDE, SIDE)) < 0.2
    corners = [(5, 5), (SIDE - 6, SIDE - 6)]
    for x, y in corners:
        blocked[y - 5 : y + 6, x - 5 : x + 6] = False
    grid = Grid(blocked)
    planner = TimeBoundedPlanner(grid, corners[0], corners[1], tb_wa_star(1.1), k=500)
    left = TICKS
    with RecordedWalk(path, planner, Changing(grid, 0.01, every=200, seed=1), About(period_s=0.05)) as walk:
        while left:
            left -= move_to_goal(planner, walk, max_intervals=left).intervals
            if planner.current_cell == planner.goal:
                corners.reverse()
                planner.new_goal(corners[1])


def measure(browser: Any, url: str) -> None:
    began = time.perf_counter()
    page = browser.open(url)
    page.wait_for(OPEN.format(TICKS))
    opened = time.perf_counter()
    page.wait_for(SCOUTED)
    print(f'opened in {opened - began:.1f} s; key frames complete after {time.perf_counter() - began:.1f} s')
    print_seeks(page, 'seek to a random tick', np.random.default_rng(2).integers(0, TICKS, SEEKS).tolist())
    print_seeks(page, 'seek to the next tick', list(range(TICKS // 2, TICKS // 2 + SEEKS)))


def print_seeks(page: Any, name: str, ticks: list[int]) -> None:
    times_ms = [page.run(SEEK.format(tick)) for tick in ticks]
    print(f'{name}: p50 {np.percentile(times_ms, 50):.0f}, max {max(times_ms):.0f} ms ({len(ticks)} seeks)')


if __name__ == '__main__':
    main()
