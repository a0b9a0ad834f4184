"""Every exception of tb_planner derives from TbPlannerError and is in the tree that errors.py draws."""

import ast
import builtins
import re
from pathlib import Path

import tb_planner
from tb_planner import errors


def classes_of_the_package():
    """(name, names of its bases) of every class, read from the sources, so that none needs ROS."""
    for path in sorted(Path(tb_planner.__file__).parent.rglob('*.py')):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                bases = [base.id if isinstance(base, ast.Name) else getattr(base, 'attr', '') for base in node.bases]
                yield node.name, bases


def exceptions_of_the_package():
    """Name -> names of its bases."""
    classes = dict(classes_of_the_package())
    found = {name for name in dir(builtins) if isinstance(getattr(builtins, name), type(Exception))}
    found = {name for name in found if issubclass(getattr(builtins, name), BaseException)}
    ours = {}
    while more := {name: bases for name, bases in classes.items() if name not in ours and found & set(bases)}:
        ours.update(more)
        found |= set(more)
    return ours


def drawn_tree():
    """Name -> name of its parent, as the docstring draws them."""
    parents, above = {}, []
    for line in errors.__doc__.splitlines():
        if match := re.fullmatch(r'    ((?:│   |    )*(?:[├└]── )?)(\w+)(?: \(\w+\))?(?:  +\S.*)?', line):
            depth = len(match[1]) // 4
            above[depth:] = [match[2]]
            parents[match[2]] = above[depth - 1] if depth else None
    return parents


def test_every_exception_derives_from_the_base_class():
    ours = exceptions_of_the_package()
    assert len(ours) > 20
    for name in ours:
        above, seen = [name], set()
        while above:
            seen.add(current := above.pop())
            above += ours.get(current, [])
        assert 'TbPlannerError' in seen, name


def test_the_drawn_tree_is_the_true_one():
    ours, drawn = exceptions_of_the_package(), drawn_tree()
    assert ours.keys() == drawn.keys()
    for name, parent in drawn.items():
        assert parent is None or parent in ours[name], f'{name} is drawn below {parent}'


def test_bad_input_is_a_value_error_and_a_failed_operation_a_runtime_error():
    assert issubclass(errors.BadInput, ValueError)
    assert issubclass(errors.OperationFailed, RuntimeError)
