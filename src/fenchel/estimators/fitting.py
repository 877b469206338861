"""The one path from validated arrays to fitted attributes that every estimator takes."""

from __future__ import annotations

import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial, reduce
from numbers import Integral, Real
from operator import add
from typing import Any, NamedTuple, Self

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from fenchel.designs import Design, as_design
from fenchel.errors import FenchelError, GapWarning
from fenchel.losses import Loss
from fenchel.problem import Model, Problem, Witness
from fenchel.progress import reporter
from fenchel.regularizers import L1, L2, REGULARIZERS, ElasticNet, Regularizer
from fenchel.risks import MeanRisk
from fenchel.solution import Solution, Status
from fenchel.solvers import Solver
from fenchel.solvers.base import Start, Warm
from fenchel.solving import solve

#: what check_array is told for every X: any real type, sparse formats that have rows or columns
INPUT = {"accept_sparse": ("csr", "csc"), "accept_large_sparse": True, "dtype": "numeric"}


def input_of(X: Any) -> dict[str, Any]:
    """What check_array is told for this X.

    Arrays are used in place in whatever order they are.  A data frame is made an array in C order, since its columns
    usually lie apart: loops go by rows, and a fit on scattered rows takes several times as long.
    """
    return INPUT if isinstance(X, np.ndarray) or not hasattr(X, "columns") else {**INPUT, "order": "C"}


def mixed(l1_ratio: float) -> Regularizer:
    """The regularizer of an estimator's ``l1_ratio``: the square, the absolute value, or a mixture."""
    if isinstance(l1_ratio, Real) and not isinstance(l1_ratio, bool) and l1_ratio == 1:
        return L1()
    mixture = ElasticNet(l1_ratio)
    return mixture if l1_ratio else L2()


def named(regularizer: str | Regularizer, l1_ratio: float) -> Regularizer:
    """The regularizer of that name, or itself; ``l1_ratio`` belongs to the elastic net alone."""
    if isinstance(regularizer, str) and regularizer in REGULARIZERS:
        if regularizer == ElasticNet.name:
            return ElasticNet(l1_ratio) if l1_ratio else ElasticNet()
        regularizer = REGULARIZERS[regularizer]()
    if not isinstance(regularizer, Regularizer):
        raise FenchelError(f"regularizer={regularizer!r} is unknown; choose one of {list(REGULARIZERS)} or an object")
    if l1_ratio:
        raise FenchelError(
            f"l1_ratio={l1_ratio!r} and regularizer={regularizer.name!r} both choose the regularization: leave one"
        )
    return regularizer


def check_numbers(y: Any) -> None:
    """Refuse targets of a regression that are words."""
    values = np.asarray(y)
    if values.dtype.kind in "US":
        try:
            values.astype(np.float64)
        except ValueError as error:
            raise FenchelError(f"y must hold numbers for a regression: {error}; use a classifier for labels") from error


class Given(NamedTuple):
    """What a user gave besides X, checked."""

    y: NDArray
    sample_weight: NDArray[np.float64] | None


