"""Linear ranking with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from fenchel.arrays import ArrayLike, Floats, MatrixLike
from fenchel.certificate import CertifiedPredictions
from fenchel.certificate.optimum_of_fit import OptimumOfFit
from fenchel.designs import as_design
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem, LinearEstimator
from fenchel.estimators.parameters import FitParameters, SolverParameters
from fenchel.estimators.regularization import lam_of
from fenchel.estimators.stock_linear import scores_as_regressor
from fenchel.estimators.task import Task, checked_targets, checked_weights, validated
from fenchel.loading import of_package
from fenchel.metrics import ndcg_score
from fenchel.problem import Problem
from fenchel.progress import warn
from fenchel.risks import NDCG, RANKINGS, Risk
from fenchel.risks.ranking.ndcg import GAINS
from fenchel.risks.ranking.queries import query_numbers
from fenchel.solving.deadline import Deadline
from fenchel.solving.solution import Solution
from fenchel.validation import check_choice, check_integer

#: ranks that ``score`` counts
_SCORED_RANKS = 10


@of_package
@dataclass(eq=False, repr=False)
class LinearRanker(SolverParameters, FitParameters, LinearEstimator):
    r"""Linear ranking of the rows of queries with a duality-gap certificate.

    Minimizes :math:`\Omega(w) + C \sum_q \text{weight}_q\, R_q(X_q w)`, a sum over queries.  For a pairwise loss f,
    :math:`R_q` is the mean of :math:`f(s_i - s_j)` over the pairs of rows of the query of which i has the higher label;
    for "ndcg" it is a convex bound on one minus the NDCG of the query.  Queries whose rows all have the same label say
    nothing and are omitted.

    Parameters
    ----------
    loss : {"pairwise_hinge", "pairwise_squared_hinge", "pairwise_logistic", "ndcg"}, default="pairwise_hinge"
        The loss of a query: the hinge (RankSVM), the squared hinge :math:`[1-t]_+^2` or the logistic loss
        :math:`\log(1+e^{-t})` of pairs, or the structured bound on the NDCG.
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
    gain : {"exponential", "linear"}, default="exponential"
        The gain of a row of grade y, :math:`2^y - 1` or y, for the loss "ndcg" and for ``score``.
    k : int, default=None
        With the loss "ndcg", the number of ranks that count; None counts all.
    l1_ratio : float, default=0.0
        The mixing parameter :math:`\rho` of the elastic net, from 0 to 1: 0 is ridge (L2), 1 is lasso (L1).
    n_jobs : int, default=None
        Threads within the fit where the solver uses them.  The result does not depend on it.
    checkpoint : path, default=None
        A file for the best model and dual point so far, from which the next fit of the same data and parameters starts,
        as in :class:`LinearClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights, in float64; rows with larger scores X w are ranked first.
    intercept_ : float
        Zero: a ranking does not depend on it.
    n_queries_ : int
        The number of queries that the fit counts: those with rows of different labels.
    decompositions_ : list of ndarray or None
        The ``decomposition`` of the :class:`fenchel.Witness`, which proves a bound on the conjugate.
    certificate_ : Certificate
        The duality gap of the fit; print it.
    certificates_ : list of Certificate
        The same in a list.
    dual_gap_ : float
        The duality gap, ``certificate_.gap``.
    converged_ : bool
        Whether the certificate proves ``tol``.
    n_iter_ : float
        Passes over the data.
    solver_ : str
        The solver, or the solvers that took part in turn.
    theta_ : ndarray
        The dual variables, the witness from which anybody can recompute the certificate.
    trace_ : list of TracePoint
        The certificates on the way.
    n_features_in_ : int
        Number of features seen during ``fit``.

    See Also
    --------
    fenchel.metrics.ndcg_score : What ``score`` returns, with other numbers of ranks.
    OrdinalClassifier : Ordered classes without queries.

    Notes
    -----
    With ``sklearn.set_config(enable_metadata_routing=True)`` and ``set_fit_request(qid=True)``,
    ``set_score_request(qid=True)``, cross-validation passes the queries of its folds on; split with ``GroupKFold`` so
    that no query is divided.

    References
    ----------
    .. [1] T. Joachims. "Optimizing search engines using clickthrough data." KDD, 2002.
    .. [2] O. Chapelle, Q. Le and A. Smola. "Large margin optimization of ranking measures." NIPS workshop, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import LinearRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.standard_normal((200, 3)), np.repeat(np.arange(20), 10)
    >>> y = np.digitize(X[:, 0] - X[:, 1] + qid, np.arange(22))
    >>> model = LinearRanker().fit(X, y, qid=qid)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    >>> bool(model.score(X, y, qid=qid) > 0.9)
    True
    """

    loss: str = "pairwise_hinge"
    _: KW_ONLY
    gain: str = "exponential"
    k: int | None = None
    l1_ratio: float = 0.0
    n_jobs: int | None = None
    checkpoint: Path | str | None = None

    #: differences of scores do not see an intercept
    fit_intercept = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> Self:
        """Fit to rows X with relevance grades y in queries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows, in any order.
        y : array-like of shape (n,)
            Relevance grades: higher ones are to be ranked first.
        sample_weight : array-like of shape (n,), default=None
            For each row the weight of its query, or zero for a row to be omitted.
        qid : array-like of shape (n,), default=None
            The query of each row, numbers or strings; None is one query for all rows.

        Returns
        -------
        LinearRanker
            The fitted estimator.
        """
        deadline = Deadline(self.time_limit)
        return self._fit_and_store(self.encode(X, y, sample_weight, qid), deadline)

    def encode(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> Task:
        """Check the parameters and the data."""
        self._check_parameters()
        checked_targets(y, "a ranking", "encode grades as 0, 1, ..., from the least to the most relevant")
        X, y, fitted = validated(self, X, y, y_numeric=True, **self._input(X))
        weights = checked_weights(sample_weight, X)
        targets = np.array(y, dtype=np.float64)
        if len(targets) == 1:
            raise FenchelError("X has 1 sample; a ranking needs at least two rows in a query")
        task = self._task(X, weights, y=targets, targets=targets, sample_weight=weights, fitted=fitted)
        return task if qid is None else replace(task, queries=query_numbers(qid, len(targets), "qid"))

    def problems(self, task: Task) -> list[LazyProblem]:
        return [lambda: self._ranking(task)]

    def attributes(self, task: Task, solutions: Sequence[Solution]) -> dict[str, Any]:
        found = super().attributes(task, solutions)
        return {
            **found,
            "coef_": found["coef_"][0],
            "intercept_": 0.0,
            "n_queries_": len(self._risk(task).queries.informative),
            "decompositions_": [solution.witness.decomposition for solution in solutions],
        }

    def predict(self, X: MatrixLike) -> Floats:
        """The score of each row: within a query, rows are ranked by falling scores."""
        return self._scores(X)

    def _stock(self) -> Any:
        return scores_as_regressor(self)

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> float:
        """The mean over queries of NDCG@10 of the ranking by the scores, with ``gain``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The rows.
        y : array-like of shape (n,)
            Relevance grades, not negative.
        sample_weight : array-like of shape (n,), default=None
            For each row the weight of its query.
        qid : array-like of shape (n,), default=None
            The query of each row; None is one query for all rows.

        Returns
        -------
        float
            From 0 to 1; NaN if no query has a row of positive grade.
        """
        if qid is None and self.n_queries_ > 1:
            raise FenchelError(
                f"score needs qid, the query of each row: the model was fitted to {self.n_queries_} queries. In a "
                "search or a pipeline route it with metadata routing, LinearRanker().set_score_request(qid=True)"
            )
        return ndcg_score(y, self.predict(X), qid, k=_SCORED_RANKS, gain=self.gain, sample_weight=sample_weight)

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, list(RANKINGS))
        check_choice("gain", self.gain, list(GAINS))
        check_integer("k", self.k, least=1, optional=True)
        if self.k is not None and self.loss != NDCG.name:
            raise FenchelError(f"k={self.k!r} is for loss='ndcg'; the pairwise losses count all pairs: omit k")
        self._regularizer()
        self._check_strength()
        self._check_run()

    def _risk(self, task: Task) -> Any:
        kind, data = RANKINGS[self.loss], (task.targets, task.queries, task.weights)
        return NDCG(*data, gain=self.gain, k=self.k) if kind is NDCG else kind(*data)

    def _ranking(self, task: Task) -> Problem:
        """The problem, with lam = 1 / (C times the weight of the queries that count)."""
        risk: Risk = self._risk(task)
        return Problem(task.design, risk, lam_of(task.C, risk.total_weight), task.regularizer)

    def _warn_unless_converged(self, task: Task, solutions: Sequence[Solution]) -> None:
        super()._warn_unless_converged(task, solutions)
        if self.loss == NDCG.name and not np.any(self.coef_):
            warn(
                f"{type(self).__name__}: no weights are better than zero by more than {self.certificate_.gap:.2g} in "
                "the bound on the NDCG, which is weak where grades overlap; use a pairwise loss, or a larger C"
            )

    def _proved(self: Any, optimum: OptimumOfFit, X: MatrixLike) -> CertifiedPredictions:
        design = as_design(self._rows(X))
        return optimum.predict(design, design.scores(self._weights()))
