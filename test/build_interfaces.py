"""Builds the message packages under test/interfaces into this Python's prefix, those that are not there already.

    python build_interfaces.py kilted

On a robot they come with ROS; no package registry has them. The generators of rosidl do, and make the same types.
Without the tools for it this prints what is missing; tests that need the packages are then skipped.

test/interfaces has Jazzy's definitions, the folders beside it what differs in a later distribution. The prefix gets
those of the given one. nav2_msgs of the others goes into the folder nav2_definitions of the prefix, and
test/ros/test_nav2_definitions.py uses it.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DEFINITIONS = Path(__file__).parent / 'interfaces'
DISTRIBUTIONS = ('jazzy', 'kilted', 'lyrical')
OTHERS = Path(sys.prefix, 'nav2_definitions')
NAV2 = 'nav2_msgs'
TOOLS = ('cmake', 'make', 'g++')

# without C++: rclpy uses the C and Python sides only, and they take half the time
CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.20)
project({name} C CXX)
set(CMAKE_CXX_STANDARD 17)
foreach(package ament_cmake rosidl_default_generators {dependencies})
  find_package(${{package}} REQUIRED)
endforeach()
list(FILTER AMENT_EXTENSIONS_rosidl_generate_idl_interfaces EXCLUDE REGEX "cpp")
rosidl_generate_interfaces({name} {files} DEPENDENCIES {dependencies})
ament_package()
"""

PACKAGE_XML = """
<package format="3">
  <name>{name}</name>
  <version>0.0.0</version>
  <description>What the tests of tb_planner need of {name}</description>
  <maintainer email="maintainers@tb-planner.dev">tb_planner maintainers</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  {depends}
  <member_of_group>rosidl_interface_packages</member_of_group>
</package>
"""


def main() -> int:
    distribution = sys.argv[1]
    absent = [folder.name for folder in sorted(DEFINITIONS.iterdir()) if not importlib.util.find_spec(folder.name)]
    others = [name for name in DISTRIBUTIONS if name != distribution and not (OTHERS / name).exists()]
    if (absent or others) and (reason := why_not()):
        print(f'Not built: {", ".join([*absent, *(f"{NAV2} of {name}" for name in others)])}. {reason}')
        return 0
    builds = [(name, distribution, Path(sys.prefix)) for name in absent]
    builds += [(NAV2, other, OTHERS / other) for other in others]
    if builds:
        repair_exports()
        print(f'Building {", ".join(f"{name} of {of}" for name, of, _ in builds)} for the tests', flush=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # each of them waits for single steps most of the time
            list(pool.map(build, *zip(*builds)))
    return 0


def why_not() -> str:
    """What keeps this environment from building interfaces; empty if nothing does."""
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        return f'Missing: {", ".join(missing)} (Debian, Ubuntu: apt install cmake build-essential)'
    if not Path(sys.prefix, 'share/rosidl_default_generators').is_dir():
        return f"ROS's generators of interfaces are not installed in {sys.prefix}"
    return ''


def build(name: str, distribution: str, prefix: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        source = shutil.copytree(DEFINITIONS / name, Path(place, 'source'))
        changed = DEFINITIONS.with_name(f'interfaces_{distribution}') / name
        if changed.is_dir():
            shutil.copytree(changed, source, dirs_exist_ok=True)
        if not Path(sys.prefix, 'share/nav_msgs/msg/Goals.msg').exists():
            replace_goals(source)
        describe(source, name)
        options = {
            'CMAKE_PREFIX_PATH': sys.prefix,
            'CMAKE_INSTALL_PREFIX': str(prefix),
            'CMAKE_BUILD_TYPE': 'None',  # not optimised: compiles faster, and most of a message is of other packages
            'Python3_EXECUTABLE': sys.executable,
            'BUILD_TESTING': 'OFF',
        }
        made = str(Path(place, 'made'))
        run('cmake', '-S', str(source), '-B', made, *(f'-D{name}={value}' for name, value in options.items()))
        run('cmake', '--build', made, '--target', 'install')


def replace_goals(source: Path) -> None:
    """Uses a message of the package's own in the place of nav_msgs/Goals, which Jazzy does not have."""
    for file in source.glob('action/*'):
        text = file.read_text()
        if 'nav_msgs/Goals' in text:
            file.write_text(text.replace('nav_msgs/Goals', f'{NAV2}/Goals'))
            (source / 'msg').mkdir(exist_ok=True)
            (source / 'msg' / 'Goals.msg').write_text('std_msgs/Header header\ngeometry_msgs/PoseStamped[] goals\n')


def describe(source: Path, name: str) -> None:
    """Writes the package.xml and the CMakeLists.txt of a folder of definitions."""
    files = sorted(str(path.relative_to(source)) for path in source.glob('*/*'))
    fields = '\n'.join((source / file).read_text() for file in files)
    dependencies = sorted(set(re.findall(r'^(\w+)/', fields, re.MULTILINE)) - {name})
    values = {'name': name, 'files': ' '.join(files), 'dependencies': ' '.join(dependencies)}
    depends = '\n  '.join(f'<depend>{dependency}</depend>' for dependency in dependencies)
    (source / 'CMakeLists.txt').write_text(CMAKE_LISTS.format(**values).lstrip())
    (source / 'package.xml').write_text(PACKAGE_XML.format(depends=depends, **values).lstrip())


def repair_exports() -> None:
    """Points the wheels' CMake files to this Python; they name the one that they were built with."""
    import numpy

    places = {
        r'/opt/python/[^/]+/lib/[^/]+/site-packages/numpy/_core/include': numpy.get_include(),
        r'/opt/python/[^/]+/include/python[\d.]+': sysconfig.get_path('include'),
    }
    for path in Path(sys.prefix, 'share').glob('*/cmake/*Export.cmake'):
        text = repaired = path.read_text()
        for pattern, place in places.items():
            repaired = re.sub(pattern, place, repaired)
        if repaired != text:
            path.write_text(repaired)


def run(*command: str) -> None:
    """Runs a step of the build outside this process's ROS environment; its output is shown if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in ('LD_LIBRARY_PATH', 'PYTHONPATH')}
    environment.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
    environment['AMENT_PREFIX_PATH'] = sys.prefix
    environment['PATH'] = f'{sys.prefix}/bin:{environment["PATH"]}'
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f'{" ".join(command)}\n{done.stdout}')


if __name__ == '__main__':
    sys.exit(main())
