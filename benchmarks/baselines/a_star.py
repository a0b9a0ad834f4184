"""Agents that search with A* until they know the whole path, and only then move: the papers' complete searches.

All run on the planner's kernel, k expansions an interval. Ties go to the larger g, as in the papers' experiments, or,
ties='lifo', to the newest state. What the papers left open, and how it is decided here:

- 2009, "late acting". The agent paces between its start and *one* neighbour, drawn once; each of these moves takes an
  interval and counts. If the path leads through that neighbour, and the agent is there when the path is found, it goes
  on from there; else it steps back first. The goal is not drawn: the agent would be there by chance. Whether A* has all
  of R for expansions, or ⌊R r⌋ as TBA* has, is up to whoever gives k.
- 2012, A*, Repeated A* and Adaptive A*: the agent waits while it searches. A new search starts from where the agent is
  when its path is blocked or costs more, not for a change elsewhere: restart='path_cost_increased'. 'eager' searches
  after every change, as Repeated A* of Koenig and Likhachev ("Fast replanning for navigation in unknown terrain", 2005)
  does; 'lazy' also if a cost decreased and a shorter path may exist, the rule of the 2014 paper.
- A map that changes while a search is running: none of the worlds does that, since they change with moves. If a cost
  fell, 'lazy' starts over. A path found on a map that has changed since is looked at before the first step.
- Adaptive A* (Koenig and Likhachev, AAMAS 2005, its lazy version): h(s) := f(s_goal) - g(s) for what a search has
  expanded, computed when a later search meets s. That is consistent while costs rise. When any cost falls it is
  forgotten, and a running search that uses it starts over; the present path is kept, as by Repeated A*. (Generalized
  Adaptive A* of 2008 repairs h instead; no experiment of the papers needs it.)
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines.agent import Baseline
from tb_planner.geometry import Cell
from tb_planner.search import kernel
from tb_planner.search.algorithms import REASON_CODES, RestartReason, restart_reason, rtba_star, tbaa_star
from tb_planner.search.grid import Grid, GridChange
from tb_planner.search.planner import UNBOUNDED, Figures, Status, check_whole

RESTARTS = ('path_cost_increased', 'lazy', 'eager')


class AStar(Baseline):
    """A* before the first move, and again by the rule `restart`.

    restart: one of RESTARTS, or None: the map stays as it is. learn_h: Adaptive A*. paces: the 2009 paper's late
    acting, with a neighbour drawn by seed.
    """

    def __init__(
        self,
        grid: Grid,
        start: Cell,
        goal: Cell,
        k: int,
        *,
        restart: str | None = 'path_cost_increased',
        learn_h: bool = False,
        ties: str = 'larger_g',
        paces: bool = False,
        seed: int = 0,
    ):
        super().__init__(grid, start, goal, k)
        if restart is not None and restart not in RESTARTS:
            raise ValueError(f'restart is {restart!r}; it must be None or one of {", ".join(RESTARTS)}')
        if paces and restart is not None:
            raise ValueError(f'the agent paces, and restart is {restart!r}; it paces before its only search has ended')
        algorithm = tbaa_star if learn_h else rtba_star
        self.algorithm = algorithm(restart or 'never', ties=ties)
        self.restart = restart
        self._waited = self._began_with = 0
        self._pacing = _Pacing(grid, self.s_start, self.s_goal, seed) if paces else None
        self._search = grid.take_search()
        self._search.forget_figures()
        self._search.forget_learned()
        self._search.configure(1, 1, False, ties == 'larger_g', learn_h)
        self._search.set_policy(True, True, False, False, 0.0)
        self._search.pause_when_found = False
        self._search.start(self.s_start, self.s_goal)

    def run(self, intervals: int) -> NDArray[np.int32]:
        check_whole('intervals', intervals, 1)
        if self.status == Status.AT_GOAL:
            return np.empty(0, np.int32)
        last = self.figures.intervals + intervals
        trail: list[NDArray[np.int32]] = []
        if not self._search.goal_found:
            trail.append(self._search_until(last))
        left = last - self.figures.intervals
        if self._search.goal_found and left:
            if self._pacing and self._pacing.away and not self._follows_its_path():
                trail.append(self._pacing.pace(1))
                self.status = Status.MOVED
                left -= 1
            if left and self.status != Status.AT_GOAL:
                while (code := self._search.run(left)) == kernel.PATH_FULL:
                    self._search.grow_path()
                    left = self._search.intervals_left
                self.status = Status(code)
                trail.append(self._search.take_trail())
        return np.concatenate(trail)

    def search(self, expansions: int | None = None) -> bool:
        """Makes k expansions, or the number given, without a move or an interval. Returns True if the agent knows its
        path, or that there is none."""
        if expansions is not None:
            check_whole('expansions', expansions, 1)
        if not self._search.goal_found:
            self._expand(expansions or self.k)
        return bool(self._search.goal_found or self._search.failed)

    def map_changed(self, change: GridChange) -> bool:
        if not change:
            return False
        if self.restart is None:
            raise ValueError(f'{len(change.increased) + len(change.decreased)} cells have changed; restart is None')
        search = self._search
        search.set_lowest_cost(self.grid.lowest_cost)
        misled = bool(search.h_is_too_high())
        if self.algorithm.learn_h and len(change.decreased):
            misled |= search.learned_searches > 0 and not search.goal_found
            search.forget_learned()
        if search.expansions > self._began_with:  # else it has seen nothing of the old map
            search.stale = True
        reason = RestartReason.HEURISTIC_INVALIDATED if misled else self._reason_to_restart(change)
        if not reason or self.status == Status.AT_GOAL:
            return False
        search.start(search.s_current, search.s_goal, REASON_CODES[reason])
        self._began_with = search.expansions
        self.status = Status.WAITED
        return True

    def release(self) -> None:
        """Leaves its search's memory to the grid, for the next on it. This agent is done."""
        self.grid.keep_search(self._search)
        del self._search

    @property
    def s_current(self) -> int:
        if self._pacing and self._pacing.away:
            return self._pacing.neighbour
        return super().s_current

    @property
    def path(self) -> list[Cell]:
        """The path ahead, if it has been found; a pacing agent's begins at its start."""
        if not self._search.goal_found:
            raise ValueError(f'no path has been found after {self.figures.expansions} expansions')
        back, ahead = self._search.route_to_meeting()
        return self.grid.cells(back + ahead[1:])

    @property
    def figures(self) -> Figures:
        walked = super().figures
        walked = walked._replace(intervals=walked.intervals + self._waited)
        return self._pacing.added_to(walked) if self._pacing else walked

    def _reason_to_restart(self, change: GridChange) -> RestartReason | None:
        if self._search.failed:
            return RestartReason.NO_PATH
        if self._search.goal_found:
            return restart_reason(self._search, change, self.algorithm, 0.0)
        if self.restart == 'eager' or (self.restart == 'lazy' and len(change.decreased)):
            return RestartReason.EAGER
        return None

    def _search_until(self, last: int) -> NDArray[np.int32]:
        """Searches until the path is found, or to the end of the last interval; in the one in which the path is found
        the agent is still to move. Returns the states paced to."""
        paced = [np.empty(0, np.int32)]
        while (left := last - self.figures.intervals) > 0 and not self._search.goal_found:
            before = self._search.expansions
            code = self._expand(min(left * self.k, UNBOUNDED))
            taken = max(1, -(-(self._search.expansions - before) // self.k))
            idle = taken - 1 if self._search.goal_found or code == Status.NO_PATH else taken
            self.status = Status.WAITED
            if self._pacing and self._pacing.neighbour >= 0:
                paced.append(self._pacing.pace(idle))
                self.status = Status.MOVED
            else:
                self._waited += idle
            if code == Status.NO_PATH:
                self._waited += 1
                self.status = Status.NO_PATH
                break
        return np.concatenate(paced)

    def _expand(self, expansions: int) -> int:
        """Makes up to this many expansions; if the search has ended, its path is traced and validated."""
        self._search.set_budget(expansions, UNBOUNDED, UNBOUNDED)
        while (code := self._search.search_and_trace()) == kernel.PATH_FULL:
            self._search.grow_path()
        return int(code)

    def _follows_its_path(self) -> bool:
        """The path leads through where the agent has paced to: it goes on from there."""
        assert self._pacing
        _, ahead = self._search.route_to_meeting()
        if ahead[1] != self._pacing.neighbour:
            return False
        self._search.walk(1)
        self._pacing.away = False
        return True


class _Pacing:
    """Back and forth between the start and a random neighbour, and what is counted of it."""

    def __init__(self, grid: Grid, s_start: int, s_goal: int, seed: int):
        self._grid, self._s_start = grid, s_start
        self._moves = self._back_moves = self._straight = self._diagonal = 0
        self.away = False
        cells = [grid.cell(s_start)]
        cells += [(cells[0][0] + dx, cells[0][1] + dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
        legal = [grid.state(cell) for cell in cells if grid.step_cost(cells[0], cell) < np.inf]
        legal = [state for state in legal if state != s_goal]
        self.neighbour = int(np.random.default_rng(seed).choice(legal)) if legal else -1

    def pace(self, moves: int) -> NDArray[np.int32]:
        """Makes this many moves; returns the states moved to."""
        ends = np.array([self._s_start, self.neighbour], np.int32)
        states = ends[(np.arange(moves + 1) + self.away) % 2]
        straight, diagonal = self._grid.step_sums(states)
        self._moves += moves
        self._back_moves += int(np.count_nonzero(states[1:] == self._s_start))
        self._straight += straight
        self._diagonal += diagonal
        self.away = bool(states[-1] == self.neighbour)
        return states[1:]

    def added_to(self, figures: Figures) -> Figures:
        paced = Figures(self._moves, self._moves, self._back_moves, 0, 0, self._straight, self._diagonal)
        return Figures(*map(sum, zip(figures, paced, strict=True)))


late_a_star = partial(AStar, restart=None, paces=True)
"""The 2009 paper's "late acting": the agent paces until A* has ended. For maps that stay as they are."""
a_star = partial(AStar, restart=None)
"""The 2012 paper's A*: the agent waits until it has ended. For maps that stay as they are."""
repeated_a_star = partial(AStar, learn_h=False)
"""The 2012 paper's Repeated A*."""
adaptive_a_star = partial(AStar, learn_h=True)
"""The 2012 paper's Adaptive A*."""
