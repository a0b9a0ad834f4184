"""The package as users get it: from an sdist, from pip and from colcon, with a compiler and without one."""

import ast
import importlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from test_examples import PROMISES

import tb_planner

ROOT = Path(__file__).parents[1]
MADE_HERE = shutil.ignore_patterns(
    '.*', 'build', 'install', 'log', 'results', '*.egg-info', '__pycache__', '*.so', '*.c'
)
COLCON = Path(sysconfig.get_path('scripts'), 'colcon')
NODES = ('planner_node', 'simulator_node', 'view_node')

MODULES = sorted(
    '.'.join(path.relative_to(ROOT).with_suffix('').parts)
    for path in ROOT.glob('tb_planner/**/*.py')
    if 'COMPILED = cython.compiled' in path.read_text()
)
WHICH_KERNEL = (  # prints one truth value for all compiled modules, if they agree
    'from importlib import import_module; '
    f'modules = [import_module(name) for name in {MODULES}]; '
    'print(*{module.COMPILED for module in modules}, modules[0].__file__)'
)
SOLVE = """
import numpy as np
from tb_planner import Grid, find_path
print(find_path(Grid(np.zeros((9, 9), bool)), (0, 0), (8, 0)).cost)
"""
ROOM = 'type octile\nheight 2\nwidth 3\nmap\n...\n...\n'
COMPILER = """#!/bin/sh
# compiles without optimisation, and each C file only once: where the libraries are installed depends on neither
for part; do case $before in -c) source=$part;; -o) object=$part;; esac; before=$part; done
[ "$source" ] && [ "$object" ] || exec {cc} "$@" -O0
kept={folder}/$(sha256sum < "$source" | cut -c 1-64)
[ -e "$kept" ] || {{ {cc} "$@" -O0 && cp "$object" "$kept" || exit 1; }}
cp "$kept" "$object"
"""


