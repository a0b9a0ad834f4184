"""Frames to a file, in a thread of its own: who records a run leaves a frame for each tick and goes on."""

from __future__ import annotations

import errno
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from tb_planner.errors import OperationFailed
from tb_planner.recording.encoder import Encoder
from tb_planner.recording.format import MAGIC, VERSION, pack
from tb_planner.recording.frame import About, Frame

MOST_WAITING = 64 * 2**20
"""Bytes of frames that wait to be written. A disk that is too slow for more costs frames, not memory; where ticks
do not come in real time, it costs time."""
CHUNK_S = 0.25
"""Between two chunks: who looks on sees things so late, and a crash costs so much."""
STOP_S = 10.0

_NO_RECORD = 'it is there already, and is no record of a run'


def may_begin(path: Path) -> bool:
    """Whether nothing else than a record, or the beginning of one, would be written over there."""
    if not path.is_file():  # devices are nobody's work
        return not path.is_dir()
    with path.open('rb') as file:
        return MAGIC.startswith(file.read(len(MAGIC)))


def _begun(path: Path) -> BinaryIO:
    if path.is_file() and not may_begin(path):
        raise FileExistsError(errno.EEXIST, _NO_RECORD, str(path))
    return path.open('wb')


def empty_record(path: Path) -> None:
    """So that no older run is shown in place of the one that is about to begin. Raises FileExistsError where something
    else is than a record."""
    _begun(path).close()


def keep_older(path: Path) -> None:
    """A record in which there is something to see gives way to the next one: run.tbrun becomes run.1.tbrun, in place of
    one of before. Raises OSError, also where run.1.tbrun is something else."""
    there = path.resolve()
    if not there.is_file() or not _has_ticks(there):
        return
    older = there.with_name(f'{there.stem}.1{there.suffix}')
    if not may_begin(older):
        raise FileExistsError(errno.EEXIST, _NO_RECORD, str(older))
    there.replace(older)


def _has_ticks(path: Path) -> bool:
    """Or so it seems: there is more than a head."""
    with path.open('rb') as file:
        begins = file.read(len(MAGIC) + 4)
    head = int.from_bytes(begins[len(MAGIC) :], 'little')
    return begins.startswith(MAGIC) and path.stat().st_size > len(MAGIC) + 4 + head


class NotRecorded(OperationFailed):
    """The end of a run is missing in its record."""


class RecordWriter:
    """put() leaves a frame; close() writes what is left. Chunks go to a file, and to whoever else wants them.

    real_time: nobody waits for the disk; frames may get lost, and the end, if the disk takes too long. Else they wait.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        about: About,
        *,
        chunk_s: float = CHUNK_S,
        also: Callable[[bytes], object] | None = None,
        real_time: bool = True,
    ) -> None:
        self.error = ''
        """Why nothing is written any more, if so."""
        self._file = None if path is None else _begun(Path(path))
        self._also = also
        self._chunk_s = chunk_s
        self._real_time = real_time
        self._encoder = Encoder()
        self._frames: list[tuple[Any, ...]] = []
        self._waiting = self._lost = 0
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)
        self._wake = threading.Event()
        self._closing = False
        try:
            self._write(pack({'kind': 'head', 'version': VERSION, 'run': secrets.token_hex(8), **asdict(about)}))
        except OSError:
            self._close_file()
            raise
        self._thread = threading.Thread(target=self._run, name='record_writer', daemon=True)
        self._thread.start()

    def put(self, frame: tuple[Any, ...], size: int) -> bool:
        """The fields of a Frame, and about how many bytes they are. False: frames have been lost, and the next has to
        tell all anew."""
        if self.error:
            return True
        with self._lock:
            if not self._real_time:
                self._wait_for_room()
            elif self._waiting > MOST_WAITING:
                self._lost += len(self._frames) + 1
                self._frames, self._waiting = [], 0
                return False
            self._frames.append(frame)
            self._waiting += size
        return True

    def _wait_for_room(self) -> None:
        while self._waiting > MOST_WAITING and not self.error:
            self._wake.set()
            self._room.wait()

    def close(self) -> None:
        """Writes what waits; error says it if that has not come to an end."""
        self._closing = True
        self._wake.set()
        self._thread.join(STOP_S if self._real_time else None)
        if self._thread.is_alive():
            self.error = f'the last frames are not written after {STOP_S:g} s'
        else:
            self._close_file()

    def _close_file(self) -> None:
        if self._file is None:
            return
        try:
            self._file.close()
        except OSError as error:  # what a full disk has not taken is tried once more
            self.error = self.error or str(error)

    def _run(self) -> None:
        try:
            closing = False
            while not closing:
                self._wake.wait(self._chunk_s)
                self._wake.clear()
                closing = self._closing
                self._write_frames()
        except Exception as error:  # a robot drives on without its record
            with self._lock:
                self.error = str(error) or repr(error)
                self._frames = []
                self._room.notify_all()

    def _write_frames(self) -> None:
        with self._lock:
            frames, self._frames, self._waiting = self._frames, [], 0
            lost, self._lost = self._lost, 0
            self._room.notify_all()
        if frames:
            self._write(self._encoder.chunk([Frame._make(frame) for frame in frames], lost))

    def _write(self, chunk: bytes) -> None:
        if self._file is not None:
            self._file.write((b'' if self._file.tell() else MAGIC) + chunk)
            self._file.flush()
        if self._also is not None:
            self._also(chunk)
