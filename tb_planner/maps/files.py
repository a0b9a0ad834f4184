"""Reads maps and problems: MovingAI's `.map` and `.scen`, and map_server's `.yaml` with its image.

Every map becomes occupancy values as in nav_msgs/OccupancyGrid: int8 [y, x], -1 unknown, 0 free to 100 occupied.

In a `.map` and its `.scen` files row 0 is at the top; in a map_server map row 0 is at the bottom, as in ROS, and the
reader flips the image. `Map.y_up` is true for the latter.

Terrain of a `.map`: `.` and `G` are ground, `S` is swamp, which can be entered from ground, `W` is water, which cannot,
and `@`, `O` and `T` are blocked. So ground and swamp are free by default and water is not; `passable='W'` makes the map
of the water.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from tb_planner.errors import BadInput
from tb_planner.files import open_file, read_text, read_yaml
from tb_planner.geometry import Cell, MapGeometry
from tb_planner.maps.cdr import MAX_CELLS
from tb_planner.maps.costmap import OCCUPIED, UNKNOWN

TERRAIN = '.GSW@OT'
GROUND_AND_SWAMP = '.GS'
MAP_SUFFIXES = ('.map', '.yaml', '.yml')
MAP_FILES = 'maps must be .map or .yaml files'
MODES = ('trinary', 'scale', 'raw')
IMAGE_FORMATS = ('BMP', 'JPEG', 'PNG', 'PPM')
"""Formats of images; PPM is .pgm as well. Pillow knows more, and runs Ghostscript for one of them."""
MAX_PROBLEM_BYTES = 2**26
"""Size of a `.scen` file."""

_FREE = 0
_BAD = -2
_MAP_HEADER = ('type', 'height', 'width')
_HEADER_BYTES = 4096  # the header of a `.map`, and blank lines at its end
_STRIPE = 2**22  # cells of an image that are converted at a time
_YAML_KEYS = {
    'image': 'map.png',
    'resolution': '0.05',
    'origin': '[0.0, 0.0, 0.0]',
    'negate': '0',
    'occupied_thresh': '0.65',
    'free_thresh': '0.196',
}
"""The keys that map_server needs, too, with usual values."""


class MapError(BadInput):
    """A file that cannot be read as a map or as problems; the message names the file and what is wrong in it."""


@dataclass(frozen=True, eq=False)
class Map:
    """Occupancy values and where they lie in the world."""

    name: str
    occupancy: NDArray[np.int8]
    resolution_m: float = 1.0
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """x and y in metres and yaw of the outer corner of cell (0, 0)."""
    y_up: bool = False
    """Whether y grows upwards, as in ROS, or downwards, as in pictures."""

    @property
    def width(self) -> int:
        return int(self.occupancy.shape[1])

    @property
    def height(self) -> int:
        return int(self.occupancy.shape[0])

    @property
    def blocked(self) -> NDArray[np.bool_]:
        """Cells that are occupied for certain."""
        return self.occupancy >= OCCUPIED

    @property
    def geometry(self) -> MapGeometry:
        return MapGeometry(self.width, self.height, self.resolution_m, self.origin)


@dataclass(frozen=True)
class ScenProblem:
    """One line of a `.scen` file."""

    bucket: int
    map_name: str
    map_width: int
    map_height: int
    start: Cell
    goal: Cell
    optimal_length: float
    """Octile, without cutting corners. It is wrong in the Warcraft III sets."""


def read_map(path: str | Path, *, passable: str = GROUND_AND_SWAMP) -> Map:
    """Reads a `.map`, or a `.yaml` with its image, by the suffix."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == '.map':
        return _read_moving_ai(path, passable)
    if suffix in MAP_SUFFIXES:
        return _read_map_server(path)
    raise MapError(f'{path}: {MAP_FILES}')


def read_problems(path: str | Path) -> Iterator[ScenProblem]:
    """Yields the problems of a `.scen` file, whose columns are separated by tabs or by spaces."""
    path = Path(path)
    lines = read_text(path, MAX_PROBLEM_BYTES, MapError).splitlines()
    if not lines or lines[0].split()[:1] != ['version']:
        raise MapError(f'{path}: line 1 is {_first(lines)!r}, not a version')
    for number, line in enumerate(lines[1:], start=2):
        if line.strip():
            yield _problem(line, f'{path}, line {number}')


def _problem(line: str, where: str) -> ScenProblem:
    columns = line.rstrip().split('\t' if '\t' in line else None)
    if len(columns) < 9:
        raise MapError(f'{where}: {len(columns)} columns, not 9')
    # between spaces a map's name may hold some of its own
    bucket, *name, width, height, x0, y0, x1, y1, length = columns
    try:
        return ScenProblem(
            bucket=int(bucket),
            map_name=' '.join(name),
            map_width=int(width),
            map_height=int(height),
            start=(int(x0), int(y0)),
            goal=(int(x1), int(y1)),
            optimal_length=float(length),
        )
    except ValueError as error:
        raise MapError(f'{where}: {error}') from error


