"""PlannerLoop: the planner's tick without ROS, as the node, the bag replay and the benchmarks run it."""

import dataclasses
from time import perf_counter

import numpy as np
import pytest

pytest.importorskip('rosbags', reason="bags need rosbags: pip install '.[bags]'")

from helpers import bag_files as files
from helpers import eventful_run
from helpers.bag_files import grid_update, occupancy_grid, pose_stamped
from helpers.processes import wait_for

from tb_planner.config import PlannerParameters
from tb_planner.geometry import MapGeometry, Pose2D
from tb_planner.maps.cdr import Occupancy, Patch, pose_from_cdr
from tb_planner.maps.map_worker import MapIntake, MapWorker
from tb_planner.navigation.loop import MapRhythm, PlannerLoop, ReceivedPose
from tb_planner.search.algorithms import tba_star
from tb_planner.search.planner import TimeBoundedPlanner
from tb_planner.tools.bags import open_bag
from tb_planner.tools.replay import ticks

PARAMETERS = PlannerParameters(
    expansions_per_tick=4000, robot_radius_m=0.0, inflation_radius_m=0.0, cleared_map_timeout_s=1.0, pose_timeout_s=0.0
)
GEOMETRY = MapGeometry(120, 80, 0.05)
START, GOAL = Pose2D(0.5, 2.0), Pose2D(5.5, 2.0)


def walls():
    """6 m x 4 m; 1,200 blocked cells are between start and goal."""
    values = np.zeros((80, 120), np.int8)
    values[10:70, 50:70] = 100
    return values


def replayed(folder, messages):
    with open_bag(files.write(folder / 'bag', messages)) as bag:
        return list(ticks(bag, PARAMETERS))


def still_robot():
    return [
        (0.0, '/map', occupancy_grid(10.0, walls(), GEOMETRY)),
        (0.0, '/pose', pose_stamped(10.0, START)),
        (0.0, '/goal_pose', pose_stamped(10.0, GOAL)),
        (3.0, '/pose', pose_stamped(13.0, START)),
    ]


def test_a_replay_waits_for_a_cleared_costmap_as_the_node_does(tmp_path):
    cleared = (0.5, '/map', occupancy_grid(10.5, np.zeros((80, 120), np.int8), GEOMETRY))
    found = replayed(tmp_path, sorted([*still_robot(), cleared], key=lambda message: message[0]))
    times_s = [item.time_s for item in found if item.map_update is not None]
    assert times_s == pytest.approx([0.0, 1.5])


def test_a_replay_drops_a_patch_that_the_map_has_overtaken_as_the_node_does(tmp_path):
    wall = np.full((80, 2), 100, np.int8)
    overtaken = (0.5, '/map_updates', grid_update(9.0, wall, (30, 0)))
    newer = (1.0, '/map_updates', grid_update(10.5, wall, (40, 0)))
    found = replayed(tmp_path, sorted([*still_robot(), overtaken, newer], key=lambda message: message[0]))
    update = found[-1].map_update or next(item.map_update for item in reversed(found) if item.map_update is not None)
    assert not update.grid.blocked[5, 30]
    assert update.grid.blocked[5, 40]


class Problems(list):
    def warn(self, kind, text, *, same=''):
        self.append((kind, text))

    def error(self, kind, text):
        self.append((kind, text))


def ticks_of_a_worker(messages, parameters, count):
    """A loop as in the node: serialised messages, a map worker in its thread, poses and goals in the map's frame."""
    log, poses, results = Problems(), ReceivedPose(parameters.pose_timeout_s), []
    worker = MapWorker(parameters.map_settings(), log, perf_counter)
    loop = PlannerLoop(parameters.loop_settings(), worker.intake, poses, log, perf_counter)
    worker.start()
    try:
        waiting = list(messages)
        for number in range(count):
            now_s = number * parameters.period_s
            while waiting and waiting[0][0] <= now_s + 1e-6:
                time_s, topic, message = waiting.pop(0)
                data = files.serialised(message)
                if topic in ('/map', '/map_updates'):
                    (worker.put_map if topic == '/map' else worker.put_patch)(data)
                    assert wait_for(lambda: worker.is_idle)
                    continue
                stamped = pose_from_cdr(data, 'PoseStamped')
                if stamped.frame != loop.frame:
                    continue
                if topic == '/pose':
                    poses.take(stamped.pose, time_s)
                else:
                    loop.navigator.new_goal(stamped.pose)
            results.append(loop.tick(now_s))
    finally:
        worker.stop()
    return results, log


