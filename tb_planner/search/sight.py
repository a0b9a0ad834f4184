# cython: language_level=3, infer_types=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""Line of sight: whether the straight line between two points on a grid is clear.

Points are in cells, continuous: the centre of cell (0, 0) is (0.5, 0.5), and a point lies in the cell of its floors. A
cell is clear if its terrain is not 0 (blocked) and not above `max_cost`. The line is clear if the cells of its two ends
are clear and every cell that it touches in between; through a corner or along an edge, those on both sides. So a line
may begin on the edge of an obstacle, but none passes along that edge. Outside the grid nothing is clear.

Coordinates are cut off after 14 binary digits; from there on the arithmetic is exact, in whole numbers. One source,
two modes, as in kernel.py. Unlike there, all that enters is checked here. The GIL is kept: a look takes microseconds.
"""

try:
    import cython
except ImportError:
    from tb_planner.search.grid_math import no_cython as cython

COMPILED = cython.compiled

if not cython.compiled:  # sight.pxd has these for the compiler
    DIGITS, UNIT = 14, 16384  # a cell's side: products of two sides of a grid of 2**31 cells fit 64 bits
    ANY_COST = 65535


def clear(terrain, x0, y0, x1, y1, max_cost=ANY_COST):
    """Whether the line from (x0, y0) to (x1, y1) touches no cell that is blocked or costs more than `max_cost`."""
    return is_clear(terrain, x0, y0, x1, y1, max_cost)


def farthest_clear(terrain, x, y, points, max_cost):
    """The index of the last point to which the line from (x, y) is clear, each by its own `max_cost`, or -1.

    The work grows with the sum of the distances to the points; it is small if the last one is visible.
    """
    n = points.shape[0]
    if points.shape[1] != 2:
        raise ValueError(f'points have {points.shape[1]} coordinates; they must have 2')
    if max_cost.shape[0] != n:
        raise ValueError(f'{max_cost.shape[0]} values of max_cost for {n} points')
    for i in range(n - 1, -1, -1):
        if is_clear(terrain, x, y, points[i, 0], points[i, 1], max_cost[i]):
            return i
    return -1


def is_clear(terrain, x0, y0, x1, y1, max_cost):
    if not (is_inside(terrain, x0, y0) and is_inside(terrain, x1, y1)):
        return False
    u0, v0, u1, v1 = int(x0 * UNIT), int(y0 * UNIT), int(x1 * UNIT), int(y1 * UNIT)
    if not may_cross(terrain, u0 >> DIGITS, v0 >> DIGITS, max_cost):
        return False
    if not may_cross(terrain, u1 >> DIGITS, v1 >> DIGITS, max_cost):
        return False
    if u0 == u1 and v0 == v1:
        return True
    if u0 == u1 or v0 == v1:
        return is_straight_clear(terrain, u0, v0, u1, v1, max_cost)
    return is_slope_clear(terrain, u0, v0, u1, v1, max_cost)


def is_inside(terrain, x, y):
    """Whether a place is on the grid; False for NaN."""
    return 0 <= x < terrain.shape[1] and 0 <= y < terrain.shape[0]


def may_cross(terrain, x, y, max_cost):
    return 0 < terrain[y, x] <= max_cost


def is_straight_clear(terrain, u0, v0, u1, v1, max_cost):
    """Whether a line along an axis is clear; one on an edge between cells touches the cells on both sides of it."""
    first_x, last_x = (min(u0, u1) - (u0 == u1)) >> DIGITS, (max(u0, u1) - (u0 != u1)) >> DIGITS
    first_y, last_y = (min(v0, v1) - (v0 == v1)) >> DIGITS, (max(v0, v1) - (v0 != v1)) >> DIGITS
    if first_x < 0 or first_y < 0:
        return False
    for y in range(first_y, last_y + 1):
        for x in range(first_x, last_x + 1):
            if not may_cross(terrain, x, y, max_cost):
                return False
    return True


def is_slope_clear(terrain, u0, v0, u1, v1, max_cost):
    """Whether a slanted line is clear. It goes from edge to edge of the cells; if `lead` is negative the edge of a
    column comes first, if positive that of a row."""
    step_x, step_y = 1 if u1 > u0 else -1, 1 if v1 > v0 else -1
    x, y = cell_towards(u0, u1), cell_towards(v0, v1)
    if not may_cross(terrain, x, y, max_cost):
        return False
    lines = abs(cell_towards(u1, u0) - x) + abs(cell_towards(v1, v0) - y)
    lead = to_line(u0, x, u1) * abs(v1 - v0) - to_line(v0, y, v1) * abs(u1 - u0)
    lead_of_column, lead_of_row = abs(v1 - v0) << DIGITS, -(abs(u1 - u0) << DIGITS)
    while lines > 0:
        if lead == 0:
            if not (may_cross(terrain, x + step_x, y, max_cost) and may_cross(terrain, x, y + step_y, max_cost)):
                return False
            x, y = x + step_x, y + step_y
            lead += lead_of_column + lead_of_row
            lines -= 2
        else:
            # one expression each, so that there is nothing for the processor to mispredict
            sideways = lead < 0
            x += step_x if sideways else 0
            y += 0 if sideways else step_y
            lead += lead_of_column if sideways else lead_of_row
            lines -= 1
        if not may_cross(terrain, x, y, max_cost):
            return False
    return True


def cell_towards(u, end):
    """The column or row in which a line from u towards `end` begins; if it goes down from an edge, the one below."""
    return u >> DIGITS if end > u else (u - 1) >> DIGITS


def to_line(u, cell, end):
    """The length of that line until it leaves the column or row in which it begins."""
    return ((cell + 1) << DIGITS) - u if end > u else u - (cell << DIGITS)
