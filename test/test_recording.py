"""What a record shows, tick by tick, is what planner and navigator had to show of themselves then."""

import json
import math
import shutil
import threading
import zlib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from helpers.changed_record import beyond_the_map, changed_record, shares_of_more_than_there_is
from helpers.planners import open_field
from helpers.recorded_trip import RecordedTrip
from helpers.trip import Trip

from tb_planner import (
    Changing,
    Grid,
    Static,
    Status,
    TimeBoundedPlanner,
    Unknown,
    move_to_goal,
    tb_gbfs,
    tb_wa_star,
    tba_star,
    tbaa_star,
)
from tb_planner.geometry import MapGeometry
from tb_planner.maps.costmap import CostmapConfig
from tb_planner.maps.live_map import LiveMap, MapUpdate
from tb_planner.recording import About, RecordedWalk, Recorder, Replay, read_record, writer
from tb_planner.recording.format import (
    HAS_POSE,
    INFLATED,
    MAGIC,
    OBSTACLE,
    UNKNOWN,
    BadRecord,
    Chunks,
    Column,
    as_runs,
    as_varints,
    classes_of,
    from_runs,
    from_varints,
    pack,
)
from tb_planner.recording.writer import Encoder, Frame, NotRecorded, RecordWriter, empty_record, keep_older
from tb_planner.search.algorithms import RestartReason

IDLE = Frame(0.0, 'IDLE', None, None, None, (), 0, 0, 0, 0, None, None, None, 0.0)


@pytest.fixture
def chunks_on_request(monkeypatch):
    """No chunk is written before its time, which is when the record is closed."""
    monkeypatch.setattr(writer, 'CHUNK_S', 1000)


def rooms(rng, height=40, width=60):
    blocked = rng.random((height, width)) < 0.25
    blocked[:3, :3] = blocked[-3:, -3:] = False
    return blocked


class Witness(RecordedWalk):
    """Keeps what the planner shows after each interval, for comparison."""

    def __init__(self, path, planner, world):
        super().__init__(path, planner, world, About('a walk', y_up=False))
        self.seen = []

    def walk(self, states):
        super().walk(states)
        planner = self._planner
        self.seen.append(
            {
                'blocked': planner.grid.blocked,
                'picture': planner.search_picture(),
                'route': planner.route,
                'backtracking': planner.backtracking_length,
                'open_size': planner.open_size,
                'cell': planner.current_cell,
                'status': planner.status.name,
                'restarts': sum(planner.restarts.values()),
                'expansions': planner.expansions,
            }
        )


def walk(path, planner, world):
    with Witness(path, planner, world) as witness:
        run = move_to_goal(planner, witness)
    assert not witness.error
    return run, witness.seen, read_record(path)


def compare(seen, record):
    """Every tick of the record with what was seen; the picture is -1, 50 for expanded, 100 for Open."""
    assert record.ticks == len(seen)
    for expected, replay in zip(seen, Replay(record), strict=True):
        assert np.array_equal(replay.blocked, expected['blocked'])
        shown = np.where(replay.expanded, 50, np.where(replay.open, 100, -1))
        assert np.array_equal(shown, expected['picture']), replay.tick
        assert list(map(tuple, replay.route.tolist())) == list(expected['route'])
        assert replay.backtracking_length == expected['backtracking']
        assert record.columns['open_size'][replay.tick] == expected['open_size']


WORLDS = {
    'static': lambda blocked: Static(Grid(blocked)),
    'changing': lambda blocked: Changing(Grid(blocked), 8, every=3, seed=4),
    'unknown': lambda blocked: Unknown(Grid(blocked), 2),
}
ALGORITHMS = {
    'tba_star': tba_star,
    'tb_wa_star': lambda: tb_wa_star(1.5),
    'tb_gbfs': tb_gbfs,
    'tbaa_star': tbaa_star,
}


@pytest.mark.parametrize('k', [1, 7, 200])
@pytest.mark.parametrize('algorithm', sorted(ALGORITHMS))
@pytest.mark.parametrize('world', sorted(WORLDS))
def test_a_walk_is_shown_as_it_was(tmp_path, world, algorithm, k):
    blocked = rooms(np.random.default_rng(3))
    world = WORLDS[world](blocked)
    grid = world.initial_grid() if isinstance(world, Unknown) else Grid(blocked)
    planner = TimeBoundedPlanner(grid, (1, 1), (58, 38), ALGORITHMS[algorithm](), k=k)
    run, seen, record = walk(tmp_path / 'walk.tbrun', planner, world)
    assert record.ticks == run.intervals
    compare(seen, record)
    assert sum(len(reasons) for _, reasons in record.restarts) == run.searches - 1
    assert int(record.columns['expansions'].sum()) == run.expansions


