"""Bags, read without ROS: a replay equals the live run, and errors name what is wrong with a bag."""

import itertools
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rosbags', reason="bags need rosbags: pip install '.[bags]'")

from helpers import bag_files as files
from helpers.bag_files import (
    BEST_EFFORT,
    grid_update,
    occupancy_grid,
    odometry,
    pose_stamped,
    pose_with_covariance,
    transforms,
)
from rosbags.rosbag2 import Reader

from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.live_map import LiveMap
from tb_planner.navigation.navigator import NavigationStatus, Navigator
from tb_planner.parameters import as_yaml
from tb_planner.recording import read_record
from tb_planner.recording.format import HAS_WAYPOINT
from tb_planner.simulation.simulator import Simulation, SimulationSettings
from tb_planner.simulation.true_map import RandomChange
from tb_planner.tools.bag_topics import BagError, TopicNames
from tb_planner.tools.bags import open_bag
from tb_planner.tools.cli import main
from tb_planner.tools.replay import replay, ticks

PARAMETERS = PlannerParameters(expansions_per_tick=400, robot_radius_m=0.15, inflation_radius_m=0.3)
PERIOD_S = PARAMETERS.period_s
GEOMETRY = MapGeometry(120, 80, 0.05, (-1.0, 0.5, 0.0))
START, GOAL = Pose2D(-0.5, 1.0, 0.0), Pose2D(4.5, 4.0, 1.0)
ZERO = Pose2D(0.0, 0.0, 0.0)


def occupancy():
    """6 m x 4 m with a wall and a door in it."""
    values = np.zeros((80, 120), np.int8)
    values[[0, -1], :] = values[:, [0, -1]] = 100
    values[:, 60:62] = 100
    values[50:70, 60:62] = 0
    return values


@dataclass
class Live:
    """A run of the core with a simulated robot: the messages it received, and its ticks."""

    maps: list = field(default_factory=list)
    patches: list = field(default_factory=list)
    poses: list = field(default_factory=list)
    ticks: list = field(default_factory=list)
    restarts: Counter = field(default_factory=Counter)

    def messages(self, *, names=None, pose_message=pose_stamped):
        """The messages of the run for a bag, in order."""
        names = {'map': '/map', 'updates': '/map_updates', 'pose': '/pose', 'goal': '/goal_pose', **(names or {})}
        stamped = [(time_s, 0, names['map'], occupancy_grid(time_s, *news)) for time_s, *news in self.maps]
        stamped += [(time_s, 1, names['updates'], grid_update(time_s, *news)) for time_s, *news in self.patches]
        stamped += [(time_s, 2, names['pose'], pose_message(time_s, pose)) for time_s, pose in self.poses]
        stamped.append((PERIOD_S, 3, names['goal'], pose_stamped(PERIOD_S, GOAL)))
        return [(time_s, topic, message) for time_s, _, topic, message in sorted(stamped, key=lambda item: item[:2])]


def drive(*, gap=(1e9, 1e9), most=600, pose_timeout_s=PARAMETERS.pose_timeout_s):
    """The robot drives to its goal through rooms in which things appear and vanish; in the gap there is no pose."""
    live = Live()
    settings = SimulationSettings(
        world='changing', dt_s=PERIOD_S / 2, change=RandomChange(rate=0.4, period_s=0.5), seed=5, robot_radius_m=0.1
    )
    simulation = Simulation(occupancy(), GEOMETRY, START, settings)
    live_map, navigator = LiveMap(PARAMETERS.costmap_config()), Navigator(PARAMETERS.settings())
    pose, pose_s = None, 0.0
    for number in range(most):
        now_s = number * PERIOD_S
        news = simulation.changed_map() if number else simulation.whole_map()
        if news is not None and news.changed is None:
            live.maps.append((now_s, news.occupancy, news.geometry))
            live_map.full(news.occupancy, news.geometry)
        elif news is not None:
            box = news.changed
            live.patches.append((now_s, news.occupancy[box.slices], (box.x0, box.y0)))
            live_map.patch(news.occupancy[box.slices], (box.x0, box.y0))
        if not gap[0] <= now_s < gap[1]:
            pose, pose_s = simulation.pose, now_s
            live.poses.append((now_s, pose))
        if number == 1:
            navigator.new_goal(GOAL)
            simulation.set_goal(GOAL)
        tick = navigator.tick(live_map.latest(), pose if now_s - pose_s <= pose_timeout_s else None)
        live.ticks.append(tick)
        live.restarts.update(tick.restarts)
        if tick.status == NavigationStatus.ARRIVED:
            break
        if tick.waypoint is not None:
            simulation.drive_to(tick.waypoint)
        simulation.step()
        simulation.step()
    return live


