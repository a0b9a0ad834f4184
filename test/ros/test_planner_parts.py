"""The node's parts that need no DDS: its search budget, its counts of ticks, its reports, the worker's thread."""

import subprocess
import sys
import threading
import time
from array import array

import numpy as np
import pytest
from helpers.processes import wait_for
from helpers.surroundings import map_message
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import serialize_message

from tb_planner import Grid, TimeBoundedPlanner, tba_star
from tb_planner.config import PlannerParameters
from tb_planner.errors import MAX_TEXT
from tb_planner.geometry import Pose2D
from tb_planner.maps.map_worker import MAX_PATCHES, MapWorker
from tb_planner.ros.diagnostics import WINDOW, Speedometer, TickStats
from tb_planner.ros.throttled_log import SAME_KIND_S, SAME_TEXT_S, ThrottledLog
from tb_planner.search.planner import MAX_NEW_MEMORY_CHUNK, MIN_CHUNK, TickBudget


# ------------------------------------------------------------------------------------------------------ search budget
class Pace:
    """A clock that goes on with the expansions of a planner, at a pace that may change."""

    def __init__(self, planner, expansions_a_second):
        self._planner = planner
        self.expansions_a_second = expansions_a_second
        self._seen = planner.expansions
        self._now_s = 0.0

    def __call__(self):
        new, self._seen = self._planner.expansions - self._seen, self._planner.expansions
        self._now_s += new / self.expansions_a_second + 1e-6
        return self._now_s


def rough_terrain():
    blocked = np.random.default_rng(2).random((1000, 1000)) < 0.35
    blocked[:3, :3] = blocked[-3:, -3:] = False
    return Grid(blocked, corner_cutting=True)


ROUGH = rough_terrain()


def long_search():
    """A search of some hundred thousand expansions."""
    return TimeBoundedPlanner(ROUGH, (0, 0), (999, 999), tba_star(), trace_steps=64)


@settings(max_examples=50)
@given(pace=st.floats(1e4, 1.5e6), time_s=st.floats(1e-3, 0.02))
def test_a_search_takes_its_time_and_no_more(pace, time_s):
    planner = long_search()
    clock = Pace(planner, pace)
    budget = TickBudget(clock, search_time_s=time_s)
    budget.search_for(planner)  # the first ones are needed to learn the pace
    for _ in range(3):
        before_s = clock()
        budget.begin_tick()
        budget.search_for(planner)
        spent_s = clock() - before_s
        assert spent_s <= time_s + MIN_CHUNK / pace + 1e-4
        assert spent_s >= 0.9 * time_s
    assert not planner.goal_found


def test_a_pace_that_drops_to_a_fourth_costs_one_tick_twice_its_time_at_most():
    planner = long_search()
    clock = Pace(planner, 1e6)
    budget = TickBudget(clock, search_time_s=0.01)
    for _ in range(3):
        budget.begin_tick()
        budget.search_for(planner)
    clock.expansions_a_second = 2.5e5
    times = []
    for _ in range(3):
        before_s = clock()
        budget.begin_tick()
        budget.search_for(planner)
        times.append(clock() - before_s)
    assert not planner.goal_found
    assert max(times) <= 0.02 + 1e-4
    assert times[-1] <= 0.01 + 1e-3


def test_chunks_are_small_while_the_searchs_memory_is_taken_from_the_system():
    """Expansions that have to wait for their memory take a hundred times as long; the pace of the tick before does not
    count then."""
    planner = long_search()
    clock = Pace(planner, 1e6)
    budget = TickBudget(clock, search_time_s=0.01)
    budget.search_for(planner)
    planner._search.taking_memory = True
    clock.expansions_a_second = 1e4
    before = planner.expansions
    budget.begin_tick()
    budget.search_for(planner)
    assert planner.expansions - before <= MAX_NEW_MEMORY_CHUNK
    planner._search.taking_memory = False
    clock.expansions_a_second = 1e6
    for _ in range(2):
        before = planner.expansions
        budget.begin_tick()
        budget.search_for(planner)
    assert planner.expansions - before > 9_000


def test_every_tick_gets_on_however_slow_the_search():
    planner = long_search()
    budget = TickBudget(Pace(planner, 10.0), search_time_s=0.001)
    for _ in range(3):
        before = planner.expansions
        budget.begin_tick()
        budget.search_for(planner)
        assert planner.expansions == before + MIN_CHUNK


