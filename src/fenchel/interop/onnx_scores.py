"""Scores, labels and probabilities of fitted estimators, as ONNX operators."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from fenchel import estimators
from fenchel.errors import FenchelError
from fenchel.interop.onnx_graph import Graph
from fenchel.losses import Loss


def scores_of(graph: Graph, model: Any) -> str:
    """``decision_function``: (n,) for two classes, else (n, classes)."""
    if isinstance(model, estimators.MultilabelClassifier):
        return _linear(graph, model)
    if isinstance(model, estimators.OrdinalClassifier):
        found, classes = _inside(graph, model), len(model.classes_)
        return graph.add("Gather", found, np.array(1), axis=1) if classes == 2 else found
    if isinstance(model, estimators.KernelClassifier):
        found = _kernel(graph, model)
    else:
        found = _linear(graph, model)
        if len(model.classes_) > 2:
            # online and measure classifiers have one score for each class
            return _votes(graph, model, found) if vars(model).get("multi_class_") == "ovo" else found
    if len(model.classes_) > 2:
        return found
    found = graph.add("Reshape", found, np.array([-1]))
    if isinstance(model, estimators.MeasureClassifier) and model.pos_label_ == model.classes_[0]:
        return _below(graph, found)
    return found


def labels_of(graph: Graph, model: Any, scores: str) -> str:
    """``predict`` of a classifier, from its scores."""
    if isinstance(model, estimators.MultilabelClassifier):
        return graph.cast(graph.add("Greater", scores, 0.0), np.int64)
    if len(model.classes_) == 2:
        place = graph.cast(graph.add("Greater", scores, 0.0), np.int64)
    else:
        place = graph.add("ArgMax", scores, axis=1, keepdims=0)
    return graph.add("Gather", graph.constant(model.classes_), place, axis=0)


def probabilities_of(graph: Graph, model: Any, scores: str) -> str:
    """``predict_proba`` of a classifier, from its scores."""
    if isinstance(model, estimators.MultilabelClassifier):
        return graph.add("Sigmoid", scores)
    if len(model.classes_) == 2:
        column = graph.add("Reshape", scores, np.array([-1, 1]))
        return graph.add("Sigmoid", graph.add("Concat", graph.add("Neg", column), column, axis=1))
    if model._fitted_form() == "multinomial":
        return graph.add("Softmax", scores, axis=1)
    each = graph.add("Sigmoid", scores)
    total = graph.add("ReduceSum", each, np.array([1]), keepdims=1)
    shares = graph.add("Div", each, graph.add("Max", total, np.finfo(graph.dtype).tiny))
    uniform = np.full((1, len(model.classes_)), 1.0 / len(model.classes_))
    return graph.add("Where", graph.add("Greater", total, 0.0), shares, graph.constant(uniform))


def predictions_of(graph: Graph, model: Any) -> str:
    """``predict`` of a regression or a ranking, (n, targets)."""
    found = _kernel(graph, model) if isinstance(model, estimators.KernelRegressor) else _linear(graph, model)
    if isinstance(model, estimators.LinearRanker):
        return found
    loss = model._loss()
    if loss.name == "poisson":
        return graph.add("Exp", found)
    if type(loss).prediction is not Loss.prediction:
        raise FenchelError(f"loss={loss.name!r} has predictions that are not its scores, which no converter knows")
    return found


def _linear(graph: Graph, model: Any) -> str:
    """X w + b, (n, weight vectors)."""
    weights = np.atleast_2d(model._weights())
    intercept = np.broadcast_to(np.ravel(model.intercept_), max(len(weights), np.size(model.intercept_)))
    return graph.add("Add", graph.add("MatMul", graph.rows, weights.T.copy()), intercept)


def _votes(graph: Graph, model: Any, scores: str) -> str:
    """The votes of pairs, and their confidences, which count for less than a vote: scikit-learn's rule."""
    pairs = np.array(list(combinations(range(len(model.classes_)), 2)))
    first, second = np.eye(len(model.classes_))[pairs].transpose(1, 0, 2)
    won = graph.cast(graph.add("Greater", scores, 0.0), graph.dtype)
    # a vote for the second class if the score is positive, else for the first
    votes = graph.add("Add", graph.add("MatMul", won, second - first), np.sum(first, axis=0))
    confidences = graph.add("MatMul", scores, second - first)
    size = graph.add("Mul", graph.add("Add", graph.add("Abs", confidences), 1.0), 3.0)
    return graph.add("Add", votes, graph.add("Div", confidences, size))


def _below(graph: Graph, above: str) -> str:
    """How far scores are below a threshold: positive at the threshold itself, see ``estimators.thresholds``."""
    below = graph.add("Neg", above)
    least = graph.add("Max", below, np.finfo(graph.dtype).tiny)
    return graph.add("Where", graph.add("Greater", above, 0.0), below, least)


def _inside(graph: Graph, model: Any) -> str:
    """How far one score is inside the thresholds of each of the ordered classes, in the order of ``classes_``."""
    above = _linear(graph, model)
    beyond = graph.add("Add", graph.add("Mul", graph.add("Gather", above, np.array([0]), axis=1), 0.0), np.inf)
    lower = graph.add("Concat", beyond, above, axis=1)
    upper = graph.add("Concat", _below(graph, above), beyond, axis=1)
    order = np.argsort(np.searchsorted(model.classes_, model.order_))
    return graph.add("Gather", graph.add("Min", lower, upper), order, axis=1)


def _kernel(graph: Graph, model: Any) -> str:
    """The scores of a kernel model, (n, outputs)."""
    if callable(model.kernel):
        raise FenchelError("kernel is a function, which a graph can't have: use one by name, or 'precomputed'")
    values = graph.rows
    if model.kernel == "precomputed":
        values = graph.add("Gather", values, model.support_, axis=1)
    else:
        vectors = model.support_vectors_
        vectors = vectors.toarray() if sp.issparse(vectors) else vectors
        values = _radial(graph, vectors, model.gamma_) if model.kernel == "rbf" else _products(graph, model, vectors)
    found = graph.add("MatMul", values, model.dual_coef_.T.copy())
    return graph.add("Add", found, np.ravel(vars(model).get("intercept_", 0.0)).astype(np.float64))


def _products(graph: Graph, model: Any, vectors: Any) -> str:
    if model.kernel == "linear":
        return graph.add("MatMul", graph.rows, vectors.T.copy())
    # gamma is in the constant: onnxruntime would make a factor of the product a float32
    scaled = graph.add("Add", graph.add("MatMul", graph.rows, model.gamma_ * vectors.T), float(model.coef0))
    return graph.add("Pow", scaled, float(model.degree))


def _radial(graph: Graph, vectors: Any, gamma: float) -> str:
    """exp(-gamma |x - z|²) from centred rows, whose products lose fewer digits."""
    origin = np.mean(vectors, axis=0)
    centred = vectors - origin
    rows = graph.add("Sub", graph.rows, origin)
    squares = graph.add("ReduceSum", graph.add("Mul", rows, rows), np.array([1]), keepdims=1)
    products = graph.add("MatMul", rows, -2.0 * centred.T)
    distances = graph.add("Add", graph.add("Add", products, squares), np.sum(centred**2, axis=1))
    return graph.add("Exp", graph.add("Mul", graph.add("Max", distances, 0.0), -float(gamma)))