@pytest.fixture(scope='module')
def live():
    live = drive()
    assert live.ticks[-1].status == NavigationStatus.ARRIVED
    assert len(live.patches) > 5
    assert live.restarts.total() > 0
    return live


def replayed(path, topics=None, parameters=PARAMETERS, **options):
    with open_bag(path, topics, **options) as bag:
        return list(ticks(bag, parameters)), bag.problems


def assert_same(found, live):
    assert [item.tick.status for item in found] == [tick.status for tick in live.ticks]
    assert [item.tick.restarts for item in found] == [tick.restarts for tick in live.ticks]
    for item, tick in zip(found, live.ticks, strict=True):
        assert (item.tick.waypoint is None) == (tick.waypoint is None)
        if tick.waypoint is not None:
            ours, theirs = item.tick.waypoint, tick.waypoint
            assert (ours.x_m, ours.y_m) == pytest.approx((theirs.x_m, theirs.y_m), abs=1e-9)


def assert_records(record, live):
    """Places are in cells of the map in a record."""
    columns = record.columns
    assert record.ticks == len(live.ticks)
    statuses = {event['tick']: event['status'] for event in record.events if 'status' in event}
    ticked = [tick.status for tick in live.ticks]
    assert statuses == {i: str(status) for i, status in enumerate(ticked) if i == 0 or status != ticked[i - 1]}
    expected = [(i, [str(reason) for reason in tick.restarts]) for i, tick in enumerate(live.ticks) if tick.restarts]
    assert record.restarts == expected
    assert columns['time_us'].tolist() == [0] + [round(1e6 * PERIOD_S)] * (record.ticks - 1)
    for i, (tick, (_, pose)) in enumerate(zip(live.ticks, live.poses, strict=True)):
        assert (columns['x'][i], columns['y'][i]) == pytest.approx(GEOMETRY.to_grid(pose.x_m, pose.y_m), abs=1e-3)
        assert bool(columns['flags'][i] & HAS_WAYPOINT) == (tick.waypoint is not None)
        if tick.waypoint is not None:
            place = GEOMETRY.to_grid(tick.waypoint.x_m, tick.waypoint.y_m)
            assert (columns['waypoint_x'][i], columns['waypoint_y'][i]) == pytest.approx(place, abs=1e-3)


OTHER_NAMES = {'map': '/depot/grid', 'updates': '/depot/grid_updates', 'pose': '/r2/where', 'goal': '/r2/nav_goal'}


