"""The linear estimators on data that lie on the workers of a Dask cluster."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import dask
import dask.array as da
import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel import estimators as ordinary
from fenchel.dask.blocks import matrix_of
from fenchel.dask.choosing import choose_solver
from fenchel.dask.cluster import connected, threads_of
from fenchel.dask.sources import Loaded, blocks_of, check_names, is_lazy, load, source_of, width_of
from fenchel.errors import FenchelError
from fenchel.estimators.predictions import has_no_probabilities
from fenchel.estimators.sklearn_bases import available_unless
from fenchel.estimators.task import Task
from fenchel.loading import of_package
from fenchel.problem import Problem
from fenchel.progress import report_stage
from fenchel.solvers import Solver
from fenchel.solvers.choose import Choice
from fenchel.validation import processors

T = TypeVar("T", bound=type)

#: what the documentation says of the solvers, in memory and here
_SOLVERS = 'The name of a solver, an object of :mod:`fenchel.solvers`, or "auto", which chooses by the problem.'
_OWN_SOLVERS = """"auto", "lbfgs" (smooth losses), "newton_cg" (means of losses, the multinomial loss), "cocoa" (means
    of losses, joint hinges), "smoothing",
    "agm", "proximal_gradient", "bundle", or an object: :class:`fenchel.dask.LBFGS`, :class:`fenchel.dask.NewtonCG`,
    :class:`fenchel.dask.CoCoA`."""
#: fitted attributes that predictions do not need
_NOT_FOR_PREDICTIONS = ("theta_", "trace_", "decompositions_", "_optimum", "feature_names_in_")


class OnWorkers:
    """What estimators on a Dask cluster share: X is read on the workers, and stays there."""

    #: the estimator of the same name for data in memory
    local_class: ClassVar[type[Any]]
    #: of the data frame of the present fit
    _features: Any = None

    def fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to rows that workers hold or read.

        Parameters
        ----------
        X : dask.array.Array, dask.dataframe.DataFrame, list of Delayed, str or list of str
            The rows: a Dask array (with dense or CSR blocks) or data frame, delayed blocks of rows, or files that
            every worker can read: a pattern such as ``"data/part-*.svm"`` or a list of names.  Files are svmlight
            files, plain or compressed, tables (.csv, .tsv, .parquet) or NumPy archives (.npz) with arrays X and y.
        y : array-like, dask collection, list of Delayed, str or None, default=None
            The labels or targets: on the driver, or in as many partitions as X has; the name of the column of labels
            for tables; None for files that hold them.
        sample_weight : array-like, dask collection, list of Delayed or str, default=None
            Weights of the examples, likewise: arrays or partitions, or the name of the column of weights for tables in
            files.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        if self.features is not None:
            raise FenchelError("features are computed in memory: compute them in the partitions of X, and omit them")
        source = source_of(X, y, sample_weight)
        workers = None if self.n_jobs is None else processors(self.n_jobs)
        say = partial(report_stage, type(self).__name__, verbose=self.verbose)
        say("connecting to the Dask cluster, or starting one on this machine")
        with connected(workers) as client:
            say(f"loading {len(source.names)} partitions or files on {len(threads_of(client))} workers")
            loaded = load(client, source)
            rows, features = loaded.design.shape
            say(f"{rows:,} rows of {features:,} features in {len(loaded.design.facts)} groups are loaded")
            return self._fit_loaded(loaded)

    def _fit_loaded(self: Any, data: Loaded) -> Any:
        self._features = data.features
        try:
            return super().fit(data.design, data.y, data.weights)  # type: ignore[misc]
        finally:
            del self._features

    def encode(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Task:
        task: Task = super().encode(X, y, sample_weight)  # type: ignore[misc]
        if self._features is None:
            return task
        return replace(task, fitted={**task.fitted, "feature_names_in_": np.array(self._features, dtype=object)})

    def problem_of_outputs(self, task: Task) -> None:
        """None: what a small fit solves together is in memory."""

    def _solver_for(self: Any, problem: Problem) -> Choice:
        return choose_solver(problem, self.solver)

    def _solver(self) -> str | Solver:
        # the form of several classes does not depend on it
        return "auto"

    def to_local(self: Any) -> Any:
        """Return the same model as an estimator of ``fenchel``, which needs no Dask.

        Returns
        -------
        estimator : LinearClassifier, LinearRegressor or MeasureClassifier
            The estimator for data in memory, with the same parameters and fitted attributes.
        """
        found = self.local_class(**self.get_params(deep=False))
        vars(found).update({name: value for name, value in vars(self).items() if name not in vars(found)})
        return found

    def _lazily(self: Any, method: str, X: Any) -> da.Array:
        """The results of a method for lazy rows, block by block."""
        check_is_fitted(self)
        blocks, sizes = blocks_of(X, "X")
        named = vars(self).get("feature_names_in_")
        names, width = None if named is None else tuple(named.tolist()), width_of(X)
        check_names(X, names)
        if width not in (None, self.n_features_in_):
            raise FenchelError(
                f"X has {width} features, but {type(self).__name__} was fitted with {self.n_features_in_}"
            )
        model = self.to_local()
        for name in _NOT_FOR_PREDICTIONS:
            vars(model).pop(name, None)
        # a row of zeros tells the type and the shape of results
        sample = getattr(model, method)(np.zeros((1, model.n_features_in_)))
        held = dask.delayed(model, pure=False)
        results = [dask.delayed(_results, pure=False)(held, method, one, names) for one in blocks]
        shapes = [(size, *sample.shape[1:]) for size in sizes]
        arrays = [da.from_delayed(*each, dtype=sample.dtype) for each in zip(results, shapes, strict=True)]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _results(model: Any, method: str, X: Any, names: Sequence[str] | None) -> Any:
    """Run on a worker: the results of a method for a block, which may be empty."""
    check_names(X, names)
    rows = matrix_of(X)
    if not rows.shape[0]:
        return getattr(model, method)(np.zeros((1, model.n_features_in_)))[:0]
    return getattr(model, method)(rows)


def _lazy(name: str) -> Any:
    """A method that is lazy for lazy rows."""

    def method(self: Any, X: Any) -> Any:
        return self._lazily(name, X) if is_lazy(X) else getattr(self.local_class, name)(self, X)

    method.__name__ = name
    method.__doc__ = f"As ``{name}`` of the estimator for data in memory; lazy, a Dask array, for lazy rows."
    return method


def _documented(summary: str, example: str) -> Callable[[T], T]:
    """Give a class the documentation of the parameters and attributes of its ``local_class``."""

    def decorated(kind: T) -> T:
        local: Any = kind
        text = inspect.cleandoc(local.local_class.__doc__)
        middle = text[text.index("Parameters\n---") : text.index("Examples\n---")]
        middle = middle.replace(_SOLVERS, _OWN_SOLVERS)
        local.__doc__ = f"{inspect.cleandoc(summary)}\n\n{middle}Examples\n--------\n{inspect.cleandoc(example)}\n"
        return kind

    return decorated


class ClassifiesOnWorkers(OnWorkers):
    """Classifiers on a Dask cluster."""

    predict = _lazy("predict")
    decision_function = _lazy("decision_function")


@of_package
@_documented(
    """Linear classifier on data that the workers of a Dask cluster hold.

    The parameters and the fitted attributes are those of :class:`fenchel.LinearClassifier`, and so is the certificate.
    X stays on the workers; labels, scores and dual variables, n numbers each, are on the driver.  The present
    ``distributed.Client`` is used; without one, a local cluster of ``n_jobs`` processes is started for the fit.
    ``multi_class="ovo"`` is not supported, and "auto" is "ovr" for the hinge.
    """,
    """
    >>> from fenchel.dask import LinearClassifier
    >>> LinearClassifier("logistic", C=2.0).get_params()["C"]
    2.0
    """,
)
class LinearClassifier(ClassifiesOnWorkers, ordinary.LinearClassifier):  # noqa: D101 (see _documented)
    local_class = ordinary.LinearClassifier

    predict_proba = available_unless(has_no_probabilities)(_lazy("predict_proba"))
    predict_log_proba = available_unless(has_no_probabilities)(_lazy("predict_log_proba"))

    def _declared_form(self) -> str:
        """As in memory, but one problem for each class where "auto" would mean a joint hinge."""
        form = super()._declared_form()
        return "ovr" if self.multi_class == "auto" and form == "weston_watkins" else form

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.multi_class == "ovo":
            raise FenchelError("multi_class='ovo' selects rows, which lie on workers: use 'auto', 'ovr' or a joint one")


@of_package
@_documented(
    """Linear regression on data that the workers of a Dask cluster hold.

    The parameters and the fitted attributes are those of :class:`fenchel.LinearRegressor`, and so is the certificate.
    X stays on the workers; targets, scores and dual variables, n numbers each, are on the driver.  The present
    ``distributed.Client`` is used; without one, a local cluster of ``n_jobs`` processes is started for the fit.
    """,
    """
    >>> from fenchel.dask import LinearRegressor
    >>> LinearRegressor("huber").loss
    'huber'
    """,
)
class LinearRegressor(OnWorkers, ordinary.LinearRegressor):  # noqa: D101 (see _documented)
    local_class = ordinary.LinearRegressor
    predict = _lazy("predict")


@of_package
@_documented(
    """Training for a performance measure on data that the workers of a Dask cluster hold.

    The parameters and the fitted attributes are those of :class:`fenchel.MeasureClassifier`.  What is minimized is the
    convex bound of the measure, with the threshold that is best on the training scores: plug-ins and thresholds of
    held-out folds select rows, which lie on workers, and ``surrogate="auto"`` is "bound".
    """,
    """
    >>> from fenchel.dask import MeasureClassifier
    >>> MeasureClassifier("roc_auc").measure
    'roc_auc'
    """,
)
class MeasureClassifier(ClassifiesOnWorkers, ordinary.MeasureClassifier):  # noqa: D101 (see _documented)
    local_class = ordinary.MeasureClassifier

    def encode(self, X: Any, y: Any, sample_weight: Any = None) -> Task:
        if sample_weight is not None and not self._choice().weighted:
            raise FenchelError(
                f"sample_weight would repeat rows for {self._choice()}, and they lie on workers: omit it, or use "
                "measure='roc_auc' or 'accuracy'"
            )
        return super().encode(X, y, sample_weight)

    def _check_surrogate(self) -> None:
        super()._check_surrogate()
        if self.surrogate == "plug_in" or self.threshold == "cv":
            raise FenchelError(
                "surrogate='plug_in' and threshold='cv' select rows, which lie on workers: use surrogate='bound' and "
                "threshold='train'"
            )

    def _may_plug_in(self) -> bool:
        return False
