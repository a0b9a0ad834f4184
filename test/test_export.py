"""`tb_planner export`: the messages are read back by rosbags with the definitions in the file, and compared with what
the robot, its map and its planner were."""

import csv
import json
import math
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.planners import open_field
from helpers.recorded_trip import RecordedTrip

from tb_planner.config import PlannerParameters
from tb_planner.files import size_text
from tb_planner.geometry import MapGeometry, length_m
from tb_planner.maps.files import read_map
from tb_planner.recording import read_record
from tb_planner.tools.cli import main
from tb_planner.tools.export import COLUMNS, TOPICS
from tb_planner.tools.replay import replay

CONFIG = Path(__file__).parents[1] / 'config'
TURNED = MapGeometry(60, 40, 0.1, (-3.0, 1.5, 0.25))
NAMES = ('run.tbrun', 'run.mcap')


class Exported:
    """A trip, and the messages of its MCAP file by topic: [(time in s, message)]."""

    def __init__(self, folder):
        rosbags = pytest.importorskip('rosbags.highlevel')
        run, mcap = (folder / name for name in NAMES)
        start, goal = (TURNED.to_world(*place) for place in ((5.5, 5.5), (55.5, 35.5)))
        self.trip = RecordedTrip(run, open_field(60, 40), start, goal, geometry=TURNED, k=300)
        self.trip.run(10)
        walled = open_field(60, 40)
        walled[10:, 30] = True
        self.trip.change_map(walled)
        self.trip.run_to_goal()
        self.record = self.trip.close(run)
        self.walled = walled
        assert main(['export', str(run), str(mcap)]) == 0
        self.path = mcap
        self.messages = {topic: [] for topic in TOPICS}
        with rosbags.AnyReader([mcap]) as reader:  # with the definitions of the file
            self.types = {connection.topic: connection.msgtype for connection in reader.connections}
            for connection, at_ns, data in reader.messages():
                message = reader.deserialize(data, connection.msgtype)
                self.messages[connection.topic].append((at_ns / 1e9, message))


@pytest.fixture(scope='module')
def exported(tmp_path_factory):
    return Exported(tmp_path_factory.mktemp('exported'))


def place_of(pose):
    return pose.position.x, pose.position.y


def test_an_exported_run_has_all_topics_with_types_of_ros_2_at_the_times_of_the_record(exported):
    assert exported.types == TOPICS
    times_s = np.cumsum(exported.record.columns['time_us']) / 1e6
    for topic, messages in exported.messages.items():
        assert messages, topic
        assert all(np.abs(times_s - at_s).min() < 1e-9 for at_s, _ in messages)
        for at_s, message in messages:
            if hasattr(message, 'header'):
                assert message.header.frame_id == 'map'
                assert message.header.stamp.sec + message.header.stamp.nanosec / 1e9 == pytest.approx(at_s)
    assert [at_s for at_s, _ in exported.messages['/tb_planner/tick_time_ms']] == pytest.approx(times_s)


def test_exported_poses_waypoints_and_goals_are_where_the_robot_was_in_metres(exported):
    history = [seen for seen in exported.trip.history if seen.pose is not None]
    poses = [message.pose for _, message in exported.messages['/pose']]
    assert len(poses) == len(history) == exported.record.ticks
    for pose, seen in zip(poses, history, strict=True):
        assert place_of(pose) == pytest.approx((seen.pose.x_m, seen.pose.y_m), abs=1e-5)
        yaw = 2 * math.atan2(pose.orientation.z, pose.orientation.w)
        assert math.remainder(yaw - seen.pose.yaw, math.tau) == pytest.approx(0, abs=1e-5)
    waypoints = [seen.tick.waypoint for seen in history if seen.tick.waypoint is not None]
    found = [place_of(message.pose) for _, message in exported.messages['/waypoint']]
    assert np.allclose(found, [(waypoint.x_m, waypoint.y_m) for waypoint in waypoints], atol=1e-5)
    ((_, goal),) = exported.messages['/goal_pose']
    assert place_of(goal.pose) == pytest.approx(TURNED.to_world(55.5, 35.5), abs=1e-3)


def test_the_exported_map_and_its_updates_make_the_maps_of_the_run(exported):
    (first_s, whole), *others = exported.messages['/map']
    assert first_s == 0
    info = whole.info
    assert (info.width, info.height, round(info.resolution, 6)) == (60, 40, 0.1)
    assert place_of(info.origin) == TURNED.origin[:2]
    assert 2 * math.atan2(info.origin.orientation.z, info.origin.orientation.w) == pytest.approx(TURNED.yaw)
    cells = whole.data.reshape(40, 60).copy()
    assert (cells == 0).all()
    ((_, update),) = exported.messages['/map_updates']
    box = np.s_[update.y : update.y + update.height, update.x : update.x + update.width]
    cells[box] = update.data.reshape(update.height, update.width)
    assert np.array_equal(cells == 100, exported.walled)
    assert len(others) == 1  # a second after the first one at the latest, for programs that jump
    assert np.array_equal(others[0][1].data.reshape(40, 60), cells)


