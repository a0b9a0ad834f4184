"""The papers' pseudo-code in plain dicts and heapq, and SciPy's Dijkstra: what the planner is compared with.

Nothing here knows tb_planner. States are cells (x, y). Lengths are whole numbers: a straight edge between cells of
traversal costs t(u) and t(v), both in sixteenths, weighs (t(u) + t(v)) * straight, a diagonal one times diagonal.
With EXACT, whose ratio is sqrt(2) to forty digits, sums below 1e15 order just as real numbers a + b * sqrt(2) do:
two that differ do so by more than 1e-16. INTEGER is the pair 985 and 1393 that the planner counts with: where it orders
Open by ranges of f, and on maps with costs, the oracle does so, too.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Cell = tuple[int, int]
Edge = tuple[Cell, Cell]

SIXTEENTHS = 16
EXACT = (10**40, math.isqrt(2 * 10**80))
INTEGER = (985, 1393)

STRAIGHT_STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))
DIAGONAL_STEPS = ((1, -1), (1, 1), (-1, 1), (-1, -1))


class Terrain:
    """A grid as Succ(s) and c(u, v) see it; values are True where blocked, or costs, inf where blocked."""

    def __init__(self, values: np.ndarray, neighbours: int = 8, corner_cutting: bool = False) -> None:
        self.weighted = values.dtype != bool
        costs = np.asarray(values, dtype=float) if self.weighted else np.where(values, np.inf, 1.0)
        self.height, self.width = costs.shape
        self.neighbours = neighbours
        self.corner_cutting = corner_cutting
        self.steps = STRAIGHT_STEPS if neighbours == 4 else STRAIGHT_STEPS + DIAGONAL_STEPS
        self.cost: dict[Cell, int] = {
            (x, y): int(cost)
            for y, row in enumerate(np.rint(costs * SIXTEENTHS).tolist())
            for x, cost in enumerate(row)
            if cost < math.inf
        }
        self.lowest_cost = min(self.cost.values(), default=SIXTEENTHS)

    def weight(self, u: Cell, v: Cell) -> int | None:
        """t(u) + t(v) if v is a successor of u, else None."""
        if u not in self.cost or v not in self.cost:
            return None
        if u[0] != v[0] and u[1] != v[1] and not self._diagonal_is_legal(u, v):
            return None
        return self.cost[u] + self.cost[v]

    def _diagonal_is_legal(self, u: Cell, v: Cell) -> bool:
        return self.corner_cutting or ((u[0], v[1]) in self.cost and (v[0], u[1]) in self.cost)

    def around(self, u: Cell) -> Iterator[Cell]:
        """The cells next to u, free or not, in the order north, east, south, west and then from north-east on."""
        for dx, dy in self.steps:
            if 0 <= u[0] + dx < self.width and 0 <= u[1] + dy < self.height:
                yield u[0] + dx, u[1] + dy

    def succ(self, u: Cell) -> Iterator[Cell]:
        """Succ(u)."""
        return (v for v in self.around(u) if self.weight(u, v) is not None)

    def edges(self) -> Iterator[Edge]:
        """Every legal step, in both directions."""
        return ((u, v) for u in self.cost for v in self.succ(u))

    def length(self, cells: list[Cell]) -> float:
        """The cost of a path, inf if one of its steps is illegal."""
        straight = diagonal = 0
        for u, v in pairwise(cells):
            weight = self.weight(u, v)
            if weight is None or v not in self.around(u):
                return math.inf
            straight, diagonal = (straight + weight, diagonal) if is_straight(u, v) else (straight, diagonal + weight)
        return (straight + diagonal * math.sqrt(2)) / (2 * SIXTEENTHS)

    def largest_edge_cost(self) -> float:
        """c+, the largest cost of an edge."""
        return max((self.edge_length(u, v) for u, v in self.edges()), default=0.0)

    def edge_length(self, u: Cell, v: Cell) -> float:
        """The cost of a legal step."""
        return self.weight(u, v) * (1 if is_straight(u, v) else math.sqrt(2)) / (2 * SIXTEENTHS)


def is_straight(u: Cell, v: Cell) -> bool:
    """Whether the step from u to v is one along a row or a column."""
    return u[0] == v[0] or u[1] == v[1]


def true_distances(terrain: Terrain, source: Cell) -> dict[Cell, float]:
    """The cost of a cost-minimal path from source to every cell that has one, by SciPy's Dijkstra."""
    number = {cell: i for i, cell in enumerate(terrain.cost)}
    edges = list(terrain.edges())
    lengths = [terrain.edge_length(u, v) for u, v in edges]
    rows, columns = [number[u] for u, _ in edges], [number[v] for _, v in edges]
    graph = csr_array((lengths, (rows, columns)), shape=(len(number), len(number)))
    distances = dijkstra(graph, indices=number[source])
    return {cell: float(d) for cell, d in zip(number, distances) if math.isfinite(d)}


