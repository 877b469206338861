"""A pytest plugin that puts the drop-ins in the place of scikit-learn's estimators, in all of scikit-learn.

``python -m pytest -p sklearn_suite --pyargs sklearn.linear_model.tests.test_logistic`` runs scikit-learn's own tests
on Fenchel's LogisticRegression, LinearSVC and LinearSVR.  Every module of scikit-learn that has the name of one of them
gets ours instead, so that its meta-estimators fit them by default too.  ``LogisticRegressionCV`` stays scikit-learn's,
and works with our LogisticRegression inside.
"""

import inspect
import sys

import pytest
import sklearn.calibration
import sklearn.ensemble
import sklearn.linear_model
import sklearn.svm
import sklearn.utils._test_common.instance_generator  # imports the names early

import fenchel
from products import left_out
from sklearn_failures import category_of

#: the first takes as long as all others together: nothing is regularized there; the second is mostly scikit-learn's SGD
SLOW = ("test_logistic_regression_solvers_multiclass_unpenalized", "test_elastic_net_versus_sgd")
#: scikit-learn's estimator, and ours
REPLACED = {
    sklearn.linear_model.LogisticRegression: fenchel.LogisticRegression,
    sklearn.svm.LinearSVC: fenchel.LinearSVC,
    sklearn.svm.LinearSVR: fenchel.LinearSVR,
}


def replace_throughout():
    """Put ours wherever a module of scikit-learn holds one of theirs."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "sklearn" and module is not None:
            for theirs, ours in REPLACED.items():
                if getattr(module, theirs.__name__, None) is theirs:
                    setattr(module, theirs.__name__, ours)


def pytest_configure(config):
    """Replace where this is a plugin: collecting doctests imports it too, and must change nothing."""
    replace_throughout()


def pytest_addoption(parser):
    """``--drop-ins-only`` takes what names a drop-in, ``--few-cases`` enough cases that each value occurs."""
    parser.addoption("--drop-ins-only", action="store_true")
    parser.addoption("--few-cases", action="store_true")


def pytest_collection_modifyitems(config, items):
    """Expect what ``sklearn_failures`` lists to fail."""
    kept = []
    for item in items:
        category = category_of(item.module.__name__, item.name)
        if category is not None:
            item.add_marker(pytest.mark.xfail(reason=category, strict=True))
        if not config.getoption("--drop-ins-only") or _names_a_drop_in(item):
            kept.append(item)
    if config.getoption("--few-cases"):
        left = left_out(kept, strength=1)
        kept = [item for item in kept if item not in left and item.originalname not in SLOW]
    items[:] = kept


def _names_a_drop_in(item):
    source = inspect.getsource(item.function)
    return any(f"{theirs.__name__}(" in source for theirs in REPLACED) and "CV" not in source