class TestReplay:
    @pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
    def test_is_what_the_live_run_was(self, live, storage, tmp_path):
        found, problems = replayed(files.write(tmp_path / 'bag', live.messages(), storage))
        assert_same(found, live)
        assert not problems

    @pytest.mark.parametrize('pose_message', [pose_stamped, pose_with_covariance, odometry])
    def test_of_an_mcap_written_by_hand_with_other_names_is_the_same(self, live, pose_message, tmp_path):
        messages = live.messages(names=OTHER_NAMES, pose_message=pose_message)
        found, _ = replayed(files.write_mcap_by_hand(tmp_path / 'hand.mcap', messages))
        assert_same(found, live)

    def test_does_not_ask_for_the_publishers_qos(self, live, tmp_path):
        found, _ = replayed(files.write(tmp_path / 'bag', live.messages(), qos=[BEST_EFFORT]))
        assert_same(found, live)

    def test_takes_the_pose_from_transforms(self, live, tmp_path):
        """The robot's base lies off the frame that moves, and odometry off the map."""
        apart = Pose2D(0.3, -0.2, 0.0)

        def moved(time_s, pose):
            odom = Pose2D(pose.x_m - 1.0 - apart.x_m, pose.y_m - apart.y_m, 0.0)
            return transforms(time_s, ('map', 'odom', Pose2D(1.0, 0.0, 0.0)), ('odom', 'footprint', odom))

        messages = live.messages(names={'pose': '/tf'}, pose_message=moved)
        fixed = transforms(0.0, ('footprint', 'base_link', apart))
        found, _ = replayed(files.write(tmp_path / 'bag', [(0.0, '/tf_static', fixed), *messages]))
        assert_same(found, live)

    @pytest.mark.parametrize('by_hand', [False, True])
    def test_loses_the_pose_in_a_gap_as_the_node_does(self, by_hand, tmp_path):
        live = drive(gap=(2.0, 4.0))
        assert NavigationStatus.POSE_LOST in {tick.status for tick in live.ticks}
        if by_hand:
            bag = files.write_mcap_by_hand(tmp_path / 'hand.mcap', live.messages(names=OTHER_NAMES))
        else:
            bag = files.write(tmp_path / 'bag', live.messages())
        found, _ = replayed(bag)
        assert_same(found, live)

    def test_loses_a_pose_from_transforms_after_the_tolerance_of_transforms(self, tmp_path):
        assert PARAMETERS.transform_tolerance_s < PARAMETERS.pose_timeout_s
        live = drive(gap=(2.0, 4.0), pose_timeout_s=PARAMETERS.transform_tolerance_s)
        messages = live.messages(
            names={'pose': '/tf'}, pose_message=lambda time_s, pose: transforms(time_s, ('map', 'base_link', pose))
        )
        found, _ = replayed(files.write(tmp_path / 'bag', messages))
        assert_same(found, live)

    def test_reads_one_file_of_a_bag(self, live, tmp_path):
        folder = files.write(tmp_path / 'bag', live.messages(), 'sqlite3')
        found, _ = replayed(next(folder.glob('*.db3')))
        assert_same(found, live)

    def test_is_recorded(self, live, tmp_path, capsys):
        bag, params = files.write(tmp_path / 'bag', live.messages()), tmp_path / 'planner.yaml'
        params.write_text(as_yaml(PlannerParameters, 'tb_planner', values=PARAMETERS))
        assert main(['replay', str(bag), '-o', str(tmp_path / 'run'), '--params', str(params)]) == 0
        printed = capsys.readouterr().out
        assert '1, 1 reached' in printed
        assert 'ARRIVED once' in printed
        assert f'{live.restarts["blocked"]} blocked: an obstacle appeared on the route' in printed
        planned, driven = map(
            float, re.search(r'planned +(\S+) m to 1 goal; the robot drove (\S+) m', printed).groups()
        )
        assert planned > 0
        assert driven == pytest.approx(planned, rel=0.25)  # the robot followed the plans of the same planner
        assert_records(read_record(tmp_path / 'run'), live)

    def test_a_tick_may_take_its_period_as_in_the_node(self, live, tmp_path):
        """The budget is the period, whatever bounds the search: a tick is late only after its period."""
        main(['replay', str(files.write(tmp_path / 'bag', live.messages())), '-o', str(tmp_path / 'run')])
        assert read_record(tmp_path / 'run').head['budget_s'] == 0.05

    def test_is_summarised(self, live, tmp_path):
        with open_bag(files.write(tmp_path / 'bag', live.messages())) as bag:
            summary = replay(bag, PARAMETERS)
        arrivals = summary.statuses[NavigationStatus.ARRIVED]
        assert (summary.ticks, summary.goals, arrivals) == (len(live.ticks), 1, 1)
        assert summary.restarts == live.restarts


class TestBadMessages:
    def test_are_passed_over_and_counted(self, live, tmp_path):
        """A pose that is nowhere, a goal in another frame, an update beside the map: the rest is as it was."""
        messages = live.messages()
        bad = [
            (0.5, '/pose', pose_stamped(0.5, ZERO)),
            (0.5, '/goal_pose', pose_stamped(0.5, GOAL, 'odom')),
            (0.5, '/map_updates', grid_update(0.5, np.zeros((2, 2), np.int8), (119, 3))),
        ]
        bad[0][2].pose.position.x = float('nan')
        found, problems = replayed(files.write(tmp_path / 'bag', sorted([*messages, *bad], key=lambda item: item[0])))
        assert_same(found, live)
        assert problems.total() == 3
        text = ' '.join(problems)
        assert 'nan' in text
        assert "'odom'" in text
        assert '(119, 3)' in text


def still(*, pose_frame='map', goal_frame='map', pose_message=pose_stamped):
    """The messages of a robot that does not move: map, pose and goal once each."""
    return [
        (0.0, '/map', occupancy_grid(0.0, occupancy(), GEOMETRY)),
        (0.1, '/pose', pose_message(0.1, START, pose_frame)),
        (0.2, '/goal_pose', pose_stamped(0.2, GOAL, goal_frame)),
    ]


