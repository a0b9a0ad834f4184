"""The live view with real nodes behind it: a click makes the robot drive there, a drawn wall makes it drive around."""

import math
import socket
import urllib.error
import urllib.request
from contextlib import closing

import pytest
from geometry_msgs.msg import PointStamped
from helpers.peer import Peer
from helpers.processes import LIMIT_S, wait_for, wait_until_logged
from helpers.scenes import DRIVE_LIMIT_S, World, place_of
from helpers.surroundings import RESOLUTION_M
from rcl_interfaces.msg import ParameterEvent
from rclpy.parameter import Parameter
from std_msgs.msg import UInt32
from std_srvs.srv import Trigger

from tb_planner.ros.processes import ros_arguments
from tb_planner.ros.publishers import LATCHED
from tb_planner.ros.view_node import MAX_ASKED, SHOWN, ViewNode

HALL = World("""
    ##############
    #...........d#
    #............#
    #a..........c#
    #............#
    #............#
    ##############
""")


VALUE_OF = {name: f'tbPlanner.live.{name}.value' for name in ('algorithm', 'weight')}


class View:
    """The page of a scene, and the processes behind it."""

    def __init__(self, scene, nodes, browser, record, **simulator):
        self.planner = scene.start_planner(record=str(record))
        if simulator.pop('simulated', True):
            scene.start_simulator(**simulator)
        self.server = nodes.start_module('tb_planner.ros.view_node', ros_arguments({'record': str(record), 'port': 0}))
        self.page = browser.open(wait_until_logged(self.server, r'shown at (\S+)').group(1), offline=False)
        self.page.wait_for('window.tbPlanner && tbPlanner.record.ticks > 0')

    def use(self, tool, start, end=None):
        """Places are in metres; without a tool, the one that is there at first."""
        self.page.wait_for('tbPlanner.scene.scale > 0')
        if tool:
            self.page.run(f'document.querySelector("[data-tool={tool}]").click()')
        left, top, _, _ = self.page.box_of('map')
        points = []
        for x_m, y_m in (start, end or start):
            px, py = self.page.run(f'tbPlanner.scene.pointOf({x_m / RESOLUTION_M}, {y_m / RESOLUTION_M})')
            points.append((left + px, top + py))
        self.page.drag(*points, steps=1 if end is None else 12)

    def choose(self, name, value):
        """Changes an input of the planner's panel."""
        self.page.run(
            f'(() => {{ const input = tbPlanner.live.{name}; input.value = {value};'
            'input.dispatchEvent(new Event("change")); })()'
        )

    def wait_until_subscribed(self):
        self.page.wait_for('!document.getElementById("tools").hidden', LIMIT_S)


def test_a_click_makes_the_robot_drive_there(make_scene, nodes, browser, tmp_path):
    scene = make_scene(HALL)
    view = View(scene, nodes, browser, tmp_path / 'run.tbrun')
    view.wait_until_subscribed()
    scene.wait_for_robot()
    view.use(None, HALL.places['d'])  # not in the middle: a page with its map upside down would send it elsewhere
    scene.wait_for_arrival('d')
    view.page.wait_for('document.getElementById("status").textContent === "arrived"')
    x, y = (part / RESOLUTION_M for part in HALL.places['d'])
    assert view.page.run(f'Math.hypot(tbPlanner.record.x.last - {x}, tbPlanner.record.y.last - {y})') < 4
    assert view.page.complaints() == []
    view.page.close()


def test_a_drawn_wall_makes_the_robot_drive_around_and_an_erased_one_does_not(make_scene, nodes, browser, tmp_path):
    scene = make_scene(HALL)
    view = View(scene, nodes, browser, tmp_path / 'run.tbrun')
    view.wait_until_subscribed()
    scene.wait_for_robot()
    (ax, ay), (cx, _) = HALL.places['a'], HALL.places['c']
    middle = (ax + cx) / 2
    view.use('draw', (middle, ay - 0.9), (middle, ay + 0.9))
    column = round(middle / RESOLUTION_M)
    rows = [round(part / RESOLUTION_M) for part in (ay - 0.8, ay, ay + 0.8)]
    view.page.wait_for(
        f'{rows}.every(y => tbPlanner.replay.cells[y * tbPlanner.replay.width + {column}] === 254)', DRIVE_LIMIT_S
    )
    view.use('goal', HALL.places['c'])
    scene.wait_for_arrival('c')
    assert farthest_from_line(scene, ay) > 0.9
    view.use('erase', (middle, ay - 1.0), (middle, ay + 1.0))
    view.page.wait_for(
        f'{rows}.every(y => tbPlanner.replay.cells[y * tbPlanner.replay.width + {column}] < 252)', DRIVE_LIMIT_S
    )
    scene.poses.clear()
    scene.forget_messages()
    view.use('goal', HALL.places['a'])
    scene.wait_for_arrival('a')
    assert farthest_from_line(scene, ay) < 0.4
    assert view.page.complaints() == []
    view.page.close()