def test_the_exported_plan_is_the_route_in_metres_whenever_it_changed(exported):
    flags = exported.record.columns['flags']
    ticks = [tick for tick in range(exported.record.ticks) if flags[tick] & 2]
    plans = [message for _, message in exported.messages['/plan']]
    assert len(plans) == len(ticks) > 2
    for tick, plan in zip(ticks, plans, strict=True):
        route = exported.trip.seen[tick]['route']
        assert np.allclose(
            np.reshape([place_of(pose.pose) for pose in plan.poses], (-1, 2)),
            np.reshape([TURNED.centre_of(cell) for cell in route], (-1, 2)),
        )


def test_exported_numbers_are_those_of_the_ticks(exported):
    def values(name):
        return [message.data for _, message in exported.messages[f'/tb_planner/{name}']]

    columns, seen = exported.record.columns, exported.trip.seen
    assert values('tick_time_ms') == pytest.approx([1.0 * tick for tick in range(len(seen))])
    assert values('open_size') == [tick['open_size'] for tick in seen]
    assert values('backtracking_moves') == [tick['backtracking'] for tick in seen]
    assert values('expansions') == columns['expansions'].tolist()
    to_go_m = values('distance_to_go_m')
    goal = TURNED.to_world(55.5, 35.5)
    for tick in (5, 40):
        pose = exported.trip.history[tick].pose
        cells = [TURNED.centre_of(cell) for cell in seen[tick]['route'][1:]]
        assert to_go_m[tick] == pytest.approx(length_m([(pose.x_m, pose.y_m), *cells, goal]), abs=1e-3)
    statuses = [str(one.tick.status) for one in exported.trip.history]
    changes = [statuses[0], *(after for before, after in pairwise(statuses) if before != after)]
    assert values('status') == changes
    assert values('restarts') == [', '.join(reasons) for _, reasons in exported.record.restarts]
    assert 'blocked' in values('restarts')


def test_the_planner_can_replay_an_exported_run_like_a_bag(exported):
    from tb_planner.tools.bags import open_bag

    with open_bag(exported.path) as bag:
        assert [topic.name for topic in bag.topics] == ['/map', '/map_updates', '/pose', '/goal_pose']
        summary = replay(bag, PlannerParameters(robot_radius_m=0.0, inflation_radius_m=0.0))
        assert summary.goals == 1
        assert not bag.problems


def test_a_table_has_the_ticks_with_units_in_the_names_of_its_columns(exported, capsys):
    table = exported.path.with_suffix('.csv')
    for _ in range(2):  # an older table may be replaced
        assert main(['export', str(exported.path.with_suffix('.tbrun')), str(table)]) == 0
    assert f'{table}: {exported.record.ticks} ticks, {exported.record.ticks} rows' in capsys.readouterr().out
    with table.open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == exported.record.ticks
    for row, one in zip(rows, exported.trip.history, strict=True):
        assert row['status'] == str(one.tick.status)
        assert row['restarts'].split() == [str(reason) for reason in one.tick.restarts]
        assert (float(row['x_m']), float(row['y_m'])) == pytest.approx((one.pose.x_m, one.pose.y_m), abs=1e-3)
    assert float(rows[-1]['time_s']) == pytest.approx(exported.record.columns['time_us'].sum() / 1e6)


@pytest.mark.parametrize(
    ('size', 'text'), [(4_400, '4 kB'), (999_499, '999 kB'), (999_500, '1.0 MB'), (1_234_000_000, '1,234.0 MB')]
)
def test_the_size_of_a_file_is_in_kilobytes_or_megabytes(tmp_path, size, text):
    with (tmp_path / 'file').open('wb') as file:
        file.truncate(size)
    assert size_text(tmp_path / 'file') == text


def test_bad_names_and_files_of_others_are_refused(exported, tmp_path, capsys):
    run = exported.path.with_suffix('.tbrun')
    mine = tmp_path / 'mine.mcap'
    mine.write_text('something else')
    for output, reason in (
        (tmp_path / 'run.bag', 'the name must end with .mcap or .csv'),
        (mine, 'the file exists and is not an earlier export; choose another name'),
    ):
        assert main(['export', str(run), str(output)]) == 2
        assert capsys.readouterr().err == f'tb_planner: {output}: {reason}\n'
    assert mine.read_text() == 'something else'
    assert main(['export', str(mine), str(tmp_path / 'run.csv')]) == 2
    assert 'begins with' in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ['mine.mcap']


def test_without_rosbags_the_error_names_what_to_install(exported, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'rosbags.rosbag2', None)
    assert main(['export', str(exported.path.with_suffix('.tbrun')), str(tmp_path / 'run.mcap')]) == 2
    assert 'pip install rosbags' in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_walk_without_metres_is_exported_with_cells_of_one_metre(tmp_path):
    pytest.importorskip('rosbags')
    from helpers.replay_page import make_record

    record = make_record(tmp_path / 'run.tbrun')
    assert main(['export', str(tmp_path / 'run.tbrun'), str(tmp_path / 'run.csv')]) == 0
    assert main(['export', str(tmp_path / 'run.tbrun'), str(tmp_path / 'run.mcap')]) == 0
    with (tmp_path / 'run.csv').open(newline='') as file:
        rows = list(csv.DictReader(file))
    assert [float(row['x_m']) for row in rows] == pytest.approx(read_record(tmp_path / 'run.tbrun').columns['x'])
    assert len(rows) == record.ticks


