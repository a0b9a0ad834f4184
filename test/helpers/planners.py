"""Planners on small maps, for tests of the search."""

import numpy as np

from tb_planner import Grid, Status, TimeBoundedPlanner

UNLIMITED = 10**6
"""A k with which a search on a test's map ends in one interval."""


def open_field(width=9, height=5):
    """A map without obstacles."""
    return np.zeros((height, width), bool)


def planner_on(values, start, goal, algorithm=None, k=UNLIMITED, **options):
    """A planner on a new grid of these values; options of the grid and of the planner together."""
    shape = {name: options.pop(name) for name in ('neighbours', 'corner_cutting') if name in options}
    return TimeBoundedPlanner(Grid(values, **shape), start, goal, algorithm, k, **options)


def run_to_the_end(planner, max_intervals=10_000):
    """Runs intervals until the agent is at its goal or has no path; returns the status."""
    for _ in range(max_intervals):
        if planner.step() in (Status.AT_GOAL, Status.NO_PATH):
            break
    return planner.status