def test_a_search_that_has_found_its_goal_takes_no_time():
    planner = TimeBoundedPlanner(Grid(np.zeros((9, 9), bool)), (0, 0), (8, 8), tba_star())
    clock = Pace(planner, 1e6)
    budget = TickBudget(clock, search_time_s=1.0)
    budget.begin_tick()
    budget.search_for(planner)
    assert planner.goal_found
    before_s = clock()
    budget.begin_tick()
    budget.search_for(planner)
    assert clock() - before_s < 1e-4


def test_a_search_without_a_path_ends():
    blocked = np.zeros((9, 9), bool)
    blocked[:, 4] = True
    planner = TimeBoundedPlanner(Grid(blocked), (0, 0), (8, 8), tba_star())
    TickBudget(Pace(planner, 1e6), search_time_s=1e9).search_for(planner)
    assert planner.open_size == 0


# ------------------------------------------------------------------------------------------------------ ticks
def test_ticks_that_come_late_are_not_missed_but_those_that_do_not_come_are():
    times = TickStats(0.1)
    for now_s in (0.0, 0.1, 0.24, 0.3, 0.4, 0.7, 0.8):  # two are missing between 0.4 and 0.7
        times.begin(now_s)
    assert (times.ticks, times.missed) == (7, 2)


def test_a_jump_of_the_clock_is_no_missed_tick():
    times = TickStats(0.1)
    times.begin(0.0)
    times.clock_jumped()
    times.begin(500.0)
    times.begin(500.1)
    assert times.missed == 0


def test_a_clock_that_goes_back_is_no_missed_tick():
    times = TickStats(0.1)
    times.begin(500.0)
    times.begin(3.0)
    assert times.missed == 0


def test_jitter_is_what_the_time_between_two_ticks_differs_from_a_period():
    times = TickStats(0.1)
    for now_s in (0.0, 0.1, 0.24, 0.3):
        times.begin(now_s)
    assert times.percentiles_ms('tick', 'jitter')['jitter_max_ms'] == pytest.approx(40.0)
    times.clock_jumped()
    times.begin(900.0)
    times.begin(900.1)
    found = times.percentiles_ms('tick', 'jitter')
    assert (found['jitter_p99_ms'], found['jitter_max_ms']) == pytest.approx((0.0, 0.0), abs=1e-6)


def test_overruns_are_ticks_longer_than_a_period():
    times = TickStats(0.1)
    for duration_s in (0.01, 0.1, 0.11, 0.5):
        times.end(duration_s)
    assert times.overruns == 2


def test_percentiles_are_those_of_the_last_ticks():
    times = TickStats(0.1)
    names = ['tick_p50_ms', 'tick_p99_ms', 'tick_max_ms']
    assert [times.percentiles_ms('tick', 'jitter')[name] for name in names] == [0.0, 0.0, 0.0]
    times.end(9.0)
    for i in range(WINDOW):
        times.end(i * 1e-6)
    found = times.percentiles_ms('tick', 'jitter')
    expected = np.percentile(np.arange(WINDOW), (50, 99, 100)) * 1e-3
    assert [found[name] for name in names] == pytest.approx(expected.tolist())


def test_the_first_percentiles_import_nothing():
    """The first tick would have to wait for it."""
    program = """if True:
        import sys
        from tb_planner.ros import node
        times = node.TickStats(0.1)
        times.begin(0.0), times.end(0.01), times.begin(0.1)
        before = set(sys.modules)
        times.percentiles_ms('tick', 'jitter')
        print(sorted(set(sys.modules) - before))
    """
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=60)
    assert done.stdout == '[]\n', done.stdout + done.stderr


# ------------------------------------------------------------------------------------------------------ problems
class Log(list):
    def warning(self, text):
        self.append(text)

    error = warning


def test_the_same_problem_is_logged_once_in_a_while_and_counted_always():
    log, now = Log(), [0.0]
    problems = ThrottledLog(log, lambda: now[0])
    for _ in range(11):
        problems.warn('pose', 'pose is nowhere')
        now[0] += SAME_TEXT_S / 10
    assert log == ['pose is nowhere', 'pose is nowhere (9 like this not shown)']
    assert problems.counts['pose'] == 11


def test_another_problem_is_logged_at_once_and_another_of_its_kind_soon():
    log, now = Log(), [0.0]
    problems = ThrottledLog(log, lambda: now[0])
    problems.warn('pose', 'one')
    problems.warn('map', 'two')
    problems.warn('pose', 'three')
    assert problems.last == 'three'
    now[0] += SAME_KIND_S
    problems.warn('pose', 'four')
    assert log == ['one', 'two', 'four (1 like this not shown)']


