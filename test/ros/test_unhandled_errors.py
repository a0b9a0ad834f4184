"""What rclpy itself cannot handle: it raises in its own callbacks, and no node ends by it."""

import subprocess
import sys

import pytest
from builtin_interfaces.msg import Time
from helpers.processes import LIMIT_S
from helpers.surroundings import PlannerPeer
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters, SetParametersAtomically
from rosgraph_msgs.msg import Clock

from tb_planner.ros.params import MAX_NAMES
from tb_planner.ros.processes import ros_arguments

NO_TYPE = 77
"""ParameterValue.type has values from 0 to 9; rclpy raises ValueError for others, outside our callbacks."""


def start(nodes, kind, tmp_path):
    if kind == 'tb_planner':
        return nodes.planner(autostart_node=True)
    if kind == 'simulator':
        return nodes.simulator()
    return nodes.start_module(
        'tb_planner.ros.view_node', ros_arguments({'record': str(tmp_path / 'a.tbrun'), 'port': 0})
    )


@pytest.mark.parametrize('kind', ['tb_planner', 'simulator', 'view'])
def test_a_parameter_of_no_known_type_ends_no_node(nodes, peer, tmp_path, kind):
    process = start(nodes, kind, tmp_path)
    peer.call(f'{kind}/get_parameters', GetParameters)
    request = SetParameters.Request(parameters=[Parameter(name='weight', value=ParameterValue(type=NO_TYPE))])
    client = peer.node.create_client(SetParameters, f'{kind}/set_parameters')
    peer.wait_until(client.service_is_ready, 'set_parameters is there')
    for _ in range(3):
        client.call_async(request)
    peer.wait_until(lambda: f'{NO_TYPE} is not a valid' in process.log_text, 'the node logs the error')
    names = peer.call(f'{kind}/get_parameters', GetParameters, GetParameters.Request(names=['use_sim_time']))
    assert len(names.values) == 1
    assert process.exit_code is None


@pytest.mark.parametrize('kind', ['tb_planner', 'simulator'])
def test_long_values_of_parameters_and_labels_fill_neither_log_nor_response(nodes, peer, tmp_path, kind):
    process = start(nodes, kind, tmp_path)
    peer.call(f'{kind}/get_parameters', GetParameters)
    begin = len(process.log_text)
    value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=1_000_000 * 'x')
    names = ('algorithm', 'planner_id', 'controller_id', 'record') if kind == 'tb_planner' else ('change_rate',)
    for name in names:
        request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
        result = peer.call(f'{kind}/set_parameters', SetParameters, request).results[0]
        assert not result.successful
        assert 0 < len(result.reason) < 5000
    if kind == 'tb_planner':
        label = ChangeState.Request(transition=Transition(label=1_000_000 * 'y'))
        assert not peer.call(f'{kind}/change_state', ChangeState, label).success
    assert len(process.log_text) - begin < 20_000


@pytest.mark.parametrize('kind', ['tb_planner', 'simulator', 'view'])
def test_a_request_for_more_parameters_than_the_limit_is_refused_and_one_for_as_many_is_served(
    nodes, peer, tmp_path, kind
):
    """rclpy deals with them one by one, in the thread of the ticks: 1000 weights took 0.65 s."""
    process = start(nodes, kind, tmp_path)

    def get(count):
        request = GetParameters.Request(names=count * ['use_sim_time'])
        return len(peer.call(f'{kind}/get_parameters', GetParameters, request).values)

    def set_(count):
        request = SetParameters.Request(parameters=count * [Parameter(name='nobody_has_it')])
        return peer.call(f'{kind}/set_parameters', SetParameters, request).results

    too_many = MAX_NAMES + 1
    assert (get(MAX_NAMES), get(too_many)) == (MAX_NAMES, 0)
    assert len(set_(MAX_NAMES)) == MAX_NAMES
    reason = f'the request has {too_many} parameters; it must have at most {MAX_NAMES}'
    assert [result.reason for result in set_(too_many)] == [reason]
    atomically = SetParametersAtomically.Request(parameters=too_many * [Parameter(name='nobody_has_it')])
    assert peer.call(f'{kind}/set_parameters_atomically', SetParametersAtomically, atomically).result.reason == reason
    prefixes = ListParameters.Request(prefixes=too_many * ['a'])
    assert peer.call(f'{kind}/list_parameters', ListParameters, prefixes).result.names == []
    assert f'{reason}: it is refused' in process.log_text
    assert process.exit_code is None


