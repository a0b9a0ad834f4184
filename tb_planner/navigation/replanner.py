"""Replanner: the search for a way to one goal on maps of one geometry, and the route that a robot follows meanwhile.

A search that starts over would leave the robot standing, or send it along the first guesses of a new search. So where
the old route is still good, it is held and followed until the new search has found its way to the goal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tb_planner.geometry import Cell, MapGeometry
from tb_planner.navigation.follower import Aim, Follower
from tb_planner.navigation.held_route import HeldRoute
from tb_planner.search.grid import Grid, GridChange
from tb_planner.search.planner import Status, TimeBoundedPlanner
from tb_planner.search.restart import RestartReason

HELD_CELLS = 1024
"""So much of a route is held at most: no tick goes with the length of a route."""

Search = Callable[[TimeBoundedPlanner], object]

_ROUTE_IS_STILL_GOOD = frozenset(
    (
        RestartReason.COST_INCREASED,
        RestartReason.SHORTCUT_OPENED,
        RestartReason.EAGER,
        RestartReason.HEURISTIC_INVALIDATED,
        RestartReason.GOAL_MOVED,
        RestartReason.PERIODIC,
    )
)


class Replanner:
    """Positions are in cells of the grid; the robot's cell is a free one, its own or one to leave a blocked one by."""

    def __init__(
        self,
        planner: TimeBoundedPlanner,
        geometry: MapGeometry,
        followers: tuple[Follower, Follower],
        held: HeldRoute | None,
        restarts: list[RestartReason],
    ):
        self.planner = planner
        self.geometry = geometry
        self.held = held
        self.use_followers(*followers)
        self._restarts = restarts  # to be added to
        self._counted = planner.restarts
        self._holds = 0
        self._look_ahead()
        self._has_restarted = False  # and not gone on yet
        self._ticks = 0  # of the present search
        self._map_has_changed = False  # since it began

    def use_followers(self, follower: Follower, held_follower: Follower) -> None:
        """For the search's route, and for a held one."""
        self._follower, self._held_follower = follower, held_follower

    # -------------------------------------------------------------------------------------------------- what is known
    @property
    def route(self) -> NDArray[np.int32]:
        """The cells ahead of the robot, x and y in rows; cut off where that makes no difference."""
        return self._ahead if self.held is None else self.held.cells

    def whole_route(self) -> NDArray[np.int32]:
        """Not cut off; the work goes with its length."""
        return self.planner.route_cells() if self.held is None else self.held.cells

    def points_m(self, end_m: tuple[float, float]) -> NDArray[np.float64]:
        """The route in metres; `end_m` is its last point if it reaches the target."""
        points_m = self.geometry.to_world_array(self._ahead) if self.held is None else self.held.points_m
        return np.vstack((points_m, end_m)) if self.reaches_target else points_m

    @property
    def reaches_target(self) -> bool:
        """The route, as far as it is looked at, ends there."""
        x, y = self.route[-1].tolist()
        return (x, y) == self.planner.target

    @property
    def has_no_path(self) -> bool:
        return self.held is None and self.planner.status == Status.NO_PATH

    @property
    def version(self) -> tuple[object, ...]:
        """Another one whenever the route is another, not when the robot walks along it."""
        return (self._holds,) if self.held is not None else (self._holds, self.planner.route_version)

    # -------------------------------------------------------------------------------------------------- news
    def map_changed(self, grid: Grid, change: GridChange) -> None:
        """The same geometry. A route that is blocked is left at once."""
        self.planner.use_grid(grid, change)
        if self.held is not None and not self.held.stands(grid):
            self._let_go()
        self._map_has_changed = self._map_has_changed or bool(change)
        self._note_restarts()

    def hold(self) -> HeldRoute | None:
        """Keeps the route, for as long as it stands, whatever becomes of the search."""
        if self.held is None and len(self._ahead) > 1:
            self.held = HeldRoute.lay(self.geometry.to_world_array(self._ahead), self.geometry, self.planner.grid)
            self._holds += 1
            self._held_follower.take_over(self._follower.waypoint)
        return self.held

    # -------------------------------------------------------------------------------------------------- a tick
    def step(self, position: tuple[float, float], cell: Cell, search: Search, clean_every: int) -> None:
        """The robot goes along its route or leaves it; then search; then, if a new route is ready, take it."""
        if self._has_restarted and cell != self.planner.current_cell:
            self._begin_at(cell)
        self._keep_to_route(position, cell)
        self._ticks += 1
        if clean_every and self._ticks > clean_every and self._is_clean_search_due():
            self.planner.restart(RestartReason.PERIODIC)
            self._note_restarts()
        self._has_restarted = False
        search(self.planner)
        self._note_restarts()
        self._look_ahead()
        if self.held is not None:
            self._take_over(position, cell, self.held)

    def aim(self, position: tuple[float, float], cell: Cell, end: tuple[float, float]) -> Aim | None:
        """The waypoint; None if there is nothing to follow. `end` is the exact point to reach in the target's cell."""
        reaches = self.reaches_target
        if len(self.route) < 2 and not reaches:
            return None
        follower = self._follower if self.held is None else self._held_follower
        return follower.aim(self.planner.grid.cost_u16, self.route, position, end if reaches else None, cell)

    def _keep_to_route(self, position: tuple[float, float], cell: Cell) -> None:
        terrain = self.planner.grid.cost_u16
        if self.held is not None:
            passed = self._held_follower.passed(terrain, self.held.cells, position, cell)
            if passed is not None:
                self.held = self.held.walked(passed)
                return
            self._let_go()
        self._look_ahead()
        passed = self._follower.passed(terrain, self._ahead, position, cell)
        if passed is None:
            self._leave_route(cell)
        else:
            self._advance_by(passed)

    def _take_over(self, position: tuple[float, float], cell: Cell, held: HeldRoute) -> None:
        """The search's route takes the held one's place once it is ready and the robot is on it. If the robot is not,
        the search starts again from where it is."""
        used_up = len(held.cells) == 1 and held.last_cell != self.planner.target
        ready = self.planner.route_reaches_goal or self.planner.status == Status.NO_PATH
        if not (ready or used_up):
            return
        self._follower.take_over(self._held_follower.waypoint)
        passed = self._follower.passed(self.planner.grid.cost_u16, self._ahead, position, cell)
        if passed is not None or used_up:
            self._let_go()
        if passed is None:
            self._leave_route(cell)
        else:
            self._advance_by(passed)

    def _let_go(self) -> None:
        """Of what is held; the robot may be anywhere on the search's route, or off it."""
        self.held = None
        self._holds += 1
        self._follower.take_over(self._held_follower.waypoint)

    def _look_ahead(self) -> None:
        self._ahead = self.planner.route_cells(HELD_CELLS)
        self._reaches_goal = self.planner.route_reaches_goal

    def _is_clean_search_due(self) -> bool:
        """The map has changed since the search began, and that has come to its end: or none ever would."""
        return self._map_has_changed and self._reaches_goal and self.held is None

    def _advance_by(self, cells: int) -> None:
        if cells:
            self.planner.advance_by(cells)
            self._ahead = self._ahead[cells:]

    def _leave_route(self, cell: Cell) -> None:
        self.planner.leave_route(cell)
        self._note_restarts()
        self._look_ahead()

    def _begin_at(self, cell: Cell) -> None:
        """A search that has restarted and not gone on yet begins where the robot is. That is no other restart."""
        self.planner.leave_route(cell)
        self._counted = self.planner.restarts
        self._follower.forget()

    def _note_restarts(self) -> None:
        """Those since the last call. If none of them says that the route to the goal is bad, it is held."""
        counts, before = self.planner.restarts, self._counted
        new = [r for r in counts for _ in range(counts[r] - before[r])]
        if not new:
            return
        self._counted = counts
        self._ticks, self._map_has_changed, self._has_restarted = 0, False, True
        self._restarts += new
        if self._reaches_goal and _ROUTE_IS_STILL_GOOD.issuperset(new):
            self.hold()
