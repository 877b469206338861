"""The large-margin Winnow: linear classification with an entropy for regularizer, and a certificate."""

from __future__ import annotations

from typing import Any

from fenchel.errors import FenchelError
from fenchel.estimators.classifier import LinearClassifier
from fenchel.losses import Loss
from fenchel.regularizers import Entropy, Regularizer, UnnormalizedEntropy
from fenchel.solvers import Solver
from fenchel.validation import check_switches

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


class WinnowClassifier(LinearClassifier):
    r"""Regularized Winnow of Zhang (2002), Sec. 5.2, that proves how close it is to the optimum.

    Minimizes :math:`\Omega(w) + C\sum_i\text{weight}_i f(x_i\cdot w + b, y_i)` with the relative entropy of w to a
    prior :math:`\mu` for :math:`\Omega`.  It suits many features of which few matter, with entries of similar size:
    weights grow by multiplication.  More than two classes are fitted one against the rest.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "huber_hinge", "logistic"} or a Loss, default="hinge"
    C : float, default=1.0
        Inverse strength of the regularization.
    normalized : bool, default=False
        Whether the weights (of both signs together) add up to a mass.
    balanced : bool, default=True
        Weights of both signs, as if every row were [x, -x].  Without it weights are positive.
    prior : float, array of shape (d,) or None, default=None
        :math:`\mu`, the weights of each sign to start from; None is 0.01, or equal shares of ``mass``.
    mass : float or None, default=None
        What normalized weights add up to; None is the sum of the prior (over both signs if balanced).
    fit_intercept, tol, max_iter, solver, class_weight, warm_start, random_state, n_jobs, time_limit, verbose :
        as in ``LinearClassifier``

    Attributes
    ----------
    coef_, intercept_, classes_, certificate_, certificates_, dual_gap_, converged_, n_iter_, solver_, theta_, trace_ :
        as in ``LinearClassifier``

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

    # what LinearClassifier has parameters for
    l1_ratio = 0.0
    multi_class = "ovr"

    def __init__(
        self,
        loss: str | Loss = "hinge",
        *,
        C: float = 1.0,
        normalized: bool = False,
        balanced: bool = True,
        prior: Any = None,
        mass: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: float = 1000,
        solver: str | Solver = "auto",
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.normalized = normalized
        self.balanced = balanced
        self.prior = prior
        self.mass = mass
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.time_limit = time_limit
        self.verbose = verbose

    def _regularizer(self) -> Regularizer:
        check_switches(self, "normalized", "balanced")
        return entropy_of(self.normalized, self.prior, self.mass, self.balanced)
