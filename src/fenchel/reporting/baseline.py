"""A scikit-learn model of the same data beside the report's: its time, its objective with a proof, and its score."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from fenchel import estimators as own
from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.interop import certify
from fenchel.losses import Loss
from fenchel.markup import Markup, joined
from fenchel.plotting.models import fitted_part
from fenchel.reporting.fit_sections import seconds_of, total
from fenchel.reporting.page import Section, note, scrolling
from fenchel.reporting.scores import Score, scores
from fenchel.reporting.subject import Kind, Rows, Subject, kind_of

#: parameters that mean the same in scikit-learn's classes of the drop-ins
_DROP_IN = (
    "C",
    "loss",
    "penalty",
    "multi_class",
    "fit_intercept",
    "class_weight",
    "max_iter",
    "tol",
    "epsilon",
    "l1_ratio",
)


#: seconds of another library's fit, up to which it is timed twice
_SHORT = 1.0


class Entry(NamedTuple):
    """One model of a comparison."""

    label: str
    seconds: float | None
    certificate: Certificate | None
    train: list[Score]
    test: list[Score] | None
    #: what was judged, or why nothing was
    remark: str = ""


def baseline_section(subject: Subject, baseline: Any) -> Section:
    """The model beside a baseline: chosen by its class, or given."""
    heading = "Baseline"
    other = counterpart(subject.estimator, subject.train.total_weight) if baseline is True else clone(baseline)
    if isinstance(other, str):
        return Section("baseline", heading, note(f"{other} Pass an estimator as baseline= instead."))
    entries = [entry_of_subject(subject), fitted_entry(other, subject.train, subject.test, kind=subject.kind)]
    return Section("baseline", heading, joined([entries_table(entries), *remarks(entries)]))


def entry_of_subject(subject: Subject) -> Entry:
    """The report's own model as an entry."""
    certificate = total(subject.certificates) if subject.certificates else None
    test = None if subject.test is None else scores(subject.kind, subject.estimator, subject.test)
    train = scores(subject.kind, subject.estimator, subject.train)
    return Entry(subject.name, seconds_of(subject.estimator), certificate, train, test, subject.refusal)


