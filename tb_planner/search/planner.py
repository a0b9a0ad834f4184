"""TimeBoundedPlanner, an agent that searches k expansions an interval and moves, and find_path, a search to its end.

Nothing here reads a clock, except `TimeBoundedPlanner.search(seconds=...)` for callers who ask for it.
"""

from __future__ import annotations

import enum
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tb_planner.errors import BadInput
from tb_planner.geometry import Box, Cell
from tb_planner.search import kernel
from tb_planner.search.algorithms import (
    REASON_CODES,
    REASONS_BY_CODE,
    Algorithm,
    RestartReason,
    check_algorithm,
    could_shorten,
    restart_reason,
    tba_star,
)
from tb_planner.search.grid import COST_STEPS, GoalBlocked, Grid, GridChange, StartBlocked
from tb_planner.search.grid_math import STRAIGHT

UNBOUNDED = 2**62

MIN_CHUNK = 32
"""Expansions of the smallest chunk of a timed search: some microseconds compiled, a millisecond as plain Python."""
MAX_CHUNK_GROWTH = 8
"""A chunk is at most this many times as large as the one before."""
MAX_NEW_MEMORY_CHUNK = 256
"""The largest chunk while the search's memory is still being taken from the system: an expansion that has to wait for
its memory takes a hundred times as long as others."""
MIN_TIME_FRACTION = 0.05
"""A timed search ends when less than this fraction of its time is left: each chunk traces its path back."""


class Status(enum.IntEnum):
    """How an interval or a search ended.

    >>> print(Status.AT_GOAL)
    AT_GOAL
    """

    MOVED = 0
    """The agent moved one cell along its route."""
    WAITED = 1
    """The agent did not move: the search has just been restarted, or a path is still being traced."""
    AT_GOAL = 2
    """The agent is at its goal."""
    NO_PATH = 3
    """On the present map no path leads from the agent to its goal. A later map may change that."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Resources:
    """The 2009 paper's budget of an action: R, of which r goes to expansions, one of which costs c trace steps."""

    R: int
    r: float = 0.9
    c: int = 10

    def __post_init__(self) -> None:
        whole = isinstance(self.R, int) and isinstance(self.c, int) and self.R >= 1 and self.c >= 1
        if not whole or self.R * self.c > UNBOUNDED or not 0 < self.r < 1 or self.expansions < 1:
            raise ValueError(
                f'R = {self.R}, r = {self.r}, c = {self.c}; R and c must be whole numbers of at least 1, R c at most '
                f'{UNBOUNDED}, r between 0 and 1, and R r at least 1'
            )

    @property
    def expansions(self) -> int:
        """N_E: expansions an interval."""
        return math.floor(self.R * self.r)

    @property
    def trace_steps(self) -> int:
        """N_T: trace steps an interval."""
        return (self.R - self.expansions) * self.c

    @property
    def trace_steps_found(self) -> int:
        """Trace steps an interval when the goal is found: all of R."""
        return self.R * self.c


class Figures(NamedTuple):
    """An agent's counts since it was made."""

    intervals: int
    moves: int
    back_moves: int
    """Moves back along the search tree."""
    expansions: int
    searches: int
    straight: int
    """Straight moves, or the sum of costs over them, see Grid.step_sums()."""
    diagonal: int


class Expanded(NamedTuple):
    """States that a search has expanded since the last call, in the order of their expansion."""

    is_new: bool
    """Whether the search began after the last call, so that states of the search before no longer count."""
    root: int
    states: NDArray[np.int32]
    directions: NDArray[np.uint8]
    """The direction of the step to each state from its parent, 0 to 7 as in the record format; 8 for the root."""
    goal: int = -1
    algorithm: Algorithm | None = None


