"""scikit-learn's own tests of LinearSVC and LinearSVR, run on the drop-ins.

Every test of ``sklearn/svm/tests/test_svm.py`` that speaks of either runs here with Fenchel's in its place.
``sklearn_failures`` says which can't pass, and why; each of them must fail, and every other one must pass.
"""

import importlib.util
import inspect
import os
import types
from pathlib import Path
from unittest import mock

import pytest
import sklearn.svm

import fenchel
from sklearn_failures import category_of

DROP_INS = {"LinearSVC": fenchel.LinearSVC, "LinearSVR": fenchel.LinearSVR}

MODULE = "sklearn.svm.tests.test_svm"


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
    category = category_of(MODULE, request.node.name)
    if category is not None:
        request.applymarker(pytest.mark.xfail(reason=category, strict=True))
    # test_linearsvc_verbose turns the output away and does not turn it back when its fit raises
    output = os.dup(1)
    yield
    os.dup2(output, 1)
    os.close(output)


def test_they_are_found():
    assert len(ADOPTED) >= 15
