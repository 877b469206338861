"""ONNX: converters of skl2onnx for the estimators of this package (extra ``onnx``).

The graph has the arithmetic of ``decision_function`` in the type of its input: declare ``DoubleTensorType`` for scores
to the last digits.  Classifiers have the outputs ``label`` and, as plain tensors without ZipMap, ``probabilities``
where the estimator has ``predict_proba`` and ``scores``, with the values and the shape of ``decision_function``, where
it has not.  Regressions have the output ``variable`` of shape (n, targets), as those of skl2onnx.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel import estimators
from fenchel.errors import FenchelError
from fenchel.interop.onnx_graph import Graph
from fenchel.interop.onnx_scores import labels_of, predictions_of, probabilities_of, scores_of

__all__ = ["register_converters"]

#: classifiers that a graph can express
CLASSIFIERS = (
    "KernelClassifier",
    "LinearClassifier",
    "LinearClassifierCV",
    "LinearSVC",
    "LogisticRegression",
    "MeasureClassifier",
    "MultilabelClassifier",
    "OnlineClassifier",
    "OrdinalClassifier",
    "WinnowClassifier",
)
#: estimators whose prediction is a number
REGRESSORS = ("KernelRegressor", "LinearRanker", "LinearRegressor", "LinearRegressorCV", "LinearSVR")
#: skl2onnx asks every classifier for the first one; here it has no effect
_OPTIONS = {"zipmap": [True, False, "columns"], "raw_scores": [False, True]}
#: the oldest operators that the graphs need: ReduceSum and Softmax have their present form since opset 13
_OPSET = 13


def register_converters() -> None:
    """Register the estimators of this package with skl2onnx, so that pipelines with them can be converted.

    Call it once before ``skl2onnx.convert_sklearn`` or ``skl2onnx.to_onnx``.  The option ``raw_scores`` replaces
    probabilities by scores.

    Raises
    ------
    FenchelError
        If skl2onnx is not installed.

    See Also
    --------
    fenchel.LinearClassifier.to_sklearn : A stock estimator of scikit-learn instead of a graph.

    Examples
    --------
    >>> from fenchel.interop.onnx import register_converters
    >>> register_converters()  # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise FenchelError("conversion to ONNX needs skl2onnx: pip install 'fenchel[onnx]'") from error

    for names, shapes, convert, parser, options in (
        (CLASSIFIERS, _classifier_shapes, _convert_classifier, _parse_classifier, _OPTIONS),
        (REGRESSORS, _regressor_shapes, _convert_regressor, None, None),
    ):
        for name in names:
            estimator = getattr(estimators, name)
            update_registered_converter(estimator, f"Fenchel{name}", shapes, convert, parser=parser, options=options)


def _parse_classifier(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """The outputs of a classifier; their types are set with their shapes."""
    from skl2onnx.common.data_types import Int64TensorType, guess_tensor_type

    operator = scope.declare_local_operator(f"Fenchel{type(model).__name__}", model)
    operator.inputs = inputs
    raw = scope.get_options(model, {"raw_scores": False}).get("raw_scores", False)
    second = "scores" if raw or not hasattr(model, "predict_proba") else "probabilities"
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    operator.outputs.append(scope.declare_local_variable(second, guess_tensor_type(inputs[0].type)))
    return operator.outputs


def _classifier_shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_tensor_type

    model, rows = operator.raw_operator, operator.inputs[0].get_first_dimension()
    classes = len(model.classes_)
    several = isinstance(model, estimators.MultilabelClassifier)
    if several or model.classes_.dtype.kind in "biu":
        kind: Any = Int64TensorType
    elif model.classes_.dtype.kind in "OSU":
        kind = StringTensorType
    else:
        raise FenchelError(
            f"classes_ of {type(model).__name__} have the type {model.classes_.dtype}; an ONNX graph has integers or "
            "strings as labels: fit to such ones"
        )
    one_score = classes == 2 and not several and operator.outputs[1].raw_name == "scores"
    operator.outputs[0].type = kind([rows, classes] if several else [rows])
    operator.outputs[1].type = guess_tensor_type(operator.inputs[0].type)
    operator.outputs[1].type.shape = [rows] if one_score else [rows, classes]


def _regressor_shapes(operator: Any) -> None:
    from skl2onnx.common.data_types import guess_tensor_type

    operator.outputs[0].type = guess_tensor_type(operator.inputs[0].type)
    intercept = np.ravel(operator.raw_operator.intercept_)
    operator.outputs[0].type.shape = [operator.inputs[0].get_first_dimension(), len(intercept)]


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    graph, model = _graph(scope, operator, container), operator.raw_operator
    scores = scores_of(graph, model)
    label, second = operator.outputs
    graph.name(labels_of(graph, model, scores), label)
    raw = second.raw_name == "scores"
    graph.name(scores if raw else probabilities_of(graph, model, scores), second)


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    graph = _graph(scope, operator, container)
    graph.name(predictions_of(graph, operator.raw_operator), operator.outputs[0])


def _graph(scope: Any, operator: Any, container: Any) -> Graph:
    if container.target_opset < _OPSET:
        raise FenchelError(f"target_opset must be at least {_OPSET}, got {container.target_opset}")
    model = operator.raw_operator
    if model.features is not None:
        raise FenchelError(
            f"{type(model).__name__} computes features={model.features!r} from raw data, which a graph can't: convert "
            "a model of the matrix of features"
        )
    return Graph(scope, container, operator.inputs[0])
