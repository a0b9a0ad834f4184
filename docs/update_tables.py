"""Writes the parameter files in config/ and the parameter tables in docs/ from the parameters' definitions.

Run it after a change of a parameter: `python docs/update_tables.py`. Tests compare files and tables with the nodes.
"""

from __future__ import annotations

import re
from pathlib import Path

from tb_planner import config
from tb_planner.parameters import as_table, as_yaml
from tb_planner.simulation import parameters as simulator

ROOT = Path(__file__).resolve().parents[1]
TABLE = re.compile(r'\| parameter \| default \| unit \|.*?\n(?=\n|\Z)', re.DOTALL)


def main() -> None:
    for parameters, node, heading, file, page in (
        (config.PlannerParameters, 'tb_planner', config.HEADING, 'planner.yaml', 'reference.md'),
        (simulator.SimulatorParameters, 'simulator', simulator.HEADING, 'simulator.yaml', 'simulator.md'),
    ):
        (ROOT / 'config' / file).write_text(as_yaml(parameters, node, heading))
        text = (ROOT / 'docs' / page).read_text()
        (table,) = TABLE.findall(text)
        (ROOT / 'docs' / page).write_text(text.replace(table, as_table(parameters).rstrip() + '\n'))


if __name__ == '__main__':
    main()
