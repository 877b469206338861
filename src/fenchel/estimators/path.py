"""Regularization paths: the models for many values of C, each with a certificate, and all values between them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from fenchel.arrays import Array, ArrayLike, Floats, MatrixLike
from fenchel.certificate.confinement import TrainingRows, check_confined, training_rows
from fenchel.designs import CSRDesign, row_lengths
from fenchel.errors import FenchelError
from fenchel.estimators.base import LazyProblem
from fenchel.estimators.classifier import LinearClassifier
from fenchel.estimators.path_models import RegularizationPath
from fenchel.estimators.regressor import LinearRegressor
from fenchel.estimators.regularization import checked_positive, checked_values, lam_of
from fenchel.estimators.task import Task
from fenchel.loading import of_package
from fenchel.losses import Loss, as_loss
from fenchel.path import cover, follow, solved_lam
from fenchel.problem import Problem
from fenchel.progress import warn
from fenchel.records import changed
from fenchel.regularizers import Regularizer
from fenchel.risks import MULTICLASS
from fenchel.solvers import Solver
from fenchel.solving.deadline import Deadline
from fenchel.solving.solution import Solution
from fenchel.stopping import interrupts_set

#: C times the mean squared length of a row, from and to which a path goes by itself
_RANGE = (1e-3, 1e3)
#: of the lasso: points of its own path, and the largest C as a multiple of the smallest one, as in scikit-learn
_LASSO_POINTS, _LASSO_RANGE = 100, 1e3


@of_package
def regularization_path(
    X: MatrixLike,
    y: ArrayLike,
    Cs: Any = None,
    *,
    loss: str | Loss = "hinge",
    l1_ratio: float = 0.0,
    regularizer: str | Regularizer | None = None,
    fit_intercept: bool = True,
    multi_class: str = "auto",
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-3,
    accuracy: float = 1e-2,
    max_iter: float = 1000,
    solver: str | Solver = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
) -> RegularizationPath:
    r"""Fit a linear model for many values of C, each warm-started from the last, each with a certificate.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The examples.
    y : array-like of shape (n,)
        The labels (for a loss of classification) or one target.
    Cs : array-like or tuple (smallest, largest), default=None
        The values of C, or an interval given as a tuple.  For an interval the values are chosen such that every C in it
        is certified: a dual point gives a lower bound for every C, so each point certifies a neighbourhood, and the
        next point is placed where that ends.  None is the interval on which C times the mean squared length of a row
        goes from 0.001 to 1000; for the lasso, whose intervals are short, 100 values of C from the largest one without
        weights to 1000 times that.
    loss : str or Loss, default="hinge"
        The loss, as in :class:`LinearClassifier` or :class:`LinearRegressor`.
    l1_ratio : float, default=0.0
        The mixing parameter :math:`\rho` of the elastic net, from 0 to 1: 0 is ridge (L2), 1 is lasso (L1).
    regularizer : str or Regularizer, default=None
        Replaces the elastic net :math:`\Omega`: the name or an object of :mod:`fenchel.regularizers`, such as "q_norm"
        or ``Entropy(mass=10, balanced=True)``.  None uses ``l1_ratio``.  ``FreeDirections.of_features([0, 3],
        n_features)`` leaves two features unregularized.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is not regularized.  Where the best intercept is an interval, its midpoint
        is used.
    multi_class : {"auto", "weston_watkins", "crammer_singer", "multinomial"}, default="auto"
        The form for more than two classes, as in :class:`LinearClassifier`, as one problem.  "ovr" and "ovo" are many
        problems, each with its own path: compute one at a time, with two classes.
    sample_weight : array-like of shape (n,), default=None
        Weights of the examples.
    tol : float, default=1e-3
        The relative duality gap of each point, if ``Cs`` is a list of values or the default of the lasso.
    accuracy : float, default=0.01
        The relative duality gap for every C of an interval.
    max_iter : float, default=1000
        Maximum number of passes over the data (epochs).
    solver : str or Solver, default="auto"
        The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.
    random_state : int, RandomState or None, default=None
        Determines the order in which examples are visited.  Pass an int for reproducible fits.
    n_jobs : int, default=None
        Threads within a problem where the solver uses them.  The result does not depend on it.
    time_limit : float, default=None
        Maximum number of seconds for the whole path; the points so far are returned.

    Returns
    -------
    RegularizationPath
        The models and certificates; ``path.at(C)`` gives a certified model for any C between.  After Ctrl-C, as after
        ``time_limit``, the points so far are returned with a warning; no ``KeyboardInterrupt`` is raised.

    See Also
    --------
    LinearClassifierCV : Choose C by cross-validation.
    plot_path : Draw a path.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from fenchel import regularization_path
    >>> X, y = make_classification(random_state=0)
    >>> path = regularization_path(X, y, (0.01, 1.0), accuracy=0.01, random_state=0)
    >>> weights, intercept, certificate = path.at(0.1234)
    >>> bool(certificate.relative_gap <= 0.01)
    True
    """
    # the time of the validation counts
    deadline = Deadline(time_limit)
    options: dict[str, Any] = {"l1_ratio": l1_ratio, "regularizer": regularizer, "fit_intercept": fit_intercept}
    estimator: LinearRegressor | LinearClassifier
    if as_loss(loss).task == "regression":
        estimator = LinearRegressor(loss, solver=solver, **options)
    else:
        estimator = LinearClassifier(loss, solver=solver, multi_class=multi_class, **options)
    task = estimator.encode(X, y, sample_weight)
    problem, total = _one(task, estimator.problems(task)), task.total_weight
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    values, interval = _values(Cs, problem, total)
    limits: dict[str, Any] = {"max_iter": max_iter, "seed": seed, "n_jobs": n_jobs, "time_limit": deadline.remaining()}
    stop = threading.Event()
    with interrupts_set(stop):
        if interval is None:
            lams = [lam_of(C, total) for C in values]
            # where the path is long and X wide, its weights are the most memory that is used
            coefs = np.empty((len(lams), *problem.weights_shape))
            solutions = follow(problem, lams, solver, tol=tol, stop_requested=stop.is_set, coefs=coefs, **limits)
            coefs = coefs[: len(solutions)]
        else:
            checked_positive(accuracy, "accuracy")
            low, high = (lam_of(C, total) for C in interval[::-1])
            solutions = cover(problem, low, high, float(accuracy), solver, stop_requested=stop.is_set, **limits)
            values = np.array([lam_of(solved_lam(solution), total) for solution in solutions])
            coefs = np.stack([solution.model.weights for solution in solutions])
    end = values[-1] if interval is None else interval[1]
    reached = lam_of(solved_lam(solutions[-1]), total)
    _warn_unless_converged(solutions, values)
    if reached < end * (1.0 - 1e-9):
        warn(
            f"the path was ended at C={reached:.3g}, before C={end:.3g}, by its time limit or an interruption; the "
            "points so far are returned. Raise time_limit, or end the path at a smaller C."
        )
    proved = interval is not None and all(solution.converged for solution in solutions)
    known = {"classes": task.classes, "accuracy": float(accuracy) if proved else None, "interrupted": stop.is_set()}
    return _gathered(values, solutions, total, coefs=coefs, **known)


def _one(task: Task, problems: Sequence[LazyProblem]) -> Problem:
    """The problem of a path; several problems have a path each."""
    if len(problems) > 1:
        raise FenchelError(
            f"multi_class={task.form!r} makes {task.n_classes} classes several problems, each with a path of its own: "
            "follow one at a time with y of two classes, choose one problem for all classes with "
            f"multi_class={' or '.join(map(repr, MULTICLASS))}, or use LinearClassifierCV"
        )
    return problems[0]()


def _gathered(values: Array, solutions: Sequence[Solution], total: float, **known: Any) -> RegularizationPath:
    spans = [solution.path_certificate for solution in solutions if solution.path_certificate is not None]
    # of the rows, spans need the lengths alone, which bound intercepts and free directions: X is not kept
    problem = spans[0].problem
    bounded = problem.intercept or problem.regularizer.free_directions() is not None
    lengths = row_lengths(problem.design) if bounded else CSRDesign(sp.csr_array(problem.design.shape))
    return RegularizationPath(
        Cs=np.asarray(values)[: len(solutions)],
        intercepts=np.array([np.asarray(solution.model.intercept, dtype=np.float64) for solution in solutions]),
        certificates=[solution.certificate for solution in solutions],
        n_iters=np.array([solution.passes for solution in solutions]),
        **known,
        _spans=[
            changed(path_certificate, problem=path_certificate.problem.at_copy(lengths)) for path_certificate in spans
        ],
        _total=total,
        _training=_training(problem, solutions),
    )


def _training(problem: Problem, solutions: Sequence[Solution]) -> tuple[TrainingRows, list[Floats]] | str:
    """What proved predictions need of the training data, or the reason why there are none."""
    try:
        check_confined(problem)
    except FenchelError as refusal:
        return str(refusal)
    # without an intercept there is none to bracket
    weights = [solution.model.weights for solution in solutions]
    scores = [problem.design.scores(each) if problem.intercept else np.zeros(0) for each in weights]
    return training_rows(problem), scores


def _warn_unless_converged(solutions: Sequence[Solution], values: Array) -> None:
    short = [k for k, solution in enumerate(solutions) if not solution.converged]
    if short:
        worst = max(short, key=lambda k: solutions[k].certificate.relative_gap)
        warn(
            f"{len(short)} of {len(solutions)} points of the path did not reach the gap that was asked for; the worst, "
            f"C={values[worst]:.3g}, proved a relative gap of {solutions[worst].certificate.relative_gap:.2g}, because "
            f"{solutions[worst].status.value}. Raise max_iter or time_limit, or end the path at a smaller C."
        )


def _values(Cs: Any, problem: Problem, total: float) -> tuple[Floats, tuple[float, float] | None]:
    """The values of C, rising, or the interval that is to be covered."""
    if Cs is None:
        largest = _largest_lam(problem) if problem.regularizer.l1_ratio == 1.0 else 0.0
        if largest > 0.0:
            return lam_of(largest, total) * np.geomspace(1.0, _LASSO_RANGE, _LASSO_POINTS), None
        size = problem.design.mean_square
        return np.zeros(0), (_RANGE[0] / size, _RANGE[1] / size) if size > 0 else _RANGE
    if isinstance(Cs, tuple):
        if len(Cs) != 2:
            raise FenchelError(f"Cs must be an array of values, or an interval (smallest, largest), got {Cs!r}")
        low, high = (checked_positive(C, "Cs") for C in Cs)
        if low > high:
            raise FenchelError(f"Cs=(smallest, largest) must be increasing, got {Cs!r}")
        return np.zeros(0), (low, high)
    return checked_values(Cs), None


def _largest_lam(problem: Problem) -> float:
    """The largest abs(x_j . theta) at the zero model: with a larger lam the weights of the lasso are zero."""
    scores = np.zeros(problem.theta_shape)
    theta = problem.risk.subgradient(scores + problem.best_intercept(scores))
    return float(np.max(np.abs(problem.design.adjoint(theta)), initial=0.0))
