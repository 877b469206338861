"""What the documentation says is what the code does: generated pages, README code, lazy import, public names."""

import importlib.util
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

import fenchel
from conftest import shared_file

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
#: pages with code, but for those that another test runs and looks at
PAGES = sorted(
    str(page.relative_to(DOCS))
    for page in DOCS.rglob("*.md")
    if "```python" in page.read_text(encoding="utf-8")
    and page.name not in ("custom-design.md", "interchange.md", "maximum-entropy.md", "reports.md", "sequences.md")
)


def _generator(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_support_table_is_current():
    support = _generator("support")
    assert support.PAGE.read_text(encoding="utf-8") == support.table(), "run make pages"


def test_the_lists_of_the_reference_are_current():
    for page, text in _generator("reference").pages().items():
        assert page.read_text(encoding="utf-8") == text, "run make pages"


README = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", README, ids=range(len(README)))
def test_readme_code_runs(code, capsys):
    exec(compile(code, "README.md", "exec"), {})
    assert "is proved to be within" in capsys.readouterr().out


def _blocks(page):
    """(code, shown) of the Python blocks of a page: shown is the output that follows at once, or None."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", text, re.DOTALL | re.MULTILINE)
    return [match.groups() for match in found]


@pytest.fixture
def run_page(capsys, tmp_path, monkeypatch):
    """Run the Python blocks of a page as one module, in an empty folder; returns its names and what it printed.

    Output that the page shows after a block must be what the block prints, up to numbers.
    """
    monkeypatch.chdir(tmp_path)

    def run(page):
        # compiled loops ask for the module of a class
        module = types.ModuleType("page_" + re.sub(r"\W", "_", page))
        monkeypatch.setitem(sys.modules, module.__name__, module)
        said = ""
        for code, shown in _blocks(page):
            exec(compile(code, page, "exec"), vars(module))
            printed = capsys.readouterr().out
            said += printed
            if shown is not None:
                assert _without_numbers(shown) == _without_numbers(printed), f"{page} shows another output"
        return vars(module), said

    return run


def _without_numbers(text):
    return re.sub(r"[+-]?\d[\d.]*(?:e[+-]?\d+)?", "#", text).strip()


#: pages whose blocks take more than a second or two of processor time, loading of compiled loops included
LONG_PAGES = {"certificates.md", "classes.md", "custom-loss.md", "getting-started.md", "kernels.md", "quantiles.md"}
LONG_PAGES |= {"constraints.md", "larger-data.md", "newcomer.md", "text.md"}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.thorough] if page in LONG_PAGES else []) for page in PAGES]
)
def test_every_page_runs(page, run_page):
    pytest.importorskip("pandas", reason="a page has data frames")
    pytest.importorskip("polars", reason="a page has data frames")
    run_page(page)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples" / "gallery").rglob("plot_*.py")), ids=lambda path: path.stem
)
def test_every_example_of_the_gallery_runs_without_a_warning(script, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason="pictures need the plot extra")
    plt.switch_backend("Agg")
    plt.close("all")
    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(script), run_name=script.stem)
    assert plt.get_fignums()
    plt.close("all")


def test_the_page_on_designs_runs(run_page):
    said = run_page("custom-design.md")[1]
    assert "[0 1]" in said
    assert "is proved to be within" in said


def _example_of_a_design(monkeypatch):
    spec = importlib.util.spec_from_file_location("custom_design", ROOT / "examples" / "custom_design.py")
    module = importlib.util.module_from_spec(spec)
    # compiled loops ask for the module of a class
    monkeypatch.setitem(sys.modules, "custom_design", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.thorough
def test_the_example_of_a_design_runs(capsys, monkeypatch):
    _example_of_a_design(monkeypatch).main()
    assert "is proved to be within" in capsys.readouterr().out


def test_the_example_of_a_design_is_its_matrix(monkeypatch):
    module = _example_of_a_design(monkeypatch)
    pairs = np.array([[0, 1], [1, 0], [1, 1]])
    X = module.Orders(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0], [6.0]]), pairs)
    rows, matrix = X.rows(), np.array([[1.0, 2.0, 6.0], [3.0, 4.0, 5.0], [3.0, 4.0, 6.0]])
    np.testing.assert_array_equal(X.sparse().toarray(), matrix)
    np.testing.assert_array_equal([[rows.row_entry(i, np.uint64(k)) for k in range(3)] for i in range(3)], matrix)
    np.testing.assert_array_equal([rows.row_square(i) for i in range(3)], X.squared_row_norms)


def test_the_page_on_maximum_entropy_runs(run_page):
    said = run_page("maximum-entropy.md")[1]
    assert "[0.0544 0.0788 0.1142 0.1654 0.2398 0.3475]" in said
    assert said.count("is proved to be within") == 2


def test_the_page_on_sequences_runs(run_page):
    scope = run_page("sequences.md")[0]
    table = re.search(r"```text\n(label .*?)```", (DOCS / "sequences.md").read_text(encoding="utf-8"), re.DOTALL)[1]
    assert scope["model"].summary() + "\n" == table


@pytest.mark.thorough
def test_the_page_on_reports_runs(capsys, tmp_path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot", reason="reports need the plot extra")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    exec("\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL)), {})
    plt.close("all")
    assert capsys.readouterr().out.split() == ["report.html", "compare.html", "F1"]
    assert {one.name for one in tmp_path.iterdir()} == {"report.html", "compare.html"}
    assert (ROOT / "docs" / "report.png").stat().st_size < 200_000


def test_every_public_name_can_be_imported():
    for name in fenchel.__all__:
        assert getattr(fenchel, name) is not None
    assert set(fenchel.__all__) <= set(dir(fenchel))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fenchel.nothing


def test_import_is_lazy():
    script = "import sys, fenchel; print([m for m in ('numba', 'sklearn', 'scipy', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("queries", [None, 40])
def test_the_example_of_rare_positives_runs(queries, monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("imbalanced", ROOT / "examples" / "imbalanced.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    X, y = make_classification(400, 10, weights=[0.9], random_state=0)
    query = None if queries is None else np.arange(400) % queries
    data = module.Data(X, y, query)
    if queries is not None:
        marked = module.Data(np.column_stack([X, query]), y, query)
        parts = [part for part, _ in module.three_parts(marked, 0)]
        assert sum(map(len, parts)) == 400
        assert sum(len(np.unique(part[:, -1])) for part in parts) == queries
    monkeypatch.setattr(module, "load", lambda name: data)
    monkeypatch.setattr(module, "STRENGTHS", (0.1, 1.0))
    monkeypatch.setattr(sys, "argv", ["imbalanced.py", "--data", "made-up", "--seeds", "2"])
    module.main()
    said = capsys.readouterr().out
    assert "made-up: 400 " in said
    assert all(f"| {name} | " in said for name in module.CLASSIFIERS)


def test_the_example_of_a_ranking_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="pictures need the plot extra")
    spec = importlib.util.spec_from_file_location("ranking", ROOT / "examples" / "ranking.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(0)
    X, qid = rng.standard_normal((200, 5)), np.repeat(np.arange(20), 10)
    y = np.digitize(X[:, 0] + X[:, 1], [0.0, 1.5])
    monkeypatch.setattr(module, "read", lambda name: module.Queried(X, y, qid))
    monkeypatch.setattr(module, "PICTURE", tmp_path / "ranking.png")
    module.main()
    said = capsys.readouterr().out
    assert said.count("is proved to be within") == 4
    assert "ridge on the gains: NDCG@10 " in said
    assert (tmp_path / "ranking.png").stat().st_size > 10_000


def _example(name, folder, monkeypatch, *arguments):
    """The module of an example, with its picture in another folder."""
    pytest.importorskip("matplotlib", reason="pictures need the plot extra")
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PICTURE", folder / f"{name}.png", raising=False)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", *arguments])
    return module


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_the_example_of_letters_runs(real, tmp_path, monkeypatch, capsys):
    module = _example("letters", tmp_path, monkeypatch, "--folds", "1", "--tol", "0.5")
    if real:
        shared_file("ocr-letters.data.xz")
    else:
        rng = np.random.default_rng(0)
        y = [list("abcabcabc"[start : start + 6]) for start in (0, 1, 2) * 8]
        shapes = {letter: rng.integers(0, 2, 128) for letter in "abc"}
        X = [np.array([shapes[letter] ^ (rng.random(128) < 0.4) for letter in word], dtype=float) for word in y]
        monkeypatch.setattr(module, "words", lambda: (X, y, np.arange(len(y)) % 2))
    module.main()
    said = capsys.readouterr().out
    assert said.count("fold 0, ") == 4
    assert "chains, max-margin (M3N)" in said.partition("wrong letters")[2]
    assert (tmp_path / "letters.png").stat().st_size > 10_000


def test_the_example_of_chunking_runs(tmp_path, monkeypatch, capsys):
    module = _example("chunking", tmp_path, monkeypatch, "--sentences", "12", "--tol", "0.2")
    words = {"the": ("DT", "B-NP"), "cat": ("NN", "I-NP"), "saw": ("VBD", "B-VP"), "dogs": ("NNS", "B-NP")}
    rng = np.random.default_rng(0)
    sentences = [[[word, *words[word]] for word in rng.permutation(list(words)).tolist()] for _ in range(12)]
    monkeypatch.setattr(module, "read", lambda part: sentences)
    module.main()
    said = capsys.readouterr().out
    assert said.count("phrase F1") == 9
    assert "following labels" in said
    assert (tmp_path / "chunking.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["letters", "chunking", "topics", "ranking", "imbalanced"])
def test_examples_without_their_data_say_so(name, tmp_path, monkeypatch, capsys):
    module = _example(name, tmp_path, monkeypatch)
    monkeypatch.setenv("FENCHEL_DATA", str(tmp_path))
    module.main()
    assert capsys.readouterr().out.startswith("skipped: ")


def test_the_first_example_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="pictures need the plot extra")
    spec = importlib.util.spec_from_file_location("first_fit", ROOT / "examples" / "first_fit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "OUT", tmp_path)
    module.main()
    said = capsys.readouterr().out
    assert "is proved to be within" in said
    rows = dict(re.findall(r"(?m)^  (scikit-learn|Fenchel), default tol +([0-9.]+)% ", said))
    assert abs(float(rows["scikit-learn"]) - float(rows["Fenchel"])) < 2.0, "the same accuracy"
    assert (tmp_path / "proofs.png").stat().st_size > 10_000