@pytest.mark.parametrize(
    'options', [{'neighbours': 4}, {'corner_cutting': True}, {'neighbours': 4, 'corner_cutting': True}]
)
def test_open_is_right_for_all_rules_of_movement(tmp_path, options):
    blocked = rooms(np.random.default_rng(8))
    planner = TimeBoundedPlanner(Grid(blocked, **options), (1, 1), (58, 38), k=5)
    _, seen, record = walk(tmp_path / 'walk.tbrun', planner, Static(Grid(blocked, **options)))
    compare(seen, record)


def test_recording_changes_nothing(tmp_path):
    blocked = rooms(np.random.default_rng(5))

    def planner():
        return TimeBoundedPlanner(Grid(blocked), (1, 1), (58, 38), tb_wa_star(1.5), k=9)

    recorded, _, _ = walk(tmp_path / 'walk.tbrun', planner(), WORLDS['changing'](blocked))
    plain = move_to_goal(planner(), WORLDS['changing'](blocked))
    assert recorded.cells == plain.cells
    assert recorded.expansions == plain.expansions


def test_restarts_are_recorded_in_their_tick_with_their_reason(tmp_path):
    blocked = rooms(np.random.default_rng(6))
    planner = TimeBoundedPlanner(Grid(blocked), (1, 1), (58, 38), tb_wa_star(1.5), k=9)
    _, seen, record = walk(tmp_path / 'walk.tbrun', planner, WORLDS['changing'](blocked))
    totals = np.array([state['restarts'] for state in seen])
    restarted = np.flatnonzero(np.diff(totals, prepend=0))
    assert [tick for tick, _ in record.restarts] == restarted.tolist()
    assert len(restarted) > 3
    assert {reason for _, reasons in record.restarts for reason in reasons} <= set(RestartReason)


def test_places_are_centres_of_cells_where_there_are_no_metres(tmp_path):
    planner = TimeBoundedPlanner(Grid(open_field(12, 9)), (1, 1), (10, 7), k=50)
    _, seen, record = walk(tmp_path / 'walk.tbrun', planner, Static(Grid(open_field(12, 9))))
    x, y = record.columns['x'], record.columns['y']
    assert [(math.floor(a), math.floor(b)) for a, b in zip(x, y, strict=True)] == [state['cell'] for state in seen]
    assert {'tick': 0, 'goal': [10.5, 7.5]} in record.events
    statuses = [event['status'] for event in record.events if 'status' in event]
    assert statuses == [Status.MOVED.name, Status.AT_GOAL.name]


# -------------------------------------------------------------------------------------------------- a navigator
MARGINS = CostmapConfig(robot_radius_m=0.2, inflation_radius_m=0.2)


def wall(x):
    values = open_field(60, 40)
    values[:30, x] = True
    return values


def test_a_trip_is_shown_as_it_was(tmp_path):
    path = tmp_path / 'trip.tbrun'
    trip = RecordedTrip(path, open_field(60, 40), (0.55, 0.55), (5.5, 3.5), k=300)
    trip.run(10)
    trip.change_map(wall(40))
    trip.run(20)
    trip.move_map(np.vstack((wall(40), open_field(60, 5))), MapGeometry(60, 45, 0.1, (0.0, -0.03, 0.0)))
    trip.run(3)
    trip.tick(pose=False)
    trip.change_map(np.vstack((open_field(60, 40), open_field(60, 5))))
    trip.run_to_goal()
    trip.tick()
    record = trip.close(path)
    compare(trip.seen, record)
    assert {reason for _, reasons in record.restarts for reason in reasons} >= {RestartReason.MAP_MOVED}
    assert [(tick, reasons) for tick, reasons in record.restarts] == [
        (tick, [str(reason) for reason in seen.tick.restarts])
        for tick, seen in enumerate(trip.history)
        if seen.tick.restarts
    ]


