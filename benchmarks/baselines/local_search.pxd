# The C types of local_search.py, and its constants as the compiler sees them.
cimport cython
from tb_planner.search.grid_math cimport (
    AT_GOAL, DIAGONAL, MAX_TRAIL, MOVED, NO_PATH, NONE, ROOT, STRAIGHT, WAITED, lowest, octile,
)

cdef long long FAR
cdef unsigned int LAST

cdef enum:
    NEIGHBOURS = 0
    BREADTH_FIRST = 1
    BEST_FIRST = 2
    CURRENT = 0
    DIJKSTRA = 1
    ADAPTIVE = 2
    PRIORITISED = 3

@cython.final
cdef class Heap:
    cdef int size
    cdef int[::1] at  # by place
    cdef int[::1] place  # by state
    cdef long long[::1] key
    cdef long long[::1] rank
    cdef long long[::1] order
    cdef long long inserted

    cdef void clear(self) noexcept nogil
    cdef int first(self) noexcept nogil
    cdef bint has(self, int s) noexcept nogil
    cdef void insert(self, int s, long long key, long long rank, long long order) noexcept nogil
    cdef void remove(self, int s) noexcept nogil
    cdef bint goes_before(self, int s, int t) noexcept nogil
    cdef void put(self, int s, int place) noexcept nogil
    cdef void sift_up(self, int s, int place) noexcept nogil
    cdef void sift_down(self, int s, int place) noexcept nogil

@cython.final
cdef class LocalSearch:
    # the grid
    cdef int width
    cdef int states
    cdef bint weighted
    cdef unsigned char[::1] moves
    cdef unsigned char[::1] successors
    cdef unsigned short[::1] terrain
    cdef int[::1] offset  # by direction
    cdef long long[::1] length
    cdef long long straight
    cdef long long diagonal
    # the algorithm
    cdef int look_ahead
    cdef int learning
    cdef bint avoid_depressions
    cdef bint larger_g
    cdef long long k
    cdef long long depth
    cdef long long movements
    cdef int queue_size
    # h
    cdef long long[::1] h
    cdef unsigned int[::1] lesson_of
    cdef public unsigned int lesson
    # the local search space
    cdef unsigned int[::1] number
    cdef public unsigned int search  # the number of its states in Open; of closed ones it is one more
    cdef long long[::1] g
    cdef unsigned char[::1] parent  # the direction from it
    cdef int[::1] reached
    cdef readonly int reached_count
    cdef long long[::1] v
    cdef Heap heap
    cdef long long f_min
    cdef long long goal_f
    cdef Heap evict  # the states of queue, lowest priority first
    cdef Heap queue
    # the agent
    cdef readonly int s_current
    cdef int s_goal
    cdef int goal_x
    cdef int goal_y
    cdef readonly int s_next  # of the last search: where its path leads
    cdef int[::1] path  # s_next first
    cdef int path_left
    cdef long long steps_left
    cdef long long best_v  # set by best_neighbour()
    cdef readonly long long intervals_left
    cdef int[::1] trail
    cdef readonly int trail_length
    # figures
    cdef readonly long long intervals
    cdef readonly long long moved
    cdef readonly long long expansions
    cdef readonly long long searches
    cdef readonly long long straight_sum
    cdef readonly long long diagonal_sum

    cdef long long user_given_h(self, int s) noexcept nogil
    cdef void know_h(self, int s) noexcept nogil
    cdef long long cost(self, int s, int t, int d) noexcept nogil
    cdef bint is_closed(self, int s) noexcept nogil
    cdef void open_insert(self, int s) noexcept nogil
    cdef int open_min(self) noexcept nogil
    cdef void begin_search(self) noexcept nogil
    cdef void reach(self, int s, int direction, long long g) noexcept nogil
    cdef void relax(self, int t, int direction, long long g) noexcept nogil
    cdef void expand(self, int s) noexcept nogil
    cdef int best_first_search(self) noexcept nogil
    cdef void breadth_first_search(self) noexcept nogil
    cdef int extract_best_state(self, int s) noexcept nogil
    cdef void learn(self, long long f) noexcept nogil
    cdef void back_up(self, int until) noexcept nogil
    cdef int best_neighbour(self, int s, long long[::1] values) noexcept nogil
    cdef void know_neighbours(self, int s) noexcept nogil
    cdef void state_update(self, int s) noexcept nogil
    cdef void add_to_queue(self, int s, long long priority) noexcept nogil
    cdef void queue_remove(self, int s) noexcept nogil
    cdef int plan_breadth_first(self) noexcept nogil
    cdef int plan_best_first(self) noexcept nogil
    cdef int plan_prioritised(self) noexcept nogil
    cdef bint plan(self) noexcept nogil
    cdef void trace(self, int s) noexcept nogil
    cdef int direction(self, int s, int t) noexcept nogil
    cdef int move_agent(self) noexcept nogil
    cdef int run_intervals(self) noexcept nogil
    cpdef bint path_is_valid(self)
    cpdef h_values(self)
