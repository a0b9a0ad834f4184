"""`tb_planner view RUN` turns the record of a run into a page for the browser, or serves it live."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path
from typing import Any

from tb_planner.files import open_file
from tb_planner.recording import Record, read_record
from tb_planner.recording.format import MAGIC, BadRecord
from tb_planner.view.page import may_become_page, write_page
from tb_planner.view.server import HOST, PORT, PORTS, LiveServer

DONE = 0
ENDED = 'The server has ended.'
EXAMPLES = """examples:
  tb_planner view demo.tbrun
  tb_planner view demo.tbrun -o demo.html --title 'The office, before the doors were moved'
  tb_planner view demo.tbrun --live
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        'view',
        help='show the record of a run in a browser',
        description='Writes one self-contained HTML file that replays the record of a run; it needs no network.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=view)
    parser.add_argument('run', metavar='RUN', type=Path, help='a .tbrun file of the node, the demo or a Recorder')
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
    record = read_record(options.run)
    output: Path = options.output or options.run.with_suffix('.html')
    check_may_write(output, options.run)
    if not record.ticks:
        raise BadRecord(f'{options.run} cannot be shown: it has no ticks{damage(record)}')
    title = options.title or record.head.get('title') or options.run.stem
    with open_file(options.run) as file:
        write_page(output, file.read(record.end), title)
    seconds = record.columns['time_us'].sum() / 1e6
    size = output.stat().st_size / 1e6
    print(f'{output}: {record.ticks:,} ticks, {seconds:,.1f} s, {len(record.restarts):,} restarts, {size:.1f} MB')
    if record.why:
        print(f'{options.run}{damage(record)}')
    return DONE


def damage(record: Record) -> str:
    """Returns what is wrong with the end of a record, if anything."""
    return f': the last {record.left_out:,} bytes cannot be shown: {record.why}' if record.why else ''


def check_may_write(output: Path, record: Path) -> None:
    """Raises ValueError if the page would overwrite the record, or a file that is not a page."""
    if output.resolve() == record.resolve():
        raise ValueError(f'{output} is the record itself; choose another name for the page with -o')
    if not may_become_page(output):
        raise ValueError(f'{output}: the file exists and is not a page of a run; choose another name with -o')


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
