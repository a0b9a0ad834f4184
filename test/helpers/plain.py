"""The sources of compiled modules, loaded as plain Python beside them."""

import importlib.util
from pathlib import Path

import tb_planner


def load_plain(name):
    """The module tb_planner.<name>, uncompiled and under a name of its own."""
    path = Path(tb_planner.__file__).parent / f'{name}.py'
    spec = importlib.util.spec_from_file_location(f'plain_{name}', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert not module.COMPILED
    return module
