"""Random problems with models and witnesses, and their P and D in eighty digits, for laws of certificates."""

import dataclasses
from decimal import Decimal

import numpy as np
import scipy.sparse as sp

import exact_losses
import exact_regularizers
from exact_losses import DIGITS, digits
from fenchel import Model, Problem
from fenchel.regularizers import L1, L2, ElasticNet, Entropy, QNorm, QuadraticForm, UnnormalizedEntropy
from fenchel.risks import MeanRisk

REGULARIZERS = {
    "l2": L2(),
    "elastic_net": ElasticNet(0.3),
    "l1": L1(),
    "q_norm": QNorm(1.5),
    "entropy": Entropy(mass=2.0),
    "balanced_entropy": Entropy(mass=2.0, balanced=True),
    "unnormalized_entropy": UnnormalizedEntropy(0.1),
    "balanced_unnormalized_entropy": UnnormalizedEntropy(0.1, balanced=True),
    "quadratic_form": QuadraticForm(np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 3.0]])),
}
STORAGES = ["dense", "csr", "float32", "duplicates", "integers"]
#: the scale of X and an offset of its columns
SCALES = [(1.0, 0.0), (1e-150, 0.0), (1e150, 0.0), (1.0, 1e3), (1.0, 1e8), (1e-3, 0.0), (1e5, 1.0)]


@dataclasses.dataclass
class Case:
    """A problem with the numbers that it stands for."""

    problem: Problem
    rows: list
    labels: list
    #: pairs of (c, lam): as stored, and as exact quotients
    readings: list


def stored(X, storage):
    """X as it is given to a problem, and its exact entries."""
    if storage == "float32":
        with np.errstate(over="ignore", under="ignore"):
            X = X.astype(np.float32)
    elif storage == "integers":
        X = np.clip(np.rint(3.0 * X), -1e9, 1e9).astype(np.int64)
    rows = [[Decimal(entry.item()) for entry in row] for row in X]
    if storage == "csr":
        return sp.csr_array(X), rows
    if storage != "duplicates":
        return X, rows
    first = 0.7 * X
    second = X - first
    with digits(DIGITS):
        pairs = zip(exact_regularizers.decimals(first), exact_regularizers.decimals(second), strict=True)
        rows = [[a + b for a, b in zip(*pair, strict=True)] for pair in pairs]
    n, d = X.shape
    columns = np.tile(np.concatenate([np.arange(d), np.arange(d)]), n)
    data = np.concatenate([first, second], axis=1).ravel()
    return sp.csr_array((data, columns, np.arange(0, 2 * d * n + 1, 2 * d)), shape=(n, d)), rows


def random_case(rng, loss, regularizer, storage, scale, intercept, weighted):
    n, d = int(rng.integers(2, 9)), 3
    X, given = rng.normal(size=(n, d)), None
    X = scale[0] * (X + scale[1])
    X, rows = stored(X, storage)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    if loss.task == "regression":
        y = np.abs(rng.normal(size=n)) if loss.name == "poisson" else rng.normal(size=n)
    if weighted:
        given = rng.choice([0.0, 1e-3, 0.3, 1.0, 2.0], size=n)
        given[0] = 1.0
    C = 10.0 ** rng.choice([-6.0, 0.0, 3.0, 12.0])
    total = float(n if given is None else np.sum(given))
    problem = Problem(X, MeanRisk(loss, y, given), 1.0 / (C * total), regularizer, intercept=intercept)
    with digits(DIGITS):
        weights = [Decimal(1) if given is None else Decimal(float(entry)) for entry in (y if given is None else given)]
        exact = ([entry / sum(weights) for entry in weights], 1 / (Decimal(float(C)) * sum(weights)))
        as_stored = ([Decimal(float(c)) for c in problem.risk.shares], Decimal(problem.lam))
    return Case(problem, rows, [Decimal(float(label)) for label in y], [as_stored, exact])


def pairs_of(case, rng):
    """Models with witnesses: random ones, and the dual points of their scores."""
    problem = case.problem
    size = 1.0 / max(float(max(abs(entry) for row in case.rows for entry in row)), 1e-300)
    n = len(case.labels)
    for share in (1.0, 1e-3, 30.0):
        weights = share * size * rng.normal(size=3)
        if not problem.regularizer.finite:
            weights = problem.regularizer.grad_conjugate(np.minimum(rng.normal(size=3), 5.0))
        intercept = float(rng.normal()) if problem.intercept else 0.0
        theta = rng.normal(size=n) * problem.risk.shares
        yield Model(weights, intercept), theta
        with np.errstate(all="ignore"):
            theta = -problem.risk.subgradient(problem.design.scores(weights) + intercept)
        if np.all(np.isfinite(theta)):
            yield Model(weights, intercept), theta


def exact_primal(case, model, c, lam):
    problem = case.problem
    with digits(DIGITS):
        rows = exact_regularizers.normalized(problem.regularizer, exact_regularizers.decimals(model.weights))
        b = Decimal(float(model.intercept))
        total = lam * exact_regularizers.value(problem.regularizer, rows)
        for row, share, label in zip(case.rows, c, case.labels, strict=True):
            if share:
                score = sum(x * w for x, w in zip(row, rows[0], strict=True)) + b
                total += share * exact_losses.value(problem.risk.loss, score, label)
        return total


def exact_dual(case, theta, c, lam, scale=1):
    """D of a multiple of theta, whose sum may miss zero by a rounding that the certificate charges."""
    problem = case.problem
    with digits(DIGITS):
        theta = [Decimal(entry) * scale for entry in theta]
        v = [sum(t * row[j] for t, row in zip(theta, case.rows, strict=True)) / lam for j in range(len(case.rows[0]))]
        total = -lam * exact_regularizers.conjugate(problem.regularizer, [v])
        for t, share, label in zip(theta, c, case.labels, strict=True):
            if share:
                total -= share * exact_losses.conjugate(problem.risk.loss, -t / share, label)
            else:
                assert t == 0
        return total
