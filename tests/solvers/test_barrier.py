"""Constraints with entropies, q-norms and squares: conic optima, linear programs that say whether there is a model."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import brentq, linprog

import slow_reference as slow
from fenchel import FenchelError, LinearClassifier, LinearRegressor, Problem, Status, solve
from fenchel.losses import HardMargin, Interpolation
from fenchel.regularizers import L2, ElasticNet, Entropy, QNorm, QuadraticForm, UnnormalizedEntropy
from fenchel.risks import MeanRisk
from fenchel.solvers.constrained.barrier_system import System
from slow_conic import conic_with, entropy_cone, norm_cone

MU = np.array([0.3, 0.05, 1.0, 0.65, 0.4, 0.2, 0.5, 0.1])
D = len(MU)
#: with the rows of the conic solver
CONES = {
    "entropy": (Entropy(prior=MU), entropy_cone(MU, MU.sum(), False)),
    "entropy-balanced": (Entropy(3.0, balanced=True), entropy_cone(np.full(D, 1.5 / D), 3.0, True)),
    "unnormalized": (UnnormalizedEntropy(MU), entropy_cone(MU, None, False)),
    "unnormalized-balanced": (UnnormalizedEntropy(0.1, balanced=True), entropy_cone(np.full(D, 0.1), None, True)),
    "q=1.5": (QNorm(), norm_cone(1.5, 2.0)),
    "q=2.5": (QNorm(2.5, power=3.0), norm_cone(2.5, 3.0)),
}
K = np.diag(np.linspace(1, 2, D)) + 0.1
OTHERS = {"diagonal": QuadraticForm(MU), "square": QuadraticForm(K), "l2": L2(), "elastic_net": ElasticNet(0.5)}
REGULARIZERS = {name: one for name, (one, _) in CONES.items()} | OTHERS
FACES = np.arange(1.0, 7.0)


def data_of(rng, loss, name, intercept, n=None):
    """Rows and labels that some weights in the domain meet, with room to spare for the margins."""
    w = rng.dirichlet(np.ones(D)) * MU.sum() if "balanced" not in name else rng.standard_normal(D) / 5
    if loss == "interpolation":
        X = rng.standard_normal((n or 3, D))
        return X, X @ w + (0.5 if intercept else 0.0)
    X = rng.standard_normal((n or 12, D)) + 0.3
    y = np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    # scores of at least 1.2 in the right direction
    X += np.outer(np.maximum(1.2 - y * (X @ w), 0.0) * y, w) / (w @ w)
    return X + (0.4 * w / (w @ w) if intercept else 0.0), y


def loss_of(name, tolerance=1e-9):
    return HardMargin() if name == "hard_margin" else Interpolation(tolerance)


@pytest.mark.parametrize("name", [name for name in REGULARIZERS if name != "square"])
def test_hess_conjugate_is_the_derivative_of_grad_conjugate(name):
    rng, regularizer, h = np.random.default_rng(1), REGULARIZERS[name], 1e-6
    for _ in range(10):
        v, along = 2 * rng.standard_normal(D), rng.standard_normal(D)
        hess = regularizer.hess_conjugate(v)
        found = hess.diagonal * along + hess.outer * hess.vector * (hess.vector @ along)
        brute = (regularizer.grad_conjugate(v + h * along) - regularizer.grad_conjugate(v - h * along)) / (2 * h)
        np.testing.assert_allclose(found, brute, rtol=1e-5, atol=1e-7 * np.abs(brute).max())


@pytest.mark.meetings(1)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["interpolation", "hard_margin"])
@pytest.mark.parametrize("name", list(CONES))
def test_solved_to_the_conic_optimum(name, loss, intercept):
    regularizer, cone = CONES[name]
    X, y = data_of(np.random.default_rng([2, intercept]), loss, name, intercept)
    problem = Problem(X, MeanRisk(loss_of(loss), y), 0.1, regularizer, intercept)
    solution = solve(problem, tol=1e-8)
    certificate = solution.certificate
    assert solution.solver == "barrier"
    assert solution.converged, str(solution)
    # with a tolerance of 1e-9 in the constraints the bound is a little lower than without
    w, _ = conic_with(loss, X, y, slow.shares(len(y)), problem.lam, intercept, cone)
    if isinstance(regularizer, Entropy) and not regularizer.balanced:
        w = np.maximum(w, 0) * (MU.sum() / np.maximum(w, 0).sum())
    optimum = problem.lam * regularizer.value(w)
    assert certificate.primal == pytest.approx(optimum, rel=3e-6, abs=1e-9)
    assert certificate.dual <= optimum * (1 + 1e-6) + 1e-9


@pytest.mark.meetings(1)
@pytest.mark.parametrize(
    ("name", "loss"), list(itertools.product(REGULARIZERS, ("interpolation", "hard_margin"))), ids=str
)
def test_models_meet_the_constraints_and_storage_does_not_matter(name, loss):
    rng = np.random.default_rng(3)
    X, y = data_of(rng, loss, name, False)
    X[rng.random(X.shape) < 0.2] = 0.0
    y = X @ np.full(D, MU.mean()) if loss == "interpolation" else y
    weights = np.append(np.ones(len(y)), 0.0)
    # one row more, without weight, that nothing could meet
    X, y = np.vstack([X, np.zeros(D)]), np.append(y, 1.0)
    risk = MeanRisk(loss_of(loss), y, weights)
    dense = solve(Problem(X, risk, 0.1, REGULARIZERS[name]), "barrier", tol=1e-7)
    sparse = solve(Problem(sp.csr_array(X), risk, 0.1, REGULARIZERS[name]), "barrier", tol=1e-7)
    assert dense.status is sparse.status
    if dense.status is Status.INFEASIBLE:
        # a few entries that became zero may have been needed: the other test has the programs that tell
        return
    assert dense.converged and sparse.converged, str(dense)
    assert dense.certificate.primal == pytest.approx(sparse.certificate.primal, rel=1e-6)
    scores = X[:-1] @ dense.model.weights
    missed = 1 - y[:-1] * scores if loss == "hard_margin" else np.abs(scores - y[:-1]) - 1e-9
    assert missed.max() <= 1e-14
    assert dense.witness.theta[-1] == 0.0


def test_dual_coordinate_descent_agrees():
    X, y = data_of(np.random.default_rng(4), "hard_margin", "l2", True)
    problem = Problem(X, MeanRisk(HardMargin(), y), 0.1, intercept=True)
    one, other = (solve(problem, solver, tol=1e-7, max_iter=20000) for solver in ("barrier", "dual_coordinate"))
    assert one.converged and other.converged
    np.testing.assert_allclose(one.model.weights, other.model.weights, atol=1e-3)
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-7)


def least_violation(X, y, loss, regularizer, intercept, tolerance):
    """By how much every model misses a constraint at least (less than zero: there is room), a linear program."""
    n, d = X.shape
    # parts of the weights, the intercept, the violation
    parts = np.hstack([X, -X, np.full((n, 1), float(intercept)), np.zeros((n, 1))])
    if loss == "hard_margin":
        rows, right = -y[:, None] * parts, -np.ones(n)
    else:
        rows, right = np.vstack([parts, -parts]), np.concatenate([y, -y]) + tolerance
    rows[:, -1] = -1.0
    signs = getattr(regularizer, "balanced", True)
    bounds = [(0, None)] * d + [(0, None if signs else 0)] * d + [(None, None) if intercept else (0, 0), (-1.0, None)]
    mass = {}
    if isinstance(regularizer, Entropy):
        total = np.append(np.ones(2 * d), [0.0, 0.0])[None, :]
        mass = {"A_eq": total, "b_eq": [regularizer.total(d)]}
    found = linprog(np.append(np.zeros(2 * d + 1), 1.0), A_ub=rows, b_ub=right, bounds=bounds, **mass)
    assert found.status == 0
    return found.x[-1]


@pytest.mark.meetings(1)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["interpolation", "hard_margin"])
@pytest.mark.parametrize("name", ["entropy", "entropy-balanced", "unnormalized", "unnormalized-balanced", "q=1.5"])
def test_infeasible_just_where_a_linear_program_says_so(name, loss, intercept):
    rng, regularizer, seen = np.random.default_rng([5, intercept]), REGULARIZERS[name], set()
    for n in (3, 5, 8, 9, 12, 15, 20):
        X = rng.standard_normal((n, D)) * rng.choice([0.1, 1.0, 10.0])
        w = rng.dirichlet(np.ones(D)) * MU.sum()
        y = X @ w + 0.3 * rng.standard_normal(n) if loss == "interpolation" else np.where(X @ w + 0.2 > 0, 1.0, -1.0)
        if loss == "hard_margin" and n >= 15:
            y[::3] *= -1.0
        missing = least_violation(X, y, loss, regularizer, intercept, 0.05)
        solution = solve(Problem(X, MeanRisk(loss_of(loss, 0.05), y), 0.1, regularizer, intercept), "barrier", tol=1e-6)
        if abs(missing) > 1e-6:
            expected = (Status.INFEASIBLE,) if missing > 0 else (Status.CONVERGED, Status.FLOOR)
            assert solution.status in expected, (n, missing, str(solution))
            seen.add(missing > 0)
    assert len(seen) == 2


@pytest.mark.parametrize("loss", ["interpolation", "hard_margin"])
@pytest.mark.parametrize("scales", [(0.01, 1.0), (1.0, 100.0), (1.0, 1e8)], ids=str)
def test_infeasible_whatever_the_square(loss, scales):
    """A matrix that makes the rows short does not change how much has to be proved."""
    X, y = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1.0, -1.0])
    for operator in (np.diag(scales), np.array(scales)):
        solution = solve(Problem(X, MeanRisk(loss_of(loss, 1e-3), y), 1.0, QuadraticForm(operator)), "barrier")
        assert solution.status is Status.INFEASIBLE, str(solution)


def test_the_dice_of_jaynes():
    def tilted(s):
        return np.exp(s * FACES) / np.exp(s * FACES).sum()

    s = brentq(lambda s: tilted(s) @ FACES - 4.5, -5, 5, xtol=1e-15)
    solution = solve(Problem(FACES[None, :], MeanRisk(Interpolation(), [4.5]), 1.0, Entropy()), tol=1e-9)
    np.testing.assert_allclose(solution.model.weights, tilted(s), rtol=1e-8)
    # the entropy that Jaynes (1962) gives is 1.61358
    assert np.log(6) - solution.certificate.primal == pytest.approx(1.61358, abs=1e-5)
    assert solution.witness.theta == pytest.approx([s], rel=1e-7)
    # the same by the mean alone, and a mean that only one face has
    fair = solve(Problem(FACES[None, :], MeanRisk(Interpolation(), [3.5]), 1.0, Entropy()), tol=1e-9)
    assert fair.certificate.primal == fair.certificate.gap == 0.0
    six = solve(Problem(FACES[None, :], MeanRisk(Interpolation(), [6.0]), 1.0, Entropy()), tol=1e-6)
    assert six.converged
    assert six.certificate.primal == pytest.approx(np.log(6), rel=1e-6)


@pytest.mark.parametrize("mean", [7.0, 6.001, 0.99])
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_a_mean_that_no_dice_have(mean, scale):
    problem = Problem(scale * FACES[None, :], MeanRisk(Interpolation(1e-9 * scale), [scale * mean]), 1.0, Entropy())
    solution = solve(problem)
    assert solution.status is Status.INFEASIBLE
    theta = solution.witness.theta
    # finite, and separates the mean from all faces
    assert theta @ [mean] > np.max(FACES * theta)


def test_two_moments_and_a_prior():
    """The density with a given mean and variance is the prior times the exponential of a quadratic."""
    x = np.linspace(-3, 3, 61)
    prior = 1 + 0.5 * np.sin(3 * x)
    prior /= prior.sum()
    moments = np.vstack([x, x**2])
    problem = Problem(moments, MeanRisk(Interpolation(), [0.4, 1.1]), 0.5, Entropy(prior=prior))
    solution = solve(problem, tol=1e-7)
    w = solution.model.weights
    np.testing.assert_allclose(moments @ w, [0.4, 1.1], atol=1.1e-9)
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    basis = np.column_stack([np.ones(61), x, x**2])
    _, left, *_ = np.linalg.lstsq(basis, np.log(w / prior), rcond=None)
    assert left[0] < 1e-12
    np.testing.assert_allclose(
        basis[:, 1:] @ solution.witness.theta / 0.5, np.log(w / prior) - np.log(w / prior)[30], atol=1e-6
    )
    # a second moment that is less than the square of the first
    impossible = Problem(moments, MeanRisk(Interpolation(), [0.4, 0.1]), 0.5, Entropy(prior=prior))
    assert solve(impossible).status is Status.INFEASIBLE


@pytest.mark.parametrize("name", ["entropy", "unnormalized", "unnormalized-balanced", "l2"])
def test_rows_that_depend_on_each_other(name):
    rng = np.random.default_rng(6)
    X, _ = data_of(rng, "interpolation", name, False)
    # twice the same, a difference, and nearly the same
    rows = np.vstack([X, X[0], X[1] - X[2], X[0] + 1e-7 * rng.standard_normal(D)])
    labels = rows @ (rng.dirichlet(np.ones(D)) * MU.sum())

    def solved(n):
        risk = MeanRisk(Interpolation(), labels[:n])
        return solve(Problem(rows[:n], risk, 0.1, REGULARIZERS[name]), "barrier", tol=1e-6)

    once, same = solved(3), solved(5)
    assert once.converged and same.converged, str(same)
    assert once.certificate.primal == pytest.approx(same.certificate.primal, rel=1e-5)
    assert solved(6).status is not Status.INFEASIBLE
    labels[3] += 1e-3
    assert solved(5).status is Status.INFEASIBLE


def test_estimators():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((4, 30))
    y = X @ rng.dirichlet(np.ones(30))
    model = LinearRegressor(Interpolation(), regularizer=Entropy(), fit_intercept=False, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    assert np.all(model.coef_ > 0)
    assert model.converged_
    with pytest.raises(FenchelError, match="the constraints are infeasible"):
        LinearRegressor("interpolation", regularizer="entropy", fit_intercept=False).fit(X, y + 10)
    labels = np.where(np.arange(4) % 2, 1, 0)
    spread = LinearClassifier("hard_margin", regularizer=Entropy(20.0, balanced=True), tol=1e-6).fit(X, labels)
    assert spread.score(X, labels) == 1.0
    assert np.min(np.abs(spread.decision_function(X))) >= 1 - 1e-12
    # one class: the intercept does it alone
    alone = solve(Problem(X, MeanRisk(HardMargin(), np.ones(4)), 1.0, Entropy(), intercept=True))
    assert alone.certificate.primal == 0.0


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("name", list(CONES))
def test_both_ways_to_solve_the_linear_system(name, intercept):
    rng, regularizer = np.random.default_rng(8), REGULARIZERS[name]
    X, v = rng.standard_normal((20, D)), rng.standard_normal(D)
    own, hess = 10.0 ** rng.uniform(-8, 8, 20), regularizer.hess_conjugate(v)
    brute = X @ (np.diag(hess.diagonal) + hess.outer * np.outer(hess.vector, hess.vector)) @ X.T / 0.1 + np.diag(own)
    for separate, rows in itertools.product((False, True), (X, sp.csr_array(X))):
        system = System(rows, hess, 0.1, own, intercept=intercept, all_positive=separate)
        right = rng.standard_normal(20)
        found = system.solve(right)
        assert np.abs(brute @ found + system.level * found.sum() - right).max() < 1e-7
        assert (system.level > 0) == intercept


def test_what_it_refuses():
    X, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    for problem, why in (
        (Problem(X, MeanRisk("hinge", y), 1.0), "requires the loss 'hard_margin'"),
        (Problem(X, MeanRisk(HardMargin(), y), 1.0, "l1"), "twice differentiable"),
        (Problem(X, MeanRisk(HardMargin(), np.column_stack([y, y])), 1.0), "one output"),
    ):
        with pytest.raises(FenchelError, match=why):
            solve(problem, "barrier")
