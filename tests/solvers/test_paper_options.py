"""Options that the papers print: cyclic order and gradient steps of Algorithm 1, a fixed mu with the papers' D."""

import numpy as np
import pytest

from fenchel import FenchelError, Problem, solve
from fenchel.losses import EpsilonInsensitive, Hinge
from fenchel.regularizers import ElasticNet, UnnormalizedEntropy
from fenchel.risks import BreakEven, MeanRisk, RocAUC
from fenchel.solvers import AGM, DualCoordinate, Hint, Smoothing

HINT = Hint(None, 0.0, lambda: False)


def data(n=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)


def gradient_epoch(X, y, lam, eta, mirror, conjugate_slope, clip, alpha):
    """Algorithm 1 in cyclic order with (11): Delta alpha/(lam n) = -eta (k'(alpha + Delta) + w.x), by bisection."""
    n = len(y)
    for i in range(n):
        w = mirror(X.T @ alpha / (lam * n))
        low, high = clip(y[i])
        before = alpha[i]

        def slope(a, i=i, w=w, before=before):
            return (a - before) / (eta * lam * n) + conjugate_slope(a, y[i]) + X[i] @ w - y[i]

        for _ in range(200):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if slope(middle) < 0 else (low, middle)
        alpha[i] = 0.5 * (low + high)
    return alpha


@pytest.mark.parametrize("name", ["hinge", "tube^2", "hinge^2"])
def test_one_epoch_is_algorithm_1_as_printed_with_the_loss_part_implicit(name, plain_loops):
    """(23), (19) and (22): cyclic order, the weights of the regularizer before the step, the loss at the new alpha."""
    X, y = data()
    lam, eta, box = 0.2, 0.05, lambda label: (min(0.0, label), max(0.0, label))
    cases = {
        "hinge": (Hinge(), lambda a, label: 0.0, box),
        "hinge^2": (Hinge(power=2.0), lambda a, label: a, lambda label: (min(0.0, 9 * label), max(0.0, 9 * label))),
        "tube^2": (
            EpsilonInsensitive(0.1, power=2.0),
            lambda a, label: a + 0.1 * np.sign(a),
            lambda label: (-9.0, 9.0),
        ),
    }
    loss, conjugate_slope, clip = cases[name]
    entropy = UnnormalizedEntropy(0.3, balanced=True)
    solver = DualCoordinate(shrinking=False, rule="gradient", learning_rate=eta, shuffle=False)
    problem = Problem(X, MeanRisk(loss, y), lam, entropy)
    state = solver.start(problem, None)
    alpha = np.zeros(len(y))
    for _ in range(3):
        solver.step(state, HINT)
        alpha = gradient_epoch(X, y, lam, eta, lambda v: 0.6 * np.sinh(v), conjugate_slope, clip, alpha)
        np.testing.assert_allclose(solver.propose(state)[1].theta * len(y), alpha, atol=1e-8)


def test_cyclic_order_is_the_same_for_every_seed_and_reaches_the_optimum():
    X, y = data(60)
    problem = Problem(X, MeanRisk("hinge", y), 0.05, intercept=True)
    cyclic = [solve(problem, DualCoordinate(shuffle=False, seed=seed), tol=1e-6) for seed in (0, 1)]
    np.testing.assert_array_equal(cyclic[0].model.weights, cyclic[1].model.weights)
    shuffled = [solve(problem, DualCoordinate(seed=seed), tol=1e-6) for seed in (0, 1)]
    assert not np.array_equal(shuffled[0].model.weights, shuffled[1].model.weights)
    assert cyclic[0].converged
    assert cyclic[0].certificate.primal == pytest.approx(shuffled[0].certificate.primal, rel=2e-6)
    with pytest.raises(FenchelError, match="shuffle"):
        DualCoordinate(shuffle="cyclic")


def test_the_rate_of_the_sparse_method_is_that_of_the_papers_lambda(plain_loops):
    """(16) is 1.1 times our elastic net: at lam' = 1.1 lam a step of eta/1.1 is the paper's eta lam n."""
    X, y = data()
    lam, eta, epsilon = 0.1, 0.02, 0.1
    factor = 1.0 + epsilon
    problem = Problem(X, MeanRisk("hinge", y), factor * lam, ElasticNet(epsilon / factor))
    solver = DualCoordinate(shrinking=False, rule="gradient", learning_rate=eta / factor, shuffle=False)
    state, alpha = solver.start(problem, None), np.zeros(len(y))
    solver.step(state, HINT)

    def soft(v):
        return np.sign(v) * np.maximum(np.abs(v) - epsilon, 0.0)

    alpha = gradient_epoch(
        X, y, lam, eta, soft, lambda a, label: 0.0, lambda label: (min(0.0, label), max(0.0, label)), alpha
    )
    np.testing.assert_allclose(solver.propose(state)[1].theta * len(y), alpha, atol=1e-8)


@pytest.mark.parametrize("solver", [Smoothing, AGM], ids=["smoothing", "agm"])
def test_a_fixed_mu_has_the_papers_d_if_asked(solver):
    X, y = data(40)
    y[:35] = -1.0
    y[35:] = 1.0
    problem = Problem(X, BreakEven(y), 0.1)
    ours = solver(fixed=True, epsilon=1e-3, c_mu=10.0).start(problem, None).objective.mu
    papers = solver(fixed=True, epsilon=1e-3, c_mu=10.0, prox_bound=0.5).start(problem, None).objective.mu
    # the paper: mu = c eps / (n/2) for sum beta^2/2, which is n times that for the mean
    assert papers == pytest.approx(40 * 10.0 * 1e-3 / (40 / 2))
    assert ours / papers == pytest.approx(0.5 / (5 / 40))
    with pytest.raises(FenchelError, match="prox_bound"):
        solver(prox_bound=0.0)


def test_the_first_matrix_is_the_identity_for_counts_with_a_fixed_mu_only():
    X, y = data(600)
    for measure, options, starts in (
        (BreakEven, {}, True),
        (BreakEven, {"fixed": True}, False),
        (BreakEven, {"fixed": True, "curvature": True}, True),
        (RocAUC, {"fixed": True}, True),
        (RocAUC, {"curvature": False}, False),
    ):
        state = Smoothing(**options).start(Problem(X, measure(y), 0.1), None)
        assert (state.curvature is not None) == starts
