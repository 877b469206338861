"""Graphs of ONNX: onnxruntime gives the labels, scores and probabilities of our estimators."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_classification, make_multilabel_classification, make_regression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import (
    FenchelError,
    KernelClassifier,
    KernelRegressor,
    LinearClassifier,
    LinearClassifierCV,
    LinearRanker,
    LinearRegressor,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    MeasureClassifier,
    MultilabelClassifier,
    OnlineClassifier,
    OrdinalClassifier,
    WinnowClassifier,
)
from fenchel.features import PolynomialFeatures

skl2onnx = pytest.importorskip("skl2onnx", reason="graphs need the onnx extra")
onnxruntime = pytest.importorskip("onnxruntime", reason="graphs run in onnxruntime, of the onnx extra")
onnx = pytest.importorskip("fenchel.interop.onnx")

X2, Y2 = make_classification(120, 8, n_informative=5, flip_y=0.1, random_state=0)
X3, Y3 = make_blobs(120, 5, centers=4, cluster_std=4.0, random_state=1)
XR, YR = make_regression(100, 6, noise=5.0, random_state=2)
NAMES = np.array(["ash", "birch", "cedar", "elm"])
TYPES = {
    np.float64: skl2onnx.common.data_types.DoubleTensorType,
    np.float32: skl2onnx.common.data_types.FloatTensorType,
}


def outputs(model, X, dtype=np.float64, **options):
    onnx.register_converters()
    graph = skl2onnx.convert_sklearn(
        model, initial_types=[("X", TYPES[dtype]([None, X.shape[1]]))], target_opset=18, **options
    )
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X.astype(dtype)}), strict=True))


def agree(model, X):
    found = outputs(model, X)
    np.testing.assert_array_equal(found["label"], model.predict(X))
    name, expected = "scores", None
    if hasattr(model, "predict_proba"):
        name, expected = "probabilities", model.predict_proba(X)
    else:
        expected = model.decision_function(X)
    assert found[name].shape == expected.shape
    np.testing.assert_allclose(found[name], expected, rtol=1e-9, atol=1e-9 * np.min([1.0, np.max(np.abs(expected))]))


@pytest.mark.parametrize(
    "model",
    [
        LinearClassifier(random_state=0),
        LinearClassifier("logistic", random_state=0),
        LinearClassifier("logistic", multi_class="ovr", l1_ratio=0.5, random_state=0),
        LinearClassifier(multi_class="ovo", random_state=0),
        LinearClassifierCV("squared_hinge", Cs=[0.01, 1.0], cv=2, random_state=0),
        MeasureClassifier("f1", surrogate="bound", random_state=0),
        LinearSVC(),
        LinearSVC(fit_intercept=False),
        LogisticRegression(),
        OnlineClassifier(random_state=0),
        WinnowClassifier(random_state=0),
        OrdinalClassifier(random_state=0),
        OrdinalClassifier(order=[2, 0, 1, 3], random_state=0),
        KernelClassifier(random_state=0),
        KernelClassifier("logistic", kernel="poly", degree=2, coef0=1.0, fit_intercept=True, random_state=0),
        KernelClassifier(kernel="linear", random_state=0),
    ],
    ids=str,
)
def test_a_classifier_in_onnxruntime(model):
    agree(clone(model).fit(X2, Y2), np.vstack([X2, -X2]))
    agree(clone(model).fit(X3, Y3), np.vstack([X3, -X3]))


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_names_of_classes_pipelines_and_single_precision(loss):
    model = make_pipeline(StandardScaler(), LinearClassifier(loss, random_state=0)).fit(X3, NAMES[Y3])
    agree(model, X3)
    found = outputs(model, X3, np.float32)
    assert np.mean(found["label"] == model.predict(X3)) > 0.98
    second = model.predict_proba(X3) if loss == "logistic" else model.decision_function(X3)
    np.testing.assert_allclose(list(found.values())[1], second, atol=1e-4 * np.max(np.abs(second)))


def test_the_first_class_as_the_positive_one():
    for positive in (0, 1):
        agree(MeasureClassifier("f1", pos_label=positive, surrogate="bound", random_state=0).fit(X2, Y2), X2)


def test_raw_scores_in_place_of_probabilities():
    model = LinearClassifier("logistic", random_state=0).fit(X2, Y2)
    found = outputs(model, X2, options={id(model): {"raw_scores": True}})
    np.testing.assert_allclose(found["scores"], model.decision_function(X2), rtol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_several_labels_at_once(loss):
    X, Y = make_multilabel_classification(100, 6, n_classes=4, random_state=0)
    agree(MultilabelClassifier(loss, random_state=0).fit(X, Y), X)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegressor("huber", random_state=0),
        LinearRegressor("poisson", C=1e-4, random_state=0),
        LinearSVR(fit_intercept=False),
        KernelRegressor(random_state=0),
    ],
    ids=str,
)
def test_a_regression_in_onnxruntime(model):
    model = clone(model).fit(XR, np.abs(YR))
    np.testing.assert_allclose(outputs(model, XR)["variable"][:, 0], model.predict(XR), rtol=1e-9)


def test_several_targets_a_ranking_and_a_precomputed_kernel():
    model = LinearRegressor(random_state=0).fit(XR, np.column_stack([YR, -YR]))
    np.testing.assert_allclose(outputs(model, XR)["variable"], model.predict(XR), rtol=1e-9)
    model = LinearRanker(random_state=0).fit(X2, Y2, qid=np.arange(len(Y2)) // 20)
    np.testing.assert_allclose(outputs(model, X2)["variable"][:, 0], model.predict(X2), rtol=1e-9, atol=1e-12)
    agree(KernelClassifier(kernel="precomputed", random_state=0).fit(X2 @ X2.T, Y2), X2 @ X2.T)


@pytest.mark.parametrize(
    ("model", "y", "why"),
    [
        (KernelClassifier(kernel=lambda A, B: A @ B.T), Y2, "kernel is a function"),
        (LinearClassifier(features=PolynomialFeatures()), Y2, "computes features"),
        (LinearClassifier(), Y2 + 0.0, "float64"),
    ],
    ids=["function", "features", "float labels"],
)
def test_what_a_graph_cannot_express_is_refused(model, y, why):
    with pytest.raises(FenchelError, match=why):
        outputs(model.fit(X2, y), X2)
