# The C types of kernel.py, and its constants as the compiler sees them.
cimport cython
from tb_planner.search.grid_math cimport (
    AT_GOAL, DIAGONAL, MAX_TRAIL, MOVED, NO_PATH, NONE, ROOT, STRAIGHT, WAITED, bit, lowest, octile, prefetch,
)

cdef long long FAR

cdef enum:
    DIRECTION = 15
    CLOSED = 16
    STAMP = 48
    SEARCHES = 65535
    REMEMBERED = 32767
    PAGE_BITS = 12
    PAGE = 4096
    BEYOND = 4095
    LIST = -1
    SHORT_LIST = 8
    SEARCH = 0
    TRACE = 1
    REASONS = 32

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
    cdef unsigned char[::1] successors
    cdef unsigned char[::1] moves
    cdef unsigned short[::1] terrain  # 16 times the traversal cost, 0 is blocked
    cdef int[::1] offset  # by direction
    cdef long long straight  # a straight step through cells of cost 1
    cdef long long diagonal
    # the algorithm
    cdef long long w_g
    cdef long long w_h
    cdef bint reopen
    cdef bint heap  # ties 'larger_g'
    cdef bint learn
    cdef bint path_switch
    cdef bint shortcut
    cdef bint plain  # no learned h, heap, costs or re-opening, and g counts
    cdef bint check_route
    cdef bint restart_when_refused
    cdef bint must_act
    cdef public double min_improvement
    cdef long long k
    cdef long long k_left  # in this interval
    cdef long long trace_steps
    cdef long long trace_steps_found
    cdef public bint pause_when_found
    # the tree
    cdef unsigned long long[::1] word
    cdef unsigned int search
    cdef unsigned long long stamp  # the search number in its place in a word
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
    cdef long long base  # the page of directory entry 0
    cdef unsigned long long directory_top
    cdef unsigned long long[::1] directory
    cdef int[::1] page_of
    cdef int[::1] first
    cdef unsigned long long[::1] page_top
    cdef unsigned long long[::1] page_bits
    cdef int[::1] head
    cdef int[::1] owner
    cdef int[::1] free
    cdef int free_count
    cdef int low  # the lowest list, or NONE: to be found
    cdef long long low_f  # its f, or -1
    cdef long long f_min  # set by open_min()
    cdef int pages
    cdef long long hint  # the page (f >> 12) last inserted into, or NONE
    cdef int hint_page
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

    cdef bint known(self, int s) noexcept nogil
    cdef bint is_closed(self, int s) noexcept nogil
    cdef long long g(self, int s) noexcept nogil
    cdef int parent(self, int s) noexcept nogil
    cdef long long octile(self, int dx, int dy) noexcept nogil
    @cython.locals(y='int', v='int')
    cdef long long h_between(self, int s, int t) noexcept nogil
    cdef long long h(self, int s, int x, int y) noexcept nogil
    @cython.locals(y='int')
    cdef long long f(self, int s) noexcept nogil
    @cython.locals(number='int', age='int', h='long long', learned='long long', g='long long', stamp='unsigned long long')
    cdef void initialize_state(self, int s, int x, int y) noexcept nogil
    @cython.locals(d='long long')
    cdef int entry(self, long long f) noexcept nogil
    @cython.locals(i='int')
    cdef void open_entry(self, int d, int page) noexcept nogil
    cdef int take_page(self) noexcept nogil
    @cython.locals(i='int', page='int')
    cdef void close_entry(self, int d) noexcept nogil
    cdef bint is_open_entry(self, int d) noexcept nogil
    cdef void link(self, int s, int before) noexcept nogil
    cdef void lose_lowest(self) noexcept nogil
    cdef void bucket_insert(self, int s, long long f) noexcept nogil
    @cython.locals(d='int')
    cdef void insert_by_directory(self, int s, long long f) noexcept nogil
    @cython.locals(unit='int', word='int', b='int')
    cdef void page_insert(self, int s, long long f, int page) noexcept nogil
    @cython.locals(before='int', after='int', d='int', page='int', unit='int', word='int', b='int')
    cdef void bucket_remove(self, int s, long long f) noexcept nogil
    @cython.locals(page='int', s='int', unit='int', after='int')
    cdef int empty_entry(self, int d, int chain) noexcept nogil
    @cython.locals(s='int')
    cdef void insert_chain(self, int chain) noexcept nogil
    @cython.locals(chain='int', i='int', highest='int')
    cdef void spread(self, int d) noexcept nogil
    @cython.locals(chain='int', i='int')
    cdef void rebase(self, long long f) noexcept nogil
    @cython.locals(s='int', best='int', f='long long')
    cdef int lowest_of_list(self, int d, int most) noexcept nogil
    @cython.locals(i='int', d='int', s='int', page='int')
    cdef int find_lowest(self) noexcept nogil
    cdef bint goes_before(self, int s, int t) noexcept nogil
    cdef void put(self, int s, int place) noexcept nogil
    cdef void sift_up(self, int s, int place) noexcept nogil
    @cython.locals(child='int')
    cdef void sift_down(self, int s, int place) noexcept nogil
    cdef void open_insert(self, int s, long long f) noexcept nogil
    @cython.locals(last='int', place='int')
    cdef void open_remove(self, int s, long long f) noexcept nogil
    @cython.locals(b='int', after='int', page='int')
    cdef void open_pop(self, int s) noexcept nogil
    cdef int open_min(self) noexcept nogil
    @cython.locals(i='int')
    cdef void open_clear(self, long long f) noexcept nogil
    @cython.locals(chunk='int', number='int', age='int')
    cdef void sweep(self) noexcept nogil
    cdef void begin_search(self, int s_goal) noexcept nogil
    cdef void set_goal(self, int s_goal) noexcept nogil
    @cython.locals(y='int', x='int', h='long long')
    cdef void initialize_search(self) noexcept nogil
    @cython.locals(f='long long')
    cdef long long lowest_f(self) noexcept nogil
    cdef void restart(self, int reason) noexcept nogil
    cdef void forget_path(self) noexcept nogil
    @cython.locals(word='unsigned long long', old='long long', h='long long')
    cdef void relax(self, int t, int direction, long long g, int x, int y, bint plain) noexcept nogil
    cdef long long through(self, int s, int t, long long length) noexcept nogil
    @cython.locals(w='int', y='int', x='int', g='long long', moves='int', t='int')
    cdef void expand(self, int s, bint plain) noexcept nogil
    @cython.locals(s='int')
    cdef void best_first_search(self, long long k) noexcept nogil
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
