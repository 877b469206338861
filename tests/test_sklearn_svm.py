"""scikit-learn's own tests of LinearSVC and LinearSVR, run on the drop-ins.

Every test of ``sklearn/svm/tests/test_svm.py`` that speaks of either runs here with Fenchel's in its place.  ``FAILS``
says which can't pass, and why; each of them must fail, and every other one must pass.
"""

import importlib.util
import inspect
import os
import re
import types
from pathlib import Path
from unittest import mock

import pytest
import sklearn.svm

import fenchel

DROP_INS = {"LinearSVC": fenchel.LinearSVC, "LinearSVR": fenchel.LinearSVR}

#: scikit-learn's tests that fail on the drop-ins, in every case that they are run for, and why; docs/drop-ins.md has
#: the same table.  A name that another version of scikit-learn does not have is no failure
FAILS = {
    "test_linearsvc": 'one of its fits has `penalty="l1"`, and two give `dual` a value',
    "test_linearsvc_parameters": "every fit gives `dual` a value, and the errors it expects are worded by LIBLINEAR",
    "test_linearsvm_liblinear_sample_weight": 'every fit gives `dual` a value, one has `penalty="l1"`',
    "test_dense_liblinear_intercept_handling": "it tests `intercept_scaling`; the intercept is not regularized here",
    "test_linearsvc_verbose": "it gives `verbose` a value",
    "test_linear_svm_convergence_warnings": "it expects LIBLINEAR's words; the warning here states the gap",
}


def _with_drop_ins():
    """scikit-learn's test module, fresh, for which sklearn.svm has the drop-ins."""
    path = Path(sklearn.svm.__file__).parent / "tests" / "test_svm.py"
    spec = importlib.util.spec_from_file_location("sklearn_test_svm_on_drop_ins", path)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.multiple(sklearn.svm, **DROP_INS):  # for what decorators and defaults name
        spec.loader.exec_module(module)
    module.svm = types.SimpleNamespace(**{**vars(sklearn.svm), **DROP_INS})
    return module


def _concerns_a_drop_in(name, value):
    return name.startswith("test_") and any(drop_in in inspect.getsource(value) for drop_in in DROP_INS)


ADOPTED = {name: value for name, value in vars(_with_drop_ins()).items() if _concerns_a_drop_in(name, value)}
globals().update(ADOPTED)
# some fits stop early on purpose, and scikit-learn's own estimators warn too
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def global_random_seed():
    """scikit-learn's own, which has a hundred values on its servers."""
    return 42


@pytest.fixture(autouse=True)
def _listed_ones_fail(request):
    if request.node.originalname in FAILS:
        request.applymarker(pytest.mark.xfail(reason=FAILS[request.node.originalname], strict=True))
    # test_linearsvc_verbose turns the output away and does not turn it back when its fit raises
    output = os.dup(1)
    yield
    os.dup2(output, 1)
    os.close(output)


def test_they_are_found():
    assert len(ADOPTED) >= 15


def test_the_page_lists_the_same():
    page = Path(__file__).resolve().parent.parent / "docs" / "drop-ins.md"
    rows = re.findall(r"^\| `(test_\w+)` \| (.*) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(rows) == FAILS
    assert len(rows) == len(FAILS)
