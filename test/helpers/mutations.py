"""Damaged and hostile files: seeded mutations of good ones, and small files that take much memory if they are believed.

    for seed in seeds(200):
        with shown(seed):
            path.write_bytes(mutated(good, random.Random(seed)))

TB_PLANNER_FUZZ_SECONDS=600 draws new seeds for that long, in each test; TB_PLANNER_FUZZ_SEED=17 tries this one only.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.changed_record import KINDS
from tb_planner.recording.format import MAGIC, Chunks, Column, as_varints, pack

SECONDS, SEED = 'TB_PLANNER_FUZZ_SECONDS', 'TB_PLANNER_FUZZ_SEED'

_BYTES = (0, 1, 9, 10, 13, 32, 45, 127, 128, 255)
_NUMBERS = (0, 1, 2, 127, 255, 2**15, 2**16 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63, 2**64 - 1)
_WORDS = (
    *('', '-1', '0', '1', '0.5', '1e999', '-1e-999', 'nan', '.nan', '.inf', '-.inf', '999999999999', '9' * 5000),
    *('true', 'null', '~', '[]', '{}', '[', '{', '}', ']', ':', '-', '- - -', '? ', '"', "'", '|', '%', '@', '`', '\t'),
    *(
        '&a',
        '*a',
        '<<: 1',
        '!!bool x',
        '!!int x',
        '!!timestamp x',
        '!!binary =',
        '!!set {a}',
        '!!python/name:os.system',
    ),
    *(
        '2026-99-99',
        '0x',
        '0b2',
        '1:99',
        '1_000',
        '\u00e9',
        '\0',
        '\ufeff',
        '---',
        '...',
        '../../etc/passwd',
        'a' * 3000,
    ),
)
_JSON = (None, True, -1, 0, 1, 2**31, 2**63, 10**40, 0.5, 1e308, '', 'x', 'x' * 9000, [], [1], {}, {'tick': 0}, [[[]]])


def seeds(count: int) -> Iterator[int]:
    """`count` seeds, always the same; or those that the environment asks for."""
    if SEED in os.environ:
        yield int(os.environ[SEED])
    elif SECONDS in os.environ:
        first, deadline = random.SystemRandom().randrange(10**9), time.monotonic() + float(os.environ[SECONDS])
        while time.monotonic() < deadline:
            yield first
            first += 1
    else:
        yield from range(count)


@contextmanager
def shown(seed: int) -> Iterator[None]:
    """Adds the seed to whatever is raised within."""
    try:
        yield
    except BaseException as error:
        raise AssertionError(f'seed {seed} ({SEED}={seed} repeats it): {type(error).__name__}: {error}') from error


def mutated(data: bytes, rng: random.Random) -> bytes:
    """A few random changes of bytes: flipped, overwritten, inserted, removed, repeated, cut off."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        rng.choice(_CHANGES)(changed, rng.randrange(len(changed) + 1), rng)
    return bytes(changed)


def mutated_text(text: str, rng: random.Random) -> bytes:
    """A few words or numbers replaced by strange ones; sometimes random changes of bytes as well."""
    for _ in range(rng.choice((1, 1, 2, 3))):
        words = list(re.finditer(r'[\w.+-]+|[^\w\s]|\s+', text))
        if words:
            word = rng.choice(words)
            text = text[: word.start()] + rng.choice(_WORDS) + text[word.end() :]
    data = text.encode()
    return mutated(data, rng) if rng.random() < 0.2 else data


def mutated_record(data: bytes, rng: random.Random) -> bytes:
    """A record whose chunks can be decompressed, while what is in them has been changed."""
    if rng.random() < 0.2:
        return mutated(data, rng)
    parts = [MAGIC]
    chunks = list(Chunks(data))
    changed = rng.randrange(len(chunks))
    for number, chunk in enumerate(chunks):
        columns = [
            Column(name, kind, as_varints(values) if kind == 'varint' else values.tobytes())
            for name, values in chunk.columns.items()
            for kind in [KINDS[str(values.dtype)]]
        ]
        head = chunk.head
        if number == changed and (rng.random() < 0.4 or not columns):
            _change_json(head, rng)
        elif number == changed:
            which = rng.randrange(len(columns))
            name, kind, content = columns[which]
            content = bytearray(content)
            for _ in range(rng.choice((1, 1, 3))):
                # most keep the length, which is checked first
                change = _overwrite if rng.random() < 0.8 else rng.choice(_CHANGES)
                change(content, rng.randrange(len(content) + 1), rng)
            columns[which] = Column(name, kind, bytes(content))
        parts.append(pack(head, columns))
    return b''.join(parts)


