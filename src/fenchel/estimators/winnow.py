"""The large-margin Winnow: linear classification with an entropy for regularizer, and a certificate."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from fenchel.errors import FenchelError
from fenchel.estimators.classifier import BaseLinearClassifier
from fenchel.estimators.parameters import FitParameters, SolverParameters
from fenchel.loading import of_package
from fenchel.losses import Loss
from fenchel.regularizers import Entropy, Regularizer, UnnormalizedEntropy
from fenchel.validation import check_bool

#: mu of Zhang (2002), Sec. 6.1
_PRIOR = 0.01


def entropy_of(
    normalized: bool, prior: Any, mass: float | None, balanced: bool, to_normalize: str = "normalized=True"
) -> Regularizer:
    """The entropy of an estimator's parameters; ``to_normalize`` is how the user asks for normalized weights."""
    if normalized:
        return Entropy(mass, _PRIOR if prior is None and mass is None else prior, bool(balanced))
    if mass is not None:
        raise FenchelError(f"mass={mass!r} is the sum of normalized weights: use {to_normalize}, or mass=None")
    return UnnormalizedEntropy(_PRIOR if prior is None else prior, bool(balanced))


@of_package
@dataclass(eq=False, repr=False)
class WinnowClassifier(SolverParameters, FitParameters, BaseLinearClassifier):
    r"""Regularized Winnow: linear classification with an entropy regularizer and a certificate.

    Minimizes :math:`\Omega(w) + C\sum_i\text{weight}_i f(x_i\cdot w + b, y_i)` with the relative entropy of w to a
    prior :math:`\mu` for :math:`\Omega` ([1]_, Sec. 5.2).  It suits many features of which few matter, with entries of
    similar size: weights grow by multiplication.  More than two classes are fitted one against the rest.  Examples are
    visited in random order; ``solver=DualCoordinate(shuffle=False)`` has the cyclic order of Algorithm 1 as printed in
    [1]_, and ``DualCoordinate(rule="gradient", learning_rate=0.01)`` its gradient updates.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "huber_hinge", "logistic"} or Loss, default="hinge"
        The loss: a name, or an object of :mod:`fenchel.losses` with parameters.
    C : float, default=1.0
        Inverse strength of the regularization; positive.
    warm_start : bool, default=False
        Whether a fit starts from the weights and the dual variables of the last one.
    tol : float, default=1e-3
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    time_limit : float, default=None
        Maximum number of seconds for the whole fit; the best model so far is kept with its certificate.
    verbose : int, default=0
        Whether to report each certificate during the fit.
    normalized : bool, default=False
        Whether the weights (of both signs together) sum to ``mass``.
    balanced : bool, default=True
        Whether weights have both signs, as if every row were [x, -x]; otherwise they are positive.
    prior : float or array-like of shape (d,), default=None
        The prior :math:`\mu`, the weights of each sign without data; None is 0.01, or equal shares of ``mass``.
    mass : float, default=None
        The sum of normalized weights; None is the sum of the prior (over both signs if balanced).
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not regularized.  Where the best intercept is an interval, its midpoint
        is used.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply the weights of their examples; "balanced" uses weights inversely
        proportional to the sizes of all classes.
    n_jobs : int, default=None
        Threads over the classes or pairs of classes, and within a problem where the solver uses them.  The result does
        not depend on it.
    checkpoint : path, default=None
        A file for the best model and dual point so far, from which the next fit of the same data and parameters starts,
        as in :class:`LinearClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        Weights, in float64; one row for two classes.
    intercept_ : ndarray of shape (1,) or (classes,)
        Intercepts, in float64.
    classes_ : ndarray
        The class labels.
    certificate_ : Certificate
        The duality gap of the fit, summed over the problems that were solved; print it.
    certificates_ : list of Certificate
        One certificate for each problem that was solved.
    dual_gap_ : float
        The duality gap, ``certificate_.gap``.
    converged_ : bool
        Whether every certificate proves ``tol``.
    n_iter_ : float
        Passes over the data, the maximum over the problems that were solved.
    solver_ : str
        The solver, or the solvers that took part in turn.
    theta_ : ndarray
        The dual variables, the witness from which anybody can recompute the certificate.
    trace_ : list of TracePoint
        The certificates on the way; a list of such lists if several problems were solved.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    OnlineClassifier : The online Winnow.
    fenchel.regularizers.Entropy : The regularizer of normalized weights.
    fenchel.regularizers.UnnormalizedEntropy : The regularizer of weights without a fixed sum.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import WinnowClassifier
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 50))
    >>> y = X[:, 0] + X[:, 1] > X[:, 2]
    >>> model = WinnowClassifier(random_state=0).fit(X, y)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    """

    loss: str | Loss = "hinge"
    _: KW_ONLY
    normalized: bool = False
    balanced: bool = True
    prior: Any = None
    mass: float | None = None
    fit_intercept: bool = True
    class_weight: Any = None
    n_jobs: int | None = None
    checkpoint: Path | str | None = None

    multi_class = "ovr"

    def _regularizer(self) -> Regularizer:
        check_bool("normalized", self.normalized)
        check_bool("balanced", self.balanced)
        return entropy_of(self.normalized, self.prior, self.mass, self.balanced)
