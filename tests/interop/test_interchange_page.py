"""The page on interchange runs, and names every estimator that it is about."""

import re
from pathlib import Path

from fenchel.interop import onnx

PAGE = Path(__file__).resolve().parents[2] / "docs" / "interchange.md"


def test_the_page_runs(capsys):
    exec("\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)), {})
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "sklearn.linear_model._logistic True"
    assert said[1].startswith("LinearSVC(")
    assert said[1].endswith(" True")
    assert "searchsorted" in said[2]
    assert said[3] == "True True"


def test_the_page_names_every_estimator_with_a_converter():
    page = PAGE.read_text(encoding="utf-8")
    assert not [name for name in (*onnx.CLASSIFIERS, *onnx.REGRESSORS) if f"`{name.removesuffix('CV')}" not in page]
