# cython: language_level=3, infer_types=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The compiled core of real-time search: look ahead in a local search space, learn h, move.

One source, two modes, as the kernel: compiled by Cython with the C types in local_search.pxd, or plain Python. Nothing
is validated here: `real_time` does that, and has the algorithms.

A local search space is what one search reaches from the agent's state. Its states have the search's number, one more
if they are closed, so a new search touches none. h of a state is learned in the running lesson, or the user-given one;
to forget what was learned is to begin another lesson.

Open is a binary heap, as in the papers, and as the kernel's is with the papers' ties. Ties 'lifo' take the newest state
first, ties 'larger_g' the larger g and then the newest.
"""

import numpy as np

try:
    import cython
except ImportError:
    from tb_planner.search.grid_math import no_cython as cython

from tb_planner.search.grid_math import FAR, offsets, step_lengths, successor_tables, zeros

COMPILED = cython.compiled
LAST = 2**32 - 4  # search numbers and lessons are even and odd ones up to this

if not cython.compiled:  # local_search.pxd has these for the compiler
    from tb_planner.search.grid_math import (
        AT_GOAL,
        DIAGONAL,
        MAX_TRAIL,
        MOVED,
        NO_PATH,
        NONE,
        ROOT,
        STRAIGHT,
        WAITED,
        lowest,
        octile,
    )

    NEIGHBOURS, BREADTH_FIRST, BEST_FIRST = 0, 1, 2  # look-ahead
    CURRENT, DIJKSTRA, ADAPTIVE, PRIORITISED = 0, 1, 2, 3  # learning


class Heap:
    """States by key; within equal keys the larger rank goes first, then the larger order."""

    def __init__(self, states):
        self.size = self.inserted = 0
        self.at, self.place = zeros(states, np.int32), zeros(states, np.int32)
        self.key, self.rank, self.order = zeros(states, np.int64), zeros(states, np.int64), zeros(states, np.int64)

    def clear(self):
        self.size = 0

    def first(self):
        return self.at[0] if self.size > 0 else NONE

    def has(self, s):
        place = self.place[s]
        return place < self.size and self.at[place] == s

    def insert(self, s, key, rank, order):
        self.key[s] = key
        self.rank[s] = rank
        self.order[s] = order
        self.size += 1
        self.sift_up(s, self.size - 1)

    def remove(self, s):
        self.size -= 1
        last = self.at[self.size]
        if last != s:
            place = self.place[s]
            self.sift_down(last, place)
            self.sift_up(last, self.place[last])

    def goes_before(self, s, t):
        if self.key[s] != self.key[t]:
            return self.key[s] < self.key[t]
        if self.rank[s] != self.rank[t]:
            return self.rank[s] > self.rank[t]
        return self.order[s] > self.order[t]

    def put(self, s, place):
        self.at[place] = s
        self.place[s] = place

    def sift_up(self, s, place):
        while place > 0 and self.goes_before(s, self.at[(place - 1) >> 1]):
            self.put(self.at[(place - 1) >> 1], place)
            place = (place - 1) >> 1
        self.put(s, place)

    def sift_down(self, s, place):
        while 2 * place + 1 < self.size:
            child = 2 * place + 1
            if child + 1 < self.size and self.goes_before(self.at[child + 1], self.at[child]):
                child += 1
            if not self.goes_before(self.at[child], s):
                break
            self.put(self.at[child], place)
            place = child
        self.put(s, place)


class LocalSearch:
    """An agent that searches before it moves, and learns h from every search: see the module's text."""

    def __init__(self, moves, terrain, width, neighbours, weighted, s_start, s_goal):
        n = len(moves)
        self.width, self.states, self.weighted = width, n, weighted
        self.moves, self.terrain = memoryview(moves), memoryview(terrain)
        self.offset = offsets(width)
        self.length = memoryview(np.array([STRAIGHT] * 4 + [DIAGONAL] * 4, np.int64))
        self.straight, self.diagonal = step_lengths(neighbours, weighted)
        self.successors, _ = successor_tables(neighbours, weighted)
        self.s_current, self.s_goal = s_start, s_goal
        self.goal_x, self.goal_y = s_goal % width, s_goal // width
        self.h, self.lesson_of, self.lesson = zeros(n, np.int64), zeros(n, np.uint32), 1
        self.number, self.search = zeros(n, np.uint32), 0
        self.g, self.parent, self.reached = zeros(n, np.int64), zeros(n, np.uint8), zeros(n, np.int32)
        self.reached_count = 0
        self.path, self.path_left, self.steps_left, self.s_next = zeros(n, np.int32), 0, 0, NONE
        self.trail, self.trail_length = zeros(MAX_TRAIL, np.int32), 0
        self.intervals = self.moved = self.expansions = self.searches = self.straight_sum = self.diagonal_sum = 0
        self.intervals_left = self.best_v = 0
        self.f_min = self.goal_f = FAR

    def configure(self, look_ahead, learning, avoid_depressions, larger_g, depth, movements, queue_size):
        """The rules of the algorithm, and its numbers; once, before the first search."""
        self.look_ahead, self.learning, self.avoid_depressions = look_ahead, learning, avoid_depressions
        self.larger_g, self.depth, self.movements, self.queue_size = larger_g, depth, movements, queue_size
        self.heap = Heap(self.states if learning != PRIORITISED else 0)
        self.v = zeros(self.states if learning in (CURRENT, DIJKSTRA) else 0, np.int64)
        self.queue = Heap(self.states if learning == PRIORITISED else 0)
        self.evict = Heap(self.states if learning == PRIORITISED else 0)

    # ---------------------------------------------------------------------- states
    def user_given_h(self, s):
        """H(s), the octile distance to the goal."""
        y = s // self.width
        return octile(self.straight, self.diagonal, s - y * self.width - self.goal_x, y - self.goal_y)

    def know_h(self, s):
        """Makes h[s] the learned value, or H(s)."""
        if self.lesson_of[s] != self.lesson:
            self.lesson_of[s] = self.lesson
            self.h[s] = self.user_given_h(s)

    def cost(self, s, t, d):
        """The cost of the step from s to t in direction d."""
        if self.weighted:
            return self.length[d] * (self.terrain[s] + self.terrain[t])
        return self.length[d]

    def is_closed(self, s):
        return self.number[s] == self.search + 1

    # ---------------------------------------------------------------------- Open
    def open_insert(self, s):
        self.heap.inserted += 1
        self.heap.insert(s, self.g[s] + self.h[s], self.g[s] if self.larger_g else 0, self.heap.inserted)

    def open_min(self):
        """The first of Open, or NONE; sets f_min. The goal is never in it: it has goal_f."""
        s = self.heap.first()
        self.f_min = FAR if s == NONE else self.heap.key[s]
        return s

    # ---------------------------------------------------------------------- look-ahead
    def begin_search(self):
        """A local search space that holds the agent's state."""
        if self.search >= LAST:
            self.search = 0
            for s in range(self.states):
                self.number[s] = 0
        self.search += 2
        self.reached_count = 0
        self.goal_f = FAR
        self.reach(self.s_current, ROOT, 0)

    def reach(self, s, direction, g):
        self.number[s] = self.search
        self.reached[self.reached_count] = s
        self.reached_count += 1
        self.g[s] = g
        self.parent[s] = direction
        self.know_h(s)

    def relax(self, t, direction, g):
        """A path of cost g leads to t: if it is the best so far, t goes into Open with it."""
        if self.number[t] == self.search:
            if g >= self.g[t]:
                return
            if t != self.s_goal:
                self.heap.remove(t)
            self.g[t] = g
            self.parent[t] = direction
        elif self.is_closed(t):
            return
        else:
            self.reach(t, direction, g)
        if t == self.s_goal:
            self.goal_f = g
        else:
            self.open_insert(t)

    def expand(self, s):
        """Closes s, relaxes its successors."""
        moves = self.successors[(self.parent[s] << 8) | self.moves[s]]
        g = self.g[s]
        self.number[s] = self.search + 1
        self.expansions += 1
        while moves:
            d = lowest(moves)
            moves &= moves - 1
            t = s + self.offset[d]
            self.relax(t, d, g + self.cost(s, t, d))

    def best_first_search(self):
        """A* for at most k expansions. Returns the state that it would expand next, whose f is f_min, or NONE if Open
        is empty; the goal goes first among equals."""
        self.heap.clear()
        self.begin_search()
        self.open_insert(self.s_current)
        left = self.k
        while True:
            s = self.open_min()
            if self.goal_f <= self.f_min:
                self.f_min = self.goal_f
                return self.s_goal if self.goal_f < FAR else NONE
            if left <= 0:
                return s
            left -= 1
            self.heap.remove(s)
            self.expand(s)

    def breadth_first_search(self):
        """Closes the states fewer than depth steps away, nearest first, but at most k of them and not the goal."""
        self.begin_search()
        left = self.k
        depth = self.depth
        layer_end = 1
        i = 0
        while i < self.reached_count and left > 0:
            if i == layer_end:
                depth -= 1
                if depth == 0:
                    return
                layer_end = self.reached_count
            s = self.reached[i]
            i += 1
            if s == self.s_goal:
                continue
            left -= 1
            self.number[s] = self.search + 1
            self.expansions += 1
            moves = self.moves[s]
            while moves:
                d = lowest(moves)
                moves &= moves - 1
                t = s + self.offset[d]
                if self.number[t] != self.search and not self.is_closed(t):
                    self.reach(t, d, 0)

    def extract_best_state(self, s):
        """Extract-Best-State(), daRTAA*: of Open, in the order of f from s on, the first with the least h - H."""
        least = FAR
        best = NONE
        while s != NONE and least > 0:
            delta = self.h[s] - self.user_given_h(s)
            if delta < least:
                least = delta
                best = s
            if s == self.s_goal:
                break
            self.heap.remove(s)
            s = self.open_min()
            if self.goal_f <= self.f_min and self.goal_f < FAR:
                s = self.s_goal
        return best

    # ---------------------------------------------------------------------- learning
    def learn(self, f):
        """Learns h of the closed states: RTAA* sets h(s) := f - g(s), LSS-LRTA* h(s) := v(s)."""
        for i in range(self.reached_count):
            s = self.reached[i]
            if self.is_closed(s):
                self.h[s] = f - self.g[s] if self.learning == ADAPTIVE else self.v[s]

    def back_up(self, until):
        """Dijkstra's algorithm from the frontier inwards: v(s) := min of c(s, t) + v(t), but not less than h(s), for
        closed states, where v(t) = h(t) on the frontier. Ends when this state has its v."""
        self.heap.clear()
        for i in range(self.reached_count):
            s = self.reached[i]
            if self.is_closed(s):
                self.v[s] = FAR
            else:
                self.v[s] = self.h[s]
                self.heap.insert(s, self.h[s], 0, 0)
        while self.heap.size > 0:
            s = self.heap.first()
            if s == until:
                return
            self.heap.remove(s)
            moves = self.moves[s]
            while moves:
                d = lowest(moves)
                moves &= moves - 1
                p = s + self.offset[d]
                if self.is_closed(p):
                    v = self.cost(s, p, d) + self.v[s]
                    if v < self.h[p]:
                        v = self.h[p]
                    if v < self.v[p]:
                        if self.v[p] < FAR:
                            self.heap.remove(p)
                        self.v[p] = v
                        self.heap.insert(p, v, 0, 0)

    def best_neighbour(self, s, values):
        """The neighbour t with the least c(s, t) + value(t), which best_v is then, or NONE. Ties go to the first
        direction."""
        moves = self.moves[s]
        best = NONE
        self.best_v = FAR
        while moves:
            d = lowest(moves)
            moves &= moves - 1
            t = s + self.offset[d]
            v = self.cost(s, t, d) + values[t]
            if v < self.best_v:
                self.best_v = v
                best = t
        return best

    def know_neighbours(self, s):
        self.know_h(s)
        moves = self.moves[s]
        while moves:
            d = lowest(moves)
            moves &= moves - 1
            self.know_h(s + self.offset[d])

    def state_update(self, s):
        """StateUpdate(s), P LRTA*: h(s) := min of c(s, t) + h(t); if it rises, all neighbours go into the queue."""
        self.expansions += 1
        self.know_neighbours(s)
        if self.best_neighbour(s, self.h) == NONE or self.best_v <= self.h[s]:
            return
        delta = self.best_v - self.h[s]
        self.h[s] = self.best_v
        moves = self.moves[s]
        while moves:
            d = lowest(moves)
            moves &= moves - 1
            self.add_to_queue(s + self.offset[d], delta)

    def add_to_queue(self, s, priority):
        """AddToQueue(s, priority), P LRTA*: into a full queue only in place of a state of lower priority."""
        if s == self.s_goal:
            return
        if self.queue.has(s):
            if priority <= self.evict.key[s]:
                return
            self.queue_remove(s)
        elif self.queue.size == self.queue_size:
            r = self.evict.first()
            if r == NONE or self.evict.key[r] >= priority:
                return
            self.queue_remove(r)
        # among equal priorities the newest is served first, and the oldest is dropped first
        self.queue.inserted += 1
        self.queue.insert(s, -priority, 0, self.queue.inserted)
        self.evict.insert(s, priority, 0, -self.queue.inserted)

    def queue_remove(self, s):
        self.queue.remove(s)
        self.evict.remove(s)

    # ---------------------------------------------------------------------- one interval
    def plan_breadth_first(self):
        """LRTA*: the first step towards the best state of the frontier; h(s_current) := what it promises."""
        self.breadth_first_search()
        self.back_up(self.s_current)
        s = self.best_neighbour(self.s_current, self.v)
        if s != NONE and self.best_v < FAR:
            if self.h[self.s_current] < self.best_v:
                self.h[self.s_current] = self.best_v
            return s
        return NONE

    def plan_best_first(self):
        """LSS-LRTA*, RTAA*, daRTAA*: a path to a state of Open."""
        s = self.best_first_search()
        if s == NONE:
            return NONE
        f = self.f_min
        if self.avoid_depressions:
            s = self.extract_best_state(s)
        if self.learning == DIJKSTRA:
            self.back_up(NONE)
        self.learn(f)
        return s

    def plan_prioritised(self):
        """P LRTA*: updates, k at most and the agent's state first; then the best neighbour."""
        left = self.k - 1
        self.state_update(self.s_current)
        while left > 0 and self.queue.size > 0:
            left -= 1
            s = self.queue.first()
            self.queue_remove(s)
            self.state_update(s)
        return self.best_neighbour(self.s_current, self.h)

    def plan(self):
        """A search, what is learned from it, and its path. False: no path leads to the goal."""
        self.searches += 1
        if self.look_ahead == BEST_FIRST:
            self.s_next = self.plan_best_first()
        elif self.look_ahead == BREADTH_FIRST:
            self.s_next = self.plan_breadth_first()
        else:
            self.s_next = self.plan_prioritised()
        self.path_left = 0
        if self.s_next == NONE:
            return False
        if self.look_ahead == BEST_FIRST:
            self.trace(self.s_next)
        else:
            self.path[0] = self.s_next
            self.path_left = 1
        self.steps_left = self.movements
        return True

    def trace(self, s):
        """path := from s back to the agent."""
        while s != self.s_current:
            self.path[self.path_left] = s
            self.path_left += 1
            s -= self.offset[self.parent[s]]

    def direction(self, s, t):
        """The direction of the legal step from s to t, or NONE."""
        for d in range(8):
            if self.moves[s] & (1 << d) and s + self.offset[d] == t:
                return d
        return NONE

    def move_agent(self):
        """One step along the path."""
        s = self.s_current
        self.path_left -= 1
        self.steps_left -= 1
        t = self.path[self.path_left]
        d = self.direction(s, t)
        sum_of_costs = 1
        if self.weighted:
            sum_of_costs = self.terrain[s] + self.terrain[t]
        if d < 4:
            self.straight_sum += sum_of_costs
        else:
            self.diagonal_sum += sum_of_costs
        self.moved += 1
        self.s_current = t
        self.trail[self.trail_length] = t
        self.trail_length += 1
        return AT_GOAL if t == self.s_goal else MOVED

    def run_intervals(self):
        status = AT_GOAL if self.s_current == self.s_goal else WAITED
        while status <= WAITED and self.intervals_left > 0 and self.trail_length < MAX_TRAIL:
            if (self.path_left > 0 and self.steps_left > 0) or self.plan():
                status = self.move_agent()
            else:
                status = NO_PATH
            self.intervals_left -= 1
            self.intervals += 1
        return status

    # ---------------------------------------------------------------------- for Python
    def run(self, intervals, k):
        """Up to this many intervals of k expansions; ends early at the goal, with no path, and after 4096 moves."""
        self.intervals_left, self.k = intervals, k
        with cython.nogil:
            status = self.run_intervals()
        return status

    def take_trail(self):
        """The states moved to since the last call."""
        trail = np.array(self.trail[: self.trail_length], np.int32)
        self.trail_length = 0
        return trail

    def path_is_valid(self):
        """Whether every step left of the path is legal and costs no more than in the search."""
        s = self.s_current
        for i in range(self.path_left - 1, -1, -1):
            t = self.path[i]
            d = self.direction(s, t)
            if d == NONE or self.cost(s, t, d) > self.g[t] - self.g[s]:
                return False
            s = t
        return True

    def drop_path(self):
        self.path_left = 0

    def forget_learned(self):
        """Drops what was learned: h is the user-given one again."""
        if self.lesson >= LAST:
            self.lesson = 0
            self.lesson_of = zeros(self.states, np.uint32)
        self.lesson += 1
        self.queue.clear()
        self.evict.clear()

    def h_values(self):
        """h of every state."""
        for s in range(self.states):
            self.know_h(s)
        return np.array(self.h, np.int64)

    def expanded(self):
        """The states that the last search has closed, in the order in which it reached them."""
        reached = np.asarray(self.reached)[: self.reached_count]
        return reached[np.asarray(self.number)[reached] == self.search + 1].copy()
