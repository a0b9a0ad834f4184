"""An agent that plans with D* Lite; d_star_lite.py has the algorithm, and what its paper left open."""

from __future__ import annotations

import numpy as np

from benchmarks.baselines import d_star_lite
from benchmarks.baselines.agent import Baseline
from tb_planner.geometry import Cell
from tb_planner.search.grid import Grid, GridChange
from tb_planner.search.planner import Status, check_whole

TIES = ('larger_g', 'smaller_g')


class DStarLite(Baseline):
    """Waits until the search has ended, then walks; after a change that matters to it the search goes on, and it waits
    again.

    ties: 'larger_g', as in the 2012 paper's experiments, or 'smaller_g', as in D* Lite's own paper.
    """

    def __init__(self, grid: Grid, start: Cell, goal: Cell, k: int, *, ties: str = 'larger_g'):
        super().__init__(grid, start, goal, k)
        if ties not in TIES:
            raise ValueError(f'ties is {ties!r}; it must be one of {", ".join(TIES)}')
        self._search = d_star_lite.DStarLiteSearch(*self._search_arguments(), ties == 'larger_g')

    def map_changed(self, change: GridChange) -> bool:
        if not change:
            return False
        searches: bool = self._search.cells_changed(np.concatenate((change.increased, change.decreased)))
        if self.status == Status.NO_PATH:
            self.status = Status.WAITED
        return searches

    @property
    def s_current(self) -> int:
        return int(self._search.s_start)

    def search(self, expansions: int | None = None) -> bool:
        """Makes k expansions, or the number given, without a move. Returns whether the search has ended: then the agent
        knows its shortest path on the present map, or that there is none."""
        if expansions is not None:
            check_whole('expansions', expansions, 1)
        return bool(self._search.search(expansions or self.k))

    @property
    def path(self) -> list[Cell]:
        """When the search has ended: a shortest path from where the agent is; empty if there is none."""
        if not self._search.found:
            raise ValueError(f'the search has not ended after {self.figures.expansions} expansions; search() goes on')
        return self.grid.cells(self._search.path_states())
