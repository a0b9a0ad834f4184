# The C types of cells.py, and its constants as the compiler sees it.
cimport cython

cdef enum:
    CHUNK = 16  # cells along a row that are marked together, and compared at a time
    STALE = 1
    OPENED = 2

@cython.locals(
    x='Py_ssize_t', y='Py_ssize_t', begin='Py_ssize_t', end='Py_ssize_t', bits='signed char', left='Py_ssize_t',
    right='Py_ssize_t', top='Py_ssize_t', bottom='Py_ssize_t'
)
cdef int copy_changes(
    const signed char[:, ::1] values, Py_ssize_t at_x, Py_ssize_t at_y, signed char[:, ::1] occupancy, Py_ssize_t x0,
    Py_ssize_t y0, Py_ssize_t x1, Py_ssize_t y1, unsigned char[:, ::1] changed, long long[::1] bounds
) except -1
@cython.locals(rows='Py_ssize_t', y='Py_ssize_t', end='Py_ssize_t', i='Py_ssize_t')
cdef int spread(
    const unsigned char[:, ::1] changed, Py_ssize_t first, Py_ssize_t y0, Py_ssize_t reach, Py_ssize_t beside,
    unsigned short[::1] ages, unsigned char[:, ::1] stale
) except -1
@cython.locals(c='Py_ssize_t', i='Py_ssize_t')
cdef void grow_older(
    const unsigned char[:, ::1] changed, Py_ssize_t y, Py_ssize_t first, Py_ssize_t beside, Py_ssize_t reach,
    unsigned short[::1] ages
) noexcept nogil
@cython.locals(i='Py_ssize_t')
cdef void mark(const unsigned short[::1] ages, Py_ssize_t reach, unsigned char[:, ::1] stale, Py_ssize_t y) noexcept nogil
@cython.locals(
    first='Py_ssize_t', x1='Py_ssize_t', y='Py_ssize_t', c='Py_ssize_t', x='Py_ssize_t', begin='Py_ssize_t',
    end='Py_ssize_t', a='unsigned short', b='unsigned short', free='unsigned short', bits='unsigned char'
)
cdef int look_up(
    const unsigned char[:, ::1] occupancy, Py_ssize_t x0, Py_ssize_t y0, const unsigned char[:, ::1] squares,
    unsigned char far, const unsigned short[::1] by_occupancy, const unsigned short[::1] by_square,
    const unsigned char[:, ::1] marks, unsigned short[:, ::1] terrain
) except -1
@cython.locals(
    y='Py_ssize_t', height='Py_ssize_t', width='Py_ssize_t', rows='Py_ssize_t', chunks='Py_ssize_t',
    first='Py_ssize_t', begin='Py_ssize_t', end='Py_ssize_t', left='Py_ssize_t', right='Py_ssize_t'
)
cdef int set_moves(
    const unsigned short[:, ::1] terrain, Py_ssize_t x0, Py_ssize_t y0, Py_ssize_t x1,
    const unsigned char[:, ::1] marks, unsigned char eight, unsigned char cutting, unsigned char[:, ::1] free,
    unsigned char[::1] opened, unsigned char[:, ::1] moves
) except -1
@cython.locals(row='Py_ssize_t', c='Py_ssize_t', bits='unsigned char')
cdef unsigned char find_opened(
    const unsigned char[:, ::1] marks, Py_ssize_t y, unsigned char[::1] opened
) noexcept nogil
@cython.locals(
    height='Py_ssize_t', width='Py_ssize_t', row='Py_ssize_t',
    x='Py_ssize_t', north='unsigned char', east='unsigned char', south='unsigned char', west='unsigned char',
    straight='unsigned char', north_east='unsigned char', south_east='unsigned char', south_west='unsigned char',
    north_west='unsigned char', diagonal='unsigned char'
)
cdef void moves_along(
    const unsigned short[:, ::1] terrain, Py_ssize_t y, Py_ssize_t begin, Py_ssize_t end, unsigned char eight,
    unsigned char cutting, unsigned char[:, ::1] free, unsigned char[:, ::1] moves
) noexcept nogil
@cython.locals(
    counts='bint', first='Py_ssize_t', x1='Py_ssize_t', any_change='long long', any_opened='long long',
    rise='long long', y='Py_ssize_t', c='Py_ssize_t', x='Py_ssize_t', begin='Py_ssize_t', end='Py_ssize_t',
    bits='unsigned short', opened='unsigned short', before='unsigned short', after='unsigned short'
)
cdef int replace(
    const unsigned short[:, ::1] terrain, unsigned short[:, ::1] into, Py_ssize_t x0, Py_ssize_t y0,
    unsigned char[:, ::1] marks, int[::1] cells_of_cost, long long[::1] found
) except -1
@cython.locals(
    width='Py_ssize_t', x='Py_ssize_t', y='Py_ssize_t', begin='Py_ssize_t', end='Py_ssize_t', rises='Py_ssize_t', falls='Py_ssize_t',
    opens='Py_ssize_t', bits='unsigned short', before='unsigned short', after='unsigned short'
)
cdef int compare(
    const unsigned short[:, ::1] old, const unsigned short[:, ::1] new, Py_ssize_t x0, Py_ssize_t y0, Py_ssize_t x1,
    Py_ssize_t y1, int[::1] increased, int[::1] decreased, int[::1] unblocked, long long[::1] counts
) except -1
