"""Every run of these tests has a ROS domain of its own, over loopback, with the fields of messages checked.

Nothing of ROS is replaced: where rclpy is not installed, all of them are skipped.
"""

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

if importlib.util.find_spec('rclpy'):
    import rclpy
    from helpers.forked import Forker
    from helpers.peer import Peer
    from helpers.processes import FORKED, Nodes
    from helpers.scenes import Scene, World, check_ends

    from tb_planner.ros.processes import DDS_PROFILES, Domain
else:

    def pytest_pycollect_makemodule(module_path, parent):
        return WithoutRos.from_parent(parent, path=module_path)


class WithoutRos(pytest.Module):
    def collect(self):
        pytest.skip(f'{self.path.name}: rclpy is not installed', allow_module_level=True)


def pytest_sessionstart() -> None:
    """Makes SIGTERM end the tests in the normal order, so that their nodes are ended, too."""
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit('terminated', returncode=143))


@pytest.fixture(scope='session', autouse=True)
def ros_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of the nodes of this process and of the processes that it starts."""
    domain = Domain()
    environment = domain.environment(tmp_path_factory.mktemp('ros_log'))
    environment['ROS_PYTHON_CHECK_FIELDS'] = '1'
    profiles = str(Path(__file__).with_name('loopback_without_shared_memory.xml'))
    environment.update(dict.fromkeys(DDS_PROFILES, profiles))
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    yield environment
    os.environ.clear()
    os.environ.update(before)
    domain.close()


@pytest.fixture(scope='session')
def forker(ros_environment: dict[str, str]) -> Iterator['Forker']:
    """The process that nodes are forked from."""
    with closing(Forker(FORKED, ros_environment)) as forker:
        yield forker


@pytest.fixture
def nodes(ros_environment: dict[str, str], forker: 'Forker', tmp_path: Path) -> Iterator['Nodes']:
    """Starts nodes as processes and ends them with the test; their logs are printed if it fails."""
    folder = tmp_path / 'output'
    folder.mkdir()
    with Nodes(folder, ros_environment, forker) as started:
        yield started
    for process in started.all:
        print(f'--- {process.output.name}, exit code {process.exit_code}\n{process.log_text}')


@pytest.fixture(scope='module')
def shared_nodes(
    ros_environment: dict[str, str], forker: 'Forker', tmp_path_factory: pytest.TempPathFactory
) -> Iterator['Nodes']:
    """Starts nodes that the tests of a file share, and ends them after the last test."""
    with Nodes(tmp_path_factory.mktemp('output'), ros_environment, forker) as started:
        yield started
    for process in started.all:
        print(f'--- {process.output.name}, exit code {process.exit_code}\n{process.log_text}')


@pytest.fixture(scope='module')
def shared_peer(ros_environment: dict[str, str]) -> Iterator['Peer']:
    """The node of the tests of a file."""
    with closing(Peer()) as one:
        yield one


@pytest.fixture
def peer(ros_environment: dict[str, str]) -> Iterator['Peer']:
    """The test's own node."""
    one = Peer()
    yield one
    one.close()


@pytest.fixture
def context(ros_environment: dict[str, str]) -> Iterator['rclpy.Context']:
    """A context for nodes of the test's own process."""
    one = rclpy.Context()
    one.init()
    yield one
    one.shutdown()


@pytest.fixture
def make_scene(nodes: 'Nodes', peer: 'Peer', tmp_path: Path) -> Iterator[Callable[..., 'Scene']]:
    """Makes scenes: a robot in a world and its planner. In the end their nodes end as they should."""

    def make(world: 'World', namespace: str = '') -> 'Scene':
        return Scene(nodes, peer, tmp_path, world, namespace=namespace)

    yield make
    check_ends(nodes)
