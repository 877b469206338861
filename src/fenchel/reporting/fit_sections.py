"""The sections about the fit itself: data, model, certificate, convergence and weights."""

from __future__ import annotations

import inspect
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.markup import Markup, element, joined
from fenchel.plotting import plot_certificate, plot_coefficients, plot_convergence, plot_transitions
from fenchel.reporting.figures import picture, side_by_side
from fenchel.reporting.page import Section, folded, note, scrolling
from fenchel.reporting.subject import Kind, Rows, Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: classes and labels that are listed with their numbers of examples
_LISTED = 12
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def total(certificates: list[Certificate]) -> Certificate:
    """The certificate of all problems together."""
    return reduce(add, certificates)


def data_section(subject: Subject) -> Section:
    """Rows, features, classes, storage and memory."""
    train, test = subject.train, subject.test
    rows: list[tuple[str, str]] = [(_rows_are(subject.kind), f"{len(train):,}")]
    if test is not None:
        rows.append(("held out", f"{len(test):,}"))
    rows += _tokens(train) if subject.kind is Kind.SEQUENCES else []
    features = subject.fitted.get("n_features_in_")
    rows += [("features", f"{features:,}")] if features is not None else []
    rows += _storage(train.X)
    rows += [("weights of examples", "given")] if train.weight is not None else []
    rows += [("queries", f"{len(np.unique(np.asarray(train.qid))):,}")] if train.qid is not None else []
    parts = [scrolling((), rows)]
    counts = _classes(subject)
    if counts:
        left = f", the {_LISTED} largest of {len(counts):,}" if len(counts) > _LISTED else ""
        whole = sum(count for _, count in counts) if subject.kind is not Kind.LABELS else len(train)
        cells = [(label, f"{count:,}", f"{count / max(whole, 1):.1%}") for label, count in counts[:_LISTED]]
        what = "label" if subject.kind in (Kind.LABELS, Kind.SEQUENCES) else "class"
        parts.append(scrolling((f"{what}{left}", "examples", "share"), cells))
    elif subject.kind in (Kind.REGRESSION, Kind.RANKING):
        parts.append(_targets(np.asarray(train.y, dtype=np.float64)))
    return Section("data", "Data", side_by_side(*parts))


def _rows_are(kind: Kind) -> str:
    return "sequences" if kind is Kind.SEQUENCES else "rows"


def _tokens(rows: Rows) -> list[tuple[str, str]]:
    if not isinstance(rows.X, (list, tuple)):
        return []
    lengths = [len(one) if isinstance(one, (list, tuple)) else one.shape[0] for one in rows.X]
    return [("tokens", f"{sum(lengths):,}"), ("longest sequence", f"{max(lengths, default=0):,}")]


def _storage(X: Any) -> list[tuple[str, str]]:
    """How X is stored, and how much memory it takes."""
    if sp.issparse(X):
        parts = [vars(X).get(name) for name in ("data", "indices", "indptr", "row", "col", "offsets")]
        size = sum(one.nbytes for one in parts if isinstance(one, np.ndarray))
        density = X.nnz / max(1, X.shape[0] * X.shape[1])
        words = f"sparse ({X.format.upper()}, {X.dtype}), {X.nnz:,} entries, {density:.2%} of all"
        return [("storage", words), ("memory", in_bytes(size))]
    if isinstance(X, np.ndarray):
        order = "by rows" if X.flags.c_contiguous else "by columns" if X.flags.f_contiguous else "strided"
        mapped = " on disk" if isinstance(X, np.memmap) else ""
        return [("storage", f"dense{mapped} ({X.dtype}, {order})"), ("memory", in_bytes(X.nbytes))]
    if hasattr(X, "columns"):
        return [("storage", f"data frame ({type(X).__module__.partition('.')[0]})")]
    return [("storage", f"{type(X).__name__} of {type(X[0]).__name__}" if len(X) else type(X).__name__)]


