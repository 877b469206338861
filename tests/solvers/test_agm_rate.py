r"""The rate of the accelerated gradient method on smoothed measures: eq. (7) of Zhang, Saha and Vishwanathan (2012).

Nesterov's method (4.9) with estimates of L up to gamma_u L_mu has, after k steps from zero with the sum A_k of its
weights,

    J_mu(w_k) - J_mu(w) <= |w|^2 / (2 A_k) for all w,
    A_k >= max{k^2 / (2 gamma_u L_mu), 2/(gamma_u L_mu) (1 + sqrt(lam/(2 gamma_u L_mu)))^(2 (k - 1))}

(CORE 2007, Theorem 6), and L_mu = |A|^2/mu.  With mu = eps/(2 D) that is (7), with its constant.
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from fenchel import Problem
from fenchel.risks import F1, BreakEven, RocAUC
from fenchel.solvers import AGM, Hint
from fenchel.solvers.base import STALLED

#: gamma_u: the factor by which a rejected L grows
GAMMA = 2.0


def data(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0.5, 1.0, -1.0)


def squared_norm(X, y, measure):
    """|A|^2 for the prox function of ``risks.smoothing``: mu times a Lipschitz constant of the gradient in w."""
    if measure is RocAUC:
        pairs = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, X.shape[1])
        return float(np.linalg.norm(pairs, 2) ** 2 / len(pairs))
    return float(np.linalg.norm(X, 2) ** 2 / len(X))


def smoothed_minimum(X, risk, lam, mu):
    """min J_mu and the minimizer, by a general solver."""

    def objective(w):
        at = risk.smoothed(X @ w, mu)
        return 0.5 * lam * w @ w + at.value, lam * w - X.T @ at.theta

    found = minimize(
        objective, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}
    )
    return float(found.fun), found.x


def states(problem, epsilon, most):
    """The states of AGM with mu D = eps/2 after each step."""
    solver = AGM(fixed=True, epsilon=epsilon, c_mu=0.5)
    state = solver.start(problem, None)
    state.lipschitz = state.first_lipschitz = min(state.lipschitz, squared_norm_of(problem) / state.objective.mu)
    for _ in range(most):
        before = state.total
        if solver.step(state, Hint(None, 0.0, lambda: False)) == STALLED:
            return
        assert state.total > before
        yield state


def squared_norm_of(problem):
    X = problem.design.scores(np.eye(problem.design.shape[1]))
    return squared_norm(X, problem.risk.labels, type(problem.risk))


@pytest.mark.meetings(1)
@pytest.mark.parametrize("measure", [BreakEven, RocAUC], ids=["prbep", "roc_auc"])
@pytest.mark.parametrize("lam", [1e-4, 0.1])
def test_every_step_is_within_the_bound_of_nesterov(measure, lam):
    X, y = data()
    problem, epsilon = Problem(X, measure(y), lam), 0.05
    mu = 0.5 * epsilon / problem.risk.smoothing_range
    least, w = smoothed_minimum(X, problem.risk, lam, mu)
    lipschitz = squared_norm(X, y, measure) / mu
    count = 0
    for k, state in enumerate(states(problem, epsilon, 120), start=1):
        count, total = k, state.total
        assert state.objective.value(state.point) - least <= w @ w / (2.0 * total) + 1e-9
        slow = k * k / (2.0 * GAMMA * lipschitz)
        fast = 2.0 / (GAMMA * lipschitz) * (1.0 + math.sqrt(lam / (2.0 * GAMMA * lipschitz))) ** (2 * (k - 1))
        assert total >= max(slow, fast) * (1 - 1e-9)
    assert count >= 10


def steps_to(problem, epsilon, optimum, most=20000):
    return next(
        k
        for k, state in enumerate(states(problem, epsilon, most), start=1)
        if state.objective.unsmoothed(state.point) <= optimum + epsilon
    )


def test_the_number_of_steps_is_that_of_equation_7():
    """At most sqrt(8 gamma_u D |w*|^2) |A| / eps steps, and at fixed lam as the root of 1/eps but for a logarithm."""
    X, y = data()
    accuracies = [2.0**-p for p in range(4, 9)]
    for lam in (1e-5, 0.05):
        problem = Problem(X, BreakEven(y), lam)
        spread = problem.risk.smoothing_range
        best, w = smoothed_minimum(X, problem.risk, lam, 1e-5)
        found = [steps_to(problem, epsilon, best + 1e-5 * spread) for epsilon in accuracies]
        norm = math.sqrt(squared_norm(X, y, BreakEven))
        bounds = [math.sqrt(8.0 * GAMMA * spread * float(w @ w)) * norm / epsilon + 1 for epsilon in accuracies]
        assert all(steps <= bound for steps, bound in zip(found, bounds, strict=True))
        exponent = np.polyfit(-np.log(accuracies), np.log(found), 1)[0]
        assert exponent <= (1.0 if lam < 1e-3 else 0.75)


def test_the_smoothed_f_measure_has_the_same_rate():
    X, y = data(40, 3)
    problem, epsilon, lam = Problem(X, F1(y), 0.01), 0.1, 0.01
    mu = 0.5 * epsilon / problem.risk.smoothing_range
    least, w = smoothed_minimum(X, problem.risk, lam, mu)
    for state in states(problem, epsilon, 60):
        assert state.objective.value(state.point) - least <= w @ w / (2.0 * state.total) + 1e-7
