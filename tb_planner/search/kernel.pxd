# The C types of kernel.py, and its constants as the compiler sees them.
cimport cython
from tb_planner.search.grid_math cimport (
    AT_GOAL, DIAGONAL, DX, DY, MAX_TRAIL, MOVED, NO_PATH, NONE, ROOT, STRAIGHT, WAITED, array, bit, lowest, octile, prefetch,
)

cdef long long FAR

cdef extern from *:
    """
    #define TB_CLOSED 0x800000000000ULL
    """
    const unsigned long long CLOSED "TB_CLOSED"

cdef inline unsigned long long word_of(unsigned long long stamp, long long g, int direction) noexcept nogil:
    return stamp | (0x7FFFFFFFFFFULL - g) << 4 | direction

cdef inline long long cost_of(unsigned long long word) noexcept nogil:
    return ~word >> 4 & 0x7FFFFFFFFFFULL

cdef inline unsigned long long minus(unsigned long long a, unsigned long long b) noexcept nogil:
    return a - b

cdef enum:
    DIRECTION = 15
    G = 4
    STAMP = 48
    SEARCHES = 65535
    REMEMBERED = 32767
    SORTED_AT_ONCE = 8
    SEARCH = 0
    TRACE = 1
    REASONS = 32
    COST_STEPS = 16

cpdef enum:
    PATH_FULL = 4
    GOAL_FOUND = 5

cpdef enum:
    ROUTE_VALID = 0
    BLOCKED = 1
    COST_INCREASED = 2
    SEARCH_EXHAUSTED = 3