def test_the_replay_of_a_bag_ticks_as_a_loop_behind_the_map_worker(tmp_path):
    """The same without DDS; test/ros has the real node."""
    messages = eventful_run.messages()
    with open_bag(files.write(tmp_path / 'bag', messages)) as bag:
        found = list(ticks(bag, eventful_run.PARAMETERS))
    eventful_run.check_is_eventful([item.tick for item in found])
    used_s = [item.time_s for item in found if item.map_update is not None]
    assert used_s == pytest.approx([0.0, 0.55, 2.25, 3.45, 3.85, 5.45])
    results, log = ticks_of_a_worker(messages, eventful_run.PARAMETERS, len(found))
    assert [eventful_run.outcome(result.tick) for result in results] == [
        eventful_run.outcome(item.tick) for item in found
    ]
    assert {kind for kind, _ in log} >= {'cleared', 'frame', 'pose_age'}


class IntakeThatChangesFrame(MapIntake):
    """Takes a map in another frame just after the tick has looked for the source, as the worker's thread may."""

    next_map = None

    @property
    def source(self):
        source, next_map, self.next_map = self._source, self.next_map, None
        if next_map is not None:
            self.take_map(next_map)
        return source

    @source.setter
    def source(self, source):
        self._source = source


def test_a_map_in_another_frame_that_arrives_during_a_tick_is_used_in_the_next_one():
    log, poses = Problems(), ReceivedPose(0.0)
    maps = IntakeThatChangesFrame(PARAMETERS.map_settings(), log)
    loop = PlannerLoop(PARAMETERS.loop_settings(), maps, poses, log, perf_counter)
    maps.take_map(Occupancy('map', 0, GEOMETRY, np.zeros((80, 120), np.int8)))
    loop.tick(0.0)
    maps.next_map = Occupancy('odom', 0, GEOMETRY, walls())
    during, after = loop.tick(0.05), loop.tick(0.1)
    assert (during.frame, during.map_update) == ('map', None)
    assert after.frame == 'odom'
    assert after.map_update is not None
    assert loop.map is not None


class LongSearch:
    """Serves a request that is never done, and keeps what its ticks were given."""

    has_request, has_path = True, False

    def __init__(self, grid):
        self.planner = TimeBoundedPlanner(grid, (0, 0), (119, 79), tba_star(), trace_steps=64)
        self.contexts = []

    def tick(self, context, budget):
        self.contexts.append(context)
        budget.search_for(self.planner)


class TestRequestsBetweenTicks:
    def loop(self, goal=None):
        log, poses = Problems(), ReceivedPose(0.0)
        parameters = dataclasses.replace(PARAMETERS, expansions_per_tick=100)
        maps = MapIntake(parameters.map_settings(), log)
        loop = PlannerLoop(parameters.loop_settings(), maps, poses, log, perf_counter)
        poses.take(START, 0.0)
        maps.take_map(Occupancy('map', 0, GEOMETRY, walls()))
        if goal is not None:
            loop.navigator.new_goal(goal)
        loop.tick(0.0)
        handler = LongSearch(loop.map.grid)
        loop.path_handlers = [handler]
        loop.tick(0.05)
        return loop, handler, maps

    def test_are_served_on_the_map_and_pose_of_now(self):
        loop, handler, _ = self.loop()
        loop.serve_requests(0.06, 0.03)
        assert len(handler.contexts) == 2
        context = handler.contexts[-1]
        assert (context.now_s, context.pose, context.map, context.map_update) == (0.06, START, loop.map, None)

    def test_wait_for_the_tick_if_there_is_a_map_that_no_tick_has_seen(self):
        loop, handler, maps = self.loop()
        maps.take_map(Occupancy('map', 0, GEOMETRY, np.zeros((80, 120), np.int8)))
        loop.serve_requests(0.06, 0.03)
        assert len(handler.contexts) == 1
        assert loop.tick(0.1).map_update is not None

    def test_spend_no_more_than_one_tick_together_with_the_next_one(self):
        loop, handler, _ = self.loop()
        before = handler.planner.expansions
        for _ in range(10):
            loop.serve_requests(0.06, 0.03)
        early = handler.planner.expansions - before
        assert 100 <= early <= 110, 'each request makes one step of progress when the budget is spent'
        assert loop.tick(0.1).expansions == early + 1
        loop.tick(0.15)
        assert handler.planner.expansions - before == early + 1 + 100

    def test_leave_the_waypoint_its_half_of_the_tick(self):
        spent = []
        for requests in (0, 5):
            loop, _, _ = self.loop(goal=GOAL)
            loop.navigator.reset_search()
            for _ in range(requests):
                loop.serve_requests(0.06, 0.03)
            loop.tick(0.1)
            spent.append(loop.navigator.planner.expansions)
        assert spent[0] == spent[1] > 0