@pytest.fixture(scope='session', autouse=True)
def cython_cache(tmp_path_factory):
    """All builds share what Cython has translated to C."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('CYTHON_CACHE_DIR', str(tmp_path_factory.mktemp('cython')))
        yield


def test_a_robot_installs_at_most_100_modules():
    assert 0 < len(list(ROOT.glob('tb_planner/**/*.py'))) <= 100


@pytest.fixture(scope='session')
def compiler(tmp_path_factory):
    """A C compiler that keeps its object files for the other builds."""
    folder = tmp_path_factory.mktemp('compiler')
    script = folder / 'cc'
    script.write_text(COMPILER.format(cc=os.environ.get('CC', 'cc'), folder=folder))
    script.chmod(0o755)
    return script


@pytest.fixture(scope='session')
def sdist(tmp_path_factory):
    """The source distribution, unpacked."""
    source = shutil.copytree(ROOT, tmp_path_factory.mktemp('clone') / 'clone', ignore=MADE_HERE)
    run([sys.executable, '-c', 'from setuptools import build_meta; build_meta.build_sdist("dist")'], source)
    (archive,) = (source / 'dist').iterdir()
    shutil.unpack_archive(archive, source / 'dist')
    return source / 'dist' / archive.name.removesuffix('.tar.gz')


@pytest.fixture(scope='session')
def wheel(sdist, compiler, tmp_path_factory):
    """A wheel with a compiled kernel, and the output of its build."""
    source = shutil.copytree(sdist, tmp_path_factory.mktemp('wheel') / 'source')
    options = ['--verbose', '--no-build-isolation', '--no-deps', '--no-index', '--wheel-dir', source / 'wheels']
    output = run([sys.executable, '-m', 'pip', 'wheel', *options, source], source, CC=compiler)
    return next((source / 'wheels').glob('*.whl')), output


@pytest.fixture
def source(sdist, tmp_path):
    """The unpacked source distribution, for a build in place."""
    return shutil.copytree(sdist, tmp_path / 'source')


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / 'workspace'
    folder.mkdir()
    return folder


@pytest.fixture
def no_cython(tmp_path):
    """A folder that, on PYTHONPATH, hides an installed Cython."""
    folder = tmp_path / 'no_cython'
    folder.mkdir()
    for name in ('Cython', 'cython'):
        (folder / f'{name}.py').write_text('raise ImportError("hidden for this test")\n')
    return folder


class Environment:
    """A virtual environment of its own, without ROS and without pip; it links packages that are installed here."""

    def __init__(self, folder, *packages):
        self.folder = folder
        venv.create(folder)
        self.python = folder / 'bin/python'
        (self.site,) = folder.glob('lib/python*/site-packages')
        self.linked = set()
        for package in packages:
            self.link(package)

    def link(self, package):
        distribution = importlib.metadata.distribution(package)
        for name in {file.parts[0] for file in distribution.files} - {'..', '__pycache__', *self.linked}:
            (self.site / name).symlink_to(distribution.locate_file(name))
            self.linked.add(name)

    def pip_install(self, *arguments, **environment):
        options = ['--no-build-isolation', '--no-deps', '--no-index']
        command = [sys.executable, '-m', 'pip', '--python', self.python, 'install', *options, *arguments]
        return run(command, self.folder, **environment)

    def run(self, *command):
        """Output and exit code of a command on this environment's PATH alone."""
        path = f'{self.folder / "bin"}:/usr/bin:/bin'
        environment = {'PATH': path, 'HOME': str(self.folder)}
        done = subprocess.run(
            [str(part) for part in command],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stdout + done.stderr


def run(command, cwd, **environment):
    """The output of a command; it runs away from the terminal, where setup.py would also print its warning."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **{name: str(value) for name, value in environment.items()}},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def pip_install(source, target, **environment):
    options = ['--verbose', '--no-build-isolation', '--no-deps', '--no-index', '--target', target]
    return run([sys.executable, '-m', 'pip', 'install', *options, source], source, **environment)


def requirements_of(wheel):
    """Names of the packages that pip installs with a wheel, without extras."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith('.dist-info/METADATA'))
        metadata = importlib.metadata.PathDistribution(zipfile.Path(archive, name.rpartition('/')[0] + '/'))
        return [re.match(r'[\w.-]+', text)[0] for text in metadata.requires if 'extra ==' not in text]


def with_requirements(package):
    """Yields the name of an installed package and, for this Python, of all that it requires."""
    yield package
    for requirement in map(Requirement, importlib.metadata.requires(package) or ()):
        if requirement.marker is None or requirement.marker.evaluate({'extra': ''}):
            yield from with_requirements(requirement.name)


def assert_all_files_are_in(share, source):
    """Launch files, configuration and maps are each in the same folder as in the sources."""
    config = ('config/*.yaml', 'config/*.rviz', 'config/nav2/*.yaml', 'config/nav2/*/*.xml', 'config/sros2/*.xml')
    patterns = (*config, 'launch/*.launch.py', 'maps/*.yaml', 'maps/*.pgm')
    for pattern in patterns:
        files = {path.relative_to(source) for path in source.glob(pattern)}
        assert files
        assert {file for file in files if not (share / file).exists()} == set()


def assert_nodes_are_in(prefix):
    """`ros2 run` and launch files look for executables in lib/tb_planner."""
    for node in NODES:
        assert os.access(prefix / 'lib/tb_planner' / node, os.X_OK)


def imported_packages(folder):
    """Yields the packages that the Python files of a folder import."""
    for path in folder.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (name.name.partition('.')[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.partition('.')[0]


@pytest.mark.parametrize('name', MODULES)
def test_module_is_compiled(name):
    module = importlib.import_module(name)
    assert module.COMPILED, f'{module.__file__} is not compiled: make build prints why'


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec('colcon_ros'), reason='colcon-ros is not installed')
@pytest.mark.parametrize('options', [[], ['--symlink-install']], ids=['copied', 'symlinked'])
def test_colcon_installs_a_ros_package_with_a_compiled_kernel(source, workspace, options, compiler):
    run([COLCON, 'build', '--paths', source, *options], workspace, CC=compiler)

    prefix = workspace / 'install/tb_planner'
    assert (prefix / 'share/tb_planner/package.xml').exists()
    assert (prefix / 'share/ament_index/resource_index/packages/tb_planner').exists()
    # only the build type ament_python makes this; an error in package.xml turns the package into a plain Python one
    assert (prefix / 'share/tb_planner/hook/ament_prefix_path.sh').exists()
    assert_nodes_are_in(prefix)
    assert_all_files_are_in(prefix / 'share/tb_planner', source)

    sourced = ['sh', '-c', '. install/setup.sh && "$@"', 'sh']
    assert run([*sourced, sys.executable, '-c', WHICH_KERNEL], workspace).startswith(f'True {workspace}')
    assert run([*sourced, 'which', 'tb_planner'], workspace) == f'{prefix / "bin/tb_planner"}\n'
    assert run([*sourced, 'tb_planner', '--version'], workspace) == f'tb_planner {tb_planner.__version__}\n'


@pytest.fixture(scope='session')
def environment(wheel, tmp_path_factory):
    """A new environment with the wheel, and with nothing but the packages that the wheel requires."""
    path, _ = wheel
    environment = Environment(tmp_path_factory.mktemp('without_ros') / 'venv', *requirements_of(path))
    environment.pip_install(path)
    return environment


@pytest.mark.slow
class TestPipWithoutRos:
    def test_the_kernel_is_compiled(self, environment, wheel):
        assert 'NOT COMPILED' not in wheel[1]
        assert environment.run('python', '-c', WHICH_KERNEL)[1].startswith(f'True {environment.folder}')

    def test_the_command_is_on_the_path_and_the_nodes_are_not(self, environment):
        assert os.access(environment.folder / 'bin/tb_planner', os.X_OK)
        assert {path.name for path in (environment.folder / 'bin').iterdir()} & set(NODES) == set()
        assert_nodes_are_in(environment.folder)

    def test_neither_benchmarks_nor_tests_are_installed(self, environment):
        installed = {path.name for path in environment.site.iterdir()} - environment.linked
        assert {name for name in installed if not name.endswith('.dist-info')} == {'tb_planner'}

    def test_all_files_are_installed(self, environment, sdist):
        assert_all_files_are_in(environment.folder / 'share/tb_planner', sdist)
        data = {path.relative_to(sdist) for path in sdist.glob('tb_planner/**/*.*') if path.suffix != '.py'}
        assert {'.css', '.html', '.js', '.pxd', '.typed', '.xml'} <= {path.suffix for path in data}
        assert {path for path in data if not (environment.site / path).exists()} == set()

    @pytest.mark.parametrize('command', [('tb_planner',), ('python', '-m', 'tb_planner')], ids=['command', 'module'])
    def test_the_command_line_works(self, environment, command):
        assert environment.run(*command, '--version') == (0, f'tb_planner {tb_planner.__version__}\n')
        for name in ('view', 'replay', 'tune'):
            assert environment.run(*command, name, '--help')[0] == 0
        room = environment.folder / 'room.map'
        room.write_text(ROOM)
        code, output = environment.run(*command, 'solve', room, '--start', 0, 0, '--goal', 2, 0)
        assert (code, '\n  arrived\n' in output) == (0, True), output

    @pytest.mark.parametrize('name', PROMISES)
    def test_an_example_prints_what_it_promises(self, environment, sdist, name):
        code, output = environment.run('python', sdist / 'examples' / name)
        assert code == 0, output
        assert re.fullmatch('\n'.join(PROMISES[name]) + '\n', output), output

    @pytest.mark.parametrize('command', ['bin/tb_planner demo', *(f'lib/tb_planner/{node}' for node in NODES)])
    def test_what_needs_ros_reports_in_one_line_what_to_install(self, environment, command):
        code, output = environment.run(*command.split())
        assert code != 0
        assert 'ROS 2' in output
        assert output.count('\n') == 1


@pytest.mark.slow
def test_an_editable_install_compiles_the_kernel_in_place(source, tmp_path, compiler):
    environment = Environment(tmp_path / 'venv', 'numpy', 'pillow', 'pyyaml', 'tqdm', 'websockets')
    for package in ('setuptools', 'Cython'):
        environment.link(package)
    environment.pip_install('--editable', source, CC=compiler)
    assert environment.run('python', '-c', WHICH_KERNEL)[1].startswith(f'True {source}')
    assert environment.run('tb_planner', '--version') == (0, f'tb_planner {tb_planner.__version__}\n')
    assert {path.name for path in (environment.folder / 'bin').iterdir()} & set(NODES) == set()


@pytest.mark.slow
def test_pip_compiles_the_source_distribution_which_then_replays_the_example_bag(sdist, compiler, tmp_path):
    """In a new environment; no registry is asked: what the package and its extra `bags` require is linked."""
    pytest.importorskip('rosbags', reason="bags need rosbags: pip install '.[bags]'")
    needed = ['setuptools', 'Cython', 'numpy', 'pillow', 'pyyaml', 'tqdm', 'websockets', *with_requirements('rosbags')]
    environment = Environment(tmp_path / 'venv', *dict.fromkeys(needed))
    environment.pip_install(sdist.with_name(f'{sdist.name}.tar.gz'), CC=compiler)
    assert environment.run('python', '-c', WHICH_KERNEL)[1].startswith(f'True {environment.folder}')
    code, output = environment.run('tb_planner', 'replay', sdist / 'examples' / 'office.mcap')
    assert (code, 'goals     2, 2 reached' in output) == (0, True), output


@pytest.mark.slow
def test_the_source_distribution_carries_what_its_tests_need(sdist):
    for folder in ('benchmarks', 'examples', 'test'):
        here, there = ({path.relative_to(root) for path in root.glob(f'{folder}/**/*.py')} for root in (ROOT, sdist))
        assert here - there == set()
    collect = [sys.executable, '-m', 'pytest', '-q', '--collect-only', '--assert=plain']  # which saves half the time
    assert ' tests collected' in run(collect, sdist)
    tests = ('test/test_worked_example.py', 'test/test_geometry.py', 'test/test_maps.py')
    assert ' passed' in run([sys.executable, '-m', 'pytest', '-q', *tests], sdist)


def test_without_a_compiler_the_package_stays_plain_and_reports_it(source, workspace):
    output = pip_install(source, workspace, CC=shutil.which('false'))
    assert 'THE KERNEL IS NOT COMPILED' in output
    assert run([sys.executable, '-c', WHICH_KERNEL], workspace).startswith(f'False {workspace}')


def test_without_cython_the_package_stays_plain_reports_it_and_plans(source, workspace, no_cython):
    output = pip_install(source, workspace, PYTHONPATH=no_cython)
    assert 'THE KERNEL IS NOT COMPILED' in output
    assert 'hidden for this test' in output
    assert run([sys.executable, '-c', WHICH_KERNEL], workspace, PYTHONPATH=no_cython).startswith(f'False {workspace}')
    assert run([sys.executable, '-c', SOLVE], workspace, PYTHONPATH=no_cython) == '8.0\n'


def test_a_kernel_that_does_not_compile_leaves_no_old_library_in_its_place(source):
    suffix = sysconfig.get_config_var('EXT_SUFFIX')
    libraries = [source / f'{name.replace(".", "/")}{suffix}' for name in MODULES]
    for library in libraries:
        library.touch()
        os.utime(library, (0, 0))
    output = run([sys.executable, 'setup.py', 'build_ext', '--inplace'], source, CC=shutil.which('false'))
    assert 'THE KERNEL IS NOT COMPILED' in output
    assert [library for library in libraries if library.exists()] == []


def test_package_xml_names_everything_that_the_nodes_and_launch_files_import():
    named = {element.text for element in ElementTree.parse(ROOT / 'package.xml').iter('exec_depend')}
    imported = {*imported_packages(ROOT / 'tb_planner/ros'), *imported_packages(ROOT / 'launch')}
    assert 'rclpy' in imported
    debian = {'PIL': 'pil', 'yaml': 'yaml', 'numpy': 'numpy', 'matplotlib': 'matplotlib', 'tqdm': 'tqdm'}
    needed = {
        {'tf2_ros': 'tf2_ros_py'}.get(package, f'python3-{debian[package]}' if package in debian else package)
        for package in imported - set(sys.stdlib_module_names) - {'tb_planner'}
    }
    assert needed - named == set()


def test_version_is_the_same_everywhere():
    version = ElementTree.parse(ROOT / 'package.xml').findtext('version')
    # colcon parses what setup.py prints: nothing but what it was asked for
    assert run([sys.executable, 'setup.py', '--version'], ROOT) == f'{version}\n'
    assert tb_planner.__version__ == version
    assert yaml.safe_load((ROOT / 'CITATION.cff').read_text())['version'] == version
    assert re.search(r'\d+\.\d+\.\d+', (ROOT / 'CHANGELOG.rst').read_text())[0] == version


def test_release_tools_accept_package_xml_and_the_changelog():
    """bloom and catkin_prepare_release read both with catkin_pkg."""
    package = pytest.importorskip('catkin_pkg.package', reason='catkin_pkg is not installed')
    changelog = importlib.import_module('catkin_pkg.changelog')
    parsed, warnings = package.parse_package(ROOT / 'package.xml'), []
    parsed.validate(warnings=warnings)
    assert warnings == []
    assert {url.type for url in parsed.urls} == {'bugtracker', 'repository', 'website'}
    assert [author.name for author in parsed.authors] == ['tb_planner contributors']
    for export in parsed.exports:
        assert export.tagname != 'rosdoc2' or (ROOT / export.content).exists()
    sections = changelog.get_changelog_from_path(ROOT / 'CHANGELOG.rst', 'tb_planner')
    assert sections is not None
    assert re.search(r'^Forthcoming\n-+$', (ROOT / 'CHANGELOG.rst').read_text(), re.MULTILINE)


needs_a_clone = pytest.mark.skipif(not (ROOT / '.github').exists(), reason='a source distribution has no workflows')


@needs_a_clone
def test_workflows_build_on_every_distribution_that_has_behaviour_trees():
    jobs = yaml.safe_load((ROOT / '.github/workflows/ros.yml').read_text())['jobs']
    distributions = jobs['colcon']['strategy']['matrix']['distro']
    assert {path.name for path in ROOT.glob('config/nav2/*') if path.is_dir()} <= set(distributions)
    assert 'rolling' in distributions


@needs_a_clone
def test_pre_commit_has_the_linter_version_that_make_lint_has():
    (repository,) = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())['repos']
    hooks = {hook['id']: hook['additional_dependencies'] for hook in repository['hooks']}
    assert f"'{hooks['ruff-check'][0]}'" in (ROOT / 'setup.py').read_text()
    assert hooks['ruff-format'] == hooks['ruff-check']
