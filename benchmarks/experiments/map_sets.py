"""The maps of the papers' experiments: from a folder of MovingAI's files, or generated ones in their place.

The papers' sets are found by the names of their folders, as MovingAI's archives have them (bg512, wc3maps512, rooms or
room-map, sc1, dao), and by the names of their files, anywhere below the folder given. What is not there is left out,
and a line names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from benchmarks.experiments.trials import MapSource

FOLDERS = {'BG': 'bg512', 'WC3': 'wc3maps512', 'ROOMS': 'room'}
"""Set -> how the name of its folder begins."""
NAMES = {
    'StarCraft': ('Cauldron', 'Expedition', 'Octopus', 'PrimevalIsles', 'TheFrozenSea'),
    '2012': ('Enigma', 'Inferno', 'WheelofWar', 'orz103d', 'orz702d', 'orz703d'),
}
"""Set -> the maps that its paper names."""
GENERATED: dict[str, tuple[tuple[str, int, float], ...]] = {
    'BG': (('caves', 512, 0.46), ('caves', 512, 0.45), ('caves', 512, 0.47), ('rooms', 512, 40)),
    'WC3': (('caves', 512, 0.46), ('rooms', 512, 31), ('maze', 512, 20)),
    'ROOMS': (('rooms', 512, 7), ('rooms', 512, 15), ('rooms', 512, 31), ('rooms', 512, 63)),
    'StarCraft': (('caves', 1024, 0.46), ('caves', 1024, 0.45), ('rooms', 1024, 100)),
    '2012': (
        *(('caves', 768, 0.46), ('caves', 768, 0.45), ('caves', 768, 0.47)),
        *(('rooms', 456, 31), ('maze', 700, 20), ('rooms', 512, 63)),
    ),
}
"""Set -> generated maps: kind, size, and the side of rooms, the width of corridors or the fraction of obstacles."""
SMALLEST = 48


def maps_of(set_name: str, folder: Path | None, most: int | None = None, scale: float = 1.0) -> tuple[MapSource, ...]:
    """The maps of a set; at most `most` of them. scale: of generated ones."""
    if folder is not None:
        sources: Iterable[MapSource] = _from_folder(set_name, folder)
    else:
        recipes = GENERATED[set_name]
        sources = [generated(set_name, *recipe, number, scale) for number, recipe in enumerate(recipes)]
    return tuple(sources)[:most]


def generated(set_name: str, kind: str, size: int, number: float, seed: int, scale: float = 1.0) -> MapSource:
    """Rooms and corridors shrink half as much as the map."""
    size = max(SMALLEST, round(size * scale))
    if number > 1:
        number = max(3, round(number * min(1.0, 2 * scale)))
    return MapSource(set_name, f'{kind} {size} {number} {seed}', (kind, size, number, seed))


def random_for_each_problem(size: int, fraction: float) -> MapSource:
    """The 2014 paper's dynamic grids: obstacles anywhere, on a map of its own for each problem."""
    return MapSource('random', f'random {size} {fraction}', ('random', size, fraction, 0), for_each_problem=True)


def _from_folder(set_name: str, folder: Path) -> list[MapSource]:
    if not folder.is_dir():
        raise SystemExit(f'{folder} is not a folder')
    files = sorted(folder.rglob('*.map'))
    if set_name in NAMES:
        by_name = {file.stem: file for file in files}
        missing = [name for name in NAMES[set_name] if name not in by_name]
        found = [by_name[name] for name in NAMES[set_name] if name in by_name]
    else:
        prefix = FOLDERS[set_name]
        found = [file for file in files if file.parent.name.startswith(prefix)]
        missing = [] if found else [f'a folder {prefix}']
    if missing:
        print(f'{set_name}: {folder} does not have {", ".join(missing)}')
    return [MapSource(set_name, file.stem, ('file', str(file.resolve()))) for file in found]
