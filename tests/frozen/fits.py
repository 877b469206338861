"""How one row of the table is fitted, and the numbers that are kept of it."""

import warnings

import numpy as np

import fenchel
from fenchel import losses, regularizers, risks, solvers

from .data import STORAGES, data_of

#: what is kept of every fit
KEPT = ("coef", "intercept", "primal", "dual", "floor", "n_iter", "converged")


def public(name):
    """The object of this name, wherever it is public."""
    return next(getattr(home, name) for home in (fenchel, losses, regularizers, risks, solvers) if hasattr(home, name))


def made(value):
    """An option: a pair (public name, parameters) stands for the object."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict):
        return public(value[0])(**value[1])
    return value


def fitted(row):
    """The kept numbers of one row, each a flat float64 array."""
    X, y, weights = data_of(row.data)
    X, weights = STORAGES[row.storage](X), weights if row.weighted else None
    options = {name: made(value) for name, value in row.options.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fenchel.GapWarning)
        found = _WAYS.get(row.estimator, _of_estimator)(row.estimator, X, y, weights, options)
    return {name: np.asarray(value, dtype=np.float64).ravel() for name, value in zip(KEPT, found, strict=True)}


def _proved(certificates):
    return [np.array([getattr(c, name) for c in certificates]) for name in ("primal", "dual", "rounding_floor")]


def _of_estimator(name, X, y, weights, options):
    model = public(name)(random_state=0, **options)
    model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
    coef = model.dual_coef_ if hasattr(model, "dual_coef_") else model.coef_
    intercept = getattr(model, "intercept_", 0.0)
    return coef, intercept, *_proved(model.certificates_), model.n_iter_, model.converged_


def _online(name, X, y, weights, options):
    model = public(name)(random_state=0, **options).fit(X, y)
    return model.coef_, model.intercept_, *_proved([model.certify(X, y)]), model.n_iter_, model.mistakes_


def _path(name, X, y, weights, options):
    path = public(name)(X, y, sample_weight=weights, random_state=0, **options)
    return path.coefs, path.intercepts, *_proved(path.certificates), path.n_iters, path.Cs


def _solve(name, X, y, weights, options):
    options = dict(options)
    risk = options.pop("risk", "MeanRisk")
    parameters = {key: options.pop(key) for key in ("loss", "beta", "k", "delta") if key in options}
    first = (parameters.pop("loss"), y) if "loss" in parameters else (y,)
    weighted = {} if weights is None else {"weights": weights}
    risk = public(risk)(*first, **parameters, **weighted)
    terms = {key: options.pop(key) for key in ("regularizer", "intercept") if key in options}
    solution = fenchel.solve(fenchel.Problem(X, risk, options.pop("lam", 0.05), **terms), seed=0, **options)
    model = solution.model
    return model.weights, model.intercept, *_proved([solution.certificate]), solution.passes, solution.converged


_WAYS = {"OnlineClassifier": _online, "regularization_path": _path, "solve": _solve}
