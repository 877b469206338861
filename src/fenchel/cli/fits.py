"""Fits as the options ask for them, and the proofs of fitted models again."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fenchel.cli.output import DASH, INTERRUPTED, NOT_PROVED, PROVED, say, tell
from fenchel.cli.progress import shows_progress
from fenchel.errors import FenchelError

if TYPE_CHECKING:
    from fenchel.certificate import Certificate

#: the parameters of estimators that have another name than their option
_NAMED = {"intercept": "fit_intercept", "seed": "random_state", "threads": "n_jobs"}


def configured(kind: Any, options: Namespace) -> Any:
    """An estimator of this class with the options that are its parameters."""
    given = {_NAMED.get(option, option): value for option, value in vars(options).items()}
    if given.get("beta") is None:
        # only fbeta has it
        given.pop("beta", None)
    names = {*kind().get_params(deep=False)} - {"verbose"}
    known = {name: value for name, value in given.items() if name in names}
    return kind(**known, verbose=int(shows_progress(options)))


@contextmanager
def warned() -> Iterator[None]:
    """Say each warning of a fit in a line when the fit has ended."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        # GapWarning is one, and so is what scikit-learn's own classes warn of
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    for warning in caught:
        say(f"warning: {' '.join(str(warning.message).split())}")


def fit(estimator: Any, X: Any, y: Any, **more: Any) -> bool:
    """Fit, say the warnings, and return whether Ctrl-C ended it; raised again if there is no model yet."""
    interrupted = False
    with warned():
        try:
            estimator.fit(X, y, **more)
        except KeyboardInterrupt:
            if not hasattr(estimator, "certificate_"):
                raise
            interrupted = True
    return interrupted


def report(estimator: Any, output: Path, *, interrupted: bool) -> int:
    """Print what was proved, and return the exit status."""
    passes = estimator.n_iter_
    tell(f"{estimator.solver_}: {passes} {'pass' if str(passes) == '1' else 'passes'} over the data", output)
    tell(estimator.certificate_, output)
    tell(f"written: {'standard output' if output == DASH else output}", output)
    return INTERRUPTED if interrupted else PROVED if estimator.converged_ else NOT_PROVED


def prove_again(estimator: Any, X: Any, y: Any, more: dict[str, Any], *, rigorous: bool) -> Certificate:
    """The certificate of the fitted estimator's model on the data that it was trained on.

    Only the weights and the witness are taken from the file.  Where the dual point alone proves little, because the
    conjugate of the risk has no closed form (F1 and its like) and the file has no decomposition, a new witness is
    searched for here.
    """
    from fenchel.estimators.labels import unknown_labels
    from fenchel.estimators.regularization import with_exact_lam
    from fenchel.verifying import certify

    if hasattr(estimator, "classes_"):
        unknown = unknown_labels(y, estimator.classes_)
        if unknown:
            names = ", ".join(map(str, estimator.classes_[:10])) + (", …" if len(estimator.classes_) > 10 else "")
            raise FenchelError(f"the label {unknown[0]!s} is not among the classes of the model: {names}")
    task = estimator.as_fitted(estimator.encode(X, y, **more))
    trained, given = len(estimator.theta_), task.design.shape[0]
    if trained != given:
        raise FenchelError(
            f"the model was trained on {trained} rows and these are {given}: a certificate is about the training data; "
            "use `fenchel predict` for others"
        )
    problems = estimator.problems(task)
    starts = estimator.warm_starts(task, problems)
    if None in starts:
        raise FenchelError(
            f"the data have {X.shape[1]} features and the model {estimator.n_features_in_}, or other classes: a "
            "certificate is about the training data"
        )
    found = []
    for lazy, start, known in zip(problems, starts, estimator.certificates_, strict=True):
        problem = with_exact_lam(lazy(), estimator.C) if rigorous else lazy()
        proves = problem.risk.closed_form() is not None or start.witness.decomposition is not None
        certificate = certify(problem, start.model, start.witness if proves else None, rigorous=rigorous)
        found.append(replace(certificate, about=known.about))
    return sum(found[1:], start=found[0])
