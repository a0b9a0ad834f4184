"""The sources of compiled modules, loaded as plain Python beside them."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def load_plain(name):
    """The module of this full name, uncompiled and under a name of its own."""
    path = ROOT / f'{name.replace(".", "/")}.py'
    spec = importlib.util.spec_from_file_location(f'plain_{path.stem}', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not module.COMPILED
    return module
