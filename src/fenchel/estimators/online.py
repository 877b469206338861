"""Online linear classification: Perceptron, Winnow and p-norm algorithms, certified when asked."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.arrays import Array, Floats
from fenchel.certificate import Certificate
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.labels import one_vs_rest, unknown_labels
from fenchel.estimators.linear_model import LinearModel
from fenchel.estimators.predictions import NO_PROBABILITIES, ScoreClassifier
from fenchel.estimators.regularization import lam_of
from fenchel.estimators.sklearn_bases import WithReasons
from fenchel.estimators.stock_linear import with_scores
from fenchel.estimators.task import set_fitted, summed, validated
from fenchel.estimators.winnow import entropy_of
from fenchel.loading import of_package
from fenchel.losses import as_loss
from fenchel.problem import Model, Problem
from fenchel.regularizers import QNorm, QuadraticForm, Regularizer
from fenchel.regularizers.prior import checked_prior
from fenchel.risks import MeanRisk
from fenchel.validation import check_bool, check_choice, check_integer, check_number, is_number
from fenchel.verifying import certify

UPDATES = ("perceptron", "winnow", "normalized_winnow", "p_norm")


#: of one class against the rest: the dual vector v, and the two arrays that the loop keeps for it
_Learner = tuple[Floats, Floats, Floats]


@of_package
@dataclass(eq=False, repr=False)
class OnlineClassifier(WithReasons, ScoreClassifier, LinearModel):
    r"""Perceptron, Winnow and p-norm algorithms, with certificates on request.

    An example on the wrong side moves the dual vector, :math:`v \leftarrow v + \eta\,y\,x`, and the weights are
    :math:`w = \nabla\Omega^*(v)` ([1]_, eq. 24).  More than two classes are fitted one against the rest.  Call
    ``certify`` for a certificate.

    Parameters
    ----------
    update : {"perceptron", "winnow", "normalized_winnow", "p_norm"}, default="perceptron"
        The algorithm.
    learning_rate : float, default=1.0
        The learning rate :math:`\eta`.  The Perceptron does not depend on it; [1]_ uses 0.01 for Winnow.  The weights
        of Winnow are exponential in it and in the entries of X, which should be about 1: a fit whose weights overflow
        is refused.
    max_iter : int, default=10
        Maximum number of epochs of ``fit``, which ends after an epoch without a mistake.
    balanced : bool, default=True
        Whether the weights of Winnow have both signs, as if every row were [x, -x].
    prior : float or array-like of shape (d,) or (d + 1,), default=None
        The initial weights of Winnow; None is 0.01, or equal shares of ``mass``.  The constant feature has the last of
        d + 1 numbers, or the mean of d; its share counts in ``mass`` too.
    mass : float, default=None
        The sum of the weights of "normalized_winnow"; None is the sum of the prior (over both signs if balanced).
    p : float, default=3.0
        The exponent of "p_norm", above 1.
    fit_intercept : bool, default=True
        Whether to append a constant feature 1, which is treated like the others.
    shuffle : bool, default=True
        Whether ``fit`` visits the examples in random order; ``partial_fit`` takes them in the order given.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.

    Attributes
    ----------
    coef_ : ndarray of shape (1, d) or (classes, d)
        Weights, in float64; one row for two classes.
    intercept_ : ndarray of shape (1,) or (classes,)
        Intercepts, in float64.
    classes_ : ndarray
        The class labels.
    n_iter_ : int
        Epochs of ``fit``.
    mistakes_ : int
        Number of examples on the wrong side in the last epoch, over all classes.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    WinnowClassifier : The regularized Winnow.
    LinearClassifier : The regularized Perceptron is ``loss="hinge"``.

    References
    ----------
    .. [1] T. Zhang. "On the dual formulation of regularized linear systems with convex risks." Machine Learning 46,
           2002.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import OnlineClassifier
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 50))
    >>> y = X[:, 0] + X[:, 1] > X[:, 2]
    >>> model = OnlineClassifier("winnow", learning_rate=0.1, random_state=0).fit(X, y)
    >>> certificate = model.certify(X, y)
    """

    _reasons: ClassVar = {
        "predict_proba": NO_PROBABILITIES,
        "certificate_": "single passes over the data prove nothing by themselves; certify(X, y) judges the weights",
    }

    update: str = "perceptron"
    _: KW_ONLY
    learning_rate: float = 1.0
    max_iter: int = 10
    balanced: bool = True
    prior: Any = None
    mass: float | None = None
    p: float = 3.0
    fit_intercept: bool = True
    shuffle: bool = True
    random_state: Any = None

    def _stock(self) -> Any:
        return with_scores(self, self.coef_.copy(), self.intercept_.copy())

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from rows X and labels y, from nothing."""
        X, y, found = self._validated(X, y)
        classes, codes = np.unique(y, return_inverse=True)
        learners, random = self._learners_at_prior(len(classes), X.shape[1]), check_random_state(self.random_state)
        for passes in range(1, self.max_iter + 1):
            order = random.permutation(len(y)) if self.shuffle else np.arange(len(y))
            mistakes, found["n_iter_"] = self._learn(learners, X, codes, order), passes
            if mistakes == 0:
                break
        set_fitted(self, {**found, "classes_": classes, **self._attributes(learners, mistakes)})
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on with rows X and labels y, in their order; the first call needs all classes."""
        first = not hasattr(self, "classes_")
        X, y, found = self._validated(X, y, reset=first)
        if first:
            # scikit-learn's check sets classes_
            known = type(self)()
            _check_partial_fit_first_call(known, classes)
            found.update(classes_=known.classes_, n_iter_=1)
            learners = self._learners_at_prior(len(known.classes_), X.shape[1])
        else:
            _check_partial_fit_first_call(self, classes)
            found["classes_"] = self.classes_
            learners = deepcopy(self._learners)
        codes = _codes(y, found["classes_"])
        mistakes = self._learn(learners, X, codes, np.arange(len(y)))
        set_fitted(self, {**found, **self._attributes(learners, mistakes)})
        return self

    def certify(self, X: Any, y: Any, *, C: float = 1.0, loss: Any = "hinge", effort: float = 100.0) -> Certificate:
        """How far the weights are from the optimum of the large-margin problem of this C (summed over the classes).

        The constant feature is a feature of that problem, as it is here; X is copied to append it.
        """
        check_is_fitted(self)
        X, y = validate_data(self, X, y, reset=False, **self._input(X))
        weights, codes, regularizer = np.asarray(self.coef_), _codes(y, self.classes_), self._regularizer(X.shape[1])
        lam = lam_of(C, float(X.shape[0]))
        if self.fit_intercept:
            ones = np.ones((X.shape[0], 1))
            X = sp.csr_array(sp.hstack([X, ones])) if sp.issparse(X) else np.hstack([X, ones])
            weights = np.hstack([weights, self.intercept_[:, None]])
        found = []
        for k in range(len(weights)):
            labels = one_vs_rest(codes, k if len(weights) > 1 else 1)
            problem = Problem(X, MeanRisk(as_loss(loss, "classification"), labels), lam, regularizer)
            found.append(certify(problem, Model(weights[k], 0.0), effort=effort))
        # an online method minimizes no objective of its own: the sentence names the one that it is judged by
        return replace(sum(found[1:], start=found[0]), about=f"{as_loss(loss).name} loss with C={C:g}")

    def _validated(self, X: Any, y: Any, **options: Any) -> tuple[Any, Array, dict[str, Any]]:
        """Validate the data and check the parameters."""
        X, y, found = validated(self, X, y, **options, **self._input(X))
        for name in ("fit_intercept", "shuffle", "balanced"):
            check_bool(name, getattr(self, name))
        self._regularizer(X.shape[1])
        check_number("learning_rate", self.learning_rate, above=0.0)
        check_integer("max_iter", self.max_iter, least=1)
        check_classification_targets(y)
        return X, y, found

    def _regularizer(self, d: int) -> Regularizer:
        """The regularizer of d features and the constant one."""
        check_choice("update", self.update, UPDATES)
        if self.update == "perceptron":
            return QuadraticForm(np.ones(d + bool(self.fit_intercept)))
        if self.update == "p_norm":
            check_number("p", self.p, above=1.0)
            return QNorm(self.p / (self.p - 1.0))
        normalized = self.update == "normalized_winnow"
        return entropy_of(normalized, self._prior(d), self.mass, self.balanced, "update='normalized_winnow'")

    def _prior(self, d: int) -> Any:
        """The prior with the constant's own, if it is an array."""
        if self.prior is None or is_number(self.prior):
            return self.prior
        prior, size = np.atleast_1d(checked_prior(self.prior)), d + bool(self.fit_intercept)
        if len(prior) not in (d, size):
            constant = ", and may have one more for the constant" if self.fit_intercept else ""
            raise FenchelError(
                f"prior has {len(prior)} entries; it must have one for each of the {d} features{constant}"
            )
        return prior if len(prior) == size else np.append(prior, np.mean(prior))

    def _compiled(self, d: int) -> tuple[Any, Floats]:
        """The mirror map for loops, and the priors of d features and the constant one (0 without an intercept)."""
        regularizer, size = self._regularizer(d), d + bool(self.fit_intercept)
        # a copy that can be written, of the type that the loops are compiled for
        priors = regularizer.priors(size).copy()
        return regularizer.compiled_mirror_map(size), priors if self.fit_intercept else np.append(priors, 0.0)

    def _learners_at_prior(self, classes: int, d: int) -> list[_Learner]:
        """A learner for each class, one for two, with the weights of the prior."""
        from fenchel.solvers.dual_coordinate.loop_mirror import Mirror, rebuild

        if classes < 2:
            raise FenchelError("y must hold at least two classes, got one class only")
        mirror_map, priors = self._compiled(d)
        learners = []
        for _ in range(1 if classes == 2 else classes):
            v, nodes, carry = np.zeros(d + 1), np.zeros((d + 1, 2)), np.zeros(4)
            rebuild(mirror_map, Mirror(v, priors, nodes, carry, np.zeros((1, 2))))
            learners.append((v, nodes, carry))
        return learners

    def _learn(self, learners: Sequence[_Learner], X: Any, codes: Array, order: Array) -> int:
        """One pass for every class, which changes the learners; the number of mistakes."""
        from fenchel.solvers.dual_coordinate.loop_mirror import Mirror
        from fenchel.solvers.dual_coordinate.loop_online import online_epoch

        # repeated entries of a row would move one after the other
        rows, (mirror_map, priors) = as_design(summed(X)).rows(), self._compiled(X.shape[1])
        row_terms, constant, mistakes = np.zeros((X.shape[1], 2)), float(bool(self.fit_intercept)), 0
        for k, learner in enumerate(learners):
            labels = one_vs_rest(codes, k if len(learners) > 1 else 1)
            v, nodes, carry = learner
            mirror = Mirror(v, priors, nodes, carry, row_terms)
            rate = float(self.learning_rate)
            mistakes += online_epoch(rows, mirror_map, labels, mirror, rate, constant, order.astype(np.uint32))
            self._coef(learner)
        return mistakes

    def _coef(self, learner: _Learner) -> Floats:
        """The weights of a learner; raise if they overflowed."""
        v, nodes, _ = learner
        d = len(v) - 1
        size = d + bool(self.fit_intercept)
        with np.errstate(over="ignore", invalid="ignore"):
            weights = self._regularizer(d).grad_conjugate(v[:size])
        if not (np.all(np.isfinite(weights)) and np.all(np.isfinite(nodes[:size]))):
            raise FenchelError(
                f"the weights of update={self.update!r} overflowed: scale X so that its entries are about 1, or "
                f"lower learning_rate={self.learning_rate:g}"
            )
        return weights

    def _attributes(self, learners: list[_Learner], mistakes: int) -> dict[str, Any]:
        coef = np.stack([self._coef(learner) for learner in learners])
        intercept = np.zeros(len(coef))
        if self.fit_intercept:
            coef, intercept = np.ascontiguousarray(coef[:, :-1]), coef[:, -1].copy()
        return {"_learners": learners, "mistakes_": mistakes, "coef_": coef, "intercept_": intercept}


def _codes(y: Array, classes: Array) -> Array:
    """The index of each label's class."""
    unknown = unknown_labels(y, classes)
    if unknown:
        raise FenchelError(f"y holds labels that are not among the classes {classes!r}: {unknown[:10]!r}")
    return np.searchsorted(classes, y)