def in_bytes(size: float) -> str:
    """A number of bytes in a unit that fits."""
    unit = 0
    while size >= 1000.0 and unit + 1 < len(_UNITS):
        size, unit = size / 1000.0, unit + 1
    return f"{size:.3g} {_UNITS[unit]}"


def _classes(subject: Subject) -> list[tuple[str, int]]:
    """Classes or labels with their numbers of examples, most frequent first; ordered ones in their order."""
    y, kind = subject.train.y, subject.kind
    if kind in (Kind.REGRESSION, Kind.RANKING):
        return []
    if kind is Kind.LABELS:
        sums = np.asarray(y.sum(axis=0) if sp.issparse(y) else np.sum(np.asarray(y) != 0, axis=0)).ravel()
        counts = [(str(k), int(count)) for k, count in enumerate(sums)]
    else:
        flat = np.concatenate([np.asarray(one) for one in y]) if kind is Kind.SEQUENCES else np.asarray(y)
        labels, numbers = np.unique(flat, return_counts=True)
        counts = [(str(label), int(count)) for label, count in zip(labels, numbers, strict=True)]
    if kind is Kind.ORDERED:
        place = {str(label): k for k, label in enumerate(subject.estimator.order_)}
        return sorted(counts, key=lambda one: place.get(one[0], -1))
    return sorted(counts, key=lambda one: -one[1])


def _targets(y: Any) -> Markup:
    quantiles = np.quantile(y, [0.0, 0.25, 0.5, 0.75, 1.0])
    cells = [f"{value:.4g}" for value in (*quantiles, np.mean(y), np.std(y))]
    header = ("target", "least", "first quartile", "median", "third quartile", "largest", "mean", "standard deviation")
    return scrolling(header, [("y", *cells)])


def model_section(subject: Subject) -> Section:
    """The class, its parameters, and how the fit went."""
    estimator, fitted = subject.estimator, subject.fitted
    rows: list[tuple[str, Any]] = [("estimator", element("code", _full_name(estimator)))]
    rows += [("predicts", subject.kind.value)]
    words = {
        "solver_": "solver",
        "multi_class_": "form of several classes",
        "surrogate_": "surrogate",
        "C_": "chosen C",
    }
    if subject.kind is not Kind.CLASSES:
        words.pop("multi_class_")
    rows += [(word, str(fitted[name])) for name, word in words.items() if fitted.get(name) is not None]
    if fitted.get("n_iter_") is not None:
        what = "passes over the data" if fitted.get("trace_") or "mistakes_" in fitted else "iterations"
        rows.append((what, f"{float(np.max(fitted['n_iter_'])):,.4g}"))
    seconds = seconds_of(estimator)
    rows += [] if seconds is None else [("seconds", f"{seconds:.3g} (solver and certificates, without compilation)")]
    if "support_" in fitted:
        rows.append(("support vectors", f"{len(fitted['support_']):,}"))
    given = estimator.get_params(deep=False)
    default = _defaults(estimator)
    changed = [(name, value) for name, value in given.items() if not _same(value, default.get(name))]
    said = [(element("code", name), element("code", _brief(value))) for name, value in changed]
    every = [(element("code", name), element("code", _brief(value))) for name, value in sorted(given.items())]
    differ = note("Parameters that differ from the defaults:" if said else "All parameters have their defaults.")
    parts = [side_by_side(scrolling((), rows), element("div", differ, scrolling((), said) if said else ""))]
    parts.append(folded(f"All {len(every)} parameters", scrolling((), every)))
    if subject.model is not subject.estimator:
        parts.append(folded("The whole pipeline or search", element("p", element("code", _brief(subject.model, 2000)))))
    return Section("model", "Model", joined(parts))


def _full_name(estimator: Any) -> str:
    module = type(estimator).__module__.partition(".")[0]
    return f"{module}.{type(estimator).__name__}"