def error_of(path, topics=None):
    with pytest.raises(BagError) as error, open_bag(path, topics) as bag:
        list(ticks(bag, PARAMETERS))
    assert str(path) in str(error.value)
    return str(error.value)


class TestTopics:
    def test_are_chosen_by_option(self, tmp_path):
        messages = [*still(), (0.3, '/other/map', occupancy_grid(0.3, occupancy(), GEOMETRY))]
        path = files.write(tmp_path / 'bag', messages)
        assert '/map, /other/map; choose one with --map-topic' in error_of(path)
        with open_bag(path, TopicNames(map='/other/map')) as bag:
            assert bag.topics.map.name == '/other/map'

    def test_may_lie_in_a_namespace(self, tmp_path):
        messages = [(time_s, f'/robot1{topic}', message) for time_s, topic, message in still()]
        with open_bag(files.write(tmp_path / 'bag', messages)) as bag:
            assert [topic.name for topic in (bag.topics.map, bag.topics.pose, bag.topics.goal)] == [
                '/robot1/map',
                '/robot1/pose',
                '/robot1/goal_pose',
            ]

    def test_of_the_planner_itself_are_not_taken_for_others(self, tmp_path):
        """The planner itself publishes an OccupancyGrid of expansions, and waypoints."""
        messages = [
            *((time_s, topic.replace('map', 'grid'), message) for time_s, topic, message in still()),
            (0.3, '/expansions', occupancy_grid(0.3, occupancy(), GEOMETRY)),
            (0.3, '/waypoint', pose_stamped(0.3, GOAL)),
        ]
        with open_bag(files.write(tmp_path / 'bag', messages)) as bag:
            assert (bag.topics.map.name, bag.topics.pose.name) == ('/grid', '/pose')

    def test_transforms_come_before_a_pose_that_is_published_only_while_the_robot_moves(self, tmp_path):
        messages = [
            *(item for item in still() if item[1] != '/pose'),
            (0.1, '/amcl_pose', pose_with_covariance(0.1, START)),
            (0.1, '/tf', transforms(0.1, ('map', 'base_link', START))),
        ]
        with open_bag(files.write(tmp_path / 'bag', messages)) as bag:
            assert bag.topics.pose.name == '/tf'

    def test_of_another_type_are_refused(self, tmp_path):
        path = files.write(tmp_path / 'bag', [*still(), (0.3, '/chatter', files.string('hello'))])
        message = error_of(path, TopicNames(map='/chatter'))
        assert '/chatter has type std_msgs/msg/String; a map must be nav_msgs/msg/OccupancyGrid' in message

    def test_are_not_pose_and_goal_at_once(self, tmp_path):
        message = error_of(files.write(tmp_path / 'bag', still()), TopicNames(pose='/goal_pose'))
        assert '/goal_pose cannot be both pose and goal' in message
        assert '--pose-topic' in message

    def test_that_do_not_exist_are_refused_with_a_list_of_those_that_do(self, tmp_path):
        message = error_of(files.write(tmp_path / 'bag', still()), TopicNames(goal='/nowhere'))
        assert 'no topic /nowhere' in message
        assert '/goal_pose (geometry_msgs/msg/PoseStamped, 1)' in message

    @pytest.mark.parametrize(('role', 'name'), [('map', '/map'), ('pose', '/pose'), ('goal', '/goal_pose')])
    def test_that_are_missing_are_named(self, role, name, tmp_path):
        messages = [item for item in still() if item[1] != name]
        message = error_of(files.write(tmp_path / 'bag', messages))
        assert f'no {role}' in message
        assert f'--{role}-topic' in message


