"""Draws the demo maps: `python maps/draw.py` writes office and warehouse, .pgm and .yaml, beside this file.

Lengths are metres; (0, 0) is a place where a robot can start. Black is a wall or a thing, white is floor, grey unknown.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

RESOLUTION_M = 0.05
FLOOR, THING, UNKNOWN = 254, 0, 205
DESCRIPTION = """image: {name}.pgm
resolution: {resolution}
origin: [{x}, {y}, 0.0]
negate: 0
occupied_thresh: 0.65
free_thresh: 0.196
"""


class Drawing:
    """A floor plan; the corner of the sheet is at (x, y)."""

    def __init__(self, x: float, y: float, width: float, height: float) -> None:
        self.x, self.y = x, y
        self.shades = np.full((round(height / RESOLUTION_M), round(width / RESOLUTION_M)), UNKNOWN, np.uint8)

    def box(self, x0: float, y0: float, x1: float, y1: float, shade: int = THING) -> None:
        left, low, right, high = (
            round((value - corner) / RESOLUTION_M)
            for value, corner in ((x0, self.x), (y0, self.y), (x1, self.x), (y1, self.y))
        )
        self.shades[low:high, left:right] = shade

    def disc(self, x: float, y: float, radius: float) -> None:
        rows, columns = np.indices(self.shades.shape)
        centre_x, centre_y = (x - self.x) / RESOLUTION_M, (y - self.y) / RESOLUTION_M
        away = np.hypot(columns + 0.5 - centre_x, rows + 0.5 - centre_y)
        self.shades[away <= radius / RESOLUTION_M] = THING

    def room(self, x0: float, y0: float, x1: float, y1: float, wall: float = 0.15) -> None:
        """Floor with walls around it, whose middle lines are given."""
        half = wall / 2
        self.box(x0 - half, y0 - half, x1 + half, y1 + half)
        self.box(x0 + half, y0 + half, x1 - half, y1 - half, FLOOR)

    def door(self, x: float, y: float, width: float = 1.0, upright: bool = False) -> None:
        """An opening in the wall at its middle (x, y); `upright` if the wall runs along y."""
        across, along = 0.2, width / 2
        dx, dy = (across, along) if upright else (along, across)
        self.box(x - dx, y - dy, x + dx, y + dy, FLOOR)

    def desk(self, x: float, y: float, upright: bool = False, chair: tuple[float, float] = (0.0, -0.65)) -> None:
        dx, dy = (0.4, 0.8) if upright else (0.8, 0.4)
        self.box(x - dx, y - dy, x + dx, y + dy)
        self.disc(x + chair[0], y + chair[1], 0.22)

    def table(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """A long table with chairs on both sides."""
        self.box(x0, y0, x1, y1)
        for x in np.arange(x0 + 0.4, x1 - 0.2, 0.8):
            self.disc(x, y0 - 0.3, 0.2)
            self.disc(x, y1 + 0.3, 0.2)

    def save(self, folder: Path, name: str) -> None:
        height, width = self.shades.shape
        header = f'P5\n{width} {height}\n255\n'.encode()
        (folder / f'{name}.pgm').write_bytes(header + self.shades[::-1].tobytes())
        description = DESCRIPTION.format(name=name, resolution=RESOLUTION_M, x=self.x, y=self.y)
        (folder / f'{name}.yaml').write_text(description)


def office() -> Drawing:
    """30 m x 18 m: two corridors, joined by a lobby, a passage, an east hall, and rooms with two doors."""
    plan = Drawing(-3.0, -9.5, 31.0, 19.0)
    west, east, south, north = -2.5, 27.5, -9.0, 9.0
    plan.box(west - 0.25, south - 0.25, east + 0.25, north + 0.25)
    plan.box(west, south, east, north, FLOOR)

    for x0, x1 in ((west, 4.0), (4.0, 8.0), (8.0, 12.0), (12.0, 18.0), (18.0, 22.5), (22.5, east)):
        plan.room(x0, 4.0, x1, north)
    for x0, x1 in ((west, 2.0), (2.0, 6.5), (6.5, 10.5), (10.5, 15.5), (15.5, 19.5), (19.5, 23.5), (23.5, east)):
        plan.room(x0, south, x1, -4.0)
    for x0, x1 in ((2.5, 6.5), (6.5, 9.0), (9.0, 12.5), (14.3, 19.0), (19.0, 21.0), (21.0, 24.5)):
        plan.room(x0, -2.0, x1, 2.0)
    plan.box(6.6, -1.9, 8.9, 1.9, UNKNOWN)  # a stairwell and a server room, locked
    plan.box(19.1, -1.9, 20.9, 1.9, UNKNOWN)

    for x in (1.0, 6.0, 9.0, 13.0, 17.0, 19.0, 24.0):  # rooms in the north
        plan.door(x, 4.0)
    for x in (-1.0, 3.0, 9.5, 11.5, 14.5, 16.5, 22.5, 25.5):  # and in the south
        plan.door(x, -4.0)
    for x, y in ((4.5, 2.0), (4.5, -2.0), (10.0, -2.0), (15.5, 2.0), (22.0, 2.0), (23.5, -2.0)):
        plan.door(x, y)
    plan.door(18.0, 6.0, upright=True)
    plan.door(6.5, -6.5, upright=True)

    plan.box(-1.2, 2.0, 0.8, 2.6)  # lobby: reception, sofas, columns
    plan.box(-2.4, -2.6, -1.7, -0.8)
    plan.disc(1.4, -1.4, 0.3)
    plan.disc(26.0, -1.5, 0.3)
    plan.disc(26.0, 1.5, 0.3)
    plan.box(26.7, -0.9, 27.4, 0.9)
    for x, y in ((-1.2, 8.0), (1.2, 8.0), (5.2, 8.0), (9.2, 8.0), (10.8, 8.0), (20.0, 8.0), (24.0, 8.0), (26.2, 8.0)):
        plan.desk(x, y)
    for x in (13.2, 15.0, 16.8):  # the open-plan room
        plan.desk(x, 8.0)
        plan.desk(x, 6.2, chair=(0.0, 0.65))
    for x in (3.4, 5.2, 8.5, 17.0, 18.4, 21.0, 22.4):
        plan.desk(x, -8.0, chair=(0.0, 0.65))
    plan.box(-2.4, 4.2, -1.9, 6.2)  # cabinets and shelves
    plan.box(7.4, 4.3, 7.9, 6.0)
    plan.box(12.15, 4.2, 12.6, 5.0)
    plan.box(22.0, 5.0, 22.4, 7.0)
    plan.box(26.9, 4.6, 27.4, 6.4)
    plan.box(2.1, -6.3, 2.5, -4.3)
    plan.box(19.0, -6.5, 19.4, -4.5)
    for y in (-8.6, -7.2, -5.8):  # the store
        plan.box(-2.4, y, 0.6, y + 0.5)
    plan.table(11.8, -7.1, 14.4, -6.1)  # meeting rooms, kitchen, canteen
    plan.table(15.6, -0.5, 18.0, 0.5)
    plan.disc(22.6, 0.0, 0.6)
    plan.box(2.7, -0.8, 3.3, 1.8)
    plan.disc(5.6, 0.3, 0.4)
    for x in (24.4, 26.2):
        plan.disc(x, -7.0, 0.45)
    for x in (10.2, 11.2, 12.1):  # washrooms
        plan.box(x, 0.6, x + 0.1, 1.9)
    plan.box(10.7, 4.2, 11.9, 4.6)
    for x in (3.6, 12.0, 21.0):  # what stands in corridors: plants, a copier, a bench
        plan.disc(x, 3.6, 0.25)
    plan.box(16.8, -3.85, 18.2, -3.4)
    plan.box(6.0, -2.6, 7.0, -2.1)
    return plan


def warehouse() -> Drawing:
    """40 m x 25 m: racks in two blocks with aisles between and around them, docks, a packing line, an office."""
    plan = Drawing(-3.0, -13.0, 41.0, 26.0)
    west, east, south, north = -2.5, 37.5, -12.5, 12.5
    plan.box(west - 0.3, south - 0.3, east + 0.3, north + 0.3)
    plan.box(west, south, east, north, FLOOR)
    random = np.random.default_rng(0)

    for y in (-6.0, -2.6, 0.8, 4.2, 7.6):  # racks of 2.7 m bays, back to back, pallets more or less far in
        for x0, bays in ((4.0, 4), (17.0, 5)):
            plan.box(x0, y + 0.2, x0 + 2.7 * bays, y + 1.8)
            for bay in range(bays + 1):
                plan.box(x0 + 2.7 * bay - 0.05, y, x0 + 2.7 * bay + 0.05, y + 2.0)
            for slot in range(3 * bays):
                x = x0 + 0.1 + 0.88 * slot + 0.06 * (slot // 3)
                for low, high in ((y + 0.2 - random.choice([0.0, 0.05, 0.15]), y + 1.0), (y + 1.0, y + 1.8)):
                    reach = random.choice([0.0, 0.05, 0.1]) if high == y + 1.8 else 0.0
                    plan.box(x, low, x + 0.8, high + reach)

    plan.room(31.5, 6.0, east, north, wall=0.2)  # the office
    plan.door(31.5, 6.9, upright=True)
    plan.desk(34.0, 11.5)
    plan.desk(36.0, 11.5)
    plan.box(36.9, 6.4, 37.4, 9.0)
    for x in (5.0, 10.0, 15.0, 20.0, 25.0):  # docks: gates with goods in front of some
        plan.box(x - 1.7, south, x - 1.5, south + 0.8)
        plan.box(x + 1.5, south, x + 1.7, south + 0.8)
    for x, y in ((4.4, -11.4), (5.6, -11.4), (10.0, -11.6), (19.2, -11.2), (20.4, -11.2), (20.4, -9.9), (25.6, -11.5)):
        plan.box(x - 0.5, y - 0.6, x + 0.5, y + 0.6)
    plan.box(32.5, -9.5, 33.5, -2.0)  # packing line
    for y in (-9.0, -7.0, -5.0, -3.0):
        plan.box(34.6, y - 0.5, 35.4, y + 0.5)
        plan.disc(34.1, y, 0.22)
    for x in (2.6, 15.9, 32.0):  # columns
        for y in (-8.0, 3.5, 11.0):
            plan.box(x - 0.2, y - 0.2, x + 0.2, y + 0.2)
    for y in (-2.0, -1.0, 1.0, 2.0):  # chargers along the west wall
        plan.box(west, y - 0.15, west + 0.5, y + 0.15)
    plan.box(-2.4, 9.5, 0.5, 12.4)  # a compactor, fenced in
    plan.box(36.2, 0.5, 37.4, 3.5)
    return plan


if __name__ == '__main__':
    here = Path(__file__).parent
    office().save(here, 'office')
    warehouse().save(here, 'warehouse')