class LinearEstimator(BaseEstimator):
    """What classifiers and regressors share: parameters, fitting of one or several problems, scores."""

    #: those that have this parameter set it
    regularizer: str | Regularizer | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def dual_gap_(self) -> float:
        """The certified gap, ``certificate_.gap``."""
        return self.certificate_.gap

    def set_params(self, **params: Any) -> Self:
        """As scikit-learn's; a parameter of a loss, such as ``loss__quantile``, makes a new loss of the same kind."""
        of_loss = {name.partition("__")[2]: value for name, value in params.items() if name.startswith("loss__")}
        super().set_params(**{name: value for name, value in params.items() if not name.startswith("loss__")})
        if of_loss:
            loss = getattr(self, "loss", None)
            known: dict[str, Any] = loss.get_params() if isinstance(loss, Loss) else {}
            for name in of_loss:
                if name not in known:
                    allowed = ", ".join(known) or "none: give a Loss object, such as Quantile(0.9)"
                    raise FenchelError(f"loss__{name} is no parameter of loss={loss!r}; it has {allowed}")
            kind: Any = type(loss)
            self.loss: Any = kind(**{**known, **of_loss})
        return self

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **input_of(X))
        return as_design(X).scores(self._weights()) + self.intercept_

    def _weights(self) -> NDArray[np.float64]:
        """``coef_`` as an array, whether or not it was made sparse."""
        coef: Any = self.coef_
        return coef.toarray() if sp.issparse(coef) else coef

    def _check_parameters(self) -> None:
        """Raise for a parameter that no data could make right, before the data are looked at."""
        self._loss()
        self._regularizer()

    def _regularizer(self) -> Regularizer:
        regularizer = getattr(self, "regularizer", None)
        return mixed(self.l1_ratio) if regularizer is None else named(regularizer, self.l1_ratio)

    def _solver(self) -> str | Solver:
        return self.solver

    def _risk(self, labels: NDArray, weights: NDArray | None) -> Any:
        """The risk of one column of labels."""
        return MeanRisk(self._loss(), labels, weights)

    def _taking_part(self, labels: NDArray, weights: NDArray | None) -> tuple[NDArray, NDArray | None]:
        """The labels and the weights of one column."""
        return labels, weights

    def _stacked(self, thetas: list[Any]) -> Any:
        """The dual variables of several columns side by side."""
        return np.stack(thetas, axis=1)

    def _strength(self) -> float:
        """The C to fit with."""
        return self.C

    def _fit_columns(
        self, X: Any, columns: Sequence[Callable[[], NDArray]], weights: NDArray | None, given: Given
    ) -> None:
        """Fit one problem for each column of labels and store what users see.

        A column is a function, so that the labels of many classes need not exist at once; ``given`` is what they and
        the weights were made of.
        """
        self._check_numbers()
        design = as_design(X)
        problems = [partial(self._problem, design, column, weights, self._strength()) for column in columns]
        warm = self._warm_starts(len(columns), design.shape[1])
        solutions, interrupted = self._solve_all(problems, warm)
        self._store(solutions)
        if interrupted:
            raise KeyboardInterrupt
        self._warn_unless_converged(solutions)

    def _check_numbers(self) -> None:
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise FenchelError(f"fit_intercept must be True or False, got {self.fit_intercept!r}")
        if self.n_jobs is not None and (isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, Integral)):
            raise FenchelError(f"n_jobs must be None or an integer, got {self.n_jobs!r}")
        if self.n_jobs == 0:
            raise FenchelError("n_jobs must not be 0: use None or 1 for one thread, -1 for all processors")
        if not isinstance(self.warm_start, (bool, np.bool_)):
            raise FenchelError(f"warm_start must be True or False, got {self.warm_start!r}")
        if not isinstance(self.verbose, (bool, np.bool_, Integral)):
            raise FenchelError(f"verbose must be an integer, 0 for silence, got {self.verbose!r}")

    def _problem(self, design: Design, labels: Callable[[], NDArray], weights: NDArray | None, C: float) -> Problem:
        """The problem for one column of labels."""
        found, weights = self._taking_part(labels(), weights)
        if isinstance(C, bool) or not isinstance(C, Real) or not 0 < float(C) < math.inf:
            raise FenchelError(f"C must be a positive finite number, got {C!r}")
        total = float(design.shape[0]) if weights is None else float(np.sum(weights))
        lam = 1.0 / (float(C) * total)
        if not 0 < lam < math.inf:
            raise FenchelError(f"C={C!r} is too extreme for the sum of the sample weights, {total:.3g}")
        risk = self._risk(found, weights)
        intercept = bool(self.fit_intercept) and getattr(risk, "sees_intercept", True)
        return Problem(design, risk, lam, self._regularizer(), intercept)

    def _solve_all(
        self, problems: Sequence[Callable[[], Problem]], warm: Sequence[Warm | None]
    ) -> tuple[list[Solution], bool]:
        """Solve side by side in threads; after Ctrl-C every solve ends soon with its best model."""
        stop = threading.Event()
        seeds = self._random().randint(2**31 - 1, size=len(problems))
        deadline = None if self.time_limit is None else time.perf_counter() + self._checked_time_limit()
        threads = joblib.effective_n_jobs(self.n_jobs)
        workers = min(len(problems), threads)

        def one(k: int) -> Solution:
            left = None
            if deadline is not None:
                # an equal share of what is left for each round of problems that is still to come
                left = max(0.0, deadline - time.perf_counter()) / math.ceil((len(problems) - k) / workers)
            solution = solve(
                problems[k](),
                self._solver(),
                tol=self._aim(),
                max_iter=self.max_iter,
                time_limit=left,
                warm_start=warm[k],
                callback=show(k),
                stop_requested=stop.is_set,
                seed=int(seeds[k]),
                n_jobs=max(1, threads // workers),
            )
            if solution.status is Status.INTERRUPTED:
                stop.set()
            # the span holds on to the problem: labels and weights of every column
            return replace(solution, span=None)

        with reporter(type(self).__name__, len(problems), self.tol, self.verbose) as show:
            if workers == 1:
                return [one(k) for k in range(len(problems))], stop.is_set()
            with ThreadPoolExecutor(workers) as pool:
                futures: list[Future[Solution]] = [pool.submit(one, k) for k in range(len(problems))]
                try:
                    wait(futures)
                except KeyboardInterrupt:
                    stop.set()
                return [future.result() for future in futures], stop.is_set()

    def _aim(self) -> float:
        """The relative gap that the solves end with; ``tol`` is what they have to prove."""
        return self.tol

    def _random(self) -> np.random.RandomState:
        """Where the seeds of the solvers come from."""
        return check_random_state(self.random_state)

    def _checked_time_limit(self) -> float:
        limit = self.time_limit
        if isinstance(limit, bool) or not isinstance(limit, Real) or not float(limit) >= 0:
            raise FenchelError(f"time_limit must be None or a number of seconds >= 0, got {limit!r}")
        return float(limit)

    def _store(self, solutions: list[Solution]) -> None:
        """The attributes every fitted estimator has; subclasses give coef_ and intercept_ their shapes."""
        self.certificates_ = [solution.certificate for solution in solutions]
        self.certificate_ = reduce(add, self.certificates_)
        self.converged_ = all(solution.converged for solution in solutions)
        # the last step may end a little beyond max_iter
        passes = math.ceil(max(solution.passes for solution in solutions))
        self.n_iter_ = int(min(self.max_iter, max(1, passes)))
        self.solver_ = " | ".join(dict.fromkeys(solution.solver for solution in solutions))
        traces = [solution.trace for solution in solutions]
        self.trace_ = traces[0] if len(traces) == 1 else traces
        self.coef_ = np.ascontiguousarray(np.vstack([solution.model.weights for solution in solutions]))
        intercepts = [np.atleast_1d(np.asarray(solution.model.intercept)) for solution in solutions]
        self.intercept_: Any = np.concatenate(intercepts).astype(np.float64)
        thetas = [solution.witness.theta for solution in solutions]
        self.theta_ = thetas[0] if len(thetas) == 1 else self._stacked(thetas)

    def _warm_starts(self, count: int, features: int) -> Sequence[Warm | None]:
        """The last fit as starting points, if warm_start asks for it and it has the right shape."""
        cold: list[Warm | None] = [None] * count
        if not self.warm_start or not hasattr(self, "theta_"):
            return cold
        coef, intercept = np.atleast_2d(self._weights()), np.atleast_1d(self._solved_intercept())
        theta: Any = self.theta_
        # pairs of classes say nothing of one problem for all
        if coef.shape[1] != features or (count == 1 and sp.issparse(theta)):
            return cold
        if count == 1 and len(coef) == 1:
            return [Start(Model(coef[0], float(intercept[0])), Witness(self.theta_))]
        if count == 1:
            return [Start(Model(coef, intercept), Witness(self.theta_))]
        if len(coef) != count:
            return cold
        thetas = [theta[:, [k]].toarray().ravel() if sp.issparse(theta) else theta[:, k] for k in range(count)]
        return [Start(Model(coef[k], float(intercept[k])), Witness(thetas[k])) for k in range(count)]

    def _solved_intercept(self) -> Any:
        """The intercept of the problems that were solved."""
        return self.intercept_

    def _warn_unless_converged(self, solutions: list[Solution]) -> None:
        if self.converged_:
            return
        if any(solution.status is Status.INFEASIBLE for solution in solutions):
            raise FenchelError(
                f"loss={self._loss().name!r} is a constraint: {Status.INFEASIBLE.value}; use another loss"
            )
        left = [solution for solution in solutions if not solution.converged]
        for solution in left:
            if solution.certificate.contradictory:
                warnings.warn(f"{type(self).__name__}: {solution}", GapWarning, stacklevel=level_of_the_user())
                return
        worst = max(left, key=lambda s: s.certificate.relative_gap)
        warnings.warn(
            f"{type(self).__name__} stopped because {worst.status.value}: it proved a relative gap of "
            f"{worst.certificate.relative_gap:.2g} where tol={self.tol:g} was asked for. The objective is within "
            f"{worst.certificate.gap:.3g} of optimal. Scale the features if their sizes differ, raise max_iter or "
            "time_limit, lower C, or accept this bound with a larger tol.",
            GapWarning,
            stacklevel=level_of_the_user(),
        )

    def _checked_weights(self, sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if np.any(weights < 0):
            raise FenchelError("Negative values in data passed to `sample_weight`: use 0 to leave an example out")
        if not np.any(weights > 0):
            raise FenchelError(
                "sample_weight: Sample weights are all zero; give at least one example a positive weight"
            )
        return weights


def level_of_the_user() -> int:
    """The stacklevel of the first caller outside this package, for whoever calls this: subclasses add frames."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "fenchel":
        frame, level = frame.f_back, level + 1
    return level