def test_an_age_that_grows_is_the_same_problem():
    log, now = Log(), [0.0]
    problems = ThrottledLog(log, lambda: now[0])
    for age in range(10):
        problems.warn('pose', f'pose is {age} s old', same='old')
        now[0] += SAME_KIND_S
    assert log == ['pose is 0 s old']
    assert problems.last == 'pose is 9 s old'


def test_a_long_text_is_cut_to_its_beginning_and_its_end():
    log = Log()
    problems = ThrottledLog(log)
    problems.error('goal', 'begin ' + 4_000_000 * 'x' + ' end')
    assert problems.last == log[0]
    assert len(log[0]) < 1.02 * MAX_TEXT
    assert log[0].startswith('begin xxx')
    assert log[0].endswith('xxx end')
    assert f'[{4_000_010 - MAX_TEXT} characters]' in log[0]


# ------------------------------------------------------------------------------------------------------ the worker
def worker_with(**parameters):
    return MapWorker(PlannerParameters(**parameters).map_settings(), ThrottledLog(Log()), time.perf_counter)


@pytest.fixture
def worker():
    worker = worker_with(robot_radius_m=0.0, inflation_radius_m=0.0)
    yield worker
    worker.stop()


def as_bytes(cells, **options):
    return serialize_message(map_message(np.asarray(cells), **options))


def patch_bytes(x, y, values):
    map_msgs = pytest.importorskip('map_msgs.msg')
    height, width = np.shape(values)
    data = array('b', np.asarray(values, np.int8).tobytes())
    return serialize_message(map_msgs.OccupancyGridUpdate(x=x, y=y, width=width, height=height, data=data))


def test_of_the_maps_that_wait_only_the_newest_is_taken_in(worker):
    for value in range(5):
        worker.put_map(as_bytes([[0, value * 25]]))
    worker.start()
    assert wait_for(lambda: worker.intake.taken)
    update = worker.intake.source.live_map.latest()
    assert update.grid.blocked.tolist() == [[False, True]]
    assert worker.intake.taken == 1


def test_updates_are_taken_in_in_order_after_the_map_they_follow(worker):
    worker.put_patch(patch_bytes(0, 0, [[100]]))  # before the map: not to be used
    worker.put_map(as_bytes([[0, 0, 0]]))
    worker.put_patch(patch_bytes(1, 0, [[100, 100]]))
    worker.put_patch(patch_bytes(2, 0, [[0]]))
    worker.start()
    assert wait_for(lambda: worker.intake.taken == 3)
    assert worker.intake.source.live_map.latest().grid.blocked.tolist() == [[False, True, False]]


def test_a_bad_map_takes_nothing_with_it_that_waits(worker):
    worker.put_map(as_bytes([[0, 0, 0]]))
    worker.put_patch(patch_bytes(1, 0, [[100]]))
    worker.put_map(b'nonsense')
    worker.put_patch(patch_bytes(2, 0, [[100]]))
    worker.start()
    assert wait_for(lambda: worker.intake.taken == 3)
    assert worker.intake.source.live_map.latest().grid.blocked.tolist() == [[False, True, True]]
    assert (worker._log.counts['map'], worker._log.counts['map_updates']) == (1, 0)


def test_of_more_updates_than_can_wait_the_oldest_are_lost_with_an_error(worker):
    worker.put_map(as_bytes([[0] * (MAX_PATCHES + 1)]))
    for x in range(MAX_PATCHES + 1):
        worker.put_patch(patch_bytes(x, 0, [[100]]))
    assert worker._log.counts['map_updates'] == 1
    worker.start()
    assert wait_for(lambda: worker.intake.taken == MAX_PATCHES + 1)
    assert worker.intake.source.live_map.latest().grid.blocked.tolist() == [[False] + [True] * MAX_PATCHES]


def test_of_updates_larger_than_what_may_wait_the_oldest_are_lost_and_the_newest_stays(worker, monkeypatch):
    """1024 updates of 10,000 x 10,000 cells would be 100 GB."""
    size = len(patch_bytes(0, 0, [[100]]))
    monkeypatch.setattr('tb_planner.maps.map_worker.MAX_WAITING_BYTES', 2 * size)
    worker.put_map(as_bytes([[0] * 6]))
    for x in range(4):
        worker.put_patch(patch_bytes(x, 0, [[100]]))
    assert [worker.intake.lost_patches, worker._log.counts['map_updates']] == [2, 2]
    worker.put_patch(patch_bytes(4, 0, [[100, 100]]))
    waiting = [len(message.data) for message in worker._queue.messages if not message.is_map]
    assert sum(waiting) <= 2 * size
    worker.put_patch(patch_bytes(0, 0, [[100] * 6 * size]))  # larger alone: it waits alone, and does not fit the map
    assert len([message for message in worker._queue.messages if not message.is_map]) == 1
    worker.start()
    assert wait_for(lambda: worker.is_idle)
    assert worker.intake.source.live_map.latest().grid.blocked.tolist() == [[False] * 6]
    assert worker.intake.is_incomplete