def _defaults(estimator: Any) -> dict[str, Any]:
    signature = inspect.signature(type(estimator).__init__)
    return {name: one.default for name, one in signature.parameters.items()}


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _brief(value: Any, most: int = 120) -> str:
    words = " ".join(repr(value).split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def seconds_of(estimator: Any) -> float | None:
    """The seconds of the solves and their certificates; None for another library's model."""
    trace = vars(estimator).get("trace_")
    if not trace:
        return None
    traces = trace if isinstance(trace[0], list) else [trace]
    return float(sum(one[-1].seconds_solving + one[-1].seconds_certifying for one in traces))


def certificate_section(subject: Subject) -> Section:
    """What is proved, in a sentence and in a picture."""
    if not subject.certificates:
        return Section("certificate", "Certificate", note(subject.refusal))
    whole, fitted = total(subject.certificates), subject.fitted
    parts = [element("p", str(whole))]
    if subject.judged:
        parts.append(note(f"Judged: {subject.judged}. The lower bound was searched for after the fit."))
    if len(subject.certificates) > 1:
        worst = max(subject.certificates, key=lambda one: one.relative_gap)
        parts.append(element("p", f"{len(subject.certificates)} problems were solved. The worst of them: {worst}"))
    if fitted.get("converged_") is False:
        tol = fitted.get("tol", subject.estimator.get_params(deep=False).get("tol"))
        parts.append(note(f"The fit ended before it proved tol = {tol:g}: raise max_iter or time_limit, or scale X."))
    count = min(12, len(subject.certificates))
    given = subject.estimator if fitted.get("certificates_") else list(subject.certificates)
    parts.append(
        picture(
            lambda ax: plot_certificate(given, ax=ax),
            f"The objective above its lower bound, relative gap {whole.relative_gap:.2g}",
            (5.4, 1.5 + 0.55 * count),
            "The optimum lies in the shaded interval, which ends at the objective of this model.",
        )
    )
    return Section("certificate", "Certificate", joined(parts))


def convergence_section(subject: Subject) -> Section:
    """How the proved gap fell."""
    if not subject.fitted.get("trace_"):
        why = f"{subject.name} keeps no trace of its fit, so its convergence can't be drawn."
        return Section("convergence", "Convergence", note(why))
    figures = [
        picture(
            partial(_draw_convergence, subject.estimator, by),
            f"The certified relative gap against {by}",
            (4.6, 3.6),
        )
        for by in ("seconds", "passes")
    ]
    words = "Each marker is a certificate, computed from the data. Dashed is what the solver expected in between."
    return Section("convergence", "Convergence", joined([side_by_side(*figures), note(words)]))


def _draw_convergence(estimator: Any, against: str, ax: Axes) -> None:
    plot_convergence(estimator, against=against, ax=ax)


def weights_section(subject: Subject) -> Section:
    """The largest weights with the names of their features, and transitions of chains."""
    parts: list[Markup] = []
    try:
        figure = picture(
            lambda ax: plot_coefficients(subject.estimator, feature_names=subject.names, ax=ax),
            "The weights of largest absolute value",
            _weights_size(subject),
        )
        parts.append(figure)
    except FenchelError as refusal:
        parts.append(note(f"{refusal}."))
    if "transitions_" in subject.fitted:
        labels = len(subject.estimator.classes_)
        size = (min(9.0, 3.4 + 0.42 * labels), min(8.0, 1.8 + 0.32 * labels))
        parts.append(picture(lambda ax: plot_transitions(subject.estimator, ax=ax), "Weights of transitions", size))
    return Section("weights", "Weights", joined(parts))


def _weights_size(subject: Subject) -> tuple[float, float]:
    shape = np.shape(np.atleast_2d(subject.fitted.get("coef_", np.zeros((1, 1)))))
    rows = min(20, shape[1])
    return (5.2, 1.2 + 0.2 * max(5, rows)) if shape[0] == 1 else (min(9.0, 3.4 + 0.42 * shape[0]), 1.6 + 0.28 * rows)
