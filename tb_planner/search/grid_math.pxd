# cython: boundscheck=False, wraparound=False, initializedcheck=False
# What compiled modules share of grid_math.py, as the compiler sees it. All of it is inlined into them.


cdef extern from *:
    int lowest "__builtin_ctzll"(unsigned long long bits) noexcept nogil
    void prefetch "__builtin_prefetch"(void* where) noexcept nogil

cdef extern from *:
    """
    static const int tb_dx[8] = {0, 1, 0, -1, 1, 1, -1, -1}, tb_dy[8] = {-1, 0, 1, 0, -1, 1, 1, -1};
    """
    const int DX "tb_dx"[8]
    const int DY "tb_dy"[8]

cdef enum:
    STRAIGHT = 985
    DIAGONAL = 1393
    ROOT = 8
    NONE = -1
    MAX_TRAIL = 4096
    MOVED = 0
    WAITED = 1
    AT_GOAL = 2
    NO_PATH = 3

ctypedef fused number:
    unsigned long long
    unsigned short
    unsigned char
    int

cdef inline number* array(number[::1] view) noexcept nogil:
    return &view[0]

cdef inline unsigned long long bit(int i) noexcept nogil:
    cdef unsigned long long one = 1
    return one << (i & 63)

cdef inline long long octile(long long straight, long long diagonal, int dx, int dy) noexcept nogil:
    if dx < 0:
        dx = -dx
    if dy < 0:
        dy = -dy
    if dx > dy:
        return straight * (dx - dy) + diagonal * dy
    return straight * (dy - dx) + diagonal * dx
