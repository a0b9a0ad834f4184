"""tb_planner view RUN: the record of a run as a page for the browser."""

from __future__ import annotations

import argparse
import threading
from pathlib import Path
from typing import Any

from tb_planner.recording import Record, read_record
from tb_planner.recording.format import MAGIC, BadRecord
from tb_planner.view.page import may_become_page, write_page
from tb_planner.view.server import HOST, LiveServer

DONE = 0
EXAMPLES = """examples:
  tb_planner view demo.tbrun
  tb_planner view demo.tbrun -o demo.html --title 'The office, before the doors were moved'
  tb_planner view demo.tbrun --live
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    parser = commands.add_parser(
        'view',
        help='show the record of a run in a browser',
        description='Writes one HTML file that replays the record of a run: all is in it, it needs no network.',
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=view)
    parser.add_argument('run', metavar='RUN', type=Path, help='what a node, a demo or a Recorder has recorded')
    parser.add_argument('-o', '--output', metavar='FILE', type=Path, help="default: RUN's name with .html")
    parser.add_argument('--title', help="default: the record's own, or its name")
    live = parser.add_argument_group('while the run goes on')
    live.add_argument('--live', action='store_true', help='serve the page, and show in it what is being recorded')
    live.add_argument('--port', metavar='N', type=int, help='default: one that is free')
    live.add_argument('--host', help=f'where to listen, default: {HOST}, which is this computer alone')


def view(options: argparse.Namespace) -> int:
    """Reads the record to see whether it can be shown, and writes the page."""
    if options.live:
        return serve(options)
    for option, value in (('--port', options.port), ('--host', options.host)):
        if value is not None:
            raise ValueError(f'{option} {value} is for --live, which serves the page')
    try:
        record = read_record(options.run)
        output: Path = options.output or options.run.with_suffix('.html')
        check_may_write(output, options.run)
        if not record.ticks:
            raise BadRecord(f'{options.run} cannot be shown: it has no ticks{left_out(record)}')
        title = options.title or record.head.get('title') or options.run.stem
        write_page(output, options.run.read_bytes()[: record.end], title)
    except OSError as error:
        raise ValueError(f'{error.filename}: {error.strerror}') from error
    seconds = record.columns['time_us'].sum() / 1e6
    size = output.stat().st_size / 1e6
    print(f'{output}: {record.ticks:,} ticks, {seconds:,.1f} s, {len(record.restarts)} restarts, {size:.1f} MB')
    if record.why:
        print(f'{options.run}{left_out(record)}')
    return DONE


def left_out(record: Record) -> str:
    """What is not shown of it."""
    return f': its last {record.left_out:,} bytes are left out: {record.why}' if record.why else ''


def check_may_write(output: Path, record: Path) -> None:
    """Only pages are written over."""
    if output.resolve() == record.resolve():
        raise ValueError(f'{output} is the record itself; give the page another name with -o')
    if not may_become_page(output):
        raise ValueError(f'{output}: it is there already, and is no page of a run; give another name with -o')


def check_may_become_record(path: Path) -> None:
    """It may not be there yet, or have just been begun."""
    try:
        with path.open('rb') as file:
            begins = file.read(len(MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise ValueError(f'{path}: {error.strerror}') from error
    if not MAGIC.startswith(begins):
        raise BadRecord(f'{path} cannot be shown: it begins with {begins!r}; the record of a run begins with {MAGIC!r}')


def serve(options: argparse.Namespace) -> int:
    """Until Ctrl-C."""
    if options.output is not None:
        raise ValueError(f'-o {options.output} is for a run that is over; --live serves its page')
    check_may_become_record(options.run)
    host, port = options.host or HOST, options.port or 0
    try:
        server = LiveServer(options.run, host=host, port=port, title=options.title or options.run.stem)
    except (OSError, OverflowError, ImportError) as error:
        raise ValueError(f'no server at {host}, port {port}: {error}') from error
    print(f'{options.run} is shown at {server.url} until Ctrl-C', flush=True)
    try:
        threading.Event().wait()
    finally:
        server.close()
    return DONE