def test_pose_waypoint_and_goal_are_in_cells_of_the_map(tmp_path):
    path = tmp_path / 'trip.tbrun'
    geometry = MapGeometry(60, 40, 0.1, (-2.0, 1.0, 0.7))
    start, goal = geometry.to_world(5.5, 5.5), geometry.to_world(50.5, 30.5)
    trip = RecordedTrip(path, wall(30), start, goal, geometry=geometry)
    trip.run_to_goal()
    record = trip.close(path)
    columns = record.columns
    for tick, seen in enumerate(trip.history):
        x, y = geometry.to_grid(seen.pose.x_m, seen.pose.y_m)
        assert (columns['x'][tick], columns['y'][tick]) == pytest.approx((x, y), abs=1e-3)
        if seen.tick.waypoint is not None:
            x, y = geometry.to_grid(seen.tick.waypoint.x_m, seen.tick.waypoint.y_m)
            assert (columns['waypoint_x'][tick], columns['waypoint_y'][tick]) == pytest.approx((x, y), abs=1e-3)
    goals = [event['goal'] for event in record.events if 'goal' in event]
    assert goals == [[50.5, 30.5], None]
    assert columns['duration_us'].tolist() == [1000 * tick for tick in range(record.ticks)]
    assert columns['time_us'].tolist() == [0] + [50_000] * (record.ticks - 1)


def test_before_the_first_map_there_are_no_places(tmp_path):
    path = tmp_path / 'trip.tbrun'
    trip = RecordedTrip(path, wall(30), (0.55, 0.55), (5.5, 0.55))
    update, trip._update = trip._update, None
    trip.tick()
    trip._update = update
    trip.run(3)
    record = trip.close(path)
    assert [bool(flags & HAS_POSE) for flags in record.columns['flags']] == [False, True, True, True]
    assert [event for event in record.events if 'goal' in event] == [{'tick': 1, 'goal': [55.0, 5.5]}]


def test_a_recorder_that_starts_late_records_the_whole_state(tmp_path):
    path = tmp_path / 'trip.tbrun'
    trip = Trip(wall(30), (0.55, 0.55), (5.5, 0.55), k=60)
    update = trip._update
    trip.run(8)
    trip.__class__, trip.seen = RecordedTrip, []
    trip.recorder = Recorder(path, About())
    trip._update = MapUpdate(update.geometry, update.grid, update.grid.update(wall(30)))
    trip.run_to_goal()
    compare(trip.seen, trip.close(path))


def test_obstacles_margins_and_unknown_cells_are_distinguished(tmp_path):
    occupancy = np.full((30, 40), -1, np.int8)
    occupancy[:, :25] = 0
    occupancy[10:12, 10:12] = 100
    live = LiveMap(CostmapConfig(robot_radius_m=0.2, inflation_radius_m=0.2))
    live.full(occupancy, MapGeometry(40, 30, 0.1))
    update = live.latest()
    classes = classes_of(update.grid.cost_u16, update.obstacles(update.grid.box), update.unknown(update.grid.box))
    assert np.array_equal(classes == OBSTACLE, occupancy == 100)
    assert np.array_equal(classes == UNKNOWN, occupancy == -1)
    assert np.array_equal(classes == INFLATED, update.grid.blocked & (occupancy != 100))
    assert classes[20, 20] == 0


def test_what_becomes_known_and_costs_the_same_is_shown(tmp_path, chunks_on_request):
    """No cost changes, so no change is reported; the recorder still looks around the robot once a chunk."""
    occupancy = np.full((30, 40), -1, np.int8)
    live = LiveMap(CostmapConfig())
    live.full(occupancy, MapGeometry(40, 30, 0.1))
    trip = Trip(open_field(40, 30), (0.55, 0.55), (3.5, 0.55))
    path = tmp_path / 'trip.tbrun'
    recorder = Recorder(path, About())
    update = live.latest()
    for now in range(2):
        trip.tick()
        recorder.see(trip.navigator, trip.last, update if now == 0 else None, trip.history[-1].pose, float(now))
        recorder.end_tick(0.0)
        occupancy[:, :20] = 0
        live.full(occupancy, MapGeometry(40, 30, 0.1))
    recorder.close()
    *_, replay = Replay(read_record(path))
    assert np.array_equal(replay.classes == UNKNOWN, occupancy == -1)


def test_in_other_than_real_time_obstacles_are_those_of_the_tick(tmp_path, chunks_on_request):
    """The writer begins after the last tick."""
    occupancy = np.zeros((30, 40), np.int8)
    live, path = LiveMap(MARGINS), tmp_path / 'trip.tbrun'
    trip, seen = Trip(open_field(40, 30), (0.55, 0.55), (3.5, 0.55)), []
    with Recorder(path, About(), real_time=False) as recorder:
        for now in range(6):
            occupancy[:] = 0
            occupancy[20, 5 * now : 5 * now + 3] = 100
            live.full(occupancy, MapGeometry(40, 30, 0.1))
            trip.tick()
            recorder.see(trip.navigator, trip.last, live.latest(), trip.history[-1].pose, float(now))
            recorder.end_tick(0.0)
            seen.append(occupancy == 100)
    for expected, replay in zip(seen, Replay(read_record(path)), strict=True):
        assert np.array_equal(replay.classes == OBSTACLE, expected), replay.tick


