"""``certify`` in one call: how far a fitted estimator of another library is from the optimum of its own objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from fenchel.arrays import MatrixLike
from fenchel.certificate import Certificate
from fenchel.errors import FenchelError
from fenchel.estimators.last_step import last_step
from fenchel.estimators.task import checked_weights
from fenchel.estimators.texts import check_no_texts
from fenchel.interop.objective import Data, Objective
from fenchel.interop.peers import PEERS
from fenchel.interop.sklearn_models import SKLEARN
from fenchel.markup import PROVED, WRONG, card
from fenchel.problem import Model, Problem, Witness
from fenchel.solving.solution import Solution
from fenchel.validation import described
from fenchel.verifying import DEFAULT_EFFORT
from fenchel.verifying import certify as certify_model

#: how an objective is read, by the package and the name of the class
READERS = {**SKLEARN, **PEERS}
#: the libraries whose classes are identified by name
LIBRARIES = {key.partition(".")[0] for key in READERS}
#: roundings at most of lambda and of the weight of an example: regularizers and losses are not negative here
TRANSLATED = 8.0


@dataclass(frozen=True, eq=False)
class Judgement:
    """What :func:`fenchel.certify` says of an estimator of another library.

    Parameters
    ----------
    objective : str
        The objective that was judged, with the values of its parameters.
    certificates : tuple of Certificate
        One for each problem: the classes of one-vs-rest, or the targets, are separate ones.

    Attributes
    ----------
    certificate : Certificate
        Their sum: the objective of the estimator and a bound on the best one, both divided by the total weight of the
        examples (and by C).

    See Also
    --------
    certify : Where it comes from.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import Ridge
    >>> from fenchel import certify
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> certify(Ridge(alpha=1.0).fit(X, y), X, y).objective
    'alpha |w|²/2 + ½ sum (s - y)², alpha=1, intercept not regularized'
    """

    objective: str
    certificates: Sequence[Certificate]

    @property
    def certificate(self) -> Certificate:
        return reduce(add, self.certificates)

    @property
    def relative_gap(self) -> float:
        """The relative gap of the sum."""
        return self.certificate.relative_gap

    def _repr_html_(self) -> str:
        return card(WRONG if self.certificate.contradictory else PROVED, str(self).splitlines())

    def __str__(self) -> str:
        lines = [f"Judged: {self.objective}.", str(self.certificate)]
        if len(self.certificates) > 1:
            worst = max(range(len(self.certificates)), key=lambda k: self.certificates[k].relative_gap)
            lines.append(
                f"The worst of {len(self.certificates)} problems is number {worst}: {self.certificates[worst]}"
            )
        return "\n".join(lines)


@overload
def certify(
    problem: Problem,
    model: Model | Solution | ArrayLike,
    witness: Witness | ArrayLike | None = None,
    *,
    effort: float = DEFAULT_EFFORT,
    rigorous: bool = False,
) -> Certificate: ...


@overload
def certify(
    problem: Any,
    model: Any,
    witness: Any,
    *,
    sample_weight: ArrayLike | None = None,
    effort: float = DEFAULT_EFFORT,
    rigorous: bool = False,
) -> Judgement: ...


def certify(
    problem: Any,
    model: Any,
    witness: Any = None,
    *,
    sample_weight: ArrayLike | None = None,
    effort: float = DEFAULT_EFFORT,
    rigorous: bool = False,
) -> Certificate | Judgement:
    r"""Prove how far a model is from the optimum: ``certify(problem, model)`` or ``certify(estimator, X, y)``.

    Parameters
    ----------
    problem : Problem or fitted estimator
        The problem that the model is meant to solve; or a fitted estimator of scikit-learn, skglm, celer or ReHLine, a
        pipeline or a search that ends with one, or a model of LIBLINEAR's Python package: its parameters say what it
        minimizes.
    model : Model, Solution or array-like
        The model to judge.  An array holds weights, to which the best intercept is added if the problem has one.  A
        Solution brings its own witness.  For an estimator: the matrix X that it was fitted to.
    witness : Witness or array-like, default=None
        A dual point :math:`\theta`, such as ``Solution.witness`` or ``theta_`` of an estimator.  None searches for one,
        as for the weights of another library: from the subgradient at the model, by gradient steps and dual ascent.
        For an estimator: the targets y that it was fitted to.
    sample_weight : array-like of shape (n,), default=None
        For an estimator: the weights that it was fitted with.
    effort : float, default=300
        Maximum number of data passes of that search.  It ends sooner when more passes could reduce the gap by a tenth
        at most: the gap is then that close to the true suboptimality of the model.  Ctrl-C ends it too, with the best
        certificate so far.
    rigorous : bool, default=False
        Whether both bounds are computed in ball arithmetic with about 32 digits, which rests on IEEE 754 arithmetic
        alone.  It takes some hundred times as long as an ordinary certificate, and resolves gaps that rounding hides
        from that one.  Risks without enclosures, such as F1, are refused.

    Returns
    -------
    Certificate or Judgement
        The primal objective of the model and a lower bound on the objective of every model; for an estimator also the
        objective that was judged.

    See Also
    --------
    solve : Minimize a problem; the result has a certificate already.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.svm import LinearSVC
    >>> from fenchel import Problem, certify
    >>> from fenchel.risks import MeanRisk
    >>> problem = Problem(np.array([[1.0], [-1.0]]), MeanRisk("hinge", [1, -1]), lam=0.5)
    >>> print(certify(problem, np.array([1.0])))
    The objective 0.25 is optimal to the accuracy of the arithmetic: no model is below 0.25.
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X / X.max(axis=0)
    >>> bool(certify(LinearSVC(C=0.1, tol=1e-9).fit(X, y), X, y).relative_gap < 1e-6)
    True
    """
    if isinstance(problem, Problem):
        if sample_weight is not None:
            raise FenchelError("sample_weight is for estimators; the risk of a Problem has its weights")
        return certify_model(problem, model, witness, effort=effort, rigorous=rigorous)
    objective = read(problem, model, witness, sample_weight)
    found = [
        certify_model(part.problem, part.model, part.witness, effort=effort, rigorous=rigorous).scaled(
            1.0, roundings=TRANSLATED
        )
        for part in objective.parts
    ]
    return Judgement(objective.words, tuple(found))


def read(estimator: Any, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Objective:
    """The objective of a fitted estimator on its data; an error that says why if it can't be judged."""
    if isinstance(estimator, BaseEstimator):
        estimator, X = last_step(estimator, X)
    # a class of yours may extend one of theirs; theirs, as MultiTaskLasso extends Lasso, change the objective
    theirs = (_name(cls) for cls in type(estimator).__mro__ if _name(cls).partition(".")[0] in LIBRARIES)
    reader = READERS.get(next(theirs, ""))
    if reader is None or _name(type(estimator)).startswith("fenchel."):
        raise _not_judged(estimator)
    if y is None:
        raise FenchelError(f"certify({type(estimator).__name__}, X, y) needs the targets y")
    if not _name(type(estimator)).startswith("liblinear."):
        check_is_fitted(estimator)
    check_no_texts(X, type(estimator).__name__)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    features = vars(estimator).get("n_features_in_", X.shape[1])
    if X.shape[1] != features:
        name = type(estimator).__name__
        raise FenchelError(
            f"X has {X.shape[1]} features, and the {name} was fitted to {features}: pass the X of its fit"
        )
    targets = np.asarray(y)
    check_consistent_length(X, targets)
    given = checked_weights(sample_weight, X)
    weights = np.ones(len(targets)) if given is None else given
    objective = reader(estimator, Data(sp.csr_array(X) if sp.issparse(X) else X, targets, weights))
    weighted = _weights_in_words(estimator, sample_weight)
    return replace(objective, words=objective.words + weighted) if weighted else objective


