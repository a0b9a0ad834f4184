"""The peers: other libraries' planners behind one call, each used the fastest way that its documentation offers.

An adapter takes the map and the corner rule and gives a function of start and goal; that one does what may be done
before the clock starts and gives the call to be timed, whose result is a path as (x, y) rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.terrain import Blocked, Cell

Path = npt.NDArray[Any]
Query = Callable[[Cell, Cell], Callable[[], Any]]

STRAIGHT, DIAGONAL = 985, 1393  # tcod counts in integers


class Peer(NamedTuple):
    """A planner of another library: what it needs, which corner rules it knows, what it makes minimal."""

    name: str
    package: str
    module: str
    corner_rules: tuple[bool, ...]
    minimises: str
    prepare: Callable[[Blocked, bool], Query]

    def missing(self) -> str:
        """Why it cannot run here; empty if it can."""
        try:
            importlib.import_module(self.module)
        except ImportError as error:
            return f'{self.name} is skipped: {error} (pip install {self.package})'
        return ''


def pyastar2d(blocked: Blocked, corner_cutting: bool) -> Query:
    """A* with a maximum norm: a diagonal step costs as much as a straight one, there is no other way to call it."""
    from pyastar2d import astar_path

    weights = np.where(blocked, np.inf, 1).astype(np.float32)

    def query(start: Cell, goal: Cell) -> Callable[[], Path]:
        return lambda: astar_path(weights, start[::-1], goal[::-1], allow_diagonal=True)[:, ::-1]

    return query


def tcod_pathfinder(blocked: Blocked, corner_cutting: bool) -> Query:
    """libtcod's newer pathfinder; its arrays are cleared before the clock starts."""
    from tcod.path import Pathfinder

    finder = Pathfinder(_tcod_graph(blocked, corner_cutting))

    def query(start: Cell, goal: Cell) -> Callable[[], Path]:
        finder.clear()

        def plan() -> Path:
            finder.add_root(start[::-1])
            return finder.path_to(goal[::-1])[:, ::-1]

        return plan

    return query


def _tcod_graph(blocked: Blocked, corner_cutting: bool) -> Any:
    """Corners are not cut if each diagonal has a condition: both straight neighbours are free."""
    from tcod.path import CustomGraph, SimpleGraph

    cost = (~blocked).astype(np.int8)
    if corner_cutting:
        return SimpleGraph(cost=cost, cardinal=STRAIGHT, diagonal=DIAGONAL)
    graph = CustomGraph(blocked.shape)
    graph.add_edges(edge_map=[[0, STRAIGHT, 0], [STRAIGHT, 0, STRAIGHT], [0, STRAIGHT, 0]], cost=cost)
    free = np.pad(cost, 1)
    height, width = blocked.shape
    for dy, dx in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        beside = free[1 + dy : 1 + dy + height, 1:-1] & free[1:-1, 1 + dx : 1 + dx + width]
        graph.add_edge((dy, dx), DIAGONAL, cost=cost, condition=beside)
    graph.set_heuristic(cardinal=STRAIGHT, diagonal=DIAGONAL)
    return graph


def tcod_astar(blocked: Blocked, corner_cutting: bool) -> Query:
    """libtcod's older A*, which is the faster one in rooms and mazes."""
    from tcod.path import AStar

    finder = AStar((~blocked).astype(np.int8), diagonal=2**0.5)

    def query(start: Cell, goal: Cell) -> Callable[[], list[Cell]]:
        # it works on (y, x) and leaves the start out
        return lambda: [start, *((x, y) for y, x in finder.get_path(*start[::-1], *goal[::-1]))]

    return query


def w9_pathfinding(algorithm: str) -> Callable[[Blocked, bool], Query]:
    """w9-pathfinding's AStar or BiAStar."""

    def prepare(blocked: Blocked, corner_cutting: bool) -> Query:
        from w9_pathfinding import pf
        from w9_pathfinding.diagonal_movement import DiagonalMovement
        from w9_pathfinding.envs import Grid

        rule = DiagonalMovement.always if corner_cutting else DiagonalMovement.only_when_no_obstacle
        weights = np.where(blocked, np.int8(-1), np.int8(1)).tolist()
        grid = Grid(weights, diagonal_movement=rule, diagonal_movement_cost_multiplier=2**0.5)
        finder = getattr(pf, algorithm)(grid)
        return lambda start, goal: lambda: finder.find_path(start, goal)

    return prepare


def scikit_image(blocked: Blocked, corner_cutting: bool) -> Query:
    """Dijkstra that ends at the goal."""
    from skimage.graph import MCP_Geometric

    paths = MCP_Geometric(np.where(blocked, -1.0, 1.0), fully_connected=True)

    def query(start: Cell, goal: Cell) -> Callable[[], Path]:
        def plan() -> Path:
            paths.find_costs([start[::-1]], [goal[::-1]])
            return np.array(paths.traceback(goal[::-1]))[:, ::-1]

        return plan

    return query


CUTS, EITHER = (True,), (True, False)
PEERS = (
    Peer('pyastar2d', 'pyastar2d', 'pyastar2d', CUTS, 'steps', pyastar2d),
    Peer('tcod', 'tcod', 'tcod.path', EITHER, 'length', tcod_pathfinder),
    Peer('tcod AStar', 'tcod', 'tcod.path', CUTS, 'length', tcod_astar),
    Peer('w9-pathfinding', 'w9-pathfinding', 'w9_pathfinding', EITHER, 'length', w9_pathfinding('AStar')),
    Peer('w9 BiAStar', 'w9-pathfinding', 'w9_pathfinding', EITHER, 'length', w9_pathfinding('BiAStar')),
    Peer('scikit-image', 'scikit-image', 'skimage.graph', CUTS, 'length', scikit_image),
)
