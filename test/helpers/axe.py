"""axe-core, which checks pages for accessibility: installed with npm into a temporary folder, for tests only."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from .browser import Page

VERSION = '4.10.2'
NPM_S = 120
VIOLATIONS = """
    axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(
        ({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.target} ${node.failureSummary}`)))
"""


@cache
def _axe() -> str:
    npm = shutil.which('npm')
    if npm is None:
        return ''
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, 'install', '--no-audit', '--no-fund', '--ignore-scripts', f'axe-core@{VERSION}']
        try:
            subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=NPM_S)
        except (subprocess.SubprocessError, OSError):
            return ''
        return (Path(folder) / 'node_modules' / 'axe-core' / 'axe.min.js').read_text(encoding='utf-8')


def axe_or_skip() -> str:
    """The script of axe-core; skips the test where npm cannot install it."""
    script = _axe()
    if not script:
        pytest.skip(f'npm cannot install axe-core@{VERSION}: npm is missing, or there is no network')
    return script


def violations(page: Page) -> list[str]:
    """What axe finds on the page as it is now."""
    page.call('Runtime.evaluate', expression=axe_or_skip())
    return list(page.run(VIOLATIONS))
