"""Runs the core's tests and random operations on compiled modules that check every access and every sum.

`make sanitize` calls it. The modules are compiled in a copy of the sources, build/sanitize, with AddressSanitizer,
UndefinedBehaviorSanitizer and Cython's bounds checks. The first error that one of them finds ends the run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / 'build' / 'sanitize'
COPIED = ('benchmarks', 'config', 'examples', 'maps', 'tb_planner', 'test', 'pyproject.toml', 'README.md', 'setup.py')
REPORT = COPY / 'report'
"""A file for each process that a sanitizer has ended: pytest would take what it prints along."""
SANITIZE = '-fsanitize=address,undefined,float-cast-overflow,float-divide-by-zero'
FLAGS = f'{SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g'
UNCHECKED = 'boundscheck=False, wraparound=False, initializedcheck=False'
CHECKED = 'boundscheck=True, wraparound=False, initializedcheck=True'  # a negative index is an error, too
TESTS = (
    'against_oracle',
    'baselines_a_star',
    'cells',
    'costmap',
    'd_star_lite',
    'distance',
    'escape',
    'follower',
    'graded_maps',
    'grid',
    'kernel_modes',
    'live_map',
    'local_search',
    'moving_maps',
    'navigator',
    'navigator_safety',
    'path_planner',
    'planner',
    'planner_loop',
    'planner_route',
    'restart',
    'restart_reasons',
    'route',
    'safety',
    'sight',
    'theorems',
    'worked_example',
)
LIMIT_S = 1800
"""Of a test; on a busy computer one took more than the 400 s after which tests that hang in C are ended elsewhere."""
ARE_CHECKED = """
import sys
from importlib import import_module
from pathlib import Path
for name in sys.argv[1:]:
    library = Path(import_module(name).__file__)
    code = library.read_bytes()
    assert library.suffix == '.so' and b'__asan_init' in code and b'__ubsan_handle' in code, f'{library} is not checked'
    assert b'Out of bounds on buffer access' in code, f'{library} has no bounds checks'
"""


def copy_sources() -> list[str]:
    """Copies what has changed since the last time; returns the names of the modules that will be compiled."""
    ignored = shutil.ignore_patterns('*.so', '*.c', '__pycache__')
    for name in COPIED:
        source, target = ROOT / name, COPY / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
        else:
            COPY.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    modules = []
    for path in sorted(COPY.glob('**/*.pxd')):
        source = path.with_suffix('.py')
        code = source.read_text()
        if code.startswith('# cython:'):
            modules.append('.'.join(source.relative_to(COPY).with_suffix('').parts))
            times = source.stat()
            assert UNCHECKED in code, f'{source} does not begin with the directives {UNCHECKED}'
            source.write_text(code.replace(UNCHECKED, CHECKED, 1))
            os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    return modules


def run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=COPY, env=environment, check=False)
    reports = [path.read_text() for path in sorted(COPY.glob('report.*'))]
    if done.returncode or reports:
        print(*reports, sep='\n')
        sys.exit(f'{" ".join(command[:4])} … failed, exit code {done.returncode}')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--operations', type=int, default=100_000, help='random operations (%(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='of the first game (%(default)s)')
    parser.add_argument('--workers', default='2', help='processes that test (%(default)s)')
    options = parser.parse_args()
    began_s = time.monotonic()
    for old in COPY.glob('report.*'):
        old.unlink()
    modules = copy_sources()
    build = {'TB_PLANNER_CFLAGS': FLAGS, 'LDFLAGS': SANITIZE}
    run([sys.executable, 'setup.py', '-q', 'build_ext', '--inplace'], {**os.environ, **build})
    print(f'compiled after {time.monotonic() - began_s:.0f} s', flush=True)
    library = subprocess.run(
        [os.environ.get('CC', 'cc'), '-print-file-name=libasan.so'], capture_output=True, text=True, check=True
    )
    environment = {
        **os.environ,
        'PYTHONPATH': f'{COPY}:{COPY / "test"}',
        'PYTHONMALLOC': 'malloc',  # Python's own allocator would hide the ends of blocks
        'LD_PRELOAD': library.stdout.strip(),
        'ASAN_OPTIONS': f'detect_leaks=0:log_path={REPORT}',  # Python itself does not free all at its end
        'UBSAN_OPTIONS': f'print_stacktrace=1:log_path={REPORT}',
    }
    run([sys.executable, '-c', ARE_CHECKED, *modules], environment)
    pytest = ['-m', 'pytest', '-q', '-n', options.workers, '-p', 'no:cacheprovider', '--timeout', str(LIMIT_S)]
    pytest += ['-o', f'faulthandler_timeout={LIMIT_S + 60}']
    # a bounds check in a function that cannot raise reports an unraisable exception
    strict = ['-W', 'error::pytest.PytestUnraisableExceptionWarning']
    run([sys.executable, *pytest, *strict, *(f'test/test_{name}.py' for name in TESTS)], environment)
    print(f'tested after {time.monotonic() - began_s:.0f} s', flush=True)
    games = ['-m', 'helpers.random_operations', '--operations', str(options.operations), '--seed', str(options.seed)]
    run([sys.executable, *games], environment)
    print(f'clean after {time.monotonic() - began_s:.0f} s')


if __name__ == '__main__':
    main()