def _weights_in_words(estimator: Any, sample_weight: ArrayLike | None) -> str:
    """What multiplies the loss of each example, where something does."""
    asked = vars(estimator).get("class_weight")
    classes = "" if asked is None else f", class_weight={asked!r}"
    return classes + ("" if sample_weight is None else ", with sample_weight")


def _not_judged(estimator: Any) -> Exception:
    """The error for what is not the estimator of another library."""
    if isinstance(estimator, type) or not isinstance(estimator, BaseEstimator):
        return FenchelError(
            f"certify takes a fitted estimator with the data of its fit, as in certify(estimator, X, y), or a Problem "
            f"with a model; its first argument is {described(estimator)}"
        )
    name = type(estimator).__name__
    check_is_fitted(estimator)
    if _name(type(estimator)).startswith("fenchel."):
        has_one = "certificate_" in vars(estimator)
        advice = "has certificate_ already: print it, or use `fenchel certify` for a model file and its data"
        return FenchelError(f"{name} {advice if has_one else without_certificate(estimator)}")
    if "estimators_" in vars(estimator):
        return FenchelError(f"{name} has several models: certify each of its estimators_ with the data of its own fit")
    library = type(estimator).__module__.partition(".")[0]
    own = [known.partition(".")[2] for known in sorted(READERS) if known.startswith(f"{library}.")]
    known = f"certify knows {', '.join(own)} of {library}" if own else f"certify knows {', '.join(sorted(LIBRARIES))}"
    return FenchelError(f"{name} is not known here; write its objective as a Problem. {known}")


def without_certificate(estimator: Any) -> str:
    """Why a fitted estimator of this package has no certificate, and what to do: the end of a sentence."""
    if hasattr(estimator, "partial_fit"):
        return "has no certificate: it makes single passes over the data. Its own certify(X, y) judges it"
    return "has no certificate: its parameters were changed after the fit, or it was made by hand. Fit it again"


def _name(cls: type) -> str:
    return f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