def test_an_obstacle_in_the_margin_of_another_is_shown(tmp_path):
    occupancy = np.zeros((30, 40), np.int8)
    occupancy[10, 10] = 100
    live = LiveMap(CostmapConfig(robot_radius_m=0.3, inflation_radius_m=0.3))
    live.full(occupancy, MapGeometry(40, 30, 0.1))
    encoder, updates = Encoder(), [live.latest()]
    occupancy[10, 10:12] = 100
    live.full(occupancy, MapGeometry(40, 30, 0.1))
    updates.append(live.latest())
    from tb_planner.recording.recorder import map_change

    encoder.chunk([IDLE._replace(change=map_change(update, real_time=False)) for update in updates])
    assert np.array_equal(encoder._classes == OBSTACLE, occupancy == 100)


# -------------------------------------------------------------------------------------------------- the file
def written(tmp_path, ticks=300):
    path = tmp_path / 'walk.tbrun'
    blocked = rooms(np.random.default_rng(2), 60, 200)
    planner = TimeBoundedPlanner(Grid(blocked), (1, 1), (198, 58), k=2)
    world = Changing(Grid(blocked), 4)
    with patch.object(writer, 'CHUNK_S', 1000), RecordedWalk(path, planner, world, About('a walk')) as walk_:
        for _ in range(3):
            move_to_goal(planner, walk_, max_intervals=ticks // 3)
            walk_._write_frames()  # and no other thread does
    return path


def test_a_record_can_be_read_while_and_after_it_is_torn(tmp_path):
    data = written(tmp_path).read_bytes()
    path = tmp_path / 'torn.tbrun'
    whole = read_record(tmp_path / 'walk.tbrun').ticks
    seen = set()
    for end in range(len(MAGIC) + 600, len(data), 197):
        path.write_bytes(data[:end])
        seen.add(read_record(path).ticks)
    ends = np.cumsum([chunk.head.get('count', 0) for chunk in Chunks(data)]).tolist()
    assert seen == set(ends[:-1])
    assert len(ends) >= 4
    path.write_bytes(data[:-3] + b'\0\0\0')
    assert read_record(path).ticks < whole


def test_what_is_left_out_of_a_record_is_counted(tmp_path):
    data = written(tmp_path).read_bytes()
    path, parts = tmp_path / 'torn.tbrun', Chunks(data)
    ends = [parts.end for _ in parts]
    assert (ends[-1], parts.why) == (len(data), '')
    middle = ends[-2] + 2
    for torn, end, why in (
        (data, len(data), ''),
        (data + b'\7\0', len(data), 'ends within a chunk'),
        (data[:-1], ends[-2], 'ends within a chunk'),
        (data[:-3] + b'\0\0\0', ends[-2], 'cannot be read'),
        (data[:middle] + b'\xff\xff' + data[middle + 2 :], ends[-2], 'ends within a chunk'),
    ):
        path.write_bytes(torn)
        record = read_record(path)
        assert (record.end, record.left_out) == (end, len(torn) - end)
        assert why in record.why
        assert bool(record.why) == bool(record.left_out)


def test_what_is_not_a_record_is_refused(tmp_path):
    path = tmp_path / 'no.tbrun'
    for data, why in (
        (b'', 'the file is empty'),
        (b'PK\3\4 something', 'begins with'),
        (MAGIC[:-1] + b'\x02', 'version'),
        (MAGIC, 'the file has no head'),
        (MAGIC + pack({'kind': 'ticks', 'count': 0, 'first': 0, 'events': []}), 'the file has no head'),
    ):
        path.write_bytes(data)
        with pytest.raises(BadRecord, match=why):
            read_record(path)
    data = bytearray(written(tmp_path).read_bytes())
    data[len(MAGIC) + 40] ^= 255
    path.write_bytes(data)
    with pytest.raises(BadRecord, match='at byte 12'):
        read_record(path)


def chunk_of(head, data=b''):
    """A chunk with any head at all."""
    text = json.dumps(head).encode()
    body = zlib.compress(len(text).to_bytes(4, 'little') + text + data)
    return len(body).to_bytes(4, 'little') + body


TICKS = {'kind': 'ticks', 'first': 0, 'count': 1, 'events': []}


@pytest.mark.parametrize(
    'bad',
    [
        chunk_of([1]),
        chunk_of({'kind': 'ticks', 'columns': 5}),
        chunk_of({**TICKS, 'columns': [['flags', 'varint', 2]]}, b'\xff\xff'),
        chunk_of({**TICKS, 'columns': [['flags', 'varint', -2]]}, b'\1\1'),
        chunk_of({'columns': []}),
        chunk_of({'kind': 'ticks', 'columns': []}),
        chunk_of({**TICKS, 'count': 'x', 'columns': []}),
        chunk_of({**TICKS, 'events': 4, 'columns': []}),
        chunk_of({**TICKS, 'columns': []}),
    ],
)
def test_a_record_made_by_somebody_else_is_refused(tmp_path, bad):
    """Each chunk comes before a good one: only the last may be torn."""
    path = tmp_path / 'no.tbrun'
    good = written(tmp_path).read_bytes()[len(MAGIC) :]
    head_end = 4 + int.from_bytes(good[:4], 'little')
    path.write_bytes(MAGIC + good[:head_end] + bad + good[head_end:])
    with pytest.raises(BadRecord, match=r'no\.tbrun cannot be shown'):
        read_record(path)


def test_too_few_entries_for_the_ticks_are_reported(tmp_path):
    path = tmp_path / 'no.tbrun'
    data = written(tmp_path).read_bytes()
    first = next(chunk for chunk in Chunks(data) if chunk.head['kind'] == 'ticks')
    columns = [Column(name, 'u1', bytes(len(values))) for name, values in first.columns.items()]
    path.write_bytes(MAGIC + pack({'kind': 'head'}) + pack({**TICKS, 'count': 10**6}, columns))
    with pytest.raises(BadRecord, match=r'time_us has \d+ entries; there are 1000000 ticks'):
        read_record(path)


def test_a_chunk_that_unpacks_to_more_than_there_can_be_is_not_unpacked(tmp_path, monkeypatch):
    path = written(tmp_path)
    monkeypatch.setattr('tb_planner.recording.format.LARGEST_CHUNK', 2000)
    with pytest.raises(BadRecord, match='more than 2000 bytes'):
        read_record(path)


def test_chunks_that_together_unpack_to_more_than_there_can_be_are_left_out(tmp_path, monkeypatch):
    """A few kilobytes may claim to be many gigabytes; of a long run, the part that fits is shown."""
    path = written(tmp_path)
    data = path.read_bytes()
    zeros = chunk_of({'kind': 'zeros', 'columns': [['map', 'u1', 10**6]]}, bytes(10**6))
    monkeypatch.setattr('tb_planner.recording.format.LARGEST_RECORD', 10**7)
    path.write_bytes(data + 5 * zeros)
    assert read_record(path).left_out == 0
    path.write_bytes(data + 10 * zeros)
    record = read_record(path)
    assert record.ticks == 300
    assert (record.end, record.left_out) == (len(data) + 9 * len(zeros), len(zeros))
    assert 'more than 10,000,000 bytes' in record.why


def test_a_column_of_more_numbers_than_there_can_be_ticks_is_not_worked_out(tmp_path, monkeypatch):
    path = written(tmp_path)
    path.write_bytes(path.read_bytes() + chunk_of({'kind': 'more', 'columns': [['more', 'varint', 9999]]}, bytes(9999)))
    monkeypatch.setattr('tb_planner.recording.format.LARGEST_PART', 9998)
    with pytest.raises(BadRecord, match='column of numbers has more than 9998 bytes'):
        read_record(path)


def test_a_head_of_more_than_there_can_be_events_is_not_worked_out(tmp_path, monkeypatch):
    path = written(tmp_path)
    path.write_bytes(path.read_bytes() + chunk_of({'kind': 'more', 'events': 5000 * [{}], 'columns': []}))
    monkeypatch.setattr('tb_planner.recording.format.LARGEST_PART', 9998)
    with pytest.raises(BadRecord, match=r'a head has 2\d+ bytes; it must have at most 9998'):
        read_record(path)


def test_of_a_large_file_that_is_no_record_only_the_beginning_is_read(tmp_path):
    """Somebody has taken a bag for a record."""
    path = tmp_path / 'drive.mcap'
    with path.open('wb') as file:
        file.truncate(2**38)  # which takes no room on the disk
    with pytest.raises(BadRecord, match='begins with'):
        read_record(path)


def changed(tmp_path, change):
    """The path of a record that was good, and has been changed."""
    path = tmp_path / 'changed.tbrun'
    path.write_bytes(changed_record(written(tmp_path).read_bytes(), change))
    return path


def no_change(head, columns):
    pass


def a_tick_more(head, columns):
    head['count'] += 1


def half_a_tick(head, columns):
    head['count'] = 0.5


def fewer_ticks_than_none(head, columns):
    head['count'] = -1


def a_root_more(head, columns):
    columns['roots'][1] += as_varints([1])


def a_number_without_end(head, columns):
    columns['left'][1] = 400 * b'\xff' + b'\1' + columns['left'][1][1:]


def a_map_larger_than_it_is(head, columns):
    next(event['map'] for event in head['events'] if 'map' in event).update(width=10**6, height=10**6)


def a_map_of_texts(head, columns):
    next(event['map'] for event in head['events'] if 'map' in event).update(width='200')


def a_map_that_is_less_than_nothing(head, columns):
    facts = next(event['map'] for event in head['events'] if 'map' in event)
    facts.update(width=-facts['width'], height=-facts['height'])


def an_event_at_no_tick(head, columns):
    head['events'].append({'tick': 10**9, 'restarts': ['blocked']})


def a_restart_for_no_reason(head, columns):
    head['events'].append({'tick': 0, 'restarts': [3]})


def a_status_that_is_a_number(head, columns):
    head['events'].append({'tick': 0, 'status': 3})


def an_algorithm_that_is_a_number(head, columns):
    head['events'].append({'tick': 0, 'algorithm': 3})


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (a_tick_more, r'entries; there are \d+ ticks'),
        (half_a_tick, r'a chunk has 0\.5 ticks'),
        (fewer_ticks_than_none, 'a chunk has -1 ticks'),
        (shares_of_more_than_there_is, r'expanded has \d+ entries; its ticks need 2147483648'),
        (a_root_more, r'roots has \d+ entries'),
        (a_number_without_end, 'a number has more than 35 bits'),
        (a_map_larger_than_it_is, 'map has 12000 entries; its ticks need 1000000000000'),
        (a_map_of_texts, "has '200' x 60 cells"),
        (a_map_that_is_less_than_nothing, 'has -200 x -60 cells'),
        (an_event_at_no_tick, 'an event is at tick 1000000000'),
        (a_restart_for_no_reason, 'a status or reason at tick 0 is 3; it must be a string'),
        (a_status_that_is_a_number, 'a status or reason at tick 0 is 3; it must be a string'),
        (an_algorithm_that_is_a_number, 'the algorithm at tick 0 is 3; it must be a string'),
    ],
    ids=lambda value: getattr(value, '__name__', ''),
)
def test_inconsistent_records_are_refused_with_the_reason(tmp_path, change, reason):
    read_record(changed(tmp_path, no_change))
    with pytest.raises(BadRecord, match=reason):
        read_record(changed(tmp_path, change))


