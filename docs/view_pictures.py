"""Makes the pictures of the replay page: `python docs/view_pictures.py [RUN]`, with Chromium installed.

Without a RUN a robot drives through the office in simulation, without ROS, with so few expansions a tick that it has to
turn back now and then.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / 'test')]

from browser import Browser, find_chromium  # noqa: E402

from tb_planner import tb_wa_star  # noqa: E402
from tb_planner.maps.costmap import CostmapConfig  # noqa: E402
from tb_planner.maps.files import read_map  # noqa: E402
from tb_planner.maps.live_map import LiveMap  # noqa: E402
from tb_planner.navigation.navigator import NavigationStatus, Navigator, Pose2D, Settings  # noqa: E402
from tb_planner.recording import About, Recorder, read_record  # noqa: E402
from tb_planner.simulation.simulator import Simulation, SimulationSettings  # noqa: E402
from tb_planner.simulation.true_map import RandomChange, read_script  # noqa: E402
from tb_planner.view import make_page  # noqa: E402

TICK_S, STEPS = 0.05, 2
SHAPES = {
    'light': {'width': 1280, 'height': 800},
    'dark': {'width': 1280, 'height': 800, 'dark': True},
    'phone': {'width': 390, 'height': 844, 'scale': 2},
}
LOADED = 'window.tbPlanner && tbPlanner.isSettled && tbPlanner.scouting === false'


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(sys.argv[1]) if len(sys.argv) > 1 else record_drive(Path(folder) / 'office.tbrun')
        record = read_record(run)
        tick = int(record.columns['back'].argmax())
        page = Path(folder) / 'run.html'
        page.write_text(make_page(run.read_bytes(), record.head['title'] or run.stem), encoding='utf-8')
        executable = find_chromium()
        if executable is None:
            sys.exit('no Chromium: sudo apt install chromium')
        browser = Browser(executable)
        try:
            for name, shape in SHAPES.items():
                take(browser, page.as_uri(), tick, ROOT / 'docs' / f'view-{name}.png', shape)
        finally:
            browser.close()


def take(browser: Browser, url: str, tick: int, path: Path, shape: dict[str, int]) -> None:
    page = browser.open(url, **shape)
    page.wait_for(LOADED)
    page.run(f'tbPlanner.goTo({tick})')
    page.wait_for(f'tbPlanner.isSettled && tbPlanner.replay.tick === {tick}')
    page.screenshot(path)
    page.close()
    print(path)


def record_drive(path: Path) -> Path:
    """As `make demo`, but for ROS and the clock."""
    map_ = read_map(ROOT / 'maps' / 'office.yaml')
    goal, change = Pose2D(25.0, 6.0), RandomChange(rate=0.2, period_s=1.0, size_m=0.5, open_walls=False)
    script = read_script(ROOT / 'config' / 'office_obstacles.yaml')
    settings = SimulationSettings(world='changing', dt_s=TICK_S / STEPS, seed=1, change=change)
    simulation = Simulation(map_.occupancy, map_.geometry, Pose2D(0.0, 0.0), settings, script)
    simulation.set_goal(goal)
    live_map = LiveMap(lambda cell_m: CostmapConfig(resolution_m=cell_m, robot_radius_m=0.18, inflation_radius_m=0.55))
    live_map.full(simulation.whole_map().occupancy, map_.geometry)
    navigator = Navigator(Settings(tb_wa_star(1.5), k=100, min_improvement=0.05, deviation_tolerance_m=0.3))
    navigator.new_goal(goal)
    about = About('Office, changing world', 'TB-WA* (w = 1.5), k = 100', period_s=TICK_S, budget_s=TICK_S)
    recorder = Recorder(path, about, real_time=False)
    for number in range(4000):
        update, pose = live_map.latest(), simulation.pose
        began = perf_counter()
        tick = navigator.tick(update, pose, recorder.searching(None))
        recorder.see(navigator, tick, update, pose, number * TICK_S)
        recorder.end_tick(perf_counter() - began)
        if tick.status == NavigationStatus.ARRIVED:
            break
        if tick.waypoint is not None:
            simulation.drive_to(tick.waypoint)
        for _ in range(STEPS):
            simulation.step()
        news = simulation.changed_map()
        if news is not None and news.changed is not None:
            live_map.patch(news.occupancy[news.changed.slices], (news.changed.x0, news.changed.y0))
    recorder.close()
    return path


if __name__ == '__main__':
    main()
