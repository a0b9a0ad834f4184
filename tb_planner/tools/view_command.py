"""`tb_planner view RUN [RUN]` turns the records of one or two runs into a page for the browser, or serves one live."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path
from typing import Any

from tb_planner.files import check_may_write, open_file, size_text
from tb_planner.recording import Record, read_record
from tb_planner.recording.format import MAGIC, BadRecord
from tb_planner.view.page import OtherRun, may_become_page, write_page
from tb_planner.view.server import HOST, PORT, PORTS, LiveServer

DONE = 0
ENDED = 'The server has ended.'
EXAMPLES = """examples:
  tb_planner view demo.tbrun
  tb_planner view demo.tbrun -o demo.html --title 'The office, before the doors were moved'
  tb_planner view before.tbrun after.tbrun
  tb_planner view demo.tbrun --live
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        'view',
        help='show the record of a run in a browser',
        description='Writes one self-contained HTML file that replays the record of a run, or of two side by side; '
        'it needs no network.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=view)
    parser.add_argument('run', metavar='RUN', type=Path, help='a .tbrun file of the node, the demo or a Recorder')
    parser.add_argument('other', metavar='RUN', nargs='?', type=Path, help='a second one, to compare them side by side')
    parser.add_argument('-o', '--output', metavar='FILE', type=Path, help='default: the name of RUN with .html')
    parser.add_argument('--title', help="default: the record's title, or its name")
    live = parser.add_argument_group('during the run')
    live.add_argument('--live', action='store_true', help='serve a page that follows the run as it is recorded')
    live.add_argument('--port', metavar='N', type=int, help=f'default: {PORT}, or the next free one')
    live.add_argument('--host', help=f'address to listen on (default: {HOST}, this computer only; others need a token)')


def view(options: argparse.Namespace) -> int:
    """Checks the record and writes the page."""
    if options.live:
        return serve(options)
    for option, value in (('--port', options.port), ('--host', options.host)):
        if value is not None:
            raise ValueError(f'{option} {value} is for --live only')
    return view_two(options) if options.other else view_one(options)


def view_one(options: argparse.Namespace) -> int:
    record = read_shown(options.run)
    output: Path = options.output or options.run.with_suffix('.html')
    check_may_write_page(output, options.run)
    title = options.title or record.head.get('title') or options.run.stem
    write_page(output, content(options.run, record), title)
    report(output, record)
    print_damage(options.run, record)
    return DONE


def view_two(options: argparse.Namespace) -> int:
    """Writes the page of two runs; the longer one leads, and the first is on the left."""
    if options.title:
        raise ValueError(f'--title {options.title} is for one run; each of two runs is shown with its own title')
    paths: list[Path] = [options.run, options.other]
    output: Path = options.output or paths[0].with_name(f'{paths[0].stem}-and-{paths[1].stem}.html')
    runs = [read_shown(path) for path in paths]
    check_may_write_page(output, *paths)
    titles = names(paths, runs)
    leads = 0 if seconds(runs[0]) >= seconds(runs[1]) else 1
    follows = 1 - leads
    other = OtherRun(content(paths[follows], runs[follows]), titles[follows], 'left' if leads else 'right')
    write_page(output, content(paths[leads], runs[leads]), titles[leads], other)
    report(output, *runs)
    for path, run in zip(paths, runs, strict=True):
        print_damage(path, run)
    return DONE


def names(paths: list[Path], runs: list[Record]) -> list[str]:
    """Returns the titles of the runs, or the names of their files if they have none or the same."""
    titles = [run.head.get('title') or path.stem for path, run in zip(paths, runs, strict=True)]
    for others in ([path.stem for path in paths], [str(path) for path in paths]):
        if titles[0] == titles[1]:
            titles = others
    return titles


def read_shown(path: Path) -> Record:
    """Reads a record; raises BadRecord if it has no ticks."""
    record = read_record(path)
    if not record.ticks:
        raise BadRecord(f'{path} cannot be shown: it has no ticks{damage(record)}')
    return record


def content(path: Path, record: Record) -> bytes:
    """Returns the part of the file that can be shown."""
    with open_file(path) as file:
        return bytes(file.read(record.end))


def seconds(record: Record) -> float:
    return float(record.columns['time_us'].sum()) / 1e6


def report(output: Path, *records: Record) -> None:
    facts = (f'{run.ticks:,} ticks, {seconds(run):,.1f} s, {len(run.restarts):,} restarts' for run in records)
    print(f'{output}: {"; ".join(facts)}, {size_text(output)}')


def print_damage(path: Path, record: Record) -> None:
    if record.why:
        print(f'{path}{damage(record)}')


def damage(record: Record) -> str:
    """Returns what is wrong with the end of a record, if anything."""
    return f': the last {record.left_out:,} bytes cannot be shown: {record.why}' if record.why else ''


def check_may_write_page(output: Path, *records: Path) -> None:
    """Raises ValueError if the page cannot be written, or would overwrite anything but a page."""
    if output.resolve() in (record.resolve() for record in records):
        raise ValueError(f'{output} is the record itself; choose another name for the page with -o')
    check_may_write(output, 'a page of a run', may_become_page)


def check_may_become_record(path: Path) -> None:
    """Raises BadRecord if the file is not a record; it may be missing or incomplete."""
    try:
        with open_file(path) as file:
            begins = file.read(len(MAGIC))
    except FileNotFoundError:
        return
    if not MAGIC.startswith(begins):
        raise BadRecord(f'{path} cannot be shown: it begins with {begins!r}; the record of a run begins with {MAGIC!r}')


def serve(options: argparse.Namespace) -> int:
    """Serves the page until Ctrl-C."""
    if options.other is not None:
        raise ValueError(f'{options.other}: a page with --live shows one run')
    if options.output is not None:
        raise ValueError(f'-o {options.output} is not for --live, which serves the page')
    check_may_become_record(options.run)
    host, port = options.host or HOST, PORT if options.port is None else options.port
    ports = PORTS if options.port is None else 1
    try:
        server = LiveServer(options.run, host=host, port=port, ports=ports, title=options.title or options.run.stem)
    except (OSError, OverflowError, ImportError) as error:
        raise ValueError(f'cannot listen on {host}, port {port}: {error}') from error
    print(f'serving {options.run} at {server.access} until Ctrl-C', flush=True)
    try:
        threading.Event().wait()
    finally:
        server.close(ENDED)
    return DONE
