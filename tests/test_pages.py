"""The pages: every public name is in the reference, and what the glossary points to exists."""

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import fenchel
from fenchel.io import model_file, optimum_arrays

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROOMS = ["fenchel", "fenchel.designs", "fenchel.kernels", "fenchel.losses", "fenchel.regularizers", "fenchel.risks"]
ROOMS += ["fenchel.solvers", "fenchel.io", "fenchel.features", "fenchel.plotting", "fenchel.reporting"]
# the requirements of CI have Dask
ROOMS += ["fenchel.dask"] if importlib.util.find_spec("distributed") else []
#: terms that people look for
TERMS = """
primal objective
dual objective
duality gap
certificate
witness
dual variable
conjugate
Fenchel.Young
KKT violation
ridge
lasso
elastic net
working set
screening
shrinking
epoch
warm start
cutting plane
proximal operator
Hessian
rounding floor
"""


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference(room):
    page = DOCS / "api" / ("index.rst" if room == "fenchel" else f"{room.removeprefix('fenchel.')}.rst")
    listed = re.findall(r"^   (\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    module = importlib.import_module(room)
    things = {name: getattr(module, name) for name in module.__all__}
    public = {name for name, thing in things.items() if inspect.isclass(thing) or inspect.isfunction(thing)}
    public |= {name for name, thing in things.items() if inspect.ismodule(thing)}
    assert set(listed) == public
    assert len(listed) == len(set(listed))


def test_the_glossary_has_the_terms():
    page = (DOCS / "glossary.md").read_text(encoding="utf-8")
    missing = [term for term in TERMS.strip().split("\n") if not re.search(rf"^{term}$", page, re.MULTILINE)]
    assert not missing


@pytest.mark.parametrize("page", ["glossary.md", "architecture.md", "index.md"])
def test_names_in_pages_exist(page):
    names = re.findall(r"`(fenchel(?:\.\w+)+)`", (DOCS / page).read_text(encoding="utf-8"))
    assert names
    for name in names:
        thing, path = fenchel, "fenchel"
        for part in name.split(".")[1:]:
            path = f"{path}.{part}"
            fields = getattr(thing, "__dataclass_fields__", {})
            if inspect.isclass(thing) and part in fields:
                break
            thing = getattr(thing, part) if hasattr(thing, part) else importlib.import_module(path)


def test_rooms_of_the_architecture_exist():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    rooms = {
        name for row in re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE) for name in re.findall(r"`([^`]+)`", row)
    }
    root = Path(fenchel.__file__).parent
    there = {f"{path.name}/" for path in root.iterdir() if (path / "__init__.py").exists()}
    there |= {path.name for path in root.glob("[a-z]*.py")}
    assert rooms == there


def test_every_page_is_in_the_contents():
    contents = (DOCS / "index.md").read_text(encoding="utf-8")
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    listed = {
        line for block in re.findall(r"```{toctree}\n(.*?)```", contents, re.DOTALL) for line in block.split("\n")
    }
    assert pages <= listed


def test_the_page_on_security_names_what_a_model_file_may_hold():
    """Every estimator and every array; what the page does not name is refused."""
    page = (DOCS.parent / "SECURITY.md").read_text()
    named = {*model_file.KINDS, *model_file._ARRAYS, model_file._DECOMPOSITION(0), optimum_arrays.PREFIX}
    assert not [name for name in named if f"`{name}" not in page]
