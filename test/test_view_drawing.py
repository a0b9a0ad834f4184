"""What the replay page draws on the map and on the strip, pixel by pixel, of a run that is made up for it."""

import io
import math
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from tb_planner import Grid
from tb_planner.geometry import Pose2D
from tb_planner.recording import About
from tb_planner.recording.recorder import NO_DIRECTIONS, NO_STATES
from tb_planner.recording.writer import Frame, MapChange, RecordWriter
from tb_planner.search.planner import Expanded
from tb_planner.view import make_page

LOADED = 'window.tbPlanner && tbPlanner.isSettled && tbPlanner.scouting === false'
INK = {
    'free': (255, 255, 255),
    'obstacle': (48, 52, 59),
    'ahead': (0, 114, 178),
    'back': (213, 94, 0),
    'trail': (168, 70, 127),
    'robot': (29, 33, 39),
    'goal': (240, 228, 66),
    'goal rim': (29, 33, 39),
    'waypoint': (230, 159, 0),
    'bar': (154, 164, 178),
    'over': (213, 94, 0),
}
TRAIL_OPACITY = 0.75

WIDTH, HEIGHT = 40, 24
ROUTE = [*((x, 15) for x in range(20, 14, -1)), *((14, y) for y in range(15, 8, -1)), *((x, 8) for x in range(15, 31))]
"""Back to the left, down or up, and then to the right."""
BACK = 5
ROBOT, TURNED = (20.5, 15.5), 2.0
GOAL, WAYPOINT = (30.5, 8.5), (24.5, 8.5)
DRIVEN = [(25.5, 12.5), (33.5, 12.5), (33.5, 19.5), (27.5, 19.5), ROBOT]
DURATIONS_MS = [1.0, 0.1, 10.0, 0.1, 0.1, 0.1, 10.0, 1.0, 0.1, 0.1]
BUDGET_MS = 3.0


def walls():
    """Other ones if turned, mirrored or upside down."""
    blocked = np.zeros((HEIGHT, WIDTH), bool)
    blocked[3, 5:18] = blocked[3:12, 5] = True
    return blocked


def frames():
    grid = Grid(walls())
    for tick, duration_ms in enumerate(DURATIONS_MS):
        is_first = tick == 0
        yield Frame(
            time_s=0.05 * tick,
            status='NAVIGATING',
            pose=Pose2D(*DRIVEN[min(tick, len(DRIVEN) - 1)], TURNED),
            waypoint=Pose2D(*WAYPOINT),
            goal=Pose2D(*GOAL),
            restarts=(),
            left=len(ROUTE) - 1,
            back=BACK,
            expansions=0,
            open_size=0,
            change=MapChange(None, grid, None, (grid.cost_u16.copy(),), None, None) if is_first else None,
            expanded=Expanded(True, -1, NO_STATES, NO_DIRECTIONS) if is_first else None,
            route=np.array(ROUTE, np.int32) if is_first else None,
            duration_s=duration_ms / 1000,
        )


class Shown:
    """A picture of the page at the last tick, and where on it places of the map are: it is in the middle."""

    def __init__(self, page, y_up):
        self.pixels = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert('RGB')).astype(int)
        left, top, width, height = page.box_of('map')
        self._middle = left + width / 2, top + height / 2
        self.cell = min((width - 24) / WIDTH, (height - 24) / HEIGHT)
        self._up = -1 if y_up else 1
        self.strip = page.box_of('times')

    def at(self, x, y):
        """The colour of a place, in cells."""
        px = self._middle[0] + (x - WIDTH / 2) * self.cell
        py = self._middle[1] + self._up * (y - HEIGHT / 2) * self.cell
        return tuple(self.pixels[math.floor(py), math.floor(px)].tolist())

    def along(self, a, b):
        """Colours along the straight line, four to a pixel."""
        count = int(4 * self.cell * math.dist(a, b))
        return [self.at(*(p + (q - p) * i / count for p, q in zip(a, b, strict=True))) for i in range(count + 1)]