class TestBadBags:
    def test_that_are_not_there(self, tmp_path):
        assert 'no such file' in error_of(tmp_path / 'nothing')

    def test_that_are_empty(self, tmp_path):
        assert 'empty' in error_of(files.write(tmp_path / 'bag', []))

    @pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
    @pytest.mark.parametrize('left', [0.0, 0.4, 0.95])
    def test_that_are_cut_off(self, live, storage, left, tmp_path):
        folder = files.write(tmp_path / 'bag', live.messages(), storage)
        file = next(path for path in folder.iterdir() if path.suffix in ('.mcap', '.db3'))
        data = file.read_bytes()
        file.write_bytes(data[: int(left * len(data))])
        message = error_of(folder)
        assert 'may be incomplete' in message
        assert 'recover' in message

    def test_that_are_something_else(self, tmp_path):
        path = tmp_path / 'picture.mcap'
        path.write_bytes(b'\x89PNG' + bytes(100))
        assert 'cannot be read' in error_of(path)
        other = error_of(shutil.copy(path, tmp_path / 'picture.png'))
        assert 'bags must be folders, .mcap or .db3 files' in other
        assert 'cut off' not in other

    def test_with_a_length_that_is_damaged(self, live, tmp_path):
        """The damaged length asks for more memory than any computer has."""
        path = files.write_mcap_by_hand(tmp_path / 'bag.mcap', live.messages())
        data = bytearray(path.read_bytes())
        begin = len(files.MAGIC) + 1
        data[begin : begin + 8] = (2**62).to_bytes(8, 'little')
        path.write_bytes(data)
        assert 'exceeds the memory' in error_of(path)

    def test_whose_metadata_is_damaged(self, tmp_path):
        folder = files.write(tmp_path / 'bag', still())
        metadata = folder / 'metadata.yaml'
        text = metadata.read_text()
        assert text.count('message_count: 1\n')
        metadata.write_text(text.replace('message_count: 1\n', 'message_count: some\n'))
        assert 'cannot be read' in error_of(folder)

    def test_without_metadata(self, tmp_path):
        folder = files.write(tmp_path / 'bag', still())
        (folder / 'metadata.yaml').unlink()
        assert 'bag.mcap' in error_of(folder)

    @pytest.mark.parametrize(
        ('messages', 'role'),
        [(still(pose_frame='odom'), 'pose'), (still(goal_frame='odom'), 'goal')],
        ids=['pose', 'goal'],
    )
    def test_with_nothing_in_the_maps_frame(self, messages, role, tmp_path):
        message = error_of(files.write(tmp_path / 'bag', messages))
        assert f'no usable {role}' in message
        assert "'odom'" in message

    def test_whose_transforms_do_not_lead_to_the_robot(self, tmp_path):
        messages = [item for item in still() if item[1] != '/pose']
        messages.append((0.1, '/tf', transforms(0.1, ('odom', 'base_link', START))))
        message = error_of(files.write(tmp_path / 'bag', messages))
        assert "'map' and 'base_link'" in message
        assert 'odom to base_link' in message

    def test_that_are_compressed_files_are_refused_with_advice(self, tmp_path, capsys):
        """The tuner, which also takes maps, refuses them in the same words."""
        path = tmp_path / 'bag_0.mcap.zstd'
        path.write_bytes(b'(\xb5/\xfd')
        for command in ('replay', 'tune'):
            assert main([command, str(path), '-o', str(tmp_path / 'out')]) == 2
            assert 'compressed; open the folder' in capsys.readouterr().err

    def test_are_never_written_over(self, live, tmp_path, capsys):
        folder = files.write(tmp_path / 'bag', live.messages(), 'sqlite3')
        file = next(folder.glob('*.db3'))
        data = file.read_bytes()
        for output, reason in (
            (file, 'not the record of a run'),
            (folder, 'it is a folder'),
            (tmp_path / 'no' / 'run', 'does not exist'),
        ):
            assert main(['replay', str(folder), '-o', str(output)]) == 2
            printed = capsys.readouterr()
            assert reason in printed.err
            assert not printed.out  # before the bag is read
        assert file.read_bytes() == data

    def test_whose_clock_was_set_are_not_ticked_through_for_years(self, tmp_path):
        """A computer without a clock battery dates its first messages to 1970."""
        messages = [*still(), (1.7e9, '/pose', pose_stamped(1.7e9, START))]
        with open_bag(files.write(tmp_path / 'bag', messages)) as bag:
            some = itertools.islice(ticks(bag, PARAMETERS), 1000)
            with pytest.raises(BagError, match=r'1,700,000,000 s after the first one.*are its clocks right'):
                list(some)

    def test_end_the_command_with_a_line(self, tmp_path, capsys):
        assert main(['replay', str(tmp_path / 'nothing')]) == 2
        assert capsys.readouterr().err.count('\n') == 1