def farthest_from_line(scene, y_m):
    return max(abs(place_of(pose)[1] - y_m) for pose in scene.poses)


@pytest.mark.parametrize('somebody_listens', [False, True])
def test_without_a_simulator_clicks_set_no_goal_and_the_tools_are_hidden(
    make_scene, nodes, peer, browser, tmp_path, somebody_listens
):
    scene = make_scene(HALL)
    if somebody_listens:
        peer.subscribe('simulator/draw', PointStamped)
    view = View(scene, nodes, browser, tmp_path / 'run.tbrun', simulated=False)
    scene.become_map_publisher().publish(HALL.message())
    view.page.wait_for('tbPlanner.record.maps.length > 0', LIMIT_S)
    assert view.page.run('document.getElementById("tools").hidden')
    view.page.run('tbPlanner.send({ goal: [1, 1] })')
    ticks = view.page.run('tbPlanner.record.ticks')
    view.page.wait_for(f'tbPlanner.record.ticks > {ticks + 20}', LIMIT_S)
    assert view.page.run('tbPlanner.record.goals.filter(event => event.goal).length') == 0
    assert view.page.complaints() == []
    view.page.close()


def test_a_mere_subscriber_to_strokes_is_not_taken_for_a_simulator(context, peer, tmp_path):
    """Beside a real robot, `ros2 bag record -a` subscribes to the topics of strokes, too."""
    record = Parameter('record', value=str(tmp_path / 'run.tbrun'))
    view = ViewNode(context=context, parameter_overrides=[record, Parameter('port', value=0)])
    try:
        for tool in ('draw', 'erase'):
            peer.subscribe(f'simulator/{tool}', PointStamped)
        assert wait_for(lambda: view._strokes['draw'].get_subscription_count() == 1)
        assert not view._is_simulated()
        with closing(Peer('simulator', namespace='/elsewhere')) as other, closing(Peer('simulator')) as simulator:
            other.subscribe('/simulator/draw', PointStamped)
            assert wait_for(lambda: view._strokes['draw'].get_subscription_count() == 2)
            assert not view._is_simulated()
            simulator.subscribe('~/draw', PointStamped)
            assert wait_for(view._is_simulated)
        assert wait_for(lambda: not view._is_simulated())
    finally:
        view.destroy_node()


@pytest.fixture
def view_node(context, tmp_path):
    record = Parameter('record', value=str(tmp_path / 'run.tbrun'))
    view = ViewNode(context=context, parameter_overrides=[record, Parameter('port', value=0)])
    yield view
    view.destroy_node()


def test_values_of_a_planner_that_no_page_can_show_are_left_out(view_node):
    """Anybody may publish events in a planner's name; each page would get its megabytes, and NaN is no JSON."""
    planner = view_node._planner
    for name, value in (('weight', 2.0), ('algorithm', 'x' * 10**6), ('weight', math.nan), ('weight', [1.0] * 10**6)):
        event = ParameterEvent(node='/tb_planner', changed_parameters=[Parameter(name, value=value).to_parameter_msg()])
        planner._see_event(event)
    assert planner.values is not None
    assert {name: planner.values.get(name) for name in SHOWN} == {'algorithm': None, 'weight': 2.0}


def test_requests_to_a_planner_that_does_not_respond_do_not_pile_up(view_node, peer):
    planner = view_node._planner
    peer.node.create_service(Trigger, 'tb_planner/cancel', print)  # the peer does not spin
    assert wait_for(planner._cancel.service_is_ready)
    for _ in range(MAX_ASKED + 10):
        planner.cancel(print)
    assert len(planner._cancel._pending_requests) == MAX_ASKED


FACTS = 'document.getElementById("facts").textContent'
RESPONSE = 'document.querySelector("#planner output").textContent'


def test_the_page_changes_the_planner_and_shows_what_it_refuses(make_scene, nodes, peer, browser, tmp_path):
    scene = make_scene(HALL)
    view = View(scene, nodes, browser, tmp_path / 'run.tbrun')
    view.wait_until_subscribed()
    view.page.wait_for(f'{VALUE_OF["weight"]} === "1.5" && {VALUE_OF["algorithm"]} === "tb_wa_star"', LIMIT_S)
    view.choose('weight', 0.5)
    view.page.wait_for(f'["weight", "100", "0.5"].every((part) => {RESPONSE}.includes(part))', LIMIT_S)  # rclpy's words
    assert view.page.run(VALUE_OF['weight']) == '1.5'
    view.choose('weight', 3)
    view.page.wait_for(f'{RESPONSE} === "weight is now 3.0" && {VALUE_OF["weight"]} === "3"', LIMIT_S)
    view.page.wait_for(f'{FACTS}.startsWith("tb_wa_star, weight 3 · ")', LIMIT_S)
    view.page.run('tbPlanner.live.ask({ set: { algorithm: "dijkstra" } })')
    view.page.wait_for(f'{RESPONSE}.startsWith("algorithm is \'dijkstra\'; it must be one of tba_star, ")', LIMIT_S)
    view.choose('algorithm', '"tba_star"')
    view.page.wait_for(
        f'{RESPONSE} === "algorithm is now tba_star" && document.querySelector("#planner input").disabled'
    )
    view.page.wait_for(f'{VALUE_OF["algorithm"]} === "tba_star"')
    view.page.wait_for(f'{FACTS}.startsWith("tba_star · ")', LIMIT_S)
    assert peer.set_parameters('tb_planner', weight=2.5) == ''  # by somebody else
    view.page.wait_for(f'{VALUE_OF["weight"]} === "2.5"', LIMIT_S)
    assert view.page.complaints() == []
    view.page.close()