@pytest.mark.parametrize('name', ['expanded', 'changes'])
def test_cells_outside_the_map_are_reported_and_take_no_memory(tmp_path, name):
    replay = Replay(read_record(changed(tmp_path, beyond_the_map(name))))
    with pytest.raises(BadRecord, match='tick 1 names cell 17179869184; the map has 12000 cells'):
        list(replay)


def test_a_title_that_is_no_text_is_refused(tmp_path):
    path = tmp_path / 'no.tbrun'
    path.write_bytes(MAGIC + pack({'kind': 'head', 'title': ['</script>']}))
    with pytest.raises(BadRecord, match='the title is'):
        read_record(path)


def test_a_full_disk_is_reported_and_closing_does_not_fail(chunks_on_request):
    """Data that could not be written stays in the buffer, and closing the file tries again."""
    written_by = RecordWriter('/dev/null', About())
    written_by._file.close()
    written_by._file = Path('/dev/full').open('wb')  # noqa: SIM115, close() does
    written_by.put(IDLE)
    written_by.close()
    assert 'No space left' in written_by.error
    with pytest.raises(OSError, match='No space left'):
        Recorder('/dev/full', About())


def test_only_a_record_is_written_over(tmp_path):
    """A launch argument may name the wrong file."""
    path, link = tmp_path / 'planner.yaml', tmp_path / 'run.tbrun'
    path.write_text('tb_planner: {}')
    link.symlink_to(path)
    for there in (path, link):
        with pytest.raises(OSError, match='the file exists and is not the record of a run'):
            Recorder(there, About())
        assert path.read_text() == 'tb_planner: {}'
    for data in (b'', MAGIC[:3], written(tmp_path).read_bytes()):
        path.write_bytes(data)
        Recorder(path, About('another')).close()
        assert read_record(path).head['title'] == 'another'