def true_distance(terrain: Terrain, source: Cell, target: Cell) -> float:
    """The cost of a cost-minimal path, inf if there is none."""
    if source not in terrain.cost or target not in terrain.cost:
        return math.inf
    return true_distances(terrain, source).get(target, math.inf)


@dataclass(frozen=True)
class Rules:
    """One algorithm of the papers: f = w_g * g + w_h * h, when to restart, whether h-values are learned."""

    w_g: int = 1
    w_h: int = 1
    restart: str = 'never'
    learn_h: bool = False
    reopen: bool = False
    ties: str = 'lifo'


class Oracle:
    """Algorithms 1 to 3 of 2012 and of 2014 in one: Best-First-Search in slices of k, MoveToGoal by intervals."""

    def __init__(
        self, terrain: Terrain, start: Cell, goal: Cell, rules: Rules, k: int, metric: tuple[int, int] | None = None
    ) -> None:
        self.terrain, self.goal, self.rules, self.k = terrain, goal, rules, k
        self.is_optimal = rules.w_h <= rules.w_g
        self.has_buckets = rules.ties == 'lifo' and (terrain.weighted or not self.is_optimal)
        self.metric = metric or (INTEGER if self.has_buckets or terrain.weighted else EXACT)
        self.s_current = start
        self.searchnumber = 0
        self.search: dict[Cell, int] = {}
        self.pathcost: dict[int, float] = {}
        self.h: dict[Cell, int] = {}
        self.g: dict[Cell, float] = {}
        self.fell_since_start = False
        self.searches_learned_from = -1
        self.expansions = 0
        self.back_moves = 0
        self.initialize_search()

    def distance(self, u: Cell, v: Cell) -> int:
        """H: octile distance, Manhattan distance with 4 neighbours, over cells as cheap as the map's cheapest one."""
        dx, dy = abs(u[0] - v[0]), abs(u[1] - v[1])
        straight, diagonal = self.metric
        if self.terrain.neighbours == 4:
            return 2 * self.lowest_cost * straight * (dx + dy)
        return 2 * self.lowest_cost * (straight * abs(dx - dy) + diagonal * min(dx, dy))

    def widest_bucket(self) -> int:
        """The width of the ranges of f within which the order is last in, first out.

        A power of two in the planner's units, of which a step on a map without costs has 985 or 1393: for w > 1 as wide
        as (w_h - w_g) times the cheapest step, else an eighth of that step."""
        unit = 1 if self.terrain.weighted else 2 * SIXTEENTHS
        cheapest = 2 * self.lowest_cost * self.metric[0] // unit
        rules = self.rules
        widest = rules.w_g * cheapest // 8 if self.is_optimal else (rules.w_h - rules.w_g) * cheapest
        return unit << (widest.bit_length() - 1)

    def edge_cost(self, u: Cell, v: Cell) -> float:
        """c(u, v), inf if v is no successor of u."""
        weight = self.terrain.weight(u, v)
        return math.inf if weight is None else weight * self.metric[0 if is_straight(u, v) else 1]

    def path_cost(self, cells: list[Cell]) -> float:
        """The cost of a path in the metric's units."""
        return sum(self.edge_cost(u, v) for u, v in pairwise(cells))

    def f(self, s: Cell) -> float:
        """The evaluation function; infinite for a state that has no g-value yet."""
        return math.inf if self.g[s] == math.inf else self.rules.w_g * self.g[s] + self.rules.w_h * self.h[s]

    def initialize_state(self, s: Cell) -> None:
        """InitializeState(s): Algorithm 2 of 2012, and Algorithm 3 where h-values are learned."""
        if s not in self.search:
            self.h[s] = self.distance(s, self.goal)
            self.g[s] = math.inf
        elif self.search[s] != self.searchnumber:
            learned = self.h[s] if self.rules.learn_h else 0
            if self.rules.learn_h and self.g[s] < math.inf:
                learned = max(learned, self.pathcost[self.search[s]] - self.g[s])
            self.h[s] = max(self.distance(s, self.goal), learned)
            self.g[s] = math.inf
        self.search[s] = self.searchnumber

    def initialize_search(self) -> None:
        """InitializeSearch(); remembers pathcost of the search that ends, as StartNewSearch? of TBAA* does.

        From a search whose Open ran empty nothing is learned. If a cost has decreased, all h-values start again from H.
        """
        if self.searchnumber:
            self.pathcost[self.searchnumber] = min(self.lowest_f(), self.f(self.goal)) if self.key else 0
        self.searches_learned_from += 1
        if self.fell_since_start:
            self.search.clear()
            self.searches_learned_from = 0
        self.fell_since_start = False
        self.failed = False
        self.lowest_cost = self.terrain.lowest_cost
        self.bucket_width = self.widest_bucket() if self.has_buckets else 1
        self.searchnumber += 1
        self.s_root = self.s_current
        self.heap: list[tuple[tuple[float, ...], Cell]] = []
        self.key: dict[Cell, tuple[float, ...]] = {}
        self.inserted, self.edge = 0, math.inf
        self.parent: dict[Cell, Cell] = {}
        self.closed: list[Cell] = []
        self.is_closed: set[Cell] = set()
        self.path: list[Cell] = []
        self.goal_found = False
        self.changed_since_start = False
        self.falls_let_pass: set[Edge] = set()
        self.initialize_state(self.s_root)
        self.g[self.s_root] = 0
        self.insert(self.s_root)
        self.initialize_state(self.goal)
        if self.s_root == self.goal:
            self.g[self.goal] = 0

    def insert(self, s: Cell) -> None:
        """Insert s in Open, or move it if it is there and its f is in another bucket now.

        The goal is in Open, but it is never expanded: a search ends instead."""
        bucket = self.f(s) // self.bucket_width
        if self.rules.ties == 'lifo' and s in self.key and self.key[s][0] == bucket:
            return
        self.inserted += 1
        larger_g = (-self.g[s],) if self.rules.ties == 'larger_g' else ()
        self.key[s] = (bucket, *larger_g, -self.inserted)
        if s != self.goal:
            heapq.heappush(self.heap, (self.key[s], s))
            self.edge = min(self.edge, bucket * self.bucket_width)

    def top(self) -> Cell | None:
        """The state in Open to be expanded next."""
        while self.heap and self.key.get(self.heap[0][1]) != self.heap[0][0]:
            heapq.heappop(self.heap)
        return self.heap[0][1] if self.heap else None

    def lowest_f(self) -> float:
        """No f in Open is below this one, the goal's aside: where its lowest bucket begins."""
        top = self.top()
        return math.inf if top is None else self.key[top][0] * self.bucket_width

    def open_cells(self) -> set[Cell]:
        """The states in Open."""
        return set(self.key)

    def best_first_search(self, expansions: int) -> bool:
        """Best-First-Search(), Algorithm 1 of 2014; closed states stay closed unless the rules re-open them."""
        done = 0
        while self.key and done < expansions and self.f(self.goal) > self.lowest_f():
            self.expand(self.top())
            done += 1
        self.expansions += done
        if not self.key:
            return False
        s_best = self.goal if self.f(self.goal) <= self.lowest_f() else self.top()
        self.goal_found = s_best == self.goal
        self.path = self.branch(s_best)
        self.expected = self.planned_cost()
        return True

    def expand(self, s: Cell) -> None:
        """Lines 13 to 21 of Algorithm 1 of 2014. A state as far as the goal's f leads to nothing better.

        A closed state is re-opened within the bucket that is being expanded if the search is to be optimal: within a
        bucket the order is not exact."""
        self.edge = self.lowest_f()
        del self.key[s]
        self.closed.append(s)
        self.is_closed.add(s)
        if self.f(s) >= self.f(self.goal):
            return
        for t in self.terrain.succ(s):
            if self.leaves_out(s, t):
                continue
            self.initialize_state(t)
            g = self.g[s] + self.edge_cost(s, t)
            f = self.rules.w_g * g + self.rules.w_h * self.h[t]
            within = self.is_optimal and self.rules.ties == 'lifo' and f >= self.edge
            if t in self.is_closed and not (self.rules.reopen or within):
                continue
            if f < self.f(t):
                self.g[t] = g
                self.parent[t] = s
                self.is_closed.discard(t)
                self.insert(t)

    def leaves_out(self, s: Cell, t: Cell) -> bool:
        """Whether a search for w = 1 with costs leaves out the step from s to t: the parent of s leads there another
        way, in one step or in two around s that cost less."""
        plain = self.is_optimal and self.rules.ties == 'lifo' and self.terrain.weighted
        if not plain or self.changed_since_start or s not in self.parent:
            return False
        p = self.parent[s]
        (px, py), (sx, sy), (tx, ty) = p, s, t
        if max(abs(tx - px), abs(ty - py)) <= 1 and (t == p or is_straight(p, t)):
            return True
        if self.terrain.neighbours == 4 or not self.is_inside(s):
            return False
        cost = self.terrain.cost
        if max(abs(tx - px), abs(ty - py)) <= 1:
            beside = (px, ty) if (px, ty) != s else (tx, py)
            return beside in cost and self.path_cost([p, t]) < self.path_cost([p, s, t])
        if is_straight(s, t):
            return False
        if is_straight(p, s):  # t is ahead
            dx, dy = sx - px, sy - py
            z, beside = (tx - dx, ty - dy), (tx - 2 * dx, ty - 2 * dy)
            return z in cost and beside in cost and self.path_cost([p, z, t]) < self.path_cost([p, s, t])
        if tx != px and ty != py:  # straight on
            return False
        z = (px, sy) if tx == px else (sx, py)
        return z in cost and self.metric[0] * cost[z] <= self.metric[1] * cost[s]

    def is_inside(self, s: Cell) -> bool:
        """Whether the cells around s have numbers, row by row, that the map has."""
        number, last = s[1] * self.terrain.width + s[0], self.terrain.width * self.terrain.height - 1
        return self.terrain.width < number < last - self.terrain.width

    def branch(self, s: Cell) -> list[Cell]:
        """The branch of the search tree from s_root to s."""
        cells = [s]
        while cells[-1] != self.s_root:
            cells.append(self.parent[cells[-1]])
        return cells[::-1]

    @property
    def route(self) -> list[Cell]:
        """The cells the agent will walk: back to the branching point, then along path."""
        if not self.path:
            return [self.s_current]
        back = [self.s_current]
        while back[-1] not in self.path:
            back.append(self.parent[back[-1]])
        return back + self.path[self.path.index(back[-1]) + 1 :]

    def observe(self, terrain: Terrain) -> bool:
        """Get the new cost function, then RestartSearch?(); True if the search restarted."""
        before, self.terrain = self.terrain, terrain
        self.decreased = {s for s, t in terrain.cost.items() if t < before.cost.get(s, math.inf)}
        changes = list(self.changed_edges(before))
        if before.cost == terrain.cost:
            return False
        self.changed_since_start = True
        self.fell_since_start |= bool(self.decreased)
        misled = self.decreased and self.rules.learn_h and self.searches_learned_from > 0
        if self.goal_found:
            self.lowest_cost = min(self.lowest_cost, terrain.lowest_cost)
        too_high = self.rules.w_g > 0 and terrain.lowest_cost < self.lowest_cost  # H of the running search
        if not (self.failed or misled or too_high or self.restart_search(changes)):
            return False
        self.initialize_search()
        return True

    def changed_edges(self, before: Terrain) -> Iterator[tuple[Edge, float, float]]:
        """Every edge whose cost is not what it was, with both costs."""
        after = self.terrain
        changed = {c for c in before.cost.keys() | after.cost.keys() if before.cost.get(c) != after.cost.get(c)}
        touched = changed | {v for u in changed for v in after.around(u)}
        for u in touched:
            for v in after.around(u):
                old, new = before.weight(u, v), after.weight(u, v)
                if old != new:
                    length = self.metric[0 if is_straight(u, v) else 1]
                    yield (u, v), *(math.inf if weight is None else weight * length for weight in (old, new))

    def restart_search(self, changes: list[tuple[Edge, float, float]]) -> bool:
        """RestartSearch?()."""
        if self.rules.restart in ('never', 'eager'):
            return self.rules.restart == 'eager'
        if self.route_cost_increased():
            return True
        if self.rules.restart == 'path_cost_increased':
            return False
        # an edge of a cheaper cell counts as cheaper, also if its other end has got a higher cost at the same time
        falls = {edge for edge, prior, after in changes if after < prior}
        falls.update(edge for u in self.decreased for v in self.terrain.succ(u) for edge in ((u, v), (v, u)))
        if self.path and any(self.could_be_shorter(edge) for edge in falls if self.goal_found or self.matters(edge)):
            return True
        self.falls_let_pass |= falls
        return False

    def matters(self, edge: Edge) -> bool:
        """While the search runs: whether a decreased cell that made the edge fall is closed or next to a closed one."""
        (ux, uy), (vx, vy) = edge
        causes = self.decreased.intersection({(ux, uy), (vx, vy), (ux, vy), (vx, uy)})
        return any(not self.is_closed.isdisjoint((s, *self.terrain.succ(s))) for s in causes)

    def could_be_shorter(self, edge: Edge) -> bool:
        """Lines 6 to 8 of Algorithm 3 of 2014, for the whole route and what is left from its end to the goal."""
        u, v = edge
        through = self.distance(self.s_current, u) + self.edge_cost(u, v) + self.distance(v, self.goal)
        remaining = self.path_cost(self.route) + self.distance(self.route[-1], self.goal)
        return self.rules.w_h * through < self.rules.w_g * remaining

    def planned_cost(self) -> float:
        """The cost of the whole route, backtracking moves and path ahead, as the search sees it."""
        turn = next(s for s in self.route if s in self.path)
        return self.g[self.s_current] - self.g[turn] + self.g[self.path[-1]] - self.g[turn]

    def route_cost_increased(self) -> bool:
        """Whether the whole route costs more now than the search thought, or than at a later map that was let pass."""
        if not self.path or self.rules.restart not in ('lazy', 'path_cost_increased'):
            return False
        cost = self.path_cost(self.route)
        increased = cost > self.expected
        self.expected = min(self.expected, cost)
        return increased

    def is_shorter_by_a_fall_let_pass(self) -> bool:
        """The falls that did not matter while the search ran, tested again when the goal is found."""
        return self.goal_found and any(self.could_be_shorter(edge) for edge in self.falls_let_pass)

    def search_interval(self) -> bool:
        """The search half of an interval; False if there is no path. If path is empty afterwards the agent waits."""
        if self.goal_found:
            return True
        if not self.best_first_search(self.k):
            self.failed = True
            if not self.changed_since_start:
                return False
            self.initialize_search()
        elif self.route_cost_increased() or self.is_shorter_by_a_fall_let_pass():
            self.initialize_search()
        return True

    def move(self) -> bool:
        """The movement half of an interval; False if there is no path to follow."""
        if not self.path:
            return False
        here = self.s_current
        if here in self.path:
            self.s_current = self.path[self.path.index(here) + 1]
        else:
            self.s_current = self.parent[here]
            self.back_moves += 1
        self.expected -= self.edge_cost(here, self.s_current)
        return True


