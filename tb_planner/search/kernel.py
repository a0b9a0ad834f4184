# cython: language_level=3, infer_types=True
# cython: boundscheck=False, wraparound=False, initializedcheck=False, cdivision=True
"""The compiled core: tree and Open, InitializeSearch, Best-First-Search, trace back, one interval of MoveToGoal.

One source, two modes: compiled by Cython (pure Python mode, with the C types in kernel.pxd) it is the fast kernel;
imported as plain Python it is the same algorithm for debuggers and coverage, some hundred times slower. Nothing is
validated here: `grid` and `planner` do that.

A state is an int, s = y * width + x. What a search knows of it is one 64-bit word:

    search number (16 bits) | closed (1 bit) | MAX_G - g (43 bits) | direction from its parent (4 bits)

so a state belongs to the running search if its number is that search's, and a new search starts without touching any.
The larger word has the better path: a state that the running search does not know has an older number, which counts as
smaller even when numbers have come round. So one comparison decides whether a successor is of interest.
Legal steps come from `moves`, one bit a direction, which also keeps the search inside the grid. Some cannot lead to
anything new and are left out, see successor_tables().

Open orders by f. For ties 'lifo' it is a bucket queue: a ring of buckets, each for 2**shift neighbouring values of f,
as a doubly linked list, newest state first. Bitmaps lead to the lowest bucket. States beyond the ring are in one list;
when their turn comes they are sorted into the ring, some in the time of each expansion. The result is exact all the
same, see set_order().
For ties 'larger_g' Open is a binary heap by f, then larger g, then last in, first out, as in the papers' experiments.
"""

import numpy as np

try:
    import cython
except ImportError:
    from tb_planner.search.grid_math import no_cython as cython

from tb_planner.search.grid_math import (
    FAR,
    MAX_G,
    neighbour_tables,
    offsets,
    reciprocal,
    step_lengths,
    successor_tables,
    zeros,
)

COMPILED = cython.compiled

if not cython.compiled:  # kernel.pxd has these for the compiler
    from tb_planner.search.grid_math import (
        AT_GOAL,
        DIAGONAL,
        DX,
        DY,
        MAX_TRAIL,
        MOVED,
        NO_PATH,
        NONE,
        ROOT,
        STRAIGHT,
        WAITED,
        array,
        bit,
        lowest,
        octile,
        prefetch,
    )

    DIRECTION, CLOSED = 15, 1 << 47  # in a state's word
    G, STAMP = 4, 48  # MAX_G - g and the search number start at these bits
    SEARCHES = 65535  # search numbers are 1 to this, round and round
    REMEMBERED = 32767  # a state of an older search than that is swept away
    SORTED_AT_ONCE = 8  # states from beyond the ring, in the time of an expansion
    PATH_FULL = 4  # the path outgrew its buffer: call grow_path() and run on
    GOAL_FOUND = 5  # as pause_when_found asks: run on to trace and move
    SEARCH, TRACE = 0, 1  # the phases of an interval
    ROUTE_VALID, BLOCKED, COST_INCREASED, SEARCH_EXHAUSTED = 0, 1, 2, 3  # reasons to restart; the planner has more
    REASONS = 32
    COST_STEPS = 16  # of terrain, in a cost of 1

    def word_of(stamp, g, direction):
        """The word of a state in Open."""
        return stamp | (MAX_G - g) << G | direction

    def cost_of(word):
        """g in a word."""
        return ~word >> G & MAX_G

    def minus(a, b):
        """The difference of two words, modulo 2**64."""
        return (a - b) & (1 << 64) - 1