def test_only_a_record_is_emptied(tmp_path):
    """A viewer empties the record before the run begins."""
    path, link = tmp_path / 'planner.yaml', tmp_path / 'run.tbrun'
    path.write_text('tb_planner: {}')
    link.symlink_to(path)
    for there in (path, link):
        with pytest.raises(FileExistsError, match='the file exists and is not the record of a run'):
            empty_record(there)
        assert path.read_text() == 'tb_planner: {}'
    for data in (b'', written(tmp_path).read_bytes()):
        path.write_bytes(data)
        empty_record(path)
        assert path.read_bytes() == b''
    empty_record(tmp_path / 'new.tbrun')
    assert (tmp_path / 'new.tbrun').read_bytes() == b''


def test_the_record_of_the_run_before_is_kept_and_only_that(tmp_path):
    """A node that crashed and is started again would write over just what somebody wants to see."""
    path, older = tmp_path / 'run.tbrun', tmp_path / 'run.1.tbrun'
    keep_older(path)
    assert not older.exists()
    runs = []
    for _ in range(3):
        shutil.move(written(tmp_path), path)
        runs.append(path.read_bytes())
        keep_older(path)
        assert older.read_bytes() == runs[-1]
        assert not path.exists()
    for data in (b'', MAGIC, MAGIC + pack({'kind': 'head'})):  # in these there is nothing to see
        path.write_bytes(data)
        keep_older(path)
        assert older.read_bytes() == runs[-1]