def test_the_page_cancels_the_goal_and_shows_the_response_of_the_planner(make_scene, nodes, browser, tmp_path):
    scene = make_scene(HALL)
    view = View(scene, nodes, browser, tmp_path / 'run.tbrun', max_speed_m_s=0.2)
    view.wait_until_subscribed()
    scene.wait_for_robot()
    cancel = 'document.querySelector("#planner button").click()'
    view.page.run(cancel)
    view.page.wait_for(f'{RESPONSE} === "there is no goal to cancel"', LIMIT_S)
    view.use(None, HALL.places['d'])
    view.page.wait_for('document.getElementById("status").textContent === "navigating"', LIMIT_S)
    view.page.run(cancel)
    view.page.wait_for(f'{RESPONSE}.startsWith("goal (") && {RESPONSE}.endsWith("canceled")', LIMIT_S)
    view.page.wait_for('document.getElementById("status").textContent === "canceled"', LIMIT_S)
    assert view.page.complaints() == []
    view.page.close()


def test_the_page_says_that_there_is_no_planner_to_ask(make_scene, nodes, browser, tmp_path):
    scene = make_scene(HALL)
    view = View(scene, nodes, browser, tmp_path / 'run.tbrun')
    view.wait_until_subscribed()
    view.page.wait_for(f'{VALUE_OF["weight"]} === "1.5"', LIMIT_S)
    scene.kill(view.planner)
    view.page.wait_for('document.querySelector("#planner input").disabled', DRIVE_LIMIT_S)
    view.page.run('document.querySelector("#planner button").click()')
    view.page.wait_for(f'{RESPONSE} === "/tb_planner does not run, or is not configured"', LIMIT_S)
    view.page.close()


def test_the_view_publishes_the_number_of_its_pages(make_scene, nodes, peer, browser, tmp_path):
    pages = peer.subscribe('view/pages', UInt32, LATCHED)
    view = nodes.start_module(
        'tb_planner.ros.view_node', ros_arguments({'record': str(tmp_path / 'run.tbrun'), 'port': 0})
    )
    url = wait_until_logged(view, r'shown at (\S+)').group(1)
    peer.wait_until(lambda: [message.data for message in pages] == [0], 'pages [0]')
    page = browser.open(url, offline=False)
    peer.wait_until(lambda: [message.data for message in pages] == [0, 1], 'pages [0, 1]')
    page.close()
    peer.wait_until(lambda: [message.data for message in pages] == [0, 1, 0], 'pages [0, 1, 0]')


def test_a_view_whose_port_is_in_use_logs_the_port_that_it_has(nodes, peer, tmp_path):
    with closing(socket.create_server(('127.0.0.1', 0))) as taken:
        port = taken.getsockname()[1]
        arguments = ros_arguments({'record': str(tmp_path / 'run.tbrun'), 'port': port})
        view = nodes.start_module('tb_planner.ros.view_node', arguments)
        other = int(wait_until_logged(view, rf'Port {port} is in use: the page has port (\d+)')[1])
        assert wait_until_logged(view, r'shown at http://127\.0\.0\.1:(\d+)/')[1] == str(other)
        with urllib.request.urlopen(f'http://127.0.0.1:{other}/', timeout=20) as response:
            assert response.status == 200


def test_a_view_node_that_serves_other_computers_logs_the_token_that_its_page_needs(nodes, peer, tmp_path):
    arguments = ros_arguments({'record': str(tmp_path / 'run.tbrun'), 'port': 0, 'host': '0.0.0.0'})
    view = nodes.start_module('tb_planner.ros.view_node', arguments)
    url = wait_until_logged(view, r'shown at (\S+) \(0\.0\.0\.0: other computers')[1]
    with urllib.request.urlopen(url, timeout=20) as response:
        assert b'data-stream="stream?token=' in response.read()
    with pytest.raises(urllib.error.HTTPError, match='403'):
        urllib.request.urlopen(url.partition('?')[0], timeout=20)


def test_the_view_node_without_a_record_ends_and_names_the_parameter(nodes, peer):
    process = nodes.start_module('tb_planner.ros.view_node')
    assert process.wait(LIMIT_S)
    assert process.exit_code == 1
    assert "record is ''" in process.log_text
