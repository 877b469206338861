"""The names that users import: few at the top level, base classes in their rooms, all of them seen by type checkers."""

import ast
import importlib
import sys
from pathlib import Path

import pytest

import fenchel

SOURCE = Path(fenchel.__file__)
#: the largest number of classes and functions at the top level, beside the submodules
MOST = 40
BASES = {
    "fenchel.losses": ["Loss", "CustomLoss"],
    "fenchel.regularizers": ["Regularizer"],
    "fenchel.risks": ["Risk", "MulticlassRisk", "ContingencyRisk", "CustomMeasure"],
    "fenchel.designs": ["Design", "ComputedDesign"],
    "fenchel.features": ["Features"],
    "fenchel.solvers": ["Solver", "Hint"],
    "fenchel": ["Progress", "Solution", "Status"],
}


def type_checking_imports():
    """The name and module of each import under ``if TYPE_CHECKING``; None for the module of a submodule."""
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    found = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, "re-export as itself: import X as X"
            found[alias.name] = None if node.module == "fenchel" else node.module
    return found


def test_type_checkers_see_the_names_that_python_sees():
    assert type_checking_imports() == fenchel._HOMES
    assert set(fenchel.__all__) == {*fenchel._HOMES, "__version__"}


def test_the_top_level_is_small():
    assert len(fenchel.__all__) == len(set(fenchel.__all__))
    assert sum(home is not None for home in fenchel._HOMES.values()) <= MOST


@pytest.mark.parametrize("name", sorted(fenchel._HOMES))
def test_a_name_is_the_object_of_its_home(name):
    home = fenchel._HOMES[name]
    value = getattr(fenchel, name)
    if home is None:
        assert value is sys.modules[f"fenchel.{name}"]
    else:
        assert value is getattr(importlib.import_module(home), name)


@pytest.mark.parametrize(("room", "name"), [(room, name) for room, names in BASES.items() for name in names])
def test_base_classes_are_public(room, name):
    module = importlib.import_module(room)
    assert name in module.__all__
    assert isinstance(getattr(module, name), type)


@pytest.mark.parametrize(
    "room", ["designs", "io", "kernels", "losses", "plotting", "regularizers", "reporting", "risks", "solvers"]
)
def test_every_name_of_a_room_exists(room):
    module = getattr(fenchel, room)
    assert all(hasattr(module, name) for name in module.__all__)


@pytest.mark.thorough
def test_mypy_knows_the_names(tmp_path):
    api = pytest.importorskip("mypy.api", reason="type checks need the lint extra")
    user = tmp_path / "user.py"
    user.write_text(
        "import fenchel\n"
        "from fenchel import Certificate, FenchelError\n"
        "reveal_type(Certificate)\n"
        "reveal_type(fenchel.FenchelError)\n"
        "from fenchel import no_such_name\n"
        "fenchel.no_such_attribute\n"
    )
    # the two rooms that the reveals need are read; the others would take half a minute
    homes = {home for home in fenchel._HOMES.values() if home} | {
        f"fenchel.{n}" for n, h in fenchel._HOMES.items() if not h
    }
    skipped = sorted(homes - {"fenchel.certificate", "fenchel.errors"})
    config = tmp_path / "mypy.ini"
    config.write_text(
        f"[mypy]\nmypy_path = {SOURCE.parent.parent}\ncache_dir = {tmp_path / 'cache'}\n"
        + "[mypy-sklearn.*]\nignore_missing_imports = True\n"
        + f"[mypy-fenchel.certificate.gap,fenchel.certificate.other_lambdas,{','.join(f'{s}.*' for s in skipped)}]\n"
        + "follow_imports = skip\n"
    )
    report, complaint, _ = api.run(["--config-file", str(config), str(user)])
    assert not complaint
    lines = [line.split(".py:", 1)[1] for line in report.splitlines() if "user.py:" in line]
    assert len(lines) == 4, report
    assert "-> fenchel.certificate.certificate.Certificate" in lines[0]
    assert "-> fenchel.errors.FenchelError" in lines[1]
    assert 'has no attribute "no_such_name"' in lines[2]
    assert 'has no attribute "no_such_attribute"' in lines[3]