class SlicedOracle(Oracle):
    """TBA* as Algorithm 1 of 2009 has it, on a static map: both expansions and trace steps are limited in an interval.

    The first interval expands min(N_E, N_T) states, so that there is a first path; once the goal is found all of R
    is for tracing.
    """

    def __init__(
        self, terrain: Terrain, start: Cell, goal: Cell, rules: Rules, n_e: int, n_t: int, n_t_found: int
    ) -> None:
        super().__init__(terrain, start, goal, rules, n_e)
        self.n_e, self.n_t, self.n_t_found = n_e, n_t, n_t_found
        self.path_new: list[Cell] = []
        self.done_trace = True
        self.solution_traced = False
        self.follow: list[Cell] = []
        self.came_from: Cell | None = None

    def interval(self) -> bool:
        """Lines 6 to 31; False if there is no path."""
        if not self.goal_found:
            first = self.expansions == 0
            if not self.best_first_search(min(self.n_e, self.n_t) if first else self.n_e):
                return False
        if not self.solution_traced:
            self.trace_back(self.n_t_found if self.goal_found else self.n_t)
        self.act()
        return True

    def trace_back(self, steps: int) -> None:
        """Lines 10 to 19: a trace goes on until it meets the agent or the start; only then the agent follows it."""
        if self.done_trace:
            self.path_new = [self.path[-1]]
        while self.path_new[0] not in (self.s_current, self.s_root) and steps:
            self.path_new.insert(0, self.parent[self.path_new[0]])
            steps -= 1
        self.done_trace = self.path_new[0] in (self.s_current, self.s_root)
        if self.done_trace:
            self.follow = self.path_new
            self.solution_traced = self.follow[-1] == self.goal

    def act(self) -> None:
        """Lines 21 to 31: along the path; from its end back towards the start; from there to where it came from."""
        here = self.s_current
        if here in self.follow[:-1]:
            at = self.follow.index(here)
            self.s_current = self.follow[at + 1]
            self.follow = self.follow[at + 1 :]
        elif here != self.s_root:
            self.s_current = self.parent[here]
        elif self.came_from is not None:
            self.s_current = self.came_from
        self.came_from = here