@cython.final
cdef class Search:
    # the grid
    cdef int width
    cdef int states
    cdef bint weighted
    cdef unsigned long long row_factor
    cdef int row_shift
    cdef unsigned char[::1] successors  # see successor_tables()
    cdef unsigned char[::1] replaceable
    cdef int[::1] left  # by direction, see neighbour_tables()
    cdef int[::1] right
    cdef unsigned char[::1] turned
    cdef unsigned char[::1] moves
    cdef unsigned short[::1] terrain  # 16 times the traversal cost, 0 is blocked
    cdef int[::1] offset  # by direction
    cdef long long straight_step  # the costs of steps through cells of cost 1
    cdef long long diagonal_step
    cdef long long straight  # and, for h, through cells of the lowest cost when this search began
    cdef long long diagonal
    cdef int lowest_cost  # on the present map, in sixteenths
    # the algorithm
    cdef long long w_g
    cdef long long w_h
    cdef bint reopen
    cdef bint heap  # ties 'larger_g'
    cdef bint learn
    cdef bint path_switch
    cdef bint shortcut
    cdef bint is_plain  # a bucket queue and the user-given h
    cdef bint is_optimal  # w = 1 and buckets, see set_order() and successor_tables()
    cdef bint check_route
    cdef bint restart_when_refused
    cdef bint must_act
    cdef public double min_improvement
    cdef long long k
    cdef long long k_left  # in this interval
    cdef long long trace_steps
    cdef long long trace_steps_found
    cdef public bint pause_when_found
    cdef public bint taking_memory  # a thread takes the memory of the arrays from the system
    # the tree
    cdef unsigned long long[::1] word
    cdef unsigned int search
    cdef unsigned long long stamp  # the search number in its place in a word
    cdef unsigned long long newest  # what is subtracted from words before they are compared
    cdef unsigned long long settled  # bits that count as set then
    cdef unsigned long long revocable  # and as not set: the closed bit, where a state may be re-opened
    cdef bint reopened  # some state, since the flag was lowered
    cdef int swept
    cdef readonly int s_goal
    cdef readonly int s_root
    cdef readonly int s_best
    cdef readonly int s_current
    cdef int goal_x
    cdef int goal_y
    cdef long long goal_f
    cdef readonly bint goal_found
    cdef readonly bint failed
    cdef public bint stale  # the map has changed since this search began
    # learned h (TBAA*)
    cdef long long[::1] h_learned
    cdef long long[::1] pathcost  # by search number
    cdef readonly int learned_searches
    # Open
    cdef int[::1] next  # in a heap: the state at this place
    cdef int[::1] prev  # in a heap: the place of this state
    cdef readonly int open_size
    cdef int shift  # a bucket has 2**shift values of f
    cdef long long bucket_width  # 2**shift
    cdef int buckets  # a power of two: bucket b has the place b % buckets in the ring
    cdef int[::1] head  # by place: the bucket's first state, or NONE
    cdef unsigned long long[::1] marks  # of places whose bucket has states
    cdef unsigned long long[::1] upper_marks  # of words of marks that are not 0
    cdef long long low_bucket  # the lowest
    cdef long long top_bucket  # none has been higher
    cdef int far  # the first of the states beyond the ring
    cdef long long far_bucket  # no bucket of theirs is lower
    cdef int unsorted  # the first of those that are being sorted in
    cdef bint careful  # see look_out()
    cdef long long f_min  # set by open_min()
    cdef long long[::1] f_of  # heap only
    cdef unsigned int[::1] order  # heap only
    cdef unsigned int inserted
    # path and agent
    cdef int[::1] buffer  # path in one half, pathNew in the other
    cdef int capacity  # of a half
    cdef int path  # where path begins in the buffer: s_best first, then back towards the root
    cdef readonly int path_length
    cdef int path_new_length  # pathNew of the 2009 paper, traced while the agent follows path
    cdef bint tracing
    cdef bint sliced
    cdef bint new_best  # s_best is of this interval and not yet traced
    cdef int meeting  # where backtracking meets path, set by find_meeting()
    cdef int at  # index of s_current on path, or NONE: it backtracks
    cdef long long expected  # cost of the route: as planned, or what it has decreased to since
    cdef bint expecting  # it is set
    cdef bint detour  # path holds the agent's whole route, which is not in the tree
    cdef int turn  # in a detour: where on path backtracking ends
    cdef bint seeking  # a shortcut search is running
    cdef bint no_shortcut  # it has ended
    cdef int sought_from
    cdef long long sought_below
    cdef long long[::1] cost_ahead  # by place: to the goal
    cdef bint walked  # path, to its end: an agent that has to act goes back towards the root
    cdef int came_from
    cdef int phase
    cdef readonly long long intervals_left
    cdef int[::1] trail
    cdef readonly int trail_length
    cdef int[::1] cells  # that have changed
    cdef int[::1] log  # of the running search's expansions, in order
    cdef int log_room  # 0: none is kept
    cdef int logged
    cdef int log_taken  # by take_log()
    cdef bint log_is_new
    # figures
    cdef readonly long long expansions
    cdef readonly long long searches
    cdef readonly long long search_began  # in which interval
    cdef readonly long long moved
    cdef readonly long long back_moves
    cdef readonly long long intervals
    cdef readonly long long refused
    cdef readonly long long[::1] restarts  # by reason
    cdef readonly int last_restart
    cdef readonly long long route_version
    cdef readonly long long straight_sum
    cdef readonly long long diagonal_sum

    cdef int row(self, unsigned long long s) noexcept nogil
    cdef bint known(self, int s) noexcept nogil
    cdef bint is_closed(self, int s) noexcept nogil
    cdef long long g(self, int s) noexcept nogil
    cdef int parent(self, int s) noexcept nogil
    cdef void scale_h(self) noexcept nogil
    cdef long long octile(self, int dx, int dy) noexcept nogil
    @cython.locals(y='int', v='int')
    cdef long long h_between(self, int s, int t) noexcept nogil
    @cython.locals(y='int')
    cdef long long h(self, int s) noexcept nogil
    cdef long long f(self, int s) noexcept nogil
    @cython.locals(number='int', age='int', h='long long', learned='long long')
    cdef void initialize_state(self, int s, int dx, int dy) noexcept nogil
    cdef void mark(self, int i) noexcept nogil
    cdef void unmark(self, int i) noexcept nogil
    @cython.locals(marks='unsigned long long', word='int')
    cdef int first_marked(self, int i) noexcept nogil
    @cython.locals(bucket='long long', i='int', after='int')
    cdef void bucket_insert(self, int s, long long f) noexcept nogil
    @cython.locals(i='int', before='int', after='int')
    cdef void bucket_remove(self, int s, long long f) noexcept nogil
    @cython.locals(i='int')
    cdef void leave_bucket(self) noexcept nogil
    cdef void move_to(self, long long bucket) noexcept nogil
    @cython.locals(is_mixed='bint')
    cdef void look_out(self) noexcept nogil
    @cython.locals(here='int', i='int', bucket='long long')
    cdef int next_bucket(self) noexcept nogil
    cdef void insert_far(self, int s, long long bucket) noexcept nogil
    @cython.locals(n='int', s='int')
    cdef void sort_far_states(self) noexcept nogil
    @cython.locals(bucket='long long')
    cdef bint may_expand(self, int s) noexcept nogil
    cdef bint goes_before(self, int s, int t) noexcept nogil
    cdef void put(self, int s, int place) noexcept nogil
    cdef void sift_up(self, int s, int place) noexcept nogil
    @cython.locals(child='int')
    cdef void sift_down(self, int s, int place) noexcept nogil
    cdef void open_insert(self, int s, long long f) noexcept nogil
    @cython.locals(last='int', place='int')
    cdef void open_remove(self, int s, long long f) noexcept nogil
    cdef void open_pop(self, int s) noexcept nogil
    @cython.locals(after='int')
    cdef void bucket_pop(self, int s) noexcept nogil
    @cython.locals(s='int')
    cdef int open_min(self) noexcept nogil
    @cython.locals(i='int')
    cdef void open_clear(self, long long f) noexcept nogil
    @cython.locals(widest='long long')
    cdef void set_order(self) noexcept nogil
    @cython.locals(chunk='int', number='int', age='int')
    cdef void sweep(self) noexcept nogil
    cdef void begin_search(self, int s_goal) noexcept nogil
    cdef void set_goal(self, int s_goal) noexcept nogil
    @cython.locals(y='int', f='long long')
    cdef void initialize_search(self) noexcept nogil
    @cython.locals(f='long long')
    cdef long long lowest_f(self) noexcept nogil
    cdef void restart(self, int reason) noexcept nogil
    cdef void forget_path(self) noexcept nogil
    @cython.locals(beyond='int')
    cdef void count_new(self, int t, int direction) noexcept nogil
    @cython.locals(old='unsigned long long', is_known='bint', h='long long', f='long long', f_old='long long')
    cdef void reach(self, int t, unsigned long long word, int dx, int dy) noexcept nogil
    cdef void reach_goal(self, unsigned long long word) noexcept nogil
    cdef bint may_reopen(self, long long f) noexcept nogil
    cdef long long through(self, int s, int t, long long length) noexcept nogil
    cdef void close(self, int s) noexcept nogil
    @cython.locals(
        word='unsigned long long', y='int', dx='int', dy='int', moves='unsigned int', d='int', t='int',
        new='unsigned long long',
    )
    cdef void expand(self, int s) noexcept nogil
    cdef void best_first_search(self, long long k) noexcept nogil
    @cython.locals(s='int')
    cdef void search_open(self, long long k) noexcept nogil
    cdef bint ends(self, int s, long long k) noexcept nogil
    @cython.locals(
        word='unsigned long long*', terrain='unsigned short*', offset='int*', head='int*', width='int', goal_x='int',
        goal_y='int', s_goal='int', ring='int', straight='long long', diagonal='long long', shift='int',
        w_g='long long', w_h='long long', search='unsigned int', newest='unsigned long long',
        settled='unsigned long long', lasting='unsigned long long', s='int', direction='int',
        reached='unsigned long long', y='int', dx='int', dy='int', moves='unsigned int', cost='int', d='int',
        t='Py_ssize_t', length='long long', new='unsigned long long', old='unsigned long long', h='long long',
        f='long long', f_old='long long',
    )
    cdef inline void search_buckets(self, long long k, bint graded, bint w_is_1) noexcept nogil
    @cython.locals(moves='unsigned int', i='int')
    cdef inline unsigned int useful_moves(self, int s, int direction, bint graded, bint optimal) noexcept nogil
    @cython.locals(
        cost='int', left='int', right='int', at_left='int', at_right='int', turned='int', step='int', at_parent='int',
        limit='int', side_left='bint', side_right='bint', ahead_left='bint', ahead_right='bint', sides='int',
    )
    cdef inline int dear_steps(self, int s, int direction) noexcept nogil
    cdef int on_path(self, int i) noexcept nogil
    @cython.locals(low='int', high='int', middle='int')
    cdef int first_not_above(self, long long g) noexcept nogil
    @cython.locals(i='int')
    cdef int index_on_path(self, int s) noexcept nogil
    cdef bint extend_path(self) noexcept nogil
    cdef bint trace_to_agent(self) noexcept nogil
    @cython.locals(new='int', s='int')
    cdef bint trace_a_slice(self, long long steps) noexcept nogil
    cdef bint keeps_its_path(self) noexcept nogil
    @cython.locals(s='int', i='int')
    cdef bint find_meeting(self) noexcept nogil
    @cython.locals(d='int', moves='int')
    cdef int legal(self, int s, int t) noexcept nogil
    @cython.locals(d='int')
    cdef long long step_cost(self, int s, int t) noexcept nogil
    @cython.locals(s='int', t='int', i='int', cost='long long', step='long long')
    cdef long long route_cost(self) noexcept nogil
    @cython.locals(last='int', turn='long long', cost='long long')
    cdef long long planned_cost(self) noexcept nogil
    @cython.locals(cost='long long')
    cdef int invalid_reason(self) noexcept nogil
    cdef bint reaches_goal(self) noexcept nogil
    @cython.locals(reason='int', direction='unsigned long long')
    cdef int search_step(self) noexcept nogil
    @cython.locals(straight='bint')
    cdef long long length_between(self, int s, int t) noexcept nogil
    @cython.locals(i='int', directions='unsigned char[::1]')
    cpdef take_log(self, bint whole)
    cpdef int backtracking_length(self)
    @cython.locals(n='int')
    cpdef int route_length(self)
    @cython.locals(out='int[::1]', n='int', s='int', i='int', y='int')
    cpdef int write_route(self, cells, int most)
    @cython.locals(s='int', at='int', expected='long long', t='int')
    cpdef long long walk(self, long long steps)
    cdef find_on_path(self)
    @cython.locals(out='signed char[::1]')
    cpdef classify_states(self, picture, signed char unknown, signed char expanded, signed char opened)
    @cython.locals(s='int')
    cdef void classify_all(self, signed char[::1] out, signed char unknown, signed char expanded, signed char opened) noexcept nogil
    cdef int next_state(self) noexcept nogil
    @cython.locals(s='int', t='int', d='int', sum_of_costs='long long')
    cdef int move_agent(self) noexcept nogil
    @cython.locals(status='int')
    cdef int run_intervals(self) noexcept nogil
    @cython.locals(d='int')
    cdef bint is_next_to_closed(self, int s) noexcept nogil
    @cython.locals(cost='long long')
    cdef long long cost_via(self, int u, int v) noexcept nogil
    @cython.locals(d='int', e='int', u='int')
    cdef bint leads_below(self, int v, bint past, long long limit) noexcept nogil
    @cython.locals(below='bint')
    cpdef bint could_shorten(self, decreased, unblocked, bint only_next_to_closed, long long limit)
    @cython.locals(limit_at_cell='long long', y_current='int', x_current='int', i='int', v='int', y='int', x='int', c='long long')
    cdef bint any_leads_below(self, bint past, bint only_next_to_closed, long long limit) noexcept nogil
    @cython.locals(s='int', n='int', i='int', turn='long long', ahead='long long')
    cdef bint walk_by_list(self) noexcept nogil
    @cython.locals(i='int', s='int')
    cdef void seed_shortcuts(self) noexcept nogil
    @cython.locals(s_goal='int', w_g='long long', w_h='long long', ended='bint')
    cdef bint look_for_shortcut(self) noexcept nogil
    @cython.locals(n='int', s='int', i='int', low='int', high='int', middle='int')
    cdef bint take_shortcut(self) noexcept nogil
    cdef bint may_look_for_shortcut(self) noexcept nogil
