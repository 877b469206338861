"""The page on interchange runs, and names every estimator that it is about."""

import re
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from fenchel import LinearClassifier
from fenchel.interop import onnx
from fenchel.interop.skops import trusted_types

PAGE = Path(__file__).resolve().parents[2] / "docs" / "interchange.md"


@pytest.mark.thorough
def test_the_page_runs(capsys):
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)), {})
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "sklearn.linear_model._logistic True"
    assert said[1].startswith("LinearSVC(")
    assert said[1].endswith(" True")
    assert "searchsorted" in said[2]
    assert said[3] == "True True"


@pytest.mark.parametrize(("library", "file"), [("skl2onnx", "model.onnx"), ("skops.io", "model.skops")])
def test_the_blocks_for_other_libraries_run(library, file, tmp_path, monkeypatch):
    pytest.importorskip(library, reason="an optional library of the page")
    (code,) = [
        one for one in re.findall(r"```py\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL) if library in one
    ]
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    monkeypatch.chdir(tmp_path)
    exec(code, {"X": X, "model": LinearClassifier("logistic").fit(X, y), "trusted_types": trusted_types})
    assert (tmp_path / file).stat().st_size > 100


def test_the_page_names_every_estimator_with_a_converter():
    page = PAGE.read_text(encoding="utf-8")
    assert not [name for name in (*onnx.CLASSIFIERS, *onnx.REGRESSORS) if f"`{name.removesuffix('CV')}" not in page]
