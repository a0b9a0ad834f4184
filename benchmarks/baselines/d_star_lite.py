# cython: language_level=3, infer_types=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""D* Lite, the optimised version with k_m (Koenig and Likhachev, "D* Lite", AAAI 2002). Compiled, as kernel.py.

A search from the goal to the agent, which is repaired when costs change. g(s) is the cost from s to the goal as the
search has it, rhs(s) the least c(s, t) + g(t) over the neighbours t; a state whose two values differ is in U. All this
holds between any two expansions, so that the search can stop there, and the map may change.

What is left open there, or differs:

- Ties in U. Its second key, min(g, rhs), takes the smaller g first, and on open ground expands all states on any
  shortest path: 'smaller_g'. In the 2012 paper all algorithms take the larger g first. That is as right, if
  states whose value has to rise (g < rhs) go before the others of the same first key: then nothing is expanded while
  something that it may depend on is too low, and states whose value falls are expanded as by A*, whose ties are free.
  So 'larger_g' puts those first, then the larger min(g, rhs). It stops as soon as none that has to rise has the agent's
  first key.
- A change of the map is a list of cells: rhs is computed anew, once, for each of them and for their neighbours, which
  all arcs with a new cost touch, also diagonal ones past a cell. That needs no old costs.
- An expansion is one that changes g. Putting a state back into U with its present key is none, nor is taking in a
  change of the map: both are counted by themselves (`requeued`, `recomputed`).