class TimeBoundedPlanner:
    """MoveToGoal of the papers, one interval at a time, for an agent on a grid that changes.

    The grid belongs to the planner: observe() writes into it.

    >>> import numpy as np
    >>> blocked = np.zeros((3, 5), bool)
    >>> blocked[:2, 2] = True
    >>> planner = TimeBoundedPlanner(Grid(blocked), (0, 0), (4, 0), k=4)
    >>> while planner.step() not in (Status.AT_GOAL, Status.NO_PATH):
    ...     pass
    >>> planner
    TimeBoundedPlanner(TBA*, k=4, at (4, 0), goal (4, 0), AT_GOAL)
    >>> planner.observe(np.ones((1, 1), bool), at=(1, 2))  # an obstacle at (1, 2): nothing to restart
    False

    algorithm: what to search with, by default tba_star().
    k: expansions an interval, or Resources.
    trace_steps: N_T, trace steps an interval; None is unbounded.
    min_improvement: a decreased cost restarts the search only if it can shorten the route by this fraction, and an
        increased cost only if it makes the route this fraction longer.
    start_tolerance, goal_tolerance: if the cell is blocked, a free cell up to this many cells away replaces it.

    k, if it is a number, min_improvement and the tolerances may be set at any time; a tolerance counts from the next
    change of the map or goal on. The search uses the memory that the grid keeps, if there is any.
    """

    def __init__(
        self,
        grid: Grid,
        start: Cell,
        goal: Cell,
        algorithm: Algorithm | None = None,
        k: int | Resources = 256,
        *,
        trace_steps: int | None = None,
        min_improvement: float = 0.0,
        start_tolerance: int = 0,
        goal_tolerance: int = 0,
    ):
        if not isinstance(grid, Grid):
            raise TypeError(f'grid is {type(grid).__name__}; pass a Grid, for example Grid(array)')
        self.algorithm = tba_star() if algorithm is None else check_algorithm(algorithm)
        _check_budget(k, trace_steps, self.algorithm)
        _check_fraction('min_improvement', min_improvement)
        self.grid = grid
        self._k = k
        self._trace_steps = trace_steps
        self._min_improvement = float(min_improvement)
        self.start_tolerance = start_tolerance
        self.goal_tolerance = goal_tolerance
        s_start, s_goal = self._start_state(start), self._goal_state(goal)
        self._goal = grid.cell(grid.state(goal))
        self._deferred: _DeferredDecreases | None = None
        self._tick_budget = TickBudget()  # of calls with a time
        self._search = grid.take_search()
        self._search.forget_figures()
        self._search.forget_learned()
        configure(self._search, self.algorithm)
        rule = self.algorithm.restart_rule
        self._search.set_policy(
            rule.invalid_route and not rule.path_alone,
            rule.restarts,
            isinstance(k, Resources),
            isinstance(k, Resources) or trace_steps is not None,
            self._min_improvement,
        )
        self._budget(first=True)
        self._begin(s_start, s_goal, None)

    def __repr__(self) -> str:
        if not hasattr(self, '_search'):
            return f'TimeBoundedPlanner({self.algorithm.title}, released)'
        return (
            f'TimeBoundedPlanner({self.algorithm.title}, k={self.k}, at {self.current_cell}, goal {self.goal}, '
            f'{self.status})'
        )

    # -------------------------------------------------------------------------------------------------- an interval
    def step(self) -> Status:
        """Runs one interval: search unless the goal is found, then move."""
        self.run(1)
        return self.status

    def run(self, intervals: int) -> NDArray[np.int32]:
        """Runs up to this many intervals without a change of the map; fewer at the goal, with no path, and after 4096
        moves. Returns the states the agent moved to."""
        check_whole('intervals', intervals, 1)
        search = self._search
        if search.intervals == 0 and isinstance(self._k, Resources):
            code = self._run(1)
            self._budget(first=False)
            intervals -= 1
            if code > Status.WAITED or intervals == 0:
                return search.take_trail()
        self._run(intervals)
        return search.take_trail()

    def search(self, expansions: int | None = None, *, seconds: float | None = None) -> Status:
        """The first half of an interval: search unless the goal is found, then trace the path back.

        It makes k expansions, or the number given, or searches for a time: then in chunks that fit into the time left,
        and at least one of 32 expansions. MOVED means that the agent may move now.

        >>> import numpy as np
        >>> planner = TimeBoundedPlanner(Grid(np.zeros((100, 100), bool)), (0, 0), (99, 99))
        >>> planner.search(seconds=0.02), planner.expansions > 0
        (<Status.MOVED: 0>, True)
        """
        if seconds is not None:
            if expansions is not None:
                raise ValueError(f'expansions is {expansions} and seconds is {seconds}; give one of them')
            if not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
                raise ValueError(f'seconds is {seconds!r}; it must be a finite number of at least 0')
            self._tick_budget.search_time_s = seconds
            self._tick_budget.begin_tick()
            return self._tick_budget.search_for(self)
        if expansions is not None:
            check_whole('expansions', expansions, 1)
        if self._search.s_current == self._search.s_goal:
            self.status = Status.AT_GOAL
            return self.status
        if expansions is not None:
            self._budget(first=False, expansions=expansions)
        while (code := self._search.search_and_trace()) >= kernel.PATH_FULL:  # an int: enums take 0.1 µs
            if code == kernel.PATH_FULL:
                self._search.grow_path()
            elif reason := self._deferred_decreases_matter():
                self._restart(reason)
                code = Status.WAITED
                break
        if expansions is not None or isinstance(self._k, Resources):
            self._budget(first=False)
        self.status = Status(code)
        return self.status

    def move(self) -> Status:
        """The second half of an interval: one cell along the route, if the present map allows it."""
        search = self._search
        if search.s_current != search.s_goal and self.status != Status.NO_PATH:
            self.status = Status(search.move())
            search.take_trail()
        return self.status

    # -------------------------------------------------------------------------------------------------- changes
    def observe(self, values: ArrayLike, at: Cell | None = None) -> bool:
        """Takes in a new map, or a patch whose first cell is `at`. Returns whether the search was restarted for it."""
        return self.map_changed(self.grid.update(values, at))

    def use_grid(self, grid: Grid, change: GridChange) -> bool:
        """Continues on another Grid of the same shape and kind, which differs by `change` from the one used so far.

        Returns whether the search was restarted for it. From now on observe() writes into this grid.
        """
        kind, other = ((g.width, g.height, g.neighbours, g.corner_cutting, g.weighted) for g in (self.grid, grid))
        if kind != other:
            raise ValueError(
                f'the grid has width, height, neighbours, corner_cutting and weighted {other}; expected {kind}'
            )
        self.grid = grid
        self._search.use_grid(grid.legal_moves.reshape(-1), grid.cost_u16.reshape(-1))
        return self.map_changed(change)

    def map_changed(self, change: GridChange) -> bool:
        """Does what observe() does, for a grid that has been updated already."""
        if not change:
            return False
        search = self._search
        search.set_lowest_cost(self.grid.lowest_cost)
        s_goal = self._nearest_to_goal()
        if s_goal != search.s_goal:
            search.forget_learned()
            self._restart(RestartReason.GOAL_MOVED, s_goal)
            return True
        if reason := self._reason_to_restart(change):
            self._restart(reason)
            return True
        search.stale = True
        rule = self.algorithm.restart_rule
        if rule.shortcut and not rule.path_alone and len(change.decreased) and not search.route_reaches_goal():
            self._defer(change)
        return False

    def advance(self, cell: Cell) -> bool:
        """Puts the agent into this cell. On its route it continues from there, elsewhere the search restarts.

        Returns whether it restarted.
        """
        state = self._start_state(cell, 'cell')
        back, ahead = self._search.route_to_meeting()
        if state in ahead:
            i = ahead.index(state)
            at = len(ahead) - 1 - i if self._search.path_length else -1
            self._search.place(back + ahead[1 : i + 1], at)
        elif state in back:
            self._search.place(back[: back.index(state) + 1], -1)
        else:
            self._begin(state, self._search.s_goal, RestartReason.OFF_ROUTE)
            return True
        if state == self._search.s_goal:
            self.status = Status.AT_GOAL
        return False

    def advance_by(self, cells: int) -> None:
        """Moves the agent along its route by this many cells. The work grows with their number."""
        check_whole('cells', cells, 0)
        if too_many := self._search.walk(cells):
            raise ValueError(f'cells is {cells}; it must be at most {cells - too_many}, the length of the route')
        if self._search.s_current == self._search.s_goal:
            self.status = Status.AT_GOAL

    def leave_route(self, cell: Cell) -> None:
        """Puts the agent into this cell and restarts the search from there, without a look at the route."""
        self._begin(self._start_state(cell, 'cell'), self._search.s_goal, RestartReason.OFF_ROUTE)

    def new_goal(self, goal: Cell) -> None:
        """Searches from where the agent is to another goal. If that is refused, the old goal stays."""
        s_goal = self._goal_state(goal)
        self._goal = self.grid.cell(self.grid.state(goal))
        self._search.forget_learned()
        self._begin(self._free_start(), s_goal, RestartReason.NEW_GOAL)

    def restart(self, reason: RestartReason = RestartReason.REQUESTED) -> None:
        """InitializeSearch() from where the agent is."""
        self._restart(reason)

    def release(self) -> None:
        """Leaves the search's memory to the grid, for its next planner. This planner cannot be used any more."""
        self.grid.keep_search(self._search)
        del self._search

    def log_expansions(self) -> None:
        """Keeps a list of the expanded states for take_expanded(), of four bytes a state."""
        self._search.log_expansions()

    def take_expanded(self, *, whole: bool = False) -> Expanded | None:
        """The states expanded since the last call; all of them if the search began after that, or if `whole`.

        None if there are none.
        """
        log = self._search.take_log(whole)
        if log is None:
            return None
        is_new, states, directions = log
        return Expanded(is_new, self._search.s_root, states, directions, self._search.s_goal, self.algorithm)

    def touch_memory(self) -> None:
        """Takes the memory of the search from the system now.

        Otherwise every interval takes what it needs, which can take longer than the search itself.
        """
        self._search.touch_memory()

    @property
    def is_taking_memory(self) -> bool:
        """Whether a thread is taking the memory of the search from the system."""
        return self._search.taking_memory

    # -------------------------------------------------------------------------------------------------- what is known
    @property
    def k(self) -> int | Resources:
        """Expansions an interval. A number may be set to another at any time."""
        return self._k

    @k.setter
    def k(self, k: int) -> None:
        if isinstance(self._k, Resources):
            raise ValueError(f'k is {self._k}; Resources cannot be changed')
        check_whole('k', k, 1)
        self._k = k
        self._budget(first=False)

    @property
    def min_improvement(self) -> float:
        return self._min_improvement

    @min_improvement.setter
    def min_improvement(self, min_improvement: float) -> None:
        _check_fraction('min_improvement', min_improvement)
        self._min_improvement = self._search.min_improvement = float(min_improvement)

    @property
    def start_tolerance(self) -> int:
        return self._start_tolerance

    @start_tolerance.setter
    def start_tolerance(self, start_tolerance: int) -> None:
        check_whole('start_tolerance', start_tolerance, 0)
        self._start_tolerance = start_tolerance

    @property
    def goal_tolerance(self) -> int:
        return self._goal_tolerance

    @goal_tolerance.setter
    def goal_tolerance(self, goal_tolerance: int) -> None:
        check_whole('goal_tolerance', goal_tolerance, 0)
        self._goal_tolerance = goal_tolerance

    @property
    def current_cell(self) -> Cell:
        return self.grid.cell(self._search.s_current)

    @property
    def goal(self) -> Cell:
        """The goal as given; the search goes to `target`."""
        return self._goal

    @property
    def target(self) -> Cell:
        """The goal, or the free cell that replaces it if it is blocked."""
        return self.grid.cell(self._search.s_goal)

    @property
    def goal_found(self) -> bool:
        return bool(self._search.goal_found)

    @property
    def path(self) -> list[Cell]:
        """The search tree's branch from its root to s_best."""
        return self.grid.cells(self._search.branch())

    @property
    def route(self) -> list[Cell]:
        """The cells the agent will walk from where it is: back to the path it follows, then along it."""
        back, ahead = self._search.route_to_meeting()
        return self.grid.cells(back + ahead[1:])

    def route_cells(self, most: int | None = None) -> NDArray[np.int32]:
        """The first cells of the route, from where the agent is, as rows of x and y. The work grows with their number
        and that of the backtracking moves."""
        if most is not None:
            check_whole('most', most, 1)
        length = int(self._search.route_length()) + 1
        cells = np.empty((length if most is None else min(length, most), 2), np.int32)
        self._search.write_route(cells.reshape(-1), len(cells))
        return cells

    @property
    def route_length(self) -> int:
        """The number of moves of the route."""
        return int(self._search.route_length())

    @property
    def route_reaches_goal(self) -> bool:
        """Whether the goal has been found and its path traced back."""
        return bool(self._search.route_reaches_goal())

    @property
    def route_version(self) -> int:
        """A number that changes whenever the route does, except for the agent's moves along it."""
        return int(self._search.route_version)

    @property
    def backtracking_length(self) -> int:
        """The number of backtracking moves with which the route begins."""
        return int(self._search.backtracking_length())

    @property
    def expansions(self) -> int:
        """Expansions since the planner was made."""
        return int(self._search.expansions)

    @property
    def searches(self) -> int:
        """Searches since the planner was made."""
        return int(self._search.searches)

    @property
    def restarts(self) -> dict[RestartReason, int]:
        """The number of restarts for each reason; their sum is searches - 1."""
        counts = self._search.restarts
        return {reason: counts[code] for reason, code in REASON_CODES.items()}

    @property
    def last_restart(self) -> RestartReason | None:
        return REASONS_BY_CODE.get(self._search.last_restart)

    @property
    def intervals(self) -> int:
        return int(self._search.intervals)

    @property
    def moves(self) -> int:
        return int(self._search.moved)

    @property
    def refused_moves(self) -> int:
        """The number of moves that the present map forbade, and that were not made.

        There are none, except with the restart rules 'never' and 'lazy_as_printed', and with Resources, where an agent
        at the end of its path must act and tries the step back.
        """
        return int(self._search.refused)

    @property
    def cost(self) -> float:
        """The cost of the agent's moves, from exact sums of straight and diagonal steps."""
        return self.grid.cost_of(self._search.straight_sum, self._search.diagonal_sum)

    @property
    def figures(self) -> Figures:
        s = self._search
        return Figures(s.intervals, s.moved, s.back_moves, s.expansions, s.searches, s.straight_sum, s.diagonal_sum)

    @property
    def open_size(self) -> int:
        return int(self._search.open_size) + int(self._search.goal_in_open())

    @property
    def expanded(self) -> NDArray[np.bool_]:
        """[y, x]: whether the present search has closed a cell."""
        expanded: NDArray[np.bool_] = self._search.is_expanded().reshape(self.grid.height, self.grid.width)
        return expanded

    def expanded_in(self, box: Box) -> NDArray[np.bool_]:
        """[y, x] of a box: cells closed by the present search. The work grows with the size of the box."""
        rows, columns = np.ogrid[box.y0 : box.y1, box.x0 : box.x1]
        expanded: NDArray[np.bool_] = self._search.are_expanded(rows * self.grid.width + columns)
        return expanded

    def search_picture(self, unknown: int = -1, expanded: int = 50, opened: int = 100) -> NDArray[np.int8]:
        """[y, x]: one of these numbers for every cell: not reached by the search, closed, or in Open."""
        picture = np.empty((self.grid.height, self.grid.width), np.int8)
        self._search.classify_states(picture.reshape(-1), unknown, expanded, opened)
        return picture

    def open_cells(self) -> list[tuple[Cell, float, float]]:
        """The cells of Open as (cell, f, g), best first."""
        search, algorithm = self._search, self.algorithm
        states = np.flatnonzero(search.is_known() & ~search.is_expanded())
        cells = self.grid.cells(states)
        g = search.g_values(states)
        h = np.array([search.h_value(s) for s in states], np.int64)
        scale = STRAIGHT * (2 * COST_STEPS if self.grid.weighted else 1)
        f = algorithm.w_g * g + algorithm.w_h * h
        order = np.lexsort((-g, f))
        unit = scale * (algorithm.w_g or algorithm.w_h)
        return [(cells[i], float(f[i]) / unit, float(g[i]) / scale) for i in order]

    @property
    def memory(self) -> int:
        """The size of the search in bytes, without the grid."""
        return int(self._search.memory())

    # -------------------------------------------------------------------------------------------------- inside
    def _begin(self, s_current: int, s_goal: int, reason: RestartReason | None) -> None:
        self._deferred = None
        self._search.pause_when_found = False
        self._search.start(s_current, s_goal, REASON_CODES[reason] if reason else 0)
        self.status = Status.AT_GOAL if s_current == s_goal else Status.WAITED

    def _restart(self, reason: RestartReason, s_goal: int | None = None) -> None:
        self._begin(self._free_start(), self._search.s_goal if s_goal is None else s_goal, reason)

    def _reason_to_restart(self, change: GridChange) -> RestartReason | None:
        """The first reason to restart for this change, the goal being where it was."""
        search = self._search
        misled = False
        if self.algorithm.learn_h and len(change.decreased):  # the learned h is admissible only while costs increase
            misled = search.learned_searches > 0
            search.forget_learned()
        if search.failed:
            return RestartReason.NO_PATH
        if self._free_start() != search.s_current:
            return RestartReason.START_BLOCKED
        if misled or (self.algorithm.w_g and search.h_is_too_high()):  # greedy search does not add h to anything
            return RestartReason.HEURISTIC_INVALIDATED
        return restart_reason(search, change, self.algorithm, self._min_improvement)

    def _free_start(self) -> int:
        """The agent's state, or, if it has been blocked, the nearest free one within the tolerance, if there is any."""
        free = self.grid.nearest_free(self.current_cell, self.start_tolerance)
        return int(self._search.s_current) if free is None else self.grid.state(free)

    def _run(self, intervals: int) -> int:
        search = self._search
        while True:
            code = search.run(intervals)
            if code == kernel.PATH_FULL:
                search.grow_path()
            elif code == kernel.GOAL_FOUND:
                if reason := self._deferred_decreases_matter():
                    self._restart(reason)
                    search.pass_interval()
                    code = Status.WAITED
                    if search.intervals_left == 0:
                        break
            else:
                break
            intervals = search.intervals_left
        self.status = Status(code)
        return int(code)

    def _defer(self, change: GridChange) -> None:
        """Keeps decreases that do not matter yet: they are tested again when the goal is found."""
        if self._deferred is None or self._deferred.search != self._search.searches:
            self._deferred = _DeferredDecreases(self._search.searches, self.grid.width * self.grid.height)
        self._deferred.add(change)
        self._search.pause_when_found = True

    def _deferred_decreases_matter(self) -> RestartReason | None:
        self._search.pause_when_found = False
        deferred, self._deferred = self._deferred, None
        if deferred is None or deferred.search != self._search.searches:
            return None
        return could_shorten(self._search, *deferred.all(), self.algorithm, self._min_improvement)

    def _start_state(self, start: Cell, what: str = 'start') -> int:
        return _free_state(self.grid, start, what, self.start_tolerance, StartBlocked)

    def _goal_state(self, goal: Cell) -> int:
        return _free_state(self.grid, goal, 'goal', self.goal_tolerance, GoalBlocked)

    def _nearest_to_goal(self) -> int:
        """The goal, or the free cell that replaces it on this map. If there is none the goal stays as it is, until a
        later map frees it."""
        free = self.grid.nearest_free(self._goal, self.goal_tolerance)
        return self.grid.state(self._goal if free is None else free)

    def _budget(self, first: bool, expansions: int | None = None) -> None:
        if isinstance(self._k, Resources):
            # in the first interval few enough to trace the first path in the same interval
            most = min(self._k.expansions, self._k.trace_steps) if first else self._k.expansions
            self._search.set_budget(expansions or most, self._k.trace_steps, self._k.trace_steps_found)
        else:
            steps = UNBOUNDED if self._trace_steps is None else self._trace_steps
            self._search.set_budget(expansions or self._k, steps, steps)


