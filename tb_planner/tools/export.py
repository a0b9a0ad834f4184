"""`tb_planner export RUN FILE` turns the record of a run into an MCAP file for Foxglove and PlotJuggler, or a CSV file.

An MCAP file has the messages of ROS 2 with their definitions; ROS itself is not needed. Times count from the first tick
of the record, in the file as on the replay page.
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_planner.errors import BadInput
from tb_planner.files import begins_with, check_may_write, size_text, written_whole
from tb_planner.geometry import Box, MapGeometry, length_m
from tb_planner.recording import Record, read_record
from tb_planner.recording.format import (
    HAS_POSE,
    HAS_WAYPOINT,
    HIGHEST_COST,
    INFLATED,
    NEW_ROUTE,
    OBSTACLE,
    BadRecord,
    from_runs,
    from_varints,
)
from tb_planner.recording.record import Replay
from tb_planner.tools.view_command import damage

DONE = 0
MCAP, CSV = '.mcap', '.csv'
MCAP_BEGINS = b'\x89MCAP0\r\n'
FRAME = 'map'
WHOLE_MAP_NS = 10**9
"""Time between two whole maps while the map changes: a program that jumps to a time needs one from before it."""
COLUMNS = (
    *('tick', 'time_s', 'status', 'tick_time_ms', 'expansions', 'open_size', 'distance_to_go_m', 'route_moves'),
    *(
        'backtracking_moves',
        'restarts',
        'x_m',
        'y_m',
        'yaw_rad',
        'waypoint_x_m',
        'waypoint_y_m',
        'goal_x_m',
        'goal_y_m',
    ),
)
GRID, UPDATE = 'nav_msgs/msg/OccupancyGrid', 'map_msgs/msg/OccupancyGridUpdate'
POSE, PATH = 'geometry_msgs/msg/PoseStamped', 'nav_msgs/msg/Path'
TEXT, NUMBER, COUNT = 'std_msgs/msg/String', 'std_msgs/msg/Float64', 'std_msgs/msg/UInt32'
UPDATE_DEFINITION = 'std_msgs/Header header\nint32 x\nint32 y\nuint32 width\nuint32 height\nint8[] data'
TOPICS = {
    '/map': GRID,
    '/map_updates': UPDATE,
    '/pose': POSE,
    '/goal_pose': POSE,
    '/waypoint': POSE,
    '/plan': PATH,
    '/tb_planner/status': TEXT,
    '/tb_planner/restarts': TEXT,
    '/tb_planner/tick_time_ms': NUMBER,
    '/tb_planner/distance_to_go_m': NUMBER,
    '/tb_planner/expansions': COUNT,
    '/tb_planner/open_size': COUNT,
    '/tb_planner/backtracking_moves': COUNT,
}
"""The topics of an MCAP file and their types."""
LATCHED = ('/map', '/plan', '/tb_planner/status')
EXAMPLES = """examples:
  tb_planner export run.tbrun run.mcap
  tb_planner export run.tbrun run.csv