def fitted_entry(
    model: BaseEstimator, train: Rows, test: Rows | None, label: str = "", kind: Kind | None = None
) -> Entry:
    """Fit a model, time it and judge it; its warnings are remarks.  Its own kind is known when it is fitted."""
    label = label or f"{type(model).__module__.partition('.')[0]}.{type(model).__name__}"
    fit, unweighted = _fit_arguments(model, train)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        seconds = _timed(lambda: model.fit(train.X, train.y, **fit))
        if seconds < _SHORT and seconds_of(fitted_part(model)) is None:
            # the first fit of a process may load libraries and start threads
            seconds = min(seconds, _timed(lambda: clone(model).fit(train.X, train.y, **fit)))
    remark = "; ".join(str(one.message).split("\n")[0] for one in said if issubclass(one.category, ConvergenceWarning))
    certificate, judged = _judged(model, replace(train, weight=None) if unweighted else train)
    solved = fitted_part(model)
    kind = kind_of(solved) if kind is None else kind
    if train.order is None:
        order = vars(solved).get("order_")
        train, test = replace(train, order=order), None if test is None else replace(test, order=order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = scores(kind, model, train), None if test is None else scores(kind, model, test)
    known = seconds_of(solved)
    return Entry(
        label,
        seconds if known is None else known,
        certificate,
        *found,
        ". ".join(filter(None, (judged, unweighted, remark))),
    )


def _fit_arguments(model: Any, train: Rows) -> tuple[dict[str, Any], str]:
    """What ``fit`` takes beside X and y, and a remark if it takes no weights."""
    found: dict[str, Any] = {"qid": train.qid} if isinstance(model, own.LinearRanker) else {}
    if train.weight is None:
        return found, ""
    step, name = (model[-1], f"{model.steps[-1][0]}__sample_weight") if isinstance(model, Pipeline) else (model, "")
    if not has_fit_parameter(step, "sample_weight"):
        return found, f"fitted without weights: fit of {type(step).__name__} takes no sample_weight"
    return {**found, name or "sample_weight": train.weight}, ""


def _timed(fit: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    fit()
    return time.perf_counter() - begin


def _judged(model: Any, train: Rows) -> tuple[Certificate | None, str]:
    certificates = vars(fitted_part(model)).get("certificates_")
    if certificates:
        return total(list(certificates)), ""
    try:
        found = certify(model, train.X, train.y, sample_weight=train.weight)
    except FenchelError as refusal:
        # the sentence without the list of all classes that are known
        return None, f"not judged: {str(refusal).partition('. ')[0]}"
    return found.certificate, f"judged: {found.objective}"


def entries_table(entries: list[Entry]) -> Markup:
    """Seconds, objectives, proved gaps and the main score of each model."""
    names = [one.name for one in entries[0].train]
    held = entries[0].test is not None
    header = ["model", "seconds", "objective", "proved relative gap", f"{names[0]}, training"]
    header += [f"{name}, held out" for name in names[:2]] if held else names[1:2]
    rows = []
    for entry in entries:
        one = entry.certificate
        known = (
            ("-", "-")
            if one is None
            else (f"{one.primal:.7g}", "within rounding" if one.at_floor else f"{one.relative_gap:.2g}")
        )
        shown = entry.test[:2] if entry.test is not None else entry.train[1:2]
        seconds = "-" if entry.seconds is None else f"{entry.seconds:.3g}"
        rows.append((entry.label, seconds, *known, f"{entry.train[0].value:.4g}", *(f"{s.value:.4g}" for s in shown)))
    return scrolling(header, rows)


def remarks(entries: list[Entry]) -> list[Markup]:
    """What was judged and what was warned of, and how to read the table."""
    found = [note(f"{entry.label}: {entry.remark.rstrip('.')}.") for entry in entries if entry.remark]
    words = (
        "Objectives can be compared where the judged objectives are the same, which the treatment of the intercept may "
        "prevent; seconds of Fenchel include the proof and exclude compilation, and other short fits are "
        "the faster of two."
    )
    return [*found, note(words)]


# --- the counterpart in scikit-learn


def counterpart(estimator: Any, rows: float) -> BaseEstimator | str:
    """The estimator of scikit-learn that does most nearly the same, or a sentence why there is none."""
    name = type(estimator).__name__
    if vars(estimator).get("features") is not None:
        return f"{name} computes its features from raw data, which scikit-learn's classes do not."
    if vars(estimator).get("regularizer") is not None:
        return f"{name} has regularizer={estimator.regularizer!r}, which scikit-learn's linear models do not have."
    for cls in type(estimator).__mro__:
        make = _COUNTERPARTS.get(cls.__name__)
        if make is not None:
            return make(estimator, rows)
    return f"scikit-learn has no counterpart of {name}."


def _loss_name(estimator: Any) -> str:
    loss = estimator.loss
    return loss.name if isinstance(loss, Loss) else str(loss)


def _strength(estimator: Any) -> float:
    """C, or the one that cross-validation chose."""
    return float(vars(estimator).get("C_", vars(estimator).get("C", 1.0)))


def _logistic(estimator: Any, rows: float) -> BaseEstimator:
    from sklearn.linear_model import LogisticRegression

    ratio = float(vars(estimator).get("l1_ratio") or 0.0)
    shared = {"C": _strength(estimator), "fit_intercept": bool(vars(estimator).get("fit_intercept", True))}
    shared |= {"class_weight": vars(estimator).get("class_weight"), "max_iter": 1000}
    return LogisticRegression(l1_ratio=ratio, solver="saga" if ratio else "lbfgs", random_state=0, **shared)


def _classifier(estimator: Any, rows: float) -> BaseEstimator | str:
    from sklearn.svm import LinearSVC

    loss = _loss_name(estimator)
    if loss == "logistic":
        return _logistic(estimator, rows)
    if (
        loss not in ("hinge", "squared_hinge")
        or estimator.l1_ratio not in (0, 1)
        or (loss == "hinge" and estimator.l1_ratio)
    ):
        return f"scikit-learn's LinearSVC has no loss={loss!r} with l1_ratio={estimator.l1_ratio:g}."
    penalty = "l1" if estimator.l1_ratio else "l2"
    shared = {"C": _strength(estimator), "fit_intercept": estimator.fit_intercept, "random_state": 0}
    return LinearSVC(loss=loss, penalty=penalty, class_weight=vars(estimator).get("class_weight"), **shared)


def _regressor(estimator: Any, rows: float) -> BaseEstimator | str:
    from sklearn.linear_model import ElasticNet, QuantileRegressor, Ridge
    from sklearn.svm import LinearSVR

    loss, ratio, C = _loss_name(estimator), float(estimator.l1_ratio), _strength(estimator)
    free = {"fit_intercept": bool(estimator.fit_intercept)}
    if loss == "squared":
        return ElasticNet(alpha=1.0 / (C * rows), l1_ratio=ratio, **free) if ratio else Ridge(alpha=1.0 / C, **free)
    given = estimator.loss.get_params() if isinstance(estimator.loss, Loss) else {}
    if loss in ("absolute", "epsilon_insensitive") and ratio == 0.0:
        return LinearSVR(C=C, epsilon=float(given.get("epsilon", 0.0)), random_state=0, **free)
    if loss in ("absolute", "quantile") and ratio == 1.0:
        level = float(next(iter(given.values()), 0.5))
        return QuantileRegressor(quantile=level, alpha=1.0 / (C * rows), **free)
    return f"scikit-learn has no linear regression with loss={loss!r} and l1_ratio={ratio:g}."


def _kernel_machine(estimator: Any, rows: float) -> BaseEstimator | str:
    from sklearn.svm import SVC, SVR

    loss, name = _loss_name(estimator), type(estimator).__name__
    classifies = isinstance(estimator, own.KernelClassifier)
    if loss != ("hinge" if classifies else "epsilon_insensitive"):
        return f"scikit-learn's SVC and SVR have no loss={loss!r}, which {name} has."
    shared = {key: getattr(estimator, key) for key in ("C", "kernel", "degree", "coef0")}
    shared["gamma"] = vars(estimator).get("gamma_") or estimator.gamma
    if classifies:
        return SVC(**shared)
    given = estimator.loss.get_params() if isinstance(estimator.loss, Loss) else {}
    return SVR(epsilon=float(given.get("epsilon", 0.1)), **shared)


def _several_labels(estimator: Any, rows: float) -> BaseEstimator:
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(_logistic(estimator, rows))


def _grades(estimator: Any, rows: float) -> BaseEstimator:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=1.0 / _strength(estimator))


def _perceptron(estimator: Any, rows: float) -> BaseEstimator:
    from sklearn.linear_model import Perceptron

    return Perceptron(random_state=0)


def _drop_in(name: str) -> Callable[[Any, float], BaseEstimator]:
    def make(estimator: Any, rows: float) -> BaseEstimator:
        from sklearn import svm

        known = getattr(svm, name)().get_params()
        shared = {key: value for key, value in estimator.get_params().items() if key in _DROP_IN and key in known}
        return getattr(svm, name)(**shared, random_state=0)

    return make


_COUNTERPARTS: dict[str, Callable[[Any, float], BaseEstimator | str]] = {
    "LinearSVC": _drop_in("LinearSVC"),
    "LinearSVR": _drop_in("LinearSVR"),
    "LogisticRegression": _logistic,
    "LinearClassifier": _classifier,
    "LinearClassifierCV": _classifier,
    "LinearRegressor": _regressor,
    "LinearRegressorCV": _regressor,
    "KernelClassifier": _kernel_machine,
    "KernelRegressor": _kernel_machine,
    "MeasureClassifier": _logistic,
    "OrdinalClassifier": _logistic,
    "WinnowClassifier": _logistic,
    "MultilabelClassifier": _several_labels,
    "LinearRanker": _grades,
    "OnlineClassifier": _perceptron,
}
