"""Makes the pictures of the replay page for the documents; it needs Chromium.

`python -m benchmarks.view_pictures [RUN]` writes docs/view-light.png, docs/view-dark.png, docs/view-phone.png and the
moving picture docs/replay.gif. Without a RUN (a .tbrun file), a simulated robot drives through the changing office
first, without ROS and with few expansions per tick, so that it has to backtrack.
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
from PIL import Image
from tqdm import tqdm

from tb_planner.config import PlannerParameters
from tb_planner.geometry import Pose2D
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.files import read_map
from tb_planner.maps.live_map import LiveMap
from tb_planner.navigation.navigator import NavigationStatus, Navigator
from tb_planner.recording import About, Record, Recorder, read_record
from tb_planner.simulation.scenes import DEMO_GOALS
from tb_planner.simulation.simulator import Simulation, SimulationSettings
from tb_planner.simulation.true_map import RandomChange, read_script
from tb_planner.view import make_page

ROOT = Path(__file__).parents[1]
TICK_S, STEPS = 0.05, 2
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


def record_drive(path: Path) -> Path:
    """Records a drive like that of the demo, but without ROS."""
    map_ = read_map(ROOT / 'maps' / 'office.yaml')
    goal, change = Pose2D(*DEMO_GOALS['office']), RandomChange(rate=0.2, period_s=1.0, size_m=0.5, open_walls=False)
    script = read_script(ROOT / 'config' / 'office_obstacles.yaml')
    settings = SimulationSettings(world='changing', dt_s=TICK_S / STEPS, seed=1, change=change)
    simulation = Simulation(map_.occupancy, map_.geometry, Pose2D(0.0, 0.0), settings, script)
    simulation.set_goal(goal)
    live_map = LiveMap(CostmapConfig(robot_radius_m=0.18, inflation_radius_m=0.55))
    live_map.full(simulation.whole_map().occupancy, map_.geometry)
    parameters = PlannerParameters(weight=1.5, expansions_per_tick=100, min_improvement=0.05, deviation_tolerance_m=0.3)
    navigator = Navigator(parameters.settings())
    navigator.new_goal(goal)
    about = About('Office, changing world', 'TB-WA* (w = 1.5), k = 100', period_s=TICK_S, budget_s=TICK_S)
    with Recorder(path, about, real_time=False) as recorder:
        for number in range(4000):
            update, pose = live_map.latest(), simulation.pose
            began = thread_time()  # other programs of this computer do not count
            tick = navigator.tick(update, pose, recorder.searching(None))
            recorder.see(navigator, tick, update, pose, number * TICK_S)
            recorder.end_tick(thread_time() - began)
            if tick.status == NavigationStatus.ARRIVED:
                break
            if tick.waypoint is not None:
                simulation.drive_to(tick.waypoint)
            for _ in range(STEPS):
                simulation.step()
            changed = simulation.changed_map()
            if changed is not None and changed.changed is not None:
                box = changed.changed
                live_map.patch(changed.occupancy[box.slices], (box.x0, box.y0))
    return path


if __name__ == '__main__':
    main()