class TestGoals:
    def test_come_with_the_pose_of_their_time_and_the_last_map(self, live, tmp_path):
        with open_bag(files.write(tmp_path / 'bag', live.messages())) as bag:
            given = bag.goals()
        ((start, goal),) = given.trips
        assert (start.x_m, goal.x_m) == (START.x_m, GOAL.x_m)
        assert given.geometry == GEOMETRY
        expected = live.maps[-1][1].copy()
        for _, values, (x, y) in (patch for patch in live.patches if patch[0] > live.maps[-1][0]):
            expected[y : y + values.shape[0], x : x + values.shape[1]] = values
        assert np.array_equal(given.occupancy, expected)

    def test_come_with_a_map_that_has_the_updates_inside_it(self, tmp_path):
        patch = np.full((3, 4), 100, np.int8)
        messages = [
            *still(),
            (0.3, '/map_updates', grid_update(0.3, patch, (20, 30))),
            (0.3, '/map_updates', grid_update(0.3, patch, (118, 30))),
            (0.4, '/goal_pose', pose_stamped(0.4, START)),
        ]
        with open_bag(files.write(tmp_path / 'bag', messages)) as bag:
            given = bag.goals()
            assert bag.problems == {'map update outside the map': 1}
        assert len(given.trips) == 2
        assert np.count_nonzero(given.occupancy != occupancy()) == 12
        assert (given.occupancy[30:33, 20:24] == 100).all()

    def test_and_poses_in_the_frame_of_an_earlier_map_do_not_count(self, tmp_path):
        other = occupancy_grid(0.3, occupancy(), GEOMETRY)
        other.header.frame_id = 'floor_2'
        messages = [
            *still(),
            (0.3, '/map', other),
            (0.4, '/goal_pose', pose_stamped(0.4, START, 'floor_2')),
            (0.5, '/pose', pose_stamped(0.5, GOAL, 'floor_2')),
        ]
        with open_bag(files.write(tmp_path / 'bag', messages)) as bag:
            assert bag.goals().trips == [(GOAL, START)]

    def test_that_are_only_published_again_count_once(self, tmp_path):
        again = [(0.5 + number, '/goal_pose', pose_stamped(0.5 + number, GOAL)) for number in range(5)]
        messages = [*still(), *again, (9.0, '/goal_pose', pose_stamped(9.0, START))]
        with open_bag(files.write(tmp_path / 'bag', messages)) as bag:
            assert [goal for _, goal in bag.goals().trips] == [GOAL, START]

    def test_are_read_while_there_is_time(self, tmp_path):
        later = [(1.0 + number, '/goal_pose', pose_stamped(1.0 + number, Pose2D(number, 1.0))) for number in range(9)]
        folder = files.write(tmp_path / 'bag', [*still(), *later])
        with open_bag(folder) as bag:
            whole = bag.goals()
            assert (len(whole.trips), whole.read_whole) == (10, True)
            looks = iter([False] * 5)
            part = bag.goals(lambda: next(looks, True))
            assert (len(part.trips), part.read_whole) == (4, False)
            with pytest.raises(BagError, match=r'no goal .* in the part that there was time to read'):
                bag.goals(lambda: True)


# ---------------------------------------------------------------------- the bag in examples/
EXAMPLE = Path(__file__).parents[1] / 'examples' / 'office.mcap'


def test_the_example_bag_is_what_its_script_writes(tmp_path):
    """Up to a centimetre: other processors may round differently."""
    script = EXAMPLE.parents[1] / 'docs' / 'example_bag.py'
    subprocess.run([sys.executable, script, tmp_path / EXAMPLE.name], check=True, capture_output=True, timeout=120)
    with open_bag(EXAMPLE) as kept, open_bag(tmp_path / EXAMPLE.name) as written:
        assert kept.topics == written.topics
        for one, other in zip(kept.events(), written.events(), strict=True):
            assert (one.time_s, type(one.what)) == (other.time_s, type(other.what))
            if isinstance(one.what, Pose2D):
                assert (one.what.x_m, one.what.y_m) == pytest.approx((other.what.x_m, other.what.y_m), abs=0.01)
        assert not kept.problems


def test_the_example_bag_is_small_and_its_map_reaches_late_subscribers():
    assert EXAMPLE.stat().st_size < 1_000_000
    with Reader(EXAMPLE) as reader:
        durability = {item.topic: item.ext.offered_qos_profiles[0].durability.name for item in reader.connections}
    assert durability == dict.fromkeys(('/goal_pose', '/map_updates', '/pose'), 'VOLATILE') | {
        '/map': 'TRANSIENT_LOCAL'
    }


def test_the_example_bag_has_goals_for_the_tuner():
    with open_bag(EXAMPLE) as bag:
        assert [(goal.x_m, goal.y_m) for _, goal in bag.goals().trips] == [(25.0, 6.0), (4.0, -3.0)]
