"""What the other ROS tests build on: domains, processes that are ended, a node that subscribes and waits."""

import signal
import sys
from pathlib import Path

import pytest
from helpers.peer import LATCHED
from helpers.processes import wait_for, wait_until_logged
from std_msgs.msg import String
from std_srvs.srv import Trigger

from tb_planner.ros.processes import LOOPBACK, Domain, NoFreeDomain, end, ros_arguments, signals_held_back

STUBBORN = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('started', flush=True)
time.sleep(60)
"""
PARENT = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', {STUBBORN!r}])
print('child', child.pid, flush=True)
time.sleep(60)
"""
TALKER = """
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

rclpy.init()
node = rclpy.create_node('talker')
greeting = node.declare_parameter('greeting', '').value
publisher = node.create_publisher(String, 'greetings', QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
publisher.publish(String(data=greeting))
rclpy.spin(node)
"""


def is_alive(pid):
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except OSError:
        return False
    return state != 'Z'


def test_two_domains_are_two():
    first, second = Domain(), Domain()
    assert first.number != second.number
    first.close()
    second.close()


def test_fast_dds_is_given_its_profiles_by_the_names_of_every_distribution(tmp_path):
    domain = Domain()
    environment = domain.environment(tmp_path)
    domain.close()
    names = ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE')  # Jazzy; Kilted and later
    assert [environment[name] for name in names] == [str(LOOPBACK)] * 2


def test_a_domain_in_which_somebody_is_already_is_passed_over(peer, ros_environment, monkeypatch):
    taken = int(ros_environment['ROS_DOMAIN_ID'])
    monkeypatch.setattr('tb_planner.ros.processes.DOMAINS', range(taken, taken + 1))
    monkeypatch.setattr('tb_planner.ros.processes.CLAIMS', 22500)
    with pytest.raises(NoFreeDomain):
        Domain()


def interrupted_in_a_block(seen):
    with signals_held_back() as came:
        signal.raise_signal(signal.SIGINT)
        seen += came


def test_a_signal_that_is_held_back_comes_when_the_block_is_left():
    seen = []
    with pytest.raises(KeyboardInterrupt):
        interrupted_in_a_block(seen)
    assert seen == [signal.SIGINT]


def test_a_process_that_ignores_every_request_is_killed(nodes):
    process = nodes.start([sys.executable, '-c', STUBBORN], 'stubborn')
    wait_until_logged(process, 'started')
    end([process], patience_s=0.2)
    assert process.exit_code == -signal.SIGKILL


def test_what_a_process_started_ends_with_it(nodes):
    process = nodes.start([sys.executable, '-c', PARENT], 'parent')
    child = int(wait_until_logged(process, r'child (\d+)')[1])
    wait_until_logged(process, 'started')
    end([process], patience_s=1.0)
    assert wait_for(lambda: not is_alive(child))


def test_waiting_for_a_missing_log_line_fails_with_the_whole_log(nodes):
    process = nodes.start([sys.executable, '-c', 'print("good day")'])
    with pytest.raises(AssertionError, match='good day'):
        wait_until_logged(process, 'good night')


def test_the_peer_receives_what_another_process_has_published_before(nodes, peer):
    text = 'two words, "quoted": true'
    nodes.start([sys.executable, '-c', TALKER, *ros_arguments({'greeting': text})], 'talker')
    received = peer.subscribe('greetings', String, LATCHED)
    peer.wait_until(lambda: received, 'the talker publishes')
    assert [message.data for message in received] == [text]


def test_the_peer_calls_services_and_gives_up_waiting(peer):
    def respond(_, response):
        response.message = 'done'
        return response

    peer.node.create_service(Trigger, 'work', respond)
    assert peer.call('work', Trigger).message == 'done'
    with pytest.raises(AssertionError, match='pigs fly'):
        peer.wait_until(lambda: False, 'pigs fly', limit_s=0.1)


@pytest.mark.parametrize('module', ['node', 'simulator_node', 'view_node'])
def test_a_node_ends_dds_before_its_process_ends(nodes, tmp_path, module):
    """What is left of DDS then is used by its threads while the process takes it down, and they crash."""
    parameters = {
        'node': {'autostart_node': True},
        'simulator_node': {'map': 'office'},
        'view_node': {'record': str(tmp_path / 'run.tbrun')},
    }[module]
    program = f"""
import sys
from pathlib import Path
from tb_planner.ros import {module} as module
code = module.main()
print('threads', *(task.read_text().strip() for task in Path('/proc/self/task').glob('*/comm')), flush=True)
sys.exit(code)
"""
    process = nodes.start([sys.executable, '-u', '-c', program, *ros_arguments(parameters)])
    wait_until_logged(process, 'active|Simulating|shown at')
    process.send(signal.SIGTERM)
    assert process.wait(30)
    assert process.exit_code == 0, process.log_text
    threads = wait_until_logged(process, r'threads (.*)')[1].split()
    assert threads
    assert not [name for name in threads if name.startswith('dds.udp')]
