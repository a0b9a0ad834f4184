# The C types of sight.py, and its constants as the compiler sees them.
cimport cython

cdef enum:
    DIGITS = 14
    UNIT = 16384
    ANY_COST = 65535

cpdef bint clear(const unsigned short[:, ::1] terrain, double x0, double y0, double x1, double y1, int max_cost=*) except -1
@cython.locals(n='Py_ssize_t', i='Py_ssize_t')
cpdef Py_ssize_t farthest_clear(
    const unsigned short[:, ::1] terrain, double x, double y, const double[:, ::1] points, const int[::1] max_cost
) except -2
@cython.locals(u0='long long', v0='long long', u1='long long', v1='long long')
cdef bint is_clear(
    const unsigned short[:, ::1] terrain, double x0, double y0, double x1, double y1, int max_cost
) noexcept nogil
cdef bint is_inside(const unsigned short[:, ::1] terrain, double x, double y) noexcept nogil
cdef bint may_cross(const unsigned short[:, ::1] terrain, long long x, long long y, int max_cost) noexcept nogil
@cython.locals(
    first_x='long long', last_x='long long', first_y='long long', last_y='long long', x='long long', y='long long'
)
cdef bint is_straight_clear(
    const unsigned short[:, ::1] terrain, long long u0, long long v0, long long u1, long long v1, int max_cost
) noexcept nogil
@cython.locals(
    step_x='long long', step_y='long long', x='long long', y='long long', lines='long long', lead='long long',
    lead_of_column='long long', lead_of_row='long long', sideways='bint'
)
cdef bint is_slope_clear(
    const unsigned short[:, ::1] terrain, long long u0, long long v0, long long u1, long long v1, int max_cost
) noexcept nogil
cdef long long cell_towards(long long u, long long end) noexcept nogil
cdef long long to_line(long long u, long long cell, long long end) noexcept nogil
