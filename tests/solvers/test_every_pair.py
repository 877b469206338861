"""Losses with powers, exponentials and logarithms, with every regularizer: proved to 1e-6, and equal to a conic solver.

``test_power_losses`` has the same losses with the square and the elastic net on dense data, ``test_transfer_problems``
the other losses with the entropies and q-norms.  Here loops run in plain Python: compiling them for all pairs would
take far longer than running them.
"""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import slow_reference as slow
from fenchel import FenchelError, Problem, solve
from fenchel.kernels import GramDesign, GramNorm
from fenchel.losses import EpsilonInsensitive, Exponential, Hinge, NegativeLog, Poisson
from fenchel.regularizers import L1, L2, ElasticNet, Entropy, QNorm, QuadraticForm, UnnormalizedEntropy
from fenchel.risks import MeanRisk
from slow_conic import conic_optimum, conic_with, entropy_cone, norm_cone

N, D, LAM = 20, 4, 0.3
LOSSES = {
    "hinge^1.5": Hinge(power=1.5),
    "hinge^3.0": Hinge(power=3.0),
    "tube^1.5": EpsilonInsensitive(slow.TUBE, power=1.5),
    "tube^3.0": EpsilonInsensitive(slow.TUBE, power=3.0),
    "poisson": Poisson(),
    "exponential": Exponential(),
    "negative_log": NegativeLog(),
}
MU = np.array([0.3, 0.05, 1.0, 0.65])
MATRIX = np.diag(MU) + 0.1
#: with the rows that say the same to the conic solver
CONES = {
    "unnormalized": (UnnormalizedEntropy(MU), entropy_cone(MU, None, False)),
    "unnormalized-balanced": (UnnormalizedEntropy(0.1, balanced=True), entropy_cone(np.full(D, 0.1), None, True)),
    "normalized": (Entropy(prior=MU), entropy_cone(MU, 2.0, False)),
    "normalized-balanced": (Entropy(3.0, balanced=True), entropy_cone(np.full(D, 0.375), 3.0, True)),
    "q=1.5": (QNorm(), norm_cone(1.5, 2.0)),
    "q=1.2": (QNorm(1.2, power=1.5), norm_cone(1.2, 1.5)),
    "q=2.5": (QNorm(2.5, power=3.0), norm_cone(2.5, 3.0)),
}
#: with their ratio, or with the operator of a square
PLAIN = {
    "l1": (L1(), 1.0),
    "l2": (L2(), 0.0),
    "elastic_net": (ElasticNet(0.5), 0.5),
    "diagonal": (QuadraticForm(MU), np.diag(MU)),
    "operator": (QuadraticForm(MATRIX), MATRIX),
    "gram": (None, np.eye(D)),
}
NAMES = [*CONES, *PLAIN]
CASES = [
    *itertools.product(LOSSES, NAMES, ("dense",), (False, True)),
    *((loss, name, "sparse", place % 2 == 0) for place, (loss, name) in enumerate(itertools.product(LOSSES, NAMES))),
]


def data_of(key, storage):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, D))
    if storage == "sparse":
        X[rng.random(X.shape) < 0.5] = 0.0
        X[:, 0] += X[:, 0] == 0.0
    signal = X @ [0.7, -0.4, 0.5, 0.2] + 0.4
    if key == "poisson":
        return X, rng.poisson(np.exp(0.5 * signal)).astype(float)
    if key == "negative_log":
        # positive weights separate them
        y = np.where(signal > 0, 1.0, -1.0)
        return np.abs(X) * y[:, None], y
    if LOSSES[key].task == "classification":
        return X, np.where(signal + 0.5 * rng.standard_normal(N) > 0, 1.0, -1.0)
    return X, signal + 0.3 * rng.standard_normal(N)


def problem_of(key, name, storage, intercept):
    X, y = data_of(key, storage)
    if name == "gram":
        gram = GramDesign(X @ X.T)
        return Problem(gram, MeanRisk(LOSSES[key], y), LAM, GramNorm(gram), intercept)
    design = sp.csr_array(X) if storage == "sparse" else X
    return Problem(design, MeanRisk(LOSSES[key], y), LAM, (CONES | PLAIN)[name][0], intercept)


def conic_value(key, name, storage, intercept):
    """The least objective, from above."""
    (X, y), shares = data_of(key, storage), slow.shares(N)
    if name in CONES:
        regularizer, cone = CONES[name]
        w, b = conic_with(key, X, y, shares, LAM, intercept, cone)
        if name == "normalized":
            w = w * (2.0 / w.sum())
        return LAM * regularizer.value(w) + float(np.mean(slow.FORMULAS[key](X @ w + b, y)))
    given = PLAIN[name][1]
    if isinstance(given, float):
        return conic_optimum(key, X, y, shares, LAM, intercept, given)[2]
    # w = R w' with R R^T = K^-1 makes it the plain square
    return conic_optimum(key, X @ np.linalg.cholesky(np.linalg.inv(given)), y, shares, LAM, intercept)[2]


@pytest.mark.meetings(1)
@pytest.mark.parametrize(("key", "name", "storage", "intercept"), CASES)
def test_every_pair_is_proved_and_agrees_with_a_conic_solver(key, name, storage, intercept, plain_loops):
    problem = problem_of(key, name, storage, intercept)
    solution = solve(problem, "auto" if name == "l1" else "dual_coordinate", tol=1e-6, max_iter=3000)
    certificate, optimum = solution.certificate, conic_value(key, name, storage, intercept)
    assert certificate.relative_gap <= 1e-6
    assert certificate.gap >= -certificate.rounding_floor
    assert certificate.primal == pytest.approx(optimum, rel=2e-6)
    assert certificate.dual <= optimum + certificate.rounding_floor


@pytest.mark.parametrize("name", ["l1", "l2"])
def test_one_class_leaves_the_intercept_of_the_logarithm_unbounded(name):
    X, _ = data_of("negative_log", "dense")
    problem = Problem(X, MeanRisk("negative_log", np.ones(N)), LAM, name, intercept=True)
    with pytest.raises(FenchelError, match="both classes"):
        solve(problem)
    assert solve(Problem(np.abs(X), problem.risk, LAM, name), tol=1e-6).converged


@pytest.mark.parametrize("name", ["l1", "l2"])
def test_the_logarithm_of_classes_that_nothing_separates_is_infinite(name):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((N, 2)), np.where(rng.random(N) < 0.5, 1.0, -1.0)
    solution = solve(Problem(X, MeanRisk("negative_log", y), LAM, name, intercept=True), "barrier", max_iter=300)
    assert not solution.converged
    assert np.isinf(solution.certificate.primal)
    assert solution.certificate.dual < np.inf