def test_errors_within_rclpy_are_counted_in_the_diagnostics(nodes, peer):
    nodes.planner(robot_radius_m=0.1, inflation_radius_m=0.2)
    around = PlannerPeer(peer)
    around.set_out()
    errors = int(around.next_facts()['errors'])
    client = peer.node.create_client(SetParameters, 'tb_planner/set_parameters')
    peer.wait_until(client.service_is_ready, 'set_parameters is there')
    request = SetParameters.Request(parameters=[Parameter(name='weight', value=ParameterValue(type=NO_TYPE))])
    for count in (1, 2, 3):  # one by one: rclpy leaves requests that came with the one that failed to the next event
        client.call_async(request)
        expected = str(errors + count)
        peer.wait_until(lambda: around.facts['errors'] == expected, lambda: f'errors: {around.facts}')  # noqa: B023
    assert f'{NO_TYPE} is not a valid' in around.facts['last_problem']


@pytest.mark.parametrize('kind', ['tb_planner', 'simulator'])
def test_a_clock_before_the_epoch_ends_no_node(nodes, peer, kind):
    process = getattr(nodes, 'planner' if kind == 'tb_planner' else 'simulator')(use_sim_time=True)
    peer.call(f'{kind}/get_parameters', GetParameters)
    clock = peer.publisher('/clock', Clock)
    clock.publish(Clock(clock=Time(sec=5)))

    def is_logged():
        clock.publish(Clock(clock=Time(sec=-5)))  # again and again: the subscription is best-effort
        return 'must not be negative' in process.log_text

    peer.wait_until(is_logged, 'the node logs the error')
    clock.publish(Clock(clock=Time(sec=6)))
    names = peer.call(f'{kind}/get_parameters', GetParameters, GetParameters.Request(names=['use_sim_time']))
    assert names.values[0].bool_value
    assert process.exit_code is None


TASKS_THAT_RAISE = """
import rclpy
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.task import Future
from std_msgs.msg import String
from tb_planner.ros.main import new_executor
from tb_planner.ros.throttled_log import ThrottledLog

async def raise_later():
    raise LookupError('in a coroutine')

rclpy.init()
node = rclpy.create_node('raises')
log = ThrottledLog(node.get_logger())
executor = new_executor(node.context, log)
executor.add_node(node)
future = Future(executor=executor)
future.add_done_callback(lambda done: done.no_such_thing)
future.set_result(1)
executor.create_task(lambda: 1 / 0)
executor.create_task(raise_later)
callbacks = PublisherEventCallbacks(matched=lambda info: info.no_such_thing)  # of a waitable
publisher = node.create_publisher(String, 'chatter', 1, event_callbacks=callbacks)
other = node.create_subscription(String, 'chatter', print, 1)
for _ in range(100):
    if log.errors < 4:
        executor.spin_once(timeout_sec=0.1)
print(log.errors, 'errors')
"""


def test_tasks_that_raise_are_logged_and_do_not_end_the_process(ros_environment):
    """The executor of rclpy 7.1 ends by SIGSEGV. In a process of its own: it would end the tests, too."""
    done = subprocess.run([sys.executable, '-c', TASKS_THAT_RAISE], capture_output=True, text=True, timeout=3 * LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ['4', 'errors']
    assert 'no_such_thing' in done.stderr  # the others are throttled


def test_a_planner_with_values_of_no_known_type_does_not_end_the_view(nodes, peer, tmp_path):
    """What comes in a response is dealt with in a task."""

    def respond(request, response):
        response.values = [ParameterValue(type=NO_TYPE), ParameterValue(type=NO_TYPE)]
        return response

    peer.node.create_service(GetParameters, 'tb_planner/get_parameters', respond)
    view = start(nodes, 'view', tmp_path)
    peer.wait_until(lambda: f'{NO_TYPE}' in view.log_text, 'the view logs the error')
    names = GetParameters.Request(names=['port'])
    assert len(peer.call('view/get_parameters', GetParameters, names).values) == 1
    assert view.exit_code is None
