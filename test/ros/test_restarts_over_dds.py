"""The search starts over exactly when a change of the map blocks the route or could shorten it.

The test reads the route from `plan`, works the rule out for itself, and counts the restarts on /diagnostics. Cells
cost nothing extra and the robot is a point, so that the rule is that of the design: lazy, w = 1.
"""

import itertools
import math

import numpy as np
import pytest
from helpers.scenes import place_of
from helpers.surroundings import RESOLUTION_M, PlannerPeer, pose_stamped
from nav_msgs.msg import Path

from tb_planner.search.algorithms import RestartReason

OccupancyGridUpdate = pytest.importorskip('map_msgs.msg', reason='map_msgs is not installed').OccupancyGridUpdate

SIDE = 120
ROBOT, GOAL = (20, 60), (100, 60)
UPDATES = 400
POINT = {'robot_radius_m': 0.0, 'inflation_radius_m': 0.0, 'algorithm': 'tba_star', 'min_improvement': 0.0}


@pytest.fixture
def around(nodes, peer):
    """A planner that navigates straight across an empty map; its robot does not move."""
    nodes.planner(autostart_node=True, tick_frequency=50.0, **POINT)
    around = PlannerPeer(peer)
    around.pose = pose_stamped(*centre(ROBOT))
    around.cells = np.zeros((SIDE, SIDE), np.int8)
    around.patches = peer.node.create_publisher(OccupancyGridUpdate, 'map_updates', 10)
    return around


def centre(cell):
    return tuple((part + 0.5) * RESOLUTION_M for part in cell)


def cells_of(plan: Path):
    return [tuple(math.floor(part / RESOLUTION_M) for part in place_of(pose)) for pose in plan.poses]


def octile(one, other):
    dx, dy = abs(one[0] - other[0]), abs(one[1] - other[1])
    return max(dx, dy) + (math.sqrt(2) - 1) * min(dx, dy)


def length(route):
    return sum(octile(one, other) for one, other in itertools.pairwise(route))


def is_valid(route, cells):
    """Whether every step of the route is legal: its cells are free, and so are those at the corners it passes."""
    corners = [cell for (x0, y0), (x1, y1) in itertools.pairwise(route) for cell in ((x0, y1), (x1, y0))]
    return not any(cells[y, x] for x, y in [*route, *corners])


