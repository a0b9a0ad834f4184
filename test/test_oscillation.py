"""The benchmark of switching paths: what counts as a switch, and that tb_planner has fewer of them."""

import numpy as np
import pytest

from benchmarks.oscillation import PLANNERS, SWITCH_M, WORLDS, Leader, Switches, farthest_m, runs
from tb_planner import Grid
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.live_map import MapUpdate

GEOMETRY = MapGeometry(100, 40, 0.1)
HERE = Pose2D(0.15, 2.05)


def straight(y_m, first_m=0.15):
    x = np.arange(first_m, 9.9, 0.1)
    return np.column_stack((x, np.full(len(x), y_m)))


def map_with(*blocked):
    values = np.zeros((40, 100), bool)
    for x, y in blocked:
        values[y, x] = True
    return MapUpdate(GEOMETRY, Grid(values), None)


def counts(*paths, on=None, pose=HERE):
    switches = Switches()
    for path in paths:
        switches.see(path, pose, on or map_with())
    return switches.paths, switches.switches, switches.unforced


def test_the_same_path_again_is_no_new_one():
    path = straight(2.05)
    assert counts(path, path, path) == (1, 0, 0)


def test_what_is_left_of_a_path_is_no_switch_and_neither_is_a_hair():
    assert counts(straight(2.05), straight(2.05, 1.15), straight(2.05 + 0.9 * SWITCH_M, 1.15)) == (3, 0, 0)


def test_a_bulge_is_a_switch():
    path, bulge = straight(2.05), straight(2.05)
    bulge[50:60, 1] += 1.5 * SWITCH_M
    assert farthest_m(bulge, path) == pytest.approx(1.5 * SWITCH_M)
    assert counts(path, bulge) == (2, 1, 1)


def test_switches_are_counted_by_how_far_they_lead_away():
    switches = Switches()
    for y_m in (2.05, 2.35, 3.05, 2.95):
        switches.see(straight(y_m), HERE, map_with())
    assert (switches.switches, switches.farther) == (2, {0.5: 1, 1.0: 0, 2.0: 0})


def test_a_switch_is_forced_if_the_path_before_is_blocked_ahead_of_the_robot():
    old, new = straight(2.05), straight(3.05)
    assert counts(old, new, on=map_with((70, 20))) == (2, 1, 0)
    assert counts(old, new, on=map_with((70, 20)), pose=Pose2D(8.05, 2.05)) == (2, 1, 1)


def test_a_robot_is_led_along_the_path_it_was_given_and_stays_without_one():
    leader, terrain = Leader(GEOMETRY), map_with().grid.cost_u16
    assert leader.waypoint(terrain, HERE) == HERE
    leader.follow(straight(2.05))
    waypoint = leader.waypoint(terrain, HERE)
    assert waypoint.y_m == pytest.approx(2.05)
    assert waypoint.x_m - HERE.x_m == pytest.approx(1.0, abs=0.2)


def test_every_run_arrives_unhurt_and_tb_planner_switches_less_often():
    rows = list(runs(2, seed=1))
    assert len(rows) == 2 * len(WORLDS) * len(PLANNERS)
    assert all(row['arrived'] and row['collisions'] == 0 for row in rows)
    for world in WORLDS:
        theirs, ours = (
            {
                name: sum(row[name] for row in rows if (row['world'], row['planner']) == (world, planner))
                for name in ('paths', 'switches', 'unforced')
            }
            for planner in PLANNERS
        )
        assert all(ours[name] < theirs[name] for name in ours), (world, theirs, ours)
