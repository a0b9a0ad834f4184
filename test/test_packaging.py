"""The package as its users get it: from pip and from colcon, with a compiler and without one."""

import ast
import importlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE_HERE = shutil.ignore_patterns(
    '.*', 'build', 'install', 'log', 'results', '*.egg-info', '__pycache__', '*.so', '*.c'
)
COLCON = Path(sysconfig.get_path('scripts'), 'colcon')

MODULES = sorted('.'.join(path.relative_to(ROOT).with_suffix('').parts) for path in ROOT.glob('tb_planner/**/*.pxd'))
WHICH_KERNEL = (  # one answer for all compiled modules, if they agree
    'from importlib import import_module; from tb_planner import kernel; '
    f'print(*{{import_module(name).COMPILED for name in {MODULES}}}, kernel.__file__)'
)
SOLVE = """
import numpy as np
from tb_planner import Grid, find_path
print(find_path(Grid(np.zeros((9, 9), bool)), (0, 0), (8, 0)).cost)
"""


@pytest.fixture
def source(tmp_path):
    return shutil.copytree(ROOT, tmp_path / 'source', ignore=MADE_HERE)


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


@pytest.fixture
def hasty_compiler(tmp_path):
    """The C compiler, but it does not optimise: what is installed where does not depend on that."""
    script = tmp_path / 'cc'
    script.write_text(f'#!/bin/sh\nexec {os.environ.get("CC", "cc")} "$@" -O0\n')
    script.chmod(0o755)
    return script


def run(command, cwd, **environment):
    """What the command says; away from the terminal, since setup.py's warning would be shown there, too."""
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


def assert_all_files_are_in(share, source):
    """Launch files, configuration and maps, each in the folder that it has in the sources."""
    patterns = ('config/*.yaml', 'config/*.rviz', 'config/nav2/*.*', 'launch/*.launch.py', 'maps/*.yaml', 'maps/*.pgm')
    for pattern in patterns:
        files = {path.relative_to(source) for path in source.glob(pattern)}
        assert files
        assert {file for file in files if not (share / file).exists()} == set()


def imported_packages(folder):
    """The packages that the Python files of a folder import, here or there."""
    for path in folder.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (name.name.partition('.')[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.partition('.')[0]


@pytest.mark.parametrize('name', MODULES)
def test_module_is_compiled(name):
    module = importlib.import_module(name)
    assert module.COMPILED, f'{module.__file__} is not compiled: make build says why'


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec('colcon_ros'), reason='colcon-ros is not installed')
@pytest.mark.parametrize('options', [[], ['--symlink-install']], ids=['copied', 'symlinked'])
def test_colcon_installs_a_ros_package_with_a_compiled_kernel(source, workspace, options, hasty_compiler):
    run([COLCON, 'build', '--paths', source, *options], workspace, CC=hasty_compiler)

    share = workspace / 'install/tb_planner/share'
    assert (share / 'tb_planner/package.xml').exists()
    assert (share / 'ament_index/resource_index/packages/tb_planner').exists()
    # only the build type ament_python makes this; a fault in package.xml turns the package into a plain Python one
    assert (share / 'tb_planner/hook/ament_prefix_path.sh').exists()

    for executable in ('planner_node', 'simulator_node'):  # where `ros2 run` and `ros2 launch` look for them
        assert os.access(workspace / 'install/tb_planner/lib/tb_planner' / executable, os.X_OK)
    assert_all_files_are_in(share / 'tb_planner', source)

    imported = run(['sh', '-c', f'. install/setup.sh && {sys.executable} -c "{WHICH_KERNEL}"'], workspace)
    assert imported.startswith(f'True {workspace}')


@pytest.mark.slow
def test_pip_installs_a_compiled_kernel(source, workspace, hasty_compiler):
    said = pip_install(source, workspace, CC=hasty_compiler)
    assert 'NOT COMPILED' not in said
    assert_all_files_are_in(workspace / 'share/tb_planner', source)
    assert (workspace / 'tb_planner/ros/loopback.xml').exists()
    assert (workspace / 'bin/planner_node').exists()
    assert run([sys.executable, '-c', WHICH_KERNEL], workspace).startswith(f'True {workspace}')


def test_without_a_compiler_the_package_stays_plain_and_says_so(source, workspace):
    said = pip_install(source, workspace, CC=shutil.which('false'))
    assert 'THE KERNEL IS NOT COMPILED' in said
    assert run([sys.executable, '-c', WHICH_KERNEL], workspace).startswith(f'False {workspace}')


def test_without_cython_the_package_stays_plain_says_so_and_plans(source, workspace, no_cython):
    said = pip_install(source, workspace, PYTHONPATH=no_cython)
    assert 'THE KERNEL IS NOT COMPILED' in said
    assert 'hidden for this test' in said
    assert run([sys.executable, '-c', WHICH_KERNEL], workspace, PYTHONPATH=no_cython).startswith(f'False {workspace}')
    assert run([sys.executable, '-c', SOLVE], workspace, PYTHONPATH=no_cython) == '8.0\n'


def test_a_kernel_that_does_not_compile_leaves_no_old_library_in_its_place(source):
    suffix = sysconfig.get_config_var('EXT_SUFFIX')
    libraries = [source / f'{name.replace(".", "/")}{suffix}' for name in MODULES]
    for library in libraries:
        library.touch()
        os.utime(library, (0, 0))
    said = run([sys.executable, 'setup.py', 'build_ext', '--inplace'], source, CC=shutil.which('false'))
    assert 'THE KERNEL IS NOT COMPILED' in said
    assert [library for library in libraries if library.exists()] == []


def test_package_xml_names_everything_that_the_nodes_and_launch_files_import():
    named = {element.text for element in ElementTree.parse(ROOT / 'package.xml').iter('exec_depend')}
    imported = {*imported_packages(ROOT / 'tb_planner/ros'), *imported_packages(ROOT / 'launch')}
    assert 'rclpy' in imported
    debian = {'PIL': 'pil', 'yaml': 'yaml', 'numpy': 'numpy', 'matplotlib': 'matplotlib'}
    needed = {
        {'tf2_ros': 'tf2_ros_py'}.get(package, f'python3-{debian[package]}' if package in debian else package)
        for package in imported - set(sys.stdlib_module_names) - {'tb_planner'}
    }
    assert needed - named == set()


def test_version_is_the_same_everywhere():
    version = ElementTree.parse(ROOT / 'package.xml').findtext('version')
    # colcon parses what setup.py prints: nothing but what it was asked for
    assert run([sys.executable, 'setup.py', '--version'], ROOT) == f'{version}\n'
    assert re.search(r'\d+\.\d+\.\d+', (ROOT / 'CHANGELOG.rst').read_text())[0] == version
