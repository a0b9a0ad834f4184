"""Files that come with the package: installed with it, or beside it in its sources."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

PACKAGE = 'tb_planner'


def shared_file(folder: str, name: str) -> Path:
    """Path of a file of maps, config or launch; raises FileNotFoundError naming the places where it is not."""
    places = [place / folder / name for place in _places()]
    for path in places:
        if path.is_file():
            return path
    raise FileNotFoundError(f'{folder}/{name} is in none of {", ".join(str(path.parent) for path in places)}')


def _places() -> Iterator[Path]:
    yield Path(__file__).resolve().parents[2]  # the sources, also where they are installed as links
    try:
        index = import_module('ament_index_python.packages')
        yield Path(index.get_package_share_directory(PACKAGE))
    except (ImportError, LookupError, OSError):  # no ROS, or one that knows nothing of the package
        pass
    yield Path(sys.prefix, 'share', PACKAGE)
