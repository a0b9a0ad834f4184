"""Writes the parameter files in config/ and the parameter tables in docs/ from the parameters' definitions.

Run it after a change of a parameter: `python docs/update_tables.py`. Tests compare files and tables with the nodes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tb_planner import config
from tb_planner.parameters import as_table
from tb_planner.simulation import parameters as simulator_parameters

ROOT = Path(__file__).resolve().parents[1]
TABLE = re.compile(r'\| parameter \| default \| unit \|.*?\n(?=\n|\Z)', re.DOTALL)


def main() -> None:
    for module, parameters, file, page in (
        (config, config.PlannerParameters, 'planner.yaml', 'reference.md'),
        (simulator_parameters, simulator_parameters.SimulatorParameters, 'simulator.yaml', 'simulator.md'),
    ):
        written = subprocess.run([sys.executable, '-m', module.__name__], capture_output=True, text=True, check=True)
        (ROOT / 'config' / file).write_text(written.stdout)
        text = (ROOT / 'docs' / page).read_text()
        (table,) = TABLE.findall(text)
        (ROOT / 'docs' / page).write_text(text.replace(table, as_table(parameters).rstrip() + '\n'))


if __name__ == '__main__':
    main()
