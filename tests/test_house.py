"""Rules of the house that linters do not know: capabilities are declared, not guessed.

``tests/house/counts.py`` prints the numbers; here are the bounds that they must not exceed.
"""

import ast
import functools
from pathlib import Path

import pytest

import fenchel
from fenchel import losses, regularizers, risks

PACKAGE = Path(fenchel.__file__).resolve().parent
FILES = sorted(PACKAGE.rglob("*.py"))
#: each room with the classes that only it may ask for by name
ROOMS = {"losses": losses, "regularizers": regularizers, "risks": risks}
#: the public base classes, which anybody may ask for
BASES = {"Loss", "Regularizer", "Risk"}
CONCRETE = {
    name: room
    for room, module in ROOMS.items()
    for name in module.__all__
    if isinstance(getattr(module, name), type) and name not in BASES
}
#: a user's operator K is known by its methods
PROBING = {"regularizers/quadratic_form.py"}


@functools.cache
def nodes(path):
    """All nodes of a file's syntax tree."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def calls(path, name):
    """The calls of a builtin in a file."""
    return [
        node
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def names_in(node):
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_concrete_class_is_asked_for_outside_its_room(path):
    room = path.relative_to(PACKAGE).parts[0]
    for call in calls(path, "isinstance"):
        foreign = {name for name in names_in(call.args[1]) if CONCRETE.get(name, room) != room}
        assert not foreign, f"{path.name}:{call.lineno} asks for {foreign}: use a typed accessor of the base class"
    for node in nodes(path):
        if isinstance(node, ast.ExceptHandler) and node.type is not None:
            # a damaged model file may hold anything
            guesses = "AttributeError" in names_in(node.type) and path.name != "model_file.py"
            assert not guesses, f"{path.name}:{node.lineno} guesses by AttributeError"
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            by_type = isinstance(node.left.func, ast.Name) and node.left.func.id == "type"
            assert not by_type or not any(set(names_in(one)) & set(CONCRETE) for one in node.comparators)


def test_no_capability_is_guessed_by_an_attribute():
    """A name that is written down twice, in a class and in a ``hasattr``, can be misspelt in one of them."""
    rooms = {"certificate", "kernels", "losses", "projections", "regularizers", "risks", "solvers", "solving"}
    for path in FILES:
        name = path.relative_to(PACKAGE)
        if name.parts[0] in rooms and name.as_posix() not in PROBING:
            assert not calls(path, "hasattr"), path


LOOPS = [path for path in FILES if "@loop" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", LOOPS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_loop_has_its_place(path):
    """In ``compile/``, or in a file ``loop*.py`` of the solver or the reader that calls it."""
    room = path.relative_to(PACKAGE).parts[0]
    assert room == "compile" or (room in ("solvers", "io") and path.name.startswith("loop")), path


@pytest.mark.parametrize("path", LOOPS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_loop_returns_no_named_tuple(path):
    """numba makes a NamedTuple by running Python code, and the process dies if Ctrl-C arrives there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and "loop" in {getattr(one, "id", "") for one in node.decorator_list}:
            for part in ast.walk(node):
                if isinstance(part, ast.Return) and isinstance(part.value, ast.Call):
                    assert not getattr(part.value.func, "id", "")[:1].isupper(), f"{path.name}:{part.lineno}"
