"""Constraints with the absolute values: exact recovery, conic optima, exact zeros, proofs that there is no model."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import slow_reference as slow
from fenchel import FenchelError, LinearClassifier, LinearRegressor, Problem, Status, solve
from fenchel.losses import HardMargin, Interpolation
from fenchel.regularizers import L1
from fenchel.risks import MeanRisk
from slow_conic import conic_solution

N, D = 20, 40


def data_of(seed, scale=1.0, intercept=False):
    """Rows, and the scores of a few weights."""
    rng = np.random.default_rng([seed, intercept])
    X, w = rng.standard_normal((N, D)) * scale, np.zeros(D)
    w[:4] = rng.choice([-1.0, 1.0], 4) * (1 + rng.random(4))
    return X, w, X @ w + (0.5 if intercept else 0.0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_few_weights_are_found_again(scale, intercept):
    X, w, y = data_of(1, scale, intercept)
    solution = solve(Problem(X, MeanRisk(Interpolation(), y), 0.1, "l1", intercept), tol=1e-6)
    assert solution.solver == "basis_pursuit"
    assert solution.converged, str(solution)
    np.testing.assert_allclose(solution.model.weights, w, atol=1e-8 + 1e-8 / scale)
    assert np.max(np.abs(X @ solution.model.weights + solution.model.intercept - y)) <= 1e-9


@pytest.mark.parametrize(
    ("loss", "intercept", "sparse"),
    list(itertools.product(("hard_margin", "interpolation"), (False, True), (False, True))),
)
def test_solved_to_the_conic_optimum(loss, intercept, sparse):
    X, _, y = data_of(2, 1.0, intercept)
    X[np.random.default_rng(2).random(X.shape) < 0.3] = 0.0
    y = np.where(y > 0, 1.0, -1.0) if loss == "hard_margin" else y
    constraint = HardMargin() if loss == "hard_margin" else Interpolation()
    problem = Problem(sp.csr_array(X) if sparse else X, MeanRisk(constraint, y), 0.1, L1(), intercept)
    solution = solve(problem, tol=1e-7)
    assert solution.converged, str(solution)
    w, _ = conic_solution(loss, X, y, slow.shares(N), 0.1, intercept, l1_ratio=1.0)
    assert solution.certificate.primal == pytest.approx(0.1 * np.abs(w).sum(), rel=1e-6)
    # a vertex of the program has no more weights than constraints
    assert np.count_nonzero(solution.model.weights) <= N


def test_a_tube_that_is_wide():
    X, _, y = data_of(3)
    exact, wide = (solve(Problem(X, MeanRisk(Interpolation(t), y), 1.0, "l1"), tol=1e-9) for t in (1e-9, 0.5))
    assert exact.converged and wide.converged
    assert wide.certificate.primal < exact.certificate.primal
    missed = np.abs(X @ wide.model.weights - y)
    assert missed.max() <= 0.5
    # the multiplier of every constraint that is not on the border is zero
    assert np.all(np.abs(wide.witness.theta[missed < 0.5 - 1e-6]) < 1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_no_model_and_rows_without_weight(intercept):
    X, _, y = data_of(4, 1.0, intercept)
    few, labels = X[:, :5], np.where(y > 0, 1.0, -1.0)
    labels[::2] *= -1.0
    for risk in (MeanRisk(HardMargin(), labels), MeanRisk(Interpolation(), y + X[:, 7])):
        solution = solve(Problem(few, risk, 0.1, "l1", intercept))
        assert solution.status is Status.INFEASIBLE, str(solution)
    counted = np.zeros(N)
    counted[:3] = 1.0
    weighted = solve(Problem(few, MeanRisk(Interpolation(), y, counted), 0.1, "l1", intercept), tol=1e-6)
    assert weighted.converged
    assert not np.any(weighted.witness.theta[3:])


def test_estimators_and_refusals():
    X, w, y = data_of(5)
    model = LinearRegressor("interpolation", l1_ratio=1.0, fit_intercept=False, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.coef_, w, atol=1e-8)
    classes = LinearClassifier("hard_margin", regularizer="l1", tol=1e-6).fit(X, y > 0)
    assert classes.score(X, y > 0) == 1.0
    for problem, why in (
        (Problem(X, MeanRisk("squared", y), 1.0, "l1"), "is for constraints"),
        (Problem(X, MeanRisk(Interpolation(), y), 1.0), "requires the regularizer 'l1'"),
        (Problem(X, MeanRisk(Interpolation(), np.column_stack([y, y])), 1.0, "l1"), "one output"),
    ):
        with pytest.raises(FenchelError, match=why):
            solve(problem, "basis_pursuit")


@pytest.mark.parametrize("intercept", [False, True])
def test_a_narrow_tube_counts_where_columns_are_short(intercept):
    """Multipliers of short columns are large, and what the tube is worth with them: its middle is not the optimum."""
    rng = np.random.default_rng(1)
    for _ in range(6):
        X = rng.standard_normal((N, D)) * 10.0 ** rng.integers(-3, 4, D)
        y = X @ rng.standard_normal(D)
        tolerance = 1e-9 * np.max(np.abs(y))
        solution = solve(Problem(X, MeanRisk(Interpolation(tolerance), y), 1.0, L1(), intercept), tol=1e-6)
        assert solution.converged, str(solution)
    # nothing is pulled anywhere
    none = solve(Problem(X, MeanRisk(Interpolation(1e-9), np.zeros(N)), 1.0, L1(), intercept), "basis_pursuit")
    assert none.converged and not np.any(none.model.weights)