def test_the_tick_finds_news_however_fast_maps_come():
    worker = worker_with(tick_frequency=1.0)
    worker.start()
    found, room = 0, np.zeros((500, 500), np.int8)
    try:
        for i in range(400):  # the worker is never without work
            room[i] = 100
            worker.put_map(as_bytes(room))
            time.sleep(0.002)
            if i % 20 == 19:
                found += worker.intake.source.live_map.latest() is not None
    finally:
        worker.stop()
    assert found > 0
    assert worker.intake.taken <= found + 2, 'a map that nobody has seen was taken back'


def test_a_map_in_another_frame_is_another_source(worker):
    worker.start()
    first = worker.intake.source
    worker.put_map(as_bytes([[0, 0]]))
    assert wait_for(lambda: worker.intake.taken == 1)
    assert worker.intake.source is first
    worker.put_map(as_bytes([[0, 100]], frame='elsewhere'))
    assert wait_for(lambda: worker.intake.taken == 2)
    assert (first.frame, worker.intake.source.frame) == ('map', 'elsewhere')
    assert first.live_map.latest().grid.blocked.tolist() == [[False, False]]
    assert worker.intake.source.live_map.latest().grid.blocked.tolist() == [[False, True]]


def test_the_worker_survives_what_it_cannot_read(worker):
    worker.start()
    worker.put_map(b'nonsense')
    assert wait_for(lambda: worker._log.counts['map'] == 1)
    worker.put_map(as_bytes([[0, 100]]))
    assert wait_for(lambda: worker.intake.taken == 1)


def test_other_rules_make_other_costs_of_the_same_map(worker):
    worker.start()
    worker.put_map(as_bytes([[0, 60, 100]]))
    assert wait_for(lambda: worker.intake.taken == 1)
    assert worker.intake.source.live_map.latest().grid.blocked.tolist() == [[False, False, True]]
    worker.use_settings(
        PlannerParameters(robot_radius_m=0.0, inflation_radius_m=0.0, lethal_threshold=50).map_settings()
    )
    assert wait_for(lambda: worker.intake.source.live_map.latest() is not None)


def test_rules_that_the_map_has_no_room_for_take_no_message_with_them(worker):
    unknown = np.full((1200, 1200), -1)
    worker.start()
    worker.put_map(as_bytes(unknown))
    assert wait_for(lambda: worker.intake.source.live_map.latest() is not None)
    unknown[0, 0] = 100
    with worker._changed:  # so that the worker finds both together
        worker.use_settings(
            PlannerParameters(robot_radius_m=0.0, inflation_radius_m=0.0, unknown_cost=4095.0).map_settings()
        )
        worker.put_map(as_bytes(unknown))
    assert wait_for(lambda: worker.intake.taken == 2)
    assert worker._log.counts['parameters'] == 1
    assert 'the mean cost is 4095.0' in worker._log.last
    update = worker.intake.source.live_map.latest()
    assert update.grid.blocked.sum() == 1
    assert update.grid.costs[0, 1] == 1.0


def test_stopping_does_not_wait_for_a_tick_that_never_comes():
    worker = worker_with(tick_frequency=0.1, search_time_s=0.01)
    worker.start()
    worker.put_map(as_bytes([[0, 0]]))
    assert wait_for(lambda: worker.intake.taken == 1)
    stop = threading.Thread(target=worker.stop)
    stop.start()
    stop.join(5.0)  # two ticks are 20 s
    assert not stop.is_alive()


def test_stopping_ends_the_thread_even_if_it_has_never_begun():
    for start in (True, False):
        worker = worker_with()
        if start:
            worker.start()
        worker.stop()
        assert not any(thread.name == 'map_worker' for thread in threading.enumerate())


def test_the_time_to_the_goal_follows_from_the_mean_speed_and_is_a_plain_number():
    """YAML cannot represent NumPy's numbers."""
    speedometer = Speedometer()
    assert speedometer.time_s(10.0) is None
    for second in range(5):
        speedometer.see(Pose2D(0.5 * second, 1.0), 100.0 + second)
    assert speedometer.time_s(10.0) == pytest.approx(20.0)
    assert type(speedometer.time_s(10.0)) is float
    speedometer.see(Pose2D(9.0, 1.0), 50.0)  # the clock was set back
    assert speedometer.time_s(10.0) is None