class Search:
    """One agent's search: see the module's text."""

    def __init__(self, moves, terrain, width, neighbours, weighted):
        n = len(moves)
        self.width, self.states, self.weighted = width, n, weighted
        self.moves, self.terrain = memoryview(moves), memoryview(terrain)
        self.offset = offsets(width)
        self.straight_step, self.diagonal_step = step_lengths(neighbours, weighted)
        self.lowest_cost = COST_STEPS
        self.goal_found = self.failed = False
        self.scale_h()
        self.word = zeros(n, np.uint64)
        self.next, self.prev = zeros(n, np.int32), zeros(n, np.int32)
        self.buckets = 1 << min(16, max(12, (2 * (width + n // width) - 1).bit_length()))  # why: see set_order()
        self.head = zeros(self.buckets, np.int32)
        self.marks, self.upper_marks = zeros(self.buckets >> 6, np.uint64), zeros(self.buckets >> 12, np.uint64)
        self.low_bucket = self.top_bucket = 0
        self.far = self.unsorted = NONE
        self.successors, self.replaceable = successor_tables(neighbours, weighted)
        self.left, self.right, self.turned = neighbour_tables(width)
        self.row_factor, self.row_shift = reciprocal(width, n)
        self.h_learned, self.pathcost = zeros(0, np.int64), zeros(0, np.int64)
        self.f_of, self.order = zeros(0, np.int64), zeros(0, np.uint32)
        self.cost_ahead = zeros(0, np.int64)
        self.buffer, self.capacity = zeros(2048, np.int32), 1024
        self.trail = zeros(MAX_TRAIL, np.int32)
        self.cells = zeros(0, np.int32)
        self.log, self.log_room = zeros(0, np.int32), 0
        self.logged = self.log_taken = 0
        self.search = self.swept = self.learned_searches = self.path = self.trail_length = self.intervals_left = 0
        self.route_version = 0
        self.sliced = self.pause_when_found = self.log_is_new = self.taking_memory = False
        self.forget_figures()
        self.expected = self.turn = 0
        self.configure(1, 1)

    def configure(self, w_g, w_h, reopen=False, heap=False, learn=False, path_switch=False, shortcut=False):
        """Sets the algorithm; to be called before a search starts."""
        self.w_g, self.w_h, self.reopen, self.heap, self.learn = w_g, w_h, reopen, heap, learn
        self.path_switch, self.shortcut = path_switch, shortcut
        self.open_size = 0  # what is left of another search may be a heap where this one reads buckets
        self.is_plain = not heap and not learn
        self.set_order()
        if heap and not len(self.f_of):
            self.f_of, self.order = zeros(self.states, np.int64), zeros(self.states, np.uint32)
        if learn and not len(self.h_learned):
            self.h_learned = zeros(self.states, np.int64)
            self.pathcost = zeros(SEARCHES + 1, np.int64)
        if shortcut and len(self.cost_ahead) < self.capacity:
            self.cost_ahead = zeros(self.capacity, np.int64)

    def set_policy(self, check_route, restart_when_refused, must_act, sliced, min_improvement):
        """Sets how the agent acts: the restart rule's part in an interval, and the sliced trace-back of 2009."""
        self.check_route, self.restart_when_refused = check_route, restart_when_refused
        self.must_act, self.min_improvement = must_act, min_improvement
        self.sliced = sliced

    # ---------------------------------------------------------------------- states
    def row(self, s):
        """s // width, without a division."""
        return (s * self.row_factor) >> self.row_shift

    def known(self, s):
        """s is a state of the running search."""
        return (self.word[s] >> STAMP) == self.search

    def is_closed(self, s):
        return self.known(s) and (self.word[s] & CLOSED) != 0

    def g(self, s):
        """The cost of the tree's path to a known state."""
        return cost_of(self.word[s])

    def parent(self, s):
        return s - self.offset[self.word[s] & DIRECTION]

    def scale_h(self):
        """h is the octile distance through cells as cheap as the cheapest one of the present map."""
        self.straight = self.straight_step * self.lowest_cost // COST_STEPS
        self.diagonal = self.diagonal_step * self.lowest_cost // COST_STEPS

    def octile(self, dx, dy):
        """The cost of a shortest path on an empty grid, of cells that are as cheap as the map's cheapest one."""
        return octile(self.straight, self.diagonal, dx, dy)

    def h_between(self, s, t):
        y = s // self.width
        v = t // self.width
        return self.octile((s - y * self.width) - (t - v * self.width), y - v)

    def h(self, s):
        """h of a known state."""
        if self.learn:
            return self.h_learned[s]
        y = s // self.width
        return self.octile(s - y * self.width - self.goal_x, y - self.goal_y)

    def f(self, s):
        """f = w_g g + w_h h of a known state."""
        return self.w_g * self.g(s) + self.w_h * self.h(s)

    def initialize_state(self, s, dx, dy):
        """InitializeState(s), TBAA*: h(s) := max(h(s), pathcost(search(s)) - g(s)), when s is first met."""
        number = self.word[s] >> STAMP
        age = self.search - number
        h = self.octile(dx, dy)
        if age < 0:
            age += SEARCHES
        if number != 0 and age <= self.learned_searches:
            learned = self.pathcost[number] - cost_of(self.word[s])
            if self.h_learned[s] > h:
                h = self.h_learned[s]
            if learned > h:
                h = learned
        self.h_learned[s] = h

    # ---------------------------------------------------------------------- Open: buckets
    def mark(self, i):
        self.marks[i >> 6] |= bit(i)
        self.upper_marks[i >> 12] |= bit(i >> 6)

    def unmark(self, i):
        self.marks[i >> 6] &= ~bit(i)
        if self.marks[i >> 6] == 0:
            self.upper_marks[i >> 12] &= ~bit(i >> 6)

    def first_marked(self, i):
        """The first place from i to the ring's end whose bucket has states, or NONE."""
        marks = self.marks[i >> 6] >> (i & 63)
        if marks:
            return i + lowest(marks)
        word = (i >> 6) + 1
        while word << 6 < self.buckets:
            marks = self.upper_marks[word >> 6] >> (word & 63)
            if marks:
                word += lowest(marks)
                return (word << 6) + lowest(self.marks[word])
            word = (word | 63) + 1
        return NONE

    def bucket_insert(self, s, f):
        """s becomes the first state of its bucket."""
        bucket = f >> self.shift
        if bucket < self.low_bucket or bucket > self.top_bucket:
            if bucket - self.low_bucket >= self.buckets:
                self.insert_far(s, bucket)
                return
            if bucket > self.top_bucket:
                self.top_bucket = bucket
            else:
                self.leave_bucket()
                self.move_to(bucket)
        i = bucket & (self.buckets - 1)
        after = self.head[i]
        self.head[i] = s
        self.next[s] = after
        if after == NONE:
            self.mark(i)
        else:
            self.prev[after] = s

    def bucket_remove(self, s, f):
        """Takes s out of its bucket, or out of the states beyond the ring."""
        i = (f >> self.shift) & (self.buckets - 1)
        after = self.next[s]
        if self.head[i] == s:
            self.head[i] = after
            if after == NONE:
                self.unmark(i)
        elif self.far == s:
            self.far = after
        else:
            before = self.prev[s]
            self.next[before] = after
            if after != NONE:
                self.prev[after] = before

    def leave_bucket(self):
        """Another bucket will be the lowest. A state that is popped leaves its mark in place until then."""
        i = self.low_bucket & (self.buckets - 1)
        if self.head[i] == NONE:
            self.unmark(i)

    def move_to(self, bucket):
        """This is the lowest bucket now."""
        self.low_bucket = bucket
        self.f_min = bucket << self.shift
        self.look_out()

    def look_out(self):
        """Sets careful: not every state that comes first in the lowest bucket is to be expanded."""
        is_mixed = self.top_bucket - self.low_bucket >= self.buckets or self.unsorted != NONE
        self.careful = not self.heap and (is_mixed or self.f_min + self.bucket_width > self.goal_f)

    def next_bucket(self):
        """Goes to the next bucket; returns its first state. NONE: Open is empty, or the states beyond the ring come
        first and are to be sorted."""
        if self.unsorted != NONE:
            return NONE
        self.leave_bucket()
        here = self.low_bucket & (self.buckets - 1)
        i = self.first_marked(here)
        if i == NONE:
            i = self.first_marked(0)
        if i == NONE and self.far == NONE:
            self.f_min = FAR
            return NONE
        bucket = self.low_bucket + ((i - here) & (self.buckets - 1))
        if self.far == NONE or (i != NONE and bucket < self.far_bucket):
            self.move_to(bucket)
            return self.head[i]
        self.unsorted, self.far = self.far, NONE
        bucket, self.far_bucket = self.far_bucket, FAR
        self.move_to(bucket)
        return NONE

    def insert_far(self, s, bucket):
        """s becomes the first of the states beyond the ring."""
        self.next[s] = self.far
        if self.far != NONE:
            self.prev[self.far] = s
        self.far = s
        if bucket < self.far_bucket:
            self.far_bucket = bucket

    def sort_far_states(self):
        """Puts some of the states that were beyond the ring where they belong now."""
        n = SORTED_AT_ONCE
        while n > 0 and self.unsorted != NONE:
            n -= 1
            s = self.unsorted
            self.unsorted = self.next[s]
            self.bucket_insert(s, self.f(s))
        self.look_out()

    def may_expand(self, s):
        """Whether s comes next. If not, some states have been put where they belong, in the time of an expansion."""
        if self.unsorted != NONE:
            self.sort_far_states()
            return False
        bucket = self.f(s) >> self.shift
        if bucket != self.low_bucket:  # f has fallen so far that its bucket has the place of one beyond the ring
            self.open_pop(s)
            self.open_size += 1
            self.insert_far(s, bucket)
            return False
        return True

    # ---------------------------------------------------------------------- Open: binary heap
    def goes_before(self, s, t):
        if self.f_of[s] != self.f_of[t]:
            return self.f_of[s] < self.f_of[t]
        if self.g(s) != self.g(t):
            return self.g(s) > self.g(t)
        return self.order[s] > self.order[t]

    def put(self, s, place):
        self.next[place] = s
        self.prev[s] = place

    def sift_up(self, s, place):
        while place > 0 and self.goes_before(s, self.next[(place - 1) >> 1]):
            self.put(self.next[(place - 1) >> 1], place)
            place = (place - 1) >> 1
        self.put(s, place)

    def sift_down(self, s, place):
        child = 2 * place + 1
        while child < self.open_size:
            if child + 1 < self.open_size and self.goes_before(self.next[child + 1], self.next[child]):
                child += 1
            if not self.goes_before(self.next[child], s):
                break
            self.put(self.next[child], place)
            place = child
            child = 2 * place + 1
        self.put(s, place)

    # ---------------------------------------------------------------------- Open
    def open_insert(self, s, f):
        self.open_size += 1
        if self.heap:
            self.inserted += 1
            self.order[s] = self.inserted
            self.f_of[s] = f
            self.sift_up(s, self.open_size - 1)
        else:
            self.bucket_insert(s, f)

    def open_pop(self, s):
        """Takes out the state that open_min() has found."""
        if self.heap:
            self.open_remove(s, self.f_min)
            return
        self.bucket_pop(s)

    def bucket_pop(self, s):
        """Takes out s, the first state of the lowest bucket. The one behind it is likely to be next: its memory comes
        while s is expanded."""
        self.open_size -= 1
        after = self.next[s]
        self.head[self.low_bucket & (self.buckets - 1)] = after
        if cython.compiled and after >= self.width and after + self.width < self.states:
            prefetch(cython.address(self.word[after]))
            prefetch(cython.address(self.next[after]))
            prefetch(cython.address(self.moves[after]))
            prefetch(cython.address(self.terrain[after]))
            prefetch(cython.address(self.word[after - self.width]))
            prefetch(cython.address(self.word[after + self.width]))
            prefetch(cython.address(self.terrain[after - self.width]))
            prefetch(cython.address(self.terrain[after + self.width]))

    def open_remove(self, s, f):
        """Takes s out of Open, before its g changes."""
        self.open_size -= 1
        if self.heap:
            last = self.next[self.open_size]
            if last != s:
                place = self.prev[s]
                self.sift_down(last, place)
                self.sift_up(last, self.prev[last])
        else:
            self.bucket_remove(s, f)

    def open_min(self):
        """The state of Open to be expanded next. No state has an f below f_min; it is FAR if Open is empty."""
        if self.heap:
            self.f_min = FAR
            if self.open_size == 0:
                return NONE
            self.f_min = self.f_of[self.next[0]]
            return self.next[0]
        s = self.head[self.low_bucket & (self.buckets - 1)]
        return s if s != NONE else self.next_bucket()

    def open_clear(self, f):
        """An empty Open, whose first state will have this f."""
        self.open_size = 0
        self.inserted = 0
        self.far = self.unsorted = NONE
        self.far_bucket = FAR
        if self.heap:
            self.careful = False
            return
        for i in range(self.buckets):
            self.head[i] = NONE
        for i in range(self.buckets >> 6):
            self.marks[i] = 0
        for i in range(len(self.upper_marks)):
            self.upper_marks[i] = 0
        self.top_bucket = f >> self.shift
        self.move_to(f >> self.shift)

    # ---------------------------------------------------------------------- InitializeSearch
    def set_order(self):
        """Sets how wide the buckets are, for the present weights and the present h.

        w_h > w_g: as wide as (w_h - w_g) times the cheapest step allows. Closed states stay closed, and still
        g(s) <= w g*(s) for each state s that is closed. For let p be the last closed state on a cost-minimal path to s
        before one that is not, n. Then g(n) <= g(p) + c(p, n) <= w g*(n) - (w - 1) c(p, n), and f(s) < f(n) + width,
        n being in Open. As h is consistent, g(s) < w g*(s) - (w - 1) c(p, n) + width / w_g.

        w_h <= w_g: f does not fall from a state to its successors, so a better path to a closed state is only found
        while its bucket is the lowest one. It is re-opened then. An eighth of a straight step re-opens few states; on
        uniform maps no more than one value of f in a bucket costs no time.

        A search ends when no bucket begins below the goal's f. States of the lowest bucket whose f is not below it are
        closed without a look at their successors.

        The ring: at w = 1 no f is more than two steps above the lowest one. With larger w, f is at most
        (w_h - w_g) h(s) + two steps above, which is twice the map's diagonal in straight steps, in buckets.
        """
        widest = 1
        if self.w_h > self.w_g:
            widest = (self.w_h - self.w_g) * self.straight
        elif self.weighted:
            widest = self.w_g * self.straight // 8
        self.shift = 0
        self.bucket_width = 1
        while not self.heap and 2 * self.bucket_width <= widest:
            self.bucket_width *= 2
            self.shift += 1
        self.is_optimal = self.w_h <= self.w_g and not self.heap
        # what does not count in a comparison of words; greedy search keeps the first path to a state
        self.settled = bit(STAMP) - 1 if self.w_g == 0 else DIRECTION
        self.revocable = CLOSED if self.reopen or self.is_optimal else 0

    def sweep(self):
        """Wipes some states of forgotten searches, so that none is left when search numbers come round again."""
        chunk = self.states // REMEMBERED + 1
        while chunk > 0:
            chunk -= 1
            number = self.word[self.swept] >> STAMP
            age = self.search - number
            if age < 0:
                age += SEARCHES
            if number != 0 and age > self.learned_searches:
                self.word[self.swept] = 0
            self.swept += 1
            if self.swept == self.states:
                self.swept = 0

    def begin_search(self, s_goal):
        """A new search number, after which no state is known."""
        self.search = 1 if self.search == SEARCHES else self.search + 1
        self.stamp = self.search
        self.stamp <<= STAMP
        self.newest = minus(self.stamp, minus(0, bit(STAMP)))  # words, less this, order by the age of their search
        self.logged = self.log_taken = 0
        self.log_is_new = True
        self.sweep()
        self.set_goal(s_goal)

    def set_goal(self, s_goal):
        self.s_goal = s_goal
        self.goal_y = s_goal // self.width
        self.goal_x = s_goal - self.goal_y * self.width

    def initialize_search(self):
        """InitializeSearch(): a new search from s_current. Nothing is cleared: earlier states have another number."""
        if self.learn and self.search != 0:
            self.pathcost[self.search] = self.lowest_f()
            self.learned_searches += 1
            if self.learned_searches > REMEMBERED:
                self.learned_searches = 0
        self.begin_search(self.s_goal)
        self.scale_h()
        self.set_order()
        self.searches += 1
        self.search_began = self.intervals
        self.s_root = self.s_current
        if self.learn:
            y = self.s_root // self.width
            self.initialize_state(self.s_root, self.s_root - y * self.width - self.goal_x, y - self.goal_y)
        self.word[self.s_root] = word_of(self.stamp, 0, ROOT)
        self.goal_f = FAR
        self.goal_found = self.failed = self.stale = self.reopened = False
        f = self.w_h * self.h(self.s_root)
        self.open_clear(f)
        if self.s_root == self.s_goal:
            self.goal_f = 0
        else:
            self.open_insert(self.s_root, f)
        self.s_best = self.s_root
        self.forget_path()

    def lowest_f(self):
        """f(s_best), for pathcost; 0 if Open is empty, from which nothing can be learned."""
        self.open_min()
        f = self.goal_f if self.goal_f < self.f_min else self.f_min
        return f if f < FAR else 0

    def restart(self, reason):
        """InitializeSearch(), and a note of why."""
        self.restarts[reason] += 1
        self.last_restart = reason
        self.initialize_search()

    def forget_path(self):
        self.route_version += 1
        self.path_length = self.path_new_length = 0
        self.tracing = self.detour = self.new_best = self.walked = self.expecting = False
        self.seeking = self.no_shortcut = False
        self.at = self.came_from = NONE
        self.phase = SEARCH

    # ---------------------------------------------------------------------- Best-First-Search
    def reach(self, t, word, dx, dy):
        """A path leads to t that is better than what t has: this becomes its word, and t goes into Open."""
        old = self.word[t]
        is_known = (old >> STAMP) == self.search
        if self.learn and not is_known:
            self.initialize_state(t, dx, dy)
        if t == self.s_goal:
            self.reach_goal(word)
            return
        h = self.h_learned[t] if self.learn else self.octile(dx, dy)
        f = self.w_g * cost_of(word) + self.w_h * h
        if is_known and old & CLOSED:
            if not self.may_reopen(f):
                return
        elif is_known:
            f_old = self.w_g * cost_of(old) + self.w_h * h
            if (f_old >> self.shift) == (f >> self.shift) and not self.heap:
                self.word[t] = word
                return
            self.open_remove(t, f_old)
        self.word[t] = word
        self.open_insert(t, f)

    def reach_goal(self, word):
        self.word[self.s_goal] = word
        self.goal_f = self.w_g * cost_of(word)
        self.look_out()

    def may_reopen(self, f):
        """A better path leads to a closed state, whose f is this now."""
        if self.reopen or (self.is_optimal and f >= self.f_min):
            self.reopened = True
            return True
        return False

    def through(self, s, t, length):
        """The cost of the step from s to t, of the given length."""
        if self.weighted:
            return length * (self.terrain[s] + self.terrain[t])
        return length

    def close(self, s):
        """s moves from Open to Closed."""
        self.word[s] |= CLOSED
        self.expansions += 1
        if self.logged < self.log_room:
            self.log[self.logged] = s
            self.logged += 1

    def expand(self, s):
        """Closes s and relaxes its successors, unless all that they lead to costs as much as the path to the goal."""
        word = self.word[s] & ~(CLOSED | DIRECTION)
        y = self.row(s)
        dx, dy = s - y * self.width - self.goal_x, y - self.goal_y
        moves = self.useful_moves(s, self.word[s] & DIRECTION, self.weighted, self.is_optimal)
        self.close(s)
        if self.careful and self.f(s) >= self.goal_f:
            return
        while moves != 0:
            d = lowest(moves)
            moves &= moves - 1
            t = s + self.offset[d]
            new = minus(word, self.through(s, t, STRAIGHT if d < 4 else DIAGONAL) << G) + d
            if minus(new, self.newest) > minus(self.word[t] & ~self.revocable | self.settled, self.newest):
                self.reach(t, new, dx + DX[d], dy + DY[d])

    def best_first_search(self, k):
        """Best-First-Search(), Algorithm 1: at most k expansions; then s_best is the first of Open, or the goal."""
        if not self.is_plain:
            self.search_open(k)
        elif self.weighted:
            if self.w_g == 1 and self.w_h == 1:
                self.search_buckets(k, True, True)
            else:
                self.search_buckets(k, True, False)
        elif self.w_g == 1 and self.w_h == 1:
            self.search_buckets(k, False, True)
        else:
            self.search_buckets(k, False, False)

    def search_open(self, k):
        """best_first_search() with any Open and any h."""
        while True:
            s = self.open_min()
            if self.ends(s, k):
                return
            k -= 1
            self.k_left = k
            if self.careful and not self.may_expand(s):
                continue
            self.open_pop(s)
            self.expand(s)

    def ends(self, s, k):
        """Whether the search has to pause before it expands s, the first of Open, or is over; sets s_best."""
        if self.goal_f <= self.f_min:
            self.goal_found = self.goal_f < FAR
            self.failed = not self.goal_found
            self.s_best = self.s_goal if self.goal_found else NONE
            return True
        if k <= 0 and s != NONE:
            self.s_best = s
        return k <= 0

    def search_buckets(self, k, graded, w_is_1):
        """best_first_search() with a bucket queue and the user-given h: what search_open(), expand() and reach() do, in
        one loop, with variables of its own for what does not change in it.

        Most of its time goes into branches that a processor cannot foresee. So it loops over the bits of moves: eight
        branches, one for each direction, take 1.2 times as long."""
        word, terrain, offset, head = array(self.word), array(self.terrain), array(self.offset), array(self.head)
        width, goal_x, goal_y, s_goal, ring = self.width, self.goal_x, self.goal_y, self.s_goal, self.buckets - 1
        straight, diagonal, shift = self.straight, self.diagonal, self.shift
        w_g = 1 if w_is_1 else self.w_g
        w_h = 1 if w_is_1 else self.w_h
        search, newest, settled, lasting = self.search, self.newest, self.settled, ~self.revocable
        while True:
            s = head[self.low_bucket & ring]
            if s == NONE or self.careful or k <= 0:
                self.k_left = k
                s = self.open_min()
                if self.ends(s, k):
                    return
                if self.careful and not self.may_expand(s):
                    k -= 1
                    continue
            k -= 1
            self.bucket_pop(s)
            direction = word[s] & DIRECTION
            reached = word[s] & ~(CLOSED | DIRECTION)
            self.close(s)
            if self.careful and self.f(s) >= self.goal_f:
                continue
            y = self.row(s)
            dx, dy = s - y * width - goal_x, y - goal_y
            moves = self.useful_moves(s, direction, graded, w_is_1)
            cost = terrain[s]
            while moves != 0:
                d = lowest(moves)
                moves &= moves - 1
                t = s + offset[d]
                length = STRAIGHT if d < 4 else DIAGONAL
                if graded:
                    length *= cost + terrain[t]
                new = minus(reached, length << G) + d
                old = word[t]
                if minus(new, newest) <= minus(old & lasting | settled, newest):
                    continue
                if t == s_goal:
                    self.reach_goal(new)
                    continue
                h = w_h * octile(straight, diagonal, dx + DX[d], dy + DY[d])
                f = w_g * cost_of(new) + h
                if (old >> STAMP) != search:
                    self.count_new(t, d)
                elif old & CLOSED:
                    if not self.may_reopen(f):
                        continue
                    self.open_size += 1
                else:
                    f_old = w_g * cost_of(old) + h
                    if (f_old >> shift) == (f >> shift):
                        word[t] = new
                        continue
                    self.bucket_remove(t, f_old)
                word[t] = new
                self.bucket_insert(t, f)

    def useful_moves(self, s, direction, graded, optimal):
        """The legal steps from s that can lead to something new, one bit each, if s was entered in this direction: see
        successor_tables(). Once the map has changed they all can."""
        moves = self.moves[s]
        if self.stale:
            return moves
        i = direction << 8 | moves
        moves = self.successors[i]
        if graded and optimal and self.replaceable[i] != 0:
            moves &= ~(self.replaceable[i] & self.dear_steps(s, direction))
        return moves

    def dear_steps(self, s, direction):
        """Of the replaceable steps from s, see successor_tables(), those that costs make needless, one bit each; s was
        entered in this direction."""
        if s <= self.width or s + self.width + 1 >= self.states:
            return 0  # cells beside s may be outside the grid
        cost, left, right = self.terrain[s], s + self.left[direction], s + self.right[direction]
        at_left, at_right, turned = self.terrain[left], self.terrain[right], 8 * direction
        if direction >= 4:  # two diagonal steps cost more than two straight ones
            side_left, side_right = STRAIGHT * at_left <= DIAGONAL * cost, STRAIGHT * at_right <= DIAGONAL * cost
            return side_left << self.turned[turned + 6] | side_right << self.turned[turned + 2]
        step = self.offset[direction]
        at_parent = (DIAGONAL - STRAIGHT) * self.terrain[s - step]
        # two straight steps cost more than a diagonal one
        limit = 2 * STRAIGHT * cost - at_parent
        side_left, side_right = (DIAGONAL - STRAIGHT) * at_left < limit, (DIAGONAL - STRAIGHT) * at_right < limit
        # a straight and a diagonal step cost more than a diagonal and a straight one
        limit = (STRAIGHT + DIAGONAL) * cost - at_parent
        ahead_left = (STRAIGHT + DIAGONAL) * at_left < limit + (DIAGONAL - STRAIGHT) * self.terrain[left + step]
        ahead_right = (STRAIGHT + DIAGONAL) * at_right < limit + (DIAGONAL - STRAIGHT) * self.terrain[right + step]
        sides = side_left << self.turned[turned + 6] | side_right << self.turned[turned + 2]
        return sides | ahead_left << self.turned[turned + 7] | ahead_right << self.turned[turned + 1]

    def count_new(self, t, direction):
        """t is new in Open. While it waits there, the memory of the state beyond it comes, which its expansion needs: a
        plan takes 0.76 to 0.88 times as long as without."""
        self.open_size += 1  # a function of prefetches alone has no effect in the compiler's eyes, and is left out
        beyond = t + self.offset[direction]
        if cython.compiled and 0 <= beyond < self.states:
            prefetch(cython.address(self.word[beyond]))
            prefetch(cython.address(self.terrain[beyond]))
            prefetch(cython.address(self.next[beyond]))
            prefetch(cython.address(self.prev[beyond]))
            prefetch(cython.address(self.moves[beyond]))

    # ---------------------------------------------------------------------- trace back
    def on_path(self, i):
        """The i-th state of path, counted from s_best."""
        return self.buffer[self.path + i]

    def first_not_above(self, g):
        """The first place on path, after s_best's, whose g is not above this one; path_length if there is none. g falls
        along path from its second state on (the first may have got a better parent since)."""
        low = 1
        high = self.path_length
        while low < high:
            middle = (low + high) >> 1
            if self.g(self.on_path(middle)) > g:
                low = middle + 1
            else:
                high = middle
        return low

    def index_on_path(self, s):
        """Where s is on path, or NONE."""
        if self.path_length > 0 and self.on_path(0) == s:
            return 0
        i = self.first_not_above(self.g(s))
        return i if i < self.path_length and self.on_path(i) == s else NONE

    def extend_path(self):
        """One state more, towards the root; False if the buffer is full."""
        if self.path_length == self.capacity:
            return False
        self.buffer[self.path + self.path_length] = self.parent(self.on_path(self.path_length - 1))
        self.path_length += 1
        return True

    def trace_to_agent(self):
        """path := from s_best back to s_current, or until s_current cannot be on it any more. False: buffer full."""
        if self.new_best and not self.keeps_its_path():
            self.buffer[self.path] = self.s_best
            self.path_length = 1
            self.at = NONE
            self.expecting = False
            self.route_version += 1
        self.new_best = False
        if self.at != NONE or self.path_length == 0:
            return True
        self.at = self.index_on_path(self.s_current)
        while self.at == NONE and self.g(self.on_path(self.path_length - 1)) > self.g(self.s_current):
            if not self.extend_path():
                return False
            if self.on_path(self.path_length - 1) == self.s_current:
                self.at = self.path_length - 1
        return True

    def trace_a_slice(self, steps):
        """traceBack(pathNew, loc, N_T), 2009: up to this many steps; in the end pathNew is path. False: buffer full."""
        new = self.capacity - self.path
        if self.new_best and not self.tracing and not self.keeps_its_path():
            self.buffer[new] = self.s_best
            self.path_new_length = 1
            self.tracing = True
            self.new_best = False
        if self.tracing:
            s = self.buffer[new + self.path_new_length - 1]
            while s != self.s_current and s != self.s_root:
                if steps <= 0:
                    break
                if self.path_new_length == self.capacity:
                    return False
                s = self.parent(s)
                self.buffer[new + self.path_new_length] = s
                self.path_new_length += 1
                steps -= 1
            else:
                self.path = new
                self.path_length = self.path_new_length
                self.tracing = self.walked = self.expecting = False
                self.at = NONE
                self.route_version += 1
        if self.at == NONE and self.path_length > 0 and not self.walked:
            self.at = self.index_on_path(self.s_current)
        return True

    def keeps_its_path(self):
        """The 2009 paper's path-switch rule: a new path is taken if its g is at least that of the one followed."""
        if not self.path_switch or self.goal_found or self.path_length == 0 or self.at == 0:
            return False
        return self.g(self.s_best) < self.g(self.on_path(0))

    # ---------------------------------------------------------------------- the route: backtracking, then path
    def find_meeting(self):
        """Sets meeting: the index on path of the state where the agent's backtracking ends. False: buffer full."""
        self.meeting = self.at
        if self.at != NONE:
            return True
        s = self.s_current
        if self.on_path(0) == s:
            self.meeting = 0
            return True
        i = self.first_not_above(self.g(s))
        while True:
            while i < self.path_length and self.g(self.on_path(i)) > self.g(s):
                i += 1
            if i == self.path_length:
                if not self.extend_path():
                    return False
            elif self.on_path(i) == s:
                self.meeting = i
                return True
            else:
                s = self.parent(s)

    def legal(self, s, t):
        """The direction of the legal step from s to t, or NONE."""
        moves = self.moves[s]
        for d in range(8):
            if (moves >> d) & 1 and s + self.offset[d] == t:
                return d
        return NONE

    def step_cost(self, s, t):
        """The cost of a step on the present map, FAR if it is illegal."""
        d = self.legal(s, t)
        if d == NONE:
            return FAR
        return self.through(s, t, STRAIGHT if d < 4 else DIAGONAL)

    def route_cost(self):
        """The cost of the route on the present map, FAR if it is blocked; after find_meeting()."""
        s = self.s_current
        i = self.meeting
        cost = 0
        while s != self.on_path(0):
            if i == self.meeting and s != self.on_path(i):
                t = self.parent(s)
            else:
                i -= 1
                t = self.on_path(i)
            step = self.step_cost(s, t)
            if step == FAR:
                return FAR
            cost += step
            s = t
        return cost

    def planned_cost(self):
        """The cost of the route as the search saw it; after find_meeting()."""
        last = self.on_path(0)
        turn = self.g(self.on_path(self.meeting))
        cost = self.g(self.s_current) - turn
        if self.meeting == 0:
            return cost
        if self.parent(last) != self.on_path(1):  # since then last has got a better parent
            return cost + self.g(self.on_path(1)) - turn + self.step_cost(self.on_path(1), last)
        return cost + self.g(last) - turn

    def invalid_reason(self):
        """BLOCKED, COST_INCREASED (by more than min_improvement) or ROUTE_VALID; after find_meeting()."""
        if not self.expecting:
            self.expected = self.planned_cost()
            self.expecting = True
        cost = self.route_cost()
        if cost == FAR:
            return BLOCKED
        if cost > self.expected * (1.0 + self.min_improvement):
            return COST_INCREASED
        self.expected = min(self.expected, cost)
        return ROUTE_VALID

    # ---------------------------------------------------------------------- the shortcut search of 2009
    def walk_by_list(self):
        """Writes the backtracking moves behind path, so that the route no longer needs the tree. False: buffer full."""
        if not self.find_meeting():
            return False
        s = self.s_current
        n = self.meeting + 1
        while s != self.on_path(self.meeting):
            s = self.parent(s)
            n += 1
        if n > self.capacity:
            return False
        self.expected = self.planned_cost()
        self.expecting = True
        turn = self.g(self.on_path(self.meeting))
        ahead = self.g(self.on_path(0)) - turn
        for i in range(self.meeting + 1):
            self.cost_ahead[i] = self.g(self.on_path(0)) - self.g(self.on_path(i))
        s = self.s_current
        for i in range(n - 1, self.meeting, -1):
            self.buffer[self.path + i] = s
            self.cost_ahead[i] = self.g(s) - turn + ahead
            s = self.parent(s)
        self.path_length = n
        self.at = n - 1
        self.turn = self.meeting
        self.detour = True
        return True

    def seed_shortcuts(self):
        """Open := the states of the route, each with its distance to the goal along it as g."""
        self.begin_search(self.s_current)
        self.sought_from = self.s_current
        self.sought_below = self.expected
        self.open_clear(self.h_between(self.on_path(0), self.s_current))
        for i in range(self.path_length):
            s = self.on_path(i)
            self.word[s] = word_of(self.stamp, self.cost_ahead[i], ROOT)
            self.open_insert(s, self.cost_ahead[i] + self.h_between(s, self.s_current))

    def look_for_shortcut(self):
        """What is left of k expansions for an A* search from the route to where the agent was when it turned back. It
        goes on from interval to interval; the 2009 paper starts it afresh. False: buffer full."""
        s_goal, w_g, w_h = self.s_goal, self.w_g, self.w_h
        self.w_g = self.w_h = 1
        self.set_order()
        if not self.seeking:
            self.seed_shortcuts()
            self.seeking = True
        self.set_goal(self.sought_from)
        self.s_goal = NONE  # where it was is a state like others: the agent may be further back by now
        self.goal_f = self.sought_below
        self.goal_found = False
        self.best_first_search(self.k_left)
        ended = self.goal_found  # what is left in Open makes nothing shorter
        self.w_g, self.w_h = w_g, w_h
        self.set_order()
        self.set_goal(s_goal)
        self.goal_found = True
        self.s_best = s_goal
        if self.known(self.s_current) and self.g(self.s_current) < self.expected:
            return self.take_shortcut()
        self.no_shortcut = ended
        return True

    def take_shortcut(self):
        """path := from the goal back to where the shortcut joins it, then to the agent; False: buffer full."""
        n = 0
        s = self.s_current
        while (self.word[s] & DIRECTION) != ROOT:
            s = self.parent(s)
            n += 1
        low = 0
        high = self.path_length - 1
        while low < high:
            middle = (low + high) >> 1
            if self.cost_ahead[middle] < self.g(s):
                low = middle + 1
            else:
                high = middle
        n += low + 1
        if n > self.capacity:
            return False
        self.expected = self.g(self.s_current)
        s = self.s_current
        for i in range(n - 1, low, -1):
            self.buffer[self.path + i] = s
            s = self.parent(s)
        self.path_length = n
        self.at = self.turn = n - 1
        self.no_shortcut = True
        self.route_version += 1
        return True

    # ---------------------------------------------------------------------- costs that decreased
    def is_next_to_closed(self, s):
        if self.is_closed(s):
            return True
        for d in range(8):
            if (self.moves[s] >> d) & 1 and self.is_closed(s + self.offset[d]):
                return True
        return False

    def cost_via(self, u, v):
        """h(s_current, u) + c(u, v) + h(v, s_goal) of Algorithm 3, FAR if the step is illegal."""
        cost = self.step_cost(u, v)
        if cost == FAR:
            return FAR
        return self.h_between(self.s_current, u) + cost + self.h_between(v, self.s_goal)

    def leads_below(self, v, past, limit):
        """An arc at v, or a diagonal step past it, has a c' below the limit."""
        for d in range(8):
            if not (self.moves[v] >> d) & 1:
                continue
            u = v + self.offset[d]
            if not past:
                if self.cost_via(u, v) < limit or self.cost_via(v, u) < limit:
                    return True
            elif d < 4:
                for e in range(4):
                    if (self.moves[v] >> e) & 1 and self.cost_via(u, v + self.offset[e]) < limit:
                        return True
        return False

    def any_leads_below(self, past, only_next_to_closed, limit):
        """Whether some cell leads below the limit.

        No arc at a cell has a c' below h(s_current, cell) + h(cell, s_goal), and none past it one that is more than two
        straight steps below that.
        """
        limit_at_cell = limit + 2 * self.straight if past else limit
        if self.h_between(self.s_current, self.s_goal) >= limit_at_cell:
            return False
        y_current = self.s_current // self.width
        x_current = self.s_current - y_current * self.width
        for i in range(len(self.cells)):
            v = self.cells[i]
            y = v // self.width
            x = v - y * self.width
            c = self.octile(x - x_current, y - y_current) + self.octile(x - self.goal_x, y - self.goal_y)
            if c >= limit_at_cell:
                continue
            if (not only_next_to_closed or self.is_next_to_closed(v)) and self.leads_below(v, past, limit):
                return True
        return False

    # ---------------------------------------------------------------------- one interval of MoveToGoal
    def reaches_goal(self):
        """Whether the route ends at the goal."""
        return self.path_length > 0 and self.on_path(0) == self.s_goal

    def search_step(self):
        """The first half of an interval: search, trace, validate the route. MOVED: the agent may move now."""
        if self.phase == SEARCH:
            self.k_left = self.k
            if not self.goal_found:
                direction = self.word[self.s_current] & DIRECTION
                if not self.failed:
                    self.best_first_search(self.k)
                if self.failed:
                    if not self.stale:
                        return NO_PATH
                    self.restart(SEARCH_EXHAUSTED)  # NO_PATH is a statement about the present map
                    return WAITED
                if self.reopened or (self.word[self.s_current] & DIRECTION) != direction:  # it backtracks elsewhere
                    self.route_version += 1
                self.reopened = False
                self.new_best = True
            self.phase = TRACE
        if self.sliced:
            if not self.trace_a_slice(self.trace_steps_found if self.goal_found else self.trace_steps):
                return PATH_FULL
        elif not self.trace_to_agent():
            return PATH_FULL
        if self.pause_when_found and self.reaches_goal():
            return GOAL_FOUND
        if self.stale and self.check_route and self.path_length > 0 and not self.expecting:
            if not self.find_meeting():
                return PATH_FULL
            reason = self.invalid_reason()
            if reason != ROUTE_VALID:
                self.restart(reason)
                return WAITED
        if self.shortcut and self.may_look_for_shortcut():
            if not (self.detour or self.walk_by_list()) or not self.look_for_shortcut():
                return PATH_FULL
        self.phase = SEARCH
        return MOVED

    def may_look_for_shortcut(self):
        """The agent is backtracking to a path that reaches the goal, on a map that has not changed since."""
        if self.k_left <= 0 or self.no_shortcut or self.stale or not self.reaches_goal():
            return False
        return self.at == NONE or (self.detour and self.at > self.turn)

    def next_state(self):
        """Where the agent goes now, or NONE if it has to wait for a path."""
        if self.path_length == 0:
            return NONE
        if self.at > 0:
            return self.on_path(self.at - 1)
        if self.at == 0 and not self.must_act:
            return NONE
        if self.s_current != self.s_root:
            return self.parent(self.s_current)
        return self.came_from

    def move_agent(self):
        """One step along the route, if the present map allows it."""
        s = self.s_current
        t = self.next_state()
        if t == NONE:
            return WAITED
        d = self.legal(s, t)
        if d == NONE:
            self.refused += 1
            if self.restart_when_refused:
                self.restart(BLOCKED)
            return WAITED
        sum_of_costs = 1
        if self.weighted:
            sum_of_costs = self.terrain[s] + self.terrain[t]
        if d < 4:
            self.straight_sum += sum_of_costs
        else:
            self.diagonal_sum += sum_of_costs
        self.expected -= self.through(s, t, STRAIGHT if d < 4 else DIAGONAL)
        if self.at > 0:
            if self.detour and self.at > self.turn:
                self.back_moves += 1
            self.at -= 1
        else:
            if self.at == 0:
                self.walked = True
                self.route_version += 1
            self.at = NONE
            self.back_moves += 1
        self.moved += 1
        self.came_from = s
        self.s_current = t
        self.trail[self.trail_length] = t
        self.trail_length += 1
        return AT_GOAL if t == self.s_goal else MOVED

    def run_intervals(self):
        status = AT_GOAL if self.s_current == self.s_goal else WAITED
        while status <= WAITED and self.intervals_left > 0 and self.trail_length < MAX_TRAIL:
            status = self.search_step()
            if status >= PATH_FULL:
                return status
            if status == MOVED:
                status = self.move_agent()
            self.intervals_left -= 1
            self.intervals += 1
        return status

    # ---------------------------------------------------------------------- for Python
    def use_grid(self, moves, terrain):
        """The same grid in other arrays."""
        self.moves, self.terrain = memoryview(moves), memoryview(terrain)

    def set_lowest_cost(self, lowest_cost):
        """Takes note of the cost of the present map's cheapest cell, in sixteenths, for the next search."""
        self.lowest_cost = lowest_cost
        if self.h_is_too_high() and (self.goal_found or self.failed):
            self.scale_h()

    def h_is_too_high(self):
        """A cell has become so cheap that the running search's h is not admissible on the present map."""
        return self.straight * COST_STEPS > self.straight_step * self.lowest_cost

    def start(self, s_current, s_goal, reason=0):
        """A new search between these states; with a reason it is a restart."""
        self.s_current, self.s_goal = s_current, s_goal
        if reason:
            self.restart(reason)
        else:
            self.initialize_search()

    def forget_figures(self):
        """Sets all counts to 0."""
        self.expansions = self.searches = self.intervals = self.refused = 0
        self.moved = self.back_moves = self.straight_sum = self.diagonal_sum = 0
        self.restarts = zeros(REASONS, np.int64)
        self.last_restart = self.trail_length = 0

    def forget_learned(self):
        """The next search starts from the user-given h."""
        self.learned_searches = -1 if self.search != 0 else 0  # the next search counts the one before it

    def set_budget(self, k, trace_steps, trace_steps_found):
        """Sets the budget of an interval: k expansions (N_E), and, if trace-back is sliced, its steps (N_T)."""
        self.k, self.trace_steps, self.trace_steps_found = k, trace_steps, trace_steps_found

    def run(self, intervals):
        """Runs up to this many intervals; ends early at the goal, with no path, or if a buffer is full."""
        self.intervals_left = intervals
        if intervals * self.k < 64:
            return self.run_intervals()
        with cython.nogil:
            status = self.run_intervals()
        return status

    def search_and_trace(self):
        """An interval's first half; MOVED if the agent may move."""
        if self.k < 64:
            return self.search_step()
        with cython.nogil:
            status = self.search_step()
        return status

    def move(self):
        """An interval's second half."""
        self.intervals += 1
        return self.move_agent()

    def grow_path(self):
        """Twice the room for path and pathNew."""
        old = np.asarray(self.buffer).reshape(2, -1)
        new = np.zeros((2, 2 * self.capacity), np.int32)
        new[:, : self.capacity] = old
        self.path = 2 * self.path
        self.capacity *= 2
        self.buffer = memoryview(new.reshape(-1))
        if self.shortcut:
            cost_ahead = np.zeros(self.capacity, np.int64)
            cost_ahead[: self.capacity // 2] = np.asarray(self.cost_ahead)
            self.cost_ahead = memoryview(cost_ahead)

    def take_trail(self):
        """The states moved to since the last call; one call takes what 4096 moves leave."""
        trail = np.array(self.trail[: self.trail_length], np.int32)
        self.trail_length = 0
        return trail

    def log_expansions(self):
        """From now on, for take_log(). Its memory, as that of the tree, is taken where the search goes. A state that is
        re-opened comes once more, as long as there is room."""
        if self.log_room > 0:
            return
        self.log = zeros(self.states, np.int32)
        if self.expansions > 0:
            expanded = np.flatnonzero(self.is_expanded())
            self.logged = len(expanded)
            np.asarray(self.log)[: self.logged] = expanded
        self.log_room = self.states

    def take_log(self, whole):
        """(whether a search has begun since the last call, the states that it has expanded since, the directions of the
        steps from their parents), or all that it has expanded; None if there is nothing new."""
        if whole:
            self.log_taken = 0
            self.log_is_new = True
        if self.log_taken == self.logged and not self.log_is_new:
            return None
        states = np.array(self.log[self.log_taken : self.logged], np.int32)
        directions = zeros(len(states), np.uint8)
        for i in range(len(directions)):
            directions[i] = self.word[self.log[self.log_taken + i]] & DIRECTION
        is_new = self.log_is_new
        self.log_taken = self.logged
        self.log_is_new = False
        return is_new, states, np.asarray(directions)

    def pass_interval(self):
        """The agent waits for the rest of an interval in which its search was restarted."""
        self.intervals += 1
        self.intervals_left -= 1

    def route_to_meeting(self):
        """(backtracking, path ahead): the states from s_current to where it meets path, and from there to s_best."""
        if self.path_length == 0:
            return [self.s_current], [self.s_current]
        while not self.find_meeting():
            self.grow_path()
        s = self.s_current
        back = [s]
        while s != self.on_path(self.meeting):
            s = self.parent(s)
            back.append(s)
        return back, np.asarray(self.buffer)[self.path : self.path + self.meeting + 1][::-1].tolist()

    def backtracking_length(self):
        """The number of backtracking moves to path."""
        if self.path_length == 0:
            return 0
        while not self.find_meeting():
            self.grow_path()
        n = 0
        s = self.s_current
        while s != self.on_path(self.meeting):
            s = self.parent(s)
            n += 1
        return n

    def route_length(self):
        """The number of moves of the route."""
        n = self.backtracking_length()
        return n + self.meeting if self.path_length else n

    def write_route(self, cells, most):
        """Writes x and y of the route's first states, `most` at most; returns their number."""
        out = memoryview(cells)
        s = self.s_current
        i = self.meeting if self.path_length else 0
        n = 0
        while n < most:
            y = s // self.width
            out[2 * n] = s - y * self.width
            out[2 * n + 1] = y
            n += 1
            if self.path_length == 0 or s == self.on_path(0):
                break
            if i == self.meeting and s != self.on_path(i):
                s = self.parent(s)
            else:
                i -= 1
                s = self.on_path(i)
        return n

    def walk(self, steps):
        """Moves the agent along its route by this many steps. Returns the number of steps beyond the route's end; if
        there are any, the agent stays where it was."""
        s, at, expected = self.s_current, self.at, self.expected
        self.find_on_path()
        while steps > 0 and self.path_length > 0 and self.at != 0:
            t = self.on_path(self.at - 1) if self.at > 0 else self.parent(self.s_current)
            self.expected -= self.length_between(self.s_current, t)
            self.s_current = t
            if self.at > 0:
                self.at -= 1
            self.find_on_path()
            steps -= 1
        if steps > 0:
            self.s_current, self.at, self.expected = s, at, expected
        return steps

    def find_on_path(self):
        """Sets at, if s_current is on path."""
        if self.at != NONE or self.path_length == 0:
            return
        while self.g(self.on_path(self.path_length - 1)) > self.g(self.s_current):
            if not self.extend_path():
                self.grow_path()
        self.at = self.index_on_path(self.s_current)

    def length_between(self, s, t):
        """The cost of the step between these neighbours, legal or not."""
        straight = s % self.width == t % self.width or s // self.width == t // self.width
        return self.through(s, t, STRAIGHT if straight else DIAGONAL)

    def place(self, walked, at):
        """The agent has walked these states of its route: it is at index `at` of path, or NONE while it backtracks."""
        for i in range(len(walked) - 1):
            self.expected -= self.length_between(walked[i], walked[i + 1])
        self.s_current, self.at = walked[len(walked) - 1], at

    def branch(self):
        """The tree's path from the root to s_best; with a shortcut, the path from where the agent turned."""
        if self.detour:
            return self.path_states().tolist()
        states = []
        if self.s_best != NONE:
            s = self.s_best
            states.append(s)
            while s != self.s_root:
                s = self.parent(s)
                states.append(s)
        return states[::-1]

    def remaining_cost(self):
        """The route's cost on the present map plus h from its end to the goal; None if it is blocked."""
        if self.path_length == 0:
            return self.h_between(self.s_current, self.s_goal)
        while not self.find_meeting():
            self.grow_path()
        cost = self.route_cost()
        if cost == FAR:
            return None
        return cost + self.h_between(self.on_path(0), self.s_goal)

    def route_invalid_reason(self):
        """BLOCKED, COST_INCREASED or ROUTE_VALID: the first test of RestartSearch?(), over the whole route."""
        if self.path_length == 0:
            return ROUTE_VALID
        while not self.find_meeting():
            self.grow_path()
        return self.invalid_reason()

    def could_shorten(self, decreased, unblocked, only_next_to_closed, limit):
        """Whether c' = h(s_current, u) + c(u, v) + h(v, s_goal) of Algorithm 3 is below the limit for some cheaper arc.

        These are the arcs at the decreased cells and, of those that were blocked, the diagonal steps past them.
        """
        for cells, past in ((decreased, False), (unblocked, True)):
            self.cells = memoryview(cells)
            if len(self.cells) < 256:
                below = self.any_leads_below(past, only_next_to_closed, limit)
            else:
                with cython.nogil:
                    below = self.any_leads_below(past, only_next_to_closed, limit)
            if below:
                return True
        return False

    def suffix_cost(self, path):
        """The cost of path after s_current, or of all of it if s_current is not on it, as the search saw it."""
        if self.detour:
            return self.expected
        first = self.s_current if self.s_current in path else self.s_root
        return self.g(self.s_best) - self.g(first) if self.s_best != NONE else 0

    def route_reaches_goal(self):
        return self.reaches_goal()

    def path_states(self):
        """The path, from where it has been traced to, to s_best."""
        return np.array(self.buffer[self.path : self.path + self.path_length], np.int32)[::-1]

    def h_value(self, s):
        """h of a known state, as the search uses it."""
        return self.h(s)

    def step_costs(self, states):
        """The costs of the legal steps of a walk."""
        costs = np.zeros(max(len(states) - 1, 0), np.int64)
        for i in range(len(costs)):
            costs[i] = self.step_cost(states[i], states[i + 1])
        return costs

    def is_legal(self, states):
        """Whether every step of a walk is legal."""
        for i in range(len(states) - 1):
            if self.legal(states[i], states[i + 1]) == NONE:
                return False
        return True

    def is_known(self):
        """For every state, whether the running search knows it."""
        return (np.asarray(self.word) >> np.uint64(STAMP)) == np.uint64(self.search)

    def is_expanded(self):
        """For every state, whether the running search has closed it."""
        return self.is_known() & ((np.asarray(self.word) & np.uint64(CLOSED)) != 0)

    def are_expanded(self, states):
        """For each of these states, whether the running search has closed it; no others are read."""
        words = np.asarray(self.word)[states]
        is_known = (words >> np.uint64(STAMP)) == np.uint64(self.search)
        return is_known & ((words & np.uint64(CLOSED)) != 0)

    def classify_states(self, picture, unknown, expanded, opened):
        """Writes one of these numbers for every state: the running search does not know it, has closed it, or has it in
        Open."""
        out = memoryview(picture)
        with cython.nogil:
            self.classify_all(out, unknown, expanded, opened)

    def classify_all(self, out, unknown, expanded, opened):
        for s in range(self.states):
            if not self.known(s):
                out[s] = unknown
            else:
                out[s] = expanded if self.word[s] & CLOSED else opened

    def g_values(self, states):
        """g of these states, all known."""
        return (~np.asarray(self.word)[states] >> np.uint64(G)).astype(np.int64) & MAX_G

    def goal_in_open(self):
        return self.goal_f < FAR and not self.goal_found

    def trail_is_full(self):
        return self.trail_length == MAX_TRAIL

    def memory(self):
        """Bytes of search state, the route included."""
        total = 0
        for array in self.arrays():
            total += array.nbytes
        return total

    def touch_memory(self):
        """Takes the memory of all arrays from the system now."""
        for array in self.arrays():
            array.reshape(-1)[:: max(1, 4096 // array.itemsize)] += 0

    def arrays(self):
        """The arrays that a search allocates."""
        tree = [
            np.asarray(self.word),
            np.asarray(self.h_learned),
            np.asarray(self.pathcost),
            np.asarray(self.cost_ahead),
        ]
        links = [np.asarray(self.next), np.asarray(self.prev), np.asarray(self.f_of), np.asarray(self.order)]
        buckets = [np.asarray(self.head), np.asarray(self.marks), np.asarray(self.upper_marks)]
        lists = [np.asarray(self.buffer), np.asarray(self.trail), np.asarray(self.log)]
        return tree + links + buckets + lists
