"""A recorded walk among rooms, its replay page, and how to go to a tick of it."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tb_planner import Changing, Grid, Static, TimeBoundedPlanner, Unknown, move_to_goal, tb_wa_star
from tb_planner.recording import About, Record, RecordedWalk, read_record
from tb_planner.search.algorithms import Algorithm
from tb_planner.view import make_page

from .browser import Browser, Page

LOADED = 'window.tbPlanner && tbPlanner.isSettled && tbPlanner.scouting === false'
"""All of it: the beginning of a long record is shown while the rest is being loaded, and before the scout sets out."""
SETTLED = 'tbPlanner.isSettled && !tbPlanner.wantsFrame && tbPlanner.replay.tick === tbPlanner.target'


def rooms(seed: int, height: int = 36, width: int = 54) -> NDArray[np.bool_]:
    blocked = np.random.default_rng(seed).random((height, width)) < 0.25
    blocked[:3, :3] = blocked[-3:, -3:] = False
    return blocked


def make_record(
    path: Path, world: str = 'changing', k: int = 4, algorithm: Algorithm | None = None, **options: object
) -> Record:
    blocked = rooms(3)
    grid = Grid(blocked, **options)
    worlds = {
        'static': lambda: Static(Grid(blocked, **options)),
        'changing': lambda: Changing(Grid(blocked, **options), 8, every=5, seed=4),
        'unknown': lambda: Unknown(Grid(blocked, **options), 2),
    }
    where = worlds[world]()
    if isinstance(where, Unknown):
        grid = where.initial_grid()
    planner = TimeBoundedPlanner(grid, (1, 1), (52, 34), algorithm or tb_wa_star(1.5), k=k)
    about = About('Rooms & <walls>', 'TB-WA*', period_s=0.05, budget_s=0.0002, y_up=False)
    walk = RecordedWalk(path, planner, where, about)
    move_to_goal(planner, walk)
    walk.close()
    return read_record(path)


def write_page(record: Path, title: str = '') -> Path:
    """The page of a record, beside it."""
    page = record.with_suffix('.html')
    page.write_text(make_page(record.read_bytes(), title), encoding='utf-8')
    return page


def opened(browser: Browser, url: str, **options: Any) -> Page:
    """A page, when all of its record is loaded."""
    page = browser.open(url, **options)
    page.wait_for(LOADED)
    return page


def go_to(page: Page, tick: int) -> None:
    page.run(f'tbPlanner.goTo({tick})')
    page.wait_for(SETTLED)
    assert page.run('tbPlanner.replay.tick') == tick


def text_of(page: Page, name: str) -> str:
    """The text of the element with this id."""
    return str(page.run(f'document.getElementById({name!r}).textContent'))


class Picture:
    """The pixels of the page, by places on the map in cells."""

    def __init__(self, page):
        self.pixels = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert('RGB')).astype(int)
        self._left, self._top, *_ = page.box_of('map')
        zero, one = (np.array(page.run(f'tbPlanner.scene.pointOf({n}, {n})')) for n in (0, 1))
        self._zero, self._cell = zero, one - zero

    def at(self, x, y):
        px, py = self._zero + self._cell * (x, y)
        return tuple(self.pixels[math.floor(self._top + py), math.floor(self._left + px)].tolist())

    def along(self, a, b, steps=400):
        return [self.at(*(np.array(a) + (np.array(b) - a) * i / steps)) for i in range(steps + 1)]


def click_on(page, x, y):
    """Clicks on a place of the map, in cells."""
    left, top, *_ = page.box_of('map')
    px, py = page.run(f'tbPlanner.scene.pointOf({x}, {y})')
    for kind in ('mousePressed', 'mouseReleased'):
        page.mouse(kind, left + px, top + py, button='left', clickCount=1)