def _read_moving_ai(path: Path, passable: str) -> Map:
    unknown = set(passable) - set(TERRAIN)
    if unknown:
        raise ValueError(f'passable {passable!r} has {min(unknown)!r}, which is not one of {TERRAIN}')
    beginning = read_text(path, _HEADER_BYTES, MapError, only_beginning=True)
    width, height = _moving_ai_size(path, beginning.splitlines())
    rows = read_text(path, _HEADER_BYTES + (width + 2) * height, MapError).splitlines()[4:]
    while len(rows) > height and not rows[-1].strip():
        rows.pop()
    if len(rows) != height:
        raise MapError(f'{path}: {len(rows)} rows, but the header has height {height}')
    for y, row in enumerate(rows):
        if len(row) != width:
            raise MapError(f'{path}: row {y} has {len(row)} cells, but the header has width {width}')
    return Map(path.stem, _terrain_to_occupancy(path, rows, passable))


def _moving_ai_size(path: Path, lines: list[str]) -> tuple[int, int]:
    header = dict(line.split(None, 1) for line in lines[:3] if len(line.split()) == 2)
    for key in _MAP_HEADER:
        if key not in header:
            raise MapError(f'{path}: no {key!r} in the first 3 lines, which begin with {_first(lines)!r}')
    if header['type'].strip() != 'octile':
        raise MapError(f'{path}: type {header["type"].strip()!r} is not octile')
    if len(lines) < 4 or lines[3].strip() != 'map':
        raise MapError(f"{path}: line 4 is {_first(lines[3:])!r}, not 'map'")
    width, height = _size(path, 'width', header['width']), _size(path, 'height', header['height'])
    _check_cells(path, width, height)
    return width, height


def _check_cells(path: Path, width: int, height: int) -> None:
    if width * height > MAX_CELLS:
        raise MapError(f'{path}: the map has {width} x {height} cells; it may have at most {MAX_CELLS} cells')


def _size(path: Path, name: str, text: str) -> int:
    text = text.strip()
    if not text.isdecimal() or len(text) > len(str(MAX_CELLS)) or int(text) < 1:
        raise MapError(f'{path}: {name} {text[:40]!r} is not a whole number between 1 and {MAX_CELLS}')
    return int(text)


def _terrain_to_occupancy(path: Path, rows: list[str], passable: str) -> NDArray[np.int8]:
    table = np.full(256, _BAD, np.int8)
    for character in TERRAIN:
        table[ord(character)] = _FREE if character in passable else OCCUPIED
    terrain = np.frombuffer(''.join(rows).encode('ascii', 'replace'), np.uint8)
    occupancy = table[terrain].reshape(len(rows), -1)
    y, x = divmod(int(occupancy.argmin()), occupancy.shape[1])
    if occupancy[y, x] == _BAD:
        raise MapError(f'{path}: row {y} has {rows[y][x]!r} at {x}, which is not one of {TERRAIN}')
    return occupancy


