"""Installs tb_planner and compiles its kernel.

colcon runs this file and parses its output: importing it must neither print nor compile anything.
"""

import os
import re
import subprocess
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

NAME = 'tb_planner'
HERE = Path(__file__).resolve().parent  # colcon --symlink-install runs a link to this file elsewhere
HOME = 'https://github.com/tb-planner/tb_planner'
COMPILED = [f'{NAME}.search.{module}' for module in ('cells', 'distance', 'kernel', 'sight')]  # by Cython
COMPILED_BASELINES = [f'benchmarks.baselines.{module}' for module in ('d_star_lite', 'local_search')]  # in a clone only
OLDEST_CYTHON = (3, 0, 8)

# with gcc's default limits some of the kernel's small functions are not inlined; debugging symbols would double the
# time, and a debugger can use the uncompiled file. `make sanitize` has flags of its own.
FLAGS = os.environ.get('TB_PLANNER_CFLAGS', '').split() or [
    *('-O2', '-g0'),
    *('--param', 'max-inline-insns-single=2000'),
    *('--param', 'max-inline-insns-auto=150'),
    *('--param', 'inline-unit-growth=1000'),
    *('--param', 'large-function-growth=10000'),
    *('--param', 'inline-min-speedup=1'),
]

ALONG_ROWS = [f'{NAME}.search.{module}' for module in ('cells', 'distance')]
VECTORISE = [] if 'TB_PLANNER_CFLAGS' in os.environ else ['-O3']  # the kernel gains nothing by it

# ROS 2 from PyPI, for machines without ROS. Other platforms have no wheels: install ROS as ros.org describes.
HAS_WHEELS = (
    "sys_platform == 'linux' and platform_machine == 'x86_64' "
    "and platform_python_implementation == 'CPython' and python_version < '3.15'"
)
ROS = [
    'rclpy[fastrtps]',
    'diagnostic-msgs',
    'geometry-msgs',
    'lifecycle-msgs',
    'nav-msgs',
    'rosgraph-msgs',
    'sensor-msgs',
    'std-msgs',
    'std-srvs',
    'visualization-msgs',
]
# these make Python modules of .msg files; the wheels do not name all of their own dependencies
GENERATORS = [
    'ament-cmake',
    'ament-cmake-gmock',
    'ament-cmake-gtest',
    'ament-cmake-include-directories',
    'ament-cmake-pytest',
    'ament-cmake-ros',
    'ament-package',
    'rosidl-core-generators',
    'rosidl-default-generators',
]
BUILD = ['setuptools>=70.1,<80', 'Cython>=3.0.8']  # colcon needs a setuptools before 80

WARNING = """
{bar}
tb_planner: THE KERNEL IS NOT COMPILED and will run as plain Python, many times slower.
Reason: {reason}
Install a C compiler, Python's headers and Cython {oldest} or newer
(Debian, Ubuntu: apt install build-essential python3-dev cython3), then install tb_planner again.
{bar}
"""


class BuildKernel(build_ext):
    """Compiles the kernel if Cython and a C compiler are installed; else it stays plain Python, with a loud warning."""

    def run(self):
        self.into_source = self.inplace or getattr(self, 'editable_mode', False)
        if not self.into_source or not Path('benchmarks').exists():  # the benchmarks are for clones, not installed
            self.extensions = [extension for extension in self.extensions if extension.name not in COMPILED_BASELINES]
        if self.into_source and not self.force:
            self.extensions = [extension for extension in self.extensions if self.is_outdated(extension)]
        self.parallel = os.cpu_count()
        super().run()

    def build_extensions(self):
        try:
            self.translate()
            super().build_extensions()
        except Exception as error:  # the plain files work, whatever the error is
            self.leave_plain(error)

    def is_outdated(self, extension):
        library = self.beside_source(extension)
        sources = [Path(source) for source in extension.sources]
        shared = Path(NAME, 'search', 'grid_math.pxd')
        read = [Path(__file__), shared, *sources, *(source.with_suffix('.pxd') for source in sources)]
        newest = max(path.stat().st_mtime for path in read)
        return not library.exists() or library.stat().st_mtime < newest

    def beside_source(self, extension):
        return Path(*extension.name.split('.')[:-1], Path(self.get_ext_fullpath(extension.name)).name)

    def translate(self):
        """Translates Python to C, quietly and outside the source tree."""
        import Cython
        from Cython.Build import cythonize

        version = tuple(int(part) for part in Cython.__version__.split('.')[:3] if part.isdigit())
        if version < OLDEST_CYTHON:
            raise RuntimeError(f'Cython {Cython.__version__} is too old')
        translated = cythonize(
            self.extensions,
            build_dir=self.build_temp,
            force=self.force,
            cache=os.environ.get('CYTHON_CACHE_DIR', False),
            quiet=True,
            compiler_directives={'language_level': 3, 'show_performance_hints': False},
        )
        flags = self.accepted(FLAGS)
        for extension, c_extension in zip(self.extensions, translated):
            extension.sources = c_extension.sources
            extension.depends = [__file__]
            extension.extra_compile_args = [*flags, *(VECTORISE if extension.name in ALONG_ROWS and flags else [])]

    def accepted(self, flags):
        """Returns the flags if this compiler accepts them without a warning, else none."""
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, 'empty.c').write_text('int main(void) { return 0; }\n')
            command = [*getattr(self.compiler, 'compiler_so', []), '-Werror', *flags, '-c', 'empty.c']
            with suppress(OSError):
                if subprocess.run(command, cwd=folder, capture_output=True).returncode == 0:
                    return flags
        return []

    def leave_plain(self, reason):
        for extension in self.extensions:  # an older library would hide the plain file
            Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            if self.into_source:
                self.beside_source(extension).unlink(missing_ok=True)
        self.extensions = []
        oldest = '.'.join(map(str, OLDEST_CYTHON))
        warning = WARNING.format(bar='*' * 100, reason=reason, oldest=oldest)
        warnings.warn(warning, stacklevel=1)
        if not sys.stderr.isatty():  # pip before 26 hides the output of a build
            with suppress(OSError), open('/dev/tty', 'w') as terminal:
                print(warning, file=terminal)