def test_no_other_file_is_moved_or_overwritten(tmp_path):
    path, older, link = tmp_path / 'run.tbrun', tmp_path / 'run.1.tbrun', tmp_path / 'link.tbrun'
    path.write_text('Minutes of a meeting')
    keep_older(path)
    assert path.read_text() == 'Minutes of a meeting'
    shutil.move(written(tmp_path), path)
    older.write_text('Minutes of a meeting')
    with pytest.raises(FileExistsError, match='is not the record of a run'):
        keep_older(path)
    assert older.read_text() == 'Minutes of a meeting'
    older.unlink()
    link.symlink_to(path)
    keep_older(link)
    assert read_record(older).ticks
    Recorder(link, About('another')).close()
    assert read_record(path).head['title'] == 'another'
    for device in ('/dev/null', tmp_path):
        keep_older(Path(device))


class Disk:
    """A file on a disk that does this with each chunk after the head."""

    def __init__(self, take):
        self.take, self.chunks = take, []

    def write(self, chunk):
        self.take()
        self.chunks.append(chunk)

    def tell(self):
        return 1

    def flush(self):
        pass

    def close(self):
        pass


def be_full():
    raise OSError(28, 'No space left on device')


def test_a_disk_that_fails_ends_the_record_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, 'CHUNK_S', 0.001)
    trip = Trip(wall(30), (0.55, 0.55), (5.5, 0.55))
    recorder = Recorder(tmp_path / 'trip.tbrun', About())
    recorder._file.close()
    recorder._file = Disk(be_full)
    update = trip._update
    for now in range(500):
        trip.tick(search=recorder.searching(None))
        recorder.see(trip.navigator, trip.last, update if now == 0 else None, trip.history[-1].pose, float(now))
        recorder.end_tick(0.0)
        trip.drive()
        threading.Event().wait(0.001)
        if recorder.error:
            break
    recorder.close()
    assert 'No space left' in recorder.error


def test_a_jump_of_the_clock_adds_no_time_to_the_record(tmp_path):
    """A simulated clock may jump by decades, forwards or back."""
    path = tmp_path / 'run.tbrun'
    writes = RecordWriter(path, About())
    for time_s in (0.0, 0.5, 1.7e9, 1.7e9 + 0.5, 3.0, 3.5):
        writes.put(IDLE._replace(time_s=time_s))
    writes.close()
    assert read_record(path).columns['time_us'].tolist() == [0, 500_000, 0, 500_000, 0, 500_000]


