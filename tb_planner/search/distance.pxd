# The C types of distance.py, and its constants as the compiler sees them.
cimport cython

cdef enum:
    COLUMN = 0
    HEIGHT = 1
    BEGIN = 2
    CHUNK = 16  # as in cells.pxd

cdef int transform(const unsigned char[:, ::1] obstacles, int bound, int[:, ::1] squares, int[:, ::1] envelope) except -1
@cython.locals(rows='Py_ssize_t', width='Py_ssize_t', x='Py_ssize_t', y='Py_ssize_t', above='int', below='int')
cdef void within_columns(const unsigned char[:, ::1] obstacles, int far, int[:, ::1] distances) noexcept nogil
@cython.locals(
    width='Py_ssize_t', x='Py_ssize_t', pieces='Py_ssize_t', i='Py_ssize_t', end='Py_ssize_t', distance='int', most='int'
)
cdef void along_row(int[:, ::1] squares, Py_ssize_t y, int bound, int[:, ::1] envelope) noexcept nogil
cdef long long parabola(long long x, long long column, long long height) noexcept nogil
@cython.locals(last='Py_ssize_t', column='long long', begin='long long')
cdef Py_ssize_t add_parabola(
    long long x, long long square, Py_ssize_t width, Py_ssize_t pieces, int[:, ::1] envelope
) noexcept nogil

@cython.locals(x='Py_ssize_t', y='Py_ssize_t', begin='Py_ssize_t', end='Py_ssize_t')
cdef int short_transform(
    const signed char[:, ::1] occupancy, int threshold, Py_ssize_t x0, Py_ssize_t y0, int bound,
    const unsigned char[:, ::1] marks, unsigned char[:, ::1] distances, unsigned char[::1] row,
    unsigned char[:, ::1] squares
) except -1
@cython.locals(
    height='Py_ssize_t', width='Py_ssize_t', rows='Py_ssize_t', x='Py_ssize_t', y='Py_ssize_t', begin='Py_ssize_t',
    end='Py_ssize_t'
)
cdef void short_columns(
    const signed char[:, ::1] occupancy, signed char threshold, Py_ssize_t x0, Py_ssize_t y0, unsigned char far,
    unsigned char[:, ::1] distances, unsigned char[::1] row
) noexcept nogil
@cython.locals(x='Py_ssize_t', nearer='unsigned char')
cdef void next_row(
    const signed char[:, ::1] occupancy, signed char threshold, Py_ssize_t x0, Py_ssize_t y, Py_ssize_t begin,
    Py_ssize_t end, unsigned char far, unsigned char[::1] row
) noexcept nogil
@cython.locals(x='Py_ssize_t', least='unsigned char')
cdef bint is_near(
    const unsigned char[:, ::1] distances, Py_ssize_t y, Py_ssize_t chunk, unsigned char bound
) noexcept nogil
@cython.locals(
    x='Py_ssize_t', offset='Py_ssize_t', most='unsigned char', square='int', rise='unsigned char',
    left='unsigned char', right='unsigned char', nearer='unsigned char'
)
cdef void along_short_row(
    const unsigned char[:, ::1] distances, Py_ssize_t y, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t bound,
    unsigned char[::1] row, unsigned char[:, ::1] squares
) noexcept nogil
