"""scikit-learn's own tests with the drop-ins in the place of its estimators, in processes of their own.

At every change a few cases of LinearSVC and LinearSVR run (``test_sklearn_svm.py``), with ``--full-products`` all of
``test_logistic`` that name a drop-in, with ``FENCHEL_TEST_ALL=1`` every test of every module below.  What may fail is
in ``sklearn_failures.py``.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sklearn_failures import FAILURES

TESTS = Path(__file__).resolve().parents[1]
#: modules, or folders of them, of scikit-learn that fit one of the three
MODULES = (
    "sklearn.linear_model.tests.test_logistic",
    "sklearn.svm.tests.test_svm",
    "sklearn.tests.test_calibration",
    "sklearn.tests.test_multiclass",
    "sklearn.tests.test_multioutput",
    "sklearn.tests.test_pipeline",
    "sklearn.semi_supervised",
    "sklearn.metrics.tests.test_score_objects",
    "sklearn.metrics._plot",
    "sklearn.ensemble.tests.test_bagging",
    "sklearn.ensemble.tests.test_stacking",
    "sklearn.ensemble.tests.test_voting",
    "sklearn.inspection",
    "sklearn.model_selection.tests.test_classification_threshold",
)
everything = pytest.mark.skipif(os.environ.get("FENCHEL_TEST_ALL") != "1", reason="with FENCHEL_TEST_ALL=1 only")


def run(module, *options):
    """What pytest says at the end; fails with its output if it does not succeed."""
    command = [sys.executable, "-m", "pytest", "-p", "sklearn_suite", "-c", os.devnull, "-p", "no:cacheprovider"]
    path = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "MPLBACKEND": "agg"}
    # a folder of scikit-learn's as the root, so that nothing of ours is configured there
    command += ["-q", "--tb=short", "-rfE", "--color=no", *options, "--pyargs", module]
    done = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return {kind: int(count) for count, kind in re.findall(r"(\d+) (passed|xfailed|skipped|deselected)", done.stdout)}


@pytest.mark.thorough
def test_the_quick_ones_of_logistic_regression():
    assert run(MODULES[0], "--drop-ins-only")["passed"] >= 100


@everything
@pytest.mark.parametrize("module", MODULES)
def test_all(module):
    assert run(module)["passed"] > 0


def test_the_page_lists_the_same():
    page = (TESTS.parent / "docs" / "drop-ins.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(test_\w+)` \| (.*) \|$", page, re.MULTILINE)
    listed = {
        (re.match(r"\w+", name)[0].rstrip("_"), category)
        for names in FAILURES.values()
        for name, category in names.items()
    }
    assert set(rows) == listed
    assert len(rows) == len(listed)
