"""Draws docs/lazy-restart.svg from a run of the library: which changes of a map restart a lazy search.

Run it with `python docs/lazy_restart.py`. The run is the same every time; it needs neither ROS nor a clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from drawing import FAINT, Drawing
from numpy.typing import NDArray

from tb_planner import Cell, Grid, Status, TimeBoundedPlanner, tb_wa_star

WIDTH, HEIGHT, K = 40, 30, 40
START, GOAL = (3, 15), (36, 15)
MOVES_BEFORE = 6
BESIDE, AHEAD = (14, 4), (24, 12)
"""Upper left cells of the two obstacles that appear; neither the search nor the route knows them before."""
BESIDE_SHAPE, AHEAD_SHAPE = (3, 4), (7, 2)

SIDE, GAP, TOP, BOTTOM, LEFT = 7, 18, 62, 62, 16
WALL, APPEARED, EXPANDED, ROUTE, OLD, BLOCKED_AT = '#30343b', '#e69f00', '#c4e3f6', '#0072b2', '#8a94a0', '#d5300e'


@dataclass(frozen=True, eq=False)
class Frame:
    """What the planner has at one moment of the run."""

    title: str
    note: str
    expanded: NDArray[np.bool_]
    route: list[Cell]
    old_route: list[Cell]
    robot: Cell
    appeared: list[tuple[Cell, tuple[int, int]]]
    searches: int
    moves: int


def walls() -> NDArray[np.bool_]:
    """A room with two openings in a wall across it."""
    blocked = np.zeros((HEIGHT, WIDTH), bool)
    blocked[[0, -1], :] = blocked[:, [0, -1]] = True
    blocked[:, 24:26] = True
    blocked[12:19, 24:26] = blocked[23:27, 24:26] = False
    blocked[5:12, 9:11] = blocked[18:24, 15:17] = True
    return blocked


def run() -> tuple[list[Frame], TimeBoundedPlanner]:
    """Three moments of one drive to the goal."""
    planner = TimeBoundedPlanner(Grid(walls()), START, GOAL, tb_wa_star(1.5), K)
    while not planner.goal_found or planner.moves < MOVES_BEFORE:
        planner.step()
    planner.observe(np.ones(BESIDE_SHAPE, bool), at=BESIDE)
    planner.step()
    appeared = [(BESIDE, BESIDE_SHAPE)]
    frames = [frame(planner, '1. An obstacle beside the route', 'no restart', [], appeared)]
    old_route = planner.route
    planner.observe(np.ones(AHEAD_SHAPE, bool), at=AHEAD)
    appeared = [*appeared, (AHEAD, AHEAD_SHAPE)]
    restart = f'restart: {planner.last_restart.value.replace("_", " ")}' if planner.last_restart else 'no restart'
    planner.search()
    before = planner.moves
    frames.append(frame(planner, '2. An obstacle on the route', restart, old_route, appeared))
    while not planner.goal_found:
        planner.step()
    frames.append(frame(planner, f'3. After {planner.moves - before} more moves', 'new route', [], appeared))
    while planner.status in (Status.MOVED, Status.WAITED):
        planner.step()
    return frames, planner


def frame(
    planner: TimeBoundedPlanner,
    title: str,
    note: str,
    old_route: list[Cell],
    appeared: list[tuple[Cell, tuple[int, int]]],
) -> Frame:
    cell = planner.current_cell
    return Frame(
        *(title, note, planner.expanded.copy(), planner.route, old_route, cell, appeared),
        *(planner.searches, planner.moves),
    )


def picture() -> Drawing:
    """The frames beside each other, and the legend."""
    frames, planner = run()
    if planner.status != Status.AT_GOAL:
        raise SystemExit(f'the run has ended with {planner.status}')
    width = 2 * LEFT + 3 * WIDTH * SIDE + 2 * GAP
    words = '; '.join(f'{one.title}: {one.note}, {int(one.expanded.sum())} states expanded' for one in frames)
    drawing = Drawing(width, TOP + HEIGHT * SIDE + BOTTOM, 'A lazy restart in three frames', f'{words}.')
    for number, one in enumerate(frames):
        draw(drawing, one, LEFT + number * (WIDTH * SIDE + GAP))
    y = TOP + HEIGHT * SIDE + BOTTOM - 18
    x = float(LEFT)
    for colour, label in ((EXPANDED, 'expanded by this search'), (APPEARED, 'obstacle that has appeared')):
        drawing.rectangle(x, y - 11, 14, 14, colour)
        drawing.text(x + 20, y, label)
        x += 36 + 6 * len(label)
    for colour, dashes, label in ((ROUTE, '', 'route'), (OLD, '4 4', 'route before the restart')):
        drawing.line([(x, y - 4), (x + 26, y - 4)], colour, 3, dashes=dashes)
        drawing.text(x + 34, y, label)
        x += 50 + 6 * len(label)
    cross(drawing, x + 6, y - 5)
    drawing.text(x + 18, y, 'blocked here')
    x += 116
    for colour, label in (('#ffffff', 'robot'), ('#f0e442', 'goal')):
        drawing.disc(x, y - 5, 6, colour)
        drawing.text(x + 11, y, label)
        x += 56
    return drawing


def draw(drawing: Drawing, one: Frame, left: float) -> None:
    def corner(cell: Cell) -> tuple[float, float]:
        return left + SIDE * cell[0], TOP + SIDE * cell[1]

    def centre(cell: Cell) -> tuple[float, float]:
        x, y = corner(cell)
        return x + SIDE / 2, y + SIDE / 2

    def squares(cells: NDArray[np.bool_], colour: str) -> None:
        drawing.squares((corner((x, y)) for y, x in np.argwhere(cells).tolist()), SIDE, colour)

    drawing.text(left, 26, one.title, bold=True, size=15)
    drawing.text(left, 46, f'{one.note}; search {one.searches}, move {one.moves}', colour=FAINT)
    drawing.rectangle(left, TOP, WIDTH * SIDE, HEIGHT * SIDE, '#f6f8fa')
    appeared = np.zeros((HEIGHT, WIDTH), bool)
    for (x, y), (height, width) in one.appeared:
        appeared[y : y + height, x : x + width] = True
    squares(one.expanded & ~appeared, EXPANDED)
    squares(walls() & ~appeared, WALL)
    squares(appeared, APPEARED)
    if one.old_route:
        drawing.line(map(centre, one.old_route), OLD, 2.5, dashes='4 4')
        cross(drawing, *centre(next((x, y) for x, y in one.old_route if appeared[y, x])))
    drawing.line(map(centre, one.route), ROUTE, 3)
    drawing.disc(*centre(one.robot), 6, '#ffffff')
    drawing.disc(*centre(GOAL), 6, '#f0e442')


def cross(drawing: Drawing, x: float, y: float) -> None:
    for rise in (-6, 6):
        drawing.line([(x - 6, y - rise), (x + 6, y + rise)], '#ffffff', 5)
    for rise in (-6, 6):
        drawing.line([(x - 6, y - rise), (x + 6, y + rise)], BLOCKED_AT, 2.5)


if __name__ == '__main__':
    picture().write('lazy-restart.svg')
