"""skops: files of our estimators need no other types than those that we list."""

import inspect
from importlib import import_module

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import (
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearClassifierCV,
    LinearRegressor,
    LinearSVR,
    LogisticRegression,
    MeasureClassifier,
    OnlineClassifier,
    OrdinalClassifier,
)
from fenchel.features import PolynomialFeatures
from fenchel.interop.skops import trusted_types
from fenchel.losses import Hinge, Quantile
from fenchel.regularizers import QNorm

X, Y = make_classification(80, 5, random_state=0)


def test_the_types_exist_and_are_classes():
    assert len(trusted_types()) == len(set(trusted_types())) > 30
    for name in trusted_types():
        module, _, short = name.rpartition(".")
        assert module.startswith("fenchel.") or name == "scipy.sparse._csc.csc_array"
        assert inspect.isclass(getattr(import_module(module), short))


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifier(Hinge(power=1.5), random_state=0),
        LinearClassifier(regularizer=QNorm(1.5), random_state=0),
        LinearClassifier(multi_class="ovo", random_state=0),
        LinearClassifier(features=PolynomialFeatures(), random_state=0),
        LinearClassifierCV("logistic", Cs=[1.0], cv=2, random_state=0),
        LinearRegressor(Quantile(0.9), random_state=0),
        LinearSVR(),
        LogisticRegression(),
        MeasureClassifier("roc_auc", random_state=0),
        OnlineClassifier(random_state=0),
        OrdinalClassifier(random_state=0),
        KernelClassifier(random_state=0),
        KernelRegressor(random_state=0),
    ],
    ids=str,
)
def test_a_file_needs_our_types_alone(model):
    sio = pytest.importorskip("skops.io", reason="skops is not installed")
    for y in (Y, np.arange(len(Y)) % 3):
        fitted = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
        data = sio.dumps(fitted)
        assert set(sio.get_untrusted_types(data=data)) <= set(trusted_types())
        loaded = sio.loads(data, trusted=trusted_types())
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
        if not isinstance(model, OnlineClassifier):
            assert str(loaded[-1].certificate_) == str(fitted[-1].certificate_)
            assert loaded[-1].dual_gap_ == fitted[-1].dual_gap_
    with pytest.raises(Exception, match=r"(?i)untrusted"):
        sio.loads(data, trusted=[])
