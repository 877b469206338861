"""The report of one fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from fenchel.arrays import ArrayLike, MatrixLike
from fenchel.errors import FenchelError
from fenchel.markup import Markup, element
from fenchel.reporting.baseline import baseline_section
from fenchel.reporting.figures import needs_matplotlib
from fenchel.reporting.fit_sections import (
    certificate_section,
    convergence_section,
    data_section,
    model_section,
    seconds_of,
    total,
    weights_section,
)
from fenchel.reporting.page import checked_target, page, write
from fenchel.reporting.prediction_sections import proved_section, thresholds_section
from fenchel.reporting.scores import scores, scores_section
from fenchel.reporting.subject import Rows, Subject, checked_weights, subject_of


def report(
    model: Any,
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
    baseline: Any = False,
    feature_names: Sequence[str] | None = None,
    title: str | None = None,
) -> Path:
    """Write a report of a fitted model as one HTML file that needs no network.

    It has the data, the model, the certificate in a sentence and in a picture, the convergence, the largest weights,
    scores with curves, thresholds, the share of proved predictions, and a baseline if asked.  A section that does not
    apply to the model says why.

    Parameters
    ----------
    model : fitted estimator
        Any estimator of this library, a pipeline or a search that ends with one, or an estimator of another library
        that :func:`fenchel.certify` can judge.
    X, y : array-like
        The training data, as they were given to ``fit``.
    path : str or Path
        The file to write.  A regular file is replaced as a whole; nothing else is ever replaced.
    X_test, y_test : array-like, default=None
        Held-out data; scores, curves, thresholds and proved predictions are then those of both.
    sample_weight : array-like of shape (n,), default=None
        The weights that the model was fitted with.  Scores on the training data, their ROC and precision-recall curves
        and the fit of a baseline have them too.
    sample_weight_test : array-like, default=None
        Weights of the held-out rows for their scores; None counts all of them alike.
    qid, qid_test : array-like of shape (n,), default=None
        The queries of the rows, for a ranker.
    baseline : bool or estimator, default=False
        Whether to fit scikit-learn's counterpart to the same data; or the estimator to fit instead.
    feature_names : sequence of str, default=None
        Names of the features; None takes those of a data frame.
    title : str, default=None
        The title of the page.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    compare : Several models of the same data.
    fenchel.plotting : The pictures on their own.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fenchel import LinearClassifier
    >>> from fenchel.reporting import report
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> X = X / X.max()
    >>> model = LinearClassifier(random_state=0).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = report(model, X[::2], y[::2], Path(folder) / "r.html", X_test=X[1::2], y_test=y[1::2])
    ...     "is proved to be within" in path.read_text()
    True
    """
    needs_matplotlib()
    target = checked_target(path)
    check_baseline(baseline)
    test = held_out(X_test, y_test, qid_test, sample_weight_test)
    train = Rows(X, y, qid, weight=checked_weights("sample_weight", sample_weight, X))
    subject = subject_of(model, train, test, feature_names)
    sections = [
        data_section(subject),
        model_section(subject),
        certificate_section(subject),
        convergence_section(subject),
        weights_section(subject),
        scores_section(subject),
        thresholds_section(subject),
        proved_section(subject),
    ]
    if baseline is not False:
        sections.append(baseline_section(subject, baseline))
    named = (
        title
        or f"{subject.name} on {len(subject.train):,} {'rows' if subject.kind.name != 'SEQUENCES' else 'sequences'}"
    )
    return write(target, page(named, _lead(subject), _tiles(subject), sections))


def held_out(X_test: Any, y_test: Any, qid_test: Any, weight: Any) -> Rows | None:
    """The held-out rows, if there are some."""
    if (X_test is None) != (y_test is None):
        missing, given = ("y_test", "X_test") if y_test is None else ("X_test", "y_test")
        raise FenchelError(f"{missing} must be given together with {given}")
    if X_test is None and weight is not None:
        raise FenchelError("sample_weight_test must be given together with X_test and y_test")
    if X_test is None:
        return None
    return Rows(X_test, y_test, qid_test, weight=checked_weights("sample_weight_test", weight, X_test))


def check_baseline(baseline: Any) -> None:
    """Raise unless this is True, False or an estimator."""
    if not isinstance(baseline, (bool, BaseEstimator)):
        raise FenchelError(f"baseline must be True, False or an estimator to fit, got {type(baseline).__name__}")


def _lead(subject: Subject) -> Markup:
    if not subject.certificates:
        return element("p", subject.refusal, class_="lead open")
    whole, done = total(subject.certificates), subject.fitted.get("converged_", True)
    good = bool(done) and not whole.contradictory
    return element("p", str(whole), class_="lead" if good else "lead open")


def _tiles(subject: Subject) -> list[tuple[str, str]]:
    """The main figures."""
    found = [("rows", f"{len(subject.train):,}")]
    features = subject.fitted.get("n_features_in_")
    found += [("features", f"{features:,}")] if features is not None else []
    if subject.certificates:
        whole = total(subject.certificates)
        found.append(("proved relative gap", "within rounding" if whole.at_floor else f"{whole.relative_gap:.2g}"))
    seconds = seconds_of(subject.estimator)
    found += [] if seconds is None else [("seconds of the fit", f"{seconds:.3g}")]
    rows, where = (subject.train, "training") if subject.test is None else (subject.test, "held out")
    main = scores(subject.kind, subject.estimator, rows)[0]
    return [*found, (f"{main.name}, {where}", f"{main.value:.4g}")]