- Of equal steps the agent takes the first in the order N, E, S, W, NE, SE, SW, NW.
"""

import numpy as np

try:
    import cython
except ImportError:
    from tb_planner.search.grid_math import no_cython as cython

from tb_planner.search.grid_math import FAR, offsets, step_lengths, zeros

COMPILED = cython.compiled
RISES = -FAR  # the second key of a state that goes before all others

if not cython.compiled:  # d_star_lite.pxd has these for the compiler
    from tb_planner.search.grid_math import (
        AT_GOAL,
        DIAGONAL,
        MAX_TRAIL,
        MOVED,
        NO_PATH,
        NONE,
        STRAIGHT,
        WAITED,
        lowest,
        octile,
    )


class DStarLiteSearch:
    """One agent's search and its moves. Nothing is validated here."""

    def __init__(self, moves, terrain, width, neighbours, weighted, s_start, s_goal, larger_g):
        n = len(moves)
        self.width, self.height, self.weighted, self.larger_g = width, n // width, weighted, larger_g
        self.moves, self.terrain = memoryview(moves), memoryview(terrain)
        self.offset = offsets(width)
        self.straight, self.diagonal = step_lengths(neighbours, weighted)
        self.g, self.rhs = memoryview(np.full(n, FAR, np.int64)), memoryview(np.full(n, FAR, np.int64))
        self.key1, self.key2 = zeros(n + 1, np.int64), zeros(n + 1, np.int64)
        self.heap, self.place = zeros(n + 1, np.int32), zeros(n, np.int32)
        self.seen = zeros(n, np.uint32)
        self.trail = zeros(MAX_TRAIL, np.int32)
        self.size = self.k_m = self.news = self.trail_length = self.intervals_left = 0
        self.expansions = self.requeued = self.recomputed = self.intervals = self.moved = 0
        self.straight_sum = self.diagonal_sum = 0
        self.s_goal = s_goal
        self.set_start(s_start)
        self.s_last = s_start
        self.rhs[s_goal] = 0
        self.update_vertex(s_goal)
        self.searches = 1
        self.found = False

    # ---------------------------------------------------------------------- keys
    def set_start(self, s):
        self.s_start = s
        self.start_y = s // self.width
        self.start_x = s - self.start_y * self.width

    def h(self, s):
        """The octile distance from the agent."""
        y = s // self.width
        return octile(self.straight, self.diagonal, s - y * self.width - self.start_x, y - self.start_y)

    def least(self, s):
        return self.g[s] if self.g[s] < self.rhs[s] else self.rhs[s]

    def first_key(self, s):
        return self.least(s) + self.h(s) + self.k_m

    def second_key(self, s):
        if not self.larger_g:
            return self.least(s)
        return RISES if self.g[s] < self.rhs[s] else -self.rhs[s]

    # ---------------------------------------------------------------------- U: a binary heap, from place 1 on
    def goes_before(self, i, key1, key2):
        return self.key1[i] < key1 or (self.key1[i] == key1 and self.key2[i] < key2)

    def put(self, s, i, key1, key2):
        self.heap[i] = s
        self.key1[i] = key1
        self.key2[i] = key2
        self.place[s] = i

    def shift(self, i, j):
        """Moves what is at place i to place j."""
        self.put(self.heap[i], j, self.key1[i], self.key2[i])

    def sift_up(self, s, i, key1, key2):
        while i > 1 and not self.goes_before(i >> 1, key1, key2):
            self.shift(i >> 1, i)
            i >>= 1
        self.put(s, i, key1, key2)

    def sift_down(self, s, i, key1, key2):
        child = 2 * i
        while child <= self.size:
            if child < self.size and self.goes_before(child + 1, self.key1[child], self.key2[child]):
                child += 1
            if not self.goes_before(child, key1, key2):
                break
            self.shift(child, i)
            i = child
            child = 2 * i
        self.put(s, i, key1, key2)

    def sift(self, s, i, key1, key2):
        """Place i is free: s goes there, and from there to where it belongs."""
        if i > 1 and not self.goes_before(i >> 1, key1, key2):
            self.sift_up(s, i, key1, key2)
        else:
            self.sift_down(s, i, key1, key2)

    def remove(self, s):
        i = self.place[s]
        last = self.size
        self.place[s] = 0
        self.size -= 1
        if i != last:
            self.sift(self.heap[last], i, self.key1[last], self.key2[last])

    # ---------------------------------------------------------------------- ComputeShortestPath
    def cost(self, s, t, d):
        """The cost of the legal step from s to t in direction d."""
        if self.weighted:
            return (STRAIGHT if d < 4 else DIAGONAL) * (self.terrain[s] + self.terrain[t])
        return STRAIGHT if d < 4 else DIAGONAL

    def update_vertex(self, s):
        """UpdateVertex(s): s is in U, with its present key, if it is inconsistent."""
        if self.g[s] == self.rhs[s]:
            if self.place[s] != 0:
                self.remove(s)
        elif self.place[s] != 0:
            self.sift(s, self.place[s], self.first_key(s), self.second_key(s))
        else:
            self.size += 1
            self.sift_up(s, self.size, self.first_key(s), self.second_key(s))

    def best_neighbour_cost(self, s):
        """min c(s, t) + g(t)"""
        d = self.next_direction(s)
        return FAR if d == NONE else self.g[s + self.offset[d]] + self.cost(s, s + self.offset[d], d)

    def is_done(self):
        """U.TopKey >= CalcKey(s_start), and rhs(s_start) <= g(s_start)."""
        if self.rhs[self.s_start] > self.g[self.s_start]:
            return False
        if self.size == 0:
            return True
        least = self.least(self.s_start)
        return not self.goes_before(1, least + self.k_m, RISES + 1 if self.larger_g else least)

    def lower(self, u):
        """g(u) := rhs(u), which its neighbours may take advantage of."""
        self.g[u] = self.rhs[u]
        self.remove(u)
        moves = self.moves[u]
        while moves:
            d = lowest(moves)
            moves &= moves - 1
            s = u + self.offset[d]
            cost = self.g[u] + self.cost(u, s, d)
            if cost < self.rhs[s]:
                self.rhs[s] = cost
                self.update_vertex(s)

    def raise_(self, u):
        """g(u) := infinity; neighbours that relied on it look for another."""
        old = self.g[u]
        self.g[u] = FAR
        self.update_vertex(u)
        moves = self.moves[u]
        while moves:
            d = lowest(moves)
            moves &= moves - 1
            s = u + self.offset[d]
            if self.rhs[s] == old + self.cost(u, s, d):  # never the goal, whose rhs is 0
                self.rhs[s] = self.best_neighbour_cost(s)
                self.update_vertex(s)

    def compute_shortest_path(self, k):
        """ComputeShortestPath(), at most k expansions; sets found if it has ended."""
        while not self.is_done():
            u = self.heap[1]
            key1 = self.first_key(u)
            if self.key1[1] < key1:
                self.requeued += 1
                self.sift_down(u, 1, key1, self.second_key(u))
                continue
            if k == 0:
                return
            k -= 1
            self.expansions += 1
            if self.g[u] > self.rhs[u]:
                self.lower(u)
            else:
                self.raise_(u)
        self.found = True

    # ---------------------------------------------------------------------- the map
    def recompute(self, s):
        if self.seen[s] == self.news or s == self.s_goal:
            return
        self.seen[s] = self.news
        self.recomputed += 1
        rhs = self.best_neighbour_cost(s)
        if rhs != self.rhs[s]:
            self.rhs[s] = rhs
            self.update_vertex(s)

    def recompute_around(self, s):
        """rhs of a changed cell and its neighbours, legal or not."""
        y = s // self.width
        x = s - y * self.width
        for v in range(y - 1 if y > 0 else y, y + 2 if y + 1 < self.height else y + 1):
            for u in range(x - 1 if x > 0 else x, x + 2 if x + 1 < self.width else x + 1):
                self.recompute(v * self.width + u)

    def recompute_all(self, cells):
        self.k_m += self.h(self.s_last)
        self.s_last = self.s_start
        self.news += 1
        for i in range(len(cells)):
            self.recompute_around(cells[i])

    def cells_changed(self, cells):
        """The cost of these cells has changed. True if there is something to search for it."""
        changed = memoryview(cells)
        with cython.nogil:
            self.recompute_all(changed)
        if self.is_done():
            self.found = True
            return False
        if self.found:
            self.searches += 1
        self.found = False
        return True

    # ---------------------------------------------------------------------- the agent
    def next_direction(self, s):
        """The direction of the step from s to argmin c(s, s') + g(s')."""
        best, least = NONE, FAR
        moves = self.moves[s]
        while moves:
            d = lowest(moves)
            moves &= moves - 1
            cost = self.g[s + self.offset[d]] + self.cost(s, s + self.offset[d], d)
            if cost < least:
                best, least = d, cost
        return best

    def move(self):
        s = self.s_start
        d = self.next_direction(s)
        if d == NONE:  # on a map that has changed without a word
            return NO_PATH
        t = s + self.offset[d]
        sum_of_costs = 1
        if self.weighted:
            sum_of_costs = self.terrain[s] + self.terrain[t]
        if d < 4:
            self.straight_sum += sum_of_costs
        else:
            self.diagonal_sum += sum_of_costs
        self.set_start(t)
        self.moved += 1
        self.trail[self.trail_length] = t
        self.trail_length += 1
        return AT_GOAL if t == self.s_goal else MOVED

    def run_intervals(self, k):
        status = AT_GOAL if self.s_start == self.s_goal else WAITED
        while status <= WAITED and self.intervals_left > 0 and self.trail_length < MAX_TRAIL:
            if not self.found:
                self.compute_shortest_path(k)
            if not self.found:
                status = WAITED
            elif self.rhs[self.s_start] == FAR:
                status = NO_PATH
            else:
                status = self.move()
            self.intervals_left -= 1
            self.intervals += 1
        return status

    # ---------------------------------------------------------------------- for Python
    def run(self, intervals, k):
        """Runs up to this many intervals of k expansions; returns MOVED, WAITED, AT_GOAL or NO_PATH."""
        self.intervals_left = intervals
        with cython.nogil:
            status = self.run_intervals(k)
        return status

    def take_trail(self):
        """The states moved to since the last call."""
        trail = np.array(self.trail[: self.trail_length], np.int32)
        self.trail_length = 0
        return trail

    def search(self, k):
        """Makes at most k expansions, and no move; returns whether the search has ended."""
        if not self.found:
            with cython.nogil:
                self.compute_shortest_path(k)
        return self.found

    def path_states(self):
        """The agent's shortest path, if the search has ended; empty if there is none."""
        if self.rhs[self.s_start] == FAR:
            return np.empty(0, np.int32)
        s = self.s_start
        states = [s]
        while s != self.s_goal and len(states) < len(self.g):  # no path is longer
            s += self.offset[self.next_direction(s)]
            states.append(s)
        return np.array(states, np.int32)

    def values(self):
        """g and rhs of every state, as copies."""
        return np.array(self.g), np.array(self.rhs)

    def in_queue(self):
        """The states of U, and their keys, by place."""
        n = self.size + 1
        return np.array(self.heap[1:n]), np.array(self.key1[1:n]), np.array(self.key2[1:n])