"""

Place = tuple[float, float]
NO_ROUTE: NDArray[np.float64] = np.empty((0, 2))


class ExportError(BadInput):
    """A record cannot be exported to this file."""


class Moment(NamedTuple):
    """A tick, in metres."""

    tick: int
    time_ns: int
    status: str
    restarts: tuple[str, ...]
    geometry: MapGeometry | None = None
    pose: tuple[float, float, float] | None = None
    waypoint: Place | None = None
    goal: Place | None = None
    has_new_goal: bool = False
    route: NDArray[np.float64] = NO_ROUTE
    """The centres of the cells ahead of the robot."""

    @property
    def distance_to_go_m(self) -> float | None:
        """The distance along the route, and straight on from its end to the goal; None without a pose or a goal."""
        if self.pose is None or self.goal is None:
            return None
        return length_m(np.vstack([self.pose[:2], self.route[1:], self.goal]))


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        'export',
        help='turn the record of a run into an MCAP or CSV file, for Foxglove, PlotJuggler and others',
        description='Writes the record of a run as ROS 2 messages (.mcap), or its ticks as a table (.csv).',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=export)
    parser.add_argument('run', metavar='RUN', type=Path, help='a .tbrun file of the node, the demo or a Recorder')
    parser.add_argument('output', metavar='FILE', type=Path, help='a name that ends with .mcap or .csv')


def export(options: argparse.Namespace) -> int:
    """Checks both files, and writes the second one."""
    kind = options.output.suffix.lower()
    if kind not in (MCAP, CSV):
        raise ExportError(f'{options.output}: the name must end with {MCAP} or {CSV}')
    begins = MCAP_BEGINS if kind == MCAP else ','.join(COLUMNS).encode()
    check_may_write(options.output, 'an earlier export', lambda path: begins_with(path, begins), '')
    record = read_record(options.run)
    if not record.ticks:
        raise BadRecord(f'{options.run} cannot be exported: it has no ticks{damage(record)}')
    written = write_mcap(options.output, record) if kind == MCAP else write_csv(options.output, record)
    size, what = size_text(options.output), 'messages' if kind == MCAP else 'rows'
    print(f'{options.output}: {record.ticks:,} ticks, {written:,} {what}, {size}')
    if record.why:
        print(f'{options.run}{damage(record)}')
    return DONE


def moments(record: Record, replay: Replay) -> Iterator[Moment]:
    """Goes through the record with this replay."""
    columns = record.columns
    times_ns = np.cumsum(columns['time_us'].astype(np.int64)) * 1000
    events = iter(record.events)
    event = next(events, None)
    geometry: MapGeometry | None = None
    status, goal = '', None
    for tick, _ in enumerate(replay):
        restarts: list[str] = []
        has_new_goal = False
        while event is not None and event['tick'] == tick:
            status = event.get('status', status)
            restarts += event.get('restarts', ())
            if 'map' in event:
                geometry = geometry_of(event['map'])
            if 'goal' in event:
                goal, has_new_goal = event['goal'], True
            event = next(events, None)
        here = Moment(tick, int(times_ns[tick]), status, tuple(restarts))
        if geometry is None:  # there are no places yet
            yield here
            continue
        names, flags = ('x', 'y', 'yaw', 'waypoint_x', 'waypoint_y'), int(columns['flags'][tick])
        x, y, yaw, waypoint_x, waypoint_y = (float(columns[name][tick]) for name in names)
        yaw = math.remainder(yaw + geometry.yaw, math.tau)
        yield here._replace(
            geometry=geometry,
            pose=(*geometry.to_world(x, y), yaw) if flags & HAS_POSE else None,
            waypoint=geometry.to_world(waypoint_x, waypoint_y) if flags & HAS_WAYPOINT else None,
            goal=geometry.to_world(*goal) if goal else None,
            has_new_goal=has_new_goal,
            route=geometry.to_world_array(replay.route) if len(replay.route) else NO_ROUTE,
        )


def geometry_of(facts: dict[str, Any]) -> MapGeometry:
    """The geometry of a map in a record; a map without metres has cells of 1 m."""
    x, y, yaw = facts.get('origin', (0.0, 0.0, 0.0))
    return MapGeometry(facts['width'], facts['height'], facts.get('resolution_m', 1.0), (x, y, yaw))


# ---------------------------------------------------------------------- CSV
def write_csv(path: Path, record: Record) -> int:
    """Writes a row for each tick, with what is not there left empty; returns the number of rows."""
    columns = record.columns
    with written_whole(path), path.open('w', encoding='utf-8', newline='') as file:
        table = csv.writer(file, lineterminator='\n')
        table.writerow(COLUMNS)
        for moment in moments(record, Replay(record)):
            tick, to_go_m = moment.tick, moment.distance_to_go_m
            table.writerow(
                [
                    tick,
                    f'{moment.time_ns / 1e9:.6f}',
                    moment.status,
                    f'{columns["duration_us"][tick] / 1e3:.3f}',
                    *(columns[name][tick] for name in ('expansions', 'open_size')),
                    '' if to_go_m is None else f'{to_go_m:.3f}',
                    *(columns[name][tick] for name in ('left', 'back')),
                    ' '.join(moment.restarts),
                    *_numbers(moment.pose, 3),
                    *_numbers(moment.waypoint, 2),
                    *_numbers(moment.goal, 2),
                ]
            )
    return record.ticks


def _numbers(values: Sequence[float] | None, count: int) -> list[str]:
    return [''] * count if values is None else [f'{value:.3f}' for value in values]


# ---------------------------------------------------------------------- MCAP
def write_mcap(path: Path, record: Record) -> int:
    """Writes the messages of the run; returns their number."""
    try:
        from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
    except ImportError as error:
        raise ExportError(f'{MCAP} files need the Python package rosbags: pip install rosbags') from error
    messages = Messages()
    count = 0
    in_folder = tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix='.tb_planner_')
    with written_whole(path), in_folder as folder:
        bag = Path(folder) / 'run'
        writer = Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP)
        writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        with writer:
            connections = {
                topic: writer.add_connection(
                    topic, kind, typestore=messages.store, offered_qos_profiles=[_qos(topic in LATCHED)]
                )
                for topic, kind in TOPICS.items()
            }
            for time_ns, topic, message in messages_of(record, messages):
                writer.write(connections[topic], time_ns, messages.store.serialize_cdr(message, TOPICS[topic]))
                count += 1
        (bag / f'{bag.name}{MCAP}').replace(path)
    return count


def messages_of(record: Record, messages: Messages) -> Iterator[tuple[int, str, Any]]:
    """Time, topic and message of all messages, in order of time."""
    columns, replay = record.columns, Replay(record)
    status, whole_at_ns, is_outdated = '', 0, False
    for moment in moments(record, replay):
        tick, at_ns = moment.tick, moment.time_ns
        if moment.geometry is not None:
            whole, patch = _map_change(record, replay)
            is_outdated |= patch is not None
            if whole or (is_outdated and at_ns - whole_at_ns >= WHOLE_MAP_NS):
                yield at_ns, '/map', messages.grid(at_ns, replay.classes, moment.geometry)
                whole_at_ns, is_outdated = at_ns, False
            elif patch is not None:
                yield at_ns, '/map_updates', messages.update(at_ns, replay.classes, patch)
        if moment.pose is not None:
            yield at_ns, '/pose', messages.pose(at_ns, *moment.pose)
        if moment.has_new_goal and moment.goal is not None:
            yield at_ns, '/goal_pose', messages.pose(at_ns, *moment.goal)
        if moment.waypoint is not None:
            yield at_ns, '/waypoint', messages.pose(at_ns, *moment.waypoint)
        if int(columns['flags'][tick]) & NEW_ROUTE:
            yield at_ns, '/plan', messages.path(at_ns, moment.route)
        if moment.status != status:
            status = moment.status
            yield at_ns, '/tb_planner/status', messages.make(TEXT, data=status)
        if moment.restarts:
            yield at_ns, '/tb_planner/restarts', messages.make(TEXT, data=', '.join(moment.restarts))
        yield at_ns, '/tb_planner/tick_time_ms', messages.make(NUMBER, data=float(columns['duration_us'][tick] / 1e3))
        if moment.distance_to_go_m is not None:
            yield at_ns, '/tb_planner/distance_to_go_m', messages.make(NUMBER, data=moment.distance_to_go_m)
        for topic, name in (('expansions', 'expansions'), ('open_size', 'open_size'), ('backtracking_moves', 'back')):
            yield at_ns, f'/tb_planner/{topic}', messages.make(COUNT, data=int(columns[name][tick]))


def _map_change(record: Record, replay: Replay) -> tuple[bool, Box | None]:
    """Whether this tick has a whole new map; else the box of its changes, if any."""
    if replay.has_new_map:
        return True, None
    gaps, lengths, _ = from_varints(record.share('changes', replay.tick)).reshape(-1, 3).T
    if not len(gaps):
        return False, None
    rows, columns = np.divmod(from_runs(gaps, lengths), replay.classes.shape[1])
    return False, Box(int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1)


def _make_occupancy_of_class() -> NDArray[np.int8]:
    """The occupancy of each class of cells, as in Nav2's costmaps: 100 is an obstacle, 99 inflated, 1 to 98 a higher
    cost, -1 unknown."""
    occupancy = np.full(256, -1, np.int8)
    occupancy[: HIGHEST_COST + 1] = np.ceil(np.arange(HIGHEST_COST + 1) * 98 / HIGHEST_COST)
    occupancy[[INFLATED, OBSTACLE]] = 99, 100
    return occupancy


OCCUPANCY_OF_CLASS = _make_occupancy_of_class()


class Messages:
    """Makes messages of ROS 2 without ROS."""

    def __init__(self) -> None:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore

        self.store = get_typestore(Stores.ROS2_JAZZY)
        self.store.register(get_types_from_msg(UPDATE_DEFINITION, UPDATE))

    def make(self, kind: str, **fields: Any) -> Any:
        return self.store.types[kind](**fields)

    def header(self, at_ns: int) -> Any:
        sec, nanosec = divmod(at_ns, 10**9)
        stamp = self.make('builtin_interfaces/msg/Time', sec=sec, nanosec=nanosec)
        return self.make('std_msgs/msg/Header', stamp=stamp, frame_id=FRAME)

    def place(self, x_m: float, y_m: float, yaw: float = 0.0) -> Any:
        turn = {'x': 0.0, 'y': 0.0, 'z': math.sin(yaw / 2), 'w': math.cos(yaw / 2)}
        return self.make(
            'geometry_msgs/msg/Pose',
            position=self.make('geometry_msgs/msg/Point', x=float(x_m), y=float(y_m), z=0.0),
            orientation=self.make('geometry_msgs/msg/Quaternion', **turn),
        )

    def pose(self, at_ns: int, x_m: float, y_m: float, yaw: float = 0.0) -> Any:
        return self.make(POSE, header=self.header(at_ns), pose=self.place(x_m, y_m, yaw))

    def path(self, at_ns: int, points: NDArray[np.float64]) -> Any:
        poses = [self.pose(at_ns, x_m, y_m) for x_m, y_m in points]
        return self.make(PATH, header=self.header(at_ns), poses=poses)

    def grid(self, at_ns: int, classes: NDArray[np.uint8], geometry: MapGeometry) -> Any:
        info = self.make(
            'nav_msgs/msg/MapMetaData',
            map_load_time=self.make('builtin_interfaces/msg/Time', sec=0, nanosec=0),
            resolution=geometry.resolution_m,
            width=geometry.width,
            height=geometry.height,
            origin=self.place(*geometry.origin),
        )
        return self.make(GRID, header=self.header(at_ns), info=info, data=OCCUPANCY_OF_CLASS[classes].reshape(-1))

    def update(self, at_ns: int, classes: NDArray[np.uint8], box: Box) -> Any:
        cells = OCCUPANCY_OF_CLASS[classes[box.slices]]
        height, width = cells.shape
        size = {'x': box.x0, 'y': box.y0, 'width': width, 'height': height}
        return self.make(UPDATE, header=self.header(at_ns), **size, data=cells.reshape(-1))


def _qos(is_latched: bool) -> Any:
    """Reliable; for `ros2 bag play`, latched topics are transient local."""
    from rosbags.interfaces import Qos, QosDurability, QosHistory, QosLiveliness, QosReliability, QosTime

    never = QosTime(9223372036, 854775807)
    durability = QosDurability.TRANSIENT_LOCAL if is_latched else QosDurability.VOLATILE
    depth = 1 if is_latched else 10
    reliable, automatic = QosReliability.RELIABLE, QosLiveliness.AUTOMATIC
    return Qos(QosHistory.KEEP_LAST, depth, reliable, durability, never, never, automatic, never, False)
