"""The pages: every public name is in the reference, and what the glossary points to exists."""

import importlib.util
import inspect
import re
import shutil
from pathlib import Path

import pytest

import fenchel
from fenchel.io import model_file, optimum_arrays

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROOMS = ["fenchel", "fenchel.designs", "fenchel.kernels", "fenchel.losses", "fenchel.regularizers", "fenchel.risks"]
ROOMS += ["fenchel.solvers", "fenchel.io", "fenchel.features", "fenchel.metrics", "fenchel.plotting"]
ROOMS += ["fenchel.reporting", "fenchel.interop", "fenchel.interop.onnx", "fenchel.interop.skops"]
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
    """Each page is in the toctree of one other page, and all of them can be reached from the first."""
    listed = [
        match[2] or match[1]
        for page in DOCS.glob("*.md")
        for block in re.findall(r"```{toctree}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for match in re.finditer(r"^(?!:)(.+?)(?: <(.+)>)?$", block, re.MULTILINE)
    ]
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert sorted(listed) == sorted({*pages, "api/index", "cli/index", "gallery/index"})


def test_the_decision_picture_is_current_and_its_links_are_pages():
    spec = importlib.util.spec_from_file_location("decision", DOCS / "decision.py")
    decision = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(decision)
    assert decision.PICTURE.read_text(encoding="utf-8") == decision.picture(), "run make pages"
    leaves = [leaf for leaves in decision.TREE.values() for leaf in leaves]
    assert all((DOCS / f"{leaf.page}.md").exists() for leaf in leaves)
    names = {name for leaf in leaves for name in re.sub(r"\(.*", "", leaf.estimator).split(", ")}
    assert names <= set(fenchel.__all__)


def test_broken_links_of_a_site_are_found(tmp_path):
    spec = importlib.util.spec_from_file_location("links", DOCS / "links.py")
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    (tmp_path / "good.html").write_text('<p id="here"></p><a href="#here"></a><a href="https://example.org/"></a>')
    (tmp_path / "bad.html").write_text(
        '<a href="good.html#here"></a><a href="good.html#there"></a><a href="none.html"></a><img src="none.png">'
        '<script src="https://example.org/x.js"></script>'
    )
    assert links.broken(tmp_path) == [
        "bad.html: <script> loads https://example.org/x.js from the network",
        "bad.html: good.html#there has no such id",
        "bad.html: none.html does not exist",
        "bad.html: none.png does not exist",
    ]
    assert len(links.broken(tmp_path, remote_scripts=True)) == 3


@pytest.mark.thorough
def test_the_browser_finds_what_is_wrong_with_a_page(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("browser", DOCS / "browser.py")
    browser = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(browser)
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is not installed")
    monkeypatch.setattr(browser, "SITE", tmp_path)
    (tmp_path / "good.html").write_text("<html><head></head><body>text</body></html>")
    (tmp_path / "bad.html").write_text(
        '<html><head></head><body><div style="width:700px">wide</div><img src="none.png"><span class="math">x</span>'
        "<script>undefinedFunction();</script></body></html>"
    )
    found = "\n".join(browser.inspect(program, ["good.html", "bad.html"]))
    assert "good.html" not in found
    for problem in (
        "wider than a window of 390",
        "no picture none.png",
        "not drawn",
        "undefinedFunction is not defined",
    ):
        assert problem in found
    assert "wider than a window of 1280" not in found


def test_the_page_on_security_names_what_a_model_file_may_hold():
    """Every estimator and every array; what the page does not name is refused."""
    page = (DOCS.parent / "SECURITY.md").read_text()
    named = {*model_file.KINDS, *model_file._ARRAYS, model_file._DECOMPOSITION(0), optimum_arrays.PREFIX}
    assert not [name for name in named if f"`{name}" not in page]