# ------------------------------------------------------------------------------------------------------ overdue maps
class WatchedLoop:
    """A loop with a goal that ticks 5 times a second; keeps when it warned of an overdue map, by its own clock."""

    def __init__(self, **parameters):
        self.log, self.poses, self.warned_s, self.now_s = Problems(), ReceivedPose(0.0), [], 0.0
        chosen = dataclasses.replace(PARAMETERS, **parameters)
        self.maps = MapIntake(chosen.map_settings(), self.log)
        self.loop = PlannerLoop(chosen.loop_settings(), self.maps, self.poses, self.log, perf_counter)
        self.poses.take(START, 0.0)
        self.loop.navigator.new_goal(GOAL)

    def run(self, arrivals_s, until_s, patches=False):
        """Maps arrive at these times; every second one is a patch, if there are patches."""
        arrivals_s, number = sorted(arrivals_s), 0
        while self.now_s < until_s:
            while number < len(arrivals_s) and arrivals_s[number] <= self.now_s + 1e-6:
                if patches and number % 2:
                    self.maps.take_patch(Patch('map', 0, (0, 0), np.zeros((2, 2), np.int8)))
                else:
                    self.maps.take_map(Occupancy('map', 0, GEOMETRY, walls()))
                number += 1
            self.tick()
        return self

    def tick(self):
        before = len(self.log)
        result = self.loop.tick(self.now_s)
        if any(kind == 'map_age' for kind, _ in self.log[before:]):
            self.warned_s.append(self.now_s)
        self.now_s += 0.2
        return result


def every(period_s, until_s, begin_s=0.0):
    return np.arange(begin_s, until_s, period_s).tolist()


class TestAnOverdueMap:
    @pytest.mark.parametrize('patches', [False, True], ids=['whole maps', 'maps and patches'])
    def test_is_noticed_if_it_used_to_come_periodically(self, patches):
        watched = WatchedLoop().run(every(1.0, 20.5), 40.0, patches)
        assert watched.warned_s[0] == pytest.approx(25.2), 'more than five periods after the last one'
        assert watched.warned_s[-1] == pytest.approx(39.8)
        assert 'the map is 5.2 s old; it came every 1.0 s' in dict(reversed(watched.log))['map_age']
        assert watched.loop.map_problems(watched.now_s)

    def test_is_noticed_after_three_seconds_at_the_earliest(self):
        watched = WatchedLoop().run(every(0.1, 10.05), 15.0)
        assert watched.warned_s[0] == pytest.approx(13.0, abs=0.3)

    def test_does_not_stop_the_robot_unless_map_timeout_s_says_so(self):
        for timeout_s, status in ((0.0, 'NAVIGATING'), (4.0, 'MAP_LOST')):
            watched = WatchedLoop(map_timeout_s=timeout_s).run(every(1.0, 20.5), 30.0)
            assert watched.tick().tick.status == status

    def test_is_none_if_the_map_comes_once(self):
        assert WatchedLoop().run([0.0], 60.0).warned_s == []

    def test_is_none_if_maps_come_irregularly(self):
        random, rhythm, now_s = np.random.default_rng(1), MapRhythm(), 0.0
        for time_s in random.choice([0.3, 1.0, 4.0, 15.0], 2_000).tolist():
            assert not rhythm.is_overdue(time_s)
            now_s += time_s
            rhythm.arrived(now_s, some_were_lost=False)

    def test_is_noticed_although_maps_have_come_late_before(self):
        """A link that has to repeat parts of some maps, until none gets through."""
        late_s = {12: 1.6, 15: 0.9, 19: 1.7}
        watched = WatchedLoop().run([number + late_s.get(number, 0.0) for number in range(21)], 40.0)
        assert watched.warned_s[0] == pytest.approx(20.7 + 5.0, abs=0.3)

    def test_is_none_without_a_goal(self):
        watched = WatchedLoop()
        watched.loop.navigator.cancel()
        assert watched.run(every(1.0, 20.5), 40.0).warned_s == []
        assert watched.loop.map_problems(watched.now_s) == []

    def test_is_none_any_more_when_a_map_has_come(self):
        watched = WatchedLoop().run([*every(1.0, 20.5), 30.0], 32.0)
        assert watched.warned_s[-1] == pytest.approx(29.8)
        assert watched.loop.map_problems(watched.now_s) == []

    def test_of_a_publisher_that_has_become_slower_is_noticed_by_its_new_period(self):
        watched = WatchedLoop().run([*every(1.0, 20.5), *every(8.0, 150.0, 28.0)], 250.0)
        first, later = [now_s for now_s in watched.warned_s if now_s < 28.0], watched.warned_s[-1]
        assert first, 'nobody could know that it is only slower'
        between = [now_s for now_s in watched.warned_s if 28.1 < now_s < 148.0]
        assert between == []
        assert later == pytest.approx(249.8, abs=0.3)
        assert min(now_s for now_s in watched.warned_s if now_s > 148.0) == pytest.approx(148.0 + 40.0, abs=0.3)

    def test_is_noticed_again_and_again_while_maps_are_lost_on_the_way(self):
        watched = WatchedLoop().run(every(1.0, 20.5), 20.5)
        for outage in range(3):
            begin_s = watched.now_s
            watched.run([], begin_s + 10.0)
            assert watched.warned_s[-1] > begin_s + 9.0, f'outage {outage}'
            watched.maps.lost_maps += 9
            watched.run([watched.now_s], watched.now_s + 1.0)
            assert watched.warned_s[-1] < begin_s + 10.3

    @pytest.mark.parametrize('jump_s', [1000.0, -15.0])
    def test_is_none_because_the_clock_has_jumped(self, jump_s):
        watched = WatchedLoop().run(every(1.0, 20.5), 20.5)
        watched.now_s += jump_s
        watched.loop.clock_jumped(watched.now_s)
        begin_s = watched.now_s
        watched.run(every(1.0, begin_s + 20.0, begin_s + 0.5), begin_s + 20.0)
        assert watched.warned_s == []
        watched.run([], begin_s + 30.0)
        assert watched.warned_s[0] == pytest.approx(begin_s + 19.5 + 5.0, abs=0.5)