@pytest.fixture(scope='module', params=[True, False], ids=['y_up', 'y_down'])
def shown(request, browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp('drawing')
    about = About('Made up', budget_s=BUDGET_MS / 1000, y_up=request.param)
    writer = RecordWriter(folder / 'run.tbrun', about)
    for frame in frames():
        writer.put(frame)
    writer.close()
    path = folder / 'run.html'
    path.write_text(make_page((folder / 'run.tbrun').read_bytes()), encoding='utf-8')
    page = browser.open(path.as_uri())
    page.wait_for(LOADED)
    last = len(DURATIONS_MS) - 1
    page.run(f'tbPlanner.goTo({last})')
    page.wait_for(f'tbPlanner.isSettled && tbPlanner.replay.tick === {last}')
    assert page.complaints() == []
    yield Shown(page, request.param)
    page.close()


def centre(cell):
    return cell[0] + 0.5, cell[1] + 0.5


def is_under_a_mark(place):
    return min(math.dist(place, mark) for mark in (ROBOT, GOAL, WAYPOINT)) < 0.8


def test_walls_are_drawn_where_the_record_has_them_and_not_upside_down(shown):
    """A little off the middle of cells, where no lines are drawn."""
    blocked, seen = walls(), {'free': 0, 'obstacle': 0}
    for x, y in [(x, y) for x in range(4, 20) for y in range(1, HEIGHT - 1)]:
        name = 'obstacle' if blocked[y, x] else 'free'
        if (x, y) not in ROUTE:
            assert shown.at(x + 0.3, y + 0.3) == INK[name], (x, y)
            seen[name] += 1
    assert seen['obstacle'] == walls().sum()


def test_the_route_ahead_is_drawn_through_its_cells(shown):
    ahead = [centre(cell) for cell in ROUTE[BACK:]]
    for (ax, ay), (bx, by) in pairwise(ahead):
        place = (ax + bx) / 2, (ay + by) / 2
        if not is_under_a_mark(place):
            assert shown.at(*place) == INK['ahead'], place


def test_backtracking_is_dashed_and_in_another_colour(shown):
    begin, end = centre(ROUTE[0]), centre(ROUTE[BACK])
    assert begin == ROBOT
    colours = shown.along((begin[0] - 0.8, begin[1]), (end[0] + 0.3, end[1]))
    assert INK['ahead'] not in colours
    assert 0.4 < colours.count(INK['back']) / len(colours) < 0.75
    assert colours.count(INK['free']) > 0.15 * len(colours)


def test_the_robot_is_where_it_is_and_looks_where_it_looks(shown):
    assert shown.at(*ROBOT) == INK['robot']
    ahead, behind = ((ROBOT[0] + far * math.cos(TURNED), ROBOT[1] + far * math.sin(TURNED)) for far in (0.3, -0.3))
    assert shown.at(*ahead) == INK['robot']
    assert shown.at(*behind) != INK['robot']


def test_goal_and_waypoint_are_where_they_are(shown):
    assert shown.at(*GOAL) == INK['goal rim']
    for dx, dy in ((0.25, 0), (-0.25, 0), (0, 0.25), (0, -0.25)):
        assert shown.at(GOAL[0] + dx, GOAL[1] + dy) == INK['goal']
    assert shown.at(*WAYPOINT) == INK['waypoint']


def test_the_trail_goes_where_the_robot_has_driven(shown):
    expected = [round(w + (t - w) * TRAIL_OPACITY) for w, t in zip(INK['free'], INK['trail'], strict=True)]
    for (ax, ay), (bx, by) in pairwise(DRIVEN):
        place = ax + (bx - ax) * 0.4, ay + (by - ay) * 0.4
        assert shown.at(*place) == pytest.approx(expected, abs=3), place


# -------------------------------------------------------------------------------------------------- the strip
def bar_columns(shown):
    """The pixels of a column a little right of the middle of each bar, from the bottom up."""
    left, top, width, height = shown.strip
    for tick in range(len(DURATIONS_MS)):
        x = math.floor(left + (tick + 0.7) * width / len(DURATIONS_MS))
        yield [tuple(pixel) for pixel in shown.pixels[round(top) : round(top + height), x][::-1].tolist()]


def bar_heights(shown):
    """The heights of the bars in pixels; the budget's line may cross a bar."""
    heights = []
    for column, duration_ms in zip(bar_columns(shown), DURATIONS_MS, strict=True):
        ink = INK['over' if duration_ms > BUDGET_MS else 'bar']
        heights.append(column.count(ink))
    return heights


def test_bars_are_as_high_as_ticks_were_long_on_a_scale_of_powers_of_ten(shown):
    by_duration = {}
    for duration_ms, height in zip(DURATIONS_MS, bar_heights(shown), strict=True):
        by_duration.setdefault(duration_ms, []).append(height)
    assert all(max(heights) - min(heights) <= 2 for heights in by_duration.values())
    rising = [by_duration[duration_ms][0] for duration_ms in (0.1, 1.0, 10.0)]
    steps = np.diff(rising)
    assert steps.min() > 10
    assert steps.max() - steps.min() <= 3
    assert rising[-1] > 0.5 * shown.strip[3]


def test_the_budget_is_a_line_between_those_that_kept_it_and_those_that_did_not(shown):
    heights = dict(zip(DURATIONS_MS, bar_heights(shown), strict=True))
    share = math.log10(BUDGET_MS / 1.0)
    expected = heights[1.0] + share * (heights[10.0] - heights[1.0])
    base = next(i for i, pixel in enumerate(next(bar_columns(shown))) if pixel == INK['bar'])
    left, top, width, height = shown.strip
    row = math.floor(top + height - 1 - base - expected)
    begin, end = math.floor(left + 0.4 * width / 10), math.floor(left + 1.9 * width / 10)  # over two low bars
    dashes = (shown.pixels[row - 3 : row + 4, begin:end] == INK['over']).all(axis=2).mean(axis=1)
    assert dashes.max() > 0.4
    assert (dashes > 0.1).sum() <= 2  # and it is nothing but a line