def _change_json(value: object, rng: random.Random) -> None:
    """Replaces, removes or adds something within a dict or list, at any depth."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    if items:
        key, inner = rng.choice(items)
        if isinstance(inner, (dict, list)) and inner and rng.random() < 0.8:
            _change_json(inner, rng)
        elif rng.random() < 0.2:
            del value[key]
        else:
            value[key] = rng.choice(_JSON)
    elif isinstance(value, dict):
        value[rng.choice(('tick', 'map', 'status', 'restarts', 'x'))] = rng.choice(_JSON)
    else:
        value.append(rng.choice(_JSON))


def _flip(data: bytearray, at: int, rng: random.Random) -> None:
    if at < len(data):
        data[at] ^= 1 << rng.randrange(8)


def _overwrite(data: bytearray, at: int, rng: random.Random) -> None:
    new = bytes(rng.choice((rng.choice(_BYTES), rng.randrange(256))) for _ in range(rng.choice((1, 1, 2, 4))))
    data[at : at + len(new)] = new[: max(len(data) - at, 0)]


def _set_number(data: bytearray, at: int, rng: random.Random) -> None:
    size = rng.choice((2, 4, 8))
    number = rng.choice(_NUMBERS) % 2 ** (8 * size)
    if at + size <= len(data):
        data[at : at + size] = number.to_bytes(size, rng.choice(('little', 'big')))


def _insert(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = rng.randbytes(rng.choice((1, 2, 7, 64)))


def _remove(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at : at + rng.choice((1, 2, 7, 64, 1000))]


def _repeat(data: bytearray, at: int, rng: random.Random) -> None:
    data[at:at] = data[at : at + rng.choice((1, 16, 256))] * rng.choice((1, 2, 50))


def _cut_off(data: bytearray, at: int, rng: random.Random) -> None:
    del data[at:]


_CHANGES: tuple[Callable[[bytearray, int, random.Random], None], ...] = (
    *(_flip, _overwrite, _set_number, _insert, _remove, _repeat, _cut_off),
)


# ------------------------------------------------------------------------------------------------ bombs
@contextmanager
def memory_limit(more: int = 2**29 + 2**28) -> Iterator[None]:
    """Within it, this process gets at most this many bytes more; then it raises MemoryError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path('/proc/self/statm').read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def alias_bomb(key: str) -> str:
    """A few hundred bytes of YAML that are ten thousand million items when they are written out."""
    lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    for n in range(1, 10):
        lines.append(f'a{n}: &a{n} [{", ".join([f"*a{n - 1}"] * 10)}]')
    return '\n'.join([*lines, f'{key}: *a9', ''])


def nested_yaml(depth: int = 20_000) -> str:
    return f'a: {"[" * depth}{"]" * depth}\n'


def png(width: int, height: int, colour_type: int = 6) -> bytes:
    """A picture of this size, of which only the first few pixels are there."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))

    head = struct.pack('>IIBBBBB', width, height, 8, colour_type, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + part(b'IHDR', head) + part(b'IDAT', zlib.compress(bytes(10**6))) + part(b'IEND', b'')


def record_bomb(megabytes: int = 4000, in_chunk: int = 50) -> bytes:
    """A record of zeros: a thousandth of its size."""
    text = json.dumps({'kind': 'ticks', 'columns': [['map', 'u1', in_chunk * 10**6]]}).encode()
    body = zlib.compress(struct.pack('<I', len(text)) + text + bytes(in_chunk * 10**6), 1)
    chunk = struct.pack('<I', len(body)) + body
    return MAGIC + pack({'kind': 'head', 'version': 1}) + chunk * (megabytes // in_chunk)


def mcap_bomb(compressed: bytes, compression: str, size: int) -> bytes:
    """An mcap file of one chunk, which begins with zeros when it is decompressed."""
    name = compression.encode()
    content = struct.pack('<QQQII', 0, 1, size, 0, len(name)) + name + struct.pack('<Q', len(compressed)) + compressed
    return b''.join(
        [
            b'\x89MCAP0\r\n',
            struct.pack('<BQI4sI', 0x01, 12, 4, b'ros2', 0),
            struct.pack('<BQ', 0x06, len(content)) + content,
            struct.pack('<BQI', 0x0F, 4, 0),
            struct.pack('<BQQQI', 0x02, 20, 0, 0, 0),
            b'\x89MCAP0\r\n',
        ]
    )