def test_frames_that_exceed_the_queue_are_dropped_and_the_whole_state_follows(tmp_path, monkeypatch, chunks_on_request):
    monkeypatch.setattr(writer, 'MAX_WAITING_BYTES', 40_000)
    path = tmp_path / 'trip.tbrun'
    trip = RecordedTrip(path, wall(30), (0.55, 0.55), (5.5, 0.55), k=40)
    trip.recorder.close()
    trip.recorder = Recorder(path, About())
    trip.run(5)
    trip.change_map(wall(35))
    trip.run_to_goal()
    record = trip.close(path)
    lost = sum(event.get('lost', 0) for event in record.events)
    assert 0 < lost < len(trip.seen)
    assert record.ticks + lost == len(trip.seen)
    compare(trip.seen[lost:], record)


def test_where_ticks_do_not_come_in_real_time_they_wait_for_the_writer_and_none_is_lost(
    tmp_path, monkeypatch, chunks_on_request
):
    monkeypatch.setattr(writer, 'MAX_WAITING_BYTES', 40_000)
    path = tmp_path / 'trip.tbrun'
    trip = RecordedTrip(path, wall(30), (0.55, 0.55), (5.5, 0.55), k=40)
    trip.recorder.close()
    trip.recorder = Recorder(path, About(), real_time=False)
    trip.run(5)
    trip.change_map(wall(35))
    trip.run_to_goal()
    record = trip.close(path)
    assert [event for event in record.events if 'lost' in event] == []
    compare(trip.seen, record)


@pytest.mark.parametrize('real_time', [True, False])
def test_only_a_robot_does_not_wait_for_its_record_to_be_written_to_the_end(
    tmp_path, monkeypatch, chunks_on_request, real_time
):
    monkeypatch.setattr(writer, 'STOP_S', 0.01)
    may_go_on = threading.Event()
    writes = RecordWriter(tmp_path / 'run.tbrun', About(), real_time=real_time)
    writes._file.close()
    writes._file = disk = Disk(lambda: may_go_on.wait(60))
    writes.put(IDLE)
    later = threading.Timer(0.3, may_go_on.set)
    later.start()
    writes.close()
    assert ('were not written within' in writes.error) == real_time
    assert len(disk.chunks) == (0 if real_time else 1)
    later.join()


def test_who_waits_for_a_disk_that_fails_goes_on(tmp_path, monkeypatch, chunks_on_request):
    monkeypatch.setattr(writer, 'MAX_WAITING_BYTES', 100)
    writes = RecordWriter(tmp_path / 'run.tbrun', About(), real_time=False)
    writes._file.close()
    writes._file = Disk(be_full)
    for _ in range(10):
        writes.put(IDLE)
    writes.close()
    assert 'No space left' in writes.error


@pytest.mark.skipif(not Path('/dev/full').exists(), reason='there is no /dev/full here')
def test_a_walk_that_is_not_recorded_to_its_end_is_an_error(tmp_path, chunks_on_request):
    planner = TimeBoundedPlanner(Grid(open_field(12, 9)), (1, 1), (10, 7), k=50)
    recorded = RecordedWalk(tmp_path / 'walk.tbrun', planner, Static(Grid(open_field(12, 9))), About())
    recorded._file.close()
    recorded._file = Path('/dev/full').open('wb')  # noqa: SIM115, close() does
    with pytest.raises(NotRecorded, match=r'lacks the end of the walk: .*No space left'), recorded:
        run = move_to_goal(planner, recorded)
    assert run.cells[-1] == (10, 7)


@pytest.mark.parametrize('numbers', [[], [0], [127, 128, 2**14 - 1, 2**14, 2**21, 2**28, 2**32 + 5, 2**34]])
def test_numbers_come_back(numbers):
    assert from_varints(as_varints(numbers)).tolist() == numbers


def test_states_come_back_from_runs():
    rng = np.random.default_rng(1)
    for share in (0.02, 0.5, 0.98):
        states = np.flatnonzero(rng.random(500) < share).astype(np.int32)
        assert np.array_equal(from_runs(*as_runs(states).T), states)
    assert len(from_runs(*as_runs(np.empty(0, np.int32)).T)) == 0


def test_a_blocked_class_is_a_blocked_cell():
    costs = np.array([[1.0, 1.5, 3.0, 4095.0, np.inf]], np.float32)
    classes = classes_of(Grid(costs).cost_u16, None, None)
    assert (classes >= 252).tolist() == [[False] * 4 + [True]]
    assert (np.diff(classes[0, :4].astype(int)) > 0).all()


def test_a_browser_can_read_the_file(tmp_path):
    """zlib's format is what DecompressionStream('deflate') reads."""
    data = written(tmp_path).read_bytes()
    length = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 4], 'little')
    assert b'"kind":"head"' in zlib.decompress(data[len(MAGIC) + 4 : len(MAGIC) + 4 + length])
