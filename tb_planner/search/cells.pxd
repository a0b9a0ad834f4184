# The C types of cells.py, and its constants as the compiler sees it.
cimport cython

cdef enum:
    CHUNK = 16  # cells that are compared at a time
    PIECE = 65536  # the sum of their costs has 32 bits

@cython.locals(x='Py_ssize_t', y='Py_ssize_t', a='unsigned short', b='unsigned short')
cdef int look_up(
    const unsigned char[:, ::1] occupancy, Py_ssize_t x0, Py_ssize_t y0, const unsigned char[:, ::1] squares,
    const unsigned short[::1] by_occupancy, const unsigned short[::1] by_square, unsigned short[:, ::1] terrain
) except -1
@cython.locals(y='Py_ssize_t')
cdef int set_moves(
    const unsigned char[:, ::1] free, unsigned char eight, unsigned char cutting, unsigned char[:, ::1] moves
) except -1
@cython.locals(
    x='Py_ssize_t', north='unsigned char', east='unsigned char', south='unsigned char', west='unsigned char',
    straight='unsigned char', north_east='unsigned char', south_east='unsigned char', south_west='unsigned char',
    north_west='unsigned char', diagonal='unsigned char'
)
cdef void moves_of_row(
    const unsigned char[:, ::1] free, Py_ssize_t y, unsigned char eight, unsigned char cutting,
    unsigned char[:, ::1] moves
) noexcept nogil
@cython.locals(
    width='Py_ssize_t', x='Py_ssize_t', y='Py_ssize_t', begin='Py_ssize_t', end='Py_ssize_t', rises='Py_ssize_t', falls='Py_ssize_t',
    opens='Py_ssize_t', bits='unsigned short', before='unsigned short', after='unsigned short'
)
cdef int compare(
    const unsigned short[:, ::1] old, const unsigned short[:, ::1] new, Py_ssize_t x0, Py_ssize_t y0, Py_ssize_t x1,
    Py_ssize_t y1, int[::1] increased, int[::1] decreased, int[::1] unblocked, long long[::1] counts
) except -1
@cython.locals(
    x='Py_ssize_t', y='Py_ssize_t', begin='Py_ssize_t', end='Py_ssize_t', result='long long', of_piece='unsigned int'
)
cdef long long add_up(
    const unsigned short[:, ::1] terrain, Py_ssize_t x0, Py_ssize_t y0, Py_ssize_t x1, Py_ssize_t y1
) except -1
@cython.locals(
    x='Py_ssize_t', y='Py_ssize_t', before='unsigned short', after='unsigned short', any_change='unsigned short',
    any_opening='unsigned short'
)
cdef int replace(
    const unsigned short[:, ::1] terrain, unsigned short[:, ::1] into, Py_ssize_t x0, Py_ssize_t y0
) except -1
@cython.locals(x='Py_ssize_t', y='Py_ssize_t', before='unsigned short', after='unsigned short')
cdef int move_counts(
    const unsigned short[:, ::1] terrain, const unsigned short[:, ::1] old, Py_ssize_t x0, Py_ssize_t y0,
    int[::1] cells_of_cost
) except -1
