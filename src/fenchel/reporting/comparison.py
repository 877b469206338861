"""Several models or solvers on one data set: time against the gap that is proved, and a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, clone

from fenchel.arrays import ArrayLike, MatrixLike
from fenchel.errors import FenchelError
from fenchel.markup import Markup, element, joined
from fenchel.plotting import ConvergenceDisplay, GapCurve, plot_certificate
from fenchel.plotting.gap_curves import total_curve
from fenchel.plotting.models import fitted_part
from fenchel.reporting.baseline import Entry, entries_table, fitted_entry, remarks
from fenchel.reporting.figures import needs_matplotlib, picture
from fenchel.reporting.fit_sections import data_section
from fenchel.reporting.one_model import held_out
from fenchel.reporting.page import Section, checked_target, note, page, write
from fenchel.reporting.subject import Rows, checked_weights, subject_of


def compare(
    models: Any,
    X: MatrixLike,
    y: ArrayLike,
    path: str | Path,
    *,
    X_test: Any = None,
    y_test: Any = None,
    sample_weight: ArrayLike | None = None,
    sample_weight_test: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    qid_test: Any = None,
    title: str | None = None,
) -> Path:
    """Fit several models or solvers to the same data, and write a report that compares them.

    Copies of the models are fitted one after the other; the models themselves are not changed.

    Parameters
    ----------
    models : mapping of str to estimator, or sequence of estimators
        The models, fitted or not, of this library or of others; :func:`fenchel.certify` judges the latter where it can.
        The keys are their names in the report.
    X, y : array-like
        The training data.
    path : str or Path
        The file to write.  A regular file is replaced as a whole; nothing else is ever replaced.
    X_test, y_test : array-like, default=None
        Held-out data for the scores.
    sample_weight, sample_weight_test : array-like, default=None
        Weights of the training rows, for fits and scores, and of the held-out rows, for scores.
    qid, qid_test : array-like of shape (n,), default=None
        The queries of the rows, for rankers.
    title : str, default=None
        The title of the page.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    report : One fitted model.
    fenchel.plot_convergence : The picture on its own.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LinearClassifier
    >>> from fenchel.reporting import compare
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {name: LinearClassifier("logistic", solver=name) for name in ("newton", "dual_coordinate")}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     "dual_coordinate" in compare(models, X[:100], y[:100], Path(folder) / "c.html").read_text()
    True
    """
    needs_matplotlib()
    target, named = checked_target(path), _named(models)
    train = Rows(X, y, qid, weight=checked_weights("sample_weight", sample_weight, X))
    test = held_out(X_test, y_test, qid_test, sample_weight_test)
    entries, curves, data = [], [], None
    for label, model in named.items():
        fitted = clone(model)
        entry, subject_data = _fitted(fitted, train, test, label)
        entries.append(entry)
        curves += _curve(entry, fitted)
        data = data or subject_data
    kinds = {tuple(score.name for score in entry.train) for entry in entries}
    if len(kinds) > 1:
        raise FenchelError("models must all predict the same: classes, numbers, labels, a ranking or sequences")
    sections = [
        Section("comparison", "Comparison", joined([entries_table(entries), *remarks(entries)])),
        Section("time", "Time against the proved gap", _time(curves)),
        Section("certificates", "Certificates", _certificates(entries)),
        *([data] if data is not None else []),
    ]
    judged = sum(entry.certificate is not None for entry in entries)
    words = (
        f"{len(entries)} models were fitted to the same {len(train):,} rows; {judged} of them "
        f"{'has' if judged == 1 else 'have'} a certificate."
    )
    return write(
        target, page(title or "Comparison of models", element("p", words, class_="lead"), _tiles(entries), sections)
    )


def _named(models: Any) -> dict[str, BaseEstimator]:
    """The models with their names."""
    if isinstance(models, Mapping):
        found = {str(label): model for label, model in models.items()}
    elif isinstance(models, (list, tuple)):
        names = [type(fitted_part(model)).__name__ for model in models]
        found = {
            name if names.count(name) == 1 else f"{name} {k + 1}": m
            for k, (name, m) in enumerate(zip(names, models, strict=True))
        }
    else:
        raise FenchelError(f"models must be a list or a dict of estimators, got {type(models).__name__}")
    wrong = [label for label, model in found.items() if not isinstance(model, BaseEstimator)]
    if wrong or not found:
        what = f"{wrong[0]!r} is {type(found[wrong[0]]).__name__}" if wrong else "there are none"
        raise FenchelError(f"models must be estimators, one or more: {what}")
    return found


def _fitted(model: Any, train: Rows, test: Rows | None, label: str) -> tuple[Entry, Section]:
    """Fit one model, and describe the data by it."""
    entry = fitted_entry(model, train, test, label)
    return entry, data_section(subject_of(model, train, test))


def _curve(entry: Entry, model: Any) -> list[GapCurve]:
    """The curve of a fit with a trace, or one point for another library's model."""
    if vars(fitted_part(model)).get("trace_"):
        return [total_curve(model, entry.label)]
    if entry.certificate is None or entry.seconds is None or not math.isfinite(entry.certificate.relative_gap):
        return []
    return [GapCurve.point(entry.label, entry.seconds, entry.certificate.relative_gap)]


def _time(curves: list[GapCurve]) -> Markup:
    if not curves:
        return note("None of the models has a certificate.")
    drawn = picture(
        lambda ax: ConvergenceDisplay(curves, "Certified relative gap against time").plot(ax),
        "Certified relative gap against seconds, one line for each model",
        (5.6, 4.4),
    )
    words = (
        "Markers are certificates. A model of another library has one: the gap that is proved for it, at the time of "
        "its fit; the time of the proof is not counted there."
    )
    return joined([drawn, note(words)])


def _certificates(entries: list[Entry]) -> Markup:
    known = {entry.label: entry.certificate for entry in entries if entry.certificate is not None}
    if not known:
        return note("None of the models has a certificate.")
    sentences = [element("p", element("b", label), ": ", str(one)) for label, one in known.items()]
    size = (5.6, 1.5 + 0.55 * min(12, len(known)))
    return joined([picture(lambda ax: plot_certificate(known, ax=ax), "The certificates", size), *sentences])


def _tiles(entries: list[Entry]) -> list[tuple[str, str]]:
    timed = [entry for entry in entries if entry.seconds is not None]
    found = [("models", str(len(entries)))]
    if timed:
        fastest = min(timed, key=lambda entry: entry.seconds or 0.0)
        found.append(("seconds of the fastest", f"{fastest.seconds:.3g}"))
    main = [(entry.test or entry.train)[0] for entry in entries]
    best = max(main, key=lambda score: score.value if score.higher else -score.value)
    return [*found, (f"best {best.name}", f"{best.value:.4g}")]
