"""The choice of C by cross-validation, for the command ``cv``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fenchel.cli.fits import fit
from fenchel.cli.names import numbers
from fenchel.cli.objective import estimator_of, is_regression, kind_of_estimator, label_of
from fenchel.cli.reading import Data
from fenchel.errors import FenchelError

#: what only the estimators with cross-validation store
_OF_FOLDS = ("C_", "Cs_", "scores_", "gaps_")


class Selection(NamedTuple):
    """The chosen C, its model, and the table of all values."""

    C: float
    score: str
    estimator: Any
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    interrupted: bool


def chosen_by_folds(options: Namespace, data: Data) -> Selection:
    """Choose C by the mean score on held-out folds, and fit all rows."""
    Cs = np.logspace(-4, 4, 10) if options.Cs is None else np.unique(numbers("Cs", options.Cs))
    if options.folds < 2:
        raise FenchelError(f"--folds must be at least 2, got {options.folds}")
    if not np.all(Cs > 0.0):
        raise FenchelError(f"--Cs must be positive, got {options.Cs}")
    folds = _of_measure if options.measure is not None else _of_loss
    estimator, C, scores, gaps, interrupted = folds(options, data, Cs)
    name = options.scoring or ("R²" if is_regression(options) else options.measure or "accuracy")
    header = ("C", f"mean {name}", "spread", "largest proved gap")
    rows = [
        (f"{value:g}", f"{np.mean(own):.4f}", f"{np.std(own):.4f}", f"{np.max(gap):.1e}")
        for value, own, gap in zip(Cs, scores.T, gaps.T, strict=True)
    ]
    return Selection(C, name, estimator, header, rows, interrupted)


def _of_loss(options: Namespace, data: Data, Cs: Any) -> tuple[Any, float, Any, Any, bool]:
    """Folds along all values of C with warm starts, by the estimators that do so."""
    from fenchel.estimators import LinearClassifierCV, LinearRegressorCV

    kind = LinearRegressorCV if is_regression(options) else LinearClassifierCV
    search = estimator_of(options, kind).set_params(Cs=Cs, cv=options.folds, scoring=options.scoring)
    interrupted = fit(search, data.X, data.y, **data.more)
    single = kind_of_estimator(options)
    shared = {name: value for name, value in search.get_params(deep=False).items() if name in single().get_params()}
    final = single(**shared, C=search.C_)
    # both are fitted by the same problem: what is stored is that of a fit with this C
    for name, value in vars(search).items():
        if name not in search.get_params() and name not in _OF_FOLDS:
            setattr(final, name, value)
    return final, search.C_, search.scores_, search.gaps_, interrupted


def _of_measure(options: Namespace, data: Data, Cs: Any) -> tuple[Any, float, Any, Any, bool]:
    """A fit for each fold and each C; a measure has no path."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    estimator = estimator_of(options)
    if options.positive is not None:
        estimator.set_params(pos_label=label_of(options.positive, data.y))
    scorer = _scorer(options, estimator)
    splits = list(StratifiedKFold(options.folds).split(data.X, data.y))
    scores, gaps = np.full((2, len(splits), len(Cs)), np.nan)
    for k, (train, test) in enumerate(splits):
        own, held_out = data.taken(train), data.taken(test)
        for place, C in enumerate(Cs):
            model = clone(estimator).set_params(C=float(C))
            if fit(model, own.X, own.y, **own.more):
                raise KeyboardInterrupt
            scores[k, place] = scorer(model, held_out.X, held_out.y)
            gaps[k, place] = model.certificate_.relative_gap
    C = float(Cs[int(np.argmax(np.mean(scores, axis=0)))])
    final = estimator.set_params(C=C)
    return final, C, scores, gaps, fit(final, data.X, data.y, **data.more)


def _scorer(options: Namespace, estimator: Any) -> Callable[[Any, Any, Any], float]:
    """The score of a model on held-out rows: what the user asks for, or the measure itself."""
    from sklearn.metrics import check_scoring, fbeta_score

    known = {"accuracy": "accuracy", "roc_auc": "roc_auc"}
    if options.scoring is not None or options.measure in known:
        return check_scoring(estimator, options.scoring or known[options.measure])
    if options.measure not in ("f1", "fbeta"):
        raise FenchelError(f"--measure {options.measure} has no score on folds; choose one with --scoring, such as f1")
    beta = 1.0 if options.measure == "f1" or options.beta is None else options.beta

    def score(model: Any, X: Any, y: Any) -> float:
        two = len(model.classes_) == 2
        more = {"pos_label": model.pos_label_} if two else {"average": "macro"}
        return float(fbeta_score(y, model.predict(X), beta=beta, zero_division=0.0, **more))

    return score
