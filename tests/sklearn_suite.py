"""A pytest plugin that puts the drop-ins in the place of scikit-learn's estimators, in all of scikit-learn.

``python -m pytest -p sklearn_suite --pyargs sklearn.linear_model.tests.test_logistic`` runs scikit-learn's own tests
on Fenchel's LogisticRegression, LinearSVC and LinearSVR.  Every module of scikit-learn that has the name of one of them
gets ours instead, so that its meta-estimators fit them by default too.  ``LogisticRegressionCV`` stays scikit-learn's,
and works with our LogisticRegression inside.
"""

import sys

import sklearn.calibration
import sklearn.ensemble
import sklearn.linear_model
import sklearn.svm
import sklearn.utils._test_common.instance_generator  # noqa: F401  what imports the names early

import fenchel

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


replace_throughout()