# -------------------------------------------------------------------------------------------------- layouts
TITLES = {'foxglovePanelTitle', 'lichtblickPanelTitle'}
PANELS = {
    '3D': {'followTf', 'followMode', 'cameraState', 'topics', 'layers', 'transforms', 'scene', 'publish'},
    'Plot': {'paths', 'showLegend', 'legendDisplay', 'isSynced', 'xAxisVal', 'showXAxisLabels', 'showYAxisLabels'},
    'RawMessages': {'topicPath'},
}
"""The keys that these panels of Foxglove 1.86 and Lichtblick 1.28 read, of those that the layout has. They ignore
others without a word."""
DRAWN = {
    'nav_msgs/msg/OccupancyGrid': {'visible', 'colorMode'},
    'nav_msgs/msg/Path': {'visible', 'type', 'lineWidth', 'gradient'},
    'geometry_msgs/msg/PoseStamped': {'visible', 'type', 'color', 'arrowScale', 'axisScale'},
}
"""The types that their 3D panel draws, with its settings. It does not know map_msgs/OccupancyGridUpdate."""
ELEMENTS = {
    'root': set(),
    'tabbed_widget': {'name', 'parent'},
    'Tab': {'containers', 'tab_name'},
    'Container': set(),
    'DockSplitter': {'orientation', 'count', 'sizes'},
    'DockArea': {'name'},
    'plot': {'mode', 'style', 'flip_x', 'flip_y'},
    'limitY': set(),
    'curve': {'name', 'color'},
    'currentTabIndex': {'index'},
    'use_relative_time_offset': {'enabled'},
}
"""What PlotJuggler 3 reads of a layout, of what ours has."""


@pytest.fixture(scope='module')
def foxglove():
    return json.loads((CONFIG / 'foxglove.json').read_text())


def fields_of(exported, topic):
    return [message.data for _, message in exported.messages[topic]]


def test_foxglove_knows_every_panel_and_setting_of_its_layout(foxglove):
    panels = foxglove['configById']
    assert sorted(panels_in(foxglove['layout'])) == sorted(panels)
    for name, panel in panels.items():
        kind = name.partition('!')[0]
        assert set(panel) - TITLES == PANELS[kind], name
        assert kind == '3D' or set(panel) >= TITLES
    for topic, settings in panels['3D!map']['topics'].items():
        assert set(settings) <= DRAWN[TOPICS[topic]], topic


def test_the_paths_of_foxgloves_layout_are_values_of_an_export(foxglove, exported):
    panels = foxglove['configById'].items()
    numbers = [path['value'] for _, panel in panels for path in panel.get('paths', ())]
    texts = [panel['topicPath'] for name, panel in panels if name.startswith('RawMessages!')]
    assert len(numbers) == 4
    assert len(texts) == 2
    for paths, kind in ((numbers, (int, float)), (texts, str)):
        for path in paths:
            topic, _, field = path.rpartition('.')
            assert field == 'data'
            values = fields_of(exported, topic)
            assert values, path
            assert all(isinstance(value, kind) for value in values), path


def test_foxgloves_layout_shows_the_map_of_the_demo_upright_and_whole(foxglove):
    """Without perspective the camera is above targetOffset, and shows `distance` metres from top to bottom."""
    camera = foxglove['configById']['3D!map']['cameraState']
    assert (camera['perspective'], camera['phi'], camera['thetaOffset']) == (False, 0, 0)
    office = read_map(CONFIG.parent / 'maps' / 'office.yaml').geometry
    (left, low), (right, high) = office.to_world(0, 0), office.to_world(office.width, office.height)
    x, y, _ = camera['targetOffset']
    assert (x, y) == pytest.approx(((left + right) / 2, (low + high) / 2), abs=0.1)
    assert camera['distance'] > max(right - left, high - low)


def test_plotjugglers_layout_has_what_it_reads_and_numbers_of_an_export(exported):
    tree = ElementTree.parse(CONFIG / 'plotjuggler.xml')
    for element in tree.iter():
        assert set(element.attrib) <= ELEMENTS[element.tag], element.tag
    for splitter in tree.iter('DockSplitter'):
        sizes = [float(size) for size in splitter.get('sizes').split(';')]
        assert int(splitter.get('count')) == len(sizes) == len(splitter)
        assert sum(sizes) == pytest.approx(1.0)
    curves = [curve.get('name') for curve in tree.iter('curve')]
    assert len(curves) == 5
    for curve in curves:
        topic, _, field = curve.rpartition('/')
        assert field == 'data'
        values = fields_of(exported, topic)
        assert values, curve
        assert all(isinstance(value, (int, float)) for value in values), curve


def panels_in(layout):
    return [layout] if isinstance(layout, str) else panels_in(layout['first']) + panels_in(layout['second'])