def _read_map_server(path: Path) -> Map:
    description = _read_description(path)
    mode = str(description.get('mode', 'trinary'))
    if mode not in MODES:
        raise MapError(f'{path}: mode {mode!r} is not one of {", ".join(MODES)}')
    resolution_m = _number(path, 'resolution', description['resolution'])
    if resolution_m <= 0:
        raise MapError(f'{path}: resolution {resolution_m} is not above 0')
    thresholds = _thresholds(path, description)
    negate = _negate(path, description)
    with _opened_image(path, str(description['image'])) as image:
        occupancy = np.empty((image.height, image.width), np.int8)
        rows = max(_STRIPE // image.width, 1)
        for top in range(0, image.height, rows):  # a whole image of RGBA would take eight bytes a cell and more
            stripe = image.crop((0, top, image.width, min(top + rows, image.height)))
            levels, white, opaque = _levels(stripe, alpha_counts=mode == 'trinary')
            values = _occupancy_of_level(mode, white, negate, *thresholds)[levels]
            if mode == 'scale' and opaque is not None:
                values[~opaque] = UNKNOWN
            occupancy[image.height - top - len(values) : image.height - top] = values[::-1]
    return Map(path.stem, occupancy, resolution_m, _origin(path, description), y_up=True)


def _occupancy_of_level(mode: str, top: int, negate: bool, free: float, occupied: float) -> NDArray[np.int8]:
    """Occupancy by lightness, 0 to `top`, by the rules of Nav2's map_server; raw knows no negation there."""
    shade = np.arange(top + 1) / top
    if mode == 'raw':
        values = np.rint(shade * 255)
        return np.where(values <= OCCUPIED, values, UNKNOWN).astype(np.int8)
    occupancy = shade if negate else 1.0 - shade
    between = np.rint((occupancy - free) / (occupied - free) * OCCUPIED) if mode == 'scale' else UNKNOWN
    values = np.where(occupancy > occupied, OCCUPIED, np.where(occupancy < free, _FREE, between))
    return values.astype(np.int8)


@contextmanager
def _opened_image(yaml_path: Path, name: str) -> Iterator[Image.Image]:
    """The image, decoded, if it has no more pixels than a map may have cells."""
    image_path = yaml_path.parent / name
    if not image_path.exists():
        raise MapError(f'{yaml_path}: there is no image {image_path}')
    try:
        with warnings.catch_warnings(), open_file(image_path) as file:
            warnings.simplefilter('ignore', Image.DecompressionBombWarning)  # the limit is ours
            with Image.open(file, formats=IMAGE_FORMATS) as image:
                _check_cells(image_path, image.width, image.height)
                image.load()
                yield image
    except MapError:
        raise
    except Image.DecompressionBombError as error:
        raise MapError(f'{image_path}: the map may have at most {MAX_CELLS} cells: {error}') from error
    except UnidentifiedImageError as error:
        *some, last = IMAGE_FORMATS
        formats = f'{", ".join(some)} or {last}'
        raise MapError(f'{yaml_path}: image {image_path} cannot be read: it is not {formats}, or damaged') from error
    except Exception as error:  # for a damaged image Pillow raises all kinds
        reason = getattr(error, 'strerror', None) or str(error) or type(error).__name__
        raise MapError(f'{yaml_path}: image {image_path} cannot be read: {reason}') from error


def _levels(
    image: Image.Image, *, alpha_counts: bool
) -> tuple[NDArray[np.integer[Any]], int, NDArray[np.bool_] | None]:
    """The image's lightness in whole levels, the level of white, and which pixels are opaque (None: all of them).

    Lightness is the mean of the colour channels; in trinary mode map_server counts alpha as one of them.
    """
    if image.mode.startswith('I'):
        return np.asarray(image, np.int32), 65535, None
    has_alpha = 'A' in image.getbands() or 'transparency' in image.info
    if image.mode in ('1', 'L') and not has_alpha:
        return np.asarray(image.convert('L')), 255, None
    channels = np.asarray(image.convert('RGBA' if has_alpha else 'RGB'), np.uint16)
    opaque = channels[..., 3] == 255 if has_alpha else None
    counted = channels if alpha_counts else channels[..., :3]
    return counted.sum(axis=-1, dtype=np.uint16), 255 * counted.shape[-1], opaque


def _read_description(path: Path) -> Mapping[str, Any]:
    description = read_yaml(path, MapError)
    if not isinstance(description, dict):
        raise MapError(f'{path}: holds no keys and values')
    missing = [key for key in _YAML_KEYS if description.get(key) is None]
    if missing:
        usual = ', '.join(f'{key}: {_YAML_KEYS[key]}' for key in missing)
        raise MapError(f'{path}: no value for {", ".join(missing)}; for example: {usual}')
    return description


def _number(path: Path, name: str, value: Any) -> float:
    # PyYAML takes 5e-2 for a text
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    raise MapError(f'{path}: {name} {value!r} is not a finite number')


def _origin(path: Path, description: Mapping[str, Any]) -> tuple[float, float, float]:
    origin = description['origin']
    if not isinstance(origin, list) or len(origin) != 3:
        raise MapError(f'{path}: origin {origin!r} is not a list [x, y, yaw]')
    x, y, yaw = (_number(path, 'origin', value) for value in origin)
    return x, y, yaw


def _negate(path: Path, description: Mapping[str, Any]) -> bool:
    value = description['negate']
    if not isinstance(value, (bool, int)) or value not in (0, 1):
        raise MapError(f'{path}: negate {value!r} is not 0 or 1')
    return bool(value)


def _thresholds(path: Path, description: Mapping[str, Any]) -> tuple[float, float]:
    free, occupied = (_number(path, name, description[name]) for name in ('free_thresh', 'occupied_thresh'))
    for name, value in (('free_thresh', free), ('occupied_thresh', occupied)):
        if not 0 <= value <= 1:
            raise MapError(f'{path}: {name} {value} is not between 0 and 1')
    if free >= occupied:
        raise MapError(f'{path}: free_thresh {free} is not below occupied_thresh {occupied}')
    return free, occupied


def _first(lines: list[str]) -> str:
    return lines[0][:40] if lines else ''
