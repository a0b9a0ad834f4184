"""A record that somebody has changed: what a file from anywhere may hold."""

from tb_planner.recording.format import MAGIC, Chunks, Column, as_varints, pack

KINDS = {'int64': 'varint', 'float32': 'f4', 'uint8': 'u1'}
RUN = {'expanded': [0, 2**34], 'changes': [0, 2**34, 254]}
SIZES = {'expanded': 'expanded_bytes', 'changes': 'change_bytes'}


def changed_record(data, change):
    """The head and the first ticks of a record; change() gets the head of those, and columns as [kind, bytes]."""
    parts = list(Chunks(data))
    first = parts[1]
    columns = {}
    for name, values in first.columns.items():
        kind = KINDS[str(values.dtype)]
        columns[name] = [kind, as_varints(values) if kind == 'varint' else values.tobytes()]
    change(first.head, columns)
    packed = pack(first.head, [Column(name, *column) for name, column in columns.items()])
    last = pack({'kind': 'nothing'})  # what cannot be read at the very end is torn, and passed over
    return MAGIC + pack(parts[0].head) + packed + last


def beyond_the_map(name):
    """A change after which the second tick lists thousands of millions of cells."""

    def change(head, columns):
        run = as_varints(RUN[name])
        columns[name][1], columns[SIZES[name]][1] = run, as_varints([0, len(run), *[0] * (head['count'] - 2)])

    return change


def shares_of_more_than_there_is(head, columns):
    columns['expanded_bytes'][1] = as_varints([2**31, *[0] * (head['count'] - 1)])