def wheels(distribution, *names):
    return [f'ros-{distribution}-{name}; {HAS_WHEELS}' for name in names]


def version():
    return re.search(r"^__version__ = '(.+)'$", (HERE / NAME / '__init__.py').read_text(), re.MULTILINE)[1]


def shared(*patterns):
    """Files for share/tb_planner, each in the same folder as here."""
    folders = {}
    for path in sorted(path for pattern in patterns for path in Path().glob(pattern)):
        folders.setdefault(f'share/{NAME}/{path.parent}', []).append(str(path))
    return list(folders.items())


setup(
    name=NAME,
    version=version(),
    description='Time-bounded best-first search on occupancy grids, for robots that must not wait for their planner',
    long_description=(HERE / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    url=HOME,
    project_urls={'Source': HOME, 'Issues': f'{HOME}/issues', 'Changelog': f'{HOME}/blob/main/CHANGELOG.rst'},
    license='Apache-2.0',
    classifiers=[
        'Development Status :: 4 - Beta',
        'Environment :: Console',
        'Intended Audience :: Developers',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        'Programming Language :: Cython',
        'Programming Language :: Python :: 3',
        'Programming Language :: Python :: 3.10',
        'Programming Language :: Python :: 3.11',
        'Programming Language :: Python :: 3.12',
        'Programming Language :: Python :: 3.13',
        'Programming Language :: Python :: 3.14',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
        'Typing :: Typed',
    ],
    keywords=['path planning', 'real-time search', 'TBA*', 'occupancy grid', 'ROS 2', 'Nav2', 'robotics'],
    author='tb_planner contributors',
    author_email='maintainers@tb-planner.dev',
    maintainer='tb_planner maintainers',
    maintainer_email='maintainers@tb-planner.dev',
    python_requires='>=3.10',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={
        NAME: ['py.typed'],
        f'{NAME}.search': ['*.pxd'],
        f'{NAME}.ros': ['*.xml'],
        f'{NAME}.view': ['*.css', '*.html', '*.js'],
    },
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        # `ros2 run` and launch files look for the nodes here; as console scripts they would be on every user's PATH
        (f'lib/{NAME}', sorted(map(str, Path().glob('scripts/*')))),
        *shared('config/*.*', 'config/nav2/*.*', 'config/nav2/*/*.*', 'config/sros2/*.*'),
        *shared('launch/*.py', 'maps/*.pgm', 'maps/*.yaml'),
    ],
    entry_points={
        'console_scripts': [f'{NAME} = {NAME}.__main__:main'],
    },
    zip_safe=False,
    ext_modules=[Extension(name, [f'{name.replace(".", "/")}.py']) for name in [*COMPILED, *COMPILED_BASELINES]],
    cmdclass={'build_ext': BuildKernel},
    install_requires=['numpy', 'pillow', 'pyyaml', 'tqdm', 'websockets>=11'],
    extras_require={
        'build': BUILD,
        'ros': wheels('jazzy', *ROS),
        'ros-kilted': wheels('kilted', *ROS),
        'interfaces': [*wheels('jazzy', 'python-cmake-module', *GENERATORS), 'catkin-pkg'],
        'interfaces-kilted': [*wheels('kilted', 'ament-cmake-ros-core', *GENERATORS), 'catkin-pkg'],
        'test': [
            *BUILD,
            'colcon-ros',
            'distributed',
            'hypothesis',
            'import-linter',
            'matplotlib',
            'mypy~=2.4',
            'pandas',
            'pytest',
            'pytest-timeout',
            'pytest-xdist>=3.7',
            'rosbags>=0.11',
            'ruff~=0.17.4',
            'scipy',
            'types-PyYAML',
        ],
        'benchmark': [
            'pandas',
            'pyastar2d',
            'scikit-image',
            'scipy',
            'tcod',
            'tomli; python_version < "3.11"',
            'w9-pathfinding',
        ],
        'bags': ['rosbags>=0.11'],
        'cluster': ['distributed'],
        'plot': ['matplotlib'],
    },
)