# ------------------------------------------------------------------------------------------------------ lost patches
def map_of(stamp_ns):
    return Occupancy('map', stamp_ns, GEOMETRY, walls())


def patch_of(stamp_ns, at=(0, 0)):
    return Patch('map', stamp_ns, at, np.zeros((2, 2), np.int8))


class TestLostPatches:
    def intake(self):
        maps = MapIntake(PARAMETERS.map_settings(), Problems())
        maps.take_map(map_of(10))
        return maps

    def test_leave_a_map_that_may_be_wrong_until_the_next_whole_map(self):
        maps = self.intake()
        maps.take_patch(patch_of(20))
        assert not maps.is_incomplete
        maps.take_patch(patch_of(30), lost=2)
        maps.take_patch(patch_of(40))
        assert maps.is_incomplete
        maps.take_map(map_of(50))
        assert not maps.is_incomplete

    def test_are_not_in_a_whole_map_that_is_older_and_arrives_later(self):
        maps = self.intake()
        maps.take_patch(patch_of(30), lost=2)
        maps.take_map(map_of(20))
        assert maps.is_incomplete

    def test_without_stamps_are_in_the_next_whole_map(self):
        maps = self.intake()
        maps.take_patch(patch_of(0), lost=2)
        maps.take_map(map_of(20))
        assert not maps.is_incomplete

    def test_before_one_that_the_map_contains_are_in_the_map(self):
        maps = self.intake()
        maps.take_patch(patch_of(5), lost=2)
        assert not maps.is_incomplete

    def test_before_one_that_cannot_be_used_are_lost_too(self):
        maps = self.intake()
        maps.take_patch(b'nonsense', lost=2)
        assert maps.is_incomplete

    def test_are_suspected_where_a_patch_does_not_fit_the_map(self):
        maps = self.intake()
        maps.take_patch(patch_of(20, at=(119, 0)))
        assert maps.is_incomplete

    def test_are_a_problem_that_the_loop_reports(self):
        watched = WatchedLoop().run([0.0], 1.0)
        assert watched.loop.map_problems(watched.now_s) == []
        watched.maps.take_patch(patch_of(0), lost=2)
        assert 'may be wrong' in watched.loop.map_problems(watched.now_s)[0]


# ------------------------------------------------------------------------------------------------------ failed ticks
class Failing:
    """A recorder that fails outside of what is guarded."""

    def searching(self, search):
        raise RuntimeError('for the test')


class TestAfterATickThatRaised:
    def loop(self):
        watched = WatchedLoop().run([0.0], 1.0)
        watched.loop.recorder = Failing()
        assert watched.tick().tick is None
        watched.loop.recorder = None
        return watched

    def test_a_cancel_stops_the_robot(self):
        watched = self.loop()
        watched.loop.navigator.cancel()
        tick = watched.tick().tick
        assert (tick.status, tick.waypoint) == ('CANCELED', START)
        assert watched.tick().tick.waypoint is None

    def test_a_pose_that_is_missing_is_a_lost_one(self):
        watched = self.loop()
        watched.poses.forget()
        assert watched.tick().tick.status == 'POSE_LOST'

    def test_the_robot_goes_on_to_its_goal(self):
        assert self.loop().tick().tick.status == 'NAVIGATING'
