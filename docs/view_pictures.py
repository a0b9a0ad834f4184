"""Makes the pictures of the replay page for the documents; it needs Chromium.

`python docs/view_pictures.py` writes docs/view-light.png, docs/view-dark.png, docs/view-phone.png and the moving
picture docs/replay.gif. It records a drive through the demo's office with few expansions per tick, so that the robot
has to backtrack. The record of another run may be given: `python docs/view_pictures.py RUN.tbrun`.
"""

from __future__ import annotations

import io
import sys
import tempfile
from contextlib import closing
from importlib import import_module
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
from office_drive import drive
from PIL import Image
from tqdm import tqdm

from tb_planner.config import PlannerParameters
from tb_planner.navigation.loop import PlannerLoop, TickResult
from tb_planner.recording import About, Record, Recorder, read_record
from tb_planner.view import make_page

ROOT = Path(__file__).parents[1]
TITLE, PARAMETERS = 'Office, changing world', PlannerParameters(expansions_per_tick=100)
SHAPES = {
    'light': {'width': 1280, 'height': 800},
    'dark': {'width': 1280, 'height': 800, 'dark': True},
    'phone': {'width': 390, 'height': 844, 'scale': 2},
}
GIF_SHAPE = {'width': 1080, 'height': 680}
GIF_FRAMES, GIF_FRAME_MS, GIF_LAST_MS, GIF_COLOURS = 120, 90, 2500, 96
LOADED = 'window.tbPlanner && tbPlanner.isSettled && tbPlanner.scouting === false'


def main() -> None:
    with open_browser() as browser, tempfile.TemporaryDirectory() as folder:
        run = Path(sys.argv[1]) if len(sys.argv) > 1 else record_drive(Path(folder) / 'office.tbrun')
        record = read_record(run)
        html = Path(folder) / 'run.html'
        html.write_text(make_page(run.read_bytes(), record.head['title'] or run.stem), encoding='utf-8')
        tick = int(record.columns['back'].argmax())
        for name, shape in SHAPES.items():
            page = open_page(browser, html, shape)
            show(page, tick)
            page.screenshot(ROOT / 'docs' / f'view-{name}.png')
            page.close()
        write_gif(open_page(browser, html, GIF_SHAPE), record, ROOT / 'docs' / 'replay.gif')


def record_drive(path: Path) -> Path:
    """Records a drive; the times of its ticks are those of the thread's processor."""
    about = About(
        *(TITLE, PARAMETERS.algorithm_name),
        period_s=PARAMETERS.period_s,
        budget_s=PARAMETERS.period_s,
        facts={'expansions per tick': f'{PARAMETERS.expansions_per_tick}'},
    )
    recorder = Recorder(path, about, real_time=False)

    def tick(loop: PlannerLoop, now_s: float) -> TickResult:
        began = thread_time()
        result = loop.tick(now_s)
        recorder.end_tick(thread_time() - began)
        return result

    try:
        for _ in drive(PARAMETERS, tick, recorder=recorder):
            pass
    finally:
        recorder.close()
    return path


def open_browser() -> Any:
    """The browser of the tests, for a with statement."""
    sys.path.append(str(ROOT / 'test'))
    helper = import_module('helpers.browser')
    executable = helper.find_chromium()
    if executable is None:
        sys.exit('Chromium is missing: sudo apt install chromium')
    return closing(helper.Browser(executable))


def open_page(browser: Any, html: Path, shape: dict[str, int]) -> Any:
    page = browser.open(html.as_uri(), **shape)
    page.wait_for(LOADED)
    return page


def show(page: Any, tick: int) -> None:
    page.run(f'tbPlanner.goTo({tick})')
    page.wait_for(f'tbPlanner.isSettled && tbPlanner.replay.tick === {tick}')


def write_gif(page: Any, record: Record, path: Path) -> None:
    """Screenshots of the page at equal steps of time, with one palette for all of them."""
    frames = []
    for tick in tqdm(np.linspace(0, record.ticks - 1, GIF_FRAMES).astype(int).tolist(), desc=path.name):
        show(page, tick)
        frames.append(Image.open(io.BytesIO(page.screenshot())).convert('RGB'))
    page.close()
    width, height = frames[0].size
    samples = Image.new('RGB', (width, 4 * height))  # the palette must have the colours of the whole run
    for i in range(4):
        samples.paste(frames[i * (GIF_FRAMES - 1) // 3], (0, i * height))
    palette = samples.quantize(GIF_COLOURS, method=Image.Quantize.MEDIANCUT)
    first, *others = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    durations = [GIF_FRAME_MS] * len(others) + [GIF_LAST_MS]
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)
    print(f'{path}: {path.stat().st_size / 1e6:.2f} MB')


if __name__ == '__main__':
    main()
