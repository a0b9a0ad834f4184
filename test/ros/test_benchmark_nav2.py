"""`python -m benchmarks nav2`: a real planner and a real client, on a small map; counts, not times."""

import csv
import re
import subprocess
import sys

import pytest

from benchmarks.node.nav2 import LIMIT_MS, client_figures

LIMIT_S = 180.0


def test_goals_that_were_acknowledged_too_late_are_counted():
    seen = {
        'acknowledged_ms': [1.0, 2.0, LIMIT_MS, LIMIT_MS + 0.1, 50.0],
        'result_ms': [],
        'planning_ms': [],
        'outcomes': {'found': 3, 'canceled': 2},
    }
    figures = client_figures(seen)
    assert (figures['requests'], figures['too_late']) == (5, 2)
    assert (figures['acknowledged_p50_ms'], figures['acknowledged_max_ms']) == (LIMIT_MS, 50.0)
    assert figures['outcomes'] == '2 canceled, 3 found'


@pytest.mark.slow
def test_a_scenario_gives_a_row_with_goals_that_got_results(tmp_path):
    for needed in ('nav2_msgs', 'map_msgs'):
        pytest.importorskip(needed, reason=f'{needed} is not installed')
    rows = tmp_path / 'nav2.csv'
    scenarios = ['new-paths', 'search', 'poses-50']  # every kind of client
    command = [sys.executable, '-m', 'benchmarks', 'nav2', '--quick', '--seconds', '1', '--out', str(rows)]
    command += ['--only', *scenarios]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert 'acknowledged, p50 ms' in done.stdout
    with rows.open(newline='') as file:
        rows_by_scenario = {row['scenario']: row for row in csv.DictReader(file)}
    assert list(rows_by_scenario) == scenarios
    for row in rows_by_scenario.values():
        assert int(row['requests']) > 0
        outcomes = re.sub(r'\d+ error 202', '', row['outcomes'])  # TF_ERROR: poses were late, on a busy computer
        assert 'error' not in outcomes
        assert 'rejected' not in row['outcomes']
        assert 0 < float(row['acknowledged_p50_ms']) <= float(row['acknowledged_max_ms'])
    assert 'found' in rows_by_scenario['new-paths']['outcomes']
