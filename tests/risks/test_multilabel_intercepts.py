"""Free intercepts of the multilabel hinge: laws of the risk, and optima beside a conic solver."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import slow_ordinal as slow
from fenchel import FenchelError, Problem, Status, certify, solve
from fenchel.regularizers import ElasticNet
from fenchel.risks import MultilabelHinge

#: small problems, for which compiling would take longer than running
pytestmark = pytest.mark.usefixtures("plain_loops")


def data(seed, n=24, d=3, k=4):
    """Labels of very different frequency; some examples have all labels or none."""
    rng = np.random.default_rng([16, seed])
    X = rng.standard_normal((n, d))
    labels = X @ rng.standard_normal((d, k)) + 0.5 * rng.standard_normal((n, k)) > rng.normal(size=k)
    labels[:2] = [[True] * k, [False] * k]
    weights = rng.integers(0, 3, n).astype(float) if seed % 2 else None
    return X, labels, weights, rng


def least_over_intercepts(pairs, scores, bound=None):
    """min_b R(s + b), with abs(b) <= bound, by a linear program in b and the loss of each group."""
    D, groups, prices = pairs
    k = scores.shape[1]
    shifts = D @ np.tile(np.eye(k), (len(scores), 1))
    own = np.zeros((len(D), len(prices)))
    own[np.arange(len(D)), groups] = 1.0
    # t >= 1 - D s - D b
    found = linprog(
        np.concatenate([np.zeros(k), prices]),
        A_ub=np.hstack([-shifts, -own]),
        b_ub=D @ scores.ravel() - 1.0,
        bounds=[(None, None) if bound is None else (-bound[p], bound[p]) for p in range(k)]
        + [(0.0, None)] * len(prices),
    )
    return found.fun


@pytest.mark.parametrize("seed", range(4))
def test_intercepts_and_their_bounds(seed):
    _, labels, weights, rng = data(seed)
    risk, pairs = MultilabelHinge(labels, weights), slow.multilabel_pairs(labels, weights)
    for scale in (0.0, 0.3, 3.0):
        scores = scale * rng.standard_normal(labels.shape)
        least = least_over_intercepts(pairs, scores)
        b = risk.best_intercept(scores)
        assert abs(np.sum(b)) <= 1e-12
        assert least - 1e-12 <= risk.value(scores + b) <= risk.value(scores)
        # the step along the last label was exact
        for step in (-1.0, -0.1, -1e-3, 1e-3, 0.1, 1.0):
            assert risk.value(scores + b + step * np.eye(labels.shape[1])[-1]) >= risk.value(scores + b) - 1e-12
        # some best intercepts are within the bound
        bound = risk.intercept_bound(1.0, np.max(np.abs(scores), axis=1))
        assert least_over_intercepts(pairs, scores, bound) == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_balanced_points_are_in_the_domain(seed):
    _, labels, weights, rng = data(seed)
    risk, pairs = MultilabelHinge(labels, weights), slow.multilabel_pairs(labels, weights)
    for theta in (
        risk.project(rng.standard_normal(labels.shape)),
        -risk.subgradient(rng.standard_normal(labels.shape)),
    ):
        found, left = risk.balance(theta.copy())
        assert np.max(np.abs(np.sum(found, axis=0))) <= np.max(left) <= 1e-13
        assert np.isfinite(risk.conjugate(found))
        assert np.isfinite(slow.conjugate(pairs, found))
        # a balanced point keeps every bit
        again, _ = risk.balance(found.copy())
        np.testing.assert_allclose(again, found, atol=1e-15)
    assert np.any(found)


def test_masses_of_pairs_that_nothing_returns_are_removed():
    """Label 0 is always there: it takes part in no balanced point."""
    labels = np.array([[1, 1, 0], [1, 0, 1], [1, 0, 0], [1, 1, 0]])
    risk = MultilabelHinge(labels)
    found, left = risk.balance(risk.project(np.where(labels > 0, 0.1, -0.1)))
    assert np.max(left) <= 1e-15
    assert np.max(np.abs(found[:, 0])) <= 1e-17
    assert np.max(np.abs(found[:, 1])) > 0.01


@pytest.mark.parametrize("seed", range(4))
def test_solvers_find_the_optimum_of_a_conic_solver(seed):
    X, labels, weights, _ = data(seed, k=3 + seed % 3)
    risk, pairs, k = MultilabelHinge(labels, weights), slow.multilabel_pairs(labels, weights), labels.shape[1]
    longer = np.hstack([X, np.ones((len(X), 1))])
    Z = np.vstack([np.kron(np.eye(k), row) for row in longer])
    regularized = np.tile([*[1.0] * X.shape[1], 0.0], k)
    for lam in (1.0, 0.01):
        _, best = slow.optimum(pairs, Z, lam, regularized)
        assert best < slow.optimum(slow.multilabel_pairs(labels, weights), Z[:, regularized > 0], lam)[1] - 1e-4
        for design, solver in ((X, "bundle"), (sp.csr_array(X), "bundle"), (X, "auto")):
            problem = Problem(design, risk, lam, intercept=True)
            solution = solve(problem, solver, tol=1e-7)
            assert solver == "auto" or solution.solver == solver
            assert solution.status is Status.CONVERGED
            assert solution.certificate.recomputed
            assert solution.certificate.primal == pytest.approx(best, rel=1e-7)
            assert solution.certificate.dual <= best + 1e-9
            assert np.shape(solution.model.intercept) == (k,)
            assert certify(problem, solution.model, solution.witness).gap <= 1e-7
        # halfway the certificate is a bound all the same
        for max_iter in (1, 3, 8):
            early = solve(problem, tol=0.0, max_iter=max_iter)
            assert early.certificate.primal >= best - 1e-9
            assert early.certificate.dual <= best + 1e-9
            dual = -0.5 / lam * np.sum((X.T @ early.witness.theta) ** 2) - slow.conjugate(pairs, early.witness.theta)
            assert early.certificate.dual <= dual + 1e-8


def test_warm_starts_and_other_regularizers():
    X, labels, _, _ = data(0)
    problem = Problem(X, MultilabelHinge(labels), 0.1, intercept=True)
    first = solve(problem, tol=1e-6)
    again = solve(problem, tol=1e-6, warm_start=first)
    assert again.certificate.relative_gap <= 1e-6
    assert again.passes <= first.passes / 2
    with pytest.raises(FenchelError, match="requires the regularizer 'l2'"):
        solve(Problem(X, MultilabelHinge(labels), 0.1, ElasticNet(0.5), intercept=True))
