"""Logistic regression with scikit-learn's name and parameters, and a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from fenchel.arrays import Floats
from fenchel.errors import FenchelError
from fenchel.estimators.classifier import BaseLinearClassifier
from fenchel.estimators.regularization import elastic_net
from fenchel.estimators.screened import Screening
from fenchel.estimators.sklearn_compat.base import DropIn
from fenchel.estimators.stock_linear import namesake
from fenchel.estimators.task import Task
from fenchel.loading import of_package
from fenchel.losses import Logistic, Loss
from fenchel.progress import warn
from fenchel.regularizers import L2, Regularizer
from fenchel.solving.solution import Solution

#: scikit-learn's names of solvers
_SOLVERS = ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga")
#: lam of an unregularized fit relative to the mean variance of the features: it moves weights by about this share
_UNREGULARIZED = 1e-11
#: data passes that an iteration of ``max_iter`` stands for
_PASSES_PER_ITERATION = 10

#: smallest relative gap that is asked for; below it rounding decides
_SMALLEST_GAP = 1e-13


@of_package
@dataclass(eq=False, repr=False)
class LogisticRegression(Screening, DropIn, BaseLinearClassifier):
    r"""``sklearn.linear_model.LogisticRegression`` with a certificate.

    Minimizes :math:`\Omega(w) + C \sum_i \text{weight}_i \log(1 + e^{-y_i (x_i\cdot w + b)})` with
    :math:`\Omega(w) = \tfrac{1-\rho}{2}\|w\|^2 + \rho\|w\|_1`, as scikit-learn does; the intercept b is not
    regularized.  Above two classes it is multinomial: the loss is :math:`\log\sum_j e^{s_j} - s_y` with a score for
    each class.  It differs from scikit-learn's in that ``tol`` is the relative duality gap, which the fit proves: see
    ``certificate_``.  docs/drop-ins.md has the whole list.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", None}
        Deprecated in scikit-learn 1.8: ``l1_ratio`` says the same, and ``C=inf`` is None.
    C : float, default=1.0
        Inverse strength of the regularization.  Infinity leaves a trace of the square, 1e-11 of the features' mean
        variance: where the classes overlap the weights are those without regularization to about six digits, and where
        they can be separated, so that there are none, large ones that separate them.
    l1_ratio : float, default=0.0
        The share :math:`\rho` of the absolute values in the regularization, from 0 to 1, for any number of classes.
    dual : bool, default=False
        Changes nothing: every fit has a primal and a dual solution.
    tol : float, default=1e-4
        The relative duality gap to prove, ``(P - D) / max(|P|, |D|)``; 0 runs to the rounding floor.  The fit goes on
        to a gap of ``tol**2`` within ``max_iter``, which makes the weights right to about ``tol``, and warns if
        it does not prove ``tol``.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1
        Changes nothing: the intercept is not regularized.
    class_weight : dict, "balanced" or None, default=None
        Multiplies C for the examples of each class.
    random_state : int, RandomState or None, default=None
        Orders the examples.  None is a fixed order, so that two fits are the same.
    solver : {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"}, default="lbfgs"
        Changes nothing, and none excludes a penalty; ``LinearClassifier(loss="logistic")`` chooses among Fenchel's.
    max_iter : int, default=100
        Iterations at most, of ten passes over the data each: an iteration of scikit-learn's Newton method has as many
        products with X as its conjugate gradients take.
    verbose : int, default=0
        Show each certificate while fitting.
    warm_start : bool, default=False
        Start from the last fit's weights and dual variables.
    n_jobs : None
        Deprecated in scikit-learn 1.8; has no effect.

    Attributes
    ----------
    coef_, intercept_ : (1, d) and (1,) for two classes, else (classes, d) and (classes,); float32
        for float32 data as scikit-learn's are, with a certificate of the weights before rounding; else float64
    classes_ : the labels
    n_iter_ : data passes, an array of shape (1,)
    certificate_, certificates_, dual_gap_, converged_, screened_, theta_, trace_ : as in ``LinearClassifier``

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import LogisticRegression
    >>> X, y = make_classification(n_features=4, random_state=0)
    >>> model = LogisticRegression(random_state=0).fit(X, y)
    >>> model.predict_proba(X).shape
    (100, 2)
    >>> bool(model.certificate_.relative_gap <= 1e-4)
    True
    """

    penalty: str | None = "deprecated"
    _: KW_ONLY
    C: float = 1.0
    l1_ratio: float | None = 0.0
    dual: bool = False
    tol: float = 1e-4
    fit_intercept: bool = True
    intercept_scaling: float = 1
    class_weight: Any = None
    random_state: Any = None
    solver: str = "lbfgs"
    max_iter: int = 100
    verbose: int = 0
    warm_start: bool = False
    n_jobs: int | None = None

    multi_class = "multinomial"
    _duals: ClassVar[tuple[Any, ...]] = (True, False)

    def _check_parameters(self) -> None:
        self._one_of("solver", _SOLVERS, "LinearClassifier(loss='logistic') chooses among Fenchel's own")
        super()._check_parameters()
        self._warn_of_deprecated()

    def _is_unregularized(self) -> bool:
        return self.penalty is None or (isinstance(self.C, Real) and float(self.C) == math.inf)

    def _check_strength(self) -> None:
        if not self._is_unregularized():
            super()._check_strength()

    def encode(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        """As for any classifier; C=inf and penalty=None become a C so large that it stands for infinity."""
        task = super().encode(X, y, sample_weight)
        return replace(task, C=_almost_infinite(task, bool(self.fit_intercept))) if self._is_unregularized() else task

    def _warn_of_deprecated(self) -> None:
        """The warnings of scikit-learn 1.8 and 1.9 for parameters that end with 1.10."""
        found: list[tuple[str, type[Warning]]] = []
        ratio, penalty = self.l1_ratio, self.penalty
        if penalty != "deprecated":
            instead = "Use l1_ratio=0 for 'l2', 1 for 'l1', 0 < l1_ratio < 1 for 'elasticnet', and C=inf for None"
            found.append((f"'penalty' was deprecated in scikit-learn 1.8. {instead}", FutureWarning))
        elif ratio is None:
            found.append(("'l1_ratio=None' was deprecated in scikit-learn 1.8. Use l1_ratio=0", FutureWarning))
        if (penalty == "l2" and ratio != 0) or (penalty == "l1" and ratio != 1):
            message = f"Inconsistent values: penalty={penalty} with l1_ratio={ratio}"
            if ratio is not None and 0 < ratio < 1:
                message += (
                    f": the l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})"
                )
            found.append((message, UserWarning))
        if penalty is None and self.C != 1.0:
            found.append(("Setting penalty=None will ignore the C and l1_ratio parameters", UserWarning))
        if self.n_jobs is not None:
            found.append(("'n_jobs' has no effect since scikit-learn 1.8. Use n_jobs=None", FutureWarning))
        for message, category in found:
            warn(message, category)

    def _regularizer(self) -> Regularizer:
        if self._is_unregularized():
            return L2()
        penalty = self._one_of("penalty", ("deprecated", "l2", "l1", "elasticnet"), "l1_ratio says the same")
        ratio = self.l1_ratio
        if penalty in ("l1", "l2"):
            ratio = float(penalty == "l1")
        elif ratio is None and penalty == "elasticnet":
            raise FenchelError("l1_ratio must be specified when penalty is elasticnet: give a number from 0 to 1")
        return elastic_net(0.0 if ratio is None else ratio)

    def _target_gap(self) -> float:
        # at a gap of tol**2 the weights are accurate to about tol, which is what scikit-learn's tol asks for
        if not isinstance(self.tol, Real):
            return self.tol
        # rounding of the objective hides smaller gaps: the fit runs until its gap is within rounding
        return min(self.tol, self.tol**2) if self.tol**2 >= _SMALLEST_GAP else 0.0

    def _max_passes(self) -> float:
        return _PASSES_PER_ITERATION * self.max_iter

    def _predict_proba_lr(self, X: Any) -> Floats:
        """One-vs-rest probabilities under the name that scikit-learn's estimator has for them."""
        scores = expit(np.atleast_2d(self.decision_function(X)))
        if len(scores) == 1 and len(self.classes_) == 2:
            return np.vstack([1.0 - scores, scores]).T
        return scores / np.sum(scores, axis=1, keepdims=True)

    def _stock(self) -> Any:
        from sklearn.linear_model import LogisticRegression

        stock = namesake(self, LogisticRegression, classes=True)
        if len(self.classes_) > 2 and stock.solver == "liblinear":
            # before scikit-learn 1.8 its probabilities are those of one-vs-rest
            stock.set_params(solver="lbfgs")
        return stock

    def _loss(self) -> Loss:
        return Logistic()

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        found = super().attributes(task, solutions)
        iterations = math.ceil(max(solution.passes for solution in solutions) / _PASSES_PER_ITERATION)
        found["n_iter_"] = np.array([min(self.max_iter, max(1, iterations))], dtype=np.int32)
        if task.X.dtype == np.float32 and self.solver != "liblinear":
            found.update({name: found[name].astype(np.float32) for name in ("coef_", "intercept_")})
        return found


def _almost_infinite(task: Task, fit_intercept: bool) -> float:
    """A C that stands for infinity: a trace of ridge regularization makes the weights unique."""
    design, total = task.design, task.total_weight
    shares = np.full(design.shape[0], 1.0 / total) if task.weights is None else task.weights / total
    squares = design.column_squares(shares)
    if fit_intercept:
        squares = np.maximum(squares - design.adjoint(shares) ** 2, np.finfo(np.float64).eps * squares)
    size = float(np.mean(squares))
    return 1.0 / (_UNREGULARIZED * (size if 0.0 < size < math.inf else 1.0) * total)
