"""A record holds the tree of every search: the parents of expanded states, and what the search looks for."""

from itertools import pairwise

import numpy as np
import pytest
from helpers.changed_record import changed_record
from helpers.replay_page import make_record, rooms

from tb_planner import Changing, Grid, TimeBoundedPlanner, move_to_goal, tb_gbfs, tb_wa_star, tba_star, tbaa_star
from tb_planner.recording import About, RecordedWalk, Replay, read_record
from tb_planner.recording.format import NEW_SEARCH, from_runs, from_varints
from tb_planner.recording.record import Record

DIRECTIONS = ((0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1), (0, 0))
"""As format.py has them; the last is the root's."""


def walk_and_look(path, algorithm, k):
    """Records a walk; returns the planner's paths, from root to best, after each interval."""
    blocked, paths = rooms(3), []
    planner = TimeBoundedPlanner(Grid(blocked), (1, 1), (52, 34), algorithm, k=k)
    with RecordedWalk(path, planner, Changing(Grid(blocked), 8, every=5, seed=4), About()) as walk:
        while planner.current_cell != (52, 34):
            move_to_goal(planner, walk, max_intervals=1)
            paths.append(planner.path)
    return paths


def trees_of(record):
    """After each tick: the direction of each expanded state of its search, by state."""
    tree, width = {}, next(event['map']['width'] for event in record.events if 'map' in event)
    for tick in range(record.ticks):
        if record.columns['flags'][tick] & NEW_SEARCH:
            tree = {}
        states = from_runs(*from_varints(record.share('expanded', tick)).reshape(-1, 2).T)
        for state, direction in zip(states.tolist(), record.share('parents', tick).tolist(), strict=True):
            tree[state % width, state // width] = DIRECTIONS[direction]
        yield tree


@pytest.mark.parametrize('algorithm', [tba_star(), tb_wa_star(1.5), tb_gbfs(), tbaa_star()], ids=lambda a: a.name)
def test_parents_lead_along_the_path_of_the_planner(tmp_path, algorithm):
    paths = walk_and_look(tmp_path / 'run.tbrun', algorithm, k=6)
    record = read_record(tmp_path / 'run.tbrun')
    compared = 0
    for path, tree in zip(paths, trees_of(record), strict=False):
        for (ax, ay), (bx, by) in pairwise(path[:-1]):  # the last one is not expanded
            assert tree[bx, by] == (bx - ax, by - ay)
            compared += 1
    assert compared > 500


def test_a_record_names_the_goal_and_the_algorithm_of_its_searches_once(tmp_path):
    record = make_record(tmp_path / 'run.tbrun')
    searches = [event['search'] for event in record.events if 'search' in event]
    assert searches == [{'goal': [52, 34], 'w_g': 2, 'w_h': 3, 'learns': False}]


def without_trees(head, columns):
    head['events'] = [event for event in head['events'] if 'search' not in event]
    for name in ('parents', 'parent_bytes'):
        del columns[name]


def test_a_record_from_before_there_were_parents_is_shown_as_ever(tmp_path):
    make_record(tmp_path / 'run.tbrun')
    data = (tmp_path / 'run.tbrun').read_bytes()
    old, new = Record(changed_record(data, without_trees)), Record(changed_record(data, lambda *_: None))
    assert old.ticks == new.ticks > 0
    for before, after in zip(Replay(old), Replay(new), strict=True):
        assert np.array_equal(before.expanded, after.expanded)
        assert np.array_equal(before.classes, after.classes)
        assert len(old.share('parents', before.tick)) == 0