class _DeferredDecreases:
    """Decreased costs that did not matter to a search when they came: each cell once, whatever happens to it later."""

    def __init__(self, search: int, states: int):
        self.search = search
        self._parts: list[list[NDArray[np.int32]]] = [[], []]  # decreased, unblocked
        self._seen = np.zeros((2, states), bool)

    def add(self, change: GridChange) -> None:
        """Adds a change. The work grows with its size."""
        for parts, seen, states in zip(self._parts, self._seen, (change.decreased, change.unblocked), strict=True):
            new = states[~seen[states]]
            seen[new] = True
            parts.append(new)

    def all(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(decreased, unblocked)"""
        decreased, unblocked = (np.concatenate(parts) for parts in self._parts)
        return decreased, unblocked


class TickBudget:
    """What all searches of a tick may spend together: a number of expansions, or else an amount of time.

    Time is spent in chunks of expansions: how many fit is learned from chunk to chunk. A chunk is small against the
    time left, so that a search never runs far beyond its time.

    budget = TickBudget(perf_counter, search_time_s=0.01)
    budget.begin_tick(searches=2)
    budget.search_for(planner)
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        *,
        search_time_s: float = 0.0,
        expansions_per_tick: int = 0,
    ) -> None:
        """expansions_per_tick: 0 spends search_time_s instead."""
        self.search_time_s = search_time_s
        self.expansions_per_tick = expansions_per_tick
        self.expansions = 0
        """What the searches of this tick have expanded so far."""
        self.spent_s = 0.0
        """The time that they took."""
        self._clock = clock
        self._limit_s = search_time_s
        self._searches_left = 1
        self._chunk, self._chunk_s = MIN_CHUNK // MAX_CHUNK_GROWTH, 0.0  # the last one, in expansions and in time

    def begin_tick(self, searches: int = 1) -> None:
        """searches: how many will share the budget."""
        self.expansions, self.spent_s = 0, 0.0
        self._limit_s = self.search_time_s
        self._searches_left = searches

    def go_on(self, searches: int, time_s: float) -> None:
        """Lets more searches share what is left of the budget, but at most this time."""
        self._limit_s = min(self.search_time_s, self.spent_s + time_s)
        self._searches_left = searches

    def charge(self, other: TickBudget) -> None:
        """Takes off this budget what searches have spent of another one."""
        self.spent_s += other.spent_s
        self.expansions += other.expansions

    def share(self) -> BudgetShare:
        """Begins an equal share of what is left."""
        searches, self._searches_left = max(self._searches_left, 1), self._searches_left - 1
        share_s = max((self._limit_s - self.spent_s) / searches, 0.0)
        return BudgetShare(self, share_s, (self.expansions_per_tick - self.expansions) // searches)

    def search_for(self, planner: TimeBoundedPlanner) -> Status:
        """Searches with a share, and for one chunk at least, so that every tick makes progress."""
        return self.share().search_for(planner)

    def _fitting(self, left_s: float, most: int) -> int:
        """The expansions that half of the time left allows, since the pace may change; not many more than last time."""
        pace = self._chunk / max(self._chunk_s, 1e-9)
        return max(min(int(left_s / 2 * pace), MAX_CHUNK_GROWTH * self._chunk, most), MIN_CHUNK)


class BudgetShare:
    """What one goal or request may spend in a tick, on several searches and on all that it does between them.

    Of a time, all counts from the beginning of the share; of expansions, what goes_on() is given counts, too.

    share = budget.share()
    while share.search_for(planner) == Status.AT_GOAL and share.goes_on(256):
        planner = next_planner()
    """

    def __init__(self, budget: TickBudget, share_s: float, expansions: int) -> None:
        self._budget = budget
        self._expansions_left = expansions
        self._spent_until_s = 0.0 if budget.expansions_per_tick else budget._clock()
        self._end_s = self._spent_until_s + share_s
        self._share_s = share_s

    def goes_on(self, expansions: int) -> bool:
        """Whether something is left after work that took about as long as this many expansions."""
        if self._budget.expansions_per_tick:
            self._expansions_left -= expansions
            return self._expansions_left > 0
        return self._spend(self._budget._clock()) > 0

    def search_for(self, planner: TimeBoundedPlanner) -> Status:
        """Searches until the share is spent, and for one chunk at least."""
        budget, first = self._budget, planner.expansions
        if budget.expansions_per_tick:
            status = planner.search(max(self._expansions_left, 1))
            self._expansions_left -= planner.expansions - first
            budget.expansions += planner.expansions - first
            return status
        now_s, left_s = budget._clock(), math.inf
        while left_s > MIN_TIME_FRACTION * self._share_s:
            most = MAX_NEW_MEMORY_CHUNK if planner.is_taking_memory else UNBOUNDED
            chunk = budget._fitting(self._end_s - now_s, most)
            chunk_began_s, before = now_s, planner.expansions
            status = planner.search(chunk)
            now_s, expanded = budget._clock(), planner.expansions - before
            left_s = self._spend(now_s)
            if planner.goal_found or status in (Status.NO_PATH, Status.AT_GOAL):
                break
            if expanded >= chunk:
                budget._chunk, budget._chunk_s = expanded, now_s - chunk_began_s
        budget.expansions += planner.expansions - first
        return status

    def _spend(self, now_s: float) -> float:
        """Takes the time since the last call off the budget; returns what is left of the share."""
        self._budget.spent_s += now_s - self._spent_until_s
        self._spent_until_s = now_s
        return self._end_s - now_s


@dataclass(frozen=True)
class SearchResult:
    """The result of find_path(): AT_GOAL with a path, or NO_PATH."""

    status: Status
    cells: list[Cell]
    """The path, from start to goal; empty if there is none."""
    cost: float
    """The path's cost; inf if there is none."""
    expansions: int


def find_path(grid: Grid | ArrayLike, start: Cell, goal: Cell, algorithm: Algorithm | None = None) -> SearchResult:
    """Best-First-Search() from start to goal, without a bound on time.

    grid: a Grid, or an array [y, x] for one: bool (True is blocked) or float costs (inf is blocked). A Grid keeps the
    search's memory for the next call.

    >>> import numpy as np
    >>> blocked = np.zeros((3, 3), bool)
    >>> blocked[1, :2] = True
    >>> result = find_path(blocked, start=(0, 0), goal=(0, 2))
    >>> print(result.status, result.cost, result.cells)
    AT_GOAL 6.0 [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (1, 2), (0, 2)]
    """
    if not isinstance(grid, Grid):
        grid = Grid(grid)
    algorithm = tba_star() if algorithm is None else check_algorithm(algorithm)
    s_start = _free_state(grid, start, 'start', 0, StartBlocked)
    s_goal = _free_state(grid, goal, 'goal', 0, GoalBlocked)
    search = grid.take_search()
    configure(search, algorithm)
    before = search.expansions
    search.forget_learned()
    search.set_budget(UNBOUNDED, UNBOUNDED, UNBOUNDED)
    search.start(s_start, s_goal)
    while search.search_and_trace() == kernel.PATH_FULL:
        search.grow_path()
    states = search.path_states() if search.goal_found else np.empty(0, np.int32)
    expansions = int(search.expansions - before)
    grid.keep_search(search)
    if not len(states):
        return SearchResult(Status.NO_PATH, [], math.inf, expansions)
    return SearchResult(Status.AT_GOAL, grid.cells(states), grid.cost_of(*grid.step_sums(states)), expansions)


def distances_to(grid: Grid, goal: Cell) -> kernel.Search:
    """Dijkstra's algorithm from the goal to everywhere: g of a state is its distance to the goal."""
    search = grid.new_search()
    search.configure(1, 0)
    search.set_budget(UNBOUNDED, UNBOUNDED, UNBOUNDED)
    search.start(grid.state(goal), -1)
    search.search_and_trace()
    return search


def count_non_optimal(distances: kernel.Search, states: NDArray[np.int32]) -> int:
    """The number of steps of this walk that lie on no shortest path to the goal of distances_to()."""
    ahead = distances.g_values(states)
    return int(np.count_nonzero(ahead[:-1] != distances.step_costs(states) + ahead[1:]))


def configure(search: kernel.Search, algorithm: Algorithm) -> None:
    """Makes the kernel search with this algorithm."""
    search.configure(
        algorithm.w_g,
        algorithm.w_h,
        algorithm.reopen,
        algorithm.ties == 'larger_g',
        algorithm.learn_h,
        algorithm.path_switch,
        algorithm.shortcut,
    )


def _free_state(grid: Grid, cell: Cell, what: str, tolerance: int, error: type[BadInput]) -> int:
    """The state of this cell, or of the free cell nearest to it within the tolerance; raises OutsideGrid or `error`."""
    grid.state(cell, what)
    free = grid.nearest_free(cell, tolerance)
    if free is None:
        x, y = cell
        raise error(f'{what} ({x}, {y}) is blocked, and no cell within the tolerance of {tolerance} cells is free')
    return grid.state(free)


def _check_budget(k: int | Resources, trace_steps: int | None, algorithm: Algorithm) -> None:
    if not isinstance(k, Resources):
        check_whole('k', k, 1)
    elif trace_steps is not None:
        raise ValueError(f'trace_steps is {trace_steps}; leave it out, Resources contain it')
    if trace_steps is not None:
        check_whole('trace_steps', trace_steps, 1)
    if algorithm.reopen and (trace_steps is not None or isinstance(k, Resources)):
        raise ValueError('reopen is on and trace-back is sliced; a path traced in slices needs a tree that stays')


def check_whole(name: str, value: int, least: int) -> None:
    if not isinstance(value, (int, np.integer)) or not least <= value <= UNBOUNDED:
        raise ValueError(f'{name} is {value}; it must be a whole number between {least} and {UNBOUNDED}')


def _check_fraction(name: str, value: float) -> None:
    if not isinstance(value, (int, float)) or not 0 <= value < 1:
        raise ValueError(f'{name} is {value}; it must be a fraction from 0 to below 1')
