"""Bytes of search state a cell, counted and as the system sees them in a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.experiments import terrain
from benchmarks.experiments.engine import Experiment, Row, RunPlan, table
from tb_planner import Algorithm, Grid, TimeBoundedPlanner, tb_gbfs, tb_wa_star, tba_star, tbaa_star

ALGORITHMS: dict[str, Algorithm] = {
    'TBA*': tba_star(),
    'TBA* with shortcut search': tba_star(shortcut=True),
    'TBA*, ties by larger g': tba_star(ties='larger_g'),
    'TB-WA*(3)': tb_wa_star(3.0),
    'TB-GBFS': tb_gbfs(),
    'TBAA*': tbaa_star(),
}
EXPANSIONS = 1000


def plan(options: argparse.Namespace) -> RunPlan:
    sizes = [max(40, int(size * options.scale)) for size in ((4000,) if options.quick else (1000, 4000))]
    return RunPlan(len(sizes) * len(ALGORITHMS), runs(sizes, options.seed))


def runs(sizes: list[int], seed: int) -> Iterator[Row]:
    for size in sizes:
        for name in ALGORITHMS:
            command = [sys.executable, '-m', 'benchmarks.memory', str(size), name, str(seed)]
            yield json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(size: int, name: str, seed: int) -> Row:
    """Run in a fresh process: what a planner and a short search add to its resident memory."""
    blocked = terrain.random_obstacles(size, 0.1, seed)
    problem = terrain.problems(blocked, 1, seed)[0]
    grid = Grid(blocked)
    before = resident_bytes()
    planner = TimeBoundedPlanner(grid, *problem, ALGORITHMS[name], k=EXPANSIONS)
    made = resident_bytes()
    planner.search()
    searched = resident_bytes()
    return {
        'map': f'{size}² with 10 % obstacles',
        'algorithm': name,
        'cells': blocked.size,
        'expansions': planner.expansions,
        'state_bytes': planner.memory,
        'state_bytes_a_cell': planner.memory / blocked.size,
        'resident_by_planner': made - before,
        'resident_by_search': searched - made,
    }


def resident_bytes() -> int:
    """Resident memory of this process, as the system counts it."""
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE')


def summary(rows: list[Row]) -> str:
    header = ('map', 'algorithm', 'bytes a cell', 'state MB', 'resident MB: planner', f'{EXPANSIONS} expansions')
    lines = [
        (
            *(row['map'], row['algorithm'], row['state_bytes_a_cell'], row['state_bytes'] / 1e6),
            *(row['resident_by_planner'] / 1e6, row['resident_by_search'] / 1e6),
        )
        for row in rows
    ]
    target = 'target: at most 20 bytes a cell, 28 with learning and shortcut search; pages only where the search goes'
    return f'\n{table(header, lines)}\n{target}'


MEMORY = Experiment('memory', 'bytes of search state a cell', plan, summary)

if __name__ == '__main__':
    print(json.dumps(measure(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))))
