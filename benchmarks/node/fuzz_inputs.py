"""Random, extreme and malformed input for nodes: messages of any type, serialised bytes, HTTP requests and frames.

Every choice comes from one random.Random, so that a seed replays a run.
"""

from __future__ import annotations

import base64
import math
import random
import struct
from array import array
from importlib import import_module
from typing import Any

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import OccupancyGrid
from rcl_interfaces.msg import Parameter, ParameterValue
from unique_identifier_msgs.msg import UUID

SIDE, RESOLUTION_M = 60, 0.1
"""The good map: a room of 6 m x 6 m with a wall in its middle."""
FRAME = 'map'

FLOATS = (
    *(0.0, -0.0, 0.5, 1.0, -1.0, 3.0, 20.0, 1e3, 1e-3, 1e-9, 1e7, -1e7, 1e9, 2.0**53),
    *(math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2e-308, 1.7e308, -1.7e308),
)
FLOAT32_MAX = 3.4e38
TEXTS = (
    *('', FRAME, 'odom', 'base_link', 'GridBased', '/', '/map', ' ', 'a\nb', '%s%n%x', '{}', '\0', 'ü漢🤖', '../../x'),
    *('x' * 300, 'x' * 100_000),
)
WORDS = (0, 1, 2, 4, 255, 256, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
"""What may take the place of a length."""
BITS = {
    **{f'int{bits}': (bits, True) for bits in (8, 16, 32, 64)},
    **{f'uint{bits}': (bits, False) for bits in (8, 16, 32, 64)},
    **{'octet': (8, False), 'char': (8, False), 'wchar': (16, False)},
}


CODES = {
    **{'float': 'f', 'double': 'd', 'boolean': '?', 'octet': 'c', 'char': 'B'},
    **{f'{sign}int{8 * 2**i}': code for sign, codes in (('', 'bhiq'), ('u', 'BHIQ')) for i, code in enumerate(codes)},
}


class FuzzInputs:
    """Draws inputs. names: parameters of the nodes under attack."""

    def __init__(self, seed: str, names: tuple[str, ...] = ('weight',)) -> None:
        self.random = random.Random(seed)
        self._names = names
        self._goals = [bytes(16)]  # ids of goals that were sent, so that cancels may meet them

    # ---------------------------------------------------------------------- messages
    def message(self, kind: Any) -> Any:
        """A message of this type: good, good but for some fields, or random in all fields."""
        share = self.random.random()
        if kind is OccupancyGrid and share < 0.7:
            return self._changed(good_map(), share)
        if kind is PoseStamped and share < 0.7:
            return self._changed(self.good_pose(), share)
        if kind is UUID:
            return self._goal_id()
        if kind is Parameter:
            return self._parameter()
        message = kind()
        for name, slot in zip(message.get_fields_and_field_types(), kind.SLOT_TYPES):
            setattr(message, name, self._value(slot, getattr(message, name)))
        return message

    def good_pose(self) -> PoseStamped:
        """Somewhere on the good map."""
        return pose(self.random.uniform(0.3, 5.7), self.random.uniform(0.3, 5.7))

    def _changed(self, message: Any, share: float) -> Any:
        for _ in range(0 if share < 0.2 else self.random.choice((1, 1, 1, 2, 5))):
            self._change(message)
        return message

    def _change(self, message: Any) -> None:
        """Another value in one field, at any depth."""
        names = list(message.get_fields_and_field_types())
        index = self.random.randrange(len(names))
        value, slot = getattr(message, names[index]), message.SLOT_TYPES[index]
        if hasattr(value, 'SLOT_TYPES') and self.random.random() < 0.9:
            self._change(value)
        else:
            setattr(message, names[index], self._value(slot, value))

    def _value(self, slot: Any, present: Any = None) -> Any:
        """A value for a field, by rosidl's description of its type."""
        if hasattr(slot, 'value_type'):
            return self._values(slot)
        if hasattr(slot, 'namespaces'):
            kind = (
                type(present) if present is not None else getattr(import_module('.'.join(slot.namespaces)), slot.name)
            )
            return self.message(kind)
        if not hasattr(slot, 'typename'):
            return self.random.choice(TEXTS[:-1] if self.random.random() < 0.95 else TEXTS)
        if slot.typename in ('float', 'double', 'long double'):
            return self._float(single=slot.typename == 'float')
        if slot.typename == 'boolean':
            return self.random.random() < 0.5
        value = self._int(*BITS[slot.typename])
        return bytes([value]) if slot.typename == 'octet' else value

    def _values(self, slot: Any) -> Any:
        if hasattr(slot, 'size'):
            count = slot.size
        else:
            is_number = hasattr(slot.value_type, 'typename')
            count = self.random.choice((0, 0, 1, 2, 7, self.random.randrange(5000 if is_number else 40)))
            count = min(count, getattr(slot, 'maximum_size', count))
            if count > 40:
                return [self._value(slot.value_type)] * count
        return [self._value(slot.value_type) for _ in range(count)]

    def _float(self, *, single: bool) -> float:
        share = self.random.random()
        if share < 0.5:
            value = self.random.choice(FLOATS)
        elif share < 0.8:
            value = self.random.uniform(-10, 10)
        else:  # any bits
            value = float(struct.unpack('<d', self.random.randbytes(8))[0])
        if single and math.isfinite(value):
            return min(max(value, -FLOAT32_MAX), FLOAT32_MAX)
        return value

    def _int(self, bits: int, signed: bool) -> int:
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        value = self.random.choice((low, high, low + 1, high - 1, 0, 1, -1, 5, self.random.randint(low, high)))
        return min(max(value, low), high)

    def _goal_id(self) -> UUID:
        if self.random.random() < 0.5:
            self._goals = [*self._goals[-20:], self.random.randbytes(16)]
            return UUID(uuid=list(self._goals[-1]))
        return UUID(uuid=list(self.random.choice(self._goals)))

    def _parameter(self) -> Parameter:
        """A parameter. Its name mostly exists; its type is one that exists, or any number."""
        is_known = self.random.random() < 0.9
        value = ParameterValue()
        for name, slot in zip(value.get_fields_and_field_types(), ParameterValue.SLOT_TYPES):
            setattr(value, name, self._value(slot))
        value.type = self.random.randrange(10) if is_known else self.random.randrange(256)
        return Parameter(name=self.random.choice(self._names) if is_known else self.random.choice(TEXTS), value=value)

    # ---------------------------------------------------------------------- bytes
    def cdr(self, kind: Any) -> bytes:
        """A serialised message with some bytes changed, cut off or added."""
        return self.spoilt(serialized(self.message(kind)))

    def spoilt(self, data: bytes) -> bytes:
        """The bytes, changed in one to four places."""
        changed = bytearray(data)
        for _ in range(self.random.choice((1, 1, 2, 4))):
            self._spoil(changed)
        return bytes(changed)

    def _spoil(self, data: bytearray) -> None:
        at = self.random.randrange(len(data)) if data else 0
        how = self.random.randrange(7)
        if how == 0:
            del data[at:]
        elif how == 1:
            data += self.random.randbytes(self.random.choice((1, 3, 8, 300)))
        elif how == 2:
            data[at:at] = self.random.randbytes(self.random.choice((1, 4, 8)))
        elif how == 3 and data:
            data[at] ^= 1 << self.random.randrange(8)
        elif how == 4 and len(data) > 8:  # a number, perhaps a length
            at = min(at // 4 * 4, len(data) // 4 * 4 - 4)
            data[at : at + 4] = struct.pack('<I', self.random.choice(WORDS))
        elif how == 5 and len(data) > 12:
            at = min(at // 8 * 8 + 4, len(data) - 8)
            data[at : at + 8] = struct.pack('<d', self.random.choice(FLOATS))
        elif data:
            data[: self.random.choice((1, 2, 4))] = self.random.randbytes(2)

    def http(self, port: int) -> bytes:
        """A request to the live view, mostly malformed."""
        method = self.random.choice(('GET', 'GET', 'GET', 'POST', 'HEAD', 'get', '', 'X' * 9000))
        path = self.random.choice(
            ('/', '/stream', '/../../etc/passwd', '/' + 'a' * 9000, '/%00', '*', '/?x=' + '%' * 99)
        )
        version = self.random.choice(('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/9.9', 'X'))
        headers = [f'Host: 127.0.0.1:{port}'] * self.random.choice((1, 1, 1, 0, 2))
        headers += self.random.sample(
            (
                *(
                    'Content-Length: -1',
                    'Content-Length: 99999999999',
                    'Transfer-Encoding: chunked',
                    'Host: evil.example',
                ),
                *(f'Origin: http://127.0.0.1:{port}', 'Origin: null', 'Upgrade: websocket', 'Connection: Upgrade'),
                *('Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: x', 'X: ' + 'y' * 20_000, 'no colon', ': empty'),
            ),
            self.random.randrange(6),
        )
        headers += [f'X-{number}: 1' for number in range(self.random.choice((0, 0, 0, 300)))]
        request = '\r\n'.join([f'{method} {path} {version}', *headers, '', '']).encode()
        return request if self.random.random() < 0.5 else self.spoilt(request)

    def handshake(self, port: int) -> bytes:
        """A good request for the stream."""
        key = base64.b64encode(self.random.randbytes(16)).decode()
        head = f'GET /stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n'
        upgrade = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
        return f'{head}{upgrade}Sec-WebSocket-Key: {key}\r\n\r\n'.encode()

    def frame(self) -> bytes:
        """A WebSocket frame, mostly malformed: its text may be input of a page."""
        text = self.random.choice(
            (b'', b'{}', b'[' * 5000, b'\xff\xfe', b'null', self._page_input(), self._page_input())
        )
        first = self.random.choice((0x81, 0x81, 0x81, 0x82, 0x88, 0x89, 0x8A, 0x01, 0x00, self.random.randrange(256)))
        mask = self.random.randbytes(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(text))
        length = self.random.choice((len(text), len(text), len(text), 0, 125, 2**16 - 1, 2**63 - 1))
        if length < 126:
            head = struct.pack('>BB', first, 0x80 | length)
        elif length < 2**16:
            head = struct.pack('>BBH', first, 0x80 | 126, length)
        else:
            head = struct.pack('>BBQ', first, 0x80 | 127, length)
        return head + mask + masked

    def _page_input(self) -> bytes:
        what = self.random.choice(('goal', 'draw', 'erase', 'x', 'x' * 1000))
        numbers = ('1', '-2.5', '1e400', '-1e308', 'NaN', 'Infinity', '1' * 400, '"1"', 'null', '[]', 'true', '{}')
        place = ', '.join(self.random.choice(numbers) for _ in range(self.random.choice((2, 2, 2, 0, 1, 3))))
        return f'{{"{what}": [{place}]}}'.encode()


def serialized(message: Any) -> bytes:
    """The message as CDR. rclpy's own has random bytes between two fields, so that no seed could replay it."""
    data = bytearray(b'\0\1\0\0')
    _write_fields(data, message)
    return bytes(data)


def _write_fields(data: bytearray, message: Any) -> None:
    for name, slot in zip(message.get_fields_and_field_types(), message.SLOT_TYPES):
        _write(data, slot, getattr(message, name))


def _write(data: bytearray, slot: Any, value: Any) -> None:
    if hasattr(slot, 'value_type'):
        if not hasattr(slot, 'size'):
            _write_number(data, 'I', len(value))
        for item in value:
            _write(data, slot.value_type, item)
    elif hasattr(slot, 'namespaces'):
        _write_fields(data, value)
    elif hasattr(slot, 'typename'):
        _write_number(data, CODES[slot.typename], value)
    else:
        text = value.encode() + b'\0'
        _write_number(data, 'I', len(text))
        data += text


def _write_number(data: bytearray, code: str, value: Any) -> None:
    data += bytes(-(len(data) - 4) % struct.calcsize(code)) + struct.pack(f'<{code}', value)


def good_map() -> OccupancyGrid:
    message = OccupancyGrid()
    message.header.frame_id = FRAME
    message.info.width = message.info.height = SIDE
    message.info.resolution = RESOLUTION_M
    message.info.origin.orientation.w = 1.0
    cells = bytearray(SIDE * SIDE)
    for y in range(SIDE // 4, 3 * SIDE // 4):
        cells[y * SIDE + SIDE // 2] = 100
    message.data = array('b', bytes(cells))
    return message


def pose(x_m: float, y_m: float) -> PoseStamped:
    message = PoseStamped()
    message.header.frame_id = FRAME
    message.pose.position.x, message.pose.position.y = x_m, y_m
    message.pose.orientation.w = 1.0
    return message