def length_through(cell):
    """A lower bound of the length of paths over the cell, or past it."""
    x, y = cell
    near = [(x + dx, y + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]
    return min(octile(ROBOT, other) + octile(other, GOAL) for other in near)


def verdict(route, before, after):
    """The restart that the rule asks for; None if it is too close to call without knowing how it is rounded."""
    if not is_valid(route, after):
        return 'blocked'
    decreased = [(x, y) for y, x in np.argwhere((before != 0) & (after == 0)).tolist()]
    remaining = length(route)
    if all(length_through(cell) >= remaining + 0.01 for cell in decreased):
        return ''
    if any(octile(ROBOT, cell) + octile(cell, GOAL) < remaining - 0.01 for cell in decreased):
        return 'shortcut_opened'
    return None


def restarts(around):
    facts = around.facts
    return {reason.value: int(facts[f'restarts_{reason.value}']) for reason in RestartReason}


def change(around, box, value):
    """Sets the cells in this box and publishes them as a patch."""
    x0, y0, x1, y1 = box
    around.cells[y0:y1, x0:x1] = value
    message = OccupancyGridUpdate(x=x0, y=y0, width=x1 - x0, height=y1 - y0)
    message.header.frame_id = 'map'
    message.data.frombytes(around.cells[y0:y1, x0:x1].tobytes())
    around.patches.publish(message)


def set_out(around):
    around.peer.wait_until(around.patches.get_subscription_count, 'the planner listens to patches')
    around.set_out(*centre(GOAL), cells=around.cells)
    wait_for_route(around)


def wait_for_route(around):
    """Waits for the route of a search that has reached the goal; a busy planner needs two ticks."""
    around.wait_for_waypoints(10)
    around.peer.wait_until(lambda: around.plans.last.poses and cells_of(around.plans.last)[-1] == GOAL, 'a whole plan')
    route = cells_of(around.plans.last)
    assert route[0] == ROBOT
    assert is_valid(route, around.cells)
    return route


def draw(random, cells):
    """A box of some cells, not around robot and goal, and what they become."""
    while True:
        x, y = random.integers(2, SIDE - 10, 2).tolist()
        width, height = random.integers(1, 8, 2).tolist()
        if any(x - 2 <= at_x <= x + width + 1 and y - 2 <= at_y <= y + height + 1 for at_x, at_y in (ROBOT, GOAL)):
            continue
        box = x, y, x + width, y + height
        blocked_already = cells[y : y + height, x : x + width].any()
        return box, 0 if blocked_already else 100


def test_the_search_restarts_exactly_when_the_rule_requires_it(around):
    random = np.random.default_rng(11)
    around.cells[30:90, 58:60] = 100  # the route leads around one end of a wall
    set_out(around)
    route = wait_for_route(around)
    expected = restarts(around)
    seen = {'': 0, 'blocked': 0, 'shortcut_opened': 0}
    while sum(seen.values()) < UPDATES or min(seen.values()) < 5:
        box, value = draw(random, around.cells)
        after = around.cells.copy()
        after[box[1] : box[3], box[0] : box[2]] = value
        reason = verdict(route, around.cells, after)
        if reason is None:
            continue
        seen[reason] += 1
        change(around, box, value)
        if reason:
            expected[reason] += 1
            around.peer.wait_until(
                lambda reason=reason: restarts(around)[reason] >= expected[reason],
                f'a restart, {reason}, after {seen}: cells in {box} are {value}',
            )
            route = wait_for_route(around)
            assert restarts(around) == expected
        else:
            around.wait_for_waypoints(1)
    around.next_facts()
    assert restarts(around) == expected
    assert around.statuses.last.data == 'NAVIGATING'


def test_irrelevant_changes_never_restart_the_search_and_never_change_the_plan(around):
    """Hundreds of cells come and go beside the straight path; the end shows that all of them were used."""
    random = np.random.default_rng(12)
    set_out(around)
    plans, expected = len(around.plans), restarts(around)
    for _ in range(UPDATES):
        x, y = int(random.integers(0, SIDE - 6)), int(random.choice([*range(50), *range(66, SIDE - 6)]))
        change(around, (x, y, x + 5, y + 5), int(random.choice([0, 100])))
        around.wait_for_waypoints(1)
    around.next_facts()
    assert restarts(around) == expected
    assert len(around.plans) == plans
    change(around, (60, 50, 61, 66), 100)
    around.peer.wait_until(lambda: restarts(around)['blocked'] == expected['blocked'] + 1, 'a restart')
    wait_for_route(around)  # valid on the map as it is now
    assert around.cells.any(axis=1).sum() > 50


def test_the_first_waypoint_on_a_map_that_blocks_the_route_is_in_sight_on_it(around):
    set_out(around)
    wait_for_route(around)
    old, expected = place_of(around.waypoints.last), restarts(around)
    x, y = ROBOT
    assert old[0] > centre((x + 5, y))[0]
    wall = x + 3, y - 1, x + 4, SIDE  # the path around its near end is short, and what follows is out of sight
    around.waypoints.clear()
    change(around, wall, 100)
    around.peer.wait_until(lambda: any(place_of(waypoint) != old for waypoint in around.waypoints), 'another waypoint')
    around.wait_for_waypoints(20)
    places = [place_of(waypoint) for waypoint in around.waypoints]
    new = places[next(i for i, place in enumerate(places) if place != old) :]
    assert all(in_sight(around.cells, centre(ROBOT), place) for place in new)
    around.peer.wait_until(lambda: restarts(around)['blocked'] == expected['blocked'] + 1, 'the restart is reported')
    wait_for_route(around)
    change(around, wall, 0)
    around.peer.wait_until(
        lambda: restarts(around)['shortcut_opened'] == expected['shortcut_opened'] + 1, 'the restart is reported'
    )
    around.peer.wait_until(lambda: length(cells_of(around.plans.last)) == 80, 'the straight path again')
    around.next_facts()
    assert sum(restarts(around).values()) == sum(expected.values()) + 2


def in_sight(cells, one, other):
    points = np.linspace(one, other, 200) / RESOLUTION_M
    x, y = np.floor(points).astype(int).T
    return not cells[y, x].any()
