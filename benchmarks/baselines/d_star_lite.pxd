# The C types of d_star_lite.py, and its constants as the compiler sees them.
cimport cython
from tb_planner.search.grid_math cimport (
    AT_GOAL, DIAGONAL, MAX_TRAIL, MOVED, NO_PATH, NONE, STRAIGHT, WAITED, lowest, octile,
)

cdef long long FAR
cdef long long RISES

@cython.final
cdef class DStarLiteSearch:
    # the grid
    cdef int width
    cdef int height
    cdef bint weighted
    cdef unsigned char[::1] moves
    cdef unsigned short[::1] terrain
    cdef int[::1] offset  # by direction
    cdef long long straight
    cdef long long diagonal
    # the search
    cdef bint larger_g
    cdef long long[::1] g
    cdef long long[::1] rhs
    cdef readonly long long k_m
    cdef readonly int s_start
    cdef int start_x
    cdef int start_y
    cdef int s_last
    cdef readonly int s_goal
    cdef readonly bint found
    # U
    cdef int size
    cdef int[::1] heap  # the state at a place
    cdef long long[::1] key1
    cdef long long[::1] key2
    cdef int[::1] place  # of a state, 0 if it is not in U
    # changes of the map
    cdef unsigned int news
    cdef unsigned int[::1] seen
    # the agent
    cdef int[::1] trail
    cdef readonly int trail_length
    cdef long long intervals_left
    # figures
    cdef readonly long long expansions
    cdef readonly long long requeued
    cdef readonly long long recomputed
    cdef readonly long long searches
    cdef readonly long long intervals
    cdef readonly long long moved
    cdef readonly long long straight_sum
    cdef readonly long long diagonal_sum

    cdef void set_start(self, int s) noexcept nogil
    cdef long long h(self, int s) noexcept nogil
    cdef long long least(self, int s) noexcept nogil
    cdef long long first_key(self, int s) noexcept nogil
    cdef long long second_key(self, int s) noexcept nogil
    cdef bint goes_before(self, int i, long long key1, long long key2) noexcept nogil
    cdef void put(self, int s, int i, long long key1, long long key2) noexcept nogil
    cdef void shift(self, int i, int j) noexcept nogil
    cdef void sift_up(self, int s, int i, long long key1, long long key2) noexcept nogil
    cdef void sift_down(self, int s, int i, long long key1, long long key2) noexcept nogil
    cdef void sift(self, int s, int i, long long key1, long long key2) noexcept nogil
    cdef void remove(self, int s) noexcept nogil
    cdef long long cost(self, int s, int t, int d) noexcept nogil
    cdef void update_vertex(self, int s) noexcept nogil
    cdef long long best_neighbour_cost(self, int s) noexcept nogil
    cdef bint is_done(self) noexcept nogil
    cdef void lower(self, int u) noexcept nogil
    cdef void raise_(self, int u) noexcept nogil
    cdef void compute_shortest_path(self, long long k) noexcept nogil
    cdef void recompute(self, int s) noexcept nogil
    cdef void recompute_around(self, int s) noexcept nogil
    cdef void recompute_all(self, int[::1] cells) noexcept nogil
    @cython.locals(changed='int[::1]')
    cpdef bint cells_changed(self, cells) except -1
    cdef int next_direction(self, int s) noexcept nogil
    cdef int move(self) noexcept nogil
    cdef int run_intervals(self, long long k) noexcept nogil
    cpdef int run(self, long long intervals, long long k) except -1
    cpdef bint search(self, long long k) except -1
