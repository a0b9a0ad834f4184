"""How fast the replay page is with a long run on a large map: `python docs/view_times.py`, with Chromium installed.

It makes a record of 10,000 ticks on a map of 2000² cells that changes on the way, opens its page, and goes to places in
it. It prints figures and asserts none of them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from browser import Browser, Page, find_chromium  # noqa: E402

from tb_planner import Changing, Grid, TimeBoundedPlanner, move_to_goal, tb_wa_star  # noqa: E402
from tb_planner.recording import About, RecordedWalk  # noqa: E402
from tb_planner.view.page import write_page  # noqa: E402

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
    executable = find_chromium()
    if executable is None:
        sys.exit('no Chromium: sudo apt install chromium')
    with tempfile.TemporaryDirectory() as folder:
        record, page = Path(folder) / 'run.tbrun', Path(folder) / 'run.html'
        record_walk(record)
        write_page(page, record.read_bytes())
        print(f'{TICKS:,} ticks on {SIDE}² cells: a record of {record.stat().st_size / 1e6:.1f} MB')
        browser = Browser(executable)
        try:
            measure(browser, page.as_uri())
        finally:
            browser.close()


def record_walk(path: Path) -> None:
    """From corner to corner, there and back again, with so few expansions that each search takes many ticks."""
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


def measure(browser: Browser, url: str) -> None:
    began = time.perf_counter()
    page = browser.open(url)
    page.wait_for(OPEN.format(TICKS))
    opened = time.perf_counter()
    page.wait_for(SCOUTED)
    print(f'opens in {opened - began:.1f} s; all key frames are there after {time.perf_counter() - began:.1f} s')
    print_seeks(page, 'to any tick', np.random.default_rng(2).integers(0, TICKS, SEEKS).tolist())
    print_seeks(page, 'to the next tick', list(range(TICKS // 2, TICKS // 2 + SEEKS)))


def print_seeks(page: Page, name: str, ticks: list[int]) -> None:
    times_ms = [page.run(SEEK.format(tick)) for tick in ticks]
    print(f'{name}: p50 {np.percentile(times_ms, 50):.0f}, max {max(times_ms):.0f} ms, of {len(ticks)}')


if __name__ == '__main__':
    main()
